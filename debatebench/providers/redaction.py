"""Removes keys: text and bytes that may hold one pass through here before they are kept or shown.

A key is found as it is written, and as JSON, an address, a page or base64 writes it: `sk\\u002Dab`, `sk%2Dab`,
`sk&#45;ab`, `c2stYWI`, several times over, in a page with blanks or tags between, and in the pieces of
an answer (deltas of a stream, parts of a text). What hides a key in any other way, such as a cipher, is not found.
"""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from html.entities import html5

REDACTED = "[redacted]"
_LONGEST_EXCERPT = 200
_READ_FOR_EXCERPT = 10_000
# The end of a cut body may be the beginning of a key; fewer characters than this reveal nothing.
_SHORTEST_TELLING_PREFIX = 4
# What is shorter could stand in any text by chance: blanks within it, or its base64.
_SHORTEST_RARE = 8
# A longer key is recognised by its beginning, so that its pattern stays small.
_LONGEST_BEGINNING = 64

_KEY_LIKE = re.compile(
    r"\b(?:sk|pk|rk|ak|gsk|hf|xai|pplx|nvapi|r8|tgp|fw|ghp|glpat|api|key)[-_][\w*.-]{6,}"
    r"|\bAIza[\w-]{16,}"
    r"|\b(?:Bearer|Basic)\s+\S+"
    r"|\b(?=[\w+/=.-]*[A-Za-z])(?=[\w+/=.-]*\d)[\w+/=.-]{40,}",
    re.IGNORECASE,
)
_HEX = "[0-9A-Fa-f]"
_GAP = r"(?:[\s\0]|\\{1,8}[nrt]|<[^<>]{1,80}>){0,9}"
_MORE_BASE64 = r"(?:[\w+/=-]|\\{1,32}(?:/|u00(?:2[BbFf]|3[Dd]))|%(?:25){0,3}(?:2[BbFf]|3[Dd]))*"
# What begins neither a JSON value nor events may be a page.
_BEGINS_DATA = re.compile(r"\ufeff?\s*(?:[{\[:]|data:|event:|id:|retry:)")
_BEGINS_EVENTS = re.compile(r"\ufeff?\s*(?::|data:|event:|id:|retry:)")
# Where these stand, a text may come in pieces.
_SIGNS_OF_PIECES = ('"text"', '"thinking"', '"summary"', '["', '[ "')
_STRING = re.compile(r'"((?:[^"\\]|\\.)*)(?:"(\s*:\s*(\d+\b)?)?|\Z)', re.DOTALL)
_SAME = {"text": "content", "delta": "content"}
# How a character of a key may be escaped, by the mark that is looked for first.
_ESCAPES = {
    "\\": re.compile(r'\\(?:u00[2-7]|x[2-7]|[^A-Za-z0-9"\\])'),
    "%": re.compile("%[2-7]"),
    "&": re.compile("&(?:#|[a-z]+;)"),
    "<": re.compile("<"),
}
_LONGEST_ESCAPE = 16
_HALF_ESCAPE = re.compile(rf"(?:\\+(?:u{_HEX}{{0,3}})?|%{_HEX}?|&[#\w]{{0,8}})?\Z")


def without_keys(text: str, keys: Iterable[str] = (), *, is_cut: bool = False) -> str:
    """Return a message with the given keys, and anything that looks like a key, replaced by `[redacted]`."""
    return _KEY_LIKE.sub(REDACTED, without_known_keys(text, keys, is_page=True, is_cut=is_cut))


def without_known_keys(text: str, keys: Iterable[str], *, is_page: bool = False, is_cut: bool = False) -> str:
    """Return `text` with the given keys replaced; if it is cut, also a key that was cut at the end.

    A text with escapes, such as JSON, stays well formed: an escape is replaced whole. In a page, a key may be
    interrupted by blanks and tags.
    """
    for key in keys:
        if is_page or _may_hold(text, key):
            for pattern in _patterns(key):
                text = pattern.sub(REDACTED, text)
        if is_cut and (start := _cut_key(text, key)) is not None:
            text = text[:start] + REDACTED
    return text


