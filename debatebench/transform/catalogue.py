"""`main.sql_models`: what the files say of each SQL model besides its text, so that readers of a warehouse find it."""

from __future__ import annotations

from pathlib import PurePosixPath
from typing import TYPE_CHECKING

from debatebench.transform.project import Project
from debatebench.transform.short_names import short_names
from debatebench.transform.sql_model import SqlModel

if TYPE_CHECKING:
    import duckdb


_COLUMNS = {
    "sql_model": "varchar",
    "short_name": "varchar",
    "subject": "varchar",
    "starts_here": "boolean",
    "keys": "varchar[]",
    "questions": "struct(question varchar, sql varchar)[]",
}


def subject_of(model: SqlModel) -> str:
    """The folder of its file below that of its schema; without one, the schema."""
    folders = PurePosixPath(model.path).parts[1:-1]
    return folders[-1] if folders else model.schema


def keys_of(project: Project, name: str) -> list[str]:
    """What identifies a row by the data tests of a SQL model: columns, or columns with a comma between them."""
    # It loads pydantic, which a build with nothing to do does not need.
    from debatebench.transform.testing.generic_tests import Unique, UniqueCombinationOfColumns

    model = project.models[project.models[name].alias_of or name]
    found = []
    for test, column in model.properties.placed_tests:
        if isinstance(test, UniqueCombinationOfColumns) and test.where is None:
            found.append(", ".join(test.combination_of_columns))
        elif isinstance(test, Unique) and test.where is None:
            found.append(str(column))
    return found


def write_catalogue(con: duckdb.DuckDBPyConnection, project: Project) -> None:
    """Replace the rows of `main.sql_models`, one per SQL model of the project."""
    short = {name: each for each, name in short_names(project).items()}
    rows = [
        (
            name,
            short.get(name),
            subject_of(model),
            model.properties.start_here,
            keys_of(project, name),
            [{"question": each.question, "sql": each.sql.strip()} for each in model.properties.questions],
        )
        for name, model in project.models.items()
        if model.version is None
    ]
    columns = ", ".join(f"{column} {sql_type}" for column, sql_type in _COLUMNS.items())
    con.execute(f"create table if not exists main.sql_models ({columns})")
    unnested = ", ".join(f"unnest(?::{sql_type}[])" for sql_type in _COLUMNS.values())
    con.execute("delete from main.sql_models")
    con.execute(f"insert into main.sql_models select {unnested}", [list(values) for values in zip(*rows, strict=True)])
