"""A run's journal → its records, or the rows that landing needs."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from debatebench.journal.lines import Event
from debatebench.journal.reading import check_saved, events_at, read_journal
from debatebench.shared.errors import DamagedDataError
from debatebench.shared.json_bytes import from_json, to_json
from debatebench.shared.records import TABLES, Record, Row

__all__ = ["journal_header", "journal_records", "journal_rows"]

_T = TypeVar("_T")
_Make = Callable[[type[Record], bytes | msgspec.Raw], _T]
"""Makes a value from a record's class and its JSON text."""


class _Attempt(msgspec.Struct, frozen=True):
    """The attempt that an event or a row is about."""

    call_id: str
    attempt: int


class _Outcome(msgspec.Struct):
    """What an event says about its records, if it carries any; the records stay text."""

    of: str | None = None
    debate_id: str | None = None
    records: dict[str, list[msgspec.Raw]] = {}


_read_attempt = msgspec.json.Decoder(_Attempt).decode
_read_outcome = msgspec.json.Decoder(_Outcome).decode

_CUT_SHORT = "the process ended before an answer was kept"
_UNREAD = "answered, but not read yet: start the run again"


def journal_header(path: Path) -> dict[str, Any]:
    """The first event of the journal; `DamagedDataError` if there is none, or if the file has another run's name.

    So is a journal that lacks events which were saved next to it.
    """
    check_saved(path)
    for event in read_journal(path):
        if event.data.get("type") == "header":
            run_tag = event.data["plan"]["run_tag"]
            if run_tag != path.stem:
                raise DamagedDataError(
                    f"{path} contains run '{run_tag}'; rename it to {run_tag}.jsonl, or move it elsewhere if it is a "
                    "copy."
                )
            return event.data
        break
    raise DamagedDataError(f"{path} does not begin with a header, so it is not the journal of a run.")


def journal_records(path: Path) -> Iterator[Record]:
    """Yield the records of a run as its journal has them now: of the plan, of every ended debate and of every call.

    If a debate failed and was played again later, its last outcome counts. An attempt whose end is not in the journal
    is listed as ambiguous. Memory holds only what is unfinished, and for each debate the place of its last outcome,
    which is read again at the end.

    Raises `DamagedDataError` for a damaged journal, and for a record that this version cannot read.
    """
    return _made(path, lambda record, text: record.model_validate(from_json(bytes(text))))


def journal_rows(path: Path) -> Iterator[Row]:
    """Yield the rows of the records that `journal_records` yields, in the same order, with the same errors."""
    return _made(path, lambda record, text: record.row_of(text))


def _made(path: Path, make: _Make[_T]) -> Iterator[_T]:
    """The result of `make` for every record of a run."""
    journal_header(path)
    last_outcomes: dict[str, tuple[int, int]] = {}
    intents: dict[_Attempt, bytes] = {}
    answered: set[_Attempt] = set()
    for event in read_journal(path):
        if event.is_of("intent"):
            intents[_read_attempt(event.text)] = event.text
        elif event.is_of("response"):
            answered.add(_read_attempt(event.text))
        else:
            outcome = _outcome_of(event)
            if outcome.of == "debate":
                last_outcomes[outcome.debate_id or ""] = event.seq, event.offset
                continue
            yield from _of_records(outcome, event, path, make)
            for row in outcome.records["calls"] if outcome.of == "call" else ():
                attempt = _read_attempt(row)
                intents.pop(attempt, None)
                answered.discard(attempt)
    for event in events_at(path, sorted(last_outcomes.values())):
        yield from _of_records(_outcome_of(event), event, path, make)
    for attempt, text in intents.items():
        call = _unsettled_call(path.stem, from_json(text), is_answered=attempt in answered)
        yield make(TABLES["calls"], to_json(call))


def _outcome_of(event: Event) -> _Outcome:
    """What an event that is neither an intent nor a response says about records."""
    try:
        return _read_outcome(event.text)
    except ValueError:
        # Only a text that this version did not write can hold lone surrogates.
        data = event.data
        records = {
            table: [msgspec.Raw(to_json(row)) for row in rows] for table, rows in data.get("records", {}).items()
        }
        return _Outcome(data.get("of"), data.get("debate_id"), records)


def _of_records(outcome: _Outcome, event: Event, path: Path, make: _Make[_T]) -> Iterator[_T]:
    """The result of `make` for each record that an event carries."""
    for table, rows in outcome.records.items():
        for row in rows:
            try:
                yield make(TABLES[table], row)
            except (KeyError, ValueError) as error:
                raise DamagedDataError(
                    f"{path}: event {event.seq} at byte {event.offset} contains a record of '{table}' that this "
                    f"version of debatebench cannot read: {str(error).splitlines()[0]}."
                ) from error


def _unsettled_call(run_tag: str, intent: dict[str, Any], *, is_answered: bool) -> dict[str, Any]:
    """The call of an intent whose end is not in the journal: it may have been billed."""
    is_debater = intent["purpose"] == "turn"
    return {
        "run_tag": run_tag,
        "call_id": intent["call_id"],
        "attempt": intent["attempt"],
        "debate_id": intent["debate_id"],
        "step": intent["step"],
        "purpose": intent["purpose"],
        "model_id": intent["member"] if is_debater else None,
        "judge_id": None if is_debater else intent["member"],
        "provider": intent["provider"],
        "model_name": intent["model"],
        "status": "answered" if is_answered else "ambiguous",
        "error": _UNREAD if is_answered else _CUT_SHORT,
        "possible_cost": intent.get("possible_cost"),
        "sent_at": intent["sent_at"],
        "request_sha256": intent["request_sha256"],
    }
