"""Baselines: fixed rules that name a winner without asking anyone. They are what a judge must beat."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from random import Random
from statistics import fmean
from typing import Any

from debatebench.config.answer_form import TWO_SIDES
from debatebench.config.transcript_layout import BP_POSITIONS, side_of
from debatebench.judges.deliberation import OVERALL, Decision, Deliberation, Method, Truths
from debatebench.providers.requests import short_hash
from debatebench.shared.records import Turn

_WORD = re.compile(r"[^\W\d_]{4,}")
_OUTCOMES = ("pro", "con", "tie")


def _baseline(winners: Callable[[Deliberation, str], Sequence[str]], **more: Any) -> Method:
    """A rule: the positions that have won a debate, or were better on a dimension.

    All rules but `majority_class` say the same of every dimension as of the whole (`overall`).
    """

    async def judge(deliberation: Deliberation) -> Decision:
        by_dimension = {name: winners(deliberation, name) for name in deliberation.config.dimensions}
        return deliberation.state(winners(deliberation, OVERALL), by_dimension)

    return Method(judge, is_baseline=True, **more)


def _of_sides(*sides: str) -> Callable[[Deliberation, str], Sequence[str]]:
    return lambda deliberation, _: [position for position in deliberation.positions if side_of(position) in sides]


def _of_team(team: str) -> Callable[[Deliberation, str], Sequence[str]]:
    return lambda *_: [team]


def _majority(deliberation: Deliberation, dimension: str) -> Sequence[str]:
    """The most frequent verdict of people on the other debates; of equally frequent ones pro, then con.

    Of four teams, the one that won most often; of equally frequent ones, the one that speaks first. The side is named
    only where people name no team. On a dimension of which people say nothing, their verdict on the whole counts.
    """
    known = deliberation.seat.judge.parameters
    about = dimension if dimension in known else OVERALL
    counts = Counter(known.get(about, {}))
    teams = [team for team in BP_POSITIONS if team in deliberation.positions and team in counts]
    counts.subtract(deliberation.transcript.truths.get(about, ()))
    winner = max(teams or _OUTCOMES, key=lambda outcome: counts[outcome])
    if teams:
        return [winner]
    return _of_sides(*(TWO_SIDES if winner == "tie" else (winner,)))(deliberation, dimension)


def _longest(length: Callable[[str], int]) -> Callable[[Deliberation, str], Sequence[str]]:
    """The position that said the most in all."""

    def winners(deliberation: Deliberation, _: str) -> Sequence[str]:
        said: Counter[str] = Counter()
        for turn in deliberation.transcript.turns:
            said[deliberation.transcript.position_of(turn)] += length(turn.content)
        return _best({position: said[position] for position in deliberation.positions})

    return winners


def _random(deliberation: Deliberation, _: str) -> Sequence[str]:
    """One position, drawn with the seed of the debate."""
    seed = short_hash(str(deliberation.transcript.debate_seed), deliberation.seat.judge.id)
    return [Random(seed).choice(sorted(deliberation.positions))]  # noqa: S311 (a repeatable draw, no secret)


def _last_speaker(deliberation: Deliberation, _: str) -> Sequence[str]:
    last = max(deliberation.transcript.turns, key=lambda turn: turn.turn_index)
    return [deliberation.transcript.position_of(last)]


def _lexical_clash(deliberation: Deliberation, _: str) -> Sequence[str]:
    """The position whose speeches take up most words of the other side.

    For a speech with the words W, and the words O that the other side used before it, the share is |W ∩ O| / |W|. A
    position has the mean over its speeches, without those before which the other side had not spoken. A word has four
    letters or more, in any case.
    """
    theirs_so_far: dict[str, set[str]] = {side: set() for side in TWO_SIDES}
    shares: defaultdict[str, list[float]] = defaultdict(list)
    for turn in sorted(deliberation.transcript.turns, key=lambda turn: turn.turn_index):
        words, theirs = _words(turn), theirs_so_far["con" if turn.side == "pro" else "pro"]
        if words and theirs:
            shares[deliberation.transcript.position_of(turn)].append(len(words & theirs) / len(words))
        theirs_so_far[turn.side] |= words
    return _best({position: fmean(shares[position] or [0.0]) for position in deliberation.positions})


def _words(turn: Turn) -> set[str]:
    return set(_WORD.findall(turn.content.lower()))


def _best(values: Mapping[str, float]) -> list[str]:
    """The positions with the highest value."""
    highest = max(values.values())
    return [position for position, value in values.items() if value == highest]


def _counts(truths: Truths) -> Mapping[str, Mapping[str, int]] | None:
    """By dimension and for the whole, how often people said pro, con and tie, and how often each team won."""
    counts: defaultdict[str, Counter[str]] = defaultdict(Counter)
    for truth in truths:
        for dimension, winners in truth.items():
            counts[dimension].update(winners)
    if OVERALL not in counts:
        return None
    return {dimension: dict(sorted(each.items())) for dimension, each in sorted(counts.items())}


METHODS: dict[str, Method] = {
    "always_pro": _baseline(_of_sides("pro")),
    "always_con": _baseline(_of_sides("con")),
    "always_tie": _baseline(_of_sides("pro", "con")),
    **{
        f"always_{team.lower()}": _baseline(_of_team(team), formats=("british_parliamentary",)) for team in BP_POSITIONS
    },
    "majority_class": _baseline(_majority, parameters=_counts),
    "longest": _baseline(_longest(len)),
    "longest_words": _baseline(_longest(lambda text: len(text.split()))),
    "random": _baseline(_random),
    "last_speaker": _baseline(_last_speaker),
    "lexical_clash": _baseline(_lexical_clash),
}
