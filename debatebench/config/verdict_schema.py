"""The JSON schema of a judge's answer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from debatebench.config.types import DimensionConfig
    from debatebench.shared.records import Side

__all__ = ["verdict_schema"]


def verdict_schema(
    dimensions: Mapping[str, DimensionConfig], declares_winner: bool, sides: Sequence[Side] = ("pro", "con")
) -> dict[str, Any]:
    """The JSON schema of a judge's answer: every key is required, no other is allowed, each score is within its scale.

    `sides` is the order of the scores. The schema is part of the request's identity; providers get it as `sent_schema`
    writes it, without bounds.
    """
    scores = {
        name: {
            "type": "integer" if dimension.is_integer else "number",
            "minimum": dimension.ends[0],
            "maximum": dimension.ends[1],
        }
        for name, dimension in dimensions.items()
    }
    properties = {"scores": _closed(dict.fromkeys(sides, _closed(scores)))}
    if declares_winner:
        properties["winner"] = {"type": "string", "enum": ["pro", "con", "tie"]}
    return _closed(properties)


def _closed(properties: Mapping[str, Any]) -> dict[str, Any]:
    """An object with exactly these properties."""
    return {
        "type": "object",
        "properties": dict(properties),
        "required": list(properties),
        "additionalProperties": False,
    }
