"""Statistics of judges for SQL: lists of scores, errors or shares in; a number, or a value with its interval, out.

A null inside a list is a missing value: what it belongs to is left out.
"""

from __future__ import annotations

from collections.abc import Mapping

from debatebench.stats import correlation, quality
from debatebench.stats.sql.sql_function import SqlFunction

_CORRELATION = ("stats/correlation.py",)
_QUALITY = ("stats/quality.py", "stats/jackknife.py", "stats/significance.py", "stats/distributions.py", *_CORRELATION)
_INTERVAL = "STRUCT(value DOUBLE, standard_error DOUBLE, ci_low DOUBLE, ci_high DOUBLE, clusters BIGINT)"
_TWO_LISTS = ("DOUBLE[]", "DOUBLE[]")

FUNCTIONS: Mapping[str, SqlFunction] = {
    "prediction_quality": SqlFunction(
        quality.prediction_quality,
        ("VARCHAR[]", "VARCHAR[]", *(("DOUBLE[]",) * 7)),
        f"STRUCT(rmse_score_comparison {_INTERVAL}, rmse_direct_prediction {_INTERVAL}, kappa {_INTERVAL}, "
        f"weighted_f1 {_INTERVAL}, spearman {_INTERVAL}, kendall_tau_b {_INTERVAL})",
        _QUALITY,
    ),
    "rmse_interval": SqlFunction(quality.rmse_interval, ("VARCHAR[]", "DOUBLE[]"), _INTERVAL, _QUALITY),
    "spearman": SqlFunction(correlation.spearman, _TWO_LISTS, "DOUBLE", _CORRELATION),
    "kendall_tau_b": SqlFunction(correlation.kendall_tau_b, _TWO_LISTS, "DOUBLE", _CORRELATION),
}
