"""One POST over HTTP: the reply, and if it is not complete, whether the request had been sent.

aiohttp makes the connections and reads from them. The rest of its client is unused: there are no redirects, cookies,
retries, decoding or settings from the environment, and an exchange takes less than half of the CPU time.
"""

from __future__ import annotations

import asyncio
import ssl
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

import aiohttp
import certifi
from aiohttp.http import HttpProcessingError
from yarl import URL

if TYPE_CHECKING:
    from aiohttp.connector import Connection

__all__ = ["BrokenExchange", "PartialReply", "Transport"]

_LARGEST_ERROR_BODY = 64 * 1024
# Common servers close an idle connection after five seconds; a request on a closing one would count as ambiguous.
_KEEPALIVE_S = 4.0


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

    def begin(self, status: int, headers: Mapping[str, str]) -> None:
        """Accept the head of the reply. The body of an error gets a lower size limit."""
        self.status = status
        self.headers = {name.lower(): value for name, value in headers.items()}
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

    `deadline_s` limits an exchange from its start to the last byte, `connect_timeout_s` the connecting. `proxy` is the
    address of a proxy, which is used for every request. Certificates are checked against those of the system and of
    certifi.
    """

    def __init__(
        self, url: str, headers: Mapping[str, str], *, deadline_s: float, connect_timeout_s: float, proxy: str | None
    ) -> None:
        self._url = URL(url, encoded=True)
        self._headers = dict(headers)
        self._deadline_s = deadline_s
        self._connect_timeout = aiohttp.ClientTimeout(total=None, connect=connect_timeout_s)
        self._proxy = None if proxy is None else URL(proxy)
        self._connector: aiohttp.TCPConnector | None = None

    async def post(self, content: bytes, largest_body: int) -> tuple[PartialReply, BrokenExchange | None]:
        """Send `content` once; return the received reply, and what broke the exchange, if anything did.

        A body that is longer than `largest_body` is not read to its end, which does not count as broken.
        """
        arrived = PartialReply(largest_body)
        transport: asyncio.Transport | None = None
        try:
            async with asyncio.timeout(self._deadline_s):
                connection = await self._connect()
                transport = connection.transport
                try:
                    await self._exchange(connection, content, arrived)
                finally:
                    # This has no effect on a connection that was already released.
                    connection.close()
        except (aiohttp.ClientError, HttpProcessingError, OSError, zlib.error) as error:
            return arrived, BrokenExchange(error, has_left=arrived.status > 0 or _has_left(transport, error))
        return arrived, None

    async def aclose(self) -> None:
        """Close the connections; the next request opens new ones."""
        if self._connector is not None:
            await self._connector.close()
            self._connector = None

    async def _connect(self) -> Connection:
        """An unused connection, new or kept, after any TLS handshake and after a proxy's tunnel is open."""
        if self._connector is None:
            is_secure = "https" in (self._url.scheme, self._proxy.scheme if self._proxy else "")
            self._connector = aiohttp.TCPConnector(
                limit=0, keepalive_timeout=_KEEPALIVE_S, ssl=_trusted_authorities() if is_secure else True
            )
            # What the connector needs to know of requests is the same for all of them.
            self._request = aiohttp.ClientRequest("POST", self._url, headers=self._headers, proxy=self._proxy)
            self._request.headers.pop("content-length", None)
            self._head = b""
        connection = await self._connector.connect(self._request, [], self._connect_timeout)
        # Connecting may have added headers that a proxy needs.
        self._head = self._head or self._head_without_length(self._request)
        return connection

    async def _exchange(self, connection: Connection, content: bytes, arrived: PartialReply) -> None:
        """Send and receive, and release the connection for reuse if possible."""
        transport, protocol = connection.transport, connection.protocol
        if transport is None or protocol is None or transport.is_closing():
            raise aiohttp.ClientConnectionResetError("The connection closed before the request was sent")
        protocol.set_response_params(read_until_eof=True, auto_decompress=False)
        transport.write(b"%bContent-Length: %d\r\n\r\n%b" % (self._head, len(content), content))
        message, body = await protocol.read()
        while message.code < 200 and message.code != 101:
            message, body = await protocol.read()
        arrived.begin(message.code, message.headers)
        while chunk := await body.readany():
            arrived.add(chunk)
            if arrived.is_oversize:
                return
        arrived.end()
        if transport.get_write_buffer_size() == 0:
            connection.release()

    def _head_without_length(self, request: aiohttp.ClientRequest) -> bytes:
        """The head of every request up to its length. Only a proxy without a tunnel gets the whole address."""
        target = str(self._url) if self._proxy and not request.is_ssl() else self._url.raw_path_qs
        lines = [f"POST {target} HTTP/1.1", *(f"{name}: {value}" for name, value in request.headers.items())]
        return "\r\n".join([*lines, ""]).encode("ascii")


def _has_left(transport: asyncio.Transport | None, error: Exception) -> bool:
    """Whether the server may have the whole request; data that is still buffered here will not be sent any more.

    It cannot have it before there was a connection, including the TLS handshake, or while part of it was still buffered
    here at the deadline. In any other case it may, regardless of the error.
    """
    if transport is None:
        return False
    is_whole = transport.get_write_buffer_size() == 0
    # After a mere close, the connection would go on sending its buffered data.
    transport.abort()
    return is_whole or not isinstance(error, TimeoutError)


@cache
def _trusted_authorities() -> ssl.SSLContext:
    """The trusted certificates. Reading them takes longer than a local answer, so it is done once."""
    context = ssl.create_default_context()
    context.load_verify_locations(certifi.where())
    return context
