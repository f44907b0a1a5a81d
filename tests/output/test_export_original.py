"""JSONL, read as the original harness reads it: its counts and ratings of an export are those of the warehouse."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import duckdb
import pytest
from built_warehouse import NOON, begin_built
from imported import add_import
from original_reader import NotReadError, Summary, rate, read_debates, summarize

from debatebench.output.export import export
from debatebench.output.summaries import ratings_json, write_summaries
from debatebench.shared.workspace import Workspace
from debatebench.warehouse.update import update_warehouse

pytestmark = pytest.mark.slow


def table(folder: Path, name: str) -> list[dict[str, str]]:
    with (folder / f"{name}.csv").open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def numbers(row: dict[str, str], *names: str) -> tuple[int, ...]:
    return tuple(int(row[name]) for name in names)


def as_counted(folder: Path) -> Summary:
    """The same counts from CSV files."""
    return Summary(
        winner_counts={row["winner"]: int(row["count"]) for row in table(folder, "winner_counts")},
        topic_winrate={
            row["topic_id"]: numbers(row, "pro_wins", "con_wins", "ties", "total")
            for row in table(folder, "topic_winrate")
        },
        judge_agreement={
            (row["judge_a"], row["judge_b"]): numbers(row, "agree", "total") for row in table(folder, "judge_agreement")
        },
        judge_side_preference={
            row["judge_id"]: numbers(row, "pro", "con", "tie") for row in table(folder, "judge_side_preference")
        },
        model_winrate_by_side={
            row["model_id"]: numbers(row, "pro_w", "pro_l", "pro_t", "con_w", "con_l", "con_t")
            for row in table(folder, "model_winrate_by_side")
        },
    )


def check(workspace: Workspace, run_tag: str, out: Path) -> list[dict[str, Any]]:
    """Export a run, read it, and compare; returns the records."""
    export(workspace, "jsonl", out, run_tags=[run_tag])
    records = read_debates(out / f"debates_{run_tag}.jsonl")
    with duckdb.connect(str(workspace.database), read_only=True) as con:
        write_summaries(con, run_tag, out / "csv")
        rated = ratings_json(con, run_tag)["models"]
    assert summarize(records) == as_counted(out / "csv")
    assert rate(records) == pytest.approx({model: entry["rating"] for model, entry in rated.items()}, abs=1e-9)
    return records


def test_the_reader_counts_what_the_original_counted(shared: Path):
    golden = shared / "debatebench-v0" / "golden"
    records = read_debates(golden / "debates.jsonl")
    found, theirs = summarize(records), as_counted(golden / "viz")
    merged = {(row["judge_a"], row["judge_b"]): numbers(row, "agree", "total") for row in pairs(golden)}
    assert found.judge_agreement == merged
    assert (found.winner_counts, found.topic_winrate) == (theirs.winner_counts, theirs.topic_winrate)
    assert found.judge_side_preference == theirs.judge_side_preference
    assert found.model_winrate_by_side == theirs.model_winrate_by_side
    ratings = json.loads((golden / "ratings.json").read_text())["models"]
    assert rate(records) == pytest.approx({model: entry["rating"] for model, entry in ratings.items()}, abs=1e-9)


def pairs(golden: Path) -> list[dict[str, str]]:
    """The original's pairs of judges, of which it wrote some as two rows."""
    with (golden / "judge_agreement_merged.csv").open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def test_the_original_reads_what_was_played(played: Path, tmp_path: Path):
    workspace = Workspace(played)
    with duckdb.connect(str(workspace.database), read_only=True) as con:
        ((run_tag,),) = con.execute("select run_tag from raw.runs where source = 'run' limit 1").fetchall()
    records = check(workspace, run_tag, tmp_path / "out")
    assert len(records) > 10
    # The reader can refuse.
    record = records[0]
    for change in ({"created_at": None}, {"elo": {"initial_rating": None, "k_factor": None}}, {"aggregate": {}}):
        (tmp_path / "broken.jsonl").write_text(json.dumps({**record, **change}))
        with pytest.raises(NotReadError, match=f"line 1.{next(iter(change))}"):
            read_debates(tmp_path / "broken.jsonl")


def test_the_original_rates_debates_in_order_of_their_schedule_whichever_ended_first(copied: Path, tmp_path: Path):
    workspace = Workspace(copied)
    with duckdb.connect(str(workspace.database)) as con:
        ((run_tag,),) = con.execute("select run_tag from raw.runs where source = 'run' limit 1").fetchall()
    for number, ended in enumerate(("date '2026-01-02' - to_minutes(schedule_position)", "date '2026-01-02'")):
        with duckdb.connect(str(workspace.database)) as con:
            con.execute(f"update raw.debates set created_at = {ended} where run_tag = ?", [run_tag])
        times = [record["created_at"] for record in check(workspace, run_tag, tmp_path / str(number))]
        assert times == sorted(set(times))


def test_the_original_reads_its_own_debates_again(shared: Path, tmp_path: Path):
    workspace = Workspace(begin_built(tmp_path / "w"))
    add_import(workspace, "golden", "debatebench", shared / "debatebench-v0" / "golden" / "debates.jsonl")
    update_warehouse(workspace, None, now=lambda: NOON)
    assert len(check(workspace, "golden", tmp_path / "out")) == 300
