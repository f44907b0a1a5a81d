"""Pages and runs → HTML, page by page."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from shlex import quote
from typing import TYPE_CHECKING, Any, NamedTuple

from debatebench.output.report.html import render
from debatebench.output.report.page import Page, Section
from debatebench.output.report.sections import Link, Row, paragraphs, view
from debatebench.query.left_out import left_out
from debatebench.query.run_tags import default_order, pick_run_tag
from debatebench.query.safe_query import QueryResult, run_query
from debatebench.shared.amounts import listed
from debatebench.shared.errors import ConfigError, DamagedDataError, DebatebenchError
from debatebench.shared.version import __version__

if TYPE_CHECKING:
    import duckdb
    from jinja2 import Environment

_TIMEOUT_S = 600.0
_SAFE_TAG = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")
_SAFE_ID = re.compile(r"[a-z0-9][a-z0-9_-]{0,63}")
_RUNS = """
select run_tag, is_simulated, allows_judge_overlap, count_decided, kind in ('tournament', 'import') as is_original
from marts.runs
where case when $run_tags is null then not is_excluded else list_contains($run_tags::varchar[], run_tag) end
order by created_at desc nulls last, run_tag
"""
_DEBATES = """
select debate_id, coalesce(motion, topic_id) as motion
from marts.debates
where run_tag = $run_tag
order by coalesce(schedule_position, source_position), debate_id
"""
_MOST_NAMED = 5


@dataclass(frozen=True, slots=True)
class RunPages:
    """A run that has pages. `debates` are the debates with their own page: id → motion.

    `is_original` is whether it holds debates of its own, and does not judge those of another run.
    """

    tag: str
    slug: str
    debates: Mapping[str, str]
    is_simulated: bool
    allows_judge_overlap: bool
    count_decided: int
    is_original: bool
    warnings: Sequence[str]


@dataclass(frozen=True, slots=True)
class Site:
    """Everything that pages are made from. `runs` are newest first; `now` is naive UTC."""

    con: duckdb.DuckDBPyConnection
    jinja: Environment
    pages: Sequence[Page]
    runs: Sequence[RunPages]
    warehouse: str
    now: datetime


class _Place(NamedTuple):
    """Which page of the site it is: its run and debate, and the run that was made before that run."""

    page: Page
    run: RunPages | None
    debate_id: str | None
    previous: RunPages | None = None


class _Result(NamedTuple):
    """The results of the queries of a section."""

    columns: Sequence[str]
    rows: Sequence[Row]
    notes: Sequence[str]


def find_runs(con: duckdb.DuckDBPyConnection, pages: Sequence[Page], run_tags: Sequence[str] | None) -> list[RunPages]:
    """The runs that get pages, newest first: `run_tags`, or all that are not excluded.

    Raises `UsageError` for a tag of `run_tags` that is no run.
    """
    for run_tag in run_tags or ():
        pick_run_tag(con, run_tag)
    wanted = None if run_tags is None else list(run_tags)
    found = run_query(con, _RUNS, {"run_tags": wanted}, limit=None, timeout_s=_TIMEOUT_S).rows
    most = max((page.limit for page in pages if page.for_each == "debate"), default=0)
    runs = []
    for tag, is_simulated, allows_judge_overlap, count_decided, is_original in found:
        debates = run_query(con, _DEBATES, {"run_tag": tag}, limit=most, timeout_s=_TIMEOUT_S)
        warnings = [each.explanation for each in left_out(con, tag) if each.is_warning]
        slug = _slug(tag, _SAFE_TAG)
        pages_of = dict(debates.rows)
        runs.append(
            RunPages(tag, slug, pages_of, is_simulated, allows_judge_overlap, count_decided, is_original, warnings)
        )
    return runs


def _slug(name: str, safe: re.Pattern[str]) -> str:
    """A name for files and URLs: the name itself if it is valid there, else its hash."""
    return name if safe.fullmatch(name) else hashlib.sha256(name.encode("utf-8", "replace")).hexdigest()[:20]


def render_pages(site: Site) -> Iterator[tuple[str, str]]:
    """Every page of the site: its path and its HTML."""
    site = replace(site, pages=_shown_pages(site))
    for page in site.pages:
        if page.for_each == "site":
            first = _first(site)
            yield _single(site, _Place(page, first, None, _previous(site, first)))
        elif page.for_each == "run":
            for run in site.runs:
                yield _single(site, _Place(page, run, None, _previous(site, run)))
        else:
            for run in site.runs:
                yield from _debates(site, page, run)


def _first(site: Site) -> RunPages | None:
    """The run that pages of the whole site are about: the one that commands mean where none is named."""
    runs = {run.tag: run for run in site.runs}
    meant = [runs[tag] for tag in default_order(site.con) if tag in runs]
    return next(iter([*meant, *site.runs]), None)


def _previous(site: Site, run: RunPages | None) -> RunPages | None:
    """The run that was made before another one, among runs with rated debates of their own."""
    older = site.runs[site.runs.index(run) + 1 :] if run else []
    return next((each for each in older if each.count_decided and each.is_original), None)


def _shown_pages(site: Site) -> list[Page]:
    """The pages for which the site has enough runs, and what they need."""
    enough = [page for page in site.pages if len(site.runs) >= page.least_runs]
    params = {"run_tags": _run_tags(site)}
    return [page for page in enough if page.needs is None or _ask(site, page.needs, params, 1).rows]


def _run_tags(site: Site) -> list[str]:
    return [run.tag for run in site.runs]


def _single(site: Site, place: _Place) -> tuple[str, str]:
    """A page whose queries run only for this page."""
    params = {
        "run_tag": place.run.tag if place.run else None,
        "previous_run_tag": place.previous.tag if place.previous else None,
        "run_tags": _run_tags(site),
        "linked_debates": len(place.run.debates) if place.run else 0,
    }
    return _page(site, place, [_ask(site, section, params, section.limit) for section in place.page.sections])


def _debates(site: Site, page: Page, run: RunPages) -> Iterator[tuple[str, str]]:
    """The pages of a run's debates; each query runs once for all of them."""
    params = {"run_tag": run.tag, "debate_ids": list(run.debates)}
    results = [_by_debate(section, _ask(site, section, params, None)) for section in page.sections]
    for debate_id in run.debates:
        yield _page(site, _Place(page, run, debate_id), [result(debate_id) for result in results])


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
        return run_query(site.con, sql, named, limit=limit, timeout_s=_TIMEOUT_S)
    except DamagedDataError:
        raise
    except DebatebenchError as error:
        raise ConfigError(f"{section.source}: section '{section.id}': {error}") from error


