"""A warehouse with a run of every kind that a page must be able to show, hostile ones among them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from datetime import datetime
from decimal import Decimal
from pathlib import Path

import weakened
from built_warehouse import stored
from imported import PANELBENCH, imported_run
from judged_runs import judged_run
from report_warehouse import DIMENSIONS, HOSTILE, annotated, make_warehouse, tournament

from debatebench.shared.records import (
    Debate,
    Debater,
    Dimension,
    Judge,
    Participant,
    Record,
    Run,
    Score,
    Topic,
    Turn,
    Verdict,
    Weakness,
)

FORMULA = "=HYPERLINK(\"javascript:document.title='pwned'\")"
EVIL = (f"evil {HOSTILE}", "<a href='javascript:alert(1)'>click</a>", FORMULA)
LONG = tuple(f"{name}-" + "very-long-name-" * 3 + "of-sixty-ch" for name in ("gemma", "qwen-"))
ARABIC = ("نموذج-أول", "نموذج-ثان")
_MOTION = "يجب أن تغلق المدن مراكزها أمام السيارات."


def _changed(records: Iterable[Record], change: Callable[[Record], Record | None]) -> Iterator[Record]:
    return (new for record in records if (new := change(record)) is not None)


def _tied(record: Record) -> Record:
    if not isinstance(record, Verdict):
        return record
    even = tuple(Score(dimension=name, pro=Decimal(5), con=Decimal(5)) for name in DIMENSIONS)
    return record.model_copy(update={"scores": even})


def _free(record: Record) -> Record:
    return record.model_copy(update={"cost": None}) if isinstance(record, Turn | Verdict) else record


def _half_judged(record: Record) -> Record | None:
    """One judge is missing in every debate with an even number, and another in all."""
    if not isinstance(record, Verdict):
        return record
    is_missing = record.judge_id == "judge-c" or (record.judge_id == "judge-b" and int(record.debate_id, 16) % 2 == 0)
    return None if is_missing else record


def _alone(tag: str) -> Iterator[Record]:
    """One debater, which debates itself."""
    for record in tournament(tag, ("solo", "other"), judges=("judge-a",)):
        match record:
            case Debater():
                if record.model_id == "solo":
                    yield record
            case Debate():
                yield record.model_copy(update={"pro_model_id": "solo", "con_model_id": "solo"})
            case Participant() | Turn():
                yield record.model_copy(update={"model_id": "solo"})
            case _:
                yield record


def _without_debates(tag: str) -> Iterator[Record]:
    kinds = Run | Topic | Debater | Judge | Dimension
    return (record for record in tournament(tag, ("alpha", "beta")) if isinstance(record, kinds))


def _rewards(_: Debate, weakness: Weakness | None, __: int) -> tuple[dict[str, tuple[int, int]], str]:
    """A verdict that prefers the weakened side."""
    return dict.fromkeys(weakened.DIMENSIONS, (2, 2)), "tie" if weakness is None else weakness.side or "tie"


def runs() -> Iterator[tuple[str, Iterator[Record]]]:
    """Every run with its tag; the newest one is `first`."""
    three = ("alpha", "beta", "gamma")
    evil = list(
        tournament(
            "evil",
            EVIL,
            motion=HOSTILE,
            speech=HOSTILE,
            judges=("judge-a", f"judge {HOSTILE}"),
            allows_judge_overlap=True,
        )
    )
    yield "evil", iter(evil)
    yield "evil-again", judged_run("evil-again", evil, methods={f"j {HOSTILE}": "direct"}, text=HOSTILE)
    flow = list(weakened.source("flow", [("weak_evidence", "pro"), ("logical_gaps", "con"), (None, "pro")]))
    yield "flow", iter([*flow, *weakened.annotations(flow, {"ann": _rewards})])  # type: ignore[dict-item]
    yield "flow-again", weakened.judged("flow-again", flow, {"seer": _rewards}, reason=HOSTILE)  # type: ignore[dict-item]
    teams = list(imported_run("panelbench", PANELBENCH))
    yield "t", iter(teams)
    yield "teams", judged_run("teams", teams)
    yield "bare", annotated("bare")
    yield "empty", _without_debates("empty")
    yield "alone", _alone("alone")
    yield "one-judge", tournament("one-judge", three, judges=("judge-a",))
    yield "ties", _changed(tournament("ties", three), _tied)
    yield "free", _changed(tournament("free", three), _free)
    yield "half", _changed(tournament("half", three), _half_judged)
    yield "long", tournament("long", LONG, judges=tuple(f"judge-{name}" for name in LONG))
    yield "arabic", tournament("arabic", ARABIC, motion=_MOTION, speech=_MOTION)
    yield "second", tournament("second", three, created_at=datetime(2026, 1, 2), is_simulated=True, repetitions=3)
    yield "first", tournament("first", three, created_at=datetime(2026, 1, 3), repetitions=4)


def every_kind_of_run(folder: Path) -> Path:
    """The warehouse in `folder`: runs with hostile text (`evil`, `evil-again`), weaknesses, four teams, edge cases."""
    return stored(make_warehouse(folder / "debatebench.duckdb", *runs()))
