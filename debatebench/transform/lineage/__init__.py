"""Column lineage: where a column of a SQL model comes from.

column_lineage.py   through every SQL model down to the landed columns
descriptions.py     the full text of a column, inherited down the lineage
formats.py          lineage as text, JSON or Mermaid
passed_on.py        which columns a query passes on unchanged, which is enough for texts
qualified_query.py  a query with stars expanded and every column bound to its source
within_query.py     from a column down through the CTEs of one query, over the scopes of sqlglot
"""
