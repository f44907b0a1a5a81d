"""The content of a chat-completions reply: a completion, or why there is none and whether it may have been billed.

Everything here is pure, so a reply from the journal gives the same result as when it came. Format: the chat completion
object of OpenAI's API reference, with OpenRouter's additions (`usage.cost`, `provider`, `choices[].error`,
`error.metadata`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from decimal import Decimal, InvalidOperation
from typing import Any, TypeVar

import msgspec

from debatebench.providers.base import Completion, FailureKind, ProviderFailure, Reply
from debatebench.providers.error_body import ErrorBody
from debatebench.providers.failure_tables import (
    CUT_OFF,
    Meaning,
    meaning_of_error,
    meaning_of_finish,
    meaning_within_answer,
    status_inside,
)
from debatebench.providers.moved_answer import moved_answer
from debatebench.providers.page_words import words_of_page
from debatebench.providers.redaction import excerpt, without_known_keys
from debatebench.providers.reply_json import first_choice, load_reply
from debatebench.providers.retry_after import retry_after_s
from debatebench.providers.usage import Usage, read_usage
from debatebench.shared.json_bytes import mapping, objects
from debatebench.shared.records import MOST_MONEY, clean_text

# What a model can have written instead of text.
_GENERATED = ("content", "refusal", "tool_calls", "function_call")
_DEEPEST = 8

_T = TypeVar("_T")


@dataclass(frozen=True, slots=True)
class ReplySource:
    """The source of replies, as far as reading and naming them requires."""

    name: str
    key_variable: str | None = None
    reports_usd: bool = False
    """Whether `usage.cost` is USD: the provider's documentation says so, or the user does."""
    keys: tuple[str, ...] = field(default=(), repr=False)
    cost_header: str | None = None
    """The header that tells the cost in USD."""

    def clean(self, text: str) -> str:
        """A string from a body, safe to keep: the body in a journal of an older version may hold a key in escapes."""
        return clean_text(without_known_keys(text, self.keys) if self.keys else text)

    def is_told(self, value: Any) -> bool:
        """Whether a JSON value holds a key, or is nested too deeply to say."""
        try:
            text = repr(value)
        except RecursionError:
            return True
        return without_known_keys(text, self.keys) != text


def read_reply(reply: Reply, source: ReplySource, *, asks_for_object: bool = False) -> Completion:
    """Read a reply. Raises only `ProviderFailure`, when it holds no usable answer.

    If the request asks for a JSON object, a reply without text may hold it elsewhere (`moved_answer.py`). A reply that
    defeats the reader is ambiguous: it is in the journal, and would otherwise end its run at every resumption.
    """
    try:
        return _read(reply, source, asks_for_object=asks_for_object)
    except Exception as error:
        if isinstance(error, ProviderFailure):
            raise
        raise ProviderFailure(
            FailureKind.AMBIGUOUS,
            f"{source.name} answered {reply.status} with a body that cannot be read ({type(error).__name__}).",
            http_status=reply.status,
            partial_body=reply.body,
        ) from error


def _read(reply: Reply, source: ReplySource, *, asks_for_object: bool) -> Completion:
    if 300 <= reply.status < 400:
        raise ProviderFailure(
            FailureKind.FAILED,
            f"{source.name} answered {reply.status}, a redirect, and redirects are not followed: "
            "give the final address as `endpoint`.",
            http_status=reply.status,
        )
    data = load_reply(reply.body)
    if not 200 <= reply.status < 300:
        raise _declined(reply, source, reply.status, ErrorBody.of(data))
    if not isinstance(data, dict):
        raise ProviderFailure(
            FailureKind.AMBIGUOUS,
            f"{source.name} answered {reply.status} with {len(reply.body)} bytes that are no JSON object "
            f"(content type: {excerpt(reply.headers.get('content-type', 'none'), source.keys)})"
            f"{_said(ErrorBody(), source, reply)}.",
            http_status=reply.status,
            partial_body=reply.body,
            generation_id=reply.headers.get("x-generation-id"),
        )
    choice = first_choice(data)
    completion = _completion(data, choice, reply, source)
    if asks_for_object and not completion.text.strip() and not source.is_told(data):
        moved = moved_answer(data, reply.body) or ""
        if moved.strip():
            completion = msgspec.structs.replace(completion, text=clean_text(moved), is_moved=True)
    if data.get("error") or data.get("object") == "error":
        error = ErrorBody.of(data)
        raise _declined(reply, source, status_inside(error), error, completion)
    if choice.get("error"):
        raise _broken_off(reply, source, ErrorBody.of(choice), completion)
    objection = _objection(completion, choice, source)
    if objection is None:
        return completion
    kind, words = objection
    raise ProviderFailure(
        kind,
        f"{source.name} answered {reply.status}, {words}.",
        http_status=reply.status,
        completion=completion,
        generation_id=completion.generation_id,
    )


