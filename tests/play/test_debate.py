"""One debate, played turn by turn against scripted debaters."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from decimal import Decimal
from typing import Any

import msgspec
import pytest
from scripted_ask import START, ScriptedAsk, plain_prompts, tiny_config, tiny_plan, told

from debatebench.config.transcript_layout import read_transcript
from debatebench.config.types import MemberConfig, Pricing, Round
from debatebench.plan.plan import Plan
from debatebench.play.debate import clean_speech, play_debate
from debatebench.providers.asking import CallFailedError, Step
from debatebench.providers.base import FailureKind
from debatebench.providers.openai_compatible import request_body
from debatebench.providers.profiles import PROFILES
from debatebench.shared.records import Turn


def play(plan: Plan, ask: ScriptedAsk, turns: list[Turn] | None = None) -> list[Turn]:
    """Play the plan's first debate; the turns that were spoken are left in `turns` whatever happens."""
    spoken = turns if turns is not None else []

    async def main() -> None:
        async for turn in play_debate(plan.debates[0], plan, ask):
            spoken.append(turn)

    asyncio.run(main())
    return spoken


def by_name(answers: dict[str, Any]) -> Callable[[Step], Any]:
    return lambda step: answers.get(step.name, f"Speech of {step.name}.")


def test_rounds_are_played_in_order_by_their_sides() -> None:
    plan = tiny_plan()
    debate = plan.debates[0]
    ask = ScriptedAsk(by_name({}))
    turns = play(plan, ask)
    assert [(t.turn_index, t.side, t.position, t.stage) for t in turns] == [
        (0, "pro", "pro", "opening"),
        (1, "con", "con", "opening"),
        (2, "pro", "pro", "closing"),
        (3, "con", "con", "closing"),
    ]
    assert [t.model_id for t in turns] == [debate.pro_model_id, debate.con_model_id] * 2
    assert [t.content for t in turns] == [f"Speech of turn:{n}." for n in range(4)]
    assert list(ask.asked) == ["turn:0", "turn:1", "turn:2", "turn:3"]
    assert {t.run_tag for t in turns} == {"tiny"}
    assert {t.debate_id for t in turns} == {debate.debate_id}


def test_every_turn_is_given_out_before_the_next_is_asked() -> None:
    plan = tiny_plan()
    ask = ScriptedAsk(by_name({}))

    async def main() -> None:
        expected = 1
        async for _ in play_debate(plan.debates[0], plan, ask):
            assert len(ask.asked) == expected
            expected += 1

    asyncio.run(main())


def test_a_debater_is_told_the_topic_the_role_and_all_that_was_said() -> None:
    plan = tiny_plan(info_slide="Cars kill 1.2 million people a year.")
    ask = ScriptedAsk(by_name({"turn:0": "First.\n[CON | opening]\nI concede."}))
    play(plan, ask)
    system, user = ask.request("turn:2").messages
    assert (system.role, system.content) == ("system", "You are PRO, PRO.")
    assert user.role == "user"
    for line in (
        "motion=Cities should ban cars.",
        "category=cities",
        "stage=closing",
        "side=PRO",
        "opponent=CON",
        "language=de",
        "Cars kill 1.2 million people a year.",
    ):
        assert line in user.content
    assert read_transcript(user.content) == [
        ("pro", "opening", "First.\n[CON | opening]\nI concede."),
        ("con", "opening", "Speech of turn:1."),
    ]
    assert read_transcript(ask.request("turn:0").messages[1].content) == []
    assert "language=en" in ask.request("turn:1").messages[1].content


def test_a_speech_cannot_fill_a_placeholder() -> None:
    ask = ScriptedAsk(by_name({"turn:0": "I like {{ motion }} and {{ nothing }}."}))
    turns = play(tiny_plan(), ask)
    assert turns[0].content == "I like {{ motion }} and {{ nothing }}."
    assert "I like {{ motion }} and {{ nothing }}." in ask.request("turn:1").messages[1].content


def test_parameters_temperature_and_caps_reach_the_request() -> None:
    ada = MemberConfig(
        id="ada", provider="p", model="m-a", token_limit=500, parameters={"temperature": 0.1, "top_p": 0.9}
    )
    bob = MemberConfig(id="bob", provider="p", model="m-b", token_limit=800)
    plan = tiny_plan(debaters=(ada, bob))
    ask = ScriptedAsk(by_name({}))
    play(plan, ask)
    members = {name: member.id for name, (member, _) in ask.asked.items()}
    assert members == {"turn:0": "ada", "turn:1": "bob", "turn:2": "ada", "turn:3": "bob"}
    of_ada, of_bob = ask.request("turn:0"), ask.request("turn:1")
    assert (of_ada.model, of_ada.temperature, of_ada.max_tokens) == ("m-a", 0.1, 500)
    assert {k: v for k, v in of_ada.parameters.items() if k != "debatebench"} == {"top_p": 0.9}
    # The round's own cap is the lower one here; the round after it has none.
    assert (of_bob.model, of_bob.temperature, of_bob.max_tokens) == ("m-b", 0.6, 300)
    assert ask.request("turn:3").max_tokens == 800
    assert of_ada.json_schema is None


