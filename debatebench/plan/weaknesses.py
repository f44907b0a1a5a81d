"""Which debate of a plan gets which weakness, on which side: seeded, and balanced.

Every type is on every side equally often, to within one; so are types, and so are sides. The share of controls is exact
to within rounding. Within these numbers, topics and the debaters that carry a weakness are evened out as far as a
search finds.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from decimal import ROUND_HALF_UP, Decimal
from itertools import islice
from random import Random

from debatebench.config.types import Config
from debatebench.shared.errors import UsageError
from debatebench.shared.records import ScheduledDebate, Side

CONTROL_RATIO = 0.2
"""The usual share of debates without a weakness."""

_SIDES: tuple[Side, Side] = ("pro", "con")
# Exchanges that are tried, and the most of them in a long plan.
_TRIES_PER_DEBATE = 30
_MOST_TRIES = 60_000


def with_weaknesses(
    debates: Sequence[ScheduledDebate],
    config: Config,
    control_ratio: float,
    draw: Callable[..., Random],
    before: Sequence[ScheduledDebate] = (),
) -> tuple[ScheduledDebate, ...]:
    """The debates with a weakness of `config` each, except for the controls; together with `before` they are balanced.

    `draw` gives a generator for each purpose. Raises `UsageError` where the format of the debates leaves a side no
    speech that could carry one of the weaknesses.
    """
    for weakness in config.weaknesses:
        for side in _SIDES:
            if weakness.first_turn(config.rounds, side) is None:
                raise UsageError(
                    f"The weakness '{weakness.id}' needs a speech of {side} after the opponent has spoken, and this "
                    "debate format has none: choose another --debate-format, or leave the weakness out of the file."
                )
    total = len(before) + len(debates)
    controls = count_controls(total, control_ratio) - count_controls(len(before), control_ratio)
    order = _cells([weakness.id for weakness in config.weaknesses], draw("order"))
    done = len(before) - count_controls(len(before), control_ratio)
    labels = [order[number % len(order)] for number in range(done, total - count_controls(total, control_ratio))]
    assigned = _Assignment(before, draw("debates", len(before)))
    quota: Counter[tuple[str, Side] | None] = Counter(labels)
    quota[None] = controls
    assigned.place(debates, quota)
    assigned.improve()
    return tuple(
        debate if label is None else debate.model_copy(update={"weakness_type": label[0], "weakness_side": label[1]})
        for debate, label in zip(debates, assigned.labels, strict=True)
    )


def count_controls(debates: int, ratio: float) -> int:
    """How many of so many debates have no weakness: the share, rounded half up."""
    return int((debates * Decimal(str(ratio))).to_integral_value(ROUND_HALF_UP))


def weakness_counts(config: Config, debates: Sequence[ScheduledDebate]) -> Iterator[tuple[str, int, int]]:
    """(type, debates with it on pro, on con) in the order of the taxonomy."""
    counts = Counter((debate.weakness_type, debate.weakness_side) for debate in debates)
    for weakness in config.weaknesses:
        yield weakness.id, counts[weakness.id, "pro"], counts[weakness.id, "con"]


def _cells(types: Sequence[str], rng: Random) -> list[tuple[str, Side]]:
    """Every type on every side, in an order of which every beginning is balanced over types and over sides."""
    shuffled, first = rng.sample(types, len(types)), rng.randrange(2)
    return [
        (name, _SIDES[(first + number + second_half) % 2])
        for second_half in (0, 1)
        for number, name in enumerate(shuffled)
    ]


class _Assignment:
    """Labels for debates; a label is a type and a side, or None for a control.

    The number of each label is given. What is evened out is how often each label meets each level of a factor: the
    topic, and the debater that carries the type, or either debater of a control.
    """

    def __init__(self, before: Sequence[ScheduledDebate], rng: Random) -> None:
        self.labels: list[tuple[str, Side] | None] = []
        self._debates: Sequence[ScheduledDebate] = ()
        self._rng = rng
        self._counts: Counter[tuple[object, ...]] = Counter()
        for debate in before:
            self._counts.update(_meetings(debate, _label_of(debate)))

    def place(self, debates: Sequence[ScheduledDebate], quota: Counter[tuple[str, Side] | None]) -> None:
        """Give each debate the label that has met its topic and debaters least, for how often it is to be given."""
        self._debates, left = debates, Counter({label: count for label, count in quota.items() if count})
        self.labels = [None] * len(debates)
        for place in self._rng.sample(range(len(debates)), len(debates)):
            debate = debates[place]
            label = min(left, key=lambda label: self._met(debate, label) / quota[label] + self._rng.random() * 1e-6)
            self._set(place, label)
            left[label] -= 1
            if not left[label]:
                del left[label]

    def improve(self) -> None:
        """Exchange the labels of two debates as long as that evens something out."""
        count = len(self.labels)
        tries = min(_TRIES_PER_DEBATE * count, _MOST_TRIES) if count > 1 else 0
        for one, other in islice(iter(lambda: self._rng.sample(range(count), 2), None), tries):
            a, b = self.labels[one], self.labels[other]
            if a == b:
                continue
            # A sum of squares falls by as much as the squares of what is taken away, minus those of what is added.
            gain = self._unset(one) + self._unset(other)
            if self._set(one, b) + self._set(other, a) > gain:
                self._unset(one)
                self._unset(other)
                self._set(one, a)
                self._set(other, b)

    def _met(self, debate: ScheduledDebate, label: tuple[str, Side] | None) -> int:
        return sum(2 * self._counts[key] + 1 for key in _meetings(debate, label))

    def _set(self, place: int, label: tuple[str, Side] | None) -> int:
        """Give a debate a label; returns by how much the sum of squares of the counts rises."""
        rise = 0
        for key in _meetings(self._debates[place], label):
            rise += 2 * self._counts[key] + 1
            self._counts[key] += 1
        self.labels[place] = label
        return rise

    def _unset(self, place: int) -> int:
        """Take the label of a debate away; returns by how much the sum of squares of the counts falls."""
        fall = 0
        for key in _meetings(self._debates[place], self.labels[place]):
            fall += 2 * self._counts[key] - 1
            self._counts[key] -= 1
        return fall


def _label_of(debate: ScheduledDebate) -> tuple[str, Side] | None:
    if debate.weakness_type is None or debate.weakness_side is None:
        return None
    return debate.weakness_type, debate.weakness_side


def _meetings(debate: ScheduledDebate, label: tuple[str, Side] | None) -> tuple[tuple[object, ...], ...]:
    """What is counted: the label with the topic, and the type with the debater that carries it."""
    # By type as well, so that a type is not only on one side of a topic.
    of_topic = (("label", label, debate.topic_id), ("type", label and label[0], debate.topic_id))
    if label is None:
        return *of_topic, ("control", debate.pro_model_id), ("control", debate.con_model_id)
    name, side = label
    return *of_topic, ("carrier", name, debate.pro_model_id if side == "pro" else debate.con_model_id)
