"""Statistics of judges for SQL: lists of winners, scores or counts in; a number, or all that there is to say, out.

A null inside a list is a missing rating: what it belongs to is left out.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import cast

from debatebench.stats import agreement, bias, correlation, quality, votes
from debatebench.stats.sql.sql_function import SqlFunction


def weighted_kappa(a: Sequence[str], b: Sequence[str], categories: Sequence[str], weights: str) -> float | None:
    """Cohen's kappa with `linear` or `quadratic` weights, for categories in the given order."""
    return agreement.cohen_kappa(a, b, cast(agreement.Weights, weights), categories)


_AGREEMENT = ("stats/agreement.py", "stats/jackknife.py", "stats/significance.py", "stats/distributions.py")
_BIAS = ("stats/bias.py", "stats/significance.py", "stats/distributions.py")
_CORRELATION = ("stats/correlation.py", "stats/agreement.py")
_QUALITY = ("stats/quality.py", "stats/votes.py", "stats/correlation.py", *_AGREEMENT)
_INTERVAL = "STRUCT(value DOUBLE, standard_error DOUBLE, ci_low DOUBLE, ci_high DOUBLE, clusters BIGINT)"
_TWO_LABELS = ("VARCHAR[]", "VARCHAR[]")
_TWO_LISTS = ("DOUBLE[]", "DOUBLE[]")

FUNCTIONS: Mapping[str, SqlFunction] = {
    "winner_agreement": SqlFunction(
        agreement.agreement,
        _TWO_LABELS,
        'STRUCT("count" BIGINT, agreement DOUBLE, count_decisive BIGINT, agreement_decisive DOUBLE)',
        _AGREEMENT,
    ),
    "cohen_kappa": SqlFunction(agreement.cohen_kappa, _TWO_LABELS, "DOUBLE", _AGREEMENT),
    "cohen_kappa_interval": SqlFunction(
        agreement.cohen_kappa_interval, (*_TWO_LISTS, "VARCHAR[]", "VARCHAR", "DOUBLE"), _INTERVAL, _AGREEMENT
    ),
    "weighted_kappa": SqlFunction(weighted_kappa, (*_TWO_LABELS, "VARCHAR[]", "VARCHAR"), "DOUBLE", _AGREEMENT),
    "gwet_ac1": SqlFunction(agreement.gwet_ac1, ("BIGINT[][]",), "DOUBLE", _AGREEMENT),
    "fleiss_kappa": SqlFunction(agreement.fleiss_kappa, ("BIGINT[][]",), "DOUBLE", _AGREEMENT),
    "krippendorff_alpha": SqlFunction(
        agreement.krippendorff_alpha, ("VARCHAR[]", "DOUBLE[]", "VARCHAR"), "DOUBLE", _AGREEMENT
    ),
    "krippendorff_alpha_interval": SqlFunction(
        agreement.krippendorff_alpha_interval,
        ("VARCHAR[]", "DOUBLE[]", "VARCHAR[]", "VARCHAR", "DOUBLE"),
        _INTERVAL,
        _AGREEMENT,
    ),
    "winner_errors": SqlFunction(
        votes.winner_errors,
        _TWO_LABELS,
        'STRUCT("count" BIGINT, rmse DOUBLE, accuracy DOUBLE, macro_f1 DOUBLE, decisive_rate DOUBLE)',
        ("stats/votes.py",),
    ),
    "prediction_quality": SqlFunction(
        quality.prediction_quality,
        (*_TWO_LABELS, *_TWO_LISTS, *_TWO_LISTS, *_TWO_LISTS, "DOUBLE[]"),
        f"STRUCT(rmse_score_comparison {_INTERVAL}, rmse_direct_prediction {_INTERVAL}, kappa {_INTERVAL}, "
        f"weighted_f1 {_INTERVAL}, spearman {_INTERVAL}, kendall_tau_b {_INTERVAL})",
        _QUALITY,
    ),
    "rmse_interval": SqlFunction(quality.rmse_interval, ("VARCHAR[]", "DOUBLE[]"), _INTERVAL, _QUALITY),
    "mirrored_test": SqlFunction(
        bias.mirrored_pairs,
        _TWO_LABELS,
        "STRUCT(pairs BIGINT, pro_both BIGINT, con_both BIGINT, consistent BIGINT, exact_p DOUBLE, "
        "consistency_rate DOUBLE)",
        _BIAS,
    ),
    "verbosity_regression": SqlFunction(
        bias.verbosity,
        _TWO_LISTS,
        'STRUCT("count" BIGINT, correlation DOUBLE, slope DOUBLE, intercept DOUBLE, r2 DOUBLE, count_decisive BIGINT, '
        "longer_wins_rate DOUBLE)",
        _BIAS,
    ),
    "pearson": SqlFunction(correlation.pearson, _TWO_LISTS, "DOUBLE", _CORRELATION),
    "spearman": SqlFunction(correlation.spearman, _TWO_LISTS, "DOUBLE", _CORRELATION),
    "kendall_tau_b": SqlFunction(correlation.kendall_tau_b, _TWO_LISTS, "DOUBLE", _CORRELATION),
}
