"""The raw replies in the journal of a run, without their headers."""

from __future__ import annotations

from base64 import b64decode
from pathlib import Path
from typing import Any

from debatebench.journal.reading import has_begun, read_journal
from debatebench.journal.shards import journals_of
from debatebench.shared.json_bytes import from_json


class RawReplies:
    """The bodies of the replies to attempts, read from a run's journals one at a time; none if there is no journal.

    Raises `DamagedDataError` for a damaged line.
    """

    def __init__(self, journals: Path, run_tag: str) -> None:
        self._places: dict[tuple[str, int], tuple[Path, int, int]] = {}
        for path in journals_of(journals, run_tag):
            for event in read_journal(path) if has_begun(path) else ():
                if event.is_of("response"):
                    data = event.data
                    self._places[data["call_id"], data["attempt"]] = (path, event.offset, event.length)

    def body(self, call_id: str, attempt: int) -> str | None:
        """The body of a reply as text; bytes that are not UTF-8 are replaced. `None` if no reply came."""
        place = self._places.get((call_id, attempt))
        if place is None:
            return None
        path, offset, length = place
        with open(path, "rb") as file:
            file.seek(offset)
            line = file.read(length)
        data: dict[str, Any] = from_json(line.split(b" ", 2)[2])
        if "body" in data:
            return str(data["body"])
        return b64decode(data["body_base64"]).decode("utf-8", "replace")
