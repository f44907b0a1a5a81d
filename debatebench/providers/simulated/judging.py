"""How a simulated judge judges: by what it counted in the speeches, then by its own bias and noise.

A judge of several steps writes down what it counts (`notes.py`) and decides from these notes. Where it finds only the
scores of earlier decisions, it starts from them: bias is in them already, so that only noise is added.
"""

from __future__ import annotations

import json
import math
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from random import Random
from statistics import fmean
from typing import Any

from debatebench.config.transcript_layout import BP_POSITIONS, Section
from debatebench.providers.simulated.flaws import Seen, lower, noted_flaws, seen_flaws
from debatebench.providers.simulated.notes import (
    debate_notes,
    judgment_notes,
    read_debate_notes,
    read_judgment,
    read_scores,
    speech_notes,
)
from debatebench.providers.simulated.signs import notes_on, observed, side_of, stance, worth
from debatebench.providers.simulated.swaying import lead, swayed, without_attacks
from debatebench.shared.errors import UsageError

_SIDES = ("pro", "con")
_WHOLE = "overall"
# Where only a winner is asked for, bias and noise are in points of the usual scale.
_USUAL_SCALE = (1.0, 10.0)
_NEARLY_EQUAL = 0.01
_LAST_SCORE = re.compile(r"(-?[\d.]+)(?=}})")
_NO_SCALES = "The request to a simulated judge must contain the dimensions and their scales."
_REFUSAL = "I would rather not choose between two such thoughtful speakers."


@dataclass(frozen=True, slots=True)
class _Account:
    """What a judge knows of the debate: from the speeches and analyses of them, or from a report on the whole."""

    counts: Mapping[str, Counter[str]]
    scores: Mapping[str, float] = field(default_factory=dict)
    first: str | None = None
    """The position that is shown first."""
    dimension: str | None = None
    """What a report is about that is weighed with others."""
    weight: float = 1.0

    def share(self, position: str, dimension: str, least: float, span: float) -> tuple[float, float]:
        """The share of the scale that the position earns, 0.5 if unknown, and whether bias is to be added (1 or 0)."""
        if position in self.counts:
            return 0.08 + 0.84 * worth(self.counts[position]).of_dimension(self.dimension or dimension), 1.0
        if position in self.scores:
            return (self.scores[position] - least) / span, 0.0
        return 0.5, 1.0


def analysis_answer(
    hints: Mapping[str, Any], sections: tuple[Section, ...], traits: Mapping[str, float] = {}, judge: str = ""
) -> str:
    """The text of a judge's analysis of the last speech in the material, or of the debate.

    Raises `UsageError` when `hints` do not describe the request.
    """
    step, dimension = hints.get("step"), hints.get("dimension")
    focus = None if dimension is None else str(dimension)
    if step == "debate":
        remarks = noted_flaws(seen_flaws(sections, traits, judge))
        return debate_notes(focus, _account(sections, _positions(hints)).counts, remarks)
    spoken = [(n, section.position) for n, section in enumerate(sections) if not section.is_analysis]
    index, position = spoken[-1] if spoken else (0, None)
    if step != "speech" or position is None:
        raise UsageError("A simulated judge can only analyse a `speech` that is in the request, or the `debate`.")
    remarks = noted_flaws(seen_flaws(sections[index : index + 1], traits, judge))
    return speech_notes(position.upper(), focus, notes_on(position, index, sections), remarks)


@dataclass(frozen=True, slots=True)
class _Judged:
    """What a judge thinks of a debate."""

    scores: dict[str, dict[str, float]]
    winners: list[str]
    accounts: list[_Account]
    seen: Seen


def judge_answer(
    rng: Random,
    traits: Mapping[str, float],
    hints: Mapping[str, Any],
    sections: tuple[Section, ...],
    susceptibility: Mapping[str, float] | None = None,
    judge: str = "",
) -> str:
    """The text of a judge's decision: strict JSON, or on the first request, with probability `malformed`, a flawed one.

    `susceptibility` says how often which attack in a speech leads the judge (`swaying.py`).
    Raises `UsageError` when `hints` do not describe the request.
    """
    judged = _judged(rng, traits, hints, sections, susceptibility, judge)
    positions, is_winner_only = _positions(hints), _is_winner_only(hints)
    answer: dict[str, Any] = {} if is_winner_only else {"scores": judged.scores}
    if judged.winners:
        answer["winner"] = _named(judged.winners, positions)
    if hints.get("reasons"):
        answer["reasons"] = (
            {}
            if is_winner_only
            else {position: _reason(position, judged.accounts, judged.seen) for position in positions}
        )
        if judged.winners:
            answer["reasons"]["winner"] = _reason_of_winning(judged.winners)
    return _sent(rng, traits, hints, answer)


