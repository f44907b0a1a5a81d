"""Whether simulated judges find injected weaknesses at their known rates, and how evenly a plan injects them.

    python benchmarks/weakness_detection.py [--topics 30] [--seeds 1] [--first-seed 1]

Plays a run of 5 debaters on 30 topics in the format karl_popper with the packaged weaknesses, rubric and a fifth of
controls: 600 debates, journalled like any other. The judges are simulated, without noise; `detects` is their known
rate. A weakness counts as found where the judge scores the weakened side below the other on the dimension that should
suffer, as ground truth and verdicts in the journal say.

Prints how even the plan is, and a Markdown table with a row per judge and weakness: found, rate, 95 % interval
(Wilson), known rate, and whether it is inside. With several seeds it prints how many of all intervals contain the
known rate.
Ends with status 1 if a control is not scored equally, or if fewer intervals contain the rate than chance allows.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path

from debatebench.config.load import load_debaters, load_topics
from debatebench.config.parts import load_format, load_rubric, load_weaknesses
from debatebench.config.prompt_files import load_prompts
from debatebench.config.types import Config, MemberConfig
from debatebench.journal.reading import read_journal
from debatebench.plan.plan import Plan, PlanOptions
from debatebench.plan.schedule import make_plan
from debatebench.plan.weaknesses import CONTROL_RATIO, weakness_counts
from debatebench.play.before_run import RunSettings
from debatebench.play.runner import play_run
from debatebench.shared.workspace import Workspace, packaged

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests" / "support"))

from oracles import wilson_interval

CONFIGS = packaged("configs")
TAXONOMY = load_weaknesses(CONFIGS / "weaknesses.yaml").weaknesses
TYPES = [weakness.id for weakness in TAXONOMY]
KNOWN: dict[str, dict[str, float]] = {
    "blind": dict.fromkeys(TYPES, 0.0),
    "poor": dict.fromkeys(TYPES, 0.25),
    "fair": dict.fromkeys(TYPES, 0.6),
    "keen": dict.fromkeys(TYPES, 0.9),
    "uneven": dict(zip(TYPES, (0.8, 0.1, 0.5, 0.3, 1.0), strict=True)),
}
# With true rates the chance that fewer intervals contain theirs is far below one in a thousand.
LEAST_COVERAGE = 0.88


@dataclass(frozen=True)
class Found:
    """What the verdicts of a run say."""

    seen: Counter[tuple[str, str]] = field(default_factory=Counter)
    """Judge and weakness → debates in which the weakened side has the lower score where it should suffer."""
    debates: Counter[str] = field(default_factory=Counter)
    """Weakness, or `control` → debates."""
    unequal_controls: Counter[str] = field(default_factory=Counter)
    """Judge → controls whose sides have different scores on some dimension."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--topics", type=int, default=30)
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--first-seed", type=int, default=1)
    options = parser.parse_args()
    inside = total = unequal = 0
    for seed in range(options.first_seed, options.first_seed + options.seeds):
        plan = plan_of(options.topics, seed)
        began = time.perf_counter()
        found = played(plan)
        spent = time.perf_counter() - began
        show = print if seed == options.first_seed else _nothing
        show(f"{len(plan.debates)} debates, {len(KNOWN)} judges, played in {spent:.1f} s.\n")
        show_balance(plan, show)
        one_inside, one_total = show_rates(found, show)
        inside, total = inside + one_inside, total + one_total
        unequal += sum(found.unequal_controls.values())
    print(f"\n{inside} of {total} intervals contain the known rate ({100 * inside / total:.1f} %).")
    print(f"Controls with different scores for the two sides: {unequal}.")
    if unequal or inside < LEAST_COVERAGE * total:
        sys.exit(1)


