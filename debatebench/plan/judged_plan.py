"""Stored debates → the plan of a run that judges them again. Pure and seeded, like the schedule of a tournament."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from decimal import Decimal

from debatebench.config.attacks import Attack
from debatebench.config.prompts import PromptSet
from debatebench.config.types import Config, MemberConfig, Pricing, TopicConfig
from debatebench.judges import BASELINES, find_method, method_of
from debatebench.plan.attacks import AttackedCopy, attack_sides, attacked_turns, copy_of
from debatebench.plan.panels import OrderBalance, PanelBalance, random_panel
from debatebench.plan.plan import Plan, PlanOptions
from debatebench.plan.schedule import checked_pool, generator, selected
from debatebench.plan.source import Source, SourceDebate
from debatebench.shared.amounts import known_names
from debatebench.shared.errors import UsageError
from debatebench.shared.hashing import hash_with_decimal_lengths
from debatebench.shared.records import ScheduledDebate, Turn
from debatebench.shared.version import __version__

BASELINE_PROVIDER = "baseline"


def make_judged_plan(
    run_tag: str,
    config: Config,
    topics: Sequence[TopicConfig],
    source: Source,
    judges: Sequence[MemberConfig],
    prompts: PromptSet,
    options: PlanOptions,
    git_commit: str | None,
    *,
    attacks: Sequence[Attack] = (),
    transcripts: Mapping[str, Sequence[Turn]] | None = None,
) -> Plan:
    """Plan the judging of every debate of `source`, `options.repeat` times, by judges and by baselines.

    A panel has `options.panel_size` judges, all of them by default; every baseline judges every debate. With
    `options.swap_order`, a judge that sees a debate again sees it in the other order. With `attacks`, each trial of a
    debate is followed by its attacked copies, made of its speeches in `transcripts`; the same panel judges them with
    the same seed. Raises `UsageError` when the inputs do not fit together, before anything is sent.
    """
    chosen = selected(judges, options.selected_judges, "judge")
    pool = checked_pool(chosen, source.members, prompts, options)
    baselines = baseline_judges(options.baselines, source)
    if clash := {judge.id for judge in pool} & {baseline.id for baseline in baselines}:
        raise UsageError(f"'{min(clash)}' is the id of a judge and of a baseline: rename the judge.")
    if not pool and not baselines:
        raise UsageError("There is no judge: add some to judges.yaml, or name a --baseline.")
    size = options.panel_size if options.panel_size is not None else len(pool)
    if size > len(pool):
        raise UsageError(f"--panel-size asks for {size} judges, and there are {len(pool)}.")
    _check_formats((*pool, *baselines), source)
    debates = tuple(_debates(run_tag, size, pool, baselines, source, options))
    if attacks:
        debates = tuple(_with_copies(debates, attacks, source, options.seed))
    motions = {topic.id: topic.motion for topic in topics}
    return Plan(
        run_tag=run_tag,
        config=config,
        topics=tuple(topics),
        debaters=(),
        judges=(*pool, *baselines),
        prompts=prompts,
        options=options,
        debates=debates,
        harness_version=__version__,
        git_commit=git_commit,
        source=source,
        attacks=tuple(attacks),
        copies=dict(_copies(debates, attacks, transcripts or {}, motions, config)),
    )


def _with_copies(
    debates: Sequence[ScheduledDebate], attacks: Sequence[Attack], source: Source, seed: int
) -> Iterator[ScheduledDebate]:
    """All clean debates, then their attacked copies, attack by attack."""
    yield from debates
    position = len(debates)
    for attack in attacks:
        sides = attack_sides(attack, source.debates, seed)
        for debate in debates:
            yield debate.model_copy(
                update={
                    "debate_id": f"{debate.debate_id}~{attack.id}",
                    "schedule_position": position,
                    "attack": attack.id,
                    "attack_side": sides[debate.source_debate_id or ""],
                }
            )
            position += 1


def _copies(
    debates: Sequence[ScheduledDebate],
    attacks: Sequence[Attack],
    transcripts: Mapping[str, Sequence[Turn]],
    motions: Mapping[str, str],
    config: Config,
) -> Iterator[tuple[str, AttackedCopy]]:
    """The id of each attacked copy, and what the plan freezes of it."""
    by_id = {attack.id: attack for attack in attacks}
    for debate in debates:
        if debate.attack is not None and debate.attack_side is not None and debate.source_debate_id is not None:
            turns, attack = transcripts[debate.source_debate_id], by_id[debate.attack]
            altered = attacked_turns(turns, attack, debate.attack_side, motions[debate.topic_id], config)
            yield debate.debate_id, copy_of(altered)


def baseline_judges(names: Sequence[str], source: Source) -> tuple[MemberConfig, ...]:
    """An entry for each baseline. Raises `UsageError` for one that is unknown, or cannot judge this source."""
    found = []
    for name in dict.fromkeys(names):
        method = find_method(name)
        if method is None or not method.is_baseline:
            raise UsageError(f"No baseline '{name}'.{known_names(name, BASELINES)}")
        parameters = method.parameters([debate.classes for debate in source.debates])
        if parameters is None:
            raise UsageError(
                f"The baseline '{name}' needs verdicts of people on the debates of '{source.run_tag}', and the SQL "
                "models have none: leave it out, or run `debatebench build` first if they have landed since."
            )
        found.append(
            MemberConfig(
                id=name,
                provider=BASELINE_PROVIDER,
                model=name,
                method=name,
                parameters=dict(parameters),
                pricing=Pricing(prompt=Decimal(0), completion=Decimal(0)),
            )
        )
    return tuple(found)


def _check_formats(judges: Sequence[MemberConfig], source: Source) -> None:
    for judge in judges:
        formats = method_of(judge).formats
        for debate in source.debates:
            if debate.format not in formats:
                raise UsageError(
                    f"Judge '{judge.id}': the method '{judge.method}' cannot judge '{debate.debate_id}', whose format "
                    f"is {debate.format}; it knows {', '.join(formats)}."
                )


def _debates(
    run_tag: str,
    size: int,
    pool: Sequence[MemberConfig],
    baselines: Sequence[MemberConfig],
    source: Source,
    options: PlanOptions,
) -> Iterator[ScheduledDebate]:
    """Every trial of every debate: all first trials, then all second ones."""
    balance, orders = PanelBalance(), OrderBalance()
    ids, fixed = [judge.id for judge in pool], tuple(baseline.id for baseline in baselines)
    position = 0
    for trial in range(1, options.repeat + 1):
        for debate in source.debates:
            seed = int(hash_with_decimal_lengths(options.seed, "judging", debate.debate_id, trial)[:8], 16) >> 1
            panel = _panel(ids, size, debate, balance, seed, is_balanced=options.balanced_judges)
            yield ScheduledDebate(
                run_tag=run_tag,
                debate_id=debate.debate_id if trial == 1 else f"{debate.debate_id}~{trial}",
                schedule_position=position,
                topic_id=debate.topic_id,
                pro_model_id=debate.model_of("pro"),
                con_model_id=debate.model_of("con"),
                repetition=None,
                debate_seed=seed,
                panel=(*panel, *fixed),
                con_first=(
                    orders.choose(panel, generator(seed, "order"), debate.debate_id) if options.swap_order else ()
                ),
                source_debate_id=debate.debate_id,
                trial=trial,
            )
            position += 1


def _panel(
    ids: Sequence[str], size: int, debate: SourceDebate, balance: PanelBalance, seed: int, *, is_balanced: bool
) -> tuple[str, ...]:
    if size == len(ids):
        return tuple(ids)
    rng = generator(seed, "panel")
    if not is_balanced:
        return tuple(random_panel(list(ids), size, rng))
    models = sorted(speaker.model_id for speaker in debate.speakers)
    return tuple(balance.choose(list(ids), size, debate.topic_id, (models[0], models[-1]), rng))
