"""The plan: config → every debate of a run with its sides, seed and panel, frozen before the first call.

Pure and seeded: the same inputs give the same plan, byte for byte. Draws depend on the seed and on the debate itself
(topic, sides, repetition), not on the run tag, so that two runs with one seed can be compared debate by debate.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from functools import partial
from itertools import combinations, permutations
from typing import TypeVar

from debatebench.config.prompts import PromptSet
from debatebench.config.types import Config, MemberConfig, TopicConfig
from debatebench.judges import method_of, used_templates
from debatebench.plan.panels import OrderBalance, PanelBalance, random_panel
from debatebench.plan.plan import Plan, PlanOptions, PlanPart, overlap
from debatebench.plan.teams import Four, TeamDraw, check_teams
from debatebench.plan.weaknesses import CONTROL_RATIO, with_weaknesses
from debatebench.shared.amounts import known_names
from debatebench.shared.errors import UsageError
from debatebench.shared.hashing import hash_with_decimal_lengths
from debatebench.shared.records import TEAMS, ScheduledDebate
from debatebench.shared.version import __version__
from debatebench.shared.visible_text import plain_name


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
    """Plan every debate: topics × pairs × repetitions, in that order; of four teams, topics × draws × rotations.

    Raises `UsageError` when the inputs do not fit together: too few debaters, topics or judges, or a judge that is also
    a debater although the options do not allow it.
    """
    topics = _of_categories(selected(topics, options.selected_topics, "topic"), options)
    debaters = selected(debaters, options.selected_debaters, "debater")
    judges = selected(judges, options.selected_judges, "judge")
    _check_enough(debaters, config, options)
    if config.is_of_teams:
        check_teams(config, options)
    if not topics:
        raise UsageError("A tournament needs at least one topic; add some to topics.json.")
    pool = checked_pool(debaters if options.judges_from_selection else judges, debaters, prompts, options)
    chosen = _sample(topics, options)
    if config.is_of_teams:
        matchups = _of_ids(TeamDraw(options, generator).of_all(chosen, [each.id for each in debaters]), debaters)
    else:
        matchups = _pairings(chosen, _pairs(debaters, options), options)
    planned = _debates(run_tag, config.judges_per_debate, matchups, pool, options)
    return Plan(
        run_tag=run_tag,
        config=config,
        topics=chosen,
        debaters=tuple(debaters),
        judges=pool,
        prompts=prompts.only({name for judge in pool for name in used_templates(judge, prompts)}),
        options=options,
        debates=_with_weaknesses(tuple(planned), config, options),
        harness_version=__version__,
        git_commit=git_commit,
    )


def checked_pool(
    judges: Sequence[MemberConfig], debaters: Sequence[MemberConfig], prompts: PromptSet, options: PlanOptions
) -> tuple[MemberConfig, ...]:
    """The judges, if they may judge these debaters and have their prompts; else raises `UsageError`."""
    _check_overlap(debaters, judges, options)
    for judge in judges:
        if method_of(judge).is_baseline:
            raise UsageError(
                f"Judge '{judge.id}': '{judge.method}' is a baseline; `debatebench judge --baseline {judge.method}` "
                "judges stored debates with it."
            )
    if missing := sorted(judge.prompt_style for judge in judges if _missing_template(judge, prompts)):
        raise UsageError(f"No judging prompt for prompt_style '{missing[0]}'.{known_names(missing[0], prompts.styles)}")
    return tuple(judges)


def plan_part(
    plan: Plan, newcomers: Sequence[MemberConfig], git_commit: str | None, judges: Sequence[MemberConfig] = ()
) -> PlanPart:
    """Every debate of `newcomers` against the debaters of `plan` and each other, to be appended to it, and new judges.

    Of four teams, each newcomer debates with three of the earlier debaters.

    Topics, options and the pool of judges stay as they were when the run began; the seeds are the same as in a plan
    with all debaters, and new panels are balanced together with the earlier ones. Raises `UsageError` when a newcomer
    is already a debater, or is a judge although the options do not allow it.
    """
    for newcomer in newcomers:
        if any(newcomer.id == debater.id for debater in plan.debaters):
            raise UsageError(f"'{newcomer.id}' is already a debater of run '{plan.run_tag}'; leave --new-model out.")
    for judge in judges:
        if plan.options.judges_from_selection:
            raise UsageError(
                f"In run '{plan.run_tag}' the debaters judge each other (--judges-from-selection): leave --new-judge "
                "out."
            )
        if missing := _missing_template(judge, plan.prompts):
            raise UsageError(_unknown_prompt(judge, missing, plan))
    if not plan.options.judges_from_selection:
        _check_overlap((*plan.debaters, *newcomers), judges, plan.options)
        _check_overlap(newcomers, plan.judges, plan.options)
    new = {newcomer.id for newcomer in newcomers}
    everyone = (*plan.debaters, *newcomers)
    if plan.config.is_of_teams:
        draw, earlier = TeamDraw(plan.options, generator, plan.debates), [each.id for each in plan.debaters]
        drawn = draw.of_newcomers(plan.topics, [each.id for each in newcomers], earlier)
        matchups = _of_ids(drawn, everyone)
    else:
        pairs = [(pro, con) for pro, con in _pairs(everyone, plan.options) if pro.id in new or con.id in new]
        matchups = _pairings(plan.topics, pairs, plan.options)
    size = plan.config.judges_per_debate
    pool = [judge for judge in plan.judges if judge.id not in plan.added_judges]
    debates = tuple(_debates(plan.run_tag, size, matchups, pool, plan.options, before=plan.debates))
    return PlanPart(
        debaters=tuple(newcomers),
        judges=tuple(judges),
        debates=_with_weaknesses(debates, plan.config, plan.options, plan.debates),
        harness_version=__version__,
        git_commit=git_commit,
    )


def _with_weaknesses(
    debates: tuple[ScheduledDebate, ...],
    config: Config,
    options: PlanOptions,
    before: Sequence[ScheduledDebate] = (),
) -> tuple[ScheduledDebate, ...]:
    """The debates with their weaknesses, if the run injects any."""
    if not config.weaknesses:
        return debates
    ratio = CONTROL_RATIO if options.control_ratio is None else options.control_ratio
    return with_weaknesses(debates, config, ratio, partial(generator, options.seed, "weaknesses"), before)


def _missing_template(judge: MemberConfig, prompts: PromptSet) -> str | None:
    """The first template that a judge needs and the run does not have."""
    return next((name for name in used_templates(judge, prompts) if name not in prompts.templates), None)


def _unknown_prompt(judge: MemberConfig, missing: str, plan: Plan) -> str:
    if method_of(judge).stages:
        return (
            f"Judge '{judge.id}' has method '{judge.method}', and run '{plan.run_tag}' began without its prompt "
            f"configs/prompts/{missing}.md: give it a method of the run's judges."
        )
    return (
        f"Judge '{judge.id}' has prompt_style '{judge.prompt_style}', and run '{plan.run_tag}' began with "
        f"{', '.join(plan.prompts.styles)}: give it one of these."
    )


def replacement_judges(plan: Plan, debate: ScheduledDebate) -> tuple[str, ...]:
    """The judges who may take a failed judge's seat: in a seeded order, then those that were added to the run."""
    active = [plan.debater(debater_id) for debater_id in debate.speakers.values()]
    judges = [judge for judge in plan.judges if not method_of(judge).is_baseline]
    eligible = [id_ for id_ in _eligible(judges, active, plan.options) if id_ not in debate.panel]
    free = [id_ for id_ in eligible if id_ not in plan.added_judges]
    generator(debate.debate_seed, "replacements").shuffle(free)
    return (*free, *(id_ for id_ in plan.added_judges if id_ in eligible))


