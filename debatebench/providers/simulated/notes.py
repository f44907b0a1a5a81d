"""The notes of a simulated judge: sentences about a speech or a debate that carry its counts from step to step.

A later step sees the notes in place of the speeches, and reads the counts again. What a speech answers is recognised by
the points and the longer words in the notes on earlier speeches; what it repeats from an earlier speech is not. All
notes of a kind are about equally long, so that the cost of a step can be estimated from that of others.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import cycle

from debatebench.providers.simulated.phrases import DATA

_IN_DEBATE: dict[str, str] = DATA["counts"]
_IN_SPEECH = {name: label for name, label in _IN_DEBATE.items() if name not in ("points", "met")}


def _counted(what: str, labels: Mapping[str, str]) -> re.Pattern[str]:
    """The pattern of a line of counts, as `_line` writes it."""
    numbers = ", ".join(rf"(?P<{name}>\d{{1,9}}) {label}" for name, label in labels.items())
    return re.compile(rf"^Counted {what}: {numbers}\.$", re.MULTILINE)


_SPEECH_COUNTS = _counted("in this speech", _IN_SPEECH)
_DEBATE_COUNTS = _counted("for (PRO|CON|OG|OO|CG|CO)", _IN_DEBATE)
_SCORE = re.compile(r"^(PRO|CON|OG|OO|CG|CO): (-?\d{1,9}(?:\.\d{1,9})?)(?=\.(?:\s|$))", re.MULTILINE)
_SCORES = re.compile(r"^Scores of (PRO|CON|OG|OO|CG|CO): (.+)\.$", re.MULTILINE)
_BEST = re.compile(r"^(?:It is a tie between (\w+ and \w+)\.|(\w+) did best\.)$", re.MULTILINE)
_MOST_NAMES, _LONGEST_NAME = 10, 24
_SPEECH_LENGTH, _DEBATE_LENGTH = (720, 860), 1020
_REMARKS = tuple(DATA["remarks"].splitlines())


@dataclass(frozen=True, slots=True)
class SpeechNotes:
    """What a judge noted of one speech: its counts, its points, the points that it answered, its longer words."""

    counts: Counter[str]
    points: list[str] = field(default_factory=list)
    answered: list[str] = field(default_factory=list)
    words: list[str] = field(default_factory=list)

    @property
    def gist(self) -> str:
        """A text that stands for the speech where a later one answers it; it names no other points."""
        return "".join(f" point is {point}." for point in self.points) + f" {', '.join(self.words)}. "


def speech_notes(speaker: str, dimension: str | None, notes: SpeechNotes, remarks: Sequence[str] = ()) -> str:
    """The text of an analysis of a speech, of 700 to 900 characters; `remarks` are lines of their own."""
    lines = [
        f"Notes on the speech by {speaker}{_focus(dimension)}.",
        _line("in this speech", _IN_SPEECH, notes.counts),
        *remarks,
        *_named("Points made", notes.points[:_MOST_NAMES]),
        *_named("Points answered", notes.answered[:_MOST_NAMES]),
    ]
    least, most = _SPEECH_LENGTH
    room = most - len("\n".join(lines))
    words = []
    for word in notes.words:
        room -= len(word) + 2
        if room < len("\nWords used: "):
            break
        words.append(word)
    return _filled([*lines, *_named("Words used", words)], least)


def debate_notes(dimension: str | None, counts: Mapping[str, Mapping[str, int]], remarks: Sequence[str] = ()) -> str:
    """The text of an analysis of a debate, of 1,000 to 1,200 characters: the counts of each position."""
    lines = [_line(f"for {position.upper()}", _IN_DEBATE, each) for position, each in counts.items()]
    return _filled([f"Notes on the whole debate{_focus(dimension)}.", *lines, *remarks], _DEBATE_LENGTH)


def judgment_notes(
    dimension: str | None,
    counts: Mapping[str, Mapping[str, int]],
    scores: Mapping[str, Mapping[str, float]],
    winners: Sequence[str],
    remarks: Sequence[str] = (),
) -> str:
    """The text of a judgment of a debate, of 1,000 characters or a little more: counts, scores, and who did best."""
    lines = [_line(f"for {position.upper()}", _IN_DEBATE, each) for position, each in counts.items()]
    for position, given in scores.items():
        stated = ", ".join(f"{name} {score}" for name, score in given.items())
        lines.append(f"Scores of {position.upper()}: {stated}.")
    names = " and ".join(position.upper() for position in winners)
    named = f"It is a tie between {names}." if len(winners) > 1 else f"{names} did best."
    return _filled([f"Judgment of the whole debate{_focus(dimension)}.", *lines, *remarks, named], _DEBATE_LENGTH)


def read_judgment(text: str, names: Iterable[str]) -> tuple[dict[str, dict[str, float]], list[str]]:
    """Position → the scores of these names, and who did best, in the text of a judgment."""
    scores: dict[str, dict[str, float]] = {}
    for line in _SCORES.finditer(text):
        stated = (re.search(rf"(?:^|, ){re.escape(name)} (-?\d+(?:\.\d+)?)(?:, |$)", line[2]) for name in names)
        given = {name: float(found[1]) for name, found in zip(names, stated, strict=True) if found}
        scores.setdefault(_position(line[1]), given)
    best = _BEST.search(text)
    return scores, [_position(name) for name in (best[1] or best[2]).split(" and ")] if best else []


def read_speech_notes(text: str) -> SpeechNotes | None:
    """What the analysis of a speech says; None for a text without counts."""
    if (found := _SPEECH_COUNTS.search(text)) is None:
        return None
    names = {title: names.split(", ") for title, names in re.findall(r"^([A-Z][a-z]+ [a-z]+): (.+)\.$", text, re.M)}
    named = (names.get(title, []) for title in ("Points made", "Points answered", "Words used"))
    return SpeechNotes(_numbers(found), *named)


def read_debate_notes(text: str) -> dict[str, Counter[str]]:
    """Position → counts, in the order of the text."""
    found: dict[str, Counter[str]] = {}
    for line in _DEBATE_COUNTS.finditer(text):
        found.setdefault(_position(line[1]), _numbers(line))
    return found


def read_scores(text: str) -> dict[str, float]:
    """Position → score in the report of a decision (lines like `PRO: 7. A reason`), in the order of the text."""
    found: dict[str, float] = {}
    for line in _SCORE.finditer(text):
        found.setdefault(_position(line[1]), float(line[2]))
    return found


def _position(shown: str) -> str:
    return shown.lower() if shown in ("PRO", "CON") else shown


def _numbers(found: re.Match[str]) -> Counter[str]:
    return Counter({name: int(number) for name, number in found.groupdict().items()})


def _line(what: str, labels: Mapping[str, str], counts: Mapping[str, int]) -> str:
    return f"Counted {what}: {', '.join(f'{counts[name]} {label}' for name, label in labels.items())}."


def _named(title: str, names: Iterable[str]) -> list[str]:
    """A line with names, if there are any."""
    listed = ", ".join(name[:_LONGEST_NAME] for name in names)
    return [f"{title}: {listed}."] if listed else []


def _focus(dimension: str | None) -> str:
    return f", for {' '.join(dimension.split())[:40]}" if dimension else ""


def _filled(lines: list[str], least: int) -> str:
    """The lines, and as many remarks as it takes to reach `least` characters."""
    text = "\n".join(lines)
    remarks = cycle(_REMARKS)
    while len(text) < least:
        text += f" {next(remarks)}" if text.endswith(_REMARKS) else f"\n{next(remarks)}"
    return text
