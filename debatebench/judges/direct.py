"""The direct method: one call takes the whole transcript and returns the scores of every position."""

from __future__ import annotations

from typing import TYPE_CHECKING

from debatebench.config.answer_form import AnswerForm
from debatebench.judges.hearing import Decision, Method

if TYPE_CHECKING:
    from debatebench.judges.hearing import Hearing


async def judge(hearing: Hearing) -> Decision:
    """Judge by one answer."""
    declares_winner = hearing.prompts.declares_winner(hearing.seat.judge.prompt_style)
    form = AnswerForm(hearing.config.dimensions, hearing.positions, declares_winner)
    answer = await hearing.decide_at_once(form)
    return Decision(answer.scores, answer.winners, answer.is_repaired, answer.flags)


METHOD = Method(judge, "the whole debate in one call")
