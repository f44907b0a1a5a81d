"""How often 95 % intervals of the bias and agreement of judges contain the truth, and tests find what is not there.

    python benchmarks/bias_and_agreement.py [--repetitions 2000] [--seed 1] [--topics 3 6 10 20] [--checkout FOLDER]

For each repetition, the verdicts of three simulated judges on the debates of a source are drawn. The SQL models
evaluate many such runs at once, as they evaluate any run; with `--checkout`, those of another checkout of this project.
`judge_intervals.py` does the same for the quality of judges and for attacks on them.

Every topic has six debates. Either side is better, with equal chances. A judge's log-odds for pro are that side times
its accuracy, plus its preference for pro, plus the debate's pull (standard deviation 1, the same for all judges and
trials). Where topics matter, each topic shifts the accuracy and the pull by 0.6 logits (standard deviation). A judge
that hears a debate three times draws its noise each time. The score margin is the log-odds with noise, rounded away
from 0, so there are no ties.

The truth is the value that the same SQL models give to one run with 20,000 topics. Prints two Markdown tables with a
row per design: how often the interval contains the truth, pooled over judges, with its mean width; and how often a test
of a judge without a preference has a p value below 0.05. A share has a Monte Carlo error of about √(0.05 · 0.95 /
repetitions): 0.5 % for 2,000. Intervals that are null are not counted; how many those are stands in brackets.
"""

from __future__ import annotations

import argparse
import sys
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
from numpy.typing import NDArray

DEBATES = 6
VERDICTS_AT_ONCE = 150_000
TOPICS_OF_THE_TRUTH = 20_000
TOPIC_EFFECT = 0.6
ACCURACY = np.array([0.8, 1.6, 0.3])
PREFERENCE = np.array([0.0, 0.0, 0.7])
LENIENCE = np.array([0.0, 0.5, 0.0])
NAMES = ("fair", "keen", "for pro")
LEVEL = 0.05


@dataclass(frozen=True)
class Design:
    """How many topics a run has, how often each debate is judged, and whether topics differ."""

    topics: int
    trials: int
    topic_effect: float


@dataclass(frozen=True)
class Statistic:
    """A value with its interval, and the test that goes with it where there is one."""

    name: str
    relation: str
    value: str
    low: str
    high: str
    key: str
    where: str = "true"
    p_value: str | None = None
    has_no_effect: str = "false"
    """For which rows the hypothesis that is tested is true."""


STATISTICS = (
    Statistic(
        "side preference",
        "marts.judge_bias",
        "value",
        "ci_low",
        "ci_high",
        "judge_id",
        where="bias = 'side_preference'",
        p_value="p_value",
        has_no_effect="judge_id <> 'for pro'",
    ),
    Statistic("side lean", "marts.judge_bias", "value", "ci_low", "ci_high", "judge_id", where="bias = 'side_lean'"),
    Statistic("leniency", "marts.judge_bias", "value", "ci_low", "ci_high", "judge_id", where="bias = 'leniency'"),
    Statistic(
        "agreement of a pair",
        "marts.judge_pair_agreement",
        "agreement_rate",
        "agreement_rate_ci_low",
        "agreement_rate_ci_high",
        "concat(judge_a, judge_b)",
    ),
    Statistic(
        "kappa of a pair",
        "marts.judge_pair_agreement",
        "kappa",
        "kappa_ci_low",
        "kappa_ci_high",
        "concat(judge_a, judge_b)",
    ),
    Statistic("alignment", "marts.judge_alignment", "alignment_rate", "ci_low", "ci_high", "judge_id"),
    Statistic(
        "alpha",
        "marts.reliability",
        "value",
        "ci_low",
        "ci_high",
        "unit",
        where="unit = 'winner' and statistic = 'krippendorff_alpha' and level = 'nominal'",
    ),
)

LAND = """
insert into raw.runs by name
    select distinct concat('source', run) as run_tag, 'import' as source, 'coverage' as format from drawn;
insert into raw.runs by name
    select distinct concat('run', run) as run_tag, 'run' as source, 'judging' as format,
        concat('source', run) as source_run_tag
    from drawn;
insert into raw.judges by name
    select distinct concat('run', run) as run_tag, judge as judge_id, 'direct' as method, false as is_baseline
    from drawn;
insert into raw.dimensions by name
    select distinct unnest([concat('run', run), concat('source', run)]) as run_tag, 'whole' as dimension,
        0 as source_position, 1 as weight, 0 as tie_band
    from drawn;
insert into raw.debates by name
    select distinct concat('source', run) as run_tag, debate as debate_id, 0 as source_position, topic as topic_id,
        'two_sided' as format, 'complete' as status, 1 as trial
    from drawn;
insert into raw.debates by name
    select distinct concat('run', run) as run_tag, concat(debate, '-', trial) as debate_id,
        0 as source_position, topic as topic_id, 'two_sided' as format, 'complete' as status,
        debate as source_debate_id, trial
    from drawn;
insert into raw.verdicts by name
    select concat('run', run) as run_tag, concat(debate, '-', trial) as debate_id, judge as judge_id,
        0 as panel_position, true as is_valid, 1 as asks, false as is_repaired, false as is_injection_suspected,
        case when margin > 0 then 'pro' else 'con' end as declared_winner,
        [{'dimension': 'whole', 'pro': 20 + level + margin, 'con': 20 + level - margin}] as scores
    from drawn;
"""


