"""The leaderboard of a run as parts for other documents: an HTML snippet, a picture and a badge in SVG, and Markdown.

None of them has a script or loads anything. Names in them are text, whatever they contain. Equal warehouses give equal
bytes.
"""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Sequence
from html import escape
from typing import Any, NamedTuple

import duckdb

from debatebench.query.leaderboard import RATING_MODELS
from debatebench.query.safe_query import run_query
from debatebench.shared.amounts import counted
from debatebench.shared.errors import DebatebenchError
from debatebench.shared.markdown import markdown_text
from debatebench.shared.result_formats import html_table, render
from debatebench.shared.visible_text import cut, visible, width

PICTURE = "leaderboard.svg"
FRAGMENT_FILES = ("leaderboard.html", "leaderboard.md", PICTURE, "leaderboard-badge.svg")

_LEADERBOARD = """
select rank_low, rank_high, model_id, rating, ci_low, ci_high, win_rate, games, format
from marts.leaderboard
where run_tag = $run_tag and is_displayed and rating is not null
order by format desc, rank, model_id
"""
_ABOUT = "select is_simulated, count_topics from marts.runs where run_tag = $run_tag"
_COLUMNS = ("Ranks", "Debater", "Rating", "95 % interval", "Win rate", "Debates")
_ROW, _PLOT, _RIGHT, _LINE = 30, 480, 80, 20
_CHARACTER, _LONGEST_NAME = 8, 34
_START = 400
"""The rating of a debater who is neither better nor worse than the others: a line to compare with."""
_STYLE = """
text { font: 14px system-ui, sans-serif; fill: #24292f } .muted { fill: #6e7781 }
line { stroke: #57606a } .start { stroke: #d0d7de } circle { fill: #0969da }
@media (prefers-color-scheme: dark) {
  text { fill: #e6edf3 } .muted { fill: #8b949e }
  line { stroke: #8b949e } .start { stroke: #30363d } circle { fill: #58a6ff }
}"""
_BADGE_CHARACTER, _BADGE_PADDING, _BADGE_HEIGHT = 7, 10, 20


class _Debater(NamedTuple):
    """One row of the leaderboard. There may be no interval."""

    rank_low: int
    rank_high: int
    model_id: str
    rating: float
    ci_low: float | None
    ci_high: float | None
    win_rate: float
    games: int
    format: str


def leaderboard_fragments(con: duckdb.DuckDBPyConnection, run_tag: str) -> dict[str, str]:
    """Each of `FRAGMENT_FILES` with its text, for a run.

    Raises `DebatebenchError` where no debater of the run has a rating.
    """
    debaters = [_Debater(*row) for row in run_query(con, _LEADERBOARD, {"run_tag": run_tag}, limit=None).rows]
    if not debaters:
        raise DebatebenchError(f"Run '{run_tag}' has no debater with a rating, so there is no leaderboard to write.")
    ((is_simulated, topics),) = run_query(con, _ABOUT, {"run_tag": run_tag}, limit=None).rows
    models = " and ".join(dict.fromkeys(RATING_MODELS[each.format] for each in debaters))
    lines = [
        f"{models} ratings with 95 % intervals: what judges prefer, not what is true.",
        f"Run {visible(run_tag)}, {counted(topics, 'topic')}."
        + (" Simulated debaters or judges: it says nothing about real models." if is_simulated else ""),
    ]
    picture = _picture(debaters, lines)
    rows = [_cells(each) for each in debaters]
    return dict(
        zip(
            FRAGMENT_FILES,
            (_html(picture, rows, lines), _markdown(rows, lines), picture, _badge(debaters)),
            strict=True,
        )
    )


def _cells(debater: _Debater) -> tuple[Any, ...]:
    ranks = "–".join(dict.fromkeys((str(debater.rank_low), str(debater.rank_high))))
    rating, win_rate = round(debater.rating), f"{100 * debater.win_rate:.1f} %"
    return ranks, debater.model_id, rating, _interval(debater), win_rate, debater.games


def _interval(debater: _Debater) -> str | None:
    """Both ends, with a true minus."""
    if debater.ci_low is None or debater.ci_high is None:
        return None
    return f"{_whole(debater.ci_low)} to {_whole(debater.ci_high)}"


def _whole(number: float) -> str:
    return f"{round(number)}".replace("-", "−")


