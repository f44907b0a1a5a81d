"""Providers by name. One with OpenAI's chat completions is an entry in `profiles.py`; another, a file and a line here.

An installed package adds one by the entry point `debatebench.providers`.

asking.py             what a debater or judge is asked, and the answer
base.py               what a provider is: request, reply, completion
connecting.py         opening a connection to a host with several addresses
direct_transport.py   connections to one address, without a proxy
endpoints.py          allowed addresses, keys and proxies
error_body.py         the error in a body, in any of the usual forms
failure_tables.py     what codes, words, statuses and finish reasons mean: tables
http_connection.py    one HTTP/1.1 connection
key_names.py          names of variables that may be sent as keys
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
from typing import Any, cast

from debatebench.config.types import MemberConfig
from debatebench.providers.base import Provider
from debatebench.providers.profiles import PROFILES
from debatebench.shared.errors import UsageError
from debatebench.shared.extensions import extension, known_extensions
from debatebench.shared.memo import once_each

Factory = Callable[["MemberConfig", "Mapping[str, str] | None"], "Provider"]
"""Makes the provider of a configured debater or judge, with a key from the environment; nothing is sent yet.

Without an environment it is made only to read stored replies, which needs no key. Raises `UsageError` for an entry that
cannot be used.
"""


def _openai_compatible(member: MemberConfig, environ: Mapping[str, str] | None) -> Provider:
    from debatebench.providers.openai_compatible import OpenAICompatible

    return OpenAICompatible.of(member, environ)


def _simulated(member: MemberConfig, environ: Mapping[str, str] | None) -> Provider:
    from debatebench.providers.simulated.provider import Simulated

    return Simulated(member.pricing) if environ is None else Simulated.of(member)


_FACTORIES: dict[str, Factory] = {**dict.fromkeys(PROFILES, _openai_compatible), "simulated": _simulated}
_SIMULATED = frozenset({"simulated"})

KNOWN: tuple[str, ...] = tuple(sorted(_FACTORIES))
"""The names that `provider:` may have in models.yaml and judges.yaml, beside those of installed packages."""


def make_provider(member: MemberConfig, environ: Mapping[str, str] | None) -> Provider:
    """The provider of a configured debater or judge, as `Factory` says; nothing is sent yet.

    Raises `UsageError` for an unknown name, a bad or unencrypted address, a key that is not in `environ`, or invalid
    traits of a simulated member.
    """
    factory: Factory | None = _FACTORIES.get(member.provider)
    if factory is None:
        factory = extension("providers", member.provider, cast("Any", Callable))
    if factory is None:
        known = known_extensions("providers", member.provider, KNOWN)
        raise UsageError(f"No provider '{member.provider}' (of '{member.id}').{known}")
    return factory(member, environ)


@once_each
def provider_key(member: MemberConfig) -> Hashable:
    """A key that is equal for members that can share one provider instance."""
    shared = (
        member.provider,
        member.endpoint,
        member.api_key_env,
        member.allow_insecure,
        member.environment_proxies,
        member.trust_reported_cost,
    )
    if member.provider in PROFILES:
        return shared
    traits = json.dumps(member.parameters, sort_keys=True, default=str)
    return *shared, traits, member.pricing.model_dump_json() if member.pricing else None


def is_simulated(provider_name: str) -> bool:
    """Whether the answers of this provider are generated offline."""
    return provider_name in _SIMULATED
