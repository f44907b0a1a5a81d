"""The debates of the site, as data for the page of debates: one list per run, and texts and words in parts.

    debates                      the runs of the site, and the names of the fields below
    debates/RUN/list             everything that the page can filter and sort by, one column per property
    debates/RUN/texts-N          speeches, verdicts, notes and people's verdicts of some debates
    debates/RUN/words-N-M        which debates contain which words
    debates/RUN/calls-N          requests and raw replies of some debates, if the site has them

Rows are read as a stream and in about the order of the list, so that memory does not grow with the texts of a run.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from itertools import groupby
from operator import itemgetter
from typing import TYPE_CHECKING, Any

import msgspec

from debatebench.config.transcript_layout import SPEAKING_RULES
from debatebench.output.report.calls_data import CALL_FIELDS, CALLS_QUERY, Calls
from debatebench.output.report.search_index import WordIndex
from debatebench.output.report.subjects import RunPages, Site, run_slug
from debatebench.query.duckdb_errors import sql_errors
from debatebench.query.safe_query import cursor_of, search_path_of

if TYPE_CHECKING:
    import duckdb

Row = tuple[Any, ...]

MOST_IN_PART = 100
"""The most debates whose texts are in one part."""

_LARGEST_PART = 1_000_000
"""The number of characters of texts after which a part ends."""

_MOST_INDEXED = 16_384
"""The most debates in one index of words, which is in memory until it is written."""

_ROWS_AT_ONCE = 2_000
_DEBATE_OF = itemgetter(0)

_RUNS = """
select
    runs.run_tag, runs.kind, runs.title, runs.is_simulated, runs.count_debates, runs.source_run_tag,
    runs.benchmark_name, runs.benchmark_version
from marts.runs as runs
where list_contains($run_tags::varchar[], runs.run_tag)
"""

LIST_QUERY = """
select
    debates.debate_id, debates.topic_id, debates.motion, debates.category, debates.format,
    debates.pro_model_id, debates.con_model_id, debates.status, debates.status_reason, debates.winner,
    debates.recorded_winner, coalesce(decided.is_rated, false) as is_rated,
    debates.pro_mean_score, debates.con_mean_score, debates.cost_usd::double as cost_usd, debates.total_tokens,
    debates.count_expected_judges, epoch(debates.created_at)::bigint as created_at,
    sources.source_run_tag, debates.source_debate_id, debates.trial,
    case when not coherence.is_coherent then coherence.reasons end as reasons
from marts.debates
inner join intermediate.int_debate_sources as sources using (run_tag, debate_id)
left join marts.decided_debates as decided using (run_tag, debate_id)
left join marts.debate_coherence as coherence using (run_tag, debate_id)
where debates.run_tag = $run_tag
order by coalesce(debates.schedule_position, debates.source_position), debates.debate_id
"""

_TURNS = """
select
    debate_id, turn_index, position, side, model_id, replace(stage, '_', ' ') as stage, content,
    coalesce(is_truncated, false)::int as is_truncated, completion_tokens, instruction
from intermediate.int_debate_turns
where run_tag = $run_tag
"""

# The rest of a row is JSON already: there are many verdicts, and lists of scores take long to become Python's.
_VERDICTS = """
select
    verdicts.debate_id, verdicts.panel_position, verdicts.judge_id,
    coalesce(judges.is_baseline, false)::int as is_baseline,
    case when judges.is_baseline then verdicts.declared_winner end as shown,
    json_array(verdicts.judge_id, judges.method, coalesce(judges.is_baseline, false)::int)::varchar as before_shown,
    json_array(
        verdicts.declared_winner, verdicts.invalid_reason, verdicts.presented_first,
        list_transform(verdicts.scores, lambda score: score.dimension),
        list_transform(verdicts.scores, lambda score: score.pro::double),
        list_transform(verdicts.scores, lambda score: score.con::double),
        verdicts.total_tokens, verdicts.cost_usd::double, verdicts.count_asks, verdicts.replaces_judge_id,
        coalesce(verdicts.is_repaired, false)::int, coalesce(verdicts.is_injection_suspected, false)::int
    )::varchar as after_shown