def _objection(completion: Completion, choice: dict[str, Any], source: ReplySource) -> tuple[FailureKind, str] | None:
    """Why an answer does not count: it broke off, was refused, or holds no text."""
    for reason in (completion.finish_reason, _word(choice.get("native_finish_reason"), source)):
        if reason and (meaning := meaning_of_finish(reason)) is not None:
            what = "was stopped by a content filter" if meaning.kind is FailureKind.REFUSED else "broke off"
            return meaning.kind, f"but the answer {what} ({excerpt(reason or '', source.keys)})"
    message = mapping(choice.get("message"))
    for place in (message, mapping(message.get("provider_specific_fields"))):
        refusal = place.get("refusal")
        if isinstance(refusal, str) and refusal.strip():
            return FailureKind.REFUSED, f"but the answer is a refusal ({excerpt(refusal, source.keys)})"
    if completion.text.strip() and not completion.is_moved and not _is_readable(_content(choice)):
        return FailureKind.AMBIGUOUS, "but a part of its text comes in a form that cannot be read"
    # An answer without text because of the token limit counts: a retry is billed again and ends the same way.
    if not completion.text.strip() and (completion.finish_reason or "").lower() not in CUT_OFF:
        return FailureKind.EMPTY, "but the answer holds no text"
    return None


def _broken_off(reply: Reply, source: ReplySource, error: ErrorBody, completion: Completion) -> ProviderFailure:
    """The failure for an answer that ended with an error: it is asked again unless that could not help."""
    status = status_inside(error)
    meaning = _meaning(error, status, completion)
    return ProviderFailure(
        meaning.kind,
        f"{source.name} answered {reply.status}, "
        f"but the answer broke off with an error{_said(error, source, reply)}{_remedy(meaning, source)}.",
        http_status=reply.status,
        retry_after_s=_wait(reply, status, error, meaning),
        completion=completion,
        generation_id=completion.generation_id,
    )


def _declined(
    reply: Reply, source: ReplySource, status: int | None, error: ErrorBody, completion: Completion | None = None
) -> ProviderFailure:
    """The failure for an error status, or for an error in a body of status 200."""
    meaning = _meaning(error, status, completion)
    answer = (
        f"{reply.status}" if status == reply.status else f"{reply.status} with error {status or 'of no known code'}"
    )
    return ProviderFailure(
        meaning.kind,
        f"{source.name} answered {answer}{_said(error, source, reply)}{_remedy(meaning, source)}.",
        http_status=status or reply.status,
        retry_after_s=_wait(reply, status, error, meaning),
        completion=completion,
        generation_id=completion.generation_id if completion else reply.headers.get("x-generation-id"),
        is_too_long=meaning.is_too_long,
    )


def _meaning(error: ErrorBody, status: int | None, completion: Completion | None) -> Meaning:
    """The meaning of an error, with whatever part of an answer came with it."""
    meaning = meaning_of_error(error, status)
    if completion is not None and (completion.text or completion.reasoning or completion.completion_tokens):
        return meaning_within_answer(meaning)
    return meaning


def _wait(reply: Reply, status: int | None, error: ErrorBody, meaning: Meaning) -> float | None:
    """The seconds for which the reply asks to wait, if it is asked again."""
    if meaning.kind not in (FailureKind.RETRY, FailureKind.AMBIGUOUS):
        return None
    return retry_after_s(reply.headers, reply.received_at, status=status, error=error)


def _remedy(meaning: Meaning, source: ReplySource) -> str:
    """What the user can do about a stop."""
    account = f"the key in {source.key_variable}" if source.key_variable else "`api_key_env` of this endpoint"
    return f": {meaning.remedy.format(account)}" if meaning.remedy else ""


def _said(error: ErrorBody, source: ReplySource, reply: Reply) -> str:
    """In brackets and safe to show: the provider's message, else the words of the page that came instead."""
    said = excerpt(error.message or words_of_page(reply.body), source.keys)
    return f" ({said})" if said else ""


def _completion(data: dict[str, Any], choice: dict[str, Any], reply: Reply, source: ReplySource) -> Completion:
    """All figures and text in the body and its first choice, with `None` for missing ones."""
    message = mapping(choice.get("message"))
    text = _text(_content(choice), source)
    reasoning = _reasoning(message, source)
    usage = mapping(data.get("usage"))
    is_generated = bool(text or reasoning or any(message.get(name) for name in _GENERATED))
    used = _or_unknown(lambda: read_usage(data, is_generated=is_generated), Usage())
    cost = _or_unknown(lambda: _cost(usage, source), None) if source.reports_usd else None
    if cost is None and source.cost_header:
        cost = _told_cost(reply.headers.get(source.cost_header, ""))
    if cost == 0 and used.is_uncounted:
        cost = None
    return Completion(
        text=text,
        reasoning=reasoning,
        finish_reason=_word(choice.get("finish_reason"), source),
        prompt_tokens=used.prompt_tokens,
        completion_tokens=used.completion_tokens,
        total_tokens=used.total_tokens,
        cached_tokens=used.cached_tokens,
        cache_write_tokens=used.cache_write_tokens,
        reasoning_tokens=used.reasoning_tokens,
        audio_tokens=used.audio_tokens,
        service_tier=_word(data.get("service_tier") or usage.get("service_tier"), source),
        cost=cost,
        currency="USD" if cost is not None else None,
        cost_details=_plain(usage["cost_details"], source) if isinstance(usage.get("cost_details"), dict) else None,
        served_model=_word(data.get("model"), source),
        serving_provider=_word(data.get("provider"), source),
        generation_id=_word(data.get("id"), source) or reply.headers.get("x-generation-id"),
    )


