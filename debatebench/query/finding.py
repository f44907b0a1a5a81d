"""Find tables and columns of a warehouse by words, in their names and in the texts that the file has of them."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import duckdb

from debatebench.transform.build_state import relations

_WORD = re.compile(r"[a-z0-9]+")
# Full stops of abbreviations: always, before a number, or unless a capital follows.
_ABBREVIATED = (
    r"\b(?i:e\.g|i\.e|cf|vs|approx|dr|mr|mrs|ms|prof)\.|\b(?:[Nn]os?|[Ff]igs?|[Ee]qs?|[Ss]ecs?|[Vv]ol|pp?)\.(?=\s\d)"
    r"|\b(?:et al|etc)\.(?=\s[^A-Z])"
)
_SENTENCE = re.compile(rf"(?>{_ABBREVIATED}|.)*?[.!?](?=\s)", re.DOTALL)
# Words that say nothing about the subject of a question, and those of every description of rows.
_EMPTY = frozenset(
    _WORD.findall(
        "a an and are as at be by can did do does each for from has have how in is it its of on or same than that the "
        "their them there these this to was were what when where which who whose why with one per row rows"
    )
)
# The longest first; each leaves at least three letters.
_ENDINGS = (
    "ations",
    "ation",
    "ities",
    "ness",
    "ests",
    "ings",
    "ity",
    "ion",
    "ing",
    "ers",
    "est",
    "als",
    "ed",
    "er",
    "es",
    "al",
    "ly",
    "s",
    "e",
)
_SHORTEST_STEM = 3
# What a word in a name, a question, or a text is worth. Everything else that has a word is worth less.
_IN_NAME, _IN_QUESTION, _IN_COLUMN, _IN_TEXT, _IN_COLUMN_TEXT = 8.0, 6.0, 4.0, 3.0, 1.0
_NOT_ASKED = 0.25


@dataclass(frozen=True, slots=True)
class Described:
    """A table or view: its dotted name, kind, and what the file says of it.

    `columns` are (name, DuckDB type, text). `short_name` is None for what people do not ask, and `questions` are pairs
    of a question and SQL. A text is empty where the file has none.
    """

    name: str
    kind: str
    text: str
    columns: tuple[tuple[str, str, str], ...]
    short_name: str | None = None
    subject: str = ""
    starts_here: bool = False
    keys: tuple[str, ...] = ()
    questions: tuple[tuple[str, str], ...] = ()

    @property
    def first_sentence(self) -> str:
        """The first sentence of its text."""
        return first_sentence(self.text)


@dataclass(frozen=True, slots=True)
class Found:
    """A table or a column that has some of the words: its name, where they are, and its first sentence."""

    name: str
    matched: str
    text: str
    score: float = field(compare=False)


def first_sentence(text: str) -> str:
    """The first sentence of a text; the full stop of an abbreviation, such as et al., does not end it."""
    found = _SENTENCE.match(text)
    return found[0] if found else text


def read_described(con: duckdb.DuckDBPyConnection) -> list[Described]:
    """Every table and view of the warehouse, by subject: what people ask comes first, and what to start with."""
    kinds = relations(con)
    texts: dict[str, str] = dict(
        con.execute(
            "select schema_name || '.' || table_name, coalesce(comment, '') from duckdb_tables() "
            "where database_name = current_database() union all "
            "select schema_name || '.' || view_name, coalesce(comment, '') from duckdb_views() "
            "where database_name = current_database() and not internal"
        ).fetchall()
    )
    columns: dict[str, list[tuple[str, str, str]]] = {}
    for name, *column in con.execute(
        "select schema_name || '.' || table_name, column_name, data_type, coalesce(comment, '') from duckdb_columns() "
        "where database_name = current_database() order by schema_name, table_name, column_index"
    ).fetchall():
        columns.setdefault(name, []).append(tuple(column))
    known = _catalogue(con)
    found = [
        Described(
            name, kind, texts[name], tuple(columns[name]), **{"subject": name.partition(".")[0]} | known.get(name, {})
        )
        for name, kind in kinds.items()
    ]
    return sorted(found, key=lambda each: (each.short_name is None, each.subject, not each.starts_here, each.name))


def _catalogue(con: duckdb.DuckDBPyConnection) -> dict[str, dict[str, Any]]:
    """Dotted name → what `main.sql_models` says; empty in a file that was built before there was one."""
    is_there = con.execute(
        "select 1 from duckdb_tables() where database_name = current_database() and schema_name = 'main' "
        "and table_name = 'sql_models'"
    ).fetchall()
    if not is_there:
        return {}
    rows = con.execute(
        "select sql_model, short_name, subject, starts_here, keys, questions from main.sql_models"
    ).fetchall()
    return {
        name: {
            "short_name": short,
            "subject": subject,
            "starts_here": starts,
            "keys": tuple(keys),
            "questions": tuple((each["question"], each["sql"]) for each in questions),
        }
        for name, short, subject, starts, keys, questions in rows
    }


def telling_words(text: str) -> list[str]:
    """The words of a text in lower case, in order, except those that say nothing about a subject."""
    return [word for word in _WORD.findall(text.lower()) if word not in _EMPTY]


def stems(text: str) -> list[str]:
    """The telling words of a text without their endings, in order."""
    return [stem(word) for word in telling_words(text)]


def stem(word: str) -> str:
    """A word of English in lower case without its ending: `verbosity` and `verbose`, `retries` and `retry` are one."""
    word = f"{word[:-3]}y" if word.endswith(("ies", "ied")) and len(word) > _SHORTEST_STEM + 1 else word
    for ending in _ENDINGS:
        if word.endswith(ending) and len(word) - len(ending) >= _SHORTEST_STEM:
            word = word[: -len(ending)]
            break
    # `cutting` → `cutt` → `cut`, `truncated` → `truncat` → `trunc` as `truncation`, `wordier` → `wordi` → `wordy`.
    word = word[:-1] if len(word) > _SHORTEST_STEM and word[-1] == word[-2] else word
    word = word.removesuffix("at") if len(word) > _SHORTEST_STEM + 2 else word
    return f"{word[:-1]}y" if word.endswith("i") else word


def find(described: Sequence[Described], words: str, limit: int = 15) -> list[Found]:
    """The tables and columns that have most of the words, the best first.

    A word counts more in a name than in a question, and there more than in a text; and more if it is rare. A table also
    has the words of its columns. What people ask comes before steps and landed tables.
    """
    wanted = list(dict.fromkeys(stems(words)))
    places = {
        each.name: [(place, worth, set(stems(text))) for place, worth, text in _places(each)] for each in described
    }
    holders = {word: sum(any(word in found for _, _, found in placed) for placed in places.values()) for word in wanted}
    rarity = {word: math.log(1 + len(described) / count) for word, count in holders.items() if count}
    if not rarity:
        return []
    tables = [each for one in described if (each := _scored_table(one, places[one.name], rarity))]
    columns = [each for one in described for each in _scored_columns(one, rarity)]
    return sorted([*tables, *columns], key=lambda each: -each.score)[:limit]


def _places(each: Described) -> Iterator[tuple[str, float, str]]:
    """(where, what a word there is worth, text) of everything that is known of a table."""
    yield "name", _IN_NAME, each.name.partition(".")[2]
    yield "subject", _IN_TEXT, each.subject
    for question, _ in each.questions:
        yield f"“{question}”", _IN_QUESTION, question
    yield "text", _IN_TEXT, each.text
    for column, _, text in each.columns:
        yield f"column {column}", _IN_COLUMN, column
        yield f"text of {column}", _IN_COLUMN_TEXT, text


def _scored_table(
    each: Described, places: Iterable[tuple[str, float, set[str]]], rarity: Mapping[str, float]
) -> Found | None:
    best: dict[str, tuple[float, str]] = {}
    for place, worth, found in places:
        for word in found & rarity.keys():
            best[word] = max(best.get(word, (0.0, "")), (worth, place), key=lambda pair: pair[0])
    if not best:
        return None
    score = sum(rarity[word] * worth for word, (worth, _) in best.items()) * len(best) / len(rarity)
    matched = ", ".join(dict.fromkeys(place for _, place in best.values()))
    return Found(each.name, matched, each.first_sentence, score if each.short_name else score * _NOT_ASKED)


def _scored_columns(each: Described, rarity: Mapping[str, float]) -> Iterator[Found]:
    """The columns of what people ask that have a word in their names, or all words in their texts."""
    for column, _, text in each.columns if each.short_name else ():
        in_name, in_text = set(stems(column)) & rarity.keys(), set(stems(text)) & rarity.keys()
        found = in_name | in_text
        if not in_name and len(found) < len(rarity):
            continue
        worth = {word: _IN_COLUMN if word in in_name else _IN_COLUMN_TEXT for word in found}
        score = sum(rarity[word] * worth[word] for word in found) * len(found) / len(rarity)
        matched = ", ".join(filter(None, ["name" if in_name else "", "text" if found - in_name else ""]))
        yield Found(f"{each.name}.{column}", matched, first_sentence(text), score * 0.9)
