"""Injected weaknesses: what judges and people make of them, beside controls and beside each other."""

from __future__ import annotations

import math
import random
import statistics
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import duckdb
import pytest
from built_warehouse import new_warehouse, packaged_project, store_views
from imported import imported_run, land_records
from oracles import cohen_kappa, krippendorff_alpha, krippendorff_alpha_interval, leaving_out, wilson_interval
from weakened import DIMENSIONS, WEAK_DIMENSIONS, Verdicts, annotations, judged, source

from debatebench.shared.records import Adjudication, Annotation, Debate, Record, Score, Turn, Weakness
from debatebench.stats.distributions import t_quantile
from debatebench.transform.build import build
from debatebench.transform.testing.data_tests import run_data_tests

pytestmark = pytest.mark.slow

MODELS = ("people_agreement", "people_differences", "weakness_detection", "judge_profile", "weakness_confusion")
TYPES = tuple(WEAK_DIMENSIONS)


def built(*runs: Sequence[Record]) -> duckdb.DuckDBPyConnection:
    """A warehouse in memory with the SQL models about weaknesses and people."""
    con = new_warehouse()
    for records in runs:
        land_records(con, records[0].run_tag, list({(r.table, r.key_values()): r for r in records}.values()))
    build(con, packaged_project(), select=[f"+{name}" for name in MODELS])
    return con


def stored(*runs: Sequence[Record]) -> duckdb.DuckDBPyConnection:
    """The same with tables for views, for many queries."""
    con = built(*runs)
    store_views(con, packaged_project().select([f"+{name}" for name in MODELS]))
    return con


def rows(con: duckdb.DuckDBPyConnection, query: str, *values: Any) -> list[dict[str, Any]]:
    result = con.execute(query, list(values))
    names = [column[0] for column in result.description or ()]
    return [dict(zip(names, row, strict=True)) for row in result.fetchall()]


def one(con: duckdb.DuckDBPyConnection, query: str, *values: Any) -> dict[str, Any]:
    (row,) = rows(con, query, *values)
    return row


def detection(con: duckdb.DuckDBPyConnection, judge: str, measure: str, weakness: str = "all") -> dict[str, Any]:
    return one(
        con,
        "from marts.weakness_detection where judge_id = ? and measure = ? and weakness_type = ?",
        judge,
        measure,
        weakness,
    )


def near(value: float | None) -> Any:
    return value if value is None else pytest.approx(value, abs=1e-9)


# The twenty debates and eight annotations of DebateFlow, by hand


def lengths(records: Sequence[Record]) -> dict[str, dict[str, int]]:
    """Debate → side → how many characters it said."""
    said: dict[str, dict[str, int]] = {}
    for turn in records:
        if isinstance(turn, Turn):
            sides = said.setdefault(turn.debate_id, {"pro": 0, "con": 0})
            sides[turn.side] += len(turn.content)
    return said


@pytest.fixture(scope="module")
def debateflow(shared: Path) -> Iterator[duckdb.DuckDBPyConnection]:
    """The import, and a run in which baselines judge it."""
    records = [
        record.model_copy(update={"dimension": WEAK_DIMENSIONS[record.weakness_type]})
        if isinstance(record, Weakness)
        else record
        for record in imported_run("debateflow", shared / "debateflow")
    ]
    said = lengths(records)
    con = stored(
        records,
        list(
            judged(
                "baselines",
                records,
                {},
                baselines={
                    "always_con": lambda debate, weakness, n: (None, "con"),
                    "always_tie": lambda debate, weakness, n: (None, "tie"),
                    "longest": lambda debate, weakness, n: (
                        None,
                        "pro" if said[debate.debate_id]["pro"] > said[debate.debate_id]["con"] else "con",
                    ),
                },
            )
        ),
    )
    yield con
    con.close()


