"""Pseudonyms for annotators and adjudicators."""

from __future__ import annotations

import hashlib
import hmac
import os
import re
import secrets
from collections.abc import Collection
from contextlib import suppress
from pathlib import Path

from debatebench.shared.errors import DebatebenchError
from debatebench.shared.files import unused_name_beside

KEY_FILE = "pseudonyms.key"
_KEY = re.compile(r"[0-9a-f]{64}\n?")
_SHORTEST = 8
PSEUDONYM = re.compile(r"annotator-[0-9a-f]{8,64}")


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
