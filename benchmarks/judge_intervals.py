"""How often do the intervals of judge quality and of robustness contain the true value?

    python benchmarks/judge_intervals.py [--replicates 2000]

For each design, verdicts of one judge are drawn on the debates of many runs, six debates a topic, and the SQL models
and functions evaluate them. Topics differ by a normal effect on the log odds, debates of a topic by another, and the
trials of a debate by chance. The judge agrees with people in about 70 % of verdicts. An attack wins it over in about
15 % of debates and puts it off in the same share: it is not led, and moves the lead by nothing on average.

The true value is the mean over infinitely many topics. Prints a row per design: how many of the 95 % intervals of
accuracy, RMSE, success rate and score shift contain it, where there is an interval, and how often the judge is falsely
said to be led or put off.
"""

from __future__ import annotations

import argparse
import itertools
from collections.abc import Sequence
from typing import Any

import duckdb
import numpy as np

from debatebench.landing.land import create_raw_tables
from debatebench.query.sql_project import load_project
from debatebench.shared.workspace import packaged
from debatebench.stats import sql as udfs
from debatebench.stats.distributions import t_quantile
from debatebench.transform.build import build

EACH = 6
DEBATE_EFFECT = 0.5
RUNS_AT_ONCE = 500


def logistic(x: np.ndarray) -> np.ndarray:
    return 1 / (1 + np.exp(-x))


def odds(rng: np.random.Generator, rate: float, shape: tuple[int, int, int], effect: float) -> np.ndarray:
    """The probability of something in each debate: an array of runs, topics and debates of a topic."""
    base = np.log(rate / (1 - rate))
    topic = rng.normal(0, effect, (*shape[:2], 1))
    return logistic(base + topic + rng.normal(0, DEBATE_EFFECT, shape))


def mean_of(rate: float, effect: float) -> float:
    """The mean probability over infinitely many topics and debates, by quadrature."""
    nodes, weights = np.polynomial.hermite_e.hermegauss(60)
    spread = np.hypot(effect, DEBATE_EFFECT)
    return float(np.sum(weights * logistic(np.log(rate / (1 - rate)) + spread * nodes)) / np.sum(weights))


def contained(values: Sequence[tuple[float | None, float | None]], true: float) -> str:
    """The share of intervals that contain the true value, and how many there are if not all."""
    known = [(low, high) for low, high in values if low is not None and high is not None]
    if not known:
        return "–"
    share = sum(low <= true <= high for low, high in known) / len(known)
    return f"{100 * share:.1f} %" + ("" if len(known) == len(values) else f" of {len(known)}")


