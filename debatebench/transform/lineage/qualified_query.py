"""A query as lineage needs it: stars expanded, every column bound to its source, expressions as they are written."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from sqlglot import exp
from sqlglot.dialects.duckdb import DuckDB
from sqlglot.errors import SqlglotError
from sqlglot.optimizer.qualify import qualify
from sqlglot.optimizer.scope import Scope, build_scope
from sqlglot.tokenizer_core import Token

from debatebench.transform.expansion import CLOSING, OPENING, expand, one_line
from debatebench.transform.macros import Macro
from debatebench.transform.sql_model import is_macro_call

# `main.upper(x)` is a function in its schema, and not one applied to a column.
_SCHEMAS_OF_FUNCTIONS = {"main", "system", "pg_catalog"}


class UntraceableError(Exception):
    """sqlglot cannot determine from which columns the query computes its own; `line` is the place, if it is known."""

    def __init__(self, reason: str, line: int | None = None) -> None:
        super().__init__(reason)
        self.line = line


class Written(NamedTuple):
    """An expression as it is in the file, on one line without comments, and the line of the file where it begins."""

    text: str
    line: int


class QualifiedQuery(NamedTuple):
    """The scopes of a query, the columns that it returns, and the expressions behind the columns as written.

    `written` has (id of the SELECT, column) → the expression, if the column does not come from a star.
    """

    scope: Scope
    columns: tuple[str, ...]
    written: Mapping[tuple[int, str], Written]


def qualify_query(sql: str, columns_of: Mapping[str, Sequence[str]], macros: Mapping[str, Macro]) -> QualifiedQuery:
    """Analyse the query of a SQL model; `columns_of` has the columns of every relation that it reads, by dotted name.

    A call of one of `macros` is traced as its formula, `x.f()` as `f(x)`, and both are shown as they are written.

    Raises `UntraceableError` for SQL that sqlglot cannot analyse, such as COLUMNS(…) and PIVOT.
    """
    schema: dict[str, Any] = {}
    for name, columns in columns_of.items():
        folder, _, table = name.partition(".")
        schema.setdefault(folder, {})[table] = dict.fromkeys(columns, "unknown")
    dialect = DuckDB()
    tokens = dialect.tokenize(sql)
    tree = next(tree for tree in dialect.parser().parse(tokens, sql) if tree is not None)
    written = _written(sql, tokens, tree)
    _check_named(tree, tokens)
    _write_out(tree, macros)
    _name_arguments(tree)
    try:
        qualified = qualify(
            tree, schema=schema, dialect=dialect, quote_identifiers=False, validate_qualify_columns=False
        )
        scope = build_scope(qualified)
    except (SqlglotError, RecursionError, AttributeError) as error:
        raise UntraceableError(" ".join(str(error).split()) or type(error).__name__) from None
    if scope is None:
        raise UntraceableError("it is not a SELECT")
    columns = tuple(output_names(qualified))
    if "*" in columns:
        raise UntraceableError("a star over a struct hides which columns are selected; name them")
    return QualifiedQuery(scope, columns, written)


def _check_named(tree: exp.Expr, tokens: Sequence[Token]) -> None:
    """Refuse what makes columns without naming them."""
    if tree.find(exp.Columns) is not None:
        raise UntraceableError("COLUMNS(…) hides which columns are selected; name them", _line_of(tokens, "COLUMNS"))
    if any(isinstance(star.parent, exp.Binary) for star in tree.find_all(exp.Star)):
        raise UntraceableError("a pattern after a star hides which columns are selected; name them")
    pivot = tree.find(exp.Pivot)
    if pivot is not None:
        word = "UNPIVOT" if pivot.args.get("unpivot") else "PIVOT"
        raise UntraceableError(f"{word} makes columns out of rows or rows out of columns", _line_of(tokens, word))


def _line_of(tokens: Sequence[Token], word: str) -> int | None:
    """The first line that has the word."""
    return next((token.line for token in tokens if token.text.upper() == word), None)


def _name_arguments(tree: exp.Expr) -> None:
    """`x.f(y)` → `f(x, y)`: before the dot, sqlglot takes the names of columns for names of schemas."""
    dialect = DuckDB()
    calls = [dot for dot in tree.find_all(exp.Dot, bfs=False) if isinstance(dot.expression, exp.Func | exp.Window)]
    # The innermost call first: `x.f().g()` is a call of g on a call of f.
    for dot in reversed(calls):
        if dot.this.name.lower() in _SCHEMAS_OF_FUNCTIONS:
            continue
        call = dot.expression.find(exp.Anonymous)
        if call is None:
            called = dot.sql(dialect, comments=False)
            raise UntraceableError(f"the function in `{called}` is called on a column by a dot")
        text = dot.this.sql(dialect, comments=False)
        call.set("expressions", [dialect.parser().parse(dialect.tokenize(text), text)[0], *call.expressions])
        variables = _variables_around(dot)
        for column in list(call.expressions[0].find_all(exp.Column)):
            if column.parts[0].name in variables:
                column.replace(column.to_dot())
        dot.replace(dot.expression)


def _variables_around(node: exp.Expr) -> set[str]:
    """The variables of all lambdas that a node is in."""
    found: set[str] = set()
    around = node.find_ancestor(exp.Lambda)
    while around is not None:
        found |= {name.name for name in around.expressions}
        around = around.find_ancestor(exp.Lambda)
    return found


def _write_out(tree: exp.Expr, macros: Mapping[str, Macro]) -> None:
    """Replace every macro call by the macro's formula."""
    dialect = DuckDB()
    outermost = tree.walk(prune=is_macro_call)
    for call in [node for node in outermost if is_macro_call(node)]:
        formula = expand(call.sql(dialect), macros)
        call.replace(dialect.parser().parse(dialect.tokenize(formula), formula)[0])


