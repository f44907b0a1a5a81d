"""Runs with something missing or unusual, by name: what pages and sentences about runs must not be wrong on."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import datetime, timedelta
from decimal import Decimal

from report_warehouse import DIMENSIONS, annotated, tournament

from debatebench.shared.records import Debate, Debater, Judge, Record, Run, Score, Topic, Turn, Verdict

__all__ = ["LONG_IDS", "RIGHT_TO_LEFT", "odd_runs"]

RIGHT_TO_LEFT = "يجب إغلاق مراكز المدن أمام السيارات"
LONG_IDS = tuple(f"{name}-{'x' * (59 - len(name))}" for name in ("first", "second"))
"""Ids of 60 characters that differ only at their beginning."""
_START = datetime(2025, 6, 1)


def odd_runs() -> list[tuple[str, list[Record]]]:
    """Each run with its tag, in the order in which they were made; the last is a usual one."""
    found: dict[str, Iterable[Record]] = {
        "nothing": [_run("nothing")],
        "no-debates": [each for each in tournament("no-debates", ("a", "b")) if isinstance(each, _SETTINGS)],
        "no-judges": _changed("no-judges", Verdict | Judge, lambda _: None),
        "one-debater": _alone("one-debater"),
        "one-judge": tournament("one-judge", ("atlas", "boreas"), repetitions=3, judges=("judge-a",)),
        "only-ties": _changed("only-ties", Verdict, _as_tie),
        "no-cost": _changed("no-cost", Turn | Verdict, _without_cost),
        "part-cost": _changed("part-cost", Verdict, _without_cost),
        "no-valid-verdict": _changed("no-valid-verdict", Verdict, _as_invalid),
        "few-debates": tournament("few-debates", ("atlas", "boreas"), repetitions=1),
        "long-ids": tournament("long-ids", LONG_IDS, repetitions=3),
        "right-to-left": tournament("right-to-left", ("أطلس", "بوريس"), repetitions=3, motion=RIGHT_TO_LEFT),
        "imported": annotated("imported"),
        "usual": tournament("usual", ("atlas", "boreas", "calypso"), repetitions=6),
    }
    return [(tag, list(_made(records, number))) for number, (tag, records) in enumerate(found.items())]


_SETTINGS = Run | Topic | Debater | Judge


def _run(tag: str) -> Run:
    return Run(run_tag=tag, source="run", format="tournament", benchmark_name="tiny", benchmark_version="v1")


def _made(records: Iterable[Record], number: int) -> Iterator[Record]:
    """The records, with a run that was made after those with a smaller number."""
    for record in records:
        made = {"created_at": _START + timedelta(days=number)}
        yield record.model_copy(update=made) if isinstance(record, Run) else record


def _changed(tag: str, kind: type, change: object) -> Iterator[Record]:
    """A tournament of two debaters with records of a kind changed, or left out."""
    for record in tournament(tag, ("atlas", "boreas"), repetitions=3):
        changed = change(record) if isinstance(record, kind) else record  # type: ignore[operator]
        if changed is not None:
            yield changed


def _as_tie(verdict: Verdict) -> Verdict:
    scores = tuple(Score(dimension=name, pro=Decimal(5), con=Decimal(5)) for name in DIMENSIONS)
    return verdict.model_copy(update={"scores": scores})


def _as_invalid(verdict: Verdict) -> Verdict:
    return verdict.model_copy(update={"is_valid": False, "scores": ()})


def _without_cost(record: Turn | Verdict) -> Turn | Verdict:
    return record.model_copy(update={"cost": None})


def _alone(tag: str) -> Iterator[Record]:
    """One debater on both sides of every debate."""
    for record in tournament(tag, ("solo", "other"), repetitions=2):
        if isinstance(record, Debate):
            yield record.model_copy(update={"pro_model_id": "solo", "con_model_id": "solo"})
        elif isinstance(record, Debater):
            if record.model_id == "solo":
                yield record
        elif "model_id" in type(record).model_fields:
            yield record.model_copy(update={"model_id": "solo"})
        else:
            yield record
