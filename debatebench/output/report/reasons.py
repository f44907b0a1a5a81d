"""Why an interval or a p value is missing, or what it does not say, in words: the reasons of `macros.reason_of`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from debatebench.output.report.html import MISSING
from debatebench.output.report.page import Section
from debatebench.shared.amounts import listed

WORDS = {
    "no_cases": "no cases",
    "undefined": "not defined",
    "one_cluster": "only one topic or debate",
    "one_pair": "only one pair of debaters",
    "no_variation": "no variation",
    "no_interval": "this measure has none",
    "no_family": "no debater of its family",
    "no_reference": "no people or other judges to compare with",
    "no_answer": "no answer",
    "not_recorded": "not recorded",
}
_FEW_TOPICS = "fewer than three topics, intervals and p values say nothing about other topics."
_MOST_NAMED = 5


def in_words(reason: str) -> str:
    """A reason as it stands on a page; one that has no words here stands for itself."""
    return WORDS.get(reason, reason.replace("_", " "))


def missing_because(reason: str) -> str:
    """What stands in place of a missing value."""
    return f"{MISSING} ({in_words(reason)})"


def remarks(section: Section, rows: Sequence[Mapping[str, Any]]) -> list[str]:
    """Sentences about the intervals of a section: which a chart does not show and why, and what all do not say."""
    reasons = [chosen.reason for chosen in section.columns.values() if chosen.reason is not None]
    found = {row[reason] for reason in reasons for row in rows}
    few = [f"{'Where there are' if None in found else 'With'} {_FEW_TOPICS}"] if "few_topics" in found else []
    return [*_without_interval(section, rows), *few]


def _without_interval(section: Section, rows: Sequence[Mapping[str, Any]]) -> list[str]:
    """For each reason, a sentence that names the points of a chart that have no whiskers because of it."""
    column = section.columns.get(section.role("low")) if "low" in section.roles else None
    if column is None or column.reason is None:
        return []
    by_reason: dict[str, list[str]] = {}
    for row in rows:
        is_line = "baseline" in section.roles and row[section.role("baseline")]
        if row[section.role("low")] is None and row[column.reason] is not None and not is_line:
            by_reason.setdefault(row[column.reason], []).append(_name(section, row))
    texts = []
    for reason, names in by_reason.items():
        separator = "; " if any(", " in name for name in names) else ", "
        texts.append(f"No interval for {listed(names, _MOST_NAMED, separator)}: {in_words(reason)}.")
    return texts


def _name(section: Section, row: Mapping[str, Any]) -> str:
    """The label of a point, with that of its panel if there are several."""
    return ", ".join(str(row[section.role(role)]) for role in ("panel", "label") if role in section.roles)
