"""How much memory DuckDB may take for a warehouse of a size."""

from __future__ import annotations

import os
from pathlib import Path

import duckdb
import pytest

from debatebench.shared.duckdb_sql import limit_memory


@pytest.mark.parametrize(
    ("size_mb", "least", "allowed_mb"),
    [(None, 500, 500), (1, 500, 500), (200, 500, 600), (1_000, 500, 2_000), (3_000, 500, 3_000), (200, 2_000, 2_000)],
)
def test_a_larger_warehouse_gets_more_memory_up_to_two_gigabytes_or_its_size(
    tmp_path: Path, size_mb: int | None, least: int, allowed_mb: int
) -> None:
    database = tmp_path / "warehouse.duckdb"
    if size_mb is not None:
        database.touch()
        os.truncate(database, size_mb * 10**6)
    with duckdb.connect() as con:
        con.execute("set memory_limit = '10MB'")
        limit_memory(con, database, least=least)
        ((usual,),) = con.execute("select current_setting('memory_limit')").fetchall()
        con.execute(f"set memory_limit = '{allowed_mb}MB'")
        assert con.execute("select current_setting('memory_limit')").fetchall() == [(usual,)]


def test_a_machine_with_little_memory_keeps_its_own_limit(tmp_path: Path) -> None:
    class Small:
        """A connection whose own limit is low."""

        def __init__(self) -> None:
            self.said: list[str] = []

        def execute(self, sql: str) -> Small:
            self.said.append(sql)
            return self

        def fetchall(self) -> list[tuple[str]]:
            return [("400.0 MiB",)]

    con = Small()
    limit_memory(con, tmp_path / "none.duckdb")  # type: ignore[arg-type]
    assert not any("set memory_limit =" in sql for sql in con.said)
