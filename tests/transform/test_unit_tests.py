"""Unit tests of SQL models: given rows → expected rows."""

from __future__ import annotations

from pathlib import Path
from textwrap import indent

import pytest
from sql_project import STAGING, write_project

from debatebench.shared.errors import SqlModelError
from debatebench.transform.testing.data_tests import TestResult
from debatebench.transform.testing.unit_tests import run_unit_tests

MART = STAGING | {
    "marts/counts_v1.sql": """
        -- One row per winner.
        select run_tag, winner, count(*) as debates, 1 / count(*) as share
        from staging.stg_debates
        group by run_tag, winner
        """,
    "marts/m.yml": """
        models:
          - name: counts
            description: How often each side won.
            versions: [{v: 1}]
            columns:
              - {name: run_tag, description: R., data_type: varchar}
              - {name: winner, description: W., data_type: varchar}
              - {name: debates, description: D., data_type: bigint}
        """,
}


def run(folder: Path, test: str, files: dict[str, str] | None = None, **options: list[str]) -> list[TestResult]:
    """Run the unit tests of a project that has `test` (the text of one `unit_tests` entry) in a file of its own."""
    yaml = "unit_tests:\n" + indent(test.strip("\n"), "  ")
    return run_unit_tests(write_project(folder, MART | (files or {}) | {"marts/unit.yml": yaml}), **options)


def entry(model: str, given: str, expect: str) -> str:
    return f"- name: t\n  model: {model}\n  given: {given}\n  expect: {{rows: {expect}}}\n"


GIVEN = (
    "[{input: staging.stg_debates, rows: "
    "[{run_tag: r, winner: pro}, {run_tag: r, winner: con}, {run_tag: r, winner: pro}]}]"
)


@pytest.mark.parametrize("model", ["counts_v1", "marts.counts_v1", "counts", "marts.counts"])
def test_expected_rows_are_found_in_any_order(tmp_path: Path, model: str) -> None:
    expect = "[{winner: pro, debates: 2}, {winner: con, debates: 1}]"
    (result,) = run(tmp_path, entry(model, GIVEN, expect))
    assert (result.status, result.message, result.model) == ("pass", "", "marts.counts_v1")


def test_a_failure_shows_what_is_missing_and_what_came_instead(tmp_path: Path) -> None:
    expect = "[{winner: pro, debates: 3}, {winner: con, debates: 1}]"
    (result,) = run(tmp_path, entry("counts", GIVEN, expect))
    assert result.status == "fail"
    assert result.message.splitlines() == [
        "   winner  debates",
        "-  pro     3",
        "+  pro     2",
    ]


def test_rows_count_as_often_as_they_come(tmp_path: Path) -> None:
    expect = "[{debates: 2}, {debates: 1}, {debates: 1}]"
    (result,) = run(tmp_path, entry("counts", GIVEN, expect))
    assert result.message.splitlines() == ["   debates", "-  1"]


def test_no_expected_rows_means_that_none_come(tmp_path: Path) -> None:
    assert run(tmp_path, entry("counts", "[]", "[]"))[0].status == "pass"
    (result,) = run(tmp_path, entry("counts", GIVEN, "[]"))
    assert (result.status, result.failures) == ("fail", 2)


def test_columns_left_out_of_given_rows_are_null(tmp_path: Path) -> None:
    given = "[{input: staging.stg_debates, rows: [{run_tag: r}]}]"
    assert run(tmp_path, entry("counts", given, "[{run_tag: r, winner: null, debates: 1}]"))[0].status == "pass"


def test_doubles_are_compared_to_nine_digits(tmp_path: Path) -> None:
    given = "[{input: staging.stg_debates, rows: [{}, {}, {}]}]"
    assert run(tmp_path, entry("counts", given, "[{share: 0.3333333333}]"))[0].status == "pass"
    assert run(tmp_path, entry("counts", given, "[{share: 0.3333}]"))[0].status == "fail"


@pytest.mark.parametrize(
    ("given", "expect", "message"),
    [
        ("[{input: staging.stg_debates, rows: [{winer: pro}]}]", "[]", "staging.stg_debates has no column 'winer'"),
        ("[]", "[{debate: 1}]", "marts.counts_v1 has no column 'debate'. Did you mean 'debates'?"),
        ("[{input: staging.stg_debates, rows: [{source_position: first}]}]", "[]", "first"),
        (GIVEN, "[{debates: many}]", "many"),
    ],
)
def test_rows_that_do_not_fit_are_errors(tmp_path: Path, given: str, expect: str, message: str) -> None:
    (result,) = run(tmp_path, entry("counts", given, expect))
    assert result.status == "error"
    assert message in result.message


def test_an_input_without_types_is_an_error_that_says_which(tmp_path: Path) -> None:
    files = {
        "marts/next.sql": "select * from marts.untyped",
        "marts/untyped.sql": "select 1 as x",
        "marts/n.yml": "models: [{name: next, description: N}, {name: untyped, description: U, columns: [{name: x}]}]",
    }
    (result,) = run(tmp_path, entry("next", "[]", "[]"), files)
    assert (result.status, result.message) == ("error", "The input marts.untyped needs a `data_type` for x in n.yml.")


