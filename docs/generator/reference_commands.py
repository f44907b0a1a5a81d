"""The reference of the commands: one page for each, from the application that runs them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import typer
from page_text import FOUND_FIRST, code, paragraphs, plain, table

from debatebench.cli.app import ALIASES, COMMANDS, GROUPS, make_app
from debatebench.cli.completion import PROGRAM

_DEFAULT = re.compile(r"  \[([^\[\]]*)\]$")


@dataclass(frozen=True, slots=True)
class Shown:
    """One argument or option: its names, what it means, and its default and bounds."""

    names: str
    meaning: str
    limits: str


def command_pages() -> dict[str, str]:
    """Path below `reference/commands/` → the page: `index.md`, and one for each command."""
    app = typer.main.get_command(make_app(list(COMMANDS)))
    context = app.make_context(PROGRAM, ["init"], resilient_parsing=True)
    commands = {name: app.get_command(context, name) for name in COMMANDS}
    pages = {f"{name}.md": _joined(_command(command, context, name)) for name, command in commands.items()}
    return {"index.md": _joined(_overview(app, context, commands)), **pages}


def _joined(lines: Iterator[str]) -> str:
    return "\n".join(lines) + "\n"


def _overview(app: Any, context: Any, commands: Mapping[str, Any]) -> Iterator[str]:
    yield from ("# Commands", "", *paragraphs(app.help), "")
    for group, names in GROUPS.items():
        rows = [(f"[`{name}`]({name}.md)", plain(_first_line(commands[name]))) for name in names]
        yield from (f"## {group}", "", *table(("command", ""), rows))
    yield from ("## Options of every command", "", "They stand before the name of the command.", "")
    yield from _table([_shown(each, context) for each in app.params if not getattr(each, "hidden", False)])
    others = [(f"`{PROGRAM} {alias}`", f"[`{name}`]({name}.md)") for alias, name in ALIASES.items()]
    yield from ("## Other names", "", *table(("name", "is"), others))


def _command(command: Any, parent: Any, name: str, level: int = 1) -> Iterator[str]:
    """The section of a command, and those of the commands below it."""
    context = type(parent)(command, info_name=name, parent=parent)
    path = context.command_path
    if level == 1:
        yield from FOUND_FIRST
    yield from (f"{'#' * level} {path.removeprefix(f'{PROGRAM} ') if level > 1 else name}", "")
    for paragraph in paragraphs(command.help or ""):
        yield from (paragraph, "")
    words = " ".join(command.collect_usage_pieces(context))
    yield from ("```text", f"{path} {words}", "```", "")
    inner: Mapping[str, Any] = getattr(command, "commands", None) or {}
    yield from table(
        ("command", ""), [(f"[`{each}`](#{name}-{each})", plain(_first_line(inner[each]))) for each in inner]
    )
    params = [each for each in command.params if not getattr(each, "hidden", False)]
    yield from _table([_shown(each, context) for each in params if each.param_type_name == "argument"])
    options = [each for each in params if each.param_type_name == "option"]
    for panel in dict.fromkeys(getattr(each, "rich_help_panel", None) for each in options):
        yield from (f"{'#' * (level + 1)} {panel}", "") if panel else ()
        yield from _table(
            [_shown(each, context) for each in options if getattr(each, "rich_help_panel", None) == panel]
        )
    if command.epilog:
        title, *examples = command.epilog.replace("\b", "").strip().splitlines()
        lines = [line.strip() for line in examples]
        yield from (f"{'#' * (level + 1)} {title.rstrip(':')}", "", "```text", *lines, "```", "")
    for each, below in inner.items():
        yield from _command(below, context, each, level + 1)


def _first_line(command: Any) -> str:
    return str(command.help or "").partition("\n\n")[0]


def _shown(param: Any, context: Any) -> Shown:
    names, text = param.get_help_record(context)
    found = _DEFAULT.search(text)
    limits = found[1] if found else ""
    return Shown(names, text[: found.start()] if found else text, limits)


def _table(shown: list[Shown]) -> list[str]:
    return table(("", "", ""), [(code(each.names), plain(each.meaning), plain(each.limits)) for each in shown])
