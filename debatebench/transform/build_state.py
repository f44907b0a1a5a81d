"""What the warehouse records about its own build: `meta.builds`, fingerprints, and whether anything changed since."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

from debatebench.shared.duckdb_sql import quoted_text, transaction
from debatebench.shared.hashing import hash_of
from debatebench.transform.domain import Domain
from debatebench.transform.project import Project

if TYPE_CHECKING:
    import duckdb


@dataclass(frozen=True, slots=True)
class BuiltModel:
    """One row of `meta.builds`: how a SQL model was built in the warehouse. `rows` is null for a view.

    `landed` is a JSON object, part → hash of the content, of the landed parts that an incremental table was built from.
    """

    name: str
    version: int | None
    materialized: str
    sql_sha256: str
    definition: str
    fingerprint: str
    rows: int | None
    seconds: float
    built_at: datetime | None
    landed: str | None = None


_COLUMNS = {
    "name": "varchar",
    "version": "bigint",
    "materialized": "varchar",
    "sql_sha256": "varchar",
    "definition": "varchar",
    "fingerprint": "varchar",
    "rows": "bigint",
    "seconds": "double",
    "built_at": "timestamp",
    "landed": "varchar",
}


def create_meta_tables(con: duckdb.DuckDBPyConnection) -> None:
    """Create `meta.builds` (one row per SQL model), `meta.macros` (one per macro) and `meta.build_state` (one row when
    everything is up to date).
    """
    con.execute("create schema if not exists meta")
    columns = ", ".join(f"{name} {sql_type}" for name, sql_type in _COLUMNS.items())
    con.execute(f"create table if not exists meta.builds ({columns})")
    # Earlier versions created the table without this column.
    con.execute("alter table meta.builds add column if not exists landed varchar")
    con.execute("create table if not exists meta.build_state (state varchar)")
    con.execute("create table if not exists meta.macros (name varchar, definition varchar)")


def read_builds(con: duckdb.DuckDBPyConnection) -> dict[str, BuiltModel]:
    """Every row of `meta.builds` by name; empty before the first build."""
    if "meta.builds" not in relations(con):
        return {}
    # The columns are in the order of the fields; an earlier version had one column less, a later one may have more.
    return {row[0]: BuiltModel(*row[: len(_COLUMNS)]) for row in con.execute("from meta.builds").fetchall()}


def write_builds(con: duckdb.DuckDBPyConnection, built: Iterable[BuiltModel], state: str | None) -> None:
    """Replace `meta.builds`, and store `state` when everything is up to date (None when it is not)."""
    with transaction(con):
        con.execute("delete from meta.builds")
        rows = sorted(built, key=lambda row: row.name)
        values = [[getattr(row, column) for row in rows] for column in _COLUMNS]
        unnested = ", ".join(f"unnest(?::{sql_type}[])" for sql_type in _COLUMNS.values())
        # A later version may have added columns.
        con.execute(f"insert into meta.builds ({', '.join(_COLUMNS)}) select {unnested}", values)
        con.execute("delete from meta.build_state")
        if state is not None:
            con.execute("insert into meta.build_state (state) values (?)", [state])


def empty_landed(con: duckdb.DuckDBPyConnection) -> set[str]:
    """The landed tables without rows."""
    raw = sorted(name for name in relations(con) if name.startswith("raw."))
    asked = " union all ".join(f"select {quoted_text(name)} where not exists (from {name})" for name in raw)
    return {name for (name,) in con.execute(asked).fetchall()} if raw else set()


def is_current(con: duckdb.DuckDBPyConnection, project: Project) -> bool:
    """Whether a build of `project` would change nothing. Fast, because it parses no files and lists no tables."""
    import duckdb

    try:
        stored = con.execute("select state from meta.build_state").fetchall()
    except duckdb.CatalogException:
        return False
    return stored == [(state_sha256(con, project),)]


def state_sha256(con: duckdb.DuckDBPyConnection, project: Project) -> str:
    """Hash of everything that a build depends on: files, landed data, and this package's code for building."""
    landed = project.domain.landed(con)
    if landed is not None:
        apart = (text for each in _apart_sha256(con, project.domain).items() for text in each)
        return hash_of(inputs_sha256(project), _landed_sha256(landed), *apart)
    data = sorted(data_fingerprints(con, project.domain).items())
    return hash_of(inputs_sha256(project), *(f"{table} {sha256}" for table, sha256 in data))


