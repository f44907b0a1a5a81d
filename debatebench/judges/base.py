"""What a judge method is: it hears a transcript, asks a judge as it sees fit, and returns one verdict."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from debatebench.calls import Ask
    from debatebench.config_types import ModelConfig
    from debatebench.records import Turn, Verdict

__all__ = ["JudgeMethod", "Seat", "Transcript"]


@dataclass(frozen=True, slots=True)
class Transcript:
    """A debate as a judge hears it: the topic and every turn in order, without the debaters' names."""

    run_tag: str
    debate_id: str
    debate_seed: int
    motion: str
    category: str | None
    info_slide: str | None
    turns: tuple[Turn, ...]


@dataclass(frozen=True, slots=True)
class Seat:
    """A place on a panel (positions count from 0) and the judge who sits there, maybe in the place of another."""

    position: int
    judge: ModelConfig
    replaces_judge_id: str | None = None


class JudgeMethod(Protocol):
    """A way of judging, bound to one seat. Made by `debatebench.judges.make_judge`."""

    async def judge(self, transcript: Transcript, ask: Ask) -> Verdict:
        """Return the verdict of this seat; an answer that gives no vote, or none at all, makes an invalid one.

        Whatever `ask` raises beside `CallFailedError` is let through.
        """
        ...
