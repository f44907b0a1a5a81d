"""What `debatebench run` says of a run: its money, its session, what is missing and why, and how far it is."""

from __future__ import annotations

import json
import re
from datetime import datetime
from decimal import Decimal
from pathlib import Path

import pytest
from command_line import debatebench
from fake_provider import Behaviour, FakeProvider, Received, answer, status
from tournament import good_answers, play, write_workspace

from debatebench.cli.progress_display import Lines, describe, table_rows
from debatebench.play.progress import Progress, write_progress

pytestmark = pytest.mark.slow


def refusing(*models: str, said: str = "No such model.") -> FakeProvider:
    """A server that does not have some of the models."""
    return FakeProvider(lambda r: status(404, said) if r.json["model"] in models else good_answers(r))


def capped(root: Path) -> Path:
    """Give every debater and judge of a workspace a token limit."""
    for path in (root / "configs").glob("*s.yaml"):
        path.write_text(path.read_text().replace("pricing:", "token_limit: 500, pricing:"))
    return root


# --- what is missing --------------------------------------------------------------------------------------------------


def test_missing_debates_are_told_once_for_each_reason_with_debater_speech_and_way_out(tmp_path: Path):
    with refusing("debater-0") as server:
        done = play(write_workspace(tmp_path, server, is_built=False), "--no-build", "--max-failures-in-a-row", "0")
    assert done.code == 5
    lines = [line for line in done.err.splitlines() if line.startswith("missing ")]
    assert [re.sub(r"First: \w{16} \(t\d: ", "First: ID (T: ", line) for line in sorted(lines)] == [
        f"missing 4 debates: debater-0 gave no opening speech as {side}: http answered 404 (No such model.); "
        f"`debatebench retry tiny` asks again. First: ID (T: {pair})."
        for side, pair in (("con", "debater-1 against debater-0"), ("pro", "debater-0 against debater-1"))
    ]


def test_a_single_missing_debate_is_named_and_its_reason_follows(tmp_path: Path):
    with FakeProvider(lambda r: status(400, "Moved.") if r.number == 0 else good_answers(r)) as server:
        done = play(write_workspace(tmp_path, server, is_built=False), "--no-build")
    (line,) = (line for line in done.err.splitlines() if line.startswith("missing "))
    assert re.fullmatch(
        r"missing \w{16} \(t\d: debater-\d against debater-\d\): debater-\d gave no opening speech as pro: "
        r"http answered 400 \(Moved\.\); `debatebench retry tiny` asks again\.",
        line,
    )


def test_void_debates_are_told_with_who_refused(tmp_path: Path):
    def script(received: Received) -> Behaviour:
        if received.json["model"] == "debater-1":
            return answer("", choice={"finish_reason": "content_filter"})
        return good_answers(received)

    with FakeProvider(script) as server:
        done = play(write_workspace(tmp_path, server, is_built=False), "--no-build")
    assert done.code == 0
    lines = [line for line in done.err.splitlines() if line.startswith("void ")]
    assert len(lines) == 2
    for line in lines:
        assert re.match(r"void 4 debates: debater-1 gave no opening speech as (pro|con): .*content filter", line)
        assert "a void debate enters no rating. First: " in line


def test_debates_that_a_stopped_run_did_not_finish_are_one_line(tmp_path: Path):
    with FakeProvider(good_answers) as server:
        root = capped(write_workspace(tmp_path, server, is_built=False))
        done = play(root, "--no-build", "--max-cost", "0.02")
    assert done.code == 5
    assert len(re.findall(r"^missing \d+ debates: not finished\.$", done.err, re.MULTILINE)) == 1
    assert done.err.count("missing ") == 1


def test_many_different_reasons_are_cut_and_the_way_to_all_of_them_is_named(tmp_path: Path):
    words = ["one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve"]
    with FakeProvider(lambda r: status(400, f"Word {words[r.number]}.")) as server:
        root = write_workspace(tmp_path, server, is_built=False)
        done = play(root, "--no-build", "--max-failures-in-a-row", "0", "--concurrency", "1")
    assert len(re.findall(r"^missing ", done.err, re.MULTILINE)) == 10
    assert "… and 2 more for 2 other reasons; `debatebench doctor --all` lists them all." in done.err


