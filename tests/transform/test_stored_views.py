"""Views that several queries read are worked out once, and nothing of it stays."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import duckdb
import pytest

from debatebench.transform.stored_views import stored_views

WAREHOUSE = """
    create schema raw; create schema staging; create schema marts;
    create table raw.numbers as select n from range(3) as t(n);
    create view staging.stg_numbers as select n, random() as drawn from raw.numbers;
    create view marts.draws as with stg_numbers as (select * from staging.stg_numbers) select * from stg_numbers;
    create view marts.latest_draws as select * from marts.draws;
    create view marts.sums as select sum(drawn) as total from marts.draws inner join raw.numbers using (n);
    create view marts.sums_twice as select 2 * total as total from marts.sums;
    create view marts.broken as select cast('x' as integer) + n as n from raw.numbers;
    """


@pytest.fixture
def con() -> Iterator[duckdb.DuckDBPyConnection]:
    with duckdb.connect() as connection:
        connection.execute(WAREHOUSE)
        yield connection


def stored(con: duckdb.DuckDBPyConnection) -> list[str]:
    """The tables that are stored next to the warehouse now."""
    found = con.execute("select table_name from duckdb_tables() where database_name = 'stored views' order by all")
    return [name for (name,) in found.fetchall()]


def test_queries_of_a_view_see_the_same_rows_until_the_last_has_read_them(con: duckdb.DuckDBPyConnection):
    query = "select drawn from marts.draws order by n"
    seen = []
    with stored_views(con, [{"marts.draws"}, {"marts.draws", "raw.numbers"}]) as views:
        for names in ({"marts.draws"}, {"marts.draws", "raw.numbers"}):
            with views.ready(names):
                seen.append(views.con.execute(query).fetchall())
                assert stored(con) == ["draws"]
        assert stored(con) == []
        assert len(views.con.execute(query).fetchall()) == 3
    assert seen[0] == seen[1]


def test_a_view_over_another_reads_the_stored_rows(con: duckdb.DuckDBPyConnection):
    queries = [{"marts.sums_twice"}, {"marts.sums"}, {"marts.latest_draws"}, {"marts.draws"}]
    found = []
    with stored_views(con, queries) as views:
        for (name,), total in zip(queries, ("any_value(total)",) * 2 + ("sum(drawn)",) * 2, strict=True):
            with views.ready({name}):
                found += views.con.execute(f"select {total} from {name}").fetchall()
    twice, *once = [value for (value,) in found]
    assert once == pytest.approx([twice / 2] * 3)


def test_what_one_query_reads_is_not_stored(con: duckdb.DuckDBPyConnection):
    with stored_views(con, [{"marts.sums"}, {"staging.stg_numbers"}, {"staging.stg_numbers"}]) as views:
        for name in ("marts.sums", "staging.stg_numbers", "staging.stg_numbers"):
            with views.ready({name}):
                assert stored(con) == []
                assert views.con.execute(f"from {name}").fetchall()


def test_named_views_are_stored_alone_and_stay_for_all_queries_that_read_them(con: duckdb.DuckDBPyConnection):
    with stored_views(con, [{"marts.sums"}], only={"marts.sums"}) as views:
        assert views.stores({"marts.sums_twice", "raw.numbers"})
        assert not views.stores({"marts.draws", "raw.numbers"})
        found = []
        for name in ("marts.sums_twice", "marts.sums", "marts.sums_twice"):
            views.make({name, "marts.draws"})
            found += views.con.execute(f"from {name}").fetchall()
            assert stored(con) == ["sums"]
    (twice,), (once,), (again,) = found
    assert twice == again == 2 * once


def test_a_view_that_cannot_be_worked_out_says_so_where_it_is_read(con: duckdb.DuckDBPyConnection):
    with stored_views(con, [{"marts.broken"}] * 2) as views:
        for _ in range(2):
            with views.ready({"marts.broken"}), pytest.raises(duckdb.ConversionException, match="'x'"):
                views.con.execute("from marts.broken")


def test_nothing_is_left_after_an_error_and_views_can_be_stored_again(con: duckdb.DuckDBPyConnection):
    for _ in range(2):
        with pytest.raises(ZeroDivisionError), stored_views(con, [{"marts.draws"}] * 2) as views:  # noqa: SIM117
            with views.ready({"marts.draws"}):
                raise ZeroDivisionError
        assert con.execute(
            "select count(*) from duckdb_databases() where database_name = 'stored views'"
        ).fetchone() == (0,)


def test_a_database_that_was_opened_read_only_answers_without(tmp_path: Path):
    with duckdb.connect(str(tmp_path / "w.duckdb")) as con:
        con.execute(WAREHOUSE)
    with (
        duckdb.connect(str(tmp_path / "w.duckdb"), read_only=True) as con,
        stored_views(con, [{"marts.draws"}] * 2) as views,
        views.ready({"marts.draws"}),
    ):
        assert len(views.con.execute("from marts.draws").fetchall()) == 3


def test_without_queries_every_view_that_computes_is_stored_once_it_is_read(con: duckdb.DuckDBPyConnection):
    with stored_views(con) as views:
        views.make({"marts.sums_twice"})
        assert stored(con) == ["draws", "sums", "sums_twice"]
