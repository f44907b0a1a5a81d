"""A query whose every expression has its type: stars expanded, columns bound to their tables, lambdas followed.

Many words of DuckDB mean one thing for lists and another for text, or one for integers and another for decimals.
Another engine has two words for them, so only the type says which one is meant.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from typing import Any

from sqlglot import exp
from sqlglot.dialects.duckdb import DuckDB
from sqlglot.optimizer.annotate_types import TypeAnnotator
from sqlglot.optimizer.qualify import qualify
from sqlglot.schema import MappingSchema

Columns = Mapping[str, Mapping[str, str]]
"""Dotted name of a relation → column → DuckDB type, in the order of the columns."""

Returns = Mapping[str, str]
"""Name of a Python function → DuckDB type of its result."""


def typed_query(query: exp.Query, columns: Columns, returns: Returns) -> exp.Query:
    """A copy of `query`, a query in DuckDB's dialect without macros, with types where they can be known."""
    dialect = DuckDB()
    tables: dict[str, Any] = {}
    for relation, types in columns.items():
        folder, _, table = relation.partition(".")
        tables.setdefault(folder, {})[table] = {name: _type(data_type) for name, data_type in types.items()}
    schema = MappingSchema(tables, dialect=dialect)
    qualified = qualify(
        _with_lists(query.copy()),
        schema=schema,
        dialect=dialect,
        quote_identifiers=False,
        validate_qualify_columns=False,
    )
    annotator = TypeAnnotator(schema, expression_metadata=_rules(dict(returns)))
    return annotator.annotate(qualified)


def _with_lists(query: exp.Query) -> exp.Query:
    """`from range(1, 9) as r(i)` → `from (select unnest(range(1, 9)) as i) as r`, whose column has a type."""
    for table in list(query.find_all(exp.Table)):
        if isinstance(table.this, exp.GenerateSeries):
            own = "range" if table.this.args.get("is_end_exclusive") else "generate_series"
            name = next(iter(table.alias_column_names), own)
            rows = exp.select(exp.alias_(exp.Explode(this=table.this.copy()), name))
            table.replace(rows.subquery(table.alias or "series"))
    return query


@cache
def _type(data_type: str) -> exp.DataType:
    return exp.DataType.build(data_type, dialect="duckdb")


def name_of(call: exp.Expr) -> str:
    """The name of a function that sqlglot has no class for, in lower case; empty for anything else."""
    return call.name.lower() if isinstance(call, exp.Anonymous) else ""


def is_list(node: exp.Expr) -> bool:
    """Whether the expression is known to be a list."""
    return node.is_type(exp.DType.ARRAY, exp.DType.LIST)


def element(node: exp.Expr | None) -> exp.DataType | None:
    """The type of the elements of a list, if it is known."""
    if node is None or node.type is None or not is_list(node) or not node.type.expressions:
        return None
    item: exp.DataType = node.type.expressions[0]
    return item


def _rules(returns: Mapping[str, str]) -> dict[Any, Any]:
    """What sqlglot's annotator does not know about DuckDB: lambdas, functions of lists, Python functions."""

    def rule(annotate: Callable[[TypeAnnotator, Any], None]) -> dict[str, Any]:
        return {"annotator": annotate}

    def called(annotator: TypeAnnotator, call: exp.Anonymous) -> None:
        if name_of(call) in returns:
            annotator._set_type(call, _type(returns[name_of(call)]))
        else:
            annotator._set_type(call, _of_list_function(call))

    return {
        **DuckDB.EXPRESSION_METADATA,
        exp.Anonymous: rule(called),
        exp.Transform: rule(_transform),
        exp.ArrayFilter: rule(_filter),
        **dict.fromkeys((exp.ArraySort, exp.ArrayDistinct, exp.ArrayConcat, exp.ArraySlice), rule(_same)),
        **dict.fromkeys((exp.ArrayMax, exp.ArrayMin), rule(_one_of)),
        exp.GenerateSeries: rule(_integers),
        exp.Bracket: rule(_bracket),
        exp.Filter: rule(_same),
        exp.IgnoreNulls: rule(_same),
        exp.RegexpReplace: {"returns": exp.DType.VARCHAR},
        exp.RegexpExtract: {"returns": exp.DType.VARCHAR},
    }


