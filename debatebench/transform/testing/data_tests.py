"""Run data tests against a built warehouse: every test is a query, and its rows are failures."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from textwrap import indent
from typing import Any, Literal

import duckdb

from debatebench.shared.activity import doing
from debatebench.shared.errors import SqlModelError
from debatebench.shared.files import shown_path
from debatebench.shared.memory import check_memory
from debatebench.shared.visible_text import visible
from debatebench.transform.broken import broken_among
from debatebench.transform.build_state import relations
from debatebench.transform.contracts import actual_columns, columns_of_all, contract_breaches, description_gaps
from debatebench.transform.lineage.descriptions import Descriptions, descriptions_of
from debatebench.transform.macros import Macro, select_macros
from debatebench.transform.one_query import check_query, execute_one
from debatebench.transform.project import Project
from debatebench.transform.sql_model import SingularTest, SqlModel
from debatebench.transform.stored_views import stored_views
from debatebench.transform.testing.generic_tests import Finite, GenericTest, uncertainty_tests

_SHOWN_ROWS = 5
_DOTTED = re.compile(r"\b\w+\.\w+\b")


@dataclass(frozen=True, slots=True)
class TestResult:
    """The result of one test. `query` returns the failing rows; `rows` are the first of them.

    `status`: `pass`, `fail`, `warn` (failed, but its severity is `warn`) or `error` (the test could not run).
    """

    __test__ = False  # not a class of tests, although its name looks like one to pytest

    name: str
    kind: str
    model: str | None
    file: Path
    status: Literal["pass", "fail", "warn", "error"]
    failures: int = 0
    message: str = ""
    query: str | None = None
    columns: tuple[str, ...] = ()
    rows: tuple[tuple[Any, ...], ...] = ()
    seconds: float = 0.0

    def __str__(self) -> str:
        """The name and, if the test did not pass, everything that helps to find out why, indented."""
        heading = visible(f"{self.status.upper()} {self.name} ({shown_path(self.file)})")
        if self.status == "pass":
            return heading
        details = [self.message, self.query or ""]
        if self.rows:
            details += [visible(" | ".join(self.columns))]
            details += [" | ".join(_cell(value) for value in row) for row in self.rows]
        shown = (visible(text, keep_lines=True) for text in details if text)
        return "\n".join([heading, *(indent(text, "  ") for text in shown)])


def _cell(value: Any) -> str:
    """A value on one short line."""
    text = "null" if value is None else visible(" ".join(str(value).split()))
    return text if len(text) <= 80 else text[:77] + "..."


def run_test(result: TestResult, difference: Callable[[], Mapping[str, Any]]) -> TestResult:
    """Run one test. `result` is that of a pass, and `difference` returns what is different, if anything."""
    started = time.perf_counter()
    try:
        found = difference()
    except (duckdb.Error, SqlModelError) as error:
        check_memory(error)
        found = {"status": "error", "message": " ".join(str(error).split("\n\n")[0].split())}
    return replace(result, **found, seconds=time.perf_counter() - started)


def failed(problems: Sequence[str]) -> dict[str, Any]:
    """What is different in the result of a test that found these problems."""
    return {"status": "fail", "failures": len(problems), "message": "\n".join(problems)} if problems else {}


def broken_results(project: Project, select: Sequence[str] | None = None) -> list[TestResult]:
    """One result for each error of the files of all SQL models, or of those that `select` matches."""
    broken = project.broken if select is None else broken_among(project.broken, select)
    # Each error once, under the first name that has it.
    first = {id(error): name for name, error in reversed(list(broken.items()))}
    return [
        TestResult(name, "file", name, Path("sql"), "error", message=broken[name].message)
        for name in sorted(first.values())
    ]


def unbuilt_models(con: duckdb.DuckDBPyConnection, project: Project, select: Sequence[str] | None = None) -> list[str]:
    """The SQL models, of all or of those that `select` matches, that are not in the warehouse."""
    there = relations(con)
    return [name for name in project.select(select) if name not in there]


def run_data_tests(
    con: duckdb.DuckDBPyConnection, project: Project, select: Sequence[str] | None = None
) -> list[TestResult]:
    """Run the tests of all SQL models, or of those that `select` matches (`graph.select_models`), and singular tests.

    Besides the tests in the YAML, each SQL model is checked for its enforced contract, for numbers that are NaN or
    infinite, for intervals without width and nulls without a reason (`uncertainty_tests`), for its description (every
    column is described and well named, every described column exists, and the types are as written), and for its
    questions: their SQL reads the SQL model and fits its columns. Each macro that they call must have all its arguments
    described. A singular test runs when everything is selected, or when it
    reads a selected SQL model. Only reads; needs a built warehouse.
    """
    models = project.models
    chosen = project.select(select)
    columns = columns_of_all(con)
    tests: list[_Test] = []
    for name in chosen:
        if models[name].alias_of is None:
            tests += _structure_tests(models[name], columns.get(name), descriptions_of(project))
        if models[name].version is None:
            tests += _question_tests(models[name])
        tests += _generic_tests(models[name], columns.get(name, {}))
    tests += [
        _singular_test(singular)
        for singular in project.singular_tests
        if select is None or any(reference.name in chosen for reference in singular.query.references)
    ]
    alike: dict[frozenset[str], list[int]] = {}
    for number, test in enumerate(tests):
        alike.setdefault(test.reads, []).append(number)
    results: dict[int, TestResult] = {}
    with stored_views(con, list(alike)) as views:
        for reads, numbers in alike.items():
            doing("Testing the warehouse", len(results), len(tests))
            with views.ready(reads):
                results |= {number: _run(tests[number], views.con, con) for number in numbers}
    macros = select_macros(project.macros, models, None if select is None else chosen)
    return [*map(_macro_description, macros), *(results[number] for number in range(len(tests)))]


def _macro_description(macro: Macro) -> TestResult:
    """Whether the YAML describes every argument."""
    described = {argument.name for argument in macro.properties.arguments if argument.description}
    silent = [f"{parameter} is not described" for parameter in macro.parameters if parameter not in described]
    result = TestResult(f"description_{macro.name}", "description", macro.name, macro.file, "pass")
    return replace(result, **failed(silent))


@dataclass(frozen=True, slots=True)
class _Test:
    """A test that can run. `result` is the result of a pass; `failure` is what a failure changes, which may be nothing.

    `reads` are the dotted names of what it reads.
    """

    result: TestResult
    reads: frozenset[str]
    failure: Callable[[duckdb.DuckDBPyConnection], dict[str, Any]]


def _run(test: _Test, stored: duckdb.DuckDBPyConnection, con: duckdb.DuckDBPyConnection) -> TestResult:
    """Run one test on the stored rows. A test that fails to run there runs on the warehouse itself, for its message."""

    def difference() -> Mapping[str, Any]:
        try:
            return test.failure(stored)
        except duckdb.Error:
            return test.failure(con)

    return run_test(test.result, difference)


def _structure_tests(model: SqlModel, columns: Mapping[str, str] | None, descriptions: Descriptions) -> Iterator[_Test]:
    """The tests of one SQL model's description and, if it is enforced, of its contract.

    `columns` are those that it has in the warehouse; None if it is not there.
    """
    yield _structure_test(model, "description", partial(description_gaps, descriptions=descriptions), columns)
    if model.properties.config.contract.enforced:
        yield _structure_test(model, "contract", contract_breaches, columns)


def _structure_test(
    model: SqlModel, kind: str, problems: Callable[..., list[str]], columns: Mapping[str, str] | None
) -> _Test:
    def failure(con: duckdb.DuckDBPyConnection) -> dict[str, Any]:
        # Of a relation that is not there, DuckDB says so.
        return failed(problems(con, model, actual_columns(con, model.name) if columns is None else columns))

    result = TestResult(f"{kind}_{model.name}", kind, model.name, model.properties_file, "pass")
    return _Test(result, frozenset({model.name}), failure)


def _question_tests(model: SqlModel) -> Iterator[_Test]:
    """Whether DuckDB can plan the SQL of each question; nothing is computed."""
    for number, question in enumerate(model.properties.questions, 1):
        name = f"question_{model.name}_{number}"
        result = TestResult(name, "question", model.name, model.properties_file, "pass", query=question.sql)

        def failure(con: duckdb.DuckDBPyConnection, sql: str = question.sql) -> dict[str, Any]:
            check_query(con, sql, model.properties_file)
            # Drawing the plan as text would take longer than planning.
            con.execute(f"explain (format json) {sql}")
            is_read = re.search(rf"\b{model.name}\b", sql, re.IGNORECASE)
            return failed([] if is_read else [f"the SQL does not read {model.name}"])

        yield _Test(result, frozenset(_DOTTED.findall(question.sql.lower())), failure)


def _generic_tests(model: SqlModel, columns: Collection[str]) -> Iterator[_Test]:
    """The tests of the YAML, one that every number is finite, and those of its intervals and p values."""
    placed = all_placed_tests(model, columns)
    scan = _Scan(model, [test.suspects(column) for test, column in placed])
    for number, (test, column) in enumerate(placed):
        relation = tested_relation(model, test)
        yield _query_test(
            result_of_pass(model, test, column),
            {model.name, *test.compared_with},
            count=test.count_failing_rows(relation, column),
            status="warn" if test.severity == "warn" else "fail",
            passes=partial(scan.passes, number),
        )


def all_placed_tests(model: SqlModel, columns: Collection[str]) -> list[tuple[GenericTest, str | None]]:
    """The tests of the YAML with their columns, and those that need no line; `columns` are those that there are."""
    placed = model.properties.placed_tests
    doubles = tuple(column.name for column in model.properties.columns if column.data_type == "double")
    if doubles and model.alias_of is None:
        placed.append((Finite(columns=doubles), None))
    if model.alias_of is None:
        placed += uncertainty_tests(columns)
    return placed


def tested_relation(model: SqlModel, test: GenericTest) -> str:
    """The rows that a test looks at, as SQL text for FROM."""
    return f"(select * from {model.name} where {test.where})" if test.where else model.name


def result_of_pass(model: SqlModel, test: GenericTest, column: str | None) -> TestResult:
    """The result of a test of the YAML in which no row fails."""
    return TestResult(
        name=test.name or "_".join([test.kind, model.name, *([column] if column else [])]),
        kind=test.kind,
        model=model.name,
        file=model.properties_file,
        status="pass",
        query=test.failing_rows(tested_relation(model, test), column),
    )


class _Scan:
    """One scan for all tests of a SQL model that can share it; each test that may fail then runs alone."""

    def __init__(self, model: SqlModel, suspects: Sequence[str | None]) -> None:
        self._file = model.properties_file
        self._numbers = [number for number, aggregate in enumerate(suspects) if aggregate is not None]
        self._query = f"select {', '.join(filter(None, suspects))} from {model.name}"
        self._passing: set[int] | None = None

    def passes(self, number: int, con: duckdb.DuckDBPyConnection) -> bool:
        """Whether the scan shows that this test passes; if one of the tests is broken, it shows nothing for any."""
        if self._passing is None:
            self._passing = set()
            with suppress(duckdb.Error, SqlModelError):
                found = execute_one(con, self._query, self._file).fetchall()[0] if self._numbers else ()
                self._passing = {n for n, count in zip(self._numbers, found, strict=True) if count == 0}
        return number in self._passing


def _singular_test(test: SingularTest) -> _Test:
    """One query of `tests/`."""
    result = TestResult(test.name, "singular", None, test.file, "pass", query=test.query.sql)
    count = f"select count(*) from (\n{result.query}\n)"
    return _query_test(result, {reference.name for reference in test.query.references}, count=count)


def _query_test(
    result: TestResult,
    reads: Collection[str],
    *,
    count: str,
    status: Literal["fail", "warn"] = "fail",
    passes: Callable[[duckdb.DuckDBPyConnection], bool] | None = None,
) -> _Test:
    """The number of failing rows by the query `count`, and the first of them; none if it `passes` without a query."""

    def failure(con: duckdb.DuckDBPyConnection) -> dict[str, Any]:
        if passes is not None and passes(con):
            return {}
        ((failures,),) = execute_one(con, count, result.file).fetchall()
        if not failures:
            return {}
        cursor = execute_one(con, f"select * from (\n{result.query}\n) limit {_SHOWN_ROWS}", result.file)
        return {
            "status": status,
            "failures": failures,
            "message": f"{failures} failing {'row' if failures == 1 else 'rows'}",
            "columns": tuple(column[0] for column in cursor.description or ()),
            "rows": tuple(cursor.fetchall()),
        }

    return _Test(result, frozenset(reads), failure)
