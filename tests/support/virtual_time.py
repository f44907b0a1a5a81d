"""An event loop with virtual time: when every task waits, the clock jumps to the earliest time that one waits for."""

from __future__ import annotations

import asyncio
import selectors
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

T = TypeVar("T")


class _SkippingSelector(selectors.DefaultSelector):
    """Adds to `now` the time that the loop would have waited."""

    now = 0.0

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        ready: list[Any] = super().select(0)
        if not ready:
            assert timeout is not None, "everybody waits, and nobody for time to pass"
            self.now += max(timeout, 0.0)
        return ready


class _VirtualLoop(asyncio.SelectorEventLoop):
    def __init__(self) -> None:
        self._skipping = _SkippingSelector()
        super().__init__(self._skipping)

    def time(self) -> float:
        return self._skipping.now


def in_virtual_time(main: Callable[[], Awaitable[T]]) -> T:
    """Run `main()` to its end; inside it `now()` is the virtual time, which starts at 0."""

    async def run() -> T:
        return await main()

    with asyncio.Runner(loop_factory=_VirtualLoop) as runner:
        return runner.run(run())


def now() -> float:
    """Seconds since the loop began."""
    return asyncio.get_running_loop().time()


def in_time(test: Callable[[], Awaitable[None]]) -> Callable[[], None]:
    """A test that runs in virtual time."""

    def run() -> None:
        in_virtual_time(test)

    run.__name__ = test.__name__
    return run
