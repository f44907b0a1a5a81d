"""Little memory: a process with a limit takes less, and what says that memory ran out becomes one sentence."""

from __future__ import annotations

import errno
import re
import resource
from contextlib import suppress

from debatebench.shared.errors import OutOfMemoryError, causes

_M_ARENA_MAX = -8
# What the interpreter, the dynamic linker and DuckDB say, besides raising MemoryError.
_SAID = re.compile(
    r"Out of Memory Error: |std::bad_alloc|can't start new thread"
    r"|Invalid Input Error: Python exception occurred while executing the UDF: MemoryError"
    r"|(FATAL|INTERNAL|TransactionContext|IO) Error: .*(Out of Memory|bad_alloc|bad allocation|Cannot allocate memory)"
    r"|.*(failed to map segment from shared object|[Cc]annot allocate memory in static TLS)",
    re.DOTALL,
)
# The names of the errors that say it. Others quote data.
_MAY_SAY = {
    *("OutOfMemoryException", "FatalException", "InternalException", "TransactionException", "IOException"),
    *("InvalidInputException", "RuntimeError", "ImportError"),
}


def spare_address_space() -> None:
    """If the address space of this process is limited, let all its threads allocate from one pool.

    The C library reserves 64 MB for each of them otherwise, of which little is used.
    """
    if address_space_limit() is None:
        return
    import ctypes

    with suppress(OSError, AttributeError):
        ctypes.CDLL(None).mallopt(_M_ARENA_MAX, 1)


def out_of_memory(error: BaseException) -> OutOfMemoryError | None:
    """The error if this one, or one that led to it, says that the process got no more memory or threads."""
    for each in causes(error):
        if isinstance(each, OutOfMemoryError):
            return each
        is_memory = isinstance(each, MemoryError) or (isinstance(each, OSError) and each.errno == errno.ENOMEM)
        if is_memory or (type(each).__name__ in _MAY_SAY and _SAID.match(str(each))):
            return OutOfMemoryError(_sentence(each))
    return None


def check_memory(error: BaseException) -> None:
    """Raise `OutOfMemoryError` if that is what the error means, before something else is concluded from it."""
    if (short := out_of_memory(error)) is not None:
        raise short from error


def _sentence(error: BaseException) -> str:
    said = str(error).split("\n")[0].removesuffix(".")
    limit = address_space_limit()
    allowed = "" if limit is None else f"the limit of this process is {limit / 2**20:,.0f} MB (`ulimit -v`); "
    return f"There is not enough memory{f' ({said})' if said else ''}: {allowed}allow more, and run the command again."


def address_space_limit() -> int | None:
    """The most bytes of address space that this process may have; None without a limit."""
    limit, _ = resource.getrlimit(resource.RLIMIT_AS)
    return None if limit == resource.RLIM_INFINITY else limit
