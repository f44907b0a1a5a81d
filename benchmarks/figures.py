"""What follows from measurements: medians, spreads, ratios and growth, and whether a target or a bound is kept."""

from __future__ import annotations

import math
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from measuring import Sample


@dataclass(frozen=True)
class Spread:
    """The median, the lowest and the highest value."""

    median: float
    low: float
    high: float

    @classmethod
    def of(cls, values: Sequence[float]) -> Spread:
        return cls(statistics.median(values), min(values), max(values))


@dataclass(frozen=True)
class Ratio:
    """Ours divided by the other's: medians over rounds of the ratio within a round."""

    cpu: Spread
    memory: Spread


def ratio(ours: Sequence[Sample], others: Sequence[Sample]) -> Ratio:
    """The ratio over the rounds that both have. What took no measurable CPU counts as a hundredth of a second."""
    pairs = list(zip(ours, others, strict=False))
    return Ratio(
        Spread.of([max(one.cpu_s, 0.01) / max(other.cpu_s, 0.01) for one, other in pairs]),
        Spread.of([one.peak_mb / max(other.peak_mb, 0.1) for one, other in pairs]),
    )


def growth(medians: Mapping[int, float]) -> float | None:
    """The exponent k of cost ~ size ** k: the slope of a straight line through the logarithms, by least squares.

    None with fewer than two sizes. Constant costs, as those of starting a process, make it smaller.
    """
    points = [(math.log(size), math.log(max(value, 1e-6))) for size, value in medians.items()]
    if len(points) < 2:
        return None
    return statistics.linear_regression(*zip(*points, strict=True)).slope


@dataclass(frozen=True)
class Target:
    """What we promise of a case: at `size`, at most this ratio to the peer."""

    peer: str
    size: int
    cpu: float | None = None
    memory: float | None = None

    def outcome(self, found: Ratio) -> dict[str, tuple[float, float, bool]]:
        """`cpu` and `memory`, as far as promised: the ratio, the bound and whether it holds, both to two decimals."""
        pairs = {"cpu": (found.cpu.median, self.cpu), "memory": (found.memory.median, self.memory)}
        return {what: (value, bound, round(value, 2) <= bound) for what, (value, bound) in pairs.items() if bound}


def is_same(one: Any, other: Any) -> bool:
    """Whether two JSON values are equal, numbers to nine digits."""
    if isinstance(one, float) or isinstance(other, float):
        numbers = isinstance(one, (int, float)) and isinstance(other, (int, float))
        return numbers and math.isclose(one, other, rel_tol=1e-9, abs_tol=1e-12)
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(is_same, one, other))
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(is_same(one[key], other[key]) for key in one)
    return bool(one == other)


def above(found: Ratio, bound: float) -> list[str]:
    """Which of CPU and memory have a ratio above the bound."""
    return [what for what, spread in (("CPU", found.cpu), ("memory", found.memory)) if spread.median > bound]
