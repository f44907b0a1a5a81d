"""How many games does it take? Power of the tests of difference, and what it means in debates.

Power is the chance that a test finds a difference that is there. 0.8 is customary, at a threshold (`alpha`) of 0.05.
"""

from __future__ import annotations

import math
from bisect import bisect
from functools import cache, lru_cache

from debatebench.stats.distributions import (
    binomial_cdf,
    binomial_pmf,
    noncentral_t_rejects,
    normal_quantile,
    root,
    t_quantile,
)

# Beyond this many games the approximation is off by less than 2 %, and trying each number of games takes long.
_MOST_TRIED = 1_000
_MOST = 10**9
_TOLERANCE = 1e-10


def sign_test_power(games: int, win_rate: float, alpha: float = 0.05) -> float:
    """The chance that the exact two-sided sign test finds that a debater who wins at `win_rate` is not an equal.

        P(X <= c) + P(X >= n - c),   X ~ Binomial(n, win_rate),
        c the largest with 2 P(Y <= c) <= alpha,   Y ~ Binomial(n, ½),   n decisive games

    0 where no outcome of so few games would be significant (below 6 games at 0.05).
    """
    _check(alpha)
    _check_rate(win_rate)
    critical = _critical_wins(games, alpha)
    return _two_tails(critical, games, win_rate) if critical >= 0 else 0.0


@lru_cache(maxsize=4096)
def games_needed(win_rate: float, power: float = 0.8, alpha: float = 0.05) -> int | None:
    """Decisive games from which on the exact sign test finds with `power` that `win_rate` is not ½; `None` at ½.

    Power climbs in a zigzag, because numbers of games are whole; this is the smallest number from which it never falls
    below `power` again. Above 1,000 games it is the normal approximation with its correction for continuity,

        n (1 + sqrt(1 + 2 / (n d)))² / 4,  n = ((z(1-α/2) / 2 + z(power) sqrt(w (1-w))) / d)²,  d = |win_rate - ½|

    (J. Fleiss, B. Levin and M. Paik, Statistical Methods for Rates and Proportions, 2003). No number of games tells
    equals apart.
    """
    _check(alpha, power)
    _check_rate(win_rate)
    distance = abs(win_rate - 0.5)
    if distance == 0:
        return None
    z_alpha, z_power = normal_quantile(1 - alpha / 2), normal_quantile(power)
    spread = math.sqrt(win_rate * (1 - win_rate))
    plain = max((0.5 * z_alpha + z_power * spread) / distance, 0.0) ** 2
    smooth = plain / 4 * (1 + math.sqrt(1 + 2 / (plain * distance))) ** 2 if plain else 0.0
    if smooth > _MOST_TRIED:
        return math.ceil(smooth)
    # Power falls while the number of games grows and that of critical wins does not, so it is least before each step.
    # The approximation was at most eleven steps too low in 2,991 trials (alpha 1e-6 to 0.5, power 0.05 to 0.99999).
    steps = _steps(alpha)
    for critical in reversed(range(min(bisect(steps, smooth) + 20, len(steps) - 1))):
        if _two_tails(critical, steps[critical + 1] - 1, win_rate) < power:
            return steps[critical + 1]
    return steps[0]


@lru_cache(maxsize=4096)
def detectable_win_rate(games: int, power: float = 0.8, alpha: float = 0.05) -> float | None:
    """The smallest win rate above ½ that the exact sign test tells from ½ with `power` in so many decisive games.

    To 1e-10. `None` where no outcome of so few games would be significant.
    """
    _check(alpha, power)
    critical = _critical_wins(games, alpha)
    if critical < 0:
        return None
    return root(lambda rate: _two_tails(critical, games, rate) - power, 0.5, 1.0, _TOLERANCE)


