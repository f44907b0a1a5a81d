"""The expected calls and cost of a plan, before any request is sent."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from debatebench.config.types import MemberConfig, TopicConfig
    from debatebench.plan.plan import Plan
    from debatebench.shared.records import ScheduledDebate

__all__ = ["CHARACTERS_PER_TOKEN", "SPEECH_TOKENS", "CostEstimate", "MemberEstimate", "estimate"]

CHARACTERS_PER_TOKEN = 4
"""A rule of thumb for English text."""

SPEECH_TOKENS = 700
"""The assumed length of a speech, unless a lower limit applies."""

# Of a verdict: a name and a number per score, and the brackets around them.
_TOKENS_PER_SCORE = 8
_TOKENS_PER_VERDICT = 24


@dataclass(frozen=True, slots=True)
class MemberEstimate:
    """Expected calls of one debater or judge. Tokens are expected, not a bound; `cost_usd` is None without pricing."""

    role: Literal["debater", "judge"]
    id: str
    calls: int
    prompt_tokens: int
    completion_tokens: int
    cost_usd: Decimal | None


@dataclass(frozen=True, slots=True)
class CostEstimate:
    """The expected calls of a plan, by debater and judge. Retries, re-asks and hidden reasoning are not included."""

    debates: int
    turns: int
    verdicts: int
    members: tuple[MemberEstimate, ...]

    @property
    def calls(self) -> int:
        """Turns and verdicts."""
        return self.turns + self.verdicts

    @property
    def prompt_tokens(self) -> int:
        """Prompt tokens of all calls."""
        return sum(member.prompt_tokens for member in self.members)

    @property
    def completion_tokens(self) -> int:
        """Completion tokens of all calls."""
        return sum(member.completion_tokens for member in self.members)

    @property
    def unpriced(self) -> tuple[str, ...]:
        """Ids of the debaters and judges who will be asked and whose prices are unknown."""
        return tuple(sorted({m.id for m in self.members if m.cost_usd is None and m.calls}))

    @property
    def cost_usd(self) -> Decimal | None:
        """The cost of the priced members, which is the total if `unpriced` is empty; None when no price is known."""
        known = [member.cost_usd for member in self.members if member.cost_usd is not None]
        return sum(known, Decimal(0)) if known else None

    def table(self) -> tuple[list[str], list[list[Any]]]:
        """Column names, and one row per debater and judge."""
        columns = ["role", "id", "calls", "prompt_tokens", "completion_tokens", "cost_usd"]
        return columns, [[getattr(member, column) for column in columns] for member in self.members]

    def summary(self) -> str:
        """The totals in a sentence or two."""
        cost = "at an unknown cost" if self.cost_usd is None else f"for about {self.cost_usd:.4f} USD"
        text = (
            f"{self.debates} debates: {self.calls} calls ({self.turns} turns, {self.verdicts} verdicts), about "
            f"{self.prompt_tokens} prompt and {self.completion_tokens} completion tokens, {cost}."
        )
        if self.unpriced and self.cost_usd is not None:
            text += f" Not included, because they have no price: {', '.join(self.unpriced)}."
        return text


@dataclass(slots=True)
class _Use:
    """The use of one member so far."""

    calls: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0

    def add(self, prompt_tokens: int, completion_tokens: int) -> None:
        self.calls += 1
        self.prompt_tokens += prompt_tokens
        self.completion_tokens += completion_tokens


def estimate(plan: Plan) -> CostEstimate:
    """Calls, tokens and cost of a plan; the history in every prompt grows with the speeches before it."""
    debaters = {debater.id: _Use() for debater in plan.debaters}
    judges = {judge.id: _Use() for judge in plan.judges}
    verdict_tokens = _TOKENS_PER_VERDICT + 2 * len(plan.config.dimensions) * _TOKENS_PER_SCORE
    templates = {name: _tokens(text) for name, text in plan.prompts.templates.items()}
    rubric = 2 * sum(_tokens(name) + _tokens(d.description) for name, d in plan.config.dimensions.items())
    for debate in plan.debates:
        topic_tokens = _topic_tokens(plan.topic(debate.topic_id))
        said = 0
        for side, debater, speech in _speeches(plan, debate):
            prompt = templates[f"debater_{side}"] + templates["debater_turn"] + topic_tokens + said
            debaters[debater.id].add(prompt, speech)
            said += speech
        for judge_id in debate.panel:
            system = templates[f"judge_{plan.judge(judge_id).prompt_style}"]
            judges[judge_id].add(system + templates["judge_user"] + rubric + topic_tokens + said, verdict_tokens)
    return CostEstimate(
        debates=len(plan.debates),
        turns=len(plan.debates) * len(plan.config.rounds),
        verdicts=sum(len(debate.panel) for debate in plan.debates),
        members=(
            *(_member("debater", debater, debaters[debater.id]) for debater in plan.debaters),
            *(_member("judge", judge, judges[judge.id]) for judge in plan.judges),
        ),
    )


def _speeches(plan: Plan, debate: ScheduledDebate) -> Iterator[tuple[str, MemberConfig, int]]:
    """(side, debater, expected tokens) of every turn."""
    members = {"pro": plan.debater(debate.pro_model_id), "con": plan.debater(debate.con_model_id)}
    for turn in plan.config.rounds:
        debater = members[turn.role]
        yield turn.role, debater, min(turn.token_cap(debater) or SPEECH_TOKENS, SPEECH_TOKENS)


def _topic_tokens(topic: TopicConfig) -> int:
    return _tokens(topic.motion) + _tokens(topic.category) + _tokens(topic.info_slide)


def _tokens(text: str | None) -> int:
    return -(-len(text or "") // CHARACTERS_PER_TOKEN)


def _member(role: Literal["debater", "judge"], member: MemberConfig, use: _Use) -> MemberEstimate:
    cost = None
    if member.pricing is not None:
        exact = use.prompt_tokens * member.pricing.prompt + use.completion_tokens * member.pricing.completion
        cost = exact.quantize(Decimal("1e-6"))
    return MemberEstimate(role, member.id, use.calls, use.prompt_tokens, use.completion_tokens, cost)
