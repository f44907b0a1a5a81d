"""Pages and what they are about → HTML, page by page."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from dataclasses import replace
from shlex import quote
from typing import Any, Literal, NamedTuple

from debatebench.output.report.data_files import data_path, data_script, packed
from debatebench.output.report.downloads import FOLDER as DOWNLOADS
from debatebench.output.report.filter_data import outcomes_name
from debatebench.output.report.html import render
from debatebench.output.report.links import DEBATES_PAGE, debates_link, relative
from debatebench.output.report.page import KINDS, ForEach, Page, Section
from debatebench.output.report.sections import Link, Row, SectionView, paragraphs, view
from debatebench.output.report.subjects import (
    QUERY_TIMEOUT_S,
    Compared,
    Site,
    Subject,
    fill,
    path_of,
    run_tags,
    slug,
    subjects,
)
from debatebench.query.safe_query import QueryResult, run_query
from debatebench.shared.amounts import listed
from debatebench.shared.errors import ConfigError, DamagedDataError, DebatebenchError
from debatebench.shared.version import __version__
from debatebench.shared.visible_text import visible

_FILTER_SCRIPTS = ("filters_compute.js", "filters.js")
_DOWNLOAD = rf"{DOWNLOADS}/[a-z0-9_]+\.(csv|parquet)"
_MOST_NAMED = 5
_MOST_TYPED = 20
"""The longest list that a command shows."""


class _Result(NamedTuple):
    """The results of the queries of a section."""

    columns: Sequence[str]
    rows: Sequence[Row]
    notes: Sequence[str]


def render_pages(site: Site) -> Iterator[tuple[str, str]]:
    """Every page of the site, and the SQL of each kind of page as data for scripts: their paths and texts."""
    site = replace(site, pages=_shown_pages(site))
    for page in site.pages:
        for group in subjects(site, page):
            yield from _pages(site, page, group)
        if queries := {each.id: each.query.strip() for each in _asked(page) if each.query}:
            yield data_path(_queries_name(page)), data_script(_queries_name(page), queries)


def _queries_name(page: Page) -> str:
    """What the SQL of a kind of page is called among the data of the site: section → query."""
    return f"queries/{slug(page.name)}"


def _shown_pages(site: Site) -> list[Page]:
    """The pages for which the site has enough runs, and what they need."""
    enough = [page for page in site.pages if len(site.runs) >= page.least_runs]
    params = {"run_tags": run_tags(site)}
    return [page for page in enough if page.needs is None or _ask(site, page.needs, params, 1).rows]


def _pages(site: Site, page: Page, group: Sequence[Subject]) -> Iterator[tuple[str, str]]:
    """The pages about a group of subjects, for which each query runs once."""
    if not group:
        return
    split_by = KINDS[page.for_each].split_by
    asked = _asked(page)
    results = [_ask(site, section, group[0].params, None if split_by else section.limit) for section in asked]
    if split_by is None:
        yield _page(site, page, group[0], results)
        return
    split = [_split(page, section, result, split_by) for section, result in zip(asked, results, strict=True)]
    for subject in group:
        yield _page(site, page, subject, [rows_of(subject.key) for rows_of in split])


def _asked(page: Page) -> list[Section]:
    """The answer of a page, if it has one, and its sections."""
    return [*([page.answer] if page.answer else []), *page.sections]


def _ask(site: Site, section: Section, params: Mapping[str, Any], limit: int | None) -> _Result:
    """Run the query of a section and of its note, each with the parameters that it uses."""
    if not section.query:
        return _Result((), (), ())
    result = _run(site, section, section.query, params, limit)
    rows = result.dicts()
    notes = []
    if section.note:
        notes = [str(row[0]) for row in _run(site, section, section.note, params, limit).rows if row[0] is not None]
    if result.truncated:
        notes.append(f"Only the first {limit:,} rows are shown.")
    return _Result(result.columns, rows, notes)


def _run(site: Site, section: Section, sql: str, params: Mapping[str, Any], limit: int | None) -> QueryResult:
    named = {name: value for name, value in params.items() if re.search(rf"\${name}\b", sql)}
    try:
        return run_query(site.reading(sql), sql, named, limit=limit, timeout_s=QUERY_TIMEOUT_S)
    except DamagedDataError:
        raise
    except DebatebenchError as error:
        raise ConfigError(f"{section.source}: section '{section.id}': {error}") from error


def _split(page: Page, section: Section, result: _Result, split_by: str) -> Callable[[str | None], _Result]:
    """The rows of a result that belong to one page."""
    if section.query and split_by not in result.columns:
        raise ConfigError(
            f"{section.source}: the query of section '{section.id}' returns no column '{split_by}', which a page for "
            f"each {page.for_each} needs."
        )
    rows: dict[str | None, list[Row]] = {}
    for row in result.rows:
        rows.setdefault(row[split_by], []).append(row)
    columns = [column for column in result.columns if column != split_by]
    shown = {key: [{name: row[name] for name in columns} for row in own] for key, own in rows.items()}
    return lambda key: _Result(columns, shown.get(key, []), ())


# --- one page ---------------------------------------------------------------------------------------------------------


def _page(site: Site, page: Page, subject: Subject, results: Sequence[_Result]) -> tuple[str, str]:
    path = path_of(page, subject.words)
    views = []
    answer = _sentences(page.answer, results[0]) if page.answer else []
    for section, result in zip(page.sections, results[1 if page.answer else 0 :], strict=True):
        if section.hide_when_empty and not result.rows:
            continue
        named = replace(section, title=fill(section.title, subject.words), text=fill(section.text, subject.words))
        views.append(view(named, result.columns, result.rows, result.notes, _linker(site, subject, path)))
    root = "../" * path.count("/")
    used = _used_params(page, subject)
    filters = _filters(site, page, subject)
    has_charts = any(each.charts for each in views)
    return path, render(
        site.jinja,
        page.template,
        {
            "site_title": site.title,
            "title": fill(page.title, subject.words),
            "answer": " ".join(answer),
            "queries": _queries_name(page) if any(each.query for each in _asked(page)) else "",
            "paragraphs": paragraphs(fill(page.intro, subject.words)),
            "sections": views,
            "has_charts": has_charts,
            "scripts": _scripts(has_charts=has_charts, has_filters=bool(filters)),
            "figures": _figures(views, used),
            "filters": filters,
            "banners": _banners(page, subject),
            "crumbs": _crumbs(site, page, subject, path),
            "tabs": _tabs(site, page, subject, path),
            "root": root,
            "has_console": site.has_console,
            "made_at": f"{site.now:%Y-%m-%d %H:%M}" if site.now else "",
            "version": __version__,
        },
    )


def _figures(views: Sequence[SectionView], used: Mapping[str, Any]) -> str:
    """What scripts show of a page, packed: its charts in their order, the rows of its sections as CSV, long notes, and
    what its queries need.
    """
    shown = {
        "charts": [panel.spec for each in views for panel in each.charts],
        "csv": {each.id: each.csv for each in views if each.csv},
        "notes": {each.id: [fold.texts for fold in each.folds] for each in views if each.are_notes_packed},
        "params": [(name, visible(_shown_value(value))) for name, value in used.items()],
        "command": visible(_command(used)),
    }
    return packed({name: value for name, value in shown.items() if value}, level=9) if any(shown.values()) else ""


def _filters(site: Site, page: Page, subject: Subject) -> dict[str, str] | None:
    """What the script for filters needs to know; `None` if the page has none, or its run no debate to filter."""
    if not page.filters or subject.run is None or not subject.run.count_decided:
        return None
    pages = [path_of(each, subject.words) for each in site.pages if each.filters]
    return {"outcomes": outcomes_name(subject.run.tag), "kinds": " ".join(page.filters), "pages": " ".join(pages)}


def _scripts(*, has_charts: bool, has_filters: bool) -> list[str]:
    """The scripts of a page in their order: those that others use come first."""
    charts, filters = ["charts.js"] if has_charts else [], _FILTER_SCRIPTS if has_filters else ()
    return ["data.js", *charts, "tables.js", "figures.js", *filters]


def _used_params(page: Page, subject: Subject) -> dict[str, Any]:
    """The parameters that the queries of a page use."""
    uses = {name: re.compile(rf"\${name}\b") for name in subject.params}
    return {
        name: value
        for name, value in subject.params.items()
        if any(uses[name].search(section.query) for section in _asked(page))
    }


def _sentences(answer: Section, result: _Result) -> list[str]:
    """The sentences of an answer. Raises `ConfigError` where its query does not return any such column."""
    if "answer" not in result.columns:
        raise ConfigError(f"{answer.source}: the query returns no column 'answer'.")
    return [str(row["answer"]) for row in result.rows if row["answer"] is not None]


def _shown_value(value: Any) -> str:
    match value:
        case None:
            return "null"
        case str():
            return f"'{value}'"
        case _:
            return _as_text(value)


def _as_text(value: Any) -> str:
    """A parameter as DuckDB reads it from text."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _command(used: Mapping[str, Any]) -> str:
    """How to run the queries of a page without the page; empty for a list that is too long to be typed."""
    if any(isinstance(value, list) and len(value) > _MOST_TYPED for value in used.values()):
        return ""
    given = {name: value for name, value in used.items() if value is not None}
    words = [f"--param {name}={quote(_as_text(value))}" for name, value in given.items()]
    return " ".join(["debatebench query --file FILE", *words])


