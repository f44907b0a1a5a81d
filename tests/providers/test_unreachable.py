"""Servers that cannot be reached: causes that last are distinguished from those that pass, with the way out."""

from __future__ import annotations

import asyncio
import errno
import socket
import ssl
from pathlib import Path

import httpx
import pytest
import uvloop
from fake_provider import FakeProvider
from refusing_proxy import RefusingProxy

from debatebench.config.load import MemberConfig
from debatebench.providers import make_provider, transport
from debatebench.providers.base import FailureKind, Message, Provider, ProviderFailure, Request
from debatebench.providers.openai_compatible import OpenAICompatible
from debatebench.providers.profiles import PROFILES
from debatebench.providers.served_models import read_catalogue
from debatebench.providers.unreachable import ProxyLoginError, obstacle_of

REQUEST = Request("m", (Message("user", "Hello?"),))
FAR = "https://gpu.invalid/v1"


def failure_of(provider: Provider) -> ProviderFailure:
    async def send() -> None:
        try:
            async with asyncio.timeout(30):
                await provider.send(REQUEST)
        finally:
            await provider.aclose()

    with pytest.raises(ProviderFailure) as caught:
        uvloop.run(send())
    return caught.value


def at(url: str) -> OpenAICompatible:
    return OpenAICompatible("http", f"{url}/chat/completions", PROFILES["http"], deadline_s=20.0)


def proxied(proxy: str, endpoint: str = FAR) -> Provider:
    member = MemberConfig(
        id="m", provider="http", model="m", endpoint=endpoint, environment_proxies=True, allow_insecure=True
    )
    return make_provider(member, {"HTTPS_PROXY": proxy, "HTTP_PROXY": proxy})


@pytest.mark.usefixtures("wire")
def test_an_untrusted_certificate_lasts_and_the_message_says_how_to_trust_it(certificate: Path) -> None:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate)
    transport.trusted_authorities.cache_clear()
    with FakeProvider(tls=context) as server:
        failure = failure_of(at(server.url))
        assert server.requests == []
    assert (failure.kind, failure.is_lasting) == (FailureKind.UNSENT, True)
    assert "SSL_CERT_FILE (REQUESTS_CA_BUNDLE is not read)" in str(failure)


@pytest.mark.usefixtures("wire")
def test_a_certificate_of_another_host_is_told(certificate: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
    transport.trusted_authorities.cache_clear()
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate)
    with FakeProvider(tls=context) as server:
        failure = failure_of(at(server.url.replace("127.0.0.1", "localhost")))
    transport.trusted_authorities.cache_clear()
    assert failure.is_lasting
    assert "that of another host" in str(failure)


@pytest.mark.usefixtures("wire")
def test_https_to_a_plain_port_lasts() -> None:
    with FakeProvider() as server:
        failure = failure_of(at(server.url.replace("http:", "https:")))
        assert server.requests == []
    assert (failure.kind, failure.is_lasting) == (FailureKind.UNSENT, True)
    assert "does not use TLS at this port" in str(failure)


@pytest.mark.usefixtures("wire")
def test_a_refused_connection_may_pass() -> None:
    with FakeProvider() as server:
        url = server.url
    failure = failure_of(at(url))
    assert (failure.kind, failure.is_lasting) == (FailureKind.UNSENT, False)


def test_a_proxy_that_wants_a_password_stops_at_once() -> None:
    with RefusingProxy("407 Proxy Authentication Required") as proxy:
        failure = failure_of(proxied(proxy.address))
        assert proxy.asked == 1
    assert (failure.kind, failure.http_status) == (FailureKind.STOP, 407)
    assert "HTTPS_PROXY=http://NAME:PASSWORD@HOST:PORT" in str(failure)


def test_a_proxy_that_lets_nothing_pass_lasts_and_one_that_is_broken_may_pass() -> None:
    with RefusingProxy("403 Forbidden") as proxy:
        failure = failure_of(proxied(proxy.address))
    assert (failure.kind, failure.is_lasting) == (FailureKind.UNSENT, True)
    assert "environment_proxies" in str(failure)
    with RefusingProxy("503 Service Unavailable") as proxy:
        failure = failure_of(proxied(proxy.address))
    assert (failure.kind, failure.is_lasting) == (FailureKind.UNSENT, False)


def test_a_catalogue_is_not_asked_for_a_password_twice() -> None:
    member = MemberConfig(id="m", provider="openrouter", model="m", endpoint=FAR, environment_proxies=True)
    with RefusingProxy("407 Proxy Authentication Required") as proxy:
        environ = {"HTTPS_PROXY": proxy.address, "OPENROUTER_API_KEY": "sk-0123456789"}
        with pytest.raises(ProxyLoginError, match="needs a name and a password"):
            read_catalogue(member, environ)
        assert proxy.asked == 1


def raised(cause: BaseException) -> httpx.ConnectError:
    """An error of the HTTP library that was made from another."""
    error = httpx.ConnectError(str(cause))
    error.__cause__ = OSError("in between")
    error.__cause__.__context__ = cause
    return error


@pytest.mark.parametrize(
    ("cause", "is_lasting"),
    [
        (socket.gaierror(socket.EAI_NONAME, "Name or service not known"), True),
        (socket.gaierror(socket.EAI_AGAIN, "Temporary failure in name resolution"), False),
        (ConnectionRefusedError(errno.ECONNREFUSED, "Connection refused"), False),
        (TimeoutError(), False),
        (ssl.SSLError(1, "[SSL] record layer failure (_ssl.c:1000)"), True),
        (ssl.SSLError(1, "[SSL: UNEXPECTED_EOF_WHILE_READING] EOF occurred"), False),
        (httpx.ProxyError("502 Bad Gateway"), False),
        (httpx.ProxyError("4070 of something"), False),
    ],
)
def test_only_a_cause_that_lasts_has_a_way_out(cause: BaseException, is_lasting: bool) -> None:
    for error in (cause, raised(cause)):
        obstacle = obstacle_of(error)
        assert (obstacle is not None) == is_lasting
        assert obstacle is None or obstacle.remedy.endswith(".")


def test_errors_that_cause_each_other_have_an_end() -> None:
    first, second = OSError("a"), OSError("b")
    first.__cause__, second.__cause__ = second, first
    assert obstacle_of(first) is None
