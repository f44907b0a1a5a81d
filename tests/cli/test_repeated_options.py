"""An option that is given twice means both values, or is an error, as is `nan`: no command forgets one in silence."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
import typer
from command_line import debatebench_here
from site_pages import only_pages
from two_runs import two_runs

from debatebench.cli.app import COMMANDS, FORMER_OPTIONS, make_app

__all__ = ["two_runs"]

# These commands need one run: they change or continue it, or find a debate in it.
OF_ONE_RUN = {"run", "annotate", "import", "inspect-debate"}


def commands() -> dict[str, Any]:
    """Every command by the words that call it; those before a command have an empty name."""
    app: Any = typer.main.get_command(make_app(list(COMMANDS)))
    found = {"": app, **app.commands}
    for name, command in app.commands.items():
        found |= {f"{name} {inner}": each for inner, each in getattr(command, "commands", {}).items()}
    return found


def options() -> list[tuple[str, Any]]:
    """Every option of every command."""
    return [
        (name, option)
        for name, command in commands().items()
        for option in command.params
        if option.param_type_name == "option" and not option.is_eager
    ]


OPTIONS = options()
ONCE = [(name, option) for name, option in OPTIONS if not option.multiple and not option.is_flag]
NUMBERS = [(name, option) for name, option in ONCE if "float" in getattr(option.type, "name", "")]
OPPOSITES = [(name, option) for name, option in OPTIONS if option.secondary_opts]


def names(found: list[tuple[str, Any]]) -> list[str]:
    return [f"{name} {option.opts[0]}".strip() for name, option in found]


def test_every_command_has_options_here():
    assert set(commands()) >= {*COMMANDS, "runs show", "runs archive"}
    without = {name for name in commands() if name not in dict(OPTIONS)}
    assert {name for name in without if not name.startswith("runs ")} == {"mcp"}
    assert len(ONCE) > 80
    assert len(NUMBERS) > 8


@pytest.mark.parametrize(("command", "option"), ONCE, ids=names(ONCE))
def test_an_option_with_one_value_cannot_be_given_twice(command: str, option: Any):
    word = option.opts[0]
    given = [word, "one", *([f"{word}=two"] if command else [])]  # the workspace of the test is the other
    done = debatebench_here(Path(), *([*command.split(), *given] if command else [*given, "doctor"]))
    assert (done.code, done.out) == (2, "")
    assert f"Option '{word}" in done.err
    assert done.err.endswith("was given 2 times; it takes one value.\n"), done.err


@pytest.mark.parametrize(("command", "option"), OPPOSITES, ids=names(OPPOSITES))
def test_a_flag_and_its_opposite_cannot_be_combined(command: str, option: Any):
    done = debatebench_here(Path(), *command.split(), option.opts[0], option.secondary_opts[0])
    assert (done.code, done.out) == (2, "")
    assert "was given 2 times" in done.err


@pytest.mark.parametrize(("command", "option"), NUMBERS, ids=names(NUMBERS))
@pytest.mark.parametrize("value", ["nan", "inf", "-inf"])
def test_a_limit_is_a_finite_number(command: str, option: Any, value: str):
    needed = [each for each in commands()[command].params if each.required]
    others = ["x" if each.param_type_name == "argument" else f"{each.opts[0]}=x" for each in needed]
    done = debatebench_here(Path(), *command.split(), *others, f"{option.opts[0]}={value}")
    assert (done.code, done.out) == (2, "")
    assert f"Invalid value for '{option.opts[0]}'" in done.err


def test_a_flag_that_says_the_same_twice_is_said_once(played: Path):
    once, twice = (debatebench_here(played, "doctor", *["--all"] * count) for count in (1, 2))
    assert (once.code, once.out) == (twice.code, twice.out)


def test_a_command_that_can_read_several_runs_takes_several():
    repeatable = {name for name, option in OPTIONS if "--run-tag" in option.opts and option.multiple}
    has_run_tag = {name for name, option in OPTIONS if "--run-tag" in option.opts}
    assert repeatable == has_run_tag - OF_ONE_RUN


BOTH = ("--run-tag", "demo", "--run-tag", "second")


@pytest.mark.slow
def test_two_runs_are_ranked_in_one_table(two_runs: Path):
    rows = json.loads(debatebench_here(two_runs, "show-leaderboard", *BOTH, "--format", "json").out)
    alone = {
        tag: json.loads(debatebench_here(two_runs, "show-leaderboard", "--run-tag", tag, "--format", "json").out)
        for tag in ("demo", "second")
    }
    assert rows == [{"run_tag": tag, **row} for tag, of_run in alone.items() for row in of_run]
    first = debatebench_here(two_runs, "show-leaderboard", *BOTH, "--top", "1")
    assert [line.split()[0] for line in first.out.splitlines()] == ["run_tag", "───────", "demo", "second"]
    assert "Run 'demo': " in first.err
    assert "Run 'second': " in first.err


@pytest.mark.slow
def test_two_runs_are_summarized_and_rated_in_files_of_their_own(two_runs: Path, tmp_path: Path):
    done = debatebench_here(two_runs, "summarize", *BOTH, "--out-dir", str(tmp_path / "out"))
    assert done.code == 0, done.err
    for tag in ("demo", "second"):
        alone = debatebench_here(two_runs, "summarize", "--run-tag", tag, "--out-dir", str(tmp_path / tag))
        assert alone.code == 0, alone.err
        ours = {path.name: path.read_bytes() for path in (tmp_path / "out" / tag).iterdir()}
        assert ours == {path.name: path.read_bytes() for path in (tmp_path / tag).iterdir()}
    refused = debatebench_here(two_runs, "rate", *BOTH, "--output", str(tmp_path / "r.json"))
    assert refused.code == 2
    assert refused.error_line.endswith("--output names the file of one run; leave it out, or give one --run-tag.")
    assert not (tmp_path / "r.json").exists()
    rated = debatebench_here(two_runs, "rate", *BOTH)
    assert [line.split("'")[1] for line in rated.out.splitlines()] == ["demo", "second"]


@pytest.mark.slow
def test_a_site_of_two_runs_has_both_and_no_other(two_runs: Path, tmp_path: Path):
    with only_pages("index", "results"):
        assert debatebench_here(two_runs, "report", *BOTH, "--out-dir", str(tmp_path / "both")).code == 0
        assert debatebench_here(two_runs, "report", *BOTH[:2], "--out-dir", str(tmp_path / "one")).code == 0
    assert {path.name for path in (tmp_path / "both" / "runs").iterdir()} == {"demo", "second"}
    assert {path.name for path in (tmp_path / "one" / "runs").iterdir()} == {"demo"}
    unknown = debatebench_here(two_runs, "report", *BOTH[:2], "--run-tag", "x", "--out-dir", str(tmp_path / "none"))
    assert unknown.code == 2
    assert "No run 'x' in the warehouse." in unknown.error_line


@pytest.mark.slow
def test_two_runs_are_compared_under_two_versions_of_a_model(two_runs: Path):
    words = ("diff-models", "panel_winners", "--from", "1", "--to", "2", "--format", "json")
    runs = json.loads(debatebench_here(two_runs, *words, *BOTH).out)["runs"]
    assert [run["run_tag"] for run in runs] == ["demo", "second"]
    assert [run["run_tag"] for run in json.loads(debatebench_here(two_runs, *words, *BOTH[:2]).out)["runs"]] == ["demo"]


@pytest.mark.parametrize(
    ("command", "before", "now"),
    [(command, before, now) for command, options in FORMER_OPTIONS.items() for before, now in options.items()],
)
def test_the_former_name_of_an_option_still_works_and_names_the_new_one(command: str, before: str, now: str):
    shown = debatebench_here(Path(), command, "--help").out
    assert now in shown
    assert f"  {before} " not in shown
    repeated = debatebench_here(Path(), command, before, "x", f"{before}=y")
    assert repeated.code == 2
    assert f" {now} now" in repeated.err
    assert re.search("was given 2 times|No such option", repeated.err)


def test_the_former_options_of_a_gate_are_its_arguments_in_order(tmp_path: Path):
    missing = [
        debatebench_here(tmp_path, "gate", *words).error_line
        for words in (("a", "b"), ("--baseline", "a", "--candidate", "b"), ("--candidate=b", "--baseline", "a"))
    ]
    assert len(set(missing)) == 1


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("gate", "a"), "There is no baseline for 'a', and a gate compares with one"),
        (("gate", "a", "--max-drop", "3", "--max-attack-success", "0.1"), "and --max-drop compares with one"),
        (("gate", "a", "b", "c"), "A gate compares two runs or versions, and these are 3: a, b, c."),
        (("land", "--format", "json"), "--format needs --reparse"),
        (("land", "--prices", "p.yaml"), "--prices needs --reparse"),
        (("build", "--without", "a"), "--without needs --from-journals"),
        (("query", "select 1", "--file", "q.sql"), "either as an argument"),
        (("annotate", "--run-tag", "a", "--annotator", "b", "--overlap", "3"), "--overlap needs --annotators"),
        (("annotate", "--run-tag", "a", "--annotator", "b", "--review", "--revise"), "--review cannot be combined"),
        (("annotate", "--run-tag", "a", "--status", "--port", "3"), "--port is about the page, which does not open"),
        (("annotate", "--run-tag", "a", "--annotators", "b", "--revise"), "which does not open without --annotator"),
        (("export", "--format", "jsonl", "--out-dir", "x", "--select", "runs"), "--select works only with"),
        (("export", "--format", "jsonl", "--out-dir", "x", "--anonymize"), "work only with --format huggingface"),
        (("run", "--quick-test", "--prod-run"), "--prod-run and --quick-test cannot be combined"),
        (("run", "--probe", "--judges-test"), "--judges-test does not play a run"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else "",
)
def test_an_option_that_would_have_no_effect_is_refused(tmp_path: Path, arguments: tuple[str, ...], words: str):
    done = debatebench_here(tmp_path, *arguments)
    assert done.code == 2, done.err
    assert words in done.error_line
    assert list(tmp_path.iterdir()) == []
