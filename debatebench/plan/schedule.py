"""The plan: config → every debate of a run with its sides, seed and panel, frozen before the first call.

Pure and seeded: the same inputs give the same plan, byte for byte. What is drawn depends on the seed and on the debate
itself (topic, sides, repetition), not on the run tag, so that two runs with one seed can be compared debate by debate.
"""

from __future__ import annotations

import hashlib
import random
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from datetime import datetime
from functools import cached_property
from itertools import combinations, permutations
from typing import Any, Literal, TypeVar

from pydantic import BaseModel, ConfigDict, Field

from debatebench.config.prompts import PromptSet
from debatebench.config.types import Config, MemberConfig, TopicConfig
from debatebench.plan.cost_estimate import CostEstimate, estimate
from debatebench.plan.panels import OrderBalance, PanelBalance, random_panel
from debatebench.plan.plan_differences import plan_differences
from debatebench.shared.errors import UsageError
from debatebench.shared.records import Debater, Dimension, Judge, Record, Run, ScheduledDebate, Topic
from debatebench.shared.version import __version__

__all__ = [
    "CostEstimate",
    "Plan",
    "PlanOptions",
    "PlanPart",
    "begun_plan",
    "estimate",
    "make_plan",
    "part_records",
    "plan_part",
    "replacement_judges",
    "run_records",
]


class PlanOptions(BaseModel):
    """What of the command line decides a plan."""

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
    preset: Literal["quick-test", "prod-run"] | None = None
    selected_topics: tuple[str, ...] | None = None
    selected_debaters: tuple[str, ...] | None = None
    selected_judges: tuple[str, ...] | None = None
    catalogue_members: tuple[str, ...] = ()
    """Ids of debaters and judges that stand in no file, because they were picked from a provider's catalogue."""
    debater_prompt: str | None = None
    judge_prompt: str | None = None


class PlanPart(BaseModel):
    """What was added to a plan after its run had begun: new debaters and their debates, behind all others."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    debaters: tuple[MemberConfig, ...]
    debates: tuple[ScheduledDebate, ...]
    harness_version: str
    git_commit: str | None = None


class Plan(BaseModel):
    """A run as it was meant when it began: inputs, prompts, options and every debate, in playing order.

    `judges` is the pool; with `judges_from_selection` it is the debaters themselves.
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
    """Ids of the debaters that came after the run had begun, part by part. They debate, but are not in the pool."""

    @cached_property
    def _topics_by_id(self) -> dict[str, TopicConfig]:
        return {topic.id: topic for topic in self.topics}

    @cached_property
    def _debaters_by_id(self) -> dict[str, MemberConfig]:
        return {debater.id: debater for debater in self.debaters}

    @cached_property
    def _judges_by_id(self) -> dict[str, MemberConfig]:
        return {judge.id: judge for judge in self.judges}

    def topic(self, topic_id: str) -> TopicConfig:
        """The topic of that id."""
        return self._topics_by_id[topic_id]

    def debater(self, model_id: str) -> MemberConfig:
        """The debater of that id."""
        return self._debaters_by_id[model_id]

    def judge(self, judge_id: str) -> MemberConfig:
        """The judge of that id."""
        return self._judges_by_id[judge_id]

    @property
    def added_debaters(self) -> tuple[str, ...]:
        """Ids of the debaters that came after the run had begun, in that order."""
        return tuple(debater_id for part in self.parts for debater_id in part)

    @cached_property
    def has_judge_overlap(self) -> bool:
        """Whether a judge may sit on a debate of its own, because the run allows it."""
        return not self.options.judges_from_selection and bool(_overlap(self.debaters, self.judges))

    def to_json(self) -> dict[str, Any]:
        """Plain data that `from_json` reads back; dumped with sorted keys, equal plans are equal bytes."""
        return self.model_dump(mode="json")

    @classmethod
    def from_json(cls, data: Any) -> Plan:
        """The plan that `to_json` wrote."""
        return cls.model_validate(data)

    def with_part(self, part: PlanPart) -> Plan:
        """This plan and what was added to it."""
        return self._with(
            debaters=(*self.debaters, *part.debaters),
            debates=(*self.debates, *part.debates),
            parts=(*self.parts, tuple(debater.id for debater in part.debaters)),
        )

    def with_members(self, debaters: Iterable[MemberConfig], judges: Iterable[MemberConfig]) -> Plan:
        """The same plan with other entries for its debaters and judges."""
        return self._with(debaters=tuple(debaters), judges=tuple(judges))

    def _with(self, **fields: Any) -> Plan:
        # A copy by pydantic would bring along what was looked up in the old plan.
        return Plan(**{**{name: getattr(self, name) for name in Plan.model_fields}, **fields})

    def differences(self, other: Plan) -> list[str]:
        """What `other`, planned now, has in another way than this plan: names for people, empty when nothing.

        The versions of the harness are not compared: a newer one may go on with an older one's run.
        """
        return plan_differences(self, other)


