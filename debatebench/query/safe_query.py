"""Safe queries: one SELECT that may read the warehouse and nothing else.

A read-only connection can still read any file and copy to any file, so file access is also disabled for the connection
and its settings are locked. See `open_for_query` for the order, which matters.
"""

from __future__ import annotations

import re
import resource
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from debatebench.query.duckdb_errors import check_no_folder, opening_error, sql_errors
from debatebench.shared.amounts import counted
from debatebench.shared.duckdb_sql import NO_EXTENSIONS, quoted_identifier, quoted_text
from debatebench.shared.errors import DebatebenchError, StuckQueryError, UsageError

if TYPE_CHECKING:
    import duckdb

T = TypeVar("T")

ASKING_FOR = "--param {name}=VALUE"

# Names that DuckDB has for databases of its own.
_TAKEN_CATALOGS = {"memory", "temp", "system", "main"}
_CATALOG = "warehouse"
_ROWS_AT_ONCE = 2_000
# Of a result, on a page of a notebook.
_MOST_SHOWN = 50
# The memory that rows may take in Python. DuckDB does not count it, and a process without memory ends with no message.
_MOST_BYTES = 3 * 2**29
_INTERRUPT_EVERY_S = 0.05
_STOPPED_WITHIN_S = 5.0
_INTEGER = re.compile(r"[+-]?(0|[1-9][0-9]*)")
_FLOAT = re.compile(r"[+-]?([0-9]+\.[0-9]*|\.[0-9]+|[0-9]+(?=[eE]))([eE][+-]?[0-9]+)?")
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_WRONG_SELECT = (
    "A query is exactly one SELECT statement (FROM, WITH, VALUES, DESCRIBE, SHOW and SUMMARIZE count as one); "
)


@dataclass(frozen=True, slots=True, repr=False)
class QueryResult:
    """The rows of a query. `types` are DuckDB's names; `truncated` says that the row cap cut the result.

    The rows are in memory: nothing that becomes of them keeps the warehouse from the next query. A notebook shows them
    as a table.
    """

    columns: tuple[str, ...]
    types: tuple[str, ...]
    rows: list[tuple[Any, ...]]
    truncated: bool

    def dicts(self) -> list[dict[str, Any]]:
        """The rows as column → value. Of two columns of one name the second is called `name_1`."""
        from debatebench.shared.result_formats import unique_names

        names = unique_names(self.columns)
        return [dict(zip(names, row, strict=True)) for row in self.rows]

    def df(self) -> Any:
        """The rows as a `pandas.DataFrame`: integers exact, decimals as Python's."""
        from debatebench.query.frames import pandas_frame

        return pandas_frame(self.columns, self.types, self.rows)

    def pl(self) -> Any:
        """The rows as a `polars.DataFrame`, exact."""
        from debatebench.query.frames import polars_frame

        return polars_frame(self.columns, self.types, self.rows)

    def arrow(self) -> Any:
        """The rows as a `pyarrow.Table`, exact."""
        from debatebench.query.frames import arrow_table

        return arrow_table(self.columns, self.types, self.rows)

    def __len__(self) -> int:
        return len(self.rows)

    def __repr__(self) -> str:
        return f"<{self._size()}: {', '.join(self.columns)}>"

    def __str__(self) -> str:
        from debatebench.shared.result_formats import render

        return render(self.columns, self.rows[:_MOST_SHOWN]) + (f"{self._rest()}\n" if self._rest() else "")

    def _repr_html_(self) -> str:
        from debatebench.shared.result_formats import html_table

        return html_table(self.columns, self.rows[:_MOST_SHOWN], self._rest() or self._size())

    def _size(self) -> str:
        size = counted(len(self.rows), "row")
        return f"the first {size}, and there are more" if self.truncated else size

    def _rest(self) -> str:
        """What is not shown; empty if all is."""
        return f"The first {_MOST_SHOWN} of {self._size()}." if len(self.rows) > _MOST_SHOWN else ""


