"""Who annotates which debates, and in which order: seeded, kept once drawn, and changed when people join or leave."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from debatebench.landing.annotation_journals import (
    ASSIGNMENTS,
    Forms,
    FormState,
    annotations_folder,
    annotators_in,
    check_annotator,
    folded,
    read_forms,
    review_journal,
    reviewers_in,
)
from debatebench.landing.annotation_writing import FormJournal
from debatebench.output.annotation.debates import ShownDebate, imported_annotations, read_material
from debatebench.shared.amounts import counted
from debatebench.shared.errors import UsageError
from debatebench.shared.hashing import hash_of
from debatebench.shared.workspace import Workspace

Assigned = dict[str, list[str]]
"""Debate → its annotators, by name."""
_DEFAULT_OVERLAP = 2


@dataclass(frozen=True, slots=True)
class Team:
    """The people who annotate a run, what each of them has begun, and the assignments, if there are any."""

    journal: FormJournal
    debates: tuple[ShownDebate, ...]
    forms: dict[str, Forms]
    """Person with a journal → the forms."""
    reviews: Mapping[str, Forms] = field(default_factory=dict)
    """Reviewer with a journal → the forms of the review."""

    @classmethod
    def of(cls, folder: Path, run_tag: str, debates: Sequence[ShownDebate]) -> Team:
        """The team of a run as it is now; `folder` has its journals of annotations."""
        forms = {name: read_forms(folder / f"{name}.jsonl", run_tag) for name in annotators_in(folder)}
        journal = FormJournal(folder / f"{ASSIGNMENTS}.jsonl", run_tag)
        reviews = {name: read_forms(review_journal(folder, name), run_tag) for name in reviewers_in(folder)}
        return cls(journal, tuple(debates), forms, reviews)

    def people(self) -> list[str]:
        """Everyone who is assigned or has a journal, by name."""
        assigned = self.journal.forms()
        named = [name for names in assigned.assigned.values() for name in names]
        return sorted({*assigned.settings.get("annotators", ()), *named, *self.forms})

    def known(self) -> set[str]:
        """Every name that is known here: of those who annotate, and of those who review."""
        return {*self.people(), *self.reviews}

    def state(self, name: str, debate_id: str) -> FormState:
        """A person's form about a debate."""
        return self.forms[name].of(debate_id) if name in self.forms else FormState()

    def has_begun(self, name: str, debate_id: str) -> bool:
        """Whether a person has saved anything about a debate, so that it stays with this person."""
        return self.state(name, debate_id).status != "open"

    def barred(self, debate_id: str) -> frozenset[str]:
        """Who has reviewed a debate and had not begun it: a review shows what others say, so somebody else has it."""
        return frozenset(
            name
            for name, forms in self.reviews.items()
            if debate_id in forms.by_debate and not self.has_begun(name, debate_id)
        )

    def held_by(self, name: str, assigned: Forms) -> tuple[ShownDebate, ...]:
        """The debates of a person: all if nothing was assigned, else those assigned to the person or begun.

        A debate that moved while its page was open may be begun by somebody to whom it is not assigned any more. One
        from which the person is `barred` is left out.
        """
        return tuple(
            debate
            for debate in self.debates
            if self.has_begun(name, debate.debate_id)
            or (
                name not in self.barred(debate.debate_id)
                and (not assigned.settings or name in assigned.assigned.get(debate.debate_id, ()))
            )
        )

    def pending(self, name: str) -> tuple[ShownDebate, ...]:
        """The debates that a person is still to annotate; none for somebody who neither began nor was assigned any."""
        if name not in self.people():
            return ()
        return tuple(
            debate
            for debate in self.held_by(name, self.journal.forms())
            if self.state(name, debate.debate_id).status != "done"
        )

    def awaited(self) -> Assigned:
        """Debate → those who are still to annotate it, by name: it is assigned to them, or they have begun it."""
        found: Assigned = {}
        is_assigned = bool(self.journal.forms().settings)
        for name in self.people():
            for debate in self.pending(name):
                if is_assigned or self.has_begun(name, debate.debate_id):
                    found.setdefault(debate.debate_id, []).append(name)
        return found

    def debates_of(self, name: str) -> tuple[ShownDebate, ...]:
        """The debates of a person: all if nothing was assigned. Raises `UsageError` for a person without any.

        Debates that came after the assignments are assigned in the same way first.
        """
        settings = self.journal.forms().settings
        if settings:
            self.assign(settings["annotators"])
        if mine := self.held_by(name, self.journal.forms()):
            return mine
        if not settings or any(name in names for names in self.journal.forms().assigned.values()):
            raise UsageError(
                f"'{name}' has reviewed these debates of run '{self.journal.run_tag}' and seen what others say about "
                "them, so somebody else annotates them."
            )
        listed = ", ".join(settings["annotators"])
        raise UsageError(
            f"Run '{self.journal.run_tag}' is assigned to {listed}, not to '{name}'; `debatebench annotate --run-tag "
            f"{self.journal.run_tag} --assign {name}` adds them."
            if name not in settings["annotators"]
            else f"'{name}' has no debates of run '{self.journal.run_tag}': {listed} have begun all of them."
        )

    def assign(self, people: Iterable[str], overlap: int | None = None) -> Assigned:
        """Let these people annotate the run from now on, each debate by `overlap` of them; return all assignments.

        A debate stays with everyone who has begun it. Of the others, as few as possible move so that the numbers of
        debates that are not begun differ by at most one where they can. Nothing moves for the people and the overlap
        of before: only debates that came later are given out. An overlap that is not given is the one of before, or
        everyone if they are fewer. Nobody gets a debate that the person has reviewed: see `barred`. Raises
        `UsageError` for people or an overlap that cannot be.
        """
        team = sorted(set(people))
        for name in team:
            check_annotator(name)
        check_spelling(team, self.known(), self.journal.run_tag)
        if not team:
            raise UsageError(
                f"Nobody would be left to annotate run '{self.journal.run_tag}'; add someone with --assign in the same "
                "command."
            )
        if overlap is not None and not 1 <= overlap <= len(team):
            raise UsageError(f"--overlap {overlap} needs as many annotators; there is {', '.join(team)}.")

        def event(forms: Forms) -> dict[str, Any] | None:
            each = overlap if overlap is not None else forms.settings.get("overlap", min(_DEFAULT_OVERLAP, len(team)))
            settings = {"annotators": team, "overlap": each}
            ids = [debate.debate_id for debate in self.debates]
            if forms.settings == settings:
                ids = [key for key in ids if key not in forms.assigned]
            after = self._shared_out(ids, forms.assigned, team, min(each, len(team)))
            changed = {key: names for key, names in after.items() if names != forms.assigned.get(key)}
            if not ids or (not changed and forms.settings == settings):
                return None
            return {"type": "assignment", **settings, "debates": changed}

        return self.journal.append(event).assigned

    def _shared_out(
        self, ids: Sequence[str], assigned: Mapping[str, Sequence[str]], team: Sequence[str], overlap: int
    ) -> Assigned:
        begun = {key: [name for name in self.forms if self.has_begun(name, key)] for key in ids}
        barred = {key: self.barred(key) for key in ids}
        held = {
            key: [name for name in assigned.get(key, ()) if name in team and name not in barred[key]] for key in ids
        }
        others = [(key, name) for key, names in assigned.items() if key not in begun for name in names]
        loads = Counter(name for key, name in others if name in team and not self.has_begun(name, key))
        return share_out(
            ids, team, overlap, hash_of("assignment", self.journal.run_tag, *ids), begun, held, loads, barred
        )


