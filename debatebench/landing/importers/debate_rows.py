"""Plain debates → rows, in SQL: what `debatebench.landing.importers.debatebench` says in Python about the same lines.

`$run_tag` is the tag and `$paths` are the files. `temp.read_debates` gets a row for every line, `temp.new_lines` a row
for every one that counts and was not landed before. A turn or a verdict is called `item` here.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from debatebench.landing.importers.plain_debates import LARGEST_PLAIN_LINE
from debatebench.shared.records import TABLES

__all__ = [
    "DEBATES",
    "NEW_DEBATES",
    "NEW_LINES",
    "PARTICIPANTS",
    "READ_DEBATES",
    "RUN_FACTS",
    "SHARED_ROWS",
    "turns",
    "verdicts",
]

# Objects whose keys nobody knows are read as JSON: making maps of them takes three times as long as all the rest.
_SCORES = "STRUCT(scores JSON)"
# A number that is read as text is the shortest text of its float, as in Python; only text becomes an exact decimal.
_USAGE = (
    "prompt_tokens BIGINT, completion_tokens BIGINT, total_tokens BIGINT, cost VARCHAR, currency VARCHAR, "
    "cost_details JSON, metadata JSON"
)


def _lines(options: str = "", **columns: str) -> str:
    """The lines of the files, and some of what they hold, as a table."""
    held = ", ".join(f"{name}: '{sql_type}'" for name, sql_type in columns.items())
    # Unless it is told that lines hold records, DuckDB reads twenty thousand of them, on one core, to find that out.
    return (
        f"read_json($paths, format = 'newline_delimited', records = true, compression = 'none', columns = {{{held}}}, "
        f"maximum_object_size = {LARGEST_PLAIN_LINE}{options})"
    )


READ_DEBATES = f"""
create or replace temp table read_debates as
select
    filename,
    transcript.debate_id as debate_id,
    transcript.benchmark_version as benchmark_version,
    transcript.rubric_version as rubric_version,
    transcript.topic.id as topic_id,
    transcript.topic.motion as motion,
    nullif(transcript.topic.category, '') as category,
    transcript.pro_model_id as pro_model_id,
    transcript.con_model_id as con_model_id,
    len(transcript.turns) as count_turns,
    transcript.seed as seed,
    len(judges) as count_verdicts,
    aggregate.winner as recorded_winner,
    nullif(json_keys(aggregate.mean_pro), []) as dimension_order,
    * exclude (transcript, judges, aggregate, filename)
from {
    _lines(
        ", filename = true",
        transcript="STRUCT(debate_id VARCHAR, benchmark_version VARCHAR, rubric_version VARCHAR, "
        "topic STRUCT(id VARCHAR, motion VARCHAR, category VARCHAR), pro_model_id VARCHAR, con_model_id VARCHAR, "
        'turns STRUCT("index" BIGINT)[], seed BIGINT)',
        judges="STRUCT(judge_id VARCHAR)[]",
        aggregate="STRUCT(winner VARCHAR, mean_pro JSON)",
        created_at="TIMESTAMP",
        judges_expected="BIGINT",
        judges_actual="BIGINT",
        panel_complete="BOOLEAN",
        panel_latency_ms="DOUBLE",
        debate_seed="BIGINT",
        elo="STRUCT(initial_rating DOUBLE, k_factor DOUBLE)",
    )
}
"""

# Of several lines with one debate the first counts, but none of a part before the one that replaces the debate.
NEW_LINES = """
create or replace temp table new_lines as
with
    landed as (select debate_id from raw.debates where run_tag = $run_tag),
    files as (select unnest($paths::varchar[]) as filename, unnest($parts::integer[]) as part),
    replaced as (select unnest($replaced::varchar[]) as debate_id, unnest($replacing::integer[]) as part),
    counted as (
        select min(read_debates.rowid) as line
        from temp.read_debates
        inner join files using (filename)
        left join replaced using (debate_id)
        where coalesce(files.part >= replaced.part, true) and debate_id not in (from landed)
        group by debate_id
    )
