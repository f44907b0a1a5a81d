"""How two versions of a file of a site differ: in a cell of a table, a point of a chart, an item of data."""

from __future__ import annotations

import base64
import binascii
import json
import re
import zlib
from collections import Counter
from collections.abc import Iterator
from html.parser import HTMLParser
from itertools import zip_longest
from typing import Any, NamedTuple

_DATA = re.compile(rb'debatebench\.received\("([^"]*)","([A-Za-z0-9+/=]*)"\);\n?')
_SPARE_BYTES = 1_000_000
_LONGEST_VALUE = 80
_MOST_PACKED_BYTES = 50_000_000
_CELLS = ("td", "th")


class Difference(NamedTuple):
    """A place of a file, what it shows, and what it would show now; None where it is not there."""

    path: str
    place: str
    shown: str | None
    now: str | None

    def __str__(self) -> str:
        where = f"{self.path}: {self.place}" if self.place else self.path
        if self.shown is None:
            return f"{where} lacks {_short(self.now or '')}"
        if self.now is None:
            return f"{where} shows {_short(self.shown)}, now nothing"
        return f"{where} shows {_short(self.shown)}, now {_short(self.now)}"


def differences(path: str, shown: bytes, now: bytes) -> Iterator[Difference]:
    """Each difference between two contents of a file, at least one if they are not equal. `shown` may be hostile."""
    if shown == now:
        return
    found = False
    for each in _by_kind(path, shown, now):
        found = True
        yield each
    if not found:
        yield _of_bytes(path, shown, now)


def most_bytes(now: bytes) -> int:
    """The size beyond which a file is not read, because it cannot be what it should be."""
    return 4 * len(now) + _SPARE_BYTES


def json_differences(path: str, place: str, shown: Any, now: Any) -> Iterator[Difference]:
    """Each difference between two JSON values, with the keys that lead to it after `place`."""
    left = [(place, shown, now)]
    while left:
        at, old, new = left.pop()
        if isinstance(old, dict) and isinstance(new, dict):
            keys = [*old, *(key for key in new if key not in old)]
            left += [(f"{at}.{key}", old.get(key, _ABSENT), new.get(key, _ABSENT)) for key in reversed(keys)]
        elif isinstance(old, list) and isinstance(new, list):
            pairs = list(enumerate(zip_longest(old, new, fillvalue=_ABSENT)))
            left += [(f"{at}.{number}", *pair) for number, pair in reversed(pairs)]
        elif type(old) is not type(new) or old != new:
            yield Difference(path, at.lstrip("."), _json_text(old), _json_text(new))


class _Absent:
    """What is not there, which is not null."""


_ABSENT = _Absent()


def _json_text(value: Any) -> str | None:
    if isinstance(value, _Absent):
        return None
    return value if isinstance(value, str) and value else json.dumps(value)[: 2 * _LONGEST_VALUE]


def _short(value: str) -> str:
    text = " ".join(value.split())
    return f"'{text if len(text) <= _LONGEST_VALUE else text[: _LONGEST_VALUE - 1] + '…'}'"


def _by_kind(path: str, shown: bytes, now: bytes) -> Iterator[Difference]:
    if path.endswith(".html"):
        yield from _of_pages(path, shown, now)
    elif path.endswith(".js") and (expected := _data_in(now, None)) is not None:
        found = _data_in(shown, most_bytes(expected))
        if found is not None:
            yield from _of_json(path, "", found, expected)


def _data_in(script: bytes, most: int | None) -> bytes | None:
    """The JSON text of a script with data; None for other scripts, and for more than `most` bytes."""
    match = _DATA.fullmatch(script)
    return None if match is None else _unpacked(match[2], most)


def _unpacked(letters: str | bytes, most: int | None) -> bytes | None:
    """What is packed; None for what is not, and for more than `most` bytes."""
    try:
        packed = zlib.decompressobj(wbits=31)
        text = packed.decompress(base64.b64decode(letters, validate=True), 0 if most is None else most)
        return text if packed.eof else None
    except (binascii.Error, zlib.error, ValueError):
        return None


def _of_json(path: str, place: str, shown: str | bytes, now: str | bytes) -> Iterator[Difference]:
    try:
        old, new = json.loads(shown), json.loads(now)
    except (ValueError, RecursionError):
        return
    yield from json_differences(path, place, old, new)


def _of_bytes(path: str, shown: bytes, now: bytes) -> Difference:
    """The first place at which bytes differ."""
    at = next(
        (n for n, (old, new) in enumerate(zip(shown, now, strict=False)) if old != new), min(len(shown), len(now))
    )
    line = now.count(b"\n", 0, at) + 1
    old, new = (each[at : at + _LONGEST_VALUE].decode("utf-8", "replace") for each in (shown, now))
    return Difference(path, f"line {line}, byte {at}", old or None, new or None)


