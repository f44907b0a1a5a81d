"""Frozen records: one class per landed table, and the only schema of `raw.*`.

Records cross the border between playing and analysis. The code that makes a record (the runner through the journal, an
importer from a file) validates it; the code that reads it trusts it. The table's columns, types and key are derived
from the class (`record_columns.py`), so a table and its record cannot drift apart.

Conventions: times are naive UTC; money is USD with eighteen decimals and `None` when unknown, never 0; scores are exact
decimals; text holds no lone surrogates (`clean_text`), because DuckDB refuses them.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime
from decimal import ROUND_HALF_UP, Context, Decimal, DecimalException, Inexact, InvalidOperation
from typing import Annotated, Any, ClassVar, Literal, NamedTuple

import msgspec
from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field

from debatebench.shared.json_bytes import from_json
from debatebench.shared.record_columns import Column, reader_of

_SURROGATES = re.compile("[\ud800-\udfff]")
_FINEST_MONEY = Decimal("1e-18")
MOST_MONEY = Decimal("99999999.999999999999999999")
"""The largest amount in USD that a column can hold."""
MOST_PRICE = Decimal(1)
"""The largest price of a token in USD, thousands of times that of the dearest model."""
MOST_SCORE = Decimal(1_000_000)
"""The largest score, weight and tie band, and the farthest end of a scale: SQL models multiply and square them, and add
up millions of the products, as exact decimals."""
MOST_COUNT = 10**12
"""The largest number of tokens of an answer, or of anything else that is counted: millions of them can be added up."""
_FINEST_SCORE = Decimal("1e-6")
# A value with more digits than its column can hold raises `InvalidOperation`.
_ROUNDED = Context(prec=26, rounding=ROUND_HALF_UP, traps=[InvalidOperation])
_EXACT = Context(prec=18, traps=[InvalidOperation, Inexact])
_ENCODE = msgspec.json.Encoder().encode


def clean_text(text: str) -> str:
    """Return `text` with every lone surrogate replaced by U+FFFD; everything else, NUL included, is kept."""
    # Most text is plain ASCII, and Python stores that fact with it. Encoding is the fastest search.
    if text.isascii():
        return text
    try:
        text.encode()
    except UnicodeEncodeError:
        return _SURROGATES.sub("\ufffd", text)
    return text


def _clean(value: Any) -> Any:
    """Clean every string in a JSON value."""
    if isinstance(value, str):
        return clean_text(value)
    if isinstance(value, dict):
        return {clean_text(str(k)): _clean(v) for k, v in value.items()}
    if isinstance(value, list | tuple):
        return [_clean(v) for v in value]
    return value


def _to_naive_utc(value: Any) -> Any:
    """Accept ISO text or datetimes; a time with an offset is converted to UTC, a time without one is taken as UTC."""
    if isinstance(value, str):
        value = datetime.fromisoformat(value)
    if isinstance(value, datetime) and value.tzinfo is not None:
        value = value.astimezone(UTC).replace(tzinfo=None)
    return value


def to_money(value: Decimal) -> Decimal:
    """USD rounded to eighteen decimals, half up as in DuckDB. Raises `ValueError` for more than the column can hold.

    A token costs at least a billionth of a dollar, or a tenth of that from a cache, so no real cost becomes 0.
    """
    try:
        return value.quantize(_FINEST_MONEY, context=_ROUNDED)
    except InvalidOperation:
        raise ValueError(f"{value} has more than eight digits before the decimals") from None


def _check_score(value: Decimal) -> Decimal:
    """Refuse a score that SQL models cannot calculate with exactly."""
    if not -MOST_SCORE <= value <= MOST_SCORE:
        raise ValueError(f"{value} is not between -{MOST_SCORE:,} and {MOST_SCORE:,}")
    try:
        value.quantize(_FINEST_SCORE, context=_EXACT)
    except DecimalException:
        raise ValueError(f"{value} has more than six decimals") from None
    return value


# Money is written as text; decimals below a millionth have an exponent. Older journals hold ten decimals.
_WRITTEN_MONEY = Annotated[
    str, msgspec.Meta(pattern=r"^-?([0-9]{1,8}\.([0-9]{10}|[0-9]{18})|[0-9](\.[0-9]{1,11})?E-([789]|1[0-8]))\Z")
]
_WRITTEN_SCORE = Annotated[str, msgspec.Meta(pattern=r"^-?([0-9]{1,6}(\.[0-9]{1,6})?|1000000(\.0{1,6})?)\Z")]
_WRITTEN_TIME = Annotated[datetime, msgspec.Meta(tz=False)]

Text = Annotated[str, AfterValidator(clean_text)]
Json = Annotated[Any, BeforeValidator(_clean), Column("JSON")]
UtcTime = Annotated[datetime, BeforeValidator(_to_naive_utc), Column("TIMESTAMP", _WRITTEN_TIME)]
# Floats become decimals through their shortest text, so 0.1 stays 0.1; booleans, NaN and infinity are refused.
Money = Annotated[Decimal, AfterValidator(to_money), Column("DECIMAL(26,18)", _WRITTEN_MONEY)]
ScoreValue = Annotated[Decimal, AfterValidator(_check_score), Column("DECIMAL(18,6)", _WRITTEN_SCORE)]
Place = Annotated[int, Field(ge=1, le=4), Column("BIGINT", Annotated[int, msgspec.Meta(ge=1, le=4)])]
Side = Literal["pro", "con"]
Position = Literal["pro", "con", "OG", "OO", "CG", "CO"]
TEAMS: tuple[Position, ...] = ("OG", "OO", "CG", "CO")
"""The positions of British Parliamentary debate: opening and closing, government and opposition."""
Winner = Literal["pro", "con", "tie"]
SkipReason = Literal["cannot_judge", "not_a_debate", "language", "wrong_side"]
CostSource = Literal["billed", "estimated", "repriced"]


class Row(NamedTuple):
    """A row as it lands: the table, the run tag, and all columns as JSON in UTF-8; or several rows, one per line."""

    table: str
    run_tag: str
    json: bytes
    lines: int = 1


class Record(BaseModel):
    """A row of one landed table. `table` and `key` belong to the class, not to the row."""

    model_config = ConfigDict(
        frozen=True, extra="forbid", allow_inf_nan=False, ser_json_inf_nan="strings", defer_build=True
    )

    run_tag: Text

    table: ClassVar[str] = ""
    key: ClassVar[tuple[str, ...]] = ()

    def key_values(self) -> tuple[Any, ...]:
        """The values of the key columns, in the order of the key."""
        return tuple(getattr(self, name) for name in self.key)

    def row(self) -> Row:
        """The record as it lands."""
        return Row(self.table, self.run_tag, self.model_dump_json().encode())

    @classmethod
    def row_of(cls, text: bytes | msgspec.Raw) -> Row:
        """The row of a JSON text; many times faster than through a record, if such a record wrote the text.

        Raises pydantic's `ValidationError` (a `ValueError`) as `model_validate` does.
        """
        try:
            columns = reader_of(cls)(text)
        except ValueError:
            # Only the record itself decides what is refused and what is repaired, such as a lone surrogate.
            return cls.model_validate(from_json(bytes(text))).row()
        return Row(cls.table, columns.run_tag, _ENCODE(columns))


class Score(BaseModel):
    """What one judge gave both sides on one dimension, exact."""

    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)

    dimension: Text
    pro: ScoreValue
    con: ScoreValue


class TeamRank(BaseModel):
    """The place that people gave one of four teams: 1 is the best. Two teams may share the first, and none another."""

    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)

    team: Text
    rank: Place


class TeamScore(BaseModel):
    """What people gave one of four teams on one dimension, exact."""

    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)

    dimension: Text
    team: Text
    score: ScoreValue


class Run(Record):
    """One tournament that was played, or one tag that was imported, with the settings frozen when it began."""

    table = "runs"
    key = ("run_tag",)

    source: Literal["run", "import"]
    format: Text = Field(
        description="`tournament` for a run that plays debates, `judging` for one that judges the stored debates of "
        "another, `probing` for one that also judges attacked copies of them; the importer's name for an import."
    )
    source_run_tag: Text | None = Field(
        None, description="The run or import whose stored debates this run judges; null for all others."
    )
    benchmark_name: Text | None = None
    benchmark_version: Text | None = None
    rubric_version: Text | None = None
    harness_version: Text | None = None
    git_commit: Text | None = None
    language: Text | None = None
    seed: int | None = None
    created_at: UtcTime | None = None
    is_simulated: bool = False
    allows_judge_overlap: bool = False
    elo_initial_rating: float = 400.0
    elo_k_factor: float = 32.0
    min_games_for_display: int = 5
    config: Json = None
    options: Json = None
    prompt_hashes: Json = None


class Topic(Record):
    """A motion as it was in this run or import."""

    table = "topics"
    key = ("run_tag", "topic_id")

    topic_id: Text
    source_position: int
    motion: Text
    category: Text | None = None
    info_slide: Text | None = None


class Debater(Record):
    """A debater as configured for this run, or as named by an import."""

    table = "debaters"
    key = ("run_tag", "model_id")

    model_id: Text
    provider: Text | None = None
    model_name: Text | None = None
    is_simulated: bool = False
    token_limit: int | None = None
    thinking_tokens: int | None = Field(
        None, description="Tokens for thinking, by which every token limit that was sent is larger."
    )
    parameters: Json = None
    earlier_parameters: Json = Field(
        None, description="Parameters that were replaced after the model had answered with them, oldest first."
    )
    pricing: Json = Field(
        None, description="Prices in US dollars per token, as configured, as JSON; null where none is configured."
    )


class Judge(Record):
    """A judge of the pool as configured for this run, or as named by an import."""

    table = "judges"
    key = ("run_tag", "judge_id")

    judge_id: Text
    provider: Text | None = None
    model_name: Text | None = None
    is_simulated: bool = False
    method: Text = Field("direct", description="The judge method: how a transcript becomes a verdict.")
    is_baseline: bool = Field(
        False, description="Whether the method is a fixed rule without a model. Baselines have no vote in panels."
    )
    prompt_style: Text | None = None
    context_window: int | None = Field(None, description="The most tokens of a request and its answer.")
    token_limit: int | None = None
    thinking_tokens: int | None = Field(
        None, description="Tokens for thinking, by which every token limit that was sent is larger."
    )
    parameters: Json = None
    earlier_parameters: Json = Field(
        None, description="Parameters that were replaced after the model had answered with them, oldest first."
    )
    pricing: Json = Field(
        None, description="Prices in US dollars per token, as configured, as JSON; null where none is configured."
    )


class Dimension(Record):
    """A scored dimension with its own scale; the scale is unknown if an import does not state one."""

    table = "dimensions"
    key = ("run_tag", "dimension")

    dimension: Text
    source_position: int
    min_score: ScoreValue | None = None
    max_score: ScoreValue | None = None
    step: ScoreValue | None = Field(
        None,
        description="The difference of neighbouring scores, which are its multiples; 0.000001 where any number counts. "
        "Null where nothing says it: whole numbers if both ends are, else any numbers.",
    )
    description: Text | None = None
    weight: ScoreValue = Field(Decimal(1), description="Its weight in the whole debate.")
    allows_ties: bool = Field(True, description="Whether a judge may name no winner on it.")
    tie_band: ScoreValue = Field(
        Decimal(0), description="Scores of both sides that differ by no more than this count as a tie."
    )
    anchors: Json = Field(None, description="What a score means, by score; null where the rubric does not say.")
    by_category: Json = Field(
        None,
        description="What it asks of pro and of con, by category of topics; null where the rubric does not say.",
    )


class ScheduledDebate(Record):
    """A debate of the frozen plan, whether it was played or not. Imports have none."""

    table = "schedule"
    key = ("run_tag", "debate_id")

    debate_id: Text
    schedule_position: int
    topic_id: Text
    pro_model_id: Text | None
    con_model_id: Text | None
    repetition: int | None
    debate_seed: int
    panel: tuple[Text, ...]
    con_first: tuple[Text, ...] = Field(
        (), description="The judges of the panel that are shown con first; empty without --swap-order."
    )
    source_debate_id: Text | None = Field(
        None, description="The stored debate that is judged, in the run's source; null in a run that plays debates."
    )
    trial: int = Field(1, description="Which time the stored debate is judged, from 1.")
    weakness_type: Text | None = Field(None, description="The flaw that one side is to show; null for a control.")
    weakness_side: Side | None = Field(None, description="The side that is to show it.")
    attack: Text | None = Field(
        None, description="How the stored debate is altered to mislead its judges; null where it is not altered."
    )
    attack_side: Side | None = Field(None, description="The side that the attack should help.")
    teams: tuple[Text, ...] = Field(
        (), description="The debaters of OG, OO, CG and CO, in this order; empty where two sides debate."
    )

    def model_post_init(self, _context: Any, /) -> None:
        """Share the set of field names between objects: it is half of their memory, and plans may be long."""
        object.__setattr__(self, "__pydantic_fields_set__", _SCHEDULE_FIELDS)

    @property
    def speakers(self) -> dict[Position, str]:
        """The debaters who speak in this run: one at each position, and nobody where a stored debate is judged."""
        if self.teams:
            return dict(zip(TEAMS, self.teams, strict=True))
        if self.source_debate_id is not None or self.pro_model_id is None or self.con_model_id is None:
            return {}
        return {"pro": self.pro_model_id, "con": self.con_model_id}


_SCHEDULE_FIELDS = set(ScheduledDebate.model_fields)


class Debate(Record):
    """A debate that took place. Four-team debates have no pro or con debater here; see `participants`."""

    table = "debates"
    key = ("run_tag", "debate_id")

    debate_id: Text
    source_position: int = Field(
        description="The debate's place in the plan of a run, or in the source of an import, from 0."
    )
    schedule_position: int | None = None
    topic_id: Text
    format: Literal["two_sided", "british_parliamentary"] = "two_sided"
    pro_model_id: Text | None = None
    con_model_id: Text | None = None
    repetition: int | None = None
    debate_seed: int | None = None
    status: Literal["complete", "incomplete", "void", "forfeit"] = "complete"
    status_reason: Text | None = None
    refused_by: Side | None = Field(
        None,
        description="The side whose debater refused to speak, or was refused by its provider. Such a debate is void "
        "and in no rating, or a forfeit: the other side has won. Null for all others.",
    )
    created_at: UtcTime | None = None
    judges_expected: int | None = None
    judges_actual: int | None = None
    panel_latency_ms: float | None = None
    recorded_winner: Text | None = Field(
        None, description="The winner that an import's source states; it is never derived."
    )
    source_debate_id: Text | None = Field(
        None,
        description="The stored debate that was judged, in the run's source, which has its turns; null for a debate "
        "with turns of its own.",
    )
    trial: int = Field(1, description="Which time the stored debate was judged, from 1.")
    attack: Text | None = Field(
        None, description="How the stored debate was altered to mislead its judges; null where it was not altered."
    )
    attack_side: Side | None = Field(None, description="The side that the attack should help.")
    dimension_order: tuple[Text, ...] | None = Field(
        None, description="Order in which an import's source lists the dimensions of this debate."
    )
    is_control: bool | None = Field(
        None,
        description="Whether the debate was made without a weakness, for comparison; null where this does not apply.",
    )
    metadata: Json = None


class Participant(Record):
    """A debater and its position: `pro` and `con`, or `OG`, `OO`, `CG`, `CO` in British Parliamentary."""

    table = "participants"
    key = ("run_tag", "debate_id", "position")

    debate_id: Text
    position: Text
    model_id: Text
    side: Side


class Turn(Record):
    """One speech. Tokens, cost and duration are those of the call whose answer became the speech."""

    table = "turns"
    key = ("run_tag", "debate_id", "turn_index")

    debate_id: Text
    turn_index: int
    position: Text
    side: Side
    model_id: Text
    stage: Text | None = None
    content: Text
    reasoning: Text | None = None
    created_at: UtcTime | None = None
    duration_ms: float | None = None
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    total_tokens: int | None = None
    cost: Money | None = Field(None, description="Cost in the currency of `currency`; null, not 0, when unknown.")
    cost_source: CostSource | None = None
    currency: Text | None = None
    finish_reason: Text | None = None
    is_truncated: bool = False
    serving_provider: Text | None = None
    generation_id: Text | None = None
    call_id: Text | None = None
    metadata: Json = None
    instruction: Text | None = Field(
        None,
        description="What the debate format asks of this speech, such as questions instead of arguments; null where it "
        "asks nothing in particular.",
    )


class AttackedTurn(Record):
    """One speech of a stored debate as the judges of an attacked copy of it read it."""

    table = "attacked_turns"
    key = ("run_tag", "debate_id", "turn_index")

    debate_id: Text
    turn_index: int
    position: Text
    side: Side
    stage: Text | None = None
    content: Text


class Verdict(Record):
    """One judge's verdict on one debate.

    Tokens and cost are the known parts of the answers that led to it, as the judge's requests recorded them, and null
    where nothing is known; failed attempts are not in them. In an import they are what its source states. Sums run over
    `Call`; `intermediate.int_verdict_costs` has what a verdict cost in all. Latency is the sum over those answers, and
    null if a request had none.
    """

    table = "verdicts"
    key = ("run_tag", "debate_id", "judge_id")

    debate_id: Text
    judge_id: Text
    panel_position: int
    presented_first: Side | None = Field(
        None,
        description="The side whose speeches the judge was shown first. With --swap-order it is drawn, and each judge "
        "has con first in half of its debates; without, it is the side that spoke first. Null for imports.",
    )
    is_valid: bool
    invalid_reason: Text | None = None
    declared_winner: Winner | None = None
    scores: tuple[Score, ...] | None = None
    raw_response: Text | None = None
    created_at: UtcTime | None = None
    latency_ms: float | None = None
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    total_tokens: int | None = None
    cost: Money | None = Field(None, description="Cost in the currency of `currency`; null, not 0, when unknown.")
    cost_source: CostSource | None = None
    currency: Text | None = None
    asks: int = Field(1, description="The number of requests to the judge about this debate.")
    replaces_judge_id: Text | None = Field(None, description="The panel judge whose seat this one took.")
    is_repaired: bool = Field(
        False,
        description="Whether an answer was not just the JSON object that was asked for, in strict JSON: the object was "
        "cut out of its surroundings, or slips around its values were mended.",
    )
    is_truncated_after_verdict: bool = Field(
        False, description="Whether an answer reached the token limit after the end of its object."
    )
    is_injection_suspected: bool = False
    call_id: Text | None = Field(None, description="The call whose answer counted; null for imports.")
    metadata: Json = None


class JudgeNote(Record):
    """One statement of a judge on the way to its verdict: an analysis, a score with its reason, or a winner.

    `step` is `speech` (the analysis of a speech), `debate` (of the whole debate), `score` (of a position), `winner`
    (one row per winning position; a tie has a row for each that shares it), `reason` (for a side, or without a
    position for the winner), `summary` (over dimensions).
    """

    table = "judge_notes"
    key = ("run_tag", "debate_id", "judge_id", "note_index")

    debate_id: Text
    judge_id: Text
    note_index: int
    step: Literal["speech", "debate", "score", "winner", "reason", "summary"]
    dimension: Text | None = Field(None, description="Null for a statement about the whole.")
    speech: int | None = Field(None, description="The turn that was analysed.")
    position: Text | None = Field(None, description="The position of the speaker, or the one that is scored or wins.")
    text: Text | None = None
    score: ScoreValue | None = None
    call_id: Text | None = Field(None, description="The call whose answer it is from.")


class Call(Record):
    """One attempt at a request to a provider, answered or not."""

    table = "calls"
    key = ("run_tag", "call_id", "attempt")

    call_id: Text
    attempt: int
    debate_id: Text
    step: Text
    purpose: Literal["turn", "verdict"]
    model_id: Text | None = Field(None, description="The debater that received the request, for a turn.")
    judge_id: Text | None = Field(None, description="The judge that received the request, for a verdict.")
    provider: Text
    model_name: Text
    status: Literal["answered", "unsent", "retried", "ambiguous", "empty", "refused", "oversize", "failed", "stopped"]
    error: Text | None = None
    http_status: int | None = None
    sent_at: UtcTime | None = None
    duration_ms: float | None = None
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    total_tokens: int | None = None
    cached_tokens: int | None = Field(
        None, description="Tokens of the prompt that were read from the provider's cache; null where it does not say."
    )
    cache_write_tokens: int | None = Field(
        None, description="Tokens of the prompt that were written to the provider's cache; null where it does not say."
    )
    reasoning_tokens: int | None = Field(
        None, description="Tokens of the completion that are thinking; null where the provider does not say."
    )
    service_tier: Text | None = Field(
        None,
        description="The tier in which the request was served, in the provider's word; null where it does not say.",
    )
    cost: Money | None = None
    cost_source: CostSource | None = None
    unpriced_reason: Text | None = Field(
        None, description="Why the cost is not known; null where it is, and where nothing was billed."
    )
    possible_cost: Money | None = Field(
        None,
        description="Where the cost is unknown: what the attempt may have cost at most, in US dollars (the whole "
        "request, one token per byte, and the whole token limit, at the known price). Null where the cost is known, "
        "where nothing was billed, and where no price or token limit bounds it.",
    )
    finish_reason: Text | None = None
    served_model: Text | None = None
    serving_provider: Text | None = None
    generation_id: Text | None = None
    request_sha256: Text | None = Field(None, description="Hash of the request before it was adjusted.")
    adjusted: tuple[Text, ...] | None = Field(
        None,
        description="Optional fields that the server refuses: `temperature`, `seed` and `response_format` were left "
        "out, `max_tokens` had its other name, the text of `system` stood before the first user message. Else null.",
    )


class Annotation(Record):
    """A human's verdict on a debate. Four teams have ranks and scores by team, and neither a winner nor `scores`."""

    table = "annotations"
    key = ("run_tag", "debate_id", "annotator_id")

    debate_id: Text
    annotator_id: Text
    winner: Winner | None = None
    justification: Text | None = None
    scores: tuple[Score, ...] | None = None
    confidence: int | None = Field(None, description="How sure the annotator was, from 1 (a guess) to 5 (certain).")
    is_coherent: bool | None = Field(
        None, description="Whether the annotator found the debate fit to be judged; null if that was not asked."
    )
    skip_reason: SkipReason | None = Field(
        None, description="Why the annotator gave no verdict on the debate; null with a verdict."
    )
    ranks: tuple[TeamRank, ...] | None = Field(None, description="The place of each of four teams; null for two sides.")
    team_scores: tuple[TeamScore, ...] | None = Field(
        None, description="The scores of four teams by dimension; null for two sides."
    )
    annotated_at: UtcTime | None = None
    source: Text | None = None
    metadata: Json = None


