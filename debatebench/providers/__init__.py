"""Providers by name. One with OpenAI's chat completions is an entry in `profiles.py`; another, a file and a line here.

asking.py             what a debater or judge is asked, and the answer
base.py               what a provider is: request, reply, completion
connecting.py         opening a connection to a host with several addresses
direct_transport.py   a transport of httpx for one address, without a proxy
endpoints.py          allowed addresses, keys and proxies
error_body.py         the error in a body, in any of the usual forms
http_connection.py    one HTTP/1.1 connection
key_names.py          names of variables that may be sent as keys
failure_tables.py           what codes, words, statuses and finish reasons mean: tables
moved_answer.py       a JSON answer that stands in a tool call, or as an object instead of text
no_proxy.py           the hosts that are contacted without a proxy
openai_compatible.py  any provider with OpenAI's chat completions
openai_reply.py       a reply → a completion, or the reason why there is none
page_words.py         what a page says that came in place of an answer
prices.py             what an answer costs, and what it can cost at most
profiles.py           what is known of each provider: address, key, names of fields
proxied_transport.py  httpx's own transports, for proxies
redaction.py          remove keys from everything that is stored or shown
refused_fields.py     optional fields that a server refuses, and a request without them
reply_json.py         the JSON value of a body, also of server-sent events
requests.py           the request to a debater or judge, and its seed
retry_after.py        how long a provider asks the client to wait
sent_schema.py        a JSON schema in the keywords that every provider accepts
served_models.py      the models and prices that a provider lists
thinking.py           separate thinking that a model wrote into its answer
transport.py          one request: its reply, and whether the request was sent
unreachable.py        why a server cannot be reached where waiting does not help, and the way out
usage.py              the tokens that a reply reports, in any of the usual forms
simulated/            the offline provider
"""

from __future__ import annotations

import json
from collections.abc import Callable, Hashable, Mapping
from typing import TYPE_CHECKING

from debatebench.providers.profiles import PROFILES
from debatebench.shared.errors import UsageError

if TYPE_CHECKING:
    from debatebench.config.types import MemberConfig
    from debatebench.providers.base import Completion, Provider, Reply


def _openai_compatible(member: MemberConfig, environ: Mapping[str, str]) -> Provider:
    from debatebench.providers.openai_compatible import OpenAICompatible

    return OpenAICompatible.of(member, environ)


def _simulated(member: MemberConfig, environ: Mapping[str, str]) -> Provider:
    from debatebench.providers.simulated.provider import Simulated

    return Simulated.of(member)


_FACTORIES: dict[str, Callable[[MemberConfig, Mapping[str, str]], Provider]] = {
    **dict.fromkeys(PROFILES, _openai_compatible),
    "simulated": _simulated,
}
_SIMULATED = frozenset({"simulated"})

KNOWN: tuple[str, ...] = tuple(sorted(_FACTORIES))
"""The names that `provider:` may have in models.yaml and judges.yaml."""


def make_provider(member: MemberConfig, environ: Mapping[str, str]) -> Provider:
    """The provider of a configured debater or judge; nothing is sent yet.

    Raises `UsageError` for an unknown name, a bad or unencrypted address, a key that is not in `environ`, or invalid
    traits of a simulated member.
    """
    factory = _FACTORIES.get(member.provider)
    if factory is None:
        raise UsageError(f"No provider '{member.provider}' (of '{member.id}'). Known: {', '.join(KNOWN)}.")
    return factory(member, environ)


def reply_reader(member: MemberConfig) -> Callable[[Reply], Completion]:
    """Reads stored replies to the member as its provider does; it needs no key and sends nothing."""
    if is_simulated(member.provider):
        from debatebench.providers.simulated.provider import Simulated

        return Simulated(member.pricing).read
    from debatebench.providers.openai_compatible import OpenAICompatible

    profile = PROFILES[member.provider]
    return OpenAICompatible(member.provider, "", profile, trust_reported_cost=member.trust_reported_cost).read


def provider_key(member: MemberConfig) -> Hashable:
    """A key that is equal for members that can share one provider instance."""
    if is_simulated(member.provider):
        traits = json.dumps(member.parameters, sort_keys=True, default=str)
        prices = member.pricing.model_dump_json() if member.pricing else None
        return member.provider, traits, prices
    return (
        member.provider,
        member.endpoint,
        member.api_key_env,
        member.allow_insecure,
        member.environment_proxies,
        member.trust_reported_cost,
    )


def is_simulated(provider_name: str) -> bool:
    """Whether the answers of this provider are generated offline."""
    return provider_name in _SIMULATED
