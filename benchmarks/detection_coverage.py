"""How often the 95 % interval of a judge's difference in detection contains the true difference.

    python benchmarks/detection_coverage.py [--repetitions 400] [--seed 1]

For each repetition, the verdicts of simulated judges on debates with a weakness and on controls are drawn, and the SQL
models evaluate them as those of any run. Every topic has the same number of debates; of five, two have the weakness on
pro, two on con, and one is a control. A judge's margin for pro is its bias, the topic's pull towards a side (the same
for all judges, with a standard deviation of 1 where topics matter), noise with a standard deviation of 1, and its
`effect` against the weakened side; a margin of less than its `tie` is a tie. So the true rates follow from the normal
distribution.

Prints a Markdown table with a row per design and judge: the true difference, how often the interval contains it with a
95 % interval of that share (Wilson), the mean width of the interval, and how often it excludes 0. For judges without an
effect the last is the rate of false alarms, which should be 5 % or less.
"""

from __future__ import annotations

import argparse
import math
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from statistics import NormalDist

import duckdb
import numpy as np

from debatebench.landing.land import create_raw_tables
from debatebench.query.sql_project import load_project
from debatebench.shared.workspace import packaged
from debatebench.transform.build import build

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests" / "support"))

from oracles import wilson_interval

WEAK_SIDES = ("pro", "con", "pro", "con", None)
RUNS_AT_ONCE = 50


@dataclass(frozen=True)
class Judge:
    """How a judge decides, in standard deviations of its noise."""

    name: str
    effect: float = 0.0
    bias: float = 0.0
    tie: float = 0.0


@dataclass(frozen=True)
class Design:
    """How many debates, and whether topics pull towards a side."""

    topics: int
    debates_per_topic: int
    topic_deviation: float

    def difference(self, judge: Judge) -> float:
        """The true rate of weakened sides put lower, minus the same for sides of controls."""
        deviation = math.hypot(1, self.topic_deviation)

        def rate(margin: float) -> float:
            return NormalDist().cdf((margin - judge.tie) / deviation)

        weakened = rate(judge.effect + judge.bias) + rate(judge.effect - judge.bias)
        return (weakened - rate(judge.bias) - rate(-judge.bias)) / 2


JUDGES = (
    Judge("blind"),
    Judge("blind, for con", bias=-1.0),
    Judge("blind, often ties", tie=1.5),
    Judge("fair", effect=0.5),
    Judge("keen", effect=1.5),
    Judge("keen, often ties", effect=1.5, tie=1.0),
    Judge("finds nearly all", effect=3.5),
)
DESIGNS = tuple(Design(*each) for each in ((6, 10, 0.0), (6, 10, 1.0), (20, 5, 0.0), (20, 5, 1.0), (30, 20, 1.0)))


def draw(design: Design, rng: np.random.Generator, tag: str) -> Iterator[tuple[str, str, str, str | None, list[str]]]:
    """Run, debate, topic, weakened side and the judges' winners, for each debate of one run."""
    for topic in range(design.topics):
        pull = rng.normal(0, design.topic_deviation)
        for place in range(design.debates_per_topic):
            side = WEAK_SIDES[place % len(WEAK_SIDES)]
            towards_pro = {"pro": -1, "con": 1, None: 0}[side]
            noise = rng.normal(0, 1, len(JUDGES))
            margins = [
                judge.effect * towards_pro + judge.bias + pull + drawn
                for judge, drawn in zip(JUDGES, noise, strict=True)
            ]
            winners = [
                "tie" if abs(margin) < judge.tie else "pro" if margin > 0 else "con"
                for judge, margin in zip(JUDGES, margins, strict=True)
            ]
            yield tag, f"t{topic}d{place}", f"t{topic}", side, winners


LAND = """
insert into raw.runs by name
    select distinct run_tag, 'run' as source, 'coverage' as format from drawn;
insert into raw.judges by name
    select distinct run_tag, unnest($names) as judge_id, 'direct' as method, false as is_baseline from drawn;
insert into raw.dimensions by name
    select distinct run_tag, 'whole' as dimension, 0 as source_position, 1 as weight, 0 as tie_band from drawn;
insert into raw.debates by name
    select run_tag, debate_id, row_number() over () as source_position, topic_id, 'two_sided' as format,
        'complete' as status, 1 as trial, side is null as is_control
    from drawn;
insert into raw.weaknesses by name
    select run_tag, debate_id, side, 'flaw' as weakness_type, 'whole' as dimension from drawn where side is not null;
insert into raw.verdicts by name
    select run_tag, debate_id, judge_id, 0 as panel_position, true as is_valid, 1 as asks, false as is_repaired,
        false as is_truncated_after_verdict,
        false as is_injection_suspected,
        winner as declared_winner,
        [{
            'dimension': 'whole',
            'pro': case winner when 'pro' then 7 when 'tie' then 6 else 5 end,
            'con': case winner when 'con' then 7 when 'tie' then 6 else 5 end
        }] as scores
    from (select *, unnest($names) as judge_id, unnest(winners) as winner from drawn);
"""


def evaluate(design: Design, seeds: range) -> list[tuple[str, float, float, float]]:
    """Judge, difference and its interval, of the run of each seed, from the SQL models."""
    with duckdb.connect() as con:
        create_raw_tables(con)
        con.execute("create table drawn (run_tag text, debate_id text, topic_id text, side text, winners text[])")
        for seed in seeds:
            rows = list(draw(design, np.random.default_rng(seed), f"s{seed}"))
            con.execute(
                "insert into drawn select unnest($1::text[]), unnest($2::text[]), unnest($3::text[]), "
                "unnest($4::text[]), unnest($5::text[][])",
                [list(column) for column in zip(*rows, strict=True)],
            )
        names = [judge.name for judge in JUDGES]
        for statement in filter(str.strip, LAND.split(";")):
            con.execute(statement, {"names": names} if "$names" in statement else None)
        folder = packaged("sql")
        project = load_project({p.relative_to(folder).as_posix(): p for p in folder.rglob("*") if p.is_file()})
        build(con, project, select=["+marts.weakness_detection"])
        return con.execute(
            "select judge_id, difference, difference_ci_low, difference_ci_high from marts.weakness_detection "
            "where weakness_type = 'flaw' and measure = 'winner'"
        ).fetchall()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repetitions", type=int, default=400)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    print("| topics | debates each | topics matter | judge | difference | intervals cover | width | exclude 0 |")
    print("|---|---|---|---|---|---|---|---|")
    for design in DESIGNS:
        last = options.seed + options.repetitions
        found = [
            row
            for first in range(options.seed, last, RUNS_AT_ONCE)
            for row in evaluate(design, range(first, min(first + RUNS_AT_ONCE, last)))
        ]
        for judge in JUDGES:
            own = [row[1:] for row in found if row[0] == judge.name]
            true = design.difference(judge)
            inside = sum(low <= true <= high for _, low, high in own)
            low, high = wilson_interval(inside, len(own))
            width = sum(high - low for _, low, high in own) / len(own)
            excluding = sum(not low <= 0 <= high for _, low, high in own) / len(own)
            print(
                f"| {design.topics} | {design.debates_per_topic} | {'yes' if design.topic_deviation else 'no'} "
                f"| {judge.name} | {true:.3f} | {inside / len(own):.1%} ({low:.1%} to {high:.1%}) | {width:.2f} "
                f"| {excluding:.1%} |".replace("%", " %"),
                flush=True,
            )


if __name__ == "__main__":
    main()
