"""The JSON object in a judge's answer: exact, or with slips around its values that leave one reading.

An object is taken out of a fence or prose, out of a list of one, a JSON string or a wrapper (an object that holds it
and says nothing else of a verdict), and may be repeated. Slips of JSON are mended (`mending.py`). Two objects that
differ, keys that come twice and numbers that are not finite are refused; no value is clamped, rounded or coerced.
"""

from __future__ import annotations

import json
import re
import sys
from collections import Counter
from collections.abc import Callable, Collection, Hashable, Iterator, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal, DecimalException
from functools import lru_cache
from typing import Any, NoReturn

from debatebench.judges.mending import as_seen, mend, object_spans
from debatebench.providers.thinking import strip_thinking
from debatebench.shared.errors import DebatebenchError
from debatebench.shared.records import clean_text

_LARGEST_FLOAT = Decimal(sys.float_info.max)
_LONGEST_QUOTE = 40
# Lists, strings and wrappers around an object, one within the other.
_MOST_WRAPPERS = 4
_KEY_BEFORE = re.compile(r'"\s*:\s*\Z')
_KEY_AFTER = re.compile(r'[\s}\]]*,\s*"')
_NEAR = 100


class InvalidVerdictError(DebatebenchError):
    """A judge's answer contains no vote; the message gives the reason in words that can be sent to the judge."""

    def __init__(self, reason: str, *, lacks_object: bool = False) -> None:
        super().__init__(clean_text(reason))
        self.reason = clean_text(reason)
        self.lacks_object = lacks_object
        """Whether the text holds no single, whole object; a longer answer might."""


@dataclass(frozen=True, slots=True)
class FoundObject:
    """The JSON object in an answer, its numbers as exact decimals."""

    value: dict[str, Any]
    is_repaired: bool = False
    """The answer is not just this object in strict JSON, with its keys as they were asked for."""
    is_closed: bool = True
    """The last brace stood in the answer."""
    may_lack_keys: bool = False
    """Other keys may be in a comment, after the end of the answer, or around this object in JSON that is broken."""


def find_object(text: str, parts: Collection[str], names: Collection[str]) -> FoundObject:
    """The single JSON object of an answer.

    An object that has none of the keys `parts` may wrap another. Keys that look like one of `names` or `parts` are
    spelled like it in the result. Raises only `InvalidVerdictError`.
    """
    return _Reader(parts, names).found_in(text)


def json_objects(text: str) -> Iterator[str]:
    """Every outermost `{…}` of a text that starts like a JSON object, well-formed or not."""
    return (text[start:end] for start, end in object_spans(text))


def quoted(value: Any) -> str:
    """A value for a message, always short."""
    if isinstance(value, dict):
        return "an object"
    if isinstance(value, list):
        return "a list"
    text = str(value) if isinstance(value, Decimal) else json.dumps(value, ensure_ascii=False)
    return text if len(text) <= _LONGEST_QUOTE else f"{text[:_LONGEST_QUOTE]}…"


def refuse(reason: str, *, lacks_object: bool = False) -> NoReturn:
    """Raise the error for an answer without a vote."""
    raise InvalidVerdictError(reason, lacks_object=lacks_object)