def _check_overlap(debaters: Sequence[MemberConfig], pool: Sequence[MemberConfig], options: PlanOptions) -> None:
    """Reject judges that are debaters, unless the options say how to treat them."""
    if options.judges_from_selection or options.allow_judge_overlap:
        return
    for judge, debater in overlap(debaters, pool):
        if judge.id == debater.id:
            clash = f"'{judge.id}' is both a debater and a judge"
        else:
            clash = f"Judge '{judge.id}' and debater '{debater.id}' are the same model ({judge.provider} {judge.model})"
        raise UsageError(
            f"{clash}: remove one of them, or use --judges-from-selection (a debater never judges its own debates) or "
            "--allow-judge-overlap (the run is marked)."
        )


_Entry = TypeVar("_Entry", MemberConfig, TopicConfig)


def selected(
    entries: Sequence[_Entry], ids: Sequence[str] | None, kind: str, *, in_no_file: Collection[str] = ()
) -> tuple[_Entry, ...]:
    """The selected entries, in the order of their file; all entries without a selection.

    Raises `UsageError` for an id that is neither among them nor in `in_no_file`.
    """
    if ids is None:
        return tuple(entries)
    known = [entry.id for entry in entries]
    ids = [plain_name(id_) for id_ in ids]
    for wanted in ids:
        if wanted not in known and wanted not in in_no_file:
            raise UsageError(f"No {kind} '{wanted}'.{known_names(wanted, known)}")
    return tuple(entry for entry in entries if entry.id in ids)


