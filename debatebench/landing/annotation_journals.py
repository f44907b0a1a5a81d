"""Annotations made here: their journals → records, and the state of every form.

`warehouse/journal/<run tag>.annotations/` has one journal per annotator, named after the annotator, so that people
never wait for each other; one per reviewer, `_adjudications.<name>.jsonl`, with the verdicts that this reviewer
recorded as agreed; and `_assignments.jsonl`, which says who annotates which debate. Earlier versions kept the verdicts
of all reviewers in `_adjudications.jsonl`, the last about a debate; each counts until the journal of its reviewer has a
form about the debate. The lines are those of every journal. A header names the run, and every later event replaces an
earlier one about the same debate:

    draft       what a form holds after a change; with `back_to` it is what it held at that revision, handed in or not;
                with `was_handed_in` it comes from another computer, where it was changed after its hand-in
    final       a form that was handed in: also the record that lands
    aside       what a window wanted to save over the save of another one, kept beside it until the person chooses;
                without a form the person has dropped it, and so has a draft or final that `resolves` it
    assignment  debates, each with its annotators

A record lands only while its form is as it was handed in. One that was changed later, or taken back, or has a version
aside does not land, because it is not the last word of the person; a change back to what was handed in lands again.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

from debatebench.journal.reading import check_saved, has_begun, read_journal
from debatebench.shared.errors import DamagedDataError
from debatebench.shared.records import Adjudication, Annotation, Record, Row
from debatebench.shared.workspace import check_plain_name

Purpose = str
"""What a journal is for: `annotations`, `adjudications` or `assignments`."""

ADJUDICATIONS = "_adjudications"
ASSIGNMENTS = "_assignments"
_SUFFIX = ".annotations"


Status = Literal["open", "draft", "done", "changed"]
"""What a form is: empty; begun; handed in as it is; or handed in once and not as it is now."""


@dataclass(frozen=True, slots=True)
class Aside:
    """A version of a form that one window had when another had saved, and when it was kept."""

    form: dict[str, Any]
    at: str


@dataclass(frozen=True, slots=True)
class FormState:
    """The form about one debate. `revision` is the number of its saves; 0 is an empty form."""

    revision: int = 0
    form: dict[str, Any] = field(default_factory=dict)
    author: str | None = None
    record: dict[str, Any] | None = None
    """What was handed in last and not taken back; it lands if `is_handed_in`."""
    handed_in: dict[str, Any] | None = None
    """The form that was handed in last."""
    handed_in_by: str | None = None
    was_handed_in: bool = False
    """Whether it was ever handed in."""
    asides: dict[str, Aside] = field(default_factory=dict)
    """Window → its version, of those between which the person has not chosen."""
    undo_to: int | None = None
    """The revision before the last change; the changes of one text in a row are one."""
    redo_to: int | None = None
    """The revision that was undone last, if nothing was changed since."""
    way: str | None = None
    """`undo` or `redo` if that led here."""
    is_typed: bool = False
    """Whether the last change was one of the text only."""

    @property
    def is_handed_in(self) -> bool:
        """Whether what the form holds is what was handed in, so that its record lands."""
        return (
            self.record is not None
            and self.handed_in is not None
            and not self.asides
            and self.author == self.handed_in_by
            and is_same_form(self.form, self.handed_in)
        )

    @property
    def status(self) -> Status:
        """The one word for the state of the form."""
        if self.is_handed_in:
            return "done"
        if self.was_handed_in:
            return "changed"
        return "draft" if self.revision or self.asides else "open"


def is_same_form(one: dict[str, Any], other: dict[str, Any]) -> bool:
    """Whether two forms hold the same answers. What was not answered may be null or absent."""
    return _answered(one) == _answered(other)


def _answered(form: dict[str, Any]) -> dict[str, Any]:
    # True equals 1, but no field can hold both.
    return {name: value for name, value in form.items() if value is not None and value != {}}


class Forms:
    """The forms of one journal: what its events add up to. Pass the data of every event to `see`."""

    def __init__(self, purpose: Purpose = "annotations") -> None:
        self._purpose = purpose
        self.by_debate: dict[str, FormState] = {}
        self._earlier: dict[str, list[FormState]] = {}
        """Debate → its states by revision."""
        self._were_aside: dict[str, list[dict[str, Any]]] = {}
        """Debate → the versions that were ever aside."""
        self.assigned: dict[str, list[str]] = {}
        """Debate → its annotators."""
        self.settings: dict[str, Any] = {}
        """The annotators and the overlap of the last assignment."""

    def see(self, data: dict[str, Any]) -> None:
        """Take in one event; raises `KeyError`, `IndexError` or `TypeError` if it lacks a part."""
        if data["type"] in ("draft", "final"):
            state = self._returned(data) if "back_to" in data else self._saved(data)
            self._earlier.setdefault(data["debate_id"], [FormState()]).append(state)
            self.by_debate[data["debate_id"]] = state
        elif data["type"] == "aside":
            self.by_debate[data["debate_id"]] = self._with_aside(data)
        elif data["type"] == "assignment":
            self.assigned |= data["debates"]
            self.settings = {"annotators": list(data["annotators"]), "overlap": data["overlap"]}
        elif data["type"] not in ("header", "format"):
            raise KeyError(f"an event of type {data['type']!r}")

    def of(self, debate_id: str) -> FormState:
        """The form about a debate, which may be empty."""
        return self.by_debate.get(debate_id) or FormState()

    def at(self, debate_id: str, revision: int) -> FormState:
        """The form about a debate as it was at a revision."""
        return self._earlier.get(debate_id, [FormState()])[revision]

    def is_same(self, one: dict[str, Any], other: dict[str, Any]) -> bool:
        """Whether two forms hold the same answers here.

        In a review a form that was never saved shows what people agree on. It is not the same as one that was cleared,
        which has every field.
        """
        return is_same_form(one, other) and (self._purpose != "adjudications" or bool(one) == bool(other))

    def has_held(self, debate_id: str, form: dict[str, Any]) -> bool:
        """Whether the form about a debate has ever held this, or had it aside."""
        held = [state.form for state in self._earlier.get(debate_id, ())]
        return any(self.is_same(form, each) for each in (*held, *self._were_aside.get(debate_id, ())))

    def continues(self, other: Forms, debate_id: str) -> bool:
        """Whether the form about a debate has gone through all that it has gone through in `other`."""
        own, others = self._earlier.get(debate_id, [FormState()]), other._earlier.get(debate_id, [FormState()])
        return own[: len(others)] == others

    def _saved(self, data: dict[str, Any]) -> FormState:
        before, form = self.of(data["debate_id"]), dict(data["form"])
        is_final = data["type"] == "final"
        is_typed = not is_final and is_same_form(before.form | {"justification": None}, form | {"justification": None})
        resolved = data.get("resolves", ())
        handed_in = form if is_final else before.handed_in
        undo_to = before.undo_to if is_typed and before.is_typed and before.way is None else before.revision
        # What leads back to the same answers is no change: the one before it is undone.
        while undo_to is not None and self._is_as_at(data["debate_id"], undo_to, form, handed_in):
            undo_to, is_typed = self.at(data["debate_id"], undo_to).undo_to, False
        return FormState(
            before.revision + 1,
            form,
            data["author"],
            record=dict(data["record"]) if is_final else before.record,
            handed_in=handed_in,
            handed_in_by=data["author"] if is_final else before.handed_in_by,
            was_handed_in=is_final or before.was_handed_in or data.get("was_handed_in", False),
            asides={window: aside for window, aside in before.asides.items() if window not in resolved},
            undo_to=undo_to,
            is_typed=is_typed,
        )

    def _is_as_at(self, debate_id: str, revision: int, form: dict[str, Any], handed_in: dict[str, Any] | None) -> bool:
        """Whether a form and what was handed in of it are as they were at a revision."""
        then = self.at(debate_id, revision)
        return self.is_same(then.form, form) and then.handed_in == handed_in

    def _returned(self, data: dict[str, Any]) -> FormState:
        """The state after an undo or a redo: that of the revision, except for what cannot be undone."""
        before, to = self.of(data["debate_id"]), self.at(data["debate_id"], data["back_to"])
        return replace(
            to,
            revision=before.revision + 1,
            author=data["author"],
            was_handed_in=before.was_handed_in,
            asides=before.asides,
            redo_to=before.revision if data["way"] == "undo" else to.redo_to,
            way=data["way"],
        )

    def _with_aside(self, data: dict[str, Any]) -> FormState:
        state = self.of(data["debate_id"])
        asides = {window: aside for window, aside in state.asides.items() if window != data["window"]}
        if data["form"] is not None:
            asides[data["window"]] = Aside(dict(data["form"]), data["at"])
            self._were_aside.setdefault(data["debate_id"], []).append(dict(data["form"]))
        return replace(state, asides=asides)


def check_annotator(name: str) -> str:
    """Return `name` when it can name an annotator and a file, else raise `UsageError`."""
    return check_plain_name(name, "an annotator's name")


def folded(name: str) -> str:
    """What is equal for two spellings of one person's name: without case, and in one form of Unicode."""
    return unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", name).casefold())


