"""Text in Markdown documents: it is shown as it is, and no link, image, mention, tag or code in it comes to life."""

from __future__ import annotations

import re

from debatebench.shared.visible_text import visible

# A backslash escape does not stop GitHub from linking addresses, mentions and numbers of issues; a code span does.
_LINKED_ALONE = re.compile(r"//|www\.|@|#\d", re.IGNORECASE)
_NOT_IN_CODE = re.compile(r"([\s\\|`␊]+)")
_ESCAPED = str.maketrans(
    {
        "\\": r"\\",
        "|": r"\|",
        "*": r"\*",
        "[": r"\[",
        "~": r"\~",
        "<": "&lt;",
        "&": "&amp;",
        "`": "&#96;",
        "␊": "<br>",
    }
)
# Between letters or digits it is an ordinary character, as in judge_id.
_EMPHASIS = re.compile(r"(?<![^\W_])_|_(?![^\W_])")


def markdown_text(text: str) -> str:
    """One line of Markdown, also for a cell of a table, that shows `text` and nothing else; a line feed is `<br>`.

    A word that a renderer may turn into a link by itself is a code span.
    """
    words = _NOT_IN_CODE.split(visible(text).replace("␍␊", "␊"))
    return "".join(f"`{word}`" if _LINKED_ALONE.search(word) else _escaped(word) for word in words)


def _escaped(word: str) -> str:
    return _EMPHASIS.sub(r"\\_", word.translate(_ESCAPED))


def markdown_block(text: str) -> str:
    """A code block with the lines of `text`, none of which can end the block."""
    longest = max(map(len, re.findall("`+", text)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}text\n{visible(text, keep_lines=True)}\n{fence}"