def _by_debate(section: Section, result: _Result) -> Callable[[str], _Result]:
    """The rows of a result that belong to one debate."""
    if section.query and "debate_id" not in result.columns:
        raise ConfigError(
            f"{section.source}: the query of section '{section.id}' returns no column 'debate_id', which a page for "
            "each debate needs."
        )
    rows: dict[str, list[Row]] = {}
    for row in result.rows:
        rows.setdefault(row["debate_id"], []).append(row)
    columns = [column for column in result.columns if column != "debate_id"]
    shown = {key: [{name: row[name] for name in columns} for row in own] for key, own in rows.items()}
    return lambda debate_id: _Result(columns, shown.get(debate_id, []), ())


# --- one page ---------------------------------------------------------------------------------------------------------


def _page(site: Site, place: _Place, results: Sequence[_Result]) -> tuple[str, str]:
    page, path = place.page, _path(place.page, place.run, place.debate_id)
    words = _words(place)
    views = []
    for section, result in zip(page.sections, results, strict=True):
        if section.hide_when_empty and not result.rows:
            continue
        named = replace(section, title=_fill(section.title, words), text=_fill(section.text, words))
        views.append(view(named, result.columns, result.rows, result.notes, _linker(site, place, path)))
    root = "../" * path.count("/")
    return path, render(
        site.jinja,
        "page.html",
        {
            "title": _fill(page.title, words),
            "paragraphs": paragraphs(_fill(page.intro, words)),
            "sections": views,
            "has_charts": any(each.charts for each in views),
            "banners": _banners(site, place),
            "crumbs": _crumbs(site, place, root),
            "tabs": _tabs(site, place, root),
            "root": root,
            "params": _params(site, place),
            "command": _command(site, place),
            "warehouse": site.warehouse,
            "made_at": f"{site.now:%Y-%m-%d %H:%M}",
            "version": __version__,
        },
    )


def _path(page: Page, run: RunPages | None, debate_id: str | None) -> str:
    slugs = {"run_tag": run.slug if run else "", "debate_id": "" if debate_id is None else _slug(debate_id, _SAFE_ID)}
    return _fill(page.path, slugs)


def _words(place: _Place) -> dict[str, str]:
    """Placeholder of titles and texts → its replacement."""
    words = {
        "run_tag": place.run.tag if place.run else "",
        "previous_run_tag": place.previous.tag if place.previous else "",
    }
    if place.run and place.debate_id is not None:
        words |= {"debate_id": place.debate_id, "motion": place.run.debates[place.debate_id]}
    return words


