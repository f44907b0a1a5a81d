"""Strict parsing of a judge's answer: no value is clamped, rounded, coerced or guessed.

An answer must hold one JSON object (`answer_json.py` says where and how), in one of three shapes:

    {"scores": {"pro": {"clarity": 7}, "con": {"clarity": 6}}, "winner": "pro"}
    {"pro": {"scores": {"clarity": 7}}, "con": {"scores": {"clarity": 6}}, "winner": "pro"}
    {"pro": {"clarity": 7}, "con": {"clarity": 6}, "winner": "pro"}

Where a debate has four teams, they stand in the place of the sides, and the winner is a list of one or two of them.
The object may also have `reasons`, an object of texts: they are kept and decide nothing, so that odd ones are ignored.

Names of positions and dimensions match exactly, except for characters that cannot be seen. A score must be a
multiple of the scale's step, if it has one; else a whole number where the ends of the scale are: `7.0` is accepted, as
in the JSON schema that judges are given; `7.5`, `"7"` and `true` are not. The winner label is case-insensitive, and
`draw` means `tie`. If the label is missing or unknown, the scores stay valid and the declared winner is empty; an
answer that need not hold scores is not valid without a winner.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from debatebench.config.answer_form import TWO_SIDES, AnswerForm
from debatebench.config.transcript_layout import side_of
from debatebench.config.types import DimensionConfig
from debatebench.judges.answer_json import find_object, quoted, refuse
from debatebench.judges.mending import as_seen
from debatebench.shared.records import Score, Winner, clean_text
from debatebench.shared.scales import plain

_WINNERS = {"pro": ("pro",), "con": ("con",), "tie": TWO_SIDES, "draw": TWO_SIDES}


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
    """The answer is not just the JSON object that was asked for."""
    flags: tuple[str, ...] = ()
    """`brace_missing`, `extra_side`, `extra_dimension`, `winner_missing`, `winner_unknown`, `winner_not_asked`,
    `reasons_missing`: each at most once."""


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
    dimension of the form, each a number within its dimension's own scale, or has neither scores nor a winner. An object
    that may lack keys must name the winner.
    """
    found = find_object(text, ("scores", "winner", *form.positions), ("reasons", *form.dimensions))
    answer = found.value
    flags = [] if found.is_closed else ["brace_missing"]
    scores = _scores(answer, form, flags) if form.dimensions else {}
    winners = _winners(answer, form, flags)
    if form.declares_winner and not winners:
        if found.may_lack_keys:
            refuse("the JSON object in the answer is not well-formed, and names no winner", lacks_object=True)
        if not scores:
            refuse(f"the winner is {quoted(answer.get('winner'))}; allowed: {_allowed_winners(form)}")
    reasons = _reasons(answer, form)
    if len(reasons) < len(form.reasoned):
        flags.append("reasons_missing")
    is_repaired = found.is_repaired or (bool(winners) and not _is_plain(answer["winner"]))
    return ParsedAnswer(scores, winners, reasons, is_repaired, tuple(flags))


def winner_of(positions: Collection[str]) -> Winner | None:
    """The side that has won, if these positions have; a tie if both have, None if there is no winner."""
    sides = {side_of(position) for position in positions}
    return None if not sides else "tie" if len(sides) > 1 else sides.pop()


def _unwrap(value: dict[str, Any], names: Collection[str], place: str) -> dict[str, Any]:
    """The object that holds `names`: `value` itself, or the object under its key `scores`, but never both."""
    if "scores" not in value or "scores" in names:
        return value
    if any(name in value for name in names):
        refuse(f"{place} gives scores both within and beside 'scores'")
    return _object_at(value, "scores")


def _object_at(value: dict[str, Any], key: str) -> dict[str, Any]:
    if key not in value:
        refuse(f"'{key}' is missing")
    inner = value[key]
    if not isinstance(inner, dict):
        refuse(f"'{key}' is {quoted(inner)} instead of an object")
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
        refuse(f"the score of {position} on '{name}' is missing")
    value = scores[name]
    if objection := _objection(value, dimension):
        refuse(f"the score of {position} on '{name}' is {quoted(value)}{objection}")
    return Decimal(int(value)) if value == value.to_integral_value() else value.normalize()


def _objection(value: Any, dimension: DimensionConfig) -> str:
    """What is wrong with a score, as text to follow its value; empty when the score is valid."""
    if not isinstance(value, Decimal):
        return f" instead of a number; {_scale(dimension)}"
    if not dimension.min <= value <= dimension.max:
        return f"; {_scale(dimension)}"
    if dimension.scores.holds(value):
        return ""
    if dimension.step is not None:
        return f"; {_scale(dimension)} in steps of {plain(dimension.step)}"
    if dimension.is_integer:
        return f" instead of a whole number; {_scale(dimension)}"
    return "; it may have six decimals at most"


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
    winners = _WINNERS.get(as_seen(label).lower(), ()) if isinstance(label, str) else ()
    return winners if form.allows_tie or len(winners) == 1 else ()


def _teams(label: Any, form: AnswerForm) -> tuple[str, ...]:
    """One team, or two different ones if the form allows a tie, in the order of the form."""
    names = label if isinstance(label, list) else [label]
    teams = {as_seen(name).upper() for name in names if isinstance(name, str)}
    if len(teams) != len(names) or len(teams) > form.most_winners or not teams <= set(form.positions):
        return ()
    return tuple(position for position in form.positions if position in teams)


def _is_plain(label: Any) -> bool:
    """Whether a label, or each in a list, has only characters that can be seen."""
    return all(as_seen(name) == name.strip() for name in (label if isinstance(label, list) else [label]))


def _allowed_winners(form: AnswerForm) -> str:
    if form.is_of_teams:
        return f"a list of {'one or two' if form.allows_tie else 'one'} of {', '.join(form.positions)}"
    return ", ".join(("pro", "con", "tie") if form.allows_tie else TWO_SIDES)


def _reasons(answer: dict[str, Any], form: AnswerForm) -> dict[str, str]:
    """The reasons that the form asks for and the answer gives as text."""
    given = answer.get("reasons")
    if not isinstance(given, dict):
        return {}
    texts = {name: clean_text(given[name]).strip() for name in form.reasoned if isinstance(given.get(name), str)}
    return {name: text for name, text in texts.items() if text}
