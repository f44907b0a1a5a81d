"""One attacked copy of a stored debate, with the keys that `one_debate.py` has for any debate."""

from __future__ import annotations

from typing import Any

import duckdb

from debatebench.query.relations import has_relation
from debatebench.query.safe_query import run_query

# No panel's winner is derived for attacked copies: they are about single judges.
_DEBATES = """
select
    d.run_tag, d.debate_id, d.topic_id, t.motion, t.category, d.format, d.pro_model_id, d.con_model_id, d.status,
    d.status_reason, t.info_slide, d.source_run_tag, d.source_debate_id, d.trial, d.attack, d.attack_kind,
    d.attack_side, d.clean_debate_id
from marts.attacked_debates as d
left join staging.stg_topics as t on t.run_tag = d.run_tag and t.topic_id = d.topic_id
where d.debate_id = $debate_id and ($run_tag is null or d.run_tag = $run_tag)
order by d.run_tag
"""

_TURNS = """
select
    turns.turn_index, turns.position, turns.side, seats.model_id, turns.stage, turns.content,
    clean.content is distinct from turns.content as is_attacked
from staging.stg_attacked_turns as turns
inner join marts.attacked_debates as d using (run_tag, debate_id)
left join staging.stg_participants as seats
    on seats.run_tag = d.source_run_tag and seats.debate_id = d.source_debate_id and seats.position = turns.position
left join staging.stg_turns as clean
    on clean.run_tag = d.source_run_tag and clean.debate_id = d.source_debate_id
    and clean.turn_index = turns.turn_index
where turns.run_tag = $run_tag and turns.debate_id = $debate_id
order by turns.turn_index
"""

_VERDICTS = """
select
    v.judge_id, w.method, w.is_baseline, w.is_valid, v.invalid_reason, v.declared_winner, w.winner, v.scores,
    v.count_asks, v.replaces_judge_id, v.is_repaired, v.is_truncated_after_verdict, v.is_injection_suspected
from staging.stg_attacked_verdicts as v
inner join marts.attacked_verdicts as w using (run_tag, debate_id, judge_id)
where v.run_tag = $run_tag and v.debate_id = $debate_id
order by v.panel_position, v.judge_id
"""

_NOTES = """
select n.judge_id, n.step, n.dimension, n.turn_index, n.position, n.score, t.title, n.text
from staging.stg_attacked_notes as n
inner join intermediate.int_titled_notes as t using (run_tag, debate_id, judge_id, note_index)
inner join staging.stg_attacked_verdicts as v using (run_tag, debate_id, judge_id)
where n.run_tag = $run_tag and n.debate_id = $debate_id
order by v.panel_position, n.judge_id, n.note_index
"""


def find_attacked(con: duckdb.DuckDBPyConnection, debate_id: str, run_tag: str | None) -> dict[str, Any] | None:
    """The attacked copy with this whole id; of the first run if several have it, None if there is none."""
    if not has_relation(con, "marts.attacked_debates"):
        return None
    debates = _rows(con, _DEBATES, {"debate_id": debate_id, "run_tag": run_tag})
    if not debates:
        return None
    debate = debates[0]
    key = {"run_tag": debate["run_tag"], "debate_id": debate["debate_id"]}
    for name, sql in (("turns", _TURNS), ("verdicts", _VERDICTS), ("notes", _NOTES)):
        debate[name] = _rows(con, sql, key)
    return debate


def _rows(con: duckdb.DuckDBPyConnection, sql: str, parameters: dict[str, Any]) -> list[dict[str, Any]]:
    found = run_query(con, sql, parameters, limit=None)
    return found.dicts()
