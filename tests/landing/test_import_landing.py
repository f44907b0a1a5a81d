"""Kept imports land: every row as its source says, and part by part as all at once."""

from __future__ import annotations

import hashlib
import json
import shutil
import tempfile
from collections.abc import Callable
from contextlib import suppress
from copy import deepcopy
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any
from unittest import mock

import duckdb
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from imported import ORIGINAL, add_import
from usual_debate import USUAL, changed, line_of, mutated_debates

from debatebench.landing.importers import debatebench_source, importer_of, kept
from debatebench.landing.importers.base import BadSourceError, Imported, NotPlainError, PlainRows
from debatebench.landing.importers.debatebench_rows import landed_scores
from debatebench.landing.importers.debatebench_source import read_plain_debate
from debatebench.landing.importers.kept import ImportManifest, kept_manifest, land_import
from debatebench.landing.importers.store import importing
from debatebench.landing.land import create_raw_tables
from debatebench.shared.errors import BusyError, DamagedDataError
from debatebench.shared.records import TABLES
from debatebench.shared.workspace import Workspace

pytestmark = pytest.mark.slow

Rows = dict[str, list[tuple[Any, ...]]]


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    return Workspace(tmp_path / "workspace")


def landed_by(land: Callable[[duckdb.DuckDBPyConnection], object]) -> Rows:
    """Every row of every landed table after landing into an empty warehouse."""
    con = _warehouse()
    con.execute("; ".join(f"delete from raw.{table}" for table in TABLES))
    land(con)
    return rows(con)


@cache
def _warehouse() -> duckdb.DuckDBPyConnection:
    """One for all landings: to open one and to create its tables takes as long as to land a debate."""
    con = duckdb.connect(config={"threads": 1})
    create_raw_tables(con)
    return con


def rows(con: duckdb.DuckDBPyConnection) -> Rows:
    return {table: con.execute(f"from raw.{table} order by all").fetchall() for table in TABLES}


def landed(workspace: Workspace, tag: str = "t") -> Rows:
    return landed_by(lambda con: land_import(con, workspace.imports / tag))


def landed_slowly(workspace: Workspace) -> Rows:
    """What lands where no line is read quickly."""
    with (
        mock.patch.object(ImportManifest, "is_plain", return_value=False),
        mock.patch.object(debatebench_source, "_read_strictly", side_effect=ValueError),
    ):
        return landed(workspace)


def is_plain(workspace: Workspace) -> bool:
    manifest = kept_manifest(workspace.imports / "t")
    return all(map(manifest.is_plain, manifest.parts))


DETAILS = ("metadata", "cost_details")


def without_details(value: Any) -> Any:
    """The record without the free data that makes its line not plain."""
    if isinstance(value, dict):
        return {
            key: dict.fromkeys(inner) if key in DETAILS and isinstance(inner, dict) else without_details(inner)
            for key, inner in value.items()
        }
    return [without_details(inner) for inner in value] if isinstance(value, list) else value


def with_id(record: Any, debate_id: str) -> Any:
    record = deepcopy(record)
    record["transcript"]["debate_id"] = debate_id
    return record


def write(path: Path, *lines: Any) -> Path:
    texts = [line if isinstance(line, bytes) else line_of(line) for line in lines]
    path.write_bytes(b"".join(text + b"\n" for text in texts))
    return path


def keep(workspace: Workspace, *lines: Any, replace: bool = False) -> None:
    with tempfile.TemporaryDirectory() as folder:
        add_import(workspace, "t", "debatebench", write(Path(folder) / "a.jsonl", *lines), replace=replace)


def turn(**values: Any) -> dict[str, Any]:
    """A debate with one turn, of which some is different."""
    first = {**USUAL["transcript"]["turns"][0], **values}
    return changed("transcript", "turns", to=[first])


def verdict(**values: Any) -> dict[str, Any]:
    return changed("judges", to=[{**USUAL["judges"][0], **values}])


def without_optional(value: Any) -> Any:
    """The record with nothing that may be missing."""
    kept = {"transcript", "debate_id", "topic", "id", "motion", "pro_model_id", "con_model_id", "turns", "judges"}
    kept |= {"index", "speaker", "content", "judge_id", "pro", "con", "scores", "clarity", "reasoning"}
    if isinstance(value, dict):
        return {key: without_optional(inner) for key, inner in value.items() if key in kept}
    return [without_optional(inner) for inner in value] if isinstance(value, list) else value


