"""Money: what is billed, estimated, unknown and possible stays apart, and a limit stops before it can be passed."""

from __future__ import annotations

import asyncio
import json
import re
from decimal import Decimal
from pathlib import Path

import duckdb
import pytest
from billed_runs import billed_run
from fake_provider import Behaviour, FakeProvider, Received, answer, body, cut, delayed, error_in_200, html, status
from hypothesis import given
from hypothesis import strategies as st
from tournament import good_answers, is_judge, play, verdict_text, write_workspace

from debatebench.config.load import MemberConfig, Pricing
from debatebench.journal.reading import read_journal
from debatebench.play.budget import Ledger, Spending, largest_cost
from debatebench.play.progress import Pace, Progress, write_progress
from debatebench.providers.base import Message, Request
from debatebench.providers.served_models import parse_catalogue
from debatebench.shared.records import Call

pytestmark = pytest.mark.slow

PRICED = MemberConfig(
    id="m", provider="http", model="m", pricing=Pricing(prompt=Decimal("0.001"), completion=Decimal("0.002"))
)


def capped(root: Path) -> Path:
    """Give every debater and judge of a workspace a token limit."""
    for name in ("models.yaml", "judges.yaml"):
        path = root / "configs" / name
        path.write_text(path.read_text().replace("pricing:", "token_limit: 500, pricing:"))
    return root


def unpriced(root: Path) -> Path:
    """Take the prices away and ask through OpenRouter, whose catalogue has some."""
    for name in ("models.yaml", "judges.yaml"):
        path = root / "configs" / name
        text = re.sub(r", pricing: \{[^}]*\}", "", path.read_text())
        path.write_text(text.replace("provider: http", "provider: openrouter"))
    return root


def calls(root: Path) -> list[dict[str, object]]:
    """The rows of `raw.calls` that the journal holds."""
    return [
        row
        for event in read_journal(root / "warehouse" / "journal" / "tiny.jsonl")
        if event.data.get("of") == "call"
        for row in event.data["records"]["calls"]
    ]


# --- bounds -----------------------------------------------------------------------------------------------------------


@given(st.text(max_size=200), st.integers(1, 10_000))
def test_the_largest_cost_covers_one_token_per_byte_and_the_whole_limit(text: str, cap: int):
    bound = largest_cost(Request("m", (Message("user", text),), max_tokens=cap), PRICED)
    assert bound is not None
    assert bound >= Decimal("0.001") * len(text.encode("utf-8", "surrogatepass")) + Decimal("0.002") * cap


@pytest.mark.parametrize(
    ("member", "cap"),
    [(PRICED, None), (PRICED.model_copy(update={"pricing": None}), 100)],
    ids=["no limit", "no price"],
)
def test_nothing_bounds_a_request_without_a_token_limit_or_a_price(member: MemberConfig, cap: int | None):
    assert largest_cost(Request("m", (Message("user", "Hi."),), max_tokens=cap), member) is None


def test_what_is_simulated_without_a_price_costs_nothing():
    member = MemberConfig(id="m", provider="simulated", model="m")
    assert largest_cost(Request("m", (Message("user", "Hi."),)), member) == 0


def test_a_ledger_counts_open_attempts_in_full_and_settled_ones_as_they_are():
    ledger = Ledger()
    ledger.limit = Decimal(10)
    ledger.sent(("a", 1), Decimal(4))
    ledger.sent(("b", 1), Decimal(4))
    assert not ledger.fits(Decimal(3))
    ledger.settle(("a", 1), "answered", Decimal(1), "billed", None)
    assert ledger.fits(Decimal(5))
    assert not ledger.fits(Decimal("5.01"))
    ledger.settle(("b", 1), "ambiguous", None, None, Decimal(4))
    assert ledger.in_flight == 0
    assert ledger.left == 5, "what may have been billed still counts"
    assert ledger.total == Spending(billed=Decimal(1), unknown=1, possible=Decimal(4))


