"""The calls, tokens, cost and time of a plan, before any request is sent. Pure.

The calls of judges come from a rehearsal of their methods (`judge_calls.py`), so a new judge method needs no line here.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import ROUND_CEILING, ROUND_HALF_EVEN, Decimal
from math import inf
from statistics import median
from typing import Literal, NamedTuple

from debatebench.config.prompts import debater_values, topic_values
from debatebench.config.transcript_layout import escape_material, escape_speech, speeches_so_far
from debatebench.config.types import MemberConfig, Round
from debatebench.judges import find_method, method_of, recorded_method, used_templates
from debatebench.judges.rehearsal import RehearsedDeliberation, Texts
from debatebench.plan.judge_calls import JudgeCalls, RestOfDebate
from debatebench.plan.plan import Plan
from debatebench.plan.stored_use import ByModel, StoredUse, Sums
from debatebench.providers import is_simulated
from debatebench.providers.prices import most_of
from debatebench.shared.amounts import amount_decimals, amount_text, counted, duration_text, listed
from debatebench.shared.records import ScheduledDebate
from debatebench.shared.service_tiers import asked_tier

CHARACTERS_PER_TOKEN = 4
"""A rule of thumb for English text."""

# A speech if none are stored: debaters are told to stay well below their limit, or to write some paragraphs.
_SHARE_OF_CAP = 0.5
_SPEECH_TOKENS = 450
# The tokens of a simulated debater's speech.
_SIMULATED_TOKENS = 200
# The characters of judges' texts: the prompts ask for at most 150 and 200 words, and for one or two sentences.
_TEXTS = Texts(speech=900, debate=1200, reason=160)
# The paper's judges wrote about 320 tokens, on a speech as on a debate (Debatrix, appendix A.2).
_FREE_TEXTS = Texts(speech=1280, debate=1280, reason=160)
_SIMULATED_TEXTS = Texts(speech=770, debate=1050, reason=65)
# They count what each team did, and long speeches have more to note.
_SIMULATED_TEXTS_ON_TEAMS = Texts(speech=850, debate=1250, reason=65)
# The share of its thinking limit that a model uses, if none of its answers are stored.
_SHARE_OF_THINKING = 0.5
# Of a stored speech only the characters are known, and UTF-8 has at most so many bytes for one.
_MOST_BYTES = 4
# Tokens per character of any plausible text: stored prompts may have been made from other templates.
_FEWEST, _MOST = 1 / 6, 3.0
# What the format adds around each message and around all messages: roles, marks, names. Known ones add 3 to 8.
_TOKENS_PER_MESSAGE = 16
_TOKENS_PER_REQUEST = 64
_MESSAGES = 2
_PROBE = "x" * 1000
_MOST_IDS = 5

Role = Literal["debater", "judge"]
ModelKey = tuple[str, str]
"""Provider and its name of a model."""


def format_tokens(messages: int) -> int:
    """The most tokens that the format of a request adds to its messages."""
    return messages * _TOKENS_PER_MESSAGE + _TOKENS_PER_REQUEST


# --- calls, tokens and cost -------------------------------------------------------------------------------------------


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
    plan: Plan, stored: StoredUse | None = None, left: Callable[[ScheduledDebate], RestOfDebate] | None = None
) -> CostEstimate:
    """Calls, tokens and cost of a plan, or of what is `left` of it.

    Likely figures come from the stored answers of the same models, else of the others in the same role, else from
    the token limits. The prompts are those of the plan; the history in them grows with the speeches before, and a
    judge's calls are those of a rehearsal of its method.
    """
    return _Estimator(plan, (stored or StoredUse()).by_model()).estimate(left)


def text_lengths(judge: MemberConfig, *, is_of_teams: bool = False) -> Texts:
    """The likely characters of the texts that a judge writes, not more than its limit allows."""
    likely = _FREE_TEXTS if method_of(judge).has_free_texts else _TEXTS
    if is_simulated(judge.provider):
        likely = _SIMULATED_TEXTS_ON_TEAMS if is_of_teams else _SIMULATED_TEXTS
    if judge.token_limit is None:
        return likely
    return Texts(*(min(length, CHARACTERS_PER_TOKEN * judge.token_limit) for length in likely))


@dataclass(slots=True)
class _Prompts:
    """Prompts, added up. `own` and `history` are their characters without speeches and those of the speeches.

    `repeats` is the sum, over debates, of how often the prompts hold a speech on average; `most` bounds the tokens, and
    is infinite without a bound.
    """

    calls: int = 0
    own: float = 0
    history: float = 0.0
    repeats: float = 0.0
    most: float = 0

    def add(self, other: _Prompts, times: int = 1) -> None:
        """Add others so many times."""
        self.calls += times * other.calls
        self.own += times * other.own
        self.history += times * other.history
        self.repeats += times * other.repeats
        self.most += times * other.most


@dataclass(slots=True)
class _Use:
    """What one member is likely to use, and at most."""

    prompts: _Prompts = field(default_factory=_Prompts)
    whole: _Prompts = field(default_factory=_Prompts)
    """Of a judge: all prompts of those rehearsals of which calls are left."""
    completion_tokens: float = 0.0
    most_completion: float = 0


class _Speech(NamedTuple):
    """A speech of a debate, likely or stored. A bound is infinite where there is none."""

    characters: float
    most_bytes: float
    marker: int
    """The characters of the line above it and of its line ends."""
    tokens: float = 0.0
    most_tokens: float = 0
    """These two of the answer that holds it; nothing for a stored speech."""
    debater: MemberConfig | None = None
    """Who is to give it; None for a stored speech."""


@dataclass(frozen=True, eq=False, slots=True)
class _Speeches:
    """The speeches of a debate, in order. Equal ones are the same object."""

    all: tuple[_Speech, ...]


class _Estimator:
    """Adds up the calls of a plan. Equal prompts are rendered once, and equal rehearsals are counted together."""

    def __init__(self, plan: Plan, stored: ByModel) -> None:
        self.plan = plan
        self.stored = stored
        self.judge_calls = JudgeCalls(plan)
        self.debaters = {debater.id: _Use() for debater in plan.debaters}
        self.judges = {judge.id: _Use() for judge in plan.judges}
        self.examples: dict[str, ScheduledDebate] = {}
        """Judge → a debate that it judges."""
        self._turns: dict[tuple[object, ...], _Prompts] = {}
        self._topic_sizes: dict[tuple[str, bool], dict[str, tuple[int, int]]] = {}
        self._speeches: dict[object, _Speeches] = {}

    def estimate(self, left: Callable[[ScheduledDebate], RestOfDebate] | None) -> CostEstimate:
        """See `estimate`."""
        plan = self.plan
        debates = verdicts = 0
        # How often a judge has such calls left, out of which whole ones: by topic, and by speeches. Most debates
        # share either with others, and few share both.
        topics: Counter[tuple[str, RehearsedDeliberation, RehearsedDeliberation, str]] = Counter()
        speeches: Counter[tuple[str, RehearsedDeliberation, RehearsedDeliberation, _Speeches]] = Counter()
        for debate in plan.debates:
            rest = RestOfDebate(0, debate.panel) if left is None else left(debate)
            asked = {judge_id: self.judge_calls.left(debate, judge_id, rest.answered) for judge_id in rest.judges}
            rehearsals = {judge_id: rehearsed for judge_id, rehearsed in asked.items() if rehearsed is not None}
            if rest.turns_done >= len(plan.config.rounds) and not rehearsals:
                continue
            debates += 1
            verdicts += len(rehearsals)
            said = self._speeches_of(debate)
            self._add_turns(debate, rest.turns_done, said)
            for judge_id, rehearsed in rehearsals.items():
                whole = self.judge_calls.of(debate, judge_id)
                topics[judge_id, rehearsed, whole, debate.topic_id] += 1
                speeches[judge_id, rehearsed, whole, said] += 1
                self.examples.setdefault(judge_id, debate)
        for (judge_id, rehearsed, whole, topic_id), times in topics.items():
            use, judge = self.judges[judge_id], plan.judge(judge_id)
            use.prompts.add(self._prompts_on(judge, rehearsed, topic_id), times)
            use.whole.add(self._prompts_on(judge, whole, topic_id), times)
            use.completion_tokens += times * self._answers(judge, rehearsed, whole)
            use.most_completion += _times(times * len(rehearsed.calls), judge.sent_cap(judge.token_limit))
        for (judge_id, rehearsed, whole, said), times in speeches.items():
            self.judges[judge_id].prompts.add(_prompts_with(rehearsed, said), times)
            self.judges[judge_id].whole.add(_prompts_with(whole, said), times)
        return CostEstimate(
            debates=debates,
            turns=sum(use.prompts.calls for use in self.debaters.values()),
            verdicts=verdicts,
            members=(
                *(self._debater(debater, self.debaters[debater.id]) for debater in plan.debaters),
                *(self._judge(judge, self.judges[judge.id]) for judge in plan.judges),
            ),
        )

    # --- turns ---

    def _speeches_of(self, debate: ScheduledDebate) -> _Speeches:
        stored_id = debate.debate_id if debate.attack is not None else debate.source_debate_id
        key = tuple(debate.speakers.values()) if stored_id is None else stored_id
        if key not in self._speeches:
            found = self._likely_speeches(debate) if stored_id is None else self._stored_speeches(debate)
            self._speeches[key] = _Speeches(tuple(found))
        return self._speeches[key]

    def _likely_speeches(self, debate: ScheduledDebate) -> Iterator[_Speech]:
        for turn in self.plan.config.rounds:
            debater = self.plan.debater(debate.speakers[turn.role])
            tokens, characters = self._speech(turn, debater)
            most = _times(1, debater.sent_cap(turn.token_cap(debater)))
            marker = _marker_length(turn.role, turn.stage)
            yield _Speech(characters, CHARACTERS_PER_TOKEN * most, marker, tokens, most, debater)

    def _stored_speeches(self, debate: ScheduledDebate) -> Iterator[_Speech]:
        places = self.judge_calls.layout(debate).places
        for place, speech in zip(places, self.plan.speeches_of(debate), strict=True):
            length = speech.characters
            yield _Speech(length, _MOST_BYTES * length, _marker_length(place.speaker, place.stage))

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

    def _add_turns(self, debate: ScheduledDebate, turns_done: int, said: _Speeches) -> None:
        """Count the turns that are left of a debate; a stored debate has none."""
        before, most_before = 0.0, 0.0
        for number, speech in enumerate(said.all):
            if number >= turns_done and speech.debater is not None:
                use, own = self.debaters[speech.debater.id], self._turn(number, speech.debater, debate)
                prompts, repeats = use.prompts, int(own.repeats)
                prompts.calls += 1
                prompts.own += own.own
                prompts.history += repeats * before
                prompts.most += own.most + _times(repeats, most_before)
                use.completion_tokens += speech.tokens
                use.most_completion += speech.most_tokens
            before += speech.characters + speech.marker
            # Each byte of a prompt may be a token.
            most_before += speech.most_bytes + speech.marker

    def _turn(self, number: int, debater: MemberConfig, debate: ScheduledDebate) -> _Prompts:
        """The prompt of a debater in round `number` of a debate, without speeches."""
        turn, weakness = self.plan.config.rounds[number], self.plan.weakness_in(debate, number)
        told = None if weakness is None else weakness.instruction
        key = (number, turn.token_cap(debater), debate.topic_id, told)
        if key not in self._turns:
            empty, probed = (self._turn_text(turn, debater, debate.topic_id, text, told) for text in ("", _PROBE))
            repeats = (len(probed) - len(empty)) // len(_PROBE)
            most = _bytes_in(empty) + format_tokens(_MESSAGES)
            self._turns[key] = _Prompts(1, len(empty), repeats=repeats, most=most)
        return self._turns[key]

    def _turn_text(self, turn: Round, debater: MemberConfig, topic_id: str, said: str, told: str | None) -> str:
        topic = self.plan.topic(topic_id)
        values = debater_values(
            self.plan.config,
            turn,
            motion=topic.motion,
            category=topic.category,
            info_slide=topic.info_slide,
            transcript=said + speeches_so_far((), is_of_teams=turn.is_of_team),
            token_cap=turn.token_cap(debater),
        )
        return "".join(self.plan.prompts.speaking(values, turn, told))

    # --- verdicts ---

    def _prompts_on(self, judge: MemberConfig, rehearsed: RehearsedDeliberation, topic_id: str) -> _Prompts:
        """The prompts of these calls without the speeches, although with the lines above them."""
        total, calls = rehearsed.total, len(rehearsed.calls)
        sizes = self._sizes_of_topic(topic_id, rehearsed.shows_material)
        own = total.characters + total.shown.times(text_lengths(judge, is_of_teams=rehearsed.is_of_teams))
        own += sum(count * sizes[name][0] for name, count in total.topic.items())
        most = total.most_bytes + sum(count * sizes[name][1] for name, count in total.topic.items())
        shown = _times(total.shown_answers * CHARACTERS_PER_TOKEN, judge.sent_cap(judge.token_limit))
        return _Prompts(calls, own, most=most + shown + calls * format_tokens(_MESSAGES))

    def _sizes_of_topic(self, topic_id: str, shows_material: bool) -> dict[str, tuple[int, int]]:
        """The characters and bytes of each text of a topic, as it stands in a prompt to a judge."""
        if (topic_id, shows_material) not in self._topic_sizes:
            topic, escape = self.plan.topic(topic_id), escape_material if shows_material else escape_speech
            texts = topic_values(topic.motion, topic.category, topic.info_slide, escape)
            sizes = {name: (len(text), _bytes_in(text)) for name, text in texts.items()}
            self._topic_sizes[topic_id, shows_material] = sizes
        return self._topic_sizes[topic_id, shows_material]

    def _answers(self, judge: MemberConfig, rehearsed: RehearsedDeliberation, whole: RehearsedDeliberation) -> float:
        """The likely tokens of a judge's answers: stored ones are the mean of whole deliberations."""
        assumed = _assumed_answers(judge, rehearsed)
        known = self.stored.verdicts(judge.provider, judge.model, recorded_method(judge.method))
        if known is None or not whole.calls:
            return assumed
        share = 1.0 if rehearsed is whole else assumed / _assumed_answers(judge, whole)
        return known.per_request(known.completion_tokens) * len(whole.calls) * share

    # --- members ---

    def _debater(self, debater: MemberConfig, use: _Use) -> MemberEstimate:
        known = self.stored.speeches(debater.provider, debater.model)
        if known is None or not use.prompts.calls:
            return _member("debater", debater, use, 1 / CHARACTERS_PER_TOKEN)
        characters = use.prompts.own / use.prompts.calls + known.mean(known.history)
        return _member("debater", debater, use, _ratio(known.mean(known.prompt_tokens), characters))

    def _judge(self, judge: MemberConfig, use: _Use) -> MemberEstimate:
        # A simulated judge counts its tokens by the same rule; stored ones may be of prompts of another shape.
        is_asked = bool(use.prompts.calls) and not is_simulated(judge.provider)
        known = next(self._known_prompts(judge, use), None) if is_asked else None
        if known is None:
            return _member("judge", judge, use, 1 / CHARACTERS_PER_TOKEN)
        stored, prompts = known
        characters = (prompts.own + prompts.repeats * stored.mean(stored.history)) / prompts.calls
        return _member("judge", judge, use, _ratio(stored.per_request(stored.prompt_tokens), characters))

    def _known_prompts(self, judge: MemberConfig, use: _Use) -> Iterator[tuple[Sums, _Prompts]]:
        """Stored prompts and those of this plan that they are compared with, the most similar ones first.

        They are the judge's own with its method and with others, then those of other judges with the same method.
        """
        own = self.stored.own_verdicts(judge.provider, judge.model, recorded_method(judge.method))
        if own is not None:
            yield own, use.whole
        for method in self.stored.methods(judge.provider, judge.model):
            known = self.stored.own_verdicts(judge.provider, judge.model, method)
            if known is not None and (prompts := self._with_method(judge, method)) is not None:
                yield known, prompts
        others = self.stored.verdicts(judge.provider, judge.model, recorded_method(judge.method))
        if others is not None:
            yield others, use.whole

    def _with_method(self, judge: MemberConfig, method: str) -> _Prompts | None:
        """The prompts of a debate if the judge had another method; None if the plan does not hold its templates."""
        found = find_method(method)
        if found is None or found.is_baseline:
            return None
        twin, debate = judge.model_copy(update={"method": method}), self.examples[judge.id]
        if not set(used_templates(twin, self.plan.prompts)) <= self.plan.prompts.templates.keys():
            return None
        rehearsed = self.judge_calls.of_judge(twin, debate)
        prompts = self._prompts_on(twin, rehearsed, debate.topic_id)
        prompts.add(_prompts_with(rehearsed, self._speeches_of(debate)))
        return prompts