def draw(design: Design, runs: int, rng: np.random.Generator) -> dict[str, NDArray[Any]]:
    """One row per verdict of `runs` runs, as columns."""
    shape = (runs, design.topics, DEBATES, design.trials, len(NAMES))
    per_debate = (*shape[:3], 1, 1)
    accuracy_shift, pull_shift = design.topic_effect * rng.normal(size=(2, *shape[:2], 1, 1, 1))
    better = rng.choice([-1, 1], per_debate)
    pull = rng.normal(size=per_debate) + pull_shift
    log_odds = better * (ACCURACY + accuracy_shift) + PREFERENCE + pull
    latent = log_odds + rng.logistic(size=shape)
    places = zip(("run", "topic", "debate", "trial", "judge"), np.indices(shape), strict=True)
    return {
        **{name: place.ravel() for name, place in places},
        "margin": np.copysign(np.clip(np.ceil(np.abs(latent)), 1, 4), latent).astype(np.int64).ravel(),
        "level": np.rint(LENIENCE + accuracy_shift + rng.normal(size=shape)).astype(np.int64).ravel(),
    }


def evaluate(project: Any, design: Design, runs: int, rng: np.random.Generator) -> dict[str, list[tuple[Any, ...]]]:
    """For each statistic: key, value, ends of the interval, p value, whether there is no effect; of so many runs."""
    from debatebench.landing.land import create_raw_tables
    from debatebench.transform.build import build

    with duckdb.connect() as con:
        create_raw_tables(con)
        columns = draw(design, runs, rng)
        con.register("numbers", columns)
        con.execute(
            "create table drawn as select run, concat('t', topic) as topic, concat('t', topic, 'd', debate) as debate, "
            "trial + 1 as trial, ($1::text[])[judge + 1] as judge, margin, level from numbers",
            [list(NAMES)],
        )
        for statement in filter(str.strip, LAND.split(";")):
            con.execute(statement)
        build(con, project, select=[f"+{name}" for name in sorted({each.relation for each in STATISTICS})])
        return {
            each.name: con.execute(
                f"select {each.key}, {each.value}, {each.low}, {each.high}, {each.p_value or 'null'}, "
                f"{each.has_no_effect} from {each.relation} where {each.where} and run_tag like 'run%'"
            ).fetchall()
            for each in STATISTICS
        }


def batches(design: Design, repetitions: int) -> Iterator[int]:
    """Sizes of batches that add up to the number of repetitions."""
    at_once = max(1, VERDICTS_AT_ONCE // (design.topics * DEBATES * design.trials * len(NAMES)))
    while repetitions > 0:
        yield min(at_once, repetitions)
        repetitions -= at_once


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repetitions", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--topics", type=int, nargs="+", default=[3, 6, 10, 20])
    parser.add_argument("--checkout", type=Path, default=Path(__file__).resolve().parent.parent)
    options = parser.parse_args()
    sys.path.insert(0, str(options.checkout))
    from debatebench.query.sql_project import load_project

    folder = options.checkout / "sql"
    project = load_project({p.relative_to(folder).as_posix(): p for p in folder.rglob("*") if p.is_file()})
    names = [each.name for each in STATISTICS]
    tests = [each.name for each in STATISTICS if each.p_value]
    covers = ["| topics | trials | topics matter | " + " | ".join(names) + " |", "|---" * (3 + len(names)) + "|"]
    alarms = ["| topics | trials | topics matter | " + " | ".join(tests) + " |", "|---" * (3 + len(tests)) + "|"]
    truths: dict[tuple[int, float], dict[str, dict[Any, float]]] = {}
    for topics, trials, effect in product(options.topics, (1, 3), (0.0, TOPIC_EFFECT)):
        design = Design(topics, trials, effect)
        rng = np.random.default_rng([options.seed, topics, trials, round(10 * effect)])
        if (trials, effect) not in truths:
            many = evaluate(
                project, Design(TOPICS_OF_THE_TRUTH, trials, effect), 1, np.random.default_rng(options.seed)
            )
            truths[trials, effect] = {name: {row[0]: row[1] for row in rows} for name, rows in many.items()}
        found: dict[str, list[tuple[Any, ...]]] = defaultdict(list)
        for runs in batches(design, options.repetitions):
            for name, rows in evaluate(project, design, runs, rng).items():
                found[name].extend(rows)
        start = f"| {topics} | {trials} | {'yes' if effect else 'no'} |"
        print(start, file=sys.stderr, flush=True)
        covers.append(start)
        for name in names:
            truth = truths[trials, effect][name]
            ends = [(truth[key], low, high) for key, _, low, high, *_ in found[name] if low is not None]
            inside = sum(low <= true <= high for true, low, high in ends) / max(len(ends), 1)
            width = sum(high - low for _, low, high in ends) / max(len(ends), 1)
            missing = 1 - len(ends) / len(found[name])
            covers[-1] += f" {inside:.1%}, {width:.2f}{f' ({missing:.1%} null)' if missing else ''} |".replace(
                "%", " %"
            )
        alarms.append(start)
        for name in tests:
            p_values = [row[4] for row in found[name] if row[5] and row[4] is not None]
            alarms[-1] += f" {sum(p < LEVEL for p in p_values) / max(len(p_values), 1):.1%} |".replace("%", " %")
    print("\n".join([*covers, "", *alarms]))


if __name__ == "__main__":
    main()
