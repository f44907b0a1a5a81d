"""The JSONL of the original DebateBench harness: one line is one debate with its turns and its panel's verdicts."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator, Sequence
from datetime import datetime
from functools import lru_cache, partial
from hashlib import sha256
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
from msgspec import UNSET, Raw
from pydantic import Field

from debatebench.landing.importers.base import BadRecord, BadSourceError, Imported, sorted_json, visible_files
from debatebench.landing.importers.source_schema import (
    Amount,
    Count,
    Name,
    Number,
    Source,
    SourceTime,
    Whole,
    check,
    known,
    score,
    strict_struct,
)
from debatebench.landing.importers.strict_json import LARGEST_RECORD, json_lines, lines_between, parse_json
from debatebench.landing.importers.two_readers import Chunk, read_in_two, write_chunks
from debatebench.shared.record_columns import row_struct
from debatebench.shared.records import (
    Debate,
    Debater,
    Dimension,
    Judge,
    Participant,
    Row,
    Side,
    Topic,
    Turn,
    Verdict,
    Winner,
)

__all__ = ["EXPECTED", "LANDED_FACTS", "find_files", "read", "read_kept"]

LANDED_FACTS = {
    "benchmark_version": "metadata ->> '$.benchmark_version'",
    "rubric_version": "metadata ->> '$.rubric_version'",
    "seed": "(metadata ->> '$.seed')::bigint",
}
_DEEPEST_DETAIL = 32
# DuckDB does not read every ISO 8601 time, and ignores an offset from UTC.
_TIME = r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}(?:\.[0-9]{1,6})?(?:Z|\+00:00)?"
_are_usual = re.compile(rf"{_TIME}(?:\n{_TIME})*").fullmatch
EXPECTED = "a JSONL file of the original DebateBench, or a folder of *.jsonl"


class _Topic(Source):
    id: Name
    motion: Name
    category: str | None = None


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
    scores: dict[Name, Number]


class _Verdict(_Usage):
    judge_id: Name
    pro: _Scores
    con: _Scores
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
    mean_pro: dict[str, float] = Field(default_factory=dict)
    mean_con: dict[str, float] = Field(default_factory=dict)


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


class _Line(msgspec.Struct, array_like=True, gc=False):
    """A line that is not blank: its number in its chunk, and either why it is refused or its debate."""

    number: int
    fault: str | None
    debate_id: str = ""
    topic: tuple[str, str, str | None] = ("", "", None)
    models: tuple[str, ...] = ()
    judges: tuple[str, ...] = ()
    dimensions: tuple[str, ...] = ()
    facts: tuple[str | None, str | None, int | None, float | None, float | None] = (None, None, None, None, None)
    time: str | None = None
    digest: bytes = b""
    rows: tuple[tuple[str, int, bytes], ...] = ()


class _Lines(NamedTuple):
    """A chunk of a file: its number of lines, and the lines that are not blank."""

    number: int
    found: list[_Line]


class _KeptTopic(msgspec.Struct, gc=False):
    id: str
    motion: str
    category: str | None = None


class _KeptTranscript(msgspec.Struct, gc=False):
    debate_id: str
    topic: _KeptTopic
    benchmark_version: str | None = None
    rubric_version: str | None = None
    seed: int | None = None


class _KeptElo(msgspec.Struct, gc=False):
    initial_rating: float | None = None
    k_factor: float | None = None


class _Kept(msgspec.Struct, gc=False):
    """The part of a kept debate that a new source is compared with; reading only it takes a tenth of the time."""

    transcript: _KeptTranscript
    elo: _KeptElo | None = None


_Strict = strict_struct(_Debate)
_read_kept = msgspec.json.Decoder(_Kept).decode
_read_strictly = msgspec.json.Decoder(_Strict).decode
# The keys of a class are written in its order, those of a dict alphabetically.
_write = msgspec.json.Encoder(order="deterministic").encode
_write_rows = msgspec.json.Encoder().encode_lines
_encode_lines = msgspec.msgpack.Encoder().encode
_decode_lines = msgspec.msgpack.Decoder(_Lines).decode
_DebateRow, _ParticipantRow, _TurnRow, _VerdictRow = map(row_struct, (Debate, Participant, Turn, Verdict))


def find_files(path: Path) -> list[Path]:
    """The file itself, or every *.jsonl of the folder by name."""
    return visible_files(path, ".jsonl") if path.is_dir() else [path]


def read(path: Path, run_tag: str, *, with_rows: bool) -> Iterator[Imported | BadRecord]:
    """Every debate of the file or folder, line by line. Keys outside the original's schema are kept as metadata."""
    for file in find_files(path):
        first = 0
        read_chunk = partial(_read_chunk, file, run_tag, with_rows)
        for lines in read_in_two(file, read_chunk, _decode_lines, __name__, str(file), run_tag, str(with_rows)):
            for line in lines.found:
                yield _unit(line, f"{file.name}:{first + line.number}", run_tag)
            first += lines.number


