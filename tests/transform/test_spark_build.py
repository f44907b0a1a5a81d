"""Spark builds every SQL model to the rows of DuckDB. `make test-spark` installs it and sets DEBATEBENCH_SPARK.

With `few`, the runs are those written by hand, and what takes long is left out; with `written`, it is not. With
`all`, there are also simulated runs and real data sets.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import duckdb
import pytest
from built_warehouse import stored
from command_line import debatebench, debatebench_here
from spark_rows import differences
from spark_runs import compared_workspace

from debatebench.landing.land import create_raw_tables
from debatebench.query.sql_project import load_project
from debatebench.shared.workspace import Workspace
from debatebench.transform.build import build
from debatebench.transform.project import Project

RUNS = os.environ.get("DEBATEBENCH_SPARK")
# Java, and a process for each task, take most of the time of each command here.
pytestmark = [
    pytest.mark.skipif(not RUNS, reason="DEBATEBENCH_SPARK is not set; `make test-spark` does it all"),
    pytest.mark.slow,
]
takes_long = pytest.mark.skipif(RUNS == "few", reason="DEBATEBENCH_SPARK=few leaves out what takes long")
NAMED: dict[str, str] = {}
"""SQL models whose rows differ, each with its reason, as docs/spark.md names them."""


@pytest.fixture(scope="module")
def workspace(tmp_path_factory: pytest.TempPathFactory) -> Workspace:
    """A workspace with a warehouse that DuckDB has built."""
    return compared_workspace(tmp_path_factory.mktemp("workspace"), str(RUNS))


@pytest.fixture(scope="module")
def project(workspace: Workspace) -> Project:
    return load_project(workspace.files("sql", "**/*"))


@pytest.fixture(scope="module")
def source(workspace: Workspace, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The landed rows, as `debatebench export` writes them."""
    folder = tmp_path_factory.mktemp("source") / "landed"
    done = debatebench(workspace.root, "export", "--format", "parquet", "--select", "raw.*", "--out-dir", str(folder))
    assert done.code == 0, done.err
    return folder