class Adjudication(Record):
    """The verdict that one reviewer recorded as agreed, after people had annotated the debate one by one."""

    table = "adjudications"
    key = ("run_tag", "debate_id", "adjudicator_id")

    debate_id: Text
    adjudicator_id: Text
    winner: Winner | None = None
    justification: Text | None = None
    scores: tuple[Score, ...] | None = None
    ranks: tuple[TeamRank, ...] | None = Field(None, description="The place of each of four teams; null for two sides.")
    team_scores: tuple[TeamScore, ...] | None = Field(
        None, description="The scores of four teams by dimension; null for two sides."
    )
    adjudicated_at: UtcTime | None = None
    is_coherent: bool | None = Field(
        None, description="False if it was agreed that the debate is not fit to be judged; null if that was not asked."
    )


class Gold(Record):
    """An external verdict: of the whole debate (unit `winner`) or of one dimension (unit = its name)."""

    table = "gold"
    key = ("run_tag", "debate_id", "unit")

    debate_id: Text
    unit: Text
    label: ScoreValue | None = Field(None, description="0 for pro, 0.5 for a tie, 1 for con; null for four teams.")
    winner: Winner | None = Field(None, description="The label as a word; null for four teams.")
    winning_positions: tuple[Text, ...] = Field((), description="The positions that won; both for a tie.")
    vote_count: int | None = None
    metadata: Json = None


