"""The typer application: global options, every command, and what becomes of errors."""

from __future__ import annotations

import io
import os
import sys
import traceback
from collections.abc import Callable, Sequence
from importlib import import_module
from pathlib import Path
from typing import Annotated, Any

import typer

from debatebench.cli.activity_display import shown_activity
from debatebench.cli.common import note, note_error, say
from debatebench.cli.completion import PROGRAM, words_to_complete
from debatebench.cli.grouped_help import GroupedCommands, command_class
from debatebench.cli.option_groups import with_groups
from debatebench.cli.signals import handled_signals
from debatebench.shared.errors import DebatebenchError, InterruptedRunError
from debatebench.shared.extensions import fault_of_package
from debatebench.shared.memory import out_of_memory, spare_address_space
from debatebench.shared.version import __version__

GROUPS: dict[str, dict[str, str]] = {
    "Begin": {"init": "init.init", "import": "warehouse.import_", "prompts": "prompts.prompts"},
    "Play": {"run": "run.run", "retry": "run.retry"},
    "Judge": {"judge": "judge.judge", "probe-judges": "judge.probe_judges", "annotate": "annotate.annotate"},
    "Look": {
        "runs": "runs.runs",
        "view": "view.view",
        "show-leaderboard": "show.show_leaderboard",
        "inspect-debate": "show.inspect_debate",
        "query": "query.query",
        "sql": "query.sql",
        "mcp": "mcp.serve_assistant",
    },
    "Compare": {"compare": "compare.compare", "gate": "compare.gate"},
    "Publish": {
        "report": "report.report",
        "plot": "plot.plot",
        "summarize": "show.summarize",
        "sample-debates": "show.sample_debates",
        "rate": "warehouse.rate",
        "export": "export.export",
        "upload": "upload.upload",
    },
    "SQL models": {
        "build": "warehouse.build",
        "test": "sql_models.run_tests",
        "lineage": "sql_models.lineage",
        "diff-models": "sql_models.diff_models",
        "transpile": "sql_models.transpile",
        "docs": "sql_models.docs",
    },
    "Care": {"land": "warehouse.land", "doctor": "doctor.doctor"},
}
"""Every command by its name, in the groups and order of `--help`: its file in this folder, and its function."""
COMMANDS = {name: command for group in GROUPS.values() for name, command in group.items()}
WITH_SUBCOMMANDS = {"prompts": "prompts.make_group", "runs": "runs.make_group"}
ALIASES = {
    "run-tournament": "run",
    "recompute-ratings": "rate",
    "leaderboard": "show-leaderboard",
    "upload-results": "upload",
}
FORMER_GROUPS = {"results": ("rate", "summarize", "plot", "show-leaderboard", "inspect-debate")}
"""Commands as the original harness calls them, under a word of its own: `debatebench results rate`."""
FORMER_OPTIONS = {
    "docs": {"--out": "--out-dir"},
    "export": {"--out": "--out-dir"},
    "gate": {"--baseline": "BASELINE", "--candidate": "CANDIDATE"},
    "probe-judges": {"--run-tag": "SOURCE"},
    "rate": {"--ratings-path": "--output"},
    "run": {"--print": "--format"},
}
"""Options as the version before called them: command → former → the option or argument now."""
_WORDS = {*COMMANDS, *ALIASES, *FORMER_GROUPS}
_EXAMPLES = {"run": "run.EXAMPLES", "judge": "judge.JUDGE_EXAMPLES", "probe-judges": "judge.PROBE_EXAMPLES"}


def command_named(name: str) -> Callable[..., None]:
    """The function behind a command. Only its file is imported: to import them all takes as long as a query."""
    found: Callable[..., None] = _part(COMMANDS[name])
    return found


def _part(path: str) -> Any:
    file, _, name = path.partition(".")
    return getattr(import_module(f"debatebench.cli.{file}"), name)


def _print_version(wanted: bool) -> None:
    if wanted:
        say(f"debatebench {__version__}")
        raise typer.Exit


def _global_options(
    context: typer.Context,
    root: Annotated[
        Path,
        typer.Option(help="The workspace, the folder with configs/, sql/, reports/ and warehouse/.", file_okay=False),
    ] = Path("."),
    _version: Annotated[
        bool, typer.Option("--version", help="Print the version and exit.", callback=_print_version, is_eager=True)
    ] = False,
) -> None:
    context.obj = root


