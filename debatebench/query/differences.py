"""Rows of a comparison as people see them: rounded, with captions, and below its sentences."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from debatebench.shared.visible_text import visible

Rows = Sequence[Mapping[str, Any]]

CHANGES = ("baseline_value", "candidate_value", "difference", "ci_low", "ci_high")
DECIMALS = {"rating": 1, "rank": 0, "win_rate": 3, "mean_score": 2, "dimension_score": 2, "turn_cost_usd": 6}
CAPTIONS = {
    "rating": "Bradley–Terry ratings",
    "win_rate": "Win rates",
    "mean_score": "Mean scores",
    "dimension_score": "Mean scores by dimension",
    "turn_cost_usd": "Cost of a debater's own turns in a debate, USD",
    "agreement": "Agreement of judges: share of pairs of judges on a panel that named the same winner",
}
_MEASURES = ("rating", "win_rate", "mean_score", "turn_cost_usd")


def measure_rows(debaters: Rows, measure: str) -> list[dict[str, Any]]:
    """Every debater's values of a measure and their difference; ratings have the places, too."""
    ranks = {row["model_id"]: row for row in debaters if row["measure"] == "rank"}
    table = []
    for row in debaters:
        if row["measure"] != measure:
            continue
        shown = picked(row, ("model_id", *CHANGES, "method"))
        if measure == "rating":
            rank = ranks[row["model_id"]]
            shown |= {"rank": f"{_place(rank['baseline_value'])} → {_place(rank['candidate_value'])}"}
        table.append(shown)
    return table


def picked(row: Mapping[str, Any], names: Sequence[str]) -> dict[str, Any]:
    """Some columns of a row of a measure, rounded."""
    return {name: rounded(row["measure"], row[name]) for name in names}


def rounded(measure: str, value: Any) -> Any:
    """The value rounded to its meaningful digits."""
    return round(value, DECIMALS.get(measure, 3)) if isinstance(value, float) else value


def _place(rank: float | None) -> str:
    return "–" if rank is None else f"{rank:.0f}"


def plain_text(sentences: Sequence[str], debaters: Rows) -> str:
    """The sentences, and a table of each measure; characters without a shape are made visible."""
    from debatebench.shared.result_formats import render

    parts = ["".join(f"{visible(sentence)}\n" for sentence in sentences)]
    parts += [f"{caption}\n{render(columns, rows)}" for caption, columns, rows in _tables(debaters)]
    return "\n".join(parts).removesuffix("\n")


def html_text(sentences: Sequence[str], debaters: Rows) -> str:
    """The same as HTML, in which nothing is markup, whatever the names and values hold."""
    from html import escape

    from debatebench.shared.result_formats import html_table

    told = "".join(f"<p>{escape(visible(sentence))}</p>" for sentence in sentences)
    return told + "".join(html_table(columns, rows, caption) for caption, columns, rows in _tables(debaters))


def _tables(debaters: Rows) -> Iterator[tuple[str, list[str], list[list[Any]]]]:
    """Caption, columns and rows of each measure that some debater has."""
    for measure in _MEASURES:
        if rows := measure_rows(debaters, measure):
            yield CAPTIONS[measure], list(rows[0]), [list(row.values()) for row in rows]
