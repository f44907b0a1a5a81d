"""Results that are computed once for an object that never changes."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

_Object = TypeVar("_Object")
_Result = TypeVar("_Result")

_MOST = 64


def once_each(function: Callable[[_Object], _Result]) -> Callable[[_Object], _Result]:
    """`function` with a memory: the same object, which must never change, gives the same result again.

    Objects are told apart by what they are, not by what they hold, so they need no hash. A few are remembered.
    """
    known: dict[int, tuple[_Object, _Result]] = {}

    def remembered(each: _Object) -> _Result:
        found = known.get(id(each))
        if found is None:
            if len(known) >= _MOST:
                known.clear()
            # With the object, so that its id is not that of another one later.
            found = known[id(each)] = each, function(each)
        return found[1]

    return remembered
