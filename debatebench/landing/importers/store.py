"""Import: a source is checked, compared with the kept imports, and copied into the workspace."""

from __future__ import annotations

import hashlib
import os
import re
import shutil
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import partial
from itertools import cycle
from pathlib import Path
from typing import Literal

from debatebench.config.load import load_config
from debatebench.config.parts import load_rubric, load_weaknesses, part_path
from debatebench.config.types import DimensionConfig
from debatebench.journal.shards import journals_of
from debatebench.landing.annotation_journals import annotations_folder, annotators_in, folded, reviewers_in
from debatebench.landing.importers import importer_of
from debatebench.landing.importers.base import (
    BadRecord,
    Imported,
    Importer,
    Key,
    NotPlainError,
    Purpose,
    StatedFacts,
)
from debatebench.landing.importers.kept import (
    MANIFEST,
    ImportManifest,
    KeptFile,
    OnConflict,
    Part,
    TagRows,
    TopicIds,
    kept_units,
    read_import_manifest,
)
from debatebench.landing.land import RowFiles
from debatebench.landing.run_marks import check_not_archived
from debatebench.shared.activity import doing
from debatebench.shared.amounts import counted
from debatebench.shared.errors import BusyError, DamagedDataError, DebatebenchError, UsageError
from debatebench.shared.files import sync_path, write_atomically
from debatebench.shared.locks import take_lock
from debatebench.shared.records import Topic
from debatebench.shared.workspace import Workspace, check_run_tag, inside

_INCOMING = ".incoming"
_ROWS = ".rows"
_BLOCK = 1024 * 1024
_MOST_LISTED = 20
VERDICTS = "verdicts"
"""The format that can be added to a tag of any format."""
_FACTS_OF_A_RUN = ("benchmark_version", "rubric_version", "seed")
_KINDS = {"debate": "debates", "verdict": "verdicts", "annotation": "annotations", "gold": "debates' gold verdicts"}


@dataclass(frozen=True, slots=True)
class ImportReport:
    """What an import did: units added (by kind), ignored and replaced, and where they are kept if anything is new."""

    run_tag: str
    added: dict[str, int]
    ignored: int
    replaced: int
    part: Path | None
    warnings: tuple[str, ...]
    rows: RowFiles | None = None

    def summary(self) -> str:
        """One line for people."""
        added = ", ".join(f"{count:,} {_KINDS[kind]}" for kind, count in self.added.items()) or "nothing"
        kept = f"; kept in {self.part}" if self.part else ""
        return f"{self.run_tag}: {added} added, {self.ignored:,} identical ignored, {self.replaced:,} replaced{kept}"


