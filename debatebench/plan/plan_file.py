"""A frozen plan as a file: written once, and played whole or in shards on any machine.

It holds all that playing needs: configuration, prompts, debaters and judges with their prices and limits, topics, every
debate, and of stored debates what their plan freezes. It holds no key and no speech.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable, Iterator, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

from debatebench.config.types import MemberConfig, RateLimits
from debatebench.journal.lines import encode_line
from debatebench.journal.plan_lines import NO_COPY, PLAN_FORMAT, PlanLines, damaged_plan, newer_plan, read_plan_lines
from debatebench.journal.reading import is_of_shard
from debatebench.journal.shards import Shard, plan_in, read_header, sha256_of
from debatebench.plan.attacks import AttackedCopy
from debatebench.plan.estimate import CostEstimate
from debatebench.plan.plan import Plan, PlannedShard, begun_plan
from debatebench.plan.plan_records import run_records
from debatebench.plan.shards import cut, expected_use, share_of, with_limits_of
from debatebench.plan.source import SourceDebate
from debatebench.providers import is_simulated
from debatebench.shared.errors import UsageError
from debatebench.shared.files import make_folder, not_written, replacing_file
from debatebench.shared.json_bytes import from_json
from debatebench.shared.records import Record, Run, ScheduledDebate

# How a member is played, which a plan as JSON leaves out.
_LIMITS = ("timeout", "limits", "provider_limits")
_NEVER = datetime(1970, 1, 1)


def write_plan(path: Path, plan: Plan, expected: CostEstimate) -> None:
    """Write a plan to `path`. Equal plans give equal bytes.

    Raises `UsageError` if the file holds something else, for shards of that may be playing.
    """
    try:
        make_folder(path.parent)
        with replacing_file(path) as new:
            with open(new, "xb") as file:
                crc = 0
                for number, data in enumerate(_lines(plan, expected), 1):
                    line, crc = encode_line(number, crc, data)
                    file.write(line)
            if os.path.lexists(path) and (not path.is_file() or sha256_of(path) != sha256_of(new)):
                raise UsageError(f"{path} exists and holds something else: name another file, or move it elsewhere.")
    except OSError as error:
        raise not_written(path, error) from error


def _lines(plan: Plan, expected: CostEstimate) -> Iterator[dict[str, Any]]:
    """What each line holds: the plan, the stored debates that it judges, its debates."""
    source, stored = plan.source, () if plan.source is None else plan.source.debates
    update: dict[str, Any] = {"debates": (), "copies": {}}
    if source is not None:
        update["source"] = type(source)(run_tag=source.run_tag, debaters=source.debaters, debates=())
    head = plan.model_copy(update=update)
    yield {
        "type": "plan",
        "format": PLAN_FORMAT,
        "run_tag": plan.run_tag,
        "debates": len(plan.debates),
        "stored": len(stored),
        "plan": head.to_json(),
        "limits": {"debater": _limits(plan.debaters), "judge": _limits(plan.judges)},
        "records": _records(head),
    }
    for each in stored:
        yield {"type": "stored", "debate": each.model_dump(mode="json")}
    for debate, (calls, cost) in zip(plan.debates, expected_use(plan, expected), strict=True):
        line: dict[str, Any] = {"type": "debate", "row": debate.model_dump(mode="json"), "calls": calls, "cost": cost}
        if (copy := plan.copies.get(debate.debate_id)) is not None:
            line["copy"] = copy.model_dump(mode="json")
        yield line


def _limits(members: Iterable[MemberConfig]) -> dict[str, dict[str, Any]]:
    """How members are played, where that is not the usual way."""
    found = {}
    for member in members:
        usual = MemberConfig.model_fields
        own = {name: getattr(member, name) for name in _LIMITS if getattr(member, name) != usual[name].default}
        if own:
            found[member.id] = {
                name: value.model_dump(exclude_none=True) if isinstance(value, RateLimits) else value
                for name, value in own.items()
            }
    return found


def _records(plan: Plan) -> dict[str, list[dict[str, Any]]]:
    """The rows that follow from the plan, but for the schedule; when the run begins is not known yet."""
    members = (*plan.debaters, *plan.judges)
    simulated = {member.provider for member in members if is_simulated(member.provider)}
    rows: dict[str, list[dict[str, Any]]] = {}
    for record in run_records(plan, _NEVER, simulated):
        rows.setdefault(record.table, []).append(_row(record))
    return rows


def _row(record: Record) -> dict[str, Any]:
    exclude = {"created_at"} if isinstance(record, Run) else None
    return record.model_dump(mode="json", exclude=exclude, exclude_defaults=True)


def read_plan(path: Path, shard: Shard | None = None) -> Plan:
    """The plan of a file, or of one shard of it: its debates and stored debates, and its part of all limits.

    Memory grows with the number of its own debates. Raises `UsageError` for a file that is no plan, or that cannot be
    cut in this way; `NewerDataError` for a plan of another version; `DamagedDataError` for one that was changed.
    """
    lines = read_plan_lines(path)
    try:
        return _whole(lines) if shard is None else _part(lines, shard)
    except UsageError:
        raise
    except ValueError as error:
        raise newer_plan(path) from error


def plan_of_journal(path: Path, header_plan: Any, parts: Iterable[Any]) -> Plan:
    """The plan of a run that has begun: that in the header of its journal with its parts, or that beside its shards."""
    if is_of_shard(path):
        return read_plan(plan_in(path.parent), read_header(path).shard)
    return begun_plan(path, header_plan, parts)


def _whole(lines: PlanLines) -> Plan:
    return _plan(lines, range(len(lines.places)))


def _part(lines: PlanLines, shard: Shard) -> Plan:
    if shard.count > len(lines.places):
        raise UsageError(
            f"The plan {lines.path} has {len(lines.places):,} debates, which cannot be cut into {shard.count:,} shards."
        )
    shards = cut(lines.calls, lines.costs, shard.count)
    plan = _plan(lines, (place for place, number in enumerate(shards) if number == shard.number))
    share = share_of(lines.calls, lines.costs, shards, shard.number)
    return plan.model_copy(
        update={
            "debaters": with_limits_of(plan.debaters, shard),
            "judges": with_limits_of(plan.judges, shard),
            "shard": PlannedShard(shard, lines.sha256, len(lines.places), share),
        }
    )


def _plan(lines: PlanLines, numbers: Iterable[int]) -> Plan:
    """The plan with the debates of these numbers."""
    debates, copies, wanted = [], {}, set()
    for line in lines.debates(numbers):
        debate = ScheduledDebate.model_validate(from_json(bytes(line.row)))
        debates.append(debate)
        wanted.add(debate.source_debate_id)
        if line.copy != NO_COPY:
            copies[debate.debate_id] = AttackedCopy.model_validate(from_json(bytes(line.copy)))
    plan = Plan.from_json(lines.head.plan)
    source = plan.source
    if source is not None:
        stored = (SourceDebate.model_validate(from_json(bytes(line.debate))) for line in lines.stored())
        own = tuple(debate for debate in stored if debate.debate_id in wanted)
        source = type(source)(run_tag=source.run_tag, debaters=source.debaters, debates=own)
        wanted -= {debate.debate_id for debate in own}
    _check_names(lines.path, plan, debates, wanted - {None})
    limits = lines.head.limits
    return Plan(
        **{
            **{name: getattr(plan, name) for name in Plan.model_fields},
            "debates": tuple(debates),
            "copies": copies,
            "source": source,
            "debaters": _with_limits(plan.debaters, limits.get("debater", {})),
            "judges": _with_limits(plan.judges, limits.get("judge", {})),
        }
    )


def _check_names(path: Path, plan: Plan, debates: Sequence[ScheduledDebate], unknown: Collection[str | None]) -> None:
    """Raise `DamagedDataError` for a debate of a topic, debater, judge or stored debate that the plan does not have."""
    topics, debaters, judges = (
        {entry.id for entry in entries} for entries in (plan.topics, plan.debaters, plan.judges)
    )
    for debate in debates:
        is_known = debate.topic_id in topics and debaters.issuperset(debate.speakers.values())
        if debate.source_debate_id in unknown or not is_known or not judges.issuperset(debate.panel):
            raise damaged_plan(path, f"debate '{debate.debate_id}' has a topic, debater or judge that is not in it")


def _with_limits(members: Iterable[MemberConfig], limits: dict[str, dict[str, Any]]) -> tuple[MemberConfig, ...]:
    found = []
    for member in members:
        own = {**dict(member), **limits.get(member.id, {})}
        found.append(MemberConfig(**own) if member.id in limits else member)
    return tuple(found)
