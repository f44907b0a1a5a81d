"""Small SQL projects written by hand, for tests of the transform engine."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from textwrap import dedent
from unittest.mock import patch

import duckdb

from debatebench.query.sql_project import load_project
from debatebench.shared.record_columns import column_types
from debatebench.shared.records import TABLES
from debatebench.shared.workspace import Kind, Workspace
from debatebench.transform.project import Project

STAGING = {
    "staging/stg_debates.sql": """
        -- One row per debate.
        select run_tag, debate_id, pro_model_id, con_model_id, source_position, recorded_winner as winner
        from raw.debates
        """,
    "staging/_staging.yml": """
        models:
          - name: stg_debates
            description: Debates as landed.
            columns:
              - {name: run_tag, description: The run., data_type: varchar}
              - {name: debate_id, description: The debate., data_type: varchar}
              - {name: pro_model_id, description: Pro., data_type: varchar}
              - {name: con_model_id, description: Con., data_type: varchar}
              - {name: source_position, description: Order., data_type: bigint}
              - {name: winner, description: Who won., data_type: varchar}
        """,
}


def write_project(folder: Path, files: Mapping[str, str]) -> Project:
    """Write `files` (relative path → text, dedented) to `folder`, and load everything in it."""
    for path, text in files.items():
        target = folder / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(dedent(text).lstrip("\n"), encoding="utf-8")
    return read_project(folder)


def read_project(folder: Path) -> Project:
    """The project that `folder` contains now."""
    return load_project({f.relative_to(folder).as_posix(): f for f in folder.rglob("*") if f.is_file()})


@contextmanager
def only_sql_models(*names: str) -> Iterator[None]:
    """Within the block, the package has for this process only these SQL models and all that they read.

    For tests of how warehouses come about: to build all SQL models takes many times as long.
    """
    files, left_out = Workspace.files, _not_needed_for(names)

    def chosen(workspace: Workspace, kind: Kind, pattern: str) -> dict[str, Path]:
        return {path: file for path, file in files(workspace, kind, pattern).items() if file not in left_out}

    with patch.object(Workspace, "files", chosen):
        yield


@cache
def _not_needed_for(names: tuple[str, ...]) -> frozenset[Path]:
    """The packaged files of all other SQL models, and of tests of them."""
    files = Workspace(Path("nowhere")).files("sql", "**/*")
    project = load_project(files)
    chosen: set[str] = set()
    wanted = set(names)
    while wanted != chosen:
        chosen = wanted
        above = set(project.select([f"+{name}" for name in sorted(chosen)]))
        # A file of YAML describes every version of a SQL model, and its tests name others.
        files_of_yaml = {project.models[name].properties_file for name in above}
        wanted = {name for name, model in project.models.items() if model.properties_file in files_of_yaml}
        tests = (test for name in wanted for test, _ in project.models[name].properties.placed_tests)
        others = {getattr(test, "to", None) or getattr(test, "same_as", None) for test in tests}
        wanted |= others & project.models.keys()
    needed = {file for name in chosen for file in (project.models[name].file, project.models[name].properties_file)}
    shared = {file for path, file in files.items() if path.startswith("macros/") or "/" not in path}
    return frozenset(files.values()) - needed - shared


def raw_database(path: str = ":memory:") -> duckdb.DuckDBPyConnection:
    """A warehouse that contains `raw.debates` with three debates of one run, and no built SQL model."""
    con = duckdb.connect(path)
    con.execute("create schema raw")
    columns = ", ".join(f"{name} {sql_type}" for name, sql_type in column_types(TABLES["debates"]).items())
    con.execute(f"create table raw.debates ({columns})")
    add_debates(con, "r1", [("d1", "a", "b", "pro"), ("d2", "b", "a", "tie"), ("d3", "a", "c", "con")])
    return con


def add_debates(con: duckdb.DuckDBPyConnection, run_tag: str, debates: list[tuple[str, str, str, str]]) -> None:
    """Land debates given as (debate id, pro, con, winner)."""
    con.executemany(
        "insert into raw.debates (run_tag, debate_id, pro_model_id, con_model_id, recorded_winner, source_position) "
        "values (?, ?, ?, ?, ?, ?)",
        [(run_tag, *debate, position) for position, debate in enumerate(debates)],
    )
