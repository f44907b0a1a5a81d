"""One session of durable calls against a server, in tests."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from datetime import datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import uvloop
from fake_provider import FakeProvider

from debatebench.config.load import MemberConfig, Pricing
from debatebench.journal.reading import read_journal
from debatebench.journal.writing import Journal
from debatebench.play.calls import DurableCalls
from debatebench.play.pacing import Pacing
from debatebench.play.progress import Progress
from debatebench.play.resume import Resume
from debatebench.play.retries import RetryPolicy
from debatebench.providers import make_provider
from debatebench.providers.asking import Answer, Step
from debatebench.providers.base import Message, Request

CANARY = "sk-canary-0123456789abcdef"
STEP = Step("d1", "turn:0", "turn")
REQUEST = Request("m", (Message("user", "Speak."),))
QUICK = RetryPolicy(first_wait_s=0.001, longest_wait_s=0.002)


class Session:
    """One session of calls: a journal, a provider over real HTTP, and what happened."""

    def __init__(self, tmp_path: Path, server: FakeProvider, *, timeout: float = 30.0) -> None:
        self.path = tmp_path / "run.jsonl"
        self.waits: list[float] = []
        self.seconds = 0.0
        self.progress = Progress()
        self.member = MemberConfig(
            id="m",
            provider="http",
            model="m",
            endpoint=server.url,
            api_key_env="CANARY_API_KEY",
            trust_reported_cost=True,
            timeout=timeout,
            pricing=Pricing(prompt=Decimal("0.001"), completion=Decimal("0.002")),
        )

    def run(self, play: Callable[[DurableCalls], Awaitable[Any]], **options: Any) -> Any:
        """Open the journal and the provider, run `play`, and close both."""

        async def wait(seconds: float) -> None:
            self.waits.append(seconds)
            self.seconds += seconds

        async def session() -> Any:
            resume = Resume()
            self.progress.ledger = resume.ledger
            with Journal.open(self.path, resume.see) as journal:
                self.pacing = Pacing(
                    options.pop("concurrency", 8),
                    [self.member],
                    has_answered=lambda member: not resume.is_new(member),
                    clock=lambda: self.seconds,
                )
                provider = make_provider(self.member, {"CANARY_API_KEY": CANARY})
                calls = DurableCalls(
                    "run",
                    journal,
                    resume,
                    lambda _: provider,
                    pacing=self.pacing,
                    now=lambda: datetime(2026, 1, 1),
                    progress=self.progress,
                    policy=options.pop("policy", QUICK),
                    sleep=wait,
                    **options,
                )
                try:
                    return await play(calls)
                finally:
                    await provider.aclose()

        return uvloop.run(session())

    def ask(self, step: Step = STEP, request: Request = REQUEST, **options: Any) -> Answer:
        return self.run(lambda calls: calls(step, self.member, request), **options)

    @property
    def statuses(self) -> list[str]:
        """The status of every attempt, in order."""
        return [
            row["status"]
            for event in read_journal(self.path)
            if event.data.get("of") == "call"
            for row in event.data["records"]["calls"]
        ]

    def types(self) -> list[str]:
        return [event.data["type"] for event in read_journal(self.path)]
