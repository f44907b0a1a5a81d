"""What the codes, words, statuses and finish reasons of providers mean. A new rule is a line in one of these tables.

A code counts before words in the message, and words before the status. Words are searched only in the message of an
error, never in an answer, and are long enough not to occur in other errors.

Each meaning says whether the attempt may have been billed: what proves that nothing was generated is free
(`RETRY`, `FAILED`, `STOP`), and what does not prove it may be billed (`AMBIGUOUS`, `EMPTY`, `REFUSED`). A proof is an
error by which the provider itself declined instead of answering, or the status of an intermediary that did not reach
the provider. A gateway that gave up waiting proves nothing: the provider behind it may have completed the answer.
"""

from __future__ import annotations

from dataclasses import dataclass

from debatebench.providers.base import FailureKind
from debatebench.providers.error_body import ErrorBody


@dataclass(frozen=True, slots=True)
class Meaning:
    """The consequence of an error or a finish reason, and what the user can check, where `{}` stands for the key."""

    kind: FailureKind
    remedy: str = ""
    is_too_long: bool = False
    """Whether the request does not fit into the model's context window."""


_REFUSED = Meaning(FailureKind.REFUSED)
_BAD_KEY = Meaning(FailureKind.STOP, "check {}")
_FORBIDDEN = Meaning(FailureKind.STOP, "check what {} may be used for")
_NO_CREDIT = Meaning(FailureKind.STOP, "check the credit of the account behind {}")
_NO_LOGIN = Meaning(
    FailureKind.STOP,
    "the proxy needs a name and a password: write them into the proxy's address, as in "
    "HTTPS_PROXY=http://NAME:PASSWORD@HOST:PORT",
)
_LATER = Meaning(FailureKind.RETRY)
_UNPROVEN = Meaning(FailureKind.AMBIGUOUS)
_USELESS = Meaning(FailureKind.EMPTY)
_WRONG_REQUEST = Meaning(FailureKind.FAILED)
_TOO_LONG = Meaning(FailureKind.FAILED, is_too_long=True)

# The lower-case codes, types and reasons of an error. The first line that matches counts.
_BY_CODE = {
    # Some send 429 for an exhausted account, where waiting does not help.
    "insufficient_quota": _NO_CREDIT,  # OpenAI
    "billing_hard_limit_reached": _NO_CREDIT,  # OpenAI
    "insufficient_credits": _NO_CREDIT,  # OpenRouter
    "exceeded_current_quota_error": _NO_CREDIT,  # Moonshot
    "budget_exceeded": _NO_CREDIT,  # LiteLLM
    "1113": _NO_CREDIT,  # Zhipu
    "invalid_api_key": _BAD_KEY,  # OpenAI
    "api_key_invalid": _BAD_KEY,  # Gemini, in `details[].reason`
    "content_filter": _REFUSED,  # Azure, Moonshot
    "responsibleaipolicyviolation": _REFUSED,  # Azure, in `innererror`
    "invalid_prompt": _REFUSED,  # OpenAI
    "content_policy_violation": _REFUSED,  # OpenAI, LiteLLM
    "data_inspection_failed": _REFUSED,  # DashScope
    "datainspectionfailed": _REFUSED,  # DashScope
    "content_filtered": _REFUSED,
    "content_moderation": _REFUSED,
    "moderation": _REFUSED,
    "moderation_blocked": _REFUSED,
    "context_length_exceeded": _TOO_LONG,  # OpenAI, Groq, DeepSeek
    "exceed_context_size_error": _TOO_LONG,  # llama.cpp
    "json_validate_failed": _USELESS,  # Groq: the model wrote no valid JSON, and may do so next time
    "deadline_exceeded": _UNPROVEN,  # Gemini
    "cancelled": _UNPROVEN,  # Gemini
    "timeout_error": _UNPROVEN,  # Anthropic
    "gateway_timeout": _UNPROVEN,
    "timeout": _UNPROVEN,
}

# Lower-case parts of messages.
_BY_WORDS = {
    "content violates usage guidelines": _REFUSED,  # xAI
    "safety_check_type_": _REFUSED,  # xAI
    "maximum context length": _TOO_LONG,  # OpenAI, vLLM, OpenRouter, LiteLLM
    "prompt is too long:": _TOO_LONG,  # Anthropic
    "exceeds the maximum number of tokens allowed": _TOO_LONG,  # Gemini
    "content exists risk": _REFUSED,  # DeepSeek
    "contentpolicyviolationerror": _REFUSED,  # LiteLLM
    "max_tokens or model output limit was reached": _USELESS,  # OpenAI: all tokens were spent on thinking
    "credit balance is too low": _NO_CREDIT,  # Anthropic
    "incorrect api key": _BAD_KEY,  # xAI
    "api key not valid": _BAD_KEY,  # Gemini
}

