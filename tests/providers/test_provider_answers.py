"""What real providers answer, body by body, and what must come of it: refusals, stops, waits, thinking, odd bodies."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from debatebench.providers.base import Completion, FailureKind, ProviderFailure, Reply
from debatebench.providers.openai_reply import ReplySource, read_reply
from debatebench.providers.retry_after import retry_after_s

NOON = datetime(2026, 1, 2, 12, 0, 0)
NOON_MS = 1_767_355_200_000
DATE = "Fri, 02 Jan 2026 12:00:10 GMT"
STRANGER = ReplySource("http", "A_KEY")
OPENROUTER = ReplySource("openrouter", "OPENROUTER_API_KEY", reports_usd=True)


def outcome(
    status: int, body: Any, headers: Mapping[str, str] | None = None, source: ReplySource = STRANGER
) -> Completion | ProviderFailure:
    """What a reply is read as; a body that is not bytes is written as JSON."""
    content = body if isinstance(body, bytes) else json.dumps(body).encode()
    try:
        return read_reply(Reply(status, content, headers or {}, NOON, 1.0), source)
    except ProviderFailure as failure:
        return failure


def failure_of(status: int, body: Any, headers: Mapping[str, str] | None = None) -> ProviderFailure:
    failure = outcome(status, body, headers)
    assert isinstance(failure, ProviderFailure)
    return failure


def completion_of(body: Any, source: ReplySource = STRANGER) -> Completion:
    completion = outcome(200, body, source=source)
    assert isinstance(completion, Completion)
    return completion


def error(message: Any = "No.", **rest: Any) -> dict[str, Any]:
    return {"error": {"message": message, **rest}}


def chat(
    content: Any = "Hello.", finish: str | None = "stop", usage: Any = None, choice: Any = None, **message: Any
) -> dict[str, Any]:
    said = {"role": "assistant", "content": content, **message}
    return {"choices": [{"index": 0, "message": said, "finish_reason": finish, **(choice or {})}], "usage": usage}


def without_message(finish: str) -> dict[str, Any]:
    return {"choices": [{"index": 0, "finish_reason": finish}], "usage": {"prompt_tokens": 9, "total_tokens": 9}}


def quoting(upstream: Any, **metadata: Any) -> dict[str, Any]:
    """An error of OpenRouter that quotes its upstream's body as text."""
    raw = upstream if isinstance(upstream, str) else json.dumps(upstream)
    return error("Provider returned error", code=400, metadata={"raw": raw, "provider_name": "Up", **metadata})


@dataclass(frozen=True)
class Row:
    name: str
    status: int
    body: Any
    words: str = ""
    wait: float | None = None
    headers: Mapping[str, str] = field(default_factory=dict)


def rows(*table: Row) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("row", [pytest.param(row, id=row.name) for row in table])


# --- refusals and moderation


@rows(
    Row("OpenAI refusal", 200, chat(None, refusal="I can't argue that."), "I can't argue that."),
    Row("OpenAI content filter", 200, chat("Half", "content_filter")),
    Row(
        "OpenAI invalid prompt",
        400,
        error("Your prompt was flagged.", type="invalid_request_error", code="invalid_prompt"),
    ),
    Row(
        "Azure content filter",
        400,
        error(
            "The response was filtered.",
            type=None,
            param="prompt",
            code="content_filter",
            status=400,
            innererror={"code": "ResponsibleAIPolicyViolation", "content_filter_result": {"hate": {"filtered": True}}},
        ),
    ),
    Row("Azure inner code only", 400, error("Filtered.", innererror={"code": "ResponsibleAIPolicyViolation"})),
    Row(
        "OpenRouter moderation",
        403,
        error("Flagged.", code=403, metadata={"reasons": ["violence"], "flagged_input": "…", "provider_name": "Up"}),
    ),
    Row("OpenRouter flagged input only", 403, error("Flagged.", code=403, metadata={"flagged_input": "…"})),
    Row("OpenRouter inside 200", 200, error("Flagged.", code=403, metadata={"reasons": ["violence"]})),
    Row(
        "OpenRouter per choice",
        200,
        chat("Half", "error", choice={"error": {"code": 403, "message": "F", "metadata": {"reasons": ["x"]}}}),
    ),
    Row("OpenRouter native reason", 200, chat("", "stop", choice={"native_finish_reason": "SAFETY"})),
    Row("OpenRouter quotes Azure", 400, quoting(error("Filtered.", code="content_filter"))),
    Row("Gemini prohibited", 200, without_message("content_filter: PROHIBITED_CONTENT"), "PROHIBITED_CONTENT"),
    Row("Gemini recitation", 200, without_message("content_filter: RECITATION")),
    Row("Gemini safety", 200, chat("Half", "content_filter: SAFETY")),
    Row("Gemini native safety", 200, without_message("SAFETY")),
    Row("Gemini native recitation", 200, without_message("RECITATION")),
    Row("Gemini native prohibited", 200, without_message("PROHIBITED_CONTENT")),
    Row("Gemini native blocklist", 200, without_message("BLOCKLIST")),
    Row("Gemini native personal data", 200, without_message("SPII")),
    Row("Anthropic refusal", 200, chat("", "refusal")),
    Row(
        "xAI usage guidelines",
        403,
        {
            "code": "The caller does not have permission to execute the specified operation",
            "error": "Content violates usage guidelines. Failed check: SAFETY_CHECK_TYPE_BIO",
        },
        "Content violates usage guidelines",
    ),
    Row("xAI safety check", 403, {"code": "403", "error": "Failed check: SAFETY_CHECK_TYPE_CSAM."}),
    Row(
        "DeepSeek",
        400,
        error("Content Exists Risk", type="invalid_request_error", param=None, code="invalid_request_error"),
    ),
    Row(
        "DashScope",
        400,
        error(
            "Input data may contain inappropriate content.",
            code="data_inspection_failed",
            type="data_inspection_failed",
        ),
    ),
    Row("DashScope native name", 400, {"code": "DataInspectionFailed", "message": "Output data may be inappropriate."}),
    Row("Zhipu", 200, chat("", "sensitive")),
    Row(
        "LiteLLM policy",
        400,
        error("litellm.BadRequestError: litellm.ContentPolicyViolationError: …", type=None, param=None, code="400"),
    ),
    Row("LiteLLM refusal", 200, chat(None, provider_specific_fields={"refusal": "I can't."}), "I can't."),
)
def test_a_refusal_is_void_and_never_empty_failed_or_a_stop(row: Row) -> None:
    failure = failure_of(row.status, row.body, row.headers)
    assert failure.kind is FailureKind.REFUSED
    assert row.words in str(failure)


