"""One whole debate: looked up in the warehouse, and as text for a person."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import closing
from html import escape
from pathlib import Path
from textwrap import indent
from typing import Any

import duckdb

from debatebench.query.attacked_copy import find_attacked
from debatebench.query.run_tags import NO_RUNS, check_landed, landed_tags
from debatebench.query.safe_query import open_for_query, run_query
from debatebench.shared.amounts import counted, did_you_mean
from debatebench.shared.errors import UsageError
from debatebench.shared.visible_text import visible

_DEBATES = """
select
    d.run_tag, d.debate_id, d.topic_id, d.motion, d.category, d.format, d.pro_model_id, d.con_model_id, d.status,
    d.status_reason, d.refused_by, d.winner, d.count_pro, d.count_con, d.count_tie, d.pro_mean_score, d.con_mean_score,
    d.total_tokens, d.cost_usd, t.info_slide, s.source_run_tag, s.source_debate_id, d.trial
from marts.debates as d
left join intermediate.int_debate_sources as s
    on s.run_tag = d.run_tag and s.debate_id = d.debate_id and d.source_debate_id is not null
left join staging.stg_topics as t on t.run_tag = d.run_tag and t.topic_id = d.topic_id
where starts_with(d.debate_id, $debate_id) and ($run_tag is null or d.run_tag = $run_tag)
order by d.run_tag, d.debate_id
"""

_TURNS = """
select
    turn_index, position, side, model_id, stage, instruction, content, prompt_tokens, completion_tokens, cost_usd,
    finish_reason
from staging.stg_turns
inner join intermediate.int_debate_sources as s
    on s.source_run_tag = stg_turns.run_tag and s.source_debate_id = stg_turns.debate_id
where s.run_tag = $run_tag and s.debate_id = $debate_id
order by turn_index
"""

_VERDICTS = """
select
    v.judge_id, m.method, m.is_baseline, v.is_valid, v.invalid_reason, v.declared_winner,
    case when m.is_baseline then v.declared_winner else j.winner end as winner, v.scores, v.count_asks,
    v.replaces_judge_id, v.is_repaired, v.is_truncated_after_verdict, v.is_injection_suspected, r.places
from staging.stg_verdicts as v
inner join staging.stg_judges as m on m.run_tag = v.run_tag and m.judge_id = v.judge_id
left join marts.judge_verdicts as j
    on j.run_tag = v.run_tag and j.debate_id = v.debate_id and j.judge_id = v.judge_id
left join (
    select
        run_tag, debate_id, judge_id,
        list({'position': position, 'rank': rank, 'score': score} order by rank, position) as places
    from intermediate.int_team_ranks
    group by run_tag, debate_id, judge_id
) as r
    on r.run_tag = v.run_tag and r.debate_id = v.debate_id and r.judge_id = v.judge_id
