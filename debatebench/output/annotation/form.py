"""A form: what a page may save, and what it must hold to be handed in."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Any, get_args

from debatebench.output.annotation.debates import ShownDebate
from debatebench.shared.amounts import known_names
from debatebench.shared.errors import DebatebenchError
from debatebench.shared.records import SkipReason, clean_text
from debatebench.shared.scales import Scale

LONGEST_JUSTIFICATION = 20_000
WINNERS = ("pro", "con", "tie")
RANKS = (1, 2, 3, 4)
CONFIDENCES = (1, 2, 3, 4, 5)
SKIP_REASONS: tuple[str, ...] = get_args(SkipReason)


class BadFormError(DebatebenchError):
    """A form holds something that it cannot hold, or lacks something that it must hold."""


def checked(value: Any, debate: ShownDebate, *, is_review: bool = False) -> dict[str, Any]:
    """`value` as a form with every key; what was not filled in is null. Raises `BadFormError` with words.

    A form has `winner` (of four teams `ranks`: team → place), `scores` (dimension → side or team → score),
    `justification`, `is_coherent` and, except in a review, `confidence` and `skip_reason`.
    """
    if not isinstance(value, dict):
        raise BadFormError("A form is a JSON object.")
    outcome = "ranks" if debate.is_of_teams else "winner"
    known = [outcome, "scores", "justification", "is_coherent"] + ([] if is_review else ["confidence", "skip_reason"])
    unknown = sorted(map(str, value.keys() - set(known)))
    if unknown:
        raise BadFormError(f"A form has no field {unknown[0][:60]!r}.{known_names(unknown[0][:60], known)}")
    form = {
        outcome: _ranks(value.get("ranks"), debate)
        if debate.is_of_teams
        else _one_of("winner", value.get("winner"), WINNERS),
        "scores": _scores(value.get("scores"), debate),
        "justification": _text(value.get("justification")),
    }
    if not is_review:
        form["confidence"] = _one_of("confidence", value.get("confidence"), CONFIDENCES)
        form["skip_reason"] = _one_of("skip_reason", value.get("skip_reason"), SKIP_REASONS)
    form["is_coherent"] = _one_of("is_coherent", value.get("is_coherent"), (True, False))
    return form


def missing_in(form: dict[str, Any], debate: ShownDebate) -> dict[str, str]:
    """Field → what it is in words, of all that a form lacks to be handed in, in the order of the page.

    A debate that is not coherent needs only the reasons, one that is skipped only why, and a review only the outcome.
    """
    missing: dict[str, str] = {}
    if form.get("skip_reason") is not None:
        return missing
    is_review = "confidence" not in form
    if is_review and form["is_coherent"] is not False:
        return _missing_outcome(form, debate)
    if form["is_coherent"] is None:
        missing["is_coherent"] = "whether the debate is coherent"
    if form.get("is_coherent") is not False:
        for dimension in debate.dimensions:
            for side in debate.sides:
                if form["scores"].get(dimension.name, {}).get(side) is None:
                    missing[f"{dimension.name}.{side}"] = f"{dimension.title}: {debate.names[side]}"
        missing |= _missing_outcome(form, debate)
        if form["confidence"] is None:
            missing["confidence"] = "the confidence"
    if not (form["justification"] or "").strip():
        missing["justification"] = "the reasons"
    return missing


def _missing_outcome(form: dict[str, Any], debate: ShownDebate) -> dict[str, str]:
    """Field → what it is, of a winner or of places that are missing."""
    if debate.is_of_teams:
        return _missing_ranks(form["ranks"], debate)
    return {"winner": "the winner"} if form["winner"] is None else {}


def verdict_of(form: dict[str, Any], debate: ShownDebate) -> dict[str, Any]:
    """What a form says, as an annotation has it. A debate that is skipped or not coherent has no verdict, whatever else
    was filled in."""
    if form["skip_reason"] is not None:
        return {"skip_reason": form["skip_reason"], "justification": form["justification"]}
    if form["is_coherent"] is False:
        return {"is_coherent": False, "justification": form["justification"]}
    said = {name: form[name] for name in ("justification", "confidence", "is_coherent")}
    return {**said, **outcome_of(form, debate)}


def outcome_of(form: dict[str, Any], debate: ShownDebate) -> dict[str, Any]:
    """The outcome and the scores of a form as records have them; of two sides, dimensions lacking one are left out."""
    scores = form["scores"]
    if debate.is_of_teams:
        places = {} if _missing_ranks(form["ranks"], debate) else form["ranks"]
        ranks = [{"team": team, "rank": places[team]} for team in debate.sides if team in places]
        found = [
            {"dimension": dimension.name, "team": team, "score": _decimal(scores[dimension.name][team])}
            for dimension in debate.dimensions
            for team in debate.sides
            if team in scores.get(dimension.name, {})
        ]
        return {"ranks": ranks or None, "team_scores": found or None}
    found = [
        {"dimension": dimension.name, **{side: _decimal(scores[dimension.name][side]) for side in debate.sides}}
        for dimension in debate.dimensions
        if scores.get(dimension.name, {}).keys() >= set(debate.sides)
    ]
    return {"winner": form["winner"], "scores": found or None}


def _missing_ranks(ranks: Mapping[str, int], debate: ShownDebate) -> dict[str, str]:
    """Field → what it lacks, of the places of four teams.

    Places are different, except that two teams may share the first, as judges may name two equal winners: the others
    are third and fourth then.
    """
    missing = {f"rank:{team}": f"the place of {debate.names[team]}" for team in debate.sides if team not in ranks}
    if missing or sorted(ranks.values()) in ([1, 2, 3, 4], [1, 1, 3, 4]):
        return missing
    first = [team for team in debate.sides if ranks[team] == 1]
    for team in debate.sides:
        place = ranks[team]
        sharing = [other for other in debate.sides if ranks[other] == place and other != team]
        if sharing and (place != 1 or len(first) > 2):
            missing[f"rank:{team}"] = f"a place of {debate.names[team]} that no other team has"
        elif place == 2 and len(first) == 2:
            missing[f"rank:{team}"] = f"the third or fourth place of {debate.names[team]}, as two share the first"
    return missing


def _ranks(value: Any, debate: ShownDebate) -> dict[str, int]:
    if value is None:
        return {}
    if not isinstance(value, dict) or not value.keys() <= set(debate.sides):
        raise BadFormError(f"The field ranks is an object with the teams {_listed(debate.sides)}.")
    ranks = {team: _one_of(f"ranks.{team}", rank, RANKS) for team, rank in value.items()}
    return {team: rank for team, rank in ranks.items() if rank is not None}


def _one_of(name: str, value: Any, allowed: Sequence[Any]) -> Any:
    # True equals 1, so the type is compared too.
    if value is None or any(type(value) is type(each) and value == each for each in allowed):
        return value
    shown = ", ".join(str(each).lower() if isinstance(each, bool) else str(each) for each in allowed)
    raise BadFormError(f"The field {name} is one of {shown}, or null; found {_shown(value)}.")


def _scores(value: Any, debate: ShownDebate) -> dict[str, dict[str, int | float | None]]:
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise BadFormError("The field scores is an object: dimension, then side, then score.")
    known = {dimension.name: dimension for dimension in debate.dimensions}
    found: dict[str, dict[str, int | float | None]] = {}
    for name, sides in value.items():
        if name not in known:
            raise BadFormError(f"No dimension {_shown(name)}.{known_names(_shown(name), known)}")
        if not isinstance(sides, dict) or not sides.keys() <= set(debate.sides):
            kind = "teams" if debate.is_of_teams else "sides"
            raise BadFormError(f"The scores of {name} are an object with the {kind} {_listed(debate.sides)}.")
        scores = {side: _score(f"scores.{name}.{side}", score, known[name].scale) for side, score in sides.items()}
        found[name] = {side: score for side, score in scores.items() if score is not None}
    return {name: sides for name, sides in found.items() if sides}


def _score(name: str, value: Any, scale: Scale) -> int | float | None:
    """A score as JSON has it: a whole number, or one with decimals."""
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise BadFormError(f"The field {name} is a number, or null; found {_shown(value)}.")
    # Infinity and not a number, which some JSON has, are within no ends.
    if not scale.low <= value <= scale.high or not scale.holds(_decimal(value)):
        raise BadFormError(f"The field {name} takes {scale.words}, or null; found {_shown(value)}.")
    return int(value) if value == int(value) else value


def _decimal(value: int | float) -> Decimal:
    """The number that was chosen: 0.1 stays 0.1."""
    return Decimal(repr(value))


def _text(value: Any) -> str | None:
    if value is None:
        return None
    if not isinstance(value, str):
        raise BadFormError(f"The field justification is text, or null; found {_shown(value)}.")
    if len(value) > LONGEST_JUSTIFICATION:
        raise BadFormError(
            f"The reasons have {len(value):,} characters; at most {LONGEST_JUSTIFICATION:,} can be kept."
        )
    return clean_text(value) or None


def _shown(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:60]}…"


def _listed(names: Sequence[str]) -> str:
    return f"{', '.join(names[:-1])} and {names[-1]}"