select line, (select count(*) from landed) + row_number() over (order by line) - 1 as source_position
from counted
"""

NEW_DEBATES = "(from temp.read_debates inner join temp.new_lines on read_debates.rowid = new_lines.line)"
"""What was read from the new lines, as a table."""


def _rows(table: str, columns: Mapping[str, str], source: str) -> str:
    """Rows of a landed table; a column that is not named has the value that its record has by default."""
    fields = TABLES[table].model_fields
    named = {"run_tag": "$run_tag", **columns}
    values = (
        f"{named[name] if name in named or field.is_required() else _literal(field.default)} as {name}"
        for name, field in fields.items()
    )
    return f"select {', '.join(values)} from {source}"


def _literal(value: Any) -> str:
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    return f"'{value}'" if isinstance(value, str) else str(value)


def _member(key: str, value: str) -> str:
    """A member of a JSON object as text; null when its value is."""
    return f"""'"{key}":' || to_json({value})::varchar"""


def _members(details: str, condition: str = "true", value: str = "e[2]") -> str:
    """The members of some details that are not null; `e` is a pair of a key and the JSON text of its value."""
    entries = f"list_zip(json_keys({details}), json_extract({details}, '$.*')::varchar[])"
    return (
        f"list_transform(list_filter({entries}, lambda e: e[2] != 'null' and {condition}), "
        f"lambda e: to_json(e[1])::varchar || ':' || {value})"
    )


def _object(members: str) -> str:
    """The text of a JSON object with these members; null when there are none."""
    return f"nullif('{{' || array_to_string({members}, ',') || '}}', '{{}}')"


def _text(value: str) -> str:
    """A JSON value, if it is text."""
    return f"case when {value} like '\"%' then {value} ->> '$' end"


def _metadata(condition: str = "true") -> str:
    """An item's metadata, with its cost details as one more member, in the place of one that has the same name."""
    # `costs` is the text of the cost details as an object; see `_items`.
    value = "if(e[1] = 'cost_details', coalesce(costs, e[2]), e[2])"
    stated = "json_extract(item.metadata, '$.cost_details')"
    more = f"""if(costs is null or {stated} != 'null', [], ['"cost_details":' || costs])"""
    return _object(f"list_concat({_members('item.metadata', condition, value)}, {more})")


def _items(kind: str, columns: str, found: str, lines: str, only_new: bool) -> str:
    """Turns or verdicts, one by one, of all lines or only of the new ones: `columns` of a line, `found` in an item."""
    if only_new:
        numbered = f"select row_number() over () - 1 as line, * from {lines}"
        lines = f"({numbered}) where line in (select line from temp.new_lines)"
    return f"""(
    select *, {_object(_members("item.cost_details"))} as costs, {found}
    from (select transcript.debate_id as debate_id, {columns}, unnest({kind}) as item from {lines})
)"""


_ELO = ", ".join(_member(name, f"elo.{name}") for name in ("initial_rating", "k_factor"))
_FACTS = ", ".join(
    (
        _member("benchmark_version", "benchmark_version"),
        _member("rubric_version", "rubric_version"),
        _member("seed", "seed"),
        f"""if(elo is null, null, '"elo":{{' || concat_ws(',', {_ELO}) || '}}')""",
        _member("panel_complete", "panel_complete"),
        _member("stated_judges_actual", "nullif(judges_actual, count_verdicts)"),
    )
)

DEBATES = _rows(
    "debates",
    {
        "debate_id": "debate_id",
        "source_position": "source_position",
        "topic_id": "topic_id",
        "pro_model_id": "pro_model_id",
        "con_model_id": "con_model_id",
        "debate_seed": "debate_seed",
        "created_at": "created_at",
        "judges_expected": "judges_expected",
        "judges_actual": "count_verdicts",
        "panel_latency_ms": "panel_latency_ms",
        "recorded_winner": "recorded_winner",
        "dimension_order": "dimension_order",
        "metadata": f"nullif('{{' || concat_ws(',', {_FACTS}) || '}}', '{{}}')",
    },
    NEW_DEBATES,
)

PARTICIPANTS = _rows(
    "participants",
    {"debate_id": "debate_id", "position": "side", "model_id": "model_id", "side": "side"},
    f"""(
    select debate_id, unnest(['pro', 'con']) as side, unnest([pro_model_id, con_model_id]) as model_id
    from {NEW_DEBATES}
)""",
)

_CALL = {
    "created_at": "item.created_at",
    "prompt_tokens": "item.prompt_tokens",
    "completion_tokens": "item.completion_tokens",
    "total_tokens": "item.total_tokens",
    "cost": "item.cost",
    "currency": "item.currency",
}
# All at once, because each look parses the metadata anew.
_TOLD = """json_extract(item.metadata, [
    '$.reasoning', '$.raw_response.choices[0].finish_reason', '$.raw_response.provider', '$.raw_response.id'
]) as told"""
_REASONING, _FINISH_REASON, _PROVIDER, _ID = (_text(f"told[{place}]") for place in (1, 2, 3, 4))