def test_two_people_hardly_agree_on_the_debate_that_both_annotated(debateflow: duckdb.DuckDBPyConnection) -> None:
    """SP and ZP on 0003dc00 (pro, con): clash 3 3 and 3 3, burden 1 2 and 3 2, rebuttal 3 2 and 2 2, extension 2 2 and
    2 3, adaptation 2 1 and 2 2; SP names pro, ZP con.

    Winner: two ratings of two kinds. Observed and expected disagreement are both 1: alpha is 0, kappa is 1 - 1/1 = 0.

    Burden, pairs (1, 3) and (2, 2): ranks of 1, 2, 2, 3 are 1, 2.5, 2.5, 4. W, the sum of squared differences of the
    pairs, is (4 - 1)² + 0 = 9; E = 4 (1 + 6.25 + 6.25 + 16) - 10² = 18; alpha = 1 - 3 · 9 / 18 = -0.5.
    Kappa: of two items one agrees. p(SP) is ½ on 1 and on 2, p(ZP) ½ on 3 and on 2, so chance gives ¼, and kappa is
    (½ - ¼) / (1 - ¼) = 1/3. By squares, observed (4 + 0) / 2 = 2, expected (4 + 1 + 1 + 0) / 4 = 1.5: 1 - 2/1.5 = -1/3.

    Rebuttal, (3, 2) and (2, 2): ranks 4, 2, 2, 2. W = 4, E = 4 · 28 - 100 = 12, alpha = 1 - 3 · 4 / 12 = 0. So is
    extension, (2, 2) and (2, 3), and adaptation, (2, 2) and (1, 2). Clash: all is 3, so nothing is known.
    """
    found = {row["unit"]: row for row in rows(debateflow, "from marts.people_agreement")}
    expected = {
        "winner": (2, 0.0, 0.0, 0.0, None),
        "clash_engagement": (4, 1.0, None, None, None),
        "burden_fulfillment": (4, 0.5, -0.5, 1 / 3, -1 / 3),
        "rebuttal_quality": (4, 0.5, 0.0, 0.0, 0.0),
        "argument_extension": (4, 0.5, 0.0, 0.0, 0.0),
        "strategic_adaptation": (4, 0.5, 0.0, 0.0, 0.0),
    }
    assert found.keys() == expected.keys()
    for unit, (ratings, agreement, alpha, kappa, quadratic) in expected.items():
        row = found[unit]
        assert (row["count_debates"], row["count_annotators"], row["count_ratings"]) == (1, 2, ratings), unit
        assert row["agreement_rate"] == agreement, unit
        assert (row["alpha"], row["kappa"], row["kappa_quadratic"]) == (near(alpha), near(kappa), near(quadratic)), unit
        # One debate does not show how agreement varies.
        assert (row["alpha_ci_low"], row["kappa_ci_low"], row["agreement_rate_ci_low"]) == (None, None, None), unit
        assert row["agreement_rate_reason"] == "one_cluster", unit


def test_the_debate_on_which_people_part_is_named_with_how_far(debateflow: duckdb.DuckDBPyConnection) -> None:
    """Burden: |1 - 3| = 2 for pro and |2 - 2| = 0 for con, 1 on average."""
    found = {row["unit"]: row for row in rows(debateflow, "from marts.people_differences")}
    assert {row["debate_id"] for row in found.values()} == {"0003dc00"}
    assert {unit: (row["mean_difference"], row["largest_difference"]) for unit, row in found.items()} == {
        "winner": (1, 1),
        "coherence": (0, 0),
        "clash_engagement": (0, 0),
        "burden_fulfillment": (1, 2),
        "rebuttal_quality": (0.5, 1),
        "argument_extension": (0.5, 1),
        "strategic_adaptation": (0.5, 1),
    }
    assert not found["clash_engagement"]["is_parted"]