def read_kept(path: Path, run_tag: str) -> Iterator[Imported | BadRecord]:
    """Every debate of a kept file, without rows; of the shared records, only its topic."""
    for file in find_files(path):
        for number, text in json_lines(file):
            try:
                kept = _read_kept(text)
            except (ValueError, RecursionError):
                line = _read_line(number, text, run_tag, with_rows=False)
            else:
                line = _Line(number, None, debate_id=kept.transcript.debate_id, **_outline(kept))
            unit = _unit(line, f"{file.name}:{number}", run_tag)
            yield unit if isinstance(unit, BadRecord) else unit._replace(digest=partial(_digest, text))


def _digest(text: bytes) -> bytes:
    return _read_debate(text)[1]


def _unit(line: _Line, where: str, run_tag: str) -> Imported | BadRecord:
    if line.fault is not None:
        return BadRecord(where, line.fault)
    shared = (
        _topic(run_tag, *line.topic),
        *_debaters(run_tag, line.models),
        *_judges(run_tag, line.judges),
        *_dimensions(run_tag, line.dimensions),
    )
    # All times at this point are in UTC.
    time = datetime.fromisoformat(line.time).replace(tzinfo=None) if line.time else None
    return Imported(
        ("debate", line.debate_id),
        where,
        partial(bytes, line.digest),
        shared,
        partial(_placed, run_tag, line.rows),
        _run_facts(*line.facts),
        time,
    )


def _placed(run_tag: str, rows: tuple[tuple[str, int, bytes], ...], position: int) -> Iterator[Row]:
    for table, count, text in rows:
        placed = b'{"source_position":%d,%b' % (position, text[1:]) if table == "debates" else text
        yield Row(table, run_tag, placed, count)


def _read_chunk(file: Path, run_tag: str, with_rows: bool, chunk: Chunk) -> _Lines:
    number, found = 0, []
    for number, text in lines_between(file, *chunk):
        if text.strip():
            found.append(_read_line(number, text, run_tag, with_rows=with_rows))
    return _Lines(number, found)


def _read_line(number: int, text: bytes, run_tag: str, *, with_rows: bool) -> _Line:
    try:
        source, digest = _read_debate(text)
        transcript, judges = source.transcript, tuple([verdict.judge_id for verdict in source.judges])
        _refuse_twice("turns", "index", [turn.index for turn in transcript.turns])
        _refuse_twice("judges", "judge_id", judges)
        scores = [_scores(verdict, position) for position, verdict in enumerate(source.judges)]
    except BadSourceError as error:
        is_torn = not text.endswith((b"\n", b"}")) and len(text) <= LARGEST_RECORD
        return _Line(number, f"{error}{' The line has no end, so it is torn.' if is_torn else ''}")
    return _Line(
        number,
        None,
        debate_id=transcript.debate_id,
        models=(transcript.pro_model_id, transcript.con_model_id),
        judges=judges,
        dimensions=_dimension_names(source),
        time=str(source.created_at) if source.created_at else None,
        digest=digest,
        rows=_rows(source, run_tag, scores) if with_rows else (),
        **_outline(source),
    )


def _outline(source: Any) -> dict[str, Any]:
    """The topic of a debate, and what the debate states about its run."""
    transcript, topic, elo = source.transcript, source.transcript.topic, source.elo
    return {
        "topic": (topic.id, topic.motion, topic.category or None),
        "facts": (
            _stated(transcript.benchmark_version),
            _stated(transcript.rubric_version),
            _stated(transcript.seed),
            _stated(elo.initial_rating) if elo else None,
            _stated(elo.k_factor) if elo else None,
        ),
    }


def _read_debate(text: bytes) -> tuple[Any, bytes]:
    """The debate in a line (a `_Debate` or its strict struct) and its digest. Raises `BadSourceError`."""
    try:
        source = _read_strictly(text)
        written = _write(source)
    except (ValueError, RecursionError):
        return _read_slowly(text)
    # If a key is repeated, only one is written again, so a colon is missing. An escaped colon would upset the counts.
    if text.count(b":") != written.count(b":") or b"\\u003" in text or not _is_usual(source):
        return _read_slowly(text)
    return source, sha256(written).digest()


def _read_slowly(text: bytes) -> tuple[_Debate, bytes]:
    """What `_read_debate` returns or raises, for any line."""
    value = parse_json(text)
    source = check(_Debate, value)
    try:
        # Identical debates are written identically, whichever way they were read.
        written = _write(msgspec.convert(value, _Strict))
    except (ValueError, RecursionError):
        written = sorted_json(value)
    return source, sha256(written).digest()


