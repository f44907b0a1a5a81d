"""Parquet: one folder per table with one folder per run: `marts/leaderboard/run_tag=demo/data.parquet`.

The tag is only in the path, as in Hive partitions: readers make a column of it. The key-value metadata of a file has$
the texts of the table and its columns.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fnmatch import fnmatchcase
from pathlib import Path
from urllib.parse import quote

import duckdb

from debatebench.output.export.manifest import Contents, LeftOut
from debatebench.output.export.snapshot import Snapshot
from debatebench.query.parquet import as_in_file
from debatebench.shared.activity import each_of
from debatebench.shared.duckdb_sql import quoted_identifier, quoted_text
from debatebench.shared.errors import UsageError
from debatebench.shared.json_bytes import to_json
from debatebench.shared.records import TABLES
from debatebench.transform.comments import stored_texts
from debatebench.transform.contracts import columns_of_all
from debatebench.transform.graph import select_models
from debatebench.transform.sql_model import SqlModel
from debatebench.transform.stored_views import stored_views
from debatebench.transform.testing.generic_tests import UniqueCombinationOfColumns

_DEFAULT = ("marts.*", "original.*", "ratings.*")


def write(snapshot: Snapshot, folder: Path) -> Contents:
    """Write every chosen table, run by run, rows in the order of their key.

    A table without a `run_tag` covers all runs: it becomes one file `data.parquet`, and is left out if runs were
    chosen.
    """
    relations = _relations(snapshot)
    files: list[tuple[str, str, str | None]] = []
    left_out: list[LeftOut] = []
    columns, texts = columns_of_all(snapshot.con), stored_texts(snapshot.con)
    for relation in relations:
        place = relation.replace(".", "/")
        if "run_tag" in columns[relation]:
            files += [
                (f"{place}/run_tag={quote(run_tag, safe='')}/data.parquet", relation, run_tag)
                for run_tag in snapshot.run_tags
            ]
        elif snapshot.is_whole:
            files.append((f"{place}/data.parquet", relation, None))
        else:
            left_out.append(LeftOut(what=relation, why="it covers all runs, but only some runs are exported", count=1))
    rows: dict[str, int] = {}
    with stored_views(snapshot.con, [{relation} for _, relation, _ in files]) as views:
        for path, relation, run_tag in each_of("Writing tables", files):
            with views.ready({relation}):
                query = _query(relation, _columns(columns[relation]), relations[relation], run_tag)
                about = file_texts(texts, relation, dict.fromkeys(columns[relation], relation))
                rows[path] = write_file(views.con, folder / path, query, [] if run_tag is None else [run_tag], about)
    return Contents(rows, tuple(left_out))


def _relations(snapshot: Snapshot) -> dict[str, str]:
    """The chosen tables, each with the columns that order its rows."""
    models = snapshot.project.models
    raw = {f"raw.{name}": ", ".join(record.key) for name, record in TABLES.items()}
    chosen: dict[str, str] = {}
    for selector in (part for text in snapshot.select or _DEFAULT for part in text.split()):
        landed = [name for name in raw if fnmatchcase(name, selector)]
        chosen |= {name: raw[name] for name in landed}
        chosen |= {name: _key(models, name) for name in _selected_models(models, selector, landed)}
    return dict(sorted(chosen.items()))


def _selected_models(models: Mapping[str, SqlModel], selector: str, landed: Sequence[str]) -> list[str]:
    """The SQL models that a selector matches; it must match at least one, unless it matches landed tables."""
    try:
        return select_models(models, [selector])
    except UsageError:
        if landed:
            return []
        if selector.partition(".")[0] == "raw":
            known = ", ".join(f"raw.{name}" for name in TABLES)
            raise UsageError(f"'{selector}' selects nothing. Known: {known}.") from None
        raise


def _key(models: Mapping[str, SqlModel], name: str) -> str:
    """The columns that identify a row according to a test in the YAML; every column if there is no such test."""
    for test in models[models[name].alias_of or name].properties.data_tests:
        if isinstance(test, UniqueCombinationOfColumns) and test.where is None:
            return ", ".join(quoted_identifier(column) for column in test.combination_of_columns)
    return "all"


def _columns(types: Mapping[str, str]) -> dict[str, str]:
    """Column → its SQL expression, with the type that it has in the file."""
    return {name: as_in_file(quoted_identifier(name), duckdb.sqltype(type_)) for name, type_ in types.items()}


def _query(relation: str, columns: Mapping[str, str], order: str, run_tag: str | None) -> str:
    """The query for the rows of one file; the tag of its run is a parameter."""
    listed = ", ".join(
        f"{column} as {quoted_identifier(name)}"
        for name, column in columns.items()
        if run_tag is None or name != "run_tag"
    )
    condition = "" if run_tag is None else "where run_tag = ?"
    return f"select {listed} from {relation} {condition} order by {order}"


def file_texts(texts: Mapping[tuple[str, str], str], relation: str, columns: Mapping[str, str]) -> dict[str, str]:
    """What a file says of itself: `description`, and `columns`, a JSON object of column → text.

    `columns` are those of the file, each with the relation that it comes from.
    """
    found = {name: texts.get((source, name.lower())) for name, source in columns.items()}
    described = {name: text for name, text in found.items() if text is not None}
    return {"description": texts.get((relation, ""), ""), "columns": to_json(described).decode()}


def write_file(
    con: duckdb.DuckDBPyConnection, path: Path, query: str, params: list[str], about: Mapping[str, str]
) -> int:
    """Write one file, with `about` as its key-value metadata, and return its number of rows."""
    path.parent.mkdir(parents=True, exist_ok=True)
    metadata = ", ".join(f"{key}: {quoted_text(text)}" for key, text in about.items())
    options = f"format parquet, compression zstd, kv_metadata {{{metadata}}}"
    counted = con.execute(f"copy ({query}) to {quoted_text(str(path))} ({options})", params)
    return int(counted.fetchall()[0][0])
