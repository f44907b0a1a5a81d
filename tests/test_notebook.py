"""docs/notebook.ipynb: every cell runs in IPython in a workspace with runs, and what goes wrong ends in one screen."""

from __future__ import annotations

import json
import warnings
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
from paths import REPOSITORY
from two_runs import two_runs

pytestmark = pytest.mark.slow

__all__ = ["two_runs"]

NOTEBOOK = REPOSITORY / "docs" / "notebook.ipynb"
CELLS: list[dict[str, Any]] = json.loads(NOTEBOOK.read_text(encoding="utf-8"))["cells"]
SCREEN = 24


@pytest.fixture
def shell(two_runs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """IPython in the folder of a workspace, which keeps nothing in the user's home."""
    monkeypatch.setenv("IPYTHONDIR", str(tmp_path))
    monkeypatch.chdir(two_runs)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from IPython.core.interactiveshell import InteractiveShell
        from traitlets.config import Config

        config = Config()
        config.HistoryManager.enabled = False
        config.InteractiveShell.colors = "nocolor"
        InteractiveShell.clear_instance()
        shell = InteractiveShell.instance(config=config)
        yield shell
        InteractiveShell.clear_instance()


def test_every_cell_runs(shell: Any, capsys: pytest.CaptureFixture[str]) -> None:
    ran = 0
    for cell in CELLS:
        needs = cell["metadata"].get("needs", [])
        if cell["cell_type"] != "code" or not all(map(find_spec, needs)):
            continue
        capsys.readouterr()
        result = shell.run_cell("".join(cell["source"]), store_history=True)
        printed = capsys.readouterr().out
        ran += 1
        if "raises-exception" in cell["metadata"].get("tags", []):
            assert result.error_in_exec is not None
            assert "put it in single quotes: 'first'." in printed
            assert "Traceback" not in printed
            assert len(printed.splitlines()) < SCREEN
        else:
            assert result.success, printed
    assert ran >= 10


def test_the_notebook_is_small_and_has_no_outputs() -> None:
    assert NOTEBOOK.stat().st_size < 10_000
    assert [cell for cell in CELLS if cell.get("outputs") or cell.get("execution_count")] == []


def test_a_result_is_shown_as_a_table(shell: Any) -> None:
    shell.run_cell("import debatebench as db\nwh = db.open()")
    result = shell.run_cell("wh.leaderboard('demo')").result
    data, _ = shell.display_formatter.format(result)
    assert data["text/html"].startswith("<table>")
    assert data["text/plain"].startswith("<6 rows: ")
    shell.run_cell("wh.close()")


@pytest.mark.parametrize("mistake", ["wh.query('selec 1')", "wh.leaderboard('deno')", "db.open('nowhere')"])
def test_a_mistake_ends_in_one_screen_with_its_line(
    shell: Any, capsys: pytest.CaptureFixture[str], mistake: str
) -> None:
    shell.run_cell("import debatebench as db\nwh = db.open()")
    capsys.readouterr()
    shell.run_cell(f"x = 1\n\n{mistake}\ny = 2")
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == f"Line 3: {mistake}"
    assert len(lines) < 4
    shell.run_cell("wh.close()")
