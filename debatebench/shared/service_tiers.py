"""The tiers in which providers serve requests, at prices of their own: flex, priority, batch and the usual one."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from debatebench.shared.amounts import counted

STANDARD_TIERS = frozenset({"auto", "default", "on_demand", "standard"})
"""The names that providers give to the tier of requests that ask for no other."""


def tier_name(tier: str | None) -> str:
    """A tier by one name; no tier is the standard one."""
    name = (tier or "standard").lower()
    return "standard" if name in STANDARD_TIERS else name


def asked_tier(parameters: Any) -> str | None:
    """The tier that a member's parameters ask for."""
    tier = parameters.get("service_tier") if isinstance(parameters, Mapping) else None
    return tier if isinstance(tier, str) else None


def served_otherwise(
    asked: Mapping[str, str | None], served: Mapping[tuple[str, str], int]
) -> Iterator[tuple[str, str]]:
    """(member, what happened) where requests were served in another tier than they asked for.

    `asked` is the tier by member, `served` how many attempts of a member were served in a tier.
    """
    for (member_id, tier), count in sorted(served.items()):
        wanted = tier_name(asked.get(member_id))
        if tier_name(tier) != wanted:
            yield (
                member_id,
                f"{counted(count, 'attempt')} of '{member_id}' asked for the tier '{wanted}' and "
                f"{'was' if count == 1 else 'were'} served in '{tier}', at whose prices "
                f"{'it counts' if count == 1 else 'they count'}.",
            )
