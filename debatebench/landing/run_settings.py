"""The settings of a run as rows: everything that can make its numbers differ from another run's.

They are derived from the run's other landed tables, so every journal and every import has them, however old it is.
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from decimal import ROUND_HALF_UP, Decimal, InvalidOperation
from typing import Any

import duckdb
import msgspec

from debatebench.query.landed_records import landed_records
from debatebench.shared.config_sections import config_sections
from debatebench.shared.json_bytes import mapping
from debatebench.shared.records import Debater, Dimension, Judge, Run, Topic
from debatebench.shared.service_tiers import asked_tier, tier_name

_Setting = tuple[str, str, Any]
"""Item, part and value; the value is None if it is unknown."""

_FINEST_PRICE = Decimal("1e-12")

# The plan may be long, so DuckDB computes its fingerprints. Trials of a stored debate are one debate of the plan, and
# attacked copies of it are not among those whose numbers are compared.
_SCHEDULE = """
with debates as (
    select
        nullif(array_to_string(teams, ' '), '') as four,
        concat_ws(' ', topic_id, pro_model_id, con_model_id, four, repetition) as debate,
        concat(debate, ' ', array_to_string(panel, ' ')) as debate_and_panel,
        case when weakness_type is not null then concat_ws(' ', debate, weakness_type, weakness_side) end as weakness
    from raw.schedule
    where run_tag = ? and trial = 1 and attack is null
)
select
    count(*),
    md5(array_to_string(list_sort(list(debate)), ' ')),
    md5(array_to_string(list_sort(list(debate_and_panel)), ' ')),
    md5(array_to_string(list_sort(list(weakness) filter (where weakness is not null)), ' '))
from debates
"""

# A run names them in its plan, also those of debates that were never played; an import only in its debates.
_INJECTED = """
select weakness_type from raw.weaknesses where run_tag = $1
union
select weakness_type from raw.schedule where run_tag = $1 and weakness_type is not null
order by all
"""

# The text of a judge's prompt does not say whether it asks for a winner, but the answers show it.
_NAMES_WINNERS = """
select judge_id, count(declared_winner) > 0
from raw.verdicts
where run_tag = ? and is_valid
group by judge_id
order by judge_id
"""


# Fields that a model refused, so that its answers were given without them.
_REFUSED = """
select case purpose when 'turn' then 'debater' else 'judge' end, coalesce(model_id, judge_id), list(distinct field)
from (select purpose, model_id, judge_id, unnest(adjusted) as field from raw.calls where run_tag = ?)
where field in ('temperature', 'seed', 'response_format')
group by all
order by all
"""

# Providers also serve a request in another tier than the one it asked for.
_SERVED = """
select case purpose when 'turn' then 'debater' else 'judge' end, coalesce(model_id, judge_id),
    list(distinct service_tier)
