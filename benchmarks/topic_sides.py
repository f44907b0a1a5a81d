"""How often intervals of `marts.topics` contain the side effect of a motion, and a fair motion is found to be sided.

    python benchmarks/topic_sides.py [--topics 2000] [--seed 1]

Every pair of debaters meets once in both orders on each simulated topic. Strengths are evenly spaced and known, as
after many topics. On each topic they differ by normal deviations of 0.6 on the log odds, one debate in ten is a tie,
and the motion adds `log_odds` for pro. The truth is the mean of (points of pro - points that the strengths predict)
over such topics. In the last column, debaters also differ by 0.4 in how good they are as pro and as con on a topic,
and the truth is about any such debaters.

Prints a Markdown table with a row per design: the true effect, how often the 95 % intervals contain it, their mean
width, the share of p values below 0.05, and the coverage where debaters differ by side.
"""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from itertools import permutations, product

import duckdb
import numpy as np
from numpy.typing import NDArray

from debatebench.landing.land import create_raw_tables
from debatebench.query.sql_project import load_project
from debatebench.shared.workspace import packaged
from debatebench.stats.bradley_terry import ELO_PER_LOG_STRENGTH, expit
from debatebench.transform.build import build

DEBATERS = (3, 4, 6, 12)
LOG_ODDS = (0.0, 1.0, 4.0)
TIES = 0.1
OF_TOPICS, OF_SIDES = 0.6, 0.4
_MANY = 100_000

LAND = """
insert into raw.topics by name
    select distinct 'r' as run_tag, topic as topic_id, 0 as source_position, topic as motion from played;
insert into raw.debates by name
    select 'r' as run_tag, concat(topic, '-', pro, '-', con) as debate_id, 0 as source_position, topic as topic_id,
        'two_sided' as format, 'complete' as status, 1 as trial, false as is_control
    from played;
insert into ratings.matchups by name
    select 'r' as run_tag, topic as topic_id, pro as pro_model_id, con as con_model_id,
        cast(points = 1 as integer) as pro_wins, cast(points = 0.5 as integer) as ties,
        cast(points = 0 as integer) as con_wins
    from played;
insert into ratings.bradley_terry by name
    select 'r' as run_tag, unnest(range(len($ratings))) as model_id, unnest($ratings) as rating;
"""


@dataclass(frozen=True)
class Design:
    """Topics on which `debaters` meet, and what the motion adds for pro; `of_sides` is how much they differ by side."""

    debaters: int
    log_odds: float
    of_sides: float

    @property
    def strengths(self) -> NDArray[np.float64]:
        """Log-strengths, which sum to zero."""
        return np.linspace(-0.75, 0.75, self.debaters)

    def points(self, topics: int, rng: np.random.Generator) -> NDArray[np.float64]:
        """Pro's points, by topic and ordered pair."""
        pro, con = np.array(list(permutations(range(self.debaters), 2))).T
        size = (topics, self.debaters)
        on_topic = self.strengths + rng.normal(0, OF_TOPICS, size)
        lead = on_topic[:, pro] - on_topic[:, con] + self.log_odds
        lead += rng.normal(0, self.of_sides, size)[:, pro] - rng.normal(0, self.of_sides, size)[:, con]
        won = rng.random(lead.shape) < expit(lead)
        return np.where(rng.random(lead.shape) < TIES, 0.5, won)

    def effect(self, rng: np.random.Generator) -> float:
        """The true effect: pro's points minus ½, because both orders together are expected to be even."""
        return float(self.points(_MANY, rng).mean() - 0.5)


def evaluate(design: Design, topics: int, rng: np.random.Generator) -> tuple[float, float, float, float]:
    """The true effect, the coverage and mean width of the intervals, and the share of p values below 0.05."""
    true, points = design.effect(rng), design.points(topics, rng).ravel()
    played = product(range(topics), permutations(range(design.debaters), 2))
    rows = [(f"t{topic}", pro, con) for topic, (pro, con) in played]
    columns = [list(each) for each in zip(*rows, strict=True)]
    with duckdb.connect() as con:
        create_raw_tables(con)
        folder = packaged("sql")
        project = load_project({p.relative_to(folder).as_posix(): p for p in folder.rglob("*") if p.is_file()})
        build(con, project, select=["+marts.topics"])
        con.execute(
            "create table played as select unnest($1::text[]) as topic, unnest($2::bigint[]) as pro, "
            "unnest($3::bigint[]) as con, unnest($4::double[]) as points",
            [*columns, points.tolist()],
        )
        ratings = (ELO_PER_LOG_STRENGTH * design.strengths).tolist()
        for statement in filter(str.strip, LAND.split(";")):
            con.execute(statement, {"ratings": ratings} if "$ratings" in statement else None)
        row = con.execute(
            "select avg(cast(? between ci_low and ci_high as integer)), avg(ci_high - ci_low), "
            "avg(cast(p_value < 0.05 as integer)) from marts.topics",
            [true],
        ).fetchone()
    assert row is not None
    return true, *row


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--topics", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    rng = np.random.default_rng(options.seed)
    print("| debaters | motion | side effect | intervals cover | width | p below 0.05 | debaters differ by side |")
    print("|---|---|---|---|---|---|---|")
    for debaters, log_odds in product(DEBATERS, LOG_ODDS):
        true, covered, width, found = evaluate(Design(debaters, log_odds, 0.0), options.topics, rng)
        _, by_side, _, _ = evaluate(Design(debaters, log_odds, OF_SIDES), options.topics, rng)
        motion = "fair" if log_odds == 0 else f"{log_odds:g}"
        shares = " | ".join((f"{covered:.1%}", f"{width:.2f}", f"{found:.1%}", f"{by_side:.1%}")).replace("%", " %")
        print(f"| {debaters} | {motion} | {true:.3f} | {shares} |", flush=True)


if __name__ == "__main__":
    main()
