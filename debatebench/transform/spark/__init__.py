"""SQL models on Apache Spark.

functions.py    the Python functions that SQL models call, as functions of a Spark session
rewrites.py     one small rewrite for each construct that Spark understands differently
translation.py  a query in DuckDB's dialect → the same query in Spark's
typed_query.py  a query whose every expression has its type
"""
