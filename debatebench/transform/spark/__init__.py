"""The same SQL models on Apache Spark: landed Parquet → a table of each SQL model, in files that Spark writes.

What needs one family of parts alone (`transform/scope.py`) is computed by DuckDB inside Spark's workers, one task for
each family or for several small ones. What looks across families is translated, and computed by Spark SQL. Nothing of
the rows passes through the driver. No module but `session.py` starts Spark, and none needs more than Spark Connect
offers.

data_tests.py          the data tests of SQL models on the tables of a target
engine.py              build what changed: families first, then what looks across them
family_build.py        the families of a task, in a worker: read its files, create the SQL models, hand their rows over
functions.py           the Python functions that SQL models call, as functions of a Spark session
relations.py           the columns of every SQL model, as DuckDB and as Spark name their types
rewrites.py            one small rewrite for each construct that Spark understands differently
session.py             open a Spark session; what is missing is said in one sentence
source.py              the landed files: which there are, of which parts and families, with the hash of their content
state.py               what a target was built from
target.py              read and write the tables of a target
translated_queries.py  queries of SQL models, which Spark answers over the tables of a target
translation.py         a query in DuckDB's dialect → the same query in Spark's
typed_query.py         a query whose every expression has its type
"""