def make_app(arguments: Sequence[str]) -> typer.Typer:
    """The application for a command line.

    Commands that `arguments` does not name have only their name and, for the overview, their first line: computing the
    options of every command takes longer than everything else in `--help`.
    """
    named = next((place for place, word in enumerate(arguments) if word in _WORDS), len(arguments))
    is_overview = named == len(arguments) or "--help" in arguments[:named]
    # Without rich's markup and tracebacks, `--help` starts twice as fast and an error stays on one line.
    app = typer.Typer(
        name=PROGRAM,
        help="LLM debate tournaments, judged by panels of LLMs, in a DuckDB warehouse of versioned SQL models.",
        rich_markup_mode=None,
        pretty_exceptions_enable=False,
        no_args_is_help=True,
        cls=GroupedCommands,
    )
    app.callback()(_global_options)
    for group, commands in GROUPS.items():
        for name in commands:
            if name in arguments and name in WITH_SUBCOMMANDS:
                app.add_typer(_part(WITH_SUBCOMMANDS[name])(), name=name, rich_help_panel=group)
            elif name in arguments:
                _add(app, name, rich_help_panel=group)
            else:
                text = command_named(name).__doc__ if is_overview else None
                app.command(name, rich_help_panel=group)(_by_name_only(text))
    for alias in ALIASES:
        if alias in arguments:
            _add(app, alias, hidden=True)
    for word, names in FORMER_GROUPS.items():
        if word in arguments:
            former = typer.Typer(help="The same commands without this word.", no_args_is_help=True)
            for name in names:
                _add(former, name)
            app.add_typer(former, name=word, hidden=True)
    return app


def _add(app: typer.Typer, name: str, **settings: Any) -> None:
    of = ALIASES.get(name, name)
    examples = _part(_EXAMPLES[of]) if of in _EXAMPLES else None
    app.command(name, cls=command_class(FORMER_OPTIONS.get(of, {})), epilog=examples, **settings)(
        with_groups(command_named(of))
    )


def _by_name_only(text: str | None) -> Callable[[], Any]:
    def listed() -> None:
        raise AssertionError("a command that is only listed cannot be called")

    listed.__doc__ = text
    return listed


def run_app(arguments: Sequence[str] | None = None) -> None:
    """Run a command line (default: that of this process) and exit with its code.

    Our errors, and those of the disk and of DuckDB, become one line on stderr; any other error is a bug and has a
    traceback. SIGINT and SIGTERM end a command with exit code 130, but a server as usual; a second one does so at once.
    """
    arguments = sys.argv[1:] if arguments is None else arguments
    _mend_streams()
    spare_address_space()
    with handled_signals() as signals, shown_activity():
        try:
            words = words_to_complete(os.environ)
            make_app(arguments if words is None else words)(arguments, prog_name=PROGRAM)
        except SystemExit as left:
            if signals.count and left.code == InterruptedRunError.exit_code:
                note("Interrupted.")
            raise
        except DebatebenchError as error:
            shown = out_of_memory(error) or error
            note_error(shown)
            sys.exit(shown.exit_code)
        except Exception as error:
            if signals.count:
                # A signal that interrupts a library can surface as any exception.
                note("Interrupted.")
                sys.exit(InterruptedRunError.exit_code)
            sys.exit(_print_other(error))


def _print_other(error: Exception) -> int:
    """Print an error that is not ours, and return the exit code.

    One line for memory, the disk, DuckDB and installed packages, else a traceback, because it is a bug.
    """
    duckdb = sys.modules.get("duckdb")
    if (short := out_of_memory(error)) is not None:
        # The frames of the traceback keep what filled the memory.
        error.__traceback__ = None
        note_error(short)
    elif isinstance(error, OSError):
        name = error.filename2 or error.filename
        note(f"Error: {f'{name}: ' if name else ''}{error.strerror or error}.")
    elif duckdb is not None and isinstance(error, duckdb.Error):
        from debatebench.query.duckdb_errors import damage_of

        if (damage := damage_of(error)) is not None:
            note_error(damage)
            return damage.exit_code
        note(f"Error: DuckDB failed: {str(error).splitlines()[0]}")
    elif sentence := fault_of_package(error):
        note_error(DebatebenchError(sentence))
    else:
        for line in "".join(traceback.format_exception(error)).splitlines():
            note(line)
    return DebatebenchError.exit_code


def _mend_streams() -> None:
    """Reopen closed standard streams on the null device, and let stdout accept characters that its encoding lacks.

    Otherwise the next file that is opened, perhaps a journal, gets the descriptor that libraries print to.
    """
    for descriptor in range(3):
        try:
            os.fstat(descriptor)
        except OSError:
            # The system gives the lowest free number, which is this one.
            os.open(os.devnull, os.O_RDWR)
    sys.stdin = sys.stdin or open(0, closefd=False)  # noqa: SIM115
    sys.stdout = sys.stdout or open(1, "w", closefd=False)  # noqa: SIM115
    sys.stderr = sys.stderr or open(2, "w", closefd=False)  # noqa: SIM115
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")
