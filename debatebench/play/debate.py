"""One debate, played turn by turn."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Callable
from itertools import count

import msgspec

from debatebench.config.prompts import debater_values
from debatebench.config.transcript_layout import speeches_so_far
from debatebench.config.types import MemberConfig, Round, TopicConfig
from debatebench.plan.plan import Plan
from debatebench.providers.asking import Answer, Ask, CallFailedError, Step
from debatebench.providers.base import FailureKind, Message, Request
from debatebench.providers.prices import cost_of
from debatebench.providers.requests import is_cut_off, request_to, seed_of
from debatebench.providers.thinking import split_thinking, strip_thinking
from debatebench.shared.records import ScheduledDebate, Turn

_END_OF_TURN = re.compile(r"<\s*END_OF_TURN\s*>", re.IGNORECASE)
_ASKS_PER_TURN = 3


async def play_debate(
    debate: ScheduledDebate,
    plan: Plan,
    ask: Ask,
    may_ask_again: Callable[[int], bool] = lambda _: False,
    *,
    calls_of_panel: int = 1,
) -> AsyncIterator[Turn]:
    """Play the rounds of the plan in order and yield each turn as soon as it is available.

    A speech that is empty after cleaning is requested up to twice more, and as often again whenever `may_ask_again`,
    called with 1, 2 and so on, says so. Does not catch `CallFailedError`, which is
    raised when a debater gives no speech (kind `REFUSED` when it was refused): the one at fault is that of the round
    after the last turn yielded. `calls_of_panel` is how many calls follow the last turn, one after another.
    """
    topic = plan.topic(debate.topic_id)
    members = {position: plan.debater(debater_id) for position, debater_id in debate.speakers.items()}
    turns: list[Turn] = []
    for round_ in plan.config.rounds:
        context = _TurnContext(debate, plan, topic, members[round_.role], round_, tuple(turns), calls_of_panel)
        answer, speech = await _speak(context, ask, may_ask_again)
        turns.append(_turn_record(context, answer, speech))
        yield turns[-1]


def clean_speech(text: str) -> str:
    """A debater's speech: without thinking blocks, text from the first `<END_OF_TURN>` on, and outer whitespace.

    Thinking is removed first, because a debater may mention the marker in it.
    """
    said = strip_thinking(text)
    return _END_OF_TURN.split(said, maxsplit=1)[0].strip() if "<" in said else said.strip()


class _TurnContext(msgspec.Struct, frozen=True):
    """One turn: its debate and speaker, and the speeches before it."""

    debate: ScheduledDebate
    plan: Plan
    topic: TopicConfig
    member: MemberConfig
    round: Round
    turns: tuple[Turn, ...]
    calls_of_panel: int


async def _speak(context: _TurnContext, ask: Ask, may_ask_again: Callable[[int], bool]) -> tuple[Answer, str]:
    """The answer of the debater whose turn it is, and the speech in it."""
    turn_index = len(context.turns)
    for number in count():
        again, is_next = divmod(number, _ASKS_PER_TURN)
        if again and not is_next and not may_ask_again(again):
            break
        name = f"turn:{turn_index}" + (f":{number}" if number else "")
        calls_after = len(context.plan.config.rounds) - turn_index - 1 + context.calls_of_panel
        step = Step(context.debate.debate_id, name, "turn", calls_after)
        answer = await ask(step, context.member, _request(context, step, number))
        if speech := clean_speech(answer.completion.text):
            return answer, speech
    raise CallFailedError(
        FailureKind.EMPTY,
        f"Debater '{context.member.id}' gave no speech in turn {turn_index} ({context.round.stage}): none of "
        f"{number} answers held more than thinking and end markers.",
        answer.call_id,
    )


def _request(context: _TurnContext, step: Step, number: int) -> Request:
    """The request to the debater; `number` counts its repetitions from 0."""
    topic, prompts = context.topic, context.plan.prompts
    cap = context.round.token_cap(context.member)
    values = debater_values(
        context.plan.config,
        context.round,
        motion=topic.motion,
        category=topic.category,
        info_slide=topic.info_slide,
        transcript=speeches_so_far(context.turns, is_of_teams=context.round.is_of_team),
        token_cap=cap,
    )
    weakness = context.plan.weakness_in(context.debate, len(context.turns))
    system, user = prompts.speaking(values, context.round, None if weakness is None else weakness.instruction)
    return request_to(
        context.member,
        (Message("system", system), Message("user", user)),
        temperature=context.plan.config.temperature,
        max_tokens=cap,
        seed=seed_of(context.debate.debate_seed, step.name),
        hints={
            "task": "speech",
            "motion": topic.motion,
            "category": topic.category,
            "side": context.round.side,
            **({"position": context.round.role} if context.round.is_of_team else {}),
            "stage": context.round.stage,
            "ask": number,
            **({} if weakness is None else {"weakness": weakness.id}),
        },
    )


def _turn_record(context: _TurnContext, answer: Answer, speech: str) -> Turn:
    """The row of `raw.turns`."""
    said = answer.completion
    cost = cost_of(said, context.member)
    metadata = {
        "cost_details": dict(said.cost_details) if said.cost_details else None,
        "served_model": said.served_model if said.served_model != context.member.model else None,
    }
    return Turn(
        run_tag=context.plan.run_tag,
        debate_id=context.debate.debate_id,
        turn_index=len(context.turns),
        position=context.round.role,
        side=context.round.side,
        model_id=context.member.id,
        stage=context.round.stage,
        instruction=context.round.instruction,
        content=speech,
        reasoning=said.reasoning or split_thinking(said.text)[1] or None,
        created_at=answer.received_at,
        duration_ms=answer.duration_ms,
        prompt_tokens=said.prompt_tokens,
        completion_tokens=said.completion_tokens,
        total_tokens=said.total_tokens,
        cost=cost.usd,
        cost_source=cost.source,
        currency=said.currency or ("USD" if cost.usd is not None else None),
        finish_reason=said.finish_reason,
        is_truncated=is_cut_off(said),
        serving_provider=said.serving_provider,
        generation_id=said.generation_id,
        call_id=answer.call_id,
        metadata={name: value for name, value in metadata.items() if value is not None} or None,
    )
