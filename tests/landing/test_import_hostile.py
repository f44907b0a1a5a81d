"""Sources that try to confuse, exhaust or crash their reader: refused in a sentence, or landed as they are."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterator
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st
from imported import DEBATEFLOW, ORIGINAL, PANELBENCH, add_import, bad_records, landed, only, records_of, rows

from debatebench.landing.importers import importer_of
from debatebench.landing.importers.base import BadRecord, BadSourceError
from debatebench.landing.importers.strict_source import LARGEST_RECORD, parse_json, parse_yaml
from debatebench.shared.errors import DamagedDataError
from debatebench.shared.records import Turn
from debatebench.shared.workspace import Workspace

FULL = json.loads(ORIGINAL.read_text(encoding="utf-8").splitlines()[0])

JSON_VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(10**30), 10**30)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(exclude_categories=["Cs"])),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(st.characters(exclude_categories=["Cs"])), inner),
    max_leaves=30,
)

HOSTILE_JSON = {
    "deep lists": (b"[" * 100_000, "nests deeper"),
    "deep lists, closed": (b"[" * 65 + b"]" * 65, "nests deeper than 64 levels"),
    "deep objects": (b'{"a":' * 100_000 + b"1" + b"}" * 100_000, "nests deeper"),
    "long number": (b'{"a": ' + b"9" * 5_000 + b"}", "too many digits"),
    "NaN": (b'{"a": NaN}', "NaN is not a number"),
    "infinity": (b'{"a": -Infinity}', "-Infinity is not a number"),
    "large exponent": (b'{"a": 1e999}', "1e999 is too large for a number"),
    "key twice": (b'{"a": {"b": 1, "c": 2, "b": 1}}', "The key 'b' occurs twice"),
    "keys alike after cleaning": (b'{"\\ud800": 1, "\\ud801": 2}', "occurs twice"),
    "not UTF-8": (b'{"a": "\xff"}', "Byte 8 is not UTF-8"),
    "UTF-16": ('{"a": 1}'.encode("utf-16"), "is not UTF-8"),
    "two values": (b"{} {}", "It is not JSON: Extra data at character 4"),
    "torn": (b'{"a": 1', "It is not JSON"),
    "second line": (b'{"a":\n x}', "at line 2, character 2"),
    "raw control character": (b'{"a": "\x00"}', "It is not JSON"),
}

HOSTILE_YAML = {
    "deep flow": (b"[" * 100_000, "nests deeper"),
    "deep blocks": (b"- " * 100_000 + b"x", "nests deeper"),
    "alias": (b"a: &x [1]\nb: *x\n", "Line 2 refers to another place with *x"),
    "billion laughs": (b"a: &a [x]\nb: &b [*a, *a]\nc: [*b, *b]\n", "refers to another place"),
    "python object": (b"a: !!python/object/apply:os.system ['true']\n", "Line 1 has the tag"),
    "key twice": (b"a: 1\nb: 2\na: 3\n", "Line 3 has the key 'a' twice"),
    "key that is a list": (b"? [1]\n: 2\n", "a key that is not text"),
    "two documents": (b"--- 1\n--- 2\n", "several YAML documents"),
    "not UTF-8": (b"a: \xff\n", "Byte 4 is not UTF-8"),
    "NUL": (b"a: \x00\n", "It is not YAML"),
    "torn": (b"a: 'x\n", "It is not YAML in line"),
}


@pytest.mark.parametrize("name", HOSTILE_JSON)
def test_hostile_json_is_refused_in_a_sentence(name: str):
    text, expected = HOSTILE_JSON[name]
    with pytest.raises(BadSourceError) as caught:
        parse_json(text)
    assert expected in str(caught.value)
    assert len(str(caught.value)) < 200


@settings(deadline=None)
@given(JSON_VALUES)
def test_ordinary_json_is_read_as_python_reads_it(value: Any):
    assert parse_json(json.dumps(value).encode()) == value
    assert parse_json(json.dumps(value, ensure_ascii=False, indent=1).encode()) == value


def test_lone_surrogates_become_replacement_characters_and_pairs_stay():
    assert parse_json(b'{"k\\ud800": ["\\udfff!", "\\ud83d\\ude00"]}') == {"k\ufffd": ["\ufffd!", "😀"]}


def places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Every key path in a JSON value."""
    yield path
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, inner in items:
        yield from places(inner, (*path, key))


