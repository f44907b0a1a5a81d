"""A debate of the original DebateBench harness → the rows that it lands as."""

from __future__ import annotations

from typing import Any

import msgspec
from msgspec import UNSET, Raw

from debatebench.landing.importers.base import BadSourceError
from debatebench.landing.importers.strict_source import known, score_json
from debatebench.shared.record_columns import row_struct
from debatebench.shared.records import Debate, Participant, Turn, Verdict

Rows = tuple[tuple[str, int, bytes], ...]
"""Table, number of rows and their JSON, one per line."""

_write_rows = msgspec.json.Encoder().encode_lines
_DebateRow, _ParticipantRow, _TurnRow, _VerdictRow = map(row_struct, (Debate, Participant, Turn, Verdict))


def landed_scores(source: Any) -> list[list[Raw]]:
    """The scores of every verdict in the form in which they land. Raises `BadSourceError`."""
    return [_scores(verdict, position) for position, verdict in enumerate(source.judges)]


def has_whole_scores(source: Any) -> bool:
    """Whether all scores are whole numbers, which are exact."""
    sides = [side.scores.values() for verdict in source.judges for side in (verdict.pro, verdict.con) if side]
    return all(all(map(float.is_integer, values)) for values in sides)


def _scores(verdict: Any, position: int) -> list[Raw]:
    pro, con = scores_of(verdict.pro), scores_of(verdict.con)
    if pro.keys() != con.keys():
        one_sided = sorted(pro.keys() ^ con.keys())[0]
        raise BadSourceError(f"judges[{position}]: only one side has a score of {one_sided[:60]!r}.")
    return [score_json(dimension, value, con[dimension]) for dimension, value in pro.items()]


def scores_of(side: Any) -> dict[str, float]:
    """The scores of one side of a verdict; none where the verdict only names a winner."""
    return side.scores if side else {}


def debate_rows(source: Any, run_tag: str, scores: list[list[Raw]]) -> Rows:
    """The rows of a debate without its position, which is not known yet."""
    transcript = source.transcript
    debate_id = transcript.debate_id
    models = {"pro": transcript.pro_model_id, "con": transcript.con_model_id}
    turns = [_turn(turn, run_tag, debate_id, models[turn.speaker]) for turn in transcript.turns]
    verdicts = [
        _verdict(verdict, run_tag, debate_id, position, scores[position])
        for position, verdict in enumerate(source.judges)
    ]
    tables = (
        ("debates", [_debate(source, run_tag)]),
        ("participants", _sides(source, run_tag)),
        ("turns", turns),
        ("verdicts", verdicts),
    )
    return tuple([(table, len(rows), _write_rows(rows)[:-1]) for table, rows in tables if rows])


def counted_rows(source: Any, run_tag: str) -> Rows:
    """The same of a plain debate, whose turns and verdicts are only counted."""
    turns, verdicts = len(source.transcript.turns), len(source.judges)
    debate, sides = _debate(source, run_tag), _sides(source, run_tag)
    tables = (
        ("debates", 1, _write_rows([debate])[:-1]),
        ("participants", len(sides), _write_rows(sides)[:-1]),
        ("turns", turns, b""),
        ("verdicts", verdicts, b""),
    )
    return tuple([table for table in tables if table[1]])


def _sides(source: Any, run_tag: str) -> list[msgspec.Struct]:
    transcript = source.transcript
    models = {"pro": transcript.pro_model_id, "con": transcript.con_model_id}
    return [_ParticipantRow(run_tag, transcript.debate_id, side, model_id, side) for side, model_id in models.items()]


def _debate(source: Any, run_tag: str) -> msgspec.Struct:
    transcript, aggregate = source.transcript, source.aggregate
    counted = len(source.judges)
    return _DebateRow(
        run_tag=run_tag,
        debate_id=transcript.debate_id,
        source_position=UNSET,
        topic_id=transcript.topic.id,
        pro_model_id=transcript.pro_model_id,
        con_model_id=transcript.con_model_id,
        debate_seed=source.debate_seed,
        created_at=source.created_at,
        judges_expected=source.judges_expected,
        judges_actual=counted,
        panel_latency_ms=source.panel_latency_ms,
        recorded_winner=aggregate.winner if aggregate else UNSET,
        dimension_order=_stated_order(source) or UNSET,
        metadata=known(
            source.model_extra,
            transcript.model_extra,
            benchmark_version=transcript.benchmark_version,
            rubric_version=transcript.rubric_version,
            seed=transcript.seed,
            elo=_elo(source.elo) if source.elo else None,
            panel_complete=source.panel_complete,
            # Keep the statement only if it contradicts the verdicts.
            stated_judges_actual=source.judges_actual if source.judges_actual != counted else None,
            topic=transcript.topic.model_extra or None,
        ),
    )


