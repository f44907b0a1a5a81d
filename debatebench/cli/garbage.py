"""How often the garbage collector runs, for commands that make many objects."""

from __future__ import annotations

import gc
import sys

# The number of live new objects after which the garbage collector runs.
_COLLECTED_AFTER = 20_000


def collect_rarely() -> None:
    """Prepare the garbage collector for a long command whose objects are freed without it, nearly always.

    All objects so far live to the end, so it need not scan them again and again. DuckDB complains at the exit about
    objects that were never collected, so nothing is frozen once it has been used.
    """
    if "duckdb" not in sys.modules:
        gc.freeze()
    gc.set_threshold(_COLLECTED_AFTER)