from staging.stg_verdicts as verdicts
left join staging.stg_judges as judges
    on verdicts.run_tag = judges.run_tag and verdicts.judge_id = judges.judge_id
where verdicts.run_tag = $run_tag
"""

# Joined debate by debate: DuckDB's join would hold all verdicts in memory, and return them in no order.
_PANEL = """
select debate_id, judge_id, winner
from marts.judge_verdicts
where run_tag = $run_tag and is_valid
"""

_NOTES = """
select debate_id, judge_id, note_index, title, text
from intermediate.int_titled_notes
where run_tag = $run_tag
"""

_PEOPLE = """
with

said as (

    select
        sources.debate_id, annotations.annotator_id, annotations.winner,
        case
            when annotations.skip_reason is null then annotations.justification
            else concat_ws(
                '. ', concat('Skipped: ', replace(annotations.skip_reason, '_', ' ')), annotations.justification
            )
        end as justification,
        annotations.confidence, annotations.is_coherent, stored.scores, annotations.ranks, annotations.team_scores
    from intermediate.int_debate_sources as sources
    inner join marts.annotations
        on sources.source_run_tag = annotations.run_tag and sources.source_debate_id = annotations.debate_id
    left join staging.stg_annotations as stored
        on annotations.run_tag = stored.run_tag
        and annotations.debate_id = stored.debate_id
        and annotations.annotator_id = stored.annotator_id
    where sources.run_tag = $run_tag
    union all
    select
        sources.debate_id,
        concat(
            agreed.adjudicator_id,
            case
                when together.outcome in ('agreed', 'not_coherent') then ' (agreed)'
                when together.outcome = 'no_winner' then ' (review; no winner named)'
                else ' (review; reviewers differ)'
            end
        ) as annotator_id,
        agreed.winner, agreed.justification, null as confidence, agreed.is_coherent, agreed.scores, agreed.ranks,
        agreed.team_scores
    from intermediate.int_debate_sources as sources
    inner join staging.stg_adjudications as agreed
        on sources.source_run_tag = agreed.run_tag and sources.source_debate_id = agreed.debate_id
    inner join intermediate.int_agreed_verdicts as together
        on sources.source_run_tag = together.run_tag and sources.source_debate_id = together.debate_id
    where sources.run_tag = $run_tag

)

select
    debate_id, annotator_id, winner, justification, confidence, is_coherent,
    list_transform(scores, lambda score: score.dimension) as dimensions,
    list_transform(scores, lambda score: score.pro::double) as pro_scores,
    list_transform(scores, lambda score: score.con::double) as con_scores,
    array_to_string(
        list_transform(
            list_sort(list_transform(ranks, lambda each: {'rank': each.rank, 'team': each.team})),
            lambda each: concat(each.rank, '. ', each.team)
        ),
        ', '
    ) as places,
    array_to_string(
        list_transform(
            team_scores,
            lambda each: concat(replace(each.dimension, '_', ' '), ' of ', each.team, ': ', each.score::double)
        ),
        ', '
    ) as team_scores
from said
"""

_GOLD = """
select
    sources.debate_id, gold.unit, gold.winner,
    nullif(array_to_string(gold.winning_positions, ', '), '') as winning_positions, gold.count_votes
from intermediate.int_debate_sources as sources
inner join marts.gold
    on sources.source_run_tag = gold.run_tag and sources.source_debate_id = gold.debate_id
where sources.run_tag = $run_tag
"""

_WEAKNESSES = """
select sources.debate_id, weaknesses.side, weaknesses.weakness_type, weaknesses.dimension
from intermediate.int_debate_sources as sources
inner join marts.weaknesses
    on sources.source_run_tag = weaknesses.run_tag and sources.source_debate_id = weaknesses.debate_id
where sources.run_tag = $run_tag
"""

_SEATS = """
select
    participants.debate_id, participants.position, participants.side, participants.model_id, results.rank::double,
    results.mean_score::double, results.count_named, results.count_judges, results.first_rate > 0
from staging.stg_participants as participants
inner join staging.stg_debates as debates
    on participants.run_tag = debates.run_tag and participants.debate_id = debates.debate_id
