"""A run whose tokens were priced by an older version, or at prices that have become known since, is priced again."""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from command_line import debatebench
from fake_provider import Behaviour, FakeProvider, Received, body, completion_body
from judging import stored_rows
from tournament import KEY, is_judge, verdict_text, write_workspace

from debatebench.journal.reading import read_journal
from debatebench.journal.writing import Journal, write_journal
from debatebench.play.repricing import reprice_run
from debatebench.play.resume import Resume

pytestmark = pytest.mark.slow

PROMPT, CACHED, COMPLETION = Decimal("0.000001"), Decimal("0.0000001"), Decimal("0.000002")
NEW = ("cached_tokens", "cache_write_tokens", "reasoning_tokens", "service_tier", "unpriced_reason", "possible_cost")


def caching(received: Received) -> Behaviour:
    """A server that caches most of a prompt, and does not say what it bills."""
    drawn = hashlib.sha256(received.body).digest()
    content = completion_body(verdict_text(received) if is_judge(received) else f"Speech {drawn.hex()[:8]}.")
    content["usage"] = {
        "prompt_tokens": 1000 + drawn[0],
        "completion_tokens": 10 + drawn[1],
        "total_tokens": 1010 + drawn[0] + drawn[1],
        "prompt_tokens_details": {"cached_tokens": 4 * drawn[2]},
    }
    return body(content)


def at_full_price(event: dict[str, Any]) -> dict[str, Any]:
    """The event as an older version wrote it: it knew neither cached tokens nor their price."""
    for row in event.get("records", {}).get("calls", ()) if event.get("of") == "call" else ():
        for name in NEW:
            row.pop(name, None)
        row |= {"cost": str(full(row)), "cost_source": "estimated"}
    if event.get("of") == "debate":
        for row in (*event["records"].get("turns", ()), *event["records"].get("verdicts", ())):
            row |= {"cost": str(full(row)), "cost_source": "estimated", "currency": "USD"}
    return event


def full(row: dict[str, Any]) -> Decimal:
    return (PROMPT * row["prompt_tokens"] + COMPLETION * row["completion_tokens"]).quantize(Decimal("1e-10"))


def by_hand(path: Path, cost: Callable[[dict[str, Any]], Decimal]) -> Decimal:
    """The sum over the bodies in a journal."""
    bodies = [json.loads(e.data["body"]) for e in read_journal(path) if e.data["type"] == "response"]
    return sum((cost(content["usage"]) for content in bodies), Decimal(0))


def right(usage: dict[str, Any]) -> Decimal:
    cached = usage["prompt_tokens_details"]["cached_tokens"]
    return PROMPT * (usage["prompt_tokens"] - cached) + CACHED * cached + COMPLETION * usage["completion_tokens"]


