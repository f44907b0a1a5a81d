"""Inputs at the edges of what configuration and imports accept: scales, weights, scores, counts, costs and names."""

from __future__ import annotations

import json
from pathlib import Path
from random import Random
from typing import Any

from debatebench.shared.records import MOST_COUNT, MOST_SCORE

_MOST = float(MOST_SCORE)
_FINEST = 1e-6
_DIMENSIONS = ("clarity", "Ärger", "overall", "x" * 150)
_NAMES = ("a", "José", "b\"'`", '"; drop table x; --', "<script>", "=1+1", "\u0627\u200c\u0628", "A")
_JUDGES = ("j1", "J1", "jé", "j;", "😀")
_COUNTS = (None, 0, 1, 999, MOST_COUNT)
_AMOUNTS = (None, 0, 4e-11, 1e-10, 0.5, 99999999.99)
_DURATIONS = (None, 0, 1e-300, 5, 99999999.0)
_TIMES = (None, "0001-01-01T00:00:00Z", "9999-12-31T23:59:59.999999Z", "2026-01-01T00:00:00Z")
_SPEECHES = ("", "w", "word " * 3, "x" * 100_000, "\x00", "ß" * 2000)
_SEEDS = (None, -(2**63), 2**63 - 1)

EXTREME_CONFIG: dict[str, Any] = {
    "benchmark": {"name": "extreme", "version": "v9"},
    "debate": {"rounds": [{"role": "pro", "stage": "opening"}, {"role": "con", "stage": "opening"}]},
    "scoring": {
        "judges_per_debate": 2,
        "dimensions": {
            "widest": {"min": -_MOST, "max": _MOST, "integer": False, "weight": _MOST, "tie_band": _MOST},
            "finest": {"min": -_FINEST, "max": 0, "weight": _FINEST},
            "highest": {"min": _MOST - _FINEST, "max": _MOST, "weight": _MOST - _FINEST, "tie_band": _FINEST},
        },
    },
    "elo": {"initial_rating": -1_000_000, "k_factor": 10_000, "min_games_for_display": 0},
}
"""Scales, weights, bands and ratings as far apart, and as close together, as a configuration may have them."""


def write_extreme_debates(path: Path, seed: int, debates: int = 12) -> Path:
    """A file in the original harness's format in which every number and name is drawn from the edges."""
    random = Random(seed)
    path.write_text("".join(json.dumps(_debate(random, n)) + "\n" for n in range(debates)))
    return path


def _debate(random: Random, n: int) -> dict[str, Any]:
    pro, con = random.sample(_NAMES, 2)
    return {
        "transcript": {
            "debate_id": f"d{n}",
            "benchmark_version": "v1",
            "rubric_version": "r1",
            "topic": {"id": f"t{n % 4}", "motion": f"Motion {n % 4}", "category": (None, "c", '"quote', "z")[n % 4]},
            "pro_model_id": pro,
            "con_model_id": con,
            "turns": [_turn(random, index) for index in range(random.choice((0, 1, 2, 6)))],
            "seed": random.choice(_SEEDS),
        },
        "judges": [_verdict(random, judge) for judge in random.sample(_JUDGES, random.choice((0, 1, 2, 4)))],
        "created_at": random.choice(_TIMES),
        "judges_expected": random.choice(_COUNTS),
        "panel_latency_ms": random.choice(_DURATIONS),
        "debate_seed": random.choice(_SEEDS),
    }


def _usage(random: Random) -> dict[str, Any]:
    tokens = {name: random.choice(_COUNTS) for name in ("prompt_tokens", "completion_tokens", "total_tokens")}
    return {**tokens, "cost": random.choice(_AMOUNTS), "currency": random.choice((None, "USD", "EUR"))}


def _turn(random: Random, index: int) -> dict[str, Any]:
    return {
        "index": index,
        "speaker": ("pro", "con")[index % 2],
        "stage": random.choice((None, "opening", "")),
        "content": random.choice(_SPEECHES),
        "created_at": random.choice(_TIMES),
        "duration_ms": random.choice(_DURATIONS),
        **_usage(random),
    }


def _verdict(random: Random, judge_id: str) -> dict[str, Any]:
    scored = random.sample(_DIMENSIONS, random.choice((0, 1, 4)))
    return {
        "judge_id": judge_id,
        "pro": {"scores": {name: _score(random) for name in scored}},
        "con": {"scores": {name: _score(random) for name in scored}},
        "winner": random.choice(("pro", "con", "tie", None)),
        "latency_ms": random.choice(_DURATIONS),
        **_usage(random),
    }


def _score(random: Random) -> float:
    edges = (0, 1, 10, -1, _MOST, -_MOST, _MOST - _FINEST, _FINEST, -_FINEST)
    return random.choice((*edges, round(random.uniform(-_MOST, _MOST), 6)))
