"""The plan of a run that has begun: as its journal holds it, and as today's inputs give it."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from debatebench.config.types import MemberConfig
from debatebench.journal.reading import events_of, has_begun, read_journal
from debatebench.plan.plan import Plan, PlanPart, begun_plan
from debatebench.plan.schedule import plan_part
from debatebench.shared.amounts import known_names
from debatebench.shared.errors import NewerDataError, UsageError
from debatebench.shared.visible_text import plain_name


def read_begun_plan(journal_path: Path) -> Plan | None:
    """The plan with which the run of this journal continues; None when it has not begun.

    Read-only: the run may be in progress. Raises `NewerDataError` for a plan that this version cannot read, and
    `DamagedDataError` if the journal is damaged.
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
        return begun_plan(journal_path, header, parts)
    except NewerDataError:
        # Unless a line is damaged, which is then the error.
        deque(read_journal(journal_path), maxlen=0)
        raise


def plan_of_today(
    run_tag: str,
    begun: Plan | None,
    debaters: Sequence[MemberConfig],
    judges: Sequence[MemberConfig],
    new_models: Sequence[str],
    new_judges: Sequence[str],
    make_base: Callable[[Sequence[MemberConfig], Sequence[MemberConfig]], Plan],
    git_commit: str | None,
) -> tuple[Plan, PlanPart | None]:
    """The plan that today's inputs give for a run, with the parts added so far, and the part that is to be added now.

    `make_base` plans the run as it began, from its original debaters and judges. Ids of `new_models` and `new_judges`
    that were added earlier have no effect. Raises `UsageError` for one that is unknown or was there from the beginning,
    and for a run that has not begun.
    """
    if begun is None:
        if new_models or new_judges:
            option, what = ("--new-model", "debater") if new_models else ("--new-judge", "judge")
            raise UsageError(
                f"{option} adds a {what} to a run that has begun, and '{run_tag}' has not: leave it out; a new run "
                f"includes every configured {what}."
            )
        return make_base(debaters, judges), None
    by_id, judges_by_id = _by_id(debaters), _by_id(judges)
    newcomers = _newcomers(new_models, by_id, begun.debaters, begun.added_debaters, "debater", "--new-model", run_tag)
    new = _newcomers(new_judges, judges_by_id, begun.judges, begun.added_judges, "judge", "--new-judge", run_tag)
    later, later_judges = {*begun.added_debaters, *newcomers}, {*begun.added_judges, *new}
    plan = make_base(
        [debater for debater in debaters if debater.id not in later],
        [judge for judge in judges if judge.id not in later_judges],
    )
    for part in begun.parts:
        known = [by_id[debater_id] for debater_id in part if debater_id in by_id]
        plan = plan.with_part(plan_part(plan, known, git_commit))
    if added := [judges_by_id[judge_id] for judge_id in begun.added_judges if judge_id in judges_by_id]:
        plan = plan.with_part(plan_part(plan, [], git_commit, added))
    if not newcomers and not new:
        return plan, None
    return plan, plan_part(plan, [by_id[id_] for id_ in newcomers], git_commit, [judges_by_id[id_] for id_ in new])


def _by_id(members: Sequence[MemberConfig]) -> dict[str, MemberConfig]:
    return {member.id: member for member in members}


def _newcomers(
    wanted: Sequence[str],
    known: Mapping[str, MemberConfig],
    begun: Sequence[MemberConfig],
    added: Sequence[str],
    what: str,
    option: str,
    run_tag: str,
) -> list[str]:
    """The ids that are to be added now; each once, and none that was added before."""
    from_the_beginning = {member.id for member in begun} - set(added)
    wanted = [plain_name(id_) for id_ in wanted]
    for id_ in wanted:
        if id_ not in known:
            raise UsageError(f"No {what} '{id_}' to add.{known_names(id_, known)}")
        if id_ in from_the_beginning:
            raise UsageError(f"'{id_}' has been a {what} of run '{run_tag}' from the beginning; leave {option} out.")
    return [id_ for id_ in dict.fromkeys(wanted) if id_ not in added]
