"""Marts that answer one question each, beside independent definitions."""

from __future__ import annotations

import math
import random
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from decimal import Decimal
from itertools import combinations, pairwise, permutations
from statistics import covariance, pvariance
from typing import Any

import duckdb
import numpy
import pytest
from drawn_runs import DEBATERS, DIMENSIONS, JUDGES, built, drawn
from oracles import holm, jackknife, leaving_out

from debatebench.shared.records import Debate, Debater, Dimension, Judge, Record, Run, Score, Topic, Turn, Verdict
from debatebench.stats.distributions import binomial_pmf, t_two_sided_p
from debatebench.stats.power import pairs_needed

MODELS = ("dimension_contributions", "rank_neighbours", "triads", "truncated_speeches", "judge_bias")
RUNS = {"two": drawn("two", 2, 1, are_cut_off=False), "six": drawn("six", 6, 2)}
POINTS = {"pro": 1.0, "tie": 0.5, "con": 0.0}


@pytest.fixture(scope="module")
def warehouse() -> Iterator[duckdb.DuckDBPyConnection]:
    with built(RUNS, MODELS) as con:
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
    points = [POINTS[winners[debate_id]] for debate_id in gaps]
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


# --- what is settled -------------------------------------------------------------------------------------------------


def test_neighbours_are_tested_by_leaving_out_topics_and_need_the_sample_size_of_a_paired_t_test(
    warehouse: duckdb.DuckDBPyConnection,
) -> None:
    found = rows(warehouse, "from marts.rank_neighbours where run_tag = 'six' order by rank")
    ratings = rows(warehouse, "from ratings.bradley_terry where run_tag = 'six' order by rank")
    without = defaultdict(dict)
    for row in rows(warehouse, "from ratings.bradley_terry_without_topic where run_tag = 'six'"):
        without[row["topic_id"]][row["model_id"]] = row["rating"]
    assert [(row["model_id"], row["next_model_id"]) for row in found] == list(
        pairwise(row["model_id"] for row in ratings)
    )
    tests = []
    for row, (upper, lower) in zip(found, pairwise(ratings), strict=True):
        gap = upper["rating"] - lower["rating"]
        expected = jackknife(gap, [each[upper["model_id"]] - each[lower["model_id"]] for each in without.values()])
        assert expected.error is not None
        assert (row["rating_gap"], row["standard_error"]) == pytest.approx((gap, expected.error), abs=0.01)
        tests.append(t_two_sided_p(gap / row["standard_error"], 5))
        assert row["p_value"] == pytest.approx(tests[-1], abs=1e-9)
        effect = gap / row["standard_error"] / math.sqrt(6)
        more = 0 if row["is_settled"] else max(1, (pairs_needed(effect, 0.8, 0.05 / len(found)) or 0) - 6)
        assert row["count_more_topics"] == more
        assert row["count_more_debates"] == math.ceil(row["count_debates"] / 6 * more)
    assert [row["p_value_holm"] for row in found] == pytest.approx(holm(tests))
    assert [row["is_settled"] for row in found] == [row["p_value_holm"] < 0.05 for row in found]


def test_two_topics_settle_nothing_and_the_reason_is_said(warehouse: duckdb.DuckDBPyConnection) -> None:
    found = rows(warehouse, "from marts.rank_neighbours where run_tag = 'two'")
    assert len(found) == 3
    assert {(row["is_settled"], row["count_more_debates"], row["reason"]) for row in found} == {
        (None, None, "too_few_topics")
    }


# --- cycles ----------------------------------------------------------------------------------------------------------


def random_results(tag: str, seed: int) -> list[Record]:
    """Five debaters of equal strength and one judge, so that winners are drawn and cycles are common."""
    rng = random.Random(seed)
    names = "abcde"
    records: list[Record] = [Run(run_tag=tag, source="import", format="debatebench")]
    records += [Topic(run_tag=tag, topic_id=f"t{n}", source_position=n, motion=f"Motion {n}.") for n in range(4)]
    records += [Debater(run_tag=tag, model_id=name) for name in names]
    records += [Judge(run_tag=tag, judge_id="j"), Dimension(run_tag=tag, dimension="logic", source_position=0)]
    for position, (topic, (pro, con)) in enumerate((t, pair) for t in range(4) for pair in combinations(names, 2)):
        where = {"run_tag": tag, "debate_id": f"d{position}"}
        given = {"source_position": position, "topic_id": f"t{topic}", "pro_model_id": pro, "con_model_id": con}
        records.append(Debate.model_validate(where | given))
        scores = (Score(dimension="logic", pro=Decimal(rng.choice((3, 3, 5, 7, 7))), con=Decimal(5)),)
        verdict = {"judge_id": "j", "panel_position": 0, "is_valid": True, "scores": scores}
        records.append(Verdict.model_validate(where | verdict))
    return records


@pytest.fixture(scope="module")
def circles() -> Iterator[duckdb.DuckDBPyConnection]:
    with built(
        {f"r{seed}": random_results(f"r{seed}", seed) for seed in range(6)}, ("triads", "truncated_speeches")
    ) as con:
        yield con