CASES: dict[str, Any] = {
    "as it is": USUAL,
    "nothing optional": without_optional(USUAL),
    "only nulls": json.loads(json.dumps(without_optional(USUAL)).replace('"content"', '"cost": null, "content"'))
    | dict.fromkeys(["aggregate", "created_at", "judges_expected", "judges_actual", "panel_complete", "elo"]),
    "no turns": changed("transcript", "turns", to=[]),
    "no judges": changed("judges", to=[]),
    "no scores": verdict(pro={"scores": {}}, con={"scores": {}}),
    "a null winner": verdict(winner=None),
    "scores in another order": verdict(pro={"scores": {"a": 1, "b": 2.5}}, con={"scores": {"b": 3, "a": 4.25}}),
    "scores of all sizes": verdict(
        pro={"scores": {"a": 1e-6, "b": -0.0, "c": 999_999.999999, "d": 123456.7, "e": 1e6, "f": 0.1}},
        con={"scores": {"a": 1e0, "b": 12.0, "c": -1_000_000, "d": 0.000001, "e": 7, "f": -0.3}},
    ),
    "no means": changed("aggregate", to={}),
    "empty means": changed("aggregate", to={"winner": None, "mean_pro": {}, "mean_con": {}}),
    "a dimension without a name": changed("aggregate", "mean_pro", to={"": 1, "clarity": 2.5}),
    "an empty elo": changed("elo", to={}),
    "whole elo": changed("elo", to={"k_factor": 16, "initial_rating": None}),
    "contradicting judges": changed("judges_actual", to=9),
    "empty words": changed("transcript", "benchmark_version", to=""),
    "the largest seed": changed("debate_seed", to=-(2**63)),
    "a seed": changed("transcript", "seed", to=2**63 - 1),
    "self-play": changed("transcript", "con_model_id", to="oak"),
    "an empty category": changed("transcript", "topic", "category", to=""),
    "odd text": turn(content="NUL \x00 \u202e \" ' \\ \u2028 😀 </script> {{ x }} \x7f \ufffe", stage="\n\t"),
    "no text": turn(content="", stage="", currency=""),
    "a whole cost": turn(cost=3, duration_ms=7),
    "a tie at the last digit": turn(cost=0.00000000015),
    "a tie the other way": turn(cost=0.00000000025),
    "fifteen decimals": turn(cost=0.000123450000001),
    "noise digits": turn(cost=0.1 + 0.2, duration_ms=1e-7),
    "a small cost": turn(cost=9e-05),
    "a tiny cost": turn(cost=5e-324, duration_ms=-0.0),
    "a large cost": turn(cost=99999999.99999999, duration_ms=99999999.99999999),
    "a time without zone": turn(created_at="2026-01-02T10:00:02"),
    "a time in UTC": turn(created_at="2024-02-29T23:59:59.9+00:00"),
    "null metadata": turn(metadata=None, cost_details=None),
    "empty metadata": turn(metadata={}, cost_details={}),
    "odd metadata": turn(metadata={"a": [1, 2.50, {"b": None, "c": [None]}], 'k"\x00': "x", "n": None, "": {}}),
    "numbers": turn(metadata={"n": [10**400, -(10**30), 2**64, -0.0, 1e16, 1e-7, 123456789.123456789, 1e300, 5e-324]}),
    "reasoning that is no text": turn(metadata={"reasoning": {"steps": 3}}),
    "empty reasoning": turn(metadata={"reasoning": ""}),
    "costs named twice": turn(metadata={"a": 1, "cost_details": 5, "b": 2}, cost_details={"x": 1.0, "y": None}),
    "costs named twice, one empty": turn(metadata={"cost_details": {"z": 1}, "b": 2}, cost_details={"y": None}),
    "costs named null": turn(metadata={"b": 2, "cost_details": None}, cost_details={"y": 2}),
    "a response": turn(
        metadata={
            "raw_response": {"id": "g", "provider": "P", "choices": [{"finish_reason": "stop"}, {"finish_reason": "x"}]}
        }
    ),
    "a cut response": turn(metadata={"raw_response": {"choices": [{"finish_reason": "length"}]}}),
    "an odd response": turn(
        metadata={"raw_response": {"id": 5, "provider": None, "choices": {"finish_reason": "stop"}}}
    ),
    "choices of nothing": turn(metadata={"raw_response": {"id": "", "choices": []}}),
    "choices of words": turn(metadata={"raw_response": {"choices": ["length"]}}),
    "a response of text": turn(metadata={"raw_response": '{"id": "no"}'}),
    "a list for a response": turn(metadata={"raw_response": [{"id": "no"}]}),
    "a verdict's metadata": verdict(metadata={"raw_response": {"id": "g"}, "reasoning": "kept", "x": {"y": [1.0]}}),
    "a verdict's costs": verdict(cost=0.00000000005, cost_details={"upstream": 1e-9}, currency="EUR"),
    "white space": json.dumps(turn(metadata={"a": {"b": [1, 2]}}), indent=2).replace("\n", " ").encode(),
    "escapes": json.dumps(turn(metadata={"ä": "ö/😀"}, content="Ü/\x1f")).replace("/", "\\/").encode(),
    "exponents": line_of(USUAL).replace(b"1200.5", b"1.2005E+3").replace(b"0.000123", b"123e-6"),
    "long numbers": line_of(USUAL)
    .replace(b"1200.5", b"1200.50000000000000000000000000001")
    .replace(b"0.002", b"2.0000e-3"),
    "a minus before zero": line_of(turn(metadata={"n": 77})).replace(b'"n":77', b'"n":-0'),
}


