"""debatebench: LLM debate tournaments, judged by panels of LLMs, in a DuckDB warehouse of versioned SQL models.

    import debatebench as db

    with db.open("warehouse/debatebench.duckdb") as wh:
        wh.sql("select * from marts.leaderboard where run_tag = $tag", {"tag": "demo"}).df()

`open` gives a `Warehouse`; its errors are `DebatebenchError`s, but for those that docs/python-api.md names.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from debatebench.shared.errors import DebatebenchError
from debatebench.shared.version import __version__

if TYPE_CHECKING:
    from debatebench.api import ColumnInfo, ModelInfo, QueryResult, RunInfo, Warehouse, open

__all__ = [
    "ColumnInfo",
    "DebatebenchError",
    "ModelInfo",
    "QueryResult",
    "RunInfo",
    "Warehouse",
    "__version__",
    "open",
]


def __getattr__(name: str) -> object:
    """Import what is asked for when it is asked for, so that `import debatebench` stays quick."""
    if name not in __all__:
        raise AttributeError(f"module 'debatebench' has no attribute '{name}'")
    from debatebench import api

    return getattr(api, name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
