"""Panels: the judges of each debate, and the side that each is shown first. Drawn or balanced; pure and seeded."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Collection, Hashable, Iterable, Sequence
from dataclasses import dataclass, field
from itertools import combinations


def random_panel(pool: Sequence[str], size: int, rng: random.Random) -> tuple[str, ...]:
    """`size` judges of the pool in random order."""
    return tuple(rng.sample(list(pool), size))


@dataclass
class PanelBalance:
    """How often judges have sat, and the choice of the next panel that keeps the counts even.

    Total use comes first: the judges who sat least sit next, so with one pool for all debates no judge is ever more
    than one panel ahead of another. Of the panels that are then still possible, it chooses one that adds little to the
    sum of squares of the counts per topic, per pair of debaters and per pair of judges, which balances those counts.
    """

    total: Counter[str] = field(default_factory=Counter)
    by_topic: Counter[tuple[Hashable, str]] = field(default_factory=Counter)
    by_pair: Counter[tuple[Hashable, str]] = field(default_factory=Counter)
    together: Counter[tuple[str, str]] = field(default_factory=Counter)

    def seat(self, panel: Iterable[str], topic: Hashable, pair: Hashable) -> None:
        """Count a panel that is already planned."""
        judges = sorted(panel)
        for judge in judges:
            self.total[judge] += 1
            self.by_topic[topic, judge] += 1
            self.by_pair[pair, judge] += 1
        self.together.update(combinations(judges, 2))

    def choose(
        self, pool: Sequence[str], size: int, topic: Hashable, pair: Hashable, rng: random.Random
    ) -> tuple[str, ...]:
        """The next panel of `size` judges of `pool`, in random order, already counted. `rng` breaks ties."""
        order = rng.sample(list(pool), len(pool))
        order.sort(key=lambda judge: self.total[judge])
        level = self.total[order[size - 1]]
        fixed = [judge for judge in order if self.total[judge] < level]
        open_to = [judge for judge in order if self.total[judge] == level]
        chosen = self._best(fixed, open_to, size - len(fixed), topic, pair)
        self.seat(chosen, topic, pair)
        rng.shuffle(chosen)
        return tuple(chosen)

    def choose_with(
        self, member: str, pool: Sequence[str], size: int, topic: Hashable, rng: random.Random
    ) -> tuple[str, ...]:
        """A group of `size` with `member` and others of `pool`, those that it was with least, in random order."""
        chosen = self._best([member], rng.sample(list(pool), len(pool)), size - 1, topic, ("with", member))
        self.seat(chosen, topic, ("with", member))
        rng.shuffle(chosen)
        return tuple(chosen)

    def _best(self, fixed: list[str], open_to: list[str], count: int, topic: Hashable, pair: Hashable) -> list[str]:
        """`fixed` and the `count` judges of `open_to` that fit best with them."""
        if count == len(open_to):
            return fixed + open_to
        together = {(a, b): self.together[min(a, b), max(a, b)] for a in open_to for b in (*fixed, *open_to) if a != b}
        alone = {
            judge: self.by_topic[topic, judge] + self.by_pair[pair, judge] + sum(together[judge, f] for f in fixed)
            for judge in open_to
        }
        return fixed + _grow_and_swap(open_to, count, alone, together)


@dataclass
class OrderBalance:
    """Which judges are shown con first: each one in half of its debates.

    A judge that is shown a stored debate again sees it in the other order. In every other debate, the side comes first
    that was first less often so far; a draw decides between sides that were first equally often. So counts are never
    more than one apart in a run that repeats no debate, and after every trial where all judges sit on each panel.
    """

    lead: Counter[str] = field(default_factory=Counter)
    """Judge → its debates with con first, minus those with pro first."""
    unpaired: dict[tuple[str, str], bool] = field(default_factory=dict)
    """Judge and stored debate → whether con came first, where the judge has not seen the other order since."""

    def seat(self, panel: Iterable[str], con_first: Collection[str], stored: str | None = None) -> None:
        """Count a panel whose orders are given. `stored` is the stored debate that the panel judges."""
        for judge in panel:
            is_con = judge in con_first
            self.lead[judge] += 1 if is_con else -1
            if stored is not None and self.unpaired.pop((judge, stored), None) is None:
                self.unpaired[judge, stored] = is_con

    def choose(self, panel: Sequence[str], rng: random.Random, stored: str | None = None) -> tuple[str, ...]:
        """The judges of the panel who are shown con first, already counted, in the order of their seats."""
        drawn = {judge: rng.random() < 0.5 for judge in panel}
        con_first = tuple(judge for judge in panel if self._is_con_first(judge, drawn[judge], stored))
        self.seat(panel, con_first, stored)
        return con_first

    def _is_con_first(self, judge: str, drawn: bool, stored: str | None) -> bool:
        if stored is not None and (judge, stored) in self.unpaired:
            return not self.unpaired[judge, stored]
        return self.lead[judge] < 0 if self.lead[judge] else drawn


def _grow_and_swap(
    open_to: list[str], count: int, alone: dict[str, int], together: dict[tuple[str, str], int]
) -> list[str]:
    """`count` judges, added one by one at the least cost, then exchanged one for one as long as that helps."""
    chosen: list[str] = []
    left = list(open_to)
    # The cost that each judge would add to the chosen ones.
    added = dict(alone)
    for _ in range(count):
        best = min(left, key=added.__getitem__)
        left.remove(best)
        chosen.append(best)
        for judge in left:
            added[judge] += together[judge, best]
    while True:
        gain, leaves, joins = max(
            (
                alone[old]
                + sum(together[old, other] for other in chosen if other != old)
                - alone[new]
                - sum(together[new, other] for other in chosen if other != old),
                -i,
                -k,
            )
            for i, old in enumerate(chosen)
            for k, new in enumerate(left)
        )
        if gain <= 0:
            return chosen
        chosen[-leaves], left[-joins] = left[-joins], chosen[-leaves]
