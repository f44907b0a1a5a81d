"""Kept imports: `warehouse/imports/<tag>/manifest.json`, numbered parts with exact copies of the sources, and the rows
of the landed tables that they become.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from itertools import chain
from itertools import count as counting
from pathlib import Path
from typing import Annotated, Any, Literal

import duckdb
import msgspec
from pydantic import AfterValidator, BaseModel, ConfigDict, ValidationError

from debatebench.config.types import DimensionConfig, EloConfig
from debatebench.landing.importers import importer_of
from debatebench.landing.importers.base import SHARED, BadRecord, Imported, Key, Purpose, StatedFacts
from debatebench.landing.land import Query, RowFiles, land_files, land_rows
from debatebench.shared.errors import DamagedDataError, DebatebenchError, NewerDataError, UsageError
from debatebench.shared.json_bytes import from_json
from debatebench.shared.records import Debate, Dimension, Record, Row, Run, Topic, Weakness

MANIFEST = "manifest.json"
_MANIFEST_VERSION = 2
_RUN_FACTS = ("benchmark_name", "benchmark_version", "rubric_version", "seed")
_write_json = msgspec.json.encode
_ROWS_OF_DEBATES = ("debates", "participants", "turns", "verdicts")


class _Frozen(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


def _plain_name(name: str) -> str:
    if name in ("", ".", "..") or "/" in name or "\0" in name:
        raise ValueError(f"{name!r} is not the name of a file or folder")
    return name


PlainName = Annotated[str, AfterValidator(_plain_name)]


OnConflict = Literal["keep-both"]


class KeptFile(_Frozen):
    """One copied file: its path inside the part, and its size and hash when it was copied."""

    name: str
    size: int
    sha256: str


class Part(_Frozen):
    """What one import added: `root` is the imported file or folder, under its own name."""

    name: PlainName
    root: PlainName
    files: tuple[KeptFile, ...]
    replaces: tuple[tuple[str, ...], ...] = ()
    """Keys of units whose versions in earlier parts no longer count."""
    rules: int | None = None
    """The rules of the format that accepted the files; see `Importer`."""
    format: str | None = None
    """The part's format where it is not that of the tag: verdicts on debates of another format."""
    plain_rules: int | None = None
    """The rules by which every unit is plain, if each of them counts; see `PlainRows`."""


class ImportManifest(_Frozen):
    """What is kept under one tag, in the order of import, with the settings that the first import froze."""

    manifest_version: Literal[1, 2] = 1
    """2 where an earlier version of debatebench would misread it: with parts of two formats, or topics kept apart."""
    run_tag: str
    format: str
    elo: EloConfig
    rubric: dict[str, DimensionConfig] | None = None
    """Dimensions whose scales hold where the source states none; None if no rubric was named."""
    weaknesses: dict[str, str] | None = None
    """Weakness → dimension on which it should cost points, where the source states none; None if no file was named."""
    parts: tuple[Part, ...] = ()
    on_conflict: OnConflict | None = None
    """What becomes of two motions under one topic id; None: such debates are refused."""
    former: tuple[str, ...] | None = None
    """The SHA-256 of the manifest's file before each change of the rubric, the weaknesses or `on_conflict`."""

    def content(self) -> str:
        """The content of the manifest's file."""
        # A part without rules is written as earlier versions wrote it.
        return self.model_dump_json(indent=2, exclude_none=True) + "\n"

    def changed(self, **settings: Any) -> ImportManifest:
        """The manifest with other settings, which remembers what it was."""
        new = self.model_copy(update=settings)
        if new == self or not self.parts:
            return new
        counts = range(1, len(self.parts) + 1)
        hashes = [self.model_copy(update={"parts": self.parts[:count]}).sha256() for count in counts]
        return new.model_copy(update={"former": (*(self.former or ()), *hashes)})

    def with_part(self, part: Part) -> ImportManifest:
        """The manifest with one more part."""
        version = 2 if part.format or self.on_conflict or self.weaknesses else self.manifest_version
        return self.model_copy(update={"parts": (*self.parts, part), "manifest_version": version})

    def format_of(self, part: Part) -> str:
        """The format of a part."""
        return part.format or self.format

    def is_plain(self, part: Part) -> bool:
        """Whether DuckDB can read rows from the files of a part, because each of its units is plain and counts."""
        plain = importer_of(self.format_of(part)).plain
        is_plain = plain is not None and part.plain_rules == plain.rules
        return is_plain and not any(each.replaces for each in self.parts)

    def sha256(self) -> str:
        """The SHA-256 of the content of the manifest's file."""
        return hashlib.sha256(self.content().encode()).hexdigest()

    def was(self, sha256: str) -> bool:
        """Whether the file ever had this hash: with fewer parts, or with another rubric or other weaknesses."""
        return self.parts_at(sha256) is not None or sha256 in (self.former or ())

    def parts_at(self, sha256: str) -> int | None:
        """How many of the parts there were when the file had this hash; None if it never had."""
        for count in range(len(self.parts), 0, -1):
            for version in {1, self.manifest_version}:
                earlier = {"parts": self.parts[:count], "manifest_version": version}
                if self.model_copy(update=earlier).sha256() == sha256:
                    return count
        return None


