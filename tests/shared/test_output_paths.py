"""Outputs never replace what a workspace keeps, whatever path leads there."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from pathlib import Path

import pytest
from command_line import Done, debatebench
from patience import LONGEST_WAIT_S

from debatebench.output.report.folder import MANIFEST
from debatebench.shared.errors import UsageError
from debatebench.shared.output_paths import check_output, check_output_folder
from debatebench.shared.workspace import Workspace

KEPT = {
    "journal": "warehouse/journal/r.jsonl",
    "import": "warehouse/imports/r/0001/d.jsonl",
    "plan": "warehouse/plans/r.json",
    "warehouse": "warehouse/debatebench.duckdb",
    "write-ahead log": "warehouse/debatebench.duckdb.wal",
    "configuration": "configs/config.yaml",
    "SQL model": "sql/marts/mine.sql",
    "page": "reports/pages/mine.yml",
}


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    root = tmp_path / "workspace"
    for path in KEPT.values():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text("kept")
    return Workspace(root)


def linked_folder(file: Path, elsewhere: Path) -> Path:
    elsewhere.symlink_to(file.parent, target_is_directory=True)
    return elsewhere / file.name


def linked_file(file: Path, elsewhere: Path) -> Path:
    elsewhere.symlink_to(file)
    return elsewhere


WAYS: dict[str, Callable[[Path, Path], Path]] = {
    "plainly": lambda file, elsewhere: file,
    "with dots": lambda file, elsewhere: file.parent / "x" / ".." / ".." / file.parent.name / file.name,
    "through a link to the folder": linked_folder,
    "through a link to the file": linked_file,
}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("kind", KEPT)
def test_nothing_that_is_kept_can_be_an_output(workspace: Workspace, tmp_path: Path, kind: str, way: str) -> None:
    path = WAYS[way](workspace.root / KEPT[kind], tmp_path / "elsewhere")
    with pytest.raises(UsageError, match="that is kept; choose another place"):
        check_output(workspace, path)


@pytest.mark.parametrize("kind", ["journal", "warehouse", "configuration"])
def test_other_workspaces_are_safe_too(workspace: Workspace, tmp_path: Path, kind: str) -> None:
    with pytest.raises(UsageError, match="that is kept"):
        check_output(Workspace(tmp_path / "own"), workspace.root / KEPT[kind])


@pytest.mark.parametrize("folder", [".", "warehouse", "warehouse/journal", "warehouse/imports/r", "configs", "sql"])
def test_a_folder_that_holds_what_is_kept_is_no_output_either(workspace: Workspace, folder: str) -> None:
    with pytest.raises(UsageError, match="that is kept"):
        check_output(workspace, workspace.root / folder)


@pytest.mark.parametrize(
    "path",
    [
        "rows.csv",
        "warehouse/summaries/r",
        "warehouse/ratings/r.json",
        "reports/site",
        "reports/docs",
        "../rows.parquet",
    ],
)
def test_everything_else_can_be_written(workspace: Workspace, path: str) -> None:
    check_output(workspace, workspace.root / path)


def test_a_folder_must_be_empty_or_what_the_command_wrote(workspace: Workspace, tmp_path: Path) -> None:
    folder = tmp_path / "public"
    check_output_folder(workspace, folder, marks=[MANIFEST])
    folder.mkdir()
    check_output_folder(workspace, folder, marks=[MANIFEST])
    (folder / "passwd").write_text("root")
    with pytest.raises(UsageError, match="files of other origin"):
        check_output_folder(workspace, folder, marks=[MANIFEST])
    (folder / MANIFEST).write_text("{}")
    check_output_folder(workspace, folder, marks=[MANIFEST])


def test_tables_join_only_tables_of_the_same_names(workspace: Workspace, tmp_path: Path) -> None:
    folder = tmp_path / "tables"
    folder.mkdir()
    (folder / "a.csv").write_text("")
    check_output_folder(workspace, folder, ("a.csv", "b.csv"))
    (folder / "notes.txt").write_text("")
    with pytest.raises(UsageError, match="files of other origin"):
        check_output_folder(workspace, folder, ("a.csv", "b.csv"))


@pytest.fixture(scope="module")
def played(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("played")
    assert debatebench(root, "run", "--run-tag", "a", "--sample-topics", "1", "--no-input").code == 0
    return root


JOURNAL = "warehouse/journal/a.jsonl"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("command", "target"),
    [
        (["rate", "--run-tag", "a", "--output"], JOURNAL),
        (["query", "select 1", "--output"], JOURNAL),
        (["query", "select 1", "--format", "parquet", "--output"], JOURNAL),
        (["summarize", "--run-tag", "a", "--out-dir"], "warehouse/journal"),
        (["report", "--out-dir"], "warehouse"),
        (["docs", "--out-dir"], "warehouse/journal"),
        (["export", "--format", "jsonl", "--out-dir"], "warehouse/plans"),
        (["export", "--format", "jsonl", "--force", "--out-dir"], "."),
    ],
)
def test_no_command_replaces_a_journal(played: Path, command: list[str], target: str) -> None:
    before = (played / JOURNAL).read_bytes()
    done = debatebench(played, *command, str(played / target))
    assert (done.code, done.out) == (2, "")
    assert "that is kept; choose another place." in done.err
    assert (played / JOURNAL).read_bytes() == before


@pytest.mark.slow
@pytest.mark.parametrize("command", [["report", "--out-dir"], ["docs", "--out-dir"], ["summarize", "--out-dir"]])
def test_a_folder_of_other_files_gets_none_of_ours(played: Path, tmp_path: Path, command: list[str]) -> None:
    (tmp_path / "hosts").write_text("127.0.0.1")
    done = debatebench(played, *command, str(tmp_path))
    assert done.code == 2
    assert "files of other origin" in done.err
    assert [entry.name for entry in tmp_path.iterdir()] == ["hosts"]


@pytest.mark.slow
def test_a_pipe_is_written_to_and_stays_a_pipe(played: Path, tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    found: list[str] = []
    reader = threading.Thread(target=lambda: found.append(pipe.read_text()))
    reader.start()
    assert debatebench(played, "query", "select 42 as x", "--format", "csv", "--output", str(pipe)).code == 0
    reader.join(LONGEST_WAIT_S)
    assert found == ["x\r\n42\r\n"] or found == ["x\n42\n"]
    assert pipe.is_fifo()


@pytest.mark.slow
def test_parquet_is_not_written_to_a_pipe(played: Path, tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    done: Done = debatebench(played, "query", "select 1", "--format", "parquet", "--output", str(pipe))
    assert (done.code, pipe.is_fifo()) == (2, True)
    assert "is a pipe or device; Parquet needs the name of a file" in done.err


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "command"),
    [
        ("reports/assets/secret.txt", ["report", "--out-dir"]),
        ("reports/templates/page.html", ["report", "--out-dir"]),
        ("reports/pages/mine.yml", ["report", "--out-dir"]),
        ("sql/marts/mine.sql", ["docs", "--out-dir"]),
        ("sql/marts/mine.yml", ["docs", "--out-dir"]),
    ],
)
def test_sources_that_lead_out_of_the_workspace_are_not_published(
    played: Path, tmp_path: Path, name: str, command: list[str]
) -> None:
    secret = tmp_path / "secret.txt"
    secret.write_text("key")
    link = played / name
    link.parent.mkdir(parents=True, exist_ok=True)
    link.symlink_to(secret)
    try:
        done = debatebench(played, *command, str(tmp_path / "site"))
    finally:
        link.unlink()
    assert done.code == 2
    assert "is a link that leads out of" in done.err
    assert "key" not in done.err
    assert not (tmp_path / "site").exists()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("command", "place"),
    [
        (["report"], "reports/site"),
        (["docs"], "reports/docs"),
        (["summarize", "--run-tag", "a"], "warehouse/summaries/a"),
    ],
)
def test_the_usual_folder_may_not_be_a_link_to_a_folder_of_other_files(
    played: Path, tmp_path: Path, command: list[str], place: str
) -> None:
    (tmp_path / "hosts").write_text("127.0.0.1")
    link = played / place
    link.parent.mkdir(parents=True, exist_ok=True)
    link.symlink_to(tmp_path, target_is_directory=True)
    try:
        done = debatebench(played, *command)
    finally:
        link.unlink()
    assert done.code == 2
    assert "files of other origin" in done.err
    assert [entry.name for entry in tmp_path.iterdir()] == ["hosts"]


def test_a_circle_of_links_is_refused_in_one_line(workspace: Workspace, tmp_path: Path) -> None:
    (tmp_path / "a").symlink_to(tmp_path / "b")
    (tmp_path / "b").symlink_to(tmp_path / "a")
    for path in (tmp_path / "a", tmp_path / "a" / "rows.csv"):
        with pytest.raises(UsageError, match="links lead nowhere"):
            check_output(workspace, path)
