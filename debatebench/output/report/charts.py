"""Rows → chart specifications for plotly, as plain data.

Colours are names of the style sheet's variables (`var(--pro)`), which the page's script resolves, so that a chart
follows the reader's light or dark theme. The cells of heat maps have their own background and text colours.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
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
    two_lines,
    value_colour,
    written,
    written_by_name,
)
from debatebench.output.report.colours import SCALES, ink_on, shade_colour
from debatebench.output.report.html import heading
from debatebench.output.report.name_places import places_of_names
from debatebench.output.report.page import Section
from debatebench.output.report.slope_chart import slope, trend
from debatebench.shared.amounts import counted

_DASHES = ("solid", "dot", "dash", "dashdot")
_MOST_VERTICAL_NAMES = 14
_PHONE = 350
_ROW_NAMES, _LINE_OF_NAME = 100, 14
_USUAL_WIDTH = 700
_LINE_HEIGHT = 18
_SCATTER_HEIGHT = 440
_SCATTER_PLOT_HEIGHT = 350
_MOST_LOG_TICKS = 6
_MOST_POINT_NAMES = 8
_MARGIN = 0.08
_DOTTED = {"color": "var(--muted)", "width": 1, "dash": "dot"}
_WHOLE_WIDTH = {"x0": 0, "x1": 1, "xref": "paper"}
_LINE_NAME = {"showarrow": False, "font": {"size": 11, "color": "var(--muted)"}, "bgcolor": "var(--surface)"}
_LINE_NAME_CHARACTER = 6.2


def chart(section: Section, rows: Sequence[Row], together: Sequence[Row] = ()) -> Spec:
    """The plotly `data` and `layout` of a section's rows, in their order.

    `together` are the rows of all charts of the section: a series has the same colour in each of them.
    """
    if section.show == "scatter":
        return _scatter(section, rows, together or rows)
    return _BUILDERS[section.show](section, rows)


def _details(section: Section, rows: Sequence[Row]) -> list[Any] | None:
    """The second lines below the names of the rows, if the section has them."""
    return [row[section.role("detail")] for row in rows] if "detail" in section.roles else None


def _names(section: Section, rows: Sequence[Row]) -> list[str]:
    """The whole names of the rows with their details, for the text at the pointer."""
    names = [plotly_text(row[section.role("label")]) for row in rows]
    details = _details(section, rows)
    return names if details is None else [f"{a} · {plotly_text(b)}" for a, b in zip(names, details, strict=True)]


def _split(section: Section, rows: Sequence[Row]) -> tuple[list[Row], list[Row]]:
    """The rows that are points, and those that are lines to compare with."""
    is_line = [bool("baseline" in section.roles and row[section.role("baseline")]) for row in rows]
    points = [row for row, line in zip(rows, is_line, strict=True) if not line]
    return points, [row for row, line in zip(rows, is_line, strict=True) if line]


def _lines(section: Section, rows: Sequence[Row], role: str) -> list[tuple[float, str]]:
    """Lines to compare with: each value and its text, by value and without duplicates."""
    texts = zip(rows, written(section, [row[section.role(role)] for row in rows]), strict=True)
    named = {
        (value, f"{short_text(row[section.role('label')])} {text}")
        for row, text in texts
        if (value := as_number(row[section.role(role)])) is not None
    }
    return sorted(named)


def _bars(section: Section, rows: Sequence[Row]) -> Spec:
    """One bar per row and value column, horizontal unless `vertical`, side by side unless `stacked`."""
    options, columns = section.options, section.roles["values"]
    labels = [row[section.role("label")] for row in rows]
    traces = [_bar_trace(section, rows, column, position) for position, column in enumerate(columns)]
    if options.vertical:
        names = name_axis(labels, every=len(rows) // _MOST_VERTICAL_NAMES + 1) | axis_title(options.x_title)
        amounts = number_axis(section) | axis_title(options.y_title)
    else:
        names = name_axis(labels, downwards=True, details=_details(section, rows)) | axis_title(options.y_title)
        amounts = number_axis(section) | axis_title(options.x_title)
    per_row = 30 if options.stacked or len(columns) == 1 else 22 * len(columns) + 12
    if "detail" in section.roles:
        per_row = max(per_row, 44)
    return {
        "data": traces,
        "layout": frame(
            320 if options.vertical else 56 + per_row * len(rows),
            names if options.vertical else amounts,
            amounts if options.vertical else names,
            barmode="stack" if options.stacked else "group",
            bargap=0.12 if options.vertical else 0.3,
            bargroupgap=0.08,
            uniformtext={"minsize": 9, "mode": "hide"},
        ),
    }


def _bar_trace(section: Section, rows: Sequence[Row], column: str, position: int) -> Spec:
    options = section.options
    names = _names(section, rows)
    values = [row[column] for row in rows]
    texts = written(section, values)
    lengths, places = ("y", "x") if options.vertical else ("x", "y")
    series = column_name(section, column)
    colour = value_colour(column, position)
    return {
        "type": "bar",
        "orientation": "v" if options.vertical else "h",
        lengths: [as_number(value) for value in values],
        places: list(range(len(rows))),
        "name": series,
        "marker": {"color": colour, "line": {"width": 0}},
        "text": texts,
        "textposition": "none" if options.vertical and len(rows) > _MOST_VERTICAL_NAMES else "auto",
        "textangle": 0,
        "insidetextanchor": "middle" if options.stacked else "end",
        # The colour of what is missing is pale.
        "insidetextfont": {"color": "var(--ink)" if colour == "var(--none)" else "var(--on-fill)"},
        "hovertext": [f"{name}<br>{series}: {text}" for name, text in zip(names, texts, strict=True)],
        "hoverinfo": "text",
    }


def _heatmap(section: Section, rows: Sequence[Row]) -> Spec:
    """A grid of coloured cells with the value in each; `shade` (0 to 1) sets the colour if it is given."""
    x, y, value = section.role("x"), section.role("y"), section.role("value")
    xs, ys = axes(section, rows)
    places = [(row[y], row[x]) for row in rows]
    texts = dict(zip(places, written(section, [row[value] for row in rows]), strict=True))
    shades = {
        place: round(shade, 4) for place, shade in zip(places, _shades(section, rows), strict=True) if shade is not None
    }
    counts = (
        {place: _count(section, row) for place, row in zip(places, rows, strict=True)}
        if "count" in section.roles
        else {}
    )
    inks = {place: ink_on(shade_colour(shade, section.options.scale)) for place, shade in shades.items()}
    traces = []
    # Each trace has one colour of text.
    for ink in sorted(set(inks.values())) or [""]:
        own = [[place if inks.get(place) == ink else None for place in ((line, each) for each in xs)] for line in ys]
        traces.append(
            _cells_of_heatmap(section, own, texts, shades, counts)
            | {"textfont": {"size": 12, "color": ink or "var(--ink)"}}
        )
    x_axis = {**name_axis(xs), **axis_title(section.options.x_title), "side": "top"}
    y_axis = {**name_axis(ys, downwards=True), **axis_title(section.options.y_title)}
    margin = {"l": 8, "r": 24, "t": 8, "b": 8, "pad": 4}
    height = 60 + 36 * len(ys) + _room_for_names(x_axis["ticktext"])
    return {"data": traces, "layout": frame(height, x_axis, y_axis, margin=margin)}


def least_width(spec: Spec) -> int:
    """The pixels below which the names above the columns of a heatmap would cover each other; 0 if a phone has more."""
    columns = max((len(trace["x"]) for trace in spec["data"] if trace["type"] == "heatmap"), default=0)
    wide = _ROW_NAMES + _LINE_OF_NAME * columns
    return wide if wide > _PHONE else 0


def _cells_of_heatmap(
    section: Section,
    places: Sequence[Sequence[tuple[Any, Any] | None]],
    texts: Mapping[tuple[Any, Any], str],
    shades: Mapping[tuple[Any, Any], float],
    counts: Mapping[tuple[Any, Any], str],
) -> Spec:
    """The trace of the cells at `places`; where there is none, nothing is drawn."""
    scale = SCALES[section.options.scale]
    more = " %{customdata}" if counts else ""
    trace = {
        "type": "heatmap",
        "x": list(range(len(places[0]))) if places else [],
        "y": list(range(len(places))),
        "z": [[None if place is None else shades[place] for place in line] for line in places],
        "text": [["" if place is None else texts[place] for place in line] for line in places],
        "texttemplate": "%{text}",
        "zmin": 0,
        "zmax": 1,
        "colorscale": [[n / (len(scale) - 1), stop] for n, stop in enumerate(scale)],
        "showscale": False,
        "xgap": 2,
        "ygap": 2,
        "hovertemplate": f"%{{y}} × %{{x}}: %{{text}}{more}<extra></extra>",
        "hoverongaps": False,
    }
    if counts:
        trace["customdata"] = [["" if place is None else counts[place] for place in line] for line in places]
    return trace


def _room_for_names(names: Sequence[str]) -> int:
    """Pixels that names above the columns need if they do not fit side by side and are rotated."""
    longest = max(map(len, names), default=0)
    return 0 if (longest * 8 + 10) * len(names) <= _USUAL_WIDTH else longest * 7


def _count(section: Section, row: Row) -> str:
    """The number of debates behind a cell, if the section gives it."""
    count = row[section.role("count")] if "count" in section.roles else None
    return "" if count is None else f"({counted(count, 'debate')})"


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
                "name": plotly_text(series),
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
            380,
            {**axis_title(section.options.x_title), "showgrid": False},
            {**number_axis(section), **axis_title(section.options.y_title)},
            shapes=reference_line(section, along="y"),
        ),
    }


def _scatter(section: Section, rows: Sequence[Row], together: Sequence[Row]) -> Spec:
    """One point per row, in the colour of its `series`; a line joins those on the frontier, if the section says which.

    Points have names. Where there are too many, only those on the frontier do, and others are named at the pointer.
    Rows whose `baseline` is true are named lines across the chart at their `y`.
    """
    points, compared = _split(section, rows)
    columns = [section.role("x"), section.role("y")]
    xs, ys = ([as_number(row[column]) for row in points] for column in columns)
    is_log = section.options.log and bool(points) and all(x is not None and x > 0 for x in xs)
    titles = (section.options.x_title, section.options.y_title)
    x_axis, y_axis = (
        number_axis(section, each) | axis_title(title or heading(each, section.columns.get(each)))
        for each, title in zip(columns, titles, strict=True)
    )
    if is_log:
        x_axis |= {"type": "log", **_log_ticks([x for x in xs if x is not None])}
    if section.options.range is not None:
        y_axis["range"] = list(section.options.range)
    shapes, labels = _lines_across(_lines(section, compared, "y"), [y for y in ys if y is not None], y_axis)
    shares = zip(_shares(xs, None, is_log=is_log), _shares(ys, y_axis.get("range"), is_log=False), strict=True)
    at = [None if x is None or y is None else (x, y) for x, y in shares]
    traces = _point_traces(section, points, at, _series(section, _split(section, together)[0]))
    longest = max((len(label["text"]) for label in labels), default=0)
    return {
        "data": [*_frontier(section, points, columns), *traces],
        "layout": frame(
            _SCATTER_HEIGHT,
            x_axis,
            y_axis,
            shapes=shapes,
            annotations=labels,
            margin={"l": 8, "r": 24 + round(_LINE_NAME_CHARACTER * longest), "t": 16, "b": 32, "pad": 4},
        ),
    }


def _series(section: Section, rows: Sequence[Row]) -> list[Any]:
    """The series of points, sorted."""
    return sorted({row[section.role("series")] for row in rows}) if "series" in section.roles else [None]


def _point_traces(
    section: Section, points: Sequence[Row], at: Sequence[tuple[float, float] | None], series_in_order: Sequence[Any]
) -> list[Spec]:
    """The points of each series, in the colour of its place in `series_in_order`."""
    columns = [section.role("x"), section.role("y")]
    names, texts = _point_names(section, points), _values_of_points(section, points, columns)
    places = places_of_names(at, names)
    by_series: dict[Any, list[int]] = {}
    for n, row in enumerate(points):
        by_series.setdefault(row[section.role("series")] if "series" in section.roles else None, []).append(n)
    return [
        {
            "type": "scatter",
            "mode": "markers+text",
            "name": plotly_text(series),
            "x": [as_number(points[n][columns[0]]) for n in own],
            "y": [as_number(points[n][columns[1]]) for n in own],
            "text": [names[n] for n in own],
            "textposition": [places[n] for n in own],
            "textfont": {"size": 12, "color": "var(--ink)"},
            "marker": {"size": 10, "color": series_colour(position)},
            "cliponaxis": False,
            "hovertext": [texts[n] for n in own],
            "hoverinfo": "text",
        }
        for position, series in enumerate(series_in_order or [None])
        if (own := by_series.get(series, [])) or not by_series
    ]


def _point_names(section: Section, rows: Sequence[Row]) -> list[str]:
    names = [short_text(row[section.role("label")]) for row in rows]
    details = _details(section, rows)
    if details is not None:
        names = [two_lines(a, b) for a, b in zip(names, details, strict=True)]
    if len(rows) <= _MOST_POINT_NAMES or "frontier" not in section.roles:
        return names
    return [name if row[section.role("frontier")] else "" for name, row in zip(names, rows, strict=True)]


def _values_of_points(section: Section, rows: Sequence[Row], columns: Sequence[str]) -> list[str]:
    return [
        "<br>".join(
            [name, *(f"{column_name(section, each)}: {written_by_name(section, each, row[each])}" for each in columns)]
        )
        for name, row in zip(_names(section, rows), rows, strict=True)
    ]


def _log_ticks(values: Sequence[float]) -> Spec:
    """As many round numbers along a logarithmic axis as fit side by side: left alone, plotly writes too many.

    Values without a round number among them are left to plotly.
    """
    exponents = range(math.floor(math.log10(min(values))), math.ceil(math.log10(max(values))) + 1)
    for steps in ((1, 2, 5), (1, 3), (1,)):
        ticks = [step * 10.0**exponent for exponent in exponents for step in steps]
        shown = [tick for tick in ticks if min(values) / 2 <= tick <= max(values) * 2]
        if len(shown) <= _MOST_LOG_TICKS:
            break
    if not any(min(values) <= tick <= max(values) for tick in shown):
        return {"nticks": _MOST_LOG_TICKS, "tickangle": 0}
    return {"tickmode": "array", "tickvals": shown, "tickangle": 0}


def _shares(values: Sequence[float | None], limits: Sequence[float] | None, *, is_log: bool) -> list[float | None]:
    """Where values lie between the ends of their axis, from 0 to 1; without `limits`, plotly leaves a little room."""
    placed = [value if value is None or not is_log else math.log(value) for value in values]
    known = [value for value in placed if value is not None]
    low, high = limits or (min(known, default=0.0), max(known, default=1.0))
    if limits is None:
        low, high = low - _MARGIN * (high - low), high + _MARGIN * (high - low)
    return [None if value is None else (value - low) / ((high - low) or 1.0) for value in placed]


def _lines_across(
    lines: Sequence[tuple[float, str]], values: Sequence[float], axis: Spec
) -> tuple[list[Spec], list[Spec]]:
    """Horizontal lines and their names beside the chart, pushed apart; `axis` gets a range that has all of them."""
    if not lines:
        return [], []
    every = [*values, *(value for value, _ in lines)]
    room = (max(every) - min(every)) * 0.12 or 1.0
    low, high = axis.setdefault("range", [min(every) - room, max(every) + 1.5 * room])
    shapes, labels, taken = [], [], -math.inf
    for value, text in lines:
        at = (value - low) / (high - low) * _SCATTER_PLOT_HEIGHT
        bottom = max(at, taken)
        taken = bottom + _LINE_HEIGHT
        shapes.append({"type": "line", "layer": "between", "line": _DOTTED, "y0": value, "y1": value, **_WHOLE_WIDTH})
        place = {"x": 1, "xref": "paper", "xanchor": "left", "y": value, "yanchor": "bottom", "yshift": bottom - at}
        labels.append({"text": text, **place, **_LINE_NAME})
    return shapes, labels


def _frontier(section: Section, rows: Sequence[Row], columns: Sequence[str]) -> list[Spec]:
    """The line through the points whose `frontier` is true, in steps: each point is the best one until the next."""
    if "frontier" not in section.roles:
        return []
    places = sorted((*(as_number(row[each]) for each in columns),) for row in rows if row[section.role("frontier")])
    line = {"color": "var(--ink)", "width": 1, "shape": "hv"}
    return [
        {
            "type": "scatter",
            "mode": "lines",
            "x": [x for x, _ in places],
            "y": [y for _, y in places],
            "line": line,
            "showlegend": False,
            "hoverinfo": "skip",
        }
    ]


def _dots(section: Section, rows: Sequence[Row]) -> Spec:
    """One dot per row, with an interval if `low` and `high` are given.

    Rows whose `baseline` is true are named lines down the chart at their value. With `strong`, the dots of other rows
    are hollow.
    """
    points, compared = _split(section, rows)
    values = [row[section.role("value")] for row in points]
    texts = written(section, values)
    hover = [f"{name}: {text}" for name, text in zip(_names(section, points), texts, strict=True)]
    groups: dict[bool, list[int]] = {}
    for n, row in enumerate(points):
        groups.setdefault(_is_open(section, row), []).append(n)
    traces = [_dot_trace(section, points, texts, hover, groups.get(is_open, []), is_open) for is_open in (False, True)]
    traces = [trace for trace in traces if trace["x"]] or traces[:1]
    row_height = 44 if "detail" in section.roles else 34
    lines = _lines(section, compared, "value")
    names = name_axis([row[section.role("label")] for row in points], downwards=True, details=_details(section, points))
    shapes, labels = _lines_down(lines, section.options.range, row_height, names)
    return {
        "data": traces,
        "layout": frame(
            60 + row_height * len(points) + _LINE_HEIGHT * len(lines),
            {**number_axis(section), **axis_title(section.options.x_title)},
            {**names, "showgrid": True},
            shapes=[*reference_line(section, along="x"), *shapes],
            **({"annotations": labels} if labels else {}),
        ),
    }


def _is_open(section: Section, row: Row) -> bool:
    """Whether a row's interval includes the line to compare with, so that there may be no difference from it."""
    reference = section.options.reference
    if reference is None or not {"low", "high"} <= set(section.roles):
        return False
    low, high = (as_number(row[section.role(name)]) for name in ("low", "high"))
    return low is None or high is None or low <= reference <= high


