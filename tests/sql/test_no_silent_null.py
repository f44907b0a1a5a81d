"""Where a mart has no number, its row or the text of its column says why: in all marts, over odd runs and imports."""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Sequence
from pathlib import Path

import duckdb
import pytest
from built_warehouse import packaged_project, store_views, stored
from drawn_runs import built, odd_runs
from imported import DEBATEFLOW, ORIGINAL, PANELBENCH, imported_run
from silent_nulls import silent_nulls
from sql_project import STAGING, raw_database, write_project

from debatebench.shared.records import Record
from debatebench.shared.workspace import Workspace
from debatebench.transform.build import build


def retagged(records: Sequence[Record], tag: str) -> list[Record]:
    return [record.model_copy(update={"run_tag": tag}) for record in records]


@pytest.fixture(scope="module")
def odd() -> Iterator[duckdb.DuckDBPyConnection]:
    imports = {"original": ORIGINAL, "debateflow": DEBATEFLOW, "panelbench": PANELBENCH}
    formats = {"original": "debatebench"}
    runs = odd_runs() | {tag: retagged(imported_run(formats.get(tag, tag), path), tag) for tag, path in imports.items()}
    with built(runs) as con:
        store_views(con, packaged_project().models)
        yield con


@pytest.mark.slow
def test_every_null_of_a_mart_has_a_reason_in_odd_runs_and_imports(odd: duckdb.DuckDBPyConnection) -> None:
    assert silent_nulls(odd, packaged_project()) == []


@pytest.mark.slow
def test_every_null_of_a_mart_has_a_reason_in_a_simulated_run(played: Path, tmp_path: Path) -> None:
    with duckdb.connect(str(stored(Path(shutil.copy(Workspace(played).database, tmp_path))))) as con:
        assert silent_nulls(con, packaged_project()) == []


@pytest.mark.parametrize(
    ("text", "reason", "expected"),
    [
        ("The mean.", "null", ["marts.t.mean_x: 1"]),
        ("The mean, which may be null.", "null", ["marts.t.mean_x: 1"]),
        ("The mean.", "'no_cases'", []),
        ("The mean. Null without debates.", "null", []),
    ],
)
def test_a_null_without_a_reason_is_found(tmp_path: Path, text: str, reason: str, expected: list[str]) -> None:
    files = {
        "marts/t.sql": f"select null::double as mean_x, {reason}::varchar as reason, 1 as count_x",
        "marts/t.yml": f"models: [{{name: t, description: T., columns: [{{name: mean_x, description: '{text}'}}]}}]",
    }
    with raw_database() as con:
        project = write_project(tmp_path, STAGING | files)
        build(con, project)
        assert silent_nulls(con, project) == expected
