"""Debates of four teams from the judges' scores to the leaderboard, beside debates of two sides."""

from __future__ import annotations

import json
import math
import re
from collections import defaultdict
from collections.abc import Iterator
from html import unescape
from pathlib import Path
from typing import Any

import duckdb
import pytest
from built_warehouse import begin_built, new_warehouse, packaged_project
from command_line import debatebench
from exported import land_runs
from imported import land_records
from oracles import plackett_luce_strengths
from team_runs import NAMES, teams_run

from debatebench.config.transcript_layout import BP_POSITIONS
from debatebench.query.leaderboard import leaderboard_of
from debatebench.shared.records import (
    JudgeNote,
    Participant,
)
from debatebench.shared.workspace import Workspace
from debatebench.transform.build import build
from debatebench.transform.project import Project
from debatebench.transform.testing.data_tests import run_data_tests

pytestmark = pytest.mark.slow

SELECTED = ("+leaderboard", "+team_positions", "+left_out", "+debater_statistics", "+head_to_head")


@pytest.fixture(scope="module")
def project() -> Project:
    return packaged_project()


@pytest.fixture(scope="module")
def con(project: Project) -> Iterator[duckdb.DuckDBPyConnection]:
    with new_warehouse() as con:
        land_records(con, "four", list(teams_run("four")))
        land_records(con, "both", list(teams_run("both", two_sided=True)))
        build(con, project, select=SELECTED)
        yield con


def rows(con: duckdb.DuckDBPyConnection, sql: str) -> list[tuple[Any, ...]]:
    return con.execute(sql).fetchall()


def mean_places(values: dict[str, float]) -> dict[str, float]:
    """Places from 1 for the smallest value; those with the same value share the mean of their places."""
    order = sorted(values.values())
    return {key: order.index(value) + 1 + (order.count(value) - 1) / 2 for key, value in values.items()}


def panels() -> dict[str, dict[str, float]]:
    """Debate → place by position, from the records: the named team first, then scores, then the sum over judges."""
    scores: dict[tuple[str, str], dict[str, float]] = defaultdict(dict)
    for record in teams_run("four"):
        if isinstance(record, JudgeNote) and record.position is not None:
            key = (record.debate_id, record.judge_id)
            value = 100.0 if record.step == "winner" else float(record.score or 0)
            scores[key][record.position] = max(value, scores[key].get(record.position, 0.0))
    sums: dict[str, dict[str, float]] = defaultdict(lambda: defaultdict(float))
    for (debate, _), given in scores.items():
        for position, place in mean_places({key: -value for key, value in given.items()}).items():
            sums[debate][position] += place
    return {debate: mean_places(dict(each)) for debate, each in sums.items()}


def test_a_panel_ranks_by_the_places_that_its_judges_give(con: duckdb.DuckDBPyConnection) -> None:
    found: dict[str, dict[str, float]] = defaultdict(dict)
    for debate, position, rank in rows(
        con, "select debate_id, position, rank from marts.team_results where run_tag = 'four'"
    ):
        found[debate][position] = rank
    assert found == panels()
    assert any(len(set(each.values())) < 4 for each in found.values())
    assert rows(
        con,
        """
        select distinct sum(points), sum(first_rate) from marts.team_results
        where run_tag = 'four' group by debate_id
        """,
    ) == [(6, pytest.approx(1))]


def test_ratings_are_those_of_an_independent_fit(con: duckdb.DuckDBPyConnection) -> None:
    speakers = {
        (record.debate_id, record.position): record.model_id
        for record in teams_run("four")
        if isinstance(record, Participant)
    }
    rankings = [{speakers[debate, at]: place for at, place in each.items()} for debate, each in panels().items()]
    expected = plackett_luce_strengths(rankings, NAMES)
    found = dict(rows(con, "select model_id, rating from ratings.plackett_luce where run_tag = 'four'"))
    assert [found[name] for name in NAMES] == pytest.approx(
        [400 + 400 / math.log(10) * each for each in expected], abs=1e-6
    )
    assert rows(con, "select distinct interval_method, is_separated, count_topics from ratings.plackett_luce") == [
        ("sandwich_topics", False, 6)
    ]


