"""What looks across families: its query translated for Spark, over the tables of the target."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from debatebench.shared.errors import SqlModelError
from debatebench.shared.files import shown_path
from debatebench.transform.expansion import expand
from debatebench.transform.spark.functions import register_functions
from debatebench.transform.spark.session import reason
from debatebench.transform.spark.translation import spark_query

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.types import StructType

    from debatebench.transform.project import Project
    from debatebench.transform.spark.relations import Relation
    from debatebench.transform.sql_model import SqlModel


def across_rows(
    spark: SparkSession,
    project: Project,
    model: SqlModel,
    relations: Mapping[str, Relation],
    read: Callable[[str, StructType], DataFrame],
) -> DataFrame:
    """The rows of a SQL model, to be computed by Spark, with the types that they have in DuckDB.

    `read` gives the table of each SQL model that it reads. Raises `SqlModelError` for what cannot be translated, or
    what Spark refuses.
    """
    from pyspark.sql import functions as sf
    from sqlglot import exp, parse_one
    from sqlglot.errors import SqlglotError

    for name in model.dependencies:
        read(name, relations[name].schema).createOrReplaceTempView(_view(*name.split(".", 1)))
    functions = project.domain.functions
    register_functions(spark, functions, model.query.functions)
    returns = {each: functions.signature(each).returns for each in functions.python_functions(model.query.functions)}
    query = parse_one(expand(model.query.sql, project.macros), dialect="duckdb")
    assert isinstance(query, exp.Query)  # noqa: S101 - a SQL model was checked to be one
    columns = {name: relations[name].types for name in model.dependencies}
    try:
        rows = spark.sql(spark_query(query, _view, columns, returns))
    except SqlglotError as error:
        raise SqlModelError(f"{_where(model)} cannot be translated for Spark: {error}") from None
    except Exception as error:
        raise SqlModelError(f"{_where(model)} fails on Spark: {reason(error)}") from None
    return rows.select(*(sf.col(field.name).cast(field.dataType) for field in relations[model.name].schema))


def _view(schema: str, name: str) -> str:
    return f"`{schema}__{name}`"


def _where(model: SqlModel) -> str:
    return f"SQL model {model.name} ({shown_path(model.file)})"
