"""The formats in which results are printed and written: their names, and what a reader of each expects."""

from __future__ import annotations

from enum import StrEnum


class Format(StrEnum):
    """How a result is printed. JUnit is only for gates, and Parquet only for files with the result of a query."""

    TABLE = "table"
    LINE = "line"
    JSON = "json"
    JSONL = "jsonl"
    CSV = "csv"
    TSV = "tsv"
    MARKDOWN = "markdown"
    LATEX = "latex"
    JUNIT = "junit"
    PARQUET = "parquet"

    @property
    def is_one_table(self) -> bool:
        """Whether a program reads one table from it, so that a command with several prints only its main one."""
        return self in (Format.JSONL, Format.CSV, Format.TSV)

    @property
    def is_for_people(self) -> bool:
        """Whether a person reads it, so that values are rounded and texts stand beside them."""
        return self in (Format.TABLE, Format.LINE, Format.MARKDOWN, Format.LATEX)


FORMATS = tuple(each for each in Format if each not in (Format.JUNIT, Format.PARQUET))
"""The formats in which any rows can be printed."""

SHORT_NAMES = {"md": Format.MARKDOWN, "tex": Format.LATEX}
"""The names of formats as endings of files → the formats."""
