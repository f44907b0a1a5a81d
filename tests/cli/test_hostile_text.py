"""Hostile names, versions and speeches, printed: no terminal runs them, and none passes for a line of ours."""

from __future__ import annotations

import csv
import io
import json
import shutil
from pathlib import Path

import duckdb
import pytest
from command_line import Done, debatebench, debatebench_here
from imported import ORIGINAL

from debatebench.shared.records import TABLES
from debatebench.shared.visible_text import is_hidden

pytestmark = pytest.mark.slow

# A colour, a bell, a window title, a link, a bidi override, a zero-width space, a tag, and a line like ours.
HOSTILE = (
    "\x1b[31m\x9b5m\r\x07\x1b]0;t\x07\x1b]8;;http://e.vil\x1b\\\u202e\u200b\U000e0041\nError: forged ![x](http://e.vil)"
)
SHOWN = "␛[31m�5m␍␇␛]0;t␇␛]8;;http://e.vil␛\\���␊Error: forged ![x](http://e.vil)"
# A name of a debater, topic or judge that is imported loses what has no shape.
NAME = "[31m5m ]0;t]8;;http://e.vil\\ Error: forged ![x](http://e.vil)"
VERSION = f"v1{HOSTILE}"


def hostile_debates(version: str) -> str:
    """Debates of three debaters on three topics, all with hostile names and speeches."""
    record = json.loads(ORIGINAL.read_text().splitlines()[0])
    lines = []
    for number, (pro, con) in enumerate([("a", "b"), ("b", "c"), ("c", "a")]):
        debate = json.loads(json.dumps(record))
        transcript = debate["transcript"]
        transcript |= {"debate_id": f"d-{number}", "benchmark_version": version, "seed": 1}
        transcript |= {"pro_model_id": f"{pro}{HOSTILE}", "con_model_id": f"{con}{HOSTILE}"}
        transcript["topic"] = {"id": f"t{number}{HOSTILE}", "motion": f"M{HOSTILE}", "category": HOSTILE}
        transcript["turns"][0]["content"] = f"Said.{HOSTILE}\n── verdicts"
        debate["judges"][0]["judge_id"] = f"j{HOSTILE}"
        lines.append(json.dumps(debate))
    return "\n".join(lines) + "\n"


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("workspace")
    for tag, version in (("one", VERSION), ("two", VERSION), ("other", "v2")):
        (root / "debates.jsonl").write_text(hostile_debates(version))
        options = ("--run-tag", tag, *(() if tag == "other" else ("--no-build",)))
        done = debatebench(root, "import", "debatebench", str(root / "debates.jsonl"), *options)
        assert done.code == 0, done.err
    return root


def assert_harmless(done: Done) -> None:
    """Only line feeds are hidden characters, and no line is forged."""
    for text in (done.out, done.err):
        assert {character for character in text if is_hidden(character)} <= {"\n"}
        assert not any(line.startswith("Error: forged") for line in text.split("\n"))


COMMANDS = {
    "compare": ["compare", "one", "two", "--all"],
    "compare of versions": ["compare", f"version:{VERSION}", "version:v2"],
    "gate": ["gate", "one", "two", "--max-drop", "0"],
    "gate of versions": ["gate", VERSION, "other"],
    "show-leaderboard": ["show-leaderboard"],
    "inspect-debate": ["inspect-debate", "d-0", "--run-tag", "one"],
    "query": ["query", "select * from marts.debates"],
    "diff-models": ["diff-models", "panel_winners", "--from", "1", "--to", "2"],
}


@pytest.mark.slow_inputs
@pytest.mark.parametrize("output", ["table", "json", "markdown"])
@pytest.mark.parametrize("command", COMMANDS)
def test_a_result_runs_nothing_in_a_terminal(root: Path, command: str, output: str):
    done = debatebench_here(root, *COMMANDS[command], "--format", output)
    assert done.code in (0, 6)
    assert_harmless(done)


ERRORS = {
    "compare": ["compare", "one", f"nope{HOSTILE}"],
    "gate": ["gate", "one", "two", "--debater", f"nope{HOSTILE}"],
    "inspect-debate": ["inspect-debate", HOSTILE],
    "show-leaderboard": ["show-leaderboard", "--run-tag", HOSTILE],
    "query": ["query", "select cast(motion as integer) from marts.debates"],
    "query from a file": ["query", "--file", f"/nope{HOSTILE}"],
    "import": ["import", "debatebench", f"/nope{HOSTILE}", "--run-tag", "x"],
    "land": ["land", "--run-tag", HOSTILE],
    "build": ["build", "--select", HOSTILE],
    "lineage": ["lineage", HOSTILE],
    "report": ["report", "--run-tag", HOSTILE],
}