def _marker_length(speaker: str, stage: str | None) -> int:
    """The characters that a speech adds to a transcript besides its own: its marker line and line ends."""
    return len(f"[{speaker} | {' '.join((stage or '').split())}]\n\n\n")


def _bytes_in(text: str) -> int:
    return len(text.encode("utf-8", "surrogatepass"))


def _prompts_with(rehearsed: RehearsedDeliberation, said: _Speeches) -> _Prompts:
    """What these speeches add to the prompts of these calls: each with the line above it."""
    counts = rehearsed.total.speeches
    pairs = list(zip(counts, said.all, strict=False))
    return _Prompts(
        own=-sum(count * speech.marker for count, speech in pairs),
        history=sum(count * (speech.characters + speech.marker) for count, speech in pairs),
        repeats=sum(counts) / len(counts) if counts else 0.0,
        most=sum(_times(count, speech.most_bytes) for count, speech in pairs),
    )


def _member(role: Role, member: MemberConfig, use: _Use, tokens_per_character: float) -> MemberEstimate:
    """The estimate of a member: USD in the tier that the requests ask for, with no token read from a cache."""
    calls = use.prompts.calls
    prompt = round((use.prompts.own + use.prompts.history) * tokens_per_character)
    completion = round(use.completion_tokens)
    cost = most = None
    if member.pricing is None:
        cost = most = Decimal(0) if is_simulated(member.provider) or not calls else None
    elif (prices := member.pricing.of_tier(asked_tier(member.parameters))) is not None:
        likely = calls * prices.request + prompt * prices.prompt + completion * prices.completion
        cost = _rounded(likely, ROUND_HALF_EVEN)
        bounds = use.prompts.most, use.most_completion
        largest = None if inf in bounds else most_of(member, int(bounds[0]), int(bounds[1]), calls)
        most = None if largest is None else _rounded(largest, ROUND_CEILING)
    return MemberEstimate(role, member.id, calls, prompt, completion, cost, most)


