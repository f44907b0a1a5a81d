"""Stored answers of a judge are read again: its method is played with them, and nothing is sent."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from debatebench.config.prompts import PromptSet
from debatebench.config.types import Config
from debatebench.judges import method_of
from debatebench.judges.answer_json import InvalidVerdictError
from debatebench.judges.base import Seat, Transcript
from debatebench.judges.deliberation import Deliberation, NoVerdictError, Question
from debatebench.judges.judgment import StoredAnswer, notes_of, scores_of
from debatebench.judges.parsing import winner_of
from debatebench.providers.asking import Answer, Step
from debatebench.providers.base import Completion, Request
from debatebench.shared.errors import DebatebenchError
from debatebench.shared.records import JudgeNote, Score, Winner

_Item = TypeVar("_Item")
_Result = TypeVar("_Result")


@dataclass(frozen=True, slots=True)
class Reread:
    """What stored answers say today."""

    scores: tuple[Score, ...]
    declared_winner: Winner | None
    is_repaired: bool
    flags: tuple[str, ...]
    notes: tuple[JudgeNote, ...]
    answers: Mapping[str, StoredAnswer]
    """The answers that were used, without analyses, by path, in the order of the steps."""


def reread(
    seat: Seat,
    config: Config,
    prompts: PromptSet,
    transcript: Transcript,
    answers: Mapping[str, Sequence[StoredAnswer]],
) -> Reread | str | None:
    """What the stored answers of a deliberation say today; or the reason why they contain no vote.

    `answers` are by path; of each step the first one that can be read is used. None if a step has no stored answer, so
    that nothing can be said.
    """
    deliberation = _Replay(seat, config, prompts, transcript, answers)
    try:
        decision = method_of(seat.judge).judge_at_once(deliberation)
        return Reread(
            scores_of(decision.scores, deliberation),
            winner_of(decision.winners),
            decision.is_repaired,
            decision.flags,
            tuple(notes_of(deliberation)),
            {path: used for path, used in deliberation.used.items() if not deliberation.steps[path].is_analysis},
        )
    except NoVerdictError as failure:
        return str(failure)
    except _NotStoredError:
        return None


class _NotStoredError(DebatebenchError):
    """A step has no stored answer."""


class _Replay(Deliberation):
    """A deliberation whose steps have been answered."""

    def __init__(
        self,
        seat: Seat,
        config: Config,
        prompts: PromptSet,
        transcript: Transcript,
        answers: Mapping[str, Sequence[StoredAnswer]],
    ) -> None:
        super().__init__(seat, config, prompts, transcript, _ask_nobody)
        self._answers = answers
        self.used: dict[str, StoredAnswer] = {}

    async def for_each(
        self, items: Iterable[_Item], coroutine: Callable[[_Item], Coroutine[Any, Any, _Result]]
    ) -> list[_Result]:
        """One after another, because nothing has to be waited for."""
        return [await coroutine(item) for item in items]

    async def _put(self, question: Question, read: Callable[[Completion], _Result]) -> _Result:
        # An analysis is never taken from a tool call.
        stored_answers = self._answers.get(question.path, ())
        tried = [each for each in stored_answers if question.form is not None or not each.completion.is_moved]
        reasons = []
        for stored in tried:
            self.used[question.path] = stored
            self._begin(question, stored.call_id)
            try:
                return read(stored.completion)
            except InvalidVerdictError as invalid:
                reasons.append(invalid.reason)
        if not reasons:
            raise _NotStoredError(question.path)
        raise NoVerdictError(reasons[0], question.path)


async def _ask_nobody(step: Step, member: object, request: Request) -> Answer:
    raise AssertionError(f"{step.name} is asked again, although only stored answers are read.")