left join marts.team_results as results
    on participants.run_tag = results.run_tag
    and participants.debate_id = results.debate_id
    and participants.position = results.position
where participants.run_tag = $run_tag and debates.format <> 'two_sided'
"""

_SETTINGS = """
select item, part, value from marts.run_settings where run_tag = $run_tag and value is not null and item <> 'topics'
order by item, part
"""

_SLIDES = """
select topic_id, info_slide
from staging.stg_topics where run_tag = $run_tag and info_slide is not null order by topic_id
"""

_DEBATERS = """
select model_id, provider, model_name from staging.stg_debaters where run_tag = $run_tag order by model_id
"""

_JUDGES = """
select judge_id, provider, model_name, method from staging.stg_judges where run_tag = $run_tag order by judge_id
"""

_DIMENSIONS = """
select dimension, min_score::double, max_score::double
from staging.stg_dimensions where run_tag = $run_tag order by source_position
"""

_FIELDS = {
    "turns": ("turn", "position", "side", "debater", "stage", "text", "isCut", "tokens", "task"),
    "verdicts": (
        "judge",
        "method",
        "isBaseline",
        "winner",
        "declared",
        "invalidReason",
        "first",
        "dimensions",
        "pro",
        "con",
        "tokens",
        "cost",
        "asks",
        "replaces",
        "isRepaired",
        "isSuspected",
    ),
    "notes": ("judge", "title", "text"),
    "people": (
        "person",
        "winner",
        "text",
        "confidence",
        "isCoherent",
        "dimensions",
        "pro",
        "con",
        "places",
        "teamScores",
    ),
    "gold": ("unit", "winner", "positions", "votes"),
    "seats": ("position", "side", "debater", "place", "score", "named", "judges", "isFirst"),
    "calls": CALL_FIELDS,
}
"""The fields of the rows of a debate, by the part of it to which they belong."""

NOT_SHOWN = (
    "Not here: the shape of the answer that a judge was asked for, and the wording of its instructions, which the "
    "run's journal has. The remarks of a verdict say if the judge was shown the other side first, or worked in steps."
)
"""What judges' prompts hold, and the page of a debate does not."""

_WINNERS = {"pro": "p", "con": "c", "tie": "t"}
_SEAT_ORDER = ("OG", "OO", "CG", "CO")


def debates_data(site: Site) -> Iterator[tuple[str, Any]]:
    """The names of the data of all debates, and the data; see the top of this file."""
    if not site.runs:
        return
    tags = [run.tag for run in site.runs]
    with sql_errors(None):
        known = {row[0]: row for row in _fetched(site.con, _RUNS, {"run_tags": tags})}
        yield (
            "debates",
            {
                "fields": _FIELDS,
                "formatRules": SPEAKING_RULES,
                "notShown": NOT_SHOWN,
                "runs": [_about(known[run.tag]) for run in site.runs],
            },
        )
        for run in site.runs:
            yield from _of_run(site, run, set(tags))


def _about(row: Row) -> dict[str, Any]:
    tag, kind, title, is_simulated, count, source, name, version = row
    return {
        "tag": tag,
        "folder": f"debates/{run_slug(tag)}",
        "kind": kind,
        "title": title,
        "isSimulated": is_simulated,
        "count": count,
        "source": source,
        "benchmark": " ".join(part for part in (name, version) if part),
    }


