"""Winners, means and win rates from exported Parquet files, by the SQL models: ours of the case `winners`.

    python benchmarks/models_on_parquet.py FOLDER WAREHOUSE.duckdb OUT.json

FOLDER is a Parquet export of landed tables, `raw.debates` and `raw.verdicts` among them. In the warehouse, which is a
copy, views of the files take the place of these tables, and the SQL models for the three questions are built, with
all that they read. OUT gets the rows, to compare them with others'.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import duckdb

from debatebench.query.sql_project import load_project
from debatebench.shared.workspace import Workspace
from debatebench.transform.build import build

ASKED = {
    "winners": "select winner, count from original.winner_counts",
    "means": "select model_id, dimension, mean_score, samples from original.model_dimension_avg",
    "win_rates": "select model_id, pro_w, pro_l, pro_t, con_w, con_l, con_t from original.model_winrate_by_side",
}
MODELS = ("+original.winner_counts", "+original.model_dimension_avg", "+original.model_winrate_by_side")


def main() -> None:
    exported, warehouse, out = map(Path, sys.argv[1:])
    project = load_project(Workspace(out.parent).files("sql", "**/*"))
    with duckdb.connect(str(warehouse)) as con:
        for folder in (exported / "raw").iterdir():
            con.execute(f"drop table raw.{folder.name}")
            con.execute(f"create view raw.{folder.name} as from read_parquet('{folder}/**/*.parquet')")
        build(con, project, select=MODELS, full_refresh=True)
        rows = {name: sorted(con.execute(sql).fetchall(), key=str) for name, sql in ASKED.items()}
    out.write_text(json.dumps(rows, indent=1))


if __name__ == "__main__":
    main()
