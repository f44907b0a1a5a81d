"""The HTTP provider against a real local server that misbehaves: every reply means what the fault matrix says."""

from __future__ import annotations

import asyncio
import gc
import gzip
import json
import socket
import ssl
import threading
import traceback
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager, suppress
from datetime import datetime
from decimal import Decimal
from pathlib import Path
from typing import Any, TypeVar

import fake_provider as fake
import pytest
import uvloop
from fake_provider import FakeProvider, answer, error_in_200, status
from hypothesis import given
from hypothesis import strategies as st
from patience import LONGEST_WAIT_S

from debatebench.config.load import MemberConfig
from debatebench.providers import KNOWN, is_simulated, make_provider, provider_key, transport
from debatebench.providers.base import Completion, FailureKind, Message, ProviderFailure, Reply, Request, TimeLimits
from debatebench.providers.endpoints import completions_url, key_for, proxy_for
from debatebench.providers.openai_compatible import OpenAICompatible, request_body
from debatebench.providers.openai_reply import ReplySource, read_reply
from debatebench.providers.profiles import PROFILES
from debatebench.providers.redaction import excerpt, without_keys, without_keys_in_bytes
from debatebench.providers.retry_after import retry_after_s
from debatebench.providers.transport import PartialReply
from debatebench.shared.errors import UsageError

CANARY = "sk-or-v1-canary0123456789abcdef"
REQUEST = Request("fake/model", (Message("system", "Be brief."), Message("user", "Hello?")), temperature=0.5)
NOON = datetime(2026, 1, 2, 12, 0, 0)
OPENROUTER = PROFILES["openrouter"]


def client(server: FakeProvider, profile: str = "openrouter", **options: Any) -> OpenAICompatible:
    options = {"key": CANARY, "key_variable": "OPENROUTER_API_KEY", "deadline_s": 20.0, **options}
    return OpenAICompatible(profile, f"{server.url}/chat/completions", PROFILES[profile], **options)


T = TypeVar("T")


def during(provider: OpenAICompatible, work: Callable[[OpenAICompatible], Awaitable[T]]) -> T:
    async def run() -> T:
        try:
            async with asyncio.timeout(30):
                return await work(provider)
        finally:
            await provider.aclose()

    return uvloop.run(run())


def ask(server: FakeProvider, request: Request = REQUEST, **options: Any) -> Completion:
    async def work(provider: OpenAICompatible) -> Completion:
        return provider.read(await provider.send(request))

    return during(client(server, **options), work)


def failure_of(*script: fake.Behaviour | str, **options: Any) -> ProviderFailure:
    """How the first request to a server with this script fails."""
    with FakeProvider(script) as server, pytest.raises(ProviderFailure) as caught:
        ask(server, **options)
    return caught.value


# --- answers


def test_an_answer_is_read_with_everything_that_it_tells() -> None:
    with FakeProvider(
        [
            answer(
                "Hello.",
                message={"reasoning": "Think."},
                usage={"cost_details": {"upstream_inference_cost": 0.001, "cached": None}},
            )
        ]
    ) as server:
        said = ask(server)
    assert said == Completion(
        text="Hello.",
        reasoning="Think.",
        finish_reason="stop",
        prompt_tokens=100,
        completion_tokens=20,
        total_tokens=120,
        cost=Decimal("0.00123"),
        currency="USD",
        cost_details={"upstream_inference_cost": 0.001, "cached": None},
        served_model="fake/model",
        serving_provider="Fake Cloud",
        generation_id="gen-1",
    )


def test_a_reply_keeps_its_raw_body_and_only_safe_headers() -> None:
    text = json.dumps(fake.completion_body("Hello.")).encode()
    headers = {"set-cookie": "session=1", "x-request-id": "r1", "X-RateLimit-Remaining-Requests": "9", "server": "x"}
    with FakeProvider([fake.body(text, headers=headers)]) as server:
        reply = during(client(server), lambda provider: provider.send(REQUEST))
    assert reply.body == text
    assert reply.status == 200
    assert set(reply.headers) == {"x-request-id", "x-ratelimit-remaining-requests"}
    assert reply.duration_ms > 0
    assert reply.received_at.tzinfo is None


def test_missing_figures_are_unknown_and_never_zero() -> None:
    with FakeProvider([fake.body({"choices": [{"message": {"content": "Hello."}}]})]) as server:
        assert ask(server) == Completion(text="Hello.")


def test_another_served_model_is_kept() -> None:
    with FakeProvider([answer(model="fake/other")]) as server:
        assert ask(server).served_model == "fake/other"


def test_a_length_limit_is_told_to_the_caller() -> None:
    with FakeProvider([answer("Hel", choice={"finish_reason": "length"})]) as server:
        assert ask(server).finish_reason == "length"


def test_an_answer_that_spent_its_limit_on_thinking_is_an_answer_without_text() -> None:
    thought = answer(None, message={"reasoning": "Thought about it."}, choice={"finish_reason": "length"})
    with FakeProvider([thought]) as server:
        said = ask(server)
    assert (said.text, said.reasoning, said.finish_reason) == ("", "Thought about it.", "length")


def test_content_in_parts_is_joined_without_the_parts_that_are_no_text() -> None:
    parts = [{"type": "thinking", "text": "Hm."}, {"type": "text", "text": "Hel"}, {"text": "lo"}, ".", {"text": None}]
    with FakeProvider([answer(parts)]) as server:
        assert ask(server).text == "Hello."


def test_leading_blanks_that_keep_a_connection_alive_are_no_fault() -> None:
    data = b"\n \r\n\t" * 50 + json.dumps(fake.completion_body("Hello.")).encode() + b"\n"
    with FakeProvider([fake.body(data)]) as server:
        assert ask(server).text == "Hello."


def test_a_compressed_answer_is_read() -> None:
    with FakeProvider([fake.gzipped("Hello.")]) as server:
        assert ask(server).text == "Hello."


def test_lone_surrogates_do_not_leave_the_reader() -> None:
    with FakeProvider([fake.body(b'{"choices":[{"message":{"content":"a\\ud800b"}}]}')]) as server:
        assert ask(server).text == "a\ufffdb"


