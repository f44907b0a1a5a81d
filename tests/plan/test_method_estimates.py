"""The calls, tokens, cost and time of plans whose judges take several calls, or judge stored debates."""

from __future__ import annotations

import asyncio
import random
from collections import Counter, defaultdict
from dataclasses import dataclass, field
from datetime import datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from added import add_method
from scripted_ask import tiny_config
from steady_judge import Judge

from debatebench.config.prompt_files import load_prompts
from debatebench.config.transcript_layout import BP_POSITIONS, Section
from debatebench.config.types import DimensionConfig, MemberConfig, Pricing, TopicConfig
from debatebench.journal.reading import read_journal
from debatebench.judges import ask_judge, templates_of
from debatebench.judges.base import Seat, Transcript
from debatebench.judges.deliberation import Decision, Deliberation, Method
from debatebench.judges.rehearsal import Texts
from debatebench.plan.estimate import Latencies, MemberEstimate, estimate, estimate_time, text_lengths
from debatebench.plan.judge_calls import JudgeCalls, RestOfDebate, shown_first
from debatebench.plan.plan import Plan, PlanOptions, begun_plan
from debatebench.plan.schedule import make_plan
from debatebench.plan.source import Source, SourceDebate, SourceSpeaker, SourceSpeech
from debatebench.plan.stored_use import StoredUse, Sums
from debatebench.play.budget import check_affordable, largest_cost
from debatebench.play.debate import play_debate
from debatebench.play.panel import judge_debate
from debatebench.play.progress import Progress
from debatebench.providers.asking import Answer, Step
from debatebench.providers.base import Completion, Request
from debatebench.shared.records import Debate, ScheduledDebate, Turn
from debatebench.shared.workspace import Workspace

PRICE = Pricing(prompt=Decimal(1), completion=Decimal(0))
CONFIG = tiny_config(judges_per_debate=5, dimensions={"clarity": DimensionConfig(), "clash": DimensionConfig()})
CALLS = {"direct": 1, "chronological_v1": 6, "dimensional_v1": 3, "non_iterative_v1": 17, "debatrix_v1": 17}
LATER_CALLS = {
    "whole_debate": 4, "chronological_v2": 8, "dimensional_v2": 12, "non_iterative_v2": 20, "debatrix_v2": 20
}  # fmt: skip
"""Of a debate of four speeches and two positions, on two dimensions."""


def judges_of(*methods: str, **settings: Any) -> list[MemberConfig]:
    known = {"provider": "p", "token_limit": 400, "pricing": PRICE, **settings}
    return [MemberConfig(id=method, model=method, method=method, **known) for method in methods]


def plan_of(*methods: str, swap_order: bool = False, topics: int = 1, **settings: Any) -> Plan:
    judges = judges_of(*methods, **settings)
    config = CONFIG.model_copy(update={"judges_per_debate": len(judges)})
    debaters = [MemberConfig(id=x, provider="p", model=x, token_limit=100, pricing=PRICE) for x in ("ada", "bob")]
    texts = [{"category": "c"}, {"info_slide": "So."}]
    motions = [TopicConfig(id=f"t{n}", motion=f"Größe zählt{'!' * n}", **texts[n % 2]) for n in range(topics)]
    prompts = load_prompts(Workspace(Path("/nonexistent")), config, judges, templates_of=templates_of)
    return make_plan("run", config, motions, debaters, judges, prompts, PlanOptions(swap_order=swap_order), None)


def found_by_id(plan: Plan, *arguments: Any) -> dict[str, MemberEstimate]:
    return {member.id: member for member in estimate(plan, *arguments).members}


@dataclass
class Players:
    """Debaters and judges whose answers have the likely lengths; counts what each is sent."""

    speech: int
    lengths: Texts
    characters: defaultdict[str, int] = field(default_factory=lambda: defaultdict(int))
    bounds: defaultdict[str, Decimal] = field(default_factory=lambda: defaultdict(Decimal))
    calls: Counter[str] = field(default_factory=Counter)

    async def __call__(self, step: Step, member: MemberConfig, request: Request) -> Answer:
        bound = largest_cost(request, member)
        assert bound is not None
        self.bounds[member.id] += bound
        self.calls[member.id] += 1
        self.characters[member.id] += sum(len(message.content) for message in request.messages)
        if step.purpose == "turn":
            return Answer("c", Completion("s" * self.speech), datetime(2026, 1, 1), 1.0)
        return await Judge(self.lengths)(step, member, request)


