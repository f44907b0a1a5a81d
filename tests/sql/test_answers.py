"""Marts that answer one question each, beside independent definitions."""

from __future__ import annotations

import math
import random
from collections import defaultdict
from collections.abc import Iterator, Sequence
from decimal import Decimal
from itertools import permutations
from statistics import covariance, pvariance
from typing import Any

import duckdb
import pytest
from oracles import leaving_out

from debatebench.landing.land import create_raw_tables, land_records
from debatebench.query.sql_project import load_project
from debatebench.shared.records import Debate, Debater, Dimension, Judge, Record, Run, Score, Topic, Turn, Verdict
from debatebench.shared.workspace import packaged
from debatebench.transform.build import build

MODELS = ("dimension_contributions",)
DIMENSIONS = ("logic", "clarity", "style")
DEBATERS = ("a", "b", "c", "d")
JUDGES = ("j1", "j2", "j3")


def drawn(tag: str, topics: int, seed: int) -> list[Record]:
    """Every ordered pair debates on every topic; `style` matters least, and some verdicts lack it."""
    rng = random.Random(seed)
    records: list[Record] = [Run(run_tag=tag, source="run", format="tournament")]
    records += [Topic(run_tag=tag, topic_id=f"t{n}", source_position=n, motion=f"Motion {n}.") for n in range(topics)]
    records += [Debater(run_tag=tag, model_id=name) for name in DEBATERS]
    records += [Judge(run_tag=tag, judge_id=name) for name in JUDGES]
    records += [Dimension(run_tag=tag, dimension=name, source_position=n) for n, name in enumerate(DIMENSIONS)]
    fixtures = [(topic, pro, con) for topic in range(topics) for pro, con in permutations(DEBATERS, 2)]
    for position, (topic, pro, con) in enumerate(fixtures):
        where = {"run_tag": tag, "debate_id": f"d{position:03}"}
        records.append(
            Debate(
                **where,
                source_position=position,
                schedule_position=position,
                topic_id=f"t{topic}",
                pro_model_id=pro,
                con_model_id=con,
            )
        )
        for index, (side, model_id) in enumerate((("pro", pro), ("con", con))):
            speech = {"turn_index": index, "position": side, "side": side, "model_id": model_id, "content": "Because."}
            records.append(Turn.model_validate(where | speech))
        lead = DEBATERS.index(con) - DEBATERS.index(pro) + rng.gauss(0, 1)
        for seat, judge in enumerate(JUDGES):
            gaps = {"logic": 2 * lead + rng.gauss(0, 1), "clarity": lead + rng.gauss(0, 2), "style": rng.gauss(0, 1)}
            scored = [name for name in DIMENSIONS if name != "style" or rng.random() < 0.9]
            scores = tuple(
                Score(dimension=name, pro=Decimal(str(round(5 + gaps[name] / 2, 1))), con=Decimal(5)) for name in scored
            )
            verdict = {"judge_id": judge, "panel_position": seat, "is_valid": True, "scores": scores}
            records.append(Verdict.model_validate(where | verdict))
    return records


RUNS = {"two": drawn("two", 2, 1), "six": drawn("six", 6, 2)}


@pytest.fixture(scope="module")
def warehouse() -> Iterator[duckdb.DuckDBPyConnection]:
    folder = packaged("sql")
    project = load_project({p.relative_to(folder).as_posix(): p for p in folder.rglob("*") if p.is_file()})
    with duckdb.connect() as con:
        create_raw_tables(con)
        for tag, records in RUNS.items():
            land_records(con, tag, records)
        build(con, project, select=[f"+{name}" for name in MODELS])
        yield con


def rows(con: duckdb.DuckDBPyConnection, sql: str, *parameters: Any) -> list[dict[str, Any]]:
    cursor = con.execute(sql, list(parameters))
    names = [column[0] for column in cursor.description or ()]
    return [dict(zip(names, row, strict=True)) for row in cursor.fetchall()]


# --- which dimension decides -----------------------------------------------------------------------------------------


def gaps_by_debate(records: Sequence[Record]) -> dict[str, dict[str, float]]:
    """How far pro is ahead in the mean of all scores of a debate, because of each dimension."""
    scores = defaultdict(list)
    for record in records:
        if isinstance(record, Verdict):
            scores[record.debate_id] += record.scores or ()
    return {
        debate_id: {
            name: sum(float(each.pro - each.con) for each in given if each.dimension == name) / len(given)
            for name in DIMENSIONS
        }
        for debate_id, given in scores.items()
    }


def shapley(gaps: Sequence[dict[str, float]], name: str) -> float:
    """What a dimension adds to the variance of the sum, on average over all orders of the dimensions."""

    def worth(members: Sequence[str]) -> float:
        return pvariance([math.fsum(each[member] for member in members) for each in gaps])

    orders = list(permutations(DIMENSIONS))
    before = [order[: order.index(name)] for order in orders]
    return sum(worth((*others, name)) - worth(others) for others in before) / len(orders)


@pytest.mark.parametrize("tag", sorted(RUNS))
def test_a_contribution_to_the_score_gap_is_the_shapley_value_of_the_variance(
    tag: str, warehouse: duckdb.DuckDBPyConnection
) -> None:
    gaps = gaps_by_debate(RUNS[tag])
    topics = {each.debate_id: each.topic_id for each in RUNS[tag] if isinstance(each, Debate)}
    clusters = [topics[debate_id] if tag == "six" else debate_id for debate_id in gaps]
    for found in rows(
        warehouse, f"from marts.dimension_contributions where run_tag = '{tag}' and outcome = 'score_gap'"
    ):

        def contribution(debates: list[dict[str, float]], name: str = found["dimension"]) -> float:
            return shapley(debates, name) / sum(shapley(debates, each) for each in DIMENSIONS)

        expected = leaving_out(list(gaps.values()), clusters, contribution)
        assert expected is not None
        assert found["contribution"] == pytest.approx(expected.value, abs=1e-6)
        assert (found["ci_low"], found["ci_high"]) == pytest.approx((expected.ci_low, expected.ci_high), abs=1e-5)
        assert found["count_debates"] == len(gaps)
        assert found["reason"] == (None if tag == "six" else "few_topics")


def test_a_contribution_to_the_winner_is_the_part_of_the_covariance_with_it(
    warehouse: duckdb.DuckDBPyConnection,
) -> None:
    gaps = gaps_by_debate(RUNS["six"])
    winners = dict(
        warehouse.execute("select debate_id, winner from marts.panel_winners where run_tag = 'six'").fetchall()
    )
    points = [{"pro": 1.0, "tie": 0.5, "con": 0.0}[winners[debate_id]] for debate_id in gaps]
    parts = {name: covariance(points, [each[name] for each in gaps.values()]) for name in DIMENSIONS}
    sql = "from marts.dimension_contributions where run_tag = 'six' and outcome = 'winner'"
    found = {row["dimension"]: row["contribution"] for row in rows(warehouse, sql)}
    assert found == pytest.approx({name: part / sum(parts.values()) for name, part in parts.items()}, abs=1e-6)
    assert found["logic"] > found["clarity"] > found["style"]


def test_contributions_to_an_outcome_add_up_to_one(warehouse: duckdb.DuckDBPyConnection) -> None:
    sums = rows(
        warehouse, "select sum(contribution) as total from marts.dimension_contributions group by run_tag, outcome"
    )
    assert [row["total"] for row in sums] == pytest.approx([1.0] * 4, abs=1e-6)
