"""The plan of a run that has begun: as its journal holds it, and as today's inputs give it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from debatebench.journal.reading import events_of, has_begun
from debatebench.plan.plan import Plan, begun_plan
from debatebench.plan.schedule import plan_part
from debatebench.shared.errors import DamagedDataError, UsageError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from debatebench.config.types import MemberConfig
    from debatebench.plan.plan import PlanPart

__all__ = ["plan_of_today", "read_begun_plan"]


def read_begun_plan(journal_path: Path) -> Plan | None:
    """The plan with which the run of this journal continues; None when it has not begun.

    Read-only: the run may be in progress. Raises `DamagedDataError` for a plan that this version cannot read.
    """
    if not journal_path.is_file() or not has_begun(journal_path):
        return None
    header, parts = None, []
    for event in events_of(journal_path, ("header", "part")):
        if event["type"] == "part":
            parts.append(event.get("part"))
        elif header is None:
            header = event.get("plan")
    if header is None:
        # The first line is damaged; opening the journal for writing gives a better message.
        return None
    try:
        return begun_plan(header, parts)
    except ValueError as error:
        raise DamagedDataError(
            f"{journal_path} contains a plan that this version of debatebench cannot read; "
            "use the version that wrote it, or a newer one."
        ) from error


def plan_of_today(
    run_tag: str,
    begun: Plan | None,
    debaters: Sequence[MemberConfig],
    new_models: Sequence[str],
    make_base: Callable[[Sequence[MemberConfig]], Plan],
    git_commit: str | None,
) -> tuple[Plan, PlanPart | None]:
    """The plan that today's inputs give for a run, with the parts added so far, and the part that is to be added now.

    `make_base` plans the run as it began, from its original debaters. Of `new_models`, those that were added earlier
    have no effect. Raises `UsageError` for one that is unknown or was there from the beginning, and for a run that has
    not begun.
    """
    by_id = {debater.id: debater for debater in debaters}
    for wanted in new_models:
        if wanted not in by_id:
            raise UsageError(f"No debater '{wanted}' to add. Known: {', '.join(by_id)}.")
    if begun is None:
        if new_models:
            raise UsageError(
                f"--new-model adds a debater to a run that has begun, and '{run_tag}' has not: leave it out; a new "
                "run includes all debaters of models.yaml."
            )
        return make_base(debaters), None
    from_the_beginning = {debater.id for debater in begun.debaters} - set(begun.added_debaters)
    for wanted in new_models:
        if wanted in from_the_beginning:
            raise UsageError(
                f"'{wanted}' has been a debater of run '{run_tag}' from the beginning; leave --new-model out."
            )
    newcomers = [wanted for wanted in dict.fromkeys(new_models) if wanted not in begun.added_debaters]
    later = {*begun.added_debaters, *newcomers}
    plan = make_base([debater for debater in debaters if debater.id not in later])
    for part in begun.parts:
        known = [by_id[debater_id] for debater_id in part if debater_id in by_id]
        plan = plan.with_part(plan_part(plan, known, git_commit))
    return plan, plan_part(plan, [by_id[id_] for id_ in newcomers], git_commit) if newcomers else None
