"""Debaters that repeatedly answer with no text are banned. The counts follow from the journal alone."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field

EMPTY_DEBATES = 3
"""The default number of consecutive debates that must end for lack of a debater's speech before it is banned."""


@dataclass(slots=True)
class Bans:
    """The banned debaters with reasons, and each debater's streak: consecutive debates that its missing speech ended.

    Debates count in the order in which they ended. A debate that reaches its verdicts resets both debaters' streaks.
    """

    reasons: dict[str, str] = field(default_factory=dict)
    """Debater → a sentence that gives the reason for its ban."""
    silences: Counter[str] = field(default_factory=Counter)

    def debate_ended(self, debaters: Iterable[str], *, is_complete: bool, silent: str | None) -> None:
        """Count a debate that has ended; `silent` is the debater that gave no speech."""
        if silent is not None:
            self.silences[silent] += 1
        elif is_complete:
            for debater in debaters:
                self.silences.pop(debater, None)

    def due(self, limit: int) -> list[str]:
        """Debaters whose streak has reached `limit` and who are not banned yet, in order."""
        return sorted(d for d, count in self.silences.items() if count >= limit and d not in self.reasons)

    def ban(self, debater: str, reason: str) -> None:
        """Send this debater no more requests."""
        self.reasons[debater] = reason

    def lift(self, debater: str) -> None:
        """Allow requests to this debater again and reset its streak."""
        self.reasons.pop(debater, None)
        self.silences.pop(debater, None)
