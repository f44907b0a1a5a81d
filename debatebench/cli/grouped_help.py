"""`--help` of a command with many options: groups in the order of the options, and examples at the end."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

from typer.core import TyperCommand


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
