"""The leaderboard of a run, and what has to be said about it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import duckdb

from debatebench.query.left_out import left_out
from debatebench.query.safe_query import run_query
from debatebench.shared.amounts import counted

_LEADERBOARD = """
select
    rank,
    rank_low,
    rank_high,
    model_id,
    rating,
    ci_low,
    ci_high,
    elo_rank,
    elo_rating,
    games,
    wins,
    losses,
    ties,
    win_rate,
    pro_win_rate,
    con_win_rate,
    mean_score,
    cost_usd,
    is_simulated,
    format,
    mean_points
from marts.leaderboard
where run_tag = $run_tag and is_displayed
order by format desc, rank, model_id
"""

_SETTLED = """
with

ratings as (

    select 'two_sided' as format, run_tag, rank_low, rank_high, interval_method, count_topics, is_separated
    from ratings.bradley_terry

    union all

    select 'british_parliamentary', run_tag, rank_low, rank_high, interval_method, count_topics, is_separated
    from ratings.plackett_luce

)

select
    case when count(*) over () > 1 then format end as format,
    count(*) as debaters,
    count(case when rank_low = 1 then 1 end) as first,
    count(case when rank_low = rank_high then 1 end) as settled,
    any_value(interval_method) as interval_method,
    any_value(count_topics) as topics,
    any_value(is_separated) as is_separated
from ratings
where run_tag = $run_tag
group by ratings.format
order by ratings.format desc
"""

RATING_MODELS = {"two_sided": "Bradley–Terry", "british_parliamentary": "Plackett–Luce"}
"""The model by which debates of a format are rated."""

_RATED_FROM = {
    "two_sided": "ratings from the panels' winners",
    "british_parliamentary": "ratings from the panels' rankings of four teams",
}
_PARTS = {"two_sided": "Of debates of two sides: ", "british_parliamentary": "Of debates of four teams: "}

_COUNTS = """
select model_id, count_truncated_turns, count_turns, count_forfeits
from marts.leaderboard
where run_tag = $run_tag
order by model_id
"""
_MOST_NAMED = 5


@dataclass(frozen=True, slots=True)
class Leaderboard:
    """The rows of a run's leaderboard, how they were rated, and what is said about them."""

    columns: Sequence[str]
    rows: Sequence[Sequence[Any]]
    method: str
    notes: Sequence[str]


def leaderboard_of(con: duckdb.DuckDBPyConnection, run_tag: str) -> Leaderboard:
    """The debaters of a run, best first, with what is settled, cut, lost, simulated and left out, in sentences."""
    found, settled, counts, runs = (
        run_query(con, query, {"run_tag": run_tag}, limit=None)
        for query in (_LEADERBOARD, _SETTLED, _COUNTS, "select is_simulated from marts.runs where run_tag = $run_tag")
    )
    notes = [text for row in settled.rows for text in _what_is_settled(*row)]
    notes += _what_is_cut([(model_id, cut, turns) for model_id, cut, turns, _ in counts.rows])
    notes += _what_is_lost([(model_id, lost) for model_id, *_, lost in counts.rows])
    if runs.rows[0][0]:
        notes.append("Debaters or judges of this run are simulated, so it says nothing about real models.")
    notes += [each.sentence for each in left_out(con, run_tag)]
    return Leaderboard(found.columns, found.rows, _method({row["format"] for row in found.dicts()}), notes)


def _method(formats: set[str]) -> str:
    """How debaters of debates of these formats are rated; as of two sides where there is none."""
    there = formats or {"two_sided"}
    return ", and ".join(f"{model} {_RATED_FROM[name]}" for name, model in RATING_MODELS.items() if name in there)


def _what_is_settled(
    form: str | None, debaters: int, first: int, settled: int, interval_method: str, topics: int, is_separated: bool
) -> list[str]:
    """What the ranges of ranks say about a ranking as a whole, in sentences; `form` is null if there is only one."""
    part = "" if form is None else _PARTS[form]
    lead = "First place is settled" if first == 1 else f"First place is open between {first} debaters"
    are = "is" if settled == 1 else "are"
    texts = [f"{lead}; {settled} of {debaters} places {are} settled (at 95 % for all ranks together)."]
    if interval_method.endswith("_games"):
        texts.append(f"The debates cover {counted(topics, 'topic')}, so the intervals do not generalize to others.")
    if is_separated:
        texts.append("Wins and ties do not link all debaters both ways, so the ratings rest partly on a prior.")
    return [part + text for text in texts]


def _what_is_cut(debaters: Sequence[tuple[str, int, int]]) -> list[str]:
    """How many speeches were cut off, and of whom, in a sentence; `debaters` are (id, cut, all)."""
    cut = sorted((row for row in debaters if row[1]), key=lambda row: -row[1])
    if not cut:
        return []
    named = ", ".join(f"{count:,} of {turns:,} of {model_id}" for model_id, count, turns in cut[:_MOST_NAMED])
    more = f", and those of {counted(len(cut) - _MOST_NAMED, 'more debater')}" if len(cut) > _MOST_NAMED else ""
    total, every = sum(row[1] for row in debaters), sum(row[2] for row in debaters)
    were, they_are = ("was", "it is") if total == 1 else ("were", "they are")
    return [
        f"{total:,} of {every:,} speeches {were} cut off at the token limit and judged as {they_are}: {named}{more}."
    ]


def _what_is_lost(debaters: Sequence[tuple[str, int]]) -> list[str]:
    """How many debates were lost by forfeit, and by whom, in a sentence; `debaters` are (id, lost)."""
    forfeits = sorted((row for row in debaters if row[1]), key=lambda row: -row[1])
    if not forfeits:
        return []
    named = ", ".join(f"{count} of {model_id}" for model_id, count in forfeits[:_MOST_NAMED])
    more = ", …" if len(forfeits) > _MOST_NAMED else ""
    lost = sum(count for _, count in forfeits)
    were = "was" if lost == 1 else "were"
    return [f"{counted(lost, 'debate')} {were} lost by forfeit, without a verdict: {named}{more}."]
