"""Packages that add to debatebench, as an installer leaves them; and a judge method without a package."""

from __future__ import annotations

import os
import tomllib
from collections.abc import Mapping
from pathlib import Path

import pytest
from command_line import Done, debatebench_from_the_start, debatebench_here

from debatebench.judges.deliberation import Method
from debatebench.shared import extensions

EXAMPLE = Path(__file__).parent / "extension"
"""The package of docs/extending.md."""


def add_method(monkeypatch: pytest.MonkeyPatch, name: str, method: Method) -> None:
    """Add a judge method for the time of a test."""
    monkeypatch.setitem(extensions._loaded, ("judge_methods", name), method)


def add_package(folder: Path, entry_points: Mapping[str, Mapping[str, str]], name: str = "debate-extras") -> None:
    """Write to a folder what says that a package is installed there: its name, its version and its entry points."""
    metadata = folder / f"{name.replace('-', '_')}-1.0.dist-info"
    metadata.mkdir(parents=True)
    (metadata / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
    lines = [
        line
        for group, points in entry_points.items()
        for line in (f"[{group}]", *(f"{point} = {value}" for point, value in points.items()))
    ]
    (metadata / "entry_points.txt").write_text("\n".join(lines))


class Beside:
    """Commands beside which the example is installed in a folder."""

    def __init__(self, folder: Path) -> None:
        project = tomllib.loads((EXAMPLE / "pyproject.toml").read_text(encoding="utf-8"))["project"]
        add_package(folder, project["entry-points"], project["name"])
        self._folders = [str(folder), str(EXAMPLE)]

    def __call__(self, root: Path, *arguments: str, **environ: str) -> Done:
        """Run a command: one that plays in a new Python, which finds the package by itself, any other in this one."""
        if arguments[0] == "run":
            found = {"PYTHONPATH": os.pathsep.join(self._folders), **environ}
            return debatebench_from_the_start(root, *arguments, environ=found)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(extensions, "_loaded", {})
            for folder in self._folders:
                patch.syspath_prepend(folder)
            return debatebench_here(root, *arguments)
