"""JSON with slips that change no value, written again as strict JSON.

A text is split into tokens, and each token is kept or written in its strict form. Between tokens, invisible characters
and comments become blanks; a comma before a closing bracket is left out; the last brace is added. In strings, an escape
that JSON does not know becomes the character that it escapes, or a backslash. No other token is touched, so that a
reader of the result finds the values of the text or nothing. Time and space are linear in the length of the text.
"""

from __future__ import annotations

import re
import string
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass

_DEEPEST = 100

# Soft hyphens and zero-width characters, but none that turns the direction of a text.
_INVISIBLE = r"\xad\u180e\u200b-\u200f\u2060-\u2064\ufeff"
_INVISIBLES = re.compile(f"[{_INVISIBLE}]")
_UNSEEN = rf"[\s\x00-\x1f\x7f{_INVISIBLE}]"
_STRING = r'"[^"\\]*+(?:\\.[^"\\]*+)*+'
_BLOCK = r"/\*(?:[^*]|\*(?!/))*+"
_LINE = r"(?://|\#)[^\r\n]*+"
_TOKEN = re.compile(
    rf"""
    (?P<blank>[ \t\r\n]++)
  | (?P<unseen>{_UNSEEN}++)
  | (?P<comment>{_BLOCK}\*/|{_LINE}[\r\n])
  | (?P<string>{_STRING}")
  | (?P<word>[-+.0-9A-Za-z]++)
  | (?P<mark>[\[\]{{}},:])
  | (?P<fence>```\s*+\Z)
    """,
    re.DOTALL | re.VERBOSE,
)
_OBJECT_START = re.compile(rf'\{{{_UNSEEN}*+(?:["}}]|//|/\*)')
# A string or comment without an end extends to the end of the text, so that each character is searched once.
_BRACE_IN_PROSE = re.compile(rf'[{{}}]|{_STRING}"?', re.DOTALL)
_BRACE_IN_OBJECT = re.compile(rf'[{{}}]|{_STRING}"?|{_BLOCK}(?:\*/)?|{_LINE}', re.DOTALL)
_ESCAPE = re.compile(r'\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}|(.))', re.DOTALL)
_OPENING = {"}": "{", "]": "["}
_VALUES = ("string", "word")


@dataclass(frozen=True, slots=True)
class Mended:
    """A text as strict JSON, except that strings may hold control characters."""

    text: str
    is_closed: bool = True
    """Whether the last brace stood in the text."""
    has_comments: bool = False


def as_seen(name: str) -> str:
    """A name without what a reader cannot see: invisible characters, kinds of blanks, how an accent is composed."""
    if name.isascii():
        return name.strip()
    return " ".join(_INVISIBLES.sub("", unicodedata.normalize("NFC", name)).split())


def object_spans(text: str) -> Iterator[tuple[int, int]]:
    """Where every outermost `{…}` of a text that starts like a JSON object begins and ends, well-formed or not.

    Braces that are followed by anything but a string, a comment or a closing brace, as in `{clarity}`, are prose. An
    object that is never closed extends to the end of the text, so that no part of it is mistaken for the whole.
    """
    end = 0
    while (start := text.find("{", end)) >= 0:
        is_object = _OBJECT_START.match(text, start) is not None
        end = _end_of_braces(text, start, _BRACE_IN_OBJECT if is_object else _BRACE_IN_PROSE)
        if is_object:
            yield start, end


def mend(text: str) -> Mended | None:
    """A text that is one JSON value, as strict JSON; None if it holds a token that JSON has not, or is not closed.

    Whether the tokens follow each other as in JSON is left to the reader of the result.
    """
    strict: list[str] = []
    brackets: list[str] = []
    comma: int | None = None  # where a comma stands after which nothing has come
    is_after_value = is_whole = has_comments = False
    position = 0
    while position < len(text):
        found = _TOKEN.match(text, position)
        if found is None or len(brackets) > _DEEPEST:
            return None
        position = found.end()
        kind, written = found.lastgroup, found[0]
        if kind not in _VALUES and kind != "mark":
            has_comments = has_comments or kind == "comment"
            # More digits may have followed a number at the end of a text, but not after a blank.
            is_whole = is_after_value
            strict.append(" ")
            continue
        if written in _OPENING:
            if not brackets or brackets.pop() != _OPENING[written]:
                return None
            if comma is not None:
                strict[comma] = ""
        elif written in _OPENING.values():
            brackets.append(written)
        comma = len(strict) if written == "," and is_after_value else None
        is_after_value = kind in _VALUES or written in _OPENING
        is_whole = is_after_value and kind != "word"
        strict.append(_ESCAPE.sub(_known_escape, written) if kind == "string" and "\\" in written else written)
    if brackets and not (brackets == ["{"] and is_whole):
        return None
    return Mended("".join([*strict, "}"] if brackets else strict), is_closed=not brackets, has_comments=has_comments)


def _end_of_braces(text: str, start: int, tokens: re.Pattern[str]) -> int:
    """The position after the brace that closes the one at `start`; braces within other tokens are ignored."""
    depth = 0
    for found in tokens.finditer(text, start):
        depth += {"{": 1, "}": -1}.get(found[0], 0)
        if depth == 0:
            return found.end()
    return len(text)


def _known_escape(found: re.Match[str]) -> str:
    """An escape of JSON: punctuation stands for itself, as in JavaScript and Markdown; else the backslash is text."""
    character = found[1]
    if character is None:
        return found[0]
    return character if character in string.punctuation else rf"\\{character}"
