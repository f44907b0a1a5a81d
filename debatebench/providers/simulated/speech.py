"""The speeches of simulated debaters: a small English grammar in which skill, verbosity and weaknesses show.

A speech is a sequence of moves, and a move a sequence of sentences. Skill determines how often a sentence is of the
intended kind; otherwise a poorer kind replaces it. A weakness spoils its own kind of sentence or move at any skill.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from itertools import cycle, islice
from random import Random
from typing import Any

from debatebench.providers.simulated.flaws import flawed_sentence, read_detection
from debatebench.providers.simulated.phrases import DATA, SENTENCES, THEMES, WEAKNESSES, case
from debatebench.shared.amounts import known_names
from debatebench.shared.errors import UsageError

Speeches = tuple[tuple[str, str, str], ...]
"""Side, stage and text of each speech, oldest first."""

# Which sentence each weakness replaces, by what, and how often.
_FLAWS: dict[str, tuple[str, str]] = {
    name: flaw["replaces"] for name, flaw in DATA["weaknesses"].items() if "replaces" in flaw
}
_FLAW_SHARE = 0.85
_CRAFT: dict[str, tuple[float, float, str]] = DATA["craft"]
_POINT = re.compile(r"\bpoint (?:is|on|about) (\w+)")
_QUOTABLE = re.compile(r"(?<![^.!?\n]) ?((?:[\w'’,-]+ ){6}[\w'’-]+)")

_TRAITS = dict.fromkeys(("bias", "leniency", "length_bias", "order_bias"), (-1e6, 1e6)) | {
    "skill": (0.0, 1.0),
    "verbosity": (0.5, 2.0),
    "noise": (0.0, 1e6),
    "malformed": (0.0, 1.0),
}
"""The traits of a simulated member, with minimum and maximum: of a debater skill and verbosity (1 is ordinary).

