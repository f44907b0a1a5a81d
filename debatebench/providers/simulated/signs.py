"""What a simulated judge counts: signs of quality in speeches, or in its own notes on them, which hold the counts.

It uses nothing about the debaters except their words. The signs of quality are ordinary English, so that it can
roughly judge speeches of any origin.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache

from debatebench.config.transcript_layout import BP_POSITIONS, Section
from debatebench.providers.simulated.notes import SpeechNotes, read_speech_notes
from debatebench.providers.simulated.phrases import DATA, SIGNS, STANCES
from debatebench.providers.simulated.speech import points_named

_SENTENCE = re.compile(r"[^.!?\n]+[.!?]?")
_TOPIC_WORD = re.compile(r"\b(?!opponent|other)[^\W\d_]{5,}")
_QUALITIES: dict[str, tuple[float, float, dict[str, float]]] = DATA["qualities"]


@dataclass(frozen=True, slots=True)
class Qualities:
    """Qualities of one position's text, in [0, 1]: each quality, and the whole."""

    by_words: Mapping[str, float]
    overall: float

    def of_dimension(self, name: str) -> float:
        """The value for a dimension of this name; the overall impression affects it, as with human judges."""
        looks_at = (quality for words, quality in self.by_words.items() if re.search(words, name.lower()))
        return (next(looks_at, self.overall) + self.overall) / 2


@dataclass(frozen=True, slots=True)
class Observed:
    """What was counted for one position, the other side's points, and its own answers to that side."""

    counts: Counter[str]
    points: list[str]
    answers: list[str]
    is_known: bool
    """False if the position is spoken of only in analyses that hold no counts."""


def side_of(position: str) -> str:
    """The side of a position; a side is its own position."""
    return BP_POSITIONS.get(position, position)


def qualities_of(position: str, sections: tuple[Section, ...]) -> Qualities:
    """The qualities of a position in speeches, or in analyses of them that hold counts."""
    return worth(observed(position, sections).counts)


def worth(counts: Counter[str]) -> Qualities:
    """What counts are worth, per sentence, so that length has no effect."""
    shares = {name: count / max(counts["sentences"], 1) for name, count in counts.items()}
    shares["repeated"] = 1 - (counts["runs"] - counts["repeats"]) / counts["runs"] if counts["runs"] else 0.0
    shares["met"] = counts["met"] / max(counts["points"], 1)
    by_words = {
        words: min(max(base + math.fsum(shares.get(sign, 0.0) * value for sign, value in signs.items()), 0.0), 1.0)
        for words, (_, base, signs) in _QUALITIES.items()
    }
    return Qualities(by_words, math.fsum(weight * by_words[words] for words, (weight, *_) in _QUALITIES.items()))


@lru_cache(maxsize=64)  # A panel reads the same speeches at about the same time.
def observed(position: str, sections: tuple[Section, ...]) -> Observed:
    """Count the signs of quality in all sections of `position`; its opponents are the positions of the other side."""
    heard = ""
    sentences: list[str] = []
    answers: list[str] = []
    counts: Counter[str] = Counter()
    are_known = []
    for section in sections:
        if section.position is None:
            continue
        notes = read_speech_notes(section.text) if section.is_analysis else None
        if side_of(section.position) != side_of(position):
            heard += section.text.lower() if notes is None else notes.gist
        elif section.position == position:
            are_known.append(notes is not None or not section.is_analysis)
            if notes is not None:
                counts.update(notes.counts)
                answers += notes.answered
            elif not section.is_analysis:
                said = [each for each in _SENTENCE.findall(section.text.lower()) if len(each.split()) > 2]
                replies = [each for each in said if SIGNS["opponent"].search(each) and _is_about(each, heard)]
                counts.update(words=len(section.text.split()), answer=len(replies))
                answers += replies
                sentences += said
    points = points_named(heard)
    counts.update(_signs(sentences))
    counts.update(points=len(points), met=len(_met(points, answers)))
    return Observed(counts, points, answers, any(are_known) or not are_known)


def notes_on(position: str, index: int, sections: tuple[Section, ...]) -> SpeechNotes:
    """What the speech at `index`, by `position`, adds to the sections before it."""
    before, after = (observed(position, sections[:end]) for end in (index, index + 1))
    text = sections[index].text.lower()
    words = [word for word, _ in Counter(_TOPIC_WORD.findall(text)).most_common()]
    counts = Counter({name: count - before.counts[name] for name, count in after.counts.items()})
    answered = _met(after.points, after.answers[len(before.answers) :])
    return SpeechNotes(counts, points_named(text), answered, words)


def stance(text: str) -> int:
    """For which side a speech says that it argues: 1 for the motion, -1 against it, 0 where it says neither or both."""
    said = " ".join(text.lower().split())
    counts = {side: len(pattern.findall(said)) for side, pattern in STANCES.items()}
    return (counts["pro"] > counts["con"]) - (counts["con"] > counts["pro"])


def _signs(sentences: list[str]) -> dict[str, int]:
    """How many sentences there are, how many of them show each sign, and how many runs of six words are repeated."""
    words = re.findall(r"\w+", " ".join(sentences))
    runs = [tuple(words[start : start + 6]) for start in range(len(words) - 5)]
    counts = {sign: sum(map(bool, map(pattern.search, sentences))) for sign, pattern in SIGNS.items()}
    return counts | {"sentences": len(sentences), "runs": len(runs), "repeats": len(runs) - len(set(runs))}


def _met(points: list[str], answers: list[str]) -> list[str]:
    """The points that are named in an answer."""
    return [point for point in points if any(point in answer for answer in answers)]


def _is_about(sentence: str, heard: str) -> bool:
    """Whether a sentence refers to text that was really said: it shares several of its longer words with it."""
    return sum(word in heard for word in _TOPIC_WORD.findall(sentence)) >= 3
