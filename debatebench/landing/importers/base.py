"""What an importer is: it finds the files of a foreign format and reads them as records, unit by unit."""

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

SHARED = (Topic, Debater, Judge, Dimension)
"""Records that many units of a source share."""

Key = tuple[str, ...]
"""The key of a unit: ("debate", id), ("annotation", debate id, annotator) or ("gold", debate id)."""


class BadSourceError(Exception):
    """A piece of a source violates its format; the message says in one sentence what is wrong and where."""


@dataclass(frozen=True, slots=True)
class BadRecord:
    """A piece of the source that cannot be imported: its file and line, and the reason in one sentence."""

    where: str
    reason: str


def sorted_json(value: Any) -> bytes:
    """JSON data as text that does not depend on the order of its keys or on white space."""
    return json_bytes.sorted_json(value).encode("ascii")


class Imported(NamedTuple):
    """One unit of a source: a debate, an annotation, or the gold verdicts of a debate.

    `digest` returns a SHA-256 that is equal for identical units. `shared` holds the unit's topics, debaters, judges and
    dimensions, which many units repeat; `source_position` is set when the units are combined. `rows` returns all other
    rows, given the position of the unit's debate. `run_facts` are fields of `Run` that the unit states about its run,
    and `time` is when the debate or the annotation was made.
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
        """The unit with these records; `source` is the plain data that it was read from."""
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
    """The entries of a folder with one of these suffixes, by name; hidden entries are ignored."""
    if not folder.is_dir():
        return []
    return sorted(entry for entry in folder.iterdir() if entry.suffix in suffixes and not entry.name.startswith("."))


class _Format(Protocol):
    """What the module of a format must define."""

    EXPECTED: str
    """What a user may give, as an error message names it."""

    def find_files(self, path: Path) -> list[Path]: ...

    def read(self, path: Path, run_tag: str, *, with_rows: bool) -> Iterator[Imported | BadRecord]: ...


@dataclass(frozen=True, slots=True)
class Importer:
    """A foreign format by name; its module is loaded on first use."""

    name: str

    @property
    def _format(self) -> _Format:
        return cast(_Format, import_module(f"debatebench.landing.importers.{self.name}"))

    @property
    def expected(self) -> str:
        """What a user may give, as an error message names it."""
        return self._format.EXPECTED

    def find_files(self, path: Path) -> list[Path]:
        """The files of the format at `path` (a file or folder), in reading order."""
        return self._format.find_files(path)

    def read(self, path: Path, run_tag: str, *, with_rows: bool = True) -> Iterator[Imported | BadRecord]:
        """Read `path` unit by unit, in the order of the source; without `with_rows`, units may lack their rows.

        A piece that violates the format becomes a `BadRecord`, and reading continues after it. Memory does not grow
        with the number of units.
        """
        return self._format.read(path, run_tag, with_rows=with_rows)

    @property
    def rules(self) -> int | None:
        """The version of the rules by which the format accepts units, if accepted ones can be read faster again.

        It grows whenever something that was accepted before would be refused.
        """
        return getattr(self._format, "RULES", None)

    def read_accepted(self, path: Path, run_tag: str) -> Iterator[Imported | BadRecord]:
        """Read files that these rules have accepted, with rows, without the same checks; digests may be missing."""
        read_accepted = getattr(self._format, "read_accepted", None)
        return read_accepted(path, run_tag) if read_accepted else self.read(path, run_tag)

    def read_kept(self, path: Path, run_tag: str) -> Iterator[Imported | BadRecord]:
        """Read kept files again, to compare new units with them: the units may lack everything but topics and facts.

        Computing a digest may be slow, but happens only on request.
        """
        read_kept = getattr(self._format, "read_kept", None)
        return read_kept(path, run_tag) if read_kept else self.read(path, run_tag, with_rows=False)

    @property
    def landed_facts(self) -> Mapping[str, str] | None:
        """Name of a run fact → its place in a row of `raw.debates`, for a format whose debates keep all facts there.

        All units of such a format are debates, so that new ones can be added to those that landed before.
        """
        return getattr(self._format, "LANDED_FACTS", None)
