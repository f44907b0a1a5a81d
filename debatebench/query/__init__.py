"""Queries on a built warehouse: safe SELECTs, one debate, two runs, two versions of a SQL model.

attack_gate.py     a limit on how often attacks succeed with a judge
attacked_copy.py   one attacked copy of a stored debate
attached.py        a warehouse attached to a database in memory, where a reader can create tables
column_names.py    the rule for the names of columns
comparison.py      two runs or benchmark versions side by side, from `marts.*_comparison`
differences.py     rows of a comparison as people see them
drawn_debates.py   debates drawn by lot, each as a Markdown document
duckdb_errors.py   errors of DuckDB, in one sentence each
finding.py         tables and columns by words, in names and texts
frames.py          the rows of a query as a pandas or polars frame or a pyarrow table
gate.py            limits on a comparison: is the candidate worse than the baseline?
landed_records.py  rows of raw tables → records
leaderboard.py     the leaderboard of a run, and what has to be said about it
left_out.py        what does not count in the results of a run, in sentences
one_debate.py      one whole debate, as text or JSON
parquet.py         the result of a query as a Parquet file
rated_games.py     the rated games of a run as plain lists
relations.py       the tables and views of a warehouse with their columns
row_diff.py        the rows of two versions of a SQL model, matched by key
run_tags.py        the run tags of a warehouse, and the run that a command uses
safe_query.py      one SELECT that can read the warehouse and nothing else
sql_project.py     SQL models over the landed records, with the Python functions of `stats`
stored_debates.py  the stored debates of a run or import, to be judged again
version_diff.py    what changes between two versions of a SQL model, down to the leaderboard
"""
