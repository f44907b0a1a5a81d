"""Statistics of judges for SQL: lists of winners, scores or counts in; a number, or all that there is to say, out.

A null inside a list is a missing rating: what it belongs to is left out.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any, cast

from debatebench.stats import agreement, bias, correlation, votes
from debatebench.stats.sql.sql_function import SqlFunction

__all__ = ["FUNCTIONS"]


def winner_agreement(a: Sequence[str], b: Sequence[str]) -> dict[str, Any]:
    """How often two judges named the same winner, of all debates and of those where both named a side."""
    return asdict(agreement.agreement(a, b))


def cohen_kappa(a: Sequence[str], b: Sequence[str]) -> float | None:
    """Cohen's kappa of two raters; element i of both is subject i."""
    return agreement.cohen_kappa(a, b)


def weighted_kappa(a: Sequence[str], b: Sequence[str], categories: Sequence[str], weights: str) -> float | None:
    """Cohen's kappa with `linear` or `quadratic` weights, for categories in the given order."""
    return agreement.cohen_kappa(a, b, cast(agreement.Weights, weights), categories)


def gwet_ac1(counts: Sequence[Sequence[int]]) -> float | None:
    """Gwet's AC1; a list per subject: how many raters chose each category."""
    return agreement.gwet_ac1(counts)


def fleiss_kappa(counts: Sequence[Sequence[int]]) -> float | None:
    """Fleiss' kappa; a list per subject: how many raters chose each category. All have the same number of raters."""
    return agreement.fleiss_kappa(counts)


def krippendorff_alpha(units: Sequence[str], numbers: Sequence[float], level: str) -> float | None:
    """Krippendorff's alpha, `nominal`, `ordinal` or `interval`: element i of both lists is one rating of a unit."""
    return agreement.krippendorff_alpha(units, numbers, cast(agreement.Level, level))


def krippendorff_alpha_interval(
    units: Sequence[str], numbers: Sequence[float], clusters: Sequence[str], level: str, confidence: float
) -> dict[str, Any] | None:
    """Krippendorff's alpha with an interval that allows for the units of a cluster (a topic, say) being alike."""
    estimate = agreement.krippendorff_alpha_interval(units, numbers, clusters, cast(agreement.Level, level), confidence)
    return None if estimate is None else asdict(estimate)


def winner_errors(predicted: Sequence[str], gold: Sequence[str]) -> dict[str, Any] | None:
    """Predicted winners against gold ones: rmse (pro 0, tie ½, con 1), accuracy, macro F1, decisive rate."""
    result = votes.winner_errors(predicted, gold)
    return None if result is None else asdict(result)


def mirrored_test(first: Sequence[str], second: Sequence[str]) -> dict[str, Any]:
    """Side preference from pairs of debates with the sides swapped: the winners named in the two debates of pair i."""
    return asdict(bias.mirrored_pairs(first, second))


def verbosity_regression(length_differences: Sequence[float], score_differences: Sequence[float]) -> dict[str, Any]:
    """Least squares of score differences on length differences, and how often the longer side won."""
    return asdict(bias.verbosity(length_differences, score_differences))


def pearson(x: Sequence[float], y: Sequence[float]) -> float | None:
    """Pearson's correlation of two lists, pair by pair."""
    return correlation.pearson(x, y)


def spearman(x: Sequence[float], y: Sequence[float]) -> float | None:
    """Spearman's rank correlation of two lists, pair by pair."""
    return correlation.spearman(x, y)


def kendall_tau_b(x: Sequence[float], y: Sequence[float]) -> float | None:
    """Kendall's rank correlation tau-b of two lists, pair by pair."""
    return correlation.kendall_tau_b(x, y)


_AGREEMENT = ("stats/agreement.py", "stats/jackknife.py", "stats/significance.py", "stats/distributions.py")
_BIAS = ("stats/bias.py", "stats/significance.py", "stats/distributions.py")
_CORRELATION = ("stats/correlation.py", "stats/agreement.py")
_TWO_LABELS = ("VARCHAR[]", "VARCHAR[]")
_TWO_LISTS = ("DOUBLE[]", "DOUBLE[]")

FUNCTIONS: Mapping[str, SqlFunction] = {
    "winner_agreement": SqlFunction(
        winner_agreement,
        _TWO_LABELS,
        'STRUCT("count" BIGINT, agreement DOUBLE, count_decisive BIGINT, agreement_decisive DOUBLE)',
        _AGREEMENT,
    ),
    "cohen_kappa": SqlFunction(cohen_kappa, _TWO_LABELS, "DOUBLE", _AGREEMENT),
    "weighted_kappa": SqlFunction(weighted_kappa, (*_TWO_LABELS, "VARCHAR[]", "VARCHAR"), "DOUBLE", _AGREEMENT),
    "gwet_ac1": SqlFunction(gwet_ac1, ("BIGINT[][]",), "DOUBLE", _AGREEMENT),
    "fleiss_kappa": SqlFunction(fleiss_kappa, ("BIGINT[][]",), "DOUBLE", _AGREEMENT),
    "krippendorff_alpha": SqlFunction(krippendorff_alpha, ("VARCHAR[]", "DOUBLE[]", "VARCHAR"), "DOUBLE", _AGREEMENT),
    "krippendorff_alpha_interval": SqlFunction(
        krippendorff_alpha_interval,
        ("VARCHAR[]", "DOUBLE[]", "VARCHAR[]", "VARCHAR", "DOUBLE"),
        "STRUCT(value DOUBLE, standard_error DOUBLE, ci_low DOUBLE, ci_high DOUBLE, clusters BIGINT)",
        _AGREEMENT,
    ),
    "winner_errors": SqlFunction(
        winner_errors,
        _TWO_LABELS,
        'STRUCT("count" BIGINT, rmse DOUBLE, accuracy DOUBLE, macro_f1 DOUBLE, decisive_rate DOUBLE)',
        ("stats/votes.py",),
    ),
    "mirrored_test": SqlFunction(
        mirrored_test,
        _TWO_LABELS,
        "STRUCT(pairs BIGINT, pro_both BIGINT, con_both BIGINT, consistent BIGINT, exact_p DOUBLE, "
        "consistency_rate DOUBLE)",
        _BIAS,
    ),
    "verbosity_regression": SqlFunction(
        verbosity_regression,
        _TWO_LISTS,
        'STRUCT("count" BIGINT, correlation DOUBLE, slope DOUBLE, intercept DOUBLE, r2 DOUBLE, count_decisive BIGINT, '
        "longer_wins_rate DOUBLE)",
        _BIAS,
    ),
    "pearson": SqlFunction(pearson, _TWO_LISTS, "DOUBLE", _CORRELATION),
    "spearman": SqlFunction(spearman, _TWO_LISTS, "DOUBLE", _CORRELATION),
    "kendall_tau_b": SqlFunction(kendall_tau_b, _TWO_LISTS, "DOUBLE", _CORRELATION),
}
