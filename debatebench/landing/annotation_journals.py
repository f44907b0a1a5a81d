"""Annotations made here: their journals → records, and the state of every form.

`warehouse/journal/<run tag>.annotations/` has one journal per annotator, named after the annotator, so that people
never wait for each other; one per reviewer, `_adjudications.<name>.jsonl`, with the verdicts that this reviewer
recorded as agreed; and `_assignments.jsonl`, which says who annotates which debate. Earlier versions kept the verdicts
of all reviewers in `_adjudications.jsonl`, the last about a debate; each counts until the journal of its reviewer has a
form about the debate. The lines are those of every journal. A header names the run, and every later event replaces an
earlier one about the same debate:

    draft       what a form holds after a change
    final       a form that was handed in: also the record that lands
    assignment  debates, each with its annotators
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from debatebench.journal.reading import check_saved, has_begun, read_journal
from debatebench.shared.errors import DamagedDataError
from debatebench.shared.records import Adjudication, Annotation, Record, Row
from debatebench.shared.workspace import check_plain_name

Purpose = str
"""What a journal is for: `annotations`, `adjudications` or `assignments`."""

ADJUDICATIONS = "_adjudications"
ASSIGNMENTS = "_assignments"
_SUFFIX = ".annotations"


@dataclass(frozen=True, slots=True)
class FormState:
    """The form about one debate. `revision` is the number of its saves; 0 is an empty form."""

    revision: int = 0
    form: dict[str, Any] = field(default_factory=dict)
    author: str | None = None
    is_handed_in: bool = False
    """Whether the last save handed the form in."""
    record: dict[str, Any] | None = None
    """What was handed in last, as it lands."""
    handed_in: dict[str, Any] | None = None
    """The form that was handed in last."""


class Forms:
    """The forms of one journal: what its events add up to. Pass the data of every event to `see`."""

    def __init__(self) -> None:
        self.by_debate: dict[str, FormState] = {}
        self.assigned: dict[str, list[str]] = {}
        """Debate → its annotators."""
        self.settings: dict[str, Any] = {}
        """The annotators and the overlap of the last assignment."""

    def see(self, data: dict[str, Any]) -> None:
        """Take in one event; raises `KeyError` or `TypeError` if it lacks a part."""
        if data["type"] in ("draft", "final"):
            before = self.of(data["debate_id"])
            is_final = data["type"] == "final"
            self.by_debate[data["debate_id"]] = FormState(
                before.revision + 1,
                dict(data["form"]),
                data["author"],
                is_final,
                dict(data["record"]) if is_final else before.record,
                dict(data["form"]) if is_final else before.handed_in,
            )
        elif data["type"] == "assignment":
            self.assigned |= data["debates"]
            self.settings = {"annotators": list(data["annotators"]), "overlap": data["overlap"]}
        elif data["type"] not in ("header", "format"):
            raise KeyError(f"an event of type {data['type']!r}")

    def of(self, debate_id: str) -> FormState:
        """The form about a debate, which may be empty."""
        return self.by_debate.get(debate_id) or FormState()


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
    forms = Forms()
    for event in read_journal(path):
        if event.seq == 1:
            check_header(path, run_tag, event.data)
        try:
            forms.see(event.data)
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise DamagedDataError(
                f"{path}: event {event.seq} at byte {event.offset} cannot be read by this version of debatebench: "
                f"{error!r}."
            ) from error
    return forms


def annotation_records(folder: Path, run_tag: str) -> Iterator[Record]:
    """Yield what was handed in last of every form: annotations, and the verdicts that reviewers recorded as agreed.

    Raises `DamagedDataError` for a damaged journal, and for a record that this version cannot read.
    """
    later = {name: read_forms(review_journal(folder, name), run_tag) for name in reviewers_in(folder)}
    kinds: dict[Purpose, type[Record]] = {"annotations": Annotation, "adjudications": Adjudication}
    for path in begun_journals(folder):
        kind = kinds.get(purpose_of(path))
        if kind is None:
            continue
        for debate_id, state in read_forms(path, run_tag).by_debate.items():
            if state.record is None:
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
