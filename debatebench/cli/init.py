"""`debatebench init`."""

from __future__ import annotations

from typing import Annotated

import typer

from debatebench.cli.common import note, workspace_of

__all__ = ["init"]


def init(
    context: typer.Context,
    force: Annotated[bool, typer.Option("--force", help="Overwrite configuration files that are there.")] = False,
) -> None:
    """Write a ready-to-run configuration and the folders of a workspace."""
    from debatebench.shared.workspace import init_workspace

    root = workspace_of(context).root
    done = init_workspace(root, force)
    for path in done.written:
        typer.echo(f"wrote {path}")
    for path in done.kept:
        typer.echo(f"kept  {path}")
    if done.kept and not force:
        note("Files that were there already are kept as they are; --force overwrites them.")
    note("Next: debatebench run --run-tag first")