def annotations_folder(journals: Path, run_tag: str) -> Path:
    """The folder with a run's journals of annotations, which need not exist; `journals` is the workspace's folder."""
    return journals / f"{run_tag}{_SUFFIX}"


def folders_of_annotations(journals: Path) -> dict[str, Path]:
    """Run tag → its folder of annotations, for all that exist."""
    folders = sorted(folder for folder in journals.glob(f"*{_SUFFIX}") if folder.is_dir())
    return {folder.name.removesuffix(_SUFFIX): folder for folder in folders}


def begun_journals(folder: Path) -> list[Path]:
    """The journals in a folder of annotations whose first event is complete, by name."""
    return [path for path in sorted(folder.glob("*.jsonl")) if path.is_file() and has_begun(path)]


def annotators_in(folder: Path) -> list[str]:
    """The annotators who have a journal in the folder, by name."""
    return [path.stem for path in begun_journals(folder) if purpose_of(path) == "annotations"]


def purpose_of(path: Path) -> Purpose:
    """What the journal at a path is for, by its name."""
    if path.stem == ASSIGNMENTS:
        return "assignments"
    return "adjudications" if path.stem.partition(".")[0] == ADJUDICATIONS else "annotations"


def review_journal(folder: Path, reviewer: str | None = None) -> Path:
    """The journal of a reviewer, which need not exist; without a name that of all reviewers of earlier versions."""
    return folder / (f"{ADJUDICATIONS}.jsonl" if reviewer is None else f"{ADJUDICATIONS}.{reviewer}.jsonl")


