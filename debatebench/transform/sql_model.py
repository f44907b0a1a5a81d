"""SQL files → SQL models: what each one reads, which Python functions it calls, and where."""

from __future__ import annotations

import hashlib
import logging
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from debatebench.shared.errors import SqlModelError
from debatebench.shared.files import shown_path
from debatebench.shared.hashing import hash_of
from debatebench.transform.dbt_words import as_seed, check_no_jinja, is_file_name, reads_files, with_schema

if TYPE_CHECKING:
    from sqlglot import exp
    from sqlglot.tokenizer_core import Token

    from debatebench.transform.properties import ModelProperties

# sqlglot logs text that it parses as a command; the error raised here is clearer than a line on stderr.
logging.getLogger("sqlglot").addHandler(logging.NullHandler())

NAME = re.compile(r"[a-z][a-z0-9_]*")
"""The name of a schema, a SQL model, a macro or an argument."""

_GRAIN = re.compile(r"\s*--[ \t]*(.+)")

_VERSIONED = re.compile(r"(?P<base>.+)_v(?P<version>[1-9][0-9]*)")

MACROS = "macros"
"""The folder of macros, and the schema that they live in."""

ROW_FUNCTIONS = {"unnest", "generate_series", "range", "repeat", "json_each", "json_tree", "generate_subscripts"}
"""Functions that make rows from their arguments. Any other in FROM could read a file or hide what a query reads."""

# Far more than a real query has; the compiled parser and DuckDB crash only at some thousands and ten thousands.
_DEEPEST = 500
_MOST_TOKENS = 10_000
_BRACKETS = {"L_PAREN": 1, "L_BRACKET": 1, "L_BRACE": 1, "R_PAREN": -1, "R_BRACKET": -1, "R_BRACE": -1}


@dataclass(frozen=True, slots=True)
class Reference:
    """A dotted name that a query reads, and the line where it first occurs."""

    name: str
    line: int


@dataclass(frozen=True, slots=True)
class MacroCall:
    """A macro that a text calls: its dotted name, the number of arguments, and the line of the first such call."""

    name: str
    line: int
    arguments: int


@dataclass(frozen=True, slots=True)
class Query:
    """What the transform engine needs of one SQL text."""

    sql: str
    """The text as it is written, without a closing semicolon."""
    sha256: str
    """Hash of the bytes of the whole text."""
    tokens_sha256: str
    """Hash of the tokens: the same for texts that differ in comments and white space only."""
    references: tuple[Reference, ...]
    functions: tuple[str, ...]
    """Names of the functions called that SQL itself does not know, lower case, in order."""
    macro_calls: tuple[MacroCall, ...] = ()
    needed: tuple[tuple[str, ...], ...] = ()
    """Sets of relations: if all in one of them have no rows, the query has none. There may be more such sets."""


@dataclass(frozen=True, slots=True)
class Parsed:
    """The result of parsing a text: where its query ends, and the fields that `Query` has under the same names.

    For a macro, `signature` is its name and its parameters, `start` is where its expression begins, and `places` are
    the `places` of its `Macro`.
    """

    length: int
    tokens_sha256: str
    references: tuple[Reference, ...]
    functions: tuple[str, ...]
    macro_calls: tuple[MacroCall, ...]
    signature: tuple[str, ...] = ()
    start: int = 0
    places: tuple[tuple[int, int, str], ...] = ()
    needed: tuple[tuple[str, ...], ...] = ()

    def query(self, sql: str) -> Query:
        """The result together with the text that was parsed."""
        return Query(
            sql[: self.length],
            text_sha256(sql),
            self.tokens_sha256,
            self.references,
            self.functions,
            self.macro_calls,
            self.needed,
        )


PARSED: dict[str, Parsed] = {}
"""What this process knows about texts that were parsed, by hash of the text. It saves time and decides nothing."""

_TREES: dict[str, exp.Expr] = {}


