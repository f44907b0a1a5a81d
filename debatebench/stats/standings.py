"""Standings: Bradley–Terry ratings with 95 % intervals, and the ranks that are possible.

**Intervals.** Games on one topic are not independent: a motion suits some debaters. So whole topics are drawn with
replacement (a multinomial over topics on their counts by pair, which is the same), and the interval is

    rating ± t(G - 1) * sqrt(G / (G - 1)) * (standard deviation over the resamples)

with G topics: the t interval with a bootstrap standard error, and the factor by which the bootstrap of G units is too
narrow (T. Hesterberg, What Teachers Should Know About the Bootstrap, The American Statistician 69, 2015). In
simulations (`benchmarks/recovery.py`) it covers the truth in 95 to 97 % of cases for 3 to 24 topics, whether topics
matter or not, where percentiles of the resamples cover it in 73 to 93 %. With fewer than `LEAST_TOPICS` topics nothing
can be said about other topics: then single games are drawn, and the interval holds for these topics alone. With more
than `MOST_DEBATERS` debaters the standard error is the sandwich's, which resampling approximates.

**Resamples that vary too little.** If every topic has the same results (judges that follow the side, nothing but ties),
so has every resample: its spread of zero says that the rare debate with another result is not there, not that it cannot
happen. So the standard error is at least `LEAST_SHARE` of the model's. Ties and sides do reduce the real spread, so the
whole of the model's error would be too wide: half of it is the real spread where three debates of four are tied, or pro
wins 14 of 15. Where games separated debaters (see `bradley_terry`), who has won every game wins every resample, and the
least is the whole of the model's. `benchmarks/interval_coverage.py` simulates it.

**Ranks.** The ranges of ranks hold for all debaters at once (`rank_sets.py`): they come from the resamples of all
ratings together, so they know how sure the *difference* of two ratings is. Debaters that no chain of debates links are
never told apart.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from debatebench.stats.bradley_terry import (
    ELO_PER_LOG_STRENGTH,
    Fit,
    covariances,
    fit,
    fit_resampled,
    linked,
)
from debatebench.stats.counted_games import Array, Games, pair_counts
from debatebench.stats.distributions import normal_quantile, t_quantile
from debatebench.stats.rank_sets import rank_sets

EQUAL = 1.5e-9
"""Ratings are rounded to a billionth of a point; ratings that differ by no more are equal (`macros.shared_rank`)."""

LEAST_SHARE = 0.5
"""A standard error over topics or games is at least this share of the model's."""

LEAST_TOPICS = 3
"""With fewer topics, intervals come from single games."""

MOST_DEBATERS = 100
"""With more debaters, standard errors come from the sandwich: the resampling would take the cube of their number."""


@dataclass(frozen=True, slots=True)
class Standings:
    """Ratings on the Elo scale with their intervals and ranks; arrays with one element per debater.

    `rank` is the place by rating, shared by equal ratings. `rank_low` and `rank_high` are the best and the worst place
    that are possible, for all debaters at once. `interval_method` is `bootstrap_topics`, `bootstrap_games`,
    `sandwich_topics` or `sandwich_games`.
    """

    rating: Array
    standard_error: Array
    ci_low: Array
    ci_high: Array
    rank: Array
    rank_low: Array
    rank_high: Array
    component: Array
    is_separated: bool
    interval_method: str
    count_topics: int


def standings(
    games: Games,
    *,
    mean: float = 400.0,
    resamples: int = 1000,
    seed: int = 0,
    level: float = 0.95,
    least_share: float = LEAST_SHARE,
) -> Standings:
    """Standings of all debaters; empty where there is none.

    They depend on the games only: not on the order of rows, nor on which code a debater or topic has (but for what is
    drawn for equal ratings).
    """
    fitted = fit(games)
    if games.count_debaters == 0:
        none, nowhere = np.zeros(0), np.zeros(0, dtype=np.int64)
        return Standings(none, none, none, none, nowhere, nowhere, nowhere, nowhere, False, "bootstrap_games", 0)
    count_topics = len(np.unique(games.topic[games.count > 0]))
    unit = unit_of_inference(count_topics)
    known = covariances(games, fitted)
    if games.count_debaters > MOST_DEBATERS or resamples < 2:
        method = "sandwich"
        covariance = known.topics if unit == "topics" else known.games
    else:
        method = "bootstrap"
        covariance = _resampled_covariance(games, fitted, unit, resamples, seed)
    return placed(
        fitted,
        covariance,
        known.model,
        linked=linked(games),
        interval_method=f"{method}_{unit}",
        count_topics=count_topics,
        mean=mean,
        seed=seed,
        level=level,
        least_share=least_share,
    )


def unit_of_inference(count_topics: int) -> str:
    """`topics`, or `games` where there are too few topics to say anything about others."""
    return "topics" if count_topics >= LEAST_TOPICS else "games"


