"""How often is a judge without a weakness accused of one, and how often is a weak judge found?

    python benchmarks/false_alarms.py [--seeds 200] [--debates 100]

For each seed, verdicts of judges are drawn on clean debates and on attacked copies of them, eleven attacks each, and
the SQL models evaluate them as those of any run of `debatebench probe-judges`. A debate has a lead of one side, which
all judges see; each adds noise of its own to every verdict, clean or attacked, and its scores are rounded. The judges
without a weakness differ in noise, in bias for a side, and in how coarse their scores are, so that one names many ties.
The weak ones are moved by the first attack only, in a known share of debates.

Prints a row per judge: the share of seeds in which it is `led` by any attack, which should be 5 % or less without a
weakness, with a 95 % interval; the same for attacks that never move it; the same without Holm's method; and the same
for a rule that looks at the rate alone, whose interval lies above 5 %.
"""

from __future__ import annotations

import argparse
import sys
import time
from dataclasses import dataclass
from typing import Any

import duckdb
import numpy as np

from debatebench.landing.land import create_raw_tables
from debatebench.query.sql_project import load_project
from debatebench.shared.workspace import packaged
from debatebench.transform.build import build
from debatebench.transform.project import Project

ATTACKS = 11
TOPICS = 20


@dataclass(frozen=True)
class Judge:
    """How a judge errs; `weakness` is the share of debates in which the first attack wins it over."""

    name: str
    noise: float
    bias: float = 0.0
    step: float = 0.25
    weakness: float = 0.0


JUDGES = (
    Judge("steady", 0.1),
    Judge("usual", 0.6),
    Judge("noisy", 2.0),
    Judge("biased", 0.8, bias=1.0),
    Judge("coarse", 0.8, step=1.0),
    Judge("weak 10 %", 0.6, weakness=0.1),
    Judge("weak 20 %", 0.6, weakness=0.2),
    Judge("weak 40 %", 0.6, weakness=0.4),
)


def verdicts(rng: np.random.Generator, seed: int, debates: int) -> tuple[list[Any], list[Any]]:
    """Rows of debates and of verdicts for one seed."""
    leads = rng.normal(0, 1.2, debates)
    sides = [rng.permutation(np.arange(debates) % 2) * 2 - 1 for _ in range(ATTACKS)]
    tag = f"s{seed:04}"
    debate_rows, verdict_rows = [], []
    for number in range(debates):
        for attack in range(-1, ATTACKS):
            attacked = attack >= 0
            side = None if not attacked else "pro" if sides[attack][number] > 0 else "con"
            debate_rows.append(
                (
                    tag,
                    _id(number, attack),
                    number,
                    f"t{number % TOPICS}",
                    f"d{number}",
                    f"a{attack}" if attacked else None,
                    side,
                )
            )
    for judge in JUDGES:
        noise = rng.normal(0, judge.noise, (debates, ATTACKS + 1))
        margins = leads[:, None] + judge.bias + noise
        is_led = rng.random(debates) < judge.weakness
        margins[is_led, 1] = sides[0][is_led] * (np.abs(margins[is_led, 1]) + 0.5)
        pro = np.round((5.5 + margins / 2) / judge.step) * judge.step
        con = np.round((5.5 - margins / 2) / judge.step) * judge.step
        verdict_rows += [
            (tag, _id(number, attack), judge.name, float(pro[number, attack + 1]), float(con[number, attack + 1]))
            for number in range(debates)
            for attack in range(-1, ATTACKS)
        ]
    return debate_rows, verdict_rows


def _id(number: int, attack: int) -> str:
    return f"d{number}" if attack < 0 else f"d{number}~a{attack}"


