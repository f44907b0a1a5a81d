"""The words for the state of a form, and for what a change of it changed: the same on every page."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Any

from debatebench.landing.annotation_journals import FormState
from debatebench.output.annotation.debates import ShownDebate

SKIP_WORDS = {
    "cannot_judge": "I cannot judge it",
    "not_a_debate": "It is not a debate",
    "language": "I do not know its language",
    "wrong_side": "A side argues for the other one",
}
"""Why a debate is skipped, as the form offers it."""

_FIELDS = {
    "winner": "the winner",
    "justification": "the reasons",
    "confidence": "the confidence",
    "is_coherent": "whether the debate is coherent",
    "skip_reason": "why it is skipped",
}


def skips_in_words(reasons: Iterable[str | None]) -> str:
    """How many debates were skipped for which reason, in one sentence; empty if none was."""
    counts = Counter(reasons)
    parts = [f"“{text}” {counts[name]:,}" for name, text in SKIP_WORDS.items() if counts[name]]
    return f"Debates that were skipped, by reason: {', '.join(parts)}." if parts else ""


def words_on_page(state: FormState) -> str:
    """The state of a form beside it."""
    if state.asides:
        return "Two versions: choose one above. Not handed in."
    if state.status == "done":
        return "Handed in as skipped." if state.form.get("skip_reason") else "Handed in."
    if state.status == "changed":
        return "Saved. Changed since the hand-in, and not handed in."
    return "Saved. Not handed in." if state.revision else "Not begun."


def words_in_list(state: FormState) -> str:
    """The state of a form in the list of debates."""
    if state.asides:
        return "two versions: choose one; not handed in"
    if state.status == "done":
        return f"skipped: {SKIP_WORDS[reason]}" if (reason := state.form.get("skip_reason")) else "done"
    return {"open": "not begun", "draft": "begun", "changed": "changed and not handed in"}[state.status]


def change_in_words(one: FormState, other: FormState, debate: ShownDebate) -> str:
    """What differs between two states of a form, as in `the winner` or `3 answers`."""
    fields = _changed_fields(one.form, other.form, debate)
    # With a version aside nothing is handed in, and the hand-in can be undone all the same.
    if one.handed_in != other.handed_in and not fields:
        return "the hand-in"
    return " and ".join(fields) if len(fields) <= 2 else f"{len(fields)} answers"


def _changed_fields(one: dict[str, Any], other: dict[str, Any], debate: ShownDebate) -> list[str]:
    scores, others = (form.get("scores") or {} for form in (one, other))
    ranks, places = (form.get("ranks") or {} for form in (one, other))
    found = [
        f"{dimension.title}: {debate.names[side]}"
        for dimension in debate.dimensions
        for side in debate.sides
        if scores.get(dimension.name, {}).get(side) != others.get(dimension.name, {}).get(side)
    ]
    found += [f"the place of {debate.names[team]}" for team in debate.sides if ranks.get(team) != places.get(team)]
    return [*found, *(words for name, words in _FIELDS.items() if one.get(name) != other.get(name))]
