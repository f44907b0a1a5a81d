"""The tokens of an answer, from what a reply tells about its usage in any of the forms that providers use.

    usage: {prompt_tokens, completion_tokens, total_tokens,                              OpenAI and most others
            prompt_tokens_details: {cached_tokens}, completion_tokens_details: {reasoning_tokens}}
    usage: {… prompt_tokens_details: {cached_tokens, cache_write_tokens}}                OpenRouter
    usage: {input_tokens, output_tokens, input_tokens_details: {cached_tokens}}          OpenAI's Responses
    usage: {input_tokens, output_tokens, cache_read_input_tokens,                        Anthropic's Messages, where
            cache_creation_input_tokens}                                                 `input_tokens` leaves both out
    usage: {… prompt_cache_hit_tokens, prompt_cache_miss_tokens}                         DeepSeek
    usage: {… cached_tokens}                                                             Moonshot
    usageMetadata: {promptTokenCount, candidatesTokenCount, thoughtsTokenCount, …}       Gemini

A count that cannot be true is unknown, and so is each count that it contradicts: every request has a prompt, every
text has tokens, halves are not larger than their total, nor parts than their half. What remains is kept.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from decimal import Decimal
from typing import Any

import msgspec

from debatebench.providers.reply_json import first_choice
from debatebench.shared.json_bytes import mapping

_LARGEST_COUNT = 10**12
_IMPOSSIBLE = -1
"""Stands for a count that was reported and cannot be true."""
_DEEPEST = 3
_PLACES = ("usage", "usageMetadata", "usage_metadata")

# Names without their case, underscores and a final `count` or `s`: `prompttoken` is `prompt_tokens` and also
# `promptTokenCount`.
_PROMPT = {"prompttoken"}
_INPUT = {"inputtoken"}
_COMPLETION = {"completiontoken", "outputtoken"}
_TOTAL = {"totaltoken"}
_HALVES = _PROMPT | _INPUT | _COMPLETION | _TOTAL | {"candidatestoken"}
_Named = dict[str, list[Any]]
"""An object of counts: name as above → what stands under it, in whatever spelling."""
_READ_BESIDE = {"cachereadinputtoken"}
_WRITTEN_BESIDE = {"cachecreationinputtoken", "cachewriteinputtoken"}
_READ_WITHIN = {"cachedtoken", "cachedcontenttoken", "cachereadtoken", "promptcachehittoken"}
_WRITTEN_WITHIN = {"cachewritetoken", "cachecreationtoken", "cachedcreationtoken"}
_REASONING = {"reasoningtoken", "thoughtstoken", "thinkingtoken"}
_USUAL = dict.fromkeys(("prompttoken", "completiontoken", "totaltoken")).keys()
_THREE_NUMBERS = [int, int, int]


class Usage(msgspec.Struct, frozen=True, gc=False):
    """The tokens of one answer; `None` where unknown, never 0 in its place."""

    prompt_tokens: int | None = None
    """With those that were read from or written to the provider's cache."""
    completion_tokens: int | None = None
    """With thinking."""
    total_tokens: int | None = None
    cached_tokens: int | None = None
    """Tokens of the prompt that were read from the cache."""
    cache_write_tokens: int | None = None
    """Tokens of the prompt that were written to the cache."""
    reasoning_tokens: int | None = None
    """Tokens of the completion that are thinking."""
    audio_tokens: int | None = None
    """Tokens of the prompt and the completion that are sound."""
    is_uncounted: bool = False
    """Counts were reported, and all are 0: the server does not count, and its price of 0 means nothing either."""


def read_usage(data: dict[str, Any], *, is_generated: bool) -> Usage:
    """The usage that the body of a chat completion reports. `is_generated`: it holds text, thinking or a tool call.

    Never raises. Where several places of the body report different counts, none of them is believed.
    """
    for place in _reported(data):
        found = [_read(counts, is_generated=is_generated) for counts in _counts_in(place)]
        if found:
            return found[0] if found.count(found[0]) == len(found) else Usage()
    return Usage()


