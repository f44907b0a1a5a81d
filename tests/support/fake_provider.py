"""A real local server that speaks OpenAI's chat-completions format and fails as the test's script says.

    with FakeProvider([answer("Hello."), status(429, headers={"retry-after": "7"})]) as server:
        ... ask server.url ...
        assert len(server.requests) == 2

The script is a list of behaviours, one per request in order of arrival (the last one repeats), or a callable that takes
the `Received` request and returns a behaviour. A plain string stands for `answer(string)`. The functions below make
behaviours. A custom behaviour is any callable that takes a `Wire` and writes to it, or hangs up.
"""

from __future__ import annotations

import gzip
import json
import socket
import ssl
import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any

JSON_TYPE = {"content-type": "application/json"}


@dataclass(frozen=True, slots=True)
class Received:
    """A request as the server got it. `at` is monotonic seconds; `connection` counts from 1."""

    path: str
    headers: Mapping[str, str]
    body: bytes
    connection: int
    number: int
    at: float

    @property
    def json(self) -> dict[str, Any]:
        return json.loads(self.body)

    @property
    def authorization(self) -> str | None:
        return self.headers.get("authorization")

    @property
    def prompt(self) -> str:
        """The last user message."""
        return [m["content"] for m in self.json["messages"] if m["role"] == "user"][-1]


@dataclass(frozen=True, slots=True)
class Wire:
    """The server's end of a connection."""

    received: Received
    socket: socket.socket
    closing: threading.Event
    _hangs_up: list[bool] = field(default_factory=list)

    def send(self, status: int, headers: Mapping[str, str], body: bytes) -> None:
        """Send a whole reply in one piece."""
        self.socket.sendall(head(status, {"content-length": str(len(body)), **headers}) + body)

    def hang_up(self) -> None:
        """Close the connection after this request."""
        self._hangs_up.append(True)

    @property
    def is_done(self) -> bool:
        return bool(self._hangs_up)


Behaviour = Callable[[Wire], None]
Script = Sequence["Behaviour | str"] | Callable[[Received], "Behaviour | str"]


class FakeProvider:
    """The server, on a free port of 127.0.0.1 while the `with` block lasts. `url` is its base URL."""

    def __init__(self, script: Script = ("Hello.",), port: int = 0, *, tls: ssl.SSLContext | None = None) -> None:
        self._script = script
        self._lock = threading.Lock()
        self._server = _Server(self, port)
        self._scheme = "https" if tls else "http"
        if tls:
            # Each connection's thread does its own handshake.
            listening = tls.wrap_socket(self._server.socket, server_side=True, do_handshake_on_connect=False)
            self._server.socket = listening
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.01,))
        self.requests: list[Received] = []
        self.errors: list[BaseException | None] = []
        self.connections = 0
        self.in_flight = 0
        self.most_in_flight = 0
        self.catalogue: bytes | None = None
        self.catalogue_reads = 0
        self._answered = float("inf")
        self._goes_on = threading.Event()

    @property
    def port(self) -> int:
        return int(self._server.server_address[1])

    @property
    def url(self) -> str:
        return f"{self._scheme}://127.0.0.1:{self.port}/v1"

    def __enter__(self) -> FakeProvider:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._server.shutdown()
        self._thread.join()
        self._server.hang_up_everybody()
        self.release()
        self._server.server_close()
        if self.errors and error is None:
            raise RuntimeError("the script of the fake provider failed") from self.errors[0]

    def hold(self, count: int) -> None:
        """Answer `count` requests in all, and let the later ones wait until `release`: no run can end before."""
        self._goes_on.clear()
        self._answered = count

    def release(self) -> None:
        """Answer every request from now on, also those that have waited."""
        self._answered = float("inf")
        self._goes_on.set()

    def wait_until_idle(self) -> None:
        """Wait until every client has hung up, so that whatever a client that died had sent is recorded."""
        # A connection that is not accepted yet is seen by the second look.
        for _ in range(2):
            time.sleep(0.05)
            while self._server.is_connected():
                time.sleep(0.01)

    def connected(self) -> int:
        """Count a new connection."""
        with self._lock:
            self.connections += 1
            return self.connections

    def respond(self, path: str, headers: Mapping[str, str], body: bytes, connection: int, sock: socket.socket) -> bool:
        """Record a request and do what the script says; false when the connection should be closed."""
        with self._lock:
            received = Received(path, headers, body, connection, len(self.requests), time.monotonic())
            self.requests.append(received)
            self.in_flight += 1
            self.most_in_flight = max(self.most_in_flight, self.in_flight)
        try:
            if received.number >= self._answered:
                self._goes_on.wait()
            wire = Wire(received, sock, self._server.closing)
            self._behaviour(received)(wire)
            return not wire.is_done
        finally:
            with self._lock:
                self.in_flight -= 1

    def _behaviour(self, received: Received) -> Behaviour:
        if callable(self._script):
            chosen = self._script(received)
        else:
            chosen = self._script[min(received.number, len(self._script) - 1)]
        return answer(chosen) if isinstance(chosen, str) else chosen


