"""YAML and JSON files → plain data, read strictly, and `Setting`: a value with its place in its file.

These files are written by hand, so doubtful content is rejected and never guessed: a duplicate key, an alias, a tag,
NaN, a value of another type, an unused key.
"""

from __future__ import annotations

import difflib
import json
import math
import re
from collections.abc import Iterable, Iterator
from decimal import Decimal, InvalidOperation
from functools import cache
from pathlib import Path
from typing import Any, NoReturn, get_args, get_type_hints

from debatebench.shared.errors import ConfigError
from debatebench.shared.records import MOST_COUNT, MOST_PRICE
from debatebench.shared.visible_text import plain_name, shortened

LARGEST_FILE = 1024 * 1024
"""Bytes. Configuration written by hand is far smaller."""

_DEEPEST_NESTING = 32
_SURROGATE = re.compile("[\ud800-\udfff]")
_NAME = "line {line}: found the alias or anchor '{found}'; allowed: values written out"
_KEY = "line {line}: found a key that is not text; allowed: text (write numbers in quotes)"
_YAML_MESSAGES = {
    "characters": "cannot be read as YAML: {found}",
    "syntax": "line {line}: {details}",
    "documents": "line {line}: expected a single document in the stream, but found another document",
    "alias": _NAME,
    "anchor": _NAME,
    "tag": "line {line}: found the tag '{found}'; allowed: values without tags",
    "depth": "line {line}: found deeper nesting; allowed: at most {found} levels",
    "complex key": _KEY,
    "key": _KEY,
    "repeated key": "line {line}: found the key {found!r} twice; allowed: once",
    "number": "line {line}: found {found}; allowed: a finite number",
}


def read_file(path: Path) -> Setting:
    """Read a `.json` file as JSON and any other file as YAML. Raises `ConfigError` when it cannot be used."""
    text = read_text(path)
    data = parse_json(text, str(path)) if path.suffix.lower() == ".json" else parse_yaml(text, str(path))
    return Setting(str(path), "", data)


def read_text(path: Path) -> str:
    """The text of a file of at most `LARGEST_FILE` bytes in UTF-8, with `\\n` at the line ends."""
    if not path.exists():
        raise ConfigError(f"There is no file {path}; `debatebench init` writes the packaged ones to configs/.")
    if not path.is_file():
        raise ConfigError(f"{path} is not a file; move it elsewhere, or name a file.")
    try:
        with path.open("rb") as file:
            content = file.read(LARGEST_FILE + 1)
    except OSError as error:
        raise ConfigError(f"{path}: cannot be read: {error.strerror}.") from error
    if len(content) > LARGEST_FILE:
        raise ConfigError(f"{path}: found more than {LARGEST_FILE} bytes; allowed: at most {LARGEST_FILE}.")
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise ConfigError(
            f"{path}: byte {error.start}: found a byte that is not UTF-8; allowed: UTF-8 text."
        ) from error
    return text.replace("\r\n", "\n").replace("\r", "\n")


def parse_yaml(text: str, file: str) -> Any:
    """One YAML document as dicts, lists, text, numbers, booleans and None. `file` is named in errors."""
    from debatebench.shared.strict_yaml import YamlError, read_yaml

    content = text.encode()
    try:
        try:
            data = read_yaml(content, deepest=_DEEPEST_NESTING).data
        except YamlError:
            # Without libyaml, whose error messages are less clear.
            data = read_yaml(content, deepest=_DEEPEST_NESTING, is_fast=False).data
    except YamlError as error:
        raise ConfigError(f"{file}: {error.sentence(_YAML_MESSAGES)}.") from error
    _refuse_unusable(data, file, "")
    return data


def parse_json(text: str, file: str) -> Any:
    """One JSON document as plain data. `file` is named in errors."""
    try:
        data = json.loads(text, object_pairs_hook=_object, parse_constant=_Unusable, parse_float=_float)
    except json.JSONDecodeError as error:
        raise ConfigError(f"{file}: line {error.lineno}: cannot be read as JSON: {error.msg}.") from error
    except (RecursionError, ValueError) as error:
        raise ConfigError(
            f"{file}: cannot be read as JSON: it nests too deeply or contains a number that is too long."
        ) from error
    _refuse_unusable(data, file, "")
    return data


class _Unusable:
    """A value that JSON allows and we do not, kept until its key path is known."""

    def __init__(self, what: str) -> None:
        self.what = what


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    data: dict[str, Any] = {}
    for key, value in pairs:
        data[key] = _Unusable("the same key twice") if key in data else value
    return data


def _float(text: str) -> Any:
    value = float(text)
    return value if math.isfinite(value) else _Unusable(text)


