"""The steps that judge methods share: analyses of speeches, judgments on dimensions, the summary over dimensions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal

from debatebench.config.answer_form import AnswerForm
from debatebench.config.transcript_layout import Section
from debatebench.config.types import Config, DimensionConfig
from debatebench.judges.deliberation import OVERALL, Decision, Deliberation
from debatebench.judges.parsing import ParsedAnswer

ON_DIMENSIONS = ("debatrix/debate", "debatrix/position", "debatrix/winner", "debatrix/summary")
"""The stages of `judge_dimension` and `summarise`."""

_WHOLE_SCALE = DimensionConfig(min=Decimal(1), max=Decimal(10))


@dataclass(frozen=True, slots=True)
class Judged:
    """The judgment on one dimension: what the summary reads of it, and its scores."""

    report: Section
    answers: tuple[ParsedAnswer, ...]


async def analyse_speeches(deliberation: Deliberation, template: str, dimension: str | None = None) -> list[Section]:
    """One analysis after another, each of the next speech, with the analyses of the earlier ones before the judge."""
    analyses: list[Section] = []
    for speech in deliberation.speeches:
        shown = [*analyses, speech.section]
        analyses.append(await deliberation.analyse(template, shown, dimension=dimension, speech=speech))
    return analyses


async def judge_dimension(deliberation: Deliberation, dimension: str, analyses: Sequence[Section]) -> Judged:
    """From the analyses of the speeches: the analysis of the debate, then a score for each position and the winner."""
    debate = await deliberation.analyse("debatrix/debate", analyses, dimension=dimension)
    settings = deliberation.config.dimensions[dimension]
    scale = {dimension: settings}

    async def decide(part: str) -> ParsedAnswer:
        if part == "winner":
            allows_tie = settings.ties or deliberation.transcript.is_of_teams
            form = AnswerForm({}, deliberation.positions, declares_winner=True, allows_tie=allows_tie)
            return await deliberation.decide("debatrix/winner", [debate], form, dimension=dimension)
        form = AnswerForm(scale, (part,))
        return await deliberation.decide("debatrix/position", [debate], form, dimension=dimension, position=part)

    answers = tuple(await deliberation.for_each([*deliberation.positions, "winner"], decide))
    report = f"{debate.text}\n\n{report_of(answers, dimension)}"
    return Judged(Section(report, None, dimension, is_analysis=True), answers)


async def summarise(deliberation: Deliberation, judged: Sequence[Judged]) -> Decision:
    """From the reports on all dimensions: a score of each position for the whole debate, and the winner."""
    form = AnswerForm({OVERALL: whole_scale(deliberation.config)}, deliberation.positions, declares_winner=True)
    reports = [each.report for each in judged]
    summary = await deliberation.decide("debatrix/summary", reports, form)
    scores: dict[str, dict[str, Decimal]] = {position: {} for position in deliberation.positions}
    answers = [answer for each in judged for answer in each.answers]
    for answer in answers:
        for position, given in answer.scores.items():
            scores[position] |= given
    parts = [*answers, summary]
    flags = tuple(dict.fromkeys(flag for part in parts for flag in part.flags))
    return Decision(scores, summary.winners, any(part.is_repaired for part in parts), flags)


def report_of(answers: Sequence[ParsedAnswer], dimension: str) -> str:
    """The scores on a dimension and its winner in words, each with its reason."""
    lines = []
    for answer in answers:
        for position, scores in answer.scores.items():
            lines.append(f"{position.upper()}: {scores[dimension]}. {answer.reasons.get(position, '')}".strip())
        if answer.winners:
            named = " and ".join(position.upper() for position in answer.winners)
            lines.append(f"Winner: {named}. {answer.reasons.get('winner', '')}".strip())
    return "\n".join(lines)


def whole_scale(config: Config) -> DimensionConfig:
    """The scale of the whole debate: that of all dimensions if they have the same one."""
    first, *others = config.dimensions.values()
    if any(each.scores != first.scores for each in others):
        return _WHOLE_SCALE
    return DimensionConfig(min=first.min, max=first.max, integer=first.integer, step=first.step)
