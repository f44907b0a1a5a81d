"""A judge that answers every step of any judge method, always at the same length."""

from __future__ import annotations

import asyncio
import json
from datetime import datetime
from typing import Any

from debatebench.config.types import MemberConfig
from debatebench.judges.rehearsal import Texts
from debatebench.providers.asking import Answer, Step
from debatebench.providers.base import Completion, Request
from debatebench.providers.requests import HINTS


def answer_to(schema: Any, reason: str) -> str:
    """The answer of a JSON schema with the highest scores, the first winner, and the same reason for everything."""
    parts, answer = schema["properties"], dict[str, Any]()
    if "scores" in parts:
        answer["scores"] = {
            position: {name: _highest(score) for name, score in scores["properties"].items()}
            for position, scores in parts["scores"]["properties"].items()
        }
    if "winner" in parts:
        winner = parts["winner"]
        answer["winner"] = winner["enum"][0] if "enum" in winner else winner["items"]["enum"][:1]
    if "reasons" in parts:
        answer["reasons"] = dict.fromkeys(parts["reasons"]["properties"], reason)
    return json.dumps(answer)


def _highest(score: Any) -> Any:
    return score["maximum"] if "maximum" in score else max(score["enum"])


class Judge:
    """An `Ask` whose texts have fixed lengths. It keeps the requests and answers by path; if timed, each takes 1 s."""

    def __init__(self, lengths: Texts, *, is_timed: bool = False) -> None:
        self.lengths = lengths
        self.requests: dict[str, Request] = {}
        self.answers: dict[str, str] = {}
        self._is_timed = is_timed

    async def __call__(self, step: Step, member: MemberConfig, request: Request) -> Answer:
        if self._is_timed:
            await asyncio.sleep(1)
        path = step.name.removeprefix(f"verdict:{member.id}:").rpartition(":")[0]
        hints, schema = request.parameters[HINTS], request.json_schema
        if hints["task"] in ("analysis", "judgment"):
            text = "a" * (self.lengths.speech if hints["step"] == "speech" else self.lengths.debate)
        else:
            text = answer_to(schema, "r" * self.lengths.reason)
        self.requests[path], self.answers[path] = request, text
        return Answer("c", Completion(text), datetime(2026, 1, 1), 1.0)
