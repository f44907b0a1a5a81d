"""Runs of debates with injected weaknesses, and verdicts and annotations on them, as records written by rule."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import datetime
from decimal import Decimal

from debatebench.shared.records import (
    Annotation,
    Debate,
    Debater,
    Dimension,
    Judge,
    JudgeNote,
    Participant,
    Record,
    Run,
    Score,
    Side,
    Topic,
    Turn,
    Verdict,
    Weakness,
    Winner,
)

__all__ = ["DIMENSIONS", "WEAK_DIMENSIONS", "Verdicts", "annotations", "judged", "source"]

NOON = datetime(2026, 1, 1, 12)
WEAK_DIMENSIONS = {
    "weak_evidence": "burden_fulfillment",
    "argument_dropping": "clash_engagement",
    "logical_gaps": "rebuttal_quality",
    "burden_of_proof": "burden_fulfillment",
    "side_concession": "strategic_adaptation",
}
"""Type of weakness → the dimension that should suffer from it."""
DIMENSIONS = (
    "clash_engagement",
    "burden_fulfillment",
    "rebuttal_quality",
    "argument_extension",
    "strategic_adaptation",
)

Scores = Mapping[str, tuple[int, int]]
Verdicts = Callable[[Debate, Weakness | None, int], tuple[Scores | None, Winner | None]]
"""(debate, its weakness, its number among debates alike) → scores of pro and con by dimension, and the winner named."""


def source(
    tag: str,
    debates: Sequence[tuple[str | None, Side]],
    *,
    topics: int = 1,
    speech: str = "We argue that this is right.",
    motion: str = "Cities should close their centres to cars.",
    is_import: bool = True,
) -> Iterator[Record]:
    """A run of debates, each with this type of weakness on this side, or as a control with none."""
    yield Run(
        run_tag=tag, source="import" if is_import else "run", format="debateflow", benchmark_name="DebateFlow", seed=1,
        created_at=NOON,
    )  # fmt: skip
    for n in range(topics):
        yield Topic(run_tag=tag, topic_id=f"t{n}", source_position=n, motion=f"{motion} ({n})", category="policy")
    for name in ("alpha", "beta"):
        yield Debater(run_tag=tag, model_id=name)
    yield from rubric(tag)
    for n, (weakness, side) in enumerate(debates):
        debate_id = f"d{n:03}"
        models: dict[Side, str] = {"pro": "alpha", "con": "beta"}
        yield Debate(
            run_tag=tag,
            debate_id=debate_id,
            source_position=n,
            topic_id=f"t{n % topics}",
            pro_model_id="alpha",
            con_model_id="beta",
            is_control=weakness is None,
            created_at=NOON,
        )
        for at, model in models.items():
            yield Participant(run_tag=tag, debate_id=debate_id, position=at, model_id=model, side=at)
        for index in range(4):
            speaker: Side = "con" if index % 2 else "pro"
            yield Turn(
                run_tag=tag,
                debate_id=debate_id,
                turn_index=index,
                position=speaker,
                side=speaker,
                model_id=models[speaker],
                stage=("opening", "response", "rebuttal", "closing")[index],
                content=f"{speech} ({speaker}, {index})",
            )
        if weakness is not None:
            yield Weakness(
                run_tag=tag,
                debate_id=debate_id,
                side=side,
                weakness_type=weakness,
                dimension=WEAK_DIMENSIONS[weakness],
            )


def rubric(tag: str) -> Iterator[Dimension]:
    """The five dimensions, from 1 to 3."""
    for n, name in enumerate(DIMENSIONS):
        yield Dimension(run_tag=tag, dimension=name, source_position=n, min_score=Decimal(1), max_score=Decimal(3))


def judged(
    tag: str,
    records: Sequence[Record],
    judges: Mapping[str, Verdicts],
    *,
    baselines: Mapping[str, Verdicts] = {},
    trials: int = 1,
    reason: str | None = None,
) -> Iterator[Record]:
    """A run in which each judge and baseline gives its verdict on every debate, `trials` times."""
    (run,) = (record for record in records if isinstance(record, Run))
    yield Run(run_tag=tag, source="run", format="judging", source_run_tag=run.run_tag, created_at=NOON, seed=1)
    for record in records:
        if isinstance(record, Topic | Debater):
            yield record.model_copy(update={"run_tag": tag})
    yield from rubric(tag)
    for name in judges:
        yield Judge(run_tag=tag, judge_id=name, provider="http", model_name=name, method="direct")
    for name in baselines:
        yield Judge(run_tag=tag, judge_id=name, method=name, is_baseline=True)
    for trial in range(1, trials + 1):
        for debate, weakness, number in _numbered(records):
            at = {"run_tag": tag, "debate_id": f"{debate.debate_id}-{trial}"}
            yield debate.model_copy(update={**at, "source_debate_id": debate.debate_id, "trial": trial})
            for side, model in (("pro", debate.pro_model_id), ("con", debate.con_model_id)):
                yield Participant.model_validate({**at, "position": side, "side": side, "model_id": model})
            for seat, (name, verdicts) in enumerate({**judges, **baselines}.items()):
                scores, winner = verdicts(debate, weakness, number)
                yield Verdict(
                    **at,
                    judge_id=name,
                    panel_position=seat,
                    is_valid=True,
                    declared_winner=winner,
                    scores=_scores(scores),
                )
                if reason is not None and name in judges:
                    yield JudgeNote(**at, judge_id=name, note_index=0, step="reason", text=f"{reason} ({name})")


def annotations(records: Sequence[Record], people: Mapping[str, Verdicts]) -> Iterator[Record]:
    """What each person says about every debate of a run."""
    for debate, weakness, number in _numbered(records):
        for name, verdicts in people.items():
            scores, winner = verdicts(debate, weakness, number)
            yield Annotation(
                run_tag=debate.run_tag,
                debate_id=debate.debate_id,
                annotator_id=name,
                winner=winner,
                justification=f"{name} explains.",
                scores=_scores(scores),
            )


def _numbered(records: Sequence[Record]) -> Iterator[tuple[Debate, Weakness | None, int]]:
    """Every debate, its weakness, and its number among the debates with the same type and side."""
    weaknesses = {record.debate_id: record for record in records if isinstance(record, Weakness)}
    seen: dict[tuple[str | None, Side | None], int] = {}
    for record in records:
        if isinstance(record, Debate):
            weakness = weaknesses.get(record.debate_id)
            kind = (None, None) if weakness is None else (weakness.weakness_type, weakness.side)
            yield record, weakness, seen.setdefault(kind, 0)
            seen[kind] += 1


def _scores(scores: Scores | None) -> tuple[Score, ...]:
    return tuple(
        Score(dimension=name, pro=Decimal(pro), con=Decimal(con)) for name, (pro, con) in (scores or {}).items()
    )