def reviewers_in(folder: Path) -> list[str]:
    """The reviewers who have a journal in the folder, by name."""
    stems = [path.stem for path in begun_journals(folder) if purpose_of(path) == "adjudications"]
    return [stem.partition(".")[2] for stem in stems if "." in stem]


def check_header(path: Path, run_tag: str, data: dict[str, Any]) -> None:
    """Raise `DamagedDataError` unless the first event of a journal belongs to this run and to this name."""
    expected = {"type": "header", "purpose": purpose_of(path), "run_tag": run_tag, "name": path.stem}
    if {key: data.get(key) for key in expected} != expected:
        raise DamagedDataError(
            f"{path} does not begin as the {expected['purpose']} of run '{run_tag}' under this name; give it back its "
            "name, or move it elsewhere."
        )


def read_forms(path: Path, run_tag: str) -> Forms:
    """The forms of a journal. Raises `DamagedDataError` if it is damaged, or belongs to another run or name."""
    check_saved(path)
    forms = Forms(purpose_of(path))
    for event in read_journal(path):
        if event.seq == 1:
            check_header(path, run_tag, event.data)
        try:
            forms.see(event.data)
        except (LookupError, TypeError, ValueError, AttributeError) as error:
            raise DamagedDataError(
                f"{path}: event {event.seq} at byte {event.offset} cannot be read by this version of debatebench: "
                f"{error!r}."
            ) from error
    return forms


