"""How far a run is: plain counters that the runner moves and whoever watches reads."""

from __future__ import annotations

from dataclasses import dataclass, field
from decimal import Decimal
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from debatebench.records import Call, Debate

__all__ = ["Progress"]


@dataclass(slots=True)
class Progress:
    """Counters of one session of a run. `cost` holds what is known; `unpriced_calls` counts answers without a price."""

    debates_planned: int = 0
    debates_complete: int = 0
    debates_incomplete: int = 0
    calls_answered: int = 0
    calls_failed: int = 0
    calls_in_flight: int = 0
    cost: Decimal = field(default_factory=Decimal)
    unpriced_calls: int = 0
    on_debate: Callable[[Progress], None] | None = None
    on_stop: Callable[[Progress], None] | None = None

    @property
    def debates_done(self) -> int:
        """Debates that have come to an end, whole or not."""
        return self.debates_complete + self.debates_incomplete

    def call_sent(self) -> None:
        """A request left."""
        self.calls_in_flight += 1

    def call_returned(self) -> None:
        """A request came back, or failed."""
        self.calls_in_flight -= 1

    def call_settled(self, call: Call) -> None:
        """An attempt was read and journalled."""
        if call.status == "answered":
            self.calls_answered += 1
        else:
            self.calls_failed += 1
        if call.cost is not None:
            self.cost += call.cost
        elif call.status == "answered":
            self.unpriced_calls += 1

    def debate_ended(self, debate: Debate) -> None:
        """A debate was played and judged, or given up."""
        if debate.status == "complete":
            self.debates_complete += 1
        else:
            self.debates_incomplete += 1
        if self.on_debate is not None:
            self.on_debate(self)

    def run_stops(self) -> None:
        """The user wants the run to stop: nothing more is sent, and what is in flight is awaited."""
        if self.on_stop is not None:
            self.on_stop(self)
