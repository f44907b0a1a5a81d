"""The documentation of a project as one self-contained HTML page."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from statistics import fmean

from markupsafe import Markup

from debatebench.output.docs.content import (
    Entry,
    anchor,
    describe_macros,
    describe_relations,
    describe_tests,
    spans,
)
from debatebench.shared.activity import doing
from debatebench.shared.errors import ConfigError, UsageError
from debatebench.shared.files import not_written, write_atomically
from debatebench.shared.version import __version__
from debatebench.shared.visible_text import shortened
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
class Drawing:
    """The graph of all relations, in units of the view box: boxes by their upper left corner, and lines by their path.

    A box is (name, label, schema, x, y), a line (from, to, path).
    """

    nodes: list[tuple[str, str, str, float, float]]
    edges: list[tuple[str, str, str]]
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

    relations = describe_relations(project, today)
    style = _inline("\n".join(_asset(files, name) for name in _STYLES), "style")
    script = _inline(_asset(files, _SCRIPT), "script")
    groups: dict[str, list[Entry]] = {}
    for entry in sorted(relations, key=lambda each: (_schema_order(each.group), each.key)):
        groups.setdefault(entry.group, []).append(entry)
    doing("Writing the page")
    return render(
        environment(files),
        _TEMPLATE,
        {
            "generator": _GENERATOR,
            "style": style,
            "style_hash": _csp_hash(style),
            "script": script,
            "script_hash": _csp_hash(script),
            "drawing": draw(relations),
            "schemas": list(groups),
            "groups": groups | {"macros": describe_macros(project), "tests": describe_tests(project)},
            "models": len(project.models),
            "columns": sum(len(entry.columns) for entry in relations if entry.group != "raw"),
            "version": __version__,
            "anchor": anchor,
            "spans": spans,
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
    if "</" in text or "<!--" in text:
        raise ConfigError(
            f"The {tag} of the documentation contains '</' or '<!--', which would end it; write it differently."
        )
    return Markup(text)  # noqa: S704


def _csp_hash(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode("utf-8")).digest()).decode()


def draw(relations: Sequence[Entry]) -> Drawing:
    """The graph in layers, each relation to the right of all that it reads, which come before it in `relations`.

    Within a layer, relations are ordered by the mean place of what they read, so that few lines cross.
    """
    reads = {each.key: each.reads for each in relations}
    layer: dict[str, int] = {}
    for name in reads:
        layer[name] = max((layer[read] + 1 for read in reads[name]), default=0)
    row: dict[str, float] = {}
    for number in range(max(layer.values(), default=-1) + 1):
        means = {name: fmean([row[read] for read in reads[name]] or [0.0]) for name in reads if layer[name] == number}
        for position, name in enumerate(sorted(means, key=lambda name: (means[name], name))):
            row[name] = position - len(means) / 2
    top = min(row.values(), default=0.0)
    at = {name: (layer[name] * _LAYER + _MARGIN, (row[name] - top) * _ROW + _MARGIN) for name in reads}
    return Drawing(
        nodes=[(each.key, shortened(each.title, _LONGEST_NAME), each.group, *at[each.key]) for each in relations],
        edges=[(read, name, _path(at[read], at[name])) for name in reads for read in reads[name]],
        width=max((x for x, _ in at.values()), default=0) + _NODE_WIDTH + _MARGIN,
        height=max((y for _, y in at.values()), default=0) + _NODE_HEIGHT + _MARGIN,
    )


def _path(source: tuple[float, float], target: tuple[float, float]) -> str:
    """A curve that starts and ends horizontally."""
    (x, y), (end_x, end_y) = source, target
    x, y, end_y = x + _NODE_WIDTH, y + _NODE_HEIGHT / 2, end_y + _NODE_HEIGHT / 2
    middle = (x + end_x) / 2
    return f"M{x:g} {y:g}C{middle:g} {y:g} {middle:g} {end_y:g} {end_x:g} {end_y:g}"
