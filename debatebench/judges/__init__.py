"""Judge methods: the ways to turn a transcript into a verdict, by name.

A method is one file with a coroutine, its prompts in `configs/prompts/judge/`, and one line in `METHODS`.

answer_json.py    the JSON object in an answer
step_requests.py          all requests of one step to one judge
base.py           what a judge method works on and returns
baselines.py      methods: fixed rules that ask nobody
chronological.py  method: speech by speech, on all dimensions at once
debatrix.py       method: dimension by dimension and speech by speech
dimensional.py    method: each dimension by itself, the whole debate in one call
direct.py         method: the whole transcript in one call
deliberation.py        one judge is asked about one debate, step by step
injection.py      signs that a speech addresses the judge
judgment.py       what a judge said and decided → a verdict and notes
mending.py        JSON with slips that change no value → strict JSON
non_iterative.py  method: as debatrix, with the earlier speeches instead of their analyses
parsing.py        a judge's answer → scores, parsed strictly
rehearsal.py      the calls of a method and the lengths of their prompts, with made-up answers
rereading.py      stored answers are read again
steps.py          the steps that several methods share
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from debatebench.config.prompt_files import flat_templates
from debatebench.judges import chronological, debatrix, dimensional, direct, non_iterative
from debatebench.judges.baselines import BASELINES
from debatebench.judges.deliberation import Deliberation, NoVerdictError
from debatebench.judges.judgment import judgment_of
from debatebench.shared.errors import UsageError

if TYPE_CHECKING:
    from debatebench.config.prompts import PromptSet
    from debatebench.config.types import Config, MemberConfig
    from debatebench.judges.base import Judgment, Seat, Transcript
    from debatebench.judges.deliberation import Decision
    from debatebench.providers.asking import Ask


@dataclass(frozen=True, slots=True)
class Method:
    """A judge method: the coroutine that judges, and the templates of its stages (`debatrix/speech`)."""

    judge: Callable[[Deliberation], Awaitable[Decision]]
    about: str
    stages: tuple[str, ...] = ()
    """Empty for a method that uses the judge's plain prompt, and for a baseline, which asks nobody."""
    formats: tuple[str, ...] = ("two_sided", "british_parliamentary")
    is_baseline: bool = False


_ON_DIMENSIONS = ("debatrix/debate", "debatrix/position", "debatrix/winner", "debatrix/summary")

METHODS: dict[str, Method] = {
    "direct": Method(direct.judge, "the whole debate in one call"),
    "chronological": Method(
        chronological.judge,
        "speech by speech, on all dimensions at once",
        ("chronological/speech", "chronological/debate", "chronological/verdict"),
    ),
    "dimensional": Method(
        dimensional.judge,
        "dimension by dimension, the whole debate in one call",
        ("dimensional/verdict", "debatrix/summary"),
    ),
    "non_iterative": Method(
        non_iterative.judge,
        "dimension by dimension, speech by speech with the earlier speeches",
        ("non_iterative/speech", *_ON_DIMENSIONS),
    ),
    "debatrix": Method(
        debatrix.judge,
        "dimension by dimension, speech by speech with the analyses of the earlier speeches",
        ("debatrix/speech", *_ON_DIMENSIONS),
    ),
    **{
        name: Method(baseline.judge, baseline.about, formats=baseline.formats, is_baseline=True)
        for name, baseline in BASELINES.items()
    },
}


def method_of(judge: MemberConfig) -> Method:
    """The method of a judge. Raises `UsageError` for an unknown name."""
    if judge.method not in METHODS:
        known = [name for name, method in METHODS.items() if not method.is_baseline]
        raise UsageError(f"Judge '{judge.id}': no judge method '{judge.method}'. Known: {', '.join(known)}.")
    return METHODS[judge.method]


def templates_of(judge: MemberConfig) -> tuple[str, ...]:
    """The names of the templates that a judge needs, without regard to variants for its style."""
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
    deliberation = Deliberation(seat, config, prompts, transcript, ask, again=again)
    try:
        decision = await method_of(seat.judge).judge(deliberation)
    except NoVerdictError as failure:
        return judgment_of(deliberation, None, str(failure), failure.path)
    return judgment_of(deliberation, decision, None, next(reversed(deliberation.steps), None))
