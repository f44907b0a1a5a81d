"""JSONL: the debates of each run in the original harness's schema, one file per run, as its importer reads them."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from debatebench.output.export.manifest import Contents, LeftOut
from debatebench.output.export.original_record import original_record
from debatebench.output.export.snapshot import Snapshot
from debatebench.shared.errors import UsageError

if TYPE_CHECKING:
    import duckdb

__all__ = ["write"]

Row: TypeAlias = dict[str, Any]

_ROWS_AT_ONCE = 2_000
# JSON may contain these unescaped, but many programs that read lines end a line at them.
_LINE_ENDS = {code: f"\\u{code:04x}" for code in (0x85, 0x2028, 0x2029)}

# The run's debates, and why one does not have the original's shape: a debate with two sides and panel verdicts. An
# import of that format is exported as it was, even without verdicts or with invalid ones.
_SORTED = """
create or replace table memory.main.sorted as
select
    row_number() over (order by debates.source_position, debates.debate_id) as n,
    debates.debate_id,
    case
        when debates.format <> 'two_sided' then 'they have more than two sides'
        when debates.status <> 'complete' then 'they are ' || debates.status
        when not $is_original and not exists (
            select 1 from warehouse.raw.verdicts
            where
                verdicts.run_tag = debates.run_tag
                and verdicts.debate_id = debates.debate_id
                and verdicts.is_valid
        ) then 'no judge gave a valid verdict'
    end as reason
from warehouse.raw.debates
where debates.run_tag = $run_tag
"""

_DEBATES = """
select
    sorted.n,
    debates.*,
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
inner join warehouse.raw.turns on turns.run_tag = $run_tag and turns.debate_id = sorted.debate_id
where sorted.reason is null
order by sorted.n, turns.turn_index
"""

_VERDICTS = """
select sorted.n, verdicts.*, judge_verdicts.winner
from memory.main.sorted
inner join warehouse.raw.verdicts on verdicts.run_tag = $run_tag and verdicts.debate_id = sorted.debate_id
left join warehouse.marts.judge_verdicts
    on
        judge_verdicts.run_tag = $run_tag
        and judge_verdicts.debate_id = sorted.debate_id
        and judge_verdicts.judge_id = verdicts.judge_id
where sorted.reason is null and (verdicts.is_valid or $is_original)
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
select count(*)
from memory.main.sorted
inner join warehouse.raw.verdicts on verdicts.run_tag = $run_tag and verdicts.debate_id = sorted.debate_id
where sorted.reason is null and not (verdicts.is_valid or $is_original)
"""


def write(snapshot: Snapshot, folder: Path) -> Contents:
    """Write `debates_<run tag>.jsonl` for every run that has a debate of the original's shape, in the source's order.

    Debates of another shape, and verdicts that are not valid, are left out and listed. Raises `UsageError` if nothing
    is left.
    """
    rows: dict[str, int] = {}
    left_out: list[LeftOut] = []
    for run_tag in snapshot.run_tags:
        run = _run(snapshot.con, run_tag)
        values = {"run_tag": run_tag, "is_original": run["format"] == "debatebench"}
        snapshot.con.execute(_SORTED, values)
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
    ((unheard,),) = con.execute(_UNHEARD, values).fetchall()
    if unheard:
        parts.append(LeftOut(what="verdicts", why="they are not valid", count=unheard, run_tag=values["run_tag"]))
    return parts


def _records(con: duckdb.DuckDBPyConnection, run: Row, values: Row) -> Iterator[Row]:
    """The records of a run. Turns, verdicts and means are read along with the debates, in the same order."""
    with (
        closing(con.cursor()) as debates,
        closing(con.cursor()) as turns,
        closing(con.cursor()) as verdicts,
        closing(con.cursor()) as means,
    ):
        tag = {"run_tag": values["run_tag"]}
        parts = (
            _by_debate(turns, _TURNS, tag),
            _by_debate(verdicts, _VERDICTS, values),
            _by_debate(means, _MEANS, tag),
        )
        for debate in _rows(debates, _DEBATES, tag):
            yield original_record(run, debate, *(of_debate(debate["n"]) for of_debate in parts))


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
    cursor.execute(query, values)
    names = _names(cursor)
    while batch := cursor.fetchmany(_ROWS_AT_ONCE):
        for row in batch:
            yield dict(zip(names, row, strict=True))


def _names(cursor: duckdb.DuckDBPyConnection) -> list[str]:
    return [column[0] for column in cursor.description or ()]
