"""Plain text of the program as Markdown: its characters mean themselves, and what stands between backticks is code."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from debatebench.output.docs.content import spans

_SPECIAL = re.compile(r"([\\*_<>\[\]|#~{}$])")

FOUND_FIRST = ("---", "search: {boost: 3}", "---", "")
"""The first lines of a page about a command or marts, which the search finds before other pages with the name."""


def plain(text: str) -> str:
    """A text on one line, safe in a paragraph and in the cell of a table."""
    return "".join(code(part) if is_code else _SPECIAL.sub(r"\\\1", part) for part, is_code in spans(text))


def paragraphs(text: str) -> list[str]:
    """The paragraphs of a docstring, each on one line."""
    return [plain(part) for part in re.split(r"\n\s*\n", text.strip()) if part.strip()]


def code(text: str) -> str:
    """A text as code, safe in the cell of a table."""
    shown = " ".join(text.split()).replace("|", "&#124;")
    if "&#124;" in shown or "`" in shown:
        # Code between backticks cannot hold these; as HTML it can.
        escaped = " ".join(text.split()).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
        return f"<code>{_SPECIAL.sub(lambda found: f'&#{ord(found[1])};', escaped).replace('`', '&#96;')}</code>"
    return f"`{shown}`"


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    """A table of Markdown, followed by an empty line; nothing without rows. The cells are Markdown already."""
    lines = [f"| {' | '.join(row)} |" for row in rows]
    return [f"| {' | '.join(head)} |", f"|{'---|' * len(head)}", *lines, ""] if lines else []
