"""Bradley–Terry with more in the model than who met whom: the side, the length of the speeches, and ties.

**Controls.** A game's log-odds that pro wins are `θ_pro - θ_con + side + length * x`, where x is how much longer pro's
speeches were, in standard deviations over the games (style control as in T. Li et al., Does Style Matter?, LMSYS 2024).
The strengths are then those at equal lengths on no side.

**Ties of their own kind.** R. Davidson, On Extending the Bradley-Terry Model to Accommodate Ties, JASA 65, 1970: with
strengths π = exp(θ), pro wins, ties and loses in proportion to `π_pro : ν * sqrt(π_pro * π_con) : π_con`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from debatebench.stats.bradley_terry import (
    ELO_PER_LOG_STRENGTH,
    PRIOR_GAMES,
    closure,
    damping,
    expit,
)
from debatebench.stats.counted_games import Array, Games
from debatebench.stats.standings import LEAST_TOPICS, critical_value

_CONVERGED = 1e-7
_MOST_STEPS = 100
# Log-odds that no realistic number of games can show.
_FARTHEST = 25.0


@dataclass(frozen=True, slots=True)
class Effect:
    """A value with its 95 % interval."""

    value: float
    ci_low: float
    ci_high: float


@dataclass(frozen=True, slots=True)
class Controlled:
    """Ratings at equal length on no side, and the effects, all on the Elo scale.

    `pro_side` is what speaking as pro is worth, `length` what one standard deviation (`length_sd`) more of relative
    length is worth. An effect is None where the games cannot tell it: when lengths never differ, or when sides and
    debaters are the same thing.
    """

    ratings: tuple[Effect, ...]
    pro_side: Effect | None
    length: Effect | None
    length_sd: float | None
    is_separated: bool
    interval_method: str


@dataclass(frozen=True, slots=True)
class Davidson:
    """Log-strengths that sum to zero, and ν: 0 where nothing was tied, None where everything was.

    `tie_rate` is the chance of a tie between equals, ν / (2 + ν).
    """

    strengths: Array
    nu: float | None
    tie_rate: float
    is_separated: bool


def controlled(
    topic: Sequence[int] | Array,
    pro: Sequence[int] | Array,
    con: Sequence[int] | Array,
    score: Sequence[float],
    length_difference: Sequence[float],
    *,
    mean: float = 400.0,
    level: float = 0.95,
) -> Controlled | None:
    """Ratings and effects from single games, one element each: codes from 1, pro's score, pro's surplus of length.

    `length_difference` is `(pro - con) / (pro + con)`; it is divided by its standard deviation here, and not centred,
    so that zero stays equal length. Intervals are the sandwich's around topics (around games where topics are fewer
    than `LEAST_TOPICS`), and at least the model's. Without games the answer is None. Where the likelihood has no
    maximum, each debater and each effect is given `PRIOR_GAMES` tied games as in `bradley_terry`. Raises `ValueError`
    for lists of different lengths, scores outside [0, 1], and debaters that meet themselves.
    """
    codes = [np.asarray(values, dtype=np.int64) for values in (topic, pro, con)]
    numbers = [np.asarray(values, dtype=float) for values in (score, length_difference)]
    if len({len(values) for values in (*codes, *numbers)}) > 1:
        raise ValueError("lengths differ: one element per game is needed")
    if len(codes[0]) == 0:
        return None
    if any(each.min() < 1 for each in codes) or (codes[1] == codes[2]).any():
        raise ValueError("codes run from 1, and a debater cannot play against itself")
    if not ((numbers[0] >= 0) & (numbers[0] <= 1)).all() or not np.isfinite(numbers[1]).all():
        raise ValueError("scores must be from 0 (con won) to 1 (pro won), and lengths must be finite")
    # Sums of floats depend on the order of the rows, so they are given one.
    order = np.lexsort((*numbers, *codes))
    topics, first, second = (each[order] - 1 for each in codes)
    points, surplus = (each[order] for each in numbers)
    sd = float(surplus.std())
    n = int(max(first.max(), second.max())) + 1
    effects = {"pro_side": np.ones(len(points))}
    if sd > 1e-12:
        effects["length"] = surplus / sd
    effects = _identified(first, second, effects, n)
    design = _Design(first, second, np.column_stack([*effects.values(), np.zeros((len(points), 0))]), n)
    values, is_separated = design.fit(points)
    unit = "topics" if len(np.unique(topics)) >= LEAST_TOPICS else "games"
    clusters = np.unique(topics, return_inverse=True)[1] if unit == "topics" else np.arange(len(points))
    errors = design.sandwich_errors(points, values, clusters, is_separated)
    reach = critical_value(int(clusters.max()) + 1 if unit == "topics" else None, level) * errors
    base = np.concatenate([np.full(n, mean), np.zeros(len(effects))])
    estimates = [
        Effect(*(round(float(each), 9) for each in row))
        for row in np.column_stack([base + ELO_PER_LOG_STRENGTH * (values + sign * reach) for sign in (0, -1, 1)])
    ]
    found = dict(zip(effects, estimates[n:], strict=True))
    return Controlled(
        ratings=tuple(estimates[:n]),
        pro_side=found.get("pro_side"),
        length=found.get("length"),
        length_sd=sd if "length" in found else None,
        is_separated=is_separated,
        interval_method=f"sandwich_{unit}",
    )


def _identified(first: Array, second: Array, effects: dict[str, Array], n: int) -> dict[str, Array]:
    """The effects that are no sums of the others and of debaters, in order."""
    kept: dict[str, Array] = {}
    for name, values in effects.items():
        trial = {**kept, name: values}
        design = _Design(first, second, np.column_stack(list(trial.values())), n)
        information = design.information(np.ones(len(first)), has_prior=False, values=None)
        # Against the debaters alone: what is left of the effect once they explain all that they can.
        debaters, across, own = information[:n, :n], information[:n, n:], information[n:, n:]
        rest = own - across.T @ np.linalg.pinv(debaters, hermitian=True, rcond=1e-10) @ across
        if np.linalg.eigvalsh(rest)[0] > 1e-9 * len(first):
            kept = trial
    return kept


@dataclass(frozen=True, slots=True)
class _Design:
    """Games as rows of a logistic regression: 1 for the first, -1 for the second, and the effects."""

    first: Array
    second: Array
    effects: Array
    n: int

    def predictor(self, values: Array) -> Array:
        """Log-odds per game."""
        return np.asarray(values[self.first] - values[self.second] + self.effects @ values[self.n :])

    def fit(self, points: Array) -> tuple[Array, bool]:
        """Log-strengths and effects; with the prior, and True, where they would be infinite without."""
        links = np.eye(self.n, dtype=bool)[None]
        links[0, self.first[points > 0], self.second[points > 0]] = True
        links[0, self.second[points < 1], self.first[points < 1]] = True
        if closure(links).all():
            values = self._climb(points, has_prior=False)
            if values is not None:
                return values, False
        values = self._climb(points, has_prior=True)
        if values is None:
            raise ArithmeticError("the controlled Bradley–Terry fit does not converge")
        return values, True

    def _climb(self, points: Array, *, has_prior: bool) -> Array | None:
        """The maximum of the likelihood; None where it seems to have none."""
        values = np.zeros(self.n + self.effects.shape[1])
        for _ in range(_MOST_STEPS):
            p = expit(self.predictor(values))
            score = self._gathered(points - p) + (self._pull(values)[0] if has_prior else 0.0)
            step = np.linalg.solve(self._pinned(p * (1 - p), has_prior, values), score)
            reach = np.abs(self.predictor(step)).max()
            values = values + float(damping(reach)) * step
            if np.abs(self.predictor(values)).max() > _FARTHEST:
                return None
            if reach <= _CONVERGED:
                values[: self.n] -= values[: self.n].mean()
                return np.asarray(values)
        return None

    def _gathered(self, residual: Array) -> Array:
        """The score: residuals per game → per debater and effect."""
        debaters = np.bincount(self.first, residual, self.n) - np.bincount(self.second, residual, self.n)
        return np.concatenate([debaters, self.effects.T @ residual])

    def information(self, weights: Array, has_prior: bool, values: Array | None) -> Array:
        """`X' diag(weights) X`, with the prior's share."""
        n = self.n
        met = np.bincount(self.first * n + self.second, weights, n * n).reshape(n, n)
        met = met + met.T
        weighted = self.effects * weights[:, None]
        across = np.zeros((n, self.effects.shape[1]))
        for at, each in enumerate(weighted.T):
            across[:, at] = np.bincount(self.first, each, n) - np.bincount(self.second, each, n)
        whole = np.block([[np.diag(met.sum(axis=0)) - met, across], [across.T, self.effects.T @ weighted]])
        return np.asarray(whole + self._pull(values)[1] if has_prior and values is not None else whole)

    def _pinned(self, weights: Array, has_prior: bool, values: Array) -> Array:
        """The information, made invertible without changing the sum of the log-strengths."""
        information = self.information(weights, has_prior, values)
        information[: self.n, : self.n] += 1.0
        return information

    def _pull(self, values: Array) -> tuple[Array, Array]:
        """Score and information of the prior's tied games."""
        n = self.n
        centring = np.eye(len(values))
        centring[:n, :n] -= 1.0 / n
        p = expit(centring @ values)
        return centring.T @ (PRIOR_GAMES * (0.5 - p)), centring.T @ np.diag(PRIOR_GAMES * p * (1 - p)) @ centring

    def sandwich_errors(self, points: Array, values: Array, clusters: Array, has_prior: bool) -> Array:
        """Standard errors of log-strengths and effects, at least the model's, uncorrected for small samples."""
        p = expit(self.predictor(values))
        bread = np.linalg.inv(self._pinned(p * (1 - p), has_prior, values))
        bread[: self.n] -= bread[: self.n].mean(axis=0)
        residual = points - p
        if len(clusters) == clusters.max() + 1:
            per_game = bread[:, self.first] - bread[:, self.second] + bread[:, self.n :] @ self.effects.T
            squares = ((per_game * residual) ** 2).sum(axis=1)
        else:
            size = int(clusters.max()) + 1
            scores = np.empty((size, len(values)))
            scores[:, : self.n] = (
                np.bincount(clusters * self.n + self.first, residual, size * self.n)
                - np.bincount(clusters * self.n + self.second, residual, size * self.n)
            ).reshape(size, self.n)
            for at, effect in enumerate(self.effects.T):
                scores[:, self.n + at] = np.bincount(clusters, effect * residual, size)
            squares = ((scores @ bread.T) ** 2).sum(axis=0)
        # Where length nearly decides who wins, hardly a residual is left to learn from.
        return np.asarray(np.sqrt(np.maximum(squares, bread.diagonal())))