def read_import_manifest(folder: Path) -> ImportManifest | None:
    """The manifest of a tag's folder; None if there is none yet. Raises `DamagedDataError` for an invalid file."""
    path = folder / MANIFEST
    if not path.exists():
        return None
    content = path.read_bytes()
    _refuse_newer(path, content)
    try:
        manifest = ImportManifest.model_validate_json(content)
    except ValidationError as error:
        fault = error.errors(include_url=False)[0]
        place = ".".join(map(str, fault["loc"])) or "the file"
        raise DamagedDataError(f"{path} was changed after it was written: {place}: {fault['msg']}.") from error
    try:
        for part_format in {manifest.format, *map(manifest.format_of, manifest.parts)}:
            importer_of(part_format)
    except UsageError as error:
        raise NewerDataError(
            f"{path} cannot be read: {error} A newer version of debatebench may know it too."
        ) from None
    except DebatebenchError as error:
        raise NewerDataError(f"{path} cannot be read: {error}") from error
    return manifest


def _refuse_newer(path: Path, content: bytes) -> None:
    """Refuse the manifest of a newer version, which has not changed after it was written."""
    try:
        version = from_json(content)["manifest_version"]
    except (ValueError, TypeError, KeyError, RecursionError):
        return
    if isinstance(version, int) and version > _MANIFEST_VERSION:
        raise NewerDataError(
            f"{path} was written by a newer version of debatebench, which is needed to read it (manifest version "
            f"{version}; this one reads {_MANIFEST_VERSION})."
        )


def kept_manifest(folder: Path) -> ImportManifest:
    """The manifest of a tag's folder. Raises `DamagedDataError` if it is missing or invalid."""
    manifest = read_import_manifest(folder)
    if manifest is None:
        raise DamagedDataError(f"{folder} is not a kept import: it has no {MANIFEST}.")
    return manifest


def kept_units(
    folder: Path,
    manifest: ImportManifest,
    purpose: Purpose = "accepted",
    *,
    first_part: int = 0,
    landed: Collection[Key] = (),
) -> Iterator[tuple[Part, Imported]]:
    """Every unit that counts, with its part: one per key, without those that a later part replaces.

    Parts before `first_part` and the `landed` units are left out; parts that other rules accepted are checked again.
    For `outlines`, units of parts that are not plain have all their rows.
    Memory grows with the number of keys, not with the size of the units. Raises `DamagedDataError` if a kept file has
    changed since it was copied.
    """
    replaced = {key: index for index, part in enumerate(manifest.parts) for key in part.replaces}
    seen = set(landed)
    for index, part in enumerate(manifest.parts[first_part:], first_part):
        check_part(folder, manifest, part)
        importer = importer_of(manifest.format_of(part))
        is_accepted = part.rules is not None and part.rules == importer.rules
        needed = purpose
        if purpose == "outlines" and not manifest.is_plain(part):
            needed = "accepted"
        if needed == "accepted" and not is_accepted:
            needed = "rows"
        for unit in importer.read(folder / part.name / part.root, manifest.run_tag, needed):
            if isinstance(unit, BadRecord):
                place = f"{folder / part.name}: {unit.where}"
                raise DamagedDataError(f"{place}: this version of debatebench cannot read a kept record: {unit.reason}")
            if unit.key not in seen and replaced.get(unit.key, index) <= index:
                seen.add(unit.key)
                yield part, unit