def placed(
    fitted: Fit,
    covariance: Array,
    model: Array,
    *,
    linked: Array,
    interval_method: str,
    count_topics: int,
    mean: float,
    seed: int = 0,
    level: float = 0.95,
    least_share: float = LEAST_SHARE,
) -> Standings:
    """Standings from fitted strengths, their covariance over topics or games, and the model's.

    `interval_method` says of which of the two the covariance is; `linked` are the debaters that can be compared.
    """
    is_over_topics = interval_method.endswith("_topics")
    least = 1.0 if fitted.is_separated else least_share
    own = np.sqrt(np.maximum(np.diag(model), 0.0))
    error = np.maximum(np.sqrt(np.maximum(np.diag(covariance), 0.0)), own * least)
    rating = np.round(mean + ELO_PER_LOG_STRENGTH * fitted.strengths, 9)
    margin = ELO_PER_LOG_STRENGTH * error * critical_value(count_topics if is_over_topics else None, level)
    ci_low, ci_high = np.round(rating - margin, 9), np.round(rating + margin, 9)
    rank_low, rank_high = rank_sets(
        fitted.strengths,
        covariance * (count_topics / (count_topics - 1) if is_over_topics else 1.0),
        model,
        degrees=count_topics - 1 if is_over_topics else None,
        linked=linked,
        least_share=least,
        level=level,
        seed=seed,
    )
    return Standings(
        rating=rating,
        standard_error=np.round(ELO_PER_LOG_STRENGTH * error, 9),
        ci_low=ci_low,
        ci_high=ci_high,
        rank=shared_ranks(rating),
        rank_low=rank_low,
        rank_high=rank_high,
        component=fitted.component,
        is_separated=fitted.is_separated,
        interval_method=interval_method,
        count_topics=count_topics,
    )


def critical_value(count_topics: int | None, level: float = 0.95) -> float:
    """How many standard errors an interval reaches to each side.

    With topics, `t(G - 1) * sqrt(G / (G - 1))` for standard errors without a small-sample correction; without (None),
    the normal distribution's.
    """
    if count_topics is None:
        return normal_quantile((1 + level) / 2)
    return t_quantile(level, count_topics - 1) * math.sqrt(count_topics / (count_topics - 1))


def shared_ranks(ratings: Array) -> Array:
    """1 plus the number of ratings that are higher by more than `EQUAL`, so that equal ratings share a rank."""
    return np.asarray(len(ratings) - np.searchsorted(np.sort(ratings), ratings + EQUAL, side="right") + 1)


def rank_ranges(ci_low: Sequence[float] | Array, ci_high: Sequence[float] | Array) -> tuple[Array, Array]:
    """The best and the worst rank that intervals leave open, both counted from 1; one element per interval.

    The best is one more than the number of intervals that lie wholly above, the worst one more than the number that do
    not lie wholly below.
    """
    low, high = np.asarray(ci_low, dtype=float), np.asarray(ci_high, dtype=float)
    above = (low[None, :] > high[:, None]).sum(axis=1)
    below = (high[None, :] < low[:, None]).sum(axis=1)
    return above + 1, len(low) - below


def _resampled_covariance(games: Games, fitted: Fit, unit: str, resamples: int, seed: int) -> Array:
    """Covariances of the log-strengths over resamples of topics or of games: a matrix of debaters by debaters."""
    # Codes follow names, and what is drawn must not: so debaters stand in the order of their strengths here, and topics
    # in that of what was played.
    order = np.lexsort((np.arange(games.count_debaters), -np.round(fitted.strengths, 9)))
    place = np.argsort(order)
    sorted_games = replace(games, pro=place[games.pro], con=place[games.con])
    start = Fit(np.round(fitted.strengths, 9)[order], fitted.component[order])
    rng = np.random.default_rng(seed)
    if unit == "topics":
        _, topic = np.unique(games.topic, return_inverse=True)
        pairs, counts, points = pair_counts(sorted_games, topic)
        played = np.hstack([counts, points])[counts.any(axis=1)]
        played = played[sorted(range(len(played)), key=lambda row: played[row].tobytes())]
        drawn = rng.multinomial(len(played), np.full(len(played), 1 / len(played)), size=resamples) @ played
        drawn_counts, drawn_points = np.hsplit(drawn, 2)
    else:
        pairs, counts, points = pair_counts(sorted_games)
        nothing = np.zeros_like(games.ties)
        _, ties, _ = pair_counts(replace(sorted_games, pro_wins=nothing, con_wins=nothing))
        wins = points - ties / 2
        cells = np.hstack([wins, ties, counts - wins - ties])[0]
        total = int(cells.sum())
        drawn = rng.multinomial(total, cells / total, size=resamples).astype(float)
        won, tied, lost = np.hsplit(drawn, 3)
        drawn_counts, drawn_points = won + tied + lost, won + tied / 2
    strengths = fit_resampled(pairs, drawn_counts, drawn_points, start)
    return np.cov(strengths, rowvar=False)[np.ix_(place, place)]
