"""The archive: journals and imports of runs that the warehouse does not contain, below `warehouse/archive/`.

A file there has the place that it had below `warehouse`. Moving is renaming, so nothing is copied or deleted. While
anything of a run may be in the archive, its mark says that it is archived: `archive` sets the mark before it moves
anything, and `restore` removes it after it has moved all. So a process that is killed leaves a run that is archived
wherever its files are, and the same command again finishes the work.
"""

from __future__ import annotations

import glob
import os
import shutil
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path

from debatebench.journal.reading import SHARDS, busy, check_saved, events_of, run_of
from debatebench.journal.shards import journals_in, plan_in, shards_folder
from debatebench.landing.annotation_journals import annotations_folder
from debatebench.landing.run_marks import marking, read_marks
from debatebench.shared.errors import BusyError, DamagedDataError, DebatebenchError, UsageError
from debatebench.shared.files import make_folder, sync_path
from debatebench.shared.locks import is_locked, take_lock
from debatebench.shared.workspace import Workspace

# A form is saved in milliseconds.
_LONGEST_SAVE_S = 10.0


def archive(
    workspace: Workspace, run_tag: str, at: str, *, judged_by: str | None = None, landed_later: Sequence[str] = ()
) -> bool:
    """Mark a run as archived and move its files to the archive; returns whether anything had to be done.

    `judged_by` is a run of the warehouse that judges its debates, if there is one. `landed_later` are the runs that
    landed after it, so that it gets its place back when it lands again. Raises `UsageError` if that is so,
    if the archive has other files of this tag, or if there are no files; `BusyError` if another process plays the run,
    imports or annotates.
    """
    with _held(workspace, run_tag):
        here, there = _files(workspace.warehouse, run_tag), _files(workspace.archive, run_tag)
        if judged_by is not None:
            raise UsageError(f"Run '{judged_by}' judges the debates of '{run_tag}': archive '{judged_by}' first.")
        if not here and not there:
            raise _lost(workspace, run_tag)
        _check_one(workspace, here, there)
        with marking(workspace) as journal:
            is_new = journal.set(run_tag, "archived", True, at, landed_later=list(landed_later))
        _move(workspace.warehouse, workspace.archive, here)
        return is_new or bool(here)


def restore(workspace: Workspace, run_tag: str, at: str) -> bool:
    """Move a run's files back from the archive, and remove its mark; returns whether anything had to be done.

    Raises `UsageError` if another run has taken its tag, if it judges the debates of an archived run, or if there are
    no files; `BusyError` as `archive` does.
    """
    with _held(workspace, run_tag):
        here, there = _files(workspace.warehouse, run_tag), _files(workspace.archive, run_tag)
        marks = read_marks(workspace)
        if not there and not marks.of(run_tag).archived:
            return False
        if not here and not there:
            raise _lost(workspace, run_tag)
        _check_one(workspace, here, there)
        source = judged_run(archived_source(workspace, run_tag))
        if source is not None and marks.of(source).archived:
            raise UsageError(
                f"Run '{run_tag}' judges the debates of '{source}', which is archived: restore that first."
            )
        # The journal comes last: a run without its annotations is not all of it.
        _move(workspace.archive, workspace.warehouse, there[::-1])
        with marking(workspace) as journal:
            journal.set(run_tag, "archived", False, at)
        return True


def archived_tags(workspace: Workspace) -> set[str]:
    """The tags of all runs that have files in the archive."""
    journals = {run_of(path) for path in (workspace.archive / "journal").glob("*") if _is_source_name(path.name)}
    annotated = {
        path.name.removesuffix(".annotations") for path in (workspace.archive / "journal").glob("*.annotations")
    }
    return journals | annotated | {path.name for path in (workspace.archive / "imports").glob("[!.]*")}


def archived_source(workspace: Workspace, run_tag: str) -> Path | None:
    """The journal or import of a run, in the archive, or where it was before or a killed process has left it."""
    for base in (workspace.archive, workspace.warehouse):
        for file in _files(base, run_tag):
            if _is_source(file):
                return base / file
    return None


def judged_run(journal: Path | None) -> str | None:
    """The run whose debates the run of a journal judges."""
    if journal is not None and journal.name.endswith(SHARDS):
        header = next(events_of(plan_in(journal), ("plan",)), {})
    elif journal is None or not journal.is_file():
        return None
    else:
        header = next(events_of(journal, ("header",)), {})
    source = header.get("plan", {}).get("source") or {}
    return source.get("run_tag")


