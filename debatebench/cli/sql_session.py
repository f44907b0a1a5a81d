"""A session of SQL: statements and dot commands, line by line, on one warehouse."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

import duckdb

from debatebench.api import Warehouse
from debatebench.cli.common import say
from debatebench.cli.sql_completion import Completions
from debatebench.query.duckdb_errors import sql_errors
from debatebench.query.finding import Described, find, read_described, telling_words
from debatebench.query.relations import read_macros, read_relations
from debatebench.query.safe_query import check_limits, parse_params, run_query
from debatebench.shared.amounts import counted, did_you_mean, known_names
from debatebench.shared.errors import StuckQueryError, UsageError
from debatebench.shared.formats import FORMATS, SHORT_NAMES, Format
from debatebench.shared.result_formats import print_table
from debatebench.transform.short_names import stored_short_names

_HELP = """\
A statement runs when it ends with a semicolon. It must be a SELECT, and it can read only the warehouse.
  .find WORDS          find tables and columns by words in their names and texts
  .tables [WORD]       list what can be asked, by subject; with a word or pattern, such as staging.*, all that match
  .describe NAME       show what a table, view or column holds: columns, keys and questions; .schema is the same
  .format [FORMAT]     how to print results: {formats}; .mode is the same
  .limit [N]           maximum number of rows to print; 0 for all
  .timeout [SECONDS]   stop a query after this many seconds
  .param [NAME=VALUE]  set $NAME; .param lists all, .param NAME removes one
  .help                show this text
  .quit                leave; Ctrl-D does the same