def check_spelling(names: Iterable[str], known: Collection[str], run_tag: str) -> None:
    """Raise `UsageError` for a name that differs from another one, known or given here, only in its letters' form.

    A name that is known exactly so is right, also beside another one of earlier versions.
    """
    seen = {folded(name): name for name in sorted(known)}
    for name in names:
        if name in known:
            continue
        other = seen.setdefault(folded(name), name)
        if other != name:
            raise UsageError(
                f"Run '{run_tag}' knows '{other}', and '{name}' differs from it only in the form of its letters; give "
                f"the name as it is known. Known: {', '.join(sorted(known) or [other])}."
            )


def check_not_imported(database: Path, folder: Path, run_tag: str, names: Iterable[str]) -> None:
    """Raise `UsageError` for a name under which annotations were imported, and which has no journal in `folder`.

    One person would have two annotations of one debate.
    """
    here = set(annotators_in(folder))
    imported = {annotation.annotator_id for annotation in imported_annotations(database, run_tag)} - here
    for name in sorted(set(names) - here):
        if alike := sorted(other for other in imported if folded(other) == folded(name)):
            raise UsageError(
                f"Run '{run_tag}' has imported annotations of '{alike[0]}', so '{name}' would be this person; choose "
                "another name."
            )


@dataclass(frozen=True, slots=True)
class PersonStatus:
    """How far one person is: numbers of debates."""

    name: str
    debates: int
    done: int
    changed: int
    """Handed in before, and not as they are now."""
    begun: int
    open: int
    is_leaving: bool
    """Whether the person gets no further debates."""