def _dot_trace(
    section: Section, rows: Sequence[Row], texts: Sequence[str], hover: Sequence[str], own: Sequence[int], is_open: bool
) -> Spec:
    """The dots of the rows `own`; those of open intervals are pale, and the legend names the two colours."""
    colour = "var(--tie)" if is_open else series_colour(0)
    trace: Spec = {
        "type": "scatter",
        "mode": "markers+text",
        "x": [as_number(rows[n][section.role("value")]) for n in own],
        "y": list(own),
        "text": [texts[n] for n in own],
        "textposition": "middle right",
        "textfont": {"size": 12, "color": "var(--muted)"},
        "marker": {"size": 11, "color": colour},
        "cliponaxis": False,
        "hovertext": [hover[n] for n in own],
        "hoverinfo": "text",
    }
    if "strong" in section.roles:
        strong = section.role("strong")
        trace["marker"]["symbol"] = ["circle" if rows[n][strong] else "circle-open" for n in own]
    if {"low", "high"} <= set(section.roles):
        value, low, high = (section.role(name) for name in ("value", "low", "high"))
        trace["error_x"] = {
            "type": "data",
            "symmetric": False,
            "array": [_distance(rows[n][high], rows[n][value]) for n in own],
            "arrayminus": [_distance(rows[n][value], rows[n][low]) for n in own],
            "color": colour,
            "thickness": 1.5,
            "width": 4,
        }
        trace["mode"] = "markers"
        if section.options.reference is not None:
            of_percent = section.options.format == "percent"
            at = f"{100 * section.options.reference:g}%" if of_percent else f"{section.options.reference:g}"
            trace["name"] = f"may be {at}" if is_open else f"differs from {at}"
    return trace


