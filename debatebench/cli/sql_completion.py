"""What may come next in a SQL statement: the warehouse's schemas, tables and columns, and SQL's keywords."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property

from debatebench.query.relations import Relation

# The keywords of a SELECT. DuckDB has many more, which would only clutter the list.
# fmt: off
_KEYWORDS = (
    "all", "and", "any", "anti", "as", "asc", "asof", "between", "by", "case", "cast", "cross", "desc",
    "describe", "distinct", "else", "end", "except", "exclude", "exists", "false", "filter", "from", "full",
    "group", "having", "ilike", "in", "inner", "intersect", "interval", "is", "join", "lateral", "left",
    "like", "limit", "not", "null", "nulls", "offset", "on", "or", "order", "outer", "over", "partition",
    "pivot", "positional", "qualify", "recursive", "replace", "right", "sample", "select", "semi",
    "summarize", "table", "then", "true", "union", "unpivot", "using", "values", "when", "where", "window",
    "with",
)
# fmt: on
# A table in FROM or JOIN, and its alias.
_NAMED = re.compile(
    r"(?:\b([a-z_]\w*\.[a-z_]\w*)|\b(?:from|join)\s+([a-z_]\w*)\b(?!\s*\.))(?=(?:\s+(?:as\s+)?([a-z_]\w*))?)",
    re.IGNORECASE,
)
_WANTS_TABLE = re.compile(r"\b(from|join|describe|summarize|table)\s*$", re.IGNORECASE)


@dataclass(frozen=True)
class Completions:
    """The sources of completions: dotted name → relation, the dotted names of macros, and short name → dotted name."""

    relations: Mapping[str, Relation]
    macros: Iterable[str] = ()
    short: Mapping[str, str] = field(default_factory=dict)

    @cached_property
    def schemas(self) -> tuple[str, ...]:
        """The schemas that are not empty."""
        return tuple(sorted({name.partition(".")[0] for name in self.relations}))

    def candidates(self, word: str, before: str) -> list[str]:
        """What `word`, which may be empty, can become after the text `before` of the same statement, sorted.

        After FROM and JOIN these are tables. Elsewhere they are columns (of the tables that the statement names, else
        of all), aliases of tables, schemas, macros and keywords; keywords end in a space and have the case of `word`.
        """
        if "." in word:
            return self._after_dot(word, before)
        if _WANTS_TABLE.search(before):
            return self._tables(word)
        used = self._used(before)
        columns = {column for name in used.values() or self.relations for column in self._columns(name)}
        others = {alias for alias in used if "." not in alias}
        called = {f"{name.partition('.')[0]}." for name in self.macros}
        found = _starting(word, [*columns, *others, *(f"{schema}." for schema in self.schemas), *called])
        if word:
            keywords = [f"{keyword} " for keyword in _starting(word, _KEYWORDS)]
            found += [keyword.upper() for keyword in keywords] if word.isupper() else keywords
        return sorted(set(found))

    def tables(self, word: str) -> list[str]:
        """Dotted names that begin with `word`."""
        return _starting(word, self.relations)

    def _tables(self, word: str) -> list[str]:
        """Schemas, and short names once there is a letter; else the only table with a name that begins like that."""
        found = _starting(word, [*(f"{schema}." for schema in self.schemas), *(self.short if word else ())])
        own = [name for name in self.relations if word and name.partition(".")[2].startswith(word.lower())]
        return found or (own if len(own) == 1 else [])

    def _after_dot(self, word: str, before: str) -> list[str]:
        """`schema.` → its tables and macros; `schema.table.` or an alias of a table → its columns."""
        prefix = word.rpartition(".")[0].lower()
        relation = self._used(before).get(prefix, prefix)
        names = [f"{prefix}.{column}" for column in self._columns(relation)]
        return _starting(word, [*self.tables(f"{prefix}."), *names, *(f"{name}(" for name in self.macros)])

    def _used(self, text: str) -> dict[str, str]:
        """Each name that the statement can use for a table so far → the table's dotted name."""
        used: dict[str, str] = {}
        for match in _NAMED.finditer(text):
            name, alias = (match[1] or match[2]).lower(), (match[3] or "").lower()
            name = self.short.get(name, name)
            if name in self.relations:
                used[name] = name
                used[name.partition(".")[2]] = name
                if alias and alias not in _KEYWORDS:
                    used[alias] = name
        return used

    def _columns(self, name: str) -> list[str]:
        relation = self.relations.get(name)
        return [column for column, _ in relation.columns] if relation else []


def _starting(word: str, names: Iterable[str]) -> list[str]:
    return sorted(name for name in names if name.lower().startswith(word.lower()))