def played(plan: Plan, players: Players) -> None:
    async def play() -> None:
        for debate in plan.debates:
            turns = [turn async for turn in play_debate(debate, plan, players)]
            for judgment in await judge_debate(debate, turns, plan, players, judge_calls=JudgeCalls(plan)):
                assert judgment.verdict.is_valid, judgment.verdict.invalid_reason

    asyncio.run(play())


def test_every_call_of_every_method_is_counted() -> None:
    found = estimate(plan_of(*CALLS))
    assert {member.id: member.calls for member in found.members[2:]} == {m: 2 * calls for m, calls in CALLS.items()}
    assert (found.turns, found.verdicts, found.calls) == (8, 10, 96)
    assert found.summary().startswith("2 debates: 96 calls (8 turns, 88 for 10 verdicts), about ")
    alone = estimate(plan_of("direct"))
    assert alone.summary().startswith("2 debates: 10 calls (8 turns, 2 verdicts), about ")


@pytest.mark.parametrize("swap_order", [False, True])
def test_likely_prompts_are_the_real_ones_where_answers_have_the_likely_lengths(swap_order: bool) -> None:
    for calls in (CALLS, LATER_CALLS):
        plan = plan_of(*calls, swap_order=swap_order, topics=3)
        players = Players(200, text_lengths(plan.judges[0]))
        played(plan, players)
        found = found_by_id(plan)
        assert {id_: member.calls for id_, member in found.items() if id_ in calls} == {
            method: 3 * 2 * count for method, count in calls.items()
        }
        assert {id_: member.prompt_tokens for id_, member in found.items() if id_ in calls} == {
            method: round(players.characters[method] / 4) for method in calls
        }


@pytest.mark.parametrize("seed", range(50))
def test_a_plan_of_any_kind_is_estimated_within_ten_percent(seed: int) -> None:
    drawn = random.Random(seed)
    kinds = list(drawn.choice([CALLS, LATER_CALLS]))
    methods = drawn.sample(kinds, drawn.randint(1, len(kinds)))
    order, limit = drawn.random() < 0.5, drawn.choice([120, 400, 900])
    if drawn.random() < 0.5:
        plan = plan_of(*methods, swap_order=order, topics=drawn.randint(1, 3), token_limit=limit)
    else:
        plan = judging_plan(*methods, swap_order=order, token_limit=limit)
    players = Players(200, text_lengths(plan.judges[0]))
    (played if plan.source is None else judged)(plan, players)
    found = {id_: member for id_, member in found_by_id(plan).items() if id_ in players.characters}
    assert {id_: member.calls for id_, member in found.items()} == players.calls
    for id_, member in found.items():
        assert member.prompt_tokens == pytest.approx(players.characters[id_] / 4, rel=0.1)
        assert member.cost_usd is not None
        assert member.cost_usd == pytest.approx(Decimal(players.characters[id_]) / 4, rel=Decimal("0.1"))
        assert member.most_usd is not None
        assert players.bounds[id_] <= member.most_usd


@pytest.mark.parametrize("calls", [CALLS, LATER_CALLS])
@pytest.mark.parametrize("swap_order", [False, True])
def test_the_most_bounds_what_the_requests_can_cost(swap_order: bool, calls: dict[str, int]) -> None:
    plan = plan_of(*calls, swap_order=swap_order, topics=2)
    players = Players(400, Texts(speech=1600, debate=1600, reason=480))
    played(plan, players)
    for method, member in found_by_id(plan).items():
        assert member.most_usd is not None
        assert players.bounds[method] <= member.most_usd
        assert players.bounds[method] > Decimal("0.5") * member.most_usd, "and not far below it"


def test_prompts_of_a_simulated_run_have_about_the_estimated_tokens(played: Path) -> None:
    (journal,) = (played / "warehouse" / "journal").glob("*.jsonl")
    events = [event.data for event in read_journal(journal)]
    plan = begun_plan(journal, events[0]["plan"], ())
    used: Counter[str] = Counter()
    for event in events:
        for verdict in event.get("records", {}).get("verdicts", ()):
            used[verdict["judge_id"]] += verdict["prompt_tokens"]
    found = {id_: member.prompt_tokens for id_, member in found_by_id(plan).items() if member.role == "judge"}
    assert found == {judge_id: pytest.approx(used[judge_id], rel=0.2) for judge_id in found}


def test_without_a_limit_there_is_no_bound() -> None:
    plan = plan_of("debatrix_v1", "direct", token_limit=None)
    assert [member.most_usd for member in estimate(plan).members[2:]] == [None, None]


