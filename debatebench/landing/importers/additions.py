"""What a new source adds to the kept imports: its units are checked against each other and against the kept ones."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from debatebench.landing.importers.base import BadRecord, Imported, Importer, Key
from debatebench.landing.importers.manifest import ImportManifest, compared_units
from debatebench.shared.amounts import counted
from debatebench.shared.errors import DamagedDataError, DebatebenchError
from debatebench.shared.records import Topic

_MOST_LISTED = 20
_FACTS_OF_A_RUN = ("benchmark_version", "rubric_version", "seed")


@dataclass(frozen=True, slots=True)
class Additions:
    """What a source adds: units by kind, how many are identical to kept ones, and the keys of those it replaces.

    `annotators` are the people whose annotations it adds or replaces.
    """

    added: dict[str, int]
    ignored: int
    replaced: tuple[Key, ...]
    warnings: list[str]
    annotators: frozenset[str] = frozenset()

    @property
    def is_new(self) -> bool:
        """Whether the source adds anything."""
        return bool(self.added or self.replaced)


@dataclass(slots=True)
class _Agreement:
    """What the units must or should agree on: motions, categories, and facts about their run."""

    topics: dict[str, tuple[Topic, str]] = field(default_factory=dict)
    facts: dict[str, dict[Any, None]] = field(default_factory=dict)
    warnings: list[str] = field(default_factory=list)
    last_facts: Mapping[str, Any] = field(default_factory=dict)

    def add(self, unit: Imported, where: str) -> str | None:
        """Add a unit; returns the sentence that refuses it if one of its topics has another motion than before."""
        # Most units state the same facts as the unit before, in the same object.
        if unit.run_facts is not self.last_facts:
            self.last_facts = unit.run_facts
            for name, value in unit.run_facts.items():
                self.facts.setdefault(name, {})[value] = None
        for topic in unit.shared:
            if not isinstance(topic, Topic):
                continue
            first, place = self.topics.setdefault(topic.topic_id, (topic, where))
            if first.motion != topic.motion:
                return f"The topic '{topic.topic_id}' has a different motion here than in {place}."
            self._compare_category(first, place, topic, where)
        return None

    def _compare_category(self, first: Topic, place: str, topic: Topic, where: str) -> None:
        if first.category is None:
            self.topics[topic.topic_id] = (topic, where)
        elif topic.category not in (None, first.category):
            self.warnings.append(
                f"The topic '{topic.topic_id}' has the category '{first.category}' in {place} "
                f"and '{topic.category}' in {where}; the first one is used."
            )


@dataclass(slots=True)
class _Source:
    """A new source that has been read: only the digest of every unit is kept, because there may be a million units."""

    units: dict[Key, bytes] = field(default_factory=dict)
    repeated: int = 0
    agreement: _Agreement = field(default_factory=_Agreement)

    def has_verdicts_of_others(self) -> bool:
        """Whether there are annotations or gold verdicts, whose debates may come from another source."""
        return any(key[0] != "debate" for key in self.units)


def compare_with_kept(
    importer: Importer,
    root: Path,
    folder: Path,
    manifest: ImportManifest,
    *,
    replace: bool,
    take: Callable[[Imported], None] | None = None,
) -> Additions:
    """Read the source at `root` and compare it with everything that `manifest` lists in `folder`.

    Raises `DamagedDataError` for bad records, and `DebatebenchError` for units that differ from each other or, without
    `replace`, from kept ones.
    """
    source = _read(importer, root, manifest.run_tag, take)
    debates = {key[1] for key in source.units if key[0] == "debate"} if source.has_verdicts_of_others() else None
    differing: dict[Key, str] = {}
    identical = 0
    for part, unit in compared_units(folder, manifest):
        where = f"{part.name}/{unit.where}"
        new = source.units.get(unit.key)
        if debates is not None and unit.key[0] == "debate":
            debates.add(unit.key[1])
        if new is None or new == unit.digest():
            identical += new is not None
            refusal = source.agreement.add(unit, where)
            if refusal:
                raise DebatebenchError(
                    f"{where}: {refusal} Import all debates of that topic again with --replace, or use another tag."
                )
            if new is not None:
                del source.units[unit.key]
        else:
            differing[unit.key] = where
    if differing and not replace:
        raise _refuse_differing(differing, _place(importer, root, manifest.run_tag, next(iter(differing))), manifest)
    added = Counter(key[0] for key in source.units if key not in differing)
    return Additions(
        added=dict(added),
        ignored=identical + source.repeated,
        replaced=tuple(differing),
        warnings=[*source.agreement.warnings, *_orphans(source, debates), *_facts(source.agreement, manifest)],
        annotators=frozenset(key[2] for key in source.units if key[0] == "annotation"),
    )


def _read(importer: Importer, root: Path, run_tag: str, take: Callable[[Imported], None] | None) -> _Source:
    """Read the whole source before refusing it, so that one message lists everything that is bad."""
    source = _Source()
    bad: list[BadRecord] = []
    repeated_otherwise: list[tuple[Key, str]] = []
    for unit in importer.read(root, run_tag, with_rows=take is not None):
        if isinstance(unit, BadRecord):
            bad.append(unit)
            continue
        digest = unit.digest()
        first = source.units.get(unit.key)
        if first is not None:
            source.repeated += digest == first
            if digest != first:
                repeated_otherwise.append((unit.key, unit.where))
            continue
        source.units[unit.key] = digest
        refusal = source.agreement.add(unit, unit.where)
        if refusal:
            bad.append(BadRecord(unit.where, refusal))
        if take is not None and not bad:
            take(unit)
    if bad:
        raise _refuse_bad(bad, root)
    if repeated_otherwise:
        key, where = repeated_otherwise[0]
        raise DebatebenchError(
            f"{_name(key)} in {where} differs from the one in {_place(importer, root, run_tag, key)}"
            f"{_and_more(len(repeated_otherwise))}; nothing was imported. Keep only one of them in the source."
        )
    if not source.units:
        raise DamagedDataError(f"{root.name} contains no records, so nothing was imported.")
    return source


def _place(importer: Importer, root: Path, run_tag: str, key: Key) -> str:
    """Where the unit first occurs in the source."""
    return next(
        unit.where
        for unit in importer.read(root, run_tag, with_rows=False)
        if isinstance(unit, Imported) and unit.key == key
    )


def _refuse_bad(bad: list[BadRecord], root: Path) -> DamagedDataError:
    details = [f"{record.where}: {record.reason}" for record in bad[:_MOST_LISTED]]
    if len(bad) > _MOST_LISTED:
        details.append(f"and {len(bad) - _MOST_LISTED:,} more")
    return DamagedDataError(
        f"{root.name} contains {counted(len(bad), 'bad record')}, so nothing was imported:", details
    )


def _refuse_differing(differing: dict[Key, str], where: str, manifest: ImportManifest) -> DebatebenchError:
    key, kept = next(iter(differing.items()))
    return DebatebenchError(
        f"{_name(key)} in {where} differs from the one kept under '{manifest.run_tag}' in {kept}"
        f"{_and_more(len(differing))}; nothing was imported. Use --replace to keep the new version, or use another tag."
    )


def _name(key: Key) -> str:
    if key[0] == "annotation":
        return f"The annotation of '{key[1]}' by '{key[2]}'"
    return f"The debate '{key[1]}'" if key[0] == "debate" else f"The gold verdict on '{key[1]}'"


def _and_more(count: int) -> str:
    return f" (and {count - 1:,} more)" if count > 1 else ""


def _orphans(source: _Source, debates: set[str] | None) -> list[str]:
    """A warning if annotations or gold verdicts belong to missing debates; the debates may be imported later."""
    if debates is None:
        return []
    orphans = [key[1] for key in source.units if key[0] != "debate" and key[1] not in debates]
    if not orphans:
        return []
    return [
        f"{len(orphans):,} annotations or gold verdicts belong to missing debates (the first: '{orphans[0]}'); they "
        "are kept, and are used once the debates are imported under the same tag."
    ]


def _facts(agreement: _Agreement, manifest: ImportManifest) -> list[str]:
    """Warnings about facts that the records state and the run will not show."""
    warnings = []
    for name in _FACTS_OF_A_RUN:
        values = list(agreement.facts.get(name, ()))
        if len(values) > 1:
            shown = ", ".join(str(value) for value in values[:3])
            warnings.append(
                f"The records have {len(values)} different values of {name} ({shown}), so the run has none."
            )
    for name in ("initial_rating", "k_factor"):
        frozen = getattr(manifest.elo, name)
        other = [value for value in agreement.facts.get(f"elo_{name}", ()) if value != frozen]
        if other:
            warnings.append(
                f"The records were rated with the Elo {name} {other[0]:g}; the workspace's value {frozen:g}, frozen "
                "by the first import, is used here."
            )
    return warnings
