"""One HTTP/1.1 connection: a request goes out as bytes, and its reply comes in, parsed by httptools.

httptools checks the syntax. What it leaves to its caller is decided here: how much a reply may make the client hold,
where a body without a length ends, and whether the connection can be used again. Servers are not trusted.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import cast

import httptools
import httpx

_LARGEST_OVERHEAD = 64 * 1024
_LARGEST_BACKLOG = 256 * 1024
_BODILESS = (204, 304)
_FRAMING = (b"content-length", b"transfer-encoding")
_CHUNKED = [(b"transfer-encoding", b"chunked")]


class Connection(asyncio.Protocol):
    """A connection, made by asyncio or uvloop; one request at a time. `async for` takes the body of its reply.

    Reading stops while more than 256 KiB of a body wait to be taken. A reply with more than 64 KiB that are not its
    body (head, earlier 1xx replies, trailers, chunk extensions) is broken.
    """

    def __init__(self) -> None:
        self.status = 0
        self.headers: list[tuple[bytes, bytes]] = []
        self._parser = httptools.HttpResponseParser(self)
        self._transport: asyncio.Transport | None = None
        self._waiter: asyncio.Future[None] | None = None
        self._parts: list[bytes] = []
        self._held = self._overhead = 0
        self._error: Exception | None = None
        # Nothing is expected before the first request.
        self._is_over = True
        self._is_lasting = True
        self._ends_with_connection = False

    @property
    def is_open(self) -> bool:
        """Whether a request can be written."""
        return self._transport is not None and not self._transport.is_closing() and self._error is None

    @property
    def has_sent_all(self) -> bool:
        """Whether no part of the request is buffered in this process."""
        return self._transport is None or self._transport.get_write_buffer_size() == 0

    @property
    def is_reusable(self) -> bool:
        """Whether the connection can carry another request: both messages are whole and neither side wants to close."""
        return self._is_over and self._is_lasting and self.is_open and self.has_sent_all

    def send(self, message: bytes) -> None:
        """Write a request. The connection must be open, and the previous reply read to its end."""
        self.status = 0
        self.headers = []
        self._overhead = 0
        self._is_over = self._ends_with_connection = False
        if self._transport is not None:
            self._transport.write(message)

    async def read_head(self) -> None:
        """Wait for status and headers of the reply (names in lower case). Raises `httpx.TransportError`."""
        while not self.status:
            await self._wait()

    def __aiter__(self) -> AsyncIterator[bytes]:
        return self

    async def __anext__(self) -> bytes:
        """The next bytes of the body as they were sent. Raises `httpx.TransportError` if it is cut."""
        while not self._parts:
            if self._is_over:
                raise StopAsyncIteration
            await self._wait()
        part = self._parts[0] if len(self._parts) == 1 else b"".join(self._parts)
        self._parts = []
        if self._held > _LARGEST_BACKLOG and self._transport is not None:
            self._transport.resume_reading()
        self._held = 0
        return part

    def abort(self) -> None:
        """Close the connection now; what is still buffered is not sent."""
        if self._transport is not None:
            self._transport.abort()

    async def _wait(self) -> None:
        """Wait until something has arrived; raises what broke the connection."""
        if self._error is not None:
            raise self._error
        self._waiter = asyncio.get_running_loop().create_future()
        try:
            await self._waiter
        finally:
            self._waiter = None

    def _wake(self) -> None:
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)

    def _fail(self, error: Exception) -> None:
        """The reply will not become whole. The first reason counts."""
        self._is_lasting = False
        if self._error is None:
            self._error = error
        self._wake()

    # What the event loop calls:

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)

    def data_received(self, data: bytes) -> None:
        if self._is_over or self._error is not None:
            # These bytes belong to no request. Kept, they would be read as the start of the next reply.
            self._is_lasting = False
            self.abort()
            return
        held, had_head = self._held, self.status
        try:
            self._parser.feed_data(data)
        except httptools.HttpParserError as error:
            # Bytes after a complete reply do not invalidate it.
            self._is_lasting = False
            if not self._is_over:
                self._fail(httpx.RemoteProtocolError(f"malformed reply: {error.__context__ or error}"))
        if held == self._held and had_head == self.status:
            self._overhead += len(data)
            if self._overhead > _LARGEST_OVERHEAD and not self._is_over:
                self._fail(httpx.RemoteProtocolError("the reply has too many bytes that are not its body"))
        if self._held > _LARGEST_BACKLOG >= held and self._transport is not None:
            self._transport.pause_reading()
        if self.status:
            self._wake()

    def eof_received(self) -> None:
        if self.status and self._ends_with_connection and self._error is None:
            self._is_over = True
            self._wake()
        elif not self._is_over:
            self._fail(httpx.RemoteProtocolError("the server closed the connection before its reply was whole"))
        self._is_lasting = False

    def connection_lost(self, error: Exception | None) -> None:
        self._is_lasting = False
        if not self._is_over:
            self._fail(httpx.ReadError(str(error) if error else "the connection was closed"))

    # What httptools calls. Once a reply is whole, anything that follows belongs to no question.

    def on_message_begin(self) -> None:
        if self._is_over:
            self._is_lasting = False
        else:
            self.headers = []

    def on_header(self, name: bytes, value: bytes) -> None:
        # After the head come the trailers of a chunked body, which say nothing of interest.
        if not self.status and not self._is_over:
            self.headers.append((name.lower(), value))

    def on_headers_complete(self) -> None:
        status = self._parser.get_status_code()
        if self._is_over or (100 <= status < 200 and status != 101):
            return
        if status < 200:
            # To switch protocols (101) was not asked for.
            raise ValueError(f"status {status}")
        framing = [(name, value.strip().lower()) for name, value in self.headers if name in _FRAMING]
        if any(name == b"transfer-encoding" for name, _ in framing) and framing != _CHUNKED:
            raise ValueError("unknown transfer encoding")
        self.status = status
        if status in _BODILESS:
            # Their head may tell the length of a body that is not sent.
            self._is_over, self._is_lasting = True, False
        self._ends_with_connection = not framing

    def on_body(self, body: bytes) -> None:
        if not self._is_over:
            self._parts.append(body)
            self._held += len(body)

    def on_message_complete(self) -> None:
        if self.status and not self._is_over:
            self._is_over = True
            self._is_lasting = self._parser.should_keep_alive()
