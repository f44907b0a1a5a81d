"""The plan: config → every debate of a run with its sides, seed and panel, frozen before the first call.

Pure and seeded: the same inputs give the same plan, byte for byte. What is drawn depends on the seed and on the debate
itself (topic, sides, repetition), not on the run tag, so that two runs with one seed can be compared debate by debate.
"""

from __future__ import annotations

import hashlib
import random
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from datetime import datetime
from functools import cached_property
from itertools import combinations, permutations
from typing import Any

from pydantic import BaseModel, ConfigDict, Field

from debatebench import __version__
from debatebench.config_types import Config, ModelConfig, TopicConfig
from debatebench.errors import UsageError
from debatebench.estimate import Estimate, estimate
from debatebench.panels import PanelBalance, random_panel
from debatebench.plan_differences import plan_differences
from debatebench.prompts import PromptSet
from debatebench.records import Debater, Dimension, Judge, Record, Run, ScheduledDebate, Topic

__all__ = [
    "Estimate",
    "Plan",
    "PlanOptions",
    "estimate",
    "make_plan",
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


class Plan(BaseModel):
    """A run as it was meant when it began: inputs, prompts, options and every debate, in playing order.

    `judges` is the pool; with `judges_from_selection` it is the debaters themselves.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    run_tag: str
    config: Config
    topics: tuple[TopicConfig, ...]
    debaters: tuple[ModelConfig, ...]
    judges: tuple[ModelConfig, ...]
    prompts: PromptSet
    options: PlanOptions
    debates: tuple[ScheduledDebate, ...]
    harness_version: str
    git_commit: str | None = None

    @cached_property
    def _topics_by_id(self) -> dict[str, TopicConfig]:
        return {topic.id: topic for topic in self.topics}

    @cached_property
    def _debaters_by_id(self) -> dict[str, ModelConfig]:
        return {debater.id: debater for debater in self.debaters}

    @cached_property
    def _judges_by_id(self) -> dict[str, ModelConfig]:
        return {judge.id: judge for judge in self.judges}

    def topic(self, topic_id: str) -> TopicConfig:
        """The topic of that id."""
        return self._topics_by_id[topic_id]

    def debater(self, model_id: str) -> ModelConfig:
        """The debater of that id."""
        return self._debaters_by_id[model_id]

    def judge(self, judge_id: str) -> ModelConfig:
        """The judge of that id."""
        return self._judges_by_id[judge_id]

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

    def differences(self, other: Plan) -> list[str]:
        """What `other`, planned now, has in another way than this plan: names for people, empty when nothing.

        The versions of the harness are not compared: a newer one may go on with an older one's run.
        """
        return plan_differences(self, other)


def make_plan(
    run_tag: str,
    config: Config,
    topics: Sequence[TopicConfig],
    debaters: Sequence[ModelConfig],
    judges: Sequence[ModelConfig],
    prompts: PromptSet,
    options: PlanOptions,
    git_commit: str | None,
) -> Plan:
    """Plan every debate: topics × pairs × repetitions, in that order.

    Raises `UsageError` when the inputs do not fit together: too few debaters, topics or judges, or a judge that is also
    a debater while the options do not allow it.
    """
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
        debates=tuple(_debates(run_tag, config.judges_per_debate, chosen, debaters, pool, options)),
        harness_version=__version__,
        git_commit=git_commit,
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
    for debater in plan.debaters:
        yield Debater(run_tag=tag, model_id=debater.id, **_member_columns(debater, simulated_providers))
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


def _member_columns(member: ModelConfig, simulated_providers: Collection[str]) -> dict[str, Any]:
    """What debaters and judges have in common as records."""
    return {
        "provider": member.provider,
        "model_name": member.model,
        "is_simulated": member.provider in simulated_providers,
        "token_limit": member.token_limit,
        "parameters": member.parameters,
        "pricing": member.pricing.model_dump(mode="json") if member.pricing else None,
    }


def _check_overlap(debaters: Sequence[ModelConfig], pool: Sequence[ModelConfig], options: PlanOptions) -> None:
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


def _overlap(debaters: Sequence[ModelConfig], pool: Sequence[ModelConfig]) -> list[tuple[ModelConfig, ModelConfig]]:
    """(judge, debater) of every judge that is also a debater."""
    return [(judge, debater) for judge in pool for debater in debaters if judge.is_same_as(debater)]


def _sample(topics: Sequence[TopicConfig], options: PlanOptions) -> tuple[TopicConfig, ...]:
    """All topics, or a seeded sample in the order of the file."""
    count = options.sample_topics
    if count is None:
        return tuple(topics)
    if count > len(topics):
        raise UsageError(f"--sample-topics asks for {count} topics, and there are {len(topics)}.")
    return tuple(topics[i] for i in sorted(_rng(options.seed, "topics").sample(range(len(topics)), count)))


def _pairs(debaters: Sequence[ModelConfig], options: PlanOptions) -> list[tuple[ModelConfig, ModelConfig]]:
    """(pro, con): both orders of every pair, or one order in which the lower id is pro."""
    if options.balanced_sides:
        return list(permutations(debaters, 2))
    return [(a, b) if a.id < b.id else (b, a) for a, b in combinations(debaters, 2)]


def _debates(
    run_tag: str,
    panel_size: int,
    topics: Sequence[TopicConfig],
    debaters: Sequence[ModelConfig],
    pool: Sequence[ModelConfig],
    options: PlanOptions,
) -> Iterator[ScheduledDebate]:
    """Every debate in playing order."""
    balance = PanelBalance()
    # With flipped sides the same topic and sides can come up again; counting them keeps every id unique.
    repetitions: Counter[tuple[str, str, str]] = Counter()
    position = 0
    for topic in topics:
        for first, second in _pairs(debaters, options):
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
                    pair = (min(pro.id, con.id), max(pro.id, con.id))
                    panel = balance.choose(eligible, panel_size, topic.id, pair, rng)
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
                )
                position += 1


def _eligible(pool: Sequence[ModelConfig], active: Sequence[ModelConfig], options: PlanOptions) -> list[str]:
    """Ids of the judges who may sit: all of the pool, but nobody on its own debate when the debaters are the pool."""
    if not options.judges_from_selection:
        return [judge.id for judge in pool]
    return [judge.id for judge in pool if not any(judge.is_same_as(debater) for debater in active)]


def _pool_too_small(size: int, found: int, pro: ModelConfig, con: ModelConfig, options: PlanOptions) -> str:
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
