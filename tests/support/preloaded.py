"""A process that has loaded debatebench and forks for every command, which then has nothing left to import.

Started as a script, this file is that process. It gets commands over a socket, with the files to read and write.
"""

from __future__ import annotations

import atexit
import ctypes
import gc
import importlib
import json
import os
import pkgutil
import runpy
import select
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import IO, Any

_LARGEST_REQUEST = 1 << 20


class Started:
    """A running `python -m debatebench ARGUMENTS`, with those parts of `subprocess.Popen` that the tests use.

    The output goes to files, so that nobody needs to read it while the command runs.
    """

    def __init__(
        self, arguments: Sequence[str], environ: Mapping[str, str], stdin: str | None = None, patch: str = ""
    ) -> None:
        """Start it in a forked process, which runs the program `patch` first."""
        self.args = ["debatebench", *arguments]
        self.returncode: int | None = None
        self._out, self._err = tempfile.TemporaryFile(), tempfile.TemporaryFile()  # noqa: SIM115
        self._connection = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with tempfile.TemporaryFile() as read:
            read.write((stdin or "").encode())
            read.seek(0)
            self._connection.connect(_parent())
            request = {"arguments": arguments, "environ": dict(environ), "folder": os.getcwd(), "patch": patch}
            sent = json.dumps(request).encode()
            assert len(sent) < _LARGEST_REQUEST
            files = [read.fileno(), self._out.fileno(), self._err.fileno()]
            socket.send_fds(self._connection, [sent], files)
        self.pid = int(self._connection.recv(64))

    def wait(self, timeout: float | None = None) -> int:
        """Its exit code, when it has ended; raises `subprocess.TimeoutExpired` if that takes longer."""
        if self.returncode is None:
            self._connection.settimeout(timeout)
            try:
                self.returncode = int(self._connection.recv(64))
            except (TimeoutError, BlockingIOError):
                raise subprocess.TimeoutExpired(self.args, timeout or 0) from None
            self._connection.close()
            self._texts = _text_of(self._out), _text_of(self._err)
        return self.returncode

    def poll(self) -> int | None:
        """Its exit code, or None while it runs."""
        with suppress(subprocess.TimeoutExpired):
            self.wait(0)
        return self.returncode

    def send_signal(self, number: int) -> None:
        if self.poll() is None:
            os.kill(self.pid, number)

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


def run_preloaded(arguments: list[str], environ: dict[str, str], stdin: str | None) -> tuple[int, str, str]:
    """Run `python -m debatebench ARGUMENTS` in a forked process: its exit code, output and errors."""
    started = Started(arguments, environ, stdin)
    out, err = started.communicate()
    return started.wait(), out, err


@cache
def _parent() -> str:
    """The address of the process that forks; it ends with this one."""
    folder = tempfile.TemporaryDirectory(prefix="preloaded-")
    address = str(Path(folder.name) / "socket")
    process = subprocess.Popen(
        [sys.executable, "-P", __file__, address],
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


def _load_everything() -> None:
    """Every module, and what a process that runs several commands reads only once."""
    import debatebench
    from debatebench.query.sql_project import load_project
    from debatebench.shared.workspace import Workspace
    from debatebench.transform.build_state import inputs_sha256
    from debatebench.transform.comments import texts_of

    for module in pkgutil.walk_packages(debatebench.__path__, "debatebench."):
        if not module.name.endswith("__main__"):
            importlib.import_module(module.name)
    # The command line imports these only where it needs them.
    for name in ("duckdb", "jinja2", "numpy"):
        importlib.import_module(name)
    project = load_project(Workspace(Path("nowhere")).files("sql", "**/*"))
    assert texts_of(project, inputs_sha256(project))
    # A thread would be missing in the forks, with the locks that it holds.
    assert len(list(Path("/proc/self/task").iterdir())) == 1
    gc.collect()
    _keep(gc.get_objects())
    gc.freeze()


def _keep(objects: list[Any]) -> None:
    """Never free these, as every fork would do at its end, after copying the memory that they are in."""
    for one in objects:
        ctypes.pythonapi.Py_IncRef(ctypes.py_object(one))


def _serve(address: str) -> None:
    """Fork for every request until standard input ends, and answer with the process id, and at its end with the exit
    code. Returns only in the forks.
    """
    listening = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    listening.bind(address)
    listening.listen(64)
    woken, wakes = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
    signal.set_wakeup_fd(wakes)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    print("ready", flush=True)
    callers: dict[int, socket.socket] = {}
    while True:
        ready, _, _ = select.select([0, listening, woken], [], [])
        if 0 in ready:
            os._exit(0)
        if listening in ready:
            caller, _ = listening.accept()
            request, files, _, _ = socket.recv_fds(caller, _LARGEST_REQUEST, 3)
            pid = os.fork()
            if pid == 0:
                signal.set_wakeup_fd(-1)
                signal.signal(signal.SIGCHLD, signal.SIG_DFL)
                for file in (listening, caller, *callers.values()):
                    file.close()
                os.close(woken)
                os.close(wakes)
                _become(json.loads(request), files)
                return
            callers[pid] = caller
            caller.send(str(pid).encode())
            for file in files:
                os.close(file)
        if woken in ready:
            os.read(woken, 4096)
            while callers:
                pid, status = os.waitpid(-1, os.WNOHANG)
                if pid == 0:
                    break
                # A test that failed does not wait for the end.
                with callers.pop(pid) as caller, suppress(OSError):
                    caller.send(str(os.waitstatus_to_exitcode(status)).encode())


def _become(request: dict[str, Any], files: list[int]) -> None:
    """Take the request's folder, environment, arguments and standard files, and run its patch."""
    for target, file in enumerate(files):
        os.dup2(file, target)
        os.close(file)
    os.chdir(request["folder"])
    os.environ.clear()
    os.environ.update(request["environ"])
    tempfile.tempdir = None
    sys.argv = ["debatebench", *request["arguments"]]
    exec(request["patch"], {})


if __name__ == "__main__":
    _load_everything()
    _serve(sys.argv[1])
    runpy.run_module("debatebench", run_name="__main__", alter_sys=True)
