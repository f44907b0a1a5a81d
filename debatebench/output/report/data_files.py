"""Data for the scripts of pages: an object → a script that hands it over, compressed.

A page from a folder (`file://`) cannot fetch a file, but it can load a script. So data is a script that passes a text
to `assets/data.js`, which decompresses it. `debatebench.load(name)` there returns a promise of the object.
"""

from __future__ import annotations

import base64
import gzip
import json
import re
from typing import Any

import msgspec

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*(/[A-Za-z0-9][A-Za-z0-9._-]*)*")

# Measured with 190 MB of speeches: level 4 takes a quarter of the time of level 6, and its files are 20 % larger.
_LEVEL = 4


def data_path(name: str) -> str:
    """Where the data with a name is in the site; a run's part of it is `run_slug(run_tag)`."""
    if not _NAME.fullmatch(name):
        raise ValueError(f"'{name}' cannot be the name of a file")
    return f"data/{name}.js"


def data_script(name: str, data: Any, *, level: int = _LEVEL) -> str:
    """The script for JSON data, the same for the same data. `level` is that of gzip. A NaN is a null."""
    return _handing_over(name, packed(data, level=level))


def bytes_script(name: str, content: bytes, *, level: int = _LEVEL) -> str:
    """The same for bytes, which `debatebench.load(name, "blob")` in a page returns."""
    return _handing_over(name, _in_letters(content, level))


def _handing_over(name: str, text: str) -> str:
    return f'debatebench.received("{name}","{text}");\n'


def packed(data: Any, *, level: int = _LEVEL) -> str:
    """JSON data, compressed and in letters that mean nothing in HTML; `debatebench.unpacked` in a page returns it."""
    return _in_letters(_json(data), level)


def _in_letters(content: bytes, level: int) -> str:
    return base64.b64encode(gzip.compress(content, level, mtime=0)).decode("ascii")


def _json(data: Any) -> bytes:
    try:
        return msgspec.json.encode(data)
    except UnicodeEncodeError:
        # A lone surrogate is no UTF-8; it is replaced, as in pages.
        return json.dumps(data, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "replace")
