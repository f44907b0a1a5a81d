"""Lines of the original's JSONL: read quickly, each is refused or understood as it is read slowly."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from copy import deepcopy
from pathlib import Path
from random import Random
from typing import Any
from unittest import mock

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from imported import ORIGINAL, records_of
from usual_debate import USUAL, changed, line_of, mutated_debates

from debatebench.landing.importers import debatebench, debatebench_source, importer_of, second_reader
from debatebench.landing.importers.base import BadRecord, Imported
from debatebench.shared.records import Topic


def read(path: Path) -> list[Any]:
    """What is read from a file, in a form that can be compared."""
    return [
        unit
        if isinstance(unit, BadRecord)
        else (unit.key, unit.where, unit.digest(), records_of(unit), unit.run_facts, unit.time)
        for unit in importer_of("debatebench").read(path, "t", "rows")
    ]


def quickly(line: bytes) -> tuple[Any, bool]:
    """What is read from a line, and whether a quick look was enough."""
    slow = mock.Mock(wraps=debatebench_source._read_slowly)
    with tempfile.TemporaryDirectory() as folder, mock.patch.object(debatebench_source, "_read_slowly", slow):
        path = Path(folder) / "a.jsonl"
        path.write_bytes(line)
        (found,) = read(path)
    return found, not slow.called


def slowly(line: bytes) -> Any:
    with mock.patch.object(debatebench_source, "_read_strictly", side_effect=ValueError):
        return quickly(line)[0]


@settings(deadline=None, max_examples=300)
@given(mutated_debates())
@pytest.mark.slow
def test_a_line_means_the_same_read_quickly_and_slowly(record: Any):
    for line in (line_of(record), json.dumps(record, ensure_ascii=False, indent=1).replace("\n", " ").encode()):
        assert quickly(line)[0] == slowly(line)


@settings(deadline=None)
@given(st.lists(mutated_debates(), max_size=5))
@pytest.mark.slow
def test_a_kept_debate_is_compared_by_what_was_first_read_of_it(records: list[Any]):
    importer = importer_of("debatebench")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "a.jsonl"
        path.write_bytes(b"\n".join([*map(line_of, records), b"", *ORIGINAL.read_bytes().splitlines()]))
        accepted = {unit.where: unit for unit in importer.read(path, "t", "rows") if isinstance(unit, Imported)}
        kept = {unit.where: unit for unit in importer.read(path, "t", "kept")}
        for where, first in accepted.items():
            again = kept[where]
            assert isinstance(again, Imported)
            assert (again.key, again.digest(), again.run_facts) == (first.key, first.digest(), first.run_facts)
            assert topics(again) == topics(first)


@settings(deadline=None)
@given(st.lists(mutated_debates(), max_size=5))
@pytest.mark.slow
def test_an_accepted_line_is_read_as_it_was_when_it_was_new(records: list[Any]):
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "a.jsonl"
        odd = [line if isinstance(line, bytes) else line_of(line) for line in ODD.values()]
        path.write_bytes(b"\n".join([*map(line_of, records), *odd, *ORIGINAL.read_bytes().splitlines()]))
        new = [unit for unit in read(path) if not isinstance(unit, BadRecord)]
        path.write_bytes(b"\n".join(path.read_bytes().split(b"\n")[int(unit[1].split(":")[1]) - 1] for unit in new))
        accepted = [unit for unit in debatebench.read(path, "t", "accepted") if isinstance(unit, Imported)]
        again = [(unit.key, records_of(unit), unit.run_facts, unit.time) for unit in accepted]
    assert again == [(key, found, facts, time) for key, _, _, found, facts, time in new]


def topics(unit: Imported) -> list[Any]:
    return [record for record in unit.shared if isinstance(record, Topic)]


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
def test_a_key_that_comes_twice_anywhere_is_refused(seed: int, content: str, data: st.DataObject):
    record = deepcopy(USUAL)
    record["transcript"]["turns"][0]["content"] = content
    record["judges"][0]["metadata"] = {"note": ':":', "inner": {"a": 1, "b": {"c": "x:y"}}}
    target = data.draw(st.sampled_from(list(objects(record))))
    found, _ = quickly(written(record, id(target), Random(seed)).encode())
    assert isinstance(found, BadRecord)
    assert "occurs twice in one object" in found.reason


@settings(deadline=None)
@given(seed=st.integers(0, 2**32))
def test_white_space_escapes_and_the_order_of_keys_make_no_other_debate(seed: int):
    random = Random(seed)
    shuffled = json.loads(json.dumps(USUAL), object_pairs_hook=lambda pairs: dict(random.sample(pairs, len(pairs))))
    line = written(shuffled, 0, random).encode()
    usual, _ = quickly(line_of(USUAL))
    assert quickly(line)[0][:3] == slowly(line)[:3] == usual[:3]


def test_a_usual_line_is_read_quickly_whatever_the_white_space():
    assert quickly(line_of(USUAL))[1]
    assert quickly(json.dumps(USUAL, indent=1).replace("\n", " ").encode())[1]


ODD = {
    "an unknown key": changed("operator", to="night shift"),
    "an unknown key of a turn": changed("transcript", "turns", 0, "mood", to="calm"),
    "an unknown key of a topic": changed("transcript", "topic", "info", to="more"),
    "a shifted time": changed("transcript", "turns", 0, "created_at", to="2026-01-02T11:00:02+01:00"),
    "a date": changed("created_at", to="2026-01-02"),
    "a time with more than microseconds": changed("created_at", to="2026-01-02T11:00:02.1234567Z"),
    "a basic time": changed("created_at", to="20260102T110002Z"),
    "deep metadata": changed("judges", 0, "metadata", to={"a": json.loads("[" * 40 + "]" * 40)}),
    "an escaped colon": line_of(USUAL).replace(b"Shade cools", b"Shade\\u003a cools"),
    "a lone surrogate": line_of(USUAL).replace(b"Shade cools", b"Shade \\ud83d cools"),
    "a large rating": changed("elo", "initial_rating", to=1e13),
    "a byte-order mark": b"\xef\xbb\xbf" + line_of(USUAL),
}


@pytest.mark.parametrize("name", ODD)
def test_an_odd_line_is_accepted(name: str):
    line = ODD[name] if isinstance(ODD[name], bytes) else line_of(ODD[name])
    found, _ = quickly(line)
    assert found[0] == ("debate", "d-usual")
    assert found == slowly(line)


BAD = {
    "no time": changed("created_at", to="2026-02-30T00:00:00Z"),
    "the 25th hour": changed("created_at", to="2026-02-03T25:00:00Z"),
    "a time with a line end": changed("created_at", to="2026-02-03T00:00:00Z\n"),
    "an empty time": changed("created_at", to=""),
    "two times in one": changed("created_at", to="2026-02-03T00:00:00Z\n2026-02-03T00:00:00Z"),
    "a blank name": changed("transcript", "pro_model_id", to=" \u2003"),
    "a blank judge": changed("judges", 0, "judge_id", to="\t"),
    "a blank dimension": changed(
        "judges", 0, to=USUAL["judges"][0] | {"pro": {"scores": {" ": 1}}, "con": {"scores": {" ": 1}}}
    ),
    "a turn twice": changed("transcript", "turns", 1, "index", to=0),
    "a judge twice": changed("judges", 1, "judge_id", to="ash"),
    "a one-sided score": changed("judges", 0, "pro", "scores", "wit", to=3),
    "an inexact score": changed("judges", 0, "pro", "scores", "clarity", to=0.1234567),
    "a score above the limit": changed("judges", 0, "pro", "scores", "clarity", to=1_000_000.000001),
    "a score below the limit": changed("judges", 0, "con", "scores", "clarity", to=-1_000_001),
    "a negative cost": changed("judges", 0, "cost", to=-1e-9),
    "a huge seed": changed("debate_seed", to=2**63),
    "a float that is whole": changed("transcript", "turns", 0, "prompt_tokens", to=5.0),
    "a truth for a number": changed("judges", 0, "pro", "scores", "clarity", to=True),
    "null for means": changed("aggregate", "mean_pro", to=None),
    "a list": [USUAL],
}


@pytest.mark.parametrize("name", BAD)
def test_a_bad_line_is_refused_with_the_same_words_read_quickly_and_slowly(name: str):
    found, _ = quickly(line_of(BAD[name]))
    assert isinstance(found, BadRecord)
    assert found == slowly(line_of(BAD[name]))


@pytest.fixture(scope="module")
def many_lines(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A file of usual, odd, bad and blank lines, large enough for two processes; the last line has no end."""
    path = tmp_path_factory.mktemp("many") / "many.jsonl"
    long = line_of(changed("transcript", "turns", 0, "content", to="x" * 500_000))
    kinds = [line_of(USUAL), ORIGINAL.read_bytes().splitlines()[0], b"{", b"", b" \r", long]
    path.write_bytes(b"\xef\xbb\xbf" + b"\n".join(kinds[number * 7 % 6] for number in range(425)))
    assert path.stat().st_size > second_reader._WORTH_A_PROCESS
    return path


