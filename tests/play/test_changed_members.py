"""A run goes on with another entry for a debater or judge, or with another judge, and buys no answer twice."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from command_line import Done, debatebench
from fake_provider import Behaviour, FakeProvider, Received, answer, status
from tournament import KEY, good_answers, is_judge, play, write_workspace

from debatebench.journal.reading import read_journal

pytestmark = pytest.mark.slow

CALLS = 48


def calls(root: Path) -> list[dict[str, Any]]:
    events = read_journal(root / "warehouse" / "journal" / "tiny.jsonl")
    return [row for event in events for row in event.data.get("records", {}).get("calls", ())]


def answered(root: Path) -> Counter[tuple[str, str]]:
    """How often each step of each debate was answered."""
    return Counter((row["debate_id"], row["step"]) for row in calls(root) if row["status"] == "answered")


def edit(root: Path, name: str, old: str, new: str) -> None:
    path = root / "configs" / name
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new))


def retry(root: Path, *arguments: str) -> Done:
    return debatebench(root, "retry", "tiny", *arguments, environ={"TINY_API_KEY": KEY})


def rows(root: Path, sql: str) -> list[dict[str, Any]]:
    return json.loads(debatebench(root, "query", sql, "--format", "json").out)


def refuses_effort(received: Received) -> Behaviour:
    refused = status(400, "Unrecognized request argument supplied: effort", param="effort")
    return refused if "effort" in received.json else good_answers(received)


@pytest.mark.parametrize("file", ["models.yaml", "judges.yaml"])
def test_a_parameter_that_is_rejected_is_corrected_in_the_file_and_the_same_command_goes_on(tmp_path: Path, file: str):
    member = "debater-1" if file == "models.yaml" else "judge-1"
    with FakeProvider(refuses_effort) as server:
        root = write_workspace(tmp_path, server)
        edit(root, file, f"id: {member},", f"id: {member}, parameters: {{effort: max}},")
        stopped = play(root, "--no-build")
        assert stopped.code == 5
        assert f"Correct `effort` in the `parameters` of '{member}'" in stopped.error_line
        edit(root, file, ", parameters: {effort: max},", ",")
        done = play(root)
        assert done.code == 0, done.err
    assert max(answered(root).values()) == 1
    table, key = ("debaters", "model_id") if file == "models.yaml" else ("judges", "judge_id")
    sql = f"select parameters, earlier_parameters from raw.{table} where {key} = '{member}'"
    assert rows(root, sql) == [{"parameters": "{}", "earlier_parameters": None}]


def test_a_model_that_was_misspelt_is_corrected_while_it_has_not_answered(tmp_path: Path):
    def script(received: Received) -> Behaviour:
        return status(404, "No such model.") if received.json["model"] == "debatter-1" else good_answers(received)

    with FakeProvider(script) as server:
        root = write_workspace(tmp_path, server)
        edit(root, "models.yaml", "model: debater-1", "model: debatter-1")
        assert play(root, "--no-build").code == 5
        edit(root, "models.yaml", "model: debatter-1", "model: debater-1")
        assert play(root, "--no-build").code == 0
    assert sum(answered(root).values()) == CALLS


def half_played(root: Path, server: FakeProvider) -> Path:
    """A run that stopped after some answers of everybody."""
    root = write_workspace(root, server)
    assert play(root, "--no-build", "--concurrency", "4", "--max-failures-in-a-row", "2").code == 5
    return root


def test_parameters_of_a_debater_that_has_answered_change_only_when_told(tmp_path: Path):
    healed: list[bool] = []

    def script(received: Received) -> Behaviour:
        return status(400, "Busy.") if not healed and received.number > 30 else good_answers(received)

    with FakeProvider(script) as server:
        root = half_played(tmp_path, server)
        before = answered(root)
        healed.append(True)
        edit(root, "models.yaml", "id: debater-1,", "id: debater-1, parameters: {effort: low},")
        asked, journal = len(server.requests), (root / "warehouse" / "journal" / "tiny.jsonl").read_bytes()
        refused = play(root, "--no-build")
        assert refused.code == 2
        assert "debaters (debater-1 changed: parameters)" in refused.error_line
        assert "`--replace-parameters debater-1` goes on with its new parameters" in refused.error_line
        assert len(server.requests) == asked
        assert (root / "warehouse" / "journal" / "tiny.jsonl").read_bytes() == journal
        done = retry(root, "--replace-parameters", "debater-1")
        assert done.code == 0, done.err
        sent = {r.json["model"]: r.json.get("effort") for r in server.requests[asked:]}
    assert sent["debater-1"] == "low"
    assert max(answered(root).values()) == 1, "answers with the old parameters are used"
    assert before <= answered(root)
    sql = "select parameters, earlier_parameters from raw.debaters where model_id = 'debater-1'"
    assert rows(root, sql) == [{"parameters": '{"effort":"low"}', "earlier_parameters": "[{}]"}]
    setting = "select value from marts.run_settings where part = 'debater-1 parameters'"
    assert rows(root, setting) == [{"value": 'effort: "low"; before: {}'}]


def test_parameters_can_be_replaced_only_of_a_debater_or_judge_of_the_run(tmp_path: Path):
    with FakeProvider(good_answers) as server:
        root = write_workspace(tmp_path, server)
        assert play(root, "--no-build").code == 0
        asked = len(server.requests)
        refused = play(root, "--no-build", "--replace-parameters", "debater-9")
        assert refused.code == 2
        assert "no debater or judge 'debater-9'" in refused.error_line
        assert len(server.requests) == asked


def bad_judges(received: Received) -> Behaviour:
    return (
        answer("I like both.") if is_judge(received) and received.json["model"] != "judge-4" else good_answers(received)
    )


def test_a_judge_that_is_added_takes_the_seats_that_no_other_could_fill(tmp_path: Path):
    with FakeProvider(bad_judges) as server:
        root = write_workspace(tmp_path, server)
        edit(root, "config.yaml", "judges_per_debate: 2", "judges_per_debate: 1")
        assert play(root, "--no-build").code == 5
        entry = (root / "configs" / "judges.yaml").read_text().splitlines()[1].replace("judge-0", "judge-4")
        with (root / "configs" / "judges.yaml").open("a") as file:
            file.write(entry + "\n")
        asked = len(server.requests)
        refused = play(root, "--no-build")
        assert refused.code == 2
        assert "`--new-judge judge-4` adds a judge to this run" in refused.error_line
        done = play(root, "--new-judge", "judge-4")
        assert done.code == 0, done.err
        assert Counter(r.json["model"] for r in server.requests[asked:]) == {"judge-4": 12}
        assert play(root, "--no-build").code == 0
        assert play(root, "--no-build", "--new-judge", "judge-4").code == 0
        assert len(server.requests) == asked + 12
    assert rows(root, "select count(*) as n from raw.verdicts where judge_id = 'judge-4' and is_valid") == [{"n": 12}]
    assert rows(root, "select count(*) as n from raw.judges") == [{"n": 5}]


@pytest.mark.slow_inputs
@pytest.mark.parametrize(
    ("option", "message"),
    [
        (("--new-judge", "judge-9"), "No judge 'judge-9' to add. Known: judge-0"),
        (("--new-judge", "judge-1"), "has been a judge of run 'tiny' from the beginning"),
        (("--new-model", "debater-9"), "No debater 'debater-9' to add"),
    ],
)
def test_only_what_is_configured_and_new_can_be_added(tmp_path: Path, option: tuple[str, str], message: str):
    with FakeProvider(good_answers) as server:
        root = write_workspace(tmp_path, server)
        assert play(root, "--no-build").code == 0
        asked = len(server.requests)
        refused = play(root, "--no-build", *option)
        assert refused.code == 2
        assert message in refused.error_line
        assert len(server.requests) == asked


@pytest.mark.parametrize("option", ["--new-judge", "--replace-parameters"])
def test_nothing_is_added_to_a_run_that_has_not_begun(tmp_path: Path, option: str):
    with FakeProvider(good_answers) as server:
        root = write_workspace(tmp_path, server)
        refused = play(root, "--no-build", option, "judge-1", tag="mistyped")
        assert refused.code == 2
        assert "No run 'mistyped' has begun" in refused.error_line
        assert server.requests == []


def test_a_retry_after_many_bad_answers_of_judges_buys_only_what_was_invalid(tmp_path: Path):
    healed: list[bool] = []

    def script(received: Received) -> Behaviour:
        is_bad = is_judge(received) and received.number * 2_654_435_761 % 2**32 < 0.4 * 2**32
        return answer("Both were good.") if is_bad and not healed else good_answers(received)

    with FakeProvider(script) as server:
        root = write_workspace(tmp_path, server, judges=2)
        assert play(root, "--no-build").code == 5
        healed.append(True)
        sql = "select count(*) as n from raw.verdicts where not is_valid"
        assert debatebench(root, "land", "--no-build").code == 0
        invalid = rows(root, sql)[0]["n"]
        asked = len(server.requests)
        assert retry(root, "--no-build").code == 0
        assert len(server.requests) == asked + invalid
        assert invalid > 0
