"""The warehouse from Python: `import debatebench as db; wh = db.open("warehouse/debatebench.duckdb")`."""

from __future__ import annotations

import os
import warnings
import weakref
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, fields
from datetime import date, datetime
from decimal import Decimal
from functools import cache, cached_property
from pathlib import Path
from types import MappingProxyType, TracebackType
from typing import TYPE_CHECKING, Any, ClassVar

from debatebench.query.duckdb_errors import sql_errors
from debatebench.query.relations import Relation, read_relations
from debatebench.query.safe_query import QueryResult, one_select, open_for_query, run_query
from debatebench.shared.errors import DebatebenchError, HeldWarehouseError, SqlModelError, UsageError
from debatebench.shared.workspace import Workspace, packaged

if TYPE_CHECKING:
    import duckdb

    from debatebench.transform.build_state import BuiltModel
    from debatebench.transform.lineage.descriptions import Descriptions
    from debatebench.transform.lineage.within_query import LineageNode
    from debatebench.transform.project import Project
    from debatebench.transform.sql_model import SqlModel

__all__ = ["ColumnInfo", "ModelInfo", "QueryResult", "RunInfo", "Warehouse", "open"]

_ASKING_FOR = 'params={{"{name}": …}}'


@dataclass(frozen=True, slots=True)
class ColumnInfo:
    """A column of a SQL model. `type` is DuckDB's name of the type; `description` is empty if there is none."""

    name: str
    type: str
    description: str


@dataclass(frozen=True, slots=True)
class ModelInfo:
    """A SQL model as it is in the warehouse.

    `materialized` is `table` or `view`; `rows` is the count of the last build, `None` for a view. `version` is `None`
    for a SQL model without versions; if there are versions, the unsuffixed name is a view on the one in `alias_of`.
    A version with `is_prerelease` can be queried before it may become the latest. `built_at` is naive UTC.
    Descriptions come from the SQL model's YAML; a column without one has that of the column that it comes from.
    """

    name: str
    description: str
    columns: tuple[ColumnInfo, ...]
    materialized: str
    version: int | None
    alias_of: str | None
    is_prerelease: bool
    deprecation_date: date | None
    rows: int | None
    built_at: datetime | None


@dataclass(frozen=True, slots=True)
class RunInfo:
    """A run or import: a row of `marts.runs`, where every column is described.

    `source` is `run` or `import`; `created_at` is naive UTC; `count_planned` is `None` for an import, `cost_usd`
    is `None` if no cost is known. `is_simulated` means that the ratings say nothing about real models.
    """

    run_tag: str
    source: str
    format: str
    benchmark_name: str | None
    benchmark_version: str | None
    rubric_version: str | None
    harness_version: str | None
    git_commit: str | None
    seed: int | None
    created_at: datetime | None
    is_simulated: bool
    allows_judge_overlap: bool | None
    count_debaters: int
    count_judges: int
    count_topics: int
    count_planned: int | None
    count_debates: int
    count_complete: int
    count_incomplete: int
    count_decided: int
    count_verdicts: int
    count_invalid_verdicts: int
    total_tokens: int | None
    cost_usd: Decimal | None


def open(database: str | os.PathLike[str] = "warehouse/debatebench.duckdb", *, memory_limit: str = "2GB") -> Warehouse:
    """Open a warehouse for reading. `database` is its file, or its workspace folder.

    `memory_limit` is the memory that DuckDB may use, in its notation. Raises `UsageError` if there is no warehouse,
    `HeldWarehouseError` if a program has it open for writing, `DamagedDataError` if the file cannot be read. It is a
    `UserWarning` that the warehouse was built from other SQL models or data than its workspace has.
    """
    path = Path(database)
    return Warehouse(Workspace(path).database if path.is_dir() else path, memory_limit=memory_limit)


