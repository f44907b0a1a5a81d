"""Requests that are served in another tier than they asked for are priced as served, and named."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from command_line import debatebench
from fake_provider import Behaviour, FakeProvider, Received, body, completion_body
from judging import stored_rows
from tournament import KEY, is_judge, verdict_text, write_workspace

from debatebench.config.types import MemberConfig, Pricing
from debatebench.providers.prices import most_of
from debatebench.shared.service_tiers import served_otherwise

FLEX = "tiers: {flex: {prompt: 0.0000005, completion: 0.000001}}"


def tiered(received: Received) -> Behaviour:
    """Every second request is served in the standard tier, whatever it asked for."""
    content = completion_body(verdict_text(received) if is_judge(received) else "A speech.")
    content["usage"] = {"prompt_tokens": 100, "completion_tokens": 10, "total_tokens": 110}
    content["service_tier"] = received.json.get("service_tier", "default") if received.number % 2 else "default"
    return body(content)


def priority(received: Received) -> Behaviour:
    content = completion_body(verdict_text(received) if is_judge(received) else "A speech.")
    content["usage"] = {"prompt_tokens": 100, "completion_tokens": 10, "total_tokens": 110}
    return body({**content, "service_tier": "priority"})


def workspace(root: Path, server: FakeProvider, *changes: tuple[str, str]) -> Path:
    write_workspace(root, server)
    for name in ("models", "judges"):
        path = root / "configs" / f"{name}.yaml"
        text = path.read_text().replace("trust_reported_cost: true", "token_limit: 50")
        for old, new in changes:
            text = text.replace(old, new)
        path.write_text(text)
    return root


def test_only_another_tier_than_the_one_asked_for_is_named():
    asked = {"a": "flex", "b": None, "c": "auto"}
    served: dict[tuple[str, str], int] = {
        ("a", "flex"): 3,
        ("a", "default"): 2,
        ("b", "standard"): 5,
        ("c", "ON_DEMAND"): 5,
        ("b", "priority"): 1,
    }
    told = dict(served_otherwise(asked, served))
    assert set(told) == {"a", "b"}
    assert "2 attempts of 'a' asked for the tier 'flex' and were served in 'default'" in told["a"]


def test_a_tier_that_is_asked_for_needs_a_price_for_a_bound():
    prices: dict[str, Any] = {"prompt": Decimal("0.000001"), "completion": Decimal("0.000002")}
    member = MemberConfig(
        id="m", provider="http", model="m", parameters={"service_tier": "flex"}, pricing=Pricing(**prices)
    )
    assert most_of(member, 10, 10) is None


@pytest.mark.slow
def test_a_request_is_priced_in_the_tier_that_served_it_and_the_difference_is_named(tmp_path: Path):
    with FakeProvider(tiered) as server:
        root = workspace(
            tmp_path / "run",
            server,
            ("completion: 0.000002", f"completion: 0.000002, {FLEX}"),
            ("prompt_style:", "parameters: {service_tier: flex}, prompt_style:"),
        )
        done = debatebench(root, "run", "--run-tag", "tiny", environ={"TINY_API_KEY": KEY})
    assert done.code == 0, done.err
    assert "asked for the tier 'flex' and were served in 'default'" in done.err
    full, half = Decimal("0.00012"), Decimal("0.00006")
    rows = stored_rows(root, "select service_tier, cost, count(*) > 0 from raw.calls group by all order by all")
    assert rows == [("default", full, True), ("flex", half, True)]
    doctor = debatebench(root, "doctor", "--format", "json")
    assert "other_tier" in doctor.out
    tiers = stored_rows(root, "select distinct value from raw.run_settings where item = 'service_tiers'")
    assert {tier for (value,) in tiers for tier in value.split(" and ")} == {"flex", "standard"}


@pytest.mark.slow
def test_a_limit_stops_the_run_at_a_tier_without_a_price(tmp_path: Path):
    with FakeProvider(priority) as server:
        root = workspace(tmp_path / "run", server)
        done = debatebench(
            root, "run", "--run-tag", "tiny", "--max-cost", "1", "--concurrency", "1", environ={"TINY_API_KEY": KEY}
        )
        assert len(server.requests) == 1
    assert done.code != 0
    assert "no price of the tier 'priority'" in done.error_line
    with FakeProvider(tiered) as server:
        root = workspace(
            tmp_path / "asked", server, ("prompt_style:", "parameters: {service_tier: flex}, prompt_style:")
        )
        done = debatebench(root, "run", "--run-tag", "tiny", "--max-cost", "1", environ={"TINY_API_KEY": KEY})
        assert not server.requests
    assert "asks for the tier 'flex', whose prices are unknown" in done.error_line
