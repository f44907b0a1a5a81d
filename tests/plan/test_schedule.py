"""The plan: every debate once, sides and panels evened out, the same inputs the same bytes."""

from __future__ import annotations

import asyncio
import hashlib
import json
from collections import Counter
from collections.abc import Callable, Sequence
from datetime import datetime
from decimal import Decimal
from itertools import combinations, permutations
from pathlib import Path
from random import Random
from statistics import pstdev

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from debatebench.config.load import (
    Config,
    MemberConfig,
    Pricing,
    Round,
    TopicConfig,
    load_config,
    load_debaters,
    load_judges,
    load_topics,
)
from debatebench.config.prompt_files import load_prompts
from debatebench.config.prompts import PromptSet
from debatebench.config.types import DimensionConfig
from debatebench.plan.estimate import MemberEstimate, estimate
from debatebench.plan.judge_calls import RestOfDebate
from debatebench.plan.panels import PanelBalance, random_panel
from debatebench.plan.plan import Plan, PlanOptions
from debatebench.plan.plan_differences import plan_differences
from debatebench.plan.plan_records import run_records
from debatebench.plan.schedule import make_plan, replacement_judges
from debatebench.plan.stored_use import StoredUse, Sums
from debatebench.play.budget import largest_cost
from debatebench.play.debate import play_debate
from debatebench.play.panel import judge_debate
from debatebench.providers.asking import Answer, Step
from debatebench.providers.base import Completion, Request
from debatebench.shared.errors import UsageError
from debatebench.shared.records import Debater, Dimension, Judge, Run, ScheduledDebate, Topic
from debatebench.shared.workspace import Workspace, packaged

CONFIG = Config(
    benchmark_name="Bench",
    benchmark_version="v3",
    rubric_version="r2",
    rounds=(Round(role="pro", stage="opening", max_tokens=100), Round(role="con", stage="opening")),
    dimensions={
        "zeal": DimensionConfig(min=Decimal(0), max=Decimal(5), description="How zealous?"),
        "logic": DimensionConfig(min=Decimal(1), max=Decimal(10)),
    },
    judges_per_debate=3,
)
PROMPTS = PromptSet(
    templates={
        "debater_pro": "p" * 40,
        "debater_con": "c" * 80,
        "debater_turn": "t" * 20,
        "judge_user": "u" * 40,
        "judge_default": "d" * 40,
        "judge_declared": "w" * 40,
    },
    winner_styles=("declared",),
)


VERDICT = json.dumps({"scores": {side: {"zeal": 3, "logic": 4} for side in ("pro", "con")}, "winner": "pro"})


def members(prefix: str, count: int) -> tuple[MemberConfig, ...]:
    return tuple(
        MemberConfig(id=f"{prefix}{i:02}", provider="simulated", model=f"{prefix}-model-{i}") for i in range(count)
    )


def topics(count: int) -> tuple[TopicConfig, ...]:
    return tuple(TopicConfig(id=f"t{i:03}", motion=f"Motion {i}.", category="c") for i in range(count))


def plan_of(
    debaters: int | Sequence[MemberConfig] = 3,
    judges: int | Sequence[MemberConfig] = 5,
    topic_count: int = 2,
    run_tag: str = "run",
    config: Config = CONFIG,
    **options: object,
) -> Plan:
    return make_plan(
        run_tag,
        config,
        topics(topic_count),
        members("d", debaters) if isinstance(debaters, int) else debaters,
        members("j", judges) if isinstance(judges, int) else judges,
        PROMPTS,
        PlanOptions.model_validate(options),
        "c0ffee",
    )


def matchups(plan: Plan) -> list[tuple[str, str, str, int]]:
    return [(d.topic_id, d.pro_model_id, d.con_model_id, d.repetition) for d in plan.debates]


