"""One request over HTTP: the reply, and if it is not complete, whether the request had been sent.

Without a proxy, requests go out over connections of our own. Anything that httpx calls a transport can carry them
instead. The client of httpx is not used: there are no redirects, cookies, retries, decoding or settings from the
environment.
"""

from __future__ import annotations

import asyncio
import ssl
import zlib
from collections.abc import AsyncIterable, Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any, cast

import certifi
import httpx

from debatebench.providers.base import TimeLimits
from debatebench.providers.direct_transport import DirectTransport
from debatebench.providers.proxied_transport import ProxiedTransport
from debatebench.shared.version import __version__

_LARGEST_ERROR_BODY = 64 * 1024
# By their meaning in httpx, nothing was sent.
_NEVER_SENT = (
    httpx.ConnectError,
    httpx.ConnectTimeout,
    httpx.InvalidURL,
    httpx.PoolTimeout,
    httpx.ProxyError,
    httpx.UnsupportedProtocol,
)


@dataclass(frozen=True, slots=True)
class BrokenExchange:
    """Why an exchange gave no complete reply. If not `has_left`, the request cannot have been answered or billed.

    `error` may hold the request with its key: show its type and redacted text, and never pass it on.
    """

    error: Exception
    has_left: bool

    @property
    def is_late(self) -> bool:
        """Whether the deadline passed."""
        return isinstance(self.error, TimeoutError)

    @property
    def words(self) -> str:
        """The type and text of the error, unredacted; of a deadline that passed, which has no text, what happened."""
        text = str(self.error)
        name = type(self.error).__name__
        return f"{name}: {text}" if text else "no answer in time" if self.is_late else name


class PartialReply:
    """The part of a reply received so far: status (0 = nothing yet), headers (lower-case names), and decoded body.

    At most `largest_body` and one byte are held, and less for the body of an error. The body is decoded here, because
    a decoder without a bound turns one chunk of a gzip bomb into gigabytes.
    """

    def __init__(self, largest_body: int) -> None:
        self.status = 0
        self.headers: dict[str, str] = {}
        self.body = bytearray()
        self._limit = largest_body
        self._gzip: zlib._Decompress | None = None

    @property
    def is_oversize(self) -> bool:
        """Whether the body is longer than the part that is read."""
        return len(self.body) > self._limit

    def begin(self, status: int, headers: Iterable[tuple[bytes, bytes]]) -> None:
        """Accept the head of the reply. The body of an error gets a lower size limit."""
        self.status = status
        self.headers = {name.decode("latin-1").lower(): value.decode("latin-1") for name, value in headers}
        if status >= 300:
            self._limit = min(self._limit, _LARGEST_ERROR_BODY)
        if self.headers.get("content-encoding", "").strip().lower() in ("gzip", "x-gzip"):
            self._gzip = zlib.decompressobj(16 + zlib.MAX_WBITS)

    def add(self, chunk: bytes) -> None:
        """Accept the next bytes. Raises `zlib.error` when they do not match the headers."""
        room = self._limit + 1 - len(self.body)
        self.body += self._gzip.decompress(chunk, room) if self._gzip else chunk[:room]

    def end(self) -> None:
        """Raise `zlib.error` when a compressed body ended too early."""
        if self._gzip and not self._gzip.eof:
            raise zlib.error("the compressed body was cut")


