"""What charts share: their frame, axes and colours, and values and names as plotly needs them."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape, unescape
from typing import Any, Literal

from debatebench.output.report.html import MISSING, format_values, guess_format, heading
from debatebench.output.report.page import ColumnFormat, Section
from debatebench.shared.visible_text import visible

Row = Mapping[str, Any]
Spec = dict[str, Any]

_SERIES = 8
_SIDES = {"pro": "var(--pro)", "con": "var(--con)", "tie": "var(--tie)", "no": "var(--none)"}
# A tick between two whole numbers has its decimals: rounded, several ticks would have the same number.
_TICKS = {"percent": ".0%", "usd": "$,.6~f", "count": ",.3~f", "whole": ",.3~f"}
_LONGEST_NAME = 34
_NAME = re.compile(r"var\(--([a-z0-9-]+)\)")
_DASHES_IN_SVG = {"dot": "2 3", "dash": "7 4", "dashdot": "7 3 2 3"}


AXIS: Spec = {
    "automargin": True,
    "fixedrange": True,
    "gridcolor": "var(--grid)",
    "linecolor": "var(--line)",
    "tickfont": {"color": "var(--muted)"},
    "ticks": "",
    "zeroline": False,
}
FRAME: Spec = {
    "font": {"family": "var(--font)", "size": 13, "color": "var(--ink)"},
    "paper_bgcolor": "rgba(0,0,0,0)",
    "plot_bgcolor": "rgba(0,0,0,0)",
    "margin": {"l": 8, "r": 24, "t": 16, "b": 32, "pad": 4},
    "hovermode": "closest",
    "dragmode": False,
    "hoverlabel": {"bgcolor": "var(--surface)", "bordercolor": "var(--line)", "font": {"color": "var(--ink)"}},
    "showlegend": False,
    # Otherwise the title of an axis stands over the numbers at its ticks in a chart with one row.
    "minreducedheight": 32,
}
"""What all charts have alike."""


# --- text and numbers -------------------------------------------------------------------------------------------------


def plotly_text(value: Any) -> str:
    """Text that plotly shows unchanged; otherwise it would interpret tags in it as formatting and links."""
    return MISSING if value is None else escape(visible(str(value)), quote=False)


def short_text(value: Any) -> str:
    """The same, shortened with an ellipsis if it is too long for an axis or a legend."""
    text = MISSING if value is None else visible(str(value))
    return plotly_text(text if len(text) <= _LONGEST_NAME else f"{text[: _LONGEST_NAME - 1].rstrip()}…")


def two_lines(name: str, detail: Any) -> str:
    """A name that plotly shows as it is, and below it a detail."""
    return f"{name}<br>{short_text(detail)}"


def as_number(value: Any) -> float | None:
    """A number that JSON can represent, or None."""
    return float(value) if value is not None and math.isfinite(value) else None


def written(section: Section, values: Sequence[Any]) -> list[str]:
    """The chart's values as text, in the chart's format."""
    return [plotly_text(cell.text) for cell in format_values(values, section.options.format)]


def written_by_name(section: Section, column: str, value: Any) -> str:
    """A value as text, in the format of its column."""
    chosen = section.columns.get(column, ColumnFormat()).format or guess_format(column, [value])
    return plotly_text(format_values([value], chosen)[0].text)


def column_name(section: Section, column: str) -> str:
    """The name of a column as shown."""
    return plotly_text(heading(column, section.columns.get(column)))


# --- colours ----------------------------------------------------------------------------------------------------------


def series_colour(position: int) -> str:
    """The colour of the series at a position; the colours repeat after eight."""
    return f"var(--series-{position % _SERIES + 1})"


def value_colour(column: str, position: int) -> str:
    """The colour of a value column; a column whose name begins with a side has the side's colour in every chart."""
    return _SIDES.get(column.partition("_")[0], series_colour(position))


@dataclass(frozen=True, slots=True)
class LegendEntry:
    """What a colour means. `mark` is how the chart draws it, and `dash` the dashes of a line, as SVG writes them."""

    name: str
    colour: str
    mark: Literal["bar", "line", "point"]
    dash: str = ""