@pytest.mark.parametrize(
    ("usage", "cost"),
    [
        ('{"cost": 0.1}', Decimal("0.1")),
        ('{"cost": 0.30000000000000000004}', Decimal("0.30000000000000000004")),
        ('{"cost": 1e-7}', Decimal("1e-7")),
        ('{"cost": 0}', Decimal(0)),
        ('{"cost": NaN}', None),
        ('{"cost": Infinity}', None),
        ('{"cost": -0.1}', None),
        ('{"cost": 1e400}', None),
        ('{"cost": 1e99999999999999999999}', None),
        ('{"cost": "0.1"}', None),
        ('{"cost": true}', None),
        ('{"cost": null}', None),
        ('{"cost": 0.1, "currency": "EUR"}', None),
        ("[]", None),
    ],
)
def test_cost_is_exact_or_unknown(usage: str, cost: Decimal | None) -> None:
    text = f'{{"choices":[{{"message":{{"content":"Hello."}}}}],"usage":{usage}}}'
    said = read_reply(Reply(200, text.encode(), {}, NOON, 1.0), ReplySource("openrouter", reports_usd=True))
    assert said.cost == cost
    assert said.currency == ("USD" if cost is not None else None)


@pytest.mark.parametrize(
    ("tokens", "count"),
    [("7", 7), ("7.0", 7), ("7.5", None), ("-1", None), ("true", None), ("1e99", None), ("NaN", None)],
)
def test_token_counts_are_whole_numbers_or_unknown(tokens: str, count: int | None) -> None:
    text = f'{{"choices":[{{"message":{{"content":"Hello."}}}}],"usage":{{"prompt_tokens":{tokens}}}}}'
    assert read_reply(Reply(200, text.encode(), {}, NOON, 1.0), ReplySource("http")).prompt_tokens == count


# --- what is sent


def test_the_request_holds_the_standard_fields_and_the_configured_parameters() -> None:
    request = Request(
        "fake/model",
        (Message("user", "Größe \ud800"),),
        temperature=0.0,
        max_tokens=50,
        seed=7,
        parameters={"top_p": 0.9, "debatebench": {"task": "speech"}, "skill": 0.5, "bias": 1, "stream": True},
    )
    with FakeProvider() as server:
        ask(server, request)
        (sent,) = server.requests
    assert sent.path == "/v1/chat/completions"
    assert sent.authorization == f"Bearer {CANARY}"
    assert sent.json == {
        "model": "fake/model",
        "messages": [{"role": "user", "content": "Größe \ud800"}],
        "temperature": 0.0,
        "max_tokens": 50,
        "seed": 7,
        "top_p": 0.9,
        "usage": {"include": True},
    }


def test_what_is_not_set_is_not_sent() -> None:
    body = request_body(Request("m", (Message("user", "x"),)), PROFILES["http"])
    assert body == {"model": "m", "messages": [{"role": "user", "content": "x"}]}


def test_openai_gets_the_token_limit_under_its_new_name() -> None:
    body = request_body(Request("m", (), max_tokens=9), PROFILES["openai"])
    assert body == {"model": "m", "messages": [], "max_completion_tokens": 9}


@pytest.mark.parametrize(
    ("profile", "parameters", "is_sent"),
    [
        ("openrouter", {}, True),
        ("openai", {}, True),
        ("http", {}, False),
        ("openai_compatible", {"structured_output": True}, True),
        ("openrouter", {"structured_output": False}, False),
    ],
)
def test_a_schema_goes_where_it_is_understood(profile: str, parameters: dict[str, Any], is_sent: bool) -> None:
    schema = {"type": "object"}
    body = request_body(Request("m", (), json_schema=schema, parameters=parameters), PROFILES[profile])
    wanted = {"type": "json_schema", "json_schema": {"name": "answer", "strict": True, "schema": schema}}
    assert body.get("response_format") == (wanted if is_sent else None)
    assert "structured_output" not in body


def test_a_provider_without_a_key_sends_none() -> None:
    with FakeProvider() as server:
        ask(server, profile="http", key=None)
        assert server.requests[0].authorization is None


@pytest.mark.usefixtures("wire")
def test_connections_are_reused_and_as_many_as_there_are_requests_in_flight() -> None:
    async def work(provider: OpenAICompatible) -> None:
        for _ in range(3):
            await asyncio.gather(*(provider.send(REQUEST) for _ in range(20)))

    everybody = threading.Barrier(20, timeout=LONGEST_WAIT_S)

    def together(received: fake.Received) -> str:
        everybody.wait()
        return "Hello."

    with FakeProvider(together) as server:
        during(client(server), work)
        assert len(server.requests) == 60
        assert server.connections == 20
        assert server.most_in_flight == 20


# --- faults: what an error status means


@pytest.mark.parametrize(
    ("code", "kind"),
    [
        *((code, FailureKind.RETRY) for code in (429, 500, 503, 529)),
        *((code, FailureKind.AMBIGUOUS) for code in (408, 502, 504, 524)),
    ],
)
def test_an_overloaded_provider_is_asked_again(code: int, kind: FailureKind) -> None:
    failure = failure_of(status(code, "Come back.", headers={"retry-after": "7"}))
    assert (failure.kind, failure.http_status, failure.retry_after_s) == (kind, code, 7.0)
    assert str(failure) == f"openrouter answered {code} (Come back.)."


def test_an_overloaded_provider_that_tells_no_time_leaves_it_to_the_caller() -> None:
    assert failure_of(status(503)).retry_after_s is None


@pytest.mark.parametrize("code", [400, 404, 413, 422])
def test_a_bad_request_is_final(code: int) -> None:
    failure = failure_of(status(code, f"Unknown model; key {CANARY}."))
    assert (failure.kind, failure.http_status) == (FailureKind.FAILED, code)
    assert str(failure) == f"openrouter answered {code} (Unknown model; key [redacted].)."


@pytest.mark.parametrize("code", [401, 402, 403])
def test_a_refused_key_or_account_stops_and_names_the_variable(code: int) -> None:
    failure = failure_of(status(code))
    assert (failure.kind, failure.http_status) == (FailureKind.STOP, code)
    assert "OPENROUTER_API_KEY" in str(failure)


def test_an_exhausted_account_stops_although_the_status_says_try_later() -> None:
    assert failure_of(status(429, code="insufficient_quota")).kind is FailureKind.STOP


@pytest.mark.parametrize(
    "behaviour",
    [
        status(403, metadata={"reasons": ["violence"], "flagged_input": "x"}),
        status(403, code="moderation_blocked"),
        status(400, code="content_policy_violation"),
        status(400, innererror={"code": "ResponsibleAIPolicyViolation"}),
        error_in_200(403, metadata={"reasons": ["violence"]}),
        answer("I c", choice={"finish_reason": "content_filter"}),
        answer(None, message={"refusal": "I cannot argue that."}),
    ],
)
def test_moderation_is_a_refusal(behaviour: fake.Behaviour) -> None:
    assert failure_of(behaviour).kind is FailureKind.REFUSED