def make_plan(
    run_tag: str,
    config: Config,
    topics: Sequence[TopicConfig],
    debaters: Sequence[MemberConfig],
    judges: Sequence[MemberConfig],
    prompts: PromptSet,
    options: PlanOptions,
    git_commit: str | None,
) -> Plan:
    """Plan every debate: topics × pairs × repetitions, in that order.

    Raises `UsageError` when the inputs do not fit together: too few debaters, topics or judges, or a judge that is also
    a debater while the options do not allow it.
    """
    topics = _selected(topics, options.selected_topics, "topic")
    debaters = _selected(debaters, options.selected_debaters, "debater")
    judges = _selected(judges, options.selected_judges, "judge")
    if len(debaters) < 2:
        raise UsageError(
            f"A tournament needs at least 2 debaters, and there are {len(debaters)}; add some to models.yaml."
        )
    if not topics:
        raise UsageError("A tournament needs at least one topic; add some to topics.json.")
    pool = tuple(debaters if options.judges_from_selection else judges)
    _check_overlap(debaters, pool, options)
    used = {judge.prompt_style for judge in pool}
    if missing := sorted(used - set(prompts.styles)):
        raise UsageError(f"No judging prompt for prompt_style '{missing[0]}'. Known: {', '.join(prompts.styles)}.")
    chosen = _sample(topics, options)
    return Plan(
        run_tag=run_tag,
        config=config,
        topics=chosen,
        debaters=tuple(debaters),
        judges=pool,
        prompts=prompts.only_styles(used),
        options=options,
        debates=tuple(_debates(run_tag, config.judges_per_debate, chosen, _pairs(debaters, options), pool, options)),
        harness_version=__version__,
        git_commit=git_commit,
    )


def begun_plan(header_plan: Any, parts: Iterable[Any]) -> Plan:
    """The plan of a run that has begun, from the plan of its journal's header and from what was added, in order.

    Raises pydantic's `ValidationError` (a `ValueError`) for data of another version.
    """
    plan = Plan.from_json(header_plan)
    for part in parts:
        plan = plan.with_part(PlanPart.model_validate(part))
    return plan


def plan_part(plan: Plan, newcomers: Sequence[MemberConfig], git_commit: str | None) -> PlanPart:
    """Every debate of `newcomers` against the debaters of `plan` and each other, to be appended to it.

    Topics, options and the pool of judges stay as they were when the run began; seeds are those that a plan with all
    debaters has, and panels go on evening out what was seated before. Raises `UsageError` when a newcomer is a
    debater already, or a judge although the options do not allow it.
    """
    for newcomer in newcomers:
        if any(newcomer.id == debater.id for debater in plan.debaters):
            raise UsageError(f"'{newcomer.id}' is a debater of run '{plan.run_tag}' already; leave --new-model out.")
    if not plan.options.judges_from_selection:
        _check_overlap(newcomers, plan.judges, plan.options)
    new = {newcomer.id for newcomer in newcomers}
    everyone = (*plan.debaters, *newcomers)
    pairs = [(pro, con) for pro, con in _pairs(everyone, plan.options) if pro.id in new or con.id in new]
    size = plan.config.judges_per_debate
    debates = _debates(plan.run_tag, size, plan.topics, pairs, plan.judges, plan.options, before=plan.debates)
    return PlanPart(
        debaters=tuple(newcomers), debates=tuple(debates), harness_version=__version__, git_commit=git_commit
    )


def replacement_judges(plan: Plan, debate: ScheduledDebate) -> tuple[str, ...]:
    """The judges who may take a failed judge's seat, in the seeded order in which they are asked."""
    active = [plan.debater(debate.pro_model_id), plan.debater(debate.con_model_id)]
    free = [id_ for id_ in _eligible(plan.judges, active, plan.options) if id_ not in debate.panel]
    _rng(debate.debate_seed, "replacements").shuffle(free)
    return tuple(free)


