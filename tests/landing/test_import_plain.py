"""Plain debates: what the quick look accepts, the strict importer accepts as well, and understands in the same way."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from copy import deepcopy
from hashlib import sha256
from pathlib import Path
from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from imported import ORIGINAL
from plain import PLAIN, changed, line_of, mutated_debates

from debatebench.landing.importers import IMPORTERS, BadRecord, Imported
from debatebench.landing.importers.base import Unit
from debatebench.landing.importers.debatebench import _read_debate
from debatebench.landing.importers.plain_debates import LARGEST_PLAIN_LINE, Outline, plain_debate, plain_outline
from debatebench.landing.importers.plain_scan import look
from debatebench.shared.records import Topic


def strictly(line: bytes) -> Imported:
    return _read_debate(line, "a.jsonl:1", "t")


def outline_of(unit: Imported) -> Outline:
    """What the strict importer says of what the quick look tells."""
    (topic,) = (record for record in unit.records if isinstance(record, Topic))
    facts = [unit.run_facts.get(name) for name in Outline._fields[4:]]
    return Outline(unit.key[1], topic.topic_id, topic.motion, topic.category, *facts)  # type: ignore[arg-type]


@pytest.mark.slow
@settings(deadline=None, max_examples=300)
@given(mutated_debates())
def test_what_looks_plain_is_accepted_strictly_and_means_the_same(record: Any):
    for line in (line_of(record), json.dumps(record, ensure_ascii=False, indent=1).replace("\n", " ").encode()):
        plain = plain_debate(line)
        if plain is not None:
            unit = strictly(line)
            assert plain[0] == outline_of(unit) == plain_outline(line)
            assert sha256(plain[1]).digest() == unit.digest()


def objects(value: Any) -> Iterator[dict[str, Any]]:
    """Every object in a JSON value that has a key."""
    if isinstance(value, dict) and value:
        yield value
    for inner in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        yield from objects(inner)


def escaped(text: str, random: Random) -> str:
    """JSON text of a string, with some characters as escapes that mean the same."""
    return '"' + "".join(f"\\u{ord(c):04x}" if random.random() < 0.1 else json.dumps(c)[1:-1] for c in text) + '"'


def written(value: Any, twice: int, random: Random) -> str:
    """JSON with odd white space and escapes; the first key of the object with the id `twice` comes again."""
    space = random.choice(["", "", "", " ", "\t"])
    if isinstance(value, dict):
        items = list(value.items())
        if id(value) == twice:
            items.append((items[0][0], random.choice([items[0][1], "a: b", None, ":::"])))
        members = (f"{escaped(key, random)}{space}:{space}{written(v, twice, random)}" for key, v in items)
        return "{" + f"{space},".join(members) + space + "}"
    if isinstance(value, list):
        return "[" + f"{space},{space}".join(written(inner, twice, random) for inner in value) + "]"
    return escaped(value, random) if isinstance(value, str) else json.dumps(value)


@settings(deadline=None, max_examples=200)
@given(seed=st.integers(0, 2**32), content=st.text(':"\\ab,{}', max_size=20), data=st.data())
def test_a_key_that_comes_twice_anywhere_is_never_plain(seed: int, content: str, data: st.DataObject):
    record = deepcopy(PLAIN)
    record["transcript"]["turns"][0]["content"] = content
    record["judges"][0]["metadata"] = {"note": ':":', "inner": {"a": 1, "b": {"c": "x:y"}}}
    target = data.draw(st.sampled_from(list(objects(record))))
    assert plain_debate(written(record, id(target), Random(seed)).encode()) is None


@settings(deadline=None)
@given(seed=st.integers(0, 2**32))
def test_white_space_escapes_and_the_order_of_keys_make_no_other_debate(seed: int):
    random = Random(seed)
    shuffled = json.loads(json.dumps(PLAIN), object_pairs_hook=lambda pairs: dict(random.sample(pairs, len(pairs))))
    line = written(shuffled, 0, random).encode()
    plain, usual = plain_debate(line), plain_debate(line_of(PLAIN))
    assert usual is not None
    assert strictly(line).digest() == sha256(usual[1]).digest()
    if plain is not None:
        assert plain == usual


def test_spaces_between_the_parts_of_a_debate_leave_it_plain():
    assert plain_debate(json.dumps(PLAIN, indent=1).replace("\n", " ").encode()) == plain_debate(line_of(PLAIN))


ODD = {
    "an unknown key": changed("operator", to="night shift"),
    "an unknown key of a turn": changed("transcript", "turns", 0, "mood", to="calm"),
    "an unknown key of a topic": changed("transcript", "topic", "info", to="more"),
    "a shifted time": changed("transcript", "turns", 0, "created_at", to="2026-01-02T11:00:02+01:00"),
    "a date": changed("created_at", to="2026-01-02"),
    "a time with more than microseconds": changed("created_at", to="2026-01-02T11:00:02.1234567Z"),
    "a basic time": changed("created_at", to="20260102T110002Z"),
    "deep metadata": changed("judges", 0, "metadata", to={"a": json.loads("[" * 40 + "]" * 40)}),
    "an escaped colon": line_of(PLAIN).replace(b"Shade cools", b"Shade\\u003a cools"),
    "a lone surrogate": line_of(PLAIN).replace(b"Shade cools", b"Shade \\ud83d cools"),
    "a large rating": changed("elo", "initial_rating", to=1e13),
    "a long line": changed("transcript", "turns", 0, "content", to="x" * LARGEST_PLAIN_LINE),
}


@pytest.mark.parametrize("name", ODD)
def test_an_odd_line_is_not_plain_but_accepted(name: str):
    line = ODD[name] if isinstance(ODD[name], bytes) else line_of(ODD[name])
    assert plain_debate(line) is None
    assert strictly(line).key == ("debate", "d-plain")


BAD = {
    "no time": changed("created_at", to="2026-02-30T00:00:00Z"),
    "the 25th hour": changed("created_at", to="2026-02-03T25:00:00Z"),
    "a time with a line end": changed("created_at", to="2026-02-03T00:00:00Z\n"),
    "an empty time": changed("created_at", to=""),
    "two times in one": changed("created_at", to="2026-02-03T00:00:00Z\n2026-02-03T00:00:00Z"),
    "a blank name": changed("transcript", "pro_model_id", to=" \u2003"),
    "a blank judge": changed("judges", 0, "judge_id", to="\t"),
    "a blank dimension": changed(
        "judges", 0, to=PLAIN["judges"][0] | {"pro": {"scores": {" ": 1}}, "con": {"scores": {" ": 1}}}
    ),
    "a turn twice": changed("transcript", "turns", 1, "index", to=0),
    "a judge twice": changed("judges", 1, "judge_id", to="ash"),
    "a one-sided score": changed("judges", 0, "pro", "scores", "wit", to=3),
    "an inexact score": changed("judges", 0, "pro", "scores", "clarity", to=0.1234567),
    "a negative cost": changed("judges", 0, "cost", to=-1e-9),
    "a huge seed": changed("debate_seed", to=2**63),
    "a float that is whole": changed("transcript", "turns", 0, "prompt_tokens", to=5.0),
    "a truth for a number": changed("judges", 0, "pro", "scores", "clarity", to=True),
    "null for means": changed("aggregate", "mean_pro", to=None),
    "a list": [PLAIN],
}


@pytest.mark.parametrize("name", BAD)
def test_what_the_strict_importer_refuses_is_not_plain(tmp_path: Path, name: str):
    path = tmp_path / "a.jsonl"
    path.write_bytes(line_of(BAD[name]))
    assert plain_debate(line_of(BAD[name])) is None
    assert [type(unit) for unit in IMPORTERS["debatebench"].scan(path, "t")] == [BadRecord]


def test_the_debate_that_these_tests_change_is_plain():
    assert plain_debate(line_of(PLAIN)) is not None


def comparable(units: Iterator[Unit | BadRecord]) -> list[Any]:
    return [
        unit if isinstance(unit, BadRecord) else (unit.key, unit.where, unit.digest(), unit.topics, unit.run_facts)
        for unit in units
    ]


def test_a_scan_tells_what_reading_tells(tmp_path: Path):
    path = tmp_path / "a.jsonl"
    lines = [line_of(PLAIN), b"  ", ORIGINAL.read_bytes().strip(), b'{"transcript": 1}', b"", line_of(PLAIN)[:-30]]
    path.write_bytes(b"\n".join(lines))
    importer = IMPORTERS["debatebench"]
    read = [Unit.of(unit) if isinstance(unit, Imported) else unit for unit in importer.read(path, "t")]
    assert comparable(importer.scan(path, "t")) == comparable(iter(read))
    assert [unit.is_plain for unit in importer.scan(path, "t") if isinstance(unit, Unit)] == [True, False, True, True]


def test_a_scan_of_plain_debates_tells_what_a_wary_one_tells(tmp_path: Path):
    path = tmp_path / "a.jsonl"
    path.write_bytes(line_of(PLAIN) + b"\n \n" + ORIGINAL.read_bytes().splitlines()[1])
    importer = IMPORTERS["debatebench"]
    assert comparable(importer.scan(path, "t", are_plain=True)) == comparable(importer.scan(path, "t"))


def test_no_line_of_a_file_with_a_byte_order_mark_is_plain(tmp_path: Path):
    path = tmp_path / "a.jsonl"
    path.write_bytes(b"\xef\xbb\xbf" + line_of(PLAIN) + b"\n" + line_of(PLAIN))
    units = list(IMPORTERS["debatebench"].scan(path, "t"))
    assert [(unit.where, unit.is_plain) for unit in units if isinstance(unit, Unit)] == [
        ("a.jsonl:1", False),
        ("a.jsonl:2", False),
    ]


@pytest.fixture
def many_lines(tmp_path: Path) -> Path:
    """A file of plain, odd, bad and blank lines, the last one without an end."""
    path = tmp_path / "many.jsonl"
    kinds = [line_of(PLAIN), ORIGINAL.read_bytes().splitlines()[0], b"{", b"", b" \r", line_of(PLAIN) + b"\r"]
    path.write_bytes(b"\n".join(kinds[number * 7 % 6] for number in range(101)))
    return path


def test_two_processes_see_what_one_sees(many_lines: Path):
    alone = list(look(many_lines))
    assert [line.number for line in alone if line.outline is None and line.offset == 0] == []
    assert list(look(many_lines, worth_a_process=0)) == alone
    assert len({line.number for line in alone}) == len(alone) > 60


def test_one_process_does_it_all_where_the_second_fails(many_lines: Path, monkeypatch: pytest.MonkeyPatch):
    alone = list(look(many_lines))
    monkeypatch.setattr(sys, "executable", "/bin/false")
    assert list(look(many_lines, worth_a_process=0)) == alone


@pytest.mark.parametrize("content", [b"", b"\n", b"{}", b"{}\n"])
def test_small_files_can_be_halved_too(tmp_path: Path, content: bytes):
    path = tmp_path / "small.jsonl"
    path.write_bytes(content)
    assert list(look(path, worth_a_process=0)) == list(look(path))


def test_the_second_process_loads_no_more_than_it_looks_with():
    loads = "import sys, debatebench.landing.importers.plain_scan\n"
    program = loads + "print(*{'pydantic', 'duckdb', 'numpy'} & sys.modules.keys())"
    done = subprocess.run([sys.executable, "-P", "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.split() == []
