"""The original harness's golden run, imported, landed and built: its eleven CSVs and its ratings come out again."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import duckdb
import pytest
from built_warehouse import new_warehouse, packaged_project, store_views
from imported import add_import
from silent_nulls import silent_nulls

from debatebench.landing.importers.kept import land_import
from debatebench.output.summaries import SUMMARIES, ratings_json, write_summaries
from debatebench.shared.workspace import Workspace
from debatebench.transform.build import build
from debatebench.transform.project import Project
from debatebench.transform.testing.data_tests import run_data_tests

pytestmark = pytest.mark.slow

# The golden run twice and two other formats, so that whatever leaks from one tag into another shows.
IMPORTS = {
    "art": ("panelbench", "panelbench/DebateArt"),
    "bp": ("panelbench", "panelbench/BP-Competition"),
    "flow": ("debateflow", "debateflow"),
    "golden": ("debatebench", "debatebench-v0/golden/debates.jsonl"),
    "golden-again": ("debatebench", "debatebench-v0/golden/debates.jsonl"),
}


@pytest.fixture(scope="module")
def workspace(tmp_path_factory: pytest.TempPathFactory) -> Workspace:
    return Workspace(tmp_path_factory.mktemp("workspace"))


@pytest.fixture(scope="module")
def project() -> Project:
    return packaged_project()


@pytest.fixture(scope="module")
def warehouse(shared: Path, workspace: Workspace, project: Project) -> Iterator[duckdb.DuckDBPyConnection]:
    con = new_warehouse()
    for run_tag, (format_name, path) in IMPORTS.items():
        add_import(workspace, run_tag, format_name, shared / path)
        land_import(con, workspace.imports / run_tag)
    build(con, project)
    store_views(con, project.models)
    yield con
    con.close()


def golden_csv(shared: Path, name: str) -> Path:
    """The original wrote a pair of judges as two rows; the merged file is what it should have written."""
    folder = shared / "debatebench-v0" / "golden"
    return folder / "judge_agreement_merged.csv" if name == "judge_agreement" else folder / "viz" / f"{name}.csv"


def test_every_null_of_a_mart_has_a_reason(warehouse: duckdb.DuckDBPyConnection, project: Project):
    assert silent_nulls(warehouse, project) == []


@pytest.mark.parametrize("run_tag", ["golden", "golden-again"])
def test_every_csv_is_the_originals_byte_for_byte(
    run_tag: str, warehouse: duckdb.DuckDBPyConnection, shared: Path, tmp_path: Path
):
    written = write_summaries(warehouse, run_tag, tmp_path)
    assert sorted(path.name for path in written) == sorted(
        path.name for path in (shared / "debatebench-v0" / "golden" / "viz").iterdir()
    )
    for path in written:
        assert path.read_bytes() == golden_csv(shared, path.stem).read_bytes(), path.name


def test_ratings_are_the_originals(warehouse: duckdb.DuckDBPyConnection, shared: Path):
    expected = json.loads((shared / "debatebench-v0" / "golden" / "ratings.json").read_text())
    found = ratings_json(warehouse, "golden")
    assert {**found, "models": None} == {**expected, "models": None}
    assert list(found["models"]) == list(expected["models"])
    for model_id, entry in expected["models"].items():
        assert found["models"][model_id]["rating"] == pytest.approx(entry["rating"], abs=1e-9, rel=0)
        assert found["models"][model_id]["games_played"] == entry["games_played"]
        assert list(found["models"][model_id]["dimension_avgs"]) == list(entry["dimension_avgs"])
        assert found["models"][model_id]["dimension_avgs"] == pytest.approx(entry["dimension_avgs"], abs=1e-9, rel=0)


def test_panel_winners_are_those_that_the_original_recorded(warehouse: duckdb.DuckDBPyConnection):
    counts = warehouse.execute(
        "select count(*), count(case when winner = recorded_winner then 1 end) from marts.debates "
        "where run_tag = 'golden'"
    ).fetchall()
    assert counts == [(300, 300)]


def test_unknown_costs_are_counted_and_not_added(warehouse: duckdb.DuckDBPyConnection):
    """m11 never reports a cost, and one turn in a hundred lacks its tokens."""
    rows = warehouse.execute(
        "select cost_usd, count_turns = count_unpriced_turns, count_unmetered > 0 from marts.debater_costs "
        "where run_tag = 'golden' and model_id = 'm11'"
    ).fetchall()
    assert rows == [(None, True, True)]
    total, unpriced = warehouse.execute(
        "select cost_usd, count_unpriced_turns from marts.runs where run_tag = 'golden'"
    ).fetchall()[0]
    known = warehouse.execute(
        "select sum(cost) from (select cost from raw.turns where run_tag = 'golden' "
        "union all select cost from raw.verdicts where run_tag = 'golden')"
    ).fetchall()[0][0]
    assert total == known
    assert (
        unpriced
        == warehouse.execute("select count(*) from raw.turns where run_tag = 'golden' and cost is null").fetchall()[0][
            0
        ]
    )


def test_imports_without_judges_have_debates_and_no_winners(warehouse: duckdb.DuckDBPyConnection):
    rows = warehouse.execute(
        "select run_tag, count_debates, count_complete, count_decided, count_annotations, cost_usd "
        "from marts.runs where run_tag in ('art', 'bp', 'flow') order by run_tag"
    ).fetchall()
    assert rows == [("art", 60, 60, 0, 0, None), ("bp", 11, 11, 0, 0, None), ("flow", 20, 20, 0, 8, None)]
    assert warehouse.execute(
        "select winner, count(*) from marts.gold where run_tag = 'art' and unit = 'winner' group by winner order by 1"
    ).fetchall() == [("con", 33), ("pro", 21), ("tie", 6)]


def test_a_run_without_ratings_has_empty_summaries(warehouse: duckdb.DuckDBPyConnection, tmp_path: Path):
    assert ratings_json(warehouse, "bp")["models"] == {}
    lines = {path.stem: path.read_bytes().count(b"\r\n") for path in write_summaries(warehouse, "bp", tmp_path)}
    assert lines == {name: 4 if name == "winner_counts" else 1 for name in SUMMARIES}


def test_every_data_test_holds_on_real_data(warehouse: duckdb.DuckDBPyConnection, project: Project):
    results = run_data_tests(warehouse, project)
    assert len(results) > 500
    assert [str(result) for result in results if result.status != "pass"] == []