def test_a_refusal_still_counts_its_tokens() -> None:
    failure = failure_of(answer("I c", choice={"finish_reason": "content_filter"}))
    assert failure.completion is not None
    assert (failure.completion.text, failure.completion.total_tokens) == ("I c", 120)
    assert failure.completion.cost == Decimal("0.00123")


@pytest.mark.parametrize(
    ("code", "kind"),
    [
        (429, FailureKind.RETRY),
        (502, FailureKind.AMBIGUOUS),
        ("504", FailureKind.AMBIGUOUS),
        ("503", FailureKind.RETRY),
        ("rate_limit_exceeded", FailureKind.RETRY),
        ("not_known", FailureKind.AMBIGUOUS),
        (None, FailureKind.AMBIGUOUS),
        (400, FailureKind.FAILED),
        (404, FailureKind.FAILED),
        (401, FailureKind.STOP),
        (402, FailureKind.STOP),
        ("insufficient_quota", FailureKind.STOP),
    ],
)
def test_an_error_inside_status_200_means_what_its_code_says(code: Any, kind: FailureKind) -> None:
    assert failure_of(error_in_200(code)).kind is kind


def test_an_error_inside_status_200_names_its_code() -> None:
    failure = failure_of(error_in_200(502, "Upstream is down."))
    assert failure.http_status == 502
    assert str(failure) == "openrouter answered 200 with error 502 (Upstream is down.)."


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ({"error": "overloaded"}, "overloaded"),
        ({"object": "error", "message": "too long", "code": 400}, "too long"),
        (
            {"error": {"message": "Provider returned error", "metadata": {"raw": "busy"}}},
            "Provider returned error: busy",
        ),
    ],
)
def test_errors_in_other_shapes_are_understood(content: Any, words: str) -> None:
    assert f"({words})" in str(failure_of(fake.body(content)))


@pytest.mark.parametrize("content", [[{"error": {"message": "No such model."}}], {"detail": "No such model."}])
def test_error_bodies_of_other_servers_are_quoted(content: Any) -> None:
    failure = failure_of(fake.body(content, status=404), profile="http")
    assert str(failure) == "http answered 404 (No such model.)."


@pytest.mark.parametrize(
    "behaviour",
    [
        answer("Half an ans", choice={"error": {"code": 502, "message": "x"}}),
        answer("Half", choice={"finish_reason": "error"}),
    ],
)
def test_an_answer_that_broke_off_is_asked_again_and_its_part_kept(behaviour: fake.Behaviour) -> None:
    failure = failure_of(behaviour)
    assert failure.kind is FailureKind.AMBIGUOUS
    assert failure.completion is not None
    assert failure.completion.text.startswith("Half")


@pytest.mark.parametrize(
    "behaviour",
    [
        answer(""),
        answer(None),
        answer(" \n\t"),
        answer([]),
        answer(choices=[]),
        answer(choices=None),
        answer(choices=["x"]),
        answer(None, message={"reasoning": "Thought about it."}),
        fake.body({}),
    ],
)
def test_an_answer_without_text_is_empty(behaviour: fake.Behaviour) -> None:
    assert failure_of(behaviour).kind is FailureKind.EMPTY


def test_an_empty_answer_still_counts_its_tokens() -> None:
    failure = failure_of(answer(""))
    assert failure.completion is not None
    assert failure.completion.cost == Decimal("0.00123")
    assert failure.generation_id == "gen-1"


@pytest.mark.parametrize(
    "content",
    [
        b"<html>Oops</html>",
        b"fine, thanks",
        b'{"choices": [',
        b"",
        b'{"choices": "\xff\xfe"}',
        b"[" * 100_000,
        b'["a list"]',
        b"7",
    ],
)
def test_a_body_that_is_no_json_object_may_have_been_billed_and_is_kept(content: bytes) -> None:
    failure = failure_of(fake.body(content))
    assert failure.kind is FailureKind.AMBIGUOUS
    assert failure.partial_body == content


def test_a_redirect_is_not_followed_and_the_key_goes_nowhere() -> None:
    with FakeProvider() as elsewhere, FakeProvider([fake.redirect(f"{elsewhere.url}/chat/completions")]) as server:
        with pytest.raises(ProviderFailure) as caught:
            ask(server)
        assert len(server.requests) == 1
        assert elsewhere.connections == 0
    assert (caught.value.kind, caught.value.http_status) == (FailureKind.FAILED, 302)


# --- faults: broken exchanges


@pytest.mark.usefixtures("wire")
def test_a_refused_connection_was_not_sent() -> None:
    with FakeProvider() as server:
        provider = client(server)
    with pytest.raises(ProviderFailure) as caught:
        during(provider, lambda provider: provider.send(REQUEST))
    assert caught.value.kind is FailureKind.UNSENT


@pytest.mark.usefixtures("wire")
def test_an_unknown_host_was_not_reached() -> None:
    provider = OpenAICompatible("http", "https://nobody.invalid/v1/chat/completions", PROFILES["http"], deadline_s=5)
    with pytest.raises(ProviderFailure) as caught:
        during(provider, lambda provider: provider.send(REQUEST))
    assert caught.value.kind is FailureKind.UNSENT


@pytest.mark.usefixtures("wire")
def test_a_failed_tls_handshake_was_not_sent() -> None:
    with FakeProvider() as server:
        url = f"https://127.0.0.1:{server.port}/v1/chat/completions"
        with pytest.raises(ProviderFailure) as caught:
            during(OpenAICompatible("http", url, PROFILES["http"], deadline_s=5), lambda p: p.send(REQUEST))
        assert server.requests == []
    assert caught.value.kind is FailureKind.UNSENT


@pytest.mark.usefixtures("wire")
@pytest.mark.parametrize("is_trusted", [False, True])
def test_a_certificate_must_be_trusted(certificate: Path, is_trusted: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate)
    if is_trusted:
        monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
    transport.trusted_authorities.cache_clear()
    with FakeProvider(tls=context) as server:
        provider = client(server)
        if is_trusted:
            assert during(provider, lambda provider: provider.send(REQUEST)).status == 200
        else:
            with pytest.raises(ProviderFailure, match="CERTIFICATE_VERIFY_FAILED") as caught:
                during(provider, lambda provider: provider.send(REQUEST))
            assert caught.value.kind is FailureKind.UNSENT
        assert len(server.requests) == is_trusted
    transport.trusted_authorities.cache_clear()


@pytest.mark.usefixtures("wire")
def test_a_host_that_accepts_no_connection_was_not_reached() -> None:
    with _full_backlog() as port:
        url = f"http://127.0.0.1:{port}/v1/chat/completions"
        with pytest.raises(ProviderFailure) as caught:
            during(OpenAICompatible("http", url, PROFILES["http"], deadline_s=0.4), lambda p: p.send(REQUEST))
    assert caught.value.kind is FailureKind.UNSENT