@contextmanager
def importing(
    workspace: Workspace,
    run_tag: str,
    format_name: str,
    path: Path,
    *,
    replace: bool = False,
    rubric: str | None = None,
    weaknesses: Path | None = None,
    on_conflict: OnConflict | Literal["refuse"] | None = None,
    with_rows: bool = True,
) -> Iterator[ImportReport]:
    """Keep the records at `path` (a file or folder of the format) under `run_tag`, unless they are kept already.

    A unit that is kept already is ignored if it is identical and refused if it differs; with `replace` the new one
    counts from then on. The first import under a tag freezes the workspace's rating settings. `rubric` names a file of
    configs/rubrics/; it is frozen, too, and says what the source does not say: scales of dimensions and what scores
    mean, or all dimensions of a source without any. `weaknesses` is a file as `run --weaknesses` takes it; frozen, too,
    it says on which dimensions the weaknesses of the source should cost points. Only `replace` exchanges either.
    Two motions under one topic id are refused, or with `on_conflict="keep-both"`, which the tag keeps, told apart
    by their ids. Verdicts (the format `verdicts`) can be added to imports of any format. Either everything is kept
    or nothing: `DamagedDataError` lists bad records with file and line, `DebatebenchError` names a differing unit,
    `UsageError` a tag (also of an archived run), format or path that cannot be used or an annotator who has annotated
    here, `BusyError` another import into the same tag.

    The tag is locked against other imports until the context ends. Until then, the first import under a tag provides
    its rows, so that landing need not read the source again.
    """
    check_run_tag(run_tag)
    importer = importer_of(format_name)
    if journals_of(workspace.journal, run_tag):
        raise UsageError(f"'{run_tag}' is a run that was played in this workspace; import under another tag.")
    dimensions = None if rubric is None else load_rubric(part_path(workspace, "rubrics", rubric)).dimensions
    suffering = None if weaknesses is None else load_weaknesses(weaknesses).dimensions()
    files = _files(importer, format_name, path)
    folder = workspace.imports / run_tag
    with _only_importer(workspace.imports, run_tag):
        check_not_archived(workspace, run_tag)
        config = load_config(workspace.config_file("config.yaml"), needs_rounds=False)
        manifest = read_import_manifest(folder) or ImportManifest(run_tag=run_tag, format=format_name, elo=config.elo)
        if manifest.format != format_name and format_name != VERDICTS:
            raise UsageError(
                f"'{run_tag}' contains imports of the format '{manifest.format}'; import '{format_name}' under "
                "another tag."
            )
        annotations = annotations_folder(workspace.journal, run_tag)
        here = _PeopleHere(annotators_in(annotations), reviewers_in(annotations))
        if rubric is not None and dimensions is not None:
            manifest = _with_rubric(manifest, rubric, dimensions, here, replace=replace)
        if suffering is not None:
            if manifest.weaknesses not in (None, suffering) and not replace:
                raise UsageError(
                    f"'{run_tag}' was imported with other dimensions of its weaknesses; --replace puts those of "
                    f"{weaknesses} in their place."
                )
            manifest = manifest.changed(weaknesses=suffering, manifest_version=2)
        if on_conflict == "keep-both":
            manifest = manifest.changed(on_conflict=on_conflict, manifest_version=2)
        apart = manifest.on_conflict == "keep-both" and on_conflict != "refuse"
        incoming = _Incoming(importer, format_name, path, files, apart)
        try:
            yield _import(incoming, folder, manifest, here, replace=replace, with_rows=with_rows)
        finally:
            _clear(folder)


def _with_rubric(
    manifest: ImportManifest, name: str, dimensions: dict[str, DimensionConfig], here: _PeopleHere, *, replace: bool
) -> ImportManifest:
    if manifest.rubric is not None and manifest.rubric != dimensions and not replace:
        raise UsageError(
            f"'{manifest.run_tag}' was imported with another rubric, or with other scales in it; --replace puts the "
            f"rubric '{name}' in its place."
        )
    people = [*here.annotators, *here.reviewers]
    if manifest.rubric not in (None, dimensions) and people:
        raise UsageError(
            f"'{manifest.run_tag}' was judged here with its present rubric by {', '.join(people)}; for the rubric "
            f"'{name}', import under another tag."
        )
    return manifest.changed(rubric=dimensions)


@dataclass(frozen=True, slots=True)
class _Incoming:
    """What is to be imported; `keeps_topics_apart` where two motions under one id are two topics."""

    importer: Importer
    format_name: str
    path: Path
    files: list[Path]
    keeps_topics_apart: bool


