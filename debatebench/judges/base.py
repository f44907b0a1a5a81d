"""What a judge method works on and returns: a transcript, a seat on a panel, a judgment."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

from debatebench.config.answer_form import TWO_SIDES
from debatebench.config.transcript_layout import BP_POSITIONS, BP_ROLES, in_order, special_tasks
from debatebench.config.types import MemberConfig
from debatebench.shared.records import JudgeNote, Side, Turn, Verdict


@dataclass(frozen=True)
class Transcript:
    """A debate as shown to a judge: the topic and every turn in order, without the debaters' names."""

    run_tag: str
    debate_id: str
    debate_seed: int
    motion: str
    category: str | None
    info_slide: str | None
    turns: tuple[Turn, ...]
    truths: Mapping[str, Sequence[str]] = field(default_factory=dict)
    """What is correct according to people, by dimension and `overall`, where that is known: a side, `tie`, or any of
    the teams that won. It is never shown to a model."""

    def as_shown_to(self, seat: Seat) -> Transcript:
        """The same debate with the speeches in the order in which that seat sees them."""
        return self if seat.first is None else replace(self, turns=tuple(in_order(self.turns, seat.first)))

    @cached_property
    def is_of_teams(self) -> bool:
        """Whether the debate is one of four teams, in British Parliamentary format."""
        return any(turn.position in BP_POSITIONS for turn in self.turns)

    def positions(self, first: Side | None) -> tuple[str, ...]:
        """Who is judged, in the order in which a seat that is shown `first` first gives the scores."""
        order = {side: n for n, side in enumerate(("con", "pro") if first == "con" else TWO_SIDES)}
        if not self.is_of_teams:
            return tuple(order)
        present = {turn.position for turn in self.turns}
        teams = [team for team in BP_POSITIONS if team in present]
        return tuple(sorted(teams, key=lambda team: (list(BP_POSITIONS).index(team) // 2, order[BP_POSITIONS[team]])))

    @cached_property
    def tasks(self) -> str:
        """What the debate format asks of particular speeches; empty without any."""
        return special_tasks((self.position_of(turn), turn.stage, turn.instruction) for turn in self.turns)

    def names(self, first: Side | None) -> dict[str, str]:
        """Position → the name of the debater who holds it."""
        held = {self.position_of(turn): turn.model_id for turn in self.turns}
        return {position: held.get(position, "") for position in self.positions(first)}

    def role_of(self, turn: Turn) -> str | None:
        """What a speaker of four teams is called in this speech, if every team speaks twice."""
        own = [other.turn_index for other in self.turns if other.position == turn.position]
        if turn.position not in BP_ROLES or len(self.turns) != len(own) * len(BP_ROLES) or len(own) != 2:
            return None
        return BP_ROLES[turn.position][sorted(own).index(turn.turn_index)]

    def position_of(self, turn: Turn) -> str:
        """The position of a turn's speaker; of two sides, the side."""
        return turn.position if self.is_of_teams else turn.side


@dataclass(frozen=True, slots=True)
class Seat:
    """A place on a panel (positions count from 0) and the judge who has it, possibly as a replacement.

    `first` is the side that the judge is shown first; None leaves the speeches in the order in which they were given.
    """

    position: int
    judge: MemberConfig
    replaces_judge_id: str | None = None
    first: Side | None = None


@dataclass(frozen=True, slots=True)
class Judgment:
    """The verdict of a seat, and the judge's notes on the way to it."""

    verdict: Verdict
    notes: tuple[JudgeNote, ...] = ()