def judgment_answer(
    rng: Random,
    traits: Mapping[str, float],
    hints: Mapping[str, Any],
    sections: tuple[Section, ...],
    susceptibility: Mapping[str, float] | None = None,
    judge: str = "",
) -> str:
    """The same decision in words, from which `extracted_answer` reads it."""
    judged = _judged(rng, traits, hints, sections, susceptibility, judge)
    counts = judged.accounts[0].counts if len(judged.accounts) == 1 else {}
    dimension = hints.get("dimension")
    focus = None if dimension is None else str(dimension)
    return judgment_notes(focus, counts, judged.scores, judged.winners, noted_flaws(judged.seen))


def extracted_answer(
    rng: Random, traits: Mapping[str, float], hints: Mapping[str, Any], sections: tuple[Section, ...]
) -> str:
    """The scores and the winner that a judgment states, as JSON; without them, those of `judge_answer`."""
    positions, scales = _positions(hints), _scales(hints)
    text = "\n".join(section.text for section in sections)
    stated, winners = read_judgment(text, scales)
    lacks_score = any(name not in stated.get(position, {}) for position in positions for name in scales)
    lacks_winner = hints.get("declares_winner") and (not winners or not set(winners) <= set(positions))
    if lacks_score or lacks_winner:
        return judge_answer(rng, traits, hints, sections)
    answer: dict[str, Any] = {}
    if scales:
        answer["scores"] = {each: {name: _plain(stated[each][name]) for name in scales} for each in positions}
    if hints.get("declares_winner"):
        answer["winner"] = _named(winners, positions)
    return _sent(rng, traits, hints, answer)


def sides_answer(
    rng: Random, traits: Mapping[str, float], hints: Mapping[str, Any], sections: tuple[Section, ...]
) -> str:
    """For which side each speech in the material argues, by the words in which it says so.

    Raises `UsageError` when `hints` do not name one position for each speech.
    """
    names = hints.get("positions")
    if not isinstance(names, list) or len(names) != len(sections):
        raise UsageError("A simulated judge can only tell the sides of the speeches that are in the request.")
    stances = {name: {"stance": stance(section.text)} for name, section in zip(names, sections, strict=True)}
    text = json.dumps({"scores": stances})
    is_malformed = int(hints.get("ask", 0)) == 0 and rng.random() < traits.get("malformed", 0.0)
    return _malformed(rng, text, str(names[-1])) if is_malformed else text


def _judged(
    rng: Random,
    traits: Mapping[str, float],
    hints: Mapping[str, Any],
    sections: tuple[Section, ...],
    susceptibility: Mapping[str, float] | None,
    judge: str,
) -> _Judged:
    """What the judge thinks. Raises `UsageError` when `hints` do not describe the request."""
    scales = _scales(hints)
    try:
        weights = {str(name): float(weight) for name, weight in hints.get("weights", {}).items()}
        steps = {str(name): float(scale["step"]) for name, scale in hints["dimensions"].items() if "step" in scale}
    except (TypeError, AttributeError, ValueError, OverflowError):
        raise UsageError(_NO_SCALES) from None
    positions = _positions(hints)
    accounts = _accounts(sections if susceptibility is None else without_attacks(sections), positions, weights)
    if _is_winner_only(hints):
        scales = {str(hints.get("dimension") or _WHOLE): _USUAL_SCALE}
    if "detects" in traits:
        accounts = [_levelled(account) for account in accounts]
    scores, leads = _scores(rng, traits, positions, scales, accounts)
    seen = seen_flaws(sections, traits, judge)
    lower(scores, leads, scales, seen, is_of_one_dimension=hints.get("dimension") is not None)
    if susceptibility and (led_to := swayed(rng, susceptibility, positions, sections)) is not None:
        lead(scores, led_to, scales)
        leads[led_to] = max(leads.values()) + 1
    for name, step in steps.items():
        for given in scores.values():
            given[name] = round(round(given[name] / step) * step, 6)
    winners: list[str] = []
    if hints.get("declares_winner") and len(positions) > 1:
        winners = _winners(rng, leads, allows_tie=bool(hints.get("allows_tie", True)))
    return _Judged(scores, winners, accounts, seen)


