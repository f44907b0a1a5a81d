"""The stored debates that a run judges, as its plan freezes them: who spoke and how long, but not what was said."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict

from debatebench.shared.hashing import hash_of
from debatebench.shared.records import Side, Turn, Winner

__all__ = ["Source", "SourceDebate", "SourceSpeaker", "SourceSpeech", "hash_of_speeches"]


class _Frozen(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class SourceSpeaker(_Frozen):
    """A debater and its position."""

    position: str
    side: Side
    model_id: str


class SourceSpeech(_Frozen):
    """A speech without its text."""

    position: str
    side: Side
    stage: str | None = None
    characters: int


class SourceDebate(_Frozen):
    """A stored debate. `sha256` is the hash of its speeches, so that a run that goes on judges the same ones."""

    debate_id: str
    topic_id: str
    format: Literal["two_sided", "british_parliamentary"] = "two_sided"
    speakers: tuple[SourceSpeaker, ...]
    speeches: tuple[SourceSpeech, ...]
    sha256: str
    truth: Winner | None = None
    """The winner according to people, where it is known; only the baseline `majority_class` uses it."""

    def model_of(self, side: Side) -> str | None:
        """The debater of a side; None where a side has two."""
        models = [speaker.model_id for speaker in self.speakers if speaker.side == side]
        return models[0] if len(models) == 1 else None


class Source(_Frozen):
    """The run or import whose debates are judged. `debaters` are the columns of its debaters, without the run tag."""

    run_tag: str
    debaters: tuple[dict[str, Any], ...]
    debates: tuple[SourceDebate, ...]

    @cached_property
    def by_id(self) -> dict[str, SourceDebate]:
        """The debates by their ids in the source."""
        return {debate.debate_id: debate for debate in self.debates}


def hash_of_speeches(turns: Iterable[Turn]) -> str:
    """The hash of the speeches of a debate: who said what, in order."""
    return hash_of(*(part for turn in turns for part in (turn.position, turn.side, turn.stage or "", turn.content)))
