"""Building blocks of foreign schemas: strict pydantic models whose errors name the key path, value and reason."""

from __future__ import annotations

from datetime import UTC, datetime
from functools import cache, lru_cache, reduce
from operator import or_
from types import UnionType
from typing import Annotated, Any, ClassVar, Literal, TypeVar, Union, get_args, get_origin, get_type_hints
from unicodedata import normalize

from msgspec import UNSET, Meta, Struct, UnsetType, defstruct
from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, ValidationError

from debatebench.landing.importers.base import BadSourceError
from debatebench.shared.records import MOST_COUNT, MOST_SCORE, Score
from debatebench.shared.visible_text import plain_name

_SHOWN = 60
_MOST_SCORE = float(MOST_SCORE)


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
def strict_struct(model: type[Source]) -> type[Struct]:
    """A struct with the model's attributes, which msgspec reads many times faster than pydantic reads the model.

    It refuses what the model refuses, except for what msgspec cannot check or checks too slowly: repeated keys, blank
    names, text that is not a time, and nesting that is too deep. Times stay text.
    """
    hints = get_type_hints(model, include_extras=True)
    columns: list[tuple[str, Any] | tuple[str, Any, Any]] = []
    for name, field in model.model_fields.items():
        strict = _strict_type(hints[name])
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


def _strict_type(annotation: Any) -> Any:
    if annotation == SourceTime:
        return str
    if isinstance(annotation, type) and issubclass(annotation, Source):
        return strict_struct(annotation)
    origin, inner = get_origin(annotation), get_args(annotation)
    if origin in (Union, UnionType):
        return reduce(or_, map(_strict_type, inner))
    return origin[tuple(map(_strict_type, inner))] if origin in (list, dict) else annotation


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