def test_cycles_are_the_threes_that_beat_each_other_in_a_circle(circles: duckdb.DuckDBPyConnection) -> None:
    wins = Counter()
    for row in rows(circles, "select run_tag, pro_model_id, con_model_id, winner from marts.decided_debates"):
        pro, con = row["pro_model_id"], row["con_model_id"]
        if row["winner"] != "tie":
            wins[row["run_tag"], *((pro, con) if row["winner"] == "pro" else (con, pro))] += 1
    expected = set()
    for tag in {run_tag for run_tag, *_ in wins}:
        for three in permutations("abcde", 3):
            ahead = [wins[tag, x, y] > wins[tag, y, x] for x, y in pairwise((*three, three[0]))]
            if all(ahead) and three[0] == min(three):
                expected.add((tag, *three))
    found = rows(circles, "from marts.triads")
    assert {
        (row["run_tag"], row["model_a"], row["model_b"], row["model_c"]) for row in found if row["is_cycle"]
    } == expected
    assert len(expected) > 3
    threes = Counter((row["run_tag"], *sorted((row["model_a"], row["model_b"], row["model_c"]))) for row in found)
    assert len(threes) == 6 * 10
    assert set(threes.values()) == {1}


def test_a_cycle_is_as_sure_as_the_weakest_of_its_results(circles: duckdb.DuckDBPyConnection) -> None:
    pairs = {
        (row["run_tag"], row["model_a"], row["model_b"]): row for row in rows(circles, "from marts.debater_differences")
    }
    ratings = {(row["run_tag"], row["model_id"]): row["rating"] for row in rows(circles, "from ratings.bradley_terry")}
    for row in rows(circles, "from marts.triads"):
        tag, members = row["run_tag"], (row["model_a"], row["model_b"], row["model_c"], row["model_a"])
        edges = [pairs[tag, *sorted(edge)] for edge in pairwise(members)]
        if row["is_cycle"]:
            assert row["p_value"] == pytest.approx(max(edge["wins_p_value"] or 2 for edge in edges) / 2)
        chances = []
        for (first, second), edge in zip(pairwise(members), edges, strict=True):
            games = edge["a_wins"] + edge["b_wins"]
            p = 1 / (1 + 10 ** ((ratings[tag, second] - ratings[tag, first]) / 400))
            chances.append(
                [
                    sum(binomial_pmf(k, games, p) for k in range(games + 1) if side * (2 * k - games) > 0)
                    for side in (1, -1)
                ]
            )
        forwards, backwards = map(math.prod, zip(*chances, strict=True))
        assert row["chance_rate"] == pytest.approx(forwards + backwards, abs=1e-9)


# --- truncated speeches ----------------------------------------------------------------------------------------------


def within_slope(observations: Sequence[tuple[str, bool, float]]) -> float | None:
    """The slope of points on being cut off, by least squares with a constant for each debater."""
    names = sorted({name for name, *_ in observations})
    design = [[float(is_cut), *(float(name == other) for other in names)] for name, is_cut, _ in observations]
    matrix = numpy.array(design)
    if numpy.linalg.matrix_rank(matrix) < matrix.shape[1]:
        return None
    return float(numpy.linalg.lstsq(matrix, numpy.array([points for *_, points in observations]), rcond=None)[0][0])


def test_debaters_are_compared_with_themselves_as_by_a_regression_with_fixed_effects(
    warehouse: duckdb.DuckDBPyConnection,
) -> None:
    debates = {each.debate_id: each for each in RUNS["six"] if isinstance(each, Debate)}
    winners = dict(
        warehouse.execute("select debate_id, winner from marts.panel_winners where run_tag = 'six'").fetchall()
    )
    observations, topics = [], []
    for turn in (each for each in RUNS["six"] if isinstance(each, Turn)):
        points = POINTS[winners[turn.debate_id]]
        observations.append((str(turn.model_id), turn.is_truncated, points if turn.side == "pro" else 1 - points))
        topics.append(debates[turn.debate_id].topic_id)
    found = rows(warehouse, "from marts.truncated_speeches where run_tag = 'six'")
    for row in found:
        own = [n for n, (name, *_) in enumerate(observations) if name == row["model_id"]]
        for prefix, chosen in (("", own), ("run_", range(len(observations)))):
            expected = leaving_out([observations[n] for n in chosen], [topics[n] for n in chosen], within_slope)
            assert expected is not None
            gap = (
                row[f"{prefix}win_rate_gap"],
                row[f"{prefix}win_rate_gap_ci_low"],
                row[f"{prefix}win_rate_gap_ci_high"],
            )
            assert gap == pytest.approx((expected.value, expected.ci_low, expected.ci_high), abs=1e-9)
            assert row[f"{prefix}win_rate_gap_reason"] is None
        assert row["truncated_rate"] == sum(observations[n][1] for n in own) / len(own)
    assert len(found) == len(DEBATERS)


def test_speeches_that_are_never_cut_off_or_end_for_unknown_reasons_have_no_difference_and_say_why(
    warehouse: duckdb.DuckDBPyConnection, circles: duckdb.DuckDBPyConnection
) -> None:
    columns = "truncated_rate, truncated_rate_reason, win_rate_gap_reason, run_win_rate_gap_reason"
    sql = f"select distinct {columns} from marts.truncated_speeches"
    assert warehouse.execute(f"{sql} where run_tag = 'two'").fetchall() == [
        (0, None, "never_truncated", "not_compared")
    ]
    assert circles.execute(sql).fetchall() == [(None, "not_recorded", "not_recorded", "not_recorded")]


# --- the order of presentation ---------------------------------------------------------------------------------------


def test_without_both_orders_a_judge_has_no_preference_for_what_it_reads_first_and_the_reason_is_said(
    warehouse: duckdb.DuckDBPyConnection,
) -> None:
    found = rows(warehouse, "from marts.judge_bias where bias = 'position'")
    assert len(found) == len(RUNS) * len(JUDGES)
    assert {(row["value"], row["reason"]) for row in found} == {(None, "one_order")}
