"""Seeds: CSV files in `seeds/`, whose columns have the types that the YAML gives them: read and check."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from debatebench.shared.amounts import counted, did_you_mean
from debatebench.shared.errors import SqlModelError
from debatebench.shared.files import shown_path
from debatebench.shared.hashing import hash_of
from debatebench.shared.visible_text import shortened
from debatebench.transform.sql_model import NAME, Query, Seed, text_sha256

if TYPE_CHECKING:
    from debatebench.transform.properties import SeedProperties

SEEDS = "seeds"
"""The folder of CSV files, and the schema of their tables."""

_LARGEST_FILE = 10 * 1024 * 1024
LONGEST_SHOWN = 40
"""Characters of a value in a message."""


def is_seed_file(path: str) -> bool:
    """Whether a file of `sql/` is a CSV file."""
    return path.lower().endswith(".csv")


def seed_name(name: str) -> str:
    """The name of a seed in a YAML file, with its schema."""
    return f"{SEEDS}.{name.lower().removeprefix(f'{SEEDS}.')}"


def read_seed(file: Path, entry: SeedProperties, described_at: str) -> tuple[Query, Seed]:
    """The seed of a CSV file with its YAML, and its text as a query that reads nothing.

    A column without a type in the YAML is text. Raises `SqlModelError` with file and line.
    """
    text = _read_text(file)
    config, where = entry.config, shown_path(file)
    lines = _lines(text, config.delimiter, where)
    number, header = next(lines, (1, []))
    if not header:
        raise SqlModelError(f"{where}:1: is empty; the first line of a seed names its columns.")
    types = _types(_column_names(header, f"{where}:{number}"), entry, where, described_at)
    rows, starts = [], []
    for number, row in lines:
        if len(row) != len(types):
            raise SqlModelError(
                f"{where}:{number}: this row has {counted(len(row), 'value')}, but the first line names "
                f"{counted(len(types), 'column')}; put quotes around a value that contains '{config.delimiter}'."
            )
        rows.append(tuple(cell or None for cell in row))
        starts.append(number)
    # Types are part of the hash because other types make other values of the same text.
    sha256 = hash_of(text, config.delimiter, *(part for each in types.items() for part in each))
    return Query(text, text_sha256(text), sha256, (), ()), Seed(types, tuple(rows), tuple(starts))


def _read_text(file: Path) -> str:
    """The text of a file, without a byte-order mark."""
    where = shown_path(file)
    try:
        content = file.read_bytes()
    except OSError as error:
        raise SqlModelError(f"{where}: cannot be read ({error}).") from None
    if len(content) > _LARGEST_FILE:
        raise SqlModelError(f"{where}: is larger than {_LARGEST_FILE >> 20} MiB; a seed is for small tables.")
    for place, what in ((content.find(b"\0"), "a NUL byte"), (_first_wrong_byte(content), "a byte that is not UTF-8")):
        if place >= 0:
            line = content.count(b"\n", 0, place) + 1
            raise SqlModelError(f"{where}:{line}: contains {what}; save the file as CSV in UTF-8.")
    return content.decode("utf-8-sig")


def _first_wrong_byte(content: bytes) -> int:
    try:
        content.decode("utf-8")
    except UnicodeDecodeError as error:
        return error.start
    return -1


def _lines(text: str, delimiter: str, where: str) -> Iterator[tuple[int, list[str]]]:
    """Every row that is not blank, with the line where it begins."""
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
    while True:
        number = reader.line_num + 1
        try:
            row = next(reader, None)
        except csv.Error as error:
            raise SqlModelError(f"{where}:{number}: {_csv_words(str(error))}.") from None
        if row is None:
            return
        if row:
            yield number, row


def _csv_words(message: str) -> str:
    """Python's message about text that is not CSV, in a user's words."""
    if message.startswith("unexpected end"):
        return "a quote is not closed; write a quote inside a value twice"
    if "expected after" in message:
        return "text follows a closing quote; write a quote inside a value twice"
    return f"this is not CSV ({message})"


def _column_names(header: list[str], where: str) -> list[str]:
    """The names of the columns, which any query can write without quotes."""
    for name in header:
        if not NAME.fullmatch(name):
            other = next((mark for mark in (";", "\t", "|") if mark in name), None)
            hint = f' If {other!r} separates the values, set `config: {{delimiter: "{other}"}}`.' if other else ""
            hint = hint.replace("\t", r"\t")
            raise SqlModelError(
                f"{where}: '{shortened(name, LONGEST_SHOWN)}' is not the name of a column; "
                f"use lower-case letters, digits and _.{hint}"
            )
        if header.count(name) > 1:
            raise SqlModelError(f"{where}: the column '{name}' is named twice.")
    return header


def _types(columns: list[str], entry: SeedProperties, where: str, described_at: str) -> dict[str, str]:
    """Column → type: its `data_type`, else that of dbt's `column_types`, else text."""
    listed = {name.lower(): sql_type for name, sql_type in entry.config.column_types.items()}
    own = {column.name.lower(): column.data_type for column in entry.columns}
    for name in [*own, *listed]:
        if name not in columns:
            raise SqlModelError(
                f"{described_at}: {entry.name} describes the column '{name}', which {where} does not have."
                f"{did_you_mean(name, columns)}"
            )
    return {name: own.get(name) or listed.get(name) or "varchar" for name in columns}
