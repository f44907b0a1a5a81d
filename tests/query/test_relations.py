"""What a warehouse holds, and that readers find a mart whether it is a view or a table."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import duckdb
import pytest
from command_line import debatebench as command
from two_runs import two_runs

import debatebench
from debatebench.cli.sql_session import Settings, SqlSession
from debatebench.query.left_out import LeftOut, left_out
from debatebench.query.relations import has_relation, read_relations

__all__ = ["two_runs"]


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


@pytest.mark.slow
def test_what_people_ask_has_a_name_without_schema_wherever_the_file_is_read(
    two_runs: Path, capsys: pytest.CaptureFixture[str]
):
    database = two_runs / "warehouse" / "debatebench.duckdb"
    leaderboard = "select model_id, rating from leaderboard join runs using (run_tag) order by run_tag, rank"
    with duckdb.connect(str(database), read_only=True) as plain:
        rows = plain.execute(leaderboard).fetchall()
        shown = {name for (name,) in plain.execute("show tables").fetchall()}
    assert len(rows) == 12
    assert {"leaderboard", "judge_bias", "elo", "bradley_terry", "panel_winners"} < shown
    assert not [name for name in shown if name.startswith(("int_", "stg_", "panel_winners_"))]
    with debatebench.open(database) as warehouse:
        assert warehouse.sql(leaderboard).fetchall() == warehouse.query(leaderboard).rows == rows
        assert warehouse.connection.execute(leaderboard).fetchall() == rows
        assert not [name for name in warehouse.models if name.startswith("main.")]
    session = SqlSession(database, Settings(format="csv"), print)
    session.feed(f"{leaderboard}; show tables;")
    session.close()
    printed = capsys.readouterr().out
    assert (
        command(two_runs, "query", leaderboard, "--format", "csv").out + "\n".join(["name", *sorted(shown), ""])
        == printed
    )
    done = command(two_runs, "query", "from leaderbord")
    assert 'Did you mean "leaderboard"' in done.err
