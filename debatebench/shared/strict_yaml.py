"""YAML → plain data with the line of every key and item; YAML that two readers could read differently is refused.

Scalars follow the core rules of YAML 1.2: only `true` and `false` are booleans, `1e-6` is a number, and `yes`, a date,
`0x1F` and `.inf` are text.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NoReturn

import yaml

_NULLS = ("", "~", "null", "Null", "NULL")
_CONSTANTS = {
    **dict.fromkeys(_NULLS),
    **dict.fromkeys(("true", "True", "TRUE"), True),
    **dict.fromkeys(("false", "False", "FALSE"), False),
}
_NUMBER = re.compile(r"[-+]?(?:\d{1,18}(?:\.\d*)?|\.\d+)(?:[eE][-+]?\d{1,4})?", re.ASCII)
_TEXT_TAGS = ("!", "tag:yaml.org,2002:str")


class YamlError(Exception):
    """A text is not valid in our subset of YAML: `kind` says why, `line` (from 1) where, `found` what was found.

    kind          found
    size          the number of bytes allowed
    encoding      the number (from 1) of the byte that is not UTF-8
    characters    the parser's message about a character that YAML does not allow; without a line
    syntax        the parser's message; `details` begins with what it was reading
    documents     -
    alias, anchor its name
    tag           the tag
    depth         the number of levels allowed
    complex key   - (a key that is a list or a mapping)
    key           a key that is a scalar but not text
    repeated key  the key
    number        a number beyond the range of floats
    """

    def __init__(self, kind: str, line: int = 1, found: object = "", details: str = "") -> None:
        super().__init__(kind, line, found)
        self.kind = kind
        self.line = line
        self.found = found
        self.details = details

    def sentence(self, messages: Mapping[str, str]) -> str:
        """The message of this kind, with `{line}`, `{found}`, `{short}` (60 characters of it) and so on filled in."""
        return messages[self.kind].format(
            line=self.line, found=self.found, short=str(self.found)[:60], details=self.details, cause=self.__cause__
        )


@dataclass(frozen=True, slots=True)
class Yaml:
    """One document as dicts, lists, text, numbers, booleans and None.

    `lines` has the line (from 1) of every key and item by its path: ("models", 0, "name").
    """

    data: Any
    lines: Mapping[tuple[str | int, ...], int]


def read_yaml(
    content: bytes, *, deepest: int, largest: int | None = None, is_all_text: bool = False, is_fast: bool = True
) -> Yaml:
    """Read UTF-8 text of at most `largest` bytes with at most one YAML document.

    Raises `YamlError` for several documents, aliases, anchors, tags, keys that are not text or are repeated, more than
    `deepest` levels, and numbers beyond the range of floats. With `is_all_text` every scalar is text, except empty
    ones and `~` or `null` without quotes; then the tag of text and an anchor without an alias are allowed. `is_fast`
    reads with libyaml where it is installed; its syntax errors are worded differently.
    """
    if largest is not None and len(content) > largest:
        raise YamlError("size", found=largest)
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise YamlError("encoding", found=error.start + 1) from error
    parser = getattr(yaml, "CSafeLoader", yaml.SafeLoader) if is_fast else yaml.SafeLoader
    try:
        reader = _Reader(parser(text), deepest, is_all_text)
        return Yaml(reader.document(), reader.lines)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        details = " ".join(", ".join(part for part in (error.context, error.problem) if part).split())
        raise YamlError("syntax", mark.line + 1 if mark else 1, error.problem, details) from error
    except yaml.YAMLError as error:
        raise YamlError("characters", found=" ".join(str(error).split())) from error


@dataclass(slots=True)
class _Reader:
    """Turns a parser's events into plain data, which is faster than the parser's own way through nodes."""

    parser: Any
    deepest: int
    is_all_text: bool
    lines: dict[tuple[str | int, ...], int] = field(default_factory=dict)

    def document(self) -> Any:
        """The only document; None if there is none."""
        data, documents = None, 0
        while (event := self.parser.get_event()) is not None:
            if isinstance(event, yaml.DocumentStartEvent):
                documents += 1
                if documents > 1:
                    _refuse("documents", event)
                data = self._value(self.parser.get_event(), (), 0)
        return data

    def _value(self, event: Any, path: tuple[str | int, ...], depth: int) -> Any:
        """The value that begins with `event`."""
        if isinstance(event, yaml.AliasEvent):
            _refuse("alias", event, event.anchor)
        if event.anchor is not None and not self.is_all_text:
            _refuse("anchor", event, event.anchor)
        if event.tag is not None and not (self.is_all_text and event.tag in _TEXT_TAGS):
            _refuse("tag", event, event.tag)
        if depth > self.deepest:
            _refuse("depth", event, self.deepest)
        if isinstance(event, yaml.ScalarEvent):
            return self._scalar(event)
        if isinstance(event, yaml.SequenceStartEvent):
            return self._list(path, depth)
        return self._mapping(path, depth)

    def _list(self, path: tuple[str | int, ...], depth: int) -> list[Any]:
        items: list[Any] = []
        while not isinstance(event := self.parser.get_event(), yaml.SequenceEndEvent):
            place = (*path, len(items))
            self.lines[place] = event.start_mark.line + 1
            items.append(self._value(event, place, depth + 1))
        return items

    def _mapping(self, path: tuple[str | int, ...], depth: int) -> dict[str, Any]:
        mapping: dict[str, Any] = {}
        while not isinstance(event := self.parser.get_event(), yaml.MappingEndEvent):
            key = self._value(event, path, depth + 1)
            if not isinstance(key, str):
                _refuse("complex key" if isinstance(key, dict | list) else "key", event, key)
            if key in mapping:
                _refuse("repeated key", event, key)
            place = (*path, key)
            self.lines[place] = event.start_mark.line + 1
            mapping[key] = self._value(self.parser.get_event(), place, depth + 1)
        return mapping

    def _scalar(self, event: yaml.ScalarEvent) -> Any:
        text = event.value
        if event.style or not event.implicit[0]:
            return text
        if self.is_all_text:
            return None if text in _NULLS else text
        if text in _CONSTANTS:
            return _CONSTANTS[text]
        if not _NUMBER.fullmatch(text):
            return text
        number = float(text) if re.search(r"[.eE]", text) else int(text)
        if not math.isfinite(number):
            _refuse("number", event, text)
        return number


def _refuse(kind: str, event: Any, found: object = "") -> NoReturn:
    raise YamlError(kind, event.start_mark.line + 1, found)
