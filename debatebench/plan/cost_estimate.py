"""The calls and cost of a plan, before any request is sent: what is likely, and the most."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from decimal import Decimal
from typing import TYPE_CHECKING, Any, Literal

from debatebench.plan.prompt_sizes import PromptSize, PromptSizes, marker_length
from debatebench.plan.stored_use import StoredUse
from debatebench.providers import is_simulated

if TYPE_CHECKING:
    from debatebench.config.types import MemberConfig, Round
    from debatebench.plan.plan import Plan
    from debatebench.plan.stored_use import ByModel
    from debatebench.shared.records import ScheduledDebate

__all__ = ["CHARACTERS_PER_TOKEN", "CostEstimate", "Left", "MemberEstimate", "estimate"]

CHARACTERS_PER_TOKEN = 4
"""A rule of thumb for English text."""

# Without stored speeches: debaters are told their limit and to stay well below it, or to write some paragraphs.
_SHARE_OF_CAP = 0.5
_SPEECH_TOKENS = 450
# Simulated debaters have their own length.
_SIMULATED_TOKENS = 200
# Without stored answers of a model that thinks.
_SHARE_OF_THINKING = 0.5
# Tokens per character of any plausible text: stored prompts may have been made from other templates.
_FEWEST, _MOST = 1 / 6, 3.0

_MOST_IDS = 5

Role = Literal["debater", "judge"]


@dataclass(frozen=True, slots=True)
class Left:
    """What is left of a debate: its turns after the first `turns_done`, and the verdicts of `judges`."""

    turns_done: int
    judges: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class MemberEstimate:
    """Expected calls of one debater or judge. `cost_usd` is likely, `most_usd` the most; None where it is unknown."""

    role: Role
    id: str
    calls: int
    prompt_tokens: int
    completion_tokens: int
    cost_usd: Decimal | None
    most_usd: Decimal | None = None


@dataclass(frozen=True, slots=True)
class CostEstimate:
    """The expected calls of a plan, by debater and judge.

    Tokens and `cost_usd` are likely ones. `most_usd` is the cost if each call is answered once with its whole token
    limit; repeated calls come on top.
    """

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
        """The likely cost of the priced members: the total if `unpriced` is empty; None when no price is known."""
        known = [member.cost_usd for member in self.members if member.cost_usd is not None and member.calls]
        return sum(known, Decimal(0)) if known or not self.calls else None

    @property
    def most_usd(self) -> Decimal | None:
        """The most that all calls can cost; None when there is no bound."""
        bounds = [member.most_usd for member in self.members if member.calls]
        return None if None in bounds else sum((bound for bound in bounds if bound is not None), Decimal(0))

    def table(self) -> tuple[list[str], list[list[Any]]]:
        """Column names, and one row per debater and judge."""
        columns = ["role", "id", "calls", "prompt_tokens", "completion_tokens", "cost_usd", "most_usd"]
        return columns, [[getattr(member, column) for column in columns] for member in self.members]

    def costs(self) -> str:
        """Both figures in words."""
        likely = "unknown" if self.cost_usd is None else f"likely about {self.cost_usd:.4f} USD"
        most = f"at most {self.most_usd:.4f} USD" if self.most_usd is not None else self._why_unbounded()
        text = f"Cost: {likely}, {most}."
        if self.unpriced and self.cost_usd is not None:
            text += f" Not included, because they have no price: {', '.join(self.unpriced)}."
        return text

    def _why_unbounded(self) -> str:
        ids = sorted({member.id for member in self.members if member.calls and member.most_usd is None})
        more = f" and {len(ids) - _MOST_IDS} more" if len(ids) > _MOST_IDS else ""
        return f"without an upper bound (no price or token limit: {', '.join(ids[:_MOST_IDS])}{more})"

    def summary(self) -> str:
        """The totals in a few sentences."""
        return (
            f"{self.debates:,} debates: {self.calls:,} calls ({self.turns:,} turns, {self.verdicts:,} verdicts), about "
            f"{self.prompt_tokens:,} prompt and {self.completion_tokens:,} completion tokens. {self.costs()}"
        )


def estimate(
    plan: Plan, stored: StoredUse | None = None, left: Callable[[ScheduledDebate], Left] | None = None
) -> CostEstimate:
    """Calls, tokens and cost of a plan, or of what is `left` of it.

    Likely figures come from the stored answers of the same models, else of the others in the same role, else from
    the token limits. The prompts are those of the plan; the history in them grows with the speeches before.
    """
    return _Estimator(plan, (stored or StoredUse()).by_model()).estimate(left)


@dataclass(slots=True)
class _Use:
    """The use of one member so far. `most_*` are bounds; None if there is none."""

    calls: int = 0
    own: int = 0
    """Characters of the prompts without speeches."""
    history: float = 0.0
    """Characters of the speeches in the prompts."""
    completion_tokens: float = 0.0
    most_prompt: int | None = 0
    most_completion: int | None = 0

    def add(self, size: PromptSize, history: float, completion: float, most: int | None, cap: int | None) -> None:
        """Count a call; `most` bounds the tokens of the speeches in its prompt, `cap` those of its answer."""
        self.calls += 1
        self.own += size.characters
        self.history += size.repeats * history
        self.completion_tokens += completion
        self.most_prompt = _plus(self.most_prompt, None if most is None else size.most_tokens + size.repeats * most)
        self.most_completion = _plus(self.most_completion, cap)


@dataclass(slots=True)
class _Transcript:
    """The speeches so far: their likely characters, and the most tokens that they are."""

    characters: float = 0.0
    most_tokens: int | None = 0


@dataclass(slots=True)
class _Estimator:
    """Adds up the calls of a plan."""

    plan: Plan
    stored: ByModel
    debaters: dict[str, _Use] = field(default_factory=dict)
    judges: dict[str, _Use] = field(default_factory=dict)

    def estimate(self, left: Callable[[ScheduledDebate], Left] | None) -> CostEstimate:
        """See `estimate`."""
        plan, sizes = self.plan, PromptSizes(self.plan)
        self.debaters = {debater.id: _Use() for debater in plan.debaters}
        self.judges = {judge.id: _Use() for judge in plan.judges}
        verdicts = {judge.id: self._verdict_tokens(judge) for judge in plan.judges}
        speeches: dict[tuple[int, str], tuple[float, float]] = {}
        debates = 0
        for debate in plan.debates:
            rest = Left(0, debate.panel) if left is None else left(debate)
            if rest.turns_done >= len(plan.config.rounds) and not rest.judges:
                continue
            debates += 1
            said = self._speak(debate, rest, sizes, speeches)
            for judge_id in rest.judges:
                judge = plan.judge(judge_id)
                cap = judge.sent_cap(judge.token_limit)
                size = sizes.verdict(judge, debate.topic_id)
                self.judges[judge_id].add(size, said.characters, verdicts[judge_id], said.most_tokens, cap)
        return CostEstimate(
            debates=debates,
            turns=sum(use.calls for use in self.debaters.values()),
            verdicts=sum(use.calls for use in self.judges.values()),
            members=(
                *(self._member("debater", debater, self.debaters[debater.id]) for debater in plan.debaters),
                *(self._member("judge", judge, self.judges[judge.id]) for judge in plan.judges),
            ),
        )

    def _speak(
        self,
        debate: ScheduledDebate,
        rest: Left,
        sizes: PromptSizes,
        speeches: dict[tuple[int, str], tuple[float, float]],
    ) -> _Transcript:
        """Count the turns that are left of a debate, and return all of its speeches."""
        members = {side: self.plan.debater(debater_id) for side, debater_id in debate.speakers.items()}
        said = _Transcript()
        for number, turn in enumerate(self.plan.config.rounds):
            debater = members[turn.role]
            if (number, debater.id) not in speeches:
                speeches[number, debater.id] = self._speech(turn, debater)
            tokens, characters = speeches[number, debater.id]
            cap = debater.sent_cap(turn.token_cap(debater))
            if number >= rest.turns_done:
                size = sizes.turn(number, debater, debate.topic_id)
                self.debaters[debater.id].add(size, said.characters, tokens, said.most_tokens, cap)
            said.characters += characters + marker_length(turn)
            # Each byte of a prompt may be a token.
            most = None if cap is None else CHARACTERS_PER_TOKEN * cap + marker_length(turn)
            said.most_tokens = _plus(said.most_tokens, most)
        return said

    def _speech(self, turn: Round, debater: MemberConfig) -> tuple[float, float]:
        """The likely tokens of the answer in a turn, and the likely characters of the speech in it."""
        cap = turn.token_cap(debater)
        sent = debater.sent_cap(cap)
        known = self.stored.sums("debater", debater.provider, debater.model, turn.stage)
        if known is None:
            tokens = _assumed_tokens(debater, cap)
            return tokens + _thinking(debater), tokens * CHARACTERS_PER_TOKEN
        tokens, characters = known.mean(known.completion_tokens), known.mean(known.characters)
        share = 1.0 if sent is None or tokens <= sent else sent / tokens
        return tokens * share, characters * share

    def _verdict_tokens(self, judge: MemberConfig) -> float:
        """The likely tokens of a verdict."""
        known = self.stored.sums("judge", judge.provider, judge.model)
        if known is not None:
            return known.mean(known.completion_tokens)
        scores = {name: dimension.ends[1] for name, dimension in self.plan.config.dimensions.items()}
        shape: dict[str, Any] = {"scores": {"pro": scores, "con": scores}}
        if self.plan.prompts.declares_winner(judge.prompt_style):
            shape["winner"] = "pro"
        return len(json.dumps(shape)) / CHARACTERS_PER_TOKEN + _thinking(judge)

    def _member(self, role: Role, member: MemberConfig, use: _Use) -> MemberEstimate:
        prompt = round((use.own + use.history) * self._tokens_per_character(role, member, use))
        completion = round(use.completion_tokens)
        cost, most = _cost(member, prompt, completion), _cost(member, use.most_prompt, use.most_completion)
        return MemberEstimate(role, member.id, use.calls, prompt, completion, cost, most)

    def _tokens_per_character(self, role: Role, member: MemberConfig, use: _Use) -> float:
        """Of the prompts: as in stored ones, if they were made from the same templates."""
        known = self.stored.sums(role, member.provider, member.model)
        if known is None or not use.calls:
            return 1 / CHARACTERS_PER_TOKEN
        characters = use.own / use.calls + known.mean(known.history)
        return min(max(known.mean(known.prompt_tokens) / characters, _FEWEST), _MOST) if characters else 0.0


def _assumed_tokens(debater: MemberConfig, cap: int | None) -> float:
    """The tokens of a speech without stored ones to compare with."""
    if is_simulated(debater.provider):
        return _SIMULATED_TOKENS if cap is None else min(cap, _SIMULATED_TOKENS)
    return _SPEECH_TOKENS if cap is None else min(_SHARE_OF_CAP * cap, _SPEECH_TOKENS)


def _thinking(member: MemberConfig) -> float:
    return _SHARE_OF_THINKING * (member.thinking_tokens or 0)


def _plus(total: int | None, more: int | None) -> int | None:
    return None if total is None or more is None else total + more


def _cost(member: MemberConfig, prompt: int | None, completion: int | None) -> Decimal | None:
    """USD; nothing for what costs nothing, None if it is unknown."""
    if member.pricing is None:
        return Decimal(0) if is_simulated(member.provider) or (prompt, completion) == (0, 0) else None
    if prompt is None or completion is None:
        return None
    return (prompt * member.pricing.prompt + completion * member.pricing.completion).quantize(Decimal("1e-6"))
