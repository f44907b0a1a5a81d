"""Data tests and unit tests of the YAML → dbt's, with `arguments` and complete rows."""

from __future__ import annotations

import ast
import json
from collections.abc import Iterable, Mapping, Sequence
from datetime import date, datetime
from typing import TYPE_CHECKING, Any

from debatebench.output.export.dbt_names import DbtNames
from debatebench.output.export.dbt_sql import without_jinja
from debatebench.shared.record_columns import column_types
from debatebench.shared.records import TABLES
from debatebench.transform.expansion import expand
from debatebench.transform.sql_model import SqlModel
from debatebench.transform.testing.generic_tests import (
    AcceptedValues,
    ExpressionIsTrue,
    GenericTest,
    NotNull,
    Range,
    Relationships,
    RowCount,
    Unique,
    UniqueCombinationOfColumns,
    sql_literal,
)

if TYPE_CHECKING:
    from debatebench.transform.properties import LocatedTest, UnitTest


class FixtureRow(dict[str, Any]):
    """A row of a unit test, written on one line in the YAML."""


def data_tests(tests: Iterable[GenericTest], column: str | None, names: DbtNames) -> list[Any]:
    """The tests as entries of `data_tests`, under a column or (None) under the whole model."""
    return [_data_test(test, column, names) for test in tests]


def _data_test(test: GenericTest, column: str | None, names: DbtNames) -> Any:
    kind, arguments = _call(test, column, names)
    config: dict[str, Any] = {}
    if test.where is not None:
        config["where"] = expand(test.where, names.macros)
    if test.severity != "error":
        config["severity"] = test.severity
    body: dict[str, Any] = {}
    if test.name is not None:
        body["name"] = test.name
    if arguments:
        body["arguments"] = arguments
    if config:
        body["config"] = config
    return {kind: body} if body else kind


def _call(test: GenericTest, column: str | None, names: DbtNames) -> tuple[str, dict[str, Any]]:
    """The equivalent generic test of dbt or our own (`tests/generic/`), with its arguments."""
    match test:
        case Unique() | NotNull():
            return test.kind, {}
        case AcceptedValues():
            if all(isinstance(value, str) and _stays_text(value) for value in test.values):
                return test.kind, {"values": list(test.values)}
            listed = ", ".join(sql_literal(value) for value in test.values)
            return ExpressionIsTrue.kind, {"expression": f"in ({listed})"}
        case Relationships() if column is not None:
            return test.kind, {"to": names.calls[test.to], "field": test.field or column}
        case Relationships():
            here, there = zip(*test.pairs(None), strict=True)
            return "relationships_of_columns", {"to": names.calls[test.to], "columns": [*here], "fields": [*there]}
        case ExpressionIsTrue():
            return test.kind, {"expression": without_jinja(expand(test.expression, names.macros))}
        case Range():
            least, most = (expand(x, names.macros) if isinstance(x, str) else x for x in (test.min, test.max))
            limits = {"min": least, "max": most, "inclusive": None if test.inclusive else False}
            return test.kind, {key: value for key, value in limits.items() if value is not None}
        case RowCount():
            same_as = names.calls[test.same_as] if test.same_as else None
            limits = {"min": test.min, "max": test.max, "same_as": same_as}
            return test.kind, {key: value for key, value in limits.items() if value is not None}
        case UniqueCombinationOfColumns():
            return test.kind, {"combination_of_columns": list(test.combination_of_columns)}
    raise AssertionError(f"{test.kind} has no counterpart in dbt")


def _stays_text(value: str) -> bool:
    """Whether dbt keeps a text unchanged: dbt evaluates text that looks like a Python literal."""
    try:
        ast.literal_eval(value)
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return "'" not in value and "{" not in value and value == value.strip()
    return False


def unit_test(located: LocatedTest[UnitTest], models: Mapping[str, SqlModel], names: DbtNames) -> dict[str, Any]:
    """A unit test as an entry of `unit_tests`. dbt requires every input, and the same keys in all expected rows."""
    test, model = located.test, models[located.tested]
    entry: dict[str, Any] = {"name": test.name, "model": names.models[model.name]}
    if test.description:
        entry["description"] = without_jinja(test.description)
    if model.version is not None:
        entry["versions"] = {"include": [model.version]}
    rows_by_input = {given.input.lower(): given.rows for given in test.given}
    entry["given"] = [
        {"input": names.calls[name], "rows": _rows(rows_by_input.get(name, ()), _types(name, models))}
        for name in model.dependencies
    ]
    expected = test.expect.rows
    keys = list(dict.fromkeys(key for row in expected for key in row))
    complete = [dict.fromkeys(keys) | row for row in expected]
    entry["expect"] = {"rows": _rows(complete, _types(model.name, models))}
    return entry


def _rows(rows: Sequence[Mapping[str, Any]], types: Mapping[str, str]) -> list[FixtureRow]:
    return [FixtureRow({key: _value(value, types.get(key.lower(), "")) for key, value in row.items()}) for row in rows]


def _value(value: Any, sql_type: str) -> Any:
    """A cell that dbt's `cast` converts to the same value: nested values and JSON as JSON text, times as ISO text."""
    if value is None or (isinstance(value, str | bool | int | float) and sql_type.upper() != "JSON"):
        return value
    if isinstance(value, datetime | date):
        return str(value)
    return json.dumps(value, default=str, ensure_ascii=False)


def _types(name: str, models: Mapping[str, SqlModel]) -> Mapping[str, str]:
    """Lower-case column → type of a raw table or SQL model, as far as the YAML gives it."""
    if name not in models:
        return column_types(TABLES[name.partition(".")[2]])
    return {column.name.lower(): column.data_type or "" for column in models[name].properties.columns}
