"""`debatebench init`."""

from __future__ import annotations

from typing import Annotated

import typer

from debatebench.cli.common import note, say, workspace_of


def init(
    context: typer.Context,
    force: Annotated[bool, typer.Option("--force", help="Overwrite existing configuration files.")] = False,
) -> None:
    """Create the configuration and folders of a workspace."""
    from debatebench.shared.workspace import init_workspace

    root = workspace_of(context).root
    done = init_workspace(root, force)
    for path in done.written:
        say(f"wrote {path}")
    for path in done.kept:
        say(f"kept  {path}")
    if done.kept and not force:
        note("Existing files were not changed; --force overwrites them.")
    note("Next: debatebench run --run-tag first")
