"""Commands in processes that have loaded debatebench already. As a script, this file is such a command for a shell."""

from __future__ import annotations

import atexit
import json
import os
import socket
import subprocess
import sys
import tempfile
from functools import cache
from pathlib import Path

_LARGEST_REQUEST = 1 << 20


def run_preloaded(arguments: list[str], environ: dict[str, str], stdin: str | None) -> tuple[int, str, str]:
    """Run `python -m debatebench ARGUMENTS` in a forked process: its exit code, output and errors."""
    with (
        tempfile.TemporaryFile() as read,
        tempfile.TemporaryFile() as out,
        tempfile.TemporaryFile() as err,
    ):
        read.write((stdin or "").encode())
        read.seek(0)
        code = begin_preloaded(arguments, environ, [read.fileno(), out.fileno(), err.fileno()]).exit_code()
        texts = []
        for file in (out, err):
            file.seek(0)
            # Every end of a line is read as a line feed, as `subprocess` does with text.
            texts.append(file.read().decode().replace("\r\n", "\n").replace("\r", "\n"))
    return code, texts[0], texts[1]


def begin_preloaded(arguments: list[str], environ: dict[str, str], files: list[int]) -> Begun:
    """Begin the same with these standard files, and do not wait for its end."""
    return Begun(_parent(), arguments, environ, files)


def write_command(folder: Path) -> Path:
    """Write the script `debatebench`, with which a shell runs such commands while this process lives."""
    path = folder / "debatebench"
    path.write_text(f'#!/bin/sh\nexec "{sys.executable}" -IS "{__file__}" "{_parent()}" "$@"\n')
    path.chmod(0o755)
    return path


class Begun:
    """A process that was forked for a command; `pid` is its id."""

    def __init__(self, address: str, arguments: list[str], environ: dict[str, str], files: list[int]) -> None:
        request = json.dumps({"arguments": arguments, "environ": environ, "folder": os.getcwd()}).encode()
        assert len(request) < _LARGEST_REQUEST
        self._connection = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._connection.connect(address)
        socket.send_fds(self._connection, [request], files)
        self.pid = int(self._connection.recv(64))

    def exit_code(self, timeout: float | None = None) -> int:
        """Wait at most so many seconds for its end; minus the number of a signal that ended it."""
        with self._connection:
            return self.waited_for(timeout)

    def waited_for(self, timeout: float | None) -> int:
        """The same for a caller that may ask again after a `TimeoutError`, or a `BlockingIOError` without any wait."""
        self._connection.settimeout(timeout)
        code = int(self._connection.recv(64))
        self._connection.close()
        return code


@cache
def _parent() -> str:
    """The address of the process that forks; it ends with this one."""
    folder = tempfile.TemporaryDirectory(prefix="preloaded-")
    address = str(Path(folder.name) / "socket")
    process = subprocess.Popen(
        [sys.executable, "-P", str(Path(__file__).with_name("preloading.py")), address],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        # As the command line itself sets it before it loads anything.
        env={**os.environ, "OPENBLAS_NUM_THREADS": "1"},
    )
    assert process.stdin is not None
    assert process.stdout is not None
    atexit.register(folder.cleanup)
    atexit.register(process.wait)
    atexit.register(process.stdin.close)
    assert process.stdout.readline() == "ready\n"
    return address


if __name__ == "__main__":
    sys.exit(Begun(sys.argv[1], sys.argv[2:], dict(os.environ), [0, 1, 2]).exit_code())
