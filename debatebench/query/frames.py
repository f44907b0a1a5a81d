"""The rows of a query as a pandas or polars frame or a pyarrow table. Each package is needed only for its own result.

The rows are in memory already, so nothing here reads from the warehouse, and nothing keeps it from the next query.
pandas takes two columns of one name. Elsewhere the second is called `name_1`, as in DuckDB: it would be lost.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any

from debatebench.shared.errors import UsageError
from debatebench.shared.result_formats import unique_names

_DECIMAL = re.compile(r"DECIMAL\((\d+),\s*(\d+)\)")
_INTEGERS = {
    "TINYINT": "int8",
    "SMALLINT": "int16",
    "INTEGER": "int32",
    "BIGINT": "int64",
    "UTINYINT": "uint8",
    "USMALLINT": "uint16",
    "UINTEGER": "uint32",
    "UBIGINT": "uint64",
}


def arrow_table(columns: Sequence[str], types: Sequence[str], rows: Sequence[Sequence[Any]]) -> Any:
    """The rows as a pyarrow table with the types of the query; text where Arrow has no such type."""
    pa = _package("pyarrow")
    simple = {
        "BOOLEAN": pa.bool_(),
        "FLOAT": pa.float32(),
        "DOUBLE": pa.float64(),
        "VARCHAR": pa.string(),
        "DATE": pa.date32(),
        "TIMESTAMP": pa.timestamp("us"),
        "TIME": pa.time64("us"),
        "BLOB": pa.binary(),
        "HUGEINT": pa.decimal128(38, 0),
        **{name: getattr(pa, kind)() for name, kind in _INTEGERS.items()},
    }

    def typed(type_: str, values: Sequence[Any]) -> Any:
        if (decimal := _DECIMAL.fullmatch(type_)) is not None:
            return pa.array(values, pa.decimal128(int(decimal[1]), int(decimal[2])))
        return pa.array(values, simple.get(type_))

    failed = (pa.ArrowInvalid, pa.ArrowTypeError, pa.ArrowNotImplementedError, OverflowError)
    return pa.table(dict(zip(unique_names(columns), _columns(types, rows, typed, failed, pa.array), strict=True)))


def polars_frame(columns: Sequence[str], types: Sequence[str], rows: Sequence[Sequence[Any]]) -> Any:
    """The rows as a polars frame with the types of the query; text where polars has no such type."""
    pl = _package("polars")
    simple = {
        "BOOLEAN": pl.Boolean,
        "FLOAT": pl.Float32,
        "DOUBLE": pl.Float64,
        "VARCHAR": pl.String,
        "DATE": pl.Date,
        "TIMESTAMP": pl.Datetime("us"),
        "TIME": pl.Time,
        "BLOB": pl.Binary,
        "HUGEINT": pl.Int128,
        **{name: getattr(pl, kind.replace("int", "Int").replace("uI", "UI")) for name, kind in _INTEGERS.items()},
    }

    def typed(type_: str, values: Sequence[Any]) -> Any:
        if (decimal := _DECIMAL.fullmatch(type_)) is not None:
            return pl.Series(values=values, dtype=pl.Decimal(int(decimal[1]), int(decimal[2])))
        return pl.Series(values=values, dtype=simple.get(type_), strict=type_ in simple)

    failed = (pl.exceptions.PolarsError, TypeError, ValueError, OverflowError)
    series = _columns(types, rows, typed, failed, lambda values: pl.Series(values=values, dtype=pl.String))
    return pl.DataFrame(dict(zip(unique_names(columns), series, strict=True)))


def pandas_frame(columns: Sequence[str], types: Sequence[str], rows: Sequence[Sequence[Any]]) -> Any:
    """The rows as a pandas frame. Integers stay exact beside nulls, and decimals are Python's."""
    pd = _package("pandas")

    def typed(type_: str, values: Sequence[Any]) -> Any:
        if type_ in _INTEGERS:
            kind = _INTEGERS[type_]
            has_null = any(value is None for value in values)
            return pd.Series(values, dtype=kind.replace("int", "Int").replace("uI", "UI") if has_null else kind)
        if type_ in ("DOUBLE", "FLOAT"):
            return pd.Series(values, dtype="float64" if type_ == "DOUBLE" else "float32")
        if type_ == "BOOLEAN":
            return pd.Series(values, dtype="boolean" if any(value is None for value in values) else "bool")
        if type_.startswith("TIMESTAMP") and "ZONE" not in type_:
            return pd.Series(values, dtype="datetime64[us]")
        return pd.Series(values, dtype="object")

    failed = (TypeError, ValueError, OverflowError)
    series = _columns(types, rows, typed, failed, lambda values: pd.Series(values, dtype="object"))
    frame = pd.concat(series, axis=1) if series else pd.DataFrame()
    frame.columns = list(columns)
    return frame


def _columns(
    types: Sequence[str],
    rows: Sequence[Sequence[Any]],
    typed: Callable[[str, Sequence[Any]], Any],
    failed: tuple[type[BaseException], ...],
    of_text: Callable[[Sequence[str | None]], Any],
) -> list[Any]:
    """Every column by `typed`, from its DuckDB type and values; as text where that fails."""
    found = []
    for number, type_ in enumerate(types):
        values = [row[number] for row in rows]
        try:
            found.append(typed(type_, values))
        except failed:
            found.append(of_text([None if value is None else str(value) for value in values]))
    return found


def _package(name: str) -> Any:
    from importlib import import_module

    try:
        return import_module(name)
    except ModuleNotFoundError:
        raise UsageError(f"{name} is not installed; `pip install {name}` adds it.") from None
