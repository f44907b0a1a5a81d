"""A provider's list of its models: `GET {base URL}/models`, in the format of OpenRouter and servers like it.

Format: `{"data": [{"id", "name", "context_length", "pricing": {"prompt", "completion", …}}, …]}`, prices as text in USD
per token and per request. Third-party data is read with care: an entry that cannot be understood has no price, and
never a wrong one.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Decimal, InvalidOperation
from typing import TYPE_CHECKING, Any

from debatebench.config.types import MemberConfig, Pricing
from debatebench.providers.endpoints import completions_url, key_for, key_headers, proxy_for, proxy_secrets
from debatebench.providers.profiles import PROFILES
from debatebench.providers.redaction import excerpt, without_known_keys
from debatebench.providers.unreachable import PROXY_LOGIN, ProxyLoginError, obstacle_of
from debatebench.shared.errors import DebatebenchError
from debatebench.shared.records import MOST_PRICE, clean_text

if TYPE_CHECKING:
    from debatebench.providers.transport import BrokenExchange, PartialReply

_LARGEST_BODY = 16 * 1024 * 1024
_LONGEST_TEXT = 200
_DEADLINE_S = 30.0
# The end of the year 9999.
_LATEST_S = 253_402_300_800
# The names of catalogues → the kinds of a price list.
_KINDS = {
    "input_cache_read": "cached_prompt",
    "input_cache_write": "cache_write",
    "internal_reasoning": "reasoning",
    "request": "request",
}
# Prices of features that debates do not use.
_OF_NO_CONCERN = frozenset(
    {
        "audio",
        "completion",
        "discount",
        "image",
        "image_output",
        "input_audio_cache",
        "prompt",
        "web_search",
    }
)


@dataclass(frozen=True, slots=True)
class ListedModel:
    """A model as its provider lists it. `pricing` is None if the entry gives no per-token price."""

    id: str
    name: str | None = None
    pricing: Pricing | None = None
    context_length: int | None = None
    listed_on: str = ""
    """The day since which it is listed, as in `2026-01-31`; empty where the entry does not say."""
    modality: str = ""
    """What it reads and writes, as in `text+image->text`; empty where the entry does not say."""

    @property
    def writes_text(self) -> bool:
        """Whether it can speak or judge; a model of which nothing is said can."""
        return not self.modality or "text" in self.modality.rpartition("->")[2]


def has_catalogue(member: MemberConfig) -> bool:
    """Whether the provider of `member` is known to publish prices."""
    profile = PROFILES.get(member.provider)
    return profile is not None and profile.lists_prices


def models_url(member: MemberConfig) -> str:
    """The address of the catalogue that belongs to the address of `member`."""
    head, _, query = completions_url(member).partition("?")
    url = head.removesuffix("/chat/completions") + "/models"
    return f"{url}?{query}" if query else url


def read_catalogue(member: MemberConfig, environ: Mapping[str, str]) -> dict[str, ListedModel]:
    """The models that the provider of `member` lists, by id. Sends a network request, free of charge.

    Raises `DebatebenchError` when the reply is not a catalogue, `ProxyLoginError` when a proxy wants a password,
    `UsageError` for a bad address or a missing key.
    """
    key = key_for(member, environ)
    url = models_url(member)
    proxy = proxy_for(member, url, environ)
    keys = (*((key,) if key else ()), *proxy_secrets(proxy))
    reply, broken = asyncio.run(_fetch(url, key_headers(PROFILES[member.provider], key), proxy))
    if broken is not None:
        said = excerpt(broken.words, keys)
        message = f"The catalogue of '{member.provider}' could not be read ({said})."
        obstacle = None if broken.has_left else obstacle_of(broken.error)
        error = ProxyLoginError if obstacle is not None and obstacle.is_login else DebatebenchError
        raise error(message if obstacle is None else f"{message} {obstacle.remedy}")
    if reply.status == PROXY_LOGIN:
        raise ProxyLoginError(f"The catalogue of '{member.provider}' could not be read: the proxy needs a password.")
    if reply.status != 200 or reply.is_oversize:
        reason = f"status {reply.status}" if reply.status != 200 else "it is too large"
        raise DebatebenchError(f"The catalogue of '{member.provider}' could not be read ({reason}).")
    return parse_catalogue(bytes(reply.body), keys)


async def _fetch(url: str, key: Mapping[str, str], proxy: str | None) -> tuple[PartialReply, BrokenExchange | None]:
    from debatebench.providers.transport import Transport

    transport = Transport(url, key, deadline_s=_DEADLINE_S, connect_timeout_s=_DEADLINE_S / 3, proxy=proxy)
    try:
        return await transport.exchange("GET", b"", _LARGEST_BODY)
    finally:
        await transport.aclose()


def parse_catalogue(body: bytes, keys: tuple[str, ...] = ()) -> dict[str, ListedModel]:
    """The models in a catalogue's body, by id; entries that are not models are left out.

    Raises `DebatebenchError` when the body is not a catalogue.
    """
    try:
        data = json.loads(body.decode("utf-8"))
    except (ValueError, RecursionError):
        data = None
    entries = data.get("data") if isinstance(data, dict) else data
    if not isinstance(entries, list):
        raise DebatebenchError("The provider's reply is not a catalogue of models (a list of entries with an `id`).")
    listed = {}
    for entry in entries:
        if isinstance(entry, dict) and isinstance(entry.get("id"), str) and entry["id"].strip():
            model = _listed(entry, keys)
            listed[model.id] = model
    return listed


def _listed(entry: dict[str, Any], keys: tuple[str, ...]) -> ListedModel:
    name, length = entry.get("name"), entry.get("context_length")
    return ListedModel(
        id=clean_text(without_known_keys(entry["id"], keys))[:_LONGEST_TEXT],
        name=excerpt(clean_text(name), keys) if isinstance(name, str) else None,
        pricing=_pricing(entry.get("pricing")),
        context_length=length if isinstance(length, int) and not isinstance(length, bool) and length > 0 else None,
        listed_on=_day(entry.get("created")),
        modality=_modality(entry.get("architecture"), keys),
    )


def _day(created: Any) -> str:
    """The day of a time in seconds since 1970; empty for anything else, and for the 0 that some servers write."""
    if not isinstance(created, int) or isinstance(created, bool) or not 0 < created < _LATEST_S:
        return ""
    return datetime.fromtimestamp(created, UTC).date().isoformat()


def _modality(architecture: Any, keys: tuple[str, ...]) -> str:
    """What a model reads and writes, from two lists of words or from a text that says both."""
    if not isinstance(architecture, dict):
        return ""
    both = [architecture.get(f"{way}_modalities") for way in ("input", "output")]
    if all(isinstance(each, list) and each and all(isinstance(word, str) for word in each) for each in both):
        text: Any = "->".join("+".join(each) for each in both if each)
    else:
        text = architecture.get("modality")
    return excerpt(clean_text(text), keys) if isinstance(text, str) and "->" in text else ""


def _pricing(value: Any) -> Pricing | None:
    """Prices per token and request; None where one is missing or absurd, or where there are charges of another kind.

    OpenRouter writes -1 where the price depends on the model that a router picks.
    """
    if not isinstance(value, dict):
        return None
    prompt, completion = _price(value.get("prompt")), _price(value.get("completion"))
    if prompt is None or completion is None:
        return None
    others = {name: _price(price) for name, price in value.items() if name not in _OF_NO_CONCERN}
    kinds = {kind: others.pop(name) for name, kind in _KINDS.items() if value.get(name) is not None}
    if None in kinds.values() or any(price != 0 for price in others.values()):
        return None
    if kinds.get("reasoning") in (0, completion):
        # Thinking is part of the completion; catalogues also write 0 where it has no price of its own.
        del kinds["reasoning"]
    return Pricing(prompt=prompt, completion=completion, **kinds)


def _price(value: Any) -> Decimal | None:
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        return None
    try:
        price = Decimal(str(value))
    except InvalidOperation:
        return None
    return price if price.is_finite() and 0 <= price <= MOST_PRICE else None
