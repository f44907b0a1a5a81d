"""A panel: its judges judge the debate at the same time, and a judge who gives no vote is replaced from the pool."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Sequence

import msgspec

from debatebench.config.types import MemberConfig
from debatebench.judges import ask_judge
from debatebench.judges.base import Judgment, Seat, Transcript
from debatebench.plan.judge_calls import JudgeCalls, shown_first
from debatebench.plan.plan import Plan
from debatebench.plan.schedule import replacement_judges
from debatebench.providers.asking import Answer, Ask, CallFailedError, Step
from debatebench.providers.base import Request
from debatebench.shared.records import ScheduledDebate, Turn, Verdict


async def judge_debate(
    debate: ScheduledDebate,
    turns: Sequence[Turn],
    plan: Plan,
    ask: Ask,
    may_ask_again: Callable[[int], bool] = lambda _: False,
    judge_calls: JudgeCalls | None = None,
) -> list[Judgment]:
    """The judgments of every judge that was asked, by panel position, each replacement after the judge it replaced.

    The panel is complete when it has one valid verdict per seat; the pool may be exhausted before that. Empty seats
    are filled in rounds: once all judges have answered, the next judges of the pool take the empty seats in panel
    order. The seating therefore depends on the answers and never on their speed, and a resumed run seats the same
    judges. If seats are empty then, `may_ask_again` is called with 1, 2 and so on, and says whether their first
    judges are asked again; a later verdict of a judge takes the place of its earlier one. With `judge_calls`, each step
    says how many calls must follow it.
    """
    ask = _once(ask)
    if judge_calls is not None:
        ask = _with_calls_after(ask, debate, judge_calls)
    transcript = _transcript(debate, turns, plan)
    pool = _pool(debate, plan)
    seats = [
        Seat(position, plan.judge(judge_id), first=shown_first(plan, debate, judge_id))
        for position, judge_id in enumerate(debate.panel)
    ]
    judgments: list[Judgment] = []
    while seats:
        asked = await _ask_judges(seats, transcript, plan, ask)
        judgments += asked
        empty = [each.verdict.panel_position for each in asked if not each.verdict.is_valid]
        # zip takes a judge from the pool only after it has found an empty seat, so no judge of the pool is skipped.
        seats = [
            Seat(at, plan.judge(judge_id), debate.panel[at], shown_first(plan, debate, debate.panel[at]))
            for at, judge_id in zip(empty, pool, strict=False)
        ]
    again = 1
    while (empty := _empty(debate, judgments)) and may_ask_again(again):
        seats = [
            Seat(at, plan.judge(debate.panel[at]), first=shown_first(plan, debate, debate.panel[at])) for at in empty
        ]
        for judgment in await _ask_judges(seats, transcript, plan, ask, again=again):
            judge_id = judgment.verdict.judge_id
            place = next(n for n, earlier in enumerate(judgments) if earlier.verdict.judge_id == judge_id)
            judgments[place] = judgment
        again += 1
    return sorted(judgments, key=lambda judgment: judgment.verdict.panel_position)


def _once(ask: Ask) -> Ask:
    """The same, but a step that was asked before ends as it did then, because a judge asked again judges again."""
    ended: dict[str, Answer | CallFailedError] = {}

    async def asked(step: Step, member: MemberConfig, request: Request) -> Answer:
        if step.name not in ended:
            try:
                ended[step.name] = await ask(step, member, request)
            except CallFailedError as failure:
                ended[step.name] = failure
        found = ended[step.name]
        if isinstance(found, CallFailedError):
            raise found
        return found

    return asked


def _with_calls_after(ask: Ask, debate: ScheduledDebate, judge_calls: JudgeCalls) -> Ask:
    """The same, with the number of calls that must follow each one, so that long chains go first."""

    async def asked(step: Step, member: MemberConfig, request: Request) -> Answer:
        if after := judge_calls.calls_after(debate, member.id, step.name):
            step = msgspec.structs.replace(step, calls_after=after)
        return await ask(step, member, request)

    return asked


def _empty(debate: ScheduledDebate, judgments: Sequence[Judgment]) -> list[int]:
    """The seats without a valid verdict."""
    taken = {each.verdict.panel_position for each in judgments if each.verdict.is_valid}
    return [position for position in range(len(debate.panel)) if position not in taken]


def _pool(debate: ScheduledDebate, plan: Plan) -> Iterator[str]:
    """The judges who may take a seat, drawn only when one is needed, because few panels need a replacement."""
    yield from replacement_judges(plan, debate)


def _transcript(debate: ScheduledDebate, turns: Sequence[Turn], plan: Plan) -> Transcript:
    topic, stored = plan.topic(debate.topic_id), plan.stored(debate)
    return Transcript(
        plan.run_tag,
        debate.debate_id,
        debate.debate_seed,
        topic.motion,
        topic.category,
        topic.info_slide,
        tuple(turns),
        {} if stored is None else stored.classes,
    )


async def _ask_judges(
    seats: Sequence[Seat], transcript: Transcript, plan: Plan, ask: Ask, *, again: int = 0
) -> list[Judgment]:
    """One judgment per seat, in order. When a seat raises an error, the other seats still finish their calls.

    Those calls are already being billed; the first error in panel order is raised when all have finished.
    """
    results = await asyncio.gather(
        *(ask_judge(seat, plan.config, plan.prompts, transcript, ask, again=again) for seat in seats),
        return_exceptions=True,
    )
    judgments = []
    for result in results:
        if isinstance(result, BaseException):
            raise result
        judgments.append(result)
    return judgments


def panel_reason(seats: int, verdicts: Sequence[Verdict]) -> str:
    """The reason why a panel is not complete, in one sentence."""
    invalid = ", ".join(f"{v.judge_id}: {v.invalid_reason}" for v in verdicts if not v.is_valid)
    valid = sum(verdict.is_valid for verdict in verdicts)
    return f"{valid} of {seats} judges gave a valid verdict ({invalid}) and the pool has no other."
