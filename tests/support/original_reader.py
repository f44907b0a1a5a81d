"""A reader of the original harness's result files that knows nothing of debatebench: its `summarize` and `rate`.

Written from that harness's documentation: the schema of `debates_<tag>.jsonl` in its results-schema.md, and the
formulas for winners, agreement, side preference and Elo in its README. What it refuses, the original refuses: a field
that is missing, of another type, or a score that is not whole. `plot` draws what `summarize` counts.
It holds no code of that harness.
"""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from itertools import combinations
from pathlib import Path
from typing import Any

SIDES, WINNERS = ("pro", "con"), ("pro", "con", "tie")


class NotReadError(Exception):
    """A line is no debate record."""


def _text(value: Any) -> bool:
    return isinstance(value, str)


def _whole(value: Any) -> bool:
    return not isinstance(value, bool) and (isinstance(value, int) or (isinstance(value, float) and value.is_integer()))


def _number(value: Any) -> bool:
    return not isinstance(value, bool) and isinstance(value, int | float)


def _moment(value: Any) -> bool:
    try:
        return isinstance(value, str) and datetime.fromisoformat(value) is not None
    except ValueError:
        return False


def _truth(value: Any) -> bool:
    return isinstance(value, bool)


def _mapping(value: Any) -> bool:
    return isinstance(value, dict)


def _list(value: Any) -> bool:
    return isinstance(value, list)


def _elo(value: Any) -> bool:
    return isinstance(value, dict) and all(_number(value.get(name, 0)) for name in ("initial_rating", "k_factor"))


def _winner(value: Any) -> bool:
    return value in WINNERS


def _of(check: Callable[[Any], bool]) -> Callable[[Any], bool]:
    return lambda value: isinstance(value, dict) and all(map(check, value.values()))


def _or_null(check: Callable[[Any], bool]) -> Callable[[Any], bool]:
    return lambda value: value is None or check(value)


_USAGE: dict[str, Callable[[Any], bool]] = {
    **dict.fromkeys(("prompt_tokens", "completion_tokens", "total_tokens"), _or_null(_whole)),
    "cost": _or_null(_number),
    "currency": _or_null(_text),
    "cost_details": _or_null(_mapping),
    "metadata": _or_null(_mapping),
}
_NEEDED: dict[str, dict[str, Callable[[Any], bool]]] = {
    "record": {"transcript": _mapping, "judges": _list, "aggregate": _mapping, "created_at": _moment},
    "transcript": {
        **dict.fromkeys(("debate_id", "benchmark_version", "rubric_version", "pro_model_id", "con_model_id"), _text),
        "topic": _mapping,
        "turns": _list,
    },
    "topic": {"id": _text, "motion": _text},
    "turn": {
        "index": _whole,
        "speaker": lambda value: value in SIDES,
        "stage": _text,
        "content": _text,
        "created_at": _moment,
    },
    "judge": {"judge_id": _text, "pro": _mapping, "con": _mapping, "winner": _winner},
    "scores": {"scores": _of(_whole)},
    "aggregate": {"winner": _winner, "mean_pro": _of(_number), "mean_con": _of(_number)},
}
_OPTIONAL: dict[str, dict[str, Callable[[Any], bool]]] = {
    "record": {
        **dict.fromkeys(("judges_expected", "judges_actual", "debate_seed"), _or_null(_whole)),
        "panel_complete": _or_null(_truth),
        "panel_latency_ms": _or_null(_number),
        "elo": _or_null(_elo),
    },
    "transcript": {"seed": _or_null(_whole)},
    "topic": {"category": _or_null(_text)},
    "turn": {"duration_ms": _or_null(_number), **_USAGE},
    "judge": {"raw_response": _or_null(_text), "latency_ms": _or_null(_number), **_USAGE},
    "scores": {},
    "aggregate": {},
}


def _check(kind: str, value: dict[str, Any], where: str) -> None:
    for name, check in _NEEDED[kind].items():
        if name not in value or not check(value[name]):
            raise NotReadError(f"{where}.{name}: {value.get(name)!r:.60}")
    for name, check in _OPTIONAL[kind].items():
        if not check(value.get(name)):
            raise NotReadError(f"{where}.{name}: {value[name]!r:.60}")


