"""The sources of the warehouse: journals and kept imports, and whether they still hold all that was landed."""

from __future__ import annotations

import hashlib
from contextlib import closing
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import IO

import duckdb

from debatebench.journal.reading import end_of_lines, has_begun, read_journal
from debatebench.journal.shards import Shard, folders_of_shards, read_shards
from debatebench.landing.annotation_journals import annotation_rows, annotations_folder, begun_journals
from debatebench.landing.land import RowFiles, land_rows
from debatebench.landing.run_marks import check_not_archived, read_marks
from debatebench.query.run_tags import landing_columns, landing_order
from debatebench.query.safe_query import open_for_query
from debatebench.query.sql_project import load_project
from debatebench.shared.errors import DamagedDataError, DebatebenchError, UsageError
from debatebench.shared.hashing import hash_of
from debatebench.shared.json_bytes import from_json, to_json
from debatebench.shared.memory import check_memory
from debatebench.shared.workspace import Workspace, packaged

_BLOCK = 1 << 20


@dataclass(frozen=True, slots=True)
class Content:
    """What a source holds: a hash that changes if its records may have changed, and a size that never shrinks.

    The size is the number of bytes in a journal's whole lines, or the number of parts of an import; None if the landing
    was recorded by a version that did not record it. `annotated` has the same two of every journal of annotations: its
    name, its number of bytes, its hash.
    """

    source_sha256: str
    size: int | None
    annotated: tuple[tuple[str, int, str], ...] = ()
    shards: tuple[tuple[str, int, str], ...] = ()
    """The same of the journal of every shard (`2-of-8`), for a run in shards."""

    @property
    def sha256(self) -> str:
        """One hash of everything."""
        if not self.annotated:
            return self.source_sha256
        return hash_of(self.source_sha256, *(f"{name} {sha256}" for name, _, sha256 in self.annotated))

    @property
    def annotations(self) -> str | None:
        """What `meta.landings` keeps of a run with annotations or shards, to be read by `of_landing`."""
        if not self.annotated and not self.shards:
            return None
        shards = {"shards": self.shards} if self.shards else {}
        return to_json({"source_sha256": self.source_sha256, "journals": self.annotated, **shards}).decode()

    @classmethod
    def of_landing(cls, sha256: str, size: int | None, annotations: str | None) -> Content:
        """The content that a landing has recorded."""
        if annotations is None:
            return cls(sha256, size)
        kept = from_json(annotations.encode())
        annotated, shards = (
            tuple((name, int(end), sha) for name, end, sha in kept.get(key, ())) for key in ("journals", "shards")
        )
        return cls(kept["source_sha256"], size, annotated, shards)


