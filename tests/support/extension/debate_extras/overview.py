"""Overview: the judge sums the debate up, and decides from its own words."""

from pathlib import Path

from debatebench.config.answer_form import AnswerForm
from debatebench.judges.hearing import Decision, Hearing, Method


async def judge(hearing: Hearing) -> Decision:
    speeches = [speech.section for speech in hearing.speeches]
    overview = await hearing.analyse("overview/debate", speeches)
    form = AnswerForm(hearing.config.dimensions, hearing.positions, declares_winner=True)
    answer = await hearing.decide("overview/verdict", [overview], form)
    return Decision(answer.scores, answer.winners, answer.is_repaired, answer.flags)


METHOD = Method(
    judge,
    "an overview of the debate, then the verdict",
    ("overview/debate", "overview/verdict"),
    prompts=Path(__file__).parent / "prompts",
)
