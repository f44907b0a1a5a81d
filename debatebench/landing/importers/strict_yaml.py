"""Foreign YAML → plain data where every scalar is text, so that a debater named `yes` keeps the name."""

from __future__ import annotations

from typing import Any

from debatebench.landing.importers.base import BadSourceError
from debatebench.landing.importers.strict_json import LARGEST_RECORD

_DEEPEST_NESTING = 16
_MESSAGES = {
    "size": "It is longer than {found:,} bytes.",
    "encoding": "Byte {found} is not UTF-8.",
    "characters": "It is not YAML: {found}.",
    "syntax": "It is not YAML in line {line}: {found}.",
    "documents": "It contains several YAML documents.",
    "alias": "Line {line} refers to another place with *{found}; write the value out.",
    "tag": "Line {line} has the tag {found}; write the value without it.",
    "depth": "Line {line} nests deeper than {found} levels.",
    "complex key": "Line {line} has a key that is not text.",
    "key": "Line {line} has a key that is not text.",
    "repeated key": "Line {line} has the key {short!r} twice.",
}


def parse_yaml(data: bytes) -> Any:
    """One YAML document as dicts, lists, text, and None for an empty scalar or `null` or `~` without quotes.

    Raises `BadSourceError` for text that is not YAML or not UTF-8, several documents, aliases, tags, keys that are
    repeated or not text, nesting beyond 16 levels, and files beyond `LARGEST_RECORD` bytes.
    """
    from debatebench.shared.strict_yaml import YamlError, read_yaml

    try:
        return read_yaml(data, largest=LARGEST_RECORD, deepest=_DEEPEST_NESTING, is_all_text=True).data
    except YamlError as error:
        raise BadSourceError(error.sentence(_MESSAGES)) from error