def _of_run(site: Site, run: RunPages, tags: set[str]) -> Iterator[tuple[str, Any]]:
    """The parts of a run, and then its list, which says where they are."""
    con = site.con
    folder, named = f"debates/{run_slug(run.tag)}", {"run_tag": run.tag}
    found = _List()
    reading = site.reading(LIST_QUERY)
    with closing(cursor_of(reading, search_path_of(reading))) as cursor:
        cursor.execute(LIST_QUERY, named)
        while rows := cursor.fetchmany(_ROWS_AT_ONCE):
            for row in rows:
                found.add(row, tags)
    queries = dict(_STREAMS)
    calls = None
    if site.journals is not None:
        queries["calls"] = (CALLS_QUERY, lambda row: (str(row[2]), str(row[1]), row[3]))
        calls = Calls(f"{folder}/calls", site.journals, run.tag)
    streams = _streams(con, run.tag, queries, found.ids)
    none: dict[str, list[Row]] = {name: [] for name in streams}
    filled = {name: stream for name, stream in streams.items() if stream}
    try:
        texts, words = _Texts(f"{folder}/texts"), _Words(f"{folder}/words")
        for number, debate_id in enumerate(found.ids):
            own = {**none, **{name: stream.take(number, debate_id) for name, stream in filled.items()}}
            own["verdicts"] = _with_winners(own["verdicts"], own["panel"])
            yield from texts.add(_debate(own, found, number))
            yield from words.add(_texts(own, keeps_speeches=not found.has_source(number)))
            if calls is not None:
                yield from calls.add(own["calls"], MOST_IN_PART, _LARGEST_PART)
        yield from texts.end()
        yield from words.end()
        if calls is not None:
            yield from calls.end()
    finally:
        for stream in streams.values():
            stream.close()
    yield (
        f"{folder}/list",
        {
            **found.columns(),
            "starts": texts.starts,
            "callStarts": None if calls is None else calls.starts,
            "words": words.indexes,
            "slides": _fetched(con, _SLIDES, named),
            "settings": _fetched(con, _SETTINGS, named),
            "debaterFacts": _fetched(con, _DEBATERS, named),
            "judgeFacts": _fetched(con, _JUDGES, named),
            "dimensions": _fetched(con, _DIMENSIONS, named),
        },
    )


def _fetched(con: duckdb.DuckDBPyConnection, sql: str, params: Mapping[str, Any]) -> list[Row]:
    return con.execute(sql, params).fetchall()


# --- what the page filters and sorts by -------------------------------------------------------------------------------


class _Codes:
    """Values that occur often, each written once: `codes` are their places in `values`, -1 for null."""

    def __init__(self) -> None:
        self._places: dict[Any, int] = {}
        self.codes: list[int] = []

    def add(self, value: Any) -> None:
        self.codes.append(self.place(value))

    def place(self, value: Any) -> int:
        return -1 if value is None else self._places.setdefault(value, len(self._places))

    def values(self) -> list[Any]:
        return list(self._places)

    def column(self) -> dict[str, Any]:
        return {"values": self.values(), "codes": self.codes}


class _List:
    """The columns of the list of a run's debates."""

    def __init__(self) -> None:
        self.ids: list[str] = []
        self._topics, self._debaters = _Codes(), _Codes()
        self._pro: list[int] = []
        self._con: list[int] = []
        self._coded = {name: _Codes() for name in ("format", "status", "reason", "flags", "sourceRun")}
        self._winners: list[str] = []
        self._recorded: list[str] = []
        self._rated: list[str] = []
        self._plain: dict[str, list[Any]] = {
            name: [] for name in ("proScore", "conScore", "cost", "tokens", "expected", "created", "trial")
        }
        self._source_ids: dict[int, str] = {}
        self._linked: set[int] = set()
        self._panels = _Codes()
        self._votes: list[str] = []
        self._weaknesses = _Codes()
        self._people: dict[int, int] = {}
        self._teams: dict[int, list[int]] = {}
        self._first_teams: dict[int, str] = {}

    def add(self, row: Row, tags: set[str]) -> None:
        """Add a row of `LIST_QUERY`."""
        (debate_id, topic, motion, category, form, pro, con, status, reason, winner, recorded, is_rated, *rest) = row
        (pro_score, con_score, cost, tokens, expected, created, source_run, source, trial, flags) = rest
        number = len(self.ids)
        self.ids.append(debate_id)
        self._topics.add((topic, motion, category))
        self._pro.append(self._debaters.place(pro))
        self._con.append(self._debaters.place(con))
        for name, value in (("format", form), ("status", status), ("reason", reason)):
            self._coded[name].add(value)
        self._coded["flags"].add(None if flags is None else tuple(flags))
        self._winners.append(_WINNERS.get(winner, "n"))
        self._recorded.append(_WINNERS.get(recorded, "n"))
        self._rated.append("1" if is_rated else "0")
        values = (_rounded(pro_score), _rounded(con_score), cost, tokens, expected, created, trial)
        for column, value in zip(self._plain.values(), values, strict=True):
            column.append(value)
        self._coded["sourceRun"].add(source_run if source is not None else None)
        if source is not None:
            self._source_ids[number] = source
            if source_run in tags:
                self._linked.add(number)

    def has_source(self, number: int) -> bool:
        """Whether the speeches of a debate are those of another run of the site."""
        return number in self._linked

    def add_details(self, number: int, own: Mapping[str, list[Row]]) -> None:
        """Add what follows from the rows of a debate: its panel, votes, weaknesses, teams and people."""
        voters = [row for row in own["verdicts"] if not row[3]]
        self._panels.add(tuple(row[2] for row in voters))
        self._votes.append("".join(_WINNERS.get(row[4], "n") for row in voters))
        self._weaknesses.add(tuple(row[1:] for row in own["weaknesses"]) or None)
        if own["people"]:
            self._people[number] = len(own["people"])
        if own["seats"]:
            self._teams[number] = [self._debaters.place(row[3]) for row in own["seats"]]
        if first := [row[1] for row in own["seats"] if row[8]]:
            self._first_teams[number] = " and ".join(first)

    def columns(self) -> dict[str, Any]:
        return {
            "ids": self.ids,
            "topics": self._topics.column(),
            "debaters": self._debaters.values(),
            "pro": self._pro,
            "con": self._con,
            **{name: codes.column() for name, codes in self._coded.items()},
            "winner": "".join(self._winners),
            "recorded": "".join(self._recorded),
            "rated": "".join(self._rated),
            **self._plain,
            "sourceIds": self._source_ids,
            "panels": self._panels.column(),
            "votes": self._votes,
            "weaknesses": self._weaknesses.column(),
            "people": self._people,
            "teams": self._teams,
            "firstTeams": self._first_teams,
        }


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, 4)