@pytest.mark.parametrize("command", ERRORS)
def test_an_error_is_one_line_whatever_it_quotes(root: Path, command: str):
    done = debatebench_here(root, *ERRORS[command])
    assert done.code != 0
    assert_harmless(done)
    assert "␛[31m" in done.error_line


def test_the_versions_in_an_error_are_readable(root: Path):
    assert f"Benchmark versions: v1{SHOWN}, v2." in debatebench_here(root, "compare", "one", "nope").error_line


def test_the_bad_records_of_an_import_are_lines_of_their_own(root: Path, tmp_path: Path):
    (tmp_path / "bad.jsonl").write_text('{"\\u001b[31m\\nError: forged": 1}\n{}\n')
    done = debatebench_here(root, "import", "debatebench", str(tmp_path / "bad.jsonl"), "--run-tag", "bad")
    assert done.code == 3
    assert_harmless(done)
    heading, *details = done.err.splitlines()
    assert heading.startswith("Error: bad.jsonl contains 2 bad records")
    assert [detail[:14] for detail in details] == ["  bad.jsonl:1:", "  bad.jsonl:2:"]


def test_a_speech_cannot_pass_for_the_verdicts(root: Path):
    done = debatebench_here(root, "inspect-debate", "d-0", "--run-tag", "one")
    assert done.out.count("\n── verdicts\n") == 1
    assert "\n  ── verdicts\n" in done.out


@pytest.mark.parametrize("command", [["query", "select motion from marts.debates"], COMMANDS["inspect-debate"]])
def test_a_person_sees_that_something_is_hidden(root: Path, command: list[str]):
    assert "␛[31m" in debatebench_here(root, *command, "--format", "table").out


def test_imported_names_hold_nothing_hidden(root: Path):
    names = "select distinct pro_model_id from marts.debates union select distinct topic_id from marts.debates"
    names += " union select distinct judge_id from marts.judge_verdicts order by all"
    done = debatebench(root, "query", names, "--format", "csv")
    ids = ["a", "b", "c", "j", "t0", "t1", "t2"]
    assert done.out.splitlines()[1:] == [*(f"{id_}{NAME}" for id_ in ids), "yew"]
    refused = debatebench_here(root, "gate", "one", "two", "--debater", "nope")
    assert refused.error_line.endswith(f"Known: a{NAME}, b{NAME}, c{NAME}.")


def test_csv_for_a_program_is_exact(root: Path):
    for command in (["query", "select motion from marts.debates"], ["inspect-debate", "d-0", "--run-tag", "one"]):
        done = debatebench(root, *command, "--format", "csv")
        assert HOSTILE.replace("\r", "\n") in done.out, "the pipe of the test reads every line end as a line feed"
        assert list(csv.reader(io.StringIO(done.out)))


def test_a_run_tag_of_a_strangers_warehouse_is_no_path(root: Path, tmp_path: Path):
    database = tmp_path / "warehouse" / "debatebench.duckdb"
    database.parent.mkdir()
    shutil.copy(root / "warehouse" / "debatebench.duckdb", database)
    with duckdb.connect(str(database)) as con:
        con.execute("update meta.landings set run_tag = '../../stolen' where run_tag = 'other'")
        for name in TABLES:
            con.execute(f"update raw.{name} set run_tag = '../../stolen' where run_tag = 'other'")
    for command in ("summarize", "rate"):
        assert "cannot be a run tag" in debatebench(tmp_path, command).error_line
    assert [path.name for path in tmp_path.iterdir()] == ["warehouse"]


def test_a_bug_has_a_traceback_that_runs_nothing(root: Path, monkeypatch: pytest.MonkeyPatch):
    def broken(*_: object) -> None:
        raise AssertionError(HOSTILE)

    monkeypatch.setattr("debatebench.query.comparison.find_subject", broken)
    done = debatebench_here(root, "compare", "one", "two")
    assert done.code == 1
    assert "Traceback" in done.err
    assert {character for character in done.err if is_hidden(character)} == {"\n"}