@dataclass(frozen=True, slots=True)
class Seed:
    """The content of a CSV file: column → DuckDB type, in order; the rows as text, and the line where each begins.

    An empty cell is null.
    """

    types: Mapping[str, str]
    rows: tuple[tuple[str | None, ...], ...]
    lines: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class SqlModel:
    """A SQL or CSV file with its YAML: one table or view of the warehouse.

    `alias_of` is set on the unsuffixed name of a versioned model, a view on the latest version that has no file.
    """

    name: str
    file: Path
    path: str
    query: Query
    properties: ModelProperties
    properties_file: Path
    base_name: str
    version: int | None = None
    alias_of: str | None = None
    seed: Seed | None = None
    """The rows of a CSV file, whose text is the `query`; None for SQL."""

    @property
    def schema(self) -> str:
        """The schema of the model, which is the first folder of its path."""
        return self.name.partition(".")[0]

    @property
    def needs(self) -> tuple[Reference, ...]:
        """What the model reads, by line."""
        return self.query.references

    @property
    def dependencies(self) -> tuple[str, ...]:
        """The dotted names that the model reads, in the order of the text."""
        return tuple(reference.name for reference in self.query.references)

    @property
    def grain(self) -> str:
        """What a row is, which the first line of the file says; empty without, as for unsuffixed names and seeds."""
        return "" if self.seed else first_comment(self.query.sql)

    @property
    def materialized(self) -> str:
        """`table` or `view`."""
        return self.properties.config.materialized

    def has_column(self, name: str) -> bool:
        """Whether a column of this name is described."""
        return any(column.name.lower() == name for column in self.properties.columns)


@dataclass(frozen=True, slots=True)
class SingularTest:
    """A query of `tests/*.sql` whose rows are failures."""

    name: str
    file: Path
    query: Query


def first_comment(sql: str) -> str:
    """The text of the first line, if it is a comment."""
    match = _GRAIN.match(sql)
    return match[1].strip() if match else ""


def split_version(name: str) -> tuple[str, int | None]:
    """`orders_v2` → (`orders`, 2); a name without a version suffix is returned unchanged, with None."""
    match = _VERSIONED.fullmatch(name)
    return (match["base"], int(match["version"])) if match else (name, None)


def read_sql(file: Path) -> str:
    """The text of a SQL file, without a byte-order mark. Raises `SqlModelError` if it cannot be read as UTF-8."""
    try:
        return file.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as error:
        raise SqlModelError(f"{shown_path(file)}: is not UTF-8 ({error}); save it as UTF-8.") from None
    except OSError as error:
        raise SqlModelError(f"{shown_path(file)}: cannot be read ({error}).") from None


def parse_query(sql: str, file: Path, known: Collection[str] = ()) -> Query:
    """Parse the text of one file, which must be exactly one query, and find what it reads.

    A dotted name in FROM is a dependency even if a CTE has the same name; a bare name must be a CTE visible there.
    Raises `SqlModelError` with file and line; `known` are dotted names that it may propose.
    """
    sha256 = text_sha256(sql)
    found = PARSED.get(sha256)
    if found is None or found.signature:
        found = PARSED[sha256] = _parsed(sql, file, known)
    return found.query(sql)


def syntax_tree(query: Query) -> exp.Expr:
    """The syntax tree of a query, which belongs to the caller."""
    from sqlglot.dialects.duckdb import DuckDB

    # Most texts that are parsed at all are parsed a moment before.
    tree = _TREES.pop(query.sha256, None)
    if tree is None:
        dialect = DuckDB()
        tree = next(tree for tree in dialect.parser().parse(dialect.tokenize(query.sql), query.sql) if tree is not None)
    return tree


def text_sha256(sql: str) -> str:
    """The hash of a text, which is its key in `PARSED`."""
    return hashlib.sha256(sql.encode("utf-8")).hexdigest()


def _parsed(sql: str, file: Path, known: Collection[str]) -> Parsed:
    from sqlglot import exp

    from debatebench.transform.needed_rows import needed_relations

    check_no_jinja(sql, file, known)
    tree, tokens = parse_statement(sql, file, "a file contains exactly one query")
    if not isinstance(tree, exp.Query):
        raise SqlModelError(f"{shown_path(file)}: contains a statement that is not a query; write a `select`.")
    length, sha256 = tokens_sha256(sql, tokens)
    _TREES[text_sha256(sql)] = tree
    return Parsed(
        length=length,
        tokens_sha256=sha256,
        references=tuple(_references(tree, file, known)),
        functions=tuple(called_functions(tree)),
        macro_calls=tuple(called_macros(tree, file)),
        needed=needed_relations(tree),
    )