def _rounded(cost: Decimal, rounding: str) -> Decimal:
    """Six decimals, or as many as a smaller amount needs."""
    return cost.quantize(Decimal(1).scaleb(-amount_decimals(cost, 6)), rounding)


def _ratio(tokens: float, characters: float) -> float:
    """Tokens per character of stored prompts, as long as they may have been made from the same templates."""
    return min(max(tokens / characters, _FEWEST), _MOST) if characters else 0.0


def _assumed_answers(judge: MemberConfig, rehearsed: RehearsedDeliberation) -> float:
    """The tokens of a judge's answers without stored ones to compare with."""
    lengths = text_lengths(judge, is_of_teams=rehearsed.is_of_teams)
    characters = rehearsed.total.said_characters + rehearsed.total.said.times(lengths)
    return characters / CHARACTERS_PER_TOKEN + len(rehearsed.calls) * _thinking(judge)


def _assumed_tokens(debater: MemberConfig, cap: int | None) -> float:
    """The tokens of a speech without stored ones to compare with."""
    if is_simulated(debater.provider):
        return _SIMULATED_TOKENS if cap is None else min(cap, _SIMULATED_TOKENS)
    return _SPEECH_TOKENS if cap is None else min(_SHARE_OF_CAP * cap, _SPEECH_TOKENS)