def put(value: Any, path: tuple[Any, ...], new: Any) -> Any:
    """The value with something else at one of its key paths."""
    if not path:
        return new
    copied = list(value) if isinstance(value, list) else dict(value)
    copied[path[0]] = put(copied[path[0]], path[1:], new)
    return copied


@pytest.mark.parametrize(
    ("format_name", "file"),
    [
        ("debatebench", ORIGINAL),
        ("debateflow", DEBATEFLOW / "debates" / "aaaa0001.json"),
        ("debateflow", DEBATEFLOW / "annotations" / "aaaa0001_KL.json"),
        ("debateflow", DEBATEFLOW / "annotations" / "aaaa0001_MN.json"),
    ],
)
@settings(deadline=None)
@given(data=st.data())
@pytest.mark.slow
def test_any_value_at_any_place_is_either_refused_or_fit_to_land(format_name: str, file: Path, data: st.DataObject):
    text = file.read_text(encoding="utf-8")
    record = json.loads(text.splitlines()[0] if format_name == "debatebench" else text)
    path = data.draw(st.sampled_from(list(places(record))))
    changed = put(record, path, data.draw(JSON_VALUES))
    with tempfile.TemporaryDirectory() as folder:
        (unit,) = importer_of(format_name).read(write(Path(folder) / "a.jsonl", changed), "t", "rows")
    if isinstance(unit, BadRecord):
        assert unit.reason.isprintable()
        assert len(unit.reason) < 600
    else:
        assert len(unit.digest()) == 32
        assert all(json.loads(record.model_dump_json()) for record in records_of(unit))


@pytest.mark.parametrize("name", HOSTILE_YAML)
def test_hostile_yaml_is_refused_in_a_sentence(name: str):
    text, expected = HOSTILE_YAML[name]
    with pytest.raises(BadSourceError) as caught:
        parse_yaml(text)
    assert expected in str(caught.value)
    assert len(str(caught.value)) < 200


def test_yaml_scalars_are_text_and_only_nothing_is_none():
    text = b"a: 012\nb: yes\nc: 2024-01-01\nd: ~\ne:\nf: 'null'\ng: null\nh: !!str 5\n"
    expected = {"a": "012", "b": "yes", "c": "2024-01-01", "d": None, "e": None, "f": "null", "g": None, "h": "5"}
    assert parse_yaml(text) == expected


@settings(deadline=None)
@given(st.dictionaries(st.text(min_size=1), st.lists(st.text()) | st.text(), max_size=5))
def test_yaml_text_is_read_as_pyyaml_wrote_it(value: Any):
    written = yaml.safe_dump(value, allow_unicode=False).encode()
    assert parse_yaml(written) == yaml.safe_load(written)


@pytest.mark.parametrize("name", HOSTILE_JSON)
def test_a_hostile_line_or_file_is_a_bad_record_of_its_format(tmp_path: Path, name: str):
    text, _ = HOSTILE_JSON[name]
    line = text.replace(b"\n", b" ")
    (tmp_path / "a.jsonl").write_bytes(line + b"\n")
    (tmp_path / "a.json").write_bytes(text)
    assert [bad.where for bad in bad_records("debatebench", tmp_path / "a.jsonl")] == ["a.jsonl:1"]
    assert [bad.where for bad in bad_records("debateflow", tmp_path / "a.json")] == ["a.json"]


@pytest.mark.parametrize("name", HOSTILE_YAML)
def test_a_hostile_motion_or_speech_file_is_a_bad_record(tmp_path: Path, name: str):
    text, _ = HOSTILE_YAML[name]
    source = PANELBENCH / "DebateArt"
    for folder in ("motion", "speech"):
        copy = tmp_path / folder / "set"
        for kind in ("motion", "speech"):
            (copy / kind).mkdir(parents=True)
            content = text if kind == folder else (source / kind / "debateart_0007.yml").read_bytes()
            (copy / kind / "debateart_0007.yml").write_bytes(content)
        (bad,) = bad_records("panelbench", copy)
        assert bad.where == "motion/debateart_0007.yml"
        assert f"{folder}/debateart_0007.yml" in bad.reason