# --- speeches that were cut off ---------------------------------------------------------------------------------------


def cutting(received: Received) -> Behaviour:
    if received.json["model"] == "debater-1":
        return answer("Half a spee", choice={"finish_reason": "length"})
    return good_answers(received)


def test_speeches_that_were_cut_off_are_told_at_the_end_of_a_run_and_of_every_later_session(tmp_path: Path):
    told = (
        "8 of 8 speeches of debater 'debater-1' were cut off at the token limit; raise its `token_limit` and the "
        "rounds' `max_tokens`, or add `thinking_tokens`."
    )
    with FakeProvider(cutting) as server:
        root = write_workspace(tmp_path, server, is_built=False)
        for _ in range(2):
            done = play(root, "--no-build")
            assert done.code == 0, done.err
            assert [line for line in done.err.splitlines() if "cut off" in line] == [told]
    assert told in debatebench(root, "doctor", "--format", "csv").out.replace('""', '"')


def test_answers_that_broke_off_at_the_provider_are_counted_and_asked_for_again(tmp_path: Path):
    def script(received: Received) -> Behaviour:
        out_of_memory = answer("Half a", choice={"finish_reason": "insufficient_system_resource"})
        return out_of_memory if received.number < 2 else good_answers(received)

    with FakeProvider(script) as server:
        done = play(write_workspace(tmp_path, server, is_built=False), "--no-build", "--concurrency", "1")
    assert done.code == 0, done.err
    told = [line for line in done.err.splitlines() if "broke off" in line]
    assert [re.sub(r"'.*?'", "X", line) for line in told] == [
        "2 answers of X broke off at the provider (insufficient_system_resource) and were asked for again."
    ]


def test_an_answer_that_broke_off_each_time_is_not_told_as_asked_for_again(tmp_path: Path):
    broken = answer("Half a", choice={"finish_reason": "insufficient_system_resource"})
    with FakeProvider(lambda r: broken if r.json["model"] == "debater-0" else good_answers(r)) as server:
        root = write_workspace(tmp_path, server, is_built=False)
        options = ("--no-build", "--max-ambiguous-retries", "1", "--max-failures-in-a-row", "0")
        done = play(root, *options)
    assert done.code == 5, done.err
    assert (
        "16 answers of 'debater-0' broke off at the provider (insufficient_system_resource); "
        "8 of them were asked for again.\n"
    ) in done.err


# --- money ------------------------------------------------------------------------------------------------------------


def test_the_cost_of_simulated_members_is_never_called_billed(tmp_path: Path):
    done = debatebench(tmp_path, "run", "--run-tag", "t", "--quick-test", "--no-build", "--format", "json")
    assert done.code == 0, done.err
    (report,) = json.loads(done.out)
    assert (report["billed_usd"], report["estimated_usd"]) == (0, 0)
    assert report["simulated_usd"] > 0
    assert re.search(r"^Cost so far: \d\.\d{4} USD of simulated cost, with no unknown costs\.$", done.err, re.MULTILINE)
    assert re.search(r"t: .* debates, \d+ answers, \$\d\.\d{4} simulated in all; ", done.err)
    assert "billed" not in done.err
    dry = debatebench(tmp_path, "run", "--run-tag", "t", "--dry-run")
    assert "billed" not in dry.out + dry.err
    assert "USD of simulated cost" in dry.err
    told = json.loads((tmp_path / "warehouse" / "progress" / "t.json").read_text())["cost_usd"]
    assert (Decimal(told["billed"]), Decimal(told["simulated"])) == (0, Decimal(str(report["simulated_usd"])))