def head(status: int, headers: Mapping[str, str]) -> bytes:
    """Status line and headers."""
    lines = [f"HTTP/1.1 {status} Whatever", *(f"{name}: {value}" for name, value in headers.items())]
    return ("\r\n".join(lines) + "\r\n\r\n").encode("latin-1")


def completion_body(text: Any = "Hello.", **changes: Any) -> dict[str, Any]:
    """A chat completion object as OpenRouter returns it. `choice`, `message` and `usage` update the parts inside."""
    message = {"role": "assistant", "content": text, **changes.pop("message", {})}
    choice = {"index": 0, "message": message, "finish_reason": "stop", **changes.pop("choice", {})}
    usage = {
        "prompt_tokens": 100,
        "completion_tokens": 20,
        "cost": 0.00123,
        "currency": "USD",
        **changes.pop("usage", {}),
    }
    halves = (usage["prompt_tokens"], usage["completion_tokens"])
    if all(isinstance(half, int) for half in halves):
        usage.setdefault("total_tokens", sum(halves))
    return {
        "id": "gen-1",
        "object": "chat.completion",
        "created": 1_700_000_000,
        "model": "fake/model",
        "provider": "Fake Cloud",
        "choices": [choice],
        "usage": usage,
        **changes,
    }


def answer(text: Any = "Hello.", **changes: Any) -> Behaviour:
    """A completion with this text; see `completion_body`."""
    return body(completion_body(text, **changes))


def body(content: Any, *, status: int = 200, headers: Mapping[str, str] = JSON_TYPE) -> Behaviour:
    """A whole reply: bytes as they are, anything else as JSON."""
    data = content if isinstance(content, bytes) else json.dumps(content).encode()
    return lambda wire: wire.send(status, headers, data)


def status(code: int, /, message: str = "No.", *, headers: Mapping[str, str] | None = None, **error: Any) -> Behaviour:
    """An error status with an error object; `error` adds to it."""
    content = {"error": {"code": code, "message": message, **error}}
    return body(content, status=code, headers={**JSON_TYPE, **(headers or {})})


def error_in_200(code: Any, /, message: str = "No.", **error: Any) -> Behaviour:
    """Status 200 with an error in the body, as OpenRouter sends it when it fails after the headers."""
    return body({"error": {"code": code, "message": message, **error}})


def redirect(location: str, code: int = 302) -> Behaviour:
    return body(b"", status=code, headers={"location": location})


def hang_up(headers: Mapping[str, str] | None = None) -> Behaviour:
    """Close the connection without a byte, or after the head of a reply."""

    def behave(wire: Wire) -> None:
        if headers is not None:
            wire.socket.sendall(head(200, {"content-length": "1000", **JSON_TYPE, **headers}))
        wire.hang_up()

    return behave


def cut(text: str = "Hello.", *, framing: str = "content-length", keep: int = 60, code: int = 200) -> Behaviour:
    """A reply that ends after `keep` bytes of its body; `framing` is `content-length`, `chunked` or `close`."""

    def behave(wire: Wire) -> None:
        data = json.dumps(completion_body(text)).encode()
        framings = {
            "content-length": ({"content-length": str(len(data))}, data[:keep]),
            "chunked": ({"transfer-encoding": "chunked"}, f"{keep:x}\r\n".encode() + data[:keep] + b"\r\n"),
            "close": ({"connection": "close"}, data[:keep]),
        }
        headers, sent = framings[framing]
        wire.socket.sendall(head(code, {**JSON_TYPE, **headers, "x-generation-id": "gen-cut"}) + sent)
        wire.hang_up()

    return behave


def silence(*, sends_head: bool = False) -> Behaviour:
    """Send nothing, or nothing after the head, until the server is closed."""

    def behave(wire: Wire) -> None:
        if sends_head:
            wire.socket.sendall(head(200, {**JSON_TYPE, "content-length": "1000", "x-generation-id": "gen-slow"}))
        wire.closing.wait()
        wire.hang_up()

    return behave