def _check_enough(debaters: Sequence[MemberConfig], config: Config, options: PlanOptions) -> None:
    """Raise `UsageError` if the debaters are fewer than those of one debate."""
    least, whose = (len(TEAMS), "Debates of four teams need") if config.is_of_teams else (2, "A tournament needs")
    if len(debaters) >= least:
        return
    if options.selected_debaters is None:
        reason = f"but {len(debaters)} are configured; add some to models.yaml"
    else:
        named = " and ".join(f"'{each.id}'" for each in debaters)
        reason = f"but --debater names only {named}; name more, or leave it out to play with all"
    raise UsageError(f"{whose} at least {least} debaters, {reason}.")


def _of_categories(topics: Sequence[TopicConfig], options: PlanOptions) -> Sequence[TopicConfig]:
    """The topics of the chosen categories; raises `UsageError` for a category of none of them."""
    known = dict.fromkeys(topic.category for topic in topics if topic.category is not None)
    for name in options.categories or ():
        if name not in known:
            raise UsageError(f"No topic has the category '{name}'.{known_names(name, known, 'none')}")
    return topics if options.categories is None else [each for each in topics if each.category in options.categories]


def _sample(topics: Sequence[TopicConfig], options: PlanOptions) -> tuple[TopicConfig, ...]:
    """All topics, or a seeded sample in the order of the file."""
    count = options.sample_topics
    if count is None:
        return tuple(topics)
    if count > len(topics):
        raise UsageError(f"--sample-topics asks for {count} topics, but there are only {len(topics)}.")
    return tuple(topics[i] for i in sorted(generator(options.seed, "topics").sample(range(len(topics)), count)))


def _pairs(debaters: Sequence[MemberConfig], options: PlanOptions) -> list[tuple[MemberConfig, MemberConfig]]:
    """(pro, con): both orders of every pair, or one order in which the lower id is pro."""
    if options.balanced_sides:
        return list(permutations(debaters, 2))
    return [(a, b) if a.id < b.id else (b, a) for a, b in combinations(debaters, 2)]


_Matchup = tuple[TopicConfig, tuple[MemberConfig, ...]]
"""A topic, and who debates it: pro and con, or OG, OO, CG and CO."""


def _pairings(
    topics: Sequence[TopicConfig], pairs: Sequence[tuple[MemberConfig, MemberConfig]], options: PlanOptions
) -> Iterator[_Matchup]:
    """Every debate of the pairs in playing order, with the sides drawn if the options say so."""
    for topic in topics:
        for first, second in pairs:
            for slot in range(options.debates_per_pair):
                pro, con = first, second
                if (
                    options.swap_sides
                    and generator(options.seed, "flip", topic.id, pro.id, con.id, slot).random() < 0.5
                ):
                    pro, con = con, pro
                yield topic, (pro, con)


