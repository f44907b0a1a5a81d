"""Debates drawn from a run by lot, and each of them as a Markdown document for people to read."""

from __future__ import annotations

import random

import duckdb

from debatebench.query.one_debate import facts_of, find_debate, speaker_of, verdict_table
from debatebench.shared.markdown import markdown_block, markdown_text
from debatebench.shared.result_formats import render

_COMPLETE = "select debate_id from marts.debates where run_tag = ? and status = 'complete' order by debate_id"


def drawn_debates(con: duckdb.DuckDBPyConnection, run_tag: str, count: int, seed: int) -> list[str]:
    """The ids of `count` complete debates of a run in the order in which they are drawn; all of them if it has fewer.

    The same run, count and seed draw the same debates.
    """
    ids = [debate_id for (debate_id,) in con.execute(_COMPLETE, [run_tag]).fetchall()]
    return random.Random(seed).sample(ids, min(count, len(ids)))  # noqa: S311


def debate_document(con: duckdb.DuckDBPyConnection, run_tag: str, debate_id: str) -> str:
    """A debate as Markdown: motion, speeches, verdicts, and what the judges wrote. Nothing in a text comes to life."""
    debate = find_debate(con, debate_id, run_tag)
    about = "\n".join(f"- {name}: {markdown_text(value)}" for name, value in facts_of(debate))
    parts = [f"# {markdown_text(debate['motion'] or '')}", about]
    if debate["info_slide"]:
        parts += ["## Information slide", markdown_block(debate["info_slide"])]
    for turn in debate["turns"]:
        parts.append(f"## {markdown_text(speaker_of(turn))}: {markdown_text(turn['model_id'] or '–')}")
        parts += [f"Task: {markdown_text(turn['instruction'])}"] if turn.get("instruction") else []
        parts.append(markdown_block(turn["content"]))
    parts.append("## Verdicts")
    columns, rows = verdict_table(debate["verdicts"])
    parts.append(render(columns, rows, "markdown").rstrip("\n") if rows else "No verdicts.")
    judge = None
    for note in debate["notes"]:
        if note["judge_id"] != judge:
            judge = note["judge_id"]
            parts.append(f"### {markdown_text(f'What {judge} wrote')}")
        parts.append(markdown_text(note["title"]))
        parts += [markdown_block(note["text"])] if note["text"] else []
    return "\n\n".join(parts) + "\n"
