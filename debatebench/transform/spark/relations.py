"""The columns of every SQL model, learnt from an empty warehouse, and their types in Spark."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import closing
from dataclasses import dataclass
from typing import TYPE_CHECKING

import duckdb

from debatebench.shared.carried_types import cast, type_in_arrow
from debatebench.shared.duckdb_sql import NO_EXTENSIONS, quoted_identifier
from debatebench.transform.empty_warehouse import columns_of, create, empty_warehouse
from debatebench.transform.project import Project

if TYPE_CHECKING:
    from pyspark.sql.types import StructType


@dataclass(frozen=True, slots=True)
class Relation:
    """The columns of a SQL model in order: each with its DuckDB type, and all with Spark's."""

    types: Mapping[str, str]
    schema: StructType


def relations(project: Project) -> dict[str, Relation]:
    """The columns of every SQL model, found by creating all of them without a row."""
    from pyspark.sql.pandas.types import from_arrow_schema

    with closing(duckdb.connect(config={**NO_EXTENSIONS, "threads": 1})) as con:
        empty_warehouse(con, project.domain, project.macros, project.models.values())
        found: dict[str, Relation] = {}
        for name, model in project.models.items():
            create(con, model)
            rows = con.sql(f"{carried_query(con, name)} limit 0").to_arrow_reader(1)
            types = {column: str(kind) for column, kind in columns_of(con, name).items()}
            found[name] = Relation(types, from_arrow_schema(rows.schema, prefer_timestamp_ntz=True))
        return found


def carried_query(con: duckdb.DuckDBPyConnection, name: str) -> str:
    """The query for all rows of a relation, in types that Arrow and Spark have."""
    columns = [(quoted_identifier(column), kind) for column, kind in columns_of(con, name).items()]
    listed = (f"{cast(column, str(kind), type_in_arrow(kind))} as {column}" for column, kind in columns)
    return f"select {', '.join(listed)} from {name}"
