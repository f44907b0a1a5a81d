"""What a warehouse holds, and that readers find a mart whether it is a view or a table."""

from __future__ import annotations

from collections.abc import Iterator

import duckdb
import pytest

from debatebench.query.left_out import LeftOut, left_out
from debatebench.query.relations import has_relation, read_relations


@pytest.fixture
def con() -> Iterator[duckdb.DuckDBPyConnection]:
    with duckdb.connect() as connection:
        connection.execute("create schema marts; create schema raw; create table raw.runs (run_tag varchar, n bigint)")
        yield connection


@pytest.mark.parametrize("kind", ["table", "view"])
def test_a_mart_is_found_whether_it_is_a_table_or_a_view(con: duckdb.DuckDBPyConnection, kind: str):
    assert left_out(con) == []
    con.execute(
        f"create {kind} marts.left_out as select 'r1' as run_tag, 'verdicts' as kind, '' as judge_id, "
        "true as is_warning, 'Two verdicts do not count.' as explanation"
    )
    assert left_out(con) == [LeftOut("r1", "verdicts", "", True, "Two verdicts do not count.")]


def test_relations_of_another_database_are_not_those_of_the_warehouse(con: duckdb.DuckDBPyConnection):
    con.execute("attach ':memory:' as other; create schema other.marts; create table other.marts.x as select 1 as y")
    con.execute("create view marts.v as select n, run_tag from raw.runs")
    found = read_relations(con)
    assert list(found) == ["marts.v", "raw.runs"]
    assert (found["marts.v"].kind, found["marts.v"].columns) == ("view", (("n", "BIGINT"), ("run_tag", "VARCHAR")))
    assert has_relation(con, "raw.runs")
    assert not has_relation(con, "marts.x")
