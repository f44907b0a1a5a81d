"""Judge methods: the ways to turn a transcript into a verdict, by name.

A method is one file that declares it, its prompts in `configs/prompts/judge/`, and its name in `METHODS`. An installed
package adds one by the entry point `debatebench.judge_methods`.

answer_json.py    the JSON object in an answer
base.py           what a judge method works on and returns
baselines.py      methods: fixed rules that ask nobody
chronological.py  method: speech by speech, on all dimensions at once
debatrix.py       method: dimension by dimension and speech by speech
deliberation.py   one judge is asked about one debate, step by step
dimensional.py    method: each dimension by itself, the whole debate in one call
direct.py         method: the whole transcript in one call
injection.py      signs that a speech addresses the judge
judgment.py       what a judge said and decided → a verdict and notes
mending.py        JSON with slips that change no value → strict JSON
non_iterative.py  method: as debatrix, with the earlier speeches instead of their analyses
parsing.py        a judge's answer → scores, parsed strictly
rehearsal.py      the calls of a method and the lengths of their prompts, with made-up answers
rereading.py      stored answers are read again
step_requests.py  all requests of one step to one judge
steps.py          the steps that several methods share
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, cast

from debatebench.shared.errors import UsageError
from debatebench.shared.extensions import extension, known_extensions

if TYPE_CHECKING:
    from collections.abc import Iterable

    from debatebench.config.prompts import PromptSet
    from debatebench.config.types import Config, MemberConfig
    from debatebench.judges.base import Judgment, Seat, Transcript
    from debatebench.judges.deliberation import Method
    from debatebench.providers.asking import Ask
    from debatebench.shared.workspace import Workspace

METHODS = ("direct", "chronological", "dimensional", "non_iterative", "debatrix")
"""The methods that ask; the module of that name declares `METHOD`."""

BASELINES = (
    *("always_pro", "always_con", "always_tie", "always_og", "always_oo", "always_cg", "always_co"),
    *("majority_class", "longest", "longest_words", "random", "last_speaker", "lexical_clash"),
)
"""The methods that ask nobody; `baselines.py` declares them."""


def find_method(name: str) -> Method | None:
    """The judge method or baseline of that name, our own or an installed package's; None if there is none."""
    if name in METHODS:
        return cast("Method", import_module(f"{__name__}.{name}").METHOD)
    if name in BASELINES:
        return cast("Method", import_module(f"{__name__}.baselines").METHODS[name])
    from debatebench.judges.deliberation import Method

    return extension("judge_methods", name, Method)


def method_of(judge: MemberConfig) -> Method:
    """The method of a judge. Raises `UsageError` for an unknown name."""
    method = find_method(judge.method)
    if method is None:
        known = known_extensions("judge_methods", judge.method, METHODS)
        raise UsageError(f"Judge '{judge.id}': no judge method '{judge.method}'.{known}")
    return method


def load_prompts(
    workspace: Workspace, config: Config, judges: Iterable[MemberConfig], debater_style: str | None = None
) -> PromptSet:
    """The templates that debaters and these judges need, those of the judges' methods included."""
    from debatebench.config import prompt_files

    judges = tuple(judges)
    folders = [method.prompts for method in map(method_of, judges) if method.prompts]
    return prompt_files.load_prompts(workspace, config, judges, debater_style, templates_of, folders)


def templates_of(judge: MemberConfig) -> tuple[str, ...]:
    """The names of the templates that a judge needs, without regard to variants for its style."""
    from debatebench.config.prompt_files import flat_templates

    method = method_of(judge)
    if method.is_baseline:
        return ()
    return tuple(f"judge/{stage}" for stage in method.stages) or flat_templates(judge)


def used_templates(judge: MemberConfig, prompts: PromptSet) -> tuple[str, ...]:
    """The names of the templates that a judge uses: those of its style where there are such variants."""
    names = templates_of(judge)
    return tuple(prompts.stage(name, judge.prompt_style) if name.startswith("judge/") else name for name in names)


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
        decision = await method_of(seat.judge).judge(deliberation)
    except NoVerdictError as failure:
        return judgment_of(deliberation, None, str(failure), failure.path)
    return judgment_of(deliberation, decision, None, next(reversed(deliberation.steps), None))
