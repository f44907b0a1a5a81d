"""Bradley–Terry ratings: strengths from who won against whom, whatever the order of the games.

Every debater i has a log-strength θ_i, and beats debater j with probability

    P(i beats j) = 1 / (1 + exp(θ_j - θ_i))

(R. Bradley and M. Terry, Rank Analysis of Incomplete Block Designs, Biometrika 39, 1952). A tie counts as half a win
for each. The log-strengths are those under which the games are likeliest, and sum to zero. On the Elo scale, `rating =
mean + 400 / ln(10) * θ`, so that 400 points more are odds of 10 to 1.

**Separation.** The likelihood has a maximum only if a chain of wins or ties leads from each debater to each other one
(L. Ford, Solution of a Ranking Problem from Binary Comparisons, 1957). Where a debater has never won or never lost
there is none, and Newton's method runs away without a word. Then, and only then, each debater is given `PRIOR_GAMES`
tied games against an opponent of average strength (J. Whelan, Prior Distributions for the Bradley-Terry Model of Paired
Comparisons, arXiv:1712.05311). Ratings are then finite and drawn towards the mean, and a difference between debaters
whom no chain links both ways rests on that prior as much as on the games. Groups that never met come out around the
same mean, which does not say that they are equally strong: nothing does.

**Newton's method** is damped where a step is long. Along a step that changes differences in log-strength by r at most,
the third derivative of the likelihood is at most r times the second, so that `ln(1 + r) / r` of the step always climbs,
and the whole step does while r ≤ 1 (after F. Bach, Self-concordant Analysis for Logistic Regression, 2010). So it
always arrives, without a line search.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from debatebench.stats.counted_games import Array, Games, Pairs, counted_games, pair_counts

ELO_PER_LOG_STRENGTH = 400.0 / math.log(10.0)
"""Points on the Elo scale per unit of log-strength."""

PRIOR_GAMES = 1.0
"""Tied games of each debater against an average opponent, where the games alone have no finite answer."""

_CONVERGED = 1e-7
_CONVERGED_RESAMPLE = 1e-3
_MOST_STEPS = 500
_CELLS_AT_ONCE = 100_000


@dataclass(frozen=True, slots=True)
class Fit:
    """Log-strengths that sum to zero, and how the games link the debaters; one element per debater.

    Debaters of one `component` (numbered from 0, the strongest first) are linked by chains of wins or ties both ways.
    """

    strengths: Array
    component: Array

    @property
    def is_separated(self) -> bool:
        """Whether the prior was needed."""
        return bool(self.component.max(initial=0) > 0)


@dataclass(frozen=True, slots=True)
class StandardErrors:
    """Standard errors of log-strengths (each against the mean of all), one element per debater; see `Covariances`."""

    model: Array
    games: Array
    topics: Array


@dataclass(frozen=True, slots=True)
class Covariances:
    """Covariances of log-strengths (each against the mean of all): matrices of debaters by debaters.

    `model` trusts the model and that games are independent; `games` (HC0) only the latter; `topics` allows the games
    of a topic to depend on each other in any way. None has a correction for small samples.
    """

    model: Array
    games: Array
    topics: Array

    @property
    def standard_errors(self) -> StandardErrors:
        """The roots of the diagonals."""
        diagonals = (np.diag(each) for each in (self.model, self.games, self.topics))
        return StandardErrors(*(np.sqrt(np.maximum(each, 0.0)) for each in diagonals))


def fit(games: Games) -> Fit:
    """Log-strengths of all debaters; empty where there is none, and zero for a debater without games."""
    pairs, counts, points = pair_counts(games)
    if games.count_debaters == 0:
        return Fit(np.zeros(0), np.zeros(0, dtype=np.int64))
    reach = _reach(pairs, counts, points)[0]
    strengths = _climb(pairs, counts, points, np.zeros(games.count_debaters), has_prior=not reach.all())[0]
    return Fit(strengths, numbered(reach & reach.T, strengths))


def fit_resampled(pairs: Pairs, counts: Array, points: Array, start: Fit) -> Array:
    """Log-strengths under many resamples at once: (resamples, debaters) from counts of shape (resamples, pairs).

    Starts from the fit of the whole. The prior is there in all resamples when that needed it, and otherwise in those
    that need it themselves.
    """
    n, resamples = pairs.count_debaters, len(counts)
    strengths = np.zeros((resamples, n))
    # Blocks small enough for the processor's cache are quicker than all resamples together.
    size = max(1, _CELLS_AT_ONCE // max(n * n, 1))
    for at in range(0, resamples, size):
        block = slice(at, at + size)
        is_weak = np.full(len(counts[block]), start.is_separated)
        if not start.is_separated:
            is_weak = ~_is_linked(pairs, counts[block], points[block])
        for has_prior in (False, True):
            chosen = np.flatnonzero(is_weak == has_prior)
            if len(chosen):
                strengths[at + chosen] = _climb(
                    pairs,
                    counts[block][chosen],
                    points[block][chosen],
                    start.strengths,
                    has_prior=has_prior,
                    converged=_CONVERGED_RESAMPLE,
                )
    return strengths


def ratings_without_topics(games: Games, mean: float = 400.0) -> tuple[Array, Array]:
    """The topics that have a game, and the ratings on the Elo scale without each: (topics,) and (topics, debaters).

    To about a thousandth of a point.
    """
    topics, unit = np.unique(games.topic, return_inverse=True)
    pairs, counts, points = pair_counts(games, unit)
    is_played = counts.any(axis=1)
    rest, rest_points = counts.sum(axis=0) - counts[is_played], points.sum(axis=0) - points[is_played]
    strengths = fit_resampled(pairs, rest, rest_points, fit(games))
    return topics[is_played], np.asarray(mean + ELO_PER_LOG_STRENGTH * strengths)


def resampled_ratings(
    game: Sequence[int],
    pro: Sequence[int],
    con: Sequence[int],
    score: Sequence[float],
    resamples: Sequence[Sequence[int]],
    mean: float = 400.0,
) -> list[list[float]]:
    """Ratings on the Elo scale in each of `resamples`, each a list of numbers of games (with repetitions).

    One element of `game` (the game's number), `pro`, `con` (codes from 1) and `score` (1, 0.5 or 0) per game. Raises
    `ValueError` for a game that is not there, twice there, or has another score.
    """
    scores = np.asarray(score, dtype=float)
    if not np.isin(scores, (0.0, 0.5, 1.0)).all():
        raise ValueError("a score must be 1 (pro won), 0.5 (tie) or 0 (con won)")
    numbers, place = np.unique(np.asarray(game, dtype=np.int64), return_inverse=True)
    if len(numbers) < len(place):
        raise ValueError("the number of a game occurs twice")
    one = np.ones(len(place), dtype=np.int64)
    games = counted_games(one.tolist(), pro, con, *((scores == each).tolist() for each in (1.0, 0.5, 0.0)))
    pairs, counts, points = pair_counts(games, place)
    drawn = np.zeros((len(resamples), len(numbers)))
    for row, chosen in enumerate(resamples):
        at = np.searchsorted(numbers, chosen)
        if len(at) and (at.max() >= len(numbers) or (numbers[at] != chosen).any()):
            raise ValueError("a resample contains an unknown game")
        drawn[row] = np.bincount(at, minlength=len(numbers))
    strengths = fit_resampled(pairs, drawn @ counts, drawn @ points, fit(games))
    ratings: list[list[float]] = (mean + ELO_PER_LOG_STRENGTH * strengths).tolist()
    return ratings


def standard_errors(games: Games, fitted: Fit) -> StandardErrors:
    """Standard errors of all debaters; zero for a debater alone."""
    return covariances(games, fitted).standard_errors


def covariances(games: Games, fitted: Fit) -> Covariances:
    """Covariances by the inverse information, and by the sandwich `A B A` around the scores of games or topics.

    `A` is the inverse of the information, `B` the sum of the scores' squares (P. Huber 1967; over clusters: K.-Y. Liang
    and S. Zeger, Longitudinal Data Analysis Using Generalized Linear Models, Biometrika 73, 1986). Zero for a debater
    alone.
    """
    n = games.count_debaters
    if n == 0:
        return Covariances(*(np.zeros((0, 0)) for _ in range(3)))
    p = expit(fitted.strengths[games.pro] - fitted.strengths[games.con])
    pairs, counts, _ = pair_counts(games)
    expected = expit(fitted.strengths[pairs.first] - fitted.strengths[pairs.second])
    weights = counts * expected * (1 - expected)
    bread = centred_inverse(_information(pairs, weights, fitted.strengths[None], fitted.is_separated)[0])
    squares = games.pro_wins * (1 - p) ** 2 + games.ties * (0.5 - p) ** 2 + games.con_wins * p**2
    by_game = _laplacian(games.pro, games.con, squares, n)
    residual = games.points - games.count * p
    count_topics = int(games.topic.max(initial=0)) + 1
    scores = np.zeros((count_topics, n))
    np.add.at(scores, (games.topic, games.pro), residual)
    np.add.at(scores, (games.topic, games.con), -residual)
    by_topic = scores @ bread
    return Covariances(bread, bread @ by_game @ bread, by_topic.T @ by_topic)


# --- the climb --------------------------------------------------------------------------------------------------------


def _climb(
    pairs: Pairs, counts: Array, points: Array, start: Array, *, has_prior: bool, converged: float = _CONVERGED
) -> Array:
    """The log-strengths that maximise each row's likelihood, which must have a maximum: shape (rows, debaters).

    Stops after a step of at most `converged`; the error is then about the square of that.
    """
    strengths = np.tile(start, (len(counts), 1))
    signs = _signs(pairs)
    moving = np.arange(len(counts))
    for _ in range(_MOST_STEPS):
        now = strengths[moving]
        p = expit(now[:, pairs.first] - now[:, pairs.second])
        score = (points[moving] - counts[moving] * p) @ signs
        if has_prior:
            score += prior_score(now)
        # Adding the matrix of ones keeps the sum of the log-strengths, and makes the information invertible.
        information = _information(pairs, counts[moving] * p * (1 - p), now, has_prior) + 1.0
        step = np.linalg.solve(information, score[..., None])[..., 0]
        reach = step.max(axis=1) - step.min(axis=1)
        strengths[moving] = now + step * damping(reach)[:, None]
        moving = moving[reach > converged]
        if len(moving) == 0:
            return np.asarray(strengths - strengths.mean(axis=1, keepdims=True))
    raise ArithmeticError("the Bradley–Terry fit does not converge")


def prior_score(strengths: Array) -> Array:
    """What the prior's games add to the first derivative of the likelihood; strengths of shape (rows, debaters)."""
    pull = PRIOR_GAMES * (0.5 - expit(strengths - strengths.mean(axis=1, keepdims=True)))
    return np.asarray(pull - pull.mean(axis=1, keepdims=True))


