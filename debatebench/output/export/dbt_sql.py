"""The text of a SQL model → the text of a dbt model: only the names that it reads are replaced, in place."""

from __future__ import annotations

import re
from collections.abc import Iterator

from sqlglot import exp
from sqlglot.dialects.duckdb import DuckDB

from debatebench.output.export.dbt_names import DbtNames
from debatebench.transform.expansion import expand

_JINJA = re.compile(r"\{[{%#]")


def dbt_sql(sql: str, names: DbtNames) -> str:
    """`from marts.debates` → `from {{ ref('debates') }}`; comments, layout and everything else are unchanged.

    `sql` is one query that the transform engine has accepted.
    """
    sql = expand(sql, names.macros)
    dialect = DuckDB()
    tree = next(tree for tree in dialect.parser().parse(dialect.tokenize(sql), sql) if tree is not None)
    result, end = [], 0
    for start, stop, text in sorted(_replacements(tree, names)):
        result += [without_jinja(sql[end:start]), text]
        end = stop
    return "".join([*result, without_jinja(sql[end:])]) + "\n"


def without_jinja(text: str) -> str:
    """`text` escaped for dbt's templates: what would open a Jinja block is printed instead."""
    return _JINJA.sub(lambda match: "{{ '" + match[0] + "' }}", text)


def _replacements(tree: exp.Expr, names: DbtNames) -> Iterator[tuple[int, int, str]]:
    """(start, end, new text) of every name that changes."""
    read = set()
    for table in tree.find_all(exp.Table):
        if not table.db or isinstance(table.this, exp.Func):
            continue
        schema, name = table.db.lower(), table.name.lower()
        dotted = f"{schema}.{name}"
        text = f"{{{{ {names.calls[dotted]} }}}}"
        # Columns that are qualified by the table's name need that name even if dbt inserts another relation.
        if not table.alias and _qualifies(table, name):
            text += f" as {table.this.sql(dialect='duckdb')}"
        read.add((schema, name))
        yield table.args["db"].meta["start"], table.this.meta["end"] + 1, text
    for column in tree.find_all(exp.Column):
        if column.args.get("db") is not None and (column.db.lower(), column.table.lower()) in read:
            # The alias does not have a schema.
            yield column.args["db"].meta["start"], column.args["table"].meta["start"], ""


def _qualifies(table: exp.Table, name: str) -> bool:
    """Whether a column in the table's own SELECT is qualified by the table's name."""
    select = table.parent_select
    return select is not None and any(column.table.lower() == name for column in select.find_all(exp.Column))
