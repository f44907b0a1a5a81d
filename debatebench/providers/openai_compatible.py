"""Any provider that uses OpenAI's chat-completions format over HTTP, hosted or local."""

from __future__ import annotations

import time
from collections.abc import Collection, Mapping
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from debatebench.config.types import USUAL_TIMEOUT_S, MemberConfig
from debatebench.providers.base import (
    LOCAL_PARAMETERS,
    Completion,
    FailureKind,
    ProviderFailure,
    RefusedFieldError,
    Reply,
    Request,
    TimeLimits,
)
from debatebench.providers.endpoints import (
    completions_url,
    key_for,
    key_headers,
    key_variable,
    proxy_for,
    proxy_secrets,
)
from debatebench.providers.openai_reply import ReplySource, read_reply
from debatebench.providers.profiles import PROFILES, Profile
from debatebench.providers.redaction import excerpt, without_keys, without_keys_in_bytes
from debatebench.providers.refused_fields import ADJUSTMENTS, adjusted_body, refused_field
from debatebench.providers.requests import asks_for_object
from debatebench.providers.sent_schema import sent_schema
from debatebench.providers.unreachable import PROXY_LOGIN, obstacle_of
from debatebench.shared.json_bytes import to_json

if TYPE_CHECKING:
    import httpx

    from debatebench.providers.transport import BrokenExchange, PartialReply, Transport

LARGEST_BODY = 8 * 1024 * 1024
_LONGEST_HEADER = 256
_LEAST_PASSWORD = 8
_KEPT_HEADERS = {
    "cf-ray",
    "content-type",
    "date",
    "llm_provider-retry-after",
    "openai-processing-ms",
    "request-id",
    "retry-after",
    "retry-after-ms",
    "x-generation-id",
    "x-request-id",
}
_KEPT_PREFIX = "x-ratelimit-"
_NOT_SENT = LOCAL_PARAMETERS | {"stream"}


