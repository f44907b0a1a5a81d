"""Where the names of the points of a chart are written, so that they do not cover each other.

Sizes are estimates: the browser decides them. In a chart that is wider than `_WIDTH` there is only more room.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

_WIDTH, _HEIGHT = 240.0, 350.0
_CHARACTER, _LINE = 6.6, 15.0
_POINT = 7.0
_SIDES = {"center": -0.5, "right": 0.0, "left": -1.0}
_OUTSIDE = 1.5
"""What a pixel outside the chart costs, compared with a pixel over another name or point."""

Box = tuple[float, float, float, float]
"""Left, bottom, right, top."""


def places_of_names(at: Sequence[tuple[float, float] | None], names: Sequence[str]) -> list[str]:
    """The `textposition` of each name for plotly.

    `at` are the places of the points as shares of the chart's width and height, from below, or `None` for a point that
    is not drawn. Names are placed one after the other from left to right, each where it covers least. A `<br>` in a
    name begins a new line.
    """
    drawn = sorted((place, n) for n, place in enumerate(at) if place is not None)
    points = {n: (x * _WIDTH, y * _HEIGHT) for (x, y), n in drawn}
    taken = [_around(point) for point in points.values()]
    places = ["top center"] * len(names)
    for n, point in points.items():
        own = _around(point)
        others = [box for box in taken if box != own]
        boxes = list(_boxes(point, names[n]))
        best, places[n] = min(boxes, key=lambda each: _cost(each[0], others))
        taken.append(best)
    return places


def _around(point: tuple[float, float]) -> Box:
    x, y = point
    return x - _POINT, y - _POINT, x + _POINT, y + _POINT


def _boxes(point: tuple[float, float], name: str) -> Iterator[tuple[Box, str]]:
    """The places that a name can have beside its point, the usual one first."""
    x, y = point
    lines = name.split("<br>")
    width, height = _CHARACTER * max(map(len, lines)), _LINE * len(lines)
    for level in ("top", "bottom"):
        bottom = y + _POINT if level == "top" else y - _POINT - height
        for side, share in _SIDES.items():
            left = x + share * width
            yield (left, bottom, left + width, bottom + height), f"{level} {side}"


def _cost(box: Box, others: Sequence[Box]) -> float:
    left, bottom, right, top = box
    inside = max(0.0, min(right, _WIDTH) - max(left, 0.0)) * max(0.0, min(top, _HEIGHT) - max(bottom, 0.0))
    outside = (right - left) * (top - bottom) - inside
    return _OUTSIDE * outside + sum(_shared(box, other) for other in others)


def _shared(one: Box, two: Box) -> float:
    """The area that two boxes share."""
    width = min(one[2], two[2]) - max(one[0], two[0])
    height = min(one[3], two[3]) - max(one[1], two[1])
    return max(0.0, width) * max(0.0, height)
