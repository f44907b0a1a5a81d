"""The offline provider: simulated debaters and judges, seeded, with tokens, times and prices, and nothing to pay.

It is a provider like any other. Its replies have the chat-completions format and are read by the same reader; what was
said before comes from the transcript in the messages. Only what a model would understand from the wording of the prompt
(speak or judge, motion, side, stage, scales) is told as data, in the parameter `debatebench`.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from datetime import UTC, datetime
from random import Random
from typing import TYPE_CHECKING, Any

from debatebench.config.transcript_layout import read_transcript
from debatebench.providers.base import LOCAL_PARAMETERS, Completion, Reply, Request
from debatebench.providers.openai_reply import ReplySource, read_reply
from debatebench.providers.simulated.judging import JudgeTraits, judge_answer, read_question
from debatebench.providers.simulated.speech import DebaterTraits, Floor, write_speech
from debatebench.shared.errors import UsageError

if TYPE_CHECKING:
    from debatebench.config.load import MemberConfig, Pricing

__all__ = ["Simulated"]

_SOURCE = ReplySource("simulated", reports_usd=True)
# What other providers take and what means nothing here; any other unknown name is a typing error.
_IGNORED = {"temperature", "seed", "max_tokens", "top_p"}
_THINKING = 0.15
_CHARACTERS_PER_TOKEN = 4
_FIRST_TOKEN_MS, _PROMPT_TOKEN_MS, _COMPLETION_TOKEN_MS = 180.0, 0.05, 11.0


class Simulated:
    """Answers at once, and the same request with the same seed always in the same way."""

    name = "simulated"
    is_simulated = True

    def __init__(self, pricing: Pricing | None = None) -> None:
        self._pricing = pricing

    @classmethod
    def of(cls, member: MemberConfig) -> Simulated:
        """The provider of a configured member. Raises `UsageError` for traits that there are not."""
        unknown = sorted(member.parameters.keys() - LOCAL_PARAMETERS - _IGNORED)
        if unknown:
            known = ", ".join(sorted(LOCAL_PARAMETERS - {"debatebench", "structured_output"}))
            raise UsageError(f"'{member.id}' is simulated and has no parameter '{unknown[0]}'. Known: {known}.")
        try:
            DebaterTraits.of(member.parameters)
            JudgeTraits.of(member.parameters)
        except UsageError as error:
            raise UsageError(f"'{member.id}': {error}") from None
        return cls(member.pricing)

    async def send(self, request: Request) -> Reply:
        """See `Provider.send`. A request that cannot be understood gets status 400, as everywhere."""
        await asyncio.sleep(0)
        status, body = self._respond(request)
        usage = body.get("usage", {})
        prompt, completion = usage.get("prompt_tokens", 0), usage.get("completion_tokens", 0)
        return Reply(
            status=status,
            body=json.dumps(body).encode("ascii"),
            headers={"content-type": "application/json"},
            received_at=datetime.now(UTC).replace(tzinfo=None),
            duration_ms=_FIRST_TOKEN_MS + _PROMPT_TOKEN_MS * prompt + _COMPLETION_TOKEN_MS * completion,
        )

    def read(self, reply: Reply) -> Completion:
        """See `Provider.read`."""
        return read_reply(reply, _SOURCE)

    async def aclose(self) -> None:
        """See `Provider.aclose`."""

    def _respond(self, request: Request) -> tuple[int, dict[str, Any]]:
        """Status and body of the reply."""
        digest = request.sha256()
        try:
            text = _text(request, Random(digest))  # noqa: S311
        except UsageError as error:
            return 400, {"error": {"code": 400, "message": str(error)}}
        limit = request.max_tokens * _CHARACTERS_PER_TOKEN if request.max_tokens else len(text)
        finish_reason = "length" if len(text) > limit else "stop"
        text = text[:limit]
        prompt_tokens = sum(_tokens(message.content) for message in request.messages)
        completion_tokens = _tokens(text)
        return 200, {
            "id": f"sim-{digest[:16]}",
            "object": "chat.completion",
            "model": request.model,
            "choices": [
                {"index": 0, "message": {"role": "assistant", "content": text}, "finish_reason": finish_reason}
            ],
            "usage": {
                "prompt_tokens": prompt_tokens,
                "completion_tokens": completion_tokens,
                "total_tokens": prompt_tokens + completion_tokens,
                **self._cost(prompt_tokens, completion_tokens),
            },
        }

    def _cost(self, prompt_tokens: int, completion_tokens: int) -> dict[str, float]:
        """The cost at the configured prices; none when there are none."""
        if self._pricing is None:
            return {}
        cost = self._pricing.prompt * prompt_tokens + self._pricing.completion * completion_tokens
        # Records keep ten decimals; the shortest text of such a number is exact again when it is read.
        return {"cost": round(float(cost), 10)}


def _text(request: Request, rng: Random) -> str:
    """What the simulated debater or judge writes."""
    hints = request.parameters.get("debatebench")
    if not isinstance(hints, Mapping):
        raise UsageError("The simulated provider must be told in `debatebench` what it is asked for.")
    prompt = next((m.content for m in reversed(request.messages) if m.role == "user"), "")
    speeches = tuple(read_transcript(prompt))
    if hints.get("task") == "verdict":
        return judge_answer(rng, JudgeTraits.of(request.parameters), read_question(hints), speeches)
    if hints.get("task") != "speech" or hints.get("side") not in ("pro", "con"):
        raise UsageError("The simulated provider can give a `speech` for pro or con, or a `verdict`.")
    floor = Floor(str(hints.get("motion", "")), str(hints["side"]), str(hints.get("stage", "")), speeches)
    return _speech(rng, DebaterTraits.of(request.parameters), floor, request.max_tokens)


def _speech(rng: Random, traits: DebaterTraits, floor: Floor, max_tokens: int | None) -> str:
    """A speech with what models write around it: the end marker, and sometimes their thinking."""
    # Two words take about three tokens, and the last move may run over.
    most_words = max(30, max_tokens * 6 // 10 - 40) if max_tokens else None
    speech = write_speech(rng, traits, floor, most_words) + "\n<END_OF_TURN>"
    if rng.random() < _THINKING:
        return f"<think>I speak for {floor.side} in the {floor.stage}. What weighs most?</think>\n\n{speech}"
    return speech


def _tokens(text: str) -> int:
    """About as many tokens as a model would count."""
    return -(-len(text) // _CHARACTERS_PER_TOKEN)
