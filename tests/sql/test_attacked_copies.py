"""Attacked copies of stored debates are in SQL models of their own, and change nothing else but costs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import duckdb
import pytest
from built_warehouse import new_warehouse, packaged_project, store_views
from imported import land_records
from judged_runs import judged_run
from probed_runs import probed_run
from report_warehouse import tournament

from debatebench.shared.records import Record, Run
from debatebench.transform.build import build
from debatebench.transform.project import Project
from debatebench.transform.testing.data_tests import run_data_tests

pytestmark = pytest.mark.slow

METHODS = {"judge-a": "dimensional_v1", "judge-b": "chronological_v1"}
# What may differ when attacked copies are judged as well: what their judges cost, and what is made of them.
COSTS = {
    "intermediate.int_expenses",
    "intermediate.int_cost_spreads",
    "intermediate.int_costs",
    "intermediate.int_judge_prices",
    "intermediate.int_verdict_costs",
    "marts.debate_costs",
    "marts.judge_costs",
    "marts.judge_value",
    "marts.rank_costs",
    "marts.runs",
    "marts.stage_costs",
    "original.cost_usage",
    "original.token_usage",
}
OF_ATTACKS = {
    "marts.attacked_debates",
    "marts.attacked_verdicts",
    "marts.judge_robustness",
    "intermediate.int_robustness_debates",
    "marts.robustness_pairs",
    "intermediate.int_probed_verdicts",
    "intermediate.int_titled_notes",
    "staging.stg_attacked_debates",
    "staging.stg_attacked_notes",
    "staging.stg_attacked_schedule",
    "staging.stg_attacked_turns",
    "staging.stg_attacked_verdicts",
}


@pytest.fixture(scope="module")
def project() -> Project:
    return packaged_project()


def held() -> list[Record]:
    """A run, without its plan, as an import has it."""
    return [
        record.model_copy(update={"source": "import"}) if isinstance(record, Run) else record
        for record in tournament("held", ("a", "b"), repetitions=2)
    ]


def built(project: Project, probed: Iterable[Record]) -> duckdb.DuckDBPyConnection:
    con = new_warehouse()
    land_records(con, "held", held())
    land_records(con, "probed", probed)
    build(con, project)
    store_views(con, project.models)
    return con


@pytest.fixture(scope="module")
def attacked(project: Project) -> Iterator[duckdb.DuckDBPyConnection]:
    con = built(project, probed_run("probed", held(), {"orders": "pro", "flattery": "con"}, methods=METHODS))
    yield con
    con.close()


@pytest.fixture(scope="module")
def clean(project: Project) -> Iterator[duckdb.DuckDBPyConnection]:
    only_clean = (
        record.model_copy(update={"format": "probing"}) if isinstance(record, Run) else record
        for record in judged_run("probed", held(), methods=METHODS)
    )
    con = built(project, only_clean)
    yield con
    con.close()


def rows(con: duckdb.DuckDBPyConnection, sql: str) -> list[tuple[Any, ...]]:
    return con.execute(sql).fetchall()


def test_every_data_test_holds_with_attacked_copies(attacked: duckdb.DuckDBPyConnection, project: Project):
    results = run_data_tests(attacked, project)
    assert [str(result) for result in results if result.status != "pass"] == []


def test_without_costs_and_attacks_every_sql_model_is_the_same_with_attacked_copies_as_without(
    attacked: duckdb.DuckDBPyConnection, clean: duckdb.DuckDBPyConnection, project: Project
):
    different = []
    for name in sorted(project.models):
        if name.startswith("raw.") or name in COSTS | OF_ATTACKS:
            continue
        with_copies, without = (
            rows(con, f"select t::varchar from {name} as t order by 1") for con in (attacked, clean)
        )
        if with_copies != without:
            different.append(name)
    assert different == []


def test_attacked_copies_are_in_their_own_staging_models(attacked: duckdb.DuckDBPyConnection):
    debates = rows(attacked, "select count(*) from staging.stg_debates where run_tag = 'probed'")[0][0]
    assert rows(
        attacked, "select attack, attack_side, count(*) from staging.stg_attacked_debates group by all order by 1"
    ) == [
        ("flattery", "con", debates),
        ("orders", "pro", debates),
    ]
    verdicts = rows(attacked, "select count(*) from staging.stg_verdicts where run_tag = 'probed'")[0][0]
    assert rows(attacked, "select count(*) from staging.stg_attacked_verdicts") == [(2 * verdicts,)]
    notes = rows(attacked, "select count(*) from staging.stg_judge_notes where run_tag = 'probed'")[0][0]
    assert rows(attacked, "select count(*) from staging.stg_attacked_notes") == [(2 * notes,)]


def test_verdicts_on_attacked_copies_count_in_what_the_run_and_its_judges_cost(
    attacked: duckdb.DuckDBPyConnection, clean: duckdb.DuckDBPyConnection
):
    cost = "select cost_usd, verdict_cost_usd, total_tokens from marts.runs where run_tag = 'probed'"
    assert rows(attacked, cost) == [tuple(3 * value for value in rows(clean, cost)[0])]
    asks = (
        "select count_verdicts, count_asks, cost_usd from marts.judge_costs where run_tag = 'probed' order by judge_id"
    )
    assert rows(attacked, asks) == [tuple(3 * v if v is not None else v for v in row) for row in rows(clean, asks)]


def test_every_attacked_copy_has_its_own_costs(attacked: duckdb.DuckDBPyConnection):
    assert rows(
        attacked,
        "select count(*), sum(count_verdicts) > 0, sum(cost_usd) > 0 from marts.debate_costs "
        "inner join staging.stg_attacked_debates using (run_tag, debate_id)",
    ) == rows(attacked, "select count(*), true, true from staging.stg_attacked_debates")


def test_only_costs_texts_and_the_models_of_robustness_read_attacked_copies(project: Project):
    attacked = {name for name in project.models if name.startswith("staging.stg_attacked_")}
    readers = {
        name for name, model in project.models.items() if attacked & set(model.dependencies) and name not in attacked
    }
    assert readers == {
        "intermediate.int_costs",
        "intermediate.int_expenses",
        "intermediate.int_probed_verdicts",
        "intermediate.int_titled_notes",
        "marts.attacked_debates",
    }
    probed = {"intermediate.int_probed_verdicts", "marts.attacked_debates", "marts.attacked_verdicts"}
    beyond = {name for name, model in project.models.items() if probed & set(model.dependencies)}
    assert beyond == {"marts.attacked_verdicts", "marts.robustness_pairs"}
