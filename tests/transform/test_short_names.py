"""Short names: what people ask has a name without its schema, in any client, and it is in no list of SQL models."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import duckdb
import pytest
from sql_project import STAGING, raw_database, read_project, write_project

from debatebench.shared.errors import SqlModelError
from debatebench.transform.build import build
from debatebench.transform.build_state import relations
from debatebench.transform.lineage.column_lineage import column_lineage

FILES = STAGING | {
    "marts/winners_v1.sql": "select debate_id, winner from staging.stg_debates",
    "marts/winners_v2.sql": "select debate_id, winner, run_tag from staging.stg_debates",
    "marts/scores.sql": "select count(*) as debates from marts.winners",
    "marts/old.sql": "select * from marts.scores",
    "marts/order.sql": """select 1 as "from", {'a': 'x'::enum('x', 'y'), 'b': [1.5]} as nested""",
    "ratings/scores.sql": "select 'lower' as schema",
    "ratings/elo.sql": "select 1200 as rating",
    "intermediate/int_step.sql": "select 1 as x",
    "marts/m.yml": """
        models:
          - {name: winners, description: W., versions: [{v: 1}, {v: 2}]}
          - {name: scores, description: B.}
          - {name: old, description: O., deprecation_date: 2030-01-01}
          - {name: order, description: A word of SQL.}
          - {name: ratings.scores, description: B.}
          - {name: ratings.elo, description: E., config: {materialized: table}}
          - {name: intermediate.int_step, description: S.}
        """,
}


@pytest.fixture
def con() -> Iterator[duckdb.DuckDBPyConnection]:
    connection = raw_database()
    yield connection
    connection.close()


def shown(con: duckdb.DuckDBPyConnection) -> list[str]:
    """What `show tables` lists besides the tables that describe the file."""
    return [name for (name,) in con.execute("show tables").fetchall() if name not in ("schemas", "sql_models")]


def columns(con: duckdb.DuckDBPyConnection, name: str) -> list[tuple[str, str]]:
    return [(row[0], row[1]) for row in con.execute(f"describe {name}").fetchall()]


def test_a_name_without_schema_is_the_first_that_people_ask_and_never_a_version(
    con: duckdb.DuckDBPyConnection, tmp_path: Path
):
    project = write_project(tmp_path, FILES)
    build(con, project)
    assert shown(con) == ["elo", "order", "scores", "winners"]
    assert con.execute("from scores").fetchall() == [(3,)]
    assert con.execute("select rating from elo").fetchall() == [(1200,)]
    for name in ("scores", '"order"', "winners"):
        assert columns(con, name) == columns(con, f"marts.{name}")
        assert con.execute(f"from {name}").fetchall() == con.execute(f"from marts.{name}").fetchall()


def test_the_relations_of_a_warehouse_are_the_same_with_and_without(con: duckdb.DuckDBPyConnection, tmp_path: Path):
    build(con, write_project(tmp_path, FILES))
    assert {name.partition(".")[0] for name in relations(con)} == {
        "raw",
        "staging",
        "intermediate",
        "marts",
        "ratings",
        "meta",
    }
    names = con.execute("select view_name from duckdb_views() where not internal and schema_name <> 'main'").fetchall()
    assert [name for (name,) in names if " " in name] == []


def test_a_view_of_an_unchanged_model_is_made_once_and_one_of_a_changed_model_again(
    con: duckdb.DuckDBPyConnection, tmp_path: Path
):
    def made() -> dict[str, int]:
        query = "select view_name, view_oid from duckdb_views() where schema_name = 'main' and not internal"
        return dict(con.execute(query).fetchall())

    build(con, write_project(tmp_path, FILES))
    first = made()
    build(
        con, write_project(tmp_path, {"marts/scores.sql": "select count(*) as debates, 1 as more from marts.winners"})
    )
    second = made()
    assert {name for name in first if first[name] != second[name]} == {"scores"}
    assert con.execute("select more from scores").fetchall() == [(1,)]
    build(con, read_project(tmp_path), full_refresh=True)
    assert made() == second


def test_what_is_removed_broken_or_deprecated_loses_its_short_name(con: duckdb.DuckDBPyConnection, tmp_path: Path):
    build(con, write_project(tmp_path, FILES))
    (tmp_path / "ratings/elo.sql").unlink()
    yaml = FILES["marts/m.yml"].replace(
        "          - {name: ratings.elo, description: E., config: {materialized: table}}\n", ""
    )
    yaml = yaml.replace("description: A word of SQL.", "description: A., deprecation_date: 2030-01-01")
    yaml = yaml.replace("description: W.,", "description: W., latest_version: 1,")
    contract = yaml.replace(
        "{name: scores, description: B.}", "{name: scores, description: B., config: {contract: {enforced: true}}}", 1
    )
    with suppress(SqlModelError):
        build(con, write_project(tmp_path, {"marts/m.yml": contract}))
    # The mart breaks its contract, so the name is that of the next schema.
    assert shown(con) == ["winners"]
    assert [name for name, _ in columns(con, "winners")] == ["debate_id", "winner"]
    build(con, write_project(tmp_path, {"marts/m.yml": yaml}))
    assert shown(con) == ["scores", "winners"]


def test_somebodys_own_table_or_view_in_main_stays(con: duckdb.DuckDBPyConnection, tmp_path: Path):
    con.execute("create view scores as select 'mine' as x; create table elo as select 'mine' as x")
    build(con, write_project(tmp_path, FILES))
    assert con.execute("from scores").fetchall() == con.execute("from elo").fetchall() == [("mine",)]


def test_lineage_takes_a_name_without_schema_for_what_queries_find_under_it(tmp_path: Path):
    project = write_project(tmp_path, FILES)
    assert column_lineage(project, "scores").name == "marts.scores"
    assert column_lineage(project, "winners.winner").name == "marts.winners.winner"


def test_a_file_keeps_its_short_names_when_plain_duckdb_opens_it(tmp_path: Path):
    database = tmp_path / "w.duckdb"
    with raw_database(str(database)) as con:
        build(con, write_project(tmp_path / "sql", FILES))
    with duckdb.connect(str(database), read_only=True) as con:
        assert con.execute("from scores").fetchall() == [(3,)]
        with pytest.raises(duckdb.CatalogException, match='Did you mean "scores"'):
            con.execute("from scoress")
    with duckdb.connect() as con:
        con.execute(f"attach '{database}' as warehouse (read_only)")
        assert con.execute("from warehouse.scores").fetchall() == [(3,)]
