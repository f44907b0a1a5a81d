"""Tests of difference for SQL: counts or lists in; a p value, an interval or all that a test has to say out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

from debatebench.stats import power as power_of
from debatebench.stats import significance
from debatebench.stats.sql.sql_function import SqlFunction

__all__ = ["FUNCTIONS"]


def wilson_interval(wins: float, games: float, level: float) -> dict[str, float]:
    """Wilson's interval for wins / games; a tie may count as half a win."""
    return _interval(significance.wilson_interval(wins, games, level))


def binomial_test(wins: float, games: float, rate: float) -> float | None:
    """Exact two-sided p value of so many wins, if each game is won at `rate`."""
    return significance.binomial_test(wins, games, rate)


def sign_test(wins: float, losses: float) -> float | None:
    """Exact two-sided p value: are wins and losses equally likely? Leave ties out."""
    return significance.sign_test(wins, losses)


def fisher_exact(a: float, b: float, c: float, d: float) -> float | None:
    """Fisher's exact two-sided p value: are the odds a : b and c : d the same?"""
    return significance.fisher_exact(a, b, c, d)


def mcnemar(both: float, only_a: float, only_b: float, neither: float) -> dict[str, float] | None:
    """McNemar's test, exact, mid-p and with chi²: do A and B succeed equally often on the same cases?"""
    result = significance.mcnemar(both, only_a, only_b, neither)
    return None if result is None else asdict(result)


def paired_t(x: Sequence[float], y: Sequence[float], level: float) -> dict[str, Any] | None:
    """Student's t test of x - y, pair by pair, with an interval for the mean difference."""
    result = significance.paired_t(x, y, level)
    return None if result is None else asdict(result)


def cluster_mean(numbers: Sequence[float], clusters: Sequence[str], level: float) -> dict[str, Any] | None:
    """Mean, and its standard errors and interval when numbers of one cluster (a topic, say) resemble each other."""
    result = significance.cluster_mean(numbers, clusters, level)
    return None if result is None else asdict(result)


def t_interval(mean: float, standard_error: float, df: float, level: float) -> dict[str, float]:
    """Interval of Student's t around a mean."""
    return _interval(significance.t_interval(mean, standard_error, df, level))


def t_test(mean: float, standard_error: float, df: float) -> float | None:
    """Two-sided p value of Student's t for a mean against 0."""
    return significance.t_test(mean, standard_error, df)


def holm(p_values: Sequence[float | None]) -> list[float | None]:
    """p values adjusted for so many tests, against any false alarm; element i belongs to element i."""
    return significance.holm(p_values)


def benjamini_hochberg(p_values: Sequence[float | None]) -> list[float | None]:
    """p values adjusted for so many tests, for the share of false alarms; element i belongs to element i."""
    return significance.benjamini_hochberg(p_values)


def sign_test_power(games: int, win_rate: float, alpha: float) -> float:
    """The chance that a sign test at `alpha` finds a win rate to differ from ½ in so many decisive games."""
    return power_of.sign_test_power(games, win_rate, alpha)


def games_needed(win_rate: float, power: float, alpha: float) -> int | None:
    """Decisive games that a sign test needs to find this win rate to differ from ½; null at ½."""
    return power_of.games_needed(win_rate, power, alpha)


def detectable_win_rate(games: int, power: float, alpha: float) -> float | None:
    """The smallest win rate above ½ that a sign test finds in so many decisive games; null below the fewest."""
    return power_of.detectable_win_rate(games, power, alpha)


def detectable_effect(pairs: int, power: float, alpha: float) -> float | None:
    """The smallest mean difference, in standard deviations, that a paired t test finds in so many pairs."""
    return power_of.detectable_effect(pairs, power, alpha)


def debates_needed(games: int, tie_rate: float, effect: float) -> int | None:
    """Debates that make so many independent decisive games, given the rate of ties and the design effect."""
    return power_of.debates_needed(games, tie_rate, effect)


def design_effect(debates_per_topic: float, correlation: float) -> float:
    """Debates that say as much as one independent debate, where those on a topic are correlated."""
    return power_of.design_effect(debates_per_topic, correlation)


