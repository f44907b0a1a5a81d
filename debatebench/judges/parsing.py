"""Strict parsing of a judge's answer: no value is clamped, rounded, coerced or guessed.

An answer must hold one JSON object, alone or within a code fence or prose, in one of three shapes:

    {"scores": {"pro": {"clarity": 7}, "con": {"clarity": 6}}, "winner": "pro"}
    {"pro": {"scores": {"clarity": 7}}, "con": {"scores": {"clarity": 6}}, "winner": "pro"}
    {"pro": {"clarity": 7}, "con": {"clarity": 6}, "winner": "pro"}

Where a debate has four teams, they stand in the place of the sides, and the winner is a list of one or two of them.
The object may also have `reasons`, an object of texts: they are kept and decide nothing, so that odd ones are ignored.

Names of positions and dimensions match exactly. On a scale whose ends are whole numbers a score must be a whole number:
`7.0` is accepted, as in the JSON schema that judges are given; `7.5`, `"7"` and `true` are not. The winner label is
case-insensitive, and `draw` means `tie`. If the label is missing or unknown, the scores stay valid and the declared
winner is empty; an answer that need not hold scores is not valid without a winner.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from decimal import Decimal, DecimalException
from typing import TYPE_CHECKING, Any, NoReturn

from debatebench.config.answer_form import TWO_SIDES, AnswerForm
from debatebench.config.transcript_layout import BP_POSITIONS
from debatebench.providers.thinking import strip_thinking
from debatebench.shared.errors import DebatebenchError
from debatebench.shared.records import Score, Side, Winner, clean_text

if TYPE_CHECKING:
    from debatebench.config.types import DimensionConfig

__all__ = [
    "InvalidVerdictError",
    "ParsedAnswer",
    "ParsedVerdict",
    "json_objects",
    "parse_answer",
    "parse_verdict",
    "side_of",
    "winner_of",
]

_WINNERS = {"pro": ("pro",), "con": ("con",), "tie": TWO_SIDES, "draw": TWO_SIDES}
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
class ParsedAnswer:
    """A parsed judge's answer, and any irregularities."""

    scores: Mapping[str, Mapping[str, Decimal]]
    """Position → dimension → score, in the order of the form; empty if the form has no dimensions."""
    winners: tuple[str, ...]
    """The positions that have won: more than one for a tie, none if no winner was named or asked for."""
    reasons: Mapping[str, str]
    """Texts for positions, and for the `winner`."""
    is_repaired: bool = False
    """The JSON object had to be extracted from a fence or prose."""
    flags: tuple[str, ...] = ()
    """`extra_side`, `extra_dimension`, `winner_missing`, `winner_unknown`, `winner_not_asked`, `reasons_missing`: each
    at most once."""


@dataclass(frozen=True, slots=True)
class ParsedVerdict:
    """A parsed judge's answer about two sides: scores in the order of the dimensions, and the declared winner.

    `is_repaired` and `flags` are those of `ParsedAnswer`.
    """

    scores: tuple[Score, ...]
    declared_winner: Winner | None
    is_repaired: bool
    flags: tuple[str, ...]


def parse_verdict(text: str, dimensions: Mapping[str, DimensionConfig], declares_winner: bool) -> ParsedVerdict:
    """Parse a judge's answer about two sides; `declares_winner` says whether its prompt asks for a winner label.

    Raises only `InvalidVerdictError`, as `parse_answer` does.
    """
    answer = parse_answer(text, AnswerForm(dimensions, declares_winner=declares_winner))
    pro, con = (answer.scores[side] for side in TWO_SIDES)
    scores = tuple(Score(dimension=name, pro=pro[name], con=con[name]) for name in dimensions)
    return ParsedVerdict(scores, winner_of(answer.winners), answer.is_repaired, answer.flags)