# (debate_id, pro, con, debate_seed, panel) of three debaters on one topic before four judges.
GOLDEN = [
    ("d9d59716d6e4869d", "d00", "d01", 915292754, ("j03", "j01", "j00")),
    ("9dc951b9475ec1c9", "d00", "d02", 1020238682, ("j02", "j01", "j03")),
    ("9321dca528a077e0", "d01", "d00", 2058414477, ("j00", "j01", "j02")),
    ("2bc891aa68c41f3a", "d01", "d02", 422198620, ("j02", "j03", "j00")),
    ("61f8a83e13e671f8", "d02", "d00", 1486034715, ("j00", "j01", "j03")),
    ("a3d25eaa1f17ff95", "d02", "d01", 1441706246, ("j03", "j01", "j02")),
]


# Debates


def test_topics_come_first_then_ordered_pairs_then_repetitions() -> None:
    plan = plan_of(debaters=3, topic_count=2, debates_per_pair=2)
    ids = [debater.id for debater in plan.debaters]
    assert matchups(plan) == [
        (topic, pro, con, repetition)
        for topic in ("t000", "t001")
        for pro, con in permutations(ids, 2)
        for repetition in (0, 1)
    ]
    assert [debate.schedule_position for debate in plan.debates] == list(range(24))


def test_without_balanced_sides_the_lower_id_speaks_pro() -> None:
    debaters = tuple(reversed(members("d", 3)))
    assert [m[1:3] for m in matchups(plan_of(debaters, topic_count=1, balanced_sides=False))] == [
        ("d01", "d02"),
        ("d00", "d02"),
        ("d00", "d01"),
    ]


def test_swapped_sides_flip_about_half_of_the_debates_and_lose_none() -> None:
    kept = plan_of(4, topic_count=50, balanced_sides=False)
    flipped = plan_of(4, topic_count=50, balanced_sides=False, swap_sides=True)
    flips = 0
    for before, after in zip(kept.debates, flipped.debates, strict=True):
        assert before.topic_id == after.topic_id
        assert {before.pro_model_id, before.con_model_id} == {after.pro_model_id, after.con_model_id}
        flips += before.pro_model_id != after.pro_model_id
    assert 100 < flips < 200


def test_flipping_both_orders_of_a_pair_still_gives_every_debate_its_own_id() -> None:
    plan = plan_of(4, topic_count=20, debates_per_pair=3, swap_sides=True)
    assert len({debate.debate_id for debate in plan.debates}) == len(plan.debates) == 20 * 12 * 3
    assert len(set(matchups(plan))) == len(plan.debates)
    assert max(debate.repetition for debate in plan.debates) > 2


def test_a_debate_id_is_the_hash_of_what_the_debate_is() -> None:
    debate = plan_of().debates[0]
    text = "3:run4:t0003:d003:d011:0"
    assert debate.debate_id == hashlib.sha256(text.encode()).hexdigest()[:16]


def test_seeds_fit_where_providers_take_them_and_do_not_depend_on_the_tag() -> None:
    first, second = plan_of(4, topic_count=9, run_tag="a"), plan_of(4, topic_count=9, run_tag="b")
    assert all(0 <= debate.debate_seed < 2**31 for debate in first.debates)
    assert len({debate.debate_seed for debate in first.debates}) == len(first.debates)
    assert [(d.debate_seed, d.panel) for d in first.debates] == [(d.debate_seed, d.panel) for d in second.debates]
    assert not {d.debate_id for d in first.debates} & {d.debate_id for d in second.debates}


def test_sampled_topics_keep_the_order_of_the_file_and_follow_the_seed() -> None:
    drawn = {seed: [t.id for t in plan_of(topic_count=30, sample_topics=5, seed=seed).topics] for seed in range(20)}
    assert all(ids == sorted(ids) and len(set(ids)) == 5 for ids in drawn.values())
    assert len({tuple(ids) for ids in drawn.values()}) > 10
    assert [t.id for t in plan_of(topic_count=4, sample_topics=4).topics] == ["t000", "t001", "t002", "t003"]


def test_more_sampled_topics_than_there_are_is_refused() -> None:
    with pytest.raises(UsageError, match=r"^--sample-topics asks for 3 topics, but there are only 2\.$"):
        plan_of(topic_count=2, sample_topics=3)