def test_a_declined_attempt_costs_nothing_and_an_answer_without_figures_is_unknown():
    ledger = Ledger()
    for number, status_ in enumerate(("retried", "unsent", "failed", "answered", "ambiguous")):
        ledger.sent((status_, number), None)
        ledger.settle((status_, number), status_, None, None, None)
    assert ledger.total == Spending(unknown=2, unbounded=2)


def test_unknown_money_is_never_reported_as_nothing():
    assert "no unknown costs" in Spending().summary()
    assert "no price or token limit bounds that cost" in Spending(unknown=2, unbounded=2).summary()
    text = Spending(billed=Decimal(1), unknown=3, possible=Decimal("0.5"), unbounded=1).summary()
    assert "at most 0.5000 USD, not counting 1 attempt without" in text


@given(st.lists(st.tuples(st.sampled_from(["answered", "ambiguous", "retried"]), st.booleans()), max_size=30))
def test_the_ledger_of_a_resumed_run_is_that_of_the_run_itself(attempts: list[tuple[str, bool]]):
    from debatebench.play.budget import settle_rows

    live, resumed = Ledger(), Ledger()
    for number, (status_, is_priced) in enumerate(attempts):
        cost = Decimal(number) if is_priced and status_ == "answered" else None
        row = Call(
            run_tag="r", call_id=f"c{number}", attempt=1, debate_id="d", step="s", purpose="turn", provider="p",
            model_id="m", model_name="m", status=status_, cost=cost, cost_source="billed" if cost is not None else None,
            possible_cost=Decimal(7) if status_ == "ambiguous" else None,
        )  # fmt: skip
        live.sent((row.call_id, 1), Decimal(7))
        live.settle((row.call_id, 1), row.status, row.cost, row.cost_source, row.possible_cost)
        resumed.seen((row.call_id, 1), Decimal(7))
        settle_rows(resumed, [row.model_dump(mode="json", exclude_defaults=True)])
    assert live.total == resumed.total


# --- a limit on a real run --------------------------------------------------------------------------------------------


def test_a_run_stops_before_the_request_that_could_pass_the_limit_and_goes_on_with_a_larger_one(tmp_path: Path):
    billed: list[Decimal] = []

    def script(received: Received) -> Behaviour:
        text = verdict_text(received) if is_judge(received) else "Speech."
        billed.append(Decimal("0.001"))
        return answer(text, usage={"cost": 0.001})

    with FakeProvider(script) as server:
        root = capped(write_workspace(tmp_path, server))
        done = play(root, "--max-cost", "0.02", "--concurrency", "6", "--no-build")
        assert done.code == 5, done.err
        assert "could cost up to" in done.error_line
        assert "--max-cost" in done.error_line
        assert Decimal("0.01") < sum(billed) <= Decimal("0.02"), "close to the limit, and never past it"
        before = len(billed)
        done = play(root, "--max-cost", "0.02", "--concurrency", "6", "--no-build")
        assert done.code == 5
        assert before <= len(billed) <= 20, "what earlier sessions spent counts"
        done = play(root, "--max-cost", "1", "--no-build")
        assert (done.code, len(billed)) == (0, 48)
    assert "Cost so far: 0.0480 USD billed" in done.err
    assert "The estimate for the whole plan was about" in done.err


def test_a_limit_waits_for_what_is_in_flight_before_it_gives_up(tmp_path: Path):
    """The bound of a request is many times its cost; were the bounds in flight final, half of the money would stay."""
    with FakeProvider(lambda received: delayed(0.01, good_answers(received))) as server:
        root = capped(write_workspace(tmp_path, server))
        assert play(root, "--no-build", "--max-cost", "0.075", "--concurrency", "24").code == 0
        assert server.most_in_flight > 1