def test_people_as_judges_detect_what_they_do_by_hand(debateflow: duckdb.DuckDBPyConnection) -> None:
    """SP annotated six weakened debates and one control.

    weak evidence: con of 0003dc00 (SP: pro wins, burden 1 : 2, so con is higher), pro of 50deb68d (con wins, 2 : 3).
    logical gaps: con of 0b5d6d8d (con wins, rebuttal 3 : 3), con of 3da1bb98 (con wins, 2 : 3).
    burden of proof: con of 1c2e57af (pro wins, 3 : 1). argument dropping: pro of 49de8ff5 (con wins, clash 2 : 3).
    So the weakened side loses in 4 of 6, and is lower on the dimension in 3 of 6, with one tie.

    In the control, 650923d2, con wins; clash is 2 : 3, burden and rebuttal are ties. Of the six weakened sides two are
    pro: 1/3 of the control counts as a loss. On the dimension, pro is weakened once on clash (lower here) and once on
    burden (a tie), con four times on burden and rebuttal (ties): 1/6. One control does not make an interval.
    """
    winner, dimension = detection(debateflow, "SP", "winner"), detection(debateflow, "SP", "dimension")
    assert (winner["is_person"], winner["method"], winner["count_debates"], winner["count_controls"]) == (
        True,
        "person",
        6,
        1,
    )
    assert (winner["detection_rate"], winner["control_rate"]) == (near(4 / 6), near(1 / 3))
    # Two of the six debates have one topic, and both count: residuals 2/3, -2/3, -2/3, 1/3 and 1/3, squares 14/9.
    error = math.sqrt(5 / 4 * 14 / 9) / 6
    effective = 6 * min(1, 2 / 9 / (5 * error**2)) * (t_quantile(0.95, 5) / t_quantile(0.95, 4)) ** 2
    assert (winner["count_clusters"], winner["cluster_unit"]) == (5, "topic")
    assert (winner["detection_rate_ci_low"], winner["detection_rate_ci_high"]) == tuple(
        map(near, wilson_interval(4 / 6 * effective, effective, 0.95))
    )
    assert (dimension["detection_rate"], dimension["tie_rate"]) == (0.5, near(1 / 6))
    assert (dimension["control_rate"], dimension["difference"]) == (near(1 / 6), near(1 / 3))
    assert (dimension["difference_ci_low"], dimension["count_debates_needed"]) == (None, None)
    by_type = {
        weakness: (
            detection(debateflow, "SP", "winner", weakness)["detection_rate"],
            detection(debateflow, "SP", "dimension", weakness)["detection_rate"],
        )
        for weakness in ("weak_evidence", "logical_gaps", "burden_of_proof", "argument_dropping")
    }
    assert by_type == {
        "weak_evidence": (1, 0.5),
        "logical_gaps": (0, 0),
        "burden_of_proof": (1, 1),
        "argument_dropping": (1, 1),
    }
    # ZP annotated no control.
    zp = detection(debateflow, "ZP", "dimension")
    assert (zp["detection_rate"], zp["count_controls"], zp["control_rate"]) == (1, 0, None)


def test_baselines_detect_what_their_rule_says(debateflow: duckdb.DuckDBPyConnection, shared: Path) -> None:
    """Eight of the seventeen weakened sides are pro, nine con: a judge that always names con lets eight of them
    lose, and as many of any seventeen controls with the same sides.
    """
    always_con = detection(debateflow, "always_con", "winner")
    assert (always_con["count_debates"], always_con["count_controls"]) == (17, 3)
    assert (always_con["detection_rate"], always_con["control_rate"]) == (near(8 / 17), near(8 / 17))
    assert always_con["difference"] == near(0)
    records = imported_run("debateflow", shared / "debateflow")
    sides = {record.debate_id: record.side for record in records if isinstance(record, Weakness)}
    controls = [record.debate_id for record in records if isinstance(record, Debate) and record.is_control]
    said = lengths(records)
    longer = {debate: max(("con", "pro"), key=lambda side, at=at: at[side]) for debate, at in said.items()}
    found = detection(debateflow, "longest", "winner")
    assert found["detection_rate"] == near(sum(longer[debate] != side for debate, side in sides.items()) / 17)
    pro = sum(side == "pro" for side in sides.values()) / 17
    assert found["control_rate"] == near(
        sum(pro if longer[debate] == "con" else 1 - pro for debate in controls) / len(controls)
    )
    tie = detection(debateflow, "always_tie", "winner")
    assert (tie["detection_rate"], tie["tie_rate"], tie["control_rate"]) == (0, 1, 0)