# Every other 4xx is a wrong request, and every other 5xx proves nothing: it may come from a gateway that gave up.
_BY_STATUS = {
    401: _BAD_KEY,
    402: _NO_CREDIT,
    403: _FORBIDDEN,
    407: _NO_LOGIN,
    408: _UNPROVEN,
    409: _LATER,
    424: _LATER,  # a model behind the provider failed
    425: _LATER,
    429: _LATER,
    460: _UNPROVEN,  # AWS's load balancer: the client closed the connection
    498: _LATER,  # Groq, flex tier
    499: _UNPROVEN,  # nginx: the client closed the connection
    500: _LATER,
    501: _LATER,
    503: _LATER,
    505: _LATER,
    511: _LATER,  # a login page of the network
    521: _LATER,  # Cloudflare, as the next four: the provider's server was not reached
    522: _LATER,
    523: _LATER,
    525: _LATER,
    526: _LATER,
    529: _LATER,
}

_ONLY_IN_OWN_WORDS = frozenset({424, 500, 503, 529})
"""Statuses that prove something only with an error in the provider's own form, and not with an intermediary's page."""

# Lower-case parts of messages by which a provider or gateway reports with such a status that what it asked broke off.
_BROKE_OFF_BEHIND = (
    "timed out",
    "timeout",
    "connection error",
    "connection reset",
    "connection was closed",
    "disconnected",
)

# The status that corresponds to the code of an error in a body of status 200. The names of statuses in capitals are
# those of Google: https://cloud.google.com/apis/design/errors
_STATUS_OF_CODE = {
    "invalid_request_error": 400,
    "context_length_exceeded": 400,
    "invalid_argument": 400,
    "failed_precondition": 400,
    "model_not_found": 404,
    "not_found": 404,
    "not_found_error": 404,
    "invalid_api_key": 401,
    "authentication_error": 401,
    "unauthenticated": 401,
    "permission_error": 403,
    "permission_denied": 403,
    "rate_limit_exceeded": 429,
    "rate_limit_error": 429,
    "too_many_requests": 429,
    "resource_exhausted": 429,
    "overloaded_error": 529,
    "server_error": 500,
    "api_error": 500,
    "internal": 500,
    "internal_error": 500,
    "internal_server_error": 500,
    "unavailable": 503,
    "service_unavailable": 503,
    "bad_gateway": 502,
    "timeout": 408,
    "timeout_error": 504,
    "deadline_exceeded": 504,
    "gateway_timeout": 504,
}

# Lower-case finish reasons of answers that do not count. What follows a colon is a detail.
_BY_FINISH = {
    "content_filter": _REFUSED,  # OpenAI, Azure; Gemini as `content_filter: PROHIBITED_CONTENT`
    "refusal": _REFUSED,  # Anthropic
    "sensitive": _REFUSED,  # Zhipu
    "safety": _REFUSED,  # Gemini, as the next four
    "recitation": _REFUSED,
    "prohibited_content": _REFUSED,
    "blocklist": _REFUSED,
    "spii": _REFUSED,
    "error": _UNPROVEN,  # OpenRouter
    "insufficient_system_resource": _UNPROVEN,  # DeepSeek
    "network_error": _UNPROVEN,  # Zhipu
    "abort": _UNPROVEN,  # vLLM, SGLang
}

CUT_OFF = frozenset({"length", "max_tokens", "model_length"})
"""Lower-case finish reasons of an answer that reached the token limit."""

_SEARCHED = 1000


def meaning_of_error(error: ErrorBody, status: int | None) -> Meaning:
    """The meaning of an error with this HTTP status, which is None for one in a body of status 200 without known code.

    Only the beginning of the message is searched: some servers quote the request at its end.
    """
    for code, meaning in _BY_CODE.items():
        if code in error.codes:
            return meaning
    message = error.message[:_SEARCHED].lower()
    for words, meaning in _BY_WORDS.items():
        if words in message:
            return meaning
    if status == 403 and error.is_moderation:
        return _REFUSED
    if status in _ONLY_IN_OWN_WORDS and (not error.is_own or any(words in message for words in _BROKE_OFF_BEHIND)):
        return _UNPROVEN
    if status is None or status >= 500:
        return _BY_STATUS.get(status or 0, _UNPROVEN)
    return _BY_STATUS.get(status, _WRONG_REQUEST)


def meaning_within_answer(meaning: Meaning) -> Meaning:
    """The meaning of an error that comes together with a part of an answer: that part may be billed."""
    return _UNPROVEN if meaning.kind in (FailureKind.RETRY, FailureKind.FAILED) else meaning


def meaning_of_finish(reason: str | None) -> Meaning | None:
    """The meaning of a finish reason; `None` when the answer counts."""
    return _BY_FINISH.get((reason or "").partition(":")[0].strip().lower())


def status_inside(error: ErrorBody) -> int | None:
    """The HTTP status that corresponds to an error in a body of status 200; `None` when no code is known."""
    for code in error.codes:
        if code in _STATUS_OF_CODE:
            return _STATUS_OF_CODE[code]
        if code.isascii() and code.isdigit() and len(code) == 3 and 400 <= int(code) <= 599:
            return int(code)
    return None
