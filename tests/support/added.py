"""Packages that add to debatebench, as an installer leaves them; and a judge method without a package."""

from __future__ import annotations

import os
import tomllib
from collections.abc import Mapping
from pathlib import Path

import pytest

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


def with_example(folder: Path) -> dict[str, str]:
    """The environment of a command beside which the example is installed."""
    project = tomllib.loads((EXAMPLE / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    add_package(folder, project["entry-points"], project["name"])
    return {"PYTHONPATH": os.pathsep.join(map(str, (folder, EXAMPLE)))}
