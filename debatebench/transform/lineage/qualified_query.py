"""A query as lineage needs it: stars expanded, every column bound to its source, expressions as they are written."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from debatebench.transform.expansion import CLOSING, OPENING, expand, one_line
from debatebench.transform.sql_model import is_macro_call

if TYPE_CHECKING:
    from sqlglot import exp
    from sqlglot.optimizer.scope import Scope
    from sqlglot.tokenizer_core import Token

    from debatebench.transform.macros import Macro

_AFTER_THE_LIST = {
    "FROM",
    "WHERE",
    "GROUP_BY",
    "HAVING",
    "WINDOW",
    "QUALIFY",
    "ORDER_BY",
    "LIMIT",
    "OFFSET",
    "UNION",
    "EXCEPT",
    "INTERSECT",
    "USING",
    "TABLE_SAMPLE",
    "SEMICOLON",
}


# `main.upper(x)` is a function in its schema, and not one applied to a column.
_SCHEMAS_OF_FUNCTIONS = {"main", "system", "pg_catalog"}


class UntraceableError(Exception):
    """sqlglot cannot determine from which columns the query computes its own; `line` is the place, if it is known."""

    def __init__(self, reason: str, line: int | None = None) -> None:
        super().__init__(reason)
        self.line = line


@dataclass(frozen=True, slots=True)
class Written:
    """An expression as it is in the file, on one line without comments, and the line of the file where it begins."""

    text: str
    line: int


@dataclass(frozen=True, slots=True)
class QualifiedQuery:
    """The scopes of a query, the columns that it returns, and the expressions behind the columns as written."""

    scope: Scope
    columns: tuple[str, ...]
    written: Mapping[tuple[int, str], Written]

    def expression(self, select: exp.Expr, column: str) -> Written | None:
        """The expression of `column` in that SELECT as written; None if the column comes from a star."""
        return self.written.get((id(select), column))


def qualify_query(sql: str, columns_of: Mapping[str, Sequence[str]], macros: Mapping[str, Macro]) -> QualifiedQuery:
    """Analyse the query of a SQL model; `columns_of` has the columns of every relation that it reads, by dotted name.

    A call of one of `macros` is traced as its formula, `x.f()` as `f(x)`, and both are shown as they are written.

    Raises `UntraceableError` for SQL that sqlglot cannot analyse, such as COLUMNS(…) and PIVOT.
    """
    from sqlglot.dialects.duckdb import DuckDB
    from sqlglot.errors import SqlglotError
    from sqlglot.optimizer.qualify import qualify
    from sqlglot.optimizer.scope import build_scope

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
    tree = _with_arguments(tree)
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
    from sqlglot import exp

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


def _with_arguments(tree: exp.Expr) -> exp.Expr:
    """`x.f(y)` → `f(x, y)`: before the dot, sqlglot takes the names of columns for names of schemas."""
    from sqlglot import exp

    # The innermost call first: `x.f().g()` is a call of g on a call of f.
    for dot in reversed([each for each in tree.find_all(exp.Dot, bfs=False) if _is_call(each.expression)]):
        if dot.this.name.lower() not in _SCHEMAS_OF_FUNCTIONS:
            called = _called_on(dot)
            tree = called if dot is tree else tree
            dot.replace(called)
    return tree


def _is_call(expression: exp.Expr) -> bool:
    from sqlglot import exp

    return isinstance(expression, exp.Func | exp.Window)


def _called_on(dot: exp.Dot) -> exp.Expr:
    """One call of a function on what stands before the dot, as a call with arguments."""
    from sqlglot import exp
    from sqlglot.dialects.duckdb import DuckDB

    dialect = DuckDB()
    call = dot.expression.find(exp.Anonymous)
    if call is None:
        raise UntraceableError(f"the function in `{dot.sql(dialect, comments=False)}` is called on a column by a dot")
    text = ", ".join(each.sql(dialect, comments=False) for each in (dot.this, *call.expressions))
    text = f"{call.name}({text})"
    parsed = dialect.parser().parse(dialect.tokenize(text), text)[0]
    if parsed is None:
        raise UntraceableError(f"`{text}` cannot be read")
    variables = {name.name for each in _lambdas_around(dot) for name in each.expressions}
    for column in list(parsed.find_all(exp.Column)):
        if column.parts[0].name in variables:
            column.replace(column.to_dot())
    if call is dot.expression:
        return parsed
    call.replace(parsed)
    window: exp.Expr = dot.expression
    return window


def _lambdas_around(node: exp.Expr) -> Iterator[exp.Expr]:
    from sqlglot import exp

    while (parent := node.parent) is not None:
        if isinstance(parent, exp.Lambda):
            yield parent
        node = parent


def _write_out(tree: exp.Expr, macros: Mapping[str, Macro]) -> None:
    """Replace every macro call by the macro's formula."""
    from sqlglot.dialects.duckdb import DuckDB

    dialect = DuckDB()
    outermost = tree.walk(prune=is_macro_call)
    for call in [node for node in outermost if is_macro_call(node)]:
        formula = expand(call.sql(dialect), macros)
        call.replace(dialect.parser().parse(dialect.tokenize(formula), formula)[0])


