"""From a journal to records: what older versions wrote still lands, and what died with its process is listed."""

from __future__ import annotations

import json
import shutil
from collections import Counter
from datetime import datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from command_line import debatebench
from paths import DATA

from debatebench.journal.reading import read_journal
from debatebench.journal.writing import Journal
from debatebench.landing.journal_records import journal_records, journal_rows
from debatebench.plan.frozen_plan import read_begun_plan
from debatebench.play.before_run import RunSettings
from debatebench.play.resume import Resume
from debatebench.play.runner import play_run
from debatebench.shared.errors import DamagedDataError
from debatebench.shared.records import Call, Record, Row

pytestmark = pytest.mark.slow

JOURNALS = DATA / "journals"


def counts(records: list[Record]) -> dict[str, int]:
    return dict(Counter(record.table for record in records))


@pytest.fixture
def journal(tmp_path: Path) -> Path:
    """The journal of a small run over HTTP: 6 debates, one judge who had to be asked again each time."""
    return Path(shutil.copyfile(JOURNALS / "format-1.jsonl", tmp_path / "format-1.jsonl"))


def rewrite(path: Path, events: list[dict[str, object]]) -> None:
    path.unlink()
    with Journal.open(path) as written:
        for event in events:
            written.append(event)


def events_of(path: Path) -> list[dict[str, Any]]:
    return [event.data for event in read_journal(path)]


def test_a_run_of_the_first_format_is_played_again_from_its_journal_without_a_request(journal: Path):
    events = events_of(journal)
    rewrite(journal, [event for event in events if event.get("of") != "debate"])
    plan = read_begun_plan(journal)
    assert plan is not None
    keys = {member.api_key_env: "canary" for member in (*plan.debaters, *plan.judges) if member.api_key_env}
    # Its members have a name of a key that today needs permission.
    keys["DEBATEBENCH_KEY_VARIABLES"] = "TINY_KEY"
    report = play_run(plan, journal, RunSettings(), environ=keys, now=lambda: datetime(2026, 1, 1))
    assert (report.planned, report.complete) == (6, 6)
    again = events_of(journal)
    assert Counter(event["type"] for event in again) == Counter(event["type"] for event in events) + Counter(["format"])


def test_a_journal_of_the_first_format_still_lands(tmp_path: Path, journal: Path):
    folder = tmp_path / "workspace" / "warehouse" / "journal"
    folder.mkdir(parents=True)
    shutil.copy(journal, folder)
    done = debatebench(tmp_path / "workspace", "land")
    assert done.code == 0, done.err
    query = (
        "select (select count(*) from raw.turns) as turns, (select count(*) from raw.verdicts) as verdicts, "
        "(select sum(asks) from raw.verdicts) as asks, (select sum(cost) from raw.calls) as cost, "
        "(select string_agg(winner, ' ' order by schedule_position) from marts.debates) as winners"
    )
    shown = debatebench(tmp_path / "workspace", "query", query, "--format", "csv").out
    assert shown.splitlines()[1] == "12,12,15,0.033710000000000000,tie tie tie pro pro pro"


def test_attempts_that_a_retry_of_an_earlier_version_gave_one_number_all_land(journal: Path):
    events = events_of(journal)
    asked = next(event for event in events if event["type"] == "intent" and event["purpose"] == "verdict")
    ended = next(
        event for event in events if event.get("of") == "call" and calls_in(event)[0]["call_id"] == asked["call_id"]
    )
    row = calls_in(ended)[0] | {"status": "failed", "error": "503"}
    numbers = [
        call["attempt"]
        for event in events
        if event.get("of") == "call"
        for call in calls_in(event)
        if call["call_id"] == asked["call_id"]
    ]
    after = max(numbers)
    with Journal.open(journal) as written:
        for number in (after + 1, after + 1, after + 2):
            written.append({"type": "again", "debate_id": asked["debate_id"]})
            written.append(asked | {"attempt": number})
            written.append(ended | {"records": {"calls": [row | {"attempt": number}]}})
        written.append(asked | {"attempt": after + 3})
    found = [each for each in journal_records(journal) if isinstance(each, Call) and each.call_id == asked["call_id"]]
    assert [each.attempt for each in found] == [*numbers, after + 1, after + 2, after + 3, after + 4]
    assert [each.status for each in found[-4:]] == ["failed", "failed", "failed", "ambiguous"]


def calls_in(event: dict[str, Any]) -> list[dict[str, Any]]:
    return list(event["records"]["calls"])


def test_every_record_of_a_finished_run_is_there_once(journal: Path):
    assert counts(list(journal_records(journal))) == {
        "runs": 1,
        "topics": 1,
        "debaters": 3,
        "judges": 4,
        "dimensions": 2,
        "schedule": 6,
        "debates": 6,
        "participants": 12,
        "turns": 12,
        "verdicts": 12,
        "calls": 27,
    }


