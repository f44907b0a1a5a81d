"""How a simulated debater speaks: a small English grammar in which skill, verbosity and weaknesses show in the text.

A speech is a row of moves: arguments (claim, reason, evidence, stake), rebuttals that name the opponent's point,
extensions and comparisons. Skill decides how often a move is made properly; without it come bare assertions, vague
authorities, hedges and repetitions. A weakness spoils its own kind of move, whatever the skill.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import chain, cycle, repeat
from random import Random
from typing import Any

from debatebench.providers.simulated.themes import PLACES, SOURCES, THEMES
from debatebench.shared.errors import UsageError

__all__ = ["WEAKNESSES", "DebaterTraits", "Floor", "points_named", "write_speech"]

WEAKNESSES = ("weak_evidence", "argument_dropping", "logical_gaps", "burden_of_proof", "side_concession")
_ORDINALS = ("first", "second", "third", "fourth", "next", "further")
_FEWEST_WORDS, _MOST_WORDS = 80, 220
_LEAST_VERBOSE, _MOST_VERBOSE = 0.5, 2.0
# How often a weakness shows where it can.
_WEAK = 0.85
# How far the form of the day departs from skill, as a standard deviation.
_FORM = 0.15
_THEMES_PER_MOTION = 9
_POINT = re.compile(r"\bpoint (?:is|on|about) (\w+)")


@dataclass(frozen=True, slots=True)
class DebaterTraits:
    """Skill in [0, 1], verbosity in [0.5, 2] (1 is ordinary), and the flaws that every speech shows."""

    skill: float = 0.5
    verbosity: float = 1.0
    weaknesses: frozenset[str] = frozenset()

    @classmethod
    def of(cls, parameters: Mapping[str, Any]) -> DebaterTraits:
        """Read `skill`, `verbosity` and `weakness` (a name or several). Raises `UsageError` for impossible ones."""
        given = parameters.get("weakness") or []
        names = set(given if isinstance(given, list | tuple) else [given]) - {"none"}
        unknown = sorted(str(name) for name in names if name not in WEAKNESSES)
        if unknown:
            raise UsageError(f"No weakness '{unknown[0]}'. Known: none, {', '.join(WEAKNESSES)}.")
        return cls(
            number(parameters, "skill", 0.5, 0.0, 1.0),
            number(parameters, "verbosity", 1.0, _LEAST_VERBOSE, _MOST_VERBOSE),
            frozenset(names),
        )


def number(parameters: Mapping[str, Any], name: str, default: float, least: float, most: float) -> float:
    """A numeric trait. Raises `UsageError` when it is no number or out of its range."""
    value = parameters.get(name, default)
    if isinstance(value, bool) or not isinstance(value, int | float) or not least <= value <= most:
        raise UsageError(
            f"`{name}` of a simulated member is {value!r}; it must be a number from {least:g} to {most:g}."
        )
    return float(value)


@dataclass(frozen=True, slots=True)
class Floor:
    """The situation in which a speech is given. `speeches` are (side, stage, text), oldest first."""

    motion: str
    side: str
    stage: str
    speeches: tuple[tuple[str, str, str], ...]

    def said(self, *, by_opponent: bool) -> str:
        """Everything that one's own side, or the opponent, has said so far."""
        return "\n".join(text for side, _, text in self.speeches if (side != self.side) is by_opponent)

    @property
    def kind(self) -> str:
        """`opening`, `rebuttal` or `closing`, whatever the format calls it."""
        if re.search(r"clos|summ|final|conclu", self.stage, re.IGNORECASE):
            return "closing"
        has_heard = any(side != self.side for side, _, _ in self.speeches)
        has_spoken = any(side == self.side for side, _, _ in self.speeches)
        if re.search(r"open|construct", self.stage, re.IGNORECASE) or not has_heard:
            return "opening" if not has_spoken else "rebuttal"
        return "rebuttal"


def points_named(text: str) -> list[str]:
    """The points that a speech gives a name to ("my first point is fairness"), in order, each once."""
    return list(dict.fromkeys(name.lower() for name in _POINT.findall(text)))


def write_speech(rng: Random, traits: DebaterTraits, floor: Floor, most_words: int | None = None) -> str:
    """A speech for the situation, in paragraphs, of about 80 to 220 words by verbosity, or `most_words` if fewer."""
    share = (traits.verbosity - _LEAST_VERBOSE) / (_MOST_VERBOSE - _LEAST_VERBOSE)
    wanted = round((_FEWEST_WORDS + share * (_MOST_WORDS - _FEWEST_WORDS)) * rng.uniform(0.92, 1.08))
    return _Speaker(rng, traits, floor).speak(min(wanted, most_words or wanted))


