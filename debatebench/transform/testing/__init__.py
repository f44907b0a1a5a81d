"""Tests of SQL models: what must hold for their rows, and what comes out for given rows.

data_tests.py     run data tests on a built warehouse: the rows of each query are failures
generic_tests.py  `unique`, `not_null` and the like as queries, with dbt's names and arguments
unit_tests.py     run unit tests in memory: given rows → expected rows
version_names.py  refuse versions of a SQL model that are named outside the files of versioned SQL models
"""
