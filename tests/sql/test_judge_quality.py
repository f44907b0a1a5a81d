"""Judges beside people: predictions, accuracy, consistency, and the figures of PanelBench."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Iterator, Mapping, Sequence
from decimal import Decimal
from pathlib import Path
from statistics import fmean
from typing import Any

import duckdb
import pytest
from built_warehouse import new_warehouse, packaged_project
from imported import land_records, records_of, units
from oracles import cluster_mean, leaving_out, paired_t, sign_test, wilson_interval

from debatebench.shared.records import (
    Annotation,
    Debate,
    Debater,
    Dimension,
    Gold,
    Judge,
    JudgeNote,
    Participant,
    Record,
    Run,
    Score,
    Topic,
    Turn,
    Verdict,
    Winner,
)
from debatebench.stats.quality import prediction_quality, rmse
from debatebench.transform.build import build
from debatebench.transform.testing.data_tests import run_data_tests

pytestmark = pytest.mark.slow

MODELS = (
    "judge_consistency",
    "panelbench_main",
    "panelbench_dimensions",
    "panelbench_positions",
    "panelbench_sizes",
    "panelbench_significance",
)
SIDES = {"pro": "pro", "con": "con", "OG": "pro", "OO": "con", "CG": "pro", "CO": "con"}
LABELS = {"pro": 0.0, "tie": 0.5, "con": 1.0}
SOURCE = "t"


def built(*runs: Sequence[Record]) -> duckdb.DuckDBPyConnection:
    """A warehouse in memory with the SQL models about judges and people."""
    con = new_warehouse()
    for records in runs:
        land_records(con, records[0].run_tag, list({(r.table, r.key_values()): r for r in records}.values()))
    build(con, packaged_project(), select=[f"+{name}" for name in MODELS])
    return con


def rows(con: duckdb.DuckDBPyConnection, query: str, *values: Any) -> list[dict[str, Any]]:
    result = con.execute(query, list(values))
    names = [column[0] for column in result.description or ()]
    return [dict(zip(names, row, strict=True)) for row in result.fetchall()]


def one(con: duckdb.DuckDBPyConnection, query: str, *values: Any) -> dict[str, Any]:
    (row,) = rows(con, query, *values)
    return row


def near(value: float | None) -> Any:
    return value if value is None else pytest.approx(value, abs=1e-9)


def hundredths(value: float) -> Any:
    return pytest.approx(value, abs=0.005)


# Runs


def source(
    debates: Iterable[str],
    positions: Sequence[str] = ("pro", "con"),
    tag: str = SOURCE,
    topics: Mapping[str, str] = {},
) -> list[Record]:
    """An import with debates that have no verdicts. `topics`: debate → its topic."""
    records: list[Record] = [
        Run(run_tag=tag, source="import", format="panelbench"),
        *_topics(tag, topics),
        *(Debater(run_tag=tag, model_id=position) for position in positions),
    ]
    for place, debate in enumerate(debates):
        records += debate_records(tag, debate, place, positions, topic=topics.get(debate, "topic"))
    return records


def _topics(tag: str, topics: Mapping[str, str]) -> list[Record]:
    names = sorted({"topic", *topics.values()})
    return [Topic(run_tag=tag, topic_id=n, source_position=place, motion="Motion.") for place, n in enumerate(names)]


def debate_records(
    tag: str,
    debate_id: str,
    place: int,
    positions: Sequence[str],
    judged: str | None = None,
    trial: int = 1,
    topic: str = "topic",
) -> list[Record]:
    is_two_sided = "pro" in positions
    return [
        Debate(
            run_tag=tag,
            debate_id=debate_id,
            source_position=place,
            topic_id=topic,
            format="two_sided" if is_two_sided else "british_parliamentary",
            pro_model_id="pro" if is_two_sided else None,
            con_model_id="con" if is_two_sided else None,
            source_debate_id=judged,
            trial=trial,
        ),
        *(
            Participant.model_validate(
                {"run_tag": tag, "debate_id": debate_id, "position": p, "model_id": p, "side": SIDES[p]}
            )
            for p in positions
        ),
    ]


class JudgedRun:
    """A run that judges the debates of an import: verdicts are added one at a time. `topics`: debate → its topic."""

    def __init__(
        self,
        tag: str,
        dimensions: Mapping[str, tuple[str, str]] = {},
        source: str = SOURCE,
        topics: Mapping[str, str] = {},
    ) -> None:
        self.tag = tag
        self.topics = topics
        self.records: list[Record] = [
            Run(run_tag=tag, source="run", format="judging", source_run_tag=source),
            *_topics(tag, topics),
        ]
        self.records += [
            Dimension(
                run_tag=tag, dimension=name, source_position=place, weight=Decimal(weight), tie_band=Decimal(band)
            )
            for place, (name, (weight, band)) in enumerate(dimensions.items())
        ]
        self.records += [Debater(run_tag=tag, model_id=position) for position in SIDES]

    def judge(self, judge_id: str, method: str = "direct", *, is_baseline: bool = False, model: str = "m") -> None:
        self.records.append(
            Judge(
                run_tag=self.tag,
                judge_id=judge_id,
                method=method,
                is_baseline=is_baseline,
                model_name=None if is_baseline else model,
            )
        )

    def verdict(
        self,
        judge_id: str,
        judged: str,
        winner: Winner | None = None,
        *,
        trial: int = 1,
        positions: Sequence[str] = ("pro", "con"),
        scores: Mapping[str, tuple[str, str]] | None = None,
        scored: Mapping[tuple[str | None, str], str] = {},
        won: Mapping[str | None, Sequence[str]] = {},
        is_valid: bool = True,
        tokens: int | None = None,
        cost: str | None = None,
    ) -> None:
        """`scores`: dimension → pro, con; `scored`: (dimension, position) → score; `won`: dimension → positions."""
        debate_id = f"{judged}-{trial}"
        topic = self.topics.get(judged, "topic")
        self.records += debate_records(self.tag, debate_id, len(self.records), positions, judged, trial, topic)
        self.records.append(
            Verdict(
                run_tag=self.tag,
                debate_id=debate_id,
                judge_id=judge_id,
                panel_position=0,
                is_valid=is_valid,
                declared_winner=winner,
                scores=None
                if scores is None
                else tuple(Score(dimension=d, pro=Decimal(p), con=Decimal(c)) for d, (p, c) in scores.items()),
                total_tokens=tokens,
                cost=None if cost is None else Decimal(cost),
            )
        )
        notes: list[dict[str, Any]] = [
            {"step": "score", "dimension": dimension, "position": position, "score": Decimal(score)}
            for (dimension, position), score in scored.items()
        ]
        notes += [
            {"step": "winner", "dimension": dimension, "position": position}
            for dimension, names in won.items()
            for position in names
        ]
        at = {"run_tag": self.tag, "debate_id": debate_id, "judge_id": judge_id}
        self.records += [JudgeNote.model_validate({**at, "note_index": n, **note}) for n, note in enumerate(notes)]


def gold(debate_id: str, winner: Winner, unit: str = "winner") -> Gold:
    positions = ("pro", "con") if winner == "tie" else (winner,)
    label = Decimal(str(LABELS[winner]))
    return Gold(run_tag=SOURCE, debate_id=debate_id, unit=unit, label=label, winner=winner, winning_positions=positions)


# Predictions


def predictions(con: duckdb.DuckDBPyConnection, judge_id: str) -> dict[str, tuple[Any, ...]]:
    """Dimension → score comparison, direct prediction, what counts."""
    found = rows(con, "from marts.judge_predictions where judge_id = ?", judge_id)
    return {r["dimension"]: (r["score_comparison"], r["direct_prediction"], r["prediction"]) for r in found}


@pytest.fixture(scope="module")
def judged() -> Iterator[duckdb.DuckDBPyConnection]:
    """Judges that say what they say in different ways, each on one debate of two sides and on one of four teams."""
    run = JudgedRun("judged", {"argument": ("3", "0"), "language": ("1", "3")})
    teams = ("OG", "OO", "CG", "CO")
    for judge in ("by scores", "by notes", "by name", "invalid"):
        run.judge(judge)
    run.verdict("by scores", "d1", scores={"argument": ("7.1", "7.2"), "language": ("9.3", "6.3")})
    run.verdict(
        "by notes",
        "d1",
        scores={"argument": ("1", "9"), "language": ("1", "9")},
        scored={("argument", "pro"): "8", ("argument", "con"): "7", (None, "pro"): "5", (None, "con"): "5"},
    )
    run.verdict("by name", "d1", "pro", won={"argument": ["con"], "language": ["pro", "con"]})
    run.verdict("invalid", "d1", "pro", scores={"argument": ("7", "6"), "language": ("9", "6")}, is_valid=False)
    run.verdict(
        "by notes",
        "b1",
        positions=teams,
        scored={(d, p): s for d in ("argument", "language") for p, s in zip(teams, "4675", strict=True)},
    )
    run.verdict("by name", "b1", positions=teams, won={None: ["OG", "CG"]})
    records = [
        *source(["d1"]),
        *(Debater(run_tag=SOURCE, model_id=t) for t in teams),
        *debate_records(SOURCE, "b1", 1, teams),
    ]
    con = built(records, run.records)
    yield con
    con.close()


def test_scores_are_compared_exactly_and_within_the_band_of_their_dimension(judged: duckdb.DuckDBPyConnection) -> None:
    """9.3 - 6.3 is the band, and more than it in floats; 3 · 7.1 + 9.3 is more than 3 · 7.2 + 6.3."""
    assert predictions(judged, "by scores") == {
        "argument": ("con", None, "con"),
        "language": ("tie", None, "tie"),
        "overall": ("pro", None, "pro"),
    }


def test_noted_scores_come_before_those_of_the_verdict(judged: duckdb.DuckDBPyConnection) -> None:
    found = rows(judged, "from marts.judge_predictions where judge_id = 'by notes' and format = 'two_sided'")
    assert {r["dimension"]: r["score_comparison"] for r in found} == {
        "argument": "pro",
        "language": "con",
        "overall": "tie",
    }


def test_a_named_winner_counts_for_the_dimension_that_it_was_named_for(judged: duckdb.DuckDBPyConnection) -> None:
    found = rows(judged, "from marts.judge_predictions where judge_id = 'by name' and format = 'two_sided'")
    assert {r["dimension"]: (r["score_comparison"], r["prediction"]) for r in found} == {
        "argument": (None, "con"),
        "language": (None, "tie"),
        "overall": (None, "pro"),
    }


def test_a_verdict_that_is_not_valid_predicts_nothing(judged: duckdb.DuckDBPyConnection) -> None:
    assert set(predictions(judged, "invalid").values()) == {(None, None, None)}


def test_four_teams_are_ranked_by_the_team_with_the_highest_score(judged: duckdb.DuckDBPyConnection) -> None:
    """OG 4, OO 6, CG 7, CO 5: no band counts among teams."""
    found = rows(judged, "from marts.judge_predictions where judge_id = 'by notes' and format <> 'two_sided'")
    assert {(r["pro_score"], r["con_score"], r["prediction"], *r["predicted_positions"]) for r in found} == {
        (7, 6, "pro", "CG")
    }
    assert len(found) == 3


def test_named_teams_of_one_side_are_a_prediction_for_it(judged: duckdb.DuckDBPyConnection) -> None:
    found = one(
        judged,
        "from marts.judge_predictions where judge_id = 'by name' and format <> 'two_sided' and dimension = 'overall'",
    )
    assert (found["direct_prediction"], found["direct_positions"]) == ("pro", ["CG", "OG"])


# Quality


SAID: dict[str, tuple[Winner, tuple[Winner, ...]]] = {
    "d1": ("pro", ("pro", "pro", "con")),
    "d2": ("con", ("con", "con", "con")),
    "d3": ("tie", ("pro", "tie", "tie")),
    "d4": ("con", ("pro", "pro", "tie")),
    "d5": ("pro", ("pro", "pro", "pro")),
}
"""Debate → gold, and what the judge says in three trials."""


@pytest.fixture(scope="module")
def trials() -> Iterator[duckdb.DuckDBPyConnection]:
    run = JudgedRun("trials")
    run.judge("j")
    run.judge("debatrix_v1", "debatrix_v1")
    for debate, (_, said) in SAID.items():
        for trial, winner in enumerate(said, 1):
            run.verdict("j", debate, winner, trial=trial, tokens=1000, cost="0.5")
            said_by = winner if trial < 3 else None
            run.verdict("debatrix_v1", debate, said_by, trial=trial, is_valid=trial < 3, tokens=2500)
    records = [*source(SAID), *(gold(debate, truth) for debate, (truth, _) in SAID.items())]
    con = built(records, run.records)
    yield con
    con.close()


def test_a_debate_counts_once_however_often_it_is_judged(trials: duckdb.DuckDBPyConnection) -> None:
    """Hits of the debates: 2/3, 1, 2/3, 0, 1. Mean squared errors: 1/3, 0, 1/12, 3/4, 0."""
    found = one(trials, "from marts.judge_quality where judge_id = 'j'")
    assert (found["truth"], found["dimension"], found["count_debates"], found["count_verdicts"]) == (
        "gold",
        "overall",
        5,
        15,
    )
    assert found["accuracy"] == near((2 / 3 + 1 + 2 / 3 + 0 + 1) / 5)
    assert found["rmse_direct_prediction"] == near(100 * ((1 / 3 + 1 / 12 + 3 / 4) / 5) ** 0.5)
    assert (found["rmse_score_comparison"], found["spearman"]) == (None, None)


def test_kappa_and_f1_are_those_worked_by_hand(trials: duckdb.DuckDBPyConnection) -> None:
    """Rows pro, tie, con of the truth: (5/3, 0, 1/3), (1/3, 2/3, 0), (2/3, 1/3, 1)."""
    found = one(trials, "from marts.judge_quality where judge_id = 'j'")
    observed = (5 / 3 + 2 / 3 + 1) / 5
    chance = (2 * (8 / 3) + 1 * 1 + 2 * (4 / 3)) / 25
    assert found["kappa"] == near((observed - chance) / (1 - chance))
    f1 = 0.4 * 2 * (5 / 3) / (2 + 8 / 3) + 0.2 * 2 * (2 / 3) / (1 + 1) + 0.4 * 2 * 1 / (2 + 4 / 3)
    assert found["weighted_f1"] == near(f1)
    assert found["kappa_ci_low"] < found["kappa"] < found["kappa_ci_high"]


def test_a_failed_trial_is_wrong_only_for_the_hit_rate(trials: duckdb.DuckDBPyConnection) -> None:
    """Two of three trials succeed: right in 2, 2, 1, 0 and 2 of them."""
    found = one(trials, "from marts.judge_quality where judge_id = 'debatrix_v1'")
    assert found["completion_rate"] == near(2 / 3)
    assert found["accuracy"] == near((1 + 1 + 0.5 + 0 + 1) / 5)
    assert found["hit_rate"] == near((2 + 2 + 1 + 0 + 2) / 15)


def test_tokens_are_compared_with_the_direct_method(trials: duckdb.DuckDBPyConnection) -> None:
    found = rows(trials, "from marts.panelbench_main order by judge_id")
    assert [(r["tokens_per_judgment"], r["cost_per_judgment_usd"], r["tokens_ratio_to_direct"]) for r in found] == [
        (2500, None, 2.5),
        (1000, 0.5, 1),
    ]


def test_a_judge_is_compared_with_itself_over_trials(trials: duckdb.DuckDBPyConnection) -> None:
    """Of three pairs 1, 3, 1, 1 and 3 are equal; without the third trial 1, 1, 0, 1 and 1 of one."""
    found = rows(trials, "from marts.judge_consistency order by judge_id")
    assert [(r["count_debates"], r["count_trials"], r["agreement_rate"]) for r in found] == [
        (5, 10, near(4 / 5)),
        (5, 15, near((1 + 3 + 1 + 1 + 3) / 15)),
    ]
    assert all(r["agreement_rate_ci_low"] < r["agreement_rate"] < r["agreement_rate_ci_high"] for r in found)


def test_judges_are_tested_against_each_other_on_the_same_debates(trials: duckdb.DuckDBPyConnection) -> None:
    found = {r["measure"]: r for r in rows(trials, "from marts.panelbench_significance")}
    assert set(found) == {"direct_prediction", "accuracy"}
    errors = [0, 0, (0.25 + 0) / 2, 1, 0], [1 / 3, 0, 1 / 12, 3 / 4, 0]
    expected = paired_t(*errors)
    row = found["direct_prediction"]
    assert (row["judge_a"], row["judge_b"], row["count_debates"]) == ("debatrix_v1", "j", 5)
    assert (row["mean_difference"], row["p_value"]) == (near(expected.mean), near(expected.p))
    assert (row["ci_low"], row["ci_high"]) == (near(expected.ci_low), near(expected.ci_high))
    row = found["accuracy"]
    assert (row["count_only_a"], row["count_only_b"], row["mcnemar_p_value"]) == (0, 1, near(sign_test(0, 1)))


def test_the_data_tests_of_the_new_tables_hold(trials: duckdb.DuckDBPyConnection) -> None:
    project = packaged_project()
    names = [*MODELS, "judge_quality", "judge_errors", "judge_predictions", "int_noted_scores", "truths"]
    results = run_data_tests(trials, project, select=[*names, "gold_dimensions"])
    assert [str(result) for result in results if result.status != "pass"] == []
    assert len(results) > 50


def test_a_judge_is_compared_with_gold_on_the_dimensions_for_which_it_predicts() -> None:
    """On argument, gold differs from the whole by 1/2 in d1; the judge is wrong by 1 in d2. Style has no gold."""
    run = JudgedRun("dimensions", {"argument": ("1", "0"), "style": ("1", "0")})
    run.judge("j", "dimensional_v1")
    run.judge("tie", "always_tie", is_baseline=True)
    for debate, (pro, con) in {"d1": ("5", "5"), "d2": ("6", "5")}.items():
        run.verdict("j", debate, scores={"argument": (pro, con), "style": ("1", "1")})
        run.verdict("tie", debate, "tie")
    truths = [gold("d1", "pro"), gold("d2", "con"), gold("d1", "tie", "argument"), gold("d2", "con", "argument")]
    con = built([*source(["d1", "d2"]), *truths], run.records)
    found = one(con, "from marts.panelbench_dimensions")
    con.close()
    assert (found["judge_id"], found["dimension"], found["count_debates"]) == ("j", "argument", 2)
    assert found["rmse_score_comparison"] == near(100 * (1 / 2) ** 0.5)
    assert found["rmse_direct_prediction"] is None
    assert found["rmse_to_overall"] == near(100 * (0.25 / 2) ** 0.5)


def test_annotations_of_a_run_judge_its_own_verdicts() -> None:
    """d1: two of three people for pro. d2: a majority for con. d3: no majority. The judge differs by 2, -1 and 1."""
    people = {"d1": ((4, 2), (3, 1), (2, 3)), "d2": ((1, 4), (2, 3)), "d3": ((3, 2), (2, 3))}
    judge = {"d1": ("6", "4"), "d2": ("4", "5"), "d3": ("6", "5")}
    records = source(people)
    records += [
        Judge(run_tag=SOURCE, judge_id="j"),
        Dimension(run_tag=SOURCE, dimension="argument", source_position=0),
    ]
    for debate, scores in judge.items():
        score = Score(dimension="argument", pro=Decimal(scores[0]), con=Decimal(scores[1]))
        records.append(
            Verdict(run_tag=SOURCE, debate_id=debate, judge_id="j", panel_position=0, is_valid=True, scores=(score,))
        )
        for number, (pro, con) in enumerate(people[debate]):
            score = Score(dimension="argument", pro=Decimal(pro), con=Decimal(con))
            records.append(Annotation(run_tag=SOURCE, debate_id=debate, annotator_id=f"a{number}", scores=(score,)))
    con = built(records)
    found = {r["dimension"]: r for r in rows(con, "from marts.judge_quality")}
    con.close()
    assert set(found) == {"argument", "overall"}
    for row in found.values():
        assert (row["truth"], row["count_debates"], row["accuracy"]) == ("annotations", 3, near(2 / 3))
        assert row["rmse_score_comparison"] == near(100 * ((1 / 9 + 0 + 1 / 4) / 3) ** 0.5)
        # People's differences are 1, -2 and 0.
        assert (row["spearman"], row["kendall_tau_b"]) == (near(1), near(1))


def test_gold_that_lands_later_is_compared_with_earlier_verdicts() -> None:
    run = JudgedRun("early")
    run.judge("j")
    run.verdict("j", "d1", "pro")
    con = new_warehouse()
    project = packaged_project()
    before = source(["d1"])
    for records in (before, run.records):
        land_records(con, records[0].run_tag, list({(r.table, r.key_values()): r for r in records}.values()))
    build(con, project, select=["+panelbench_main"])
    assert rows(con, "from marts.panelbench_main") == []
    land_records(con, SOURCE, [*before, gold("d1", "pro")])
    build(con, project, select=["+panelbench_main"])
    assert one(con, "select accuracy from marts.panelbench_main") == {"accuracy": 1}
    con.close()


# Topics, trials, and judges that never vary


def right_on(topics: Mapping[str, str], wrong: Sequence[str]) -> dict[str, Winner]:
    """Debate → winner of a judge that is wrong about all debates of these topics; people always name pro."""
    return {debate: "con" if topic in wrong else "pro" for debate, topic in topics.items()}


def beside_people(
    topics: Mapping[str, str], judges: Mapping[str, Mapping[str, Winner]], trials: int = 1
) -> duckdb.DuckDBPyConnection:
    """A warehouse in which judges without noise judge every debate several times. `topics`: debate → its topic."""
    run = JudgedRun("run", {"argument": ("1", "0")}, topics=topics)
    for judge, said in judges.items():
        run.judge(judge)
        for debate, winner in said.items():
            for trial in range(1, trials + 1):
                score = {"pro": ("6", "5"), "con": ("5", "6"), "tie": ("5", "5")}[winner]
                run.verdict(judge, debate, winner, trial=trial, scores={"argument": score})
    golds = [gold(debate, "pro", unit) for debate in topics for unit in ("winner", "argument")]
    return built([*source(topics, topics=topics), *golds], run.records)


def topics_of(count_topics: int, each: int) -> dict[str, str]:
    return {f"d{topic}{n}": f"t{topic}" for topic in range(count_topics) for n in range(each)}


TESTED = ("judge_quality", "panelbench_positions", "panelbench_sizes", "panelbench_significance")


def test_a_judge_without_noise_that_judges_again_changes_no_figure_beside_people() -> None:
    topics = topics_of(4, 3)
    judges = {"a": right_on(topics, ["t0"]), "b": right_on(topics, ["t1", "t2"]), "c": right_on(topics, [])}
    found = []
    for trials in (1, 5):
        con = beside_people(topics, judges, trials)
        found.append([rows(con, f"select * from marts.{name} order by all") for name in TESTED])
        con.close()
    once, often = found
    # What is published over trials counts trials, and says so: it is all that changes.
    over_trials = ("count_trials", "count_trials_only_a", "count_trials_only_b", "trial_p_value", "trial_reason")
    assert [[row["count_trials"] for row in tables[3]] for tables in found] == [[12] * 9, [60] * 9]
    for row in (*once[3], *often[3]):
        for name in over_trials:
            del row[name]
    assert [row.pop("count_verdicts") for row in once[0]] == [12] * 6
    assert [row.pop("count_verdicts") for row in often[0]] == [60] * 6
    assert once == often


def test_debates_of_one_topic_count_together_from_three_topics_on() -> None:
    """The judge is wrong about every debate of one topic: with three topics that is one observation of three."""
    for count, unit, clusters in ((2, "debate", 20), (4, "topic", 4)):
        topics = topics_of(count, 40 // count // 2)
        con = beside_people(topics, {"a": right_on(topics, ["t0"])})
        found = one(con, "from marts.judge_quality where dimension = 'overall'")
        con.close()
        assert (found["cluster_unit"], found["count_clusters"], found["count_debates"]) == (unit, clusters, 20)
        low, high = wilson_interval(20 * found["accuracy"], 20)
        is_wider = found["accuracy_ci_high"] - found["accuracy_ci_low"] > 2 * (high - low)
        assert is_wider == (unit == "topic")
        assert found["accuracy_reason"] == found["rmse_direct_prediction_reason"]
        assert found["accuracy_reason"] == (None if unit == "topic" else "few_topics")


def test_debates_that_are_topics_of_their_own_have_the_intervals_of_independent_debates() -> None:
    topics = topics_of(8, 1)
    con = beside_people(topics, {"a": right_on(topics, ["t0", "t3"])})
    found = one(con, "from marts.judge_quality where dimension = 'overall'")
    con.close()
    errors = [float(topic in ("t0", "t3")) for topic in topics.values()]
    expected = leaving_out(errors, list(topics), lambda some: fmean(some) ** 0.5, low=0, high=1)
    assert expected is not None
    assert (found["accuracy_ci_low"], found["accuracy_ci_high"]) == tuple(map(near, wilson_interval(6, 8)))
    assert found["rmse_direct_prediction_ci_low"] == near(100 * (expected.ci_low or 0))


def test_a_judge_that_is_always_right_beats_one_that_never_is_by_the_exact_sign_test() -> None:
    """33 : 0 on 33 topics. The differences do not vary, so there is no interval; [1, 1] would be one of no debate."""
    topics = topics_of(33, 1)
    judges = {"a": right_on(topics, []), "b": right_on(topics, list(topics.values())), "c": right_on(topics, [])}
    con = beside_people(topics, judges)
    found = {
        (row["judge_a"], row["judge_b"]): row
        for row in rows(con, "from marts.panelbench_significance where measure = 'accuracy'")
    }
    con.close()
    beaten, same = found["a", "b"], found["a", "c"]
    assert (beaten["mean_difference"], beaten["ci_low"], beaten["ci_high"]) == (1, None, None)
    assert beaten["reason"] == same["reason"] == "no_variation"
    assert (beaten["p_value"], beaten["mcnemar_p_value"]) == (near(2 * 0.5**33), near(2 * 0.5**33))
    assert (same["p_value"], same["mcnemar_p_value"]) == (1, 1)
    # Three pairs are one family of three, whatever varies.
    assert beaten["p_value_holm"] == pytest.approx(3 * 2 * 0.5**33, rel=1e-9)


def test_a_difference_on_three_topics_is_not_proved_by_many_debates_of_them() -> None:
    topics = topics_of(4, 10)
    con = beside_people(topics, {"a": right_on(topics, []), "b": right_on(topics, ["t0", "t1", "t2"])})
    found = one(con, "from marts.panelbench_significance where measure = 'accuracy'")
    con.close()
    test = cluster_mean([1.0] * 30 + [0.0] * 10, [debate[:2] for debate in topics])
    assert (found["count_debates"], found["count_clusters"], found["count_only_a"]) == (40, 4, 30)
    assert (found["p_value"], found["ci_low"]) == (near(test.p), near(test.ci_low))
    assert found["mcnemar_p_value"] == near(test.p)
    assert found["p_value"] > 0.05


def test_one_topic_of_a_run_with_more_says_nothing_about_others() -> None:
    """People have verdicts on one topic only."""
    topics = topics_of(4, 5)
    run = JudgedRun("run", topics=topics)
    run.judge("a")
    for place, debate in enumerate(topics):
        run.verdict("a", debate, "con" if place % 2 else "pro")
    con = built([*source(topics, topics=topics), *(gold(debate, "pro") for debate in list(topics)[:5])], run.records)
    found = one(con, "from marts.judge_quality")
    con.close()
    assert (found["accuracy"], found["accuracy_ci_low"], found["accuracy_reason"]) == (0.6, None, "one_cluster")
    assert (found["rmse_direct_prediction_ci_low"], found["kappa_reason"]) == (None, "one_cluster")
    assert found["spearman_reason"] == "no_cases"


def test_two_teams_of_one_side_are_not_the_same_winner() -> None:
    """CO won and OO was named: the same side, and another team."""
    teams = ("OG", "OO", "CG", "CO")
    run = JudgedRun("run")
    run.judge("a")
    run.verdict("a", "b1", positions=teams, won={None: ["OO"]})
    truth = Gold(run_tag=SOURCE, debate_id="b1", unit="winner", winning_positions=("CO",))
    con = built([*source(["b1"], teams), truth], run.records)
    found, dimension = one(con, "from marts.judge_quality"), one(con, "from marts.gold_dimensions")
    con.close()
    assert (found["accuracy"], found["hit_rate"], found["completion_rate"]) == (0, 0, 1)
    assert {found[name] for name in ("rmse_direct_prediction", "rmse_score_comparison", "kappa", "weighted_f1")} == {
        None
    }
    assert found["kappa_reason"] == "no_cases"
    assert (dimension["count_debates"], dimension["count_con"], dimension["rmse_to_overall"]) == (1, None, None)


# The real debates of PanelBench


@pytest.fixture(scope="module")
def baselines(shared: Path) -> Iterator[duckdb.DuckDBPyConnection]:
    """Every real debate, judged by rules that read nothing but the length of speeches."""
    found = [record for unit in units("panelbench", shared / "panelbench") for record in records_of(unit)]
    characters: dict[str, dict[str, int]] = {}
    for turn in found:
        if isinstance(turn, Turn):
            lengths = characters.setdefault(turn.debate_id, {"pro": 0, "con": 0})
            lengths[turn.side] += len(turn.content)
    topics = {debate.debate_id: debate.topic_id for debate in found if isinstance(debate, Debate)}
    run = JudgedRun("baselines", topics=topics)
    for method in ("always_con", "always_tie", "longest", "always_oo"):
        run.judge(method, method, is_baseline=True)
    for debate in found:
        if isinstance(debate, Debate) and debate.format == "two_sided":
            pro, con = characters[debate.debate_id].values()
            run.verdict("always_con", debate.debate_id, "con")
            run.verdict("always_tie", debate.debate_id, "tie")
            run.verdict("longest", debate.debate_id, "pro" if pro > con else "con" if con > pro else "tie")
        elif isinstance(debate, Debate):
            run.verdict("always_oo", debate.debate_id, positions=("OG", "OO", "CG", "CO"), won={None: ["OO"]})
    connection = built([Run(run_tag=SOURCE, source="import", format="panelbench"), *found], run.records)
    yield connection
    connection.close()


@pytest.mark.parametrize(
    ("judge", "rmse", "accuracy"), [("longest", 58.45, 58.33), ("always_con", 61.24, 55.0), ("always_tie", 47.43, 10.0)]
)
def test_baselines_on_real_debates_have_the_figures_of_the_data(
    baselines: duckdb.DuckDBPyConnection, judge: str, rmse: float, accuracy: float
) -> None:
    found = one(baselines, "from marts.panelbench_main where judge_id = ?", judge)
    assert found["count_debates"] == 60
    assert found["rmse_direct_prediction"] == hundredths(rmse)
    assert 100 * found["accuracy"] == hundredths(accuracy)
    assert found["rmse_direct_prediction_ci_low"] < rmse < found["rmse_direct_prediction_ci_high"]


def test_the_opening_opposition_wins_eight_of_eleven_real_debates(baselines: duckdb.DuckDBPyConnection) -> None:
    found = one(baselines, "from marts.panelbench_main where format = 'british_parliamentary'")
    assert (found["accuracy"], found["hit_rate"], found["completion_rate"]) == (near(8 / 11), near(8 / 11), 1)
    chosen = rows(baselines, "from marts.panelbench_positions where format = 'british_parliamentary'")
    assert {r["position"]: r["chosen_rate"] for r in chosen} == {"OG": 0, "OO": 1, "CG": 0, "CO": 0, "none": 0}
    assert sum(r["gold_rate"] for r in chosen) == near(1)


def test_real_verdicts_on_dimensions_differ_from_those_on_the_whole(baselines: duckdb.DuckDBPyConnection) -> None:
    found = rows(baselines, "from marts.gold_dimensions where format = 'two_sided' order by dimension")
    assert {r["dimension"]: r["rmse_to_overall"] for r in found} == {
        "argument": hundredths(21.41),
        "language": hundredths(41.33),
        "overall": 0,
        "source": hundredths(40.82),
    }


def test_every_real_debate_has_one_size_of_each_measure(baselines: duckdb.DuckDBPyConnection) -> None:
    query = "select measure, sum(count_debates) as n from marts.panelbench_sizes where judge_id = 'longest' group by 1"
    assert {r["measure"]: r["n"] for r in rows(baselines, query)} == dict.fromkeys(
        ("speeches", "tokens", "is_long", "is_many_round"), 60
    )
    found = one(
        baselines,
        "from marts.panelbench_sizes where judge_id = 'longest' and measure = 'speeches' and size = '8 or more'",
    )
    long = "select count(*) from (select debate_id from staging.stg_turns group by 1 having count(*) >= 8) as debates"
    two_sided = f"{long} where debate_id like 'debateart%'"
    assert [(found["count_debates"],)] == baselines.execute(two_sided).fetchall()


# The pure functions


def test_one_cluster_is_left_out_at_a_time() -> None:
    """Two debates of the first cluster: without it, one squared error is left."""
    found = rmse(["a", "b", "a"], [0.0, 0.25, 1.0])
    assert found is not None
    assert found.value == near((1.25 / 3) ** 0.5)
    assert found.left_out == [near(0.25**0.5), near(0.5**0.5)]


def test_a_value_is_the_same_for_all_clusters_and_those_without_them_are_not() -> None:
    debates = [f"d{n}" for n in range(12)]
    truths = ["pro", "con", "tie"] * 4
    pro = [n % 4 / 4 for n in range(12)]
    con = [1 - each for each in pro]
    errors = [n % 5 / 5 for n in range(12)]
    scores = [float(n * 7 % 5) for n in range(12)]
    lists: list[Any] = [truths, pro, [0.0] * 12, con, errors, errors, scores, list(range(12))]
    one_by_one, by_topic = (prediction_quality(clusters, *lists) for clusters in (debates, ["x", "y", "z"] * 4))
    for field in dataclasses.fields(one_by_one):
        one, other = getattr(one_by_one, field.name), getattr(by_topic, field.name)
        assert one.value == other.value
        assert (len(one.left_out), len(other.left_out)) == (12, 3)


def test_many_debates_are_left_out_in_groups() -> None:
    found = rmse([f"{n:04}" for n in range(1000)], [n % 7 / 10 for n in range(1000)])
    assert found is not None
    assert len(found.left_out) == 200
    assert min(each or 0 for each in found.left_out) < found.value < max(each or 0 for each in found.left_out)


def test_one_cluster_and_nothing_have_no_value_without_it() -> None:
    found = rmse(["a", "a"], [0.0, 1.0])
    assert found is not None
    assert (found.value, found.left_out) == (near(0.5**0.5), [None])
    assert rmse(["a"], [None]) is None


def test_the_order_of_debates_does_not_matter() -> None:
    debates = [f"d{n}" for n in range(6)]
    truths = ["pro", "con", "tie", "pro", "con", "con"]
    shares = [1.0, 0.5, 0.0, 0.25, 0.0, 0.0], [0.0, 0.5, 1.0, 0.25, 0.0, 0.5], [0.0, 0.0, 0.0, 0.5, 1.0, 0.5]
    errors = [0.0, 0.25, 0.1, 0.3, 0.0, 0.7]
    lists: list[Sequence[Any]] = [debates, truths, *shares, errors, errors, [3, 1, 2, 5, 4, 0], [1, 1, 3, 4, 2, 0]]
    assert prediction_quality(*lists) == prediction_quality(*(each[::-1] for each in lists))


def test_f1_of_one_class_is_known_and_measures_of_nothing_are_not() -> None:
    nothing: list[float | None] = [None, None]
    found = prediction_quality(
        ["a", "b"], ["pro", "pro"], [1.0, 1.0], [0.0, 0.0], [0.0, 0.0], nothing, nothing, nothing, nothing
    )
    assert found.weighted_f1 is not None
    assert (found.weighted_f1.value, found.weighted_f1.left_out) == (1.0, [1.0, 1.0])
    assert (found.rmse_score_comparison, found.spearman) == (None, None)


def test_lists_of_different_lengths_are_refused() -> None:
    with pytest.raises(ValueError, match="2 debates but 1 errors"):
        rmse(["a", "b"], [0.5])
