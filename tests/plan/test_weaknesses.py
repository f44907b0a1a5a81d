"""Which debate gets which weakness: balanced to one, seeded, and after the opponent has spoken where it must be."""

from __future__ import annotations

from collections import Counter
from decimal import Decimal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from paths import REPOSITORY

from debatebench.config.load import load_topics
from debatebench.config.parts import load_format, load_rubric, load_weaknesses
from debatebench.config.prompts import PromptSet
from debatebench.config.types import Config, DimensionConfig, MemberConfig, Round, TopicConfig, WeaknessConfig
from debatebench.plan.plan import Plan, PlanOptions
from debatebench.plan.plan_differences import plan_differences
from debatebench.plan.schedule import make_plan, plan_part
from debatebench.plan.weaknesses import count_controls, weakness_counts
from debatebench.shared.errors import UsageError
from debatebench.shared.workspace import packaged

PACKAGED = load_weaknesses(packaged("configs") / "weaknesses.yaml").weaknesses
FOUR_TURNS = load_format(packaged("configs") / "formats" / "karl_popper.yaml")
PROMPTS = PromptSet(templates=dict.fromkeys(("debater_pro", "debater_con", "debater_turn", "judge_user"), "text"))
LATE = {"argument_dropping"}


def weaknesses(count: int) -> tuple[WeaknessConfig, ...]:
    return tuple(
        WeaknessConfig(id=f"w{n}", instruction="Err.", turns="all", dimension="clash_engagement") for n in range(count)
    )


def debaters(count: int) -> tuple[MemberConfig, ...]:
    return tuple(MemberConfig(id=f"d{n:02}", provider="simulated", model=f"m{n}") for n in range(count))


def plan_of(
    *,
    topics: int = 3,
    speakers: int = 3,
    taxonomy: tuple[WeaknessConfig, ...] = PACKAGED,
    rounds: tuple[Round, ...] = FOUR_TURNS,
    **options: object,
) -> Plan:
    return make_plan(
        str(options.pop("run_tag", "run")),
        Config(
            rounds=rounds, dimensions={"clash_engagement": DimensionConfig()}, judges_per_debate=1, weaknesses=taxonomy
        ),
        tuple(TopicConfig(id=f"t{n:03}", motion=f"Motion {n}.") for n in range(topics)),
        debaters(speakers),
        (MemberConfig(id="judge", provider="simulated", model="judge"),),
        PromptSet(templates={**PROMPTS.templates, "judge_default": "text"}),
        PlanOptions.model_validate(options),
        None,
    )


def labels(plan: Plan) -> list[tuple[str | None, str | None]]:
    return [(debate.weakness_type, debate.weakness_side) for debate in plan.debates]


def spread(counts: list[int]) -> int:
    return max(counts) - min(counts)


def assert_is_balanced(plan: Plan, ratio: float) -> None:
    """Exact to one over type × side, over types and over sides, with the asked share of controls."""
    cells = list(weakness_counts(plan.config, plan.debates))
    assert spread([count for _, *both in cells for count in both]) <= 1
    assert spread([sum(both) for _, *both in cells]) <= 1
    assert spread([sum(pro for _, pro, _ in cells), sum(con for _, _, con in cells)]) <= 1
    controls = [debate for debate in plan.debates if debate.weakness_type is None]
    assert len(controls) == count_controls(len(plan.debates), ratio)
    assert all(debate.weakness_side is None for debate in controls)


@settings(max_examples=60, deadline=None)
@given(
    topics=st.integers(1, 6),
    speakers=st.integers(2, 5),
    types=st.integers(1, 6),
    ratio=st.sampled_from([0.0, 0.1, 0.2, 1 / 3, 0.5, 1.0]),
    seed=st.integers(0, 10**6),
)
def test_types_sides_and_controls_are_balanced_to_one(topics: int, speakers: int, types: int, ratio: float, seed: int):
    plan = plan_of(topics=topics, speakers=speakers, taxonomy=weaknesses(types), control_ratio=ratio, seed=seed)
    assert_is_balanced(plan, ratio)


@settings(max_examples=20, deadline=None)
@given(speakers=st.integers(2, 4), added=st.integers(1, 2), seed=st.integers(0, 10**6))
def test_a_run_that_grows_stays_balanced_and_keeps_what_it_had(speakers: int, added: int, seed: int):
    plan = plan_of(topics=2, speakers=speakers, seed=seed)
    grown = plan.with_part(plan_part(plan, debaters(speakers + added)[speakers:], None))
    assert grown.debates[: len(plan.debates)] == plan.debates
    assert_is_balanced(grown, 0.2)


@given(debates=st.integers(0, 500), more=st.integers(0, 500), ratio=st.floats(0, 1))
def test_the_controls_of_an_added_part_are_between_none_and_all_of_its_debates(debates: int, more: int, ratio: float):
    added = count_controls(debates + more, ratio) - count_controls(debates, ratio)
    assert 0 <= added <= more


def test_half_a_control_counts_as_one():
    assert [count_controls(5, ratio) for ratio in (0.1, 0.3, 0.5)] == [1, 2, 3]


