"""The workspace: where configs/, sql/, reports/ and warehouse/ are; a user's files overlay the packaged ones."""

from __future__ import annotations

import os
import re
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, NamedTuple

from debatebench.shared.amounts import known_names
from debatebench.shared.errors import UsageError
from debatebench.shared.files import not_written, write_atomically

Kind = Literal["configs", "sql", "reports"]

_PLAIN_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")

_FOLDER_NOTES = {
    "sql": """\
# SQL models of this workspace

A file here replaces the packaged one of the same schema and name: `sql/marts/leaderboard.sql` replaces the leaderboard,
and `sql/marts/my_question.sql` adds `marts.my_question`. The first folder is the schema; subfolders do not matter.
Put the YAML next to the SQL. A macro is an entry of YAML, in `sql/macros/`; one of the same name replaces the packaged
one. A CSV file in `sql/seeds/` is a table of the schema `seeds`. `debatebench build` reads all of it.
""",
    "reports": """\
# Reports of this workspace

A file here replaces the packaged one of the same path. `debatebench report` writes the pages to `reports/site/`,
which can be deleted at any time.
""",
    "warehouse": """\
# The warehouse

- `debatebench.duckdb`: what queries read. Disposable: `debatebench build --from-journals` creates it again.
- `journal/`: one file per run, with every paid answer, and a folder per run that people annotate. Never delete these.
- `imports/`: what was imported, one folder per tag. Never delete these either.
- `archive/`: the same of archived runs, which the warehouse does not contain; `debatebench runs restore` undoes that.
- `plans/`: what `debatebench run --dry-run` wrote. `progress/`: the progress of runs. Both are disposable.
""",
}


class Initialised(NamedTuple):
    """What `init_workspace` did: the files that it wrote, and the existing files that it kept."""

    written: list[Path]
    kept: list[Path]


@dataclass(frozen=True, slots=True)
class Workspace:
    """A folder that holds configurations and a warehouse. Nothing in it needs to exist."""

    root: Path
    private_database: Path | None = None
    """A warehouse file of one command alone, in place of the one that all read."""

    @property
    def configs(self) -> Path:
        """Configuration files and prompts."""
        return self.root / "configs"

    @property
    def sql(self) -> Path:
        """SQL models that overlay the packaged ones."""
        return self.root / "sql"

    @property
    def reports(self) -> Path:
        """Report templates that overlay the packaged ones, and the rendered site."""
        return self.root / "reports"

    @property
    def warehouse(self) -> Path:
        """Everything that runs and imports write."""
        return self.root / "warehouse"

    @property
    def journal(self) -> Path:
        """One journal per run."""
        return self.warehouse / "journal"

    @property
    def imports(self) -> Path:
        """One folder per imported tag."""
        return self.warehouse / "imports"

    @property
    def archive(self) -> Path:
        """Journals and imports of archived runs, in folders of the same names as in `warehouse`."""
        return self.warehouse / "archive"

    @property
    def plans(self) -> Path:
        """Plans of dry runs."""
        return self.warehouse / "plans"

    @property
    def progress(self) -> Path:
        """Progress of runs, for scripts."""
        return self.warehouse / "progress"

    @property
    def database(self) -> Path:
        """The warehouse file."""
        return self.private_database or self.warehouse / "debatebench.duckdb"

    def config_file(self, name: str) -> Path:
        """The workspace's configuration file of that name if it exists, else the packaged one; as `guarded` says."""
        own = self.configs / name
        # A broken link counts as a file: the user who made it did not mean the packaged one.
        return self.guarded(own) if os.path.lexists(own) else packaged("configs") / name

    def guarded(self, file: Path) -> Path:
        """`file`. Raises `UsageError` if it is in the workspace's configuration, and a link leads out of that.

        Other files are not looked at: their user has named them.
        """
        place = Path(os.path.abspath(file))
        return inside(self.configs, file) if place.is_relative_to(os.path.abspath(self.configs)) else file

    def layers(self, kind: Kind) -> list[Path]:
        """The packaged folder, then the workspace's own if it exists and is a different one; the later one wins."""
        base, own = packaged(kind), self.root / kind
        if not own.is_dir() or (base.is_dir() and own.samefile(base)):
            return [base]
        return [base, own]

    def files(self, kind: Kind, pattern: str) -> dict[str, Path]:
        """Relative path (with `/`) → file of all layers that match the glob `pattern`, sorted by path.

        Those of `sql/` are sorted by layer first, because a macro in a later layer replaces one of the same name.

        A later file replaces the earlier one of the same path; in `sql/`, of the same first folder and file name. The
        rendered site inside `reports/` is output and belongs to no layer. Raises `UsageError` for a link in the
        workspace's folder that leads out of it.
        """
        found: dict[str, Path] = {}
        for layer in self.layers(kind):
            paths = [path for path in layer.glob(pattern) if path.is_file()]
            if kind == "reports":
                paths = [path for path in paths if path.relative_to(layer).parts[0] not in ("site", "docs")]
            if layer != packaged(kind):
                for path in (*paths, *_linked_folders(layer, pattern)):
                    inside(layer, path)
            own = {path.relative_to(layer).as_posix(): path for path in sorted(paths)}
            if kind == "sql":
                replaced = {_without_subfolders(path) for path in own}
                found = {path: file for path, file in found.items() if _without_subfolders(path) not in replaced}
            found |= own
        return found if kind == "sql" else dict(sorted(found.items()))


