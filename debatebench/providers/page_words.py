"""What a page that came in place of an answer says: its title, else its first words."""

from __future__ import annotations

import html
import re

_SEARCHED = 20_000
_TITLE = re.compile(r"<title[^<>]*>([^<>]*)", re.IGNORECASE)
_UNSEEN = re.compile(r"<(script|style|head)\b.*?(?:</\1\s*>|\Z)|<!--.*?(?:-->|\Z)", re.IGNORECASE | re.DOTALL)
_TAG = re.compile(r"<[^<>]*>")


def words_of_page(body: bytes) -> str:
    """The title of an HTML page, else its text, on one line; other text as it is. It may hold a key.

    Empty when the body holds no text, or a JSON object or list, whose words are those of an error.
    """
    text = body[:_SEARCHED].decode("utf-8", "ignore").lstrip("\ufeff \t\r\n")
    if text.startswith(("{", "[")) or not _is_text(text):
        return ""
    if "<" in text:
        title = _TITLE.search(text)
        text = (title[1] if title else "").strip() or _TAG.sub(" ", _UNSEEN.sub(" ", text))
    return " ".join(html.unescape(text).split())


def _is_text(text: str) -> bool:
    """Whether it can be read: not the remains of a compressed or encrypted body."""
    strange = sum(not (character.isprintable() or character.isspace()) for character in text)
    return strange * 10 <= len(text)
