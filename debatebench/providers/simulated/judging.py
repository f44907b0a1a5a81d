"""How a simulated judge judges: it counts signs of quality in the speeches, then adds its own bias and noise.

It uses nothing about the debaters except their words. The signs of quality are ordinary English, so that it can
roughly judge speeches of any origin.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from random import Random
from typing import Any

from debatebench.providers.simulated.speech import Speeches, points_named
from debatebench.providers.simulated.themes import SIGNS
from debatebench.shared.errors import UsageError

__all__ = ["Qualities", "judge_answer", "qualities_of"]

_SENTENCE = re.compile(r"[^.!?\n]+[.!?]?")
_TOPIC_WORD = re.compile(r"\b(?!opponent|other)[^\W\d_]{5,}")
_LAST_SCORE = re.compile(r"(-?[\d.]+)(?=}})")
# Words in the names of dimensions that measure a quality (a dimension without such a word measures the whole), the
# weight of the quality in the whole, its value without any sign, and what each sign adds if every sentence shows it.
# `met` is the share of the opponent's points that are answered, `repeated` the share of repeated runs of six words.
_QUALITIES = {
    "evid|fact|sourc|support|accura|ground": (0.22, 0.1, {"source": 5.0, "vague": -2.5, "shift": -1.0}),
    "rebut|clash|engag|refut|respon|adapt": (0.22, 0.05, {"answer": 3, "met": 0.3, "concession": -2.5}),
    "weigh|impact|strateg|exten": (0.16, 0.15, {"weighing": 4.0, "concession": -2.5, "shift": -1.0}),
    "reason|logic|argu|coher|burden|analy": (0.28, 0.1, {"reason": 2.6, "gap": -3, "shift": -2, "concession": -2.5}),
    "clar|langu|style|organ|present|deliver|struct|rhet": (0.1, 0.95, {"hedge": -1.8, "repeated": -1.5, "gap": -1.5}),
    "safe|civil|respect|conduct|honest|ethic": (0.06, 0.95, {"shift": -1.0, "vague": -0.5}),
}


@dataclass(frozen=True, slots=True)
class Qualities:
    """Qualities of one side's text, in [0, 1]: each quality, and the whole."""

    by_words: Mapping[str, float]
    overall: float

    def of_dimension(self, name: str) -> float:
        """The value for a dimension of this name; the overall impression affects it, as with human judges."""
        looks_at = (quality for words, quality in self.by_words.items() if re.search(words, name.lower()))
        return (next(looks_at, self.overall) + self.overall) / 2


@lru_cache(maxsize=64)  # A panel reads the same speeches at about the same time.
def qualities_of(side: str, speeches: Speeches) -> Qualities:
    """Count the signs of quality in all speeches of `side`, per sentence, so that length has no effect."""
    heard = ""
    sentences: list[str] = []
    answers: list[str] = []
    for speaker, _, text in speeches:
        if speaker != side:
            heard += text.lower()
            continue
        said = [sentence for sentence in _SENTENCE.findall(text.lower()) if len(sentence.split()) > 2]
        answers += [each for each in said if SIGNS["opponent"].search(each) and _is_about(each, heard)]
        sentences += said
    counts = {sign: sum(map(bool, map(pattern.search, sentences))) for sign, pattern in SIGNS.items()}
    shares = {sign: count / max(len(sentences), 1) for sign, count in (counts | {"answer": len(answers)}).items()}
    shares["repeated"] = _repeated(" ".join(sentences))
    points = points_named(heard)
    shares["met"] = sum(any(point in answer for answer in answers) for point in points) / max(len(points), 1)
    by_words = {
        words: min(max(base + math.fsum(shares[sign] * worth for sign, worth in signs.items()), 0.0), 1.0)
        for words, (_, base, signs) in _QUALITIES.items()
    }
    return Qualities(by_words, math.fsum(weight * by_words[words] for words, (weight, *_) in _QUALITIES.items()))


def _is_about(sentence: str, heard: str) -> bool:
    """Whether a sentence refers to text that was really said: it shares several of its longer words with it."""
    return sum(word in heard for word in _TOPIC_WORD.findall(sentence)) >= 3


def _repeated(text: str) -> float:
    """The share of runs of six words that occurred earlier."""
    words = re.findall(r"\w+", text)
    runs = [tuple(words[start : start + 6]) for start in range(len(words) - 5)]
    return 1 - len(set(runs)) / len(runs) if runs else 0.0


def judge_answer(rng: Random, traits: Mapping[str, float], hints: Mapping[str, Any], speeches: Speeches) -> str:
    """The text of a judge's answer: strict JSON, or on the first request, with probability `malformed`, a flawed one.

    Raises `UsageError` when `hints` do not describe the request.
    """
    try:
        scales = {str(name): (float(scale["min"]), float(scale["max"])) for name, scale in hints["dimensions"].items()}
        may_fail = int(hints.get("ask", 0)) == 0
    except (KeyError, TypeError, AttributeError, ValueError, OverflowError):
        raise UsageError("The request to a simulated judge must contain the dimensions and their scales.") from None
    verdict: dict[str, Any] = {"scores": {"pro": {}, "con": {}}}
    lead = 0.0
    for side, scores in verdict["scores"].items():
        qualities, mood, leaning = qualities_of(side, speeches), rng.gauss(0.0, 1.0), _leaning(traits, side, speeches)
        for name, (least, most) in scales.items():
            span = most - least or 1.0
            noise = traits.get("noise", 0.05 * span) * (0.8 * mood + 0.6 * rng.gauss(0.0, 1.0))
            share = 0.08 + 0.84 * qualities.of_dimension(name) + (leaning + noise) / span
            is_whole = least.is_integer() and most.is_integer()
            scores[name] = round(min(max(least + span * share, least), most), None if is_whole else 2)
            lead += share / len(scales) * (1 if side == "pro" else -1)
    if hints.get("declares_winner"):
        verdict["winner"] = "tie" if abs(lead) < 0.01 else "pro" if lead > 0 else "con"
    answer = json.dumps(verdict)
    return _malformed(rng, answer) if may_fail and rng.random() < traits.get("malformed", 0.0) else answer


def _leaning(traits: Mapping[str, float], side: str, speeches: Speeches) -> float:
    """The points that `side` gets regardless of its arguments."""
    own, theirs = (sum(len(s[2].split()) for s in speeches if (s[0] == side) is mine) for mine in (True, False))
    gains = {
        "leniency": 1.0,
        "bias": side == "pro",
        "order_bias": bool(speeches) and side == speeches[0][0],
        "length_bias": max(-1.0, min(1.0, math.log2((own + 1) / (theirs + 1)))),
    }
    return sum(gain * traits.get(name, 0.0) for name, gain in gains.items())


def _malformed(rng: Random, answer: str) -> str:
    """An answer in the forms that models give when they ignore the format; the first two can be repaired."""
    return rng.choice(
        [
            f"```json\n{answer}\n```",
            f"Both sides made good points. Here is my verdict:\n\n{answer}\n\nI hope that this helps.",
            "I would rather not choose between two such thoughtful speakers.",
            answer[: len(answer) * 2 // 3],
            answer.replace('"con"', '"opposition"', 1),
            _LAST_SCORE.sub("1000000", answer),
            _LAST_SCORE.sub(r'"\1"', answer),
        ]
    )
