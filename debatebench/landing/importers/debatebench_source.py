"""One line of the original DebateBench harness's JSONL → a checked debate."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import datetime
from hashlib import sha256
from typing import Annotated, Any
from unicodedata import is_normalized

import msgspec
from msgspec import UNSET
from pydantic import Field

from debatebench.landing.importers.base import BadSourceError, NotPlainError, sorted_json
from debatebench.landing.importers.debatebench_queries import LARGEST_PLAIN_LINE
from debatebench.landing.importers.strict_source import (
    NAMED,
    Amount,
    Category,
    Count,
    Name,
    Number,
    Source,
    SourceTime,
    Whole,
    Words,
    check,
    parse_json,
    strict_struct,
)
from debatebench.shared.records import Side, Winner
from debatebench.shared.visible_text import plain_name

_DEEPEST_DETAIL = 32
# DuckDB does not read every ISO 8601 time, and ignores an offset from UTC.
_TIME = r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}(?:\.[0-9]{1,6})?(?:Z|\+00:00)?"
_are_usual = re.compile(rf"{_TIME}(?:\n{_TIME})*").fullmatch
_are_plain = re.compile(r"[!-~]+(?: [!-~]+)*+(?:\n[!-~]+(?: [!-~]+)*+)*+").fullmatch
_has_escaped_colon = re.compile(rb"\\u003").search


class _Topic(Source):
    id: Name
    motion: Words
    category: Category | None = None


class _Usage(Source):
    """What turns and verdicts have in common."""

    prompt_tokens: Count | None = None
    completion_tokens: Count | None = None
    total_tokens: Count | None = None
    cost: Amount | None = None
    currency: str | None = None
    cost_details: dict[str, Any] | None = None
    metadata: dict[str, Any] | None = None


class _Turn(_Usage):
    index: Count
    speaker: Side
    stage: str | None = None
    content: str
    created_at: SourceTime | None = None
    duration_ms: Amount | None = None


class _Scores(Source):
    scores: Annotated[dict[Name, Number], NAMED]


class _Verdict(_Usage):
    judge_id: Name
    pro: _Scores | None = None
    con: _Scores | None = None
    winner: Winner | None = None
    raw_response: str | None = None
    latency_ms: Amount | None = None


class _Transcript(Source):
    debate_id: Name
    benchmark_version: str | None = None
    rubric_version: str | None = None
    topic: _Topic
    pro_model_id: Name
    con_model_id: Name
    turns: list[_Turn]
    seed: Whole | None = None


class _Aggregate(Source):
    winner: Winner | None = None
    mean_pro: Annotated[dict[Category, float], NAMED] = Field(default_factory=dict)
    mean_con: Annotated[dict[Category, float], NAMED] = Field(default_factory=dict)


class _Elo(Source):
    initial_rating: float | None = None
    k_factor: float | None = None


class _Debate(Source):
    transcript: _Transcript
    judges: list[_Verdict]
    aggregate: _Aggregate | None = None
    created_at: SourceTime | None = None
    judges_expected: Count | None = None
    judges_actual: Count | None = None
    panel_complete: bool | None = None
    panel_latency_ms: Amount | None = None
    debate_seed: Whole | None = None
    elo: _Elo | None = None


_Strict = strict_struct(_Debate)
_read_strictly = msgspec.json.Decoder(_Strict).decode
_read_without_details = msgspec.json.Decoder(strict_struct(_Debate, has_details=False)).decode


class _Passed(msgspec.Struct, gc=False):
    """An object of which nothing is needed."""


class _PassedVerdict(msgspec.Struct, gc=False):
    judge_id: str
    pro: strict_struct(_Scores) | None = None  # type: ignore[valid-type]


_PassedTranscript = msgspec.defstruct(
    "_PassedTranscript", [("turns", list[_Passed])], bases=(strict_struct(_Transcript),), kw_only=True, gc=False
)
_read_outline = msgspec.json.Decoder(
    msgspec.defstruct(
        "_Outline",
        [("transcript", _PassedTranscript), ("judges", list[_PassedVerdict])],
        bases=(_Strict,),
        kw_only=True,
        gc=False,
    )
).decode
# The keys of a class are written in its order, those of a dict alphabetically.
_write = msgspec.json.Encoder(order="deterministic").encode


def read_debate(text: bytes) -> tuple[Any, bytes]:
    """The debate in a line (a `_Debate` or its strict struct) and its digest. Raises `BadSourceError`."""
    source, digest = _read_quickly(text) or _read_slowly(text)
    _refuse_repeated(source)
    return source, digest


def read_plain_debate(text: bytes) -> tuple[Any, bytes]:
    """The same of a plain line: one from which DuckDB reads turns and verdicts as `debatebench_rows.py` makes them.

    Raises `NotPlainError` for any other line, also for one with details (metadata and parts of costs), and
    `BadSourceError`.
    """
    found = _read_quickly(text, has_details=False) if len(text) <= LARGEST_PLAIN_LINE else None
    if found is None or not all(map(_has_one_order, found[0].judges)):
        raise NotPlainError
    _refuse_repeated(found[0])
    return found


def read_outline(text: bytes) -> Any:
    """A debate in a line that `read_plain_debate` has accepted, with empty turns, and of verdicts what pro got."""
    return _read_outline(text)


def read_accepted_debate(text: bytes) -> Any:
    """The same debate in a line that `read_debate` has accepted, without the checks that it has passed."""
    try:
        source = _read_strictly(text)
    except (ValueError, RecursionError):
        return read_debate(text)[0]
    return source if _has_usual_names(source) and _has_usual_times(source) else read_debate(text)[0]


def _read_quickly(text: bytes, *, has_details: bool = True) -> tuple[Any, bytes] | None:
    """What `_read_slowly` returns, or None for a line that it may refuse or understand otherwise.

    None also for a line with details without `has_details`.
    """
    try:
        source = _read_strictly(text) if has_details else _read_without_details(text)
        written = _write(source)
    except (ValueError, RecursionError):
        return None
    # If a key is repeated, only one is written again, so a colon is missing. An escaped colon would upset the counts.
    if text.count(b":") != written.count(b":") or _has_escaped_colon(text) or not _is_usual(source):
        return None
    if has_details and _is_deep(source):
        return None
    return source, sha256(written).digest()


def _read_slowly(text: bytes) -> tuple[_Debate, bytes]:
    """The debate in any line as a `_Debate`, and its digest. Raises `BadSourceError`."""
    value = parse_json(text)
    source = check(_Debate, value)
    try:
        # Identical debates are written identically, whichever way they were read.
        written = _write(msgspec.convert(value, _Strict))
    except (ValueError, RecursionError):
        written = sorted_json(value)
    return source, sha256(written).digest()


def _is_usual(source: Any) -> bool:
    """Whether a `_Debate` would be accepted: the checks that its strict struct does not make, except that of depth."""
    is_named = source.transcript.topic.motion.strip() != "" and _has_usual_names(source)
    return is_named and _has_usual_times(source)


def _has_usual_names(source: Any) -> bool:
    """Whether the motion is in the form NFC, and every name in the form in which it lands."""
    transcript, topic, aggregate = source.transcript, source.transcript.topic, source.aggregate
    names = {transcript.debate_id, topic.id, transcript.pro_model_id, transcript.con_model_id}
    for verdict in source.judges:
        names.add(verdict.judge_id)
        names.update((verdict.pro and verdict.pro.scores) or (), (verdict.con and verdict.con.scores) or ())
    if topic.category:
        names.add(topic.category)
    if aggregate:
        names.update(aggregate.mean_pro or (), aggregate.mean_con or ())
    # One search in all of them together; most names are ASCII.
    is_plain = _are_plain("\n".join(names)) or all(name and name == plain_name(name) for name in names)
    return is_plain and is_normalized("NFC", topic.motion)


def _has_usual_times(source: Any) -> bool:
    """Whether all times are written in the usual way, are in UTC and exist in the calendar."""
    stated = [source.created_at, *[turn.created_at for turn in source.transcript.turns]]
    times = [time for time in stated if time is not None and time is not UNSET]
    # One search in all of them together takes half as long as one search in each.
    if times and not _are_usual("\n".join(times)):
        return False
    try:
        for time in times:
            datetime.fromisoformat(time)
    except ValueError:
        return False
    return True


def _is_deep(source: Any) -> bool:
    """Whether free data is nested so deeply that the whole might be nested too deeply."""
    for usage in (*source.transcript.turns, *source.judges):
        for details in (usage.metadata, usage.cost_details):
            if details and any(details.values()) and _depth(details) > _DEEPEST_DETAIL:
                return True
    return False


def _depth(value: Any) -> int:
    level, depth = [value], 0
    while level:
        inner = [item for outer in level for item in (outer.values() if isinstance(outer, dict) else outer)]
        level = [item for item in inner if isinstance(item, dict | list)]
        depth += 1
    return depth


def _has_one_order(verdict: Any) -> bool:
    """Whether both sides have scores on the same dimensions in the same order."""
    pro, con = verdict.pro, verdict.con
    return list(pro.scores if pro else ()) == list(con.scores if con else ())


def _refuse_repeated(source: Any) -> None:
    _refuse_twice("turns", "index", [turn.index for turn in source.transcript.turns])
    _refuse_twice("judges", "judge_id", [verdict.judge_id for verdict in source.judges])


def _refuse_twice(what: str, key: str, values: Sequence[Any]) -> None:
    if len(set(values)) != len(values):
        twice = next(value for index, value in enumerate(values) if value in values[:index])
        raise BadSourceError(f"{what}: the {key} {twice!r} occurs twice.")
