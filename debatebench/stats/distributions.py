"""Probability distributions that tests of difference need, in plain Python.

scipy has them too, but importing `scipy.stats` takes nearly a second, more than all else that a build does. The
functions here agree with it to 1e-9 (`tests/stats/test_significance.py`), which is more than a reader of a p value
needs.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache

_TINY = 1e-300
_MOST_TERMS = 100_000
_MOST_STEPS = 100


def normal_cdf(x: float) -> float:
    """P(Z <= x) of a standard normal variable."""
    return 0.5 * math.erfc(-x / math.sqrt(2.0))


def normal_quantile(probability: float) -> float:
    """The x with P(Z <= x) = `probability`, which lies strictly between 0 and 1."""
    # Not at the top: a build that asks for no interval need not wait for it.
    from statistics import NormalDist

    return NormalDist().inv_cdf(probability)


def regularised_incomplete_beta(a: float, b: float, x: float) -> float:
    """I_x(a, b) for positive `a` and `b` and x in [0, 1].

    By its continued fraction, evaluated with Lentz's method as modified by Thompson and Barnett (DLMF 8.17.22); where
    that converges slowly, as 1 - I_{1-x}(b, a).
    """
    if x <= 0.0:
        return 0.0
    if x >= 1.0:
        return 1.0
    if x > (a + 1.0) / (a + b + 2.0):
        return 1.0 - regularised_incomplete_beta(b, a, 1.0 - x)
    front = math.exp(
        math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b) + a * math.log(x) + b * math.log1p(-x) - math.log(a)
    )
    return min(front * _beta_fraction(a, b, x), 1.0)


def _beta_fraction(a: float, b: float, x: float) -> float:
    """1 / (1 + d1 / (1 + d2 / (1 + …))) with the coefficients of the incomplete beta function."""
    c, d = 1.0, 1.0 - (a + b) * x / (a + 1.0)
    d = 1.0 / (d if abs(d) > _TINY else _TINY)
    value = d
    for m in range(1, _MOST_TERMS):
        even = m * (b - m) * x / ((a + 2 * m - 1.0) * (a + 2 * m))
        odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1.0))
        for term in (even, odd):
            d = 1.0 + term * d
            d = 1.0 / (d if abs(d) > _TINY else _TINY)
            c = 1.0 + term / c
            c = c if abs(c) > _TINY else _TINY
            value *= d * c
        if abs(d * c - 1.0) < 1e-15:
            break
    return value


def binomial_pmf(count: int, trials: int, rate: float) -> float:
    """P(X = count) of `trials` independent trials with success rate `rate`."""
    if not 0 <= count <= trials:
        return 0.0
    if rate in (0.0, 1.0):
        return 1.0 if count == trials * rate else 0.0
    log_ways = math.lgamma(trials + 1) - math.lgamma(count + 1) - math.lgamma(trials - count + 1)
    return math.exp(log_ways + count * math.log(rate) + (trials - count) * math.log1p(-rate))


def binomial_cdf(count: int, trials: int, rate: float) -> float:
    """P(X <= count) of `trials` independent trials with success rate `rate`: I_{1-rate}(trials - count, count + 1)."""
    if count < 0:
        return 0.0
    if count >= trials:
        return 1.0
    return regularised_incomplete_beta(trials - count, count + 1, 1.0 - rate)


def t_two_sided_p(t: float, df: float) -> float:
    """P(|T| >= |t|) of Student's t with `df` degrees of freedom: I_{df / (df + t²)}(df / 2, 1 / 2)."""
    return regularised_incomplete_beta(df / 2.0, 0.5, df / (df + t * t))


