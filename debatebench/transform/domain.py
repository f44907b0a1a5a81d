"""What SQL models are about. This room does not know it: it is handed in with the files of a project."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from debatebench.transform.sql_model import SqlModel

if TYPE_CHECKING:
    import duckdb


class LandedColumn(NamedTuple):
    """A column of a landed table: its DuckDB type and meaning; where its values are known, each with its meaning."""

    data_type: str
    description: str
    values: Mapping[str, str] = {}


class Signed(Protocol):
    """A Python function with the DuckDB types of its parameters and of its result."""

    @property
    def call(self) -> Callable[..., Any]:
        """The function itself. It takes lists as Python lists."""

    @property
    def parameters(self) -> tuple[str, ...]:
        """The types of its parameters, in order."""

    @property
    def returns(self) -> str:
        """The type of its result."""


class PythonFunctions(Protocol):
    """The Python functions that SQL models may call."""

    def signature(self, name: str) -> Signed:
        """The function of this name, for engines other than DuckDB."""

    def python_functions(self, names: Iterable[str]) -> list[str]:
        """Those of `names` that are such functions, in their order."""

    def register(self, con: duckdb.DuckDBPyConnection, names: Collection[str]) -> None:
        """Make functions callable on a connection; doing it again changes nothing."""

    def fingerprint(self, name: str) -> str:
        """Hash of a function's signature and code; it changes when results may change."""


class Domain(Protocol):
    """The landed tables below the SQL models, the Python functions beside them, and the rule for their columns' names.

    Rows are landed in parts. `part` is the column of a landed table that says to which part a row belongs.
    """

    @property
    def part(self) -> str:
        """See the class."""

    @property
    def apart(self) -> Collection[str]:
        """Dotted names of small landed tables whose rows change without a landing of their part."""

    @property
    def about(self) -> tuple[str, str]:
        """Dotted name of a landed table with a row per part, and its column: the part that a part is about, or null."""

    @property
    def tables(self) -> Mapping[str, Mapping[str, LandedColumn]]:
        """Dotted name of each landed table → its columns, in order."""

    @property
    def descriptions(self) -> Mapping[str, str]:
        """Dotted name of each landed table → what it holds."""

    @property
    def asked(self) -> Sequence[str]:
        """The schemas whose SQL models people ask, which have names without a schema too; see `short_names`."""

    @property
    def functions(self) -> PythonFunctions:
        """The Python functions that SQL models may call."""

    def landed(self, con: duckdb.DuckDBPyConnection) -> Mapping[str, str] | None:
        """Part → hash of what was landed, in order; None where that is not recorded. It must be fast."""

    def landed_with_bases(self, con: duckdb.DuckDBPyConnection) -> Mapping[str, str] | None:
        """The same, but the hash of a part that is about another part changes with the other's content too."""

    def misnamed_columns(self, model: SqlModel, types: Mapping[str, str]) -> list[str]:
        """What breaks the rule for names, one text for each column; `types` maps columns to DuckDB types."""

    def code(self) -> Iterable[Path]:
        """The files of code outside this room that determine what a build makes."""
