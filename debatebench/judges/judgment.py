"""What a judge said and decided → the rows of a verdict and of the judge's notes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from debatebench.config.transcript_layout import side_of
from debatebench.judges.base import Judgment
from debatebench.judges.deliberation import TRUNCATED, Decision, Deliberation, path_of
from debatebench.judges.injection import planted_scores
from debatebench.judges.parsing import winner_of
from debatebench.judges.step_requests import JudgeAsks, spent
from debatebench.providers.base import Completion
from debatebench.providers.requests import is_cut_off
from debatebench.shared.records import JudgeNote, Score, Verdict

# The steps of analyses are kept as notes; the answers of all others are in the metadata, to be read again.
_ANALYSES = ("speech", "debate", "summary")


def judgment_of(
    deliberation: Deliberation, decision: Decision | None, reason: str | None, last_path: str | None
) -> Judgment:
    """The verdict and the notes of a deliberation; without a decision the verdict is invalid, with the reason.

    `last_path` is the step whose last answer the verdict shows.
    """
    seat, transcript = deliberation.seat, deliberation.transcript
    steps = sorted(deliberation.steps.items(), key=lambda item: item[1].place)
    asked = [step.asks for _, step in steps]
    shown = deliberation.steps[last_path].asks if last_path is not None else None
    scores = None if decision is None else scores_of(decision.scores, deliberation)
    verdict = Verdict(
        run_tag=transcript.run_tag,
        debate_id=transcript.debate_id,
        judge_id=seat.judge.id,
        panel_position=seat.position,
        presented_first=seat.first or (transcript.turns[0].side if transcript.turns else None),
        is_valid=decision is not None,
        invalid_reason=reason,
        declared_winner=winner_of(decision.winners) if decision else None,
        scores=scores,
        raw_response=shown.answers[-1].completion.text if shown and shown.answers else None,
        created_at=max((answer.received_at for asks in asked for answer in asks.answers), default=None),
        asks=sum(asks.asks for asks in asked),
        replaces_judge_id=seat.replaces_judge_id,
        is_repaired=decision is not None and decision.is_repaired,
        is_truncated_after_verdict=decision is not None and TRUNCATED in decision.flags,
        is_injection_suspected=_is_nonce_told(deliberation) or _is_copied(scores, deliberation),
        call_id=shown.last_call_id if shown else None,
        metadata=_metadata(deliberation, asked, shown, decision),
        **spent(asked, seat.judge),
    )
    return Judgment(verdict, tuple(notes_of(deliberation)))


def scores_of(scores: Mapping[str, Mapping[str, Decimal]], deliberation: Deliberation) -> tuple[Score, ...]:
    """The scores of both sides; of teams, those of the better team of each side, by the weighted mean."""
    if not scores:
        return ()
    dimensions = deliberation.config.dimensions
    best: dict[str, Mapping[str, Decimal]] = {}
    for position, given in scores.items():
        side = side_of(position)
        if side not in best or _weighed(given, deliberation) > _weighed(best[side], deliberation):
            best[side] = given
    return tuple(Score(dimension=name, pro=best["pro"][name], con=best["con"][name]) for name in dimensions)


def _weighed(scores: Mapping[str, Decimal], deliberation: Deliberation) -> Decimal:
    return sum((each.weight * scores[name] for name, each in deliberation.config.dimensions.items()), Decimal(0))


def _is_nonce_told(deliberation: Deliberation) -> bool:
    """Whether the judge repeated a nonce, as if it had been told to."""
    return any(
        step.nonce in answer.completion.text for step in deliberation.steps.values() for answer in step.asks.answers
    )


def _is_copied(scores: tuple[Score, ...] | None, deliberation: Deliberation) -> bool:
    """Whether a speech contains the very scores of the verdict."""
    return bool(scores) and scores in planted_scores(deliberation.transcript.turns, deliberation.config.dimensions)


def _metadata(
    deliberation: Deliberation, asked: list[JudgeAsks], shown: JudgeAsks | None, decision: Decision | None
) -> dict[str, Any] | None:
    last = shown.answers[-1].completion if shown and shown.answers else None
    served_model = last.served_model if last else None
    metadata = {
        "flags": list(decision.flags) if decision else [],
        "reasons": [reason for asks in asked for reason in asks.reasons],
        "rejected": [text for asks in asked for text in asks.rejected],
        "finish_reason": last.finish_reason if last else None,
        "served_model": served_model if served_model != deliberation.seat.judge.model else None,
        "cost_details": dict(last.cost_details) if last and last.cost_details else None,
        "answers": kept_answers(
            {
                path: StoredAnswer(step.asks.answers[-1].completion, step.asks.last_call_id)
                for path, step in sorted(deliberation.steps.items(), key=lambda item: item[1].place)
                if step.asks.answers and not step.is_analysis
            }
        ),
    }
    return {name: value for name, value in metadata.items() if value} or None


def notes_of(deliberation: Deliberation) -> Iterable[JudgeNote]:
    """All that the judge stated, in the order of the steps."""
    index = 0
    for step in sorted(deliberation.steps.values(), key=lambda step: step.place):
        for note in step.notes:
            yield JudgeNote(
                run_tag=deliberation.transcript.run_tag,
                debate_id=deliberation.transcript.debate_id,
                judge_id=deliberation.seat.judge.id,
                note_index=index,
                step=note.step,
                dimension=note.dimension,
                speech=note.speech,
                position=note.position,
                text=note.text,
                score=note.score,
                call_id=step.asks.last_call_id,
            )
            index += 1


@dataclass(frozen=True, slots=True)
class StoredAnswer:
    """A stored answer, as far as it is needed to read it again, and its call."""

    completion: Completion
    call_id: str | None


def kept_answers(answers: Mapping[str, StoredAnswer]) -> dict[str, dict[str, Any]]:
    """Answers by path as the metadata of a verdict hold them.

    The text of a verdict in one step is in `raw_response`; here it is only if it stood elsewhere in the reply.
    """
    return {
        path: {
            "call_id": answer.call_id,
            "text": answer.completion.text,
            **({"is_moved": True} if answer.completion.is_moved else {}),
            **({"finish_reason": answer.completion.finish_reason} if is_cut_off(answer.completion) else {}),
        }
        for path, answer in answers.items()
        if path or answer.completion.is_moved
    }


def stored_answers(verdict: Verdict, notes: Iterable[JudgeNote]) -> dict[str, StoredAnswer]:
    """The last answer of every step of a stored verdict, by path."""
    metadata: Mapping[str, Any] = verdict.metadata or {}
    # The finish reason of the last call; those of earlier ones are beside their answers.
    finish_reasons = {verdict.call_id: metadata.get("finish_reason")}
    answers = {}
    for path, kept in (metadata.get("answers") or {}).items():
        call_id = kept.get("call_id")
        finish_reason = kept.get("finish_reason") or finish_reasons.get(call_id)
        completion = Completion(kept["text"], is_moved=bool(kept.get("is_moved")), finish_reason=finish_reason)
        answers[path] = StoredAnswer(completion, call_id)
    for note in notes:
        if note.step in _ANALYSES and note.text is not None:
            path = path_of(note.step, note.dimension, note.speech)
            # A summary that is a decision is in the metadata, and its note is only the reason.
            answers.setdefault(path, StoredAnswer(Completion(note.text), note.call_id))
    if not answers and verdict.raw_response is not None:
        completion = Completion(verdict.raw_response, finish_reason=metadata.get("finish_reason"))
        answers[""] = StoredAnswer(completion, verdict.call_id)
    return answers
