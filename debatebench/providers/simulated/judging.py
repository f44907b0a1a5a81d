"""How a simulated judge judges: it counts what it can see in the speeches, then adds its own bias and noise.

It knows nothing about the debaters but their words. Signs of quality are ordinary English (reasons, sources with
figures, answers to points that the other side really made, comparisons; hedges, vague authorities, repetitions,
concessions), so that it can judge speeches of any origin, if crudely.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import lru_cache
from random import Random
from typing import Any

from debatebench.providers.simulated.speech import number, points_named
from debatebench.shared.errors import UsageError

__all__ = ["JudgeTraits", "Qualities", "Question", "judge_answer", "qualities_of"]

Speech = tuple[str, str, str]

# All patterns are for text in lower case.
_REASON = re.compile(r"\b(?:because|the reason is|since|as a result|which means that|due to)\b")
_SOURCE = re.compile(
    r"\b(?:according to|study|studies|survey|report|review|audit|census|trial|data|found that|estimates?)\b",
)
_VAGUE = re.compile(
    r"\b(?:experts say|everyone knows|everybody knows|some studies|people say|i once read|they say|well known)\b",
)
_OPPONENT = re.compile(r"\b(?:my opponent|the other side|the opposition|they claim|they say|you claim)\b")
_WEIGHING = re.compile(r"\b(?:outweighs?|matters more|weighs more|on balance|even if|what hangs on it|at stake)\b")
_HEDGE = re.compile(
    r"\b(?:maybe|perhaps|i guess|sort of|kind of|i feel|more or less|probably|simply how it is|it is obvious)\b",
)
_GAP = re.compile(r"\b(?:and so the|so it simply follows|and therefore the)\b")
_SHIFT = re.compile(
    r"\b(?:not for me to prove|failed to prove the opposite|until .{0,40}disproves?|owe you no proof)\b"
)
_CONCESSION = re.compile(r"\bi (?:have to |must )?(?:concede|admit)\b|\b(?:opponent|other side) is right\b")
_QUOTE = re.compile(r"[“\"]([^”\"]{15,200})[”\"]")
_SENTENCE = re.compile(r"[^.!?\n]+[.!?]?")
_LONG_WORD = re.compile(r"[^\W\d_]{5,}")

# Which qualities a dimension looks at, by words in its name; one that fits none looks at the whole.
_DIMENSIONS: tuple[tuple[re.Pattern[str], tuple[str, ...]], ...] = tuple(
    (re.compile(words), qualities)
    for words, qualities in (
        (r"evid|fact|sourc|support|accura|ground", ("evidence",)),
        (r"rebut|clash|engag|refut|respon|adapt", ("answers",)),
        (r"weigh|impact|strateg|exten", ("weighing", "reasons")),
        (r"reason|logic|argu|coher|burden|analy", ("reasons", "weighing")),
        (r"clar|langu|style|organ|present|deliver|struct|rhet", ("clarity",)),
        (r"safe|civil|respect|conduct|honest|ethic", ("conduct",)),
    )
)
# The impression of the whole colours every dimension, as it does with people.
_HALO = 0.5


@dataclass(frozen=True, slots=True)
class JudgeTraits:
    """A judge's leanings, in points of the scale, and the probability of a malformed first answer.

    `bias` favours pro, `leniency` both, `length_bias` the longer side (per doubling of the ratio, at most one),
    `order_bias` the side whose speeches are shown first; `noise` is a standard deviation, by default 5 % of the scale.
    """

    bias: float = 0.0
    leniency: float = 0.0
    length_bias: float = 0.0
    order_bias: float = 0.0
    noise: float | None = None
    malformed: float = 0.0

    @classmethod
    def of(cls, parameters: Mapping[str, Any]) -> JudgeTraits:
        """Read the traits. Raises `UsageError` for impossible ones."""
        return cls(
            number(parameters, "bias", 0.0, -1e6, 1e6),
            number(parameters, "leniency", 0.0, -1e6, 1e6),
            number(parameters, "length_bias", 0.0, -1e6, 1e6),
            number(parameters, "order_bias", 0.0, -1e6, 1e6),
            number(parameters, "noise", 0.0, 0.0, 1e6) if "noise" in parameters else None,
            number(parameters, "malformed", 0.0, 0.0, 1.0),
        )


@dataclass(frozen=True, slots=True)
class Question:
    """What a judge is asked for: the scales by dimension, whether to name a winner, and the how-manieth ask this is."""

    dimensions: Mapping[str, tuple[Decimal, Decimal]]
    declares_winner: bool
    ask: int


@dataclass(frozen=True, slots=True)
class Qualities:
    """What the text of one side shows, each in [0, 1]."""

    reasons: float
    evidence: float
    answers: float
    weighing: float
    clarity: float
    conduct: float

    @property
    def overall(self) -> float:
        """The impression of the whole."""
        return (
            0.28 * self.reasons
            + 0.22 * self.evidence
            + 0.22 * self.answers
            + 0.12 * self.weighing
            + 0.10 * self.clarity
            + 0.06 * self.conduct
        )

    def of_dimension(self, name: str) -> float:
        """What a dimension of this name looks at, coloured by the whole."""
        for pattern, qualities in _DIMENSIONS:
            if pattern.search(name.lower()):
                own = math.fsum(getattr(self, quality) for quality in qualities) / len(qualities)
                return _HALO * self.overall + (1 - _HALO) * own
        return self.overall


@lru_cache(maxsize=64)  # A panel reads the same speeches at about the same time.
def qualities_of(side: str, speeches: tuple[Speech, ...]) -> Qualities:
    """Count the signs of quality in everything that `side` said, per sentence, so that length earns nothing."""
    own = [text.lower() for each, _, text in speeches if each == side]
    sentences = [sentence for text in own for sentence in _SENTENCE.findall(text) if len(sentence.split()) > 2]
    count = max(len(sentences), 1)

    def share(pattern: re.Pattern[str]) -> float:
        return sum(1 for sentence in sentences if pattern.search(sentence)) / count

    evidence = sum(1 for s in sentences if _SOURCE.search(s) and re.search(r"\d", s)) / count
    hedges, vague, gaps, shifts = share(_HEDGE), share(_VAGUE), share(_GAP), share(_SHIFT)
    repeats, concessions = _repeated(sentences) / count, share(_CONCESSION)
    answers = _answered(side, speeches)
    return Qualities(
        reasons=_unit(0.1 + 2.6 * share(_REASON) - 2.5 * gaps - 1.6 * shifts - 1.2 * concessions - repeats),
        evidence=_unit(0.1 + 5.0 * evidence - 2.0 * vague - 1.0 * shifts),
        answers=_unit(answers - 1.2 * concessions),
        weighing=_unit(0.15 + 4.0 * share(_WEIGHING) - 1.5 * concessions - 1.0 * shifts),
        clarity=_unit(0.95 - 1.8 * hedges - 1.5 * repeats - 1.5 * gaps - vague),
        conduct=_unit(0.95 - 1.0 * shifts - 0.5 * vague),
    )


def judge_answer(rng: Random, traits: JudgeTraits, question: Question, speeches: tuple[Speech, ...]) -> str:
    """The text of a judge's answer: strict JSON, or, as often as `malformed` says and on the first ask only, something
    that is less."""
    verdict = _verdict(rng, traits, question, speeches)
    text = json.dumps(verdict)
    if question.ask == 0 and rng.random() < traits.malformed:
        return _malformed(rng, verdict, text)
    return text


def _verdict(rng: Random, traits: JudgeTraits, question: Question, speeches: tuple[Speech, ...]) -> dict[str, Any]:
    """Scores for both sides, and the winner when it is asked for."""
    words = {side: sum(len(t.split()) for each, _, t in speeches if each == side) for side in ("pro", "con")}
    ratio = math.log2((words["pro"] + 1) / (words["con"] + 1))
    scores: dict[str, dict[str, int | float]] = {}
    totals = {}
    for side, sign in (("pro", 1), ("con", -1)):
        qualities, mood = qualities_of(side, speeches), rng.gauss(0.0, 1.0)
        shares, scores[side] = [], {}
        for name, (least, most) in question.dimensions.items():
            span = float(most - least)
            noise = (0.05 * span if traits.noise is None else traits.noise) * (0.8 * mood + 0.6 * rng.gauss(0.0, 1.0))
            leaning = traits.leniency + (traits.bias if side == "pro" else 0.0)
            leaning += traits.order_bias if speeches and side == speeches[0][0] else 0.0
            leaning += traits.length_bias * sign * max(-1.0, min(1.0, ratio))
            felt = float(least) + span * (0.08 + 0.84 * qualities.of_dimension(name)) + leaning + noise
            scores[side][name] = _on_scale(felt, least, most)
            shares.append((felt - float(least)) / span if span else 0.0)
        totals[side] = sum(shares) / max(len(shares), 1)
    answer: dict[str, Any] = {"scores": scores}
    if question.declares_winner:
        lead = totals["pro"] - totals["con"]
        answer["winner"] = "tie" if abs(lead) < 0.01 else "pro" if lead > 0 else "con"
    return answer


def _malformed(rng: Random, verdict: dict[str, Any], text: str) -> str:
    """An answer as models give them when they do not keep to the form; the first two can be repaired."""
    kind = rng.choice(["fence", "prose", "out_of_range", "missing", "quoted", "cut", "refusal"])
    scores = verdict["scores"]
    name = next(iter(scores["con"]))
    if kind == "fence":
        return f"```json\n{json.dumps(verdict, indent=2)}\n```"
    if kind == "prose":
        return f"Both sides made good points. Here is my verdict:\n\n{text}\n\nI hope that this helps."
    if kind == "cut":
        return text[: len(text) * 2 // 3]
    if kind == "refusal":
        return "I would rather not choose between two such thoughtful speakers."
    if kind == "out_of_range":
        scores["con"][name] = 1_000_000
    elif kind == "quoted":
        scores["con"][name] = str(scores["con"][name])
    else:
        del scores["con"][name]
    return json.dumps(verdict)


def _answered(side: str, speeches: tuple[Speech, ...]) -> float:
    """How well a side answered: the share of its later speeches' sentences, and of the points named against it."""
    heard, open_points = "", set[str]()
    answers = sentences = 0
    named = met = 0
    for each, _, text in speeches:
        if each != side:
            heard += "\n" + text.lower()
            new = set(points_named(text)) - open_points
            open_points |= new
            named += len(new)
            continue
        if not heard:
            continue
        for sentence in _SENTENCE.findall(text.lower()):
            sentences += 1
            if _OPPONENT.search(sentence) and _is_about(sentence, heard):
                answers += 1
                now_met = {point for point in open_points if point in sentence}
                met += len(now_met)
                open_points -= now_met
    if not sentences:
        return 0.4
    coverage = met / named if named else 0.4
    return 0.05 + 2.2 * answers / sentences + 0.45 * coverage


