"""The JSONL of the original DebateBench harness: one line is one debate with its turns and its panel's verdicts."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from datetime import datetime
from functools import lru_cache, partial
from pathlib import Path
from typing import Any, NamedTuple, cast
from unicodedata import normalize

import msgspec
from msgspec import UNSET

from debatebench.landing.importers.base import (
    BadRecord,
    BadSourceError,
    Imported,
    Importer,
    NotPlainError,
    PlainRows,
    Purpose,
    visible_files,
)
from debatebench.landing.importers.debatebench_queries import PLAIN_ROWS
from debatebench.landing.importers.debatebench_rows import (
    Rows,
    counted_rows,
    debate_rows,
    dimension_names,
    has_whole_scores,
    landed_scores,
)
from debatebench.landing.importers.debatebench_source import (
    read_accepted_debate,
    read_debate,
    read_outline,
    read_plain_debate,
)
from debatebench.landing.importers.second_reader import Chunk, read_in_two, write_chunks
from debatebench.landing.importers.strict_source import (
    LARGEST_RECORD,
    has_byte_order_mark,
    json_lines,
    known,
    lines_between,
)
from debatebench.shared.records import Debater, Dimension, Judge, Row, Topic
from debatebench.shared.visible_text import plain_name


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
    rows: Rows = ()


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


_read_kept = msgspec.json.Decoder(_Kept).decode
_encode_lines = msgspec.msgpack.Encoder().encode
_decode_lines = msgspec.msgpack.Decoder(_Lines).decode


def find_files(path: Path) -> list[Path]:
    """The file itself, or every *.jsonl of the folder by name."""
    return visible_files(path, ".jsonl") if path.is_dir() else [path]


def read(path: Path, run_tag: str, purpose: Purpose) -> Iterator[Imported | BadRecord]:
    """Every debate of the file or folder, line by line. Keys outside the original's schema are kept as metadata.

    Accepted lines take half of the time.
    """
    if purpose == "kept":
        yield from _read_to_compare(path, run_tag)
        return
    for file in find_files(path):
        if purpose == "plain" and has_byte_order_mark(file):
            raise NotPlainError
        first = 0
        read_chunk = partial(_read_chunk, file, run_tag, purpose)
        for lines in read_in_two(file, read_chunk, _decode_lines, __name__, str(file), run_tag, purpose):
            for line in lines.found:
                yield _unit(line, f"{file.name}:{first + line.number}", run_tag)
            first += lines.number


def _read_to_compare(path: Path, run_tag: str) -> Iterator[Imported | BadRecord]:
    """Every debate of a kept file, without rows; of the shared records, only its topic."""
    for file in find_files(path):
        for number, text in json_lines(file):
            try:
                kept = _read_kept(text)
            except (ValueError, RecursionError):
                line = _read_line(number, text, run_tag, "digests")
            else:
                line = _Line(number, None, debate_id=plain_name(kept.transcript.debate_id), **_outline(kept))
            unit = _unit(line, f"{file.name}:{number}", run_tag)
            yield unit if isinstance(unit, BadRecord) else unit._replace(digest=partial(_digest, text))


def _digest(text: bytes) -> bytes:
    return read_debate(text)[1]


def _unit(line: _Line, where: str, run_tag: str) -> Imported | BadRecord:
    if line.fault is not None:
        return BadRecord(where, line.fault)
    shared = (
        topic_of(run_tag, *line.topic),
        *debaters_of(run_tag, line.models),
        *judges_of(run_tag, line.judges),
        *dimensions_of(run_tag, line.dimensions),
    )
    # All times at this point are in UTC.
    time = datetime.fromisoformat(line.time).replace(tzinfo=None) if line.time else None
    return Imported(
        ("debate", line.debate_id),
        where,
        partial(bytes, line.digest),
        shared,
        partial(placed, run_tag, line.rows),
        _run_facts(*line.facts),
        time,
    )


def placed(run_tag: str, rows: Rows, position: int) -> Iterator[Row]:
    """Rows without the position of their debate → rows with it."""
    for table, count, text in rows:
        placed = b'{"source_position":%d,%b' % (position, text[1:]) if table == "debates" else text
        yield Row(table, run_tag, placed, count)


def _read_chunk(file: Path, run_tag: str, purpose: Purpose, chunk: Chunk) -> _Lines:
    number, found = 0, []
    for number, text in lines_between(file, *chunk):
        if text.strip():
            found.append(_read_line(number, text, run_tag, purpose))
    return _Lines(number, found)


def _read_line(number: int, text: bytes, run_tag: str, purpose: Purpose) -> _Line:
    try:
        source, digest = _source(text, purpose)
        rows = _rows(source, run_tag, purpose)
    except BadSourceError as error:
        is_torn = not text.endswith((b"\n", b"}")) and len(text) <= LARGEST_RECORD
        return _Line(number, f"{error}{' The line has no end, so it is torn.' if is_torn else ''}")
    transcript = source.transcript
    return _Line(
        number,
        None,
        debate_id=transcript.debate_id,
        models=(transcript.pro_model_id, transcript.con_model_id),
        judges=tuple([verdict.judge_id for verdict in source.judges]),
        dimensions=dimension_names(source),
        time=str(source.created_at) if source.created_at else None,
        digest=digest,
        rows=rows,
        **_outline(source),
    )


def _source(text: bytes, purpose: Purpose) -> tuple[Any, bytes]:
    """The debate in a line, and its digest where the purpose needs it."""
    match purpose:
        case "plain":
            return read_plain_debate(text)
        case "outlines":
            return read_outline(text), b""
        case "accepted":
            return read_accepted_debate(text), b""
    return read_debate(text)


def _rows(source: Any, run_tag: str, purpose: Purpose) -> Rows:
    if purpose == "outlines" or (purpose == "plain" and has_whole_scores(source)):
        return counted_rows(source, run_tag)
    scores = landed_scores(source)
    if purpose == "digests":
        return ()
    return counted_rows(source, run_tag) if purpose == "plain" else debate_rows(source, run_tag, scores)


def _outline(source: Any) -> dict[str, Any]:
    """The topic of a debate, and what the debate states about its run."""
    transcript, topic, elo = source.transcript, source.transcript.topic, source.elo
    return {
        "topic": (plain_name(topic.id), normalize("NFC", topic.motion), plain_name(topic.category or "") or None),
        "facts": (
            _stated(transcript.benchmark_version),
            _stated(transcript.rubric_version),
            _stated(transcript.seed),
            _stated(elo.initial_rating) if elo else None,
            _stated(elo.k_factor) if elo else None,
        ),
    }


def _stated(value: Any) -> Any:
    return None if value is UNSET else value


# These records are the same in thousands of debates.
@lru_cache(maxsize=4096)
def topic_of(run_tag: str, topic_id: str, motion: str, category: str | None) -> Topic:
    """The topic of a debate; the same objects for the same names."""
    return Topic(run_tag=run_tag, topic_id=topic_id, source_position=0, motion=motion, category=category)


@lru_cache(maxsize=4096)
def debaters_of(run_tag: str, models: tuple[str, ...]) -> tuple[Debater, ...]:
    """The debaters of a debate; the same objects for the same names."""
    return tuple(Debater(run_tag=run_tag, model_id=model_id) for model_id in models)


@lru_cache(maxsize=4096)
def judges_of(run_tag: str, judges: tuple[str, ...]) -> tuple[Judge, ...]:
    """The judges of a debate; the same objects for the same names."""
    return tuple(Judge(run_tag=run_tag, judge_id=judge_id) for judge_id in judges)


@lru_cache(maxsize=4096)
def dimensions_of(run_tag: str, dimensions: tuple[str, ...]) -> tuple[Dimension, ...]:
    """The dimensions of a debate; the same objects for the same names."""
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


IMPORTER = Importer(
    "a JSONL file of the original DebateBench, or a folder of *.jsonl",
    find_files,
    read,
    # In accepted lines no key and no turn or judge is repeated, no name is blank, and nothing is deep.
    rules=1,
    # An earlier reader had rules 1.
    plain=PlainRows(2, PLAIN_ROWS),
    landed_facts={
        "benchmark_version": "metadata ->> '$.benchmark_version'",
        "rubric_version": "metadata ->> '$.rubric_version'",
        "seed": "(metadata ->> '$.seed')::bigint",
    },
)

if __name__ == "__main__":
    _file, _run_tag, _purpose = sys.argv[1:]
    write_chunks(
        Path(_file), lambda chunk: _encode_lines(_read_chunk(Path(_file), _run_tag, cast(Purpose, _purpose), chunk))
    )
