"""One POST over HTTP: what came back, and when no whole reply came, whether the request had left.

aiohttp does the work. It is asked for no more than bytes: it follows no redirect, keeps no cookie, decodes nothing,
retries nothing and reads no settings from the environment.
"""

from __future__ import annotations

import asyncio
import io
import ssl
import zlib
from collections.abc import Mapping
from contextvars import ContextVar
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

import aiohttp
import certifi
from yarl import URL

if TYPE_CHECKING:
    from aiohttp import ClientRequest, ClientTimeout
    from aiohttp.connector import Connection
    from aiohttp.tracing import Trace

__all__ = ["Arrived", "Broken", "Transport"]

_LARGEST_ERROR_BODY = 64 * 1024
# Common servers close an idle connection after five seconds; a request on a closing one would count as ambiguous.
_KEEPALIVE_S = 4.0
# aiohttp warns of a larger request body in one piece.
_LARGEST_PIECE = 2**20


@dataclass(frozen=True, slots=True)
class Broken:
    """Why an exchange gave no whole reply. Unless `has_left`, the request cannot have been answered or billed.

    `error` may hold the request with its key: show its type and redacted text, and never let it out.
    """

    error: Exception
    has_left: bool

    @property
    def is_late(self) -> bool:
        """Whether the deadline passed."""
        return isinstance(self.error, TimeoutError)


class Arrived:
    """What has come of a reply so far: status (0 = nothing yet), headers (lower-case names), and the decoded body.

    Never more than `largest_body` and one byte are held, and of an error's body less. Decoding is done here, because a
    decoder without a bound turns one chunk of a gzip bomb into gigabytes.
    """

    def __init__(self, largest_body: int) -> None:
        self.status = 0
        self.headers: dict[str, str] = {}
        self.body = bytearray()
        self._limit = largest_body
        self._gzip: zlib._Decompress | None = None

    @property
    def is_oversize(self) -> bool:
        """Whether the body is longer than what is read of it."""
        return len(self.body) > self._limit

    def begin(self, status: int, headers: Mapping[str, str]) -> None:
        """Take the head of the reply. The body of an error is worth less room."""
        self.status = status
        self.headers = {name.lower(): value for name, value in headers.items()}
        if status >= 300:
            self._limit = min(self._limit, _LARGEST_ERROR_BODY)
        if self.headers.get("content-encoding", "").strip().lower() in ("gzip", "x-gzip"):
            self._gzip = zlib.decompressobj(16 + zlib.MAX_WBITS)

    def add(self, chunk: bytes) -> None:
        """Take the next bytes. Raises `zlib.error` when they are not what the headers promised."""
        room = self._limit + 1 - len(self.body)
        self.body += self._gzip.decompress(chunk, room) if self._gzip else chunk[:room]

    def end(self) -> None:
        """Raises `zlib.error` when a compressed body ended too early."""
        if self._gzip and not self._gzip.eof:
            raise zlib.error("the compressed body was cut")


class Transport:
    """Connections to one address, kept and reused. How many requests are in flight is bounded by whoever asks.

    `deadline_s` bounds an exchange from its start to the last byte, `connect_timeout_s` the connecting. `proxy` is the
    address of a proxy, which is used for everything. Certificates are checked against those of the system and of
    certifi.
    """

    def __init__(
        self, url: str, headers: Mapping[str, str], *, deadline_s: float, connect_timeout_s: float, proxy: str | None
    ) -> None:
        self._url = URL(url, encoded=True)
        self._headers = dict(headers)
        self._deadline_s = deadline_s
        self._connect_timeout_s = connect_timeout_s
        self._proxy = proxy
        self._session: aiohttp.ClientSession | None = None

    async def post(self, content: bytes, arrived: Arrived) -> Broken | None:
        """Send `content` once and put into `arrived` whatever comes; return what broke the exchange, if anything did.

        A reply that is longer than `arrived` takes is left unread, and breaks nothing.
        """
        session = self._open()
        sending = _Sending()
        _SENDING.set(sending)
        try:
            async with (
                asyncio.timeout(self._deadline_s),
                session.post(
                    self._url,
                    data=content if len(content) <= _LARGEST_PIECE else io.BytesIO(content),
                    allow_redirects=False,
                    proxy=self._proxy,
                ) as response,
            ):
                arrived.begin(response.status, response.headers)
                async for chunk in response.content.iter_any():
                    arrived.add(chunk)
                    if arrived.is_oversize:
                        response.close()
                        return None
                arrived.end()
        except (aiohttp.ClientError, OSError, zlib.error) as error:
            return Broken(error, has_left=arrived.status > 0 or sending.ends(error))
        return None

    async def aclose(self) -> None:
        """Close the connections; the next request opens new ones."""
        if self._session is not None:
            await self._session.close()
            self._session = None

    def _open(self) -> aiohttp.ClientSession:
        if self._session is None:
            is_secure = "https" in (self._url.scheme, URL(self._proxy or "").scheme)
            self._session = aiohttp.ClientSession(
                connector=_Connector(
                    limit=0,
                    keepalive_timeout=_KEEPALIVE_S,
                    ssl=_trusted_authorities() if is_secure else True,
                ),
                headers=self._headers,
                timeout=aiohttp.ClientTimeout(total=None, connect=self._connect_timeout_s),
                cookie_jar=aiohttp.DummyCookieJar(),
                auto_decompress=False,
                trust_env=False,
            )
        return self._session


class _Sending:
    """How far a request got on its way out."""

    def __init__(self) -> None:
        self.connection: asyncio.Transport | None = None

    def ends(self, error: Exception) -> bool:
        """Whether the server may have the whole request, and whatever is still here will not leave any more.

        It has not before there was a connection, and the handshake of TLS is part of that; nor while a part of it was
        still here when time was up. In any other case it may, whatever the error is called.
        """
        if self.connection is None:
            return False
        is_whole = self.connection.get_write_buffer_size() == 0
        # Merely closed, the connection would go on sending what it holds.
        self.connection.abort()
        return is_whole or not isinstance(error, TimeoutError)


_SENDING: ContextVar[_Sending] = ContextVar("sending")


class _Connector(aiohttp.TCPConnector):
    """Notes when a request gets its connection. aiohttp's exceptions do not tell reliably, and this does."""

    async def connect(
        self,
        req: ClientRequest,
        traces: list[Trace],
        timeout: ClientTimeout,  # noqa: ASYNC109 (as aiohttp has it)
    ) -> Connection:
        connection = await super().connect(req, traces, timeout)
        _SENDING.get().connection = connection.transport
        return connection


@cache
def _trusted_authorities() -> ssl.SSLContext:
    """Reading the certificates takes longer than a local answer, so it is done once."""
    context = ssl.create_default_context()
    context.load_verify_locations(certifi.where())
    return context
