"""Data tests: what fails, what passes, and what a failure shows."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import duckdb
import pytest
from sql_project import STAGING, raw_database, read_project, write_project

from debatebench.transform.build import build
from debatebench.transform.testing.data_tests import TestResult, run_data_tests
from debatebench.transform.testing.generic_tests import Unique
from debatebench.transform.testing.version_names import version_name_test

ROWS = """
    select * from (
        values (1, 'pro', 0.5, 'd1'), (2, 'con', 1.5, 'd2'), (2, 'tie', null, 'd2'), (null, 'pro', 2.5, 'd9')
    ) as t(id, winner, score, debate_id)
    """


@pytest.fixture
def con() -> Iterator[duckdb.DuckDBPyConnection]:
    connection = raw_database()
    yield connection
    connection.close()


def run(con: duckdb.DuckDBPyConnection, folder: Path, columns: str = "", model: str = "") -> list[TestResult]:
    """Build a small table with tests under its columns (`id: [unique]`, one per line) or under itself, and run them."""
    tests = dict(line.strip().split(": ", 1) for line in columns.strip().splitlines())
    described = "\n".join(
        f"              - {{name: {name}, description: D., data_tests: {tests.get(name, '[]')}}}"
        for name in ("id", "winner", "score", "debate_id")
    )
    yaml = f"""
        models:
          - name: t
            description: T.
            config: {{materialized: table}}
            data_tests: [{model}]
            columns:\n{described}
        """
    build(con, write_project(folder, STAGING | {"marts/t.sql": ROWS, "marts/m.yml": yaml}))
    return [r for r in run_data_tests(con, read_project(folder), select=["t"]) if r.kind != "description"]


@pytest.mark.parametrize(
    ("column", "failures", "first"),
    [
        ("id: [unique]", 1, (2, 2)),
        ("winner: [unique]", 1, ("pro", 2)),
        ("id: [not_null]", 1, (None, "pro", 2.5, "d9")),
        ("winner: [not_null]", 0, None),
        ("winner: [{accepted_values: {values: [pro, con, tie]}}]", 0, None),
        ("winner: [{accepted_values: {values: [pro, con]}}]", 1, ("tie", 1)),
        ("id: [{accepted_values: {values: [1, 2]}}]", 0, None),
        ("id: [{accepted_values: {values: {'1': The first., '2': }}}]", 0, None),
        ("winner: [{accepted_values: {values: {pro: For the motion., con: }}}]", 1, ("tie", 1)),
        ("debate_id: [{relationships: {to: staging.stg_debates, field: debate_id}}]", 1, (None, "pro", 2.5, "d9")),
        ("id: [{relationships: {to: marts.t, field: id}}]", 0, None),
        ("score: [{range: {min: 0, max: 2}}]", 1, (None, "pro", 2.5, "d9")),
        ("score: [{range: {min: 0.5}}]", 0, None),
        ("score: [{range: {min: 0.5, inclusive: false}}]", 1, (1, "pro", 0.5, "d1")),
        ("id: [{range: {max: score}}]", 2, (1, "pro", 0.5, "d1")),
        ("score: [{expression_is_true: {expression: '< 2'}}]", 1, (None, "pro", 2.5, "d9")),
        ("id: [{not_null: {where: \"winner <> 'pro'\"}}]", 0, None),
        ("id: [{unique: {where: \"winner <> 'tie'\"}}]", 0, None),
    ],
)
def test_a_column_test_finds_exactly_the_bad_rows(
    con: duckdb.DuckDBPyConnection, tmp_path: Path, column: str, failures: int, first: tuple[object, ...] | None
) -> None:
    (result,) = run(con, tmp_path, column)
    assert (result.status, result.failures) == ("fail" if failures else "pass", failures)
    if first is not None:
        assert tuple(float(v) if hasattr(v, "normalize") else v for v in result.rows[0]) == first


@pytest.mark.parametrize(
    ("test", "failures", "first"),
    [
        ("unique_combination_of_columns: {combination_of_columns: [id, winner]}", 0, None),
        ("unique_combination_of_columns: {combination_of_columns: [id, debate_id]}", 1, (2, "d2", 2)),
        ("expression_is_true: {expression: id < 2 or winner = 'con'}", 1, None),
        ("row_count: {min: 4, max: 4}", 0, None),
        ("row_count: {min: 5}", 1, (4,)),
        ("row_count: {max: 3}", 1, (4,)),
        ("row_count: {same_as: staging.stg_debates}", 1, (4, 3)),
        ("row_count: {same_as: marts.t}", 0, None),
        ("relationships: {to: marts.t, columns: [id, winner]}", 0, None),
        ("relationships: {to: staging.stg_debates, columns: [debate_id, winner]}", 2, None),
        ("relationships: {to: staging.stg_debates, columns: [debate_id], fields: [pro_model_id]}", 4, None),
    ],
)
def test_a_test_of_the_whole_model_finds_exactly_the_bad_rows(
    con: duckdb.DuckDBPyConnection, tmp_path: Path, test: str, failures: int, first: tuple[object, ...] | None
) -> None:
    (result,) = run(con, tmp_path, model="{" + test + "}")
    assert (result.status, result.failures) == ("fail" if failures else "pass", failures)
    if first is not None:
        assert result.rows[0] == first


def test_a_failure_prints_the_query_and_the_first_rows(con: duckdb.DuckDBPyConnection, tmp_path: Path) -> None:
    (result,) = run(con, tmp_path, "id: [{unique: {name: no_double_ids}}]")
    assert str(result).splitlines() == [
        f"FAIL no_double_ids ({tmp_path}/marts/m.yml)",
        "  1 failing row",
        '  select "id", count(*) as rows_with_it from marts.t where "id" is not null group by "id" having count(*) > 1',
        "  id | rows_with_it",
        "  2 | 2",
    ]


def test_only_the_first_rows_of_many_are_kept(con: duckdb.DuckDBPyConnection, tmp_path: Path) -> None:
    con.execute("insert into raw.debates (run_tag, debate_id) select 'r9', 'x' || i from range(50) as t(i)")
    build(con, write_project(tmp_path, STAGING | {"tests/no_r9.sql": "from staging.stg_debates where run_tag = 'r9'"}))
    result = next(r for r in run_data_tests(con, read_project(tmp_path)) if r.kind == "singular")
    assert (result.status, result.failures, len(result.rows)) == ("fail", 50, 5)


def test_severity_warn_does_not_fail(con: duckdb.DuckDBPyConnection, tmp_path: Path) -> None:
    (result,) = run(con, tmp_path, "id: [{unique: {config: {severity: warn}}}]")
    assert (result.status, result.failures) == ("warn", 1)


def test_a_test_that_cannot_run_is_an_error_with_the_reason(con: duckdb.DuckDBPyConnection, tmp_path: Path) -> None:
    (result,) = run(con, tmp_path, model="{expression_is_true: {expression: no_such_column > 1}}")
    assert result.status == "error"
    assert "no_such_column" in result.message


def test_text_in_accepted_values_is_only_text(con: duckdb.DuckDBPyConnection, tmp_path: Path) -> None:
    (result,) = run(con, tmp_path, "winner: [{accepted_values: {values: [\"pro') or true or ('\", con, tie]}}]")
    assert (result.status, result.rows) == ("fail", (("pro", 2),))


def test_singular_tests_run_with_what_they_read(con: duckdb.DuckDBPyConnection, tmp_path: Path) -> None:
    files = STAGING | {
        "marts/t.sql": "select 1 as x",
        "marts/m.yml": "models: [{name: t, description: T., columns: [{name: x, description: X.}]}]",
        "tests/ties.sql": "-- No ties.\nselect debate_id from staging.stg_debates where winner = 'tie';\n",
        "tests/one.sql": "select * from marts.t where x <> 1",
    }
    project = write_project(tmp_path, files)
    build(con, project)
    found = {r.name: (r.status, r.rows) for r in run_data_tests(con, project) if r.kind == "singular"}
    assert found == {"ties": ("fail", (("d2",),)), "one": ("pass", ())}
    selected = [r.name for r in run_data_tests(con, project, select=["t"])]
    assert selected == ["description_marts.t", "one"]


def test_every_version_is_tested_and_the_unsuffixed_name_is_not(con: duckdb.DuckDBPyConnection, tmp_path: Path) -> None:
    yaml = """
        models:
          - name: w
            description: W.
            latest_version: 2
            versions: [{v: 1}, {v: 2}]
            columns: [{name: x, description: X., data_tests: [unique]}]
        """
    project = write_project(
        tmp_path, {"marts/w_v1.sql": "select 1 as x", "marts/w_v2.sql": "select 2 as x", "marts/m.yml": yaml}
    )
    build(con, project)
    tested = {(r.model, r.kind) for r in run_data_tests(con, project)}
    assert tested == {(f"marts.w_v{v}", kind) for v in (1, 2) for kind in ("unique", "description")}


@pytest.mark.parametrize(
    ("columns", "problems"),
    [
        ("[{name: x, description: X., data_type: int}, {name: y, description: Y.}]", []),
        ("[{name: x, description: X.}]", ["y is not described"]),
        ("[{name: x}, {name: y, description: Y.}]", ["x is not described"]),
        ("[{name: x, description: X.}, {name: y, description: Y.}, {name: z, description: Z.}]", ["z is missing"]),
        (
            "[{name: x, description: X., data_type: varchar}, {name: y, description: Y.}]",
            ["x is INTEGER instead of VARCHAR"],
        ),
    ],
)
def test_descriptions_are_checked_against_the_columns_that_are_there(
    con: duckdb.DuckDBPyConnection, tmp_path: Path, columns: str, problems: list[str]
) -> None:
    yaml = f"models: [{{name: t, description: T., columns: {columns}}}]"
    project = write_project(tmp_path, {"marts/t.sql": "select 1 as x, 'a' as y", "marts/m.yml": yaml})
    build(con, project)
    (result,) = run_data_tests(con, project)
    assert (result.status, result.message.splitlines()) == ("fail" if problems else "pass", problems)


def test_a_number_that_is_not_finite_fails_in_every_sql_model(con: duckdb.DuckDBPyConnection, tmp_path: Path) -> None:
    yaml = """
        models:
          - name: t
            description: T.
            columns:
              - {name: id, description: Id., data_type: integer}
              - {name: x, description: X., data_type: double}
              - {name: y, description: Y., data_type: double}
        """
    sql = "select * from (values (1, 1.5::double, null::double), (2, 'nan', 2), (3, 3, '-inf')) as t(id, x, y)"
    project = write_project(tmp_path, {"marts/t.sql": sql, "marts/m.yml": yaml})
    build(con, project)
    found = {r.kind: r for r in run_data_tests(con, project)}
    assert (found["finite"].status, found["finite"].failures) == ("fail", 2)
    assert [row[0] for row in found["finite"].rows] == [2, 3]


def test_a_contract_is_tested_again_after_the_build(con: duckdb.DuckDBPyConnection, tmp_path: Path) -> None:
    yaml = """
        models:
          - name: t
            description: T.
            config: {materialized: table, contract: {enforced: true}}
            columns: [{name: x, description: X., data_type: integer}]
        """
    project = write_project(tmp_path, {"marts/t.sql": "select 1 as x", "marts/m.yml": yaml})
    build(con, project)
    assert {r.kind: r.status for r in run_data_tests(con, project)} == {"description": "pass", "contract": "pass"}
    con.execute("create or replace table marts.t as select 'one' as x")
    assert {r.kind: r.status for r in run_data_tests(con, project)} == {"description": "fail", "contract": "fail"}


def test_tests_of_a_warehouse_that_is_not_built_are_errors(con: duckdb.DuckDBPyConnection, tmp_path: Path) -> None:
    results = run_data_tests(con, write_project(tmp_path, STAGING))
    assert [r.status for r in results] == ["error"]
    assert "stg_debates" in results[0].message


def test_data_tests_run_on_a_read_only_connection(tmp_path: Path) -> None:
    project = write_project(tmp_path / "sql", STAGING | {"tests/none.sql": "select 1 where false"})
    with raw_database(str(tmp_path / "w.duckdb")) as con:
        build(con, project)
    with duckdb.connect(str(tmp_path / "w.duckdb"), read_only=True) as con:
        assert {r.status for r in run_data_tests(con, project)} == {"pass"}


# --- versions that are named ------------------------------------------------------------------------------------------

VERSIONS = STAGING | {
    "marts/votes_v1.sql": "select * from staging.stg_debates",
    "marts/w_v1.sql": "select * from marts.votes_v1",
    "marts/w_v2.sql": "select * from marts.votes_v1",
    "marts/a.sql": "-- Not marts.w_v1.\nselect run_tag from marts.w",
    "marts/m.yml": """
        models:
          - {name: votes, description: V., versions: [{v: 1}]}
          - name: w
            description: W.
            versions: [{v: 1}, {v: 2}]
            data_tests: [{row_count: {same_as: marts.votes_v1}}]
          - name: a
            description: Unlike `marts.w_v1`, it is the latest.
        unit_tests:
          - {name: u, model: w_v1, given: [{input: marts.votes_v1, rows: []}], expect: {rows: []}}
        """,
}


def named_versions(folder: Path, files: dict[str, str], page: str = "query: select 1 from marts.w") -> TestResult:
    (folder / "page.yml").write_text(page, encoding="utf-8")
    return version_name_test(write_project(folder / "sql", VERSIONS | files), {"pages/page.yml": folder / "page.yml"})


def test_a_versioned_models_own_files_may_name_versions(tmp_path: Path) -> None:
    assert named_versions(tmp_path, {}, "text: Unlike `marts.w_v1`.").status == "pass"


@pytest.mark.parametrize(
    ("path", "text", "where"),
    [
        ("marts/a.sql", "select run_tag\nfrom marts.w_v1", "marts/a.sql:2 names marts.w_v1; write marts.w, "),
        ("tests/t.sql", "select 1\n\nfrom marts.w_v2 where false", "tests/t.sql:3 names marts.w_v2; write marts.w, "),
        (
            "marts/a.yml",
            "models:\n- name: b\n  description: B.\n  data_tests:\n  - row_count: {same_as: marts.w_v1}",
            "marts/a.yml:5 names marts.w_v1; ",
        ),
        (
            "marts/a.yml",
            "models:\n- name: b\n  description: B.\n  columns:\n  - name: run_tag\n    data_tests:\n"
            "    - relationships: {to: marts.w_v2, field: run_tag}",
            "marts/a.yml:7 names marts.w_v2; ",
        ),
    ],
)
def test_a_version_that_anything_else_names_fails_by_file_and_line(
    tmp_path: Path, path: str, text: str, where: str
) -> None:
    described = "models: [{name: b, description: B.}]"
    files = {"marts/b.sql": "select run_tag from marts.w", "marts/a.yml": described, path: text}
    result = named_versions(tmp_path, files)
    assert (result.kind, result.status, result.failures) == ("description", "fail", 1)
    assert f"{where}" in result.message
    assert "which is the latest version." in result.message


def test_a_version_that_a_unit_test_or_a_page_names_fails(tmp_path: Path) -> None:
    files = {
        "marts/a.sql": "select run_tag from marts.w_v1",
        "marts/u.yml": """
            unit_tests:
              - {name: a, model: a, given: [{input: marts.w_v1, rows: []}], expect: {rows: []}}
            """,
    }
    result = named_versions(tmp_path, files, "title: P\nquery: |\n  select 1\n  from marts.w_v1")
    lines = [line.partition("; ")[0] for line in result.message.splitlines()]
    assert [line.removeprefix(f"{tmp_path}/") for line in lines] == [
        "page.yml:4 names marts.w_v1",
        "sql/marts/a.sql:1 names marts.w_v1",
        "sql/marts/u.yml:2 names marts.w_v1",
    ]


FAILING = STAGING | {
    "marts/t.sql": "select debate_id, winner, 1 as one, length(debate_id) as size from staging.stg_debates",
    "marts/u.sql": "select winner, one from marts.t",
    "marts/m.yml": """
        models:
          - name: t
            description: T.
            data_tests:
              - unique_combination_of_columns: {combination_of_columns: [debate_id, winner], where: "one = 1"}
              - unique_combination_of_columns: {combination_of_columns: [one]}
              - row_count: {same_as: marts.u}
            columns:
              - {name: debate_id, description: D., data_tests: [unique, not_null]}
              - {name: winner, description: W., data_tests: [{accepted_values: {values: [pro, con]}}]}
              - {name: one, description: O., data_type: bigint, data_tests: [unique]}
          - name: u
            description: U.
            columns:
              - name: winner
                description: W.
                data_tests: [{relationships: {to: marts.t, field: debate_id}}, {relationships: {to: marts.t}}]
              - {name: one, description: O., data_tests: [{expression_is_true: {expression: "> nothing"}}]}
        """,
    "tests/ties.sql": "select debate_id from marts.t where winner = 'tie'",
}


def test_stored_rows_give_the_results_of_the_views_themselves(tmp_path: Path) -> None:
    project = write_project(tmp_path / "sql", FAILING)
    with raw_database(str(tmp_path / "w.duckdb")) as con:
        build(con, project)
        stored = run_data_tests(con, project)
    with duckdb.connect(str(tmp_path / "w.duckdb"), read_only=True) as con:
        assert [replace(r, seconds=0.0) for r in run_data_tests(con, project)] == [
            replace(r, seconds=0.0) for r in stored
        ]
    assert [(r.kind, r.status, r.failures) for r in stored if r.status != "pass"] == [
        ("description", "fail", 2),
        ("accepted_values", "fail", 1),
        ("unique", "fail", 1),
        ("unique_combination_of_columns", "fail", 1),
        ("relationships", "fail", 3),
        ("expression_is_true", "error", 0),
        ("singular", "fail", 1),
    ]


def test_two_values_that_share_a_hash_are_not_a_failure(
    con: duckdb.DuckDBPyConnection, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Unique, "suspects", lambda test, column: "1")
    assert [r.status for r in run(con, tmp_path, "winner: [not_null]\nscore: [unique]")] == ["pass", "pass"]


def test_the_sql_of_a_question_must_fit_the_model_that_it_is_written_at(con: duckdb.DuckDBPyConnection, tmp_path: Path):
    questions = [
        "select winner from marts.t",
        "select looser from marts.t",
        "select winner from staging.stg_debates",
        "from marts.t; drop table raw.debates",
        "from read_text('x') cross join marts.t",
    ]
    entries = "".join(f"\n      - {{question: 'Who won?', sql: \"{sql}\"}}" for sql in questions)
    project = write_project(
        tmp_path,
        STAGING
        | {
            "marts/t.sql": "select winner from staging.stg_debates",
            "marts/t.yml": f"models:\n  - name: t\n    description: T.\n    questions:{entries}\n",
        },
    )
    build(con, project)
    found = [result for result in run_data_tests(con, project) if result.kind == "question"]
    assert [(result.name, result.status) for result in found] == [
        ("question_marts.t_1", "pass"),
        ("question_marts.t_2", "error"),
        ("question_marts.t_3", "fail"),
        ("question_marts.t_4", "error"),
        ("question_marts.t_5", "error"),
    ]
    assert 'column "looser" not found' in found[1].message
    assert found[2].message == "the SQL does not read marts.t"
    assert con.execute("select count(*) from raw.debates").fetchall() == [(3,)]
