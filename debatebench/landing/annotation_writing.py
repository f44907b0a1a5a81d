"""Save forms: one event is appended and synced before a save is acknowledged, and a stale save is refused."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

from debatebench.journal.lines import JOURNAL_FORMAT
from debatebench.journal.reading import has_begun
from debatebench.journal.writing import open_in_turn
from debatebench.landing.annotation_journals import Forms, purpose_of, read_forms
from debatebench.shared.errors import DamagedDataError, DebatebenchError
from debatebench.shared.version import __version__


class StaleError(DebatebenchError):
    """The form was saved by another page after the one that saves it now had read it."""


class FormJournal:
    """The forms in one journal, which other processes may change too: it is locked only while a form is saved."""

    def __init__(self, path: Path, run_tag: str) -> None:
        self.path = path
        self.run_tag = run_tag
        self._lock = threading.Lock()
        self._known: tuple[int, Forms] = 0, Forms()
        """The size of the file when its forms were read, and the forms."""

    def forms(self) -> Forms:
        """The forms as they are now. Raises `DamagedDataError` for a damaged journal and for one that was deleted."""
        with self._lock:
            return self._forms()

    def _forms(self) -> Forms:
        size = self.path.stat().st_size if self.path.is_file() and has_begun(self.path) else 0
        if not size and self._known[0]:
            raise self._lost()
        if size != self._known[0]:
            self._known = size, read_forms(self.path, self.run_tag)
        return self._known[1]

    def _lost(self) -> DamagedDataError:
        return DamagedDataError(
            f"{self.path}, which holds what was saved before, was deleted or emptied. Put it back, or start "
            "`debatebench annotate` again and load the page again to begin a new one."
        )

    def append(self, make: Callable[[Forms], dict[str, Any] | None]) -> Forms:
        """Add the event that `make` returns for the forms as they are now, if any; it is on the disk afterwards.

        Raises what `make` raises, `DamagedDataError` as `forms` does, `BusyError` if another process holds the journal
        for long, and `DebatebenchError` if the disk refuses; nothing counts as saved then.
        """
        with self._lock:
            # Opening would create an empty journal in place of one that was deleted.
            self._forms()
            return self._appended(make)

    def _appended(self, make: Callable[[Forms], dict[str, Any] | None]) -> Forms:
        with open_in_turn(self.path) as journal:
            forms = self._forms()
            data = make(forms)
            if data is None:
                return forms
            if not journal.count:
                journal.append(self._header(), with_next=True)
            journal.append(data)
            # Closing the journal syncs it, or raises what the disk says.
            journal.close()
            forms.see(data)
            self._known = self.path.stat().st_size, forms
            return forms

    def _header(self) -> dict[str, Any]:
        return {
            "type": "header",
            "format": JOURNAL_FORMAT,
            "purpose": purpose_of(self.path),
            "run_tag": self.run_tag,
            "name": self.path.stem,
            "harness_version": __version__,
        }

    def save(
        self,
        debate_id: str,
        author: str,
        revision: int,
        form: dict[str, Any],
        at: str,
        record: dict[str, Any] | None = None,
    ) -> int:
        """Save a form that was read at `revision`, and return its new revision; with a record it is handed in.

        The same save again changes nothing: the answer to the first may have been lost. Raises `StaleError` if the
        form was changed since `revision`, and `DamagedDataError` if the journal that held it was deleted.
        """
        if revision and not self.path.exists():
            raise self._lost()

        def event(forms: Forms) -> dict[str, Any] | None:
            state = forms.of(debate_id)
            if state.form == form and state.author == author and state.is_handed_in >= (record is not None):
                return None
            if state.revision != revision:
                raise StaleError(
                    "This form was changed in another window since this page read it. Load the page again to see what "
                    "is saved; nothing was overwritten."
                )
            data = {"type": "draft", "debate_id": debate_id, "author": author, "at": at, "form": form}
            return data if record is None else {**data, "type": "final", "record": record}

        return self.append(event).of(debate_id).revision