def check_part(folder: Path, manifest: ImportManifest, part: Part) -> None:
    """Raise `DamagedDataError` if the files of a part have changed since they were copied."""
    inside = folder / part.name
    files = importer_of(manifest.format_of(part)).find_files(inside / part.root)
    expected = {file.name for file in part.files}
    names = {file.relative_to(inside).as_posix() for file in files if file.is_file()}
    if names != expected:
        name = sorted(names ^ expected)[0]
        raise DamagedDataError(
            f"{inside / name} is {'missing' if name in expected else 'not part of what was imported'}."
        )
    for file in files:
        if not file.resolve().is_relative_to(inside.resolve()):
            raise DamagedDataError(f"{file} is a link to another place, and was a file when it was imported.")
    for kept in part.files:
        with (inside / kept.name).open("rb") as content:
            if hashlib.file_digest(content, "sha256").hexdigest() != kept.sha256:
                raise DamagedDataError(
                    f"{inside / kept.name} has changed since it was imported; put the original file back "
                    f"({kept.size:,} bytes, SHA-256 {kept.sha256})."
                )


@dataclass(slots=True)
class TopicIds:
    """Ids of topics by which two motions under one id are told apart: the first keeps the id, the next is `id~2`."""

    motions: dict[str, str] = field(default_factory=dict)
    apart: dict[tuple[str, str], str] = field(default_factory=dict)

    def id_of(self, topic_id: str, motion: str) -> str:
        """The id under which the topic lands; the same for the same id and motion."""
        if self.motions.setdefault(topic_id, motion) == motion:
            return topic_id
        if (topic_id, motion) not in self.apart:
            new = next(name for n in counting(2) if (name := f"{topic_id}~{n}") not in self.motions)
            self.motions[new] = motion
            self.apart[topic_id, motion] = new
        return self.apart[topic_id, motion]


def _renamed(rows: Iterable[Row], ids: Mapping[str, str]) -> Iterator[Row]:
    for row in rows:
        if row.table != Debate.table:
            yield row
            continue
        debate = from_json(row.json)
        yield row._replace(json=_write_json({**debate, "topic_id": ids[debate["topic_id"]]}))


