"""Options that commands share: each is declared once, and means the same in every command."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import pytest
import typer
from command_line import debatebench_here
from typer.testing import CliRunner

from debatebench.cli import playing_options as opt
from debatebench.cli import run as playing
from debatebench.cli.app import command_named, make_app
from debatebench.cli.common import stated_options
from debatebench.cli.option_groups import with_groups
from debatebench.judges import BASELINES, METHODS
from debatebench.plan.plan import PlanOptions
from debatebench.play.before_run import RunSettings
from debatebench.play.retries import RetryPolicy

SHARING = ("run", "retry", "judge", "probe-judges")
# What these options mean depends on the command: a debate format where debates are played, else how to print.
OWN = {"--format", "--run-tag"}


def declared(*names: str) -> dict[str, dict[str, Any]]:
    """Command → its options by their first spelling."""
    commands: Any = typer.main.get_command(make_app(names))
    return {name: {option.opts[0]: option for option in commands.commands[name].params} for name in names}


def test_an_option_is_the_same_in_every_command_that_has_it():
    found = declared(*SHARING)
    shared = [flag for flag in found["run"] if sum(flag in options for options in found.values()) > 1]
    assert {"--concurrency", "--max-cost", "--judge-method", "--seed"} <= set(shared)
    for flag in set(shared) - OWN:
        said = {
            (option.help, option.default, option.rich_help_panel, type(option.type), option.name)
            for option in (options[flag] for options in found.values() if flag in options)
        }
        assert len(said) == 1, flag


@pytest.mark.parametrize("group", [opt.PlayedOptions, opt.JudgedOptions, opt.ProbedOptions])
def test_a_command_without_options_makes_a_plan_with_the_defaults_of_plans(group: type[opt.JudgeOptions]):
    assert group().plan_options() == PlanOptions()


def test_a_session_without_options_has_the_defaults_of_sessions():
    session, settings, policy = opt.SessionOptions(), RunSettings(), RetryPolicy()
    assert (session.concurrency, session.max_cost) == (settings.concurrency, settings.max_cost)
    assert (
        session.max_ambiguous_retries,
        session.wait_for_limit,
        session.wait_for_provider,
        session.max_failures_in_a_row,
    ) == (policy.ambiguous, policy.busy_s, policy.unreachable_s, policy.failures_in_a_row)


def test_the_help_names_every_judge_method_and_every_baseline():
    options = declared("judge")["judge"]
    for option, names in (("--judge-method", METHODS), ("--baseline", BASELINES)):
        assert set(re.findall(r"\w+", options[option].help)) >= set(names), option


def test_every_option_that_cannot_be_combined_exists():
    flags = {flag for option in declared("run")["run"].values() for flag in (*option.opts, *option.secondary_opts)}
    named = {flag for pair in playing._CONTRADICTIONS for flag in pair} | {*playing._ALONE, *playing._PLAYING}
    assert named <= flags


@dataclass(frozen=True)
class Size:
    width: Annotated[int, typer.Option(min=0)] = 2
    is_round: Annotated[bool, typer.Option("--round/--square")] = True


def shown(*arguments: str) -> str:
    """What a command with a group of options gets from a command line."""
    app = typer.Typer()

    def draw(context: typer.Context, *, name: str, size: Size, times: int = 1) -> None:
        typer.echo(f"{name} {size} {times} {stated_options(context)}")

    app.command()(with_groups(draw))
    return CliRunner().invoke(app, arguments).output.strip()


def test_a_group_of_options_reaches_the_command_as_one_value():
    assert shown("a") == "a Size(width=2, is_round=True) 1 {'name': 'name'}"
    assert shown("a", "--width", "3", "--times", "4").startswith("a Size(width=3, is_round=True) 4 ")
    assert "'--width'" in shown("a", "--width", "-1")


def test_an_option_is_stated_as_it_is_written():
    assert shown("a", "--square").endswith("{'name': 'name', 'is_round': '--square'}")
    assert shown("a", "--round").endswith("{'name': 'name', 'is_round': '--round'}")


def test_a_repeated_option_counts_equal_values_once_and_a_path_is_text():
    options = opt.PlayedOptions(selected_topics=["t2", "t1", "t2"], selected_judges=[], rubric="debateflow")
    assert options.plan_options() == PlanOptions(selected_topics=("t2", "t1"), rubric="debateflow")


def test_commands_without_groups_keep_their_options():
    def options_of(command: Any) -> list[tuple[Any, ...]]:
        app = typer.Typer()
        app.command()(command)
        params = typer.main.get_command(app).params
        return [(p.name, p.opts, p.default, getattr(p, "help", None), p.required, type(p.type)) for p in params]

    for name in ("land", "query", "gate", "export"):
        assert options_of(with_groups(command_named(name))) == options_of(command_named(name))


@pytest.mark.slow
@pytest.mark.parametrize("option", ["--dry-run", "--estimate-time"])
def test_to_retry_is_to_run_with_retry_failed(played: Path, option: str):
    (journal,) = (played / "warehouse" / "journal").glob("*.jsonl")
    retried = debatebench_here(played, "retry", journal.stem, option, "--wait-for-limit", "1m")
    run = debatebench_here(played, "run", "--run-tag", journal.stem, "--retry-failed", option, "--wait-for-limit", "1m")
    assert (retried.code, retried.out, retried.err) == (run.code, run.out, run.err)
    assert retried.code == 0
    assert "0 debates: 0 calls" in retried.out
