"""British Parliamentary tournaments: which four debaters debate a topic, and at which positions. Seeded and balanced.

On each topic every debater is drawn as often as `debates_per_pair` says; where that leaves seats empty, those who were
drawn least so far take them. Drawn together are those who have met least. With `balanced_sides` the four debate once
in each row of a Latin square: each holds each position once, and stands directly after each of the others once.
Without, they debate once, at the positions that they have held least.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from itertools import permutations
from random import Random

from debatebench.config.types import Config, TopicConfig
from debatebench.plan.panels import PanelBalance
from debatebench.plan.plan import PlanOptions
from debatebench.shared.errors import UsageError
from debatebench.shared.records import TEAMS, ScheduledDebate

ROTATIONS = ((0, 1, 3, 2), (1, 2, 0, 3), (2, 3, 1, 0), (3, 0, 2, 1))
"""A Williams design of four: who of a draw is OG, OO, CG and CO in each of its debates."""

Four = tuple[str, ...]
"""The debaters of OG, OO, CG and CO."""


def check_teams(config: Config, options: PlanOptions) -> None:
    """Raise `UsageError` where an option or a setting means two sides."""
    if options.swap_sides:
        raise UsageError(
            "--swap-sides draws who of two is pro, and this debate format has four teams, whose positions rotate: "
            "leave it out."
        )
    if config.weaknesses:
        raise UsageError(
            "A weakness is injected into one of two sides, and this debate format has four teams: leave out "
            "--weaknesses and --weakness, or choose another --debate-format."
        )
    if config.on_refusal == "forfeit":
        raise UsageError(
            "`on_refusal: forfeit` lets the other side win, and this debate format has four teams: set it to `void` in "
            "config.yaml."
        )


class TeamDraw:
    """Draws groups of four and their positions, in balance with the debates that are planned already."""

    def __init__(
        self, options: PlanOptions, generator: Callable[..., Random], before: Sequence[ScheduledDebate] = ()
    ) -> None:
        self._options = options
        self._generator = generator
        self._groups = PanelBalance()
        self._held: Counter[tuple[str, int]] = Counter()
        for debate in before:
            self._groups.seat(debate.teams, debate.topic_id, None)
            self._held.update(zip(debate.teams, range(len(TEAMS)), strict=True))

    def of_all(self, topics: Sequence[TopicConfig], debaters: Sequence[str]) -> Iterator[tuple[TopicConfig, Four]]:
        """Every debate of a new run, topic by topic."""
        seats = len(debaters) * self._options.debates_per_pair
        for topic in topics:
            for number in range(-(-seats // len(TEAMS))):
                rng = self._generator(self._options.seed, "teams", topic.id, number)
                drawn = self._groups.choose(debaters, len(TEAMS), topic.id, None, rng)
                yield from ((topic, four) for four in self._at_positions(topic, drawn, rng))

    def of_newcomers(
        self, topics: Sequence[TopicConfig], newcomers: Sequence[str], others: Sequence[str]
    ) -> Iterator[tuple[TopicConfig, Four]]:
        """Every debate of debaters who join a run, each with three of the others: those it has met least."""
        for topic in topics:
            for newcomer in newcomers:
                for number in range(self._options.debates_per_pair):
                    rng = self._generator(self._options.seed, "joining", topic.id, newcomer, number)
                    drawn = self._groups.choose_with(newcomer, others, len(TEAMS), topic.id, rng)
                    yield from ((topic, four) for four in self._at_positions(topic, drawn, rng))

    def _at_positions(self, topic: TopicConfig, drawn: Sequence[str], rng: Random) -> list[Four]:
        """The debates of a group, already counted."""
        if self._options.balanced_sides:
            found = [tuple(drawn[place] for place in row) for row in ROTATIONS]
        else:
            orders = list(permutations(drawn))
            rng.shuffle(orders)
            found = [min(orders, key=self._times_held)]
        for four in found:
            self._held.update(zip(four, range(len(TEAMS)), strict=True))
        # Drawing has counted the first debate.
        for four in found[1:]:
            self._groups.seat(four, topic.id, None)
        return found

    def _times_held(self, four: Four) -> int:
        """By how much the sum of squares of the counts would rise, apart from what is the same for every order."""
        return sum(self._held[debater, place] for place, debater in enumerate(four))
