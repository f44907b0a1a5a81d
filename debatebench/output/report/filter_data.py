"""The decided debates of a run as columns, from which a page in a browser computes numbers again under a filter.

A debate is three small numbers: its topic, its pairing (who debated) and its ballot (who voted for what). What these
mean stands once, in lists. Debates are in the order in which they are rated.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import closing
from typing import TYPE_CHECKING, Any

from debatebench.output.report.places import Places
from debatebench.output.report.subjects import Site, run_slug
from debatebench.query.duckdb_errors import sql_errors
from debatebench.query.safe_query import cursor_of, run_query, search_path_of
from debatebench.shared.visible_text import visible

if TYPE_CHECKING:
    import duckdb

Row = tuple[Any, ...]

_TIMEOUT_S = 600.0
_ROWS_AT_ONCE = 2_000
_BETWEEN, _WITHIN = "\x1e", "\x1f"
_SETTINGS = """
select runs.elo_initial_rating, runs.elo_k_factor, units.cluster_unit
from staging.stg_runs as runs
inner join intermediate.int_cluster_units as units using (run_tag)
where runs.run_tag = $run_tag
"""
_JUDGES = """
select distinct judge_id from marts.judge_verdicts where run_tag = $run_tag and is_valid order by judge_id
"""
# A verdict is the place of the judge in the list of judges, the winner, and in a debate of four the teams that win.
# These are texts, because equal ones are then the same ballot, with separators that are in no name.
_DEBATES = """
with

judges as (

    select
        judge_id,
        row_number() over (order by judge_id) - 1 as place

    from (select distinct judge_id from marts.judge_verdicts where run_tag = $run_tag and is_valid)

),

ballots as (

    select
        verdicts.debate_id,
        string_agg(
            concat_ws(chr(31), judges.place, verdicts.winner, teams.winner), chr(30) order by judges.place
        ) as ballot

    from marts.judge_verdicts as verdicts
    inner join judges using (judge_id)
    left join marts.team_verdicts as teams using (run_tag, debate_id, judge_id)
    where verdicts.run_tag = $run_tag and verdicts.is_valid
    group by verdicts.debate_id

),

teams as (

    select
        debate_id,
        list(model_id order by position) as debaters

    from staging.stg_participants
    where run_tag = $run_tag and model_id is not null
    group by debate_id

)

select
    debates.topic_id,
    coalesce(topics.category, 'uncategorized') as category,
    debates.pro_model_id,
    debates.con_model_id,
    case when debates.is_rated then null else coalesce(teams.debaters, []) end as debaters,
    case when debates.is_forfeit then debates.winner else ballots.ballot end as ballot,
    debates.is_rated,
    stored.source_debate_id

from marts.decided_debates as debates
inner join staging.stg_debates as stored using (run_tag, debate_id)
left join staging.stg_topics as topics on debates.run_tag = topics.run_tag and debates.topic_id = topics.topic_id
left join ballots using (debate_id)
left join teams on debates.debate_id = teams.debate_id and not debates.is_rated
where debates.run_tag = $run_tag and debates.winner is not null
-- The order of `marts.games`.
order by debates.schedule_position nulls last, debates.created_at nulls last, debates.debate_id
"""
_T_95 = "select t_95 from intermediate.int_t_quantiles where df < $most order by df"
# The rules that a page can apply; each must give the winners of the warehouse, with and without each verdict.
_RULES = """
select
    bool_and(
        macros.more_verdicts('complete', pro, con, tie, 1) = winner
        and macros.more_verdicts('complete', pro - 1, con, tie, 1) is not distinct from winner_without_pro
        and macros.more_verdicts('complete', pro, con - 1, tie, 1) is not distinct from winner_without_con
        and macros.more_verdicts('complete', pro, con, tie - 1, 1) is not distinct from winner_without_tie
    ) as more_verdicts,
    bool_and(
        macros.more_than_half('complete', pro, con, tie) = winner
        and macros.more_than_half('complete', pro - 1, con, tie) is not distinct from winner_without_pro
        and macros.more_than_half('complete', pro, con - 1, tie) is not distinct from winner_without_con
        and macros.more_than_half('complete', pro, con, tie - 1) is not distinct from winner_without_tie
    ) as more_than_half

