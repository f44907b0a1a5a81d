"""The static site: every page rendered from queries on a read-only warehouse, then put in place as one folder."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import datetime
from itertools import chain
from pathlib import Path
from typing import Any

from debatebench.output.report.choice import (
    SITE_FILE,
    Choice,
    combined,
    comparisons,
    front_run,
    read_choice,
    wanted_runs,
)
from debatebench.output.report.data_files import data_path, data_script
from debatebench.output.report.filter_data import filter_data
from debatebench.output.report.folder import replace_files
from debatebench.output.report.html import environment
from debatebench.output.report.page import load_pages
from debatebench.output.report.render import render_pages
from debatebench.output.report.subjects import Site, find_runs
from debatebench.query.relations import has_relation
from debatebench.query.safe_query import open_for_reading
from debatebench.shared.activity import doing
from debatebench.shared.errors import UsageError
from debatebench.shared.files import new_folder_beside, not_written

_VENDORED = ("plotly-cartesian.min.js", "plotly-cartesian.LICENSE.txt")
_DATA: tuple[Callable[[Site], Iterator[tuple[str, Any]]], ...] = (filter_data,)
"""What yields the data of pages: names, and the objects that `debatebench.load` in a page returns for them."""


def build_site(
    database: Path,
    files: Mapping[str, Path],
    out_dir: Path,
    *,
    run_tags: Sequence[str] | None = None,
    compare: Sequence[tuple[str, str]] = (),
    title: str | None = None,
    front: str | None = None,
    now: datetime,
) -> Path:
    """Render the pages among `files` (relative path → file of `reports/`) into `out_dir`, and return its index.

    `run_tags`, `compare`, `title` and `front` choose what it is about, as in `Choice`; where they do not, `site.yml`
    among the files does. Nothing in `out_dir` changes before every page is rendered, and files that do not belong to
    the site are kept. The same warehouse and the same `now` (naive UTC) give the same bytes. Raises `UsageError`
    for an unknown run, `ConfigError` for a file that cannot be used.
    """
    pages = load_pages(files)
    choice = combined(
        Choice(run_tags, compare, title, front), read_choice(files[SITE_FILE]) if SITE_FILE in files else None
    )
    with open_for_reading(database) as con:
        if not has_relation(con, "marts.runs"):
            raise UsageError("The warehouse has no marts yet; run `debatebench build`.")
        runs = find_runs(con, pages, wanted_runs(con, choice))
        site = Site(
            con=con,
            jinja=environment(files),
            pages=pages,
            runs=runs,
            warehouse=database.name,
            now=now,
            front=front_run(con, choice, runs),
            comparisons=comparisons(con, choice, runs),
            title=choice.title or "debatebench",
        )
        try:
            _publish(site, files, out_dir.resolve())
        except OSError as error:
            raise not_written(out_dir.resolve(), error) from error
    return out_dir / "index.html"


def _publish(site: Site, files: Mapping[str, Path], out_dir: Path) -> None:
    """Render everything next to `out_dir`, then move it there."""
    with new_folder_beside(out_dir) as staging:
        for count, (path, text) in enumerate(chain(render_pages(site), _data(site))):
            doing("Writing pages", count)
            (staging / path).parent.mkdir(parents=True, exist_ok=True)
            (staging / path).write_text(text, encoding="utf-8", newline="\n")
        _copy_assets(files, staging)
        replace_files(staging, out_dir)


def _data(site: Site) -> Iterator[tuple[str, str]]:
    """The scripts with the data that pages load on demand: their paths and texts."""
    for source in _DATA:
        for name, data in source(site):
            yield data_path(name), data_script(name, data)


def _copy_assets(files: Mapping[str, Path], staging: Path) -> None:
    """Copy the style sheet, the scripts, and the library that draws charts: a page loads nothing from other sites."""
    assets = {name: path for name, path in files.items() if name.startswith("assets/")}
    assets |= {f"assets/{name}": files[f"vendor/{name}"] for name in _VENDORED}
    for name, source in assets.items():
        (staging / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(source, staging / name)
