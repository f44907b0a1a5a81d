"""Debates of four teams in statistics about judges: two teams of one side are not the same winner."""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal

import duckdb
import pytest
from built_warehouse import new_warehouse, packaged_project
from imported import land_records

from debatebench.config.transcript_layout import BP_POSITIONS
from debatebench.shared.records import (
    Debate,
    Debater,
    Judge,
    JudgeNote,
    Participant,
    Record,
    Run,
    Score,
    Topic,
    Verdict,
)
from debatebench.transform.build import build
from debatebench.transform.project import Project
from debatebench.transform.testing.data_tests import run_data_tests

pytestmark = pytest.mark.slow

NAMED = {
    # Debate → the team or teams that each judge names. All winners of d0 and d1 are of one side.
    "d0": {"j1": "OO", "j2": "CO", "j3": "OO"},
    "d1": {"j1": "OO", "j2": "CO", "j3": "OO CO"},
    "d2": {"j1": "OG", "j2": "OG", "j3": "OG"},
    "d3": {"j1": "OG", "j2": "OO", "j3": "CG"},
}
SELECTED = (
    *("+judge_agreement", "+judge_majority_alignment", "+judge_side_preference", "+winner_counts", "+topic_winrate"),
    *("stg_topics", "+judge_alignment", "+judge_pair_agreement", "+judge_bias", "+reliability", "+int_judging_sums"),
)


def records() -> Iterator[Record]:
    yield Run(run_tag="bp", source="import", format="panelbench")
    for name in BP_POSITIONS:
        yield Debater(run_tag="bp", model_id=name)
    for judge in ("j1", "j2", "j3"):
        yield Judge(run_tag="bp", judge_id=judge)
    for place, (debate, named) in enumerate(NAMED.items()):
        where = {"run_tag": "bp", "debate_id": debate}
        yield Topic(run_tag="bp", topic_id=f"t{place}", source_position=place, motion=f"Motion {place}.")
        yield Debate(**where, source_position=place, topic_id=f"t{place}", format="british_parliamentary")
        for position, side in BP_POSITIONS.items():
            yield Participant(**where, position=position, side=side, model_id=position)
        for seat, (judge, teams) in enumerate(named.items()):
            side = BP_POSITIONS[teams.split()[0]]
            pro, con = (Decimal(7), Decimal(5)) if side == "pro" else (Decimal(5), Decimal(7))
            yield Verdict(
                **where,
                judge_id=judge,
                panel_position=seat,
                is_valid=True,
                declared_winner=side,
                scores=(Score(dimension="logic", pro=pro, con=con),),
            )
            for n, team in enumerate(teams.split()):
                yield JudgeNote(**where, judge_id=judge, note_index=n, step="winner", position=team)


@pytest.fixture(scope="module")
def project() -> Project:
    return packaged_project()


@pytest.fixture(scope="module")
def con(project: Project) -> Iterator[duckdb.DuckDBPyConnection]:
    with new_warehouse() as con:
        land_records(con, "bp", list(records()))
        # Judging is added up only where there is a run to compare with.
        land_records(con, "other", [Run(run_tag="other", source="import", format="panelbench")])
        build(con, project, select=SELECTED)
        yield con


def test_judges_agree_if_they_name_the_same_teams(con: duckdb.DuckDBPyConnection):
    """By side, j1 and j2 would agree on d0, d1 and d2."""
    agree = "select judge_a, judge_b, agree, total from original.judge_agreement order by all"
    assert con.execute(agree).fetchall() == [("j1", "j2", 1, 4), ("j1", "j3", 2, 4), ("j2", "j3", 1, 4)]
    pairs = "select agreement_rate, kappa, kappa_reason from marts.judge_pair_agreement where judge_b = 'j2'"
    assert con.execute(pairs).fetchall() == [(0.25, None, "undefined")]
    cells = (
        "select sum(total)::double from intermediate.int_judging_sums where measure = 'agreement' and member_id = ''"
    )
    assert con.execute(cells).fetchone() == (pytest.approx(1 / 3 + 0 + 1 + 0),)


def test_the_panel_is_the_teams_that_most_verdicts_name(con: duckdb.DuckDBPyConnection):
    found = (
        "select debate_id, judge_id, winner, panel_winner, winner_without from intermediate.int_decided_verdicts "
        "order by all"
    )
    assert con.execute(found).fetchall() == [
        ("d0", "j1", "OO", "OO", "CO OO"),
        ("d0", "j2", "CO", "OO", "OO"),
        ("d0", "j3", "OO", "OO", "CO OO"),
        ("d1", "j1", "OO", "CO OO", "CO"),
        ("d1", "j2", "CO", "CO OO", "OO"),
        ("d1", "j3", "CO OO", "CO OO", "CO OO"),
        ("d2", "j1", "OG", "OG", "OG"),
        ("d2", "j2", "OG", "OG", "OG"),
        ("d2", "j3", "OG", "OG", "OG"),
        ("d3", "j1", "OG", "CG OG OO", "CG OO"),
        ("d3", "j2", "OO", "CG OG OO", "CG OG"),
        ("d3", "j3", "CG", "CG OG OO", "OG OO"),
    ]
    aligned = "select judge_id, count_aligned, count_debates from marts.judge_alignment order by 1"
    assert con.execute(aligned).fetchall() == [("j1", 1, 4), ("j2", 1, 4), ("j3", 2, 4)]
    majority = "select judge_id, matches_majority, total from original.judge_majority_alignment order by 1"
    assert con.execute(majority).fetchall() == [("j1", 2, 4), ("j2", 1, 4), ("j3", 3, 4)]


def test_reliability_is_about_teams_and_has_no_order(con: duckdb.DuckDBPyConnection):
    found = con.execute(
        "select unit, statistic, level, value from marts.reliability where unit like 'win%' order by all"
    ).fetchall()
    assert {(unit, level) for unit, _, level, _ in found} == {("winning_teams", "nominal")}
    agreement = {statistic: value for _, statistic, _, value in found}
    assert agreement["agreement"] == pytest.approx((1 / 3 + 0 + 1 + 0) / 4)
    assert 0 < agreement["krippendorff_alpha"] < 1


def test_what_is_about_sides_leaves_four_teams_out(con: duckdb.DuckDBPyConnection):
    assert con.execute("select count(*) from original.judge_side_preference").fetchone() == (0,)
    assert con.execute(
        "select winner, count from original.winner_counts where run_tag = 'bp' order by 1"
    ).fetchall() == [
        ("con", 0),
        ("pro", 0),
        ("tie", 0),
    ]
    assert con.execute("select count(*) from original.topic_winrate").fetchone() == (0,)
    about_winners = ("side_preference", "side_lean", "position", "longer_wins", "mirrored_side_preference")
    values = "select count(value) from marts.judge_bias where list_contains($1, bias)"
    assert con.execute(values, [list(about_winners)]).fetchone() == (0,)
    assert con.execute("select count(*) from intermediate.int_judging_sums where measure = 'pro_lean'").fetchone() == (
        0,
    )


def test_the_data_tests_hold(con: duckdb.DuckDBPyConnection, project: Project):
    names = [name.removeprefix("+") for name in SELECTED]
    found = run_data_tests(
        con, project, select=[*names, "int_decided_verdicts", "team_verdicts", "int_verdict_comparisons"]
    )
    assert [str(each) for each in found if each.status != "pass"] == []
