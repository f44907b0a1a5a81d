"""A run in its own process, in tests."""

from __future__ import annotations

import os
import time
from pathlib import Path

from fake_provider import FakeProvider
from preloaded import Started
from tournament import KEY


def start(root: Path, *arguments: str, patch: str = "") -> Started:
    """Start it in a process that runs the program `patch` first."""
    command = ["--root", str(root), "run", "--run-tag", "tiny", *arguments]
    return Started(command, {**os.environ, "TINY_API_KEY": KEY}, patch=patch)


def wait_until_asked(server: FakeProvider, process: Started, count: int) -> bool:
    """Wait until the server has received `count` requests; False if the run ends first."""
    while len(server.requests) < count:
        if process.poll() is not None:
            return False
        time.sleep(0.002)
    return True
