"""The calls and cost of a plan, before any request is sent: what is likely, and the most."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from decimal import ROUND_CEILING, ROUND_HALF_EVEN, Decimal
from typing import TYPE_CHECKING, Any, Literal

from debatebench.judges import METHODS, used_templates
from debatebench.judges.rehearsal import Texts
from debatebench.plan.hearings import Hearings, Left
from debatebench.plan.prompt_sizes import PromptSize, PromptSizes, marker_length
from debatebench.plan.stored_use import StoredUse
from debatebench.providers import is_simulated
from debatebench.providers.prices import most_of
from debatebench.shared.amounts import amount_decimals, amount_text, counted, listed
from debatebench.shared.service_tiers import asked_tier

if TYPE_CHECKING:
    from debatebench.config.types import MemberConfig, Round
    from debatebench.judges.rehearsal import RehearsedHearing
    from debatebench.plan.plan import Plan
    from debatebench.plan.stored_use import ByModel, Sums
    from debatebench.shared.records import ScheduledDebate

CHARACTERS_PER_TOKEN = 4
"""A rule of thumb for English text."""

# Without stored speeches: debaters are told their limit and to stay well below it, or to write some paragraphs.
_SHARE_OF_CAP = 0.5
_SPEECH_TOKENS = 450
# Simulated debaters have their own length.
_SIMULATED_TOKENS = 200
# The characters of judges' texts: the prompts ask for at most 150 and 200 words, and for one or two sentences.
_TEXTS = Texts(speech=900, debate=1200, reason=160)
_SIMULATED_TEXTS = Texts(speech=770, debate=1050, reason=65)
# Without stored answers of a model that thinks.
_SHARE_OF_THINKING = 0.5
# Of a stored speech only the characters are known, and UTF-8 has at most so many bytes for one.
_MOST_BYTES = 4
# Tokens per character of any plausible text: stored prompts may have been made from other templates.
_FEWEST, _MOST = 1 / 6, 3.0

_MOST_IDS = 5

_NOTHING: int | None = 0

Role = Literal["debater", "judge"]


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
    """The expected calls of a plan, by debater and judge. A verdict takes one call or several, by the judge's method.

    Tokens and `cost_usd` are likely ones. `most_usd` is the cost if each call is answered once with its whole token
    limit; repeated calls come on top.
    """

    debates: int
    turns: int
    verdicts: int
    members: tuple[MemberEstimate, ...]

    @property
    def calls(self) -> int:
        """All requests: one for each turn, and those for the verdicts."""
        return sum(member.calls for member in self.members)

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
        likely = "unknown" if self.cost_usd is None else f"likely about {amount_text(self.cost_usd)} USD"
        most = f"at most {amount_text(self.most_usd)} USD" if self.most_usd is not None else self._why_unbounded()
        text = f"Cost: {likely}, {most}."
        if self.unpriced and self.cost_usd is not None:
            text += f" Not included, because they have no price: {', '.join(self.unpriced)}."
        return text

    def _why_unbounded(self) -> str:
        ids = sorted({member.id for member in self.members if member.calls and member.most_usd is None})
        return f"without an upper bound (no price or token limit: {listed(ids, _MOST_IDS)})"

    def summary(self) -> str:
        """The totals in a few sentences."""
        asked = self.calls - self.turns
        judging = "" if asked == self.verdicts else f"{asked:,} for "
        return (
            f"{counted(self.debates, 'debate')}: {counted(self.calls, 'call')} ({counted(self.turns, 'turn')}, "
            f"{judging}{counted(self.verdicts, 'verdict')}), about {self.prompt_tokens:,} prompt and "
            f"{self.completion_tokens:,} completion tokens. {self.costs()}"
        )


def estimate(
    plan: Plan, stored: StoredUse | None = None, left: Callable[[ScheduledDebate], Left] | None = None
) -> CostEstimate:
    """Calls, tokens and cost of a plan, or of what is `left` of it.

    Likely figures come from the stored answers of the same models, else of the others in the same role, else from
    the token limits. The prompts are those of the plan; the history in them grows with the speeches before, and a
    judge's calls are those of a rehearsal of its method.
    """
    return _Estimator(plan, (stored or StoredUse()).by_model()).estimate(left)


def text_lengths(judge: MemberConfig) -> Texts:
    """The likely characters of the texts that a judge writes, not more than its limit allows."""
    likely = _SIMULATED_TEXTS if is_simulated(judge.provider) else _TEXTS
    if judge.token_limit is None:
        return likely
    return Texts(*(min(length, CHARACTERS_PER_TOKEN * judge.token_limit) for length in likely))


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
    whole: _Prompts = field(default_factory=lambda: _Prompts())
    """Of a judge: all prompts of those hearings of which calls are left."""

    def add(self, size: PromptSize, history: float, completion: float, most: int | None, cap: int | None) -> None:
        """Count a turn; `most` bounds the tokens of the speeches in its prompt, `cap` those of its answer."""
        self.calls += 1
        self.own += size.characters
        self.history += size.repeats * history
        self.completion_tokens += completion
        self.most_prompt = _plus(self.most_prompt, None if most is None else size.most_tokens + size.repeats * most)
        self.most_completion = _plus(self.most_completion, cap)

    def hear(self, prompts: _Prompts, times: int) -> None:
        """Count the prompts of that many hearings, or of the rest of such."""
        self.calls += times * prompts.calls
        self.own += times * prompts.own
        self.history += times * prompts.history
        self.most_prompt = _plus(self.most_prompt, _times(times, prompts.most))


@dataclass(slots=True)
class _Prompts:
    """The prompts of hearings. `own` and `history` are their characters without speeches and those of the speeches.

    `repeats` is the sum, over hearings, of how often the prompts hold a speech on average; `most` bounds the tokens.
    """

    calls: int = 0
    own: int = 0
    history: float = 0.0
    repeats: float = 0.0
    most: int | None = 0

    def add(self, other: _Prompts, times: int = 1) -> None:
        """Add others so many times."""
        self.calls += times * other.calls
        self.own += times * other.own
        self.history += times * other.history
        self.repeats += times * other.repeats
        self.most = _plus(self.most, _times(times, other.most))

    def characters(self, history: float) -> float:
        """The mean characters of a prompt if the speeches of a debate have `history` characters."""
        return (self.own + self.repeats * history) / self.calls


@dataclass(frozen=True, eq=False, slots=True)
class _Speeches:
    """The speeches of a debate, in order: who gives them, and of each the likely tokens of its answer and the cap.

    Then the likely characters of the speech, the most bytes of it (None without a bound), and the characters of its
    marker line. Speeches that are stored already have no debater.
    """

    debaters: tuple[MemberConfig, ...]
    tokens: tuple[float, ...]
    caps: tuple[int | None, ...]
    characters: tuple[float, ...]
    most: tuple[int | None, ...]
    markers: tuple[int, ...]


@dataclass(slots=True)
class _Estimator:
    """Adds up the calls of a plan."""

    plan: Plan
    stored: ByModel
    debaters: dict[str, _Use] = field(default_factory=dict)
    judges: dict[str, _Use] = field(default_factory=dict)
    examples: dict[str, ScheduledDebate] = field(default_factory=dict)
    """Judge → a debate that it judges."""
    hearings: Hearings = field(init=False)
    sizes: PromptSizes = field(init=False)
    _speeches: dict[object, _Speeches] = field(default_factory=dict)
    _topics: Counter[tuple[str, RehearsedHearing, RehearsedHearing, str]] = field(default_factory=Counter)
    """How often a judge has such a hearing left, out of which whole one, about a topic."""
    _heard: Counter[tuple[str, RehearsedHearing, RehearsedHearing, _Speeches]] = field(default_factory=Counter)
    """The same with those speeches: most debates share them with others, and so does the topic."""

    def __post_init__(self) -> None:
        self.hearings, self.sizes = Hearings(self.plan), PromptSizes(self.plan)

    def estimate(self, left: Callable[[ScheduledDebate], Left] | None) -> CostEstimate:
        """See `estimate`."""
        plan = self.plan
        self.debaters = {debater.id: _Use() for debater in plan.debaters}
        self.judges = {judge.id: _Use() for judge in plan.judges}
        debates = verdicts = 0
        for debate in plan.debates:
            rest = Left(0, debate.panel) if left is None else left(debate)
            asked = {judge_id: self.hearings.left(debate, judge_id, rest.answered) for judge_id in rest.judges}
            judging = {judge_id: hearing for judge_id, hearing in asked.items() if hearing is not None}
            if rest.turns_done >= len(plan.config.rounds) and not judging:
                continue
            debates += 1
            verdicts += len(judging)
            said = self._speeches_of(debate)
            self._speak(debate, rest.turns_done, said)
            for judge_id, hearing in judging.items():
                whole = self.hearings.of(debate, judge_id)
                self._topics[judge_id, hearing, whole, debate.topic_id] += 1
                self._heard[judge_id, hearing, whole, said] += 1
                self.examples.setdefault(judge_id, debate)
        self._add_hearings()
        return CostEstimate(
            debates=debates,
            turns=sum(use.calls for use in self.debaters.values()),
            verdicts=verdicts,
            members=(
                *(self._debater(debater, self.debaters[debater.id]) for debater in plan.debaters),
                *(self._judge(judge, self.judges[judge.id]) for judge in plan.judges),
            ),
        )

    def _speeches_of(self, debate: ScheduledDebate) -> _Speeches:
        """All speeches of a debate."""
        stored_id = debate.debate_id if debate.attack is not None else debate.source_debate_id
        key = (debate.pro_model_id, debate.con_model_id) if stored_id is None else stored_id
        if key not in self._speeches:
            self._speeches[key] = self._spoken(debate) if stored_id is None else self._stored(debate)
        return self._speeches[key]

    def _spoken(self, debate: ScheduledDebate) -> _Speeches:
        rounds = self.plan.config.rounds
        speakers = {side: self.plan.debater(debater_id) for side, debater_id in debate.speakers.items()}
        debaters = tuple(speakers[turn.role] for turn in rounds)
        speeches = [self._speech(turn, debater) for turn, debater in zip(rounds, debaters, strict=True)]
        caps = [debater.sent_cap(turn.token_cap(debater)) for turn, debater in zip(rounds, debaters, strict=True)]
        return _Speeches(
            debaters=debaters,
            tokens=tuple(tokens for tokens, _ in speeches),
            caps=tuple(caps),
            characters=tuple(characters for _, characters in speeches),
            most=tuple(_times(CHARACTERS_PER_TOKEN, cap) for cap in caps),
            markers=tuple(marker_length(turn.role, turn.stage) for turn in rounds),
        )

    def _stored(self, debate: ScheduledDebate) -> _Speeches:
        lengths = [speech.characters for speech in self.plan.speeches_of(debate)]
        return _Speeches(
            debaters=(),
            tokens=(),
            caps=(),
            characters=tuple(lengths),
            most=tuple(_MOST_BYTES * length for length in lengths),
            markers=tuple(marker_length(place.speaker, place.stage) for place in self.hearings.layout(debate).places),
        )

    def _speak(self, debate: ScheduledDebate, turns_done: int, said: _Speeches) -> None:
        """Count the turns that are left of a debate."""
        before, most_before = 0.0, _NOTHING
        for number, debater in enumerate(said.debaters):
            cap = said.caps[number]
            if number >= turns_done:
                size = self.sizes.turn(number, debater, debate)
                self.debaters[debater.id].add(size, before, said.tokens[number], most_before, cap)
            before += said.characters[number] + said.markers[number]
            # Each byte of a prompt may be a token.
            most_before = _plus(most_before, _plus(said.most[number], said.markers[number]))

    def _add_hearings(self) -> None:
        """Count what the judges are asked: the sums over hearings of the same kind, topic or speeches."""
        for (judge_id, hearing, whole, topic_id), times in self._topics.items():
            use, judge = self.judges[judge_id], self.plan.judge(judge_id)
            use.hear(self._prompts_on(judge, hearing, topic_id), times)
            use.whole.add(self._prompts_on(judge, whole, topic_id), times)
            use.completion_tokens += times * self._completion(judge, hearing, whole)
            most = _times(len(hearing.calls), judge.sent_cap(judge.token_limit))
            use.most_completion = _plus(use.most_completion, _times(times, most))
        for (judge_id, hearing, whole, said), times in self._heard.items():
            use = self.judges[judge_id]
            use.hear(_prompts_with(hearing, said), times)
            use.whole.add(_prompts_with(whole, said), times)

    def _prompts_on(self, judge: MemberConfig, hearing: RehearsedHearing, topic_id: str) -> _Prompts:
        """The prompts of a hearing without the speeches, although with the lines above them."""
        size, total = self.sizes.hearing(hearing, topic_id), hearing.total
        most_heard = _times(total.heard_answers * CHARACTERS_PER_TOKEN, judge.sent_cap(judge.token_limit))
        own = size.characters + total.heard.times(text_lengths(judge))
        return _Prompts(len(hearing.calls), own, most=_plus(most_heard, size.most_tokens))

    def _speech(self, turn: Round, debater: MemberConfig) -> tuple[float, float]:
        """The likely tokens of the answer in a turn, and the likely characters of the speech in it."""
        cap = turn.token_cap(debater)
        sent = debater.sent_cap(cap)
        known = self.stored.speeches(debater.provider, debater.model, turn.stage)
        if known is None:
            tokens = _assumed_tokens(debater, cap)
            return tokens + _thinking(debater), tokens * CHARACTERS_PER_TOKEN
        tokens, characters = known.mean(known.completion_tokens), known.mean(known.characters)
        share = 1.0 if sent is None or tokens <= sent else sent / tokens
        return tokens * share, characters * share

    def _completion(self, judge: MemberConfig, hearing: RehearsedHearing, whole: RehearsedHearing) -> float:
        """The likely tokens of a judge's answers: stored ones are the mean of a whole hearing."""
        assumed = _assumed_answers(judge, hearing)
        known = self.stored.verdicts(judge.provider, judge.model, judge.method)
        if known is None or not whole.calls:
            return assumed
        share = 1.0 if hearing is whole else assumed / _assumed_answers(judge, whole)
        return known.per_request(known.completion_tokens) * len(whole.calls) * share

    def _debater(self, debater: MemberConfig, use: _Use) -> MemberEstimate:
        known = self.stored.speeches(debater.provider, debater.model)
        if known is None or not use.calls:
            return _member("debater", debater, use, 1 / CHARACTERS_PER_TOKEN)
        characters = use.own / use.calls + known.mean(known.history)
        return _member("debater", debater, use, _ratio(known.mean(known.prompt_tokens), characters))

    def _judge(self, judge: MemberConfig, use: _Use) -> MemberEstimate:
        # A simulated judge counts its tokens by the same rule; stored ones may be of prompts of another shape.
        is_asked = bool(use.calls) and not is_simulated(judge.provider)
        known = next(self._known_prompts(judge, use), None) if is_asked else None
        if known is None:
            return _member("judge", judge, use, 1 / CHARACTERS_PER_TOKEN)
        stored, prompts = known
        characters = prompts.characters(stored.mean(stored.history))
        return _member("judge", judge, use, _ratio(stored.per_request(stored.prompt_tokens), characters))

    def _known_prompts(self, judge: MemberConfig, use: _Use) -> Iterator[tuple[Sums, _Prompts]]:
        """Stored prompts and those of this plan that they are compared with, the most similar ones first.

        They are the judge's own with its method and with others, then those of other judges with the same method.
        """
        own = self.stored.own_verdicts(judge.provider, judge.model, judge.method)
        if own is not None:
            yield own, use.whole
        for method in self.stored.methods(judge.provider, judge.model):
            known = self.stored.own_verdicts(judge.provider, judge.model, method)
            if known is not None and (prompts := self._with_method(judge, method)) is not None:
                yield known, prompts
        others = self.stored.verdicts(judge.provider, judge.model, judge.method)
        if others is not None:
            yield others, use.whole

    def _with_method(self, judge: MemberConfig, method: str) -> _Prompts | None:
        """The prompts of a debate if the judge had another method; None if the plan does not hold its templates."""
        if method not in METHODS or METHODS[method].is_baseline:
            return None
        twin, debate = judge.model_copy(update={"method": method}), self.examples[judge.id]
        if not set(used_templates(twin, self.plan.prompts)) <= self.plan.prompts.templates.keys():
            return None
        hearing = self.hearings.of_judge(twin, debate)
        prompts = self._prompts_on(twin, hearing, debate.topic_id)
        prompts.add(_prompts_with(hearing, self._speeches_of(debate)))
        return prompts


