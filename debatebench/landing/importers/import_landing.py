"""Kept imports → rows of the landed tables."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

from debatebench.landing.importers import IMPORTERS
from debatebench.landing.importers.base import SHARED, Imported
from debatebench.landing.importers.manifest import ImportManifest, kept_manifest, kept_units
from debatebench.landing.land import RowFiles, land_files, land_rows
from debatebench.shared.records import Dimension, Record, Row, Run, Topic

if TYPE_CHECKING:
    import duckdb

_RUN_FACTS = ("benchmark_name", "benchmark_version", "rubric_version", "seed")
_ROWS_OF_DEBATES = ("debates", "participants", "turns", "verdicts")


@dataclass(slots=True)
class TagRows:
    """Units → the rows of their tag. Shared records are held back; `source_position` numbers debates, topics and
    dimensions in the order in which they occur.
    """

    manifest: ImportManifest
    debates: int = 0
    records: dict[tuple[Any, ...], Record] = field(default_factory=dict)
    facts: dict[str, set[Any]] = field(default_factory=dict)
    time: datetime | None = None
    _added: dict[int, Record] = field(default_factory=dict)
    _last_facts: Mapping[str, Any] = field(default_factory=dict)

    def of(self, unit: Imported) -> Iterable[Row]:
        """The rows of the unit, without those of its shared records."""
        # Most units share the same few objects.
        for record in unit.shared:
            if id(record) not in self._added:
                self._added[id(record)] = record
                self.add(record)
        if unit.run_facts is not self._last_facts:
            self._last_facts = unit.run_facts
            for name, value in unit.run_facts.items():
                self.facts.setdefault(name, set()).add(value)
        if unit.time is not None and (self.time is None or unit.time < self.time):
            self.time = unit.time
        position = self.debates
        self.debates += unit.key[0] == "debate"
        return unit.rows(position)

    def add(self, record: Record) -> None:
        """Add a shared record. The first record of a key counts; a later one supplies a missing category."""
        key = (record.table, *record.key_values())
        first = self.records.setdefault(key, record)
        if isinstance(first, Topic) and isinstance(record, Topic) and first.category is None:
            self.records[key] = first.model_copy(update={"category": record.category})

    def of_all(self) -> Iterator[Row]:
        """The rows of the shared records of all units: topics, debaters, judges, dimensions and the run."""
        counts: Counter[str] = Counter()
        for record in self.records.values():
            position = counts[record.table]
            counts[record.table] += 1
            has_position = isinstance(record, Topic | Dimension)
            yield (record.model_copy(update={"source_position": position}) if has_position else record).row()
        yield self._run().row()

    def _run(self) -> Run:
        """The run of an import: what its units agree on, with the frozen rating settings."""
        agreed = {
            name: next(iter(values)) for name, values in self.facts.items() if name in _RUN_FACTS and len(values) == 1
        }
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

    `rows` are those that `read_import` would yield, if they have been read already. `landed_sha256` is the hash of the
    manifest that landed before: if the format allows it, and if the parts added since then replace nothing, only these
    parts land. `annotated` are the rows of annotations made here, which `rows` exclude. On an error `DamagedDataError`
    is raised and nothing has changed.
    """
    if rows is not None:
        return land_files(con, rows)
    manifest = kept_manifest(folder)
    landed_parts = _landed_parts(manifest, landed_sha256)
    if not landed_parts:
        return land_rows(con, manifest.run_tag, chain(read_import(folder), annotated))
    new_rows = chain(_added(con, folder, manifest, landed_parts), annotated)
    return land_rows(con, manifest.run_tag, new_rows, added_to=_ROWS_OF_DEBATES)


def read_import(folder: Path) -> Iterator[Row]:
    """Every row of what is kept in `warehouse/imports/<tag>`, with exactly one row of a run.

    Debates are streamed; topics, debaters, judges and dimensions are held back to the end.
    """
    manifest = kept_manifest(folder)
    rows = TagRows(manifest)
    for unit in kept_units(folder, manifest):
        yield from rows.of(unit)
    yield from rows.of_all()


def _added(con: duckdb.DuckDBPyConnection, folder: Path, manifest: ImportManifest, landed_parts: int) -> Iterator[Row]:
    """The rows of debates that have not landed yet, and those that all debates share."""
    rows = TagRows(manifest)
    for kind in SHARED:
        order = "source_position" if "source_position" in kind.model_fields else "all"
        found = con.execute(f"from raw.{kind.table} where run_tag = ? order by {order}", [manifest.run_tag])
        for row in found.fetchall():
            rows.add(kind.model_validate(dict(zip(kind.model_fields, row, strict=True))))
    facts = IMPORTERS[manifest.format].landed_facts or {}
    stated = ", ".join(f"list(distinct {value}) filter ({value} is not null)" for value in facts.values())
    rows.time, debates, *values = con.execute(
        f"select min(created_at), list(debate_id), {stated} from raw.debates where run_tag = ?", [manifest.run_tag]
    ).fetchall()[0]
    rows.facts = {name: set(found or ()) for name, found in zip(facts, values, strict=True)}
    rows.debates = len(debates)
    landed = {("debate", debate_id) for debate_id in debates}
    for unit in kept_units(folder, manifest, first_part=landed_parts, landed=landed):
        yield from rows.of(unit)
    yield from rows.of_all()


def _landed_parts(manifest: ImportManifest, landed_sha256: str | None) -> int:
    """The number of parts that landed before and are unchanged, if new parts can be added to them."""
    if landed_sha256 is None or IMPORTERS[manifest.format].landed_facts is None:
        return 0
    count = manifest.parts_at(landed_sha256)
    if count is None or count == len(manifest.parts) or any(part.replaces for part in manifest.parts[count:]):
        return 0
    return count
