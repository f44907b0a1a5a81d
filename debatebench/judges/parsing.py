"""Strict parsing of a judge's answer: no value is clamped, rounded, coerced or guessed.

An answer must hold one JSON object, alone or within a code fence or prose, in one of three shapes:

    {"scores": {"pro": {"clarity": 7}, "con": {"clarity": 6}}, "winner": "pro"}
    {"pro": {"scores": {"clarity": 7}}, "con": {"scores": {"clarity": 6}}, "winner": "pro"}
    {"pro": {"clarity": 7}, "con": {"clarity": 6}, "winner": "pro"}

Names of sides and dimensions match exactly. On a scale whose ends are whole numbers a score must be a whole number:
`7.0` is accepted, as in the JSON schema that judges are given; `7.5`, `"7"` and `true` are not. The winner label is
case-insensitive, and `draw` means `tie`. If the label is missing or unknown, the scores stay valid and the declared
winner is empty.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from decimal import Decimal, DecimalException
from typing import TYPE_CHECKING, Any, NoReturn

from debatebench.providers.thinking import strip_thinking
from debatebench.shared.errors import DebatebenchError
from debatebench.shared.records import Score, Winner, clean_text

if TYPE_CHECKING:
    from debatebench.config.types import DimensionConfig

__all__ = ["InvalidVerdictError", "ParsedVerdict", "json_objects", "parse_verdict"]

SIDES = ("pro", "con")

_WINNERS: dict[str, Winner] = {"pro": "pro", "con": "con", "tie": "tie", "draw": "tie"}
_BRACE_OR_STRING = re.compile(r'[{}]|"[^"\\]*+(?:\\.[^"\\]*+)*+"?', re.DOTALL)
_OBJECT_START = re.compile(r'\{\s*["}]')
_LARGEST_FLOAT = Decimal(sys.float_info.max)
_FINEST_STEP = Decimal("1e-6")
_LONGEST_QUOTE = 40


class InvalidVerdictError(DebatebenchError):
    """A judge's answer contains no vote; the message gives the reason in words that can be sent to the judge."""

    def __init__(self, reason: str) -> None:
        super().__init__(clean_text(reason))
        self.reason = clean_text(reason)


@dataclass(frozen=True, slots=True)
class ParsedVerdict:
    """A parsed judge's answer: scores in the order of the dimensions, the declared winner, and any irregularities."""

    scores: tuple[Score, ...]
    declared_winner: Winner | None
    is_repaired: bool
    """The JSON object had to be extracted from a fence or prose."""
    flags: tuple[str, ...]
    """`extra_side`, `extra_dimension`, `winner_missing`, `winner_unknown`, `winner_not_asked`: each at most once."""


def parse_verdict(text: str, dimensions: Mapping[str, DimensionConfig], declares_winner: bool) -> ParsedVerdict:
    """Parse a judge's answer; `declares_winner` says whether its prompt asks for a winner label.

    Raises only `InvalidVerdictError`, when the answer is not exactly one JSON object with one score per
    side and dimension, each a number within its dimension's own scale.
    """
    answer, is_repaired = _read_object(text)
    by_side = _unwrap(answer, SIDES, "the answer")
    sides = {side: _unwrap(_object_at(by_side, side), dimensions, f"'{side}'") for side in SIDES}
    scores = tuple(
        Score(
            dimension=name,
            pro=_score(sides["pro"], "pro", name, dimension),
            con=_score(sides["con"], "con", name, dimension),
        )
        for name, dimension in dimensions.items()
    )
    flags = []
    if by_side is not answer and any(key not in SIDES for key in by_side):
        flags.append("extra_side")
    if any(key not in dimensions for side in sides.values() for key in side):
        flags.append("extra_dimension")
    winner, odd = _winner(answer, declares_winner)
    return ParsedVerdict(scores, winner, is_repaired, (*flags, *odd))


def json_objects(text: str) -> Iterator[str]:
    """Every outermost `{…}` of a text that starts like a JSON object, well-formed or not.

    Braces that are followed by anything but a string or a closing brace, as in `{clarity}`, are prose. An object that
    is never closed extends to the end of the text, so that no part of it is mistaken for the whole.
    """
    end = 0
    while (start := text.find("{", end)) >= 0:
        end = _end_of_braces(text, start)
        if _OBJECT_START.match(text, start):
            yield text[start:end]


def _end_of_braces(text: str, start: int) -> int:
    """The position after the brace that closes the one at `start`; braces within strings are ignored."""
    depth = 0
    for found in _BRACE_OR_STRING.finditer(text, start):
        depth += {"{": 1, "}": -1}.get(found[0], 0)
        if depth == 0:
            return found.end()
    return len(text)


