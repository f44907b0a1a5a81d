"""Trace a column down through the CTEs of one query, to the columns of the relations that the query reads."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, Protocol, TypeGuard

from sqlglot import exp
from sqlglot.optimizer.scope import Scope

from debatebench.transform.lineage.qualified_query import QualifiedQuery, Written, output_names
from debatebench.transform.sql_model import SqlModel

_MOST_SHOWN = 3

Kind = Literal["column", "cte", "raw", "seed", "rows", "relation"]


@dataclass(frozen=True, slots=True, repr=False)
class LineageNode:
    """One step on the way from a column to the columns that it is computed from.

    `kind`: `column` of a SQL model, `cte` (a column of a CTE inside `relation`), `raw` (a landed column), `seed` (a
    column of a CSV file), `rows` (the rows of `relation`, which are counted or numbered), `relation` (a whole SQL model
    or landed table). `name` is the dotted name, for a CTE `cte.column`. `expression` is the SQL behind it as written at
    `file`:`line`; a landed column has none. A node without `upstream` is landed, of a seed, or a constant. `same_as`
    are the columns whose values it passes on unchanged: one for a rename, one for each side of a union; an expression
    has none. `problem` is the reason why the way down could not be found.
    """

    name: str
    kind: Kind
    relation: str
    expression: str | None = None
    file: Path | None = None
    line: int | None = None
    upstream: tuple[LineageNode, ...] = ()
    same_as: tuple[LineageNode, ...] = ()
    problem: str | None = None

    def __repr__(self) -> str:
        above = ", ".join(node.name for node in self.upstream[:_MOST_SHOWN])
        more = f" and {len(self.upstream) - _MOST_SHOWN} more" if len(self.upstream) > _MOST_SHOWN else ""
        return f"<{self.name} from {above}{more}>" if above else f"<{self.name}>"

    @property
    def is_constant(self) -> bool:
        """Whether it is computed only from literals in the SQL."""
        return not self.upstream and self.kind in ("column", "cte") and self.problem is None

    @property
    def is_in_raw(self) -> bool:
        """Whether it was landed, so that there is nothing above it."""
        return self.relation.startswith("raw.")

    @property
    def is_source(self) -> bool:
        """Whether it was landed or is of a seed, so that there is nothing above it."""
        return self.is_in_raw or self.kind == "seed"

    def nodes(self) -> Iterator[LineageNode]:
        """This node and everything above it, each once, in the order of the tree."""
        seen: set[int] = set()
        open_nodes = [self]
        while open_nodes:
            node = open_nodes.pop()
            if id(node) not in seen:
                seen.add(id(node))
                yield node
                open_nodes.extend(reversed(node.upstream))


class Relations(Protocol):
    """What a trace needs to know about the relations that its query reads."""

    def columns(self, relation: str) -> tuple[str, ...]:
        """The columns of a SQL model or landed table."""

    def column(self, relation: str, column: str) -> LineageNode:
        """Where one column of a SQL model or landed table comes from."""

    def rows(self, relation: str) -> LineageNode:
        """Where the rows of a SQL model or landed table come from."""


class Trace:
    """The way down inside one SQL model, to the columns of the relations that it reads."""

    def __init__(self, relations: Relations, model: SqlModel, query: QualifiedQuery) -> None:
        self.relations, self.model, self.query = relations, model, query
        self._done: dict[tuple[int, str], LineageNode] = {}
        self._open: set[tuple[int, str]] = set()

    def column(self, scope: Scope, column: str) -> LineageNode:
        """A column of a CTE, a derived table or the whole query; the node below it if it is only passed on."""
        key = (id(scope), column)
        if key not in self._done:
            self._open.add(key)
            self._done[key] = self._column(scope, column)
            self._open.remove(key)
        return self._done[key]

    def _column(self, scope: Scope, column: str) -> LineageNode:
        query, inner = scope.expression, scope.sources.get("")
        if isinstance(query, exp.SetOperation):
            return self._united(scope, column)
        # A query in brackets has no name of its own.
        if isinstance(query, exp.Subquery | exp.Lateral) and inner is not None and not isinstance(inner, exp.Table):
            return self.column(inner, column)
        expression, upstream = query, None
        if isinstance(query, exp.Select):
            chosen = next((each for each in query.expressions if each.alias_or_name == column), None)
            expression, upstream = (query, self.rows_of(scope)) if chosen is None else (chosen.unalias(), None)
        same_as = self._same_as(scope, expression)
        # A column that is only passed on under its own name is not worth a step.
        if isinstance(expression, exp.Column) and expression.name == column and len(same_as) == 1:
            return same_as[0]
        written = self.query.written.get((id(query), column))
        text, line = written or (expression.sql("duckdb", comments=False), None)
        above = _once(self._sources_of(scope, expression)) if upstream is None else upstream
        return self._step(scope, column, text, line, above, same_as)

    def _step(
        self,
        scope: Scope,
        column: str,
        text: str,
        line: int | None,
        upstream: tuple[LineageNode, ...],
        same_as: tuple[LineageNode, ...],
    ) -> LineageNode:
        name = f"{_label(scope)}.{column}"
        return LineageNode(name, "cte", self.model.name, text, self.model.file, line, upstream, same_as)

    def place(self, scope: Scope, column: str, node: LineageNode) -> tuple[str, int | None]:
        """The text and the line of a column that is `node`; of one that is passed on, where the file names it."""
        if node.relation == self.model.name:
            return node.expression or node.name, node.line
        # Where there are only stars, it is the first line that names the relation.
        line = next((each.line for each in self.model.query.references if each.name == node.relation), None)
        return self._named(scope, column) or (node.name, line)

    def _named(self, scope: Scope, column: str) -> Written | None:
        """Where the file names a column that is only passed on; stars on the way are followed."""
        written = self.query.written.get((id(scope.expression), column))
        if written is not None:
            return written
        sources = [source for _, source in scope.selected_sources.values() if not isinstance(source, exp.Table)]
        inner = [source for source in sources if column in output_names(source.expression)]
        return self._named(inner[0], column) if len(inner) == 1 else None

    def _united(self, scope: Scope, column: str) -> LineageNode:
        """A column of UNION, INTERSECT or EXCEPT: by position, or by name where the SQL says so."""
        query, sides = scope.expression, scope.set_operation_scopes
        columns = [output_names(side.expression) for side in sides]
        names = [column, column]
        if not query.args.get("by_name") and column in columns[0]:
            names = [each[columns[0].index(column)] for each in columns]
        # A recursive CTE reads itself, which adds nothing; with BY NAME, a side may lack the column.
        branches = [
            (side, name, self.column(side, name))
            for side, name, known in zip(sides, names, columns, strict=True)
            if name in known and (id(side), name) not in self._open
        ]
        places = [self.place(*branch) for branch in branches]
        operator = query.key if query.args.get("distinct") or query.key != "union" else "union all"
        text = f" {operator} ".join(dict.fromkeys(text for text, _ in places))
        line = next((line for _, line in places if line is not None), None)
        # If a side only adds a label, its rows determine how often the label occurs.
        above = (self.rows_of(side) if node.is_constant else self._above(node) for side, _, node in branches)
        same_as = tuple(node for _, _, node in branches)
        return self._step(scope, column, text, line, _once(node for nodes in above for node in nodes), same_as)

    def _above(self, node: LineageNode) -> tuple[LineageNode, ...]:
        """What a node of a query inside this one is computed from."""
        return node.upstream if node.relation == self.model.name else (node,)

    def _sources_of(self, scope: Scope, expression: exp.Expr) -> Iterator[LineageNode]:
        """Everything that an expression in `scope` is computed from."""
        parts = list(expression.walk(bfs=False, prune=lambda each: isinstance(each, exp.Query)))
        for node in parts:
            if isinstance(node, exp.Column) and not isinstance(node.this, exp.Star):
                yield from self._source_of(scope, node)
            elif isinstance(node, exp.Query):
                yield from self._nested(scope, node)
            elif isinstance(node, exp.Count) and (node.this is None or isinstance(node.this, exp.Star)):
                yield from self.rows_of(scope)
        # An aggregate or window function without columns depends on the rows: row_number() over ().
        is_over_rows = any(isinstance(node, exp.AggFunc | exp.Window) for node in parts)
        if is_over_rows and not any(isinstance(node, exp.Column) for node in parts):
            yield from self.rows_of(scope)

    def _source_of(self, scope: Scope, column: exp.Column) -> Iterator[LineageNode]:
        """The column that a name in an expression refers to; if sqlglot does not know it, all rows of what is read."""
        source = _read_from(scope, column)
        if source is not None and not isinstance(source, exp.Table):
            if (id(source), column.name) not in self._open:
                yield self.column(source, column.name)
        elif _is_function(source):
            yield from self._sources_of(scope, source.this)
        elif source is not None and column.name in self.relations.columns(_dotted(source)):
            yield self.relations.column(_dotted(source), column.name)
        else:
            yield from self.rows_of(scope)

    def _same_as(self, scope: Scope, expression: exp.Expr) -> tuple[LineageNode, ...]:
        """The columns that an expression only names; none if it computes anything, or if their source is unclear."""
        named = _named_columns(expression)
        nodes = _once(node for column in named for node in self._source_of(scope, column))
        is_computed = any(_is_function(_read_from(scope, column)) for column in named)
        return () if is_computed or any(node.kind == "rows" for node in nodes) else nodes

    def _nested(self, scope: Scope, query: exp.Expr) -> Iterator[LineageNode]:
        """A query inside an expression: its columns, or for EXISTS its rows."""
        inner = next((each for each in scope.subquery_scopes if each.expression is query.unnest()), None)
        if inner is None:
            return
        if isinstance(query.parent, exp.Exists):
            yield from self.rows_of(inner)
        else:
            for name in output_names(inner.expression):
                yield from self._above(self.column(inner, name))

    def rows_of(self, scope: Scope) -> tuple[LineageNode, ...]:
        """The relations whose rows make the rows of a query."""
        found: list[LineageNode] = []
        seen: set[int] = set()
        open_sources: list[Scope | exp.Table] = [scope]
        while open_sources:
            source = open_sources.pop()
            if isinstance(source, exp.Table):
                found += [self.relations.rows(_dotted(source))] if source.db else []
            elif id(source) not in seen:
                seen.add(id(source))
                read = [each for _, each in source.selected_sources.values()]
                open_sources.extend(reversed([*source.set_operation_scopes, *read]))
        return _once(found)


def _named_columns(expression: exp.Expr) -> Sequence[exp.Column]:
    """A single column, or the columns that a join with USING merges; none for any other expression."""
    # For a column `x` of `a join b using (x)` sqlglot writes `coalesce(a.x, b.x)`.
    parts = [expression.this, *expression.expressions] if isinstance(expression, exp.Coalesce) else [expression]
    columns = [each for each in parts if isinstance(each, exp.Column) and not isinstance(each.this, exp.Star)]
    return columns if len(columns) == len(parts) and len({each.name for each in columns}) == 1 else []


def _read_from(scope: Scope, column: exp.Column) -> Scope | exp.Table | None:
    """The CTE, table or function that has the column, in this query or an outer one; None if sqlglot cannot tell."""
    holder: Scope | None = scope
    while holder is not None and column.table not in holder.sources:
        holder = holder.parent
    return holder.sources[column.table] if holder is not None else None


def _is_function(source: Scope | exp.Table | None) -> TypeGuard[exp.Table]:
    """Whether it is a function that makes rows from its arguments, such as `unnest(…)`."""
    return isinstance(source, exp.Table) and not source.db


def _dotted(table: exp.Table) -> str:
    return f"{table.db}.{table.name}".lower()


def _label(scope: Scope) -> str:
    """The name of the CTE or derived table that a scope is."""
    node: exp.Expr | None = scope.expression
    while node is not None:
        if isinstance(node, exp.CTE | exp.Subquery | exp.UDTF) and node.alias:
            return str(node.alias)
        node = node.parent
    return "select"


def _once(nodes: Iterable[LineageNode]) -> tuple[LineageNode, ...]:
    """The nodes without duplicates, in order."""
    return tuple({id(node): node for node in nodes}.values())
