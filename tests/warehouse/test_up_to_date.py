"""What a build takes for granted: a note that this very warehouse file is what these inputs give."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import duckdb
import pytest
from command_line import debatebench, debatebench_here

from debatebench.query.sql_project import load_project
from debatebench.shared.workspace import Workspace
from debatebench.warehouse.up_to_date import build_is_current, note_current

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def built(played: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A workspace that was built by this very process, which left a note. Tests only read it."""
    root = Path(shutil.copytree(played, tmp_path_factory.mktemp("noted") / "workspace"))
    assert debatebench_here(root, "build", "--full-refresh").code == 0
    assert note_of(Workspace(root)).exists()
    assert build_is_current(Workspace(root))
    return root


@pytest.fixture
def noted(built: Path, tmp_path: Path) -> Workspace:
    """A copy with the note that this build would have left beside it: a note names the very file."""
    workspace = Workspace(Path(shutil.copytree(built, tmp_path / "copied")))
    note_of(workspace).unlink()
    note_current(workspace.database, load_project(workspace.files("sql", "**/*")), workspace.database.stat().st_ino)
    assert note_of(workspace).exists()
    return workspace


def note_of(workspace: Workspace) -> Path:
    return workspace.warehouse / ".debatebench.duckdb.current"


def unopened(monkeypatch: pytest.MonkeyPatch) -> None:
    """From now on the warehouse cannot be opened by DuckDB."""

    def refuse(*_: object, **__: object) -> None:
        raise AssertionError("DuckDB was asked")

    monkeypatch.setattr(duckdb, "connect", refuse)


def test_what_is_noted_is_current_without_asking_duckdb(noted: Workspace, monkeypatch: pytest.MonkeyPatch):
    unopened(monkeypatch)
    assert build_is_current(noted)


def test_a_changed_sql_model_is_noticed(noted: Workspace):
    noted.sql.joinpath("marts").mkdir(parents=True)
    noted.sql.joinpath("marts", "one.sql").write_text("select 1 as one\n")
    assert not build_is_current(noted)


def test_a_warehouse_that_was_changed_in_its_place_is_looked_at(noted: Workspace):
    with duckdb.connect(noted.database) as con:
        con.execute("delete from meta.build_state")
    assert not build_is_current(noted)


def test_another_warehouse_in_the_same_place_is_looked_at(noted: Workspace):
    other = noted.warehouse / "other.duckdb"
    with duckdb.connect(other) as con:
        con.execute("create table unrelated as select 1 as one")
    os.replace(other, noted.database)
    assert not build_is_current(noted)


@pytest.mark.parametrize("note", [b"", b"\xff\xff", b"1 2 3 of another version"])
def test_a_note_that_says_something_else_is_made_anew(noted: Workspace, note: bytes, monkeypatch: pytest.MonkeyPatch):
    before = note_of(noted).read_bytes()
    note_of(noted).write_bytes(note)
    assert build_is_current(noted)
    assert note_of(noted).read_bytes() == before
    unopened(monkeypatch)
    assert build_is_current(noted)


def test_a_warehouse_that_another_process_published_since_is_not_noted(noted: Workspace):
    note_of(noted).unlink()
    project = load_project(noted.files("sql", "**/*"))
    inode = noted.database.stat().st_ino
    note_current(noted.database, project, inode + 1)
    assert not note_of(noted).exists()
    note_current(noted.database, project, inode)
    assert note_of(noted).exists()


def test_a_note_that_cannot_be_written_is_no_error(noted: Workspace):
    note_of(noted).unlink()
    note_of(noted).mkdir()
    assert build_is_current(noted)
    assert debatebench_here(noted.root, "build").out.startswith("Nothing has changed")


def test_a_build_of_some_sql_models_notes_nothing(noted: Workspace):
    assert debatebench(noted.root, "run", "--run-tag", "later", "--sample-topics", "1", "--no-build").code == 0
    before = note_of(noted).read_bytes()
    assert debatebench_here(noted.root, "build", "--select", "marts.panel_winners_v4").code == 0
    assert note_of(noted).read_bytes() == before
    assert not build_is_current(noted)


# --- what every reader asks -------------------------------------------------------------------------------------------

READERS = (
    ("compare", "alpha", "alpha"),
    ("report",),
    ("summarize",),
    ("show-leaderboard",),
    ("query", "select 1"),
)


@pytest.mark.parametrize("command", READERS, ids=lambda command: command[0])
def test_a_reader_says_that_the_warehouse_is_older_than_its_sql_models(noted: Workspace, command: tuple[str, ...]):
    noted.sql.joinpath("marts").mkdir(parents=True)
    noted.sql.joinpath("marts", "marts.yml").write_text("models: []\n")
    done = debatebench(noted.root, *command)
    assert "was built from other SQL models or data; this is the last build." in done.err


@pytest.mark.parametrize("command", READERS[:-1], ids=lambda command: command[0])
def test_a_reader_refuses_a_warehouse_that_lacks_packaged_sql_models(noted: Workspace, command: tuple[str, ...]):
    with duckdb.connect(str(noted.database)) as con:
        con.execute("drop view intermediate.int_comparison_topics; drop table if exists meta.build_state")
    done = debatebench(noted.root, *command)
    assert done.code == 2
    assert "lacks SQL models of this version; run `debatebench build` first." in done.err


def test_a_reader_refuses_a_warehouse_that_lacks_a_packaged_macro(noted: Workspace):
    with duckdb.connect(str(noted.database)) as con:
        con.execute("delete from meta.macros where name = 'macros.wilson_low'; drop table if exists meta.build_state")
    done = debatebench(noted.root, "report")
    assert done.code == 2
    assert "lacks SQL models of this version; run `debatebench build` first." in done.err


def test_a_sql_model_of_the_workspace_that_is_not_built_does_not_keep_the_others_from_being_read(noted: Workspace):
    noted.sql.joinpath("marts").mkdir(parents=True)
    noted.sql.joinpath("marts", "one.sql").write_text("select no_such_column from marts.debates\n")
    done = debatebench(noted.root, "show-leaderboard")
    assert done.code == 0
    assert "was built from other SQL models or data; this is the last build." in done.err


def test_a_gate_does_not_pass_on_the_numbers_of_an_older_build(noted: Workspace):
    noted.sql.joinpath("marts").mkdir(parents=True)
    noted.sql.joinpath("marts", "marts.yml").write_text("models: []\n")
    done = debatebench(noted.root, "gate", "alpha", "alpha")
    assert done.code == 2
    assert "was built from other SQL models or data; run `debatebench build` first." in done.err