def _reported(data: dict[str, Any]) -> Iterator[Any]:
    """What stands where a usage can stand, the usual place first; never in what the model wrote."""
    yield from _places_in(data)
    choice = first_choice(data)
    others = [value for name, value in data.items() if name != "choices" and isinstance(value, dict)]
    for holder in (choice, mapping(choice.get("message")), *others):
        yield from _places_in(holder)


def _places_in(holder: dict[str, Any]) -> list[Any]:
    return [holder[place] for place in _PLACES if place in holder]


def _counts_in(value: Any, depth: int = 0) -> Iterator[dict[str, Any]]:
    """The objects within `value` that hold a prompt, a completion or a total; nothing within those."""
    if not isinstance(value, dict) or depth > _DEEPEST:
        return
    for name, count in value.items():
        if count is not None and _plain(name) in _HALVES:
            yield value
            return
    for inner in value.values():
        yield from _counts_in(inner, depth + 1)


def _read(counts: dict[str, Any], *, is_generated: bool) -> Usage:
    """The usage in one object of counts."""
    usage = _named(counts)
    if (alone := _halves_alone(usage)) is not None:
        return Usage(*alone)
    prompt_parts = [usage, *_details(usage, _PROMPT | _INPUT)]
    completion_parts = [usage, *_details(usage, _COMPLETION)]
    cached = _count_of(prompt_parts, _READ_WITHIN | _READ_BESIDE)
    written = _count_of(prompt_parts, _WRITTEN_WITHIN | _WRITTEN_BESIDE)
    reasoning = _count_of(completion_parts, _REASONING)
    prompt = _prompt(usage, cached, written)
    completion = _one([_count_of([usage], _COMPLETION), _sum(_count_of([usage], {"candidatestoken"}), reasoning)])
    total = _count_of([usage], _TOTAL)
    is_uncounted = {0} <= {prompt, completion, total} <= {0, None}
    if completion == 0 and (is_generated or is_uncounted):
        completion = None
    halves = _balanced(_possible(prompt), completion, _possible(total), is_generated=is_generated)
    prompt, completion, total = halves
    prompt, cached, written = _with_parts(prompt, cached, written)
    completion, reasoning = _with_parts(completion, reasoning)
    if (prompt, completion) != halves[:2]:
        total = None
    audio = [_count_of(parts[1:], {"audiotoken"}) for parts in (prompt_parts, completion_parts)]
    sound = _sum(*audio) if audio[0] is not None else audio[1]
    return Usage(prompt, completion, total, cached, written, reasoning, _possible(sound), is_uncounted)


def _halves_alone(usage: _Named) -> tuple[int, int, int] | None:
    """Prompt, completion and total where each is told once, as it can be, and nothing else is told.

    Most replies are so, and reading all that others tell takes four times as long.
    """
    if usage.keys() != _USUAL:
        return None
    told = [count for name in _USUAL for count in usage[name]]
    if [type(count) for count in told] != _THREE_NUMBERS:
        return None
    prompt, completion, total = told
    is_possible = prompt > 0 and completion > 0 and prompt + completion == total < _LARGEST_COUNT
    return (prompt, completion, total) if is_possible else None


def _prompt(usage: _Named, cached: int | None, written: int | None) -> int | None:
    """The tokens of the prompt, if all spellings of it agree."""
    fresh = _count_of([usage], _INPUT)
    if fresh is not None and not usage.keys().isdisjoint(_READ_BESIDE | _WRITTEN_BESIDE):
        # Where the cache also stands among the details, it is not clear whether it is within `input_tokens`.
        is_within = any(_count_of([part], _READ_WITHIN | _WRITTEN_WITHIN) for part in _details(usage, _INPUT))
        fresh = _IMPOSSIBLE if is_within else _sum(fresh, cached, written)
    hit, miss = (_count_of([usage], {f"promptcache{half}token"}) for half in ("hit", "miss"))
    whole = _sum(_count_of([usage], _PROMPT), _count_of([usage], {"tooluseprompttoken"}))
    return _one([whole, fresh, None if hit is None or miss is None else _sum(hit, miss)])


