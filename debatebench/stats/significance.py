"""Is a difference more than noise? Exact tests of counts, and the interval of a mean.

Tests that are closed formulas are SQL macros (`sql/macros/`). Every function takes plain numbers, gives `None` where
there is nothing to say, as without data, and raises `ValueError` for what cannot be, such as a negative count.
"""

from __future__ import annotations

import math
from collections.abc import Callable

from debatebench.stats.distributions import (
    binomial_cdf,
    binomial_pmf,
    t_quantile,
)

# Probabilities that differ by less are the same one, computed in two ways.
_SAME = 1.0 + 1e-7
# A term that is less than this part of a sum does not change it.
_NEGLIGIBLE = 1e-18
# Where factorials are still exact enough, and sums short enough.
_MOST = 10**9


def binomial_test(wins: float, games: float, rate: float = 0.5) -> float | None:
    """Exact two-sided p value of `wins` in `games` if each is won with probability `rate`.

    The probability of all outcomes that are no likelier than the one seen (the definition of R's `binom.test`).
    Without games `None`. With a rate of ½ it is the sign test, `macros.sign_test_p`.
    """
    wins, games = _count(wins, "wins"), _count(games, "games")
    if wins > games:
        raise ValueError(f"{wins} wins of {games} games are not possible")
    if not 0 <= rate <= 1:
        raise ValueError(f"a win rate must be from 0 to 1, not {rate:g}")
    if games == 0:
        return None
    seen = binomial_pmf(wins, games, rate) * _SAME
    if wins < rate * games:
        # The likelihood falls from the mode on, so the outcomes of the other tail begin at one place.
        other = _first_from(math.ceil(rate * games), games, lambda k: binomial_pmf(k, games, rate) <= seen)
        return min(1.0, binomial_cdf(wins, games, rate) + 1 - binomial_cdf(other - 1, games, rate))
    other = _first_from(0, math.floor(rate * games), lambda k: binomial_pmf(k, games, rate) > seen)
    return min(1.0, binomial_cdf(other - 1, games, rate) + 1 - binomial_cdf(wins - 1, games, rate))


def fisher_exact(a: float, b: float, c: float, d: float) -> float | None:
    """Fisher's exact two-sided p value for the table [[a, b], [c, d]]: are the odds a : b and c : d the same?

    The hypergeometric probability of all tables with the same margins that are no likelier than this one (R. Fisher,
    Statistical Methods for Research Workers, 1934; the two-sided rule of R's `fisher.test`). `None` when a row or a
    column is empty: nothing can be compared then.
    """
    a, b, c, d = (_count(n, "a cell of the table") for n in (a, b, c, d))
    rows, columns = (a + b, c + d), (a + c, b + d)
    if 0 in rows or 0 in columns:
        return None
    low, high = max(0, columns[0] - rows[1]), min(rows[0], columns[0])
    log_all = _log_ways(rows[0] + rows[1], columns[0])

    def chance(k: int) -> float:
        return math.exp(_log_ways(rows[0], k) + _log_ways(rows[1], columns[0] - k) - log_all)

    def tail(start: int, step: int) -> float:
        """The chances from `start` on, each from the one before. They fall: what is past a vanishing one vanishes."""
        total = term = chance(start)
        for k in range(start, high if step > 0 else low, step):
            if step > 0:
                term *= (rows[0] - k) * (columns[0] - k) / ((k + 1) * (rows[1] - columns[0] + k + 1))
            else:
                term *= k * (rows[1] - columns[0] + k) / ((rows[0] - k + 1) * (columns[0] - k + 1))
            total += term
            if term < _NEGLIGIBLE * total:
                break
        return total

    mode = (rows[0] + 1) * (columns[0] + 1) // (rows[0] + rows[1] + 2)
    seen = chance(a) * _SAME
    if a == mode or chance(mode) <= seen:
        return 1.0
    if a < mode:
        other = _first_from(mode, high, lambda k: chance(k) <= seen)
        return min(1.0, tail(a, -1) + (tail(other, 1) if other <= high else 0.0))
    other = _first_from(low, mode, lambda k: chance(k) > seen) - 1
    return min(1.0, tail(a, 1) + (tail(other, -1) if other >= low else 0.0))


def t_interval(mean: float, standard_error: float, df: float, level: float = 0.95) -> tuple[float, float]:
    """mean ± t · standard_error: Student's t with `df` degrees of freedom lies within ± t at probability `level`."""
    if not 0 < level < 1:
        raise ValueError(f"a confidence level must be between 0 and 1, such as 0.95, not {level:g}")
    if df <= 0:
        raise ValueError(f"{df:g} degrees of freedom are not enough for an interval")
    half = t_quantile(level, df) * standard_error
    return mean - half, mean + half


def _first_from(low: int, high: int, holds: Callable[[int], bool]) -> int:
    """The first k in low … high where `holds` is true, which it then stays; high + 1 when nowhere."""
    high += 1
    while low < high:
        middle = (low + high) // 2
        if holds(middle):
            high = middle
        else:
            low = middle + 1
    return low


def _log_ways(n: int, k: int) -> float:
    return math.lgamma(n + 1) - math.lgamma(k + 1) - math.lgamma(n - k + 1)


def _count(value: float, name: str) -> int:
    if not 0 <= value <= _MOST or value != int(value):
        raise ValueError(f"{name} must be a whole number from 0 to a billion, not {value:g}")
    return int(value)