@dataclass(slots=True)
class TagRows:
    """Units → the rows of their tag. Shared records are held back; `source_position` numbers debates, topics and
    dimensions in the order in which they occur.
    """

    manifest: ImportManifest
    debates: int = 0
    records: dict[tuple[Any, ...], Record] = field(default_factory=dict)
    facts: StatedFacts = field(default_factory=StatedFacts)
    time: datetime | None = None
    topics: TopicIds = field(default_factory=lambda: TopicIds())
    _added: dict[int, Record] = field(default_factory=dict)

    def of(self, unit: Imported) -> Iterable[Row]:
        """The rows of the unit, without those of its shared records."""
        if self.manifest.on_conflict == "keep-both":
            unit = self._kept_apart(unit)
        # Most units share the same few objects.
        for record in unit.shared:
            if id(record) not in self._added:
                self._added[id(record)] = record
                self.add(record)
        self.facts.add(unit.run_facts)
        if unit.time is not None and (self.time is None or unit.time < self.time):
            self.time = unit.time
        position = self.debates
        self.debates += unit.key[0] == "debate"
        rows = unit.rows(position)
        return rows if self.manifest.weaknesses is None else self._with_dimensions(rows, self.manifest.weaknesses)

    @staticmethod
    def _with_dimensions(rows: Iterable[Row], dimensions: Mapping[str, str]) -> Iterator[Row]:
        """The rows; weaknesses without a dimension have that of their type."""
        for row in rows:
            if row.table != Weakness.table:
                yield row
                continue
            weakness = Weakness.model_validate(from_json(row.json))
            dimension = weakness.dimension or dimensions.get(weakness.weakness_type)
            yield weakness.model_copy(update={"dimension": dimension}).row()

    def _kept_apart(self, unit: Imported) -> Imported:
        """The unit under the ids of its topics by which their motions can be told apart."""
        topics = [record for record in unit.shared if isinstance(record, Topic)]
        ids = {topic.topic_id: self.topics.id_of(topic.topic_id, topic.motion) for topic in topics}
        if all(name == own for name, own in ids.items()):
            return unit
        shared = tuple(
            record.model_copy(update={"topic_id": ids[record.topic_id]}) if isinstance(record, Topic) else record
            for record in unit.shared
        )
        return unit._replace(shared=shared, rows=lambda position: _renamed(unit.rows(position), ids))

    def add(self, record: Record) -> None:
        """Add a shared record. The first record of a key counts; a later one supplies a missing category."""
        key = (record.table, *record.key_values())
        first = self.records.setdefault(key, record)
        if isinstance(first, Topic) and isinstance(record, Topic) and first.category is None:
            self.records[key] = first.model_copy(update={"category": record.category})

    def of_all(self) -> Iterator[Row]:
        """The rows of the shared records of all units: topics, debaters, judges, dimensions and the run."""
        counts: Counter[str] = Counter()
        for record in self._with_scales():
            position = counts[record.table]
            counts[record.table] += 1
            has_position = isinstance(record, Topic | Dimension)
            yield (record.model_copy(update={"source_position": position}) if has_position else record).row()
        yield self._run().row()

    def _with_scales(self) -> Iterator[Record]:
        """The shared records; a rubric of the import supplies scales, and dimensions if the source has none."""
        rubric = self.manifest.rubric or {}
        has_dimensions = False
        for record in self.records.values():
            if isinstance(record, Dimension):
                has_dimensions = True
                if record.dimension in rubric and None in (record.min_score, record.max_score):
                    record = record.model_copy(update=rubric[record.dimension].columns())
            yield record
        if not has_dimensions:
            for position, (name, dimension) in enumerate(rubric.items()):
                yield Dimension(
                    run_tag=self.manifest.run_tag, dimension=name, source_position=position, **dimension.columns()
                )

    def _run(self) -> Run:
        """The run of an import: what its units agree on, with the frozen rating settings."""
        stated = self.facts.values
        agreed = {name: next(iter(stated[name])) for name in _RUN_FACTS if len(stated.get(name, ())) == 1}
        elo = self.manifest.elo
        return Run(
            run_tag=self.manifest.run_tag,
            source="import",
            format=self.manifest.format,
            created_at=self.time,
            elo_initial_rating=elo.initial_rating,
            elo_k_factor=elo.k_factor,
            min_games_for_display=elo.min_games_for_display,
            config={"elo": elo.model_dump()},
            **agreed,
        )


def land_import(
    con: duckdb.DuckDBPyConnection,
    folder: Path,
    landed_sha256: str | None = None,
    rows: RowFiles | None = None,
    annotated: Iterable[Row] = (),
) -> dict[str, int]:
    """Land what is kept in `warehouse/imports/<tag>`, and return the tag's resulting rows per table.

    `rows` are those that `read_import` would yield for `outlines`, if they have been read already. `landed_sha256` is
    the hash of the manifest that landed before: if the format allows it, if the parts added since then replace nothing,
    and if no rubric may have stood in for all dimensions, only these parts land. `annotated` are the rows of
    annotations made here, which `rows` exclude. On an error `DamagedDataError` is raised and nothing has changed.
    """
    manifest = kept_manifest(folder)
    landed_parts = 0 if rows is not None else _landed_parts(manifest, landed_sha256)
    if landed_parts and _may_have_dimensions_of_rubric_alone(con, manifest):
        landed_parts = 0
    queries = _queries(folder, manifest, landed_parts)
    added_to = _ROWS_OF_DEBATES if landed_parts else ()
    annotated = list(annotated)

    def new_rows(purpose: Purpose) -> Iterator[Row]:
        if landed_parts:
            return chain(_added(con, folder, manifest, landed_parts, purpose), annotated)
        return chain(read_import(folder, purpose), annotated)

    try:
        if rows is not None:
            return land_files(con, rows, queries=queries)
        return land_rows(con, manifest.run_tag, new_rows("outlines"), added_to=added_to, queries=queries)
    except (duckdb.InvalidInputException, duckdb.ConversionException, duckdb.IOException):
        if not queries:
            raise
        # For this version of DuckDB, something is not as plain as it was found to be.
        return land_rows(con, manifest.run_tag, new_rows("accepted"), added_to=added_to)


