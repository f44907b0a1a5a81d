"""Repeating is not evidence: a judge that says the same again changes no interval, no p value and no number of debates.

Over every SQL model of `marts` and `ratings` that has an interval or a p value, as the schema has them.
"""

from __future__ import annotations

import hashlib
import math
import re
from collections.abc import Iterator, Sequence
from decimal import Decimal
from typing import Any

import duckdb
import pytest
from built_warehouse import new_warehouse, packaged_project, store_views
from imported import land_records
from judged_runs import judged_run
from probed_runs import probed_run
from report_warehouse import DIMENSIONS, tournament
from team_runs import teams_run

from debatebench.shared.records import (
    Annotation,
    Debate,
    Gold,
    JudgeNote,
    Participant,
    Record,
    ScheduledDebate,
    Score,
    Topic,
    Turn,
    Verdict,
    Weakness,
)
from debatebench.transform.build import build
from debatebench.transform.project import Project
from debatebench.transform.testing.generic_tests import UniqueCombinationOfColumns

pytestmark = pytest.mark.slow

METHODS = {"judge-a": "dimensional_v1", "judge-b": "direct", "judge-c": "chronological_v1"}
KINDS = ("weak_evidence", "logical_gaps")
TOPICS = 4
# An interval or a p value, adjusted or not, or a number of debates or of clusters of them.
KEPT = re.compile(r"(?:.+_)?ci_(?:low|high)|(?:.+_)?p_value(?:_holm|_bh)?|count_(?:.+_)?(?:debates|clusters|topics)")
# The p value of a paper, for which trials are cases. It stands beside ours to be compared with what was published.
AS_PUBLISHED = "trial_p_value"
UNCERTAIN = re.compile(r"(?:.+_)?(?:ci_low|p_value)")


@pytest.fixture(scope="module")
def project() -> Project:
    return packaged_project()


def draw(*parts: object, below: int) -> int:
    """A number from 0 that depends on the parts only."""
    return int.from_bytes(hashlib.sha256(repr(parts).encode()).digest()[:4], "big") % below


def held(copies: int = 1) -> list[Record]:
    """A tournament of three debaters on four topics, with weaknesses, gold verdicts and two annotators.

    With `copies`, every debate and topic is there that often, under other ids.
    """
    made = list(tournament("held", ("a", "b", "c"), repetitions=TOPICS, judges=tuple(METHODS)))
    records: list[Record] = []
    for copy in range(copies):
        for record in made:
            if isinstance(record, Topic):
                records.append(
                    record.model_copy(
                        update={
                            "topic_id": f"{record.topic_id}-{copy}",
                            "source_position": record.source_position + TOPICS * copy,
                            "motion": f"{record.motion} {'Indeed. ' * copy}",
                        }
                    )
                )
            elif isinstance(record, Debate | Turn | Participant | Verdict):
                changed: dict[str, Any] = {"debate_id": f"{record.debate_id}-{copy}"}
                if isinstance(record, Debate):
                    changed["topic_id"] = f"{record.topic_id}-{copy}"
                    changed["is_control"] = draw("weak", record.debate_id, below=2) == 0
                elif isinstance(record, Turn):
                    words = "word " * draw("words", record.debate_id, record.turn_index, below=40)
                    changed["content"] = record.content + words
                    changed["completion_tokens"] = 50 + draw("tokens", record.debate_id, record.turn_index, below=40)
                records.append(record.model_copy(update=changed))
            elif copy == 0:
                records.append(record)
    for debate in [record for record in records if isinstance(record, Debate)]:
        records += beside(debate)
    return records


def beside(debate: Debate) -> Iterator[Record]:
    """What people and the source say about a debate; the copies of a debate are alike."""
    at = {"run_tag": debate.run_tag, "debate_id": debate.debate_id}
    original = debate.debate_id.partition("-")[0]
    if not debate.is_control:
        kind = KINDS[draw("kind", original, below=2)]
        yield Weakness(
            **at, side=("pro", "con")[draw("side", original, below=2)], weakness_type=kind, dimension="logic"
        )
    winner = ("pro", "con", "pro", "tie")[draw("gold", original, below=4)]
    label = {"pro": Decimal(0), "tie": Decimal("0.5"), "con": Decimal(1)}[winner]
    for unit in ("winner", *DIMENSIONS):
        yield Gold(**at, unit=unit, label=label, winner=winner)
    for person in ("SP", "KL"):
        scores = opinion(original, person)
        yield Annotation(**at, annotator_id=person, winner=by_scores(scores), scores=scores)


def opinion(debate: str, judge: str, attack: str = "") -> tuple[Score, ...]:
    """Scores that depend on the debate, the judge and the attack only."""
    return tuple(
        Score(
            dimension=name,
            pro=Decimal(4 + draw(debate, name, below=2) + draw(debate, judge, name, attack, "pro", below=4)),
            con=Decimal(4 + draw(debate, judge, name, "con", below=4)),
        )
        for name in DIMENSIONS
    )


def by_scores(scores: Sequence[Score]) -> Any:
    lead = sum(score.pro - score.con for score in scores)
    return "pro" if lead > 0 else "con" if lead < 0 else "tie"


