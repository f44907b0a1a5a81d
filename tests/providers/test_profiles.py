"""What the known providers get: their key in their header, fields under their names, and schemas that they accept."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime
from decimal import Decimal
from typing import Any

import pytest
import uvloop
from fake_provider import JSON_TYPE, FakeProvider, Received, body, completion_body, status
from hypothesis import given
from hypothesis import strategies as st
from paths import REPOSITORY

from debatebench.config.answer_form import AnswerForm
from debatebench.config.types import DimensionConfig, MemberConfig
from debatebench.providers import KNOWN, make_provider
from debatebench.providers.base import Message, ProviderFailure, Reply, Request
from debatebench.providers.endpoints import completions_url, key_for, key_variable
from debatebench.providers.openai_compatible import request_body
from debatebench.providers.openai_reply import ReplySource, read_reply
from debatebench.providers.profiles import PROFILES, Profile
from debatebench.providers.sent_schema import sent_schema
from debatebench.providers.served_models import parse_catalogue, read_catalogue
from debatebench.shared.errors import UsageError

CANARY = "canary0123456789abcdef0123456789"
NOON = datetime(2026, 1, 2, 12, 0, 0)
REQUEST = Request("m", (Message("user", "Hello?"),), temperature=0.5, max_tokens=90, seed=7, json_schema={})


def sent_to(provider: str, request: Request = REQUEST) -> Received:
    """What a real server gets that is configured as this provider."""
    variable = PROFILES[provider].key_variable
    with FakeProvider() as server:
        member = MemberConfig(id="m", provider=provider, model="m", endpoint=server.url)
        made = make_provider(member, {variable: CANARY} if variable else {})

        async def ask() -> None:
            made.read(await made.send(request))
            await made.aclose()

        uvloop.run(ask())
        (received,) = server.requests
    return received


@pytest.mark.parametrize("provider", sorted(PROFILES))
def test_every_known_provider_is_asked_with_its_own_key_and_names(provider: str) -> None:
    profile = PROFILES[provider]
    received = sent_to(provider)
    assert received.json["model"] == "m"
    assert received.json["temperature"] == 0.5
    keys = {name: value for name, value in received.headers.items() if CANARY in value}
    wanted = {"api-key": CANARY} if provider == "azure" else {"authorization": f"Bearer {CANARY}"}
    assert keys == (wanted if profile.key_variable else {})
    caps = {name for name in received.json if name.startswith("max_")}
    assert caps == ({"max_completion_tokens"} if provider in ("openai", "azure", "cerebras") else {"max_tokens"})
    seeds = {name for name in received.json if "seed" in name}
    assert seeds == {"gemini": set(), "mistral": {"random_seed"}}.get(provider, {"seed"})
    assert ("response_format" in received.json) == profile.takes_schema


@pytest.mark.parametrize("provider", sorted(PROFILES))
def test_every_known_provider_has_an_address_that_is_allowed_and_a_variable_that_names_a_key(provider: str) -> None:
    member = MemberConfig(id="m", provider=provider, model="m")
    if PROFILES[provider].base_url is None:
        with pytest.raises(UsageError, match="needs an `endpoint`"):
            completions_url(member)
    else:
        assert completions_url(member).endswith("/chat/completions")
    variable = key_variable(member)
    assert key_for(member, {variable: CANARY} if variable else {}) == (CANARY if variable else None)
    assert provider in KNOWN


def test_a_key_in_another_header_is_kept_out_of_replies_and_failures() -> None:
    echo = status(401, f"The api-key {CANARY} is wrong.", headers={"x-ratelimit-of": CANARY})
    with FakeProvider([echo]) as server:
        server.catalogue = b'{"data": [{"id": "m"}]}'
        member = MemberConfig(id="m", provider="azure", model="m", endpoint=server.url)
        environ = {"AZURE_OPENAI_API_KEY": CANARY}
        made = make_provider(member, environ)

        async def ask() -> Any:
            reply = await made.send(REQUEST)
            await made.aclose()
            return reply

        reply = uvloop.run(ask())
        assert list(read_catalogue(member, environ)) == list(parse_catalogue(server.catalogue))
    with pytest.raises(ProviderFailure) as caught:
        made.read(reply)
    for shown in (str(caught.value), repr(made), reply.body.decode(), str(reply.headers)):
        assert CANARY not in shown


@pytest.mark.parametrize(
    ("provider", "header", "cost"),
    [
        ("litellm", "1.35e-05", Decimal("0.0000135")),
        # What it says of a model whose price it does not know.
        ("litellm", "0.0", None),
        ("litellm", "-1", None),
        ("litellm", "nan", None),
        ("litellm", "1e400", None),
        ("litellm", "a lot", None),
        ("litellm", "", None),
        ("http", "1.35e-05", None),
    ],
)
def test_litellm_tells_the_cost_in_a_header(provider: str, header: str, cost: Decimal | None) -> None:
    told = body(completion_body(usage={"cost": None}), headers={**JSON_TYPE, "X-LiteLLM-Response-Cost": header})
    with FakeProvider([told]) as server:
        member = MemberConfig(id="m", provider=provider, model="m", endpoint=server.url)
        made = make_provider(member, {"LITELLM_API_KEY": CANARY})

        async def ask() -> Any:
            reply = await made.send(REQUEST)
            await made.aclose()
            return reply

        reply = uvloop.run(ask())
    said = made.read(reply)
    assert (said.cost, said.currency) == (cost, "USD" if cost is not None else None)
    assert ("x-litellm-response-cost" in reply.headers) == (provider == "litellm")


def test_a_cost_in_the_body_counts_before_one_in_a_header() -> None:
    reply = Reply(200, b'{"usage": {"cost": 0.5}, "choices": [{"message": {"content": "Hi."}}]}', {"c": "0.7"}, NOON, 1)
    assert read_reply(reply, ReplySource("x", reports_usd=True, cost_header="c")).cost == Decimal("0.5")


def test_a_field_that_a_provider_refuses_is_left_out_whatever_its_name() -> None:
    profile = Profile(names={"temperature": None, "max_tokens": None, "seed": "dice"})
    body = request_body(Request("m", (), temperature=0.5, max_tokens=9, seed=7), profile)
    assert {name: body.get(name) for name in ("temperature", "max_tokens", "seed", "dice")} == {
        "temperature": None,
        "max_tokens": None,
        "seed": None,
        "dice": 7,
    }


# Schemas


def score_of(dimension: DimensionConfig) -> dict[str, Any]:
    """The schema of one score, as it is sent."""
    schema = AnswerForm({"d": dimension}).schema()
    body = request_body(Request("m", (), json_schema=schema), replace(PROFILES["http"], takes_schema=True))
    sent = body["response_format"]["json_schema"]["schema"]
    assert sent["properties"]["scores"]["properties"]["con"] == sent["properties"]["scores"]["properties"]["pro"]
    return sent["properties"]["scores"]["properties"]["pro"]["properties"]["d"]


@pytest.mark.parametrize(
    ("dimension", "wanted"),
    [
        (DimensionConfig(min=1, max=10), {"type": "integer", "enum": list(range(1, 11))}),
        (DimensionConfig(min=-2, max=2), {"type": "integer", "enum": [-2, -1, 0, 1, 2]}),
        (DimensionConfig(min=0, max=100), {"type": "integer", "enum": list(range(101))}),
        (DimensionConfig(min=0, max=101), {"type": "integer"}),
        (DimensionConfig(min="0.5", max=3, integer=True), {"type": "integer", "enum": [1, 2, 3]}),
        (DimensionConfig(min="0.2", max="0.8", integer=True), {"type": "integer"}),
        (DimensionConfig(min="0.5", max=3), {"type": "number"}),
        (DimensionConfig(min=1, max=5, integer=False), {"type": "number"}),
    ],
)
def test_a_schema_is_sent_without_bounds(dimension: DimensionConfig, wanted: dict[str, Any]) -> None:
    assert score_of(dimension) == wanted


@given(st.sets(st.sampled_from(["minimum", "maximum", "type", "enum", "d"]), min_size=1))
def test_dimensions_with_the_names_of_keywords_stay_in_the_schema(names: set[str]) -> None:
    dimensions = {name: DimensionConfig(min=1, max=3) for name in sorted(names)}
    sent = sent_schema(AnswerForm(dimensions, declares_winner=True).schema())
    scores = sent["properties"]["scores"]["properties"]["pro"]
    assert scores["properties"] == {name: {"type": "integer", "enum": [1, 2, 3]} for name in sorted(names)}
    assert scores["required"] == sorted(names)
    assert sent["properties"]["winner"] == {"type": "string", "enum": ["pro", "con", "tie"]}


# Documents


def test_the_documents_name_every_known_provider_with_its_address_and_key() -> None:
    table = (REPOSITORY / "docs" / "running.md").read_text(encoding="utf-8")
    models = (REPOSITORY / "configs" / "models.yaml").read_text(encoding="utf-8").partition("docs/running.md")[0]
    rows = {
        cell: line for line in table.splitlines() if line.startswith("| `") for cell in line.split("|")[1].split(",")
    }
    for name, profile in PROFILES.items():
        row = next(line for cell, line in rows.items() if cell.strip() == f"`{name}`")
        assert profile.base_url is None or f"`{profile.base_url}`" in row
        assert profile.key_variable is None or f"`{profile.key_variable}`" in row
        assert ("no schema" in row) == (not profile.takes_schema)
        assert name in models or name == "openai_compatible"


def test_a_host_of_many_makers_is_no_family() -> None:
    model = (REPOSITORY / "sql" / "intermediate" / "int_own_family.sql").read_text(encoding="utf-8")
    makers = {"openai", "anthropic", "deepseek"}
    assert {name for name in PROFILES if f"'{name}'" not in model} == makers