def test_a_tournament_of_one_or_about_nothing_is_refused() -> None:
    with pytest.raises(UsageError, match="needs at least 2 debaters, but 1 are configured"):
        plan_of(debaters=1)
    with pytest.raises(UsageError, match=r"2 debaters, but --debater names only 'd00'; name more, or leave it out"):
        plan_of(debaters=3, selected_debaters=("d00", "d00"))
    with pytest.raises(UsageError, match="needs at least one topic"):
        plan_of(topic_count=0)


# The same inputs


@pytest.mark.parametrize(
    "options", [{}, {"swap_sides": True, "balanced_judges": False}, {"judges_from_selection": True}]
)
def test_the_same_inputs_give_the_same_bytes(options: dict[str, bool]) -> None:
    first, second = (
        json.dumps(plan_of(6, 6, 4, debates_per_pair=2, **options).to_json(), sort_keys=True) for _ in range(2)
    )
    assert first == second
    assert first != json.dumps(plan_of(6, 6, 4, debates_per_pair=2, seed=1, **options).to_json(), sort_keys=True)


def test_a_plan_is_the_one_that_earlier_versions_made() -> None:
    """A golden value: a plan that changes under unchanged inputs breaks every unfinished run."""
    plan = plan_of(3, 4, topic_count=1)
    assert [(d.debate_id, d.pro_model_id, d.con_model_id, d.debate_seed, d.panel) for d in plan.debates] == GOLDEN


def test_a_plan_survives_sorted_json_with_the_order_of_its_dimensions() -> None:
    priced = MemberConfig(
        id="x",
        provider="http",
        model="m",
        parameters={"b": [1, 0.5], "a": None},
        pricing=Pricing(prompt=Decimal("3E-7"), completion=Decimal("0.0000015")),
    )
    plan = plan_of((*members("d", 2), priced))
    assert plan.topic("t001").id == "t001"
    again = Plan.from_json(json.loads(json.dumps(plan.to_json(), sort_keys=True)))
    assert again == plan
    assert list(again.config.dimensions) == ["zeal", "logic"]
    assert plan_differences(plan, again) == []


# Panels


@pytest.mark.parametrize("balanced", [True, False])
def test_every_panel_has_its_size_without_anyone_twice(balanced: bool) -> None:
    plan = plan_of(4, 6, topic_count=5, balanced_judges=balanced)
    pool = {judge.id for judge in plan.judges}
    assert all(len(d.panel) == len(set(d.panel)) == 3 and set(d.panel) <= pool for d in plan.debates)


def test_panel_order_is_drawn_too() -> None:
    seats = Counter(debate.panel[0] for debate in plan_of(4, 3, topic_count=25).debates)
    assert all(70 < seats[judge] < 130 for judge in ("j00", "j01", "j02"))


def spreads(pool: list[str], size: int, topic_count: int, debaters: int, *, balanced: bool) -> dict[str, float]:
    """How uneven a whole schedule leaves the judges: largest spreads, and the deviation of sitting together."""
    balance = PanelBalance()
    rng = Random(7)
    for topic in range(topic_count):
        for pro, con in permutations(range(debaters), 2):
            pair = (min(pro, con), max(pro, con))
            if balanced:
                balance.choose(pool, size, topic, pair, rng)
            else:
                balance.seat(random_panel(pool, size, rng), topic, pair)

    def spread(counts: list[int]) -> int:
        return max(counts) - min(counts)

    return {
        "total": spread([balance.total[j] for j in pool]),
        "topic": max(spread([balance.by_topic[t, j] for j in pool]) for t in range(topic_count)),
        "pair": max(spread([balance.by_pair[p, j] for j in pool]) for p in combinations(range(debaters), 2)),
        "together": pstdev([balance.together[p] for p in combinations(pool, 2)]),
    }