def _html(picture: str, rows: Sequence[Sequence[Any]], lines: Sequence[str]) -> str:
    """The picture in an address of its own, where its styles reach nothing else, and the table below it."""
    address = b64encode(picture.encode()).decode("ascii")
    image = f'<img alt="{escape(lines[0])}" style="max-width: 100%" src="data:image/svg+xml;base64,{address}">'
    return f"<div>\n{image}\n{html_table(_COLUMNS, rows, ' '.join(lines))}\n</div>\n"


def _markdown(rows: Sequence[Sequence[Any]], lines: Sequence[str]) -> str:
    caption = " ".join(map(markdown_text, lines))
    return f"![{markdown_text(lines[0])}]({PICTURE})\n\n{render(_COLUMNS, rows, 'markdown')}\n{caption}\n"


def _picture(debaters: Sequence[_Debater], lines: Sequence[str]) -> str:
    """The ratings with their intervals, one debater on each line."""
    ends = [end for each in debaters for end in (each.rating, each.ci_low, each.ci_high) if end is not None]
    low, high = min(ends), max(ends)
    names = [cut(visible(each.model_id), _LONGEST_NAME) for each in debaters]
    left = max(120, _CHARACTER * max(map(width, names)) + 24)

    def x(rating: float) -> float:
        return round(left + (rating - low) / ((high - low) or 1) * _PLOT, 1)

    height = _ROW * (len(debaters) + 1) + _LINE * len(lines)
    bottom = _ROW * len(debaters) + _ROW // 2
    parts = [f'<line class="start" x1="{x(_START)}" x2="{x(_START)}" y1="10" y2="{bottom}"/>'] * (low <= _START <= high)
    for place, (debater, name) in enumerate(zip(debaters, names, strict=True)):
        y = _ROW * (place + 1)
        parts.append(f'<text x="{left - 16}" y="{y + 5}" text-anchor="end">{escape(name)}</text>')
        if debater.ci_low is not None and debater.ci_high is not None:
            ends_of_line = f'x1="{x(debater.ci_low)}" x2="{x(debater.ci_high)}"'
            parts.append(f'<line {ends_of_line} y1="{y}" y2="{y}" stroke-width="2"/>')
        parts.append(f'<circle cx="{x(debater.rating)}" cy="{y}" r="5"/>')
        parts.append(f'<text x="{left + _PLOT + 24}" y="{y + 5}">{_whole(debater.rating)}</text>')
    parts += [
        f'<text class="muted" x="16" y="{bottom + _LINE * (number + 1)}">{escape(line)}</text>'
        for number, line in enumerate(lines)
    ]
    return _svg(left + _PLOT + _RIGHT, height, lines[0], f"<style>{_STYLE}</style>", parts)


def _badge(debaters: Sequence[_Debater]) -> str:
    """Who is first, or between how many debaters that is open, on one line."""
    first = [each for each in debaters if each.rank_low == 1]
    best = cut(visible(debaters[0].model_id), _LONGEST_NAME)
    rating = f"{best} {_whole(debaters[0].rating)}"
    text = rating if len(first) == 1 else f"{rating}, first place open between {len(first)}"
    label = "debates"
    sides = [_BADGE_CHARACTER * width(part) + 2 * _BADGE_PADDING for part in (label, text)]
    parts = [
        f'<rect width="{sides[0]}" height="{_BADGE_HEIGHT}" fill="#555"/>',
        f'<rect x="{sides[0]}" width="{sides[1]}" height="{_BADGE_HEIGHT}" fill="#0969da"/>',
        f'<text x="{_BADGE_PADDING}" y="14" textLength="{sides[0] - 2 * _BADGE_PADDING}">{label}</text>',
        f'<text x="{sides[0] + _BADGE_PADDING}" y="14" textLength="{sides[1] - 2 * _BADGE_PADDING}">'
        f"{escape(text)}</text>",
    ]
    style = "<style>text { font: 11px Verdana, 'DejaVu Sans', sans-serif; fill: #fff }</style>"
    return _svg(sum(sides), _BADGE_HEIGHT, f"{label}: {text}", style, parts)


def _svg(wide: int, high: int, label: str, style: str, parts: Sequence[str]) -> str:
    start = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {wide} {high}" width="{wide}" height="{high}"'
    return "\n".join([f'{start} role="img" aria-label="{escape(label)}">{style}', *parts, "</svg>\n"])
