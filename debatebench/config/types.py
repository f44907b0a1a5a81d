"""The types of a configuration: frozen, and validated when they are created."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal
from functools import cached_property
from typing import Any, Literal

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    SerializerFunctionWrapHandler,
    field_serializer,
    field_validator,
    model_serializer,
)

from debatebench.config.transcript_layout import BP_POSITIONS, side_of
from debatebench.shared.records import Position, ScoreValue, Side
from debatebench.shared.scales import FINEST_STEP, Scale, plain
from debatebench.shared.service_tiers import tier_name

OnRefusal = Literal["void", "forfeit"]
"""The status of a debate that ends because a debater refuses to speak, or its provider does."""


class _Frozen(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Round(_Frozen):
    """One turn of the debate format: its speaker, stage and token limit.

    `role` is a side, or one of the four teams of British Parliamentary debate.
    `instruction` is what the format asks of this speech, such as questions instead of arguments. The speaker is told,
    and so are the judges.
    """

    role: Position
    """Who speaks: `pro` or `con`, or one of four teams."""
    stage: str = "turn"
    """A word for the kind of speech, which the prompts and the pages show."""
    max_tokens: int | None = Field(None, gt=0)
    """The longest speech in tokens; nothing: no limit."""
    language: str | None = None
    """The language of this speech, where it is not that of the debate."""
    instruction: str | None = Field(None, exclude_if=lambda text: text is None)
    """What the format asks of this speech; the speaker, judges and annotators read it."""

    @property
    def is_of_team(self) -> bool:
        """Whether one of four teams speaks, and not one of two sides."""
        return self.role in BP_POSITIONS

    @property
    def side(self) -> Side:
        """The side for which the speaker speaks."""
        return side_of(self.role)

    def token_cap(self, debater: MemberConfig) -> int | None:
        """Limit on this turn's completion: the lower of the round's and the debater's; None when neither has one."""
        return min((cap for cap in (self.max_tokens, debater.token_limit) if cap is not None), default=None)


class Preferences(_Frozen):
    """What a judge method tells a judge to look for on a dimension, by stage; None where the description says it."""

    speech: str | None = None
    """While it analyses a speech."""
    earlier: str | None = Field(None, exclude_if=lambda text: text is None)
    """While it analyses a speech and has earlier ones, besides `speech`."""
    debate: str | None = None
    """While it analyses or judges the whole debate."""
    debate_by_analyses: str | None = Field(None, exclude_if=lambda text: text is None)
    """In the place of `debate` where it goes by its analyses of the speeches."""
    summary: str | None = None
    """While it weighs this dimension against the others."""


class SideGuidance(_Frozen):
    """What a dimension asks of each side."""

    pro: str
    """What is asked of the side for the motion."""
    con: str
    """What is asked of the side against it."""


class WholeConfig(_Frozen):
    """How a judge method judges the debate as a whole.

    It may call the debate a tie only if `ties` is true. `preferences` says what to look for where all dimensions are
    judged together; without a text, the judge gets those of the dimensions.
    """

    ties: bool = True
    """Whether a judge may call the debate a tie."""
    preferences: Preferences = Preferences()
    """What to look for where all dimensions are judged together."""