def _or_unknown(figure: Callable[[], _T], unknown: _T) -> _T:
    """A figure of a reply; one that cannot be read is unknown, and the answer counts."""
    try:
        return figure()
    except Exception:
        return unknown


def _reasoning(message: dict[str, Any], source: ReplySource) -> str | None:
    """The thinking that comes apart from the answer, from the first place that has any."""
    said = _text(message.get("reasoning"), source) or _text(message.get("reasoning_content"), source)
    return said or _text(_details(message), source) or _text(_thoughts(message), source) or None


def _details(message: dict[str, Any]) -> list[Any]:
    return [part.get("text") or part.get("summary") for part in objects(message.get("reasoning_details"))]


def _thoughts(message: dict[str, Any]) -> list[Any]:
    thoughts = [part.get("thinking") for part in objects(message.get("content")) if part.get("type") == "thinking"]
    # A thought of Mistral is itself a list of parts.
    return [piece for thought in thoughts for piece in (thought if isinstance(thought, list) else [thought])]


def _word(value: Any, source: ReplySource) -> str | None:
    return source.clean(value) if isinstance(value, str) and value else None


def _content(choice: dict[str, Any]) -> Any:
    """What stands where the answer stands. The older completions format has no message."""
    content = mapping(choice.get("message")).get("content")
    return choice.get("text") if content is None else content


def _text(content: Any, source: ReplySource) -> str:
    """Content as one string; a list of parts is joined, and only its text parts count."""
    if not content:
        return ""
    text = content if isinstance(content, str) else "".join(each for each in _pieces(content) if isinstance(each, str))
    return source.clean(text)


def _is_readable(content: Any) -> bool:
    """Whether `_text` is the whole text: nothing in `content` is a text in a form that is not known."""
    return isinstance(content, str) or all(piece is None or isinstance(piece, str) for piece in _pieces(content))


def _pieces(content: Any) -> Iterator[Any]:
    """The texts of `content`, or what stands where one should; not parts of another type, such as thinking."""
    for part in content if isinstance(content, list) else [content]:
        if not isinstance(part, dict):
            yield part
        elif part.get("type", "text") in ("text", "output_text"):
            yield part.get("text", part)


def _cost(usage: dict[str, Any], source: ReplySource) -> Decimal | None:
    """`usage.cost` if the source is trusted to report USD; any other unit cannot be added up here and is ignored.

    That an answer names a currency is not enough: many servers report 0, or a price that nobody is billed.
    """
    if not source.reports_usd or (usage.get("currency") or "USD") not in ("USD", "usd"):
        return None
    cost = usage.get("cost")
    # Perplexity gives an object with parts and their sum.
    amount = _amount(cost.get("total_cost") if isinstance(cost, dict) else cost)
    if amount is None or usage.get("is_byok") is not True:
        return amount
    # OpenRouter with the user's own key at another provider: `cost` is only the fee.
    upstream = _amount(mapping(usage.get("cost_details")).get("upstream_inference_cost"))
    return None if upstream is None else _amount(amount + upstream)


def _told_cost(header: str) -> Decimal | None:
    """The cost in a header. LiteLLM also says 0 of a model whose price it does not know, so 0 counts as unknown."""
    try:
        return _amount(Decimal(header)) or None
    except InvalidOperation:
        return None


def _amount(value: Any) -> Decimal | None:
    """A plausible amount of money."""
    if isinstance(value, int) and not isinstance(value, bool):
        value = Decimal(value)
    if not isinstance(value, Decimal) or not value.is_finite() or not 0 <= value <= MOST_MONEY:
        return None
    return abs(value)


def _plain(value: Any, source: ReplySource, depth: int = 0) -> Any:
    """The same value without decimals, so that it can be written as JSON again; non-finite numbers are unknown.

    What is nested deeper than any details of a cost is left out.
    """
    if depth > _DEEPEST:
        return None
    if isinstance(value, dict):
        return {source.clean(key): _plain(item, source, depth + 1) for key, item in value.items()}
    if isinstance(value, list):
        return [_plain(item, source, depth + 1) for item in value]
    if isinstance(value, Decimal):
        number = float(value)
        return number if abs(number) < float("inf") else None
    return source.clean(value) if isinstance(value, str) else value
