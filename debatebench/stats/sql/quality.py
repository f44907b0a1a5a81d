"""Statistics of judges for SQL: lists in; a number, or measures also without each cluster, out.

A null inside a list is a missing value: what it belongs to is left out.
"""

from __future__ import annotations

from collections.abc import Mapping

from debatebench.stats import correlation, quality
from debatebench.stats.sql.sql_function import SqlFunction

_CORRELATION = ("stats/correlation.py",)
_QUALITY = ("stats/quality.py", *_CORRELATION)
_LEFT_OUT = "STRUCT(value DOUBLE, left_out DOUBLE[])"
_TWO_LISTS = ("DOUBLE[]", "DOUBLE[]")

FUNCTIONS: Mapping[str, SqlFunction] = {
    "prediction_quality": SqlFunction(
        quality.prediction_quality,
        ("VARCHAR[]", "VARCHAR[]", *(("DOUBLE[]",) * 7)),
        f"STRUCT(rmse_score_comparison {_LEFT_OUT}, rmse_direct_prediction {_LEFT_OUT}, "
        f"weighted_f1 {_LEFT_OUT}, spearman {_LEFT_OUT}, kendall_tau_b {_LEFT_OUT})",
        _QUALITY,
    ),
    "rmse": SqlFunction(quality.rmse, ("VARCHAR[]", "DOUBLE[]"), _LEFT_OUT, _QUALITY),
    "spearman": SqlFunction(correlation.spearman, _TWO_LISTS, "DOUBLE", _CORRELATION),
    "kendall_tau_b": SqlFunction(correlation.kendall_tau_b, _TWO_LISTS, "DOUBLE", _CORRELATION),
}