def test_people_and_baselines_have_a_profile(debateflow: duckdb.DuckDBPyConnection) -> None:
    """SP sees three of six (lower on the dimension, and loses). Con of 0003dc00 loses, but is higher: rewarded. Both
    debates with logical gaps are won by the side that has them: rewarded. ZP puts con lower on burden in 0003dc00, but
    names it the winner.
    """
    found = {row["judge_id"]: row for row in rows(debateflow, "from marts.judge_profile where weakness_type = 'all'")}
    assert {
        judge: (row["count_sees"], row["count_blames"], row["count_misses"], row["count_rewards"])
        for judge, row in found.items()
        if row["is_person"]
    } == {"SP": (3, 0, 0, 3), "ZP": (0, 0, 0, 1)}


def test_scores_point_to_the_dimension_that_is_marked_down_most(debateflow: duckdb.DuckDBPyConnection) -> None:
    """In 1c2e57af, SP marks con down by 2 on all but clash (by 1): four dimensions share the debate."""
    found = rows(
        debateflow, "from marts.weakness_confusion where judge_id = 'SP' and weakness_type = 'burden_of_proof'"
    )
    assert {row["marked_dimension"]: row["marked_rate"] for row in found} == {
        name: 0.25 for name in DIMENSIONS if name != "clash_engagement"
    }
    (burden,) = (row for row in found if row["is_weak_dimension"])
    assert burden["marked_weakness_types"] == ["burden_of_proof", "weak_evidence"]


# What holds for all runs


def judge_that_sees(rate: float, seed: int) -> Verdicts:
    """Puts the weakened side lower on the dimension that should suffer at this rate; else, a fair coin says who is."""
    draw = random.Random(seed)

    def verdict(debate: Debate, weakness: Weakness | None, number: int) -> Any:
        low = "pro" if draw.random() < 0.5 else "con"
        if weakness is not None:
            low = weakness.side if draw.random() < rate else ("con" if weakness.side == "pro" else "pro")
        scores = dict.fromkeys(DIMENSIONS, (1, 3) if low == "pro" else (3, 1))
        return scores, "con" if low == "pro" else "pro"

    return verdict


def balanced(each: int, controls: int) -> list[tuple[str | None, Any]]:
    return [(kind, side) for kind in TYPES for side in ("pro", "con") for _ in range(each)] + [(None, "pro")] * controls


RATES = {"sharp": 0.9, "dull": 0.6, "blind": 0.5}


@pytest.fixture(scope="module")
def known() -> Iterator[duckdb.DuckDBPyConnection]:
    """600 debates over 24 topics with judges of known rates, and two baselines."""
    records = list(source("flow", balanced(48, 120), topics=24))
    run = list(
        judged(
            "judged",
            records,
            {name: judge_that_sees(rate, seed) for seed, (name, rate) in enumerate(RATES.items())},
            baselines={
                "always_pro": lambda debate, weakness, n: (None, "pro"),
                "always_tie": lambda debate, weakness, n: (None, "tie"),
            },
        )
    )
    con = stored(records, run)
    yield con
    con.close()


@pytest.mark.parametrize("measure", ["winner", "score", "dimension"])
def test_known_rates_lie_inside_the_intervals(known: duckdb.DuckDBPyConnection, measure: str) -> None:
    for judge, rate in RATES.items():
        row = detection(known, judge, measure)
        assert (row["count_debates"], row["count_controls"]) == (480, 120)
        assert row["detection_rate_ci_low"] < rate < row["detection_rate_ci_high"]
        assert row["difference_ci_low"] < rate - 0.5 < row["difference_ci_high"]
        assert (row["difference_ci_low"] > 0) == (judge != "blind")


def test_half_of_the_decided_controls_are_the_reference_when_sides_are_balanced(
    known: duckdb.DuckDBPyConnection,
) -> None:
    for judge in RATES:
        assert detection(known, judge, "winner")["control_rate"] == 0.5
    tie = detection(known, "always_tie", "winner")
    assert (tie["control_rate"], tie["control_tie_rate"], tie["difference"]) == (0, 1, 0)


