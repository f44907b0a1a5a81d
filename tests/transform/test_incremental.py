"""Incremental tables: a landing makes the rows of its run anew and no others, and the result is a whole build's."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import duckdb
import pytest
from built_warehouse import NOON, begin_built
from command_line import debatebench
from sql_project import STAGING, add_debates, raw_database, read_project, write_project

from debatebench.query.sql_project import load_project
from debatebench.shared.errors import SqlModelError
from debatebench.shared.workspace import Workspace
from debatebench.transform.build import build
from debatebench.transform.build_state import read_builds
from debatebench.transform.incremental import changed_parts
from debatebench.warehouse.update import update_warehouse

COUNTS = """
    -- Winners by run.
    with counted as materialized (
        select run_tag, winner, count(*) as debates, count(*) over (partition by run_tag) as winners
        from staging.stg_debates group by run_tag, winner
    )
    select run_tag, winner, debates, winners from counted
    """
FILES = STAGING | {
    "marts/counts.sql": COUNTS,
    "marts/m.yml": """
        models:
          - name: counts
            description: How many.
            config: {materialized: table, incremental_by: run_tag}
            columns:
              - {name: run_tag, description: The run.}
              - {name: winner, description: Who won.}
              - {name: debates, description: How many debates.}
              - {name: winners, description: How many kinds of winner.}
        """,
}
OF_R1 = [("r1", "con", 1, 3), ("r1", "pro", 1, 3), ("r1", "tie", 1, 3)]
# What no query gives shows which rows a build has left alone.
MARKED = [(run, winner, -1, winners) for run, winner, _, winners in OF_R1]


@pytest.fixture
def con(tmp_path: Path) -> Iterator[duckdb.DuckDBPyConnection]:
    """A warehouse with run `r1`, built, and its counts marked."""
    connection = raw_database()
    connection.execute("create schema meta; create table meta.landings (run_tag varchar, content_sha256 varchar)")
    connection.execute("insert into meta.landings values ('r1', 'one')")
    build(connection, write_project(tmp_path, FILES))
    assert counts(connection) == OF_R1
    connection.execute("update marts.counts set debates = -1")
    yield connection
    connection.close()


def counts(con: duckdb.DuckDBPyConnection) -> list[tuple[object, ...]]:
    return con.execute("from marts.counts order by all").fetchall()


def land(con: duckdb.DuckDBPyConnection, run_tag: str, winners: list[str]) -> None:
    """Land a run, or another content of it; none of it takes it away."""
    con.execute("delete from raw.debates where run_tag = ?", [run_tag])
    con.execute("delete from meta.landings where run_tag = ?", [run_tag])
    if winners:
        add_debates(con, run_tag, [(f"d{n}", "a", "b", winner) for n, winner in enumerate(winners)])
        con.execute("insert into meta.landings values (?, ?)", [run_tag, " ".join(winners)])


def test_a_landing_makes_the_rows_of_its_run_anew_and_leaves_the_others(
    con: duckdb.DuckDBPyConnection, tmp_path: Path
) -> None:
    project = read_project(tmp_path)
    land(con, "it's", ["pro", "pro"])
    (built,) = build(con, project).built
    assert counts(con) == [("it's", "pro", 2, 1), *MARKED]
    assert (built.name, built.rows) == ("marts.counts", 4)
    land(con, "it's", ["con", "tie"])
    build(con, project)
    assert counts(con) == [("it's", "con", 1, 2), ("it's", "tie", 1, 2), *MARKED]
    land(con, "it's", [])
    build(con, project)
    assert counts(con) == MARKED
    assert build(con, project).built == ()


def test_a_build_leaves_no_database_attached_and_the_names_as_they_were(
    con: duckdb.DuckDBPyConnection, tmp_path: Path
) -> None:
    before = con.execute("select database_name from duckdb_databases() order by all").fetchall()
    land(con, "r2", ["pro"])
    build(con, read_project(tmp_path))
    assert con.execute("select database_name from duckdb_databases() order by all").fetchall() == before
    assert con.execute("select count(*) from raw.debates").fetchall() == [(4,)]


def test_other_sql_and_a_full_refresh_make_the_whole_table_anew(con: duckdb.DuckDBPyConnection, tmp_path: Path) -> None:
    land(con, "r2", ["pro"])
    build(con, read_project(tmp_path), full_refresh=True)
    assert counts(con) == [*OF_R1, ("r2", "pro", 1, 1)]
    con.execute("update marts.counts set debates = -1")
    land(con, "r3", ["pro"])
    build(con, write_project(tmp_path, {"marts/counts.sql": COUNTS.replace("count(*) as", "10 * count(*) as")}))
    assert [debates for _, _, debates, _ in counts(con)] == [10] * 5


def test_other_sql_upstream_makes_the_whole_table_anew(con: duckdb.DuckDBPyConnection, tmp_path: Path) -> None:
    land(con, "r2", ["pro"])
    staging = STAGING["staging/stg_debates.sql"].replace("recorded_winner as", "upper(recorded_winner) as")
    build(con, write_project(tmp_path, {"staging/stg_debates.sql": staging}))
    assert [winner for _, winner, _, _ in counts(con)] == ["CON", "PRO", "TIE", "PRO"]


def test_when_all_runs_changed_the_whole_table_is_made_anew(con: duckdb.DuckDBPyConnection, tmp_path: Path) -> None:
    land(con, "r1", ["pro"])
    land(con, "r2", ["con"])
    build(con, read_project(tmp_path))
    assert counts(con) == [("r1", "pro", 1, 1), ("r2", "con", 1, 1)]


def test_a_table_whose_runs_were_never_noted_is_made_whole(con: duckdb.DuckDBPyConnection, tmp_path: Path) -> None:
    # As an earlier version has left it.
    con.execute("alter table meta.builds drop column landed")
    land(con, "r2", ["pro"])
    build(con, read_project(tmp_path))
    assert counts(con) == [*OF_R1, ("r2", "pro", 1, 1)]
    assert {name for name, row in read_builds(con).items() if row.landed} == {"marts.counts"}


def test_a_failure_is_named_by_file_and_line_and_leaves_the_rows(
    con: duckdb.DuckDBPyConnection, tmp_path: Path
) -> None:
    failing = COUNTS.replace("count(*) as debates", "sum(case winner when '?' then error('odd') else 1 end) as debates")
    project = write_project(tmp_path, {"marts/counts.sql": failing})
    build(con, project)
    kept = counts(con)
    land(con, "r2", ["?"])
    with pytest.raises(SqlModelError, match=r"marts\.counts \(.*counts\.sql\) failed: .*odd"):
        build(con, project)
    assert counts(con) == kept
    land(con, "r2", ["pro"])
    build(con, project)
    assert counts(con) == [*OF_R1, ("r2", "pro", 1, 1)]


def test_a_selected_build_on_older_inputs_is_made_good_by_the_next_whole_build(
    con: duckdb.DuckDBPyConnection, tmp_path: Path
) -> None:
    stored = {
        "intermediate/int_debates.sql": "select run_tag, winner from staging.stg_debates",
        "intermediate/i.yml": """
            models:
              - name: int_debates
                description: Stored.
                config: {materialized: table}
                columns: [{name: run_tag, description: The run.}]
            """,
        "marts/counts.sql": COUNTS.replace("staging.stg_debates", "intermediate.int_debates"),
    }
    build(con, write_project(tmp_path, stored))
    land(con, "r2", ["pro"])
    build(con, read_project(tmp_path), select=["counts"])
    assert counts(con) == OF_R1
    build(con, read_project(tmp_path))
    assert counts(con) == [*OF_R1, ("r2", "pro", 1, 1)]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (
            {"marts/m.yml": FILES["marts/m.yml"].replace("materialized: table", "materialized: view")},
            "`incremental_by` needs `materialized: table`",
        ),
        (
            {"marts/m.yml": FILES["marts/m.yml"].replace("name: run_tag", "name: run")},
            "incremental by run_tag, but it describes no column of that name",
        ),
        (
            {"marts/m.yml": FILES["marts/m.yml"].replace("incremental_by: run_tag", "incremental_by: winner")},
            "incremental by winner, but rows are landed by run_tag; write `run_tag`",
        ),
        (
            {
                "marts/counts.sql": "select run_tag, winner, debates from marts.total, staging.stg_debates",
                "marts/total.sql": "select count(*) as debates from staging.stg_debates",
                "marts/t.yml": "models: [{name: total, description: All., columns: [{name: n, description: N.}]}]",
            },
            "reads marts.total, whose rows are computed for all values of run_tag together",
        ),
    ],
)
def test_what_cannot_be_told_apart_by_run_is_refused(tmp_path: Path, changes: dict[str, str], message: str) -> None:
    with pytest.raises(SqlModelError, match=message):
        _ = write_project(tmp_path, FILES | changes).models


def test_a_cycle_below_an_incremental_table_is_refused_as_a_cycle(tmp_path: Path) -> None:
    changes = {
        "marts/counts.sql": "select 'r' as run_tag, n as winner, n as debates, n as winners from marts.here",
        "marts/here.sql": "select n from marts.there",
        "marts/there.sql": "select n from marts.here",
        "marts/t.yml": "models: [{name: here, description: A.}, {name: there, description: B.}]",
    }
    with pytest.raises(SqlModelError, match=r"marts\.here .*marts\.there"):
        _ = write_project(tmp_path, FILES | changes).models


@pytest.mark.parametrize(
    ("before", "now", "changed"),
    [
        ({"a": "1", "b": "1"}, {"a": "1", "b": "2"}, ("b",)),
        ({"a": "1", "b": "1"}, {"b": "1", "c": "1"}, ("a", "c")),
        ({"a": "1"}, {"a": "1"}, ()),
        ({"a": "1"}, {"a": "2", "b": "1"}, None),
        ({}, {"a": "1"}, None),
        ({"a": "1"}, {}, None),
        (None, {"a": "1"}, None),
        ({"a": "1"}, None, None),
    ],
)
def test_the_runs_that_changed(
    before: dict[str, str] | None, now: dict[str, str] | None, changed: tuple[str, ...] | None
) -> None:
    assert changed_parts(before, now) == changed


@pytest.mark.slow
def test_the_packaged_tables_are_after_every_landing_what_a_full_refresh_makes(tmp_path: Path) -> None:
    workspace = Workspace(begin_built(tmp_path))
    assert debatebench(tmp_path, "init").code == 0
    config = tmp_path / "configs" / "config.yaml"
    for tag, seed, version in (("one", "1", "v1"), ("two", "2", "v2"), ("three", "3", "v2")):
        config.write_text(re.sub(r"\n  version: .*", f"\n  version: {version}", config.read_text()))
        done = debatebench(tmp_path, "run", "--run-tag", tag, "--seed", seed, "--sample-topics", "1", "--no-build")
        assert done.code == 0, done.err
    journal = (workspace.journal / "two.jsonl").read_bytes()
    part = journal.splitlines(keepends=True)[: journal.count(b"\n") * 2 // 3]
    project = load_project(workspace.files("sql", "**/*"))
    # A landing leaves the views as they are, and the tables are made anew over them.
    tables = [name for name, model in project.models.items() if model.materialized == "table"]
    update_warehouse(workspace, ["one"], now=lambda: NOON)
    for landed, content in (("two", b"".join(part)), ("three", b"".join(part)), ("two", journal)):
        (workspace.journal / "two.jsonl").write_bytes(content)
        update_warehouse(workspace, [landed], now=lambda: NOON, replace_landed=True)
        step_by_step = stored_rows(workspace)
        with duckdb.connect(str(workspace.database)) as con:
            result = build(con, project, select=tables, full_refresh=True)
        assert len(result.built) == len(tables) > 30
        assert step_by_step == stored_rows(workspace)


def stored_rows(workspace: Workspace) -> dict[str, list[str]]:
    """Every table of the SQL models with its rows, in an order of their own."""
    with duckdb.connect(str(workspace.database), read_only=True) as con:
        tables = [name for name, row in read_builds(con).items() if row.materialized == "table"]
        found = {name: con.execute(f"select t::varchar from {name} as t order by all").fetchall() for name in tables}
    assert sum(map(len, found.values())) > 100
    return {name: [text for (text,) in rows] for name, rows in found.items()}


def test_every_packaged_table_of_runs_is_incremental() -> None:
    models = load_project(Workspace(Path("nowhere")).files("sql", "**/*")).models.values()
    by_run = {m.name for m in models if m.materialized == "table" and m.has_column("run_tag")}
    # What people said of a debate that was judged again, its weakness, and how many topics it is one of lie in another
    # run, which may land later.
    beside_people = {
        "intermediate.int_cluster_units",
        "intermediate.int_truth_costs",
        "intermediate.int_truth_debates",
        "intermediate.int_weakness_debates",
        "marts.judge_errors",
        "marts.judge_quality",
        "marts.panelbench_sizes",
        "marts.panelbench_tokens",
        # The same debate may be in another run.
        "marts.duplicate_debates",
    }
    assert by_run - beside_people == {m.name for m in models if m.properties.config.incremental_by}