def unmoved(workspace: Workspace, run_tag: str) -> list[Path]:
    """The files of a run that are not in the archive."""
    return [workspace.warehouse / file for file in _files(workspace.warehouse, run_tag)]


def _files(base: Path, run_tag: str) -> list[Path]:
    """The files and folders of a run below `base`, as paths from there; the journal or import is the first."""
    journal = base / "journal" / f"{run_tag}.jsonl"
    set_aside = sorted(journal.parent.glob(f"{glob.escape(journal.name)}.torn-*"))
    shards = shards_folder(journal.parent, run_tag)
    found = [journal, shards, base / "imports" / run_tag, annotations_folder(base / "journal", run_tag), *set_aside]
    return [path.relative_to(base) for path in found if os.path.lexists(path)]


def _is_source(file: Path) -> bool:
    return _is_source_name(file.name) or file.parts[0] == "imports"


def _is_source_name(name: str) -> bool:
    return name.endswith((".jsonl", SHARDS))


def _check_one(workspace: Workspace, here: list[Path], there: list[Path]) -> None:
    """Raise `UsageError` if the archive and the warehouse both have a journal or import of the tag, or a same file."""
    for mine in filter(_is_source, here):
        for other in filter(_is_source, there):
            places = f"{workspace.warehouse / mine} and {workspace.archive / other}"
            raise UsageError(f"{places} are runs with the same tag; move one of them elsewhere.")
    for file in {*_single(workspace.warehouse, here)} & {*_single(workspace.archive, there)}:
        places = f"{workspace.warehouse / file} and {workspace.archive / file}"
        raise UsageError(f"{places} both exist; move one of them elsewhere.")


def _single(base: Path, files: list[Path]) -> Iterator[Path]:
    """The same paths, and for a folder of annotations the journals in it."""
    for file in files:
        if file.suffix == ".annotations":
            yield from (path.relative_to(base) for path in sorted((base / file).iterdir()) if path.suffix == ".jsonl")
        else:
            yield file


def _move(source: Path, target: Path, files: list[Path]) -> None:
    """Rename files to the same places below another folder. A folder that is there already takes in what is moved."""
    try:
        for file in files:
            make_folder((target / file).parent)
            if (target / file).is_dir():
                _move(source, target, sorted(path.relative_to(source) for path in (source / file).glob("[!.]*")))
                # Only lock files are left.
                shutil.rmtree(source / file)
                continue
            os.rename(source / file, target / file)
            sync_path((target / file).parent)
            sync_path((source / file).parent)
    except OSError as error:
        raise DebatebenchError(
            f"{error.filename or source} cannot be moved to {target}: {error.strerror}. Nothing is lost; the same "
            "command again goes on."
        ) from error


def _lost(workspace: Workspace, run_tag: str) -> DamagedDataError:
    return DamagedDataError(
        f"Run '{run_tag}' has no journal and no import below {workspace.warehouse} or {workspace.archive}: put it back."
    )


@contextmanager
def _held(workspace: Workspace, run_tag: str) -> Iterator[None]:
    """Hold every lock that a process takes which writes to the run: as a run, an import, or an annotation."""
    journal = workspace.journal / f"{run_tag}.jsonl"
    try:
        make_folder(workspace.journal)
        make_folder(workspace.imports)
    except OSError as error:
        raise DebatebenchError(f"{error.filename} cannot be created: {error.strerror}.") from error
    with ExitStack() as held:

        def hold(path: Path, refusal: BusyError, wait_s: float = 0.0) -> None:
            try:
                held.callback(os.close, take_lock(path, wait_s))
            except BlockingIOError:
                raise refusal from None

        hold(journal, busy(journal))
        if is_locked(journal):
            raise busy(journal)
        check_saved(journal)
        for shard in journals_in(shards_folder(workspace.journal, run_tag)):
            hold(shard, busy(shard))
            if is_locked(shard):
                raise busy(shard)
            check_saved(shard)
        hold(workspace.imports / run_tag, BusyError(f"Another process is importing into '{run_tag}'."))
        for path in sorted(annotations_folder(workspace.journal, run_tag).glob("*.jsonl")):
            hold(path, BusyError(f"Another process holds {path}; end it, and try again."), _LONGEST_SAVE_S)
        yield
