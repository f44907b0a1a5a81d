"""Who debates in British Parliamentary tournaments, and at which position."""

from __future__ import annotations

from collections import Counter
from itertools import combinations
from typing import Any

import pytest

from debatebench.config.prompts import PromptSet
from debatebench.config.types import Config, DimensionConfig, MemberConfig, Round, TopicConfig, WeaknessConfig
from debatebench.plan.plan import Plan, PlanOptions
from debatebench.plan.schedule import make_plan, plan_part
from debatebench.plan.teams import ROTATIONS
from debatebench.shared.errors import UsageError
from debatebench.shared.records import TEAMS

PROMPTS = PromptSet(templates=dict.fromkeys(("debater_team", "debater_team_turn", "judge_user", "judge_default"), "t"))
ROUNDS = tuple(Round(role=team, stage=team) for team in ("OG", "OO", "OG", "OO", "CG", "CO", "CG", "CO"))


def config(**changes: Any) -> Config:
    return Config(**{"rounds": ROUNDS, "dimensions": {"logic": DimensionConfig()}, "judges_per_debate": 2, **changes})


def members(count: int, name: str = "d") -> list[MemberConfig]:
    return [MemberConfig(id=f"{name}{n}", provider="simulated", model=f"{name}{n}") for n in range(count)]


def plan_of(debaters: int = 8, topics: int = 3, settings: Config | None = None, tag: str = "t", **options: Any) -> Plan:
    motions = [TopicConfig(id=f"t{n}", motion=f"Motion {n}.") for n in range(topics)]
    made = PlanOptions(**options)
    return make_plan(
        tag, settings or config(), motions, members(debaters), members(4, "j"), PROMPTS, made, git_commit=None
    )


def held(plan: Plan) -> Counter[tuple[str, str]]:
    """How often each debater holds each position."""
    return Counter((debater, position) for each in plan.debates for position, debater in each.speakers.items())


def test_every_rotation_of_a_draw_gives_each_position_and_each_neighbour_once():
    assert [sorted(row) for row in (*ROTATIONS, *zip(*ROTATIONS, strict=True))] == [[0, 1, 2, 3]] * 8
    after = [(row[n], row[n + 1]) for row in ROTATIONS for n in range(3)]
    assert len(set(after)) == 12


@pytest.mark.parametrize(("debaters", "per_pair"), [(4, 1), (6, 1), (7, 2), (8, 1), (9, 1)])
def test_debaters_are_drawn_equally_often_and_hold_each_position_equally_often(debaters: int, per_pair: int):
    plan = plan_of(debaters, topics=4, debates_per_pair=per_pair)
    draws = 4 * -(-debaters * per_pair // 4)
    assert len(plan.debates) == 4 * draws
    counts = held(plan)
    for debater in (each.id for each in plan.debaters):
        assert len({counts[debater, position] for position in TEAMS}) == 1
    total = Counter(debater for each in plan.debates for debater in each.teams)
    assert len(total) == debaters
    assert max(total.values()) - min(total.values()) <= 4, "one draw"
    on_topic = Counter((each.topic_id, debater) for each in plan.debates for debater in each.teams)
    assert len(on_topic) == 4 * debaters, "every debater debates every topic"


def test_without_rotations_positions_are_balanced_over_the_tournament():
    plan = plan_of(8, topics=12, balanced_sides=False)
    assert len(plan.debates) == 24
    counts = held(plan)
    assert len(counts) == 32
    assert max(counts.values()) - min(counts.values()) <= 2


def test_debaters_meet_each_other_about_equally_often():
    plan = plan_of(8, topics=14, balanced_sides=False)
    met = Counter(pair for each in plan.debates for pair in combinations(sorted(each.teams), 2))
    assert len(met) == 28
    assert max(met.values()) - min(met.values()) <= 2


def test_a_debate_of_four_teams_has_neither_pro_nor_con_and_an_id_of_its_own():
    plan = plan_of(6, topics=2, debates_per_pair=2)
    assert {(each.pro_model_id, each.con_model_id) for each in plan.debates} == {(None, None)}
    assert len({each.debate_id for each in plan.debates}) == len(plan.debates)
    assert len({each.debate_seed for each in plan.debates}) == len(plan.debates)
    assert [each.schedule_position for each in plan.debates] == list(range(len(plan.debates)))


def test_the_seed_decides_the_draw_and_the_run_tag_does_not():
    first, other = plan_of(), plan_of(tag="other")
    assert [each.teams for each in first.debates] == [each.teams for each in other.debates]
    assert [each.debate_seed for each in first.debates] == [each.debate_seed for each in other.debates]
    assert [each.teams for each in first.debates] != [each.teams for each in plan_of(seed=2).debates]
    assert Plan.from_json(first.to_json()) == first


def test_a_new_debater_meets_three_of_the_earlier_ones_and_those_it_has_met_least():
    plan = plan_of(8, topics=2)
    new = members(2, "new")
    part = plan_part(plan, new, None)
    assert len(part.debates) == 2 * 2 * 4
    for debate in part.debates:
        assert sum(debater.startswith("new") for debater in debate.teams) == 1
    met = Counter(debater for each in part.debates if "new0" in each.teams for debater in each.teams)
    assert set(met.values()) == {4, 8}, "new0 in every debate, and six others on two topics"
    assert len(met) == 7
    assert part.debates[0].schedule_position == len(plan.debates)
    grown = plan.with_part(part)
    assert {each.debate_id for each in part.debates}.isdisjoint(each.debate_id for each in plan.debates)
    assert held(grown)["new0", "OG"] == 2


def test_debaters_who_judge_each_other_never_judge_a_debate_of_their_own():
    motions = [TopicConfig(id="t", motion="M.")]
    options = PlanOptions(judges_from_selection=True)
    plan = make_plan("t", config(), motions, members(8), [], PROMPTS, options, git_commit=None)
    assert all(not set(each.panel) & set(each.teams) for each in plan.debates)
    with pytest.raises(UsageError, match=r"only 1 of the debaters may judge 'd.' against 'd.' against"):
        make_plan("t", config(), motions, members(5), [], PROMPTS, options, git_commit=None)


@pytest.mark.parametrize(
    ("debaters", "changes", "options", "message"),
    [
        (3, {}, {}, "Debates of four teams need at least 4 debaters, but 3 are configured"),
        (
            5,
            {},
            {"selected_debaters": ("d1", "d0", "d1")},
            "4 debaters, but --debater names only 'd0' and 'd1'; name more",
        ),
        (4, {}, {"swap_sides": True}, "--swap-sides draws who of two is pro"),
        (4, {"on_refusal": "forfeit"}, {}, "`on_refusal: forfeit` lets the other side win"),
        (
            4,
            {"weaknesses": (WeaknessConfig(id="w", instruction="Err.", turns="all", dimension="logic"),)},
            {},
            "A weakness is injected into one of two sides",
        ),
    ],
)
def test_what_needs_two_sides_is_refused(debaters: int, changes: dict[str, Any], options: dict[str, Any], message: str):
    with pytest.raises(UsageError, match=message):
        plan_of(debaters, settings=config(**changes), **options)
