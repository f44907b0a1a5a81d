"""Statistics as textbooks define them, to compare SQL models and macros with: short, and slow for long lists."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from itertools import permutations, product
from statistics import fmean
from typing import Any, NamedTuple

import numpy as np

from debatebench.stats.distributions import normal_quantile, t_quantile, t_two_sided_p

# Smaller deviations are what rounding leaves of none.
ROUNDING = 1e-12


class Interval(NamedTuple):
    """A statistic, its standard error and its 95 % interval."""

    value: float
    error: float | None
    ci_low: float | None
    ci_high: float | None


class ClusterMean(NamedTuple):
    """A mean over clusters, its standard error (CR1), 95 % interval and p value against 0 by Student's t."""

    mean: float
    error: float | None
    ci_low: float | None
    ci_high: float | None
    p: float | None


@dataclass(frozen=True, slots=True)
class ClusterRate:
    """A rate of debates in clusters, with Wilson's interval and the p value against the neutral rate."""

    rate: float
    effective_count: float | None
    ci_low: float | None
    ci_high: float | None
    p_value: float | None


# Rates


def wilson_interval(wins: float, games: float, level: float = 0.95) -> tuple[float, float]:
    z = normal_quantile(0.5 + level / 2)
    p, scale = wins / games, 1 + z * z / games
    centre, half = p + z * z / (2 * games), z * math.sqrt(p * (1 - p) / games + (z / (2 * games)) ** 2)
    return (centre - half) / scale, (centre + half) / scale


def sign_test(wins: int, losses: int) -> float | None:
    n = wins + losses
    tail = sum(math.comb(n, k) for k in range(min(wins, losses) + 1))
    return min(1.0, 2 * tail / 2**n) if n else None


def effective_count(rate: float, n: int, clusters: int, error: float | None) -> float | None:
    """n over the design effect, smaller by the square of how much wider Student's t is for so few clusters."""
    if clusters == n:
        return n
    if clusters < 2:
        return None
    gain = min(1.0, rate * (1 - rate) / (n - 1) / error**2) if error else 1.0
    return n * gain * (_quantile(n - 1) / _quantile(clusters - 1)) ** 2


def difference_p(
    difference: float | None, error: float | None, clusters: int, above: int, below: int, is_exact: bool
) -> float | None:
    """Over clusters: exact where each is one win, loss or tie; else Student's t; exact again where nothing varies."""
    if difference is None or (clusters < 2 and not is_exact):
        return None
    exact = sign_test(above, below)
    if is_exact:
        return exact
    return t_two_sided_p(difference / error, clusters - 1) if error else 1.0 if exact is None else exact


def cluster_rate(values: Sequence[float], clusters: Sequence[Hashable], neutral: float = 0.5) -> ClusterRate | None:
    """The mean of values from 0 to 1, one per debate. Without values None."""
    if not values:
        return None
    deviations: defaultdict[Hashable, float] = defaultdict(float)
    for value, cluster in zip(values, clusters, strict=True):
        deviations[cluster] += value - neutral
    found, count = cluster_mean(values, clusters), len(deviations)
    error = found.error if found.error is not None and found.error > ROUNDING else None
    effective = effective_count(found.mean, len(values), count, error)
    low, high = (None, None) if effective is None else wilson_interval(found.mean * effective, effective)
    above, below = (sum(sign * each > ROUNDING for each in deviations.values()) for sign in (1, -1))
    is_exact = count == len(values) and all(value in (0, neutral, 1) for value in values)
    p_value = difference_p(found.mean - neutral, error, count, above, below, is_exact)
    return ClusterRate(found.mean, effective, low, high, p_value)


def _quantile(df: int) -> float:
    """Of Student's t, or beyond the degrees of freedom that SQL has, of the normal distribution."""
    return t_quantile(0.95, df) if df <= 1000 else normal_quantile(0.975)


# Means


