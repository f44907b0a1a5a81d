"""Summaries of one run: the original harness's eleven CSV files and its ratings JSON, read from the marts.

Names, columns, order of rows, line ends (CRLF) and number formats are the original's, so that programs that read its
files can read these. Two things differ: a pair of judges is one row in either order, and text that a spreadsheet would
treat as a formula (`spreadsheet_safe`) is prefixed with an apostrophe. This affects only ids and names; numbers stay
numbers.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import duckdb

from debatebench.query.one_debate import check_marts
from debatebench.query.run_tags import check_landed
from debatebench.shared.files import not_written, write_atomically
from debatebench.shared.visible_text import spreadsheet_safe


@dataclass(frozen=True, slots=True)
class Summary:
    """A query with the run tag as its only parameter, and the formats of columns that are not whole numbers."""

    query: str
    formats: Mapping[str, str] = field(default_factory=dict)


# The original lists side `pro` before `con`, hence `side desc`.
SUMMARIES: dict[str, Summary] = {
    "winner_counts": Summary(
        "select winner, count from original.winner_counts where run_tag = ? "
        "order by case winner when 'pro' then 1 when 'con' then 2 else 3 end"
    ),
    "topic_winrate": Summary(
        "select topic_id, pro_wins, con_wins, ties, total from original.topic_winrate where run_tag = ? "
        "order by topic_id"
    ),
    "model_dimension_avg": Summary(
        "select model_id, dimension, mean_score, samples from original.model_dimension_avg where run_tag = ? "
        "order by model_id, dimension_position, dimension",
        {"mean_score": ".4f"},
    ),
    "turn_timings": Summary(
        "select model_id, side, coalesce(mean_ms, 0) as mean_ms, samples from original.turn_timings where run_tag = ? "
        "order by model_id, side desc",
        {"mean_ms": ".2f"},
    ),
    "token_usage": Summary(
        "select model_id, side, coalesce(mean_prompt_tokens, 0) as mean_prompt_tokens, "
        "coalesce(mean_completion_tokens, 0) as mean_completion_tokens, samples from original.token_usage "
        "where run_tag = ? order by model_id, side desc",
        {"mean_prompt_tokens": ".2f", "mean_completion_tokens": ".2f"},
    ),
    "cost_usage": Summary(
        "select model_id, side, coalesce(mean_cost_usd, 0) as mean_cost_usd, samples from original.cost_usage "
        "where run_tag = ? order by model_id, side desc",
        {"mean_cost_usd": ".6f"},
    ),
    "judge_agreement": Summary(
        "select judge_a, judge_b, agree, total, agreement_rate from original.judge_agreement where run_tag = ? "
        "order by judge_a, judge_b",
        {"agreement_rate": ".4f"},
    ),
    "judge_side_preference": Summary(
        "select judge_id, pro, con, tie, total, pro_rate, con_rate, tie_rate from original.judge_side_preference "
        "where run_tag = ? order by judge_id",
        {"pro_rate": ".4f", "con_rate": ".4f", "tie_rate": ".4f"},
    ),
    "judge_majority_alignment": Summary(
        "select judge_id, matches_majority, total, alignment_rate from original.judge_majority_alignment "
        "where run_tag = ? order by judge_id",
        {"alignment_rate": ".4f"},
    ),
    "model_winrate_by_side": Summary(
        "select model_id, pro_w, pro_l, pro_t, con_w, con_l, con_t from original.model_winrate_by_side "
        "where run_tag = ? order by model_id"
    ),
    "dimension_score_gaps": Summary(
        "select debate_id, dimension, gap from original.dimension_score_gaps where run_tag = ? "
        "order by source_position, dimension_position, dimension",
        {"gap": "r"},
    ),
}
"""File name without `.csv` → what is in it. The format `r` is Python's shortest text that reads back as the number."""


def write_summaries(con: duckdb.DuckDBPyConnection, run_tag: str, out_dir: Path) -> list[Path]:
    """Write every summary of `SUMMARIES` as `<name>.csv` into `out_dir`, and return the files.

    Each file is replaced as a whole. Raises `UsageError` when the run does not exist, `DebatebenchError` when
    `out_dir` cannot be written to, or the SQL models are not built.
    """
    check_landed(con, run_tag)
    check_marts(con)
    texts = {out_dir / f"{name}.csv": _csv_text(con, summary, run_tag) for name, summary in SUMMARIES.items()}
    try:
        for path, text in texts.items():
            write_atomically(path, text)
    except OSError as error:
        raise not_written(out_dir, error) from error
    return list(texts)


def ratings_json(con: duckdb.DuckDBPyConnection, run_tag: str) -> dict[str, Any]:
    """The run's Elo ratings in the shape of the original's `ratings.json`, debaters in the order of their first games.

    Raises `UsageError` when the run does not exist, `DebatebenchError` when the SQL models are not built.
    """
    check_landed(con, run_tag)
    check_marts(con)
    ((benchmark_version, rubric_version, initial_rating, k_factor),) = _rows(
        con,
        "select benchmark_version, rubric_version, elo_initial_rating, elo_k_factor from marts.runs where run_tag = ?",
        run_tag,
    )
    dimension_avgs: dict[str, dict[str, float]] = {}
    for model_id, dimension, mean_score in _rows(
        con,
        "select model_id, dimension, mean_score from original.model_dimension_avg where run_tag = ? "
        "order by model_id, dimension_position, dimension",
        run_tag,
    ):
        dimension_avgs.setdefault(model_id, {})[dimension] = mean_score
    debaters = _rows(
        con,
        "select elo.model_id, elo.rating, elo.games from ratings.elo as elo inner join ratings.elo_history as history "
        "on elo.run_tag = history.run_tag and elo.model_id = history.model_id where elo.run_tag = ? "
        "group by elo.model_id, elo.rating, elo.games "
        "order by min(history.game_number), arg_min(history.side, history.game_number) desc",
        run_tag,
    )
    return {
        "benchmark_version": benchmark_version,
        "rubric_version": rubric_version,
        "elo": {"initial_rating": initial_rating, "k_factor": k_factor},
        "models": {
            model_id: {"rating": rating, "games_played": games, "dimension_avgs": dimension_avgs.get(model_id, {})}
            for model_id, rating, games in debaters
        },
    }


def _csv_text(con: duckdb.DuckDBPyConnection, summary: Summary, run_tag: str) -> str:
    """One summary as CSV text with CRLF line ends."""
    rows = _rows(con, summary.query, run_tag)
    columns = [column[0] for column in con.description or ()]
    formats = [summary.formats.get(column, "") for column in columns]
    text = io.StringIO()
    writer = csv.writer(text)
    writer.writerow(columns)
    writer.writerows([_cell(value, spec) for value, spec in zip(row, formats, strict=True)] for row in rows)
    return text.getvalue()


def _rows(con: duckdb.DuckDBPyConnection, query: str, run_tag: str) -> Sequence[tuple[Any, ...]]:
    """The rows of a query on the marts."""
    return con.execute(query, [run_tag]).fetchall()


def _cell(value: Any, spec: str) -> str:
    """A number in its format, or text that spreadsheets do not evaluate."""
    if isinstance(value, str):
        return spreadsheet_safe(value)
    return repr(value) if spec == "r" else format(value, spec)
