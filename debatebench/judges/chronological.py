"""The chronological method: speech by speech, on all dimensions at once.

Each speech is analysed with the analyses of the earlier ones before the judge, and never their text; then the debate is
analysed, then decided.
"""

from __future__ import annotations

from debatebench.config.answer_form import AnswerForm
from debatebench.judges.deliberation import Decision, Deliberation, Method
from debatebench.judges.steps import analyse_speeches


async def judge(deliberation: Deliberation) -> Decision:
    """Judge in n + 2 calls for n speeches."""
    analyses = await analyse_speeches(deliberation, "chronological/speech")
    debate = await deliberation.analyse("chronological/debate", analyses)
    form = AnswerForm(deliberation.config.dimensions, deliberation.positions, declares_winner=True)
    answer = await deliberation.decide("chronological/verdict", [debate], form)
    return Decision(answer.scores, answer.winners, answer.is_repaired, answer.flags)


METHOD = Method(judge, ("chronological/speech", "chronological/debate", "chronological/verdict"), is_guided=False)