Ctrl-C discards the input or stops the query. Tab completes names.
"""


FORMAT_COMMANDS = (".format", ".mode")
_NAME_ONE = "Name one table or view, as in .describe leaderboard"


class LeaveSession(Exception):  # noqa: N818
    """The user wants to leave."""


@dataclass
class Settings:
    """What `.format`, `.limit`, `.timeout` and `.param` change."""

    format: str = "table"
    limit: int = 1000
    timeout_s: float = 60.0
    params: dict[str, Any] = field(default_factory=dict)


class SqlSession:
    """Takes lines, runs the statements that they complete, prints the results on stdout. Independent of terminals."""

    def __init__(
        self, database: Path, settings: Settings, note: Callable[[str], None], *, is_for_people: bool = False
    ) -> None:
        """Open the warehouse. `note` prints messages that are not results; for people, also how long a query took."""
        self.database = database
        self.settings = settings
        self.is_for_people = is_for_people
        self.has_stuck_query = False
        """Whether a query that could not be stopped is still running; then the process cannot end normally."""
        self._note = note
        self._warehouse = Warehouse(database)
        self._lines: list[str] = []
        self._completions: Completions | None = None
        self._commands: Mapping[str, Callable[[str], None]] = {
            ".help": lambda _: say(_HELP.format(formats=", ".join(FORMATS)), keep_lines=True),
            ".tables": self._show_tables,
            ".describe": self._describe,
            ".schema": self._describe,
            ".find": self._find,
            **dict.fromkeys(FORMAT_COMMANDS, self._set_format),
            ".limit": self._set_limit,
            ".timeout": self._set_timeout,
            ".param": self._set_param,
            ".quit": self._quit,
            ".exit": self._quit,
        }

    @property
    def is_in_statement(self) -> bool:
        """Whether a statement has begun and is not complete."""
        return bool(self._lines)

    def feed(self, line: str) -> None:
        """Take one line. Raises `DebatebenchError` if a statement or command fails; the typed text is then dropped."""
        if not self._lines and not line.strip():
            return
        if not self._lines and (line.startswith(".") or line.strip() in ("quit", "exit")):
            self.command(line.strip())
            return
        self._lines.append(line)
        text = "\n".join(self._lines)
        if _is_complete(text):
            self.drop()
            self._run(text)

    def finish(self) -> None:
        """Run the remaining text at the end of the input; its semicolon may be missing."""
        text = "\n".join(self._lines)
        self.drop()
        if _has_statement(text):
            self._run(text)

    def drop(self) -> None:
        """Forget the statement that has begun."""
        self._lines = []

    def candidates(self, word: str, before: str) -> list[str]:
        """What `word` can become after `before`, the rest of the line up to it."""
        completions = self._known()
        if self._lines or not (before + word).lstrip().startswith("."):
            return completions.candidates(word, "\n".join([*self._lines, before]))
        if not before.strip():
            return [f"{command} " for command in self._commands if command.startswith(word)]
        if before.split()[0] in FORMAT_COMMANDS:
            return [name for name in FORMATS if name.startswith(word)]
        return completions.tables(word) if before.split()[0] in (".describe", ".schema", ".tables") else []

    def close(self) -> None:
        """Close the warehouse."""
        self._warehouse.close()

    def _current(self) -> Warehouse:
        """The warehouse as it was published last."""
        if self._warehouse.is_outdated:
            self._warehouse.close()
            self._warehouse = Warehouse(self.database)
            self._completions = None
            self._note("The warehouse has been published again; this session now reads the new one.")
        return self._warehouse

    def _known(self) -> Completions:
        """The contents of the warehouse as it was published last."""
        warehouse = self._current()
        if self._completions is None:
            with sql_errors():
                con = warehouse.connection
                self._completions = Completions(read_relations(con), read_macros(con), stored_short_names(con))
        return self._completions

    def _run(self, text: str) -> None:
        """Run every statement of the text, up to the first that fails."""
        con = self._current().connection
        with sql_errors():
            text.encode()
            statements = [(each.query, each.named_parameters) for each in con.extract_statements(text)]
        for sql, names in statements:
            self._run_one(con, sql, {name: value for name, value in self.settings.params.items() if name in names})

    def _run_one(self, con: duckdb.DuckDBPyConnection, sql: str, params: dict[str, Any]) -> None:
        settings, began = self.settings, time.monotonic()
        try:
            result = run_query(
                con,
                sql,
                params,
                limit=settings.limit or None,
                timeout_s=settings.timeout_s,
                asking_for=".param {name}=VALUE",
            )
        except StuckQueryError:
            self.has_stuck_query = True
            self._note("The query continues in the background until you leave.")
            self._warehouse = Warehouse(self.database)
            raise
        took = time.monotonic() - began
        print_table(result.columns, result.rows, settings.format)
        sys.stdout.flush()
        if self.is_for_people:
            self._note(f"{counted(len(result.rows), 'row')}, {took:.2f} s")
        if result.truncated:
            self._note(f"Only the first {settings.limit} rows are shown; .limit 0 shows all.")

    # --- dot commands -------------------------------------------------------------------------------------------------

    def command(self, line: str) -> None:
        """Run one dot command. Raises `UsageError` if there is none of its name, or what it is given does not fit."""
        name, _, argument = line.removesuffix(";").partition(" ")
        name = name if name.startswith(".") else f".{name}"
        if name not in self._commands:
            raise UsageError(f"No command '{name}'.{known_names(name, self._commands)}")
        self._commands[name](argument.strip())

    def _described(self) -> list[Described]:
        with sql_errors():
            return read_described(self._current().connection)

    def _show_tables(self, word: str) -> None:
        """With a word, all whose name, schema or subject has it; without, only what people ask."""
        described, word = self._described(), word.lower()
        pattern = word if set(word) & set("*?[") else f"*{word}*"
        found = [
            each
            for each in described
            if (any(fnmatchcase(text, pattern) for text in (each.name, each.subject)) if word else each.short_name)
        ]
        # A file that was built by an earlier version does not say what people ask.
        found = found or (described if not word else [])
        if not found:
            raise UsageError(f"No table or view matches '{word}'; * matches any text, as in marts.*")
        self._print(("subject", "name", "description"), [(e.subject, e.name, e.first_sentence or None) for e in found])
        if not word and (more := len(described) - len(found)):
            schemas = sorted({each.name.partition(".")[0] for each in described if each not in found})
            self._note(f"{more} more are in {', '.join(schemas)}; .tables staging.* lists those of a schema.")

    def _describe(self, name: str) -> None:
        described = self._described()
        if fitting := _called(name, described):
            self._describe_relation(_only(fitting))
            return
        table, _, column = name.rpartition(".")
        if not (fitting := _called(table, described)):
            raise UsageError(_not_described(name, described))
        self._describe_column(_only(fitting), column)

    def _describe_relation(self, relation: Described) -> None:
        if Format(self.settings.format).is_for_people:
            self._say_head(relation)
        self._print_described(relation.columns)

    def _describe_column(self, relation: Described, name: str) -> None:
        found = [column for column in relation.columns if column[0].lower() == name.lower()]
        if not found:
            known = known_names(name, (column for column, *_ in relation.columns))
            raise UsageError(f"{relation.name} has no column '{name}'.{known}")
        output = Format(self.settings.format)
        if output.is_for_people:
            say(f"{relation.name}.{found[0][0]} (column of a {relation.kind}).", output)
            say("", output)
        self._print_described(found)

    def _print_described(self, columns: Sequence[tuple[str, str, str]]) -> None:
        rows = [(name, kind, text or None) for name, kind, text in columns]
        self._print(("column", "type", "description"), rows, wraps=True)

    def _say_head(self, relation: Described) -> None:
        output = Format(self.settings.format)
        say(f"{relation.name} ({relation.kind}). {relation.text}", output)
        if relation.keys:
            say(f"Key: {' or '.join(relation.keys)}.", output)
        for question, sql in relation.questions:
            say("", output)
            say(question, output)
            say("\n".join(f"    {line}" for line in sql.splitlines()), keep_lines=True)
        say("", output)

    def _find(self, words: str) -> None:
        if not words:
            raise UsageError("Name what to look for, as in .find verbosity")
        if not (wanted := telling_words(words)):
            raise UsageError(f"'{words}' has no word to look for; words such as 'of' and 'the' are left out.")
        found = find(self._described(), words)
        if not found:
            raise UsageError(f"No name and no text has any word of '{' '.join(wanted)}'; .tables lists all tables.")
        self._print(
            ("name", "matched", "description"), [(each.name, each.matched, each.text or None) for each in found]
        )

    def _print(self, columns: Sequence[str], rows: Sequence[Sequence[Any]], *, wraps: bool = False) -> None:
        print_table(columns, rows, self.settings.format, wraps=wraps)
        sys.stdout.flush()

    def _set_format(self, argument: str) -> None:
        if not argument:
            self._note(f"format {self.settings.format}")
        else:
            self.settings.format = format_called(argument).value

    def _set_limit(self, argument: str) -> None:
        if not argument:
            self._note(f"limit {self.settings.limit}")
        elif not argument.isdecimal():
            raise UsageError(f"'{argument}' is not a number of rows; give 0 for all, or more.")
        else:
            self.settings.limit = int(argument)

    def _set_timeout(self, argument: str) -> None:
        if not argument:
            self._note(f"timeout {self.settings.timeout_s:g} s")
            return
        try:
            seconds = float(argument)
        except ValueError:
            raise UsageError(f"'{argument}' is not a number of seconds.") from None
        check_limits(None, seconds)
        self.settings.timeout_s = seconds

    def _set_param(self, argument: str) -> None:
        if "=" in argument:
            self.settings.params |= parse_params([argument])
        elif argument and argument not in self.settings.params:
            raise UsageError(f"There is no parameter '{argument}'; .param {argument}=VALUE sets it.")
        elif argument:
            del self.settings.params[argument]
        else:
            rows = sorted(self.settings.params.items())
            print_table(("parameter", "value"), rows, self.settings.format)

    def _quit(self, _argument: str) -> None:
        raise LeaveSession


def format_called(name: str) -> Format:
    """The format of this name, which may be short; raises `UsageError` if there is none."""
    found = SHORT_NAMES.get(name, name)
    if found not in FORMATS:
        raise UsageError(f"No format '{name}'.{known_names(name, FORMATS)}")
    return Format(found)


def _called(name: str, described: Sequence[Described]) -> list[Described]:
    """The tables and views that a name with or without a schema may mean; what people ask comes before all others."""
    name = name.lower()
    fitting = [each for each in described if name in (each.name, each.name.partition(".")[2])]
    return [each for each in fitting if each.short_name] or fitting


def _only(fitting: Sequence[Described]) -> Described:
    """The one table or view that a name means; raises `UsageError` if it may mean several."""
    if len(fitting) > 1:
        raise UsageError(f"{_NAME_ONE}: {' or '.join(each.name for each in fitting)}?")
    return fitting[0]


def _not_described(name: str, described: Sequence[Described]) -> str:
    """Why there is nothing to describe: not one name was given, or nothing is called so."""
    if len(name.split()) != 1:
        return f"{_NAME_ONE}; .tables lists them."
    known = [each.short_name or each.name for each in described] + [each.name for each in described]
    return f"No table or view '{name}'; .tables lists them.{did_you_mean(name, known)}"


def _is_complete(text: str) -> bool:
    """Whether the text ends with a semicolon that is not part of a string or comment."""
    last = _last_token(text)
    return last is not None and text.startswith(";", last)


def _has_statement(text: str) -> bool:
    return _last_token(text) is not None


def _last_token(text: str) -> int | None:
    """The offset of the last token in the text that is not a comment."""
    with sql_errors():
        text.encode()
        tokens = duckdb.tokenize(text)
    return next((offset for offset, kind in reversed(tokens) if kind != duckdb.token_type.comment), None)
