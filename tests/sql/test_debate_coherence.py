"""The coherence check over whole warehouses: real debates pass, planted faults are found, and nothing is removed."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from decimal import Decimal
from pathlib import Path
from typing import Any

import duckdb
import pytest
from built_warehouse import new_warehouse, packaged_project
from imported import imported_run, land_records
from judged_runs import judged_run

from debatebench.shared.records import (
    Annotation,
    Debate,
    Debater,
    Dimension,
    Judge,
    Record,
    Run,
    Score,
    Topic,
    Turn,
    Verdict,
)
from debatebench.transform.build import build
from debatebench.transform.project import Project
from debatebench.transform.testing.data_tests import run_data_tests

pytestmark = pytest.mark.slow

CHECK = "+debate_coherence"
ROUNDS = (("pro", "opening"), ("con", "response"), ("pro", "rebuttal"), ("con", "closing"))
SPEECH = "We hold that the motion is right, because the costs of doing nothing fall on those who did not choose them."


@pytest.fixture(scope="module")
def project() -> Project:
    return packaged_project()


def checked(project: Project, *runs: Sequence[Record]) -> duckdb.DuckDBPyConnection:
    """A warehouse in which these runs have landed and been checked."""
    con = new_warehouse()
    for records in runs:
        land_records(con, records[0].run_tag, records)
    build(con, project, select=[CHECK])
    return con


def reasons(con: duckdb.DuckDBPyConnection, run_tag: str = "r") -> dict[str, list[str]]:
    return dict(
        con.execute(
            "select debate_id, reasons from marts.debate_coherence where run_tag = ? order by debate_id", [run_tag]
        ).fetchall()
    )


def held(count: int = 6) -> list[Record]:
    """A run of debates with four speeches, none of which has a fault; the last two words of a speech are its own."""
    return list(_held(count))


def _held(count: int) -> Iterator[Record]:
    rounds = [{"role": side, "stage": stage, "max_tokens": 900} for side, stage in ROUNDS]
    yield Run(run_tag="r", source="run", format="tournament", language="en", config={"rounds": rounds})
    yield Topic(run_tag="r", topic_id="t", source_position=0, motion="M")
    for name in ("a", "b"):
        yield Debater(run_tag="r", model_id=name)
    yield Judge(run_tag="r", judge_id="j")
    yield Dimension(run_tag="r", dimension="logic", source_position=0, min_score=Decimal(1), max_score=Decimal(10))
    for n in range(count):
        name = f"d{n}"
        yield Debate(run_tag="r", debate_id=name, source_position=n, topic_id="t", pro_model_id="a", con_model_id="b")
        for index, (side, stage) in enumerate(ROUNDS):
            yield Turn.model_validate(
                {
                    "run_tag": "r",
                    "debate_id": name,
                    "turn_index": index,
                    "position": side,
                    "side": side,
                    "model_id": "ab"[index % 2],
                    "stage": stage,
                    "content": f"{SPEECH} {n} {index}",
                }
            )


def changed(records: list[Record], debate_id: str, turn: int, **update: Any) -> list[Record]:
    """The same records with one speech changed."""
    return [
        record.model_copy(update=update)
        if isinstance(record, Turn) and (record.debate_id, record.turn_index) == (debate_id, turn)
        else record
        for record in records
    ]


def without(records: list[Record], is_left_out: Callable[[Record], bool]) -> list[Record]:
    return [record for record in records if not is_left_out(record)]


def test_debates_without_a_fault_pass_and_the_data_tests_hold(project: Project):
    con = checked(project, held())
    assert reasons(con) == {f"d{n}": [] for n in range(6)}
    ours = [
        "debate_coherence",
        "verdict_scores",
        "int_debate_speeches",
        "int_planned_turns",
    ]
    assert {result.status for result in run_data_tests(con, project, select=ours)} == {"pass"}


def test_each_planted_fault_is_found_in_its_debate_alone(project: Project):
    records = held(8)
    records = without(records, lambda each: isinstance(each, Turn) and each.debate_id == "d0" and each.turn_index == 3)
    records = changed(records, "d1", 1, content=" \n… ")
    records = changed(records, "d2", 2, is_truncated=True)
    records = changed(records, "d3", 0, content="Yes.")
    records = changed(records, "d4", 3, content=f"{SPEECH} 4 1")
    records = changed(
        records, "d5", 1, content="Мы считаем, что это верно, потому что расходы несут те, кто не выбирал. " * 2
    )
    records = changed(records, "d6", 2, content=f"{SPEECH} " * 12)
    assert reasons(checked(project, records)) == {
        "d0": ["turns"],
        "d1": ["empty_speech"],
        "d2": ["cut_speech"],
        "d3": ["short_speech"],
        "d4": ["repeated_speech"],
        "d5": ["language"],
        "d6": ["length"],
        "d7": [],
    }


def test_turns_in_another_order_are_not_those_of_the_plan(project: Project):
    records = changed(held(), "d1", 1, side="pro", position="pro")
    records = changed(records, "d2", 3, stage="rebuttal")
    assert {name for name, found in reasons(checked(project, records)).items() if found} == {"d1", "d2"}


def test_a_judge_s_word_reaches_the_debate_that_it_judged_in_another_run(project: Project):
    records = held()
    judged = [
        record.model_copy(update={"dimension": "fit_to_be_judged", "max_score": Decimal(3)})
        if isinstance(record, Dimension)
        else record.model_copy(update={"scores": scored(record)})
        if isinstance(record, Verdict) and record.scores
        else record
        for record in judged_run("again", records, methods={"x": "direct", "y": "direct"}, weights={"logic": 1})
    ]
    con = checked(project, records, judged)
    assert reasons(con) == {f"d{n}": ["judges"] if n == 0 else [] for n in range(6)}
    assert reasons(con, "again") == {f"j1-d{n}": ["judges"] if n == 0 else [] for n in range(6)}
    asked = con.execute("select distinct count_asked_judges from marts.debate_coherence").fetchall()
    # Baselines are not asked.
    assert asked == [(2,)]


def scored(verdict: Verdict) -> tuple[Score, ...]:
    """The first judge finds con's speeches in d0 unfit, which is half of the judges; no other judge objects."""
    con = 1 if (verdict.judge_id, verdict.debate_id) == ("x", "j1-d0") else 2
    return (Score(dimension="fit_to_be_judged", pro=Decimal(3), con=Decimal(con)),)


