"""One person's work on one run: which debates, in which order, what each form holds, and how much is done."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from debatebench.landing.annotation_journals import (
    ASSIGNMENTS,
    FormState,
    annotations_folder,
    annotators_in,
    check_annotator,
)
from debatebench.landing.annotation_writing import FormJournal
from debatebench.output.annotation.assignments import assign, assigned_debates, in_order
from debatebench.output.annotation.debates import (
    Material,
    ShownDebate,
    imported_annotations,
    read_material,
)
from debatebench.output.annotation.form import BadFormError, checked, missing_in, outcome_of
from debatebench.shared.errors import UsageError
from debatebench.shared.records import Annotation, Record

if TYPE_CHECKING:
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
    """An acknowledged save: the new revision of the form, and after a hand-in the next debate, if there is one."""

    revision: int
    next_key: str | None = None


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

    def count_done(self) -> int:
        """How many of the forms were handed in."""
        forms = self.journal.forms()
        return sum(forms.of(debate.debate_id).record is not None for debate in self.debates)

    def save(self, debate: ShownDebate, revision: int, form: Any) -> Saved:
        """Save a draft. Raises `BadFormError` and `StaleError`, and nothing is saved then."""
        good = checked(form, debate, is_review=self.is_review)
        return Saved(self.journal.save(debate.debate_id, self.author, revision, good, self._time()))

    def hand_in(self, debate: ShownDebate, revision: int, form: Any) -> Saved:
        """Save a form for good. Raises `BadFormError`, `IncompleteError` and `StaleError`."""
        good = checked(form, debate, is_review=self.is_review)
        if missing := missing_in(good, debate):
            raise IncompleteError(missing)
        at = self._time()
        record = self.record(debate, good, at).model_dump(mode="json")
        new = self.journal.save(debate.debate_id, self.author, revision, good, at, record)
        return Saved(new, self.next_key(debate))

    def next_key(self, after: ShownDebate | None = None) -> str | None:
        """The next debate whose form was not handed in, after this one or from the first on."""
        forms = self.journal.forms()
        start = self.debates.index(after) + 1 if after is not None else 0
        for debate in (*self.debates[start:], *self.debates[:start]):
            if forms.of(debate.debate_id).record is None:
                return debate.key
        return None

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
    _check_not_imported(workspace.database, folder, run_tag, annotator)
    assignments = FormJournal(folder / f"{ASSIGNMENTS}.jsonl", run_tag)
    if annotators or overlap is not None:
        assign(assignments, material.debates, annotators, 2 if overlap is None else overlap)
    debates = assigned_debates(assignments, material.debates, annotator)

    def record(debate: ShownDebate, form: dict[str, Any], at: str) -> Annotation:
        return Annotation.model_validate(
            {
                "run_tag": run_tag,
                "debate_id": debate.debate_id,
                "annotator_id": annotator,
                **{name: form[name] for name in ("justification", "confidence", "is_coherent")},
                **outcome_of(form, debate),
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


def _check_not_imported(database: Path, folder: Path, run_tag: str, annotator: str) -> None:
    """Refuse a name under which annotations were imported: one person would have two annotations of one debate."""
    if annotator in annotators_in(folder):
        return
    if any(annotation.annotator_id == annotator for annotation in imported_annotations(database, run_tag)):
        raise UsageError(f"Run '{run_tag}' has imported annotations of '{annotator}'; choose another name.")
