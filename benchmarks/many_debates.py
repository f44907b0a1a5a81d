"""Write many small debates in the original harness's format: the same file for the same arguments.

    python benchmarks/many_debates.py --count 100000 --out debates.jsonl [--seed 7]
    python benchmarks/many_debates.py --count 100000 --parts 8 --out FOLDER

With `--parts`, the debates are shared out to so many files of equal size, `1.jsonl` and so on.

Twelve debaters of different strength, eight judges of different leniency, five dimensions, sixty topics in six
categories; six turns of about twelve words, and three judges a debate: 5 KB a line. Some turns and verdicts lack
numbers of tokens, one debater has no costs, and five topics have no category, as in files of that harness.
"""

from __future__ import annotations

import argparse
import itertools
import json
import random
import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

DIMENSIONS = ("persuasiveness", "reasoning", "factuality", "clarity", "safety")
STAGES = [(side, stage) for stage in ("opening", "rebuttal", "closing") for side in ("pro", "con")]
CATEGORIES = ("privacy", "economics", "education", "health", "technology", "governance")
WORDS = [
    "the",
    "market",
    "of",
    "costs",
    "that",
    "a",
    "law",
    "will",
    "shift",
    "is",
    "borne",
    "by",
    "those",
    "who",
    "do",
    "not",
    "vote",
    "and",
    "who",
    "have",
    "no",
    "other",
    "way",
]
TOPICS, DEBATERS, JUDGES, PANEL, WITHOUT_CATEGORY = 60, 12, 8, 3, 5
BEGINNING = datetime(2026, 1, 1, tzinfo=UTC)


@dataclass(frozen=True)
class World:
    """What stays the same from debate to debate."""

    strengths: list[float]
    leniencies: list[float]
    tilts: list[float]
    sentences: list[str]

    @classmethod
    def drawn(cls, draw: random.Random) -> World:
        def normal(count: int, spread: float) -> list[float]:
            return [draw.gauss(0, spread) for _ in range(count)]

        sentences = [" ".join(draw.choices(WORDS, k=12)).capitalize() + "." for _ in range(4000)]
        return cls(normal(DEBATERS, 1), normal(JUDGES, 0.6), normal(TOPICS, 0.3), sentences)


def debates(count: int, seed: int) -> Iterator[dict[str, Any]]:
    """The records, in order of their times."""
    draw = random.Random(seed)
    world = World.drawn(draw)
    at = BEGINNING
    for number in range(count):
        at += timedelta(microseconds=1 + int(draw.random() * 4e6))
        yield _debate(world, draw, number, at)


def _debate(world: World, draw: random.Random, number: int, at: datetime) -> dict[str, Any]:
    topic = int(draw.random() * TOPICS)
    pro = int(draw.random() * DEBATERS)
    con = (pro + 1 + int(draw.random() * (DEBATERS - 1))) % DEBATERS
    turns = [_turn(world, draw, index, {"pro": pro, "con": con}[side], at) for index, (side, _) in enumerate(STAGES)]
    quality = {
        "pro": 6.3 + 0.9 * world.strengths[pro] + draw.gauss(0, 0.8) + world.tilts[topic],
        "con": 6.3 + 0.9 * world.strengths[con] + draw.gauss(0, 0.8),
    }
    judges = [_verdict(world, draw, judge, quality) for judge in draw.sample(range(JUDGES), PANEL)]
    winners = [judge["winner"] for judge in judges]
    category = CATEGORIES[topic % len(CATEGORIES)]
    transcript = {
        "debate_id": str(uuid.UUID(int=draw.getrandbits(128), version=4)),
        "benchmark_version": "v0.1",
        "rubric_version": "v0.1",
        "topic": {
            "id": f"t{topic:03d}",
            "motion": f"This house would adopt proposal {topic} on {category}.",
            "category": category if topic < TOPICS - WITHOUT_CATEGORY else None,
        },
        "pro_model_id": f"m{pro:02d}",
        "con_model_id": f"m{con:02d}",
        "turns": turns,
        "seed": 12345,
    }
    return {
        "transcript": transcript,
        "judges": judges,
        "aggregate": {
            "winner": _majority(winners.count("pro"), winners.count("con")),
            **{f"mean_{side}": _means(judges, side) for side in ("pro", "con")},
        },
        "created_at": _text(at),
        "judges_expected": PANEL,
        "judges_actual": PANEL,
        "panel_complete": True,
        "panel_latency_ms": sum(judge["latency_ms"] for judge in judges),
        "debate_seed": number,
        "elo": {"initial_rating": 400.0, "k_factor": 32.0},
    }


