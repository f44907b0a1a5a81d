"""Write a project of SQLMesh from our export to dbt after `dbt run`: the same models, compiled, as views.

    python benchmarks/sqlmesh_project.py DBT_FOLDER OUT

DBT_FOLDER has `target/manifest.json` and `debatebench.duckdb`. Its landed tables and those that Python computes are
copied; what dbt has made is not.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import duckdb
import sqlglot
from sqlglot import exp

CATALOG = "debatebench"
CONFIG = f"""
gateways:
  local:
    connection: {{type: duckdb, database: {CATALOG}.duckdb}}
    state_connection: {{type: duckdb, database: state.duckdb}}
default_gateway: local
disable_anonymized_analytics: true
model_defaults: {{dialect: duckdb, start: 2026-01-01}}
"""


def main() -> None:
    built, out = map(Path, sys.argv[1:])
    nodes = json.loads((built / "target" / "manifest.json").read_text())["nodes"].values()
    models = [node for node in nodes if node["resource_type"] == "model"]
    (out / "models").mkdir(parents=True)
    (out / "config.yaml").write_text(CONFIG)
    made = {(node["schema"], node["alias"]) for node in models}
    for node in models:
        tree = sqlglot.parse_one(node["compiled_code"], read="duckdb")
        for table in tree.find_all(exp.Table):
            table.set("catalog", None)
        name = f"{node['schema']}.{node['alias']}"
        text = f"MODEL (name {name}, kind VIEW);\n\n{tree.sql(dialect='duckdb', pretty=True)}\n"
        (out / "models" / f"{name}.sql").write_text(text)
    copy_tables(built / f"{CATALOG}.duckdb", out / f"{CATALOG}.duckdb", made)


def copy_tables(source: Path, target: Path, but: set[tuple[str, str]]) -> None:
    """Copy every table of a database that is not one of `but`."""
    with duckdb.connect(str(target), config={"storage_compatibility_version": "v1.4.0"}) as con:
        con.execute(f"attach '{source}' as source (read_only)")
        tables = con.execute(
            "select schema_name, table_name from duckdb_tables() where database_name = 'source'"
        ).fetchall()
        for schema, table in tables:
            if (schema, table) not in but:
                con.execute(f"create schema if not exists {schema}")
                con.execute(f"create table {schema}.{table} as from source.{schema}.{table}")


if __name__ == "__main__":
    main()