def inside(folder: Path, file: Path) -> Path:
    """`file`, which lies in `folder`. Raises `UsageError` if it is a link, or in a linked folder, that leads out of it.

    A stranger's workspace could otherwise send any file of its user to a provider, or publish it.
    """
    if not file.resolve().is_relative_to(folder.resolve()):
        raise UsageError(f"{file} is a link that leads out of {folder}; put a copy of the file there.")
    return file


def _linked_folders(layer: Path, pattern: str) -> list[Path]:
    """Links to folders where the pattern looks for files: a glob passes over them, and packaged files would count."""
    searched = layer / pattern.partition("/")[0].strip("*")
    return [path for path in searched.rglob("*") if path.is_symlink() and path.is_dir()]


def _without_subfolders(path: str) -> tuple[str, str]:
    """The schema's folder and the file's name: `marts/judges/judge_bias.sql` → (`marts`, `judge_bias.sql`)."""
    return path.partition("/")[0], path.rpartition("/")[2]


def packaged(kind: Kind) -> Path:
    """The folder that ships with debatebench: inside the package in a wheel, next to it in a checkout."""
    package = Path(__file__).resolve().parents[1]
    in_wheel = package / "packaged" / kind
    return in_wheel if in_wheel.is_dir() else package.parent / kind


def check_known_run(run_tag: str, known: Collection[str], place: object = "the warehouse") -> None:
    """Raise `UsageError` if there is no such run in `place`, with those that are `known` there."""
    if run_tag not in known:
        raise UsageError(f"No run '{run_tag}' in {place}.{known_names(run_tag, known, 'none yet')}")


def check_run_tag(tag: str) -> str:
    """Return `tag` when it can name a run and its files, else raise `UsageError`."""
    return check_plain_name(tag, "a run tag")


def check_plain_name(name: str, what: str) -> str:
    """Return `name` when it can name a file, else raise `UsageError`: it cannot be `what`."""
    if not _PLAIN_NAME.fullmatch(name):
        raise UsageError(
            f"{name!r} cannot be {what}; allowed: a letter or digit, then up to 99 letters, digits, '.', '_' or '-'."
        )
    return name


def init_workspace(root: Path, force: bool) -> Initialised:
    """Write the packaged configuration into `root` and create its folders.

    An existing file is kept; with `force` a configuration file is overwritten, but the README of a folder never is.
    Each file is written whole or not at all. Raises `DebatebenchError` when the disk reports an error.
    """
    done = Initialised([], [])
    workspace = Workspace(root)
    try:
        for relative, source in _packaged_configs():
            target = workspace.configs / relative
            _place(target, source.read_bytes(), done, overwrite=force and not _is_same_file(target, source))
        for folder, note in _FOLDER_NOTES.items():
            _place(root / folder / "README.md", note.encode(), done, overwrite=False)
    except OSError as error:
        place = error.filename or root
        raise not_written(Path(place), error) from error
    return done


def _packaged_configs() -> list[tuple[str, Path]]:
    base = packaged("configs")
    return sorted((path.relative_to(base).as_posix(), path) for path in base.rglob("*") if path.is_file())


def _is_same_file(target: Path, source: Path) -> bool:
    return target.exists() and target.samefile(source)


def _place(target: Path, content: bytes, done: Initialised, *, overwrite: bool) -> None:
    """Write one file whole, unless an existing one is to be kept. A link is replaced, never followed."""
    if os.path.lexists(target) and not overwrite:
        done.kept.append(target)
        return
    write_atomically(target, content)
    done.written.append(target)
