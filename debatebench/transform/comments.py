"""Texts inside the file: every relation, column and macro has its description as a comment, as with dbt's persist_docs.

DuckDB cannot comment a schema, so the table `main.schemas` says what each one holds.

Only what has another text than before is commented. A table that is created again loses its comments, and gets the same
ones again; texts are worked out from the files only if a file has changed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, NamedTuple

from debatebench.shared.duckdb_sql import quoted_identifier, quoted_text, transaction
from debatebench.transform.build_state import inputs_sha256
from debatebench.transform.macros import Macro
from debatebench.transform.project import Project
from debatebench.transform.short_names import short_names
from debatebench.transform.sql_model import SqlModel
from debatebench.transform.workers import connection_beside

if TYPE_CHECKING:
    import duckdb

    Texts = dict[tuple[str, str], str]
    """(dotted name, column or an empty text) → text."""

_RELATIONS = """
    select 'table' as kind, schema_name, table_name, '' as column_name, comment from duckdb_tables()
    where database_name = current_database()
    union all
    select 'view', schema_name, view_name, '', comment from duckdb_views()
    where database_name = current_database() and not internal
    union all
    select 'column', schema_name, table_name, column_name, comment from duckdb_columns()
    where database_name = current_database() and not internal
    """
# This lists thousands of functions, which takes longer than all the rest.
_MACROS = """
    select 'macro', schema_name, function_name, '', comment from duckdb_functions()
    where database_name = current_database() and function_type = 'macro' and not internal
    """

_WRITERS = 2


class _Thing(NamedTuple):
    """What can have a comment."""

    kind: str
    schema: str
    name: str
    column: str

    @property
    def key(self) -> tuple[str, str]:
        return f"{self.schema}.{self.name}".lower(), self.column.lower()

    @property
    def dotted(self) -> str:
        """Its name as text."""
        return ".".join(self[1:]).lower()

    def statement(self, text: str | None) -> str:
        """The statement that sets its comment, or removes it."""
        parts = [self.schema, self.name, *([self.column] if self.kind == "column" else [])]
        named = ".".join(map(quoted_identifier, parts))
        return f"comment on {self.kind} {named} is {'null' if text is None else quoted_text(text)}"


@contextmanager
def commented(con: duckdb.DuckDBPyConnection, project: Project) -> Iterator[None]:
    """After the block, which builds, everything in the warehouse has its text as a comment.

    `con` is without a transaction. After an error in the block, comments are missing until the next build.
    """
    sha256 = inputs_sha256(project)
    con.execute(
        "create table if not exists meta.comments (sha256 varchar, without_text varchar[]); "
        "alter table meta.comments add column if not exists without_text varchar[]"
    )
    stored = dict(con.execute("select sha256, without_text from meta.comments").fetchall())
    is_current = stored.get(sha256) is not None
    # What these files have no text for.
    without: list[str] = stored.get(sha256) or []
    before = _stored(con, _RELATIONS) if is_current else {}
    con.execute("delete from meta.comments")
    # DuckDB leaves a processor idle for much of a build.
    with ThreadPoolExecutor(1) as pool:
        found = None if is_current else pool.submit(texts_of, project, sha256)
        yield
        if is_current:
            lost = _stored(con, f"from ({_RELATIONS}) where comment is null")
            # What is new has none yet, also what was created between two builds.
            if any(before.get(thing) is None and thing.dotted not in without for thing in lost):
                found = pool.submit(texts_of, project, sha256)
        if found is None:
            changed = {thing: before[thing] for thing in lost if thing.dotted not in without}
        else:
            known = found.result()
            _write_schemas(con, project)
            there = _stored(con, f"{_RELATIONS} union all {_MACROS}")
            changed = {thing: known.get(thing.key) for thing in there if known.get(thing.key) != there[thing]}
            without = [thing.dotted for thing in there if thing.key not in known]
    _comment(con, changed)
    con.execute("insert into meta.comments values (?, ?)", [sha256, without])


def _comment(con: duckdb.DuckDBPyConnection, texts: Mapping[_Thing, str | None]) -> None:
    """Set these comments. DuckDB takes as long for each as for a small query, so there are two connections at work."""
    # Two transactions cannot change one relation.
    by_relation: dict[tuple[str, str], list[str]] = {}
    for thing, text in texts.items():
        by_relation.setdefault((thing.schema, thing.name), []).append(thing.statement(text))
    groups = list(by_relation.values())
    parts = [[statement for group in groups[start::_WRITERS] for statement in group] for start in range(_WRITERS)]
    parts = [part for part in parts if part]

    def write(own: duckdb.DuckDBPyConnection, statements: list[str]) -> None:
        with transaction(own):
            own.execute(";\n".join(statements))

    with ExitStack() as stack:
        connections = [stack.enter_context(connection_beside(con)) for _ in parts]
        pool = stack.enter_context(ThreadPoolExecutor(_WRITERS))
        list(pool.map(write, connections, parts))


def _stored(con: duckdb.DuckDBPyConnection, query: str) -> dict[_Thing, str | None]:
    """Each thing that the query returns, with its comment."""
    return {_Thing(*names): comment for *names, comment in con.execute(query).fetchall()}


def stored_texts(con: duckdb.DuckDBPyConnection) -> Texts:
    """The comments of the relations of the current database and of their columns, as they are in the file."""
    return {thing.key: text for thing, text in _stored(con, _RELATIONS).items() if text is not None}


def comments_on(con: duckdb.DuckDBPyConnection, is_chosen: Callable[[str], bool]) -> list[tuple[str, str]]:
    """(dotted name, statement) for each comment of the chosen relations and of their columns."""
    found = _stored(con, _RELATIONS).items()
    return [
        (thing.key[0], thing.statement(text)) for thing, text in found if text is not None and is_chosen(thing.key[0])
    ]


def set_texts(con: duckdb.DuckDBPyConnection, known: Texts) -> None:
    """Comment the relations of the current database, and their columns, with those of these texts that are theirs."""
    found = {thing: known[thing.key] for thing in _stored(con, _RELATIONS) if thing.key in known}
    con.execute(";\n".join(thing.statement(text) for thing, text in found.items()))


def _write_schemas(con: duckdb.DuckDBPyConnection, project: Project) -> None:
    """Create `main.schemas`: one row per schema, and what it holds."""
    con.execute("create or replace table main.schemas (schema_name varchar, description varchar)")
    rows = con.execute(
        "select schema_name from duckdb_schemas() where database_name = current_database() "
        "and (not internal or schema_name = 'main') order by 1"
    ).fetchall()
    known = {name: " ".join(schema.description.split()) for name, schema in project.schemas.items()}
    said = {name: known.get(name.lower(), f"SQL models of the folder sql/{name}.") for (name,) in rows}
    con.execute(
        "insert into main.schemas select unnest(?::varchar[]), unnest(?::varchar[])", [[*said], [*said.values()]]
    )


# Of the project that was asked for last, for processes that build it again: its hash → its texts.
_known: dict[str, Texts] = {}


def texts_of(project: Project, sha256: str) -> Texts:
    """The texts of the project with this `inputs_sha256`, worked out once."""
    known = _known.get(sha256)
    if known is None:
        known = texts(project)
        _known.clear()
        _known[sha256] = known
    return known


def texts(project: Project) -> Texts:
    """The text of every SQL model, landed table, macro and record, and of every column that has one."""
    from debatebench.transform.lineage.descriptions import descriptions_of

    descriptions, domain = descriptions_of(project), project.domain
    found: Texts = {(name, ""): _of_model(model, project.models) for name, model in project.models.items()}
    found |= {(name, ""): domain.descriptions[name] for name in domain.tables}
    for name, _ in [*found]:
        found |= {(name, column): descriptions.text(name, column) for column in descriptions.columns(name)}
    for schema, properties in project.schemas.items():
        for table in properties.tables:
            found[f"{schema}.{table.name}".lower(), ""] = table.description
            found |= {(f"{schema}.{table.name}".lower(), each.name.lower()): each.description for each in table.columns}
    found |= {(name, ""): _of_macro(macro) for name, macro in project.macros.items()}
    shorts = {name: short for short, name in short_names(project).items()}
    found |= {(f"main.{shorts[name]}", column): text for (name, column), text in found.items() if name in shorts}
    return {key: " ".join(text.split()) for key, text in found.items() if text}


def _of_model(model: SqlModel, models: dict[str, SqlModel]) -> str:
    """What a SQL model says, what its rows are, and which version it is."""
    latest = f"{model.schema}.{model.base_name}_v{model.properties.latest}"
    is_versioned = model.alias_of is not None or model.version is not None
    grain = models[model.alias_of].grain if model.alias_of else model.grain
    version = f"The latest version is `{latest}`." if is_versioned and model.name != latest else ""
    return f"{model.properties.description} {grain} {version}"


def _of_macro(macro: Macro) -> str:
    """What a macro says, and its arguments."""
    listed = "; ".join(f"`{each.name}`: {each.description.rstrip('.')}" for each in macro.properties.arguments)
    return f"{macro.properties.description} {f'Arguments: {listed}.' if listed else ''}"
