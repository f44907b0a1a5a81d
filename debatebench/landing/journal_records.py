"""A run's journal → its records, or the rows that landing needs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from mmap import ACCESS_READ, mmap
from pathlib import Path
from typing import Any, Generic, TypeVar

import msgspec

from debatebench.journal.events import Again, Attempt, Header, Intent, Outcome, Part, Records, Response, read_event
from debatebench.journal.lines import Event
from debatebench.journal.plan_lines import read_plan_lines
from debatebench.journal.reading import check_saved, events_at, is_of_shard, read_journal, run_of
from debatebench.journal.shards import plan_in, read_header, read_shards
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
    which is read again at the end. `path` may be a folder of shards: their records are those of one run.

    Raises `DamagedDataError` for a damaged journal, and for a record that this version cannot read.
    """
    return _made(path, lambda record, text: record.model_validate(from_json(bytes(text))))


def journal_rows(path: Path) -> Iterator[Row]:
    """Yield the rows of the records that `journal_records` yields, in the same order, with the same errors."""
    return _made(path, lambda record, text: record.row_of(text))


def _made(path: Path, make: _Make[_T]) -> Iterator[_T]:
    """The result of `make` for every record of a run."""
    run = _Run(run_of(path), make)
    journals: Iterable[Path] = (path,)
    if path.is_dir():
        shards = read_shards(path)
        journals = shards.journals.values()
        yield from run.of_plan(plan_in(path), shards.created_at)
    elif is_of_shard(path):
        yield from run.of_plan(plan_in(path.parent), read_header(path).created_at)
    else:
        journal_header(path)
    for journal in journals:
        yield from run.of_events(journal)
        yield from run.of_ends(journal)
    yield from run.of_members()


class _Run(Generic[_T]):
    """The records of one run, from its journal, or from its plan and the journals of its shards one after another."""

    def __init__(self, run_tag: str, make: _Make[_T]) -> None:
        self._run_tag = run_tag
        self._make: _Make[_T] = make
        self._planned: set[str] = set()
        self._members: dict[tuple[str, str], tuple[msgspec.Raw, Event, Path]] = {}
        self._journal_of: dict[str, Path] = {}
        """Debate → the shard's journal that has it; empty for a run in one piece."""
        self._last_outcomes: dict[str, tuple[int, int]] = {}
        self._intents: dict[Attempt, Intent] = {}
        self._answered: set[Attempt] = set()

    def of_plan(self, path: Path, created_at: str) -> Iterator[_T]:
        """What the file of the plan says: of the run, which began at this time, and of every planned debate."""
        lines = read_plan_lines(path)
        at = Event(1, 0, 0, b"")
        records = dict(lines.head.records)
        (run,) = records.pop("runs")
        records["runs"] = [msgspec.Raw(to_json(from_json(bytes(run)) | {"created_at": created_at}))]
        yield from self._of_header(records, at, path)
        for debate in lines.debates(range(len(lines.places))):
            yield from self._of_header({"schedule": [debate.row]}, at, path)

    def of_events(self, path: Path) -> Iterator[_T]:
        """What a journal says, but for how debates ended."""
        repriced = _repriced(path)
        numbers = _Numbers()
        self._last_outcomes, self._intents, self._answered = {}, {}, set()
        check = self._check_own if is_of_shard(path) else self._check_planned
        for event in read_journal(path):
            found = read_event(path, event)
            if isinstance(found, Header | Part):
                if isinstance(found, Header) and event.seq > 1:
                    raise _foreign(path, event, "a second header")
                yield from self._of_header(found.records, event, path)
            elif isinstance(found, Intent):
                check(found.debate_id, path, event, "a call of")
                attempt = numbers.begin(found)
                self._intents[attempt] = found
            elif isinstance(found, Again):
                numbers.asked_again.add(found.debate_id)
            elif isinstance(found, Response):
                self._answered.add(numbers.of(found))
            elif isinstance(found, Outcome) and found.of == "debate":
                check(found.debate_id or "", path, event, "the outcome of")
                self._last_outcomes[found.debate_id or ""] = event.seq, event.offset
            elif isinstance(found, Outcome):
                rows = found.records.get("calls", ())
                self._see_members(found.records, event, path)
                last = [row for row in rows if repriced.get(_read_attempt(row), event.seq) == event.seq]
                yield from self._of_records({"calls": [numbers.numbered(row) for row in last]}, event, path)
                for row in rows:
                    attempt = numbers.of(_read_attempt(row))
                    self._intents.pop(attempt, None)
                    self._answered.discard(attempt)

    def of_ends(self, path: Path) -> Iterator[_T]:
        """How debates ended in the journal that `of_events` has read, and the calls of which it has no end."""
        for event in events_at(path, sorted(self._last_outcomes.values())):
            outcome = read_event(path, event)
            if isinstance(outcome, Outcome):
                yield from self._of_records(outcome.records, event, path)
        for attempt, intent in self._intents.items():
            call = _unsettled_call(self._run_tag, intent, attempt.attempt, is_answered=attempt in self._answered)
            yield self._make(TABLES["calls"], to_json(call))

    def of_members(self) -> Iterator[_T]:
        """Debaters and judges, each with its last entry."""
        for (table, _), (row, event, path) in self._members.items():
            yield from self._of_records({table: [row]}, event, path)

    def _of_header(self, records: Records, event: Event, path: Path) -> Iterator[_T]:
        # A later part may hold a new entry of a debater or judge, which takes the place of its first one.
        self._see_members(records, event, path)
        others = {table: rows for table, rows in records.items() if table not in _MEMBERS}
        yield from self._of_records(others, event, path)
        self._planned.update(_read_planned(row).debate_id for row in records.get("schedule", ()))

    def _see_members(self, records: Records, event: Event, path: Path) -> None:
        for table, key in _MEMBERS.items():
            for row in records.get(table, ()):
                self._members[table, from_json(bytes(row))[key]] = row, event, path

    def _check_planned(self, debate_id: str, path: Path, event: Event, what: str) -> None:
        if debate_id not in self._planned:
            raise _foreign(path, event, f"{what} debate '{debate_id}', which is not in the plan")

    def _check_own(self, debate_id: str, path: Path, event: Event, what: str) -> None:
        self._check_planned(debate_id, path, event, what)
        if self._journal_of.setdefault(debate_id, path) != path:
            raise DamagedDataError(
                f"{path} and {self._journal_of[debate_id]} both have debate '{debate_id}', so they were not cut in the "
                "same way: keep one of them, and play the other shard again."
            )

    def _of_records(self, records: Records, event: Event, path: Path) -> Iterator[_T]:
        """The result of `make` for each record that an event carries."""
        for table, rows in records.items():
            for row in rows:
                try:
                    made = self._make(TABLES[table], row)
                except (KeyError, ValueError) as error:
                    raise DamagedDataError(
                        f"{path}: event {event.seq} at byte {event.offset} contains a record of '{table}' that this "
                        f"version of debatebench cannot read: {str(error).splitlines()[0]}."
                    ) from error
                if made.run_tag != self._run_tag:
                    raise _foreign(path, event, f"about run '{made.run_tag}'")
                yield made


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