def _same(annotator: TypeAnnotator, node: exp.Expr) -> None:
    annotator._set_type(node, node.this.type)


def _one_of(annotator: TypeAnnotator, node: exp.Expr) -> None:
    annotator._set_type(node, element(node.this))


def _integers(annotator: TypeAnnotator, node: exp.Expr) -> None:
    annotator._set_type(node, _type("BIGINT[]"))


def _bracket(annotator: TypeAnnotator, node: exp.Bracket) -> None:
    if node.this.is_type(exp.DType.MAP) and node.this.type and len(node.this.type.expressions) == 2:
        annotator._set_type(node, node.this.type.expressions[1])
    else:
        annotator._annotate_bracket(node)


def _filter(annotator: TypeAnnotator, node: exp.ArrayFilter) -> None:
    _bind(annotator, node)
    annotator._set_type(node, node.this.type)


def _transform(annotator: TypeAnnotator, node: exp.Transform) -> None:
    _bind(annotator, node)
    body = node.expression.this
    if body.type is not None and not body.is_type(exp.DType.UNKNOWN):
        annotator._set_type(node, exp.DataType(this=exp.DType.ARRAY, expressions=[body.type.copy()], nested=True))
    else:
        annotator._set_type(node, exp.DType.UNKNOWN)


def _bind(annotator: TypeAnnotator, node: exp.Expr) -> None:
    """Give the variables of the lambda their types, and with them its body."""
    function = node.expression
    if not isinstance(function, exp.Lambda) or (item := element(node.this)) is None:
        return
    kinds = (item, _type("BIGINT"))
    variables = {name.name.lower(): kind for name, kind in zip(function.expressions, kinds, strict=False)}
    for each in function.this.walk():
        if isinstance(each, exp.Identifier) and each.name.lower() in variables and _is_variable(each):
            annotator._set_type(each, variables[each.name.lower()])
        elif not isinstance(each, exp.Column):
            annotator._visited.pop(id(each), None)
    annotator.annotate_expression(function.this)


def _is_variable(name: exp.Identifier) -> bool:
    """Whether a name in a lambda can be its variable: it is no field, and no part of a column."""
    parent = name.parent
    if isinstance(parent, exp.Dot):
        return parent.this is name
    return not isinstance(parent, exp.Column | exp.PropertyEQ | exp.Alias | exp.TableAlias)


def _of_list_function(call: exp.Anonymous) -> exp.DataType | None:
    """The type of a function of lists that sqlglot has no class for."""
    name = name_of(call)
    first: exp.Expr | None = call.expressions[0] if call.expressions else None
    item = element(first)
    if name in ("list_sum", "list_product"):
        return _summed(item)
    if name in ("list_avg", "lgamma"):
        return _type("DOUBLE")
    if name in ("list_count", "list_position", "strlen", "list_unique"):
        return _type("BIGINT")
    if name in ("list_extract", "list_any_value", "list_first", "list_last"):
        return item
    if name in ("list_intersect", "list_slice", "list_reverse", "list_sort", "list_distinct") and first is not None:
        return first.type
    return _type("VARCHAR") if name in ("printf", "format") else None


def _summed(item: exp.DataType | None) -> exp.DataType | None:
    if item is None:
        return None
    if item.is_type(*exp.DataType.INTEGER_TYPES, exp.DType.BOOLEAN):
        return _type("BIGINT")
    if item.is_type(exp.DType.DECIMAL):
        scale = item.expressions[1].name if len(item.expressions) > 1 else "3"
        return _type(f"DECIMAL(38, {scale})")
    return _type("DOUBLE")
