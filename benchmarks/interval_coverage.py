"""How often the intervals of ratings contain the truth where nearly every topic has the same results.

    python benchmarks/interval_coverage.py [--repetitions 400] [--resamples 1000] [--seed 1]

Every ordered pair of debaters meets once on each topic, without ties, so that each speaks equally often on both sides.
Strengths are 60 points apart, and pro has an advantage on the Elo scale: with 800 points, pro wins 99 debates of 100,
and most tournaments of a few topics have the same results on all of them. The truth is the rating that infinitely many
topics would give, as in `recovery.py`: each debater's expected points over both sides on the scale of Bradley–Terry.
Where the side decides nearly every debate, every debater wins about half, so these ratings are closer together than the
strengths at equal sides, which `ratings.bradley_terry_controlled` estimates.

Prints a Markdown table with a row per design: how often the 95 % intervals contain the truth, pooled over debaters, and
their mean width; the same without a least standard error; and how often they contain the strengths at equal sides.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product

import numpy as np
from numpy.typing import NDArray

from debatebench.stats.bradley_terry import ELO_PER_LOG_STRENGTH, expit, fit
from debatebench.stats.counted_games import Games
from debatebench.stats.standings import Standings, standings

Floats = NDArray[np.float64]

DEBATERS = (2, 4)
TOPICS = (3, 6, 10)
PRO_ADVANTAGES = (0, 300, 600, 800)
POINTS_APART = 60
MEAN = 400.0
_MANY = 10**9


@dataclass(frozen=True)
class Design:
    """A tournament to simulate; `pro_advantage` is in points on the Elo scale."""

    debaters: int
    topics: int
    pro_advantage: float

    @property
    def strengths(self) -> Floats:
        """Strengths at equal sides, on the Elo scale."""
        places = np.arange(self.debaters) - (self.debaters - 1) / 2
        return np.asarray(MEAN + POINTS_APART * places)

    @property
    def played(self) -> tuple[NDArray[np.int64], ...]:
        """Topic, pro and con of each debate."""
        topic, pro, con = (axis.ravel() for axis in np.indices((self.topics, self.debaters, self.debaters)))
        return topic[pro != con], pro[pro != con], con[pro != con]

    @property
    def pro_win_rates(self) -> Floats:
        """The probability that pro wins, for each debate."""
        _, pro, con = self.played
        gaps = self.strengths[pro] - self.strengths[con] + self.pro_advantage
        return np.asarray(expit(gaps / ELO_PER_LOG_STRENGTH))

    @property
    def ratings(self) -> Floats:
        """The ratings of the expected results, which those of more and more topics approach."""
        expected = self.games(np.rint(_MANY * self.pro_win_rates).astype(np.int64), _MANY)
        return np.asarray(MEAN + ELO_PER_LOG_STRENGTH * fit(expected).strengths)

    def games(self, pro_wins: NDArray[np.int64], count: int = 1) -> Games:
        """Games of which pro wins so many, with `count` games instead of each debate."""
        topic, pro, con = self.played
        return Games(topic, pro, con, pro_wins, np.zeros_like(pro_wins), count - pro_wins, self.debaters)

    def tournaments(self, repetitions: int, seed: int) -> Iterator[Games]:
        """Simulated tournaments."""
        rng = np.random.default_rng(seed)
        rates = self.pro_win_rates
        for _ in range(repetitions):
            yield self.games((rng.random(len(rates)) < rates).astype(np.int64))


@dataclass(frozen=True)
class Coverage:
    """Shares of intervals that contain a value, and the mean width in points; `plain` has no least standard error."""

    ratings: float
    width: float
    plain_ratings: float
    plain_width: float
    strengths: float


def coverage(design: Design, *, repetitions: int = 400, resamples: int = 1000, seed: int = 1) -> Coverage:
    """Simulate tournaments of one design and rate each, with a least standard error and without."""
    ratings, strengths = design.ratings, design.strengths
    rows = []
    for games in design.tournaments(repetitions, seed):
        found = standings(games, mean=MEAN, resamples=resamples)
        plain = standings(games, mean=MEAN, resamples=resamples, least_share=0.0)
        rows.append(
            (
                share_inside(ratings, found),
                mean_width(found),
                share_inside(ratings, plain),
                mean_width(plain),
                share_inside(strengths, found),
            )
        )
    return Coverage(*(float(mean) for mean in np.mean(rows, axis=0)))


def share_inside(values: Floats, found: Standings) -> float:
    """The share of debaters whose interval contains their value."""
    return float(((found.ci_low <= values) & (values <= found.ci_high)).mean())


def mean_width(found: Standings) -> float:
    return float((found.ci_high - found.ci_low).mean())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repetitions", type=int, default=400)
    parser.add_argument("--resamples", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    print("| debaters | topics | pro's advantage | intervals cover | width | without a least | width | strengths |")
    print("|---|---|---|---|---|---|---|---|")
    for debaters, topics, advantage in product(DEBATERS, TOPICS, PRO_ADVANTAGES):
        found = coverage(
            Design(debaters, topics, advantage),
            repetitions=options.repetitions,
            resamples=options.resamples,
            seed=options.seed,
        )
        print(
            f"| {debaters} | {topics} | {advantage} | {found.ratings:.1%} | {found.width:.0f} "
            f"| {found.plain_ratings:.1%} | {found.plain_width:.0f} | {found.strengths:.1%} |".replace("%", " %"),
            flush=True,
        )


if __name__ == "__main__":
    main()