def cluster_mean(values: Sequence[float], clusters: Sequence[Hashable]) -> ClusterMean:
    mean, residuals = fmean(values), defaultdict[Hashable, float](float)
    for value, cluster in zip(values, clusters, strict=True):
        residuals[cluster] += value - mean
    g = len(residuals)
    if g < 2:
        return ClusterMean(mean, None, None, None, None)
    error = math.sqrt(g / (g - 1) * math.fsum(r * r for r in residuals.values())) / len(values)
    half = t_quantile(0.95, g - 1) * error
    p = t_two_sided_p(mean / error, g - 1) if error > ROUNDING else None
    return ClusterMean(mean, error, mean - half, mean + half, p)


def paired_t(x: Sequence[float], y: Sequence[float]) -> ClusterMean:
    """Each difference is a cluster."""
    return cluster_mean([a - b for a, b in zip(x, y, strict=True)], range(len(x)))


# Many tests


def holm(p_values: Sequence[float | None]) -> list[float | None]:
    """The largest of min(1, (m - i + 1) p(i)) up to a p value's place i in ascending order."""
    known = sorted(p for p in p_values if p is not None)
    steps = [min(1.0, (len(known) - i) * p) for i, p in enumerate(known)]
    return [None if p is None else max(steps[: known.index(p) + 1]) for p in p_values]


def benjamini_hochberg(p_values: Sequence[float | None]) -> list[float | None]:
    """The smallest of min(1, m p(i) / i) from a p value's place i on in ascending order."""
    known = sorted(p for p in p_values if p is not None)
    steps = [min(1.0, len(known) * p / i) for i, p in enumerate(known, 1)]
    return [None if p is None else min(steps[known.index(p) :]) for p in p_values]


# The jackknife


def jackknife(
    value: float, left_out: Sequence[float | None], low: float = -math.inf, high: float = math.inf
) -> Interval:
    """From what the statistic is without each cluster in turn; cut to `low` … `high`."""
    g, numbers = len(left_out), [each for each in left_out if each is not None]
    squares = math.fsum((number - value) ** 2 for number in numbers)
    if g < 2 or len(numbers) < g or squares <= ROUNDING**2:
        return Interval(value, None, None, None)
    error = math.sqrt((g - 1) / g * squares)
    half = t_quantile(0.95, g - 1) * error
    return Interval(value, error, max(low, value - half), min(high, value + half))


def leaving_out(
    rows: Sequence[Any],
    clusters: Sequence[Hashable],
    statistic: Callable[[list[Any]], float | None],
    low: float = -math.inf,
    high: float = math.inf,
) -> Interval | None:
    """The interval of a statistic of rows, of which one cluster is left out at a time."""
    pairs = list(zip(rows, clusters, strict=True))
    value = statistic(list(rows))
    without = [statistic([row for row, other in pairs if other != cluster]) for cluster in dict.fromkeys(clusters)]
    return None if value is None else jackknife(value, without, low, high)


# Agreement


def cohen_kappa(pairs: Sequence[tuple[Any, Any]], power: int = 0, order: Sequence[Any] = ()) -> float | None:
    """1 - observed over expected distance. The distance is 0 or 1, or with `order` a power of that of the places."""

    def distance(x: Any, y: Any) -> float:
        return float(x != y) if not power else abs(order.index(x) - order.index(y)) ** power

    first, second = Counter(a for a, _ in pairs), Counter(b for _, b in pairs)
    expected = sum(first[x] * second[y] * distance(x, y) for x, y in product(first, second))
    return 1 - len(pairs) * sum(distance(x, y) for x, y in pairs) / expected if expected else None


