"""The sources of the warehouse: journals and kept imports, and whether they still hold all that was landed."""

from __future__ import annotations

import hashlib
import os
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import IO, TYPE_CHECKING

from debatebench.journal.reading import has_begun, read_journal
from debatebench.landing.land import RowFiles, land_rows
from debatebench.shared.errors import DamagedDataError, DebatebenchError, UsageError

if TYPE_CHECKING:
    import duckdb

    from debatebench.shared.workspace import Workspace

__all__ = [
    "Content",
    "LandingSource",
    "check_before_run",
    "import_folders",
    "landed_contents",
    "published_contents",
    "sources",
]

_BLOCK = 1 << 20


@dataclass(frozen=True, slots=True)
class Content:
    """What a source holds: a hash that changes if its records may have changed, and a size that never shrinks.

    The size is the number of bytes in a journal's whole lines, or the number of parts of an import; None if the landing
    was recorded by a version that did not record it.
    """

    sha256: str
    size: int | None


@dataclass(frozen=True, slots=True)
class LandingSource:
    """Where a run tag's records come from: a journal, or a folder of kept imports."""

    run_tag: str
    path: Path
    is_journal: bool
    rows: RowFiles | None = None
    """The rows of an import, if they have been read already."""

    def land(self, con: duckdb.DuckDBPyConnection, landed_sha256: str | None) -> dict[str, int]:
        """Land the tag and return its rows per table; `landed_sha256` is the hash of what landed before, if any."""
        if self.is_journal:
            from debatebench.landing.journal_records import journal_rows

            return land_rows(con, self.run_tag, journal_rows(self.path))
        from debatebench.landing.importers.import_landing import land_import

        return land_import(con, self.path, landed_sha256, self.rows)

    def content(self) -> Content:
        """What the source holds now. The manifest of an import has the hashes of its files."""
        if self.is_journal:
            with open(self.path, "rb") as file:
                size = _end_of_lines(file)
                return Content(_sha256_of_start(file, size), size)
        from debatebench.landing.importers.manifest import MANIFEST, kept_manifest

        manifest = kept_manifest(self.path)
        return Content(hashlib.sha256((self.path / MANIFEST).read_bytes()).hexdigest(), len(manifest.parts))

    def check_continues(self, landed: Content) -> None:
        """Raise `DamagedDataError` unless the source still has everything that was landed.

        A journal must begin with what was landed from it, and an import must have the same parts before any new ones.
        If the journal is damaged, the error names the line.
        """
        if landed.size is None:
            return
        if self.is_journal:
            with open(self.path, "rb") as file:
                if _sha256_of_start(file, landed.size) == landed.sha256:
                    return
            for _ in read_journal(self.path):
                pass
        else:
            from debatebench.landing.importers.manifest import kept_manifest

            # An earlier version may have formatted the same manifest in another way.
            if self.content() == landed or kept_manifest(self.path).parts_at(landed.sha256) is not None:
                return
        raise DamagedDataError(
            f"{self.path} has lost or changed records since run '{self.run_tag}' was landed: put the file back, or "
            f"accept that with `debatebench land --run-tag {self.run_tag} --replace`."
        )


def sources(workspace: Workspace) -> dict[str, LandingSource]:
    """Every run tag with a journal or imports in the workspace, in order."""
    journals = [path for path in sorted(workspace.journal.glob("*.jsonl")) if path.is_file() and has_begun(path)]
    found = {path.stem: LandingSource(path.stem, path, True) for path in journals}
    for folder in import_folders(workspace):
        if folder.name in found:
            raise UsageError(
                f"Run tag '{folder.name}' is used by both {found[folder.name].path} and {folder}; move one of them "
                "elsewhere."
            )
        found[folder.name] = LandingSource(folder.name, folder, False)
    return dict(sorted(found.items()))


def import_folders(workspace: Workspace) -> list[Path]:
    """The folders with an import, which may have lost its manifest."""
    parts = {part.parent for part in workspace.imports.glob("*/[0-9][0-9][0-9][0-9]*") if part.is_dir()}
    return sorted(parts | {manifest.parent for manifest in workspace.imports.glob("*/manifest.json")})


def landed_contents(con: duckdb.DuckDBPyConnection) -> dict[str, Content]:
    """Run tag → what was landed, in order; empty if nothing has."""
    columns = {
        name
        for (name,) in con.execute(
            "select column_name from duckdb_columns() where schema_name = 'meta' "
            "and table_name = 'landings' and database_name = current_database()"
        ).fetchall()
    }
    if not columns:
        return {}
    size = "source_size" if "source_size" in columns else "null"
    rows = con.execute(f"select run_tag, content_sha256, {size} from meta.landings order by run_tag").fetchall()
    return {tag: Content(sha256, size) for tag, sha256, size in rows}


def published_contents(database: Path) -> dict[str, Content]:
    """Run tag → what was landed in the published warehouse; empty if there is none.

    Raises `BusyError` if a program has it open for writing, and `DamagedDataError` or `duckdb.Error` if it is damaged.
    """
    from debatebench.query.safe_query import open_for_query

    if not database.is_file():
        return {}
    with closing(open_for_query(database)) as con:
        return landed_contents(con)


def check_before_run(workspace: Workspace, run_tag: str) -> None:
    """Raise an error if the answers of a run could not land, or if its journal has lost events that have landed.

    `UsageError` for the first, `DamagedDataError` for the second. A warehouse that cannot be read now says nothing.
    """
    from debatebench.warehouse.publish import check_path

    check_path(workspace.database)
    if not workspace.database.exists():
        return
    import duckdb

    try:
        landed = published_contents(workspace.database).get(run_tag)
    except (DebatebenchError, duckdb.Error):
        return
    if landed is None:
        return
    source = sources(workspace).get(run_tag)
    if source is None:
        raise DamagedDataError(
            f"The warehouse contains run '{run_tag}', but {workspace.journal / run_tag}.jsonl is missing: put it back, "
            "or choose another --run-tag."
        )
    source.check_continues(landed)


def _end_of_lines(file: IO[bytes]) -> int:
    """The number of bytes up to the last line end."""
    end = file.seek(0, os.SEEK_END)
    while end > 0:
        start = max(0, end - _BLOCK)
        file.seek(start)
        found = file.read(end - start).rfind(b"\n")
        if found >= 0:
            return start + found + 1
        end = start
    return 0


def _sha256_of_start(file: IO[bytes], size: int) -> str:
    """The hash of the first `size` bytes."""
    digest = hashlib.sha256()
    file.seek(0)
    while size > 0 and (block := file.read(min(size, _BLOCK))):
        digest.update(block)
        size -= len(block)
    return digest.hexdigest()