def legend_of(specs: Sequence[Spec]) -> tuple[LegendEntry, ...]:
    """The series of charts that stand together, each once, in the order in which they first occur.

    Charts of one series need no legend. `colour` is the name of a variable of the style sheet without its dashes.
    """
    traces = [trace for spec in specs for trace in spec["data"] if trace.get("name") and trace.get("showlegend", True)]
    entries = tuple(dict.fromkeys(map(_legend_entry, traces)))
    return entries if len(entries) > 1 else ()


def _legend_entry(trace: Spec) -> LegendEntry:
    mark: Literal["bar", "line", "point"] = "bar" if trace["type"] == "bar" else "point"
    drawn = trace.get("marker") or trace["line"]
    if trace.get("mode") == "lines":
        mark = "line"
    name = unescape(trace["name"])
    return LegendEntry(name, _NAME.sub(r"\1", drawn["color"]), mark, _DASHES_IN_SVG.get(drawn.get("dash", ""), ""))


# --- frame and axes ---------------------------------------------------------------------------------------------------


def frame(height: int, xaxis: Spec, yaxis: Spec, **more: Any) -> Spec:
    """A chart's layout; `height` is in pixels, and the width is that of the page.

    What all charts have alike is added by `framed`, in pages by the script, so that it is not in every chart of every
    page. One legend stands above all charts of a section (`legend_of`).
    """
    return {"height": height, "xaxis": xaxis, "yaxis": yaxis, **more}


def framed(spec: Spec) -> Spec:
    """A chart with what all charts have alike; what it has itself goes before that."""
    layout = spec["layout"]
    axes = {name: {**AXIS, **layout[name]} for name in ("xaxis", "yaxis")}
    return {**spec, "layout": {**FRAME, **layout, **axes}}


def axes(section: Section, rows: Sequence[Row]) -> tuple[list[Any], list[Any]]:
    """The entries along `x` and `y`, in the order of the rows; equal sets of entries have the same order on both."""
    xs, ys = (list(dict.fromkeys(row[section.role(name)] for row in rows)) for name in ("x", "y"))
    return (list(ys) if set(xs) == set(ys) else xs), ys


def name_axis(
    values: Sequence[Any], *, downwards: bool = False, every: int = 1, details: Sequence[Any] | None = None
) -> Spec:
    """An axis of names at 0, 1, 2, …, shortened while they still differ, with one in `every` shown.

    `details` are second lines below the names. Positions are numbers, because plotly interprets a name that looks like
    a number as a position.
    """
    cut = [short_text(value) for value in values]
    shown = cut if len(set(cut)) == len(set(values)) else [plotly_text(value) for value in values]
    if details is not None:
        shown = [two_lines(name, detail) for name, detail in zip(shown, details, strict=True)]
    ends = [-0.5, len(values) - 0.5]
    return {
        "type": "linear",
        "range": ends[::-1] if downwards else ends,
        "tickmode": "array",
        "tickvals": list(range(len(values)))[::every],
        "ticktext": shown[::every],
        "showgrid": False,
        "tickfont": {"color": "var(--ink)"},
    }


def number_axis(section: Section, column: str | None = None) -> Spec:
    """An axis of numbers, in the format of a column if one is given, else of the chart."""
    chosen = section.options.format
    if column is not None:
        chosen = section.columns.get(column, ColumnFormat()).format or guess_format(column, [0.0])
    axis: Spec = {
        "tickformat": _TICKS.get(chosen, ""),
        "zeroline": True,
        "zerolinecolor": "var(--muted)",
        "zerolinewidth": 1,
    }
    if section.options.range is not None and column is None:
        axis["range"] = list(section.options.range)
    return axis


def axis_title(text: str | None) -> Spec:
    """The title of an axis, if it has one; with a distance, it stands clear of the longest number at a tick."""
    font = {"color": "var(--muted)", "size": 12}
    return {"title": {"text": plotly_text(text), "font": font, "standoff": 8}} if text else {}


def reference_line(section: Section, along: str) -> list[Spec]:
    """A dotted line across the chart at the reference value; `along` is the axis of that value."""
    at = section.options.reference
    if at is None:
        return []
    other = "y" if along == "x" else "x"
    line = {"color": "var(--muted)", "width": 1, "dash": "dot"}
    ends = {f"{along}0": at, f"{along}1": at, f"{other}0": 0, f"{other}1": 1, f"{other}ref": "paper"}
    return [{"type": "line", "layer": "between", "line": line, **ends}]