def test_enough_debates_for_ten_points_are_enough_for_ten_points(known: duckdb.DuckDBPyConnection) -> None:
    """Errors fall with the root of the number of debates, so what can be detected does, too."""
    for row in rows(known, "from marts.weakness_detection where count_debates_needed is not null"):
        left = row["count_debates"] * (row["detectable_difference"] / 0.1) ** 2
        assert math.ceil(round(left, 6)) == row["count_debates_needed"]
    assert detection(known, "blind", "winner", "logical_gaps")["count_debates_needed"] > 96


def test_each_verdict_has_exactly_one_diagnosis(known: duckdb.DuckDBPyConnection) -> None:
    counts = rows(
        known,
        "select judge_id, sum(count_sees + count_blames + count_misses + count_rewards) as verdicts "
        "from marts.judge_profile where weakness_type <> 'all' group by judge_id order by judge_id",
    )
    assert {row["judge_id"]: row["verdicts"] for row in counts} == dict.fromkeys(sorted(RATES), 480)


def test_a_rule_that_looks_at_sides_gains_nothing_however_sides_are_weakened() -> None:
    """Nine of ten weakened sides are pro: a judge that always names con is right in nine of ten, and sees nothing."""
    debates: list[tuple[str | None, Any]] = [("logical_gaps", "pro")] * 9 + [("logical_gaps", "con")]
    records = list(source("lopsided", [*debates, *[(None, "pro")] * 5], topics=5))
    con = built(
        records,
        list(judged("judged", records, {}, baselines={"always_con": lambda debate, weakness, n: (None, "con")})),
    )
    found = detection(con, "always_con", "winner")
    con.close()
    assert (found["detection_rate"], found["control_rate"], found["difference"]) == (near(0.9), near(0.9), near(0))
    assert found["difference_ci_low"] < 0 < found["difference_ci_high"]


def test_a_mirrored_run_has_the_same_rates() -> None:
    """Pro and con swapped everywhere: nothing depends on the names of the sides."""
    other = {"pro": "con", "con": "pro", "tie": "tie"}
    debates: list[tuple[str | None, Any]] = [(kind, side) for kind in TYPES[:2] for side in ("pro", "pro", "con")]
    debates += [(None, "pro")] * 4

    def judge(is_mirrored: bool) -> Verdicts:
        draw = random.Random(5)

        def verdict(debate: Debate, weakness: Weakness | None, number: int) -> Any:
            scores = {name: (draw.randint(1, 3), draw.randint(1, 3)) for name in DIMENSIONS}
            winner = draw.choice(["pro", "con", "tie"])
            if is_mirrored:
                return {name: (con, pro) for name, (pro, con) in scores.items()}, other[winner]
            return scores, winner

        return verdict

    found = []
    for is_mirrored in (False, True):
        sides = [(kind, other[side] if is_mirrored else side) for kind, side in debates]
        records = list(source("run", sides, topics=4))  # type: ignore[arg-type]
        con = built(records, list(judged("judged", records, {"j": judge(is_mirrored)})))
        found.append(
            [
                rows(con, f"select * from marts.{name} order by all")
                for name in ("weakness_detection", "judge_profile", "weakness_confusion")
            ]
        )
        con.close()
    assert found[0] == found[1]
    assert all(found[0])


@pytest.mark.parametrize("topics", [2, 4])
def test_trials_of_a_debate_count_once(topics: int) -> None:
    """Only the counts of verdicts may know how often a judge without noise was asked."""
    records = list(source("run", balanced(2, 4), topics=topics))
    counts = {"count_preferences", "count_diagnoses", "count_sees", "count_blames", "count_misses", "count_rewards"}
    found = []
    for trials in (1, 3):
        con = built(records, list(judged("judged", records, {"j": judge_by_number}, trials=trials)))
        found.append(
            [
                # Thirds of a rate do not add up to it to the last digit.
                {
                    column: round(value, 12) if isinstance(value, float) else value
                    for column, value in row.items()
                    if column not in counts
                }
                for name in (
                    "intermediate.int_weakness_rates",
                    "marts.weakness_detection",
                    "marts.judge_profile",
                    "marts.weakness_confusion",
                )
                for row in rows(con, f"from {name} order by all")
            ]
        )
        con.close()
    assert found[0] == found[1]


