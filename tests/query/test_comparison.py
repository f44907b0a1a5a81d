"""Two runs side by side: what is the same, what changed and by how much, and what a gate lets through."""

from __future__ import annotations

import json
import math
import re
from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import replace
from decimal import Decimal
from itertools import pairwise
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
import yaml
from built_warehouse import begin_built, stored
from command_line import debatebench
from hypothesis import given
from hypothesis import strategies as st
from oracles import difference_p
from report_warehouse import NOON, annotated, make_warehouse, tournament

from debatebench.cli.gate_junit import GateCase, junit_text
from debatebench.config.load import load_config, load_debaters, load_judges, load_topics
from debatebench.config.prompt_files import load_prompts
from debatebench.config.prompts import PromptSet
from debatebench.config.types import Config, MemberConfig, Pricing, Round, TopicConfig
from debatebench.plan.plan import Plan, PlanOptions
from debatebench.plan.plan_records import run_records
from debatebench.plan.schedule import make_plan
from debatebench.query.comparison import Comparison, Subject, compare, find_subject, trend
from debatebench.query.gate import GateLimits, Power, check_gate, power_sentence
from debatebench.query.safe_query import open_for_reading, run_query
from debatebench.shared.errors import UsageError
from debatebench.shared.records import Record, Run
from debatebench.shared.result_formats import render
from debatebench.shared.workspace import Workspace
from debatebench.stats.bradley_terry import ELO_PER_LOG_STRENGTH, fit
from debatebench.stats.counted_games import counted_games

pytestmark = pytest.mark.slow

T_5 = 2.570581836  # Student's t, 97.5 %, 5 degrees of freedom


# --- the comparability check: plans that differ in one thing ----------------------------------------------------------


class Setup:
    """What a plan is made from, changed one thing at a time."""

    def __init__(self) -> None:
        workspace = Workspace(Path("nowhere"))
        self.config: Config = load_config(workspace.config_file("config.yaml"))
        self.topics: tuple[TopicConfig, ...] = load_topics(workspace.config_file("topics.json"))[:3]
        self.debaters: tuple[MemberConfig, ...] = load_debaters(workspace.config_file("models.yaml"))[:3]
        self.judges: tuple[MemberConfig, ...] = load_judges(workspace.config_file("judges.yaml"))
        self.prompts: PromptSet = load_prompts(workspace, self.config, self.judges)
        self.options = PlanOptions(seed=1)
        self.harness: str | None = None

    def plan(self, run_tag: str) -> Plan:
        plan = make_plan(
            run_tag, self.config, self.topics, self.debaters, self.judges, self.prompts, self.options, "commit"
        )
        return plan if self.harness is None else plan.model_copy(update={"harness_version": self.harness})

    def set(self, **values: Any) -> None:
        self.config = self.config.model_copy(update=values)

    def debater(self, **values: Any) -> None:
        self.debaters = (self.debaters[0].model_copy(update=values), *self.debaters[1:])

    def judge(self, **values: Any) -> None:
        self.judges = (self.judges[0].model_copy(update=values), *self.judges[1:])

    def template(self, name: str) -> None:
        changed = {**self.prompts.templates, name: self.prompts.templates[name] + " Be strict."}
        self.prompts = self.prompts.model_copy(update={"templates": changed})

    def round(self, **values: Any) -> None:
        first, *others = self.config.rounds
        self.set(rounds=(first.model_copy(update=values), *others))

    def dimension(self, **values: Any) -> None:
        logic = self.config.dimensions["logic"].model_copy(update=values)
        self.set(dimensions={**self.config.dimensions, "logic": logic})

    def option(self, **values: Any) -> None:
        self.options = self.options.model_copy(update=values)


def _change(name: str, *arguments: Any, **values: Any) -> Callable[[Setup], None]:
    return lambda setup: getattr(setup, name)(*arguments, **values)


def _other_motion(setup: Setup) -> None:
    setup.topics = (setup.topics[0].model_copy(update={"motion": "Cities should ban dogs."}), *setup.topics[1:])


def _topic_more(setup: Setup) -> None:
    setup.topics = (*setup.topics, TopicConfig(id="t900", motion="Chess should be taught in schools."))


def _debater_more(setup: Setup) -> None:
    setup.debaters = (*setup.debaters, setup.debaters[0].model_copy(update={"id": "new", "model": "new"}))


def _judge_less(setup: Setup) -> None:
    setup.judges = setup.judges[1:]


def _round_more(setup: Setup) -> None:
    setup.set(rounds=(*setup.config.rounds, Round(role="pro", stage="coda", max_tokens=50)))


def _dimension_more(setup: Setup) -> None:
    first = next(iter(setup.config.dimensions.values()))
    setup.set(dimensions={**setup.config.dimensions, "style": first})


def _other_harness(setup: Setup) -> None:
    setup.harness = "99.0"


def _elo(**values: Any) -> Callable[[Setup], None]:
    return lambda setup: setup.set(elo=setup.config.elo.model_copy(update=values))


