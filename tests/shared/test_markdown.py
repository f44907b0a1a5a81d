"""Markdown for people: a renderer shows the text of a cell, and no link, image, tag or code of it comes to life."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt
from markdown_it.token import Token

from debatebench.shared.markdown import markdown_block, markdown_text
from debatebench.shared.result_formats import render, unique_names
from debatebench.shared.visible_text import visible

# The tables, strikethrough and HTML of GitHub. It links addresses and mentions in text by itself, which is checked here
# on the text outside of code.
GITHUB = MarkdownIt("gfm-like", {"linkify": False})
LINKED_ALONE = re.compile(r"(?:https?|ftp)://|www\.|@|#\d", re.IGNORECASE)

HOSTILE = [
    "![x](http://e.vil/x.png)",
    "[x](javascript:alert(1))",
    "[x]: http://e.vil",
    "[x][y] ![x][y] [^1]",
    "<http://e.vil>",
    "<img src=x onerror=alert(1)>",
    "<!-- x",
    "https://e.vil/a_b_c?d=*e*|f",
    "HTTP://E.VIL",
    "WWW.e.vil and www.e.vil",
    "me@e.vil mailto:me@e.vil",
    "@everyone #1 org/repo#2",
    "a|b \\| \\\\| c\\",
    "`a` ``b`` ```c",
    "```\ncode\n```",
    "~~~ ~~a~~",
    "*a* **b** _c_ __d__ _e __f_ a_b_c",
    "# a\n- b\n1. c\n> d\n---\n===",
    "| --- |\n| a |",
    "&lt;b&gt; &#64;x &amp;",
    "a\r\nb\x1b[31m\u200b",
    "  spaces  ",
    "",
]
FRAGMENTS = st.sampled_from(
    [*"\\`*_[]()<>!|~&#@:/.-+=^$\n\r\t ab1é日", "www.", "http://", "```", "<b>", "&lt;", "![", "]("]
)
CELL = st.one_of(st.sampled_from(HOSTILE), st.lists(FRAGMENTS, max_size=20).map("".join))


def cells(markdown: str) -> list[list[Token]]:
    """The contents of the cells of the only table in a document, row by row."""
    tokens = GITHUB.parse(markdown)
    assert [token.type for token in tokens if token.level == 0] == ["table_open", "table_close"]
    return [token.children or [] for token in tokens if token.type == "inline"]


def shown(content: list[Token], *, code: str = "{}") -> str:
    """The text that a reader sees; anything but text, code and line breaks is an error."""
    text = ""
    for token in content:
        assert token.type in ("text", "code_inline", "html_inline"), token
        if token.type == "html_inline":
            assert token.content == "<br>"
            text += "␊"
        else:
            text += token.content if token.type == "text" else code.format(token.content)
    return text


def expected(cell: str) -> str:
    return visible(cell).replace("␍␊", "␊").strip()


@given(st.lists(st.tuples(CELL, CELL), min_size=1, max_size=4), st.tuples(CELL, CELL))
def test_a_table_of_hostile_cells_shows_their_text_and_nothing_else(
    rows: list[tuple[str, str]], header: tuple[str, str]
) -> None:
    found = cells(render(header, rows, "markdown"))
    texts = [text for row in [unique_names(header), *rows] for text in row]
    assert [shown(content) for content in found] == list(map(expected, texts))
    assert not any(LINKED_ALONE.search(shown(content, code=" ")) for content in found)


@pytest.mark.parametrize("text", HOSTILE)
def test_a_line_of_hostile_text_is_one_paragraph(text: str) -> None:
    opened, content, closed = GITHUB.parse(f"Run {markdown_text(text)}")
    assert (opened.type, closed.type) == ("paragraph_open", "paragraph_close")
    assert shown(content.children or []).split() == f"Run {expected(text)}".split()


@given(CELL)
def test_no_text_ends_the_block_that_it_is_in(text: str) -> None:
    (block,) = GITHUB.parse(markdown_block(text))
    assert block.type == "fence"
    assert block.content == visible(text, keep_lines=True) + "\n"


def test_ordinary_names_and_motions_need_no_escapes() -> None:
    for text in ("sim-atlas", "judge_id", "openai/gpt-4.1", "Ban ads (all of them)!", "10 % – 20 $", "C#, 3.5:1"):
        assert markdown_text(text) == text