def plan_of(topics: int, seed: int) -> Plan:
    """A plan of 20 debates for each topic."""
    config = Config(
        rounds=load_format(CONFIGS / "formats" / "karl_popper.yaml"),
        dimensions=load_rubric(CONFIGS / "rubrics" / "debateflow.yaml").dimensions,
        judges_per_debate=len(KNOWN),
        weaknesses=TAXONOMY,
    )
    judges = tuple(
        MemberConfig(id=name, provider="simulated", model=name, parameters={"detects": rates, "noise": 0})
        for name, rates in KNOWN.items()
    )
    return make_plan(
        "flow",
        config,
        load_topics(CONFIGS / "topics_debateflow.json")[:topics],
        load_debaters(CONFIGS / "models.yaml")[:5],
        judges,
        load_prompts(Workspace(Path("/nonexistent")), config, judges),
        PlanOptions(seed=seed, control_ratio=CONTROL_RATIO),
        None,
    )


def played(plan: Plan) -> Found:
    """Play the plan, and compare its verdicts with its ground truth."""
    found = Found()
    with tempfile.TemporaryDirectory() as folder:
        journal = Path(folder) / "flow.jsonl"
        play_run(plan, journal, RunSettings(), environ={}, now=lambda: datetime(2026, 1, 1))
        for event in read_journal(journal):
            if event.data["type"] == "outcome" and event.data.get("of") == "debate":
                _count(event.data["records"], found)
    return found


def _count(records: dict[str, list[dict[str, object]]], found: Found) -> None:
    truth = next(iter(records.get("weaknesses", ())), None)
    found.debates[str(truth["weakness_type"]) if truth else "control"] += 1
    for verdict in records["verdicts"]:
        scores = {score["dimension"]: score for score in verdict["scores"]}  # type: ignore[attr-defined]
        judge = str(verdict["judge_id"])
        if truth is None:
            found.unequal_controls[judge] += any(float(s["pro"]) != float(s["con"]) for s in scores.values())
            continue
        score, side = scores[truth["dimension"]], str(truth["side"])
        other = "con" if side == "pro" else "pro"
        found.seen[judge, str(truth["weakness_type"])] += float(score[side]) < float(score[other])


def show_balance(plan: Plan, show: Callable[[str], None]) -> None:
    """How often each weakness is on each side, and how evenly over debaters and topics."""
    show("| weakness | on pro | on con | fewest to most for a debater | for a topic |")
    show("|---|---|---|---|---|")
    carried = [debate for debate in plan.debates if debate.weakness_type is not None]
    for name, pro, con in weakness_counts(plan.config, plan.debates):
        own = [debate for debate in carried if debate.weakness_type == name]
        by_debater = Counter(d.speakers[d.weakness_side] for d in own if d.weakness_side)
        by_topic = Counter(debate.topic_id for debate in own)
        debaters = [by_debater[debater.id] for debater in plan.debaters]
        topics = [by_topic[topic.id] for topic in plan.topics]
        show(f"| {name} | {pro} | {con} | {min(debaters)} to {max(debaters)} | {min(topics)} to {max(topics)} |")
    controls = Counter(debate.topic_id for debate in plan.debates if debate.weakness_type is None)
    counts = [controls[topic.id] for topic in plan.topics]
    show(f"| none (control) | {sum(counts)} in all | | | {min(counts)} to {max(counts)} |\n")


def show_rates(found: Found, show: Callable[[str], None]) -> tuple[int, int]:
    """A row for each judge and weakness; returns how many intervals contain the known rate, and how many there are."""
    show("| judge | weakness | found | rate | 95 % interval | known | inside |")
    show("|---|---|---|---|---|---|---|")
    inside = total = 0
    for judge, known in KNOWN.items():
        for name in TYPES:
            seen, count = found.seen[judge, name], found.debates[name]
            if not count:
                continue
            low, high = wilson_interval(seen, count)
            is_inside = low <= known[name] <= high
            inside, total = inside + is_inside, total + 1
            show(
                f"| {judge} | {name} | {seen} of {count} | {seen / count:.3f} | {low:.3f} to {high:.3f} | "
                f"{known[name]:.2f} | {'yes' if is_inside else 'no'} |"
            )
    return inside, total


def _nothing(_: str) -> None:
    """Only the first seed's tables are printed."""


if __name__ == "__main__":
    main()