from (
    select distinct
        count_pro as pro,
        count_con as con,
        count_tie as tie,
        winner, winner_without_pro, winner_without_con, winner_without_tie
    from marts.panel_winners
    inner join staging.stg_debates as debates using (run_tag, debate_id)
    where debates.status = 'complete'
)
"""


def filter_data(site: Site) -> Iterator[tuple[str, dict[str, Any]]]:
    """The outcomes of each run with a decided debate, if a page asks for them."""
    if any(page.filters for page in site.pages):
        for run in site.runs:
            if (found := outcomes(site.reading(_DEBATES), run.tag, run.debaters)) is not None:
                yield outcomes_name(run.tag), found


def outcomes_name(run_tag: str) -> str:
    """The name of the data of a run."""
    return f"outcomes-{run_slug(run_tag)}"


def outcomes(con: duckdb.DuckDBPyConnection, run_tag: str, debaters: Sequence[str]) -> dict[str, Any] | None:
    """The decided debates of a run, as `assets/filters_compute.js` reads them.

    `debaters` are those of the run, in the order in which a page shows them. `None` if no debate is decided.

    `columns` has one number per debate in each list, in the order of rating: the place of its topic in `topics` (a list
    of places in `categories`), of its pairing in `pairings` (lists of places in `debaters`; of two, pro first) and of
    its ballot in `ballots` (the winner of a forfeit, or a list of judge, winner, judge, winner… as places in `judges`
    and `winners`). `winners` are lists: a side or `tie`, then the teams that win where four debated. `rated` is null if
    all debates are rated; `source` numbers the stored debates that were judged, and is null if each was judged once.
    `rule` is the macro that decides a panel, or null if a page knows none that gives the winners of the warehouse;
    `t_95` are quantiles of Student's t from one degree of freedom on, and `shown` are names as a person may see them
    where they hide something.
    """
    topics, categories, of_debaters = Places(), Places(), Places(debaters)
    pairings, ballots, winners = Places(), Places(), Places()
    topic: list[int] = []
    pairing: list[int] = []
    ballot: list[int] = []
    rated: list[int] = []
    source: list[str | None] = []
    for rows in _streamed(con, _DEBATES, run_tag):
        topic_ids, its_categories, pro, con_side, several, texts, is_rated, source_ids = zip(*rows, strict=True)
        topic += topics.of_all(zip(topic_ids, its_categories, strict=True))
        pairing += pairings.of_all(
            sides if teams is None else tuple(teams)
            for sides, teams in zip(zip(pro, con_side, strict=True), several, strict=True)
        )
        ballot += ballots.of_all(texts)
        rated += map(int, is_rated)
        source += source_ids
    if not topic:
        return None
    ((initial, k, unit),) = _rows(con, _SETTINGS, run_tag=run_tag)
    judges = [judge_id for (judge_id,) in _rows(con, _JUDGES, run_tag=run_tag)]
    shown_pairings = [of_debaters.of_all(name for name in names if name is not None) for names in pairings]
    of_topics = categories.of_all(category for _, category in topics)
    named = {name: visible(name) for name in (*categories, *of_debaters, *judges)}
    return {
        "run_tag": run_tag,
        "elo": {"initial": initial, "k": k},
        "cluster_unit": unit,
        "rule": _rule(con),
        "t_95": [t_95 for (t_95,) in _rows(con, _T_95, most=len(topic))],
        "categories": list(categories),
        "debaters": list(of_debaters),
        "judges": judges,
        "topics": of_topics,
        "pairings": shown_pairings,
        "ballots": [_ballot(text, winners) for text in ballots],
        "winners": [winner.replace(_WITHIN, " ").split(" ") for winner in winners],
        "columns": {
            "topic": topic,
            "pairing": pairing,
            "ballot": ballot,
            "rated": None if all(rated) else rated,
            "source": _numbered(source),
        },
        "shown": {name: text for name, text in named.items() if name != text},
    }


def _numbered(source_ids: Sequence[str | None]) -> list[int] | None:
    """A number for each stored debate that was judged; `None` if none was judged twice. A debate of its own is new."""
    if not any(source_ids) or len(set(source_ids)) == len(source_ids):
        return None
    places = Places()
    return places.of_all(n if source_id is None else source_id for n, source_id in enumerate(source_ids))


def _ballot(text: str, winners: Places) -> str | list[int]:
    """A ballot of the query as the page reads it: of a forfeit, the winner; else judge, winner, judge, winner…"""
    if _WITHIN not in text:
        return text
    votes = (vote.split(_WITHIN, 1) for vote in text.split(_BETWEEN))
    return [number for judge, winner in votes for number in (int(judge), winners[winner])]


def _rule(con: duckdb.DuckDBPyConnection) -> str | None:
    """The macro that decides a panel; the default one where several would."""
    ((more_verdicts, more_than_half),) = _rows(con, _RULES)
    # Null where there is no panel, to which any rule applies.
    return "more_verdicts" if more_verdicts is not False else "more_than_half" if more_than_half else None


def _streamed(con: duckdb.DuckDBPyConnection, sql: str, run_tag: str) -> Iterator[list[Row]]:
    """Some rows of a query at a time: all may be too many for memory."""
    with sql_errors(None), closing(cursor_of(con, search_path_of(con))) as cursor:
        cursor.execute(sql, {"run_tag": run_tag})
        while rows := cursor.fetchmany(_ROWS_AT_ONCE):
            yield rows


def _rows(con: duckdb.DuckDBPyConnection, sql: str, **params: Any) -> Sequence[Row]:
    return run_query(con, sql, params, limit=None, timeout_s=_TIMEOUT_S).rows
