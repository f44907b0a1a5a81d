"""The review: the annotations of a debate side by side, and the verdict on which people agreed, beside them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from decimal import Decimal
from pathlib import Path
from statistics import median_low
from typing import Any

from debatebench.landing.annotation_journals import (
    annotation_records,
    annotations_folder,
    annotators_in,
    check_annotator,
    folded,
    read_forms,
    review_journal,
    reviewers_in,
)
from debatebench.landing.annotation_writing import FormJournal
from debatebench.output.annotation.assignments import Team, check_spelling
from debatebench.output.annotation.debates import (
    DimensionShown,
    ShownDebate,
    imported_annotations,
    imported_reviews,
    read_material,
)
from debatebench.output.annotation.form import outcome_of
from debatebench.output.annotation.session import Session
from debatebench.shared.amounts import counted
from debatebench.shared.errors import UsageError
from debatebench.shared.records import Adjudication, Annotation
from debatebench.shared.workspace import Workspace

TIE_BAND = Decimal("0.1")
"""The share of a scale by which scores may differ without being apart, as in `macros.is_apart`."""


@dataclass(frozen=True, slots=True)
class Differences:
    """What people say differently about a debate."""

    winner: bool
    coherence: bool
    scores: tuple[tuple[str, str], ...]
    """Dimension and side or team."""
    places: tuple[str, ...] = ()
    """The teams whose place differs."""

    @property
    def order(self) -> tuple[bool, int]:
        """The place in a review: different winners or coherence first, then the more places and scores differ."""
        return not (self.winner or self.coherence), -len(self.places) - len(self.scores)

    def __bool__(self) -> bool:
        return self.winner or self.coherence or bool(self.scores or self.places)

    def words(self) -> str:
        """What differs, as in `the winner and 3 scores`; empty if nothing does."""
        count = len(self.scores)
        parts = ["the winner"] if self.winner else ["the places"] if self.places else []
        parts += ["whether it is a debate"] if self.coherence else []
        parts += [f"{count} score{'s' if count > 1 else ''}"] if count else []
        return " and ".join(parts) if len(parts) < 3 else f"{parts[0]}, {parts[1]} and {parts[2]}"


@dataclass(frozen=True, slots=True)
class Review:
    """The forms in which a reviewer records the verdicts on which people agreed. Annotations are only read."""

    session: Session
    """The debates with an annotation or a form of the reviewer when the review began; those on which people differ most
    come first."""
    folder: Path
    imported: tuple[Annotation, ...]
    imported_reviews: tuple[Adjudication, ...]

    def annotations(self) -> dict[str, list[Annotation]]:
        """Debate → its annotations as they are now, by the names of the annotators."""
        return _by_debate([*self.imported, *_made_here(self.folder, self.session.run_tag)])

    def others(self) -> dict[str, list[Adjudication]]:
        """Debate → what other reviewers recorded, as it is now, by their names."""
        here = [
            record
            for record in annotation_records(self.folder, self.session.run_tag)
            if isinstance(record, Adjudication)
        ]
        found: dict[str, list[Adjudication]] = {}
        for review in sorted([*self.imported_reviews, *here], key=lambda each: each.adjudicator_id):
            if review.adjudicator_id != self.session.author:
                found.setdefault(review.debate_id, []).append(review)
        return found

    def awaited(self) -> dict[str, list[str]]:
        """Debate → those who are still to annotate it as it is now, by their names."""
        return Team.of(self.folder, self.session.run_tag, self.session.material.debates).awaited()

    def mine(self, debate: ShownDebate) -> Adjudication | None:
        """What this reviewer has recorded about a debate, if it is handed in as it is."""
        state = self.session.state(debate)
        return Adjudication.model_validate(state.record) if state.record and state.is_handed_in else None


def outcome(reviews: Sequence[Adjudication]) -> str:
    """What reviewers of a debate say together, in the words of `intermediate.int_agreed_verdicts`, which decides."""
    against = {each.is_coherent is False for each in reviews}
    if against == {True}:
        return "not_coherent"
    if len(against) > 1:
        return "reviewers_differ_on_coherence"
    winners = {won for each in reviews if (won := _won(each))}
    places = {tuple(sorted((team.team, team.rank) for team in each.ranks)) for each in reviews if each.ranks}
    if len(winners) > 1 or len(places) > 1:
        return "reviewers_differ_on_the_winner"
    return "agreed" if winners else "no_winner"


def open_review(workspace: Workspace, run_tag: str, reviewer: str, *, now: Callable[[], datetime]) -> Review:
    """The review of a run that has landed; annotations need not have landed.

    Debates that the reviewer is still to annotate are left out. Raises `UsageError` for a name or run that cannot be,
    and if nothing was annotated or all of it is left out.
    """
    check_annotator(reviewer)
    material = read_material(workspace.database, run_tag)
    folder = annotations_folder(workspace.journal, run_tag)
    here = set(annotators_in(folder))
    team = Team.of(folder, run_tag, material.debates)
    imported = tuple(
        annotation
        for annotation in imported_annotations(workspace.database, run_tag)
        if annotation.annotator_id not in here
    )
    reviews = tuple(
        review for review in imported_reviews(workspace.database, run_tag) if not _is_here(review, folder, run_tag)
    )
    check_spelling([reviewer], {*team.known(), *(each.annotator_id for each in imported)}, run_tag)
    if reviewer not in team.reviews and folded(reviewer) in {folded(review.adjudicator_id) for review in reviews}:
        raise UsageError(f"Run '{run_tag}' has imported reviews of '{reviewer}'; choose another name.")
    found = _by_debate([*imported, *_made_here(folder, run_tag)])
    journal = FormJournal(review_journal(folder, reviewer), run_tag)
    _take_over(review_journal(folder), journal, reviewer)
    # What the reviewer has begun stays within reach when the annotations it was made from are taken back.
    begun = journal.forms().by_debate
    debates = [debate for debate in material.debates if debate.debate_id in found or debate.debate_id in begun]
    if not debates:
        raise UsageError(f"Run '{run_tag}' has no annotations to review; `debatebench annotate` makes them.")
    # Who is still to annotate a debate must not see before what others say about it.
    pending = {debate.debate_id for debate in team.pending(reviewer)} - begun.keys()
    shown = [debate for debate in debates if debate.debate_id not in pending]
    if kept_back := len(debates) - len(shown):
        words = (
            f"Not shown, because a review shows what others say: {counted(kept_back, 'debate')} that '{reviewer}' is "
            "still to annotate. Hand in or skip what you have, or let others have what you have not begun: "
            f"`debatebench annotate --run-tag {run_tag} --unassign {reviewer}`."
        )
        if not shown:
            raise UsageError(words)
        material = replace(material, kept_back=words)
    shown.sort(key=lambda debate: differences(found.get(debate.debate_id, []), debate).order)

    def record(debate: ShownDebate, form: dict[str, Any], at: str) -> Adjudication:
        outcome = {} if form["is_coherent"] is False else outcome_of(form, debate)
        return Adjudication.model_validate(
            {
                "run_tag": run_tag,
                "debate_id": debate.debate_id,
                "adjudicator_id": reviewer,
                "justification": form["justification"],
                "is_coherent": form["is_coherent"],
                **outcome,
                "adjudicated_at": at,
            }
        )

    session = Session(material, reviewer, tuple(shown), journal, record, now, is_review=True)
    return Review(session, folder, imported, reviews)


def _is_here(review: Adjudication, folder: Path, run_tag: str) -> bool:
    """Whether a review that has landed was made here, so that its journal says what it is now."""
    if review.adjudicator_id in reviewers_in(folder):
        return True
    common = review_journal(folder)
    state = read_forms(common, run_tag).of(review.debate_id) if common.exists() else None
    return state is not None and (state.record or {}).get("adjudicator_id") == review.adjudicator_id


def _take_over(common: Path, journal: FormJournal, reviewer: str) -> None:
    """Give a reviewer's verdicts in the journal of all reviewers of earlier versions to the reviewer's own journal."""
    if not common.exists():
        return
    for debate_id, state in read_forms(common, journal.run_tag).by_debate.items():
        if state.is_handed_in and state.author == reviewer and not journal.forms().of(debate_id).revision:
            at = str((state.record or {}).get("adjudicated_at"))
            journal.save(debate_id, reviewer, 0, {**state.form, "is_coherent": None}, at, state.record)


def differences(annotations: Sequence[Annotation], debate: ShownDebate) -> Differences:
    """What people say differently about a debate: the winner, or the side with the higher scores where none is named;
    the places of teams; whether it is a debate; and scores that are apart by more than `TIE_BAND` of their scale.
    """
    judged = [each for each in annotations if not _is_against(each) and not _is_skipped(each)]
    against = [each for each in annotations if _is_against(each)]
    scores = [
        (dimension.name, side)
        for dimension in debate.dimensions
        for side in debate.sides
        if _are_apart(_given(judged, dimension.name, side), dimension)
    ]
    winners = {won for each in judged if (won := _won(each))}
    ranks = [{each.team: each.rank for each in annotation.ranks} for annotation in judged if annotation.ranks]
    places = [side for side in debate.sides if len({each.get(side) for each in ranks}) > 1]
    return Differences(len(winners) > 1, bool(against) and bool(judged), tuple(scores), tuple(places))


def proposed(annotations: Sequence[Annotation], debate: ShownDebate) -> dict[str, Any]:
    """The answers on which all annotators agree, as a form has them; nothing counts before a reviewer hands it in."""
    judged = [each for each in annotations if not _is_against(each) and not _is_skipped(each)]
    found = differences(annotations, debate)
    form: dict[str, Any] = {}
    if not found.coherence and any(each.is_coherent is not None or _is_against(each) for each in annotations):
        form["is_coherent"] = bool(judged)
    if found.coherence or not judged:
        return form
    scores: dict[str, dict[str, Any]] = {}
    for dimension in debate.dimensions:
        for side in debate.sides:
            given = _given(judged, dimension.name, side)
            if given and (dimension.name, side) not in found.scores:
                middle = median_low(given)
                scores.setdefault(dimension.name, {})[side] = int(middle) if middle % 1 == 0 else float(middle)
    form["scores"] = scores
    if debate.is_of_teams:
        ranks = [{each.team: each.rank for each in annotation.ranks or ()} for annotation in judged]
        if ranks and all(each == ranks[0] for each in ranks):
            form["ranks"] = ranks[0]
    elif not found.winner and (won := _won(judged[0])):
        form["winner"] = won[0]
    return form


def agreed(annotations: Sequence[Annotation], debate: ShownDebate) -> frozenset[str]:
    """The questions of `proposed` that two people or more have answered: of one it cannot be said that all agree."""
    judged = [each for each in annotations if not _is_against(each) and not _is_skipped(each)]
    form = proposed(annotations, debate)
    answered = {
        "winner": sum(bool(_won(each)) for each in judged),
        "ranks": sum(each.ranks is not None for each in judged),
        "is_coherent": sum(each.is_coherent is not None or _is_against(each) for each in annotations),
    }
    found = {name for name, count in answered.items() if count > 1 and form.get(name) is not None}
    for name, sides in form.get("scores", {}).items():
        found |= {f"{name}.{side}" for side in sides if len(_given(judged, name, side)) > 1}
    return frozenset(found)


def _is_against(annotation: Annotation) -> bool:
    """Whether a person says that this is not a debate to be judged."""
    return annotation.is_coherent is False or annotation.skip_reason == "not_a_debate"


def _is_skipped(annotation: Annotation) -> bool:
    return annotation.skip_reason is not None


def _won(annotation: Annotation | Adjudication) -> tuple[str, ...]:
    """What an annotation prefers: the side that it names or scores higher, or the teams that it ranks first."""
    if annotation.ranks is not None:
        return tuple(sorted(each.team for each in annotation.ranks if each.rank == 1))
    if annotation.winner is not None:
        return (annotation.winner,)
    if not annotation.scores:
        return ()
    lead = sum(score.pro - score.con for score in annotation.scores)
    return ("pro" if lead > 0 else "con" if lead < 0 else "tie",)


def _given(annotations: Sequence[Annotation], dimension: str, side: str) -> list[Decimal]:
    """The scores of a side or team on a dimension."""
    found = [
        score.pro if side == "pro" else score.con
        for each in annotations
        for score in each.scores or ()
        if score.dimension == dimension and side in ("pro", "con")
    ]
    teams = [team for each in annotations for team in each.team_scores or ()]
    return [*found, *(each.score for each in teams if each.dimension == dimension and each.team == side)]


def _are_apart(scores: Sequence[Decimal], dimension: DimensionShown) -> bool:
    if not scores:
        return False
    return is_apart(max(scores) - min(scores), dimension.scale.first, dimension.scale.last)


def is_apart(difference: Decimal, lowest: Decimal, highest: Decimal) -> bool:
    """Whether two scores on a scale differ by more than `TIE_BAND` of it."""
    return difference > (highest - lowest) * TIE_BAND


def _made_here(folder: Path, run_tag: str) -> list[Annotation]:
    return [record for record in annotation_records(folder, run_tag) if isinstance(record, Annotation)]


def _by_debate(annotations: Iterable[Annotation]) -> dict[str, list[Annotation]]:
    found: dict[str, list[Annotation]] = {}
    for annotation in sorted(annotations, key=lambda each: each.annotator_id):
        found.setdefault(annotation.debate_id, []).append(annotation)
    return found
