"""How close a judge comes to what people say, over all debates and without each cluster of debates.

A judge may judge a debate more than once. The trials of a debate are averaged first, so that every debate counts once:
a debate has shares of predictions (2/3 pro, 1/3 tie), mean squared errors and a mean score difference. Debates of one
cluster (a topic, say) are left out together.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TypeVar

from debatebench.stats.correlation import kendall_tau_b, spearman

WINNERS = ("pro", "tie", "con")
"""The classes of truths and predictions."""

MOST_GROUPS = 200
"""The most groups of clusters that are left out in turn. With more clusters than this, a group has several."""

# What is left by rounding where two predictions by chance always agree.
_ROUNDING = 1e-12

_T = TypeVar("_T")
_Row = tuple[float, ...]


@dataclass(frozen=True, slots=True)
class LeftOut:
    """A measure, and what it is without each group of clusters in turn, for `macros.jackknife_error`."""

    value: float
    left_out: list[float | None]


@dataclass(frozen=True, slots=True)
class PredictionQuality:
    """The measures; `None` where one is not defined."""

    rmse_score_comparison: LeftOut | None
    rmse_direct_prediction: LeftOut | None
    weighted_f1: LeftOut | None
    spearman: LeftOut | None
    kendall_tau_b: LeftOut | None


def prediction_quality(
    clusters: Sequence[str],
    truths: Sequence[str | None],
    pro_shares: Sequence[float | None],
    tie_shares: Sequence[float | None],
    con_shares: Sequence[float | None],
    score_comparison_errors: Sequence[float | None],
    direct_prediction_errors: Sequence[float | None],
    judge_differences: Sequence[float | None],
    people_differences: Sequence[float | None],
) -> PredictionQuality:
    """How close predictions come to the truth, also without each cluster; element i of each list is debate i.

        rmse = sqrt(mean squared error)
        weighted F1 = Σ t(k) / n · 2 n(k, k) / (t(k) + p(k))

    over the classes k (pro, tie, con): n(j, k) adds up the shares of predictions k in debates whose truth is j, t and p
    are its sums over predictions and over truths (C. van Rijsbergen, Information Retrieval, 1979). `truths` holds
    classes. The errors are squared differences of labels (pro 0, tie ½, con 1); the differences are scores of pro minus
    con. A measure leaves out debates that lack what it needs. `clusters` names the cluster of each debate. Each cluster
    is left out in turn, or each of `MOST_GROUPS` groups of clusters. Raises `ValueError` for lists of different
    lengths.
    """
    lists: tuple[Sequence[object], ...] = (truths, pro_shares, tie_shares, con_shares, score_comparison_errors)
    lists = (*lists, direct_prediction_errors, judge_differences, people_differences)
    if any(len(each) != len(clusters) for each in lists):
        raise ValueError(f"there are {len(clusters)} debates but lists of {sorted({len(each) for each in lists})}")
    cells = [_cells(truth, shares) for truth, *shares in zip(truths, pro_shares, tie_shares, con_shares, strict=True)]
    pairs = [
        None if judge is None or people is None else (judge, people)
        for judge, people in zip(judge_differences, people_differences, strict=True)
    ]
    return PredictionQuality(
        rmse_score_comparison=rmse(clusters, score_comparison_errors),
        rmse_direct_prediction=rmse(clusters, direct_prediction_errors),
        weighted_f1=_of_sums(clusters, cells, _weighted_f1),
        spearman=_of_pairs(clusters, pairs, spearman),
        kendall_tau_b=_of_pairs(clusters, pairs, kendall_tau_b),
    )


def rmse(clusters: Sequence[str], squared_errors: Sequence[float | None]) -> LeftOut | None:
    """The root of the mean of squared errors from 0 to 1, over all debates and without each cluster.

    Element i of both is debate i, its cluster and its error; an error that is `None` is left out. See
    `prediction_quality`. `None` without errors.
    """
    if len(clusters) != len(squared_errors):
        raise ValueError(f"there are {len(clusters)} debates but {len(squared_errors)} errors")
    rows = [None if error is None else (1.0, error) for error in squared_errors]
    return _of_sums(clusters, rows, lambda sums: math.sqrt(max(sums[1], 0.0) / sums[0]))


def _cells(truth: str | None, shares: Sequence[float | None]) -> _Row | None:
    """What a debate adds to the nine cells n(truth, prediction), row by row."""
    if truth is None or None in shares:
        return None
    if truth not in WINNERS:
        raise ValueError(f"a truth is pro, tie or con, not '{truth}'")
    return tuple((share or 0.0) if winner == truth else 0.0 for winner in WINNERS for share in shares)


def _weighted_f1(sums: _Row) -> float | None:
    n, rows, columns = _margins(sums)
    shares = zip(rows, columns, sums[::4], strict=True)
    return math.fsum(row / n * 2 * hits / (row + column) for row, column, hits in shares if row > _ROUNDING)


def _margins(sums: _Row) -> tuple[float, list[float], list[float]]:
    """All predictions, those by truth, and those by what was predicted."""
    return math.fsum(sums), [math.fsum(sums[k : k + 3]) for k in (0, 3, 6)], [math.fsum(sums[k::3]) for k in range(3)]


def _of_sums(
    clusters: Sequence[str],
    rows: Sequence[_Row | None],
    statistic: Callable[[_Row], float | None],
) -> LeftOut | None:
    """A statistic of the rows' sums; a row is a debate, `None` one that does not count."""
    groups = _groups(clusters, rows)
    parts = [tuple(map(math.fsum, zip(*group, strict=True))) for group in groups]
    total = tuple(map(math.fsum, zip(*(row for group in groups for row in group), strict=True)))
    value = statistic(total) if total else None
    if value is None:
        return None
    rest = (tuple(whole - part for whole, part in zip(total, each, strict=True)) for each in parts)
    return LeftOut(value, [statistic(sums) for sums in rest] if len(parts) > 1 else [None])


def _of_pairs(
    clusters: Sequence[str],
    pairs: Sequence[tuple[float, float] | None],
    statistic: Callable[[Sequence[float], Sequence[float]], float | None],
) -> LeftOut | None:
    """A correlation; a pair is a debate, `None` one that does not count."""

    def of(groups: Iterable[Sequence[tuple[float, float]]]) -> float | None:
        some = [pair for group in groups for pair in group]
        return statistic([a for a, _ in some], [b for _, b in some])

    groups = _groups(clusters, pairs)
    value = of(groups)
    if value is None:
        return None
    return LeftOut(value, [of(other for other in groups if other is not group) for group in groups])


def _groups(clusters: Sequence[str], rows: Sequence[_T | None]) -> list[list[_T]]:
    """The rows cluster by cluster, or in `MOST_GROUPS` groups with nearly the same number of clusters."""
    found: defaultdict[str, list[_T]] = defaultdict(list)
    for cluster, row in zip(clusters, rows, strict=True):
        if row is not None:
            found[cluster].append(row)
    ordered = [found[cluster] for cluster in sorted(found)]
    count = min(len(ordered), MOST_GROUPS)
    return [[row for group in ordered[first::count] for row in group] for first in range(count)]
