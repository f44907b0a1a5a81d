"""The scale of a dimension: which scores are on it. Configurations, judges' answers and annotations use the same."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal

FINEST_STEP = Decimal("0.000001")
"""The step of a scale on which any number counts: scores have six decimals at most."""


@dataclass(frozen=True, slots=True)
class Scale:
    """The multiples of `step` from `low` to `high`."""

    low: Decimal
    high: Decimal
    step: Decimal

    @classmethod
    def between(cls, low: Decimal, high: Decimal, step: Decimal | None = None) -> Scale:
        """The scale with these ends; if no step is stated, whole numbers where both ends are, else any numbers."""
        if step is None:
            step = Decimal(1) if low % 1 == 0 == high % 1 else FINEST_STEP
        return cls(low, high, step)

    @property
    def first(self) -> Decimal:
        """The lowest score."""
        # `//` rounds decimals towards 0.
        nearest = self.low // self.step * self.step
        return nearest if nearest >= self.low else nearest + self.step

    @property
    def count(self) -> int:
        """How many scores there are."""
        return int((self.high - self.first) // self.step) + 1

    @property
    def last(self) -> Decimal:
        """The highest score."""
        return self.first + (self.count - 1) * self.step

    @property
    def is_any(self) -> bool:
        """Whether any number within the ends is a score."""
        return self.step == FINEST_STEP

    @property
    def notch(self) -> Decimal:
        """By how much an arrow key changes a score: a step, and where any number counts, a power of ten."""
        if not self.is_any:
            return self.step
        hundredth = (self.last - self.first) / 100
        return max(self.step, Decimal(1).scaleb(hundredth.adjusted())) if hundredth else self.step

    def scores(self) -> tuple[Decimal, ...]:
        """All scores, the lowest first; there may be millions."""
        return tuple(self.first + number * self.step for number in range(self.count))

    def holds(self, score: Decimal) -> bool:
        """Whether a number is a score of this scale."""
        return self.first <= score <= self.last and score % self.step == 0

    @property
    def words(self) -> str:
        """The scale in words, such as "whole numbers from 0 to 100"."""
        ends = f"from {plain(self.first)} to {plain(self.last)}"
        if self.is_any:
            return f"any number {ends}"
        if self.step == 1:
            return f"whole numbers {ends}"
        return f"numbers {ends} in steps of {plain(self.step)}"


def plain(number: Decimal) -> str:
    """A number as text without trailing zeros or an exponent: 1, 0.5, 100."""
    return f"{number.normalize() + 0:f}"