def test_annotators_are_asked_too_and_a_marked_debate_keeps_its_place(project: Project):
    records = [
        *held(),
        *(
            Annotation(run_tag="r", debate_id=debate, annotator_id=name, winner="pro", is_coherent=answer)
            for debate, answers in (("d0", (False, True)), ("d1", (False, True, True)), ("d2", (None, True)))
            for name, answer in zip("abc", answers, strict=False)
        ),
    ]
    con = checked(project, records)
    assert reasons(con) == {"d0": ["annotators"], **{f"d{n}": [] for n in range(1, 6)}}
    assert con.execute("select count(*) from staging.stg_debates").fetchall() == [(6,)]


def test_the_real_debates_of_debateflow_pass_and_a_cut_one_does_not(project: Project, shared: Path):
    records = [
        record.model_copy(update={"run_tag": "df"}) for record in imported_run("debateflow", shared / "debateflow")
    ]
    found = reasons(checked(project, records), "df")
    assert len(found) == 20
    assert {name: why for name, why in found.items() if why} == {}
    first = next(iter(found))
    torn = without(records, lambda each: isinstance(each, Turn) and each.debate_id == first and each.turn_index == 3)
    assert {name: why for name, why in reasons(checked(project, torn), "df").items() if why} == {first: ["turns"]}
