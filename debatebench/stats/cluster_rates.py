"""Rates of debates that come in clusters: an interval that never has zero width, and a p value, as the SQL macros give.

The functions are those of `macros.effective_count` and `macros.difference_p`, for simulations and tests.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass

from debatebench.stats.distributions import normal_quantile, t_quantile, t_two_sided_p
from debatebench.stats.significance import cluster_mean, sign_test, wilson_interval

# Where SQL takes the quantile of the normal distribution.
_MOST_DEGREES = 1000
# Smaller deviations are rounding errors, and count as zero.
_ROUNDING = 1e-12


@dataclass(frozen=True, slots=True)
class ClusterRate:
    """A rate with its 95 % interval and the p value against the neutral rate; None where nothing can be said."""

    rate: float
    count_debates: int
    count_clusters: int
    effective_count: float | None
    ci_low: float | None
    ci_high: float | None
    p_value: float | None


def effective_count(rate: float, n: int, clusters: int, standard_error: float | None) -> float | None:
    """How many independent debates tell as much about a rate as n debates in clusters.

        n · min(1, rate (1 - rate) / ((n - 1) · standard_error²)) · (t(n - 1) / t(clusters - 1))²

    The second factor is 1 over the design effect, at least 1. n where every debate is a cluster; None for several
    debates in one cluster. E. Korn and B. Graubard, Survey Methodology 24, 1998.
    """
    if clusters == n:
        return n
    if clusters < 2:
        return None
    independent = rate * (1 - rate) / (n - 1)
    gain = min(1.0, independent / standard_error**2) if standard_error else 1.0
    return n * gain * (_quantile(n - 1) / _quantile(clusters - 1)) ** 2


def difference_p(
    difference: float | None, standard_error: float | None, clusters: int, above: int, below: int, is_exact: bool
) -> float | None:
    """The two-sided p value of a difference over clusters, of which `above` and `below` lie on either side of 0.

    The exact sign test where every cluster is one win, loss or tie (`is_exact`), else Student's t, and where nothing
    varies the exact sign test over clusters.
    """
    if difference is None:
        return None
    if is_exact:
        return sign_test(above, below)
    if clusters < 2:
        return None
    if standard_error:
        return t_two_sided_p(difference / standard_error, clusters - 1)
    exact = sign_test(above, below)
    return 1.0 if exact is None else exact


def cluster_rate(values: Sequence[float], clusters: Sequence[Hashable], neutral: float = 0.5) -> ClusterRate | None:
    """The mean of values from 0 to 1, one per debate (the mean over its trials). Without values None."""
    found = cluster_mean(values, clusters)
    if found is None:
        return None
    deviations: dict[Hashable, float] = {}
    for value, cluster in zip(values, clusters, strict=True):
        deviations[cluster] = deviations.get(cluster, 0.0) + value - neutral
    count = len(deviations)
    error = found.se_cr1 if found.se_cr1 is not None and found.se_cr1 > _ROUNDING else None
    effective = effective_count(found.mean, len(values), count, error)
    low, high = (None, None) if effective is None else wilson_interval(found.mean * effective, effective)
    p_value = difference_p(
        found.mean - neutral,
        error,
        count,
        sum(each > _ROUNDING for each in deviations.values()),
        sum(each < -_ROUNDING for each in deviations.values()),
        count == len(values) and all(value in (0, neutral, 1) for value in values),
    )
    return ClusterRate(found.mean, len(values), count, effective, low, high, p_value)


def _quantile(df: int) -> float:
    """Of Student's t, or beyond the degrees of freedom that SQL has, of the normal distribution."""
    return t_quantile(0.95, df) if df <= _MOST_DEGREES else normal_quantile(0.975)