def output_names(query: exp.Expr) -> list[str]:
    """The columns of a query; columns that a UNION BY NAME adds come after those of its left side."""
    if isinstance(query, exp.SetOperation) and query.args.get("by_name"):
        sides = [output_names(query.this), output_names(query.expression)]
        return list(dict.fromkeys([name for side in sides for name in side]))
    return list(query.named_selects) if isinstance(query, exp.Query) else []


def _written(sql: str, tokens: Sequence[Token], tree: exp.Expr) -> dict[tuple[int, str], Written]:
    """(SELECT, column) → its expression: what stands in its item of the list before the column's name."""
    places = {token.start: place for place, token in enumerate(tokens)}
    starts = _item_starts(tokens)
    found: dict[tuple[int, str], Written] = {}
    for select in tree.find_all(exp.Select):
        for projection in select.expressions:
            is_alias = isinstance(projection, exp.Alias)
            name = projection.args.get("alias") if is_alias else projection.this
            place = places.get(name.meta.get("start", -1)) if isinstance(name, exp.Identifier) else None
            if place is None:
                continue
            end = place - (tokens[place - 1].token_type.name == "ALIAS") if is_alias else place + 1
            item = tokens[starts[place] : end]
            # The name is before the expression in `x: a + b`.
            text = one_line(sql, item) if item else projection.this.sql("duckdb", comments=False)
            line = item[0].line if item else tokens[place].line
            found[id(select), projection.alias_or_name.lower()] = Written(text, line)
    return found


def _item_starts(tokens: Sequence[Token]) -> list[int]:
    """The place of every token → the place where its item of a list begins, such as a list after SELECT."""
    starts: list[int] = []
    # (where the item begins, whether its brackets are those of DISTINCT ON (…), which stands before the first item)
    open_lists = [(0, False)]
    for place, token in enumerate(tokens):
        start, is_on = open_lists[-1]
        starts.append(start)
        kind, before = token.token_type.name, [each.token_type.name for each in tokens[max(0, place - 2) : place]]
        if kind in OPENING:
            open_lists.append((place + 1, before == ["DISTINCT", "ON"]))
        elif kind in CLOSING:
            open_lists.pop()
            if is_on:
                open_lists[-1] = (place + 1, open_lists[-1][1])
        elif kind in ("COMMA", "SELECT") or (kind in ("ALL", "DISTINCT") and before[-1:] == ["SELECT"]):
            open_lists[-1] = (place + 1, is_on)
    return starts
