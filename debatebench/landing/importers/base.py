"""What an importer is: it finds the files of a foreign format and reads them, unit by unit, as records."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, cast

from debatebench.shared import json_bytes

if TYPE_CHECKING:
    from debatebench.shared.records import Record, Topic

__all__ = ["BadRecord", "BadSourceError", "Imported", "Importer", "Key", "Unit", "sorted_json", "visible_files"]

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


@dataclass(frozen=True, slots=True)
class Imported:
    """One unit of a source with all its rows: a debate, an annotation, or the gold verdicts of a debate.

    `source` is the plain data that the unit was read from, and `canonical` writes it in the one way that is the same
    for identical units. `records` also hold the unit's share of topics, debaters, judges and dimensions, which many
    units repeat; `source_position` is set when the units are put together. `run_facts` are fields of `Run` that the
    unit states about the run it comes from.
    """

    key: Key
    where: str
    source: Any
    records: tuple[Record, ...]
    run_facts: Mapping[str, Any] = field(default_factory=dict)
    canonical: Callable[[Any], bytes] = sorted_json

    def digest(self) -> bytes:
        """SHA-256 that tells whether two units with one key are identical."""
        return hashlib.sha256(self.canonical(self.source)).digest()


@dataclass(frozen=True, slots=True)
class Unit:
    """What there is to know about a unit before its rows matter: enough to compare it with others.

    `digest` gives the SHA-256 of the unit's canonical form. `is_plain` says that the unit obeys the rules by which its
    format can be landed without making records (see `Part.plain_rules`).
    """

    key: Key
    where: str
    digest: Callable[[], bytes]
    topics: tuple[Topic, ...]
    run_facts: Mapping[str, Any]
    is_plain: bool = False

    @classmethod
    def of(cls, unit: Imported) -> Unit:
        """The unit without its rows."""
        from debatebench.shared.records import Topic

        topics = tuple(record for record in unit.records if isinstance(record, Topic))
        return cls(unit.key, unit.where, unit.digest, topics, unit.run_facts)


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

    def read(self, path: Path, run_tag: str) -> Iterator[Imported | BadRecord]: ...


class _PlainFormat(Protocol):
    """What a format offers on top, if its units may be so plain that they can be checked and landed without records."""

    PLAIN_RULES: int
    """Version of the rules for plain units."""

    def scan(self, path: Path, run_tag: str, are_plain: bool) -> Iterator[Unit | BadRecord]: ...


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

    @property
    def plain_rules(self) -> int | None:
        """Version of the rules for plain units; None for a format that has none."""
        return getattr(self._format, "PLAIN_RULES", None)

    def find_files(self, path: Path) -> list[Path]:
        """The files at `path` (a file or folder) that the format consists of, in reading order."""
        return self._format.find_files(path)

    def read(self, path: Path, run_tag: str) -> Iterator[Imported | BadRecord]:
        """Read `path` unit by unit, in the order of the source.

        What breaks the format comes as a `BadRecord`, and reading goes on behind it. Memory does not grow with the
        number of units.
        """
        return self._format.read(path, run_tag)

    def scan(self, path: Path, run_tag: str, *, are_plain: bool = False) -> Iterator[Unit | BadRecord]:
        """The units that `read` gives, without their rows, and quicker where they are plain.

        With `are_plain`, all are known to be: then nothing is checked, and a digest costs only when it is asked for.
        """
        if self.plain_rules is not None:
            return cast(_PlainFormat, self._format).scan(path, run_tag, are_plain)
        return (Unit.of(unit) if isinstance(unit, Imported) else unit for unit in self.read(path, run_tag))
