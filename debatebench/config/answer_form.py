"""What a judge's answer must hold: as a JSON schema for its provider, and as a shape in words for its prompt."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
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

    dimensions: Mapping[str, DimensionConfig] = field(hash=False)
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

        Equal forms give the same object, which nobody changes. It is part of the request's identity; providers get it
        as `sent_schema` writes it, without bounds.
        """
        return _schema_of(self, tuple(self.dimensions))

    def made_schema(self) -> dict[str, Any]:
        """`schema`, made anew."""
        properties: dict[str, Any] = {}
        if self.dimensions:
            scores = {name: _score_schema(dimension) for name, dimension in self.dimensions.items()}
            properties["scores"] = _closed(dict.fromkeys(self.positions, _closed(scores)))
        if self.declares_winner:
            properties["winner"] = self._winner_schema()
        if self.reasoned:
            properties["reasons"] = _closed({name: {"type": "string"} for name in self.reasoned})
        return _closed(properties)

    def _winner_schema(self) -> dict[str, Any]:
        if not self.is_of_teams:
            return {"type": "string", "enum": ["pro", "con", *(["tie"] if self.allows_tie else [])]}
        team = {"type": "string", "enum": list(self.positions)}
        return {"type": "array", "items": team, "minItems": 1, "maxItems": self.most_winners}

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


# Panels ask for few kinds of answers, in thousands of requests. Forms that differ only in the order of their dimensions
# are equal, but their schemas are not.
@lru_cache(maxsize=64)
def _schema_of(form: AnswerForm, _order: tuple[str, ...]) -> Mapping[str, Any]:
    return form.made_schema()


def _score_schema(dimension: DimensionConfig) -> dict[str, Any]:
    return {
        "type": "integer" if dimension.is_integer else "number",
        "minimum": dimension.ends[0],
        "maximum": dimension.ends[1],
        **({} if dimension.step in (None, 1) else {"multipleOf": float(dimension.scores.step)}),
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