def _import(
    incoming: _Incoming,
    folder: Path,
    manifest: ImportManifest,
    people_here: _PeopleHere,
    *,
    replace: bool,
    with_rows: bool,
) -> ImportReport:
    _clear(folder)
    path = incoming.path
    row_files = None
    try:
        root, copies = _copy(incoming.files, path, folder / _INCOMING)
        if with_rows and not manifest.parts:
            (folder / _ROWS).mkdir(parents=True)
            row_files = RowFiles(folder / _ROWS, manifest.run_tag)
        source = _read(incoming, folder / _INCOMING / root, manifest, row_files)
        additions = _compare_with_kept(source, incoming, folder / _INCOMING / root, folder, manifest, replace=replace)
        for verb, theirs, ours in (
            ("annotated", additions.annotators, people_here.annotators),
            ("reviewed", additions.reviewers, people_here.reviewers),
        ):
            if both := sorted(name for name in ours if folded(name) in map(folded, theirs)):
                raise UsageError(
                    f"'{both[0]}' has {verb} '{manifest.run_tag}' in this workspace, and {path} has verdicts of the "
                    "same name; import them under another tag."
                )
        is_new = additions.added or additions.replaced
        is_plain = source.is_plain and not (additions.ignored or additions.replaced)
        part = _keep(folder, manifest, incoming, root, copies, additions.replaced, is_plain) if is_new else None
        if part is None and manifest != read_import_manifest(folder):
            write_atomically(folder / MANIFEST, manifest.content())
        if row_files:
            row_files.write_all(source.rows.of_all())
        return ImportReport(
            manifest.run_tag,
            additions.added,
            additions.ignored,
            len(additions.replaced),
            part,
            tuple(additions.warnings),
            row_files,
        )
    except OSError as error:
        raise DebatebenchError(f"{error.filename or folder} cannot be stored: {error.strerror}.") from error
    finally:
        if row_files:
            row_files.close()


def _files(importer: Importer, format_name: str, path: Path) -> list[Path]:
    """The files to import; each is a regular file whose name can be written in a manifest.

    A folder may come from someone else, so a link in it that leads out of it is refused.
    """
    if not path.exists():
        raise UsageError(f"There is no file or folder {path}.")
    files = importer.find_files(path) if path.is_file() or path.is_dir() else []
    if not files:
        raise UsageError(f"{path} contains nothing in the format '{format_name}', which is {importer.expected}.")
    for file in files:
        if not file.is_file():
            raise UsageError(f"{file} is not a regular file.")
        if path.is_dir():
            inside(path, file)
        if not str(file).isprintable():
            raise UsageError(f"The name {str(file)!r} contains characters that cannot be printed; rename it.")
    return files


@contextmanager
def _only_importer(imports: Path, run_tag: str) -> Iterator[None]:
    """Hold the tag's lock file, or raise `BusyError`."""
    imports.mkdir(parents=True, exist_ok=True)
    try:
        descriptor = take_lock(imports / run_tag)
    except BlockingIOError:
        raise BusyError(f"Another process is importing into '{run_tag}'; try again when it is done.") from None
    try:
        yield
    finally:
        os.close(descriptor)


def _copy(files: list[Path], path: Path, incoming: Path) -> tuple[str, tuple[KeptFile, ...]]:
    """Copy the files (never links) into `incoming` under the name of `path`; return that name and the copies."""
    root = Path(os.path.abspath(path)).name
    if not root:
        raise UsageError(f"{path} has no name of its own; give a folder in it.")
    copies = []
    for file in files:
        target = incoming / root / file.relative_to(path) if path.is_dir() else incoming / root
        target.parent.mkdir(parents=True, exist_ok=True)
        size, sha256 = _copy_file(file, target)
        copies.append(KeptFile(name=target.relative_to(incoming).as_posix(), size=size, sha256=sha256))
    return root, tuple(sorted(copies, key=lambda copy: copy.name))


def _copy_file(file: Path, target: Path) -> tuple[int, str]:
    """Copy the file's content; return its number of bytes and its SHA-256."""
    size, digest = 0, hashlib.sha256()
    # One block is hashed while the other is read and written. Allocating memory for each block would dominate the time.
    blocks = cycle([memoryview(bytearray(_BLOCK)), memoryview(bytearray(_BLOCK))])
    with file.open("rb", buffering=0) as source, target.open("xb") as copy, ThreadPoolExecutor(1) as pool:
        hashing: Future[None] | None = None
        for block in blocks:
            count = source.readinto(block)
            if not count:
                break
            copy.write(block[:count])
            if hashing is not None:
                hashing.result()
            hashing = pool.submit(digest.update, block[:count])
            size += count
    return size, digest.hexdigest()


