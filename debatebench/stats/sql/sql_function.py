"""A Python function with its SQL signature."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class SqlFunction:
    """A Python function, and DuckDB's types of its parameters and of what it returns.

    A dataclass that it returns becomes a struct. `sources` are the files of this package, besides the function's own,
    whose code decides what it returns.
    """

    call: Callable[..., Any]
    parameters: tuple[str, ...]
    returns: str
    sources: tuple[str, ...]