def test_two_processes_read_what_one_reads(many_lines: Path, monkeypatch: pytest.MonkeyPatch):
    together = read(many_lines)
    monkeypatch.setattr(second_reader, "_WORTH_A_PROCESS", sys.maxsize)
    assert together == read(many_lines)
    assert len(together) == len({unit.where if isinstance(unit, BadRecord) else unit[1] for unit in together}) > 250


@pytest.mark.slow
def test_one_process_reads_everything_where_the_second_fails(many_lines: Path, monkeypatch: pytest.MonkeyPatch):
    together = read(many_lines)
    monkeypatch.setattr(sys, "executable", "/bin/false")
    assert together == read(many_lines)


def test_a_reader_that_stops_early_leaves_no_process(many_lines: Path):
    started: list[subprocess.Popen[bytes]] = []

    def start(*arguments: Any, **settings: Any) -> subprocess.Popen[bytes]:
        started.append(popen(*arguments, **settings))
        return started[-1]

    popen = subprocess.Popen
    with mock.patch.object(second_reader.subprocess, "Popen", start):
        units = debatebench.read(many_lines, "t", "rows")
        next(units)
        del units
    assert [process.returncode is None for process in started] == [False]


@pytest.mark.parametrize("content", [b"", b"\n", b"{}", b"{}\n", b"1234567\n8\n\n\n\n", b"\n\n12345678901\n2\n"])
def test_chunks_hold_every_line_once(tmp_path: Path, content: bytes, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(second_reader, "_CHUNK", 3)
    path = tmp_path / "small.jsonl"
    path.write_bytes(content)
    chunks = second_reader._chunks(path)
    lines = [line for chunk in chunks for _, line in debatebench.lines_between(path, *chunk)]
    assert lines == content.splitlines(keepends=True)