@lru_cache(maxsize=4096)
def detectable_effect(pairs: int, power: float = 0.8, alpha: float = 0.05) -> float | None:
    """The smallest mean difference that a paired t test finds with `power`, in standard deviations of the differences.

    This is Cohen's dz, from the noncentral t distribution with `pairs` - 1 degrees of freedom and noncentrality
    dz · sqrt(pairs) (J. Cohen, Statistical Power Analysis, 1988). To 1e-10. `None` below two pairs.
    """
    _check(alpha, power)
    if not 0 <= pairs <= _MOST:
        raise ValueError(f"the number of pairs must be from 0 to a billion, not {pairs}")
    if pairs < 2:
        return None
    df, scale = pairs - 1, math.sqrt(pairs)
    critical = t_quantile(1 - alpha, df)
    if power <= alpha:
        return 0.0

    @cache
    def surplus(effect: float) -> float:
        return noncentral_t_rejects(effect * scale, df, critical) - power

    # From the normal approximation of the noncentral t (N. Johnson and B. Welch, Biometrika 31, 1940).
    near = (critical + normal_quantile(power) * math.sqrt(1 + critical * critical / (2 * df))) / scale
    low, high = near * (1 - 0.06 / df), near * (1 + 0.015 / df)
    if low < 0 or surplus(low) > 0:
        low = 0.0
    while high <= 0 or surplus(high) < 0:
        high = max(2 * high, 1.0)
    return root(surplus, low, high, _TOLERANCE)


@lru_cache(maxsize=4096)
def pairs_needed(effect: float, power: float = 0.8, alpha: float = 0.05) -> int | None:
    """The fewest pairs with which a paired t test finds with `power` a mean difference of `effect`.

    `effect` is in standard deviations of the differences (Cohen's dz). This inverts `detectable_effect`. Above
    10,000 pairs it is the normal approximation ((z(1-α/2) + z(power)) / dz)² + z(1-α/2)² / 2 (W. Guenther, The American
    Statistician 35, 1981). `None` for no effect, and above a billion pairs.
    """
    _check(alpha, power)
    z_alpha = normal_quantile(1 - alpha / 2)
    plain = max(z_alpha + normal_quantile(power), 0.0) / abs(effect) if effect else math.inf
    if plain > math.sqrt(_MOST):
        return None
    near = plain**2 + z_alpha**2 / 2
    if near > 10 * _MOST_TRIED:
        return math.ceil(near)

    def suffices(pairs: int) -> bool:
        critical = t_quantile(1 - alpha, pairs - 1)
        return noncentral_t_rejects(abs(effect) * math.sqrt(pairs), pairs - 1, critical) >= power

    pairs = max(2, math.ceil(near))
    while not suffices(pairs):
        pairs += 1
    while pairs > 2 and suffices(pairs - 1):
        pairs -= 1
    return pairs


def _critical_wins(games: int, alpha: float) -> int:
    """The most wins, on the losing side, that are still significant; -1 where none is."""
    if not 0 <= games <= _MOST:
        raise ValueError(f"the number of games must be from 0 to a billion, not {games}")
    low, high = -1, games // 2
    while low < high:
        middle = (low + high + 1) // 2
        if 2 * binomial_cdf(middle, games, 0.5) <= alpha:
            low = middle
        else:
            high = middle - 1
    return low


@lru_cache(maxsize=16)
def _steps(alpha: float) -> tuple[int, ...]:
    """Element c is the number of games from which c wins are critical: the smallest n with 2 P(Y <= c) <= alpha.

    Counts games up one at a time, by which P(Y <= c) falls by P(Y = c) / 2.
    """
    steps: list[int] = []
    tail, games = 0.0, 0
    while not steps or steps[-1] <= 1.1 * _MOST_TRIED + 100:
        if steps:
            tail -= 0.5 * binomial_pmf(len(steps) - 1, games, 0.5)
        games += 1
        following = binomial_pmf(len(steps), games, 0.5)
        if 2 * (tail + following) <= alpha:
            steps.append(games)
            tail += following
    return tuple(steps)


def _two_tails(critical: int, games: int, win_rate: float) -> float:
    """P(X <= critical) + P(X >= games - critical)."""
    return binomial_cdf(critical, games, win_rate) + binomial_cdf(critical, games, 1 - win_rate)


def _check(*probabilities: float) -> None:
    for p in probabilities:
        if not 0 < p < 1:
            raise ValueError(f"a threshold and a power must be between 0 and 1, not {p:g}")


def _check_rate(win_rate: float) -> None:
    if not 0 <= win_rate <= 1:
        raise ValueError(f"a win rate must be from 0 to 1, not {win_rate:g}")