def without_keys_in_bytes(data: bytes, keys: Iterable[str], *, is_cut: bool = False) -> bytes:
    """Return a body with the given keys replaced; in a cut body, also a key that was cut at the end.

    Text that merely looks like a key stays, because a raw body is evidence and an answer may contain such text.
    """
    keys = tuple(keys)
    if not keys:
        return data
    text = data.decode("utf-8", "surrogateescape")
    is_page = _BEGINS_DATA.match(text) is None
    if not is_page and (_BEGINS_EVENTS.match(text) or any(sign in text for sign in _SIGNS_OF_PIECES)):
        text = _without_keys_in_pieces(text, keys, is_cut=is_cut)
    return without_known_keys(text, keys, is_page=is_page, is_cut=is_cut).encode("utf-8", "surrogateescape")


def excerpt(text: str, keys: Iterable[str] = ()) -> str:
    """A provider's message for an error message: one printable line without keys, at most 200 characters."""
    shown = without_keys(text[:_READ_FOR_EXCERPT], keys, is_cut=len(text) > _READ_FOR_EXCERPT)
    line = " ".join("".join(c if c.isprintable() else " " for c in shown).split())
    return line if len(line) <= _LONGEST_EXCERPT else line[: _LONGEST_EXCERPT - 1] + "…"


@dataclass(frozen=True, slots=True)
class _Piece:
    """A string of JSON: what it says, and where its text stands between the quotes."""

    text: str
    start: int
    end: int


def _without_keys_in_pieces(body: str, keys: tuple[str, ...], *, is_cut: bool) -> str:
    """`body` without the keys that its strings hold when those of the same name are put together."""
    changed: dict[int, tuple[int, str]] = {}
    for pieces in _pieces(body):
        joined = "".join(piece.text for piece in pieces)
        spans = _spans(joined, keys, is_cut=is_cut)
        offset = 0
        for piece in pieces if spans else ():
            left = _left_of(piece.text, [(start - offset, end - offset) for start, end in spans])
            if left != piece.text:
                changed[piece.start] = (piece.end, json.dumps(left)[1:-1])
            offset += len(piece.text)
    for start, (end, written) in sorted(changed.items(), reverse=True):
        body = body[:start] + written + body[end:]
    return body


def _pieces(body: str) -> Iterable[list[_Piece]]:
    """The strings of all JSON values in `body`, in their order, by name and by the index of the call they belong to.

    Values are not parsed, so this also reads a body that is cut or broken.
    """
    found: dict[tuple[str, str], list[_Piece]] = {}
    name, index = "", "0"
    for string in _STRING.finditer(body):
        if string[2] is None:
            found.setdefault((_SAME.get(name, name), index), []).append(_Piece(_said(string[1]), *string.span(1)))
        elif string[1] == "index":
            index = string[3] or "0"
        else:
            name = string[1]
    return found.values()


def _said(written: str) -> str:
    """What the text of a JSON string says; as it stands if it has escapes that JSON does not know."""
    try:
        said = json.loads(f'"{written}"', strict=False)
    except ValueError:
        return written
    return said if isinstance(said, str) else written


def _spans(text: str, keys: Iterable[str], *, is_cut: bool) -> list[tuple[int, int]]:
    """Where keys stand in `text`."""
    spans = []
    for key in keys:
        if _may_hold(text, key):
            spans += [match.span() for pattern in _patterns(key) for match in pattern.finditer(text)]
        if is_cut and (start := _cut_key(text, key)) is not None:
            spans.append((start, len(text)))
    return spans


def _left_of(text: str, spans: Iterable[tuple[int, int]]) -> str:
    """`text` without these spans, each marked where it begins."""
    for start, end in sorted(spans, reverse=True):
        if end > 0 and start < len(text):
            text = text[: max(start, 0)] + (REDACTED if start >= 0 else "") + text[end:]
    return text


def _may_hold(text: str, key: str) -> bool:
    """Whether a text that is not a page may hold a key: a much faster look than the patterns take."""
    return any(plain in text for plain in _plain_signs(key)) or any(
        mark in text and escape.search(text) for mark, escape in _ESCAPES.items()
    )