def _turn(world: World, draw: random.Random, index: int, debater: int, at: datetime) -> dict[str, Any]:
    prompt, completion = 620 + 700 * index, 600 + int(draw.random() * 200)
    is_counted = draw.random() > 0.01
    cost = None if debater == DEBATERS - 1 else round((prompt + 4 * completion) * 5e-7, 9)
    side, stage = STAGES[index]
    return {
        "index": index,
        "speaker": side,
        "stage": stage,
        "content": draw.choice(world.sentences),
        "created_at": _text(at - timedelta(seconds=90 - 10 * index)),
        "duration_ms": round(completion * (7 + 6 * draw.random()), 6),
        "prompt_tokens": prompt if is_counted else None,
        "completion_tokens": completion if is_counted else None,
        "total_tokens": prompt + completion if is_counted else None,
        "cost": cost,
        "currency": None,
        "cost_details": {"upstream_inference_cost": None} if cost is not None else None,
        "metadata": {"raw_response": None, "reasoning": None},
    }


def _verdict(world: World, draw: random.Random, judge: int, quality: dict[str, float]) -> dict[str, Any]:
    scores = {
        side: {
            dimension: max(1, min(10, round(level + world.leniencies[judge] + draw.gauss(0, 0.8))))
            for dimension in DIMENSIONS
        }
        for side, level in quality.items()
    }
    prompt, completion = 5700, 60 + int(draw.random() * 200)
    is_counted = draw.random() > 0.01
    pro, con = (sum(each.values()) for each in scores.values())
    return {
        "judge_id": f"j{judge}",
        "pro": {"scores": scores["pro"]},
        "con": {"scores": scores["con"]},
        "winner": _majority(pro, con),
        "raw_response": json.dumps({"scores": scores}, separators=(",", ":")),
        "latency_ms": round(completion * (7 + 6 * draw.random()), 6),
        "prompt_tokens": prompt if is_counted else None,
        "completion_tokens": completion if is_counted else None,
        "total_tokens": prompt + completion if is_counted else None,
        "cost": round((prompt + 4 * completion) * 1e-6, 9),
        "currency": None,
        "cost_details": {"upstream_inference_cost": None},
        "metadata": {"raw_response": None, "reasoning": None},
    }


def _majority(pro: int, con: int) -> str:
    return "pro" if pro > con else "con" if con > pro else "tie"


def _means(judges: list[dict[str, Any]], side: str) -> dict[str, float]:
    return {name: sum(judge[side]["scores"][name] for judge in judges) / len(judges) for name in DIMENSIONS}


def _text(at: datetime) -> str:
    return at.strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--parts", type=int)
    options = parser.parse_args()
    encode = json.JSONEncoder(separators=(",", ":")).encode
    records = debates(options.count, options.seed)
    paths = [options.out]
    if options.parts is not None:
        options.out.mkdir()
        paths = [options.out / f"{number}.jsonl" for number in range(1, options.parts + 1)]
    for number, path in enumerate(paths, 1):
        share = options.count * number // len(paths) - options.count * (number - 1) // len(paths)
        with path.open("w") as file:
            for record in itertools.islice(records, share):
                file.write(encode(record) + "\n")


if __name__ == "__main__":
    main()
