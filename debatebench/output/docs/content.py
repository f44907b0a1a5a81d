"""The content of the documentation page: every SQL model and landed table with its columns, tests, versions and
lineage, every macro and every singular test.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from typing import TYPE_CHECKING

from debatebench.shared.record_columns import column_types
from debatebench.shared.records import TABLES, Record
from debatebench.transform.lineage.descriptions import Descriptions
from debatebench.transform.lineage.formats import place
from debatebench.transform.lineage.within_query import LineageNode
from debatebench.transform.model_versions import is_prerelease, versions_of

if TYPE_CHECKING:
    from debatebench.transform.lineage.within_query import LineageNode
    from debatebench.transform.project import Project
    from debatebench.transform.properties import ColumnProperties, MacroTest, UnitTest
    from debatebench.transform.sql_model import Query, SqlModel
    from debatebench.transform.testing.generic_tests import GenericTest

_SAFE = re.compile(r"[a-z0-9_.]+")
# Arguments of data tests that are clear without a name.
_PLAIN_ARGUMENTS = {"values", "expression", "combination_of_columns"}
_GRAIN = re.compile(r"\s*--[ \t]*(.+)")


@dataclass(frozen=True, slots=True)
class Link:
    """A name, and the part of the page that describes it."""

    text: str
    href: str


@dataclass(frozen=True, slots=True)
class Span:
    """A piece of a description; `is_code` if it was between backticks."""

    text: str
    is_code: bool


@dataclass(frozen=True, slots=True)
class Badge:
    """A short remark next to a name. `kind` is its colour: `plain` or `warning`."""

    text: str
    kind: str = "plain"


@dataclass(frozen=True, slots=True)
class ColumnDoc:
    """One column: its expression, the steps through CTEs below it, the columns that they read, and where it ends."""

    name: str
    anchor: str
    data_type: str
    description: tuple[Span, ...]
    tests: tuple[str, ...]
    expression: str | None
    steps: tuple[str, ...]
    sources: tuple[Link, ...]
    landed: tuple[Link, ...]
    remark: str


@dataclass(frozen=True, slots=True)
class UnitTestDoc:
    """A unit test by name."""

    name: str
    description: tuple[Span, ...]


@dataclass(frozen=True, slots=True)
class RelationDoc:
    """One SQL model or landed table."""

    name: str
    schema: str
    table: str
    anchor: str
    file: str
    grain: str
    description: tuple[Span, ...]
    badges: tuple[Badge, ...]
    versions: tuple[tuple[Link, tuple[Badge, ...]], ...]
    reads: tuple[Link, ...]
    calls: tuple[Link, ...]
    read_by: tuple[Link, ...]
    columns: tuple[ColumnDoc, ...]
    tests: tuple[str, ...]
    unit_tests: tuple[UnitTestDoc, ...]
    sql: str

    @property
    def search(self) -> str:
        """The words by which the search finds it, in addition to the text of the page."""
        return " ".join([self.name, *(badge.text for badge in self.badges), *(column.name for column in self.columns)])


@dataclass(frozen=True, slots=True)
class MacroDoc:
    """A macro, with its arguments as (name, type, description)."""

    name: str
    signature: str
    anchor: str
    file: str
    description: tuple[Span, ...]
    arguments: tuple[tuple[str, str, tuple[Span, ...]], ...]
    calls: tuple[Link, ...]
    called_by: tuple[Link, ...]
    unit_tests: tuple[UnitTestDoc, ...]
    sql: str


@dataclass(frozen=True, slots=True)
class SingularTestDoc:
    """A query of `sql/tests/` whose rows are failures."""

    name: str
    anchor: str
    file: str
    says: str
    reads: tuple[Link, ...]
    sql: str


def anchor(name: str) -> str:
    """A name as an id on the page: the name itself if it is plain, else its hash."""
    return name if _SAFE.fullmatch(name) else f"x-{hashlib.sha256(name.encode()).hexdigest()[:16]}"


def describe_project(project: Project, today: date) -> list[RelationDoc]:
    """Every landed table and SQL model, each after those that it reads. `today` determines what is deprecated."""
    models, descriptions = project.models, Descriptions(project)
    readers: dict[str, list[str]] = {}
    for name, model in models.items():
        for dependency in model.dependencies:
            readers.setdefault(dependency, []).append(name)
    landed = [_landed_table(f"raw.{table}", record, descriptions, readers) for table, record in TABLES.items()]
    unit_tests: dict[str, list[UnitTestDoc]] = {}
    for located in project.unit_tests:
        unit_tests.setdefault(located.tested, []).append(_unit_test(located.test))
    described = [
        _sql_model(model, models, descriptions, readers, unit_tests.get(name, []), today)
        for name, model in models.items()
    ]
    return [*landed, *described]


def describe_macros(project: Project) -> list[MacroDoc]:
    """The macros, by name."""
    called_by: dict[str, list[str]] = {}
    queries = {name: model.query for name, model in project.models.items()}
    queries |= {name: macro.query for name, macro in project.macros.items()}
    for caller, query in sorted(queries.items()):
        for called in _called(query):
            called_by.setdefault(called, []).append(caller)
    described = []
    for name, macro in sorted(project.macros.items()):
        arguments = {argument.name: argument for argument in macro.properties.arguments}
        known = [arguments[parameter] for parameter in macro.parameters if parameter in arguments]
        described.append(
            MacroDoc(
                name=name,
                signature=macro.signature,
                anchor=anchor(name),
                file=place(macro.file, None),
                description=_spans(macro.properties.description),
                arguments=tuple((each.name, each.type, _spans(each.description)) for each in known),
                calls=_links(_called(macro.query)),
                called_by=_links(called_by.get(name, ())),
                unit_tests=tuple(_unit_test(each.test) for each in project.macro_tests if each.tested == name),
                sql=macro.query.sql,
            )
        )
    return described


def _called(query: Query) -> list[str]:
    return list(dict.fromkeys(call.name for call in query.macro_calls))


def _unit_test(test: UnitTest | MacroTest) -> UnitTestDoc:
    return UnitTestDoc(test.name.replace("_", " "), _spans(test.description))


def describe_tests(project: Project) -> list[SingularTestDoc]:
    """The singular tests."""
    return [
        SingularTestDoc(
            name=test.name.replace("_", " "),
            anchor=anchor(f"tests.{test.name}"),
            file=place(test.file, None),
            says=_grain(test.query.sql),
            reads=_links(reference.name for reference in test.query.references),
            sql=test.query.sql,
        )
        for test in project.singular_tests
    ]


def _landed_table(
    name: str, record: type[Record], descriptions: Descriptions, readers: Mapping[str, Sequence[str]]
) -> RelationDoc:
    columns = tuple(
        ColumnDoc(
            name=column,
            anchor=anchor(f"{name}.{column}"),
            data_type=data_type.lower(),
            description=_spans(descriptions.text(name, column)),
            tests=("key",) if column in record.key else (),
            expression=None,
            steps=(),
            sources=(),
            landed=(),
            remark="landed",
        )
        for column, data_type in column_types(record).items()
    )
    schema, _, table = name.partition(".")
    return RelationDoc(
        name=name,
        schema=schema,
        table=table,
        anchor=anchor(name),
        file="debatebench/shared/records.py",
        grain="",
        description=_spans(" ".join((record.__doc__ or "").split())),
        badges=(Badge("landed table"),),
        versions=(),
        reads=(),
        calls=(),
        read_by=_links(readers.get(name, ())),
        columns=columns,
        tests=(f"unique: {', '.join(record.key)}",),
        unit_tests=(),
        sql="",
    )


def _sql_model(
    model: SqlModel,
    models: Mapping[str, SqlModel],
    descriptions: Descriptions,
    readers: Mapping[str, Sequence[str]],
    unit_tests: Sequence[UnitTestDoc],
    today: date,
) -> RelationDoc:
    versions: tuple[tuple[Link, tuple[Badge, ...]], ...] = ()
    if model.alias_of is not None:
        found = versions_of(models, model.name)[1].values()
        versions = tuple((_link(each.name), _version_badges(each, today)) for each in found)
    described = {column.name.lower(): column for column in model.properties.columns}
    names = dict.fromkeys([*descriptions.lineage.columns(model.name), *described])
    return RelationDoc(
        name=model.name,
        schema=model.schema,
        table=model.name.partition(".")[2],
        anchor=anchor(model.name),
        file=place(model.file, None),
        grain="" if model.alias_of else _grain(model.query.sql),
        description=_spans(model.properties.description),
        badges=_badges(model, today),
        versions=versions,
        reads=_links(model.dependencies),
        calls=_links(_called(model.query)),
        read_by=_links(readers.get(model.name, ())),
        columns=tuple(_column(model.name, name, described.get(name), descriptions) for name in names),
        tests=tuple(_test_words(test) for test in model.properties.data_tests),
        unit_tests=tuple(unit_tests),
        sql="" if model.alias_of else model.query.sql,
    )


def _badges(model: SqlModel, today: date) -> tuple[Badge, ...]:
    config = model.properties.config
    badges = [Badge(model.materialized)]
    if model.alias_of is not None:
        badges = [Badge(f"latest version: {model.properties.latest}")]
    if model.version is not None:
        badges.append(Badge(f"version {model.version}"))
    if config.incremental_by is not None:
        badges.append(Badge(f"incremental by {config.incremental_by}"))
    if config.contract.enforced:
        badges.append(Badge("contract"))
    badges += [Badge(f"tag: {tag}") for tag in config.tags]
    return (*badges, *_version_badges(model, today))


def _version_badges(model: SqlModel, today: date) -> tuple[Badge, ...]:
    """Latest, prerelease, deprecated."""
    badges = []
    if model.version is not None and model.version == model.properties.latest:
        badges.append(Badge("latest"))
    if is_prerelease(model):
        badges.append(Badge("prerelease", "warning"))
    deprecated = model.properties.deprecation_date
    if deprecated is not None:
        words = "deprecated since" if deprecated <= today else "to be deprecated on"
        badges.append(Badge(f"{words} {deprecated}", "warning"))
    return tuple(badges)


def _column(relation: str, name: str, described: ColumnProperties | None, descriptions: Descriptions) -> ColumnDoc:
    node = descriptions.lineage.column(relation, name)
    landed = [each for each in node.nodes() if each.is_in_raw]
    sources = list(dict.fromkeys(link for each in node.upstream for link in _nearest(each)))
    return ColumnDoc(
        name=name,
        anchor=anchor(f"{relation}.{name}"),
        data_type=(described.data_type or "") if described else "",
        description=_spans(descriptions.text(relation, name)),
        tests=tuple(_test_words(test) for test in described.data_tests) if described else (),
        # For a column that is only passed on under its own name, the link next to it is enough.
        expression=None if (node.expression or "").rpartition(".")[2] == name else node.expression,
        steps=tuple(f"{step.name} = {step.expression}" for step in _steps(node)),
        sources=tuple(sources),
        landed=tuple(dict.fromkeys(_node_link(each) for each in landed if _node_link(each) not in sources)),
        remark=_remark(node),
    )


def _remark(node: LineageNode) -> str:
    """That a column is a constant, or where its way down is lost and why."""
    lost = next((each for each in node.nodes() if each.problem), None)
    if lost is None:
        return "constant" if node.is_constant else ""
    place = f" beyond {lost.name}" if lost is not node else f" (line {lost.line})" if lost.line else ""
    return f"cannot be traced{place}: {lost.problem}"


def _steps(node: LineageNode) -> list[LineageNode]:
    """The CTEs between a column and the relations that its SQL model reads."""
    return [each for each in node.nodes() if each.kind == "cte" and each.relation == node.relation]


def _nearest(node: LineageNode) -> list[Link]:
    """The columns of other relations that a step leads to, skipping the CTEs between them."""
    if node.kind != "cte":
        return [_node_link(node)]
    return [link for above in node.upstream for link in _nearest(above)]


def _node_link(node: LineageNode) -> Link:
    return Link(node.name, "#" + anchor(node.relation if node.kind == "rows" else node.name))


def _link(name: str) -> Link:
    return Link(name, "#" + anchor(name))


def _links(names: Iterable[str]) -> tuple[Link, ...]:
    return tuple(_link(name) for name in names)


def _grain(sql: str) -> str:
    """The text of the first line, if it is a comment."""
    match = _GRAIN.match(sql)
    return match[1].strip() if match else ""


def _spans(text: str) -> tuple[Span, ...]:
    """Text with `code` between backticks, in pieces; an unpaired backtick is an ordinary character."""
    parts = " ".join(text.split()).split("`")
    if len(parts) % 2 == 0:
        return (Span(" ".join(text.split()), False),)
    return tuple(Span(part, number % 2 == 1) for number, part in enumerate(parts) if part)


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
    return ", ".join(map(str, value)) if isinstance(value, list | tuple) else str(value)
