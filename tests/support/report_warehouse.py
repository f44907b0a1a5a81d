"""A small warehouse for report tests: records written by hand, landed and derived by the real SQL models."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta
from decimal import Decimal
from pathlib import Path

import duckdb
from built_warehouse import empty_and_built, packaged_project
from imported import land_records

from debatebench.landing.land import create_raw_tables
from debatebench.shared.records import (
    Annotation,
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
from debatebench.transform.build import build

NOON = datetime(2026, 1, 1, 12)
DIMENSIONS = ("logic", "clarity")
# Text that a model might write to attack a page, a chart or a terminal.
HOSTILE = (
    "</script><script>document.title='pwned'</script>"
    "<img src=x onerror=\"document.title='pwned'\"> <b>bold</b> <a href=\"javascript:document.title='pwned'\">x</a>"
    " {{ 7 * 7 }} {% raw %} ${alert(1)} ]]> --> \x00\x1b[31m\u202e\u2066\u200b\U000e0041 %{x} & &lt;i&gt; '\"`"
)


def tournament(
    tag: str,
    debaters: tuple[str, ...],
    *,
    repetitions: int = 2,
    motion: str = "Cities should close their centres to cars.",
    speech: str = "We argue that this is right.",
    judges: tuple[str, ...] = ("judge-a", "judge-b", "judge-c"),
    is_simulated: bool = False,
    allows_judge_overlap: bool = False,
    created_at: datetime = NOON,
    are_cut: bool = False,
) -> Iterator[Record]:
    """Every ordered pair debates `repetitions` times; earlier debaters win more; an extra debater plays only once.

    One speech is cut off at the token limit, or with `are_cut` every last one of pro.
    """
    yield Run(
        run_tag=tag,
        source="run",
        format="tournament",
        benchmark_name="tiny",
        benchmark_version="v1",
        rubric_version="v1",
        created_at=created_at,
        seed=7,
        is_simulated=is_simulated,
        allows_judge_overlap=allows_judge_overlap,
    )
    for n in range(repetitions):
        text = motion if n == 0 else f"{motion} ({n})"
        yield Topic(run_tag=tag, topic_id=f"t{n}", source_position=n, motion=text, category=f"category {n}")
    newcomer = "newcomer"
    for name in (*debaters, newcomer):
        yield Debater(run_tag=tag, model_id=name, is_simulated=is_simulated)
    for name in judges:
        yield Judge(run_tag=tag, judge_id=name, is_simulated=is_simulated)
    for n, name in enumerate(DIMENSIONS):
        yield Dimension(run_tag=tag, dimension=name, source_position=n, min_score=Decimal(1), max_score=Decimal(10))
    pairs = [(pro, con) for pro in debaters for con in debaters if pro != con]
    fixtures = [(pro, con, n) for n in range(repetitions) for pro, con in pairs]
    fixtures.append((debaters[0], newcomer, 0))
    strength = {name: len(debaters) - n for n, name in enumerate(debaters)} | {newcomer: 0}
    for position, (pro, con, n) in enumerate(fixtures):
        lead = strength[pro] - strength[con] + (1 if position % 5 == 0 else 0)
        yield from _debate(tag, position, f"t{n}", pro, con, lead, judges, speech, created_at, are_cut)


def _debate(
    tag: str,
    position: int,
    topic: str,
    pro: str,
    con: str,
    lead: int,
    judges: tuple[str, ...],
    speech: str,
    at: datetime,
    is_cut: bool,
) -> Iterator[Record]:
    debate_id = f"{position:016x}"
    at += timedelta(minutes=position)
    yield Debate(
        run_tag=tag,
        debate_id=debate_id,
        source_position=position,
        schedule_position=position,
        topic_id=topic,
        pro_model_id=pro,
        con_model_id=con,
        created_at=at,
    )
    for side, name in (("pro", pro), ("con", con)):
        yield Participant.model_validate(
            {"run_tag": tag, "debate_id": debate_id, "position": side, "model_id": name, "side": side}
        )
    for index in range(4):
        side = ("pro", "con")[index % 2]
        yield Turn.model_validate(
            {
                "run_tag": tag,
                "debate_id": debate_id,
                "turn_index": index,
                "position": side,
                "side": side,
                "model_id": (pro, con)[index % 2],
                "stage": ("opening", "closing_statement")[index // 2],
                "content": f"{speech} ({side}, {index})",
                "duration_ms": 900.0 + 10 * index,
                "prompt_tokens": 100,
                "completion_tokens": 50 + position % 7,
                "cost": Decimal("0.0012"),
                "is_truncated": is_cut if index == 2 else index == 3 and position == 0,
            }
        )
    for n, judge in enumerate(judges):
        score = min(max(lead + n - 1, -4), 4)
        scores = tuple(
            Score(dimension=name, pro=Decimal(5 + max(score, 0)), con=Decimal(5 - min(score, 0))) for name in DIMENSIONS
        )
        yield Verdict(
            run_tag=tag,
            debate_id=debate_id,
            judge_id=judge,
            panel_position=n,
            is_valid=True,
            scores=scores,
            prompt_tokens=500,
            completion_tokens=40,
            cost=Decimal("0.0005"),
        )


def annotated(tag: str) -> Iterator[Record]:
    """An import without judges: two debates, an annotation and a weakness."""
    yield Run(run_tag=tag, source="import", format="debateflow")
    yield Topic(run_tag=tag, topic_id="t0", source_position=0, motion="Homework should end.")
    for name in ("aff", "neg"):
        yield Debater(run_tag=tag, model_id=name)
    for n in range(2):
        yield Debate(
            run_tag=tag, debate_id=f"d{n}", source_position=n, topic_id="t0", pro_model_id="aff", con_model_id="neg"
        )
        yield Turn(
            run_tag=tag,
            debate_id=f"d{n}",
            turn_index=0,
            position="pro",
            side="pro",
            model_id="aff",
            content="x" * 20_010 if n else "Short.",
        )
    yield Annotation(run_tag=tag, debate_id="d0", annotator_id="SP", winner="con")
    yield Weakness(run_tag=tag, debate_id="d0", side="pro", weakness_type="weak evidence")


def make_warehouse(path: Path, *runs: tuple[str, Iterator[Record]], select: list[str] | None = None) -> Path:
    """Land the runs and build the real SQL models, or those in `select`, as a publication does."""
    if select is None:
        path.write_bytes(empty_and_built())
    con = duckdb.connect(str(path))
    try:
        create_raw_tables(con)
        for tag, records in runs:
            land_records(con, tag, records)
        build(con, packaged_project(), select=select, now=NOON)
        con.execute("checkpoint")
    finally:
        con.close()
    return path