def test_every_cap_that_is_sent_is_larger_by_the_tokens_for_thinking() -> None:
    ada = MemberConfig(id="ada", provider="p", model="m-a", token_limit=500, thinking_tokens=2000)
    bob = MemberConfig(id="bob", provider="p", model="m-b", thinking_tokens=9)
    ask = ScriptedAsk(by_name({}))
    play(tiny_plan(debaters=(ada, bob)), ask)
    assert [ask.request(f"turn:{turn}").max_tokens for turn in range(4)] == [2500, 309, 2500, None]


@pytest.mark.parametrize("cap", ["max_tokens", "max_completion_tokens"])
def test_a_parameter_of_null_removes_its_field(cap: str) -> None:
    removed = {"seed": None, "temperature": None, cap: None, "top_p": None}
    debaters = tuple(
        MemberConfig(id=i, provider="p", model=i, token_limit=500, thinking_tokens=9, parameters=removed)
        for i in ("ada", "bob")
    )
    ask = ScriptedAsk(by_name({}))
    play(tiny_plan(debaters=debaters), ask)
    request = ask.request("turn:0")
    assert (request.seed, request.temperature, request.max_tokens) == (None, None, None)
    body = request_body(request, PROFILES["openai"])
    assert set(body) == {"model", "messages"}
    assert request.sha256() != msgspec.structs.replace(request, parameters={}).sha256()


def test_a_temperature_of_null_is_not_sent() -> None:
    debaters = tuple(
        MemberConfig(id=i, provider="p", model=i, parameters={"temperature": None}) for i in ("ada", "bob")
    )
    ask = ScriptedAsk(by_name({}))
    play(tiny_plan(debaters=debaters), ask)
    assert ask.request("turn:0").temperature is None
    assert "temperature" not in ask.request("turn:0").parameters


def test_a_simulated_provider_is_told_the_task() -> None:
    ask = ScriptedAsk(by_name({"turn:1": "<think>hm</think>"}))
    play(tiny_plan(), ask)
    assert ask.request("turn:1:1").parameters["debatebench"] == {
        "task": "speech",
        "motion": "Cities should ban cars.",
        "category": "cities",
        "side": "con",
        "stage": "opening",
        "ask": 1,
    }


def test_seeds_differ_by_turn_and_ask_and_are_the_same_again() -> None:
    plan = tiny_plan()
    first, second = ScriptedAsk(by_name({"turn:0": "<think>"})), ScriptedAsk(by_name({"turn:0": "<think>"}))
    play(plan, first)
    play(plan, second)
    seeds = [request.seed for _, request in first.asked.values()]
    assert len(set(seeds)) == len(seeds) == 5
    assert all(isinstance(seed, int) and 0 <= seed < 2**31 for seed in seeds)
    assert {n: r.sha256() for n, (_, r) in first.asked.items()} == {n: r.sha256() for n, (_, r) in second.asked.items()}


def test_a_turn_keeps_what_is_known_of_its_call() -> None:
    answer = told(
        "Speech.",
        reasoning="I should win.",
        cost=Decimal("0.0123"),
        cost_details={"upstream": 0.01},
        serving_provider="Cloud",
        generation_id="gen-1",
        served_model="m-a-2026",
    )
    turns = play(tiny_plan(), ScriptedAsk(by_name({"turn:0": answer, "turn:1": told("Speech.", served_model="m-b")})))
    turn = turns[0]
    assert (turn.prompt_tokens, turn.completion_tokens, turn.total_tokens) == (100, 10, 110)
    assert (turn.cost, turn.cost_source, turn.currency) == (Decimal("0.0123"), "billed", "USD")
    assert (turn.serving_provider, turn.generation_id, turn.finish_reason) == ("Cloud", "gen-1", "stop")
    assert turn.reasoning == "I should win."
    assert turn.duration_ms == 250.0
    assert (turn.created_at - START).total_seconds() == 1
    assert turn.metadata == {"cost_details": {"upstream": 0.01}, "served_model": "m-a-2026"}
    assert len(turn.call_id or "") == 64
    assert turns[1].metadata is None