def _scales(hints: Mapping[str, Any]) -> dict[str, tuple[float, float]]:
    """The ends of the scale of each dimension. Raises `UsageError` where they are not to be understood."""
    try:
        int(hints.get("ask", 0))
        return {str(name): (float(scale["min"]), float(scale["max"])) for name, scale in hints["dimensions"].items()}
    except (KeyError, TypeError, AttributeError, ValueError, OverflowError):
        raise UsageError(_NO_SCALES) from None


def _is_winner_only(hints: Mapping[str, Any]) -> bool:
    return "positions" in hints and not hints["dimensions"]


def _named(winners: Sequence[str], positions: Sequence[str]) -> str | list[str]:
    """The winners as an answer names them."""
    return list(winners) if positions[0] in BP_POSITIONS else "tie" if len(winners) > 1 else winners[0]


def _plain(score: float) -> float:
    return int(score) if score.is_integer() else score


def _sent(rng: Random, traits: Mapping[str, float], hints: Mapping[str, Any], answer: Mapping[str, Any]) -> str:
    """The answer as JSON, or in a form that models give when they ignore the format."""
    text = json.dumps(answer)
    is_malformed = int(hints.get("ask", 0)) == 0 and rng.random() < traits.get("malformed", 0.0)
    return _malformed(rng, text, _positions(hints)[-1]) if is_malformed else text


def _positions(hints: Mapping[str, Any]) -> tuple[str, ...]:
    """The positions that are judged. Raises `UsageError` for unknown ones, and for those of different formats."""
    given = hints.get("positions", _SIDES)
    if isinstance(given, list | tuple) and given:
        for known in (_SIDES, tuple(BP_POSITIONS)):
            if all(position in known for position in given) and len(set(given)) == len(given):
                return tuple(given)
    raise UsageError("The positions in a request to a simulated judge must be pro and con, or OG, OO, CG and CO.")


def _accounts(sections: tuple[Section, ...], positions: Sequence[str], weights: Mapping[str, float]) -> list[_Account]:
    """What the material says: one account of the speeches or, if it has only reports on the debate, one of each."""
    reports = [section for section in sections if section.is_analysis]
    if not reports or any(section.position is not None for section in sections):
        return [_account(sections, positions)]
    names = [report.about if weights or len(reports) > 1 else None for report in reports]
    given = [weights.get(name or "", 0.0) for name in names]
    return [
        _reported(report.text, name, weight)
        for report, name, weight in zip(reports, names, given if sum(given) > 0 else [1.0] * len(given), strict=True)
    ]


def _account(sections: tuple[Section, ...], positions: Sequence[str]) -> _Account:
    """The counts of every position, in the order in which they are shown; unreadable analyses leave a position out."""
    shown = [section.position for section in sections if section.position is not None]
    found = {position: observed(position, sections) for position in dict.fromkeys([*shown, *positions])}
    counts = {position: each.counts for position, each in found.items() if each.is_known}
    return _Account(counts, first=shown[0] if shown else None)


def _reported(text: str, dimension: str | None, weight: float) -> _Account:
    """The counts and scores in a report on the debate."""
    counts, scores = read_debate_notes(text), read_scores(text)
    return _Account(counts, scores, next(iter([*counts, *scores]), None), dimension, weight)


def _levelled(account: _Account) -> _Account:
    """The account of a judge to whom all positions are worth the same."""
    pooled = sum(account.counts.values(), Counter())
    return replace(account, counts=dict.fromkeys(account.counts, pooled))


