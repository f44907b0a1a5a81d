"""Amounts of money, durations, and numbers and names of things, as people read them."""

from __future__ import annotations

import difflib
import math
from collections.abc import Iterable, Sequence
from decimal import Decimal

_MOST_KNOWN = 30


def amount_decimals(amount: Decimal | float, least: int) -> int:
    """The decimals with which an amount is shown: `least`, or enough for two digits if it would look like 0."""
    size = abs(float(amount))
    return least if size == 0 or size >= 10**-least else 1 - math.floor(math.log10(size))


def amount_text(amount: Decimal | float) -> str:
    """An amount with four decimals, or with more if four would show it as 0: 0.3238, 0.000000000040."""
    return f"{amount:,.{amount_decimals(amount, 4)}f}"


def counted(count: int, noun: str) -> str:
    """A number and its noun, which takes an s unless it is one: 1 answer, 2 answers, 1,000 answers."""
    return f"{count:,} {noun}{'' if count == 1 else 's'}"


def listed(names: Sequence[str], most: int, separator: str = ", ") -> str:
    """The first `most` names, and how many more there are: `a, b and 3 more`."""
    shown = separator.join(names[:most])
    return f"{shown} and {len(names) - most:,} more" if len(names) > most else shown


def did_you_mean(name: str, known: Iterable[str], most: int = 1) -> str:
    """` Did you mean 'x'?` if known names are similar, or the same behind another dot, else an empty string.

    It names `most` at the most, the most similar first. Capitals do not count.
    """
    names = {other.lower(): other for other in known}
    table = name.lower().partition(".")[2]
    close = [other for other in names if table and other.partition(".")[2] == table]
    close += difflib.get_close_matches(name.lower(), names, n=most)
    shown = " or ".join(f"'{names[each]}'" for each in list(dict.fromkeys(close))[:most])
    return f" Did you mean {shown}?" if shown else ""


def known_names(name: str, known: Iterable[str], none: str = "none") -> str:
    """The end of a message about an unknown name: ` Known: alpha, beta. Did you mean 'alpha'?`

    `none` stands for the known names where there are none.
    """
    names = [str(each) for each in known]
    return f" Known: {listed(names, _MOST_KNOWN) or none}.{did_you_mean(name, names, 3)}"


def duration_text(seconds: float) -> str:
    """A duration in words: `42 s`, `12 min`, `3.5 h`."""
    if seconds < 120:
        return f"{seconds:.0f} s" if seconds >= 10 or seconds == 0 else f"{seconds:.1f} s"
    return f"{seconds / 60:.0f} min" if seconds < 7200 else f"{seconds / 3600:.1f} h"
