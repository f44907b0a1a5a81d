"""docs/exporting.md: every command and query in it runs, in the order of the page."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

from conftest import REPOSITORY
from exported import land

from debatebench.workspace import Workspace

PAGE = REPOSITORY / "docs" / "exporting.md"
# What other tools do is tested by `make test-dbt`.
OTHER_TOOLS = {"pip install 'dbt-core<1.11' 'dbt-duckdb<1.11' 'duckdb>=1.4'", "dbt build --profiles-dir ."}
QUERY = "import duckdb, sys\nassert duckdb.sql(sys.argv[1]).fetchall()"


def test_every_example_runs(tmp_path: Path):
    land(Workspace(tmp_path), "demo", "2024")
    examples = re.findall(r"^```(\w*)\n(.*?)^```$", PAGE.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
    assert {language for language, _ in examples} == {"sh", "sql"}
    ran = 0
    for language, text in examples:
        commands = [[sys.executable, "-c", QUERY, text]] if language == "sql" else []
        if language == "sh":
            lines = [line for line in text.splitlines() if line not in OTHER_TOOLS]
            assert all(line.startswith("debatebench ") for line in lines)
            commands += [[sys.executable, "-m", "debatebench", *shlex.split(line)[1:]] for line in lines]
        for command in commands:
            done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, env=os.environ)
            assert done.returncode == 0, (text, done.stderr)
            ran += 1
    assert ran >= 11
