"""The data tests of the YAML on the tables of a target: the same SQL as on the warehouse, translated for Spark."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Any

from debatebench.shared.activity import doing
from debatebench.shared.errors import SqlModelError, UsageError
from debatebench.transform.project import Project
from debatebench.transform.spark.relations import relations
from debatebench.transform.spark.session import reason
from debatebench.transform.spark.state import read_state
from debatebench.transform.spark.target import Target
from debatebench.transform.spark.translated_queries import TranslatedQueries
from debatebench.transform.sql_model import SqlModel
from debatebench.transform.testing.data_tests import TestResult, all_placed_tests, result_of_pass, tested_relation

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


_SHOWN_ROWS = 5
_JOBS_AT_ONCE = 4


def test_on_spark(spark: SparkSession, project: Project, target: str) -> list[TestResult]:
    """Run the data tests of all SQL models, and the singular tests, on what a build wrote to `target`.

    Tests that also read landed tables are left out. Raises `UsageError` where no build has ended.
    """
    state = read_state(spark, target)
    if not state.is_whole:
        raise UsageError(f"{target} has no finished build; run `debatebench build --engine spark` with it first.")
    tests = _Tests(project, Target(spark, target, state.format, project.domain.part))
    return list(tests.results())


test_on_spark.__test__ = False  # type: ignore[attr-defined]  # its name looks like a test to pytest


class _Tests:
    """The tests of a project on the tables of a target."""

    def __init__(self, project: Project, target: Target) -> None:
        self.project, self.relations = project, relations(project)
        self.queries = TranslatedQueries(project, self.relations, target)

    def results(self) -> Iterator[TestResult]:
        """One result for each test, by SQL model."""
        models = [model for model in self.project.models.values() if model.alias_of is None]
        with ThreadPoolExecutor(_JOBS_AT_ONCE) as pool:
            for number, found in enumerate(pool.map(self._of_model, models)):
                doing("Testing the tables", number, len(models))
                yield from found
        for test in self.project.singular_tests:
            reads = [reference.name for reference in test.query.references]
            if not self._are_there(reads):
                continue
            result = TestResult(test.name, "singular", None, test.file, "pass", query=test.query.sql)
            yield self._run(result, f"select count(*) from (\n{test.query.sql}\n)", reads, "fail")

    def _of_model(self, model: SqlModel) -> list[TestResult]:
        """One scan shows for most tests that no row fails; the others run one by one."""
        placed = all_placed_tests(model, self.relations[model.name].types)
        placed = [(test, column) for test, column in placed if self._are_there(test.compared_with)]
        suspects = [test.suspects(column) for test, column in placed]
        passing: set[int] = set()
        if numbers := [number for number, aggregate in enumerate(suspects) if aggregate is not None]:
            scan = f"select {', '.join(f'{suspects[n]} as n{n}' for n in numbers)} from {model.name}"
            try:
                (counts,) = self._rows(scan, [model.name], model.file)
                passing = {number for number, count in zip(numbers, counts, strict=True) if count == 0}
            except SqlModelError:
                passing = set()
        found = []
        for number, (test, column) in enumerate(placed):
            result = result_of_pass(model, test, column)
            if number not in passing:
                count = test.count_failing_rows(tested_relation(model, test), column)
                status = "warn" if test.severity == "warn" else "fail"
                result = self._run(result, count, [model.name, *test.compared_with], status)
            found.append(result)
        return found

    def _are_there(self, reads: Collection[str]) -> bool:
        """Whether all of these are in the target, which has no landed rows."""
        return all(name in self.relations for name in reads)

    def _run(self, result: TestResult, count: str, reads: list[str], status: Any) -> TestResult:
        """The result of one test, with the first rows that fail."""
        started = perf_counter()
        found: dict[str, Any] = {}
        try:
            ((failures,),) = self._rows(count, reads, result.file)
            if failures:
                rows = self._rows(f"select * from (\n{result.query}\n) limit {_SHOWN_ROWS}", reads, result.file)
                message = f"{failures} failing {'row' if failures == 1 else 'rows'}"
                found = {"status": status, "failures": failures, "message": message, "rows": tuple(map(tuple, rows))}
                found["columns"] = tuple(rows[0].__fields__)
        except SqlModelError as error:
            found = {"status": "error", "message": str(error)}
        return replace(result, **found, seconds=perf_counter() - started)

    def _rows(self, sql: str, reads: list[str], file: Path) -> list[Any]:
        rows = self.queries.rows(sql, reads, (), file)
        try:
            return list(rows.collect())
        except Exception as error:
            raise SqlModelError(reason(error)) from None
