"""A run's journal → its records, or the rows that landing needs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from mmap import ACCESS_READ, mmap
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from debatebench.journal.events import Again, Attempt, Header, Intent, Outcome, Part, Records, Response, read_event
from debatebench.journal.lines import Event
from debatebench.journal.reading import check_saved, events_at, read_journal
from debatebench.shared.errors import DamagedDataError
from debatebench.shared.json_bytes import from_json, to_json
from debatebench.shared.records import TABLES, Record, Row

_T = TypeVar("_T", Record, Row)
_Make = Callable[[type[Record], bytes | msgspec.Raw], _T]
"""Makes a value from a record's class and its JSON text."""


class _Planned(msgspec.Struct, frozen=True):
    """The debate that a row of the schedule is about."""

    debate_id: str


_read_attempt = msgspec.json.Decoder(Attempt).decode
_read_planned = msgspec.json.Decoder(_Planned).decode

# What an event about prices begins with.
_PRICES = b'{"type":"outcome","of":"prices"'

CUT_SHORT = "the process ended before an answer was kept"
"""The error of an attempt whose end is not in the journal."""
_MEMBERS = {"debaters": "model_id", "judges": "judge_id"}
_UNREAD = "answered, but not read yet: start the run again"


def journal_header(path: Path) -> Header:
    """The first event of the journal; `DamagedDataError` if there is none, or if the file has another run's name.

    So is a journal that lacks events which were saved next to it.
    """
    check_saved(path)
    for event in read_journal(path):
        header = read_event(path, event)
        if not isinstance(header, Header):
            break
        if header.plan.run_tag != path.stem:
            raise DamagedDataError(
                f"{path} contains run '{header.plan.run_tag}'; rename it to {header.plan.run_tag}.jsonl, or move it "
                "elsewhere if it is a copy."
            )
        return header
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
    repriced = _repriced(path)
    planned: set[str] = set()
    last_outcomes: dict[str, tuple[int, int]] = {}
    intents: dict[Attempt, Intent] = {}
    answered: set[Attempt] = set()
    members: dict[tuple[str, str], tuple[msgspec.Raw, Event]] = {}
    numbers = _Numbers()
    for event in read_journal(path):
        found = read_event(path, event)
        if isinstance(found, Header | Part):
            if isinstance(found, Header) and event.seq > 1:
                raise _foreign(path, event, "a second header")
            # A later part may hold a new entry of a debater or judge, which takes the place of its first one.
            for table, key in _MEMBERS.items():
                for row in found.records.get(table, ()):
                    members[table, from_json(bytes(row))[key]] = row, event
            others = {table: rows for table, rows in found.records.items() if table not in _MEMBERS}
            yield from _of_records(others, event, path, make)
            planned.update(_read_planned(row).debate_id for row in found.records.get("schedule", ()))
        elif isinstance(found, Intent):
            if found.debate_id not in planned:
                raise _foreign(path, event, f"a call of debate '{found.debate_id}', which is not in the plan")
            attempt = numbers.begin(found)
            intents[attempt] = found
        elif isinstance(found, Again):
            numbers.asked_again.add(found.debate_id)
        elif isinstance(found, Response):
            answered.add(numbers.of(found))
        elif isinstance(found, Outcome) and found.of == "debate":
            if found.debate_id not in planned:
                raise _foreign(path, event, f"the outcome of debate '{found.debate_id}', which is not in the plan")
            last_outcomes[found.debate_id] = event.seq, event.offset
        elif isinstance(found, Outcome):
            rows = found.records.get("calls", ())
            for table, key in _MEMBERS.items():
                for row in found.records.get(table, ()):
                    members[table, from_json(bytes(row))[key]] = row, event
            last = [row for row in rows if repriced.get(_read_attempt(row), event.seq) == event.seq]
            yield from _of_records({"calls": [numbers.numbered(row) for row in last]}, event, path, make)
            for row in rows:
                attempt = numbers.of(_read_attempt(row))
                intents.pop(attempt, None)
                answered.discard(attempt)
    for (table, _), (row, event) in members.items():
        yield from _of_records({table: [row]}, event, path, make)
    for event in events_at(path, sorted(last_outcomes.values())):
        outcome = read_event(path, event)
        if isinstance(outcome, Outcome):
            yield from _of_records(outcome.records, event, path, make)
    for attempt, intent in intents.items():
        call = _unsettled_call(path.stem, intent, attempt.attempt, is_answered=attempt in answered)
        yield make(TABLES["calls"], to_json(call))


