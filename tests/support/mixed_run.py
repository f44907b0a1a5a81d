"""A run with everything that a filter of its debates has to tell apart, drawn with a seed."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta
from decimal import Decimal

from debatebench.shared.records import (
    Debate,
    Debater,
    Dimension,
    Judge,
    Participant,
    Record,
    Run,
    Score,
    Topic,
    Turn,
    Verdict,
    Weakness,
)

NOON = datetime(2026, 1, 1, 12)


def mixed_run(
    tag: str,
    seed: int = 5,
    *,
    debaters: Sequence[str] = ("alpha", "beta", "gamma", "delta", "newcomer"),
    judges: Sequence[str] = ("judge-a", "judge-b", "judge-c", "judge-d", "judge-e"),
    categories: Sequence[str | None] = ("ethics", "economy", None),
    count: int = 90,
) -> Iterator[Record]:
    """Seven topics; panels of none to three judges, of whose verdicts some are ties and some do not count.

    Some debates are forfeits, void, incomplete, against oneself, weakened, or without a place in the schedule; the last
    debater speaks once.
    """
    rng = random.Random(seed)
    yield Run(run_tag=tag, source="run", format="tournament", created_at=NOON, seed=seed)
    for n in range(7):
        category = categories[n % len(categories)]
        yield Topic(run_tag=tag, topic_id=f"t{n}", source_position=n, motion=f"Motion {n}.", category=category)
    for name in debaters:
        yield Debater(run_tag=tag, model_id=name)
    for name in judges:
        yield Judge(run_tag=tag, judge_id=name)
    yield Judge(run_tag=tag, judge_id="always_tie", method="always_tie", is_baseline=True)
    for n, name in enumerate(("logic", "clarity")):
        yield Dimension(run_tag=tag, dimension=name, source_position=n, min_score=Decimal(1), max_score=Decimal(10))
    for place in range(count):
        pro, con = rng.sample(range(len(debaters) - 1), 2)
        if place == 11:
            con = len(debaters) - 1
        if place == 12:
            con = pro
        yield from _debate(rng, tag, place, (debaters[pro], debaters[con]), con - pro, judges)


def _debate(
    rng: random.Random, tag: str, place: int, names: tuple[str, str], lead: int, judges: Sequence[str]
) -> Iterator[Record]:
    debate_id = f"{rng.getrandbits(64):016x}"
    where = {"run_tag": tag, "debate_id": debate_id}
    kind = rng.random()
    status = "forfeit" if kind < 0.06 else "void" if kind < 0.09 else "incomplete" if kind < 0.12 else "complete"
    yield Debate.model_validate(
        where
        | {
            "source_position": place,
            "schedule_position": None if place % 10 == 9 else 1000 - place,
            "topic_id": f"t{rng.randrange(7)}",
            "pro_model_id": names[0],
            "con_model_id": names[1],
            "status": status,
            "refused_by": rng.choice(("pro", "con")) if status == "forfeit" else None,
            "created_at": None if place % 30 == 29 else NOON + timedelta(minutes=place // 20),
        }
    )
    for index, (side, name) in enumerate(zip(("pro", "con"), names, strict=True)):
        yield Participant.model_validate(where | {"position": side, "side": side, "model_id": name})
        yield Turn.model_validate(
            where | {"turn_index": index, "position": side, "side": side, "model_id": name, "content": "Because."}
        )
    if place == 20:
        yield Weakness(run_tag=tag, debate_id=debate_id, side="pro", weakness_type="weak evidence")
    if status == "forfeit":
        return
    panel = rng.sample(list(judges), rng.choice((0, 1, 2, 3, 3, 3)))
    for seat, judge in enumerate(panel):
        gap = round(lead + rng.gauss(0, 1.5))
        scores = tuple(
            Score(dimension=name, pro=Decimal(5 + max(gap, 0)), con=Decimal(5 - min(gap, 0)))
            for name in ("logic", "clarity")
        )
        is_valid = rng.random() > 0.1
        verdict = {"judge_id": judge, "panel_position": seat, "is_valid": is_valid}
        yield Verdict.model_validate(where | verdict | {"scores": scores if is_valid else ()})
    yield Verdict(
        run_tag=tag,
        debate_id=debate_id,
        judge_id="always_tie",
        panel_position=len(panel),
        is_valid=True,
        declared_winner="tie",
        scores=(),
    )