def _fill(text: str, words: Mapping[str, str]) -> str:
    """Replace each `{name}` by its word, in one pass: placeholders inside a word are not replaced."""
    return re.sub(r"\{(\w+)\}", lambda found: words.get(found[1], found[0]), text)


def _params(site: Site, place: _Place) -> list[tuple[str, str]]:
    """The values of a page's parameters, as text."""
    params = [("run_tag", f"'{place.run.tag}'")] if place.run and _names_run(place.page) else []
    if place.previous and _uses(place.page, "previous_run_tag"):
        params.append(("previous_run_tag", f"'{place.previous.tag}'"))
    if _uses(place.page, "run_tags"):
        params.append(("run_tags", _list_text(_run_tags(site))))
    if place.page.for_each == "debate":
        params.append(("debate_ids", "the ids of the debates that have a page"))
    return params


def _names_run(page: Page) -> bool:
    """Whether a page is about one run, and not only about those of the site."""
    return _uses(page, "run_tag") or not _uses(page, "run_tags")


def _uses(page: Page, name: str) -> bool:
    return any(re.search(rf"\${name}\b", section.query) for section in page.sections)


def _list_text(values: Sequence[str]) -> str:
    """A list of texts as DuckDB reads one from text."""
    return json.dumps(values, ensure_ascii=False)


def _command(site: Site, place: _Place) -> str:
    """How to run the queries of a page without the page; empty for debates, whose ids are too many."""
    if place.run is None or place.debate_id is not None:
        return ""
    words = ["debatebench query --file FILE"]
    if _uses(place.page, "run_tags"):
        words.append(f"--param run_tags={quote(_list_text(_run_tags(site)))}")
    if _names_run(place.page):
        words.append(f"--param run_tag={quote(place.run.tag)}")
    return " ".join(words)


def _linker(site: Site, place: _Place, path: str) -> Link:
    """A function for the links of cells on the page at `path`."""
    root = "../" * path.count("/")
    pages = {kind: next((p for p in site.pages if p.for_each == kind), None) for kind in ("run", "debate")}
    runs = {run.tag: run for run in site.runs}

    def link(kind: str, row: Row) -> str | None:
        page = pages.get(kind)
        run = runs.get(row.get("run_tag", place.run.tag if place.run else ""))
        debate_id = row.get("debate_id") if kind == "debate" else None
        if page is None or run is None or (kind == "debate" and debate_id not in run.debates):
            return None
        return root + _path(page, run, debate_id)

    return link


def _banners(site: Site, place: _Place) -> list[str]:
    """Warnings that every reader should see: simulated runs, and judges that judged themselves or not at all."""
    runs = [place.run] if place.run and place.page.for_each != "site" else list(site.runs)
    banners = []
    if simulated := [run.tag for run in runs if run.is_simulated]:
        were = "were" if len(simulated) > 1 else "was"
        subject = "This run" if len(runs) == 1 else _capitalised(_named_runs(simulated))
        it_says = "they say" if len(simulated) > 1 else "it says"
        banners.append(
            f"{subject} {were} made with simulated debaters and judges, so {it_says} nothing about real models."
        )
    if overlapping := [run.tag for run in runs if run.allows_judge_overlap]:
        where = "this run" if len(runs) == 1 else _named_runs(overlapping)
        banners.append(f"In {where}, debaters were also judges, so a judge may have judged itself or its opponents.")
    of_runs = len(runs) > 1
    banners += [f"Run '{run.tag}': {text}" if of_runs else text for run in runs for text in run.warnings]
    return banners


def _named_runs(tags: Sequence[str]) -> str:
    names = listed([f"'{tag}'" for tag in tags], _MOST_NAMED)
    return f"{'runs' if len(tags) > 1 else 'run'} {names}"


def _capitalised(text: str) -> str:
    return text[:1].upper() + text[1:]


def _crumbs(site: Site, place: _Place, root: str) -> list[tuple[str, str]]:
    """The links back to the index."""
    if place.page.for_each == "site":
        return [] if place.page.path == "index.html" else [("Overview", f"{root}index.html")]
    crumbs = [("Overview", f"{root}index.html")]
    first = next((page for page in site.pages if page.for_each == "run"), None)
    if place.page.for_each == "debate" and first and place.run:
        crumbs.append((f"Run {place.run.tag}", root + _path(first, place.run, None)))
    return crumbs


def _tabs(site: Site, place: _Place, root: str) -> list[tuple[str, str, bool]]:
    """The links to the pages of the same run, and which of them is this page."""
    kind = "site" if place.page.for_each == "site" else "run"
    pages = [page for page in site.pages if page.for_each == kind and page.nav]
    if len(pages) < 2:
        return []
    return [(page.nav or "", root + _path(page, place.run, None), page is place.page) for page in pages]
