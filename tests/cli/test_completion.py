"""Completion in a shell, by the protocol that shells speak: words in the environment, candidates on standard output."""

from __future__ import annotations

from pathlib import Path

import pytest
from command_line import debatebench, debatebench_from_the_start

CONFIGS = {
    "models.yaml": "models: [{id: atlas, provider: simulated, model: m}, {id: breeze, provider: simulated, model: m}]",
    "judges.yaml": "judges: [{id: ash, provider: simulated, model: m}]",
    "topics.json": '[{"id": "t1", "motion": "Towns should plant trees."}]',
}


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    for name, text in CONFIGS.items():
        path = tmp_path / "configs" / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
    (tmp_path / "warehouse" / "journal").mkdir(parents=True)
    (tmp_path / "warehouse" / "journal" / "june.jsonl").write_text("")
    (tmp_path / "warehouse" / "journal" / "june.jsonl.torn-1").write_text("")
    (tmp_path / "warehouse" / "imports" / "paper").mkdir(parents=True)
    (tmp_path / "warehouse" / "imports" / ".half").mkdir()
    return tmp_path


def completed(root: Path, *words: str, shell: str = "bash") -> set[str]:
    """The candidates for the last word. Nothing else may be printed."""
    line = ["debatebench", "--root", str(root), *words]
    environ = {"_DEBATEBENCH_COMPLETE": f"complete_{shell}"}
    if shell == "bash":
        environ |= {"COMP_WORDS": " ".join(line), "COMP_CWORD": str(len(line) - 1)}
    else:
        environ |= {"_TYPER_COMPLETE_ARGS": " ".join(line), "_TYPER_COMPLETE_FISH_ACTION": "get-args"}
    # One shell is answered by a new Python, as all are, and the others by one that has loaded debatebench already.
    call = debatebench if shell == "bash" else debatebench_from_the_start
    done = call(root, environ=environ)
    assert done.err == ""
    return {word.split("\t")[0] for word in done.out.split("\n") if word}


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["ru"], {"run", "runs"}),
        (["run", "--run-t"], {"--run-tag"}),
        (["run", "--run-tag", ""], {"june", "paper"}),
        (["run", "--debater", "a"], {"atlas"}),
        (["run", "--debater", "atlas", "--debater", ""], {"atlas", "breeze"}),
        (["run", "--judge", ""], {"ash"}),
        (["run", "--topic", ""], {"t1"}),
        (["run-tournament", "--new-model", "b"], {"breeze"}),
        (["retry", "j"], {"june"}),
        (["doctor", "--run-tag", "p"], {"paper"}),
        (["build", "--without", ""], {"june", "paper"}),
        (["leaderboard", "--run-tag", "x"], set()),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_a_shell_gets_commands_options_and_names_of_the_workspace(
    workspace: Path, words: list[str], expected: set[str]
):
    assert completed(workspace, *words) == expected


def test_a_shell_other_than_bash_gets_the_same(workspace: Path):
    assert completed(workspace, "run", "--debater", "a", shell="fish") == {"atlas"}


def test_completion_reads_the_file_that_the_command_line_names(workspace: Path):
    other = workspace / "other.yaml"
    other.write_text("models: [{id: zephyr, provider: simulated, model: m}]")
    assert completed(workspace, "run", "--models-path", str(other), "--debater", "") == {"zephyr"}


@pytest.mark.parametrize("damage", ["models: [", "models: 5", "\x00"])
def test_a_workspace_that_cannot_be_read_completes_nothing_and_says_nothing(workspace: Path, damage: str):
    (workspace / "configs" / "models.yaml").write_text(damage)
    assert completed(workspace, "run", "--debater", "") == set()
    assert completed(workspace / "nowhere", "run", "--run-tag", "") == set()


def test_the_script_for_a_shell_is_shown(tmp_path: Path):
    environ = {"_TYPER_COMPLETE_TEST_DISABLE_SHELL_DETECTION": "1"}
    done = debatebench(tmp_path, "--show-completion", "bash", environ=environ)
    assert done.code == 0
    assert "_DEBATEBENCH_COMPLETE=complete_bash" in done.out
    assert "complete -o default -F _debatebench_completion debatebench" in done.out
