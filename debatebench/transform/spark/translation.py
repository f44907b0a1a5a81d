"""A query in DuckDB's dialect → the same query in Spark's: first types, then one small rewrite after another."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from sqlglot import exp
from sqlglot.dialects.spark import Spark
from sqlglot.errors import ErrorLevel

from debatebench.transform.spark.typed_query import Columns, Returns, typed_query

SETTINGS: Mapping[str, str] = {
    # Errors where DuckDB has errors, instead of nulls.
    "spark.sql.ansi.enabled": "true",
    # The product of two decimals keeps all its digits, as in DuckDB.
    "spark.sql.decimalOperations.allowPrecisionLoss": "false",
    "spark.sql.session.timeZone": "UTC",
    # DECIMAL and DOUBLE literals are told apart by how they are written, and names do not depend on case.
    "spark.sql.caseSensitive": "false",
}
"""What a Spark session must be set to, so that a translated query means the same."""


def spark_query(
    model_query: exp.Query,
    relation: Callable[[str, str], str],
    columns: Columns,
    returns: Returns | None = None,
) -> str:
    """The text of `model_query` in Spark's dialect, for a session with `SETTINGS`.

    `model_query` is a query in DuckDB's dialect with macros already expanded; it is not changed. `relation` names the
    relations that it reads: ("marts", "games") → text such as "`marts`.`games`" or "parquet.`/data/marts/games`".
    `columns` are the columns of every relation that it reads with their DuckDB types, by dotted name ("marts.games"),
    in order, and `returns` the DuckDB types of what Python functions return, by name in lower case. Without types a
    query cannot be translated right: `len(x)` is one function for lists and another for text.

    Raises `sqlglot.errors.SqlglotError` for what sqlglot cannot analyse, and its subclass `UnsupportedError` for what
    cannot be written for Spark.
    """
    from debatebench.transform.spark.rewrites import rewritten

    tree = typed_query(model_query, columns, returns or {})
    tree = rewritten(tree)
    for table in list(tree.find_all(exp.Table)):
        if table.db:
            named = exp.to_table(relation(table.db, table.name), dialect="spark")
            for part in ("catalog", "db", "this"):
                table.set(part, named.args.get(part))
    return tree.sql(Spark(), pretty=True, unsupported_level=ErrorLevel.RAISE, comments=False, copy=False)