CHANGES: dict[str, tuple[Callable[[Setup], None], str, list[str]]] = {
    "judge_prompt": (_change("template", "judge_user"), "judge_prompts", ["rubric and transcript"]),
    "debater_prompt": (_change("template", "debater_con"), "debater_prompts", ["con"]),
    "seed": (_change("option", seed=2), "seed", ["seed"]),
    "motion": (_other_motion, "topics", ["t001"]),
    "topic": (_topic_more, "topics", ["t900"]),
    "price": (_change("debater", pricing=Pricing(prompt=1, completion=2)), "prices", ["debater sim-atlas"]),
    "no_price": (_change("judge", pricing=None), "prices", ["judge sim-judge-amber"]),
    "rubric": (_change("set", rubric_version="v9"), "rubric_version", ["version"]),
    "benchmark": (_change("set", benchmark_version="v9"), "benchmark_version", ["version"]),
    "name": (_change("set", benchmark_name="other"), "benchmark_name", ["name"]),
    "harness": (_other_harness, "harness_version", ["version"]),
    "round": (_round_more, "rounds", ["turn 7"]),
    "stage": (_change("round", stage="case"), "rounds", ["turn 1"]),
    "cap": (_change("round", max_tokens=100), "turn_token_caps", ["turn 1"]),
    "turn_language": (_change("round", language="de"), "languages", ["turn 1"]),
    "debater": (_debater_more, "debaters", ["new"]),
    "model": (_change("debater", model="other"), "debater_models", ["sim-atlas"]),
    "skill": (_change("debater", parameters={"skill": 0.1}), "debater_models", ["sim-atlas parameters"]),
    "debater_cap": (_change("debater", token_limit=9), "debater_token_caps", ["sim-atlas"]),
    "temperature": (_change("set", temperature=1.0), "debater_temperatures", ["sim-atlas", "sim-breeze", "sim-cedar"]),
    "judge": (_judge_less, "judges", ["sim-judge-amber"]),
    "judge_model": (_change("judge", model="other"), "judge_models", ["sim-judge-amber"]),
    "style": (_change("judge", prompt_style="default"), "judge_prompts", ["sim-judge-amber"]),
    "judge_cap": (_change("judge", token_limit=9), "judge_token_caps", ["sim-judge-amber"]),
    "panel": (_change("set", judges_per_debate=2), "panel_rule", ["judges per debate"]),
    "random_panels": (_change("option", balanced_judges=False), "panel_rule", ["balanced"]),
    "overlap": (_change("option", allow_judge_overlap=True), "judge_overlap", ["debaters may judge"]),
    "dimension": (_dimension_more, "dimensions", ["order", "style"]),
    "scale": (_change("dimension", max=Decimal(5)), "scales", ["logic"]),
    "whole": (_change("dimension", integer=False), "scales", ["logic numbers"]),
    "repetitions": (_change("option", debates_per_pair=2), "schedule_rule", ["debates per pair"]),
    "refusal": (_change("set", on_refusal="forfeit"), "refusal_rule", ["on refusal"]),
    "k": (_elo(k_factor=16.0), "elo_settings", ["K"]),
}


def judge_at_its_own_temperature(setup: Setup) -> None:
    setup.judge(parameters={**setup.judges[0].parameters, "temperature": 0.3})


CHANGES["judge_temperature"] = (judge_at_its_own_temperature, "judge_temperatures", ["sim-judge-amber"])


def _records(name: str, change: Callable[[Setup], None] | None) -> Iterator[Record]:
    setup = Setup()
    if change is not None:
        change(setup)
    return run_records(setup.plan(name), NOON, {"simulated"})