@pytest.mark.parametrize(
    ("judges", "size", "topic_count", "debaters"),
    [(9, 3, 20, 6), (8, 3, 24, 6), (5, 3, 10, 6), (20, 5, 12, 8), (7, 2, 9, 5)],
)
def test_balanced_panels_are_far_more_even_than_random_ones(
    judges: int, size: int, topic_count: int, debaters: int
) -> None:
    pool = [f"j{i:02}" for i in range(judges)]
    even = spreads(pool, size, topic_count, debaters, balanced=True)
    drawn = spreads(pool, size, topic_count, debaters, balanced=False)
    assert even["total"] <= 1
    assert even["topic"] <= 2
    assert even["pair"] <= drawn["pair"] / 2
    assert even["together"] < 1
    assert even["together"] < drawn["together"] / 4


@settings(max_examples=60, deadline=None)
@given(st.integers(1, 12), st.data())
def test_no_judge_is_ever_two_panels_ahead_of_another(pool_size: int, data: st.DataObject) -> None:
    pool = [f"j{i:02}" for i in range(pool_size)]
    size = data.draw(st.integers(1, pool_size))
    balance = PanelBalance()
    rng = Random(data.draw(st.integers(0, 9)))
    for _ in range(data.draw(st.integers(1, 40))):
        panel = balance.choose(pool, size, data.draw(st.integers(0, 3)), data.draw(st.integers(0, 3)), rng)
        assert len(set(panel)) == size
        assert max(balance.total[j] for j in pool) - min(balance.total[j] for j in pool) <= 1


def test_a_whole_pool_on_every_panel_leaves_nothing_to_choose() -> None:
    assert all(sorted(d.panel) == ["j00", "j01", "j02"] for d in plan_of(judges=3).debates)


@pytest.mark.parametrize("balanced", [True, False])
def test_debaters_as_the_pool_never_judge_themselves(balanced: bool) -> None:
    plan = plan_of(6, 0, topic_count=4, judges_from_selection=True, balanced_judges=balanced)
    assert plan.judges == plan.debaters
    for debate in plan.debates:
        active = {debate.pro_model_id, debate.con_model_id}
        assert not active & {*debate.panel, *replacement_judges(plan, debate)}
    use = Counter(judge for debate in plan.debates for judge in debate.panel)
    assert max(use.values()) - min(use.values()) <= (4 if balanced else 100)
    assert not plan.has_judge_overlap


def test_another_id_of_an_active_debaters_model_does_not_judge_it_either() -> None:
    twin = MemberConfig(id="twin", provider="simulated", model="d-model-0")
    plan = plan_of((*members("d", 5), twin), 0, judges_from_selection=True)
    for debate in plan.debates:
        if "d00" in (debate.pro_model_id, debate.con_model_id):
            assert "twin" not in (*debate.panel, *replacement_judges(plan, debate))


def test_replacements_are_the_rest_of_the_pool_in_a_seeded_order() -> None:
    plan = plan_of(judges=8, topic_count=10)
    orders = set()
    for debate in plan.debates:
        rest = replacement_judges(plan, debate)
        assert sorted((*rest, *debate.panel)) == [judge.id for judge in plan.judges]
        assert rest == replacement_judges(Plan.from_json(plan.to_json()), debate)
        orders.add(rest)
    assert len(orders) > 20


def test_a_pool_that_is_too_small_is_refused_with_the_numbers() -> None:
    with pytest.raises(UsageError) as caught:
        plan_of(judges=2)
    assert str(caught.value) == (
        "A panel needs 3 judges (judges_per_debate), and the pool has 2; add judges to judges.yaml or lower "
        "judges_per_debate."
    )
    with pytest.raises(UsageError, match=r"only 2 of the debaters may judge 'd00' against 'd01'; select more debaters"):
        plan_of(debaters=4, judges_from_selection=True)


# Judges who are debaters


