"""Thinking that a model wrote into its answer is separated from the answer."""

from __future__ import annotations

import re

# Tags that no speech needs: they are thinking wherever they occur.
_TAG = re.compile(r"<(/?)\s*think(?:ing)?\s*>", re.IGNORECASE)
# Tags that a speech may quote, so that only a block with which the answer begins is thinking: Bedrock's gpt-oss,
# Gemini, Seed-OSS; Magistral.
_LEADING = re.compile(r"\s*(?:<(?P<name>reasoning|thought|seed:think)>|(?P<bracket>\[THINK\]))", re.IGNORECASE)
# OpenAI's harmony format as gpt-oss writes it, when no server has parsed it:
# https://cookbook.openai.com/articles/openai-harmony
_CHANNEL, _MESSAGE, _FINAL = "<|channel|>", "<|message|>", "final"
_HARMONY = re.compile(r"\s*(?:<\|start\|>assistant)?<\|channel\|>")
_END_OF_MESSAGE = re.compile(r"<\|(?:end|return|call|start)\|>")


def strip_thinking(text: str) -> str:
    """Return `text` without its thinking blocks and their tags; text without a tag is returned unchanged."""
    return split_thinking(text)[0]


def split_thinking(text: str) -> tuple[str, str]:
    """The answer in `text`, and the thinking before or within it; either may be empty.

    A block of `<think>` or `<thinking>` runs from an opening tag to the next closing tag of either name, or to the end
    of the text. A closing tag before any opening one ends a block that began with the text, because some chat templates
    insert the opening tag themselves. `<reasoning>`, `<thought>`, `<seed:think>` and `[THINK]` count only at the
    beginning. Of a text in harmony's channels the final one is the answer.
    """
    # A search for tags is slow, and few answers contain any.
    if "<" not in text and "[" not in text:
        return text, ""
    if _HARMONY.match(text):
        return _split_channels(text)
    text, thoughts = _split_leading(text)
    kept: list[str] = []
    is_thinking = False
    position = 0
    for number, tag in enumerate(_TAG.finditer(text)):
        closes = bool(tag[1])
        is_thought = is_thinking or (closes and number == 0)
        (thoughts if is_thought else kept).append(text[position : tag.start()])
        is_thinking = not closes
        position = tag.end()
    (thoughts if is_thinking else kept).append(text[position:])
    return "".join(kept), _together(thoughts)


def _split_leading(text: str) -> tuple[str, list[str]]:
    """The text after the blocks with which it begins, and those blocks."""
    thoughts: list[str] = []
    position = 0
    while tag := _LEADING.match(text, position):
        closing = f"</{tag['name']}>" if tag["name"] else r"\[/THINK\]"
        end = re.compile(closing, re.IGNORECASE).search(text, tag.end())
        thoughts.append(text[tag.end() : end.start() if end else len(text)])
        position = end.end() if end else len(text)
    return text[position:], thoughts


def _split_channels(text: str) -> tuple[str, str]:
    """The text of the final channel, and that of all others."""
    answer: list[str] = []
    thoughts: list[str] = []
    for part in text.split(_CHANNEL)[1:]:
        head, _, said = part.partition(_MESSAGE)
        said = _END_OF_MESSAGE.split(said, maxsplit=1)[0]
        (answer if head.split()[:1] == [_FINAL] else thoughts).append(said)
    return "".join(answer), _together(thoughts)


def _together(thoughts: list[str]) -> str:
    return "\n\n".join(thought for piece in thoughts if (thought := piece.strip()))
