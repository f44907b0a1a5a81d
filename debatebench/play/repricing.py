"""Reads the stored replies of a run again for what they used, and prices them again. Nothing is sent or billed."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import astuple, dataclass, field, fields
from decimal import Decimal
from pathlib import Path
from typing import Any

from debatebench.config.types import MemberConfig, Pricing
from debatebench.journal.lines import Event
from debatebench.journal.writing import Journal
from debatebench.plan.plan import Plan
from debatebench.plan.plan_file import plan_of_journal
from debatebench.play.attempts import reply_of
from debatebench.play.budget import MAY_HAVE_BEEN_BILLED, money
from debatebench.providers import make_provider
from debatebench.providers.base import Completion, ProviderFailure
from debatebench.providers.prices import bound_of, cost_of
from debatebench.shared.records import to_money

_USED = (
    "prompt_tokens",
    "completion_tokens",
    "total_tokens",
    "cached_tokens",
    "cache_write_tokens",
    "reasoning_tokens",
    "service_tier",
)
_SUMMED = ("prompt_tokens", "completion_tokens", "total_tokens", "cost")
_COSTS = ("cost", "cost_source", "unpriced_reason", "possible_cost")

Place = tuple[int, int]
Member = tuple[str, str]
"""Role and id."""


@dataclass(frozen=True, slots=True)
class ChangedCosts:
    """The attempts of one debater or judge whose tokens or cost are read differently, and their known cost."""

    run_tag: str
    role: str
    id: str
    changed_attempts: int
    cost_before_usd: Decimal
    unpriced_before: int
    cost_now_usd: Decimal
    unpriced_now: int

    @classmethod
    def columns(cls) -> list[str]:
        """The names of the fields."""
        return [field.name for field in fields(cls)]

    def row(self) -> tuple[Any, ...]:
        """The values of the fields."""
        return astuple(self)


def reprice_run(
    journal_path: Path, price_of: Callable[[MemberConfig], Pricing | None] = lambda _: None
) -> list[ChangedCosts]:
    """Read what every stored reply of a run used, price it, and journal and list what this changes.

    `price_of` gives prices that are named now, and None for a member that keeps its own: those that it was priced with
    last. A cost that a provider reported stays as it is. A cost for which a price is missing becomes unknown.

    Raises `BusyError` while the run is being played and `DamagedDataError` for a damaged journal.
    """
    index = _Index()
    with Journal.open(journal_path, index.see) as journal:
        if index.plan is None:
            return []
        members = _members(plan_of_journal(journal_path, index.plan, index.parts), index, price_of)
        named = [
            index.members[key] | {"pricing": _frozen(each)}
            for key, each in members.items()
            if each.is_named or key in index.repriced
        ]
        changed: dict[str, list[tuple[dict[str, Any], dict[str, Any]]]] = {}
        for key, place in index.replies.items():
            if key not in index.rows:
                continue
            before = index.row(journal, key)
            now = _read_again(before, journal.read_at(*place), index.bounds.get(key), members[_member_of(before)])
            if _changes(before, now):
                changed.setdefault(before["debate_id"], []).append((before, now))
        tables = {"debaters": [row for row in named if "model_id" in row]}
        tables["judges"] = [row for row in named if "judge_id" in row]
        if any(index.members[_key_of(row)] != row for row in named):
            journal.append({"type": "outcome", "of": "prices", "records": tables})
        for debate_id, pairs in changed.items():
            # The debate first: if the process dies in between, its attempts still differ, and are priced again.
            if debate_id in index.debates:
                _mend_debate(journal, index, debate_id, [now for _, now in pairs])
            journal.append(
                {
                    "type": "outcome",
                    "of": "prices",
                    "debate_id": debate_id,
                    "records": {"calls": [now for _, now in pairs]},
                    "before": [before for before, _ in pairs],
                }
            )
    return list(_summary(pair for pairs in changed.values() for pair in pairs))


@dataclass(slots=True)
class _Index:
    """Where a journal holds the plan, the members, the replies, and the last rows of attempts and debates."""

    plan: Any = None
    parts: list[Any] = field(default_factory=list)
    members: dict[Member, dict[str, Any]] = field(default_factory=dict)
    """The last row of each debater and judge."""
    repriced: set[Member] = field(default_factory=set)
    """Those whose row has prices that were named later."""
    replies: dict[tuple[str, int], Place] = field(default_factory=dict)
    bounds: dict[tuple[str, int], Decimal | None] = field(default_factory=dict)
    rows: dict[tuple[str, int], tuple[Place, int]] = field(default_factory=dict)
    debates: dict[str, Place] = field(default_factory=dict)
    calls_of: dict[str, list[tuple[str, int]]] = field(default_factory=dict)

    def see(self, event: Event) -> None:
        """Process one event."""
        data, place = event.data, (event.offset, event.length)
        kind = data["type"]
        if kind == "header":
            self.plan = data["plan"]
        elif kind == "part":
            self.parts.append(data["part"])
        elif kind == "intent":
            self.bounds[data["call_id"], data["attempt"]] = money(data.get("possible_cost"))
        elif kind == "response":
            self.replies[data["call_id"], data["attempt"]] = place
        records = data.get("records", {})
        for row in (*records.get("debaters", ()), *records.get("judges", ())):
            self.members[_key_of(row)] = row
            if data.get("of") == "prices":
                self.repriced.add(_key_of(row))
        for number, row in enumerate(records.get("calls", ())):
            key = (row["call_id"], row["attempt"])
            if key not in self.rows:
                self.calls_of.setdefault(row["debate_id"], []).append(key)
            self.rows[key] = place, number
        if data.get("of") == "debate":
            self.debates[data["debate_id"]] = place

    def row(self, journal: Journal, key: tuple[str, int]) -> dict[str, Any]:
        """The last row of an attempt."""
        place, number = self.rows[key]
        row: dict[str, Any] = journal.read_at(*place)["records"]["calls"][number]
        return row


@dataclass(frozen=True, slots=True)
class _Priced:
    """A member with the prices that count now; `is_named` says that they are not those of the plan."""

    member: MemberConfig
    is_named: bool


def _members(plan: Plan, index: _Index, price_of: Callable[[MemberConfig], Pricing | None]) -> dict[Member, _Priced]:
    found = {}
    for role, members in (("debater", plan.debaters), ("judge", plan.judges)):
        for member in members:
            key = (role, member.id)
            pricing = price_of(member)
            if pricing is None and key in index.repriced:
                pricing = Pricing.model_validate(index.members[key]["pricing"])
            is_named = pricing is not None and pricing != member.pricing
            found[key] = _Priced(member.model_copy(update={"pricing": pricing}) if is_named else member, is_named)
    return found


def _frozen(priced: _Priced) -> Any:
    pricing = priced.member.pricing
    return None if pricing is None else pricing.model_dump(mode="json", exclude_defaults=True)


def _read_again(
    row: dict[str, Any], response: dict[str, Any], bound: Decimal | None, priced: _Priced
) -> dict[str, Any]:
    """The row of an attempt with what its reply used, and its cost."""
    member = priced.member
    try:
        used = make_provider(member, None).read(reply_of(response))
    except ProviderFailure as failure:
        used = failure.completion or Completion(text="")
    usd, source, reason = cost_of(used, member)
    cost = None if usd is None else to_money(usd)
    is_unpriced = cost is None and (row["status"] in MAY_HAVE_BEEN_BILLED or bool(used.text))
    # The request is not stored, so its bound is known at the prices of the plan only.
    could_cost = bound_of(used, member, None if priced.is_named else bound) if is_unpriced else None
    now = {
        **{name: getattr(used, name) for name in _USED},
        "cost": None if cost is None else str(cost),
        "cost_source": "repriced" if source == "estimated" and priced.is_named else source,
        "unpriced_reason": reason if is_unpriced else None,
        "possible_cost": None if could_cost is None else str(could_cost),
    }
    kept = {name: value for name, value in row.items() if name not in now}
    return {**kept, **{name: value for name, value in now.items() if value is not None}}


def _changes(before: dict[str, Any], now: dict[str, Any]) -> bool:
    return any(_plain(name, before.get(name)) != _plain(name, now.get(name)) for name in (*_USED, *_COSTS))


def _plain(name: str, value: Any) -> Any:
    """An amount as a number, because older journals write it with fewer decimals."""
    return money(value) if name in ("cost", "possible_cost") else value


def _mend_debate(journal: Journal, index: _Index, debate_id: str, changed: Iterable[dict[str, Any]]) -> None:
    """Journal a debate again, with what its turns and verdicts used according to the changed rows of attempts."""
    records = journal.read_at(*index.debates[debate_id])["records"]
    rows = {key: index.row(journal, key) for key in index.calls_of[debate_id]}
    rows |= {(row["call_id"], row["attempt"]): row for row in changed}
    answers = [row for row in rows.values() if row["status"] == "answered"]
    by_call = {row["call_id"]: row for row in answers}
    for turn in records.get("turns", ()):
        if (answer := by_call.get(turn.get("call_id"))) is not None:
            _take_over(turn, {name: answer.get(name) for name in (*_SUMMED, "cost_source")})
    for verdict in records.get("verdicts", ()):
        own = [row for row in answers if row.get("judge_id") == verdict["judge_id"]]
        if not own:
            continue
        sums: dict[str, Any] = {name: _sum(row.get(name) for row in own) for name in _SUMMED}
        sources = {row["cost_source"] for row in own if row.get("cost_source")}
        weakest = next((source for source in ("repriced", "estimated", "billed") if source in sources), None)
        _take_over(verdict, {**sums, "cost_source": weakest})
    journal.append({"type": "outcome", "of": "debate", "debate_id": debate_id, "by": "reparse", "records": records})


def _sum(values: Iterable[Any]) -> Any:
    """The sum of what is known, an amount of money as text."""
    known = [value for value in values if value is not None]
    if not known:
        return None
    return str(to_money(sum(map(Decimal, known), Decimal(0)))) if isinstance(known[0], str) else sum(known)


def _take_over(row: dict[str, Any], values: dict[str, Any]) -> None:
    for name, value in values.items():
        if value is None:
            row.pop(name, None)
        else:
            row[name] = value
    if row.get("cost") is None:
        row.pop("currency", None)
    else:
        row["currency"] = row.get("currency") or "USD"


def _member_of(row: dict[str, Any]) -> Member:
    return ("debater", row["model_id"]) if row["purpose"] == "turn" else ("judge", row["judge_id"])


def _key_of(row: dict[str, Any]) -> Member:
    return ("judge", row["judge_id"]) if "judge_id" in row else ("debater", row["model_id"])


def _summary(pairs: Iterable[tuple[dict[str, Any], dict[str, Any]]]) -> Iterator[ChangedCosts]:
    """What changed, by debater and judge."""
    by_member: dict[tuple[str, Member], list[tuple[dict[str, Any], dict[str, Any]]]] = {}
    for pair in pairs:
        by_member.setdefault((pair[0]["run_tag"], _member_of(pair[0])), []).append(pair)
    for (run_tag, (role, member_id)), own in sorted(by_member.items()):
        before, now = ([pair[side] for pair in own] for side in (0, 1))
        yield ChangedCosts(run_tag, role, member_id, len(own), *_known(before), *_known(now))


def _known(rows: Iterable[dict[str, Any]]) -> tuple[Decimal, int]:
    """The known cost of some attempts, and how many have none."""
    costs = [money(row.get("cost")) for row in rows]
    return sum((cost for cost in costs if cost is not None), Decimal(0)), costs.count(None)
