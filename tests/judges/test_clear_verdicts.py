"""A verdict with one reading counts over real HTTP: it is paid once, and one that did not count before does now."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from command_line import debatebench, debatebench_here
from fake_provider import Behaviour, FakeProvider, Received, body, completion_body
from judging import KEY, calls_of, judge, method_answer, schema_of, stored_rows, stored_workspace
from tournament import play, write_workspace

from debatebench.config.answer_form import AnswerForm
from debatebench.judges import METHODS, deliberation
from debatebench.judges.answer_json import InvalidVerdictError
from debatebench.judges.parsing import ParsedAnswer, parse_answer
from debatebench.play.reparsing import reparse_run
from debatebench.providers import openai_compatible

VERDICTS = "select debate_id, judge_id, is_valid, declared_winner, scores from raw.verdicts where run_tag = 'judged'"


def good_text(received: Received) -> str:
    """The text of the good answer to a request."""
    said: list[str] = []

    def kept(text: str) -> str:
        said.append(text)
        return text

    method_answer(received, edit=kept)
    return said[0]


def answered(change: Callable[[str], dict[str, Any]]) -> Callable[[Received], Behaviour]:
    """A server whose decisions are as `change` makes the body of the good text; analyses are good."""

    def script(received: Received) -> Behaviour:
        if schema_of(received) is None:
            return method_answer(received)
        return body({**completion_body(), **change(good_text(received))})

    return script


def choice(finish_reason: str = "stop", **message: Any) -> dict[str, Any]:
    return {"choices": [{"index": 0, "finish_reason": finish_reason, "message": {"role": "assistant", **message}}]}


def in_tool_call(text: str) -> dict[str, Any]:
    return choice("tool_calls", content=None, tool_calls=[{"function": {"name": "verdict", "arguments": text}}])


ODD: dict[str, Callable[[str], dict[str, Any]]] = {
    "trailing comma": lambda text: choice(content=text[:-1] + ",}"),
    "wrapper": lambda text: choice(content=f'{{"verdict": {text}}}'),
    "tool call": in_tool_call,
    "object": lambda text: choice(content=json.loads(text)),
    "blanks to the limit": lambda text: choice("length", content=text + "\n" * 300),
}


@pytest.mark.slow_inputs
@pytest.mark.slow
@pytest.mark.parametrize("method", METHODS)
def test_every_step_of_every_method_takes_a_clear_answer_and_asks_once(method: str, tmp_path: Path):
    with FakeProvider(method_answer) as server:
        calm = stored_workspace(tmp_path / "calm", server.url)
        assert judge(calm, "judged", "--judge-method", method, "--no-build").code == 0
    for name, change in ODD.items():
        with FakeProvider(answered(change)) as server:
            root = stored_workspace(tmp_path / name, server.url)
            done = judge(root, "judged", "--judge-method", method, "--no-build")
            assert done.code == 0, done.err
            assert len(server.requests) == calls_of(method, 5, 2) + calls_of(method, 8, 4)
        assert stored_rows(root, f"{VERDICTS} order by all") == stored_rows(calm, f"{VERDICTS} order by all")
        marks = "select distinct is_repaired, is_truncated_after_verdict from raw.verdicts where run_tag = 'judged'"
        is_cut = name == "blanks to the limit"
        assert stored_rows(root, marks) == [(not is_cut, is_cut)]
        journal = root / "warehouse" / "journal" / "judged.jsonl"
        assert reparse_run(journal) == [], "what is stored is read again as it was read"


def strict(text: str, form: AnswerForm) -> ParsedAnswer:
    """An earlier version, which took nothing but the object."""
    answer = parse_answer(text, form)
    if answer.is_repaired:
        raise InvalidVerdictError("the JSON object in the answer is not well-formed")
    return answer


def as_an_earlier_version(patch: pytest.MonkeyPatch) -> None:
    """Read as a version did that knew neither slips, nor tool calls, nor what comes after a whole object."""

    def decision(said: Any, form: AnswerForm) -> ParsedAnswer:
        if deliberation.is_cut_off(said):
            raise InvalidVerdictError("the answer was cut off at the limit of tokens")
        return strict(said.text, form)

    patch.setattr(deliberation, "_decision_in", decision)
    patch.setattr(openai_compatible, "asks_for_object", lambda request: False)


@pytest.mark.slow_inputs
@pytest.mark.slow
@pytest.mark.parametrize("name", ODD)
@pytest.mark.parametrize("way", ["land --reparse", "retry"])
def test_a_clear_answer_that_an_earlier_version_did_not_count_counts_now(
    name: str, way: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    with FakeProvider(method_answer) as server:
        calm = stored_workspace(tmp_path / "calm", server.url)
        assert judge(calm, "judged", "--no-build").code == 0
    monkeypatch.setenv("TINY_API_KEY", KEY)
    with FakeProvider(answered(ODD[name])) as server:
        root = stored_workspace(tmp_path / "odd", server.url)
        with monkeypatch.context() as patch:
            as_an_earlier_version(patch)
            assert debatebench_here(root, "judge", "stored", "--as", "judged", "--no-build").code == 5
        assert stored_rows(root, "select distinct is_valid from raw.verdicts where run_tag = 'judged'") == [(False,)]
        bought = len(server.requests)
        if way == "retry":
            assert debatebench(root, "retry", "judged", "--no-build", environ={"TINY_API_KEY": KEY}).code == 0
        else:
            assert debatebench(root, "land", "--reparse", "--no-build").code == 0
        assert len(server.requests) == bought, "nothing is bought again"
    assert stored_rows(root, f"{VERDICTS} order by all") == stored_rows(calm, f"{VERDICTS} order by all")
    marks = "select distinct is_repaired, is_truncated_after_verdict, raw_response is null from raw.verdicts"
    is_cut = name == "blanks to the limit"
    assert stored_rows(root, f"{marks} where run_tag = 'judged'") == [(not is_cut, is_cut, False)]
    assert reparse_run(root / "warehouse" / "journal" / "judged.jsonl") == []


@pytest.mark.slow
def test_an_earlier_answer_counts_where_the_last_one_cannot_be_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    def script(received: Received) -> Behaviour:
        if "could not be used" in received.prompt:
            return body({**completion_body(), **choice(content="Pro won, as I said.")})
        return answered(ODD["trailing comma"])(received)

    monkeypatch.setenv("TINY_API_KEY", KEY)
    with FakeProvider(script) as server:
        root = stored_workspace(tmp_path, server.url, teams=0)
        with monkeypatch.context() as patch:
            as_an_earlier_version(patch)
            assert debatebench_here(root, "judge", "stored", "--as", "judged", "--no-build").code == 5
    journal = root / "warehouse" / "journal" / "judged.jsonl"
    (change,) = reparse_run(journal)
    assert change.debate_status == "complete"
    assert debatebench_here(root, "land", "--no-build").code == 0
    (found,) = stored_rows(root, "select is_valid, asks, raw_response from raw.verdicts where run_tag = 'judged'")
    assert found[:2] == (True, 2)
    assert found[2].endswith(",}"), "the verdict shows the answer that counts"
    assert reparse_run(journal) == []


@pytest.mark.slow
def test_a_debater_that_calls_a_tool_has_given_no_speech(tmp_path: Path):
    def script(received: Received) -> Behaviour:
        return body({**completion_body(), **in_tool_call('{"speech": "Cars kill."}')})

    with FakeProvider(script) as server:
        root = write_workspace(tmp_path, server)
        assert play(root, "--no-build", "--max-failures-in-a-row", "0", "--debates-per-pair", "1").code == 5
    assert stored_rows(root, "select count(*) from raw.turns") == [(0,)]


CASES = [
    "01-newline-in-reason/reply.json",
    "04-same-object-twice-or-wrapped/reply-comma.json",
    "04-same-object-twice-or-wrapped/reply-list.json",
    "04-same-object-twice-or-wrapped/reply-string.json",
    "04-same-object-twice-or-wrapped/reply-twice.json",
    "04-same-object-twice-or-wrapped/reply-wrapped.json",
    "06-verdict-in-tool-call/reply.json",
    "06-verdict-in-tool-call/reply-object.json",
    "08-whole-object-then-blanks-to-the-limit/reply.json",
]
DIMENSIONS = ("logic", "evidence", "clash", "burden", "clarity")


@pytest.mark.slow_inputs
@pytest.mark.slow
@pytest.mark.parametrize("case", CASES)
def test_a_reply_that_was_paid_twice_and_thrown_away_is_a_verdict(case: str, shared: Path, tmp_path: Path):
    reply = (shared / "cases" / case).read_bytes()
    with FakeProvider([body(reply)]) as server:
        root = stored_workspace(tmp_path, server.url, teams=0)
        config = root / "configs" / "config.yaml"
        head = config.read_text().partition("  dimensions:")[0]
        config.write_text(head + "  dimensions:\n" + "".join(f"    {name}: {{weight: 1}}\n" for name in DIMENSIONS))
        done = judge(root, "judged", "--no-build")
        assert done.code == 0, done.err
        assert len(server.requests) == 1
    rows = stored_rows(root, "select scores, is_repaired, is_truncated_after_verdict from raw.verdicts "
                             "where run_tag = 'judged'")  # fmt: skip
    (found,) = rows
    assert [(score["pro"], score["con"]) for score in found[0]] == [(8, 6)] * 5
    assert found[1:] == ((False, True) if case.startswith("08") else (True, False))
