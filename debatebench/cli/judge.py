"""`debatebench judge`: stored debates are judged again, by other judges, methods and prompts."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from debatebench.cli import run_parameters as parameters
from debatebench.cli.common import Format, FormatOption, note, workspace_of
from debatebench.cli.completion import run_tags
from debatebench.cli.run_session import RunSession
from debatebench.shared.errors import UsageError

if TYPE_CHECKING:
    from debatebench.config.types import MemberConfig, TopicConfig
    from debatebench.plan.plan import Plan, PlanOptions, PlanPart
    from debatebench.play.before_run import Transcripts
    from debatebench.query.stored_debates import StoredDebates
    from debatebench.shared.records import Topic
    from debatebench.shared.workspace import Workspace

__all__ = ["EXAMPLES", "judge", "judge_again"]

_WHAT = "What is judged"
_BY_WHOM = "By whom"
# Options of the command that have another name in a plan.
_FIELDS = {"judge_": "selected_judges", "debates": "selected_debates", "baseline": "baselines"}
# With one of these options judges are asked beside baselines.
_OF_JUDGES = {"selected_judges", "judges_path", "judge_prompt", "judge_method", "panel_size"}
EXAMPLES = """\b
Examples:
  debatebench judge my-run --as my-run-debatrix --judge-method debatrix --dry-run   what it would do and cost
  debatebench judge my-run --as my-run-debatrix --judge-method debatrix             judge, or go on where it stopped
  debatebench judge panelbench --as beat-this --baseline always_con --baseline longest
