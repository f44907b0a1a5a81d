"""Shared by all rooms: errors, records, the workspace, files, text formats. It imports no other room.

activity.py         what a long command is doing now
advice.py           what helps a debate that is not complete, looked up in why it is not
amounts.py          amounts of money as people read them
carried_types.py    DuckDB's types as Parquet files and Arrow carry them
categories.py       the entry for the category of a topic, however it is spelt
config_sections.py  the JSON of a configuration in sections
duckdb_sql.py       a transaction, a text literal and a quoted name for DuckDB statements
errors.py           errors that are reported to the user, each with its exit code
extensions.py       what installed packages add: judge methods, providers, importers
files.py            atomic writes, synced files and folders, paths as a person would type them
formats.py          the formats in which results are printed and written
hashing.py          SHA-256 over several parts
json_bytes.py       JSON in ASCII, written and read fast
latex.py            text in LaTeX documents, where nothing of it comes to life
locks.py            locks between processes, by a lock file next to what is locked
markdown.py         text in Markdown documents, where nothing of it comes to life
memo.py             results that are computed once for an object that never changes
memory.py           what says that memory ran out, and how a process with a limit takes less of it
output_paths.py     where a command may write: never over anything that a workspace keeps
problem_texts.py    sentences about problems of a run, and which of them say the same
record_columns.py   the columns of a record's table, derived from its class
records.py          frozen records: one class per landed table, the only schema of `raw.*`
result_formats.py   rows as a text table, JSON, CSV, Markdown or LaTeX
scales.py           which scores are on the scale of a dimension
service_tiers.py    the tiers in which providers serve requests
strict_yaml.py      YAML as plain data with line numbers; anything doubtful is refused
version.py          the version of debatebench, and the commit of a checkout
visible_text.py     text from outside as a person may see it: no controls, nothing hidden, no formulas
workspace.py        where configs/, sql/, reports/ and warehouse/ are; a workspace's files overlay the packaged ones
"""
