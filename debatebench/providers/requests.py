"""The request to a debater or judge, its seed, and whether its answer was cut off."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from debatebench.config.types import MemberConfig
from debatebench.providers.base import Completion, Message, Request
from debatebench.providers.failure_tables import CUT_OFF
from debatebench.shared.hashing import hash_of

HINTS = "debatebench"
"""The reserved parameter that describes the request to a simulated provider; other providers do not send it."""


def request_to(
    member: MemberConfig,
    messages: Sequence[Message],
    *,
    temperature: float,
    max_tokens: int | None,
    seed: int,
    hints: Mapping[str, Any],
    json_schema: Mapping[str, Any] | None = None,
) -> Request:
    """The request to `member` for an answer of at most `max_tokens` tokens, without the thinking before it.

    A temperature or a seed among the member's own parameters takes precedence, and a parameter that is null removes its
    field.
    """
    own = member.parameters
    seed = next((own[name] for name in ("seed", "random_seed") if own.get(name) is not None), seed)
    parameters = {name: value for name, value in own.items() if name != "temperature"}
    earlier = tuple(
        request_to(
            member.model_copy(update={"parameters": replaced, "earlier_parameters": ()}),
            messages,
            temperature=temperature,
            max_tokens=max_tokens,
            seed=seed,
            hints=hints,
            json_schema=json_schema,
        )
        for replaced in member.earlier_parameters
    )
    return Request(
        model=member.model,
        messages=tuple(messages),
        temperature=own.get("temperature", temperature),
        max_tokens=member.sent_cap(max_tokens),
        seed=None if member.removes("seed", "random_seed") else seed,
        json_schema=None if member.removes("response_format") else json_schema,
        parameters={**parameters, HINTS: dict(hints)},
        earlier=earlier,
    )


def seed_of(debate_seed: int, step_name: str) -> int:
    """The seed of one step of a debate, in [0, 2**31): the same in every session, different for every step."""
    return int(short_hash(str(debate_seed), step_name)[:8], 16) >> 1


def short_hash(*parts: str) -> str:
    """The first 32 digits of `hash_of`."""
    return hash_of(*parts)[:32]


def is_cut_off(completion: Completion) -> bool:
    """Whether the answer ended because it reached the token limit."""
    return (completion.finish_reason or "").lower() in CUT_OFF


def asks_for_object(request: Request) -> bool:
    """Whether the answer is to be a JSON object, as that of a judge who decides; a speech is not."""
    hints = request.parameters.get(HINTS)
    return request.json_schema is not None or (isinstance(hints, Mapping) and hints.get("task") == "verdict")
