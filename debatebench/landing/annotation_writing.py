"""Save forms: one event is appended and synced before a save is acknowledged, and a stale save is refused."""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection
from pathlib import Path
from typing import Any, Literal

from debatebench.journal.lines import JOURNAL_FORMAT
from debatebench.journal.reading import has_begun
from debatebench.journal.writing import open_in_turn
from debatebench.landing.annotation_journals import Aside, Forms, FormState, is_same_form, purpose_of, read_forms
from debatebench.shared.errors import DamagedDataError, DebatebenchError
from debatebench.shared.version import __version__


class StaleError(DebatebenchError):
    """The form was saved by another page after the one that saves it now had read it, or has a version aside."""


class FormJournal:
    """The forms in one journal, which other processes may change too: it is locked only while a form is saved."""

    def __init__(self, path: Path, run_tag: str) -> None:
        self.path = path
        self.run_tag = run_tag
        self._lock = threading.Lock()
        self._known: tuple[int, Forms] = 0, Forms(purpose_of(path))
        """The size of the file when its forms were read, and the forms."""
        self._saved_by: dict[tuple[str, int], str] = {}
        """Debate and revision → the window that made it, of those made here."""

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
        window: str | None = None,
        resolves: Collection[str] = (),
    ) -> FormState:
        """Save a form that was read at `revision`, and return what it is now; with a record it is handed in.

        `window` is the one that saves it, and `resolves` are those between whose versions and the form the person has
        chosen: the form is the version of another window. The same save again changes nothing: the answer to the first
        may have been lost. If only this window has changed the form since, it has seen all there is. Raises
        `StaleError` if the form was changed elsewhere since `revision` to another one, if a version that it resolves
        was, or if it would be handed in with a version aside, and `DamagedDataError` if its journal was deleted.
        """
        self._check_kept(revision)

        def event(forms: Forms) -> dict[str, Any] | None:
            state = forms.of(debate_id)
            is_same = forms.is_same(state.form, form) and state.author == author
            is_current = state.revision == revision or self._is_own(debate_id, revision, state.revision, window)
            if not (is_same or is_current):
                raise _stale()
            # What is saved replaces what the same window had aside. The others were chosen from as they were seen.
            chosen = {window, *(resolves if is_current else ())}
            resolved = sorted(state.asides.keys() & chosen)
            for other in resolved:
                if other != window:
                    _check_seen(state.asides[other], form)
            if is_same and not resolved and (record is None or state.is_handed_in):
                return None
            if record is not None and len(resolved) < len(state.asides):
                raise StaleError("There are two versions of this form; choose one of them first.")
            data: dict[str, Any] = {"type": "draft", "debate_id": debate_id, "author": author, "at": at, "form": form}
            if resolved:
                data["resolves"] = resolved
            return data if record is None else {**data, "type": "final", "record": record}

        return self._changed(debate_id, window, event)

    def _changed(
        self, debate_id: str, window: str | None, event: Callable[[Forms], dict[str, Any] | None]
    ) -> FormState:
        """The form after an event, if there is one, of which a window is noted as the origin."""
        made: list[int] = []

        def noted(forms: Forms) -> dict[str, Any] | None:
            data = event(forms)
            made.extend([] if data is None else [forms.of(debate_id).revision + 1])
            return data

        state = self.append(noted).of(debate_id)
        # Only now is it on the disk: another process may have made the revision of a save that failed.
        if window is not None:
            self._saved_by |= dict.fromkeys([(debate_id, revision) for revision in made], window)
        return state

    def _is_own(self, debate_id: str, after: int, until: int, window: str | None) -> bool:
        """Whether a window made every revision after one until another: it changes what it has made itself."""
        made = [self._saved_by.get((debate_id, revision)) for revision in range(after + 1, until + 1)]
        return window is not None and bool(made) and set(made) == {window}

    def keep_aside(
        self,
        debate_id: str,
        author: str,
        window: str,
        form: dict[str, Any] | None,
        at: str,
        revision: int = 0,
        seen: dict[str, Any] | None = None,
    ) -> FormState:
        """Keep the version of a window beside what is saved; without a form, drop it.

        Raises `StaleError` if it is dropped by someone who has not seen what is saved, that is, at another revision, or
        has `seen` another version.
        """
        self._check_kept(revision)

        def event(forms: Forms) -> dict[str, Any] | None:
            state = forms.of(debate_id)
            kept = state.asides.get(window)
            if kept is None if form is None else kept is not None and is_same_form(kept.form, form):
                return None
            if form is None:
                _check_current(state, revision)
                if kept is not None and seen is not None:
                    _check_seen(kept, seen)
            data = {"type": "aside", "debate_id": debate_id, "author": author, "at": at, "window": window}
            return {**data, "form": form}

        return self.append(event).of(debate_id)

    def go_back(
        self,
        debate_id: str,
        author: str,
        revision: int,
        way: Literal["undo", "redo"],
        at: str,
        window: str | None = None,
    ) -> FormState:
        """Undo the last change of a form, a hand-in too, or redo what was undone last; nothing if there is none.

        `window` is the one that asks for it. Raises `StaleError` if the form was changed since `revision`.
        """
        self._check_kept(revision)

        def event(forms: Forms) -> dict[str, Any] | None:
            state = forms.of(debate_id)
            # The answer to the first may have been lost.
            if state.way == way and state.revision == revision + 1:
                return None
            _check_current(state, revision)
            to = state.undo_to if way == "undo" else state.redo_to
            if to is None:
                return None
            form = forms.at(debate_id, to).form
            data = {"type": "draft", "debate_id": debate_id, "author": author, "at": at, "form": form}
            return {**data, "back_to": to, "way": way}

        return self._changed(debate_id, window, event)

    def merge(
        self,
        debate_id: str,
        author: str,
        other: Forms,
        form: dict[str, Any],
        record: dict[str, Any] | None,
        window: str,
        at: str,
    ) -> FormState:
        """Take in the form about a debate from another journal of the same person, and return what it is now.

        `form` is what it holds there, and `record` what lands of it if it is handed in. A form that goes on from the
        one here, or that was not begun here, takes its place. Any other one is kept aside as that of `window`, unless
        it was here before, or the person has chosen between the two.
        """

        def event(forms: Forms) -> dict[str, Any] | None:
            ours = forms.of(debate_id)
            is_same = forms.is_same(ours.form, form)
            if forms.continues(other, debate_id) or (is_same and (ours.is_handed_in or record is None)):
                return None
            data: dict[str, Any] = {"debate_id": debate_id, "author": author, "at": at, "form": form}
            if not ours.asides and (is_same or other.continues(forms, debate_id)):
                if record is not None:
                    return {"type": "final", **data, "record": record}
                was = {"was_handed_in": True} if other.of(debate_id).was_handed_in else {}
                return {"type": "draft", **data, **was}
            if is_same or forms.has_held(debate_id, form):
                return None
            return {"type": "aside", **data, "window": window}

        return self.append(event).of(debate_id)

    def _check_kept(self, revision: int) -> None:
        if revision and not self.path.exists():
            raise self._lost()


def _check_current(state: FormState, revision: int) -> None:
    if state.revision != revision:
        raise _stale()


def _stale() -> StaleError:
    return StaleError("This form was changed in another window since this page read it; nothing was overwritten.")


def _check_seen(aside: Aside, form: dict[str, Any]) -> None:
    if not is_same_form(aside.form, form):
        raise StaleError("The other version was changed since this page read it; nothing was chosen.")