class OpenAICompatible:
    """One address and key, shared by all debaters and judges that use them; connections are kept and reused.

    Without limits of its own, a request takes at most `deadline_s` from its start to the last byte of the reply. A
    decoded body may hold `largest_body` bytes. `proxy` is the address of a proxy, if one is to be used.
    `trust_reported_cost` says that `usage.cost` is USD. Each request is sent once; the caller retries.
    """

    is_simulated = False

    def __init__(
        self,
        name: str,
        url: str,
        profile: Profile,
        *,
        key: str | None = None,
        key_variable: str | None = None,
        deadline_s: float = USUAL_TIMEOUT_S,
        largest_body: int = LARGEST_BODY,
        proxy: str | None = None,
        trust_reported_cost: bool = False,
        transport: httpx.AsyncBaseTransport | None = None,
    ) -> None:
        self.name = name
        self._url = url
        self._profile = profile
        self._key = key or None
        # A proxy's address may hold a password, which some proxies send on, or back with an error.
        self._secrets = (*((key,) if key else ()), *proxy_secrets(proxy))
        # A short password could be a word of a speech, and is removed from errors only.
        self._keys = tuple(secret for secret in self._secrets if secret == key or len(secret) >= _LEAST_PASSWORD)
        reports_usd = profile.reports_usd or trust_reported_cost
        self._source = ReplySource(name, key_variable, reports_usd, self._keys, profile.cost_header)
        self._limits = TimeLimits.of(deadline_s)
        self._largest_body = largest_body
        self._proxy = proxy
        self._carrier = transport
        self._transport: Transport | None = None

    @classmethod
    def of(cls, member: MemberConfig, environ: Mapping[str, str] | None) -> OpenAICompatible:
        """The provider of a configured debater or judge; without an environment, one that only reads stored replies.

        Raises `UsageError` for a bad address or a missing key.
        """
        profile = PROFILES[member.provider]
        if environ is None:
            return cls(member.provider, "", profile, trust_reported_cost=member.trust_reported_cost)
        url = completions_url(member)
        return cls(
            member.provider,
            url,
            profile,
            key=key_for(member, environ),
            key_variable=key_variable(member),
            proxy=proxy_for(member, url, environ),
            trust_reported_cost=member.trust_reported_cost,
        )

    def __repr__(self) -> str:
        return f"OpenAICompatible({self.name!r})"

    async def send(self, request: Request, adjusted: Collection[str] = (), limits: TimeLimits | None = None) -> Reply:
        """See `Provider.send`. A reply with an error status is returned even when its body was cut or too long."""
        started = time.monotonic()
        content = to_json(adjusted_body(request_body(request, self._profile), adjusted))
        limits = limits or self._limits
        transport = self._transport or self._open()
        arrived, broken = await transport.exchange("POST", content, self._largest_body, limits)
        headers = self._safe_headers(arrived.headers)
        if broken is not None and arrived.status < 300:
            raise self._cut_short(broken, arrived, headers, limits)
        if arrived.is_oversize and arrived.status < 300:
            raise ProviderFailure(
                FailureKind.OVERSIZE,
                f"{self.name} answered with more than {self._largest_body / 2**20:g} MiB, which is not read.",
                http_status=arrived.status,
                generation_id=headers.get("x-generation-id"),
            )
        is_cut = broken is not None or arrived.is_oversize
        return Reply(
            status=arrived.status,
            body=without_keys_in_bytes(bytes(arrived.body), self._keys, is_cut=is_cut),
            headers=headers,
            received_at=datetime.now(UTC).replace(tzinfo=None),
            duration_ms=(time.monotonic() - started) * 1000,
        )

    def read(self, reply: Reply, request: Request | None = None, adjusted: Collection[str] = ()) -> Completion:
        """See `Provider.read`."""
        try:
            return read_reply(reply, self._source, asks_for_object=request is not None and asks_for_object(request))
        except ProviderFailure as failure:
            if request is None or failure.kind is not FailureKind.FAILED:
                raise
            field = refused_field(reply.status, reply.body, request_body(request, self._profile), adjusted)
            if field is None:
                raise
            raise RefusedFieldError(field, failure, ADJUSTMENTS[field]) from None

    async def aclose(self) -> None:
        """See `Provider.aclose`."""
        if self._transport is not None:
            await self._transport.aclose()
            self._transport = None

    def _open(self) -> Transport:
        """The transport, created with the first request, so that planning a run does not load it."""
        from debatebench.providers.transport import Transport

        self._transport = Transport(
            self._url,
            {"content-type": "application/json", **key_headers(self._profile, self._key)},
            deadline_s=self._limits.whole_s,
            connect_timeout_s=self._limits.connecting_s,
            proxy=self._proxy,
            carrier=self._carrier,
        )
        return self._transport

    def _cut_short(
        self, broken: BrokenExchange, arrived: PartialReply, headers: dict[str, str], limits: TimeLimits
    ) -> ProviderFailure:
        """The failure for a broken exchange: the request was never fully sent, or it may have been billed."""
        said = excerpt(broken.words, self._secrets)
        if not broken.has_left:
            return self._unreached(broken.error, f"{self.name} could not be reached ({said}).")
        if broken.is_late:
            message = f"{self.name} gave no whole answer within {limits.whole_s:g} s."
        else:
            message = f"The connection to {self.name} broke before the whole answer was there ({said})."
        return ProviderFailure(
            FailureKind.AMBIGUOUS,
            message,
            http_status=arrived.status or None,
            partial_body=without_keys_in_bytes(bytes(arrived.body), self._keys, is_cut=True) or None,
            generation_id=headers.get("x-generation-id"),
            is_late=broken.is_late,
        )

    def _unreached(self, error: Exception, message: str) -> ProviderFailure:
        """The failure for a server to which there was no connection, with the way out where waiting does not help."""
        obstacle = obstacle_of(error)
        if obstacle is None:
            return ProviderFailure(FailureKind.UNSENT, message)
        message = f"{message} {obstacle.remedy}"
        if obstacle.is_login:
            return ProviderFailure(FailureKind.STOP, message, http_status=PROXY_LOGIN)
        return ProviderFailure(FailureKind.UNSENT, message, is_lasting=True)

    def _safe_headers(self, headers: Mapping[str, str]) -> dict[str, str]:
        """The few headers that are kept, without cookies and anything else that may identify an account."""
        return {
            name: without_keys(value, self._secrets)[:_LONGEST_HEADER]
            for name, value in headers.items()
            if name in _KEPT_HEADERS or name == self._profile.cost_header or name.startswith(_KEPT_PREFIX)
        }


def request_body(request: Request, profile: Profile) -> dict[str, Any]:
    """The body to send: the fields of the format under the provider's names, and the configured parameters.

    A parameter that is null removes the field of its name.
    """
    body: dict[str, Any] = {name: value for name, value in request.parameters.items() if name not in _NOT_SENT}
    for field, value in (
        ("temperature", request.temperature),
        ("max_tokens", request.max_tokens),
        ("seed", request.seed),
    ):
        name = profile.names.get(field, field)
        if value is not None and name is not None:
            body[name] = value
    if request.json_schema is not None and request.parameters.get("structured_output", profile.takes_schema):
        body["response_format"] = {
            "type": "json_schema",
            "json_schema": {"name": "answer", "strict": True, "schema": sent_schema(request.json_schema)},
        }
    if profile.reports_usd:
        body["usage"] = {"include": True}
    body = {name: value for name, value in body.items() if request.parameters.get(name, value) is not None}
    body["model"] = request.model
    body["messages"] = [{"role": message.role, "content": message.content} for message in request.messages]
    return body