@pytest.mark.parametrize("name", CASES)
def test_a_debate_lands_the_same_read_quickly_and_slowly(workspace: Workspace, name: str):
    keep(workspace, CASES[name])
    assert landed(workspace) == landed_slowly(workspace)


NOT_PLAIN = {"scores in another order", "a dimension without a name"}


@pytest.mark.parametrize("name", CASES)
def test_a_debate_without_details_lands_the_same_read_by_duckdb_and_slowly(workspace: Workspace, name: str):
    case = json.loads(CASES[name]) if isinstance(CASES[name], bytes) else CASES[name]
    plain = without_details(case)
    spacious = json.dumps(with_id(plain, "d2"), indent=1).replace("\n", " \t\r").encode()
    keep(workspace, plain, spacious, b"", b" \t\r")
    assert is_plain(workspace) == (name not in NOT_PLAIN)
    with mock.patch.object(kept, "read_import", wraps=kept.read_import) as reading:
        found = landed(workspace)
    reading.assert_called_once_with(workspace.imports / "t", "outlines")
    assert found == landed_slowly(workspace)


def are_accepted(record: Any) -> bool:
    with tempfile.TemporaryDirectory() as folder:
        path = write(Path(folder) / "a.jsonl", record)
        return all(isinstance(unit, Imported) for unit in importer_of("debatebench").read(path, "t", "rows"))


def are_plain_debate(record: Any) -> bool:
    with suppress(NotPlainError, BadSourceError):
        landed_scores(read_plain_debate(line_of(record))[0])
        return True
    return False


@settings(deadline=None, max_examples=16)
@given(
    st.lists(st.tuples(mutated_debates(), st.sampled_from([None, "", "cities"])), min_size=5, max_size=15),
    st.booleans(),
)
def test_any_debates_land_the_same_read_quickly_and_slowly(records: list[tuple[Any, str | None]], are_plain: bool):
    for number, (record, category) in enumerate(records):
        if isinstance(record.get("transcript"), dict):
            topic = {"id": "t1", "motion": "m", "category": category}
            record["transcript"] |= {"debate_id": f"d{number}", "topic": topic}
    found = [without_details(record) if are_plain else record for record, _ in records]
    accepted = list(filter(are_plain_debate if are_plain else are_accepted, found))
    with tempfile.TemporaryDirectory() as folder:
        workspace = Workspace(Path(folder) / "workspace")
        first = changed("transcript", "topic", to={"id": "t2", "motion": "m"})
        keep(workspace, without_details(first) if are_plain else first, *accepted)
        assert not are_plain or is_plain(workspace)
        tables = landed(workspace)
        assert tables == landed_slowly(workspace)
        assert len(tables["debates"]) == 1 + len(accepted)


def test_the_golden_debates_land_the_same_read_quickly_and_slowly(shared: Path, workspace: Workspace):
    add_import(workspace, "t", "debatebench", shared / "debatebench-v0" / "golden" / "debates.jsonl")
    assert landed(workspace) == landed_slowly(workspace)