def _linker(site: Site, subject: Subject, path: str) -> Link:
    """A function for the links of cells on the page at `path`."""
    root = "../" * path.count("/")
    pages = {page.for_each: page for page in reversed(site.pages)}
    runs = {run.tag: run for run in site.runs}
    own = {"run_tag": subject.run.tag} if subject.run else {}

    def link(kind: ForEach | Literal["debate", "debates", "file"], row: Row) -> str | None:
        if kind == "comparison":
            compared = Compared(*(str(row.get(name)) for name in Compared._fields))
            page = pages.get("comparison")
            return relative(path, path_of(page, compared.words)) if page and compared in site.comparisons else None
        if kind == "file":
            return relative(path, str(row["path"])) if re.fullmatch(_DOWNLOAD, str(row["path"])) else None
        if kind == "debates":
            return _debates_link(root, runs, {"run": own.get("run_tag"), **row})
        if kind == "debate":
            facets = {"run": row.get("run_tag", own.get("run_tag")), "debate": row.get("debate_id")}
            return None if facets["debate"] is None else _debates_link(root, runs, facets)
        page = pages.get(kind)
        words = {name: row.get(name, own.get(name)) for name in KINDS[kind].path}
        run = runs.get(words["run_tag"])
        if page is None or run is None:
            return None
        if kind == "debater" and words["model_id"] not in run.debaters:
            return None
        return relative(path, path_of(page, words))

    return link


