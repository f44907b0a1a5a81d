"""The documentation of a project as one self-contained HTML page."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING

from debatebench.output.docs.content import (
    RelationDoc,
    anchor,
    describe_macros,
    describe_project,
    describe_tests,
)
from debatebench.output.docs.graph_layout import layered_layout
from debatebench.shared.errors import ConfigError, UsageError
from debatebench.shared.files import not_written, write_atomically
from debatebench.shared.version import __version__
from debatebench.shared.visible_text import shortened

if TYPE_CHECKING:
    from markupsafe import Markup

    from debatebench.transform.project import Project

_TEMPLATE = "docs.html"
_STYLES = ("assets/site.css", "templates/docs.css")
_SCRIPT = "templates/docs.js"
# Identifies the page, so that no other page is overwritten.
_GENERATOR = "debatebench docs"

# Units of the drawing. One character of a name is about 6.2 wide in its font.
_NODE_WIDTH, _NODE_HEIGHT = 176, 24
_LAYER, _ROW, _MARGIN = 236, 32, 12
_LONGEST_NAME = 26


@dataclass(frozen=True, slots=True)
class Node:
    """A box of the drawing; `x` and `y` are its upper left corner."""

    name: str
    label: str
    href: str
    schema: str
    x: float
    y: float


@dataclass(frozen=True, slots=True)
class Edge:
    """A line of the drawing, from a relation to one that reads it."""

    source: str
    target: str
    path: str


@dataclass(frozen=True, slots=True)
class Drawing:
    """The graph of all relations, in units of the view box."""

    nodes: tuple[Node, ...]
    edges: tuple[Edge, ...]
    width: float
    height: float
    node_width: int = _NODE_WIDTH
    node_height: int = _NODE_HEIGHT


def write_docs(project: Project, files: Mapping[str, Path], out_dir: Path, today: date) -> Path:
    """Write `index.html` into `out_dir` and return its path; `files` are those of `reports/`, by relative path.

    Equal projects give equal bytes, until a deprecation date passes. Raises `SqlModelError` for a project that cannot
    be read, `ConfigError` for a template that cannot be used, `UsageError` when `out_dir` contains another
    page of that name, and `DebatebenchError` when it cannot be written to.
    """
    html = render_docs(project, files, today)
    path = out_dir / "index.html"
    try:
        mark = f'<meta name="generator" content="{_GENERATOR}">'
        if path.exists() and mark not in path.read_text(encoding="utf-8", errors="replace"):
            raise UsageError(f"{path} is not a page of `debatebench docs`; move it elsewhere, or choose another --out.")
        write_atomically(path, html)
    except OSError as error:
        raise not_written(path, error) from error
    return path


def render_docs(project: Project, files: Mapping[str, Path], today: date) -> str:
    """The page as HTML: the graph, then every landed table and SQL model, then macros and singular tests."""
    from debatebench.output.report.html import environment, render

    relations = describe_project(project, today)
    style = _inline("\n".join(_asset(files, name) for name in _STYLES), "style")
    script = _inline(_asset(files, _SCRIPT), "script")
    schemas = sorted({relation.schema for relation in relations}, key=_schema_order)
    return render(
        environment(files),
        _TEMPLATE,
        {
            "generator": _GENERATOR,
            "style": style,
            "style_hash": _csp_hash(style),
            "script": script,
            "script_hash": _csp_hash(script),
            "drawing": _drawing(relations),
            "groups": [
                (schema, sorted((each for each in relations if each.schema == schema), key=lambda each: each.name))
                for schema in schemas
            ],
            "macros": describe_macros(project),
            "singular_tests": describe_tests(project),
            "models": len(project.models),
            "columns": sum(len(relation.columns) for relation in relations if relation.schema != "raw"),
            "version": __version__,
        },
    )


def _schema_order(schema: str) -> tuple[int, str]:
    """The schemas that people query come first; schemas other than the usual ones come in the middle."""
    usual = {"marts": 0, "ratings": 1, "original": 3, "intermediate": 4, "staging": 5, "raw": 6}
    return usual.get(schema, 2), schema


def _asset(files: Mapping[str, Path], name: str) -> str:
    if name not in files:
        raise ConfigError(f"reports/{name} is missing, but the documentation needs it.")
    from debatebench.output.report.html import read_template

    # A browser hashes the content as it parses it, with plain line ends.
    return read_template(files[name]).replace("\r\n", "\n").replace("\r", "\n")


def _inline(text: str, tag: str) -> Markup:
    """The content of a style or script element, which cannot be escaped and therefore must not end the element."""
    from markupsafe import Markup

    if "</" in text or "<!--" in text:
        raise ConfigError(
            f"The {tag} of the documentation contains '</' or '<!--', which would end it; write it differently."
        )
    return Markup(text)  # noqa: S704


def _csp_hash(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode("utf-8")).digest()).decode()


def _drawing(relations: Sequence[RelationDoc]) -> Drawing:
    """The graph, landed tables on the left."""
    names = {relation.name for relation in relations}
    above = {each.name: [link.text for link in each.reads if link.text in names] for each in relations}
    layout = layered_layout(above)
    nodes = []
    for relation in relations:
        x, y = _corner(*layout.nodes[relation.name])
        nodes.append(
            Node(
                relation.name,
                shortened(relation.table, _LONGEST_NAME),
                "#" + anchor(relation.name),
                relation.schema,
                x,
                y,
            )
        )
    return Drawing(
        nodes=tuple(nodes),
        edges=tuple(Edge(*ends, _path(points)) for ends, points in layout.edges.items()),
        width=(layout.layers - 1) * _LAYER + _NODE_WIDTH + 2 * _MARGIN,
        height=layout.rows * _ROW + _NODE_HEIGHT + 2 * _MARGIN,
    )


def _corner(layer: int, row: float) -> tuple[float, float]:
    return layer * _LAYER + _MARGIN, round(row * _ROW + _MARGIN, 1)


def _path(points: Sequence[tuple[int, float]]) -> str:
    """Curves that start and end horizontally, and run straight through the layers between."""
    (first_x, first_y), *_ = corners = [_corner(*point) for point in points]
    half = _NODE_HEIGHT / 2
    x, y = first_x + _NODE_WIDTH, first_y + half
    parts = [f"M{x:g} {y:g}"]
    for number, (left, top) in enumerate(corners[1:], 1):
        middle, level = (x + left) / 2, top + half
        parts.append(f"C{middle:g} {y:g} {middle:g} {level:g} {left:g} {level:g}")
        x, y = left, level
        if number < len(corners) - 1:
            x = left + _NODE_WIDTH
            parts.append(f"H{x:g}")
    return "".join(parts)