def _thinking(member: MemberConfig) -> float:
    return _SHARE_OF_THINKING * (member.thinking_tokens or 0)


def _times(number: int, each: float | None) -> float:
    """So many times the same bound: infinite where there is none, unless it is counted 0 times."""
    return 0 if number == 0 else inf if each is None else number * each


# --- time -------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Latencies:
    """Milliseconds of a call, by (provider, model): a debater's speech, and one request to a judge.

    They are medians, or another quantile of the stored calls.
    """

    turn_ms: Mapping[ModelKey, float]
    request_ms: Mapping[ModelKey, float]


@dataclass(frozen=True, slots=True)
class TimeEstimate:
    """The least and most seconds that a plan takes if every call takes its stored time and none is retried.

    `least_s` is the larger of the two bounds: all calls divided by the slots, and the longest debate. `most_s` adds the
    longest debate to the share of the slots, which no order of work exceeds (Graham, "Bounds for certain
    multiprocessing anomalies", 1966). `assumed` names the members without a stored timing, for which the median of the
    others in the same role is used; all figures are None when there are no timings.
    """

    calls: int
    concurrency: int
    call_s: float | None
    longest_debate_s: float | None
    least_s: float | None
    most_s: float | None
    assumed: tuple[str, ...]

    def range_text(self) -> str:
        """From the least to the most time, as in `30 s to 36 s`; only where both are known."""
        return f"{duration_text(self.least_s or 0.0)} to {duration_text(self.most_s or 0.0)}"

    def summary(self) -> str:
        """The estimate in words, for a user who plans a run."""
        if self.least_s is None or self.most_s is None:
            return "No timings of these debaters and judges are stored, so the duration is unknown."
        if self.most_s == 0:
            return (
                "All debaters and judges are simulated and answer at once, so the duration is only the computing time."
            )
        longest = duration_text(self.longest_debate_s or 0.0)
        text = (
            f"{self.calls:,} calls, {self.concurrency} at once: {self.range_text()} (the longest debate takes "
            f"{longest}), not counting retries and waiting for rate limits."
        )
        if self.assumed:
            text += f" Without stored timings, so estimated by the median of the others: {', '.join(self.assumed)}."
        return text


