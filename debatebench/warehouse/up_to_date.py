"""Whether the warehouse is up to date: the first check of a build, so it loads little.

A note next to the warehouse says that this file is the result of these inputs. While neither changes, a build knows
without DuckDB that it has nothing to do. The note decides nothing else, and may be lost.
"""

from __future__ import annotations

import re
from contextlib import closing, contextmanager, suppress
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING

from debatebench.query.sql_project import load_project
from debatebench.shared.errors import UsageError
from debatebench.shared.files import write_atomically
from debatebench.shared.workspace import packaged
from debatebench.transform.build_state import inputs_sha256, is_current

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    import duckdb

    from debatebench.shared.workspace import Workspace
    from debatebench.transform.project import Project

_MACRO = re.compile(r"^  - name: (\w+)$", re.MULTILINE)
"""An entry of `macros` in a file of sql/macros."""


def build_is_current(workspace: Workspace, con: duckdb.DuckDBPyConnection | None = None) -> bool:
    """Whether a build would change nothing: same SQL models, same landed data, same code. Fast, and copies nothing.

    `con` is the warehouse, if it is open already.
    """
    if not workspace.database.exists():
        return False
    project = load_project(workspace.files("sql", "**/*"))
    note = _note(workspace.database, project)
    with suppress(OSError, UnicodeDecodeError):
        if _note_of(workspace.database).read_text(encoding="ascii") == note:
            return True
    with _opened(workspace.database, con) as warehouse:
        found = is_current(warehouse, project)
    if found and _note(workspace.database, project) == note:
        _keep(workspace.database, note)
    return found


def check_fits(
    workspace: Workspace,
    note: Callable[[str], None] | None,
    *,
    needs_models: bool = True,
    con: duckdb.DuckDBPyConnection | None = None,
) -> None:
    """What every reader asks of a warehouse: is it the result of its SQL models and data?

    If it is not, `note` gets a sentence. It is a `UsageError` instead without `note`, and where SQL models are missing
    although the reader `needs_models`, because another version has built it. `con` is the warehouse, if it is open
    already.
    """
    if not workspace.database.is_file() or build_is_current(workspace, con):
        return
    with _opened(workspace.database, con) as warehouse:
        if not needs_models and not _was_built(warehouse):
            return
        lacks = needs_models and _lacks_models(warehouse, workspace)
    how = "lacks SQL models of this version" if lacks else "was built from other SQL models or data"
    wrong = f"{workspace.database} {how}"
    if note is None or lacks:
        raise UsageError(f"{wrong}; run `debatebench build` first.")
    note(f"{wrong}; this is the last build. `debatebench build` brings it up to date.")


@contextmanager
def _opened(database: Path, con: duckdb.DuckDBPyConnection | None) -> Iterator[duckdb.DuckDBPyConnection]:
    """The connection `con`, else one that is closed at the end of the block."""
    from debatebench.query.safe_query import open_for_query

    if con is not None:
        yield con
        return
    with closing(open_for_query(database)) as opened:
        yield opened


def _was_built(con: duckdb.DuckDBPyConnection) -> bool:
    """Whether a build made this file; another program may have, and what it holds can be queried too."""
    from debatebench.transform.build_state import read_builds

    return bool(read_builds(con))


def _lacks_models(con: duckdb.DuckDBPyConnection, workspace: Workspace) -> bool:
    """Whether a packaged SQL model or macro is not in the warehouse; parses nothing.

    One of the workspace that is not built yet, or cannot be, does not keep the others from being read.
    """
    from debatebench.transform.build_state import relations

    files = workspace.files("sql", "**/*")
    ours = {PurePosixPath(path): file for path, file in files.items() if file.is_relative_to(packaged("sql"))}
    wanted = {f"{path.parts[0]}.{path.stem}" for path in ours if path.suffix in (".sql", ".csv") and path.parts[1:]}
    there = relations(con)
    if any(name not in there for name in wanted if not name.startswith(("macros.", "tests."))):
        return True
    texts = [file.read_text(encoding="utf-8") for path, file in ours.items() if path.parts[0] == "macros"]
    macros = {f"macros.{name}" for text in texts for name in _MACRO.findall(text)}
    return not macros <= {name for (name,) in con.execute("select name from meta.macros").fetchall()}


def note_current(database: Path, project: Project, inode: int) -> None:
    """Note that the warehouse is the result of `project`, unless another file than `inode` has replaced it."""
    with suppress(OSError):
        if database.stat().st_ino == inode:
            _keep(database, _note(database, project))


def _note_of(database: Path) -> Path:
    return database.with_name(f".{database.name}.current")


def _note(database: Path, project: Project) -> str:
    """A text that differs after the file was changed or replaced, or after the inputs of a build changed."""
    found = database.stat()
    return f"{found.st_ino} {found.st_size} {found.st_mtime_ns} {inputs_sha256(project)}\n"


def _keep(database: Path, note: str) -> None:
    # Without permission to write here, the next build checks again.
    with suppress(OSError):
        write_atomically(_note_of(database), note, is_durable=False)
