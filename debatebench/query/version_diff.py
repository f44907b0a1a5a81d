"""What changes between two versions of a SQL model: its rows, and the leaderboard that follows from them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import duckdb

from debatebench.query.attached import attached
from debatebench.query.row_diff import ChangedRow, RowDiff, RunCounts, ValueChange
from debatebench.query.safe_query import open_for_reading
from debatebench.shared.duckdb_sql import close_to_outside
from debatebench.shared.errors import SqlModelError, UsageError
from debatebench.transform.create_macros import create_macros
from debatebench.transform.graph import downstream, upstream
from debatebench.transform.model_versions import versions_of
from debatebench.transform.one_query import execute_one
from debatebench.transform.project import Project
from debatebench.transform.sql_model import SqlModel

LEADERBOARD = "marts.leaderboard"
_SIDES = ("before", "after")


@dataclass(frozen=True, slots=True)
class Standing:
    """A debater of a run under both versions; its values are None under a version that does not rate it."""

    run_tag: str
    model_id: str
    rank_before: int | None
    rank_after: int | None
    rating_before: float | None
    rating_after: float | None

    @property
    def difference(self) -> float | None:
        """How much the rating rises from one version to the other."""
        if self.rating_before is None or self.rating_after is None:
            return None
        return self.rating_after - self.rating_before


@dataclass(frozen=True, slots=True)
class ModelDiff:
    """Everything that differs between two versions.

    `key` are the columns by which rows are matched. It is empty if no test of the YAML says that any are unique; then
    whole rows are compared. `columns_changed` counts, for each column, the rows that differ. `leaderboard` is None if
    it cannot differ or could not be computed; `remark` says why.
    """

    name: str
    before: int
    after: int
    key: tuple[str, ...]
    columns_only_before: tuple[str, ...]
    columns_only_after: tuple[str, ...]
    runs: tuple[RunCounts, ...]
    columns_changed: Mapping[str, int]
    values: tuple[ValueChange, ...]
    rows: tuple[ChangedRow, ...]
    leaderboard: tuple[Standing, ...] | None
    remark: str | None

    @property
    def differing_rows(self) -> int:
        """The number of rows added, removed or changed, over all runs."""
        return sum(run.added + run.removed + run.changed for run in self.runs)


def diff_model(
    database: Path,
    project: Project,
    name: str,
    before: int,
    after: int,
    *,
    run_tags: Sequence[str] | None = None,
    limit: int | None = 20,
) -> ModelDiff:
    """Compare versions `before` and `after` of the SQL model `name`, for some runs or for all.

    The warehouse is only read: SQL models that depend on the unsuffixed name are computed twice in memory, once on each
    version. At most `limit` differing rows are returned, ordered by key. Raises `UsageError` for an unknown name,
    version or run, `SqlModelError` if a version cannot be computed.
    """
    models = project.models
    alias, versions = versions_of(models, name)
    for number in (before, after):
        if number not in versions:
            known = ", ".join(map(str, versions))
            raise UsageError(f"{alias.name} has no version {number}. Versions: {known}.")
    if before == after:
        raise UsageError(f"Both versions of {alias.name} are {before}; give two different versions.")
    standing = _standing(database, project, run_tags or ())
    remark = _pinned(models, alias)
    targets = [versions[before].name, versions[after].name]
    from debatebench.stats import sql as udfs

    with attached(database) as con:
        udfs.register(con)
        close_to_outside(con)
        for side, number in zip(_SIDES, (before, after), strict=True):
            with _world(con, side):
                create_macros(con, project.macros)
                _create(con, models, targets, standing)
                if remark is None:
                    try:
                        _create(con, models, [LEADERBOARD], standing, swapped=(alias, versions[number].name))
                    except SqlModelError as error:
                        remark = f"{LEADERBOARD} cannot be computed with version {number}: {error}"
        rows = RowDiff(con, versions[before], versions[after], run_tags)
        return ModelDiff(
            name=alias.name,
            before=before,
            after=after,
            key=rows.key,
            columns_only_before=rows.columns_only_before,
            columns_only_after=rows.columns_only_after,
            runs=rows.runs(),
            columns_changed=rows.columns_changed(),
            values=rows.values(),
            rows=rows.first(limit),
            leaderboard=None if remark else _standings(con, run_tags),
            remark=remark,
        )


def _standing(database: Path, project: Project, run_tags: Sequence[str]) -> set[str]:
    """The SQL models that are in the warehouse as the project defines them."""
    from debatebench.query.run_tags import pick_run_tag
    from debatebench.transform.build_state import definitions, read_builds, relations

    with open_for_reading(database) as con:
        for run_tag in run_tags:
            pick_run_tag(con, run_tag)
        wanted, built, there = definitions(project), read_builds(con), relations(con)
        return {
            name
            for name, row in built.items()
            if name in there and name in project.models and row.definition == wanted[name]
        }


def _pinned(models: Mapping[str, SqlModel], alias: SqlModel) -> str | None:
    """Why the leaderboard does not depend on what the unsuffixed name stands for; None if it may."""
    if LEADERBOARD not in models:
        return f"There is no {LEADERBOARD} in this project."
    above = upstream(models, [LEADERBOARD])
    if alias.name in above:
        return None
    pins = [
        f"{reader} reads {read}"
        for reader in models
        if reader in above
        for read in models[reader].dependencies
        if read in models and (models[read].schema, models[read].base_name) == (alias.schema, alias.base_name)
    ]
    through = f": {', '.join(pins)}, which stays as it is" if pins else ""
    return f"{LEADERBOARD} does not depend on {alias.name}{through}."


# --- two worlds in memory ---------------------------------------------------------------------------------------------


@contextmanager
def _world(con: duckdb.DuckDBPyConnection, side: str) -> Iterator[None]:
    """Create everything inside the block in the world `side`; the world is created if it does not exist."""
    con.execute(f"attach ':memory:' as {side}")
    con.execute(f"use {side}")
    yield
    con.execute("use memory")


def _create(
    con: duckdb.DuckDBPyConnection,
    models: Mapping[str, SqlModel],
    targets: Sequence[str],
    standing: set[str],
    swapped: tuple[SqlModel, str] | None = None,
) -> None:
    """Create `targets` and what they need: each from the warehouse if it is there, else from its SQL.

    `swapped` is an unsuffixed name with the version that it stands for; everything that depends on it is computed
    again.
    """
    from debatebench.transform.build_state import relations

    changed = downstream(models, [swapped[0].name]) if swapped else set()
    needed = upstream(models, targets) | (upstream(models, [swapped[1]]) if swapped else set())
    from_sql = [name for name in models if name in needed and (name in changed or name not in standing)]
    read = {dependency for name in from_sql for dependency in models[name].dependencies}
    there = set(relations(con))
    for name in sorted({*targets, *read} - set(from_sql) - there):
        with _named(name):
            con.execute(f"create schema if not exists {name.partition('.')[0]}")
            con.execute(f"create view {name} as select * from warehouse.{name}")
    for name in from_sql:
        if name in there:
            continue
        sql = f"select * from {swapped[1]}" if swapped and name == swapped[0].name else models[name].query.sql
        with _named(name):
            con.execute(f"create schema if not exists {models[name].schema}")
            execute_one(con, f"{sql}\n", models[name].file, into=f"create {models[name].materialized} {name} as ")


@contextmanager
def _named(name: str) -> Iterator[None]:
    """Within the block, an error of DuckDB becomes one that names the SQL model."""
    try:
        yield
    except duckdb.Error as error:
        message = " ".join(str(error).split("\n\n")[0].split())
        raise SqlModelError(f"SQL model {name} failed: {message}") from None


def _standings(con: duckdb.DuckDBPyConnection, run_tags: Sequence[str] | None) -> tuple[Standing, ...]:
    """Every debater that is rated under at least one version, by run and new rank."""
    rows = con.execute(
        "select run_tag, model_id, b.rank, a.rank, b.rating, a.rating "
        f"from (select * from before.{LEADERBOARD} where rank is not null) as b "
        f"full join (select * from after.{LEADERBOARD} where rank is not null) as a using (run_tag, model_id) "
        "where $1 is null or list_contains($1::varchar[], run_tag) "
        "order by run_tag, a.rank nulls last, b.rank, model_id",
        [None if run_tags is None else list(run_tags)],
    ).fetchall()
    return tuple(Standing(*row) for row in rows)
