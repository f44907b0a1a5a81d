"""The warehouse from Python: `import debatebench as db; wh = db.open("warehouse/debatebench.duckdb")`."""

from __future__ import annotations

import os
import warnings
import weakref
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import closing, suppress
from dataclasses import dataclass, fields
from datetime import date, datetime
from decimal import Decimal
from functools import cache, cached_property
from numbers import Integral, Real
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, TypeVar

from debatebench.query.duckdb_errors import sql_errors
from debatebench.query.relations import Relation, read_relations
from debatebench.query.run_tags import pick_run_tag
from debatebench.query.safe_query import (
    QueryResult,
    closing_unless_stuck,
    cursor_of,
    one_select,
    open_for_query,
    run_query,
    search_path_of,
)
from debatebench.shared.amounts import counted, did_you_mean, listed
from debatebench.shared.errors import DebatebenchError, SqlModelError, UsageError
from debatebench.shared.workspace import Workspace, packaged

if TYPE_CHECKING:
    import duckdb

    from debatebench.query.comparison import Comparison
    from debatebench.query.one_debate import StoredDebate
    from debatebench.transform.build_state import BuiltModel
    from debatebench.transform.lineage.descriptions import Descriptions
    from debatebench.transform.lineage.within_query import LineageNode
    from debatebench.transform.project import Project
    from debatebench.transform.sql_model import SqlModel

__all__ = ["ColumnInfo", "ModelInfo", "QueryResult", "RunInfo", "Warehouse", "open"]

T = TypeVar("T")

_MOST_NAMED = 8
_LEADERBOARD = """
select * exclude (run_tag, is_displayed)
from marts.leaderboard
where run_tag = $run_tag and is_displayed
order by format desc, rank, model_id
"""
_ASKING_FOR = 'params={{"{name}": …}}'


@dataclass(frozen=True, slots=True)
class ColumnInfo:
    """A column of a SQL model. `type` is DuckDB's name of the type; `description` is empty if there is none."""

    name: str
    type: str
    description: str


@dataclass(frozen=True, slots=True, repr=False)
class ModelInfo:
    """A SQL model as it is in the warehouse.

    `materialized` is `table` or `view`; `rows` is the count of the last build, `None` for a view. `version` is `None`
    for a SQL model without versions; if there are versions, the unsuffixed name is a view on the one in `alias_of`.
    A version with `is_prerelease` can be queried before it may become the latest. `built_at` is naive UTC.
    Descriptions come from the SQL model's YAML; a column without one has that of the column that it comes from.
    `questions` are pairs: a question that the SQL model answers, and the SELECT that does.
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
    questions: tuple[tuple[str, str], ...] = ()

    def __repr__(self) -> str:
        rows = "" if self.rows is None else f" of {counted(self.rows, 'row')}"
        return f"<{self.name}: {self.materialized}{rows}, {counted(len(self.columns), 'column')}>"


@dataclass(frozen=True, slots=True, repr=False)
class RunInfo:
    """A run or import: a row of `marts.runs`, where every column is described.

    `source` is `run` or `import`; `created_at` is naive UTC; `count_planned` is `None` for an import, `cost_usd`
    is `None` if no cost is known. `is_simulated` means that the ratings say nothing about real models. `title`, `note`,
    `is_excluded` and `is_pinned` are what `debatebench runs` has marked.
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
    kind: str
    title: str | None
    note: str | None
    is_excluded: bool
    is_pinned: bool

    def __repr__(self) -> str:
        version = f", version {self.benchmark_version}" if self.benchmark_version else ""
        kind = "simulated " if self.is_simulated else ""
        return f"<{kind}{self.source} {self.run_tag}: {counted(self.count_debates, 'debate')}{version}>"


