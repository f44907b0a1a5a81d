"""Commands that end at the same time all land, one after the other."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import duckdb
import pytest
from command_line import debatebench


@pytest.mark.slow
def test_runs_and_judgings_that_end_together_all_land(tmp_path: Path) -> None:
    root = tmp_path / "w"
    root.mkdir()
    assert debatebench(root, "run", "--run-tag", "first", "--quick-test", "--no-build").code == 0
    lines = [
        *(["run", "--run-tag", tag, "--quick-test"] for tag in ("a", "b")),
        *(["judge", "first", "--as", tag] for tag in ("c", "d")),
    ]
    with ThreadPoolExecutor(len(lines)) as pool:
        ended = list(pool.map(lambda line: debatebench(root, *line), lines))
    assert [done.code for done in ended] == [0] * 4, ended
    with duckdb.connect(str(root / "warehouse" / "debatebench.duckdb"), read_only=True) as con:
        assert con.execute("select run_tag from marts.runs order by 1").fetchall() == [
            (tag,) for tag in ("a", "b", "c", "d", "first")
        ]