def _read_object(text: str) -> tuple[dict[str, Any], bool]:
    """The single JSON object of an answer, and whether it had to be extracted."""
    said = strip_thinking(text)
    # Try the text as received first: within a JSON string a thinking tag is text.
    for whole in dict.fromkeys((text, said)):
        value = _load(whole.strip(" \t\r\n\ufeff"))
        if isinstance(value, dict):
            return value, False
        if value is not None:
            _refuse("the answer is JSON, but not an object")
    found = list(json_objects(said))
    if len(found) != 1:
        _refuse(
            f"the answer holds {len(found)} JSON objects instead of one" if found else "the answer holds no JSON object"
        )
    value = _load(found[0])
    if not isinstance(value, dict):
        _refuse("the JSON object in the answer is not well-formed")
    return value, True


def _load(text: str) -> Any:
    """The JSON value of a text, numbers as exact decimals; None when it is not JSON (or is `null`)."""
    try:
        return _DECODE(text)
    except RecursionError:
        _refuse("the JSON is nested too deeply")
    except DecimalException:
        _refuse("a number in the answer is beyond what can be stored")
    except json.JSONDecodeError:
        return None


def _finite(literal: str) -> Decimal:
    """A JSON number with a fraction or exponent; rejected where a float would be infinite, as other parsers read it."""
    value = Decimal(literal)
    if value.copy_abs() > _LARGEST_FLOAT:
        _refuse(f"{_quote(value)} is not a finite number")
    return value


def _no_constant(name: str) -> NoReturn:
    _refuse(f"{name} is not a number")


def _without_duplicates(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """A JSON object; rejected if it repeats a key, because parsers disagree on which value counts."""
    value: dict[str, Any] = {}
    for key, inner in pairs:
        if key in value:
            _refuse(f"the key {_quote(key)} comes more than once")
        value[key] = inner
    return value


_DECODE = json.JSONDecoder(
    parse_int=Decimal, parse_float=_finite, parse_constant=_no_constant, object_pairs_hook=_without_duplicates
).decode


def _unwrap(value: dict[str, Any], names: Collection[str], place: str) -> dict[str, Any]:
    """The object that holds `names`: `value` itself, or the object under its key `scores`, but never both."""
    if "scores" not in value or "scores" in names:
        return value
    if any(name in value for name in names):
        _refuse(f"{place} gives scores both within and beside 'scores'")
    return _object_at(value, "scores")


def _object_at(value: dict[str, Any], key: str) -> dict[str, Any]:
    if key not in value:
        _refuse(f"'{key}' is missing")
    inner = value[key]
    if not isinstance(inner, dict):
        _refuse(f"'{key}' is {_quote(inner)} instead of an object")
    return inner


def _score(scores: dict[str, Any], side: str, name: str, dimension: DimensionConfig) -> Decimal:
    """One score, checked against its scale, without trailing zeros."""
    if name not in scores:
        _refuse(f"the score of {side} on '{name}' is missing")
    value = scores[name]
    if objection := _objection(value, dimension):
        _refuse(f"the score of {side} on '{name}' is {_quote(value)}{objection}")
    return Decimal(int(value)) if value == value.to_integral_value() else value.normalize()


def _objection(value: Any, dimension: DimensionConfig) -> str:
    """What is wrong with a score, as text to follow its value; empty when the score is valid."""
    if not isinstance(value, Decimal):
        return f" instead of a number; {_scale(dimension)}"
    if not dimension.min <= value <= dimension.max:
        return f"; {_scale(dimension)}"
    if value == value.to_integral_value():
        return ""
    if dimension.is_integer:
        return f" instead of a whole number; {_scale(dimension)}"
    return "" if value == value.quantize(_FINEST_STEP) else "; it may have six decimals at most"


def _scale(dimension: DimensionConfig) -> str:
    return f"the scale is {dimension.min} to {dimension.max}"


def _winner(answer: dict[str, Any], declares_winner: bool) -> tuple[Winner | None, list[str]]:
    """The declared winner, and any irregularities. A label that the prompt does not ask for is ignored."""
    if not declares_winner:
        return None, ["winner_not_asked"] if "winner" in answer else []
    label = answer.get("winner")
    if label is None:
        return None, ["winner_missing"]
    winner = _WINNERS.get(label.strip().lower()) if isinstance(label, str) else None
    return winner, [] if winner else ["winner_unknown"]


def _quote(value: Any) -> str:
    """A value for a message, always short."""
    if isinstance(value, dict):
        return "an object"
    if isinstance(value, list):
        return "a list"
    text = str(value) if isinstance(value, Decimal) else json.dumps(value, ensure_ascii=False)
    return text if len(text) <= _LONGEST_QUOTE else f"{text[:_LONGEST_QUOTE]}…"


def _refuse(reason: str) -> NoReturn:
    raise InvalidVerdictError(reason)