def _refuse_unusable(value: Any, file: str, path: str, depth: int = 0) -> None:
    """Reject values that users of the data should not have to handle."""
    setting = Setting(file, path, value)
    if depth > _DEEPEST_NESTING:
        setting.refuse(f"at most {_DEEPEST_NESTING} levels of nesting")
    if isinstance(value, _Unusable):
        raise ConfigError(f"{setting.place}: found {value.what}; allowed: keys without duplicates, and finite numbers.")
    if isinstance(value, str) and _SURROGATE.search(value):
        raise ConfigError(f"{setting.place}: found half of a surrogate pair; allowed: Unicode text.")
    if isinstance(value, dict):
        for key, item in value.items():
            _refuse_unusable(key, file, path, depth)
            _refuse_unusable(item, file, _join(path, key), depth + 1)
    elif isinstance(value, list):
        for index, item in enumerate(value):
            _refuse_unusable(item, file, f"{path}[{index}]", depth + 1)


class Setting:
    """A value of a configuration file, with its file and its key path.

    Every reader either returns a value of its type or raises `ConfigError` with file, key path, what was found and what
    is allowed. An absent key and a `null` key are equivalent: both mean nothing, and the default applies.
    """

    def __init__(self, file: str, path: str, value: Any) -> None:
        self.file = file
        self.path = path
        self.value = value

    @property
    def place(self) -> str:
        """File and key path, as used at the beginning of messages."""
        return f"{self.file}: {self.path}" if self.path else self.file

    @property
    def is_given(self) -> bool:
        """Whether there is a value."""
        return self.value is not None

    def refuse(self, allowed: str, *, is_shown: bool = True) -> NoReturn:
        """Raise `ConfigError`; `is_shown=False` keeps the value out of the message."""
        found = _shown(self.value) if is_shown else "a value (not shown)"
        raise ConfigError(f"{self.place}: found {found}; allowed: {allowed}.")

    def at(self, *paths: str) -> Setting:
        """The one place of `paths` (keys joined by dots) that has a value; the first if none does.

        Raises `ConfigError` if two places have a value.
        """
        found = [self._follow(path) for path in paths]
        given = [setting for setting in found if setting.is_given]
        if len(given) > 1:
            raise ConfigError(
                f"{given[1].place}: found a setting that {given[0].path} also sets; allowed: one of the two."
            )
        return (given or found)[0]

    def at_key(self, key: str) -> Setting:
        """The value of one key; dots in the key have no special meaning."""
        inner = self.value.get(key) if isinstance(self.value, dict) else None
        return Setting(self.file, _join(self.path, key), inner)

    def holding(self, value: Any) -> Setting:
        """The same place with another value."""
        return Setting(self.file, self.path, value)

    def _follow(self, path: str) -> Setting:
        setting = self
        for key in path.split("."):
            setting = setting.at_key(key)
        return setting

    def allow(self, paths: Iterable[str]) -> None:
        """Reject every key that does not lead to one of `paths`; the value at the end of a path is not checked."""
        inner: dict[str, list[str]] = {}
        for path in paths:
            key, _, rest = path.partition(".")
            inner.setdefault(key, []).append(rest)
        for key in self.mapping():
            if key not in inner:
                close = difflib.get_close_matches(key, inner, n=1)
                hint = f" (did you mean '{close[0]}'?)" if close else ""
                place, known = self.at_key(key).place, ", ".join(sorted(inner))
                raise ConfigError(f"{place}: found an unknown key{hint}; allowed: {known}.")
            below = self.at_key(key)
            # A key may end one path and begin others: then its own reader decides what it may be.
            if below.is_given and "" not in inner[key]:
                below.allow(inner[key])

    def mapping(self) -> dict[str, Any]:
        """Keys and plain values; no value means an empty mapping."""
        if self.value is None:
            return {}
        if not isinstance(self.value, dict):
            self.refuse("a mapping")
        return self.value

    def items(self) -> Iterator[Setting]:
        """The elements of a list; no value means an empty list."""
        if self.value is not None and not isinstance(self.value, list):
            self.refuse("a list")
        for index, item in enumerate(self.value or ()):
            yield Setting(self.file, f"{self.path}[{index}]", item)

    def text(self, default: str | None = None) -> str:
        """Text that is not empty; required if there is no default."""
        if self.value is None and default is not None:
            return default
        if isinstance(self.value, str) and self.value.strip():
            return self.value
        is_scalar = isinstance(self.value, bool | int | float)
        self.refuse("text (write it in quotes)" if is_scalar else "text")

    def name(self, default: str | None = None) -> str:
        """Text that can be an id: one line, without surrounding blanks."""
        name = self.text(default)
        if name != name.strip() or not name.isprintable() or len(name) > 200:
            self.refuse("text on one line, of at most 200 characters, without leading or trailing spaces")
        return plain_name(name)

    def optional_text(self) -> str | None:
        """Text, or None if there is no value or only blanks."""
        if self.value is None or (isinstance(self.value, str) and not self.value.strip()):
            return None
        return self.text()

    def choice(self, *options: str, default: str | None = None) -> str:
        """One of `options`; required if there is no default."""
        if self.value is None and default is not None:
            return default
        if self.value not in options:
            self.refuse(", ".join(options))
        return str(self.value)

    def flag(self, default: bool) -> bool:
        """true or false."""
        if self.value is None:
            return default
        if not isinstance(self.value, bool):
            self.refuse("true or false")
        return self.value

    def whole(self, default: int | None = None, *, least: int) -> int:
        """A whole number from `least` to `MOST_COUNT`; required if there is no default."""
        if self.value is None and default is not None:
            return default
        if not isinstance(self.value, int) or isinstance(self.value, bool) or self.value < least:
            self.refuse(f"a whole number of at least {least}")
        if self.value > MOST_COUNT:
            self.refuse(f"a whole number of at most {MOST_COUNT:,}")
        return self.value

    def number(
        self,
        default: float | None = None,
        *,
        least: int | None = None,
        above: int | None = None,
        most: int | None = None,
    ) -> float:
        """A number; required if there is no default."""
        if self.value is None and default is not None:
            return default
        value = float(self.decimal())
        is_low = (least is not None and value < least) or (above is not None and value <= above)
        if is_low or (most is not None and value > most):
            low = f"of at least {least:,}" if least is not None else f"above {above:,}"
            self.refuse(f"a number {low}" + ("" if most is None else f" and at most {most:,}"))
        return value

    def decimal(self, default: Decimal | None = None) -> Decimal:
        """A number, exactly as written; required if there is no default."""
        if self.value is None and default is not None:
            return default
        if isinstance(self.value, bool) or not isinstance(self.value, int | float):
            self.refuse("a number (written without quotes)" if isinstance(self.value, str) else "a number")
        return Decimal(repr(self.value))

    def fields(self, kind: Any, *names: str) -> dict[str, Any]:
        """The named fields of `kind`, a pydantic model or a dataclass, each in the key of its name; see `field`."""
        return {name: self.at_key(name).field(kind, name) for name in names}

    def field(self, kind: Any, name: str) -> Any:
        """This value as a field of `kind`, with the type, the bounds and the default that the field states.

        Text that may be None is free text, any other is a name.
        """
        wanted, default, bounds = _field(kind, name)
        is_optional = type(None) in get_args(wanted)
        if is_optional:
            (wanted,) = (each for each in get_args(wanted) if each is not type(None))
        if wanted is str:
            return self.optional_text() if is_optional else self.name(default)
        if self.value is None and (is_optional or default is not None):
            return default
        if wanted is bool:
            return self.flag(default=False)
        if wanted is int:
            return self.whole(least=bounds["above"] + 1 if "above" in bounds else bounds["least"])
        return self.number(**bounds) if wanted is float else self.choice(*get_args(wanted))

    def price(self) -> Decimal:
        """A number from 0 to `MOST_PRICE`, which may also be written as text, as in providers' catalogues."""
        try:
            value = Decimal(self.value) if isinstance(self.value, str) else self.decimal()
        except InvalidOperation:
            value = Decimal("NaN")
        if not value.is_finite() or not 0 <= value <= MOST_PRICE:
            self.refuse(f"a number from 0 to {MOST_PRICE} (USD per token)")
        return value


@cache
def _field(kind: Any, name: str) -> tuple[Any, Any, dict[str, Any]]:
    """A field's type, its default (None without one) and its bounds, as arguments of `Setting.number`."""
    if not hasattr(kind, "model_fields"):
        return get_type_hints(kind)[name], getattr(kind(), name), {}
    stated = kind.model_fields[name]
    named = {"ge": "least", "gt": "above", "le": "most"}
    bounds = {named[key]: getattr(each, key) for each in stated.metadata for key in named if hasattr(each, key)}
    return stated.annotation, None if stated.is_required() else stated.default, bounds


def _join(path: str, key: str) -> str:
    """The key path one level down; a key that would break the line or the path is quoted."""
    shown = key if key.isprintable() and "." not in key else repr(key)
    return f"{path}.{shown}" if path else shown


def _shown(value: Any) -> str:
    """A value as messages show it, on one line and short."""
    if value is None:
        return "nothing"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, dict):
        return "a mapping" if value else "an empty mapping"
    if isinstance(value, list):
        return "a list" if value else "an empty list"
    return shortened(repr(value), 60)