@dataclass(frozen=True, slots=True)
class LandingSource:
    """Where a run tag's records come from, and the annotations made here.

    That is a journal, a folder with the journals of shards, or a folder of kept imports.
    """

    run_tag: str
    path: Path
    is_journal: bool
    annotations: Path
    """The folder with the journals of annotations, which need not exist."""
    rows: RowFiles | None = None
    """The rows of an import, if they have been read already."""

    def land(self, con: duckdb.DuckDBPyConnection, landed: Content | None) -> dict[str, int]:
        """Land the tag and return its rows per table; `landed` is what landed before, if any."""
        annotated = annotation_rows(self.annotations, self.run_tag)
        if self.is_journal:
            from debatebench.landing.journal_records import journal_rows

            return land_rows(con, self.run_tag, chain(journal_rows(self.path), annotated))
        from debatebench.landing.importers.kept import land_import

        rows = None if begun_journals(self.annotations) else self.rows
        return land_import(con, self.path, landed.source_sha256 if landed else None, rows, annotated)

    def content(self) -> Content:
        """What the source holds now. The manifest of an import has the hashes of its files."""
        annotated = tuple((path.stem, *_whole_lines(path)) for path in begun_journals(self.annotations))
        if self.is_journal and self.path.is_dir():
            found = read_shards(self.path)
            shards = tuple(
                (Shard(found.count, number).name, *_whole_lines(path)) for number, path in found.journals.items()
            )
            sha256 = hash_of(found.plan_sha256, *(f"{name} {sha}" for name, _, sha in shards))
            return Content(sha256, sum(size for _, size, _ in shards), annotated, shards)
        if self.is_journal:
            size, sha256 = _whole_lines(self.path)
            return Content(sha256, size, annotated)
        from debatebench.landing.importers.kept import MANIFEST, kept_manifest

        manifest = kept_manifest(self.path)
        sha256 = hashlib.sha256((self.path / MANIFEST).read_bytes()).hexdigest()
        return Content(sha256, len(manifest.parts), annotated)

    def check_continues(self, landed: Content, shard: Shard | None = None) -> None:
        """Raise `DamagedDataError` unless the source still has everything that was landed.

        A journal must begin with what was landed from it, and an import must have the same parts before any new ones.
        If a journal is damaged, the error names the line. With a `shard`, only its journal need be there.
        """
        if landed.size is None:
            return
        if self.is_journal and self.path.is_dir():
            self._check_shards(landed, shard)
            return
        for name, size, sha256 in landed.annotated:
            path = self.annotations / f"{name}.jsonl"
            if not path.is_file():
                raise self._lost(path)
            with open(path, "rb") as file:
                if _sha256_of_start(file, size) == sha256:
                    continue
            for _ in read_journal(path):
                pass
            raise self._lost(path)
        if self.is_journal:
            with open(self.path, "rb") as file:
                if _sha256_of_start(file, landed.size) == landed.source_sha256:
                    return
            for _ in read_journal(self.path):
                pass
        else:
            from debatebench.landing.importers.kept import MANIFEST, kept_manifest

            # An earlier version may have formatted the same manifest in another way.
            manifest = kept_manifest(self.path)
            sha256 = hashlib.sha256((self.path / MANIFEST).read_bytes()).hexdigest()
            if sha256 == landed.source_sha256 or manifest.was(landed.source_sha256):
                return
        raise self._lost(self.path)

    def _check_shards(self, landed: Content, shard: Shard | None) -> None:
        there = {
            Shard(found.count, n).name: path
            for found in (read_shards(self.path),)
            for n, path in found.journals.items()
        }
        for name, size, sha256 in landed.shards:
            if shard is not None and name != shard.name:
                continue
            path = there.get(name)
            if path is not None:
                with open(path, "rb") as file:
                    if _sha256_of_start(file, size) == sha256:
                        continue
                for _ in read_journal(path):
                    pass
            raise self._lost(path or self.path / f"{name}.jsonl")

    def _lost(self, path: Path) -> DamagedDataError:
        return DamagedDataError(
            f"{path} has lost or changed records since run '{self.run_tag}' was landed: put the file back, or "
            f"accept that with `debatebench land --run-tag {self.run_tag} --replace`."
        )


def sources(workspace: Workspace) -> dict[str, LandingSource]:
    """Every run tag with a journal or imports in the workspace, in order, except those that are archived."""
    archived = read_marks(workspace).archived
    journals = [path for path in sorted(workspace.journal.glob("*.jsonl")) if path.is_file() and has_begun(path)]
    found = {
        path.stem: source_at(workspace, path.stem, path, is_journal=True)
        for path in journals
        if path.stem not in archived
    }
    others = [(tag, folder, True) for tag, folder in folders_of_shards(workspace.journal).items()]
    others += [(folder.name, folder, False) for folder in import_folders(workspace)]
    for tag, folder, is_journal in others:
        if tag in archived:
            continue
        if tag in found:
            raise UsageError(
                f"Run tag '{tag}' is used by both {found[tag].path} and {folder}; move one of them elsewhere."
            )
        found[tag] = source_at(workspace, tag, folder, is_journal=is_journal)
    return dict(sorted(found.items()))