def _balanced(
    prompt: int | None, completion: int | None, total: int | None, *, is_generated: bool
) -> tuple[int | None, int | None, int | None]:
    """Prompt, completion and total, where what is unknown follows from the rest, and contradictions are unknown.

    xAI and Gemini leave thinking out of the completion, but not out of the total. So the difference between the total
    and the prompt is the completion, but that between the total and the completion is not the prompt.
    """
    completion = None if completion == _IMPOSSIBLE else completion
    if total is not None and (prompt or 0) + (completion or 0) > total:
        return None, None, None
    if prompt is not None and total is not None and (total > prompt or not is_generated):
        return prompt, total - prompt, total
    if total is not None and total == (completion if prompt is None else prompt):
        # It leaves out the other half, which is not empty.
        total = None
    if prompt is not None and completion is not None:
        total = prompt + completion
    return prompt, completion, total


def _with_parts(half: int | None, *parts: int | None) -> tuple[int | None, ...]:
    """A half and its parts; all are unknown if these cannot be its parts, or if it is unknown."""
    told = [part for part in parts if part is not None]
    if half is None or _IMPOSSIBLE in told or sum(told) > half:
        return (None, *(None for _ in parts))
    return (half, *parts)


def _named(counts: dict[str, Any]) -> _Named:
    found: _Named = {}
    for name, value in counts.items():
        found.setdefault(_plain(name), []).append(value)
    return found


def _details(usage: _Named, halves: set[str]) -> list[_Named]:
    """The objects with the parts of a half, such as `prompt_tokens_details`."""
    names = [name for half in halves for name in (half, f"{half}sdetail") if name in usage]
    return [_named(value) for name in names for value in usage[name] if isinstance(value, dict)]


def _count_of(places: Iterable[_Named], names: set[str]) -> int | None:
    """The count with any of these names; `None` if there is none."""
    found = [count for place in places for name in names if name in place for count in place[name]]
    return _one([_count(count) for count in found]) if found else None


def _one(counts: Sequence[int | None]) -> int | None:
    """The count on which all agree. Servers fill fields that they do not use with 0, so a 0 contradicts nothing."""
    if len(counts) == 1:
        return counts[0]
    told = {count for count in counts if count is not None}
    positive = told - {0}
    if len(positive) > 1:
        return _IMPOSSIBLE
    return next(iter(positive or told), None)


def _sum(first: int | None, *others: int | None) -> int | None:
    """`first` with `others` beside it, which may be missing."""
    if first is None:
        return None
    return _IMPOSSIBLE if _IMPOSSIBLE in (first, *others) else first + sum(other or 0 for other in others)


def _possible(count: int | None) -> int | None:
    """The count of something that is never empty."""
    return count if count is not None and count > 0 else None


def _count(value: Any) -> int | None:
    """A number of tokens; 12.0 and "12" are valid, because JSON has no integers and some servers write text."""
    if value is None:
        return None
    if type(value) is int:
        return value if 0 <= value < _LARGEST_COUNT else _IMPOSSIBLE
    if isinstance(value, str):
        value = value.strip()
        if not (value.isascii() and value.isdigit() and len(value) < len(str(_LARGEST_COUNT))):
            return _IMPOSSIBLE
        return int(value)
    # The comparison comes first: an integer of a decimal with a huge exponent would fill the memory.
    if isinstance(value, Decimal) and value.is_finite() and 0 <= value < _LARGEST_COUNT and value == int(value):
        value = int(value)
    is_number = isinstance(value, int) and not isinstance(value, bool)
    return value if is_number and 0 <= value < _LARGEST_COUNT else _IMPOSSIBLE


def _plain(name: str) -> str:
    return _PLAIN.get(name) or _made_plain(name)


def _made_plain(name: str) -> str:
    return name.replace("_", "").lower().removesuffix("count").removesuffix("s")


_PLAIN = {
    name: _made_plain(name)
    for name in (
        *("prompt_tokens", "completion_tokens", "total_tokens", "prompt_tokens_details", "completion_tokens_details"),
        *("cached_tokens", "cache_write_tokens", "reasoning_tokens", "audio_tokens", "cost", "input_tokens"),
        "output_tokens",
    )
}
"""The usual names, made plain once."""
