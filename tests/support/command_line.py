"""The command line as a user runs it, in its own process; or in this process, for tests that would cost too much."""

from __future__ import annotations

import io
import os
import subprocess
import sys
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from unittest.mock import patch

from built_warehouse import begin_built
from preloaded import run_preloaded

from debatebench.cli.app import run_app


@dataclass(frozen=True)
class Done:
    """How a command ended."""

    code: int
    out: str
    err: str

    @property
    def error_line(self) -> str:
        """The single line that the error printed."""
        lines = [line for line in self.err.splitlines() if line.startswith("Error: ")]
        assert len(lines) == 1, self.err
        assert "Traceback" not in self.err
        return lines[0]


def debatebench(root: Path, *arguments: str, environ: dict[str, str] | None = None, stdin: str | None = None) -> Done:
    """Run `debatebench --root ROOT ARGUMENTS` in a process of its own, forked from one that has loaded it already.

    Returns how it ended. Nothing may leak to stderr on exit.
    """
    own = {**os.environ, "COLUMNS": "200", **(environ or {})}
    code, out, err = run_preloaded(["--root", str(root), *arguments], own, stdin)
    assert "leaked" not in err, err
    return Done(code, out, err)


def debatebench_from_the_start(
    root: Path, *arguments: str, environ: dict[str, str] | None = None, stdin: str | None = None
) -> Done:
    """The same in a new Python, for tests of how a command starts and what it loads."""
    done = subprocess.run(
        [sys.executable, "-m", "debatebench", "--root", str(root), *arguments],
        capture_output=True,
        text=True,
        input=stdin,
        env={**os.environ, "COLUMNS": "200", **(environ or {})},
    )
    assert "leaked" not in done.stderr, done.stderr
    return Done(done.returncode, done.stdout, done.stderr)


def debatebench_here(root: Path, *arguments: str) -> Done:
    """The same command line in this process, which parses the packaged SQL models once instead of at every command.

    For tests of what a command decides and prints. Tests of how it starts, what it loads and how it exits need a
    separate process. So does a run, which sets up its process for playing.
    """
    if arguments[0] == "run":
        return debatebench(root, *arguments)
    out, err, code = io.StringIO(), io.StringIO(), 0
    # A query limits the memory of its process. This one may have more already, and the tests after it run here, too.
    unbound = patch("debatebench.cli.query.bound_memory", lambda: None)
    try:
        with redirect_stdout(out), redirect_stderr(err), patch.dict(os.environ, COLUMNS="200"), unbound:
            run_app(["--root", str(root), *arguments])
    except SystemExit as left:
        code = left.code if isinstance(left.code, int) else int(left.code is not None)
    return Done(code, out.getvalue(), err.getvalue())


def tour(root: Path, tag: str = "t", *arguments: str) -> Done:
    """A workspace with one small simulated run in it."""
    assert debatebench(begin_built(root), "init").code == 0
    return debatebench(root, "run", "--run-tag", tag, "--sample-topics", "1", *arguments)
