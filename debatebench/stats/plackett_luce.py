"""Plackett–Luce ratings: strengths from rankings of two, four or any number of debaters.

Every debater i has a log-strength θ_i. A ranking is a chain of choices: the first place is chosen among all debaters of
the debate, the second among those that are left, and so on, each with the probability

    P(i is chosen from S) = exp(θ_i) / sum over j in S of exp(θ_j)

(R. Luce, Individual Choice Behavior, 1959; R. Plackett, The Analysis of Permutations, Applied Statistics 24, 1975; as
ratings: D. Hunter, MM Algorithms for Generalized Bradley-Terry Models, Annals of Statistics 32, 2004). Of two debaters,
that is the model of Bradley and Terry, and everything else here is as in `bradley_terry`: the scale, the prior where
the rankings have no finite answer, Newton's method, the covariances.

**Ties.** Each order of debaters that share a place counts alike: of two, both orders as half a ranking each, of three
all six as a sixth each. For rankings of two, that is half a win for each, as in `bradley_terry`. (The arithmetic mean
of the orders' likelihoods, which is usual for incomplete rankings, would make a tie of two say nothing; the model of
H. Turner, J. van Etten, D. Firth and I. Kosmidis, Modelling Rankings in R: the PlackettLuce Package, Computational
Statistics 35, 2020, gives ties parameters of their own, as Davidson's does for two.)

**When there is an answer.** The likelihood has a maximum only if a chain of better or shared places leads from each
debater to each other one (Hunter 2004, assumption 1).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations, groupby
from math import comb

import numpy as np

from debatebench.stats.bradley_terry import (
    Fit,
    centred_inverse,
    closure,
    damping,
    numbered,
    prior_information,
    prior_score,
)
from debatebench.stats.counted_games import Array
from debatebench.stats.standings import LEAST_SHARE, Standings, placed, unit_of_inference

MOST_TIED = 8
"""The most debaters that can share a place: a choice is averaged over all sets of them."""

_CONVERGED = 1e-9
_MOST_STEPS = 500


@dataclass(frozen=True, slots=True)
class Rankings:
    """Rankings as weighted choices.

    `topic` has the code of each debate's topic, from 0. Of each choice there are the debate (`debate`), the debaters
    among whom it is made (`members`: one row per choice, codes from 0, filled up with -1) and its `weight`; a choice
    among one is left out. `points` (debates, widest) are the chosen of each debate in the order of `debaters`, with the
    weights of their choices. `beats` (debaters, debaters) says who had a better or the same place as whom.
    """

    topic: Array
    debate: Array
    members: Array
    weight: Array
    debaters: Array
    points: Array
    beats: Array

    @property
    def count_debaters(self) -> int:
        return len(self.beats)


def rankings(debate: Sequence[int], topic: Sequence[int], debater: Sequence[int], place: Sequence[float]) -> Rankings:
    """Lists of one length with an element per debate and debater, and codes from 1 → `Rankings`.

    A better place is a smaller number; equal numbers share a place. Elements may come in any order. Raises `ValueError`
    when lengths differ, a code is below 1, a debate has two topics or one debater twice, or more than `MOST_TIED`
    share a place.
    """
    lengths = [len(values) for values in (debate, topic, debater, place)]
    if len(set(lengths)) > 1:
        raise ValueError(f"lengths differ: {', '.join(map(str, lengths))}")
    if min((*debate, *topic, *debater), default=1) < 1:
        raise ValueError("codes run from 1")
    n = max(debater, default=0)
    beats = np.eye(n, dtype=bool)
    choices: list[tuple[int, tuple[int, ...], float]] = []
    topics, won = [], []
    rows = sorted(zip(debate, place, debater, topic, strict=True))
    for number, (_, each) in enumerate(groupby(rows, key=lambda row: row[0])):
        found = list(each)
        order = [(row[1], row[2] - 1) for row in found]
        if len({row[3] for row in found}) > 1:
            raise ValueError("a debate has two topics")
        if len({code for _, code in order}) < len(order):
            raise ValueError("a debater cannot meet itself")
        for at, (own, code) in enumerate(order):
            for other, behind in order[at + 1 :]:
                beats[code, behind] = True
                beats[behind, code] |= own == other
        topics.append(found[0][3] - 1)
        points = {code: 1.0 for _, code in order}
        for members, weight in _choices(order):
            if len(members) > 1:
                choices.append((number, members, weight))
            else:
                points[members[0]] -= weight
        won.append(points)
    widest = max((len(members) for _, members, _ in choices), default=1)
    return Rankings(
        topic=np.array(topics, dtype=np.int64),
        debate=np.array([number for number, _, _ in choices], dtype=np.int64),
        members=np.array([_filled(members, widest, -1) for _, members, _ in choices], dtype=np.int64).reshape(
            -1, widest
        ),
        weight=np.array([weight for _, _, weight in choices]),
        debaters=np.array([_filled(tuple(each), widest, 0) for each in won], dtype=np.int64).reshape(-1, widest),
        points=np.array([_filled(tuple(each.values()), widest, 0) for each in won], dtype=float).reshape(-1, widest),
        beats=beats,
    )


def fit(ranked: Rankings) -> Fit:
    """Log-strengths of all debaters; empty where there is none, and zero for a debater without a ranking."""
    n = ranked.count_debaters
    if n == 0:
        return Fit(np.zeros(0), np.zeros(0, dtype=np.int64))
    reach = closure(ranked.beats[None])[0]
    strengths = _climb(ranked, has_prior=not reach.all())
    return Fit(strengths, numbered(reach & reach.T, strengths))


def standings(
    ranked: Rankings, *, mean: float = 400.0, seed: int = 0, level: float = 0.95, least_share: float = LEAST_SHARE
) -> Standings:
    """Standings of all debaters, as those of `debatebench.stats.standings` with the sandwich's standard errors.

    Debates on a topic may depend on each other in any way; with fewer than three topics, single debates vary.
    """
    fitted = fit(ranked)
    if ranked.count_debaters == 0:
        none, nowhere = np.zeros(0), np.zeros(0, dtype=np.int64)
        return Standings(none, none, none, none, nowhere, nowhere, nowhere, nowhere, False, "sandwich_games", 0)
    topics, topic = np.unique(ranked.topic, return_inverse=True)
    unit = unit_of_inference(len(topics))
    model = model_covariance(ranked, fitted)
    clusters = topic if unit == "topics" else np.arange(len(ranked.topic))
    met = ranked.beats | ranked.beats.T
    return placed(
        fitted,
        clustered_covariance(ranked, fitted, clusters, model),
        model,
        linked=closure(met[None])[0],
        interval_method=f"sandwich_{unit}",
        count_topics=len(topics),
        mean=mean,
        seed=seed,
        level=level,
        least_share=least_share,
    )


def model_covariance(ranked: Rankings, fitted: Fit) -> Array:
    """The inverse information: covariances of log-strengths if the model holds and debates are independent."""
    _, information = _derivatives(ranked, fitted.strengths)
    if fitted.is_separated:
        information = information + prior_information(fitted.strengths)
    return centred_inverse(information)


def clustered_covariance(ranked: Rankings, fitted: Fit, clusters: Array, model: Array) -> Array:
    """The sandwich around the scores of clusters, which are codes from 0 of the debates (see `bradley_terry`)."""
    n = ranked.count_debaters
    scores = np.zeros((int(clusters.max(initial=-1)) + 1, n))
    np.add.at(scores, (clusters[:, None], ranked.debaters), ranked.points)
    expected = _expected(ranked, fitted.strengths)
    np.add.at(scores, (clusters[ranked.debate][:, None], np.maximum(ranked.members, 0)), -expected)
    by_cluster = scores @ model
    return np.asarray(by_cluster.T @ by_cluster)


def _choices(order: Sequence[tuple[float, int]]) -> Iterator[tuple[tuple[int, ...], float]]:
    """The sets among which the places of one ranking are chosen, with weights; `order` is sorted (place, code)."""
    left = len(order)
    for _, group in groupby(order, key=lambda each: each[0]):
        tied = [code for _, code in group]
        if len(tied) > MOST_TIED:
            raise ValueError(f"{len(tied)} debaters share a place, and at most {MOST_TIED} may")
        left -= len(tied)
        behind = tuple(code for _, code in order[len(order) - left :])
        # Over all orders of the tied, each set of `size` of them is as often what is left to choose from.
        for size in range(len(tied), 0, -1):
            for chosen in combinations(tied, size):
                yield (*chosen, *behind), 1 / comb(len(tied), size)


def _filled(values: tuple[float, ...], width: int, empty: float) -> tuple[float, ...]:
    return (*values, *[empty] * (width - len(values)))


def _climb(ranked: Rankings, *, has_prior: bool) -> Array:
    """The log-strengths that maximise the likelihood, which must have a maximum."""
    strengths = np.zeros(ranked.count_debaters)
    for _ in range(_MOST_STEPS):
        score, information = _derivatives(ranked, strengths)
        if has_prior:
            score = score + prior_score(strengths[None])[0]
            information = information + prior_information(strengths)
        # Adding the matrix of ones keeps the sum of the log-strengths, and makes the information invertible.
        step = np.linalg.solve(information + 1.0, score)
        reach = step.max() - step.min()
        strengths = strengths + step * damping(reach)
        if reach <= _CONVERGED:
            return np.asarray(strengths - strengths.mean())
    raise ArithmeticError("the Plackett–Luce fit does not converge")


def _expected(ranked: Rankings, strengths: Array) -> Array:
    """How likely each member of each choice is to be chosen, times the weight of the choice; 0 beyond the members."""
    is_there = ranked.members >= 0
    values = np.where(is_there, strengths[ranked.members], -np.inf)
    odds = np.exp(values - values.max(axis=1, keepdims=True))
    return np.asarray(ranked.weight[:, None] * odds / odds.sum(axis=1, keepdims=True))


def _derivatives(ranked: Rankings, strengths: Array) -> tuple[Array, Array]:
    """The first derivative of the log-likelihood, and minus the second: (debaters,) and (debaters, debaters)."""
    n = len(strengths)
    members = np.maximum(ranked.members, 0)
    expected = _expected(ranked, strengths)
    score = np.bincount(ranked.debaters.ravel(), weights=ranked.points.ravel(), minlength=n)
    score -= np.bincount(members.ravel(), weights=expected.ravel(), minlength=n)
    both = expected[:, :, None] * expected[:, None, :] / ranked.weight[:, None, None]
    cells = members[:, :, None] * n + members[:, None, :]
    information = -np.bincount(cells.ravel(), weights=both.ravel(), minlength=n * n).reshape(n, n)
    information[np.arange(n), np.arange(n)] += np.bincount(members.ravel(), weights=expected.ravel(), minlength=n)
    return score, information
