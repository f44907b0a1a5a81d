"""What a long command is doing now, for a display that may be watching."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TypeVar

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Step:
    """What is done now, such as "building SQL models": `done` steps of `total`, or of unknown many."""

    what: str
    done: int = 0
    total: int | None = None


_show: Callable[[Step], None] | None = None


@contextmanager
def shown_by(show: Callable[[Step], None]) -> Iterator[None]:
    """Call `show` with every step that begins while the block runs, in the thread in which it begins."""
    global _show
    before, _show = _show, show
    try:
        yield
    finally:
        _show = before


def doing(what: str, done: int = 0, total: int | None = None) -> None:
    """Say that a step begins; it costs next to nothing where no display watches."""
    if _show is not None:
        _show(Step(what, done, total))


def each_of(what: str, items: Collection[T]) -> Iterator[T]:
    """The items, each as a step."""
    for done, item in enumerate(items):
        doing(what, done, len(items))
        yield item
