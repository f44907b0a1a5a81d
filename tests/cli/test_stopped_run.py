"""A run that is stopped or interrupted is landed with all that it has paid for, also if no debate has ended."""

from __future__ import annotations

import json
import signal
from pathlib import Path

import pytest
from command_line import debatebench
from fake_provider import Behaviour, FakeProvider, Received, delayed, status
from patience import LONGEST_WAIT_S
from started_run import start, wait_until_asked
from tournament import good_answers, play, write_workspace

pytestmark = pytest.mark.slow


def landed(root: Path) -> tuple[int, int]:
    """The answered calls and the debates with an end in the warehouse."""
    answers = "select count(*) from raw.calls where status = 'answered'"
    sql = f"select ({answers}) as answers, (select count(*) from raw.debates) as debates"
    (row,) = json.loads(debatebench(root, "query", sql, "--format", "json").out)
    return row["answers"], row["debates"]


def test_a_run_that_its_limit_on_cost_stops_in_its_first_debate_is_landed(tmp_path: Path):
    with FakeProvider(good_answers) as server:
        root = write_workspace(tmp_path, server, is_built=False)
        for path in (root / "configs").glob("*s.yaml"):
            path.write_text(path.read_text().replace("pricing:", "token_limit: 500, pricing:"))
        done = play(root, "--no-build", "--concurrency", "1", "--max-cost", "0.005")
        asked = len(server.requests)
    assert done.code == 5
    assert "--max-cost" in done.error_line
    assert 0 < asked < 12
    assert landed(root) == (asked, 0)
    assert "tiny: landed 0 debates" in done.err


@pytest.mark.parametrize("answers", [0, 3])
def test_a_run_that_a_refused_key_stops_is_landed(tmp_path: Path, answers: int):
    def script(received: Received) -> Behaviour:
        return good_answers(received) if received.number < answers else status(401, "Bad key.")

    with FakeProvider(script) as server:
        root = write_workspace(tmp_path, server, is_built=False)
        done = play(root, "--no-build", "--concurrency", "1")
    assert done.code == 1
    assert "Bad key." in done.error_line
    assert landed(root) == (answers, 0)


def test_an_interrupted_run_is_landed_with_the_answers_that_were_in_flight(tmp_path: Path):
    with FakeProvider(lambda received: delayed(0.3, good_answers(received))) as server:
        root = write_workspace(tmp_path, server, is_built=False)
        process = start(root, "--no-build", "--concurrency", "1")
        assert wait_until_asked(server, process, 1)
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=LONGEST_WAIT_S)
        assert process.returncode == 130, err
        assert landed(root) == (len(server.requests), 0)
    assert "tiny: landed 0 debates" in err


def test_a_run_that_failures_in_a_row_stop_is_landed(tmp_path: Path):
    def script(received: Received) -> Behaviour:
        return status(400) if received.json["model"] == "debater-0" and received.number else good_answers(received)

    with FakeProvider(script) as server:
        root = write_workspace(tmp_path, server, is_built=False)
        done = play(root, "--no-build", "--concurrency", "1", "--max-failures-in-a-row", "1")
        answered = sum(received.json["model"] != "debater-0" or not received.number for received in server.requests)
    assert done.code == 5
    assert "in a row ended with errors" in done.error_line
    assert landed(root)[0] == answered


def test_a_run_that_never_began_is_not_landed(tmp_path: Path):
    with FakeProvider(good_answers) as server:
        root = write_workspace(tmp_path, server, is_built=False)
        done = play(root, "--no-build", "--max-cost", "1")
    assert done.code == 2
    assert "landed" not in done.err
    assert not (root / "warehouse" / "debatebench.duckdb").exists()