def parse_answer(text: str, form: AnswerForm) -> ParsedAnswer:
    """Parse a judge's answer of that form.

    Raises only `InvalidVerdictError`, when the answer is not exactly one JSON object with one score per position and
    dimension of the form, each a number within its dimension's own scale, or has neither scores nor a winner.
    """
    answer, is_repaired = _read_object(text)
    flags: list[str] = []
    scores = _scores(answer, form, flags) if form.dimensions else {}
    winners = _winners(answer, form, flags)
    if not scores and not winners:
        _refuse(f"the winner is {_quote(answer.get('winner'))}; allowed: {_allowed_winners(form)}")
    reasons = _reasons(answer, form)
    if len(reasons) < len(form.reasoned):
        flags.append("reasons_missing")
    return ParsedAnswer(scores, winners, reasons, is_repaired, tuple(flags))


def side_of(position: str) -> Side:
    """The side of a position."""
    return BP_POSITIONS.get(position, "pro" if position == "pro" else "con")


def winner_of(positions: Collection[str]) -> Winner | None:
    """The side that has won, if these positions have; a tie if both have, None if there is no winner."""
    sides = {side_of(position) for position in positions}
    return None if not sides else "tie" if len(sides) > 1 else sides.pop()


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


def _scores(answer: dict[str, Any], form: AnswerForm, flags: list[str]) -> dict[str, dict[str, Decimal]]:
    """Position → dimension → score; irregularities go to `flags`."""
    by_position = _unwrap(answer, form.positions, "the answer")
    given = {
        position: _unwrap(_object_at(by_position, position), form.dimensions, f"'{position}'")
        for position in form.positions
    }
    if by_position is not answer and any(key not in form.positions for key in by_position):
        flags.append("extra_side")
    if any(key not in form.dimensions for scores in given.values() for key in scores):
        flags.append("extra_dimension")
    # Dimension by dimension, so that a refusal names the first one that is wrong.
    scores: dict[str, dict[str, Decimal]] = {position: {} for position in form.positions}
    for name, dimension in form.dimensions.items():
        for position in form.positions:
            scores[position][name] = _score(given[position], position, name, dimension)
    return scores


def _score(scores: dict[str, Any], position: str, name: str, dimension: DimensionConfig) -> Decimal:
    """One score, checked against its scale, without trailing zeros."""
    if name not in scores:
        _refuse(f"the score of {position} on '{name}' is missing")
    value = scores[name]
    if objection := _objection(value, dimension):
        _refuse(f"the score of {position} on '{name}' is {_quote(value)}{objection}")
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


def _winners(answer: dict[str, Any], form: AnswerForm, flags: list[str]) -> tuple[str, ...]:
    """The positions that are named as winners; irregularities go to `flags`. A label not asked for is ignored."""
    label = answer.get("winner")
    if not form.declares_winner:
        flags += ["winner_not_asked"] if "winner" in answer else []
        return ()
    if label is None:
        flags.append("winner_missing")
        return ()
    winners = _teams(label, form) if form.is_of_teams else _sides(label, form)
    flags += [] if winners else ["winner_unknown"]
    return winners


def _sides(label: Any, form: AnswerForm) -> tuple[str, ...]:
    winners = _WINNERS.get(label.strip().lower(), ()) if isinstance(label, str) else ()
    return winners if form.allows_tie or len(winners) == 1 else ()


def _teams(label: Any, form: AnswerForm) -> tuple[str, ...]:
    """One or two different teams, in the order of the form."""
    names = label if isinstance(label, list) else [label]
    teams = {name.strip().upper() for name in names if isinstance(name, str)}
    if len(teams) != len(names) or len(teams) > 2 or not teams <= set(form.positions):
        return ()
    return tuple(position for position in form.positions if position in teams)


def _allowed_winners(form: AnswerForm) -> str:
    if form.is_of_teams:
        return f"a list of one or two of {', '.join(form.positions)}"
    return ", ".join(("pro", "con", "tie") if form.allows_tie else TWO_SIDES)


def _reasons(answer: dict[str, Any], form: AnswerForm) -> dict[str, str]:
    """The reasons that the form asks for and the answer gives as text."""
    given = answer.get("reasons")
    if not isinstance(given, dict):
        return {}
    texts = {name: clean_text(given[name]).strip() for name in form.reasoned if isinstance(given.get(name), str)}
    return {name: text for name, text in texts.items() if text}


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