def open_for_query(
    database: Path, *, memory_limit: str = "2GB", threads: int | None = None, is_alone: bool = True
) -> duckdb.DuckDBPyConnection:
    """Open the warehouse so that SQL can read nothing else and change nothing.

    `memory_limit` is in DuckDB's notation. DuckDB lets a process open a file with one configuration only; unless
    `is_alone`, others in this process may read it in their own way, before and after. Raises `UsageError` if there is
    no warehouse, `HeldWarehouseError` if a program has it open for writing, `DamagedDataError` if the file is not a
    DuckDB database. The caller closes the connection.
    """
    import duckdb

    check_no_folder(database)
    if not database.is_file():
        raise UsageError(
            f"There is no warehouse at {database}: `debatebench run` creates it with a run, `debatebench land` with "
            "the journals and imports that there are."
        )
    config: dict[str, Any] = {
        "temp_directory": "",
        "memory_limit": memory_limit,
        **NO_EXTENSIONS,
    }
    if threads is not None:
        config["threads"] = threads
    try:
        con = duckdb.connect(str(database), read_only=True, config=config) if is_alone else _beside(database, config)
    except duckdb.Error as error:
        raise opening_error(database, error) from error
    try:
        # Connections of one process share the settings of the file: for a second one they are locked already.
        if not con.execute("select current_setting('lock_configuration')").fetchall()[0][0]:
            # For its cursors, too.
            con.execute("set global TimeZone = 'UTC'")
            con.execute("set enable_external_access = false")
            con.execute("set disabled_filesystems = 'LocalFileSystem'")
            con.execute("set lock_configuration = true")
    except BaseException:
        con.close()
        raise
    return con


def _beside(database: Path, config: Mapping[str, Any]) -> duckdb.DuckDBPyConnection:
    """A connection of an instance of its own, whose default database is the file."""
    import duckdb

    con = duckdb.connect(":memory:", config=dict(config))
    name = quoted_identifier(_CATALOG if database.stem in _TAKEN_CATALOGS else database.stem)
    try:
        con.execute(f"attach {quoted_text(str(database))} as {name} (type duckdb, read_only)")
        con.execute(f"use {name}")
    except BaseException:
        con.close()
        raise
    return con


def search_path_of(con: duckdb.DuckDBPyConnection) -> str:
    """Where `con` looks for names without a schema."""
    return str(con.execute("select current_setting('search_path')").fetchall()[0][0])


def cursor_of(con: duckdb.DuckDBPyConnection, search_path: str) -> duckdb.DuckDBPyConnection:
    """Another connection like `con`, so that a result that is not read to its end blocks nothing but itself.

    It is closed with `con`. `search_path` is that of `con`.
    """
    cursor = con.cursor()
    if search_path:
        cursor.execute(f"set search_path = {quoted_text(search_path)}")
    return cursor


@contextmanager
def open_for_reading(
    database: Path, *, memory_limit: str = "2GB", threads: int | None = None
) -> Iterator[duckdb.DuckDBPyConnection]:
    """A connection of `open_for_query` that is closed at the end of the block."""
    with closing_unless_stuck(open_for_query(database, memory_limit=memory_limit, threads=threads)) as con:
        yield con


@contextmanager
def closing_unless_stuck(con: duckdb.DuckDBPyConnection) -> Iterator[duckdb.DuckDBPyConnection]:
    """Close `con` at the end of the block, unless a query is still running in it: closing would fail."""
    try:
        yield con
    except StuckQueryError:
        raise
    except BaseException:
        con.close()
        raise
    con.close()


def parse_params(arguments: Iterable[str]) -> dict[str, Any]:
    """`name=value` texts → values for `$name`, each an int, else a float, else text.

    A value in single quotes is always text: `tag='2024'`. Raises `UsageError` for anything without a name.
    """
    params: dict[str, Any] = {}
    for argument in arguments:
        name, equals, value = argument.partition("=")
        if not equals or not _NAME.fullmatch(name):
            raise UsageError(f"--param takes name=value, the value of $name in the query, not '{argument}'.")
        if name in params:
            raise UsageError(f"--param {name} is given twice.")
        params[name] = _typed(value)
    return params


def _typed(value: str) -> int | float | str:
    """The typed value. Only plain decimal notation is a number, so that `nan`, `1_000` and `007` stay text."""
    if len(value) >= 2 and value[0] == value[-1] == "'":
        return value[1:-1]
    if _INTEGER.fullmatch(value):
        return int(value) if len(value) < 39 else value
    if _FLOAT.fullmatch(value):
        return float(value)
    return value


