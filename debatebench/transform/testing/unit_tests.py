"""Run unit tests: given rows → expected rows of one SQL model, given arguments → expected values of one macro.

They run in a separate in-memory database.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import date, datetime
from datetime import time as time_of_day
from decimal import Decimal
from functools import partial
from typing import TYPE_CHECKING, Any

import duckdb

from debatebench.shared.activity import each_of
from debatebench.shared.amounts import did_you_mean
from debatebench.shared.duckdb_sql import NO_EXTENSIONS, close_to_outside, quoted_identifier
from debatebench.shared.errors import SqlModelError
from debatebench.transform.contracts import actual_columns
from debatebench.transform.create_macros import create_macros
from debatebench.transform.macros import Macro, select_macros
from debatebench.transform.one_query import execute_one
from debatebench.transform.project import Project
from debatebench.transform.sql_model import SqlModel
from debatebench.transform.testing.data_tests import TestResult, run_test

if TYPE_CHECKING:
    from debatebench.transform.properties import LocatedTest, MacroTest, UnitTest

Row = tuple[Any, ...]

# No macro has an argument of this name.
_PLACE = "row of the test"

# The rows that the tested SQL model gives.
_FOUND = '"rows that were found"'


def run_unit_tests(project: Project, select: Sequence[str] | None = None) -> list[TestResult]:
    """Run the unit tests of all SQL models, or of those that `select` matches (see `graph.select_models`), and of the
    macros that they call.

    Each input of the SQL model is a table with the given rows; its columns and types are those of the raw table or of
    the `data_type`s in the YAML; columns left out of a row are null; an input left out is empty. Only columns of the
    expected rows are compared, in any order of rows, doubles to nine digits.
    """
    models, functions = project.models, project.domain.functions
    chosen = set(project.select(select))
    units = [unit for unit in project.unit_tests if unit.tested in chosen]
    # A few rows are not worth a second thread.
    with duckdb.connect(":memory:", config={"threads": 1, "temp_directory": "", **NO_EXTENSIONS}) as con:
        close_to_outside(con)
        called = {function for unit in units for function in models[unit.tested].query.functions}
        functions.register(con, functions.python_functions(called))
        create_macros(con, project.macros)
        tested = {macro.name for macro in select_macros(project.macros, models, None if select is None else chosen)}
        called_macros = [unit for unit in project.macro_tests if unit.tested in tested]
        return [
            *(
                _run(con, unit, partial(_wrong_values, con, unit, project.macros[unit.tested]))
                for unit in each_of("Testing macros", called_macros)
            ),
            *(
                _run(con, unit, partial(_wrong_rows, con, unit, project))
                for unit in each_of("Running unit tests", units)
            ),
        ]


def _run(
    con: duckdb.DuckDBPyConnection,
    unit: LocatedTest[UnitTest] | LocatedTest[MacroTest],
    differences: Callable[[], tuple[int, str]],
) -> TestResult:
    """Run one test in a transaction that is rolled back, so that the next one starts with an empty database.

    `differences` returns the number of differences from what is expected, and their text.
    """

    def difference() -> Mapping[str, Any]:
        con.execute("begin")
        try:
            count, text = differences()
        finally:
            con.execute("rollback")
        return {"status": "fail", "failures": count, "message": text} if count else {}

    return run_test(TestResult(unit.test.name, "unit", unit.tested, unit.file, "pass"), difference)


def _wrong_rows(con: duckdb.DuckDBPyConnection, unit: LocatedTest[UnitTest], project: Project) -> tuple[int, str]:
    """The number of rows that are missing or not expected, and which they are."""
    model = project.models[unit.tested]
    _create_inputs(con, unit, model, project)
    missing, surplus, columns = _compare(con, unit, model)
    return len(missing) + len(surplus), _diff(missing, surplus, columns)


def _wrong_values(con: duckdb.DuckDBPyConnection, unit: LocatedTest[MacroTest], macro: Macro) -> tuple[int, str]:
    """The number of values that differ from the expected ones, and which they are."""
    types = {argument.name: argument.type for argument in macro.properties.arguments}
    given, expected = unit.test.given, unit.test.expect
    rows = [{_PLACE: place} | row for place, row in enumerate(_complete(given, list(types), macro.name))]
    typed = _typed_rows({_PLACE: "bigint"} | types)
    execute_one(con, typed, macro.file, [_to_json(rows)], into="create table given as ")
    # One value for each row, in row order; or one value for all rows, if the macro aggregates.
    is_by_row = len(expected) == len(given) > 1
    call = f"select {macro.name}({', '.join(map(quoted_identifier, macro.parameters))}) as value from given"
    query = f"{call} order by {quoted_identifier(_PLACE)}" if is_by_row else call
    found = con.execute(query).fetchall()
    types = actual_columns(con, f"({call})")
    wanted = con.execute(_typed_rows(types), [_to_json([{"value": value} for value in expected])]).fetchall()
    if len(found) != len(wanted):
        return 1, f"the result has {len(found)} values, but {len(wanted)} are expected"
    wrong = [(place, *pair) for place, pair in enumerate(zip(found, wanted, strict=True)) if not _same(*pair)]
    lines = [
        f"{_cell(came[0])} instead of {_cell(hoped[0])}{f' for {given[place]}' if is_by_row else ''}"
        for place, came, hoped in wrong
    ]
    return len(wrong), "\n".join(lines)


def _create_inputs(
    con: duckdb.DuckDBPyConnection, unit: LocatedTest[UnitTest], model: SqlModel, project: Project
) -> None:
    """Create every table that the SQL model reads, under the name that the SQL model uses."""
    given = {entry.input.lower(): entry.rows for entry in unit.test.given}
    for name in model.dependencies:
        types = _input_types(name, project)
        file = project.models[name].properties_file if name in project.models else model.file
        rows = _complete(given.get(name, ()), list(types), name)
        con.execute(f"create schema if not exists {name.partition('.')[0]}")
        execute_one(con, _typed_rows(types), file, [_to_json(rows)], into=f"create table {name} as ")


def _input_types(name: str, project: Project) -> Mapping[str, str]:
    """Column → type of a raw table or SQL model."""
    if name not in project.models:
        return {column: landed.data_type for column, landed in project.domain.tables[name].items()}
    model = project.models[name]
    columns = model.properties.columns
    untyped = [column.name for column in columns if column.data_type is None]
    if untyped or not columns:
        raise SqlModelError(
            f"The input {name} needs a `data_type` for {', '.join(untyped) or 'its columns'} "
            f"in {model.properties_file.name}."
        )
    return {column.name: str(column.data_type) for column in columns}


def _complete(rows: Iterable[Mapping[str, Any]], columns: Sequence[str], where: str) -> list[dict[str, Any]]:
    """The rows with every column, null where the YAML omits it. An unknown column is refused."""
    known = {column.lower(): column for column in columns}
    complete = []
    for row in rows:
        for name in row:
            if name.lower() not in known:
                raise SqlModelError(f"{where} has no column '{name}'.{did_you_mean(name, columns)}")
        complete.append(dict.fromkeys(columns) | {known[name.lower()]: value for name, value in row.items()})
    return complete


def _typed_rows(types: Mapping[str, str]) -> str:
    """A query that makes rows of these types from one parameter, a JSON list of objects."""
    fields = ", ".join(f"{quoted_identifier(column)} {sql_type}" for column, sql_type in types.items())
    return f"select unnest(cast(?::json as struct({fields})[]), max_depth := 2)"


def _to_json(rows: Sequence[Mapping[str, Any]]) -> str:
    """JSON text of rows from YAML, in which dates are date objects."""
    return json.dumps(rows, default=str)


def _compare(
    con: duckdb.DuckDBPyConnection, unit: LocatedTest[UnitTest], model: SqlModel
) -> tuple[list[Row], list[Row], tuple[str, ...]]:
    """(expected rows that are missing, rows that are not expected, compared columns)."""
    # In a table, so that DuckDB plans the query once for its types and its rows.
    execute_one(con, f"select * from (\n{model.query.sql}\n)", model.file, into=f"create temp table {_FOUND} as ")
    types = actual_columns(con, _FOUND)
    expected = unit.test.expect.rows
    named = {name.lower() for row in expected for name in row}
    _complete(expected, list(types), model.name)
    compared = {column: sql_type for column, sql_type in types.items() if not expected or column.lower() in named}
    rows = _complete(expected, list(compared), model.name)
    wanted = con.execute(_typed_rows(compared), [_to_json(rows)]).fetchall()
    names = ", ".join(quoted_identifier(column) for column in compared)
    surplus = con.execute(f"select {names} from {_FOUND}").fetchall()
    missing = []
    for row in wanted:
        match = next((i for i, other in enumerate(surplus) if _same(row, other)), None)
        if match is None:
            missing.append(row)
        else:
            del surplus[match]
    return missing, surplus, tuple(compared)


def _same(left: Any, right: Any) -> bool:
    """Equality, with doubles compared to nine digits, also inside lists and structs."""
    if isinstance(left, float) and isinstance(right, float):
        return math.isclose(left, right, rel_tol=1e-9, abs_tol=1e-12) or (math.isnan(left) and math.isnan(right))
    if isinstance(left, list | tuple) and isinstance(right, list | tuple):
        return len(left) == len(right) and all(map(_same, left, right))
    if isinstance(left, dict) and isinstance(right, dict):
        return left.keys() == right.keys() and all(_same(left[key], right[key]) for key in left)
    return bool(left == right)


def _diff(missing: Sequence[Row], surplus: Sequence[Row], columns: Sequence[str]) -> str:
    """`-` rows are expected but missing, `+` rows are present but not expected."""
    rows = [("-", row) for row in missing] + [("+", row) for row in surplus]
    cells = [["", *columns], *([sign, *map(_cell, row)] for sign, row in rows)]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    return "\n".join(
        "  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip() for line in cells
    )


def _cell(value: Any) -> str:
    if value is None:
        return "null"
    if isinstance(value, Decimal):
        return f"{value.normalize():f}"
    if isinstance(value, datetime | date | time_of_day):
        return value.isoformat()
    return str(value)