def _is_usual(source: Any) -> bool:
    """Whether a `_Debate` would be accepted: the checks that its strict struct does not make."""
    transcript, judges = source.transcript, source.judges
    topic = transcript.topic
    names = [transcript.debate_id, topic.id, topic.motion, transcript.pro_model_id, transcript.con_model_id]
    for verdict in judges:
        names.append(verdict.judge_id)
        names += [*verdict.pro.scores, *verdict.con.scores]
    return all(map(str.strip, names)) and _has_usual_times(source) and not _is_deep(source)


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


def _refuse_twice(what: str, key: str, values: Sequence[Any]) -> None:
    if len(set(values)) != len(values):
        twice = next(value for index, value in enumerate(values) if value in values[:index])
        raise BadSourceError(f"{what}: the {key} {twice!r} occurs twice.")


def _scores(verdict: Any, position: int) -> list[Raw]:
    """The scores of a verdict in the form in which they land."""
    pro, con = verdict.pro.scores, verdict.con.scores
    if pro.keys() != con.keys():
        one_sided = sorted(pro.keys() ^ con.keys())[0]
        raise BadSourceError(f"judges[{position}]: only one side has a score of {one_sided[:60]!r}.")
    return [_score(dimension, value, con[dimension]) for dimension, value in pro.items()]


@lru_cache(maxsize=65536)
def _score(dimension: str, pro: float, con: float) -> Raw:
    return Raw(score(dimension, pro, con).model_dump_json().encode())


def _rows(source: Any, run_tag: str, scores: list[list[Raw]]) -> tuple[tuple[str, int, bytes], ...]:
    """Table, number of rows and their JSON, one per line; the position of the debate is still missing."""
    transcript = source.transcript
    debate_id = transcript.debate_id
    models = {"pro": transcript.pro_model_id, "con": transcript.con_model_id}
    participants = [
        _ParticipantRow(run_tag=run_tag, debate_id=debate_id, position=side, model_id=model_id, side=side)
        for side, model_id in models.items()
    ]
    turns = [_turn(turn, run_tag, debate_id, models[turn.speaker]) for turn in transcript.turns]
    verdicts = [
        _verdict(verdict, run_tag, debate_id, position, scores[position])
        for position, verdict in enumerate(source.judges)
    ]
    tables = {
        "debates": [_debate(source, run_tag)],
        "participants": participants,
        "turns": turns,
        "verdicts": verdicts,
    }
    return tuple([(table, len(rows), _write_rows(rows)[:-1]) for table, rows in tables.items() if rows])


def _debate(source: Any, run_tag: str) -> msgspec.Struct:
    transcript, aggregate = source.transcript, source.aggregate
    counted = len(source.judges)
    return _DebateRow(
        run_tag=run_tag,
        debate_id=transcript.debate_id,
        source_position=UNSET,
        topic_id=transcript.topic.id,
        pro_model_id=transcript.pro_model_id,
        con_model_id=transcript.con_model_id,
        debate_seed=source.debate_seed,
        created_at=source.created_at,
        judges_expected=source.judges_expected,
        judges_actual=counted,
        panel_latency_ms=source.panel_latency_ms,
        recorded_winner=aggregate.winner if aggregate else UNSET,
        dimension_order=_stated_order(source) or UNSET,
        metadata=known(
            source.model_extra,
            transcript.model_extra,
            benchmark_version=transcript.benchmark_version,
            rubric_version=transcript.rubric_version,
            seed=transcript.seed,
            elo=_elo(source.elo) if source.elo else None,
            panel_complete=source.panel_complete,
            # Keep the statement only if it contradicts the verdicts.
            stated_judges_actual=source.judges_actual if source.judges_actual != counted else None,
            topic=transcript.topic.model_extra or None,
        ),
    )


def _turn(turn: Any, run_tag: str, debate_id: str, model_id: str) -> msgspec.Struct:
    stated = _present(turn.metadata)
    # The original keeps a debater's hidden reasoning among the metadata; it has a column here.
    reasoning = stated.pop("reasoning") if isinstance(stated.get("reasoning"), str) else UNSET
    response = stated.get("raw_response")
    served = response if isinstance(response, dict) else {}
    finish_reason = _finish_reason(served)
    return _TurnRow(
        run_tag,  # run_tag
        debate_id,  # debate_id
        turn.index,  # turn_index
        turn.speaker,  # position
        turn.speaker,  # side
        model_id,  # model_id
        turn.stage,  # stage
        turn.content,  # content
        reasoning,  # reasoning
        turn.created_at,  # created_at
        turn.duration_ms,  # duration_ms
        turn.prompt_tokens,  # prompt_tokens
        turn.completion_tokens,  # completion_tokens
        turn.total_tokens,  # total_tokens
        _amount(turn.cost),  # cost
        UNSET,  # cost_source
        turn.currency,  # currency
        finish_reason,  # finish_reason
        finish_reason == "length",  # is_truncated
        _text(served.get("provider")),  # serving_provider
        _text(served.get("id")),  # generation_id
        UNSET,  # call_id
        _metadata(turn, stated),  # metadata
    )


