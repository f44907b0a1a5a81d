"""A plan in shards: every debate is in one shard, and the shards are alike; budgets and limits are divided."""

from __future__ import annotations

import random
from collections import Counter
from decimal import Decimal
from math import nan

import pytest

from debatebench.config.types import MemberConfig, RateLimits
from debatebench.journal.shards import Shard
from debatebench.plan.plan import PlannedShard
from debatebench.plan.shards import cut, share_of, with_limits_of
from debatebench.shared.errors import UsageError


def drawn_plan(seed: int) -> tuple[list[int], list[float], int]:
    """Calls and costs of the debates of some plan, and a number of shards."""
    rng = random.Random(seed)
    kinds = [
        (rng.randint(1, 40), rng.choice([0.0, rng.random() / 100, rng.random()])) for _ in range(rng.randint(1, 6))
    ]
    debates = [rng.choice(kinds) for _ in range(rng.randint(1, 400))]
    costs = [nan if seed % 5 == 0 else cost for _, cost in debates]
    return [calls for calls, _ in debates], costs, rng.randint(1, min(40, len(debates)))


@pytest.mark.parametrize("seed", range(60))
def test_every_debate_is_in_one_shard_and_shards_differ_by_one_debate_at_most(seed: int) -> None:
    calls, costs, count = drawn_plan(seed)
    shards = cut(calls, costs, count)
    assert len(shards) == len(calls)
    assert set(shards) <= set(range(1, count + 1))
    assert shards == cut(calls, costs, count)
    is_priced = sum(costs) > 0
    weights = [
        each / sum(calls) + (cost / sum(costs) if is_priced else 0.0) for each, cost in zip(calls, costs, strict=True)
    ]
    loads = Counter(dict.fromkeys(range(1, count + 1), 0.0))
    for weight, number in zip(weights, shards, strict=True):
        loads[number] += weight
    assert max(loads.values()) - min(loads.values()) <= max(weights) + 1e-9


@pytest.mark.parametrize("seed", range(60))
def test_the_shares_of_all_shards_are_the_whole_and_no_more(seed: int) -> None:
    calls, costs, count = drawn_plan(seed)
    shards = cut(calls, costs, count)
    shares = [share_of(calls, costs, shards, number) for number in range(1, count + 1)]
    assert Decimal(1) - count * Decimal("1e-11") <= sum(shares) <= 1
    parts = [
        PlannedShard(Shard(count, n), "", len(calls), share).of_cost(Decimal("0.1"))
        for n, share in enumerate(shares, 1)
    ]
    assert sum(parts) <= Decimal("0.1")


def test_equal_debates_are_dealt_out_evenly() -> None:
    assert Counter(cut([9] * 60, [0.5] * 60, 8)) == Counter({1: 8, 2: 8, 3: 8, 4: 8, 5: 7, 6: 7, 7: 7, 8: 7})


@pytest.mark.parametrize("limit", [8, 9, 15, 500])
def test_limits_of_all_shards_add_up_to_the_limit(limit: int) -> None:
    limits = RateLimits(max_concurrency=limit, requests_per_minute=limit, tokens_per_minute=limit * 1000)
    member = MemberConfig(id="a", provider="openai", model="m", limits=limits, provider_limits=limits)
    parts = [with_limits_of([member], Shard(8, number))[0] for number in range(1, 9)]
    for name, whole in limits:
        assert sum(getattr(part.limits, name) for part in parts) == whole
        assert sum(getattr(part.provider_limits, name) for part in parts) == whole
        assert min(getattr(part.limits, name) for part in parts) >= 1


def test_a_limit_below_the_number_of_shards_is_refused_by_name() -> None:
    member = MemberConfig(id="a", provider="openai", model="m", limits=RateLimits(requests_per_minute=5))
    with pytest.raises(UsageError, match="requests_per_minute of 'a' is 5, which 8 shards cannot share"):
        with_limits_of([member], Shard(8, 1))


@pytest.mark.parametrize("text", ["", "2", "0/8", "9/8", "2/0", "-1/2", "2/8/1", "a/b", "2 of 8", "١/٢"])
def test_what_names_no_shard_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match="is not a shard"):
        Shard.of(text)
