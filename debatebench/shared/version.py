"""Which debatebench this is: its version, and the commit of a checkout."""

from __future__ import annotations

import subprocess
from pathlib import Path

__version__ = "0.1.0"


def git_commit() -> str | None:
    """The commit of the checkout that this package is imported from; None if it is installed or git is missing."""
    checkout = Path(__file__).resolve().parents[2]
    if not (checkout / ".git").exists():
        return None
    try:
        done = subprocess.run(
            ["git", "rev-parse", "HEAD"],  # noqa: S607
            cwd=checkout,
            capture_output=True,
            text=True,
            timeout=5,
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout.strip() or None
