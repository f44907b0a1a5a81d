"""What an answer costs, for every kind of token and tier, and the most that it can cost before it is sent."""

from __future__ import annotations

import json
import random
from datetime import datetime
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from debatebench.config.load import load_debaters
from debatebench.config.types import MemberConfig, PriceList, Pricing
from debatebench.play.budget import largest_cost
from debatebench.providers.base import Completion, Message, Reply, Request
from debatebench.providers.openai_reply import ReplySource, read_reply
from debatebench.providers.prices import bound_of, cost_of, priced
from debatebench.providers.served_models import parse_catalogue
from debatebench.shared.errors import ConfigError

STANDARD = {
    "prompt": "0.00000125",
    "cached_prompt": "0.000000125",
    "cache_write": "0.0000015625",
    "completion": "0.00001",
}
FLEX = {name: str(Decimal(price) / 2) for name, price in STANDARD.items()}
PRIORITY = {name: str(Decimal(price) * 2) for name, price in STANDARD.items()} | {"request": "0.003"}
PRICES = Pricing.model_validate({**STANDARD, "request": "0.0005", "tiers": {"flex": FLEX, "priority": PRIORITY}})


def member(pricing: Pricing | None = PRICES, **changes: Any) -> MemberConfig:
    return MemberConfig(id="m", provider="http", model="m", pricing=pricing, **changes)


def read(body: dict[str, Any]) -> Completion:
    reply = Reply(200, json.dumps(body).encode(), {}, datetime(2026, 1, 1), 1.0)
    return read_reply(reply, ReplySource("server"))


# --- bodies in every provider's shape ---------------------------------------------------------------------------------


def openai(fresh: int, cached: int, written: int, answer: int, thinking: int) -> dict[str, Any]:
    return {
        "prompt_tokens": fresh + cached + written,
        "completion_tokens": answer + thinking,
        "total_tokens": fresh + cached + written + answer + thinking,
        "prompt_tokens_details": {"cached_tokens": cached, "cache_write_tokens": written, "audio_tokens": 0},
        "completion_tokens_details": {"reasoning_tokens": thinking},
    }


def thinking_outside(fresh: int, cached: int, written: int, answer: int, thinking: int) -> dict[str, Any]:
    """xAI: thinking is in the total only."""
    return {
        "prompt_tokens": fresh + cached + written,
        "completion_tokens": answer,
        "total_tokens": fresh + cached + written + answer + thinking,
        "prompt_tokens_details": {"cached_tokens": cached, "cache_write_tokens": written},
    }


def responses(fresh: int, cached: int, written: int, answer: int, thinking: int) -> dict[str, Any]:
    return {
        "input_tokens": fresh + cached + written,
        "input_tokens_details": {"cached_tokens": cached, "cache_write_tokens": written},
        "output_tokens": answer + thinking,
        "output_tokens_details": {"reasoning_tokens": thinking},
        "total_tokens": fresh + cached + written + answer + thinking,
    }


def anthropic(fresh: int, cached: int, written: int, answer: int, thinking: int) -> dict[str, Any]:
    """The cache stands beside `input_tokens`."""
    return {
        "input_tokens": fresh,
        "cache_read_input_tokens": cached,
        "cache_creation_input_tokens": written,
        "output_tokens": answer + thinking,
    }


def deepseek(fresh: int, cached: int, written: int, answer: int, thinking: int) -> dict[str, Any]:
    """It writes to its cache at the usual price."""
    return {
        "prompt_tokens": fresh + written + cached,
        "prompt_cache_hit_tokens": cached,
        "prompt_cache_miss_tokens": fresh + written,
        "completion_tokens": answer + thinking,
        "total_tokens": fresh + cached + written + answer + thinking,
        "completion_tokens_details": {"reasoning_tokens": thinking},
    }


def moonshot(fresh: int, cached: int, written: int, answer: int, thinking: int) -> dict[str, Any]:
    return {
        "prompt_tokens": str(fresh + cached + written),
        "completion_tokens": str(answer + thinking),
        "total_tokens": str(fresh + cached + written + answer + thinking),
        "cached_tokens": str(cached),
    }


def gemini(fresh: int, cached: int, written: int, answer: int, thinking: int) -> dict[str, Any]:
    return {
        "promptTokenCount": fresh + cached + written,
        "cachedContentTokenCount": cached,
        "candidatesTokenCount": answer,
        "thoughtsTokenCount": thinking,
        "totalTokenCount": fresh + cached + written + answer + thinking,
    }


SHAPES = {
    "openai": (openai, True),
    "thinking_outside": (thinking_outside, True),
    "responses": (responses, True),
    "anthropic": (anthropic, True),
    "deepseek": (deepseek, False),
    "moonshot": (moonshot, False),
    "gemini": (gemini, False),
}
"""Name → the shape, and whether it says how much was written to the cache."""
TIERS = (None, "default", "standard", "flex", "priority")