def tokens_sha256(sql: str, tokens: Sequence[Token]) -> tuple[int, str]:
    """Where the only statement ends, and the hash of its tokens."""
    end = next((token.start for token in tokens if token.token_type.name == "SEMICOLON"), len(sql))
    # Token types are part of the hash because 'a' and "a" have the same text.
    parts = [f"{token.token_type.name} {token.text}" for token in tokens if token.start < end]
    return len(sql[:end].rstrip()), hash_of(*parts)


def parse_statement(sql: str, file: Path, rule: str, line: int | None = None) -> tuple[exp.Expr, Sequence[Token]]:
    """The syntax tree of the only statement, and all tokens.

    Messages say `rule` where there are more statements, and `line` where they know no better line.
    """
    from sqlglot import exp
    from sqlglot.dialects.duckdb import DuckDB
    from sqlglot.errors import ParseError, TokenError

    where = shown_path(file) + (f":{line}" if line else "")
    dialect = DuckDB()
    try:
        tokens = dialect.tokenize(sql)
        _check_depth(tokens)
        if len(tokens) > _MOST_TOKENS:
            raise SqlModelError(
                f"{where}: contains {len(tokens):,} words and signs; split it into several of at most {_MOST_TOKENS:,}."
            )
        statements = [tree for tree in dialect.parser().parse(tokens, sql) if tree is not None]
    except TokenError as error:
        raise SqlModelError(f"{where}: a quote, comment or bracket is not closed ({error}).") from None
    except ParseError as error:
        first = error.errors[0] if error.errors else {}
        raise SqlModelError(
            f"{shown_path(file)}:{first.get('line', 1)}: this cannot be read as SQL: {first.get('description', error)} "
            f"near '{first.get('highlight', '')}'."
        ) from None
    except RecursionError:
        raise SqlModelError(f"{where}: is nested too deeply to be read.") from None
    statements = [tree for tree in statements if not isinstance(tree, exp.Semicolon)]
    if len(statements) != 1:
        raise SqlModelError(f"{where}: contains {len(statements)} statements; {rule}.")
    if sql.lstrip().startswith(";"):
        raise SqlModelError(f"{where}: begins with a semicolon; {rule}.")
    return statements[0], tokens


def _check_depth(tokens: Iterable[Token]) -> None:
    """Raise `RecursionError` for brackets nested so deeply that the compiled parser would crash."""
    depth = 0
    for token in tokens:
        depth += _BRACKETS.get(token.token_type.name, 0)
        if depth > _DEEPEST:
            raise RecursionError


def _references(tree: exp.Expr, file: Path, known: Collection[str]) -> Iterator[Reference]:
    """Every dotted name once. Bare names that are not a CTE, and functions that read from outside, are refused."""
    from sqlglot import exp

    found: dict[str, int] = {}
    if tree.find(exp.Summarize):
        raise SqlModelError(f"{shown_path(file)}: SUMMARIZE cannot be a part of a SQL model; write a `select`.")
    for lateral in tree.find_all(exp.Lateral):
        if isinstance(lateral.this, exp.Func):
            _check_row_function(lateral.this, file)
    for table in tree.find_all(exp.Table):
        if isinstance(table.this, exp.Func):
            _check_row_function(table.this, file)
            continue
        line = table.this.meta.get("line", 1)
        if table.catalog:
            raise SqlModelError(
                f"{shown_path(file)}:{line}: '{table.catalog}.{table.db}.{table.name}' has three parts; write "
                "schema.name, because a SQL model reads only its own warehouse."
            )
        if table.db:
            name = f"{table.db}.{table.name}".lower()
            found[name] = min(line, found.get(name, line))
        elif not _is_visible_cte(table):
            is_file = table.this.quoted and is_file_name(table.name) and table.name not in known
            instead = f"write {with_schema(table.name, known) or 'schema.name'} for a SQL model"
            raise SqlModelError(
                f"{shown_path(file)}:{line}: '{table.name}' is not a CTE of this query; "
                f"{as_seed(table.name) if is_file else instead}."
            )
    for name, line in sorted(found.items(), key=lambda item: (item[1], item[0])):
        yield Reference(name, line)


