"""What an importer is: it finds the files of a foreign format and reads them, unit by unit, as records."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple, Protocol, cast

from debatebench.shared import json_bytes
from debatebench.shared.records import Annotation, Debate, Debater, Dimension, Judge, Record, Row, Topic

__all__ = [
    "SHARED",
    "BadRecord",
    "BadSourceError",
    "Imported",
    "Importer",
    "Key",
    "sorted_json",
    "visible_files",
]

SHARED = (Topic, Debater, Judge, Dimension)
"""Records that many units of a source repeat."""

Key = tuple[str, ...]
"""What a unit is known by: ("debate", id), ("annotation", debate id, annotator) or ("gold", debate id)."""


class BadSourceError(Exception):
    """A piece of a source breaks its format; the message says what and where in the piece, in one sentence."""


@dataclass(frozen=True, slots=True)
class BadRecord:
    """A piece of the source that cannot be imported: file and line, and the reason in one sentence."""

    where: str
    reason: str


def sorted_json(value: Any) -> bytes:
    """JSON data as text, the same whatever the order of its keys and the white space around them."""
    return json_bytes.sorted_json(value).encode("ascii")


class Imported(NamedTuple):
    """One unit of a source: a debate, an annotation, or the gold verdicts of a debate.

    `digest` gives the SHA-256 that is the same for identical units. `shared` is the unit's share of topics, debaters,
    judges and dimensions, which many units repeat; `source_position` is set when the units are put together. `rows`
    gives all other rows, for the position that the unit's debate has. `run_facts` are fields of `Run` that the unit
    states about the run it comes from, and `time` is when the debate or the annotation was made.
    """

    key: Key
    where: str
    digest: Callable[[], bytes]
    shared: tuple[Record, ...]
    rows: Callable[[int], Iterable[Row]]
    run_facts: Mapping[str, Any]
    time: datetime | None = None

    @classmethod
    def of_records(
        cls, key: Key, where: str, source: Any, records: Iterable[Record], run_facts: Mapping[str, Any]
    ) -> Imported:
        """The unit that consists of these records; `source` is the plain data that it was read from."""
        records = tuple(records)
        shared = tuple(record for record in records if isinstance(record, SHARED))
        own = [record for record in records if not isinstance(record, SHARED)]
        times = [record.created_at for record in own if isinstance(record, Debate)]
        times += [record.annotated_at for record in own if isinstance(record, Annotation)]
        time = min((time for time in times if time), default=None)
        return cls(key, where, partial(_digest, source), shared, partial(_rows, own), run_facts, time)


def _digest(source: Any) -> bytes:
    return hashlib.sha256(sorted_json(source)).digest()


def _rows(records: list[Record], position: int) -> Iterator[Row]:
    for record in records:
        placed = record.model_copy(update={"source_position": position}) if isinstance(record, Debate) else record
        yield placed.row()


def visible_files(folder: Path, *suffixes: str) -> list[Path]:
    """The entries of a folder with one of these suffixes, by name; hidden ones are somebody else's."""
    if not folder.is_dir():
        return []
    return sorted(entry for entry in folder.iterdir() if entry.suffix in suffixes and not entry.name.startswith("."))


class _Format(Protocol):
    """What the module of a format offers."""

    EXPECTED: str
    """What a user may give, as an error message names it."""

    def find_files(self, path: Path) -> list[Path]: ...

    def read(self, path: Path, run_tag: str, *, with_rows: bool) -> Iterator[Imported | BadRecord]: ...


@dataclass(frozen=True, slots=True)
class Importer:
    """A foreign format by name; its module is loaded when it is first used."""

    name: str

    @property
    def _format(self) -> _Format:
        return cast(_Format, import_module(f"debatebench.landing.importers.{self.name}"))

    @property
    def expected(self) -> str:
        """What a user may give, as an error message names it."""
        return self._format.EXPECTED

    def find_files(self, path: Path) -> list[Path]:
        """The files at `path` (a file or folder) that the format consists of, in reading order."""
        return self._format.find_files(path)

    def read(self, path: Path, run_tag: str, *, with_rows: bool = True) -> Iterator[Imported | BadRecord]:
        """Read `path` unit by unit, in the order of the source; without `with_rows`, units may lack their rows.

        What breaks the format comes as a `BadRecord`, and reading goes on behind it. Memory does not grow with the
        number of units.
        """
        return self._format.read(path, run_tag, with_rows=with_rows)

    def read_kept(self, path: Path, run_tag: str) -> Iterator[Imported | BadRecord]:
        """Read again what was read before, to compare other units with it: the units may lack all but topics and facts.

        A digest may take its time, but only where it is asked for.
        """
        read_kept = getattr(self._format, "read_kept", None)
        return read_kept(path, run_tag) if read_kept else self.read(path, run_tag, with_rows=False)

    @property
    def landed_facts(self) -> Mapping[str, str] | None:
        """Name of a run fact → where it is in a row of `raw.debates`, for a format whose debates keep them all there.

        Such a format has no units but debates, so that new ones can be added to those that were landed before.
        """
        return getattr(self._format, "LANDED_FACTS", None)