def _debates_link(root: str, runs: Container[str], facets: Row) -> str | None:
    """Where the debates with these facets are, if their run is one of the site."""
    tag = facets.get("run")
    others = {name: value for name, value in facets.items() if name != "run"}
    return debates_link(root, run_tag=str(tag), **others) if tag in runs else None


def _banners(page: Page, subject: Subject) -> list[str]:
    """Warnings that every reader should see: simulated runs, and judges that judged themselves or not at all."""
    runs = subject.runs
    of_runs = len(runs) > 1
    banners = []
    if simulated := [run.tag for run in runs if run.is_simulated]:
        were = "were" if len(simulated) > 1 else "was"
        said = _capitalised(_named_runs(simulated)) if of_runs else "This run"
        it_says = "they say" if len(simulated) > 1 else "it says"
        banners.append(
            f"{said} {were} made with simulated debaters and judges, so {it_says} nothing about real models."
        )
    if overlapping := [run.tag for run in runs if run.allows_judge_overlap]:
        where = _named_runs(overlapping) if of_runs else "this run"
        banners.append(f"In {where}, debaters were also judges, so a judge may have judged itself or its opponents.")
    banners += [f"Run '{run.tag}': {text}" if of_runs else text for run in runs for text in run.warnings]
    return banners


def _named_runs(tags: Sequence[str]) -> str:
    names = listed([f"'{tag}'" for tag in tags], _MOST_NAMED)
    return f"{'runs' if len(tags) > 1 else 'run'} {names}"


def _capitalised(text: str) -> str:
    return text[:1].upper() + text[1:]


def _crumbs(site: Site, page: Page, subject: Subject, path: str) -> list[tuple[str, str]]:
    """The links back to the index, and from a part of a run to the run."""
    crumbs = [] if page.path == "index.html" else [("Overview", relative(path, "index.html"))]
    first = next((each for each in site.pages if each.for_each == "run"), None)
    overview = next((each for each in site.pages if each.name == "comparison"), None)
    if page.for_each == "comparison" and overview:
        crumbs.append((overview.nav or overview.title, relative(path, overview.path)))
    if KINDS[page.for_each].split_by and first and subject.run:
        crumbs.append((f"Run {subject.run.tag}", relative(path, path_of(first, {"run_tag": subject.run.tag}))))
    return crumbs


def _tabs(site: Site, page: Page, subject: Subject, path: str) -> list[tuple[str, str, bool]]:
    """The links to the pages of the same run, or else of the whole site, and which of them is this page."""
    kind: ForEach = "run" if subject.run and page.for_each != "site" else "site"
    pages = [each for each in site.pages if each.nav and (each.for_each == kind or each.path == DEBATES_PAGE)]
    if len(pages) < 2:
        return []
    return [(each.nav or "", _tab_link(each, subject, kind, path), each is page) for each in pages]


def _tab_link(page: Page, subject: Subject, kind: ForEach, path: str) -> str:
    """Where a tab leads: to a page, or from the pages of a run to its debates."""
    if page.path == DEBATES_PAGE and kind == "run" and subject.run:
        return debates_link("../" * path.count("/"), run_tag=subject.run.tag)
    return relative(path, path_of(page, subject.words))
