"""The blank: the packaged SQL models built before anything has landed, kept as a file in the user's cache.

DuckDB plans the query of a view, and those of all views below it, to create it, and takes as long for a comment as for
a small query. A first build spends most of its time on that, although it comes to the same definitions every time. To
copy them from a file takes a hundredth of it. The blank holds definitions and what the package contains, nothing of a
workspace. It is never necessary: without a cache, a first build creates everything itself.
"""

from __future__ import annotations

import hashlib
import os
import stat
from collections.abc import Mapping
from contextlib import suppress
from importlib.metadata import version
from pathlib import Path

import duckdb

from debatebench.landing import land, run_marks
from debatebench.landing.land import create_landings, create_raw_tables
from debatebench.query.sql_project import load_project
from debatebench.shared.duckdb_sql import close_to_outside, quoted_identifier, quoted_text, transaction
from debatebench.shared.errors import SqlModelError
from debatebench.shared.files import replacing_file
from debatebench.shared.hashing import hash_of
from debatebench.shared.workspace import Workspace
from debatebench.transform.build import build
from debatebench.transform.build_state import inputs_sha256, read_builds
from debatebench.transform.comments import comments_on
from debatebench.transform.project import Project
from debatebench.transform.short_names import stored_short_names
from debatebench.transform.sql_model import MACROS
from debatebench.warehouse import publish
from debatebench.warehouse.publish import opened_for_building

_ATTACHED = "blank"
_LANDINGS = "meta.landings"
# What builds write beside SQL models, apart from the schema `meta`.
_CATALOGUE = ("main.schemas", "main.sql_models")
# Those of earlier versions and of other checkouts; each has a few megabytes.
_KEPT = 4


def begin_from_blank(con: duckdb.DuckDBPyConnection) -> None:
    """Give a database in which nothing was ever built the packaged SQL models, as a build without landed rows would.

    The build that follows fills their tables. It changes nothing if other relations than landed ones are there, or if
    the cache cannot be used.
    """
    found = con.execute(
        "select schema_name, table_name from duckdb_tables() where database_name = current_database() union all "
        "select schema_name, view_name from duckdb_views() where database_name = current_database() and not internal"
    ).fetchall()
    if any(schema != "raw" and f"{schema}.{name}" != _LANDINGS for schema, name in found):
        return
    blank = _blank(cache_folder(os.environ))
    if blank is None:
        return
    ((database,),) = con.execute("select current_database()").fetchall()
    con.execute(f"attach {quoted_text(str(blank))} as {_ATTACHED} (read_only)")
    con.execute("begin")
    try:
        con.execute(f'copy from database {_ATTACHED} to "{database}"')
        statements = con.execute(
            f"select statement from main.landed_comments where relation <> {quoted_text(_LANDINGS)} or ?",
            [tuple(_LANDINGS.split(".")) in found],
        ).fetchall()
        con.execute(";\n".join(statement for (statement,) in statements))
        con.execute("drop table main.landed_comments")
        con.execute("commit")
    except duckdb.Error:
        con.execute("rollback")
    finally:
        con.execute(f"detach {_ATTACHED}")


def forget_built(con: duckdb.DuckDBPyConnection) -> bool:
    """Drop all that builds have made; returns whether nothing but what has landed is left.

    It drops nothing if the file has relations or macros of someone else, which a first build would have to spare.
    """
    short, builds = stored_short_names(con), read_builds(con)
    made = {f"main.{name}" for name in short} | builds.keys() | set(_CATALOGUE)
    others = con.execute(
        "select schema_name || '.' || table_name from duckdb_tables() where database_name = current_database() "
        "and schema_name not in ('raw', 'meta') union all "
        "select schema_name || '.' || view_name from duckdb_views() where database_name = current_database() "
        "and schema_name <> 'raw' and not internal union all "
        "select function_name from duckdb_functions() where database_name = current_database() "
        f"and schema_name <> '{MACROS}' and not internal"
    ).fetchall()
    if not builds or any(name not in made for (name,) in others):
        return False
    tables = con.execute(
        "select schema_name || '.' || table_name from duckdb_tables() where database_name = current_database() "
        "and schema_name = 'meta'"
    ).fetchall()
    schemas = {name.partition(".")[0] for name in builds} | {MACROS}
    statements = [f"drop schema if exists {schema} cascade" for schema in sorted(schemas)]
    statements += [f"drop view main.{quoted_identifier(name)}" for name in short]
    statements += [f"drop table if exists {name}" for name in _CATALOGUE]
    statements += [f"drop table {name}" for (name,) in tables if name != _LANDINGS]
    with transaction(con):
        con.execute("; ".join(statements))
    return True


