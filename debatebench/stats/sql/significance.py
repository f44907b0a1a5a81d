"""Tests of difference for SQL: each takes counts or lists and returns a p value, an interval, or a struct with both."""

from __future__ import annotations

from collections.abc import Mapping

from debatebench.stats import power, significance
from debatebench.stats.sql.sql_function import SqlFunction


def wilson_interval(wins: float, games: float, level: float) -> dict[str, float]:
    """Wilson's interval for wins / games; a tie may count as half a win."""
    return _interval(significance.wilson_interval(wins, games, level))


def t_interval(mean: float, standard_error: float, df: float, level: float) -> dict[str, float]:
    """Interval of Student's t around a mean."""
    return _interval(significance.t_interval(mean, standard_error, df, level))


def _interval(ends: tuple[float, float]) -> dict[str, float]:
    return {"low": ends[0], "high": ends[1]}


_TESTS = ("stats/significance.py", "stats/distributions.py")
_POWER = ("stats/power.py", "stats/distributions.py")
_ENDS = "STRUCT(low DOUBLE, high DOUBLE)"

FUNCTIONS: Mapping[str, SqlFunction] = {
    # Counts are DOUBLE, which takes whatever number SQL has, also the HUGEINT that a sum of integers is.
    "wilson_interval": SqlFunction(wilson_interval, ("DOUBLE",) * 3, _ENDS, _TESTS),
    "binomial_test": SqlFunction(significance.binomial_test, ("DOUBLE",) * 3, "DOUBLE", _TESTS),
    "sign_test": SqlFunction(significance.sign_test, ("DOUBLE",) * 2, "DOUBLE", _TESTS),
    "fisher_exact": SqlFunction(significance.fisher_exact, ("DOUBLE",) * 4, "DOUBLE", _TESTS),
    "mcnemar": SqlFunction(
        significance.mcnemar,
        ("DOUBLE",) * 4,
        "STRUCT(exact_p DOUBLE, mid_p DOUBLE, chi2 DOUBLE, chi2_p DOUBLE, chi2_cc DOUBLE, chi2_cc_p DOUBLE)",
        _TESTS,
    ),
    "paired_t": SqlFunction(
        significance.paired_t,
        ("DOUBLE[]", "DOUBLE[]", "DOUBLE"),
        "STRUCT(count_pairs BIGINT, mean_diff DOUBLE, sd_diff DOUBLE, t DOUBLE, df BIGINT, p DOUBLE, ci_low DOUBLE, "
        "ci_high DOUBLE, cohens_dz DOUBLE)",
        _TESTS,
    ),
    "cluster_mean": SqlFunction(
        significance.cluster_mean,
        ("DOUBLE[]", "VARCHAR[]", "DOUBLE"),
        "STRUCT(count_values BIGINT, count_clusters BIGINT, mean DOUBLE, se_iid DOUBLE, se_cr0 DOUBLE, se_cr1 DOUBLE, "
        "design_effect DOUBLE, t DOUBLE, p DOUBLE, ci_low DOUBLE, ci_high DOUBLE)",
        _TESTS,
    ),
    "t_interval": SqlFunction(t_interval, ("DOUBLE",) * 4, _ENDS, _TESTS),
    "t_test": SqlFunction(significance.t_test, ("DOUBLE",) * 3, "DOUBLE", _TESTS),
    "holm": SqlFunction(significance.holm, ("DOUBLE[]",), "DOUBLE[]", _TESTS),
    "benjamini_hochberg": SqlFunction(significance.benjamini_hochberg, ("DOUBLE[]",), "DOUBLE[]", _TESTS),
    "sign_test_power": SqlFunction(power.sign_test_power, ("BIGINT", "DOUBLE", "DOUBLE"), "DOUBLE", _POWER),
    "games_needed": SqlFunction(power.games_needed, ("DOUBLE",) * 3, "BIGINT", _POWER),
    "detectable_win_rate": SqlFunction(power.detectable_win_rate, ("BIGINT", "DOUBLE", "DOUBLE"), "DOUBLE", _POWER),
    "detectable_effect": SqlFunction(power.detectable_effect, ("BIGINT", "DOUBLE", "DOUBLE"), "DOUBLE", _POWER),
    "debates_needed": SqlFunction(power.debates_needed, ("BIGINT", "DOUBLE", "DOUBLE"), "BIGINT", _POWER),
    "design_effect": SqlFunction(power.design_effect, ("DOUBLE",) * 2, "DOUBLE", _POWER),
    "elo_gap": SqlFunction(power.elo_gap, ("DOUBLE",), "DOUBLE", _POWER),
}
