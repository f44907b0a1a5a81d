"""How well ratings and their intervals recover known strengths, on simulated tournaments.

    python benchmarks/recovery.py [--debaters 12] [--topics 24] [--repetitions 500] [--resamples 1000] [--seed 1]

Every ordered pair of debaters meets once on each topic. Strengths are drawn for each tournament, with a standard
deviation of 0.6 in log-strength (104 points). Three worlds: topics do not matter; on each topic each debater is
stronger or weaker by a draw with a standard deviation of 0.3; the same with 0.6. A tie is worth half a win, so that
expected points follow the odds. The intervals should cover the ratings that infinitely many topics would give: in the
first world the strengths themselves, in the others the strengths that give the same expected points over all topics
(topics that matter pull all strengths towards the mean). Printed per world, pooled over debaters: how often the 95 %
intervals cover that value, with the standard error of that share between repetitions; how wide they are; and
Spearman's correlation of ratings with strengths, for Bradley–Terry and for Elo (K 32, games in random order).
"""

from __future__ import annotations

import argparse
import time
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from debatebench.stats.bradley_terry import ELO_PER_LOG_STRENGTH, fit
from debatebench.stats.counted_games import Games
from debatebench.stats.elo import elo_ratings
from debatebench.stats.standings import standings

Floats = NDArray[np.float64]

SPREAD = 0.6
TIE_RATE = 0.2
WORLDS = (0.0, 0.3, 0.6)


@dataclass(frozen=True)
class Recovery:
    """Shares and correlations, one element per repetition."""

    coverage: Floats
    width: Floats
    spearman: Floats
    spearman_elo: Floats


def recovery(
    *, debaters: int, topics: int, topic_sd: float, repetitions: int, resamples: int = 1000, seed: int = 1
) -> Recovery:
    """Simulate `repetitions` tournaments of one world and rate each."""
    rng = np.random.default_rng(seed)
    rows = []
    for _ in range(repetitions):
        strengths = rng.normal(0.0, SPREAD, debaters)
        truth = 400.0 + ELO_PER_LOG_STRENGTH * rated_strengths(strengths, topic_sd)
        games = tournament(rng, strengths, topics, topic_sd)
        found = standings(games, resamples=resamples)
        covered = (found.ci_low <= truth) & (truth <= found.ci_high)
        elo = np.array(elo_in_random_order(rng, games))
        rows.append(
            (
                covered.mean(),
                (found.ci_high - found.ci_low).mean(),
                spearman(found.rating, strengths),
                spearman(elo, strengths),
            )
        )
    return Recovery(*np.array(rows).T)


def tournament(rng: np.random.Generator, strengths: Floats, topics: int, topic_sd: float) -> Games:
    """One balanced tournament."""
    n = len(strengths)
    topic, pro, con = (axis.ravel() for axis in np.indices((topics, n, n)))
    topic, pro, con = (values[pro != con] for values in (topic, pro, con))
    form = strengths + rng.normal(0.0, topic_sd, (topics, n)) if topic_sd else np.tile(strengths, (topics, 1))
    p = expit(form[topic, pro] - form[topic, con])
    tie = TIE_RATE * 4 * p * (1 - p)
    draw = rng.random(len(p))
    won, tied = draw < p - tie / 2, (draw >= p - tie / 2) & (draw < p + tie / 2)
    return Games(topic, pro, con, won.astype(int), tied.astype(int), (~won & ~tied).astype(int), n)


def rated_strengths(strengths: Floats, topic_sd: float) -> Floats:
    """The Bradley–Terry strengths of the expected points over all topics, summing to zero."""
    if topic_sd == 0.0:
        return strengths - strengths.mean()
    # The difference of two debaters' form on a topic is normal; Gauss–Hermite quadrature integrates over it.
    nodes, weights = np.polynomial.hermite_e.hermegauss(61)
    first, second = np.triu_indices(len(strengths), 1)
    gap = (strengths[first] - strengths[second])[:, None] + np.sqrt(2.0) * topic_sd * nodes
    points = expit(gap) @ (weights / weights.sum())
    many = 10**9
    wins = np.rint(points * many).astype(np.int64)
    return np.asarray(
        fit(Games(first * 0, first, second, wins, wins * 0, many - wins, len(strengths))).strengths, dtype=np.float64
    )


def elo_in_random_order(rng: np.random.Generator, games: Games) -> list[float]:
    """Elo of the same games."""
    order = rng.permutation(len(games.pro))
    score = (games.pro_wins + 0.5 * games.ties)[order]
    return elo_ratings((games.pro[order] + 1).tolist(), (games.con[order] + 1).tolist(), score.tolist())


def spearman(a: Floats, b: Floats) -> float:
    """Rank correlation; there are no ties here."""
    ranks = [np.argsort(np.argsort(values)) for values in (a, b)]
    return float(np.corrcoef(*ranks)[0, 1])


def expit(values: Floats) -> Floats:
    return 1.0 / (1.0 + np.exp(-values))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--debaters", type=int, default=12)
    parser.add_argument("--topics", type=int, default=24)
    parser.add_argument("--repetitions", type=int, default=500)
    parser.add_argument("--resamples", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    print(f"{options.debaters} debaters, {options.topics} topics, {options.repetitions} repetitions")
    print(
        f"{'topics matter by':>16}{'coverage':>10}{'± s.e.':>8}{'width':>8}{'Spearman':>10}{'of Elo':>8}{'seconds':>9}"
    )
    for topic_sd in WORLDS:
        started = time.perf_counter()
        found = recovery(
            debaters=options.debaters,
            topics=options.topics,
            topic_sd=topic_sd,
            repetitions=options.repetitions,
            resamples=options.resamples,
            seed=options.seed,
        )
        error = found.coverage.std(ddof=1) / np.sqrt(options.repetitions)
        print(
            f"{topic_sd:>16}{100 * found.coverage.mean():>9.1f}%{100 * error:>7.1f}%{found.width.mean():>8.1f}"
            f"{found.spearman.mean():>10.4f}{found.spearman_elo.mean():>8.4f}{time.perf_counter() - started:>9.1f}",
            flush=True,
        )


if __name__ == "__main__":
    main()