from raw.calls
where run_tag = ? and service_tier is not null
group by all
order by all
"""


def run_settings(con: duckdb.DuckDBPyConnection, run_tag: str) -> dict[tuple[str, str], str | None]:
    """Item and part → setting as text, for a run whose other tables have landed."""
    (run,) = landed_records(con, Run, run_tag)
    debaters = {debater.model_id: debater for debater in landed_records(con, Debater, run_tag)}
    pool = landed_records(con, Judge, run_tag)
    # A baseline has no model, prompt or vote.
    judges = {judge.judge_id: judge for judge in pool if not judge.is_baseline}
    dimensions = landed_records(con, Dimension, run_tag)
    config = config_sections(mapping(run.config))
    refused = {(role, id_): set(fields) for role, id_, fields in con.execute(_REFUSED, [run_tag]).fetchall()}
    served = {(role, id_): tiers for role, id_, tiers in con.execute(_SERVED, [run_tag]).fetchall()}
    settings = (
        *_of_run(run, config.settings),
        *_of_rounds(run, config.rounds),
        *_of_topics(landed_records(con, Topic, run_tag)),
        *_of_members("debater", debaters, run, config.settings.get("temperature"), refused),
        *_of_members("judge", judges, run, 0, refused),
        *_of_judge_prompts(judges, run),
        *_of_judge_methods(pool, run),
        *_of_dimensions(dimensions, run, config.dimensions),
        *_of_whole(mapping(config.settings.get("whole"))),
        *_of_weights_and_ties(dimensions, run),
        *_of_weaknesses(run, [name for (name,) in con.execute(_INJECTED, [run_tag]).fetchall()]),
        *_of_schedule(*con.execute(_SCHEDULE, [run_tag]).fetchall()[0]),
        *_of_tiers("debater", debaters, run, served),
        *_of_tiers("judge", judges, run, served),
        *_of_answers(con.execute(_NAMES_WINNERS, [run_tag]).fetchall()),
    )
    # A dimension may also be called `order`. If parts have the same name, the last one counts.
    return {(item, part): _text(value) for item, part, value in settings}


def _text(value: Any) -> str | None:
    """A JSON value as text; text is unchanged, without quotes."""
    return value if value is None or isinstance(value, str) else _json(value)


def _json(value: Any) -> str:
    return msgspec.json.encode(value).decode()


def _or(value: Any, default: Any) -> Any:
    return default if value is None else value


def _of_run(run: Run, config: Mapping[str, Any]) -> Iterator[_Setting]:
    options, is_played = mapping(run.options), run.source == "run"
    yield "benchmark_name", "name", run.benchmark_name
    yield "benchmark_version", "version", run.benchmark_version
    yield "rubric_version", "version", run.rubric_version
    yield "harness_version", "version", run.harness_version
    yield "seed", "seed", run.seed
    yield "languages", "judges", run.language
    own = mapping(run.prompt_hashes)
    for part in ("team", "team_turn") if "debater_team" in own else ("pro", "con", "turn"):
        yield "debater_prompts", part, _prompt(run, f"debater_{part}")
    if "debater_instruction" in own:
        yield "debater_prompts", "instruction", _prompt(run, "debater_instruction")
    yield "judge_prompts", "rubric and transcript", _prompt(run, "judge_user")
    yield "panel_rule", "judges per debate", config.get("judges_per_debate")
    yield "panel_rule", "balanced", options.get("balanced_judges")
    yield "panel_rule", "drawn from the debaters", options.get("judges_from_selection")
    # A run that is older than this option did not use it. For an import it is unknown, whatever the columns hold.
    yield "panel_rule", "con first for half", _or(options.get("swap_order"), False) if is_played else None
    yield "judge_overlap", "debaters may judge", run.allows_judge_overlap if is_played else None
    yield "schedule_rule", "debates per pair", options.get("debates_per_pair")
    yield "schedule_rule", "both sides", options.get("balanced_sides")
    yield "schedule_rule", "sides at random", options.get("swap_sides")
    # It is as with swapped orders above.
    yield "refusal_rule", "on refusal", _or(config.get("on_refusal"), "void") if is_played else None
    yield "elo_settings", "initial rating", str(run.elo_initial_rating)
    yield "elo_settings", "K", str(run.elo_k_factor)
    yield "elo_settings", "games for display", run.min_games_for_display
    # The same SQL models derive every run of a warehouse.
    yield "sql_models", "build", "one for all runs"


def _prompt(run: Run, name: str) -> str | None:
    """The first digits of a prompt's hash."""
    sha256 = mapping(run.prompt_hashes).get(name)
    return None if sha256 is None else str(sha256)[:12]


def _of_rounds(run: Run, rounds: Mapping[str, Mapping[str, Any]]) -> Iterator[_Setting]:
    for turn, fields in rounds.items():
        yield "rounds", turn, f"{fields.get('role', '')} {fields.get('stage', '')}"
        if fields.get("instruction"):
            yield "rounds", f"instruction of {turn}", fields["instruction"]
        yield "languages", turn, _or(fields.get("language"), run.language)
        yield "turn_token_caps", turn, _or(fields.get("max_tokens"), "none")


def _of_topics(topics: Iterable[Topic]) -> Iterator[_Setting]:
    for topic in topics:
        category = f" [{topic.category}]" if topic.category else ""
        info_slide = "" if topic.info_slide is None else f" {topic.info_slide}"
        yield "topics", topic.topic_id, f"{topic.motion}{category}{info_slide}"


