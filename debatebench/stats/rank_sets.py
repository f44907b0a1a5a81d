"""Ranges of ranks that hold for all debaters at once.

One debater is certainly better than another if the difference of their strengths, in standard errors, exceeds a bound
that all differences together exceed by chance in 5 % of cases only. A debater's best possible rank is then one more
than the number of those that are certainly better, and the worst all minus those that are certainly worse (M. Mogstad,
J. Romano, A. Shaikh and D. Wilhelm, Inference for Ranks with Applications to Mobility across Neighbourhoods and
Academic Achievement across Countries, Review of Economic Studies 91, 2024). All true ranks lie in their ranges in 95 %
of cases.

**Stepwise.** The bound is the quantile of the largest difference over all pairs that are not told apart yet. Pairs that
are leave it, and the rest is tested again with the lower bound (J. Romano and M. Wolf, Exact and Approximate Stepdown
Methods for Multiple Hypothesis Testing, JASA 100, 2005).

**Few topics.** The spread of one difference over three topics is a guess, and the resamples of three topics are too few
to say how large the largest difference may be. So a standard error is at least the *pooled* one: the model's, times how
much more or less than the model says all strengths together vary over topics, which G topics and n debaters show with
(G - 1) (n - 1) degrees of freedom. The bound is the quantile over simulated runs of equal debaters on G topics whose
results vary as the model says, with standard errors computed in the same way: the parametric bootstrap of the maximum.
`benchmarks/rank_coverage.py` has the coverage, also where the debaters vary very differently over topics.
"""

from __future__ import annotations

import numpy as np

from debatebench.stats.counted_games import Array
from debatebench.stats.distributions import normal_quantile, t_quantile

# Cells are draws times pairs. With too few draws, the bound is Bonferroni's.
_MOST_CELLS = 500_000
_DRAWS = 2000
_LEAST_DRAWS = 500
# More topics than this hardly change the bound.
_MOST_DEGREES = 50


def rank_sets(
    strengths: Array,
    covariance: Array,
    model: Array,
    *,
    degrees: int | None,
    linked: Array | None = None,
    least_share: float = 0.0,
    level: float = 0.95,
    seed: int = 0,
) -> tuple[Array, Array]:
    """The best and the worst rank of each of n debaters, from 1, such that all true ranks lie between with `level`.

    `covariance` (n, n) is that of the estimated strengths over topics, with `degrees` of freedom (topics - 1), or None
    where it is as good as known; `model` (n, n) is the model's, with rows that sum to zero. A pooled standard error is
    at least `least_share` of the model's. Pairs that are not `linked` (n, n) are never told apart. Debaters are drawn
    in the order of their strengths, so that the result does not depend on the order in which they are given.
    """
    n = len(strengths)
    if n < 2:
        return np.ones(n, dtype=np.int64), np.full(n, n, dtype=np.int64)
    order = np.lexsort((np.arange(n), -np.round(strengths, 9)))
    at = np.ix_(order, order)
    covariance, model = covariance[at], model[at]
    first, second = np.triu_indices(n, 1)
    spread = _roots(model)
    rank = spread.shape[1]
    inverse = np.linalg.pinv(spread)
    pooled = max(float(np.trace(inverse @ covariance @ inverse.T)) / rank, least_share**2)
    variance = np.maximum(_of_pairs(covariance, first, second), pooled * _of_pairs(model, first, second))
    gaps = strengths[order][first] - strengths[order][second]
    # Without any spread nothing is known, so nothing is told apart.
    scores = np.divide(gaps, np.sqrt(variance), out=np.zeros_like(gaps), where=variance > 0)
    is_open = np.ones(len(first), dtype=bool) if linked is None else np.asarray(linked)[at][first, second]

    draws = min(_DRAWS, _MOST_CELLS // len(first))
    largest = _drawn(spread, degrees, draws, seed) if draws >= _LEAST_DRAWS else None
    is_apart = np.zeros(len(first), dtype=bool)
    while is_open.any():
        if largest is None:
            bound = _bonferroni(int(is_open.sum()), None if degrees is None else degrees * rank, level)
        else:
            bound = float(np.quantile(largest[:, is_open].max(axis=1), level))
        found = is_open & (np.abs(scores) > bound)
        if not found.any():
            break
        is_apart |= found
        is_open &= ~found
    # Strengths are sorted, so the first of a pair is the better one.
    low = 1 + np.bincount(second[is_apart], minlength=n)
    high = n - np.bincount(first[is_apart], minlength=n)
    place = np.argsort(order)
    return low[place], high[place]


def _drawn(spread: Array, degrees: int | None, draws: int, seed: int) -> Array:
    """Differences of equal debaters in standard errors, without sign: shape (draws, pairs)."""
    rng = np.random.default_rng(seed)
    n, rank = spread.shape
    first, second = np.triu_indices(n, 1)
    drawn = rng.standard_normal((draws, rank)) @ spread.T
    model = _of_pairs(spread @ spread.T, first, second)
    if degrees is None:
        variance = model[None, :]
    else:
        degrees = min(degrees, _MOST_DEGREES)
        topics = rng.standard_normal((draws, degrees, rank))
        pooled = np.square(topics).sum(axis=(1, 2)) / (degrees * rank)
        topics = topics @ spread.T
        own = _of_pairs(topics.transpose(0, 2, 1) @ topics, first, second) / degrees
        variance = np.maximum(own, pooled[:, None] * model)
    return np.asarray(np.abs(drawn[:, first] - drawn[:, second]) / np.sqrt(variance))


def _bonferroni(pairs: int, degrees: int | None, level: float) -> float:
    share = (1 - level) / pairs
    return normal_quantile(1 - share / 2) if degrees is None else t_quantile(1 - share, degrees)


def _of_pairs(covariance: Array, first: Array, second: Array) -> Array:
    """Variances of differences, from covariances of shape (…, n, n)."""
    own = np.diagonal(covariance, axis1=-2, axis2=-1)
    return np.asarray(own[..., first] + own[..., second] - 2 * covariance[..., first, second])


def _roots(covariance: Array) -> Array:
    """A matrix R (n, rank) with R R' = covariance."""
    values, vectors = np.linalg.eigh(covariance)
    kept = values > values.max() * 1e-9
    return np.asarray(vectors[:, kept] * np.sqrt(values[kept]))
