"""Runs that judge stored debates again, and baselines, in every SQL model: nothing counts twice and nothing fails."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import duckdb
import pytest
from built_warehouse import new_warehouse, packaged_project, store_views
from imported import PANELBENCH, imported_run, land_records
from judged_runs import judged_run
from report_warehouse import annotated, tournament

from debatebench.landing.land import create_raw_tables
from debatebench.shared.records import Debate, Record, ScheduledDebate, Turn
from debatebench.transform.build import build
from debatebench.transform.project import Project
from debatebench.transform.testing.data_tests import run_data_tests

pytestmark = pytest.mark.slow

METHODS = {"judge-a": "dimensional_v1", "judge-b": "chronological_v1"}


@pytest.fixture(scope="module")
def project() -> Project:
    return packaged_project()


def held(pro_speaks: int = 1) -> list[Record]:
    """A small run of two debaters and a newcomer on two topics, with speeches of three lengths."""
    records = [
        record.model_copy(update={"content": record.content * (pro_speaks if record.side == "pro" else 1 + n % 3)})
        if isinstance(record, Turn)
        else record
        for n, record in enumerate(tournament("held", ("a", "b"), repetitions=2))
    ]
    return [*records, *(_planned(record) for record in records if isinstance(record, Debate))]


def _planned(debate: Debate) -> ScheduledDebate:
    """The plan of a debate that was held."""
    return ScheduledDebate(
        run_tag=debate.run_tag,
        debate_id=debate.debate_id,
        schedule_position=debate.schedule_position or 0,
        topic_id=debate.topic_id,
        pro_model_id=debate.pro_model_id,
        con_model_id=debate.con_model_id,
        repetition=debate.repetition,
        debate_seed=1,
        panel=("judge-a", "judge-b", "judge-c"),
    )


def panelbench() -> list[Record]:
    """An import with debates of two sides and of four teams."""
    return imported_run("panelbench", PANELBENCH)


def flaws() -> list[Record]:
    """An import with an annotation and a weakness, whose debaters have seats."""
    return list(annotated("flaws"))


@pytest.fixture(scope="module")
def con(project: Project) -> Iterator[duckdb.DuckDBPyConnection]:
    """`again`, `other`, and `rules` (with baselines only) judge `held`, `teams` judges the import `t`, and so on."""
    runs: dict[str, Sequence[Record]] = {
        "held": held(),
        "again": list(judged_run("again", held(), trials=3, methods=METHODS)),
        "other": list(judged_run("other", held(), methods={"judge-a": "direct", "judge-b": "chronological_v1"})),
        "t": panelbench(),
        "teams": list(judged_run("teams", panelbench(), methods=METHODS)),
        "flaws": flaws(),
        "flaws-again": list(judged_run("flaws-again", flaws())),
        "rules": list(judged_run("rules", held(), methods={}, baselines=("always_tie", "always_pro"))),
        "orphan": list(judged_run("orphan", [r.model_copy(update={"run_tag": "gone"}) for r in held()])),
    }
    con = new_warehouse()
    for tag, records in runs.items():
        land_records(con, tag, records)
    build(con, project)
    store_views(con, project.models)
    yield con
    con.close()


def rows(con: duckdb.DuckDBPyConnection, sql: str) -> list[tuple[Any, ...]]:
    return con.execute(sql).fetchall()


def test_every_data_test_holds_with_judged_runs(con: duckdb.DuckDBPyConnection, project: Project):
    results = run_data_tests(con, project)
    assert [str(result) for result in results if result.status != "pass"] == []


def test_a_judged_debate_has_the_turns_and_lengths_of_its_source(con: duckdb.DuckDBPyConnection):
    found = rows(
        con,
        """
        with lengths as (
            select run_tag, debate_id, sum(length(content)) as characters, arg_min(side, turn_index) as opening_side
            from intermediate.int_debate_turns group by all
        )
        select count(*), count(case when l.characters = h.characters and l.opening_side = 'pro' then 1 end)
        from lengths as l
        join marts.debates as d using (run_tag, debate_id)
        join lengths as h on h.run_tag = 'held' and h.debate_id = d.source_debate_id
        where l.run_tag = 'again'
        """,
    )
    assert found == [(15, 15)]
    bias = "select bias, count_trials from marts.judge_bias where run_tag = 'again' and judge_id = 'judge-a'"
    assert dict(rows(con, bias))["verbosity"] == 15
    length = "select length_sd from ratings.bradley_terry_terms where run_tag = '{}' and term = 'length'"
    assert rows(con, length.format("again")) == rows(con, length.format("held"))
    assert rows(con, length.format("again"))[0][0] is not None


def test_without_its_source_a_judged_run_has_no_lengths_and_still_has_winners(con: duckdb.DuckDBPyConnection):
    assert rows(con, "select count(*) from intermediate.int_debate_turns where run_tag = 'orphan'") == [(0,)]
    assert rows(con, "select count_decided from marts.runs where run_tag = 'orphan'") == [(5,)]


def test_only_first_trials_are_rated_in_a_judged_run(con: duckdb.DuckDBPyConnection):
    assert rows(con, "select count(*) from marts.games where run_tag = 'held'") == [(5,)]
    assert rows(con, "select count(*) from marts.games where run_tag = 'again'") == [(5,)]
    assert rows(con, "select count_debates, count_decided from marts.runs where run_tag = 'again'") == [(15, 15)]
    # Con wins all debates of the second trial, which is not rated: the side rates are those of the first.
    won = "select games, wins, losses from marts.leaderboard where run_tag = 'again' and model_id = 'a'"
    assert rows(con, won) == rows(con, won.replace("again", "other"))
    # Its mean score is that of the first trial as well.
    mean = "select mean_score from marts.leaderboard where run_tag = 'again' and model_id = 'a'"
    assert rows(con, mean) == rows(con, mean.replace("again", "other"))


def test_ratings_over_runs_leave_judged_runs_out(con: duckdb.DuckDBPyConnection):
    pooled = "select distinct pooled_run_tag from ratings.pooled_runs order by 1"
    assert rows(con, pooled) == [("held",)]
    for table in ("elo_pooled", "bradley_terry_pooled"):
        games = f"select games from ratings.{table} where pool_kind = 'overall' and model_id = 'a'"
        assert rows(con, games) == [(5,)]
    assert rows(con, "select games from ratings.bradley_terry_by_version where model_id = 'a'") == [(5,)]
    members = "select run_tag from intermediate.int_comparison_members where kind = 'version'"
    assert rows(con, members) == [("held",)]


def test_a_judged_run_costs_what_its_judges_cost(con: duckdb.DuckDBPyConnection):
    costs = "select turn_cost_usd, verdict_cost_usd::double, total_tokens from marts.runs where run_tag = 'again'"
    turn_cost, verdict_cost, tokens = rows(con, costs)[0]
    assert not turn_cost
    assert verdict_cost == pytest.approx(0.0007 * 30)
    assert tokens == 760 * 30
    assert rows(con, "select sum(count_turns) from marts.leaderboard where run_tag = 'again'")[0][0] in (None, 0)


def test_all_trials_of_a_stored_debate_are_left_out_together(con: duckdb.DuckDBPyConnection):
    clusters = """
        select count(*), count(distinct cluster_id), count(distinct cluster_id) = count(distinct source_debate_id)
        from intermediate.int_clusters
        where run_tag = 'again'
    """
    assert rows(con, clusters) == [(15, 5, True)]


def test_baselines_have_no_vote_and_are_in_no_statistic_about_judges(con: duckdb.DuckDBPyConnection):
    for table in ("panel_winners_v1", "panel_winners_v2"):
        votes = f"select distinct count_valid_verdicts, count_tie from marts.{table} where run_tag = 'again'"
        assert rows(con, votes) == [(2, 0)]
    counted = "select count_judges, count_verdicts, count_invalid_verdicts from marts.runs where run_tag = 'again'"
    assert rows(con, counted) == [(2, 30, 0)]
    named = rows(
        con,
        """
        select table_schema || '.' || table_name, column_name from information_schema.columns
        where column_name in ('judge_id', 'judge_a') and table_schema in ('marts', 'ratings')
        """,
    )
    told = set()
    for name, column in named:
        if rows(con, f"select 1 from {name} where {column} like 'always%' limit 1"):
            told.add(name)
    # What a model must beat stands beside it where judges are compared with people.
    beside_people = {"judge_predictions", "judge_errors", "judge_quality", "judge_consistency", "repeated_judgments"}
    beside_people |= {"judge_value", "team_judgments"}
    beside_people |= {f"panelbench_{table}" for table in ("main", "dimensions", "positions", "sizes", "significance")}
    # Weaknesses in the same way: what a rule makes of a flaw is a figure to beat.
    beside_people.add("weakness_detection")
    assert told <= {"marts.judge_costs", *(f"marts.{table}" for table in beside_people)}


def test_a_run_of_baselines_alone_decides_nothing(con: duckdb.DuckDBPyConnection):
    assert rows(con, "select distinct winner from marts.debates where run_tag = 'rules'") == [("no_decision",)]
    counts = "select count_decided, count_verdicts, count_invalid_verdicts from marts.runs where run_tag = 'rules'"
    assert rows(con, counts) == [(0, 0, 0)]
    assert rows(con, "select count(*) from ratings.elo where run_tag = 'rules'") == [(0,)]


def test_debates_of_four_teams_are_decided_and_not_rated(con: duckdb.DuckDBPyConnection):
    assert rows(
        con,
        """
        select count(*) > 0, count(case when is_rated then 1 end) from marts.decided_debates
        join staging.stg_debates as d using (run_tag, debate_id)
        where run_tag = 'teams' and d.format = 'british_parliamentary'
        """,
    ) == [(True, 0)]


def comparison(con: duckdb.DuckDBPyConnection, baseline: str, candidate: str) -> dict[str, Any]:
    """The rows of the comparability check by item, and the verdict under `verdict`."""
    where = f"where baseline_kind = 'run' and baseline = '{baseline}' and candidate = '{candidate}'"
    where += " and candidate_kind = 'run'"
    found: dict[str, Any] = {
        item: (state, one, other)
        for item, state, one, other in rows(
            con, f"select item, state, baseline_value, candidate_value from marts.run_comparability {where}"
        )
    }
    ((same, text),) = rows(con, f"select is_same_debates, explanation from marts.comparability_verdicts {where}")
    return {**found, "verdict": (same, text)}


def test_a_judged_run_and_its_source_differ_in_judging_only(con: duckdb.DuckDBPyConnection):
    found = comparison(con, "held", "again")
    assert found["debates"] == ("same", "of run held", "of run held")
    for item in ("topics", "debaters", "debater_models", "refusal_rule", "schedule_rule"):
        assert found[item][1] == found[item][2], item
    assert found["topics"][0] == found["debaters"][0] == "same"
    assert found["judges"][0] == "different"
    assert found["verdict"][0] is True
    assert "The debates are the same: only their judging can differ." in found["verdict"][1]


def test_two_judged_runs_of_one_source_differ_by_method(con: duckdb.DuckDBPyConnection):
    found = comparison(con, "other", "again")
    assert found["debates"][0] == found["judges"][0] == found["schedule"][0] == "same"
    assert found["judge_methods"] == ("different", "judge-a: direct", "judge-a: dimensional_v1")
    assert found["weights_and_ties"][0] == "same"
    assert found["verdict"][0] is True


def test_runs_that_held_their_own_debates_are_not_said_to_have_the_same(con: duckdb.DuckDBPyConnection):
    found = comparison(con, "held", "t")
    assert found["debates"] == ("same", "its own", "its own")
    assert found["verdict"][0] is False
    assert comparison(con, "t", "again")["debates"][0] == "different"


def test_debates_are_compared_with_the_judgment_of_the_same_stored_debate(con: duckdb.DuckDBPyConnection):
    pair = "baseline_kind = 'run' and candidate_kind = 'run' and baseline = '{}' and candidate = '{}'"
    matched = "select count(*), count(case when baseline_debate_id = {} then 1 end) from marts.debate_comparison where "
    source = "substr(candidate_debate_id, 4)"
    assert rows(con, matched.format(source) + pair.format("held", "again")) == [(5, 5)]
    teams = len([record for record in panelbench() if isinstance(record, Debate)])
    assert rows(con, matched.format(source) + pair.format("t", "teams")) == [(teams, teams)]
    both = "substr(baseline_debate_id, 4) = substr(candidate_debate_id, 4)"
    assert rows(
        con, f"select count(*), bool_and({both}) from marts.debate_comparison where " + pair.format("other", "again")
    ) == [(5, True)]


def test_ratings_follow_when_the_source_lands_again(project: Project):
    con = duckdb.connect()
    create_raw_tables(con)
    con.execute("create schema meta; create table meta.landings (run_tag varchar, content_sha256 varchar)")
    rated = ["+bradley_terry_terms"]
    length = "select length_sd from ratings.bradley_terry_terms where run_tag = 'again' and term = 'length'"
    found = []
    for number, records in enumerate((held(), held(pro_speaks=9))):
        land_records(con, "held", records)
        con.execute("delete from meta.landings")
        con.execute(f"insert into meta.landings values ('held', '{number}'), ('again', 'x'), ('bare', 'y')")
        if number == 0:
            land_records(con, "again", judged_run("again", held(), methods=METHODS))
            land_records(con, "bare", annotated("bare"))
        build(con, project, select=rated)
        found.append(con.execute(length).fetchall())
    build(con, project, select=rated, full_refresh=True)
    assert found[0] != found[1] == con.execute(length).fetchall()
    con.close()
