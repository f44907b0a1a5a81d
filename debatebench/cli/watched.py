"""A command whose memory is limited runs in a process of its own, so that its end can be told."""

from __future__ import annotations

import os
import signal
import sys
from contextlib import suppress

from debatebench.shared.errors import OutOfMemoryError
from debatebench.shared.memory import address_space_limit, out_of_memory

_FORWARDED = {signal.SIGINT, signal.SIGTERM}
_CRASHES = {signal.SIGSEGV, signal.SIGABRT, signal.SIGBUS}
# The dynamic linker's, when a thread gets no memory for its variables. No command of ours has it.
_EXIT_OF_LINKER = 127
_PR_SET_PDEATHSIG = 1


def go_on_watched() -> None:
    """If the address space is limited, return in a child process; this process then exits as the child does.

    Native libraries crash when an allocation fails. That becomes one sentence and exit code 1.
    """
    if address_space_limit() is None or sys.platform != "linux":
        return
    awaited = {*_FORWARDED, signal.SIGCHLD}
    before = signal.pthread_sigmask(signal.SIG_BLOCK, awaited)
    child = os.fork()
    if child:
        os._exit(_wait(child, awaited))
    _end_with_parent()
    signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _wait(child: int, awaited: set[signal.Signals]) -> int:
    """Forward signals until the child ends, and return the exit code of the command."""
    while True:
        received = signal.sigwaitinfo(awaited)
        if received.si_signo != signal.SIGCHLD:
            # A terminal sends Ctrl-C to both processes, with a code above 0.
            if received.si_code <= 0:
                os.kill(child, received.si_signo)
            continue
        ended, status = os.waitpid(child, os.WNOHANG)
        if ended:
            return _exit_code(os.waitstatus_to_exitcode(status))


def _exit_code(code: int) -> int:
    if code == _EXIT_OF_LINKER or -code in _CRASHES:
        ended = "it crashed" if code < 0 else "a library ended it"
        with suppress(OSError):
            os.write(2, f"Error: {out_of_memory(MemoryError(ended))}\n".encode())
        return OutOfMemoryError.exit_code
    return code if code >= 0 else 128 - code


def _end_with_parent() -> None:
    """Let the system kill this process when the parent is killed."""
    import ctypes

    parent = os.getppid()
    with suppress(OSError, AttributeError):
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, int(signal.SIGKILL))
    if os.getppid() != parent:
        os._exit(OutOfMemoryError.exit_code)
