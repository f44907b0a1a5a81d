"""The marts of a site as files to download: each as CSV and as Parquet, with the rows of the runs of the site.

Text that a spreadsheet would take for a formula has an apostrophe before it in CSV. Rows are in the order of all
columns, so that the same warehouse gives the same files.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

import duckdb

from debatebench.output.report.subjects import QUERY_TIMEOUT_S, Site, run_tags
from debatebench.query.parquet import write_parquet
from debatebench.query.run_tags import landed_tags
from debatebench.query.safe_query import run_query
from debatebench.shared.activity import each_of
from debatebench.shared.duckdb_sql import quoted_identifier
from debatebench.shared.result_formats import render

FOLDER = "marts"
# Columns that say which runs a row is about. Where only some runs are on the site, a table without any is left out: it
# may be about the others.
OF_RUNS = ("run_tag", "baseline_run_tag", "candidate_run_tag")

_MARTS = """
select table_name, list(column_name) as columns
from duckdb_columns()
where
    database_name = current_database()
    and schema_name = 'marts'
    and not regexp_matches(table_name, '_v[0-9]+$')
    and regexp_matches(table_name, '^[a-z0-9_]+$')
group by table_name
order by table_name
"""


def mart_queries(con: duckdb.DuckDBPyConnection, run_tags: Sequence[str]) -> dict[str, str]:
    """Each mart with files in a site of these runs, and the query for its rows."""
    is_whole = set(run_tags) == set(landed_tags(con))
    queries = {}
    for name, columns in run_query(con, _MARTS, limit=None, timeout_s=QUERY_TIMEOUT_S).rows:
        found = [column for column in OF_RUNS if column in columns]
        if found or is_whole:
            queries[name] = f"select * from marts.{quoted_identifier(name)} {of_runs(found, is_whole)} order by all"
    return queries


def of_runs(columns: Sequence[str], is_whole: bool) -> str:
    """The condition that a row is about no run but those in `$run_tags`, where these are not all."""
    conditions = [f"({column} is null or list_contains($run_tags::varchar[], {column}))" for column in columns]
    return "" if is_whole else f"where {' and '.join(conditions)}"


def downloads(site: Site) -> Iterator[tuple[str, bytes]]:
    """Each mart as CSV and as Parquet: the path of the file in the site, and its content."""
    with tempfile.TemporaryDirectory(prefix="debatebench-") as folder:
        for name, sql in each_of("Writing marts", list(site.downloads.items())):
            params = {"run_tags": run_tags(site)} if "$run_tags" in sql else {}
            found = run_query(site.con, sql, params, limit=None, timeout_s=QUERY_TIMEOUT_S)
            yield f"{FOLDER}/{name}.csv", render(found.columns, found.rows, "csv").encode("utf-8", "replace")
            file = Path(folder, "mart.parquet")
            write_parquet(site.con, sql, params, file, timeout_s=QUERY_TIMEOUT_S)
            yield f"{FOLDER}/{name}.parquet", file.read_bytes()