def run_query(
    database: Path | duckdb.DuckDBPyConnection,
    sql: str,
    params: Mapping[str, Any] | None = None,
    *,
    limit: int | None = 1000,
    timeout_s: float | None = 60.0,
    asking_for: str = ASKING_FOR,
) -> QueryResult:
    """Run one SELECT on the warehouse, or on a connection of `open_for_query`, and return at most `limit` rows.

    `params` are the values of `$name`; `asking_for` says how to give one, in the message about a missing value.
    Raises `UsageError` for anything but one SELECT and for parameters that do not fit, `DebatebenchError` for any error
    of DuckDB, for a query that takes longer than `timeout_s` seconds, and for rows of more than 1.5 GB. Values are
    returned as Python values, except times with a time zone, which are returned as text in UTC.
    """
    if isinstance(database, Path):
        with open_for_reading(database) as con:
            return run_query(con, sql, params, limit=limit, timeout_s=timeout_s, asking_for=asking_for)
    check_limits(limit, timeout_s)
    with sql_errors(timeout_s):
        statement, values = one_select(database, sql, params or {}, asking_for=asking_for)
        return within(timeout_s, lambda late: _answer(database, statement, values, limit, late), database)


def check_limits(limit: int | None, timeout_s: float | None) -> None:
    """Raise `UsageError` for a row limit below 0 or a timeout that is not a usable time."""
    if limit is not None and limit < 0:
        raise UsageError(f"A limit of {limit} rows is not possible; give 0 or more.")
    if timeout_s is not None and not 0 < timeout_s <= threading.TIMEOUT_MAX:
        raise UsageError(f"A timeout of {timeout_s:g} seconds is not possible; give more than 0.")


def within(timeout_s: float | None, work: Callable[[threading.Event], T], *connections: duckdb.DuckDBPyConnection) -> T:
    """Do `work` in a thread, and interrupt `connections` when the time is over or the user presses Ctrl-C.

    DuckDB itself checks for signals only now and then. One interruption is not enough either: it is lost between
    planning and running, and between two fetches, where `work` must check the event `late`. A single function call
    cannot be interrupted at all: then `StuckQueryError` is raised, and the connections must not be used or closed.
    """
    outcome: list[T | BaseException] = []
    late, done = threading.Event(), threading.Event()

    def run() -> None:
        try:
            outcome.append(work(late))
        except BaseException as error:
            outcome.append(error)
        finally:
            done.set()

    thread = threading.Thread(target=run, name="query", daemon=True)
    try:
        thread.start()
    except RuntimeError as error:
        raise DebatebenchError(f"The query cannot be started: {error}.") from error
    try:
        done.wait(timeout_s)
    finally:
        late.set()
        _interrupt_until(done, connections)
    result = outcome.pop()
    if isinstance(result, BaseException):
        raise result
    return result


def _interrupt_until(done: threading.Event, connections: Iterable[duckdb.DuckDBPyConnection]) -> None:
    """Interrupt the connections repeatedly until the work is done, but only for a limited time."""
    deadline = time.monotonic() + _STOPPED_WITHIN_S
    while not done.is_set():
        if time.monotonic() > deadline:
            raise StuckQueryError("The query was interrupted, but it is in a step that cannot be stopped.")
        for con in connections:
            con.interrupt()
        # The work is being stopped already.
        with suppress(KeyboardInterrupt):
            done.wait(_INTERRUPT_EVERY_S)


def one_select(
    con: duckdb.DuckDBPyConnection, sql: str, params: Mapping[str, Any], *, asking_for: str = ASKING_FOR
) -> tuple[duckdb.Statement, dict[str, Any] | None]:
    """The query as DuckDB's own parser reads it, and the values that it needs; the functions it names are registered.

    `asking_for` says how to give a value, for the message about a missing one.

    Raises `UsageError` for anything but one SELECT and for parameters that do not fit; `sql_errors` handles DuckDB's
    own errors.
    """
    statement = _only_statement(con, sql)
    values = _values_for(statement, params, asking_for)
    _make_callable(con, sql)
    return statement, values


def _make_callable(con: duckdb.DuckDBPyConnection, sql: str) -> None:
    """Register the Python functions that the text mentions; they only compute, and access nothing outside."""
    if "(" not in sql:
        return
    from debatebench.stats import sql as udfs

    if names := udfs.named_in(sql):
        # A separate cursor, because a half-read result of the other one would be lost. (That one can use the function
        # only after its result has been read: until then its transaction is older than the function.)
        with closing(con.cursor()) as own:
            udfs.register(own, names)


