"""One broken file stops only what depends on it; everything else is read, built and kept."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import duckdb
import pytest
from sql_project import STAGING, raw_database, write_project

from debatebench.query.sql_project import load_project
from debatebench.shared.errors import SqlModelError
from debatebench.transform.broken import why_broken
from debatebench.transform.build import PartlyBuiltError, build
from debatebench.transform.build_state import read_builds
from debatebench.transform.graph import select_models
from debatebench.transform.project import Project

SOUND = STAGING | {
    "macros/_macros.yml": "macros: [{name: twice, description: T., arguments: [{name: x, type: bigint}], sql: 2 * x}]",
    "marts/debates.sql": "select run_tag, debate_id, winner from staging.stg_debates",
    "marts/counts.sql": "select macros.twice(count(*)) as n from marts.debates",
    "marts/_marts.yml": """
        models:
          - {name: debates, description: Debates., columns: [{name: run_tag, description: The run.}]}
          - {name: counts, description: How many.}
        """,
}
"""What every project below has, and what must be read and built in spite of it."""

MINE = "models: [{name: mine, description: Mine.}, {name: after, description: After it.}]"
READER = {"marts/mine.yml": MINE, "marts/after.sql": "select * from marts.mine"}

BROKEN: dict[str, tuple[dict[str, str], set[str], str]] = {
    "no SQL": ({"marts/mine.sql": "selekt 1"}, {"marts.mine", "marts.after"}, "mine.sql"),
    "not closed": ({"marts/mine.sql": "select 'a as x"}, {"marts.mine", "marts.after"}, "mine.sql: a quote"),
    "two statements": ({"marts/mine.sql": "select 1; select 2"}, {"marts.mine", "marts.after"}, "2 statements"),
    "an unknown name": ({"marts/mine.sql": "select * from marts.nope"}, {"marts.mine", "marts.after"}, "'marts.nope'"),
    "an unknown macro": ({"marts/mine.sql": "select macros.no(1) as x"}, {"marts.mine", "marts.after"}, "'macros.no'"),
    "a wrong layer": ({"marts/mine.sql": "select * from raw.debates"}, {"marts.mine", "marts.after"}, "only staging"),
    "no file": ({}, {"marts.mine", "marts.after"}, "there is no sql/marts/mine.sql"),
    "a cycle": ({"marts/mine.sql": "select * from marts.after"}, {"marts.mine", "marts.after"}, "in a cycle"),
    "no YAML": (
        {"marts/mine.sql": "select 1 as x", "marts/mine.yml": "models: [{name: mine"},
        {"marts/mine.yml", "marts.mine", "marts.after"},
        "mine.yml",
    ),
    "an unknown key": (
        {"marts/mine.sql": "select 1 as x", "marts/mine.yml": MINE.replace("description", "descriptoin")},
        {"marts/mine.yml", "marts.mine", "marts.after"},
        "models[0].description: Field required",
    ),
    "described twice": (
        {"marts/mine.sql": "select 1 as x", "marts/other.yml": "models: [{name: mine, description: M.}]"},
        {"marts.mine", "marts.after"},
        "is already described",
    ),
    "a file twice": (
        {"marts/mine.sql": "select 1 as x", "marts/deep/mine.sql": "select 1 as x"},
        {"marts.mine", "marts.after"},
        "is also defined",
    ),
    "a Python function in a view": (
        {"marts/mine.sql": "select elo_ratings([1], [1], [2], [1.0], 0, 1) as x"},
        {"marts.mine", "marts.after"},
        "cannot be a view",
    ),
    "a macro": (
        {
            "macros/bad.yml": """
                macros: [{name: bad, description: B., arguments: [{name: x, type: int}], sql: (select x)}]
                """,
            "marts/mine.sql": "select macros.bad(1) as x",
        },
        {"macros.bad", "marts.mine", "marts.after"},
        "a macro can read only its arguments",
    ),
    "a cycle of macros": (
        {
            "macros/both.yml": """
                macros:
                  - {name: one, description: O., arguments: [{name: x, type: int}], sql: macros.two(x)}
                  - {name: two, description: T., arguments: [{name: x, type: int}], sql: macros.one(x)}
                """,
            "marts/mine.sql": "select macros.one(1) as x",
        },
        {"macros.one", "macros.two", "marts.mine", "marts.after"},
        "call each other in a cycle",
    ),
    "no latest version": (
        {
            "marts/mine_v1.sql": "select 1 as x",
            "marts/mine.yml": "models: [{name: mine, description: M., versions: [{v: 1, prerelease: true}]},"
            " {name: after, description: A.}]",
        },
        {"marts.mine", "marts.after"},
        "every version of marts.mine is a prerelease",
    ),
    "the latest version": (
        {
            "marts/mine_v1.sql": "select 1 as x",
            "marts/mine_v2.sql": "select (",
            "marts/mine.yml": "models: [{name: mine, description: M., versions: [{v: 1}, {v: 2}]},"
            " {name: after, description: A.}]",
        },
        {"marts.mine_v2", "marts.mine", "marts.after"},
        "mine_v2.sql",
    ),
    "a singular test": (
        {"marts/mine.sql": "select 1 as x", "tests/mine.sql": "select * from marts.nope"},
        {"tests.mine"},
        "'marts.nope'",
    ),
    "a unit test": (
        {
            "marts/mine.sql": "select 1 as x",
            "marts/mine.yml": MINE + "\nunit_tests: [{name: u, model: nope, given: [], expect: {rows: [{x: 1}]}}]",
        },
        {"unit test u"},
        "no SQL model 'marts.nope'",
    ),
    "a data test": (
        {
            "marts/mine.sql": "select 1 as x",
            "marts/mine.yml": MINE.replace("Mine.", "Mine., data_tests: [{row_count: {same_as: marts.nope}}]"),
        },
        {"marts.mine", "marts.after"},
        "no SQL model 'marts.nope'",
    ),
}


@pytest.fixture
def con() -> Iterator[duckdb.DuckDBPyConnection]:
    connection = raw_database()
    yield connection
    connection.close()


def skipping(root: Path, files: dict[str, str]) -> Project:
    return load_project(write_project(root, SOUND | files).files, skip_broken=True)


@pytest.mark.parametrize("kind", BROKEN)
def test_whatever_is_broken_the_rest_is_read_and_built(
    con: duckdb.DuckDBPyConnection, tmp_path: Path, kind: str
) -> None:
    files, expected, words = BROKEN[kind]
    project = skipping(tmp_path, READER | files)
    assert project.broken.keys() == expected
    assert not expected & project.models.keys()
    with pytest.raises(PartlyBuiltError) as caught:
        build(con, project)
    assert words in str(caught.value)
    assert con.execute("select n from marts.counts").fetchall() == [(6,)]
    assert not caught.value.result.is_complete, "the next build tries again"
    with pytest.raises(SqlModelError):
        assert load_project(project.files).models


def test_the_message_names_each_error_once_with_what_it_stops(tmp_path: Path) -> None:
    broken = {"marts/mine.sql": "select (", "marts/other.sql": "select * from marts.nope"}
    other = {"marts/other.yml": "models: [{name: other, description: Other.}]"}
    text = why_broken(skipping(tmp_path, READER | broken | other).broken)
    assert text.count("mine.sql") == 1
    assert "Not built because of it: marts.after." in text
    assert "other.sql:1: no SQL model or raw table 'marts.nope'" in text


@pytest.mark.parametrize(
    ("sql", "words"),
    [
        ("select no_such_column from marts.debates", "no_such_column"),
        ("select cast(winner as int) as x from marts.debates", "Could not convert"),
        ("select no_such_function(1) as x", "no_such_function"),
    ],
)
def test_what_only_the_database_refuses_stops_only_its_readers(
    con: duckdb.DuckDBPyConnection, tmp_path: Path, sql: str, words: str
) -> None:
    table = {"marts/mine.yml": MINE.replace("Mine.}", "Mine., config: {materialized: table}}")}
    with pytest.raises(PartlyBuiltError) as caught:
        build(con, skipping(tmp_path, READER | table | {"marts/mine.sql": sql}))
    assert words in str(caught.value)
    assert "Not built because of it: marts.after." in str(caught.value)
    assert read_builds(con).keys() == {"staging.stg_debates", "marts.debates", "marts.counts"}
    result = build(con, skipping(tmp_path, READER | {"marts/mine.sql": "select 1 as x"}))
    assert {row.name for row in result.built} == {"marts.mine", "marts.after"}
    assert result.is_complete


def test_what_was_built_before_it_broke_stays(con: duckdb.DuckDBPyConnection, tmp_path: Path) -> None:
    build(con, skipping(tmp_path, READER | {"marts/mine.sql": "select 1 as x"}))
    for sql in ("select (", "select no_such_column from marts.debates"):
        with pytest.raises(PartlyBuiltError):
            build(con, skipping(tmp_path, READER | {"marts/mine.sql": sql}))
        assert con.execute("select x from marts.after").fetchall() == [(1,)]


def test_what_breaks_its_contract_is_dropped_with_its_readers(con: duckdb.DuckDBPyConnection, tmp_path: Path) -> None:
    promise = "config: {contract: {enforced: true}}, columns: [{name: x, data_type: bigint, description: X.}]"
    yaml = {"marts/mine.yml": MINE.replace("Mine.}", f"Mine., {promise}}}")}
    build(con, skipping(tmp_path, READER | yaml | {"marts/mine.sql": "select 1::bigint as x"}))
    with pytest.raises(PartlyBuiltError, match=r"breaks its contract.*Not built because of it: marts\.after\."):
        build(con, skipping(tmp_path, READER | yaml | {"marts/mine.sql": "select 'a' as x"}))
    found = con.execute("select view_name from duckdb_views() where schema_name = 'marts' order by 1").fetchall()
    assert found == [("counts",), ("debates",)]
    assert read_builds(con).keys() == {"staging.stg_debates", "marts.debates", "marts.counts"}


def test_a_selection_reports_only_what_it_contains(con: duckdb.DuckDBPyConnection, tmp_path: Path) -> None:
    project = skipping(tmp_path, READER | {"marts/mine.sql": "select ("})
    build(con, project, select=["+counts"])
    for selector in ("mine", "marts.*", "path:sql/marts", "+after"):
        with pytest.raises(PartlyBuiltError, match=r"mine\.sql"):
            build(con, project, select=["staging.*", selector])
    assert select_models(project.models, ["mine"], project.broken) == []
