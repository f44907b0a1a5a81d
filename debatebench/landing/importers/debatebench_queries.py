"""Plain lines of the original DebateBench harness → rows of turns and verdicts, in SQL.

`debatebench_rows.py` makes the same rows of any line, at several times the cost.
"""

from __future__ import annotations

from debatebench.shared.record_columns import column_types
from debatebench.shared.records import Verdict

LARGEST_PLAIN_LINE = 16 * 1024 * 1024
"""Bytes. DuckDB reads a file in buffers that must hold its longest line."""

# A number that is read as text is the shortest text of its float, as in Python; text becomes an exact decimal.
_USAGE = {
    "prompt_tokens": "BIGINT",
    "completion_tokens": "BIGINT",
    "total_tokens": "BIGINT",
    "cost": "VARCHAR",
    "currency": "VARCHAR",
}
_TURN = {"stage": "VARCHAR", "content": "VARCHAR", "created_at": "TIMESTAMP", "duration_ms": "DOUBLE", **_USAGE}
_VERDICT = {"judge_id": "VARCHAR", "raw_response": "VARCHAR", "latency_ms": "DOUBLE", **_USAGE}


def _lines(**columns: str) -> str:
    """The lines of the files, and some of what they hold, as a table."""
    held = ", ".join(f"{name}: '{sql_type}'" for name, sql_type in columns.items())
    return (
        "read_json($paths, format = 'newline_delimited', records = true, compression = 'none', "
        f"hive_partitioning = false, columns = {{{held}}}, maximum_object_size = {LARGEST_PLAIN_LINE + 1})"
    )


def _struct(columns: dict[str, str], **more: str) -> str:
    held = ", ".join(f'"{name}" {sql_type}' for name, sql_type in (columns | more).items())
    return f"STRUCT({held})"


def _of(item: str, columns: dict[str, str]) -> str:
    return ", ".join(f"{item}.{name} as {name}" for name in columns)


_TURNS = f"""
select
    $run_tag as run_tag,
    transcript.debate_id as debate_id,
    turn."index" as turn_index,
    turn.speaker as position,
    turn.speaker as side,
    if(turn.speaker = 'pro', transcript.pro_model_id, transcript.con_model_id) as model_id,
    false as is_truncated,
    {_of("turn", _TURN)}
from (
    select transcript, unnest(transcript.turns) as turn
    from {
    _lines(
        transcript="STRUCT(debate_id VARCHAR, pro_model_id VARCHAR, con_model_id VARCHAR, "
        f"turns {_struct(_TURN, index='BIGINT', speaker='VARCHAR')}[])"
    )
}
)
"""

# Scores are read as JSON, because to make maps of them takes twice the time.
_VERDICTS = f"""
select
    $run_tag as run_tag,
    debate_id,
    panel_position,
    len(dimensions) > 0 or winner is not null as is_valid,
    if(is_valid, null, 'no scores') as invalid_reason,
    winner as declared_winner,
    if(len(dimensions) > 0, list_zip(dimensions, pro, con), null)::{column_types(Verdict)["scores"]} as scores,
    1 as asks,
    false as is_repaired,
    false as is_truncated_after_verdict,
    false as is_injection_suspected,
    {_of("verdict", _VERDICT)}
from (
    select
        debate_id,
        panel_position,
        verdict,
        verdict.winner as winner,
        coalesce(json_keys(verdict.pro.scores), []) as dimensions,
        json_extract_string(verdict.pro.scores, '$.*') as pro,
        json_extract_string(verdict.con.scores, '$.*') as con
    from (
        select
            transcript.debate_id as debate_id,
            generate_subscripts(judges, 1) - 1 as panel_position,
            unnest(judges) as verdict
        from {
    _lines(
        transcript="STRUCT(debate_id VARCHAR)",
        judges=_struct(_VERDICT, pro="STRUCT(scores JSON)", con="STRUCT(scores JSON)", winner="VARCHAR") + "[]",
    )
}
    )
)
"""

PLAIN_ROWS = {"turns": _TURNS, "verdicts": _VERDICTS}
