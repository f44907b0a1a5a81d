"""The plan of `debatebench judge` and `debatebench probe-judges`: options and stored debates → what is judged."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING

from debatebench.cli.common import note
from debatebench.cli.playing_options import CHOOSE_JUDGES, CHOOSE_JUDGES_TEXT
from debatebench.judges import load_prompts
from debatebench.shared.errors import UsageError
from debatebench.shared.version import git_commit

if TYPE_CHECKING:
    from debatebench.config.attacks import Attack
    from debatebench.config.types import MemberConfig, TopicConfig
    from debatebench.plan.plan import Plan, PlanOptions, PlanPart
    from debatebench.play.before_run import Transcripts
    from debatebench.query.stored_debates import StoredDebates
    from debatebench.shared.records import Topic
    from debatebench.shared.workspace import Workspace

# These say how judges are asked, and mean nothing to a baseline.
_ABOUT_JUDGES = {"balanced_judges", "allow_judge_overlap", "swap_order"}


def panel_of(size: int | None, baselines: Sequence[str] | None, given: Mapping[str, str]) -> int | None:
    """The size of the panel: no judge is asked beside baselines unless an option chooses judges.

    `given` are the stated options, as they are written. Raises `UsageError` for one that is about judges without any.
    """
    if not baselines or given.keys() & CHOOSE_JUDGES.keys():
        return size
    for name, written in given.items():
        if name in _ABOUT_JUDGES:
            raise UsageError(
                f"{written} is about judges, and --baseline asks none unless an option chooses them: "
                f"{CHOOSE_JUDGES_TEXT}. Add one of these, or leave {written} out."
            )
    return 0


def planned_judging(
    workspace: Workspace,
    source_tag: str,
    run_tag: str,
    options: PlanOptions,
    given: Collection[str],
    new_judges: Sequence[str],
    retry_failed: bool,
    *,
    is_probing: bool | None = False,
) -> tuple[Plan, PlanPart | None, Transcripts]:
    """The plan, what is added to it, and the speeches that are judged.

    A run that has begun keeps its debates and attacks, as they were then. With `is_probing`, attacked copies are judged
    as well; with None a run that has begun says so.
    """
    from debatebench.cli.playing_plan import begun_under, unknown_run, with_begun_options
    from debatebench.query.stored_debates import read_source_tag, read_stored_debates
    from debatebench.warehouse.up_to_date import check_fits

    begun = begun_under(workspace, run_tag, "--as")
    if begun is None and (retry_failed or new_judges):
        raise unknown_run(workspace, run_tag)
    if begun is not None and begun.source is None:
        raise UsageError(f"Run '{run_tag}' plays its own debates; choose another --as.")
    if begun is not None and is_probing is not None and bool(begun.attacks) != is_probing:
        does, command = ("probes judges", "probe-judges") if begun.attacks else ("judges debates as they are", "judge")
        raise UsageError(f"Run '{run_tag}' {does}: `debatebench {command}` goes on with it, or choose another --as.")
    options = with_begun_options(begun, options, given)
    check_fits(workspace, note, needs_models=False)
    if begun is None or begun.source is None:
        stored = read_stored_debates(
            workspace.database, source_tag, debate_ids=options.selected_debates, where=options.where
        )
        if stored.left_out:
            note(f"Debates of '{stored.run.run_tag}' without all their speeches, not judged: {stored.left_out:,}.")
    else:
        if (held := read_source_tag(workspace.database, source_tag)) != begun.source.run_tag:
            raise UsageError(
                f"Run '{run_tag}' judges debates of '{begun.source.run_tag}', not of '{held}': go on with those, or "
                "choose another --as."
            )
        stored = read_stored_debates(workspace.database, held, debate_ids=begun.source.by_id)
    attacks: tuple[Attack, ...] = () if begun is None else begun.attacks
    if is_probing and (begun is None or "attacks_path" in given):
        from debatebench.cli.playing_plan import config_path
        from debatebench.config.attacks import load_attacks

        attacks = load_attacks(workspace, config_path(workspace, options.attacks_path, "attacks.yaml"))
    return *_plan_of_today(workspace, run_tag, begun, stored, options, new_judges, attacks), stored.turns


def _plan_of_today(
    workspace: Workspace,
    run_tag: str,
    begun: Plan | None,
    stored: StoredDebates,
    options: PlanOptions,
    new_judges: Sequence[str],
    attacks: Sequence[Attack],
) -> tuple[Plan, PlanPart | None]:
    from debatebench.cli.playing_plan import as_asked, config_path, rubric_method, with_rubric
    from debatebench.config.load import load_config, load_judges
    from debatebench.plan.frozen_plan import plan_of_today
    from debatebench.plan.judged_plan import make_judged_plan
    from debatebench.plan.source import source_of

    run, commit = stored.run, git_commit()
    config = load_config(config_path(workspace, options.config_path, "config.yaml"), needs_rounds=False)
    config = with_rubric(workspace, config, options.rubric, begun)
    of_source = {"benchmark_name": run.benchmark_name, "benchmark_version": run.benchmark_version}
    config = config.model_copy(
        update={"rounds": (), **{name: value for name, value in of_source.items() if value is not None}}
    )
    judges: tuple[MemberConfig, ...] = ()
    if options.panel_size != 0:
        known = load_judges(config_path(workspace, options.judges_path, "judges.yaml"))
        judges = as_asked(known, options, begun, rubric_method(workspace, options.rubric, begun))
    source = begun.source if begun is not None else None
    if source is None:
        source = source_of(
            run.run_tag,
            stored.debaters,
            stored.debates,
            stored.speakers,
            stored.turns,
            stored.truths,
            stored.winning_teams,
        )

    def make_base(_: Sequence[MemberConfig], judges: Sequence[MemberConfig]) -> Plan:
        prompts = load_prompts(workspace, config, judges, begun=None if begun is None else begun.prompts)
        topics = [_topic(topic) for topic in stored.topics]
        return make_judged_plan(
            run_tag,
            config,
            topics,
            source,
            judges,
            prompts,
            options,
            commit,
            attacks=attacks,
            transcripts=stored.turns,
        )

    return plan_of_today(run_tag, begun, (), judges, (), new_judges, make_base, commit)


def _topic(topic: Topic) -> TopicConfig:
    from debatebench.config.types import TopicConfig

    return TopicConfig(id=topic.topic_id, motion=topic.motion, category=topic.category, info_slide=topic.info_slide)