@pytest.mark.parametrize(
    "source",
    [
        [USUAL],
        [without_details(USUAL)],
        [without_details(USUAL), without_details(USUAL)],
        [without_details(USUAL), *ORIGINAL.read_bytes().splitlines(), without_details(USUAL)],
    ],
)
def test_the_rows_that_the_first_import_offers_are_those_that_landing_would_read(
    workspace: Workspace, tmp_path: Path, source: list[Any]
):
    with importing(workspace, "t", "debatebench", write(tmp_path / "a.jsonl", *source)) as report:
        files = report.rows
        assert files is not None
        offered = landed_by(lambda con: land_import(con, workspace.imports / "t", rows=files))
    assert offered == landed(workspace)
    assert not files.folder.exists()


def test_a_later_import_offers_no_rows(workspace: Workspace, tmp_path: Path):
    keep(workspace, FIRST)
    with importing(workspace, "t", "debatebench", write(tmp_path / "a.jsonl", SECOND)) as report:
        assert report.rows is None


def test_a_tag_takes_no_other_import_while_its_rows_are_offered(workspace: Workspace, tmp_path: Path):
    path = write(tmp_path / "a.jsonl", FIRST)
    with (
        importing(workspace, "t", "debatebench", path),
        pytest.raises(BusyError, match="Another process is importing into 't'"),
    ):
        add_import(workspace, "t", "debatebench", path)


def test_rows_that_a_killed_import_left_are_removed(workspace: Workspace):
    left = workspace.imports / "t" / ".rows"
    left.mkdir(parents=True)
    (left / "debates.ndjson").write_bytes(b"{}")
    keep(workspace, FIRST)
    assert not left.exists()


def test_parts_that_an_earlier_version_kept_land(workspace: Workspace):
    keep(workspace, USUAL)
    before = landed(workspace)
    path = workspace.imports / "t" / "manifest.json"
    manifest = json.loads(path.read_text(encoding="utf-8"))
    manifest["parts"][0]["plain_rules"] = 1
    path.write_text(json.dumps(manifest), encoding="utf-8")
    assert landed(workspace) == before


def test_lines_are_checked_again_unless_the_same_rules_accepted_them(workspace: Workspace):
    keep(workspace, USUAL)
    manifest = kept_manifest(workspace.imports / "t")
    assert [part.rules for part in manifest.parts] == [importer_of("debatebench").rules]
    before = landed(workspace)
    with mock.patch.object(debatebench_source, "_read_quickly", wraps=debatebench_source._read_quickly) as check:
        assert landed(workspace) == before
        assert not check.called
        newer = replace(importer_of("debatebench"), rules=2)
        with mock.patch.object(kept, "importer_of", return_value=newer):
            assert landed(workspace) == before
        assert check.called


BOTH = pytest.mark.parametrize("usual", [USUAL, without_details(USUAL)], ids=["with details", "plain"])


@BOTH
def test_blank_lines_and_windows_line_ends_do_not_matter(workspace: Workspace, usual: Any):
    keep(workspace, b"", usual, b" \t", b"\x0b", b"\r", line_of(with_id(usual, "d-2")) + b"\r", b"")
    assert is_plain(workspace) == (usual is not USUAL)
    assert [row[1:3] for row in landed(workspace)["debates"]] == [("d-2", 1), ("d-usual", 0)]


@BOTH
def test_files_of_a_folder_land_in_order_of_their_names(workspace: Workspace, tmp_path: Path, usual: Any):
    folder = tmp_path / "source"
    folder.mkdir()
    for number in range(12):
        # As patterns, some of these names would match others.
        name = f"{11 - number:02d}{'*' if number < 6 else '[1]?'}.jsonl"
        write(folder / name, with_id(usual, f"d{number}"), with_id(usual, f"e{number}"))
    add_import(workspace, "t", "debatebench", folder)
    expected = [name for number in range(11, -1, -1) for name in (f"d{number}", f"e{number}")]
    found = landed(workspace)
    assert is_plain(workspace) == (usual is not USUAL)
    assert [row[1] for row in sorted(found["debates"], key=lambda row: row[2])] == expected
    assert found == landed_slowly(workspace)


def other_winner(record: Any) -> Any:
    record = deepcopy(record)
    record["aggregate"]["winner"] = "con"
    return record


FIRST, SECOND, THIRD = (with_id(USUAL, f"d-{name}") for name in ("first", "second", "third"))
NEW_TOPIC = with_id(
    changed("transcript", "topic", to={"id": "t0", "motion": "This house would dig.", "category": "gardens"}), "d-topic"
)
# The words that a run's records do not agree on are not the run's.
NEW_WORDS = with_id(changed("transcript", "benchmark_version", to="v9"), "d-words")

