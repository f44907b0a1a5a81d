"""What a site is about: its title, its runs, the run on its front page, and what it compares.

Options of `report` choose it, and `reports/site.yml` of a workspace does where there is no option:

    title: Spring models
    runs: [spring, autumn]
    front: spring
    compare:
      - [autumn, spring]
      - [v1, v2]

Without a choice, the site has every run that is not excluded, its front is the pinned run or the newest tournament, and
the comparisons are those of `_suggested`.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import duckdb

from debatebench.config.setting import Setting, read_file
from debatebench.output.report.subjects import QUERY_TIMEOUT_S, Compared, RunPages
from debatebench.query.comparison import check_apart, find_subject
from debatebench.query.relations import has_relation
from debatebench.query.run_tags import default_order, is_pinned, pick_run_tag
from debatebench.query.safe_query import run_query
from debatebench.shared.amounts import listed
from debatebench.shared.errors import ConfigError, UsageError

SITE_FILE = "site.yml"
MOST_SUGGESTED = 12
"""The most comparisons that have a page without being chosen."""

_LONGEST_TITLE = 200
_MOST_NAMED = 10
# Of each pair of runs the older one first. A run that judges stored debates again is compared with the run that held
# them, any other with the newest older one that is like for like with it, or else that has a rated debater in common.
_PAIRS = """
select verdicts.baseline, verdicts.candidate
from marts.comparability_verdicts as verdicts
inner join marts.runs as baselines on verdicts.baseline = baselines.run_tag
inner join marts.runs as candidates on verdicts.candidate = candidates.run_tag
where
    verdicts.baseline_kind = 'run'
    and verdicts.candidate_kind = 'run'
    and list_contains($run_tags::varchar[], verdicts.baseline)
    and list_contains($run_tags::varchar[], verdicts.candidate)
    and list_position($run_tags::varchar[], verdicts.baseline) > list_position($run_tags::varchar[], verdicts.candidate)
    and case candidates.kind
        when 'judged_again' then baselines.run_tag = candidates.source_run_tag
        else baselines.kind in ('tournament', 'import') and candidates.kind in ('tournament', 'import')
    end
    and exists (
        select 1
        from ratings.bradley_terry as before
        inner join ratings.bradley_terry as after using (model_id)
        where before.run_tag = verdicts.baseline and after.run_tag = verdicts.candidate
    )
qualify
    row_number() over (
        partition by verdicts.candidate
        order by
            verdicts.verdict = 'like_for_like' desc,
            list_position($run_tags::varchar[], verdicts.baseline)
    ) = 1
order by
    list_position(['like_for_like', 'unknown', 'not_like_for_like'], verdicts.verdict),
    list_position($run_tags::varchar[], verdicts.candidate)
"""
_VERSIONS = """
select pool, list(run_tag) as run_tags
from intermediate.int_pool_members as pool_members
where
    pool_kind = 'version'
    and exists (
        select 1
        from ratings.bradley_terry_pooled as ratings
        where ratings.pool_kind = 'version' and ratings.pool = pool_members.pool
    )
