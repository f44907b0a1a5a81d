"""What the pages of a review show: what each person said, what differs, what is filled in, and what reviewers say."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal
from typing import Any

from debatebench.landing.annotation_journals import FormState
from debatebench.output.annotation.debates import TEAMS, ShownDebate
from debatebench.output.annotation.review import Review, agreed, differences, outcome, proposed
from debatebench.shared.records import Adjudication, Annotation

_NONE = "–"
_COHERENT = {True: "yes", False: "no", None: _NONE}
_WINNERS = {"pro": "Pro", "con": "Con", "tie": "Tie"}
_PLACES = {1: "1st", 2: "2nd", 3: "3rd", 4: "4th"}
_OUTCOMES = {
    "agreed": "Those who reviewed it agree.",
    "not_coherent": "Those who reviewed it agree that it is not a debate to be judged.",
    "reviewers_differ_on_coherence": "Reviewers differ on whether it is a debate: nothing is agreed.",
    "reviewers_differ_on_the_winner": "Reviewers differ on the winner: nothing is agreed.",
    "no_winner": "No reviewer names a winner.",
}


def people_said(review: Review, debate: ShownDebate) -> list[dict[str, Any]]:
    """What annotators and then other reviewers say about a debate."""
    annotations = review.annotations().get(debate.debate_id, [])
    return [*map(_annotation, annotations), *map(_review, review.others().get(debate.debate_id, []))]


def is_filled_in(state: FormState) -> bool:
    """Whether a review shows proposed answers: its form is new, or was undone to its beginning.

    A form that was saved has every field, also where the reviewer cleared all of them.
    """
    return not state.form


def review_data(review: Review, debate: ShownDebate) -> dict[str, Any]:
    """What the page of a debate shows of a review.

    `differs` is what annotators differ on in words, `awaited` are those who are still to annotate the debate, and
    `together` is what reviewers say together; `rows` has the answers side by side, and `proposed` the answers on which
    all agree. `agreed` is question → such an answer as text, of those that two people or more gave, and `marks`
    question → whether people differ on it, or the form has the answer on which all agree.
    """
    annotations = review.annotations().get(debate.debate_id, [])
    found = differences(annotations, debate)
    filled = proposed(annotations, debate)
    marks = {f"{name}.{side}": "people differ" for name, side in found.scores}
    marks |= {"winner": "people differ"} if found.winner else {}
    marks |= {"is_coherent": "people differ"} if found.coherence else {}
    if found.places:
        marks |= dict.fromkeys(("ranks", *(f"rank:{team}" for team in found.places)), "people differ")
    state = review.session.state(debate)
    shown = _texts(filled if is_filled_in(state) else state.form)
    texts = {name: text for name, text in _texts(filled).items() if name in agreed(annotations, debate)}
    marks |= {name: "all agree" for name, text in texts.items() if shown.get(name) == text}
    return {
        "differs": found.words(),
        "awaited": review.awaited().get(debate.debate_id, []),
        "together": together(review, debate),
        "rows": _rows(people_said(review, debate), debate, marks),
        "proposed": filled,
        "agreed": texts,
        "marks": marks,
    }


def review_in_list(review: Review, debates: Sequence[ShownDebate]) -> dict[str, dict[str, Any]]:
    """Debate → what the overview shows: who annotated and who reviewed it, and what differs."""
    annotations, others, awaited = review.annotations(), review.others(), review.awaited()
    found = {}
    for debate in debates:
        people = annotations.get(debate.debate_id, [])
        found[debate.debate_id] = {
            "annotators": [each.annotator_id for each in people],
            "awaited": awaited.get(debate.debate_id, []),
            "differs": differences(people, debate).words(),
            "reviewers": [each.adjudicator_id for each in others.get(debate.debate_id, [])],
            "together": together(review, debate, others.get(debate.debate_id, [])),
        }
    return found


def together(review: Review, debate: ShownDebate, others: Sequence[Adjudication] | None = None) -> str:
    """What all reviewers of a debate say, in a sentence; empty without a second one."""
    if others is None:
        others = review.others().get(debate.debate_id, [])
    mine = review.mine(debate)
    reviews = [*others, *([mine] if mine else [])]
    return _OUTCOMES[outcome(reviews)] if len(reviews) > 1 else ""


def _texts(form: dict[str, Any]) -> dict[str, str]:
    """Question → answer as the page has it in its inputs; the places of all teams are one, in the order of the form."""
    found = {"winner": form.get("winner"), "is_coherent": form.get("is_coherent")}
    found |= {
        f"{name}.{side}": score for name, sides in (form.get("scores") or {}).items() for side, score in sides.items()
    }
    if ranks := form.get("ranks"):
        found["ranks"] = " ".join(str(ranks[team]) for team in TEAMS if team in ranks)
    return {name: _text(answer) for name, answer in found.items() if answer is not None}


def _text(answer: str | bool | int | float) -> str:
    return str(answer).lower() if isinstance(answer, bool) else str(answer)


def _annotation(each: Annotation) -> dict[str, Any]:
    return {
        **_said(each),
        "annotator": each.annotator_id,
        "is_review": False,
        "confidence": each.confidence,
        "skip_reason": each.skip_reason,
    }


def _review(each: Adjudication) -> dict[str, Any]:
    return {
        **_said(each),
        "annotator": each.adjudicator_id,
        "is_review": True,
        "confidence": None,
        "skip_reason": None,
    }


def _said(each: Annotation | Adjudication) -> dict[str, Any]:
    return {
        "winner": each.winner,
        "is_coherent": each.is_coherent,
        "justification": each.justification,
        "ranks": {place.team: place.rank for place in each.ranks or ()},
        "scores": _scores_of(each),
    }


def _scores_of(said: Annotation | Adjudication) -> dict[str, dict[str, str]]:
    """Dimension → side or team → score as text."""
    found: dict[str, dict[str, str]] = {}
    for score in said.scores or ():
        found[score.dimension] = {"pro": _exact(score.pro), "con": _exact(score.con)}
    for each in said.team_scores or ():
        found.setdefault(each.dimension, {})[each.team] = _exact(each.score)
    return found


def _exact(score: Decimal) -> str:
    return f"{score.normalize():f}"


def _rows(people: Sequence[dict[str, Any]], debate: ShownDebate, marks: dict[str, str]) -> list[dict[str, Any]]:
    """The answers side by side: those on which people differ first."""
    rows = []
    if debate.is_of_teams:
        for team, name in debate.names.items():
            places = [_PLACES.get(each["ranks"].get(team), _NONE) for each in people]
            rows.append(_row(f"Place of {name}", places, marks.get(f"rank:{team}")))
    else:
        rows.append(_row("Winner", [_WINNERS.get(each["winner"], _NONE) for each in people], marks.get("winner")))
    rows.append(_row("Coherent", [_COHERENT[each["is_coherent"]] for each in people], marks.get("is_coherent")))
    for dimension in debate.dimensions:
        for side, name in debate.names.items():
            answers = [each["scores"].get(dimension.name, {}).get(side, _NONE) for each in people]
            title = f"{dimension.title.capitalize()}, {name}"
            rows.append(_row(title, answers, marks.get(f"{dimension.name}.{side}")))
    rows.append(_row("Confidence", [_NONE if each["confidence"] is None else each["confidence"] for each in people]))
    if any(each["skip_reason"] for each in people):
        skipped = [(each["skip_reason"] or _NONE).replace("_", " ") for each in people]
        rows.insert(0, _row("Skipped, because", skipped))
    return sorted(rows, key=lambda row: not row["differs"])


def _row(title: str, answers: Sequence[Any], mark: str | None = None) -> dict[str, Any]:
    return {"title": title, "answers": list(answers), "differs": mark == "people differ"}