def prior_information(strengths: Array) -> Array:
    """What they add to minus the second: a matrix of debaters by debaters, from strengths of shape (debaters,)."""
    none = np.zeros(0, dtype=np.int64)
    return np.asarray(_information(Pairs(none, none, len(strengths)), np.zeros((1, 0)), strengths[None], True)[0])


def damping(reach: Array) -> Array:
    """The share of a Newton step to take, where differences in log-strength change by `reach` at most."""
    return np.asarray(np.where(reach <= 1.0, 1.0, np.log1p(reach) / np.maximum(reach, 1.0)))


def _information(pairs: Pairs, weights: Array, strengths: Array, has_prior: bool) -> Array:
    """Minus the second derivative of the likelihood, from `count * p * (1 - p)` and strengths of shape (rows, …).

    One matrix of debaters by debaters per row; its lines sum to zero.
    """
    n = pairs.count_debaters
    information = np.zeros((len(weights), n, n))
    information[:, pairs.first, pairs.second] = -weights
    information[:, pairs.second, pairs.first] = -weights
    own = -information.sum(axis=2)
    if has_prior:
        p = expit(strengths - strengths.mean(axis=1, keepdims=True))
        pull = PRIOR_GAMES * p * (1 - p)
        # The average opponent moves with every debater: C diag(pull) C with the centring matrix C.
        information += pull.mean(axis=1)[:, None, None] / n - (pull[:, :, None] + pull[:, None, :]) / n
        own += pull
    information[:, np.arange(n), np.arange(n)] += own
    return information