TYPES = {
    "marts/typed.sql": "select * from marts.source",
    "marts/source.sql": "select 1",
    "marts/t.yml": """
        models:
          - {name: typed, description: T.}
          - name: source
            description: S.
            columns:
              - {name: amount, data_type: 'decimal(18,10)'}
              - {name: day, data_type: date}
              - {name: at, data_type: timestamp}
              - {name: panel, data_type: 'varchar[]'}
              - {name: scores, data_type: 'struct(dimension varchar, pro decimal(18,6))[]'}
              - {name: is_valid, data_type: boolean}
              - {name: config, data_type: json}
        """,
}


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ("{amount: 0.1}", "{amount: '0.1000000000'}"),
        ("{amount: '12345678.0000000001'}", "{amount: '12345678.0000000001'}"),
        ("{day: 2026-01-31}", "{day: '2026-01-31'}"),
        ("{at: 2026-01-31 12:00:00}", "{at: '2026-01-31T12:00:00'}"),
        ("{panel: [a, b]}", "{panel: [a, b]}"),
        ("{scores: [{dimension: logic, pro: 7.5}]}", "{scores: [{dimension: logic, pro: '7.500000'}]}"),
        ("{is_valid: false}", "{is_valid: false}"),
        ("{config: {k: [1, 2]}}", "{config: {k: [1, 2]}}"),
        ("{panel: []}", "{panel: []}"),
    ],
)
def test_values_of_every_type_go_in_and_are_compared_as_what_they_are(
    tmp_path: Path, given: str, expected: str
) -> None:
    test = entry("typed", f"[{{input: marts.source, rows: [{given}]}}]", f"[{expected}]")
    (result,) = run(tmp_path, test, TYPES)
    assert (result.status, result.message) == ("pass", "")


def test_the_last_digit_of_a_decimal_counts(tmp_path: Path) -> None:
    test = entry("typed", "[{input: marts.source, rows: [{amount: '0.0000000001'}]}]", "[{amount: 0}]")
    (result,) = run(tmp_path, test, TYPES)
    assert result.message.splitlines() == ["   amount", "-  0", "+  0.0000000001"]


def test_raw_inputs_have_the_types_of_the_records(tmp_path: Path) -> None:
    given = (
        "[{input: raw.debates, rows: [{run_tag: r, debate_id: d, recorded_winner: pro, "
        "metadata: {a: 1}, dimension_order: [x], created_at: '2026-01-01'}]}]"
    )
    (result,) = run(tmp_path, entry("staging.stg_debates", given, "[{run_tag: r, debate_id: d, winner: pro}]"))
    assert (result.status, result.message) == ("pass", "")


def test_a_model_that_calls_a_python_function_can_be_tested(tmp_path: Path) -> None:
    files = {
        "ratings/r.sql": """
            select elo_ratings(list(source_position), list(1), list(2), list(1.0), 400, 32)[1] as rating
            from staging.stg_debates
            """,
        "ratings/r.yml": "models: [{name: r, description: R., config: {materialized: table}}]",
    }
    test = entry("ratings.r", "[{input: staging.stg_debates, rows: [{source_position: 4}]}]", "[{rating: 416}]")
    assert run(tmp_path, test, files)[0].status == "pass"


def test_a_broken_model_is_an_error(tmp_path: Path) -> None:
    files = {"marts/counts_v1.sql": "select nothing from staging.stg_debates"}
    (result,) = run(tmp_path, entry("counts", "[]", "[]"), files)
    assert result.status == "error"
    assert "nothing" in result.message


def test_only_the_unit_tests_of_what_is_selected_run(tmp_path: Path) -> None:
    tests = entry("counts", "[]", "[]") + entry("staging.stg_debates", "[]", "[]")
    assert [r.model for r in run(tmp_path, tests)] == ["marts.counts_v1", "staging.stg_debates"]
    assert [r.model for r in run(tmp_path, tests, select=["counts"])] == ["marts.counts_v1"]
    assert [r.model for r in run(tmp_path, tests, select=["path:sql/staging"])] == ["staging.stg_debates"]


# --- tables -----------------------------------------------------------------------------------------------------------


def test_rows_may_be_a_table_whose_columns_are_named_once(tmp_path: Path) -> None:
    given = "[{input: staging.stg_debates, every_row: {run_tag: r}, columns: [winner], rows: [[pro], [con], [pro]]}]"
    test = f"""
- name: t
  model: counts
  given: {given}
  expect: {{columns: [winner, debates], rows: [[pro, 2], [con, 1]]}}
"""
    assert run(tmp_path, test)[0].status == "pass"
    (result,) = run(tmp_path / "other", test.replace("[pro, 2]", "[pro, 3]"))
    assert result.message.splitlines()[1:] == ["-  pro     3", "+  pro     2"]


def test_what_every_row_has_is_written_once_for_mappings_too(tmp_path: Path) -> None:
    given = "[{input: staging.stg_debates, every_row: {run_tag: r, winner: pro}, rows: [{}, {winner: con}]}]"
    (result,) = run(tmp_path, entry("counts", given, "[{winner: pro, debates: 1}, {winner: con, debates: 1}]"))
    assert (result.status, result.message) == ("pass", "")


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ("columns: [winner], rows: [[pro], [con, 1]]", "row 2 is not a list of 1 values, one for each of `columns`"),
        ("columns: [winner], rows: [{winner: pro}]", "row 1 is not a list of 1 values, one for each of `columns`"),
        ("every_row: {winner: pro}, rows: [[pro]]", "row 1 is not a mapping; name the columns of lists in `columns`"),
        ("every_row: 1, rows: []", "Input should be a valid dictionary"),
        ("columns: [winner], row: []", "Extra inputs are not permitted"),
    ],
)
def test_a_table_that_does_not_fit_is_refused_by_file_and_line(tmp_path: Path, table: str, message: str) -> None:
    with pytest.raises(SqlModelError, match=r"unit\.yml:\d+: unit_tests\[0\]") as caught:
        run(tmp_path, entry("counts", f"[{{input: staging.stg_debates, {table}}}]", "[]"))
    assert message in str(caught.value)
