"""DuckDB's types as Parquet files and Arrow carry them: some they lack, and some they have less precisely."""

from __future__ import annotations

from typing import Any

from debatebench.shared.duckdb_sql import quoted_identifier

# As text, the values of these types stay exact.
_AS_TEXT = {"bit", "bignum", "enum", "interval", "time with time zone", "union"}
# Parquet would turn these into floating-point numbers. A value with more than 38 digits is an error.
_AS_DECIMAL = {"hugeint", "uhugeint"}


def cast(column: str, have: str, want: str) -> str:
    """SQL that casts a column (given as SQL), unless it has the wanted type."""
    return column if have == want else f"cast({column} as {want})"


def type_in_file(type_: Any) -> str:
    """SQL for the type of a column in a Parquet file, from its `DuckDBPyType`."""
    return _carried(type_, as_text=_AS_TEXT)


def type_in_arrow(type_: Any) -> str:
    """The same on the way to the file: Arrow carries JSON and UUID as text."""
    return _carried(type_, as_text=_AS_TEXT | {"uuid", "json"})


def _carried(type_: Any, *, as_text: set[str]) -> str:
    kind = "json" if str(type_) == "JSON" else type_.id
    if kind in _AS_DECIMAL:
        return "DECIMAL(38,0)"
    if kind in as_text:
        return "VARCHAR"
    if kind not in ("list", "array", "map", "struct"):
        return str(type_)
    size = dict(type_.children)["size"] if kind == "array" else ""
    inner = [(name, _carried(part, as_text=as_text)) for name, part in type_.children if part is not size]
    if kind == "struct":
        return f"STRUCT({', '.join(f'{quoted_identifier(name)} {part}' for name, part in inner)})"
    return f"MAP({inner[0][1]}, {inner[1][1]})" if kind == "map" else f"{inner[0][1]}[{size}]"
