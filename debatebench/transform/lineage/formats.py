"""Lineage as text for people, as JSON for programs, as Mermaid for documents."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from debatebench.shared.result_formats import json_text
from debatebench.shared.visible_text import visible

if TYPE_CHECKING:
    from debatebench.transform.lineage.within_query import LineageNode

_LONGEST_LABEL = 90
_MERMAID_ESCAPED = str.maketrans(
    {"#": "#35;", '"': "#quot;", "<": "#lt;", ">": "#gt;", "&": "#amp;", "`": "#96;", "\\": "#92;"}
)


def place(file: Path | None, line: int | None) -> str:
    """A short form of a file and line: `sql/marts/games.sql:23`."""
    if file is None:
        return ""
    try:
        path = str(file.relative_to(Path.cwd()))
    except ValueError:
        path = file.as_posix()
        path = path[path.rfind("/sql/") + 1 :]
    return visible(path if line is None else f"{path}:{line}")


def lineage_text(root: LineageNode, *, depth: int | None = None, width: int = 120) -> str:
    """A tree: each line shows a column, the expression behind it, and where that is written.

    A repeated node is expanded once. `depth` is the number of levels of SQL models; `width` is in characters.
    """
    return "\n".join(_lines(root, "", "", depth, width, set())) + "\n"


def _lines(node: LineageNode, first: str, rest: str, depth: int | None, width: int, shown: set[int]) -> Iterator[str]:
    """The lines of a node and of everything above it. `first` and `rest` are the prefixes of its lines."""
    if id(node) in shown and node.upstream:
        yield f"{first}{visible(node.name)}  (as above)"
        return
    above = _within(node, depth)
    is_cut = len(above) < len(node.upstream)
    if not is_cut:
        shown.add(id(node))
    where = f"{place(node.file, node.line)}{' …' if is_cut else ''}"
    yield from _wrapped(_description(node), where, first, rest + ("│  " if above else "   "), width)
    for position, (each, left) in enumerate(above):
        is_last = position == len(above) - 1
        corner, below = ("└─ ", "   ") if is_last else ("├─ ", "│  ")
        yield from _lines(each, rest + corner, rest + below, left, width, shown)


def _within(node: LineageNode, depth: int | None) -> list[tuple[LineageNode, int | None]]:
    """The nodes directly above a node, each with the depth that is left there; none beyond the depth."""
    if depth is None:
        return [(each, None) for each in node.upstream]
    left = [(each, depth - (each.relation != node.relation)) for each in node.upstream]
    return [(each, rest) for each, rest in left if rest >= 0]


def _description(node: LineageNode) -> str:
    text = visible(node.name)
    # A column that is passed on under its own name adds no information.
    if node.expression and node.expression.lower().rpartition(".")[2] != node.name.rpartition(".")[2]:
        text += f" = {visible(node.expression)}"
    if node.is_constant and node.expression:
        text += "  (constant)"
    return f"{text}  (cannot be traced: {visible(node.problem)})" if node.problem else text


def _wrapped(text: str, where: str, first: str, rest: str, width: int) -> list[str]:
    """`text` followed by `where`, in lines of at most `width` characters unless a word is longer."""
    return textwrap.wrap(
        f"{text}  {where}".rstrip(),
        max(width, len(rest) + 32),
        initial_indent=first,
        subsequent_indent=f"{rest}  ",
        break_long_words=False,
        break_on_hyphens=False,
    )


def _numbered(root: LineageNode, depth: int | None) -> dict[int, tuple[LineageNode, list[LineageNode]]]:
    """Every node within `depth` once, in the order of the tree, with the nodes above it within `depth`."""
    found: dict[int, tuple[LineageNode, list[LineageNode]]] = {}
    reached: dict[int, int] = {}
    open_nodes: list[tuple[LineageNode, int | None]] = [(root, depth)]
    while open_nodes:
        node, left = open_nodes.pop()
        # A node is visited again if more depth is left than last time.
        if id(node) in found and (left is None or left <= reached[id(node)]):
            continue
        reached[id(node)] = -1 if left is None else left
        above = _within(node, left)
        found[id(node)] = (node, [each for each, _ in above])
        open_nodes.extend(reversed(above))
    return found


def lineage_json(root: LineageNode, *, depth: int | None = None) -> str:
    """`{"name", "nodes"}`; each node once, with the ids of the nodes that it is computed from in `upstream`.

    `is_cut` is true for a node with more above it than `depth` shows.
    """
    nodes = _numbered(root, depth)
    ids = {key: number for number, key in enumerate(nodes)}
    listed: list[dict[str, Any]] = [
        {
            "id": ids[key],
            "name": node.name,
            "kind": node.kind,
            "relation": node.relation,
            "expression": node.expression,
            "file": None if node.file is None else place(node.file, None),
            "line": node.line,
            "upstream": [ids[id(each)] for each in above],
            "is_constant": node.is_constant,
            "is_cut": len(above) < len(node.upstream),
            "problem": node.problem,
        }
        for key, (node, above) in nodes.items()
    ]
    return json_text({"name": root.name, "nodes": listed}, indent=2) + "\n"


def lineage_mermaid(root: LineageNode, *, depth: int | None = None) -> str:
    """A Mermaid flowchart, from landed columns and seeds on the left to the requested column on the right."""
    nodes = _numbered(root, depth)
    ids = {key: f"n{number}" for number, key in enumerate(nodes)}
    lines = ["flowchart LR"]
    for key, (node, _) in nodes.items():
        inside = f"{node.relation}: {node.name}" if node.kind == "cte" else node.name
        label = _label(inside)
        if node.expression and _description(node) != node.name:
            label += f"<br>{_label(node.expression)}"
        opening, ending = ("[(", ")]") if node.is_source else ("[", "]")
        lines.append(f'    {ids[key]}{opening}"{label}"{ending}')
    lines += [f"    {ids[id(each)]} --> {ids[key]}" for key, (_, above) in nodes.items() for each in above]
    return "\n".join(lines) + "\n"


def _label(text: str) -> str:
    cut = text if len(text) <= _LONGEST_LABEL else text[: _LONGEST_LABEL - 1] + "…"
    return visible(cut).translate(_MERMAID_ESCAPED)