def test_the_leaderboard_has_them_and_makes_up_no_side(con: duckdb.DuckDBPyConnection) -> None:
    board = leaderboard_of(con, "four")
    shown = [dict(zip(board.columns, row, strict=True)) for row in board.rows]
    assert sorted(each["model_id"] for each in shown) == list(NAMES)
    assert [each["rank"] for each in shown] == sorted(each["rank"] for each in shown)
    for each in shown:
        assert each["format"] == "british_parliamentary"
        assert each["ci_low"] < each["rating"] < each["ci_high"]
        assert each["wins"] + each["losses"] + each["ties"] == each["games"]
        assert 0 <= each["mean_points"] <= 3
        assert each["mean_score"] is not None
        assert each["elo_rating"] is each["pro_win_rate"] is each["con_win_rate"] is None
    assert sum(each["games"] for each in shown) == 96
    assert sum(each["games"] * each["win_rate"] for each in shown) == pytest.approx(24)
    assert board.method == "Plackett–Luce ratings from the panels' rankings of four teams"
    assert [note for note in board.notes if "places are settled" in note or "place is settled" in note]
    for mart in ("debater_statistics", "head_to_head", "games"):
        assert rows(con, f"select count(*) from marts.{mart} where run_tag = 'four'") == [(0,)]
    assert rows(con, "select kind from marts.left_out where run_tag = 'four'") == []


def test_positions_share_the_points(con: duckdb.DuckDBPyConnection) -> None:
    found = rows(
        con,
        """
        select position, count_debates, mean_points, mean_points_ci_low, mean_points_ci_high, first_rate,
            first_rate_ci_low, first_rate_ci_high
        from marts.team_positions where run_tag = 'four' order by 1
        """,
    )
    assert [each[:2] for each in found] == [(name, 24) for name in sorted(BP_POSITIONS)]
    assert sum(each[2] for each in found) == pytest.approx(6)
    assert sum(each[5] for each in found) == pytest.approx(1)
    assert all(each[3] < each[2] < each[4] and each[6] < each[5] < each[7] for each in found)


def test_a_run_with_both_kinds_of_debates_rates_them_apart(con: duckdb.DuckDBPyConnection) -> None:
    same = "select model_id, rating, rank, games from ratings.plackett_luce where run_tag = '{}' order by all"
    assert rows(con, same.format("four")) == rows(con, same.format("both"))
    board = leaderboard_of(con, "both")
    found = [(row[board.columns.index("format")], row[board.columns.index("model_id")]) for row in board.rows]
    assert [name for form, name in found[:2] if form == "two_sided"] in (["y", "z"], ["z", "y"])
    assert {form for form, _ in found[2:]} == {"british_parliamentary"}
    assert "Bradley–Terry" in board.method
    assert "Plackett–Luce" in board.method
    assert [note.partition(":")[0] for note in board.notes[:2]] == [
        "Of debates of two sides",
        "Of debates of four teams",
    ]


def test_the_data_tests_hold(con: duckdb.DuckDBPyConnection, project: Project) -> None:
    names = ["int_team_ranks", "team_results", "team_positions", "plackett_luce", "leaderboard", "left_out"]
    found = run_data_tests(con, project, select=names)
    assert [str(each) for each in found if each.status != "pass"] == []


def test_commands_and_pages_show_debates_of_four_teams(tmp_path: Path) -> None:
    root = begin_built(tmp_path)
    land_runs(Workspace(root), {"four": teams_run("four")})
    done = debatebench(root, "show-leaderboard", "--run-tag", "four", "--format", "json")
    board = json.loads(done.out)
    assert [each["format"] for each in board] == ["british_parliamentary"] * 8
    assert "Plackett–Luce ratings from the panels' rankings of four teams." in done.err

    done = debatebench(root, "export", "--format", "every_eval_ever", "--run-tag", "four", "--out-dir", str(root / "e"))
    assert done.code == 0, done.err
    records = [json.loads(path.read_text()) for path in sorted((root / "e" / "data").rglob("*.json"))]
    assert len(records) == 8
    kinds = {each["evaluation_result_id"] for record in records for each in record["evaluation_results"]}
    assert kinds == {"plackett_luce", "win_rate", "mean_points"}

    done = debatebench(root, "report", "--out-dir", str(root / "site"))
    assert done.code == 0, done.err
    results = (root / "site" / "runs" / "four" / "index.html").read_text()
    assert all(
        f'id="{name}"' in results for name in ("rating-intervals", "leaderboard", "team-points", "team-positions")
    )
    assert not any(f'id="{name}"' in results for name in ("rating-controls", "head-to-head", "sides"))
    assert f"{board[0]['model_id']} leads with {board[0]['rating']:.0f} points" in unescape(
        re.sub("<[^>]+>", "", results)
    )
    own = (root / "site" / "runs" / "four" / "debaters" / f"{board[0]['model_id']}.html").read_text()
    assert 'id="team-positions"' in own
