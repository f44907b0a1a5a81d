"""One line of a journal: `seq crc32 json\\n`, chained to the line before.

The CRC covers the sequence number and the JSON and starts from the CRC of the line before, so that a changed, lost,
repeated or moved line is detected. JSON is ASCII, so hostile text cannot break a line.
"""

from __future__ import annotations

import zlib
from dataclasses import dataclass
from functools import cache
from typing import Any

import msgspec

from debatebench.shared.json_bytes import from_json, is_json, to_json

JOURNAL_FORMAT = 3
"""The format that a journal states in its header, which rises when events or records grow, so that an older version
refuses it.

Format 2 has later prices of a run, tokens of caches and of thinking, service tiers, and money with eighteen decimals.
Format 3 has places and points of several teams in people's answers, reasons for a skip, and reviews that say whether a
debate is one; journals of annotation have drafts, versions put aside and assignments.
Earlier formats are read too. A journal in one of them gets an event of the kind `format`, which states the new number,
before the first event that this version adds to it.
"""

# Eight digits and a blank.
_LENGTH_OF_CRC = 9


class Event(msgspec.Struct, frozen=True):
    """A journalled event: its sequence number, its place in the file, and its text, a JSON object."""

    seq: int
    offset: int
    length: int
    text: bytes

    @property
    def data(self) -> dict[str, Any]:
        """The parsed text, parsed again on each access; the first key, `data["type"]`, names the kind."""
        return data_of(self.text)

    def is_of(self, kind: str) -> bool:
        """Whether the event is of this kind; the text is not parsed for that."""
        return self.text.startswith(start_of(kind))


@dataclass(slots=True)
class Tail:
    """How far a journal is sound: the number of bytes and events, the CRC of the last sound line, and the last format
    that it states, if it states one.
    """

    offset: int = 0
    seq: int = 0
    crc: int = 0
    format: int | None = None


def encode_line(seq: int, crc_before: int, data: dict[str, Any]) -> tuple[bytes, int]:
    """One line and its CRC."""
    text = to_json(data)
    number = b"%d " % seq
    crc = zlib.crc32(text, zlib.crc32(number, crc_before))
    return b"%b%08x %b\n" % (number, crc, text), crc


def text_of_next(line: bytes, tail: Tail) -> bytes | None:
    """The JSON object of a sound line that follows `tail`, else None; `tail` moves past a sound line."""
    number = b"%d " % (tail.seq + 1)
    if not line.startswith(number):
        return None
    text = line[len(number) + _LENGTH_OF_CRC : -1]
    crc = zlib.crc32(text, zlib.crc32(number, tail.crc))
    is_sound = line.startswith(b"%b%08x {" % (number, crc)) and line.endswith(b"\n") and is_json(text)
    if not is_sound:
        return None
    tail.seq, tail.crc, tail.offset = tail.seq + 1, crc, tail.offset + len(line)
    return text


def text_in(line: bytes) -> bytes:
    """The JSON object of a line that is known to be sound."""
    return line.split(b" ", 2)[2]


@cache
def start_of(kind: str) -> bytes:
    """The first bytes of the text of an event of this kind."""
    return b'{"type":"%b"' % kind.encode("ascii")


def data_of(text: bytes) -> dict[str, Any]:
    """The data of a text that is known to be a JSON object."""
    data: dict[str, Any] = from_json(text)
    return data