def inputs_sha256(project: Project) -> str:
    """Hash of everything that a build depends on except landed data: files, and this package's code for building."""
    files = sorted([*Path(__file__).parent.rglob("*.py"), *project.domain.code()])
    code = (part for file in files for part in (file.name, file.read_bytes()))
    return hash_of(project.sha256, hash_of(*code))


def relations(con: duckdb.DuckDBPyConnection) -> dict[str, str]:
    """Dotted name → `table` or `view` of everything in the warehouse, except what is in `main` to help find it."""
    rows = con.execute(
        "select schema_name || '.' || table_name, 'table' from duckdb_tables() "
        "where database_name = current_database() and schema_name <> 'main' union all "
        "select schema_name || '.' || view_name, 'view' from duckdb_views() "
        "where database_name = current_database() and schema_name <> 'main' and not internal"
    ).fetchall()
    return dict(rows)


def data_fingerprints(con: duckdb.DuckDBPyConnection, domain: Domain) -> dict[str, str]:
    """Raw table → hash of what was landed in it.

    Where landings are recorded, all tables share one hash over every part; else it is the number of rows. A table that
    changes apart from landings has a hash of its own.
    """
    raw = [name for name in relations(con) if name.startswith("raw.")]
    landed, apart = domain.landed(con), _apart_sha256(con, domain)
    if landed is not None:
        return {**dict.fromkeys(raw, _landed_sha256(landed)), **apart}
    counts = {name: con.execute(f"select count(*) from {name}").fetchall()[0][0] for name in raw}
    return {**{name: f"{count} rows" for name, count in counts.items()}, **apart}


def _apart_sha256(con: duckdb.DuckDBPyConnection, domain: Domain) -> dict[str, str]:
    """Landed table that changes apart from landings → hash of its rows; empty where an earlier version lacks it."""
    import duckdb

    with suppress(duckdb.CatalogException):
        return {name: hash_of(*map(repr, con.execute(f"from {name} order by all").fetchall())) for name in domain.apart}
    return {}


def _landed_sha256(landed: Mapping[str, str]) -> str:
    """Hash over every part and its content."""
    return hash_of(*(text for each in landed.items() for text in each))


def definitions(project: Project) -> dict[str, str]:
    """SQL model → hash of its definition: its tokens, how it is stored, its contract, its functions, and all upstream.

    A macro belongs to the definition of each SQL model that calls it.
    """
    from debatebench.transform.macros import macro_definitions

    functions = project.domain.functions
    found = {
        name: hash_of(*(f"{column} {landed.data_type}" for column, landed in columns.items()))
        for name, columns in project.domain.tables.items()
    }
    written = macro_definitions(project.macros)
    for name, model in project.models.items():
        config = model.properties.config
        contract = [f"{c.name} {c.data_type}" for c in model.properties.columns] if config.contract.enforced else []
        code = map(functions.fingerprint, functions.python_functions(model.query.functions))
        above = [f"{dependency} {found[dependency]}" for dependency in model.dependencies]
        called = sorted({f"{call.name} {written[call.name]}" for call in model.query.macro_calls})
        found[name] = hash_of(model.query.tokens_sha256, config.materialized, *contract, *code, *called, *above)
    return found


def content_fingerprint(definition: str, upstream: Iterable[str]) -> str:
    """Hash that changes when the rows of a SQL model may have changed."""
    return hash_of(definition, *upstream)
