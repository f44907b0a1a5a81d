"""The card of a published dataset: front matter for the Hub, then what it holds, where it comes from and its limits.

Every number in it is read from the SQL models of the chosen runs, by the queries in `dataset_card.md`. Names and texts
from outside are shown as they are and cannot form Markdown or front matter of their own.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

import duckdb
import yaml
from jinja2 import Environment, StrictUndefined

from debatebench.output.export.dataset_tables import DatasetTable
from debatebench.output.export.snapshot import Snapshot
from debatebench.shared.markdown import markdown_text
from debatebench.shared.result_formats import render
from debatebench.shared.version import __version__
from debatebench.transform.lineage.descriptions import Descriptions, descriptions_of

_SPLIT = "train"
_NOTHING = "–"
_SIZES = ((1_000, "n<1K"), (10_000, "1K<n<10K"), (100_000, "10K<n<100K"), (1_000_000, "100K<n<1M"))
_TAGS = ["debate", "llm-as-a-judge", "preference", "argumentation", "debatebench"]

_SIMULATED = """
select run_tag from staging.stg_runs where list_contains($tags, run_tag) and is_simulated order by run_tag
"""
_LANGUAGES = """
select distinct regexp_extract(lower(language), '^[a-z]{2}($|[-_])') as code
from staging.stg_runs
where list_contains($tags, run_tag) and language is not null
order by code
"""


def dataset_card(snapshot: Snapshot, license_id: str, rows: Mapping[DatasetTable, int]) -> str:
    """The text of README.md. `rows` are the tables that have rows, with their numbers, in the order of the card."""
    environment = Environment(  # noqa: S701 (Markdown is not escaped as HTML is; `text` does it)
        undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True, keep_trailing_newline=True
    )
    environment.filters |= {"text": markdown_text, "table": partial(_table, snapshot)}
    descriptions = descriptions_of(snapshot.project)
    ((models,),) = snapshot.con.execute("select count(*) from warehouse.meta.builds").fetchall()
    listed = [[table.name, count, table.about] for table, count in rows.items()]
    template = Path(__file__).with_suffix(".md").read_text(encoding="utf-8")
    return environment.from_string(template).render(
        front_matter=_front_matter(snapshot, license_id, rows),
        tags=snapshot.run_tags,
        names=", ".join(snapshot.run_tags),
        version=__version__,
        simulated=[tag for (tag,) in _fetched(snapshot, _SIMULATED)],
        overview=render(["table", "rows", "one row"], listed, "markdown"),
        tables=[table.name for table in rows],
        columns={table.name: _columns(table, descriptions) for table in rows},
        split=_SPLIT,
        models=models,
        duckdb=duckdb.__version__,
        nothing=_NOTHING,
        is_anonymous=snapshot.dataset.anonymize,
        license=license_id,
    )


def _front_matter(snapshot: Snapshot, license_id: str, rows: Mapping[DatasetTable, int]) -> str:
    """YAML that the Hub and `datasets` read: the files of every table, as the only split of a configuration."""
    codes = [code.rstrip("-_") for (code,) in _fetched(snapshot, _LANGUAGES) if code]
    names = [table.name for table in rows]
    count = sum(count for table, count in rows.items() if table.name in ("debates", "attacked_debates"))
    front: dict[str, Any] = {
        "pretty_name": f"Debates of {', '.join(snapshot.run_tags)}",
        "license": license_id,
        **({"language": sorted(set(codes))} if codes else {}),
        "size_categories": [next((name for most, name in _SIZES if count < most), "n>1M")],
        "tags": _TAGS,
        "configs": [
            {
                "config_name": name,
                **({"default": True} if name == names[0] else {}),
                "data_files": [{"split": _SPLIT, "path": f"data/{name}/*.parquet"}],
            }
            for name in names
        ],
    }
    return yaml.safe_dump(front, sort_keys=False, allow_unicode=False, width=1_000)


def _columns(table: DatasetTable, descriptions: Descriptions) -> str:
    """The columns of a table, with the texts of the SQL models that they come from."""
    columns = [[name, descriptions.text(relation, name)] for name, relation in table.sources()]
    # The backticks of our own texts are Markdown.
    return render(["column", "meaning"], columns, "markdown").rstrip().replace("&#96;", "`")


def _fetched(snapshot: Snapshot, query: str) -> list[tuple[Any, ...]]:
    return snapshot.con.execute(query, {"tags": list(snapshot.run_tags)}).fetchall()


def _table(snapshot: Snapshot, query: str) -> str:
    """The rows of a query as a Markdown table, without the columns that have no value; a dash where there are none."""
    rows = _fetched(snapshot, query)
    names = [column[0] for column in snapshot.con.description or ()]
    kept = [place for place in range(len(names)) if any(row[place] is not None for row in rows)]
    if not rows or not kept:
        return f"{_NOTHING}\n"
    return render([names[place] for place in kept], [[row[place] for place in kept] for row in rows], "markdown")
