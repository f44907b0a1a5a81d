"""What a judge's answer must hold: as a JSON schema for its provider, and as a shape in words for its prompt."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from debatebench.config.transcript_layout import BP_POSITIONS

if TYPE_CHECKING:
    from debatebench.config.types import DimensionConfig

TWO_SIDES = ("pro", "con")

_QUOTED = json.JSONEncoder(ensure_ascii=False).encode


@dataclass(frozen=True, slots=True)
class AnswerForm:
    """One JSON object with up to three parts: `scores`, `winner` and `reasons`.

    `positions` are in the order in which they are scored. Without `dimensions` there are no scores. Of two sides the
    winner is one of them or, if `allows_tie`, a tie; of four teams it is a list of one team or, if `allows_tie`, of two
    that are equal.
    """

    dimensions: Mapping[str, DimensionConfig]
    positions: tuple[str, ...] = TWO_SIDES
    declares_winner: bool = False
    allows_tie: bool = True
    has_reasons: bool = False

    @property
    def is_of_teams(self) -> bool:
        """Whether the positions are those of British Parliamentary debate."""
        return self.positions[0] in BP_POSITIONS

    @property
    def most_winners(self) -> int:
        """How many positions may win."""
        return 2 if self.allows_tie else 1

    @property
    def reasoned(self) -> tuple[str, ...]:
        """What the answer gives reasons for: the positions if it scores them, and the winner if it names one."""
        if not self.has_reasons:
            return ()
        return (*(self.positions if self.dimensions else ()), *(("winner",) if self.declares_winner else ()))

    def schema(self) -> Mapping[str, Any]:
        """The JSON schema: every key is required, no other is allowed, each score is within its scale.

        Equal forms give the same object, which nobody changes.
        The schema is part of the request's identity; providers get it as `sent_schema` writes it, without bounds.
        """
        scales = tuple((name, d.is_integer, d.ends, d.step) for name, d in self.dimensions.items())
        return _schema(scales, self.positions, self.declares_winner, self.allows_tie, self.reasoned)

    def shape(self) -> str:
        """The object with the allowed values in angle brackets, as prompts show it."""
        parts = []
        if self.dimensions:
            scores = ",\n".join([f"      {_QUOTED(name)}: <{d.scale}>" for name, d in self.dimensions.items()])
            shapes = [f'    "{position}": {{\n{scores}\n    }}' for position in self.positions]
            parts.append('  "scores": {\n' + ",\n".join(shapes) + "\n  }")
        if self.declares_winner:
            parts.append(f'  "winner": {self._winner_shape()}')
        if self.reasoned:
            reasons = [f'    "{name}": <{_reason_shape(name)}>' for name in self.reasoned]
            parts.append('  "reasons": {\n' + ",\n".join(reasons) + "\n  }")
        return "{\n" + ",\n".join(parts) + "\n}"

    def _winner_shape(self) -> str:
        if self.is_of_teams:
            equals = "; two of them if they are equally good" if self.allows_tie else ""
            return f"[<{_either(self.positions)}{equals}>]"
        return f"<{_either(('pro', 'con', 'tie') if self.allows_tie else ('pro', 'con'))}>"


_Scale = tuple[str, bool, tuple[int | float, int | float], Decimal | None]


# Panels ask for few kinds of answers, in thousands of requests.
@lru_cache(maxsize=64)
def _schema(
    scales: tuple[_Scale, ...],
    positions: tuple[str, ...],
    declares_winner: bool,
    allows_tie: bool,
    reasoned: tuple[str, ...],
) -> Mapping[str, Any]:
    properties: dict[str, Any] = {}
    if scales:
        scores = {name: _score_schema(is_integer, ends, step) for name, is_integer, ends, step in scales}
        properties["scores"] = _closed(dict.fromkeys(positions, _closed(scores)))
    if declares_winner:
        properties["winner"] = _winner_schema(positions, allows_tie=allows_tie)
    if reasoned:
        properties["reasons"] = _closed({name: {"type": "string"} for name in reasoned})
    return _closed(properties)


def _winner_schema(positions: tuple[str, ...], *, allows_tie: bool) -> dict[str, Any]:
    if positions[0] not in BP_POSITIONS:
        return {"type": "string", "enum": ["pro", "con", *(["tie"] if allows_tie else [])]}
    team = {"type": "string", "enum": list(positions)}
    return {"type": "array", "items": team, "minItems": 1, "maxItems": 2 if allows_tie else 1}


def _score_schema(is_integer: bool, ends: tuple[int | float, int | float], step: Decimal | None) -> dict[str, Any]:
    return {
        "type": "integer" if is_integer else "number",
        "minimum": ends[0],
        "maximum": ends[1],
        **({} if step in (None, 1) else {"multipleOf": float(step)}),
    }


def _reason_shape(name: str) -> str:
    return "why, in one or two sentences" if name == "winner" else f"why {name} gets its score, in one or two sentences"


def _either(names: tuple[str, ...]) -> str:
    """Quoted names, the last one after `or`."""
    quoted = [f'"{name}"' for name in names]
    return f"{', '.join(quoted[:-1])} or {quoted[-1]}"


def _closed(properties: Mapping[str, Any]) -> dict[str, Any]:
    """An object with exactly these properties."""
    return {
        "type": "object",
        "properties": dict(properties),
        "required": list(properties),
        "additionalProperties": False,
    }
