"""A judge method is rehearsed with made-up answers, and its real prompts are as long as those of the rehearsal."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from added import add_method
from hypothesis import given, settings
from hypothesis import strategies as st
from scripted_ask import tiny_config
from steady_judge import Judge
from virtual_time import in_virtual_time, now

from debatebench.config.answer_form import AnswerForm
from debatebench.config.prompt_files import load_prompts
from debatebench.config.prompts import PromptSet, topic_values
from debatebench.config.transcript_layout import BP_POSITIONS, Section, escape_material, escape_speech
from debatebench.config.types import Config, DimensionConfig, MemberConfig, Pricing, SideGuidance
from debatebench.judges import ask_judge, debatrix, templates_of
from debatebench.judges.base import Judgment, Seat, Transcript
from debatebench.judges.deliberation import Decision, Deliberation, Method
from debatebench.judges.rehearsal import Place, RehearsedCall, RehearsedDeliberation, Texts, rehearse
from debatebench.play.budget import largest_cost
from debatebench.shared.errors import DebatebenchError
from debatebench.shared.records import Turn
from debatebench.shared.workspace import Workspace

FORMULAS = {
    "direct": lambda n, d, p: (1, 1),
    "chronological_v1": lambda n, d, p: (n + 2, n + 2),
    "dimensional_v1": lambda n, d, p: (d + 1, 2),
    "non_iterative_v1": lambda n, d, p: (d * (n + p + 2) + 1, 4),
    "debatrix_v1": lambda n, d, p: (d * (n + p + 2) + 1, n + 3),
    "whole_debate": lambda n, d, p: (p + 2, 2),
    "chronological_v2": lambda n, d, p: (n + p + 2, n + 2),
    "dimensional_v2": lambda n, d, p: (d * (p + 2) + p + 2, 4),
    "non_iterative_v2": lambda n, d, p: (d * (n + p + 2) + p + 2, 5),
    "debatrix_v2": lambda n, d, p: (d * (n + p + 2) + p + 2, n + 4),
}
"""Method → the calls for n speeches, d dimensions and p positions, and how many of them wait for each other."""


def config_of(dimensions: int) -> Config:
    asked = {"Cities": SideGuidance(pro="Pro must build.", con="Con must not.")}
    scales = [
        DimensionConfig(min=1, max=10, description="Is it good?", by_category=asked),
        DimensionConfig(min=0, max=Decimal("2.5")),
    ]
    return tiny_config(dimensions={f"d{n}": scales[n % 2] for n in range(dimensions)})


def prompts_of(config: Config, judge: MemberConfig) -> PromptSet:
    return load_prompts(Workspace(Path("/nonexistent")), config, [judge], templates_of=templates_of)


def judge_of(method: str, **settings: Any) -> MemberConfig:
    return MemberConfig(id="j", provider="p", model="m", method=method, **settings)


def places_of(speeches: int, *, is_of_teams: bool) -> list[Place]:
    if is_of_teams:
        teams = list(BP_POSITIONS.items())
        return [Place(*teams[n % 4], f"speech {n // 4 + 1}") for n in range(speeches)]
    return [Place("con", "con", "reply") if n % 2 else Place("pro", "pro", "opening") for n in range(speeches)]


def transcript_of(places: Sequence[Place], texts: Sequence[str], **topic: Any) -> Transcript:
    turns = tuple(
        Turn(run_tag="t", debate_id="d", turn_index=n, position=place.position, side=place.side, model_id="x",
             stage=place.stage, content=text)
        for n, (place, text) in enumerate(zip(places, texts, strict=True))
    )  # fmt: skip
    known = {"motion": "Ban cars.", "category": None, "info_slide": None, **topic}
    return Transcript("t", "d", 7, **known, turns=turns)


def judged(seat: Seat, config: Config, prompts: PromptSet, transcript: Transcript, ask: Judge) -> Judgment:
    return asyncio.run(ask_judge(seat, config, prompts, transcript, ask))


@pytest.mark.parametrize("method", FORMULAS)
@pytest.mark.parametrize(("speeches", "dimensions", "is_of_teams"), [(1, 1, False), (4, 2, False), (5, 3, True)])
def test_a_rehearsal_has_the_calls_of_the_method(
    method: str, speeches: int, dimensions: int, is_of_teams: bool
) -> None:
    config, judge = config_of(dimensions), judge_of(method)
    places = places_of(speeches, is_of_teams=is_of_teams)
    found = rehearse(judge, config, prompts_of(config, judge), places, None)
    calls, depth = FORMULAS[method](speeches, dimensions, 4 if is_of_teams else 2)
    assert (len(found.calls), len(found.paths), found.depth) == (calls, calls, depth)


@pytest.mark.parametrize("method", FORMULAS)
def test_the_longest_chain_of_calls_is_the_time_that_a_deliberation_takes(method: str) -> None:
    config, judge = config_of(2), judge_of(method)
    places, prompts = places_of(4, is_of_teams=False), prompts_of(config, judge)
    transcript = transcript_of(places, ["Said."] * 4)

    async def play() -> float:
        ask = Judge(Texts(10, 10, 10), is_timed=True)
        judgment = await ask_judge(Seat(0, judge), config, prompts, transcript, ask)
        assert judgment.verdict.is_valid, judgment.verdict.invalid_reason
        return now()

    found = rehearse(judge, config, prompts, places, None)
    assert found.depth == in_virtual_time(play)
    assert found.calls_after[found.calls[-1].path] == 0
    assert max(found.calls_after.values()) == found.depth - 1


def length_of(call: RehearsedCall, texts: Sequence[str], lengths: Texts, topic: dict[str, str]) -> int:
    said = sum(count * len(text) for count, text in zip(call.speeches, texts, strict=True))
    of_topic = sum(count * len(topic[name]) for name, count in call.topic.items())
    return call.characters + said + call.shown.times(lengths) + of_topic


@settings(max_examples=60, deadline=None)
@given(
    method=st.sampled_from(list(FORMULAS)),
    texts=st.lists(st.text("aä[] \n", min_size=1, max_size=30).map(lambda text: f"x{text}x"), min_size=2, max_size=6),
    is_of_teams=st.booleans(),
    first=st.sampled_from([None, "pro", "con"]),
    category=st.sampled_from([None, "cities", "Städte"]),
    slide=st.sampled_from([None, "Cars are fast.", "[Og] is a team, and\n[pro] a side."]),
    motion=st.sampled_from(["Ban cars.", "Größe zählt 🚗", "[Debate] This house"]),
    dimensions=st.integers(1, 3),
    lengths=st.tuples(*[st.integers(1, 40)] * 3).map(lambda lengths: Texts(*lengths)),
)
def test_rehearsed_prompts_are_as_long_as_the_real_ones(
    method: str, texts: list[str], is_of_teams: bool, first: Any, category: str | None, slide: str | None, motion: str,
    dimensions: int, lengths: Texts,
) -> None:  # fmt: skip
    config, judge = config_of(dimensions), judge_of(method)
    prompts, places = prompts_of(config, judge), places_of(len(texts), is_of_teams=is_of_teams)
    found = rehearse(judge, config, prompts, places, first, category)
    topic = {"motion": motion, "category": category, "info_slide": slide}
    ask = Judge(lengths)
    judgment = judged(Seat(0, judge, first=first), config, prompts, transcript_of(places, texts, **topic), ask)
    assert judgment.verdict.is_valid, judgment.verdict.invalid_reason
    escape = escape_material if found.shows_material else escape_speech
    shown = topic_values(motion, category, slide, escape)
    said = [escape(text) for text in texts]
    real = {path: sum(len(message.content) for message in each.messages) for path, each in ask.requests.items()}
    assert {call.path: length_of(call, said, lengths, shown) for call in found.calls} == real
    answers = {call.path: call.said_characters + call.said.times(lengths) for call in found.calls}
    assert answers == {path: len(text) for path, text in ask.answers.items()}


@pytest.mark.parametrize("is_of_teams", [False, True])
@pytest.mark.parametrize("method", FORMULAS)
def test_a_judge_is_told_what_the_category_asks_of_each_side(method: str, is_of_teams: bool) -> None:
    config, judge = config_of(2), judge_of(method)
    prompts, places = prompts_of(config, judge), places_of(4, is_of_teams=is_of_teams)

    def told(category: str | None) -> dict[str, tuple[bool, bool]]:
        ask = Judge(Texts(9, 9, 9))
        judged(Seat(0, judge), config, prompts, transcript_of(places, ["Said."] * 4, category=category), ask)
        texts = {path: "".join(each.content for each in it.messages) for path, it in ask.requests.items()}
        pro, con = ("OG and CG", "OO and CO") if is_of_teams else ("PRO", "CON")
        wanted = (f"{pro} in the category Cities: Pro must build.", f"{con} in the category Cities: Con must not.")
        return {path: (wanted[0] in text, wanted[1] in text) for path, text in texts.items()}

    assert set(told("villages").values()) | set(told(None).values()) == {(False, False)}
    knows = told("cities")
    if method.endswith("_v1"):
        assert set(knows.values()) == {(False, False)}
        return
    # Who reads a text for its scores or its winner, or weighs the texts on dimensions, needs no more than the text.
    later = ("pro", "con", *BP_POSITIONS, "winner", "summary")
    for path, found in knows.items():
        is_on_it = not path.startswith("d1") and path.rpartition(":")[2] not in later
        assert found == (is_on_it, is_on_it), path


@pytest.mark.parametrize("method", FORMULAS)
def test_no_prompt_has_more_bytes_than_its_rehearsal_says(method: str) -> None:
    config, price = config_of(2), Pricing(prompt=Decimal(1), completion=Decimal(0))
    judge = judge_of(method, pricing=price, token_limit=100)
    places, prompts = places_of(4, is_of_teams=False), prompts_of(config, judge)
    total = rehearse(judge, config, prompts, places, None).total
    ask = Judge(Texts(400, 400, 60))
    judged(Seat(0, judge), config, prompts, transcript_of(places, ["x" * 50] * 4, category="c"), ask)
    sent = sum(largest_cost(request, judge) or 0 for request in ask.requests.values())
    topic = total.topic["motion"] * len("Ban cars.") + total.topic["category"]
    answers = total.shown_answers * 400
    bound = total.most_bytes + topic + sum(total.speeches) * 50 + answers + len(ask.requests) * 96
    assert bound - answers <= sent <= bound


def test_a_character_of_the_templates_is_not_taken_for_a_speech() -> None:
    config, judge = config_of(1), judge_of("direct")
    plain = prompts_of(config, judge)
    private = "".join(map(chr, range(0xF0000, 0xF0000 + 20)))
    odd = plain.model_copy(update={"templates": {**plain.templates, "judge_default": f"{private}{{{{ motion }}}}"}})
    places = places_of(2, is_of_teams=False)
    call = rehearse(judge, config, odd, places, None).total
    assert (call.topic["motion"], call.speeches) == (2, (1, 1))
    assert call.characters > len(private)


def test_a_small_context_window_does_not_end_a_rehearsal() -> None:
    config = config_of(1)
    prompts, places = prompts_of(config, judge_of("debatrix_v1")), places_of(2, is_of_teams=False)
    wide = rehearse(judge_of("debatrix_v1"), config, prompts, places, None)
    small = rehearse(judge_of("debatrix_v1", context_window=1, token_limit=9), config, prompts, places, None)
    assert wide.calls == small.calls


def test_a_baseline_has_no_calls(monkeypatch: pytest.MonkeyPatch) -> None:
    async def judge(deliberation: Deliberation) -> Decision:
        raise AssertionError("it is not asked")

    add_method(monkeypatch, "coin", Method(judge, is_baseline=True))
    config = config_of(1)
    found = rehearse(judge_of("coin"), config, prompts_of(config, judge_of("direct")), [], None)
    assert (found.calls, found.depth, found.total.characters) == ((), 0, 0)


def rehearsed_alone(method: Any, monkeypatch: pytest.MonkeyPatch) -> RehearsedDeliberation:
    """The rehearsal of a method that a test adds, with the templates of another."""
    add_method(monkeypatch, "new", Method(method, debatrix.METHOD.stages))
    config = config_of(2)
    prompts, places = prompts_of(config, judge_of("debatrix_v1")), places_of(3, is_of_teams=False)
    return rehearse(judge_of("new"), config, prompts, places, None)


def test_a_new_method_is_rehearsed_and_branches_of_different_lengths_are_told_apart(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def judge(deliberation: Deliberation) -> Decision:
        async def notes(dimension: str) -> Section:
            note = await deliberation.analyse("debatrix/debate", [], dimension=dimension)
            if dimension == "d1":
                note = await deliberation.analyse(
                    "debatrix/speech", [note], dimension="d1", speech=deliberation.speeches[0]
                )
            return note

        found = await deliberation.for_each(deliberation.config.dimensions, notes)
        form = AnswerForm(deliberation.config.dimensions, deliberation.positions)
        answer = await deliberation.decide("debatrix/summary", found, form)
        return Decision(answer.scores)

    found = rehearsed_alone(judge, monkeypatch)
    assert [(call.path, call.depth, call.calls_after) for call in found.calls] == [
        ("d0:debate", 1, 1),
        ("d1:debate", 1, 2),
        ("d1:speech:0", 2, 1),
        ("summary", 3, 0),
    ]
    assert found.calls[-1].shown == Texts(speech=1, debate=1)
    assert [call.path for call in found.without({"d0:debate", "summary"}).calls] == ["d1:debate", "d1:speech:0"]


def test_a_method_that_waits_for_something_else_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    async def judge(deliberation: Deliberation) -> Decision:
        await asyncio.sleep(0)
        return Decision()

    with pytest.raises(DebatebenchError, match="'new' waits for something besides its deliberation"):
        rehearsed_alone(judge, monkeypatch)
