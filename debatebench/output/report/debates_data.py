"""The debates of the site, as data for the page of debates: one list per run, and texts and words in parts.

    debates                      the runs of the site, and the names of the fields below
    debates/RUN/list             everything that the page can filter and sort by, one column per property
    debates/RUN/texts-N          speeches, verdicts, notes and people's verdicts of some debates
    debates/RUN/words-N-M        which debates contain which words
    debates/RUN/calls-N          requests and raw replies of some debates, if the site has them

DuckDB sorts the rows into the order of the list, and they are read as a stream, so that memory does not grow with the
texts of a run.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from itertools import chain, groupby
from operator import itemgetter
from typing import TYPE_CHECKING, Any

import msgspec

from debatebench.config.transcript_layout import SPEAKING_RULES
from debatebench.output.report.calls_data import CALL_FIELDS, CALLS_QUERY, Calls
from debatebench.output.report.places import Places
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
_PLACE_OF = itemgetter(0)
_NO_MORE: tuple[int, Iterator[Row]] = (-1, iter(()))

_RUNS = """
select
    runs.run_tag, runs.kind, runs.title, runs.is_simulated, runs.count_debates, runs.source_run_tag,
    runs.benchmark_name, runs.benchmark_version
from marts.runs as runs
where list_contains($run_tags::varchar[], runs.run_tag)
"""

_PLACES = "memory.main.debate_places"
"""The debates of one run, and their places in its list, from 0."""

_MAKE_PLACES = f"""
create or replace table {_PLACES} as
select
    debate_id,
    row_number() over (order by coalesce(schedule_position, source_position), debate_id)::integer - 1 as place
from marts.debates
where run_tag = $run_tag
"""

LIST_QUERY = f"""
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
inner join {_PLACES} as places using (debate_id)
where debates.run_tag = $run_tag
order by places.place
"""

# Speeches and verdicts are JSON already: there are many, and their columns take long to become Python's.
_TURNS = """
select
    debate_id, turn_index, content,
    json_array(
        turn_index, position, side, model_id, replace(stage, '_', ' '), content,
        coalesce(is_truncated, false)::int, completion_tokens, instruction
    )::varchar as turn
from intermediate.int_debate_turns
where run_tag = $run_tag
"""

# A judge votes for the winner that the panel's rule reads in its verdict; a baseline has no vote, and its own winner.
_VERDICTS = """
with

votes as (

    select debate_id, judge_id, winner from marts.judge_verdicts where run_tag = $run_tag and is_valid

),

verdicts as (

    select
        verdicts.*, judges.method, coalesce(judges.is_baseline, false) as is_baseline,
        case when judges.is_baseline then verdicts.declared_winner else votes.winner end as winner
    from staging.stg_verdicts as verdicts
    left join staging.stg_judges as judges using (run_tag, judge_id)
    left join votes using (debate_id, judge_id)
    where verdicts.run_tag = $run_tag

)

select
    debate_id, panel_position, judge_id,
    case when not is_baseline then judge_id end as voter,
    case winner when 'pro' then 'p' when 'con' then 'c' when 'tie' then 't' else 'n' end as vote,
    json_array(
        judge_id, method, is_baseline::int, winner, declared_winner, invalid_reason, presented_first,
        list_transform(scores, lambda score: score.dimension),
        list_transform(scores, lambda score: score.pro::double),
        list_transform(scores, lambda score: score.con::double),
        total_tokens, cost_usd::double, count_asks, replaces_judge_id,
        coalesce(is_repaired, false)::int, coalesce(is_injection_suspected, false)::int
    )::varchar as verdict
from verdicts
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
    found = _List(tags)
    reading = site.reading(LIST_QUERY)
    reading.execute(_MAKE_PLACES, named)
    with closing(cursor_of(reading, search_path_of(reading))) as cursor:
        cursor.execute(LIST_QUERY, named)
        while rows := cursor.fetchmany(_ROWS_AT_ONCE):
            found.add(rows)
    queries = dict(_STREAMS)
    calls = None
    if site.journals is not None:
        queries["calls"] = _CALLS
        calls = Calls(f"{folder}/calls", site.journals, run.tag)
    streams = {name: _Stream(con, sql, order, named) for name, (sql, order) in queries.items()}
    try:
        texts, words = _Texts(f"{folder}/texts"), _Words(f"{folder}/words")
        for place in range(len(found.ids)):
            own = {name: stream.take(place) for name, stream in streams.items()}
            if found.has_source(place):
                own["turns"] = []
            found.add_details(place, own)
            if texts.add(_debate(own), _length(own)):
                yield from texts.end()
            if words.add(_texts(own)):
                yield from words.end()
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
        self._places = Places()
        self.codes: list[int] = []

    def add(self, values: Iterable[Any]) -> None:
        self.codes += self._places.of_known(values)

    def column(self) -> dict[str, Any]:
        return {"values": list(self._places), "codes": self.codes}


