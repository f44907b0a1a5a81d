"""A run of debates of four teams, as records: for tests of rankings and ratings."""

from __future__ import annotations

import random
from collections.abc import Iterator
from decimal import Decimal

from debatebench.config.transcript_layout import BP_POSITIONS
from debatebench.shared.records import (
    Debate,
    Debater,
    Dimension,
    Judge,
    JudgeNote,
    Participant,
    Record,
    Run,
    Score,
    Topic,
    Verdict,
)

__all__ = ["JUDGES", "NAMES", "teams_run"]

NAMES = "abcdefgh"
JUDGES = ("j1", "j2", "j3")


def teams_run(tag: str, *, two_sided: bool = False) -> Iterator[Record]:
    """Eight debaters in 24 debates of four on six topics; with `two_sided`, `y` and `z` debate one another as well."""
    rng = random.Random(5)
    yield Run(run_tag=tag, source="run", format="tournament", elo_initial_rating=400, min_games_for_display=1)
    yield Dimension(
        run_tag=tag,
        dimension="logic",
        source_position=0,
        min_score=Decimal(1),
        max_score=Decimal(10),
        weight=Decimal(1),
    )
    for name in NAMES + ("yz" if two_sided else ""):
        yield Debater(run_tag=tag, model_id=name)
    for judge in JUDGES:
        yield Judge(run_tag=tag, judge_id=judge)
    for topic in range(6):
        yield Topic(run_tag=tag, topic_id=f"t{topic}", source_position=topic, motion=f"Motion {topic}.")
    for n in range(24):
        where = {"run_tag": tag, "debate_id": f"bp{n:02}"}
        yield Debate(**where, source_position=n, topic_id=f"t{n % 6}", format="british_parliamentary")
        speakers = rng.sample(NAMES, 4)
        for (position, side), name in zip(BP_POSITIONS.items(), speakers, strict=True):
            yield Participant(**where, position=position, side=side, model_id=name)
        for seat, judge in enumerate(JUDGES):
            score = Score(dimension="logic", pro=Decimal(rng.randint(4, 8)), con=Decimal(rng.randint(4, 8)))
            yield Verdict(**where, judge_id=judge, panel_position=seat, is_valid=True, scores=(score,))
            points = {
                position: Decimal(rng.randint(3, 8)) - (name > "d")
                for position, name in zip(BP_POSITIONS, speakers, strict=True)
            }
            for index, (position, given) in enumerate(points.items()):
                yield JudgeNote(**where, judge_id=judge, note_index=index, step="score", position=position, score=given)
            if judge != "j3":
                named = rng.choice(tuple(BP_POSITIONS))
                yield JudgeNote(**where, judge_id=judge, note_index=9, step="winner", position=named)
    if two_sided:
        for n in range(6):
            where = {"run_tag": tag, "debate_id": f"two{n}"}
            pro, con = ("y", "z") if n % 2 else ("z", "y")
            yield Debate(
                **where,
                source_position=50 + n,
                topic_id=f"t{n}",
                format="two_sided",
                pro_model_id=pro,
                con_model_id=con,
            )
            for side, name in (("pro", pro), ("con", con)):
                yield Participant(**where, position=side, side=side, model_id=name)
            score = Score(dimension="logic", pro=Decimal(rng.randint(1, 9)), con=Decimal(5))
            yield Verdict(**where, judge_id="j1", panel_position=0, is_valid=True, scores=(score,))
