"""A workspace whose runs contain every case that exports must handle, built from records and fixtures."""

from __future__ import annotations

import atexit
import shutil
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime, timedelta
from decimal import Decimal
from functools import cache
from pathlib import Path
from typing import Any

from built_warehouse import begin_built
from imported import DEBATEFLOW, ORIGINAL, PANELBENCH, add_import, land_records

from debatebench.landing.land import create_raw_tables
from debatebench.query.sql_project import load_project
from debatebench.shared.records import (
    Call,
    Debate,
    Debater,
    Dimension,
    Judge,
    Participant,
    Record,
    Run,
    ScheduledDebate,
    Score,
    Topic,
    Turn,
    Verdict,
)
from debatebench.shared.workspace import Workspace
from debatebench.transform.build import build
from debatebench.warehouse.publish import publishing
from debatebench.warehouse.update import update_warehouse

NOON = datetime(2026, 1, 1, 12)
IMPORTS = {"original": ("debatebench", ORIGINAL), "flow": ("debateflow", DEBATEFLOW), "bp": ("panelbench", PANELBENCH)}


def make_workspace(root: Path, imports: dict[str, tuple[str, Path]] | None = None) -> Workspace:
    """A built workspace with imports of every format and the run `played`."""
    chosen = IMPORTS if imports is None else imports
    shutil.copytree(_made(tuple((tag, *source) for tag, source in chosen.items())), root, dirs_exist_ok=True)
    return Workspace(root)


@cache
def _made(imports: tuple[tuple[str, str, Path], ...]) -> Path:
    """The folder of the same, made once."""
    folder = tempfile.TemporaryDirectory(prefix="exported-")
    atexit.register(folder.cleanup)
    workspace = Workspace(begin_built(Path(folder.name)))
    for run_tag, format_name, path in imports:
        add_import(workspace, run_tag, format_name, path)
    update_warehouse(workspace, None, now=lambda: NOON, build=False)
    land(workspace, "played")
    return workspace.root


def land(workspace: Workspace, *run_tags: str) -> None:
    """Land `played_records` under each tag as if journals had held them, and build."""
    land_runs(workspace, {run_tag: played_records(run_tag) for run_tag in run_tags})


def land_runs(workspace: Workspace, runs: Mapping[str, Iterable[Record]]) -> None:
    """Land the records under each tag as if journals had held them, and build."""
    with publishing(workspace.database) as con:
        create_raw_tables(con)
        con.execute(
            "create schema if not exists meta; create table if not exists meta.landings "
            "(run_tag varchar primary key, source varchar, content_sha256 varchar, rows bigint, landed_at timestamp)"
        )
        for run_tag, records in runs.items():
            count = sum(land_records(con, run_tag, records).values())
            con.execute(
                "insert into meta.landings by name "
                "select ? as run_tag, 'journal' as source, ? as content_sha256, ? as rows, ? as landed_at",
                [run_tag, f"hash of {run_tag}", count, NOON],
            )
        build(con, load_project(workspace.files("sql", "**/*")), now=NOON)


def played_records(run_tag: str) -> Iterator[Record]:
    """A tournament of two debaters: a complete debate, one with a replaced judge, an incomplete one and a void one."""
    yield Run(
        run_tag=run_tag,
        source="run",
        format="tournament",
        benchmark_name="b",
        benchmark_version="v9",
        rubric_version="r9",
        seed=7,
        created_at=NOON,
        elo_initial_rating=1000,
        elo_k_factor=16,
        min_games_for_display=1,
        config={"rounds": 2},
    )
    yield Topic(run_tag=run_tag, topic_id="t1", source_position=0, motion="Öffentlich?", info_slide="A slide.")
    for model_id in ("oak", "elm"):
        yield Debater(run_tag=run_tag, model_id=model_id, provider="simulated", pricing={"prompt": 1e-6})
    for judge_id in ("ash", "fir", "yew"):
        yield Judge(run_tag=run_tag, judge_id=judge_id, prompt_style="default")
    for position, dimension in enumerate(("logic", "clarity")):
        yield Dimension(run_tag=run_tag, dimension=dimension, source_position=position, min_score=1, max_score=10)
    for position, status in enumerate(("complete", "complete", "incomplete", "void")):
        yield from _played_debate(run_tag, f"d{position}", position, status)


def _played_debate(run_tag: str, debate_id: str, position: int, status: Any) -> Iterator[Record]:
    of_debate = {"run_tag": run_tag, "debate_id": debate_id}
    pro, con = ("oak", "elm") if position % 2 == 0 else ("elm", "oak")
    yield ScheduledDebate(
        **of_debate,
        schedule_position=position,
        topic_id="t1",
        pro_model_id=pro,
        con_model_id=con,
        repetition=0,
        debate_seed=position,
        panel=("ash", "fir"),
    )
    yield Debate(
        **of_debate,
        source_position=position,
        schedule_position=position,
        topic_id="t1",
        pro_model_id=pro,
        con_model_id=con,
        repetition=0,
        debate_seed=position,
        status=status,
        created_at=NOON + timedelta(minutes=position, microseconds=1),
        judges_expected=2,
        judges_actual=2,
        panel_latency_ms=0.1 + 0.2,
    )
    for side, model_id in (("pro", pro), ("con", con)):
        yield Participant(**of_debate, position=side, model_id=model_id, side=side)
    for index, side in enumerate(("pro", "con")):
        yield Turn(
            **of_debate,
            turn_index=index,
            position=side,
            side=side,
            model_id=pro if side == "pro" else con,
            stage="opening",
            content=f"Speech {index}\u2028\x00 '\"{{{{ }}}}",
            reasoning="Hm." if index else None,
            created_at=NOON,
            duration_ms=1 / 3,
            prompt_tokens=10,
            completion_tokens=5,
            total_tokens=15,
            cost=Decimal("0.0000012345"),
            currency="USD",
            finish_reason="length" if index else "stop",
            metadata={"attempt": 2} if index else None,
        )
    replaced = position == 1
    for seat, judge_id in enumerate(("ash", "fir", "yew") if replaced else ("ash", "fir")):
        is_valid = not (replaced and judge_id == "fir")
        scores = (
            Score(dimension="logic", pro=Decimal("7.5"), con=Decimal(6 + seat)),
            Score(dimension="clarity", pro=Decimal(7), con=Decimal(7)),
        )
        yield Verdict(
            **of_debate,
            judge_id=judge_id,
            panel_position=min(seat, 1),
            is_valid=is_valid,
            invalid_reason=None if is_valid else "no JSON",
            declared_winner="pro" if judge_id == "ash" else None,
            scores=scores if is_valid else None,
            raw_response="{}",
            cost=Decimal("0.1") if seat else None,
        )
    yield Call(
        **of_debate,
        call_id=f"call-{debate_id}",
        attempt=1,
        step="turn:0",
        purpose="turn",
        model_id=pro,
        provider="simulated",
        model_name=pro,
        status="answered",
    )
