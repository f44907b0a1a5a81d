"""How far winners are from a gold standard."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

WINNERS = ("pro", "tie", "con")
"""In the order of the scale on which a tie lies between the sides."""


@dataclass(frozen=True, slots=True)
class WinnerErrors:
    """Winners against gold over `count` debates; `decisive_rate` is how often a side was named at all."""

    count: int
    rmse: float
    accuracy: float
    macro_f1: float
    decisive_rate: float


def winner_errors(predicted: Sequence[str | None], gold: Sequence[str | None]) -> WinnerErrors | None:
    """How far predicted winners are from gold winners; element i of both is debate i.

        rmse = sqrt(mean (p - g)²) with pro = 0, tie = ½, con = 1;
        macro F1 = mean over labels of 2 TP / (2 TP + FP + FN)

    over the labels that occur in either (so do scikit-learn's). Look at all of them: a judge that always says `tie` has
    an rmse of ½ at most, but a `decisive_rate` of 0. Debates without a valid winner in both are left out; `None`
    without any.
    """
    if len(predicted) != len(gold):
        raise ValueError(f"there are {len(predicted)} predicted winners but {len(gold)} gold winners")
    pairs = [(p, g) for p, g in zip(predicted, gold, strict=True) if p in WINNERS and g in WINNERS]
    if not pairs:
        return None
    code = {winner: place / 2 for place, winner in enumerate(WINNERS)}
    return WinnerErrors(
        count=len(pairs),
        rmse=math.sqrt(sum((code[p] - code[g]) ** 2 for p, g in pairs if p and g) / len(pairs)),
        accuracy=sum(p == g for p, g in pairs) / len(pairs),
        macro_f1=_macro_f1(pairs),
        decisive_rate=sum(p != "tie" for p, _ in pairs) / len(pairs),
    )


def _macro_f1(pairs: Sequence[tuple[str | None, str | None]]) -> float:
    scores = []
    for label in WINNERS:
        hits = sum(p == g == label for p, g in pairs)
        named = sum(p == label for p, _ in pairs) + sum(g == label for _, g in pairs)
        if named:
            scores.append(2 * hits / named)
    return math.fsum(scores) / len(scores)
