"""A database with the landed tables and what SQL models call, without rows, in which SQL models are created."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from debatebench.shared.duckdb_sql import quoted_identifier
from debatebench.transform.create_macros import create_macros
from debatebench.transform.create_seeds import create_seed
from debatebench.transform.domain import Domain
from debatebench.transform.macros import Macro
from debatebench.transform.one_query import execute_one
from debatebench.transform.sql_model import SqlModel

if TYPE_CHECKING:
    import duckdb


def empty_warehouse(
    con: duckdb.DuckDBPyConnection,
    domain: Domain,
    macros: Mapping[str, Macro],
    models: Iterable[SqlModel],
) -> None:
    """Create the landed tables without rows, the macros, the schemas and the Python functions that `models` need."""
    models = tuple(models)
    for schema in sorted({"raw", *(model.schema for model in models)}):
        con.execute(f"create schema {schema}")
    for name, columns in domain.tables.items():
        typed = ", ".join(f"{quoted_identifier(column)} {each.data_type}" for column, each in columns.items())
        con.execute(f"create table {name} ({typed})")
    create_macros(con, macros, stand_alone=True)
    called = {name for model in models for name in model.query.functions}
    domain.functions.register(con, domain.functions.python_functions(sorted(called)))


def create(con: duckdb.DuckDBPyConnection, model: SqlModel) -> None:
    """Create the table of one SQL model from its text. Raises the `duckdb.Error` of its query."""
    if model.seed is not None:
        create_seed(con, model, model.seed)
    else:
        execute_one(con, f"{model.query.sql}\n", model.file, into=f"create table {model.name} as ")


def columns_of(con: duckdb.DuckDBPyConnection, name: str) -> dict[str, Any]:
    """Column → its DuckDB type."""
    found = con.execute(f"select * from {name} limit 0").description or ()
    return {column: kind for column, kind, *_ in found}
