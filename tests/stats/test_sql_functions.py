"""Python functions in queries: callable where SQL is, documented, and as harmless as the rest of a query."""

from __future__ import annotations

import inspect
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import duckdb
import pytest
from command_line import debatebench
from paths import REPOSITORY

import debatebench as db
from debatebench.query.safe_query import open_for_query, run_query
from debatebench.shared.errors import DebatebenchError
from debatebench.stats import sql as udfs

DOCS = REPOSITORY / "docs"


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder that has a small warehouse where a workspace has it."""
    folder = tmp_path_factory.mktemp("workspace")
    (folder / "warehouse").mkdir()
    con = duckdb.connect(str(folder / "warehouse" / "debatebench.duckdb"))
    con.execute("create schema marts")
    con.execute("create table marts.pairs as select 'a' as name, 9 as wins, 1 as losses")
    con.execute("create table marts.numbers as select i as n from range(3_000_000) as r(i)")
    con.close()
    return folder


@pytest.fixture
def con(root: Path) -> Iterator[duckdb.DuckDBPyConnection]:
    connection = open_for_query(root / "warehouse" / "debatebench.duckdb", threads=2)
    yield connection
    connection.close()


SIGN_TEST = "select name, round(binomial_test(wins, wins + losses, 0.5), 6) as p from marts.pairs"


def test_query_calls_functions(root: Path) -> None:
    done = debatebench(root, "query", SIGN_TEST, "--format", "csv")
    assert (done.code, done.out) == (0, "name,p\na,0.021484\n")


def test_parquet_takes_what_functions_give(root: Path, tmp_path: Path) -> None:
    target = tmp_path / "p.parquet"
    assert debatebench(root, "query", SIGN_TEST, "--output", str(target)).code == 0
    assert duckdb.sql(f"select p from '{target}'").fetchall() == [(0.021484,)]


def test_the_prompt_calls_functions(root: Path) -> None:
    done = debatebench(root, "sql", stdin=f".format csv\n{SIGN_TEST};\n")
    assert (done.code, done.out) == (0, "name,p\na,0.021484\n")


def test_python_calls_functions_in_queries_and_relations(root: Path) -> None:
    with db.open(root) as warehouse:
        assert warehouse.sql(SIGN_TEST).fetchall() == [("a", 0.021484)]
        assert warehouse.query(SIGN_TEST).rows == [("a", 0.021484)]


def test_a_result_that_is_half_read_is_not_lost(root: Path) -> None:
    with db.open(root) as warehouse:
        warehouse.sql("select sign_test_power(20, 0.6, 0.05)")
        half_read = warehouse.connection.execute("from marts.numbers order by n")
        first = half_read.fetchmany(2)
        warehouse.sql("select sign_test_power(20, 0.6, 0.05)")
        assert [*first, *half_read.fetchmany(2)] == [(0,), (1,), (2,), (3,)]


def test_functions_outlive_the_warehouse_that_first_called_them(root: Path) -> None:
    first, second = db.open(root), db.open(root)
    assert first.sql(SIGN_TEST).fetchall() == [("a", 0.021484)]
    first.close()
    assert second.sql(SIGN_TEST).fetchall() == [("a", 0.021484)]
    second.close()


def test_what_a_function_refuses_is_one_line(root: Path) -> None:
    done = debatebench(root, "query", "select binomial_test(3, 2, 0.5)")
    assert done.code == 1
    assert done.error_line == "Error: SQL: binomial_test: 3 wins of 2 games are not possible."


@pytest.mark.parametrize(
    ("sql", "names"),
    [
        ("select spearman([0.1], [0.1])", ["spearman"]),
        ('select "SPEARMAN" ([0.1], [0.1])', ["spearman"]),
        ("select spearman -- why (\n /* so ) ( */ ([0.1], [0.1])", ["spearman"]),
        ("select spearman.x, spearman from spearman where x in (select spearman)", []),
        ("select my_spearman(1), spearmans(2)", []),
        ("select " + "spearman/*" * 2_000, []),
    ],
)
def test_a_call_is_a_name_in_front_of_a_bracket(sql: str, names: list[str]) -> None:
    assert udfs.named_in(sql) == names


def test_only_what_a_query_names_is_registered(con: duckdb.DuckDBPyConnection) -> None:
    run_query(con, "select sign_test_power(20, 0.6, 0.05)")
    known = {name for (name,) in con.execute("select function_name from duckdb_functions()").fetchall()}
    assert known & udfs.FUNCTIONS.keys() == {"sign_test_power"}


@pytest.mark.parametrize("sql", ["select 1", "select count(*) from marts.pairs", "select 'binomial_test'"])
def test_a_query_without_functions_loads_no_mathematics(root: Path, sql: str) -> None:
    program = (
        "import sys; from pathlib import Path; from debatebench.query.safe_query import run_query\n"
        f"run_query(Path({str(root / 'warehouse' / 'debatebench.duckdb')!r}), {sql!r})\n"
        "print([name for name in ('numpy', 'scipy') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


def test_a_query_that_calls_functions_stops_in_time(con: duckdb.DuckDBPyConnection) -> None:
    """DuckDB hears of the interruption after at most one batch of rows."""
    with pytest.raises(DebatebenchError, match=r"took longer than 0\.2 seconds"):
        run_query(con, "select sum(binomial_test(n, 2 * n + 9, 0.5)) from marts.numbers", timeout_s=0.2)
    assert run_query(con, "select 1").rows == [(1,)]


def test_functions_reach_nothing_outside(con: duckdb.DuckDBPyConnection) -> None:
    with pytest.raises(DebatebenchError, match="may read only the warehouse"):
        run_query(con, "select binomial_test(1, 2, 0.5), (select count(*) from read_csv('/etc/passwd'))")


def given_back(returns: str) -> str:
    """A type, or the names of a struct's fields."""
    if not returns.startswith("STRUCT("):
        return f"`{returns}`"
    inner, depth, fields = returns.removeprefix("STRUCT(").removesuffix(")"), 0, [""]
    for letter in inner:
        depth += {"(": 1, ")": -1}.get(letter, 0)
        if letter == "," and depth == 0:
            fields.append("")
        else:
            fields[-1] += letter
    names = ", ".join(field.split()[0].strip('"') for field in fields)
    return f"struct: `{names}`"


def function_table() -> list[str]:
    """A line for each function."""
    lines = []
    for name, function in sorted(udfs.FUNCTIONS.items()):
        parameters = ", ".join(list(inspect.signature(function.call).parameters)[: len(function.parameters)])
        promise = (
            (inspect.getdoc(function.call) or "")
            .split("\n\n")[0]
            .replace("\n", " ")
            .replace("|", r"\|")
            .replace("`None`", "null")
        )
        lines.append(f"| `{name}({parameters})` | {given_back(function.returns)} | {promise} |")
    return lines


def test_every_function_is_documented() -> None:
    """docs/querying.md has the line of each; what a failure shows is what it should say."""
    page = (DOCS / "querying.md").read_text(encoding="utf-8")
    assert [line for line in page.splitlines() if re.match(r"\| `\w+\(", line)] == function_table()