group by pool
order by min(created_at) nulls first, pool
"""


@dataclass(frozen=True, slots=True)
class Choice:
    """What is chosen for a site; `None` and nothing mean the default.

    `comparisons` are pairs of names of runs or benchmark versions, the baseline first. `file` is `site.yml`, if there
    is one, and `of_file` are the fields that it states.
    """

    run_tags: Sequence[str] | None = None
    comparisons: Sequence[tuple[str, str]] = ()
    title: str | None = None
    front: str | None = None
    file: str = ""
    of_file: frozenset[str] = frozenset()


def read_choice(path: Path) -> Choice:
    """The choice that `site.yml` states. Raises `ConfigError` for a file that cannot be used."""
    file = read_file(path)
    file.allow(("title", "runs", "front", "compare"))
    runs, front = file.at_key("runs"), file.at_key("front")
    if runs.is_given and not list(runs.items()):
        runs.refuse("a list of run tags")
    return Choice(
        run_tags=[run.name() for run in runs.items()] if runs.is_given else None,
        comparisons=[_pair(pair) for pair in file.at_key("compare").items()],
        title=_title(file.at_key("title")),
        front=front.name() if front.is_given else None,
        file=str(path),
        of_file=frozenset({"run_tags", "comparisons", "title", "front"}),
    )


def _pair(setting: Setting) -> tuple[str, str]:
    names = [name.name() for name in setting.items()]
    if len(names) != 2:
        setting.refuse("a list of two runs or benchmark versions, the baseline first")
    return names[0], names[1]


def _title(setting: Setting) -> str | None:
    title = setting.optional_text()
    if title is not None and len(title) > _LONGEST_TITLE:
        setting.refuse(f"at most {_LONGEST_TITLE} characters")
    return title


def combined(options: Choice, file: Choice | None) -> Choice:
    """What `options` choose, and what the file chooses where they do not.

    With runs of the options, the front and the comparisons of the file count only where they are about these runs.
    """
    if file is None:
        return options
    front, pairs = file.front, list(file.comparisons)
    if options.run_tags is not None:
        front = front if front in options.run_tags else None
        pairs = [pair for pair in pairs if set(pair) <= set(options.run_tags)]
    given = {
        "run_tags": options.run_tags is not None,
        "comparisons": bool(options.comparisons),
        "title": options.title is not None,
        "front": options.front is not None,
    }
    return Choice(
        run_tags=options.run_tags if given["run_tags"] else file.run_tags,
        comparisons=options.comparisons if given["comparisons"] else pairs,
        title=options.title if given["title"] else file.title,
        front=options.front if given["front"] else front,
        file=file.file,
        of_file=frozenset(name for name, is_given in given.items() if not is_given),
    )


@contextmanager
def _in_file(choice: Choice, field: str, key: str) -> Iterator[None]:
    """Name the file and the key in errors about a field that comes from there."""
    try:
        yield
    except UsageError as error:
        if field not in choice.of_file:
            raise
        raise ConfigError(f"{choice.file}: {key}: {error}") from error


def wanted_runs(con: duckdb.DuckDBPyConnection, choice: Choice) -> list[str] | None:
    """The tags of the runs that get pages; `None` means all that are not excluded.

    Raises `UsageError` for a tag that is no run.
    """
    if choice.run_tags is None:
        return None
    with _in_file(choice, "run_tags", "runs"):
        return [pick_run_tag(con, run_tag) for run_tag in dict.fromkeys(choice.run_tags)]


def front_run(con: duckdb.DuckDBPyConnection, choice: Choice, runs: Sequence[RunPages]) -> RunPages | None:
    """The run that the pages of the whole site are about, of the runs of the site; `None` if it has none.

    By default that is the run that was pinned last, else the tournament that commands mean where none is named, else
    another run. Raises `UsageError` if the chosen one is not in the site.
    """
    by_tag = {run.tag: run for run in runs}
    if choice.front is not None:
        with _in_file(choice, "front", "front"):
            pick_run_tag(con, choice.front)
            if choice.front not in by_tag:
                raise _not_in_site(choice.front, by_tag)
        return by_tag[choice.front]
    meant = [by_tag[tag] for tag in default_order(con) if tag in by_tag]
    if meant and is_pinned(con, meant[0].tag):
        return meant[0]
    tournaments = [run for run in meant if run.kind == "tournament"]
    return next(iter([*tournaments, *meant, *runs]), None)


def _not_in_site(run_tag: str, tags: Collection[str]) -> UsageError:
    return UsageError(
        f"Run '{run_tag}' is not in the site, whose runs are {listed(list(tags), _MOST_NAMED) or 'none'}; --run-tag, "
        f"or `runs` of {SITE_FILE}, names every run of a site."
    )


def comparisons(con: duckdb.DuckDBPyConnection, choice: Choice, runs: Sequence[RunPages]) -> list[Compared]:
    """What the site compares: the chosen pairs in their order, else those that suggest themselves.

    Raises `UsageError` for a name that is no run or version, a pair of the same or with a common run, a pair that
    occurs twice, and a run that is not in the site.
    """
    if not has_relation(con, "marts.comparability_verdicts"):
        return []
    if not choice.comparisons:
        return _suggested(con, [run.tag for run in runs])
    tags = [run.tag for run in runs]
    with _in_file(choice, "comparisons", "compare"):
        found = [_compared(con, *pair, tags) for pair in choice.comparisons]
        for pair in found:
            if found.count(pair) > 1:
                raise UsageError(f"'{pair.baseline}' and '{pair.candidate}' are to be compared twice; name them once.")
    return found


def _compared(con: duckdb.DuckDBPyConnection, baseline: str, candidate: str, tags: Collection[str]) -> Compared:
    sides = [find_subject(con, name) for name in (baseline, candidate)]
    if sides[0] == sides[1]:
        raise UsageError(f"'{baseline}' is to be compared with itself; name two runs or two benchmark versions.")
    check_apart(*sides)
    for side in sides:
        if side.kind == "run" and side.name not in tags:
            raise _not_in_site(side.name, tags)
    return Compared(sides[0].kind, sides[0].name, sides[1].kind, sides[1].name)


def _suggested(con: duckdb.DuckDBPyConnection, run_tags: Sequence[str]) -> list[Compared]:
    """Each run against an older one, like for like first, and each version of several runs against the one before."""
    if len(run_tags) < 2:
        return []
    pairs = run_query(con, _PAIRS, {"run_tags": list(run_tags)}, limit=None, timeout_s=QUERY_TIMEOUT_S).rows
    versions = [
        (name, tags)
        for name, tags in run_query(con, _VERSIONS, limit=None, timeout_s=QUERY_TIMEOUT_S).rows
        if set(tags) <= set(run_tags)
    ]
    found = [
        Compared("version", before, "version", after)
        for (before, runs_before), (after, runs_after) in pairwise(versions)
        if len(runs_before) + len(runs_after) > 2
    ]
    return [*(Compared("run", before, "run", after) for before, after in pairs), *found][:MOST_SUGGESTED]
