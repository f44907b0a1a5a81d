"""Is a difference more than noise? Intervals for rates and means, tests, and what many tests at once need.

Every function takes plain numbers or sequences, gives `None` where there is nothing to say (no data, or no variation
where a test divides by it) and raises `ValueError` for what cannot be: a negative or broken count, a missing value,
lengths that differ. Results do not depend on the order of the rows.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass

from debatebench.stats.distributions import (
    binomial_cdf,
    binomial_pmf,
    chi2_tail,
    normal_quantile,
    t_quantile,
    t_two_sided_p,
)

# Probabilities that differ by less are the same one, computed in two ways.
_SAME = 1.0 + 1e-7
# A term that is less than this part of a sum does not change it.
_NEGLIGIBLE = 1e-18
# Where factorials are still exact enough, and sums short enough.
_MOST = 10**9
# A spread below this fraction of the values is a rounding error, and counts as zero.
_ROUNDING = 1e-12


@dataclass(frozen=True, slots=True)
class McNemar:
    """p values of McNemar's test, and the two statistics behind the approximate ones."""

    exact_p: float
    mid_p: float
    chi2: float
    chi2_p: float
    chi2_cc: float
    chi2_cc_p: float


@dataclass(frozen=True, slots=True)
class PairedT:
    """A paired t test: `mean_diff` with its interval, `df` = pairs - 1, `cohens_dz` = mean_diff / sd_diff."""

    count_pairs: int
    mean_diff: float
    sd_diff: float | None
    t: float | None
    df: int
    p: float | None
    ci_low: float | None
    ci_high: float | None
    cohens_dz: float | None


@dataclass(frozen=True, slots=True)
class ClusterMean:
    """A mean over values that come in clusters, its standard errors, and the test of the mean against 0.

    `design_effect` says by what factor clustering widens the variance; `t`, `p` and the interval rest on `se_cr1` and
    `count_clusters` - 1 degrees of freedom.
    """

    count_values: int
    count_clusters: int
    mean: float
    se_iid: float | None
    se_cr0: float | None
    se_cr1: float | None
    design_effect: float | None
    t: float | None
    p: float | None
    ci_low: float | None
    ci_high: float | None


def wilson_interval(wins: float, games: float, level: float = 0.95) -> tuple[float, float]:
    """Wilson's score interval for a win rate.

        (p + z²/2n ± z sqrt(p(1-p)/n + z²/4n²)) / (1 + z²/n),   p = wins / games, n = games

    E. Wilson, Probable Inference, the Law of Succession, and Statistical Inference, JASA 22, 1927. It always lies in
    [0, 1] and holds p. `wins` may count a tie as half: a score of 0, ½ or 1 varies less than one of 0 or 1 with the
    same mean, so the interval is then wider than it need be. It takes games as independent; where topics decide much,
    `cluster_mean` is the honest one. Without games it is [0, 1].
    """
    _check_level(level)
    if not 0 <= wins <= games < math.inf:
        raise ValueError(f"{wins:g} wins of {games:g} games are not possible")
    if games == 0:
        return 0.0, 1.0
    z = normal_quantile(0.5 + level / 2)
    rate = wins / games
    scale = 1 + z * z / games
    centre = (rate + z * z / (2 * games)) / scale
    half = z * math.sqrt(rate * (1 - rate) / games + z * z / (4 * games * games)) / scale
    # Rounding must not push an end past the rate that it bounds.
    return max(0.0, min(centre - half, rate)), min(1.0, max(centre + half, rate))


def binomial_test(wins: float, games: float, rate: float = 0.5) -> float | None:
    """Exact two-sided p value of `wins` in `games` if each is won with probability `rate`.

    The probability of all outcomes that are no likelier than the one seen (the definition of R's `binom.test`).
    Without games `None`.
    """
    wins, games = _count(wins, "wins"), _count(games, "games")
    if wins > games:
        raise ValueError(f"{wins} wins of {games} games are not possible")
    if not 0 <= rate <= 1:
        raise ValueError(f"a win rate must be from 0 to 1, not {rate:g}")
    if games == 0:
        return None
    if rate == 0.5:
        return min(1.0, 2 * binomial_cdf(min(wins, games - wins), games, 0.5))
    seen = binomial_pmf(wins, games, rate) * _SAME
    if wins < rate * games:
        # The likelihood falls from the mode on, so the outcomes of the other tail begin at one place.
        other = _first_from(math.ceil(rate * games), games, lambda k: binomial_pmf(k, games, rate) <= seen)
        return min(1.0, binomial_cdf(wins, games, rate) + 1 - binomial_cdf(other - 1, games, rate))
    other = _first_from(0, math.floor(rate * games), lambda k: binomial_pmf(k, games, rate) > seen)
    return min(1.0, binomial_cdf(other - 1, games, rate) + 1 - binomial_cdf(wins - 1, games, rate))


