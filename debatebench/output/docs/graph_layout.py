"""A drawing of a graph without cycles: nodes in layers from left to right, few crossings, edges that go around nodes.

The method is that of Sugiyama, Tagawa and Toda (1981): layers by longest path, a point of an edge in every layer that
it crosses, order within layers by barycentres, then positions close to the neighbours.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

_SWEEPS = 24
_RELAXATIONS = 12
# A point of an edge: (from, to, layer). A node: (name, "", 0).
_Place = tuple[str, str, int]


@dataclass(frozen=True, slots=True)
class Layout:
    """Where everything is, in units of one layer (x) and one row (y), both from 0."""

    nodes: Mapping[str, tuple[int, float]]
    edges: Mapping[tuple[str, str], tuple[tuple[int, float], ...]]
    layers: int
    rows: float


def layered_layout(above: Mapping[str, Sequence[str]]) -> Layout:
    """Lay out a graph: node → the nodes that it has edges from, each of which is also a key.

    Equal graphs give equal layouts. Raises `ValueError` when the edges form a cycle.
    """
    layer = _layers(above)
    edges = [(source, target) for target in above for source in dict.fromkeys(above[target])]
    chains = {edge: _chain(edge, layer) for edge in edges}
    layers: list[list[_Place]] = [[] for _ in range(max(layer.values(), default=-1) + 1)]
    for name in sorted(above):
        layers[layer[name]].append((name, "", 0))
    for chain in chains.values():
        for place in chain[1:-1]:
            layers[place[2]].append(place)
    left: dict[_Place, list[_Place]] = {place: [] for column in layers for place in column}
    right: dict[_Place, list[_Place]] = {place: [] for column in layers for place in column}
    for chain in chains.values():
        for source, target in pairwise(chain):
            left[target].append(source)
            right[source].append(target)
    layers = _ordered(layers, left, right)
    y = _rows(layers, left, right)
    lowest = min(y.values(), default=0.0)
    x = {place: number for number, column in enumerate(layers) for place in column}
    return Layout(
        nodes={name: (layer[name], y[name, "", 0] - lowest) for name in above},
        edges={edge: tuple((x[place], y[place] - lowest) for place in chain) for edge, chain in chains.items()},
        layers=len(layers),
        rows=max(y.values(), default=0.0) - lowest,
    )


def _layers(above: Mapping[str, Sequence[str]]) -> dict[str, int]:
    """Each node, one layer to the right of the rightmost node that it has an edge from."""
    from graphlib import CycleError, TopologicalSorter

    found: dict[str, int] = {}
    try:
        for name in TopologicalSorter({name: above[name] for name in sorted(above)}).static_order():
            found[name] = max((found[source] + 1 for source in above[name]), default=0)
    except CycleError as error:
        raise ValueError(f"the edges make a cycle: {error.args[1]}") from None
    return found


def _chain(edge: tuple[str, str], layer: Mapping[str, int]) -> list[_Place]:
    """The node that an edge comes from, its points in the layers between, and the node that it goes to."""
    source, target = edge
    between: list[_Place] = [(source, target, number) for number in range(layer[source] + 1, layer[target])]
    return [(source, "", 0), *between, (target, "", 0)]


def _ordered(
    layers: list[list[_Place]], left: Mapping[_Place, list[_Place]], right: Mapping[_Place, list[_Place]]
) -> list[list[_Place]]:
    """The order within layers with the fewest crossings among those that sweeps over the layers produce."""
    best, fewest = [list(column) for column in layers], _crossings(layers, right)
    current = [list(column) for column in layers]
    for sweep in range(_SWEEPS):
        forward = sweep % 2 == 0
        neighbours = left if forward else right
        numbers = range(1, len(current)) if forward else range(len(current) - 2, -1, -1)
        for number in numbers:
            current[number] = _by_barycentre(current[number], current[number + (-1 if forward else 1)], neighbours)
        crossings = _crossings(current, right)
        if crossings < fewest:
            best, fewest = [list(column) for column in current], crossings
    return best


def _by_barycentre(
    column: Sequence[_Place], next_layer: Sequence[_Place], neighbours: Mapping[_Place, list[_Place]]
) -> list[_Place]:
    """The layer in the order of its neighbours' mean positions; an entry without neighbours keeps its own."""
    position = {each: number for number, each in enumerate(next_layer)}
    means = [_mean((position[other] for other in neighbours[each]), number) for number, each in enumerate(column)]
    return [each for _, _, each in sorted((means[number], number, each) for number, each in enumerate(column))]


def _mean(values: Iterable[float], default: float) -> float:
    found = list(values)
    return sum(found) / len(found) if found else default


def _crossings(layers: Sequence[Sequence[_Place]], right: Mapping[_Place, list[_Place]]) -> int:
    total = 0
    for column, following in pairwise(layers):
        place = {each: position for position, each in enumerate(following)}
        ends = [end for each in column for end in sorted(place[other] for other in right[each])]
        total += sum(1 for n, end in enumerate(ends) for other in ends[n + 1 :] if other < end)
    return total


def _rows(
    layers: Sequence[Sequence[_Place]], left: Mapping[_Place, list[_Place]], right: Mapping[_Place, list[_Place]]
) -> dict[_Place, float]:
    """Heights that keep the order and the minimum distance, and are close to those of the neighbours."""
    y = {each: float(position) for column in layers for position, each in enumerate(column)}
    for column in layers:
        middle = _mean((y[each] for each in column), 0.0)
        y |= {each: y[each] - middle for each in column}
    for round_number in range(_RELAXATIONS):
        for column in layers if round_number % 2 == 0 else reversed(layers):
            wanted = [_mean((y[other] for other in (*left[each], *right[each])), y[each]) for each in column]
            y |= dict(zip(column, _apart(wanted, [_height(each) for each in column]), strict=True))
    return y


def _height(place: _Place) -> float:
    """The height of an entry: a node takes one row, a point of an edge takes less."""
    return 1.0 if not place[1] else 0.4


def _apart(wanted: Sequence[float], heights: Sequence[float]) -> list[float]:
    """Heights close to the wanted ones, in order, at least half the height of both entries apart.

    The result is the mean of moving close entries down and moving them up, so that neither direction is favoured.
    """
    down, up = list(wanted), list(wanted)
    for n in range(1, len(down)):
        down[n] = max(down[n], down[n - 1] + (heights[n - 1] + heights[n]) / 2)
    for n in reversed(range(len(up) - 1)):
        up[n] = min(up[n], up[n + 1] - (heights[n] + heights[n + 1]) / 2)
    return [(a + b) / 2 for a, b in zip(down, up, strict=True)]
