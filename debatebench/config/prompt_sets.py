"""A set of prompts with its rubric and its judge is written into a workspace: all of it, or nothing."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from debatebench.config.debatrix_config import PromptFolder
from debatebench.config.load import load_judges
from debatebench.config.parts import load_rubric, part_names
from debatebench.config.prompt_files import check_template
from debatebench.shared.errors import DebatebenchError, UsageError
from debatebench.shared.files import new_folder_beside, not_written, sync_path, unused_name_beside, write_atomically
from debatebench.shared.workspace import Workspace

METHODS_OF_PAPER = "debatrix_v2"
"""The folder of the prompts that all methods of the Debatrix paper share."""

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,63}")
_TAKEN = ("default", "user")


@dataclass(frozen=True, slots=True)
class Written:
    """The files and folders of a set, those of them that were written now, and the file of its judge."""

    paths: tuple[Path, ...]
    new: tuple[Path, ...]
    judges: Path


def write_prompt_set(workspace: Workspace, found: PromptFolder, name: str, *, force: bool) -> Written:
    """Write the set `name`: a folder of prompts, `configs/rubrics/NAME.yaml` and `configs/NAME_judges.yaml`.

    Everything is read back before the first file gets its name, and the prompts come last: without them the set cannot
    be chosen. What is there with the same content is kept. Raises `UsageError` for a name that is not one, and where
    something else has it, unless `force` is set.
    """
    if not _NAME.fullmatch(name) or name in _TAKEN:
        raise UsageError(f"--as {name!r}: allowed: letters, digits, '_' and '-', and not {' or '.join(_TAKEN)}.")
    prompts = workspace.configs / "prompts" / "judge" / METHODS_OF_PAPER / name
    rubric = workspace.configs / "rubrics" / f"{name}.yaml"
    judges = workspace.configs / f"{name}_judges.yaml"
    for path in (prompts, rubric, judges):
        workspace.guarded(path)
    source = f"# After the configuration of Debatrix in {' '.join(str(found.source).split())}.\n"
    texts = {
        rubric: source + _yaml(found.rubric),
        judges: source
        + "# `seed` is sent with every request; without it, each request has a seed derived from its debate and step.\n"
        "# `repairs` is how often an answer that is not the object that was asked for is asked for again.\n"
        + _yaml({"judges": [found.judge]}),
    }
    if not force:
        _refuse_others(workspace, texts, prompts, found.prompts, name)
    new = [path for path, text in texts.items() if _text(path) != text]
    try:
        with new_folder_beside(prompts) as folder:
            for stage, text in found.prompts.items():
                write_atomically(folder / f"{stage}.md", text)
                check_template(f"judge/{METHODS_OF_PAPER}/{stage}", folder / f"{stage}.md")
            for path, text in texts.items():
                write_atomically(folder / path.name, text)
            load_rubric(folder / rubric.name)
            load_judges(folder / judges.name)
            for path in texts:
                (folder / path.name).unlink()
            for path in new:
                write_atomically(path, texts[path])
            if _files(prompts) != dict(found.prompts):
                _place(folder, prompts)
                new.append(prompts)
    except OSError as error:
        raise not_written(prompts, error) from error
    return Written((rubric, judges, prompts), tuple(new), judges)


def _refuse_others(
    workspace: Workspace, texts: Mapping[Path, str], prompts: Path, wanted: Mapping[str, str], name: str
) -> None:
    """Refuse a name that something else has."""
    others = [path for path, text in texts.items() if os.path.lexists(path) and _text(path) != text]
    if os.path.lexists(prompts) and _files(prompts) != dict(wanted):
        others.append(prompts)
    if others:
        raise UsageError(f"{others[0]} is there and says something else; choose another --as, or overwrite by --force.")
    rubric = workspace.configs / "rubrics" / f"{name}.yaml"
    if name in part_names(workspace, "rubrics") and not rubric.exists():
        raise UsageError(f"'{name}' is a rubric that comes with debatebench; choose another --as.")


def _text(path: Path) -> str | None:
    """The text of a file; None if there is none, or none that can be read."""
    try:
        return path.read_text("utf-8")
    except (OSError, UnicodeDecodeError):
        return None


def _files(folder: Path) -> dict[str, str | None]:
    """The prompts in a folder by stage."""
    return {path.name.removesuffix(".md"): _text(path) for path in folder.iterdir()} if folder.is_dir() else {}


def _place(folder: Path, target: Path) -> None:
    """Give a folder its name; what had it before is deleted afterwards."""
    sync_path(folder)
    if not os.path.lexists(target):
        os.rename(folder, target)
    elif target.is_symlink() or not target.is_dir():
        raise DebatebenchError(f"{target} is in the way and not a folder; move it elsewhere.")
    else:
        old = unused_name_beside(target, "replaced")
        os.rename(target, old)
        try:
            os.rename(folder, target)
        except OSError:
            os.rename(old, target)
            raise
        shutil.rmtree(old, ignore_errors=True)
    sync_path(target.parent)


def _yaml(content: Mapping[str, Any]) -> str:
    return yaml.safe_dump(content, sort_keys=False, allow_unicode=True, width=120)