@lru_cache(maxsize=64)
def _plain_signs(key: str) -> tuple[str, ...]:
    """One of these is in every text that holds a key, if none of its characters is escaped."""
    stable = [_base64(key, offset) for offset in range(3)] if len(key) >= _SHORTEST_RARE else []
    return (key[:_LONGEST_BEGINNING], *(max(re.split("[+/]", encoded), key=len) for encoded in stable))


@lru_cache(maxsize=64)
def _patterns(key: str) -> tuple[re.Pattern[str], ...]:
    """What finds a key: as text with any escapes, and as base64 at each of three offsets.

    Each begins with characters that the search can skip to, which makes it twenty times as fast as one alternation.
    """
    is_rare = len(key) >= _SHORTEST_RARE
    gap = _GAP if is_rare else ""
    beginning, rest = key[:_LONGEST_BEGINNING], key[_LONGEST_BEGINNING:]
    text = gap.join(map(_written, beginning))
    if rest:
        text += f"(?:{gap}{_written_any(rest)}){{0,{len(rest)}}}"
    found = [re.compile(text)]
    if is_rare:
        found += [re.compile(_as_base64(key, offset) + _MORE_BASE64) for offset in range(3)]
    return tuple(found)


def _written(character: str) -> str:
    """A pattern for one character as text, JSON, addresses and pages write it. Each form begins with a literal."""
    code = "".join(f"[{digit}{digit.upper()}]" if digit.isalpha() else digit for digit in f"{ord(character):02x}")
    names = "".join(f"|{name.rstrip(';')};" for name, value in html5.items() if value == character)
    return _forms(re.escape(character), code, rf"(?:#0{{0,6}}{ord(character)};?|#[xX]0{{0,6}}{code};?{names})")


def _written_any(characters: str) -> str:
    """The same for any of these characters."""
    return _forms(f"[{re.escape(''.join(sorted(set(characters))))}]", f"{_HEX}{{2}}", r"#?\w{1,8};")


def _forms(literal: str, code: str, entity: str) -> str:
    codes = rf"u00{code}|x{code}|u0025(?:25){{0,3}}{code}|u0026(?:amp;){{0,3}}{entity}"
    # Only from the first of several backslashes: a long row of them is read once.
    escaped = rf"\\(?<!\\\\)\\*(?:{codes}|{literal})"
    return rf"(?:{literal}|{escaped}|%(?:25){{0,3}}{code}|&(?:amp;){{0,3}}{entity})"


def _as_base64(key: str, offset: int) -> str:
    """A pattern for `_base64`, in either alphabet, and with escapes."""
    written = {
        "+": r"(?:[+-]|\\{1,32}u002[Bb]|%(?:25){0,3}2[Bb])",
        "/": r"(?:[/_]|\\{1,32}(?:/|u002[Ff])|%(?:25){0,3}2[Ff])",
    }
    return "".join(written.get(character, character) for character in _base64(key, offset))


def _base64(key: str, offset: int) -> str:
    """The base64 of the beginning of a key that stands behind `offset` bytes, of three.

    Characters that also depend on the bytes before or after it are left out.
    """
    data = key[:_LONGEST_BEGINNING].encode()
    encoded = base64.b64encode(bytes(offset) + data).decode("ascii")
    return encoded[(offset * 8 + 5) // 6 : (offset + len(data)) * 8 // 6]


def _cut_key(text: str, key: str) -> int | None:
    """Where a beginning of `key` stands at the end of a text that was cut there."""
    written = _characters(key)
    for start in range(max(0, len(text) - _LONGEST_ESCAPE * len(written)), len(text)):
        end = start
        for count, pattern in enumerate(written):
            if count >= _SHORTEST_TELLING_PREFIX and _HALF_ESCAPE.match(text, end):
                return start
            match = pattern.match(text, end)
            if match is None:
                break
            end = match.end()
    return None


@lru_cache(maxsize=64)
def _characters(key: str) -> tuple[re.Pattern[str], ...]:
    """What finds each character of the beginning of a key."""
    return tuple(re.compile(_GAP + _written(character)) for character in key[:_LONGEST_BEGINNING])
