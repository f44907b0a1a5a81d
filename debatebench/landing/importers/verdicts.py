"""Verdicts of other people: one row each, as CSV, JSONL or Parquet, with the debates that they are about or without."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple
from unicodedata import normalize

import msgspec

from debatebench.landing.importers.base import BadRecord, BadSourceError, Imported, Importer, Purpose, visible_files
from debatebench.landing.importers.debatebench import debaters_of, dimensions_of, judges_of, placed, topic_of
from debatebench.landing.importers.debatebench import read as read_debates
from debatebench.landing.importers.strict_source import score, score_json
from debatebench.landing.importers.verdict_rows import SUFFIXES, VerdictRow, verdict_rows
from debatebench.shared.record_columns import row_struct
from debatebench.shared.records import Debate, JudgeNote, Participant, Row, Topic, Verdict
from debatebench.shared.visible_text import plain_name

DEBATES = "debates.jsonl"
"""In a folder: the debates themselves, as the original harness writes them."""

_SIDES = {"pro": "pro", "con": "con", "aff": "pro", "neg": "con"}
_WINNERS = {**_SIDES, "tie": "tie"}
_SCORES = ("pro_scores", "con_scores")
_KNOWN = frozenset(
    {
        "debate_id",
        "judge_id",
        "winner",
        "margin",
        "presented_first",
        "reason",
        "trial",
        "topic_id",
        "motion",
        "category",
        "pro_model_id",
        "con_model_id",
        *_SCORES,
    }
)
_SHOWN = 60

_write_rows = msgspec.json.Encoder().encode_lines
_write = msgspec.json.Encoder(order="deterministic").encode
_DebateRow, _ParticipantRow, _VerdictRow, _NoteRow = map(row_struct, (Debate, Participant, Verdict, JudgeNote))


class _Facts(NamedTuple):
    """What a row says about its debate; None for what it does not say."""

    topic_id: str | None
    motion: str | None
    category: str | None
    pro_model_id: str | None
    con_model_id: str | None


@dataclass(slots=True)
class _Found:
    """What has been read so far: debates with the place that described them, trials, verdicts, and places of judges."""

    debates: dict[str, tuple[_Facts, str]] = field(default_factory=dict)
    trials: set[tuple[str, int]] = field(default_factory=set)
    judges: dict[str, int] = field(default_factory=dict)
    judged: set[tuple[str, str]] = field(default_factory=set)


def find_files(path: Path) -> list[Path]:
    """The file itself, or every file of verdicts in the folder and its debates.jsonl, which comes first."""
    if path.is_dir():
        return sorted(visible_files(path, *SUFFIXES), key=lambda file: (file.name != DEBATES, file.name))
    return [path] if path.suffix in SUFFIXES else []


def read(path: Path, run_tag: str, purpose: Purpose) -> Iterator[Imported | BadRecord]:
    """Every verdict, each after its debate where a row or debates.jsonl describes that debate."""
    found = _Found()
    for file in find_files(path):
        if path.is_dir() and file.name == DEBATES:
            yield from _described(file, run_tag, purpose, found)
            continue
        for row in verdict_rows(file):
            if row.fault is not None:
                yield BadRecord(row.where, row.fault)
                continue
            try:
                yield from _units(row, run_tag, found)
            except BadSourceError as error:
                yield BadRecord(row.where, str(error))


def judged_in(unit: Imported) -> Iterator[tuple[str, str]]:
    """The debate and judge of every verdict among the rows of a unit."""
    for row in unit.rows(0):
        if row.table == Verdict.table:
            for line in row.json.split(b"\n"):
                verdict = msgspec.json.decode(line)
                yield verdict["debate_id"], verdict["judge_id"]


def _described(file: Path, run_tag: str, purpose: Purpose, found: _Found) -> Iterator[Imported | BadRecord]:
    """The debates of a file of the original harness, with the verdicts that it holds."""
    for unit in read_debates(file, run_tag, "accepted" if purpose == "accepted" else "rows"):
        if isinstance(unit, Imported):
            (debate,) = [msgspec.json.decode(row.json) for row in unit.rows(0) if row.table == Debate.table]
            (topic,) = [record for record in unit.shared if isinstance(record, Topic)]
            facts = _Facts(topic.topic_id, topic.motion, topic.category, debate["pro_model_id"], debate["con_model_id"])
            found.debates[unit.key[1]] = (facts, unit.where)
            found.judged.update(judged_in(unit))
        yield unit


def _units(row: VerdictRow, run_tag: str, found: _Found) -> Iterator[Imported]:
    """The verdict of a row, after its debate if that is new. Raises `BadSourceError`."""
    values = row.values
    debate_id, judge_id = _needed_name(values, "debate_id"), _needed_name(values, "judge_id")
    trial = _trial(values.get("trial"))
    facts = _facts(values)
    verdict = _Stated.of(values)
    first = _compared(found, debate_id, facts, row.where)
    if trial > 1 and first is None:
        raise BadSourceError(
            f"trial: a second trial of the debate {_quoted(debate_id)} needs the debate in the same file; add "
            "pro_model_id and con_model_id."
        )
    here = debate_id if trial == 1 else f"{debate_id}~{trial}"
    if (here, judge_id) in found.judged:
        raise BadSourceError(
            f"judge_id: {_quoted(judge_id)} has a verdict on the debate {_quoted(here)} already; number its verdicts "
            "in the column trial, from 1, or leave one out."
        )
    found.judged.add((here, judge_id))
    if first is not None:
        for number in (1, trial):
            # What debates.jsonl describes is a unit already.
            if (debate_id, number) not in found.trials and (number > 1 or not _is_described(first[1])):
                yield _debate(run_tag, debate_id, number, first[0], row.where)
            found.trials.add((debate_id, number))
    position = found.judges.setdefault(judge_id, len(found.judges))
    yield _verdict(run_tag, here, judge_id, position, verdict, row.where)


def _is_described(where: str) -> bool:
    return where.startswith(f"{DEBATES}:")


def _compared(found: _Found, debate_id: str, facts: _Facts, where: str) -> tuple[_Facts, str] | None:
    """What is known of a debate, and where it was said first; None if the source has not described it so far."""
    first = found.debates.get(debate_id)
    if first is not None:
        for name, said, again in zip(_Facts._fields, first[0], facts, strict=True):
            if again is not None and again != said:
                raise BadSourceError(
                    f"{name}: the debate {_quoted(debate_id)} has {_quoted(again)} here and {_quoted(said)} in "
                    f"{first[1]}; write one of them in both."
                )
        return first
    if facts.pro_model_id is None and facts.con_model_id is None:
        return None
    for name in ("pro_model_id", "con_model_id"):
        if getattr(facts, name) is None:
            raise BadSourceError(f"{name}: it is empty, and the debate {_quoted(debate_id)} needs both debaters.")
    found.debates[debate_id] = (facts, where)
    return found.debates[debate_id]


def _facts(values: dict[str, Any]) -> _Facts:
    return _Facts(
        _name(values, "topic_id"),
        _words(values, "motion"),
        _name(values, "category"),
        _name(values, "pro_model_id"),
        _name(values, "con_model_id"),
    )


class _Stated(NamedTuple):
    """What a row says as a verdict."""

    winner: str | None
    margin: float | None
    presented_first: str | None
    reason: str | None
    scores: tuple[tuple[str, float, float], ...]
    more: dict[str, Any]

    @classmethod
    def of(cls, values: dict[str, Any]) -> _Stated:
        """Read it. Raises `BadSourceError` that names the column."""
        winner, margin = _word(values, "winner", _WINNERS), _number(values.get("margin"), "margin")
        if margin is not None:
            leader = "pro" if margin > 0 else "con" if margin < 0 else "tie"
            if winner not in (None, leader):
                raise BadSourceError(
                    f"margin: {margin:g} is a verdict for {leader}, and winner is {winner}; a margin is positive for "
                    "pro, negative for con and 0 for a tie."
                )
            winner = leader
        return cls(
            winner,
            margin,
            _word(values, "presented_first", _SIDES),
            _text(values, "reason"),
            _scores(values),
            {
                key: value
                for key, value in values.items()
                if key not in _KNOWN and not key.startswith(("pro_scores.", "con_scores.")) and value not in (None, "")
            },
        )


def _scores(values: dict[str, Any]) -> tuple[tuple[str, float, float], ...]:
    """Dimension, pro's and con's score, of two objects or of columns such as pro_scores.clarity."""
    pro, con = (_side_scores(values, name) for name in _SCORES)
    if pro.keys() != con.keys():
        one_sided = sorted(pro.keys() ^ con.keys())[0]
        has, lacks = _SCORES if one_sided in pro else _SCORES[::-1]
        raise BadSourceError(
            f"{lacks}: it has no score of {_quoted(one_sided)}, and {has} has one; score both sides or neither."
        )
    scores = tuple((dimension, value, con[dimension]) for dimension, value in pro.items())
    for each in scores:
        score(*each)
    return scores


def _side_scores(values: dict[str, Any], name: str) -> dict[str, float]:
    whole = values.get(name)
    if whole is not None and whole != "" and not isinstance(whole, dict):
        raise BadSourceError(
            f"{name}: {_quoted(whole)} is not an object of scores; in CSV, write a column {name}.DIMENSION for each."
        )
    given = {f"{name}.{dimension}": value for dimension, value in (whole or {}).items()}
    given |= {key: value for key, value in values.items() if key.startswith(f"{name}.")}
    scores: dict[str, float] = {}
    for key, value in given.items():
        number = _number(value, key)
        dimension = plain_name(key.removeprefix(f"{name}."))
        if not dimension:
            raise BadSourceError(f"{name}: a dimension has no name.")
        if dimension in scores:
            raise BadSourceError(f"{name}: the dimension {_quoted(dimension)} occurs twice.")
        if number is not None:
            scores[dimension] = number
    return scores


def _debate(run_tag: str, debate_id: str, trial: int, facts: _Facts, where: str) -> Imported:
    here = debate_id if trial == 1 else f"{debate_id}~{trial}"
    topic_id = facts.topic_id or (debate_id if facts.motion is None else _id_of(facts.motion))
    topic = topic_of(run_tag, topic_id, facts.motion or topic_id, facts.category)
    models = (str(facts.pro_model_id), str(facts.con_model_id))
    debate = _DebateRow(
        run_tag=run_tag,
        debate_id=here,
        source_position=msgspec.UNSET,
        topic_id=topic_id,
        pro_model_id=models[0],
        con_model_id=models[1],
        source_debate_id=debate_id if trial > 1 else msgspec.UNSET,
        trial=trial,
    )
    sides = [
        _ParticipantRow(run_tag, here, side, model, side) for side, model in zip(("pro", "con"), models, strict=True)
    ]
    rows = (("debates", 1, _write_rows([debate])[:-1]), ("participants", 2, _write_rows(sides)[:-1]))
    return Imported(
        ("debate", here),
        where,
        partial(_digest, (here, topic.topic_id, topic.motion, topic.category, *models)),
        (topic, *debaters_of(run_tag, models)),
        partial(placed, run_tag, rows),
        {},
    )


def _verdict(run_tag: str, debate_id: str, judge_id: str, position: int, stated: _Stated, where: str) -> Imported:
    return Imported(
        ("verdict", debate_id, judge_id),
        where,
        partial(_digest, (debate_id, judge_id, *stated)),
        (
            *judges_of(run_tag, (judge_id,)),
            *dimensions_of(run_tag, tuple(dimension for dimension, *_ in stated.scores)),
        ),
        partial(_verdict_rows, run_tag, debate_id, judge_id, position, stated),
        {},
    )


def _verdict_rows(
    run_tag: str, debate_id: str, judge_id: str, panel_position: int, stated: _Stated, _position: int
) -> Iterator[Row]:
    is_valid = stated.winner is not None or bool(stated.scores)
    metadata = stated.more if stated.margin is None else {**stated.more, "margin": stated.margin}
    verdict = _VerdictRow(
        run_tag=run_tag,
        debate_id=debate_id,
        judge_id=judge_id,
        panel_position=panel_position,
        presented_first=stated.presented_first,
        is_valid=is_valid,
        invalid_reason=msgspec.UNSET if is_valid else "no winner and no scores",
        declared_winner=stated.winner,
        scores=[score_json(*each) for each in stated.scores] or msgspec.UNSET,
        metadata=metadata or msgspec.UNSET,
    )
    yield Row("verdicts", run_tag, _write_rows([verdict])[:-1])
    if stated.reason is not None:
        note = _NoteRow(
            run_tag=run_tag, debate_id=debate_id, judge_id=judge_id, note_index=0, step="reason", text=stated.reason
        )
        yield Row("judge_notes", run_tag, _write_rows([note])[:-1])


def _digest(stated: Any) -> bytes:
    return hashlib.sha256(_write(stated)).digest()


def _id_of(motion: str) -> str:
    """The id of a topic that is known by its motion only."""
    return f"topic-{hashlib.sha256(motion.encode()).hexdigest()[:8]}"


# --- Values ---------------------------------------------------------------------------------------------------------


def _text(values: dict[str, Any], name: str) -> str | None:
    value = values.get(name)
    if value is None or value == "":
        return None
    if not isinstance(value, str):
        raise BadSourceError(f"{name}: {_quoted(value)} is not text.")
    return value


def _name(values: dict[str, Any], name: str) -> str | None:
    """A name in the form in which all names land; a whole number is the name that it is written as."""
    value = values.get(name)
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    text = _text(values, name)
    return plain_name(text) or None if text is not None else None


def _needed_name(values: dict[str, Any], name: str) -> str:
    value = _name(values, name)
    if value is None:
        raise BadSourceError(f"{name}: it is empty, and every verdict needs one.")
    return value


def _words(values: dict[str, Any], name: str) -> str | None:
    text = _text(values, name)
    return normalize("NFC", text) if text is not None and text.strip() else None


def _word(values: dict[str, Any], name: str, known: dict[str, str]) -> str | None:
    text = _text(values, name)
    if text is None or not text.strip():
        return None
    word = known.get(text.strip().lower())
    if word is None:
        allowed = "pro, con or tie" if "tie" in known else "pro or con"
        raise BadSourceError(f"{name}: {_quoted(text)} is not {allowed}; leave it empty where there is none.")
    return word


def _number(value: Any, name: str) -> float | None:
    if value is None or value == "":
        return None
    if isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value):
        return float(value)
    raise BadSourceError(f"{name}: {_quoted(value)} is not a number; leave it empty where there is none.")


def _trial(value: Any) -> int:
    number = _number(value, "trial")
    if number is None:
        return 1
    if number < 1 or number != int(number) or number > 1_000_000:
        raise BadSourceError(f"trial: {_quoted(value)} is not a whole number from 1.")
    return int(number)


def _quoted(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…"


IMPORTER = Importer(
    "a CSV (.csv), JSONL (.jsonl) or Parquet (.parquet) file with one verdict per row, or a folder of them",
    find_files,
    read,
    rules=1,
)
