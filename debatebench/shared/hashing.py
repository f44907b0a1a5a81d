"""SHA-256 over several parts, each preceded by its length, so that two different lists of parts have different hashes.

There are two ways to write the length, because journals contain hashes of both kinds.
"""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path


def hash_of(*parts: str | bytes) -> str:
    """The hash in hexadecimal digits; each part (text as UTF-8) follows its length in eight bytes."""
    pieces: list[bytes] = []
    for part in parts:
        data = part.encode("utf-8", "surrogatepass") if isinstance(part, str) else part
        pieces += len(data).to_bytes(8, "big"), data
    return hashlib.sha256(b"".join(pieces)).hexdigest()


def hash_of_files(files: Iterable[Path]) -> str:
    """The hash of the name and content of each file, whatever order they come in."""
    return hash_of(*(part for file in sorted(files) for part in (file.name, file.read_bytes())))


def hash_with_decimal_lengths(*parts: object) -> str:
    """The hash in hexadecimal digits; each part as text follows its length in decimal digits and a colon.

    The random draws of a plan and the ids of its debates depend on it. Everything else uses `hash_of`.
    """
    texts = [str(part).encode() for part in parts]
    return hashlib.sha256(b"".join(b"%d:%b" % (len(text), text) for text in texts)).hexdigest()
