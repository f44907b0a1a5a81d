"""JSONL: the debates of each run in the original harness's schema, one file per run, as its importer reads them."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any, TypeAlias

import duckdb

from debatebench.output.export.manifest import Contents, LeftOut
from debatebench.output.export.original_record import original_record
from debatebench.output.export.snapshot import Snapshot
from debatebench.shared.activity import each_of
from debatebench.shared.errors import UsageError

Row: TypeAlias = dict[str, Any]

_ROWS_AT_ONCE = 2_000
# JSON may contain these unescaped, but many programs that read lines end a line at them.
_LINE_ENDS = {code: f"\\u{code:04x}" for code in (0x85, 0x2028, 0x2029)}

# The run's debates, and why one does not have the original's shape: a debate with two sides and panel verdicts. An
# import of that format is exported as it was, even without verdicts or with invalid ones. A debate that is judged again
# has the speeches of its source.
_SORTED = """
create or replace table memory.main.sorted as
select
    row_number() over (order by debates.source_position, debates.debate_id) as n,
    debates.debate_id,
    coalesce(debates.source_debate_id, debates.debate_id) as source_debate_id,
    case
        when debates.attack is not null then 'their speeches were altered to mislead judges'
        when debates.format <> 'two_sided' then 'they have more than two sides'
        when debates.status <> 'complete' then 'they are ' || debates.status
        when not $is_original and not exists (
            select 1 from warehouse.raw.verdicts
            where
                verdicts.run_tag = debates.run_tag
                and verdicts.debate_id = debates.debate_id
                and verdicts.is_valid
                and not list_contains($baselines, verdicts.judge_id)
        ) then 'no judge gave a valid verdict'
        when debates.source_debate_id is not null and not exists (
            select 1 from warehouse.raw.debates as sources
            where sources.run_tag = $source_run_tag and sources.debate_id = debates.source_debate_id
        ) then 'their speeches are those of run ' || $source_run_tag || ', which is not in the warehouse'
    end as reason
from warehouse.raw.debates
where debates.run_tag = $run_tag
"""

# The original rates debates in order of the time at which their records were written; a run rates them in order of its
# schedule, whichever ended first. So a record of a run is written when its debate and all before it have ended, a
# microsecond after the one before.
_DEBATES = """
select
    sorted.n,
    debates.* replace (
        case
            when debates.created_at is null or debates.schedule_position is null then debates.created_at
            else
                max(debates.created_at - to_microseconds(sorted.n)) over (order by sorted.n)
                + to_microseconds(sorted.n)
        end as created_at
    ),
    topics.motion,
    topics.category,
    panel_winners.winner
from memory.main.sorted
inner join warehouse.raw.debates on debates.run_tag = $run_tag and debates.debate_id = sorted.debate_id
left join warehouse.raw.topics on topics.run_tag = $run_tag and topics.topic_id = debates.topic_id
left join warehouse.marts.panel_winners
    on panel_winners.run_tag = $run_tag and panel_winners.debate_id = sorted.debate_id
where sorted.reason is null
order by sorted.n
"""

_TURNS = """
select sorted.n, turns.*
from memory.main.sorted
inner join warehouse.raw.turns
    on turns.run_tag = $source_run_tag and turns.debate_id = sorted.source_debate_id
where sorted.reason is null
order by sorted.n, turns.turn_index
"""

# What a verdict of an import took is what its source says. A run knows each attempt at one.
_VERDICTS = """
select
    sorted.n,
    verdicts.* replace (
        case when verdicts.call_id is null then verdicts.prompt_tokens else costs.prompt_tokens end as prompt_tokens,
        case
            when verdicts.call_id is null then verdicts.completion_tokens
            else costs.completion_tokens
        end as completion_tokens,
        case when verdicts.call_id is null then verdicts.total_tokens else costs.total_tokens end as total_tokens,
        case when verdicts.call_id is null then verdicts.cost else costs.cost_usd end as cost,
        case
            when verdicts.call_id is null then verdicts.currency
            when costs.cost_usd is not null then 'USD'
        end as currency
    ),
    judge_verdicts.winner
from memory.main.sorted
inner join warehouse.raw.verdicts on verdicts.run_tag = $run_tag and verdicts.debate_id = sorted.debate_id
left join warehouse.intermediate.int_verdict_costs as costs
    on
        costs.run_tag = $run_tag
        and costs.debate_id = sorted.debate_id
        and costs.judge_id = verdicts.judge_id
left join warehouse.marts.judge_verdicts
    on
        judge_verdicts.run_tag = $run_tag
        and judge_verdicts.debate_id = sorted.debate_id
        and judge_verdicts.judge_id = verdicts.judge_id
where
    sorted.reason is null
    and (verdicts.is_valid or $is_original)
    and not list_contains($baselines, verdicts.judge_id)
order by sorted.n, verdicts.panel_position, verdicts.judge_id
"""

_MEANS = """
select sorted.n, means.dimension, means.pro_mean_score, means.con_mean_score
from memory.main.sorted
inner join warehouse.marts.debate_dimension_means as means
    on means.run_tag = $run_tag and means.debate_id = sorted.debate_id
where sorted.reason is null
order by sorted.n, means.dimension_position, means.dimension
"""

_UNHEARD = """
select
    case
        when list_contains($baselines, verdicts.judge_id) then 'they are those of baselines'
        else 'they are not valid'
    end as why,
    count(*)