HISTORIES = {
    "repeated in one file": [[FIRST, SECOND, FIRST, THIRD, SECOND]],
    "grown": [[FIRST, SECOND], [FIRST, SECOND, THIRD], [FIRST, SECOND, THIRD, NEW_TOPIC]],
    "other facts": [[FIRST, NEW_TOPIC], [NEW_WORDS, without_optional(with_id(USUAL, "d-bare"))], [SECOND]],
    "replaced": [[FIRST, SECOND], [THIRD, other_winner(FIRST)]],
    "replaced and back": [[FIRST, SECOND], [other_winner(FIRST)], [THIRD], [FIRST, other_winner(SECOND)], [NEW_TOPIC]],
}


@pytest.mark.slow_inputs
@pytest.mark.parametrize("are_plain", [False, True])
@pytest.mark.parametrize("name", HISTORIES)
def test_parts_land_one_by_one_as_all_at_once(workspace: Workspace, name: str, are_plain: bool):
    folder = workspace.imports / "t"
    landed_sha256 = None
    with duckdb.connect() as con:
        create_raw_tables(con)
        for part in HISTORIES[name]:
            keep(workspace, *(without_details(part) if are_plain else part), replace=True)
            counts = land_import(con, folder, landed_sha256)
            landed_sha256 = hashlib.sha256((folder / "manifest.json").read_bytes()).hexdigest()
            one_by_one = rows(con)
            assert one_by_one == landed(workspace) == landed_slowly(workspace)
            assert counts == {table: len(found) for table, found in one_by_one.items() if found}


def sha256_of(manifest: ImportManifest) -> str:
    return hashlib.sha256(manifest.content().encode()).hexdigest()


@BOTH
def test_a_new_part_is_added_without_reading_the_old_ones(workspace: Workspace, usual: Any):
    keep(workspace, with_id(usual, "d-first"))
    folder = workspace.imports / "t"
    with duckdb.connect() as con:
        create_raw_tables(con)
        land_import(con, folder)
        landed_sha256 = sha256_of(kept_manifest(folder))
        keep(workspace, with_id(usual, "d-second"))
        all_at_once = landed(workspace)
        shutil.rmtree(folder / "0001")
        land_import(con, folder, landed_sha256)
        assert rows(con) == all_at_once


def test_a_kept_file_that_was_changed_is_noticed_and_nothing_changes(workspace: Workspace):
    keep(workspace, FIRST)
    kept = workspace.imports / "t" / "0001" / "a.jsonl"
    with duckdb.connect() as con:
        create_raw_tables(con)
        land_import(con, workspace.imports / "t")
        before = rows(con)
        kept.write_bytes(kept.read_bytes().replace(b"Shade", b"Shape"))
        with pytest.raises(DamagedDataError, match=r"a.jsonl has changed since it was imported"):
            land_import(con, workspace.imports / "t")
        assert rows(con) == before


def test_what_duckdb_cannot_read_after_all_is_read_in_python(workspace: Workspace):
    keep(workspace, without_details(FIRST))
    expected = landed(workspace)
    broken = PlainRows(2, {"turns": "select 'x'::integer as turn_index from (select $run_tag, $paths)"})
    with mock.patch.object(kept, "importer_of", return_value=replace(importer_of("debatebench"), plain=broken)):
        assert is_plain(workspace)
        assert landed(workspace) == expected


def test_a_line_that_duckdb_would_leave_out_is_noticed(workspace: Workspace):
    keep(workspace, without_details(FIRST), without_details(SECOND))
    plain = importer_of("debatebench").plain
    assert plain is not None
    short = PlainRows(plain.rules, plain.queries | {"turns": f"{plain.queries['turns']} limit 1"})
    with (
        mock.patch.object(kept, "importer_of", return_value=replace(importer_of("debatebench"), plain=short)),
        pytest.raises(DamagedDataError, match=r"raw\.turns: \d+ records were read for run 't', but 1 arrived"),
    ):
        landed(workspace)


def test_landing_a_tag_leaves_the_others(workspace: Workspace, tmp_path: Path):
    path = write(tmp_path / "a.jsonl", FIRST, SECOND)
    for tag in ("t", "other"):
        add_import(workspace, tag, "debatebench", path)
    with duckdb.connect() as con:
        create_raw_tables(con)
        for tag in ("t", "other", "t"):
            land_import(con, workspace.imports / tag)
        found = rows(con)
    assert found["turns"] == landed(workspace, "other")["turns"] + landed(workspace)["turns"]
    assert found["topics"] == landed(workspace, "other")["topics"] + landed(workspace)["topics"]
