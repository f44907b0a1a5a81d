"""YAML from strangers → plain data where every scalar is text, so that a debater named `yes` keeps the name."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from debatebench.landing.importers.base import BadSourceError
from debatebench.landing.importers.strict_json import LARGEST_RECORD

__all__ = ["parse_yaml"]

_DEEPEST_NESTING = 16
_TEXT_TAGS = (None, "!", "tag:yaml.org,2002:str")


def parse_yaml(data: bytes) -> Any:
    """One YAML document as dicts, lists, text, and None for what is empty, `null` or `~` without quotes.

    Raises `BadSourceError` for text that is not YAML or not UTF-8, several documents, aliases, tags, keys that come
    twice or are not text, nesting beyond 16 levels, and files beyond `LARGEST_RECORD` bytes.
    """
    import yaml

    if len(data) > LARGEST_RECORD:
        raise BadSourceError(f"It is longer than {LARGEST_RECORD:,} bytes.")
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise BadSourceError(f"Byte {error.start + 1} is not UTF-8.") from error
    try:
        events = iter(yaml.parse(text, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader)))
        return _document(events)
    except yaml.MarkedYAMLError as error:
        line = f" in line {error.problem_mark.line + 1}" if error.problem_mark else ""
        raise BadSourceError(f"It is not YAML{line}: {error.problem}.") from error
    except yaml.YAMLError as error:
        raise BadSourceError(f"It is not YAML: {' '.join(str(error).split())}.") from error


def _document(events: Iterator[Any]) -> Any:
    import yaml

    value = None
    documents = 0
    for event in events:
        if isinstance(event, yaml.DocumentStartEvent):
            documents += 1
            if documents > 1:
                raise BadSourceError("It holds several YAML documents.")
            value = _node(next(events), events, 0)
    return value


def _node(event: Any, events: Iterator[Any], depth: int) -> Any:
    """The value that begins with `event`; what belongs to it is taken from `events`."""
    import yaml

    line = event.start_mark.line + 1
    if isinstance(event, yaml.AliasEvent):
        raise BadSourceError(f"Line {line} refers to another place with *{event.anchor}; write the value out.")
    if event.tag not in _TEXT_TAGS:
        raise BadSourceError(f"Line {line} has the tag {event.tag}; write the value without it.")
    if depth > _DEEPEST_NESTING:
        raise BadSourceError(f"Line {line} nests deeper than {_DEEPEST_NESTING} levels.")
    if isinstance(event, yaml.ScalarEvent):
        is_null = event.implicit[0] and event.style in (None, "") and event.value in ("", "~", "null", "Null", "NULL")
        return None if is_null else event.value
    if isinstance(event, yaml.SequenceStartEvent):
        items = []
        while not isinstance(event := next(events), yaml.SequenceEndEvent):
            items.append(_node(event, events, depth + 1))
        return items
    mapping: dict[str, Any] = {}
    while not isinstance(event := next(events), yaml.MappingEndEvent):
        key = _node(event, events, depth + 1)
        if not isinstance(key, str):
            raise BadSourceError(f"Line {event.start_mark.line + 1} has a key that is not text.")
        if key in mapping:
            raise BadSourceError(f"Line {event.start_mark.line + 1} has the key {key[:60]!r} twice.")
        mapping[key] = _node(next(events), events, depth + 1)
    return mapping
