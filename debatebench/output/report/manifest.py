"""What a site was made from, for its manifest: the choice, the data, the SQL models, the queries and the programs."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import duckdb

from debatebench.output.report.page import Page
from debatebench.output.report.subjects import QUERY_TIMEOUT_S, Site, run_tags
from debatebench.query.safe_query import run_query
from debatebench.shared.duckdb_sql import quoted_identifier
from debatebench.shared.version import __version__

# Some warehouses lack some of these relations: those that an earlier version built, and those of tests.
_RUNS = """
select run_tag, kind, benchmark_name, benchmark_version, rubric_version
from marts.runs
where list_contains($run_tags::varchar[], run_tag)
"""
_PROMPTS = """
select run_tag, item, part, value
from marts.run_settings
where list_contains($run_tags::varchar[], run_tag) and item in ('debater_prompts', 'judge_prompts')
order by all
"""
_TABLES = """
select schema_name || '.' || table_name as name
from duckdb_tables()
inner join duckdb_columns() using (database_name, schema_name, table_name)
where database_name = current_database() and schema_name not in ('meta', 'main') and column_name = 'run_tag'
order by name
"""
_MODELS = "select name, sql_sha256 from meta.builds order by name"
_RULES = """
select schema_name || '.' || view_name, regexp_extract(sql, view_name || '_v([0-9]+)', 1)
from duckdb_views()
where database_name = current_database() and regexp_matches(sql, view_name || '_v[0-9]+')
order by all
"""


def described(site: Site, files: Mapping[str, Path]) -> dict[str, Any]:
    """What the site is about and was made from, as JSON data; the same for the same site.

    `files` are those of `reports/`. `data` has the number of rows of each run in each stored table and a hash of them
    that does not depend on their order; views follow from these and from the `sql_models`, whose texts are hashed.
    """
    return {
        "debatebench": __version__,
        "duckdb": duckdb.__version__,
        "time": None if site.now is None else site.now.isoformat(timespec="seconds"),
        "choice": choice_of(site),
        "runs": _runs(site),
        "rules": dict(_rows(site, _RULES)),
        # Hidden folders are what a killed command left, which the next one deletes.
        "pages": {name: _sha256(path.read_bytes()) for name, path in sorted(files.items()) if not name.startswith(".")},
        "queries": {page.name: _queries(page) for page in site.pages},
        "sql_models": dict(_rows(site, _MODELS)),
        "data": _data(site),
    }


def choice_of(site: Site) -> dict[str, Any]:
    """What is needed to choose the same site again."""
    return {
        "run_tags": run_tags(site),
        "front": site.front.tag if site.front else None,
        "compare": [
            [f"{each.baseline_kind}:{each.baseline}", f"{each.candidate_kind}:{each.candidate}"]
            for each in site.comparisons
        ],
        "title": site.title,
        "sql_console": site.has_console,
        "downloads": bool(site.downloads),
        "calls": site.journals is not None,
    }


def _rows(site: Site, sql: str, **params: Any) -> list[tuple[Any, ...]]:
    return run_query(site.con, sql, params, limit=None, timeout_s=QUERY_TIMEOUT_S).rows


def _runs(site: Site) -> dict[str, dict[str, Any]]:
    """Each run with its versions and the hashes of its prompts."""
    tags = run_tags(site)
    prompts: dict[str, dict[str, str]] = {}
    for tag, item, part, value in _rows(site, _PROMPTS, run_tags=tags):
        prompts.setdefault(tag, {})[f"{item}: {part}"] = value
    names = ("kind", "benchmark_name", "benchmark_version", "rubric_version")
    found = {tag: dict(zip(names, values, strict=True)) for tag, *values in _rows(site, _RUNS, run_tags=tags)}
    return {tag: {**found[tag], "prompts": prompts.get(tag, {})} for tag in tags}


def _queries(page: Page) -> dict[str, str]:
    """The hash of each query of a page, by its section."""
    return {section.id: _sha256(f"{section.query}\0{section.note or ''}".encode()) for section in page.sections}


def _data(site: Site) -> dict[str, dict[str, str]]:
    """Table → run → the number of its rows, and the sum of their hashes."""
    tags = run_tags(site)
    data = {}
    for (name,) in _rows(site, _TABLES):
        table = ".".join(map(quoted_identifier, name.split(".")))
        sql = (
            f"select run_tag, count(*), sum(hash(t)::hugeint) from {table} as t "
            "where list_contains($run_tags::varchar[], run_tag) group by run_tag order by run_tag"
        )
        data[name] = {tag: f"{rows} rows {total % 2**64:016x}" for tag, rows, total in _rows(site, sql, run_tags=tags)}
    return {name: runs for name, runs in data.items() if runs}


def _sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()
