"""How often all true ranks lie in their ranges at once, and how wide the ranges are.

    python benchmarks/rank_coverage.py [--debaters 6] [--repetitions 2000] [--resamples 1000] [--seed 1]

Every ordered pair of debaters meets once on each topic, with a fifth of ties between equals. Debaters are equal, which
is the hardest case, because every range that leaves out a rank is wrong; or they are 60 points apart. On each
topic each debater is stronger or weaker by a normal draw with a standard deviation of `topics matter by` log-strengths;
in the last world one debater by 1.5 and the others not at all. A true rank is 1 plus the number of debaters with a
higher rating on infinitely many topics; equal debaters share a rank, and each may be called neither better nor worse.

Prints a Markdown table with a row per design: how often all ranges contain the true ranks, with its Monte Carlo error,
and their mean width in ranks; beside them the same for ranges from intervals that overlap (`rank_ranges`), which was
the rule before. That one covers more where debaters are far apart and less where they are close.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product

import numpy as np
from numpy.typing import NDArray

from debatebench.stats.bradley_terry import ELO_PER_LOG_STRENGTH, expit, fit
from debatebench.stats.counted_games import Games
from debatebench.stats.standings import rank_ranges, standings

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

TOPICS = (3, 6, 10, 20)
TIE_RATE = 0.2


@dataclass(frozen=True)
class Design:
    """Tournaments to simulate: `gap` is in points, `topic_sd` in log-strengths, one element per debater."""

    topics: int
    gap: float
    topic_sd: tuple[float, ...]

    @property
    def strengths(self) -> Floats:
        """Log-strengths that are `gap` points apart, the weakest first."""
        n = len(self.topic_sd)
        return np.asarray((np.arange(n) - (n - 1) / 2) * self.gap / ELO_PER_LOG_STRENGTH)

    def tournament(self, rng: np.random.Generator) -> Games:
        """One tournament."""
        n = len(self.topic_sd)
        topic, pro, con = (axis.ravel() for axis in np.indices((self.topics, n, n)))
        topic, pro, con = (values[pro != con] for values in (topic, pro, con))
        form = self.strengths + rng.standard_normal((self.topics, n)) * np.array(self.topic_sd)
        rate = expit(form[topic, pro] - form[topic, con])
        tie = TIE_RATE * 4 * rate * (1 - rate)
        draw = rng.random(len(rate))
        won, lost = draw < rate - tie / 2, draw >= rate + tie / 2
        return Games(topic, pro, con, won.astype(int), (~won & ~lost).astype(int), lost.astype(int), n)

    def true_ranks(self) -> tuple[Ints, Ints]:
        """The best and the worst rank of each debater: they differ where ratings over all topics are equal."""
        nodes, weights = np.polynomial.hermite_e.hermegauss(61)
        first, second = np.triu_indices(len(self.topic_sd), 1)
        sd = np.hypot(*(np.array(self.topic_sd)[each] for each in (first, second)))
        gaps = (self.strengths[first] - self.strengths[second])[:, None] + sd[:, None] * nodes
        many = 10**9
        wins = np.rint(many * (expit(gaps) @ (weights / weights.sum()))).astype(np.int64)
        ratings = fit(Games(first * 0, first, second, wins, wins * 0, many - wins, len(self.topic_sd))).strengths
        better = (ratings[None, :] > ratings[:, None] + 1e-5).sum(axis=1)
        worse = (ratings[None, :] < ratings[:, None] - 1e-5).sum(axis=1)
        return 1 + better, len(ratings) - worse


def designs(debaters: int) -> Iterator[tuple[str, Design]]:
    """The worlds by name."""
    for topics, gap, sd in product(TOPICS, (0.0, 60.0), (0.0, 0.6)):
        name = "equal" if gap == 0 else f"{gap:.0f} points apart"
        yield f"{topics} | {name} | {sd:g}", Design(topics, gap, (sd,) * debaters)
    for topics in TOPICS:
        yield f"{topics} | equal | 1.5, one debater", Design(topics, 0.0, (0.0,) * (debaters - 1) + (1.5,))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--debaters", type=int, default=6)
    parser.add_argument("--repetitions", type=int, default=2000)
    parser.add_argument("--resamples", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    print(f"{options.debaters} debaters, {options.repetitions} repetitions")
    print("| topics | debaters | topics matter by | all ranks covered | width | by overlap | width |")
    print("|---|---|---|---|---|---|---|")
    for name, design in designs(options.debaters):
        rng = np.random.default_rng(options.seed)
        best, worst = design.true_ranks()
        rows = []
        for number in range(options.repetitions):
            found = standings(design.tournament(rng), resamples=options.resamples, seed=number)
            row: list[float] = []
            for low, high in ((found.rank_low, found.rank_high), rank_ranges(found.ci_low, found.ci_high)):
                row += [bool((low <= best).all() and (high >= worst).all()), float((high - low + 1).mean())]
            rows.append(row)
        covered, width, before, width_before = np.mean(rows, axis=0)
        error = math.sqrt(covered * (1 - covered) / options.repetitions)
        print(
            f"| {name} | {100 * covered:.1f} ± {100 * error:.1f} % | {width:.2f} | {100 * before:.1f} % "
            f"| {width_before:.2f} |",
            flush=True,
        )


if __name__ == "__main__":
    main()