def _prompts_with(hearing: RehearsedHearing, said: _Speeches) -> _Prompts:
    """What these speeches add to the prompts of a hearing: each with the line above it."""
    counts = hearing.total.speeches
    history, markers, most = 0.0, 0, _NOTHING
    for n, count in enumerate(counts):
        history += count * (said.characters[n] + said.markers[n])
        markers += count * said.markers[n]
        most = _plus(most, _times(count, said.most[n]))
    return _Prompts(own=-markers, history=history, repeats=sum(counts) / len(counts) if counts else 0.0, most=most)


def _member(role: Role, member: MemberConfig, use: _Use, tokens_per_character: float) -> MemberEstimate:
    prompt = round((use.own + use.history) * tokens_per_character)
    completion = round(use.completion_tokens)
    cost = _cost(member, prompt, completion, use.calls)
    most = _most(member, use.most_prompt, use.most_completion, use.calls)
    return MemberEstimate(role, member.id, use.calls, prompt, completion, cost, most)


def _ratio(tokens: float, characters: float) -> float:
    """Tokens per character of stored prompts, as long as they may have been made from the same templates."""
    return min(max(tokens / characters, _FEWEST), _MOST) if characters else 0.0


def _assumed_answers(judge: MemberConfig, hearing: RehearsedHearing) -> float:
    """The tokens of a judge's answers without stored ones to compare with."""
    characters = hearing.total.said_characters + hearing.total.said.times(text_lengths(judge))
    return characters / CHARACTERS_PER_TOKEN + len(hearing.calls) * _thinking(judge)


