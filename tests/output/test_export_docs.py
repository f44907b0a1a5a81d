"""docs/exporting.md: every command and query in it runs, in the order of the page."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from built_warehouse import begin_built
from command_line import debatebench_here
from exported import land
from paths import REPOSITORY

from debatebench.shared.workspace import Workspace

pytestmark = [pytest.mark.slow, pytest.mark.exhaustive]

PAGE = REPOSITORY / "docs" / "exporting.md"
# What other tools do is tested by `make test-dbt` and `make test-datasets`, whose example is the only one in Python.
OTHER_TOOLS = {"pip install 'dbt-core<1.11' 'dbt-duckdb<1.11' 'duckdb>=1.4'", "dbt build --profiles-dir ."}
QUERY = "import duckdb, sys\nassert duckdb.sql(sys.argv[1]).fetchall()"


def test_every_example_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(begin_built(tmp_path))
    land(Workspace(tmp_path), "demo", "2024")
    examples = re.findall(r"^```(\w*)\n(.*?)^```$", PAGE.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
    assert {language for language, _ in examples} == {"sh", "sql", "python"}
    assert [text.split()[1] for language, text in examples if language == "python"] == ["datasets"]
    ran = 0
    for language, text in examples:
        if language == "python":
            continue
        if language == "sql":
            subprocess.run([sys.executable, "-c", QUERY, text], check=True)
            ran += 1
            continue
        lines = [line for line in text.splitlines() if line not in OTHER_TOOLS]
        for line in lines:
            if "sha256sum" in line:
                subprocess.run(["bash", "-c", line], check=True)
                continue
            name, *arguments = shlex.split(line)
            assert name == "debatebench"
            done = debatebench_here(Path(), *arguments)
            assert done.code == 0, (line, done.err)
            ran += 1
    assert ran >= 11
