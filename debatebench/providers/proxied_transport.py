"""httpx's own transports, which know proxies: one for each request in flight."""

from __future__ import annotations

import ssl
from collections.abc import AsyncIterator
from typing import cast

import httpx

from debatebench.providers.direct_transport import KEEPALIVE_S


class ProxiedTransport(httpx.AsyncBaseTransport):
    """Connections through `proxy` (directly if it is None), kept and reused; as many as there are requests.

    A transport of httpx looks at all its connections whenever one changes. With 64 requests in flight, that is five
    sixths of its CPU time, and more with more of them. So each request gets its own transport, with one connection.
    """

    def __init__(self, proxy: str | None, tls: ssl.SSLContext) -> None:
        is_encrypted = proxy is not None and httpx.URL(proxy).scheme == "https"
        self._proxy = None if proxy is None else httpx.Proxy(proxy, ssl_context=tls if is_encrypted else None)
        self._tls = tls
        # The transport used last is reused first.
        self._idle: list[httpx.AsyncHTTPTransport] = []
        self._is_closed = False

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        carrier = self._idle.pop() if self._idle else self._new()
        try:
            response = await carrier.handle_async_request(request)
        except BaseException:
            # Its connection is closed already.
            await self.release(carrier)
            raise
        response.stream = _Body(cast("httpx.AsyncByteStream", response.stream), carrier, self)
        return response

    async def aclose(self) -> None:
        self._is_closed = True
        while self._idle:
            await self._idle.pop().aclose()

    async def release(self, carrier: httpx.AsyncHTTPTransport) -> None:
        """Keep the transport for another request."""
        if self._is_closed:
            await carrier.aclose()
        else:
            self._idle.append(carrier)

    def _new(self) -> httpx.AsyncHTTPTransport:
        limits = httpx.Limits(keepalive_expiry=KEEPALIVE_S)
        return httpx.AsyncHTTPTransport(verify=self._tls, limits=limits, proxy=self._proxy, trust_env=False)


class _Body(httpx.AsyncByteStream):
    """The body of a reply, after which its transport is free."""

    def __init__(
        self, stream: httpx.AsyncByteStream, carrier: httpx.AsyncHTTPTransport, transport: ProxiedTransport
    ) -> None:
        self._stream = stream
        self._carrier: httpx.AsyncHTTPTransport | None = carrier
        self._transport = transport

    def __aiter__(self) -> AsyncIterator[bytes]:
        return aiter(self._stream)

    async def aclose(self) -> None:
        carrier, self._carrier = self._carrier, None
        if carrier is not None:
            try:
                await self._stream.aclose()
            finally:
                await self._transport.release(carrier)