def _signs(pairs: Pairs) -> Array:
    """Shape (pairs, debaters): 1 for the first of a pair, -1 for the second."""
    signs = np.zeros((len(pairs.first), pairs.count_debaters))
    at = np.arange(len(pairs.first))
    signs[at, pairs.first], signs[at, pairs.second] = 1.0, -1.0
    return np.asarray(signs)


def _laplacian(first: Array, second: Array, weights: Array, n: int) -> Array:
    """The sum of `weight * x x'` over rows, where x is 1 for the first and -1 for the second."""
    met = np.bincount(first * n + second, weights=weights, minlength=n * n).reshape(n, n)
    met = met + met.T
    return np.asarray(np.diag(met.sum(axis=0)) - met)


def centred_inverse(information: Array) -> Array:
    """The pseudo-inverse of a matrix whose rows sum to zero and that has full rank otherwise."""
    n = len(information)
    return np.asarray(np.linalg.inv(information + 1.0) - 1.0 / n**2)


def expit(values: Array) -> Array:
    """1 / (1 + exp(-x)), without overflow."""
    return np.asarray(0.5 + 0.5 * np.tanh(0.5 * values))


# --- who is linked to whom --------------------------------------------------------------------------------------------


def _reach(pairs: Pairs, counts: Array, points: Array) -> Array:
    """Whether a chain of wins or ties leads from one debater to another: (rows, debaters, debaters) of truths."""
    n = pairs.count_debaters
    beats = np.zeros((len(counts), n, n), dtype=bool)
    beats[:, pairs.first, pairs.second] = points > 0
    beats[:, pairs.second, pairs.first] = points < counts
    beats[:, np.arange(n), np.arange(n)] = True
    return closure(beats)


