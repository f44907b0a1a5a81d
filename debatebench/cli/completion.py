"""Completion in a shell: the words of the command line, and the names that options take in a workspace.

A shell starts the command with `_DEBATEBENCH_COMPLETE` and the words so far in variables of its own. Completion must be
quick and must print nothing else, so where a name cannot be found out, there is none.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from debatebench.shared.errors import DebatebenchError

if TYPE_CHECKING:
    from debatebench.shared.workspace import Workspace

PROGRAM = "debatebench"
_WORDS = ("COMP_WORDS", "_TYPER_COMPLETE_ARGS")


def words_to_complete(environ: Mapping[str, str]) -> Sequence[str] | None:
    """The words that a shell asks to complete; None when it asks for nothing."""
    if f"_{PROGRAM.upper()}_COMPLETE" not in environ:
        return None
    return [word for name in _WORDS for word in environ.get(name, "").split()]


def _completed(names_in: Callable[[Workspace, Mapping[str, Any]], Iterable[str]]) -> Callable[..., list[str]]:
    """The completion of an option by names of a workspace, which gets the workspace and the other options."""

    def complete(ctx: typer.Context, incomplete: str) -> list[str]:
        from debatebench.shared.workspace import Workspace

        try:
            workspace = Workspace(Path(ctx.find_root().params.get("root") or "."))
            return sorted(name for name in names_in(workspace, ctx.params) if name.startswith(incomplete))
        except (DebatebenchError, OSError):
            return []

    return complete


@_completed
def run_tags(workspace: Workspace, _: Mapping[str, Any]) -> set[str]:
    from debatebench.journal.shards import run_tags_in

    imports = os.listdir(workspace.imports) if workspace.imports.is_dir() else []
    return set(run_tags_in(workspace.journal)) | {name for name in imports if not name.startswith(".")}


@_completed
def archived_tags(workspace: Workspace, _: Mapping[str, Any]) -> set[str]:
    from debatebench.warehouse.archive import archived_tags

    return archived_tags(workspace)


@_completed
def debaters(workspace: Workspace, options: Mapping[str, Any]) -> list[str]:
    from debatebench.config.load import load_debaters

    return [each.id for each in load_debaters(_path(workspace, options.get("models_path"), "models.yaml"))]


@_completed
def judges(workspace: Workspace, options: Mapping[str, Any]) -> list[str]:
    from debatebench.config.load import load_judges

    return [each.id for each in load_judges(_path(workspace, options.get("judges_path"), "judges.yaml"))]


@_completed
def topics(workspace: Workspace, options: Mapping[str, Any]) -> list[str]:
    from debatebench.config.load import load_topics

    return [each.id for each in load_topics(_path(workspace, options.get("topics_path"), "topics.json"))]


@_completed
def formats(workspace: Workspace, _: Mapping[str, Any]) -> tuple[str, ...]:
    from debatebench.config.parts import part_names

    return part_names(workspace, "formats")


@_completed
def rubrics(workspace: Workspace, _: Mapping[str, Any]) -> tuple[str, ...]:
    from debatebench.config.parts import part_names

    return part_names(workspace, "rubrics")


@_completed
def weaknesses(workspace: Workspace, options: Mapping[str, Any]) -> list[str]:
    from debatebench.config.parts import load_weaknesses

    return list(load_weaknesses(_path(workspace, options.get("weaknesses_path"), "weaknesses.yaml")).dimensions())


def _path(workspace: Workspace, given: Any, name: str) -> Path:
    return workspace.config_file(name) if given is None else Path(given)