class DimensionConfig(_Frozen):
    """A scored dimension with its own scale.

    Scores are multiples of `step`; without one, `integer` says whether they must be whole numbers.

    Where judges are compared with people, `weight` is its weight in the whole debate, and scores of both sides that
    differ by no more than `tie_band` count as a tie. A judge method that decides each dimension may name no winner on
    it only if `ties` is true, and gets the texts of `preferences`. `anchors` says what a score means, by score as text,
    and `by_category` what the dimension asks of each side in debates of a category.
    """

    min: ScoreValue = Decimal(1)
    """The lowest score."""
    max: ScoreValue = Decimal(10)
    """The highest score."""
    description: str | None = None
    """What is scored, in the words that judges read."""
    integer: bool | None = None
    """Whether scores are whole numbers; nothing: they are if both ends of the scale are."""
    weight: ScoreValue = Field(Decimal(1), ge=0)
    """Its weight in the whole debate, where judges are compared with people."""
    tie_band: ScoreValue = Field(Decimal(0), ge=0)
    """Scores of both sides that differ by no more than this are a tie."""
    ties: bool = True
    """Whether a judge method may name no winner on it."""
    preferences: Preferences = Preferences()
    """What a judge method tells a judge to look for, by stage."""
    anchors: dict[str, str] = Field(default_factory=dict)
    """What a score means, by score as text."""
    by_category: dict[str, SideGuidance] = Field(default_factory=dict, exclude_if=lambda value: not value)
    """What it asks of each side in debates of a category."""
    step: ScoreValue | None = Field(None, gt=0)
    """The difference between neighbouring scores."""

    @cached_property
    def is_integer(self) -> bool:
        """Whether scores must be whole numbers: as configured, else when both ends of the scale are."""
        if self.step is not None:
            return self.step % 1 == 0
        ends_are_whole = self.min == self.min.to_integral_value() and self.max == self.max.to_integral_value()
        return ends_are_whole if self.integer is None else self.integer

    @cached_property
    def scores(self) -> Scale:
        """Which scores are on the scale."""
        if self.step is not None:
            return Scale(self.min, self.max, self.step)
        return Scale(self.min, self.max, Decimal(1) if self.is_integer else FINEST_STEP)

    @cached_property
    def ends(self) -> tuple[int | float, int | float]:
        """Both ends of the scale as JSON numbers."""
        low, high = (int(end) if end == end.to_integral_value() else float(end) for end in (self.min, self.max))
        return low, high

    @cached_property
    def scale(self) -> str:
        """The scale in words; its ends are written as 1, 0.5 and 100, never 1.0 or 1E+2."""
        kind = "whole number" if self.is_integer else "number"
        steps = "" if self.step in (None, 1) else f" in steps of {plain(self.scores.step)}"
        return f"{kind} from {plain(self.min)} to {plain(self.max)}{steps}"

    def columns(self) -> dict[str, Any]:
        """What its record `Dimension` says about it."""
        return {
            "min_score": self.min,
            "max_score": self.max,
            "step": self.scores.step,
            "description": self.description,
            "weight": self.weight,
            "allows_ties": self.ties,
            "tie_band": self.tie_band,
            "anchors": self.anchors or None,
            "by_category": {name: each.model_dump() for name, each in self.by_category.items()} or None,
        }


# SQL models sum ratings exactly, as decimals with nine digits before the point.
MOST_RATING = 1_000_000
MOST_K_FACTOR = 10_000


class EloConfig(_Frozen):
    """Settings of the Elo pass."""

    initial_rating: float = Field(400.0, ge=-MOST_RATING, le=MOST_RATING)
    """The Elo rating with which every debater begins; the mean of the Bradley–Terry ratings."""
    k_factor: float = Field(32.0, gt=0, le=MOST_K_FACTOR)
    """How many points a game can move an Elo rating."""
    min_games_for_display: int = Field(5, ge=0)
    """Debaters with fewer games are rated, but not shown on the leaderboard."""


class PriceList(_Frozen):
    """USD per token of each kind, and per request, as published by providers.

    `prompt` is for tokens that the provider's cache does not change the price of, `cached_prompt` for tokens that were
    read from it and `cache_write` for those that were written to it; None where that price is not known. `reasoning` is
    for thinking where it costs other than the rest of the completion.
    """

    prompt: Decimal = Field(ge=0)
    """USD per token of the prompt."""
    completion: Decimal = Field(ge=0)
    """USD per token of the completion."""
    cached_prompt: Decimal | None = Field(None, ge=0)
    """USD per token that was read from the provider's cache."""
    cache_write: Decimal | None = Field(None, ge=0)
    """USD per token that was written to it."""
    reasoning: Decimal | None = Field(None, ge=0)
    """USD per token of thinking, where it costs other than the rest of the completion."""
    request: Decimal = Field(Decimal(0), ge=0)
    """USD per request."""


class Pricing(PriceList):
    """The prices of the standard tier, and by name those of other tiers in which requests may be served."""

    tiers: dict[str, PriceList] = Field(default_factory=dict)
    """The prices of other tiers of service, by name."""

    def of_tier(self, tier: str | None) -> PriceList | None:
        """The prices of a tier in a provider's word; None where they are not known."""
        name = tier_name(tier)
        return self if name == "standard" else self.tiers.get(name)

    @property
    def lists(self) -> tuple[PriceList, ...]:
        """The prices of all tiers, the standard one first."""
        return self, *self.tiers.values()


USUAL_TIMEOUT_S = 600.0
"""The seconds that an answer may take where the configuration does not say."""


