"""Tests of difference for SQL: counts in; a p value, an interval or a number of games out."""

from __future__ import annotations

from collections.abc import Mapping

from debatebench.stats import power, significance
from debatebench.stats.sql.sql_function import SqlFunction


def t_interval(mean: float, standard_error: float, df: float, level: float) -> dict[str, float]:
    """Interval of Student's t around a mean."""
    low, high = significance.t_interval(mean, standard_error, df, level)
    return {"low": low, "high": high}


_TESTS = ("stats/significance.py", "stats/distributions.py")
_POWER = ("stats/power.py", "stats/distributions.py")

FUNCTIONS: Mapping[str, SqlFunction] = {
    # Counts are DOUBLE, which takes whatever number SQL has, also the HUGEINT that a sum of integers is.
    "binomial_test": SqlFunction(significance.binomial_test, ("DOUBLE",) * 3, "DOUBLE", _TESTS),
    "fisher_exact": SqlFunction(significance.fisher_exact, ("DOUBLE",) * 4, "DOUBLE", _TESTS),
    "t_interval": SqlFunction(t_interval, ("DOUBLE",) * 4, "STRUCT(low DOUBLE, high DOUBLE)", _TESTS),
    "sign_test_power": SqlFunction(power.sign_test_power, ("BIGINT", "DOUBLE", "DOUBLE"), "DOUBLE", _POWER),
    "games_needed": SqlFunction(power.games_needed, ("DOUBLE",) * 3, "BIGINT", _POWER),
    "detectable_win_rate": SqlFunction(power.detectable_win_rate, ("BIGINT", "DOUBLE", "DOUBLE"), "DOUBLE", _POWER),
    "detectable_effect": SqlFunction(power.detectable_effect, ("BIGINT", "DOUBLE", "DOUBLE"), "DOUBLE", _POWER),
    "pairs_needed": SqlFunction(power.pairs_needed, ("DOUBLE",) * 3, "BIGINT", _POWER),
}