class Warehouse:
    """A warehouse that is open for reading: `with db.open(…) as wh: wh.sql("…").fetchall()`.

    For every query, also through `connection`: it can read only this file, and nothing else on disk or on the network;
    it cannot change the warehouse or a setting; Python variables are not visible as tables; memory for joins, groups
    and sorts is limited. `query` also limits time and rows; the rows that you fetch from a relation, and the size of a
    single value, are not limited.

    Queries see the warehouse as it was when it was opened. To see runs that were published later, close it and open it
    again. Use a `Warehouse` in only one thread at a time.
    """

    _all_open: ClassVar[weakref.WeakSet[Warehouse]] = weakref.WeakSet()

    def __init__(self, database: Path, *, memory_limit: str = "2GB") -> None:
        self.database = database
        """The file."""
        self._file = _identity(database)
        for other in list(Warehouse._all_open):
            # All DuckDB connections of a process share the file that the first one opened.
            if other._file != self._file and other.database.resolve() == database.resolve():
                raise HeldWarehouseError(
                    f"{database} has been published again, but this process still has the old file open; close it."
                )
        self._con: duckdb.DuckDBPyConnection | None = open_for_query(database, memory_limit=memory_limit)
        # Also at the end of the process, because DuckDB warns on stderr about open connections.
        self._closer = weakref.finalize(self, _close, self._con)
        Warehouse._all_open.add(self)
        try:
            self._lacks_models = self._check_fits()
        except BaseException:
            self.close()
            raise

    def __enter__(self) -> Warehouse:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<Warehouse {self.database}: {self._state()}>"

    def _state(self) -> str:
        if self._con is None:
            return "closed"
        try:
            return f"{len(self.runs)} runs, {len(self._builds)} SQL models"
        except DebatebenchError:
            return "not built"

    def _check_fits(self) -> UsageError | None:
        """Warn if the warehouse does not fit its SQL models; returns why, if it lacks some of this version."""
        from debatebench.warehouse.up_to_date import check_fits

        workspace = self._workspace
        if workspace is None:
            return None
        lacking: UsageError | None = None
        notes: list[str] = []
        try:
            check_fits(workspace, notes.append, con=self.connection)
        except UsageError as error:
            lacking = error
            check_fits(workspace, notes.append, needs_models=False, con=self.connection)
        for text in notes:
            # The caller of `open`.
            warnings.warn(text, stacklevel=4)
        return lacking

    def _check_models(self) -> None:
        """Raise `UsageError` if SQL models of this version are missing, as commands do that read them."""
        if self._lacks_models is not None:
            raise UsageError(str(self._lacks_models))

    def close(self) -> None:
        """Close the file. Relations from `sql` can no longer be read. Closing twice is not an error."""
        self._con = None
        Warehouse._all_open.discard(self)
        self._closer()

    @property
    def connection(self) -> duckdb.DuckDBPyConnection:
        """The DuckDB connection, read-only and locked. Raises `UsageError` if the warehouse is closed."""
        if self._con is None:
            raise UsageError(f"The warehouse {self.database} is closed; open it again.")
        return self._con

    @property
    def is_outdated(self) -> bool:
        """Whether the file on disk is no longer the one that was opened: a publication replaced it, or it is gone."""
        return _identity(self.database) != self._file

    def sql(self, sql: str, params: Mapping[str, Any] | None = None) -> duckdb.DuckDBPyRelation:
        """One SELECT as a DuckDB relation: `.fetchall()`, `.df()`, `.pl()`, `.arrow()`, `.filter(…)`, `.show()`.

        `params` are the values of `$name` in `sql`. The query runs again each time the relation is read;
        `.materialize()` keeps its rows. pandas, polars and pyarrow are needed only for their own results. Raises
        `UsageError` for anything but one SELECT and for parameters that do not fit, `DebatebenchError` for unknown
        names; errors while rows are read are DuckDB's own. Ctrl-C does not stop such a read, because DuckDB 2.0 does
        not check for it; see `query`.
        """
        con = self.connection
        with sql_errors():
            statement, values = one_select(con, sql, params or {}, asking_for=_ASKING_FOR)
            return con.sql(statement, params=values)

    def query(
        self,
        sql: str,
        params: Mapping[str, Any] | None = None,
        *,
        limit: int | None = 1000,
        timeout_s: float | None = 60.0,
    ) -> QueryResult:
        """The rows of one SELECT, at most `limit`, as in `debatebench query`; Ctrl-C and `timeout_s` stop it.

        Raises `UsageError` as `sql` does, and `DebatebenchError` for every other error.
        """
        return run_query(self.connection, sql, params, limit=limit, timeout_s=timeout_s, asking_for=_ASKING_FOR)

    def elo(self, run_tag: str, *, initial: float | None = None, k: float | None = None) -> dict[str, float]:
        """Debater → Elo rating after a run's last game; `initial` and `k` replace the run's own settings.

        The ratings under the run's own settings are in `ratings.elo`. Raises `UsageError` if no run has the tag,
        or if SQL models of this version are missing.
        """
        from debatebench.query.rated_games import read_games
        from debatebench.stats.elo import elo_ratings

        self._check_models()
        with sql_errors():
            games = read_games(self.connection, run_tag)
        ratings = elo_ratings(
            games.pro,
            games.con,
            games.score,
            initial=games.initial if initial is None else initial,
            k=games.k if k is None else k,
            players=len(games.debaters),
        )
        return dict(zip(games.debaters, ratings, strict=True))

    @cached_property
    def runs(self) -> Mapping[str, RunInfo]:
        """Run tag → run or import, in the order in which they were created.

        Raises `UsageError` if SQL models of this version are missing.
        """
        self._check_models()
        columns = ", ".join(field.name for field in fields(RunInfo))
        with sql_errors():
            rows = self.connection.execute(f"select {columns} from marts.runs order by created_at, run_tag").fetchall()
        return MappingProxyType({row[0]: RunInfo(*row) for row in rows})

    @cached_property
    def models(self) -> Mapping[str, ModelInfo]:
        """Dotted name → SQL model, for all that the last build made, sorted by name. Each is described on first access.

        If some of the workspace's own SQL models cannot be read, a `UserWarning` says what is left out, and why.
        """
        from debatebench.transform.broken import why_broken
        from debatebench.transform.lineage.descriptions import Descriptions

        builds, catalogue, described = self._builds, read_relations(self.connection), self._project.models
        if self._project.broken:
            warnings.warn(f"Not described is what is broken: {why_broken(self._project.broken)}", stacklevel=3)
        descriptions = Descriptions(self._project)
        return _Models(
            sorted(name for name in builds if name in catalogue),
            lambda name: _model_info(builds[name], catalogue[name], described.get(name), descriptions),
        )

    def lineage(self, name: str) -> LineageNode:
        """Where `schema.model.column` comes from, through every SQL model down to the landed columns.

        For `schema.model`, the SQL models and landed tables that it reads. It is derived from the SQL files; those of
        the workspace replace the packaged ones. Raises `UsageError` for an unknown name, and `SqlModelError` for a SQL
        model that cannot be read.
        """
        from debatebench.transform.broken import broken_among, why_broken
        from debatebench.transform.lineage.column_lineage import column_lineage

        if broken := broken_among(self._project.broken, (name, name.rpartition(".")[0])):
            raise SqlModelError(why_broken(broken))
        return column_lineage(self._project, name)

    @cached_property
    def _builds(self) -> dict[str, BuiltModel]:
        from debatebench.transform.build_state import read_builds

        with sql_errors():
            return read_builds(self.connection)

    @cached_property
    def _project(self) -> Project:
        """The SQL models of the workspace that contains the file, else the packaged ones."""
        from debatebench.query.sql_project import load_project
        from debatebench.transform.parse_cache import recall_parsed

        with sql_errors():
            recall_parsed(self.connection)
        workspace = self._workspace or Workspace(packaged("sql").parent)
        return load_project(workspace.files("sql", "**/*"), skip_broken=True)

    @property
    def _workspace(self) -> Workspace | None:
        """The workspace whose warehouse the file is; None for a file in another place."""
        path = self.database.resolve()
        workspace = Workspace(path.parent.parent)
        return workspace if workspace.database == path else None


