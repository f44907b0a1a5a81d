"""The direct method: one call takes the whole transcript and returns the scores of both sides."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from debatebench.config.prompts import fill, judge_values
from debatebench.config.transcript_layout import fenced, render_transcript
from debatebench.config.verdict_schema import verdict_schema
from debatebench.judges.asks import JudgeAsks
from debatebench.judges.injection import planted_scores
from debatebench.judges.parsing import InvalidVerdictError, parse_verdict
from debatebench.providers.asking import Ask, Step
from debatebench.providers.base import Message
from debatebench.providers.requests import is_cut_off, request_to, seed_of, short_hash

if TYPE_CHECKING:
    from debatebench.config.prompts import PromptSet
    from debatebench.config.types import Config
    from debatebench.judges.base import Seat, Transcript
    from debatebench.providers.base import Request
    from debatebench.shared.records import Side, Verdict

__all__ = ["DirectJudge", "verdict_schema"]

_ASKS = 2
_CUT_OFF = "the answer was cut off at the limit of tokens"
_CAP_GROWTH = 4
_LEAST_GROWN_CAP = 4096


@dataclass(frozen=True, slots=True)
class DirectJudge:
    """Asks the judge of a seat, and once more, with the reason, when the answer contains no vote.

    An answer that was cut off at the token limit contains no vote, and the second request has a higher limit.
    """

    seat: Seat
    config: Config
    prompts: PromptSet

    async def judge(self, transcript: Transcript, ask: Ask, *, again: int = 0) -> Verdict:
        """See `JudgeMethod`."""
        transcript = transcript.as_shown_to(self.seat)
        dimensions, declares_winner = self.config.dimensions, self._declares_winner
        speeches = render_transcript(transcript.turns)
        nonce = _nonce(transcript, self.seat.judge.id, speeches)
        asked = JudgeAsks(self.seat)
        parsed = None
        while parsed is None and asked.asks < _ASKS * (1 + again):
            step = Step(transcript.debate_id, f"verdict:{self.seat.judge.id}:{asked.asks}", "verdict")
            shown = fenced(speeches, nonce, is_order_drawn=self.seat.first is not None)
            answer = await asked.ask(ask, step, self._request(transcript, shown, step, asked))
            if answer is None:
                break
            if is_cut_off(answer.completion):
                asked.reject(_CUT_OFF)
                continue
            try:
                parsed = parse_verdict(answer.completion.text, dimensions, declares_winner)
            except InvalidVerdictError as invalid:
                asked.reject(invalid.reason)
        is_copied = parsed is not None and parsed.scores in planted_scores(transcript.turns, dimensions)
        is_nonce_told = any(nonce in answer.completion.text for answer in asked.answers)
        return asked.verdict(transcript, parsed, is_injection_suspected=is_copied or is_nonce_told)

    @property
    def _declares_winner(self) -> bool:
        return self.prompts.declares_winner(self.seat.judge.prompt_style)

    @property
    def _sides(self) -> tuple[Side, ...]:
        """The sides in the order in which the judge sees them and gives their scores."""
        return ("con", "pro") if self.seat.first == "con" else ("pro", "con")

    def _request(self, transcript: Transcript, speeches: str, step: Step, asked: JudgeAsks) -> Request:
        """The next request to the judge, given the result of the previous one."""
        judge, dimensions = self.seat.judge, self.config.dimensions
        values = judge_values(
            self.config,
            motion=transcript.motion,
            category=transcript.category,
            info_slide=transcript.info_slide,
            transcript=speeches,
            declares_winner=self._declares_winner,
            sides=self._sides,
        )
        task = fill(self.prompts.judge_user, values)
        if asked.reasons:
            task += f"\n\nYour last answer could not be used: {asked.reasons[-1]}. Answer again, with the object only."
        return request_to(
            judge,
            (Message("system", fill(self.prompts.judge_system(judge.prompt_style), values)), Message("user", task)),
            temperature=0.0,
            max_tokens=_cap(judge.token_limit, asked),
            seed=seed_of(transcript.debate_seed, step.name),
            json_schema=verdict_schema(dimensions, self._declares_winner, self._sides),
            hints={
                "task": "verdict",
                "motion": transcript.motion,
                "category": transcript.category,
                "dimensions": {n: {"min": d.ends[0], "max": d.ends[1]} for n, d in dimensions.items()},
                "declares_winner": self._declares_winner,
                "ask": asked.asks,
            },
        )


def _nonce(transcript: Transcript, judge_id: str, speeches: str) -> str:
    """The nonce of the delimiters: the same in every session, and different as soon as a speech differs.

    A debater cannot write it into a speech, even if it knows the seed, because the speech is part of the hash input.
    """
    return short_hash(transcript.run_tag, str(transcript.debate_seed), judge_id, "nonce", speeches)


def _cap(token_limit: int | None, asked: JudgeAsks) -> int | None:
    """The token limit of the answer: the judge's own limit, or a higher one after an answer that was cut off."""
    if not asked.reasons or asked.reasons[-1] != _CUT_OFF:
        return token_limit
    reached = token_limit or asked.answers[-1].completion.completion_tokens or 0
    return max(_CAP_GROWTH * reached, _LEAST_GROWN_CAP)
