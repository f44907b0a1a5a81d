"""Commands that run your SQL: query, sql."""

from __future__ import annotations

import os
import resource
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from debatebench.cli.common import FormatOption, built_workspace, format_option, note, note_error, print_rows
from debatebench.shared.errors import StuckQueryError, UsageError
from debatebench.shared.formats import Format

if TYPE_CHECKING:
    from debatebench.shared.workspace import Workspace

ParamOption = Annotated[
    list[str] | None, typer.Option("--param", help="The value of $name in the query, as name=value. Repeatable.")
]
TimeoutOption = Annotated[float, typer.Option("--timeout", min=0.1, help="Stop a query after this many seconds.")]

_PRINTED_ROWS = 1000
# Twice the memory that DuckDB may use, for the rows in Python, plus the stacks of its threads.
_MEMORY = 4 * 2**30
_MEMORY_PER_CPU = 32 * 2**20
_LOOKING = (".find", ".tables", ".describe", ".schema")
_FORMAT_OF_ENDING = {
    ".csv": "csv",
    ".json": "json",
    ".jsonl": "jsonl",
    ".md": "markdown",
    ".tex": "latex",
    ".parquet": "parquet",
    ".tsv": "tsv",
    ".txt": "table",
}


def query(
    context: typer.Context,
    sql: Annotated[
        str | None,
        typer.Argument(
            help="A SELECT; `-` reads it from standard input. `.find WORDS`, `.tables`, `.describe NAME` look around; "
            "a line `.mode FORMAT` may precede it."
        ),
    ] = None,
    file: Annotated[
        Path | None, typer.Option("--file", help="Read the statement from a file; `-` is standard input.")
    ] = None,
    param: ParamOption = None,
    limit: Annotated[
        int | None,
        typer.Option(
            "--limit", min=0, help="Maximum number of rows; 0 for all. Default: 1000 if printed, all in a file."
        ),
    ] = None,
    timeout: TimeoutOption = 60.0,
    output_path: Annotated[
        Path | None, typer.Option("--output", help="Write the result to a file instead of printing it.")
    ] = None,
    output: Annotated[
        Format | None,
        format_option(Format.PARQUET, help="How to write the result. Default: by the ending of --output, else table."),
    ] = None,
) -> None:
    """Run one SELECT on the warehouse.

    The query can read only the warehouse, and it cannot change anything.
    """
    from debatebench.query.safe_query import parse_params, run_query

    workspace = built_workspace(context, needs_models=False)
    text, params = _statement(sql, file), parse_params(param or [])
    statement, output = _without_format(text, output)
    if statement.lstrip().startswith("."):
        _look(workspace, statement.strip(), output_path, output)
        return
    if output_path is not None:
        from debatebench.shared.output_paths import check_output

        check_output(workspace, output_path)
        form = output.value if output else _format_of(output_path)
        with _guarded():
            _write(workspace, statement, params, output_path, form, limit or None, timeout)
        return
    if output is Format.PARQUET:
        raise UsageError("Parquet is not text and cannot be printed; name a file with --output FILE.")
    limit = _PRINTED_ROWS if limit is None else limit
    with _guarded():
        result = run_query(workspace.database, statement, params, limit=limit or None, timeout_s=timeout)
    print_rows(result.columns, result.rows, output or Format.TABLE)
    if result.truncated:
        note(f"Only the first {limit} rows are shown; --limit 0 shows all.")


def sql(
    context: typer.Context,
    param: ParamOption = None,
    limit: Annotated[
        int, typer.Option("--limit", min=0, help="Maximum number of rows to print; 0 for all.")
    ] = _PRINTED_ROWS,
    timeout: TimeoutOption = 60.0,
    output: FormatOption = Format.TABLE,
) -> None:
    """Run SELECT statements at a prompt or from a pipe."""
    from debatebench.cli.sql_prompt import history_file, interact, run_lines
    from debatebench.cli.sql_session import Settings, SqlSession
    from debatebench.query.safe_query import parse_params

    settings = Settings(output.value, limit, timeout, parse_params(param or []))
    is_for_people = sys.stdin.isatty() and sys.stdout.isatty()
    with _guarded():
        session = SqlSession(
            built_workspace(context, needs_models=False).database, settings, note, is_for_people=is_for_people
        )
        if is_for_people:
            interact(session, history_file(os.environ))
        else:
            run_lines(session, _standard_input().splitlines())
        if session.has_stuck_query:
            leave_at_once(0)
        session.close()