def _turn(turn: Any, run_tag: str, debate_id: str, model_id: str) -> msgspec.Struct:
    stated = _present(turn.metadata)
    # Most turns state nothing.
    reasoning, served = _reasoning_and_reply(stated) if stated else (UNSET, None)
    finish_reason = _finish_reason(served) if served else UNSET
    return _TurnRow(
        run_tag,  # run_tag
        debate_id,  # debate_id
        turn.index,  # turn_index
        turn.speaker,  # position
        turn.speaker,  # side
        model_id,  # model_id
        turn.stage,  # stage
        turn.content,  # content
        reasoning,  # reasoning
        turn.created_at,  # created_at
        turn.duration_ms,  # duration_ms
        turn.prompt_tokens,  # prompt_tokens
        turn.completion_tokens,  # completion_tokens
        turn.total_tokens,  # total_tokens
        _amount(turn.cost),  # cost
        UNSET,  # cost_source
        turn.currency,  # currency
        finish_reason,  # finish_reason
        finish_reason == "length",  # is_truncated
        _text(served.get("provider")) if served else UNSET,  # serving_provider
        _text(served.get("id")) if served else UNSET,  # generation_id
        UNSET,  # call_id
        _metadata(turn, stated),  # metadata
    )


def _verdict(verdict: Any, run_tag: str, debate_id: str, position: int, scores: list[Raw]) -> msgspec.Struct:
    return _VerdictRow(
        run_tag,  # run_tag
        debate_id,  # debate_id
        verdict.judge_id,  # judge_id
        position,  # panel_position
        UNSET,  # presented_first
        bool(scores or verdict.winner),  # is_valid
        UNSET if scores or verdict.winner else "no scores",  # invalid_reason
        verdict.winner,  # declared_winner
        scores or UNSET,  # scores
        verdict.raw_response,  # raw_response
        UNSET,  # created_at
        verdict.latency_ms,  # latency_ms
        verdict.prompt_tokens,  # prompt_tokens
        verdict.completion_tokens,  # completion_tokens
        verdict.total_tokens,  # total_tokens
        _amount(verdict.cost),  # cost
        UNSET,  # cost_source
        verdict.currency,  # currency
        1,  # asks
        UNSET,  # replaces_judge_id
        False,  # is_repaired
        False,  # is_truncated_after_verdict
        False,  # is_injection_suspected
        UNSET,  # call_id
        _metadata(verdict, _present(verdict.metadata)),  # metadata
    )


def _reasoning_and_reply(stated: dict[str, Any]) -> tuple[Any, Any]:
    """A debater's hidden reasoning, which leaves the metadata because it has a column, and its raw response."""
    reasoning = stated.pop("reasoning") if isinstance(stated.get("reasoning"), str) else UNSET
    response = stated.get("raw_response")
    return reasoning, response if isinstance(response, dict) else None


def _present(details: Any) -> dict[str, Any]:
    """The details that are present and not null."""
    return {key: value for key, value in details.items() if value is not None} if details else {}


def _metadata(usage: Any, stated: dict[str, Any]) -> Any:
    costs = _present(usage.cost_details)
    if costs:
        stated["cost_details"] = costs
    more = _present(usage.model_extra)
    return {**more, **stated} if more else stated or UNSET


def dimension_names(source: Any) -> tuple[str, ...]:
    """Every dimension of a debate, in the order in which the source lists them."""
    scored = [dimension for verdict in source.judges for dimension in scores_of(verdict.pro)]
    return tuple(dict.fromkeys((*_stated_order(source), *scored)))


def _stated_order(source: Any) -> tuple[str, ...]:
    aggregate = source.aggregate
    return tuple(aggregate.mean_pro) if aggregate and aggregate.mean_pro else ()


def _elo(elo: Any) -> dict[str, Any]:
    stated = known({"initial_rating": elo.initial_rating, "k_factor": elo.k_factor}) or {}
    return {**stated, **(elo.model_extra or {})}


def _finish_reason(response: dict[str, Any]) -> Any:
    choices = response.get("choices")
    first = choices[0] if isinstance(choices, list) and choices else None
    return _text(first.get("finish_reason")) if isinstance(first, dict) else UNSET


def _text(value: Any) -> Any:
    return value if isinstance(value, str) else UNSET


def _amount(value: Any) -> Any:
    """The shortest text of a number; it becomes an exact decimal."""
    return repr(value) if isinstance(value, float) else UNSET
