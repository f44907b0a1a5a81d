"""One debate's rows → one record of the original harness: the inverse of its importer.

The schema has no field for: a debate's status and repetition, invalid verdicts, times and numbers of requests of
verdicts, judges that replaced another judge, marks (repaired, injection suspected), finish reasons and generation ids
without a raw response, the basis of a cost, call ids, schedules, scales, info slides, and the settings of debaters,
judges and runs.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from datetime import datetime
from decimal import Decimal
from typing import Any, TypeAlias

from debatebench.shared.json_bytes import mapping

Row: TypeAlias = Mapping[str, Any]

_RECORD_KEYS = {
    "transcript",
    "judges",
    "aggregate",
    "created_at",
    "judges_expected",
    "judges_actual",
    "panel_complete",
    "panel_latency_ms",
    "debate_seed",
    "elo",
}
_TOPIC_KEYS = {"id", "motion", "category"}

# Fields without a column, with their types: the importer stores them in a debate's metadata.
_FACTS: dict[str, type] = {
    "benchmark_version": str,
    "rubric_version": str,
    "seed": int,
    "elo": dict,
    "panel_complete": bool,
    "stated_judges_actual": int,
}


def original_record(
    run: Row, debate: Row, turns: Sequence[Row], verdicts: Sequence[Row], means: Sequence[Row]
) -> dict[str, Any]:
    """The record of one debate, keys in the original's order.

    `run`, `debate`, `turns` and `verdicts` are rows of `raw.*`. A debate also has its topic's `motion` and `category`
    and its panel's `winner`, a verdict its `winner`, and `means` are rows of `marts.debate_dimension_means`, in order.
    An import of this format is restored as it was; for other runs, a winner that is not stated is taken from the marts.
    """
    is_original = run["format"] == "debatebench"
    metadata = _json(debate["metadata"])
    facts = _facts(metadata, len(verdicts)) if is_original else _facts_of_run(run, debate, verdicts)
    extras = {key: value for key, value in metadata.items() if not (is_original and key in facts)}
    topic = _topic_extras(extras)
    transcript = {
        "debate_id": debate["debate_id"],
        "benchmark_version": facts.get("benchmark_version"),
        "rubric_version": facts.get("rubric_version"),
        "topic": {"id": debate["topic_id"], "motion": debate["motion"], "category": debate["category"], **topic},
        "pro_model_id": debate["pro_model_id"],
        "con_model_id": debate["con_model_id"],
        "turns": [_turn(turn) for turn in turns],
        "seed": facts.get("seed"),
    }
    record = {
        "transcript": transcript,
        "judges": [_verdict(verdict, is_original) for verdict in verdicts],
        "aggregate": _aggregate(debate, means, is_original),
        "created_at": _time(debate["created_at"]),
        "judges_expected": debate["judges_expected"],
        "judges_actual": facts.get("stated_judges_actual", len(verdicts)),
        "panel_complete": facts.get("panel_complete"),
        "panel_latency_ms": debate["panel_latency_ms"],
        "debate_seed": debate["debate_seed"],
        "elo": facts.get("elo"),
    }
    for key, value in extras.items():
        if not (topic and key == "topic"):
            # A key with a meaning in one place was found in the other, where it is only stored.
            (transcript if key in _RECORD_KEYS else record)[key] = value
    return record


def _facts(metadata: Mapping[str, Any], count_verdicts: int) -> dict[str, Any]:
    """The facts in the record itself, as far as they are of the type that the original reads."""
    facts = {key: metadata[key] for key, kind in _FACTS.items() if type(metadata.get(key)) is kind}
    numbers = (facts["elo"].get(key, 0.0) for key in ("initial_rating", "k_factor")) if "elo" in facts else ()
    if any(type(number) not in (int, float) for number in numbers):
        del facts["elo"]
    judges = facts.get("stated_judges_actual", -1)
    if judges < 0 or judges == count_verdicts:
        facts.pop("stated_judges_actual", None)
    return facts


def _facts_of_run(run: Row, debate: Row, verdicts: Sequence[Row]) -> dict[str, Any]:
    elo = {"initial_rating": run["elo_initial_rating"], "k_factor": run["elo_k_factor"]}
    return {
        "benchmark_version": run["benchmark_version"],
        "rubric_version": run["rubric_version"],
        "seed": run["seed"],
        # The original reads numbers, or no settings at all.
        "elo": None if None in elo.values() else elo,
        "panel_complete": len(verdicts) >= (debate["judges_expected"] or 0),
    }


def _topic_extras(extras: Mapping[str, Any]) -> dict[str, Any]:
    """Keys of the topic that the original does not have."""
    topic = extras.get("topic")
    return dict(topic) if isinstance(topic, dict) and not _TOPIC_KEYS & set(topic) else {}


def _turn(turn: Row) -> dict[str, Any]:
    details, metadata = _cost_details(_json(turn["metadata"]))
    outside = [key for key in metadata if _stood_outside(turn, key, metadata[key])]
    extras = {key: metadata.pop(key) for key in outside}
    return {
        "index": turn["turn_index"],
        "speaker": turn["side"],
        "stage": turn["stage"],
        "content": turn["content"],
        "created_at": _time(turn["created_at"]),
        "duration_ms": turn["duration_ms"],
        **_usage(turn, details),
        "metadata": {"raw_response": None, "reasoning": turn["reasoning"], **metadata},
        **extras,
    }


def _stood_outside(turn: Row, key: str, value: Any) -> bool:
    """Whether a value is not from the turn's own metadata: from there it would have filled columns, which are empty."""
    if key == "reasoning":
        return isinstance(value, str)
    reported = (turn["finish_reason"], turn["serving_provider"], turn["generation_id"])
    return key == "raw_response" and isinstance(value, dict) and reported == (None, None, None)