class Transport:
    """Connections to one address, kept and reused. The caller limits the number of requests in flight.

    Without limits of its own, an exchange takes at most `deadline_s` from its start to the last byte, and of these
    `connect_timeout_s` to connect, including TLS handshakes and a proxy's tunnel. `proxy` is the address of a proxy,
    which is used for every request. Certificates are checked against those of the system and of certifi. `carrier`, if
    given, carries the requests instead.
    """

    def __init__(
        self,
        url: str,
        headers: Mapping[str, str],
        *,
        deadline_s: float,
        connect_timeout_s: float,
        proxy: str | None = None,
        carrier: httpx.AsyncBaseTransport | None = None,
    ) -> None:
        self._address = url
        self._fields = {
            "accept": "application/json",
            # What PartialReply can decode.
            "accept-encoding": "gzip",
            "user-agent": f"debatebench/{__version__}",
            **headers,
        }
        self._limits = TimeLimits(deadline_s, connect_timeout_s)
        # Of each method, the head of its requests up to the length of their body.
        self._heads: dict[str, bytes] = {}
        self._proxy = proxy
        self._given = carrier
        self._carrier: DirectTransport | httpx.AsyncBaseTransport | None = None

    async def aclose(self) -> None:
        """Close the connections; the next request opens new ones."""
        if self._carrier is not None:
            await self._carrier.aclose()
            self._carrier = None

    async def exchange(
        self, method: str, content: bytes, largest_body: int, limits: TimeLimits | None = None
    ) -> tuple[PartialReply, BrokenExchange | None]:
        """Send one request once; return the received reply, and what broke the exchange, if anything did.

        A body that is longer than `largest_body` is not read to its end, which does not count as broken.
        """
        arrived = PartialReply(largest_body)
        sending = _Sending(limits or self._limits, is_told=self._given is None)
        try:
            async with sending.limit:
                carrier = self._carrier or self._open()
                if isinstance(carrier, DirectTransport):
                    connection = await carrier.begin(self._message(method, content), sending)
                    try:
                        await _receive(connection.status, connection.headers, connection, arrived)
                    finally:
                        carrier.release(connection)
                else:
                    response = await carrier.handle_async_request(self._request(method, content, sending))
                    stream = cast("httpx.AsyncByteStream", response.stream)
                    try:
                        await _receive(response.status_code, response.headers.raw, stream, arrived)
                    finally:
                        await stream.aclose()
        except (httpx.HTTPError, httpx.InvalidURL, OSError, UnicodeError, zlib.error) as error:
            return arrived, BrokenExchange(error, has_left=arrived.status > 0 or sending.may_be_whole(error))
        return arrived, None

    def _message(self, method: str, content: bytes) -> bytes:
        """A request as it goes over the wire."""
        head = self._heads.get(method)
        if head is None:
            lines = [b"%b %b HTTP/1.1" % (method.encode("ascii"), self._url.raw_path)]
            lines += [b"%b: %b" % header for header in self._headers.raw]
            head = self._heads[method] = b"\r\n".join(lines)
        return b"%b\r\nContent-Length: %d\r\n\r\n%b" % (head, len(content), content) if content else head + b"\r\n\r\n"

    def _request(self, method: str, content: bytes, sending: _Sending) -> httpx.Request:
        """A request as httpx's transports take it."""
        extensions = {"trace": sending.traced}
        stream = httpx.ByteStream(content)
        request = httpx.Request(method, self._url, headers=self._headers, stream=stream, extensions=extensions)
        if content:
            request.headers["Content-Length"] = str(len(content))
        return request

    def _open(self) -> DirectTransport | httpx.AsyncBaseTransport:
        """What carries the requests, made in the event loop that will use it."""
        self._url = httpx.URL(self._address)
        self._headers = httpx.Headers({"host": self._url.netloc.decode("ascii"), **self._fields})
        self._heads = {}
        self._carrier = self._given or open_carrier(self._url, self._proxy)
        return self._carrier


async def _receive(
    status: int, headers: Iterable[tuple[bytes, bytes]], body: AsyncIterable[bytes], arrived: PartialReply
) -> None:
    """Read a reply to its end or to the limit."""
    arrived.begin(status, headers)
    async for part in body:
        arrived.add(part)
        if arrived.is_oversize:
            return
    arrived.end()


class _Sending:
    """How far a request has come; told by its transport.

    `limit` is the time limit of the exchange, and a shorter one while a connection is being made. `is_told` is whether
    the transport tells every event; one that was given may tell none.
    """

    def __init__(self, limits: TimeLimits, *, is_told: bool) -> None:
        now = asyncio.get_running_loop().time()
        self._deadline = now + limits.whole_s
        self._connected_by = now + min(limits.connecting_s, limits.whole_s)
        self.limit = asyncio.timeout_at(self._deadline)
        self._is_connecting = self._has_begun = self._is_whole = False
        self._is_told = is_told

    def connects(self) -> None:
        """See `Watching`."""
        if not self._is_connecting and not self._has_begun:
            self._is_connecting = True
            self.limit.reschedule(self._connected_by)

    def begins(self) -> None:
        """See `Watching`."""
        self._has_begun = True
        if self._is_connecting:
            self._is_connecting = False
            self.limit.reschedule(self._deadline)

    def is_sent(self) -> None:
        """See `Watching`."""
        self._is_whole = self._has_begun

    async def traced(self, event: str, info: Mapping[str, Any]) -> None:
        """The `trace` of a request: what httpx's transports tell, by httpcore's names of events."""
        _, _, step = event.partition(".")
        if step == "send_request_headers.started":
            # Whoever asks a proxy for a tunnel has not asked the server yet.
            if info["request"].method in (b"CONNECT", "CONNECT"):
                self._has_begun = False
            else:
                self.begins()
        elif step == "send_request_body.complete":
            self.is_sent()
        else:
            self.connects()

    def may_be_whole(self, error: Exception) -> bool:
        """Whether the server may have the whole request, if the exchange ended with `error`.

        It cannot have it before there was a connection, including the TLS handshake, or while part of it was still
        buffered here at the deadline. In any other case it may, regardless of the error.
        """
        if self._has_begun:
            return self._is_whole or not isinstance(error, TimeoutError)
        return not self._is_told and not self._is_connecting and not isinstance(error, _NEVER_SENT)


def open_carrier(url: httpx.URL, proxy: str | None) -> DirectTransport | httpx.AsyncBaseTransport:
    """What carries requests to `url`: connections of our own, or httpx's through a proxy."""
    if proxy is not None:
        return ProxiedTransport(proxy, trusted_authorities())
    return DirectTransport(url, trusted_authorities() if url.scheme == "https" else None)


@cache
def trusted_authorities() -> ssl.SSLContext:
    """The trusted certificates. Reading them takes longer than a local answer, so it is done once."""
    context = ssl.create_default_context()
    context.load_verify_locations(certifi.where())
    return context
