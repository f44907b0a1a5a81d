"""A plan as plain data: a run as planned when it began, and the parts added since."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from decimal import ROUND_DOWN, Decimal
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from debatebench.config.attacks import Attack
from debatebench.config.prompts import PromptSet
from debatebench.config.types import Config, MemberConfig, TopicConfig, WeaknessConfig
from debatebench.journal.shards import Shard
from debatebench.judges import method_of
from debatebench.plan.attacks import AttackedCopy
from debatebench.plan.source import Source, SourceDebate, SourceSpeech
from debatebench.shared.errors import NewerDataError
from debatebench.shared.records import ScheduledDebate

Role = Literal["debater", "judge"]

_SMALLEST_USD = Decimal("1e-12")
_PATHS = {"config_path", "topics_path", "models_path", "judges_path", "weaknesses_path", "attacks_path"}


class PlanOptions(BaseModel):
    """The command-line options that determine a plan."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    seed: int = 12345
    debates_per_pair: int = Field(1, ge=1)
    balanced_sides: bool = True
    swap_sides: bool = False
    sample_topics: int | None = Field(None, ge=1)
    balanced_judges: bool = True
    judges_from_selection: bool = False
    allow_judge_overlap: bool = False
    swap_order: bool = False
    repeat: int = Field(1, ge=1)
    panel_size: int | None = Field(None, ge=0)
    baselines: tuple[str, ...] = ()
    selected_debates: tuple[str, ...] | None = None
    where: str | None = None
    """The condition that picked the stored debates that are judged."""
    preset: Literal["quick-test", "prod-run"] | None = None
    selected_topics: tuple[str, ...] | None = None
    categories: tuple[str, ...] | None = None
    resolution: str | None = None
    """The motion of a topic that is in no file."""
    selected_debaters: tuple[str, ...] | None = None
    selected_judges: tuple[str, ...] | None = None
    catalogue_members: tuple[str, ...] = ()
    """Ids of debaters and judges that are in no file, because they were picked from a provider's catalogue."""
    debater_prompt: str | None = None
    judge_prompt: str | None = None
    judge_method: str | None = None
    config_path: str | None = None
    topics_path: str | None = None
    models_path: str | None = None
    judges_path: str | None = None
    weaknesses_path: str | None = None
    weakness_types: tuple[str, ...] | None = None
    debate_format: str | None = None
    """The name of the file in configs/formats/ whose rounds are played."""
    rubric: str | None = None
    """The name of the file in configs/rubrics/ whose dimensions are scored."""
    control_ratio: float | None = Field(None, ge=0, le=1)
    """The share of debates without a weakness, in a run that injects weaknesses."""
    attacks_path: str | None = None
    temperature: float | None = Field(None, ge=0)
    """Of all debaters of this run."""
    max_tokens: int | None = Field(None, gt=0)
    """The longest speech, whatever the stages say, unless `apply_stage_token_limits`."""
    apply_stage_token_limits: bool = False
    judge_max_tokens: int | None = Field(None, gt=0)

    def to_compare(self) -> dict[str, Any]:
        """The options that determine the plan itself: not from which files its parts were read."""
        return self.model_dump(mode="json", exclude=_PATHS)


class MemberChange(BaseModel):
    """A new entry for a debater or judge of a run that has begun."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    role: Role
    entry: MemberConfig
    has_answered: bool
    """Whether answers with the old parameters are part of the run; they are not asked for again."""


class PlanPart(BaseModel):
    """A change to the plan of a run that has begun.

    New debaters have debates of their own, after all others. New judges take only seats that are empty when all
    other judges were asked, also in debates of a later part.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    debaters: tuple[MemberConfig, ...] = ()
    judges: tuple[MemberConfig, ...] = ()
    changes: tuple[MemberChange, ...] = ()
    debates: tuple[ScheduledDebate, ...] = ()
    harness_version: str
    git_commit: str | None = None


