"""What differs between the plan with which a run began and the plan of today: in words, and what of it is allowed."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import Any

from pydantic import BaseModel

from debatebench.config.types import MemberConfig
from debatebench.plan.plan import MemberChange, Plan, Role
from debatebench.shared.amounts import listed
from debatebench.shared.config_sections import ConfigSections, config_sections
from debatebench.shared.records import ScheduledDebate

# Prompts in the config are compared as the templates made from them.
_COMPARED_AS_PROMPTS = {"system_prompt_pro", "system_prompt_con", "judge_system_prompt"}
# Compared one by one, as a list.
_LISTS = {"weaknesses"}


def plan_differences(old: Plan, new: Plan) -> list[str]:
    """One entry per thing that differs, such as `topics (t003 added)`, `seed (1, was 2)` or `judge prompt default`.

    The versions of the harness are not compared: a newer version may continue a run of an older one.
    """
    before, now = (_config_sections(plan) for plan in (old, new))
    found = [
        *_changed_fields({"run tag": old.run_tag}, {"run tag": new.run_tag}),
        *_changed_fields(before.settings, now.settings),
        *_changed_list("rounds", before.rounds, now.rounds),
        *_changed_list("dimensions", before.dimensions, now.dimensions),
        *_changed_list("topics", _by_id(old.topics), _by_id(new.topics)),
        *_changed_list("weaknesses", _by_id(old.config.weaknesses), _by_id(new.config.weaknesses)),
        *_changed_list("debaters", _by_id(old.debaters), _by_id(new.debaters)),
        *_changed_list("judges", _by_id(old.judges), _by_id(new.judges)),
        *_changed_prompts(old, new),
        *_changed_list("attacks", _by_id(old.attacks), _by_id(new.attacks)),
        *_changed_fields(old.options.to_compare(), new.options.to_compare()),
    ]
    # A run keeps the orders that were drawn when it began.
    if not found and (_without_orders(old) != _without_orders(new) or old.copies != new.copies):
        found.append("schedule (this version of debatebench plans the same inputs differently)")
    return found


def _without_orders(plan: Plan) -> list[ScheduledDebate]:
    return [debate.model_copy(update={"con_first": ()}) for debate in plan.debates]


def _config_sections(plan: Plan) -> ConfigSections:
    return config_sections(plan.config.model_dump(mode="json", exclude=_COMPARED_AS_PROMPTS | _LISTS))


def _by_id(entries: Sequence[BaseModel]) -> dict[str, dict[str, Any]]:
    rows = [entry.model_dump(mode="json") for entry in entries]
    return {row["id"]: row for row in rows}


def _changed_fields(old: Mapping[str, Any], new: Mapping[str, Any]) -> Iterator[str]:
    """`name (now, was before)` of plain values."""
    for name, before in old.items():
        if new.get(name) != before:
            yield f"{name} ({_shown(new.get(name))}, was {_shown(before)})"


def _shown(value: Any) -> str:
    if value is None:
        return "none"
    if isinstance(value, bool):
        return "on" if value else "off"
    return str(value)


def _changed_list(name: str, old: Mapping[str, dict[str, Any]], new: Mapping[str, dict[str, Any]]) -> Iterator[str]:
    """`name (a added, b removed, c changed: field)`, or a note that only the order differs."""
    changes = [f"{key} added" for key in new if key not in old]
    changes += [f"{key} removed" for key in old if key not in new]
    for key in old:
        if key in new and old[key] != new[key]:
            fields = [field for field in {**old[key], **new[key]} if old[key].get(field) != new[key].get(field)]
            changes.append(f"{key} changed: {', '.join(fields)}")
    if not changes and list(old) != list(new):
        changes.append("in a different order")
    if changes:
        yield f"{name} ({listed(changes, 5, '; ')})"


def _asked_by(plan: Plan, template: str) -> tuple[bool, bool]:
    """Whether a judges' template asks for a winner, and for reasons."""
    style = template.removeprefix("judge_")
    return plan.prompts.declares_winner(style), plan.prompts.gives_reasons(template)


def _changed_prompts(old: Plan, new: Plan) -> Iterator[str]:
    """`judge prompt default`, `debater prompt pro` for every template whose text differs."""
    before, now = old.prompts.hashes(), new.prompts.hashes()
    for name in sorted({*before, *now}):
        if before.get(name) == now.get(name) and _asked_by(old, name) == _asked_by(new, name):
            continue
        role, which = ("judge", name[len("judge_") :]) if name.startswith("judge") else name.split("_", 1)
        what = " added" if name not in before else " removed" if name not in now else ""
        yield f"{role} prompt {which}{what}"


def allowed_changes(
    frozen: Plan, today: Plan, has_answered: Callable[[Role, str], bool], replaceable: Collection[str]
) -> list[MemberChange]:
    """The changes with which a run may go on.

    The whole entry may change while the run has no answer of the debater or judge. After that, `context_window` may,
    which changes no request, and `parameters` of those in `replaceable`.
    """
    found = [
        *_changed_members("debater", frozen.debaters, today.debaters),
        *_changed_members("judge", frozen.judges, today.judges),
    ]
    changes = []
    for role, before, entry in found:
        answered = has_answered(role, before.id)
        parameters = entry.parameters if before.id in replaceable else before.parameters
        may_be = {"parameters": parameters, "context_window": entry.context_window}
        if not answered or before.model_copy(update=may_be).model_dump() == entry.model_dump():
            changes.append(MemberChange(role=role, entry=entry, has_answered=answered))
    return changes


def _changed_members(
    role: Role, before: Sequence[MemberConfig], today: Sequence[MemberConfig]
) -> Iterator[tuple[Role, MemberConfig, MemberConfig]]:
    now = {member.id: member for member in today}
    for member in before:
        entry = now.get(member.id)
        if entry is not None and entry.model_dump() != member.model_dump():
            yield role, member, entry
