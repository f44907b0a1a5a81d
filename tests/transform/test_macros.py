"""Macros: formulas written once, called by SQL models, created in the warehouse."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Mapping
from datetime import date
from pathlib import Path
from textwrap import indent
from typing import Any

import duckdb
import pytest
from paths import SUPPORT
from sql_project import STAGING, raw_database, read_project, write_project

from debatebench.cli.sql_completion import Completions
from debatebench.output.docs.content import describe_macros
from debatebench.output.docs.page import render_docs
from debatebench.output.export.dbt_names import dbt_names
from debatebench.output.export.dbt_sql import dbt_sql
from debatebench.output.export.dbt_tests import data_tests
from debatebench.query.relations import read_macros
from debatebench.query.safe_query import run_query
from debatebench.query.sql_project import load_project
from debatebench.query.version_diff import diff_model
from debatebench.shared.errors import SqlModelError, UsageError
from debatebench.shared.workspace import Workspace
from debatebench.transform.build import build, is_current
from debatebench.transform.create_macros import create_macros
from debatebench.transform.expansion import expand
from debatebench.transform.lineage.column_lineage import column_lineage
from debatebench.transform.testing.data_tests import TestResult, run_data_tests
from debatebench.transform.testing.generic_tests import parse_generic_test
from debatebench.transform.testing.unit_tests import run_unit_tests


def macro_yaml(name: str, sql: str, *arguments: str, description: str = "M.", more: str = "") -> str:
    """A macro whose SQL begins on line 6; an argument is a number or `name:type`."""
    typed = (f"{each}:double".split(":")[:2] for each in arguments)
    listed = ", ".join(f"{{name: {each}, type: {kind}, description: The {each} of {name}.}}" for each, kind in typed)
    head = f"macros:\n  - name: {name}\n    description: {description}\n    arguments: [{listed}]\n    sql: |\n"
    return head + indent(sql, " " * 6) + f"\n{more}"


MACROS = {
    "macros/half.yml": macro_yaml("half", "-- Half of it.\nx / 2", "x"),
    "macros/share.yml": macro_yaml("share", "macros.half(part) * 2 / nullif(whole, 0)", "part", "whole"),
    "macros/spread.yml": macro_yaml(
        "spread", "max(x) - min(x)", "x:bigint", description="From the least to the greatest."
    ),
    "macros/running.yml": macro_yaml(
        "running", "sum(x) over (partition by family order by x range unbounded preceding)", "x", "family:varchar"
    ),
}
FILES = (
    STAGING
    | MACROS
    | {
        "marts/shares.sql": """
            -- One row per winner.
            select
                winner,
                macros.share(count(*), 3) as share,
                macros.spread(source_position) as spread

            from staging.stg_debates

            group by winner
            """,
        "marts/plain.sql": "select winner, count(*) as debates from staging.stg_debates group by winner",
        "marts/m.yml": """
            models:
              - name: shares
                description: How often each side won.
                columns:
                  - {name: winner, description: Who won., data_type: varchar}
                  - {name: share, description: Share of debates., data_type: double}
                  - {name: spread, description: Of places., data_type: bigint}
              - name: plain
                description: How many.
                config: {materialized: table}
                columns:
                  - {name: winner, description: Who won., data_type: varchar}
                  - {name: debates, description: How many., data_type: bigint}
            """,
    }
)
SHARES = [("con", 1 / 3, 0), ("pro", 1 / 3, 0), ("tie", 1 / 3, 0)]


def shares(con: duckdb.DuckDBPyConnection) -> list[tuple[str, float, int]]:
    return con.execute("select winner, share, spread from marts.shares order by winner").fetchall()


def refusal(folder: Path, files: Mapping[str, str]) -> str:
    """What is said of a project that cannot be read."""
    with pytest.raises(SqlModelError) as caught:
        _ = write_project(folder, STAGING | files).models
    assert "\n" not in str(caught.value)
    return str(caught.value)


# --- what a macro is --------------------------------------------------------------------------------------------------


def test_macros_come_in_the_order_in_which_they_call_each_other(tmp_path: Path) -> None:
    macros = write_project(tmp_path, FILES).macros
    assert list(macros).index("macros.half") < list(macros).index("macros.share")
    assert macros["macros.share"].signature == "macros.share(part, whole)"
    assert macros["macros.half"].expression == "x / 2"
    assert [(call.name, call.line) for call in macros["macros.share"].query.macro_calls] == [("macros.half", 6)]


def test_a_call_of_a_macro_is_not_a_call_of_a_python_function(tmp_path: Path) -> None:
    project = write_project(tmp_path, FILES)
    assert project.models["marts.shares"].query.functions == ()
    assert [call.name for call in project.models["marts.shares"].query.macro_calls] == ["macros.share", "macros.spread"]


@pytest.mark.parametrize(
    ("sql", "said"),
    [
        ("select 1", "m.yml:6: a macro can read only its arguments"),
        ("x as y", "m.yml:6: the SQL of a macro is exactly one expression."),
        (";", "m.yml:6: the SQL of a macro is exactly one expression."),
        ("-- x", "m.yml"),
        ("x, 2", "m.yml:6: "),
        ("(x", "m.yml:6: "),
        ("x; create macro n(x) as x", "m.yml:6: contains 2 statements; the SQL of a macro is exactly one expression."),
        ("table select x", "the SQL of a macro is exactly one expression"),
        ("x, (x, y) as x + y", "m has several forms; write one macro for each"),
        ("(select max(y) from marts.a)", "can read only its arguments"),
        ("(select x)", "can read only its arguments"),
        ("exists (from 'secrets.csv')", "can read only its arguments"),
        ("[y + 1 for y in x]", "can read only its arguments"),
        ("x\n+ y", "m.yml:7: 'y' is not an argument of m. Its arguments: x."),
        ("x.part", "'x.part' is not an argument of m"),
        ("list_transform([1], lambda x: x)", "the lambda hides the argument 'x'"),
        ("elo_ratings(x)", "macros.m calls the Python function 'elo_ratings'"),
    ],
)
def test_what_is_not_one_plain_expression_is_refused(tmp_path: Path, sql: str, said: str) -> None:
    assert said in refusal(tmp_path, {"macros/m.yml": macro_yaml("m", sql, "x")})


def test_the_line_is_known_wherever_the_sql_stands(tmp_path: Path) -> None:
    for n, (yaml, line) in enumerate(
        [
            ("macros: [{name: m, description: M., sql: winner}]", 1),
            ("macros:\n  - name: m\n    description: M.\n    sql: winner\n", 4),
            ("macros:\n  - {name: m, description: M.,\n     sql: 'winner'}\n", 3),
            ("macros:\n  - name: m\n    sql: >-\n      winner\n    description: M.\n", 4),
        ]
    ):
        said = refusal(tmp_path / str(n), {"macros/m.yml": yaml})
        assert f"m.yml:{line}: 'winner' is not an argument of m. Its arguments: none." in said


def test_a_macro_has_not_the_name_of_a_python_function(tmp_path: Path) -> None:
    files = {"macros/m.yml": macro_yaml("spearman", "p", "p")}
    assert "macros.spearman has the name of the Python function 'spearman'" in refusal(tmp_path, files)


def test_a_macro_in_a_file_of_sql_is_refused_with_the_way_out(tmp_path: Path) -> None:
    said = refusal(tmp_path, {"macros/m.sql": "create macro m(x) as x"})
    assert "m.sql: a macro is an entry of `macros` in YAML; write its expression there, under `sql`." in said


@pytest.mark.parametrize(
    ("yaml", "said"),
    [
        ("macros: [{name: m, description: M.}]", "macros[0].sql: Field required"),
        ("macros: [{name: 'M x', description: M., sql: '1'}]", "'M x' is not a name"),
        (macro_yaml("m", "x", "x", "'y y'"), "'y y' is not a name"),
        ("macros: [{name: m, arguments: [{name: x}], description: M., sql: x}]", "arguments[0].type: Field required"),
        (
            macro_yaml("m", "x", "x", more="    unit_tests: [{name: t, given: [{xx: 1}], expect: [1]}]"),
            "m.yml:7: unit test t: macros.m has no argument 'xx'. Did you mean 'x'?",
        ),
        (
            macro_yaml("m", "x", "x", more="    unit_tests:\n")
            + "      - {name: t, given: [{x: 1}], expect: [1]}\n" * 2,
            "m.yml:9: unit test t: the name is already used at",
        ),
        ("unit_tests: [{name: t, macro: m, given: [], expect: {rows: []}}]", "unit_tests[0].model: Field required"),
    ],
)
def test_yaml_that_does_not_fit_is_refused(tmp_path: Path, yaml: str, said: str) -> None:
    assert said in refusal(tmp_path, {"macros/m.yml": yaml})


def test_one_described_twice_is_refused(tmp_path: Path) -> None:
    twice = {"macros/a.yml": macro_yaml("m", "1"), "macros/b.yml": macro_yaml("m", "2")}
    said = refusal(tmp_path, twice)
    assert "b.yml:2: macros.m is already described at " in said
    assert "a.yml:2." in said


# --- calls ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("sql", "said"),
    [
        (
            "select\n    macros.shares(1, 2) as x",
            "a.sql:2: there is no macro 'macros.shares'. Did you mean 'macros.share'?",
        ),
        ("select macros.share(1) as x", "a.sql:1: macros.share(part, whole) takes 2 arguments, but is called with 1."),
        ("select macros.half(1, 2) as x", "macros.half(x) takes 1 argument, but is called with 2."),
        ("select half(1) as x", "'half' is a macro; write macros.half(…)."),
        ("select macros.half(x := 1) as x", "takes only expressions, in the order of its arguments"),
        ("select macros.spread(distinct 1) as x", "takes only expressions, in the order of its arguments"),
        ("select macros.spread(1) over () as x", "macros.spread cannot have OVER; write the window in the macro."),
        ("select macros.spread(1) filter (where true) as x", "macros.spread cannot have a FILTER"),
        ("select * from macros.half(1)", "'half' cannot be read from"),
        ("select * from macros.half", "no SQL model or raw table 'macros.half'"),
    ],
)
def test_a_call_that_does_not_fit_is_refused_by_file_and_line(tmp_path: Path, sql: str, said: str) -> None:
    files = MACROS | {"marts/a.sql": sql, "marts/a.yml": "models: [{name: a, description: A.}]"}
    assert said in refusal(tmp_path, files)
    in_a_test = refusal(tmp_path / "test", MACROS | {"tests/a.sql": sql})
    assert said in in_a_test


def test_an_unknown_macro_in_a_macro_is_refused(tmp_path: Path) -> None:
    files = MACROS | {"macros/m.yml": macro_yaml("m", "x +\nmacros.hal(x)", "x")}
    assert "m.yml:7: there is no macro 'macros.hal'. Did you mean 'macros.half'?" in refusal(tmp_path, files)


def test_a_cycle_is_named(tmp_path: Path) -> None:
    files = {
        "macros/a.yml": macro_yaml("a", "x +\nmacros.b(x)", "x"),
        "macros/b.yml": macro_yaml("b", "macros.a(x)", "x"),
    }
    said = refusal(tmp_path, files)
    assert "Macros call each other in a cycle: " in said
    assert "macros.a calls macros.b" in said
    assert "a.yml:7)" in said
    assert "macros.b calls macros.a" in said


def test_a_macro_that_calls_itself_is_a_cycle(tmp_path: Path) -> None:
    files = {"macros/a.yml": macro_yaml("a", "macros.a(x)", "x")}
    assert "cycle: macros.a calls macros.a (" in refusal(tmp_path, files)


@pytest.mark.parametrize("name", ["abs", "list_sum", "row_number"])
def test_a_macro_with_the_name_of_a_function_of_duckdb_is_refused(tmp_path: Path, name: str) -> None:
    files = {"macros/m.yml": macro_yaml(name, "x", "x")}
    project = write_project(tmp_path, STAGING | files)
    said = f"m.yml: '{name}' is a function of DuckDB; choose another name."
    with pytest.raises(SqlModelError, match="is a function of DuckDB") as caught:
        build(raw_database(), project)
    assert str(caught.value).endswith(said)
    with pytest.raises(SqlModelError, match="is a function of DuckDB"):
        run_unit_tests(project)


def test_what_duckdb_refuses_names_the_macro(tmp_path: Path) -> None:
    files = {"macros/m.yml": macro_yaml("m", "no_such_function(x)", "x")}
    with pytest.raises(SqlModelError) as caught:
        build(raw_database(), write_project(tmp_path, STAGING | files))
    assert "Macro macros.m (" in str(caught.value)
    assert "no_such_function" in str(caught.value)
    assert "\n" not in str(caught.value)


# --- in the warehouse -------------------------------------------------------------------------------------------------


def test_a_build_creates_the_macros_that_its_models_call(tmp_path: Path) -> None:
    with raw_database() as con:
        build(con, write_project(tmp_path, FILES))
        assert shares(con) == SHARES
        assert con.execute("select macros.half(3)").fetchall() == [(1.5,)]


def test_a_view_that_calls_a_macro_can_be_read_without_debatebench(tmp_path: Path) -> None:
    database = str(tmp_path / "w.duckdb")
    with raw_database(database) as con:
        build(con, write_project(tmp_path / "sql", FILES))
    with duckdb.connect(database, read_only=True) as con:
        assert shares(con) == SHARES
    with duckdb.connect() as con:
        con.execute(f"attach '{database}' as another (read_only)")
        found = con.execute("select winner, share, spread from another.marts.shares order by winner").fetchall()
        assert found == SHARES
        assert con.execute("select another.macros.share(1, 4)").fetchall() == [(0.25,)]


def built(con: duckdb.DuckDBPyConnection, folder: Path, name: str, sql: str, *arguments: str) -> list[str]:
    """What a build makes after a macro was rewritten."""
    project = write_project(folder, {f"macros/{name}.yml": macro_yaml(name, sql, *arguments)})
    return sorted(row.name for row in build(con, project).built)


def test_a_change_of_a_macro_rebuilds_what_calls_it_through_whatever_else_and_nothing_more(tmp_path: Path) -> None:
    with raw_database() as con:
        build(con, write_project(tmp_path, FILES))
        assert built(con, tmp_path, "half", "x / 4", "x") == ["marts.shares"]
        assert shares(con)[0][1] == pytest.approx(1 / 6)
        assert built(con, tmp_path, "running", "x", "x", "family") == []
        assert con.execute("select macros.running(7, 1)").fetchall() == [(7,)]


def test_a_change_of_comments_and_layout_rebuilds_nothing(tmp_path: Path) -> None:
    with raw_database() as con:
        project = write_project(tmp_path, FILES)
        build(con, project)
        assert is_current(con, project)
        text = "# Why.\n" + macro_yaml("half", "x /* by */\n/ 2", "x", description="Another.")
        assert not is_current(con, write_project(tmp_path, {"macros/half.yml": text}))
        assert built(con, tmp_path, "half", "x /* by */\n/ 2", "x") == []
        assert is_current(con, read_project(tmp_path))


def test_a_macro_that_left_the_project_is_dropped_by_a_whole_build(tmp_path: Path) -> None:
    with raw_database() as con:
        build(con, write_project(tmp_path, FILES))
        (tmp_path / "macros" / "running.yml").unlink()
        project = read_project(tmp_path)
        build(con, project, select=["plain"])
        con.execute("select macros.running(1, 1)")
        build(con, project)
        with pytest.raises(duckdb.CatalogException):
            con.execute("select macros.running(1, 1)")
        assert con.execute("select name from meta.macros order by 1").fetchall() == [
            ("macros.half",),
            ("macros.share",),
            ("macros.spread",),
        ]
        assert is_current(con, project)


def test_the_macro_of_a_workspace_replaces_the_packaged_one_with_its_tests(tmp_path: Path) -> None:
    half_width = "      - {name: t, given: [{standard_error: 2, t_95: 3}], expect: [2]}\n"
    write_project(
        tmp_path / "sql",
        {
            "macros/a.yml": macro_yaml("normal_95", "cast(2 as double)") + macro_yaml("mine", "1").partition("\n")[2],
            "macros/z.yml": macro_yaml(
                "t_half_width", "standard_error", "standard_error", "t_95", more=f"    unit_tests:\n{half_width}"
            ),
        },
    )
    project = load_project(Workspace(tmp_path).files("sql", "**/*"))
    assert project.macros["macros.normal_95"].expression == "cast(2 as double)"
    assert project.macros["macros.mine"].file == tmp_path / "sql" / "macros" / "a.yml"
    assert "macros.wilson_low" in project.macros
    found = [test for test in project.macro_tests if test.tested == "macros.t_half_width"]
    assert [(test.test.name, test.file) for test in found] == [("t", tmp_path / "sql" / "macros" / "z.yml")]


def test_rows_of_changed_runs_are_made_with_the_warehouse_s_macros(tmp_path: Path) -> None:
    files = FILES | {
        "marts/by_run.sql": """
            select run_tag, macros.share(count(*), 6) as share from staging.stg_debates group by run_tag
            """,
        "marts/r.yml": """
            models:
              - name: by_run
                description: R.
                config: {materialized: table, incremental_by: run_tag}
                columns: [{name: run_tag, description: R.}, {name: share, description: S.}]
            """,
    }
    project = write_project(tmp_path, files)
    with raw_database() as con:
        con.execute("create schema meta; create table meta.landings (run_tag varchar, content_sha256 varchar)")
        con.execute("insert into meta.landings values ('r1', 'one')")
        build(con, project)
        con.execute("update marts.by_run set share = -1")
        con.execute("insert into raw.debates (run_tag, debate_id) values ('r2', 'd1'), ('r2', 'd2'), ('r2', 'd3')")
        con.execute("insert into meta.landings values ('r2', 'two')")
        build(con, project)
        assert con.execute("from marts.by_run order by all").fetchall() == [("r1", -1.0), ("r2", 0.5)]
        assert con.execute("select current_setting('search_path')").fetchall() == [("",)]


def test_macros_that_have_not_changed_are_not_parsed_again(tmp_path: Path) -> None:
    with raw_database(str(tmp_path / "w.duckdb")) as con:
        build(con, write_project(tmp_path / "sql", FILES))
    code = (
        "import sys; from pathlib import Path; import duckdb; sys.path.insert(0, sys.argv[3])\n"
        "from debatebench.transform.build import build; from debatebench.transform.parse_cache import recall_parsed\n"
        "from sql_project import read_project; project = read_project(Path(sys.argv[1]))\n"
        "con = duckdb.connect(sys.argv[2]); recall_parsed(con)\n"
        "built = build(con, project, full_refresh=True).built; shares = con.execute('from marts.shares').fetchall()\n"
        "print(len(built), len(shares), project.macros['macros.half'].expression, 'sqlglot' in sys.modules)\n"
        "con.close()"
    )
    places = [str(tmp_path / "sql"), str(tmp_path / "w.duckdb"), str(SUPPORT)]
    done = subprocess.run([sys.executable, "-c", code, *places], capture_output=True, text=True)
    assert (done.stdout, done.stderr) == ("3 3 x / 2 False\n", "")


def test_the_text_of_a_macro_is_not_a_sql_model(tmp_path: Path) -> None:
    project = write_project(tmp_path, FILES)
    assert project.models
    text = "create macro spread(x) as max(x) - min(x)"
    said = refusal(
        tmp_path, MACROS | {"marts/spread.sql": text, "marts/s.yml": "models: [{name: spread, description: S.}]"}
    )
    assert "contains a statement that is not a query" in said


def test_a_query_of_a_person_may_call_macros_and_nothing_else_that_reads(tmp_path: Path) -> None:
    with raw_database(str(tmp_path / "w.duckdb")) as con:
        build(con, write_project(tmp_path / "sql", FILES))
    assert run_query(tmp_path / "w.duckdb", "select macros.share(1, 4) as x").rows == [(0.25,)]
    with pytest.raises(UsageError, match="exactly one SELECT"):
        run_query(tmp_path / "w.duckdb", "create macro macros.more(x) as x")


# --- tests ------------------------------------------------------------------------------------------------------------


def with_test(name: str, test: str) -> dict[str, str]:
    """A macro of `MACROS` with a unit test."""
    file = f"macros/{name}.yml"
    return {file: MACROS[file] + f"    unit_tests:\n      - {{name: t, {test}}}\n"}


def results(folder: Path, name: str, test: str, **options: list[str]) -> list[TestResult]:
    return run_unit_tests(write_project(folder, FILES | with_test(name, test)), **options)


@pytest.mark.parametrize(
    ("name", "test"),
    [
        ("share", "given: [{part: 1, whole: 4}], expect: [0.25]"),
        ("share", "given: [{part: 1, whole: 0}, {part: 1, whole: 4}], expect: [null, 0.25]"),
        ("share", "given: [{part: 1}], expect: [null]"),
        ("spread", "given: [{x: 3}, {x: 9}, {x: 4}], expect: [6]"),
        ("spread", "given: [{x: 3}], expect: [0]"),
        ("running", "given: [{x: 3, family: a}, {x: 1, family: a}, {x: 5}], expect: [4, 1, 5]"),
    ],
)
def test_values_are_those_expected_by_row_or_for_all_rows(tmp_path: Path, name: str, test: str) -> None:
    (result,) = results(tmp_path, name, test)
    assert (result.status, result.message, result.model[:7], result.kind) == ("pass", "", "macros.", "unit")


@pytest.mark.parametrize(
    ("name", "test", "status", "message"),
    [
        ("half", "given: [{x: 1}], expect: [0.6]", "fail", "0.5 instead of 0.6"),
        (
            "half",
            "given: [{x: 1}, {x: 2}], expect: [0.5, 2]",
            "fail",
            "1.0 instead of 2.0 for {'x': 2}",
        ),
        (
            "half",
            "given: [{x: 1}, {x: 2}], expect: [0.5]",
            "fail",
            "the result has 2 values, but 1 are expected",
        ),
        ("half", "given: [{x: much}], expect: [0.5]", "error", "much"),
        ("half", "given: [{x: 1}], expect: [much]", "error", "much"),
    ],
)
def test_a_failure_says_what_came_instead(tmp_path: Path, name: str, test: str, status: str, message: str) -> None:
    (result,) = results(tmp_path, name, test)
    assert (result.status, result.failures) == (status, 1 if status == "fail" else 0)
    assert message in result.message


def test_an_argument_without_a_description_fails_the_description(tmp_path: Path) -> None:
    yaml = "macros: [{name: m, description: M., arguments: [{name: x, type: double}], sql: x}]"
    project = write_project(tmp_path, FILES | {"macros/m.yml": yaml})
    with raw_database() as con:
        build(con, project)
        found = {each.name: each for each in run_data_tests(con, project)}
    assert found["description_macros.half"].status == "pass"
    described = found["description_macros.m"]
    assert (described.status, described.message) == ("fail", "x is not described")


def test_a_selection_tests_the_macros_that_it_calls(tmp_path: Path) -> None:
    test = "half", "given: [{x: 1}], expect: [0.5]"
    assert [each.name for each in results(tmp_path, *test, select=["shares"])] == ["t"]
    assert results(tmp_path, *test, select=["plain"]) == []
    project = read_project(tmp_path)
    with raw_database() as con:
        build(con, project)
        named = [each.name for each in run_data_tests(con, project, ["shares"]) if "macros." in each.name]
    assert sorted(named) == ["description_macros.half", "description_macros.share", "description_macros.spread"]


def test_unit_tests_of_models_and_data_tests_can_call_macros(tmp_path: Path) -> None:
    yaml = """
        models:
          - name: shares
            description: How often each side won.
            columns:
              - {name: winner, description: Who won., data_type: varchar}
              - name: share
                description: Share of debates.
                data_type: double
                data_tests: [{expression_is_true: {expression: "= macros.share(1, 3)"}}]
              - {name: spread, description: Of places., data_type: bigint}
          - name: plain
            description: How many.
            columns:
              - {name: winner, description: Who won., data_type: varchar}
              - {name: debates, description: How many., data_type: bigint}
        unit_tests:
          - name: a_third
            model: shares
            given: [{input: staging.stg_debates, rows: [{winner: pro, source_position: 1}]}]
            expect: {rows: [{winner: pro, share: 0.333333333333, spread: 0}]}
        """
    singular = "select * from marts.shares where macros.half(share) > 1"
    project = write_project(tmp_path, FILES | {"marts/m.yml": yaml, "tests/no_share_above_two.sql": singular})
    assert [(each.name, each.status) for each in run_unit_tests(project)] == [("a_third", "pass")]
    with raw_database() as con:
        build(con, project)
        found = {each.name: each.status for each in run_data_tests(con, project)}
    assert found["expression_is_true_marts.shares_share"] == "pass"
    assert found["no_share_above_two"] == "pass"


# --- written out ------------------------------------------------------------------------------------------------------

HARD = MACROS | {
    "macros/weighed.yml": macro_yaml(
        "weighed",
        """-- Names that callers use as well: i, j.
