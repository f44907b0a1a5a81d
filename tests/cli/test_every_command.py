"""What every command does with a warehouse that does not fit its SQL models: it was built from others, or it is older.

A new command fails here until it has its place in the table.
"""

from __future__ import annotations

import shutil
from pathlib import Path

import duckdb
import pytest
from command_line import Done, debatebench_here
from every_command import RULES, WAY_OUT, done_by
from two_runs import two_runs  # noqa: F401

from debatebench.cli.app import make_app
from debatebench.journal.reading import read_journal
from debatebench.shared.workspace import Workspace
from debatebench.warehouse.up_to_date import build_is_current

SAYS = "was built from other SQL models or data"


def test_every_command_has_its_place_in_the_table():
    assert [command.name for command in make_app(()).registered_commands] == list(RULES)


@pytest.fixture
def copied(two_runs: Path, tmp_path: Path) -> Path:  # noqa: F811
    """A copy of a workspace with two finished runs, to be changed."""
    return Path(shutil.copytree(two_runs, tmp_path / "copied"))


@pytest.fixture
def other(copied: Path) -> Path:
    """A workspace whose SQL models have changed since the build."""
    folder = copied / "sql" / "marts"
    folder.mkdir(parents=True)
    (folder / "marts.yml").write_text("models: []\n")
    return copied


@pytest.fixture
def older(copied: Path) -> Path:
    """A workspace whose warehouse an older version has built, with fewer landed columns and SQL models."""
    with duckdb.connect(str(Workspace(copied).database)) as con:
        con.execute("drop view intermediate.int_comparison_topics; drop table meta.build_state")
        con.execute("alter table raw.runs drop column source_run_tag")
    return copied


def done_in(root: Path, command: str) -> Done:
    header = next(read_journal(Workspace(root).journal / "demo.jsonl"))
    debate = header.data["records"]["schedule"][0]["debate_id"]
    run = ("--run-tag", "third", "--sample-topics", "1")
    return done_by(command, root, {"FIRST": ("demo",), "SECOND": ("second",), "DEBATE": (debate,), "RUN": run})


@pytest.mark.slow_inputs
@pytest.mark.slow
@pytest.mark.parametrize("command", RULES)
def test_a_warehouse_of_other_sql_models(command: str, other: Path):
    done = done_in(other, command)
    kind = RULES[command].kind
    assert "Traceback" not in done.err
    if kind == "refuses":
        assert (done.code, SAYS in done.error_line, WAY_OUT in done.error_line) == (2, True, True)
        return
    assert done.code == 0, done.err
    assert (SAYS in done.out + done.err) == (kind in ("warns", "shows"))
    if kind == "brings_up_to_date":
        assert build_is_current(Workspace(other))


@pytest.mark.slow_inputs
@pytest.mark.slow
@pytest.mark.parametrize("command", RULES)
def test_a_warehouse_of_an_older_version(command: str, older: Path):
    done = done_in(older, command)
    kind = RULES[command].kind
    assert "Traceback" not in done.err
    if kind in ("refuses", "warns", "reads_landed"):
        assert (done.code in (1, 2), WAY_OUT in done.error_line) == (True, True)
        assert debatebench_here(older, "build").code == 0
        done = done_in(older, command)
        assert SAYS not in done.out + done.err
    assert done.code == 0, done.err
    assert (SAYS in done.out + done.err) == (kind == "shows")
    if kind == "brings_up_to_date":
        assert build_is_current(Workspace(older))
