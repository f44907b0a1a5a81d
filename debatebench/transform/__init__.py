"""SQL files and their YAML → tables and views of the warehouse, ordered, built, traced and tested.

broken.py          what of a project is broken, and what that stops
build.py           build what changed, in dependency order
build_state.py     `meta.builds`: fingerprints, and whether anything has changed since the build
catalogue.py       `main.sql_models`: subjects, keys and questions
comments.py        the texts of everything as comments in the warehouse
contracts.py       check the columns of a SQL model against its YAML
create_macros.py   create macros in a database
create_seeds.py    create the tables of seeds in a database
dbt_words.py       what a dbt user writes, and what is written here instead
domain.py          what is handed in: landed tables, Python functions, the rule for names
empty_warehouse.py a database without rows, in which SQL models are created one by one
expansion.py       expand macros: replace every call by its formula
graph.py           dependencies: layers, order, selections such as `+name`
incremental.py     bring a table up to date for the landed rows that changed
load.py            SQL and YAML files → checked SQL models and macros
macros.py          SQL macros: read, parse, check
model_versions.py  the versions of a SQL model, and which of them are deprecated
needed_rows.py     the relations without whose rows a query has none
one_query.py       a check by DuckDB's own parser: a text is one query and only reads
parse_cache.py     results of parsing, cached in the warehouse (`meta.parsed`)
portability.py     constructs whose meaning changes in other engines
project.py         every SQL model, singular test and unit test of a set of files
properties.py      the YAML next to the SQL: descriptions, columns, versions, tests
short_names.py     views in `main`, for names without a schema
scope.py           which landed rows a SQL model must see together
seeds.py           CSV files: read and check
sql_model.py       one SQL text: the relations that it reads and the functions that it calls, by line
stored_views.py    compute each view once for many queries
transpiling.py     SQL models as text for other engines
workers.py         create SQL models on several connections at once
lineage/           where a column comes from, down to the landed columns
spark/             the same SQL models on Apache Spark
testing/           data tests, unit tests
"""
