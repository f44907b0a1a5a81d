"""What an answer costs: as the provider billed it, else from its tokens and the prices of the tier that served it."""

from __future__ import annotations

from decimal import ROUND_CEILING, Decimal
from typing import NamedTuple

from debatebench.config.types import MemberConfig, PriceList, Pricing
from debatebench.providers.base import Completion
from debatebench.shared.records import MOST_MONEY, CostSource
from debatebench.shared.service_tiers import asked_tier

_FINEST = Decimal("1e-18")
# Anthropic's cache for an hour, the dearest of any provider. For five minutes it is 1.25 (its documentation, 2026).
_DEAREST_CACHE_WRITE = 2


class Cost(NamedTuple):
    """USD of an answer and where the amount comes from; or None, and the reason why it is not known."""

    usd: Decimal | None = None
    source: CostSource | None = None
    reason: str | None = None


def cost_of(completion: Completion, member: MemberConfig) -> Cost:
    """USD of an answer: as the provider billed it, else from the configured prices, else unknown (None, never 0)."""
    if completion.cost is not None:
        return Cost(completion.cost, "billed")
    return priced(completion, member.pricing)


def priced(completion: Completion, pricing: Pricing | None) -> Cost:
    """USD of an answer at these prices; unknown without one for each kind of token that it has.

    A provider that reports no cached tokens is taken to have cached none, and one that reports no tier to have served
    the standard one. Thinking has the price of the completion unless it has its own.
    """
    if pricing is None:
        return Cost(reason="no price")
    prices = pricing.of_tier(completion.service_tier)
    if prices is None:
        return Cost(reason=f"no price of the tier '{completion.service_tier}'")
    if completion.prompt_tokens is None or completion.completion_tokens is None:
        return Cost(reason="no usage")
    cached, written = completion.cached_tokens or 0, completion.cache_write_tokens or 0
    thinking = completion.reasoning_tokens or 0 if prices.reasoning is not None else 0
    cost = prices.request + (completion.prompt_tokens - cached - written) * prices.prompt
    cost += (completion.completion_tokens - thinking) * prices.completion
    parts = (
        (cached, prices.cached_prompt, "cached_prompt"),
        (written, prices.cache_write, "cache_write"),
        (thinking, prices.reasoning, "reasoning"),
        (completion.audio_tokens or 0, None, "audio"),
    )
    for tokens, price, kind in parts:
        if tokens and price is None:
            return Cost(reason=f"no price of {kind} tokens")
        if tokens and price is not None:
            cost += tokens * price
    # An amount larger than any column holds comes from implausible token counts.
    return Cost(cost, "estimated") if cost <= MOST_MONEY else Cost(reason="more tokens than can be priced")


def most_of(member: MemberConfig, prompt_tokens: int, completion_tokens: int, requests: int = 1) -> Decimal | None:
    """The most USD that so many tokens can cost, in whichever tier, cached or not; None without a price.

    Where the price of writing to the cache is not known and the member's parameters ask for it, it is taken to be the
    dearest of any provider.
    """
    if member.pricing is None or member.pricing.of_tier(asked_tier(member.parameters)) is None:
        return None
    return max(
        requests * prices.request
        + prompt_tokens * max(prices.prompt, prices.cached_prompt or 0, _cache_write(prices, member))
        + completion_tokens * max(prices.completion, prices.reasoning or 0)
        for prices in member.pricing.lists
    )


def bound_of(completion: Completion, member: MemberConfig, most: Decimal | None) -> Decimal | None:
    """The most that an answer of unknown cost can have cost, where the attempt could cost `most`; None without a bound.

    Its tokens, where they are known, bound it more closely. But what it reports may also show that something was billed
    at a price that is not known and not counted in either.
    """
    if member.pricing is None:
        return most
    prices = member.pricing.of_tier(completion.service_tier)
    if prices is None or completion.audio_tokens:
        return None
    if completion.cache_write_tokens and prices.cache_write is None and not _asks_to_cache(member):
        return None
    if completion.prompt_tokens is None or completion.completion_tokens is None:
        return most
    of_tokens = most_of(member, completion.prompt_tokens, completion.completion_tokens)
    bounds = [bound for bound in (most, as_bound(of_tokens)) if bound is not None]
    return min(bounds, default=None)


def as_bound(cost: Decimal | None) -> Decimal | None:
    """An amount as records keep a bound: rounded up; None for more than a column can hold."""
    return None if cost is None or cost > MOST_MONEY else cost.quantize(_FINEST, ROUND_CEILING)


def _cache_write(prices: PriceList, member: MemberConfig) -> Decimal:
    if prices.cache_write is not None:
        return prices.cache_write
    return prices.prompt * _DEAREST_CACHE_WRITE if _asks_to_cache(member) else prices.prompt


def _asks_to_cache(member: MemberConfig) -> bool:
    return "cache_control" in member.parameters
