"""Thinking that a model wrote into its answer, between `<think>` or `<thinking>` tags, is removed from the answer."""

from __future__ import annotations

import re

__all__ = ["strip_thinking"]

_TAG = re.compile(r"<(/?)\s*think(?:ing)?\s*>", re.IGNORECASE)


def strip_thinking(text: str) -> str:
    """Return `text` without its thinking blocks and their tags; text without a tag is returned unchanged.

    A block runs from an opening tag to the next closing tag of either name, or to the end of the text. A closing tag
    before any opening one ends a block that began with the text, because some chat templates insert the opening tag
    themselves.
    """
    # A search for tags is slow, and few answers contain any.
    if "<" not in text:
        return text
    kept: list[str] = []
    is_thinking = False
    position = 0
    for number, tag in enumerate(_TAG.finditer(text)):
        closes = bool(tag[1])
        if not is_thinking and not (closes and number == 0):
            kept.append(text[position : tag.start()])
        is_thinking = not closes
        position = tag.end()
    if not is_thinking:
        kept.append(text[position:])
    return "".join(kept)
