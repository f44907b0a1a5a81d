"""A run in its own process, in tests."""

from __future__ import annotations

import os
import signal
import subprocess
import tempfile
import time
from contextlib import suppress
from pathlib import Path
from typing import IO

from fake_provider import FakeProvider
from preloaded import begin_preloaded
from tournament import KEY


class Started:
    """A command that was forked from a process that has loaded everything, with what the tests use of `Popen`.

    The output goes to files, so that nobody needs to read it while the command runs.
    """

    def __init__(self, *arguments: str, key: str, patch: str = "") -> None:
        """Start it with a key in its environment; it runs the program `patch` first."""
        self.args = ["debatebench", *arguments]
        self.returncode: int | None = None
        self._out, self._err = tempfile.TemporaryFile(), tempfile.TemporaryFile()  # noqa: SIM115
        environ = {**os.environ, "TINY_API_KEY": key, "RUN_FIRST": patch}
        with open(os.devnull, "rb") as read:
            files = [read.fileno(), self._out.fileno(), self._err.fileno()]
            self._process = begin_preloaded(list(arguments), environ, files)

    def wait(self, timeout: float | None = None) -> int:
        """Its exit code, when it has ended; raises `subprocess.TimeoutExpired` if that takes longer."""
        if self.returncode is None:
            try:
                self.returncode = self._process.waited_for(timeout)
            except (TimeoutError, BlockingIOError):
                raise subprocess.TimeoutExpired(self.args, timeout or 0) from None
            self._texts = _text_of(self._out), _text_of(self._err)
        return self.returncode

    def poll(self) -> int | None:
        """Its exit code, or None while it runs."""
        with suppress(subprocess.TimeoutExpired):
            self.wait(0)
        return self.returncode

    def send_signal(self, number: int) -> None:
        if self.poll() is None:
            os.kill(self._process.pid, number)

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)

    def communicate(self, timeout: float | None = None) -> tuple[str, str]:
        """Its output and errors, when it has ended."""
        self.wait(timeout)
        return self._texts


def _text_of(file: IO[bytes]) -> str:
    """All of it, read and closed; every end of a line is read as a line feed, as `subprocess` does with text."""
    with file:
        file.seek(0)
        return file.read().decode().replace("\r\n", "\n").replace("\r", "\n")


def start(root: Path, *arguments: str, patch: str = "") -> Started:
    """Start a run in a process that runs the program `patch` first."""
    return Started("--root", str(root), "run", "--run-tag", "tiny", *arguments, key=KEY, patch=patch)


def wait_until_asked(server: FakeProvider, process: Started, count: int) -> bool:
    """Wait until the server has received `count` requests; False if the run ends first."""
    while len(server.requests) < count:
        if process.poll() is not None:
            return False
        time.sleep(0.002)
    return True
