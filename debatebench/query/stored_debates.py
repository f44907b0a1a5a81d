"""The stored debates of a run or import, to be judged again."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import duckdb

from debatebench.query.landed_records import landed_records, landed_run
from debatebench.query.relations import has_relation
from debatebench.query.safe_query import open_for_reading, run_query
from debatebench.shared.amounts import listed
from debatebench.shared.errors import DebatebenchError, StuckQueryError, UsageError
from debatebench.shared.json_bytes import mapping
from debatebench.shared.records import Debate, Debater, Participant, Run, Topic, Turn, Winner

# The verdict that was published with a debate comes before that of annotators.
_TRUTHS = """
select debate_id, dimension, first(winner order by truth desc), first(winning_positions order by truth desc)
from marts.truths
where run_tag = $run_tag and (winner is not null or winning_positions is not null)
group by debate_id, dimension
order by debate_id, dimension
"""
_MOST_NAMED = 5


@dataclass(frozen=True, slots=True)
class StoredDebates:
    """The debates of a run or import that have all their speeches, in its order."""

    run: Run
    topics: tuple[Topic, ...]
    debaters: tuple[Debater, ...]
    debates: tuple[Debate, ...]
    speakers: dict[str, tuple[Participant, ...]]
    turns: dict[str, tuple[Turn, ...]]
    truths: dict[str, dict[str, Winner]]
    """The side that won according to people, by debate, then by dimension or `overall`."""
    winning_teams: dict[str, dict[str, list[str]]]
    """The same of four teams: the team that won, or those that share the win."""
    left_out: int
    """How many of the debates that were asked for lack speeches."""


def read_source_tag(database: Path, run_tag: str) -> str:
    """The run that holds the debates of `run_tag`: itself, unless it judges those of another one."""
    with open_for_reading(database) as con:
        run = landed_records(con, Run, landed_run(con, run_tag))[0]
    return run.source_run_tag or run.run_tag


def read_stored_debates(
    database: Path, run_tag: str, *, debate_ids: Collection[str] | None = None, where: str | None = None
) -> StoredDebates:
    """Read the debates of `run_tag`; of a run that judges debates itself, those that it judges.

    `debate_ids` picks debates by id, `where` by a SQL condition on `marts.debates`. Raises `UsageError` for an unknown
    run, an unknown id, a condition that is not SQL, and if there is no debate to judge.
    """
    with open_for_reading(database) as con:
        run = landed_records(con, Run, landed_run(con, run_tag))[0]
        chosen = _chosen(con, run.run_tag, where) if where is not None else None
        if run.source_run_tag is not None:
            chosen = _sources(con, run.run_tag, chosen)
            run = landed_records(con, Run, landed_run(con, run.source_run_tag))[0]
        debates = sorted(landed_records(con, Debate, run.run_tag), key=lambda debate: debate.source_position)
        if debate_ids is not None:
            _check_known(debate_ids, debates, run.run_tag)
        wanted = [
            debate
            for debate in debates
            if (debate_ids is None or debate.debate_id in debate_ids) and (chosen is None or debate.debate_id in chosen)
        ]
        turns = _by_debate(landed_records(con, Turn, run.run_tag))
        least = _planned_turns(run)
        whole = [debate for debate in wanted if _is_whole(debate, turns.get(debate.debate_id, ()), least)]
        if not whole:
            raise UsageError(f"'{run.run_tag}' has no debate to judge: {_why_none(len(wanted), len(debates))}.")
        kept = {debate.debate_id for debate in whole}
        speakers = _by_debate(landed_records(con, Participant, run.run_tag))
        topics = {debate.topic_id for debate in whole}
        return StoredDebates(
            run,
            tuple(topic for topic in landed_records(con, Topic, run.run_tag) if topic.topic_id in topics),
            tuple(landed_records(con, Debater, run.run_tag)),
            tuple(whole),
            {debate_id: each for debate_id, each in speakers.items() if debate_id in kept},
            {debate_id: each for debate_id, each in turns.items() if debate_id in kept},
            *_truths(con, run.run_tag),
            len(wanted) - len(whole),
        )


def _chosen(con: duckdb.DuckDBPyConnection, run_tag: str, where: str) -> set[str]:
    """The debates of a run for which the condition holds."""
    from debatebench.query.one_debate import check_marts

    check_marts(con)
    # Without brackets around it, a condition with unbalanced ones is an error.
    sql = f"select run_tag, debate_id from marts.debates where {where}"
    try:
        rows = run_query(con, sql, {}, limit=None).rows
    except StuckQueryError:
        raise
    except DebatebenchError as problem:
        raise UsageError(f"--where takes a condition on marts.debates. {problem}") from problem
    return {debate_id for tag, debate_id in rows if tag == run_tag}


def _why_none(wanted: int, count: int) -> str:
    """Why none of the debates of a run can be judged."""
    if not count:
        return "it holds none"
    if not wanted:
        return f"the condition and the ids select none of its {count:,}"
    return f"of the {wanted:,} that are selected, none has all its speeches"


def _sources(con: duckdb.DuckDBPyConnection, run_tag: str, chosen: Collection[str] | None) -> set[str]:
    """The ids in the source of the debates that a run judged again: of those chosen, or of all."""
    rows = con.execute(
        "select debate_id, source_debate_id from raw.debates where run_tag = ? and source_debate_id is not null",
        [run_tag],
    ).fetchall()
    return {source for debate_id, source in rows if chosen is None or debate_id in chosen}


def _check_known(debate_ids: Collection[str], debates: Collection[Debate], run_tag: str) -> None:
    known = {debate.debate_id for debate in debates}
    unknown = [debate_id for debate_id in debate_ids if debate_id not in known]
    if unknown:
        raise UsageError(f"'{run_tag}' has no debate {listed(unknown, _MOST_NAMED)}.")


def _planned_turns(run: Run) -> int:
    """How many turns a whole debate of a run has; an import states what it holds."""
    config: Any = mapping(run.config)
    return len(config.get("rounds") or ()) if run.source == "run" else 0


def _is_whole(debate: Debate, turns: Collection[Turn], least: int) -> bool:
    sides = {turn.side for turn in turns}
    return debate.status in ("complete", "incomplete") and len(turns) >= least and len(sides) == 2


def _by_debate(rows: Collection[Any]) -> dict[str, tuple[Any, ...]]:
    found: defaultdict[str, list[Any]] = defaultdict(list)
    for row in rows:
        found[row.debate_id].append(row)
    return {debate_id: tuple(each) for debate_id, each in found.items()}


def _truths(
    con: duckdb.DuckDBPyConnection, run_tag: str
) -> tuple[dict[str, dict[str, Winner]], dict[str, dict[str, list[str]]]]:
    """What people decided, where the marts are built and have it: the winning sides, and the winning teams."""
    sides: defaultdict[str, dict[str, Winner]] = defaultdict(dict)
    teams: defaultdict[str, dict[str, list[str]]] = defaultdict(dict)
    rows = con.execute(_TRUTHS, {"run_tag": run_tag}).fetchall() if has_relation(con, "marts.truths") else []
    for debate_id, dimension, winner, positions in rows:
        if winner is not None:
            sides[debate_id][dimension] = winner
        if positions is not None:
            teams[debate_id][dimension] = positions
    return sides, teams
