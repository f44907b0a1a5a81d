"""Real dbt builds the exported project to equal rows. `make test-dbt` installs it and names it in DEBATEBENCH_DBT."""

from __future__ import annotations

import json
import math
import os
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import duckdb
import pytest
from command_line import debatebench
from exported import IMPORTS, make_workspace
from paths import REPOSITORY

from debatebench.output.export import export
from debatebench.output.export.dbt_names import dbt_names
from debatebench.output.export.duckdb_file import DATABASE
from debatebench.query.sql_project import load_project
from debatebench.shared.workspace import Workspace
from debatebench.transform.project import Project

DBT = os.environ.get("DEBATEBENCH_DBT")
GOLDEN = REPOSITORY.parent / "shared" / "data" / "debatebench-v0" / "golden" / "debates.jsonl"

# Text that dbt, SQL, Jinja or a reader of CSV could take for something else.
SEED = {
    "seeds/makers.csv": "\ufeffmodel_id,maker,since,size\r\n"
    'sim-atlas,"Oak, ""Elm""\nand {{ ref(\'x\') }}",2026-01-31,007\r\n'
    "null,NULL,,\r\n'; drop table x; --,=1+1,,1e3\r\n",
    "seeds/makers.yml": """
seeds:
  - name: makers
    description: Who made which {{ debater }}.
    config: {column_types: {since: date}, tags: [people]}
    columns:
      - {name: model_id, description: The debater., data_tests: [unique, not_null]}
      - {name: maker, description: Who made it.}
      - {name: since, description: The first day.}
      - {name: size, description: Its size., data_type: varchar}
""",
    "marts/made.sql": "select run_tag, maker from marts.debates join seeds.makers as m on m.model_id = pro_model_id",
    "marts/made.yml": """
models: [{name: made, description: Debates by maker., columns: [[run_tag], {name: maker, data_type: varchar}]}]
unit_tests:
  - name: the_maker_of_pro
    model: made
    given:
      - {input: marts.debates, rows: [{run_tag: r, pro_model_id: a}]}
      - {input: seeds.makers, rows: [{model_id: a, maker: Oak}]}
    expect: {rows: [{run_tag: r, maker: Oak}]}
""",
}

pytestmark = pytest.mark.skipif(not DBT, reason="DEBATEBENCH_DBT names no dbt; `make test-dbt` does it all")


@pytest.fixture(scope="module")
def workspace(tmp_path_factory: pytest.TempPathFactory) -> Workspace:
    """The golden run where it is there, imports of every format, a run written by hand and a simulated tournament."""
    golden = {"golden": ("debatebench", GOLDEN)} if GOLDEN.exists() else {}
    workspace = make_workspace(tmp_path_factory.mktemp("workspace"), IMPORTS | golden)
    for path, text in SEED.items():
        (workspace.sql / path).parent.mkdir(parents=True, exist_ok=True)
        (workspace.sql / path).write_bytes(text.encode())
    assert debatebench(workspace.root, "run", "--run-tag", "simulated", "--sample-topics", "1").code == 0
    return workspace


@pytest.fixture(scope="module")
def project(workspace: Workspace) -> Project:
    return load_project(workspace.files("sql", "**/*"))


