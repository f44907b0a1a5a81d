"""Build the SQL models on Spark: each family in a worker, then what looks across families, and only what changed."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from debatebench.shared.activity import doing
from debatebench.shared.errors import SqlDataError, SqlModelError
from debatebench.shared.files import shown_path
from debatebench.transform.build_state import inputs_sha256
from debatebench.transform.project import Project
from debatebench.transform.scope import scopes
from debatebench.transform.spark.family_build import PACKED, REPORT, Recipe, packed_family
from debatebench.transform.spark.relations import Relation, relations
from debatebench.transform.spark.source import Family, landed_families, shared_out
from debatebench.transform.spark.state import TargetState, read_state, write_state
from debatebench.transform.spark.target import REPLACES_PARTS, Target
from debatebench.transform.spark.translated_queries import TranslatedQueries

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


# Jobs that write small tables mostly wait for Spark's planner, so several are planned at once.
_JOBS_AT_ONCE = 4


@dataclass(frozen=True, slots=True)
class SparkBuild:
    """What a build did. `built` are the SQL models that were written, and `families` those that changed of `count`."""

    built: tuple[str, ...]
    families: tuple[tuple[str, ...], ...]
    count: int


def build_on_spark(
    spark: SparkSession, project: Project, source: str, target: str, *, table_format: str, full_refresh: bool = False
) -> SparkBuild:
    """Bring the tables below `target` up to date with `project` and with the landed files below `source`.

    Only families whose files changed are built again, and all of them after a change of SQL; what looks across families
    is built when anything changed. A build that fails leaves behind what the next one needs to finish it.

    Raises `UsageError` for a source or target that cannot be used, and `SqlModelError` for a SQL model that fails.
    """
    found = landed_families(spark, source, project.domain)
    before = read_state(spark, target)
    inputs = inputs_sha256(project)
    is_same = (before.inputs, before.format) == (inputs, table_format)
    is_new = full_refresh or not is_same or table_format not in REPLACES_PARTS
    kept = {} if is_new else {f.sha256: list(f.parts) for f in found if f.sha256 in before.families}
    changed = [family for family in found if family.sha256 not in kept]
    gone = {part for sha256, parts in before.families.items() if sha256 not in kept for part in parts}
    gone |= set(before.stale)
    if not (is_new or changed or gone) and before.is_whole:
        return SparkBuild((), (), len(found))
    parts = None if is_new else {*gone, *(part for family in changed for part in family.parts)}
    begun = TargetState(
        before.number + 1, "" if is_new else inputs, kept, before.rows, sorted(parts or ()), table_format
    )
    write_state(spark, target, begun)
    work = _Build(spark, project, Target(spark, target, table_format, project.domain.part))
    rows = work.families(changed, before, parts)
    work.across()
    families = {family.sha256: list(family.parts) for family in found}
    ended = TargetState(begun.number + 1, inputs, families, rows, [], table_format, is_whole=True)
    write_state(spark, target, ended)
    return SparkBuild(tuple(work.built), tuple(family.parts for family in changed), len(found))


class _Build:
    """One build into a target."""

    def __init__(self, spark: SparkSession, project: Project, target: Target) -> None:
        self.spark, self.project, self.target = spark, project, target
        self.relations: dict[str, Relation] = relations(project)
        columns = {name: relation.types for name, relation in self.relations.items()}
        self.scopes = scopes(project.models, columns, project.domain.part)
        self.built: list[str] = []

    def families(
        self, changed: Sequence[Family], before: TargetState, parts: Collection[str] | None
    ) -> dict[str, dict[str, int]]:
        """Write the rows of these families, in place of those of `parts` or of all.

        Returns the numbers of all rows: SQL model → part → rows.
        """
        names = [name for name, scope in self.scopes.items() if scope != "whole"]
        if not changed and parts is not None:
            changed = [Family((), (), "")]
        self.target.stage(self._packed(names, changed))
        counts = self._counts(changed)
        rows: dict[str, dict[str, int]] = {}

        def write(name: str) -> None:
            standing = {} if parts is None else before.rows.get(name, {})
            kept = {part: count for part, count in standing.items() if part not in (parts or ())}
            new = counts.get(name, {})
            rows[name] = kept | new
            gone = {*standing, *before.stale} - rows[name].keys()
            self._write(name, rows[name], None if parts is None or not kept else parts, gone)

        self._each("Writing tables", names, write)
        self.built += names
        self.target.clear_stage()
        return rows

    def _write(
        self, name: str, counts: Mapping[str, int], parts: Collection[str] | None, gone: Collection[str]
    ) -> None:
        """Write what is staged of a table that will have these numbers of rows, in place of `parts`."""
        schema = self.relations[name].schema
        if parts is None and not counts:
            self.target.write(name, self.target.no_rows(schema))
            return
        staged = self.target.staged_rows(name, schema)
        if self.scopes[name] == "fixed":
            # It comes out of every task.
            self.target.write(name, staged.distinct())
        elif schema.names == [self.target.part]:
            # A table is not cut by its only column, so it is written whole, out of the numbers of its rows.
            self.target.write(name, self.target.counted_rows(counts))
        elif parts is None:
            self.target.write(name, staged, is_cut=True)
        else:
            self.target.replace(name, staged, parts, gone)

    def _packed(self, names: Collection[str], changed: Sequence[Family]) -> DataFrame:
        """What the tasks return that build these families."""
        models = tuple(model for name, model in self.project.models.items() if name in set(names))
        recipe = Recipe(self.project.domain, dict(self.project.macros), models, frozenset(names))
        tasks = shared_out(changed)

        def work(batches: Iterator[Any]) -> Iterator[Any]:
            for batch in batches:
                for number in batch.column(0).to_pylist():
                    yield from packed_family(recipe, tasks[number])

        count = len(tasks)
        return self.spark.range(0, count, 1, count).mapInArrow(work, PACKED)

    def _counts(self, changed: Sequence[Family]) -> dict[str, dict[str, int]]:
        """SQL model → part → number of rows of the families that were built; raises what their reports say is wrong."""
        found: dict[str, dict[str, int]] = {}
        for (packed,) in self.target.staged(REPORT).select("packed").collect():
            report = json.loads(bytes(packed))
            if "error" in report:
                raise self._failure(report)
            for name, by_part in report["rows"].items():
                found.setdefault(name, {}).update(by_part)
        return found

    def _failure(self, report: Mapping[str, Any]) -> SqlModelError:
        # Of a task with several families, nothing says in which it was.
        whose = ", ".join(report["parts"])
        if report["model"] is None:
            return SqlDataError(f"The landed rows of {whose} cannot be read: {report['error']}")
        file = shown_path(self.project.models[report["model"]].file)
        return SqlModelError(f"SQL model {report['model']} ({file}) failed for {whose}: {report['error']}")

    def across(self) -> None:
        """Write what looks across families, each SQL model after those that it reads."""
        names = [name for name, scope in self.scopes.items() if scope == "whole"]
        queries = TranslatedQueries(self.project, self.relations, self.target)
        for number, name in enumerate(names):
            doing("Building SQL models across families", number, len(names))
            self.target.write(name, queries.rows_of(self.project.models[name]))
            self.built.append(name)

    def _each(self, what: str, todo: Sequence[Any], write: Any) -> None:
        done = 0
        with ThreadPoolExecutor(_JOBS_AT_ONCE) as pool:
            for _ in pool.map(write, todo):
                done += 1
                doing(what, done, len(todo))
