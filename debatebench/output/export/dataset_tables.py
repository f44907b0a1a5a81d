"""The tables of a published dataset: from which SQL models their columns come, and in which order their rows stand."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import duckdb

from debatebench.shared.duckdb_sql import quoted_identifier
from debatebench.shared.strict_yaml import read_yaml

_DEBATE = "run_tag debate_id"


@dataclass(frozen=True, slots=True)
class Joined:
    """A SQL model that adds columns to a table, at most one row for each; `by` are the columns that both have."""

    relation: str
    columns: tuple[str, ...]
    by: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class DatasetTable:
    """A table of the dataset: rows of `relation` with `columns`, and columns of other SQL models beside them."""

    name: str
    about: str
    relation: str
    columns: tuple[str, ...]
    order: tuple[str, ...]
    joined: tuple[Joined, ...] = ()

    @property
    def relations(self) -> set[str]:
        """The SQL models that the table reads."""
        return {self.relation, *(joined.relation for joined in self.joined)}

    def sources(self) -> list[tuple[str, str]]:
        """(column, SQL model that it comes from), in the order of the columns."""
        return [
            *((name, self.relation) for name in self.columns),
            *((name, joined.relation) for joined in self.joined for name in joined.columns),
        ]

    def query(self, con: duckdb.DuckDBPyConnection, instead: Mapping[str, str]) -> str:
        """SQL for the rows of run `$1`. `instead` names tables to read in place of SQL models."""
        base = instead.get(self.relation, self.relation)
        listed = [_exported(con, base, "base", self.columns)]
        joins = []
        for number, joined in enumerate(self.joined):
            listed.append(_exported(con, joined.relation, f"joined_{number}", joined.columns))
            same = " and ".join(f"base.{name} = joined_{number}.{name}" for name in joined.by)
            joins.append(f"left join {joined.relation} as joined_{number} on {same}")
        order = ", ".join(f"base.{name}" for name in self.order)
        return (
            f"select {', '.join(listed)} from {base} as base {' '.join(joins)} where base.run_tag = ? order by {order}"
        )


def _exported(con: duckdb.DuckDBPyConnection, relation: str, alias: str, columns: Iterable[str]) -> str:
    """The columns as SQL, each with the type that it has in the file."""
    types = dict(row[:2] for row in con.sql(f"select column_name, column_type from (describe {relation})").fetchall())
    return ", ".join(
        f"cast({alias}.{quoted_identifier(name)} as {_plain(_parsed(types[name]))}) as {quoted_identifier(name)}"
        for name in columns
    )


def _parsed(type_: str) -> Any:
    return duckdb.sqltype(type_)


def _plain(type_: Any) -> str:
    """A type that readers of Parquet show as people expect: JSON is text, and decimals are doubles.

    A double keeps the first fifteen digits, which no real scale or cost exceeds.
    """
    if type_.id == "decimal":
        return "DOUBLE"
    if str(type_) == "JSON":
        return "VARCHAR"
    if type_.id == "list":
        return f"{_plain(type_.children[0][1])}[]"
    if type_.id == "struct":
        inner = ", ".join(f"{quoted_identifier(name)} {_plain(part)}" for name, part in type_.children)
        return f"STRUCT({inner})"
    return str(type_)


def _tables(group: str) -> tuple[DatasetTable, ...]:
    found = []
    for name, stated in _DATA[group].items():
        table = _DATA["tables"].get(stated.get("like"), {}) | stated
        joined = [
            Joined(relation, tuple(each["columns"].split()), tuple(each.get("by", _DEBATE).split()))
            for relation, each in table.get("joined", {}).items()
        ]
        columns, order = tuple(table["columns"].split()), tuple(table["order"].split())
        found.append(DatasetTable(name, table["about"], table["from"], columns, order, tuple(joined)))
    return tuple(found)


_DATA: dict[str, Any] = read_yaml(Path(__file__).with_suffix(".yml").read_bytes(), deepest=5).data
TABLES = _tables("tables")
"""The tables, in the order of the dataset's card. A table without rows is left out."""
ATTACKED = _tables("attacked")
"""The tables that `--with-attacked` adds. Their debates are in no other table."""