def run_records(plan: Plan, created_at: datetime, simulated_providers: Collection[str]) -> Iterator[Record]:
    """The records that say what was planned: run, topics, debaters, judges, dimensions, schedule."""
    tag, config = plan.run_tag, plan.config
    members = (*plan.debaters, *plan.judges)
    yield Run(
        run_tag=tag,
        source="run",
        format="tournament",
        benchmark_name=config.benchmark_name,
        benchmark_version=config.benchmark_version,
        rubric_version=config.rubric_version,
        harness_version=plan.harness_version,
        git_commit=plan.git_commit,
        language=config.language,
        seed=plan.options.seed,
        created_at=created_at,
        is_simulated=any(member.provider in simulated_providers for member in members),
        allows_judge_overlap=plan.options.allow_judge_overlap,
        elo_initial_rating=config.elo.initial_rating,
        elo_k_factor=config.elo.k_factor,
        min_games_for_display=config.elo.min_games_for_display,
        config=config.model_dump(mode="json"),
        options=plan.options.model_dump(mode="json"),
        prompt_hashes=plan.prompts.hashes(),
    )
    for position, topic in enumerate(plan.topics):
        yield Topic(
            run_tag=tag,
            topic_id=topic.id,
            source_position=position,
            motion=topic.motion,
            category=topic.category,
            info_slide=topic.info_slide,
        )
    yield from _debater_records(tag, plan.debaters, simulated_providers)
    for judge in plan.judges:
        columns = _member_columns(judge, simulated_providers)
        yield Judge(run_tag=tag, judge_id=judge.id, prompt_style=judge.prompt_style, **columns)
    for position, (name, dimension) in enumerate(config.dimensions.items()):
        yield Dimension(
            run_tag=tag,
            dimension=name,
            source_position=position,
            min_score=dimension.min,
            max_score=dimension.max,
            description=dimension.description,
        )
    yield from plan.debates


def part_records(plan: Plan, part: PlanPart, simulated_providers: Collection[str]) -> Iterator[Record]:
    """The records that say what was added to `plan`: debaters and schedule."""
    yield from _debater_records(plan.run_tag, part.debaters, simulated_providers)
    yield from part.debates


def _debater_records(
    run_tag: str, debaters: Iterable[MemberConfig], simulated_providers: Collection[str]
) -> Iterator[Debater]:
    for debater in debaters:
        yield Debater(run_tag=run_tag, model_id=debater.id, **_member_columns(debater, simulated_providers))


def _member_columns(member: MemberConfig, simulated_providers: Collection[str]) -> dict[str, Any]:
    """What debaters and judges have in common as records."""
    return {
        "provider": member.provider,
        "model_name": member.model,
        "is_simulated": member.provider in simulated_providers,
        "token_limit": member.token_limit,
        "parameters": member.parameters,
        "pricing": member.pricing.model_dump(mode="json") if member.pricing else None,
    }


def _check_overlap(debaters: Sequence[MemberConfig], pool: Sequence[MemberConfig], options: PlanOptions) -> None:
    """Refuse judges that are debaters, unless the options say what is to become of them."""
    if options.judges_from_selection or options.allow_judge_overlap:
        return
    for judge, debater in _overlap(debaters, pool):
        if judge.id == debater.id:
            clash = f"'{judge.id}' is both a debater and a judge"
        else:
            clash = f"Judge '{judge.id}' and debater '{debater.id}' are the same model ({judge.provider} {judge.model})"
        raise UsageError(
            f"{clash}: take one out, or use --judges-from-selection (nobody judges its own debates) or "
            "--allow-judge-overlap (the run is marked)."
        )


def _overlap(debaters: Sequence[MemberConfig], pool: Sequence[MemberConfig]) -> list[tuple[MemberConfig, MemberConfig]]:
    """(judge, debater) of every judge that is also a debater."""
    return [(judge, debater) for judge in pool for debater in debaters if judge.is_same_as(debater)]


_Entry = TypeVar("_Entry", MemberConfig, TopicConfig)


def _selected(entries: Sequence[_Entry], ids: Sequence[str] | None, kind: str) -> tuple[_Entry, ...]:
    """The entries that were selected, in the order of their file; all without a selection."""
    if ids is None:
        return tuple(entries)
    known = [entry.id for entry in entries]
    for wanted in ids:
        if wanted not in known:
            raise UsageError(f"No {kind} '{wanted}'. Known: {', '.join(known) or 'none'}.")
    return tuple(entry for entry in entries if entry.id in ids)


