"""DuckDB's errors in one sentence: without the drawing, the stack and the advice to install extensions."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from debatebench.shared.duckdb_sql import missing_quotes
from debatebench.shared.errors import (
    DamagedDataError,
    DebatebenchError,
    HeldWarehouseError,
    NewerDataError,
    OutOfMemoryError,
    UsageError,
)
from debatebench.shared.memory import address_space_limit, out_of_memory

_SIGN_OF_VERSION = "database file with version number"
_LONGEST_MESSAGE = 500
_MOST_CANDIDATES = 3
_SIGNS_OF_DAMAGE = (
    "not a valid DuckDB",
    "Corrupt database",
    "stored checksum",
    "Could not read enough bytes",
    "Failed to load metadata",
)
_IMPOSSIBLE_ADVICE = re.compile(r' Use "SET .*')
_HINT = re.compile(r"^(Did you mean|Candidate|In order to use|PIVOT \.\.\.)")
_LINE = re.compile(r"^LINE (\d+): (.*)$")
_KIND = re.compile(r"^([A-Z]\w*(?: \w+)* Error|INTERRUPT Error): ")
_IN_FUNCTION = re.compile(r"Python exception occurred while executing the UDF: \w+: ")


@contextmanager
def sql_errors(timeout_s: float | None = None) -> Iterator[None]:
    """Turn DuckDB's errors inside the block into our own, each with one sentence."""
    import duckdb

    try:
        yield
    except duckdb.InterruptException as error:
        raise DebatebenchError(f"The query took longer than {timeout_s or 0:g} seconds and was stopped.") from error
    except UnicodeEncodeError as error:
        raise UsageError("The query, or the value of a parameter, contains bytes that are not UTF-8 text.") from error
    except MemoryError as error:
        # The frames of the traceback keep the rows in memory.
        error.__traceback__ = None
        raise _too_large(error) from None
    except duckdb.Error as error:
        raise _sql_error(error) from error


def check_no_folder(database: Path) -> None:
    """Raise `UsageError` if a folder lies where the warehouse should be."""
    if database.is_dir():
        raise UsageError(f"{database} is a folder; move it elsewhere, because the file of the warehouse goes there.")


def damage_of(error: Exception) -> DamagedDataError | None:
    """The error if DuckDB says that the file itself is wrong."""
    text = str(error)
    if out_of_memory(error) is not None:
        return None
    if _SIGN_OF_VERSION in text:
        return NewerDataError(
            f"The warehouse is of a storage version that this DuckDB cannot read ({_first_lines(text)}); use the "
            "version that wrote it, or let `debatebench build --from-journals` create it again."
        )
    if not any(sign in text for sign in _SIGNS_OF_DAMAGE):
        return None
    return DamagedDataError(
        f"The warehouse is damaged ({_first_lines(text)}); `debatebench build --from-journals` creates it again."
    )


def opening_error(database: Path, error: Exception) -> DebatebenchError:
    """Why the file could not be opened, in one sentence."""
    text = str(error)
    if (short := out_of_memory(error)) is not None:
        return short
    if "different configuration" in text:
        return HeldWarehouseError(
            f"This process has {database} open with a different configuration; close that connection and try again."
        )
    if "Unique file handle conflict" in text:
        return HeldWarehouseError(
            f"This process has {database} open for writing; close that connection, or open it with `read_only=True`."
        )
    if "Could not set lock" in text:
        holder = re.search(r"\(PID (\d+)\)", text)
        by = f"process {holder[1]}" if holder else "another process"
        return HeldWarehouseError(f"{by.capitalize()} has {database} open for writing; close it there and try again.")
    if (damage := damage_of(error)) is not None:
        return type(damage)(
            f"{database} is not a file that this DuckDB can read ({_first_lines(text)}); `debatebench build "
            "--from-journals` creates it again."
        )
    return DebatebenchError(f"{database} cannot be opened: {_first_lines(text)}.")


def _too_large(error: Exception) -> OutOfMemoryError:
    """What a query without memory says: it asks for too much, unless the whole process may have only little."""
    short = None if address_space_limit() is None else out_of_memory(error)
    return short or OutOfMemoryError("The query needs more memory than it may use; select fewer rows.")


def _sql_error(error: Exception) -> DebatebenchError:
    """Why DuckDB refused the query or could not finish it, as an error with one sentence."""
    import duckdb

    text = str(error)
    if isinstance(error, duckdb.OutOfMemoryException) or "Allocation failure" in text:
        return _too_large(error)
    if (damage := damage_of(error)) is not None:
        return damage
    if "disabled by configuration" in text or "configuration has been locked" in text:
        return DebatebenchError(
            f"A query may read only the warehouse, and it cannot change settings ({_first_lines(text)})."
        )
    if "read-only" in text:
        return DebatebenchError("A query cannot change anything; the warehouse is open read-only.")
    sentence = f"SQL: {_first_lines(text)}{_place(text)}"
    hint = missing_quotes(text)
    return DebatebenchError(f"{sentence.removesuffix('.')}.{hint}" if hint else sentence)


def _first_lines(text: str) -> str:
    """The message itself and the hints at similar names, on one line."""
    lines = [line.strip() for line in text.splitlines()]
    until = next((n for n, line in enumerate(lines) if not line or _LINE.match(line)), len(lines))
    kept = [_IN_FUNCTION.sub("", _KIND.sub("", lines[0]))] if lines else []
    for n, line in enumerate(lines[1:until], 1):
        if line == "Candidate functions:":
            kept.append(f"{line} {', '.join(lines[n + 1 : until][:_MOST_CANDIDATES])}")
        elif _HINT.match(line):
            kept.append(line)
    message = _IMPOSSIBLE_ADVICE.sub("", " ".join(kept))
    return (message if len(message) <= _LONGEST_MESSAGE else f"{message[:_LONGEST_MESSAGE]}…").removesuffix(".")


def _place(text: str) -> str:
    """The place of the error in the query, if DuckDB states it."""
    found = next((match for line in text.splitlines() if (match := _LINE.match(line.strip()))), None)
    return f" (line {found[1]}: {found[2].strip()[:100]})" if found else "."
