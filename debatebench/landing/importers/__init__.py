"""Importers: formats of other systems → records. A new format is one module here and one name in `FORMATS`.

An installed package adds one by the entry point `debatebench.importers`.

base.py                what an importer is
debatebench.py         the original harness's JSONL
debatebench_queries.py plain lines of the original → rows of turns and verdicts, in SQL
debatebench_rows.py    a debate of the original → its rows
debatebench_source.py  a line of the original → a checked debate
debateflow.py          DebateFlow: debates with weaknesses, annotations
kept.py                kept imports: their manifest, their parts, and the rows that they land as
panelbench.py          PanelBench: human debates and the gold verdicts on them
second_reader.py       read half of a large file in a second process
store.py               keep a source after checking it
strict_source.py       strict readers for untrusted JSON and YAML, and for schemas of other systems
verdict_rows.py        rows of CSV, JSONL or Parquet with one verdict each
verdicts.py            verdicts of other people, with their debates or on debates that are there
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, cast

from debatebench.shared.errors import UsageError
from debatebench.shared.extensions import extension, known_extensions

if TYPE_CHECKING:
    from debatebench.landing.importers.base import Importer

FORMATS = ("debatebench", "debateflow", "panelbench", "verdicts")


def importer_of(format_name: str) -> Importer:
    """The importer of a format, our own or an installed package's. Raises `UsageError` if there is none."""
    if format_name in FORMATS:
        return cast("Importer", import_module(f"{__name__}.{format_name}").IMPORTER)
    from debatebench.landing.importers.base import Importer

    importer = extension("importers", format_name, Importer)
    if importer is None:
        raise UsageError(f"No format '{format_name}'.{known_extensions('importers', format_name, FORMATS)}")
    return importer