def bodies(count: int) -> list[tuple[dict[str, Any], Fraction]]:
    """Generated bodies, and what each costs by hand, in fractions."""
    draw, made = random.Random(14), []
    for number in range(count):
        name = list(SHAPES)[number % len(SHAPES)]
        shape, tells_writes = SHAPES[name]
        fresh, answer = draw.randint(1, 200_000), draw.randint(1, 20_000)
        cached, written, thinking = (draw.choice([0, draw.randint(1, 150_000)]) for _ in range(3))
        tier = draw.choice(TIERS)
        body: dict[str, Any] = {"choices": [{"message": {"content": "Yes."}, "finish_reason": "stop"}]}
        body["usageMetadata" if name == "gemini" else "usage"] = shape(fresh, cached, written, answer, thinking)
        if tier is not None:
            (body if draw.random() < 0.5 or name == "gemini" else body["usage"])["service_tier"] = tier
        prices = {"flex": FLEX, "priority": PRIORITY}.get(str(tier), {**STANDARD, "request": "0.0005"})
        each = {kind: Fraction(price) for kind, price in prices.items()}
        usual = fresh if tells_writes else fresh + written
        cost = each.get("request", Fraction(0)) + usual * each["prompt"] + cached * each["cached_prompt"]
        cost += (written * each["cache_write"] if tells_writes else 0) + (answer + thinking) * each["completion"]
        made.append((body, cost))
    return made


def test_two_hundred_usage_bodies_cost_what_they_cost_by_hand():
    for body, expected in bodies(200):
        cost = cost_of(read(body), member())
        assert cost.source == "estimated", body
        assert abs(Fraction(cost.usd or 0) - expected) < Fraction(1, 10**9), body


def test_the_case_of_a_cached_prompt(shared: Path):
    body = json.loads((shared / "cases" / "14-cached-prompt-tokens" / "reply.json").read_text())
    pricing = Pricing(prompt=Decimal("0.000001"), completion=Decimal("0.00001"), cached_prompt=Decimal("0.0000001"))
    assert cost_of(read(body), member(pricing)).usd == Decimal("0.003278")


# --- what is not known ------------------------------------------------------------------------------------------------


PLAIN = Pricing(prompt=Decimal("0.000001"), completion=Decimal("0.000002"))
COUNTS = {"prompt_tokens": 100, "completion_tokens": 10}


@pytest.mark.parametrize(
    ("told", "reason"),
    [
        ({**COUNTS, "cached_tokens": 1}, "no price of cached_prompt tokens"),
        ({**COUNTS, "cache_write_tokens": 1}, "no price of cache_write tokens"),
        ({**COUNTS, "audio_tokens": 1}, "no price of audio tokens"),
        ({**COUNTS, "service_tier": "priority"}, "no price of the tier 'priority'"),
        ({"prompt_tokens": 100}, "no usage"),
        ({"completion_tokens": 10}, "no usage"),
    ],
)
def test_a_kind_of_token_without_a_price_makes_the_cost_unknown_and_never_the_usual_one(
    told: dict[str, Any], reason: str
):
    assert cost_of(Completion("x", **told), member(PLAIN)) == (None, None, reason)
    assert cost_of(Completion("x", **told), member(None)) == (None, None, "no price")


def test_nothing_cached_needs_no_price_of_the_cache():
    told = Completion("x", **COUNTS, cached_tokens=0, cache_write_tokens=0, audio_tokens=0, service_tier="default")
    assert cost_of(told, member(PLAIN)).usd == Decimal("0.00012")


def test_thinking_costs_as_much_as_the_rest_of_the_completion_unless_it_has_a_price():
    told = Completion("x", **COUNTS, reasoning_tokens=4)
    assert priced(told, PLAIN).usd == Decimal("0.00012")
    dearer = PLAIN.model_copy(update={"reasoning": Decimal("0.00001")})
    assert priced(told, dearer).usd == Decimal("0.000152")


def test_a_tiny_cost_is_not_nothing():
    tiny = Pricing(prompt=Decimal("2e-11"), completion=Decimal("2e-11"))
    assert priced(Completion("x", prompt_tokens=1, completion_tokens=1), tiny).usd == Decimal("4e-11")


# --- the most that a request can cost ---------------------------------------------------------------------------------

REQUEST = Request("m", (Message("user", "x" * 1000),), max_tokens=100)


def test_the_bound_holds_whatever_is_cached_and_whichever_tier_serves():
    draw = random.Random(5)
    most = largest_cost(REQUEST, member())
    assert most is not None
    for _ in range(300):
        prompt = draw.randint(1, 1000)
        cached = draw.randint(0, prompt)
        told = Completion(
            "x",
            prompt_tokens=prompt,
            completion_tokens=draw.randint(1, 100),
            cached_tokens=cached,
            cache_write_tokens=draw.randint(0, prompt - cached),
            service_tier=draw.choice(TIERS),
        )
        cost = cost_of(told, member()).usd
        assert cost is not None
        assert cost <= most


