"""The rows of two engines, side by side: those of a warehouse file, and those of the Parquet that Spark wrote."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import duckdb

Row = tuple[Any, ...]


def differences(database: Path, target: Path, names: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Each of these SQL models whose rows differ, with what is different first. Order of rows does not count.

    Numbers are the same to nine digits; nulls, texts and the order of lists exactly.
    """
    with duckdb.connect(str(database), read_only=True) as con, duckdb.connect() as files:
        for name in names:
            described = {column: kind for column, kind, *_ in con.execute(f"describe {name}").fetchall()}
            listed = ", ".join(f'"{column}"' for column in described)
            ours = _rows(con, f"select {listed} from {name}")
            try:
                theirs = _rows(files, f"select {listed} from {_files(target / name.replace('.', '/', 1))}")
            except duckdb.Error as error:
                yield name, str(error).splitlines()[0]
                continue
            if found := difference(list(described), ours, theirs):
                yield name, found


def _files(table: Path) -> str:
    """The files of a table, which is cut by run or not."""
    if not any(table.glob("run_tag=*")):
        return f"read_parquet('{table}/*.parquet')"
    return f"read_parquet('{table}/*/*.parquet', hive_partitioning = true, hive_types = {{'run_tag': varchar}})"


def _rows(con: duckdb.DuckDBPyConnection, query: str) -> list[Row]:
    return sorted(con.execute(query).fetchall(), key=place_of)


def place_of(row: Row) -> tuple[str, ...]:
    """Where a row stands among others: by what is exact first, then by numbers as far as they are the same."""
    exact = [repr(value) for value in row if not _has_float(value)]
    return (*exact, *(repr(_rounded(value)) for value in row if _has_float(value)))


def _has_float(value: Any) -> bool:
    if isinstance(value, list | tuple):
        return any(map(_has_float, value))
    return any(map(_has_float, value.values())) if isinstance(value, dict) else isinstance(value, float)


def _rounded(value: Any) -> Any:
    if isinstance(value, list | tuple):
        return [_rounded(each) for each in value]
    if isinstance(value, dict):
        return {key: _rounded(each) for key, each in value.items()}
    return float(f"{value:.6g}") if isinstance(value, float) else value


def difference(columns: Sequence[str], ours: Sequence[Row], theirs: Sequence[Row]) -> str:
    if len(ours) != len(theirs):
        return f"{len(ours)} rows and {len(theirs)}"
    for one, other in zip(ours, theirs, strict=True):
        for column, left, right in zip(columns, one, other, strict=True):
            if not is_same(left, right):
                return f"{column}: {left!r} and {right!r} in {dict(zip(columns, one, strict=True))}"
    return ""


def is_same(left: Any, right: Any) -> bool:
    """Equal values; floats to nine digits, at any depth."""
    if isinstance(left, float) and isinstance(right, float):
        return math.isclose(left, right, rel_tol=1e-9, abs_tol=1e-9) or (math.isnan(left) and math.isnan(right))
    if isinstance(left, list | tuple) and isinstance(right, list | tuple):
        return len(left) == len(right) and all(map(is_same, left, right))
    if isinstance(left, dict) and isinstance(right, dict):
        return left.keys() == right.keys() and all(is_same(left[key], right[key]) for key in left)
    return type(left) is type(right) and left == right
