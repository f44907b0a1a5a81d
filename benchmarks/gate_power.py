"""How often a gate fails though nothing has changed, and how often it finds a debater that got worse.

    python benchmarks/gate_power.py [--debaters 4] [--repetitions 2000] [--drop 200] [--seed 1]

Two runs on the same topics: every ordered pair of debaters, 60 points apart, meets once on each topic in both. On each
topic each debater is stronger or weaker by a normal draw with a standard deviation of `topics matter by` log-strengths,
the same in both runs. In the candidate one debater is weaker by `--drop` points, or nothing has changed. The gate is
`debatebench gate --max-drop 25`: `check_gate` on the differences of ratings with their jackknife over topics.

Prints a Markdown table with a row per design: how often the gate fails if nothing has changed (false alarms, at most
5 %, with their Monte Carlo error) and if the debater is weaker (power), and the mean of what it said that it would find
four times out of five. Beside them the same for two other rules: each debater's own spread with Student's t, paired,
without pooling; and the rule before, which took the two runs for independent and computed the interval of a difference
from both intervals (Zou and Donner 2008).
"""

from __future__ import annotations

import argparse
import math
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from debatebench.query.comparison import Comparison, Subject
from debatebench.query.gate import GateLimits, check_gate
from debatebench.stats.bradley_terry import ELO_PER_LOG_STRENGTH, expit, ratings_without_topics
from debatebench.stats.counted_games import Games
from debatebench.stats.distributions import normal_quantile, t_quantile
from debatebench.stats.standings import Standings, standings

Floats = NDArray[np.float64]

TOPICS = (3, 6, 10, 20)
TOPIC_SDS = (0.0, 0.6)
POINTS_APART = 60
TIE_RATE = 0.2
LIMIT = 25.0


@dataclass(frozen=True)
class Found:
    """Whether each rule fails the candidate, and what the gate says that it would find."""

    gate: bool
    own_spread: bool
    before: bool
    detectable: float


def run(rng: np.random.Generator, form: Floats) -> Games:
    """One run of debaters whose log-strengths on each topic are `form` (topics, debaters)."""
    topics, n = form.shape
    topic, pro, con = (axis.ravel() for axis in np.indices((topics, n, n)))
    topic, pro, con = (values[pro != con] for values in (topic, pro, con))
    rate = expit(form[topic, pro] - form[topic, con])
    tie = TIE_RATE * 4 * rate * (1 - rate)
    draw = rng.random(len(rate))
    won, lost = draw < rate - tie / 2, draw >= rate + tie / 2
    return Games(topic, pro, con, won.astype(int), (~won & ~lost).astype(int), lost.astype(int), n)


def compared(baseline: Games, candidate: Games) -> Found:
    """Both runs rated and compared by each rule."""
    before, after = standings(baseline, resamples=200), standings(candidate, resamples=200)
    change = after.rating - before.rating
    without = ratings_without_topics(candidate)[1] - ratings_without_topics(baseline)[1]
    topics = len(without)
    errors = np.round(math.sqrt(topics - 1) * without.std(axis=0), 2)
    result = check_gate(comparison(before, after, errors, topics), GateLimits(rating_drop=LIMIT))
    level = t_quantile(1 - 2 * 0.05 / len(change), topics - 1)
    reach = np.hypot(after.ci_high - after.rating, before.rating - before.ci_low)
    wider = normal_quantile(1 - 0.025 / len(change)) / normal_quantile(0.975)
    is_beyond = change < -LIMIT
    return Found(
        gate=not result.is_passed,
        own_spread=bool((is_beyond & (errors > 0) & (change + level * errors < 0)).any()),
        before=bool((is_beyond & (change + wider * reach < 0)).any()),
        detectable=result.power[0].detectable or math.nan,
    )


def comparison(before: Standings, after: Standings, errors: Floats, topics: int) -> Comparison:
    """The rows of `marts.debater_comparison` that a gate on ratings reads."""
    rows: list[dict[str, Any]] = [
        {
            "model_id": f"m{n}",
            "measure": "rating",
            "method": "paired",
            "baseline_value": float(before.rating[n]),
            "candidate_value": float(after.rating[n]),
            "difference": float(after.rating[n] - before.rating[n]),
            "standard_error": float(error),
            "degrees_of_freedom": topics - 1,
            "count_topics": topics,
        }
        for n, error in enumerate(errors)
    ]
    subjects = (Subject("run", name, (name,)) for name in ("baseline", "candidate"))
    return Comparison(
        *subjects, verdict={}, items=(), debaters=rows, judges=(), panels=(), debates={}, flipped=(), sql_models={},
        unfinished=(),
    )  # fmt: skip


def simulated(
    *, debaters: int, topics: int, topic_sd: float, drop: float, repetitions: int, seed: int = 1
) -> list[Found]:
    """Pairs of runs of one design; the third debater from below is the one that gets weaker."""
    rng = np.random.default_rng(seed)
    strengths = (np.arange(debaters) - (debaters - 1) / 2) * POINTS_APART / ELO_PER_LOG_STRENGTH
    found = []
    for _ in range(repetitions):
        form = strengths + rng.normal(0.0, topic_sd, (topics, debaters))
        weaker = form.copy()
        weaker[:, debaters // 2] -= drop / ELO_PER_LOG_STRENGTH
        found.append(compared(run(rng, form), run(rng, weaker)))
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--debaters", type=int, default=4)
    parser.add_argument("--repetitions", type=int, default=2000)
    parser.add_argument("--drop", type=float, default=200.0)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    print(f"{options.debaters} debaters, {options.repetitions} repetitions, a drop of {options.drop:g} points")
    print("| topics | topics matter by | false alarms | own spread | before | power | own spread | before | says |")
    print("|---|---|---|---|---|---|---|---|---|")
    for topics, topic_sd in product(TOPICS, TOPIC_SDS):
        cells = []
        for drop in (0.0, options.drop):
            found = simulated(
                debaters=options.debaters,
                topics=topics,
                topic_sd=topic_sd,
                drop=drop,
                repetitions=options.repetitions,
                seed=options.seed,
            )
            shares = [np.mean([getattr(each, name) for each in found]) for name in ("gate", "own_spread", "before")]
            error = math.sqrt(shares[0] * (1 - shares[0]) / options.repetitions)
            cells += [f"{100 * shares[0]:.1f} ± {100 * error:.1f} %", *(f"{100 * share:.1f} %" for share in shares[1:])]
        says = np.nanmean([each.detectable for each in found])
        print(f"| {topics} | {topic_sd:g} | {' | '.join(cells)} | {says:.0f} |", flush=True)


if __name__ == "__main__":
    main()
