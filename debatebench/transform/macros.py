"""SQL macros: a closed formula over columns, written once as an entry of YAML and called `macros.<name>(…)`.

A macro is created in the schema `macros` of the warehouse, and DuckDB itself replaces every call by the formula.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from debatebench.shared.amounts import did_you_mean
from debatebench.shared.errors import SqlModelError
from debatebench.shared.files import shown_path
from debatebench.shared.hashing import hash_of
from debatebench.transform.dbt_words import check_no_jinja
from debatebench.transform.domain import PythonFunctions
from debatebench.transform.sql_model import (
    MACROS,
    NAME,
    PARSED,
    MacroCall,
    Parsed,
    Query,
    SqlModel,
    called_functions,
    called_macros,
    parse_statement,
    text_sha256,
    tokens_sha256,
)

if TYPE_CHECKING:
    from sqlglot import exp

    from debatebench.transform.properties import LocatedMacro, MacroProperties


@dataclass(frozen=True, slots=True)
class Macro:
    """An entry of `macros`: one expression with a name and arguments."""

    name: str
    """Dotted: `macros.wilson_low`."""
    file: Path
    query: Query
    """`create macro name(arguments) as expression`, and what it calls."""
    parameters: tuple[str, ...]
    expression: str
    """What stands in the place of a call, as it is written."""
    places: tuple[tuple[int, int, str], ...]
    """(start, end, name) in the text of every argument and of every variable of a lambda that the expression uses."""
    properties: MacroProperties

    @property
    def needs(self) -> tuple[MacroCall, ...]:
        """The macros that it calls."""
        return self.query.macro_calls

    @property
    def signature(self) -> str:
        """`macros.wilson_low(wins, games)`."""
        return f"{self.name}({', '.join(self.parameters)})"


def read_macro(located: LocatedMacro, functions: PythonFunctions) -> Macro:
    """The macro of one entry of the YAML. Raises `SqlModelError` with file and line."""
    entry = located.entry
    parameters = tuple(argument.name for argument in entry.arguments)
    for part in (entry.name, *parameters):
        if not NAME.fullmatch(part):
            raise SqlModelError(f"{located.where}: '{part}' is not a name; use lower-case letters, digits and _.")
    name, line = f"{MACROS}.{entry.name}", located.sql_line
    start = f"create macro {entry.name}({', '.join(parameters)}) as"
    # On the same line as in the file, so that what is said of a line is true there.
    sql = "\n" * (line - 2) + start + ("\n" if line > 1 else " ") + entry.sql
    found = _parse_macro(sql, located)
    for function in functions.python_functions([entry.name, *found.functions]):
        what = "has the name of" if function == entry.name else "calls"
        raise SqlModelError(
            f"{located.where}: {name} {what} the Python function '{function}'; a macro is SQL that any client can run."
        )
    query = found.query(sql)
    return Macro(
        name=name,
        file=located.file,
        query=query,
        parameters=parameters,
        expression=query.sql[found.start :],
        places=found.places,
        properties=entry,
    )


def _parse_macro(sql: str, located: LocatedMacro) -> Parsed:
    """Parse `create macro name(arguments) as expression`, or recall what is known of this text."""
    sha256 = text_sha256(sql)
    found = PARSED.get(sha256)
    if found is None or not found.signature:
        found = PARSED[sha256] = _parsed(sql, located.file, located.sql_line)
    return found


def _parsed(sql: str, file: Path, line: int) -> Parsed:
    from sqlglot import exp

    rule = "the SQL of a macro is exactly one expression"
    check_no_jinja(sql, file, ())
    tree, tokens = parse_statement(sql, file, rule, line)
    where, expression, named = f"{shown_path(file)}:{line}", tree.expression, tree.this
    is_function = isinstance(named, exp.UserDefinedFunction) and not tree.args.get("properties")
    if not is_function or expression is None or isinstance(expression, exp.Alias):
        raise SqlModelError(f"{where}: {rule}.")
    signature = (named.this.name, *(parameter.name for parameter in named.expressions))
    _check_expression(expression, signature, where)
    end = next(place for place, token in enumerate(tokens) if token.token_type.name == "R_PAREN")
    length, sha256 = tokens_sha256(sql, tokens)
    return Parsed(
        length=length,
        tokens_sha256=sha256,
        references=(),
        functions=tuple(called_functions(expression)),
        macro_calls=tuple(called_macros(expression, file)),
        signature=signature,
        start=tokens[end + 2].start,
        places=tuple(_places(expression)),
    )


def _places(expression: exp.Expr) -> list[tuple[int, int, str]]:
    """(start, end, name) of every argument and of every variable of a lambda, in the order of the text."""
    from sqlglot import exp

    found = [column.this for column in expression.find_all(exp.Column)]
    for function in expression.find_all(exp.Lambda):
        variables = {variable.name.lower() for variable in function.expressions}
        inside = [name for name in function.find_all(exp.Identifier) if not _is_field(name)]
        found += [name for name in inside if name.name.lower() in variables]
    return sorted({(name.meta["start"], name.meta["end"] + 1, name.name.lower()) for name in found})


def _is_field(name: exp.Identifier) -> bool:
    """Whether a name in a lambda is the name of a field: `s.name`, `name := 1`, `{name: 1}`."""
    from sqlglot import exp

    parent = name.parent
    return (isinstance(parent, exp.Dot) and parent.expression is name) or (
        isinstance(parent, exp.PropertyEQ) and parent.this is name
    )


def _check_expression(expression: exp.Expr, signature: tuple[str, ...], where: str) -> None:
    """Refuse everything except one expression over the arguments: queries, columns, names that hide an argument."""
    from sqlglot import exp

    name, *parameters = signature
    if isinstance(expression, exp.MacroOverloads):
        raise SqlModelError(f"{where}: {name} has several forms; write one macro for each.")
    if expression.find(exp.Query, exp.Table, exp.Comprehension) is not None:
        raise SqlModelError(f"{where}: a macro can read only its arguments; write an expression without a query.")
    for function in expression.find_all(exp.Lambda):
        for variable in function.expressions:
            if variable.name.lower() in parameters:
                raise SqlModelError(f"{where}: the lambda hides the argument '{variable.name}'; rename its variable.")
    for column in expression.find_all(exp.Column):
        if column.table or column.name.lower() not in parameters:
            file, listed = where.rpartition(":")[0], ", ".join(parameters) or "none"
            raise SqlModelError(
                f"{file}:{column.this.meta.get('line', 1)}: '{column.sql('duckdb')}' is not an argument of {name}. "
                f"Its arguments: {listed}."
            )


def check_macro_calls(
    query: Query, file: Path, macros: Mapping[str, Macro], broken: Mapping[str, SqlModelError]
) -> None:
    """Refuse calls of broken or unknown macros and calls with the wrong arguments, by file and line."""
    for call in query.macro_calls:
        if call.name in broken:
            raise broken[call.name]
        macro = macros.get(call.name)
        if macro is None:
            for name, error in broken.items():
                if name.startswith(f"{MACROS}/"):
                    raise error
            raise SqlModelError(
                f"{shown_path(file)}:{call.line}: there is no macro '{call.name}'.{did_you_mean(call.name, macros)}"
            )
        if call.arguments != len(macro.parameters):
            takes = f"{len(macro.parameters)} argument{'' if len(macro.parameters) == 1 else 's'}"
            raise SqlModelError(
                f"{shown_path(file)}:{call.line}: {macro.signature} takes {takes}, but is called with {call.arguments}."
            )
    for function in query.functions:
        if f"{MACROS}.{function}" in macros:
            raise SqlModelError(f"{shown_path(file)}: '{function}' is a macro; write {MACROS}.{function}(…).")


def select_macros(
    macros: Mapping[str, Macro], models: Mapping[str, SqlModel], chosen: Collection[str] | None
) -> list[Macro]:
    """All macros, or those that the chosen SQL models call, directly or not."""
    if chosen is None:
        return list(macros.values())
    found: set[str] = set()
    open_queries = [models[name].query for name in chosen]
    while open_queries:
        names = {call.name for call in open_queries.pop().macro_calls} - found
        found |= names
        open_queries += [macros[name].query for name in names]
    return [macro for name, macro in macros.items() if name in found]


def macro_definitions(macros: Mapping[str, Macro]) -> dict[str, str]:
    """Macro → hash of its tokens and of those of all macros that it calls. `macros` are in dependency order."""
    found: dict[str, str] = {}
    for name, macro in macros.items():
        parts = [macro.query.tokens_sha256, *sorted(found[call.name] for call in macro.query.macro_calls)]
        found[name] = hash_of(*parts)
    return found
