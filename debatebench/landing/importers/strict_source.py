"""Foreign text → plain data → checked models, read strictly: what two readers could read differently is refused."""

from __future__ import annotations

import json
import math
import sys
from collections import Counter
from collections.abc import Iterator
from datetime import UTC, datetime
from functools import cache, lru_cache, reduce
from operator import or_
from pathlib import Path
from types import UnionType
from typing import Annotated, Any, ClassVar, Literal, NoReturn, TypeVar, Union, get_args, get_origin, get_type_hints
from unicodedata import normalize

from msgspec import UNSET, Meta, Raw, Struct, UnsetType, defstruct
from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, ValidationError

from debatebench.landing.importers.base import BadSourceError
from debatebench.shared.records import MOST_COUNT, MOST_SCORE, Score, clean_text
from debatebench.shared.visible_text import plain_name

LARGEST_RECORD = 64 * 1024 * 1024
"""Bytes of one line or one file of a record."""

_DEEPEST_JSON = 64
_BOM = b"\xef\xbb\xbf"

_DEEPEST_YAML = 16
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
_SHOWN = 60
_MOST_SCORE = float(MOST_SCORE)


def json_lines(path: Path) -> Iterator[tuple[int, bytes]]:
    """Number (from 1) and bytes of every line that is not blank; a line that is too long is cut, and refused later."""
    return ((number, line) for number, line in lines_between(path, 0, sys.maxsize) if line.strip())


def lines_between(path: Path, start: int, stop: int) -> Iterator[tuple[int, bytes]]:
    """Number (from 1) and bytes of every line that begins at or after offset `start` and before `stop`.

    A line must begin at `start`. A line that is too long is cut, and a byte-order mark is left out.
    """
    with path.open("rb") as file:
        offset = file.seek(start)
        number = 0
        while offset < stop and (line := file.readline(LARGEST_RECORD + 1)):
            number += 1
            yield number, line if offset else line.removeprefix(_BOM)
            offset += len(line)
            while len(line) > LARGEST_RECORD and not line.endswith(b"\n"):
                line = file.readline(LARGEST_RECORD + 1)
                offset += len(line)


def has_byte_order_mark(path: Path) -> bool:
    """Whether the file begins with one."""
    with path.open("rb") as file:
        return file.read(len(_BOM)) == _BOM


def read_bytes(path: Path) -> bytes:
    """A whole file without its byte-order mark; a file that is too long is cut, and refused later."""
    with path.open("rb") as file:
        return file.read(LARGEST_RECORD + 1).removeprefix(_BOM)


def parse_json(text: bytes) -> Any:
    """One JSON value with lone surrogates replaced.

    Raises `BadSourceError` for text that is not JSON or not UTF-8, repeated keys, NaN and infinity (also `1e999`),
    nesting beyond 64 levels, numbers with thousands of digits, and records beyond `LARGEST_RECORD` bytes.
    """
    if len(text) > LARGEST_RECORD:
        raise BadSourceError(f"It is longer than {LARGEST_RECORD:,} bytes.")
    try:
        value = _DECODER.decode(text.decode("utf-8"))
    except UnicodeDecodeError as error:
        raise BadSourceError(f"Byte {error.start + 1} is not UTF-8.") from error
    except json.JSONDecodeError as error:
        line = f"line {error.lineno}, " if error.lineno > 1 else ""
        problem = error.msg.removesuffix(" at")
        raise BadSourceError(f"It is not JSON: {problem} at {line}character {error.colno}.") from error
    except RecursionError as error:
        raise _too_deep() from error
    except ValueError as error:
        raise BadSourceError("A number has too many digits.") from error
    # There cannot be more levels than opening brackets, and counting those is cheap.
    if text.count(b"{") + text.count(b"[") > _DEEPEST_JSON:
        _refuse_deep_nesting(value)
    # Decoded UTF-8 holds no surrogates, so they can only come from escapes.
    return _without_surrogates(value) if b"\\ud" in text or b"\\uD" in text else value


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    value = dict(pairs)
    if len(value) != len(pairs):
        counts = Counter(key for key, _ in pairs)
        twice = counts.most_common(1)[0][0]
        raise BadSourceError(f"The key {twice[:60]!r} occurs twice in one object.")
    return value


