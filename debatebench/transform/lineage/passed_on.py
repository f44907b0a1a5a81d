"""Which columns a query passes on unchanged, and from where.

This is all that the inheritance of texts needs of a column's lineage, for a tenth of its time.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Generic, TypeVar

from sqlglot import exp

T = TypeVar("T")

Columns = Mapping[str, T]
"""Column in lower case, in order → what is known of it."""


class OutputColumns(Generic[T]):
    """What is known of the columns of a query, from what is known of the columns of the relations that it reads.

    `of_relation` returns the latter. `computed` says what is known of an expression that is more than the name of a
    column, given a function that says it of a column in it. `merged` says it of a column with several sources: the
    sides of a union, or of a join with USING. What cannot be found is `unknown`.
    """

    def __init__(
        self,
        of_relation: Callable[[str], Columns[T]],
        unknown: T,
        computed: Callable[[exp.Expr, Callable[[exp.Column], T]], T],
        merged: Callable[[Sequence[T]], T],
    ) -> None:
        self.of_relation, self.unknown, self.computed, self.merged = of_relation, unknown, computed, merged

    def of(self, query: exp.Expr, ctes: Mapping[str, Columns[T]] | None = None) -> dict[str, T]:
        """The columns of a query, in order; those that a pattern selects are missing."""
        known = dict(ctes or {})
        for cte in query.ctes if isinstance(query, exp.Query) else ():
            name = cte.alias.lower()
            if query.args["with_"].recursive and isinstance(cte.this, exp.SetOperation):
                # A recursive CTE reads itself, which adds nothing.
                known[name] = _renamed(self.of(cte.this.this, known), cte)
            known[name] = _renamed(self.of(cte.this, known), cte)
        if isinstance(query, exp.Subquery):
            return self.of(query.this, known)
        if isinstance(query, exp.SetOperation):
            return self._united(query, known)
        return self._selected(query, known) if isinstance(query, exp.Select) else {}

    def _united(self, query: exp.SetOperation, ctes: Mapping[str, Columns[T]]) -> dict[str, T]:
        left, right = self.of(query.this, ctes), self.of(query.expression, ctes)
        if not query.args.get("by_name"):
            there = [*right.values(), *(self.unknown for _ in left)]
            right = dict(zip(left, there, strict=False))
        sides = {name: [side[name] for side in (left, right) if name in side] for name in {**left, **right}}
        return {name: self.merged(found) for name, found in sides.items()}

    def _selected(self, select: exp.Select, ctes: Mapping[str, Columns[T]]) -> dict[str, T]:
        sources = _Sources(self, select, ctes)
        found: dict[str, T] = {}

        def named(column: exp.Column) -> T | None:
            here = sources.named(column)
            # A name that no source has may be that of an expression before it.
            return found.get(column.name.lower()) if here is None and not column.table else here

        for projection in select.expressions:
            inner = projection.unalias()
            if projection.is_star and not isinstance(inner, exp.Columns):
                found |= sources.starred(inner)
            elif projection.alias_or_name:
                found[projection.alias_or_name.lower()] = self.of_expression(inner, named)
        return found

    def of_expression(self, expression: exp.Expr, named: Callable[[exp.Column], T | None]) -> T:
        """What is known of an expression, if `named` is what is known of the columns in it; None if nothing is."""

        def of_column(column: exp.Column) -> T:
            found = named(column)
            return self.unknown if found is None else found

        return of_column(expression) if isinstance(expression, exp.Column) else self.computed(expression, of_column)


class _Sources(Generic[T]):
    """The relations, CTEs and queries in the FROM of a SELECT, by alias, with their columns."""

    def __init__(self, outputs: OutputColumns[T], select: exp.Select, ctes: Mapping[str, Columns[T]]) -> None:
        self.outputs = outputs
        self.columns: dict[str, Columns[T]] = {}
        self.shared: set[str] = set()
        start = select.args.get("from_")
        for source, join in _in_from(start.this, select.args.get("joins")) if start else ():
            if join is None or join.kind not in ("SEMI", "ANTI"):
                self.columns[source.alias_or_name.lower() or str(len(self.columns))] = self._of(source, ctes)
            if join is not None:
                self.shared |= {name.name.lower() for name in join.args.get("using") or ()}

    def _of(self, source: exp.Expr, ctes: Mapping[str, Columns[T]]) -> Columns[T]:
        if source.args.get("pivots"):
            return {}
        if isinstance(source, exp.Table) and isinstance(source.this, exp.Identifier):
            name = source.name.lower()
            found = self.outputs.of_relation(f"{source.db}.{name}".lower()) if source.db else ctes.get(name, {})
        elif isinstance(source, exp.Subquery):
            found = self.outputs.of(source.this, ctes)
        elif isinstance(source, exp.Lateral) and isinstance(source.this, exp.Subquery):
            found = self.outputs.of(source.this.this, ctes)
        else:
            return self._made(source)
        return _renamed(found, source)

    def _made(self, source: exp.Expr) -> Columns[T]:
        """The columns of VALUES, or of a function that makes rows of its arguments."""
        outputs, names = self.outputs, [name.lower() for name in source.alias_column_names]
        if not isinstance(source, exp.Values):
            return dict.fromkeys(names, outputs.of_expression(source, lambda column: None))
        rows = [
            [outputs.of_expression(cell, lambda column: None) for cell in row.expressions] for row in source.expressions
        ]
        return {name: outputs.merged(cells) for name, cells in zip(names, zip(*rows, strict=True), strict=False)}

    def named(self, column: exp.Column) -> T | None:
        """What a name in the SELECT stands for; None if no source has it, or several that USING does not merge."""
        name, table = column.name.lower(), column.table.lower()
        if table:
            return self.columns.get(table, {}).get(name)
        found = [columns[name] for columns in self.columns.values() if name in columns]
        if len(found) > 1:
            return self.outputs.merged(found) if name in self.shared else None
        return found[0] if found else None

    def starred(self, star: exp.Expr) -> dict[str, T]:
        """The columns of `*` or `t.*`, with EXCLUDE, REPLACE and RENAME."""
        table, options = (star.table.lower(), star.this) if isinstance(star, exp.Column) else ("", star)
        chosen = [self.columns.get(table, {})] if table else list(self.columns.values())
        names = dict.fromkeys(name for columns in chosen for name in columns)
        found = {
            name: next(columns[name] for columns in chosen if name in columns)
            if table or name not in self.shared
            else self.outputs.merged([columns[name] for columns in chosen if name in columns])
            for name in names
        }
        for column in options.args.get("except_") or ():
            found.pop(column.name.lower(), None)
        for new in options.args.get("replace") or ():
            found[new.alias.lower()] = self.outputs.of_expression(new.unalias(), self.named)
        renamed = {each.this.name.lower(): each.alias.lower() for each in options.args.get("rename") or ()}
        return {renamed.get(name, name): said for name, said in found.items()}


def _in_from(start: exp.Expr, joins: Sequence[exp.Join] | None) -> Iterator[tuple[exp.Expr, exp.Join | None]]:
    """Everything in a FROM, each with the join that adds it."""
    for source, join in [(start, None), *((join.this, join) for join in joins or ())]:
        if isinstance(source, exp.Subquery) and isinstance(source.this, exp.Table):
            for inner, inner_join in _in_from(source.this, source.this.args.get("joins")):
                yield inner, inner_join or join
        else:
            yield source, join


def _renamed(columns: Columns[T], source: exp.Expr) -> Columns[T]:
    """The columns under the names that follow an alias: `as t(a, b)`."""
    names = [name.lower() for name in source.alias_column_names]
    new = dict(zip(columns, names, strict=False))
    return {new.get(name, name): said for name, said in columns.items()} if new else columns