def sign_test(wins: float, losses: float) -> float | None:
    """Exact two-sided p value of the sign test: are wins and losses equally likely? Leave ties out.

        min(1, 2 P(X <= min(wins, losses))),   X ~ Binomial(wins + losses, 1/2)

    Ties say nothing about which is better (W. Dixon and A. Mood, The Statistical Sign Test, JASA 41,
    1946). Without a decisive game `None`.
    """
    wins, losses = _count(wins, "wins"), _count(losses, "losses")
    return binomial_test(wins, wins + losses)


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


def mcnemar(both: float, only_a: float, only_b: float, neither: float) -> McNemar | None:
    """McNemar's test, exact, mid-p and with chi²: do A and B succeed equally often on the same cases?

    Only cases on which they differ tell, b = `only_a` and c = `only_b`:

        exact_p = min(1, 2 P(X <= min(b, c))),   X ~ Binomial(b + c, 1/2)
        mid_p   = exact_p - P(X = min(b, c))
        chi2    = (b - c)² / (b + c),            chi2_cc = max(|b - c| - 1, 0)² / (b + c)

    Q. McNemar, Psychometrika 12, 1947; mid-p: M. Fagerland, S. Lydersen and P. Laake, BMC Medical Research Methodology
    13:91, 2013. Below 25 such cases use `exact_p` or `mid_p`, which is less cautious. Where A and B never differ every
    p is 1; without any case `None`.
    """
    both, only_a, only_b, neither = (_count(n, "a cell of the table") for n in (both, only_a, only_b, neither))
    discordant, fewer = only_a + only_b, min(only_a, only_b)
    if both + neither + discordant == 0:
        return None
    if discordant == 0:
        return McNemar(1.0, 1.0, 0.0, 1.0, 0.0, 1.0)
    exact = min(1.0, 2 * binomial_cdf(fewer, discordant, 0.5))
    at_seen = binomial_pmf(fewer, discordant, 0.5)
    apart = abs(only_a - only_b)
    chi2, corrected = apart**2 / discordant, max(apart - 1, 0) ** 2 / discordant
    return McNemar(exact, exact - at_seen, chi2, chi2_tail(chi2), corrected, chi2_tail(corrected))


def paired_t(x: Sequence[float], y: Sequence[float], level: float = 0.95) -> PairedT | None:
    """Student's t test of paired values, on the differences d = x - y.

        t = mean(d) / (sd(d) / sqrt(n)),  df = n - 1,  dz = mean(d) / sd(d)

    Student, The Probable Error of a Mean, Biometrika 6, 1908; dz: J. Cohen, Statistical Power Analysis, 1988. `x` and
    `y` have one element per pair. Without pairs `None`; one pair has no spread, and differences that are all alike have
    none to divide by: `t`, `p` and `cohens_dz` are then `None`, and for one pair the interval as well.
    """
    _check_level(level)
    if len(x) != len(y):
        raise ValueError(f"pairs have two values each, but the lists have {len(x)} and {len(y)}")
    values = _floats(x), _floats(y)
    differences = [a - b for a, b in zip(*values, strict=True)]
    n = len(differences)
    if n == 0:
        return None
    mean = math.fsum(differences) / n
    if n == 1:
        return PairedT(1, mean, None, None, 0, None, None, None, None)
    sd = math.sqrt(math.fsum((d - mean) ** 2 for d in differences) / (n - 1))
    largest = max(max(map(abs, values[0])), max(map(abs, values[1])))
    if sd <= _ROUNDING * largest:
        return PairedT(n, mean, 0.0, None, n - 1, None, mean, mean, None)
    se = sd / math.sqrt(n)
    low, high = t_interval(mean, se, n - 1, level)
    return PairedT(n, mean, sd, mean / se, n - 1, t_two_sided_p(mean / se, n - 1), low, high, mean / sd)