def drip(interval_s: float = 0.02, text: str = "Hello.") -> Behaviour:
    """Send a reply one byte at a time."""

    def behave(wire: Wire) -> None:
        data = json.dumps(completion_body(text)).encode()
        wire.socket.sendall(head(200, {**JSON_TYPE, "content-length": str(len(data))}))
        for byte in data:
            if wire.closing.wait(interval_s):
                break
            wire.socket.sendall(bytes([byte]))

    return behave


def huge(size: int, *, code: int = 200) -> Behaviour:
    """A body of `size` bytes, in pieces."""

    def behave(wire: Wire) -> None:
        wire.socket.sendall(head(code, {**JSON_TYPE, "content-length": str(size)}))
        for _ in range(size // 65536):
            wire.socket.sendall(b" " * 65536)
        wire.socket.sendall(b" " * (size % 65536))

    return behave


def gzip_bomb(size: int) -> Behaviour:
    """A small compressed body that is `size` bytes when decoded."""
    # Compressed when it is first sent: it takes long, and every process that collects the tests makes the bomb.
    data = cache(lambda: gzip.compress(b" " * size))
    return lambda wire: wire.send(200, {**JSON_TYPE, "content-encoding": "gzip"}, data())


def gzipped(text: str = "Hello.", *, keep: int | None = None) -> Behaviour:
    """A compressed completion; if `keep` is given, only that many bytes are sent."""
    data = gzip.compress(json.dumps(completion_body(text)).encode())[:keep]
    return body(data, headers={**JSON_TYPE, "content-encoding": "gzip"})


def html(code: int = 200) -> Behaviour:
    return body(b"<html><body>Bad gateway</body></html>", status=code, headers={"content-type": "text/html"})


def delayed(seconds: float, behaviour: Behaviour | str = "Hello.") -> Behaviour:
    """The same behaviour after a delay."""
    then = answer(behaviour) if isinstance(behaviour, str) else behaviour

    def behave(wire: Wire) -> None:
        wire.closing.wait(seconds)
        then(wire)

    return behave


class _Server(ThreadingHTTPServer):
    daemon_threads = False
    request_queue_size = 256

    def __init__(self, provider: FakeProvider, port: int) -> None:
        super().__init__(("127.0.0.1", port), _Connection)
        self.provider = provider
        self.closing = threading.Event()
        self._open: set[socket.socket] = set()
        self._guard = threading.Lock()

    def process_request(self, request: Any, client_address: Any) -> None:
        with self._guard:
            self._open.add(request)
        super().process_request(request, client_address)

    def shutdown_request(self, request: Any) -> None:
        with self._guard:
            self._open.discard(request)
        super().shutdown_request(request)

    def is_connected(self) -> bool:
        with self._guard:
            return bool(self._open)

    def hang_up_everybody(self) -> None:
        self.closing.set()
        with self._guard:
            for connection in self._open:
                try:
                    connection.shutdown(socket.SHUT_RDWR)
                except OSError:
                    continue

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Ignore clients that disconnect; any other error is a fault in the script."""
        error = sys.exc_info()[1]
        if not isinstance(error, OSError):
            self.provider.errors.append(error)


class _Connection(BaseHTTPRequestHandler):
    server: _Server
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def setup(self) -> None:
        super().setup()
        self.number = self.server.provider.connected()

    def do_POST(self) -> None:
        length = int(self.headers.get("content-length", 0))
        content = self.rfile.read(length)
        if len(content) < length:
            # The client died in the middle of the request.
            self.close_connection = True
            return
        headers = {name.lower(): value for name, value in self.headers.items()}
        stays = self.server.provider.respond(self.path, headers, content, self.number, self.connection)
        self.close_connection = not stays or self.close_connection

    def do_GET(self) -> None:
        """Serve the list of models, if the test has given one."""
        provider = self.server.provider
        provider.catalogue_reads += 1
        if provider.catalogue is None or not self.path.endswith("/models"):
            self.connection.sendall(head(404, {"content-length": "0"}))
        else:
            self.connection.sendall(head(200, {"content-length": str(len(provider.catalogue)), **JSON_TYPE}))
            self.connection.sendall(provider.catalogue)

    def log_message(self, format: str, *args: Any) -> None:
        """Requests are recorded, not printed."""