def test_likely_texts_are_not_longer_than_the_limit() -> None:
    simulated = MemberConfig(id="s", provider="simulated", model="s")
    assert text_lengths(simulated) == Texts(speech=770, debate=1050, reason=65)
    assert text_lengths(simulated, is_of_teams=True) == Texts(speech=850, debate=1250, reason=65)
    (short,) = judges_of("debatrix_v1", token_limit=50)
    assert text_lengths(short) == Texts(speech=200, debate=200, reason=160)


def test_a_deliberation_that_was_stopped_counts_only_what_is_missing() -> None:
    plan = plan_of("debatrix_v1", "direct")
    first = plan.debates[0]
    names = [f"verdict:debatrix_v1:clarity:speech:{n}:0" for n in range(4)]
    answered = frozenset([*names, "verdict:debatrix_v1:clarity:speech:2:1", "verdict:direct:0", "turn:0"])

    def left(debate: ScheduledDebate) -> RestOfDebate:
        return RestOfDebate(4, debate.panel, answered) if debate == first else RestOfDebate(4, ())

    rest = estimate(plan, left=left)
    assert [(member.id, member.calls) for member in rest.members[2:]] == [("debatrix_v1", 13), ("direct", 0)]
    assert (rest.debates, rest.turns, rest.verdicts) == (1, 0, 1)
    whole = estimate(
        plan, left=lambda debate: RestOfDebate(4, debate.panel) if debate == first else RestOfDebate(4, ())
    )
    assert 0 < rest.members[2].prompt_tokens < whole.members[2].prompt_tokens
    every = frozenset(f"verdict:debatrix_v1:{call.path}:0" for call in JudgeCalls(plan).of(first, "debatrix_v1").calls)
    assert not JudgeCalls(plan).is_left(first, RestOfDebate(4, first.panel, every | {"verdict:direct:0"}))
    assert JudgeCalls(plan).is_left(first, RestOfDebate(4, first.panel, every))


def test_stored_use_with_one_method_is_not_taken_for_another() -> None:
    plan = plan_of("debatrix_v1", "direct")
    stored = StoredUse(
        verdicts={
            ("p", "debatrix_v1", "direct"): Sums(10, 10_000, 70_000, 0, 8_000, 10),
            ("p", "debatrix_v1", "debatrix_v1"): Sums(10, 170_000, 34_000, 0, 8_000, 170),
            ("p", "other", "direct"): Sums(10, 10_000, 500, 0, 8_000, 20),
        }
    )
    found, assumed = found_by_id(plan, stored), found_by_id(plan)
    assert found["debatrix_v1"].completion_tokens == 2 * 17 * 200
    # A mean over all judges with the method, by request: 70,500 tokens for 30.
    assert found["direct"].completion_tokens == 2 * 2350
    other = StoredUse(verdicts={("p", "debatrix_v1", "dimensional_v1"): Sums(10, 10_000, 70_000, 0, 8_000, 10)})
    assert found_by_id(plan, other)["debatrix_v1"] == assumed["debatrix_v1"], "nothing is known of this method"


def test_tokens_per_character_are_those_of_the_model_with_another_method() -> None:
    plan = plan_of("debatrix_v1", "direct")
    direct = JudgeCalls(plan).of(plan.debates[0], "direct")
    assert len(direct.calls) == 1
    plain = found_by_id(plan)
    # The prompts of `direct` with such speeches, at two tokens for each character.
    players = Players(200, text_lengths(plan.judges[0]))
    played(plan, players)
    prompt = players.characters["direct"]
    markers = 4 * len("[pro | opening]\n\n\n") - 2
    stored = StoredUse(verdicts={("p", "debatrix_v1", "direct"): Sums(2, 2 * prompt, 100, 0, 2 * (800 + markers), 2)})
    found = found_by_id(plan, stored)["debatrix_v1"]
    assert found.completion_tokens == plain["debatrix_v1"].completion_tokens
    assert found.prompt_tokens == pytest.approx(8 * plain["debatrix_v1"].prompt_tokens, rel=0.001)


def test_a_method_that_is_added_is_estimated(monkeypatch: pytest.MonkeyPatch) -> None:
    async def judge(deliberation: Deliberation) -> Decision:
        async def notes(dimension: str) -> Section:
            return await deliberation.analyse("debatrix/debate", [], dimension=dimension)

        await deliberation.for_each(deliberation.config.dimensions, notes)
        return Decision()

    add_method(monkeypatch, "notes", Method(judge, ("debatrix/debate",)))
    plan = plan_of("notes")
    found = estimate(plan)
    assert (found.members[2].calls, found.verdicts) == (4, 2)
    assert found.members[2].completion_tokens == 4 * 1200 / 4
    assert JudgeCalls(plan).calls(plan.debates[0]) == 4 + 2


