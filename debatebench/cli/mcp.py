"""`debatebench mcp`: the warehouse for an assistant, by the Model Context Protocol over standard input and output."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from pathlib import Path

import typer

from debatebench.cli.common import built_workspace, note
from debatebench.cli.query import bound_memory, leave_at_once
from debatebench.shared.errors import DebatebenchError, UsageError
from debatebench.shared.version import __version__


def _begun(database: Path) -> str:
    """What is said when it begins, also where a run that is to come makes the warehouse."""
    if database.is_file():
        return f"Answering questions about {database}; the end of the input ends it."
    return (
        f"There is no warehouse at {database} yet; questions are answered once `debatebench run` or `debatebench land` "
        "has made one. The end of the input ends it."
    )


def serve_assistant(context: typer.Context) -> None:
    """Let an assistant ask the warehouse (read-only, MCP).

    It serves the Model Context Protocol on standard input and output. An assistant can run SELECTs, list and describe
    tables, read a debate and compare runs, and can change nothing.
    """
    try:
        from mcp.server import MCPServer
        from mcp.server.mcpserver.exceptions import ToolError
        from mcp_types import ToolAnnotations
    except ModuleNotFoundError:
        raise UsageError(
            "`debatebench mcp` needs the package mcp; `pip install 'debatebench-warehouse[mcp]'` adds it."
        ) from None
    from debatebench.cli.assistant import INSTRUCTIONS, Assistant

    def as_tool(ask: Callable[..., str]) -> Callable[..., str]:
        @wraps(ask)
        def answer(*args: object, **kwargs: object) -> str:
            try:
                return ask(*args, **kwargs)
            except DebatebenchError as error:
                raise ToolError(str(error)) from None

        return answer

    database = built_workspace(context).database
    assistant = Assistant(database)
    server = MCPServer("debatebench", instructions=INSTRUCTIONS, version=__version__, log_level="ERROR")
    reads = ToolAnnotations(read_only_hint=True, destructive_hint=False, idempotent_hint=True, open_world_hint=False)
    for ask in assistant.tools:
        server.add_tool(as_tool(ask), annotations=reads, structured_output=False)
    bound_memory()
    note(_begun(database))
    server.run("stdio")
    if assistant.has_stuck_query:
        leave_at_once(0)
    assistant.close()