def _lines_down(
    lines: Sequence[tuple[float, str]], limits: tuple[float, float] | None, row_height: int, axis: Spec
) -> tuple[list[Spec], list[Spec]]:
    """Vertical lines from their names, each on a line of its own above the rows, for which `axis` gets room."""
    if not lines:
        return [], []
    bottom, top = axis["range"]
    step = _LINE_HEIGHT / row_height
    axis["range"] = [bottom, top - step * len(lines)]
    low, high = limits or (lines[0][0], lines[-1][0])
    # Names are written towards the middle. In this order no line crosses the name of another one on its half.
    left = [line for line in lines if line[0] <= (low + high) / 2]
    right = [line for line in reversed(lines) if line[0] > (low + high) / 2]
    shapes, labels = [], []
    for place, (value, text) in enumerate([*left, *right]):
        y = top - step * (len(lines) - place - 0.5)
        is_left = place < len(left)
        shapes.append(
            {"type": "line", "layer": "between", "line": _DOTTED, "x0": value, "x1": value, "y0": y, "y1": bottom}
        )
        side = {"xanchor": "left" if is_left else "right", "xshift": 4 if is_left else -4}
        labels.append({"text": text, "x": value, "y": y, **side, **_LINE_NAME})
    return shapes, labels


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
            boxgap=0.4,
            shapes=reference_line(section, along="x"),
        ),
    }


_BUILDERS: dict[str, Callable[[Section, Sequence[Row]], Spec]] = {
    "bars": _bars,
    "heatmap": _heatmap,
    "line": _line,
    "dots": _dots,
    "boxes": _boxes,
    "slope": slope,
    "trend": trend,
}