where v.run_tag = $run_tag and v.debate_id = $debate_id
order by v.panel_position, v.judge_id
"""

_TEAMS = """
select position, model_id, rank, mean_rank, points, count_named, count_judges, mean_score
from marts.team_results
where run_tag = $run_tag and debate_id = $debate_id
order by rank, position
"""

_NOTES = """
select n.judge_id, n.step, n.dimension, n.turn_index, n.position, n.score, t.title, n.text
from marts.judge_notes as n
inner join intermediate.int_titled_notes as t using (run_tag, debate_id, judge_id, note_index)
inner join staging.stg_verdicts as v using (run_tag, debate_id, judge_id)
where n.run_tag = $run_tag and n.debate_id = $debate_id
order by v.panel_position, n.judge_id, n.note_index
"""

_NEAR = """
select distinct debate_id from marts.debates
where $run_tag is null or run_tag = $run_tag
order by jaro_winkler_similarity(debate_id, $debate_id) desc, debate_id
limit 3
"""

_LATEST = """
select debate_id from marts.debates
where run_tag = $run_tag
order by created_at desc nulls last, coalesce(schedule_position, source_position) desc, debate_id desc
limit 1
"""
_MOST_NAMED = 5


def check_marts(con: duckdb.DuckDBPyConnection) -> None:
    """Raise `UsageError` if the SQL models were never built."""
    if not con.execute("select 1 from duckdb_schemas() where schema_name = 'marts'").fetchall():
        raise UsageError("The SQL models are not built yet; run `debatebench build`.")


class StoredDebate(dict[str, Any]):
    """A debate as `find_debate` describes it; as text it is what `debatebench inspect-debate` prints."""

    def __repr__(self) -> str:
        sides = " against ".join(str(debater) for _, debater in seats_of(self))
        return f"<debate {self['debate_id']} of run '{self['run_tag']}': {sides}>"

    def __str__(self) -> str:
        return debate_text(self)

    def _repr_html_(self) -> str:
        return f"<pre>{escape(debate_text(self))}</pre>"


def find_debate(database: Path | duckdb.DuckDBPyConnection, debate_id: str, run_tag: str | None) -> StoredDebate:
    """The debate whose id is, or uniquely begins with, `debate_id`: its row of `marts.debates`, `turns`, `verdicts`,
    `notes` (what the judges wrote) and `teams` (the places of four teams, the best first; empty for two sides).

    A debate that is judged again has the turns of its source, which `source_run_tag` and `source_debate_id` name.
    An attacked copy, under its whole id, has the speeches that its judges read, and `attack`, `attack_side` and
    `clean_debate_id`. Raises `UsageError` if there is none or more than one.
    """
    if isinstance(database, Path):
        with closing(open_for_query(database)) as con:
            return find_debate(con, debate_id, run_tag)
    con = database
    check_marts(con)
    found = run_query(con, _DEBATES, {"debate_id": debate_id, "run_tag": run_tag}, limit=None)
    rows = found.dicts()
    rows = [row for row in rows if row["debate_id"] == debate_id] or rows
    if not rows and (attacked := find_attacked(con, debate_id, run_tag)) is not None:
        return StoredDebate(attacked)
    if not rows:
        raise _no_debate(con, debate_id, run_tag)
    if len(rows) > 1:
        named = ", ".join(f"{row['debate_id']} of '{row['run_tag']}'" for row in rows[:_MOST_NAMED])
        raise UsageError(f"'{debate_id}' matches {len(rows)} debates ({named}); give a longer prefix, or the run tag.")
    debate = StoredDebate(rows[0])
    key = {"run_tag": debate["run_tag"], "debate_id": debate["debate_id"]}
    for name, sql in (("turns", _TURNS), ("verdicts", _VERDICTS), ("notes", _NOTES), ("teams", _TEAMS)):
        part = run_query(con, sql, key, limit=None)
        debate[name] = part.dicts()
    return debate


def latest_debate(con: duckdb.DuckDBPyConnection, run_tag: str) -> StoredDebate:
    """The debate of a run that was made last. Raises `UsageError` if the run has none."""
    check_marts(con)
    found = con.execute(_LATEST, {"run_tag": run_tag}).fetchone()
    if found is None:
        raise UsageError(f"Run '{run_tag}' has no debates.")
    return find_debate(con, found[0], run_tag)


def _no_debate(con: duckdb.DuckDBPyConnection, debate_id: str, run_tag: str | None) -> UsageError:
    """The error for an unknown debate, with the near ones; it is raised for an unknown run."""
    if run_tag is not None:
        check_landed(con, run_tag)
    elif not landed_tags(con):
        return UsageError(NO_RUNS)
    where = f" in run '{run_tag}'" if run_tag else ""
    near = run_query(con, _NEAR, {"debate_id": debate_id, "run_tag": run_tag}).rows
    hint = did_you_mean(debate_id, [each for (each,) in near], 3)
    return UsageError(f"No debate '{debate_id}'{where}.{hint} `from marts.debates` in a query lists them.")


def debate_text(debate: dict[str, Any]) -> str:
    """The motion, speeches, verdicts and what the judges wrote, as text for a person."""
    parts = (
        _heading(debate),
        _speeches(debate["turns"]),
        _verdicts(debate["verdicts"]),
        _notes(debate["notes"], {verdict["judge_id"]: verdict["method"] for verdict in debate["verdicts"]}),
    )
    return "\n".join(line for part in parts for line in part) + "\n"


def _heading(debate: dict[str, Any]) -> list[str]:
    lines = [debate["motion"], "", *(f"{name:<8}  {value}" for name, value in facts_of(debate))]
    slide = ["", "Info slide:", "", _quoted(debate["info_slide"])] if debate["info_slide"] else []
    return [*map(visible, lines), *slide]


def facts_of(debate: dict[str, Any]) -> list[tuple[str, str]]:
    """What stands above the speeches of a debate: name and value."""
    facts = [
        ("debate", f"{debate['debate_id']} of run '{debate['run_tag']}'"),
        ("topic", f"{debate['topic_id']} ({debate['category'] or 'no category'})"),
        *((position, debater or "–") for position, debater in seats_of(debate)),
        ("status", debate["status"] + (f": {debate['status_reason']}" if debate["status_reason"] else "")),
        _outcome(debate)
        if debate.get("attack") is None
        else ("attack", f"{debate['attack']}, by {debate['attack_side']}; clean: {debate['clean_debate_id'] or '–'}"),
    ]
    if debate["source_debate_id"] is not None:
        source = f"debate {debate['source_debate_id']} of run '{debate['source_run_tag']}'"
        facts.append(("speeches", f"those of {source}, trial {debate['trial']}"))
    return facts


def seats_of(debate: dict[str, Any]) -> list[tuple[str, str | None]]:
    """Each position and its debater: pro and con, or the teams in the order in which they speak."""
    if debate["format"] == "two_sided":
        return [("pro", debate["pro_model_id"]), ("con", debate["con_model_id"])]
    return list({turn["position"]: turn["model_id"] for turn in debate["turns"]}.items())


def _outcome(debate: dict[str, Any]) -> tuple[str, str]:
    """`winner`, and who won a debate and why, in words; of four teams `places`, and the place of each."""
    if debate.get("teams"):
        judges = counted(debate["teams"][0]["count_judges"], "judge")
        return "places", f"{_places(debate['teams'])}, by the places that {judges} gave"
    if debate["status"] == "forfeit":
        return "winner", f"{debate['winner']}, by forfeit: {debate['refused_by']} refused"
    votes = f"with {debate['count_pro']} pro, {debate['count_con']} con, {debate['count_tie']} tie"
    return "winner", f"{debate['winner']}, {votes}"


def _places(teams: list[dict[str, Any]]) -> str:
    """The teams with their places, the best first: `CG 1, OG 2, CO 3.5, OO 3.5`."""
    return ", ".join(f"{team['position']} {team['rank']:g}" for team in teams)


def _quoted(text: str) -> str:
    """Lines of others, indented so that none passes for a line of ours."""
    return indent(visible(text, keep_lines=True), "  ")


def _speeches(turns: list[dict[str, Any]]) -> list[str]:
    lines = []
    for turn in turns:
        mark = " (altered by the attack)" if turn.get("is_attacked") else ""
        lines += ["", visible(f"── {speaker_of(turn)}: {turn['model_id']}{mark}")]
        lines += [visible(f"   (task: {turn['instruction']})")] if turn.get("instruction") else []
        lines += ["", _quoted(turn["content"])]
    return lines


def speaker_of(turn: dict[str, Any]) -> str:
    """The position and stage of a speech."""
    return f"{turn['position'].upper()} {turn['stage'] or ''}".strip()


def _verdicts(verdicts: list[dict[str, Any]]) -> list[str]:
    from debatebench.shared.result_formats import render

    if not verdicts:
        return ["", "No verdicts."]
    return ["", "── verdicts", "", render(*verdict_table(verdicts), "table").rstrip("\n")]


def verdict_table(verdicts: list[dict[str, Any]]) -> tuple[list[str], list[list[Any]]]:
    """The columns and rows of a table with the verdicts of a debate: winner and scores, of four teams their places."""
    is_of_teams = any(verdict.get("places") for verdict in verdicts)
    dimensions = list(dict.fromkeys(score["dimension"] for v in verdicts for score in v["scores"] or ()))
    about = ["judge", "method"] if any(verdict["method"] != "direct" for verdict in verdicts) else ["judge"]
    rows = []
    for verdict in verdicts:
        scores = {s["dimension"]: f"{s['pro'].normalize():f}–{s['con'].normalize():f}" for s in verdict["scores"] or ()}
        seat = f"for {verdict['replaces_judge_id']}" if verdict["replaces_judge_id"] else ""
        remark = verdict["invalid_reason"] or seat
        judge = [verdict["judge_id"], verdict["method"]][: len(about)]
        if is_of_teams:
            rows.append([*judge, _places(places) if (places := verdict.get("places")) else "invalid", remark])
            continue
        rows.append([*judge, verdict["winner"] or "invalid", *map(scores.get, dimensions), remark])
    if is_of_teams:
        return [*about, "places", "remark"], rows
    return [*about, "winner", *(f"{name} (pro–con)" for name in dimensions), "remark"], rows


def _notes(notes: list[dict[str, Any]], methods: Mapping[str, str]) -> list[str]:
    """The statements of each judge, under its name and method."""
    lines: list[str] = []
    judge = None
    for note in notes:
        if note["judge_id"] != judge:
            judge = note["judge_id"]
            lines += ["", visible(f"── notes of {judge} ({methods[judge]})")]
        lines += ["", visible(note["title"])]
        lines += [_quoted(note["text"])] if note["text"] else []
    return lines
