"""The command line: parse, call, print. `main` is the entry point."""

from __future__ import annotations

import os
import sys

__all__ = ["main"]


def main() -> None:
    """Run the command line and leave with its exit code; a user's mistake is one line, never a traceback."""
    # Matrices are small here, and more threads would only wait for each other.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    try:
        from debatebench.cli.app import run_app

        run_app()
    except KeyboardInterrupt:
        # Before the command line is set up to tell it.
        sys.exit(130)
