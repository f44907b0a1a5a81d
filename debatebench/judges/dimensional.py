"""The dimensional method: each dimension by itself, with the whole debate in one call; then the dimensions together."""

from __future__ import annotations

from typing import TYPE_CHECKING

from debatebench.config.answer_form import AnswerForm
from debatebench.config.transcript_layout import Section
from debatebench.judges.hearing import Method
from debatebench.judges.steps import Judged, report_of, summarise

if TYPE_CHECKING:
    from debatebench.judges.hearing import Decision, Hearing


async def judge(hearing: Hearing) -> Decision:
    """Judge in d + 1 calls for d dimensions."""

    async def decide(dimension: str) -> Judged:
        settings = hearing.config.dimensions[dimension]
        form = AnswerForm({dimension: settings}, hearing.positions, declares_winner=True, allows_tie=settings.ties)
        speeches = [speech.section for speech in hearing.speeches]
        answer = await hearing.decide("dimensional/verdict", speeches, form, dimension=dimension)
        return Judged(Section(report_of([answer], dimension), None, dimension, is_analysis=True), (answer,))

    return await summarise(hearing, await hearing.for_each(hearing.config.dimensions, decide))


METHOD = Method(
    judge,
    "dimension by dimension, the whole debate in one call",
    ("dimensional/verdict", "debatrix/summary"),
)