def cluster_mean(values: Sequence[float], clusters: Sequence[Hashable], level: float = 0.95) -> ClusterMean | None:
    """Mean of values that come in clusters (scores of debates, by topic), with standard errors that allow for it.

        CR0 = sqrt(sum over clusters of (sum of residuals)²) / n
        CR1 = CR0 sqrt(G / (G - 1)),   G clusters;   design effect = CR0² / (sum of residuals² / n²)

    K.-Y. Liang and S. Zeger, Biometrika 73, 1986; the correction for few clusters and t with G - 1 degrees of freedom:
    A. C. Cameron and D. Miller, A Practitioner's Guide to Cluster-Robust Inference, JHR 50, 2015, where for a mean
    (n-1)/(n-k) = 1. `values` and `clusters` have one element per observation. Without values `None`; with one cluster
    nothing is known of how clusters differ, and all but the mean is `None`; where values are all alike the errors are
    0, and the design effect, `t` and `p` `None`.
    """
    _check_level(level)
    if len(values) != len(clusters):
        raise ValueError(f"there are {len(values)} values but {len(clusters)} clusters")
    if any(cluster is None for cluster in clusters):
        raise ValueError("a cluster is missing")
    numbers = _floats(values)
    n = len(numbers)
    if n == 0:
        return None
    mean = math.fsum(numbers) / n
    residuals: dict[Hashable, list[float]] = {}
    for number, cluster in zip(numbers, clusters, strict=True):
        residuals.setdefault(cluster, []).append(number - mean)
    count = len(residuals)
    if count == 1:
        return ClusterMean(n, 1, mean, None, None, None, None, None, None, None, None)
    squares = math.fsum(r * r for group in residuals.values() for r in group)
    largest = max(map(abs, numbers))
    if squares <= n * (_ROUNDING * largest) ** 2:
        return ClusterMean(n, count, mean, 0.0, 0.0, 0.0, None, None, None, mean, mean)
    cr0 = math.sqrt(math.fsum(math.fsum(group) ** 2 for group in residuals.values())) / n
    cr1 = cr0 * math.sqrt(count / (count - 1))
    low, high = t_interval(mean, cr1, count - 1, level)
    t = mean / cr1 if cr1 > _ROUNDING * largest else None
    p = None if t is None else t_two_sided_p(t, count - 1)
    return ClusterMean(
        n, count, mean, math.sqrt(squares / (n - 1) / n), cr0, cr1, cr0**2 / (squares / n**2), t, p, low, high
    )


def t_interval(mean: float, standard_error: float, df: float, level: float = 0.95) -> tuple[float, float]:
    """mean ± t · standard_error: Student's t with `df` degrees of freedom lies within ± t at probability `level`."""
    _check_level(level)
    if df <= 0:
        raise ValueError(f"{df:g} degrees of freedom are not enough for an interval")
    half = t_quantile(level, df) * standard_error
    return mean - half, mean + half


def t_test(mean: float, standard_error: float, df: float) -> float | None:
    """Two-sided p value of a mean against 0, from its standard error, by Student's t.

    Without spread (a standard error of 0) there is no t. All df + 1 values are then equal, and the exact sign test
    decides: 2 · 0.5^(df + 1), or 1 for a mean of 0. `None` without a degree of freedom, or with an infinite error.
    """
    if not 0 <= standard_error < math.inf or df <= 0:
        return None
    if standard_error == 0:
        return 0.5**df if mean else 1.0
    return t_two_sided_p(mean / standard_error, df)


def holm(p_values: Sequence[float | None]) -> list[float | None]:
    """p values adjusted so that the chance of any false alarm among them stays below the threshold that one applies.

    In ascending order p(1) … p(m): max over j <= i of min(1, (m - j + 1) p(j)) (S. Holm, Scandinavian Journal of
    Statistics 6, 1979). Element i belongs to element i; a missing p value stays missing and is not counted as a test.
    """
    order = _ascending(p_values)
    highest, adjusted = 0.0, list(p_values)
    for place, i in enumerate(order):
        highest = max(highest, min(1.0, (len(order) - place) * (p_values[i] or 0.0)))
        adjusted[i] = highest
    return adjusted


def benjamini_hochberg(p_values: Sequence[float | None]) -> list[float | None]:
    """p values adjusted so that the expected share of false alarms among the findings stays below the threshold.

    In ascending order p(1) … p(m): min over j >= i of min(1, m p(j) / j) (Y. Benjamini and Y. Hochberg, Journal of the
    Royal Statistical Society B 57, 1995).
    Element i belongs to element i; a missing p value stays missing and is not counted as a test.
    """
    order = _ascending(p_values)
    lowest, adjusted = 1.0, list(p_values)
    for place, i in reversed(list(enumerate(order, 1))):
        lowest = min(lowest, len(order) * (p_values[i] or 0.0) / place)
        adjusted[i] = lowest
    return adjusted


def _ascending(p_values: Sequence[float | None]) -> list[int]:
    """Places of the p values that are there, smallest first."""
    for p in p_values:
        if p is not None and not 0 <= p <= 1:
            raise ValueError(f"a p value must be from 0 to 1, not {p:g}")
    return sorted((i for i, p in enumerate(p_values) if p is not None), key=lambda i: p_values[i] or 0.0)


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


def _floats(values: Iterable[float]) -> list[float]:
    """The values as floats; what is missing or no number cannot be averaged."""
    numbers = []
    for value in values:
        if value is None or not math.isfinite(value):
            raise ValueError("a value is missing or not a finite number")
        numbers.append(float(value))
    return numbers


def _check_level(level: float) -> None:
    if not 0 < level < 1:
        raise ValueError(f"a confidence level must be between 0 and 1, such as 0.95, not {level:g}")