# --- the account or the key


@rows(
    Row("any 401", 401, {}, "check the key in A_KEY"),
    Row("any 401 in HTML", 401, b"<html>Unauthorized</html>", "check the key in A_KEY"),
    Row("OpenRouter credits", 402, error("Insufficient credits.", code=402), "check the credit"),
    Row("DeepSeek balance", 402, error("Insufficient Balance", code="invalid_request_error"), "check the credit"),
    Row(
        "Anthropic credit",
        400,
        {
            "type": "error",
            "error": {
                "type": "invalid_request_error",
                "message": "Your credit balance is too low to access the Anthropic API.",
            },
        },
        "check the credit",
    ),
    Row("OpenRouter quotes Anthropic", 400, quoting(error("Your credit balance is too low.")), "check the credit"),
    Row(
        "Gemini key",
        400,
        [
            {
                "error": {
                    "code": 400,
                    "message": "Please pass a valid API key.",
                    "status": "INVALID_ARGUMENT",
                    "details": [
                        {"@type": "type.googleapis.com/google.rpc.ErrorInfo", "reason": "API_KEY_INVALID"},
                    ],
                }
            }
        ],
        "check the key in A_KEY",
    ),
    Row(
        "xAI key",
        400,
        {"code": "Client specified an invalid argument", "error": "Incorrect API key provided: xa***yz."},
        "check the key in A_KEY",
    ),
    Row(
        "403 without moderation", 403, error("Your team has no access."), "check what the key in A_KEY may be used for"
    ),
    Row("xAI 403 without moderation", 403, {"code": "x", "error": "No access."}, "may be used for"),
    Row(
        "OpenAI quota",
        429,
        error("You exceeded your current quota.", type="insufficient_quota", code="insufficient_quota"),
        "check the credit",
    ),
    Row("Zhipu arrears", 429, error("余额不足", code="1113"), "check the credit"),
    Row("Moonshot quota", 429, error("No quota.", type="exceeded_current_quota_error"), "check the credit"),
    Row(
        "LiteLLM budget 400", 400, error("Budget!", type="budget_exceeded", param=None, code="400"), "check the credit"
    ),
    Row("LiteLLM budget 429", 429, error("Budget!", type="budget_exceeded", code="429"), "check the credit"),
    Row("402 inside 200", 200, error("Insufficient credits.", code=402), "check the credit"),
    Row(
        "402 per choice",
        200,
        chat("Half", "error", choice={"error": {"code": 402, "message": "X"}}),
        "check the credit",
    ),
)
def test_a_bad_key_or_an_exhausted_account_stops_and_says_what_to_check(row: Row) -> None:
    failure = failure_of(row.status, row.body, row.headers)
    assert failure.kind is FailureKind.STOP
    assert row.words in str(failure)


# --- limits and overload

