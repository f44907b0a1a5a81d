"""Runs whose verdicts are drawn with a seed: as usual, and odd in one way each."""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from decimal import Decimal
from itertools import permutations

import duckdb
from built_warehouse import new_warehouse, packaged_project
from imported import land_records

from debatebench.shared.records import Debate, Debater, Dimension, Judge, Record, Run, Score, Topic, Turn, Verdict
from debatebench.transform.build import build

DIMENSIONS = ("logic", "clarity", "style")
DEBATERS = ("a", "b", "c", "d")
JUDGES = ("j1", "j2", "j3")


def drawn(
    tag: str,
    topics: int,
    seed: int,
    *,
    debaters: Sequence[str] = DEBATERS,
    judges: Sequence[str] = JUDGES,
    are_valid: bool = True,
    are_ties: bool = False,
    are_cut_off: bool = True,
) -> list[Record]:
    """Every ordered pair debates on every topic (a single debater, itself); costs are not known.

    The first debater is the strongest. `style` matters least, and some verdicts lack it. With `are_cut_off`, the token
    limit cuts off some speeches, more often those of the stronger.
    """
    rng = random.Random(seed)
    records: list[Record] = [Run(run_tag=tag, source="import", format="debatebench")]
    records += [Topic(run_tag=tag, topic_id=f"t{n}", source_position=n, motion=f"Motion {n}.") for n in range(topics)]
    records += [Debater(run_tag=tag, model_id=name) for name in debaters]
    records += [Judge(run_tag=tag, judge_id=name) for name in judges]
    records += [Dimension(run_tag=tag, dimension=name, source_position=n) for n, name in enumerate(DIMENSIONS)]
    pairs = list(permutations(debaters, 2)) or [(debaters[0], debaters[0])]
    for position, (topic, (pro, con)) in enumerate((topic, pair) for topic in range(topics) for pair in pairs):
        where = {"run_tag": tag, "debate_id": f"d{position:03}"}
        planned = {"source_position": position, "schedule_position": position, "topic_id": f"t{topic}"}
        records.append(Debate.model_validate(where | planned | {"pro_model_id": pro, "con_model_id": con}))
        for index, (side, model_id) in enumerate((("pro", pro), ("con", con))):
            speech = {"turn_index": index, "position": side, "side": side, "model_id": model_id, "content": "Because."}
            is_truncated = are_cut_off and rng.random() < 0.65 - 0.15 * debaters.index(model_id)
            speech |= {"is_truncated": is_truncated, "finish_reason": "length" if is_truncated else "stop"}
            records.append(Turn.model_validate(where | speech))
        lead = debaters.index(con) - debaters.index(pro) + rng.gauss(0, 1)
        for seat, judge in enumerate(judges):
            gaps = {"logic": 2 * lead + rng.gauss(0, 1), "clarity": lead + rng.gauss(0, 2), "style": rng.gauss(0, 1)}
            scored = [name for name in DIMENSIONS if name != "style" or rng.random() < 0.9]
            scores = tuple(
                Score(
                    dimension=name,
                    pro=Decimal(5) + (0 if are_ties else Decimal(round(5 * gaps[name])) / 10),
                    con=Decimal(5),
                )
                for name in scored
            )
            verdict = {"judge_id": judge, "panel_position": seat, "is_valid": are_valid}
            records.append(Verdict.model_validate(where | verdict | ({"scores": scores} if are_valid else {})))
    return records


def odd_runs() -> dict[str, list[Record]]:
    """Run by what is odd about it; in all, costs, people and the other order are absent."""
    return {
        "usual": drawn("usual", 4, 1),
        "one_judge": drawn("one_judge", 4, 2, judges=("j1",)),
        "one_debater": drawn("one_debater", 4, 3, debaters=("a",)),
        "two_debaters": drawn("two_debaters", 3, 4, debaters=("a", "b"), are_cut_off=False),
        "one_topic": drawn("one_topic", 1, 5),
        "one_debate": drawn("one_debate", 1, 6, debaters=("a", "b"))[:-8],
        "ties": drawn("ties", 4, 7, are_ties=True),
        "invalid": drawn("invalid", 4, 8, are_valid=False),
        "no_debate": drawn("no_debate", 1, 9)[:9],
    }


@contextmanager
def built(
    runs: Mapping[str, Sequence[Record]], models: Sequence[str] | None = None
) -> Iterator[duckdb.DuckDBPyConnection]:
    """A warehouse that holds the runs, with all packaged SQL models, or with `models` and all that they read."""
    with new_warehouse() as con:
        for tag, records in runs.items():
            land_records(con, tag, records)
        build(con, packaged_project(), select=None if models is None else [f"+{name}" for name in models])
        yield con
