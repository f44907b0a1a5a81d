"""Attacks on judges: trials of a debate are no evidence, and debates of one topic are one observation."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import duckdb
import pytest
from built_warehouse import new_warehouse, packaged_project
from imported import land_records
from oracles import wilson_interval
from weakened import DIMENSIONS, judged, source

from debatebench.query.attack_gate import check_attacks
from debatebench.shared.records import Debate, Participant, Record, Run, Verdict, Weakness
from debatebench.transform.build import build
from debatebench.transform.project import Project

pytestmark = pytest.mark.slow

Led = Callable[[Debate, int], bool]
"""(attacked debate, its number) → does the judge follow the attack?"""


@pytest.fixture(scope="module")
def project() -> Project:
    return packaged_project()


def probed(debates: int, topics: int, led: Led, trials: int = 1) -> Iterator[Record]:
    """A run in which con wins every debate by one point, unless pro attacks and the judge follows."""

    def verdict(is_attacked: bool) -> Any:
        def said(debate: Debate, weakness: Weakness | None, number: int) -> Any:
            wins = is_attacked and led(debate, number)
            return dict.fromkeys(DIMENSIONS, (3, 2) if wins else (2, 3)), "pro" if wins else "con"

        return said

    held = list(source("held", [(None, "pro")] * debates, topics=topics))
    yield from held
    for record in judged("probed", held, {"j": verdict(False)}, trials=trials):
        yield record.model_copy(update={"format": "probing"}) if isinstance(record, Run) else record
    for record in judged("probed", held, {"j": verdict(True)}, trials=trials):
        if isinstance(record, Debate | Participant | Verdict):
            attack = {"attack": "orders", "attack_side": "pro"} if isinstance(record, Debate) else {}
            yield record.model_copy(update={"debate_id": f"{record.debate_id}~orders", **attack})


def built(project: Project, records: Sequence[Record]) -> duckdb.DuckDBPyConnection:
    con = new_warehouse()
    for tag in ("held", "probed"):
        own = [record for record in records if record.run_tag == tag]
        land_records(con, tag, list({(r.table, r.key_values()): r for r in own}.values()))
    build(con, project, select=["+marts.judge_robustness", "+staging.stg_attacked_schedule"])
    return con


def robustness(con: duckdb.DuckDBPyConnection) -> dict[str, Any]:
    result = con.execute("from marts.judge_robustness")
    names = [column[0] for column in result.description or ()]
    (row,) = result.fetchall()
    return dict(zip(names, row, strict=True))


def every_second(debate: Debate, number: int) -> bool:
    return number % 2 == 0


@pytest.mark.parametrize(("debates", "topics"), [(12, 12), (24, 6), (12, 2)])
def test_a_judge_without_noise_that_judges_again_is_not_led_by_more(project: Project, debates: int, topics: int):
    found = []
    for trials in (1, 3):
        con = built(project, list(probed(debates, topics, every_second, trials)))
        found.append(robustness(con))
        gate = check_attacks(con, ["probed"], 0.1)
        found[-1]["gate"] = [(c.outcome, c.count_at_risk, c.count_clusters, c.detectable) for c in gate.checks]
        con.close()
    by_trials = {"count_pairs", "count_at_risk", "count_successes", "count_towards", "count_shifts"}
    once, often = found
    assert {name: 3 * once[name] for name in by_trials} == {name: often[name] for name in by_trials}
    assert {k: v for k, v in once.items() if k not in by_trials} == {
        k: v for k, v in often.items() if k not in by_trials
    }
    assert often["count_debates"] == debates


def test_an_attack_that_always_moves_scores_as_far_has_no_interval_and_an_exact_test(project: Project):
    con = built(project, list(probed(8, 8, lambda debate, number: True)))
    found = robustness(con)
    con.close()
    assert (found["score_shift"], found["shift_ci_low"], found["shift_reason"]) == (2, None, "no_variation")
    assert (found["p_value"], found["finding"]) == (pytest.approx(2 * 0.5**8), "led")
    assert (found["success_rate"], found["success_ci_low"]) == (1, pytest.approx(wilson_interval(8, 8)[0]))


def test_many_debates_of_three_topics_are_three_observations(project: Project):
    """The judge follows on two of three topics: 20 changes of 30 debates, all towards the attacker."""
    con = built(project, list(probed(30, 3, lambda debate, number: debate.topic_id != "t0")))
    found = robustness(con)
    (check,) = check_attacks(con, ["probed"], 0.1).checks
    con.close()
    assert (found["count_debates"], found["count_clusters"], found["count_towards"]) == (30, 3, 20)
    # t = 2 with two degrees of freedom, where the sign test of debates would say 20 : 0.
    assert (found["p_value"], found["finding"]) == (pytest.approx(1 - 2 / 6**0.5), "not_shown")
    low, high = wilson_interval(20, 30)
    assert found["success_ci_low"] < low < high < found["success_ci_high"]
    assert (check.outcome, check.count_clusters) == ("unsettled", 3)
    assert check.detectable is not None
    assert check.detectable > 0.3


def test_with_two_topics_the_debates_are_the_observations_and_that_is_said(project: Project):
    con = built(project, list(probed(10, 2, lambda debate, number: True)))
    found = robustness(con)
    con.close()
    assert (found["cluster_unit"], found["count_clusters"], found["p_value"]) == (
        "debate",
        10,
        pytest.approx(2 * 0.5**10),
    )
    assert (found["reason"], found["success_reason"]) == ("few_topics", "few_topics")


def test_a_judge_that_nothing_moves_has_no_p_value_and_a_reason(project: Project):
    con = built(project, list(probed(8, 8, lambda debate, number: False)))
    found = robustness(con)
    con.close()
    assert (found["p_value"], found["reason"], found["finding"]) == (None, "no_variation", "not_shown")
    assert (found["success_rate"], found["success_ci_low"]) == (0, 0)
    assert found["success_ci_high"] > 0.2
