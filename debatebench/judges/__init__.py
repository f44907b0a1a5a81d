"""Judge methods: the ways to turn a transcript into a verdict, by name.

A method is declared by a file, has prompts in `configs/prompts/judge/`, and its name in `METHODS`. One that was changed
has a version in its name. An installed package adds one by the entry point `debatebench.judge_methods`.

answer_json.py    the JSON object in an answer
base.py           what a judge method works on and returns
baselines.py      methods: fixed rules that ask nobody
chronological.py  chronological_v1: speech by speech, on all dimensions at once
debatrix.py       debatrix_v1: dimension by dimension and speech by speech
coherence.py      check: can speeches be judged, and for which side does each argue
deliberation.py   one judge is asked about one debate, step by step
dimensional.py    dimensional_v1: each dimension by itself, the whole debate in one call
direct.py         method: the whole transcript in one call
injection.py      signs that a speech addresses the judge
judgment.py       what a judge said and decided → a verdict and notes
mending.py        JSON with slips that change no value → strict JSON
non_iterative.py  non_iterative_v1: as debatrix_v1, with the earlier speeches instead of their analyses
parsing.py        a judge's answer → scores, parsed strictly
pipeline.py       the methods of the Debatrix paper: texts, from which scores and winners are extracted
rehearsal.py      the calls of a method and the lengths of their prompts, with made-up answers
rereading.py      stored answers are read again
step_requests.py  all requests of one step to one judge
steps.py          the steps that the first versions of several methods share
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, cast

from debatebench.shared.errors import UsageError
from debatebench.shared.extensions import extension, known_extensions

if TYPE_CHECKING:
    from types import ModuleType

    from debatebench.config.prompts import PromptSet
    from debatebench.config.types import Config, MemberConfig
    from debatebench.judges.base import Judgment, Seat, Transcript
    from debatebench.judges.deliberation import Method
    from debatebench.providers.asking import Ask
    from debatebench.shared.workspace import Workspace

METHODS = (
    *("direct", "whole_debate", "chronological_v1", "chronological_v2", "dimensional_v1", "dimensional_v2"),
    *("non_iterative_v1", "non_iterative_v2", "debatrix_v1", "debatrix_v2"),
)
"""The methods that ask, by the names that runs record."""

CHECKS = ("coherence",)
"""Methods that ask and judge no debate: what they find out says nothing about which side is better."""

LATEST = {name: f"{name}_v2" for name in ("chronological", "dimensional", "non_iterative", "debatrix")}
"""Methods that were changed, by the names that people choose → the version that they get.

Before there were versions, runs recorded the first one by the plain name."""

BASELINES = (
    *("always_pro", "always_con", "always_tie", "always_og", "always_oo", "always_cg", "always_co"),
    *("majority_class", "longest", "longest_words", "random", "last_speaker", "lexical_clash"),
)
"""The methods that ask nobody; `baselines.py` declares them."""


def version_of_method(name: str, held: str | None = None) -> str:
    """The version of a method that somebody gets who chooses it by that name: the latest, or the one that is pinned.

    `held` is the name that a run which has begun recorded for the judge. If both can name the same version, it stays.
    """
    if held is not None and name in (held, recorded_method(held), held.rpartition("_v")[0]):
        return held
    return LATEST.get(name, name)


def recorded_method(name: str) -> str:
    """The version of a method that a run has used which recorded that name."""
    return f"{name}_v1" if name in LATEST else name


def find_method(name: str) -> Method | None:
    """The judge method or baseline that a run recorded by that name, our own or a package's; None if there is none."""
    name = recorded_method(name)
    if (module := _own_module(name)) is not None:
        methods: Mapping[str, Method] = getattr(module, "METHODS", {})
        return methods[name] if name in methods else cast("Method", module.METHOD)
    from debatebench.judges.deliberation import Method

    return extension("judge_methods", name, Method)


@cache
def _own_module(name: str) -> ModuleType | None:
    """Where the method of that name is, if it comes with debatebench."""
    for module, names in (("pipeline", (*METHODS, *CHECKS)), ("baselines", BASELINES)):
        if name in names:
            found = import_module(f"{__name__}.{module}")
            return found if name in found.METHODS else import_module(f"{__name__}.{name.removesuffix('_v1')}")
    return None


def method_of(judge: MemberConfig) -> Method:
    """The method of a judge. Raises `UsageError` for an unknown name."""
    method = find_method(judge.method)
    if method is None:
        known = known_extensions("judge_methods", judge.method, (*METHODS, *LATEST, *CHECKS))
        raise UsageError(f"Judge '{judge.id}': no judge method '{judge.method}'.{known}")
    return method


def load_prompts(
    workspace: Workspace,
    config: Config,
    judges: Iterable[MemberConfig],
    debater_style: str | None = None,
    begun: PromptSet | None = None,
) -> PromptSet:
    """The templates that debaters and these judges need, those of the judges' methods included.

    `begun` are those of a run that has begun, for judges' templates whose files are gone.
    """
    from debatebench.config import prompt_files

    judges = tuple(judges)
    folders = [method.prompts for method in map(method_of, judges) if method.prompts]
    return prompt_files.load_prompts(workspace, config, judges, debater_style, templates_of, folders, begun)


def templates_of(judge: MemberConfig) -> tuple[str, ...]:
    """The names of the templates that a judge needs, without regard to variants for its style."""
    from debatebench.config.prompt_files import flat_templates

    method = method_of(judge)
    if method.is_baseline:
        return ()
    return tuple(f"judge/{stage}" for stage in method.stages) or flat_templates(judge)


def used_templates(judge: MemberConfig, prompts: PromptSet) -> tuple[str, ...]:
    """The names of the templates that a judge uses: those of its style where there are such variants."""
    from debatebench.config.prompts import repair_stage

    names = templates_of(judge)
    repairs = {prompts.stage(repair_stage(name), judge.prompt_style) for name in names if name.startswith("judge/")}
    asked = tuple(prompts.stage(name, judge.prompt_style) if name.startswith("judge/") else name for name in names)
    return (*asked, *sorted(repairs & prompts.templates.keys()))


async def ask_judge(
    seat: Seat, config: Config, prompts: PromptSet, transcript: Transcript, ask: Ask, *, again: int = 0
) -> Judgment:
    """Let the judge of a seat judge a debate by its method.

    The verdict is invalid when an answer is of no use or there is none. `again` is how many more times the judge is
    asked after that, each time with new requests. Exceptions from `ask` other than `CallFailedError` are not caught.
    """
    from debatebench.judges.deliberation import Deliberation, NoVerdictError
    from debatebench.judges.judgment import judgment_of

    deliberation = Deliberation(seat, config, prompts, transcript, ask, again=again)
    try:
        decision = await method_of(seat.judge).begin(deliberation)
    except NoVerdictError as failure:
        return judgment_of(deliberation, None, str(failure), failure.path)
    return judgment_of(deliberation, decision, None, next(reversed(deliberation.steps), None))