def _constant(text: str) -> NoReturn:
    raise BadSourceError(f"{text} is not a number.")


def _float(text: str) -> float:
    value = float(text)
    if not math.isfinite(value):
        raise BadSourceError(f"{text[:60]} is too large for a number.")
    return value


_DECODER = json.JSONDecoder(object_pairs_hook=_object, parse_constant=_constant, parse_float=_float)


def _too_deep() -> BadSourceError:
    return BadSourceError(f"It nests deeper than {_DEEPEST_JSON} levels.")


def _refuse_deep_nesting(value: Any) -> None:
    level = [value]
    for _ in range(_DEEPEST_JSON):
        level = [
            inner
            for outer in level
            for inner in (outer.values() if isinstance(outer, dict) else outer)
            if isinstance(inner, dict | list)
        ]
        if not level:
            return
    raise _too_deep()


def _without_surrogates(value: Any) -> Any:
    def clean(value: Any) -> Any:
        if isinstance(value, str):
            return clean_text(value)
        if isinstance(value, dict):
            return _object([(clean_text(key), clean(inner)) for key, inner in value.items()])
        return [clean(inner) for inner in value] if isinstance(value, list) else value

    return clean(value)


def parse_yaml(data: bytes) -> Any:
    """One YAML document as dicts, lists, text, and None for an empty scalar or `null` or `~` without quotes.

    Raises `BadSourceError` for text that is not YAML or not UTF-8, several documents, aliases, tags, keys that are
    repeated or not text, nesting beyond 16 levels, and files beyond `LARGEST_RECORD` bytes.
    """
    from debatebench.shared.strict_yaml import YamlError, read_yaml

    try:
        return read_yaml(data, largest=LARGEST_RECORD, deepest=_DEEPEST_YAML, is_all_text=True).data
    except YamlError as error:
        raise BadSourceError(error.sentence(_MESSAGES)) from error


class Source(BaseModel):
    """An object of a foreign format: types are never coerced, and unknown keys are kept in `model_extra`."""

    model_config = ConfigDict(strict=True, extra="allow", frozen=True)


SourceT = TypeVar("SourceT", bound=Source)


def _time(value: Any) -> Any:
    """ISO 8601 text → naive UTC; text without an offset is taken as UTC."""
    if not isinstance(value, str):
        raise ValueError("a time must be ISO 8601 text")
    try:
        time = datetime.fromisoformat(value)
        return time if time.tzinfo is None else time.astimezone(UTC).replace(tzinfo=None)
    except (ValueError, OverflowError) as error:
        raise ValueError("a time must be ISO 8601 text") from error


def _side(value: Any) -> Any:
    """DebateFlow's words for the sides, in any case, → ours."""
    return {"aff": "pro", "neg": "con"}.get(value.lower(), value) if isinstance(value, str) else value


def _not_blank(value: str) -> str:
    if not value.strip():
        raise ValueError("text must not be blank")
    return value


def _name(value: str) -> str:
    """A name in the form in which all names land, so that two spellings of what looks the same are one name."""
    return _not_blank(plain_name(value))


def _words(value: str) -> str:
    return normalize("NFC", _not_blank(value))


def _refuse_alike(value: Any) -> Any:
    """Refuse keys that are one name."""
    if isinstance(value, dict) and len({plain_name(str(key)) for key in value}) != len(value):
        raise ValueError("two keys must not be the same name in different spellings")
    return value


# Both readers, pydantic and msgspec, need each bound.
Name = Annotated[str, AfterValidator(_name)]
Category = Annotated[str, AfterValidator(plain_name)]
Words = Annotated[str, AfterValidator(_words)]
NAMED = BeforeValidator(_refuse_alike)
"""Marks a mapping whose keys are names."""
Whole = Annotated[int, Field(ge=-(2**63), lt=2**63), Meta(ge=-(2**63), le=2**63 - 1)]
Count = Annotated[int, Field(ge=0, le=MOST_COUNT), Meta(ge=0, le=MOST_COUNT)]
Amount = Annotated[float, Field(ge=0, lt=1e8), Meta(ge=0, lt=1e8)]
Number = Annotated[float, Field(ge=-_MOST_SCORE, le=_MOST_SCORE), Meta(ge=-_MOST_SCORE, le=_MOST_SCORE)]
SourceTime = Annotated[datetime, BeforeValidator(_time)]
SourceSide = Annotated[Literal["pro", "con"], BeforeValidator(_side)]


