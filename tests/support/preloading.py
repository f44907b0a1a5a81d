"""A process that has loaded debatebench and forks for every command, which then has nothing left to import.

It gets commands over a socket, with the files to read and write, as `preloaded` sends them. It answers with the id of
the process that it forked, and at the end of that with its exit code.
"""

from __future__ import annotations

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
import sys
import tempfile
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path
from typing import Any


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
    # The command line imports these only where it needs them; an extra may be missing.
    for name in filter(find_spec, ("duckdb", "jinja2", "numpy", "uvicorn")):
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
    """Fork for every request until standard input ends, and answer with the exit code. Returns only in the forks."""
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
            request, files, _, _ = socket.recv_fds(caller, 1 << 20, 3)
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
    """Take the request's folder, environment, arguments and standard files, and run the program in `RUN_FIRST`."""
    for target, file in enumerate(files):
        os.dup2(file, target)
        os.close(file)
    os.chdir(request["folder"])
    os.environ.clear()
    os.environ.update(request["environ"])
    tempfile.tempdir = None
    sys.argv = ["debatebench", *request["arguments"]]
    if log := os.environ.get("OPENED_LOG"):
        _note_opened_files(log)
    exec(os.environ.pop("RUN_FIRST", ""), {})


def _note_opened_files(log: str) -> None:
    """Write the name of every file that Python opens in this process to the file `log`."""
    file = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND)

    def see(event: str, arguments: tuple[Any, ...]) -> None:
        if event == "open" and isinstance(arguments[0], str | bytes):
            os.write(file, os.path.abspath(os.fsencode(arguments[0])) + b"\n")

    sys.addaudithook(see)


if __name__ == "__main__":
    _load_everything()
    _serve(sys.argv[1])
    runpy.run_module("debatebench", run_name="__main__", alter_sys=True)