def open(database: str | os.PathLike[str] = "warehouse/debatebench.duckdb", *, memory_limit: str = "2GB") -> Warehouse:
    """Open a warehouse for reading. `database` is its file, or its workspace folder.

    `memory_limit` is the memory that DuckDB may use, in its notation. Raises `UsageError` if there is no warehouse,
    `HeldWarehouseError` if a program has it open for writing, `DamagedDataError` if the file cannot be read. It is a
    `UserWarning` that the warehouse was built from other SQL models or data than its workspace has.
    """
    _check(str | os.PathLike, "a path", database=database)
    _check(str, "text", memory_limit=memory_limit)
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

    def __init__(self, database: Path, *, memory_limit: str = "2GB") -> None:
        self.database = database
        """The file."""
        self._file = _identity(database)
        self._con: duckdb.DuckDBPyConnection | None = open_for_query(
            database, memory_limit=memory_limit, is_alone=False
        )
        self._search_path = search_path_of(self._con)
        # Also at the end of the process, because DuckDB warns on stderr about open connections.
        self._closer = weakref.finalize(self, _close, self._con)
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
        self._closer()

    @property
    def connection(self) -> duckdb.DuckDBPyConnection:
        """The DuckDB connection, read-only and locked. Raises `UsageError` if the warehouse is closed.

        DuckDB gives a cursor of it no search path: there, tables are named with their database.
        """
        if self._con is None:
            raise UsageError(f"The warehouse {self.database} is closed; open it again.")
        return self._con

    def _cursor(self) -> duckdb.DuckDBPyConnection:
        """A connection for one query, which a reader that is still open elsewhere does not block."""
        return cursor_of(self.connection, self._search_path)

    @property
    def is_outdated(self) -> bool:
        """Whether the file on disk is no longer the one that was opened: a publication replaced it, or it is gone."""
        return _identity(self.database) != self._file

    def sql(self, sql: str, params: Mapping[str, Any] | None = None) -> duckdb.DuckDBPyRelation:
        """One SELECT as a DuckDB relation: `.fetchall()`, `.df()`, `.pl()`, `.arrow()`, `.filter(…)`, `.show()`.

        Each relation has a connection of its own, so one that is not read to its end does not block other queries.

        `params` are the values of `$name` in `sql`. The query runs again each time the relation is read;
        `.materialize()` keeps its rows. pandas, polars and pyarrow are needed only for their own results. Raises
        `UsageError` for anything but one SELECT and for parameters that do not fit, `DebatebenchError` for unknown
        names; errors while rows are read are DuckDB's own. Ctrl-C does not stop such a read, because DuckDB 2.0 does
        not check for it; see `query`.
        """
        _check_query(sql, params)
        con = self._cursor()
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
        _check_query(sql, params)
        _check(Integral | None, "a whole number", limit=limit)
        _check(Real | None, "a number", timeout_s=timeout_s)
        with closing_unless_stuck(self._cursor()) as con:
            return run_query(con, sql, params, limit=limit, timeout_s=timeout_s, asking_for=_ASKING_FOR)

    def leaderboard(self, run_tag: str | None = None) -> QueryResult:
        """The debaters of a run that are shown, by rank: their rows of `marts.leaderboard`.

        Without a tag it is the run that landed last and does not judge the debates of another. Raises `UsageError` for
        an unknown run, or if SQL models of this version are missing.
        """
        _check(str | None, "text", run_tag=run_tag)
        self._check_models()
        with sql_errors(), closing(self._cursor()) as con:
            return run_query(con, _LEADERBOARD, {"run_tag": pick_run_tag(con, run_tag)}, limit=None)

    def compare(self, baseline: str, candidate: str) -> Comparison:
        """Two runs or benchmark versions side by side, as in `debatebench compare`; see `query.comparison.Comparison`.

        Raises `UsageError` for an unknown name, and for two sides that share a run.
        """
        from debatebench.query.comparison import compare, find_subject

        _check(str, "text", baseline=baseline, candidate=candidate)
        self._check_models()
        with sql_errors(), closing(self._cursor()) as con:
            return compare(con, find_subject(con, baseline), find_subject(con, candidate))

    def debate(self, debate_id: str, run_tag: str | None = None) -> StoredDebate:
        """A debate by its id, or the beginning of it: its row of `marts.debates`, `turns`, `verdicts` and `notes`.

        `print` shows it as text. Raises `UsageError` if there is none or more than one.
        """
        from debatebench.query.one_debate import find_debate

        _check(str, "text", debate_id=debate_id)
        _check(str | None, "text", run_tag=run_tag)
        self._check_models()
        with sql_errors(), closing(self._cursor()) as con:
            return find_debate(con, debate_id, run_tag)

    def elo(self, run_tag: str, *, initial: float | None = None, k: float | None = None) -> dict[str, float]:
        """Debater → Elo rating after a run's last game; `initial` and `k` replace the run's own settings.

        The ratings under the run's own settings are in `ratings.elo`. Raises `UsageError` if no run has the tag, for
        settings that give no ratings, or if SQL models of this version are missing.
        """
        from debatebench.query.rated_games import read_games
        from debatebench.stats.elo import check_settings, elo_ratings

        _check(str, "text", run_tag=run_tag)
        _check(Real | None, "a number", initial=initial, k=k)
        self._check_models()
        with sql_errors(), closing(self._cursor()) as con:
            games = read_games(con, run_tag)
        initial = games.initial if initial is None else initial
        k = games.k if k is None else k
        try:
            check_settings(initial, k)
        except ValueError as error:
            raise UsageError(f"Elo needs other settings: {error}.") from error
        ratings = elo_ratings(games.pro, games.con, games.score, initial=initial, k=k, players=len(games.debaters))
        return dict(zip(games.debaters, ratings, strict=True))

    @cached_property
    def runs(self) -> Mapping[str, RunInfo]:
        """Run tag → run or import, in the order in which they were created.

        Raises `UsageError` if SQL models of this version are missing.
        """
        self._check_models()
        columns = ", ".join(field.name for field in fields(RunInfo))
        with sql_errors(), closing(self._cursor()) as con:
            rows = con.execute(f"select {columns} from marts.runs order by created_at, run_tag").fetchall()
        runs = {row[0]: RunInfo(*row) for row in rows}
        return Named("run", runs, runs.__getitem__)

    @cached_property
    def models(self) -> Mapping[str, ModelInfo]:
        """Dotted name → SQL model, for all that the last build made, sorted by name. Each is described on first access.

        A name without its schema is that of a mart, else of the only schema that has it.

        If some of the workspace's own SQL models cannot be read, a `UserWarning` says what is left out, and why.
        """
        from debatebench.transform.broken import why_broken
        from debatebench.transform.lineage.descriptions import descriptions_of

        with closing(self._cursor()) as con:
            catalogue = read_relations(con)
        builds, described = self._builds, self._project.models
        if self._project.broken:
            warnings.warn(f"Not described is what is broken: {why_broken(self._project.broken)}", stacklevel=3)
        descriptions = descriptions_of(self._project)
        return Named(
            "SQL model",
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

        _check(str, "text", name=name)
        if broken := broken_among(self._project.broken, (name, name.rpartition(".")[0])):
            raise SqlModelError(why_broken(broken))
        return column_lineage(self._project, name)

    @cached_property
    def _builds(self) -> dict[str, BuiltModel]:
        from debatebench.transform.build_state import read_builds

        with sql_errors(), closing(self._cursor()) as con:
            return read_builds(con)

    @cached_property
    def _project(self) -> Project:
        """The SQL models of the workspace that contains the file, else the packaged ones."""
        from debatebench.query.sql_project import load_project
        from debatebench.transform.parse_cache import recall_parsed

        with sql_errors(), closing(self._cursor()) as con:
            recall_parsed(con)
        workspace = self._workspace or Workspace(packaged("sql").parent)
        return load_project(workspace.files("sql", "**/*"), skip_broken=True)

    @property
    def _workspace(self) -> Workspace | None:
        """The workspace whose warehouse the file is; None for a file in another place."""
        path = self.database.resolve()
        workspace = Workspace(path.parent.parent)
        return workspace if workspace.database == path else None


class Named(Mapping[str, T]):
    """Things of a warehouse by name; each is made on first access, because that of a SQL model needs its lineage."""

    def __init__(self, kind: str, names: Iterable[str], make: Callable[[str], T]) -> None:
        self._kind = kind
        self._names = dict.fromkeys(names)
        self._make = cache(make)

    def __getitem__(self, name: str) -> T:
        if (found := self._found(name)) is None:
            raise KeyError(f"No {self._kind} '{name}'.{did_you_mean(str(name), self._names, 3)}")
        return self._make(found)

    def _found(self, name: object) -> str | None:
        """The whole name for one that may lack its schema."""
        if name in self._names:
            return str(name)
        alike = [each for each in self._names if "." in each and each.partition(".")[2] == name]
        marts = [each for each in alike if each.startswith("marts.")]
        return (marts or alike)[0] if marts or len(alike) == 1 else None

    def __contains__(self, name: object) -> bool:
        return self._found(name) is not None

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)

    def __repr__(self) -> str:
        return f"<{counted(len(self), self._kind)}: {listed(list(self), _MOST_NAMED)}>"


def _check(kinds: Any, what: str, **arguments: object) -> None:
    """Raise `UsageError` for an argument that is of none of these types."""
    for name, value in arguments.items():
        if not isinstance(value, kinds):
            raise UsageError(f"The argument {name} must be {what}, not of type {type(value).__name__}.")


def _check_query(sql: object, params: object) -> None:
    _check(str, "text", sql=sql)
    _check(Mapping | None, "a mapping from names to values", params=params)


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
        questions=tuple((each.question, each.sql) for each in model.properties.questions) if model else (),
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