def _of_ids(drawn: Iterable[tuple[TopicConfig, Four]], debaters: Sequence[MemberConfig]) -> Iterator[_Matchup]:
    by_id = {debater.id: debater for debater in debaters}
    return ((topic, tuple(by_id[id_] for id_ in four)) for topic, four in drawn)


def _debates(
    run_tag: str,
    panel_size: int,
    matchups: Iterable[_Matchup],
    pool: Sequence[MemberConfig],
    options: PlanOptions,
    before: Sequence[ScheduledDebate] = (),
) -> Iterator[ScheduledDebate]:
    """The debates with their ids, seeds and panels, to follow the debates that were planned earlier."""
    balance, orders = PanelBalance(), OrderBalance()
    for debate in before:
        balance.seat(debate.panel, debate.topic_id, _together(debate.speakers.values()))
        orders.seat(debate.panel, debate.con_first)
    # The same topic and positions can occur again; a count keeps every id unique.
    repetitions: Counter[tuple[str, ...]] = Counter()
    for position, (topic, speakers) in enumerate(matchups, start=len(before)):
        ids = tuple(speaker.id for speaker in speakers)
        matchup = (topic.id, *ids)
        repetition = repetitions[matchup]
        repetitions[matchup] += 1
        seed = int(hash_with_decimal_lengths(options.seed, "debate", *matchup, repetition)[:8], 16) >> 1
        eligible = _eligible(pool, speakers, options)
        if len(eligible) < panel_size:
            raise UsageError(_pool_too_small(panel_size, len(eligible), ids, options))
        rng = generator(seed, "panel")
        if options.balanced_judges:
            panel = balance.choose(eligible, panel_size, topic.id, _together(ids), rng)
        else:
            panel = random_panel(eligible, panel_size, rng)
        is_of_teams = len(ids) == len(TEAMS)
        yield ScheduledDebate(
            run_tag=run_tag,
            debate_id=hash_with_decimal_lengths(run_tag, *matchup, repetition)[:16],
            schedule_position=position,
            topic_id=topic.id,
            pro_model_id=None if is_of_teams else ids[0],
            con_model_id=None if is_of_teams else ids[1],
            repetition=repetition,
            debate_seed=seed,
            panel=panel,
            con_first=orders.choose(panel, generator(seed, "order")) if options.swap_order else (),
            teams=ids if is_of_teams else (),
        )


def _together(debaters: Iterable[str]) -> tuple[str, ...]:
    """The debaters of a debate, regardless of their positions."""
    return tuple(sorted(debaters))


def _eligible(pool: Sequence[MemberConfig], active: Sequence[MemberConfig], options: PlanOptions) -> list[str]:
    """Ids of the judges who may sit: the whole pool, except a debate's own debaters when the debaters are the pool."""
    if not options.judges_from_selection:
        return [judge.id for judge in pool]
    return [judge.id for judge in pool if not any(judge.is_same_as(debater) for debater in active)]


def _pool_too_small(size: int, found: int, debaters: Sequence[str], options: PlanOptions) -> str:
    if options.judges_from_selection:
        pairing = " against ".join(f"'{debater}'" for debater in debaters)
        where = f"only {found} of the debaters may judge {pairing}; select more debaters"
    else:
        where = f"the pool has {found}; add judges to judges.yaml"
    return f"A panel needs {size} judges (judges_per_debate), and {where} or lower judges_per_debate."


def generator(seed: int, *purpose: object) -> random.Random:
    """A separate generator for every purpose, so that one draw never shifts another."""
    return random.Random(int(hash_with_decimal_lengths(seed, *purpose), 16))  # noqa: S311 (repeatable draws, no secrets)