def davidson(games: Games) -> Davidson:
    """Davidson's model of `games` by Newton's method; empty where there is no debater.

    The likelihood has a maximum only if chains of wins or ties link all debaters, somebody wins in a circle, and
    something was tied. Without the first two the prior of `bradley_terry` is added. Without a tie ν is 0 and the
    strengths are Bradley–Terry's; where all was tied, all are equal.
    """
    n = games.count_debaters
    decisive = int((games.pro_wins + games.con_wins).sum())
    tied = int(games.ties.sum())
    if n == 0:
        return Davidson(np.zeros(0), None, 0.0, False)
    if decisive == 0:
        return Davidson(np.zeros(n), None if tied else 0.0, float(tied > 0), False)
    wins = np.zeros((1, n, n), dtype=bool)
    wins[0, games.pro[games.pro_wins > 0], games.con[games.pro_wins > 0]] = True
    wins[0, games.con[games.con_wins > 0], games.pro[games.con_wins > 0]] = True
    links = wins.copy()
    links[0, games.pro[games.ties > 0], games.con[games.ties > 0]] = True
    links[0, games.con[games.ties > 0], games.pro[games.ties > 0]] = True
    has_circle = bool(closure(wins)[0].diagonal().any())
    links[0, np.arange(n), np.arange(n)] = True
    is_separated = not (closure(links).all() and (has_circle or tied == 0))
    strengths, log_nu = _climb_davidson(games, is_separated)
    nu = 0.0 if tied == 0 else math.exp(log_nu)
    return Davidson(strengths, nu, nu / (2 + nu), is_separated)


