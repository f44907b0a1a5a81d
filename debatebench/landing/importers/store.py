"""Import: copy a source into the workspace after checking it."""

from __future__ import annotations

import hashlib
import os
import re
import shutil
from collections.abc import Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import cycle
from pathlib import Path
from typing import TYPE_CHECKING

from debatebench.config.load import load_config
from debatebench.landing.annotation_journals import annotations_folder, annotators_in
from debatebench.landing.importers import IMPORTERS
from debatebench.landing.importers.additions import compare_with_kept
from debatebench.landing.importers.base import Imported, Importer, Key
from debatebench.landing.importers.import_landing import TagRows
from debatebench.landing.importers.manifest import MANIFEST, ImportManifest, KeptFile, Part, read_import_manifest
from debatebench.landing.land import RowFiles
from debatebench.shared.errors import BusyError, DebatebenchError, UsageError
from debatebench.shared.files import sync_path, write_atomically
from debatebench.shared.locks import take_lock
from debatebench.shared.records import Row
from debatebench.shared.workspace import check_run_tag, inside

if TYPE_CHECKING:
    from debatebench.shared.workspace import Workspace

_INCOMING = ".incoming"
_ROWS = ".rows"
_BLOCK = 1024 * 1024
_KINDS = {"debate": "debates", "annotation": "annotations", "gold": "debates' gold verdicts"}


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


def add_import(
    workspace: Workspace, run_tag: str, format_name: str, path: Path, *, replace: bool = False
) -> ImportReport:
    """Keep the records at `path` as `importing` does."""
    with importing(workspace, run_tag, format_name, path, replace=replace, with_rows=False) as report:
        return report


@contextmanager
def importing(
    workspace: Workspace,
    run_tag: str,
    format_name: str,
    path: Path,
    *,
    replace: bool = False,
    with_rows: bool = True,
) -> Iterator[ImportReport]:
    """Keep the records at `path` (a file or folder of the format) under `run_tag`, unless they are kept already.

    A unit that is kept already is ignored if it is identical and refused if it differs; with `replace` the new one
    counts from then on. The first import under a tag freezes the workspace's rating settings. Either everything is kept
    or nothing: `DamagedDataError` lists bad records with file and line, `DebatebenchError` names a differing unit,
    `UsageError` a tag, format or path that cannot be used or an annotator who has annotated here, `BusyError` another
    import into the same tag.

    The tag is locked against other imports until the context ends. Until then, the first import under a tag provides
    its rows, so that landing need not read the source again.
    """
    check_run_tag(run_tag)
    if format_name not in IMPORTERS:
        raise UsageError(f"No format '{format_name}'. Known: {', '.join(IMPORTERS)}.")
    if (workspace.journal / f"{run_tag}.jsonl").exists():
        raise UsageError(f"'{run_tag}' is a run that was played in this workspace; import under another tag.")
    importer = IMPORTERS[format_name]
    files = _files(importer, path)
    folder = workspace.imports / run_tag
    with _only_importer(workspace.imports, run_tag):
        config = load_config(workspace.config_file("config.yaml"), needs_rounds=False)
        manifest = read_import_manifest(folder) or ImportManifest(run_tag=run_tag, format=format_name, elo=config.elo)
        if manifest.format != format_name:
            raise UsageError(
                f"'{run_tag}' contains imports of the format '{manifest.format}'; import '{format_name}' under "
                "another tag."
            )
        try:
            here = frozenset(annotators_in(annotations_folder(workspace.journal, run_tag)))
            yield _import(importer, files, path, folder, manifest, here, replace=replace, with_rows=with_rows)
        finally:
            _clear(folder)


def _import(
    importer: Importer,
    files: list[Path],
    path: Path,
    folder: Path,
    manifest: ImportManifest,
    annotators_here: frozenset[str],
    *,
    replace: bool,
    with_rows: bool,
) -> ImportReport:
    _clear(folder)
    rows = None
    try:
        root, copies = _copy(files, path, folder / _INCOMING)
        if with_rows and not manifest.parts:
            rows = _ImportRows(folder / _ROWS, manifest)
        additions = compare_with_kept(
            importer,
            folder / _INCOMING / root,
            folder,
            manifest,
            replace=replace,
            take=rows.take if rows else None,
        )
        if both := sorted(additions.annotators & annotators_here):
            raise UsageError(
                f"'{both[0]}' has annotated '{manifest.run_tag}' in this workspace, and {path} has annotations of the "
                "same name; import them under another tag."
            )
        part = _keep(folder, manifest, root, copies, additions.replaced) if additions.is_new else None
        return ImportReport(
            manifest.run_tag,
            additions.added,
            additions.ignored,
            len(additions.replaced),
            part,
            tuple(additions.warnings),
            rows.finished() if rows else None,
        )
    except OSError as error:
        raise DebatebenchError(f"{error.filename or folder} cannot be stored: {error.strerror}.") from error
    finally:
        if rows:
            rows.files.close()


class _ImportRows:
    """The rows of an import, written while its source is read."""

    def __init__(self, folder: Path, manifest: ImportManifest) -> None:
        folder.mkdir(parents=True)
        self.files = RowFiles(folder, manifest.run_tag)
        self._rows = TagRows(manifest)

    def take(self, unit: Imported) -> None:
        self._write(self._rows.of(unit))

    def finished(self) -> RowFiles:
        self._write(self._rows.of_all())
        self.files.close()
        return self.files

    def _write(self, rows: Iterable[Row]) -> None:
        for row in rows:
            self.files.write(row)


def _files(importer: Importer, path: Path) -> list[Path]:
    """The files to import; each is a regular file whose name can be written in a manifest.

    A folder may come from someone else, so a link in it that leads out of it is refused.
    """
    if not path.exists():
        raise UsageError(f"There is no file or folder {path}.")
    files = importer.find_files(path) if path.is_file() or path.is_dir() else []
    if not files:
        raise UsageError(f"{path} contains nothing in the format '{importer.name}', which is {importer.expected}.")
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
    folder: Path, manifest: ImportManifest, root: str, copies: tuple[KeptFile, ...], replaces: tuple[Key, ...]
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
    part = Part(name=name, root=root, files=copies, replaces=replaces, rules=IMPORTERS[manifest.format].rules)
    new = manifest.model_copy(update={"parts": (*manifest.parts, part)})
    write_atomically(folder / MANIFEST, new.content())
    sync_path(folder)
    sync_path(folder.parent)
    return folder / name


def _clear(folder: Path) -> None:
    """Remove unfinished copies, and the tag's folder if nothing was ever kept in it."""
    shutil.rmtree(folder / _INCOMING, ignore_errors=True)
    shutil.rmtree(folder / _ROWS, ignore_errors=True)
    if folder.is_dir() and not any(folder.iterdir()):
        folder.rmdir()
