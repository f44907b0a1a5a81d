"""One person's work on one run: which debates, in which order, what each form holds, and how much is done."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal

from debatebench.landing.annotation_journals import (
    FormState,
    annotations_folder,
    check_annotator,
)
from debatebench.landing.annotation_writing import FormJournal, StaleError
from debatebench.output.annotation.assignments import Team, check_not_imported, check_spelling, in_order
from debatebench.output.annotation.debates import Material, ShownDebate, read_material
from debatebench.output.annotation.form import BadFormError, checked, missing_in, verdict_of
from debatebench.shared.errors import UsageError
from debatebench.shared.records import Annotation, Record
from debatebench.shared.workspace import Workspace

SOURCE = "debatebench annotate"
"""What the annotations made here name as their source."""


class IncompleteError(BadFormError):
    """A form was handed in without an answer to every question. `fields` are those without one."""

    def __init__(self, missing: dict[str, str]) -> None:
        super().__init__(f"Still missing: {', '.join(missing.values())}.")
        self.fields = list(missing)


@dataclass(frozen=True, slots=True)
class Saved:
    """An acknowledged save: what the form is now, and after a hand-in the next debate, if there is one."""

    state: FormState
    next_key: str | None = None

    @property
    def revision(self) -> int:
        """The revision of the form."""
        return self.state.revision


@dataclass(frozen=True, slots=True)
class Progress:
    """How many debates a person has, and how many of them are what. A skipped one is handed in too."""

    total: int
    done: int
    skipped: int
    changed: int
    """Handed in before, and not as they are now."""

    def words(self, what: str) -> str:
        """One sentence without its end; `what` is what is handed in, as in `annotated`."""
        skipped = f" ({self.skipped:,} of them skipped)" if self.skipped else ""
        changed = f", {self.changed:,} changed and not handed in" if self.changed else ""
        return f"{self.done:,} of {self.total:,} debates are {what}{skipped}{changed}"


@dataclass(frozen=True, slots=True)
class Session:
    """The forms of one person. Everything that it returns is already on the disk.

    `record` makes what lands of a complete form, from the debate, the form and the time.
    """

    material: Material
    author: str
    debates: tuple[ShownDebate, ...]
    """In the order in which they are shown."""
    journal: FormJournal
    record: Callable[[ShownDebate, dict[str, Any], str], Record]
    now: Callable[[], datetime]
    is_review: bool = False

    @property
    def run_tag(self) -> str:
        """The run or import that is annotated."""
        return self.material.run_tag

    def debate(self, key: str) -> ShownDebate | None:
        """The debate of this key, if this person has it."""
        return next((debate for debate in self.debates if debate.key == key), None)

    def state(self, debate: ShownDebate) -> FormState:
        """The form about a debate."""
        return self.journal.forms().of(debate.debate_id)

    def progress(self) -> Progress:
        """How much of the work is done."""
        forms = self.journal.forms()
        states = [forms.of(debate.debate_id) for debate in self.debates]
        done = [state for state in states if state.is_handed_in]
        return Progress(
            len(states),
            len(done),
            sum(state.form.get("skip_reason") is not None for state in done),
            sum(state.status == "changed" for state in states),
        )

    def save(
        self,
        debate: ShownDebate,
        revision: int,
        form: Any,
        *,
        window: str | None = None,
        resolves: Collection[str] = (),
    ) -> Saved:
        """Save a draft. Raises `BadFormError` and `StaleError`, and nothing is saved then.

        With `window`, what is stale is kept beside what is saved. `resolves` are the windows whose versions are not
        needed any more; a form that is taken from one of another window is kept there already.
        """
        good = self._checked(form, debate)
        with self._kept_aside(debate, window if {window} >= set(resolves) else None, good):
            return Saved(
                self.journal.save(debate.debate_id, self.author, revision, good, self._time(), None, window, resolves)
            )

    def hand_in(
        self,
        debate: ShownDebate,
        revision: int,
        form: Any,
        *,
        window: str | None = None,
        resolves: Collection[str] = (),
    ) -> Saved:
        """Save a form for good. Raises `BadFormError`, `IncompleteError` and `StaleError`; see `save`."""
        good = self._checked(form, debate)
        if missing := missing_in(good, debate):
            raise IncompleteError(missing)
        at = self._time()
        record = self.record(debate, good, at).model_dump(mode="json")
        with self._kept_aside(debate, window, good):
            new = self.journal.save(debate.debate_id, self.author, revision, good, at, record, window, resolves)
        return Saved(new, self.next_key(debate))

    def go_back(
        self, debate: ShownDebate, revision: int, way: Literal["undo", "redo"], *, window: str | None = None
    ) -> Saved:
        """Undo the last change or hand-in, or redo what was undone. Raises `StaleError`."""
        return Saved(self.journal.go_back(debate.debate_id, self.author, revision, way, self._time(), window))

    def drop(self, debate: ShownDebate, revision: int, window: str, seen: dict[str, Any] | None = None) -> Saved:
        """Drop the version that is kept beside the saved one for a window.

        Raises `StaleError` if the form, or the version that the person has `seen`, was changed.
        """
        return Saved(self.journal.keep_aside(debate.debate_id, self.author, window, None, self._time(), revision, seen))

    @contextmanager
    def _kept_aside(self, debate: ShownDebate, window: str | None, form: dict[str, Any]) -> Iterator[None]:
        """Keep the form of a save that is stale beside what was saved in another window."""
        try:
            yield
        except StaleError:
            forms = self.journal.forms()
            if window is not None and not forms.is_same(forms.of(debate.debate_id).form, form):
                self.journal.keep_aside(debate.debate_id, self.author, window, form, self._time())
            raise

    def _checked(self, form: Any, debate: ShownDebate) -> dict[str, Any]:
        return checked(form, debate, is_review=self.is_review)

    def next_key(self, after: ShownDebate | None = None) -> str | None:
        """The next debate whose form is not handed in, after this one; without one, first those changed since."""
        forms = self.journal.forms()
        start = self.debates.index(after) + 1 if after is not None else 0
        debates = [*self.debates[start:], *self.debates[:start]]
        if after is None:
            debates.sort(key=lambda debate: forms.of(debate.debate_id).status != "changed")
        return next((debate.key for debate in debates if not forms.of(debate.debate_id).is_handed_in), None)

    def _time(self) -> str:
        return self.now().isoformat(timespec="seconds")


def open_session(
    workspace: Workspace,
    run_tag: str,
    annotator: str,
    *,
    now: Callable[[], datetime],
    annotators: tuple[str, ...] = (),
    overlap: int | None = None,
    revise: bool = False,
) -> Session:
    """The work of an annotator on a run that has landed.

    With `annotators` and `overlap`, debates are assigned to people first; what was assigned is kept. Raises
    `UsageError` for a name, run or assignment that cannot be, and if nothing is left to annotate, unless `revise`.
    """
    check_annotator(annotator)
    material = read_material(workspace.database, run_tag)
    folder = annotations_folder(workspace.journal, run_tag)
    check_not_imported(workspace.database, folder, run_tag, [annotator])
    team = Team.of(folder, run_tag, material.debates)
    check_spelling([annotator], team.known(), run_tag)
    if annotators:
        team.assign(annotators, overlap)
    debates = team.debates_of(annotator)

    def record(debate: ShownDebate, form: dict[str, Any], at: str) -> Annotation:
        return Annotation.model_validate(
            {
                "run_tag": run_tag,
                "debate_id": debate.debate_id,
                "annotator_id": annotator,
                **verdict_of(form, debate),
                "annotated_at": at,
                "source": SOURCE,
            }
        )

    journal = FormJournal(folder / f"{annotator}.jsonl", run_tag)
    session = Session(material, annotator, in_order(debates, run_tag, annotator), journal, record, now)
    if session.next_key() is None and not revise:
        raise UsageError(
            f"'{annotator}' has annotated all {len(debates):,} debates of run '{run_tag}'; --revise opens them again."
        )
    return session
