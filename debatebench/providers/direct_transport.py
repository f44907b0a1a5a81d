"""A transport of httpx for one address: HTTP/1.1 without a proxy, at less than half of the CPU time of httpx's own."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import AsyncIterator
from typing import cast

import httpx

from debatebench.providers.connecting import Host
from debatebench.providers.http_connection import Connection

# Common servers close an idle connection after five seconds; a request on a closing one would count as ambiguous.
KEEPALIVE_S = 4.0


class DirectTransport(httpx.AsyncBaseTransport):
    """Connections to the host of `url`, kept and reused; as many as there are requests. There are no retries.

    The body of a request must be an `httpx.ByteStream`; there are no time limits. Of httpcore's events, the `trace` of
    a request is told those that say whether it was sent: connecting and sending have started, and, if the exchange then
    fails, the body is complete, which means that no part of it is still buffered in this process.
    """

    def __init__(self, url: httpx.URL, tls: ssl.SSLContext | None) -> None:
        self._host = Host(url.host, url.port or (443 if tls else 80), tls)
        # With the time since when. The connection used last is reused first.
        self._idle: list[tuple[Connection, float]] = []
        self._is_closed = False

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        trace = request.extensions["trace"]
        connection = self._kept()
        if connection is None:
            await trace("connection.connect_tcp.started", {"request": request})
            connection = await self._connect()
        message = _head(request) + b"".join(cast("httpx.ByteStream", request.stream))
        await trace("http11.send_request_headers.started", {"request": request})
        try:
            connection.send(message)
            await connection.read_head()
        except BaseException:
            if connection.has_sent_all:
                await trace("http11.send_request_body.complete", {"return_value": None})
            # After a mere close, the connection would go on sending its buffered data.
            connection.abort()
            raise
        return httpx.Response(connection.status, headers=connection.headers, stream=_Body(connection, self))

    async def aclose(self) -> None:
        self._is_closed = True
        while self._idle:
            self._idle.pop()[0].abort()

    def release(self, connection: Connection) -> None:
        """Keep the connection for another request if it is good for one, else close it."""
        if connection.is_reusable and not self._is_closed:
            self._idle.append((connection, asyncio.get_running_loop().time()))
        else:
            connection.abort()

    def _kept(self) -> Connection | None:
        """A kept connection that is still open."""
        while self._idle:
            connection, idle_since = self._idle.pop()
            if asyncio.get_running_loop().time() - idle_since > KEEPALIVE_S:
                connection.abort()
            elif connection.is_open:
                return connection
        return None

    async def _connect(self) -> Connection:
        try:
            connection = await self._host.connect()
        except OSError as error:
            raise httpx.ConnectError(str(error)) from error
        if not connection.is_open:
            raise httpx.ConnectError("the connection was closed before the request was sent")
        return connection


class _Body(httpx.AsyncByteStream):
    """The body of a reply, read from its connection as it is taken."""

    def __init__(self, connection: Connection, transport: DirectTransport) -> None:
        self._connection = connection
        self._transport = transport
        self._is_closed = False

    def __aiter__(self) -> AsyncIterator[bytes]:
        return aiter(self._connection)

    async def aclose(self) -> None:
        if not self._is_closed:
            self._is_closed = True
            self._transport.release(self._connection)


def _head(request: httpx.Request) -> bytes:
    lines = [b"%b %b HTTP/1.1" % (request.method.encode("ascii"), request.url.raw_path)]
    lines += [b"%b: %b" % header for header in request.headers.raw]
    return b"\r\n".join([*lines, b"", b""])