@pytest.mark.parametrize(
    ("judge", "message"),
    [
        (
            MemberConfig(id="d01", provider="other", model="other"),
            "'d01' is both a debater and a judge: remove one of them",
        ),
        (
            MemberConfig(id="x", provider="simulated", model="d-model-1"),
            r"Judge 'x' and debater 'd01' are the same model \(simulated d-model-1\): remove one of them",
        ),
    ],
)
def test_a_judge_that_is_a_debater_is_refused_unless_allowed(judge: MemberConfig, message: str) -> None:
    with pytest.raises(UsageError, match=f"^{message}.*--judges-from-selection.*--allow-judge-overlap") as caught:
        plan_of(judges=(*members("j", 3), judge))
    assert caught.value.exit_code == 2
    plan = plan_of(judges=(*members("j", 3), judge), allow_judge_overlap=True)
    assert plan.has_judge_overlap
    assert any(judge.id in debate.panel for debate in plan.debates)
    run = next(iter(run_records(plan, datetime(2025, 1, 1), set())))
    assert isinstance(run, Run)
    assert run.allows_judge_overlap


def test_the_same_model_elsewhere_is_another_contestant() -> None:
    plan = plan_of(judges=(*members("j", 2), MemberConfig(id="x", provider="http", model="d-model-1")))
    assert not plan.has_judge_overlap


def test_the_originals_files_load_and_their_overlap_is_refused_when_planning(shared: Path, tmp_path: Path) -> None:
    folder = shared / "debatebench-v0" / "configs"
    config, judges = load_config(folder / "config.yaml"), load_judges(folder / "judges.yaml")
    debaters, motions = load_debaters(folder / "models.yaml"), load_topics(folder / "topics.json")
    prompts = load_prompts(Workspace(tmp_path), config, judges)
    with pytest.raises(UsageError, match=r"'anthropic-claude-opus-4\.5' is both a debater and a judge"):
        make_plan("r", config, motions, debaters, judges, prompts, PlanOptions(), None)
    for options in (PlanOptions(judges_from_selection=True), PlanOptions(allow_judge_overlap=True)):
        plan = make_plan("r", config, motions, debaters, judges, prompts, options, None)
        assert len(plan.debates) == 50 * 9 * 8
        use = Counter(judge for debate in plan.debates for judge in debate.panel)
        assert len(use) == 9
        assert max(use.values()) - min(use.values()) <= 6


def test_a_judging_style_without_prompt_is_refused() -> None:
    judges = (*members("j", 3), MemberConfig(id="x", provider="p", model="m", prompt_style="stern"))
    with pytest.raises(UsageError, match=r"^No judging prompt for prompt_style 'stern'\. Known: declared, default\.$"):
        plan_of(judges=judges)


def test_a_plan_holds_only_the_prompts_that_are_used() -> None:
    assert plan_of().prompts.styles == ("default",)


# What differs


def changed(plan: Plan, **update: object) -> Plan:
    return plan.model_copy(update=update)


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        (lambda: plan_of(seed=1), ["seed (1, was 12345)"]),
        (lambda: plan_of(topic_count=3), ["topics (t002 added)"]),
        (lambda: plan_of(debaters=4), ["debaters (d03 added)"]),
        (lambda: plan_of(judges=4), ["judges (j04 removed)"]),
        (lambda: plan_of(debaters=members("d", 3)[::-1]), ["debaters (in a different order)"]),
        (lambda: plan_of(swap_sides=True), ["swap_sides (on, was off)"]),
        (lambda: plan_of(sample_topics=2), ["sample_topics (2, was none)"]),
        (lambda: plan_of(config=CONFIG.model_copy(update={"temperature": 0.1})), ["temperature (0.1, was 0.7)"]),
        (
            lambda: plan_of(config=CONFIG.model_copy(update={"elo": CONFIG.elo.model_copy(update={"k_factor": 8.0})})),
            ["k_factor (8.0, was 32.0)"],
        ),
        (
            lambda: plan_of(
                config=CONFIG.model_copy(
                    update={"rounds": (CONFIG.rounds[0].model_copy(update={"max_tokens": 9}), CONFIG.rounds[1])}
                )
            ),
            ["rounds (turn 1 changed: max_tokens)"],
        ),
        (
            lambda: plan_of(
                config=CONFIG.model_copy(update={"dimensions": {"logic": DimensionConfig(max=Decimal(7))}})
            ),
            ["dimensions (zeal removed; logic changed: max)"],
        ),
        (
            lambda: plan_of(
                debaters=(*members("d", 2), members("d", 3)[2].model_copy(update={"parameters": {"temperature": 1}}))
            ),
            ["debaters (d02 changed: parameters)"],
        ),
        (
            lambda: changed(
                plan_of(),
                prompts=PromptSet(
                    templates={**plan_of().prompts.templates, "judge_default": "new", "debater_pro": "new"},
                ),
            ),
            ["debater prompt pro", "judge prompt default"],
        ),
        (lambda: changed(plan_of(), debates=plan_of().debates[1:]), None),
        (lambda: changed(plan_of(), harness_version="9", git_commit=None), []),
    ],
)
def test_a_plan_names_exactly_what_differs(change: Callable[[], Plan], expected: list[str] | None) -> None:
    found = plan_differences(plan_of(), change())
    if expected is None:
        assert len(found) == 1
        assert found[0].startswith("schedule (")
    else:
        assert found == expected