# --- the rows of debates ----------------------------------------------------------------------------------------------


class _Stream:
    """The rows of a query by debate, for debates that are taken in about the order in which the query returns them.

    The first column of a row is the id of its debate; `numbers` has the places of debates in their list. Rows that come
    before their debate is taken wait in memory.
    """

    def __init__(
        self,
        con: duckdb.DuckDBPyConnection,
        sql: str,
        run_tag: str,
        key: Callable[[Row], Any],
        numbers: Mapping[str, int],
    ) -> None:
        named = {"run_tag": run_tag}
        # By the number of the debate: ids would take most of the memory.
        self._counts = array("I", bytes(4 * len(numbers)))
        self._has_rows = False
        self._key = key
        self._waiting: dict[str, list[Row]] = {}
        self._cursor = cursor_of(con, search_path_of(con))
        self._cursor.execute(f"select debate_id, count(*) from ({sql}) group by debate_id", named)
        while counted := self._cursor.fetchmany(_ROWS_AT_ONCE):
            for debate_id, count in counted:
                if (number := numbers.get(debate_id)) is not None:
                    self._counts[number], self._has_rows = count, True
        if self._has_rows:
            self._cursor.execute(sql, named)

    def __bool__(self) -> bool:
        """Whether any debate has rows."""
        return self._has_rows

    def take(self, number: int, debate_id: str) -> list[Row]:
        """All rows of a debate, in the order of the key. `numbers` had its number."""
        count, waiting = self._counts[number], self._waiting
        if not count:
            return []
        while len(waiting.get(debate_id, ())) < count:
            fetched = self._cursor.fetchmany(_ROWS_AT_ONCE)
            if not fetched:
                break
            # Rows of a debate mostly come together.
            for each, group in groupby(fetched, _DEBATE_OF):
                waiting.setdefault(each, []).extend(group)
        rows = waiting.pop(debate_id, [])
        rows.sort(key=self._key)
        return rows

    def close(self) -> None:
        self._cursor.close()


