"""A key as servers send it back, and the search for it in whatever was kept: decoded until nothing changes."""

from __future__ import annotations

import base64
import html
import json
import re
from collections.abc import Callable, Iterator
from typing import Any
from urllib.parse import quote, unquote

_BASE64 = re.compile(r"[A-Za-z0-9+/_-]{12,}")
# Names under which a stream or a list of parts has the pieces of one text.
_PIECES = ("content", "text", "reasoning", "arguments", "refusal", "thinking")


def _percent(key: str) -> str:
    return "".join(f"%{ord(character):02X}" for character in key)


# The forms of a key within a text, which is then written as JSON.
FORMS: dict[str, Callable[[str], str]] = {
    "plain": lambda key: key,
    "header": lambda key: f"authorization: Bearer {key}",
    "JSON in JSON": lambda key: json.dumps({"error": "".join(f"\\u{ord(c):04x}" for c in key)}),
    "JSON within JSON in JSON": lambda key: json.dumps(json.dumps({"e": key.replace("/", "\\/").replace("-", "\\-")})),
    "percent": lambda key: quote(key, safe=""),
    "percent, everything": _percent,
    "percent, twice": lambda key: quote(_percent(key)),
    "base64": lambda key: base64.b64encode(key.encode()).decode(),
    "base64 of a header": lambda key: base64.b64encode(f"Bearer {key} and more".encode()).decode(),
    "base64 of a login": lambda key: base64.b64encode(f"user:{key}".encode()).decode().rstrip("="),
    "base64 for addresses": lambda key: base64.urlsafe_b64encode(f"a:{key}".encode()).decode(),
    "base64 in an address": lambda key: quote(base64.b64encode(f"?{key}".encode()), safe=""),
    "entities": lambda key: "".join(f"&#{ord(character)};" for character in key),
    "some entities": lambda key: key.replace("-", "&#x2D;").replace("+", "&plus;").replace("/", "&sol;"),
}
# The forms of a key in the raw bytes of a JSON string.
ESCAPES: dict[str, Callable[[str], str]] = {
    "plain": lambda key: key,
    "solidus": lambda key: key.replace("/", "\\/"),
    "plus": lambda key: key.replace("+", "\\u002B").replace("-", "\\u002d"),
    "all": lambda key: "".join(f"\\u{ord(character):04x}" for character in key),
    "first": lambda key: f"\\u{ord(key[0]):04X}{key[1:]}",
}


def finds(data: str | bytes | Any, key: str) -> bool:
    """Whether `data`, a text, bytes or a JSON value, tells the key to someone who decodes it."""
    text = data.decode("utf-8", "replace") if isinstance(data, bytes) else data
    text = text if isinstance(text, str) else json.dumps(text, default=str)
    return any(key in each or key in "".join(each.split()) for each in _readings(text))


def _readings(text: str) -> Iterator[str]:
    """The text, and whatever comes out when it is decoded, several times over."""
    seen = {text}
    waiting = [text]
    while waiting:
        text = waiting.pop()
        yield text
        for more in _decoded(text):
            if more not in seen:
                seen.add(more)
                waiting.append(more)


def _decoded(text: str) -> Iterator[str]:
    yield re.sub(r"\\u([0-9a-fA-F]{4})", lambda found: chr(int(found[1], 16)), text)
    yield re.sub(r"\\+([^u])", r"\1", text)
    yield unquote(text)
    yield html.unescape(text)
    yield re.sub(r"<[^<>]*>", "", text)
    for found in _BASE64.finditer(text):
        for start in range(4):
            run = found[0][start:].replace("-", "+").replace("_", "/")
            run = run[: len(run) - (len(run) % 4 == 1)]
            decoded = base64.b64decode(run + "=" * (-len(run) % 4)).decode("latin-1")
            if sum(map(str.isprintable, decoded)) > 0.8 * len(decoded):
                yield decoded
    for name in _PIECES:
        pieces = re.findall(rf'"{name}":\s*\[?\s*"((?:[^"\\]|\\.)*)', text)
        if len(pieces) > 1:
            yield "".join(pieces)