def _of_members(
    role: str,
    members: Mapping[str, Debater | Judge],
    run: Run,
    usual_temperature: Any,
    refused: Mapping[tuple[str, str], Collection[str]],
) -> Iterator[_Setting]:
    """The settings of debaters or judges. They are the same, except for the temperature that is sent by default.

    `refused` has the fields that a model refused, by role and id; without them, the provider's defaults apply.
    """
    for member_id, member in members.items():
        names = (member.provider, member.model_name)
        yield f"{role}s", member_id, "takes part"
        yield f"{role}_models", member_id, None if None in names else " ".join(map(str, names))
        without = refused.get((role, member_id), ())
        values = _of_played_member(member, usual_temperature, without) if run.source == "run" else [None] * 4
        items = (f"{role}_models", f"{role}_temperatures", f"{role}_token_caps", "prices")
        parts = (f"{member_id} parameters", member_id, member_id, f"{role} {member_id}")
        yield from zip(items, parts, values, strict=True)


def _of_played_member(member: Debater | Judge, usual_temperature: Any, refused: Collection[str]) -> Iterator[Any]:
    """Parameters, temperature, token limit and prices, which imports do not state."""
    parameters = mapping(member.parameters)
    others = {name: value for name, value in parameters.items() if name != "temperature"}
    shown = sorted(f"{name}: {_json(value)}" for name, value in others.items() if value is not None)
    shown += [f"without {name}" for name in sorted(refused) if name != "temperature"]
    # If every value is null, the provider's defaults apply, and they are unknown.
    is_known = isinstance(member.parameters, dict) and (shown or not others)
    earlier = [_json(mapping(replaced)) for replaced in member.earlier_parameters or ()]
    yield "; before: ".join([", ".join(shown), *reversed(earlier)]) if is_known or earlier else None
    temperature = _or(parameters["temperature"], "none") if "temperature" in parameters else usual_temperature
    yield "none" if "temperature" in refused else temperature
    thinking = "" if member.thinking_tokens is None else f" and {member.thinking_tokens} for thinking"
    window = member.context_window if isinstance(member, Judge) else None
    within = "" if window is None else f" in a window of {window}"
    yield f"{_or(member.token_limit, 'none')}{thinking}{within}"
    yield _of_prices(mapping(member.pricing))


def _of_prices(pricing: Mapping[str, Any]) -> str:
    """The price of a million tokens of the prompt and of the completion, then other prices, then those of tiers."""
    shown = " and ".join(_per_million(pricing.get(kind)) for kind in ("prompt", "completion"))
    others = sorted(pricing.keys() - {"prompt", "completion", "request", "tiers"})
    parts = [shown, *(f"{kind} {_per_million(pricing[kind])}" for kind in others if pricing[kind] is not None)]
    if pricing.get("request") is not None:
        parts.append(f"{pricing['request']} per request")
    tiers = mapping(pricing.get("tiers"))
    return "; ".join([", ".join(parts), *(f"{name}: {_of_prices(mapping(tiers[name]))}" for name in sorted(tiers))])


def _of_tiers(
    role: str, members: Mapping[str, Debater | Judge], run: Run, served: Mapping[tuple[str, str], Collection[str]]
) -> Iterator[_Setting]:
    """The tiers that served a member's requests; it is the standard one if none was asked for and no answer names one.

    It is unknown for an import, and for a member that asked for another tier, if no answer names one.
    """
    for member_id, member in members.items():
        asked = tier_name(asked_tier(member.parameters))
        known = {asked} if run.source == "run" and asked == tier_name(None) else set()
        tiers = {tier_name(tier) for tier in served.get((role, member_id), ())} or known
        yield "service_tiers", f"{role} {member_id}", " and ".join(sorted(tiers)) or None


def _per_million(price: Any) -> str:
    """The price of a million tokens."""
    try:
        return f"{Decimal(str(price)).quantize(_FINEST_PRICE, ROUND_HALF_UP) * 1_000_000:.6f}"
    except InvalidOperation:
        return "unknown"


def _of_judge_prompts(judges: Mapping[str, Judge], run: Run) -> Iterator[_Setting]:
    """The prompt of each judge that uses one, its style where it uses those of a method, and those prompts."""
    for judge_id, judge in judges.items():
        if run.source == "run" and judge.method != "direct":
            yield "judge_prompts", judge_id, judge.prompt_style
            continue
        sha256 = _prompt(run, f"judge_{judge.prompt_style}")
        yield "judge_prompts", judge_id, None if sha256 is None else f"{judge.prompt_style} {sha256}"
    for name in sorted(mapping(run.prompt_hashes)):
        if name.startswith("judge/"):
            yield "judge_prompts", name.removeprefix("judge/"), _prompt(run, name)


