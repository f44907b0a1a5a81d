"""What pages are about: the whole site, a run, a comparison, a debater of a run."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any, NamedTuple

import duckdb
from jinja2 import Environment

from debatebench.output.report.page import ForEach, Page
from debatebench.output.report.stored_once import StoredOnce
from debatebench.query.left_out import left_out
from debatebench.query.safe_query import run_query

QUERY_TIMEOUT_S = 600.0

_SAFE_TAG = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")
_SAFE_NAME = re.compile(r"[a-z0-9][a-z0-9._-]{0,99}")
_RUNS = """
select run_tag, kind, is_simulated, allows_judge_overlap, count_decided
from marts.runs
where case when $run_tags is null then not is_excluded else list_contains($run_tags::varchar[], run_tag) end
order by created_at desc nulls last, run_tag
"""
_MEMBERS = "select kind, subject, run_tag from intermediate.int_comparison_members"
_DEBATERS = """
select model_id
from marts.leaderboard
where run_tag = $run_tag
order by format desc, rank, model_id
"""


@dataclass(frozen=True, slots=True)
class RunPages:
    """A run that has pages.

    `kind` is that of `marts.runs`.
    """

    tag: str
    kind: str
    debaters: Sequence[str]
    is_simulated: bool
    allows_judge_overlap: bool
    count_decided: int
    warnings: Sequence[str]


class Compared(NamedTuple):
    """A comparison of two runs or benchmark versions. A kind is `run` or `version`."""

    baseline_kind: str
    baseline: str
    candidate_kind: str
    candidate: str

    @property
    def words(self) -> dict[str, str]:
        """What both are called in titles and paths: a run by its tag, a version with the word before it."""
        kinds = {"baseline": self.baseline_kind, "candidate": self.candidate_kind}
        names = {"baseline": self.baseline, "candidate": self.candidate}
        return {side: name if kinds[side] == "run" else f"version {name}" for side, name in names.items()}

    @property
    def name(self) -> str:
        """What the pair is called, as `macros.comparison_name` says it."""
        return f"{self.words['candidate']} against {self.words['baseline']}"


@dataclass(frozen=True, slots=True)
class Site:
    """Everything that pages are made from.

    `runs` are newest first, and `front` is the one that the pages of the whole site are about. `title` is what the site
    is called. With `journals`, the folder of journals, it has the raw replies to all requests. `now` is the time that
    pages state, as naive UTC; None if there is none. `downloads` are the marts that it
    has as files, and the queries for their rows.
    """

    con: duckdb.DuckDBPyConnection
    jinja: Environment
    pages: Sequence[Page]
    runs: Sequence[RunPages]
    now: datetime | None
    front: RunPages | None = None
    comparisons: Sequence[Compared] = ()
    title: str = "debatebench"
    journals: Path | None = None
    has_console: bool = False
    downloads: Mapping[str, str] = field(default_factory=dict)
    stored: StoredOnce | None = None
    """What queries read from, if the site has most of the debates."""

    def reading(self, sql: str) -> duckdb.DuckDBPyConnection:
        """The connection for a query."""
        return self.con if self.stored is None else self.stored.reading(sql) or self.con


@dataclass(frozen=True, slots=True)
class Subject:
    """What one page is about.

    `words` replace the placeholders of path, title and texts, `params` are the values that its queries may use. `runs`
    are those whose warnings the page shows; `run` is the one that a cell means that names no run. In a page whose
    queries run for all pages of a run, the rows of this page are those with `key` in the column `split_by` of its kind.
    """

    words: Mapping[str, str] = field(default_factory=dict)
    params: Mapping[str, Any] = field(default_factory=dict)
    runs: Sequence[RunPages] = ()
    run: RunPages | None = None
    key: str | None = None


def find_runs(con: duckdb.DuckDBPyConnection, run_tags: Sequence[str] | None) -> list[RunPages]:
    """The runs that get pages, newest first: `run_tags`, or all that are not excluded."""
    wanted = None if run_tags is None else list(run_tags)
    found = run_query(con, _RUNS, {"run_tags": wanted}, limit=None, timeout_s=QUERY_TIMEOUT_S).rows
    runs = []
    for tag, kind, is_simulated, allows_judge_overlap, count_decided in found:
        debaters = run_query(con, _DEBATERS, {"run_tag": tag}, limit=None, timeout_s=QUERY_TIMEOUT_S).rows
        warnings = [each.explanation for each in left_out(con, tag) if each.is_warning]
        runs.append(
            RunPages(
                tag=tag,
                kind=kind,
                debaters=[model_id for (model_id,) in debaters],
                is_simulated=is_simulated,
                allows_judge_overlap=allows_judge_overlap,
                count_decided=count_decided,
                warnings=warnings,
            )
        )
    return runs


def subjects(site: Site, page: Page) -> Iterator[list[Subject]]:
    """What the pages of a kind are about. The queries of a page run once for the subjects of each list."""
    yield from _FINDERS[page.for_each](site)


def path_of(page: Page, words: Mapping[str, str]) -> str:
    """Where the page about the subject with these words is, relative to the site."""
    slugs = {name: run_slug(word) if name == "run_tag" else slug(word) for name, word in words.items()}
    return fill(page.path, slugs)


def fill(text: str, words: Mapping[str, str]) -> str:
    """Replace each `{name}` by its word, in one pass: placeholders inside a word are not replaced."""
    return re.sub(r"\{(\w+)\}", lambda found: words.get(found[1], found[0]), text)


def run_slug(run_tag: str) -> str:
    """The name of a run in files and URLs: the tag itself if it is valid there."""
    return run_tag if _SAFE_TAG.fullmatch(run_tag) else slug(run_tag)


def slug(name: str) -> str:
    """A name for files and URLs: the name itself if it is valid there and has no capital letters, else a hash with it.

    Two names that differ only in case are the same file on some systems.
    """
    if _SAFE_NAME.fullmatch(name):
        return name
    plain = re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")[:40]
    digest = hashlib.sha256(name.encode("utf-8", "replace")).hexdigest()[:16]
    return f"{plain}-{digest}" if plain else digest


def _whole_site(site: Site) -> Iterator[list[Subject]]:
    yield [_of_run(site, site.front, site.runs)]


def _runs(site: Site) -> Iterator[list[Subject]]:
    for run in site.runs:
        yield [_of_run(site, run, (run,))]


def _of_run(site: Site, run: RunPages | None, shown: Sequence[RunPages]) -> Subject:
    tag = run.tag if run else None
    params = {
        "run_tag": tag,
        "run_tags": run_tags(site),
        "comparisons": _listed(site),
        "downloads": list(site.downloads),
    }
    return Subject({"run_tag": tag or ""}, params, shown, run)


def _comparisons(site: Site) -> Iterator[list[Subject]]:
    params = {"comparisons": _listed(site), "run_tags": run_tags(site)}
    members: dict[tuple[str, str], set[str]] = {}
    for kind, name, tag in run_query(site.con, _MEMBERS, limit=None, timeout_s=QUERY_TIMEOUT_S).rows:
        members.setdefault((kind, name), set()).add(tag)
    found = []
    for each in site.comparisons:
        tags = members[each.baseline_kind, each.baseline] | members[each.candidate_kind, each.candidate]
        found.append(Subject(each.words, params, [run for run in site.runs if run.tag in tags], key=each.name))
    yield found


def _listed(site: Site) -> list[list[str]]:
    return [list(each) for each in site.comparisons]


def _debaters(site: Site) -> Iterator[list[Subject]]:
    for run in site.runs:
        params = {"run_tag": run.tag, "run_tags": run_tags(site)}
        yield [
            Subject({"run_tag": run.tag, "model_id": model_id}, params, (run,), run, model_id)
            for model_id in run.debaters
        ]


_FINDERS: dict[ForEach, Callable[[Site], Iterator[list[Subject]]]] = {
    "site": _whole_site,
    "run": _runs,
    "comparison": _comparisons,
    "debater": _debaters,
}


def run_tags(site: Site) -> list[str]:
    """The tags of the runs of the site, newest first."""
    return [run.tag for run in site.runs]
