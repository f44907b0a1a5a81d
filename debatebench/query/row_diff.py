"""The rows of two versions of a SQL model side by side: matched by key, counted by run, shown where they differ."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import duckdb

from debatebench.shared.duckdb_sql import quoted_identifier
from debatebench.shared.errors import UsageError
from debatebench.transform.contracts import actual_columns
from debatebench.transform.sql_model import SqlModel
from debatebench.transform.testing.generic_tests import (
    AcceptedValues,
    Unique,
    UniqueCombinationOfColumns,
)


@dataclass(frozen=True, slots=True)
class RunCounts:
    """How many rows of a run each version has, and how many differ. `run_tag` is None for a model without runs."""

    run_tag: str | None
    rows_before: int
    rows_after: int
    added: int
    removed: int
    changed: int

    @property
    def unchanged(self) -> int:
        """Rows that are the same under both versions."""
        return self.rows_before - self.removed - self.changed


@dataclass(frozen=True, slots=True)
class ValueChange:
    """How many rows have the value `before` under one version and `after` under the other, in one column."""

    column: str
    before: Any
    after: Any
    rows: int


@dataclass(frozen=True, slots=True)
class ChangedRow:
    """One row that differs. `before` and `after` hold the columns that differ; for a row on one side only, all."""

    change: Literal["added", "removed", "changed"]
    key: Mapping[str, Any]
    before: Mapping[str, Any]
    after: Mapping[str, Any]

    def cells(self) -> list[tuple[str | None, Any, Any]]:
        """(column, before, after) for each difference; one tuple without values for a row on one side only."""
        if self.change != "changed":
            return [(None, None, None)]
        return [(column, value, self.after[column]) for column, value in self.before.items()]


class RowDiff:
    """Two versions in the databases `before` and `after` of one connection, matched by key.

    The key comes from the unique tests of the YAML and includes the run. Without such a test whole rows are matched,
    so that a changed row counts as removed and added. Only columns that both versions have are compared.
    Raises `UsageError` for `run_tags` if the versions do not have that column.
    """

    def __init__(
        self, con: duckdb.DuckDBPyConnection, before: SqlModel, after: SqlModel, run_tags: Sequence[str] | None = None
    ) -> None:
        self.con = con
        columns = [
            list(actual_columns(con, f"{side}.{model.name}")) for side, model in (("before", before), ("after", after))
        ]
        common = [column for column in columns[0] if column in columns[1]]
        self.columns_only_before = tuple(column for column in columns[0] if column not in common)
        self.columns_only_after = tuple(column for column in columns[1] if column not in common)
        self.has_runs = "run_tag" in common
        if run_tags is not None and not self.has_runs:
            raise UsageError(f"{before.name} has no column run_tag; leave --run-tag out.")
        self.key = _key(after, common) or _key(before, common)
        self.compared = [column for column in common if column not in self.key] if self.key else []
        self._closed = {column for model in (before, after) for column in _closed_columns(model)}
        self._match(before, after, common, run_tags)

    def _match(self, before: SqlModel, after: SqlModel, common: list[str], run_tags: Sequence[str] | None) -> None:
        """Create the table `differing` of all pairs: the key, how the row changed, and both sides as structs."""
        key = [quoted_identifier(column) for column in self.key or common]
        numbered = "" if self.key else f", row_number() over (partition by {', '.join(key)}) as occurrence"
        matched = key if self.key else [*key, "occurrence"]
        fields = [f"{quoted_identifier(column)} := {quoted_identifier(column)}" for column in self.compared] or [
            "there := true"
        ]
        where = "where list_contains($1::varchar[], run_tag)" if run_tags is not None else ""
        sides = [
            f"(select {', '.join(key)}{numbered}, struct_pack({', '.join(fields)}) as cells "
            f"from {side}.{model.name} {where})"
            for side, model in (("before", before), ("after", after))
        ]
        on = " and ".join(f"b.{column} is not distinct from a.{column}" for column in matched)
        picked = ", ".join(
            f"case when b.cells is null then a.{column} else b.{column} end as {column}" for column in matched
        )
        self.con.execute(
            f"create temp table pairs as select {picked}, b.cells as before, a.cells as after, "
            "case when b.cells is null then 'added' when a.cells is null then 'removed' "
            "when b.cells is distinct from a.cells then 'changed' end as change "
            f"from {sides[0]} as b full join {sides[1]} as a on {on}",
            [] if run_tags is None else [list(run_tags)],
        )
        self._order = ", ".join(matched)
        self._shown_key = list(self.key or common)

    def runs(self) -> tuple[RunCounts, ...]:
        """The counts by run, or one line for everything if the versions have no runs."""
        run = "run_tag" if self.has_runs else "null"
        rows = self.con.execute(
            f"select {run}, count(before), count(after), count(case when change = 'added' then 1 end), "
            "count(case when change = 'removed' then 1 end), count(case when change = 'changed' then 1 end) "
            f"from pairs {'group by run_tag order by run_tag' if self.has_runs else ''}"
        ).fetchall()
        return tuple(RunCounts(*row) for row in rows)

    def columns_changed(self) -> dict[str, int]:
        """Column → number of rows in which it differs, for the columns that differ."""
        if not self.compared:
            return {}
        counts = ", ".join(f"count(case when {_differs(column)} then 1 end)" for column in self.compared)
        row = self.con.execute(f"select {counts} from pairs where change = 'changed'").fetchall()[0]
        return {column: count for column, count in zip(self.compared, row, strict=True) if count}

    def values(self) -> tuple[ValueChange, ...]:
        """The changes of values, in flags and in columns whose values the YAML lists."""
        found: list[ValueChange] = []
        for column in self.compared:
            if column in self._closed:
                name = quoted_identifier(column)
                rows = self.con.execute(
                    f"select before.{name}, after.{name}, count(*) from pairs "
                    f"where change = 'changed' and {_differs(column)} group by all order by 3 desc, 1, 2"
                ).fetchall()
                found += [ValueChange(column, *row) for row in rows]
        return tuple(found)

    def first(self, limit: int | None) -> tuple[ChangedRow, ...]:
        """The differing rows in the order of their keys, at most `limit`."""
        key = ", ".join(quoted_identifier(column) for column in self._shown_key)
        rows = self.con.execute(
            f"select change, before, after, {key} from pairs where change is not null "
            f"order by {self._order}, change desc {'' if limit is None else f'limit {int(limit)}'}"
        ).fetchall()
        return tuple(
            self._row(change, before, after, dict(zip(self._shown_key, values, strict=True)))
            for change, before, after, *values in rows
        )

    def _row(
        self,
        change: Literal["added", "removed", "changed"],
        before: dict[str, Any] | None,
        after: dict[str, Any] | None,
        key: dict[str, Any],
    ) -> ChangedRow:
        shown = [c for c in self.compared if before is None or after is None or before[c] != after[c]]
        sides = [{c: cells[c] for c in shown} if cells is not None else {} for cells in (before, after)]
        return ChangedRow(change, key, *sides)


def _differs(column: str) -> str:
    return f"before.{quoted_identifier(column)} is distinct from after.{quoted_identifier(column)}"


def _key(model: SqlModel, common: list[str]) -> tuple[str, ...]:
    """The columns that are unique together according to a test of the YAML, the run first; empty if there are none."""
    combinations = [
        test.combination_of_columns
        for test in model.properties.data_tests
        if isinstance(test, UniqueCombinationOfColumns) and test.where is None
    ]
    combinations += [
        (column.name,)
        for column in model.properties.columns
        if any(isinstance(test, Unique) and test.where is None for test in column.data_tests)
    ]
    for combination in combinations:
        if set(combination) <= set(common):
            return combination if "run_tag" in combination or "run_tag" not in common else ("run_tag", *combination)
    return ()


def _closed_columns(model: SqlModel) -> set[str]:
    """The columns that can hold only a few values: flags, and those whose values the YAML lists."""
    return {
        column.name
        for column in model.properties.columns
        if (column.data_type or "").lower() in ("boolean", "bool")
        or any(isinstance(test, AcceptedValues) for test in column.data_tests)
    }
