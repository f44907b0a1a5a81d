"""The strict YAML reader: scalars, lines, and what it refuses, with either parser."""

from __future__ import annotations

from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from debatebench.shared.strict_yaml import YamlError, read_yaml

PARSERS = pytest.mark.parametrize("is_fast", [True, False], ids=["libyaml", "PyYAML"])

REFUSED = {
    "too large": (b"a: " + b"x" * 98, "size", 1, 100),
    "not UTF-8": (b"a: \xff", "encoding", 1, 4),
    "a control character": (b"a: \x01", "characters", 1, None),
    "an open quote": (b"a: 1\nb: 'x\n", "syntax", 3, None),
    "two documents": (b"a: 1\n---\nb: 2\n", "documents", 2, ""),
    "an anchor": (b"a: 1\nb: &x []\n", "anchor", 2, "x"),
    "an alias": (b"a: 1\nb: *x\n", "alias", 2, "x"),
    "a tag": (b"a: 1\nb: !!python/name:os.system\n", "tag", 2, "tag:yaml.org,2002:python/name:os.system"),
    "deep lists": (b"a:\n  [[[[1]]]]\n", "depth", 2, 4),
    "deep blocks": (b"- " * 20 + b"x", "depth", 1, 4),
    "a list as key": (b"a: 1\n? [b]\n: 2\n", "complex key", 2, ["b"]),
    "a number as key": (b"a: 1\n2: 3\n", "key", 2, 2),
    "a key twice": (b"a: 1\nb:\n  c: 2\n  c: 2\n", "repeated key", 4, "c"),
    "an endless number": (b"a: 1\nb: 1e999\n", "number", 2, "1e999"),
}


def read(content: bytes, is_fast: bool = True, **options: Any) -> Any:
    return read_yaml(content, deepest=4, largest=100, is_fast=is_fast, **options)


@PARSERS
@pytest.mark.parametrize("name", REFUSED)
def test_what_is_doubtful_is_refused_by_kind_and_line(name: str, is_fast: bool) -> None:
    content, kind, line, found = REFUSED[name]
    with pytest.raises(YamlError) as caught:
        read(content, is_fast)
    assert (caught.value.kind, caught.value.line) == (kind, line)
    assert found is None or caught.value.found == found
    assert caught.value.sentence({kind: "{line}: {found}"}).startswith(f"{line}: ")


@PARSERS
@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("true", True),
        ("FALSE", False),
        ("yes", "yes"),
        ("on", "on"),
        ("", None),
        ("~", None),
        ("NULL", None),
        ("'null'", "null"),
        ("12", 12),
        ("-0012", -12),
        ("1e-6", 1e-6),
        ("+.5", 0.5),
        ("0x1F", "0x1F"),
        ("1_000", "1_000"),
        (".inf", ".inf"),
        ("1:30", "1:30"),
        ("1" * 19, "1" * 19),
        ("2026-01-02", "2026-01-02"),
        ("|\n  12\n", "12\n"),
    ],
)
def test_scalars_follow_the_core_rules(text: str, value: Any, is_fast: bool) -> None:
    data = read(f"a: {text}".encode(), is_fast).data
    assert data == {"a": value}
    assert type(data["a"]) is type(value)


@PARSERS
def test_every_scalar_may_be_text(is_fast: bool) -> None:
    content = b"a: 12\nb: true\nc: ~\nd: !!str null\ne: ! 5\nf: &name yes\n"
    data = read(content, is_fast, is_all_text=True).data
    assert data == {"a": "12", "b": "true", "c": None, "d": "null", "e": "5", "f": "yes"}


@PARSERS
def test_every_key_and_item_has_its_line(is_fast: bool) -> None:
    content = b"# first\na:\n  - b: 1\n    c:\n      2\n  -\n    d: [3,\n      4]\n"
    found = read(content, is_fast)
    assert found.data == {"a": [{"b": 1, "c": 2}, {"d": [3, 4]}]}
    assert found.lines == {
        ("a",): 2,
        ("a", 0): 3,
        ("a", 0, "b"): 3,
        ("a", 0, "c"): 4,
        ("a", 1): 7,
        ("a", 1, "d"): 7,
        ("a", 1, "d", 0): 7,
        ("a", 1, "d", 1): 8,
    }


@PARSERS
@pytest.mark.parametrize("content", [b"", b"# nothing\n", b"\xef\xbb\xbf", b"---\n...\n"])
def test_a_text_without_a_value_is_none(content: bytes, is_fast: bool) -> None:
    assert read(content, is_fast).data is None


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-(10**17), 10**17) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=10,
)


class Quoting(yaml.SafeDumper):
    """Text in quotes: by the older rules of PyYAML `0E0` is text without them."""

    def represent_str(self, data: str) -> yaml.ScalarNode:
        return self.represent_scalar("tag:yaml.org,2002:str", data, style='"')


Quoting.add_representer(str, Quoting.represent_str)


@PARSERS
@given(VALUES)
def test_what_pyyaml_writes_is_read_as_it_was(is_fast: bool, value: Any) -> None:
    written = yaml.dump(value, Dumper=Quoting, allow_unicode=False, sort_keys=False).encode()
    assert read_yaml(written, deepest=50, is_fast=is_fast).data == value
