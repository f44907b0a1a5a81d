"""The options of `run`, `retry`, `judge` and `probe-judges`, each declared once.

`with_groups` makes the fields of a dataclass options of a command. The fields of a plan's options have the names that
they have in `PlanOptions`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, fields
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from debatebench.cli import completion
from debatebench.judges import BASELINES, LATEST, METHODS
from debatebench.shared.errors import UsageError

if TYPE_CHECKING:
    from debatebench.plan.plan import PlanOptions

of_play = partial(typer.Option, rich_help_panel="What is played")
of_debates = partial(typer.Option, rich_help_panel="What is judged")
of_judges = partial(typer.Option, rich_help_panel="Judges")
of_schedule = partial(typer.Option, rich_help_panel="How it is played")
of_files = partial(typer.Option, rich_help_panel="Configuration and prompts")
of_begun = partial(typer.Option, rich_help_panel="A run that has begun")
of_limits = partial(typer.Option, rich_help_panel="Cost, limits and failures")
of_checks = partial(typer.Option, rich_help_panel="Before a run")
of_output = partial(typer.Option, rich_help_panel="Output")

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


def ids_in(path: Path) -> tuple[str, ...]:
    """The ids in a file, one on each line."""
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"--debates: {path} cannot be read as UTF-8 text: {error}.") from error
    ids = tuple(dict.fromkeys(line.strip() for line in lines if line.strip()))
    if not ids:
        raise UsageError(f"--debates: {path} lists no debate.")
    return ids


CHOOSE_JUDGES = {
    "selected_judges": "--judge",
    "judges_path": "--judges-path",
    "judge_method": "--judge-method",
    "judge_prompt": "--judge-prompt",
    "panel_size": "--panel-size",
}
"""The options that choose judges: with one of them, judges are asked beside baselines."""
*_first, _last = CHOOSE_JUDGES.values()
CHOOSE_JUDGES_TEXT = f"{', '.join(_first)} or {_last}"


# --- what is planned --------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgeOptions:
    """Options of every plan: which judges judge, and how."""

    selected_judges: Annotated[
        list[str] | None,
        of_judges("--judge", autocompletion=completion.judges, help="Use only the judge with this id. Repeatable."),
    ] = None
    judges_path: Annotated[Path | None, of_judges(help="Default: configs/judges.yaml.")] = None
    judge_method: Annotated[
        str | None,
        of_judges(
            help=f"Method of all judges: {', '.join(METHODS)}, or one that an installed package adds. "
            f"{', '.join(LATEST)} are the latest versions."
        ),
    ] = None
    judge_prompt: Annotated[
        str | None, of_judges(help="Style of the prompt of all judges: configs/prompts/judge_STYLE.md.")
    ] = None
    rubric: Annotated[
        str | None,
        of_judges(
            metavar="NAME",
            autocompletion=completion.rubrics,
            help="Score the dimensions of configs/rubrics/NAME.yaml, such as debateflow, instead of those of "
            "config.yaml.",
        ),
    ] = None
    balanced_judges: Annotated[
        bool,
        of_judges("--balanced-judges/--random-judges", help="Balance how often judges sit on a panel, and with whom."),
    ] = True
    allow_judge_overlap: Annotated[
        bool, of_judges("--allow-judge-overlap", help="Allow a debater to be a judge too, and mark the run.")
    ] = False
    seed: Annotated[int, of_schedule(min=-(2**63), max=2**63 - 1, help="Seed of all random choices in the plan.")] = (
        12345
    )
    config_path: Annotated[Path | None, of_files(help="Default: configs/config.yaml.")] = None

    def plan_options(self, **derived: Any) -> PlanOptions:
        """The options of a plan; `derived` are those that no field gives as it is."""
        from debatebench.plan.plan import PlanOptions

        given = {field.name: _plain(getattr(self, field.name)) for field in fields(self)} | derived
        return PlanOptions(**{name: value for name, value in given.items() if value is not None})


def _plain(value: Any) -> Any:
    """The value as a plan holds it: a path is text, and of a repeated option equal values count once."""
    if isinstance(value, Path):
        return str(value)
    return (tuple(dict.fromkeys(value)) or None) if isinstance(value, list) else value


NewTag = Annotated[
    str,
    of_debates("--as", metavar="TAG", help="The name of the new run. An unfinished one is resumed."),
]
SwapOrder = Annotated[
    bool,
    of_judges("--swap-order", help="Show each judge con first in half of its debates, drawn with the seed."),
]


@dataclass(frozen=True, slots=True, kw_only=True)
class PlayedOptions(JudgeOptions):
    """Options of a plan of debates that are played."""

    judges_from_selection: Annotated[
        bool, of_judges("--judges-from-selection", help="The debaters judge each other's debates.")
    ] = False
    swap_order: SwapOrder = False
    selected_topics: Annotated[
        list[str] | None,
        of_play("--topic", autocompletion=completion.topics, help="Play only the topic with this id. Repeatable."),
    ] = None
    categories: Annotated[
        list[str] | None,
        of_play(
            "--category",
            help="Play only the topics of this category; with --resolution, the category of that. Repeatable.",
        ),
    ] = None
    resolution: Annotated[
        str | None, of_play("--resolution", metavar="TEXT", help="Play this motion, and no topic of topics.json.")
    ] = None
    sample_topics: Annotated[int | None, of_play(min=1, help="Play this many topics, drawn with the seed.")] = None
    selected_debaters: Annotated[
        list[str] | None,
        of_play(
            "--debater", autocompletion=completion.debaters, help="Play only with this debater, by id. Repeatable."
        ),
    ] = None
    debates_per_pair: Annotated[
        int,
        of_schedule(
            min=1, help="Debates per pair of debaters and topic; of four teams, draws of each debater per topic."
        ),
    ] = 1
    balanced_sides: Annotated[
        bool,
        of_schedule(
            "--balanced-sides/--no-balanced-sides",
            help="Each pair debates each topic in both orders; each draw of four, at four positions each.",
        ),
    ] = True
    swap_sides: Annotated[bool, of_schedule("--swap-sides", help="Draw the sides of each debate with the seed.")] = (
        False
    )
    temperature: Annotated[
        float | None,
        of_schedule(min=0, help="Temperature of all debaters, in place of those of config.yaml and models.yaml."),
    ] = None
    max_tokens: Annotated[
        int | None,
        of_schedule(
            min=1,
            help="Longest speech in tokens, in place of the limits of all stages. A lower token_limit of a debater "
            "counts all the same.",
        ),
    ] = None
    apply_stage_token_limits: Annotated[
        bool,
        of_schedule("--apply-stage-token-limits", help="With --max-tokens, a lower limit of a stage counts, too."),
    ] = False
    judge_max_tokens: Annotated[
        int | None,
        of_judges(min=1, help="Longest answer of a judge in tokens, in place of the token_limit of all judges."),
    ] = None
    topics_path: Annotated[Path | None, of_files(help="Default: configs/topics.json.")] = None
    models_path: Annotated[Path | None, of_files(help="The debaters. Default: configs/models.yaml.")] = None
    debate_format: Annotated[
        str | None,
        of_files(
            "--debate-format",
            metavar="NAME",
            autocompletion=completion.formats,
            help="Play the rounds of configs/formats/NAME.yaml, such as policy_cx, instead of those of config.yaml.",
        ),
    ] = None
    weaknesses_path: Annotated[
        Path | None,
        of_files(
            "--weaknesses",
            help="Inject the weaknesses of this file, such as configs/weaknesses.yaml: one in each debate, on one "
            "side.",
        ),
    ] = None
    weakness_types: Annotated[
        list[str] | None,
        of_files(
            "--weakness",
            metavar="TYPE",
            autocompletion=completion.weaknesses,
            help="Inject only this weakness of the file, by id. Without --weaknesses, the file is "
            "configs/weaknesses.yaml. Repeatable.",
        ),
    ] = None
    control_ratio: Annotated[
        float | None,
        of_files(
            min=0, max=1, help="With --weaknesses or --weakness, the share of debates that have none. Default: 0.2."
        ),
    ] = None
    debater_prompt: Annotated[
        str | None,
        of_files(
            help="Style of the debaters' prompts: debater_pro_STYLE.md and debater_con_STYLE.md in configs/prompts/."
        ),
    ] = None


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredOptions(JudgeOptions):
    """Options of a plan of stored debates that are judged."""

    selected_debates: Annotated[
        Path | None,
        of_debates(
            "--debates",
            exists=True,
            dir_okay=False,
            help="Judge only the debates whose ids this file lists, one on each line.",
        ),
    ] = None
    where: Annotated[
        str | None, of_debates(metavar="SQL", help="Judge only the debates for which this holds in marts.debates.")
    ] = None
    repeat: Annotated[
        int,
        of_debates(
            min=1,
            max=1000,
            help="Judge each debate this often, to see whether a judge agrees with itself. Trials of a debate are "
            "averaged: they are no further evidence.",
        ),
    ] = 1
    panel_size: Annotated[
        int | None, of_judges(min=1, help="Judges per debate, drawn with the seed. Default: all judges.")
    ] = None
    baselines: Annotated[
        list[str] | None,
        of_judges(
            "--baseline",
            help=f"Judge by this rule, which sends no requests: {', '.join(BASELINES)} (og, oo, cg and co: for four "
            "teams only). Repeatable. Judges are asked beside baselines only if an option chooses them: "
            f"{CHOOSE_JUDGES_TEXT}.",
        ),
    ] = None


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgedOptions(StoredOptions):
    """Options of a plan of stored debates that are judged as they are."""

    swap_order: SwapOrder = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ProbedOptions(StoredOptions):
    """Options of a plan of stored debates that are judged clean and attacked."""

    attacks_path: Annotated[
        Path | None,
        of_debates(
            "--attacks",
            exists=True,
            dir_okay=False,
            help="The attacks. Default: configs/attacks.yaml, or the packaged ones.",
        ),
    ] = None


# --- how it is played -------------------------------------------------------------------------------------------------

RetryFailed = Annotated[
    bool,
    of_begun(
        "--retry-failed", help="Retry calls that failed permanently, and judges of seats without a valid verdict."
    ),
]


PlanFile = Annotated[
    Path | None,
    of_play(
        "--plan",
        metavar="FILE",
        exists=True,
        dir_okay=False,
        help="Play the frozen plan in this file, which --plan-output wrote, whatever the configuration here says.",
    ),
]
ShardOption = Annotated[
    str | None,
    of_play(
        "--shard",
        metavar="K/N",
        help="Play only the K-th of N parts of a frozen plan; `land` joins them.",
    ),
]


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionOptions:
    """Options of every session of a run: how a plan is played, not what is planned."""

    new_judge: Annotated[
        list[str] | None,
        of_begun(
            autocompletion=completion.judges,
            help="Add this judge of judges.yaml, for seats that no other judge could fill. Repeatable.",
        ),
    ] = None
    replace_parameters: Annotated[
        list[str] | None,
        of_begun(
            help="Go on with the changed parameters of this debater or judge, although it has answered with others. "
            "Its answers stay, and comparisons name the change. Repeatable.",
        ),
    ] = None
    concurrency: Annotated[int, of_limits(min=1, max=4096, help="Maximum number of requests in flight.")] = 32
    max_cost: Annotated[
        float | None, of_limits(min=0, help="Stop before a request that could raise the cost above this many USD.")
    ] = None
    yes: Annotated[
        bool,
        of_limits(
            "--yes",
            "-y",
            help="Play without asking. By default, a run at a terminal that may cost money shows its cost and asks.",
        ),
    ] = False
    no_input: Annotated[
        bool, of_limits("--no-input", help="Ask no questions at a terminal: not what to play, and not whether to.")
    ] = False
    max_ambiguous_retries: Annotated[
        int, of_limits(min=0, help="Retry a call at most this often when an attempt may have been billed.")
    ] = 3
    wait_for_limit: Annotated[
        float,
        of_limits(
            parser=duration,
            metavar="<duration>",
            show_default=False,
            help="Retry a call that meets a rate limit or an overloaded provider until it has waited this long. "
            "Default: 10m.",
        ),
    ] = 600.0
    wait_for_provider: Annotated[
        float,
        of_limits(
            parser=duration,
            metavar="<duration>",
            show_default=False,
            help="Wait this long for a provider that cannot be reached; then the run stops. Default: 10m.",
        ),
    ] = 600.0
    max_failures_in_a_row: Annotated[
        int,
        of_limits(
            min=0,
            help="Stop the run when this many calls of one debater or judge in a row ended with errors; 0: never.",
        ),
    ] = 5
    dry_run: Annotated[
        bool,
        of_checks(
            "--dry-run",
            help="Check all that the run checks first, print what is left to play and its cost, and send no requests.",
        ),
    ] = False
    estimate_time: Annotated[
        bool, of_checks("--estimate-time", help="Like --dry-run, and estimate the duration from stored timings.")
    ] = False
    plan_output: Annotated[
        Path | None,
        of_checks(
            "--plan-output",
            metavar="FILE",
            dir_okay=False,
            help="With --dry-run, write the frozen plan of a new run to this file, for `run --plan`.",
        ),
    ] = None
    no_build: Annotated[bool, of_output("--no-build", help="Land the run, but do not build the SQL models.")] = False
    log_failed_judges: Annotated[
        bool,
        of_output("--log-failed-judges", help="Write unusable answers of judges to warehouse/failed_judges/."),
    ] = False

    @property
    def is_dry(self) -> bool:
        """Whether no request is sent."""
        return self.dry_run or self.estimate_time