@pytest.fixture(scope="module")
def ours(workspace: Workspace, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same runs, built here."""
    return export(workspace, "duckdb", tmp_path_factory.mktemp("ours") / "out").folder / DATABASE


@pytest.fixture(scope="module")
def theirs(workspace: Workspace, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The exported project after `dbt build`."""
    folder = export(workspace, "dbt", tmp_path_factory.mktemp("theirs") / "out").folder
    done = dbt(folder, "build")
    assert done.returncode == 0, done.stdout
    return folder


def dbt(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run dbt in the project as its README says, without a network where the system can take it away."""
    command = [str(DBT), *arguments, "--profiles-dir", "."]
    alone = ["unshare", "--map-root-user", "--net"]
    if shutil.which("unshare") and subprocess.run([*alone, "true"], capture_output=True).returncode == 0:
        command = [*alone, *command]
    environ = {key: value for key, value in os.environ.items() if not key.startswith("DBT_")}
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, env=environ | {"NO_COLOR": "1"})


def results(folder: Path) -> dict[str, str]:
    """What became of each node of the last command: id → status."""
    run = json.loads((folder / "target" / "run_results.json").read_text())
    return {result["unique_id"]: result["status"] for result in run["results"]}


def is_same(left: Sequence[Any], right: Sequence[Any]) -> bool:
    """Equal values, floats to nine digits."""
    return all(
        math.isclose(a, b, rel_tol=1e-9, abs_tol=1e-12) if isinstance(a, float) and isinstance(b, float) else a == b
        for a, b in zip(left, right, strict=True)
    )


def test_dbt_builds_every_model_and_passes_every_test(theirs: Path, project: Project):
    found = results(theirs)
    assert set(found.values()) <= {"success", "pass"}
    names = dbt_names(project.models, project.macros)
    kinds = [unique_id.partition(".")[0] for unique_id in found]
    assert kinds.count("model") == len(names.models)
    assert kinds.count("seed") == len(names.seeds) == 1
    assert kinds.count("unit_test") == sum(unit.tested not in names.tables for unit in project.unit_tests)
    ours = [test for model in project.models.values() for test in model.properties.data_tests]
    ours += [test for m in project.models.values() for column in m.properties.columns for test in column.data_tests]
    # A test of a SQL model with versions is one for each here, and so it is for dbt.
    assert kinds.count("test") == len(ours) + len(project.singular_tests)
    print(f"\ndbt: {kinds.count('model')} models built, {len(kinds) - kinds.count('model')} tests passed")


def test_every_relation_has_the_same_columns_and_rows(theirs: Path, ours: Path, project: Project):
    counted = 0
    with duckdb.connect() as con:
        # Views that dbt makes name their own database.
        con.execute(f"attach '{ours}' as ours (read_only); attach '{theirs / DATABASE}' as debatebench (read_only)")
        for name in project.models:
            described = [con.execute(f"describe {side}.{name}").fetchall() for side in ("ours", "debatebench")]
            columns, others = ([(row[0], row[1]) for row in table] for table in described)
            assert columns == others, name
            # Floats come last, so that their last digits do not decide the order.
            order = sorted(columns, key=lambda column: column[1] == "DOUBLE")
            listed = ", ".join(f'"{column}"' for column, _ in order)
            left, right = (
                con.execute(f"select {listed} from {side}.{name} order by all").fetchall()
                for side in ("ours", "debatebench")
            )
            assert len(left) == len(right), name
            assert [pair for pair in zip(left, right, strict=True) if not is_same(*pair)] == [], name
            counted += len(left)
    assert counted > 1000
    print(f"\ndbt: {len(project.models)} tables and views with {counted:,} rows equal ours")


def test_dbt_asked_nobody(theirs: Path):
    # dbt makes this file when it is going to report usage.
    assert not (theirs / ".user.yml").exists()
    # A long log goes on in a second file.
    log = "".join(path.read_text() for path in sorted((theirs / "logs").glob("dbt.log*")))
    assert "send_anonymous_usage_stats': 'False'" in log


def test_the_exported_tests_find_what_is_wrong(theirs: Path, tmp_path: Path):
    folder = Path(shutil.copytree(theirs, tmp_path / "broken"))
    with duckdb.connect(str(folder / DATABASE)) as con:
        con.execute("insert into marts.panel_winners_v4 from marts.panel_winners_v4 limit 1")
        con.execute(
            "insert into marts.panel_winners_v4 (run_tag, debate_id, winner, count_pro, count_con, count_tie, "
            "count_valid_verdicts) values ('nobody', 'nothing', 'oak', 1, 1, 1, 9), (null, 'd', 'pro', 1, 0, 0, 1)"
        )
        con.execute("update ratings.elo set games = -1, wins = -1 where rating = (select max(rating) from ratings.elo)")
    done = dbt(folder, "test", "--select", "panel_winners", "source:ratings.elo")
    assert done.returncode == 1, done.stdout
    failed = {unique_id.split(".")[2] for unique_id, status in results(folder).items() if status == "fail"}
    for kind in (
        "unique_combination",
        "row_count",
        "expression_is_true",
        "relationships_of",
        "not_null",
        "accepted_values",
    ):
        assert any(name.startswith(f"{kind}") and "panel_winners" in name for name in failed), (kind, failed)
    assert any("elo" in name for name in failed), failed
    assert "error" not in results(folder).values()


def test_the_project_can_be_exported_again_over_its_build(theirs: Path, workspace: Workspace, tmp_path: Path):
    folder = Path(shutil.copytree(theirs, tmp_path / "again"))
    export(workspace, "dbt", folder, force=True)
    assert not (folder / "target").exists()