@pytest.fixture(scope="module")
def target(workspace: Workspace, source: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What Spark built, although a worker was killed on the way."""
    target, temporary = tmp_path_factory.mktemp("target") / "built", tmp_path_factory.mktemp("temporary")
    command = [sys.executable, "-m", "debatebench", "--root", str(workspace.root), *build_command(source, target)]
    environ = {**os.environ, "SPARK_LOCAL_DIRS": str(temporary)}
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environ) as process:
        killed = kill_a_worker(temporary)
        out, err = process.communicate()
    assert killed
    assert process.returncode == 0, err
    assert out == f"{target} is up to date.\n"
    assert not list(temporary.rglob("debatebench-worker-*")), (
        "a killed worker leaves its files to Spark, which removes them"
    )
    return target


def build_command(source: object, target: object, *more: str) -> list[str]:
    return [
        "build",
        "--engine",
        "spark",
        "--master",
        "local[2]",
        "--source",
        str(source),
        "--target",
        str(target),
        *more,
    ]


def kill_a_worker(temporary: Path) -> bool:
    """Kill the first Python worker of Spark that builds a family; False if none is seen in two minutes."""
    for _ in range(2400):
        for folder in temporary.glob("*/debatebench-worker-*"):
            os.kill(int(folder.name.split("-")[2]), signal.SIGKILL)
            return True
        time.sleep(0.05)
    return False


def test_every_sql_model_has_the_rows_of_duckdb(workspace: Workspace, target: Path, project: Project, tmp_path: Path):
    ours = stored(Path(shutil.copy(workspace.database, tmp_path)))
    found = dict(differences(ours, target, list(project.models)))
    named = "".join(f"\n  {name}: {reason}" for name, reason in NAMED.items())
    equal = len(project.models) - len(found)
    print(f"\n{equal} SQL models equal, {len(NAMED)} named in docs/spark.md with their reason{named}")
    assert found.keys() <= NAMED.keys(), found
    assert len(NAMED) <= 5


def test_a_second_build_has_nothing_to_do(workspace: Workspace, source: Path, target: Path):
    before = contents(target)
    done = debatebench_here(workspace.root, *build_command(source, target))
    assert (done.code, done.out) == (0, "Nothing has changed since the last build.\n"), done.err
    assert contents(target) == before


@takes_long
def test_a_changed_run_and_one_that_is_gone_change_their_families_alone(
    workspace: Workspace, source: Path, target: Path, project: Project, tmp_path: Path
):
    changed, kept = tmp_path / "source", tmp_path / "target"
    shutil.copytree(source, changed)
    shutil.copytree(target, kept)
    for folder in changed.glob("raw/*/run_tag=teams"):
        shutil.rmtree(folder)
    (file,) = changed.glob("raw/verdicts/run_tag=first/data.parquet")
    with duckdb.connect() as con:
        con.execute(f"create table rows as from read_parquet('{file}', hive_partitioning = false)")
        con.execute("delete from rows where judge_id = 'judge-a'")
        con.execute(f"copy rows to '{file}' (format parquet)")
    done = debatebench(workspace.root, *build_command(changed, kept))
    assert done.code == 0, done.err
    assert re.search(r"; 2 of \d+ families of runs had changed", done.err)
    before, after = contents(target), contents(kept)
    own = {path for path in before if "run_tag=source" in path}
    assert len(own) > 50
    assert {path: after.get(path) for path in own} == {path: before[path] for path in own}
    with duckdb.connect(str(tmp_path / "again.duckdb")) as con:
        load_landed(con, changed, project)
    built(tmp_path / "again.duckdb", project)
    ours = stored(tmp_path / "again.duckdb")
    assert dict(differences(ours, kept, list(project.models))).keys() <= NAMED.keys()


def contents(folder: Path) -> dict[str, bytes]:
    """Every file with rows, by its path."""
    files = (each for each in folder.rglob("*.parquet") if "meta" not in each.parts)
    return {str(each.relative_to(folder)): each.read_bytes() for each in files}


def load_landed(con: duckdb.DuckDBPyConnection, folder: Path, project: Project) -> None:
    """Land the rows of these files."""
    create_raw_tables(con)
    for name in project.domain.tables:
        files = f"{folder}/{name.replace('.', '/')}/*/*.parquet"
        read = f"read_parquet('{files}', hive_partitioning = true, hive_types = {{'run_tag': varchar}})"
        con.execute(f"insert into {name} by name from {read}")


def built(database: Path, project: Project) -> None:
    with duckdb.connect(str(database)) as con:
        build(con, project)


IN_ONE_SESSION = """
import sys
from pathlib import Path
from debatebench.query.sql_project import load_project
from debatebench.shared.errors import DebatebenchError
from debatebench.shared.workspace import Workspace
from debatebench.transform.scope import scopes
from debatebench.transform.spark.engine import build_on_spark
from debatebench.transform.spark.relations import relations
from debatebench.transform.spark.session import spark_session
from debatebench.transform.spark.target import Target
from debatebench.transform.spark.translated_queries import TranslatedQueries

root, target, *refused = sys.argv[1:]
project = load_project(Workspace(Path(root)).files("sql", "**/*"))
known = relations(project)
found = scopes(project.models, {name: each.types for name, each in known.items()}, project.domain.part)
with spark_session("local[1]") as spark:
    queries = TranslatedQueries(project, known, Target(spark, target, "parquet", project.domain.part))
    for name in (each for each, scope in found.items() if scope == "whole"):
        print("PART", name)
        queries.rows_of(project.models[name]).explain()
    for source, target in zip(refused[::2], refused[1::2]):
        try:
            build_on_spark(spark, project, source, target, table_format="parquet")
        except DebatebenchError as error:
            print("PART", type(error).__name__, error)
"""


@takes_long
def test_spark_plans_what_looks_across_runs_over_files_alone_and_errors_are_one_sentence(
    workspace: Workspace, source: Path, target: Path, tmp_path: Path
):
    foreign, nowhere, new = tmp_path / "foreign", tmp_path / "nowhere", tmp_path / "new"
    foreign.mkdir()
    (foreign / "notes.txt").write_text("mine")
    refused = [(nowhere, new), (foreign, new), (source, foreign)]
    command = [
        sys.executable,
        "-c",
        IN_ONE_SESSION,
        str(workspace.root),
        str(target),
        *(str(p) for e in refused for p in e),
    ]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    *plans, no_source, not_landed, not_ours = done.stdout.split("PART ")[1:]
    assert len(plans) > 20
    for plan in plans:
        nodes = set(re.findall(r"^[\s:+\-*()\d]*(\w+)", plan, re.MULTILINE))
        assert not nodes & {"MapInArrow", "MapInPandas", "FlatMapGroupsInArrow", "Scan"}, plan
        assert "FileScan" in nodes, plan
    assert no_source.startswith(f"UsageError {nowhere} cannot be read as a folder of landed rows: ")
    assert not_landed.startswith(f"UsageError {foreign} cannot be read as a folder of landed rows: ")
    assert (
        not_ours
        == f"UsageError {foreign} is not empty, and holds no build of SQL models; give another folder as --target.\n"
    )
    assert {each.count("\n") for each in (no_source, not_landed, not_ours)} == {1}
    assert (foreign / "notes.txt").read_text() == "mine"
    assert not new.exists()


@takes_long
def test_data_tests_find_on_spark_what_they_find_in_the_warehouse(workspace: Workspace, target: Path):
    command = ["test", "--format", "json"]
    ours = debatebench(workspace.root, *command)
    theirs = debatebench(workspace.root, *command, "--engine", "spark", "--master", "local[2]", "--target", str(target))
    expected, found = (
        {row["name"]: (row["kind"], row["status"], row["failures"]) for row in json.loads(done.out)}
        for done in (ours, theirs)
    )
    assert len(found) > 2_500
    assert found == {name: expected[name] for name in found}
    kinds_on_spark = {kind for kind, _, _ in found.values()}
    assert {kind for kind, _, _ in expected.values()} - kinds_on_spark == {
        "unit",
        "description",
        "contract",
        "question",
    }
    assert theirs.code == ours.code
