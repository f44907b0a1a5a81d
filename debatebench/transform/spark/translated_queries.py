"""Queries translated for Spark, over the tables of a target: of what looks across families, and of data tests."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from sqlglot import exp, parse_one
from sqlglot.errors import SqlglotError

from debatebench.shared.errors import SqlModelError
from debatebench.shared.files import shown_path
from debatebench.transform.expansion import expand
from debatebench.transform.project import Project
from debatebench.transform.spark.functions import register_functions
from debatebench.transform.spark.session import reason
from debatebench.transform.spark.translation import spark_query
from debatebench.transform.sql_model import SqlModel

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from debatebench.transform.spark.relations import Relation
    from debatebench.transform.spark.target import Target


class TranslatedQueries:
    """Queries in DuckDB's dialect that Spark answers, over tables of `target` that have all been written."""

    def __init__(self, project: Project, relations: Mapping[str, Relation], target: Target) -> None:
        self._project, self._relations, self._target = project, relations, target
        self._viewed: set[str] = set()

    def rows_of(self, model: SqlModel) -> DataFrame:
        """The rows of a SQL model, to be computed by Spark, with the types that they have in DuckDB.

        Raises `SqlModelError` for what cannot be translated, or what Spark refuses.
        """
        from pyspark.sql import functions as sf

        rows = self.rows(model.query.sql, model.dependencies, model.query.functions, model.file)
        schema = self._relations[model.name].schema
        return rows.select(*(sf.col(f"`{field.name}`").cast(field.dataType) for field in schema))

    def rows(self, sql: str, reads: Collection[str], functions: Collection[str], file: Path) -> DataFrame:
        """The rows of a query of `file` that reads these SQL models and calls these functions."""
        spark, called = self._target.spark, self._project.domain.functions
        for name in reads:
            if name not in self._viewed:
                self._target.read(name, self._relations[name].schema).createOrReplaceTempView(_view(name))
                self._viewed.add(name)
        register_functions(spark, called, functions)
        query = parse_one(expand(sql, self._project.macros), dialect="duckdb")
        assert isinstance(query, exp.Query)  # noqa: S101 - what `file` holds was checked to be one
        columns = {name: self._relations[name].types for name in reads}
        returns = {name: called.signature(name).returns for name in called.python_functions(functions)}
        try:
            text = spark_query(query, lambda schema, name: f"`{_view(f'{schema}.{name}')}`", columns, returns)
            return spark.sql(text)
        except SqlglotError as error:
            raise SqlModelError(f"{shown_path(file)} cannot be translated for Spark: {error}") from None
        except Exception as error:
            raise SqlModelError(f"{shown_path(file)} fails on Spark: {reason(error)}") from None


def _view(name: str) -> str:
    return name.replace(".", "__", 1)
