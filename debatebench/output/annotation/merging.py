"""One person's forms from two computers: what only one has is taken, and where both differ the person chooses."""

from __future__ import annotations

import re
from pathlib import Path

from debatebench.landing.annotation_journals import read_forms
from debatebench.output.annotation.session import Session
from debatebench.shared.amounts import counted
from debatebench.shared.errors import UsageError


def merge_forms(session: Session, path: Path) -> str:
    """Merge the journal at `path`, which must have the name of the session's, and say what came of it.

    Forms about debates that the person does not have are left out. Raises `UsageError` if there is no such journal, and
    `DamagedDataError` if it is damaged, or belongs to another run or person; nothing is merged then.
    """
    own = session.journal.path
    if not path.is_file():
        raise UsageError(f"There is no file {path}.")
    if path.resolve() == own.resolve():
        raise UsageError(f"{path} is the journal of this workspace itself; name that of the other computer.")
    if path.name != own.name:
        raise UsageError(f"A journal of '{session.author}' to be merged here is named {own.name}, not {path.name}.")
    other = read_forms(path, session.run_tag)
    debates = [debate.debate_id for debate in session.debates if debate.debate_id in other.by_debate]
    before = session.journal.forms()
    known = {debate_id: before.of(debate_id) for debate_id in debates}
    at = session.now().isoformat(timespec="seconds")
    window = "merged-" + re.sub(r"[^0-9A-Za-z]", "-", at)
    for debate_id in debates:
        session.journal.merge(debate_id, session.author, other, window, at)
        for number, aside in enumerate(other.of(debate_id).asides.values(), 1):
            if not session.journal.forms().has_held(debate_id, aside.form):
                session.journal.keep_aside(debate_id, session.author, f"{window}-{number}", aside.form, at)
    merged = {debate_id: session.journal.forms().of(debate_id) for debate_id in debates}
    apart = sum(bool(state.asides) for state in merged.values())
    taken = sum(state.revision > known[debate_id].revision for debate_id, state in merged.items())
    left_out = len(other.by_debate) - len(debates)
    parts = [f"{counted(taken, 'form')} taken from {path}"]
    if apart:
        parts.append(f"{counted(apart, 'form')} with two versions, between which you choose on the page")
    if left_out:
        parts.append(f"{counted(left_out, 'form')} about other debates left out")
    return "; ".join(parts)
