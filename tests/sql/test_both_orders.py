"""Debates that are judged in both orders: which verdicts survive, and the version of the winner rule that asks it."""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import duckdb
import pytest
from built_warehouse import new_warehouse, packaged_project
from imported import land_records

from debatebench.query.sql_project import load_project
from debatebench.query.version_diff import diff_model
from debatebench.shared.records import Debate, Debater, Dimension, Judge, Record, Run, Score, Side, Topic, Verdict
from debatebench.shared.workspace import Workspace
from debatebench.transform.build import build
from debatebench.transform.project import Project
from debatebench.transform.testing.data_tests import run_data_tests

POINTS = {"p": (7, 5), "c": (5, 7), "t": (6, 6)}
LATEST = "models: [{name: panel_winners, latest_version: 3}, {name: judge_verdicts, latest_version: 3}]\n"

HEARD = {
    # Judge → for each debate, the winner with pro first and with con first.
    "steady": ("pp", "cc", "pp", "tt"),
    "first": ("pc", "pc", "pc", "pc"),
    "half": ("pp", "pc", "ct", "tt"),
}
DEBATES = ("d0", "d1", "d2", "d3")


def records() -> Iterator[Record]:
    yield Run(run_tag="s", source="import", format="panelbench")
    yield Run(
        run_tag="r", source="import", format="judging", source_run_tag="s", elo_initial_rating=400, elo_k_factor=32
    )
    for tag in ("s", "r"):
        for n, debate in enumerate(DEBATES):
            yield Topic(run_tag=tag, topic_id=f"t{n}", source_position=n, motion=f"Motion {n}.")
            for trial in (1, 2) if tag == "r" else (1,):
                yield Debate(
                    run_tag=tag,
                    debate_id=debate if trial == 1 else f"{debate}~2",
                    source_position=n + 10 * trial,
                    topic_id=f"t{n}",
                    pro_model_id="a",
                    con_model_id="b",
                    source_debate_id=debate if tag == "r" else None,
                    trial=trial,
                )
        for name in "ab":
            yield Debater(run_tag=tag, model_id=name)
    yield Dimension(run_tag="r", dimension="logic", source_position=0)
    for seat, (judge, winners) in enumerate(HEARD.items()):
        yield Judge(run_tag="r", judge_id=judge)
        for n, (debate, both) in enumerate(zip(DEBATES, winners, strict=True)):
            orders: tuple[Side, Side] = ("pro", "con") if n % 2 else ("con", "pro")
            for trial, first in enumerate(orders, 1):
                yield verdict(judge, seat, debate if trial == 1 else f"{debate}~2", first, both["pc".index(first[0])])


def verdict(judge: str, seat: int, debate: str, first: Side, winner: str) -> Verdict:
    pro, con = map(Decimal, POINTS[winner])
    return Verdict(
        run_tag="r",
        debate_id=debate,
        judge_id=judge,
        panel_position=seat,
        presented_first=first,
        is_valid=True,
        scores=(Score(dimension="logic", pro=pro, con=con),),
    )


def project_with(root: Path, yaml: str) -> Project:
    (root / "sql" / "marts").mkdir(parents=True)
    (root / "sql" / "marts" / "rules.yml").write_text(yaml, encoding="utf-8")
    return load_project(Workspace(root).files("sql", "**/*"))


def warehouse(project: Project, path: Path | None = None) -> duckdb.DuckDBPyConnection:
    con = new_warehouse(path)
    by_run: dict[str, list[Record]] = {}
    for record in records():
        by_run.setdefault(record.run_tag, []).append(record)
    for tag, rows in by_run.items():
        land_records(con, tag, rows)
    build(con, project)
    return con


@pytest.fixture(scope="module")
def packaged_rule() -> Iterator[duckdb.DuckDBPyConnection]:
    with warehouse(packaged_project()) as con:
        yield con


def winners(con: duckdb.DuckDBPyConnection, relation: str) -> dict[str, str]:
    return dict(con.execute(f"select debate_id, winner from {relation} where run_tag = 'r'").fetchall())


def test_a_flip_is_a_tie_in_both_trials_under_version_3_and_a_vote_in_each_under_version_2(
    packaged_rule: duckdb.DuckDBPyConnection,
):
    assert winners(packaged_rule, "marts.panel_winners_v2") == {
        "d0": "pro",
        "d0~2": "pro",
        "d1": "pro",
        "d1~2": "con",
        "d2": "tie",
        "d2~2": "pro",
        "d3": "pro",
        "d3~2": "con",
    }
    third = {"d0": "pro", "d1": "con", "d2": "pro", "d3": "tie"}
    assert winners(packaged_rule, "marts.panel_winners_v3") == third | {f"{d}~2": w for d, w in third.items()}
    assert winners(packaged_rule, "marts.panel_winners") == winners(packaged_rule, "marts.panel_winners_v2")


@pytest.mark.slow
def test_two_words_of_yaml_make_the_versions_that_count_flips_as_ties_the_rule(tmp_path: Path):
    project = project_with(tmp_path, LATEST)
    with warehouse(project) as con:
        assert winners(con, "marts.panel_winners") == winners(con, "marts.panel_winners_v3")
        rated = con.execute("select debate_id, winner from marts.games where run_tag = 'r' order by 1").fetchall()
        assert rated == [("d0", "pro"), ("d1", "con"), ("d2", "pro"), ("d3", "tie")]
        without = con.execute(
            "select debate_id, judge_id, winner, winner_without from intermediate.int_decided_verdicts "
            "where debate_id in ('d1', 'd2') order by all"
        ).fetchall()
        assert without == [
            ("d1", "first", "tie", "con"),
            ("d1", "half", "tie", "con"),
            ("d1", "steady", "con", "tie"),
            ("d2", "first", "tie", "pro"),
            ("d2", "half", "tie", "pro"),
            ("d2", "steady", "pro", "tie"),
        ]
        failed = [
            str(each) for each in run_data_tests(con, project, select=["judge_verdicts+"]) if each.status != "pass"
        ]
        assert failed == []


@pytest.mark.slow
def test_versions_2_and_3_can_be_compared(tmp_path: Path):
    project = packaged_project()
    path = tmp_path / "w.duckdb"
    warehouse(project, path).close()
    diff = diff_model(path, project, "panel_winners", 2, 3)
    changed: dict[str, Any] = {row.key["debate_id"]: row.after.get("winner") for row in diff.rows}
    assert {debate for debate, winner in changed.items() if winner} == {"d1", "d2", "d3", "d3~2"}
    assert diff.leaderboard is not None
    assert {each.model_id: each.difference > 0 for each in diff.leaderboard if each.difference} == {
        "a": False,
        "b": True,
    }


def test_consistency_says_which_verdicts_survive_the_swap(packaged_rule: duckdb.DuckDBPyConnection):
    survive = (
        "select judge_id, count_both_orders, count_same_in_both_orders, order_agreement_rate, "
        "order_agreement_rate_ci_low < order_agreement_rate_ci_high, order_agreement_rate_reason "
        "from marts.judge_consistency where dimension = 'overall' order by 1"
    )
    assert packaged_rule.execute(survive).fetchall() == [
        ("first", 4, 0, 0.0, True, None),
        ("half", 4, 2, 0.5, True, None),
        ("steady", 4, 4, 1.0, True, None),
    ]
    one_by_one = (
        "select source_debate_id, is_same_in_both_orders from marts.repeated_judgments "
        "where judge_id = 'half' and dimension = 'overall' order by 1"
    )
    assert packaged_rule.execute(one_by_one).fetchall() == [("d0", True), ("d1", False), ("d2", False), ("d3", True)]
