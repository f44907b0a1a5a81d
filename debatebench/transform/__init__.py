"""SQL files and their YAML → tables and views of the warehouse, ordered, built, traced and tested.

build.py           build what changed, in dependency order
build_state.py     `meta.builds`: fingerprints, and whether anything changed since
column_names.py    the rule for the names of columns
contracts.py       the columns of a SQL model against those that its YAML promises
create_macros.py   create macros in a database
expansion.py       write macros out: the formula in the place of every call
graph.py           dependencies: layers, order, selections such as `+name`
incremental.py     bring a table up to date for the runs that changed
load.py            SQL and YAML files → SQL models that are checked against each other
load_macros.py     the files of `sql/macros/` and their YAML → checked macros
macros.py          SQL macros: parse, check, order
model_versions.py  which versions a SQL model has, and which of them should no longer be read
parse_cache.py     what parsing found, kept in the warehouse (`meta.parsed`)
project.py         every SQL model, singular test and unit test of a set of files
properties.py      the YAML beside the SQL: descriptions, columns, versions, tests
sql_model.py       one SQL text: what it reads, which functions it calls, and in which line
stored_views.py    work out each view once for many queries
workers.py         create SQL models on several connections at once
lineage/           where a column comes from, down to the landed columns
testing/           data tests, unit tests
"""