def read_debates(file: Path) -> list[dict[str, Any]]:
    """Every record of a `debates_<tag>.jsonl`. Raises `NotReadError`."""
    records = [json.loads(line) for line in file.read_text(encoding="utf-8").split("\n") if line.strip()]
    for number, record in enumerate(records, 1):
        where = f"line {number}"
        _check("record", record, where)
        _check("transcript", record["transcript"], f"{where}.transcript")
        _check("topic", record["transcript"]["topic"], f"{where}.topic")
        _check("aggregate", record["aggregate"], f"{where}.aggregate")
        for turn in record["transcript"]["turns"]:
            _check("turn", turn, f"{where}.turn")
        for judge in record["judges"]:
            _check("judge", judge, f"{where}.judge")
            for side in SIDES:
                _check("scores", judge[side], f"{where}.judge.{side}")
    return records


@dataclass(frozen=True, slots=True)
class Summary:
    """What `summarize` counts, as its CSV files have it; `plot` draws these."""

    winner_counts: dict[str, int]
    topic_winrate: dict[str, tuple[int, ...]]
    judge_agreement: dict[tuple[str, str], tuple[int, ...]]
    judge_side_preference: dict[str, tuple[int, ...]]
    model_winrate_by_side: dict[str, tuple[int, ...]]


def summarize(records: list[dict[str, Any]]) -> Summary:
    """Counts by winner of the panel, topic, pair of judges, judge, and debater and side."""
    winners: Counter[str] = Counter()
    topics: defaultdict[str, Counter[str]] = defaultdict(Counter)
    judges: defaultdict[str, Counter[str]] = defaultdict(Counter)
    models: defaultdict[str, Counter[tuple[str, str]]] = defaultdict(Counter)
    agreement: defaultdict[tuple[str, str], list[bool]] = defaultdict(list)
    for record in records:
        transcript, winner = record["transcript"], record["aggregate"]["winner"]
        winners[winner] += 1
        topics[transcript["topic"]["id"]][winner] += 1
        for side in SIDES:
            outcome = "t" if winner == "tie" else "w" if winner == side else "l"
            models[transcript[f"{side}_model_id"]][side, outcome] += 1
        for judge in record["judges"]:
            judges[judge["judge_id"]][judge["winner"]] += 1
        for one, two in combinations(record["judges"], 2):
            first, second = sorted((one["judge_id"], two["judge_id"]))
            agreement[first, second].append(one["winner"] == two["winner"])
    return Summary(
        winner_counts={winner: winners[winner] for winner in WINNERS},
        topic_winrate={
            topic: (found["pro"], found["con"], found["tie"], found.total()) for topic, found in topics.items()
        },
        judge_agreement={pair: (sum(same), len(same)) for pair, same in agreement.items()},
        judge_side_preference={judge: (found["pro"], found["con"], found["tie"]) for judge, found in judges.items()},
        model_winrate_by_side={
            model: tuple(found[side, each] for side in SIDES for each in "wlt") for model, found in models.items()
        },
    )


def _played_at(record: dict[str, Any]) -> tuple[datetime, str]:
    return datetime.fromisoformat(record["created_at"]), record["transcript"]["debate_id"]


def rate(records: list[dict[str, Any]]) -> dict[str, float]:
    """Elo by the records' own settings, in order of (created_at, debate_id)."""
    ratings: dict[str, float] = {}
    for record in sorted(records, key=_played_at):
        transcript, elo = record["transcript"], record.get("elo") or {}
        first, second = transcript["pro_model_id"], transcript["con_model_id"]
        pro, con = (ratings.get(each, elo.get("initial_rating", 400.0)) for each in (first, second))
        score = {"pro": 1.0, "con": 0.0, "tie": 0.5}[record["aggregate"]["winner"]]
        change = elo.get("k_factor", 32.0) * (score - 1 / (1 + 10 ** ((con - pro) / 400)))
        ratings[first], ratings[second] = pro + change, con - change
    return ratings
