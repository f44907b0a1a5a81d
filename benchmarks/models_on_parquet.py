"""Winners, means and win rates from exported Parquet files, by the SQL models: ours of the case `winners`.

    python benchmarks/models_on_parquet.py prepare EXPORT FOLDER
    python benchmarks/models_on_parquet.py run FOLDER OUT.json

EXPORT is a Parquet export of landed tables. `prepare` makes a DuckDB file with macros, with views of the exported files
and with empty tables for the other landed tables, and a script: the statements by which `build` creates the SQL models
for the three questions and all that they read, each a table or a view as it is there. `run` runs the script and writes
the rows to OUT, to compare them with others'. It does what a build does but for reading the SQL files.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import duckdb

ASKED = {
    "winners": "select winner, count from original.winner_counts",
    "means": "select model_id, dimension, mean_score, samples from original.model_dimension_avg",
    "win_rates": "select model_id, pro_w, pro_l, pro_t, con_w, con_l, con_t from original.model_winrate_by_side",
}
MODELS = ("+original.winner_counts", "+original.model_dimension_avg", "+original.model_winrate_by_side")


def prepare(exported: Path, folder: Path) -> None:
    from debatebench.landing.land import create_raw_tables
    from debatebench.query.sql_project import load_project
    from debatebench.shared.workspace import Workspace
    from debatebench.transform.create_macros import create_macros

    folder.mkdir()
    project = load_project(Workspace(folder).files("sql", "**/*"))
    with duckdb.connect(str(folder / "models.duckdb")) as con:
        create_raw_tables(con)
        for landed in (exported / "raw").iterdir():
            con.execute(f"drop table raw.{landed.name}")
            con.execute(f"create view raw.{landed.name} as from read_parquet('{landed}/**/*.parquet')")
        create_macros(con, project.macros, stand_alone=True)
    models = [project.models[name] for name in project.select(MODELS)]
    schemas = [f"create schema if not exists {schema}" for schema in sorted({model.schema for model in models})]
    created = [f"create {model.materialized} {model.name} as {model.query.sql}" for model in models]
    (folder / "models.json").write_text(json.dumps([*schemas, *created]))


def run(folder: Path, out: Path) -> None:
    with duckdb.connect(str(folder / "models.duckdb")) as con:
        for statement in json.loads((folder / "models.json").read_text()):
            con.execute(statement)
        rows = {name: sorted(con.execute(sql).fetchall(), key=str) for name, sql in ASKED.items()}
    out.write_text(json.dumps(rows, indent=1))


if __name__ == "__main__":
    {"prepare": prepare, "run": run}[sys.argv[1]](*map(Path, sys.argv[2:]))