def judged(source: list[Record], trials: int) -> Iterator[Record]:
    """A run that judges every debate and attacked copy `trials` times, each judge with the same opinion every time."""
    once = list(probed_run("again", source, {"padding": "pro", "flattery": "con"}, methods=METHODS))
    for record in once:
        if isinstance(record, Verdict):
            yield said(record)
        elif not isinstance(record, JudgeNote):
            yield record
    for trial in range(2, trials + 1):
        for record in once:
            # Of attacked copies, their speeches too.
            if record.table in {"topics", "debaters", "judges", "dimensions", "runs"} or isinstance(record, JudgeNote):
                continue
            debate_id = re.sub("^j1-", f"j{trial}-", record.debate_id)  # type: ignore[attr-defined]
            changed: dict[str, Any] = {"debate_id": debate_id}
            if isinstance(record, ScheduledDebate | Debate):
                changed |= {"trial": trial, "schedule_position": (record.schedule_position or 0) + trial * len(once)}
            again = record.model_copy(update=changed)
            yield said(again) if isinstance(again, Verdict) else again


def said(verdict: Verdict) -> Verdict:
    """The verdict with the judge's opinion of the stored debate, or of its attacked copy."""
    if verdict.judge_id not in METHODS:
        return verdict
    debate, _, attack = verdict.debate_id.partition("~")
    scores = opinion(re.sub(r"^j\d+-|-\d+$", "", debate), verdict.judge_id, attack)
    return verdict.model_copy(update={"declared_winner": by_scores(scores), "scores": scores})


def built(
    project: Project, trials: int, copies: int = 1, select: Sequence[str] | None = None
) -> duckdb.DuckDBPyConnection:
    con = new_warehouse()
    source = held(copies)
    land_records(con, "held", source)
    land_records(con, "again", judged(source, trials))
    methods = {"judge-a": "direct", "judge-b": "chronological_v1"}
    land_records(con, "other", judged_run("other", source, methods=methods))
    # Of four teams, CG wins in every trial.
    teams = list(teams_run("teams"))
    land_records(con, "teams", teams)
    land_records(con, "teams-again", judged_run("teams-again", teams, trials=trials))
    build(con, project, select=select)
    return con


@pytest.fixture(scope="module")
def warehouses(project: Project) -> Iterator[dict[int, duckdb.DuckDBPyConnection]]:
    """By number of trials."""
    found = {trials: built(project, trials) for trials in (1, 2, 3)}
    for con in found.values():
        store_views(con, project.models)
    yield found
    for con in found.values():
        con.close()


def uncertain(con: duckdb.DuckDBPyConnection) -> dict[str, list[str]]:
    """The relations with an interval or a p value, with their columns."""
    columns: dict[str, list[str]] = {}
    for relation, column in con.execute(
        "select table_schema || '.' || table_name, column_name from information_schema.columns "
        "where table_schema in ('marts', 'ratings') order by all"
    ).fetchall():
        columns.setdefault(relation, []).append(column)
    return {name: found for name, found in columns.items() if any(map(UNCERTAIN.fullmatch, found))}


def key_of(project: Project, relation: str) -> list[str]:
    tests = project.models[relation].properties.data_tests
    return next(list(t.combination_of_columns) for t in tests if isinstance(t, UniqueCombinationOfColumns))


def contents(con: duckdb.DuckDBPyConnection, relation: str, key: list[str], columns: list[str]) -> dict[Any, Any]:
    kept = [column for column in columns if column not in (*key, AS_PUBLISHED) and KEPT.fullmatch(column)]
    rows = con.execute(f"select {', '.join(key)} , {', '.join(kept)} from {relation}").fetchall()
    return {tuple(row[: len(key)]): dict(zip(kept, row[len(key) :], strict=True)) for row in rows}


def alike(one: dict[str, Any] | None, two: dict[str, Any] | None) -> bool:
    """Whether two rows have the same nulls, and the same numbers but for rounding."""
    if one is None or two is None or one.keys() != two.keys():
        return False
    pairs = [(one[column], two[column]) for column in one]
    return all(a == b if a is None or b is None else math.isclose(a, b, rel_tol=1e-9, abs_tol=1e-9) for a, b in pairs)


def test_the_same_verdict_again_changes_no_interval_no_p_value_and_no_number_of_debates(
    project: Project, warehouses: dict[int, duckdb.DuckDBPyConnection]
) -> None:
    relations = uncertain(warehouses[1])
    assert len(relations) > 30
    changed, empty = [], []
    for relation, columns in relations.items():
        if project.models[relation].properties.deprecation_date is not None:
            continue  # A former name of one of the others.
        key = key_of(project, relation)
        found = {trials: contents(con, relation, key, columns) for trials, con in warehouses.items()}
        # How consistent a judge is, two trials are the first to show.
        before, after = (found[1] or found[2]), found[3]
        if not before or not any(value is not None for row in before.values() for value in row.values()):
            empty.append(relation)
        for row in before.keys() | after.keys():
            if not alike(before.get(row), after.get(row)):
                changed.append((relation, row, before.get(row), after.get(row)))
    assert empty == []
    assert changed == []


def test_more_debates_are_evidence(project: Project, warehouses: dict[int, duckdb.DuckDBPyConnection]) -> None:
    """The intervals of judges are narrower over twice as many topics: the property above is not about constants."""
    width = "select avg(ci_high - ci_low) from marts.judge_alignment where run_tag = 'again'"
    with built(project, 1, copies=2, select=["+judge_alignment"]) as doubled:
        ((more,),) = doubled.execute(width).fetchall()
    ((less,),) = warehouses[1].execute(width).fetchall()
    assert more < 0.8 * less


def test_runs_are_what_the_tests_need(warehouses: dict[int, duckdb.DuckDBPyConnection]) -> None:
    for trials, con in warehouses.items():
        counted = "select count(*), count(distinct source_debate_id) from staging.stg_debates where run_tag = 'again'"
        ((debates, stored),) = con.execute(counted).fetchall()
        assert debates == trials * stored > 20
        ((repeated,),) = con.execute(
            "select max(count_debates) from marts.judge_quality where run_tag = 'again'"
        ).fetchall()
        assert repeated == stored