def krippendorff_alpha(ratings: Sequence[tuple[Hashable, Any]], level: str) -> float | None:
    """Of (unit, value): 1 - (n - 1) W / E, see `macros.agreement_from_sums`. Units with one rating do not count."""
    sizes = Counter(unit for unit, _ in ratings)
    ratings = [rating for rating in ratings if sizes[rating[0]] > 1]
    if not ratings:
        return None
    values = [value for _, value in ratings]
    if level == "nominal":
        points = np.array([[value == other for other in sorted(set(values))] for value in values], dtype=float)
    else:
        place = midranks(values) if level == "ordinal" else {value: float(value) for value in values}
        points = np.array([[place[value]] for value in values])
    units: defaultdict[Hashable, list[int]] = defaultdict(list)
    for row, (unit, _) in enumerate(ratings):
        units[unit].append(row)
    within = sum(len(rows) / (len(rows) - 1) * _squares(points[rows]) for rows in units.values())
    n = len(ratings)
    among = n * _squares(points)
    return 1 - (n - 1) * within / among if among > ROUNDING else None


def krippendorff_alpha_interval(
    ratings: Sequence[tuple[Hashable, Any]], clusters: Sequence[Hashable], level: str
) -> Interval | None:
    """Ranks are those among all ratings, also without a cluster."""
    if level == "ordinal":
        rank = midranks([value for _, value in ratings])
        ratings, level = [(unit, rank[value]) for unit, value in ratings], "interval"
    return leaving_out(ratings, clusters, lambda rows: krippendorff_alpha(rows, level), high=1.0)


def fleiss_kappa(counts: Sequence[Sequence[int]]) -> float:
    """A row per subject, a column per category: how many raters chose it; all subjects have as many raters."""
    n = sum(map(sum, counts))
    chance = sum((sum(column) / n) ** 2 for column in zip(*counts, strict=True))
    return (agreeing_pairs(counts) - chance) / (1 - chance)


def gwet_ac1(counts: Sequence[Sequence[int]]) -> float:
    """As `fleiss_kappa`, with another estimate of chance."""
    shares = [fmean(column) for column in zip(*([n / sum(row) for n in row] for row in counts), strict=True)]
    chance = sum(share * (1 - share) for share in shares) / (sum(share > 0 for share in shares) - 1)
    return (agreeing_pairs(counts) - chance) / (1 - chance)


def agreeing_pairs(counts: Sequence[Sequence[int]]) -> float:
    """Mean share of the pairs of raters of a subject that chose the same."""
    return fmean(sum(n * (n - 1) for n in row) / (sum(row) * (sum(row) - 1)) for row in counts)


def midranks(values: Sequence[Any]) -> dict[Any, float]:
    """Value → its mean rank among all values."""
    return {value: fmean(i for i, other in enumerate(sorted(values), 1) if other == value) for value in set(values)}


def _squares(points: Any) -> float:
    return float(((points - points.mean(axis=0)) ** 2).sum())


def plackett_luce_strengths(rankings: Sequence[dict[Any, float]], debaters: Sequence[Any]) -> list[float]:
    """Log-strengths around 0 from places by debater, by the MM algorithm of D. Hunter (2004).

    Of debaters that share a place, each order counts alike.
    """
    at = {debater: n for n, debater in enumerate(debaters)}
    chosen = np.zeros(len(at))
    left: list[tuple[list[int], float]] = []
    for places in rankings:
        best_first = sorted(places.values())
        orders = [order for order in permutations(places) if [places[each] for each in order] == best_first]
        for order in orders:
            for n in range(len(order) - 1):
                chosen[at[order[n]]] += 1 / len(orders)
                left.append(([at[each] for each in order[n:]], 1 / len(orders)))
    strengths = np.ones(len(at))
    for _ in range(20_000):
        expected = np.zeros(len(at))
        for members, weight in left:
            expected[members] += weight / strengths[members].sum()
        before, strengths = strengths, chosen / expected
        strengths /= np.exp(np.log(strengths).mean())
        if np.abs(np.log(strengths / before)).max() < 1e-13:
            break
    return [float(each) for each in np.log(strengths)]
