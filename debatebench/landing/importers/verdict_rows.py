"""The rows of a file of verdicts, one mapping from column to value each, whichever of three forms the file has."""

from __future__ import annotations

import csv
import glob
import re
from collections.abc import Callable, Iterator
from contextlib import closing
from datetime import date, datetime, time
from decimal import Decimal
from pathlib import Path
from typing import Any, NamedTuple

import duckdb

from debatebench.landing.importers.base import BadSourceError
from debatebench.landing.importers.strict_source import LARGEST_RECORD, json_lines, lines_between, parse_json
from debatebench.shared.records import clean_text

NEEDED = ("debate_id", "judge_id")
DECIDING = ("winner", "margin", "pro_scores", "con_scores")
_NUMBERS = ("margin", "trial")
_WRITTEN_NUMBER = re.compile(r"[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d{1,3})?", re.ASCII)
_SHOWN = 12


class VerdictRow(NamedTuple):
    """One row: its file and line (of Parquet: its row, from 1), its values, or why it is refused."""

    where: str
    values: dict[str, Any]
    fault: str | None = None


def verdict_rows(file: Path) -> Iterator[VerdictRow]:
    """Every row of the file, one at a time. A file that cannot be read at all is one refused row."""
    yield from _READERS[file.suffix](file)


def _csv(file: Path) -> Iterator[VerdictRow]:
    wrong: list[int] = []
    csv.field_size_limit(LARGEST_RECORD)
    # Python's reader, unlike DuckDB's, says in which line a row begins and refuses what is not quoted properly.
    rows = csv.reader(_decoded(file, wrong), strict=True)
    header: list[str] | None = None
    while True:
        where = f"{file.name}:{rows.line_num + 1}"
        try:
            cells = next(rows)
        except StopIteration:
            break
        except csv.Error as error:
            yield VerdictRow(where, {}, f"It is not CSV: {error}.")
            continue
        if wrong:
            yield VerdictRow(where, {}, f"Line {wrong.pop()} is not UTF-8; save the file as UTF-8.")
            wrong.clear()
        elif not cells:
            continue
        elif header is None:
            header = [name.strip() for name in cells]
            fault = _fault_of_header(header)
            if fault:
                yield VerdictRow(where, {}, fault)
                return
        elif len(cells) != len(header):
            yield VerdictRow(where, {}, f"It has {len(cells)} fields, and the header names {len(header)} columns.")
        else:
            yield VerdictRow(where, {name: _csv_value(name, cell) for name, cell in zip(header, cells, strict=True)})
    if header is None:
        yield VerdictRow(f"{file.name}:1", {}, "The file has no header.")


def _decoded(file: Path, wrong: list[int]) -> Iterator[str]:
    """The lines of a file as text; the numbers of those that are not UTF-8 go to `wrong`."""
    for number, line in lines_between(file, 0, file.stat().st_size):
        try:
            yield line.decode()
        except UnicodeDecodeError:
            wrong.append(number)
            yield line.decode(errors="replace")


def _csv_value(name: str, cell: str) -> Any:
    """A cell; in a column of numbers, a number if it is written as one."""
    if name in _NUMBERS or name.startswith(("pro_scores.", "con_scores.")):
        text = cell.strip()
        return float(text) if _WRITTEN_NUMBER.fullmatch(text) else text
    return cell


def _fault_of_header(header: list[str]) -> str | None:
    named = [name for name in header if name]
    twice = next((name for index, name in enumerate(named) if name in named[:index]), None)
    if twice is not None:
        return f"The column {twice[:60]!r} occurs twice in the header."
    return _fault_of_columns(named)


def _fault_of_columns(columns: list[str]) -> str | None:
    """Why these columns cannot be verdicts."""
    shown = ", ".join(repr(name[:60]) for name in columns[:_SHOWN]) + (", …" if len(columns) > _SHOWN else "")
    for name in NEEDED:
        if name not in columns:
            return f"There is no column {name}; the file has {shown or 'none'}. Rename them as docs/importing.md says."
    if not any(name in DECIDING or name.startswith(("pro_scores.", "con_scores.")) for name in columns):
        return f"There is no column winner, margin, pro_scores or con_scores, and one is needed; the file has {shown}."
    return None


def _jsonl(file: Path) -> Iterator[VerdictRow]:
    for number, line in json_lines(file):
        where = f"{file.name}:{number}"
        try:
            value = parse_json(line)
        except BadSourceError as error:
            yield VerdictRow(where, {}, str(error))
            continue
        if not isinstance(value, dict):
            yield VerdictRow(where, {}, "It is not a JSON object.")
            continue
        missing = next((name for name in NEEDED if name not in value), None)
        yield VerdictRow(where, value, None if missing is None else _fault_of_columns(list(value)))


def _parquet(file: Path) -> Iterator[VerdictRow]:
    with closing(duckdb.connect()) as con:
        try:
            con.execute("select * from read_parquet(?, hive_partitioning = false)", [glob.escape(str(file))])
            columns = [name for name, *_ in con.description or ()]
            fault = _fault_of_columns(columns)
            if fault:
                yield VerdictRow(file.name, {}, fault)
                return
            number = 0
            while rows := con.fetchmany(2048):
                for row in rows:
                    number += 1
                    values = {name: _plain(value) for name, value in zip(columns, row, strict=True)}
                    yield VerdictRow(f"{file.name}, row {number}", values)
        except duckdb.Error as error:
            yield VerdictRow(file.name, {}, f"It cannot be read as Parquet: {str(error).splitlines()[0]}")


def _plain(value: Any) -> Any:
    """A value of DuckDB as plain JSON data."""
    if isinstance(value, str):
        return clean_text(value)
    if isinstance(value, dict):
        return {str(key): _plain(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(inner) for inner in value]
    if isinstance(value, Decimal):
        return float(value)
    if isinstance(value, datetime | date | time):
        return value.isoformat()
    return value if value is None or isinstance(value, bool | int | float) else str(value)


_READERS: dict[str, Callable[[Path], Iterator[VerdictRow]]] = {".csv": _csv, ".jsonl": _jsonl, ".parquet": _parquet}
SUFFIXES = tuple(_READERS)