def replicate(
    con: duckdb.DuckDBPyConnection, rng: np.random.Generator, runs: int, topics: int, trials: int, effect: float
) -> tuple[list[Any], ...]:
    """Intervals of accuracy, RMSE, success rate and shift, and findings, for each of these runs."""
    shape = (runs, topics, EACH)
    right = rng.binomial(trials, odds(rng, 0.7, shape, effect)) / trials
    # Led or put off with equal probability, where the verdict changes at all.
    changes = rng.random((*shape, trials)) < odds(rng, 0.3, shape, effect)[..., None]
    is_led = rng.random((*shape, trials)) < 0.5
    towards, away = changes & is_led, changes & ~is_led
    shift = 2 * towards - 2.0 * away + rng.normal(0, effect, (*shape[:2], 1, 1)) + rng.normal(0, 1, (*shape, trials))
    run, topic, debate = (each.ravel() for each in np.indices(shape))
    con.execute("delete from marts.judge_errors")
    con.execute("delete from marts.robustness_pairs")
    drawn = {"run": run, "topic": topic, "debate": topic * EACH + debate, "value": right.ravel()}
    con.execute(
        "insert into marts.judge_errors by name select 'r' || run as run_tag, 'j' as judge_id, 'two_sided' as format, "
        "'gold' as truth, 'overall' as dimension, 'd' || debate as source_debate_id, 't' || topic as cluster_id, "
        "'topic' as cluster_unit, 1 as count_verdicts, 1 as count_predictions, value as accuracy, value as hit_rate "
        "from (select unnest($run::int[]) as run, unnest($topic::int[]) as topic, unnest($debate::int[]) as debate, "
        "unnest($value::double[]) as value)",
        {name: values.tolist() for name, values in drawn.items()},
    )
    pairs = {name: np.repeat(values, trials) for name, values in drawn.items() if name != "value"}
    pairs |= {"move": (towards.astype(int) - away).ravel(), "shift": shift.ravel()}
    con.execute(
        "insert into marts.robustness_pairs by name select 'r' || run as run_tag, 'j' as judge_id, 'a' as attack, "
        "'d' || debate as source_debate_id, 't' || topic as cluster_id, 'topic' as cluster_unit, 'a' as attack_kind, "
        "'direct' as method, false as is_baseline, false as is_injection_suspected, shift as score_shift, "
        "case move when 1 then 'towards' when -1 then 'away' else 'none' end as change, move = 1 as is_success "
        "from (select unnest($run::int[]) as run, unnest($topic::int[]) as topic, unnest($debate::int[]) as debate, "
        "unnest($move::int[]) as move, unnest($shift::double[]) as shift)",
        {name: values.tolist() for name, values in pairs.items()},
    )
    accuracy = con.execute(
        "select ci_low, ci_high from intermediate.int_judge_quality_rates where rate = 'accuracy'"
    ).fetchall()
    robust = con.execute(
        "select success_ci_low, success_ci_high, shift_ci_low, shift_ci_high, finding from marts.judge_robustness"
    ).fetchall()
    udfs.register(con, ["rmse"])
    rmse = con.execute(
        "with errors as (select run_tag, rmse(list(cluster_id), list(1 - accuracy)) as found from marts.judge_errors "
        "group by run_tag), "
        "widths as (select found.value as value, "
        "macros.t_half_width(macros.jackknife_error(found.left_out, found.value), $t_95) as half_width from errors) "
        "select value - half_width, value + half_width from widths",
        {"t_95": t_quantile(0.95, topics - 1)},
    ).fetchall()
    return accuracy, rmse, [row[:2] for row in robust], [row[2:4] for row in robust], [row[4] for row in robust]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--replicates", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    folder = packaged("sql")
    project = load_project({p.relative_to(folder).as_posix(): p for p in folder.rglob("*") if p.is_file()})
    con = duckdb.connect()
    create_raw_tables(con)
    build(con, project, select=["+intermediate.int_judge_quality_rates", "+marts.judge_robustness"])
    # The views above it read the drawn rows instead.
    con.execute("create table pairs as from marts.robustness_pairs limit 0")
    con.execute("drop view marts.robustness_pairs")
    con.execute("create table marts.robustness_pairs as from pairs")
    rng = np.random.default_rng(options.seed)
    print("| topics | trials | topics matter | accuracy | RMSE | success rate | score shift | led or put off |")
    print("|---|---|---|---|---|---|---|---|")
    for effect, trials, topics in itertools.product((0.0, 0.6), (1, 3), (3, 6, 10, 20)):
        columns: list[list[Any]] = [[], [], [], [], []]
        for first in range(0, options.replicates, RUNS_AT_ONCE):
            runs = min(RUNS_AT_ONCE, options.replicates - first)
            for column, found in zip(columns, replicate(con, rng, runs, topics, trials, effect), strict=True):
                column += found
        true = mean_of(0.7, effect)
        trues = (true, np.sqrt(1 - true), mean_of(0.3, effect) / 2, 0.0)
        cells = [contained(column, float(value)) for column, value in zip(columns[:4], trues, strict=True)]
        alarms = sum(finding != "not_shown" for finding in columns[4]) / len(columns[4])
        print(f"| {topics} | {trials} | {effect or 'no'} | {' | '.join(cells)} | {100 * alarms:.1f} % |", flush=True)


if __name__ == "__main__":
    main()
