"""Debaters and judges with scripted answers, and a small plan for them to play."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any

from debatebench.config.prompts import DEBATER_PLACEHOLDERS, JUDGE_PLACEHOLDERS, PromptSet
from debatebench.config.types import Config, DimensionConfig, MemberConfig, Round, TopicConfig
from debatebench.plan.plan import Plan, PlanOptions
from debatebench.plan.schedule import make_plan
from debatebench.play.attempts import call_id_of
from debatebench.providers.asking import Answer, CallFailedError, Step
from debatebench.providers.base import Completion, FailureKind, Request

START = datetime(2026, 1, 1, 12, 0, 0)


def told(text: str, **known: Any) -> Completion:
    """A completion with known tokens and cost."""
    figures = {"finish_reason": "stop", "prompt_tokens": 100, "completion_tokens": 10, "total_tokens": 110}
    return Completion(text=text, **{**figures, "cost": Decimal("0.001"), **known})


class ScriptedAsk:
    """An `Ask` that answers each step from a script and records the order of the steps.

    For each step the script returns a text, a `Completion`, a `FailureKind` (the call ends without an answer) or an
    exception. `yields` says how many times other tasks run first, so that answers can overtake each other.
    """

    def __init__(self, script: Callable[[Step], Any], yields: Callable[[Step], int] = lambda step: 0) -> None:
        self._script = script
        self._yields = yields
        self.asked: dict[str, tuple[MemberConfig, Request]] = {}
        self.answered: list[str] = []
        self.in_flight = 0
        self.most_in_flight = 0

    async def __call__(self, step: Step, member: MemberConfig, request: Request) -> Answer:
        assert step.name not in self.asked, f"{step.name} was asked twice"
        self.asked[step.name] = (member, request)
        self.in_flight += 1
        self.most_in_flight = max(self.in_flight, self.most_in_flight)
        for _ in range(1 + self._yields(step)):
            await asyncio.sleep(0)
        self.in_flight -= 1
        said = self._script(step)
        call_id = call_id_of("tiny", step, request)
        if isinstance(said, FailureKind):
            raise CallFailedError(said, f"scripted {said}", call_id)
        if isinstance(said, BaseException):
            raise said
        self.answered.append(step.name)
        completion = said if isinstance(said, Completion) else told(said)
        return Answer(call_id, completion, START + timedelta(seconds=len(self.answered)), 250.0)

    def request(self, name: str) -> Request:
        return self.asked[name][1]


def plain_prompts(*winner_styles: str) -> PromptSet:
    """Templates that contain `name=value` for every placeholder, then the transcript, and nothing else."""
    debater = "\n".join(f"{name}={{{{ {name} }}}}" for name in DEBATER_PLACEHOLDERS if name != "transcript")
    judge = "\n".join(f"{name}={{{{ {name} }}}}" for name in JUDGE_PLACEHOLDERS if name != "transcript")
    return PromptSet(
        templates={
            "debater_pro": "You are PRO, {{ side }}.",
            "debater_con": "You are CON, {{ side }}.",
            "debater_turn": f"{debater}\n\n{{{{ transcript }}}}\n",
            "judge_user": f"{judge}\n\n{{{{ transcript }}}}\n",
            "judge_default": "Score.",
            "judge_declared": "Score, and name the winner.",
        },
        winner_styles=winner_styles,
    )


def tiny_config(**changes: Any) -> Config:
    """A configuration with four turns and two dimensions, each with its own scale."""
    settings: dict[str, Any] = {
        "rounds": (
            Round(role="pro", stage="opening"),
            Round(role="con", stage="opening", max_tokens=300),
            Round(role="pro", stage="closing", language="de"),
            Round(role="con", stage="closing"),
        ),
        "dimensions": {
            "clarity": DimensionConfig(min=1, max=10, description="Easy to follow?"),
            "clash": DimensionConfig(min=0, max=5),
        },
        "temperature": 0.6,
        "judges_per_debate": 3,
    }
    return Config(**{**settings, **changes})


def tiny_plan(
    judges: int = 5,
    *,
    config: Config | None = None,
    debaters: tuple[MemberConfig, ...] = (),
    judge_settings: dict[str, Any] | None = None,
    prompts: PromptSet | None = None,
    info_slide: str | None = None,
) -> Plan:
    """One topic, two debaters, and a pool of judges j0, j1, …"""
    return make_plan(
        "tiny",
        config or tiny_config(),
        [TopicConfig(id="t1", motion="Cities should ban cars.", category="cities", info_slide=info_slide)],
        debaters
        or (MemberConfig(id="ada", provider="p", model="m-a"), MemberConfig(id="bob", provider="p", model="m-b")),
        [MemberConfig(id=f"j{n}", provider="p", model=f"m-j{n}", **(judge_settings or {})) for n in range(judges)],
        prompts or plain_prompts(),
        PlanOptions(),
        None,
    )
