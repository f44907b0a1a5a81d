"""A plan → the records that describe it: run, topics, debaters, judges, dimensions, schedule."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from datetime import datetime
from typing import Any

from debatebench.config.types import MemberConfig
from debatebench.judges import method_of
from debatebench.plan.plan import Plan, PlanPart
from debatebench.shared.records import Debater, Dimension, Judge, Record, Run, Topic


def run_records(plan: Plan, created_at: datetime, simulated_providers: Collection[str]) -> Iterator[Record]:
    """The records that describe the plan: run, topics, debaters, judges, dimensions, schedule."""
    tag, config = plan.run_tag, plan.config
    members = (*plan.debaters, *plan.judges)
    yield Run(
        run_tag=tag,
        source="run",
        format="tournament" if plan.source is None else "probing" if plan.attacks else "judging",
        source_run_tag=None if plan.source is None else plan.source.run_tag,
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
        options=_options(plan),
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
    if plan.source is not None:
        yield from (Debater(run_tag=tag, **columns) for columns in plan.source.debaters)
    yield from _judge_records(tag, plan.judges, simulated_providers)
    for position, (name, dimension) in enumerate(config.dimensions.items()):
        yield Dimension(run_tag=tag, dimension=name, source_position=position, **dimension.columns())
    yield from plan.debates


def _options(plan: Plan) -> dict[str, Any]:
    """The options, and how stored debates are attacked."""
    options = plan.options.to_compare()
    if plan.attacks:
        about = {"kind", "place", "turns", "times", "favours", "sha256"}
        options["attacks"] = {each.id: {name: getattr(each, name) for name in sorted(about)} for each in plan.attacks}
    return options


def part_records(plan: Plan, part: PlanPart, simulated_providers: Collection[str]) -> Iterator[Record]:
    """The records that describe what `part` adds to `plan` or changes in it: debaters, judges and schedule."""
    grown = plan.with_part(part)
    debaters = [change.entry.id for change in part.changes if change.role == "debater"]
    judges = [change.entry.id for change in part.changes if change.role == "judge"]
    changed = [*map(grown.debater, debaters), *part.debaters]
    yield from _debater_records(plan.run_tag, changed, simulated_providers)
    yield from _judge_records(plan.run_tag, [*map(grown.judge, judges), *part.judges], simulated_providers)
    yield from part.debates


def _debater_records(
    run_tag: str, debaters: Iterable[MemberConfig], simulated_providers: Collection[str]
) -> Iterator[Debater]:
    for debater in debaters:
        yield Debater(run_tag=run_tag, model_id=debater.id, **_member_columns(debater, simulated_providers))


def _judge_records(
    run_tag: str, judges: Iterable[MemberConfig], simulated_providers: Collection[str]
) -> Iterator[Judge]:
    for judge in judges:
        columns = _member_columns(judge, simulated_providers)
        yield Judge(
            run_tag=run_tag,
            judge_id=judge.id,
            method=judge.method,
            is_baseline=method_of(judge).is_baseline,
            prompt_style=judge.prompt_style,
            context_window=judge.context_window,
            **columns,
        )


def _member_columns(member: MemberConfig, simulated_providers: Collection[str]) -> dict[str, Any]:
    """The columns that the records of debaters and judges share."""
    return {
        "provider": member.provider,
        "model_name": member.model,
        "is_simulated": member.provider in simulated_providers,
        "token_limit": member.token_limit,
        "thinking_tokens": member.thinking_tokens,
        "parameters": member.parameters,
        "earlier_parameters": list(member.earlier_parameters) or None,
        "pricing": member.pricing.model_dump(mode="json", exclude_defaults=True) if member.pricing else None,
    }
