"""The SQL console: a page on which readers query the marts themselves, by DuckDB in their browser.

DuckDB-WASM is not part of debatebench, because it has 34 MB. It comes from an installation by npm, of one version
whose files have known checksums. From a folder (`file://`) a page can fetch nothing and start no worker from a file. So
the engine, its worker and the database are data of the site, and `reports/console/console.js` starts a worker from a
blob.
"""

from __future__ import annotations

import hashlib
import shutil
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import NamedTuple

import duckdb

from debatebench.output.report.data_files import bytes_script, data_path, packed
from debatebench.output.report.downloads import OF_RUNS, of_runs
from debatebench.output.report.html import render
from debatebench.output.report.subjects import Site
from debatebench.query.run_tags import landed_tags
from debatebench.query.safe_query import run_query
from debatebench.shared.activity import each_of
from debatebench.shared.duckdb_sql import NO_EXTENSIONS, quoted_identifier, quoted_text
from debatebench.shared.errors import UsageError
from debatebench.shared.version import __version__

PAGE = "sql.html"
_OWN_FILES = ("console.js", "console.css", "duckdb.LICENSE.txt")
WASM_VERSION = "1.32.0"
_ARROW_VERSION = "17.0.0"
PACKAGES = f"@duckdb/duckdb-wasm@{WASM_VERSION} apache-arrow@{_ARROW_VERSION}"
_WASM, _ARROW = "@duckdb/duckdb-wasm/dist", "apache-arrow"
# The file of each part in node_modules, and its SHA-256.
_PARTS = {
    "engine": (f"{_WASM}/duckdb-eh.wasm", "4c221bfa59c11f24dbd750e70c90b9252eca6eec5633936e6a2ec766e55fd879"),
    "worker": (
        f"{_WASM}/duckdb-browser-eh.worker.js",
        "f8ab72b6b90b3ad83077d47426d4a99d5d9a4c7e07cba1a2be37d655adc7c1ab",
    ),
    "client": (f"{_WASM}/duckdb-browser.cjs", "bf86743bc168edcb6b3dea652a0bb08608ed983473e46f8825aa0762cac5e10b"),
    "arrow": (f"{_ARROW}/Arrow.es2015.min.js", "375fb7c891e25677c021e585d4ec51a5752112b182f41d51071b8401e590379e"),
}
_AS_SCRIPT = (
    b'"use strict";\nvar duckdb = ((require) => {\nconst module = { exports: {} };\n',
    b"\nreturn module.exports;\n})(() => Arrow);\n",
)
_LICENCES = {"apache-arrow": f"{_ARROW}/LICENSE.txt", "apache-arrow-notice": f"{_ARROW}/NOTICE.txt"}
# The engine's DuckDB is older than the one that writes the file.
_STORAGE_VERSION = "v1.2.0"
# A database may not have the name of one of its schemas.
_DATABASE = "debatebench"
_SCHEMAS = ("marts", "ratings", "original")
# With the usual quarter of a megabyte per block, more than a hundred small tables take twenty megabytes.
_BLOCK_SIZE = 16384

_RELATIONS = """
select schema_name, table_name, list(column_name) as columns
from duckdb_columns()
where database_name = 'warehouse' and list_contains($schemas::varchar[], schema_name)
group by all
order by all
"""
_QUESTIONS = """
select sql_model, subject, questions from main.sql_models where len(questions) > 0 order by not starts_here, sql_model
"""


class WasmFiles(NamedTuple):
    """The parts of DuckDB-WASM and Arrow, checked, and their licences, from one folder of npm."""

    parts: Mapping[str, bytes]
    licences: Mapping[str, Path]


def find_wasm(folders: Sequence[Path]) -> WasmFiles:
    """DuckDB-WASM from the first of `folders` that npm has installed it into: it, or the node_modules in it.

    Raises `UsageError`, which says how to install it, where there is none, or another version.
    """
    how = f"`npm install --ignore-scripts --prefix {folders[0]} {PACKAGES}` installs it"
    places = [place for folder in folders for place in (folder / "node_modules", folder)]
    place = next((place for place in places if (place / _PARTS["engine"][0]).is_file()), None)
    if place is None:
        where = " or ".join(str(folder) for folder in folders)
        raise UsageError(f"The SQL console needs DuckDB-WASM, and there is none in {where}; {how}.")
    parts = {}
    for name, (path, sha256) in _PARTS.items():
        try:
            parts[name] = (place / path).read_bytes()
        except OSError as error:
            raise UsageError(f"{place / path} cannot be read ({error.strerror}); {how}.") from error
        if hashlib.sha256(parts[name]).hexdigest() != sha256:
            raise UsageError(f"{place / path} is not that of {PACKAGES.replace(' ', ' and ')}; {how}.")
    return WasmFiles(parts, {name: place / path for name, path in _LICENCES.items()})


