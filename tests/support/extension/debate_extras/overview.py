"""Overview: the judge sums the debate up, and decides from its own words."""

from pathlib import Path

from debatebench.config.answer_form import AnswerForm
from debatebench.judges.deliberation import Decision, Deliberation, Method


async def judge(deliberation: Deliberation) -> Decision:
    speeches = [speech.section for speech in deliberation.speeches]
    overview = await deliberation.analyse("overview/debate", speeches)
    form = AnswerForm(deliberation.config.dimensions, deliberation.positions, declares_winner=True)
    answer = await deliberation.decide("overview/verdict", [overview], form)
    return Decision(answer.scores, answer.winners, answer.is_repaired, answer.flags)


METHOD = Method(
    judge,
    ("overview/debate", "overview/verdict"),
    prompts=Path(__file__).parent / "prompts",
)
