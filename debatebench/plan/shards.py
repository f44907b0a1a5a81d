"""A plan in shards: which debates belong to which, and what each shard may spend of what the run may. Pure."""

from __future__ import annotations

import heapq
from array import array
from collections.abc import Iterator, Sequence
from decimal import ROUND_DOWN, Decimal
from math import fsum, isnan

from debatebench.config.types import MemberConfig, RateLimits
from debatebench.journal.shards import Shard
from debatebench.plan.estimate import CostEstimate
from debatebench.plan.judge_calls import JudgeCalls
from debatebench.plan.plan import Plan, Role
from debatebench.shared.errors import UsageError

_SMALLEST_SHARE = Decimal("1e-12")


def expected_use(plan: Plan, expected: CostEstimate) -> Iterator[tuple[int, float | None]]:
    """The calls and the USD that each debate is expected to take; no USD if the price of any member is unknown.

    A call of a member costs what its calls in the whole plan cost on average.
    """
    mean = {
        (member.role, member.id): None if member.cost_usd is None else float(member.cost_usd) / member.calls
        for member in expected.members
        if member.calls
    }
    is_priced = None not in mean.values()
    judge_calls, rounds = JudgeCalls(plan), [turn.role for turn in plan.config.rounds]
    for debate in plan.debates:
        speakers = debate.speakers
        asked: list[tuple[Role, str, int]] = [("debater", speakers[role], 1) for role in rounds if speakers]
        asked += [("judge", judge_id, len(judge_calls.of(debate, judge_id).calls)) for judge_id in debate.panel]
        cost = fsum(times * (mean.get((role, id_)) or 0.0) for role, id_, times in asked) if is_priced else None
        yield sum(times for _, _, times in asked), cost


def cut(calls: Sequence[int], costs: Sequence[float], count: int) -> array[int]:
    """The number of the shard, from 1 to `count`, to which each debate of a plan belongs.

    A debate weighs its share of all calls plus its share of the whole cost, if that is known. The heaviest come first,
    and each goes to the shard that has the least so far. So two shards differ by at most the weight of one debate.
    """
    weights = _weights(calls, costs)
    shards = array("l", bytes(array("l").itemsize * len(weights)))
    loads = [(0.0, number) for number in range(1, count + 1)]
    for place in sorted(range(len(weights)), key=weights.__getitem__, reverse=True):
        load, number = loads[0]
        shards[place] = number
        heapq.heapreplace(loads, (load + weights[place], number))
    return shards


def _weights(calls: Sequence[int], costs: Sequence[float]) -> list[float]:
    all_calls, all_cost = sum(calls) or 1, fsum(costs)
    if isnan(all_cost) or all_cost <= 0:
        return [count / all_calls for count in calls]
    return [count / all_calls + cost / all_cost for count, cost in zip(calls, costs, strict=True)]


def share_of(calls: Sequence[int], costs: Sequence[float], shards: Sequence[int], number: int) -> Decimal:
    """The part of the expected cost that a shard takes, or of the calls, where no cost is known; rounded down."""
    measure: Sequence[float] = costs if fsum(costs) > 0 else calls
    own = fsum(each for each, shard in zip(measure, shards, strict=True) if shard == number)
    whole = fsum(measure)
    return Decimal(own / whole).quantize(_SMALLEST_SHARE, rounding=ROUND_DOWN) if whole else Decimal(0)


def with_limits_of(members: Sequence[MemberConfig], shard: Shard) -> tuple[MemberConfig, ...]:
    """The members with the part of their limits that a shard may use, so that all shards together keep to them.

    Raises `UsageError` for a limit that is smaller than the number of shards.
    """
    return tuple(
        member.model_copy(
            update={
                "limits": _part(member.limits, shard, f"'{member.id}'"),
                "provider_limits": _part(member.provider_limits, shard, f"'{member.provider}'"),
            }
        )
        for member in members
    )


def _part(limits: RateLimits, shard: Shard, whose: str) -> RateLimits:
    part = {}
    for name, limit in limits:
        if limit is None:
            continue
        if limit < shard.count:
            raise UsageError(
                f"{name} of {whose} is {limit:,}, which {shard.count} shards cannot share: cut the plan into at most "
                f"{limit:,} shards, or raise the limit if each shard has a key of its own."
            )
        part[name] = limit // shard.count + (shard.number <= limit % shard.count)
    return limits.model_copy(update=part)
