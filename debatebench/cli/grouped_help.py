"""The commands and options that `--help` lists in groups, and what every command line must keep to."""

from __future__ import annotations

import math
import re
from collections import Counter, defaultdict
from collections.abc import Mapping
from typing import Any

from typer.core import TyperCommand, TyperGroup

from debatebench.cli.common import note
from debatebench.shared.amounts import did_you_mean

# The types of typer's contexts and parsers have no public names, so they are Any here.


class _CheckedValues:
    """A command line that gives an option twice is an error, unless the option is repeatable, and so is `nan` or `inf`.

    A flag may be repeated, as it says the same again; one with an opposite, such as `--a/--no-a`, may not.
    """

    former: Mapping[str, str] = {}
    """Options as they were called before → what they are called now, or the arguments in their place, in order."""

    def parse_args(self, ctx: Any, args: list[str]) -> Any:
        """Parse a command line in which options may have their former names; what they are called now is noted.

        A word that begins like a comment of SQL, with `-- `, is an argument and not an option.
        """
        try:
            rest = super().parse_args(ctx, _comments_last(self._renamed(args)))  # type: ignore[misc]
            self._check_finite(ctx)
            return rest
        except Exception as error:
            # The parser's error about a choice names the choices, but not the nearest.
            kind = getattr(getattr(error, "param", None), "type", None)
            if given := re.match(r"'(.*)' is not one of", str(getattr(error, "message", ""))):
                error.message += did_you_mean(given[1], map(str, getattr(kind, "choices", ())))  # type: ignore[attr-defined]
            raise

    def make_parser(self, ctx: Any) -> Any:
        """A parser that refuses repeated options."""
        parser = super().make_parser(ctx)  # type: ignore[misc]
        parse = parser.parse_args

        def parse_args(args: list[str]) -> Any:
            found = parse(args=args)
            self._check_repeated(ctx, found[2])
            return found

        parser.parse_args = parse_args
        return parser

    def _check_finite(self, ctx: Any) -> None:
        """No limit is below `nan`, so a command would keep to none."""
        for parameter in self.get_params(ctx):  # type: ignore[attr-defined]
            value = ctx.params.get(parameter.name)
            if isinstance(value, float) and not math.isfinite(value):
                ctx.fail(f"Invalid value for '{parameter.opts[0]}': {value} is not a finite number.")

    def _renamed(self, args: list[str]) -> list[str]:
        """The words with options by their present names, or with arguments in their place."""
        words, arguments = list(args), dict[str, str]()
        for before, now in self.former.items():
            places = [place for place, word in enumerate(words) if word.partition("=")[0] == before]
            for place in reversed(places):
                value = words[place].partition("=")[1:]
                if now.startswith("--"):
                    words[place] = now + "".join(value)
                    note(f"{before} is called {now} now; the next version no longer knows {before}.")
                elif now not in arguments and (value[0] or place + 1 < len(words)):
                    arguments[now] = value[1] if value[0] else words.pop(place + 1)
                    del words[place]
                    note(f"{before} is the argument {now} now; the next version no longer knows {before}.")
        return [*arguments.values(), *words]

    def _check_repeated(self, ctx: Any, order: list[Any]) -> None:
        for option, count in Counter(each for each in order if each.param_type_name == "option").items():
            is_repeatable = option.multiple or (option.is_flag and not option.secondary_opts)
            if count > 1 and not is_repeatable:
                names = "/".join((*option.opts, *option.secondary_opts))
                ctx.fail(f"Option '{names}' was given {count} times; it takes one value.")


def _comments_last(words: list[str]) -> list[str]:
    """The words with those that begin like a comment behind a `--`, after which there are no options."""
    end = words.index("--") if "--" in words else len(words)
    comments = [word for word in words[:end] if word.startswith("--") and word[2:3].isspace()]
    others = [word for word in words[:end] if word not in comments]
    return [*others, "--", *comments, *words[end + 1 :]] if comments else words


class GroupedCommands(_CheckedValues, TyperGroup):
    """A program whose commands are listed under the `rich_help_panel` that each of them names, one on each line."""

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """Write the commands with their whole first sentences, one group after another."""
        groups: dict[str, list[Any]] = defaultdict(list)
        for command in self.commands.values():
            if not command.hidden:
                groups[getattr(command, "rich_help_panel", None) or "Commands"].append(command)
        width = max(len(command.name) for commands in groups.values() for command in commands)
        for title, commands in groups.items():
            with formatter.section(title):
                formatter.write_dl([(command.name.ljust(width), _first_line(command)) for command in commands])


def _first_line(command: Any) -> str:
    return " ".join((command.help or "").partition("\n\n")[0].split())


class _GroupedOptions(_CheckedValues, TyperCommand):
    def __init__(self, *arguments: Any, **settings: Any) -> None:
        super().__init__(*arguments, **settings)
        for parameter in self.params:
            # typer has no repeatable options of several values. The name of each value is a word of their metavar.
            if parameter.param_type_name == "option" and parameter.multiple and parameter.metavar:
                parameter.nargs = len(parameter.metavar.split())

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Write the options, one group after another; options without a group come last."""
        groups: dict[str, list[tuple[str, str]]] = defaultdict(list)
        for parameter in self.get_params(ctx):
            if (record := parameter.get_help_record(ctx)) is not None:
                groups[getattr(parameter, "rich_help_panel", None) or "Options"].append(record)
        for title, records in groups.items():
            with formatter.section(title if title != "Options" or len(groups) == 1 else "Other options"):
                formatter.write_dl(records)


def command_class(former: Mapping[str, str]) -> type[TyperCommand]:
    """A command whose options are listed under the `rich_help_panel` that each of them names.

    `former` are options as they were called before → what they are called now.
    """
    return type("GroupedOptions", (_GroupedOptions,), {"former": former})
