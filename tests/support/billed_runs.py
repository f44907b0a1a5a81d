"""Runs with a limit on cost against a server that bills whatever it generated, also when no answer or usage says so."""

from __future__ import annotations

import json
import re
import signal
import threading
import time
from collections import Counter
from dataclasses import dataclass, field
from decimal import Decimal
from pathlib import Path
from random import Random
from typing import Any

from fake_provider import JSON_TYPE, Behaviour, FakeProvider, Received, body, cut, delayed, hang_up, html, status
from started_run import Started, start, wait_until_asked
from tournament import is_judge, verdict_text, write_workspace

from debatebench.landing.journal_records import journal_records
from debatebench.shared.records import Call

PRICES = {
    "prompt": Decimal("0.000001"),
    "cached_prompt": Decimal("0.0000001"),
    "completion": Decimal("0.000002"),
    "request": Decimal("0.0001"),
}
TOKEN_LIMIT = 500
_LATENCY_S = 0.03
# The waits between attempts are not what is tested.
_PATCH = """
from debatebench.play.retries import RetryPolicy
RetryPolicy.wait_s = lambda *_: 0.001
"""


@dataclass
class Bill:
    """What the server generated, in USD."""

    total: Decimal = Decimal(0)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def add(self, **tokens: int) -> None:
        """Bill one answer: its tokens by kind, and the fee of the request."""
        cost = sum((count * PRICES[kind] for kind, count in tokens.items()), PRICES["request"])
        with self._lock:
            self.total += cost


@dataclass(frozen=True)
class BilledRun:
    """One run over all its sessions. `known` and `possible` are what the journal records."""

    limit: Decimal
    billed: Decimal
    known: Decimal
    possible: Decimal
    kills: int
    exit_code: int
    statuses: Counter[str]


def billing_script(seed: int, bill: Bill) -> Any:
    """A server that fails in seeded ways. What it generates it bills, whether or not it is then told."""

    def script(received: Received) -> Behaviour:
        draw = Random(f"{seed} {received.number}")
        free = draw.random()
        if free < 0.12:
            return [status(429, headers={"retry-after": "0"}), status(500), status(503), html(521)][draw.randrange(4)]
        text = verdict_text(received) if is_judge(received) else f"Speech {received.number}."
        size = sum(len(message["content"].encode()) for message in received.json["messages"])
        prompt, completion = draw.randint(size // 5, size), draw.choice([TOKEN_LIMIT, draw.randint(1, TOKEN_LIMIT)])
        cached = draw.choice([0, draw.randint(0, prompt)])
        bill.add(prompt=prompt - cached, cached_prompt=cached, completion=completion)
        return delayed(draw.random() * _LATENCY_S, _told(draw, text, prompt, cached, completion))

    return script


def _told(draw: Random, text: str, prompt: int, cached: int, completion: int) -> Behaviour:
    """What comes of an answer that was generated and billed."""
    counts = {"prompt_tokens": prompt, "completion_tokens": completion, "total_tokens": prompt + completion}
    usage = {**counts, "prompt_tokens_details": {"cached_tokens": cached}}
    if draw.random() < 0.4:
        return _answer(text, usage)
    return draw.choice(
        [
            html(504),
            status(504),
            html(502),
            html(503),
            body({"error": {"code": 524, "message": "Timeout"}}),
            body({"error": {"message": "Something broke."}}),
            hang_up(),
            cut(text),
            status(403, metadata={"reasons": ["violence"]}),
            _answer("", None),
            _answer(text, None),
            _answer(text, dict.fromkeys(counts, 0)),
            _answer(text, {**usage, "completion_tokens": 0, "total_tokens": prompt}),
            _answer(text, {**usage, "prompt_tokens": 0, "total_tokens": completion}),
            _answer(text, {**usage, "total_tokens": prompt}),
            _answer(text, {**usage, "prompt_tokens_details": {"cached_tokens": prompt + 1}}),
            _answer(text, {**{name: str(count) for name, count in counts.items()}, "cached_tokens": str(cached)}),
            _answer(
                text,
                {
                    "input_tokens": prompt - cached,
                    "cache_read_input_tokens": cached,
                    "output_tokens": completion,
                },
            ),
            _answer(text[:5], usage, finish_reason="error"),
            _answer(text[:5], None, finish_reason="error"),
        ]
    )


def _answer(text: str, usage: Any, finish_reason: str = "stop") -> Behaviour:
    choice = {"index": 0, "message": {"role": "assistant", "content": text}, "finish_reason": finish_reason}
    return body(json.dumps({"choices": [choice], "usage": usage}).encode(), headers=JSON_TYPE)


def billed_run(root: Path, seed: int) -> BilledRun:
    """Play a run under a limit on cost, with SIGKILLs between requests and answers, and resume it to its end."""
    draw = Random(seed)
    limit, kills = Decimal(draw.randint(10, 90)) / 1000, draw.randint(1, 3)
    bill = Bill()
    with FakeProvider(billing_script(seed, bill)) as server:
        write_workspace(root, server)
        prices = ", ".join(f"{kind}: {price:f}" for kind, price in PRICES.items())
        for name in ("models.yaml", "judges.yaml"):
            path = root / "configs" / name
            text = re.sub(r"pricing: \{[^}]*\}", f"token_limit: {TOKEN_LIMIT}, pricing: {{{prices}}}", path.read_text())
            path.write_text(text)
        options = ["--max-cost", str(limit), "--concurrency", str(draw.choice([1, 4, 12]))]
        for _ in range(kills):
            process = _start(root, options)
            if wait_until_asked(server, process, len(server.requests) + draw.randint(1, 12)):
                time.sleep(draw.random() * _LATENCY_S)
                process.send_signal(signal.SIGKILL)
            process.communicate()
        process = _start(root, options)
        _, told = process.communicate()
        server.wait_until_idle()
    assert process.returncode in (0, 5), told
    path = root / "warehouse" / "journal" / "tiny.jsonl"
    calls = [record for record in journal_records(path) if isinstance(record, Call)]
    return BilledRun(
        limit,
        bill.total,
        sum((call.cost or Decimal(0) for call in calls), Decimal(0)),
        sum((call.possible_cost or Decimal(0) for call in calls), Decimal(0)),
        kills,
        process.returncode,
        Counter(call.status for call in calls),
    )


def _start(root: Path, options: list[str]) -> Started:
    usual = ("--no-build", "--max-failures-in-a-row", "0", "--max-ambiguous-retries", "6")
    return start(root, *usual, *options, patch=_PATCH)
