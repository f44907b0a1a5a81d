"""The dimensional method: each dimension by itself, with the whole debate in one call; then the dimensions together."""

from __future__ import annotations

from debatebench.config.answer_form import AnswerForm
from debatebench.config.transcript_layout import Section
from debatebench.judges.deliberation import Decision, Deliberation, Method
from debatebench.judges.steps import Judged, report_of, summarise


async def judge(deliberation: Deliberation) -> Decision:
    """Judge in d + 1 calls for d dimensions."""

    async def decide(dimension: str) -> Judged:
        settings = deliberation.config.dimensions[dimension]
        allows_tie = settings.ties or deliberation.transcript.is_of_teams
        form = AnswerForm({dimension: settings}, deliberation.positions, declares_winner=True, allows_tie=allows_tie)
        speeches = [speech.section for speech in deliberation.speeches]
        answer = await deliberation.decide("dimensional/verdict", speeches, form, dimension=dimension)
        return Judged(Section(report_of([answer], dimension), None, dimension, is_analysis=True), (answer,))

    return await summarise(deliberation, await deliberation.for_each(deliberation.config.dimensions, decide))


METHOD = Method(judge, ("dimensional/verdict", "debatrix/summary"), is_guided=False)