def _verdict(verdict: Any, run_tag: str, debate_id: str, position: int, scores: list[Raw]) -> msgspec.Struct:
    return _VerdictRow(
        run_tag,  # run_tag
        debate_id,  # debate_id
        verdict.judge_id,  # judge_id
        position,  # panel_position
        UNSET,  # presented_first
        bool(scores),  # is_valid
        UNSET if scores else "no scores",  # invalid_reason
        verdict.winner,  # declared_winner
        scores or UNSET,  # scores
        verdict.raw_response,  # raw_response
        UNSET,  # created_at
        verdict.latency_ms,  # latency_ms
        verdict.prompt_tokens,  # prompt_tokens
        verdict.completion_tokens,  # completion_tokens
        verdict.total_tokens,  # total_tokens
        _amount(verdict.cost),  # cost
        UNSET,  # cost_source
        verdict.currency,  # currency
        1,  # asks
        UNSET,  # replaces_judge_id
        False,  # is_repaired
        False,  # is_injection_suspected
        UNSET,  # call_id
        _metadata(verdict, _present(verdict.metadata)),  # metadata
    )


def _present(details: Any) -> dict[str, Any]:
    """The details that are present and not null."""
    return {key: value for key, value in details.items() if value is not None} if details else {}


def _metadata(usage: Any, stated: dict[str, Any]) -> Any:
    costs = _present(usage.cost_details)
    if costs:
        stated["cost_details"] = costs
    return {**_present(usage.model_extra), **stated} or UNSET


def _stated_order(source: Any) -> tuple[str, ...]:
    aggregate = source.aggregate
    return tuple(aggregate.mean_pro) if aggregate and aggregate.mean_pro else ()


def _dimension_names(source: Any) -> tuple[str, ...]:
    scored = [dimension for verdict in source.judges for dimension in verdict.pro.scores]
    return tuple(dict.fromkeys((*_stated_order(source), *scored)))


def _elo(elo: Any) -> dict[str, Any]:
    stated = known({"initial_rating": elo.initial_rating, "k_factor": elo.k_factor}) or {}
    return {**stated, **(elo.model_extra or {})}


def _finish_reason(response: dict[str, Any]) -> Any:
    choices = response.get("choices")
    first = choices[0] if isinstance(choices, list) and choices else None
    return _text(first.get("finish_reason")) if isinstance(first, dict) else UNSET


def _text(value: Any) -> Any:
    return value if isinstance(value, str) else UNSET


def _amount(value: Any) -> Any:
    """The shortest text of a number; it becomes an exact decimal."""
    return repr(value) if isinstance(value, float) else UNSET


def _stated(value: Any) -> Any:
    return None if value is UNSET else value


# These records are the same in thousands of debates.
@lru_cache(maxsize=4096)
def _topic(run_tag: str, topic_id: str, motion: str, category: str | None) -> Topic:
    return Topic(run_tag=run_tag, topic_id=topic_id, source_position=0, motion=motion, category=category)


@lru_cache(maxsize=4096)
def _debaters(run_tag: str, models: tuple[str, ...]) -> tuple[Debater, ...]:
    return tuple(Debater(run_tag=run_tag, model_id=model_id) for model_id in models)


@lru_cache(maxsize=4096)
def _judges(run_tag: str, judges: tuple[str, ...]) -> tuple[Judge, ...]:
    return tuple(Judge(run_tag=run_tag, judge_id=judge_id) for judge_id in judges)


@lru_cache(maxsize=4096)
def _dimensions(run_tag: str, dimensions: tuple[str, ...]) -> tuple[Dimension, ...]:
    return tuple(Dimension(run_tag=run_tag, dimension=name, source_position=0) for name in dimensions)


@lru_cache(maxsize=4096)
def _run_facts(
    benchmark_version: str | None,
    rubric_version: str | None,
    seed: int | None,
    elo_initial_rating: float | None,
    elo_k_factor: float | None,
) -> dict[str, Any]:
    facts = known(
        benchmark_version=benchmark_version,
        rubric_version=rubric_version,
        seed=seed,
        elo_initial_rating=elo_initial_rating,
        elo_k_factor=elo_k_factor,
    )
    return facts or {}


if __name__ == "__main__":
    _file, _run_tag, _with_rows = sys.argv[1:]
    write_chunks(
        Path(_file), lambda chunk: _encode_lines(_read_chunk(Path(_file), _run_tag, _with_rows == "True", chunk))
    )