def turns(only_new: bool) -> str:
    """The turns of all lines, or only of the new ones, which costs more."""
    turn = '"index" BIGINT, speaker VARCHAR, stage VARCHAR, content VARCHAR, created_at TIMESTAMP, duration_ms DOUBLE'
    lines = _lines(
        transcript="STRUCT(debate_id VARCHAR, pro_model_id VARCHAR, con_model_id VARCHAR, "
        f"turns STRUCT({turn}, {_USAGE})[])"
    )
    models = "transcript.pro_model_id as pro_model_id, transcript.con_model_id as con_model_id"
    return _rows(
        "turns",
        {
            "debate_id": "debate_id",
            "turn_index": 'item."index"',
            "position": "item.speaker",
            "side": "item.speaker",
            "model_id": "if(item.speaker = 'pro', pro_model_id, con_model_id)",
            "stage": "item.stage",
            "content": "item.content",
            "reasoning": _REASONING,
            "duration_ms": "item.duration_ms",
            **_CALL,
            "finish_reason": _FINISH_REASON,
            "is_truncated": f"coalesce({_FINISH_REASON} = 'length', false)",
            "serving_provider": _PROVIDER,
            "generation_id": _ID,
            "metadata": _metadata("not (e[1] = 'reasoning' and e[2] like '\"%')"),
        },
        _items("transcript.turns", models, _TOLD, lines, only_new),
    )


def verdicts(only_new: bool) -> str:
    """The verdicts of all lines, or only of the new ones, which costs more."""
    verdict = f"judge_id VARCHAR, pro {_SCORES}, con {_SCORES}, winner VARCHAR, raw_response VARCHAR, latency_ms DOUBLE"
    lines = _lines(transcript="STRUCT(debate_id VARCHAR)", judges=f"STRUCT({verdict}, {_USAGE})[]")
    # Both sides have the same dimensions, nearly always in the same order.
    found = """
        json_keys(item.pro.scores) as dimensions,
        json_extract_string(item.pro.scores, '$.*') as pros,
        json_keys(item.con.scores) as con_dimensions,
        json_extract_string(item.con.scores, '$.*') as cons"""
    ordered = (
        "if(dimensions = con_dimensions, cons, list_transform(dimensions, lambda d: map(con_dimensions, cons)[d]))"
    )
    has_scores = "len(dimensions) > 0"
    return _rows(
        "verdicts",
        {
            "debate_id": "debate_id",
            "judge_id": "item.judge_id",
            "panel_position": "place - 1",
            "is_valid": has_scores,
            "invalid_reason": f"if({has_scores}, null, 'no scores')",
            "declared_winner": "item.winner",
            "scores": f"if({has_scores}, list_zip(dimensions, pros, {ordered}), null)",
            "raw_response": "item.raw_response",
            "latency_ms": "item.latency_ms",
            **{name: value for name, value in _CALL.items() if name != "created_at"},
            "metadata": _metadata(),
        },
        _items("judges", "generate_subscripts(judges, 1) as place", found, lines, only_new),
    )


# The first row of a topic counts; a category that it lacks comes from a later one.
_TOPICS = f"""(
    select topic_id, min(place) as first, arg_min(motion, place) as motion, arg_min(category, place) as category
    from (
        select topic_id, motion, category, {{'is_new': false, 'position': source_position}} as place
        from raw.topics where run_tag = $run_tag
        union all
        select topic_id, motion, category, {{'is_new': true, 'position': source_position}} as place
        from {NEW_DEBATES}
    )
    group by topic_id
)"""

# A debate lists dimensions in its aggregate, then in the scores of its verdicts. There are few different lists.
_DIMENSIONS = """(
    select dimension, min({'place': place, 'position': position}) as first
    from (
        select unnest(dimensions) as dimension, generate_subscripts(dimensions, 1) as position, place
        from (
            select dimension_order as dimensions, min({'debate': source_position, 'verdict': -1}) as place
            from raw.debates
            where run_tag = $run_tag
            group by dimensions
            union all
            select
                list_transform(scores, lambda s: s.dimension) as dimensions,
                min({'debate': source_position, 'verdict': panel_position}) as place
            from raw.verdicts
            inner join raw.debates using (run_tag, debate_id)
            where run_tag = $run_tag
            group by dimensions
        )
    )
    group by dimension
)"""

SHARED_ROWS = {
    "topics": _rows(
        "topics",
        {
            "topic_id": "topic_id",
            "source_position": "row_number() over (order by first) - 1",
            "motion": "motion",
            "category": "category",
        },
        f"{_TOPICS} order by first",
    ),
    "debaters": _rows(
        "debaters",
        {"model_id": "model_id"},
        "(select distinct model_id from raw.participants where run_tag = $run_tag) order by model_id",
    ),
    "judges": _rows(
        "judges",
        {"judge_id": "judge_id"},
        "(select distinct judge_id from raw.verdicts where run_tag = $run_tag) order by judge_id",
    ),
    "dimensions": _rows(
        "dimensions",
        {"dimension": "dimension", "source_position": "row_number() over (order by first) - 1"},
        f"{_DIMENSIONS} order by first",
    ),
}
"""Rows that many debates share, by table: they follow from all debates of the tag together."""

RUN_FACTS = {
    "benchmark_version": "metadata ->> '$.benchmark_version'",
    "rubric_version": "metadata ->> '$.rubric_version'",
    "seed": "(metadata ->> '$.seed')::bigint",
}
"""What debates state about their run: the field of `Run`, and where it is in a row of `raw.debates`."""
