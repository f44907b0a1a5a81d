"""The parts of the configuration that a run uses: picked from numbered lists, or drawn for a quick test."""

from __future__ import annotations

import random
import re
from collections.abc import Sequence

from debatebench.shared.errors import UsageError

QUICK_TEST_DEBATERS = 2
QUICK_TEST_JUDGES = 3
"""The largest panel of a quick test, unless its own file sets one."""

_RANGE = re.compile(r"([0-9]{1,6})(?:-([0-9]{1,6}))?")


def parse_numbers(text: str, most: int) -> list[int]:
    """The numbers that `1,3-5 8` names, each once and in order; each must be between 1 and `most`.

    Raises `UsageError` for anything else, with a message for the user who typed it.
    """
    chosen: set[int] = set()
    for part in re.split(r"[,\s]+", re.sub(r"\s*-\s*", "-", text.strip())):
        if not part:
            continue
        found = _RANGE.fullmatch(part)
        if not found:
            raise UsageError(f"{part!r} is neither a number nor a range such as 3-5.")
        first, last = int(found[1]), int(found[2] or found[1])
        if not 1 <= first <= last <= most:
            raise UsageError(f"{part!r} is not between 1 and {most}.")
        chosen.update(range(first, last + 1))
    return sorted(chosen)


def fits_filter(text: str, columns: Sequence[str]) -> bool:
    """Whether every word of a filter occurs somewhere in a row, regardless of case."""
    row = "\n".join(columns).lower()
    return all(word in row for word in text.lower().split())


def quick_test_draw(debaters: Sequence[str], seed: int, count: int = QUICK_TEST_DEBATERS) -> tuple[str, ...]:
    """So many of the debaters, drawn by the seed, in their given order.

    Raises `UsageError` when there are fewer.
    """
    if len(debaters) < count:
        raise UsageError(f"--quick-test needs {count} debaters, but there are {len(debaters)}.")
    drawn = random.Random(f"quick-test {seed}").sample(list(debaters), count)  # noqa: S311 (repeatable)
    return tuple(debater for debater in debaters if debater in drawn)
