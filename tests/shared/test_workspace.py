"""A workspace overlays the packaged files, file by file, and `init` never destroys anything."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from paths import REPOSITORY

from debatebench.config.load import load_config, load_topics
from debatebench.shared.errors import ConfigError, DebatebenchError, UsageError
from debatebench.shared.workspace import Workspace, check_run_tag, init_workspace, packaged

CONFIGS = [
    "config.yaml",
    "topics.json",
    "models.yaml",
    "judges.yaml",
    "prompts/debater_pro.md",
    "prompts/judge_user.md",
]


def write(path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("select 1", encoding="utf-8")


def test_an_empty_folder_uses_the_packaged_files(tmp_path: Path) -> None:
    workspace = Workspace(tmp_path)
    assert workspace.config_file("topics.json") == packaged("configs") / "topics.json"
    assert workspace.layers("configs") == [packaged("configs")]
    assert len(load_topics(workspace.config_file("topics.json"))) >= 24


def test_a_file_of_the_workspace_wins_over_the_packaged_one_and_the_others_stay(tmp_path: Path) -> None:
    own = tmp_path / "configs" / "prompts" / "judge_default.md"
    own.parent.mkdir(parents=True)
    own.write_text("mine")
    (own.parent / "judge_mine.md").write_text("mine too")
    workspace = Workspace(tmp_path)
    files = workspace.files("configs", "prompts/*.md")
    assert files["prompts/judge_default.md"] == own
    assert files["prompts/judge_mine.md"] == own.parent / "judge_mine.md"
    assert files["prompts/judge_user.md"] == packaged("configs") / "prompts" / "judge_user.md"
    assert list(files) == sorted(files)
    assert workspace.config_file("config.yaml") == packaged("configs") / "config.yaml"


def test_patterns_reach_into_folders_and_name_files_only(tmp_path: Path) -> None:
    for name in ("marts/a.sql", "marts/a.yml", "marts/deep/b.sql"):
        write(tmp_path / "sql" / name)
    (tmp_path / "sql" / "folder.sql").mkdir()
    own = {n: p for n, p in Workspace(tmp_path).files("sql", "**/*.sql").items() if p.is_relative_to(tmp_path)}
    assert list(own) == ["marts/a.sql", "marts/deep/b.sql"]


def test_an_own_sql_file_replaces_the_packaged_one_of_its_schema_and_name_in_any_subfolder(tmp_path: Path) -> None:
    base = tmp_path / "packaged"
    ours = tmp_path / "ours"
    for path in ("marts/judges/bias.sql", "marts/judges/bias.yml", "marts/runs.sql", "ratings/bias.sql", "notes.md"):
        write(base / path)
    for path in ("marts/bias.sql", "marts/mine/bias.yml", "marts/deep/runs.sql", "marts/deep/more.sql"):
        write(ours / "sql" / path)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("debatebench.shared.workspace.packaged", lambda kind: base)
        files = Workspace(ours).files("sql", "**/*")
    assert files == {
        "marts/bias.sql": ours / "sql/marts/bias.sql",
        "marts/deep/more.sql": ours / "sql/marts/deep/more.sql",
        "marts/deep/runs.sql": ours / "sql/marts/deep/runs.sql",
        "marts/mine/bias.yml": ours / "sql/marts/mine/bias.yml",
        "notes.md": base / "notes.md",
        "ratings/bias.sql": base / "ratings/bias.sql",
    }
    # A workspace's files come last, because a macro in them replaces one of the same name.
    assert list(files) == sorted(files, key=lambda name: (files[name].is_relative_to(ours), name))


def test_two_own_sql_files_of_one_name_both_stay_for_the_error_to_name_them(tmp_path: Path) -> None:
    for folder in ("one", "two"):
        write(tmp_path / "sql/marts" / folder / "leaderboard.sql")
    files = Workspace(tmp_path).files("sql", "**/leaderboard.sql")
    assert list(files) == ["marts/one/leaderboard.sql", "marts/two/leaderboard.sql"]


def test_the_checkout_itself_is_one_layer() -> None:
    assert Workspace(REPOSITORY).layers("configs") == [packaged("configs")]


def test_a_link_to_the_packaged_folder_is_one_layer(tmp_path: Path) -> None:
    (tmp_path / "configs").symlink_to(packaged("configs"))
    assert Workspace(tmp_path).layers("configs") == [packaged("configs")]


def test_the_rendered_site_is_no_source_of_reports(tmp_path: Path) -> None:
    for name in ("site/index.html", "site.html"):
        path = tmp_path / "reports" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("x")
    own = [n for n, p in Workspace(tmp_path).files("reports", "**/*").items() if p.is_relative_to(tmp_path)]
    assert own == ["site.html"]


def test_the_folders_are_where_the_documentation_says(tmp_path: Path) -> None:
    workspace = Workspace(tmp_path)
    assert workspace.database == tmp_path / "warehouse" / "debatebench.duckdb"
    assert [
        path.relative_to(tmp_path).as_posix()
        for path in (workspace.journal, workspace.imports, workspace.plans, workspace.progress, workspace.reports)
    ] == ["warehouse/journal", "warehouse/imports", "warehouse/plans", "warehouse/progress", "reports"]


def test_init_writes_a_configuration_that_loads_and_the_folders(tmp_path: Path) -> None:
    root = tmp_path / "new"
    done = init_workspace(root, force=False)
    assert done.kept == []
    for name in CONFIGS:
        assert root / "configs" / name in done.written
    assert sorted(path.name for path in root.iterdir()) == ["configs", "reports", "sql", "warehouse"]
    assert load_config(Workspace(root).config_file("config.yaml")).rounds
    assert Workspace(root).config_file("config.yaml") == root / "configs" / "config.yaml"
    assert not [path for path in root.rglob("*") if path.name.startswith(".")]
    assert all(path.stat().st_mode & 0o777 == 0o644 for path in done.written)


def test_an_installed_package_brings_its_configuration_inside_itself(tmp_path: Path) -> None:
    """The layout of a wheel: `packaged/` within the package, and nothing beside it."""
    package = tmp_path / "site" / "debatebench"
    shutil.copytree(REPOSITORY / "debatebench", package, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copytree(REPOSITORY / "configs", package / "packaged" / "configs")
    program = (
        "from pathlib import Path; from debatebench.shared.workspace import init_workspace; "
        "print(len(init_workspace(Path('new'), False).written))"
    )
    environ = {**os.environ, "PYTHONPATH": str(package.parent)}
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=tmp_path, env=environ, capture_output=True, text=True, check=True
    )
    assert int(done.stdout) >= len(CONFIGS)
    assert (tmp_path / "new" / "configs" / "prompts" / "judge_declared.md").is_file()


def test_a_broken_link_is_not_passed_over_for_the_packaged_file(tmp_path: Path) -> None:
    (tmp_path / "configs").mkdir()
    (tmp_path / "configs" / "config.yaml").symlink_to(tmp_path / "nowhere.yaml")
    with pytest.raises(UsageError, match="is a link that leads out of"):
        Workspace(tmp_path).config_file("config.yaml")
    (tmp_path / "configs" / "models.yaml").symlink_to(tmp_path / "configs" / "nowhere.yaml")
    with pytest.raises(ConfigError, match="There is no file"):
        load_config(Workspace(tmp_path).config_file("models.yaml"))


def test_init_keeps_what_is_there_and_says_so(tmp_path: Path) -> None:
    init_workspace(tmp_path, force=False)
    config = tmp_path / "configs" / "config.yaml"
    config.write_text("mine")
    (tmp_path / "configs" / "judges.yaml").unlink()
    done = init_workspace(tmp_path, force=False)
    assert done.written == [tmp_path / "configs" / "judges.yaml"]
    assert config in done.kept
    assert config.read_text() == "mine"


def test_init_with_force_restores_the_configuration_but_leaves_notes_and_own_files(tmp_path: Path) -> None:
    init_workspace(tmp_path, force=False)
    config, note, own = (
        tmp_path / "configs" / "config.yaml",
        tmp_path / "warehouse" / "README.md",
        tmp_path / "configs" / "prompts" / "judge_mine.md",
    )
    for path in (config, note, own):
        path.write_text("mine")
    done = init_workspace(tmp_path, force=True)
    assert config in done.written
    assert config.read_bytes() == (packaged("configs") / "config.yaml").read_bytes()
    assert note in done.kept
    assert (note.read_text(), own.read_text()) == ("mine", "mine")


def test_init_with_force_replaces_a_link_and_leaves_what_it_points_to(tmp_path: Path) -> None:
    outside = tmp_path / "outside.yaml"
    outside.write_text("precious")
    root = tmp_path / "root"
    (root / "configs").mkdir(parents=True)
    (root / "configs" / "config.yaml").symlink_to(outside)
    assert root / "configs" / "config.yaml" in init_workspace(root, force=False).kept
    init_workspace(root, force=True)
    assert outside.read_text() == "precious"
    assert not (root / "configs" / "config.yaml").is_symlink()


def test_init_over_the_packaged_folder_itself_changes_nothing(tmp_path: Path) -> None:
    (tmp_path / "configs").symlink_to(packaged("configs"))
    before = {path: path.stat().st_mtime_ns for path in packaged("configs").rglob("*")}
    done = init_workspace(tmp_path, force=True)
    assert not [path for path in done.written if path.is_relative_to(tmp_path / "configs")]
    assert {path: path.stat().st_mtime_ns for path in packaged("configs").rglob("*")} == before


def test_init_into_a_file_is_refused_in_one_sentence(tmp_path: Path) -> None:
    root = tmp_path / "file"
    root.write_text("x")
    with pytest.raises(DebatebenchError, match="cannot be written: ") as caught:
        init_workspace(root, force=False)
    assert "\n" not in str(caught.value)
    assert root.read_text() == "x"


@pytest.mark.parametrize("tag", ["a", "run-1", "v0.1_B", "7", "x" * 100])
def test_a_plain_word_is_a_run_tag(tag: str) -> None:
    assert check_run_tag(tag) == tag


@pytest.mark.parametrize("tag", ["", ".hidden", "-x", "a/b", "../a", "a b", "a\n", "é", "x" * 101, "a\x00"])
def test_what_could_not_name_a_file_is_no_run_tag(tag: str) -> None:
    with pytest.raises(UsageError, match="cannot be a run tag") as caught:
        check_run_tag(tag)
    assert "\n" not in str(caught.value)