def _keep(
    folder: Path,
    manifest: ImportManifest,
    source: _Incoming,
    root: str,
    copies: tuple[KeptFile, ...],
    replaces: tuple[Key, ...],
    is_plain: bool,
) -> Path:
    """Sync the incoming files, rename them to their number, and only then add them to the manifest."""
    incoming = folder / _INCOMING
    files = [incoming / copy.name for copy in copies]
    for inner in (*files, *sorted(f for f in incoming.rglob("*") if f.is_dir()), incoming):
        sync_path(inner)
    # After a crash, a part that is not in the manifest may have a number.
    taken = [int(entry.name) for entry in folder.iterdir() if re.fullmatch(r"\d{4,}", entry.name)]
    name = f"{max(taken, default=0) + 1:04d}"
    os.rename(incoming, folder / name)
    sync_path(folder)
    part = Part(
        name=name,
        root=root,
        files=copies,
        replaces=replaces,
        rules=source.importer.rules,
        format=None if source.format_name == manifest.format else source.format_name,
        plain_rules=source.importer.plain.rules if is_plain and source.importer.plain else None,
    )
    write_atomically(folder / MANIFEST, manifest.with_part(part).content())
    sync_path(folder)
    sync_path(folder.parent)
    return folder / name


def _clear(folder: Path) -> None:
    """Remove unfinished copies, and the tag's folder if nothing was ever kept in it."""
    shutil.rmtree(folder / _INCOMING, ignore_errors=True)
    shutil.rmtree(folder / _ROWS, ignore_errors=True)
    if folder.is_dir() and not any(folder.iterdir()):
        folder.rmdir()


@dataclass(frozen=True, slots=True)
class _Additions:
    """What a source adds: units by kind, how many are identical to kept ones, and the keys of those it replaces.

    `annotators` are the people whose annotations it adds or replaces.
    """

    added: dict[str, int]
    ignored: int
    replaced: tuple[Key, ...]
    warnings: list[str]
    annotators: frozenset[str] = frozenset()
    reviewers: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class _PeopleHere:
    """Those who have judged the debates of a tag in this workspace."""

    annotators: Sequence[str]
    reviewers: Sequence[str]


@dataclass(slots=True)
class _Agreement:
    """What the units must or should agree on: motions, categories, and facts about their run."""

    topics: dict[str, tuple[Topic, str]] = field(default_factory=dict)
    facts: StatedFacts = field(default_factory=StatedFacts)
    warnings: list[str] = field(default_factory=list)
    apart: bool = False
    motions: dict[tuple[str, str], str] = field(default_factory=dict)
    """With `apart`: each id and motion, and the place of the first debate about it."""

    def add(self, unit: Imported, where: str) -> str | None:
        """Add a unit; returns the sentence that refuses it if one of its topics has another motion than before."""
        self.facts.add(unit.run_facts)
        for topic in unit.shared:
            if not isinstance(topic, Topic):
                continue
            first, place = self.topics.setdefault(topic.topic_id, (topic, where))
            if self.apart:
                self.motions.setdefault((topic.topic_id, topic.motion), where)
            if first.motion != topic.motion:
                if self.apart:
                    continue
                return (
                    f"The topic '{topic.topic_id}' has a different motion here than in {place}; --on-conflict "
                    "keep-both makes two topics of them."
                )
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
    """A new source that has been read: only the digest of every unit is kept, because there may be a million units.

    `rows` holds back what units share, and `is_plain` says whether it was read for the purpose `plain`.
    """

    rows: TagRows
    is_plain: bool
    units: dict[Key, bytes] = field(default_factory=dict)
    repeated: int = 0
    agreement: _Agreement = field(default_factory=_Agreement)

    def has_verdicts_of_others(self) -> bool:
        """Whether there are annotations or gold verdicts, whose debates may come from another source."""
        return any(key[0] != "debate" for key in self.units)