def test_a_limit_without_a_token_limit_or_a_price_is_refused_before_any_call(tmp_path: Path):
    with FakeProvider(good_answers) as server:
        root = write_workspace(tmp_path, server)
        done = play(root, "--max-cost", "1")
        assert done.code == 2
        assert "give it a `token_limit`" in done.error_line
        models = root / "configs" / "models.yaml"
        text = models.read_text()
        models.write_text(text.replace("pricing:", "token_limit: 9, parameters: {max_tokens: null}, pricing:"))
        done = play(root, "--max-cost", "1")
        assert done.code == 2
        assert "the parameters of 'debater-0' remove the limit" in done.error_line
        models.write_text(text)
        models.write_text(re.sub(r", pricing: \{[^}]*\}", "", models.read_text()))
        done = play(root, "--max-cost", "1")
        assert done.code == 2
        assert "the price of 'debater-0' is unknown" in done.error_line
        assert server.requests == []


def test_ambiguous_attempts_are_bounded_by_what_they_may_have_cost(tmp_path: Path):
    paid: list[Decimal] = []

    def script(received: Received) -> Behaviour:
        paid.append(Decimal("0.0005"))
        text = verdict_text(received) if is_judge(received) else "Speech."
        return cut() if received.number % 5 == 2 else answer(text, usage={"cost": 0.0005})

    with FakeProvider(script) as server:
        root = capped(write_workspace(tmp_path, server))
        done = play(root, "--no-build", "--format", "json")
    assert done.code == 0, done.err
    rows = calls(root)
    recorded = sum(Decimal(str(row["cost"])) for row in rows if row.get("cost"))
    possible = sum(Decimal(str(row["possible_cost"])) for row in rows if row["status"] == "ambiguous")
    assert recorded < sum(paid) <= recorded + possible
    (report,) = json.loads(done.out)
    assert Decimal(str(report["billed_usd"])) == recorded
    assert Decimal(str(report["possible_usd"])) == possible
    assert report["unknown_attempts"] == sum(row["status"] == "ambiguous" for row in rows)


@pytest.mark.parametrize(
    "usage",
    [
        {"prompt_tokens": 0, "completion_tokens": 0, "total_tokens": 0},
        {"prompt_tokens": 900, "completion_tokens": 0, "total_tokens": 900},
        None,
    ],
    ids=["zeros", "a text of no tokens", "nothing"],
)
def test_a_server_that_does_not_count_is_not_free(tmp_path: Path, usage: dict[str, int] | None):
    def script(received: Received) -> Behaviour:
        text = verdict_text(received) if is_judge(received) else "A speech with a reason."
        return body({"choices": [{"finish_reason": "stop", "message": {"content": text}}], "usage": usage})

    with FakeProvider(script) as server:
        root = capped(write_workspace(tmp_path, server))
        done = play(root, "--max-cost", "0.006", "--concurrency", "1")
        asked = len(server.requests)
    assert done.code == 5, done.err
    assert "--max-cost" in done.error_line
    rows = calls(root)
    assert 0 < asked < 48
    assert len(rows) == asked
    assert all(row["status"] == "answered" and row.get("cost") is None for row in rows)
    possible = sum(Decimal(str(row["possible_cost"])) for row in rows)
    assert Decimal("0.004") < possible <= Decimal("0.006"), "each counts at its bound"
    assert f"{asked} attempts may have been billed at an unknown cost" in done.err
    query = "select cost_usd, count_unpriced, possible_cost_usd from marts.runs"
    with duckdb.connect(str(root / "warehouse" / "debatebench.duckdb"), read_only=True) as con:
        assert con.execute(query).fetchone() == (None, asked, possible)


