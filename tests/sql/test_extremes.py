"""Whatever configuration and imports accept can be calculated with, read and exported."""

from __future__ import annotations

import json
import math
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import duckdb
import pytest
from built_warehouse import begin_built, packaged_project, stored
from command_line import debatebench, debatebench_here
from extremes import EXTREME_CONFIG, write_extreme_debates

from debatebench.shared.workspace import Workspace
from debatebench.transform.testing.data_tests import run_data_tests

pytestmark = pytest.mark.slow

SEEDS = (1, 2, 3, 4)


@pytest.fixture(scope="module")
def workspace(tmp_path_factory: pytest.TempPathFactory) -> Workspace:
    """Extreme imports, a run with extreme settings, and runs with those settings that judge both again."""
    root = begin_built(tmp_path_factory.mktemp("extreme"))
    config = root / "extreme.yaml"
    config.write_text(json.dumps(EXTREME_CONFIG))
    assert debatebench_here(root, "init").code == 0
    for seed in SEEDS:
        source = write_extreme_debates(root / f"{seed}.jsonl", seed)
        done = debatebench_here(root, "import", "debatebench", str(source), "--run-tag", f"i{seed}", "--no-build")
        assert done.code == 0, done.err
    judging = ("--config-path", str(config), "--judge", "sim-judge-elm", "--judge", "sim-judge-dune")
    lines = [
        ("run", "--run-tag", "played", "--config-path", str(config), "--sample-topics", "3", "--no-build"),
        ("judge", "played", "--as", "again", "--repeat", "2", "--baseline", "longest", *judging, "--no-build"),
        ("judge", "i1", "--as", "judged", "--repeat", "2", "--baseline", "random", *judging),
    ]
    for line in lines:
        done = debatebench(root, *line)
        assert done.code == 0, done.err
    stored(Workspace(root).database)
    return Workspace(root)


@pytest.fixture(scope="module")
def con(workspace: Workspace, tmp_path_factory: pytest.TempPathFactory) -> Iterator[duckdb.DuckDBPyConnection]:
    """A copy, because a process that has a file open cannot open it in another way."""
    copy = shutil.copy(workspace.database, tmp_path_factory.mktemp("copied"))
    with duckdb.connect(str(copy), read_only=True) as con:
        yield con


def _floats(value: Any) -> Iterator[float]:
    if isinstance(value, float):
        yield value
    elif isinstance(value, list | tuple | dict):
        for inner in value.values() if isinstance(value, dict) else value:
            yield from _floats(inner)


def test_every_relation_can_be_read_and_has_only_finite_numbers(con: duckdb.DuckDBPyConnection) -> None:
    relations = con.execute(
        "select distinct schema_name || '.' || table_name from duckdb_columns() where schema_name not like '%meta' "
        "and not internal order by 1"
    ).fetchall()
    assert len(relations) > 150
    for (relation,) in relations:
        for row in con.execute(f"select * from {relation} order by all").fetchall():
            assert all(map(math.isfinite, _floats(row))), (relation, row)


def test_every_data_test_holds(con: duckdb.DuckDBPyConnection) -> None:
    results = run_data_tests(con, packaged_project())
    assert [(result.name, result.status) for result in results if result.status != "pass"] == []


@pytest.mark.parametrize("source_format", ["parquet", "jsonl", "duckdb"])
def test_everything_can_be_exported(workspace: Workspace, tmp_path: Path, source_format: str) -> None:
    done = debatebench_here(workspace.root, "export", "--format", source_format, "--out-dir", str(tmp_path / "out"))
    assert done.code == 0, done.err


@pytest.mark.parametrize("sides", [("i1", "i2"), ("played", "again")])
def test_extreme_runs_can_be_compared(workspace: Workspace, sides: tuple[str, str]) -> None:
    done = debatebench_here(workspace.root, "compare", *sides, "--format", "json")
    assert done.code == 0, done.err


def test_the_score_of_a_weighted_whole_is_exact(con: duckdb.DuckDBPyConnection) -> None:
    # The finest dimension has almost no weight, and the two others nearly the same.
    found = con.execute(
        """
        select count(*), max(abs(predictions.pro_score - (
            (widest.pro_score::double * 1e6 + finest.pro_score::double * 1e-6 + highest.pro_score::double * 1e6) / 2e6
        )))
        from marts.judge_predictions as predictions
        inner join marts.verdict_scores as widest using (run_tag, debate_id, judge_id)
        inner join marts.verdict_scores as finest using (run_tag, debate_id, judge_id)
        inner join marts.verdict_scores as highest using (run_tag, debate_id, judge_id)
        where predictions.dimension = 'overall' and widest.dimension = 'widest' and finest.dimension = 'finest'
            and highest.dimension = 'highest'
        """
    ).fetchall()
    ((count, difference),) = found
    assert count > 50
    assert difference < 1
