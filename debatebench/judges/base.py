"""The interface of a judge method: it receives a transcript, sends requests to a judge and returns one verdict."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Protocol

from debatebench.config.transcript_layout import in_order

if TYPE_CHECKING:
    from debatebench.config.types import MemberConfig
    from debatebench.providers.asking import Ask
    from debatebench.shared.records import Side, Turn, Verdict

__all__ = ["JudgeMethod", "Seat", "Transcript"]


@dataclass(frozen=True, slots=True)
class Transcript:
    """A debate as shown to a judge: the topic and every turn in order, without the debaters' names."""

    run_tag: str
    debate_id: str
    debate_seed: int
    motion: str
    category: str | None
    info_slide: str | None
    turns: tuple[Turn, ...]

    def as_shown_to(self, seat: Seat) -> Transcript:
        """The same debate with the speeches in the order in which that seat sees them."""
        return self if seat.first is None else replace(self, turns=tuple(in_order(self.turns, seat.first)))


@dataclass(frozen=True, slots=True)
class Seat:
    """A place on a panel (positions count from 0) and the judge who has it, possibly as a replacement.

    `first` is the side that the judge is shown first; None leaves the speeches in the order in which they were given.
    """

    position: int
    judge: MemberConfig
    replaces_judge_id: str | None = None
    first: Side | None = None


class JudgeMethod(Protocol):
    """A way of judging, bound to one seat. Created by `debatebench.judges.make_judge`."""

    async def judge(self, transcript: Transcript, ask: Ask, *, again: int = 0) -> Verdict:
        """Return the verdict of this seat; it is invalid when the answer contains no vote or there is no answer.

        `again` is how many more times the judge is asked after that, each time with new requests.
        Exceptions from `ask` other than `CallFailedError` are not caught.
        """
        ...
