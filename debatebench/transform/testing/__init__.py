"""Tests of SQL models: data tests check their rows, unit tests compare results with expected ones.

data_tests.py     run data tests on a built warehouse: the rows of each query are failures
generic_tests.py  `unique`, `not_null` and the like as queries, with dbt's names and arguments
unit_tests.py     run unit tests in memory: given rows → expected rows
version_names.py  refuse version suffixes such as `_v2` outside the files of versioned SQL models
"""