@pytest.mark.usefixtures("wire")
def test_a_request_whose_time_was_over_before_it_began_was_not_sent() -> None:
    with FakeProvider() as server:
        url = f"http://127.0.0.1:{server.port}/v1/chat/completions"
        with pytest.raises(ProviderFailure) as caught:
            during(OpenAICompatible("http", url, PROFILES["http"], deadline_s=1e-9), lambda p: p.send(REQUEST))
        assert server.requests == []
    assert caught.value.kind is FailureKind.UNSENT


@contextmanager
def _full_backlog() -> Iterator[int]:
    """A port whose queue of connections is full, so that another one waits for ever."""
    sockets = [socket.socket()]
    try:
        sockets[0].bind(("127.0.0.1", 0))
        sockets[0].listen(0)
        for _ in range(3):
            waiting = socket.socket()
            waiting.setblocking(False)
            waiting.connect_ex(sockets[0].getsockname())
            sockets.append(waiting)
        yield sockets[0].getsockname()[1]
    finally:
        for each in sockets:
            each.close()


@pytest.mark.slow
@pytest.mark.usefixtures("wire")
def test_a_request_that_never_left_as_a_whole_was_not_sent() -> None:
    request = Request("fake/model", (Message("user", "x" * 40_000_000),))
    with socket.create_server(("127.0.0.1", 0)) as nobody_reads:
        url = f"http://127.0.0.1:{nobody_reads.getsockname()[1]}/v1/chat/completions"
        with pytest.raises(ProviderFailure) as caught:
            during(OpenAICompatible("http", url, PROFILES["http"], deadline_s=1.0), lambda p: p.send(request))
        # What was not sent by then is not sent afterwards either.
        connection, _ = nobody_reads.accept()
        assert 0 < _bytes_until_the_end(connection) < 40_000_000
    assert caught.value.kind is FailureKind.UNSENT


def _bytes_until_the_end(connection: socket.socket) -> int:
    size = 0
    connection.settimeout(10)
    with connection, suppress(ConnectionResetError):
        while data := connection.recv(1 << 20):
            size += len(data)
    return size


TROUBLE: dict[str, fake.Behaviour] = {
    "hangs up": fake.hang_up(),
    "hangs up after the head": fake.hang_up({}),
    "cut": fake.cut(framing="content-length"),
    "cut in chunks": fake.cut(framing="chunked"),
    "cut without a length": fake.cut(framing="close"),
    "cut error": fake.cut(code=503),
    "cut compressed": fake.gzipped(keep=30),
    "silent": fake.silence(),
    "silent after the head": fake.silence(sends_head=True),
    "one byte at a time": fake.drip(0.05),
    "no HTTP": lambda wire: wire.socket.sendall(b"SSH-2.0-OpenSSH_9.9\r\n\r\n"),
    "too large": fake.huge(9 * 2**20),
    "a bomb": fake.gzip_bomb(50 * 2**20),
    "too large an error": fake.huge(9 * 2**20, code=500),
    "redirect": fake.redirect("http://127.0.0.1:9/"),
    "redirect that keeps the method": fake.redirect("/elsewhere", 307),
    "429": status(429),
    "500": status(500),
    "401": status(401, headers={"www-authenticate": "Basic"}),
    "html": fake.html(),
    "leading blanks": fake.body(b" " * 100 + json.dumps(fake.completion_body()).encode()),
}
UNTIL_THE_LIMIT = ("silent", "silent after the head", "one byte at a time")


@pytest.mark.usefixtures("wire")
@pytest.mark.parametrize(
    "behaviour",
    [pytest.param(TROUBLE[name], id=name, marks=[pytest.mark.slow] * (name in UNTIL_THE_LIMIT)) for name in TROUBLE],
)
@pytest.mark.parametrize("is_reused", [False, True], ids=["new connection", "reused connection"])
def test_to_send_once_is_one_request_at_the_server_whatever_comes(behaviour: fake.Behaviour, is_reused: bool) -> None:
    async def work(provider: OpenAICompatible) -> None:
        if is_reused:
            await provider.send(REQUEST)
        with suppress(ProviderFailure):
            await provider.send(REQUEST, limits=TimeLimits(1.0, 1.0))

    with FakeProvider([answer(), behaviour] if is_reused else [behaviour]) as server:
        during(client(server), work)
        assert len(server.requests) == 1 + is_reused
        assert server.connections == 1


@pytest.mark.usefixtures("wire")
def test_whoever_answers_before_the_request_is_whole_is_heard() -> None:
    """A server that refuses a request for its size need not read it to the end."""
    request = Request("fake/model", (Message("user", "x" * 5_000_000),))
    with FakeProvider([status(413, "Too long.")]) as server:
        reply = during(client(server), lambda provider: provider.send(request))
        assert len(server.requests) == 1
    assert reply.status == 413


@pytest.mark.usefixtures("wire")
def test_a_connection_closed_before_the_answer_is_ambiguous() -> None:
    failure = failure_of(fake.hang_up())
    assert (failure.kind, failure.http_status, failure.partial_body) == (FailureKind.AMBIGUOUS, None, None)


@pytest.mark.usefixtures("wire")
def test_a_reused_connection_that_was_closed_is_ambiguous() -> None:
    async def work(provider: OpenAICompatible) -> None:
        await provider.send(REQUEST)
        await provider.send(REQUEST)

    with FakeProvider([answer(), fake.hang_up()]) as server:
        with pytest.raises(ProviderFailure) as caught:
            during(client(server), work)
        assert server.connections == 1
        assert len(server.requests) == 2
    assert caught.value.kind is FailureKind.AMBIGUOUS


@pytest.mark.usefixtures("wire")
@pytest.mark.parametrize("framing", ["content-length", "chunked"])
def test_a_cut_body_is_ambiguous_and_its_part_kept(framing: str) -> None:
    failure = failure_of(fake.cut("Hello.", framing=framing, keep=60))
    assert (failure.kind, failure.http_status, failure.generation_id) == (FailureKind.AMBIGUOUS, 200, "gen-cut")
    assert failure.partial_body == json.dumps(fake.completion_body("Hello.")).encode()[:60]


@pytest.mark.usefixtures("wire")
def test_a_cut_body_without_a_length_is_ambiguous() -> None:
    failure = failure_of(fake.cut("Hello.", framing="close", keep=60))
    assert failure.kind is FailureKind.AMBIGUOUS
    assert failure.partial_body is not None
    assert len(failure.partial_body) == 60