# --- pages ------------------------------------------------------------------------------------------------------------


class _Item(NamedTuple):
    """A text, a tag or packed data in a page, and where it is. `row` is 0 outside of the rows of tables."""

    section: str
    kind: str
    table: int
    row: int
    label: str
    column: str
    value: str


class _Items(HTMLParser):
    """The items of a page in their order."""

    def __init__(self) -> None:
        super().__init__()
        self.items: list[_Item] = []
        self._section = ""
        self._tables = self._row = self._cell = 0
        self._label = ""
        self._headings: list[str] = []
        self._in_head = self._in_table = self._is_packed = False

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag == "section":
            self._section = dict(attrs).get("id") or ""
        elif tag == "table":
            self._in_table, self._row, self._headings = True, 0, []
            self._tables += 1
        elif tag in ("thead", "tbody"):
            self._in_head = tag == "thead"
        elif tag == "tr" and self._in_table:
            self._row += not self._in_head
            self._cell, self._label = 0, ""
        elif tag in _CELLS:
            self._cell += 1
        elif tag == "script":
            self._is_packed = dict(attrs).get("type") == "application/gzip"
        self._add("markup", " ".join([tag, *(f'{name}="{value}"' for name, value in attrs)]))

    def handle_endtag(self, tag: str) -> None:
        if tag == "table":
            self._in_table, self._row, self._cell = False, 0, 0
        elif tag == "section":
            self._section = ""
        self._add("markup", f"/{tag}")

    def handle_data(self, data: str) -> None:
        if self._is_packed:
            self._is_packed = False
            unpacked = _unpacked(data, _MOST_PACKED_BYTES)
            self._add("data", data if unpacked is None else unpacked.decode("utf-8", "replace"))
            return
        text = data.strip()
        if text and self._in_table and self._cell:
            if self._in_head:
                self._headings.append(text)
            elif self._cell == 1:
                self._label += text
        if text:
            self._add("text", text)

    def handle_comment(self, data: str) -> None:
        self._add("markup", f"!--{data}")

    def handle_decl(self, decl: str) -> None:
        self._add("markup", f"!{decl}")

    def _add(self, kind: str, value: str) -> None:
        column = ""
        if self._row and self._cell:
            known = self._cell <= len(self._headings)
            column = self._headings[self._cell - 1] if known else f"number {self._cell}"
        table = self._tables if self._in_table else 0
        self.items.append(_Item(self._section, kind, table, self._row, self._label, column, value))


def _items(page: bytes) -> list[_Item]:
    parser = _Items()
    parser.feed(page.decode("utf-8", "replace"))
    parser.close()
    return parser.items


def _of_pages(path: str, shown: bytes, now: bytes) -> Iterator[Difference]:
    old, new = _items(shown), _items(now)
    # Rows have the same numbers in both if there are as many; else a new one would move all below it.
    last = [{item.table: item.row for item in items if item.row or not item.table} for items in (old, new)]
    same = {table for table in last[0] if last[0][table] == last[1].get(table)}
    before, after = _by_place(old, same), _by_place(new, same)
    for key in [*before, *(key for key in after if key not in before)]:
        was, item = before.get(key), after.get(key)
        known = was or item
        if known is None or (was and item and was.value == item.value):
            continue
        place = _place(known if item is None else item)
        if known.kind == "data" and was and item:
            found = [*_of_json(path, place, was.value, item.value)]
            yield from found or [Difference(path, place, was.value, item.value)]
        else:
            yield Difference(path, place, was and was.value, item and item.value)


def _by_place(items: list[_Item], same: set[int]) -> dict[tuple[Any, ...], _Item]:
    """The items by where they are: in a row by its number if its table is in `same`, else by its first cell."""
    found: dict[tuple[Any, ...], _Item] = {}
    seen: Counter[tuple[Any, ...]] = Counter()
    for item in items:
        row = item.row if item.table in same else (item.label, bool(item.row))
        place = (item.section, item.kind, item.table, row, item.column)
        seen[place] += 1
        found[*place, seen[place]] = item
    return found


def _place(item: _Item) -> str:
    parts = [f"section '{item.section}'" if item.section else "outside of sections"]
    if item.row:
        parts.append(f"row {item.row} ({_short(item.label)})" if item.label else f"row {item.row}")
    if item.column:
        parts.append(f"column {_short(item.column)}")
    return ", ".join(parts if item.kind == "text" else [*parts, item.kind])
