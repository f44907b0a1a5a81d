"""Flaws in simulated speeches, and simulated judges that find them at a known rate.

A debater that is told of a weakness writes a sentence in which it shows, in ordinary words. A judge with the parameter
`detects` recognises these sentences, in speeches of any origin, and sees each flaw with the probability that it states;
a flaw that it sees costs the side points and the debate. Apart from flaws, both sides earn the same from such a judge:
the mean of what they are worth. So with `noise: 0` and without biases its rate of detection is the stated one.

Whether a judge sees a flaw depends on the judge and on the speech in which the flaw first shows, not on the request:
it sees the same in every step and at every repetition. In a method that analyses each speech by itself, every flawed
speech is a chance of its own; what is seen is in the notes on that speech, and counts from then on.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from random import Random
from statistics import fmean
from typing import Any

from debatebench.config.transcript_layout import Section
from debatebench.providers.simulated.phrases import DATA
from debatebench.shared.amounts import known_names
from debatebench.shared.errors import UsageError

Seen = Mapping[str, Sequence[tuple[str, str]]]
"""Position → (weakness, sentence in which it shows) of every flaw that a judge has seen."""

_WEAKNESSES = DATA["weaknesses"]
_SENTENCES = {weakness: flaw["sentences"].splitlines() for weakness, flaw in _WEAKNESSES.items()}
_SHARE_OF_SCALE = 0.2


def _pattern(sentences: Sequence[str]) -> re.Pattern[str]:
    """Text that fits one of the sentences, with any words where they have a name."""
    fitting = (".{1,80}?".join(map(re.escape, sentence.split("{name}"))) for sentence in sentences)
    return re.compile("|".join(fitting))


_PATTERNS = {weakness: _pattern(sentences) for weakness, sentences in _SENTENCES.items()}
_NOTED = re.compile(r"^Against (PRO|CON|OG|OO|CG|CO): “(.*)”$", re.MULTILINE)


def read_detection(parameters: Mapping[str, Any]) -> dict[str, float]:
    """The rates of `detects` as traits: `detects` itself, and one for each weakness. Raises `UsageError` for others."""
    given = parameters.get("detects")
    if given is None:
        return {}
    rates = given if isinstance(given, Mapping) else dict.fromkeys(_SENTENCES, given)
    for name, rate in rates.items():
        if name not in _SENTENCES:
            raise UsageError(f"`detects` names the weakness {name!r}.{known_names(name, _SENTENCES)}")
        if isinstance(rate, bool) or not isinstance(rate, int | float) or not 0 <= rate <= 1:
            raise UsageError(f"`detects` of a simulated judge is {rate!r}; it must be a rate from 0 to 1.")
    return {"detects": 1.0, **{f"detects {name}": float(rate) for name, rate in rates.items()}}


def flawed_sentence(weakness: str, name: str, rng: Random) -> str | None:
    """A sentence about a theme in which a weakness shows; None for a weakness that simulated debaters do not know."""
    return rng.choice(_SENTENCES[weakness]).format(name=name) if weakness in _SENTENCES else None


def seen_flaws(sections: Sequence[Section], traits: Mapping[str, float], judge: str) -> Seen:
    """The flaws that a judge sees in speeches, and those that it has noted in its analyses."""
    found: dict[str, dict[str, str]] = {}
    missed: set[tuple[str, str]] = set()
    if "detects" not in traits:
        return {}
    for section in sections:
        for position, weakness, sentence in _flaws_in(section):
            if (position, weakness) in missed or weakness in found.get(position, {}):
                continue
            rate = 1.0 if section.is_analysis else traits.get(f"detects {weakness}", 0.0)
            if Random(f"{judge}\n{weakness}\n{section.text}").random() < rate:  # noqa: S311
                found.setdefault(position, {})[weakness] = sentence
            else:
                missed.add((position, weakness))
    return {position: tuple(flaws.items()) for position, flaws in found.items()}


def _flaws_in(section: Section) -> Iterator[tuple[str, str, str]]:
    """(position, weakness, sentence) of the flaws in a speech, or of those that an analysis notes."""
    if section.is_analysis:
        noted = [
            (name.lower() if name in ("PRO", "CON") else name, text) for name, text in _NOTED.findall(section.text)
        ]
    else:
        noted = [(section.position, section.text)] if section.position is not None else []
    for position, text in noted:
        for weakness, pattern in _PATTERNS.items():
            if match := pattern.search(text):
                yield position, weakness, match[0]


def noted_flaws(seen: Seen) -> list[str]:
    """The lines of an analysis that say what has been seen."""
    return [f"Against {position.upper()}: “{sentence}”" for position, flaws in seen.items() for _, sentence in flaws]


def lower(
    scores: dict[str, dict[str, float]],
    leads: dict[str, float],
    scales: Mapping[str, tuple[float, float]],
    seen: Seen,
    *,
    is_of_one_dimension: bool,
) -> None:
    """Lower the scores of the positions with flaws below the others': on the dimension that suffers, and on average.

    A judge that is asked about one dimension, on which the flaw has no effect, does not lower it.
    """
    for position in (position for position in scores if position in seen):
        others = [other for other in scores if other not in seen]
        suffering = {name for weakness, _ in seen[position] for name in _suffering(weakness, scales)}
        if not suffering and is_of_one_dimension:
            continue
        for name in suffering or scales:
            _set_below(scores, position, others, name, scales[name])
        for name in scales:
            if not _is_below(scores, position, others):
                _set_below(scores, position, others, name, scales[name])
        leads[position] = min(leads.values()) - _SHARE_OF_SCALE


def _suffering(weakness: str, scales: Collection[str]) -> list[str]:
    return [name for name in scales if re.search(_WEAKNESSES[weakness]["lowers"], name.lower())][:1]


def _set_below(
    scores: dict[str, dict[str, float]], position: str, others: Sequence[str], name: str, ends: tuple[float, float]
) -> None:
    """Give a position a lower score than all others have; at the lower end of the scale, raise the others."""
    least, most = ends
    is_whole = least.is_integer() and most.is_integer()
    step = _SHARE_OF_SCALE * (most - least)
    step = max(1, round(step)) if is_whole else round(step, 2)
    target = min((scores[other][name] for other in others), default=scores[position][name]) - step
    scores[position][name] = round(max(least, min(scores[position][name], target)), None if is_whole else 2)
    for other in others:
        scores[other][name] = max(scores[other][name], round(scores[position][name] + step, 2))


def _is_below(scores: Mapping[str, Mapping[str, float]], position: str, others: Sequence[str]) -> bool:
    own = fmean(scores[position].values() or [0.0])
    return all(own < fmean(scores[other].values() or [0.0]) for other in others)
