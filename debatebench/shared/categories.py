"""Categories of topics, which sources write in their own ways: with capitals, blanks and line breaks."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeVar

_Entry = TypeVar("_Entry")


def category_key(category: str) -> str:
    """What two spellings of a category have in common."""
    return " ".join(category.split()).casefold()


def of_category(entries: Mapping[str, _Entry], category: str | None) -> tuple[str, _Entry] | None:
    """The name and the entry of a category; None where there is none for it."""
    wanted = category_key(category) if entries and category else ""
    return next(((name, entry) for name, entry in entries.items() if wanted and category_key(name) == wanted), None)
