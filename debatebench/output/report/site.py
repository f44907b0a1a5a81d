"""The static site: every page rendered from queries on a read-only warehouse, then put in place as one folder."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from datetime import datetime
from itertools import chain
from pathlib import Path
from typing import Any

from debatebench.output.report.chart_parts import AXIS, FRAME
from debatebench.output.report.choice import (
    SITE_FILE,
    Choice,
    combined,
    comparisons,
    front_run,
    read_choice,
    wanted_runs,
)
from debatebench.output.report.console import WasmFiles, write_console
from debatebench.output.report.data_files import data_path, data_script
from debatebench.output.report.debates_data import debates_data
from debatebench.output.report.downloads import downloads, mart_queries
from debatebench.output.report.filter_data import filter_data
from debatebench.output.report.folder import replace_files
from debatebench.output.report.html import environment
from debatebench.output.report.manifest import described
from debatebench.output.report.page import load_pages
from debatebench.output.report.page_time import data_time
from debatebench.output.report.render import render_pages
from debatebench.output.report.stored_once import stored_once
from debatebench.output.report.subjects import Site, find_runs
from debatebench.query.attached import attached
from debatebench.query.relations import has_relation
from debatebench.shared.activity import doing
from debatebench.shared.duckdb_sql import close_to_outside
from debatebench.shared.errors import UsageError
from debatebench.shared.files import new_folder_beside, not_written

_VENDORED = ("plotly-cartesian.min.js", "plotly-cartesian.LICENSE.txt")


def _charts(_: Site) -> Iterator[tuple[str, Any]]:
    """What all charts have alike."""
    yield "charts", {"layout": FRAME, "axis": AXIS}


_DATA: tuple[Callable[[Site], Iterator[tuple[str, Any]]], ...] = (debates_data, filter_data, _charts)
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
    wasm: WasmFiles | None = None,
    journals: Path | None = None,
    has_downloads: bool = False,
    now: datetime | None = None,
) -> Path:
    """Render the pages among `files` (relative path → file of `reports/`) into `out_dir`, and return its index.

    `run_tags`, `compare`, `title` and `front` choose what it is about, as in `Choice`; where they do not, `site.yml`
    among the files does. `now` (naive UTC) is the time that pages state, by default that of the newest record in them.
    Nothing in `out_dir` changes before every page is rendered, and files that do not belong to the site are kept. The
    same warehouse and the same `now` give the same bytes. With `journals`, the folder of journals, readers can see the
    raw reply to each request. With `has_downloads` the site has the marts as files. With `wasm` it has a SQL console,
    whose database has other bytes each time. Raises `UsageError` for an unknown run, `ConfigError` for a file that
    cannot be used.
    """
    choice = combined(
        Choice(run_tags, compare, title, front), read_choice(files[SITE_FILE]) if SITE_FILE in files else None
    )
    with open_site(
        database,
        files,
        choice,
        now,
        journals=journals,
        has_console=wasm is not None,
        has_downloads=has_downloads,
    ) as site:
        try:
            _publish(site, database, files, wasm, out_dir.resolve())
        except OSError as error:
            raise not_written(out_dir.resolve(), error) from error
    return out_dir / "index.html"


@contextmanager
def open_site(
    database: Path,
    files: Mapping[str, Path],
    choice: Choice,
    now: datetime | None = None,
    *,
    journals: Path | None = None,
    has_console: bool = False,
    has_downloads: bool = False,
) -> Iterator[Site]:
    """What `build_site` renders, and raises."""
    pages = load_pages(files)
    with attached(database) as con:
        con.execute("use warehouse")
        # For its cursors, too.
        con.execute("set global TimeZone = 'UTC'")
        close_to_outside(con)
        if not has_relation(con, "marts.runs"):
            raise UsageError("The warehouse has no marts yet; run `debatebench build`.")
        runs = find_runs(con, wanted_runs(con, choice))
        site = Site(
            con=con,
            journals=journals,
            jinja=environment(files),
            pages=pages,
            runs=runs,
            now=now or data_time(con, [run.tag for run in runs]),
            front=front_run(con, choice, runs),
            comparisons=comparisons(con, choice, runs),
            title=choice.title or "debatebench",
            has_console=has_console,
            downloads=mart_queries(con, [run.tag for run in runs]) if has_downloads else {},
        )
        with _quicker(site) as quicker:
            yield quicker


def rendered_files(site: Site, files: Mapping[str, Path]) -> Iterator[tuple[str, bytes]]:
    """Every file of the site but its manifest: its path and its content."""
    for path, text in chain(render_pages(site), _data(site)):
        yield path, text.encode("utf-8")
    yield from downloads(site)
    for name, file in _assets(files).items():
        yield name, file.read_bytes()


@contextmanager
def _quicker(site: Site) -> Iterator[Site]:
    """The site, with the views that many of its queries read stored, if it has most of the debates."""
    tags = [run.tag for run in site.runs]
    ((count_own, count_all),) = site.con.execute(
        "select count(case when list_contains(?, run_tag) then 1 end), count(*) from staging.stg_debates", [tags]
    ).fetchall()
    if 2 * count_own < count_all:
        yield site
        return
    with stored_once(site.con, count_runs=len(tags), count_debates=count_all) as stored:
        yield replace(site, stored=stored)


def _publish(site: Site, database: Path, files: Mapping[str, Path], wasm: WasmFiles | None, out_dir: Path) -> None:
    """Render everything next to `out_dir`, then move it there."""
    with new_folder_beside(out_dir) as staging:
        for count, (path, content) in enumerate(rendered_files(site, files)):
            doing("Writing pages", count)
            (staging / path).parent.mkdir(parents=True, exist_ok=True)
            (staging / path).write_bytes(content)
        if wasm is not None:
            write_console(site, database, files, wasm, staging)
        replace_files(staging, out_dir, described(site, files))


def _data(site: Site) -> Iterator[tuple[str, str]]:
    """The scripts with the data that pages load on demand: their paths and texts."""
    for source in _DATA:
        for name, data in source(site):
            yield data_path(name), data_script(name, data)


def _assets(files: Mapping[str, Path]) -> dict[str, Path]:
    """The style sheet, the scripts, and the library that draws charts: a page loads nothing from other sites."""
    assets = {name: path for name, path in files.items() if name.startswith("assets/")}
    return assets | {f"assets/{name}": files[f"vendor/{name}"] for name in _VENDORED}
