"""Do judges agree, and more than by chance?

Two judges: `agreement`, `cohen_kappa`, `gwet_ac1`. Panels: `fleiss_kappa` where all have one size, `krippendorff_alpha`
everywhere. 1 is perfect agreement, 0 what chance would give, below 0 is worse than chance. Where chance alone would
give perfect agreement (all judges always give the same answer) nothing is known about agreement beyond it: the result
is then `None`, never 0 or 1. Sums are exact, so results do not depend on the order of the rows.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass
from typing import Literal, TypeVar, get_args

from debatebench.stats.jackknife import JackknifeInterval, jackknife

Level = Literal["nominal", "ordinal", "interval"]
Weights = Literal["none", "linear", "quadratic"]

_T = TypeVar("_T", bound=Hashable)


@dataclass(frozen=True, slots=True)
class Agreement:
    """How often two judges named the same winner: of all debates, and of those where both named a side."""

    count: int
    agreement: float | None
    count_decisive: int
    agreement_decisive: float | None


def agreement(a: Sequence[str | None], b: Sequence[str | None]) -> Agreement:
    """Agreement of two judges, with and without ties; element i of both is debate i, `pro`, `con`, `tie` or `None`.

    Debates that one of them did not judge are left out. A rate of no debates is `None`.
    """
    pairs = _pairs(a, b)
    decisive = [pair for pair in pairs if "tie" not in pair]
    return Agreement(len(pairs), _share_equal(pairs), len(decisive), _share_equal(decisive))


def cohen_kappa(
    a: Sequence[Hashable],
    b: Sequence[Hashable],
    weights: Weights = "none",
    categories: Sequence[Hashable] | None = None,
) -> float | None:
    """Cohen's kappa of two raters; element i of both is subject i, and `None` is a missing rating.

        kappa = 1 - (sum of d(a, b) over subjects / n) / (sum over categories i, j of p(i) q(j) d(i, j))

    p and q are the two raters' shares of each category; d is 0 or 1, for `linear` weights |i - j| and for `quadratic`
    ones (i - j)² with the places of the categories in `categories` (J. Cohen, Educational and Psychological Measurement
    20, 1960; Psychological Bulletin 70, 1968). Weights need `categories`, in order. `None` without a common subject,
    and where both raters always give one and the same category.
    """
    if weights not in get_args(Weights):
        raise ValueError(f"weights must be none, linear or quadratic, not '{weights}'")
    pairs = Counter(_pairs(a, b))
    if weights == "none":
        return _kappa(pairs, lambda x, y: float(x != y))
    if categories is None:
        raise ValueError(f"{weights} weights need the categories in their order")
    places = {category: place for place, category in enumerate(categories)}
    unknown = {label for pair in pairs for label in pair} - places.keys()
    if unknown:
        raise ValueError(f"{min(map(str, unknown))} is not one of the categories")
    power = 1 if weights == "linear" else 2
    return _kappa(pairs, lambda x, y: float(abs(places[x] - places[y]) ** power))


def cohen_kappa_interval(
    a: Sequence[float | None],
    b: Sequence[float | None],
    clusters: Sequence[Hashable],
    weights: Weights = "none",
    confidence: float = 0.95,
) -> JackknifeInterval | None:
    """Cohen's kappa of two raters who give numbers, with an interval that leaves out one cluster of subjects at a time.

    Element i of `clusters` names the cluster of subject i, for instance its debate. Weights are those of `cohen_kappa`
    with the difference of the numbers themselves for that of places, so scores need not be whole or all occur. `None`
    where kappa is.
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
    value = _kappa(total, distance)
    if value is None:
        return None
    left_out = [_kappa(total - part, distance) for part in parts.values()]
    return jackknife(value, left_out, level=confidence, low=-1.0, high=1.0)


def gwet_ac1(counts: Sequence[Sequence[int]]) -> float | None:
    """Gwet's AC1; a row per subject, a column per category: how many raters chose it.

    Agreement beyond chance that does not fall when one category is common, as kappa does:

        AC1 = (Pa - Pe) / (1 - Pe),   Pe = sum over categories of π (1 - π) / (K - 1)

    π is the mean share of a category over subjects, K the number of categories (columns) that were ever chosen, Pa the
    mean share of agreeing pairs of raters over subjects with two or more (K. Gwet, British Journal of Mathematical and
    Statistical Psychology 61, 2008). Subjects may have different numbers of raters; those with none are left out.
    `None` without a subject that two rated, and where only one category was chosen.
    """
    rows = [row for row in _counts(counts) if sum(row) > 0]
    rated_twice = [row for row in rows if sum(row) > 1]
    shares = [math.fsum(row[k] / sum(row) for row in rows) / len(rows) for k in range(len(rows[0]) if rows else 0)]
    chosen = sum(share > 0 for share in shares)
    if not rated_twice or chosen < 2:
        return None
    observed = math.fsum(_agreeing_pairs(row) for row in rated_twice) / len(rated_twice)
    chance = math.fsum(share * (1 - share) for share in shares) / (chosen - 1)
    return (observed - chance) / (1 - chance)


