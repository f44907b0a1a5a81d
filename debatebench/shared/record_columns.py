"""A record's class → its table's columns, and a fast reader of the JSON that such records write."""

from __future__ import annotations

import types
import typing
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import cache, reduce
from operator import or_
from typing import Annotated, Any, Literal

import msgspec
from pydantic import BaseModel

_SQL_TYPES: dict[Any, str] = {str: "VARCHAR", int: "BIGINT", bool: "BOOLEAN", float: "DOUBLE", datetime: "TIMESTAMP"}


@dataclass(frozen=True, slots=True)
class Column:
    """What the annotation of a field says about its column: its DuckDB type, and the type of its JSON for msgspec.

    Without the latter, the type of the JSON follows from the annotation.
    """

    sql: str
    written: Any = None


@cache
def column_types(record: type[BaseModel]) -> Mapping[str, str]:
    """Column name → DuckDB type of the record's table, in column order."""
    hints = typing.get_type_hints(record, include_extras=True)
    return {name: _sql_type(hints[name]) for name in record.model_fields}


@cache
def row_struct(record: type[BaseModel]) -> type[msgspec.Struct]:
    """A struct with the columns of a record. It is written as a row without checks; `UNSET` lands as null."""
    columns: list[tuple[str, Any, Any]] = []
    for name, field in record.model_fields.items():
        default = msgspec.UNSET if field.is_required() or field.default is None else field.default
        columns.append((name, Any, default))
    return msgspec.defstruct(record.__name__, columns, gc=False)


@cache
def reader_of(record: type[BaseModel]) -> Callable[[bytes | msgspec.Raw], Any]:
    """A reader of the JSON text that a record of the class writes; it raises `ValueError` for any other text."""
    return msgspec.json.Decoder(_written(record)).decode


def _sql_type(annotation: Any) -> str:
    """The DuckDB type of one field's annotation."""
    if (column := _stated(annotation)) is not None:
        return column.sql
    if _is_model(annotation):
        return f"STRUCT({', '.join(f'{name} {sql_type}' for name, sql_type in column_types(annotation).items())})"
    origin, inner = typing.get_origin(annotation), typing.get_args(annotation)
    if origin is Annotated:
        return _sql_type(inner[0])
    if origin is Literal:
        return "VARCHAR"
    if origin is tuple:
        return _sql_type(inner[0]) + "[]"
    if origin in (typing.Union, types.UnionType):
        (value,) = [each for each in inner if each is not type(None)]
        return _sql_type(value)
    return _SQL_TYPES[annotation]


@cache
def _written(record: type[BaseModel]) -> type[msgspec.Struct]:
    """A struct of exactly what a record of the class writes: the class would accept unchanged whatever fits it."""
    hints = typing.get_type_hints(record, include_extras=True)
    columns = [
        (name, _written_type(hints[name]), msgspec.NODEFAULT if field.is_required() else field.default)
        for name, field in record.model_fields.items()
    ]
    return msgspec.defstruct(record.__name__, columns, kw_only=True, forbid_unknown_fields=True)


def _written_type(annotation: Any) -> Any:
    """The type in which the value of a field with this annotation is written."""
    column = _stated(annotation)
    if column is not None and column.written is not None:
        return column.written
    if _is_model(annotation):
        return _written(annotation)
    origin, inner = typing.get_origin(annotation), typing.get_args(annotation)
    if origin is tuple:
        return types.GenericAlias(tuple, tuple(map(_written_type, inner)))
    if origin in (typing.Union, types.UnionType):
        return reduce(or_, map(_written_type, inner))
    return annotation


def _stated(annotation: Any) -> Column | None:
    """The `Column` in an annotation."""
    return next((each for each in getattr(annotation, "__metadata__", ()) if isinstance(each, Column)), None)


def _is_model(annotation: Any) -> bool:
    return isinstance(annotation, type) and issubclass(annotation, BaseModel)