list_sum(
    list_transform(
        range(0, n), -- from 0
        lambda i, j: i * weight + {'i': i}.i + struct_pack(i := j).i * 0
    )
)""",
        "n",
        "weight",
    ),
}
NUMBERS = "(select 7 as i, 1 as j, 3 as weight, 2 as n)"


@pytest.mark.parametrize(
    "sql",
    [
        "select macros.half(i + 1) as x from " + NUMBERS,
        "select macros.half(-1) - macros.half(- i) as x from " + NUMBERS,
        "select Macros . Share( macros.half(i),\n (j) ) as x from " + NUMBERS,
        "select macros.share(i, case when j > 0 then j + 1 else 0 end) * 2 as x from " + NUMBERS,
        "select macros.weighed(n, i) as x, macros.weighed(n, i + j * weight) as y from " + NUMBERS,
        "select macros.weighed(i, macros.weighed(n, i)) as x from " + NUMBERS,
        "select list_transform([1, 2], lambda i: macros.weighed(i, i)) as x",
        "select macros.running(t.a, (t.b, 1)) as x from (values (1, 1), (2, 1), (3, 2)) as t (a, b) order by x",
        "select macros.spread(a * 2) + 1 as x from (values (1, 1), (2, 1), (3, 2)) as t (a, b) group by b order by x",
        "select macros.half((select max(i) from " + NUMBERS + ")) as x",
    ],
)
def test_a_query_gives_the_same_with_macros_written_out(tmp_path: Path, sql: str) -> None:
    macros = write_project(tmp_path, HARD).macros
    with duckdb.connect() as plain, duckdb.connect() as con:
        create_macros(con, macros)
        written = expand(sql, macros)
        assert "macros." not in written.lower()
        assert plain.execute(written).fetchall() == con.execute(sql).fetchall()


def test_a_variable_of_a_lambda_is_never_taken_for_one_of_the_caller(tmp_path: Path) -> None:
    with duckdb.connect() as con:
        create_macros(con, write_project(tmp_path, HARD).macros)
        found = con.execute("select list_transform([1, 2], lambda i: macros.weighed(i, i))").fetchall()
    # For 2: 0 * 2 + 0, and 1 * 2 + 1.
    assert found == [([0, 3],)]


def test_all_but_the_calls_stays_as_it_is_written(tmp_path: Path) -> None:
    macros = write_project(tmp_path, MACROS).macros
    sql = "-- macros.half(1)\nselect\n    macros.half(\n        x\n    ) as y, -- of x\n    'macros.half(2)' as z"
    assert expand(sql, macros) == "-- macros.half(1)\nselect\n    (x / 2) as y, -- of x\n    'macros.half(2)' as z"
    assert expand("select 1 as macros", macros) == "select 1 as macros"
    assert expand("> macros.share(y + 1, 3)", macros) == "> (((y + 1) / 2) * 2 / nullif(3, 0))"


def test_lineage_follows_the_arguments_and_shows_the_call(tmp_path: Path) -> None:
    project = write_project(tmp_path, FILES)
    spread = column_lineage(project, "marts.shares.spread")
    assert spread.expression == "macros.spread(source_position)"
    assert [node.name for node in spread.upstream] == ["staging.stg_debates.source_position"]
    share = column_lineage(project, "marts.shares.share")
    assert (share.expression, share.line) == ("macros.share(count(*), 3)", 4)
    assert [node.name for node in share.upstream] == ["rows of staging.stg_debates"]


def test_lineage_follows_windows_in_macros_through_ctes_and_queries_in_arguments(tmp_path: Path) -> None:
    sql = """
        with sums as (
            select debate_id, macros.running(source_position, (run_tag, winner)) as so_far from staging.stg_debates
        )
        select debate_id, macros.half(so_far) + (select max(run_tag) from staging.stg_debates) as x from sums
        """
    files = {"marts/a.sql": sql, "marts/a.yml": "models: [{name: a, description: A.}]"}
    node = column_lineage(write_project(tmp_path, STAGING | MACROS | files), "marts.a.x")
    assert node.expression == "macros.half(so_far) + (select max(run_tag) from staging.stg_debates)"
    assert {each.name for each in node.nodes() if each.is_in_raw} == {
        "raw.debates.source_position",
        "raw.debates.run_tag",
        "raw.debates.recorded_winner",
    }


def test_the_documentation_has_every_macro_and_what_calls_it(tmp_path: Path) -> None:
    project = write_project(tmp_path, FILES | with_test("half", "given: [{x: 1}], expect: [0.5]"))
    described = {each.key: each for each in describe_macros(project)}
    half, share = described["macros.half"], described["macros.share"]
    assert half.edges == (("Called by", (("macros.share", "macros.share"),)),)
    assert dict(share.edges)["Called by"] == (("marts.shares", "marts.shares"),)
    assert dict(share.edges)["Calls"] == (("macros.half", "macros.half"),)
    assert [name for name, _ in half.unit_tests] == ["t"]
    page = render_docs(project, Workspace(tmp_path).files("reports", "**/*"), date(2026, 1, 1))
    assert 'id="macros.half"' in page
    assert "macros.share(part, whole)" in page
    assert "From the least to the greatest." in page
    assert "The x of half." in page
    assert "max(x) - min(x)" in page
    calls = page.partition('id="marts.shares"')[2].partition("<section")[0]
    assert '<a href="#macros.share">macros.share</a>' in calls


def test_a_project_without_macros_has_a_page_without_them(tmp_path: Path) -> None:
    page = render_docs(write_project(tmp_path, STAGING), Workspace(tmp_path).files("reports", "**/*"), date(2026, 1, 1))
    assert "#macros" not in page


def test_a_dbt_project_has_formulas_instead_of_macros(tmp_path: Path) -> None:
    project = write_project(tmp_path, FILES)
    names = dbt_names(project.models, project.macros)
    text = dbt_sql(project.models["marts.shares"].query.sql, names)
    assert "(((count(*)) / 2) * 2 / nullif(3, 0)) as share," in text
    assert "(max(source_position) - min(source_position)) as spread\n\nfrom {{ ref('stg_debates') }}" in text
    plain = project.models["marts.plain"].query.sql
    assert dbt_sql(plain, names) == plain.replace("staging.stg_debates", "{{ ref('stg_debates') }}") + "\n"


@pytest.mark.parametrize(
    ("test", "expected"),
    [
        (
            {"expression_is_true": {"expression": "<= macros.half(2)"}},
            {"expression_is_true": {"arguments": {"expression": "<= (2 / 2)"}}},
        ),
        (
            {"range": {"min": "macros.half(x)", "where": "macros.half(x) > 0"}},
            {"range": {"arguments": {"min": "(x / 2)"}, "config": {"where": "(x / 2) > 0"}}},
        ),
    ],
)
def test_data_tests_of_a_dbt_project_have_them_as_well(tmp_path: Path, test: dict[str, Any], expected: Any) -> None:
    project = write_project(tmp_path, FILES)
    names = dbt_names(project.models, project.macros)
    assert data_tests([parse_generic_test(test)], "share", names) == [expected]


def test_versions_are_compared_with_their_macros(tmp_path: Path) -> None:
    files = STAGING | MACROS
    files |= {
        "marts/rate_v1.sql": "select debate_id, macros.half(source_position) as rate from staging.stg_debates",
        "marts/rate_v2.sql": "select debate_id, macros.half(source_position) + 1 as rate from staging.stg_debates",
        "marts/r.yml": """
            models:
              - name: rate
                description: R.
                versions: [{v: 1}, {v: 2}]
                columns: [{name: debate_id, description: D., data_tests: [unique]}, {name: rate, description: R.}]
            """,
    }
    project = write_project(tmp_path / "sql", files)
    with raw_database(str(tmp_path / "w.duckdb")) as con:
        con.execute("create schema meta; create table meta.landings (run_tag varchar, content_sha256 varchar)")
        build(con, project)
    assert diff_model(tmp_path / "w.duckdb", project, "rate", 1, 2).columns_changed == {"rate": 3}
    # What is not built yet is computed from its SQL.
    changed = write_project(tmp_path / "sql", {"macros/half.yml": macro_yaml("half", "x / 4", "x")})
    diff = diff_model(tmp_path / "w.duckdb", changed, "rate", 1, 2)
    assert [row.cells()[0][1:] for row in diff.rows] == [(0.0, 1.0), (0.25, 1.25), (0.5, 1.5)]


def test_macros_are_completed(tmp_path: Path) -> None:
    with raw_database() as con:
        build(con, write_project(tmp_path, FILES))
        names = read_macros(con)
    assert names == ("macros.half", "macros.running", "macros.share", "macros.spread")
    completions = Completions({}, names)
    assert completions.candidates("mac", "select ") == ["macros."]
    assert completions.candidates("macros.s", "select ") == ["macros.share(", "macros.spread("]