def cache_folder(environ: Mapping[str, str]) -> Path:
    """The folder of blanks, in `XDG_CACHE_HOME`, by default `~/.cache`."""
    cache = environ.get("XDG_CACHE_HOME", "")
    # The XDG base directory specification says to ignore a relative path.
    return (Path(cache) if os.path.isabs(cache) else Path.home() / ".cache") / "debatebench"


def _blank(folder: Path) -> Path | None:
    """The blank of this version, made if it is not there; None if the folder cannot be used."""
    with suppress(OSError, RuntimeError, duckdb.Error, SqlModelError):
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        if not _is_private(folder):
            return None
        key = _key()
        return _sound(folder, key) or _made(folder, key)
    return None


def _is_private(path: Path) -> bool:
    """Whether nobody else can write it: what lies there is SQL that would become part of a warehouse."""
    found = path.stat()
    return found.st_uid == os.geteuid() and not found.st_mode & (stat.S_IWGRP | stat.S_IWOTH)


def _key() -> str:
    """What the content of a blank depends on: the packaged SQL models, the code that builds, and DuckDB."""
    code = (Path(str(module.__file__)).read_bytes() for module in (land, run_marks, publish))
    own = Path(__file__).read_bytes()
    return hash_of(inputs_sha256(_packaged()), version("duckdb"), version("sqlglot"), own, *code)[:32]


def _packaged() -> Project:
    return load_project(Workspace(Path(os.devnull)).files("sql", "**/*"))


def _sound(folder: Path, key: str) -> Path | None:
    """The blank with this key, if it is as it was written: its name says the hash of its bytes."""
    for path in folder.glob(f"{key}-*.duckdb"):
        if _is_private(path) and path.stem.partition("-")[2] == _sha256(path):
            with suppress(OSError):
                os.utime(path)
            return path
        path.unlink()
    return None


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()[:32]


def _made(folder: Path, key: str) -> Path:
    """Make the blank with this key, and remove those that have not been used for longest."""
    made = folder / f"{key}.making-{os.getpid()}"
    with replacing_file(made, is_durable=False) as new:
        with opened_for_building(new) as con:
            _fill(con)
            con.execute("checkpoint")
        new.chmod(0o600)
    blank = folder / f"{key}-{_sha256(made)}.duckdb"
    made.rename(blank)
    for old in sorted(folder.glob("*-*.duckdb"), key=lambda path: path.stat().st_mtime)[:-_KEPT]:
        old.unlink(missing_ok=True)
    return blank


def _fill(con: duckdb.DuckDBPyConnection) -> None:
    """Build the packaged SQL models; of what is landed, only the statements of its comments stay."""
    create_raw_tables(con)
    create_landings(con)
    close_to_outside(con)
    build(con, _packaged())
    con.execute("create table main.landed_comments (relation varchar, statement varchar)")
    for relation, statement in comments_on(con, lambda name: name == _LANDINGS or name.startswith("raw.")):
        con.execute("insert into main.landed_comments values (?, ?)", [relation, statement])
    con.execute(f"drop schema raw cascade; drop table {_LANDINGS}; update meta.build_state set state = 'blank'")
