"""Who annotates which debates, and in which order: seeded, and kept once it is drawn."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from debatebench.landing.annotation_journals import Forms, check_annotator
from debatebench.landing.annotation_writing import FormJournal
from debatebench.output.annotation.debates import ShownDebate
from debatebench.shared.errors import UsageError
from debatebench.shared.hashing import hash_of


def in_order(debates: Sequence[ShownDebate], run_tag: str, annotator: str) -> tuple[ShownDebate, ...]:
    """The debates in the order in which an annotator sees them: always the same, and another one for each annotator."""
    return tuple(sorted(debates, key=lambda debate: hash_of("order", run_tag, annotator, debate.debate_id)))


def balanced(
    debate_ids: Sequence[str], annotators: Sequence[str], overlap: int, seed: str, loads: Mapping[str, int]
) -> dict[str, list[str]]:
    """Debate → its `overlap` annotators; the numbers of debates of any two annotators differ by at most one.

    `loads` are the debates that each annotator has already.
    """
    draw = random.Random(seed)  # noqa: S311
    counts = Counter(dict.fromkeys(annotators, 0)) + Counter(loads)
    found = {}
    for debate_id in draw.sample(list(debate_ids), len(debate_ids)):
        # The least busy, and among equals by lot, so that every pair of people meets.
        chosen = sorted(annotators, key=lambda name: (counts[name], draw.random()))[:overlap]
        counts.update(chosen)
        found[debate_id] = sorted(chosen)
    return found


def assign(
    journal: FormJournal, debates: Sequence[ShownDebate], annotators: Sequence[str], overlap: int
) -> dict[str, list[str]]:
    """Give every debate that has no annotators yet to `overlap` of them, keep that, and return all assignments.

    Raises `UsageError` for people or an overlap that cannot be, or that differ from those of the kept assignments.
    """
    people = sorted(set(annotators))
    for name in people:
        check_annotator(name)
    if not 1 <= overlap <= len(people):
        raise UsageError(f"--overlap {overlap} needs as many annotators; --annotators names {len(people)}.")

    def event(forms: Forms) -> dict[str, Any] | None:
        settings = {"annotators": people, "overlap": overlap}
        if forms.settings and forms.settings != settings:
            kept = forms.settings
            raise UsageError(
                f"Run '{journal.run_tag}' is assigned to {', '.join(kept['annotators'])} with --overlap "
                f"{kept['overlap']}; give the same, or neither option."
            )
        missing = [debate.debate_id for debate in debates if debate.debate_id not in forms.assigned]
        if not missing:
            return None
        loads = Counter(name for names in forms.assigned.values() for name in names)
        found = balanced(missing, people, overlap, hash_of("assignment", journal.run_tag, *missing), loads)
        return {"type": "assignment", **settings, "debates": found}

    return journal.append(event).assigned


def assigned_debates(journal: FormJournal, debates: Sequence[ShownDebate], annotator: str) -> tuple[ShownDebate, ...]:
    """The debates of one annotator: all if nothing was assigned. Raises `UsageError` for a person without any.

    Debates that came after the assignment was drawn are assigned in the same way first.
    """
    settings = journal.forms().settings
    if not settings:
        return tuple(debates)
    if annotator not in settings["annotators"]:
        raise UsageError(
            f"Run '{journal.run_tag}' is assigned to {', '.join(settings['annotators'])}, not to '{annotator}'."
        )
    assigned = assign(journal, debates, settings["annotators"], settings["overlap"])
    return tuple(debate for debate in debates if annotator in assigned[debate.debate_id])