def landed(row: Row) -> dict[str, object]:
    """The columns of a row; money as a number, because older journals write fewer decimals."""
    columns = json.loads(row.json)
    money = {"cost", "possible_cost"} & columns.keys()
    return columns | {name: columns[name] and Decimal(columns[name]) for name in money}


def test_the_rows_of_a_journal_are_those_of_its_records_and_need_no_record(
    journal: Path, monkeypatch: pytest.MonkeyPatch
):
    rewrite(journal, events_of(journal)[:-9])
    expected = [record.row() for record in journal_records(journal)]
    assert {row.table for row in expected} >= {"runs", "turns", "verdicts", "calls"}
    monkeypatch.setattr(Record, "model_validate", None)
    rows = list(journal_rows(journal))
    assert [row[:2] for row in rows] == [row[:2] for row in expected]
    assert [landed(row) for row in rows] == [landed(row) for row in expected]


def test_a_debate_that_ended_twice_counts_as_it_ended_last(journal: Path):
    events = events_of(journal)
    outcome = next(event for event in events if event.get("of") == "debate")
    given_up = {**outcome["records"]["debates"][0], "status": "incomplete"}  # type: ignore[index]
    first = {**outcome, "records": {"debates": [given_up]}}
    rewrite(journal, [events[0], first, *events[1:]])
    records = list(journal_records(journal))
    assert counts(records)["debates"] == 6
    assert {record.status for record in records if record.table == "debates"} == {"complete"}  # type: ignore[attr-defined]


def test_an_attempt_that_died_with_its_process_is_ambiguous_until_its_reply_is_read(journal: Path):
    events = events_of(journal)
    place = next(n for n, event in enumerate(events) if event["type"] == "response")
    call_id = events[place]["call_id"]
    without_outcome = [
        event
        for event in events
        if not (event.get("of") == "call" and event["records"]["calls"][0]["call_id"] == call_id)  # type: ignore[index]
    ]
    for kept, status in ((without_outcome, "answered"), ([e for e in without_outcome if e is not events[place]], None)):
        rewrite(journal, kept)
        (call,) = [r for r in journal_records(journal) if isinstance(r, Call) and r.call_id == call_id]
        assert call.status == (status or "ambiguous")
        assert call.cost is None
        assert call.error


def test_a_journal_without_a_header_is_no_journal_of_a_run(journal: Path):
    rewrite(journal, events_of(journal)[1:])
    with pytest.raises(DamagedDataError, match="does not begin with a header"):
        list(journal_records(journal))
    journal.write_bytes(b"")
    with pytest.raises(DamagedDataError, match="does not begin with a header"):
        list(journal_records(journal))


def test_a_record_that_nobody_understands_is_named_by_its_place(journal: Path):
    events = events_of(journal)
    outcome = next(event for event in events if event.get("of") == "debate")
    outcome["records"]["debates"][0]["status"] = "undecided"  # type: ignore[index]
    rewrite(journal, events)
    for read in (journal_records, journal_rows):
        with pytest.raises(DamagedDataError, match=r"event \d+ at byte \d+ contains a record of 'debates'"):
            list(read(journal))


def test_memory_holds_no_call_of_a_debate_that_is_complete(journal: Path):
    resume = Resume()
    calls: list[str] = []
    for event in read_journal(journal):
        resume.see(event)
        if event.data["type"] == "intent":
            calls.append(event.data["call_id"])
            assert resume.attempts(calls[-1])
    assert len(resume.complete_debates) == 6
    assert not any(map(resume.attempts, calls))
    assert resume.cut_short == 0


def test_a_run_that_was_killed_before_it_began_hinders_nobody(tmp_path: Path, journal: Path):
    folder = tmp_path / "warehouse" / "journal"
    folder.mkdir(parents=True)
    shutil.copy(journal, folder)
    (folder / "empty.jsonl").touch()
    (folder / "torn.jsonl").write_bytes(journal.read_bytes()[:1000])
    (folder / "folder.jsonl").mkdir()
    for command in (["land"], ["build", "--from-journals"]):
        done = debatebench(tmp_path, *command)
        assert done.code == 0, done.err
        assert "format-1" in done.err
        assert "torn" not in done.err
    assert "No run 'torn'" in debatebench(tmp_path, "land", "--run-tag", "torn").error_line


def test_a_copy_under_another_name_is_told_apart_from_a_run(tmp_path: Path, journal: Path):
    folder = tmp_path / "warehouse" / "journal"
    folder.mkdir(parents=True)
    shutil.copy(journal, folder / "format-1 (copy).jsonl")
    done = debatebench(tmp_path, "land")
    assert done.code == 3
    assert "format-1 (copy).jsonl contains run 'format-1'; rename it to format-1.jsonl, or move it" in done.error_line
