"""Every sum of tokens and cost is that of the replies in the journal, whatever is unknown about some of them."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from built_warehouse import begin_built
from command_line import debatebench
from fake_provider import Behaviour, FakeProvider, Received, body, completion_body
from judging import method_answer, stored_rows
from tournament import KEY, good_answers, is_judge, write_workspace

METHODS = ("direct", "dimensional_v1", "debatrix_v1")
# As `write_workspace` configures them.
PROMPT_PRICE, COMPLETION_PRICE = Decimal("0.000001"), Decimal("0.000002")


@dataclass
class Spent:
    """The sums over some replies. Unknown amounts are counted, and leave the known ones as they are."""

    tokens: int = 0
    cost: Decimal = Decimal(0)
    unmetered: int = 0
    unpriced: int = 0

    def add(self, usage: dict[str, Any]) -> None:
        prompt, completion = usage.get("prompt_tokens"), usage.get("completion_tokens")
        billed = usage.get("cost")
        if prompt is None or completion is None:
            self.unmetered += 1
        else:
            self.tokens += prompt + completion
        if billed is not None:
            self.cost += round(Decimal(str(billed)), 10)
        elif prompt is None or completion is None:
            self.unpriced += 1
        else:
            self.cost += PROMPT_PRICE * prompt + COMPLETION_PRICE * completion


@dataclass
class Journal:
    """What the replies in a journal say, by what was asked."""

    run: Spent = field(default_factory=Spent)
    by_debate: dict[str, Spent] = field(default_factory=dict)
    by_member: dict[tuple[str, str], Spent] = field(default_factory=dict)
    by_verdict: dict[tuple[str, str], Spent] = field(default_factory=dict)
    by_turn: dict[str, Spent] = field(default_factory=dict)


def read(path: Path) -> Journal:
    """The journal's replies, read without any of the project's code."""
    found, asked = Journal(), {}
    for line in path.read_bytes().splitlines():
        event = json.loads(line.split(b" ", 2)[2])
        if event["type"] == "intent":
            asked[event["call_id"], event["attempt"]] = event
        elif event["type"] == "response":
            intent = asked[event["call_id"], event["attempt"]]
            usage = json.loads(event["body"]).get("usage") or {}
            member = (intent["purpose"], intent["member"])
            places = [
                found.run,
                found.by_debate.setdefault(intent["debate_id"], Spent()),
                found.by_member.setdefault(member, Spent()),
            ]
            if intent["purpose"] == "verdict":
                places.append(found.by_verdict.setdefault((intent["debate_id"], intent["member"]), Spent()))
            else:
                places.append(found.by_turn.setdefault(intent["step"].split(":")[1], Spent()))
            for place in places:
                place.add(usage)
    return found


def troubled(seed: str) -> Callable[[Received], Behaviour]:
    """Good answers to debaters and judges of every method, of which a seeded draw makes some empty, refused or silent.

    Silent answers, empty ones and refusals have no usage, only one half of it, no cost, or all of it.
    """
    seen: Counter[bytes] = Counter()

    def script(received: Received) -> Behaviour:
        seen[received.body] += 1
        drawn = hashlib.sha256(f"{seed} {seen[received.body]}".encode() + received.body).digest()
        usage = {"prompt_tokens": 100 + drawn[0], "completion_tokens": 10 + drawn[1], "cost": (1 + drawn[2]) / 1e7}
        usage["total_tokens"] = usage["prompt_tokens"] + usage["completion_tokens"]
        reported: Any = usage
        if drawn[3] < 90:
            reported = {"cost": None, **{name: count for name, count in usage.items() if name != "cost"}}
        if drawn[3] < 60:
            reported = {"prompt_tokens": usage["prompt_tokens"]}
        if drawn[3] < 40:
            reported = None
        text = completion_text(received)
        if drawn[4] < 12:
            return with_usage(reported, text, choice={"finish_reason": "content_filter"})
        return with_usage(reported, "" if drawn[4] < 50 else text)

    return script


def completion_text(received: Received) -> str:
    """The text that a well-behaved server gives."""
    said: list[bytes] = []

    class Listening:
        def send(self, status: int, headers: Any, data: bytes) -> None:
            said.append(data)

    (method_answer if is_judge(received) else good_answers)(received)(Listening())  # type: ignore[arg-type]
    return str(json.loads(said[0])["choices"][0]["message"]["content"])


def with_usage(usage: dict[str, Any] | None, text: str, **changes: Any) -> Behaviour:
    content = completion_body(text, **changes)
    content["usage"] = usage
    return body(content)


@pytest.fixture(scope="module")
def troubled_run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A finished run with judges of three methods."""
    root = begin_built(tmp_path_factory.mktemp("troubled"))
    with FakeProvider(troubled("a")) as server:
        write_workspace(root, server, judges=len(METHODS))
        judges = root / "configs" / "judges.yaml"
        lines = judges.read_text().splitlines()
        for number, method in enumerate(METHODS):
            lines[1 + number] = lines[1 + number].replace(
                "prompt_style:", f"method: {method}, parameters: {{structured_output: true}}, prompt_style:"
            )
        config = root / "configs" / "config.yaml"
        config.write_text(config.read_text().replace("judges_per_debate: 2", "judges_per_debate: 3"))
        judges.write_text("\n".join(lines) + "\n")
        done = debatebench(root, "run", "--run-tag", "tiny", environ={"TINY_API_KEY": KEY})
    assert (root / "warehouse" / "debatebench.duckdb").exists(), done.err
    return root


