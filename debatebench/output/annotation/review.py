"""The review: the annotations of a debate side by side, and the verdict on which people agreed, beside them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from debatebench.landing.annotation_journals import (
    ADJUDICATIONS,
    annotation_records,
    annotations_folder,
    annotators_in,
    check_annotator,
)
from debatebench.landing.annotation_writing import FormJournal
from debatebench.output.annotation.debates import (
    ShownDebate,
    imported_annotations,
    read_material,
)
from debatebench.output.annotation.form import outcome_of
from debatebench.output.annotation.session import Session
from debatebench.shared.errors import UsageError
from debatebench.shared.records import Adjudication, Annotation

if TYPE_CHECKING:
    from debatebench.shared.workspace import Workspace


@dataclass(frozen=True, slots=True)
class Review:
    """The forms with which people record the verdict on which they agreed. Annotations are only read."""

    session: Session
    """The debates with an annotation when the review began; those on which people disagree come first."""
    folder: Path
    imported: tuple[Annotation, ...]

    def annotations(self) -> dict[str, list[Annotation]]:
        """Debate → its annotations as they are now, by the names of the annotators."""
        return _by_debate([*self.imported, *_made_here(self.folder, self.session.run_tag)])


def open_review(workspace: Workspace, run_tag: str, reviewer: str, *, now: Callable[[], datetime]) -> Review:
    """The review of a run that has landed; annotations need not have landed.

    Raises `UsageError` for a name or run that cannot be, and if nothing was annotated.
    """
    check_annotator(reviewer)
    material = read_material(workspace.database, run_tag)
    folder = annotations_folder(workspace.journal, run_tag)
    here = set(annotators_in(folder))
    imported = tuple(
        annotation
        for annotation in imported_annotations(workspace.database, run_tag)
        if annotation.annotator_id not in here
    )
    found = _by_debate([*imported, *_made_here(folder, run_tag)])
    debates = [debate for debate in material.debates if debate.debate_id in found]
    if not debates:
        raise UsageError(f"Run '{run_tag}' has no annotations to review; `debatebench annotate` makes them.")
    debates.sort(key=lambda debate: not parts(found[debate.debate_id]))

    def record(debate: ShownDebate, form: dict[str, Any], at: str) -> Adjudication:
        return Adjudication.model_validate(
            {
                "run_tag": run_tag,
                "debate_id": debate.debate_id,
                "adjudicator_id": reviewer,
                "justification": form["justification"],
                **outcome_of(form, debate),
                "adjudicated_at": at,
            }
        )

    journal = FormJournal(folder / f"{ADJUDICATIONS}.jsonl", run_tag)
    session = Session(material, reviewer, tuple(debates), journal, record, now, is_review=True)
    return Review(session, folder, imported)


def parts(annotations: Sequence[Annotation]) -> bool:
    """Whether people named different winners or first teams, or only some of them found the debate coherent."""
    return len({(_won(annotation), annotation.is_coherent is False) for annotation in annotations}) > 1


def _won(annotation: Annotation) -> tuple[str | None, ...]:
    """What an annotation names as the winner: a side, or the teams that it ranks first."""
    if annotation.ranks is None:
        return (annotation.winner,)
    return tuple(sorted(each.team for each in annotation.ranks if each.rank == 1))


def _made_here(folder: Path, run_tag: str) -> list[Annotation]:
    return [record for record in annotation_records(folder, run_tag) if isinstance(record, Annotation)]


def _by_debate(annotations: Iterable[Annotation]) -> dict[str, list[Annotation]]:
    found: dict[str, list[Annotation]] = {}
    for annotation in sorted(annotations, key=lambda each: each.annotator_id):
        found.setdefault(annotation.debate_id, []).append(annotation)
    return found
