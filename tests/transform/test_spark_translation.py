"""Each rewrite for Spark: a query on DuckDB and its translation on Spark, over rows that trip a naive translation."""

from __future__ import annotations

import math
import os
import re
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import duckdb
import pytest
from built_warehouse import stored
from spark_runs import compared_workspace
from sqlglot import exp, parse_one

from debatebench.query.sql_project import load_project
from debatebench.stats import sql as functions
from debatebench.transform.spark.functions import register_functions
from debatebench.transform.spark.relations import carried_query
from debatebench.transform.spark.translation import spark_query
from debatebench.transform.transpiling import typed_models

pyspark_sql = pytest.importorskip("pyspark.sql", reason="pyspark is not installed; the extra `spark` has it.")
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(shutil.which("java") is None, reason="Java is not installed; Spark needs 17 or later."),
]

_FILE = Path(__file__).parents[1] / "data" / "spark_cases.sql"
ROWS, *_CASES = _FILE.read_text(encoding="utf-8").split("\n--- ")
CASES = dict(case.split("\n", 1) for case in _CASES)


@pytest.fixture(scope="module")
def duck() -> Iterator[duckdb.DuckDBPyConnection]:
    with duckdb.connect() as con:
        con.execute(ROWS)
        functions.register(con)
        yield con


@pytest.fixture(scope="module")
def spark(duck: duckdb.DuckDBPyConnection, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """A session that sees the same tables, handed over as Parquet."""
    os.environ["PYSPARK_PYTHON"] = sys.executable
    folder = tmp_path_factory.mktemp("parquet")
    quick = {
        "spark.sql.shuffle.partitions": "1",
        "spark.ui.enabled": "false",
        "spark.sql.adaptive.enabled": "false",
        "spark.sql.codegen.wholeStage": "false",
        "spark.sql.warehouse.dir": str(folder / "warehouse"),
        # Hundreds of models leave an aggregation or a broadcast too little of 1 GB.
        "spark.driver.memory": "4g",
        "spark.sql.autoBroadcastJoinThreshold": "-1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.host": "127.0.0.1",
    }
    builder = pyspark_sql.SparkSession.builder.master("local[1]")
    for key, value in quick.items():
        builder = builder.config(key, value)
    session = builder.getOrCreate()
    session.sparkContext.setLogLevel("OFF")
    for name in _columns(duck):
        path = folder / f"{name}.parquet"
        duck.execute(f"copy {name} to '{path}' (format parquet)")
        session.read.parquet(str(path)).createOrReplaceTempView(name.replace(".", "_"))
    register_functions(session, functions, functions.FUNCTIONS)
    yield session
    session.stop()


def _columns(con: duckdb.DuckDBPyConnection) -> dict[str, dict[str, str]]:
    found: dict[str, dict[str, str]] = {}
    listed = (
        "select table_name, column_name, data_type from duckdb_columns() where schema_name = 't' order by column_index"
    )
    for table, column, kind in con.execute(listed).fetchall():
        found.setdefault(f"t.{table}", {})[column] = kind
    return found


def _plain(value: Any) -> Any:
    """A value as both engines give it: structs as dicts, every number that is not whole as a float."""
    if hasattr(value, "asDict"):
        value = value.asDict()
    if isinstance(value, dict):
        return {key: _plain(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(each) for each in value]
    return float(value) if type(value).__name__ in ("Decimal", "float") else value


def _is_same(left: Any, right: Any) -> bool:
    if isinstance(left, int | float) and isinstance(right, int | float):
        if math.isnan(left) or math.isnan(right):
            return math.isnan(left) and math.isnan(right)
        return math.isclose(left, right, rel_tol=1e-9, abs_tol=1e-12)
    if isinstance(left, list) and isinstance(right, list):
        return len(left) == len(right) and all(map(_is_same, left, right))
    if isinstance(left, dict) and isinstance(right, dict):
        return left.keys() == right.keys() and all(_is_same(left[key], right[key]) for key in left)
    return bool(left == right)


@pytest.mark.parametrize("name", CASES)
def test_the_translation_gives_the_same_rows(name: str, duck: duckdb.DuckDBPyConnection, spark: Any) -> None:
    query = parse_one(CASES[name], dialect="duckdb")
    assert isinstance(query, exp.Query)
    returns = {each: function.returns for each, function in functions.FUNCTIONS.items()}
    text = spark_query(query, "{}_{}".format, _columns(duck), returns)
    frame = spark.sql(text)
    result = duck.execute(CASES[name])
    columns = [column[0] for column in result.description or ()]
    ours = sorted((_plain(list(row)) for row in result.fetchall()), key=repr)
    theirs = sorted((_plain(list(row)) for row in frame.collect()), key=repr)
    assert frame.columns == columns
    assert len(ours) == len(theirs), text
    for one, other in zip(ours, theirs, strict=True):
        assert _is_same(one, other), f"{one} on DuckDB, {other} on Spark:\n{text}"


@pytest.mark.skipif(
    os.environ.get("DEBATEBENCH_SPARK") != "all", reason="DEBATEBENCH_SPARK is not `all`; `make test-spark` does it"
)
def test_every_sql_model_is_equal_when_it_reads_the_tables_of_duckdb(spark: Any, tmp_path: Path) -> None:
    """Also those that `build --engine spark` lets DuckDB compute, so that the first line of `transpile` is true."""
    workspace = compared_workspace(tmp_path / "workspace", "all")
    project = load_project(workspace.files("sql", "**/*"))
    different: dict[str, str] = {}
    with duckdb.connect(str(stored(workspace.database)), read_only=True) as con:
        read: set[str] = set()
        for each in typed_models(project, project.models):
            for name in each.columns.keys() - read:
                path = tmp_path / f"{name}.parquet"
                con.execute(f"copy ({carried_query(con, name)}) to '{path}' (format parquet)")
                spark.read.parquet(str(path)).createOrReplaceTempView(name.replace(".", "__"))
                read.add(name)
            frame = spark.sql(spark_query(each.query, "{}__{}".format, each.columns, each.returns))
            columns = frame.columns
            theirs = sorted((_plain(list(row)) for row in frame.collect()), key=_place)
            listed = ", ".join(f'"{column}"' for column in columns)
            ours = con.execute(f"select {listed} from {each.model.name}").fetchall()
            pairs = zip(sorted((_plain(list(row)) for row in ours), key=_place), theirs, strict=False)
            unequal = next((pair for pair in pairs if not _is_same(*pair)), None)
            if len(ours) != len(theirs) or unequal is not None:
                different[each.model.name] = f"{len(ours)} rows and {len(theirs)}: {unequal}"
    assert different == {}


def _place(row: list[Any]) -> tuple[str, str]:
    """Where a row stands among others: by what is exact first, then by numbers as far as they are the same."""
    exact = [value for value in row if isinstance(value, str | bool | int | None)]
    return repr(exact), re.sub(r"-?\d+\.\d+(e-?\d+)?", lambda match: f"{float(match[0]):.6g}", repr(row))
