"""Replace every macro call by the macro's formula, so that the SQL runs without the macros of the warehouse."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from functools import lru_cache
from itertools import count, pairwise
from typing import TYPE_CHECKING

from debatebench.transform.macros import Macro
from debatebench.transform.sql_model import MACROS

if TYPE_CHECKING:
    from sqlglot.tokenizer_core import Token


OPENING = {"L_PAREN", "L_BRACKET", "L_BRACE"}
CLOSING = {"R_PAREN", "R_BRACKET", "R_BRACE"}


def expand(sql: str, macros: Mapping[str, Macro]) -> str:
    """`sql` with every call of one of `macros` expanded, on the line where the call begins; the rest is unchanged.

    `sql` is a query or an expression that the transform engine has accepted.
    """
    if MACROS not in sql.lower():
        return sql
    tokens = _tokens(sql)
    pieces, end, place = [], 0, 0
    while place < len(tokens):
        macro = macros.get(_called(tokens, place))
        if macro is None:
            place += 1
            continue
        arguments, closing = _arguments(tokens, place + 3)
        texts = [expand(one_line(sql, argument), macros) for argument in arguments]
        pieces += [sql[end : tokens[place].start], _bracketed(expand(_written_out(macro, texts), macros))]
        end, place = tokens[closing].end + 1, closing + 1
    return "".join([*pieces, sql[end:]])


def one_line(sql: str, tokens: Sequence[Token]) -> str:
    """The text of these tokens on one line, without the comments and line breaks between them."""
    parts = [sql[tokens[0].start : tokens[0].end + 1]]
    for before, token in pairwise(tokens):
        is_tight = token.start == before.end + 1 or before.token_type.name in OPENING
        is_tight = is_tight or token.token_type.name in CLOSING
        parts.append(("" if is_tight else " ") + sql[token.start : token.end + 1])
    return "".join(parts)


@lru_cache(maxsize=1024)
def _tokens(sql: str) -> list[Token]:
    from sqlglot.dialects.duckdb import DuckDB

    return DuckDB().tokenize(sql)


def _called(tokens: Sequence[Token], place: int) -> str:
    """The dotted name of the macro whose call begins at `place`; empty if no call begins there."""
    words = tokens[place : place + 4]
    kinds = [token.token_type.name for token in words]
    is_call = kinds[1::2] == ["DOT", "L_PAREN"] and (place == 0 or tokens[place - 1].token_type.name != "DOT")
    return f"{words[0].text}.{words[2].text}".lower() if is_call else ""


def _arguments(tokens: Sequence[Token], place: int) -> tuple[list[Sequence[Token]], int]:
    """The tokens of every argument inside the bracket at `place`, and the position where the bracket closes."""
    arguments: list[Sequence[Token]] = []
    depth, start = 0, place + 1
    for number in range(place, len(tokens)):
        kind = tokens[number].token_type.name
        depth += (kind in OPENING) - (kind in CLOSING)
        if (depth == 1 and kind == "COMMA") or depth == 0:
            arguments += [tokens[start:number]] if number > start else []
            start = number + 1
        if depth == 0:
            return arguments, number
    raise ValueError("a bracket is not closed")


def _written_out(macro: Macro, arguments: Sequence[str]) -> str:
    """The expression of a macro with these texts as its arguments, on one line."""
    texts = dict(zip(macro.parameters, map(_bracketed, arguments), strict=True))
    taken = {token.text.lower() for text in arguments for token in _tokens(text)}
    written = _with_names(macro, texts, taken)
    return one_line(written, _tokens(written))


def own_variables(macro: Macro) -> str:
    """The expression of a macro with unique names for the variables of its lambdas.

    Without them, DuckDB would confuse a variable in an argument with the macro's variable of the same name.
    """
    return _with_names(macro, {name: name for name in macro.parameters}, macro.parameters)


def _with_names(macro: Macro, texts: Mapping[str, str], taken: Collection[str]) -> str:
    """The expression of a macro with these texts as its arguments, and variables that are not in `taken`."""
    sql, end = macro.query.sql, len(macro.query.sql) - len(macro.expression)
    pieces = []
    for start, stop, name in macro.places:
        own = f"{macro.name.partition('.')[2]}_{name}"
        variables = (own if number == 1 else f"{own}_{number}" for number in count(1))
        pieces += [sql[end:start], texts.get(name) or next(each for each in variables if each not in taken)]
        end = stop
    return "".join([*pieces, sql[end:]])


def _bracketed(text: str) -> str:
    """The text in brackets, unless it is a name, a single literal, or already in brackets."""
    tokens = _tokens(text)
    kinds = [token.token_type.name for token in tokens]
    if len(kinds) == 1 or set(kinds) <= {"VAR", "IDENTIFIER", "DOT"}:
        return text
    is_bracketed = kinds[0] == "L_PAREN" and _arguments(tokens, 0)[1] == len(tokens) - 1
    return text if is_bracketed else f"({text})"