@lru_cache(maxsize=4096)
def t_quantile(level: float, df: float) -> float:
    """The t with P(|T| <= t) = `level`, for an interval of that level: 1.96 at 0.95 and many degrees of freedom.

    By Newton's method. From its second step on, it comes closer from below.
    """
    outside = 1.0 - level
    log_front = math.lgamma((df + 1.0) / 2.0) - math.lgamma(df / 2.0) - 0.5 * math.log(df * math.pi)
    t = _near_t_quantile(normal_quantile(0.5 + level / 2.0), df)
    for _ in range(_MOST_STEPS):
        density = math.exp(log_front - 0.5 * (df + 1.0) * math.log1p(t * t / df))
        step = (t_two_sided_p(t, df) - outside) / (2.0 * density)
        t += step
        if abs(step) <= 1e-12 * t:
            break
    return t


def _near_t_quantile(z: float, df: float) -> float:
    """The quantile of t from the normal one, and never far above it (Abramowitz and Stegun 26.7.5)."""
    if df < 5.0:
        return z
    square = z * z
    first = z * (square + 1.0) / 4.0
    second = z * ((5.0 * square + 16.0) * square + 3.0) / 96.0
    third = z * (((3.0 * square + 19.0) * square + 17.0) * square - 15.0) / 384.0
    return z + (first + (second + third / df) / df) / df


def root(rises: Callable[[float], float], low: float, high: float, tolerance: float = 1e-14) -> float:
    """The x between `low` and `high` where `rises`, which rises from below 0 to above, is 0.

    False position, with the value at an end that stays halved (the Illinois rule: M. Dowell and P. Jarratt, BIT 11,
    1971): some ten values instead of one per bit. `tolerance` is relative to x, or absolute below 1.
    """
    below, above = rises(low), rises(high)
    if below >= 0.0:
        return low
    kept = 0
    while high - low > tolerance * max(1.0, abs(high)) and above > 0.0:
        middle = high - above * (high - low) / (above - below)
        if not low < middle < high:
            middle = 0.5 * (low + high)
            if not low < middle < high:
                break
        value = rises(middle)
        if value < 0.0:
            low, below = middle, value
            above *= 0.5 if kept > 0 else 1.0
            kept = 1
        else:
            high, above = middle, value
            below *= 0.5 if kept < 0 else 1.0
            kept = -1
    return high


def noncentral_t_rejects(shift: float, df: int, critical: float) -> float:
    """P(|T| > critical) when T is noncentral t with `df` degrees of freedom and noncentrality `shift`.

    T = (Z + shift) / S with S² = chi²(df) / df, so the probability is that of the normal tails, averaged over S.
    """
    return min(
        math.fsum(
            weight * (normal_cdf(shift - critical * s) + normal_cdf(-shift - critical * s)) for s, weight in _spread(df)
        ),
        1.0,
    )


@lru_cache(maxsize=64)
def _spread(df: int) -> tuple[tuple[float, float], ...]:
    """Values of S, where S² = chi²(df) / df, and weights: a smooth function's mean over S is its weighted sum.

    The trapezoidal rule for the density of S, over ten standard deviations each way where it vanishes on both sides.
    With few degrees of freedom it does not at 0, so there it is the rule for s = exp(t - exp(-t)), t from -∞ to ∞ (H.
    Takahasi and M. Mori, Double Exponential Formulas for Numerical Integration, 1974).
    """
    log_front = math.log(2.0) + 0.5 * df * math.log(0.5 * df) - math.lgamma(0.5 * df)

    def density(s: float) -> float:
        return math.exp(log_front + (df - 1) * math.log(s) - 0.5 * df * s * s)

    if df > 10:
        sd = 1.0 / math.sqrt(2.0 * df)
        step = 20.0 * sd / 128
        places = (1.0 - 10.0 * sd + i * step for i in range(129))
        return tuple((s, step * density(s)) for s in places if s > 0.0)
    step = 1.0 / 16
    places = (-4.0 + i * step for i in range(113))
    return tuple(
        (s, step * s * (1.0 + math.exp(-t)) * density(s)) for t in places if (s := math.exp(t - math.exp(-t))) > 0.0
    )
