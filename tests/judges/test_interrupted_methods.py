"""What becomes of a method's calls when a run is killed, a prompt is too long, or stored answers are read again."""

from __future__ import annotations

import random
import signal
from collections import Counter
from pathlib import Path

import pytest
from command_line import debatebench, debatebench_here
from fake_provider import Behaviour, FakeProvider, Received, answer, status
from judging import (
    KEY,
    PLAYED,
    calls_of,
    judge,
    method_answer,
    schema_of,
    start_judging,
    stored_rows,
    stored_workspace,
)
from started_run import wait_until_asked

from debatebench.config.answer_form import AnswerForm
from debatebench.judges import deliberation
from debatebench.judges.answer_json import InvalidVerdictError
from debatebench.judges.parsing import ParsedAnswer, parse_answer
from debatebench.play.reparsing import reparse_run

pytestmark = pytest.mark.slow

VERDICTS = "select * exclude (created_at, latency_ms) from raw.verdicts where run_tag = 'judged' order by all"
NOTES = "select * from raw.judge_notes where run_tag = 'judged' order by all"


def is_about_one_dimension(received: Received) -> bool:
    system = received.json["messages"][0]["content"]
    return "one thing only" in system or "one respect only" in system


# --- killed


@pytest.mark.slow_inputs
@pytest.mark.parametrize("method", PLAYED)
def test_a_run_that_is_killed_at_ten_moments_buys_every_answer_once_and_has_the_same_rows(method: str, tmp_path: Path):
    draw, kills, at_once = random.Random(11), 10, 2
    # Every kill finds at least two new calls.
    debates = {"two_sided": -(-2 * kills * at_once // calls_of(method, 5, 2)), "teams": 1}
    with FakeProvider(method_answer) as server:
        calm = stored_workspace(tmp_path / "calm", server.url, judges=2, **debates)
        assert judge(calm, "judged", "--judge-method", method, "--no-build").code == 0
        calls = len(server.requests)
    assert calls == 2 * (debates["two_sided"] * calls_of(method, 5, 2) + calls_of(method, 8, 4))
    with FakeProvider(method_answer) as server:
        killed = stored_workspace(tmp_path / "killed", server.url, judges=2, **debates)
        for _ in range(kills):
            asked = len(server.requests) + draw.randint(1, max(calls // 14, 2))
            server.hold(asked)
            process = start_judging(
                killed, "judged", "--judge-method", method, "--concurrency", str(at_once), "--no-build"
            )
            assert wait_until_asked(server, process, asked)
            process.send_signal(signal.SIGKILL)
            process.communicate()
            server.release()
        server.wait_until_idle()
        assert judge(killed, "judged", "--judge-method", method, "--no-build").code == 0
        questions = Counter(received.body for received in server.requests)
    assert len(questions) == calls
    # What was in flight when the process died is asked again, and listed.
    assert sum(count - 1 for count in questions.values()) <= kills * at_once
    assert stored_rows(killed, "select count(*) from raw.calls where status = 'answered'") == [(calls,)]
    assert stored_rows(killed, NOTES) == stored_rows(calm, NOTES)
    assert stored_rows(killed, VERDICTS) == stored_rows(calm, VERDICTS)


# --- too long


@pytest.mark.slow_inputs
@pytest.mark.parametrize("method", PLAYED)
def test_a_request_that_does_not_fit_the_context_window_is_never_cut(method: str, tmp_path: Path):
    with FakeProvider(method_answer) as server:
        calm = stored_workspace(tmp_path / "calm", server.url, teams=0)
        assert judge(calm, "judged", "--judge-method", method, "--no-build").code == 0
        window = max(map(tokens_of, server.requests)) - 1
    with FakeProvider(method_answer) as server:
        settings = f", method: {method}, context_window: {window}"
        root = stored_workspace(tmp_path / "small", server.url, teams=0, judge=settings)
        assert judge(root, "judged", "--no-build").code == 5
    (found,) = stored_rows(root, "select is_valid, invalid_reason from raw.verdicts where run_tag = 'judged'")
    assert not found[0]
    assert f"not fit the context window of {window} tokens" in found[1]
    assert stored_rows(root, "select status from raw.debates where run_tag = 'judged'") == [("incomplete",)]
    assert all(tokens_of(received) <= window for received in server.requests)
    # The analyses that did fit are kept.
    analyses = "select count(*) from raw.judge_notes where run_tag = 'judged' and step in ('speech', 'debate')"
    assert stored_rows(root, analyses) == [(len([r for r in server.requests if schema_of(r) is None]),)]


@pytest.mark.slow_inputs
@pytest.mark.parametrize("method", ["direct", "debatrix_v1", "debatrix_v2"])
def test_a_larger_context_window_completes_a_verdict_and_buys_only_what_was_not_sent(method: str, tmp_path: Path):
    with FakeProvider(method_answer) as server:
        calm = stored_workspace(tmp_path / "calm", server.url, teams=0)
        assert judge(calm, "judged", "--judge-method", method, "--no-build").code == 0
        calls, window = len(server.requests), max(map(tokens_of, server.requests))
    with FakeProvider(method_answer) as server:
        settings = f", method: {method}, context_window: {window - 1}"
        root = stored_workspace(tmp_path / "small", server.url, teams=0, judge=settings)
        assert judge(root, "judged", "--no-build").code == 5
        assert len(server.requests) < calls
        judges = root / "configs" / "judges.yaml"
        judges.write_text(judges.read_text().replace(f"context_window: {window - 1}", f"context_window: {window}"))
        again = debatebench(root, "retry", "judged", "--no-build", environ={"TINY_API_KEY": KEY})
        assert again.code == 0, again.err
        assert len({received.body for received in server.requests}) == len(server.requests) == calls
    assert stored_rows(root, VERDICTS) == stored_rows(calm, VERDICTS)
    judged = "select context_window, earlier_parameters from raw.judges where run_tag = 'judged'"
    assert stored_rows(root, judged) == [(window, None)]


def test_a_dry_run_names_the_judges_whose_context_window_cannot_hold_a_debate(tmp_path: Path):
    with FakeProvider(method_answer) as server:
        root = stored_workspace(tmp_path, server.url, teams=0, judge=", context_window: 50")
        done = judge(root, "judged", "--dry-run")
        roomy = stored_workspace(tmp_path / "roomy", server.url, teams=0, judge=", context_window: 50000")
        assert done.code == 0
        assert (
            "Warning: a debate does not fit the context window of judge 'judge-0' (50 tokens in judges.yaml)"
            in done.err
        )
        assert "context window" not in judge(roomy, "judged", "--dry-run").err
    assert server.requests == []


def tokens_of(received: Received) -> int:
    """About how many tokens a prompt has."""
    return -(-sum(len(message["content"]) for message in received.json["messages"]) // 4)


@pytest.mark.slow_inputs
@pytest.mark.parametrize("method", PLAYED)
def test_what_the_provider_refuses_for_its_length_is_an_incomplete_verdict_with_that_reason(
    method: str, tmp_path: Path
):
    refusal = "This model's maximum context length is 400 tokens."
    asked: list[str] = []

    def small(received: Received) -> Behaviour:
        asked.append("\n".join(message["content"] for message in received.json["messages"]))
        is_last = schema_of(received) is not None and not is_about_one_dimension(received)
        return status(400, refusal, code="context_length_exceeded") if is_last else method_answer(received)

    with FakeProvider(small) as server:
        root = stored_workspace(tmp_path, server.url, teams=0, judge=f", method: {method}")
        assert judge(root, "judged", "--no-build").code == 5
    (found,) = stored_rows(root, "select is_valid, invalid_reason from raw.verdicts where run_tag = 'judged'")
    assert not found[0]
    assert "context" in found[1]
    # Nothing is asked again in other words or with less of the debate.
    assert len(asked) == len(set(asked)) == calls_of(method, 5, 2)


# --- read again


@pytest.mark.slow_inputs
@pytest.mark.parametrize("method", PLAYED)
def test_answers_that_a_later_parser_understands_become_verdicts(
    method: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """The last answer of every deliberation names its scores, or the winner if it has no more, by another word."""
    usual, other = ('"winner"', '"victor"') if method in ("whole_debate", "debatrix_v2") else ('"scores"', '"marks"')

    def odd(received: Received) -> Behaviour:
        if schema_of(received) is None or is_about_one_dimension(received):
            return method_answer(received)
        return method_answer(received, edit=lambda said: said.replace(usual, other))

    with FakeProvider(method_answer) as server:
        calm = stored_workspace(tmp_path / "calm", server.url)
        assert judge(calm, "judged", "--judge-method", method, "--no-build").code == 0
    with FakeProvider(odd) as server:
        root = stored_workspace(tmp_path / "odd", server.url)
        assert judge(root, "judged", "--judge-method", method, "--no-build").code == 5
    assert stored_rows(root, "select distinct is_valid from raw.verdicts where run_tag = 'judged'") == [(False,)]
    bought = len(server.requests)
    lenient = lambda text, form: parse_answer(text.replace(other, usual), form)  # noqa: E731
    monkeypatch.setattr(deliberation, "parse_answer", lenient)
    assert debatebench_here(root, "land", "--reparse", "--no-build").code == 0
    said = "select debate_id, judge_id, is_valid, declared_winner, scores from raw.verdicts where run_tag = 'judged'"
    assert stored_rows(root, f"{said} order by all") == stored_rows(calm, f"{said} order by all")
    noted = NOTES.replace("*", "* exclude (call_id)")
    assert stored_rows(root, noted) == stored_rows(calm, noted)
    assert stored_rows(root, "select distinct status from raw.debates where run_tag = 'judged'") == [("complete",)]
    assert len(server.requests) == bought


@pytest.mark.slow_inputs
@pytest.mark.parametrize("method", PLAYED)
def test_answers_that_a_later_parser_refuses_lose_their_vote_and_get_it_back(
    method: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    def strict(text: str, form: AnswerForm) -> ParsedAnswer:
        if form.declares_winner:
            raise InvalidVerdictError("no winner is believed")
        return parse_answer(text, form)

    with FakeProvider(method_answer) as server:
        root = stored_workspace(tmp_path, server.url)
        assert judge(root, "judged", "--judge-method", method, "--no-build").code == 0
    bought, noted = len(server.requests), stored_rows(root, NOTES)
    said = "select * exclude (metadata) from raw.verdicts where run_tag = 'judged' order by all"
    kept = stored_rows(root, said)
    journal = root / "warehouse" / "journal" / "judged.jsonl"
    assert reparse_run(journal) == []
    monkeypatch.setattr(deliberation, "parse_answer", strict)
    assert [change.after for change in reparse_run(journal)] == ["invalid: no winner is believed"] * 2
    monkeypatch.setattr(deliberation, "parse_answer", parse_answer)
    assert debatebench_here(root, "land", "--reparse", "--no-build").code == 0
    assert stored_rows(root, said) == kept
    assert stored_rows(root, NOTES) == noted
    assert len(server.requests) == bought


def test_a_deliberation_that_ended_early_has_no_verdict_whatever_a_later_parser_understands(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    def shy(received: Received) -> Behaviour:
        schema = schema_of(received)
        if schema and set(schema["properties"]) == {"winner", "reasons"}:
            return answer('{"winner": "THE FIRST", "reasons": {"winner": "It was clear."}}')
        return method_answer(received)

    with FakeProvider(shy) as server:
        root = stored_workspace(tmp_path, server.url, teams=0)
        assert judge(root, "judged", "--judge-method", "debatrix_v1", "--no-build").code == 5
    journal = root / "warehouse" / "journal" / "judged.jsonl"
    assert reparse_run(journal) == []
    lenient = lambda text, form: parse_answer(text.replace("THE FIRST", "pro"), form)  # noqa: E731
    monkeypatch.setattr(deliberation, "parse_answer", lenient)
    # The summary was never asked for, so there is still no verdict; but nothing that was said is lost.
    assert reparse_run(journal) == []