@pytest.mark.usefixtures("wire")
@pytest.mark.parametrize("keep", [60, -4])
def test_a_cut_compressed_body_is_ambiguous_even_when_only_its_checksum_is_missing(keep: int) -> None:
    assert failure_of(fake.gzipped("Hello." * 500, keep=keep)).kind is FailureKind.AMBIGUOUS


@pytest.mark.usefixtures("wire")
def test_a_body_that_is_not_compressed_as_promised_is_ambiguous() -> None:
    failure = failure_of(fake.body(b"{}", headers={"content-encoding": "gzip"}))
    assert failure.kind is FailureKind.AMBIGUOUS


@pytest.mark.usefixtures("wire")
@pytest.mark.parametrize(("code", "kind"), [(429, FailureKind.RETRY), (503, FailureKind.AMBIGUOUS)])
def test_the_status_of_an_error_counts_even_when_its_body_is_cut(code: int, kind: FailureKind) -> None:
    failure = failure_of(fake.cut("Hello.", code=code, keep=20))
    assert (failure.kind, failure.http_status) == (kind, code), "half an error of its own does not show whose it is"


@pytest.mark.slow
@pytest.mark.usefixtures("wire")
@pytest.mark.parametrize("behaviour", [fake.silence(), fake.silence(sends_head=True), fake.drip(0.02)])
def test_no_whole_answer_by_the_deadline_is_ambiguous(behaviour: fake.Behaviour) -> None:
    failure = failure_of(behaviour, deadline_s=0.8)
    assert failure.kind is FailureKind.AMBIGUOUS
    assert str(failure) == "openrouter gave no whole answer within 0.8 s."


@pytest.mark.slow
@pytest.mark.usefixtures("wire")
def test_the_generation_id_of_an_answer_that_never_came_is_kept() -> None:
    assert failure_of(fake.silence(sends_head=True), deadline_s=0.8).generation_id == "gen-slow"


@pytest.mark.usefixtures("wire")
@pytest.mark.parametrize("behaviour", [fake.huge(50 * 2**20), fake.gzip_bomb(200 * 2**20)])
def test_a_body_beyond_the_cap_is_not_read(behaviour: fake.Behaviour) -> None:
    failure = failure_of(behaviour)
    assert (failure.kind, failure.http_status) == (FailureKind.OVERSIZE, 200)
    assert str(failure) == "openrouter answered with more than 8 MiB, which is not read."


def test_no_more_of_a_gzip_bomb_than_the_cap_is_ever_decoded() -> None:
    arrived = PartialReply(1000)
    arrived.begin(200, [(b"Content-Encoding", b"gzip")])
    arrived.add(gzip.compress(b" " * 10_000_000))
    assert len(arrived.body) == 1001
    assert arrived.is_oversize


@pytest.mark.usefixtures("wire")
@pytest.mark.parametrize(("spare", "is_read"), [(0, True), (1, False)])
def test_the_cap_is_exact(spare: int, is_read: bool) -> None:
    data = json.dumps(fake.completion_body()).encode().ljust(1000)
    with FakeProvider([fake.body(data + b" " * spare)]) as server:
        if is_read:
            assert ask(server, largest_body=1000).text == "Hello."
        else:
            with pytest.raises(ProviderFailure, match="not read"):
                ask(server, largest_body=1000)


@pytest.mark.usefixtures("wire")
def test_a_huge_error_page_is_cut_and_its_status_counts() -> None:
    with FakeProvider([fake.huge(9 * 2**20, code=502)]) as server:
        reply = during(client(server), lambda provider: provider.send(REQUEST))
    assert reply.status == 502
    assert len(reply.body) < 100_000


@pytest.mark.usefixtures("wire")
@pytest.mark.slow
def test_a_request_after_a_failed_one_is_answered() -> None:
    async def work(provider: OpenAICompatible) -> list[str]:
        texts = []
        for _ in range(4):
            try:
                texts.append(provider.read(await provider.send(REQUEST)).text)
            except ProviderFailure as failure:
                texts.append(failure.kind)
        return texts

    with FakeProvider([fake.cut(), "One.", fake.silence(), "Two."]) as server:
        assert during(client(server, deadline_s=2.0), work) == ["ambiguous", "One.", "ambiguous", "Two."]


@pytest.mark.usefixtures("wire")
def test_a_cancelled_request_is_not_mistaken_for_a_deadline() -> None:
    arrivals: list[Callable[[], Any]] = []

    def script(received: fake.Received) -> fake.Behaviour:
        arrivals[0]()
        return fake.silence()

    async def work(provider: OpenAICompatible) -> None:
        has_arrived = asyncio.Event()
        loop = asyncio.get_running_loop()
        arrivals.append(lambda: loop.call_soon_threadsafe(has_arrived.set))
        task = asyncio.create_task(provider.send(REQUEST))
        await has_arrived.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    with FakeProvider(script) as server:
        during(client(server), work)


# --- Retry-After


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({}, None),
        ({"retry-after": "7"}, 7.0),
        ({"retry-after": " 7 "}, 7.0),
        ({"retry-after": "1.5"}, 1.5),
        ({"retry-after": "0"}, 0.0),
        ({"retry-after": "-5"}, 0.0),
        ({"retry-after": "86400"}, 300.0),
        ({"retry-after": "9" * 200}, 300.0),
        ({"retry-after-ms": "1500"}, 1.5),
        ({"retry-after-ms": "1500", "retry-after": "60"}, 1.5),
        ({"retry-after-ms": "soon", "retry-after": "60"}, 60.0),
        ({"retry-after": "soon"}, None),
        ({"retry-after": "nan"}, None),
        ({"retry-after": "inf"}, None),
        ({"retry-after": "1e3"}, None),
        ({"retry-after": "1_0"}, None),
        ({"retry-after": "٧"}, None),
        ({"retry-after": ""}, None),
        ({"retry-after": "Fri, 02 Jan 2026 12:00:30 GMT"}, 30.0),
        ({"retry-after": "Friday, 02-Jan-26 12:00:30 GMT"}, 30.0),
        ({"retry-after": "Fri Jan  2 12:00:30 2026"}, 30.0),
        ({"retry-after": "Fri, 02 Jan 2026 11:59:00 GMT"}, 0.0),
        ({"retry-after": "Fri, 01 Jan 2999 00:00:00 GMT"}, 300.0),
        ({"retry-after": "Fri, 99 Jan 2026 12:00:30 GMT"}, None),
        ({"retry-after": "Fri, 02 Jan 2030 12:00:30 GMT", "date": "Fri, 02 Jan 2030 12:00:10 GMT"}, 20.0),
        ({"retry-after": "Fri, 02 Jan 2026 12:00:30 GMT", "date": "garbage"}, 30.0),
    ],
)
def test_retry_after_is_read_in_every_form_and_clamped(headers: dict[str, str], seconds: float | None) -> None:
    assert retry_after_s(headers, NOON) == seconds


