"""What an importer is: it finds the files of a foreign format and reads them as records, unit by unit."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Any, Literal, NamedTuple

from debatebench.shared import json_bytes
from debatebench.shared.records import Annotation, Debate, Debater, Dimension, Judge, Record, Row, Topic

SHARED = (Topic, Debater, Judge, Dimension)
"""Records that many units of a source share."""

Key = tuple[str, ...]
"""The key of a unit: ("debate", id), ("annotation", debate id, annotator) or ("gold", debate id)."""


class BadSourceError(Exception):
    """A piece of a source violates its format; the message says in one sentence what is wrong and where."""


class NotPlainError(Exception):
    """A unit that is read for the purpose `plain` is not plain."""


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


@dataclass(slots=True)
class StatedFacts:
    """Every value of each fact that units state about their run, in the order in which they occur."""

    values: dict[str, dict[Any, None]] = field(default_factory=dict)
    _last: Mapping[str, Any] = field(default_factory=dict)

    def add(self, facts: Mapping[str, Any]) -> None:
        # Most units state the same facts as the unit before, in the same object.
        if facts is not self._last:
            self._last = facts
            for name, value in facts.items():
                self.values.setdefault(name, {})[value] = None


def visible_files(folder: Path, *suffixes: str) -> list[Path]:
    """The entries of a folder with one of these suffixes, by name; hidden entries are ignored."""
    if not folder.is_dir():
        return []
    return sorted(entry for entry in folder.iterdir() if entry.suffix in suffixes and not entry.name.startswith("."))


Purpose = Literal["rows", "plain", "digests", "accepted", "outlines", "kept"]
"""What a source is read for; units may lack what the purpose does not need.

rows      checked, to land new units: they have everything
plain     checked, to land new units where DuckDB reads the rows of some tables from the source itself: these rows are
          only counted, and a unit from which it might read others raises `NotPlainError`
digests   checked, to compare new units with kept ones: without rows
accepted  to land kept units again, which the same rules have accepted: without digests
outlines  as accepted, where all units were found to be plain
kept      to compare kept units with new ones: only topics, run facts and a digest, which may be slow to compute
"""


@dataclass(frozen=True, slots=True)
class PlainRows:
    """Tables whose rows DuckDB reads from files of plain units: table → its query, with $run_tag and $paths.

    `rules` is the version of what counts as plain; it grows whenever what was plain before would be so no longer.
    """

    rules: int
    queries: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Importer:
    """A foreign format.

    `expected` is what a user may give, as an error message names it. `find_files` returns the files of the format at a
    path (a file or folder), in reading order. `read` yields what is at a path, given a run tag, unit by unit in the
    order of the source: a piece that violates the format becomes a `BadRecord`, reading continues after it, and memory
    does not grow with the number of units.

    `rules` is the version of the rules by which the format accepts units; it grows whenever something that was accepted
    before would be refused. Without it, kept units are checked again. `landed_facts` has, for each run fact, its place
    in a row of `raw.debates`: a format that has it holds only debates, and new ones are added to those that landed.
    `plain` is what DuckDB reads from files of plain units.
    """

    expected: str
    find_files: Callable[[Path], list[Path]]
    read: Callable[[Path, str, Purpose], Iterator[Imported | BadRecord]]
    rules: int | None = None
    landed_facts: Mapping[str, str] | None = None
    plain: PlainRows | None = None
