"""The wire against hostile servers: which replies are whole, what breaks an exchange, which connections are kept."""

from __future__ import annotations

import asyncio
import base64
import socket
import ssl
import threading
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

import fake_provider as fake
import httpx
import pytest
import uvloop
from fake_provider import FakeProvider, answer

from debatebench.providers import connecting, direct_transport, transport
from debatebench.providers.base import FailureKind, Message, ProviderFailure, Request
from debatebench.providers.connecting import Host
from debatebench.providers.http_connection import Connection
from debatebench.providers.openai_compatible import OpenAICompatible
from debatebench.providers.profiles import PROFILES
from debatebench.providers.transport import BrokenExchange, PartialReply, Transport

T = TypeVar("T")
Exchanged = tuple[PartialReply, BrokenExchange | None]
REQUEST = Request("fake/model", (Message("user", "Hello?"),))
OK = b"HTTP/1.1 200 OK\r\n"
TWO = OK + b"Content-Length: 2\r\n\r\nhi"


@pytest.fixture(params=[asyncio.run, uvloop.run], ids=["asyncio", "uvloop"])
def loop(request: pytest.FixtureRequest) -> Callable[[Awaitable[Any]], Any]:
    return request.param


def says(*pieces: bytes, hangs_up: bool = False) -> fake.Behaviour:
    """Send these bytes as they are."""

    def behave(wire: fake.Wire) -> None:
        try:
            for piece in pieces:
                wire.socket.sendall(piece)
        except OSError:
            # The client has heard enough.
            wire.hang_up()
        if hangs_up:
            wire.hang_up()

    return behave


async def with_transport(server: FakeProvider, work: Callable[[Transport], Awaitable[T]], **options: Any) -> T:
    wire = Transport(server.url, {}, **{"deadline_s": 20.0, "connect_timeout_s": 5.0, **options})
    try:
        return await work(wire)
    finally:
        await wire.aclose()


def exchanged(loop: Callable[[Any], Any], *script: fake.Behaviour | str, times: int = 1) -> tuple[list[Exchanged], int]:
    """What came of requests that a server with this script gets one after the other, and its number of connections."""

    async def work(wire: Transport) -> list[Exchanged]:
        return [await wire.exchange("POST", b"{}", 100_000) for _ in range(times)]

    with FakeProvider(script) as server:
        return loop(with_transport(server, work)), server.connections


# --- what is a whole reply