def write_console(site: Site, database: Path, files: Mapping[str, Path], wasm: WasmFiles, staging: Path) -> None:
    """Write the page and all that it loads into the new site at `staging`, which has its other assets already.

    `database` is the warehouse of `site`. No row of the copied marts is about runs that are not on the site.
    """
    run_tags = [run.tag for run in site.runs]
    with tempfile.TemporaryDirectory(dir=staging, prefix=".console-") as folder:
        path = Path(folder, f"{_DATABASE}.duckdb")
        tables = write_marts(database, path, None if set(run_tags) == set(landed_tags(site.con)) else run_tags)
        content = path.read_bytes()
    for name, data in {"engine": wasm.parts["engine"], "worker": wasm.parts["worker"], "marts": content}.items():
        target = staging / data_path(f"console/{name}")
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(bytes_script(f"console/{name}", data), encoding="ascii")
    _copy_scripts(files, wasm, staging / "assets")
    values = {
        "site_title": site.title,
        "questions": packed(_questions(site.con, tables)),
        "tables": len(tables),
        "run_tags": run_tags,
        "wasm_version": WASM_VERSION,
        "made_at": f"{site.now:%Y-%m-%d %H:%M}" if site.now else "",
        "version": __version__,
    }
    (staging / PAGE).write_text(render(site.jinja, "sql.html", values), encoding="utf-8", newline="\n")


def is_of_console(path: str) -> bool:
    """Whether only a site with a console has a file at this path."""
    names = ("duckdb.js", "arrow.js", *_OWN_FILES, *(f"{name}.LICENSE.txt" for name in _LICENCES))
    return path == PAGE or path.startswith("data/console/") or path in {f"assets/{name}" for name in names}


def _copy_scripts(files: Mapping[str, Path], wasm: WasmFiles, assets: Path) -> None:
    """The scripts of the page: our own, and those of npm with their licences."""
    # npm's file is a module of Node's kind; this page has no loader for one.
    head, foot = _AS_SCRIPT
    (assets / "duckdb.js").write_bytes(head + wasm.parts["client"] + foot)
    (assets / "arrow.js").write_bytes(wasm.parts["arrow"])
    for name in _OWN_FILES:
        shutil.copyfile(files[f"console/{name}"], assets / name)
    for name, source in wasm.licences.items():
        if source.is_file():
            shutil.copyfile(source, assets / f"{name}.LICENSE.txt")


def write_marts(database: Path, path: Path, run_tags: Sequence[str] | None) -> list[str]:
    """Copy the marts and ratings of the warehouse into a DuckDB file, as tables, and return their names.

    With `run_tags` only their rows are copied, and tables whose rows may be about several runs are not. Views would
    need macros and tables that readers have no use for.
    """
    with closing(duckdb.connect(config={"threads": 1, **NO_EXTENSIONS})) as con:
        con.execute(f"attach {quoted_text(str(database.resolve()))} as warehouse (read_only)")
        con.execute(
            f"attach {quoted_text(str(path))} as target "
            f"(storage_version {quoted_text(_STORAGE_VERSION)}, block_size {_BLOCK_SIZE})"
        )
        con.execute("use warehouse")
        con.execute("set search_path = 'warehouse.main'")
        found = con.execute(_RELATIONS, {"schemas": list(_SCHEMAS)}).fetchall()
        names = []
        for schema, name, columns in each_of("Copying marts", found):
            found_columns = [column for column in OF_RUNS if column in columns]
            if run_tags is not None and not found_columns:
                continue
            table = f"{quoted_identifier(schema)}.{quoted_identifier(name)}"
            where = of_runs(found_columns, run_tags is None)
            con.execute(f"create schema if not exists target.{quoted_identifier(schema)}")
            con.execute(
                f"create table target.{table} as select * from warehouse.{table} {where} order by all",
                {} if run_tags is None else {"run_tags": list(run_tags)},
            )
            names.append(f"{schema}.{name}")
        con.execute("checkpoint target")
        con.execute("detach target")
    return names


def _questions(con: duckdb.DuckDBPyConnection, tables: Sequence[str]) -> list[dict[str, str]]:
    """The questions that the tables answer, and their SQL: those of what to read first come first."""
    rows = run_query(con, _QUESTIONS, limit=None).rows
    return [
        {"subject": subject, "question": each["question"], "sql": each["sql"]}
        for name, subject, questions in rows
        if name in tables
        for each in questions
    ]