A judge's leanings are in points of the scale: `bias` favours pro, `leniency` both, `length_bias` the longer side (per
doubling of the ratio, at most one), `order_bias` the side whose speeches are shown first; `noise` is a standard
deviation, by default 5 % of the scale. `malformed` is the probability of a malformed first answer. Of four teams, both
of a side have its bias, and the length of each is compared with the mean of the other three. `detects` is described in
`flaws.py`.
"""


def read_traits(parameters: Mapping[str, Any]) -> dict[str, float]:
    """The numeric traits, and 1 for each weakness. Raises `UsageError` for invalid ones."""
    given = parameters.get("weakness") or []
    weaknesses = [name for name in (given if isinstance(given, list | tuple) else [given]) if name != "none"]
    if unknown := sorted(str(name) for name in weaknesses if name not in WEAKNESSES):
        raise UsageError(f"No weakness '{unknown[0]}'.{known_names(unknown[0], ('none', *WEAKNESSES))}")
    numbers = {name: parameters[name] for name in _TRAITS if name in parameters}
    for name, value in numbers.items():
        least, most = _TRAITS[name]
        if isinstance(value, bool) or not isinstance(value, int | float) or not least <= value <= most:
            raise UsageError(
                f"`{name}` of a simulated member is {value!r}; it must be a number from {least:g} to {most:g}."
            )
    return numbers | dict.fromkeys(weaknesses, 1.0) | read_detection(parameters)


def points_named(text: str) -> list[str]:
    """The points that a speech names ("my first point is fairness"), in order, each once."""
    return list(dict.fromkeys(name.lower() for name in _POINT.findall(text)))


class Speaker:
    """A speech for a situation, under construction. A sentence that occurs in the debate is not repeated."""

    def __init__(self, rng: Random, traits: Mapping[str, float], hints: Mapping[str, Any], speeches: Speeches) -> None:
        """Raises `UsageError` when `hints` name neither side."""
        if hints.get("task") != "speech" or hints.get("side") not in ("pro", "con"):
            raise UsageError(
                "The simulated provider can only produce a `speech` for pro or con, an `analysis` or a `verdict`."
            )
        told = hints.get("weakness")
        self._told = told if told in DATA["weaknesses"] else None
        self._rng = rng
        self._traits = traits if self._told is None else {**traits, DATA["weaknesses"][told].get("like", told): 1.0}
        # The form on the day deviates from skill.
        self._form = min(max(traits.get("skill", 0.5) + rng.gauss(0.0, 0.08), 0.0), 1.0)
        self._side, self._other_side = ("pro", "con") if hints["side"] == "pro" else ("con", "pro")
        own, theirs = ("\n".join(s[2] for s in speeches if (s[0] == self._side) is mine) for mine in (True, False))
        self._said = f"{own}\n{theirs}"
        stage = str(hints.get("stage", "")).lower()
        is_early = not own and (not theirs or re.search(r"open|construct", stage))
        is_late = re.search(r"clos|summ|final|conclu|whip", stage)
        self._kind_of_speech = "closing" if is_late else "opening" if is_early else "rebuttal"
        self._motion = " ".join(str(hints.get("motion", "")).split())[:200].rstrip(".")
        self._fitting = Random(self._motion).sample(list(THEMES), 8)  # noqa: S311
        self._own_points = [name for name in points_named(own) if name in THEMES]
        self._unused = [name for name in self._fitting if name not in self._own_points]
        self._their_points = [name for name in points_named(theirs) if name in THEMES]
        self._unanswered = [name for name in self._their_points if f"On {name}, " not in own]
        self._quotes = [] if self._their_points else _QUOTABLE.findall(theirs)

    def speech(self, max_tokens: int | None) -> str:
        """Paragraphs of about 80 to 220 words depending on verbosity, or fewer to fit `max_tokens`."""
        words = (80 + 140 * (self._traits.get("verbosity", 1.0) - 0.5) / 1.5) * self._rng.uniform(0.92, 1.08)
        if max_tokens:  # Two words take about three tokens, and the last move may run over.
            words = min(words, max(30, max_tokens * 6 // 10 - 40))
        paragraphs = [self._sentences([self._kind_of_speech], self._fitting[0])]
        if "side_concession" in self._traits:
            kind = "concession" if self._their_points else "doubt"
            paragraphs.append(self._sentences([kind], self._rng.choice(self._their_points or self._fitting)))
        if self._told is not None:
            theme = self._rng.choice(self._their_points or self._fitting)
            paragraphs.append(flawed_sentence(self._told, theme, self._rng) or "")
        for move in islice(cycle(DATA["plans"][self._kind_of_speech]), 30):
            if len(" ".join(paragraphs).split()) >= words - 12:
                break
            paragraphs.append(self._move(move))
        paragraphs.append(self._sentences(["ending"], self._fitting[0]))
        return "\n\n".join(filter(None, paragraphs))

    def _move(self, wanted: str) -> str:
        """A paragraph; a move without a theme is replaced by one with a theme."""
        drops = "argument_dropping" in self._traits
        themes = {
            "rebuttal": [] if drops else self._unanswered[:1],
            "quotation": [] if drops or not self._quotes else self._fitting,
            "argument": self._unused[:3],
            "extension": self._own_points,
            "weighing": self._own_points,
        }
        move = next(move for move in (wanted, "quotation", "extension", "argument") if themes[move])
        fresh = [name for name in themes[move] if self._unsaid(case(name, self._side)["reasons"])]
        name = self._rng.choice(fresh or themes[move])
        if move == "argument":
            self._unused.remove(name)
            self._own_points.append(name)
        elif move == "rebuttal":
            self._unanswered.remove(name)
        return self._sentences(DATA["moves"][move], name)

    def _sentences(self, kinds: Sequence[str], name: str) -> str:
        """Sentences about a theme; if the first is not of the intended kind, it stands alone."""
        words, sentences = self._words(name), []
        for wanted in kinds:
            kind = self._kind(wanted)
            options = self._unsaid(sentence.format_map(words) for sentence in SENTENCES.get(kind, ()))
            if options:
                sentences.append(self._rng.choice(options))
                self._said += sentences[-1]
            if wanted == kinds[0] and (kind != wanted or not options):
                break
        return " ".join(sentences)

    def _kind(self, wanted: str) -> str:
        """The kind of sentence to use where `wanted` is intended, depending on skill and weaknesses."""
        flaws = [flaw for name, (kind, flaw) in _FLAWS.items() if kind == wanted and name in self._traits]
        if flaws and self._rng.random() < _FLAW_SHARE:
            return self._rng.choice(flaws)
        unskilled, skilled, instead = _CRAFT.get(wanted, (1.0, 1.0, ""))
        if self._rng.random() < unskilled + (skilled - unskilled) * self._form:
            return wanted
        return instead and self._kind(instead)

    def _words(self, name: str) -> dict[str, Any]:
        """The values for the sentence templates of a theme."""
        rng, own = self._rng, case(name, self._side)
        others = [other for other in self._their_points if other != name]
        ordinals = DATA["ordinals"]
        return own | {
            "name": name,
            "motion": self._motion,
            "position": "for" if self._side == "pro" else "against",
            "goal": "stand" if self._side == "pro" else "fall",
            "ordinal": ordinals[min(len(self._own_points), len(ordinals)) - 1],
            "reason": rng.choice(self._unsaid(own["reasons"]) or own["reasons"]),
            "theirs": case(name, self._other_side)["claim"],
            "other": rng.choice(others or ["all that was said against us"]),
            "quote": rng.choice(self._quotes or [""]),
            "year": rng.randint(2006, 2023),
            "source": rng.choice(DATA["sources"]),
            "share": rng.randint(4, 38),
            "count": rng.randint(12, 240),
            "places": rng.choice(DATA["places"]),
        }

    def _unsaid(self, texts: Iterable[str]) -> list[str]:
        return [text for text in texts if text not in self._said]
