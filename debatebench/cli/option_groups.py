"""Options that belong together: one dataclass declares them for several commands, and `--help` lists them in groups."""

from __future__ import annotations

import inspect
from collections import defaultdict
from collections.abc import Callable
from dataclasses import MISSING, fields, is_dataclass
from functools import wraps
from typing import Any, get_type_hints

from typer.core import TyperCommand


def with_groups(command: Callable[..., None]) -> Callable[..., None]:
    """`command` with one option for each field of its parameters that are dataclasses.

    The options stand where the parameter stands, and have the fields' names, annotations and defaults.
    """
    hints = get_type_hints(command, include_extras=True)
    groups: dict[str, Any] = {name: hint for name, hint in hints.items() if is_dataclass(hint)}
    parameters: list[inspect.Parameter] = []
    for parameter in inspect.signature(command).parameters.values():
        if parameter.name in groups:
            parameters += _parameters(groups[parameter.name])
        else:
            parameters.append(parameter.replace(annotation=hints[parameter.name]))

    @wraps(command)
    def call(**given: Any) -> None:
        for name, group in groups.items():
            given[name] = group(**{field.name: given.pop(field.name) for field in fields(group)})
        command(**given)

    # All are passed by name, so one without a default may follow one that has a default.
    shown = [parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY) for parameter in parameters]
    call.__signature__ = inspect.Signature(shown)  # type: ignore[attr-defined]
    call.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    return call


def _parameters(group: Any) -> list[inspect.Parameter]:
    hints = get_type_hints(group, include_extras=True)
    return [
        inspect.Parameter(
            field.name,
            inspect.Parameter.KEYWORD_ONLY,
            default=inspect.Parameter.empty if field.default is MISSING else field.default,
            annotation=hints[field.name],
        )
        for field in fields(group)
    ]


class GroupedHelp(TyperCommand):
    """A command whose options are listed under the `rich_help_panel` that each of them names."""

    # Their types have no public names.
    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Write the options, one group after another; options without a group come last."""
        groups: dict[str, list[tuple[str, str]]] = defaultdict(list)
        for parameter in self.get_params(ctx):
            if (record := parameter.get_help_record(ctx)) is not None:
                groups[getattr(parameter, "rich_help_panel", None) or "Options"].append(record)
        for title, records in groups.items():
            with formatter.section(title if title != "Options" or len(groups) == 1 else "Other options"):
                formatter.write_dl(records)