def output_names(query: exp.Expr) -> list[str]:
    """The columns of a query; columns that a UNION BY NAME adds come after those of its left side."""
    from sqlglot import exp

    if isinstance(query, exp.SetOperation) and query.args.get("by_name"):
        sides = [output_names(query.this), output_names(query.expression)]
        return list(dict.fromkeys([name for side in sides for name in side]))
    return list(query.named_selects) if isinstance(query, exp.Query) else []


def _written(sql: str, tokens: Sequence[Token], tree: exp.Expr) -> dict[tuple[int, str], Written]:
    """(SELECT, column) → its expression, found by the position of the column's name in the text."""
    from sqlglot import exp

    items = list(_select_items(tokens))
    found: dict[tuple[int, str], Written] = {}
    for select in tree.find_all(exp.Select):
        for projection in select.expressions:
            name = projection.args.get("alias") if isinstance(projection, exp.Alias) else projection.this
            start = int(name.meta.get("start", -1)) if isinstance(name, exp.Identifier) else -1
            around = [item for item in items if item and item[0].start <= start <= item[-1].end]
            if around:
                item = min(around, key=len)
                expression = _without_alias(item, start) if isinstance(projection, exp.Alias) else item
                text = one_line(sql, expression)
                found[id(select), projection.alias_or_name.lower()] = Written(text, expression[0].line)
    return found


def _select_items(tokens: Sequence[Token]) -> Iterator[Sequence[Token]]:
    """The tokens of every item of every SELECT list, including nested ones."""
    open_lists: list[tuple[int, int]] = []
    depth = 0
    for place, token in enumerate(tokens):
        kind = token.token_type.name
        if kind == "SELECT":
            open_lists.append((depth, _list_start(tokens, place + 1)))
        elif kind in OPENING:
            depth += 1
        elif kind in CLOSING:
            if open_lists and open_lists[-1][0] == depth:
                yield tokens[open_lists.pop()[1] : place]
            depth -= 1
        elif open_lists and open_lists[-1][0] == depth and _ends_item(tokens, place):
            yield tokens[open_lists.pop()[1] : place]
            if kind == "COMMA":
                open_lists.append((depth, place + 1))
    for _, start in open_lists:
        yield tokens[start:]


def _list_start(tokens: Sequence[Token], place: int) -> int:
    """Where the list of a SELECT begins: after ALL, DISTINCT or DISTINCT ON (…)."""
    kinds = [token.token_type.name for token in tokens[place : place + 2]]
    if kinds[:1] not in (["ALL"], ["DISTINCT"]):
        return place
    place += 1
    if kinds != ["DISTINCT", "ON"]:
        return place
    depth = 0
    for number in range(place + 1, len(tokens)):
        kind = tokens[number].token_type.name
        depth += (kind in OPENING) - (kind in CLOSING)
        if depth == 0:
            return number + 1
    return place


def _ends_item(tokens: Sequence[Token], place: int) -> bool:
    kind = tokens[place].token_type.name
    # The FROM of IS DISTINCT FROM belongs to the item.
    is_comparison = kind == "FROM" and place > 1 and tokens[place - 1].token_type.name == "DISTINCT"
    return kind == "COMMA" or (kind in _AFTER_THE_LIST and not is_comparison)


def _without_alias(item: Sequence[Token], start: int) -> Sequence[Token]:
    """`a + b as c` → `a + b`, where `c` begins at `start`; also `c: a + b` and `a + b c`."""
    place = next(n for n, token in enumerate(item) if token.start <= start <= token.end)
    if place == 0 and len(item) > 2 and item[1].token_type.name == "COLON":
        return item[2:]
    end = place - 1 if place and item[place - 1].token_type.name == "ALIAS" else place
    return item[:end] or item
