"""The text values that the SQL of a project can give to each column, found in its literals."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache
from typing import TYPE_CHECKING, NamedTuple

from sqlglot import exp
from sqlglot.dialects.duckdb import DuckDB

from debatebench.transform.lineage.passed_on import OutputColumns
from debatebench.transform.sql_model import MACROS, is_macro_call

if TYPE_CHECKING:
    from debatebench.transform.macros import Macro
    from debatebench.transform.project import Project
    from debatebench.transform.sql_model import SqlModel

# What returns one of the values of its first argument.
_CHOOSING = (
    *(exp.Max, exp.Min, exp.AnyValue, exp.First, exp.Last, exp.ArgMax, exp.ArgMin, exp.Mode, exp.Lag, exp.Lead),
    *(exp.FirstValue, exp.LastValue, exp.Paren, exp.Window, exp.Filter, exp.Nullif, exp.IgnoreNulls, exp.Order),
)
_CHOOSING_ANY = (exp.Coalesce, exp.Greatest, exp.Least)


class Possible(NamedTuple):
    """The literals that an expression can return, and whether it can return anything else (nulls aside)."""

    literals: frozenset[str]
    is_open: bool


NOTHING, ANYTHING = Possible(frozenset(), False), Possible(frozenset(), True)


class PossibleValues:
    """The possible values of the columns of all SQL models of a project.

    A landed column has those of the YAML or of its record, if they are listed there. Rows that a condition leaves out
    are not taken into account.
    """

    def __init__(
        self,
        project: Project,
        landed: Mapping[tuple[str, str], frozenset[str]],
        models: Iterable[SqlModel] | None = None,
    ) -> None:
        self.project = project
        self._outputs = OutputColumns(lambda name: self._found.get(name, {}), ANYTHING, self._computed, _any_of)
        self._found: dict[str, dict[str, Possible]] = {
            table: {
                name: Possible(landed.get((table, name), frozenset()), (table, name) not in landed) for name in columns
            }
            for table, columns in project.domain.tables.items()
        }
        for model in project.models.values() if models is None else models:
            self._found[model.name] = (
                dict.fromkeys(model.seed.types, ANYTHING) if model.seed else self._outputs.of(_parsed(model.query.sql))
            )

    def of(self, relation: str) -> Mapping[str, Possible]:
        """Column of a relation → its possible values."""
        return self._found[relation]

    def _computed(self, expression: exp.Expr, of_column: Callable[[exp.Column], Possible]) -> Possible:
        def of(inner: exp.Expr | None) -> Possible:
            if inner is None:
                return NOTHING
            return of_column(inner) if isinstance(inner, exp.Column) else self._computed(inner, of_column)

        if isinstance(expression, exp.Literal):
            return Possible(frozenset({str(expression.this)}), False)
        if isinstance(expression, exp.Null):
            return NOTHING
        if isinstance(expression, exp.Case):
            return _any_of(
                [*(of(each.args["true"]) for each in expression.args["ifs"]), of(expression.args.get("default"))]
            )
        if isinstance(expression, exp.If):
            return _any_of([of(expression.args["true"]), of(expression.args.get("false"))])
        if isinstance(expression, exp.Cast):
            return of(expression.this) if expression.to.this in exp.DataType.TEXT_TYPES else ANYTHING
        if isinstance(expression, _CHOOSING):
            return of(expression.this)
        if isinstance(expression, _CHOOSING_ANY):
            return _any_of([of(expression.this), *map(of, expression.expressions)])
        if isinstance(expression, exp.Explode | exp.Unnest | exp.Array | exp.Values | exp.Tuple):
            inner = expression.expressions or ([expression.this] if expression.this else [])
            lists = not isinstance(expression, exp.Explode | exp.Unnest) or all(isinstance(i, exp.Array) for i in inner)
            return _any_of([of(each) for each in inner]) if lists and inner else ANYTHING
        if isinstance(expression, exp.Subquery):
            columns = list(self._outputs.of(expression).values())
            return columns[0] if columns else ANYTHING
        if is_macro_call(expression):
            return self._macro(expression.expression, of)
        return ANYTHING

    def _macro(self, call: exp.Expr, of: Callable[[exp.Expr | None], Possible]) -> Possible:
        macro = self.project.macros[f"{MACROS}.{call.name}".lower()]
        given = {name: of(value) for name, value in zip(macro.parameters, call.expressions, strict=True)}
        return self.of_macro(macro, given)

    def of_macro(self, macro: Macro, given: Mapping[str, Possible]) -> Possible:
        """What a macro can return for these arguments."""
        formula = _parsed(f"select {macro.expression}").expressions[0]
        return self._outputs.of_expression(formula, lambda column: given.get(column.name.lower()))


def possible_of_macro(project: Project, name: str) -> Possible:
    """What a macro can return for any arguments."""
    return PossibleValues(project, {}, ()).of_macro(project.macros[name], {})


def _any_of(found: Sequence[Possible]) -> Possible:
    return Possible(frozenset().union(*(each.literals for each in found)), any(each.is_open for each in found))


@cache
def _parsed(sql: str) -> exp.Expr:
    dialect = DuckDB()
    return next(tree for tree in dialect.parser().parse(dialect.tokenize(sql), sql) if tree is not None)
