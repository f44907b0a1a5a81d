"""Where a command may write the files that it was asked for: never over anything that a workspace keeps."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator
from pathlib import Path

from debatebench.shared.errors import UsageError
from debatebench.shared.workspace import Workspace


def check_output(workspace: Workspace, path: Path) -> None:
    """Raise `UsageError` if `path` is, contains or is inside something that this or another workspace keeps.

    Links and `..` are followed. Kept are journals, imports, the warehouse, plans, configurations, SQL models and the
    sources of reports; summaries, ratings, the site and the SQL documentation can be written again at any time.
    """
    try:
        # The file that a link names, and the link itself, which an output would replace.
        places = {path.resolve(), path.parent.resolve() / path.name}
    except (OSError, RuntimeError) as error:
        raise UsageError(f"{path} cannot be written: its links lead nowhere ({error}).") from error
    for place in places:
        for root in _workspaces(workspace, place):
            for kept in _kept(Workspace(root)):
                if place.is_relative_to(kept) or kept.is_relative_to(place) or _belongs_to(place, kept):
                    raise UsageError(f"{path} is or contains a part of {root} that is kept; choose another place.")


def check_output_folder(
    workspace: Workspace, folder: Path, names: Collection[str] = (), *, marks: Collection[str] = ()
) -> None:
    """Raise `UsageError` unless the files of an output may be written to `folder`.

    On top of `check_output`, a folder that is not empty must be one that the command has written before: it contains
    one of the files `marks`, or without `marks` nothing but files of these `names`.
    """
    check_output(workspace, folder)
    try:
        found = {entry.name for entry in os.scandir(folder)} if folder.is_dir() else set()
    except OSError as error:
        raise UsageError(f"{folder} cannot be read ({error.strerror}); choose another folder.") from error
    is_ours = bool(found & set(marks)) if marks else found <= set(names)
    if found and not is_ours:
        raise UsageError(f"{folder} contains files of other origin; choose an empty or a new folder.")


def _belongs_to(place: Path, kept: Path) -> bool:
    """Whether it is a file that a database has next to itself, such as its write-ahead log."""
    return kept.suffix == ".duckdb" and place.parent == kept.parent and place.name.lstrip(".").startswith(kept.name)


def _workspaces(workspace: Workspace, place: Path) -> Iterator[Path]:
    """The roots of this workspace and of all that `place` is in."""
    yield workspace.root.resolve()
    for root in (place, *place.parents):
        other = Workspace(root)
        if other.database.exists() or other.journal.is_dir() or other.imports.is_dir():
            yield root


def _kept(workspace: Workspace) -> Iterator[Path]:
    """The files and folders that a workspace keeps, with links resolved."""
    yield workspace.configs.resolve()
    yield workspace.sql.resolve()
    yield from ((workspace.reports / name).resolve() for name in ("pages", "plots", "templates", "assets"))
    yield from (
        path.resolve()
        for path in (workspace.journal, workspace.imports, workspace.archive, workspace.plans, workspace.database)
    )