def estimate_time(plan: Plan, stored: Latencies, concurrency: int) -> TimeEstimate:
    """The time that the debates of `plan` take. Simulated members answer at once, whatever durations they report.

    A judge's requests that wait for each other take their time one after another, all others at the same time.
    """
    judge_calls = JudgeCalls(plan)
    asked = {judge_id for d in plan.debates for judge_id in d.panel if judge_calls.of(d, judge_id).calls}
    turn_s, unknown_debaters = _seconds(
        plan.debaters, stored.turn_ms, {id_ for d in plan.debates for id_ in d.speakers.values()}
    )
    request_s, unknown_judges = _seconds(plan.judges, stored.request_ms, asked)
    assumed = tuple(sorted(unknown_debaters | unknown_judges))
    calls = sum(judge_calls.calls_by_debate().values())
    if turn_s is None or request_s is None:
        return TimeEstimate(calls, concurrency, None, None, None, None, assumed)
    work = longest = 0.0
    for debate in plan.debates:
        speaking = _speaking_s(plan, debate, turn_s)
        judging = [(request_s[judge_id], judge_calls.of(debate, judge_id)) for judge_id in debate.panel]
        work += speaking + sum(seconds * len(rehearsed.calls) for seconds, rehearsed in judging)
        # Requests to the judges of a panel are sent at the same time.
        longest = max(
            longest, speaking + max((seconds * rehearsed.depth for seconds, rehearsed in judging), default=0.0)
        )
    share = work / concurrency
    return TimeEstimate(calls, concurrency, work, longest, max(share, longest), share + longest, assumed)


def _speaking_s(plan: Plan, debate: ScheduledDebate, turn_s: Mapping[str, float]) -> float:
    speakers = debate.speakers
    return sum(turn_s[speakers[turn.role]] for turn in plan.config.rounds)


def _seconds(
    members: Sequence[MemberConfig], stored_ms: Mapping[ModelKey, float], asked: Collection[str]
) -> tuple[dict[str, float] | None, set[str]]:
    """Seconds per call by id, and the used members without a stored timing; None where there are no timings."""
    known: dict[str, float] = {}
    unknown: set[str] = set()
    for member in members:
        if is_simulated(member.provider):
            known[member.id] = 0.0
        elif (stored := stored_ms.get((member.provider, member.model))) is not None:
            known[member.id] = stored / 1000
        else:
            unknown.add(member.id)
    hosted = [known[member.id] for member in members if member.id in known and not is_simulated(member.provider)]
    if unknown & set(asked) and not hosted:
        return None, unknown & set(asked)
    typical = median(hosted) if hosted else 0.0
    return {**known, **dict.fromkeys(unknown, typical)}, unknown & set(asked)
