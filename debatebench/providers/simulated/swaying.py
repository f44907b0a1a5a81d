"""How a simulated judge is led: it finds an attack in the words of a side, and now and then gives that side the debate.

`swayed_by` in its parameters says how often, by kind of attack: {orders: 0.5, padding: 0.2}. For a judge with this
parameter, attacks that do not lead it count neither for nor against a side. A judge without it counts their sentences
like all others.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from random import Random
from typing import Any

from debatebench.config.transcript_layout import Section
from debatebench.providers.simulated.phrases import DATA
from debatebench.providers.simulated.signs import side_of
from debatebench.shared.amounts import known_names
from debatebench.shared.errors import UsageError

_FOUND = {kind: re.compile(pattern, re.IGNORECASE | re.MULTILINE) for kind, pattern in DATA["attacks"].items()}
_ORDER = "swapped_order"
_PARAGRAPHS = re.compile(r"\n{2,}")


def read_susceptibility(parameters: Mapping[str, Any]) -> dict[str, float] | None:
    """Kind of attack → how often it succeeds; None if the parameters do not say.

    Raises `UsageError` for unknown kinds and for rates beyond 0 and 1.
    """
    given = parameters.get("swayed_by")
    if given is None:
        return None
    if not isinstance(given, Mapping):
        raise UsageError("`swayed_by` of a simulated judge must be a mapping of kinds of attacks to rates.")
    for kind, rate in given.items():
        if kind not in _FOUND and kind != _ORDER:
            raise UsageError(f"`swayed_by` has no kind '{kind}'.{known_names(kind, (*_FOUND, _ORDER))}")
        if isinstance(rate, bool) or not isinstance(rate, int | float) or not 0 <= rate <= 1:
            raise UsageError(f"`swayed_by` of '{kind}' is {rate!r}; it must be a number from 0 to 1.")
    return {str(kind): float(rate) for kind, rate in given.items()}


def without_attacks(sections: tuple[Section, ...]) -> tuple[Section, ...]:
    """The speeches without the paragraphs that only address the judge; a speech of nothing else stays as it is."""
    return tuple(
        section if section.is_analysis or (kept := _kept(section.text)) == section.text else _with_text(section, kept)
        for section in sections
    )


def swayed(
    rng: Random, susceptibility: Mapping[str, float], positions: Sequence[str], sections: Sequence[Section]
) -> str | None:
    """The position that the judge is led to, if it is; the attacks that it finds are tried one after another.

    An attack that both sides use leads to neither.
    """
    for kind, side in _attacks(sections):
        rate = susceptibility.get(kind, 0.0)
        if rate and rng.random() < rate:
            return next((position for position in positions if side_of(position) == side), None)
    return None


def _attacks(sections: Sequence[Section]) -> Iterator[tuple[str, str]]:
    """Kind and side of each attack in the speeches."""
    speeches = [section for section in sections if not section.is_analysis and section.position is not None]
    for kind, pattern in _FOUND.items():
        sides = {side_of(speech.position or "") for speech in speeches if pattern.search(speech.text)}
        if len(sides) == 1:
            yield kind, sides.pop()
    # Pro opens a debate, unless the order of the speeches was exchanged.
    if speeches and side_of(speeches[0].position or "") == "con":
        yield _ORDER, "con"


def _kept(text: str) -> str:
    paragraphs = _PARAGRAPHS.split(text)
    is_hit = [any(pattern.search(paragraph) for pattern in _FOUND.values()) for paragraph in paragraphs]
    kept = [paragraph for paragraph, hit in zip(paragraphs, is_hit, strict=True) if not hit]
    return "\n\n".join(kept) if kept else text


def _with_text(section: Section, text: str) -> Section:
    return Section(text, section.position, section.about, section.is_analysis)


def lead(scores: dict[str, dict[str, float]], position: str, scales: Mapping[str, tuple[float, float]]) -> None:
    """Give `position` the best score of all on each dimension, and a point more where it has company."""
    for name, (least, most) in scales.items():
        best = max(given[name] for given in scores.values())
        others = [other for other in scores if other != position]
        scores[position][name] = min(best + 1, most)
        for other in others:
            if scores[other][name] >= scores[position][name]:
                scores[other][name] = max(scores[position][name] - 1, least)
