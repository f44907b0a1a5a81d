"""Runs that judge the stored debates of another run, as records: for tests of everything right of the journal."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import datetime
from decimal import Decimal

from debatebench.shared.records import (
    Debate,
    Debater,
    Dimension,
    Judge,
    JudgeNote,
    Participant,
    Record,
    Run,
    ScheduledDebate,
    Score,
    Topic,
    Verdict,
)

__all__ = ["POSITIONS", "judged_run"]

NOON = datetime(2026, 1, 2, 12)
POSITIONS = ("OG", "OO", "CG", "CO")
_FOUR_TEAMS = "british_parliamentary"


def judged_run(
    tag: str,
    source: Iterable[Record],
    *,
    trials: int = 1,
    methods: dict[str, str] | None = None,
    baselines: tuple[str, ...] = ("always_tie",),
    weights: dict[str, int] | None = None,
    text: str = "It was close.",
) -> Iterator[Record]:
    """A run in which every debate of `source` is judged again, `trials` times, by each judge and baseline.

    `methods` are those of the judges, by id. Con wins every debate in the second trial and every fourth otherwise;
    pro wins the others. Of four teams CG wins, which is pro.
    """
    records = list(source)
    (run,) = (record for record in records if isinstance(record, Run))
    judges = {"judge-x": "dimensional_v1"} if methods is None else methods
    yield Run(
        run_tag=tag,
        source="run",
        format="judging",
        source_run_tag=run.run_tag,
        benchmark_name=run.benchmark_name,
        benchmark_version=run.benchmark_version,
        created_at=NOON,
        seed=1,
    )
    for record in records:
        if isinstance(record, Topic | Debater):
            yield record.model_copy(update={"run_tag": tag})
    for judge, method in judges.items():
        yield Judge(
            run_tag=tag, judge_id=judge, provider="http", model_name=judge, method=method, prompt_style="scores"
        )
    for name in baselines:
        yield Judge(run_tag=tag, judge_id=name, method=name, is_baseline=True)
    for n, (name, weight) in enumerate((weights or {"logic": 1, "clarity": 1}).items()):
        yield Dimension(
            run_tag=tag,
            dimension=name,
            source_position=n,
            min_score=Decimal(1),
            max_score=Decimal(10),
            weight=Decimal(weight),
        )
    dimensions = tuple(weights or {"logic": 1, "clarity": 1})
    debates = [record for record in records if isinstance(record, Debate)]
    seats = [record for record in records if isinstance(record, Participant)]
    place = 0
    for trial in range(1, trials + 1):
        for n, debate in enumerate(debates):
            judged = f"j{trial}-{debate.debate_id}"[:60]
            pro_wins = trial != 2 and n % 4 != 3
            yield ScheduledDebate(
                run_tag=tag,
                debate_id=judged,
                schedule_position=place,
                topic_id=debate.topic_id,
                pro_model_id=debate.pro_model_id,
                con_model_id=debate.con_model_id,
                repetition=debate.repetition,
                debate_seed=place,
                panel=(*judges, *baselines),
                source_debate_id=debate.debate_id,
                trial=trial,
            )
            yield Debate(
                run_tag=tag,
                debate_id=judged,
                source_position=place,
                schedule_position=place,
                topic_id=debate.topic_id,
                format=debate.format,
                pro_model_id=debate.pro_model_id,
                con_model_id=debate.con_model_id,
                repetition=debate.repetition,
                source_debate_id=debate.debate_id,
                trial=trial,
                created_at=NOON,
            )
            for seat in seats:
                if seat.debate_id == debate.debate_id:
                    yield seat.model_copy(update={"run_tag": tag, "debate_id": judged})
            place += 1
            for seat_number, judge in enumerate(judges):
                yield from _verdict(tag, judged, judge, seat_number, debate.format, pro_wins, dimensions, text)
            for seat_number, name in enumerate(baselines, len(judges)):
                yield Verdict(
                    run_tag=tag,
                    debate_id=judged,
                    judge_id=name,
                    panel_position=seat_number,
                    is_valid=True,
                    declared_winner="tie",
                    scores=(),
                )


def _verdict(
    tag: str, debate: str, judge: str, seat: int, form: str, pro_wins: bool, dimensions: tuple[str, ...], text: str
) -> Iterator[Record]:
    """A judge's verdict with its notes; of four teams, pro is the better of OG and CG."""
    won, lost = Decimal("7.5"), Decimal(6)
    pro, con = (won, lost) if pro_wins else (lost, won)
    yield Verdict(
        run_tag=tag,
        debate_id=debate,
        judge_id=judge,
        panel_position=seat,
        is_valid=True,
        declared_winner="pro" if pro_wins else "con",
        scores=tuple(Score(dimension=name, pro=pro, con=con) for name in dimensions),
        prompt_tokens=700,
        completion_tokens=60,
        cost=Decimal("0.0007"),
    )
    if form == _FOUR_TEAMS:
        scores = dict(zip(POSITIONS, (Decimal(6), Decimal(5), Decimal("7.5"), Decimal(4)), strict=True))
        winner = "CG"
    else:
        scores, winner = {"pro": pro, "con": con}, "pro" if pro_wins else "con"
    notes: list[dict[str, object]] = [
        {"step": "speech", "speech": 0, "position": next(iter(scores)), "text": f"A speech. {text}"},
        {"step": "debate", "text": f"The debate. {text}"},
    ]
    for name in dimensions:
        for position, score in scores.items():
            notes.append({"step": "score", "dimension": name, "position": position, "score": score})
            notes.append({"step": "reason", "dimension": name, "position": position, "text": f"For {name}. {text}"})
    notes += [{"step": "winner", "position": winner}, {"step": "reason", "text": text}]
    notes.append({"step": "summary", "text": f"All in all. {text}"})
    for n, note in enumerate(notes):
        yield JudgeNote.model_validate(
            {"run_tag": tag, "debate_id": debate, "judge_id": judge, "note_index": n, **note}
        )