@pytest.fixture(scope="module")
def left(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A workspace with the run `tiny` as an older version left it, and the run `later`, played at all prices.

    Tests only read it.
    """
    with FakeProvider(caching) as server:
        root = write_workspace(tmp_path_factory.mktemp("left"), server)
        for name in ("models", "judges"):
            path = root / "configs" / f"{name}.yaml"
            path.write_text(path.read_text().replace("trust_reported_cost: true, ", ""))
        assert debatebench(root, "run", "--run-tag", "tiny", "--no-build", environ={"TINY_API_KEY": KEY}).code == 0
        for name in ("models", "judges"):
            path = root / "configs" / f"{name}.yaml"
            path.write_text(
                path.read_text().replace("completion: 0.000002", "completion: 0.000002, cached_prompt: 1e-7")
            )
        assert debatebench(root, "run", "--run-tag", "later", "--no-build", environ={"TINY_API_KEY": KEY}).code == 0
    journal = root / "warehouse" / "journal" / "tiny.jsonl"
    events = [at_full_price(event.data) for event in read_journal(journal)]
    journal.unlink()
    for beside in journal.parent.glob("tiny.jsonl*"):
        beside.unlink()
    written, _ = write_journal(journal, iter(events))
    assert written == journal
    done = debatebench(root, "land", "--replace")
    assert done.code == 0, done.err
    return root


@pytest.fixture
def old(left: Path, tmp_path: Path) -> Path:
    """A copy of it, to be changed."""
    return Path(shutil.copytree(left, tmp_path / "old"))


def costs(root: Path, run_tag: str = "tiny") -> tuple[Any, ...]:
    (row,) = stored_rows(
        root,
        "select cost_usd, estimated_cost_usd, repriced_cost_usd, count_unpriced, possible_cost_usd > 0 from marts.runs "
        f"where run_tag = '{run_tag}'",
    )
    return row


def test_an_older_run_is_priced_again_from_its_stored_replies(old: Path):
    journal = old / "warehouse" / "journal" / "tiny.jsonl"
    before = by_hand(journal, full)
    assert costs(old) == (before, before, None, 0, None)
    # Without a price of cached tokens, what they cost is not known.
    done = debatebench(old, "land", "--reparse", "--run-tag", "tiny")
    assert done.code == 0, done.err
    cost, _, repriced, unpriced, is_bounded = costs(old)
    assert (repriced, is_bounded) == (None, True)
    assert unpriced > 40
    assert (cost or 0) < before
    assert stored_rows(
        old, "select distinct unpriced_reason, cached_tokens > 0 from raw.calls where run_tag = 'tiny' and cost is null"
    ) == [("no price of cached_prompt tokens", True)]
    # With it, it is.
    done = debatebench(old, "land", "--reparse", "--prices", str(old / "configs" / "models.yaml"), "--no-build")
    assert done.code == 0, done.err
    done = debatebench(old, "land", "--reparse", "--prices", str(old / "configs" / "judges.yaml"))
    assert done.code == 0, done.err
    now = by_hand(journal, right)
    assert costs(old) == (now, None, now, 0, None)
    later = by_hand(old / "warehouse" / "journal" / "later.jsonl", right)
    assert costs(old, "later") == (later, later, None, 0, None)
    done = debatebench(old, "test", "--select", "+path:sql/marts/costs")
    assert done.code == 0, done.out


def test_pricing_again_changes_nothing_the_second_time_and_the_run_knows_its_new_cost(old: Path):
    journal = old / "warehouse" / "journal" / "tiny.jsonl"
    prices = old / "prices.yaml"
    lists = [(old / "configs" / f"{name}.yaml").read_text().partition("\n")[2] for name in ("models", "judges")]
    prices.write_text("models:\n" + "".join(lists))
    done = debatebench(
        old, "land", "--reparse", "--run-tag", "tiny", "--prices", str(prices), "--format", "csv", "--no-build"
    )
    assert done.code == 0, done.err
    assert "debater-0" in done.out
    size = journal.stat().st_size
    again = ("land", "--reparse", "--run-tag", "tiny", "--prices", str(prices), "--no-build")
    assert debatebench(old, *again).code == 0
    # Prices that were named once are kept.
    assert reprice_run(journal) == []
    assert journal.stat().st_size == size
    resume = Resume()
    with Journal.open(journal, resume.see):
        assert resume.ledger.total.known == by_hand(journal, right)
        assert resume.ledger.total.unknown == 0
    # The same prices, so nothing that was configured differs any more.
    assert stored_rows(old, "select distinct cost_source from raw.calls where run_tag = 'tiny'") == [("repriced",)]
    ours, theirs = (
        stored_rows(
            old, f"select part, value from raw.run_settings where item = 'prices' and run_tag = '{tag}' order by all"
        )
        for tag in ("tiny", "later")
    )
    assert ours == theirs
    assert ours


def test_only_the_prices_of_the_runs_differ_before(left: Path):
    ours, theirs = (
        set(stored_rows(left, f"select item, part, value from raw.run_settings where run_tag = '{tag}'"))
        for tag in ("tiny", "later")
    )
    assert {item for item, _, _ in ours ^ theirs} == {"prices"}


def test_a_saved_catalogue_gives_prices_and_a_file_without_any_is_refused(old: Path):
    catalogue = old / "catalogue.json"
    names = [f"debater-{n}" for n in range(3)] + [f"judge-{n}" for n in range(4)]
    pricing = {"prompt": str(PROMPT), "completion": str(COMPLETION), "input_cache_read": str(CACHED)}
    catalogue.write_text(json.dumps({"data": [{"id": name, "pricing": pricing} for name in names]}))
    done = debatebench(old, "land", "--reparse", "--run-tag", "tiny", "--prices", str(catalogue))
    assert done.code == 0, done.err
    assert costs(old)[2] == by_hand(old / "warehouse" / "journal" / "tiny.jsonl", right)
    catalogue.write_text("{}")
    assert (
        "is not a provider's catalogue" in debatebench(old, "land", "--reparse", "--prices", str(catalogue)).error_line
    )
    assert "--prices needs --reparse" in debatebench(old, "land", "--prices", str(catalogue)).error_line
