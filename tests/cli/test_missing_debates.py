"""The end of a run, its dry run, its retry and `doctor` advise what helps, and it does what they say."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest
from command_line import Done, debatebench
from fake_provider import JSON_TYPE, Behaviour, FakeProvider, Received, answer, body, status
from tournament import KEY, add_judges, good_answers, is_judge, play, write_workspace

pytestmark = pytest.mark.slow

RETRY = "`debatebench retry tiny` asks again"
NEW_JUDGE = "`debatebench retry tiny --new-judge ID` asks another judge of judges.yaml"
# One attempt at each call, and no end of the run after five of them.
ONCE = ("--no-build", "--max-ambiguous-retries", "0", "--wait-for-limit", "0", "--max-failures-in-a-row", "0")
REFUSED = answer("", choice={"finish_reason": "content_filter"})
ERROR = {"message": "This model's maximum context length is 8192 tokens.", "code": "context_length_exceeded"}
TOO_LONG = body({"error": ERROR}, status=400, headers=JSON_TYPE)


def failing(fails: Callable[[Received], bool], trouble: Behaviour) -> Callable[[Received], Behaviour]:
    return lambda received: trouble if fails(received) else good_answers(received)


def of_old_judges(received: Received) -> bool:
    return is_judge(received) and received.json["model"] != "judge-new"


def of_a_debater(received: Received) -> bool:
    return bool(received.json["model"] == "debater-0")


def of_run(root: Path, command: str, *arguments: str) -> Done:
    return debatebench(root, command, *arguments, environ={"TINY_API_KEY": KEY})


def calls_in(dry: Done) -> int:
    """The calls that a dry run counts."""
    assert dry.code == 0, dry.err
    return int(re.search(r"debates: ([\d,]+) calls", dry.out)[1])  # type: ignore[index]


def written(root: Path, server: FakeProvider, *, window: int | None = None) -> Path:
    write_workspace(root, server, is_built=False)
    if window is not None:
        path = root / "configs" / "judges.yaml"
        path.write_text(path.read_text().replace("prompt_style", f"context_window: {window}, prompt_style"))
    return root


def check_told_everywhere(root: Path, done: Done, advised: str) -> None:
    """The end of the run, its error, a dry run and `doctor` all give this advice, and no other."""
    assert done.code == 5, done.err
    told = [line for line in done.err.splitlines() if line.startswith(("missing ", "Error: "))]
    told.append(next(line for line in play(root, "--dry-run").err.splitlines() if "ended without an answer" in line))
    found = json.loads(of_run(root, "doctor", "--format", "json").out)
    told += [each["detail"] for each in found if each["finding"] == "missing_debate"]
    assert len(told) > 3
    for text in told:
        assert advised in text
        assert (RETRY in text) == (advised == RETRY), text


def check_failed_calls(root: Path) -> None:
    """Of calls whose prompt is too long, `doctor` says that a retry sends it again."""
    found = json.loads(of_run(root, "doctor", "--all", "--format", "json").out)
    calls = [each["detail"] for each in found if each["finding"] == "failed_call"]
    assert calls
    for detail in calls:
        assert detail.endswith("`debatebench retry tiny` sends the same prompt again, which is too long.")


@pytest.mark.parametrize("window", [None, 10], ids=["refused by all judges", "larger than each context window"])
def test_a_debate_that_no_judge_of_its_pool_will_judge_is_completed_by_other_judges(tmp_path: Path, window: int | None):
    script = good_answers if window is not None else failing(of_old_judges, REFUSED)
    with FakeProvider(script) as server:
        root = written(tmp_path, server, window=window)
        check_told_everywhere(root, play(root, *ONCE), NEW_JUDGE)
        sent, dry = len(server.requests), of_run(root, "retry", "tiny", "--dry-run")
        assert calls_in(dry) == 0
        assert NEW_JUDGE in dry.err
        again = of_run(root, "retry", "tiny", "--no-build")
        assert len(server.requests) == sent, "what the dry run says"
        assert RETRY not in again.err
        new = add_judges(root)
        assert calls_in(of_run(root, "retry", "tiny", *new, "--dry-run")) == 24
        done = of_run(root, "retry", "tiny", *new, "--no-build")
        assert done.code == 0, done.err
        assert len(server.requests) == sent + 24


def test_a_raised_context_window_lets_a_retry_ask_the_same_judges(tmp_path: Path):
    with FakeProvider(good_answers) as server:
        root = written(tmp_path, server, window=10)
        assert "(raise it if the model takes more)" in play(root, *ONCE).err
        path = root / "configs" / "judges.yaml"
        path.write_text(path.read_text().replace("context_window: 10,", "context_window: 9999,"))
        sent = len(server.requests)
        assert calls_in(of_run(root, "retry", "tiny", "--dry-run")) == 24
        assert of_run(root, "retry", "tiny", "--no-build").code == 0
        assert len(server.requests) == sent + 24


@pytest.mark.slow_inputs
@pytest.mark.parametrize(
    ("fails", "trouble", "left"),
    [
        (of_old_judges, answer("No verdict."), 24),
        (of_old_judges, status(404, "No such model, retry later."), 24),
        (of_a_debater, answer("<think>Nothing.</think>"), 28),
        (of_a_debater, answer(""), 28),
        (of_a_debater, status(404), 28),
    ],
    ids=["unusable verdicts", "failed judges", "thinking only", "empty speeches", "failed debater"],
)
def test_what_a_retry_asks_again_is_counted_by_its_dry_run_and_completes_the_run(
    tmp_path: Path, fails: Callable[[Received], bool], trouble: Behaviour, left: int
):
    ill = [True]
    with FakeProvider(lambda r: trouble if ill and fails(r) else good_answers(r)) as server:
        root = written(tmp_path, server)
        check_told_everywhere(root, play(root, *ONCE), RETRY)
        ill.clear()
        sent, dry = len(server.requests), of_run(root, "retry", "tiny", "--dry-run")
        assert calls_in(dry) == left
        assert "ended without an answer" not in dry.err
        done = of_run(root, "retry", "tiny", "--no-build")
        assert done.code == 0, done.err
        assert len(server.requests) == sent + left


def test_a_judge_that_fails_again_is_asked_once_in_a_retry_and_the_run_lands(tmp_path: Path):
    with FakeProvider(failing(of_old_judges, TOO_LONG)) as server:
        root = written(tmp_path, server)
        check_told_everywhere(root, play(root, *ONCE), NEW_JUDGE)
        check_failed_calls(root)
        sent = len(server.requests)
        again = play(root, "--retry-failed", *ONCE)
        assert again.code == 5, again.err
        assert len(server.requests) == sent + 48
        done = of_run(root, "retry", "tiny", *add_judges(root), "--no-build")
        assert done.code == 0, done.err


def test_a_prompt_that_is_too_long_for_a_debater_needs_another_run(tmp_path: Path):
    with FakeProvider(failing(of_a_debater, TOO_LONG)) as server:
        root = written(tmp_path, server)
        check_told_everywhere(root, play(root, *ONCE), "play another run with shorter speeches or without this debater")
        check_failed_calls(root)


def test_what_a_debater_has_refused_is_never_called_worth_a_retry(tmp_path: Path):
    with FakeProvider(failing(of_a_debater, REFUSED)) as server:
        root = written(tmp_path, server)
        done = play(root, *ONCE)
        assert done.code == 0, done.err
        assert "retry" not in done.err
        assert "retry tiny" not in of_run(root, "doctor").out
        sent = len(server.requests)
        assert calls_in(of_run(root, "retry", "tiny", "--dry-run")) == 0
        assert of_run(root, "retry", "tiny", "--no-build").code == 0
        assert len(server.requests) == sent