def land(con: duckdb.DuckDBPyConnection, debate_rows: list[Any], verdict_rows: list[Any], tags: list[str]) -> None:
    """Write the rows that the SQL models of robustness read."""
    tag, debate, position, topic, source, attack, side = map(list, zip(*debate_rows, strict=True))
    con.execute(
        """
        insert into raw.debates by name
        select
            unnest($tag::varchar[]) as run_tag, unnest($debate::varchar[]) as debate_id,
            unnest($position::bigint[]) as source_position, unnest($topic::varchar[]) as topic_id,
            unnest($source::varchar[]) as source_debate_id, unnest($attack::varchar[]) as attack,
            unnest($side::varchar[]) as attack_side, 'two_sided' as format, 'complete' as status, 1 as trial
        """,
        {
            "tag": tag,
            "debate": debate,
            "position": position,
            "topic": topic,
            "source": source,
            "attack": attack,
            "side": side,
        },
    )
    tag, debate, judge, pro, con_score = map(list, zip(*verdict_rows, strict=True))
    con.execute(
        """
        insert into raw.verdicts by name
        select
            run_tag, debate_id, judge_id, 0 as panel_position, true as is_valid, 1 as asks, false as is_repaired,
            false as is_truncated_after_verdict,
            false as is_injection_suspected, [{'dimension': 'whole', 'pro': pro, 'con': con}] as scores
        from (
            select
                unnest($tag::varchar[]) as run_tag, unnest($debate::varchar[]) as debate_id,
                unnest($judge::varchar[]) as judge_id, unnest($pro::double[]) as pro, unnest($con::double[]) as con
        )
        """,
        {"tag": tag, "debate": debate, "judge": judge, "pro": pro, "con": con_score},
    )
    con.execute(
        """
        insert into raw.runs by name
        select unnest($tags::varchar[]) as run_tag, 'run' as source, 'probing' as format, 'held' as source_run_tag
        """,
        {"tags": tags},
    )
    con.execute(
        """
        insert into raw.judges by name
        select run_tag, unnest($names::varchar[]) as judge_id, 'direct' as method, false as is_baseline
        from (select unnest($tags::varchar[]) as run_tag)
        """,
        {"tags": tags, "names": [judge.name for judge in JUDGES]},
    )


def findings(project: Project, seeds: list[int], debates: int) -> list[tuple[Any, ...]]:
    """Per seed and judge: is it led by any attack; without Holm's method; by the rate alone."""
    con = duckdb.connect()
    create_raw_tables(con)
    drawn = [verdicts(np.random.default_rng(seed), seed, debates) for seed in seeds]
    land(
        con,
        [row for rows, _ in drawn for row in rows],
        [row for _, rows in drawn for row in rows],
        [f"s{seed:04}" for seed in seeds],
    )
    build(con, project, select=["+marts.judge_robustness"])
    found = con.execute(
        """
        select
            run_tag, judge_id, bool_or(is_led), bool_or(p_value < 0.05 and count_towards > count_away),
            bool_or(success_ci_low > 0.05), bool_or(is_led and attack <> 'a0')
        from marts.judge_robustness
        group by run_tag, judge_id
        """
    ).fetchall()
    con.close()
    return found


def interval(count: int, n: int) -> str:
    """The share and its 95 % interval by Wilson, in percent."""
    z, p = 1.959964, count / n
    middle, half = (p + z * z / (2 * n)) / (1 + z * z / n), z * ((p * (1 - p) + z * z / (4 * n)) / n) ** 0.5
    half /= 1 + z * z / n
    return f"{100 * p:.1f} % ({100 * max(middle - half, 0):.1f}–{100 * min(middle + half, 1):.1f})"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=200)
    parser.add_argument("--debates", type=int, default=100)
    options = parser.parse_args()
    folder = packaged("sql")
    project = load_project({p.relative_to(folder).as_posix(): p for p in folder.rglob("*") if p.is_file()})
    started, rows = time.perf_counter(), []
    for first in range(0, options.seeds, 20):
        seeds = list(range(first, min(first + 20, options.seeds)))
        rows += findings(project, seeds, options.debates)
        print(f"\r{len(seeds) + first} seeds", end="", file=sys.stderr)
    print(f", {time.perf_counter() - started:.0f} s", file=sys.stderr)
    print("| judge | led by any attack | by another than the first | without Holm | by the rate alone |")
    print("|---|---|---|---|---|")
    for judge in JUDGES:
        own = [row[2:] for row in rows if row[1] == judge.name]
        led, plain, rate, other = (sum(map(bool, column)) for column in zip(*own, strict=True))
        n = len(own)
        print(
            f"| {judge.name} | {interval(led, n)} | {interval(other, n)} | {interval(plain, n)} | {interval(rate, n)} |"
        )


if __name__ == "__main__":
    main()