class _Models(Mapping[str, ModelInfo]):
    """SQL models by name. Each is described on first access, because inherited descriptions need the lineage."""

    def __init__(self, names: Sequence[str], describe: Callable[[str], ModelInfo]) -> None:
        self._names = dict.fromkeys(names)
        self._describe = cache(describe)

    def __getitem__(self, name: str) -> ModelInfo:
        if name not in self._names:
            raise KeyError(name)
        return self._describe(name)

    def __contains__(self, name: object) -> bool:
        return name in self._names

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)

    def __repr__(self) -> str:
        return repr(dict(self))


def _model_info(built: BuiltModel, relation: Relation, model: SqlModel | None, descriptions: Descriptions) -> ModelInfo:
    from debatebench.transform.model_versions import is_prerelease

    def text(column: str) -> str:
        return descriptions.text(model.name, column) if model else ""

    return ModelInfo(
        name=built.name,
        description=model.properties.description if model else "",
        columns=tuple(ColumnInfo(name, type_, text(name)) for name, type_ in relation.columns),
        materialized=built.materialized,
        version=built.version,
        alias_of=model.alias_of if model else None,
        is_prerelease=model is not None and is_prerelease(model),
        deprecation_date=model.properties.deprecation_date if model else None,
        rows=built.rows,
        built_at=built.built_at,
    )


def _identity(database: Path) -> tuple[int, int, int] | None:
    """A value that changes if another file replaces this one. `None` if the file does not exist."""
    try:
        status = database.stat()
    except OSError:
        return None
    return status.st_dev, status.st_ino, status.st_mtime_ns


def _close(con: duckdb.DuckDBPyConnection) -> None:
    import duckdb

    # A query may still be running in another thread; then the connection cannot be closed.
    with suppress(duckdb.Error):
        con.close()