def source_at(workspace: Workspace, run_tag: str, path: Path, *, is_journal: bool) -> LandingSource:
    """The source of a tag whose journal or import is at `path`."""
    return LandingSource(run_tag, path, is_journal, annotations_folder(workspace.journal, run_tag))


def import_folders(workspace: Workspace) -> list[Path]:
    """The folders with an import, which may have lost its manifest."""
    parts = {part.parent for part in workspace.imports.glob("*/[0-9][0-9][0-9][0-9]*") if part.is_dir()}
    return sorted(parts | {manifest.parent for manifest in workspace.imports.glob("*/manifest.json")})


def landed_contents(con: duckdb.DuckDBPyConnection) -> dict[str, Content]:
    """Run tag → what was landed, in the order of the landings; empty if nothing has."""
    columns = landing_columns(con)
    if not columns:
        return {}
    # Earlier versions recorded less.
    later = ", ".join(name if name in columns else "null" for name in ("source_size", "annotations"))
    rows = con.execute(
        f"select run_tag, content_sha256, {later} from meta.landings order by {landing_order(columns)}"
    ).fetchall()
    return {tag: Content.of_landing(sha256, size, annotations) for tag, sha256, size, annotations in rows}


def published_contents(database: Path) -> dict[str, Content]:
    """Run tag → what was landed in the published warehouse, in that order; empty if there is none.

    Raises `HeldWarehouseError` if a program has it open for writing, and `DamagedDataError` or `duckdb.Error` if it is
    damaged.
    """
    if not database.is_file():
        return {}
    with closing(open_for_query(database)) as con:
        return landed_contents(con)


def check_before_run(workspace: Workspace, run_tag: str, shard: Shard | None = None, *, is_built: bool = True) -> None:
    """Raise an error if the answers of a run could not land, or if its journal has lost events that have landed.

    `UsageError` for the first, also if the run is archived, or `SqlModelError` where a SQL model of the workspace
    cannot be read and a build (`is_built`) is to follow; `DamagedDataError` for the second. A warehouse that cannot be
    read now says nothing.
    """
    from debatebench.warehouse.publish import check_path

    check_path(workspace.database)
    check_not_archived(workspace, run_tag)
    if is_built:
        _check_own_models(workspace)
    if not workspace.database.exists():
        return

    try:
        landed = published_contents(workspace.database).get(run_tag)
    except (DebatebenchError, duckdb.Error) as error:
        check_memory(error)
        return
    if landed is None:
        return
    source = sources(workspace).get(run_tag)
    if source is None and shard is not None:
        # The other shards may be on other machines.
        return
    if source is None:
        raise DamagedDataError(
            f"The warehouse contains run '{run_tag}', but {workspace.journal / run_tag}.jsonl is missing: put it back, "
            "or choose another --run-tag."
        )
    source.check_continues(landed, shard)


def _check_own_models(workspace: Workspace) -> None:
    """Read the SQL models if some are the workspace's own; the packaged ones are sound."""
    files = workspace.files("sql", "**/*")
    own = [file for file in files.values() if not file.is_relative_to(packaged("sql"))]
    if any(file.suffix in (".sql", ".csv", ".yml", ".yaml") for file in own):
        _ = load_project(files).models


def _whole_lines(path: Path) -> tuple[int, str]:
    """The number of bytes in the whole lines of a journal, and their hash."""
    with open(path, "rb") as file:
        size = end_of_lines(file)
        return size, _sha256_of_start(file, size)


def _sha256_of_start(file: IO[bytes], size: int) -> str:
    """The hash of the first `size` bytes."""
    digest = hashlib.sha256()
    file.seek(0)
    while size > 0 and (block := file.read(min(size, _BLOCK))):
        digest.update(block)
        size -= len(block)
    return digest.hexdigest()