def _without_format(text: str, given: Format | None) -> tuple[str, Format | None]:
    """The query, with empty lines for those before it that set the format as at the prompt, and the format.

    Raises `UsageError` if such a line contradicts `--format`, which is `given`, or if no query follows.
    """
    from debatebench.cli.sql_session import FORMAT_COMMANDS, format_called

    lines, output, command = text.split("\n"), given, ""
    for number, line in enumerate(lines):
        name, _, argument = line.strip().removesuffix(";").partition(" ")
        if name and name not in FORMAT_COMMANDS:
            return "\n".join(lines), output
        if name:
            lines[number], command, output = "", f"{name} {argument}".strip(), format_called(argument.strip())
            if given not in (None, output):
                raise UsageError(f"`{command}` contradicts `--format {given}`; leave one of them out.")
    if command:
        way_out = f'`debatebench query --format {output} "select …"` does both'
        raise UsageError(f"`{command}` sets how a result is printed, and no query follows; {way_out}.")
    return text, given


def _look(workspace: Workspace, command: str, output_path: Path | None, output: Format | None) -> None:
    """Run a command of the prompt that says what there is to query."""
    from debatebench.cli.sql_session import Settings, SqlSession

    if "\n" in command:
        raise UsageError(
            f"Nothing can follow {command.split()[0]} in a query; `debatebench sql` runs several from a pipe."
        )
    if command.split()[0] not in _LOOKING:
        raise UsageError(f"A query is SQL, or one of {', '.join(_LOOKING)}; other commands are for `debatebench sql`.")
    if output_path is not None or output is Format.PARQUET:
        raise UsageError("What a command of the prompt prints is not written to a file; use > FILE of your shell.")
    session = SqlSession(workspace.database, Settings(output.value if output else "table"), note)
    try:
        session.command(command)
    finally:
        session.close()


def _format_of(path: Path) -> str:
    """The format that the ending of a file stands for, a table without one; raises `UsageError` for an unknown one."""
    if not path.suffix:
        return "table"
    if path.suffix.lower() not in _FORMAT_OF_ENDING:
        known = ", ".join(_FORMAT_OF_ENDING)
        raise UsageError(f"The ending of {path} is not that of a format: {known}. Use one of these, or add --format.")
    return _FORMAT_OF_ENDING[path.suffix.lower()]


def _write(
    workspace: Workspace,
    statement: str,
    params: dict[str, object],
    path: Path,
    form: str,
    limit: int | None,
    timeout: float,
) -> None:
    """Write the whole result to a file."""
    from debatebench.query.parquet import write_parquet
    from debatebench.query.safe_query import run_query
    from debatebench.shared.files import not_written, write_atomically
    from debatebench.shared.result_formats import render

    if form == "parquet":
        rows = write_parquet(workspace.database, statement, params, path, limit=limit, timeout_s=timeout)
    else:
        result = run_query(workspace.database, statement, params, limit=limit, timeout_s=timeout)
        rows = len(result.rows)
        try:
            write_atomically(path, render(result.columns, result.rows, form))
        except OSError as error:
            raise not_written(path, error) from error
    note(f"Wrote {rows} rows to {path}")


@contextmanager
def _guarded() -> Iterator[None]:
    """Limit the memory of this process while untrusted SQL runs, and end the process even if a query does not stop."""
    bound_memory()
    try:
        yield
    except StuckQueryError as error:
        note_error(error)
        leave_at_once(error.exit_code)


def bound_memory() -> None:
    """Limit the memory for rows in Python; DuckDB limits its own. Not every system supports this."""
    wanted = _MEMORY + _MEMORY_PER_CPU * (os.cpu_count() or 1)
    _, most = resource.getrlimit(resource.RLIMIT_DATA)
    with suppress(OSError, ValueError):
        resource.setrlimit(
            resource.RLIMIT_DATA, (wanted if most == resource.RLIM_INFINITY else min(wanted, most), most)
        )


def leave_at_once(code: int) -> None:
    """End the process without waiting for the thread of a query that is still running."""
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)


def _statement(sql: str | None, file: Path | None) -> str:
    """The SQL text, from exactly one of argument, file or standard input."""
    if (sql is None) == (file is None):
        raise UsageError('Give the query either as an argument ("select …") or with --file.')
    if sql == "-" or str(file) == "-":
        return _standard_input()
    if file is None:
        return str(sql)
    try:
        return file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8 text"
        raise UsageError(f"Cannot read the query in {file}: {reason}.") from error


def _standard_input() -> str:
    try:
        return sys.stdin.buffer.read().decode("utf-8")
    except UnicodeDecodeError as error:
        raise UsageError("Cannot read standard input: it is not UTF-8 text.") from error