@pytest.mark.slow_inputs
@pytest.mark.parametrize("gives_up", [html(524), status(504), error_in_200(524), html(503)])
def test_a_gateway_that_gives_up_is_not_free(tmp_path: Path, gives_up: Behaviour):
    """Behind it, the provider completes and bills the answer; each call is answered at the second attempt."""
    seen: set[bytes] = set()

    def script(received: Received) -> Behaviour:
        if received.body in seen:
            return good_answers(received)
        seen.add(received.body)
        return gives_up

    with FakeProvider(script) as server:
        root = capped(write_workspace(tmp_path, server))
        done = play(root, "--no-build", "--max-cost", "0.02", "--concurrency", "1")
    assert done.code == 5, done.err
    assert "exceed the limit" in done.error_line
    rows = calls(root)
    given_up = [row for row in rows if row["status"] != "answered"]
    assert len(given_up) == len(seen) > 2
    assert {(row["status"], row.get("cost")) for row in given_up} == {("ambiguous", None)}
    possible = sum(Decimal(str(row["possible_cost"])) for row in given_up)
    known = sum(Decimal(str(row["cost"])) for row in rows if row.get("cost"))
    assert Decimal("0.015") < possible + known <= Decimal("0.02")
    assert f"{len(seen)} attempts may have been billed at an unknown cost" in done.err


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_a_limit_is_never_passed_by_what_the_server_billed(tmp_path: Path, seed: int):
    run = billed_run(tmp_path / "root", seed)
    assert run.known <= run.billed <= run.limit
    assert run.billed <= run.known + run.possible
    assert run.statuses["ambiguous"] > 0


def test_fewer_ambiguous_retries_end_a_call_sooner_and_more_go_on_with_it(tmp_path: Path):
    broken = [True]

    def script(received: Received) -> Behaviour:
        first = not is_judge(received) and received.json["model"] == "debater-0"
        return cut() if broken and first else good_answers(received)

    with FakeProvider(script) as server:
        root = write_workspace(tmp_path, server)
        done = play(root, "--no-build", "--max-ambiguous-retries", "0", "--max-failures-in-a-row", "0")
        assert done.code == 5
        ambiguous = [row for row in calls(root) if row["status"] == "ambiguous"]
        assert len(ambiguous) == len({row["call_id"] for row in ambiguous}) == 8
        broken.clear()
        asked = len(server.requests)
        assert play(root, "--no-build", "--max-ambiguous-retries", "0", "--max-failures-in-a-row", "0").code == 5
        assert len(server.requests) == asked, "exhausted calls are listed, and not asked again"
        assert play(root, "--no-build", "--retry-failed").code == 0


# --- prices of the catalogue ------------------------------------------------------------------------------------------


def test_a_catalogue_is_read_with_care():
    listed = parse_catalogue(
        json.dumps(
            {
                "data": [
                    {"id": "a", "pricing": {"prompt": "0.000001", "completion": "0.000002", "request": "0"}},
                    {"id": "router", "pricing": {"prompt": "-1", "completion": "-1"}},
                    {"id": "fee", "pricing": {"prompt": "0.1", "completion": "0.1", "request": "0.01"}},
                    {"id": "nan", "pricing": {"prompt": "NaN", "completion": "1e-6"}},
                    {"id": "true", "pricing": {"prompt": True, "completion": "1e-6"}},
                    {"id": "none", "name": "Free \x1b[31mtext"},
                    {"pricing": {"prompt": "0"}},
                    "nonsense",
                ]
            }
        ).encode()
    )
    assert {name: model.pricing is not None for name, model in listed.items()} == {
        "a": True, "router": False, "fee": True, "nan": False, "true": False, "none": False,
    }  # fmt: skip
    assert listed["none"].name == "Free [31mtext"


