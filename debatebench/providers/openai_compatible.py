"""Any provider that speaks OpenAI's chat-completions format over HTTP, hosted or local."""

from __future__ import annotations

import asyncio
import json
import time
import zlib
from collections.abc import Mapping
from datetime import UTC, datetime
from functools import cache
from typing import TYPE_CHECKING, Any

from debatebench.providers.base import LOCAL_PARAMETERS, Completion, FailureKind, ProviderFailure, Reply, Request
from debatebench.providers.endpoints import PROFILES, completions_url, key_for, key_variable
from debatebench.providers.openai_reply import ReplySource, read_reply
from debatebench.providers.redaction import excerpt, without_keys, without_keys_in_bytes

if TYPE_CHECKING:
    import ssl

    import httpx

    from debatebench.config import ModelConfig
    from debatebench.providers.endpoints import Profile

__all__ = ["OpenAICompatible"]

LARGEST_BODY = 8 * 1024 * 1024
_LARGEST_ERROR_BODY = 64 * 1024
_LONGEST_HEADER = 256
_KEPT_HEADERS = {
    "cf-ray",
    "content-type",
    "date",
    "openai-processing-ms",
    "request-id",
    "retry-after",
    "retry-after-ms",
    "x-generation-id",
    "x-request-id",
}
_KEPT_PREFIX = "x-ratelimit-"
# Common servers close an idle connection after five seconds; a request on a closing one would count as ambiguous.
_KEEPALIVE_S = 4.0