@pytest.mark.usefixtures("wire")
@pytest.mark.parametrize(
    ("reply", "hangs_up"),
    [
        (TWO, False),
        (OK + b"\r\nhi", True),
        (b"HTTP/1.0 200 OK\r\n\r\nhi", True),
        (OK + b"Connection: close\r\n\r\nhi", True),
        (b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n" + TWO, False),
        (OK + b"Transfer-Encoding: chunked\r\n\r\n1\r\nh\r\n1\r\ni\r\n0\r\n\r\n", False),
        (OK + b"Transfer-Encoding: Chunked\r\n\r\n2;a=b\r\nhi\r\n0\r\nX-Late: y\r\n\r\n", False),
        (TWO + b"HTTP/1.1 500 No\r\nContent-Length: 3\r\n\r\nbad", False),
        (TWO + b"\x00garbage", False),
    ],
)
def test_a_reply_is_whole(loop: Callable[[Any], Any], reply: bytes, hangs_up: bool) -> None:
    [(arrived, broken)], _ = exchanged(loop, says(reply, hangs_up=hangs_up))
    assert (arrived.status, bytes(arrived.body), broken) == (200, b"hi", None)
    assert "x-late" not in arrived.headers


@pytest.mark.usefixtures("wire")
def test_a_reply_that_comes_byte_by_byte_is_the_same(loop: Callable[[Any], Any]) -> None:
    reply = OK + b"X-A: 1\r\nTransfer-Encoding: chunked\r\n\r\n2;a=b\r\nhi\r\n0\r\nX-Late: y\r\n\r\n"
    [(arrived, broken)], _ = exchanged(loop, says(*(bytes([byte]) for byte in reply)))
    assert (arrived.status, bytes(arrived.body), arrived.headers["x-a"], broken) == (200, b"hi", "1", None)


@pytest.mark.usefixtures("wire")
@pytest.mark.parametrize("status", [204, 304])
def test_a_reply_that_has_no_body_by_its_status_is_not_waited_for(loop: Callable[[Any], Any], status: int) -> None:
    [(arrived, broken)], _ = exchanged(loop, says(b"HTTP/1.1 %d No\r\nContent-Length: 5\r\n\r\n" % status))
    assert (arrived.status, bytes(arrived.body), broken) == (status, b"", None)


@pytest.mark.usefixtures("wire")
@pytest.mark.parametrize("is_encrypted", [False, True], ids=["plain", "encrypted"])
def test_a_long_request_and_a_long_reply_are_whole(
    loop: Callable[[Any], Any], tls: ssl.SSLContext, is_encrypted: bool
) -> None:
    async def work(wire: Transport) -> list[Exchanged]:
        return [await wire.exchange("POST", b"x" * 3_000_000, 8_000_000) for _ in range(2)]

    with FakeProvider([fake.huge(5_000_000)], tls=tls if is_encrypted else None) as server:
        outcomes = loop(with_transport(server, work))
        assert [len(sent.body) for sent in server.requests] == [3_000_000] * 2
        assert server.connections == 1
    assert [(len(arrived.body), broken) for arrived, broken in outcomes] == [(5_000_000, None)] * 2


# --- what breaks an exchange

CHUNKED = OK + b"Transfer-Encoding: chunked\r\n\r\n"
MALFORMED: dict[str, bytes] = {
    "nothing": b"",
    "half a head": OK + b"Content-Le",
    "no status line": b"hello\r\n\r\n",
    "a status of 0": b"HTTP/1.1 000 No\r\nContent-Length: 0\r\n\r\n",
    "a status of two digits": b"HTTP/1.1 20 No\r\nContent-Length: 0\r\n\r\n",
    "a switch of protocols": b"HTTP/1.1 101 Switching\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\nhi",
    "a switch to nothing": b"HTTP/1.1 101 Switching\r\nContent-Length: 2\r\n\r\nhi",
    "a header without a colon": OK + b"nonsense\r\n\r\n",
    "a null in a header": OK + b"X: a\x00b\r\nContent-Length: 0\r\n\r\n",
    "a blank before the colon": OK + b"Content-Length : 2\r\n\r\nhi",
    "a body that is too short": OK + b"Content-Length: 3\r\n\r\nhi",
    "a negative length": OK + b"Content-Length: -2\r\n\r\nhi",
    "a length with a sign": OK + b"Content-Length: +2\r\n\r\nhi",
    "a length that no number holds": OK + b"Content-Length: %d\r\n\r\nhi" % 2**70,
    "two lengths": OK + b"Content-Length: 2\r\nContent-Length: 3\r\n\r\nhi!",
    "only part of the chunks": CHUNKED + b"2\r\nhi\r\n",
    "no end after the last chunk": CHUNKED + b"2\r\nhi\r\n0\r\n",
    "a size of a chunk that is no number": CHUNKED + b"two\r\nhi\r\n0\r\n\r\n",
    "a chunk longer than told": CHUNKED + b"1\r\nhi\r\n0\r\n\r\n",
    "a size of a chunk that no number holds": CHUNKED + b"f" * 20 + b"\r\nhi",
    "an unknown transfer encoding": OK + b"Transfer-Encoding: gzip\r\n\r\nhi",
    "a list of transfer encodings": OK + b"Transfer-Encoding: gzip, chunked\r\n\r\n2\r\nhi\r\n0\r\n\r\n",
}
# httpx's own parser takes these for whole replies.
STRICTER = {
    "a version that does not exist": b"HTTP/9.9 200 OK\r\n\r\n",
    "a length and chunks": OK + b"Content-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhi\r\n0\r\n\r\n",
    "a length among the trailers": CHUNKED + b"2\r\nhi\r\n0\r\nContent-Length: 2\r\n\r\n",
}
ENDLESS: dict[str, tuple[bytes, bytes]] = {
    "headers": (OK, b"X: y\r\n"),
    "one header": (OK + b"X: ", b"y"),
    "interim replies": (b"", b"HTTP/1.1 100 Continue\r\n\r\n"),
    "blank lines": (b"", b"\r\n"),
    "a size of a chunk": (CHUNKED, b"0"),
    "a chunk's extension": (CHUNKED + b"1;", b"x"),
    "trailers": (CHUNKED + b"1\r\nh\r\n0\r\n", b"X: y\r\n"),
}


@pytest.mark.usefixtures("wire")
@pytest.mark.parametrize("reply", MALFORMED.values(), ids=MALFORMED)
def test_a_malformed_reply_is_broken_and_may_have_been_billed(loop: Callable[[Any], Any], reply: bytes) -> None:
    [(_, broken)], _ = exchanged(loop, says(reply, hangs_up=True))
    assert broken is not None
    assert broken.has_left
    assert not broken.is_late


@pytest.mark.parametrize("reply", STRICTER.values(), ids=STRICTER)
def test_a_reply_that_could_be_read_in_several_ways_is_broken(loop: Callable[[Any], Any], reply: bytes) -> None:
    [(_, broken)], _ = exchanged(loop, says(reply, hangs_up=True))
    assert broken is not None
    assert broken.has_left


@pytest.mark.parametrize(("start", "unit"), ENDLESS.values(), ids=ENDLESS)
def test_what_is_not_the_body_is_not_read_without_end(loop: Callable[[Any], Any], start: bytes, unit: bytes) -> None:
    endless = says(start, *[unit * (65536 // len(unit))] * 400)
    [(_, broken)], _ = exchanged(loop, endless)
    assert broken is not None
    assert broken.has_left
    assert not broken.is_late


def test_the_part_of_a_body_before_the_fault_is_kept(loop: Callable[[Any], Any]) -> None:
    [(arrived, broken)], _ = exchanged(loop, says(CHUNKED + b"2\r\nhi\r\nnonsense"))
    assert (arrived.status, bytes(arrived.body)) == (200, b"hi")
    assert broken is not None


# --- which connections are used again


@pytest.mark.parametrize(
    "reply",
    [
        OK + b"Connection: close\r\nContent-Length: 2\r\n\r\nhi",
        b"HTTP/1.0 200 OK\r\nContent-Length: 2\r\n\r\nhi",
        b"HTTP/1.1 204 No\r\nContent-Length: 2\r\n\r\n",
        TWO + b"H",
        TWO + TWO,
    ],
)
def test_a_connection_is_not_used_again_after(loop: Callable[[Any], Any], reply: bytes) -> None:
    outcomes, connections = exchanged(loop, says(reply), says(TWO), times=2)
    assert [broken for _, broken in outcomes] == [None, None]
    assert bytes(outcomes[1][0].body) == b"hi"
    assert connections == 2


def test_a_connection_is_not_used_again_after_a_broken_reply(loop: Callable[[Any], Any]) -> None:
    outcomes, connections = exchanged(loop, says(b"nonsense\r\n\r\n"), says(TWO), times=2)
    assert [broken is None for _, broken in outcomes] == [False, True]
    assert connections == 2


def test_a_kept_connection_that_the_server_closed_is_not_used(loop: Callable[[Any], Any]) -> None:
    async def work(wire: Transport) -> list[Exchanged]:
        first = await wire.exchange("POST", b"{}", 100)
        carrier = wire._carrier
        assert isinstance(carrier, direct_transport.DirectTransport)
        (kept, _) = carrier._idle[0]
        async with asyncio.timeout(10):
            while kept.is_open:  # noqa: ASYNC110
                await asyncio.sleep(0.001)
        return [first, await wire.exchange("POST", b"{}", 100)]

    with FakeProvider([says(TWO, hangs_up=True), says(TWO)]) as server:
        outcomes = loop(with_transport(server, work))
        assert [broken for _, broken in outcomes] == [None, None]
        assert server.connections == len(server.requests) == 2


def test_a_connection_that_was_idle_for_too_long_is_not_used(
    loop: Callable[[Any], Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(direct_transport, "KEEPALIVE_S", -1.0)
    _, connections = exchanged(loop, says(TWO), times=3)
    assert connections == 3


class Line(asyncio.Transport):
    """A transport that only records what is asked of it."""

    def __init__(self) -> None:
        super().__init__()
        self.calls: list[str] = []
        self.is_aborted = False

    def write(self, data: Any) -> None:
        self.calls.append("write")

    def get_write_buffer_size(self) -> int:
        return 0

    def is_closing(self) -> bool:
        return self.is_aborted

    def abort(self) -> None:
        self.is_aborted = True

    def pause_reading(self) -> None:
        self.calls.append("pause")

    def resume_reading(self) -> None:
        self.calls.append("resume")


def test_bytes_that_nobody_asked_for_are_never_the_next_answer() -> None:
    connection, line = Connection(), Line()
    connection.connection_made(line)
    assert connection.is_reusable
    connection.data_received(TWO)
    assert line.is_aborted
    assert not connection.is_reusable


def test_no_more_is_read_while_much_of_a_body_waits() -> None:
    async def work() -> int:
        connection, line = Connection(), Line()
        connection.connection_made(line)
        connection.send(b"POST / HTTP/1.1\r\n\r\n")
        connection.data_received(OK + b"Content-Length: 10000000\r\n\r\n")
        for _ in range(6):
            connection.data_received(b"x" * 65536)
        assert line.calls == ["write", "pause"]
        part = await anext(aiter(connection))
        assert line.calls == ["write", "pause", "resume"]
        return len(part)

    assert asyncio.run(work()) == 6 * 65536


# --- addresses


@pytest.mark.usefixtures("wire")
@pytest.mark.parametrize("host", ["a" * 64 + ".invalid", "a..invalid", "999.1.1.1"])
def test_a_host_that_cannot_exist_was_not_reached(loop: Callable[[Any], Any], host: str) -> None:
    async def work() -> Exchanged:
        wire = Transport(f"http://{host}/", {}, deadline_s=5.0, connect_timeout_s=5.0)
        try:
            return await wire.exchange("POST", b"{}", 100)
        finally:
            await wire.aclose()

    _, broken = loop(work())
    assert broken is not None
    assert not broken.has_left


def test_an_address_that_does_not_answer_does_not_keep_a_host_from_being_reached(
    loop: Callable[[Any], Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connecting, "_HEAD_START_S", 0.0)

    async def reach(port: int, addresses: list[str]) -> bool:
        host = Host("nobody.invalid", port, None)

        async def look_up() -> list[str]:
            return addresses

        monkeypatch.setattr(host, "_look_up", look_up)
        connection = await host.connect()
        is_open = connection.is_open
        connection.abort()
        return is_open

    with FakeProvider() as server, silent(server.port, "127.0.0.2"):
        assert loop(reach(server.port, ["127.0.0.2", "127.0.0.1"])), "one is silent"
        assert loop(reach(server.port, ["127.0.0.3", "127.0.0.1"])), "one refuses"
        with pytest.raises(ConnectionRefusedError):
            loop(reach(server.port, ["127.0.0.3", "127.0.0.4"]))


@contextmanager
def silent(port: int, address: str) -> Iterator[None]:
    """An address whose queue of connections is full, so that another one waits for ever."""
    sockets = [socket.socket()]
    try:
        sockets[0].bind((address, port))
        sockets[0].listen(0)
        for _ in range(3):
            waiting = socket.socket()
            waiting.setblocking(False)
            waiting.connect_ex((address, port))
            sockets.append(waiting)
        yield
    finally:
        for each in sockets:
            each.close()


def test_connections_that_are_opened_together_look_the_host_up_once(loop: Callable[[Any], Any]) -> None:
    async def work(port: int) -> int:
        host, lookups = Host("localhost", port, None), 0
        look_up = host._look_up

        async def counted() -> list[str]:
            nonlocal lookups
            lookups += 1
            return await look_up()

        host._look_up = counted  # type: ignore[method-assign]
        for connection in await asyncio.gather(*(host.connect() for _ in range(10))):
            connection.abort()
        return lookups

    with FakeProvider() as server:
        assert loop(work(server.port)) == 1


# --- proxies


class Proxy:
    """A proxy that opens tunnels, unless it is told to `refuse` by hanging up, or to stay silent."""

    def __init__(self, *, refuse: bool = False, silent: bool = False) -> None:
        self._refuse, self._silent = refuse, silent
        self._listening = socket.create_server(("127.0.0.1", 0))
        self.port = self._listening.getsockname()[1]
        self.asked: list[bytes] = []
        self._open: list[socket.socket] = []
        self._threads = [threading.Thread(target=self._serve)]

    def __enter__(self) -> Proxy:
        self._threads[0].start()
        return self

    def __exit__(self, *_: object) -> None:
        self._listening.shutdown(socket.SHUT_RDWR)
        for each in self._open:
            try:
                each.shutdown(socket.SHUT_RDWR)
            except OSError:
                continue
        for thread in self._threads:
            thread.join()
        for each in (self._listening, *self._open):
            each.close()

    def _serve(self) -> None:
        try:
            client, _ = self._listening.accept()
        except OSError:
            return
        self._open.append(client)
        self.asked.append(client.recv(65536))
        if self._refuse:
            client.shutdown(socket.SHUT_RDWR)
        if self._refuse or self._silent:
            return
        target = self.asked[0].split()[1].decode().rpartition(":")
        server = socket.create_connection((target[0], int(target[2])))
        self._open.append(server)
        client.sendall(b"HTTP/1.1 200 Connection established\r\n\r\n")
        for source, sink in ((client, server), (server, client)):
            self._threads.append(threading.Thread(target=self._pipe, args=(source, sink)))
            self._threads[-1].start()

    def _pipe(self, source: socket.socket, sink: socket.socket) -> None:
        try:
            while data := source.recv(65536):
                sink.sendall(data)
            sink.shutdown(socket.SHUT_WR)
        except OSError:
            return


@pytest.fixture
def tls(certificate: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[ssl.SSLContext]:
    """What a server needs to be trusted in this test."""
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
    transport.trusted_authorities.cache_clear()
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate)
    yield context
    transport.trusted_authorities.cache_clear()


def through(proxy: Proxy, server: FakeProvider, loop: Callable[[Any], Any], **options: Any) -> Exchanged:
    async def work(wire: Transport) -> Exchanged:
        return await wire.exchange("POST", b"{}", 100_000)

    return loop(with_transport(server, work, proxy=f"http://me:pass%40word@127.0.0.1:{proxy.port}", **options))


def test_a_tunnel_through_a_proxy_carries_encrypted_requests(loop: Callable[[Any], Any], tls: ssl.SSLContext) -> None:
    with FakeProvider([says(TWO)], tls=tls) as server, Proxy() as proxy:
        arrived, broken = through(proxy, server, loop)
        assert (arrived.status, bytes(arrived.body), broken) == (200, b"hi", None)
        (sent,) = server.requests
    assert proxy.asked[0].startswith(b"CONNECT 127.0.0.1:")
    assert base64.b64encode(b"me:pass@word") in proxy.asked[0]
    assert "proxy-authorization" not in sent.headers


def test_a_request_that_went_through_a_tunnel_may_have_been_billed(
    loop: Callable[[Any], Any], tls: ssl.SSLContext
) -> None:
    with FakeProvider([fake.hang_up()], tls=tls) as server, Proxy() as proxy:
        _, broken = through(proxy, server, loop)
        assert len(server.requests) == 1
    assert broken is not None
    assert broken.has_left


@pytest.mark.parametrize("trouble", [{"refuse": True}, {"silent": True}], ids=["hangs up", "silent"])
def test_a_proxy_that_opens_no_tunnel_got_no_request(
    loop: Callable[[Any], Any], tls: ssl.SSLContext, trouble: dict[str, bool]
) -> None:
    """To ask for a tunnel is to connect: the short time limit applies, although the deadline is far away."""
    with FakeProvider(tls=tls) as server, Proxy(**trouble) as proxy:
        _, broken = through(proxy, server, loop, connect_timeout_s=0.3)
        assert server.requests == []
    assert broken is not None
    assert not broken.has_left


def test_a_server_that_never_finishes_the_handshake_was_not_reached(loop: Callable[[Any], Any]) -> None:
    async def work() -> Exchanged:
        wire = Transport(f"https://127.0.0.1:{port}/", {}, deadline_s=20.0, connect_timeout_s=0.3)
        try:
            return await wire.exchange("POST", b"{}", 100)
        finally:
            await wire.aclose()

    with socket.create_server(("127.0.0.1", 0)) as nobody_reads:
        port = nobody_reads.getsockname()[1]
        _, broken = loop(work())
    assert broken is not None
    assert not broken.has_left


# --- a transport that is given


def asked_of(handler: Callable[[httpx.Request], httpx.Response]) -> str:
    """What a provider answers whose requests this handler gets."""
    provider = OpenAICompatible(
        "http", "https://nobody.invalid/v1", PROFILES["http"], key="k", transport=httpx.MockTransport(handler)
    )

    async def work() -> str:
        try:
            return provider.read(await provider.send(REQUEST)).text
        finally:
            await provider.aclose()

    return uvloop.run(work())


def test_a_program_may_give_its_own_transport() -> None:
    seen: list[httpx.Request] = []

    def handler(request: httpx.Request) -> httpx.Response:
        seen.append(request)
        return httpx.Response(200, json=fake.completion_body("Hello."))

    assert asked_of(handler) == "Hello."
    assert str(seen[0].url) == "https://nobody.invalid/v1"
    assert seen[0].headers["authorization"] == "Bearer k"
    assert seen[0].headers["content-length"] == str(len(seen[0].content))


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        (httpx.ConnectError("no"), FailureKind.UNSENT),
        (httpx.ConnectTimeout("no"), FailureKind.UNSENT),
        (httpx.ProxyError("no"), FailureKind.UNSENT),
        (httpx.ReadTimeout("no"), FailureKind.AMBIGUOUS),
        (httpx.WriteError("no"), FailureKind.AMBIGUOUS),
        (httpx.RemoteProtocolError("no"), FailureKind.AMBIGUOUS),
        (TimeoutError("no"), FailureKind.AMBIGUOUS),
    ],
)
def test_the_errors_of_a_given_transport_mean_what_they_mean_in_httpx(error: Exception, kind: FailureKind) -> None:
    def handler(request: httpx.Request) -> httpx.Response:
        raise error

    with pytest.raises(ProviderFailure) as caught:
        asked_of(handler)
    assert caught.value.kind is kind


def test_a_given_transport_gets_the_whole_answer_from_a_real_server() -> None:
    with FakeProvider([answer("Hello.")]) as server:
        provider = OpenAICompatible(
            "http", f"{server.url}/chat/completions", PROFILES["http"], transport=httpx.AsyncHTTPTransport()
        )

        async def work() -> str:
            try:
                return provider.read(await provider.send(REQUEST)).text
            finally:
                await provider.aclose()

        assert uvloop.run(work()) == "Hello."


def test_a_deadline_without_a_text_is_told_in_words() -> None:
    assert BrokenExchange(TimeoutError(), has_left=False).words == "no answer in time"
    assert BrokenExchange(OSError(), has_left=False).words == "OSError"
    assert BrokenExchange(httpx.ReadError("reset"), has_left=True).words == "ReadError: reset"
