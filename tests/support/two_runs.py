"""A workspace with two finished simulated runs, made once per test process. Tests only read it."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import pytest
from built_warehouse import begin_built
from command_line import debatebench

__all__ = ["two_runs"]


@cache
def _played(root: Path) -> Path:
    assert debatebench(begin_built(root), "init").code == 0
    # What is built at the end of the second run has both.
    for tag, *arguments in (("demo", "--seed", "12345", "--no-build"), ("second", "--seed", "7")):
        done = debatebench(root, "run", "--run-tag", tag, "--sample-topics", "1", *arguments)
        assert done.code == 0, done.err
    return root


@pytest.fixture(scope="session")
def two_runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the workspace; its runs are `demo` and `second`."""
    return _played(tmp_path_factory.getbasetemp() / "two-runs")
