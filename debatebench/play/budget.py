"""The costs of a run, known and possible, and whether the next request fits its limit."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from decimal import Decimal
from typing import Any

from debatebench.config.types import MemberConfig
from debatebench.plan.estimate import format_tokens
from debatebench.plan.plan import Plan
from debatebench.providers import is_simulated
from debatebench.providers.base import Request
from debatebench.providers.prices import as_bound, most_of
from debatebench.providers.sent_schema import length_sent
from debatebench.shared.amounts import amount_text, counted
from debatebench.shared.errors import UsageError
from debatebench.shared.service_tiers import asked_tier

MAY_HAVE_BEEN_BILLED = frozenset({"answered", "empty", "refused", "oversize", "ambiguous"})
"""Statuses of attempts that may have been billed: nothing proves that nothing was generated (`failure_tables.py`)."""

SIMULATED = "simulated"

AttemptKey = tuple[str, int]
"""A call's id and the number of the attempt."""


def largest_cost(request: Request, member: MemberConfig) -> Decimal | None:
    """The most that one attempt at `request` can cost in USD, at the member's prices; None when there is no bound.

    A token of the usual tokenizers holds at least one byte of UTF-8, so the prompt has at most as many tokens as bytes;
    the completion is assumed to use its whole token limit, in the dearest tier that has a price. Without a price or a
    token limit there is no bound; a simulated member costs nothing unless it has a price.
    """
    if member.pricing is None and is_simulated(member.provider):
        return Decimal(0)
    if member.pricing is None or request.max_tokens is None:
        return None
    size = sum(_bytes_in(message.content) for message in request.messages) + format_tokens(len(request.messages))
    if request.json_schema is not None:
        size += length_sent(request.json_schema)
    return as_bound(most_of(member, size, request.max_tokens))


def _bytes_in(text: str) -> int:
    return len(text) if text.isascii() else len(text.encode("utf-8", "surrogatepass"))


@dataclass(slots=True)
class Spending:
    """USD, separated by how well the amounts are known. Unknown costs are counted, never treated as 0."""

    billed: Decimal = field(default_factory=Decimal)
    """What providers report as billed."""
    estimated: Decimal = field(default_factory=Decimal)
    """Tokens that providers counted, at the configured price."""
    simulated: Decimal = field(default_factory=Decimal)
    """What simulated members would have cost at their made-up prices; nobody is billed for it."""
    unknown: int = 0
    """Attempts that may have been billed at an unknown cost: ambiguous ones, and answers without figures."""
    possible: Decimal = field(default_factory=Decimal)
    """The most that the unknown ones can cost, as far as they have a bound."""
    unbounded: int = 0
    """The unknown ones without a bound."""

    @property
    def known(self) -> Decimal:
        """Billed, estimated and simulated together."""
        return self.billed + self.estimated + self.simulated

    @property
    def largest(self) -> Decimal:
        """The most that was spent, not counting unbounded attempts."""
        return self.known + self.possible

    def add_unknown(self, bound: Decimal | None) -> None:
        """Count an attempt of unknown cost, unless it cannot have cost anything."""
        if bound == 0:
            return
        self.unknown += 1
        if bound is None:
            self.unbounded += 1
        else:
            self.possible += bound

    def add(self, status: str, cost: Decimal | None, cost_source: str | None, bound: Decimal | None) -> None:
        """Count an attempt that has ended."""
        if cost is not None and cost_source == "billed":
            self.billed += cost
        elif cost is not None and cost_source == SIMULATED:
            self.simulated += cost
        elif cost is not None:
            self.estimated += cost
        elif status in MAY_HAVE_BEEN_BILLED or bound is not None:
            self.add_unknown(bound)

    def summary(self, *, is_simulated: bool = False) -> str:
        """The figures in a sentence or two; `is_simulated` says that all members of the run are."""
        billed, estimated = amount_text(self.billed), amount_text(self.estimated)
        text = f"{billed} USD billed, {estimated} USD estimated from tokens and prices"
        if is_simulated:
            text = f"{amount_text(self.simulated)} USD of simulated cost"
        elif self.simulated:
            text += f", {amount_text(self.simulated)} USD simulated"
        if not self.unknown:
            return f"{text}, with no unknown costs."
        what = "had an unknown cost" if is_simulated else "may have been billed at an unknown cost"
        text += f"; {counted(self.unknown, 'attempt')} {what}"
        if self.unbounded == self.unknown:
            return f"{text}, and no price or token limit bounds that cost."
        text += f", at most {amount_text(self.possible)} USD"
        return (
            f"{text}, not counting {counted(self.unbounded, 'attempt')} without an upper bound."
            if self.unbounded
            else f"{text}."
        )


