"""Texts inside the file: comments on every relation, column and macro, and a table about the schemas."""

from __future__ import annotations

from pathlib import Path

import duckdb
import pytest
from sql_project import STAGING, add_debates, raw_database, write_project

from debatebench.shared.errors import SqlModelError
from debatebench.transform import comments
from debatebench.transform.build import PartlyBuiltError, build
from debatebench.transform.project import Project

FILES = {
    **STAGING,
    "schemas.yml": """
        schemas:
          - {name: raw, description: What was landed.}
          - {name: Marts, description: What people ask.}
          - name: meta
            description: Records of the build.
            tables: [{name: builds, description: One SQL model., columns: [{name: name, description: Its name.}]}]
        """,
    "macros/m.yml": """
        macros:
          - name: doubled
            description: Twice the value.
            arguments: [{name: x, type: bigint, description: The value.}]
            sql: x * 2
          - {name: one, description: It's one., sql: '1'}
        """,
    "marts/won.sql": "-- One row per debate.\nselect debate_id, winner as result, macros.doubled(1) as two from "
    "staging.stg_debates",
    "marts/won.yml": """
        models:
          - name: won
            description: >-
              Who's the
              winner?
            config: {materialized: table}
            columns:
              - {name: result, data_tests: [accepted_values: {values: {pro: for, con: against, tie: }}]}
              - {name: two, description: A 2., data_tests: [accepted_values: {values: [2]}]}
        """,
    "marts/seen_v1.sql": '-- One row per result.\nselect result, count(*) as "N" from marts.won group by result',
    "marts/seen_v2.sql": "-- One row per result, counted.\nselect result, 0 + count(*) as n from marts.won group by 1",
    "marts/seen.yml": """
        models:
          - name: seen
            description: How often.
            columns: [{name: n, description: How many.}]
            versions: [{v: 1}, {v: 2, description: How often by another rule.}]
        """,
}

TEXTS = """
    select schema_name || '.' || table_name as name, comment from duckdb_tables() union all
    select schema_name || '.' || view_name, comment from duckdb_views() where not internal union all
    select schema_name || '.' || table_name || '.' || column_name, comment from duckdb_columns() where not internal
    union all
    select schema_name || '.' || function_name || '()', comment from duckdb_functions() where not internal
    """


def texts(con: duckdb.DuckDBPyConnection) -> dict[str, str | None]:
    return dict(con.execute(TEXTS).fetchall())


def count_texts(monkeypatch: pytest.MonkeyPatch) -> list[Project]:
    """The projects whose texts were asked for, which a new process works out from their files."""
    worked_out: list[Project] = []
    work_out = comments.texts_of
    monkeypatch.setattr(comments, "texts_of", lambda *asked: worked_out.append(asked[0]) or work_out(*asked))
    return worked_out


def test_every_thing_has_its_text_and_the_schemas_have_a_table(tmp_path: Path):
    con = raw_database()
    build(con, write_project(tmp_path, FILES))
    found = texts(con)
    assert {name: found[name] for name in found if name.startswith(("marts.", "macros."))} == {
        "marts.won": "Who's the winner? One row per debate.",
        "marts.won.debate_id": "The debate.",
        "marts.won.result": "Who won. Values: `pro`: for; `con`: against; `tie`.",
        "marts.won.two": "A 2. Values: `2`.",
        "marts.seen_v1": "How often. One row per result. The latest version is `marts.seen_v2`.",
        "marts.seen_v1.result": "Who won. Values: `pro`: for; `con`: against; `tie`.",
        "marts.seen_v1.N": "How many.",
        "marts.seen_v2": "How often by another rule. One row per result, counted.",
        "marts.seen_v2.result": "Who won. Values: `pro`: for; `con`: against; `tie`.",
        "marts.seen_v2.n": "How many.",
        "marts.seen": "How often by another rule. One row per result, counted. The latest version is `marts.seen_v2`.",
        "marts.seen.result": "Who won. Values: `pro`: for; `con`: against; `tie`.",
        "marts.seen.n": "How many.",
        "macros.doubled()": "Twice the value. Arguments: `x`: The value.",
        "macros.one()": "It's one.",
    }
    assert (found["main.seen"], found["main.seen.n"]) == (found["marts.seen"], found["marts.seen.n"])
    assert (found["meta.builds"], found["meta.builds.name"]) == ("One SQL model.", "Its name.")
    assert con.execute("from main.schemas").fetchall() == [
        ("macros", "SQL models of the folder sql/macros."),
        ("main", "SQL models of the folder sql/main."),
        ("marts", "What people ask."),
        ("meta", "Records of the build."),
        ("raw", "What was landed."),
        ("staging", "SQL models of the folder sql/staging."),
    ]


