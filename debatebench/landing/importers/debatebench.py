"""The JSONL of the original DebateBench harness: one line is one debate with its turns and its panel's verdicts."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import lru_cache, partial
from hashlib import sha256
from pathlib import Path
from typing import Any

from pydantic import Field, ValidationError

from debatebench.landing.importers.base import BadRecord, BadSourceError, Imported, Unit, sorted_json, visible_files
from debatebench.landing.importers.plain_debates import (
    PLAIN_RULES,
    Outline,
    canonical_debate,
    plain_debate,
    plain_outline,
)
from debatebench.landing.importers.plain_scan import look
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
)
from debatebench.landing.importers.strict_json import (
    LARGEST_RECORD,
    has_byte_order_mark,
    json_lines,
    line_at,
    parse_json,
)
from debatebench.shared.records import (
    Debate,
    Debater,
    Dimension,
    Judge,
    Participant,
    Record,
    Side,
    Topic,
    Turn,
    Verdict,
    Winner,
)

__all__ = ["EXPECTED", "PLAIN_RULES", "find_files", "read", "scan"]

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


def find_files(path: Path) -> list[Path]:
    """The file itself, or every *.jsonl of the folder by name."""
    return visible_files(path, ".jsonl") if path.is_dir() else [path]


def read(path: Path, run_tag: str) -> Iterator[Imported | BadRecord]:
    """Every debate of the file or folder, line by line. Keys that the original does not know are kept as metadata."""
    for file in find_files(path):
        for number, line in json_lines(file):
            yield _read_line(line, f"{file.name}:{number}", run_tag)


def scan(path: Path, run_tag: str, are_plain: bool) -> Iterator[Unit | BadRecord]:
    """Every debate of the file or folder without its rows; what is not plain is read strictly."""
    for file in find_files(path):
        if are_plain:
            yield from _scan_plain(file, run_tag)
        elif has_byte_order_mark(file):
            # DuckDB refuses it, so that no line is plain.
            yield from (_unit(line, f"{file.name}:{number}", run_tag) for number, line in json_lines(file))
        else:
            for number, offset, outline, digest in look(file):
                where = f"{file.name}:{number}"
                if outline is not None:
                    yield _plain_unit(outline, where, run_tag, partial(bytes, digest))
                else:
                    yield _unit(line_at(file, offset), where, run_tag)


def _scan_plain(file: Path, run_tag: str) -> Iterator[Unit]:
    for number, line in json_lines(file):
        yield _plain_unit(plain_outline(line), f"{file.name}:{number}", run_tag, partial(_plain_digest, line))


def _unit(line: bytes, where: str, run_tag: str) -> Unit | BadRecord:
    unit = _read_line(line, where, run_tag)
    return Unit.of(unit) if isinstance(unit, Imported) else unit


def _read_line(line: bytes, where: str, run_tag: str) -> Imported | BadRecord:
    try:
        return _read_debate(line, where, run_tag)
    except BadSourceError as error:
        is_torn = not line.endswith((b"\n", b"}")) and len(line) <= LARGEST_RECORD
        return BadRecord(where, f"{error}{' The line has no end: it is torn.' if is_torn else ''}")


def _plain_unit(outline: Outline, where: str, run_tag: str, digest: Callable[[], bytes]) -> Unit:
    return Unit(
        key=("debate", outline.debate_id),
        where=where,
        digest=digest,
        topics=_topics(run_tag, outline.topic_id, outline.motion, outline.category),
        run_facts=_run_facts(*outline[4:]),
        is_plain=True,
    )


def _plain_digest(line: bytes) -> bytes:
    plain = plain_debate(line)
    return sha256(plain[1]).digest() if plain else b""


def _canonical(value: Any) -> bytes:
    """What makes two debates identical: the same text for those that are plain and for those that could be."""
    try:
        return canonical_debate(value)
    except (ValueError, RecursionError):
        return sorted_json(value)


def _read_debate(line: bytes, where: str, run_tag: str) -> Imported:
    value = parse_json(line)
    source = check(_Debate, value)
    transcript = source.transcript
    try:
        records = tuple(_records(source, run_tag))
    except ValidationError as error:
        raise BadSourceError(f"It does not fit its tables: {error.errors()[0]['msg']}.") from error
    return Imported(
        key=("debate", transcript.debate_id),
        where=where,
        source=value,
        records=records,
        run_facts=_run_facts(
            transcript.benchmark_version,
            transcript.rubric_version,
            transcript.seed,
            source.elo.initial_rating if source.elo else None,
            source.elo.k_factor if source.elo else None,
        ),
        canonical=_canonical,
    )


def _records(source: _Debate, run_tag: str) -> Iterator[Record]:
    transcript = source.transcript
    debate_id = transcript.debate_id
    models: dict[str, str] = {"pro": transcript.pro_model_id, "con": transcript.con_model_id}
    yield _topic(run_tag, transcript.topic.id, transcript.topic.motion, transcript.topic.category or None)
    yield from _debate(source, run_tag)
    for side, model_id in models.items():
        yield _debater(run_tag, model_id)
        yield Participant(run_tag=run_tag, debate_id=debate_id, position=side, model_id=model_id, side=side)
    _refuse_twice("turns", "index", [turn.index for turn in transcript.turns])
    for turn in transcript.turns:
        yield _turn(turn, run_tag, debate_id, models[turn.speaker])
    _refuse_twice("judges", "judge_id", [verdict.judge_id for verdict in source.judges])
    for position, verdict in enumerate(source.judges):
        yield _judge(run_tag, verdict.judge_id)
        yield _verdict(verdict, run_tag, debate_id, position)


def _debate(source: _Debate, run_tag: str) -> Iterator[Record]:
    transcript, aggregate = source.transcript, source.aggregate
    scored = [dimension for verdict in source.judges for dimension in verdict.pro.scores]
    order = tuple(aggregate.mean_pro) if aggregate and aggregate.mean_pro else None
    for dimension in dict.fromkeys((*(order or ()), *scored)):
        yield _dimension(run_tag, dimension)
    counted = len(source.judges)
    yield Debate(
        run_tag=run_tag,
        debate_id=transcript.debate_id,
        source_position=0,
        topic_id=transcript.topic.id,
        pro_model_id=transcript.pro_model_id,
        con_model_id=transcript.con_model_id,
        debate_seed=source.debate_seed,
        created_at=source.created_at,
        judges_expected=source.judges_expected,
        judges_actual=counted,
        panel_latency_ms=source.panel_latency_ms,
        recorded_winner=aggregate.winner if aggregate else None,
        dimension_order=order,
        metadata=known(
            source.model_extra,
            transcript.model_extra,
            benchmark_version=transcript.benchmark_version,
            rubric_version=transcript.rubric_version,
            seed=transcript.seed,
            elo=source.elo.model_dump(exclude_none=True) if source.elo else None,
            panel_complete=source.panel_complete,
            # Only a statement that contradicts the verdicts is worth keeping.
            stated_judges_actual=source.judges_actual if source.judges_actual != counted else None,
            topic=transcript.topic.model_extra or None,
        ),
    )


def _turn(turn: _Turn, run_tag: str, debate_id: str, model_id: str) -> Turn:
    stated = dict(turn.metadata or {})
    # The original keeps a debater's hidden reasoning among the metadata; it has a column here.
    reasoning = stated.pop("reasoning") if isinstance(stated.get("reasoning"), str) else None
    response = stated.get("raw_response")
    served = response if isinstance(response, dict) else {}
    finish_reason = _finish_reason(served)
    return Turn(
        run_tag=run_tag,
        debate_id=debate_id,
        turn_index=turn.index,
        position=turn.speaker,
        side=turn.speaker,
        model_id=model_id,
        stage=turn.stage,
        content=turn.content,
        reasoning=reasoning,
        created_at=turn.created_at,
        duration_ms=turn.duration_ms,
        prompt_tokens=turn.prompt_tokens,
        completion_tokens=turn.completion_tokens,
        total_tokens=turn.total_tokens,
        cost=turn.cost,
        currency=turn.currency,
        finish_reason=finish_reason,
        is_truncated=finish_reason == "length",
        serving_provider=_text(served.get("provider")),
        generation_id=_text(served.get("id")),
        metadata=known(turn.model_extra, stated, cost_details=known(turn.cost_details)),
    )


def _verdict(verdict: _Verdict, run_tag: str, debate_id: str, position: int) -> Verdict:
    pro, con = verdict.pro.scores, verdict.con.scores
    if pro.keys() != con.keys():
        one_sided = sorted(pro.keys() ^ con.keys())[0]
        raise BadSourceError(f"judges[{position}]: only one side has a score of {one_sided[:60]!r}.")
    scores = tuple(score(dimension, value, con[dimension]) for dimension, value in pro.items())
    return Verdict(
        run_tag=run_tag,
        debate_id=debate_id,
        judge_id=verdict.judge_id,
        panel_position=position,
        is_valid=bool(scores),
        invalid_reason=None if scores else "no scores",
        declared_winner=verdict.winner,
        scores=scores or None,
        raw_response=verdict.raw_response,
        latency_ms=verdict.latency_ms,
        prompt_tokens=verdict.prompt_tokens,
        completion_tokens=verdict.completion_tokens,
        total_tokens=verdict.total_tokens,
        cost=verdict.cost,
        currency=verdict.currency,
        metadata=known(verdict.model_extra, verdict.metadata, cost_details=known(verdict.cost_details)),
    )


def _finish_reason(response: dict[str, Any]) -> str | None:
    choices = response.get("choices")
    first = choices[0] if isinstance(choices, list) and choices else None
    return _text(first.get("finish_reason")) if isinstance(first, dict) else None


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) else None


def _refuse_twice(what: str, key: str, values: list[Any]) -> None:
    if len(set(values)) != len(values):
        twice = next(value for index, value in enumerate(values) if value in values[:index])
        raise BadSourceError(f"{what}: the {key} {twice!r} comes twice.")


# These rows are the same in thousands of debates; making them once saves a third of the time.
@lru_cache(maxsize=4096)
def _topic(run_tag: str, topic_id: str, motion: str, category: str | None) -> Topic:
    return Topic(run_tag=run_tag, topic_id=topic_id, source_position=0, motion=motion, category=category)


@lru_cache(maxsize=4096)
def _topics(run_tag: str, topic_id: str, motion: str, category: str | None) -> tuple[Topic, ...]:
    return (_topic(run_tag, topic_id, motion, category),)


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


@lru_cache(maxsize=4096)
def _debater(run_tag: str, model_id: str) -> Debater:
    return Debater(run_tag=run_tag, model_id=model_id)


@lru_cache(maxsize=4096)
def _judge(run_tag: str, judge_id: str) -> Judge:
    return Judge(run_tag=run_tag, judge_id=judge_id)


@lru_cache(maxsize=4096)
def _dimension(run_tag: str, dimension: str) -> Dimension:
    return Dimension(run_tag=run_tag, dimension=dimension, source_position=0)
