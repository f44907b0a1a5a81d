"""Judge methods: the ways to turn a transcript into a verdict, by name."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from debatebench.errors import UsageError
from debatebench.judges.direct import DirectJudge

if TYPE_CHECKING:
    from debatebench.config_types import Config
    from debatebench.judges.base import JudgeMethod, Seat
    from debatebench.prompts import PromptSet

__all__ = ["JUDGE_METHODS", "make_judge"]

JUDGE_METHODS: dict[str, Callable[[Seat, Config, PromptSet], JudgeMethod]] = {"direct": DirectJudge}


def make_judge(seat: Seat, config: Config, prompts: PromptSet, method: str = "direct") -> JudgeMethod:
    """The judge method of that name, bound to a seat. Raises `UsageError` for a name that is not known."""
    if method not in JUDGE_METHODS:
        raise UsageError(f"No judge method '{method}'. Known: {', '.join(sorted(JUDGE_METHODS))}.")
    return JUDGE_METHODS[method](seat, config, prompts)
