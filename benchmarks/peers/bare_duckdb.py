"""DuckDB alone, from Python: what is the least that a command on a warehouse can cost.

    python bare_duckdb.py query FILE
    python bare_duckdb.py copy FILE FOLDER

`copy` writes every relation of marts, original and ratings as one Parquet file, each view computed for itself.
"""

from __future__ import annotations

import sys

import duckdb

RELATIONS = """
select distinct table_schema || '.' || table_name
from information_schema.tables
where table_schema in ('marts', 'original', 'ratings')
order by all
"""


def main() -> None:
    step, file, *folder = sys.argv[1:]
    with duckdb.connect(file, read_only=True) as con:
        if step == "query":
            print(con.execute("select 1").fetchall())
            return
        for (name,) in con.execute(RELATIONS).fetchall():
            con.execute(f"copy (from {name}) to '{folder[0]}/{name}.parquet' (format parquet)")


if __name__ == "__main__":
    main()
