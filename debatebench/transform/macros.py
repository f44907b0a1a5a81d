"""SQL macros: a closed formula over columns, written once in `sql/macros/<name>.sql` and called `macros.<name>(…)`.

A macro is one `create macro name(arguments) as expression`. It is created in the schema `macros` of the warehouse, and
DuckDB itself replaces every call by the formula.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING

from debatebench.shared.amounts import did_you_mean
from debatebench.shared.errors import SqlModelError
from debatebench.shared.files import shown_path
from debatebench.shared.hashing import hash_of
from debatebench.transform.sql_model import (
    MACROS,
    NAME,
    PARSED,
    MacroCall,
    Parsed,
    Query,
    called_functions,
    called_macros,
    parse_statement,
    read_sql,
    text_sha256,
    tokens_sha256,
)

if TYPE_CHECKING:
    from sqlglot import exp

    from debatebench.transform.domain import PythonFunctions
    from debatebench.transform.properties import Located, MacroProperties
    from debatebench.transform.sql_model import SqlModel

_SHAPE = "write `create macro name(arguments) as expression`"


@dataclass(frozen=True, slots=True)
class Macro:
    """A file of `sql/macros/` with its YAML: one expression with a name and arguments."""

    name: str
    """Dotted: `macros.wilson_low`."""
    file: Path
    query: Query
    """The text, and what it calls."""
    parameters: tuple[str, ...]
    expression: str
    """What stands in the place of a call, as it is written."""
    places: tuple[tuple[int, int, str], ...]
    """(start, end, name) in the text of every argument and of every variable of a lambda that the expression uses."""
    properties: MacroProperties
    properties_file: Path

    @property
    def needs(self) -> tuple[MacroCall, ...]:
        """The macros that it calls."""
        return self.query.macro_calls

    @property
    def signature(self) -> str:
        """`macros.wilson_low(wins, games)`."""
        return f"{self.name}({', '.join(self.parameters)})"


def read_macro(
    path: str, file: Path, described: Mapping[str, Located[MacroProperties]], functions: PythonFunctions
) -> Macro:
    """The macro of one file of `macros/` and its YAML. Raises `SqlModelError` with file and line."""
    if len(PurePosixPath(path).parts) != 2:
        raise SqlModelError(f"{shown_path(file)}: a macro must be in sql/{MACROS} itself, not in a subfolder.")
    sql = read_sql(file)
    found = parse_macro(sql, file)
    stem, (own, *parameters) = PurePosixPath(path).stem, found.signature
    name = f"{MACROS}.{stem}"
    if own != stem:
        raise SqlModelError(
            f"{shown_path(file)}: contains the macro '{own}'; rename the file to {own}.sql, or the macro to {stem}."
        )
    for part in found.signature:
        if not NAME.fullmatch(part):
            raise SqlModelError(f"{shown_path(file)}: '{part}' is not a name; use lower-case letters, digits and _.")
    for function in functions.python_functions([own, *found.functions]):
        what = "has the name of" if function == own else "calls"
        raise SqlModelError(
            f"{shown_path(file)}: {name} {what} the Python function '{function}'; "
            "a macro is SQL that any client can run."
        )
    if name not in described:
        raise SqlModelError(
            f"{shown_path(file)}:1: {name} has no description; add it under `macros` in sql/{MACROS}/_{MACROS}.yml."
            f"{did_you_mean(name, described)}"
        )
    located = described[name]
    for argument in located.entry.arguments:
        if argument.name not in parameters:
            listed = ", ".join(parameters) or "none"
            raise SqlModelError(f"{located.where}: {name} has no argument '{argument.name}'. Its arguments: {listed}.")
    query = found.query(sql)
    return Macro(
        name=name,
        file=file,
        query=query,
        parameters=tuple(parameters),
        expression=query.sql[found.start :],
        places=found.places,
        properties=located.entry,
        properties_file=located.file,
    )


def parse_macro(sql: str, file: Path) -> Parsed:
    """Parse the text of one file, which must be exactly one macro. Raises `SqlModelError` with file and line."""
    sha256 = text_sha256(sql)
    found = PARSED.get(sha256)
    if found is None or not found.signature:
        found = PARSED[sha256] = _parsed(sql, file)
    return found


def _parsed(sql: str, file: Path) -> Parsed:
    from sqlglot import exp

    tree, tokens = parse_statement(sql, file, "macro")
    if not isinstance(tree, exp.Create) or tree.args.get("kind") != "MACRO":
        raise SqlModelError(f"{shown_path(file)}: contains a statement that is not a macro; {_SHAPE}.")
    expression, named = tree.expression, tree.this
    is_plain = isinstance(named, exp.UserDefinedFunction) and not named.this.args.get("db")
    if not is_plain or any(tree.args.get(key) for key in ("replace", "exists", "properties")):
        raise SqlModelError(f"{shown_path(file)}: contains more than a macro; {_SHAPE}.")
    signature = (named.this.name, *(parameter.name for parameter in named.expressions))
    _check_expression(expression, signature, file)
    end = next(place for place, token in enumerate(tokens) if token.token_type.name == "R_PAREN")
    length, sha256 = tokens_sha256(sql, tokens)
    return Parsed(
        length=length,
        tokens_sha256=sha256,
        references=(),
        functions=tuple(called_functions(expression)),
        macro_calls=tuple(called_macros(expression, file)),
        signature=tuple(name.lower() for name in signature),
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


def _check_expression(expression: exp.Expr, signature: tuple[str, ...], file: Path) -> None:
    """Refuse everything except one expression over the arguments: queries, columns, names that hide an argument."""
    from sqlglot import exp

    name, *parameters = (each.lower() for each in signature)
    where = shown_path(file)
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
            line = column.this.meta.get("line", 1)
            listed = ", ".join(parameters) or "none"
            raise SqlModelError(
                f"{where}:{line}: '{column.sql('duckdb')}' is not an argument of {name}. Its arguments: {listed}."
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
