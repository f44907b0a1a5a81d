"""Debaters that keep answering empty, and are asked no more. What is counted follows from the journal alone."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field

__all__ = ["EMPTY_DEBATES", "Bans"]

EMPTY_DEBATES = 3
"""After how many debates in a row that ended for want of its speech a debater is banned, unless told otherwise."""


@dataclass(slots=True)
class Bans:
    """Who is banned and why, and how many debates in a row each debater has ended by giving no speech.

    Debates count in the order in which they ended. One that came to its verdicts ends the row of both its debaters.
    """

    reasons: dict[str, str] = field(default_factory=dict)
    """Debater → the sentence that says why it is banned."""
    silences: Counter[str] = field(default_factory=Counter)

    def debate_ended(self, debaters: Iterable[str], *, is_complete: bool, silent: str | None) -> None:
        """A debate came to an end; `silent` is the debater that gave no speech."""
        if silent is not None:
            self.silences[silent] += 1
        elif is_complete:
            for debater in debaters:
                self.silences.pop(debater, None)

    def due(self, limit: int) -> list[str]:
        """Debaters whose row has reached `limit` and who are not banned yet, in order."""
        return sorted(d for d, count in self.silences.items() if count >= limit and d not in self.reasons)

    def ban(self, debater: str, reason: str) -> None:
        """Ask this debater no more."""
        self.reasons[debater] = reason

    def lift(self, debater: str) -> None:
        """Ask this debater again; its row begins anew."""
        self.reasons.pop(debater, None)
        self.silences.pop(debater, None)