def baseline(monkeypatch: pytest.MonkeyPatch) -> None:
    async def judge(deliberation: Deliberation) -> Decision:
        return Decision(winners=("pro",))

    add_method(monkeypatch, "coin", Method(judge, is_baseline=True))


def test_a_baseline_costs_nothing_and_takes_no_time(monkeypatch: pytest.MonkeyPatch) -> None:
    baseline(monkeypatch)
    plan = with_coin(plan_of("dimensional_v1", "direct", pricing=None, token_limit=None))
    coin = next(member for member in estimate(plan).members if member.id == "dimensional_v1")
    assert (coin.calls, coin.cost_usd, coin.most_usd) == (0, 0, 0)
    assert "dimensional_v1" not in estimate(plan).unpriced
    stored = Latencies({("p", "ada"): 1000.0, ("p", "bob"): 1000.0}, {("p", "direct"): 3000.0})
    found = estimate_time(plan, stored, 1)
    assert (found.assumed, found.call_s, found.calls) == ((), 14.0, 10)
    check_affordable(
        with_coin(plan_of("dimensional_v1").with_members(plan.debaters, judges_of("dimensional_v1", pricing=None)))
    )


def with_coin(plan: Plan) -> Plan:
    """The plan with the baseline in the place of the judge `dimensional_v1`."""
    judges = [j.model_copy(update={"method": "coin"}) if j.id == "dimensional_v1" else j for j in plan.judges]
    return plan.with_members(plan.debaters, judges)


def test_the_time_of_a_deliberation_is_that_of_its_longest_chain() -> None:
    plan = plan_of("debatrix_v1", "dimensional_v1")
    stored = Latencies(
        {("p", "ada"): 1000.0, ("p", "bob"): 1000.0}, {("p", "debatrix_v1"): 2000.0, ("p", "dimensional_v1"): 10_000.0}
    )
    found = estimate_time(plan, stored, 1)
    assert found.calls == 2 * (4 + 17 + 3)
    assert found.call_s == 2 * (4 + 17 * 2 + 3 * 10)
    # Of 17 requests 4 + 3 wait for each other, 14 s; of 3 it is 2, but those take 20 s.
    assert found.longest_debate_s == 4 + 20


def test_the_progress_of_a_run_counts_the_calls_of_each_method() -> None:
    plan = plan_of(*CALLS)
    calls = JudgeCalls(plan).calls_by_debate()
    assert set(calls.values()) == {4 + sum(CALLS.values())}
    progress = Progress()
    progress.plan_calls(calls)
    first, second = (debate.debate_id for debate in plan.debates)
    assert progress.calls_left == 96
    for _ in range(40):
        progress.answer_used(first)
    assert progress.calls_left == 96 - 40
    for _ in range(20):
        progress.answer_used(first)
    assert progress.calls_left == 48, "the last 12 were asked again"
    progress.debate_ended(debate_of(second))
    assert progress.calls_left == 0


def debate_of(debate_id: str) -> Debate:
    return Debate(run_tag="run", debate_id=debate_id, source_position=0, topic_id="t0", status="incomplete")


def test_calls_of_a_panel_say_how_many_must_follow() -> None:
    plan = plan_of("debatrix_v1", "direct")
    seen: dict[str, int] = {}

    async def ask(step: Step, member: MemberConfig, request: Request) -> Answer:
        seen[step.name] = step.calls_after
        return await Players(200, Texts(9, 9, 9))(step, member, request)

    async def play() -> None:
        judge_calls, debate = JudgeCalls(plan), plan.debates[0]
        turns = [turn async for turn in play_debate(debate, plan, ask, calls_of_panel=judge_calls.depth(debate))]
        await judge_debate(debate, turns, plan, ask, judge_calls=judge_calls)

    asyncio.run(play())
    assert [seen[f"turn:{n}"] for n in range(4)] == [10, 9, 8, 7]
    assert [seen[f"verdict:debatrix_v1:clash:speech:{n}:0"] for n in range(4)] == [6, 5, 4, 3]
    assert [seen[f"verdict:debatrix_v1:{last}:0"] for last in ("clash:debate", "clash:winner", "summary")] == [2, 1, 0]
    assert seen["verdict:direct:0"] == 0