@pytest.fixture(scope="module")
def plans(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A warehouse of planned runs: `base`, its twin `again`, one for each change, and an import."""
    runs = [("base", _records("base", None)), ("again", _records("again", None))]
    runs += [(name, _records(name, change)) for name, (change, _, _) in CHANGES.items()]
    path = tmp_path_factory.mktemp("plans") / "plans.duckdb"
    return stored(make_warehouse(path, *runs, ("import", annotated("import")), select=["+comparability_verdicts"]))


def rows_of(database: Path, sql: str, **params: Any) -> list[tuple[Any, ...]]:
    return run_query(database, sql, params, limit=None).rows


@pytest.fixture(scope="module")
def verdicts(plans: Path) -> dict[str, tuple[Any, ...]]:
    """Candidate → verdict, differing items, unknown items and explanation against `base`."""
    rows = rows_of(
        plans,
        "select candidate, verdict, differing_items, unknown_items, explanation from marts.comparability_verdicts "
        "where baseline_kind = 'run' and candidate_kind = 'run' and baseline = 'base'",
    )
    return {candidate: tuple(verdict) for candidate, *verdict in rows}


@pytest.fixture(scope="module")
def items(plans: Path) -> dict[str, dict[str, tuple[Any, ...]]]:
    """Candidate → item → state, whether it is the same, and the parts that differ, against `base`."""
    found: dict[str, dict[str, tuple[Any, ...]]] = defaultdict(dict)
    for candidate, item, *values in rows_of(
        plans,
        "select candidate, item, state, is_same, differing_parts from marts.run_comparability "
        "where baseline_kind = 'run' and candidate_kind = 'run' and baseline = 'base'",
    ):
        found[candidate][item] = tuple(values)
    return found


Verdicts = dict[str, tuple[Any, ...]]
Items = dict[str, dict[str, tuple[Any, ...]]]


def test_the_same_plan_under_another_tag_is_like_for_like(verdicts: Verdicts, items: Items):
    assert verdicts["again"] == ("like_for_like", [], [], "Like for like.")
    assert len(items["again"]) == 34
    assert set(map(str, items["again"].values())) == {"('same', True, [])"}


@pytest.mark.parametrize("name", CHANGES)
def test_one_difference_is_named_and_nothing_else(verdicts: Verdicts, items: Items, name: str):
    _, item, parts = CHANGES[name]
    found = {key: value for key, value in items[name].items() if value[0] not in ("same", "follows")}
    assert found == {item: ("different", False, parts)}
    assert verdicts[name][1:3] == ([item], [])


def test_a_verdict_says_what_a_difference_spoils(verdicts: Verdicts):
    harmless = {"seed", "benchmark", "price", "no_price", "k", "skill", "model", "debater_cap", "temperature"}
    assert {name for name in CHANGES if verdicts[name][0] == "like_for_like"} == harmless
    assert {verdicts[name][0] for name in CHANGES.keys() - harmless} == {"not_like_for_like"}
    assert "do not rely on differences in cost" in verdicts["price"][3]
    assert "chance" in verdicts["seed"][3]


def test_a_schedule_that_is_different_for_a_reason_is_no_difference_of_its_own(items: Items):
    states = {name: items[name]["schedule"][0] for name in CHANGES}
    follows = {"seed", "topic", "debater", "judge", "panel", "random_panels", "repetitions"}
    assert {name for name, state in states.items() if state == "follows"} == follows
    assert set(states.values()) == {"same", "follows"}


def test_what_an_import_does_not_say_is_unknown_and_not_the_same(verdicts: Verdicts, items: Items):
    decision, differing, unknown, explanation = verdicts["import"]
    assert decision == "not_like_for_like"
    assert {"topics", "debaters"} <= set(differing)
    assert {"seed", "judge_prompts", "rounds", "prices", "schedule", "harness_version", "judge_overlap"} <= set(unknown)
    assert "prompts of the judges" in explanation.partition("Unknown: ")[2]
    assert items["import"]["prices"] == ("unknown", None, [])
    same = {item for item, (state, *_) in items["import"].items() if state == "same"}
    assert same == {"elo_settings", "sql_models", "debates"}


def test_a_version_is_the_pool_of_its_runs(plans: Path):
    (settings,) = rows_of(
        plans,
        "select baseline_value, candidate_value, state from marts.run_comparability "
        "where baseline_kind = 'version' and baseline = 'v1' and candidate = 'v9' and item = 'seed'",
    )
    assert settings == ("1 | 2", "1", "different")


# --- numbers: a hand-made warehouse with versions ---------------------------------------------------------------------


def _in_version(version: str, records: Iterator[Record]) -> Iterator[Record]:
    for record in records:
        yield record.model_copy(update={"benchmark_version": version}) if isinstance(record, Run) else record


@pytest.fixture(scope="module")
def versions(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Runs a and b in version v1, c in v2, and a run that is called v2; in c the debaters' strengths are reversed."""
    names = ("x", "y", "z")
    made = make_warehouse(
        tmp_path_factory.mktemp("versions") / "versions.duckdb",
        ("a", _in_version("v1", tournament("a", names))),
        ("b", _in_version("v1", tournament("b", names, repetitions=1))),
        ("c", _in_version("v2", tournament("c", names[::-1]))),
        ("v2", _in_version("v3", tournament("v2", names))),
        select=[
            "+runs",
            "+debates",
            *(f"+{part}_comparison" for part in ("debater", "judge", "panel", "debate")),
            "+comparison_outcomes",
            "+comparability_verdicts",
            "+version_trend",
            "+version_warnings",
        ],
    )
    return stored(made)


def compared(database: Path, baseline: str, candidate: str) -> Comparison:
    with open_for_reading(database) as con:
        return compare(con, find_subject(con, baseline), find_subject(con, candidate))


def test_a_name_that_is_a_run_and_a_version_must_say_which(versions: Path):
    with open_for_reading(versions) as con:
        with pytest.raises(UsageError, match="write run:v2 or version:v2"):
            find_subject(con, "v2")
        assert find_subject(con, "run:v2") == Subject("run", "v2", ("v2",))
        assert find_subject(con, "version:v2") == Subject("version", "v2", ("c",))
        assert find_subject(con, "v1") == Subject("version", "v1", ("a", "b"))


def test_an_unknown_name_is_answered_with_the_known_ones(versions: Path):
    with open_for_reading(versions) as con:
        with pytest.raises(UsageError, match=r"Runs: a, b, c, v2\. Benchmark versions: v1, v2, v3\."):
            find_subject(con, "d")
        with pytest.raises(UsageError, match="No run or benchmark version 'version:a'"):
            find_subject(con, "version:a")


def test_a_warehouse_that_was_built_before_there_were_comparisons_says_what_to_do(tmp_path: Path):
    database = make_warehouse(tmp_path / "old.duckdb", ("a", tournament("a", ("x", "y"))), select=["+games"])
    with open_for_reading(database) as con, pytest.raises(UsageError, match="`debatebench build` to add them"):
        find_subject(con, "a")


def test_a_run_is_not_compared_with_a_pool_that_it_is_in(versions: Path):
    with pytest.raises(UsageError, match="Run 'a' is on both sides"):
        compared(versions, "a", "v1")
    with pytest.raises(UsageError, match="Run 'c' is on both sides"):
        compared(versions, "c", "c")


def test_versions_are_compared_over_all_their_debates(versions: Path):
    found = compared(versions, "v1", "version:v2")
    (row,) = [r for r in found.debaters if r["model_id"] == "x" and r["measure"] == "win_rate"]
    # In a, x debated four times on each of two topics, in b four times on the first, and in c as in a; besides, once
    # against the newcomer in a and in b. Repetitions of a debate in a and b are one pair.
    assert (row["count_baseline_debates"], row["count_candidate_debates"]) == (14, 8)
    assert (row["method"], row["count_pairs"], row["count_topics"]) == ("paired", 8, 2)
    assert row["difference"] == pytest.approx(row["candidate_value"] - row["baseline_value"])


def test_a_version_that_pools_the_same_debates_twice_is_warned_of(versions: Path):
    text = (
        "{count} debates of 'b' are also in an earlier run of benchmark version 'v1': its ratings count each once, its "
        "win rates, scores and costs each copy."
    )
    (count,) = rows_of(versions, "select count(*) from marts.duplicate_debates where run_tag = 'b'")[0]
    found = compared(versions, "v1", "version:v2")
    explanations = {row["kind"]: row["explanation"] for row in found.pools}
    assert explanations["same_debates"] == text.format(count=count)
    warnings = check_gate(found, GateLimits(1e9), allow_missing=True).warnings
    assert text.format(count=count).removesuffix(".") in warnings
    assert compared(versions, "a", "c").pools == []


def test_the_trend_over_all_versions_is_that_of_the_comparisons(versions: Path):
    rows = rows_of(
        versions,
        "select benchmark_version, model_id, value, previous_version, difference, difference_ci_low, difference_reason "
        "from marts.version_trend where measure = 'win_rate' and model_id in ('x', 'z') "
        "order by version_number, model_id",
    )
    # All runs were made at the same time, so versions are in the order of their names.
    assert [row[0] for row in rows] == ["v1", "v1", "v2", "v2", "v3", "v3"]
    for version, model_id, value, previous, difference, low, reason in rows:
        (played,) = rows_of(
            versions,
            "select avg(case when pro_model_id = $model then pro_score else 1 - pro_score end) "
            "from marts.games inner join marts.runs using (run_tag) "
            "where benchmark_version = $version and $model in (pro_model_id, con_model_id)",
            model=model_id,
            version=version,
        )[0]
        assert value == pytest.approx(played)
        if previous is None:
            assert (version, difference, reason) == ("v1", None, "first_version")
            continue
        change = compared(versions, f"version:{previous}", f"version:{version}").debaters
        (row,) = [r for r in change if (r["model_id"], r["measure"]) == (model_id, "win_rate")]
        assert (difference, low, reason) == (row["difference"], row["ci_low"], row["reason"])


def test_three_subjects_are_compared_from_one_to_the_next(versions: Path):
    with open_for_reading(versions) as con:
        subjects = [find_subject(con, name) for name in ("v1", "c", "v3")]
        found = trend(con, subjects)
        with pytest.raises(UsageError, match="Run 'c' is on both sides"):
            trend(con, [*subjects[:2], find_subject(con, "version:v2")])
    assert len(found.verdicts) == 2
    ratings = [row for row in found.rows if row["measure"] == "rating" and row["model_id"] == "x"]
    assert [(row["position"], row["kind"], row["subject"]) for row in ratings] == [
        (1, "version", "v1"),
        (2, "run", "c"),
        (3, "version", "v3"),
    ]
    assert ratings[0]["difference_reason"] == "first_subject"
    for before, after in pairwise(ratings):
        change = compared(versions, *(f"{row['kind']}:{row['subject']}" for row in (before, after))).debaters
        (row,) = [r for r in change if (r["model_id"], r["measure"]) == ("x", "rating")]
        assert (after["difference"], after["difference_ci_low"]) == (row["difference"], row["ci_low"])
    assert {row["benchmark_version"] for row in found.pools} == {"v1"}


def test_a_version_of_one_run_is_that_run(versions: Path):
    run, version = compared(versions, "a", "c"), compared(versions, "a", "version:v2")
    averaged = [row for row in run.debaters if row["method"] == "paired"]
    assert len(averaged) > 12
    assert averaged == [row for row in version.debaters if row["method"] == "paired"]
    assert run.judges == version.judges
    assert run.debates == version.debates


def test_differences_turn_their_sign_when_the_sides_are_exchanged(versions: Path):
    there, back = compared(versions, "a", "c"), compared(versions, "c", "a")
    key = lambda row: (row["model_id"], row["measure"], row["dimension"])  # noqa: E731
    mirrored = {key(row): row for row in back.debaters}
    assert len(mirrored) == len(there.debaters) > 20
    for row in there.debaters:
        other = mirrored[key(row)]
        if row["difference"] is None:
            assert other["difference"] is None
        else:
            assert other["difference"] == pytest.approx(-row["difference"])
            if row["ci_low"] is not None:
                assert other["ci_high"] == pytest.approx(-row["ci_low"])
                assert row["ci_low"] <= row["difference"] <= row["ci_high"]


def test_every_debate_that_both_held_is_matched_and_flipped_where_the_winner_is_another(versions: Path):
    winners = {
        (tag, topic, pro, con): winner
        for tag, topic, pro, con, winner in rows_of(
            versions, "select run_tag, topic_id, pro_model_id, con_model_id, winner from marts.decided_debates"
        )
    }
    for candidate, share in (("c", 1), ("run:v2", 0)):
        found = compared(versions, "a", candidate)
        tag = found.candidate.name
        both = [key for run, *key in winners if run == "a" and (tag, *key) in winners]
        flipped = {tuple(key) for key in both if winners["a", *key] != winners[tag, *key]}
        assert len(flipped) == share * len(both)
        assert found.debates["matched"] == found.debates["decided"] == len(both) >= 12
        assert {(r["topic_id"], r["pro_model_id"], r["con_model_id"]) for r in found.flipped} == flipped
        assert found.debates["flip_rate"] == share


# --- numbers: simulated runs ------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def simulated(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A workspace with `base`, `noise` (another seed) and `drop` (sim-breeze has lost its skill)."""
    root = begin_built(tmp_path_factory.mktemp("simulated"))
    assert debatebench(root, "init").code == 0
    configs = root / "configs"
    topics = json.loads((configs / "topics.json").read_text())
    (configs / "topics.json").write_text(json.dumps(topics[:6]))
    members = yaml.safe_load((configs / "models.yaml").read_text())["models"][1:4]
    for tag, seed, skill in (("base", "1", 0.75), ("noise", "2", 0.75), ("drop", "1", 0.05)):
        members[0]["parameters"]["skill"] = skill
        (configs / "models.yaml").write_text(yaml.safe_dump(members))
        last = () if tag == "drop" else ("--no-build",)
        done = debatebench(root, "run", "--run-tag", tag, "--seed", seed, *last)
        assert done.code == 0, done.err
    stored(database_of(root))
    return root


def database_of(root: Path) -> Path:
    return root / "warehouse" / "debatebench.duckdb"


def test_the_interval_of_a_win_rate_is_that_of_paired_differences_clustered_by_topic(simulated: Path):
    """The formula, computed again from the results of every debate."""
    points: dict[tuple[str, ...], dict[str, float]] = defaultdict(dict)
    for tag, model, topic, opponent, side, result in rows_of(
        database_of(simulated),
        "select run_tag, model_id, topic_id, opponent_id, side, result from marts.debate_results where is_rated",
    ):
        points[model, topic, opponent, side][tag] = {"win": 1.0, "tie": 0.5, "loss": 0.0}[result]
    found = compared(database_of(simulated), "base", "noise")
    rows = [row for row in found.debaters if row["measure"] == "win_rate"]
    assert len(rows) == 3
    for row in rows:
        by_topic: dict[str, list[float]] = defaultdict(list)
        for (model, topic, *_), results in points.items():
            if model == row["model_id"] and {"base", "noise"} <= results.keys():
                by_topic[topic].append(results["noise"] - results["base"])
        n = sum(map(len, by_topic.values()))
        mean = sum(map(sum, by_topic.values())) / n
        squares = sum((sum(group) - len(group) * mean) ** 2 for group in by_topic.values())
        error = (6 / 5 * squares) ** 0.5 / n
        assert (
            (row["method"], row["count_pairs"], row["count_topics"])
            == ("paired", n, len(by_topic))
            == ("paired", 24, 6)
        )
        assert row["difference"] == pytest.approx(mean, abs=1e-9)
        assert row["standard_error"] == pytest.approx(error, abs=1e-9)
        assert row["ci_low"] == pytest.approx(mean - T_5 * error, abs=1e-6)
        assert row["ci_high"] == pytest.approx(mean + T_5 * error, abs=1e-6)
        assert row["p_value"] == pytest.approx(difference_p(mean, error, 6, 0, 0, False), abs=1e-6)


def test_the_error_of_a_rating_is_the_jackknife_over_topics_that_are_left_out_of_both_runs(simulated: Path):
    """Ratings are fitted again from the results of every debate, without each topic in turn."""
    results = rows_of(
        database_of(simulated),
        "select run_tag, topic_id, pro_model_id, con_model_id, winner from marts.decided_debates where is_rated",
    )
    names = sorted({name for _, _, *pair, _ in results for name in pair})
    topics = sorted({topic for _, topic, *_ in results})

    def ratings(tag: str, left_out: str | None) -> list[float]:
        played = [
            (1, names.index(pro) + 1, names.index(con) + 1, *(int(winner == each) for each in ("pro", "tie", "con")))
            for run_tag, topic, pro, con, winner in results
            if run_tag == tag and topic != left_out
        ]
        return [400 + ELO_PER_LOG_STRENGTH * each for each in fit(counted_games(*zip(*played, strict=True))).strengths]

    for candidate in ("noise", "drop"):
        found = compared(database_of(simulated), "base", candidate).debaters
        for row in (row for row in found if row["measure"] == "rating"):
            place = names.index(row["model_id"])
            changes = [ratings(candidate, each)[place] - ratings("base", each)[place] for each in topics]
            mean = sum(changes) / 6
            error = math.sqrt(5 / 6 * sum((change - mean) ** 2 for change in changes))
            assert (row["method"], row["count_topics"], row["degrees_of_freedom"]) == ("paired", 6, 5)
            assert row["standard_error"] == pytest.approx(error, abs=0.01)
            assert row["ci_low"] == pytest.approx(row["difference"] - T_5 * error, abs=0.03)
            assert row["ci_high"] == pytest.approx(row["difference"] + T_5 * error, abs=0.03)


def test_sql_table_and_json_tell_the_same(simulated: Path):
    done = debatebench(simulated, "compare", "base", "drop", "--format", "json")
    assert done.code == 0, done.err
    found = json.loads(done.out)
    for part, model, order in (
        ("debaters", "marts.debater_comparison", "model_id, measure, dimension"),
        ("judges", "marts.judge_comparison", "judge_id, measure"),
        ("panels", "marts.panel_comparison", "measure"),
    ):
        asked = run_query(
            database_of(simulated),
            f"select * exclude (baseline_kind, baseline, candidate_kind, candidate) from {model} "
            "where baseline_kind = 'run' and candidate_kind = 'run' and baseline = 'base' and candidate = 'drop'",
        )
        names = order.split(", ")
        rows = json.loads(render(asked.columns, asked.rows, "json"))
        key = lambda row, names=names: [row[name] or "" for name in names]  # noqa: E731
        assert sorted(rows, key=key) == sorted(found[part], key=key)
        assert rows
    table = debatebench(simulated, "compare", "base", "drop").out
    assert found["comparability"]["explanation"] in table
    assert f"{found['debates']['flipped']} (" in table
    sections = table.split("\n\n")
    for caption, measure, digits in (("Bradley–Terry ratings", "rating", 1), ("Win rates", "win_rate", 3)):
        (section,) = [each for each in sections if each.startswith(caption)]
        printed = {line.split()[0]: line.split()[1:6] for line in section.splitlines()[3:]}
        rows = {row["model_id"]: row for row in found["debaters"] if row["measure"] == measure}
        assert printed.keys() == rows.keys()
        for name, row in rows.items():
            values = (row[key] for key in ("baseline_value", "candidate_value", "difference", "ci_low", "ci_high"))
            assert [float(text) for text in printed[name]] == [
                pytest.approx(value, abs=10**-digits) for value in values
            ]


def test_three_runs_are_printed_as_a_trend(simulated: Path):
    three = ("compare", "base", "noise", "drop")
    done = debatebench(simulated, *three)
    assert done.code == 0, done.err
    head = done.out.splitlines()[0]
    assert head == "From one to the next: run 'base', run 'noise', run 'drop'."
    (ratings,) = [each for each in done.out.split("\n\n") if each.startswith("Bradley–Terry ratings")]
    assert ratings.splitlines()[1].split("  ")[0] == "model_id"
    for column in ("1: base", "change 2", "2: noise", "change 3", "3: drop"):
        assert column in ratings
    assert "by dimension" not in done.out
    assert "by dimension" in debatebench(simulated, *three, "--all").out
    found = json.loads(debatebench(simulated, *three, "--format", "json").out)
    assert [subject["name"] for subject in found["subjects"]] == ["base", "noise", "drop"]
    assert len(found["verdicts"]) == 2
    lines = debatebench(simulated, *three, "--format", "csv").out.splitlines()
    assert lines[0].startswith("position,kind,subject,model_id,measure,dimension,value,ci_low,ci_high,")
    # Rating, win rate, mean score, five dimensions and cost of three debaters in three runs.
    assert len(lines) == 1 + 3 * 3 * 9 == 1 + len(found["rows"])
    records = debatebench(simulated, *three, "--format", "jsonl").out.splitlines()
    assert [json.loads(line)["model_id"] for line in records] == [row["model_id"] for row in found["rows"]]


def test_csv_is_one_table_of_every_measure(simulated: Path):
    lines = debatebench(simulated, "compare", "base", "drop", "--format", "csv").out.splitlines()
    assert lines[0].startswith("model_id,measure,dimension,method,baseline_value,")
    # Rating, rank, win rate, mean score, five dimensions and cost of three debaters.
    assert len(lines) == 1 + 3 * 10


def test_a_gate_passes_on_noise(simulated: Path):
    done = debatebench(
        simulated, "gate", "base", "noise", "--max-win-rate-drop", "0.05",
        "--max-cost-increase", "0.05", "--max-agreement-drop", "0.1", "--require-comparable",
    )  # fmt: skip
    assert done.code == 0, done.err
    assert done.err.splitlines()[-1] == "Passed: run 'noise' against run 'base', 10 checks."
    said = [line for line in done.out.splitlines() if "four times out of five" in line]
    assert [line.partition(":")[0] for line in said] == ["rating", "win_rate", "turn_cost_usd", "agreement"]
    assert re.search(
        r"^rating: a drop of [0-9.]+ fails .* with 6 topics; .* 25\.0 from chance, [0-9,]+ are needed\.$", said[0]
    )


def test_a_gate_fails_on_a_planted_drop_and_says_whose_and_by_how_much(simulated: Path):
    arguments = ("gate", "base", "drop", "--max-drop", "25", "--max-win-rate-drop", "0.05")
    done = debatebench(simulated, *arguments)
    assert done.code == 6
    failures = re.findall(r"(rating|win rate) of (\S+) (-[0-9.]+) \(allowed", done.error_line)
    assert [(what, who) for what, who, _ in failures] == [("rating", "sim-breeze"), ("win rate", "sim-breeze")]
    as_json = debatebench(simulated, *arguments, "--format", "json")
    found = json.loads(as_json.out)
    assert as_json.code == 6
    assert not found["is_passed"]
    assert f"Error: {found['summary']}" == done.error_line == as_json.error_line
    failed = [check for check in found["checks"] if check["outcome"] == "failed"]
    assert [check["difference"] for check in failed] == [
        pytest.approx(float(failures[0][2]), abs=0.05),
        pytest.approx(float(failures[1][2]), abs=0.0005),
    ]


def test_a_gate_for_a_ci_service_has_a_test_for_each_check(simulated: Path):
    arguments = ("gate", "base", "drop", "--max-win-rate-drop", "0.05", "--format")
    as_junit, as_json = (debatebench(simulated, *arguments, form) for form in ("junit", "json"))
    assert (as_junit.code, as_junit.err) == (as_json.code, as_json.err)
    found, suite = json.loads(as_json.out), ElementTree.fromstring(as_junit.out)
    tests = suite.findall("testcase")
    assert [(test.get("classname"), test.get("name")) for test in tests] == [
        (check["measure"], check["model_id"]) for check in found["checks"]
    ]
    failed = [test.find("failure") is not None for test in tests]
    assert failed == [check["outcome"] == "failed" for check in found["checks"]]
    assert [each.get("message") for each in suite.iter("failure")] == found["failures"]
    assert suite.attrib == {
        "name": "drop against base",
        "tests": str(len(tests)),
        "failures": str(sum(failed)),
        "errors": "0",
        "skipped": "0",
    }


def test_a_failure_that_no_check_has_is_a_test_of_its_own_and_an_absent_debater_is_skipped():
    text = junit_text(
        "b\x1b against a",
        [
            GateCase("rating", "gone", "missing", "debater gone is missing"),
            GateCase("rating", "x", "unsettled", "near"),
        ],
        ["not like for like: topics differ"],
        ["the runs are too small"],
    )
    suite = ElementTree.fromstring(text)
    assert suite.get("name") == "b␛ against a"
    assert [(test.get("name"), *(part.tag for part in test)) for test in suite.iter("testcase")] == [
        ("gone", "skipped"),
        ("x", "system-out"),
        ("not like for like", "failure"),
    ]
    assert (suite.get("tests"), suite.get("failures"), suite.get("skipped")) == ("3", "1", "1")
    assert suite.findtext("system-err") == "the runs are too small"


def test_a_comparison_says_what_its_differences_rest_on(simulated: Path, versions: Path):
    assert compared(database_of(simulated), "base", "noise").basis() == (
        "Win rates and scores of 3 debaters compare the same debates on both sides, on 6 topics."
    )
    with_others = compared(versions, "v1", "version:v2")
    assert with_others.basis().startswith("Win rates and scores of 3 debaters compare ")
    assert "not meant to be" not in with_others.verdict["explanation"]
    shown = debatebench(simulated, "compare", "base", "noise").out
    assert "on both sides, on 6 topics." in shown


def test_a_gate_over_another_debater_does_not_see_the_drop(simulated: Path):
    comparison = compared(database_of(simulated), "base", "drop")
    assert not check_gate(comparison, GateLimits()).is_passed
    assert check_gate(comparison, GateLimits(), debaters=["sim-delta"]).is_passed
    with pytest.raises(UsageError, match=r"no rated debater 'sim-zulu'\. Known: sim-breeze, sim-cedar, sim-delta\."):
        check_gate(comparison, GateLimits(), debaters=["sim-zulu"])


@pytest.mark.parametrize("command", [("compare", "base", "nothing"), ("gate", "base", "x")])
def test_an_unknown_run_is_one_clear_line(simulated: Path, command: tuple[str, ...]):
    done = debatebench(simulated, *command)
    assert done.code == 2
    assert "Runs: base, drop, noise. Benchmark versions: v1." in done.error_line


# --- the gate ---------------------------------------------------------------------------------------------------------


def row(
    model_id: str, difference: float | None, half: float | None, *, measure: str = "rating", **more: Any
) -> dict[str, Any]:
    """A row of the comparison: `half` is half of the 95 % interval."""
    known = difference is not None and half is not None
    made = {
        "model_id": model_id,
        "measure": measure,
        "dimension": None,
        "method": "ratings",
        "baseline_value": 500.0,
        "candidate_value": None if difference is None else 500.0 + difference,
        "difference": difference,
        "ci_low": difference - half if known else None,
        "ci_high": difference + half if known else None,
        "standard_error": half / 1.959964 if known else None,
        "degrees_of_freedom": None,
        "count_topics": None,
        **more,
    }
    error, df = made["standard_error"], made["degrees_of_freedom"] or 1000
    above, below = (df + 1 if sign * (difference or 0) > 0 else 0 for sign in (1, -1))
    made["p_value"] = None if error is None else difference_p(difference, error, df + 1, above, below, False)
    return made


def of(*rows: dict[str, Any], items: tuple[dict[str, Any], ...] = ()) -> Comparison:
    """A comparison with nothing but these rows."""
    return Comparison(
        baseline=Subject("run", "old", ("old",)),
        candidate=Subject("run", "new", ("new",)),
        verdict={},
        outcome="",
        items=items,
        debaters=rows,
        judges=(),
        panels=(),
        debates={},
        flipped=(),
        sql_models={},
        unfinished=(),
        pools=(),
    )


def outcomes(comparison: Comparison, limits: GateLimits | None = None, **options: Any) -> list[str]:
    limits = GateLimits() if limits is None else limits
    return [check.outcome for check in check_gate(comparison, limits, **options).checks]


def test_a_check_fails_only_beyond_its_limit_and_beyond_its_interval():
    assert outcomes(of(row("a", -40.0, 30.0))) == ["failed"]
    assert outcomes(of(row("a", -40.0, 50.0))) == ["unsettled"]
    assert outcomes(of(row("a", -20.0, 1.0))) == ["passed"]
    assert outcomes(of(row("a", -25.0, 1.0))) == ["passed"]
    assert outcomes(of(row("a", +40.0, 1.0))) == ["passed"]
    assert outcomes(of(row("a", -40.0, None))) == ["unsettled"]


def test_a_drop_that_is_the_same_on_all_topics_fails_if_the_sign_test_rejects_chance():
    """Five topics with one sign have a probability of 1/32, which is below 0.05, and not below 0.05 / 2."""
    limits = GateLimits(rating_drop=None, win_rate_drop=0.1)

    def drop(name: str, topics: int) -> dict[str, Any]:
        return row(name, -0.5, None, measure="win_rate", standard_error=0.0, degrees_of_freedom=topics - 1)

    assert outcomes(of(drop("a", 4)), limits) == ["unsettled"]
    assert outcomes(of(drop("a", 5)), limits) == ["failed"]
    assert outcomes(of(drop("a", 5), drop("b", 6)), limits) == ["unsettled", "failed"]


def test_an_unsettled_drop_passes_with_a_warning():
    result = check_gate(of(row("a", -40.0, 50.0)), GateLimits())
    assert result.is_passed
    assert result.warnings[0].startswith("rating of a -40.0 (allowed -25.0; interval -82.0 to +2.0): too few debates")


def test_many_checks_share_one_error_rate():
    drop = row("a", -40.0, 35.0)
    assert outcomes(of(drop)) == ["failed"]
    crowd = [row(f"m{n}", 0.0, 35.0) for n in range(29)]
    result = check_gate(of(drop, *crowd), GateLimits())
    assert result.checks[0].outcome == "unsettled"
    # 5 % over 30 checks: the normal quantile at 1 - 0.05 / 30 is 2.9352.
    assert result.checks[0].ci_high == pytest.approx(-40 + 35 * 2.9352 / 1.959964, abs=0.01)


def errors(*sizes: float, df: int | None = 2, measure: str = "win_rate") -> Comparison:
    """A comparison in which nothing changed, with these standard errors."""
    return of(
        *(
            row(f"m{n}", 0.0, 1.0, measure=measure, standard_error=size, degrees_of_freedom=df)
            for n, size in enumerate(sizes)
        )
    )


def test_a_single_debater_is_tested_by_students_distribution():
    (check,) = check_gate(errors(1.0), GateLimits(rating_drop=None, win_rate_drop=0.1)).checks
    # One-sided at 5 % and 2 degrees of freedom t is 2.9200.
    assert check.ci_high == pytest.approx(2.9200, abs=1e-4)


def test_the_spread_over_topics_is_that_of_all_debaters_together():
    """Four debaters over three topics have 2 * 3 degrees of freedom; at 5 % / 4, one-sided, t is 2.9687."""
    limits = GateLimits(rating_drop=None, win_rate_drop=0.1)
    ends = [check.ci_high for check in check_gate(errors(0.01, 0.01, 0.01, 2.0), limits).checks]
    # The pooled error is the root of 4.0003 / 4. A debater that varies more than the others has its own.
    assert ends == pytest.approx([2.9687 * 1.0] * 3 + [2.9687 * 2.0], abs=1e-3)


def test_a_check_of_one_debater_uses_the_spread_of_all():
    limits = GateLimits(rating_drop=None, win_rate_drop=0.1)
    (check,) = check_gate(errors(0.01, 1.0, 1.0, 1.0), limits, debaters=["m0"]).checks
    # At 5 %, one-sided, and 6 degrees of freedom t is 1.9432.
    assert check.ci_high == pytest.approx(1.9432 * math.sqrt(3.0001 / 4), abs=1e-3)


def test_costs_are_pooled_as_shares_of_what_a_debate_cost():
    """A debater that costs a thousand times as much as another does not hide that the other becomes dearer."""
    dear = row("dear", 0.0, 1.0, measure="turn_cost_usd", baseline_value=10.0, standard_error=0.1, degrees_of_freedom=9)
    cheap = {**dear, "model_id": "cheap", "baseline_value": 0.01, "difference": 0.005, "standard_error": 0.0001}
    assert outcomes(of(dear, cheap), GateLimits(rating_drop=None, cost_increase=0.2)) == ["passed", "failed"]


def test_a_cost_may_rise_by_a_share_of_what_it_was():
    limits = GateLimits(rating_drop=None, cost_increase=0.2)
    dear = row("a", 0.3, 0.1, measure="turn_cost_usd", baseline_value=1.0)
    assert outcomes(of(dear), limits) == ["failed"]
    assert outcomes(of({**dear, "baseline_value": 2.0}), limits) == ["passed"]
    assert outcomes(of(row("a", -0.3, 0.1, measure="turn_cost_usd", baseline_value=1.0)), limits) == ["passed"]


def test_a_debater_that_is_gone_fails_unless_that_is_allowed():
    gone = row("b", None, None, method="only in the baseline")
    comparison = of(row("a", 0.0, 10.0), gone)
    assert check_gate(comparison, GateLimits()).failures == ("debater b is missing from the candidate",)
    allowed = check_gate(comparison, GateLimits(), allow_missing=True)
    assert allowed.is_passed
    assert "debater b is missing from the candidate" in allowed.warnings
    assert check_gate(comparison, GateLimits(), debaters=["a"]).is_passed


def test_a_new_debater_is_no_regression():
    new = row("b", None, None, method="only in the candidate", baseline_value=None)
    assert outcomes(of(row("a", 0.0, 10.0), new)) == ["passed"]


def test_what_is_not_like_for_like_is_a_warning_or_on_request_a_failure():
    items = (
        {"item": "topics", "setting": "topics", "state": "different", "affects": "everything"},
        {"item": "seed", "setting": "seed", "state": "different", "affects": "chance"},
        {"item": "schedule", "setting": "schedule", "state": "follows", "affects": "everything"},
        {"item": "judge_prompts", "setting": "prompts of the judges", "state": "unknown", "affects": "everything"},
        {"item": "prices", "setting": "prices", "state": "different", "affects": "costs"},
    )
    comparison = of(row("a", 0.0, 10.0), row("a", 0.0, 0.1, measure="turn_cost_usd"), items=items)
    expected = "not like for like: topics differ, prompts of the judges unknown"
    assert expected in check_gate(comparison, GateLimits()).warnings
    assert check_gate(comparison, GateLimits(), require_comparable=True).failures == (expected,)
    with_costs = check_gate(comparison, GateLimits(cost_increase=0.2), require_comparable=True)
    assert with_costs.failures == (f"{expected}, prices differ",)


def test_a_comparison_that_is_too_small_says_what_it_would_find():
    result = check_gate(of(row("a", 0.0, 100.0), row("b", 0.0, 100.0)), GateLimits())
    assert [check.is_too_small for check in result.checks] == [True, True]
    # At 2.5 %, one-sided, chance explains 1.96 standard errors; a power of 0.8 takes 0.8416 more.
    detectable = 100 * (1.959964 + 0.841621) / 1.959964
    assert result.warnings == (
        "the runs are too small: of 2 checks of rating, 2 would find only changes of "
        f"{detectable:.1f} or more (4 times out of 5)",
    )


def test_a_gate_says_what_it_can_find_also_when_it_passes():
    """A drop fails only beyond the limit, so that the observed one must exceed 25 four times out of five."""
    result = check_gate(of(row("a", 0.0, 5.0), row("b", 0.0, 5.0)), GateLimits())
    assert (result.is_passed, result.warnings) == (True, ())
    (power,) = result.power
    assert power.detectable == pytest.approx(25 + 0.841621 * 5 / 1.959964, abs=1e-4)
    assert power_sentence(power) == "rating: a drop of 27.1 fails four times out of five."


@pytest.mark.parametrize("df", [5, None])
def test_the_topics_that_a_limit_needs_are_the_fewest_with_which_it_is_told_from_chance(df: int | None):
    def gate(topics: int) -> Power:
        spread = 30.0 * math.sqrt(6 / topics)
        change = row("a", 0.0, 1.0, standard_error=spread, count_topics=topics)
        change["degrees_of_freedom"] = None if df is None else topics - 1
        (power,) = check_gate(of(change), GateLimits()).power
        return power

    needed = gate(6).count_topics_needed
    assert needed is not None
    assert 40 < needed < 70
    assert gate(needed).count_topics_needed == gate(needed - 1).count_topics_needed == needed
    at, below = (check_gate_of_spread(30.0 * math.sqrt(6 / n), n, df) for n in (needed, needed - 1))
    assert (at, below) == (False, True)
    assert power_sentence(gate(6)).endswith(f" with 6 topics; to tell one of 25.0 from chance, {needed} are needed.")


def check_gate_of_spread(spread: float, topics: int, df: int | None) -> bool:
    """Whether a gate with this standard error is too small for its limit."""
    change = row("a", 0.0, 1.0, standard_error=spread, count_topics=topics)
    change["degrees_of_freedom"] = None if df is None else topics - 1
    (check,) = check_gate(of(change), GateLimits()).checks
    return check.is_too_small


def test_a_run_that_is_not_finished_is_said_to_be_so():
    unfinished = replace(
        of(row("a", 0.0, 1.0)), unfinished=({"run_tag": "new", "count_complete": 3, "count_planned": 12},)
    )
    assert check_gate(unfinished, GateLimits()).warnings == ("run 'new' is not finished: 3 of 12 debates are complete",)


def test_a_gate_without_anything_to_look_at_is_refused():
    with pytest.raises(UsageError, match="give at least one limit"):
        check_gate(of(row("a", 0.0, 1.0)), GateLimits(rating_drop=None))
    with pytest.raises(UsageError, match="has no rated debate"):
        check_gate(of(), GateLimits())


@given(
    st.lists(st.tuples(st.floats(-500, 500), st.floats(0.01, 400)), min_size=1, max_size=8),
    st.floats(0, 200),
)
def test_a_wider_interval_or_a_higher_limit_never_fails_more(changes: list[tuple[float, float]], limit: float):
    def failed(width: float, most: float) -> set[str]:
        rows = [row(f"m{n}", change, half * width) for n, (change, half) in enumerate(changes)]
        result = check_gate(of(*rows), GateLimits(rating_drop=most))
        assert all(c.ci_low <= c.difference <= c.ci_high for c in result.checks)  # type: ignore[operator]
        return {str(check.model_id) for check in result.checks if check.outcome == "failed"}

    for wide, wider in pairwise(failed(width, limit) for width in (1.0, 1.5, 3.0)):
        assert wider <= wide
    assert failed(1.0, limit + 50) <= failed(1.0, limit)
