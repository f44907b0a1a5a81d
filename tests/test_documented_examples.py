"""What the documentation shows runs: SQL, Python and commands that ask the warehouse in README.md and docs/*.md.

A block ```sql is one query on a warehouse with the runs `demo` and `second`, and has rows. `$tag` is `demo`; an HTML
comment before the block gives other values: `<!-- params: tag=second n=3 -->`. Blocks ```python of a page run in order,
in one namespace; `<!-- needs: pandas -->` skips one where pandas is missing. Of blocks ```sh the lines that begin with
`debatebench query`, `compare` or `gate` run. Pages that other tests run whole are left to those.
"""

from __future__ import annotations

import importlib.util
import os
import re
import shlex
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest
from paths import REPOSITORY
from two_runs import two_runs

from debatebench.query.safe_query import parse_params, run_query

pytestmark = pytest.mark.slow

__all__ = ["two_runs"]

RUN_BY_OTHER_TESTS = {"debateflow.md", "exporting.md", "extending.md", "marts.md", "sql-models.md"}
BLOCK = re.compile(r"^(?:<!-- (?P<note>[^\n]*) -->\n)?```(?P<language>sql|python|sh)\n(?P<text>.*?)^```$", re.M | re.S)


@dataclass(frozen=True)
class Block:
    """A fenced block of a page."""

    page: Path
    line: int
    language: str
    note: str
    text: str

    def __str__(self) -> str:
        return f"{self.page.name}:{self.line}"

    def noted(self, kind: str) -> list[str]:
        """The words of the comment before the block, when it is of this kind."""
        return shlex.split(self.note.removeprefix(f"{kind}:")) if self.note.startswith(f"{kind}:") else []


def blocks_of(page: Path) -> list[Block]:
    text = page.read_text(encoding="utf-8")
    return [
        Block(page, text[: match.start("text")].count("\n") + 1, match["language"], match["note"] or "", match["text"])
        for match in BLOCK.finditer(text)
    ]


PAGES = [REPOSITORY / "README.md", *sorted((REPOSITORY / "docs").glob("*.md"))]
BLOCKS = [block for page in PAGES if page.name not in RUN_BY_OTHER_TESTS for block in blocks_of(page)]
QUERIES = [block for block in BLOCKS if block.language == "sql"]
PROGRAMS = sorted({block.page for block in BLOCKS if block.language == "python"})
COMMANDS = [
    (str(block), line)
    for block in BLOCKS
    if block.language == "sh"
    for line in block.text.splitlines()
    if re.match(r"(echo .*\| )?debatebench (query|compare|gate) ", line)
]


def test_there_are_examples_to_run():
    assert {"README.md", "querying.md"} <= {block.page.name for block in QUERIES}
    assert [page.name for page in PROGRAMS] == ["python-api.md"]
    assert len(COMMANDS) >= 5


@pytest.mark.parametrize("block", QUERIES, ids=str)
def test_a_documented_query_runs_and_has_rows(two_runs: Path, block: Block):
    params = {"tag": "demo", **parse_params(block.noted("params"))}
    wanted = {name: value for name, value in params.items() if f"${name}" in block.text}
    result = run_query(two_runs / "warehouse" / "debatebench.duckdb", block.text, wanted)
    assert result.rows
    assert not result.truncated


@pytest.mark.parametrize("page", PROGRAMS, ids=lambda page: page.name)
def test_documented_python_runs_from_top_to_bottom(two_runs: Path, page: Path, monkeypatch: pytest.MonkeyPatch, capsys):
    monkeypatch.chdir(two_runs)
    namespace: dict[str, object] = {}
    for block in blocks_of(page):
        if block.language == "python" and all(map(importlib.util.find_spec, block.noted("needs"))):
            exec(compile("\n" * block.line + block.text, page, "exec"), namespace)
    printed = capsys.readouterr().out
    assert "sim-" in printed
    assert "A query may read only the warehouse" in printed


@pytest.mark.parametrize("command", [command for _, command in COMMANDS], ids=[place for place, _ in COMMANDS])
def test_a_documented_command_runs(two_runs: Path, tmp_path: Path, command: str):
    shutil.copytree(two_runs, tmp_path / "ws")
    done = subprocess.run(
        ["bash", "-ec", f'debatebench() {{ "{sys.executable}" -m debatebench "$@"; }}\n{command}'],
        cwd=tmp_path / "ws",
        capture_output=True,
        text=True,
        env=os.environ,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout or "rows to" in done.stderr


def test_every_file_that_the_documentation_names_is_there():
    pages = [*REPOSITORY.glob("*.md"), *(REPOSITORY / "docs").glob("*.md")]
    named = {
        name
        for page in pages
        if page.name != "CHANGELOG.md"
        for name in re.findall(r"`((?:tests|benchmarks|docs|debatebench)/[\w/.-]+\.(?:py|md))`", page.read_text())
    }
    assert len(named) > 15
    assert {name for name in named if not (REPOSITORY / name).is_file()} == set()
