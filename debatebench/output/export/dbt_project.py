"""A dbt project: the SQL models with `ref` and `source`, their YAML, and a DuckDB file with the landed tables."""

from __future__ import annotations

import csv
import io
import shutil
import tempfile
from pathlib import Path, PurePosixPath
from typing import Any

from debatebench.output.export.dbt_names import DbtNames, dbt_names
from debatebench.output.export.dbt_properties import properties_files, sources_file, yaml_text
from debatebench.output.export.dbt_sql import dbt_sql
from debatebench.output.export.duckdb_file import DATABASE, attached, copy_raw_tables, table_rows, write_built_copy
from debatebench.output.export.manifest import Contents, LeftOut
from debatebench.output.export.snapshot import Snapshot
from debatebench.shared.activity import each_of
from debatebench.shared.duckdb_sql import quoted_text
from debatebench.transform.comments import set_texts, stored_texts
from debatebench.transform.project import Project
from debatebench.transform.seeds import SEEDS
from debatebench.transform.sql_model import Seed

_NAME = "debatebench"
_PERSIST = {"relation": True, "columns": True}
_FILES = Path(__file__).with_name("dbt_files")
# What `dbt build` writes into its project.
_WORK = (DATABASE, f"{DATABASE}.wal", "target", "logs", "dbt_packages", ".user.yml")


def write(snapshot: Snapshot, folder: Path) -> Contents:
    """Write the project and its database. Ratings, and everything else that Python computes, are exported as tables."""
    project = snapshot.project
    names = dbt_names(project.models, project.macros)
    shutil.copytree(_FILES, folder, copy_function=shutil.copyfile, dirs_exist_ok=True)
    texts = {"dbt_project.yml": _project_file(project, names), "models/sources.yml": sources_file(project, names)}
    texts |= {f"models/{path}": text for path, text in _model_files(project, names).items()}
    texts |= {f"seeds/{seed}.csv": _csv_text(project.models[name].seed) for name, seed in names.seeds.items()}
    texts |= properties_files(project, names)
    texts |= {f"tests/{test.name}.sql": dbt_sql(test.query.sql, names) for test in project.singular_tests}
    for path, text in texts.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text, encoding="utf-8")
    rows = _write_database(snapshot, folder / DATABASE, names)
    return Contents({DATABASE: rows}, _left_out(project, names), _WORK)


def _project_file(project: Project, names: DbtNames) -> str:
    """`dbt_project.yml`: a schema per folder, views unless the YAML says table, and usage statistics turned off."""
    schemas = sorted({project.models[name].schema for name in names.models})
    content: dict[str, Any] = {
        "name": _NAME,
        "profile": _NAME,
        "config-version": 2,
        "require-dbt-version": [">=1.10.8", "<2.0.0"],
        "flags": {"send_anonymous_usage_stats": False, "require_generic_test_arguments_property": True},
        "models": {
            _NAME: {"+materialized": "view", "+persist_docs": _PERSIST}
            | {schema: {"+schema": schema} for schema in schemas},
        },
    }
    if names.seeds:
        content["seeds"] = {_NAME: {"+schema": SEEDS, "+quote_columns": False, "+persist_docs": _PERSIST}}
    return yaml_text(content)


def _csv_text(seed: Seed | None) -> str:
    """A seed as CSV; an empty cell is null in dbt, too."""
    text = io.StringIO(newline="")
    if seed is not None:
        csv.writer(text, lineterminator="\n").writerows([list(seed.types), *seed.rows])
    return text.getvalue()


def _model_files(project: Project, names: DbtNames) -> dict[str, str]:
    """Path in `models/` → text of every SQL model that dbt builds."""
    texts = {}
    for name, model in each_of("Writing dbt models", project.models.items()):
        if name not in names.models:
            continue
        own = names.models[name]
        file = f"{own}_v{model.version}" if model.version is not None else own
        sql = f"-- The latest version.\n{model.query.sql}" if model.alias_of is not None else model.query.sql
        texts[str(PurePosixPath(model.path).with_name(f"{file}.sql"))] = dbt_sql(sql, names)
    return texts


def _write_database(snapshot: Snapshot, path: Path, names: DbtNames) -> dict[str, int]:
    """Write the landed tables, and copy the tables that Python computes from a warehouse of the chosen runs."""
    con, texts = snapshot.con, stored_texts(snapshot.con)
    with tempfile.TemporaryDirectory(prefix=".", dir=path.parent) as folder:
        if names.tables:
            write_built_copy(snapshot, Path(folder, DATABASE))
        with attached(snapshot, path):
            copy_raw_tables(snapshot)
            if names.tables:
                con.execute(f"attach {quoted_text(str(Path(folder, DATABASE)))} as built (read_only)")
                for name in sorted(names.tables):
                    con.execute(f"create schema if not exists target.{name.partition('.')[0]}")
                    con.execute(f"create table target.{name} as select * from built.{name} order by all")
                con.execute("detach built")
            set_texts(con, texts)
            return table_rows(snapshot)


def _left_out(project: Project, names: DbtNames) -> tuple[LeftOut, ...]:
    """What is left out: SQL and unit tests of SQL models that are exported as tables, and macros."""
    tests = tuple(located.test.name for located in project.unit_tests if located.tested in names.tables)
    found = (
        ("SQL of models", "Python computes them, so their rows are exported instead", tuple(sorted(names.tables))),
        ("unit tests", "their SQL models are exported as tables", tests),
        ("macros", "their formulas are written out where they are used", tuple(project.macros)),
    )
    return tuple(LeftOut(what=what, why=why, count=len(names), names=names) for what, why, names in found if names)