def _assumed_tokens(debater: MemberConfig, cap: int | None) -> float:
    """The tokens of a speech without stored ones to compare with."""
    if is_simulated(debater.provider):
        return _SIMULATED_TOKENS if cap is None else min(cap, _SIMULATED_TOKENS)
    return _SPEECH_TOKENS if cap is None else min(_SHARE_OF_CAP * cap, _SPEECH_TOKENS)


def _thinking(member: MemberConfig) -> float:
    return _SHARE_OF_THINKING * (member.thinking_tokens or 0)


def _times(number: int, each: int | None) -> int | None:
    return 0 if number == 0 else None if each is None else number * each


def _plus(total: int | None, more: int | None) -> int | None:
    return None if total is None or more is None else total + more


def _cost(member: MemberConfig, prompt: int, completion: int, requests: int) -> Decimal | None:
    """USD in the tier that the requests ask for; nothing for what costs nothing, None if it is unknown.

    Without cached tokens, because it is not known how many there will be.
    """
    if member.pricing is None:
        return Decimal(0) if is_simulated(member.provider) or (prompt, completion) == (0, 0) else None
    prices = member.pricing.of_tier(asked_tier(member.parameters))
    if prices is None:
        return None
    return _rounded(
        requests * prices.request + prompt * prices.prompt + completion * prices.completion, ROUND_HALF_EVEN
    )


def _most(member: MemberConfig, prompt: int | None, completion: int | None, requests: int) -> Decimal | None:
    """The same at most; None without a bound."""
    if member.pricing is None:
        return Decimal(0) if is_simulated(member.provider) or (prompt, completion) == (0, 0) else None
    if prompt is None or completion is None:
        return None
    most = most_of(member, prompt, completion, requests)
    return None if most is None else _rounded(most, ROUND_CEILING)


def _rounded(cost: Decimal, rounding: str) -> Decimal:
    """Six decimals, or as many as a smaller amount needs."""
    return cost.quantize(Decimal(1).scaleb(-amount_decimals(cost, 6)), rounding)
