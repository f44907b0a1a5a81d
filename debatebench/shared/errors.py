"""Errors that a user can cause or meet, each with the exit code of the command.

DebatebenchError                1
├── UsageError                  2   wrong arguments, or inputs that do not fit together
│   └── ConfigError             2   a configuration file that cannot be used
├── OutOfMemoryError            1   the process, or a query, needs more memory than it may have
├── StuckQueryError             1   a query that goes on after it was interrupted
├── SqlModelError               1   a SQL model, its YAML or its test that cannot be built or run
│   └── SqlDataError            1   a SQL model whose rows cannot be computed from the data that there is
├── UnbuiltError                3   what was to land has landed, but the SQL models could not be built
├── DamagedDataError            3   a journal, import or warehouse that changed after it was written
│   └── NewerDataError          3   one that needs a newer version, or a package: nothing is damaged
├── HeldWarehouseError          1   another program has the warehouse open, so that it cannot be read or changed
├── BusyError                   4   another process plays the run or does the import that was asked for
├── RunIncompleteError          5   the run ended, but debates are missing
├── RegressionError             6   a comparison found a drop beyond its interval
└── InterruptedRunError       130   the user stopped the run

A message names the thing and the way out, in one sentence, and never holds a key. It quotes names, files and answers
of others, so it is shown with `visible`: on one line, whatever it quotes.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import takewhile
from pathlib import Path
from traceback import extract_tb
from typing import ClassVar

from debatebench.shared.visible_text import visible


class DebatebenchError(Exception):
    """Something went wrong that the user can understand and act on. `details` are further lines, such as a list."""

    exit_code: ClassVar[int] = 1

    def __init__(self, message: str = "", details: Sequence[str] = ()) -> None:
        super().__init__(message)
        self.details = tuple(details)

    @property
    def message(self) -> str:
        """The sentence without the details."""
        return visible(str(self.args[0]))

    def __str__(self) -> str:
        return "\n  ".join([self.message, *map(visible, self.details)])

    def _render_traceback_(self) -> list[str]:
        """What IPython shows instead of a traceback: the line of the user's own code, and the sentence."""
        package = str(Path(__file__).parents[1])
        frames = extract_tb(self.__traceback__)
        own = list(takewhile(lambda each: not each.filename.startswith(package), frames))
        return [
            *(f"Line {each.lineno}: {each.line}" for each in own[-1:] if each.line),
            f"{type(self).__name__}: {self}",
        ]


class UsageError(DebatebenchError):
    """The arguments, or the inputs they name, do not fit together."""

    exit_code = 2


class ConfigError(UsageError):
    """A configuration file holds something that is not allowed."""


class OutOfMemoryError(DebatebenchError):
    """The process, or a query, needs more memory than it may have. That says nothing about any file."""


class StuckQueryError(DebatebenchError):
    """A query goes on after it was interrupted; its connection can no longer be used or closed."""


class SqlModelError(DebatebenchError):
    """A SQL model, its YAML or one of its tests cannot be read, built or run."""


class SqlDataError(SqlModelError):
    """The rows of a SQL model cannot be computed: a value in the data is out of range, or of another type."""


class UnbuiltError(DebatebenchError):
    """Everything that was to land has landed, but the SQL models could not be built from it."""

    exit_code = 3


class DamagedDataError(DebatebenchError):
    """A file changed after it was written: a bad checksum, a torn record, a value outside its schema."""

    exit_code = 3


class NewerDataError(DamagedDataError):
    """A file that needs a newer version, or an installed package. It lands no more than a damaged one, and is whole."""


class HeldWarehouseError(DebatebenchError):
    """Another program has the warehouse open for writing, or changed it: it was not read, or not published."""


class BusyError(DebatebenchError):
    """Another process plays the same run, imports into the same tag or holds the same port: nothing was done."""

    exit_code = 4


class RunIncompleteError(DebatebenchError):
    """The run ended with debates missing."""

    exit_code = 5


class RegressionError(DebatebenchError):
    """A comparison found a drop beyond its interval."""

    exit_code = 6


class InterruptedRunError(DebatebenchError):
    """The user stopped the run; the answers so far are in the journal."""

    exit_code = 130


def causes(error: BaseException) -> Iterator[BaseException]:
    """The error and the errors from which it was made, each once."""
    seen: set[int] = set()
    cause: BaseException | None = error
    while cause is not None and id(cause) not in seen:
        seen.add(id(cause))
        yield cause
        cause = cause.__cause__ or cause.__context__