class _Reader:
    """Reads one answer, and remembers whether one of its keys was spelled differently."""

    def __init__(self, parts: Collection[str], names: Collection[str]) -> None:
        self._parts = frozenset(parts)
        self._known = _by_looks(self._parts.union(names))
        self._is_respelled = False
        self._strict = self._decoder(strict=True)

    def found_in(self, text: str, wrappers: int = _MOST_WRAPPERS) -> FoundObject:
        """The single object in a text, within at most so many wrappers."""
        said = strip_thinking(text)
        # Try the text as received first: within a JSON string a thinking tag is text.
        for whole in dict.fromkeys((text, said)):
            value = _load(self._strict, whole.strip(" \t\r\n\ufeff"))
            if value is not None:
                found = self._unwrapped(FoundObject({}), value, wrappers)
                return replace(found, is_repaired=found.is_repaired or self._is_respelled)
        if spans := list(object_spans(said)):
            found = self._cut_out(said, spans)
            found = self._unwrapped(found, found.value, wrappers)
        else:
            found = self._in_string(said, wrappers)
        return replace(found, is_repaired=True)

    def _cut_out(self, text: str, spans: list[tuple[int, int]]) -> FoundObject:
        """The object at these places of a text; one that is repeated must be whole each time."""
        found = [self._read(each) for each in dict.fromkeys(text[start:end] for start, end in spans)]
        whole = [each.value for each in found if each is not None and each.is_closed]
        if len(spans) > 1 and (len(whole) < len(found) or not _are_same(whole)):
            refuse(f"the answer holds {len(spans)} JSON objects instead of one", lacks_object=True)
        if found[0] is None:
            refuse("the JSON object in the answer is not well-formed", lacks_object=True)
        is_part = any(_is_part_of_json(text, start, end) for start, end in spans)
        return replace(found[0], may_lack_keys=is_part or any(each and each.may_lack_keys for each in found))

    def _read(self, text: str) -> FoundObject | None:
        """The object in braces; None if it is not well-formed."""
        value = _load(self._strict, text)
        if isinstance(value, dict):
            return FoundObject(value)
        mended = mend(text)
        value = None if mended is None else _load(self._decoder(strict=False), mended.text)
        if mended is None or not isinstance(value, dict):
            return None
        return FoundObject(value, is_closed=mended.is_closed, may_lack_keys=mended.has_comments or not mended.is_closed)

    def _in_string(self, text: str, wrappers: int) -> FoundObject:
        """The object in a text that is a JSON string with slips."""
        mended = mend(text)
        value = None if mended is None else _load(self._decoder(strict=False), mended.text)
        if not isinstance(value, str):
            refuse("the answer holds no JSON object", lacks_object=True)
        return self._unwrapped(FoundObject({}), value, wrappers)

    def _unwrapped(self, found: FoundObject, value: Any, wrappers: int) -> FoundObject:
        """The object that a value is or wraps."""
        inner = self._wrapped(value) if wrappers else None
        if isinstance(inner, str):
            inside = self.found_in(inner, wrappers - 1)
            return replace(inside, is_repaired=True, may_lack_keys=inside.may_lack_keys or found.may_lack_keys)
        if inner is not None:
            return self._unwrapped(replace(found, is_repaired=True), inner, wrappers - 1)
        if not isinstance(value, dict):
            refuse("the answer is JSON, but not an object")
        return replace(found, value=value)

    def _wrapped(self, value: Any) -> Any:
        """The value around which there is only a wrapper; None if there is no wrapper."""
        if isinstance(value, str):
            return value if "{" in value else None
        if isinstance(value, list):
            if len(value) > 1 and all(isinstance(each, dict) for each in value) and not _are_same(value):
                refuse(f"the answer holds {len(value)} JSON objects instead of one")
            return value[0] if len(value) == 1 or (value and _are_same(value)) else None
        if not isinstance(value, dict) or self._parts & value.keys():
            return None
        objects = [inner for key, inner in value.items() if isinstance(inner, dict) and key != "reasons"]
        if objects:
            return objects[0] if len(objects) == 1 else None
        only = next(iter(value.values())) if len(value) == 1 else None
        return only if isinstance(only, list) or (isinstance(only, str) and "{" in only) else None

    def _decoder(self, *, strict: bool) -> Callable[[str], Any]:
        """A decoder that refuses what parsers disagree on; one that is not strict takes control characters as text."""
        return json.JSONDecoder(
            parse_int=Decimal,
            parse_float=_finite,
            parse_constant=_no_constant,
            object_pairs_hook=self._object,
            strict=strict,
        ).decode

    def _object(self, pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        """A JSON object; refused if it repeats a key, because parsers disagree on which value counts."""
        value: dict[str, Any] = {}
        for key, inner in pairs:
            name = self._known.get(as_seen(key), key)
            if name in value:
                refuse(f"the key {quoted(name)} comes more than once")
            self._is_respelled = self._is_respelled or name != key
            value[name] = inner
        return value


@lru_cache(maxsize=256)
def _by_looks(names: frozenset[str]) -> dict[str, str]:
    """The names by what a reader sees of them, without those that look alike."""
    looks = Counter(map(as_seen, names))
    return {as_seen(name): name for name in names if looks[as_seen(name)] == 1}


def _load(decode: Callable[[str], Any], text: str) -> Any:
    """The JSON value of a text, numbers as exact decimals; None when it is not JSON (or is `null`)."""
    try:
        return decode(text)
    except RecursionError:
        refuse("the JSON is nested too deeply")
    except DecimalException:
        refuse("a number in the answer is beyond what can be stored")
    except json.JSONDecodeError:
        return None


def _is_part_of_json(text: str, start: int, end: int) -> bool:
    """Whether the object there is the value of a key, or more keys follow it."""
    return bool(_KEY_BEFORE.search(text[max(0, start - _NEAR) : start]) or _KEY_AFTER.match(text, end, end + _NEAR))


def _finite(literal: str) -> Decimal:
    """A JSON number with a fraction or exponent; refused where a float would be infinite, as other parsers read it."""
    value = Decimal(literal)
    if value.copy_abs() > _LARGEST_FLOAT:
        refuse(f"{quoted(value)} is not a finite number")
    return value


def _no_constant(name: str) -> NoReturn:
    refuse(f"{name} is not a number")


def _are_same(values: Sequence[Any]) -> bool:
    """Whether JSON values are equal; `true` is not 1, and the order of keys does not matter."""
    try:
        return len({_frozen(value) for value in values}) <= 1
    except RecursionError:
        refuse("the JSON is nested too deeply")


def _frozen(value: Any) -> Hashable:
    if isinstance(value, dict):
        return dict, frozenset((key, _frozen(inner)) for key, inner in value.items())
    if isinstance(value, list):
        return list, tuple(map(_frozen, value))
    return (bool, value) if isinstance(value, bool) else value
