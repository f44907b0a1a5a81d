"""Connections to one address: HTTP/1.1 without a proxy, at less than a third of the CPU time of httpx's own."""

from __future__ import annotations

import asyncio
import ssl
from typing import Protocol

import httpx

from debatebench.providers.connecting import Host
from debatebench.providers.http_connection import Connection

# Common servers close an idle connection after five seconds; a request on a closing one would count as ambiguous.
KEEPALIVE_S = 4.0


class Watching(Protocol):
    """Is told how far a request has come."""

    def connects(self) -> None:
        """A connection is being made for it."""

    def begins(self) -> None:
        """Sending has begun."""

    def is_sent(self) -> None:
        """No part of it is still buffered in this process. Told only if the exchange then fails."""


class DirectTransport:
    """Connections to the host of `url`, kept and reused; as many as there are requests. There are no retries.

    There are no time limits either. Errors are those of httpx.
    """

    def __init__(self, url: httpx.URL, tls: ssl.SSLContext | None) -> None:
        self._host = Host(url.host, url.port or (443 if tls else 80), tls)
        # With the time since when. The connection used last is reused first.
        self._idle: list[tuple[Connection, float]] = []
        self._is_closed = False

    async def begin(self, message: bytes, watching: Watching) -> Connection:
        """Send a request, and return the connection when the head of the reply has come. `release` it afterwards."""
        connection = self._kept()
        if connection is None:
            watching.connects()
            connection = await self._connect()
        watching.begins()
        try:
            connection.send(message)
            await connection.read_head()
        except BaseException:
            if connection.has_sent_all:
                watching.is_sent()
            # After a mere close, the connection would go on sending its buffered data.
            connection.abort()
            raise
        return connection

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