class _Strict(Struct):
    """An object with only the model's keys; a missing optional key is `UNSET`, not None."""

    model_extra: ClassVar[None] = None


@cache
def strict_struct(model: type[Source], *, has_details: bool = True) -> type[Struct]:
    """A struct with the model's attributes, which msgspec reads many times faster than pydantic reads the model.

    It refuses what the model refuses, except for what msgspec cannot check or checks too slowly: repeated keys, blank
    names, text that is not a time, and nesting that is too deep. Times stay text. Without `has_details` it refuses free
    data that says anything, too.
    """
    hints = get_type_hints(model, include_extras=True)
    columns: list[tuple[str, Any] | tuple[str, Any, Any]] = []
    for name, field in model.model_fields.items():
        strict = _strict_type(hints[name], has_details)
        columns.append((name, strict) if field.is_required() else (name, strict | UnsetType, UNSET))
    return defstruct(
        model.__name__,
        columns,
        bases=(_Strict,),
        kw_only=True,
        forbid_unknown_fields=True,
        omit_defaults=True,
        gc=False,
    )


def _strict_type(annotation: Any, has_details: bool) -> Any:
    if annotation == SourceTime:
        return str
    if isinstance(annotation, type) and issubclass(annotation, Source):
        return strict_struct(annotation, has_details=has_details)
    if annotation == dict[str, Any] and not has_details:
        return dict[str, None]
    origin, inner = get_origin(annotation), get_args(annotation)
    if origin in (Union, UnionType):
        return reduce(or_, [_strict_type(each, has_details) for each in inner])
    return origin[tuple([_strict_type(each, has_details) for each in inner])] if origin in (list, dict) else annotation


def check(model: type[SourceT], value: Any) -> SourceT:
    """`value` as a `model`. Raises `BadSourceError` with the key path of the first fault and the number of others."""
    try:
        return model.model_validate(value)
    except ValidationError as error:
        raise BadSourceError(_first_fault(error)) from error


def _first_fault(error: ValidationError) -> str:
    fault = error.errors(include_url=False, include_context=False)[0]
    path = "".join(map(_step, fault["loc"])).removeprefix(".")
    message = fault["msg"].removeprefix("Value error, ")
    found = "" if fault["type"] == "missing" else f", found {_shown(fault['input'])}"
    more = f" (and {error.error_count() - 1} more)" if error.error_count() > 1 else ""
    return f"{path or 'The record'}: {message[:1].lower()}{message[1:]}{found}{more}."


def _step(step: int | str) -> str:
    """One step of a key path; keys come from the source and may hold any text."""
    if isinstance(step, str) and step.isprintable() and len(step) <= _SHOWN:
        return f".{step}"
    return f"[{step}]" if isinstance(step, int) else f"[{_shown(step)}]"


def _shown(value: Any) -> str:
    if isinstance(value, dict | list):
        return "an object" if isinstance(value, dict) else "a list"
    if isinstance(value, int) and abs(value) >= 10**_SHOWN:
        return "a very long number"
    text = repr(value)
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…"


def known(*parts: dict[str, Any] | None, **more: Any) -> dict[str, Any] | None:
    """One mapping of all values that are present and not null; None if there are none."""
    merged = {
        key: value
        for part in (*parts, more)
        if part
        for key, value in part.items()
        if value is not None and value is not UNSET
    }
    return merged or None


@lru_cache(maxsize=65536)
def score(dimension: str, pro: float, con: float) -> Score:
    """A score; the same few scores recur, so each is created only once. Raises `BadSourceError`."""
    try:
        return Score(dimension=dimension, pro=pro, con=con)
    except ValidationError as error:
        raise BadSourceError(
            f"The scores of {dimension[:_SHOWN]!r} ({pro!r}, {con!r}) are not exact to six decimals."
        ) from error


@lru_cache(maxsize=65536)
def score_json(dimension: str, pro: float, con: float) -> Raw:
    """The same score as the JSON in which it lands."""
    return Raw(score(dimension, pro, con).model_dump_json().encode())
