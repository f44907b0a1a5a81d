"""Plain debates: lines of the original's JSONL so regular that DuckDB reads the same from them as the strict importer.

Reading a line strictly takes a millisecond, looking whether it is plain a thirtieth of that. A plain line needs no more
checks, and a file of plain lines can be landed by DuckDB alone. When in doubt a line is not plain: then the strict
importer decides about it.
"""

from __future__ import annotations

import re
from datetime import datetime
from typing import Annotated, Any, Literal, NamedTuple, TypeVar

import msgspec
from msgspec import UNSET, Meta, Struct, UnsetType

__all__ = ["LARGEST_PLAIN_LINE", "PLAIN_RULES", "Outline", "canonical_debate", "plain_debate", "plain_outline"]

PLAIN_RULES = 1
"""Version of what counts as plain here; it grows when a line that was plain might be so no longer."""

LARGEST_PLAIN_LINE = 8 * 1024 * 1024
"""Bytes. DuckDB reads a file in buffers that must hold its longest line."""

_DEEPEST_DETAIL = 32

Whole = Annotated[int, Meta(ge=-(2**63), le=2**63 - 1)]
Count = Annotated[int, Meta(ge=0, le=2**63 - 1)]
Amount = Annotated[float, Meta(ge=0, lt=1e8)]
Number = Annotated[float, Meta(gt=-1e12, lt=1e12)]
Side = Literal["pro", "con"]
Winner = Literal["pro", "con", "tie"]
Details = dict[str, Any]
T = TypeVar("T")

# DuckDB does not read every ISO 8601 time, and overlooks a shift from UTC.
_TIME = r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}(?:\.[0-9]{1,6})?(?:Z|\+00:00)?"
_are_utc = re.compile(rf"{_TIME}(?:\n{_TIME})*").fullmatch


class _Closed(Struct, forbid_unknown_fields=True, omit_defaults=True, gc=False):
    """An object without other keys than these; a key that is not there is not written again either."""


class _Topic(_Closed, kw_only=True):
    id: str
    motion: str
    category: str | UnsetType | None = UNSET


class _Usage(_Closed, kw_only=True):
    prompt_tokens: Count | UnsetType | None = UNSET
    completion_tokens: Count | UnsetType | None = UNSET
    total_tokens: Count | UnsetType | None = UNSET
    cost: Amount | UnsetType | None = UNSET
    currency: str | UnsetType | None = UNSET
    cost_details: Details | UnsetType | None = UNSET
    metadata: Details | UnsetType | None = UNSET


class _Turn(_Usage, kw_only=True):
    index: Count
    speaker: Side
    stage: str | UnsetType | None = UNSET
    content: str
    created_at: str | UnsetType | None = UNSET
    duration_ms: Amount | UnsetType | None = UNSET


class _Scores(_Closed, kw_only=True):
    scores: dict[str, Number]


class _Verdict(_Usage, kw_only=True):
    judge_id: str
    pro: _Scores
    con: _Scores
    winner: Winner | UnsetType | None = UNSET
    raw_response: str | UnsetType | None = UNSET
    latency_ms: Amount | UnsetType | None = UNSET


class _Transcript(_Closed, kw_only=True):
    debate_id: str
    benchmark_version: str | UnsetType | None = UNSET
    rubric_version: str | UnsetType | None = UNSET
    topic: _Topic
    pro_model_id: str
    con_model_id: str
    turns: list[_Turn]
    seed: Whole | UnsetType | None = UNSET


class _Aggregate(_Closed, kw_only=True):
    winner: Winner | UnsetType | None = UNSET
    mean_pro: dict[str, Number] | UnsetType = UNSET
    mean_con: dict[str, Number] | UnsetType = UNSET


class _Elo(_Closed, kw_only=True):
    initial_rating: Number | UnsetType | None = UNSET
    k_factor: Number | UnsetType | None = UNSET


class _Debate(_Closed, kw_only=True):
    transcript: _Transcript
    judges: list[_Verdict]
    aggregate: _Aggregate | UnsetType | None = UNSET
    created_at: str | UnsetType | None = UNSET
    judges_expected: Count | UnsetType | None = UNSET
    judges_actual: Count | UnsetType | None = UNSET
    panel_complete: bool | UnsetType | None = UNSET
    panel_latency_ms: Amount | UnsetType | None = UNSET
    debate_seed: Whole | UnsetType | None = UNSET
    elo: _Elo | UnsetType | None = UNSET


class _OutlineTranscript(Struct, gc=False):
    debate_id: str
    topic: _Topic
    benchmark_version: str | None = None
    rubric_version: str | None = None
    seed: int | None = None


class _OutlineDebate(Struct, gc=False):
    """What is left of a debate when only its name, its topic and facts of its run matter."""

    transcript: _OutlineTranscript
    elo: _Elo | None = None


