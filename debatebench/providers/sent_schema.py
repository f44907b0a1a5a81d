"""A JSON schema in the keywords that every provider accepts."""

from __future__ import annotations

import math
from typing import Any

_MOST_VALUES = 101
_BOUNDS = ("minimum", "maximum", "multipleOf")


def sent_schema(schema: Any) -> Any:
    """`schema` without `minimum`, `maximum` and `multipleOf`, which Anthropic and Cerebras refuse.

    A scale of at most 101 whole numbers or steps becomes an `enum`; any other keeps its type, and whoever reads the
    answer checks the range.
    """
    if isinstance(schema, list):
        return [sent_schema(item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    # A property may have such a name too, but then its value is a schema.
    bounds = {name: schema[name] for name in _BOUNDS if isinstance(schema.get(name), int | float)}
    kept = {name: sent_schema(value) for name, value in schema.items() if name not in bounds}
    is_whole = schema.get("type") == "integer"
    step = bounds.get("multipleOf", 1 if is_whole else 0)
    if step > 0 and "minimum" in bounds and "maximum" in bounds:
        # Both ends of a scale with a step are multiples of it; a quotient of floats may miss that by a little.
        least, most = (round(bounds[name] / step, 9) for name in ("minimum", "maximum"))
        places = range(math.ceil(least), math.floor(most) + 1)
        if 0 < len(places) <= _MOST_VALUES:
            kept["enum"] = [place * int(step) if is_whole else round(place * step, 6) for place in places]
    return kept