def _check_row_function(function: exp.Func, file: Path) -> None:
    """Refuse table functions except those that make rows from their arguments."""
    from sqlglot import exp

    name = (function.name if isinstance(function, exp.Anonymous) else function.sql_name()).lower()
    if name not in ROW_FUNCTIONS and not isinstance(function, exp.UDTF):
        line = function.meta.get("line", 1)
        allowed = f"a SQL model reads raw tables, other SQL models and {', '.join(sorted(ROW_FUNCTIONS))}"
        text = next((each for each in function.find_all(exp.Literal) if each.is_string), None)
        raise SqlModelError(
            f"{shown_path(file)}:{line}: '{name}' cannot be read from; "
            f"{as_seed(text.name if text else '') if reads_files(name) else allowed}."
        )


def _is_visible_cte(table: exp.Table) -> bool:
    """Whether a bare name is a CTE there: an earlier one of the same WITH, itself if recursive, or an outer query's."""
    from sqlglot import exp

    name = table.name.lower()
    enclosing: set[int] = set()
    node: exp.Expr | None = table
    while node is not None:
        if isinstance(node, exp.CTE):
            enclosing.add(id(node))
        elif isinstance(node, exp.Query):
            with_clause = node.args.get("with_")
            for cte in node.ctes:
                if id(cte) in enclosing:
                    if with_clause is not None and with_clause.args.get("recursive") and cte.alias.lower() == name:
                        return True
                    break
                if cte.alias.lower() == name:
                    return True
        node = node.parent
    return False


def called_functions(tree: exp.Expr) -> Iterator[str]:
    """Names of functions that sqlglot has no class for; Python functions are always among them, macros never."""
    from sqlglot import exp

    seen: set[str] = set()
    for call in tree.find_all(exp.Anonymous, exp.AnonymousAggFunc):
        name = call.name.lower()
        if name not in seen and not is_macro_call(call.parent):
            seen.add(name)
            yield name


def is_macro_call(node: exp.Expr | None) -> bool:
    """Whether this is `macros.name(…)`."""
    from sqlglot import exp

    return (
        isinstance(node, exp.Dot)
        and isinstance(node.this, exp.Identifier)
        and node.this.name.lower() == MACROS
        and isinstance(node.expression, exp.Anonymous)
    )


def called_macros(tree: exp.Expr, file: Path) -> Iterator[MacroCall]:
    """Every macro that is called, once for each number of arguments. Arguments that a macro cannot take are refused."""
    from sqlglot import exp

    found: dict[tuple[str, int], int] = {}
    for call in tree.find_all(exp.Anonymous):
        outer = call.parent
        if isinstance(outer, exp.Filter) and isinstance(outer.parent, exp.Column) and outer.parent.table == MACROS:
            raise SqlModelError(f"{shown_path(file)}: macros.{call.name} cannot have a FILTER; use `case when … end`.")
        if not is_macro_call(outer) or outer is None:
            continue
        name, line = f"{MACROS}.{call.name}".lower(), outer.this.meta.get("line", 1)
        if isinstance(outer.parent, exp.Window):
            raise SqlModelError(f"{shown_path(file)}:{line}: {name} cannot have OVER; write the window in the macro.")
        if any(isinstance(each, exp.Distinct | exp.Order | exp.PropertyEQ | exp.Kwarg) for each in call.expressions):
            raise SqlModelError(
                f"{shown_path(file)}:{line}: {name} takes only expressions, in the order of its arguments."
            )
        key = (name, len(call.expressions))
        found[key] = min(line, found.get(key, line))
    for (name, arguments), line in sorted(found.items(), key=lambda item: (item[1], item[0])):
        yield MacroCall(name, line, arguments)
