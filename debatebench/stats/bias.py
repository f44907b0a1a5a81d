"""Does a judge prefer a side, or the longer speech?"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from debatebench.stats.significance import sign_test


@dataclass(frozen=True, slots=True)
class MirroredPairs:
    """What a judge said on pairs of debates that differ in who stands on which side."""

    pairs: int
    pro_both: int
    con_both: int
    consistent: int
    exact_p: float | None
    consistency_rate: float | None


@dataclass(frozen=True, slots=True)
class Verbosity:
    """Score difference against length difference, debate by debate, and how often the longer side won."""

    count: int
    correlation: float | None
    slope: float | None
    intercept: float | None
    r2: float | None
    count_decisive: int
    longer_wins_rate: float | None


def mirrored_pairs(first: Sequence[str | None], second: Sequence[str | None]) -> MirroredPairs:
    """Side preference from pairs of debates with the sides swapped: the winners named in the two debates of pair i.

    Both are on one topic between the same two debaters; a winner is `pro`, `con` or `tie`. The better debater wins once
    as pro and once as con, so the strength of the debaters cancels. A judge that named the same side twice followed the
    side: `exact_p` is the sign test of `pro_both` against `con_both` (McNemar's exact test), `None` where there is
    neither. A motion that is easier to defend has the same effect, so compare judges that heard the same debates.
    `consistency_rate` is the share of pairs in which the result did not depend on the sides: one debater won both, or
    both were ties. Pairs with a missing winner are left out.
    """
    if len(first) != len(second):
        raise ValueError(f"a pair has two debates, but the lists have {len(first)} and {len(second)}")
    pairs = [(x, y) for x, y in zip(first, second, strict=True) if x is not None and y is not None]
    pro_both, con_both = pairs.count(("pro", "pro")), pairs.count(("con", "con"))
    consistent = sum(pair in (("pro", "con"), ("con", "pro"), ("tie", "tie")) for pair in pairs)
    return MirroredPairs(
        len(pairs),
        pro_both,
        con_both,
        consistent,
        sign_test(pro_both, con_both),
        consistent / len(pairs) if pairs else None,
    )


def verbosity(length_differences: Sequence[float], score_differences: Sequence[float]) -> Verbosity:
    """Least squares of pro's score minus con's on pro's length minus con's, and how often the longer side won.

    Element i of both is debate i.

        slope = Sxy / Sxx,   intercept = mean(y) - slope mean(x),   correlation = Sxy / sqrt(Sxx Syy),
        r2 = correlation²

    Differences within a debate, because lengths and scores of different debates also differ by who debates what. The
    longer side may still be the better one; compare judges of the same debates. A debate is decisive when neither
    difference is 0, and the longer side won it when they have one sign. A pair with `None` is left out. Where a
    difference never varies, what divides by its variation is `None`; so are rates of nothing.
    """
    if len(length_differences) != len(score_differences):
        raise ValueError(f"there are {len(length_differences)} lengths but {len(score_differences)} scores")
    pairs = [
        (float(x), float(y))
        for x, y in zip(length_differences, score_differences, strict=True)
        if x is not None and y is not None
    ]
    decisive = [x * y > 0 for x, y in pairs if x != 0 and y != 0]
    longer_wins = sum(decisive) / len(decisive) if decisive else None
    n = len(pairs)
    if len({x for x, _ in pairs}) < 2:
        return Verbosity(n, None, None, None, None, len(decisive), longer_wins)
    mean_x, mean_y = math.fsum(x for x, _ in pairs) / n, math.fsum(y for _, y in pairs) / n
    s_xx = math.fsum((x - mean_x) ** 2 for x, _ in pairs)
    s_xy = math.fsum((x - mean_x) * (y - mean_y) for x, y in pairs)
    slope = s_xy / s_xx
    if len({y for _, y in pairs}) < 2:
        return Verbosity(n, None, slope, mean_y - slope * mean_x, None, len(decisive), longer_wins)
    correlation = s_xy / math.sqrt(s_xx) / math.sqrt(math.fsum((y - mean_y) ** 2 for _, y in pairs))
    return Verbosity(n, correlation, slope, mean_y - slope * mean_x, correlation**2, len(decisive), longer_wins)