from memory.main.sorted
inner join warehouse.raw.verdicts on verdicts.run_tag = $run_tag and verdicts.debate_id = sorted.debate_id
where
    sorted.reason is null
    and (list_contains($baselines, verdicts.judge_id) or not (verdicts.is_valid or $is_original))
group by why
order by why
"""

_BASELINES = "select judge_id from warehouse.raw.judges where run_tag = ? and is_baseline order by judge_id"

# What a speech took is part of the run that held the debate, and must not be counted a second time.
_TAKEN = ("duration_ms", "prompt_tokens", "completion_tokens", "total_tokens", "cost", "currency", "metadata")


def write(snapshot: Snapshot, folder: Path) -> Contents:
    """Write `debates_<run tag>.jsonl` for every run that has a debate of the original's shape, in the source's order.

    Debates of another shape, and verdicts that are not valid or those of baselines, are left out and listed. A debate
    that is judged again has its source's speeches, without what they cost. Raises `UsageError` if nothing is left.
    """
    rows: dict[str, int] = {}
    left_out: list[LeftOut] = []
    for run_tag in each_of("Writing runs", snapshot.run_tags):
        run = _run(snapshot.con, run_tag)
        values = {
            "run_tag": run_tag,
            "source_run_tag": run["source_run_tag"] or run_tag,
            "is_original": run["format"] == "debatebench",
            "baselines": [judge for (judge,) in snapshot.con.execute(_BASELINES, [run_tag]).fetchall()],
        }
        _execute(snapshot.con, _SORTED, values)
        left_out += _left_out(snapshot.con, values)
        records = _records(snapshot.con, run, values)
        name = f"debates_{run_tag}.jsonl"
        count = _write_lines(folder / name, records)
        if count:
            rows[name] = count
    if not rows:
        raise UsageError(
            f"No debate of {', '.join(snapshot.run_tags)} fits the original's records, which need two sides and "
            "judges' verdicts; the formats parquet, duckdb and dbt can contain every debate."
        )
    return Contents(rows, tuple(left_out))


def _write_lines(path: Path, records: Iterator[Row]) -> int:
    """Write one record per line; without records, write no file."""
    count = 0
    with path.open("w", encoding="utf-8", newline="\n") as file:
        for record in records:
            text = json.dumps(record, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
            file.write(text.translate(_LINE_ENDS))
            file.write("\n")
            count += 1
    if not count:
        path.unlink()
    return count


def _run(con: duckdb.DuckDBPyConnection, run_tag: str) -> Row:
    cursor = con.execute("select * from warehouse.raw.runs where run_tag = ?", [run_tag])
    return dict(zip(_names(cursor), cursor.fetchall()[0], strict=True))


def _left_out(con: duckdb.DuckDBPyConnection, values: Row) -> list[LeftOut]:
    """Debates that are not written, by reason, and how many verdicts are missing in those that are."""
    found = con.execute(
        "select reason, debate_id from memory.main.sorted where reason is not null order by n"
    ).fetchall()
    reasons = Counter(reason for reason, _ in found)
    parts = [
        LeftOut(
            what="debates",
            why=reason,
            count=count,
            run_tag=values["run_tag"],
            names=tuple(debate_id for why, debate_id in found if why == reason),
        )
        for reason, count in reasons.items()
    ]
    for reason, count in _execute(con, _UNHEARD, values).fetchall():
        parts.append(LeftOut(what="verdicts", why=reason, count=count, run_tag=values["run_tag"]))
    return parts


def _records(con: duckdb.DuckDBPyConnection, run: Row, values: Row) -> Iterator[Row]:
    """The records of a run. Turns, verdicts and means are read along with the debates, in the same order."""
    with (
        closing(con.cursor()) as debates,
        closing(con.cursor()) as turns,
        closing(con.cursor()) as verdicts,
        closing(con.cursor()) as means,
    ):
        turns_of, verdicts_of, means_of = (
            _by_debate(cursor, query, values)
            for cursor, query in ((turns, _TURNS), (verdicts, _VERDICTS), (means, _MEANS))
        )
        taken = dict.fromkeys(_TAKEN) if run["source_run_tag"] else {}
        for debate in _rows(debates, _DEBATES, values):
            n = debate["n"]
            yield original_record(run, debate, [{**turn, **taken} for turn in turns_of(n)], verdicts_of(n), means_of(n))


def _by_debate(cursor: duckdb.DuckDBPyConnection, query: str, values: Row) -> Callable[[int], list[Row]]:
    """A function that returns the rows of debate `n`; it must be called for the debates in their order."""
    rows = _rows(cursor, query, values)
    ahead = next(rows, None)

    def of_debate(n: int) -> list[Row]:
        nonlocal ahead
        belonging = []
        while ahead is not None and ahead["n"] == n:
            belonging.append(ahead)
            ahead = next(rows, None)
        return belonging

    return of_debate


def _rows(cursor: duckdb.DuckDBPyConnection, query: str, values: Row) -> Iterator[Row]:
    """The rows of a query, one at a time."""
    _execute(cursor, query, values)
    names = _names(cursor)
    while batch := cursor.fetchmany(_ROWS_AT_ONCE):
        for row in batch:
            yield dict(zip(names, row, strict=True))


def _names(cursor: duckdb.DuckDBPyConnection) -> list[str]:
    return [column[0] for column in cursor.description or ()]


def _execute(con: duckdb.DuckDBPyConnection, query: str, values: Row) -> duckdb.DuckDBPyConnection:
    """Run a query with those of the values that it names; DuckDB refuses others."""
    return con.execute(query, {name: value for name, value in values.items() if f"${name}" in query})
