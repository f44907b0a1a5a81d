"""Correlation of ranks and of orders.

Element i of `x` and `y` is pair i; a pair with `None` is left out. Each gives `None` for fewer than two pairs and for
constant input, and otherwise a number in [-1, 1] that does not depend on the order of the pairs.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Hashable, Iterable, Sequence


def spearman(x: Sequence[float | None], y: Sequence[float | None]) -> float | None:
    """Spearman's rho: Pearson's r of midranks, in which equal values share the mean of their ranks."""
    pairs = _pairs(x, y)
    rank_x, rank_y = midranks(a for a, _ in pairs), midranks(b for _, b in pairs)
    return _pearson([(rank_x[a], rank_y[b]) for a, b in pairs])


def midranks(values: Iterable[float]) -> dict[float, float]:
    """Value → its mean rank among all values, from 1; equal values share the mean of their ranks."""
    counts = Counter(values)
    ranks, below = {}, 0
    for value in sorted(counts):
        ranks[value] = below + (counts[value] + 1) / 2
        below += counts[value]
    return ranks


def kendall_tau_b(x: Sequence[float | None], y: Sequence[float | None]) -> float | None:
    """Kendall's tau-b, agreement of two orders with allowance for ties.

        tau-b = (C - D) / sqrt((n0 - n1) (n0 - n2))

    C and D are the pairs of elements that both lists order alike and unlike, n0 = n (n - 1) / 2, n1 and n2 the pairs
    tied in x and in y (M. Kendall, The Treatment of Ties in Ranking Problems, Biometrika 33, 1945). D is counted by
    merging, as W. Knight showed (JASA 61, 1966), in n log n steps.
    """
    pairs = sorted(_pairs(x, y))
    n0 = _count_pairs(len(pairs))
    n1, n2 = _tied(a for a, _ in pairs), _tied(b for _, b in pairs)
    if n0 in (n1, n2):
        return None
    # In the order of x, and of y where x is tied, exactly the discordant pairs have their y's the wrong way round.
    discordant = _inversions([b for _, b in pairs])[1]
    concordant = n0 - n1 - n2 + _tied(pairs) - discordant
    return (concordant - discordant) / math.sqrt((n0 - n1) * (n0 - n2))


def _pearson(pairs: Sequence[tuple[float, float]]) -> float | None:
    if len({a for a, _ in pairs}) < 2 or len({b for _, b in pairs}) < 2:
        return None
    mean_x, mean_y = (math.fsum(values) / len(pairs) for values in zip(*pairs, strict=True))
    s_xx, s_yy = math.fsum((a - mean_x) ** 2 for a, _ in pairs), math.fsum((b - mean_y) ** 2 for _, b in pairs)
    if s_xx == 0 or s_yy == 0:
        return None
    r = math.fsum((a - mean_x) * (b - mean_y) for a, b in pairs) / math.sqrt(s_xx) / math.sqrt(s_yy)
    return max(-1.0, min(1.0, r))


def _pairs(x: Sequence[float | None], y: Sequence[float | None]) -> list[tuple[float, float]]:
    if len(x) != len(y):
        raise ValueError(f"pairs have two values each, but the lists have {len(x)} and {len(y)}")
    pairs = [(float(a), float(b)) for a, b in zip(x, y, strict=True) if a is not None and b is not None]
    if not all(math.isfinite(value) for pair in pairs for value in pair):
        raise ValueError("a value is not a finite number")
    return pairs


def _count_pairs(n: int) -> int:
    return n * (n - 1) // 2


def _tied(values: Iterable[Hashable]) -> int:
    """Pairs of equal elements."""
    return sum(_count_pairs(count) for count in Counter(values).values())


def _inversions(values: list[float]) -> tuple[list[float], int]:
    """The values sorted, and how many pairs of them stood the wrong way round."""
    if len(values) < 2:
        return values, 0
    middle = len(values) // 2
    left, in_left = _inversions(values[:middle])
    right, in_right = _inversions(values[middle:])
    merged, count, i = [], in_left + in_right, 0
    for value in right:
        while i < len(left) and left[i] <= value:
            merged.append(left[i])
            i += 1
        merged.append(value)
        count += len(left) - i
    return merged + left[i:], count