def _scores(
    rng: Random,
    traits: Mapping[str, float],
    positions: Sequence[str],
    scales: Mapping[str, tuple[float, float]],
    accounts: Sequence[_Account],
) -> tuple[dict[str, dict[str, float]], dict[str, float]]:
    """The scores of every position, and the mean of what it has earned as a share of the scales, not rounded."""
    scores: dict[str, dict[str, float]] = {position: {} for position in positions}
    leads = dict.fromkeys(positions, 0.0)
    for position in positions:
        mood, leaning = rng.gauss(0.0, 1.0), _leaning(traits, position, accounts)
        for name, (least, most) in scales.items():
            span = most - least or 1.0
            noise = traits.get("noise", 0.05 * span) * (0.8 * mood + 0.6 * rng.gauss(0.0, 1.0))
            earned, biased = _weighed(accounts, position, name, least, span)
            share = earned + (leaning * biased + noise) / span
            is_whole = least.is_integer() and most.is_integer()
            scores[position][name] = round(min(max(least + span * share, least), most), None if is_whole else 2)
            leads[position] += share / len(scales)
    return scores, leads


def _weighed(accounts: Sequence[_Account], position: str, name: str, least: float, span: float) -> tuple[float, float]:
    """The weighted mean of what the accounts say of a position."""
    if len(accounts) == 1:
        return accounts[0].share(position, name, least, span)
    shares = [account.share(position, name, least, span) for account in accounts]
    whole = math.fsum(account.weight for account in accounts)
    earned, biased = (
        math.fsum(account.weight * each for account, each in zip(accounts, column, strict=True)) / whole
        for column in zip(*shares, strict=True)
    )
    return earned, biased


def _leaning(traits: Mapping[str, float], position: str, accounts: Sequence[_Account]) -> float:
    """The points that `position` gets regardless of its arguments."""
    account = next((account for account in accounts if account.counts), accounts[0])
    others = [counts["words"] for other, counts in account.counts.items() if other != position]
    own, theirs = account.counts.get(position, Counter())["words"], fmean(others or [0])
    side = side_of(position)
    gains = {
        "leniency": 1.0,
        "bias": side == "pro",
        "order_bias": account.first is not None and side == side_of(account.first),
        "length_bias": max(-1.0, min(1.0, math.log2((own + 1) / (theirs + 1)))),
    }
    return sum(gain * traits.get(name, 0.0) for name, gain in gains.items())


def _winners(rng: Random, leads: Mapping[str, float], *, allows_tie: bool) -> list[str]:
    """The best position; if ties are allowed also the second, when it has earned nearly as much."""
    best = max(leads.values())
    if not allows_tie:
        return [rng.choice([position for position, lead in leads.items() if lead == best])]
    near = [position for position, lead in leads.items() if best - lead < _NEARLY_EQUAL]
    if len(near) > 2:  # Where even the order of these is open, it must not be that of the positions.
        near = sorted(rng.sample(near, len(near)), key=lambda position: leads[position], reverse=True)[:2]
    return [position for position in leads if position in near]


def _reason(position: str, accounts: Sequence[_Account], seen: Seen) -> str:
    """What the score of a position is based on."""
    if position in seen:
        return f"It counts against this side that it said: “{seen[position][0][1]}”"
    counts = next((account.counts[position] for account in accounts if position in account.counts), None)
    if counts is not None:
        return (
            f"Of {counts['sentences']} sentences, {counts['reason']} give a reason, {counts['source']} name a source "
            f"and {counts['answer']} answer the other side."
        )
    scores = [account.scores[position] for account in accounts if position in account.scores]
    if scores:
        return f"The reports give it {fmean(scores):.1f} on average."
    return "Nothing in the notes sets it apart from an ordinary performance."


def _reason_of_winning(winners: Sequence[str]) -> str:
    names = " and ".join(position.upper() for position in winners)
    return f"{names} are nearly equal." if len(winners) > 1 else f"{names} earned more over the whole debate."


def _malformed(rng: Random, answer: str, last: str) -> str:
    """An answer in the forms that models give when they ignore the format; the first two can be repaired.

    `last` is the position that one of the forms calls by a wrong name.
    """
    wrong = f'"{last}"' if f'"{last}"' in answer else '"winner"'
    chosen = rng.choice(
        [
            f"```json\n{answer}\n```",
            f"Both sides made good points. Here is my verdict:\n\n{answer}\n\nI hope that this helps.",
            _REFUSAL,
            answer[: len(answer) * 2 // 3],
            answer.replace(wrong, '"opposition"', 1),
            _LAST_SCORE.sub("1000000", answer),
            _LAST_SCORE.sub(r'"\1"', answer),
        ]
    )
    return chosen if chosen != answer else _REFUSAL
