"""Optional fields that a server refuses: recognised from its reply, and how a request is sent without them.

A field has one name here, whatever the server calls it: `temperature`, `seed`, `response_format` (the JSON schema),
`max_tokens` (which has two names), `system` (the role of the instructions). An adjusted request lacks the first three,
has the other name of the fourth, and has the text of the fifth before the first user message.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterator
from typing import Any

ADJUSTMENTS: dict[str, str] = {
    "temperature": "without `temperature`",
    "seed": "without `seed`",
    "response_format": "without a JSON schema",
    "max_tokens": "with the other name of `max_tokens`",
    "system": "with the system text in the first user message",
}
"""Every field that can be adjusted, and how a request is then sent."""

_STATUSES = {400, 422}
_LEFT_OUT = {"temperature": ("temperature",), "seed": ("seed", "random_seed"), "response_format": ("response_format",)}
_OTHER_NAME = {"max_tokens": "max_completion_tokens", "max_completion_tokens": "max_tokens"}

# What servers call each field, in messages and as `param` or `loc`.
_NAMES = {
    "temperature": re.compile(r"\btemperature\b", re.IGNORECASE),
    "seed": re.compile(r"\b(?:random_)?seed\b", re.IGNORECASE),
    "response_format": re.compile(
        r"\b(?:response_?format|response_?schema|output_format|output_config|guided_json|json[_ ]schema"
        # llama.cpp, whose samplers fail only when a grammar does not suit the model.
        r"|structured[_ ]outputs?|initialize samplers)\b",
        re.IGNORECASE,
    ),
    "max_tokens": re.compile(r"\bmax_(?:completion_)?tokens\b", re.IGNORECASE),
}
# The user gives the values of the others, and a wrong value must be told: these two are made here.
_MADE_HERE = {"seed", "response_format"}
_REFUSAL = re.compile(
    r"unsupported|(?:not|n't) support|unknown (?:name|parameter|field|argument)|unrecognized"
    r"|unexpected (?:keyword|field)|cannot find field|extra_forbidden|extra inputs|deprecated"
    r"|\bonly\b.{0,40}\b(?:allowed|supported|permitted)"
    r"|unavailable|not (?:available|enabled)|incompatible|invalid schema"
    r"|json schema error|failed to initialize samplers",
    re.IGNORECASE,
)
_SYSTEM_REFUSED = re.compile(
    r"\b(?:system|developer) (?:role|message|prompt|instruction)s?\b.{0,40}\bnot (?:supported|enabled|allowed)"
    r"|(?:not|n't) support (?:the )?['\"`]?(?:system|developer)['\"`]?"
    r"(?: (?:role|message|prompt|instruction)|\s+with|\W*$)"
    # The templates of some models say it this way; requests hold one system and one user message.
    r"|conversation roles must alternate",
    re.IGNORECASE,
)
# Keys of an error whose value says what is wrong; others may hold the request, with the words of a debate in it.
_WORDS = ("message", "msg", "detail", "description", "error", "raw", "reason")
_CODES = ("code", "type", "status")
_ECHOES = {"input", "ctx", "body", "failed_generation"}


def refused_field(status: int, reply: bytes, body: dict[str, Any], adjusted: Collection[str]) -> str | None:
    """The optional field of `body` that a reply refuses, unless the request was sent adjusted for it already. Pure.

    `body` is the request as it would be sent without any adjustment; `adjusted` names those that it had.
    """
    if status not in _STATUSES:
        return None
    sent = adjusted_body(body, adjusted)
    for field in _named_in(reply):
        if field not in adjusted and adjusted_body(body, {*adjusted, field}) != sent:
            return field
    return None


def adjusted_body(body: dict[str, Any], adjusted: Collection[str]) -> dict[str, Any]:
    """The body of a request, adjusted for the given fields."""
    if not adjusted:
        return body
    left_out = {name for field in adjusted for name in _LEFT_OUT.get(field, ())}
    kept = {name: value for name, value in body.items() if name not in left_out}
    if "max_tokens" in adjusted:
        kept = {_OTHER_NAME.get(name, name): value for name, value in kept.items()}
    if "system" in adjusted:
        kept["messages"] = _without_system(kept["messages"])
    return kept


def _without_system(messages: list[dict[str, str]]) -> list[dict[str, str]]:
    instructions = [message["content"] for message in messages if message["role"] == "system"]
    others = [message for message in messages if message["role"] != "system"]
    first = next((place for place, message in enumerate(others) if message["role"] == "user"), None)
    if not instructions:
        return messages
    if first is None:
        return [{"role": "user", "content": "\n\n".join(instructions)}, *others]
    content = "\n\n".join([*instructions, others[first]["content"]])
    return [*others[:first], {"role": "user", "content": content}, *others[first + 1 :]]


def _named_in(reply: bytes) -> Iterator[str]:
    """The fields that the body of an error names as refused: as `param` or `loc`, else the first in each message."""
    try:
        errors = list(_objects(json.loads(reply.decode("utf-8"))))
    except (ValueError, RecursionError):
        return
    by_name = [field for error in errors for field in _by_name(error)]
    yield from by_name or [field for error in errors for field in _by_words(error)]


def _objects(value: Any) -> Iterator[dict[str, Any]]:
    """Every object in an error, also in JSON text: an upstream's error may be passed on as text."""
    waiting = [value]
    while waiting:
        value = waiting.pop()
        if isinstance(value, str) and value.lstrip()[:1] in ("{", "["):
            try:
                value = json.loads(value)
            except (ValueError, RecursionError):
                continue
        if isinstance(value, list):
            waiting += reversed(value)
        elif isinstance(value, dict):
            yield value
            waiting += [value[key] for key in reversed(value) if key not in _ECHOES]


def _by_name(error: dict[str, Any]) -> Iterator[str]:
    """Fields that `param` or `loc` names; `param` may be a path, such as `response_format.json_schema`."""
    param, loc = error.get("param"), error.get("loc")
    names = [param.partition(".")[0]] if isinstance(param, str) else loc if isinstance(loc, list) else []
    said = " ".join(str(error[key]) for key in (*_CODES, *_WORDS) if isinstance(error.get(key), str))
    for field, called in _NAMES.items():
        is_named = any(isinstance(name, str) and called.fullmatch(name) for name in names)
        if is_named and (field in _MADE_HERE or _REFUSAL.search(said)):
            yield field


def _by_words(error: dict[str, Any]) -> Iterator[str]:
    """Fields that a message names as refused, the first one first: others may be listed as supported."""
    for key in _WORDS:
        words = error.get(key)
        if not isinstance(words, str):
            continue
        if _SYSTEM_REFUSED.search(words):
            yield "system"
        elif _REFUSAL.search(words):
            found = {field: match.start() for field, called in _NAMES.items() if (match := called.search(words))}
            yield from sorted(found, key=found.__getitem__)
