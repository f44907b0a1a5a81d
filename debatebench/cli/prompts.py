"""`debatebench prompts`: the prompts that a run can choose, and sets of prompts of other programs."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Annotated

import typer

from debatebench.cli.common import FormatOption, note, say, workspace_of
from debatebench.cli.grouped_help import GroupedCommands, command_class
from debatebench.cli.run_checks import list_prompts
from debatebench.shared.amounts import known_names
from debatebench.shared.errors import UsageError
from debatebench.shared.formats import Format

_KINDS = ("debatrix",)


def prompts(context: typer.Context, output: FormatOption = Format.TABLE) -> None:
    """List the prompts that a run can choose, or import a set."""
    if context.invoked_subcommand is not None:
        # The enumeration has no public name.
        if getattr(context.get_parameter_source("output"), "name", "DEFAULT") != "DEFAULT":
            raise UsageError("--format has no effect on a subcommand of `prompts`; leave it out.")
        return

    list_prompts(workspace_of(context), output)


def import_prompts(
    context: typer.Context,
    kind: Annotated[str, typer.Argument(metavar="KIND", help="Whose prompts: debatrix.")],
    folder: Annotated[
        Path, typer.Argument(metavar="FOLDER", help="A checkout of that program, or a configuration in it.")
    ],
    name: Annotated[str, typer.Option("--as", metavar="NAME", help="The name of the set, its rubric and its judge.")],
    force: Annotated[bool, typer.Option("--force", help="Overwrite existing configuration files.")] = False,
) -> None:
    """Turn the configuration of another program into a set of prompts.

    The workspace gets the prompts, a rubric with the dimensions and their weights, and a judge that uses them. What
    cannot be carried over is listed.
    """
    from debatebench.config.debatrix_config import find_configuration, read_configuration
    from debatebench.config.prompt_sets import write_prompt_set

    if kind not in _KINDS:
        raise UsageError(f"No prompts of '{kind}' can be imported.{known_names(kind, _KINDS)}")
    workspace = workspace_of(context)
    found = read_configuration(find_configuration(folder), name)
    written = write_prompt_set(workspace, found, name, force=force)
    for path in written.paths:
        say(f"wrote {path}" if path in written.new else f"kept  {path}")
    for each in found.left_out:
        note(f"Not carried over: {each}.")
    note("Speeches and judgments stand between delimiters, under headings that a speech cannot imitate.")
    note(
        f"Next: debatebench judge SOURCE --as NEW_TAG --rubric {name} --judges-path {written.judges} --repeat 3 "
        "--dry-run"
    )


SUBCOMMANDS: dict[str, Callable[..., None]] = {"import": import_prompts}


def make_group() -> typer.Typer:
    """The command `prompts` with its subcommands."""
    group = typer.Typer(
        rich_markup_mode=None, pretty_exceptions_enable=False, invoke_without_command=True, cls=GroupedCommands
    )
    group.callback()(prompts)
    for name, command in SUBCOMMANDS.items():
        group.command(name, cls=command_class({}))(command)
    return group
