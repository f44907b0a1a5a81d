"""Intervals for statistics of data that come in clusters, by leaving out one cluster at a time."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from debatebench.stats.significance import t_interval

# Smaller differences are rounding errors, and count as zero.
_ROUNDING = 1e-12


@dataclass(frozen=True, slots=True)
class JackknifeInterval:
    """A statistic, its standard error and its interval. `clusters` is how many were left out, one at a time."""

    value: float
    standard_error: float | None
    ci_low: float | None
    ci_high: float | None
    clusters: int


def jackknife(
    value: float,
    left_out: Sequence[float | None],
    *,
    level: float = 0.95,
    low: float = -math.inf,
    high: float = math.inf,
) -> JackknifeInterval:
    """The interval of `value` from what the statistic is without each cluster in turn (`left_out`, in any order).

        se = sqrt((G - 1) / G · sum over clusters of (value without it - value)²),   value ± t(G - 1) · se

    G clusters; J. Tukey, Bias and Confidence in Not-quite Large Samples, 1958; for measures of agreement J. Fleiss and
    M. Davies, Jackknifing Functions of Multinomial Frequencies, American Journal of Epidemiology 115, 1982. For a mean
    over clusters of one size it is the cluster-robust standard error with its correction for few clusters. The interval
    is cut to `low` … `high`, the possible values. There is no standard error and no interval where the data do not show
    how the statistic varies: with one cluster, where it is undefined without one of them, and where it is the same
    without each of them (as in perfect agreement, of which a few debates are no proof).
    """
    clusters = len(left_out)
    numbers = [estimate for estimate in left_out if estimate is not None]
    if clusters < 2 or len(numbers) < clusters:
        return JackknifeInterval(value, None, None, None, clusters)
    squares = math.fsum((number - value) ** 2 for number in numbers)
    if squares <= _ROUNDING**2:
        return JackknifeInterval(value, None, None, None, clusters)
    standard_error = math.sqrt((clusters - 1) / clusters * squares)
    ends = t_interval(value, standard_error, clusters - 1, level)
    return JackknifeInterval(value, standard_error, max(low, ends[0]), min(high, ends[1]), clusters)
