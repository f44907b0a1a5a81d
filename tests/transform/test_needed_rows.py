"""Which relations a query needs rows of: what is said of a query holds when DuckDB runs it."""

from __future__ import annotations

from pathlib import Path

import duckdb
import pytest

from debatebench.transform.sql_model import parse_query

NEEDED = {
    "select x from s.a": [["s.a"]],
    "select * from s.a": [["s.a"]],
    "from s.a": [["s.a"]],
    "select distinct x + 1 as z, x from s.a order by x limit 3": [["s.a"]],
    "select a.x from s.a as a inner join s.b as b using (x)": [["s.a"], ["s.b"]],
    "select a.x from s.a as a, s.b as b": [["s.a"], ["s.b"]],
    "select a.x from s.a as a left join s.b as b using (x)": [["s.a"]],
    "select b.x from s.a as a right join s.b as b using (x)": [["s.b"]],
    "select a.x from s.a as a semi join s.b as b using (x)": [["s.a"], ["s.b"]],
    "select a.x from s.a as a anti join s.b as b using (x)": [["s.a"]],
    "select a.x from s.a as a asof join s.b as b on a.x >= b.x": [["s.a"], ["s.b"]],
    "select x from s.a union all select x from s.b": [["s.a", "s.b"]],
    "select x from s.a union select b.x from s.b as b inner join s.a as a using (x)": [["s.a"]],
    "select x from s.a except select x from s.b": [["s.a"]],
    "with c as (select x from s.a), d as (select x from c) select d.x from d inner join s.b using (x)": [
        ["s.a"],
        ["s.b"],
    ],
    "select x, count(*) as n from s.a group by x": [["s.a"]],
    "select x, count(*) as n from s.a group by all": [["s.a"]],
    "select c.n from (select x, count(*) as n from s.a group by 1) as c": [["s.a"]],
    "with a as (select x from s.b) select x from s.a where x in (select x from a)": [["s.a"], ["s.b"]],
    "select row_number() over () as n, x from s.a": [["s.a"]],
    "select a.x from s.a as a where a.y > 1 and a.x in (select x from s.b)": [["s.a"], ["s.b"]],
    "select a.x from s.a as a where a.x in (select x from s.b) or a.y > 1": [["s.a"]],
    "select a.x from s.a as a where a.x not in (select x from s.b where x > 1)": [["s.a"]],
    "select a.x from s.a as a where a.x in (select max(x) from s.b)": [["s.a"]],
    "with c as (select count(*) as n, max(x) as m from s.b) select c.n, a.x from c cross join s.a as a": [["s.a"]],
    "select a.x, c.n from s.a as a, (select count(*) as n, a.x as m from s.b) as c": [["s.a"]],
}
# A SELECT may have a row where it reads none, or it is not certain that it has not.
UNKNOWN = [
    "select count(*) as n from s.a",
    "select count(*) as n, n + 1 as m from s.a",
    "select count(*) as n, n from s.a",
    "select max(x) as x from s.a",
    "select mode(x) as x from s.a",
    "select macros.any_rule(x) as x from s.a",
    "select 1 as one from s.a having count(*) = 0",
    "select x from s.a having count(*) = 0",
    "select count(*) as n from s.a group by all",
    "select count(*) as n from s.a group by ()",
    "select x, count(*) as n from s.a group by rollup (x)",
    "select x, count(*) as n from s.a group by grouping sets ((x), ())",
    "select a.x from s.a as a full join s.b as b using (x)",
    "select a.x from s.a as a positional join s.b as b",
    "select x from s.a union all select 1 as x",
    "select * exclude (x, y), count(*) as n from s.a",
    "select * replace (count(*) as x) from (select x from s.a)",
    "with recursive c as (select x from s.a union all select x + 1 as x from c where x < 3) select x from c",
    "select * from range(3) as r (x)",
    "select 1 as x",
]


@pytest.fixture(scope="module")
def con():
    with duckdb.connect() as opened:
        opened.execute("create schema s; create schema macros; create macro macros.any_rule(x) as max(x)")
        yield opened


def rows(con: duckdb.DuckDBPyConnection, query: str, without: list[str]) -> int:
    """How many rows the query has where these tables have none."""
    for name in ("s.a", "s.b"):
        values = "(values (1, 2), (2, 3))" if name not in without else "(select 1, 2 where false)"
        con.execute(f"create or replace table {name} as select * from {values} as v (x, y)")
    return len(con.execute(query).fetchall())


@pytest.mark.parametrize("query", NEEDED)
def test_a_query_has_no_rows_without_those_that_it_needs(con: duckdb.DuckDBPyConnection, query: str):
    needed = [list(names) for names in parse_query(query, Path("q.sql")).needed]
    assert needed == NEEDED[query]
    assert rows(con, query, []) > 0 or " except " in query or " anti " in query
    assert [rows(con, query, names) for names in needed] == [0] * len(needed)


@pytest.mark.parametrize("query", UNKNOWN)
def test_a_query_that_may_have_rows_all_the_same_needs_none(query: str):
    assert parse_query(query, Path("q.sql")).needed == ()