LIMIT = {"x-ratelimit-remaining-requests": "0", "x-ratelimit-reset-requests": "1m30s"}
RETRY_INFO = [
    {"@type": "type.googleapis.com/google.rpc.Help", "links": []},
    {"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "36s"},
]


@rows(
    Row("Retry-After", 429, error(), wait=7.0, headers={"retry-after": "7"}),
    Row(
        "Retry-After as a date",
        429,
        error(),
        wait=20.0,
        headers={"retry-after": DATE.replace("10 G", "30 G"), "date": DATE},
    ),
    Row("retry-after-ms", 429, error(), wait=1.5, headers={"retry-after-ms": "1500", "retry-after": "2"}),
    Row("OpenAI requests", 429, error(), wait=90.0, headers=LIMIT),
    Row(
        "OpenAI tokens",
        429,
        error(),
        wait=0.012,
        headers={**LIMIT, "x-ratelimit-remaining-requests": "9"}
        | {"x-ratelimit-remaining-tokens": "0", "x-ratelimit-reset-tokens": "12ms"},
    ),
    Row(
        "OpenAI both limits",
        429,
        error(),
        wait=90.0,
        headers={**LIMIT, "x-ratelimit-remaining-tokens": "0", "x-ratelimit-reset-tokens": "6.2s"},
    ),
    Row("a limit that has room left", 429, error(), headers={**LIMIT, "x-ratelimit-remaining-requests": "1"}),
    Row("a limit beside an overload", 503, error(), headers=LIMIT),
    Row("a limit that is never renewed", 429, error(), headers={**LIMIT, "x-ratelimit-reset-requests": "soon"}),
    Row("OpenAI message", 429, error("Rate limit reached. Please try again in 7m12s. Visit …"), wait=300.0),
    Row("Groq message", 429, error("Please try again in 1m26.4s.", code="rate_limit_exceeded"), wait=86.4),
    Row("Groq message in seconds", 429, error("Please try again in 36.2s."), wait=36.2),
    Row("OpenAI message in ms", 429, error("Please try again in 120ms."), wait=0.12),
    Row("LiteLLM message", 429, error("No deployments available, Try again in 5 seconds. Passed model=m"), wait=5.0),
    Row("Azure message", 429, error("Please retry after 26 seconds."), wait=26.0),
    Row("a very long hint", 429, error("Please try again in " + "9s " * 1_000_000), wait=189.0),
    Row("a message of another kind", 429, error("Do try again in a while, in 7 days or so."), wait=None),
    Row(
        "Gemini RetryInfo", 429, [error("Quota.", code=429, status="RESOURCE_EXHAUSTED", details=RETRY_INFO)], wait=36.0
    ),
    Row("Gemini message", 429, [error("Quota exceeded.\nPlease retry in 36.2s.", code=429)], wait=36.2),
    Row(
        "Gemini's quota is not an exhausted account",
        429,
        [error("You exceeded your current quota, please check your plan and billing details.", code=429)],
    ),
    Row(
        "OpenRouter reset",
        429,
        error("Rate limit exceeded", code=429, metadata={"headers": {"X-RateLimit-Reset": str(NOON_MS + 30_000)}}),
        wait=20.0,
        headers={"date": DATE},
    ),
    Row(
        "OpenRouter reset inside 200",
        200,
        error("Rate limit", code=429, metadata={"headers": {"X-RateLimit-Reset": NOON_MS + 30_000}}),
        wait=30.0,
    ),
    Row("OpenRouter reset in the past", 429, error("R", metadata={"headers": {"X-RateLimit-Reset": "7"}}), wait=0.0),
    Row("OpenRouter reset of no use", 429, error("R", metadata={"headers": {"X-RateLimit-Reset": "soon"}})),
    Row(
        "OpenRouter quotes Gemini",
        429,
        quoting([error("Q", details=RETRY_INFO)]),
        "Provider returned error: Q",
        wait=36.0,
    ),
    Row("LiteLLM upstream", 429, error(), wait=9.0, headers={"llm_provider-retry-after": "9"}),
    Row("LiteLLM key limit", 429, error("Key over limit", code="429"), wait=60.0, headers={"retry-after": "60"}),
    Row("LiteLLM rpm limit", 429, error("litellm.RateLimitError: Deployment over rpm limit", code="429")),
    Row("Mistral", 429, {"object": "error", "message": "Rate limit exceeded", "type": "rate_limited", "code": "1300"}),
    Row("GitHub Models", 429, error("Daily limit."), wait=300.0, headers={"retry-after": "40000"}),
    Row("overload 503", 503, error("Loading model"), wait=None),
    Row("overload 529 of Anthropic", 529, {"type": "error", "error": {"type": "overloaded_error", "message": "Busy"}}),
    Row("overload 498 of Groq", 498, error("Flex tier capacity exceeded", code="capacity_exceeded")),
    Row("overload 424", 424, error("A model behind us failed")),
)
def test_a_limit_or_overload_is_asked_again_after_the_time_that_the_reply_tells(row: Row) -> None:
    failure = failure_of(row.status, row.body, row.headers)
    assert failure.kind is FailureKind.RETRY
    assert failure.retry_after_s == (None if row.wait is None else pytest.approx(row.wait))
    assert row.words in str(failure)


PAGE = b"<html><head><title>502 Bad Gateway</title></head><body><center><h1>nginx</h1></center></body></html>"
PROBLEM = {"type": "https://example.com/520", "title": "Error", "status": 500, "detail": "The origin failed."}


@rows(
    Row("OpenRouter", 502, error("Provider returned error", code=502)),
    Row("Gemini", 504, [error("Deadline expired.", code=504, status="DEADLINE_EXCEEDED")]),
    Row("Gemini's code alone", 500, [error("No.", status="DEADLINE_EXCEEDED")]),
    Row("Cloudflare", 520, PAGE, "(502 Bad Gateway)"),
    Row("Cloudflare's limit", 524, PAGE, "(502 Bad Gateway)", wait=5.0, headers={"retry-after": "5"}),
    Row("a timeout of the provider", 408, error("Request timed out.")),
    Row("a proxy that gave up", 408, PAGE),
    Row("nginx", 499, b""),
    Row("nginx", 503, PAGE, "(502 Bad Gateway)", wait=7.0, headers={"retry-after": "7"}),
    Row("nginx", 500, PAGE, "(502 Bad Gateway)"),
    Row("Envoy", 503, b"upstream connect error or disconnect/reset before headers", "(upstream connect error"),
    Row("AWS's gateway", 503, {"message": "Service Unavailable"}, "(Service Unavailable)"),
    Row("problem details", 500, PROBLEM, "(The origin failed.)"),
    Row("a body that is not understood", 503, {}),
    Row("LiteLLM before a silent provider", 500, error("litellm.Timeout: APITimeoutError - Request timed out.")),
    Row("LiteLLM before a broken connection", 500, error("litellm.APIConnectionError: Server disconnected")),
    Row("OpenRouter inside 200", 200, error("Provider returned error", code=504), "200 with error 504"),
    Row("a code inside 200", 200, error("No answer", code="timeout"), "200 with error 408"),
    Row("an unknown error inside 200", 200, error("Oops.", code="xyz"), "200 with error of no known code"),
    Row("overload after a part", 200, {**chat("Half"), **error("Busy", code=529)}, "(Busy)"),
    Row("overload after thinking", 200, {**chat("", reasoning="Hm."), **error("Busy", code=529)}, "(Busy)"),
    Row("overload after tokens", 200, {**chat("", usage={"completion_tokens": 9}), **error("Busy", code=529)}),
    Row("OpenRouter per choice", 200, chat("Half", "error", choice={"error": {"code": 502, "message": "D."}}), "D."),
    Row("OpenRouter per choice", 200, chat("Half", "error", choice={"error": {"code": 429, "message": "D."}}), "D."),
    Row("a wrong request, halfway", 200, chat("Half", "error", choice={"error": {"code": 400, "message": "D."}}), "D."),
    Row("OpenRouter finish reason", 200, chat("Half", "error"), "broke off"),
    Row("DeepSeek half a sentence", 200, chat("Half a sen", "insufficient_system_resource"), "broke off"),
    Row("Zhipu", 200, chat("", "network_error"), "broke off"),
    Row("vLLM", 200, chat("Half", "abort"), "broke off"),
)
def test_what_does_not_prove_that_nothing_was_generated_may_have_been_billed(row: Row) -> None:
    failure = failure_of(row.status, row.body, row.headers)
    assert failure.kind is FailureKind.AMBIGUOUS
    assert failure.retry_after_s == (None if row.wait is None else pytest.approx(row.wait))
    assert row.words in str(failure)


@rows(
    Row("Cloudflare did not reach the origin", 521, PAGE),
    Row("Cloudflare did not reach the origin", 522, PAGE),
    Row("Cloudflare did not reach the origin", 523, PAGE),
    Row("Cloudflare could not agree on TLS", 525, PAGE),
    Row("Cloudflare does not trust the origin", 526, PAGE),
    Row("Cloudflare limits", 429, PAGE),
    Row("the provider's own error", 500, error("Internal error", type="server_error")),
    Row("FastAPI", 500, {"detail": "Internal Server Error"}),
    Row("DashScope", 500, {"code": "InternalError", "message": "Internal error.", "request_id": "1"}),
    Row("the provider's own error inside 200", 200, error("Internal error", code=500)),
    Row("overload per choice without a part", 200, chat("", "error", choice={"error": {"code": 429}})),
)
def test_what_proves_that_nothing_was_generated_is_free(row: Row) -> None:
    assert failure_of(row.status, row.body).kind is FailureKind.RETRY


def test_a_limit_that_thinking_used_up_is_paid_although_the_status_says_a_wrong_request() -> None:
    words = "Could not finish the message because max_tokens or model output limit was reached. Please try again."
    assert failure_of(400, error(words, type="invalid_request_error")).kind is FailureKind.EMPTY


# --- pages that came in place of an answer


@pytest.mark.parametrize(
    ("status", "page", "words"),
    [
        (
            400,
            b"<html>\r\n<head><title>400 No required SSL certificate was sent</title></head>",
            "(400 No required SSL",
        ),
        (413, b"<html><title>413 Request Entity Too Large</title></html>", "(413 Request Entity Too Large)"),
        (200, b"<!DOCTYPE html><html><head><title>Sign in &ndash; Example</title></head>", "(Sign in \u2013 Example)"),
        (403, b"<html><head><title>\n </title><style>p {}</style></head><p>Go <b>away</b>.</p>", "(Go away ."),
        (403, b"<html><script>if (a < b) {}</script><!-- x > y -->Forbidden<br>here", "(Forbidden here)"),
        (404, b"404 page not found\n", "(404 page not found)"),
        (502, b"\xef\xbb\xbfBad \xff gateway \xe2\x80\xae", "(Bad gateway)"),
        (502, b"\x1f\x8b\x08\x00\x00\x01\x02\x03", "answered 502."),
        (502, b"<title>" * 100_000, "answered 502"),
        (502, b"", "answered 502."),
        (500, b"x" * 100_000, "xxx\u2026)"),
    ],
)
def test_the_first_words_of_a_page_reach_the_message(status: int, page: bytes, words: str) -> None:
    assert words in str(failure_of(status, page))


@pytest.mark.parametrize(
    "echo", ["sk-secret-1234567", "sk-<b>secret</b>-1234567", "sk-&#115;ecret-1234567", "sk-\nsecret-1234567"]
)
def test_a_page_that_repeats_the_key_does_not_show_it(echo: str) -> None:
    source = ReplySource("http", "A_KEY", keys=("sk-secret-1234567",))
    for page in (f"<html>Key {echo} is bad", f"<title>Key {echo} is bad</title>", f"Key {echo} is bad"):
        failure = outcome(403, page.encode(), source=source)
        assert "secret" not in str(failure)


# --- thinking


@pytest.mark.parametrize(
    ("usage", "tokens"),
    [
        ({"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 115}, (10, 105, 115)),  # xAI, Gemini
        ({"prompt_tokens": 10, "total_tokens": 115}, (10, 105, 115)),  # Gemini, when all went into thinking
        ({"prompt_tokens": 10, "completion_tokens": None, "total_tokens": 115}, (10, 105, 115)),
        (
            # OpenAI, DeepSeek, OpenRouter
            {
                "prompt_tokens": 10,
                "completion_tokens": 105,
                "total_tokens": 115,
                "completion_tokens_details": {"reasoning_tokens": 100},
            },
            (10, 105, 115),
        ),
        ({"prompt_tokens": 10, "completion_tokens": 5}, (10, 5, 15)),
        ({"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 12}, (None, None, None)),
        ({"prompt_tokens": 10, "completion_tokens": 0, "total_tokens": 10}, (10, None, None)),
        ({"prompt_tokens": 10, "total_tokens": 10}, (10, None, None)),
        ({"completion_tokens": 5, "total_tokens": 12}, (None, 5, 12)),
        ({"prompt_tokens": None, "completion_tokens": None, "total_tokens": None}, (None, None, None)),
        (None, (None, None, None)),
    ],
)
def test_tokens_of_thinking_count_as_completion(usage: Any, tokens: tuple[int | None, ...]) -> None:
    said = completion_of(chat(usage=usage))
    assert (said.prompt_tokens, said.completion_tokens, said.total_tokens) == tokens


def test_the_tier_that_served_an_answer_is_told() -> None:
    assert completion_of(chat() | {"service_tier": "flex"}).service_tier == "flex"
    assert completion_of(chat(usage={"input_tokens": 9, "service_tier": "batch"})).service_tier == "batch"
    assert completion_of(chat() | {"service_tier": None}).service_tier is None
    assert completion_of(chat() | {"service_tier": 7}).service_tier is None


def test_a_price_of_0_from_a_server_that_counts_nothing_is_unknown() -> None:
    nothing = {"prompt_tokens": 0, "completion_tokens": 0, "total_tokens": 0, "cost": 0}
    assert completion_of(chat(usage=nothing), OPENROUTER).cost is None
    assert completion_of(chat(usage={**nothing, "cost": 0.25}), OPENROUTER).cost == Decimal("0.25")
    counted = {"prompt_tokens": 9, "completion_tokens": 2, "cost": 0}
    assert completion_of(chat(usage=counted), OPENROUTER).cost == 0, "a model without charge"


@pytest.mark.parametrize(
    "body",
    [
        chat(reasoning_content="Hm. Well."),  # DeepSeek, vLLM, llama.cpp, LiteLLM
        chat(reasoning="Hm. Well."),  # OpenRouter, Ollama
        chat(reasoning="Hm. Well.", reasoning_content="Hm. Well."),
        chat(
            reasoning=None,
            reasoning_details=[
                {"type": "reasoning.text", "text": "Hm. ", "format": "x"},
                {"type": "reasoning.encrypted", "data": "AAAA"},
                {"type": "reasoning.summary", "summary": "Well."},
            ],
        ),
        chat(
            [
                {"type": "thinking", "thinking": [{"type": "text", "text": "Hm. "}, {"type": "text", "text": "Well."}]},
                {"type": "text", "text": "Hello."},
            ]
        ),  # Mistral
        chat([{"type": "thinking", "thinking": "Hm. Well."}, {"type": "text", "text": "Hello."}]),
    ],
)
def test_thinking_beside_the_answer_is_kept_apart(body: Any) -> None:
    said = completion_of(body)
    assert (said.text, said.reasoning) == ("Hello.", "Hm. Well.")


@pytest.mark.parametrize("reason", ["length", "max_tokens", "MAX_TOKENS", "model_length"])
def test_a_limit_that_leaves_nothing_after_thinking_is_an_answer_without_text(reason: str) -> None:
    said = completion_of(chat(None, reason, reasoning_content="Hm."))
    assert (said.text, said.reasoning, said.finish_reason) == ("", "Hm.", reason)


# --- odd bodies


@pytest.mark.parametrize("choices", [None, [], [None], {}, "x"])
def test_no_choices_are_an_empty_answer(choices: Any) -> None:
    assert failure_of(200, {"choices": choices, "usage": None}).kind is FailureKind.EMPTY


def test_an_object_of_the_older_completions_format_is_read() -> None:
    body = {"object": "text_completion", "choices": [{"index": 0, "text": "Hello.", "finish_reason": "length"}]}
    said = completion_of(body)
    assert (said.text, said.finish_reason) == ("Hello.", "length")


@pytest.mark.parametrize("before", [b"\n \r\n\t" * 50, b"\xef\xbb\xbf", b"\xef\xbb\xbf \n"])
def test_blanks_and_a_byte_order_mark_before_the_body_do_no_harm(before: bytes) -> None:
    assert completion_of(before + json.dumps(chat()).encode()).text == "Hello."
    assert failure_of(400, before + json.dumps(error("Wrong.")).encode()).kind is FailureKind.FAILED


def events(*chunks: Any, end: bytes = b"data: [DONE]\n\n") -> bytes:
    return b": WAIT\n\n" + b"".join(b"data: " + json.dumps(chunk).encode() + b"\n\n" for chunk in chunks) + end


def chunk(finish: str | None = None, **delta: Any) -> dict[str, Any]:
    choice = {"index": 0, "delta": delta, "finish_reason": finish}
    return {"id": "gen-1", "object": "chat.completion.chunk", "model": "m", "choices": [choice], "usage": None}


HALF, REST = chunk(content="Hel"), chunk("stop", content="lo.")
USAGE = {"id": "gen-1", "choices": [], "usage": {"prompt_tokens": 9, "completion_tokens": 2, "total_tokens": 11}}


@pytest.mark.parametrize(
    "body",
    [
        events(chunk(role="assistant", content=""), chunk(reasoning_content="Hm."), HALF, REST, USAGE),
        events(chunk(reasoning_content="Hm."), chunk(content="Hello."), chunk("stop"), USAGE, end=b""),
        events(chunk(reasoning="Hm."), chunk("stop", content="Hello."), USAGE).replace(b"\n", b"\r\n"),
        events(chunk("stop", content="Hello.", reasoning="Hm."), USAGE).replace(b"data: ", b"event: x\nid: 1\ndata:"),
        events(chunk(reasoning="Hm."), chunk(content=[{"type": "text", "text": "Hel"}]), REST, USAGE),
        events(
            chunk(content=[{"type": "thinking", "thinking": "Hm."}]),
            chunk(content="Hel"),
            chunk("stop", content=[{"text": "l"}, "o."]),
            USAGE,
        ),
        events(chunk(reasoning="Hm."), HALF, REST, USAGE).replace(b'"index": 0', b'"index": null'),
    ],
)  # fmt: skip
def test_events_that_were_not_requested_are_put_together(body: bytes) -> None:
    said = completion_of(body)
    assert (said.text, said.reasoning, said.finish_reason) == ("Hello.", "Hm.", "stop")
    assert (said.generation_id, said.served_model, said.total_tokens) == ("gen-1", "m", 11)


@pytest.mark.parametrize(
    ("body", "kind"),
    [
        (events(chunk(content="Half"), end=b""), FailureKind.AMBIGUOUS),
        (events(chunk(content="Half"), chunk("stop", content={"text": "more"})), FailureKind.AMBIGUOUS),
        (events(chunk(content="Half"), chunk("stop", content=7)), FailureKind.AMBIGUOUS),
        (events(chunk(content="Half"))[:-30], FailureKind.AMBIGUOUS),
        (events(chunk(content="Half"), end=b"data: not JSON\n\n"), FailureKind.AMBIGUOUS),
        (b": WAIT\n\n" * 9, FailureKind.AMBIGUOUS),
        (events(chunk(content="Half"), error("Down.", code=502), end=b""), FailureKind.AMBIGUOUS),
        (events(chunk(content="Half"), error("Slow down.", code=429), end=b""), FailureKind.AMBIGUOUS),
        (events(error("Slow down.", code=429), end=b""), FailureKind.RETRY),
        (events(chunk("content_filter", content="Half")), FailureKind.REFUSED),
        (events(chunk(refusal="I can't."), chunk("stop")), FailureKind.REFUSED),
        (events(chunk("stop")), FailureKind.EMPTY),
    ],
)
def test_events_without_a_whole_answer_are_a_failure(body: bytes, kind: FailureKind) -> None:
    assert failure_of(200, body).kind is kind


def test_events_of_the_older_format_and_whole_messages_are_read() -> None:
    older = {"choices": [{"index": 0, "text": "Hello.", "finish_reason": "stop"}]}
    assert completion_of(events(older)).text == "Hello."
    # Perplexity sends the message so far beside each delta.
    parts = [chunk(content="Hel"), chunk("stop", content="lo.")]
    for part, so_far in zip(parts, ("Hel", "Hello."), strict=True):
        part["choices"][0]["message"] = {"role": "assistant", "content": so_far}
    assert completion_of(events(*parts)).text == "Hello."


def test_an_invalid_answer_that_a_provider_rejects_is_asked_again() -> None:
    body = error(
        "Failed to generate JSON.", type="invalid_request_error", code="json_validate_failed", failed_generation="{"
    )
    assert failure_of(400, body).kind is FailureKind.EMPTY


@pytest.mark.parametrize(
    ("usage", "source", "cost"),
    [
        ('{"cost": 0.25}', OPENROUTER, "0.25"),
        ('{"cost": 0.25, "currency": null}', OPENROUTER, "0.25"),
        ('{"cost": 0.25, "currency": "EUR"}', OPENROUTER, None),
        ('{"cost": 0.25}', STRANGER, None),
        ('{"cost": 0.25, "currency": "USD"}', OPENROUTER, "0.25"),
        ('{"cost": 0.25, "currency": "USD"}', STRANGER, None),
        ('{"cost": {"request_cost": 0.006, "total_cost": 0.007}}', OPENROUTER, "0.007"),
        ('{"cost": {"request_cost": 0.006}}', OPENROUTER, None),
        ('{"cost": {"total_cost": 0.007}}', STRANGER, None),
        ('{"cost": 0.01, "is_byok": false, "cost_details": {"upstream_inference_cost": 0.2}}', OPENROUTER, "0.01"),
        ('{"cost": 0.01, "is_byok": true, "cost_details": {"upstream_inference_cost": 0.2}}', OPENROUTER, "0.21"),
        ('{"cost": 0, "is_byok": true, "cost_details": {"upstream_inference_cost": 2}}', OPENROUTER, "2"),
        ('{"cost": 0.01, "is_byok": true, "cost_details": {"upstream_inference_cost": null}}', OPENROUTER, None),
        ('{"cost": 0.01, "is_byok": true}', OPENROUTER, None),
    ],
)
def test_a_cost_is_the_whole_price_in_dollars_or_unknown(usage: str, source: ReplySource, cost: str | None) -> None:
    body = f'{{"choices": [{{"message": {{"content": "Hello."}}}}], "usage": {usage}}}'.encode()
    said = completion_of(body, source)
    assert said.cost == (None if cost is None else Decimal(cost))
    assert said.currency == (None if cost is None else "USD")


# --- messages


@rows(
    Row(
        "FastAPI",
        422,
        {"detail": [{"type": "extra_forbidden", "loc": ["body", "seed"], "msg": "Not permitted", "input": "secret"}]},
        "(body.seed: Not permitted)",
    ),
    Row("FastAPI text", 404, {"detail": "Not Found"}, "(Not Found)"),
    Row(
        "Mistral",
        422,
        {
            "object": "error",
            "message": {"detail": [{"loc": ["body", "seed"], "msg": "Extra"}, {"loc": ["body", 7], "msg": "Wrong"}]},
            "type": "invalid_request_error",
        },
        "(body.seed: Extra; body.7: Wrong)",
    ),
    Row("Gemini", 400, [error('Unknown name "seed": Cannot find field.', code=400)], '(Unknown name "seed"'),
    Row(
        "OpenRouter quotes Anthropic",
        400,
        quoting({"type": "error", "error": {"type": "x", "message": "minimum is not supported"}}),
        "(Provider returned error: minimum is not supported)",
    ),
    Row("OpenRouter quotes text", 400, quoting("busy"), "(Provider returned error: busy)"),
    Row("xAI", 400, {"code": "Client specified an invalid argument", "error": "Bad tokens."}, "(Bad tokens.)"),
)
def test_a_wrong_request_fails_with_the_words_of_the_provider(row: Row) -> None:
    failure = failure_of(row.status, row.body)
    assert failure.kind is FailureKind.FAILED
    assert row.words in str(failure)
    assert "secret" not in str(failure)


def test_words_of_errors_mean_nothing_in_an_answer_or_in_a_quoted_request() -> None:
    speech = "Your credit balance is too low. Content violates usage guidelines. Incorrect API key. insufficient_quota"
    assert completion_of(chat(speech)).text == speech
    assert completion_of(chat(speech, reasoning=speech)).reasoning == speech
    quoted = {"detail": [{"loc": ["body", "messages"], "msg": "Too long", "input": speech}]}
    assert failure_of(422, quoted).kind is FailureKind.FAILED
    assert failure_of(400, error("Too long: " + "x" * 1000 + speech)).kind is FailureKind.FAILED


# --- properties

KEYS = [
    "choices", "message", "content", "usage", "error", "code", "type", "status", "metadata", "reasons", "raw",
    "headers", "X-RateLimit-Reset", "details", "reason", "retryDelay", "detail", "loc", "msg", "innererror", "cost",
    "total_cost", "is_byok", "cost_details", "upstream_inference_cost", "text", "delta", "index", "finish_reason",
    "native_finish_reason", "refusal", "reasoning", "reasoning_details", "thinking", "provider_specific_fields",
    "prompt_tokens", "completion_tokens", "total_tokens", "object", "summary", "currency",
]  # fmt: skip
WORDS = [
    "error", "stop", "length", "content_filter: SAFETY", "1113", "insufficient_quota", "36s",
    "Please try again in 7m12s",
    '{"error": {"message": "x", "metadata": {"raw": "{}"}}}', "[" * 50_000, "thinking", "text", "USD", "502", "-1",
]  # fmt: skip
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.sampled_from(WORDS) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(KEYS), inner, max_size=6),
    max_leaves=30,
)
BODIES = st.one_of(
    VALUES,
    VALUES.map(lambda value: {"error": value}),
    VALUES.map(lambda value: {"choices": [value]}),
    VALUES.map(lambda value: {"choices": [{"message": value}]}),
    VALUES.map(lambda value: {"usage": value, "choices": [{"message": {"content": "Hello."}}]}),
)
STATUSES = st.sampled_from([200, 201, 302, 400, 401, 403, 422, 429, 498, 500])


def check(result: Completion | ProviderFailure) -> None:
    if isinstance(result, ProviderFailure):
        assert result.kind not in (FailureKind.UNSENT, FailureKind.OVERSIZE)
        assert result.retry_after_s is None or 0 <= result.retry_after_s <= 300
    else:
        assert result.text.strip() or (result.finish_reason or "").lower() in ("length", "max_tokens", "model_length")
        assert result.cost is None or result.currency == "USD"


@given(BODIES, STATUSES, st.sampled_from([STRANGER, OPENROUTER]))
def test_any_json_is_a_completion_or_a_failure_and_the_same_one_again(
    value: Any, status: int, source: ReplySource
) -> None:
    first, second = outcome(status, value, source=source), outcome(status, value, source=source)
    check(first)
    if isinstance(first, ProviderFailure):
        assert isinstance(second, ProviderFailure)
        assert (first.kind, str(first)) == (second.kind, str(second))
    else:
        assert first == second


@given(st.lists(BODIES, max_size=4), st.binary(max_size=20), STATUSES)
def test_any_events_are_a_completion_or_a_failure(chunks: list[Any], end: bytes, status: int) -> None:
    check(outcome(status, events(*chunks, end=end)))
    check(outcome(status, events(*chunks)))


@given(st.binary(max_size=200), STATUSES)
def test_any_bytes_are_a_completion_or_a_failure(body: bytes, status: int) -> None:
    check(outcome(status, body))


@given(st.text() | st.from_regex(r"\d{1,30}(\.\d{1,20})?(ms|s|m|h|d)(\d+s)?", fullmatch=True))
def test_no_hint_breaks_the_reader_or_leaves_its_bounds(value: str) -> None:
    headers = {
        "retry-after": value,
        "llm_provider-retry-after": value,
        "x-ratelimit-remaining-tokens": "0",
        "x-ratelimit-reset-tokens": value,
        "date": value,
    }
    seconds = retry_after_s(headers, NOON, status=429)
    assert seconds is None or 0 <= seconds <= 300
    failure = failure_of(429, error(f"Please try again in {value}", metadata={"headers": {"X-RateLimit-Reset": value}}))
    assert failure.retry_after_s is None or 0 <= failure.retry_after_s <= 300