def _compare_with_kept(
    source: _Source, incoming: _Incoming, root: Path, folder: Path, manifest: ImportManifest, *, replace: bool
) -> _Additions:
    """What the source at `root` adds to everything that `manifest` lists in `folder`.

    Raises `DebatebenchError` for units that differ from kept ones without `replace`, or from them in the motion.
    """
    debates = {key[1] for key in source.units if key[0] == "debate"} if source.has_verdicts_of_others() else None
    differing: dict[Key, str] = {}
    identical = 0
    place = partial(_place, incoming.importer, root, manifest.run_tag)
    kept = _Agreement(apart=incoming.keeps_topics_apart)
    if incoming.format_name == VERDICTS:
        _refuse_verdicts_twice(source, folder, manifest, place)
    for part, unit in kept_units(folder, manifest, "kept"):
        where = f"{part.name}/{unit.where}"
        new = source.units.get(unit.key)
        if debates is not None and unit.key[0] == "debate":
            debates.add(unit.key[1])
        if new is None or new == unit.digest():
            identical += new is not None
            kept.add(unit, where)
            refusal = source.agreement.add(unit, where)
            if refusal:
                raise DebatebenchError(
                    f"{where}: {refusal} Import all debates of that topic again with --replace, or use another tag."
                )
            if new is not None:
                del source.units[unit.key]
        elif incoming.format_name != manifest.format_of(part):
            raise DebatebenchError(
                f"{_name(unit.key)} in {place(unit.key)} is there already, with more than a row of verdicts says, in "
                f"{where}; nothing was imported. Leave out the columns that describe debates."
            )
        else:
            differing[unit.key] = where
    if differing and not replace:
        raise _refuse_differing(differing, place(next(iter(differing))), manifest)
    _refuse_verdicts_without_debates(source, debates or (), place)
    added = Counter(key[0] for key in source.units if key not in differing)
    return _Additions(
        added=dict(added),
        ignored=identical + source.repeated,
        replaced=tuple(differing),
        warnings=[
            *source.agreement.warnings,
            *_kept_apart(kept, source.agreement),
            *_orphans(source, debates),
            *_facts(source.agreement, manifest),
        ],
        annotators=frozenset(key[2] for key in source.units if key[0] == "annotation"),
        reviewers=frozenset(key[2] for key in source.units if key[0] == "adjudication"),
    )


def _refuse_verdicts_twice(
    source: _Source, folder: Path, manifest: ImportManifest, place: Callable[[Key], str]
) -> None:
    """Refuse a second verdict of a judge on a debate that is kept together with its verdicts."""
    from debatebench.landing.importers.verdicts import DEBATES, judged_in

    def has_debates(part: Part) -> bool:
        names = {Path(file.name).name for file in part.files}
        return manifest.format_of(part) != VERDICTS or DEBATES in names

    if not any(map(has_debates, manifest.parts)):
        return
    for part, unit in kept_units(folder, manifest):
        if unit.key[0] != "debate":
            continue
        for debate_id, judge_id in judged_in(unit):
            key = ("verdict", debate_id, judge_id)
            if key in source.units:
                raise DebatebenchError(
                    f"{_name(key)} in {place(key)} is one more: {part.name}/{unit.where} has a verdict of this judge "
                    "on this debate; nothing was imported. Leave it out, or give the judge another name."
                )


def _refuse_verdicts_without_debates(source: _Source, debates: Collection[str], place: Callable[[Key], str]) -> None:
    """Refuse verdicts on debates that are neither kept nor in the source."""
    orphans = [key for key in source.units if key[0] == "verdict" and key[1] not in debates]
    if orphans:
        raise DamagedDataError(
            f"{_name(orphans[0])} in {place(orphans[0])} is on a debate that is not there{_and_more(len(orphans))}, so "
            "nothing was imported; import the debates first under this tag, or add the columns pro_model_id and "
            "con_model_id."
        )