@given(st.text())
def test_no_retry_after_breaks_the_reader(value: str) -> None:
    seconds = retry_after_s({"retry-after": value, "retry-after-ms": value, "date": value}, NOON)
    assert seconds is None or 0 <= seconds <= 300


FIELDS = [
    "choices",
    "message",
    "content",
    "usage",
    "error",
    "code",
    "metadata",
    "reasons",
    "cost",
    "text",
    "type",
    "finish_reason",
    "refusal",
    "reasoning",
    "cost_details",
    "prompt_tokens",
    "id",
    "object",
]
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(FIELDS), inner, max_size=5),
    max_leaves=25,
)


@given(JSON, st.sampled_from([200, 201, 204, 302, 400, 403, 429, 500]))
def test_any_body_is_a_completion_or_a_failure_and_can_be_written_again(value: Any, code: int) -> None:
    reply = Reply(code, json.dumps(value).encode(), {}, NOON, 1.0)
    outcome: Completion | ProviderFailure
    try:
        outcome = read_reply(reply, ReplySource("http"))
    except ProviderFailure as failure:
        outcome = failure
    if isinstance(outcome, Completion):
        assert outcome.text.strip()
        json.dumps(outcome.cost_details)
    else:
        assert outcome.kind not in (FailureKind.UNSENT, FailureKind.OVERSIZE)
        assert outcome.completion is None or code < 300


# --- keys


def everything_told(failure: BaseException) -> str:
    """What a log or traceback could show of a failure, its causes and its attributes."""
    shown = "".join(traceback.format_exception(failure)) + repr(failure) + repr(vars(failure))
    for linked in (failure.__cause__, failure.__context__):
        shown += everything_told(linked) if linked is not None else ""
    return shown


@pytest.mark.parametrize(
    "behaviour",
    [
        status(401, f"Incorrect API key provided: {CANARY}."),
        status(500, f"header Authorization: Bearer {CANARY}"),
        error_in_200(502, f"upstream said {CANARY}"),
        answer("Half", choice={"error": {"message": CANARY}}),
        answer(None, message={"refusal": f"No, {CANARY}."}),
        answer("", message={"reasoning": CANARY}),
        fake.body(f"<html>{CANARY}</html>".encode()),
        fake.body({"choices": []}, headers={"x-request-id": CANARY, "content-type": CANARY}),
        fake.body(b"{}", status=302, headers={"location": f"http://127.0.0.1/?key={CANARY}"}),
        fake.cut(f"{CANARY} " * 5, keep=json.dumps(fake.completion_body(CANARY)).index(CANARY) + len(CANARY) + 20),
        lambda wire: wire.socket.sendall(f"HTTP/1.1 {CANARY}\r\n\r\n".encode()),
        fake.hang_up(),
        fake.hang_up({"x-generation-id": CANARY}),
        fake.silence(),
        fake.huge(9 * 2**20),
        fake.body(b'{"choices":[{"message":{"content":""}}],"id":"' + CANARY.replace("s", "\\u0073").encode() + b'"}'),
    ],
)
def test_a_key_is_in_no_failure(behaviour: fake.Behaviour) -> None:
    failure = failure_of(behaviour, deadline_s=0.5)
    assert "canary" not in everything_told(failure)


def test_a_key_cut_off_at_the_end_of_a_body_is_removed() -> None:
    for keep in range(1, len(CANARY)):
        cut = b'{"you said": "' + CANARY[:keep].encode()
        kept = without_keys_in_bytes(cut, [CANARY], is_cut=True)
        assert CANARY[:4].encode() not in kept
        assert without_keys_in_bytes(cut, [CANARY]) == cut


def test_a_key_is_in_no_reply_and_no_completion() -> None:
    escaped = "\\u0073" + CANARY[1:]
    data = f'{{"x":"{CANARY}","choices":[{{"message":{{"content":"{escaped} {CANARY}","reasoning":"{escaped}"}}}}]}}'
    with FakeProvider([fake.body(data.encode(), headers={"x-request-id": f"r {CANARY}"})]) as server:
        provider = client(server)
        reply = during(provider, lambda provider: provider.send(REQUEST))
    assert CANARY.encode() not in reply.body
    assert CANARY not in repr(reply)
    assert provider.read(reply).text == "[redacted] [redacted]"
    assert CANARY not in repr(provider.read(reply))


def test_a_key_is_in_no_repr() -> None:
    with FakeProvider() as server:
        provider = client(server)
        assert CANARY not in repr(provider) + str(provider) + repr(provider._source)


def test_no_failure_holds_on_to_the_http_exchange() -> None:
    failure = failure_of(fake.hang_up())
    assert failure.__cause__ is None
    assert failure.__context__ is None
    del failure
    gc.collect()


@pytest.mark.parametrize(
    "text",
    [
        "sk-proj-abcdef123456",
        "sk-abc***wxyz9",
        "Bearer abc.def",
        "AIzaSyA1234567890abcdefg",
        "gsk_0123456789abcdef",
        "eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0",
    ],
)
def test_what_looks_like_a_key_is_not_shown(text: str) -> None:
    assert excerpt(f"You sent {text} today") == "You sent [redacted] today"


def test_ordinary_words_and_identifiers_are_shown() -> None:
    text = "No endpoint for anthropic/claude-opus-4.5 (request 123e4567-e89b-12d3-a456-426614174000)"
    assert without_keys(text) == text


def test_an_excerpt_is_one_short_printable_line() -> None:
    said = excerpt("\x1b[31mred\x1b[0m\r\nand\tblue\u202e " + "x " * 500)
    assert said.startswith("[31mred [0m and blue x x")
    assert said.isprintable()
    assert len(said) == 200


# --- from configuration to provider


def member(provider: str, **changes: Any) -> MemberConfig:
    return MemberConfig(id="m1", provider=provider, model="fake/model", **changes)


@pytest.mark.parametrize(
    ("configured", "url"),
    [
        (member("openrouter"), "https://openrouter.ai/api/v1/chat/completions"),
        (member("openai"), "https://api.openai.com/v1/chat/completions"),
        (member("http", endpoint="http://localhost:8000/v1"), "http://localhost:8000/v1/chat/completions"),
        (member("http", endpoint="http://127.8.0.1:1/v1/"), "http://127.8.0.1:1/v1/chat/completions"),
        (member("http", endpoint="http://[::1]:8000"), "http://[::1]:8000/chat/completions"),
        (
            member("http", endpoint="https://x.example/v1/chat/completions?api-version=3#top"),
            "https://x.example/v1/chat/completions?api-version=3",
        ),
        (
            member("openai_compatible", endpoint="http://gpu-box:8000/v1", allow_insecure=True),
            "http://gpu-box:8000/v1/chat/completions",
        ),
    ],
)
def test_an_endpoint_is_a_base_address_or_a_whole_one(configured: MemberConfig, url: str) -> None:
    assert completions_url(configured) == url