# --- runs that judge stored debates -----------------------------------------------------------------------------------

TEXTS = {"d1": ["Cars kill." * 3, "Cars connect.", "No.", "Größe!"], "d2": ["x" * n for n in (90, 70, 50, 40, 30)]}


def source_debate(debate_id: str) -> SourceDebate:
    teams = list(BP_POSITIONS.items())
    is_of_teams = len(TEXTS[debate_id]) > 4
    places: list[Any] = [teams[n % 4] if is_of_teams else (("pro", "con")[n % 2],) * 2 for n in range(5)]
    return SourceDebate(
        debate_id=debate_id,
        topic_id="t0",
        format="british_parliamentary" if is_of_teams else "two_sided",
        speakers=tuple(SourceSpeaker(position=p, side=side, model_id=p) for p, side in dict.fromkeys(places)),
        speeches=tuple(
            SourceSpeech(position=place[0], side=place[1], stage=None if is_of_teams else "case", characters=len(text))
            for place, text in zip(places, TEXTS[debate_id], strict=False)
        ),
        sha256="0" * 64,
    )


def judging_plan(*methods: str, swap_order: bool = False, **settings: Any) -> Plan:
    played = plan_of(*methods, swap_order=swap_order, **settings)
    panel = tuple(judge.id for judge in played.judges)
    debates = tuple(
        ScheduledDebate(
            run_tag="run", debate_id=f"{of}-{trial}", schedule_position=n, topic_id="t0", pro_model_id=None,
            con_model_id=None, repetition=None, debate_seed=n, panel=panel, source_debate_id=of, trial=trial,
            con_first=panel[:1] if swap_order else (),
        )
        for n, (of, trial) in enumerate((of, trial) for of in TEXTS for trial in (1, 2))
    )  # fmt: skip
    source = Source(run_tag="before", debaters=(), debates=tuple(map(source_debate, TEXTS)))
    fields = {name: getattr(played, name) for name in Plan.model_fields}
    config = played.config.model_copy(update={"rounds": ()})
    return Plan(**{**fields, "config": config, "debates": debates, "source": source, "debaters": ()})


def judged(plan: Plan, players: Players) -> None:
    assert plan.source is not None
    for debate in plan.debates:
        stored = plan.source.by_id[str(debate.source_debate_id)]
        turns = tuple(
            Turn(run_tag="run", debate_id=debate.debate_id, turn_index=n, position=speech.position, side=speech.side,
                 model_id="x", stage=speech.stage, content=text)
            for n, (speech, text) in enumerate(zip(stored.speeches, TEXTS[stored.debate_id], strict=True))
        )  # fmt: skip
        topic = plan.topic(debate.topic_id)
        transcript = Transcript("run", debate.debate_id, 1, topic.motion, topic.category, topic.info_slide, turns)
        for n, judge_id in enumerate(debate.panel):
            seat = Seat(n, plan.judge(judge_id), first=shown_first(plan, debate, judge_id))
            judgment = asyncio.run(ask_judge(seat, plan.config, plan.prompts, transcript, players))
            assert judgment.verdict.is_valid, judgment.verdict.invalid_reason


@pytest.mark.parametrize("swap_order", [False, True])
def test_stored_debates_are_estimated_by_their_own_speeches(swap_order: bool) -> None:
    plan = judging_plan(*CALLS, swap_order=swap_order)
    players = Players(0, text_lengths(plan.judges[0]))
    judged(plan, players)
    found = estimate(plan)
    # Two debates of four speeches and two positions, and two of five speeches and four positions.
    assert (found.turns, found.verdicts, found.calls) == (0, 20, 2 * sum(CALLS.values()) + 2 * (1 + 7 + 3 + 23 + 23))
    assert {member.id: member.prompt_tokens for member in found.members} == {
        method: round(characters / 4) for method, characters in players.characters.items()
    }
    for member in found.members:
        assert member.most_usd is not None
        assert players.bounds[member.id] <= member.most_usd
    assert JudgeCalls(plan).calls_by_debate() == {
        "d1-1": 44, "d1-2": 44, "d2-1": 57, "d2-2": 57
    }  # fmt: skip


def test_the_time_of_stored_debates_is_that_of_their_judges() -> None:
    plan = judging_plan("debatrix_v1")
    found = estimate_time(plan, Latencies({}, {("p", "debatrix_v1"): 1000.0}), 1000)
    assert (found.calls, found.longest_debate_s, found.least_s) == (2 * 17 + 2 * 23, 8.0, 8.0)
