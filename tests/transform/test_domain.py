"""The engine for SQL models works on what it is handed: here it is about orders of shops."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from pathlib import Path

import duckdb
import pytest
from sql_project import write_project

from debatebench.shared.errors import SqlModelError
from debatebench.shared.hashing import hash_of_files
from debatebench.transform.build import build
from debatebench.transform.build_state import is_current
from debatebench.transform.domain import LandedColumn
from debatebench.transform.lineage.column_lineage import column_lineage
from debatebench.transform.lineage.descriptions import Descriptions
from debatebench.transform.project import Project
from debatebench.transform.sql_model import SqlModel
from debatebench.transform.testing.data_tests import run_data_tests
from debatebench.transform.testing.unit_tests import run_unit_tests

FILES = {
    "staging/stg_orders.sql": "select shop, cents from raw.orders",
    "staging/s.yml": """
        models:
          - name: stg_orders
            description: Orders.
            columns: [{name: shop, data_type: varchar}, {name: cents, data_type: bigint}]
        unit_tests:
          - name: as_landed
            model: stg_orders
            given: [{input: raw.orders, rows: [{shop: a, cents: 1}]}]
            expect: {rows: [{shop: a, cents: 1}]}
        """,
    "marts/sales.sql": """
        select shop, sum(cents)::bigint as cents, doubled(sum(cents)::bigint) as twice
        from staging.stg_orders group by shop
        """,
    "marts/m.yml": """
        models:
          - name: sales
            description: Sales by shop.
            config: {materialized: table, incremental_by: shop}
            columns: [{name: shop}, {name: cents, description: The sum.}, {name: twice, description: Two times that.}]
        """,
}


class Orders:
    """Orders are landed shop by shop; `hashes` are of what was landed, and `file` has the code of the function."""

    part = "shop"
    about = ("raw.orders", "branch_of")
    asked = ("marts",)
    apart = ("raw.closed",)
    tables: Mapping[str, Mapping[str, LandedColumn]] = {
        "raw.orders": {
            "shop": LandedColumn("VARCHAR", "The shop."),
            "cents": LandedColumn("BIGINT", "What it costs."),
        },
        "raw.closed": {"shop": LandedColumn("VARCHAR", "A shop that has closed.")},
    }

    descriptions: Mapping[str, str] = {"raw.orders": "An order.", "raw.closed": "A shop that is closed."}

    def __init__(self, folder: Path) -> None:
        self.hashes = {"a": "1", "b": "1"}
        self.file = folder / "function"
        self.file.write_text("value * 2")

    @property
    def functions(self) -> Orders:
        return self

    def python_functions(self, names: Iterable[str]) -> list[str]:
        return [name for name in names if name == "doubled"]

    def register(self, con: duckdb.DuckDBPyConnection, names: Collection[str]) -> None:
        for name in names:
            con.execute(f"create or replace macro {name}(value) as {self.file.read_text()}")

    def fingerprint(self, name: str) -> str:
        return self.file.read_text()

    def landed(self, con: duckdb.DuckDBPyConnection) -> Mapping[str, str]:
        return self.hashes

    landed_with_bases = landed

    def misnamed_columns(self, model: SqlModel, types: Mapping[str, str]) -> list[str]:
        return [f"{name}: too short" for name in types if len(name) < 4]

    @property
    def code_sha256(self) -> str:
        return hash_of_files([self.file])


@pytest.fixture
def con() -> Iterator[duckdb.DuckDBPyConnection]:
    with duckdb.connect() as connection:
        connection.execute("create schema raw; create table raw.orders (shop varchar, cents bigint)")
        connection.execute("insert into raw.orders values ('a', 1), ('a', 2), ('b', 5)")
        yield connection


def project_of(folder: Path, domain: Orders, files: Mapping[str, str] = FILES) -> Project:
    return Project(write_project(folder / "sql", files).files, domain)


def sales(con: duckdb.DuckDBPyConnection) -> list[tuple[str, int, int]]:
    return con.execute("from marts.sales order by shop").fetchall()


def test_it_builds_traces_describes_and_tests_another_domain(tmp_path: Path, con: duckdb.DuckDBPyConnection):
    project = project_of(tmp_path, Orders(tmp_path))
    build(con, project)
    assert sales(con) == [("a", 3, 6), ("b", 5, 10)]
    assert is_current(con, project)
    last = [node for node in column_lineage(project, "sales.twice").nodes() if not node.upstream]
    assert [(node.name, node.kind) for node in last] == [("raw.orders.cents", "raw")]
    assert Descriptions(project).text("staging.stg_orders", "cents") == "What it costs."
    assert [result.status for result in run_unit_tests(project)] == ["pass"]
    assert {result.status for result in run_data_tests(con, project)} == {"pass"}


def test_only_the_shop_that_changed_is_computed_again(tmp_path: Path, con: duckdb.DuckDBPyConnection):
    domain = Orders(tmp_path)
    build(con, project_of(tmp_path, domain))
    con.execute("update marts.sales set cents = -1; insert into raw.orders values ('b', 1)")
    domain.hashes["b"] = "2"
    build(con, project_of(tmp_path, domain))
    assert sales(con) == [("a", -1, 6), ("b", 6, 12)]


OPEN = {
    **FILES,
    "staging/stg_closed.sql": "select shop from raw.closed",
    "staging/c.yml": "models: [{name: stg_closed, description: Shops that have closed., columns: [{name: shop}]}]",
    "marts/open_shops.sql": "select shop from marts.sales anti join staging.stg_closed using (shop)",
    "marts/o.yml": """
        models:
          - name: open_shops
            description: Shops that have not closed.
            config: {materialized: table}
            columns: [{name: shop}]
        """,
}


def test_a_table_that_changes_apart_from_landings_is_read_again_by_what_reads_it_only(
    tmp_path: Path, con: duckdb.DuckDBPyConnection
):
    project = project_of(tmp_path, Orders(tmp_path), OPEN)
    con.execute("create table raw.closed (shop varchar)")
    build(con, project)
    con.execute("insert into raw.closed values ('a')")
    assert not is_current(con, project)
    assert [row.name for row in build(con, project).built] == ["marts.open_shops"]
    assert con.execute("from marts.open_shops").fetchall() == [("b",)]
    con.execute("delete from raw.closed")
    assert [row.name for row in build(con, project).built] == ["marts.open_shops"]
    assert is_current(con, project)


def test_rows_that_change_apart_from_landings_cannot_be_brought_up_to_date_by_part(tmp_path: Path):
    files = {**OPEN, "marts/o.yml": OPEN["marts/o.yml"].replace("table}", "table, incremental_by: shop}")}
    with pytest.raises(SqlModelError, match=r"incremental by shop, but it reads raw\.closed, which changes apart from"):
        _ = project_of(tmp_path, Orders(tmp_path), files).models


def test_a_changed_function_computes_what_calls_it_again(tmp_path: Path):
    domain = Orders(tmp_path)
    with duckdb.connect(str(tmp_path / "w.duckdb")) as con:
        con.execute("create schema raw; create table raw.orders as select 'a' as shop, 1::bigint as cents")
        build(con, project_of(tmp_path, domain))
    domain.file.write_text("value * 3")
    with duckdb.connect(str(tmp_path / "w.duckdb")) as con:
        assert [row.name for row in build(con, project_of(tmp_path, domain)).built] == ["marts.sales"]
        assert sales(con) == [("a", 1, 3)]


def test_its_rule_for_names_is_kept_and_its_tables_are_the_only_ones(tmp_path: Path, con: duckdb.DuckDBPyConnection):
    short = {
        "marts/m.yml": FILES["marts/m.yml"].replace("twice", "two"),
        "marts/sales.sql": FILES["marts/sales.sql"].replace("as twice", "as two"),
    }
    project = project_of(tmp_path, Orders(tmp_path), FILES | short)
    build(con, project)
    assert [result.message for result in run_data_tests(con, project) if result.status == "fail"] == ["two: too short"]
    with pytest.raises(SqlModelError, match=r"no SQL model or raw table 'raw\.order'\. Did you mean 'raw\.orders'"):
        _ = project_of(
            tmp_path, Orders(tmp_path), {"staging/stg_orders.sql": "select shop, cents from raw.order"}
        ).models
