"""The stored debates that a run judges, as its plan freezes them: who spoke and how long, but not what was said."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from debatebench.config.types import MemberConfig
from debatebench.shared.hashing import hash_of
from debatebench.shared.records import Debate, Debater, Participant, Side, Turn, Winner


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
    instruction: str | None = Field(None, exclude_if=lambda text: text is None)
    characters: int

    @classmethod
    def of(cls, turn: Turn) -> SourceSpeech:
        """What a plan freezes of a turn."""
        return cls(
            position=turn.position,
            side=turn.side,
            stage=turn.stage,
            instruction=turn.instruction,
            characters=len(turn.content),
        )


class SourceDebate(_Frozen):
    """A stored debate. `sha256` is the hash of its speeches, so that a run that goes on judges the same ones."""

    debate_id: str
    topic_id: str
    format: Literal["two_sided", "british_parliamentary"] = "two_sided"
    speakers: tuple[SourceSpeaker, ...]
    speeches: tuple[SourceSpeech, ...]
    sha256: str
    truths: dict[str, Winner] = {}
    """The side that won according to people, by dimension and `overall`; only `majority_class` uses it."""
    winning_teams: dict[str, tuple[str, ...]] = {}
    """The same of four teams: the team that won, or those that share the win."""

    @property
    def classes(self) -> dict[str, tuple[str, ...]]:
        """By dimension and `overall`, what a correct verdict names: `pro`, `con` or `tie`, or any of these teams."""
        return {**{name: (winner,) for name, winner in self.truths.items()}, **self.winning_teams}

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
    def members(self) -> tuple[MemberConfig, ...]:
        """The debaters, to be compared with judges; a person has an id and no provider."""
        return tuple(
            MemberConfig(
                id=str(debater["model_id"]),
                provider=str(debater.get("provider") or ""),
                model=str(debater.get("model_name") or debater["model_id"]),
            )
            for debater in self.debaters
        )

    @cached_property
    def by_id(self) -> dict[str, SourceDebate]:
        """The debates by their ids in the source."""
        return {debate.debate_id: debate for debate in self.debates}


def source_of(
    run_tag: str,
    debaters: Iterable[Debater],
    debates: Iterable[Debate],
    speakers: Mapping[str, Sequence[Participant]],
    turns: Mapping[str, Sequence[Turn]],
    truths: Mapping[str, Mapping[str, Winner]],
    winning_teams: Mapping[str, Mapping[str, Sequence[str]]],
) -> Source:
    """The stored debates as a plan freezes them. All mappings are by the id of the debate."""
    return Source(
        run_tag=run_tag,
        debaters=tuple(
            debater.model_dump(mode="json", exclude={"run_tag"}, exclude_defaults=True) for debater in debaters
        ),
        debates=tuple(
            SourceDebate(
                debate_id=debate.debate_id,
                topic_id=debate.topic_id,
                format=debate.format,
                speakers=tuple(
                    SourceSpeaker(position=each.position, side=each.side, model_id=each.model_id)
                    for each in speakers.get(debate.debate_id, ())
                ),
                speeches=tuple(map(SourceSpeech.of, turns[debate.debate_id])),
                sha256=hash_of_speeches(turns[debate.debate_id]),
                truths=dict(truths.get(debate.debate_id, {})),
                winning_teams={name: tuple(won) for name, won in winning_teams.get(debate.debate_id, {}).items()},
            )
            for debate in debates
        ),
    )


def hash_of_speeches(turns: Iterable[Turn]) -> str:
    """The hash of the speeches of a debate: who said what, in order."""
    return hash_of(*(part for turn in turns for part in (turn.position, turn.side, turn.stage or "", turn.content)))
