"""The command line as a user has it: a process of its own."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Done:
    """How a command ended."""

    code: int
    out: str
    err: str

    @property
    def error_line(self) -> str:
        """The one line that an error is."""
        lines = [line for line in self.err.splitlines() if line.startswith("Error: ")]
        assert len(lines) == 1, self.err
        assert "Traceback" not in self.err
        return lines[0]


def debatebench(root: Path, *arguments: str, environ: dict[str, str] | None = None, stdin: str | None = None) -> Done:
    """Run `debatebench --root ROOT ARGUMENTS` and return what came of it. Nothing may leak to stderr on leaving."""
    done = subprocess.run(
        [sys.executable, "-m", "debatebench", "--root", str(root), *arguments],
        capture_output=True,
        text=True,
        input=stdin,
        env={**os.environ, "COLUMNS": "200", **(environ or {})},
    )
    assert "leaked" not in done.stderr, done.stderr
    return Done(done.returncode, done.stdout, done.stderr)


def tour(root: Path, tag: str = "t", *arguments: str) -> Done:
    """A workspace with one small simulated run in it."""
    assert debatebench(root, "init").code == 0
    return debatebench(root, "run", "--run-tag", tag, "--sample-topics", "1", *arguments)
