"""The kinds of events in a journal, with what every reader needs of them; the rest of an event stays text."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any, Literal

import msgspec

from debatebench.journal.lines import Event
from debatebench.shared.errors import DamagedDataError
from debatebench.shared.records import clean_text

Records = dict[str, list[msgspec.Raw]]
"""Table → rows, each as JSON."""


class _Plan(msgspec.Struct, frozen=True):
    """What every plan has."""

    run_tag: str


class Header(msgspec.Struct, frozen=True, tag="header"):
    """The first event: the frozen plan, and the records that follow from it."""

    plan: _Plan
    records: Records


class Part(msgspec.Struct, frozen=True, tag="part"):
    """What was added to the plan later."""

    part: dict[str, Any]
    records: Records


class Ban(msgspec.Struct, frozen=True, tag="ban"):
    """From here on, a debater is not asked."""

    model_id: str
    reason: str


class BanLifted(msgspec.Struct, frozen=True, tag="ban_lifted"):
    """A debater is asked again."""

    model_id: str


class Again(msgspec.Struct, frozen=True, tag="again"):
    """From here on, the judges of a debate's empty seats are asked once more."""

    debate_id: str


class Format(msgspec.Struct, frozen=True, tag="format"):
    """From here on, the journal is in this format, because a newer version went on with the run."""

    format: int


class Attempt(msgspec.Struct, frozen=True):
    """The attempt that an event or a row is about."""

    call_id: str
    attempt: int


class Intent(msgspec.Struct, frozen=True, tag="intent"):
    """An attempt that is about to be sent."""

    call_id: str
    attempt: int
    debate_id: str
    step: str
    purpose: str
    member: str
    provider: str
    model: str
    request_sha256: str
    sent_at: str
    possible_cost: str | None = None
    adjusted: list[str] | None = None


class Response(msgspec.Struct, frozen=True, tag="response"):
    """The reply to an attempt, as it was received."""

    call_id: str
    attempt: int


class Outcome(msgspec.Struct, frozen=True, tag="outcome"):
    """How an attempt or a debate ended, or what attempts cost at prices that were named later."""

    of: Literal["call", "debate", "prices"]
    records: Records
    debate_id: str | None = None


AnyEvent = Header | Part | Ban | BanLifted | Again | Format | Intent | Response | Outcome


def read_event(path: Path, event: Event) -> AnyEvent:
    """The event as an object of its kind. Raises `DamagedDataError` for an unknown kind or a missing part."""
    read = _decoder().decode
    try:
        try:
            return read(event.text)
        except ValueError:
            # Only a text that this version did not write can hold lone surrogates, which are not valid here.

            return read(clean_text(json.dumps(event.data, ensure_ascii=False)))
    except ValueError as error:
        reason = str(error).splitlines()[0]
        raise DamagedDataError(
            f"{path}: event {event.seq} at byte {event.offset} cannot be read by this version of debatebench: {reason}."
        ) from error


def pass_on(path: Path, event: Event, see: Callable[[Event], None]) -> None:
    """Call `see` with an event; raises `DamagedDataError` for one that it cannot use, because no run wrote it."""
    read_event(path, event)
    try:
        see(event)
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise DamagedDataError(
            f"{path}: event {event.seq} at byte {event.offset} does not fit the events before it ({error!r}). Restore "
            "the file from a copy, or move it elsewhere to continue without this run."
        ) from error


@cache
def _decoder() -> msgspec.json.Decoder[AnyEvent]:
    return msgspec.json.Decoder(AnyEvent)