def test_a_fee_the_dearest_tier_and_writing_to_the_cache_raise_the_bound():
    plain = largest_cost(REQUEST, member(PLAIN))
    assert plain is not None
    for changes in (
        {"request": Decimal("0.01")},
        {"cache_write": Decimal("0.00000125")},
        {"reasoning": Decimal("0.000003")},
        {"tiers": {"priority": PriceList(prompt=Decimal("0.000002"), completion=Decimal("0.000002"))}},
    ):
        bound = largest_cost(REQUEST, member(PLAIN.model_copy(update=changes)))
        assert bound is not None
        assert bound > plain, changes
    assert largest_cost(REQUEST, member(PLAIN.model_copy(update={"cached_prompt": Decimal("0.0000001")}))) == plain
    caching = member(PLAIN, parameters={"cache_control": {"type": "ephemeral"}})
    assert largest_cost(REQUEST, caching) == plain + (plain - 100 * PLAIN.completion)


def test_an_unknown_cost_keeps_its_bound_only_where_nothing_dearer_may_have_been_billed():
    most = Decimal("0.5")
    told = {**COUNTS, "cached_tokens": 50}
    assert bound_of(Completion("x", prompt_tokens=100), member(PLAIN), most) == most
    assert bound_of(Completion("x", **told), member(PLAIN), most) == Decimal("0.00012")
    assert bound_of(Completion("x", **told), member(PLAIN), None) == Decimal("0.00012")
    for dearer in ({"cache_write_tokens": 1}, {"audio_tokens": 1}, {"service_tier": "priority"}):
        assert bound_of(Completion("x", **COUNTS, **dearer), member(PLAIN), most) is None
    caching = member(PLAIN, parameters={"cache_control": {"type": "ephemeral"}})
    assert bound_of(Completion("x", **COUNTS, cache_write_tokens=1), caching, most) == Decimal("0.00022")


# --- where prices come from -------------------------------------------------------------------------------------------


def configured(tmp_path: Path, pricing: str) -> Pricing | None:
    path = tmp_path / "models.yaml"
    path.write_text(
        f"models:\n  - {{id: a, provider: http, model: m, endpoint: 'http://127.0.0.1:1', pricing: {pricing}}}\n"
    )
    (debater,) = load_debaters(path)
    return debater.pricing


def test_all_prices_can_be_configured(tmp_path: Path):
    given = configured(
        tmp_path,
        "{prompt: 1e-6, completion: 2e-6, cached_prompt: 1e-7, cache_write: 1.25e-6, reasoning: 3e-6, request: 0.001, "
        "tiers: {Flex: {prompt: 5e-7, completion: 1e-6}}}",
    )
    assert given == Pricing(
        prompt=Decimal("1e-6"),
        completion=Decimal("2e-6"),
        cached_prompt=Decimal("1e-7"),
        cache_write=Decimal("1.25e-6"),
        reasoning=Decimal("3e-6"),
        request=Decimal("0.001"),
        tiers={"flex": PriceList(prompt=Decimal("5e-7"), completion=Decimal("1e-6"))},
    )


@pytest.mark.parametrize(
    ("pricing", "said"),
    [
        (
            "{prompt: 1, completion: 1, cached: 1}",
            "pricing.cached: found an unknown key (did you mean 'cached_prompt'?)",
        ),
        ("{prompt: 1, completion: 1, cache_write: -1}", "pricing.cache_write: found -1"),
        ("{prompt: 1, completion: 1, tiers: {flex: {prompt: 1}}}", "pricing.tiers.flex.completion: found nothing"),
        ("{prompt: 1, completion: 1, tiers: {default: {prompt: 1, completion: 1}}}", "pricing.tiers.default:"),
        ("{prompt: 1, completion: 1, tiers: {flex: {prompt: 1, completion: 1, tiers: 1}}}", "found an unknown key"),
    ],
)
def test_a_wrong_price_is_named_with_its_place(tmp_path: Path, pricing: str, said: str):
    with pytest.raises(ConfigError) as caught:
        configured(tmp_path, pricing)
    assert said in str(caught.value)


def test_a_catalogue_fills_every_price():
    listed = {
        "id": "lab/model",
        "pricing": {
            "prompt": "0.000003",
            "completion": "0.000015",
            "input_cache_read": "0.0000003",
            "input_cache_write": "0.00000375",
            "internal_reasoning": "0.00002",
            "request": "0.01",
            "image": "0.0048",
            "web_search": "0.01",
        },
    }
    (model,) = parse_catalogue(json.dumps({"data": [listed]}).encode()).values()
    assert model.pricing == Pricing(
        prompt=Decimal("0.000003"),
        completion=Decimal("0.000015"),
        cached_prompt=Decimal("0.0000003"),
        cache_write=Decimal("0.00000375"),
        reasoning=Decimal("0.00002"),
        request=Decimal("0.01"),
    )


@pytest.mark.parametrize("absurd", [{"input_cache_read": "-1"}, {"request": "free"}, {"per_minute": "0.1"}])
def test_a_catalogue_entry_with_a_price_that_is_not_understood_has_none(absurd: dict[str, str]):
    listed = {"id": "m", "pricing": {"prompt": "0.000003", "completion": "0.000015", **absurd}}
    (model,) = parse_catalogue(json.dumps({"data": [listed]}).encode()).values()
    assert model.pricing is None
