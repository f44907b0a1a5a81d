"""A run's journal → its records, or the rows that landing wants of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, TypeVar

from debatebench.errors import DamagedDataError
from debatebench.journal import Event, events_at, read_journal
from debatebench.records import TABLES, Record, Row

__all__ = ["journal_header", "journal_records", "journal_rows"]

_T = TypeVar("_T")

_CUT_SHORT = "the process ended before an answer was kept"
_UNREAD = "answered, but not read yet: start the run again"


def journal_header(path: Path) -> dict[str, Any]:
    """The first event of the journal; `DamagedDataError` where there is none, or where the file has another's name."""
    for event in read_journal(path):
        if event.data.get("type") == "header":
            run_tag = event.data["plan"]["run_tag"]
            if run_tag != path.stem:
                raise DamagedDataError(
                    f"{path} holds run '{run_tag}': name it {run_tag}.jsonl, or move it elsewhere if it is a copy."
                )
            return event.data
        break
    raise DamagedDataError(f"{path} does not begin with a header, so it is not the journal of a run.")


def journal_records(path: Path) -> Iterator[Record]:
    """Yield the records of a run as its journal has them now: the plan's, every ended debate's, every call's.

    A debate that was given up and played again later counts as it ended last. An attempt that no session saw the end of
    is listed as ambiguous. Memory holds only what is open, and of each debate the place of its last outcome, which is
    read again in the end.

    Raises `DamagedDataError` for a damaged journal, and for a record that this version does not understand.
    """
    return _made(path, lambda record, data: record.model_validate(data))


def journal_rows(path: Path) -> Iterator[Row]:
    """Yield the rows of the records that `journal_records` yields, in the same order; it raises what that raises."""
    return _made(path, lambda record, data: record.row_of(data))


def _made(path: Path, make: Callable[[type[Record], Any], _T]) -> Iterator[_T]:
    """What `make` makes of the class and the data of every record of a run."""
    journal_header(path)
    last_outcomes: dict[str, tuple[int, int]] = {}
    intents: dict[tuple[str, int], dict[str, Any]] = {}
    answered: set[tuple[str, int]] = set()
    for event in read_journal(path):
        data = event.data
        if data["type"] == "intent":
            intents[data["call_id"], data["attempt"]] = data
        elif data["type"] == "response":
            answered.add((data["call_id"], data["attempt"]))
        elif data.get("of") == "debate":
            last_outcomes[data["debate_id"]] = event.seq, event.offset
        else:
            yield from _of_event(event, path, make)
            for row in data["records"]["calls"] if data.get("of") == "call" else ():
                key = row["call_id"], row["attempt"]
                intents.pop(key, None)
                answered.discard(key)
    for event in events_at(path, sorted(last_outcomes.values())):
        yield from _of_event(event, path, make)
    for key, intent in intents.items():
        yield make(TABLES["calls"], _unsettled_call(path.stem, intent, is_answered=key in answered))


def _of_event(event: Event, path: Path, make: Callable[[type[Record], Any], _T]) -> Iterator[_T]:
    """What `make` makes of the records that an event carries."""
    for table, rows in event.data.get("records", {}).items():
        for row in rows:
            try:
                yield make(TABLES[table], row)
            except (KeyError, ValueError) as error:
                raise DamagedDataError(
                    f"{path}: event {event.seq} at byte {event.offset} holds a record of '{table}' that this version "
                    f"does not understand: {str(error).splitlines()[0]}."
                ) from error


def _unsettled_call(run_tag: str, intent: dict[str, Any], *, is_answered: bool) -> dict[str, Any]:
    """The call of an intent whose end no session saw: it may have been billed."""
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
