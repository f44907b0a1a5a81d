"""One person's forms from two computers: what only one has is taken, and where both differ the person chooses."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from debatebench.landing.annotation_journals import Forms, FormState, begun_journals, read_forms
from debatebench.output.annotation.debates import ShownDebate
from debatebench.output.annotation.form import BadFormError, checked, missing_in
from debatebench.output.annotation.session import Session
from debatebench.shared.amounts import counted
from debatebench.shared.errors import UsageError


def merge_forms(session: Session, path: Path) -> str:
    """Merge the journal at `path`, which must have the name of the session's, and say what came of it.

    Forms about debates that the person does not have are left out, and one that lacks an answer here is not handed in.
    Raises `UsageError` if there is no such journal, or one with an answer that the run here does not know, and
    `DamagedDataError` if it is damaged, or belongs to another run or person; nothing is merged then.
    """
    own = session.journal.path
    if not path.is_file():
        raise UsageError(f"There is no file {path}.")
    if path.resolve() == own.resolve():
        raise UsageError(f"{path} is the journal of this workspace itself; name that of the other computer.")
    if path.name != own.name:
        raise UsageError(f"A journal of '{session.author}' to be merged here is named {own.name}, not {path.name}.")
    if path not in begun_journals(path.parent):
        raise UsageError(f"{path} is not a journal: it is empty, or its first line has no end. Copy it again.")
    other = read_forms(path, session.run_tag)
    debates = [debate for debate in session.debates if debate.debate_id in other.by_debate]
    here = {debate.debate_id: _here(session, debate, other, path) for debate in debates}
    before = session.journal.forms()
    known = {debate.debate_id: before.of(debate.debate_id).revision for debate in debates}
    at = session.now().isoformat(timespec="seconds")
    window = "merged-" + re.sub(r"[^0-9A-Za-z]", "-", at)
    for debate_id, (form, record, asides) in here.items():
        session.journal.merge(debate_id, session.author, other, form, record, window, at)
        for number, aside in enumerate(asides, 1):
            if not session.journal.forms().has_held(debate_id, aside):
                session.journal.keep_aside(debate_id, session.author, f"{window}-{number}", aside, at)
    return _in_words(session, path, other, known)


def _here(
    session: Session, debate: ShownDebate, other: Forms, path: Path
) -> tuple[dict[str, Any], dict[str, Any] | None, list[dict[str, Any]]]:
    """The form about a debate in another journal as this run has it, its record if it is handed in, and its asides."""
    state = other.of(debate.debate_id)
    try:
        asides = [checked(aside.form, debate, is_review=session.is_review) for aside in state.asides.values()]
        form = checked(state.form, debate, is_review=session.is_review)
        if not state.is_handed_in or missing_in(form, debate):
            return form, None, asides
        return form, session.record(debate, form, _time_of(state)).model_dump(mode="json"), asides
    except (BadFormError, ValueError) as error:
        words = error.message if isinstance(error, BadFormError) else str(error).splitlines()[0]
        raise UsageError(
            f"{path} has an answer about debate '{debate.debate_id}' that run '{session.run_tag}' does not take here: "
            f"{words} Nothing was merged; the dimensions and scales of the run must be the same on both computers."
        ) from error


def _time_of(state: FormState) -> str:
    """When a form was handed in."""
    record = state.record or {}
    return str(record.get("annotated_at") or record.get("adjudicated_at"))


def _in_words(session: Session, path: Path, other: Forms, known: dict[str, int]) -> str:
    """What came of merging the forms about debates whose revisions before are `known`."""
    merged = {debate_id: session.journal.forms().of(debate_id) for debate_id in known}
    taken = [debate_id for debate_id, state in merged.items() if state.revision > known[debate_id]]
    apart = sum(bool(state.asides) for state in merged.values())
    lacking = sum(other.of(debate_id).is_handed_in and not merged[debate_id].is_handed_in for debate_id in taken)
    left_out = len(other.by_debate) - len(known)
    parts = [f"{counted(len(taken), 'form')} taken from {path}"]
    if lacking:
        parts.append(f"{lacking:,} of them handed in there and not here, where an answer is missing")
    if apart:
        parts.append(f"{counted(apart, 'form')} with two versions, between which you choose on the page")
    if not path.read_bytes().endswith(b"\n"):
        parts.append("its last line, which has no end, left out")
    if left_out:
        parts.append(f"{counted(left_out, 'form')} about other debates left out")
    return "; ".join(parts)