@pytest.fixture(scope="module")
def said(troubled_run: Path) -> Journal:
    return read(troubled_run / "warehouse" / "journal" / "tiny.jsonl")


def expected(spent: Spent) -> tuple[Any, ...]:
    return (spent.tokens or None, spent.cost or None, spent.unmetered, spent.unpriced)


def quantile(amounts: list[Decimal], share: Decimal) -> float:
    """A quantile of sorted amounts, on the line between the two nearest."""
    place = share * (len(amounts) - 1)
    below = int(place)
    above = min(below + 1, len(amounts) - 1)
    return float(amounts[below] + (place - below) * (amounts[above] - amounts[below]))


SUMS = "total_tokens, cost_usd, count_unmetered, count_unpriced"


@pytest.mark.slow
class TestSumsAreThoseOfTheReplies:
    def test_something_is_unknown_everywhere(self, said: Journal):
        assert said.run.unpriced > 10
        assert all(spent.unpriced and spent.cost for spent in said.by_member.values())

    def test_of_the_run(self, troubled_run: Path, said: Journal):
        assert stored_rows(troubled_run, f"select {SUMS} from marts.runs") == [expected(said.run)]

    def test_of_every_debate(self, troubled_run: Path, said: Journal):
        rows = stored_rows(troubled_run, f"select debate_id, {SUMS} from marts.debate_costs")
        assert {row[0]: row[1:] for row in rows} == {key: expected(spent) for key, spent in said.by_debate.items()}
        shown = stored_rows(troubled_run, "select debate_id, total_tokens, cost_usd, count_unpriced from marts.debates")
        assert {row[0]: row[1:] for row in shown} == {row[0]: (row[1], row[2], row[4]) for row in rows}

    def test_of_every_debater_and_judge(self, troubled_run: Path, said: Journal):
        rows = stored_rows(
            troubled_run,
            f"select 'turn', model_id, {SUMS} from marts.debater_costs "
            f"union all select 'verdict', judge_id, {SUMS} from marts.judge_costs",
        )
        assert {row[:2]: row[2:] for row in rows} == {key: expected(spent) for key, spent in said.by_member.items()}
        board = stored_rows(
            troubled_run, "select model_id, total_tokens, cost_usd, count_unpriced from marts.leaderboard"
        )
        assert {("turn", row[0]): row[1:] for row in board} == {
            row[:2]: (row[2], row[3], row[5]) for row in rows if row[0] == "turn"
        }

    def test_of_every_stage(self, troubled_run: Path, said: Journal):
        (verdicts,) = stored_rows(troubled_run, f"select {SUMS} from marts.stage_costs where role = 'judge'")
        (opening,) = stored_rows(troubled_run, f"select {SUMS} from marts.stage_costs where stage = 'opening'")
        together = Spent()
        for spent in said.by_turn.values():
            together.tokens += spent.tokens
            together.cost += spent.cost
            together.unmetered += spent.unmetered
            together.unpriced += spent.unpriced
        assert opening == expected(together)
        assert verdicts[1] == said.run.cost - together.cost

    def test_of_every_verdict(self, troubled_run: Path, said: Journal):
        rows = stored_rows(troubled_run, f"select debate_id, judge_id, {SUMS} from intermediate.int_verdict_costs")
        assert {row[:2]: row[2:] for row in rows} == {key: expected(spent) for key, spent in said.by_verdict.items()}

    def test_the_cost_of_a_debater_is_known_as_a_whole_or_not_at_all(self, troubled_run: Path, said: Journal):
        rows = stored_rows(troubled_run, "select model_id, full_cost_usd from marts.debater_value")
        assert dict(rows) == {
            member: None if spent.unpriced else spent.cost
            for (purpose, member), spent in said.by_member.items()
            if purpose == "turn"
        }

    def test_medians_are_over_the_debates_of_known_cost(self, troubled_run: Path, said: Journal):
        known = sorted(spent.cost for spent in said.by_debate.values() if not spent.unpriced)
        rows = stored_rows(troubled_run, "select count_priced_debates, median_debate_cost_usd from marts.runs")
        assert rows == [(len(known), pytest.approx(quantile(known, Decimal("0.5")), rel=1e-9) if known else None)]
        p90s = stored_rows(
            troubled_run, "select judge_id, count_priced_debates, p90_debate_cost_usd from marts.judge_costs"
        )
        for judge_id, count, p90 in p90s:
            own = sorted(s.cost for (_, judge), s in said.by_verdict.items() if judge == judge_id and not s.unpriced)
            assert (count, p90) == (len(own), pytest.approx(quantile(own, Decimal("0.9")), rel=1e-9) if own else None)

    def test_calls_of_every_model_are_those_of_the_journal(self, troubled_run: Path):
        calls: dict[tuple[str, str], dict[str, list[tuple[str, float]]]] = {}
        asked = {}
        for line in (troubled_run / "warehouse" / "journal" / "tiny.jsonl").read_bytes().splitlines():
            event = json.loads(line.split(b" ", 2)[2])
            if event["type"] == "intent":
                asked[event["call_id"], event["attempt"]] = (event["purpose"], event["model"])
            elif event["type"] == "response":
                (choice,) = json.loads(event["body"])["choices"]
                is_refused = choice["finish_reason"] == "content_filter"
                became = "refused" if is_refused else "answered" if choice["message"]["content"] else "empty"
                attempts = calls.setdefault(asked[event["call_id"], event["attempt"]], {})
                attempts.setdefault(event["call_id"], []).append((became, event["duration_ms"]))

        rows = stored_rows(
            troubled_run,
            "select purpose, model_name, count_calls, count_attempts, count_retries, count_refused, count_empty, "
            "count_errors, count_answered_calls, count_timeouts, median_duration_ms from marts.calls",
        )
        assert {row[:2] for row in rows} == set(calls)
        for purpose, model, *found, median in rows:
            every = [attempt for attempts in calls[purpose, model].values() for attempt in attempts]
            count, by_kind = len(calls[purpose, model]), Counter(kind for kind, _ in every)
            refused, empty, answered = (by_kind[kind] for kind in ("refused", "empty", "answered"))
            assert found == [
                count, len(every), len(every) - count, refused, empty, refused + empty, answered, 0
            ]  # fmt: skip
            durations = sorted(Decimal(str(ms)) for kind, ms in every if kind == "answered")
            assert median == pytest.approx(quantile(durations, Decimal("0.5")))

    def test_the_data_tests_agree(self, troubled_run: Path):
        done = debatebench(troubled_run, "test", "--select", "+path:sql/marts/costs")
        assert done.code == 0, done.out
