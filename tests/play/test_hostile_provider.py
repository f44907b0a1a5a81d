"""Whatever a provider does, a run keeps what it got, goes on and lands. The benchmark of this name plays commands."""

from __future__ import annotations

from collections import Counter
from contextlib import suppress
from datetime import datetime
from pathlib import Path
from typing import Any

import duckdb
import pytest
from fake_provider import FakeProvider
from hostile_provider import MODES, SMUGGLED, TIMEOUT_S, Sick, play_commands
from imported import land_records
from tournament import KEY, write_workspace

from debatebench.config.load import load_config, load_debaters, load_judges, load_topics
from debatebench.config.prompt_files import load_prompts
from debatebench.journal.reading import read_journal
from debatebench.landing.journal_records import journal_records
from debatebench.landing.land import create_raw_tables
from debatebench.plan.plan import PlanOptions
from debatebench.plan.schedule import make_plan
from debatebench.play.before_run import RunSettings
from debatebench.play.retries import RetryPolicy
from debatebench.play.runner import RunReport, play_run
from debatebench.shared.errors import DebatebenchError
from debatebench.shared.records import Call, Debate, Judge, Run, Turn
from debatebench.shared.workspace import Workspace

pytestmark = pytest.mark.slow

QUICK = RetryPolicy(
    declined=2, ambiguous=1, empty=1, first_wait_s=0.001, longest_wait_s=0.002, busy_s=0.005, failures_in_a_row=0
)


def play(root: Path, *, retry_failed: bool = False) -> RunReport:
    workspace = Workspace(root)
    config = load_config(workspace.config_file("config.yaml"))
    debaters = load_debaters(workspace.config_file("models.yaml"))
    judges = load_judges(workspace.config_file("judges.yaml"))
    hurried = [
        tuple(member.model_copy(update={"timeout": TIMEOUT_S}) for member in members) for members in (debaters, judges)
    ]
    topics = load_topics(workspace.config_file("topics.json"))
    prompts = load_prompts(workspace, config, judges)
    plan = make_plan("tiny", config, topics, *hurried, prompts, PlanOptions(sample_topics=1), None)
    return play_run(
        plan,
        workspace.journal / "tiny.jsonl",
        RunSettings(policy=QUICK, retry_failed=retry_failed),
        environ={"TINY_API_KEY": KEY},
        now=lambda: datetime(2026, 1, 2),
    )


def attempts(journal: Path) -> list[dict[str, Any]]:
    return [row for event in read_journal(journal) for row in event.data.get("records", {}).get("calls", ())]


def test_there_are_a_hundred_modes():
    assert len(MODES) >= 100


@pytest.mark.parametrize("mode", ["reset in the body", "details nested 900 deep"])
def test_commands_survive_a_hostile_provider(tmp_path: Path, mode: str):
    assert play_commands(tmp_path, mode) == []


# The others are played by the benchmark.
@pytest.mark.parametrize("mode", list(MODES)[::4])
def test_a_run_survives_a_hostile_provider_and_loses_nothing(tmp_path: Path, mode: str):
    sick = Sick(mode)
    with FakeProvider(sick) as server:
        root = write_workspace(tmp_path, server)
        journal = root / "warehouse" / "journal" / "tiny.jsonl"
        with suppress(DebatebenchError):
            play(root)
        assert sick.hostile, "the mode was met"
        sick.is_healed = True
        report = play(root, retry_failed=True)
        asked = len(server.requests)
    assert report.missing == ()
    rows = attempts(journal)
    assert asked <= sum(row["status"] != "unsent" for row in rows), "what was sent is in the journal"
    assert max(sick.answered.values()) == 1, "what was answered is not asked again"
    records = list(journal_records(journal))
    assert Counter(type(record) for record in records)[Debate] == 6
    assert not [turn for turn in records if isinstance(turn, Turn) and SMUGGLED in turn.content]
    assert KEY.encode() not in journal.read_bytes()
    with duckdb.connect() as con:
        create_raw_tables(con)
        land_records(con, "tiny", iter(records))
        landed = con.execute("select count(*) from raw.calls").fetchone()
    assert landed == (sum(isinstance(record, Call) for record in records),) == (len(rows),)
    assert {Run, Judge} <= {type(record) for record in records}