def elo_gap(win_rate: float) -> float | None:
    """The difference in Elo ratings that predicts this win rate; null at 0 and 1."""
    return power_of.elo_gap(win_rate)


def _interval(ends: tuple[float, float]) -> dict[str, float]:
    return {"low": ends[0], "high": ends[1]}


_TESTS = ("stats/significance.py", "stats/distributions.py")
_POWER = ("stats/power.py", "stats/distributions.py")
_ENDS = "STRUCT(low DOUBLE, high DOUBLE)"

FUNCTIONS: Mapping[str, SqlFunction] = {
    # Counts are DOUBLE, which takes whatever number SQL has, also the HUGEINT that a sum of integers is.
    "wilson_interval": SqlFunction(wilson_interval, ("DOUBLE",) * 3, _ENDS, _TESTS),
    "binomial_test": SqlFunction(binomial_test, ("DOUBLE",) * 3, "DOUBLE", _TESTS),
    "sign_test": SqlFunction(sign_test, ("DOUBLE",) * 2, "DOUBLE", _TESTS),
    "fisher_exact": SqlFunction(fisher_exact, ("DOUBLE",) * 4, "DOUBLE", _TESTS),
    "mcnemar": SqlFunction(
        mcnemar,
        ("DOUBLE",) * 4,
        "STRUCT(exact_p DOUBLE, mid_p DOUBLE, chi2 DOUBLE, chi2_p DOUBLE, chi2_cc DOUBLE, chi2_cc_p DOUBLE)",
        _TESTS,
    ),
    "paired_t": SqlFunction(
        paired_t,
        ("DOUBLE[]", "DOUBLE[]", "DOUBLE"),
        "STRUCT(count_pairs BIGINT, mean_diff DOUBLE, sd_diff DOUBLE, t DOUBLE, df BIGINT, p DOUBLE, ci_low DOUBLE, "
        "ci_high DOUBLE, cohens_dz DOUBLE)",
        _TESTS,
    ),
    "cluster_mean": SqlFunction(
        cluster_mean,
        ("DOUBLE[]", "VARCHAR[]", "DOUBLE"),
        "STRUCT(count_values BIGINT, count_clusters BIGINT, mean DOUBLE, se_iid DOUBLE, se_cr0 DOUBLE, se_cr1 DOUBLE, "
        "design_effect DOUBLE, t DOUBLE, p DOUBLE, ci_low DOUBLE, ci_high DOUBLE)",
        _TESTS,
    ),
    "t_interval": SqlFunction(t_interval, ("DOUBLE",) * 4, _ENDS, _TESTS),
    "t_test": SqlFunction(t_test, ("DOUBLE",) * 3, "DOUBLE", _TESTS),
    "holm": SqlFunction(holm, ("DOUBLE[]",), "DOUBLE[]", _TESTS),
    "benjamini_hochberg": SqlFunction(benjamini_hochberg, ("DOUBLE[]",), "DOUBLE[]", _TESTS),
    "sign_test_power": SqlFunction(sign_test_power, ("BIGINT", "DOUBLE", "DOUBLE"), "DOUBLE", _POWER),
    "games_needed": SqlFunction(games_needed, ("DOUBLE",) * 3, "BIGINT", _POWER),
    "detectable_win_rate": SqlFunction(detectable_win_rate, ("BIGINT", "DOUBLE", "DOUBLE"), "DOUBLE", _POWER),
    "detectable_effect": SqlFunction(detectable_effect, ("BIGINT", "DOUBLE", "DOUBLE"), "DOUBLE", _POWER),
    "debates_needed": SqlFunction(debates_needed, ("BIGINT", "DOUBLE", "DOUBLE"), "BIGINT", _POWER),
    "design_effect": SqlFunction(design_effect, ("DOUBLE",) * 2, "DOUBLE", _POWER),
    "elo_gap": SqlFunction(elo_gap, ("DOUBLE",), "DOUBLE", _POWER),
}
