"""The records of a debate that has ended, and records in the form that events use."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from debatebench.config.transcript_layout import side_of
from debatebench.plan.plan import Plan
from debatebench.shared.records import (
    AttackedTurn,
    Debate,
    Participant,
    Record,
    ScheduledDebate,
    Turn,
    Verdict,
    Weakness,
)


def participants(plan: Plan, scheduled: ScheduledDebate) -> tuple[Participant, ...]:
    """Who speaks in a debate, or spoke in the stored debate that is judged."""
    if (stored := plan.stored(scheduled)) is not None:
        seats = [(speaker.position, speaker.side, speaker.model_id) for speaker in stored.speakers]
    else:
        seats = [(position, side_of(position), model_id) for position, model_id in scheduled.speakers.items()]
    return tuple(
        Participant(
            run_tag=plan.run_tag, debate_id=scheduled.debate_id, position=position, model_id=model_id, side=side
        )
        for position, side, model_id in seats
    )


def debate_record(
    plan: Plan,
    scheduled: ScheduledDebate,
    status: Any,
    reason: str | None,
    turns: list[Turn],
    verdicts: list[Verdict],
) -> Debate:
    """The row of `raw.debates`: all of it follows from the plan and from journalled answers.

    `turns` are those that were given in this run; a stored debate that is judged has none.
    """
    stored = plan.stored(scheduled)
    said: list[Turn | Verdict] = [*turns, *verdicts]
    times = [record.created_at for record in said if record.created_at is not None]
    latencies = [verdict.latency_ms for verdict in verdicts if verdict.latency_ms is not None]
    return Debate(
        run_tag=plan.run_tag,
        debate_id=scheduled.debate_id,
        source_position=scheduled.schedule_position,
        schedule_position=scheduled.schedule_position,
        topic_id=scheduled.topic_id,
        format=stored.format if stored is not None else "british_parliamentary" if scheduled.teams else "two_sided",
        pro_model_id=scheduled.pro_model_id,
        con_model_id=scheduled.con_model_id,
        repetition=scheduled.repetition,
        debate_seed=scheduled.debate_seed,
        status=status,
        status_reason=reason,
        created_at=max(times, default=None),
        judges_expected=len(scheduled.panel),
        judges_actual=sum(verdict.is_valid for verdict in verdicts),
        panel_latency_ms=max(latencies, default=None),
        source_debate_id=scheduled.source_debate_id,
        trial=scheduled.trial,
        is_control=scheduled.weakness_type is None if plan.config.weaknesses else None,
        attack=scheduled.attack,
        attack_side=scheduled.attack_side,
    )


def injected(plan: Plan, scheduled: ScheduledDebate, turns: Sequence[Turn]) -> tuple[Weakness, ...]:
    """The weakness of a debate, if a speech that was to have it has been given."""
    told = next(filter(None, (plan.weakness_in(scheduled, turn.turn_index) for turn in turns)), None)
    if told is None or scheduled.weakness_side is None:
        return ()
    return (
        Weakness(
            run_tag=plan.run_tag,
            debate_id=scheduled.debate_id,
            side=scheduled.weakness_side,
            weakness_type=told.id,
            dimension=told.dimension,
            taxonomy=plan.config.weakness_taxonomy,
        ),
    )


def attacked_turn_records(plan: Plan, scheduled: ScheduledDebate, judged: Iterable[Turn]) -> Iterator[AttackedTurn]:
    """The speeches of an attacked copy as its judges read them; none of any other debate."""
    for turn in judged if scheduled.attack is not None else ():
        yield AttackedTurn(
            run_tag=plan.run_tag,
            debate_id=scheduled.debate_id,
            turn_index=turn.turn_index,
            position=turn.position,
            side=turn.side,
            stage=turn.stage,
            content=turn.content,
        )


def event_rows(records: Iterable[Record]) -> dict[str, list[dict[str, Any]]]:
    """Records in the form that events use, by table."""
    rows: dict[str, list[dict[str, Any]]] = {}
    for record in records:
        rows.setdefault(record.table, []).append(_as_json(record))
    return rows


def _as_json(record: Record) -> dict[str, Any]:
    return record.model_dump(mode="json", exclude_defaults=True)