def team_status(team: Team) -> list[PersonStatus]:
    """How far everyone is who has debates, by name."""
    forms = team.journal.forms()
    found = []
    for name in team.people():
        has = team.held_by(name, forms)
        counts = Counter(team.state(name, debate.debate_id).status for debate in has)
        found.append(
            PersonStatus(
                name,
                len(has),
                counts["done"],
                counts["changed"],
                counts["draft"],
                counts["open"],
                bool(forms.settings) and name not in forms.settings["annotators"],
            )
        )
    return found


def change_team(
    workspace: Workspace,
    run_tag: str,
    *,
    annotators: Collection[str] = (),
    joining: Collection[str] = (),
    leaving: Collection[str] = (),
    overlap: int | None = None,
) -> str:
    """Let `annotators`, or those of before with who joins and without who leaves, annotate a run; return what moved.

    Those of before are everyone with forms if nothing was assigned. Raises `UsageError` as `Team.assign` and
    `check_not_imported` do, and for someone who leaves without having been there.
    """
    team = open_team(workspace, run_tag)
    before = team.journal.forms()
    people = set(annotators or before.settings.get("annotators", team.forms))
    check_spelling([*joining, *leaving], team.known(), run_tag)
    folder = annotations_folder(workspace.journal, run_tag)
    check_not_imported(workspace.database, folder, run_tag, [*annotators, *joining])
    if strangers := sorted(set(leaving) - people):
        listed = ", ".join(sorted(people)) or "nobody"
        raise UsageError(f"Run '{run_tag}' is not assigned to '{strangers[0]}'. Assigned: {listed}.")
    assigned_before = dict(before.assigned)
    after = team.assign((people | set(joining)) - set(leaving), overlap)
    return moved_in_words(assigned_before, after)


def left_out_in_words(team: Team) -> str | None:
    """The sentences on debates that people do not get because they have reviewed them; None if there are none."""
    forms = team.journal.forms()
    people = forms.settings.get("annotators", ())
    barred = Counter(name for key in forms.assigned for name in team.barred(key) if name in people)
    if not barred:
        return None
    who = " and ".join(f"{name} has reviewed {counted(count, 'debate')}" for name, count in sorted(barred.items()))
    fewer = sum(len(names) < forms.settings["overlap"] for names in forms.assigned.values())
    few = f" {counted(fewer, 'debate')} will have fewer than {counted(forms.settings['overlap'], 'annotator')}."
    return f"{who}, and seen there what others say, so somebody else annotates them.{few if fewer else ''}"