def test_a_landed_column_without_a_text_has_that_of_the_column_that_passes_it_on(tmp_path: Path):
    con = raw_database()
    build(con, write_project(tmp_path, FILES))
    assert texts(con)["raw.debates.pro_model_id"] == texts(con)["staging.stg_debates.pro_model_id"] == "Pro."


def test_texts_outlive_a_landing_a_full_refresh_and_reopening_without_being_worked_out_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    worked_out = count_texts(monkeypatch)
    project, file = write_project(tmp_path / "sql", FILES), str(tmp_path / "w.duckdb")
    with raw_database(file) as con:
        build(con, project)
        first = texts(con)
        add_debates(con, "r2", [("d9", "a", "b", "tie")])
        assert [row.name for row in build(con, project).built] == ["marts.won"]
        assert texts(con) == first
        assert len(build(con, project, full_refresh=True).built) == 5
        assert texts(con) == first
    with duckdb.connect(file, read_only=True) as con:
        assert texts(con) == first
    assert len(worked_out) == 1


def test_what_was_created_between_two_builds_is_commented_by_the_second(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    con, project = raw_database(), write_project(tmp_path, FILES)
    build(con, project)
    first = texts(con)
    con.execute("create or replace table meta.builds as from meta.builds")
    assert texts(con)["meta.builds"] is None
    add_debates(con, "r2", [("d9", "a", "b", "tie")])
    worked_out = count_texts(monkeypatch)
    build(con, project)
    assert texts(con) == first
    assert len(worked_out) == 1
    add_debates(con, "r3", [("d9", "a", "b", "tie")])
    build(con, project)
    assert (texts(con), len(worked_out)) == (first, 1)


def test_another_text_replaces_the_comment_and_nothing_is_built_for_it(tmp_path: Path):
    con = raw_database()
    build(con, write_project(tmp_path, FILES))
    before = texts(con)
    changed = (
        FILES["marts/won.yml"].replace("winner?", "loser?").replace("for, con: against", "for it, con: against it")
    )
    result = build(con, write_project(tmp_path, {"marts/won.yml": changed}))
    assert result.built == ()
    others = {name for name, text in texts(con).items() if text != before[name]}
    assert others == {
        "marts.won",
        "marts.won.result",
        "main.won",
        "main.won.result",
        "marts.seen.result",
        "main.seen.result",
        "marts.seen_v1.result",
        "marts.seen_v2.result",
    }
    assert texts(con)["marts.won.result"] == "Who won. Values: `pro`: for it; `con`: against it; `tie`."
    without = changed.replace(
        "              - {name: two, description: A 2., data_tests: [accepted_values: {values: [2]}]}", ""
    )
    build(con, write_project(tmp_path, {"marts/won.yml": without}))
    assert texts(con)["marts.won.two"] is None


def test_what_a_selected_build_adds_is_commented_too(tmp_path: Path):
    con = raw_database()
    project = write_project(tmp_path, FILES)
    build(con, project, select=["stg_debates"])
    assert texts(con)["staging.stg_debates.winner"] == "Who won."
    build(con, project, select=["won"])
    assert texts(con)["marts.won.debate_id"] == "The debate."


def test_a_build_that_fails_leaves_comments_to_the_next_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    con = raw_database()
    project = write_project(tmp_path, FILES)
    build(con, project)
    before = texts(con)
    with monkeypatch.context() as patched:
        patched.setattr("debatebench.transform.build.remember_parsed", lambda *_: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            build(con, project, full_refresh=True)
    assert texts(con)["marts.won.result"] is None
    build(con, project, full_refresh=True)
    assert texts(con) == before


def test_what_is_broken_does_not_keep_the_rest_from_its_texts(tmp_path: Path):
    con = raw_database()
    project = write_project(
        tmp_path,
        {
            **FILES,
            "marts/bad.sql": "select 1 as x, (from staging.stg_debates) as y",
            "marts/bad.yml": "models: [{name: bad, description: B.}]",
        },
    )
    with pytest.raises(PartlyBuiltError):
        build(con, project)
    assert texts(con)["marts.seen.result"]


def test_a_schema_is_described_once(tmp_path: Path):
    again = {"more.yml": "schemas:\n  - {name: RAW, description: Again.}\n"}
    with pytest.raises(SqlModelError, match=r"schemas\.yml:2: the schema 'raw' is already described at .*more\.yml:2"):
        write_project(tmp_path, {**FILES, **again}).models  # noqa: B018