@pytest.mark.parametrize(
    ("endpoint", "words"),
    [
        (None, "needs an `endpoint`"),
        ("http://gpu-box:8000/v1", "neither https nor on this machine"),
        ("http://localhost.evil.example/v1", "neither https nor on this machine"),
        ("http://127.0.0.1.evil.example/v1", "neither https nor on this machine"),
        ("http://10.0.0.1/v1", "neither https nor on this machine"),
        ("ftp://x.example/v1", "not an http or https address"),
        ("x.example/v1", "not an http or https address"),
        ("https:///v1", "not an http or https address"),
        ("https://x.example:port/v1", "not an http or https address"),
        ("https://x.example/v1\nHost: y", "not an http or https address"),
        ("https://bücher.example/v1", "not an http or https address"),
        ("https://me:secret@x.example/v1", "must not contain a user name or password"),
    ],
)
def test_an_address_that_cannot_be_used_is_refused(endpoint: str | None, words: str) -> None:
    with pytest.raises(UsageError, match=words) as caught:
        make_provider(member("http", endpoint=endpoint), {})
    assert "secret" not in str(caught.value)


def test_a_missing_key_is_named_before_any_call() -> None:
    for provider, variable in (("openrouter", "OPENROUTER_API_KEY"), ("openai", "OPENAI_API_KEY")):
        for environ in ({}, {variable: "  "}):
            with pytest.raises(UsageError, match=f"'m1' .* set the environment variable {variable}"):
                make_provider(member(provider), environ)
    with pytest.raises(UsageError, match="MY_API_KEY"):
        make_provider(member("http", endpoint="http://localhost:1", api_key_env="MY_API_KEY"), {"OPENAI_API_KEY": "x"})


OTHER_SECRETS = """
    HOME DATABASE_URL AWS_SECRET_ACCESS_KEY PGPASSWORD monkey GITHUB_TOKEN VAULT_TOKEN CI_JOB_TOKEN PASSWORD_KEY
    HF_TOKEN SSH_KEY OPENAI_KEY_2 MY_KEY API_KEY _API_KEY MYAPI_KEY NPM_TOKEN KUBE_TOKEN STRIPE_API_KEY
    STRIPE_LIVE_API_KEY SENDGRID_API_KEY DD_API_KEY NEW_RELIC_API_KEY GITHUB_API_KEY CLOUDFLARE_API_KEY HEROKU_API_KEY
    GEM_HOST_API_KEY PASSWORD_API_KEY ANTHROPIC_ADMIN_API_KEY OPENAI_API_KEY_FILE OPENAI_API_KEYS
"""


@pytest.mark.parametrize("variable", OTHER_SECRETS.split())
def test_a_variable_whose_name_is_not_that_of_a_models_key_is_sent_only_if_that_is_allowed(variable: str) -> None:
    wanted = member("http", endpoint="http://localhost:1", api_key_env=variable)
    with pytest.raises(UsageError, match=f"'m1' would send the environment variable {variable}") as caught:
        make_provider(wanted, {variable: "canary"})
    assert "canary" not in str(caught.value)
    assert f"DEBATEBENCH_KEY_VARIABLES={variable}" in str(caught.value)
    for allowed in (variable, f"OTHER,{variable}", f"{variable} OTHER"):
        make_provider(wanted, {variable: "canary", "DEBATEBENCH_KEY_VARIABLES": allowed})


OWN_VARIABLES = [profile.key_variable for profile in PROFILES.values() if profile.key_variable]


@pytest.mark.parametrize("variable", [*OWN_VARIABLES, "MY_API_KEY", "OPENAI_2_API_KEY", "GOOGLE_API_KEY"])
def test_the_usual_names_of_models_keys_need_no_permission(variable: str) -> None:
    wanted = member("http", endpoint="http://localhost:1", api_key_env=variable)
    assert key_for(wanted, {variable: "canary"}) == "canary"


@pytest.mark.parametrize("key", ["a\nb", "schlüssel", "a b", "\x00"])
def test_a_key_that_no_header_can_carry_is_refused_without_being_shown(key: str) -> None:
    with pytest.raises(UsageError, match="OPENAI_API_KEY contains characters") as caught:
        make_provider(member("openai"), {"OPENAI_API_KEY": key})
    assert key not in str(caught.value)


def test_a_line_end_after_a_key_is_forgiven() -> None:
    with FakeProvider() as server:
        provider = make_provider(member("openai", endpoint=server.url), {"OPENAI_API_KEY": f"{CANARY}\n"})
        assert isinstance(provider, OpenAICompatible)
        during(provider, lambda provider: provider.send(REQUEST))
        assert server.requests[0].authorization == f"Bearer {CANARY}"


HOSTED = "https://gpu.invalid/v1"


def proxy_of(endpoint: str, environ: dict[str, str], **changes: Any) -> str | None:
    configured = member("http", endpoint=endpoint, allow_insecure=True, **{"environment_proxies": True, **changes})
    return proxy_for(configured, completions_url(configured), environ)


