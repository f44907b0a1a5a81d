"""The Debatrix method: dimension by dimension and speech by speech, with analyses in place of the earlier speeches.

After J. Liang et al., "Debatrix: Multi-dimensional Debate Judge with Iterative Chronological Analysis Based on LLM"
(Findings of ACL 2024): for each dimension, every speech is analysed with the analyses of the earlier ones before the
judge; then the debate is analysed, each debater judged and the winner named; then the dimensions are summarised.
"""

from __future__ import annotations

from debatebench.judges.deliberation import Decision, Deliberation, Method
from debatebench.judges.steps import ON_DIMENSIONS, Judged, analyse_speeches, judge_dimension, summarise


async def judge(deliberation: Deliberation) -> Decision:
    """Judge in d(n + p + 2) + 1 calls for d dimensions, n speeches and p positions."""

    async def decide(dimension: str) -> Judged:
        analyses = await analyse_speeches(deliberation, "debatrix/speech", dimension)
        return await judge_dimension(deliberation, dimension, analyses)

    return await summarise(deliberation, await deliberation.for_each(deliberation.config.dimensions, decide))


METHOD = Method(judge, ("debatrix/speech", *ON_DIMENSIONS), is_guided=False)