def annotation_records(folder: Path, run_tag: str) -> Iterator[Record]:
    """Yield the record of every form that is handed in: annotations, and what reviewers recorded as agreed.

    Raises `DamagedDataError` for a damaged journal, and for a record that this version cannot read.
    """
    later = {name: read_forms(review_journal(folder, name), run_tag) for name in reviewers_in(folder)}
    kinds: dict[Purpose, type[Record]] = {"annotations": Annotation, "adjudications": Adjudication}
    for path in begun_journals(folder):
        kind = kinds.get(purpose_of(path))
        if kind is None:
            continue
        for debate_id, state in read_forms(path, run_tag).by_debate.items():
            # In the journal of all reviewers of earlier versions, a draft of one was no change of another's verdict.
            if not (state.is_handed_in or (path.stem == ADJUDICATIONS and state.record is not None)):
                continue
            try:
                record = kind.model_validate(state.record)
            except ValueError as error:
                raise DamagedDataError(
                    f"{path}: the record about debate '{debate_id}' cannot be read by this version of debatebench: "
                    f"{str(error).splitlines()[0]}."
                ) from error
            expected = {"run_tag": run_tag, "debate_id": debate_id}
            if isinstance(record, Annotation):
                expected["annotator_id"] = path.stem
            elif isinstance(record, Adjudication) and "." in path.stem:
                expected["adjudicator_id"] = path.stem.partition(".")[2]
            if {name: getattr(record, name) for name in expected} != expected:
                raise DamagedDataError(f"{path}: the record about debate '{debate_id}' belongs elsewhere.")
            if "." in path.stem or not _is_replaced(record, later):
                yield record


def _is_replaced(record: Record, later: dict[str, Forms]) -> bool:
    """Whether a verdict that an earlier version recorded has a form in the journal of its reviewer."""
    if not isinstance(record, Adjudication) or record.adjudicator_id not in later:
        return False
    return later[record.adjudicator_id].of(record.debate_id).revision > 0


def annotation_rows(folder: Path, run_tag: str) -> Iterable[Row]:
    """The rows of the same records."""
    return (record.row() for record in annotation_records(folder, run_tag))


@dataclass(frozen=True, slots=True)
class Unfinished:
    """The forms in a journal that one person handed in, and changed or took back since: none of them lands."""

    run_tag: str
    path: Path
    author: str
    debate_ids: tuple[str, ...]

    def __str__(self) -> str:
        is_review = purpose_of(self.path) == "adjudications"
        what = "agreed verdict" if is_review else "annotation"
        count = f"{len(self.debate_ids):,} {what}{'s' if len(self.debate_ids) > 1 else ''}"
        return (
            f"Run '{self.run_tag}': {count} of '{self.author}' changed after the hand-in; not handed in again, so not "
            f"landed: `debatebench annotate --run-tag {self.run_tag} --annotator {self.author}"
            f"{' --review' if is_review else ''}`."
        )


def unfinished_forms(folder: Path, run_tag: str) -> list[Unfinished]:
    """What was handed in before and is not now, by journal and person. Raises `DamagedDataError`."""
    found: list[Unfinished] = []
    for path in begun_journals(folder):
        if purpose_of(path) == "assignments" or path.stem == ADJUDICATIONS:
            continue
        by_author: dict[str, list[str]] = {}
        for debate_id, state in read_forms(path, run_tag).by_debate.items():
            if state.status == "changed":
                by_author.setdefault(state.author or path.stem, []).append(debate_id)
        found += [Unfinished(run_tag, path, author, tuple(ids)) for author, ids in sorted(by_author.items())]
    return found
