"""The options of `debatebench run`, in the groups in which `--help` lists them."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Annotated

import typer

from debatebench.cli import completion
from debatebench.cli.common import Format

_WHAT = "What is played"
_HOW = "How it is played"
_CONFIGURATION = "Configuration and prompts"
_BEGUN = "A run that has begun"
_COST = "Cost, limits and failures"
_BEFORE = "Before a run"
_OUTPUT = "Output"

_DURATION = re.compile(r"(\d{1,6}(?:\.\d{1,3})?)\s*(s|m|min|h|)")
_SECONDS = {"": 1.0, "s": 1.0, "m": 60.0, "min": 60.0, "h": 3600.0}


def duration(text: str | float) -> float:
    """Seconds of a duration such as `90s`, `10m`, `1.5h` or `90`; a default is in seconds already."""
    if isinstance(text, float):
        return text
    found = _DURATION.fullmatch(text.strip().lower())
    if found is None:
        raise typer.BadParameter(f"'{text}' is not a duration; write it like 90s, 10m or 1h.")
    return float(found[1]) * _SECONDS[found[2]]


# --- what is played ---------------------------------------------------------------------------------------------------

RunTag = Annotated[
    str | None,
    typer.Option(
        "--run-tag",
        autocompletion=completion.run_tags,
        help="The name of the run. An unfinished run is resumed, and needs no other option. Default: the current time.",
        rich_help_panel=_WHAT,
    ),
]
Topic = Annotated[
    list[str] | None,
    typer.Option(
        "--topic",
        autocompletion=completion.topics,
        help="Play only the topic with this id. Repeatable.",
        rich_help_panel=_WHAT,
    ),
]
SampleTopics = Annotated[
    int | None,
    typer.Option("--sample-topics", min=1, help="Play this many topics, drawn with the seed.", rich_help_panel=_WHAT),
]
Debater = Annotated[
    list[str] | None,
    typer.Option(
        "--debater",
        autocompletion=completion.debaters,
        help="Play only with this debater, by id. Repeatable.",
        rich_help_panel=_WHAT,
    ),
]
Judge = Annotated[
    list[str] | None,
    typer.Option(
        "--judge",
        autocompletion=completion.judges,
        help="Use only the judge with this id. Repeatable.",
        rich_help_panel=_WHAT,
    ),
]
QuickTest = Annotated[
    bool,
    typer.Option(
        "--quick-test",
        help="Play one topic with two debaters, drawn with the seed, and at most 3 judges, which may be debaters. "
        "If configs/quick-test-models.yaml exists, it names them.",
        rich_help_panel=_WHAT,
    ),
]
ProdRun = Annotated[
    bool,
    typer.Option(
        "--prod-run",
        help="Play all debaters on all topics in both orders. Simulated debaters and judges are refused.",
        rich_help_panel=_WHAT,
    ),
]
NoInput = Annotated[
    bool,
    typer.Option(
        "--no-input",
        help="Ask nothing: neither what to play nor whether to. By default, a run at a terminal asks.",
        rich_help_panel=_WHAT,
    ),
]

# --- how it is played -------------------------------------------------------------------------------------------------

DebatesPerPair = Annotated[
    int, typer.Option(min=1, help="Debates per pair of debaters and topic.", rich_help_panel=_HOW)
]
BalancedSides = Annotated[
    bool,
    typer.Option(
        "--balanced-sides/--no-balanced-sides",
        help="Each pair debates each topic in both orders.",
        rich_help_panel=_HOW,
    ),
]
SwapSides = Annotated[
    bool, typer.Option("--swap-sides", help="Draw the sides of each debate with the seed.", rich_help_panel=_HOW)
]
BalancedJudges = Annotated[
    bool,
    typer.Option(
        "--balanced-judges/--random-judges",
        help="Balance how often judges sit on a panel, and with whom.",
        rich_help_panel=_HOW,
    ),
]
JudgesFromSelection = Annotated[
    bool,
    typer.Option("--judges-from-selection", help="The debaters judge each other's debates.", rich_help_panel=_HOW),
]
AllowJudgeOverlap = Annotated[
    bool,
    typer.Option(
        "--allow-judge-overlap", help="Allow a debater to be a judge too, and mark the run.", rich_help_panel=_HOW
    ),
]
SwapOrder = Annotated[
    bool,
    typer.Option(
        "--swap-order",
        help="Show each judge con first in half of its debates, drawn with the seed.",
        rich_help_panel=_HOW,
    ),
]
Seed = Annotated[
    int,
    typer.Option(min=-(2**63), max=2**63 - 1, help="Seed of all random choices in the plan.", rich_help_panel=_HOW),
]

# --- configuration and prompts ----------------------------------------------------------------------------------------

ConfigPath = Annotated[Path | None, typer.Option(help="Default: configs/config.yaml.", rich_help_panel=_CONFIGURATION)]
TopicsPath = Annotated[Path | None, typer.Option(help="Default: configs/topics.json.", rich_help_panel=_CONFIGURATION)]
ModelsPath = Annotated[
    Path | None, typer.Option(help="The debaters. Default: configs/models.yaml.", rich_help_panel=_CONFIGURATION)
]
JudgesPath = Annotated[Path | None, typer.Option(help="Default: configs/judges.yaml.", rich_help_panel=_CONFIGURATION)]
DebateFormat = Annotated[
    str | None,
    typer.Option(
        "--format",
        metavar="NAME",
        help="Play the rounds of configs/formats/NAME.yaml, such as karl_popper, instead of those of config.yaml.",
        autocompletion=completion.formats,
        rich_help_panel=_CONFIGURATION,
    ),
]
Rubric = Annotated[
    str | None,
    typer.Option(
        "--rubric",
        metavar="NAME",
        help="Score the dimensions of configs/rubrics/NAME.yaml, such as debateflow, instead of those of config.yaml.",
        autocompletion=completion.rubrics,
        rich_help_panel=_CONFIGURATION,
    ),
]
Weaknesses = Annotated[
    Path | None,
    typer.Option(
        "--weaknesses",
        help="Inject the weaknesses of this file, such as configs/weaknesses.yaml: one in each debate, on one side.",
        rich_help_panel=_CONFIGURATION,
    ),
]
ControlRatio = Annotated[
    float | None,
    typer.Option(
        "--control-ratio",
        min=0,
        max=1,
        help="With --weaknesses, the share of debates that have none. Default: 0.2.",
        rich_help_panel=_CONFIGURATION,
    ),
]
DebaterPrompt = Annotated[
    str | None,
    typer.Option(
        help="Style of the debaters' prompts: debater_pro_STYLE.md and debater_con_STYLE.md in configs/prompts/.",
        rich_help_panel=_CONFIGURATION,
    ),
]
JudgePrompt = Annotated[
    str | None,
    typer.Option(
        help="Style of the prompt of all judges: configs/prompts/judge_STYLE.md.", rich_help_panel=_CONFIGURATION
    ),
]
JudgeMethod = Annotated[
    str | None,
    typer.Option(
        help="Method of all judges: direct, chronological, dimensional, non_iterative or debatrix.",
        rich_help_panel=_CONFIGURATION,
    ),
]
ListPrompts = Annotated[
    bool,
    typer.Option(
        "--list-prompts", help="List the prompts in configs/prompts/ and exit.", rich_help_panel=_CONFIGURATION
    ),
]

# --- a run that has begun ---------------------------------------------------------------------------------------------

Resume = Annotated[
    bool,
    typer.Option("--resume", help="Resume an unfinished run, and never begin one.", rich_help_panel=_BEGUN),
]
RetryFailed = Annotated[
    bool,
    typer.Option(
        "--retry-failed",
        help="Retry calls that failed permanently, and judges of seats without a valid verdict.",
        rich_help_panel=_BEGUN,
    ),
]
NewModel = Annotated[
    list[str] | None,
    typer.Option(
        "--new-model",
        autocompletion=completion.debaters,
        help="Add this debater of models.yaml, and its debates. Repeatable.",
        rich_help_panel=_BEGUN,
    ),
]
NewJudge = Annotated[
    list[str] | None,
    typer.Option(
        "--new-judge",
        help="Add this judge of judges.yaml, for seats that no other judge could fill. Repeatable.",
        autocompletion=completion.judges,
        rich_help_panel=_BEGUN,
    ),
]
ReplaceParameters = Annotated[
    list[str] | None,
    typer.Option(
        "--replace-parameters",
        help="Go on with the changed parameters of this debater or judge, although it has answered with others. "
        "Its answers stay, and comparisons name the change. Repeatable.",
        rich_help_panel=_BEGUN,
    ),
]

# --- cost, limits and failures ----------------------------------------------------------------------------------------

Concurrency = Annotated[
    int, typer.Option(min=1, max=4096, help="Maximum number of requests in flight.", rich_help_panel=_COST)
]
MaxCost = Annotated[
    float | None,
    typer.Option(
        "--max-cost",
        min=0,
        help="Stop before a request that could raise the cost above this many USD.",
        rich_help_panel=_COST,
    ),
]
Yes = Annotated[
    bool,
    typer.Option(
        "--yes",
        "-y",
        help="Play without asking. By default, a run at a terminal that may cost money shows its cost and asks.",
        rich_help_panel=_COST,
    ),
]
MaxAmbiguousRetries = Annotated[
    int,
    typer.Option(
        min=0,
        help="Retry a call at most this often when an attempt may have been billed.",
        rich_help_panel=_COST,
    ),
]
WaitForLimit = Annotated[
    float,
    typer.Option(
        "--wait-for-limit",
        parser=duration,
        metavar="<duration>",
        show_default=False,
        help="Retry a call that meets a rate limit or an overloaded provider until it has waited this long. "
        "Default: 10m.",
        rich_help_panel=_COST,
    ),
]
WaitForProvider = Annotated[
    float,
    typer.Option(
        "--wait-for-provider",
        parser=duration,
        metavar="<duration>",
        show_default=False,
        help="Wait this long for a provider that cannot be reached; then the run stops. Default: 10m.",
        rich_help_panel=_COST,
    ),
]
MaxFailuresInARow = Annotated[
    int,
    typer.Option(
        "--max-failures-in-a-row",
        min=0,
        help="Stop the run when this many calls of one debater or judge in a row ended with errors; 0: never.",
        rich_help_panel=_COST,
    ),
]
SkipOnEmpty = Annotated[
    bool,
    typer.Option("--skip-on-empty", help="Ban a debater that keeps giving empty answers.", rich_help_panel=_COST),
]
EmptyDebates = Annotated[
    int | None,
    typer.Option(
        min=1,
        help="With --skip-on-empty, ban a debater after this many debates in a row without its speech. Default: 3.",
        rich_help_panel=_COST,
    ),
]

# --- before a run -----------------------------------------------------------------------------------------------------

DryRun = Annotated[
    bool,
    typer.Option(
        "--dry-run",
        help="Check all that the run checks first, print what is left to play and its cost, and send no requests.",
        rich_help_panel=_BEFORE,
    ),
]
EstimateTime = Annotated[
    bool,
    typer.Option(
        "--estimate-time",
        help="Like --dry-run, and estimate the duration from stored timings.",
        rich_help_panel=_BEFORE,
    ),
]
JudgesTest = Annotated[
    bool,
    typer.Option(
        "--judges-test",
        help="Only have each judge judge a tiny debate. Nothing is landed.",
        rich_help_panel=_BEFORE,
    ),
]
Probe = Annotated[
    bool,
    typer.Option(
        "--probe",
        "--openrouter-probe",
        help="Only send one tiny request to each hosted model. Nothing is landed.",
        rich_help_panel=_BEFORE,
    ),
]

# --- output -----------------------------------------------------------------------------------------------------------

NoBuild = Annotated[
    bool,
    typer.Option("--no-build", help="Land the run, but do not build the SQL models.", rich_help_panel=_OUTPUT),
]
LogFailedJudges = Annotated[
    bool,
    typer.Option(
        "--log-failed-judges",
        help="Write unusable answers of judges to warehouse/failed_judges/.",
        rich_help_panel=_OUTPUT,
    ),
]
Print = Annotated[Format, typer.Option("--print", help="How to print the result.", rich_help_panel=_OUTPUT)]
