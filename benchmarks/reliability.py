"""Do 95 % intervals of Krippendorff's alpha cover the truth? The jackknife against percentiles of resampled topics.

    python benchmarks/reliability.py [--repetitions 1500]

The tournaments are simulated: three judges, and topics that differ in level and, in every second block, in how much
judges agree on them. The true value is alpha over 20,000 topics. The script takes about a minute.
"""

from __future__ import annotations

import argparse
from typing import Any

import numpy as np

from debatebench.stats.distributions import t_quantile

JUDGES = 3
SIZES = ((3, 30), (5, 20), (10, 20), (24, 20), (60, 10))
RESAMPLES = 500


def ratings(rng: np.random.Generator, topics: int, debates: int, spread: float) -> Any:
    """Scores from 1 to 10, shape (topics, debates, judges); `spread`: of the judges' noise over topics, log scale."""
    level = rng.normal(0, 0.5, (topics, 1, 1)) + rng.normal(0, 1, (topics, debates, 1))
    noise = 0.8 * np.exp(rng.normal(0, spread, (topics, 1, 1)))
    return np.clip(np.round(6 + 1.2 * (level + noise * rng.normal(0, 1, (topics, debates, JUDGES)))), 1, 10)


def ranks(scores: Any) -> Any:
    """Midranks among all scores, for the ordinal level."""
    _, place, counts = np.unique(scores, return_inverse=True, return_counts=True)
    return (np.cumsum(counts) - (counts - 1) / 2)[place].reshape(scores.shape)


def winners(scores: Any) -> Any:
    """Indicators of below, at and above the middle, shape (topics, debates, judges, 3), for the nominal level."""
    return np.stack([scores < 6, scores == 6, scores > 6], axis=-1).astype(float)


def topic_sums(points: Any) -> Any:
    """Per topic: ratings, disagreement within panels, then sums and squares by coordinate."""
    points = points if points.ndim == 4 else points[..., None]
    topics, debates = points.shape[:2]
    squares = (points**2).sum(2)
    apart = (JUDGES * squares - points.sum(2) ** 2).sum((1, 2)) / (JUDGES - 1)
    sizes = np.full((topics, 1), debates * float(JUDGES))
    return np.concatenate([sizes, apart[:, None], points.sum((1, 2)), squares.sum(1)], axis=1)


def alpha(sums: Any) -> Any:
    """Alpha from sums over topics; the last axis is as of `topic_sums`."""
    n, apart = sums[..., 0], sums[..., 1]
    values, squares = np.split(sums[..., 2:], 2, axis=-1)
    return 1 - (n - 1) * apart / (n[..., None] * squares - values**2).sum(-1)


def covers(rng: np.random.Generator, sums: Any, truth: float) -> tuple[bool, bool]:
    """Whether the jackknife's interval and the bootstrap's contain the true value."""
    topics, total = len(sums), sums.sum(0)
    value = alpha(total)
    error = np.sqrt((topics - 1) / topics * ((alpha(total - sums) - value) ** 2).sum())
    draws = alpha(rng.multinomial(topics, np.full(topics, 1 / topics), RESAMPLES) @ sums)
    low, high = np.quantile(draws, [0.025, 0.975])
    return bool(abs(value - truth) <= t_quantile(0.95, topics - 1) * error), bool(low <= truth <= high)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repetitions", type=int, default=1500)
    repetitions = parser.parse_args().repetitions
    rng = np.random.default_rng(1)
    levels = {"interval": lambda x: x, "ordinal": ranks, "nominal": winners}
    print(f"{'topics':>6} {'debates':>7} {'spread':>6}  {'level':8} {'alpha':>6} {'jackknife':>9} {'bootstrap':>9}")
    for topics, debates in SIZES:
        for spread in (0.0, 0.4):
            everything = ratings(rng, 20_000, 10, spread)
            truths = {level: float(alpha(topic_sums(points(everything)).sum(0))) for level, points in levels.items()}
            hits = {level: np.zeros(2) for level in levels}
            for _ in range(repetitions):
                scores = ratings(rng, topics, debates, spread)
                for level, points in levels.items():
                    hits[level] += covers(rng, topic_sums(points(scores)), truths[level])
            for level, truth in truths.items():
                jackknife, bootstrap = hits[level] / repetitions
                print(
                    f"{topics:>6} {debates:>7} {spread:>6}  {level:8} {truth:>6.3f} {jackknife:>9.3f} {bootstrap:>9.3f}"
                )


if __name__ == "__main__":
    main()
