"""Build the SQL models in the warehouse: in dependency order, and only what changed."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Collection, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass, replace
from datetime import datetime
from functools import partial
from typing import TYPE_CHECKING

from debatebench.shared.activity import doing
from debatebench.shared.duckdb_sql import missing_quotes
from debatebench.shared.errors import DebatebenchError, SqlDataError, SqlModelError
from debatebench.shared.files import shown_path
from debatebench.shared.memory import out_of_memory
from debatebench.shared.workspace import packaged
from debatebench.transform.broken import Broken, broken_among, why_broken
from debatebench.transform.build_state import (
    BuiltModel,
    content_fingerprint,
    create_meta_tables,
    data_fingerprints,
    definitions,
    empty_landed,
    is_current,
    read_builds,
    relations,
    state_sha256,
    write_builds,
)
from debatebench.transform.catalogue import write_catalogue
from debatebench.transform.comments import commented
from debatebench.transform.contracts import columns_of_all, contract_breaches
from debatebench.transform.create_macros import update_macros
from debatebench.transform.create_seeds import create_seed
from debatebench.transform.incremental import catalog_of, changed_parts, replace_parts
from debatebench.transform.model_versions import reading_warnings, version_that_fits
from debatebench.transform.one_query import execute_one
from debatebench.transform.parse_cache import remember_parsed
from debatebench.transform.project import Project
from debatebench.transform.short_names import update_short_names
from debatebench.transform.sql_model import SqlModel
from debatebench.transform.workers import create_all

if TYPE_CHECKING:
    import duckdb


@dataclass(frozen=True, slots=True)
class BuildResult:
    """What a build did: the SQL models that it built, left unchanged and dropped, and its warnings.

    `is_complete` is true when a second build now would change nothing.
    """

    built: tuple[BuiltModel, ...]
    unchanged: tuple[str, ...]
    dropped: tuple[str, ...]
    warnings: tuple[str, ...]
    seconds: float
    is_complete: bool


class PartlyBuiltError(SqlModelError):
    """Some SQL models are broken; all that do not depend on them are built. `result` is what the build did."""

    def __init__(self, broken: Mapping[str, SqlModelError], result: BuildResult) -> None:
        super().__init__(why_broken(broken))
        self.result = result


def build(
    con: duckdb.DuckDBPyConnection,
    project: Project,
    *,
    select: Sequence[str] | None = None,
    full_refresh: bool = False,
    now: datetime | None = None,
) -> BuildResult:
    """Bring the warehouse behind `con` up to date with `project`.

    A SQL model is built again when its SQL, its configuration, anything upstream, the landed data or a Python function
    that it calls has changed; `full_refresh` builds all. `select` limits the build (see `graph.select_models`). A build
    without `select` drops SQL models that are no longer in the project. `now` (naive UTC) is written to `meta.builds`.

    `con` must be writable, without an open transaction or a partly read result; the build opens more connections to
    its database. One broken SQL model stops only what depends on it: at the end, `PartlyBuiltError` says what it is,
    with its file and DuckDB's message. What could not be built stays as it was. After any other error, what was built
    is kept and recorded, and the next build continues from there.

    A packaged SQL model that fails because of what was landed raises a `SqlDataError`.
    """
    started = time.perf_counter()
    if select is None and not full_refresh and is_current(con, project):
        return BuildResult((), tuple(read_builds(con)), (), (), time.perf_counter() - started, is_complete=True)
    state = state_sha256(con, project)
    models = project.models
    create_meta_tables(con)
    with commented(con, project):
        has_macros = update_macros(con, project.macros, drop_others=select is None)
        work = _Build(con, project, full_refresh, now)
        chosen = set(project.select(select))
        try:
            work.run(chosen)
            dropped = work.drop_removed() if select is None else ()
            update_short_names(con, project, {row.name: row.materialized for row in work.rows.values()}, work.columns)
            write_catalogue(con, project)
        except BaseException:
            write_builds(con, work.rows.values(), None)
            raise
        remember_parsed(con, (query.sha256 for query in project.queries))
    is_complete = has_macros and work.is_complete()
    write_builds(con, work.rows.values(), state if is_complete else None)
    result = BuildResult(
        built=tuple(work.built),
        unchanged=tuple(work.unchanged),
        dropped=dropped,
        warnings=() if now is None else tuple(reading_warnings(models, now.date())),
        seconds=time.perf_counter() - started,
        is_complete=is_complete,
    )
    broken = {**(project.broken if select is None else broken_among(project.broken, select)), **work.broken}
    if broken:
        raise PartlyBuiltError(broken, result)
    return result


def _keeps_contract(con: duckdb.DuckDBPyConnection, model: SqlModel, columns: Mapping[str, str]) -> bool:
    return not contract_breaches(con, model, columns)


_NOT_BUILT = BuiltModel("", None, "", "", "", "", None, 0.0, None)


class _Build:
    """One build: what was recorded before it, and what is in the warehouse after it."""

    def __init__(
        self,
        con: duckdb.DuckDBPyConnection,
        project: Project,
        full_refresh: bool,
        now: datetime | None,
    ) -> None:
        self.con, self.project, self.models, self.domain = con, project, project.models, project.domain
        self.full_refresh, self.now = full_refresh, now
        self.rows = read_builds(con)
        self.present = relations(con)
        self.definitions = definitions(project)
        self.landed = self.domain.landed_with_bases(con)
        self.expected = self._expected()
        self.built: list[BuiltModel] = []
        self.unchanged: list[str] = []
        self.columns: dict[str, dict[str, str]] = {}
        # Landed tables and tables without rows: as recorded, until they are built.
        self.empty = empty_landed(con) | {name for name, row in self.rows.items() if row.rows == 0}
        self.broken = Broken(skip=True)
        # Name → the first line of DuckDB's message about a query that it could not bind.
        self.unreadable: dict[str, str] = {}

    def _expected(self) -> dict[str, str]:
        """The fingerprint of every SQL model after a complete build."""
        landed = data_fingerprints(self.con, self.domain)
        found = {
            name: content_fingerprint(definition, [landed.get(name, "not there")])
            for name, definition in self.definitions.items()
            if name not in self.models
        }
        for name, model in self.models.items():
            found[name] = content_fingerprint(self.definitions[name], [found[d] for d in model.dependencies])
        return found

    def run(self, chosen: set[str]) -> None:
        """Build the chosen SQL models that are out of date, each after the ones that it reads, as far as possible."""
        fingerprints = self._fingerprints(chosen)
        stale = fingerprints.keys() - set(self.unchanged) - {row.name for row in self.built}
        count = len(self.built) + len(stale)
        for schema in sorted({self.models[name].schema for name in stale}):
            self.con.execute(f"create schema if not exists {schema}")
        named = {function for name in stale for function in self.models[name].query.functions}
        called = set(self.domain.functions.python_functions(named))

        def create(con: duckdb.DuckDBPyConnection, model: SqlModel) -> BuiltModel:
            if called.intersection(model.query.functions):
                registered.result()
            doing("Building SQL models", len(self.built), count)
            return self._create(con, model, fingerprints[model.name])

        try:
            # Registering a function imports numpy, which takes time, and the first tables do not call one.
            with ThreadPoolExecutor(1) as pool:
                registered = pool.submit(self._register, called)
                seconds = {name: row.seconds for name, row in self.rows.items()}
                create_all(self.con, self.models, stale, create, self.built, self.broken, seconds)
        finally:
            for name in stale:
                if self.models[name].properties.config.incremental_by is not None:
                    self.con.execute(f"detach database if exists {catalog_of(self.models[name])}")
            places = {name: place for place, name in enumerate(self.models)}
            self.built.sort(key=lambda row: places[row.name])
            # Without a definition until the contract is checked, so that the next build does not treat it as finished.
            self.rows |= {row.name: replace(row, definition="", fingerprint="") for row in self.built}
        self._explain_failures()
        self._check_contracts()

    def _register(self, functions: Collection[str]) -> None:
        """Register Python functions with the database of `con`, over a separate connection."""
        with closing(self.con.cursor()) as cursor:
            self.domain.functions.register(cursor, functions)

    def _fingerprints(self, chosen: set[str]) -> dict[str, str]:
        """Chosen model → its fingerprint after this build; models that already have it are recorded as unchanged."""
        actual = {name: fingerprint for name, fingerprint in self.expected.items() if name not in self.models}
        for name, model in self.models.items():
            if name not in chosen:
                actual |= self._as_it_stands(model, actual)
                continue
            missing = [dependency for dependency in model.dependencies if dependency not in actual]
            if missing:
                raise SqlModelError(f"{name} reads {missing[0]}, which is not built; select '+{name}' to build both.")
            actual[name] = content_fingerprint(self.definitions[name], [actual[d] for d in model.dependencies])
            if self._is_fresh(model, actual[name]):
                row = self.rows[name] = replace(self.rows[name], fingerprint=actual[name])
                if row.built_at is None and self.now is not None:
                    # It comes from a build that was made in advance.
                    self.built.append(replace(row, built_at=self.now))
                else:
                    self.unchanged.append(name)
        return {name: actual[name] for name in self.models if name in chosen}

    def _as_it_stands(self, model: SqlModel, actual: Mapping[str, str]) -> dict[str, str]:
        """The fingerprint of a model that this build does not change; empty when the model does not exist."""
        row = self.rows.get(model.name)
        if row is None or model.name not in self.present:
            return {}
        if row.materialized == "table":
            return {model.name: row.fingerprint}
        if row.definition == self.definitions[model.name] and all(d in actual for d in model.dependencies):
            return {model.name: content_fingerprint(row.definition, [actual[d] for d in model.dependencies])}
        return {model.name: content_fingerprint("an older definition", [row.fingerprint])}

    def _is_fresh(self, model: SqlModel, fingerprint: str) -> bool:
        """Whether a model is up to date: for a view, by its definition; for a table, by its data as well."""
        row = self.rows.get(model.name)
        if self.full_refresh or row is None or self.present.get(model.name) != model.materialized:
            return False
        if model.materialized == "view":
            return row.definition == self.definitions[model.name]
        return row.fingerprint == fingerprint

    def _changed_parts(self, model: SqlModel, fingerprint: str) -> tuple[str, ...] | None:
        """The parts whose rows must be computed again in an incremental table; None when it must be rebuilt."""
        row = self.rows.get(model.name)
        if model.properties.config.incremental_by is None or self.full_refresh or row is None or row.landed is None:
            return None
        is_as_before = self.present.get(model.name) == "table" and row.definition == self.definitions[model.name]
        if not is_as_before or fingerprint != self.expected[model.name]:
            return None
        return changed_parts(json.loads(row.landed), self.landed)

    def _stays_defined(self, model: SqlModel) -> bool:
        """Whether the standing table was created from the same definitions, all upstream included."""
        if self.full_refresh or model.materialized != "table" or self.present.get(model.name) != "table":
            return False
        return self.rows.get(model.name, _NOT_BUILT).definition == self.definitions[model.name]

    def _stays_empty(self, model: SqlModel) -> bool:
        """Whether the standing table has no rows, and would have none again, because relations that it reads do not."""
        return self._stays_defined(model) and self.rows[model.name].rows == 0 and self._lacks_needed(model)

    def _lacks_needed(self, model: SqlModel) -> bool:
        return any(all(map(self._has_no_rows, names)) for names in model.query.needed)

    def _has_no_rows(self, name: str) -> bool:
        """Whether a relation is known to have no rows; all tables that it reads are up to date."""
        if name in self.models and self.models[name].materialized == "view":
            return self._lacks_needed(self.models[name])
        return name in self.empty

    def _create(self, con: duckdb.DuckDBPyConnection, model: SqlModel, fingerprint: str) -> BuiltModel:
        """Create one table or view from the SQL text as written."""
        import duckdb

        started = time.perf_counter()
        parts = self._changed_parts(model, fingerprint)
        is_whole = model.properties.config.incremental_by is not None and fingerprint == self.expected[model.name]
        landed = json.dumps(self.landed) if is_whole and self.landed else None
        if self._stays_empty(model):
            return replace(self.rows[model.name], fingerprint=fingerprint, built_at=self.now, landed=landed)
        try:
            rows = self._create_whole(con, model) if parts is None else replace_parts(con, model, self.models, parts)
        except duckdb.Error as error:
            raise self._failure(model, error) from None
        self.empty -= {model.name}
        self.empty |= {model.name} if rows == 0 else set()
        return BuiltModel(
            name=model.name,
            version=model.version,
            materialized=model.materialized,
            sql_sha256=model.query.sha256,
            definition=self.definitions[model.name],
            fingerprint=fingerprint,
            rows=rows,
            seconds=time.perf_counter() - started,
            built_at=self.now,
            landed=landed,
        )

    def _create_whole(self, con: duckdb.DuckDBPyConnection, model: SqlModel) -> int | None:
        """Create one table or view; return the number of rows of a table."""
        standing = self.present.get(model.name)
        if standing is not None and standing != model.materialized:
            con.execute(f"drop {standing} {model.name}")
        if model.seed is not None:
            return create_seed(con, model, model.seed)
        if self._stays_defined(model) and self.rows[model.name].rows == 0:
            # The table keeps its comments.
            rows = execute_one(con, f"{model.query.sql}\n", model.file, into=f"insert into {model.name} ").fetchall()
            return int(rows[0][0])
        # On the same line as the start of the text, so that line numbers in DuckDB's messages match the file.
        create = f"create or replace {model.materialized} {model.name} as "
        result = execute_one(con, f"{model.query.sql}\n", model.file, into=create).fetchall()
        return int(result[0][0]) if model.materialized == "table" else None

    def _check_contracts(self) -> None:
        """Drop SQL models whose columns differ from those promised in YAML, with everything that reads them."""
        columns = self.columns = columns_of_all(self.con)
        breaking = Broken(skip=True)
        for row in self.built:
            model = self.models[row.name]
            is_promised = model.properties.config.contract.enforced
            with breaking.of(row.name):
                if is_promised and (breaches := contract_breaches(self.con, model, columns[model.name])):
                    wrong = "; ".join(breaches)
                    keeps = partial(_keeps_contract, self.con, model)
                    raise SqlModelError(
                        f"SQL model {model.name} breaks its contract in {shown_path(model.properties_file)}: {wrong}."
                        + version_that_fits(self.con, model, self.models, wrong, keeps)
                    )
                self.rows[row.name] = row
        if breaking:
            self._drop_broken(breaking)

    def _drop_broken(self, broken: Broken) -> None:
        """Drop SQL models that were built and must not be read, with everything that reads them."""
        broken.spread({name: model.dependencies for name, model in self.models.items()})
        there = relations(self.con)
        for name in broken:
            if name in there:
                self.con.execute(f"drop {there[name]} {name}")
            self.rows.pop(name, None)
            self.broken.setdefault(name, broken[name])
        self.built = [row for row in self.built if row.name not in broken]

    def _failure(self, model: SqlModel, error: Exception) -> DebatebenchError:
        """DuckDB's message as one sentence, with the line of the file if the message contains one."""
        import duckdb

        if (short := out_of_memory(error)) is not None:
            return short
        text = str(error)
        line = re.search(r"^LINE (\d+):", text, re.MULTILINE)
        if line:
            self.unreadable[model.name] = text.split("\n")[0]
        where = shown_path(model.file) + (f":{line[1]}" if line else "")
        message = " ".join(text[: line.start()].split() if line else text.split())
        is_of_data = isinstance(error, duckdb.DataError | duckdb.InvalidInputException | duckdb.ConstraintException)
        kind = SqlDataError if is_of_data and model.file.is_relative_to(packaged("sql")) else SqlModelError
        hint = missing_quotes(text)
        return kind(f"SQL model {model.name} ({where}) failed: {message}{f'.{hint}' if hint else ''}")

    def _explain_failures(self) -> None:
        """Say of SQL models that could not be read whether another version of what they read has what they need.

        At the end, because a version may be created after the SQL model that needs it has failed.
        """
        for name in self.unreadable.keys() & self.broken.keys():
            message = self.unreadable[name]
            if words := version_that_fits(self.con, self.models[name], self.models, message, lambda columns: True):
                has_end = self.broken[name].message.endswith((".", "!", "?"))
                self.broken.explain(name, words if has_end else f".{words}")

    def drop_removed(self) -> tuple[str, ...]:
        """Drop tables and views of earlier builds that are no longer in the project."""
        removed = sorted(self.rows.keys() - self.models.keys() - self.project.broken.keys())
        for name in removed:
            if name in self.present:
                self.con.execute(f"drop {self.present[name]} {name}")
            del self.rows[name]
        return tuple(removed)

    def is_complete(self) -> bool:
        """Whether the warehouse is in the state that a complete build produces."""
        return (
            not self.project.broken
            and set(self.rows) == set(self.models)
            and all(
                row.fingerprint == self.expected[name] and row.definition == self.definitions[name]
                for name, row in self.rows.items()
            )
        )