def closure(links: Array) -> Array:
    """Chains of links of any length, from links of shape (rows, n, n)."""
    for _ in range(max(links.shape[-1] - 1, 1).bit_length()):
        reach = links.astype(np.float32)
        links = reach @ reach > 0
    return links


def linked(games: Games) -> Array:
    """Whether a chain of debates, whoever won, leads from one debater to another: (debaters, debaters) of truths."""
    met = np.eye(games.count_debaters, dtype=bool)
    met[games.pro[games.count > 0], games.con[games.count > 0]] = True
    return np.asarray(closure((met | met.T)[None])[0])


def _is_linked(pairs: Pairs, counts: Array, points: Array) -> Array:
    """Per row, whether chains lead from every debater to every other one."""
    # What holds of the links that all rows share holds of all rows, and that is nearly always so.
    lost = (counts - points).min(axis=0, keepdims=True)
    won = points.min(axis=0, keepdims=True)
    if _reach(pairs, won + lost, won).all():
        return np.ones(len(counts), dtype=bool)
    return np.asarray(_reach(pairs, counts, points).all(axis=(1, 2)))


def numbered(linked: Array, strengths: Array) -> Array:
    """Components from 0, by the strength of their best debater; where that is equal, by its code."""
    order = np.lexsort((np.arange(len(strengths)), -np.round(strengths, 9)))
    component = np.full(len(strengths), -1)
    number = 0
    for debater in order:
        if component[debater] < 0:
            component[linked[debater]] = number
            number += 1
    return component
