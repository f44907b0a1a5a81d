"""A JSON schema in the keywords that every provider accepts."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import Any

from debatebench.shared.memo import once_each

_MOST_VALUES = 101
_BOUNDS = ("minimum", "maximum", "multipleOf")


@once_each
def sent_schema(schema: Mapping[str, Any]) -> dict[str, Any]:
    """`schema` without `minimum`, `maximum` and `multipleOf`, which Anthropic and Cerebras refuse.

    Neither is ever changed. A scale of at most 101 whole numbers or steps becomes an `enum`; any other keeps its type,
    and whoever reads the answer checks the range.
    """
    sent: dict[str, Any] = _sent(schema)
    return sent


@once_each
def length_sent(schema: Mapping[str, Any]) -> int:
    """The characters of `sent_schema` as JSON."""
    return len(json.dumps(sent_schema(schema)))


def _sent(schema: Any) -> Any:
    if isinstance(schema, list):
        return [_sent(item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    # A property may have such a name too, but then its value is a schema.
    bounds = {name: schema[name] for name in _BOUNDS if isinstance(schema.get(name), int | float)}
    kept = {name: _sent(value) for name, value in schema.items() if name not in bounds}
    is_whole = schema.get("type") == "integer"
    step = bounds.get("multipleOf", 1 if is_whole else 0)
    if step > 0 and "minimum" in bounds and "maximum" in bounds:
        # Both ends of a scale with a step are multiples of it; a quotient of floats may miss that by a little.
        least, most = (round(bounds[name] / step, 9) for name in ("minimum", "maximum"))
        places = range(math.ceil(least), math.floor(most) + 1)
        if 0 < len(places) <= _MOST_VALUES:
            kept["enum"] = [place * int(step) if is_whole else round(place * step, 6) for place in places]
    return kept