def _queries(folder: Path, manifest: ImportManifest, first_part: int) -> list[Query]:
    """What DuckDB reads from the files of plain parts."""
    return [
        Query(table, sql, [folder / part.name / file.name for file in part.files])
        for part in manifest.parts[first_part:]
        if (plain := importer_of(manifest.format_of(part)).plain) and manifest.is_plain(part)
        for table, sql in plain.queries.items()
    ]


def read_import(folder: Path, purpose: Purpose = "accepted") -> Iterator[Row]:
    """Every row of what is kept in `warehouse/imports/<tag>`, with exactly one row of a run.

    Debates are streamed; topics, debaters, judges and dimensions are held back to the end. For `outlines`, rows of
    plain parts that DuckDB reads are only counted.
    """
    manifest = kept_manifest(folder)
    rows = TagRows(manifest)
    for _, unit in kept_units(folder, manifest, purpose):
        yield from rows.of(unit)
    yield from rows.of_all()


def _added(
    con: duckdb.DuckDBPyConnection, folder: Path, manifest: ImportManifest, landed_parts: int, purpose: Purpose
) -> Iterator[Row]:
    """The rows of debates that have not landed yet, and those that all debates share."""
    rows = TagRows(manifest)
    for kind in SHARED:
        order = "source_position" if "source_position" in kind.model_fields else "all"
        found = con.execute(f"from raw.{kind.table} where run_tag = ? order by {order}", [manifest.run_tag])
        for row in found.fetchall():
            rows.add(kind.model_validate(dict(zip(kind.model_fields, row, strict=True))))
    facts = importer_of(manifest.format).landed_facts or {}
    stated = ", ".join(f"list(distinct {value}) filter ({value} is not null)" for value in facts.values())
    rows.time, debates, *values = con.execute(
        f"select min(created_at), list(debate_id), {stated} from raw.debates where run_tag = ?", [manifest.run_tag]
    ).fetchall()[0]
    rows.facts.values = {name: dict.fromkeys(found or ()) for name, found in zip(facts, values, strict=True)}
    rows.debates = len(debates)
    landed = {("debate", debate_id) for debate_id in debates}
    for _, unit in kept_units(folder, manifest, purpose, first_part=landed_parts, landed=landed):
        yield from rows.of(unit)
    yield from rows.of_all()


def _may_have_dimensions_of_rubric_alone(con: duckdb.DuckDBPyConnection, manifest: ImportManifest) -> bool:
    """Whether all landed dimensions may be those of the rubric, which count only while no debate states any."""
    if not manifest.rubric:
        return False
    query = "select count(*) from raw.verdicts where run_tag = ? and len(scores) > 0"
    return con.execute(query, [manifest.run_tag]).fetchall() == [(0,)]


def _landed_parts(manifest: ImportManifest, landed_sha256: str | None) -> int:
    """The number of parts that landed before and are unchanged, if new parts can be added to them."""
    if landed_sha256 is None or importer_of(manifest.format).landed_facts is None:
        return 0
    if manifest.on_conflict or any(part.format for part in manifest.parts):
        return 0
    count = manifest.parts_at(landed_sha256)
    if count is None or count == len(manifest.parts) or any(part.replaces for part in manifest.parts[count:]):
        return 0
    return count
