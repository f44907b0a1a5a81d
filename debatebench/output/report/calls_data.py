"""The calls of debates, as data for the page of debates: what was asked of whom, and the raw reply."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from debatebench.landing.journal_replies import RawReplies

CALL_FIELDS = (
    "step",
    "attempt",
    "purpose",
    "debater",
    "judge",
    "provider",
    "model",
    "status",
    "httpStatus",
    "error",
    "sent",
    "duration",
    "promptTokens",
    "completionTokens",
    "cost",
    "finish",
    "request",
    "reply",
)

CALLS_QUERY = """
select
    debate_id, call_id, step, attempt, purpose, model_id, judge_id, provider, model_name, status, http_status, error,
    sent_at::varchar as sent_at, duration_ms, prompt_tokens, completion_tokens, cost_usd::double as cost_usd,
    finish_reason, request_sha256, null as reply
from staging.stg_calls
where run_tag = $run_tag
union all
select
    debate_id, null as call_id, concat('turn:', turn_index) as step, 1 as attempt, 'turn' as purpose, model_id,
    null as judge_id, null as provider, null as model_name, 'answered' as status, null as http_status, null as error,
    null as sent_at, duration_ms, prompt_tokens, completion_tokens, cost_usd::double as cost_usd, finish_reason,
    null as request_sha256, metadata ->> '$.raw_response' as reply
from staging.stg_turns
where run_tag = $run_tag and call_id is null and metadata ->> '$.raw_response' is not null
union all
select
    debate_id, null as call_id, concat('verdict:', judge_id) as step, 1 as attempt, 'verdict' as purpose,
    null as model_id, judge_id, null as provider, null as model_name, 'answered' as status, null as http_status,
    null as error, null as sent_at, duration_ms, prompt_tokens, completion_tokens, cost_usd::double as cost_usd,
    null as finish_reason, null as request_sha256, raw_response as reply
from staging.stg_verdicts
where run_tag = $run_tag and call_id is null and raw_response is not null
"""
"""The calls of a run; those of an import are the replies that its source kept."""


class Calls:
    """Collects the calls of debates into parts; `starts` are the places in the list where parts begin."""

    def __init__(self, name: str, journals: Path, run_tag: str) -> None:
        self._name = name
        self._replies = RawReplies(journals, run_tag)
        self._debates: list[list[tuple[Any, ...]]] = []
        self._size = 0
        self._count = 0
        self.starts: list[int] = []

    def add(self, rows: list[tuple[Any, ...]], most: int, largest: int) -> Iterator[tuple[str, Any]]:
        """Add the rows of `CALLS_QUERY` of the next debate. A part has at most `most` debates."""
        if not self._debates:
            self.starts.append(self._count)
        found = [(*row[2:-1], row[-1] if row[1] is None else self._replies.body(row[1], row[3])) for row in rows]
        self._debates.append(found)
        self._count += 1
        self._size += sum(len(row[-1] or "") for row in found)
        if len(self._debates) == most or self._size >= largest:
            yield from self.end()

    def end(self) -> Iterator[tuple[str, Any]]:
        if self._debates:
            yield f"{self._name}-{len(self.starts) - 1}", self._debates
            self._debates, self._size = [], 0
