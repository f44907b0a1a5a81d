"""A JSON schema in the keywords that every provider accepts."""

from __future__ import annotations

import math
from typing import Any

_MOST_VALUES = 101
_BOUNDS = ("minimum", "maximum")


def sent_schema(schema: Any) -> Any:
    """`schema` without `minimum` and `maximum`, which Anthropic and Cerebras refuse.

    A scale of at most 101 whole numbers becomes an `enum`; any other keeps its type, and whoever reads the answer
    checks the range.
    """
    if isinstance(schema, list):
        return [sent_schema(item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    # A property may have such a name too, but then its value is a schema.
    bounds = {name: schema[name] for name in _BOUNDS if isinstance(schema.get(name), int | float)}
    kept = {name: sent_schema(value) for name, value in schema.items() if name not in bounds}
    if schema.get("type") == "integer" and len(bounds) == len(_BOUNDS):
        values = range(math.ceil(bounds["minimum"]), math.floor(bounds["maximum"]) + 1)
        if 0 < len(values) <= _MOST_VALUES:
            kept["enum"] = list(values)
    return kept