@pytest.mark.parametrize(("topics", "unit"), [(2, "debate"), (4, "topic"), (24, "topic")])
def test_debates_of_one_topic_count_together_from_three_topics_on(topics: int, unit: str) -> None:
    """Weaknesses are seen on every second topic only. Debates that are topics of their own have Wilson's interval."""
    records = list(source("run", [("logical_gaps", "pro")] * 24, topics=topics))

    def verdict(debate: Debate, weakness: Weakness | None, number: int) -> Any:
        low = int(debate.topic_id[1:]) % 2 == 0
        return dict.fromkeys(DIMENSIONS, (1, 3) if low else (3, 1)), "con" if low else "pro"

    con = built(records, list(judged("judged", records, {"j": verdict})))
    found = detection(con, "j", "winner")
    profile = one(con, "from marts.judge_profile where weakness_type = 'all'")
    con.close()
    low, high = wilson_interval(12, 24)
    reason = "few_topics" if unit == "debate" else None
    assert (found["detection_rate"], profile["sees_rate"]) == (0.5, 0.5)
    assert (found["cluster_unit"], found["count_clusters"]) == (unit, 24 if unit == "debate" else topics)
    assert (found["detection_rate_reason"], profile["reason"]) == (reason, reason)
    # There is no control to compare with.
    assert (found["difference_ci_low"], found["difference_reason"]) == (None, "no_cases")
    for start, end in (
        (found["detection_rate_ci_low"], found["detection_rate_ci_high"]),
        (profile["sees_rate_ci_low"], profile["sees_rate_ci_high"]),
    ):
        if topics == 4:
            assert start < low - 0.1
            assert end > high + 0.1
        else:
            assert (start, end) == (near(low), near(high))


def judge_by_number(debate: Debate, weakness: Weakness | None, number: int) -> Any:
    """Sees every second weakness, and ties the others; in controls, pro is lower in every second."""
    if number % 2:
        return dict.fromkeys(DIMENSIONS, (2, 2)), "tie"
    low = weakness.side if weakness is not None else "pro"
    return dict.fromkeys(DIMENSIONS, (1, 3) if low == "pro" else (3, 1)), "con" if low == "pro" else "pro"


def test_the_interval_of_the_difference_is_that_worked_by_its_formulas() -> None:
    """Four topics with 2, 2, 2 and 2 weakened debates, of which 2, 2, 1 and 0 are seen, and one control each: pro is
    lower in two of them, con in one, and one is a tie.

    Rate 5/8. Residuals by topic 2 - 10/8, 2 - 10/8, 1 - 10/8, -10/8: squares 0.5625, 0.5625, 0.0625, 1.5625, sum 2.75.
    The error is sqrt(4/3 · 2.75) / 8. Independent debates would have 5/8 · 3/8 / 8.
    """
    seen = iter([True, True, True, False, True, True, False, False])
    lower = iter(["pro", "con", "tie", "pro"])

    def verdict(debate: Debate, weakness: Weakness | None, number: int) -> Any:
        if weakness is None:
            return None, {"pro": "con", "con": "pro", "tie": "tie"}[next(lower)]
        other = "con" if weakness.side == "pro" else "pro"
        return None, other if next(seen) else weakness.side

    # Topics follow each other: the first four debates are on topics 0 to 3, and so are the next four and the controls.
    debates: list[tuple[str | None, Any]] = [("logical_gaps", "pro")] * 4 + [("logical_gaps", "con")] * 4
    records = list(source("run", [*debates, *[(None, "pro")] * 4], topics=4))
    con = built(records, list(judged("judged", records, {"j": verdict})))
    found = detection(con, "j", "winner")
    con.close()
    rate, n = 5 / 8, 8
    error = math.sqrt(4 / 3 * 2.75) / 8
    t = {df: t_quantile(0.95, df) for df in (3, 7)}
    effective = n * min(1, rate * (1 - rate) / ((n - 1) * error**2)) * (t[7] / t[3]) ** 2
    low, high = wilson_interval(rate * effective, effective, 0.95)
    # Controls count ½, ½, 0 and ½, because half of the weakened sides are pro.
    control = 3 / 8
    residuals = [0.5 - control, 0.5 - control, -control, 0.5 - control]
    half = t[3] * math.sqrt(4 / 3 * sum(r * r for r in residuals)) / 4
    decided = wilson_interval(3, 4, 0.95)
    control_low = max(0, control - max(half, (3 / 4 - decided[0]) / 2))
    control_high = min(1, control + max(half, (decided[1] - 3 / 4) / 2))
    assert (found["detection_rate"], found["control_rate"], found["count_clusters"]) == (rate, control, 4)
    # Topics on which the weakness is seen are those whose control has a winner: the two rates vary together.
    together = statistics.correlation([2, 2, 1, 0], [0.5, 0.5, 0, 0.5])
    assert found["difference_ci_low"] == near(rate - control - combined(rate - low, control_high - control, together))
    assert found["difference_ci_high"] == near(rate - control + combined(high - rate, control - control_low, together))


