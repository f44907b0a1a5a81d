"""The archive: a run is wholly in it or wholly out of it for every reader, whenever a process is killed."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from imported import ORIGINAL, add_import

from debatebench.journal.writing import Journal
from debatebench.landing.run_marks import marking, read_marks
from debatebench.shared.errors import BusyError, DamagedDataError, UsageError
from debatebench.shared.locks import take_lock
from debatebench.shared.workspace import Workspace
from debatebench.warehouse.archive import archive, archived_source, restore
from debatebench.warehouse.doctor import examine
from debatebench.warehouse.sources import check_before_run, sources

NOW = "2026-01-01T12:00:00"
HEADER = {"type": "header", "format": 2, "plan": {"run_tag": "june"}, "records": {}}
FORMS = {"type": "header", "format": 2, "purpose": "annotations", "run_tag": "june", "name": "ann"}


def write(path: Path, *events: dict[str, object]) -> None:
    with Journal.open(path) as journal:
        for event in events:
            journal.append(event)


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    """A workspace with a run `june` that people annotated and that was interrupted once, and a run `july`."""
    workspace = Workspace(tmp_path)
    write(workspace.journal / "june.jsonl", HEADER)
    write(workspace.journal / "june.annotations" / "ann.jsonl", FORMS)
    (workspace.journal / "june.jsonl.torn-9").write_bytes(b"9 torn")
    write(workspace.journal / "july.jsonl", {**HEADER, "plan": {"run_tag": "july"}})
    return workspace


def files(workspace: Workspace, run_tag: str = "june") -> dict[str, bytes]:
    """Path below `warehouse` → content, of all files of a run."""
    found = [path for path in workspace.warehouse.rglob("*") if path.is_file() and not path.name.startswith(".")]
    return {
        path.relative_to(workspace.warehouse).as_posix(): path.read_bytes()
        for path in found
        if run_tag in path.relative_to(workspace.warehouse).as_posix()
    }


def in_archive(kept: dict[str, bytes]) -> dict[str, bytes]:
    return {f"archive/{path}": content for path, content in kept.items()}


def findings(workspace: Workspace) -> set[str]:
    return {finding.finding for finding in examine(workspace) if finding.run_tag == "june"}


def test_an_archived_run_is_moved_whole_and_comes_back_as_it_was(workspace: Workspace):
    before = files(workspace)
    assert set(before) == {"journal/june.jsonl", "journal/june.annotations/ann.jsonl", "journal/june.jsonl.torn-9"}
    found = findings(workspace)
    assert archive(workspace, "june", NOW)
    assert files(workspace) == in_archive(before)
    assert list(sources(workspace)) == ["july"]
    assert archived_source(workspace, "june") == workspace.archive / "journal" / "june.jsonl"
    assert findings(workspace) == {"set_aside"}
    assert not archive(workspace, "june", NOW), "it is archived already"
    assert restore(workspace, "june", NOW)
    assert files(workspace) == before
    assert list(sources(workspace)) == ["july", "june"]
    assert findings(workspace) == found
    assert not restore(workspace, "june", NOW)
    assert read_marks(workspace).records() == []


def test_an_import_is_archived_with_its_manifest(tmp_path: Path):
    workspace = Workspace(tmp_path)
    add_import(workspace, "june", "debatebench", ORIGINAL)
    before = files(workspace)
    assert archive(workspace, "june", NOW)
    assert files(workspace) == in_archive(before)
    with pytest.raises(UsageError, match="'june' is archived: `debatebench runs restore june` brings it back"):
        add_import(workspace, "june", "debatebench", ORIGINAL)
    assert findings(workspace) == set()
    (workspace.archive / "imports" / "june" / "0001" / "more").write_text("?")
    assert findings(workspace) == {"changed_import"}
    (workspace.archive / "imports" / "june" / "0001" / "more").unlink()
    assert restore(workspace, "june", NOW)
    assert files(workspace) == before


def test_nothing_is_added_to_an_archived_run(workspace: Workspace):
    archive(workspace, "june", NOW)
    with pytest.raises(UsageError, match="'june' is archived"):
        check_before_run(workspace, "june")
    # A process that looked before, and opens the journal after the move.
    with pytest.raises(UsageError, match="archived just now"):
        Journal.open(workspace.journal / "june.jsonl")
    assert not (workspace.journal / "june.jsonl").exists()


def test_a_run_that_is_being_played_imported_or_annotated_is_left_alone(workspace: Workspace):
    before = files(workspace)
    with Journal.open(workspace.journal / "june.jsonl"), pytest.raises(BusyError, match="is playing run 'june'"):
        archive(workspace, "june", NOW)
    held = take_lock(workspace.imports / "june")
    with pytest.raises(BusyError, match="is importing into 'june'"):
        archive(workspace, "june", NOW)
    os.close(held)
    assert files(workspace) == before
    assert not read_marks(workspace).of("june").archived
    archive(workspace, "june", NOW)
    held = take_lock(workspace.journal / "june.jsonl")
    with pytest.raises(BusyError, match="is playing run 'june'"):
        restore(workspace, "june", NOW)
    os.close(held)
    assert files(workspace) == in_archive(before)


def test_a_run_is_not_restored_onto_another_one_of_its_tag(workspace: Workspace):
    archive(workspace, "june", NOW)
    shutil.copy(workspace.journal / "july.jsonl", workspace.journal / "june.jsonl")
    here, there = workspace.journal / "june.jsonl", workspace.archive / "journal" / "june.jsonl"
    before = files(workspace)
    for command in (archive, restore):
        with pytest.raises(UsageError) as refused:
            command(workspace, "june", NOW)
        assert str(refused.value) == f"{here} and {there} are runs with the same tag; move one of them elsewhere."
    assert files(workspace) == before
    assert "unfinished_archive" in findings(workspace)


def test_annotations_saved_after_the_move_join_the_others(workspace: Workspace):
    archive(workspace, "june", NOW)
    write(workspace.journal / "june.annotations" / "bea.jsonl", {**FORMS, "name": "bea"})
    assert "unfinished_archive" in findings(workspace)
    assert archive(workspace, "june", NOW)
    assert not (workspace.journal / "june.annotations").exists()
    assert sorted(files(workspace)) == [
        "archive/journal/june.annotations/ann.jsonl",
        "archive/journal/june.annotations/bea.jsonl",
        "archive/journal/june.jsonl",
        "archive/journal/june.jsonl.torn-9",
    ]
    write(workspace.journal / "june.annotations" / "ann.jsonl", FORMS)
    with pytest.raises(UsageError, match="both exist; move one of them elsewhere"):
        restore(workspace, "june", NOW)


def test_a_run_that_judges_an_archived_one_is_not_restored_before_it(workspace: Workspace):
    plan = {"run_tag": "again", "source": {"run_tag": "june"}}
    write(workspace.journal / "again.jsonl", {**HEADER, "plan": plan})
    with pytest.raises(UsageError, match="Run 'again' judges the debates of 'june': archive 'again' first"):
        archive(workspace, "june", NOW, judged_by="again")
    archive(workspace, "again", NOW)
    archive(workspace, "june", NOW)
    with pytest.raises(UsageError, match="'again' judges the debates of 'june', which is archived: restore that first"):
        restore(workspace, "again", NOW)
    assert restore(workspace, "june", NOW)
    assert restore(workspace, "again", NOW)


def test_doctor_finds_damage_loss_and_lost_marks_in_the_archive(workspace: Workspace):
    archive(workspace, "june", NOW)
    journal = workspace.archive / "journal" / "june.jsonl"
    whole = journal.read_bytes()
    journal.write_bytes(whole.replace(b"june", b"jung"))
    assert "damaged_line" in findings(workspace)
    journal.unlink()
    assert "lost_source" in findings(workspace)
    shutil.rmtree(workspace.archive)
    for command in (archive, restore):
        with pytest.raises(DamagedDataError, match="Run 'june' has no journal and no import"):
            command(workspace, "june", NOW)
    journal.parent.mkdir(parents=True)
    journal.write_bytes(whole)
    shutil.rmtree(workspace.journal / "_runs")
    assert "unfinished_archive" in findings(workspace)
    assert restore(workspace, "june", NOW), "it is enough that the file is there"
    assert (workspace.journal / "june.jsonl").read_bytes() == whole


KILLED = """
import os, signal, sys
from pathlib import Path
from debatebench.shared.workspace import Workspace
from debatebench.warehouse import archive

