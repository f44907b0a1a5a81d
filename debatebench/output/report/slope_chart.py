"""Rows → a slope chart: what each name had before and has now, or from one version to the next, joined by a line."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from debatebench.output.report.chart_parts import (
    Row,
    Spec,
    as_number,
    column_name,
    frame,
    number_axis,
    plotly_text,
    series_colour,
    short_text,
    written,
)
from debatebench.output.report.page import Section

_NAME_HEIGHT = 19
_LEAST_HEIGHT = 300
_MARGINS = 48
_ROOM = 0.06
"""The part of the range of values that stays free above and below them."""
_LEFT = 0.12
"""The room left of the first place, in parts of the way from the first to the last."""
_NARROWEST, _LETTER = 300, 6.4
"""How wide the plot is on a phone, and how wide a letter of a name, in pixels."""
_MOST_FOR_NAMES = 0.5
# Intervals of neighbours stand beside each other, and not on top of each other.
_SPREAD = 0.014
_NAME_GAP = 0.1


@dataclass(frozen=True, slots=True)
class _Line:
    """What one name has at each place; `None` where it has nothing, or no interval."""

    name: Any
    values: tuple[Any, ...]
    lows: tuple[Any, ...]
    highs: tuple[Any, ...]
    colour: str
    is_strong: bool

    @property
    def last(self) -> float:
        """The value beside which the name stands: the last one that there is."""
        return [number for value in self.values if (number := as_number(value)) is not None][-1]


def slope(section: Section, rows: Sequence[Row]) -> Spec:
    """One line per row from its value before to its value now, with its name beside the later one.

    `before_low`, `before_high`, `after_low` and `after_high` are ends of intervals. A row whose `strong` is true has
    the colour of what stands out, and the others are pale. Rows without both values are only in the table.
    """
    before, after = section.role("before"), section.role("after")
    lines = [
        _Line(
            name=row[section.role("label")],
            values=(row[before], row[after]),
            lows=tuple(_of_role(section, row, f"{place}_low") for place in ("before", "after")),
            highs=tuple(_of_role(section, row, f"{place}_high") for place in ("before", "after")),
            **_marked(bool(_of_role(section, row, "strong"))),
        )
        for row in rows
        if as_number(row[before]) is not None and as_number(row[after]) is not None
    ]
    return _drawn(section, lines, [column_name(section, before), column_name(section, after)])


def trend(section: Section, rows: Sequence[Row]) -> Spec:
    """One line per series over the places `x`, both in the order in which they first occur.

    `low` and `high` are ends of intervals.
    """
    places = list(dict.fromkeys(row[section.role("x")] for row in rows))
    by_series: dict[Any, dict[Any, Row]] = {}
    for row in rows:
        by_series.setdefault(row[section.role("series")], {})[row[section.role("x")]] = row
    lines: list[_Line] = []
    for name, own in by_series.items():
        values, lows, highs = (
            tuple(_of_role(section, own[place], role) if place in own else None for place in places)
            for role in ("y", "low", "high")
        )
        if any(as_number(value) is not None for value in values):
            lines.append(_Line(name, values, lows, highs, series_colour(len(lines)), is_strong=True))
    return _drawn(section, lines, [short_text(place) for place in places])


def _marked(is_strong: bool) -> dict[str, Any]:
    return {"colour": series_colour(0) if is_strong else "var(--tie)", "is_strong": is_strong}


def _of_role(section: Section, row: Row, role: str) -> Any:
    return row[section.role(role)] if role in section.roles else None


def _drawn(section: Section, lines: Sequence[_Line], places: Sequence[str]) -> Spec:
    height = max(_LEAST_HEIGHT, _MARGINS + _NAME_HEIGHT * (len(lines) + 2))
    low, high = _ends(lines)
    heights = _apart([line.last for line in lines], (high - low) / (height - _MARGINS) * _NAME_HEIGHT)
    way = max(len(places) - 1, 1)
    names = [f"{short_text(line.name)} {written(section, [line.last])[0]}" for line in lines]
    shifts = [(n - (len(lines) - 1) / 2) * _SPREAD * way for n in range(len(lines))]
    # What stands out is drawn last, on top of the others.
    order = sorted(range(len(lines)), key=lambda n: lines[n].is_strong)
    return {
        "data": [_trace(section, lines[n], places, shifts[n]) for n in order],
        "layout": frame(
            height,
            {
                "range": [-_LEFT * way, (1 + _room_for(names)) * way],
                "tickmode": "array",
                "tickvals": list(range(len(places))),
                "ticktext": list(places),
                "tickfont": {"color": "var(--ink)"},
                "side": "top",
            },
            {**number_axis(section), "range": [min([low, *heights]), max([high, *heights])]},
            annotations=[
                _name(name, line, place, (1 + _NAME_GAP) * way)
                for name, line, place in zip(names, lines, heights, strict=True)
            ],
            margin={"l": 8, "r": 8, "t": 32, "b": 16, "pad": 4},
        ),
    }


def _ends(lines: Sequence[_Line]) -> tuple[float, float]:
    """The range of the values and intervals, with room on both sides."""
    every = [value for line in lines for value in (*line.values, *line.lows, *line.highs)]
    numbers = [number for value in every if (number := as_number(value)) is not None]
    low, high = min(numbers, default=0.0), max(numbers, default=1.0)
    room = ((high - low) or abs(high) or 1.0) * _ROOM
    return low - room, high + room


def _apart(values: Sequence[float], least: float) -> list[float]:
    """Places near the values, in the same order, of which no two are nearer than `least`."""
    groups: list[tuple[float, list[int]]] = []
    for n in sorted(range(len(values)), key=lambda n: values[n]):
        groups.append((values[n], [n]))
        # A group that touches the one below joins it, around the mean of both.
        while len(groups) > 1 and groups[-1][0] - groups[-2][0] < least * (len(groups[-1][1]) + len(groups[-2][1])) / 2:
            (upper, above), (lower, below) = groups.pop(), groups.pop()
            size = len(above) + len(below)
            groups.append(((upper * len(above) + lower * len(below)) / size, [*below, *above]))
    places = [0.0] * len(values)
    for centre, names in groups:
        for position, n in enumerate(names):
            places[n] = centre + (position - (len(names) - 1) / 2) * least
    return places


def _trace(section: Section, line: _Line, places: Sequence[str], shift: float) -> Spec:
    name = plotly_text(line.name)
    texts = [f"{name}, {place}: {text}" for place, text in zip(places, _texts(section, line), strict=True)]
    return {
        "type": "scatter",
        "mode": "lines+markers",
        "name": name,
        "x": [place + shift for place in range(len(places))],
        "y": [as_number(value) for value in line.values],
        "line": {"color": line.colour, "width": 2.5 if line.is_strong else 1.5},
        "marker": {"color": line.colour, "size": 8},
        "showlegend": False,
        "hovertext": texts,
        "hoverinfo": "text",
        "error_y": {
            "type": "data",
            "symmetric": False,
            "array": _distances(line.highs, line.values),
            "arrayminus": _distances(line.values, line.lows),
            "color": line.colour,
            "thickness": 1.5,
            "width": 3,
        },
    }


def _texts(section: Section, line: _Line) -> list[str]:
    """The values in words, each with its interval if it has one."""
    values, lows, highs = (written(section, each) for each in (line.values, line.lows, line.highs))
    return [
        value if line.lows[n] is None or line.highs[n] is None else f"{value} ({lows[n]} to {highs[n]})"
        for n, value in enumerate(values)
    ]


def _distances(upper: Sequence[Any], lower: Sequence[Any]) -> list[float | None]:
    pairs = zip(map(as_number, upper), map(as_number, lower), strict=True)
    return [None if high is None or low is None else high - low for high, low in pairs]


def _room_for(names: Sequence[str]) -> float:
    """The room right of the last place in which the names fit on a phone, in parts of the way between the places."""
    part = min(max(map(len, names), default=0) * _LETTER / _NARROWEST, _MOST_FOR_NAMES)
    return (_NAME_GAP + (1 + _LEFT) * part) / (1 - part)


def _name(text: str, line: _Line, height: float, x: float) -> Spec:
    """The name of a line beside its last value, or where there is room for it."""
    return {
        "text": text,
        "x": x,
        "y": height,
        "xanchor": "left",
        "showarrow": False,
        "align": "left",
        "font": {"size": 12, "color": "var(--ink)" if line.is_strong else "var(--muted)"},
    }