class Outline(NamedTuple):
    """A debate's id, its topic, and what it states about its run."""

    debate_id: str
    topic_id: str
    motion: str
    category: str | None
    benchmark_version: str | None
    rubric_version: str | None
    seed: int | None
    elo_initial_rating: float | None
    elo_k_factor: float | None


_read_debate = msgspec.json.Decoder(_Debate).decode
_read_outline = msgspec.json.Decoder(_OutlineDebate).decode
# The keys of a class are written in its order, those of a dict in the order of the alphabet.
_write = msgspec.json.Encoder(order="deterministic").encode


def plain_debate(line: bytes) -> tuple[Outline, bytes] | None:
    """Outline and canonical text of a plain line; None when it is not plain.

    The strict importer accepts a plain line, and DuckDB reads the same from it: it has no keys but the known ones, none
    of them twice, and its times are in UTC.
    """
    if len(line) > LARGEST_PLAIN_LINE:
        return None
    try:
        debate = _read_debate(line)
        written = _write(debate)
    except (ValueError, RecursionError):
        return None
    # Of two equal keys only one is written again, and a colon is missing. An escaped one would upset the counts.
    if line.count(b":") != written.count(b":") or b"\\u003" in line or not _is_plain(debate):
        return None
    return _outline(debate), written


def plain_outline(line: bytes) -> Outline:
    """The outline of a line that is known to be plain, in a third of the time. Raises `ValueError` for others."""
    return _outline(_read_outline(line))


def canonical_debate(value: Any) -> bytes:
    """The canonical text of a debate that was read as JSON. Raises `ValueError` if it has other keys or types."""
    return _write(msgspec.convert(value, _Debate))


def _outline(debate: _Debate | _OutlineDebate) -> Outline:
    transcript, elo = debate.transcript, _known(debate.elo)
    topic = transcript.topic
    return Outline(
        transcript.debate_id,
        topic.id,
        topic.motion,
        _known(topic.category) or None,
        _known(transcript.benchmark_version),
        _known(transcript.rubric_version),
        _known(transcript.seed),
        _known(elo.initial_rating) if elo else None,
        _known(elo.k_factor) if elo else None,
    )


def _is_plain(debate: _Debate) -> bool:
    """Whether a debate obeys what its classes cannot say."""
    transcript, judges = debate.transcript, debate.judges
    topic, turns = transcript.topic, transcript.turns
    names = [transcript.debate_id, topic.id, topic.motion, transcript.pro_model_id, transcript.con_model_id]
    names += [verdict.judge_id for verdict in judges]
    return (
        all(map(str.strip, names))
        and len({turn.index for turn in turns}) == len(turns)
        and len({verdict.judge_id for verdict in judges}) == len(judges)
        and _are_times([debate.created_at, *[turn.created_at for turn in turns]])
        and not _has_deep_details([*turns, *judges])
        and _are_scored(judges)
    )


def _are_times(times: list[str | UnsetType | None]) -> bool:
    """Whether all that are stated are times in UTC: on the 30th of February there are none."""
    stated = [time for time in times if time is not None and time is not UNSET]
    # One search in all of them takes half as long as one in each.
    if stated and not _are_utc("\n".join(stated)):
        return False
    try:
        for time in stated:
            datetime.fromisoformat(time)
    except ValueError:
        return False
    return True


def _has_deep_details(usages: list[_Turn | _Verdict]) -> bool:
    """Whether free data is nested so deeply that the strict importer might find it too deep."""
    for usage in usages:
        metadata, costs = usage.metadata, usage.cost_details
        if metadata and any(metadata.values()) and _depth(metadata) > _DEEPEST_DETAIL:
            return True
        if costs and any(costs.values()) and _depth(costs) > _DEEPEST_DETAIL:
            return True
    return False


def _depth(value: Any) -> int:
    level, depth = [value], 0
    while level:
        inner = [item for outer in level for item in (outer.values() if isinstance(outer, dict) else outer)]
        level = [item for item in inner if isinstance(item, dict | list)]
        depth += 1
    return depth


def _are_scored(judges: list[_Verdict]) -> bool:
    """Whether both sides always have scores on the same dimensions, exact to six decimals."""
    dimensions: set[str] = set()
    values: list[float] = []
    for verdict in judges:
        pro, con = verdict.pro.scores, verdict.con.scores
        if pro.keys() != con.keys():
            return False
        dimensions.update(pro)
        values += pro.values()
        values += con.values()
    return all(map(str.strip, dimensions)) and (
        all(map(float.is_integer, values)) or all(value == round(value, 6) for value in values)
    )


def _known(value: T | UnsetType) -> T | None:
    return None if value is UNSET else value
