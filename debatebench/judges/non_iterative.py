"""The non-iterative method: dimension by dimension and speech by speech, each with the earlier speeches."""

from __future__ import annotations

from debatebench.config.transcript_layout import Section
from debatebench.judges.deliberation import Decision, Deliberation, Method, Speech
from debatebench.judges.steps import ON_DIMENSIONS, Judged, judge_dimension, summarise


async def judge(deliberation: Deliberation) -> Decision:
    """Judge in d(n + p + 2) + 1 calls for d dimensions, n speeches and p positions."""
    speeches = deliberation.speeches

    async def decide(dimension: str) -> Judged:
        async def analyse(speech: Speech) -> Section:
            shown = [each.section for each in speeches[: speeches.index(speech) + 1]]
            return await deliberation.analyse("non_iterative/speech", shown, dimension=dimension, speech=speech)

        return await judge_dimension(deliberation, dimension, await deliberation.for_each(speeches, analyse))

    return await summarise(deliberation, await deliberation.for_each(deliberation.config.dimensions, decide))


METHOD = Method(judge, ("non_iterative/speech", *ON_DIMENSIONS), is_guided=False)
