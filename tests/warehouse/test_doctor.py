"""`debatebench doctor` names what is wrong, and saves what is sound of a damaged journal; stored answers read anew."""

from __future__ import annotations

import json
import re
import shlex
import shutil
import signal
from pathlib import Path

import pytest
from command_line import debatebench
from fake_provider import Behaviour, FakeProvider, Received, answer, cut, delayed, status
from imported import ORIGINAL, add_import
from started_run import start, wait_until_asked
from tournament import good_answers, is_judge, play, verdict_text, write_workspace

from debatebench.config.answer_form import AnswerForm
from debatebench.journal.reading import all_lines, read_journal
from debatebench.play.reparsing import reparse_run
from debatebench.shared.workspace import Workspace
from debatebench.warehouse.doctor import Finding, examine, grouped
from debatebench.warehouse.salvage import salvage

pytestmark = pytest.mark.slow


def journal_of(root: Path) -> Path:
    return root / "warehouse" / "journal" / "tiny.jsonl"


def findings(root: Path) -> dict[str, int]:
    """How many findings of each kind there are."""
    counts: dict[str, int] = {}
    for finding in examine(Workspace(root)):
        counts[finding.finding] = counts.get(finding.finding, 0) + 1
    return counts


def last_outcomes(path: Path) -> dict[str, object]:
    """Debate → the rows that it ended with, apart from times."""
    timed = ("created_at", "duration_ms", "latency_ms", "panel_latency_ms")
    found = {}
    for event in read_journal(path):
        if event.data.get("of") == "debate":
            found[event.data["debate_id"]] = {
                table: [{name: value for name, value in row.items() if name not in timed} for row in rows]
                for table, rows in event.data["records"].items()
            }
    return found


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A finished run that was landed. Tests only read it."""
    with FakeProvider(good_answers) as server:
        root = write_workspace(tmp_path_factory.mktemp("whole"), server, is_built=False)
        assert play(root, "--no-build").code == 0
    return root


@pytest.fixture
def copied(whole: Path, tmp_path: Path) -> Path:
    """A copy, to be damaged."""
    return Path(shutil.copytree(whole, tmp_path / "copied"))


def damage(path: Path, number: int) -> bytes:
    """Change one byte in the JSON of a line, and return the damaged content."""
    lines = path.read_bytes().splitlines(keepends=True)
    line = bytearray(lines[number - 1])
    line[-3] ^= 1
    lines[number - 1] = bytes(line)
    content = b"".join(lines)
    path.write_bytes(content)
    return content


def test_a_sound_workspace_has_nothing_to_tell(whole: Path):
    done = debatebench(whole, "doctor")
    assert (done.code, done.out, done.err.strip()) == (0, "", "No problems were found.")


def test_a_workspace_without_any_run_is_called_empty_and_not_sound(tmp_path: Path):
    done = debatebench(tmp_path, "doctor", "--format", "json")
    assert (done.code, done.out) == (0, "[]\n")
    assert done.err.startswith("There is no run in this workspace yet: `debatebench run` plays one")
    assert debatebench(tmp_path, "build").code == 0
    done = debatebench(tmp_path, "doctor")
    assert (done.code, done.out) == (0, "")
    assert done.err.startswith("There is no run in this workspace yet")


def test_a_damaged_line_is_named_and_the_exit_code_says_so(copied: Path):
    damage(journal_of(copied), 40)
    offset = sum(len(line) for line in journal_of(copied).read_bytes().splitlines(keepends=True)[:39])
    done = debatebench(copied, "doctor", "--format", "json")
    assert done.code == 3
    (found,) = (row for row in json.loads(done.out) if row["is_damage"])
    assert (found["finding"], found["run_tag"]) == ("damaged_line", "tiny")
    assert found["place"] == f"{journal_of(copied)}, line 40, byte {offset}"


def test_a_torn_last_line_is_told_and_is_no_damage(copied: Path):
    path = journal_of(copied)
    path.write_bytes(path.read_bytes()[:-5])
    (copied / "warehouse" / "debatebench.duckdb").unlink()
    assert findings(copied) == {"torn_line": 1, "not_landed": 1, "missing_debate": 1}
    assert debatebench(copied, "doctor").code == 0


def test_a_process_that_died_leaves_ambiguous_calls_and_missing_debates(tmp_path: Path):
    with FakeProvider(lambda received: delayed(0.2, good_answers(received))) as server:
        root = write_workspace(tmp_path, server, is_built=False)
        process = start(root, "--concurrency", "3", "--no-build")
        assert wait_until_asked(server, process, 3)
        process.send_signal(signal.SIGKILL)
        process.communicate()
    found = findings(root)
    assert found["ambiguous_call"] == 3
    assert found["missing_debate"] == 12
    assert found["not_landed"] == 1


def killed_in(folder: Path, *requests: int) -> Path:
    """A run that was killed whenever the server had received so many requests, and then played to its end."""
    with FakeProvider(good_answers) as server:
        root = write_workspace(folder, server, is_built=False)
        for count in requests:
            server.hold(count - 1)
            process = start(root, "--concurrency", "3", "--no-build")
            assert wait_until_asked(server, process, count)
            process.send_signal(signal.SIGKILL)
            process.communicate()
            server.release()
        assert play(root, "--no-build").code == 0
    return root


def test_calls_that_were_answered_after_kills_are_billed_twice_at_most_and_never_failed(tmp_path: Path):
    (group,) = grouped(examine(Workspace(killed_in(tmp_path, 3, 9, 20))))
    assert group[0].finding == "ambiguous_call"
    assert group[0].detail == (
        "It may have been billed twice: the process ended before an answer was kept, and another attempt was answered; "
        "what it may have cost is unknown."
    )
    assert 3 <= len(group) <= 9


def test_what_a_session_that_plays_now_has_in_flight_is_no_finding(tmp_path: Path):
    with FakeProvider(lambda received: delayed(0.3, good_answers(received))) as server:
        root = write_workspace(tmp_path, server, is_built=False)
        process = start(root, "--concurrency", "3", "--no-build")
        assert wait_until_asked(server, process, 3)
        assert findings(root) == {"not_landed": 1}
        process.send_signal(signal.SIGKILL)
        process.communicate()


def test_calls_of_complete_debates_are_not_to_be_retried(tmp_path: Path):
    def script(received: Received) -> Behaviour:
        return status(404, "No such judge.") if received.json["model"] == "judge-0" else good_answers(received)

    with FakeProvider(script) as server:
        root = write_workspace(tmp_path, server, is_built=False)
        assert play(root, "--no-build", "--max-failures-in-a-row", "0").code == 0
    (group,) = grouped(examine(Workspace(root)))
    assert group[0].detail == (
        "Judge 'judge-0' gave no answer (failed): http answered 404 (No such judge.); another call took its place, and "
        "the debate is complete."
    )


def test_speeches_cut_at_the_token_limit_are_counted_by_debater_and_are_no_damage(tmp_path: Path):
    def script(received: Received) -> Behaviour:
        cuts = received.json["model"] == "debater-1"
        return answer("We argue that", choice={"finish_reason": "length"}) if cuts else good_answers(received)

    with FakeProvider(script) as server:
        root = write_workspace(tmp_path, server, is_built=False)
        assert play(root, "--no-build").code == 0
    (group,) = grouped(examine(Workspace(root)))
    assert (group[0].finding, len(group), group[0].is_damage) == ("cut_speech", 8, False)
    assert group[0].detail == (
        "8 of 8 speeches of debater 'debater-1' were cut off at the token limit; raise its `token_limit` and the "
        "rounds' `max_tokens`, or add `thinking_tokens`."
    )


def test_findings_with_one_reason_are_one_row_and_all_lists_each_place(tmp_path: Path):
    def script(received: Received) -> Behaviour:
        if received.json["model"] == "debater-0":
            return status(404, f"No such model (request req_{received.number:08}).")
        return good_answers(received)

    with FakeProvider(script) as server:
        root = write_workspace(tmp_path, server, is_built=False)
        assert play(root, "--no-build", "--max-failures-in-a-row", "0").code == 5
    rows = json.loads(debatebench(root, "doctor", "--format", "json").out)
    assert [(row["finding"], row["count"]) for row in rows] == [("failed_call", 8), ("missing_debate", 8)]
    each = json.loads(debatebench(root, "doctor", "--all", "--format", "json").out)
    assert [row["count"] for row in each] == [1] * 16
    assert len({row["place"] for row in each}) == 16
    narrow = debatebench(root, "doctor", environ={"COLUMNS": "80"})
    assert max(map(len, narrow.out.splitlines())) <= 80
    assert narrow.out.count("  at ") == 2
    assert "  and 7 more; --all lists them" in narrow.out
    assert narrow.err.strip() == "8 failed_call, 8 missing_debate"
    assert debatebench(root, "doctor", "--all").out.count("  at ") == 16


def test_reasons_that_differ_in_more_than_ids_numbers_and_times_stay_apart():
    def groups(*details: str) -> int:
        return len(grouped(Finding("t", "missing_debate", False, "", detail) for detail in details))

    assert groups("Limit 30000, used 29500; try again in 7.2s.", "Limit 30000, used 12345; try again in 1m12s.") == 1
    assert groups("Broken (received 60 of 338 bytes).", "Broken (received 71 of 412 bytes).") == 1
    assert groups("Id 550e8400-e29b-41d4-a716-446655440000.", "Id 123e4567-e89b-42d3-a456-426614174000.") == 1
    assert groups("It answered 404.", "It answered 500.") == 2
    assert groups("Debater 'gpt-20240229' is banned.", "Debater 'gpt-20250514' is banned.") == 2
    assert groups("No speech in turn 1.", "No speech in turn 2.") == 2


def test_a_damaged_journal_keeps_no_other_run_from_being_examined(copied: Path):
    damage(journal_of(copied), 40)
    journal_of(copied).with_name("other.jsonl").write_bytes(b"\x00\xff\n")
    journal_of(copied).with_name("copy.jsonl").write_bytes(journal_of(copied).read_bytes().splitlines(keepends=True)[0])
    found = {(finding.run_tag, finding.finding) for finding in examine(Workspace(copied))}
    assert found == {("copy", "damaged_journal"), ("other", "damaged_line"), ("tiny", "damaged_line")}


def test_a_journal_that_cannot_be_read_is_a_finding_and_stops_nothing(copied: Path, monkeypatch: pytest.MonkeyPatch):
    from debatebench.warehouse import journal_findings

    broken = journal_of(copied).with_name("broken.jsonl")
    broken.write_bytes(b"x\n")
    lines = journal_findings.all_lines

    def failing(path: Path):
        if path == broken:
            raise OSError(5, "Input/output error", str(path))
        return lines(path)

    monkeypatch.setattr(journal_findings, "all_lines", failing)
    (found,) = examine(Workspace(copied))
    assert (found.run_tag, found.finding, found.place, found.is_damage) == (
        "broken",
        "unreadable_source",
        str(broken),
        True,
    )


def test_failed_and_ambiguous_calls_are_listed_with_their_reasons(tmp_path: Path):
    def script(received: Received) -> Behaviour:
        if received.json["model"] == "debater-0":
            return status(404, "No such model.")
        return cut() if received.number == 1 else good_answers(received)

    with FakeProvider(script) as server:
        root = write_workspace(tmp_path, server, is_built=False)
        assert play(root, "--no-build", "--concurrency", "1", "--max-failures-in-a-row", "0").code == 5
    found = examine(Workspace(root), ["tiny"])
    failed = [row for row in found if row.finding == "failed_call"]
    assert len(failed) == 8
    assert all("No such model." in row.detail for row in failed)
    assert [row.is_damage for row in found] == [False] * len(found)
    assert sum(row.finding == "missing_debate" for row in found) == 8


def test_answers_that_broke_off_with_their_usage_have_a_known_cost(tmp_path: Path):
    def script(received: Received) -> Behaviour:
        broken = answer("Half a", choice={"finish_reason": "insufficient_system_resource"}, usage={"cost": 0.001})
        return broken if received.number < 2 else good_answers(received)

    with FakeProvider(script) as server:
        root = write_workspace(tmp_path, server, is_built=False)
        assert play(root, "--no-build", "--concurrency", "1").code == 0
    found = [row.detail for row in examine(Workspace(root), ["tiny"]) if row.finding == "ambiguous_call"]
    assert len(found) == 2
    assert all("the answer broke off (insufficient_system_resource)" in detail for detail in found)
    assert all(detail.endswith("another attempt was answered; at most 0.0020 USD for all.") for detail in found)


def test_what_is_landed_without_a_source_or_kept_without_a_landing_is_told(copied: Path):
    journal_of(copied).rename(copied / "elsewhere.jsonl")
    assert findings(copied) == {"lost_source": 1}
    assert debatebench(copied, "doctor").code == 3
    (copied / "elsewhere.jsonl").rename(journal_of(copied))
    (copied / "warehouse" / "debatebench.duckdb").unlink()
    assert findings(copied) == {"not_landed": 1}


def test_a_newer_import_is_not_damaged(tmp_path: Path):
    workspace = Workspace(tmp_path)
    manifest = add_import(workspace, "old", "debatebench", ORIGINAL).part.parent / "manifest.json"
    text = manifest.read_text(encoding="utf-8")
    manifest.write_text(text.replace('"manifest_version": 1', '"manifest_version": 9'), encoding="utf-8")
    found = [finding for finding in examine(workspace) if finding.finding == "newer_import"]
    assert [(finding.run_tag, finding.is_damage) for finding in found] == [("old", False)]
    assert "was written by a newer version of debatebench" in found[0].detail
    assert not [finding for finding in examine(workspace) if finding.is_damage]


def test_a_kept_import_that_was_changed_is_damage(tmp_path: Path):
    workspace = Workspace(tmp_path)
    part = add_import(workspace, "old", "debatebench", ORIGINAL).part
    assert [finding.finding for finding in examine(workspace)] == ["not_landed"]
    with (part / "debates.jsonl").open("ab") as file:
        file.write(b"\n")
    (found,) = (finding for finding in examine(workspace) if finding.is_damage)
    assert (found.run_tag, found.finding) == ("old", "changed_import")
    assert "debates.jsonl has changed since it was imported" in found.detail


def test_an_unknown_tag_is_a_usage_error(whole: Path):
    done = debatebench(whole, "doctor", "--run-tag", "other")
    assert done.code == 2
    assert "Known: tiny" in done.error_line


# --- salvage ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("number", [2, 40, 41, 60, 120])
def test_salvage_keeps_the_answers_on_both_sides_of_the_damage(copied: Path, whole: Path, number: int):
    path = journal_of(copied)
    content = damage(path, number)
    saved = salvage(path)
    assert saved is not None
    assert path.read_bytes() == content, "the original is only read"
    lost = {e.data["call_id"] for e in read_journal(journal_of(whole)) if e.data["type"] == "response"} - {
        e.data["call_id"] for e in read_journal(saved.target) if e.data["type"] == "response"
    }
    assert len(lost) <= 1, "no answer is lost but the one that was damaged"
    assert saved.events + saved.lost == len(list(all_lines(path)))


def test_a_salvaged_run_goes_on_and_ends_as_it_would_have(copied: Path, whole: Path):
    path = journal_of(copied)
    responses = [n for n, e in enumerate(read_journal(path), 1) if e.data["type"] == "response"]
    damage(path, responses[20])
    done = debatebench(copied, "doctor", "--salvage")
    assert done.code == 3
    assert f"mv {path} {path}.damaged && mv {path}.salvaged {path}" in done.err
    path.rename(path.with_name("tiny.jsonl.damaged"))
    path.with_name("tiny.jsonl.salvaged").rename(path)
    assert "debatebench land --run-tag tiny --replace" in done.err
    assert debatebench(copied, "land", "--run-tag", "tiny", "--replace", "--no-build").code == 0
    port = int(re.findall(r"127\.0\.0\.1:(\d+)", (copied / "configs" / "models.yaml").read_text())[0])
    with FakeProvider(good_answers, port) as server:
        done = play(copied, "--no-build")
        assert done.code == 0, done.err
        assert len(server.requests) == 1, "only the answer that was damaged is bought again"
    assert last_outcomes(path) == last_outcomes(journal_of(whole))


def test_without_its_header_a_journal_cannot_be_saved(copied: Path):
    damage(journal_of(copied), 1)
    done = debatebench(copied, "doctor", "--salvage")
    assert done.code == 3
    assert "only from a copy of the file" in done.error_line
    assert not list(journal_of(copied).parent.glob("*.salvaged*"))


def test_a_second_salvage_leaves_the_first_alone(copied: Path):
    damage(journal_of(copied), 30)
    first, second = salvage(journal_of(copied)), salvage(journal_of(copied))
    assert first is not None
    assert second is not None
    assert first.target != second.target
    assert first.target.read_bytes() == second.target.read_bytes()


def test_a_sound_journal_is_not_salvaged(whole: Path):
    assert salvage(journal_of(whole)) is None
    assert [path.name for path in journal_of(whole).parent.glob("tiny*")] == ["tiny.jsonl"]


# --- stored answers, read again ---------------------------------------------------------------------------------------


@pytest.fixture
def strict_then_lenient(monkeypatch: pytest.MonkeyPatch):
    """A parser of tomorrow that accepts scores in words, which that of today refuses."""
    from debatebench.judges import deliberation
    from debatebench.judges.parsing import parse_answer

    def lenient(text: str, form: AnswerForm):
        return parse_answer(text.replace('"seven"', "7"), form)

    def use() -> None:
        monkeypatch.setattr(deliberation, "parse_answer", lenient)

    return use


def worded(received: Received) -> Behaviour:
    """Judge 0 writes one score in words, whatever it is told."""
    text = verdict_text(received) if is_judge(received) else "Speech."
    if received.json["model"] == "judge-0":
        data = json.loads(text)
        data["scores"]["pro"]["logic"] = "seven"
        text = json.dumps(data)
    return answer(text, usage={"cost": 0.001})


def test_reading_again_with_the_same_parser_changes_nothing(copied: Path):
    before = journal_of(copied).read_bytes()
    done = debatebench(copied, "land", "--reparse", "--no-build")
    assert done.code == 0, done.err
    assert "The current parser reads 0 verdicts of 1 run differently." in done.err
    assert journal_of(copied).read_bytes() == before


def test_answers_that_a_better_parser_understands_complete_their_debates(tmp_path: Path, strict_then_lenient):
    with FakeProvider(worded) as server:
        root = write_workspace(tmp_path, server, judges=2, is_built=False)
        assert play(root, "--no-build", "--max-failures-in-a-row", "0").code == 5
        asked = len(server.requests)
        assert reparse_run(journal_of(root)) == []
        strict_then_lenient()
        changed = reparse_run(journal_of(root))
        assert len(changed) == 12
        assert {(row.judge_id, row.debate_status) for row in changed} == {("judge-0", "complete")}
        assert all(row.before.startswith("invalid: ") and "logic 7:" in row.after for row in changed)
        assert reparse_run(journal_of(root)) == []
        assert play(root, "--no-build").code == 0
        assert len(server.requests) == asked, "nothing is paid for reading"
    assert findings(root) == {}


def test_a_seat_that_was_filled_again_keeps_its_judge(tmp_path: Path, strict_then_lenient):
    with FakeProvider(worded) as server:
        root = write_workspace(tmp_path, server, judges=3, is_built=False)
        assert play(root, "--no-build").code == 0
    strict_then_lenient()
    assert reparse_run(journal_of(root)) == [], "every seat has a vote, and no seat gets two"


def test_a_vote_that_no_longer_counts_is_asked_for_again_and_only_that(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    from debatebench.judges import deliberation
    from debatebench.judges.answer_json import InvalidVerdictError

    with FakeProvider(good_answers) as server:
        root = write_workspace(tmp_path, server, judges=4, is_built=False)
        assert play(root, "--no-build").code == 0
        asked = len(server.requests)
        first = next(iter(last_outcomes(journal_of(root)).values()))
        target = first["verdicts"][0]["raw_response"]  # type: ignore[index]

        def stricter(text: str, form: AnswerForm):
            if text == target:
                raise InvalidVerdictError("the parser of tomorrow does not like it")
            return original(text, form)

        original = deliberation.parse_answer
        monkeypatch.setattr(deliberation, "parse_answer", stricter)
        changed = reparse_run(journal_of(root))
        assert [(row.debate_status, row.after) for row in changed] == [
            ("incomplete", "invalid: the parser of tomorrow does not like it")
        ]
        # The runner reads with the parser of today, in a process of its own, and so fills the seat from the journal.
        assert play(root, "--no-build").code == 0
        assert len(server.requests) == asked


def test_the_commands_to_go_on_quote_the_names_of_files(copied: Path, whole: Path):
    path = journal_of(copied)
    damage(path, 20)
    path.rename(path.with_name("x'; touch stolen; '.jsonl"))
    done = debatebench(copied, "doctor", "--salvage")
    (line,) = [line for line in done.err.splitlines() if line.startswith("  mv ")]
    assert [len(shlex.split(part)) for part in line.split("&&")] == [3, 3, 5]