class Weakness(Record):
    """A flaw that was injected into one side of a debate. A control debate has none."""

    table = "weaknesses"
    key = ("run_tag", "debate_id", "side")

    debate_id: Text
    side: Side
    weakness_type: Text = Field(description="The kind of flaw, under the id that the taxonomy of the run has for it.")
    dimension: Text | None = Field(None, description="The dimension on which the flaw should cost the side points.")
    taxonomy: Text | None = Field(None, description="What says what `weakness_type` means; null if it is not known.")
    metadata: Json = None


class RunSetting(Record):
    """A setting that can make a run's numbers differ from another run's. Landing derives it from the other tables."""

    table = "run_settings"
    key = ("run_tag", "item", "part")

    item: Text
    part: Text
    value: Text | None = Field(None, description="The setting as text; null where it is not known.")


class RunMark(Record):
    """What people decided about a run: whether it counts, is meant by default, is archived, and its name and note.

    A run without a mark has no row. An archived run has one, and no row in any other table.
    """

    table = "run_marks"
    key = ("run_tag",)

    title: Text | None = Field(None, description="A name of the run for people; null if it has none.")
    note: Text | None = Field(None, description="What people should know about the run; null if there is no note.")
    is_excluded: bool = Field(
        False, description="Whether the run is left out of numbers over several runs, and is meant only by name."
    )
    pin_number: int | None = Field(
        None, description="The place among the pinned runs, in the order in which they were pinned, from 1; else null."
    )
    is_archived: bool = Field(False, description="Whether the run is kept in the archive, outside of the warehouse.")


TABLES: dict[str, type[Record]] = {
    cls.table: cls
    for cls in (
        Run,
        Topic,
        Debater,
        Judge,
        Dimension,
        ScheduledDebate,
        Debate,
        Participant,
        Turn,
        AttackedTurn,
        Verdict,
        JudgeNote,
        Call,
        Annotation,
        Adjudication,
        Gold,
        Weakness,
        RunSetting,
        RunMark,
    )
}
