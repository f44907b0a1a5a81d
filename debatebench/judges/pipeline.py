"""The methods of the Debatrix paper: a judge writes what it thinks, and its scores and winner are read from that text.

After J. Liang et al., "Debatrix: Multi-dimensional Debate Judge with Iterative Chronological Analysis Based on LLM"
(Findings of ACL 2024, algorithm 1 and section 5). A speech is analysed by itself; then a text compares the debaters and
names the best; then each debater's score and the winner are extracted from this text, by calls that see nothing else.
Where dimensions are judged by themselves, a summary weighs their texts, and the whole is extracted from the summary.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Literal

from debatebench.config.answer_form import AnswerForm
from debatebench.config.transcript_layout import Section
from debatebench.config.types import DimensionConfig
from debatebench.judges.deliberation import OVERALL, Decision, Deliberation, Method, Speech
from debatebench.judges.parsing import ParsedAnswer
from debatebench.judges.steps import whole_scale

_SPEECH, _DEBATE, _SUMMARY, _POSITION, _WINNER = (
    f"debatrix_v2/{stage}" for stage in ("speech", "debate", "summary", "position", "winner")
)


@dataclass(frozen=True, slots=True)
class Pipeline:
    """What tells one method from another."""

    by_dimension: bool
    """Whether each dimension is judged by itself and a summary follows, or all of them are judged together."""
    earlier: Literal["analyses", "speeches"] | None
    """What the judge has of the earlier speeches when it analyses one. None: it analyses none, and judges the debate
    from the speeches themselves."""

    def method(self) -> Method:
        """The judge method."""
        analysing = (_SPEECH,) if self.earlier else ()
        summing_up = (_SUMMARY,) if self.by_dimension else ()
        stages = (*analysing, _DEBATE, *summing_up, _POSITION, _WINNER)
        return Method(self.judge, stages, has_free_texts=True)

    async def judge(self, deliberation: Deliberation) -> Decision:
        """Judge in p + 2 calls for p positions, or d(p + 2) + p + 2 for d dimensions, and n more for n speeches.

        Where speeches are analysed for each dimension, there are d · n more.
        """
        config = deliberation.config
        whole, ties = {OVERALL: whole_scale(config)}, config.whole.ties
        if not self.by_dimension:
            _, answers = await self._judged(deliberation, None, {**whole, **config.dimensions}, allows_tie=ties)
            return _decision(deliberation, answers, answers)

        async def judged(dimension: str) -> tuple[Section, Sequence[ParsedAnswer]]:
            settings = config.dimensions[dimension]
            return await self._judged(deliberation, dimension, {dimension: settings}, allows_tie=settings.ties)

        by_dimension = await deliberation.for_each(config.dimensions, judged)
        form = AnswerForm(whole, deliberation.positions, declares_winner=True, allows_tie=ties)
        summary = await deliberation.weigh(_SUMMARY, [text for text, _ in by_dimension], form)
        last = await _extracted(deliberation, summary, form, None)
        return _decision(deliberation, [answer for _, answers in by_dimension for answer in answers], last)

    async def _judged(
        self,
        deliberation: Deliberation,
        dimension: str | None,
        scales: Mapping[str, DimensionConfig],
        *,
        allows_tie: bool,
    ) -> tuple[Section, Sequence[ParsedAnswer]]:
        """The judgment of the debate in words, and what has been extracted from it."""
        shown = await self._analyses(deliberation, dimension)
        form = AnswerForm(scales, deliberation.positions, declares_winner=True, allows_tie=allows_tie)
        judgment = await deliberation.weigh(_DEBATE, shown, form, dimension=dimension)
        return judgment, await _extracted(deliberation, judgment, form, dimension)

    async def _analyses(self, deliberation: Deliberation, dimension: str | None) -> Sequence[Section]:
        """The analyses of all speeches, or the speeches where none is analysed."""
        speeches = deliberation.speeches
        if self.earlier is None:
            return [speech.numbered for speech in speeches]

        async def analysis(speech: Speech, earlier: Sequence[Section]) -> Section:
            shown = [*earlier, speech.numbered]
            return await deliberation.analyse(_SPEECH, shown, dimension=dimension, speech=speech)

        if self.earlier == "speeches":
            # None of them waits for another.
            numbered = [speech.numbered for speech in speeches]
            return await deliberation.for_each(speeches, lambda each: analysis(each, numbered[: each.number - 1]))
        analyses: list[Section] = []
        for speech in speeches:
            analyses.append(await analysis(speech, analyses))
        return analyses


async def _extracted(
    deliberation: Deliberation, judgment: Section, form: AnswerForm, dimension: str | None
) -> Sequence[ParsedAnswer]:
    """The scores of each position and the winner, in a call for each, as the text has them."""

    async def extract(part: str) -> ParsedAnswer:
        if part == "winner":
            winner = AnswerForm({}, form.positions, declares_winner=True, allows_tie=form.allows_tie)
            return await deliberation.decide(_WINNER, [judgment], winner, dimension=dimension, is_extracted=True)
        scores = AnswerForm(form.dimensions, (part,))
        return await deliberation.decide(
            _POSITION, [judgment], scores, dimension=dimension, position=part, is_extracted=True
        )

    return await deliberation.for_each([*form.positions, "winner"], extract)


def _decision(deliberation: Deliberation, scored: Sequence[ParsedAnswer], last: Sequence[ParsedAnswer]) -> Decision:
    """The scores of every answer on a dimension, and the winner of the last text."""
    scores: dict[str, dict[str, Decimal]] = {position: {} for position in deliberation.positions}
    for answer in scored:
        for position, given in answer.scores.items():
            scores[position] |= given
    parts = [*scored, *last]
    flags = tuple(dict.fromkeys(flag for part in parts for flag in part.flags))
    return Decision(scores, last[-1].winners, any(part.is_repaired for part in parts), flags)


METHODS = {
    "whole_debate": Pipeline(by_dimension=False, earlier=None).method(),
    "chronological_v2": Pipeline(by_dimension=False, earlier="analyses").method(),
    "dimensional_v2": Pipeline(by_dimension=True, earlier=None).method(),
    "non_iterative_v2": Pipeline(by_dimension=True, earlier="speeches").method(),
    "debatrix_v2": Pipeline(by_dimension=True, earlier="analyses").method(),
}
"""The methods by name."""
