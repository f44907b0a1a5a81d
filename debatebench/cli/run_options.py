"""How the options of `debatebench run` work together: which cannot be combined, and when a person is asked."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import TYPE_CHECKING

from debatebench.cli.common import note
from debatebench.shared.errors import UsageError

if TYPE_CHECKING:
    from debatebench.cli.run_inputs import Inputs
    from debatebench.plan.plan import PlanOptions
    from debatebench.shared.workspace import Workspace

_SAMPLING = "plays all debaters on all topics in both orders"
_CONTRADICTIONS = {
    ("--prod-run", "--quick-test"): "one plays everything, and the other as little as possible",
    ("--prod-run", "--sample-topics"): f"--prod-run {_SAMPLING}",
    ("--prod-run", "--topic"): f"--prod-run {_SAMPLING}",
    ("--prod-run", "--debater"): f"--prod-run {_SAMPLING}",
    ("--prod-run", "--no-balanced-sides"): f"--prod-run {_SAMPLING}",
    ("--prod-run", "--swap-sides"): f"--prod-run {_SAMPLING}",
    ("--quick-test", "--sample-topics"): "--quick-test draws one topic",
    (
        "--quick-test",
        "--judges-from-selection",
    ): "--quick-test has two debaters, and a debater never judges its own debates",
    ("--judge", "--judges-from-selection"): "with --judges-from-selection the debaters are the judges",
}
_ALONE = ("--judges-test", "--probe", "--list-prompts")
_PLAYING = (
    "--new-model",
    "--new-judge",
    "--retry-failed",
    "--dry-run",
    "--estimate-time",
    "--quick-test",
    "--prod-run",
)


def refuse_contradictions(given: Mapping[str, bool]) -> None:
    """Raise `UsageError` for options that cannot be combined; `given` says for each option whether it was given."""
    for (one, other), why in _CONTRADICTIONS.items():
        if given[one] and given[other]:
            raise UsageError(f"{one} and {other} cannot be combined: {why}. Leave one out.")
    for alone in _ALONE:
        for other in (*_ALONE, *_PLAYING):
            if alone != other and given[alone] and given[other]:
                raise UsageError(f"{alone} does not play a run, so it cannot be combined with {other}. Leave one out.")


def asked_for(workspace: Workspace, run_tag: str, inputs: Inputs, options: PlanOptions) -> tuple[Inputs, PlanOptions]:
    """The inputs and options that a person at the terminal selects for a new run; unchanged without questions.

    There are no questions in a script, for a run that has begun, for a preset, or if an option selects already.
    """
    from debatebench.cli.run_wizard import at_terminal, is_at_terminal, select
    from debatebench.journal.reading import has_begun

    journal = workspace.journal / f"{run_tag}.jsonl"
    selecting = (options.selected_topics, options.selected_debaters, options.selected_judges)
    is_selected = any(selecting) or options.sample_topics is not None or options.preset is not None
    if is_selected or not is_at_terminal() or (journal.is_file() and has_begun(journal)):
        return inputs, options
    from debatebench.config.prompt_files import prompt_library

    library = prompt_library(workspace)
    talk = at_terminal()
    talk.show("What should be played? Enter keeps the configuration; --no-input skips these questions.")
    selection = select(inputs, library, talk, os.environ, judges_from_selection=options.judges_from_selection)
    if words := selection.command_line():
        note(f"To select the same without questions: {words}")
    given = {"debater_prompt": options.debater_prompt, "judge_prompt": options.judge_prompt}
    chosen = {**selection.options, **{name: style for name, style in given.items() if style is not None}}
    return selection.inputs, options.model_copy(update=chosen)