@pytest.mark.parametrize(
    ("endpoint", "environ", "proxy"),
    [
        (HOSTED, {}, None),
        (HOSTED, {"HTTPS_PROXY": "http://proxy:3128"}, "http://proxy:3128"),
        (HOSTED, {"https_proxy": "proxy:3128"}, "http://proxy:3128"),
        (HOSTED, {"HTTP_PROXY": "http://proxy:3128"}, None),
        (HOSTED, {"ALL_PROXY": "https://proxy"}, "https://proxy"),
        (HOSTED, {"HTTPS_PROXY": " ", "ALL_PROXY": "http://other"}, "http://other"),
        ("http://gpu.invalid/v1", {"HTTP_PROXY": "http://proxy:3128"}, "http://proxy:3128"),
        (HOSTED, {"HTTPS_PROXY": "http://proxy", "NO_PROXY": "*"}, None),
        (HOSTED, {"HTTPS_PROXY": "http://proxy", "NO_PROXY": "x, .invalid"}, None),
        (HOSTED, {"HTTPS_PROXY": "http://proxy", "no_proxy": "gpu.invalid"}, None),
        (HOSTED, {"HTTPS_PROXY": "http://proxy", "NO_PROXY": "pu.invalid,"}, "http://proxy"),
        (HOSTED, {"HTTPS_PROXY": "http://proxy", "NO_PROXY": "gpu.invalid:443"}, None),
        ("https://gpu.invalid:8443/v1", {"HTTPS_PROXY": "http://proxy", "NO_PROXY": "gpu.invalid:443"}, "http://proxy"),
        ("http://gpu.invalid/v1", {"HTTP_PROXY": "http://proxy", "NO_PROXY": "gpu.invalid:80"}, None),
        ("http://[fd00::1]:8000/v1", {"HTTP_PROXY": "http://proxy", "NO_PROXY": "[fd00::1]:8000"}, None),
        ("http://127.0.0.1:8000/v1", {"HTTP_PROXY": "http://proxy", "ALL_PROXY": "http://proxy"}, None),
        ("http://localhost:8000/v1", {"HTTP_PROXY": "http://proxy"}, None),
    ],
)
def test_a_proxy_is_the_one_that_the_environment_names_for_the_address(
    endpoint: str, environ: dict[str, str], proxy: str | None
) -> None:
    assert proxy_of(endpoint, environ) == proxy
    assert proxy_of(endpoint, environ, environment_proxies=False) is None


@pytest.mark.parametrize("value", ["socks5://me:secret@proxy", "http://", "http://me:secret@proxy:port", "ftp://proxy"])
def test_a_proxy_that_cannot_be_used_is_named_by_its_variable(value: str) -> None:
    with pytest.raises(UsageError, match=r"'m1' .* https_proxy is not an http or https address") as caught:
        proxy_of(HOSTED, {"https_proxy": value})
    assert "secret" not in str(caught.value)


def test_environment_proxies_are_used_when_asked() -> None:
    with FakeProvider() as proxy:
        asked = member("http", endpoint="http://gpu.invalid/v1", allow_insecure=True, environment_proxies=True)
        provider = make_provider(asked, {"HTTP_PROXY": f"http://127.0.0.1:{proxy.port}"})
        assert isinstance(provider, OpenAICompatible)
        assert during(provider, lambda provider: provider.send(REQUEST)).status == 200
        assert [received.path for received in proxy.requests] == ["http://gpu.invalid/v1/chat/completions"]


@pytest.mark.parametrize("login", ["me:pass%40word@", ""])
def test_a_proxy_that_refuses_is_no_request_and_sees_no_key_and_shows_no_password(login: str) -> None:
    said: list[bytes] = []

    def refuse(listening: socket.socket) -> None:
        connection, _ = listening.accept()
        with connection:
            said.append(connection.recv(65536))
            connection.sendall(b"HTTP/1.1 407 Proxy Authentication Required\r\ncontent-length: 0\r\n\r\n")

    with socket.create_server(("127.0.0.1", 0)) as listening:
        thread = threading.Thread(target=refuse, args=(listening,))
        thread.start()
        proxy = f"http://{login}127.0.0.1:{listening.getsockname()[1]}"
        asked = member("openai", endpoint=HOSTED, environment_proxies=True)
        provider = make_provider(asked, {"HTTPS_PROXY": proxy, "OPENAI_API_KEY": CANARY})
        assert isinstance(provider, OpenAICompatible)
        with pytest.raises(ProviderFailure) as caught:
            during(provider, lambda provider: provider.send(REQUEST))
        thread.join()
    assert caught.value.kind is FailureKind.STOP
    assert said[0].startswith(b"CONNECT gpu.invalid:443 ")
    assert b"canary" not in said[0]
    for shown in (everything_told(caught.value), repr(provider)):
        assert "canary" not in shown
        assert "pass%40word" not in shown
        assert "pass@word" not in shown


def test_environment_proxies_are_not_used(monkeypatch: pytest.MonkeyPatch) -> None:
    with FakeProvider() as proxy, FakeProvider() as server:
        monkeypatch.setenv("HTTP_PROXY", f"http://127.0.0.1:{proxy.port}")
        monkeypatch.setenv("ALL_PROXY", f"http://127.0.0.1:{proxy.port}")
        assert ask(server).text == "Hello."
        assert proxy.connections == 0


def test_an_unknown_provider_is_refused_with_the_known_ones() -> None:
    with pytest.raises(
        UsageError,
        match=r"No provider 'opnai' \(of 'm1'\)\. Known: anthropic, azure, .*, http, .*, openai, openai_compatible",
    ):
        make_provider(member("opnai"), {})
    assert {name for name in KNOWN if is_simulated(name)} == {"simulated"}


def test_members_share_a_provider_when_address_and_key_are_the_same() -> None:
    one = member("openrouter")
    assert provider_key(one) == provider_key(MemberConfig(id="m2", provider="openrouter", model="other/model"))
    others = [
        member("openai"),
        member("openrouter", endpoint="https://x.example/v1"),
        member("openrouter", api_key_env="OTHER_API_KEY"),
        member("openrouter", allow_insecure=True),
        member("openrouter", environment_proxies=True),
        member("openrouter", trust_reported_cost=True),
    ]
    assert len({provider_key(each) for each in (one, *others)}) == 7


@pytest.mark.parametrize(
    ("usage", "untrusted", "trusted"),
    [
        ({"cost": 0.25, "currency": None}, None, "0.25"),
        ({"cost": 0.25, "currency": "USD"}, None, "0.25"),
        ({"cost": 0.25, "currency": "EUR"}, None, None),
        ({"cost": 0.25, "is_byok": True, "cost_details": {"upstream_inference_cost": 0.5}}, None, "0.75"),
    ],
)
def test_the_cost_that_an_unknown_server_reports_counts_where_the_entry_trusts_it(
    usage: dict[str, Any], untrusted: str | None, trusted: str | None
) -> None:
    for is_trusted, cost in ((False, untrusted), (True, trusted)):
        with FakeProvider([answer(usage=usage)]) as server:
            entry = member("http", endpoint=server.url, trust_reported_cost=is_trusted)
            provider = make_provider(entry, {})
            said = uvloop.run(_asked(provider))
        assert said.cost == (None if cost is None else Decimal(cost))


async def _asked(provider: Any) -> Completion:
    try:
        return provider.read(await provider.send(REQUEST), REQUEST)
    finally:
        await provider.aclose()


def test_a_reply_read_again_without_a_connection_says_the_same() -> None:
    with FakeProvider([answer("Hello.")]) as server:
        reply = during(client(server), lambda provider: provider.send(REQUEST))
    later = OpenAICompatible("openrouter", "https://x.example", OPENROUTER)
    assert later.read(reply).text == "Hello."
