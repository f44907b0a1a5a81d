"""Pseudonyms for annotators and adjudicators, and texts in which their names are replaced."""

from __future__ import annotations

import hashlib
import hmac
import os
import re
import secrets
from collections.abc import Callable, Collection, Mapping
from contextlib import suppress
from pathlib import Path

from debatebench.shared.errors import DebatebenchError
from debatebench.shared.files import unused_name_beside

__all__ = ["KEY_FILE", "make_pseudonyms", "name_remover", "pseudonym_key"]

KEY_FILE = "pseudonyms.key"
_KEY = re.compile(r"[0-9a-f]{64}\n?")
_SHORTEST = 8
_SHORTEST_NAME_IN_TEXT = 2
_SHORTEST_NAME_IN_ANY_CASE = 4


def pseudonym_key(folder: Path) -> bytes:
    """The workspace's secret, which only its owner can read; made at random where it is missing.

    A pseudonym could be tried out on a list of names if it followed from the name alone. Raises `DebatebenchError` for
    a file that contains something else.
    """
    path = folder / KEY_FILE
    if not path.exists():
        new = unused_name_beside(path, "new")
        try:
            descriptor = os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
            with os.fdopen(descriptor, "w", encoding="ascii") as file:
                file.write(f"{secrets.token_hex(32)}\n")
            # Of two exports that begin at the same time, the first makes the key.
            with suppress(FileExistsError):
                os.link(new, path)
        finally:
            new.unlink(missing_ok=True)
    text = path.read_text(encoding="utf-8", errors="replace")
    if not _KEY.fullmatch(text):
        raise DebatebenchError(
            f"{path} is not a key of 64 hexadecimal digits; restore it, or delete it to give everyone a new pseudonym."
        )
    return bytes.fromhex(text.strip())


def make_pseudonyms(names: Collection[str], key: bytes) -> dict[str, str]:
    """Name → pseudonym such as `annotator-5e884898`. The same name and key always give the same.

    It has as many digits of the HMAC-SHA256 as make all different, at least eight.
    """
    digests = {name: hmac.new(key, name.encode(), hashlib.sha256).hexdigest() for name in sorted(set(names))}
    length = _SHORTEST
    while len({digest[:length] for digest in digests.values()}) < len(digests):
        length += 1
    return {name: f"annotator-{digest[:length]}" for name, digest in digests.items()}


def name_remover(pseudonyms: Mapping[str, str]) -> Callable[[str], str]:
    """A function that replaces the names where they are whole words of a text.

    Names of four characters or more are found in upper and lower case. Names of one character stay, because they are
    words, too.
    """
    found: list[str] = []
    of_lower = {name.lower(): pseudonym for name, pseudonym in pseudonyms.items()}
    # The longest name first, or a first name would be replaced inside of a full name.
    for name in sorted(pseudonyms, key=lambda name: (-len(name), name)):
        if len(name) >= _SHORTEST_NAME_IN_ANY_CASE:
            found.append(f"(?i:{re.escape(name)})")
        elif len(name) >= _SHORTEST_NAME_IN_TEXT:
            found.append(re.escape(name))
    if not found:
        return lambda text: text
    pattern = re.compile(rf"(?<!\w)(?:{'|'.join(found)})(?!\w)")

    def without_names(text: str) -> str:
        return pattern.sub(lambda match: pseudonyms.get(match[0]) or of_lower[match[0].lower()], text)

    return without_names