"""

Source = Annotated[
    str,
    typer.Argument(metavar="SOURCE", help="The run or import whose debates are judged.", autocompletion=run_tags),
]
NewTag = Annotated[
    str,
    typer.Option("--as", metavar="TAG", help="The name of the new run. An unfinished one is resumed."),
]
Debates = Annotated[
    Path | None,
    typer.Option(
        exists=True,
        dir_okay=False,
        help="Judge only the debates whose ids this file lists, one on each line.",
        rich_help_panel=_WHAT,
    ),
]
Where = Annotated[
    str | None,
    typer.Option(
        metavar="SQL", help="Judge only the debates for which this holds in marts.debates.", rich_help_panel=_WHAT
    ),
]
Repeat = Annotated[
    int,
    typer.Option(
        min=1, max=1000, help="Judge each debate this often, each time as a new trial.", rich_help_panel=_WHAT
    ),
]
PanelSize = Annotated[
    int | None,
    typer.Option(min=1, help="Judges per debate, drawn with the seed. Default: all judges.", rich_help_panel=_BY_WHOM),
]
BaselineOption = Annotated[
    list[str] | None,
    typer.Option(
        "--baseline",
        help="Judge by this rule, which asks nobody: always_pro, always_con, always_tie, majority_class, longest, "
        "longest_words, random, last_speaker, lexical_clash. Repeatable. Judges are asked beside baselines only if an "
        "option chooses them: --judge, --judges-path, --judge-method, --judge-prompt or --panel-size.",
        rich_help_panel=_BY_WHOM,
    ),
]


def judge(
    context: typer.Context,
    source: Source,
    new_tag: NewTag,
    debates: Debates = None,
    where: Where = None,
    repeat: Repeat = 1,
    judge_: parameters.Judge = None,
    panel_size: PanelSize = None,
    baseline: BaselineOption = None,
    balanced_judges: parameters.BalancedJudges = True,
    allow_judge_overlap: parameters.AllowJudgeOverlap = False,
    swap_order: parameters.SwapOrder = False,
    seed: parameters.Seed = 12345,
    config_path: parameters.ConfigPath = None,
    judges_path: parameters.JudgesPath = None,
    rubric: parameters.Rubric = None,
    judge_prompt: parameters.JudgePrompt = None,
    judge_method: parameters.JudgeMethod = None,
    retry_failed: parameters.RetryFailed = False,
    new_judge: parameters.NewJudge = None,
    replace_parameters: parameters.ReplaceParameters = None,
    concurrency: parameters.Concurrency = 32,
    max_cost: parameters.MaxCost = None,
    yes: parameters.Yes = False,
    max_ambiguous_retries: parameters.MaxAmbiguousRetries = 3,
    wait_for_limit: parameters.WaitForLimit = 600.0,
    wait_for_provider: parameters.WaitForProvider = 600.0,
    max_failures_in_a_row: parameters.MaxFailuresInARow = 5,
    dry_run: parameters.DryRun = False,
    estimate_time: parameters.EstimateTime = False,
    no_build: parameters.NoBuild = False,
    log_failed_judges: parameters.LogFailedJudges = False,
    output: FormatOption = Format.TABLE,
) -> None:
    """Judge the stored debates of a run or import again, as a run of its own.

    The dimensions are those of config.yaml (or --config-path), or of --rubric. Baselines need no judges and cost
    nothing.
    """
    from debatebench.plan.plan import PlanOptions

    workspace = workspace_of(context)
    given = {_FIELDS.get(name, name) for name in _given(context)}
    options = PlanOptions(
        seed=seed,
        balanced_judges=balanced_judges,
        allow_judge_overlap=allow_judge_overlap,
        swap_order=swap_order,
        repeat=repeat,
        panel_size=0 if baseline and not given & _OF_JUDGES else panel_size,
        baselines=tuple(dict.fromkeys(baseline or ())),
        selected_debates=None if debates is None else _ids_in(debates),
        where=where,
        selected_judges=tuple(dict.fromkeys(judge_)) if judge_ else None,
        judge_prompt=judge_prompt,
        judge_method=judge_method,
        config_path=None if config_path is None else str(config_path),
        judges_path=None if judges_path is None else str(judges_path),
        rubric=rubric,
    )
    plan, part, transcripts = _planned(workspace, source, new_tag, options, given, new_judge or (), retry_failed)
    session = RunSession(
        concurrency=concurrency,
        retry_failed=retry_failed,
        replaceable=frozenset(replace_parameters or ()),
        max_cost=max_cost,
        max_ambiguous_retries=max_ambiguous_retries,
        wait_for_limit=wait_for_limit,
        wait_for_provider=wait_for_provider,
        max_failures_in_a_row=max_failures_in_a_row,
        is_asking=not yes,
        is_dry=dry_run or estimate_time,
        is_timed=estimate_time,
        no_build=no_build,
        log_failed_judges=log_failed_judges,
        output=output,
    )
    session.go(workspace, plan, part, transcripts)


def judge_again(
    context: typer.Context,
    run_tag: str,
    *,
    new_judge: Sequence[str] | None,
    replace_parameters: Sequence[str] | None,
    concurrency: int,
    max_cost: float | None,
    yes: bool,
    dry_run: bool,
    no_build: bool,
    output: Format,
) -> bool:
    """Retry a run that judges stored debates; False, and nothing is done, if the run is of another kind."""
    from debatebench.plan.frozen_plan import read_begun_plan

    workspace = workspace_of(context)
    begun = read_begun_plan(workspace.journal / f"{run_tag}.jsonl")
    if begun is None or begun.source is None:
        return False
    plan, part, transcripts = _planned(
        workspace, begun.source.run_tag, run_tag, begun.options, set(), new_judge or (), True
    )
    session = RunSession(
        concurrency=concurrency,
        retry_failed=True,
        replaceable=frozenset(replace_parameters or ()),
        max_cost=max_cost,
        is_asking=not yes,
        is_dry=dry_run,
        no_build=no_build,
        output=output,
    )
    session.go(workspace, plan, part, transcripts)
    return True


def _given(context: typer.Context) -> set[str]:
    """The options that the command line states."""
    sources = {name: context.get_parameter_source(name) for name in context.params}
    return {name for name, source in sources.items() if source is not None and source.name == "COMMANDLINE"}


def _ids_in(path: Path) -> tuple[str, ...]:
    """The ids in a file, one on each line."""
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"--debates: {path} cannot be read as UTF-8 text: {error}.") from error
    ids = tuple(dict.fromkeys(line.strip() for line in lines if line.strip()))
    if not ids:
        raise UsageError(f"--debates: {path} lists no debate.")
    return ids


def _planned(
    workspace: Workspace,
    source_tag: str,
    run_tag: str,
    options: PlanOptions,
    given: set[str],
    new_judges: Sequence[str],
    retry_failed: bool,
) -> tuple[Plan, PlanPart | None, Transcripts]:
    """The plan, what is added to it, and the speeches that are judged.

    A run that has begun keeps its debates, as they were then.
    """
    from debatebench.cli.run_inputs import unknown_run, with_begun_options
    from debatebench.plan.frozen_plan import read_begun_plan
    from debatebench.query.stored_debates import read_source_tag, read_stored_debates
    from debatebench.shared.workspace import check_run_tag

    check_run_tag(run_tag)
    if (workspace.imports / run_tag).exists():
        raise UsageError(f"Run tag '{run_tag}' is already the tag of an import; choose another --as.")
    begun = read_begun_plan(workspace.journal / f"{run_tag}.jsonl")
    if begun is None and (retry_failed or new_judges):
        raise unknown_run(workspace, run_tag)
    if begun is not None and begun.source is None:
        raise UsageError(f"Run '{run_tag}' plays its own debates; choose another --as.")
    options = with_begun_options(begun, options, given)
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
    return *_plan_of_today(workspace, run_tag, begun, stored, options, new_judges), stored.turns


def _plan_of_today(
    workspace: Workspace,
    run_tag: str,
    begun: Plan | None,
    stored: StoredDebates,
    options: PlanOptions,
    new_judges: Sequence[str],
) -> tuple[Plan, PlanPart | None]:
    from debatebench.cli.run_inputs import as_asked, config_path, with_rubric
    from debatebench.config.load import load_config, load_judges
    from debatebench.config.prompt_files import load_prompts
    from debatebench.judges import templates_of
    from debatebench.plan.frozen_plan import plan_of_today
    from debatebench.plan.judged_plan import make_judged_plan
    from debatebench.plan.source import source_of
    from debatebench.shared.version import git_commit

    run, commit = stored.run, git_commit()
    config = load_config(config_path(workspace, options.config_path, "config.yaml"), needs_rounds=False)
    config = with_rubric(workspace, config, options.rubric)
    of_source = {"benchmark_name": run.benchmark_name, "benchmark_version": run.benchmark_version}
    config = config.model_copy(
        update={"rounds": (), **{name: value for name, value in of_source.items() if value is not None}}
    )
    judges: tuple[MemberConfig, ...] = ()
    if options.panel_size != 0:
        judges = as_asked(load_judges(config_path(workspace, options.judges_path, "judges.yaml")), options)
    source = begun.source if begun is not None else None
    if source is None:
        source = source_of(run.run_tag, stored.debaters, stored.debates, stored.speakers, stored.turns, stored.truths)

    def make_base(_: Sequence[MemberConfig], judges: Sequence[MemberConfig]) -> Plan:
        prompts = load_prompts(workspace, config, judges, templates_of=templates_of)
        topics = [_topic(topic) for topic in stored.topics]
        return make_judged_plan(run_tag, config, topics, source, judges, prompts, options, commit)

    return plan_of_today(run_tag, begun, (), judges, (), new_judges, make_base, commit)


def _topic(topic: Topic) -> TopicConfig:
    from debatebench.config.types import TopicConfig

    return TopicConfig(id=topic.topic_id, motion=topic.motion, category=topic.category, info_slide=topic.info_slide)