def _climb_davidson(games: Games, has_prior: bool) -> tuple[Array, float]:
    """Log-strengths and log ν. The three outcomes are a multinomial logit with utilities d/2, log ν and -d/2."""
    n, total = games.count_debaters, games.count
    has_ties = bool(games.ties.sum())
    values = np.zeros(n + 1)
    for _ in range(_MOST_STEPS):
        half = (values[games.pro] - values[games.con]) / 2
        utilities = np.stack([half, np.full(len(half), values[n] if has_ties else -np.inf), -half])
        chances = np.exp(utilities - utilities.max(axis=0))
        won, tied, lost = chances / chances.sum(axis=0)
        lead, drawn = (won - lost) / 2, tied
        residual = (games.pro_wins - games.con_wins) / 2 - total * lead
        score = np.concatenate(
            [
                np.bincount(games.pro, residual, n) - np.bincount(games.con, residual, n),
                [(games.ties - total * drawn).sum()],
            ]
        )
        weights = total * ((won + lost) / 4 - lead**2)
        met = np.bincount(games.pro * n + games.con, weights, n * n).reshape(n, n)
        met = met + met.T
        mixed = -total * lead * drawn
        across = np.bincount(games.pro, mixed, n) - np.bincount(games.con, mixed, n)
        information = np.zeros((n + 1, n + 1))
        information[:n, :n] = np.diag(met.sum(axis=0)) - met + 1.0
        information[:n, n] = information[n, :n] = across
        information[n, n] = (total * drawn * (1 - drawn)).sum() if has_ties else 1.0
        if has_prior:
            centring = np.eye(n) - 1.0 / n
            p = expit(centring @ values[:n])
            score[:n] += centring @ (PRIOR_GAMES * (0.5 - p))
            information[:n, :n] += centring @ np.diag(PRIOR_GAMES * p * (1 - p)) @ centring
        step = np.linalg.solve(information, score)
        difference = np.abs(step[games.pro] - step[games.con]).max()
        reach = max(difference, difference / 2 + abs(step[n]))
        values = values + float(damping(reach)) * step
        if reach <= _CONVERGED:
            return values[:n] - values[:n].mean(), float(values[n])
    raise ArithmeticError("the Davidson fit does not converge")