count = int(sys.argv[3])
def counted(name):
    real = getattr(os, name)
    def call(*arguments, **named):
        global count
        count -= 1
        if not count:
            os.kill(os.getpid(), signal.SIGKILL)
        return real(*arguments, **named)
    setattr(os, name, call)
for name in ("rename", "fsync", "fdatasync", "write"):
    counted(name)
getattr(archive, sys.argv[2])(Workspace(Path(sys.argv[1])), "june", "2026-01-01T12:00:00")
"""


@pytest.mark.slow
@pytest.mark.parametrize("command", ["archive", "restore"])
def test_a_process_that_is_killed_at_any_step_leaves_all_files_and_the_same_command_goes_on(
    workspace: Workspace, command: str, tmp_path: Path
):
    before = files(workspace)
    archived, opposite = in_archive(before), {"archive": restore, "restore": archive}[command]
    if command == "restore":
        archive(workspace, "june", NOW)
    start = Path(shutil.copytree(workspace.root, tmp_path.parent / f"{tmp_path.name}-start"))
    steps, partly_moved = 0, 0
    while True:
        steps += 1
        shutil.rmtree(workspace.warehouse)
        shutil.copytree(start / "warehouse", workspace.warehouse)
        done = subprocess.run([sys.executable, "-c", KILLED, str(workspace.root), command, str(steps)])
        if done.returncode == 0:
            break
        assert done.returncode == -signal.SIGKILL
        found = files(workspace)
        assert sorted(found.values()) == sorted(before.values()), "nothing is lost, nothing is twice"
        is_archived = read_marks(workspace).of("june").archived
        assert is_archived or found == before, "where a file is missing here, the run is archived"
        assert ("june" in sources(workspace)) == (not is_archived)
        is_moving = is_archived and found != archived
        partly_moved += is_moving
        assert ("unfinished_archive" in findings(workspace)) == is_moving
        assert not any(finding.is_damage for finding in examine(workspace))
        middle = Path(shutil.copytree(workspace.warehouse, tmp_path.parent / f"{tmp_path.name}-{steps}"))
        {"archive": archive, "restore": restore}[command](workspace, "june", NOW)
        assert files(workspace) == (archived if command == "archive" else before)
        shutil.rmtree(workspace.warehouse)
        shutil.move(middle, workspace.warehouse)
        opposite(workspace, "june", NOW)
        assert files(workspace) == (before if command == "archive" else archived)
        assert read_marks(workspace).of("june").archived == (command == "restore")
    assert steps > 8
    assert partly_moved > 2


def test_the_place_among_landings_is_kept_with_the_mark(workspace: Workspace):
    archive(workspace, "june", NOW, landed_later=["july"])
    restore(workspace, "june", NOW)
    assert read_marks(workspace).landed_later == {"june": ["july"]}
    with marking(workspace) as journal:
        assert not journal.set("june", "archived", False, NOW)