class OpenAICompatible:
    """One address and key, shared by all debaters and judges that use them; connections are kept and reused.

    `deadline_s` bounds a request from its start to the last byte of the reply, `connect_timeout_s` (at most a third
    of it) the connecting. A decoded body may hold `largest_body` bytes. It asks once: retrying is the caller's.
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
        deadline_s: float = 600.0,
        connect_timeout_s: float = 30.0,
        largest_body: int = LARGEST_BODY,
    ) -> None:
        self.name = name
        self._url = url
        self._profile = profile
        self._keys = (key,) if key else ()
        self._source = ReplySource(name, key_variable, profile.reports_usd, self._keys)
        self._deadline_s = deadline_s
        self._connect_timeout_s = min(connect_timeout_s, deadline_s / 3)
        self._largest_body = largest_body
        self._client: httpx.AsyncClient | None = None

    @classmethod
    def of(cls, member: ModelConfig, environ: Mapping[str, str]) -> OpenAICompatible:
        """The provider of a configured debater or judge. Raises `UsageError` for a bad address or a missing key."""
        url, variable = completions_url(member), key_variable(member)
        return cls(member.provider, url, PROFILES[member.provider], key=key_for(member, environ), key_variable=variable)

    def __repr__(self) -> str:
        return f"OpenAICompatible({self.name!r})"

    async def send(self, request: Request) -> Reply:
        """See `Provider.send`. A reply with an error status is returned even when its body was cut or too long."""
        started = time.monotonic()
        content = json.dumps(request_body(request, self._profile)).encode("ascii")
        arrived = _Arrived(self._largest_body)
        # Raised from here and not from the handler: no failure may drag along an exception that holds the request.
        error = await self._exchange(content, arrived)
        if error is not None and arrived.status < 300:
            raise self._cut_short(error, arrived)
        if arrived.is_oversize and arrived.status < 300:
            raise ProviderFailure(
                FailureKind.OVERSIZE,
                f"{self.name} answered with more than {self._largest_body / 2**20:g} MiB, which is not read.",
                http_status=arrived.status,
                generation_id=arrived.headers.get("x-generation-id"),
            )
        is_cut = error is not None or arrived.is_oversize
        return Reply(
            status=arrived.status,
            body=without_keys_in_bytes(bytes(arrived.body), self._keys, is_cut=is_cut),
            headers=arrived.headers,
            received_at=datetime.now(UTC).replace(tzinfo=None),
            duration_ms=(time.monotonic() - started) * 1000,
        )

    def read(self, reply: Reply) -> Completion:
        """See `Provider.read`."""
        return read_reply(reply, self._source)

    async def aclose(self) -> None:
        """See `Provider.aclose`."""
        if self._client is not None:
            await self._client.aclose()
            self._client = None

    async def _exchange(self, content: bytes, arrived: _Arrived) -> Exception | None:
        """Send once and put into `arrived` whatever comes; return what broke the exchange."""
        import httpx

        client = self._open()
        try:
            async with (
                asyncio.timeout(self._deadline_s),
                client.stream("POST", self._url, content=content) as response,
            ):
                arrived.begin(response.status_code, response.headers, self._safe_headers(response.headers))
                async for chunk in response.aiter_raw():
                    arrived.add(chunk)
                    if arrived.is_oversize:
                        return None
                arrived.end()
        except (httpx.HTTPError, OSError, zlib.error) as error:
            return error
        return None

    def _open(self) -> httpx.AsyncClient:
        """The client, made on first use. How many requests are in flight is bounded by whoever asks."""
        import httpx

        from debatebench import __version__

        if self._client is None:
            headers = {
                "accept": "application/json",
                "accept-encoding": "gzip",
                "content-type": "application/json",
                "user-agent": f"debatebench/{__version__}",
            }
            if self._keys:
                headers["authorization"] = f"Bearer {self._keys[0]}"
            self._client = httpx.AsyncClient(
                headers=headers,
                follow_redirects=False,
                trust_env=False,
                verify=_trusted_authorities(),
                limits=httpx.Limits(
                    max_connections=None, max_keepalive_connections=None, keepalive_expiry=_KEEPALIVE_S
                ),
                timeout=httpx.Timeout(None, connect=self._connect_timeout_s, write=self._deadline_s / 2),
            )
        return self._client

    def _cut_short(self, error: Exception, arrived: _Arrived) -> ProviderFailure:
        """What a broken exchange means: the request never left as a whole, or it may have been billed."""
        import httpx

        said = excerpt(str(error), self._keys)
        said = f"{type(error).__name__}: {said}" if said else type(error).__name__
        # A write timeout means that part of the request is still here, and half a request is not answered.
        if isinstance(error, httpx.ConnectError | httpx.ConnectTimeout | httpx.PoolTimeout | httpx.WriteTimeout):
            return ProviderFailure(FailureKind.UNSENT, f"{self.name} could not be reached ({said}).")
        if isinstance(error, TimeoutError):
            message = f"{self.name} gave no whole answer within {self._deadline_s:g} s."
        else:
            message = f"The connection to {self.name} broke before the whole answer was there ({said})."
        return ProviderFailure(
            FailureKind.AMBIGUOUS,
            message,
            http_status=arrived.status or None,
            partial_body=without_keys_in_bytes(bytes(arrived.body), self._keys, is_cut=True) or None,
            generation_id=arrived.headers.get("x-generation-id"),
        )

    def _safe_headers(self, headers: httpx.Headers) -> dict[str, str]:
        """The few headers that are kept; cookies and whatever else may identify an account are not."""
        return {
            name: without_keys(value, self._keys)[:_LONGEST_HEADER]
            for name, value in headers.items()
            if name in _KEPT_HEADERS or name.startswith(_KEPT_PREFIX)
        }


@cache
def _trusted_authorities() -> ssl.SSLContext:
    """Reading the certificates takes longer than a local answer, so it is done once."""
    import httpx

    return httpx.create_ssl_context(trust_env=False)


class _Arrived:
    """What has come of a reply so far: status (0 = nothing yet), headers worth keeping, and the decoded body.

    Never more than the limit and one byte are held. Decoding is done here, because a decoder without a bound turns one
    chunk of a gzip bomb into gigabytes.
    """

    def __init__(self, largest_body: int) -> None:
        self.status = 0
        self.headers: dict[str, str] = {}
        self.body = bytearray()
        self._limit = largest_body
        self._gzip: zlib._Decompress | None = None

    @property
    def is_oversize(self) -> bool:
        return len(self.body) > self._limit

    def begin(self, status: int, headers: Mapping[str, str], kept_headers: dict[str, str]) -> None:
        """Take the head of the reply. The body of an error is worth less room."""
        self.status = status
        self.headers = kept_headers
        if status >= 300:
            self._limit = min(self._limit, _LARGEST_ERROR_BODY)
        if headers.get("content-encoding", "").strip().lower() in ("gzip", "x-gzip"):
            self._gzip = zlib.decompressobj(16 + zlib.MAX_WBITS)

    def add(self, chunk: bytes) -> None:
        """Take the next bytes. Raises `zlib.error` when they are not what the headers promised."""
        room = self._limit + 1 - len(self.body)
        self.body += self._gzip.decompress(chunk, room) if self._gzip else chunk[:room]

    def end(self) -> None:
        """Raises `zlib.error` when a compressed body ended too early."""
        if self._gzip and not self._gzip.eof:
            raise zlib.error("the compressed body was cut")


def request_body(request: Request, profile: Profile) -> dict[str, Any]:
    """What goes over the wire: the fields of the format, the configured parameters, and nothing of our own."""
    body: dict[str, Any] = {
        name: value for name, value in request.parameters.items() if name not in LOCAL_PARAMETERS | {"stream"}
    }
    body["model"] = request.model
    body["messages"] = [{"role": message.role, "content": message.content} for message in request.messages]
    for name, value in (
        ("temperature", request.temperature),
        (profile.token_limit_field, request.max_tokens),
        ("seed", request.seed),
    ):
        if value is not None:
            body[name] = value
    if request.json_schema is not None and request.parameters.get("structured_output", profile.takes_schema):
        body["response_format"] = {
            "type": "json_schema",
            "json_schema": {"name": "answer", "strict": True, "schema": dict(request.json_schema)},
        }
    if profile.reports_usd:
        body["usage"] = {"include": True}
    return body
