"""A misspelt name is answered with those that are near, in every option and argument that takes a name."""

from __future__ import annotations

from pathlib import Path

import pytest
import typer
from command_line import debatebench_here
from two_runs import two_runs  # noqa: F401

from debatebench.cli.app import COMMANDS, make_app

pytestmark = pytest.mark.slow

# A run that judges can have new judges when it has begun; `retry` finds them by the same code.
UNTRIED = {("judge", "--new-judge"), ("probe-judges", "--new-judge")}
AS = ("--as", "again", "--dry-run")
# Command → words of a command line with one misspelt name → the name that is meant.
MISSPELT: dict[str, dict[tuple[str, ...], str]] = {
    "run": {
        ("--run-tag", "demmo", "--retry-failed"): "demo",
        ("--dry-run", "--judge", "sim-judge-ambre"): "sim-judge-amber",
        ("--dry-run", "--rubric", "debateflo"): "debateflow",
        ("--dry-run", "--topic", "t0001"): "t001",
        ("--dry-run", "--weakness", "weak_evidense"): "weak_evidence",
        ("--dry-run", "--debater", "sim-altas"): "sim-atlas",
        ("--dry-run", "--debater", "Sim-Atlas"): "sim-atlas",
        ("--dry-run", "--debate-format", "karl_poper"): "karl_popper",
        ("--dry-run", "--judge-method", "direkt"): "direct",
        ("--run-tag", "demo", "--dry-run", "--new-model", "sim-altas"): "sim-atlas",
        ("--run-tag", "demo", "--dry-run", "--new-judge", "sim-judge-ambre"): "sim-judge-amber",
    },
    "retry": {
        ("demmo",): "demo",
        ("demo", "--new-judge", "sim-judge-ambre"): "sim-judge-amber",
    },
    "judge": {
        ("demmo", *AS): "demo",
        ("demo", *AS, "--judge", "sim-judge-ambre"): "sim-judge-amber",
        ("demo", *AS, "--rubric", "debateflo"): "debateflow",
        ("demo", *AS, "--baseline", "allways_pro"): "always_pro",
    },
    "probe-judges": {
        ("demmo", *AS): "demo",
        ("demo", *AS, "--judge", "sim-judge-ambre"): "sim-judge-amber",
        ("demo", *AS, "--rubric", "debateflo"): "debateflow",
    },
    "annotate": {("--run-tag", "demmo", "--annotator", "a", "--no-browser"): "demo"},
    "show-leaderboard": {("--run-tag", "demmo"): "demo"},
    "inspect-debate": {("0", "--run-tag", "demmo"): "demo"},
    "report": {("--run-tag", "demmo"): "demo", ("--compare", "demmo", "second"): "demo", ("--front", "demmo"): "demo"},
    "view": {
        ("--run-tag", "demmo", "--no-browser"): "demo",
        ("--compare", "demmo", "second", "--no-browser"): "demo",
        ("--front", "demmo", "--no-browser"): "demo",
    },
    "plot": {("--run-tag", "demmo"): "demo", ("--select", "leaderbord"): "leaderboard"},
    "summarize": {("--run-tag", "demmo"): "demo"},
    "sample-debates": {("--run-tag", "demmo"): "demo"},
    "upload": {("--bucket", "b", "--with-journal", "demmo"): "demo"},
    "rate": {("--run-tag", "demmo"): "demo"},
    "export": {
        ("--format", "parquet", "--out-dir", "OUT", "--run-tag", "demmo"): "demo",
        ("--format", "parquett", "--out-dir", "OUT"): "parquet",
    },
    "compare": {("demmo", "second"): "demo", ("demo", "secnd"): "second"},
    "gate": {
        ("demo", "secnd", "--max-drop", "9"): "second",
        ("demo", "second", "--max-drop", "9", "--debater", "sim-altas"): "sim-atlas",
    },
    "import": {
        ("debatebnch", ".", "--run-tag", "i"): "debatebench",
        ("debateflow", ".", "--run-tag", "i", "--rubric", "debateflo"): "debateflow",
    },
    "build": {
        ("--from-journals", "--without", "demmo"): "demo",
        ("--select", "leaderbord"): "leaderboard",
    },
    "test": {("--select", "leaderbord"): "leaderboard"},
    "lineage": {("marts.leaderbord",): "marts.leaderboard", ("marts.leaderboard.win_rat",): "win_rate"},
    "diff-models": {
        ("panel_winers", "--from", "1", "--to", "2"): "panel_winners",
        ("panel_winners", "--from", "1", "--to", "2", "--run-tag", "demmo"): "demo",
    },
    "transpile": {
        ("--dialect", "sprak", "marts.runs"): "spark",
        ("--dialect", "spark", "marts.leaderbord"): "marts.leaderboard",
    },
    "land": {("--run-tag", "demmo"): "demo"},
    "doctor": {("--run-tag", "demmo"): "demo"},
}
LINES = [(command, words, meant) for command, lines in MISSPELT.items() for words, meant in lines.items()]


@pytest.mark.parametrize(("command", "words", "meant"), LINES)
def test_a_misspelt_name_is_answered_with_the_near_ones(
    two_runs: Path,  # noqa: F811
    tmp_path: Path,
    command: str,
    words: tuple[str, ...],
    meant: str,
) -> None:
    done = debatebench_here(two_runs, command, *(str(tmp_path / "out") if word == "OUT" else word for word in words))
    assert done.code == 2, done.err
    assert "Did you mean" in done.err
    assert f"'{meant}'" in done.err[done.err.index("Did you mean") :]


def test_every_option_that_completes_a_name_is_tried() -> None:
    app = typer.main.get_command(make_app(list(COMMANDS)))
    for command in COMMANDS:
        tried = {word for words in MISSPELT.get(command, {}) for word in words}
        for parameter in app.commands[command].params:  # type: ignore[attr-defined]
            is_name = parameter._custom_shell_complete is not None and parameter.param_type_name == "option"
            # Formats are the same in every workspace.
            is_name = is_name and parameter.opts != ["--format"]
            if is_name and (command, parameter.opts[0]) not in UNTRIED:
                assert tried & set(parameter.opts), f"{command} {parameter.opts}"