def test_a_prompt_of_the_config_is_named_once_and_as_a_prompt(tmp_path: Path) -> None:
    workspace = Workspace(tmp_path)
    plans = []
    for prompt in (None, "Judge."):
        config = CONFIG.model_copy(update={"judge_system_prompt": prompt})
        prompts = load_prompts(workspace, config, members("j", 5))
        plans.append(make_plan("r", config, topics(1), members("d", 2), members("j", 5), prompts, PlanOptions(), None))
    assert plan_differences(plans[0], plans[1]) == ["judge prompt default"]


def test_many_changes_are_counted_not_listed() -> None:
    assert plan_differences(plan_of(topic_count=1), plan_of(topic_count=20)) == [
        "topics (t001 added; t002 added; t003 added; t004 added; t005 added and 14 more)"
    ]


# Records


def test_the_records_say_what_was_planned() -> None:
    debaters = (
        members("d", 1)[0],
        MemberConfig(
            id="hosted",
            provider="openrouter",
            model="x/y",
            token_limit=50,
            parameters={"temperature": 1},
            pricing=Pricing(prompt=Decimal("3E-7"), completion=Decimal("1E-6")),
        ),
    )
    plan = plan_of(debaters, 3, topic_count=1, seed=5)
    created_at = datetime(2025, 1, 2, 3, 4, 5)
    records = list(run_records(plan, created_at, {"simulated"}))
    run = records[0]
    assert isinstance(run, Run)
    assert (run.benchmark_name, run.benchmark_version, run.rubric_version) == ("Bench", "v3", "r2")
    assert (run.seed, run.created_at, run.git_commit, run.is_simulated) == (5, created_at, "c0ffee", True)
    assert (run.source, run.format, run.harness_version) == ("run", "tournament", plan.harness_version)
    assert run.prompt_hashes == plan.prompts.hashes()
    assert run.options["seed"] == 5
    assert [record.table for record in records] == (
        ["runs", "topics", "debaters", "debaters"] + ["judges"] * 3 + ["dimensions"] * 2 + ["schedule"] * 2
    )
    simulated, hosted = (record for record in records if isinstance(record, Debater))
    assert (simulated.is_simulated, simulated.pricing) == (True, None)
    assert (hosted.is_simulated, hosted.token_limit, hosted.parameters) == (False, 50, {"temperature": 1})
    assert hosted.pricing == {"prompt": "3E-7", "completion": "0.000001"}
    assert all(record.run_tag == "run" for record in records)
    assert [(r.dimension, r.source_position, r.max_score) for r in records if isinstance(r, Dimension)] == [
        ("zeal", 0, 5),
        ("logic", 1, 10),
    ]
    assert [r.prompt_style for r in records if isinstance(r, Judge)] == ["default"] * 3
    assert [r.topic_id for r in records if isinstance(r, Topic)] == ["t000"]
    assert tuple(r for r in records if isinstance(r, ScheduledDebate)) == plan.debates


