"""SQL models as text for other engines, and what of them means something else there."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import closing
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

import duckdb
from sqlglot import exp, parse_one
from sqlglot.errors import ErrorLevel, SqlglotError

from debatebench.shared.activity import doing
from debatebench.shared.amounts import did_you_mean
from debatebench.shared.duckdb_sql import NO_EXTENSIONS
from debatebench.shared.errors import SqlModelError, UsageError
from debatebench.shared.files import shown_path
from debatebench.transform.empty_warehouse import columns_of, create, empty_warehouse
from debatebench.transform.expansion import expand
from debatebench.transform.portability import findings, sentences
from debatebench.transform.project import Project
from debatebench.transform.spark.translation import spark_query
from debatebench.transform.spark.typed_query import typed_query
from debatebench.transform.sql_model import SqlModel

if TYPE_CHECKING:
    from debatebench.transform.testing.data_tests import TestResult

ENGINES: Mapping[str, str] = {
    "spark": "Compared row by row with DuckDB on Spark 4.3, with the session's settings: ansi.enabled true, "
    "decimalOperations.allowPrecisionLoss false.",
    "databricks": "The text for Spark 4.3, which was compared row by row with DuckDB there; not run on Databricks.",
    "snowflake": "Only text: never run on Snowflake.",
    "bigquery": "Only text: never run on BigQuery.",
    "trino": "Only text: never run on Trino.",
    "clickhouse": "Only text: never run on ClickHouse.",
    "postgres": "Only text: never run on PostgreSQL.",
}
"""What is known about the SQL for each dialect, by sqlglot's name for it."""
_STEP = "Translating SQL models"
_AS_SPARK = ("spark", "databricks")


class Transpiled(NamedTuple):
    """A SQL model for another engine: its text with a first line that says how far it was compared."""

    model: str
    text: str


def transpile(project: Project, names: Iterable[str], dialect: str) -> Iterator[Transpiled | SqlModelError]:
    """Each of these SQL models for a dialect of `ENGINES`, in order, or why it cannot be written for it.

    Where nothing was compared, comments at the top name what means something else in most engines, by line.
    """
    names = [name for name in names if project.models[name].seed is None]
    doing(_STEP, 0, len(names))
    for number, each in enumerate(typed_models(project, names)):
        doing(_STEP, number, len(names))
        try:
            yield Transpiled(each.model.name, _text(each, dialect))
        except SqlModelError as error:
            yield error


class TypedModel(NamedTuple):
    """A SQL model with its query without macros, the columns of what it reads, and the results of Python functions."""

    model: SqlModel
    query: exp.Query
    columns: Mapping[str, Mapping[str, str]]
    returns: Mapping[str, str]


def typed_models(project: Project, names: Iterable[str]) -> Iterator[TypedModel]:
    """These SQL models, without seeds, with the types that DuckDB gives to what they read; no warehouse is needed."""
    models, functions = project.models, project.domain.functions
    wanted = [name for name in names if models[name].seed is None]
    read = {each for name in wanted for each in models[name].dependencies}
    for name in reversed(models):
        read |= set(models[name].dependencies) if name in read else set()
    created = [model for name, model in models.items() if name in read]
    with closing(duckdb.connect(config={**NO_EXTENSIONS, "threads": 1})) as con:
        empty_warehouse(con, project.domain, project.macros, created)
        for model in created:
            try:
                create(con, model)
            except duckdb.Error as error:
                message = " ".join(str(error).split("\n\n")[0].split())
                raise SqlModelError(f"{shown_path(model.file)}: {message}") from None
        columns = {
            name: {column: str(kind) for column, kind in columns_of(con, name).items()}
            for name in {each for name in wanted for each in models[name].dependencies}
        }
    for name in wanted:
        model = models[name]
        query = parse_one(expand(model.query.sql, project.macros), dialect="duckdb")
        if isinstance(query, exp.Query):
            called = functions.python_functions(model.query.functions)
            yield TypedModel(
                model,
                query,
                {each: columns[each] for each in model.dependencies},
                {each: functions.signature(each).returns for each in called},
            )


def _text(each: TypedModel, dialect: str) -> str:
    head = [f"-- {each.model.name} for {dialect}. {ENGINES[dialect]}"]
    try:
        if dialect in _AS_SPARK:
            body = spark_query(each.query, "{}.{}".format, each.columns, each.returns)
        else:
            tree = typed_query(each.query, each.columns, each.returns)
            head += [f"-- {sentence}." for sentence in sentences(findings(tree, each.returns))]
            body = tree.sql(dialect, pretty=True, unsupported_level=ErrorLevel.RAISE, comments=False, copy=False)
    except SqlglotError as error:
        raise _unwritten(each.model, dialect, " ".join(str(error).split()).rstrip(".")) from None
    except (AttributeError, LookupError, TypeError, ValueError, RecursionError):
        # sqlglot's own mistakes: it has no way to write something in this dialect, and does not say so.
        raise _unwritten(each.model, dialect, "sqlglot fails to write it") from None
    return "\n".join([*head, f"{body}"])


def _unwritten(model: SqlModel, dialect: str, why: str) -> SqlModelError:
    return SqlModelError(f"{model.name} ({shown_path(model.file)}) cannot be written for {dialect}: {why}.")


def check_dialect(name: str) -> str:
    """The dialect of this name. Raises `UsageError` for one that is not in `ENGINES`."""
    if name.lower() not in ENGINES:
        raise UsageError(f"'{name}' is not one of {', '.join(ENGINES)}.{did_you_mean(name, ENGINES)}")
    return name.lower()


def portability_results(project: Project, names: Iterable[str]) -> list[TestResult]:
    """One result for each SQL model: what in it means something else in another engine, and the way out.

    It fails for what is not translated for Spark, and warns of what is translated for Spark only.
    """
    from debatebench.transform.testing.data_tests import TestResult, run_test

    results = []
    for each in typed_models(project, names):
        model = each.model
        if model.alias_of is None:
            passed = TestResult(f"portability_{model.name}", "portability", model.name, model.file, "pass")
            results.append(run_test(passed, partial(_difference, each)))
    return results


def _difference(each: TypedModel) -> dict[str, object]:
    try:
        found = findings(typed_query(each.query, each.columns, each.returns), each.returns)
        spark_query(each.query, "{}.{}".format, each.columns, each.returns)
    except SqlglotError as error:
        raise SqlModelError(f"{shown_path(each.model.file)} cannot be written for Spark: {error}") from None
    if not found:
        return {}
    is_translated = all(finding.rule.is_translated for finding in found)
    where = shown_path(each.model.file)
    problems = [f"{where}: {sentence}." for sentence in sentences(found)]
    return {"status": "warn" if is_translated else "fail", "failures": len(found), "message": "\n".join(problems)}
