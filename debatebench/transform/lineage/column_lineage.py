"""Column lineage: where a column of a SQL model comes from, through every SQL model down to the landed columns."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from debatebench.shared.amounts import did_you_mean
from debatebench.shared.errors import UsageError
from debatebench.transform.graph import upstream
from debatebench.transform.lineage.qualified_query import UntraceableError, qualify_query
from debatebench.transform.lineage.within_query import LineageNode, Trace
from debatebench.transform.project import Project
from debatebench.transform.short_names import short_names
from debatebench.transform.sql_model import SqlModel


def column_lineage(project: Project, name: str) -> LineageNode:
    """Where `schema.model.column` comes from; for `schema.model`, the SQL models and landed tables that it reads.

    The schema may be omitted if the rest is unambiguous, or what a query finds under that name. The unsuffixed name of
    a versioned model is its latest version. Does not need a warehouse. Raises `UsageError` for an unknown name,
    with similar names.
    """
    return Lineage(project).node(name)


class Lineage:
    """The lineage of one project; each result is cached."""

    def __init__(self, project: Project) -> None:
        self.project = project
        self.models: Mapping[str, SqlModel] = project.models
        self.raw = {table: tuple(columns) for table, columns in project.domain.tables.items()}
        self._traces: dict[str, Trace | UntraceableError] = {}
        self._columns: dict[tuple[str, str], LineageNode] = {}
        self._rows: dict[str, LineageNode] = {}
        self._relations: dict[str, LineageNode] = {}
        self._traced_above: set[str] = set()

    def node(self, name: str) -> LineageNode:
        """See `column_lineage`."""
        relation, column = self._resolve(name.strip().lower())
        return self.relation(relation) if column is None else self.column(relation, column)

    def columns(self, relation: str) -> tuple[str, ...]:
        """The columns of a SQL model, seed or landed table; the YAML's columns if the query does not show them."""
        if relation in self.raw:
            return self.raw[relation]
        if (seed := self.models[relation].seed) is not None:
            return tuple(seed.types)
        trace = self._trace(relation)
        if isinstance(trace, UntraceableError):
            return tuple(column.name.lower() for column in self.models[relation].properties.columns)
        return trace.query.columns

    def relation(self, name: str) -> LineageNode:
        """The SQL models and landed tables that a SQL model reads, directly or not."""
        if name not in self._relations:
            model = self.models.get(name)
            self._relations[name] = LineageNode(
                name=name,
                kind="relation",
                relation=name,
                file=model.file if model else None,
                upstream=tuple(self.relation(above) for above in model.dependencies) if model else (),
            )
        return self._relations[name]

    def column(self, relation: str, column: str) -> LineageNode:
        """Where one column of a SQL model or landed table comes from."""
        key = (relation, column)
        if key not in self._columns:
            self._trace_above(relation)
            self._columns[key] = self._traced(relation, column)
        return self._columns[key]

    def _trace_above(self, relation: str) -> None:
        """First trace what a SQL model reads, from the bottom up, so that a long chain does not recurse deeply."""
        if relation in self.models and relation not in self._traced_above:
            above = upstream(self.models, [relation]) - {relation}
            self._traced_above |= above | {relation}
            for name in self.models:
                if name in above:
                    self.rows(name)
                    for column in self.columns(name):
                        self.column(name, column)

    def rows(self, relation: str) -> LineageNode:
        """The relations whose rows make the rows of this one: those in its FROM and its joins."""
        if relation not in self._rows:
            model = self.models.get(relation)
            trace = self._trace(relation) if model and model.seed is None else None
            self._rows[relation] = LineageNode(
                name=f"rows of {relation}",
                kind="rows",
                relation=relation,
                file=model.file if model else None,
                upstream=trace.rows_of(trace.query.scope) if isinstance(trace, Trace) else (),
                problem=str(trace) if isinstance(trace, UntraceableError) else None,
            )
        return self._rows[relation]

    def _traced(self, relation: str, column: str) -> LineageNode:
        name = f"{relation}.{column}"
        if relation in self.raw:
            return LineageNode(name, "raw", relation)
        model = self.models[relation]
        if model.seed is not None:
            return LineageNode(name, "seed", relation, file=model.file, line=1)
        trace = self._trace(relation)
        if isinstance(trace, UntraceableError):
            return LineageNode(name, "column", relation, file=model.file, line=trace.line, problem=str(trace))
        node = trace.column(trace.query.scope, column)
        if node.relation == relation:
            return replace(node, name=name, kind="column")
        text, line = trace.place(trace.query.scope, column, node)
        return LineageNode(name, "column", relation, text, model.file, line, (node,), (node,))

    def _trace(self, name: str) -> Trace | UntraceableError:
        if name not in self._traces:
            model = self.models[name]
            columns = {above: self.columns(above) for above in model.dependencies}
            try:
                self._traces[name] = Trace(self, model, qualify_query(model.query.sql, columns, self.project.macros))
            except UntraceableError as error:
                self._traces[name] = error
        return self._traces[name]

    # --- names ---

    def _resolve(self, name: str) -> tuple[str, str | None]:
        """The (relation, column or None) that a name refers to."""
        known = [*self.models, *self.raw]
        if name in known:
            return name, None
        readings = [
            (relation, name[len(start) + 1 :])
            for relation in known
            for start in (relation, relation.partition(".")[2])
            if name == start or name.startswith(f"{start}.")
        ]
        found = [(relation, name or None) for relation, name in readings if not name or name in self.columns(relation)]
        if len(found) > 1:
            short = set(short_names(self.project).values())
            found = [each for each in found if each[0] in short] or found
        if len(found) > 1:
            listed = " or ".join(".".join(filter(None, each)) for each in found)
            raise UsageError(f"'{name}' is ambiguous: {listed}; write the schema too.")
        if found:
            return found[0]
        if readings:
            relation, column = readings[0]
            columns = self.columns(relation)
            hint = did_you_mean(column, columns) or f" Its columns: {', '.join(columns)}."
            raise UsageError(f"{relation} has no column '{column}'.{hint}")
        parts = name.split(".")
        hint = did_you_mean(".".join(parts[:2]), known)
        hint = hint or did_you_mean(parts[0], [relation.partition(".")[2] for relation in known])
        hint = hint or " `debatebench docs` shows all of them."
        raise UsageError(f"No SQL model or landed table '{name}'.{hint}")