def _kept_apart(kept: _Agreement, new: _Agreement) -> list[str]:
    """A warning for each motion that lands under another id than its source gives it."""
    ids = TopicIds()
    places = {**kept.motions, **{key: where for key, where in new.motions.items() if key not in kept.motions}}
    found = [(topic_id, ids.id_of(topic_id, motion), where) for (topic_id, motion), where in places.items()]
    warnings = [
        f"The topic '{topic_id}' has another motion in {where} than before; it is kept apart as '{own}'."
        for topic_id, own, where in found
        if own != topic_id
    ]
    more = len(warnings) - _MOST_LISTED
    return [*warnings[:_MOST_LISTED], *([f"{more:,} more motions are kept apart."] if more > 0 else [])]


def _read(incoming: _Incoming, root: Path, manifest: ImportManifest, row_files: RowFiles | None) -> _Source:
    """Read the whole source, and write its rows to `row_files` if there are any.

    Raises one `DamagedDataError` that lists all bad records, and `DebatebenchError` for units that differ from each
    other.
    """
    if incoming.importer.plain is not None:
        with suppress(NotPlainError):
            return _read_for("plain", incoming, root, manifest, row_files)
        if row_files:
            row_files.clear()
    return _read_for("rows" if row_files else "digests", incoming, root, manifest, row_files)


def _read_for(
    purpose: Purpose, incoming: _Incoming, root: Path, manifest: ImportManifest, row_files: RowFiles | None
) -> _Source:
    importer, run_tag = incoming.importer, manifest.run_tag
    agreement = _Agreement(apart=incoming.keeps_topics_apart)
    source = _Source(TagRows(manifest), purpose == "plain", agreement=agreement)
    bad: list[BadRecord] = []
    repeated_otherwise: list[tuple[Key, str]] = []
    for unit in importer.read(root, run_tag, purpose):
        doing(f"Reading records of {root.name}", len(source.units))
        if isinstance(unit, BadRecord):
            bad.append(unit)
            continue
        digest = unit.digest()
        first = source.units.get(unit.key)
        if first is not None and source.is_plain:
            raise NotPlainError
        if first is not None:
            source.repeated += digest == first
            if digest != first:
                repeated_otherwise.append((unit.key, unit.where))
            continue
        source.units[unit.key] = digest
        refusal = source.agreement.add(unit, unit.where)
        if refusal:
            bad.append(BadRecord(unit.where, refusal))
        if row_files and not bad:
            row_files.write_all(source.rows.of(unit))
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
        unit.where for unit in importer.read(root, run_tag, "digests") if isinstance(unit, Imported) and unit.key == key
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
    if key[0] == "verdict":
        return f"The verdict of '{key[2]}' on '{key[1]}'"
    if key[0] == "annotation":
        return f"The annotation of '{key[1]}' by '{key[2]}'"
    return f"The debate '{key[1]}'" if key[0] == "debate" else f"The gold verdict on '{key[1]}'"


def _and_more(count: int) -> str:
    return f" (and {count - 1:,} more)" if count > 1 else ""


def _orphans(source: _Source, debates: set[str] | None) -> list[str]:
    """A warning if annotations or gold verdicts belong to missing debates; the debates may be imported later."""
    if debates is None:
        return []
    orphans = [key[1] for key in source.units if key[0] not in ("debate", "verdict") and key[1] not in debates]
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
        values = list(agreement.facts.values.get(name, ()))
        if len(values) > 1:
            shown = ", ".join(str(value) for value in values[:3])
            warnings.append(
                f"The records have {len(values)} different values of {name} ({shown}), so the run has none."
            )
    for name in ("initial_rating", "k_factor"):
        frozen = getattr(manifest.elo, name)
        other = [value for value in agreement.facts.values.get(f"elo_{name}", ()) if value != frozen]
        if other:
            warnings.append(
                f"The records were rated with the Elo {name} {other[0]:g}; the workspace's value {frozen:g}, frozen "
                "by the first import, is used here."
            )
    return warnings
