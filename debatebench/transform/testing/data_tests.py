"""Run data tests against a built warehouse: every test is a query, and its rows are failures."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Literal

from debatebench.shared.files import shown_path
from debatebench.shared.result_formats import visible
from debatebench.transform.build_state import relations
from debatebench.transform.contracts import contract_breaches, description_gaps
from debatebench.transform.graph import select_models
from debatebench.transform.lineage.descriptions import Descriptions
from debatebench.transform.macros import select_macros

if TYPE_CHECKING:
    from pathlib import Path

    import duckdb

    from debatebench.transform.macros import Macro
    from debatebench.transform.project import Project
    from debatebench.transform.sql_model import SingularTest, SqlModel
    from debatebench.transform.testing.generic_tests import GenericTest

__all__ = ["TestResult", "run_data_tests", "unbuilt_models"]

_SHOWN_ROWS = 5


@dataclass(frozen=True, slots=True)
class TestResult:
    """What became of one test. `query` returns the failing rows; `rows` are the first of them.

    `status`: `pass`, `fail`, `warn` (failed, but its severity is `warn`) or `error` (the test could not run).
    """

    __test__ = False  # not a class of tests, whatever pytest makes of its name

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
        """The name and, when the test did not pass, everything that helps to see why."""
        lines = [f"{self.status.upper()} {self.name} ({shown_path(self.file)})"]
        if self.status != "pass":
            lines += [f"  {line}" for line in visible(self.message, keep_lines=True).splitlines()]
            lines += [f"  {self.query}"] if self.query else []
            lines += [f"  {' | '.join(self.columns)}"] if self.rows else []
            lines += [f"  {' | '.join(_cell(value) for value in row)}" for row in self.rows]
        return "\n".join(lines)


def _cell(value: Any) -> str:
    """A value on one short line."""
    text = "null" if value is None else visible(" ".join(str(value).split()))
    return text if len(text) <= 80 else text[:77] + "..."


def unbuilt_models(con: duckdb.DuckDBPyConnection, project: Project, select: Sequence[str] | None = None) -> list[str]:
    """The SQL models, of all or of those that `select` means, that are not in the warehouse."""
    there = relations(con)
    chosen = project.models if select is None else select_models(project.models, select)
    return [name for name in chosen if name not in there]


def run_data_tests(
    con: duckdb.DuckDBPyConnection, project: Project, select: Sequence[str] | None = None
) -> list[TestResult]:
    """Run the tests of all SQL models, or of those that `select` means (see `graph.select_models`), and singular tests.

    Besides the tests in the YAML, each SQL model is checked for its enforced contract and for its description: every
    column described, none described that is not there, the types as written. So is each macro that they call, whose
    arguments must be described. A singular test runs when everything is
    selected, or when it reads something selected. Reads only; needs a built warehouse.
    """
    models = project.models
    chosen = list(models) if select is None else select_models(models, select)
    descriptions = Descriptions(project)
    results = [_macro_description(macro) for macro in select_macros(project.macros, models, select)]
    for name in chosen:
        model = models[name]
        if model.alias_of is None:
            results += _structure_tests(con, model, descriptions)
        results += _generic_tests(con, model)
    for singular in project.singular_tests:
        if select is None or any(reference.name in chosen for reference in singular.query.references):
            results.append(_run_singular(con, singular))
    return results


def _macro_description(macro: Macro) -> TestResult:
    """Whether the YAML describes every argument."""
    described = {argument.name for argument in macro.properties.arguments if argument.description}
    silent = [f"{parameter} is not described" for parameter in macro.parameters if parameter not in described]
    return TestResult(
        name=f"description_{macro.name}",
        kind="description",
        model=macro.name,
        file=macro.properties_file,
        status="fail" if silent else "pass",
        failures=len(silent),
        message="\n".join(silent),
    )


def _generic_tests(con: duckdb.DuckDBPyConnection, model: SqlModel) -> Iterator[TestResult]:
    """Run the tests of the YAML."""
    placed: list[tuple[GenericTest, str | None]] = [
        (test, column.name) for column in model.properties.columns for test in column.data_tests
    ]
    placed += [(test, None) for test in model.properties.data_tests]
    passing = _passing(con, model, [_bad_row(test, column) for test, column in placed])
    for number, (test, column) in enumerate(placed):
        relation = f"(select * from {model.name} where {test.where})" if test.where else model.name
        yield _run_query(
            con,
            test.failing_rows(relation, column),
            name=test.name or "_".join([test.kind, model.name, *([column] if column else [])]),
            kind=test.kind,
            model=model.name,
            file=model.properties_file,
            failed="warn" if test.severity == "warn" else "fail",
            passes=number in passing,
        )


def _bad_row(test: GenericTest, column: str | None) -> str | None:
    condition = test.bad_row(column)
    return f"({condition}) and ({test.where})" if condition and test.where else condition


def _passing(con: duckdb.DuckDBPyConnection, model: SqlModel, bad_rows: Sequence[str | None]) -> set[int]:
    """Which of these conditions no row meets, in one scan instead of one each; none when one of them cannot run."""
    import duckdb

    numbers = [number for number, condition in enumerate(bad_rows) if condition is not None]
    if not numbers:
        return set()
    counts = ", ".join(f"count(case when {bad_rows[number]} then 1 end)" for number in numbers)
    try:
        found = con.execute(f"select {counts} from {model.name}").fetchall()[0]
    except duckdb.Error:
        return set()  # each test then runs alone, and the broken one says why
    return {number for number, count in zip(numbers, found, strict=True) if count == 0}


def _run_singular(con: duckdb.DuckDBPyConnection, test: SingularTest) -> TestResult:
    """Run one query of `tests/`."""
    return _run_query(con, test.query.sql, name=test.name, kind="singular", model=None, file=test.file, failed="fail")


def _run_query(
    con: duckdb.DuckDBPyConnection,
    query: str,
    *,
    name: str,
    kind: str,
    model: str | None,
    file: Path,
    failed: Literal["fail", "warn"],
    passes: bool = False,
) -> TestResult:
    """Count the failing rows and keep the first; nothing is run when it is known that the test `passes`."""
    import duckdb

    started = time.perf_counter()
    columns: tuple[str, ...] = ()
    rows: list[tuple[Any, ...]] = []
    status: Literal["pass", "fail", "warn", "error"] = "pass"
    count, message = 0, ""
    try:
        count = 0 if passes else con.execute(f"select count(*) from (\n{query}\n)").fetchall()[0][0]
        if count:
            status, message = failed, f"{count} failing {'row' if count == 1 else 'rows'}"
            cursor = con.execute(f"select * from (\n{query}\n) limit {_SHOWN_ROWS}")
            columns = tuple(column[0] for column in cursor.description or ())
            rows = cursor.fetchall()
    except duckdb.Error as error:
        status, message = "error", " ".join(str(error).split("\n\n")[0].split())
    return TestResult(
        name=name,
        kind=kind,
        model=model,
        file=file,
        status=status,
        failures=count,
        message=message,
        query=query,
        columns=columns,
        rows=tuple(rows),
        seconds=time.perf_counter() - started,
    )


def _structure_tests(
    con: duckdb.DuckDBPyConnection, model: SqlModel, descriptions: Descriptions
) -> Iterator[TestResult]:
    """The contract, where it is enforced, and the description of one SQL model."""
    checks = {"description": partial(description_gaps, con, model, descriptions)}
    if model.properties.config.contract.enforced:
        checks["contract"] = partial(contract_breaches, con, model)
    import duckdb

    for kind, check in checks.items():
        started = time.perf_counter()
        status: Literal["pass", "fail", "error"] = "pass"
        try:
            problems = check()
            if problems:
                status = "fail"
        except duckdb.Error as error:
            status, problems = "error", [" ".join(str(error).split("\n\n")[0].split())]
        yield TestResult(
            name=f"{kind}_{model.name}",
            kind=kind,
            model=model.name,
            file=model.properties_file,
            status=status,
            failures=len(problems) if status == "fail" else 0,
            message="\n".join(problems),
            seconds=time.perf_counter() - started,
        )