def _only_statement(con: duckdb.DuckDBPyConnection, sql: str) -> duckdb.Statement:
    import duckdb

    sql.encode()
    statements = con.extract_statements(sql)
    if not statements:
        raise UsageError("The query is empty.")
    if len(statements) > 1:
        raise UsageError(f"{_WRONG_SELECT}this text contains {len(statements)}.")
    try:
        kind = statements[0].type
    except ValueError:
        # A kind of statement that DuckDB has but its Python client does not name.
        kind = duckdb.StatementType.INVALID
    # For a PIVOT without a list of its values, DuckDB first collects them, in a statement of its own.
    is_pivot = kind == duckdb.StatementType.MULTI and in_parentheses(con, statements[0].query) is not None
    if kind != duckdb.StatementType.SELECT and not is_pivot:
        is_unnamed = kind in (duckdb.StatementType.INVALID, duckdb.StatementType.MULTI)
        name = "something else" if is_unnamed else kind.name.replace("_", " ")
        raise UsageError(f"{_WRONG_SELECT}this is {name}.")
    return statements[0]


def in_parentheses(con: duckdb.DuckDBPyConnection, sql: str) -> str | None:
    """One statement as it can stand in FROM: in parentheses, without a closing semicolon; None if it is not a query.

    DuckDB's parser takes nothing but a query there, whatever a query and a statement that writes have in common.
    """
    import duckdb

    # A comment may follow the semicolon.
    for text in (sql, sql.rpartition(";")[0]):
        with suppress(duckdb.Error):
            if len(con.extract_statements(f"from (\n{text}\n)")) == 1:
                return f"(\n{text}\n)"
    return None


def _values_for(statement: duckdb.Statement, params: Mapping[str, Any], asking_for: str) -> dict[str, Any] | None:
    """The values that the statement needs; raises `UsageError` for a missing or an extra one."""
    wanted = set(statement.named_parameters)
    if any(name.isdigit() for name in wanted):
        given = asking_for.format(name="name")
        raise UsageError(f"Parameters need names; write $name instead of ? or $1, and give {given}.")
    missing, unknown = sorted(wanted - set(params)), sorted(set(params) - wanted)
    if missing:
        raise UsageError(f"The parameter ${missing[0]} has no value; give {asking_for.format(name=missing[0])}.")
    if unknown:
        known = ", ".join(f"${name}" for name in sorted(wanted)) or "none"
        raise UsageError(f"The query has no parameter ${unknown[0]}. Its parameters: {known}.")
    for value in params.values():
        if isinstance(value, str):
            value.encode()
    return dict(params) or None


def _answer(
    con: duckdb.DuckDBPyConnection,
    statement: duckdb.Statement,
    values: dict[str, Any] | None,
    limit: int | None,
    late: threading.Event,
) -> QueryResult:
    """Run the statement and fetch up to `limit` rows, and one more to know whether the result was cut."""
    import duckdb

    con.execute(statement, values)
    description = con.description or []
    columns = tuple(str(column[0]) for column in description)
    types = tuple(str(column[1]).strip('"') for column in description)
    if any("WITH TIME ZONE" in name for name in types):
        # The client would need another package to convert them to Python values.
        as_text = (f"cast(#{n} as varchar)" if "WITH TIME ZONE" in t else f"#{n}" for n, t in enumerate(types, 1))
        con.execute(f"select {', '.join(as_text)} from {in_parentheses(con, statement.query)}", values)
    rows: list[tuple[Any, ...]] = []
    most = _peak_memory() + _MOST_BYTES
    while True:
        wanted = _ROWS_AT_ONCE if limit is None else min(_ROWS_AT_ONCE, limit + 1 - len(rows))
        rows += (batch := con.fetchmany(wanted))
        if len(batch) < wanted:
            return QueryResult(columns, types, rows, truncated=False)
        if limit is not None and len(rows) > limit:
            return QueryResult(columns, types, rows[:limit], truncated=True)
        if late.is_set():
            raise duckdb.InterruptException
        if _peak_memory() > most:
            raise MemoryError


def _peak_memory() -> int:
    """The peak memory of this process so far, in bytes."""
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024