@dataclass(frozen=True, slots=True)
class PlannedShard:
    """The shard of a plan that a process plays.

    `plan_sha256` is the hash of the plan's file, `debates` the number of debates in it, and `share` the part of the
    run's expected cost (of its calls, where nothing has a price) that the shard is expected to take.
    """

    shard: Shard
    plan_sha256: str
    debates: int
    share: Decimal

    def of_cost(self, most: Decimal) -> Decimal:
        """What this shard may cost if the run may cost `most`; those of all shards add up to no more."""
        return (most * self.share).quantize(_SMALLEST_USD, rounding=ROUND_DOWN)


class Plan(BaseModel):
    """A run as planned when it began: inputs, prompts, options and every debate, in playing order.

    `judges` is the pool; with `judges_from_selection` it consists of the debaters themselves.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    run_tag: str
    config: Config
    topics: tuple[TopicConfig, ...]
    debaters: tuple[MemberConfig, ...]
    judges: tuple[MemberConfig, ...]
    prompts: PromptSet
    options: PlanOptions
    debates: tuple[ScheduledDebate, ...]
    harness_version: str
    git_commit: str | None = None
    parts: tuple[tuple[str, ...], ...] = ()
    """Ids of the debaters added after the run had begun, part by part. They debate, but are not in the pool."""
    added_judges: tuple[str, ...] = ()
    """Ids of the judges added after the run had begun, in that order. They sit on no panel from the beginning."""
    source: Source | None = None
    """The stored debates that the run judges; None for a run that plays debates."""
    attacks: tuple[Attack, ...] = ()
    """How stored debates are altered, if the run also judges attacked copies of them."""
    copies: dict[str, AttackedCopy] = {}
    """The attacked copies, by the id of the debate."""
    shard: PlannedShard | None = Field(None, exclude=True)
    """The shard of a frozen plan whose debates these are; None for a whole plan."""

    @cached_property
    def _topics_by_id(self) -> dict[str, TopicConfig]:
        return {topic.id: topic for topic in self.topics}

    @cached_property
    def _debaters_by_id(self) -> dict[str, MemberConfig]:
        return {debater.id: debater for debater in self.debaters}

    @cached_property
    def _judges_by_id(self) -> dict[str, MemberConfig]:
        return {judge.id: judge for judge in self.judges}

    @property
    def named(self) -> str:
        """What names this run in commands: its tag, and its shard if it is one."""
        return self.run_tag if self.shard is None else f"{self.run_tag} --shard {self.shard.shard}"

    @property
    def may_add_judges(self) -> bool | None:
        """Whether the run takes other judges; None for a shard, whose plan is frozen."""
        return None if self.shard is not None else not self.options.judges_from_selection

    def topic(self, topic_id: str) -> TopicConfig:
        """The topic with that id."""
        return self._topics_by_id[topic_id]

    def debater(self, model_id: str) -> MemberConfig:
        """The debater with that id."""
        return self._debaters_by_id[model_id]

    def judge(self, judge_id: str) -> MemberConfig:
        """The judge with that id."""
        return self._judges_by_id[judge_id]

    def stored(self, debate: ScheduledDebate) -> SourceDebate | None:
        """The stored debate that is judged; None for a debate that is played."""
        if self.source is None or debate.source_debate_id is None:
            return None
        return self.source.by_id[debate.source_debate_id]

    def weakness_in(self, debate: ScheduledDebate, turn_index: int) -> WeaknessConfig | None:
        """The weakness that a speech of a debate is to have; None for the other side, and before it begins."""
        side = self.config.rounds[turn_index].side
        if debate.weakness_type is None or debate.weakness_side != side:
            return None
        weakness = self.config.weakness(debate.weakness_type)
        first = None if weakness is None else weakness.first_turn(self.config.rounds, side)
        return weakness if first is not None and turn_index >= first else None

    def speeches_of(self, debate: ScheduledDebate) -> tuple[SourceSpeech, ...]:
        """The speeches that the judges of a stored debate, or of an attacked copy of it, read; none if it is played."""
        if (copy := self.copies.get(debate.debate_id)) is not None:
            return copy.speeches
        stored = self.stored(debate)
        return () if stored is None else stored.speeches

    def attack(self, attack_id: str) -> Attack:
        """The attack with that id."""
        return next(attack for attack in self.attacks if attack.id == attack_id)

    @cached_property
    def asked_judges(self) -> tuple[MemberConfig, ...]:
        """The judges that are sent requests: all but baselines."""
        return tuple(judge for judge in self.judges if not method_of(judge).is_baseline)

    @property
    def added_debaters(self) -> tuple[str, ...]:
        """Ids of the debaters that were added after the run had begun, in that order."""
        return tuple(debater_id for part in self.parts for debater_id in part)

    @cached_property
    def has_judge_overlap(self) -> bool:
        """Whether a judge may sit on a debate of its own, because the run allows it."""
        debaters = self.debaters if self.source is None else self.source.members
        return not self.options.judges_from_selection and bool(overlap(debaters, self.judges))

    def to_json(self) -> dict[str, Any]:
        """Plain data that `from_json` reads back; dumped with sorted keys, equal plans are equal bytes."""
        return self.model_dump(mode="json")

    @classmethod
    def from_json(cls, data: Any) -> Plan:
        """The plan that `to_json` wrote."""
        return cls.model_validate(data)

    def with_part(self, part: PlanPart) -> Plan:
        """This plan with the part added."""
        added = tuple(debater.id for debater in part.debaters)
        return self._with(
            debaters=(*_changed(self.debaters, "debater", part.changes), *part.debaters),
            judges=(*_changed(self.judges, "judge", part.changes), *part.judges),
            debates=(*self.debates, *part.debates),
            parts=(*self.parts, added) if added else self.parts,
            added_judges=(*self.added_judges, *(judge.id for judge in part.judges)),
        )

    def with_members(self, debaters: Iterable[MemberConfig], judges: Iterable[MemberConfig]) -> Plan:
        """The same plan with other entries for its debaters and judges."""
        return self._with(debaters=tuple(debaters), judges=tuple(judges))

    def _with(self, **fields: Any) -> Plan:
        # A copy by pydantic would keep the cached lookups of the old plan.
        return Plan(**{**{name: getattr(self, name) for name in Plan.model_fields}, **fields})


def _changed(members: Iterable[MemberConfig], role: Role, changes: Iterable[MemberChange]) -> Iterator[MemberConfig]:
    """The members of a role with their new entries. Parameters with which one has answered are kept beside them."""
    new = {change.entry.id: change for change in changes if change.role == role}
    for member in members:
        if (change := new.get(member.id)) is None:
            yield member
            continue
        is_replaced = change.has_answered and change.entry.parameters != member.parameters
        earlier = (*member.earlier_parameters, *((member.parameters,) if is_replaced else ()))
        yield change.entry.model_copy(update={"earlier_parameters": earlier})


def begun_plan(journal_path: Path, header_plan: Any, parts: Iterable[Any]) -> Plan:
    """The plan of a run that has begun, from the plan in its journal's header and the added parts, in order.

    Raises `NewerDataError` for a plan that cannot be read, because a sound journal was written by a version that could.
    """
    try:
        plan = Plan.from_json(header_plan)
        for part in parts:
            plan = plan.with_part(PlanPart.model_validate(part))
    except ValueError as error:
        raise NewerDataError(
            f"{journal_path} contains a plan of a newer version of debatebench, which this version cannot read; use "
            "the version that wrote it, or a newer one; the file is not damaged."
        ) from error
    return plan


def overlap(debaters: Sequence[MemberConfig], pool: Sequence[MemberConfig]) -> list[tuple[MemberConfig, MemberConfig]]:
    """(judge, debater) of every judge that is also a debater."""
    return [(judge, debater) for judge in pool for debater in debaters if judge.is_same_as(debater)]