def test_a_run_without_a_simulated_member_is_not_simulated() -> None:
    assert not any(
        getattr(record, "is_simulated", False) for record in run_records(plan_of(), datetime(2025, 1, 1), set())
    )


# Estimates


def priced(name: str, prompt: str, completion: str) -> MemberConfig:
    return MemberConfig(
        id=name,
        provider="p",
        model=name,
        pricing=Pricing(prompt=Decimal(prompt), completion=Decimal(completion)),
    )


def test_an_estimate_counts_calls_tokens_and_known_costs() -> None:
    debaters = (priced("a", "0.001", "0.01"), MemberConfig(id="b", provider="p", model="b", token_limit=200))
    judges = (
        priced("j0", "0.001", "0"),
        *(MemberConfig(id=f"j-free-0{n}", provider="p", model=f"j{n}") for n in range(2)),
    )
    found = estimate(plan_of(debaters, judges, topic_count=1))
    assert (found.debates, found.turns, found.verdicts, found.calls) == (2, 4, 6, 10)
    # These templates hold no transcript, so the speeches are in no prompt. Of a limit, half is used: pro's is the
    # round's 100. Con's is its debater's only: b's is 200; a has none.
    a, b = found.members[:2]
    assert (a.role, a.id, a.calls) == ("debater", "a", 2)
    assert (a.prompt_tokens, a.completion_tokens) == ((40 + 20 + 80 + 20) / 4, 50 + 450)
    assert (b.prompt_tokens, b.completion_tokens) == ((40 + 20 + 80 + 20) / 4, 50 + 100)
    assert a.cost_usd == Decimal(a.prompt_tokens) / 1000 + Decimal(a.completion_tokens) / 100
    assert a.most_usd is None, "it may speak at any length"
    assert b.cost_usd is None
    judge = found.members[2]
    assert judge.calls == 2
    assert judge.prompt_tokens == 2 * (40 + 40) / 4
    assert judge.cost_usd == Decimal(judge.prompt_tokens) / 1000
    assert found.unpriced == ("b", "j-free-00", "j-free-01")
    assert found.cost_usd == a.cost_usd + judge.cost_usd
    assert "Not included, because they have no price: b, j-free-00, j-free-01." in found.summary()
    assert b == MemberEstimate("debater", "b", 2, b.prompt_tokens, 150, None, None)


def test_an_unknown_cost_is_unknown_and_not_zero() -> None:
    hosted = [member.model_copy(update={"provider": "http"}) for member in (*members("d", 3), *members("j", 5))]
    found = estimate(plan_of(hosted[:3], hosted[3:]))
    assert found.cost_usd is None
    assert len(found.unpriced) == 8
    assert found.summary().endswith(
        "Cost: unknown, without an upper bound (no price or token limit: d00, d01, d02, j00, j01 and 3 more)."
    )
    assert estimate(plan_of()).costs() == "Cost: likely about 0.0000 USD, at most 0.0000 USD.", "simulated, so free"


WITH_TRANSCRIPT = PromptSet(
    templates={**PROMPTS.templates, "debater_turn": "Go on.\n{{ transcript }}", "judge_user": "{{ transcript }}"},
    winner_styles=("declared",),
)


def priced_plan(rounds: int = 1, *, style: str = "default") -> Plan:
    """Two debaters and three judges with prices and limits: 100 tokens a speech, 50 a verdict."""
    config = CONFIG.model_copy(update={"rounds": CONFIG.rounds * rounds})
    debaters = [priced(name, "0.001", "0.01").model_copy(update={"token_limit": 100}) for name in ("a", "b")]
    judges = [
        priced(name, "0.001", "0").model_copy(update={"token_limit": 50, "prompt_style": style})
        for name in ("j0", "j1", "j2")
    ]
    return make_plan("run", config, topics(1), debaters, judges, WITH_TRANSCRIPT, PlanOptions(), None)