@pytest.mark.slow
def test_a_line_beyond_the_limit_is_refused_and_the_next_is_read(tmp_path: Path):
    path = tmp_path / "a.jsonl"
    with path.open("wb") as file:
        file.write(b'{"a": "' + b"x" * LARGEST_RECORD + b'"}\n')
        file.write(b"[]\n")
    bad = bad_records("debatebench", path)
    assert [record.where for record in bad] == ["a.jsonl:1", "a.jsonl:2"]
    assert bad[0].reason == f"It is longer than {LARGEST_RECORD:,} bytes."


def with_content(content: str, **extra: Any) -> dict[str, Any]:
    record = deepcopy(FULL)
    record["transcript"]["turns"][0]["content"] = content
    record["transcript"]["turns"][0]["metadata"] = extra
    return record


def write(path: Path, record: Any) -> Path:
    path.write_text(json.dumps(record) + "\n", encoding="utf-8")
    return path


def nested(levels: int) -> Any:
    value: Any = "bottom"
    for _ in range(levels):
        value = [value]
    return value


def test_odd_text_and_metadata_land_as_they_are(tmp_path: Path):
    content = "NUL \x00, bidi \u202e, quote ' \" \\ , emoji 😀, separator \u2028, tag </script> {{ x }} "
    workspace = Workspace(tmp_path)
    metadata = {"deep": nested(50), "huge": 10**4000, "tiny": 1e-300, 'key with " and .': [None, True]}
    add_import(workspace, "t", "debatebench", write(tmp_path / "a.jsonl", with_content(content, **metadata)))
    with landed(workspace, "t") as con:
        query = "select {} from raw.turns where turn_index = 0"
        assert only(con, query.format("content")) == content
        kept = json.loads(only(con, query.format("metadata")))
        assert kept.pop("cost_details") == {"upstream_inference_cost": 0.0001}
        assert kept == {**metadata, 'key with " and .': [None, True]}


def test_lone_surrogates_land_as_replacement_characters(tmp_path: Path):
    workspace = Workspace(tmp_path)
    add_import(workspace, "t", "debatebench", write(tmp_path / "a.jsonl", with_content("half \ud83d here", k="\udfff")))
    with landed(workspace, "t") as con:
        assert only(con, "select content from raw.turns where turn_index = 0") == "half \ufffd here"
        assert only(con, "select metadata->>'$.k' from raw.turns where turn_index = 0") == "\ufffd"


def test_unknown_keys_that_are_named_like_python_attributes_are_just_kept(tmp_path: Path):
    record = deepcopy(FULL)
    record |= {"model_validate": 1, "__class__": "x", "model_config": {"extra": "forbid"}, "key": ["debate", "other"]}
    workspace = Workspace(tmp_path)
    add_import(workspace, "t", "debatebench", write(tmp_path / "a.jsonl", record))
    with landed(workspace, "t") as con:
        kept = json.loads(only(con, "select metadata from raw.debates"))
        assert (kept["model_validate"], kept["__class__"]) == (1, "x")


def test_the_text_of_a_bad_record_cannot_forge_lines_of_the_message(tmp_path: Path):
    record = deepcopy(FULL)
    record["transcript"]["turns"][0]["speaker"] = "pro\n  debates.jsonl:9: forged \x1b[31m\u202e"
    with pytest.raises(DamagedDataError) as caught:
        add_import(Workspace(tmp_path), "t", "debatebench", write(tmp_path / "a.jsonl", record))
    assert len(str(caught.value).splitlines()) == 2
    assert "\x1b" not in str(caught.value)
    assert "\u202e" not in str(caught.value)


@pytest.mark.parametrize("key", ["bad\nkey", "\x1b[2J", "x" * 5000])
def test_a_key_of_a_bad_record_is_shown_on_one_short_line(tmp_path: Path, key: str):
    record = deepcopy(FULL)
    record["judges"][0]["pro"]["scores"][key] = "seven"
    (bad,) = bad_records("debatebench", write(tmp_path / "a.jsonl", record))
    assert "\n" not in bad.reason
    assert "\x1b" not in bad.reason
    assert len(bad.reason) < 400


def test_the_fixtures_hold_what_these_tests_change():
    assert len(rows("debatebench", ORIGINAL, Turn)) == 3
    assert len(rows("debateflow", DEBATEFLOW, Turn)) == 8