def open_team(workspace: Workspace, run_tag: str) -> Team:
    """The team of a run that has landed. Raises `UsageError` for a run that cannot be annotated."""
    material = read_material(workspace.database, run_tag)
    return Team.of(annotations_folder(workspace.journal, run_tag), run_tag, material.debates)


def moved_in_words(before: Assigned, after: Assigned) -> str:
    """One sentence without its end: which debates were given to whom, and taken from whom."""
    gained: Counter[str] = Counter()
    lost: Counter[str] = Counter()
    for key, names in after.items():
        gained.update(set(names) - set(before.get(key, ())))
        lost.update(set(before.get(key, ())) - set(names))
    parts = [f"{name} gets {count:,}" for name, count in sorted(gained.items())]
    parts += [f"{name} gives {count:,} away" for name, count in sorted(lost.items())]
    return f"{', '.join(parts)} of the debates that were not begun" if parts else "No debate moves"


def in_order(debates: Sequence[ShownDebate], run_tag: str, annotator: str) -> tuple[ShownDebate, ...]:
    """The debates in the order in which an annotator sees them: always the same, and another one for each annotator."""
    return tuple(sorted(debates, key=lambda debate: hash_of("order", run_tag, annotator, debate.debate_id)))


def share_out(
    debate_ids: Sequence[str],
    team: Sequence[str],
    overlap: int,
    seed: str,
    begun: Mapping[str, Sequence[str]],
    held: Mapping[str, Sequence[str]],
    loads: Mapping[str, int],
    barred: Mapping[str, Collection[str]],
) -> Assigned:
    """Debate → its annotators: all who have begun it, and of the team as many more as `overlap` needs.

    `held` are the people of the team who have it already: they keep it, unless somebody else has two debates fewer
    that are not begun. `loads` are such debates of each person outside `debate_ids`. Who is `barred` from a debate does
    not get it, and the debate has fewer if nobody else is left.
    """
    draw = random.Random(seed)  # noqa: S311
    found = {key: list(begun.get(key, ())) for key in debate_ids}
    counts = Counter({name: loads.get(name, 0) for name in team})
    order = draw.sample(list(debate_ids), len(debate_ids))
    for key in order:
        kept = [name for name in held.get(key, ()) if name not in found[key]]
        kept = kept[: max(overlap - len(found[key]), 0)]
        counts.update(kept)
        found[key] += kept
    for key in order:
        # The least busy, and among equals by lot, so that every pair of people meets.
        others = [name for name in team if name not in found[key] and name not in barred.get(key, ())]
        able = sorted(others, key=lambda name: (counts[name], draw.random()))
        chosen = able[: max(overlap - len(found[key]), 0)]
        counts.update(chosen)
        found[key] += chosen
    _level(found, order, team, counts, begun, barred)
    return {key: sorted(names) for key, names in found.items()}


def _level(
    found: Assigned,
    order: Sequence[str],
    team: Sequence[str],
    counts: Counter[str],
    begun: Mapping[str, Sequence[str]],
    barred: Mapping[str, Collection[str]],
) -> None:
    """Move debates that are not begun from people with more of them to people with at least two fewer."""
    while move := next(_moves(found, order, team, counts, begun, barred), None):
        key, giver, taker = move
        found[key][found[key].index(giver)] = taker
        counts[giver] -= 1
        counts[taker] += 1


def _moves(
    found: Assigned,
    order: Sequence[str],
    team: Sequence[str],
    counts: Counter[str],
    begun: Mapping[str, Sequence[str]],
    barred: Mapping[str, Collection[str]],
) -> Iterator[tuple[str, str, str]]:
    for giver in sorted(team, key=lambda name: -counts[name]):
        for taker in sorted(team, key=lambda name: counts[name]):
            if counts[giver] - counts[taker] < 2:
                break
            for key in order:
                is_free = giver in found[key] and giver not in begun.get(key, ())
                if is_free and taker not in found[key] and taker not in barred.get(key, ()):
                    yield key, giver, taker
