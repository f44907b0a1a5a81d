"""Judge methods: the ways to turn a transcript into a verdict, by name.

asks.py       all requests to one judge about one debate
base.py       what a judge method is
direct.py     the whole transcript in one call
injection.py  signs that a speech addresses the judge
parsing.py    a judge's answer → scores, parsed strictly
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from debatebench.judges.direct import DirectJudge
from debatebench.shared.errors import UsageError

if TYPE_CHECKING:
    from debatebench.config.prompts import PromptSet
    from debatebench.config.types import Config
    from debatebench.judges.base import JudgeMethod, Seat

__all__ = ["JUDGE_METHODS", "make_judge"]

JUDGE_METHODS: dict[str, Callable[[Seat, Config, PromptSet], JudgeMethod]] = {"direct": DirectJudge}


def make_judge(seat: Seat, config: Config, prompts: PromptSet, method: str = "direct") -> JudgeMethod:
    """The judge method of that name, bound to a seat. Raises `UsageError` for an unknown name."""
    if method not in JUDGE_METHODS:
        raise UsageError(f"No judge method '{method}'. Known: {', '.join(sorted(JUDGE_METHODS))}.")
    return JUDGE_METHODS[method](seat, config, prompts)