def _is_about(sentence: str, heard: str) -> bool:
    """Whether a sentence takes up something that was really said: a quotation, or several of its longer words."""
    quotes = _QUOTE.findall(sentence)
    if quotes:
        return any(quote in heard for quote in quotes)
    words = set(_LONG_WORD.findall(sentence)) - {"opponent", "other", "claims", "claim", "about"}
    return sum(1 for word in words if word in heard) >= 3


def _repeated(sentences: Sequence[str]) -> int:
    """Sentences that share six words in a row with an earlier one of the same side."""
    seen: set[tuple[str, ...]] = set()
    count = 0
    for sentence in sentences:
        words = re.findall(r"\w+", sentence)
        runs = {tuple(words[i : i + 6]) for i in range(len(words) - 5)}
        count += bool(runs & seen)
        seen |= runs
    return count


def _on_scale(value: float, least: Decimal, most: Decimal) -> int | float:
    """The nearest score that the scale knows: a whole number between whole ends, else one with two decimals."""
    inside = min(max(value, float(least)), float(most))
    if least == least.to_integral_value() and most == most.to_integral_value():
        return round(inside)
    return min(max(round(inside, 2), float(least)), float(most))


def _unit(value: float) -> float:
    return min(max(value, 0.0), 1.0)


def read_question(hints: Mapping[str, Any]) -> Question:
    """What the caller says a judge is asked for. Raises `UsageError` when it does not say."""
    try:
        dimensions = {
            str(name): (Decimal(str(scale["min"])), Decimal(str(scale["max"])))
            for name, scale in hints["dimensions"].items()
        }
        return Question(dimensions, bool(hints.get("declares_winner")), int(hints.get("ask", 0)))
    except (KeyError, TypeError, AttributeError, ValueError, ArithmeticError):
        raise UsageError("A simulated judge must be told the dimensions and their scales.") from None