class _List:
    """The columns of the list of a run's debates. `tags` are the runs of the site."""

    def __init__(self, tags: Container[str]) -> None:
        self.ids: list[str] = []
        self._tags = tags
        self._debaters = Places()
        self._pro: list[int] = []
        self._con: list[int] = []
        self._coded = {name: _Codes() for name in ("topics", "format", "status", "reason", "flags", "sourceRun")}
        self._letters: dict[str, list[str]] = {name: [] for name in ("winner", "recorded", "rated")}
        self._plain: dict[str, list[Any]] = {
            name: [] for name in ("proScore", "conScore", "cost", "tokens", "expected", "created", "trial")
        }
        self._source_ids: dict[int, str] = {}
        self._linked: set[int] = set()
        self._panels, self._weaknesses = _Codes(), _Codes()
        self._votes: list[str] = []
        self._people: dict[int, int] = {}
        self._teams: dict[int, list[int]] = {}
        self._first_teams: dict[int, str] = {}

    def add(self, rows: Sequence[Row]) -> None:
        """Add rows of `LIST_QUERY`, at least one."""
        (ids, topics, motions, categories, forms, pro, con, statuses, reasons, winners, recorded, rated, *rest) = zip(
            *rows, strict=True
        )
        (pro_scores, con_scores, costs, tokens, expected, created, source_runs, sources, trials, flags) = rest
        for place, (source, source_run) in enumerate(zip(sources, source_runs, strict=True), len(self.ids)):
            if source is not None:
                self._source_ids[place] = source
                if source_run in self._tags:
                    self._linked.add(place)
        self.ids += ids
        both = self._debaters.of_known(chain.from_iterable(zip(pro, con, strict=True)))
        self._pro += both[::2]
        self._con += both[1::2]
        coded = {
            "topics": zip(topics, motions, categories, strict=True),
            "format": forms,
            "status": statuses,
            "reason": reasons,
            "flags": (None if each is None else tuple(each) for each in flags),
            "sourceRun": (None if source is None else run for source, run in zip(sources, source_runs, strict=True)),
        }
        for name, values in coded.items():
            self._coded[name].add(values)
        self._letters["winner"] += [_WINNERS.get(winner, "n") for winner in winners]
        self._letters["recorded"] += [_WINNERS.get(winner, "n") for winner in recorded]
        self._letters["rated"] += ["1" if is_rated else "0" for is_rated in rated]
        plain = (map(_rounded, pro_scores), map(_rounded, con_scores), costs, tokens, expected, created, trials)
        for column, each in zip(self._plain.values(), plain, strict=True):
            column += each

    def has_source(self, place: int) -> bool:
        """Whether the speeches of a debate are those of another run of the site."""
        return place in self._linked

    def add_details(self, place: int, own: Mapping[str, list[Row]]) -> None:
        """Add what follows from the rows of a debate: its panel, votes, weaknesses, teams and people."""
        votes = [(row[3], row[4]) for row in own["verdicts"] if row[3] is not None]
        self._panels.add((tuple([voter for voter, _ in votes]),))
        self._votes.append("".join([vote for _, vote in votes]))
        self._weaknesses.add((tuple(row[1:] for row in own["weaknesses"]) or None,))
        if own["people"]:
            self._people[place] = len(own["people"])
        if own["seats"]:
            self._teams[place] = self._debaters.of_known(row[3] for row in own["seats"])
            if first := [row[1] for row in own["seats"] if row[8]]:
                self._first_teams[place] = " and ".join(first)

    def columns(self) -> dict[str, Any]:
        coded = {name: codes.column() for name, codes in self._coded.items()}
        return {
            "ids": self.ids,
            "topics": coded.pop("topics"),
            "debaters": list(self._debaters),
            "pro": self._pro,
            "con": self._con,
            **coded,
            **{name: "".join(letters) for name, letters in self._letters.items()},
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


_STREAMS: dict[str, tuple[str, str]] = {
    "turns": (_TURNS, "turn_index"),
    "verdicts": (_VERDICTS, "panel_position, judge_id"),
    "notes": (_NOTES, "judge_id, note_index"),
    "people": (_PEOPLE, "annotator_id, winner nulls first"),
    "gold": (_GOLD, "unit"),
    "weaknesses": (_WEAKNESSES, "side, weakness_type, dimension nulls first"),
    "seats": (_SEATS, "list_position(['OG', 'OO', 'CG', 'CO'], position) nulls last, position"),
}
"""The rows of debates: their query, and the order of those of one debate."""

_CALLS = (CALLS_QUERY, "step nulls first, call_id nulls first, attempt")


class _Stream:
    """The rows of a query by debate, in the order of the list.

    The first column of the query is the id of a debate, and that of a row is the place of the debate.
    """

    def __init__(self, con: duckdb.DuckDBPyConnection, sql: str, order: str, named: Mapping[str, Any]) -> None:
        self._cursor = cursor_of(con, search_path_of(con))
        self._cursor.execute(
            f"select places.place, rows.* exclude (debate_id) from ({sql}) as rows "
            f"inner join {_PLACES} as places using (debate_id) order by places.place, {order}",
            named,
        )
        fetched = iter(lambda: self._cursor.fetchmany(_ROWS_AT_ONCE), [])
        self._debates: Iterator[tuple[int, Iterator[Row]]] = groupby(chain.from_iterable(fetched), _PLACE_OF)
        self._place, self._rows = next(self._debates, _NO_MORE)

    def take(self, place: int) -> list[Row]:
        """The rows of the debate at this place; none before it are left to take."""
        if self._place != place:
            return []
        rows = list(self._rows)
        self._place, self._rows = next(self._debates, _NO_MORE)
        return rows

    def close(self) -> None:
        self._cursor.close()


def _debate(own: Mapping[str, list[Row]]) -> dict[str, Any]:
    """The texts of a debate as its page shows them; parts without rows are left out."""
    parts: dict[str, Any] = {}
    for name in ("turns", "verdicts"):
        if own[name]:
            parts[name] = msgspec.Raw(f"[{','.join([row[-1] for row in own[name]])}]".encode())
    if own["notes"]:
        parts["notes"] = [(judge, title, text) for _, judge, _, title, text in own["notes"]]
    for name in ("people", "gold", "seats"):
        if own[name]:
            parts[name] = [row[1:] for row in own[name]]
    return parts


def _texts(own: Mapping[str, list[Row]]) -> list[str]:
    """The texts in which people search."""
    texts = [row[2] for row in own["turns"]]
    texts += [row[4] for row in own["notes"] if row[4]]
    texts += [row[3] for row in own["people"] if row[3]]
    return texts


def _length(own: Mapping[str, list[Row]]) -> int:
    """The number of characters of the long texts of a debate."""
    return sum([len(row[2] or "") for row in own["turns"]]) + sum([len(row[4] or "") for row in own["notes"]])


class _Texts:
    """Collects debates into parts; `starts` are the places in the list where they begin."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._debates: list[dict[str, Any]] = []
        self._size = 0
        self._count = 0
        self.starts: list[int] = []

    def add(self, debate: dict[str, Any], size: int) -> bool:
        """Add a debate with texts of this size; return whether the part is full."""
        if not self._debates:
            self.starts.append(self._count)
        self._debates.append(debate)
        self._count += 1
        self._size += size
        return len(self._debates) == MOST_IN_PART or self._size >= _LARGEST_PART

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

    def add(self, texts: Iterable[str]) -> bool:
        """Add the texts of a debate; return whether the index is full."""
        self._index.add(texts)
        return len(self._index) == _MOST_INDEXED

    def end(self) -> Iterator[tuple[str, Any]]:
        if not len(self._index):
            return
        firsts: Sequence[str] = []
        for number, (first, part) in enumerate(self._index.parts()):
            firsts = [*firsts, first]
            yield f"{self._name}-{len(self.indexes)}-{number}", part
        self.indexes.append({"count": len(self._index), "firsts": firsts})
        self._index = WordIndex()