def combined(a: float, b: float, correlation: float) -> float:
    """The distance from a difference to the end of its interval, from those of its two estimates."""
    return math.sqrt(a**2 + b**2 - 2 * correlation * a * b)


def test_runs_without_weaknesses_have_no_rows_and_no_controls() -> None:
    records = list(source("plain", [(None, "pro")] * 6, topics=3))
    con = built(records, list(judged("judged", records, {"j": judge_by_number})))
    counts = [
        one(con, f"select count(*) as n from {name}")["n"]
        for name in ("intermediate.int_weakness_debates", "marts.weakness_detection", "marts.judge_profile")
    ]
    con.close()
    assert counts == [0, 0, 0]


def test_the_data_tests_of_the_new_models_hold(known: duckdb.DuckDBPyConnection) -> None:
    names = [
        *MODELS,
        "int_weakness_verdicts",
        "int_weakness_cases",
        "int_weakness_rates",
        "int_weakness_marks",
    ]
    names += ["weakness_diagnoses", "int_weakness_debates", "int_people_pairs", "int_opinions", "truths"]
    results = run_data_tests(known, packaged_project(), select=names)
    assert [str(result) for result in results if result.status != "pass"] == []
    assert len(results) > 100


# Agreement between people


def drawn(seed: int, share: float) -> Verdicts:
    """Scores at random; this share of the debates is judged by number alone, so that all such people agree on it."""
    draw = random.Random(seed)

    def verdict(debate: Debate, weakness: Weakness | None, number: int) -> Any:
        own = draw if draw.random() >= share else random.Random(int(debate.debate_id[1:]))
        scores = {name: (own.randint(1, 3), own.randint(1, 3)) for name in DIMENSIONS}
        return scores, own.choice(["pro", "con", "tie"])

    return verdict