def test_history_makes_later_turns_dearer() -> None:
    short, long = estimate(priced_plan(1)), estimate(priced_plan(3))
    assert long.turns == 3 * short.turns
    assert long.completion_tokens - short.completion_tokens == 2 * len(priced_plan().debates) * (50 + 50)
    assert long.prompt_tokens > 3 * short.prompt_tokens
    assert long.most_usd is not None
    assert short.most_usd is not None
    assert long.most_usd > 2 * short.most_usd


def test_the_most_is_the_bound_of_every_request_with_speeches_of_the_whole_limit() -> None:
    """The same bound as that of `--max-cost`, which is computed from the request itself."""
    plan = priced_plan(2, style="declared")
    speech, sent = "x" * (4 * 100), Decimal(0)

    async def ask(step: Step, member: MemberConfig, request: Request) -> Answer:
        nonlocal sent
        bound = largest_cost(request, member)
        assert bound is not None
        sent += bound
        text = speech if step.purpose == "turn" else VERDICT
        return Answer("c", Completion(text), datetime(2026, 1, 1), 1.0)

    async def play() -> None:
        for debate in plan.debates:
            turns = [turn async for turn in play_debate(debate, plan, ask)]
            assert all(judgment.verdict.is_valid for judgment in await judge_debate(debate, turns, plan, ask))

    asyncio.run(play())
    most = estimate(plan).most_usd
    assert most is not None
    assert most == sent


def test_stored_answers_of_the_same_model_count_and_else_those_of_others() -> None:
    stored = StoredUse(
        speeches={("p", "a", "opening"): Sums(10, 3000, 800, 2000, 1000), ("p", "z", "x"): Sums(10, 3000, 400, 800, 0)},
        verdicts={("p", "other", "direct"): Sums(5, 5000, 200, 0, 4000, 5)},
    )
    found = {member.id: member for member in estimate(priced_plan(), stored).members}
    assert found["a"].completion_tokens == found["a"].calls * 80
    assert found["b"].completion_tokens == found["b"].calls * 60, "the mean of a's and z's"
    assert found["j0"].completion_tokens == found["j0"].calls * 40
    assert found["a"].prompt_tokens > 0
    simulated = estimate(plan_of(1 + 1, 3, topic_count=1), stored)
    assert {member.completion_tokens / member.calls for member in simulated.members[:2]} == {(100 + 200) / 2}


def test_what_is_left_is_estimated_alone() -> None:
    plan = priced_plan(2)
    whole, nothing = estimate(plan), estimate(plan, left=lambda _: RestOfDebate(4, ()))
    assert (nothing.debates, nothing.calls, nothing.cost_usd, nothing.most_usd) == (0, 0, 0, 0)
    rest = estimate(plan, left=lambda debate: RestOfDebate(3, debate.panel[:1]))
    assert (rest.debates, rest.turns, rest.verdicts) == (2, 2, 2)
    last = estimate(
        plan, left=lambda debate: RestOfDebate(0, debate.panel) if debate == plan.debates[0] else RestOfDebate(4, ())
    )
    assert whole.cost_usd is not None
    assert last.cost_usd is not None
    assert last.cost_usd < whole.cost_usd


def test_the_shipped_configuration_plans_a_tournament_with_a_known_cost(tmp_path: Path) -> None:
    folder, workspace = packaged("configs"), Workspace(tmp_path)
    config, judges = load_config(folder / "config.yaml"), load_judges(folder / "judges.yaml")
    plan = make_plan(
        "shipped",
        config,
        load_topics(folder / "topics.json"),
        load_debaters(folder / "models.yaml"),
        judges,
        load_prompts(workspace, config, judges),
        PlanOptions(sample_topics=4),
        None,
    )
    found = estimate(plan)
    assert found.debates == 4 * 6 * 5
    assert found.calls == found.debates * (6 + 3)
    assert found.unpriced == ()
    assert found.cost_usd is not None
    assert found.cost_usd > 0
