"""A run in its own process, in tests."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

from fake_provider import FakeProvider
from tournament import KEY


def start(root: Path, *arguments: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "debatebench", "--root", str(root), "run", "--run-tag", "tiny", *arguments],
        env={**os.environ, "TINY_API_KEY": KEY},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def wait_until_asked(server: FakeProvider, process: subprocess.Popen[str], count: int) -> bool:
    """Wait until the server has received `count` requests; False if the run ends first."""
    while len(server.requests) < count:
        if process.poll() is not None:
            return False
        time.sleep(0.002)
    return True