def test_600_debates_are_even_over_topics_and_debaters_too():
    plan = plan_of(topics=30, speakers=5)
    assert len(plan.debates) == 600
    assert_is_balanced(plan, 0.2)
    carriers = Counter(
        (debate.weakness_type, debate.speakers[debate.weakness_side]) for debate in plan.debates if debate.weakness_side
    )
    per_topic = Counter((debate.weakness_type, debate.topic_id) for debate in plan.debates)
    # 96 debates of each type over 5 debaters are 19.2 for each; over 30 topics 3.2; 120 controls are 4 for each topic.
    assert len(carriers) == 25
    assert spread(list(carriers.values())) <= 2
    assert spread([count for (name, _), count in per_topic.items() if name is not None]) <= 2
    assert spread([count for (name, _), count in per_topic.items() if name is None]) <= 2


def test_the_weaknesses_depend_on_the_seed_and_not_on_the_run_tag():
    one, other = plan_of(run_tag="one", seed=7), plan_of(run_tag="other", seed=7)
    assert labels(one) == labels(other)
    assert plan_of(seed=7).to_json() == plan_of(seed=7).to_json()
    assert labels(one) != labels(plan_of(seed=8))


def test_without_weaknesses_the_plan_is_the_same_in_everything_else():
    with_them, without = plan_of(), plan_of(taxonomy=())
    bare = [d.model_copy(update={"weakness_type": None, "weakness_side": None}) for d in with_them.debates]
    assert tuple(bare) == without.debates


def test_dropping_begins_only_after_the_opponent_has_spoken():
    plan = plan_of(topics=10, speakers=4)
    seen = set()
    for debate in plan.debates:
        carrying = [n for n in range(4) if plan.weakness_in(debate, n) is not None]
        roles = {plan.config.rounds[n].role for n in carrying}
        assert roles == ({debate.weakness_side} if debate.weakness_side else set())
        first = 2 if debate.weakness_side == "pro" and debate.weakness_type in LATE else None
        expected = {"pro": [0, 2], "con": [1, 3]}.get(debate.weakness_side or "", [])
        assert carrying == [n for n in expected if first is None or n >= first]
        seen.add((debate.weakness_type, debate.weakness_side))
    assert len(seen) == 11


def test_a_format_without_a_speech_for_a_weakness_is_refused():
    rounds = (Round(role="pro", stage="opening"), Round(role="con", stage="opening"))
    with pytest.raises(UsageError, match="'argument_dropping' needs a speech of pro after the opponent has spoken"):
        plan_of(rounds=rounds)


def test_a_changed_taxonomy_is_named_when_a_run_goes_on():
    changed = (PACKAGED[0].model_copy(update={"instruction": "Be vague."}), *PACKAGED[1:])
    (difference,) = plan_differences(plan_of(), plan_of(taxonomy=changed))
    assert difference == "weaknesses (weak_evidence changed: instruction)"
    assert plan_differences(plan_of(), plan_of(control_ratio=0.2)) == ["control_ratio (0.2, was none)"]


def test_the_packaged_files_belong_together():
    rubric = load_rubric(packaged("configs") / "rubrics" / "debateflow.yaml")
    assert {weakness.id: weakness.dimension for weakness in PACKAGED} == {
        "weak_evidence": "burden_fulfillment",
        "argument_dropping": "clash_engagement",
        "logical_gaps": "rebuttal_quality",
        "burden_of_proof": "burden_fulfillment",
        "side_concession": "strategic_adaptation",
    }
    assert {weakness.id for weakness in PACKAGED if weakness.turns == "after_opponent"} == LATE
    assert list(rubric.dimensions) == [
        "clash_engagement",
        "burden_fulfillment",
        "rebuttal_quality",
        "argument_extension",
        "strategic_adaptation",
    ]
    for dimension in rubric.dimensions.values():
        assert (dimension.min, dimension.max, dimension.is_integer) == (Decimal(1), Decimal(3), True)
        assert list(dimension.anchors) == ["1", "2", "3"]
    assert [turn.role for turn in FOUR_TURNS] == ["pro", "con", "pro", "con"]
    topics = load_topics(packaged("configs") / "topics_debateflow.json")
    assert Counter(topic.category for topic in topics) == {"policy": 10, "values": 10, "empirical": 10}
    assert len({topic.motion for topic in topics}) == 30


def test_ids_of_the_packaged_taxonomies_mean_one_thing_each():
    first = load_weaknesses(packaged("configs") / "weaknesses_debatebench.yaml")
    assert first.name == "debatebench"
    alike = {each.id for each in first.weaknesses} & {each.id for each in PACKAGED}
    assert alike == {"weak_evidence", "logical_gaps"}
    assert {each for each in first.weaknesses if each.id in alike} == {each for each in PACKAGED if each.id in alike}
    assert list(first.only(["logical_gaps", "weak_evidence"]).dimensions()) == ["weak_evidence", "logical_gaps"]
    with pytest.raises(UsageError, match="No weakness 'side_concession' in the taxonomy 'debatebench'"):
        first.only(["side_concession"])


def test_the_documentation_lists_the_packaged_weaknesses():
    page = (REPOSITORY / "docs" / "debateflow.md").read_text(encoding="utf-8")
    turns = {"all": "all of the side", "after_opponent": "after the opponent has spoken"}
    for weakness in PACKAGED:
        assert f"| `{weakness.id}` | {turns[weakness.turns]} | `{weakness.dimension}` |" in page