def _of_judge_methods(pool: Iterable[Judge], run: Run) -> Iterator[_Setting]:
    """How each judge reaches its verdicts. The source of an import does not say it, whatever the column holds."""
    for judge in pool:
        yield "judge_methods", judge.judge_id, judge.method if run.source == "run" else None


def _of_dimensions(
    dimensions: Iterable[Dimension], run: Run, configured: Mapping[str, Mapping[str, Any]]
) -> Iterator[_Setting]:
    in_order = sorted(dimensions, key=lambda dimension: (dimension.source_position, dimension.dimension))
    for dimension in in_order:
        name, ends = dimension.dimension, [dimension.min_score, dimension.max_score]
        scale = None if None in ends else " to ".join(str(float(end)) for end in ends if end is not None)
        numbers = None
        if run.source == "run" and name in configured:
            ends_are_whole = all(end is not None and end % 1 == 0 for end in ends)
            numbers = "whole" if _or(configured[name].get("integer"), ends_are_whole) else "any"
            if configured[name].get("step") is not None and dimension.step is not None:
                numbers = "whole" if dimension.step == 1 else f"in steps of {dimension.step.normalize():f}"
        yield "dimensions", name, _or(dimension.description, "no description" if run.source == "run" else None)
        for stage, text in mapping(configured.get(name, {}).get("preferences")).items():
            yield "dimensions", f"{name} ({stage})", text
        if anchors := mapping(dimension.anchors):
            yield (
                "dimensions",
                f"{name} (anchors)",
                "; ".join(f"{score} = {anchors[score]}" for score in sorted(anchors)),
            )
        for category, asked in mapping(dimension.by_category).items():
            for side, text in mapping(asked).items():
                yield "dimensions", f"{name} ({category}, {side})", text
        yield "scales", name, scale
        yield "scales", f"{name} numbers", numbers
    if in_order:
        yield "dimensions", "order", ", ".join(dimension.dimension for dimension in in_order)


def _of_whole(whole: Mapping[str, Any]) -> Iterator[_Setting]:
    """How the debate as a whole is judged, where the configuration departs from the default."""
    if whole.get("ties") is False:
        yield "dimensions", "the whole debate (ties)", "no ties"
    for stage, text in mapping(whole.get("preferences")).items():
        if text is not None:
            yield "dimensions", f"the whole debate ({stage})", text


def _of_weights_and_ties(dimensions: Iterable[Dimension], run: Run) -> Iterator[_Setting]:
    for dimension in dimensions:
        ties = f"ties within {dimension.tie_band.normalize():f}" if dimension.allows_ties else "no ties"
        value = f"weight {dimension.weight.normalize():f}, {ties}"
        yield "weights_and_ties", dimension.dimension, value if run.source == "run" else None


def _of_weaknesses(run: Run, injected: Sequence[str]) -> Iterator[_Setting]:
    """The weaknesses in a run's debates and, where it injected them itself, how."""
    yield "weaknesses", "injected", ", ".join(injected) or "none"
    run_config = mapping(run.config)
    taxonomy = run_config.get("weaknesses") or ()
    if not taxonomy:
        return
    yield "weaknesses", "taxonomy", _or(run_config.get("weakness_taxonomy"), "debatebench")
    yield "weaknesses", "controls", mapping(run.options).get("control_ratio")
    yield "weaknesses", "prompt", _prompt(run, "debater_weakness")
    for weakness in taxonomy:
        told = hashlib.sha256(weakness["instruction"].encode()).hexdigest()
        yield "weaknesses", weakness["id"], f"{weakness['turns']}, {weakness['dimension']}, {told[:12]}"


def _of_schedule(count: int, debates_md5: str, panels_md5: str, weaknesses_md5: str | None) -> Iterator[_Setting]:
    if count and weaknesses_md5 is not None:
        yield "schedule", "weaknesses", weaknesses_md5[:12]
    if count:
        yield "schedule", "debates", f"{count} ({debates_md5[:12]})"
        yield "schedule", "panels", panels_md5[:12]


def _of_answers(names_winners: Iterable[tuple[str, bool]]) -> Iterator[_Setting]:
    for judge_id, has_named in names_winners:
        yield "judge_prompts", f"{judge_id} names winners", "yes" if has_named else "no"