def test_prices_of_the_catalogue_are_frozen_when_the_run_begins(tmp_path: Path):
    catalogue = {
        "data": [{"id": f"debater-{n}", "pricing": {"prompt": "1e-6", "completion": "2e-6"}} for n in range(3)]
    }
    catalogue["data"] += [{"id": f"judge-{n}", "pricing": {"prompt": "1e-6", "completion": "2e-6"}} for n in range(4)]
    dead = [True]

    def script(received: Received) -> Behaviour:
        if dead and received.number > 5:
            return status(402)
        text = verdict_text(received) if is_judge(received) else "Speech."
        return answer(text, usage={"cost": None, "prompt_tokens": 100, "completion_tokens": 10, "total_tokens": 110})

    with FakeProvider(script) as server:
        server.catalogue = json.dumps(catalogue).encode()
        root = unpriced(write_workspace(tmp_path, server))
        assert play(root, "--no-build").code == 1
        assert server.catalogue_reads == 1
        server.catalogue = b"gone"
        dead.clear()
        done = play(root, "--no-build")
        assert done.code == 0, done.err
        assert server.catalogue_reads == 1, "a run that goes on has its prices"
    assert {row.get("cost_source") for row in calls(root) if row["status"] == "answered"} == {"estimated"}
    assert "Cost so far: 0.0000 USD billed, 0.0058 USD estimated" in done.err


def test_a_catalogue_that_cannot_be_read_is_a_warning_and_prices_stay_unknown(tmp_path: Path):
    with FakeProvider(lambda r: answer(verdict_text(r) if is_judge(r) else "S.", usage={"cost": None})) as server:
        root = unpriced(write_workspace(tmp_path, server))
        done = play(root, "--no-build")
    assert done.code == 0, done.err
    assert done.err.count("Warning: The catalogue of 'openrouter' could not be read") == 1
    assert "48 attempts may have been billed at an unknown cost" in done.err


# --- progress ---------------------------------------------------------------------------------------------------------


def test_the_pace_is_that_of_the_last_seconds():
    pace = Pace(window_s=10)
    assert pace.see(0.0, 0) is None
    assert pace.see(5.0, 50) == 10
    assert pace.see(100.0, 60) == pytest.approx(10 / 95)
    assert pace.see(110.0, 160) == 10


def test_the_progress_of_a_run_is_a_file_for_scripts_that_keeps_the_last_state(tmp_path: Path):
    failing = [True]

    def script(received: Received) -> Behaviour:
        return status(400, "No.") if failing and received.json["model"] == "debater-0" else good_answers(received)

    with FakeProvider(script) as server:
        root = write_workspace(tmp_path, server)
        assert play(root, "--no-build", "--max-failures-in-a-row", "0").code == 5
        path = root / "warehouse" / "progress" / "tiny.json"
        told = json.loads(path.read_text())
        assert (told["state"], told["debates"]) == ("incomplete", {"planned": 12, "complete": 4, "incomplete": 8})
        assert len(told["missing"]) == 8
        assert "No." in told["missing"][0]["reason"]
        failing.clear()
        assert play(root, "--no-build", "--retry-failed").code == 0
    told = json.loads(path.read_text())
    assert (told["state"], told["missing"], told["calls"]["in_flight"], told["calls"]["left"]) == ("finished", [], 0, 0)
    assert Decimal(told["cost_usd"]["billed"]) > 0


def test_progress_that_cannot_be_projected_is_null(tmp_path: Path):
    from datetime import datetime

    write_progress(tmp_path / "p.json", "t", Progress(debates_planned=3, calls_left=12), state="playing",
                   now=datetime(2026, 1, 1))  # fmt: skip
    told = json.loads((tmp_path / "p.json").read_text())
    assert told["calls"]["left"] == 12
    assert (told["eta_s"], told["cost_usd"]["projected"], told["calls"]["per_second"]) == (None, None, None)


def test_whoever_waits_for_the_ledger_wakes_when_an_attempt_settles():
    async def main() -> bool:
        ledger = Ledger()
        ledger.limit = Decimal(1)
        ledger.sent(("a", 1), Decimal(1))
        waiting = asyncio.create_task(ledger.changed())
        await asyncio.sleep(0)
        ledger.settle(("a", 1), "answered", Decimal("0.1"), "billed", None)
        await waiting
        return ledger.fits(Decimal("0.9"))

    assert asyncio.run(main())