class _Speaker:
    """One speech in the making."""

    def __init__(self, rng: Random, traits: DebaterTraits, floor: Floor) -> None:
        self._rng = rng
        self._traits = traits
        self._form = min(max(traits.skill + rng.gauss(0.0, _FORM), 0.0), 1.0)
        self._floor = floor
        self._said: set[str] = set()
        self._goal = "stand" if floor.side == "pro" else "fall"
        own, theirs = floor.said(by_opponent=False), floor.said(by_opponent=True)
        self._own_points = [name for name in points_named(own) if name in THEMES]
        self._their_points = [name for name in points_named(theirs) if name in THEMES]
        self._unanswered = [name for name in self._their_points if not re.search(rf"\b[Oo]n {name}\b", own)]
        self._quotes = _quotable(theirs)
        fitting = Random(floor.motion).sample(list(THEMES), _THEMES_PER_MOTION)  # noqa: S311
        self._unused = [name for name in fitting if name not in self._own_points]

    def speak(self, words: int) -> str:
        """Moves until the number of words is reached, between a greeting and a last sentence."""
        paragraphs = [self._beginning()]
        moves = {
            "argument": self._argument,
            "rebuttal": self._rebuttal,
            "extension": self._extension,
            "weighing": self._weighing,
        }
        count = _words(paragraphs[0])
        for move in self._plan():
            if count >= words - 12:
                break
            paragraph = moves[move]()
            paragraphs.append(paragraph)
            count += _words(paragraph)
        if "side_concession" in self._traits.weaknesses:
            paragraphs.insert(1, self._concession())
        return "\n\n".join([*paragraphs, self._ending()])

    def _plan(self) -> Iterator[str]:
        """The order of moves; whoever drops arguments speaks of something else instead of answering."""
        kind = self._floor.kind
        if kind == "opening":
            moves: Iterator[str] = repeat("argument")
        elif kind == "closing":
            moves = chain(["rebuttal"], cycle(["weighing", "extension", "rebuttal"]))
        else:
            moves = cycle(["rebuttal", "rebuttal", "argument", "weighing"])
        if "argument_dropping" in self._traits.weaknesses:
            other = "extension" if self._own_points else "argument"
            moves = (other if move == "rebuttal" else move for move in moves)
        return moves

    # --- moves

    def _argument(self) -> str:
        """A point of one's own: claim, reason, evidence, stake, as far as skill goes."""
        if self._own_points and (not self._unused or self._flips(0.45, 0.0)):
            name = self._rng.choice(self._own_points)
        else:
            name = self._unused.pop(self._rng.randrange(min(3, len(self._unused))))
        case = THEMES[name].case(self._floor.side)
        if self._flips(0.5, 0.04):
            claim = f"Maybe another point is {name}, I guess: {case.claim}, sort of."
        else:
            ordinal = _ORDINALS[min(len(self._own_points), len(_ORDINALS) - 1)]
            claim = f"My {ordinal} point is {name}: {case.claim}."
        if name not in self._own_points:
            self._own_points.append(name)
        stake = f"What hangs on it is {case.stake}." if self._flips(0.1, 0.7) else ""
        return _join(claim, self._reason(self._rng.choice(case.reasons)), self._evidence(name), stake)

    def _rebuttal(self) -> str:
        """An answer to a point that the opponent made, or mere contradiction."""
        if not self._flips(0.2, 0.95) or not (self._their_points or self._quotes):
            return self._pick(
                "My opponent is wrong about nearly everything.",
                "What the other side said does not convince me.",
                "I do not agree with what we just heard.",
            )
        points = self._unanswered or self._their_points
        if not points:
            return _join(
                f"My opponent says “{self._rng.choice(self._quotes)}”, but that does not settle the matter.",
                self._reason(THEMES[self._rng.choice(list(THEMES))].case(self._floor.side).reasons[0]),
            )
        name = points[0] if self._flips(0.2, 0.9) else self._rng.choice(points)
        if name in self._unanswered:
            self._unanswered.remove(name)
        theirs = THEMES[name].case("con" if self._floor.side == "pro" else "pro")
        answer = self._pick(
            f"On {name}, my opponent told us that {theirs.claim}; that does not hold.",
            f"On {name}, the other side claims that {theirs.claim}, but it has the matter backwards.",
        )
        reason = self._reason(self._rng.choice(THEMES[name].case(self._floor.side).reasons))
        return _join(answer, reason, self._evidence(name) if self._flips(0.1, 0.5) else "")

    def _extension(self) -> str:
        """An earlier point, carried further or merely said again."""
        if not self._own_points:
            return self._argument()
        name = self._rng.choice(self._own_points)
        case = THEMES[name].case(self._floor.side)
        if self._flips(0.25, 0.95):
            return _join(f"Our point on {name} still stands.", self._reason(case.reasons[1]))
        return f"As I said, my point is {name}: {case.claim}."

    def _weighing(self) -> str:
        """A comparison of both cases, or a bare wish to win."""
        if not self._flips(0.0, 0.95) or not self._own_points:
            return self._pick("So I think that my side should probably win.", "That is more or less my whole case.")
        mine = self._rng.choice(self._own_points)
        stake = THEMES[mine].case(self._floor.side).stake
        others = [name for name in self._their_points if name not in self._own_points]
        if not others:
            return f"On balance {mine} matters more than anything said against us: it decides {stake}."
        return self._pick(
            f"Even if {self._rng.choice(others)} counts for something, {mine} outweighs it: at stake is {stake}.",
            f"On balance {mine} weighs more than {self._rng.choice(others)}, for it decides {stake}.",
        )

    def _concession(self) -> str:
        """What nobody should say who wants to win."""
        if self._their_points:
            return f"I have to concede that my opponent is right about {self._rng.choice(self._their_points)}."
        return self._pick(
            "I admit that there is a great deal to be said for the other side.",
            "I concede that the opposite view is perhaps the stronger one.",
        )

    # --- parts of moves

    def _reason(self, reason: str) -> str:
        """Why a claim holds, or what stands in place of a reason."""
        if self._shows("logical_gaps"):
            return self._pick(
                f"Cities have grown for centuries, and so the motion must {self._goal}.",
                f"People have always talked about this, so it simply follows that the motion must {self._goal}.",
                f"Some things were better in the past, and therefore the motion has to {self._goal}.",
            )
        if self._shows("burden_of_proof"):
            return self._pick(
                "It is not for me to prove this; until my opponent disproves it, it must be taken as true.",
                "My opponent has failed to prove the opposite, so I owe you no proof.",
            )
        if self._flips(0.25, 0.95):
            return self._pick(
                f"This holds because {reason}.", f"The reason is that {reason}.", f"Why? Because {reason}."
            )
        return self._pick("That is simply how it is.", "Nobody can seriously doubt that.", "It is obvious, really.")

    def _evidence(self, name: str) -> str:
        """A source with a figure, a vague authority, or nothing."""
        if self._shows("weak_evidence") or self._flips(0.35, 0.02):
            return self._pick(
                "Experts say so, and everyone knows it.",
                "Some studies out there seem to point this way.",
                "I once read something like that somewhere.",
                "People say that it has worked in other places.",
            )
        if "weak_evidence" in self._traits.weaknesses or not self._flips(0.15, 0.85):
            return ""
        is_good = (name in ("cost", "safety", "health", "privacy", "environment", "fairness")) is (
            self._floor.side == "pro"
        )
        change = "fell" if is_good else "rose"
        year, share, places = self._rng.randint(2006, 2023), self._rng.randint(4, 38), self._rng.randint(12, 240)
        source, place, measure = self._rng.choice(SOURCES), self._rng.choice(PLACES), THEMES[name].measure
        return self._pick(
            f"A {year} study by {source} found that {measure} {change} by {share} per cent in {places} {place}.",
            f"According to {source}, {measure} {change} by {share} per cent in {places} {place} after {year}.",
        )

    def _beginning(self) -> str:
        """The first sentence or two."""
        if self._floor.kind == "opening":
            motion = " ".join(self._floor.motion.split())[:200].rstrip(".")
            position = "for" if self._floor.side == "pro" else "against"
            return f"The motion before us is: {motion}. I speak {position} it."
        if self._floor.kind == "closing":
            return "Let me draw this debate together."
        return "Let me turn to what this debate is about."

    def _ending(self) -> str:
        """The last sentence."""
        if self._flips(0.4, 0.0):
            return f"So perhaps the motion should {self._goal}, I guess."
        return f"That is why the motion should {self._goal}."

    # --- chance

    def _flips(self, unskilled: float, skilled: float) -> bool:
        """True with a probability that goes from `unskilled` at skill 0 to `skilled` at skill 1."""
        return self._rng.random() < unskilled + (skilled - unskilled) * self._form

    def _shows(self, weakness: str) -> bool:
        return weakness in self._traits.weaknesses and self._rng.random() < _WEAK

    def _pick(self, *sentences: str) -> str:
        """One of the sentences, if possible one that this speech does not hold yet."""
        chosen = self._rng.choice([sentence for sentence in sentences if sentence not in self._said] or sentences)
        self._said.add(chosen)
        return chosen


def _quotable(text: str) -> list[str]:
    """Beginnings of sentences that can be quoted against whoever said them."""
    return [found.strip() for found in re.findall(r"(?<![^.!?\n]) ?((?:[\w'’,-]+ ){6}[\w'’-]+)", text)]


def _join(*sentences: str) -> str:
    return " ".join(sentence for sentence in sentences if sentence)


def _words(text: str) -> int:
    return len(text.split())
