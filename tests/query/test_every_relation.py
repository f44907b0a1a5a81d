"""Every relation of a warehouse with varied runs and imports, read as a user of the data reads it."""

from __future__ import annotations

import csv
import io
import json
import math
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NoReturn

import duckdb
import pytest
from built_warehouse import begin_built, stored
from command_line import debatebench, debatebench_here
from extremes import write_extreme_debates
from paths import REPOSITORY

from debatebench.query.parquet import write_parquet
from debatebench.query.safe_query import open_for_query, run_query
from debatebench.shared.result_formats import render
from debatebench.shared.workspace import Workspace

pytestmark = [pytest.mark.slow, pytest.mark.exhaustive]

# Comparisons of many runs have so many rows that their texts would take minutes.
WRITTEN_ROWS = 2_000
SCHEMAS = ("raw", "staging", "intermediate", "marts", "original", "ratings")


@pytest.fixture(scope="module")
def database(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A warehouse with the runs of `benchmarks/varied_runs.py`, its imports that are there, and an extreme one.

    It is a copy whose views are stored as tables, so that many queries are fast.
    """
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(REPOSITORY / "benchmarks"))
        patch.delitem(sys.modules, "varied_runs", raising=False)
        import varied_runs
    root = begin_built(tmp_path_factory.mktemp("varied"))
    assert debatebench_here(root, "init").code == 0
    extreme = write_extreme_debates(root / "extreme.jsonl", 7)
    sources = [("debatebench", "extreme", extreme)]
    sources += varied_runs.sources(REPOSITORY.parent / "shared" / "data", root)
    for source_format, tag, path in sources:
        if path.exists():
            line = ("import", source_format, str(path), "--run-tag", tag, "--no-build")
            assert debatebench_here(root, *line).code == 0, tag
    with varied_runs.provider() as url:
        for run in varied_runs.runs(url, root / "configs"):
            line = [str(word) for word in varied_runs.written(root, run)]
            done = debatebench(root, *line, environ={varied_runs.KEY_VARIABLE: "sk-local"})
            assert done.code in run.codes, (run.tag, done.err)
    assert debatebench_here(root, "build").code == 0
    copy = tmp_path_factory.mktemp("stored") / "copy.duckdb"
    copy.write_bytes(Workspace(root).database.read_bytes())
    return stored(copy)


def _floats(value: Any) -> Iterator[float]:
    if isinstance(value, float):
        yield value
    elif isinstance(value, list | tuple | dict):
        for inner in value.values() if isinstance(value, dict) else value:
            yield from _floats(inner)


def _refuse(constant: str) -> NoReturn:
    raise ValueError(constant)


def check_texts(relation: str, columns: Sequence[str], rows: Sequence[Sequence[Any]]) -> None:
    """JSON and CSV hold all rows with all columns, and no number that JSON lacks."""
    as_json = json.loads(render(columns, rows, "json"), parse_constant=_refuse)
    assert [list(row) for row in as_json] == [list(columns)] * len(rows), relation
    assert not [row for row in as_json for value in row.values() if value in ("NaN", "Infinity", "-Infinity")]
    csv.field_size_limit(2**31 - 1)
    as_csv = list(csv.reader(io.StringIO(render(columns, rows, "csv"), newline="")))
    assert {len(row) for row in as_csv} == {len(columns)}, relation
    assert len(as_csv) == len(rows) + 1, relation


def test_every_relation_can_be_read_in_every_format(database: Path, tmp_path: Path) -> None:
    with open_for_query(database) as con:
        relations = con.execute(
            "select distinct schema_name || '.' || table_name from duckdb_columns() "
            "where list_contains($schemas, schema_name) order by 1",
            {"schemas": list(SCHEMAS)},
        ).fetchall()
        assert len(relations) > 150
        read = 0
        for number, (relation,) in enumerate(relations):
            result = run_query(con, f"select * from {relation} order by all", limit=None)
            count, columns = len(result.rows), result.columns
            assert all(map(math.isfinite, _floats(result.rows))), relation
            check_texts(relation, columns, result.rows[:WRITTEN_ROWS])
            assert render(columns, result.rows[:50], "table").count("\n") == min(count, 50) + 2, relation
            file = tmp_path / f"{number}.parquet"
            write_parquet(con, f"select * from {relation} order by all", None, file)
            with duckdb.connect() as reader:
                found = reader.execute("select count(*) from read_parquet(?)", [str(file)]).fetchall()
            assert found == [(count,)], relation
            read += count
        assert read > 10_000
