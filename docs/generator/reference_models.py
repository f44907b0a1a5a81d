"""The reference of the tables: the landed ones by their record classes, and every SQL model, with the macros."""

from __future__ import annotations

import types
import typing
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import date
from pathlib import Path

from page_text import FOUND_FIRST, code, paragraphs, plain, table

from debatebench.output.docs.content import Entry, Link, describe_macros, describe_relations
from debatebench.query.sql_project import load_project
from debatebench.shared.records import TABLES, Record
from debatebench.shared.workspace import Workspace
from debatebench.transform.catalogue import subject_of

_SCHEMAS = {
    "ratings": "Tables that Python functions compute during the build from the rated debates.",
    "original": "The tables of the first harness, which `debatebench summarize` writes as CSV files, with its names.",
    "intermediate": "Steps between the landed tables and the marts. Only other SQL models read them.",
    "staging": "One for each landed table: renamed, cast, JSON unpacked.",
}
_NEVER = date.min
"""No SQL model is deprecated by the day on which the pages are made, so that equal projects have equal pages."""


def model_pages(workspace: Path) -> dict[str, str]:
    """Path below `reference/` → the page: the landed tables, the marts of each subject, every other schema, macros."""
    project = load_project(Workspace(workspace).files("sql", "**/*"))
    entries = describe_relations(project, _NEVER)
    subjects = {name: subject_of(model) for name, model in project.models.items()}
    pages: dict[str, list[Entry]] = {}
    for entry in entries:
        pages.setdefault(_page(entry, subjects), []).append(entry)
    where = {entry.key: (page, _anchor(entry)) for page, found in pages.items() for entry in found}
    macros = describe_macros(project)
    where |= {entry.key: ("sql/macros.md", _anchor(entry)) for entry in macros}
    texts = {
        page: _joined(_relations(page, sorted(found, key=lambda each: each.key), where))
        for page, found in pages.items()
        if page != "records.md"
    }
    texts["records.md"] = _joined(_records(pages["records.md"], where))
    texts["sql/macros.md"] = _joined(_macros(macros, where))
    return dict(sorted(texts.items()))


def _page(entry: Entry, subjects: Mapping[str, str]) -> str:
    if entry.group == "raw":
        return "records.md"
    return f"sql/marts-{subjects[entry.key]}.md" if entry.group == "marts" else f"sql/{entry.group}.md"


def _joined(lines: Iterator[str]) -> str:
    return "\n".join(lines) + "\n"


def _anchor(entry: Entry) -> str:
    """The id of its heading."""
    return entry.key.replace(".", "-")


def _heading(entry: Entry) -> str:
    return f"## {entry.key} {{ #{_anchor(entry)} }}"


def _relations(page: str, entries: Sequence[Entry], where: Mapping[str, tuple[str, str]]) -> Iterator[str]:
    name = Path(page).stem
    title = f"Marts: {name.removeprefix('marts-')}" if name.startswith("marts-") else f"The schema {name}"
    if name.startswith("marts-"):
        yield from FOUND_FIRST
    yield from (f"# {title}", "")
    yield from (_SCHEMAS.get(name, "What people ask. [Marts by the questions that they answer](../../marts.md)."), "")
    for entry in entries:
        yield from (_heading(entry), "")
        if entry.description:
            yield from (*_separated(paragraphs(entry.description)),)
        if entry.grain:
            yield from (plain(entry.grain), "")
        if entry.badges:
            yield from ("Kind: " + ", ".join(plain(text) for text, _ in entry.badges) + ".", "")
        yield from _columns(entry)
        yield from _lists(page, entry, where)


def _separated(texts: Iterable[str]) -> Iterator[str]:
    for text in texts:
        yield from (text, "")


def _columns(entry: Entry) -> Iterator[str]:
    rows = [(code(each.name), plain(each.description), plain(", ".join(each.tests))) for each in entry.columns]
    yield from table(("column", "", "tests"), rows)


def _lists(page: str, entry: Entry, where: Mapping[str, tuple[str, str]]) -> Iterator[str]:
    if entry.tests:
        yield from ("Tests: " + "; ".join(plain(test) for test in entry.tests) + ".", "")
    if entry.versions:
        yield from (_linked("Versions", [(name, name) for name, _ in entry.versions], page, where), "")
    for label, links in entry.edges:
        if links:
            yield from (_linked(label, links, page, where), "")


def _linked(label: str, links: Iterable[Link], page: str, where: Mapping[str, tuple[str, str]]) -> str:
    return f"{label}: " + ", ".join(_link(text, target, page, where) for text, target in links) + "."


def _link(text: str, target: str, page: str, where: Mapping[str, tuple[str, str]]) -> str:
    if target not in where:
        return code(text)
    to, anchor = where[target]
    if to == page:
        return f"[{code(text)}](#{anchor})"
    up = "../" * page.count("/")
    return f"[{code(text)}]({up}{to}#{anchor})"


def _records(entries: Sequence[Entry], where: Mapping[str, tuple[str, str]]) -> Iterator[str]:
    yield from ("# Landed tables", "")
    yield from (
        "A table of the schema `raw` has a row for each record that a run or an import made. The class of the record "
        "is the schema of its table. Money is USD, null when it is unknown and never 0; times are UTC.",
        "",
    )
    for entry in entries:
        record = TABLES[entry.title]
        hints = typing.get_type_hints(record)
        yield from (_heading(entry), "", *_separated(paragraphs(entry.description)))
        rows = [
            (
                code(each.name),
                code(each.data_type),
                "key" if each.name in record.key else "" if _may_be_null(record, hints, each.name) else "not null",
                plain(each.description),
            )
            for each in entry.columns
        ]
        yield from table(("column", "type", "", ""), rows)
        yield from _lists("records.md", entry, where)


def _may_be_null(record: type[Record], hints: Mapping[str, object], name: str) -> bool:
    """Whether a record may have nothing there, as its type says."""
    hint = hints[name]
    is_optional = typing.get_origin(hint) in (typing.Union, types.UnionType) and type(None) in typing.get_args(hint)
    return is_optional or record.model_fields[name].annotation is typing.Any


def _macros(entries: Sequence[Entry], where: Mapping[str, tuple[str, str]]) -> Iterator[str]:
    yield from ("# Macros", "")
    yield from ("A closed formula over columns, in one place. Any DuckDB client can call it in the warehouse.", "")
    for entry in entries:
        yield from (_heading(entry), "", "```text", entry.title, "```", "")
        yield from _separated(paragraphs(entry.description))
        rows = [(code(name), code(kind) if kind else "", plain(text)) for name, kind, text in entry.arguments]
        yield from table(("argument", "type", ""), rows)
        yield from _lists("sql/macros.md", entry, where)
