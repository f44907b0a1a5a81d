"""A query's result as a Parquet file: exact types, whole or not at all, and as safe as any query."""

from __future__ import annotations

import stat
from collections.abc import Iterator
from datetime import date, datetime, time
from decimal import Decimal
from pathlib import Path
from uuid import UUID

import duckdb
import pytest

from debatebench.query.parquet import write_parquet
from debatebench.query.safe_query import open_for_query, run_query
from debatebench.shared.errors import DebatebenchError, UsageError


@pytest.fixture(scope="module")
def database(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("warehouse") / "debatebench.duckdb"
    with duckdb.connect(str(path)) as con:
        con.execute("create table t as select i, i // 100 as g from range(1000) as r(i)")
    return path


@pytest.fixture(scope="module")
def con(database: Path) -> Iterator[duckdb.DuckDBPyConnection]:
    connection = open_for_query(database)
    yield connection
    connection.close()


def read(path: Path) -> tuple[list[str], list[str], list[tuple[object, ...]]]:
    """Columns, types and rows of a Parquet file, as another program sees them."""
    with duckdb.connect() as other:
        relation = other.read_parquet(str(path))
        return relation.columns, [str(type_) for type_ in relation.types], relation.fetchall()


# Expression, its type in the file, its value in the file (`...`: whatever the query gives).
KEPT = [
    ("cast(1.10 as decimal(18, 10))", "DECIMAL(18,10)", Decimal("1.1000000000")),
    ("cast(0.1234567890123456789 as decimal(38, 19))", "DECIMAL(38,19)", Decimal("0.1234567890123456789")),
    ("9223372036854775807", "BIGINT", 9223372036854775807),
    ("200::utinyint", "UTINYINT", 200),
    ("0.1::double", "DOUBLE", 0.1),
    ("1.5::float", "FLOAT", 1.5),
    ("true", "BOOLEAN", True),
    ("null::integer", "INTEGER", None),
    ("'é' || chr(0) || '\U0001f986'", "VARCHAR", "é\x00\U0001f986"),
    ("''", "VARCHAR", ""),
    ("'\\x00\\xff'::blob", "BLOB", b"\x00\xff"),
    ("date '2025-02-03'", "DATE", date(2025, 2, 3)),
    ("time '12:00:01.5'", "TIME", time(12, 0, 1, 500000)),
    ("timestamp '2025-01-01 00:00:00.123456'", "TIMESTAMP", datetime(2025, 1, 1, 0, 0, 0, 123456)),
    ("timestamp_ns '2025-01-01 00:00:00.123456789'", "TIMESTAMP_NS", ...),
    ("uuid '123e4567-e89b-12d3-a456-426614174000'", "UUID", UUID("123e4567-e89b-12d3-a456-426614174000")),
    ("""'{"a": 1}'::json""", "JSON", '{"a": 1}'),
    ("[1, null, 3]", "INTEGER[]", [1, None, 3]),
    ("[{'dimension': 'clarity', 'pro': 7.5}]", "STRUCT(dimension VARCHAR, pro DECIMAL(2,1))[]", ...),
    ("""[{'a b': '[1]'::json, 'n': [[1.5]]}]""", 'STRUCT("a b" JSON, n DECIMAL(2,1)[][])[]', ...),
    ("map {'a': '{}'::json}", "MAP(VARCHAR, JSON)", {"a": "{}"}),
    ("sum(i) over ()", "DECIMAL(38,0)", Decimal(499500)),
    (
        "12345678901234567890123456789012345678::hugeint",
        "DECIMAL(38,0)",
        Decimal("12345678901234567890123456789012345678"),
    ),
    ("[18446744073709551616::hugeint]", "DECIMAL(38,0)[]", [Decimal("18446744073709551616")]),
    ("'b'::enum ('a', 'b')", "VARCHAR", "b"),
    ("'101'::bit", "VARCHAR", "101"),
    ("interval '1 month 2 days 3 microseconds'", "VARCHAR", "1 month 2 days 00:00:00.000003"),
    ("['101'::bit]", "VARCHAR[]", ["101"]),
    ("[1, 2]::integer[2]", "INTEGER[]", [1, 2]),
]


@pytest.mark.parametrize(("expression", "type_", "value"), KEPT, ids=[each[0][:30] for each in KEPT])
def test_type_and_value_are_kept(con: duckdb.DuckDBPyConnection, tmp_path: Path, expression: str, type_: str, value):
    sql = f"select x from (select {expression} as x, i from t) where i < 3 order by i"
    assert write_parquet(con, sql, None, tmp_path / "x.parquet") == 3
    expected = run_query(con, sql).rows[0][0] if value is ... else value
    assert read(tmp_path / "x.parquet") == (["x"], [type_], [(expected,)] * 3)


def test_time_zone_is_kept_as_the_moment(con: duckdb.DuckDBPyConnection, tmp_path: Path):
    write_parquet(con, "select timestamptz '2025-01-01 12:00:00+02' as t", None, tmp_path / "x.parquet")
    with duckdb.connect() as other:
        file = other.read_parquet(str(tmp_path / "x.parquet"))
        assert [str(type_) for type_ in file.types] == ["TIMESTAMP WITH TIME ZONE"]
        assert file.select("epoch(t)").fetchall() == [(1735725600.0,)]


def test_whole_result_is_written_in_its_order(con: duckdb.DuckDBPyConnection, tmp_path: Path):
    sql = "select i, g from t where i >= $low order by g desc, i"
    assert write_parquet(con, sql, {"low": 500}, tmp_path / "x.parquet") == 500
    assert read(tmp_path / "x.parquet")[2] == run_query(con, sql, {"low": 500}).rows


@pytest.mark.parametrize(("limit", "rows"), [(None, 1000), (5000, 1000), (7, 7), (0, 0)])
def test_limit_holds_when_given(con: duckdb.DuckDBPyConnection, tmp_path: Path, limit: int | None, rows: int):
    assert write_parquet(con, "select i from t order by i", None, tmp_path / "x.parquet", limit=limit) == rows
    assert read(tmp_path / "x.parquet") == (["i"], ["BIGINT"], [(i,) for i in range(rows)])


def test_columns_of_the_same_name_get_numbers(con: duckdb.DuckDBPyConnection, tmp_path: Path):
    write_parquet(con, """select 1 as a, '2'::json as a, 3 as "q ""x" """, None, tmp_path / "x.parquet")
    assert read(tmp_path / "x.parquet") == (["a", "a_1", 'q "x'], ["INTEGER", "JSON", "INTEGER"], [(1, "2", 3)])


@pytest.mark.parametrize(
    "sql", ["describe t", "summarize t", "values (1), (2)", "from t;", "with a as (from t) from a -- x"]
)
def test_every_form_of_select_is_written(con: duckdb.DuckDBPyConnection, tmp_path: Path, sql: str):
    rows = run_query(con, sql, limit=None).rows
    assert write_parquet(con, sql, None, tmp_path / "x.parquet") == len(rows)
    assert len(read(tmp_path / "x.parquet")[2]) == len(rows)


def test_file_lies_where_it_was_asked_for_and_nothing_beside_it(database: Path, tmp_path: Path):
    path = tmp_path / "new" / "it's here" / "x.parquet"
    write_parquet(database, "select 1 as x", None, path)
    assert list(path.parent.iterdir()) == [path]
    assert stat.S_IMODE(path.stat().st_mode) & 0o600 == 0o600


@pytest.mark.parametrize(
    ("sql", "complaint"),
    [
        ("select nope", "nope"),
        ("select case when i = 999 then error('boom') else i end from t", r"^SQL: boom\.$"),
        ("select 170141183460469231731687303715884105727::hugeint", r"DECIMAL\(38,0\)"),
        ("from read_text('/etc/hostname')", "may read only the warehouse"),
        ("select 1; select 2", "exactly one SELECT"),
        ("copy t to 'x.csv'", "exactly one SELECT"),
        ("select $x", "--param x=VALUE"),
    ],
)
def test_failure_leaves_the_old_file_and_no_other(
    con: duckdb.DuckDBPyConnection, tmp_path: Path, sql: str, complaint: str
):
    path = tmp_path / "x.parquet"
    path.write_text("old")
    with pytest.raises(DebatebenchError, match=complaint) as caught:
        write_parquet(con, sql, None, path)
    assert "\n" not in str(caught.value)
    assert [each.name for each in tmp_path.iterdir()] == ["x.parquet"]
    assert path.read_text() == "old"


def test_late_query_leaves_no_file(con: duckdb.DuckDBPyConnection, tmp_path: Path):
    with pytest.raises(DebatebenchError, match=r"longer than 0\.2 seconds"):
        write_parquet(con, "from range(1000000000000)", None, tmp_path / "x.parquet", timeout_s=0.2)
    assert list(tmp_path.iterdir()) == []
    assert run_query(con, "select 1").rows == [(1,)]


def test_place_that_cannot_be_written_is_named(con: duckdb.DuckDBPyConnection, tmp_path: Path):
    (tmp_path / "file").write_text("")
    with pytest.raises(DebatebenchError, match=r"file cannot be written"):
        write_parquet(con, "select 1", None, tmp_path / "file" / "x.parquet")
    with pytest.raises(UsageError, match="is a folder"):
        write_parquet(con, "select 1", None, tmp_path)
