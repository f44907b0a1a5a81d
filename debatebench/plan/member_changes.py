"""Debaters and judges whose entry in the configuration has changed since their run began."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from typing import TYPE_CHECKING

from debatebench.plan.plan import MemberChange

if TYPE_CHECKING:
    from debatebench.config.types import MemberConfig
    from debatebench.plan.plan import Plan, Role


def allowed_changes(
    frozen: Plan, today: Plan, has_answered: Callable[[Role, str], bool], replaceable: Collection[str]
) -> list[MemberChange]:
    """The changes with which a run may go on.

    The whole entry may change while the run has no answer of the debater or judge. After that, `context_window` may,
    which changes no request, and `parameters` of those in `replaceable`.
    """
    found = [*_changed("debater", frozen.debaters, today.debaters), *_changed("judge", frozen.judges, today.judges)]
    changes = []
    for role, before, entry in found:
        answered = has_answered(role, before.id)
        parameters = entry.parameters if before.id in replaceable else before.parameters
        may_be = {"parameters": parameters, "context_window": entry.context_window}
        if not answered or before.model_copy(update=may_be).model_dump() == entry.model_dump():
            changes.append(MemberChange(role=role, entry=entry, has_answered=answered))
    return changes


def _changed(
    role: Role, before: Sequence[MemberConfig], today: Sequence[MemberConfig]
) -> Iterator[tuple[Role, MemberConfig, MemberConfig]]:
    now = {member.id: member for member in today}
    for member in before:
        entry = now.get(member.id)
        if entry is not None and entry.model_dump() != member.model_dump():
            yield role, member, entry