def fleiss_kappa(counts: Sequence[Sequence[int]]) -> float | None:
    """Fleiss' kappa of panels of one size; a row per subject, a column per category: how many raters chose it.

        kappa = (Pa - Pe) / (1 - Pe),   Pe = sum over categories of p²

    Pa is the mean share of agreeing pairs of raters, p the share of all ratings that a category has (J. Fleiss,
    Psychological Bulletin 76, 1971). Raises `ValueError` when subjects have different numbers of raters: the statistic
    is not defined then, and `krippendorff_alpha` is. `None` without subjects, with one rater, or with one category
    chosen.
    """
    rows = _counts(counts)
    sizes = {sum(row) for row in rows}
    if len(sizes) > 1:
        raise ValueError(
            f"Fleiss' kappa needs the same number of raters for every subject, not {min(sizes)} to {max(sizes)}; "
            "Krippendorff's alpha does not"
        )
    ratings = sum(sum(row) for row in rows)
    shares = [sum(column) / ratings for column in zip(*rows, strict=True)] if ratings else []
    if ratings <= len(rows) or 1.0 in shares:
        return None
    observed = math.fsum(_agreeing_pairs(row) for row in rows) / len(rows)
    chance = math.fsum(share**2 for share in shares)
    return (observed - chance) / (1 - chance)


def krippendorff_alpha(units: Sequence[Hashable], values: Sequence[Hashable], level: Level = "nominal") -> float | None:
    """Krippendorff's alpha, `nominal`, `ordinal` or `interval`; element i of `values` is one rating of `units[i]`.

        alpha = 1 - (n - 1) · W / E
        W = sum over units of (m Σx² - (Σx)²) / (m - 1),   E = n Σx² - (Σx)²

    over the n ratings of units with m >= 2. That is Do and De of the coincidence matrix with the difference (c - k)² of
    `interval` values. The `ordinal` difference is that of the midranks of the values, and the `nominal` one half of
    that of indicators, one for each category, so one formula serves all and no matrix is needed (K. Krippendorff,
    Computing Krippendorff's Alpha-Reliability, 2011). A `None` value is a missing rating. Units with fewer than two
    ratings are left out. `None` without pairable ratings, and where all of them are equal. `nominal` values can be
    anything; the others are numbers.
    """
    rated = _pairable(units, values, level)
    return _alpha(_added([_sums(group) for group in rated.values()]))


def krippendorff_alpha_interval(
    units: Sequence[Hashable],
    values: Sequence[Hashable],
    clusters: Sequence[Hashable],
    level: Level = "nominal",
    confidence: float = 0.95,
) -> JackknifeInterval | None:
    """Krippendorff's alpha with an interval that allows for units of one cluster (a topic, say) being alike.

    The interval is made of alpha without each cluster in turn (see `jackknife.jackknife`). Element i of `clusters`
    names the cluster of `units[i]`, for instance the topic of a debate; judges' agreement on debates of one topic is
    likely to be alike. Ordinal ranks are those among all ratings, also without a cluster. `None` where alpha is. Raises
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
    if apart <= 1e-12 * squares:
        return None
    return 1 - (n - 1) * total.disagreement / apart


def _kappa(pairs: Counter[tuple[_T, _T]], distance: Callable[[_T, _T], float]) -> float | None:
    """Of how often each pair of answers occurs."""
    observed = math.fsum(count * distance(x, y) for (x, y), count in pairs.items())
    first: Counter[_T] = Counter()
    second: Counter[_T] = Counter()
    for (x, y), count in pairs.items():
        first[x] += count
        second[y] += count
    expected = math.fsum(n * m * distance(x, y) for x, n in first.items() for y, m in second.items())
    return 1 - pairs.total() * observed / expected if expected else None


def _pairs(a: Sequence[_T | None], b: Sequence[_T | None]) -> list[tuple[_T, _T]]:
    """The subjects that both rated."""
    if len(a) != len(b):
        raise ValueError(f"two raters must rate the same subjects, but they rated {len(a)} and {len(b)}")
    return [(x, y) for x, y in zip(a, b, strict=True) if x is not None and y is not None]


def _share_equal(pairs: Sequence[tuple[_T, _T]]) -> float | None:
    return sum(x == y for x, y in pairs) / len(pairs) if pairs else None


def _agreeing_pairs(row: Sequence[int]) -> float:
    """Share of the pairs of raters of a subject that chose the same."""
    size = sum(row)
    return sum(n * (n - 1) for n in row) / (size * (size - 1))


def _counts(counts: Sequence[Sequence[int]]) -> list[Sequence[int]]:
    rows = list(counts)
    if len({len(row) for row in rows}) > 1:
        raise ValueError("every subject needs one count per category")
    if any(n is None or n < 0 for row in rows for n in row):
        raise ValueError("a count must be a whole number of at least 0")
    return rows


def _number(value: Hashable) -> float:
    if not isinstance(value, int | float) or isinstance(value, bool) or not math.isfinite(value):
        raise ValueError(f"ordinal and interval values must be finite numbers, not {value!r}")
    return float(value)