def test_a_run_with_simulated_and_hosted_members_keeps_their_money_apart(tmp_path: Path):
    with FakeProvider(good_answers) as server:
        root = write_workspace(tmp_path, server, is_built=False)
        models = root / "configs" / "models.yaml"
        first, *rest = models.read_text().split("\n  - ")
        simulated = "{id: debater-0, provider: simulated, model: s, pricing: {prompt: 0.001, completion: 0.002}}"
        models.write_text("\n  - ".join([first, simulated, *rest[1:]]))
        done = play(root, "--no-build", "--format", "json")
    assert done.code == 0, done.err
    (report,) = json.loads(done.out)
    assert report["simulated_usd"] > report["billed_usd"] > 0
    assert re.search(
        r"^Cost so far: .* USD billed, .* prices, \d\.\d{4} USD simulated, with no", done.err, re.MULTILINE
    )


def test_a_later_session_tells_its_own_answers_from_those_of_the_run(tmp_path: Path):
    broken = [True]

    def script(received: Received) -> Behaviour:
        return status(400) if broken and received.json["model"] == "debater-2" else good_answers(received)

    with FakeProvider(script) as server:
        root = write_workspace(tmp_path, server, is_built=False)
        arguments = ("--no-build", "--format", "json", "--max-failures-in-a-row", "0")
        first = json.loads(play(root, *arguments).out)[0]
        broken.clear()
        done = play(root, *arguments, "--retry-failed")
    second = json.loads(done.out)[0]
    assert first["session_answers"] + second["session_answers"] == 48
    assert second["session_failed_attempts"] == 0 < first["session_failed_attempts"]
    assert second["billed_usd"] > first["billed_usd"]
    last = [line for line in done.err.splitlines() if line.startswith("tiny: 12 of 12")][-1]
    said = re.fullmatch(r"tiny: 12 of 12 debates, 48 answers, \$(.*) in all; (\d+) answers, \$(.*) in this .*", last)
    assert said is not None
    assert int(said[2]) == second["session_answers"]
    assert Decimal(said[3]) < Decimal(said[1])


# --- how far it is ----------------------------------------------------------------------------------------------------


def test_a_line_comes_with_every_tenth_of_the_debates_and_after_every_minute_without_one(
    capsys: pytest.CaptureFixture[str],
):
    at_s = [0.0]
    lines = Lines("t", every_s=60.0, clock=lambda: at_s[0])
    progress = Progress()

    def printed() -> int:
        return capsys.readouterr().err.count("\n")

    at_s[0] = 100.0
    lines.second_passed(progress)
    assert printed() == 0, "the run has not begun"
    progress.debates_planned = 20
    for second, expected in ((100, 1), (101, 0), (159, 0), (160, 1)):
        at_s[0] = second
        lines.second_passed(progress)
        assert printed() == expected, second
    at_s[0] = 200.0
    for done, expected in ((1, 1), (2, 1), (3, 0), (4, 1)):
        progress.debates_complete = done
        lines.debate_ended(progress)
        assert printed() == expected, done
    for second, expected in ((259, 0), (260, 1)):
        at_s[0] = second
        lines.second_passed(progress)
        assert printed() == expected, second


def test_while_a_provider_cannot_be_reached_every_line_says_so_and_its_return_is_told_once():
    progress, told = Progress(debates_planned=3), []
    progress.on_reached = told.append
    progress.provider_reached("openai")
    progress.provider_unreachable("openai", "No route.", 600.0)
    waiting = "waiting for openai, which cannot be reached"
    assert describe(progress).endswith(waiting)
    assert ("", waiting) in table_rows(progress, None)
    assert told == []
    for _ in range(2):
        progress.provider_reached("openai")
    assert told == ["openai"]
    assert "waiting for" not in describe(progress)


def test_the_file_of_the_progress_names_the_providers_that_a_run_waits_for(tmp_path: Path):
    progress = Progress(debates_planned=3)
    for name in ("openai", "mistral"):
        progress.provider_unreachable(name, "No route.", 600.0)
    write_progress(tmp_path / "p.json", "t", progress, state="playing", now=datetime(2026, 1, 1))
    assert json.loads((tmp_path / "p.json").read_text())["waiting_for"] == ["mistral", "openai"]