class RateLimits(_Frozen):
    """The limits of a provider; None where it sets no limit. Tokens are those of prompt and completion."""

    max_concurrency: int | None = Field(None, gt=0)
    """Requests in flight."""
    requests_per_minute: int | None = Field(None, gt=0)
    """Requests within any 60 seconds."""
    tokens_per_minute: int | None = Field(None, gt=0)
    """Tokens within any 60 seconds."""


class MemberConfig(_Frozen):
    """A debater or a judge: an id, and the provider's model behind it.

    `parameters` are sent to the provider unchanged; one that is null removes the field of its name from requests, also
    `temperature`, `seed`, `max_tokens` and `response_format`. `token_limit` caps the completion, and every cap that is
    sent is larger by `thinking_tokens`. For judges only: `method` is the judge method, `prompt_style` selects
    `configs/prompts/judge_<style>.md` (or the variant of that style of the method's prompts), and a request that does
    not fit into `context_window` together with its answer is not sent.
    With `trust_reported_cost`, the cost that a server reports in its answers is believed to be billed, in USD. `limits`
    apply to the provider's model, `provider_limits` to all requests to the provider with the same key, and `timeout` is
    how many seconds an answer may take. These affect how a run is played, not its content: they are not part of a plan
    as JSON, so a run may continue with others.
    """

    id: str
    """The name of the debater or judge in every table and on every page."""
    provider: str
    """Who is asked: a provider of the table in running.md, `http` or `simulated`."""
    model: str
    """The provider's name of the model."""
    endpoint: str | None = None
    """The base URL of the server, or the full address of its chat completions; nothing: the provider's."""
    api_key_env: str | None = None
    """The environment variable that holds the key; nothing: the provider's."""
    allow_insecure: bool = False
    """Whether keys and debates may travel by plain http to another machine."""
    environment_proxies: bool = False
    """Whether requests go through the proxies that the environment names."""
    trust_reported_cost: bool = False
    """Whether the cost that a server reports counts as billed, in USD."""
    token_limit: int | None = Field(None, gt=0)
    """The longest answer in tokens; the round's limit may be lower."""
    thinking_tokens: int | None = Field(None, gt=0)
    """Room for thinking, by which every limit that is sent is larger."""
    method: str = "direct"
    """For judges: the judge method."""
    prompt_style: str = "default"
    """For judges: the style of the prompt, configs/prompts/judge_STYLE.md."""
    context_window: int | None = Field(None, gt=0)
    """For judges: a request that does not fit into so many tokens with its answer is not sent."""
    parameters: dict[str, Any] = Field(default_factory=dict)
    """Parameters that are sent unchanged; one that is null removes a field from requests."""
    pricing: Pricing | None = None
    """The prices of the model; without any, costs are unknown and never 0."""
    earlier_parameters: tuple[dict[str, Any], ...] = Field(default=(), exclude=True)
    """Parameters that were replaced after the model had answered with them, oldest first; a plan's parts have them."""
    timeout: float = Field(default=USUAL_TIMEOUT_S, gt=0, le=86_400, exclude=True)
    """How many seconds an answer may take."""
    limits: RateLimits = Field(default=RateLimits(), exclude=True)
    provider_limits: RateLimits = Field(default=RateLimits(), exclude=True)

    def removes(self, *names: str) -> bool:
        """Whether the parameters remove a field with one of these names from requests."""
        parameters = self.parameters
        return bool(parameters) and any(name in parameters and parameters[name] is None for name in names)

    def sent_cap(self, cap: int | None) -> int | None:
        """The token limit that is sent for an answer of at most `cap` tokens; None when none is sent."""
        if cap is None or self.removes("max_tokens", "max_completion_tokens"):
            return None
        return cap + (self.thinking_tokens or 0)

    def is_same_as(self, other: MemberConfig) -> bool:
        """Whether two entries are the same contestant: the same id, or the same provider and model."""
        return self.id == other.id or (self.provider, self.model) == (other.provider, other.model)


class TopicConfig(_Frozen):
    """A motion to debate."""

    id: str
    """The name of the topic in every table and on every page."""
    motion: str
    """The sentence that is debated."""
    category: str | None = None
    """The kind of topic, by which results can be grouped."""
    info_slide: str | None = None
    """What debaters and judges are told about the motion beforehand."""


