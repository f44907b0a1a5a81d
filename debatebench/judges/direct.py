"""The direct method: one call takes the whole transcript and returns the scores of every position."""

from __future__ import annotations

from debatebench.config.answer_form import AnswerForm
from debatebench.judges.deliberation import Decision, Deliberation, Method


async def judge(deliberation: Deliberation) -> Decision:
    """Judge by one answer."""
    declares_winner = deliberation.prompts.declares_winner(deliberation.seat.judge.prompt_style)
    form = AnswerForm(deliberation.config.dimensions, deliberation.positions, declares_winner)
    answer = await deliberation.decide_at_once(form)
    return Decision(answer.scores, answer.winners, answer.is_repaired, answer.flags)


METHOD = Method(judge)