class Ledger:
    """The costs of one run over all its sessions: settled attempts and open ones.

    An attempt is open from its intent to its outcome, and stays open when its process died in between. With a `limit`,
    `fits` says whether another attempt can exceed it in the worst case.
    """

    def __init__(self) -> None:
        self.limit: Decimal | None = None
        self.settled = Spending()
        self.answered = 0
        """The attempts that were answered."""
        self.served: Counter[tuple[str, str]] = Counter()
        """The attempts of each member by the tier in which they were served, where the provider says it."""
        self._open: dict[AttemptKey, Decimal | None] = {}
        self._open_total = Decimal(0)
        self._in_flight: set[AttemptKey] = set()
        self._waiting: list[asyncio.Future[None]] = []

    @property
    def total(self) -> Spending:
        """Everything except attempts in flight. An attempt whose process died counts as unknown: it may be billed."""
        spent = self.settled
        total = replace(spent)
        for key, bound in list(self._open.items()):
            if key not in self._in_flight:
                total.add_unknown(bound)
        return total

    @property
    def in_flight(self) -> int:
        """Open attempts of this session, which will be settled."""
        return len(self._in_flight)

    @property
    def left(self) -> Decimal | None:
        """The USD that another attempt may cost; None without a limit."""
        if self.limit is None:
            return None
        return self.limit - self.settled.largest - self._open_total

    def fits(self, bound: Decimal | None) -> bool:
        """Whether an attempt of this largest cost stays within the limit, whatever the open attempts cost."""
        return self.left is None or (bound is not None and bound <= self.left)

    def sent(self, key: AttemptKey, bound: Decimal | None) -> None:
        """Record that an attempt of this session is sent."""
        self.seen(key, bound)
        self._in_flight.add(key)

    def seen(self, key: AttemptKey, bound: Decimal | None) -> None:
        """Record an attempt that an earlier session sent."""
        self._open[key] = bound
        self._open_total += bound or 0

    def settle(
        self, key: AttemptKey, status: str, cost: Decimal | None, cost_source: str | None, bound: Decimal | None
    ) -> None:
        """Record the end of an attempt and wake the tasks that wait for `changed`."""
        self._open_total -= self._open.pop(key, None) or 0
        self._in_flight.discard(key)
        self.answered += status == "answered"
        self.settled.add(status, cost, cost_source, bound)
        self.wake()

    def serve(self, member_id: str, tier: str | None) -> None:
        """Count an attempt by the tier in which it was served."""
        if tier is not None:
            self.served[member_id, tier] += 1

    def mend(self, before: Iterable[dict[str, Any]], now: Iterable[dict[str, Any]]) -> None:
        """Put other costs in the place of those of settled attempts, given as rows of `raw.calls`."""
        for rows, sign in ((before, -1), (now, 1)):
            added = Spending()
            for row in rows:
                added.add(row["status"], *_costs_of(row))
            for name in ("billed", "estimated", "simulated", "unknown", "possible", "unbounded"):
                setattr(self.settled, name, getattr(self.settled, name) + sign * getattr(added, name))

    async def changed(self) -> None:
        """Wait until an attempt is settled or `wake` is called."""
        waiter: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.append(waiter)
        await waiter

    def wake(self) -> None:
        """Make all waiting tasks check again."""
        waiting, self._waiting = self._waiting, []
        for waiter in waiting:
            if not waiter.done():
                waiter.set_result(None)


def check_affordable(plan: Plan) -> None:
    """Raise `UsageError` where the largest cost of a request is unknown before it is sent.

    Providers report the billed cost only with the answer; so a price must be known, and a token limit.
    """
    asked = [(debater, [turn.token_cap(debater) for turn in plan.config.rounds]) for debater in plan.debaters]
    asked += [(judge, [judge.token_limit]) for judge in plan.asked_judges]
    for member, caps in asked:
        if member.pricing is None:
            if is_simulated(member.provider):
                continue
            raise UsageError(
                f"--max-cost needs to know the cost of a request, but the price of '{member.id}' is unknown: give it "
                "`pricing` (USD per token)."
            )
        if member.pricing.of_tier(tier := asked_tier(member.parameters)) is None:
            raise UsageError(
                f"--max-cost needs to know the cost of a request, but '{member.id}' asks for the tier '{tier}', whose "
                f"prices are unknown: give its `pricing` an entry `tiers: {{{tier}: …}}`."
            )
        if None in [member.sent_cap(cap) for cap in caps]:
            if None not in caps:
                raise UsageError(
                    f"--max-cost needs to know the cost of a request, but the parameters of '{member.id}' remove the "
                    "limit on the length of its answers: leave out `max_tokens: null`."
                )
            raise UsageError(
                f"--max-cost needs to know the cost of a request, but '{member.id}' has no limit on the length of its "
                "answers: give it a `token_limit`."
            )


def source_of_cost(provider: str, cost_source: str | None) -> str | None:
    """Where a cost comes from, in the words of a report: records call the made-up cost of a simulated member billed."""
    return SIMULATED if cost_source is not None and is_simulated(provider) else cost_source


def settle_rows(ledger: Ledger, rows: Iterable[dict[str, Any]]) -> None:
    """Settle the attempts that the rows of `raw.calls` in a journalled outcome describe."""
    for row in rows:
        ledger.settle(
            (row["call_id"], row["attempt"]),
            row["status"],
            *_costs_of(row),
        )
        ledger.serve(row.get("model_id") or row["judge_id"], row.get("service_tier"))


def _costs_of(row: dict[str, Any]) -> tuple[Decimal | None, str | None, Decimal | None]:
    """The cost in a row of `raw.calls`, where it comes from, and the most that it can be."""
    source = source_of_cost(row["provider"], row.get("cost_source"))
    return money(row.get("cost")), source, money(row.get("possible_cost"))


def money(value: Any) -> Decimal | None:
    """An amount as stored in the journal."""
    return None if value is None else Decimal(value)
