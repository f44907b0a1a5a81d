"""The content of the documentation page: every SQL model, landed table, macro and singular test as one entry each."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from typing import TYPE_CHECKING

from debatebench.shared.activity import each_of
from debatebench.shared.record_columns import column_types
from debatebench.shared.records import TABLES, Record
from debatebench.shared.visible_text import shortened
from debatebench.transform.lineage.column_lineage import Lineage
from debatebench.transform.lineage.descriptions import Descriptions, descriptions_of
from debatebench.transform.lineage.formats import place
from debatebench.transform.lineage.within_query import LineageNode
from debatebench.transform.model_versions import is_prerelease, versions_of
from debatebench.transform.project import Project
from debatebench.transform.sql_model import Query, SqlModel, first_comment
from debatebench.transform.testing.generic_tests import GenericTest

if TYPE_CHECKING:
    from debatebench.transform.properties import ColumnProperties, MacroTest, UnitTest

Link = tuple[str, str]
"""The text of a link, and the name of what it leads to."""
Badge = tuple[str, str]
"""A short remark next to a name, and its colour: `plain` or `warning`."""

_SAFE = re.compile(r"[a-z0-9_.]+")
# Arguments of data tests that are clear without a name.
_PLAIN_ARGUMENTS = {"values", "expression", "combination_of_columns"}
# Of a CSV file.
_SHOWN_LINES, _LONGEST_LINE = 20, 200


@dataclass(frozen=True, slots=True)
class Column:
    """One column: its expression, the steps through CTEs below it, the columns that they read, and where it ends."""

    name: str
    data_type: str
    description: str
    tests: tuple[str, ...] = ()
    expression: str | None = None
    steps: tuple[str, ...] = ()
    sources: tuple[Link, ...] = ()
    landed: tuple[Link, ...] = ()
    remark: str = ""


@dataclass(frozen=True, slots=True)
class Entry:
    """A SQL model, seed or landed table of the schema `group`, or one of the `macros` or `tests`.

    `key` is the name by which links find it. `edges` are lists of links with a label, `arguments` and `unit_tests`
    have a description each.
    """

    group: str
    key: str
    title: str
    file: str
    description: str = ""
    grain: str = ""
    badges: tuple[Badge, ...] = ()
    versions: tuple[tuple[str, tuple[Badge, ...]], ...] = ()
    edges: tuple[tuple[str, tuple[Link, ...]], ...] = ()
    arguments: tuple[tuple[str, str, str], ...] = ()
    columns: tuple[Column, ...] = ()
    tests: tuple[str, ...] = ()
    unit_tests: tuple[tuple[str, str], ...] = ()
    sql: str = ""

    @property
    def search(self) -> str:
        """The words by which the search finds it, in addition to the text of the page."""
        return " ".join([self.key, *(text for text, _ in self.badges), *(column.name for column in self.columns)])

    @property
    def reads(self) -> list[str]:
        """The names of what it reads."""
        return [target for label, links in self.edges if label == "Reads" for _, target in links]


def anchor(name: str) -> str:
    """A name as an id on the page: the name itself if it is plain, else its hash."""
    return name if _SAFE.fullmatch(name) else f"x-{hashlib.sha256(name.encode()).hexdigest()[:16]}"


def spans(text: str) -> list[tuple[str, bool]]:
    """Text in pieces, and whether each is code, between backticks; an unpaired backtick is an ordinary character."""
    plain = " ".join(text.split())
    parts = plain.split("`")
    return (
        [(part, number % 2 == 1) for number, part in enumerate(parts) if part] if len(parts) % 2 else [(plain, False)]
    )


def describe_relations(project: Project, today: date) -> list[Entry]:
    """Every landed table and SQL model, each after those that it reads. `today` determines what is deprecated."""
    models, descriptions, lineage = project.models, descriptions_of(project), Lineage(project)
    readers = _reversed({name: model.dependencies for name, model in models.items()})
    unit_tests: dict[str, list[UnitTest]] = {}
    for located in project.unit_tests:
        unit_tests.setdefault(located.tested, []).append(located.test)
    landed = [_landed_table(f"raw.{table}", record, descriptions, readers) for table, record in TABLES.items()]
    described = [
        _sql_model(model, models, descriptions, lineage, readers, unit_tests.get(name, []), today)
        for name, model in each_of("Describing SQL models", models.items())
    ]
    return [*landed, *described]


def describe_macros(project: Project) -> list[Entry]:
    """The macros, by name."""
    calls = {name: _called(model.query) for name, model in project.models.items()}
    calls |= {name: _called(macro.query) for name, macro in project.macros.items()}
    called_by = _reversed(dict(sorted(calls.items())))
    described = []
    for name, macro in sorted(project.macros.items()):
        arguments = {argument.name: argument for argument in macro.properties.arguments}
        known = [arguments[parameter] for parameter in macro.parameters if parameter in arguments]
        described.append(
            Entry(
                group="macros",
                key=name,
                title=macro.signature,
                file=place(macro.file, None),
                description=macro.properties.description,
                edges=(*_edges(Calls=calls[name]), ("Called by", _links(called_by.get(name, ())))),
                arguments=tuple((each.name, each.type, each.description) for each in known),
                unit_tests=_unit_tests(each.test for each in project.macro_tests if each.tested == name),
                sql=macro.query.sql.strip(),
            )
        )
    return described


def describe_tests(project: Project) -> list[Entry]:
    """The singular tests: queries whose rows are failures."""
    return [
        Entry(
            group="tests",
            key=f"tests.{test.name}",
            title=test.name.replace("_", " "),
            file=place(test.file, None),
            description=first_comment(test.query.sql),
            edges=_edges(Reads=[reference.name for reference in test.query.references]),
            sql=test.query.sql,
        )
        for test in project.singular_tests
    ]


def _landed_table(
    name: str, record: type[Record], descriptions: Descriptions, readers: Mapping[str, Sequence[str]]
) -> Entry:
    columns = tuple(
        Column(column, data_type.lower(), descriptions.text(name, column), ("key",) if column in record.key else ())
        for column, data_type in column_types(record).items()
    )
    return Entry(
        group="raw",
        key=name,
        title=name.partition(".")[2],
        file="debatebench/shared/records.py",
        description=record.__doc__ or "",
        badges=(("landed table", "plain"),),
        edges=(("Read by", _links(readers.get(name, ()))),),
        columns=columns,
        tests=(f"unique: {', '.join(record.key)}",),
    )


def _sql_model(
    model: SqlModel,
    models: Mapping[str, SqlModel],
    descriptions: Descriptions,
    lineage: Lineage,
    readers: Mapping[str, Sequence[str]],
    unit_tests: Iterable[UnitTest],
    today: date,
) -> Entry:
    is_alias = model.alias_of is not None
    versions = versions_of(models, model.name)[1].values() if is_alias else ()
    described = {column.name.lower(): column for column in model.properties.columns}
    names = dict.fromkeys([*lineage.columns(model.name), *described])
    return Entry(
        group=model.schema,
        key=model.name,
        title=model.name.partition(".")[2],
        file=place(model.file, None),
        description=model.properties.description,
        grain=model.grain,
        badges=tuple(_badges(model, today)),
        versions=tuple((each.name, tuple(_version_badges(each, today))) for each in versions),
        edges=(
            *_edges(Reads=model.dependencies, Calls=_called(model.query)),
            ("Read by", _links(readers.get(model.name, ()))),
        ),
        columns=tuple(
            _column(lineage.column(model.name, name), name, described.get(name), descriptions) for name in names
        ),
        tests=tuple(_test_words(test) for test in model.properties.data_tests),
        unit_tests=_unit_tests(unit_tests),
        sql="" if is_alias else _shown_sql(model),
    )


def _shown_sql(model: SqlModel) -> str:
    """The SQL; of a CSV file, the first lines and how many more there are."""
    if model.seed is None:
        return model.query.sql
    lines = model.query.sql.splitlines()
    more = [f"… {len(lines) - _SHOWN_LINES:,} more lines"] if len(lines) > _SHOWN_LINES else []
    return "\n".join([*(shortened(line, _LONGEST_LINE) for line in lines[:_SHOWN_LINES]), *more])


def _badges(model: SqlModel, today: date) -> Iterator[Badge]:
    config = model.properties.config
    is_alias = model.alias_of is not None
    stored = "seed" if model.seed is not None else model.materialized
    yield f"latest version: {model.properties.latest}" if is_alias else stored, "plain"
    if model.version is not None:
        yield f"version {model.version}", "plain"
    if config.incremental_by is not None:
        yield f"incremental by {config.incremental_by}", "plain"
    if config.contract.enforced:
        yield "contract", "plain"
    yield from ((f"tag: {tag}", "plain") for tag in config.tags)
    yield from _version_badges(model, today)


def _version_badges(model: SqlModel, today: date) -> Iterator[Badge]:
    """Latest, prerelease, deprecated."""
    if model.version is not None and model.version == model.properties.latest:
        yield "latest", "plain"
    if is_prerelease(model):
        yield "prerelease", "warning"
    deprecated = model.properties.deprecation_date
    if deprecated is not None:
        yield f"{'deprecated since' if deprecated <= today else 'to be deprecated on'} {deprecated}", "warning"


def _column(node: LineageNode, name: str, described: ColumnProperties | None, descriptions: Descriptions) -> Column:
    sources = dict.fromkeys(link for each in node.upstream for link in _nearest(each))
    landed = dict.fromkeys(_node_link(each) for each in node.nodes() if each.is_source)
    # The CTEs between a column and the relations that its SQL model reads.
    steps = [each for each in node.nodes() if each.kind == "cte" and each.relation == node.relation]
    return Column(
        name=name,
        data_type=(described.data_type or "") if described else "",
        description=descriptions.text(node.relation, name),
        tests=tuple(_test_words(test) for test in described.data_tests) if described else (),
        # For a column that is only passed on under its own name, the link next to it is enough.
        expression=None if (node.expression or "").rpartition(".")[2] == name else node.expression,
        steps=tuple(f"{step.name} = {step.expression}" for step in steps),
        sources=tuple(sources),
        landed=tuple(link for link in landed if link not in sources),
        remark=_remark(node),
    )


def _remark(node: LineageNode) -> str:
    """That a column is a constant, or where its way down is lost and why."""
    lost = next((each for each in node.nodes() if each.problem), None)
    if lost is None:
        return "constant" if node.is_constant else ""
    place = f" beyond {lost.name}" if lost is not node else f" (line {lost.line})" if lost.line else ""
    return f"cannot be traced{place}: {lost.problem}"


def _nearest(node: LineageNode) -> list[Link]:
    """The columns of other relations that a step leads to, skipping the CTEs between them."""
    if node.kind != "cte":
        return [_node_link(node)]
    return [link for above in node.upstream for link in _nearest(above)]


def _node_link(node: LineageNode) -> Link:
    return node.name, node.relation if node.kind == "rows" else node.name


def _links(names: Iterable[str]) -> tuple[Link, ...]:
    return tuple((name, name) for name in names)


def _edges(**names: Iterable[str]) -> tuple[tuple[str, tuple[Link, ...]], ...]:
    """The lists of links that are not empty."""
    return tuple((label, links) for label, each in names.items() if (links := _links(each)))


def _reversed(graph: Mapping[str, Iterable[str]]) -> dict[str, list[str]]:
    """Name → the names that lead to it."""
    found: dict[str, list[str]] = {}
    for name, targets in graph.items():
        for target in targets:
            found.setdefault(target, []).append(name)
    return found


def _called(query: Query) -> list[str]:
    return list(dict.fromkeys(call.name for call in query.macro_calls))


def _unit_tests(tests: Iterable[UnitTest | MacroTest]) -> tuple[tuple[str, str], ...]:
    return tuple((test.name.replace("_", " "), test.description) for test in tests)


def _test_words(test: GenericTest) -> str:
    """A data test in words: `accepted_values: pro, con, tie`."""
    arguments = test.model_dump(exclude_defaults=True, exclude={"name", "severity", "where"}, by_alias=True)
    words = "; ".join(
        _words(value) if name in _PLAIN_ARGUMENTS else f"{name} {_words(value)}" for name, value in arguments.items()
    )
    only = f" where {test.where}" if test.where else ""
    warning = " (warning)" if test.severity == "warn" else ""
    return f"{test.kind}{': ' + words if words else ''}{only}{warning}"


def _words(value: object) -> str:
    return ", ".join(map(str, value)) if isinstance(value, list | tuple | dict) else str(value)
