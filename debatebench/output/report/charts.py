"""Rows → chart specifications for plotly, as plain data.

Colours are names of the style sheet's variables (`var(--pro)`), which the page's script resolves, so that a chart
follows the reader's light or dark theme. The cells of heat maps have their own background and text colours.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from debatebench.output.report.chart_parts import (
    Row,
    Spec,
    as_number,
    axes,
    axis_title,
    column_name,
    frame,
    name_axis,
    number_axis,
    plotly_text,
    reference_line,
    series_colour,
    short_text,
    value_colour,
    written,
    written_by_name,
)
from debatebench.output.report.colours import SCALES, ink_on, shade_colour
from debatebench.output.report.page import Section

__all__ = ["chart"]

_DASHES = ("solid", "dot", "dash", "dashdot")
_MOST_VERTICAL_NAMES = 14
_USUAL_WIDTH = 700


def chart(section: Section, rows: Sequence[Row]) -> Spec:
    """The plotly `data` and `layout` of a section's rows, in their order."""
    return _BUILDERS[section.show](section, rows)


def _bars(section: Section, rows: Sequence[Row]) -> Spec:
    """One bar per row and value column, horizontal unless `vertical`, side by side unless `stacked`."""
    options, columns = section.options, section.roles["values"]
    labels = [row[section.role("label")] for row in rows]
    traces = [_bar_trace(section, rows, column, position) for position, column in enumerate(columns)]
    if options.vertical:
        names = name_axis(labels, every=len(rows) // _MOST_VERTICAL_NAMES + 1) | axis_title(options.x_title)
        amounts = number_axis(section) | axis_title(options.y_title)
    else:
        names = name_axis(labels, downwards=True) | axis_title(options.y_title)
        amounts = number_axis(section) | axis_title(options.x_title)
    per_row = 30 if options.stacked or len(columns) == 1 else 22 * len(columns) + 12
    return {
        "data": traces,
        "layout": frame(
            320 if options.vertical else 80 + per_row * len(rows),
            names if options.vertical else amounts,
            amounts if options.vertical else names,
            barmode="stack" if options.stacked else "group",
            bargap=0.12 if options.vertical else 0.3,
            bargroupgap=0.08,
            showlegend=len(columns) > 1,
            uniformtext={"minsize": 9, "mode": "hide"},
        ),
    }


def _bar_trace(section: Section, rows: Sequence[Row], column: str, position: int) -> Spec:
    options = section.options
    names = [plotly_text(row[section.role("label")]) for row in rows]
    values = [row[column] for row in rows]
    texts = written(section, values)
    lengths, places = ("y", "x") if options.vertical else ("x", "y")
    series = column_name(section, column)
    return {
        "type": "bar",
        "orientation": "v" if options.vertical else "h",
        lengths: [as_number(value) for value in values],
        places: list(range(len(rows))),
        "name": series,
        "marker": {"color": value_colour(column, position), "line": {"width": 0}},
        "text": texts,
        "textposition": "none" if options.vertical and len(rows) > _MOST_VERTICAL_NAMES else "auto",
        "textangle": 0,
        "insidetextanchor": "middle" if options.stacked else "end",
        "insidetextfont": {"color": "var(--on-fill)"},
        "hovertext": [f"{name}<br>{series}: {text}" for name, text in zip(names, texts, strict=True)],
        "hoverinfo": "text",
    }


def _heatmap(section: Section, rows: Sequence[Row]) -> Spec:
    """A grid of coloured cells with the value in each; `shade` (0 to 1) sets the colour if it is given."""
    x, y, value = section.role("x"), section.role("y"), section.role("value")
    xs, ys = axes(section, rows)
    places = [(row[y], row[x]) for row in rows]
    texts = dict(zip(places, written(section, [row[value] for row in rows]), strict=True))
    shades = dict(zip(places, _shades(section, rows), strict=True))
    hover = {
        place: f"{plotly_text(place[0])} × {plotly_text(place[1])}: {texts[place]}{_count(section, row)}"
        for place, row in zip(places, rows, strict=True)
    }
    scale = section.options.scale
    annotations = [
        {
            "x": xs.index(place[1]),
            "y": ys.index(place[0]),
            "text": texts[place],
            "showarrow": False,
            "font": {"size": 12, "color": ink_on(shade_colour(shade, scale))},
        }
        for place, shade in shades.items()
        if shade is not None
    ]
    trace = {
        "type": "heatmap",
        "x": list(range(len(xs))),
        "y": list(range(len(ys))),
        "z": [[shades.get((line, each)) for each in xs] for line in ys],
        "zmin": 0,
        "zmax": 1,
        "colorscale": [[n / (len(SCALES[scale]) - 1), stop] for n, stop in enumerate(SCALES[scale])],
        "showscale": False,
        "xgap": 2,
        "ygap": 2,
        "hovertext": [[hover.get((line, each), "") for each in xs] for line in ys],
        "hoverinfo": "text",
        "hoverongaps": False,
    }
    x_axis = {**name_axis(xs), **axis_title(section.options.x_title), "side": "top"}
    y_axis = {**name_axis(ys, downwards=True), **axis_title(section.options.y_title)}
    margin = {"l": 8, "r": 24, "t": 8, "b": 8, "pad": 4}
    height = 60 + 36 * len(ys) + _room_for_names(x_axis["ticktext"])
    return {"data": [trace], "layout": frame(height, x_axis, y_axis, annotations=annotations, margin=margin)}


def _room_for_names(names: Sequence[str]) -> int:
    """Pixels that names above the columns need if they do not fit side by side and are rotated."""
    longest = max(map(len, names), default=0)
    return 0 if (longest * 8 + 10) * len(names) <= _USUAL_WIDTH else longest * 7


def _count(section: Section, row: Row) -> str:
    """The number of debates behind a cell, if the section gives it."""
    count = row[section.role("count")] if "count" in section.roles else None
    return "" if count is None else f" ({count:,} {'debate' if count == 1 else 'debates'})"


def _shades(section: Section, rows: Sequence[Row]) -> list[float | None]:
    """The position of each row's colour on the scale: its `shade`, else its value within the range."""
    if "shade" in section.roles:
        return [as_number(row[section.role("shade")]) for row in rows]
    values = [as_number(row[section.role("value")]) for row in rows]
    known = [value for value in values if value is not None]
    low, high = section.options.range or (min(known, default=0.0), max(known, default=1.0))
    span = (high - low) or 1.0
    return [None if value is None else (value - low) / span for value in values]


def _line(section: Section, rows: Sequence[Row]) -> Spec:
    """One line per series, in the order in which the series first occur."""
    by_series: dict[Any, list[Row]] = {}
    for row in rows:
        by_series.setdefault(row[section.role("series")], []).append(row)
    traces = []
    for position, (series, own) in enumerate(by_series.items()):
        texts = written(section, [row[section.role("y")] for row in own])
        line = {"color": series_colour(position), "width": 2, "dash": _DASHES[position // 8 % len(_DASHES)]}
        traces.append(
            {
                "type": "scatter",
                "mode": "lines",
                "name": short_text(series),
                "x": [as_number(row[section.role("x")]) for row in own],
                "y": [as_number(row[section.role("y")]) for row in own],
                "line": line,
                "hovertext": [f"{plotly_text(series)}: {text}" for text in texts],
                "hoverinfo": "text",
            }
        )
    return {
        "data": traces,
        "layout": frame(
            max(380, 60 + 20 * len(by_series)),
            {**axis_title(section.options.x_title), "showgrid": False},
            {**number_axis(section), **axis_title(section.options.y_title)},
            showlegend=True,
            legend={"orientation": "v", "x": 1.01, "xanchor": "left", "y": 1, "yanchor": "top"},
            shapes=reference_line(section, along="y"),
        ),
    }


def _scatter(section: Section, rows: Sequence[Row]) -> Spec:
    """One named point per row; a line joins those on the frontier, if the section says which they are."""
    columns = [section.role("x"), section.role("y")]
    names = [row[section.role("label")] for row in rows]
    hover = [
        "<br>".join(
            [
                plotly_text(name),
                *(f"{column_name(section, each)}: {written_by_name(section, each, row[each])}" for each in columns),
            ]
        )
        for name, row in zip(names, rows, strict=True)
    ]
    trace = {
        "type": "scatter",
        "mode": "markers+text",
        "x": [as_number(row[columns[0]]) for row in rows],
        "y": [as_number(row[columns[1]]) for row in rows],
        "text": [short_text(name) for name in names],
        "textposition": "top center",
        "textfont": {"size": 12, "color": "var(--ink)"},
        "marker": {"size": 10, "color": series_colour(0)},
        "cliponaxis": False,
        "hovertext": hover,
        "hoverinfo": "text",
    }
    titles = (section.options.x_title, section.options.y_title)
    x_axis, y_axis = (
        number_axis(section, each) | {"title": {"text": title or column_name(section, each)}}
        for each, title in zip(columns, titles, strict=True)
    )
    traces = [*_frontier(section, rows, columns), trace]
    return {"data": traces, "layout": frame(420, x_axis, y_axis, showlegend=False)}


def _frontier(section: Section, rows: Sequence[Row], columns: Sequence[str]) -> list[Spec]:
    """The line through the points whose `frontier` is true, in steps: each point is the best one until the next."""
    if "frontier" not in section.roles:
        return []
    places = sorted((*(as_number(row[each]) for each in columns),) for row in rows if row[section.role("frontier")])
    line = {"color": series_colour(0), "width": 1, "dash": "dot", "shape": "hv"}
    return [
        {
            "type": "scatter",
            "mode": "lines",
            "x": [x for x, _ in places],
            "y": [y for _, y in places],
            "line": line,
            "hoverinfo": "skip",
        }
    ]


def _dots(section: Section, rows: Sequence[Row]) -> Spec:
    """One dot per row, with an interval if `low` and `high` are given."""
    names = [row[section.role("label")] for row in rows]
    values = [row[section.role("value")] for row in rows]
    texts = written(section, values)
    trace: Spec = {
        "type": "scatter",
        "mode": "markers+text",
        "x": [as_number(value) for value in values],
        "y": list(range(len(rows))),
        "text": texts,
        "textposition": "middle right",
        "textfont": {"size": 12, "color": "var(--muted)"},
        "marker": {"size": 11, "color": series_colour(0)},
        "cliponaxis": False,
        "hovertext": [f"{plotly_text(name)}: {text}" for name, text in zip(names, texts, strict=True)],
        "hoverinfo": "text",
    }
    if {"low", "high"} <= set(section.roles):
        trace["error_x"] = {
            "type": "data",
            "symmetric": False,
            "array": [_distance(row[section.role("high")], row[section.role("value")]) for row in rows],
            "arrayminus": [_distance(row[section.role("value")], row[section.role("low")]) for row in rows],
            "color": series_colour(0),
            "thickness": 1.5,
            "width": 4,
        }
        trace["mode"] = "markers"
    return {
        "data": [trace],
        "layout": frame(
            60 + 34 * len(rows),
            {**number_axis(section), **axis_title(section.options.x_title)},
            {**name_axis(names, downwards=True), "showgrid": True},
            showlegend=False,
            shapes=reference_line(section, along="x"),
        ),
    }


def _distance(high: Any, low: Any) -> float | None:
    return None if high is None or low is None else as_number(high - low)


def _boxes(section: Section, rows: Sequence[Row]) -> Spec:
    """One horizontal box per row from its quartiles and ends."""
    names = [row[section.role("label")] for row in rows]
    ends = {"lowerfence": "low", "q1": "q1", "median": "median", "q3": "q3", "upperfence": "high"}
    trace = {
        "type": "box",
        "orientation": "h",
        "y": list(range(len(rows))),
        **{key: [as_number(row[section.role(role)]) for row in rows] for key, role in ends.items()},
        "line": {"color": series_colour(0), "width": 1.5},
        "fillcolor": "var(--fill)",
        "whiskerwidth": 0.4,
        "hoverinfo": "x",
    }
    return {
        "data": [trace],
        "layout": frame(
            80 + 42 * len(rows),
            {**number_axis(section), **axis_title(section.options.x_title)},
            name_axis(names, downwards=True),
            showlegend=False,
            boxgap=0.4,
            shapes=reference_line(section, along="x"),
        ),
    }


_BUILDERS: dict[str, Callable[[Section, Sequence[Row]], Spec]] = {
    "bars": _bars,
    "heatmap": _heatmap,
    "line": _line,
    "scatter": _scatter,
    "dots": _dots,
    "boxes": _boxes,
}
