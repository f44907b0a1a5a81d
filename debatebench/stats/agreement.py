"""Do raters agree, and more than by chance? Cohen's kappa of two, Krippendorff's alpha of any number.

1 is perfect agreement, 0 what chance would give, below 0 is worse than chance. Where chance alone would give perfect
agreement (all raters always give the same answer) nothing is known about agreement beyond it: the result is then
`None`, never 0 or 1. Sums are exact, so results do not depend on the order of the rows.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, TypeVar, get_args

from debatebench.stats.jackknife import JackknifeInterval, jackknife

Level = Literal["nominal", "ordinal", "interval"]
Weights = Literal["none", "linear", "quadratic"]

_T = TypeVar("_T", bound=Hashable)

# What rounding leaves of nothing, as a part of the whole.
_ROUNDING = 1e-12


def kappa(shares: Mapping[tuple[_T, _T], float], distance: Callable[[_T, _T], float]) -> float | None:
    """Cohen's kappa of how often two raters gave each pair of answers; a count may have a fraction.

        kappa = 1 - n · (sum of d(x, y) over pairs) / (sum over answers x, y of p(x) q(y) d(x, y))

    n is the sum of all counts, p and q how often each rater gave an answer. `distance` d is 0 for equal answers (J.
    Cohen, Educational and Psychological Measurement 20, 1960; weighted: Psychological Bulletin 70, 1968). `None`
    without pairs, and where both raters always give one and the same answer.
    """
    first: defaultdict[_T, float] = defaultdict(float)
    second: defaultdict[_T, float] = defaultdict(float)
    for (x, y), count in shares.items():
        first[x] += count
        second[y] += count
    n = math.fsum(shares.values())
    observed = math.fsum(count * distance(x, y) for (x, y), count in shares.items())
    expected = math.fsum(p * q * distance(x, y) for x, p in first.items() for y, q in second.items())
    return 1 - n * observed / expected if expected > _ROUNDING * n**2 else None


def cohen_kappa_interval(
    a: Sequence[float | None],
    b: Sequence[float | None],
    clusters: Sequence[Hashable],
    weights: Weights = "none",
    confidence: float = 0.95,
) -> JackknifeInterval | None:
    """Cohen's kappa of two raters who give numbers, with an interval that leaves out one cluster of subjects at a time.

    Element i of the lists is subject i, and `None` is a missing rating; `clusters` names its cluster, for instance its
    debate. Different numbers are at a distance of 1, with `linear` weights of their difference and with `quadratic`
    ones of its square. `None` where `kappa` is.
    """
    if weights not in get_args(Weights):
        raise ValueError(f"weights must be none, linear or quadratic, not '{weights}'")
    if not len(a) == len(b) == len(clusters):
        raise ValueError(f"there are {len(a)} and {len(b)} ratings but {len(clusters)} clusters")
    power = {"none": 0, "linear": 1, "quadratic": 2}[weights]

    def distance(x: float, y: float) -> float:
        return float(abs(x - y) ** power) if x != y else 0.0

    parts: dict[Hashable, Counter[tuple[float, float]]] = defaultdict(Counter)
    for x, y, cluster in zip(a, b, clusters, strict=True):
        if x is not None and y is not None:
            parts[cluster][_number(x), _number(y)] += 1
    total = sum(parts.values(), Counter[tuple[float, float]]())
    value = kappa(total, distance)
    if value is None:
        return None
    left_out = [kappa(total - part, distance) for part in parts.values()]
    return jackknife(value, left_out, level=confidence, low=-1.0, high=1.0)


def krippendorff_alpha_interval(
    units: Sequence[Hashable],
    values: Sequence[Hashable],
    clusters: Sequence[Hashable],
    level: Level = "nominal",
    confidence: float = 0.95,
) -> JackknifeInterval | None:
    """Krippendorff's alpha with an interval that allows for units of one cluster (a topic, say) being alike.

        alpha = 1 - (n - 1) · W / E
        W = sum over units of (m Σx² - (Σx)²) / (m - 1),   E = n Σx² - (Σx)²

    over the n ratings of units with m >= 2. That is Do and De of the coincidence matrix with the difference (c - k)² of
    `interval` values. The `ordinal` difference is that of the midranks of the values, and the `nominal` one half of
    that of indicators, one for each category, so one formula serves all and no matrix is needed (K. Krippendorff,
    Computing Krippendorff's Alpha-Reliability, 2011). Element i of `values` is one rating of `units[i]`, of which
    `clusters` names the cluster, for instance the topic of a debate. A `None` value is a missing rating. Units with
    fewer than two ratings are left out. `nominal` values can be anything; the others are numbers.

    The interval is made of alpha without each cluster in turn (see `jackknife.jackknife`). Ordinal ranks are those
    among all ratings, also without a cluster. `None` without pairable ratings, and where all of them are equal. Raises
    `ValueError` for a unit in two clusters.
    """
    if len(clusters) != len(units):
        raise ValueError(f"there are {len(units)} units but {len(clusters)} clusters")
    cluster_of: dict[Hashable, Hashable] = {}
    for unit, cluster in zip(units, clusters, strict=True):
        if cluster_of.setdefault(unit, cluster) != cluster:
            raise ValueError(f"unit {unit} is in two clusters")
    sums: dict[Hashable, list[_Sums]] = defaultdict(list)
    for unit, group in _pairable(units, values, level).items():
        sums[cluster_of[unit]].append(_sums(group))
    value = _alpha(_added([each for group in sums.values() for each in group]))
    if value is None:
        return None
    parts = [_added(group) for group in sums.values()]
    total = _added(parts)
    return jackknife(value, [_alpha(_without(total, part)) for part in parts], level=confidence, high=1.0)


def midranks(values: Iterable[float]) -> dict[float, float]:
    """Value → its mean rank among all values, from 1; equal values share the mean of their ranks."""
    counts = Counter(values)
    ranks, below = {}, 0
    for value in sorted(counts):
        ranks[value] = below + (counts[value] + 1) / 2
        below += counts[value]
    return ranks


@dataclass(frozen=True, slots=True)
class _Sums:
    """What units add to alpha: ratings n, W, and by coordinate Σx and Σx²."""

    ratings: int
    disagreement: float
    values: dict[Hashable, float]
    squares: dict[Hashable, float]


# A rating as coordinates: a number is one; a category has 1 in its own and 0 in every other, which need not be written.
_Point = dict[Hashable, float]


def _pairable(units: Sequence[Hashable], values: Sequence[Hashable], level: Level) -> dict[Hashable, list[_Point]]:
    """The ratings of units with two or more, as coordinates."""
    if level not in get_args(Level):
        raise ValueError(f"the level must be nominal, ordinal or interval, not '{level}'")
    if len(units) != len(values):
        raise ValueError(f"there are {len(units)} units but {len(values)} values")
    rated: dict[Hashable, list[Hashable]] = defaultdict(list)
    for unit, value in zip(units, values, strict=True):
        if value is not None:
            rated[unit].append(value)
    rated = {unit: group for unit, group in rated.items() if len(group) > 1}
    if level == "nominal":
        return {unit: [{value: 1.0} for value in group] for unit, group in rated.items()}
    numbers = {unit: [_number(value) for value in group] for unit, group in rated.items()}
    everything = [number for group in numbers.values() for number in group]
    if level == "ordinal":
        place = midranks(everything)
    else:
        # Far from zero, squares would lose the digits in which values differ.
        centre = math.fsum(everything) / max(len(everything), 1)
        place = {number: number - centre for number in set(everything)}
    return {unit: [{0: place[number]} for number in group] for unit, group in numbers.items()}


def _sums(group: Sequence[_Point]) -> _Sums:
    """Of one unit."""
    values: dict[Hashable, list[float]] = defaultdict(list)
    for point in group:
        for coordinate, x in point.items():
            values[coordinate].append(x)
    m = len(group)
    apart = []
    for xs in values.values():
        mean = math.fsum(xs) / m
        # Where the coordinate is not written it is 0.
        apart.append(math.fsum([*((x - mean) ** 2 for x in xs), (m - len(xs)) * mean**2]))
    return _Sums(
        m,
        m / (m - 1) * math.fsum(apart),
        {coordinate: math.fsum(xs) for coordinate, xs in values.items()},
        {coordinate: math.fsum(x * x for x in xs) for coordinate, xs in values.items()},
    )


def _added(sums: Sequence[_Sums]) -> _Sums:
    values: dict[Hashable, list[float]] = defaultdict(list)
    squares: dict[Hashable, list[float]] = defaultdict(list)
    for each in sums:
        for coordinate, x in each.values.items():
            values[coordinate].append(x)
            squares[coordinate].append(each.squares[coordinate])
    return _Sums(
        sum(each.ratings for each in sums),
        math.fsum(each.disagreement for each in sums),
        {coordinate: math.fsum(xs) for coordinate, xs in values.items()},
        {coordinate: math.fsum(xs) for coordinate, xs in squares.items()},
    )


def _without(total: _Sums, part: _Sums) -> _Sums:
    return _Sums(
        total.ratings - part.ratings,
        total.disagreement - part.disagreement,
        {coordinate: x - part.values.get(coordinate, 0.0) for coordinate, x in total.values.items()},
        {coordinate: x - part.squares.get(coordinate, 0.0) for coordinate, x in total.squares.items()},
    )


def _alpha(total: _Sums) -> float | None:
    n = total.ratings
    squares = n * math.fsum(total.squares.values())
    apart = squares - math.fsum(x * x for x in total.values.values())
    # What is left by rounding where all values are equal.
    if apart <= _ROUNDING * squares:
        return None
    return 1 - (n - 1) * total.disagreement / apart


def _number(value: Hashable) -> float:
    if not isinstance(value, int | float) or isinstance(value, bool) or not math.isfinite(value):
        raise ValueError(f"ordinal and interval values must be finite numbers, not {value!r}")
    return float(value)
