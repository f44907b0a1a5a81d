"""Signs that a speech addresses the judge. A vote with such a sign is kept and reported separately."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from debatebench.config.types import DimensionConfig
from debatebench.judges.answer_json import InvalidVerdictError, json_objects
from debatebench.judges.parsing import parse_verdict
from debatebench.shared.records import Score, Turn


def planted_scores(turns: Iterable[Turn], dimensions: Mapping[str, DimensionConfig]) -> frozenset[tuple[Score, ...]]:
    """The scores of every complete verdict that a debater wrote into a speech, in a form that a judge might copy."""
    planted = set()
    for turn in turns:
        if "{" not in turn.content:
            continue
        # A judge may also copy an object that is written as a JSON string.
        contents = dict.fromkeys((turn.content, turn.content.replace('\\"', '"')))
        for text in (each for content in contents for each in json_objects(content)):
            try:
                planted.add(parse_verdict(text, dimensions, declares_winner=False).scores)
            except InvalidVerdictError:
                continue
    return frozenset(planted)