Turns = Literal["all", "after_opponent"]
"""Which speeches of its side carry a weakness: all, or those after the opponent has spoken."""


class WeaknessConfig(_Frozen):
    """A flaw that can be injected into one side of a debate.

    `instruction` is what the debater of that side is told, and `dimension` where the flaw should cost the side points.
    """

    id: str
    """The name of the flaw."""
    instruction: str
    """What the debater of that side is told. No one else reads it."""
    turns: Turns
    """The speeches that carry the flaw: `all`, or those `after_opponent` has spoken."""
    dimension: str
    """The dimension on which the flaw should cost the side points."""

    def first_turn(self, rounds: Sequence[Round], side: Side) -> int | None:
        """The turn from which the speeches of `side` carry the flaw; None if the format has no such speech."""
        has_opponent_spoken = self.turns == "all"
        for number, turn in enumerate(rounds):
            if turn.role != side:
                has_opponent_spoken = True
            elif has_opponent_spoken:
                return number
        return None


# Settings of a dimension that the first versions did not have.
_LATER = {"weight", "tie_band", "ties", "preferences", "anchors", "step", "by_category"}


class Config(_Frozen):
    """The contents of `config.yaml`: the debate format, the rubric and the rating settings.

    Files in `configs/formats/` and `configs/rubrics/` replace the first two; `weaknesses` has a file of its own.

    As JSON, `dimensions` is a list, because their order is part of the judges' prompt and object keys are unordered.
    """

    benchmark_name: str = "debatebench"
    """The name of the benchmark."""
    benchmark_version: str = "v1"
    """Its version; give a new one when the format, the topics or the prompts change."""
    rubric_version: str = "v1"
    """The version of the rubric; without it, the benchmark's version."""
    language: str = "en"
    """The language of the debates."""
    rounds: tuple[Round, ...]
    """The turns of a debate, in order."""
    temperature: float = Field(0.7, ge=0)
    """The temperature of debaters whose parameters name none. Judges answer at 0."""
    on_refusal: OnRefusal = "void"
    """What becomes of a debate in which a debater refuses to speak: in no rating, or won by the other side."""
    system_prompt_pro: str | None = None
    """The prompt of the side for the motion, in place of the file in configs/prompts/."""
    system_prompt_con: str | None = None
    """The prompt of the side against the motion, in place of the file."""
    judge_system_prompt: str | None = None
    """The prompt of judges, in place of the file."""
    dimensions: dict[str, DimensionConfig]
    """What judges score, by name."""
    judges_per_debate: int = Field(3, ge=1)
    """How many judges are on the panel of a debate."""
    elo: EloConfig = EloConfig()
    """The settings of ratings."""
    weaknesses: tuple[WeaknessConfig, ...] = ()
    weakness_taxonomy: str | None = Field(None, exclude_if=lambda name: name is None)
    """What the ids of `weaknesses` mean; None without any, and in runs of versions that knew one taxonomy only."""
    whole: WholeConfig = WholeConfig()
    """How a judge method judges the debate as a whole."""

    @property
    def is_of_teams(self) -> bool:
        """Whether four teams debate, and not two sides."""
        return any(turn.is_of_team for turn in self.rounds)

    def weakness(self, weakness_type: str | None) -> WeaknessConfig | None:
        """The weakness with that id; None without one."""
        return next((weakness for weakness in self.weaknesses if weakness.id == weakness_type), None)

    @model_serializer(mode="wrap")
    def _without_later_settings(self, to_plain: SerializerFunctionWrapHandler) -> dict[str, Any]:
        plain: dict[str, Any] = to_plain(self)
        if self.whole == WholeConfig():
            del plain["whole"]
        return plain

    @field_serializer("dimensions", when_used="json")
    def _dimensions_to_list(self, dimensions: dict[str, DimensionConfig]) -> list[dict[str, Any]]:
        # A later setting is left out at its default, so that configurations of any version compare.
        return [
            {
                "dimension": name,
                **d.model_dump(mode="json", exclude=_LATER),
                **d.model_dump(mode="json", include=_LATER, exclude_defaults=True),
            }
            for name, d in dimensions.items()
        ]

    @field_validator("dimensions", mode="before")
    @classmethod
    def _dimensions_from_list(cls, value: Any) -> Any:
        if not isinstance(value, list):
            return value
        return {entry["dimension"]: {k: v for k, v in entry.items() if k != "dimension"} for entry in value}
