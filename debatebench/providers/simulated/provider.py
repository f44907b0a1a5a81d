"""The offline provider: simulated debaters and judges, seeded, with tokens, durations and prices, at no cost.

It is a provider like any other. Its replies have the chat-completions format and are read by the same reader; earlier
speeches come from the transcript in the messages, or from the material of a judge's step. Only what a model would
understand from the wording of the prompt (speak, analyse or judge, motion, side, stage, positions, scales) is passed as
data, in the parameter `debatebench`.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Collection, Mapping
from datetime import UTC, datetime
from random import Random
from typing import Any

from debatebench.config.transcript_layout import Section, read_material, read_transcript, side_of
from debatebench.config.types import MemberConfig, Pricing
from debatebench.providers.base import LOCAL_PARAMETERS, Completion, Reply, Request, TimeLimits
from debatebench.providers.openai_reply import ReplySource, read_reply
from debatebench.providers.simulated.judging import (
    analysis_answer,
    extracted_answer,
    judge_answer,
    judgment_answer,
    sides_answer,
)
from debatebench.providers.simulated.speech import Speaker, Speeches, read_traits
from debatebench.providers.simulated.swaying import read_susceptibility
from debatebench.shared.amounts import known_names
from debatebench.shared.errors import UsageError

_SOURCE = ReplySource("simulated", reports_usd=True)
# Accepted by other providers and without effect here; any other unknown name is a typing error.
_IGNORED = {"temperature", "seed", "max_tokens", "top_p"}
_THINKING = 0.15
_CHARACTERS_PER_TOKEN = 4


class Simulated:
    """Answers at once; the same request with the same seed always gets the same answer."""

    name = "simulated"
    is_simulated = True

    def __init__(self, pricing: Pricing | None = None) -> None:
        self._pricing = pricing

    @classmethod
    def of(cls, member: MemberConfig) -> Simulated:
        """The provider of a configured member. Raises `UsageError` for unknown traits."""
        unknown = sorted(member.parameters.keys() - LOCAL_PARAMETERS - _IGNORED)
        if unknown:
            known = known_names(unknown[0], sorted(LOCAL_PARAMETERS - {"debatebench", "structured_output"}))
            raise UsageError(f"'{member.id}' is simulated and has no parameter '{unknown[0]}'.{known}")
        try:
            read_traits(member.parameters)
            read_susceptibility(member.parameters)
        except UsageError as error:
            raise UsageError(f"'{member.id}': {error}") from None
        return cls(member.pricing)

    async def send(self, request: Request, adjusted: Collection[str] = (), limits: TimeLimits | None = None) -> Reply:
        """See `Provider.send`. A request that cannot be understood gets status 400, as with other providers."""
        await asyncio.sleep(0)
        try:
            status, body = 200, self._completion(request)
        except UsageError as error:
            status, body = 400, {"error": {"code": 400, "message": str(error)}}
        usage = body.get("usage", {"prompt_tokens": 0, "completion_tokens": 0})
        return Reply(
            status=status,
            body=json.dumps(body).encode("ascii"),
            headers={"content-type": "application/json"},
            received_at=datetime.now(UTC).replace(tzinfo=None),
            duration_ms=180.0 + 0.05 * usage["prompt_tokens"] + 11.0 * usage["completion_tokens"],
        )

    def read(self, reply: Reply, request: Request | None = None, adjusted: Collection[str] = ()) -> Completion:
        """See `Provider.read`."""
        return read_reply(reply, _SOURCE)

    async def aclose(self) -> None:
        """See `Provider.aclose`."""

    def _completion(self, request: Request) -> dict[str, Any]:
        """The body of a reply, with the cost at the configured prices if there are any."""
        digest = request.sha256()
        whole = _text(request, Random(digest))  # noqa: S311
        text = whole[: request.max_tokens * _CHARACTERS_PER_TOKEN] if request.max_tokens else whole
        prompt, completion = sum(_tokens(message.content) for message in request.messages), _tokens(text)
        usage: dict[str, float] = {
            "prompt_tokens": prompt,
            "completion_tokens": completion,
            "total_tokens": prompt + completion,
        }
        if self._pricing is not None:
            prices = self._pricing
            cost = prices.request + prices.prompt * prompt + prices.completion * completion
            # Records keep eighteen decimals; the shortest text of a number is exact again when it is read.
            usage["cost"] = round(float(cost), 18)
        message = {"role": "assistant", "content": text}
        choice = {"index": 0, "message": message, "finish_reason": "stop" if text == whole else "length"}
        return {
            "id": f"sim-{digest[:16]}",
            "object": "chat.completion",
            "model": request.model,
            "choices": [choice],
            "usage": usage,
        }


def _text(request: Request, rng: Random) -> str:
    """The text of the simulated debater or judge."""
    hints = request.parameters.get("debatebench")
    if not isinstance(hints, Mapping):
        raise UsageError("A request to the simulated provider needs the field `debatebench`.")
    traits, susceptibility = read_traits(request.parameters), read_susceptibility(request.parameters)
    prompt = next((m.content for m in reversed(request.messages) if m.role == "user"), "")
    if hints.get("task") == "analysis":
        return analysis_answer(hints, tuple(read_material(prompt)), traits, request.model)
    if hints.get("task") == "judgment":
        return judgment_answer(rng, traits, hints, tuple(read_material(prompt)), susceptibility, request.model)
    if hints.get("task") == "extraction":
        return extracted_answer(rng, traits, hints, tuple(read_material(prompt)))
    if hints.get("task") == "sides":
        return sides_answer(rng, traits, hints, tuple(read_material(prompt, is_blind=True)))
    if hints.get("task") == "verdict" and "positions" in hints:
        return judge_answer(rng, traits, hints, tuple(read_material(prompt)), susceptibility, request.model)
    speeches: Speeches = tuple(read_transcript(prompt))
    if hints.get("task") == "speech" and "position" in hints:
        said = read_material(prompt)
        speeches = tuple((side_of(each.position or ""), each.about or "", each.text) for each in said)
    if hints.get("task") == "verdict":
        sections = tuple(Section(text, side, stage) for side, stage, text in speeches)
        return judge_answer(rng, traits, hints, sections, susceptibility, request.model)
    speech = Speaker(rng, traits, hints, speeches).speech(request.max_tokens) + "\n<END_OF_TURN>"
    thinking = f"<think>I speak for {hints['side']}. What weighs most?</think>\n\n" if rng.random() < _THINKING else ""
    return thinking + speech


def _tokens(text: str) -> int:
    """About as many tokens as a model would count."""
    return -(-len(text) // _CHARACTERS_PER_TOKEN)
