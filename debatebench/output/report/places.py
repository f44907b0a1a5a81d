"""Values that occur often, each written once, and numbers in their stead."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any


class Places(dict[Any, int]):
    """Value → its place among the different values, in the order in which they are first looked up."""

    def __init__(self, values: Iterable[Any] = ()) -> None:
        super().__init__((value, place) for place, value in enumerate(values))

    def __missing__(self, value: Any) -> int:
        place = self[value] = len(self)
        return place

    def of_all(self, values: Iterable[Any]) -> list[int]:
        """The place of each value."""
        return list(map(self.__getitem__, values))

    def of_known(self, values: Iterable[Any]) -> list[int]:
        """The place of each value, -1 for a null."""
        return [-1 if value is None else self[value] for value in values]