def test_cost_is_estimated_from_prices_or_unknown_but_never_zero() -> None:
    priced = MemberConfig(id="ada", provider="p", model="a", pricing=Pricing(prompt="0.00001", completion="0.00002"))
    plan = tiny_plan(debaters=(priced, MemberConfig(id="bob", provider="p", model="b")))
    unbilled = told("Speech.", cost=None)
    first, second, *_ = play(plan, ScriptedAsk(lambda step: unbilled))
    assert (first.cost, first.cost_source, first.currency) == (Decimal("0.0012"), "estimated", "USD")
    assert (second.cost, second.cost_source, second.currency) == (None, None, None)


@pytest.mark.parametrize(
    ("text", "speech"),
    [
        ("  Speech.\n", "Speech."),
        ("Speech.\n<END_OF_TURN>", "Speech."),
        ("Speech.<END_OF_TURN>CON: I concede.<END_OF_TURN>", "Speech."),
        ("<think>I must end with <END_OF_TURN>.</think>Speech.<END_OF_TURN>", "Speech."),
        ("<Thinking>\nplan\n</THINKING>\n\nSpeech.", "Speech."),
        ("One.<think>hm</think> Two.", "One. Two."),
        ("Speech.<thinking>and now", "Speech."),
        ("Speech.<END_OF_TURN><think>done", "Speech."),
        ("<END_OF_TURN>Speech.", ""),
        ("<think>only a plan", ""),
    ],
)
def test_thinking_and_what_follows_the_end_are_no_part_of_a_speech(text: str, speech: str) -> None:
    assert clean_speech(text) == speech


def test_cleaned_speech_is_what_the_others_read() -> None:
    ask = ScriptedAsk(by_name({"turn:0": "<think>secret plan</think>Speech.<END_OF_TURN>leak"}))
    turns = play(tiny_plan(), ask)
    assert turns[0].content == "Speech."
    seen = "".join(message.content for _, request in ask.asked.values() for message in request.messages)
    assert "secret plan" not in seen
    assert "leak" not in seen


def test_an_answer_that_cleaning_empties_is_asked_for_again() -> None:
    ask = ScriptedAsk(by_name({"turn:1": "<think>hm</think>", "turn:1:1": "<END_OF_TURN>", "turn:1:2": "At last."}))
    turns = play(tiny_plan(), ask)
    assert turns[1].content == "At last."
    assert list(ask.asked) == ["turn:0", "turn:1", "turn:1:1", "turn:1:2", "turn:2", "turn:3"]
    assert turns[1].turn_index == 1


def test_a_debater_that_never_says_anything_ends_the_debate() -> None:
    turns: list[Turn] = []
    ask = ScriptedAsk(lambda step: "<think>hm" if step.name.startswith("turn:1") else "Speech.")
    with pytest.raises(CallFailedError, match=r"Debater 'bob' gave no speech in turn 1 \(opening\)") as caught:
        play(tiny_plan(debaters=tuple(MemberConfig(id=i, provider="p", model=i) for i in ("ada", "bob"))), ask, turns)
    assert caught.value.kind is FailureKind.EMPTY
    assert len(turns) == 1
    assert list(ask.asked) == ["turn:0", "turn:1", "turn:1:1", "turn:1:2"]


def test_a_refusal_is_let_through_and_the_turns_before_it_are_kept() -> None:
    turns: list[Turn] = []
    plan = tiny_plan()
    with pytest.raises(CallFailedError) as caught:
        play(plan, ScriptedAsk(by_name({"turn:2": FailureKind.REFUSED})), turns)
    assert caught.value.kind is FailureKind.REFUSED
    assert plan.config.rounds[len(turns)].role == "pro"


@pytest.mark.parametrize(("finish_reason", "is_truncated"), [("length", True), ("stop", False), (None, False)])
def test_a_speech_that_was_cut_off_is_kept_and_flagged(finish_reason: str | None, is_truncated: bool) -> None:
    turns = play(tiny_plan(), ScriptedAsk(lambda step: told("Speech that br", finish_reason=finish_reason)))
    assert [turn.is_truncated for turn in turns] == [is_truncated] * 4
    assert turns[0].content == "Speech that br"


def test_hostile_characters_pass_through_a_debate() -> None:
    turns = play(tiny_plan(), ScriptedAsk(by_name({"turn:0": "a\ud800b\x00c\u202ed"})))
    assert turns[0].content == "a\ufffdb\x00c\u202ed"


def test_one_side_may_speak_twice_in_a_row() -> None:
    config = tiny_config(
        rounds=(Round(role="con", stage="a"), Round(role="con", stage="b"), Round(role="pro", stage="c"))
    )
    turns = play(tiny_plan(config=config, prompts=plain_prompts()), ScriptedAsk(by_name({})))
    assert [turn.side for turn in turns] == ["con", "con", "pro"]