def _verdict(verdict: Row, is_original: bool) -> dict[str, Any]:
    details, metadata = _cost_details(_json(verdict["metadata"]))
    scores = verdict["scores"] or []
    derived = None if is_original else verdict["winner"]
    return {
        "judge_id": verdict["judge_id"],
        "pro": {"scores": {score["dimension"]: _number(score["pro"]) for score in scores}},
        "con": {"scores": {score["dimension"]: _number(score["con"]) for score in scores}},
        # The original has the winner by the scores here, and its panel counts it.
        "winner": derived or verdict["declared_winner"],
        "raw_response": verdict["raw_response"],
        "latency_ms": verdict["latency_ms"],
        **_usage(verdict, details),
        "metadata": {"raw_response": None, "reasoning": None, **metadata},
    }


def _usage(row: Row, cost_details: dict[str, Any] | None) -> dict[str, Any]:
    return {
        "prompt_tokens": row["prompt_tokens"],
        "completion_tokens": row["completion_tokens"],
        "total_tokens": row["total_tokens"],
        "cost": None if row["cost"] is None else float(row["cost"]),
        "currency": row["currency"],
        "cost_details": cost_details,
    }


def _aggregate(debate: Row, means: Sequence[Row], is_original: bool) -> dict[str, Any]:
    """The panel's winner and each side's mean per dimension; for an imported record, the values that it stated."""
    winner = debate["winner"]
    if is_original:
        winner = debate["recorded_winner"]
        means = [row for row in means if row["dimension"] in (debate["dimension_order"] or ())]
    return {
        "winner": None if winner == "no_decision" else winner,
        "mean_pro": {row["dimension"]: row["pro_mean_score"] for row in means},
        "mean_con": {row["dimension"]: row["con_mean_score"] for row in means},
    }


def _cost_details(metadata: Mapping[str, Any]) -> tuple[dict[str, Any] | None, dict[str, Any]]:
    """(details of the cost, the rest): the importer stores both in one object, details without their nulls."""
    details = metadata.get("cost_details")
    if not isinstance(details, dict) or not details or None in details.values():
        return None, dict(metadata)
    return details, {key: value for key, value in metadata.items() if key != "cost_details"}


def _number(score: Decimal) -> int | float:
    """A score as people write it: 7, not 7.000000."""
    return int(score) if score == score.to_integral_value() else float(score)


def _time(time: datetime | None) -> str | None:
    return None if time is None else f"{time.isoformat(timespec='microseconds')}Z"


def _json(text: str | None) -> dict[str, Any]:
    """The object in a JSON column; metadata that is not an object counts as empty."""
    return {} if text is None else mapping(json.loads(text))
