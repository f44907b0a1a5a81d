"""Which run a command means that names none: the last that landed, whatever clocks and rebuilds do."""

from __future__ import annotations

import shutil
from datetime import datetime
from pathlib import Path

import duckdb
import pytest
from command_line import debatebench_here
from exported import land_runs
from imported import ORIGINAL, add_import
from judged_runs import judged_run
from report_warehouse import tournament
from sql_project import only_sql_models

from debatebench.query.run_tags import pick_run_tag
from debatebench.shared.errors import UsageError
from debatebench.shared.workspace import Workspace
from debatebench.warehouse.publish import publishing
from debatebench.warehouse.update import update_warehouse

pytestmark = pytest.mark.slow

NOON = datetime(2026, 1, 2, 12)
A_YEAR_LATER = datetime(2027, 1, 2, 12)


def land(workspace: Workspace, run_tag: str, when: datetime) -> None:
    add_import(workspace, run_tag, "debatebench", ORIGINAL)
    update_warehouse(workspace, [run_tag], now=lambda: when, build=False)


def last(workspace: Workspace) -> str:
    with duckdb.connect(str(workspace.database), read_only=True) as con:
        return pick_run_tag(con, None)


@pytest.fixture(scope="module")
def landed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """`zeta` landed while the clock was a year ahead, then `alpha`."""
    root = tmp_path_factory.mktemp("landed")
    land(Workspace(root), "zeta", A_YEAR_LATER)
    land(Workspace(root), "alpha", NOON)
    return root


@pytest.fixture
def workspace(landed: Path, tmp_path: Path) -> Workspace:
    """A copy, to be changed."""
    return Workspace(Path(shutil.copytree(landed, tmp_path / "copied")))


def test_the_clock_does_not_decide_which_run_is_the_last(workspace: Workspace) -> None:
    assert last(workspace) == "alpha"


@pytest.mark.parametrize("newest", ["alpha", "zeta"])
def test_a_rebuild_leaves_the_last_run_the_last(workspace: Workspace, newest: str) -> None:
    if newest == "zeta":
        with duckdb.connect(str(workspace.database)) as con:
            con.execute("update meta.landings set landing = 3 where run_tag = 'zeta'")
    update_warehouse(workspace, None, now=lambda: NOON, build=False, from_scratch=True)
    assert last(workspace) == newest


def test_a_deleted_warehouse_has_the_run_that_was_made_last_as_the_last_again(tmp_path: Path) -> None:
    workspace = Workspace(tmp_path)
    text = ORIGINAL.read_text()
    for year, run_tag in [("2024", "zeta"), ("2025", "alpha"), ("2023", "middle")]:
        made = tmp_path / f"{run_tag}.jsonl"
        made.write_text(text.replace("2026-", f"{year}-"))
        add_import(workspace, run_tag, "debatebench", made)
        update_warehouse(workspace, [run_tag], now=lambda: NOON, build=False)
    assert last(workspace) == "middle"
    workspace.database.unlink()
    update_warehouse(workspace, None, now=lambda: NOON, build=False)
    with duckdb.connect(str(workspace.database), read_only=True) as con:
        landed = con.execute("select run_tag, landing from meta.landings order by landing").fetchall()
    assert landed == [("middle", 1), ("zeta", 2), ("alpha", 3)]
    land(workspace, "later", NOON)
    assert last(workspace) == "later"


def test_a_warehouse_of_an_earlier_version_is_numbered_by_its_times(workspace: Workspace) -> None:
    with duckdb.connect(str(workspace.database)) as con:
        con.execute("alter table meta.landings drop column landing")
    assert last(workspace) == "zeta", "it has only times"
    land(workspace, "middle", NOON)
    with duckdb.connect(str(workspace.database), read_only=True) as con:
        numbered = con.execute("select run_tag, landing from meta.landings order by landing").fetchall()
    assert numbered == [("alpha", 1), ("zeta", 2), ("middle", 3)]


@only_sql_models("marts.leaderboard", "marts.runs")
def test_a_run_that_judges_stored_debates_is_meant_only_by_name(tmp_path: Path) -> None:
    workspace = Workspace(tmp_path)
    held = list(tournament("held", ("a", "b"), repetitions=1))
    land_runs(workspace, {"held": held, "again": judged_run("again", held)})
    assert last(workspace) == "held"
    done = debatebench_here(workspace.root, "show-leaderboard")
    assert done.err.splitlines()[0] == "Run 'held' landed last; `--run-tag` names another."
    named = debatebench_here(workspace.root, "show-leaderboard", "--run-tag", "held")
    assert named.out == done.out
    assert "landed last" not in named.err
    with publishing(workspace.database) as con:
        con.execute("delete from raw.runs where run_tag = 'held'; delete from meta.landings where run_tag = 'held'")
    with pytest.raises(UsageError, match=r"judges stored debates or is excluded; name one .* Known: again\."):
        last(workspace)