def _sample(topics: Sequence[TopicConfig], options: PlanOptions) -> tuple[TopicConfig, ...]:
    """All topics, or a seeded sample in the order of the file."""
    count = options.sample_topics
    if count is None:
        return tuple(topics)
    if count > len(topics):
        raise UsageError(f"--sample-topics asks for {count} topics, and there are {len(topics)}.")
    return tuple(topics[i] for i in sorted(_rng(options.seed, "topics").sample(range(len(topics)), count)))


def _pairs(debaters: Sequence[MemberConfig], options: PlanOptions) -> list[tuple[MemberConfig, MemberConfig]]:
    """(pro, con): both orders of every pair, or one order in which the lower id is pro."""
    if options.balanced_sides:
        return list(permutations(debaters, 2))
    return [(a, b) if a.id < b.id else (b, a) for a, b in combinations(debaters, 2)]


def _debates(
    run_tag: str,
    panel_size: int,
    topics: Sequence[TopicConfig],
    pairs: Sequence[tuple[MemberConfig, MemberConfig]],
    pool: Sequence[MemberConfig],
    options: PlanOptions,
    before: Sequence[ScheduledDebate] = (),
) -> Iterator[ScheduledDebate]:
    """Every debate of the pairs in playing order, behind the debates that were planned before."""
    balance, orders = PanelBalance(), OrderBalance()
    for debate in before:
        balance.seat(debate.panel, debate.topic_id, _pair(debate.pro_model_id, debate.con_model_id))
        orders.seat(debate.panel, debate.con_first)
    # With flipped sides the same topic and sides can come up again; counting them keeps every id unique.
    repetitions: Counter[tuple[str, str, str]] = Counter()
    position = len(before)
    for topic in topics:
        for first, second in pairs:
            for slot in range(options.debates_per_pair):
                pro, con = first, second
                if options.swap_sides and _rng(options.seed, "flip", topic.id, pro.id, con.id, slot).random() < 0.5:
                    pro, con = con, pro
                matchup = (topic.id, pro.id, con.id)
                repetition = repetitions[matchup]
                repetitions[matchup] += 1
                seed = int(_digest(options.seed, "debate", *matchup, repetition)[:8], 16) >> 1
                eligible = _eligible(pool, (pro, con), options)
                if len(eligible) < panel_size:
                    raise UsageError(_pool_too_small(panel_size, len(eligible), pro, con, options))
                rng = _rng(seed, "panel")
                if options.balanced_judges:
                    panel = balance.choose(eligible, panel_size, topic.id, _pair(pro.id, con.id), rng)
                else:
                    panel = random_panel(eligible, panel_size, rng)
                yield ScheduledDebate(
                    run_tag=run_tag,
                    debate_id=_digest(run_tag, *matchup, repetition)[:16],
                    schedule_position=position,
                    topic_id=topic.id,
                    pro_model_id=pro.id,
                    con_model_id=con.id,
                    repetition=repetition,
                    debate_seed=seed,
                    panel=panel,
                    con_first=orders.choose(panel, _rng(seed, "order")) if options.swap_order else (),
                )
                position += 1


def _pair(one: str, other: str) -> tuple[str, str]:
    """Two debaters, whoever speaks pro."""
    return min(one, other), max(one, other)


def _eligible(pool: Sequence[MemberConfig], active: Sequence[MemberConfig], options: PlanOptions) -> list[str]:
    """Ids of the judges who may sit: all of the pool, but nobody on its own debate when the debaters are the pool."""
    if not options.judges_from_selection:
        return [judge.id for judge in pool]
    return [judge.id for judge in pool if not any(judge.is_same_as(debater) for debater in active)]


def _pool_too_small(size: int, found: int, pro: MemberConfig, con: MemberConfig, options: PlanOptions) -> str:
    if options.judges_from_selection:
        where = f"only {found} of the debaters may judge '{pro.id}' against '{con.id}'; select more debaters"
    else:
        where = f"the pool has {found}; add judges to judges.yaml"
    return f"A panel needs {size} judges (judges_per_debate), and {where} or lower judges_per_debate."


def _rng(seed: int, *purpose: object) -> random.Random:
    """A generator of its own for every purpose, so that one draw never shifts another."""
    return random.Random(int(_digest(seed, *purpose), 16))  # noqa: S311 (repeatable draws, no secrets)


def _digest(*parts: object) -> str:
    """SHA-256 (hexadecimal) over the parts as text, each with its length in front, so that no two lists are alike."""
    texts = [str(part).encode() for part in parts]
    return hashlib.sha256(b"".join(b"%d:%b" % (len(text), text) for text in texts)).hexdigest()