@pytest.mark.parametrize("count", [2, 3])
def test_agreement_is_that_of_the_functions_for_two_and_for_more_people(count: int) -> None:
    records = list(source("run", [("logical_gaps", "pro")] * 25, topics=5))
    topic = {record.debate_id: record.topic_id for record in records if isinstance(record, Debate)}
    people = {f"person {n}": drawn(n, 0.6) for n in range(count)}
    said = list(annotations(records, people))
    con = stored([*records, *said])
    found = {row["unit"]: row for row in rows(con, "from marts.people_agreement")}
    con.close()
    by_person: dict[str, dict[str, Annotation]] = {}
    for record in said:
        assert isinstance(record, Annotation)
        by_person.setdefault(record.annotator_id, {})[record.debate_id] = record
    named = [(debate, record.winner) for each in by_person.values() for debate, record in each.items()]
    by_topic = krippendorff_alpha_interval(named, [topic[debate] for debate, _ in named], "nominal")
    assert by_topic is not None
    assert (found["winner"]["cluster_unit"], found["winner"]["count_clusters"]) == ("topic", 5)
    assert found["winner"]["alpha"] == near(by_topic.value)
    assert found["winner"]["alpha_ci_low"] == near(by_topic.ci_low)
    assert found["winner"]["alpha_ci_low"] < found["winner"]["alpha"] < found["winner"]["alpha_ci_high"]
    assert (found["winner"]["count_annotators"], found["winner"]["count_debates"]) == (count, 25)
    assert found["winner"]["count_pairs"] == 25 * count * (count - 1) // 2
    rated: list[tuple[tuple[str, str], float]] = []
    for each in by_person.values():
        for debate, record in each.items():
            (score,) = (score for score in record.scores or () if score.dimension == "rebuttal_quality")
            rated += [((debate, "pro"), float(score.pro)), ((debate, "con"), float(score.con))]
    row = found["rebuttal_quality"]
    assert row["alpha_level"] == "ordinal"
    assert row["alpha"] == near(krippendorff_alpha(rated, "ordinal"))
    if count == 2:
        half = len(rated) // 2
        pairs = [(a, b) for (_, a), (_, b) in zip(rated[:half], rated[half:], strict=True)]
        clusters = [topic[debate] for (debate, _), _ in rated[:half]]
        for name, power in (("kappa", 0), ("kappa_quadratic", 2)):
            kappa = leaving_out(
                pairs, clusters, lambda rows, power=power: cohen_kappa(rows, power, [1.0, 2.0, 3.0]), -1, 1
            )
            assert kappa is not None
            assert [row[f"{name}{end}"] for end in ("", "_ci_low", "_ci_high")] == [
                near(kappa.value),
                near(kappa.ci_low),
                near(kappa.ci_high),
            ]
    else:
        assert (row["kappa"], row["kappa_quadratic"]) == (None, None)


def test_people_who_agree_on_whole_topics_have_wider_intervals_than_their_debates_say() -> None:
    """Two people agree on every debate of half of the topics and on none of the others."""

    def person(is_contrary: bool) -> Verdicts:
        def verdict(debate: Debate, weakness: Weakness | None, number: int) -> Any:
            side = "pro" if number % 3 else "con"
            differs = is_contrary and int(debate.topic_id[1:]) % 2
            return None, {"pro": "con", "con": "pro"}[side] if differs else side

        return verdict

    widths = {}
    for topics in (4, 40):
        records = list(source("run", [("logical_gaps", "pro")] * 40, topics=topics))
        con = stored([*records, *annotations(records, {"a": person(False), "b": person(True)})])
        row = one(con, "from marts.people_agreement where unit = 'winner'")
        con.close()
        assert (row["agreement_rate"], row["count_clusters"], row["agreement_rate_reason"]) == (0.5, topics, None)
        assert row["kappa_quadratic_reason"] == "no_cases"
        widths[topics] = [
            row[f"{name}_ci_high"] - row[f"{name}_ci_low"] for name in ("agreement_rate", "kappa", "alpha")
        ]
    assert all(few > 2 * many for few, many in zip(widths[4], widths[40], strict=True))


def test_an_adjudicated_verdict_is_a_truth_of_its_own_and_not_an_annotation() -> None:
    records = list(source("run", [("logical_gaps", "pro")] * 2, topics=1))
    records += annotations(records, {"a": drawn(1, 0), "b": drawn(2, 0)})
    before = stored(records)
    agreed = rows(before, "from marts.people_agreement order by unit")
    before.close()
    adjudication = Adjudication(
        run_tag="run",
        debate_id="d000",
        adjudicator_id="a",
        winner="con",
        scores=(Score.model_validate({"dimension": "rebuttal_quality", "pro": "1", "con": "3"}),),
    )
    con = stored([*records, adjudication])
    assert rows(con, "from marts.people_agreement order by unit") == agreed
    truths = rows(con, "from marts.truths where debate_id = 'd000' and dimension = 'overall' order by truth")
    assert [row["truth"] for row in truths] == ["adjudicated", "annotations"]
    assert (truths[0]["winner"], truths[0]["score_difference"], truths[0]["count_annotators"]) == ("con", -2, None)
    parted = one(con, "from marts.people_differences where debate_id = 'd000' and unit = 'winner'")
    assert parted["adjudicated_winner"] == "con"
    people = rows(con, "select distinct judge_id from marts.weakness_detection order by all")
    assert [row["judge_id"] for row in people] == ["a", "b"]
    con.close()