class _Numbers:
    """The numbers of attempts, in journals that use one twice.

    Earlier versions asked a judge whose call failed again twice when a debate was asked again, under one number. The
    second such attempt and all later ones at that call get higher numbers.
    """

    def __init__(self) -> None:
        self.asked_again: set[str] = set()
        self._last: dict[str, int] = {}
        self._added: Counter[str] = Counter()

    def begin(self, intent: Intent) -> Attempt:
        """The number of an attempt that begins."""
        if intent.debate_id in self.asked_again:
            last = self._last.get(intent.call_id, 0)
            self._added[intent.call_id] += max(0, last + 1 - intent.attempt - self._added[intent.call_id])
            self._last[intent.call_id] = intent.attempt + self._added[intent.call_id]
        return self.of(Attempt(intent.call_id, intent.attempt))

    def of(self, attempt: Attempt | Response) -> Attempt:
        """The number of an attempt that has begun."""
        return Attempt(attempt.call_id, attempt.attempt + self._added.get(attempt.call_id, 0))

    def numbered(self, row: msgspec.Raw) -> msgspec.Raw:
        """The row of a call, with the number of its attempt."""
        attempt = _read_attempt(row)
        if not self._added.get(attempt.call_id):
            return row
        return msgspec.Raw(to_json(from_json(bytes(row)) | {"attempt": self.of(attempt).attempt}))


def _repriced(path: Path) -> dict[Attempt, int]:
    """The attempts that were priced again later, each with the number of the event that has its last row."""
    # Most runs have none, and their journals need not be read twice. No text in an event holds a bare quotation mark.
    with path.open("rb") as file, mmap(file.fileno(), 0, access=ACCESS_READ) as contents:
        if contents.find(_PRICES) < 0:
            return {}
    found: dict[Attempt, int] = {}
    for event in read_journal(path):
        outcome = read_event(path, event)
        if isinstance(outcome, Outcome) and outcome.of == "prices":
            found |= {_read_attempt(row): event.seq for row in outcome.records.get("calls", ())}
    return found


def _foreign(path: Path, event: Event, what: str) -> DamagedDataError:
    return DamagedDataError(
        f"{path}: event {event.seq} at byte {event.offset} is {what}, so it does not belong to this run. Restore the "
        "file from a copy, or move it elsewhere to continue without this run."
    )


def _of_records(records: Records, event: Event, path: Path, make: _Make[_T]) -> Iterator[_T]:
    """The result of `make` for each record that an event carries."""
    for table, rows in records.items():
        for row in rows:
            try:
                made = make(TABLES[table], row)
            except (KeyError, ValueError) as error:
                raise DamagedDataError(
                    f"{path}: event {event.seq} at byte {event.offset} contains a record of '{table}' that this "
                    f"version of debatebench cannot read: {str(error).splitlines()[0]}."
                ) from error
            if made.run_tag != path.stem:
                raise _foreign(path, event, f"about run '{made.run_tag}'")
            yield made


def _unsettled_call(run_tag: str, intent: Intent, attempt: int, *, is_answered: bool) -> dict[str, Any]:
    """The call of an intent whose end is not in the journal: it may have been billed."""
    is_debater = intent.purpose == "turn"
    return {
        "run_tag": run_tag,
        "call_id": intent.call_id,
        "attempt": attempt,
        "debate_id": intent.debate_id,
        "step": intent.step,
        "purpose": intent.purpose,
        "model_id": intent.member if is_debater else None,
        "judge_id": None if is_debater else intent.member,
        "provider": intent.provider,
        "model_name": intent.model,
        "status": "answered" if is_answered else "ambiguous",
        "error": _UNREAD if is_answered else CUT_SHORT,
        "possible_cost": intent.possible_cost,
        "sent_at": intent.sent_at,
        "request_sha256": intent.request_sha256,
        "adjusted": intent.adjusted,
    }
