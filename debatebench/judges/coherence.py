"""The coherence check: can each side's speeches be judged, and for which side does each of them argue?

The second question is asked blind: speakers have numbers, and nothing says for which side they were to speak.
"""

from __future__ import annotations

from debatebench.config.answer_form import AnswerForm
from debatebench.judges.deliberation import Decision, Deliberation, Method
from debatebench.judges.parsing import ParsedAnswer

_VERDICT, _SIDES = "coherence/verdict", "coherence/sides"


async def judge(deliberation: Deliberation) -> Decision:
    """Judge in two calls. The answer about sides is in the notes; it is no score and names no winner."""

    async def asked(template: str) -> ParsedAnswer:
        if template == _SIDES:
            return await deliberation.tell_sides(template)
        form = AnswerForm(deliberation.config.dimensions, deliberation.positions)
        return await deliberation.decide(template, [speech.numbered for speech in deliberation.speeches], form)

    verdict, sides = await deliberation.for_each((_VERDICT, _SIDES), asked)
    flags = tuple(dict.fromkeys((*verdict.flags, *sides.flags)))
    return Decision(verdict.scores, (), verdict.is_repaired or sides.is_repaired, flags)


METHOD = Method(judge, (_VERDICT, _SIDES))