_STREAMS: dict[str, tuple[str, Callable[[Row], Any]]] = {
    "turns": (_TURNS, itemgetter(1)),
    "verdicts": (_VERDICTS, itemgetter(1, 2)),
    "panel": (_PANEL, itemgetter(1)),
    "notes": (_NOTES, itemgetter(1, 2)),
    "people": (_PEOPLE, lambda row: (row[1], str(row[2]))),
    "gold": (_GOLD, lambda row: row[1]),
    "weaknesses": (_WEAKNESSES, lambda row: (*row[1:3], str(row[3]))),
    "seats": (
        _SEATS,
        lambda row: (_SEAT_ORDER.index(row[1]) if row[1] in _SEAT_ORDER else len(_SEAT_ORDER), row[1]),
    ),
}
"""The rows of debates: their query, and the order of those of one debate."""


def _streams(
    con: duckdb.DuckDBPyConnection,
    run_tag: str,
    queries: Mapping[str, tuple[str, Callable[[Row], Any]]],
    debate_ids: Sequence[str],
) -> dict[str, _Stream]:
    numbers = {debate_id: number for number, debate_id in enumerate(debate_ids)}
    return {name: _Stream(con, sql, run_tag, key, numbers) for name, (sql, key) in queries.items()}


def _with_winners(verdicts: list[Row], panel: list[Row]) -> list[Row]:
    """The rows of `_VERDICTS` with the winner that the panel's rule reads in each, and all of a verdict as one JSON."""
    winners = {judge_id: winner for _, judge_id, winner in panel}
    found = []
    for *names, is_baseline, declared, before, after in verdicts:
        shown = declared if is_baseline else winners.get(names[2])
        text = f"{before[:-1]},{msgspec.json.encode(shown).decode()},{after[1:]}"
        found.append((*names, is_baseline, shown, text))
    return found


def _debate(own: Mapping[str, list[Row]], found: _List, number: int) -> dict[str, Any]:
    """The texts of a debate as its page shows them; parts without rows are left out."""
    found.add_details(number, own)
    parts = {
        "turns": [] if found.has_source(number) else [row[1:] for row in own["turns"]],
        "verdicts": [msgspec.Raw(row[5].encode()) for row in own["verdicts"]],
        "notes": [(judge, title, text) for _, judge, _, title, text in own["notes"]],
        "people": [row[1:] for row in own["people"]],
        "gold": [row[1:] for row in own["gold"]],
        "seats": [row[1:] for row in own["seats"]],
    }
    return {name: rows for name, rows in parts.items() if rows}


def _texts(own: Mapping[str, list[Row]], *, keeps_speeches: bool) -> Iterator[str]:
    """The texts in which people search."""
    if keeps_speeches:
        yield from (row[6] for row in own["turns"])
    yield from (row[4] for row in own["notes"] if row[4])
    yield from (row[3] for row in own["people"] if row[3])


class _Texts:
    """Collects debates into parts; `starts` are the places in the list where they begin."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._debates: list[dict[str, Any]] = []
        self._size = 0
        self._count = 0
        self.starts: list[int] = []

    def add(self, debate: dict[str, Any]) -> Iterator[tuple[str, Any]]:
        if not self._debates:
            self.starts.append(self._count)
        self._debates.append(debate)
        self._count += 1
        self._size += sum(len(row[5] or "") for row in debate.get("turns", ()))
        self._size += sum(len(row[2] or "") for row in debate.get("notes", ()))
        if len(self._debates) == MOST_IN_PART or self._size >= _LARGEST_PART:
            yield from self.end()

    def end(self) -> Iterator[tuple[str, Any]]:
        if self._debates:
            yield f"{self._name}-{len(self.starts) - 1}", self._debates
            self._debates, self._size = [], 0


class _Words:
    """Collects words into indexes; `indexes` says how many debates each has, and with which word its parts begin."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._index = WordIndex()
        self.indexes: list[dict[str, Any]] = []

    def add(self, texts: Iterator[str]) -> Iterator[tuple[str, Any]]:
        self._index.add(texts)
        if len(self._index) == _MOST_INDEXED:
            yield from self.end()

    def end(self) -> Iterator[tuple[str, Any]]:
        if not len(self._index):
            return
        firsts: Sequence[str] = []
        for number, (first, part) in enumerate(self._index.parts()):
            firsts = [*firsts, first]
            yield f"{self._name}-{len(self.indexes)}-{number}", part
        self.indexes.append({"count": len(self._index), "firsts": firsts})
        self._index = WordIndex()
