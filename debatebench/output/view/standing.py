"""What a warehouse says of a run: how far it is, what it has cost, and its leaderboard with what is settled."""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal
from typing import Any, NamedTuple

import duckdb

from debatebench.output.view.playing import Facts, cost_text
from debatebench.query.leaderboard import leaderboard_of
from debatebench.query.safe_query import run_query

_RUN = """
select
    runs.source, runs.is_simulated, runs.count_planned, runs.count_debates, runs.count_complete, runs.count_incomplete,
    runs.count_void, runs.count_forfeits, runs.cost_usd, runs.min_games_for_display, calls.answered, calls.attempts
from marts.runs as runs
left join (
    select run_tag, sum(count_answered_calls) as answered, sum(count_attempts) as attempts
    from marts.calls
    where run_tag = $run_tag
    group by run_tag
) as calls using (run_tag)
where run_tag = $run_tag
"""
_ENDED = {"count_incomplete": "incomplete", "count_void": "void", "count_forfeits": "lost by forfeit"}


class Standing(NamedTuple):
    """A run as its journal had it when the warehouse was built.

    `board` are the rows of its leaderboard, which has only debaters with `least_debates`.
    """

    words: str
    done: int
    planned: int
    spent: Decimal | None
    is_simulated: bool
    facts: Facts
    board: list[dict[str, Any]]
    least_debates: int
    notes: list[str]

    def with_cost(self, limit: Decimal | None) -> Facts:
        """The facts with what the run has cost of what it may cost, which a journal does not say."""
        if self.spent is None:
            return self.facts
        return [*self.facts, ("Cost", cost_text(self.spent, limit, is_simulated=self.is_simulated))]


def standing_of(con: duckdb.DuckDBPyConnection, run_tag: str) -> Standing:
    """How a run stands in this warehouse, which has its rows."""
    (run,) = run_query(con, _RUN, {"run_tag": run_tag}).dicts()
    done, planned = run["count_debates"], run["count_planned"]
    is_import = run["source"] == "import"
    words = (
        "Imported." if is_import else "All debates have ended." if done >= planned else "Not all debates have ended."
    )
    board = leaderboard_of(con, run_tag)
    rows = [_row(dict(zip(board.columns, row, strict=True))) for row in board.rows]
    return Standing(
        words=words,
        done=done,
        planned=done if is_import else planned,
        spent=run["cost_usd"],
        is_simulated=run["is_simulated"],
        facts=_facts(run, is_import),
        board=rows,
        least_debates=run["min_games_for_display"],
        notes=list(board.notes),
    )


def _facts(run: Mapping[str, Any], is_import: bool) -> Facts:
    ended = ", ".join(f"{run[name]:,} {word}" for name, word in _ENDED.items() if run[name])
    of = "" if is_import else f" of {run['count_planned']:,}"
    facts = [("Debates", f"{run['count_complete']:,}{of} complete" + (f", {ended}" if ended else ""))]
    if run["attempts"]:
        facts.append(("Calls answered", f"{run['answered']:,}"))
        facts.append(("Failed attempts", f"{run['attempts'] - run['answered']:,}"))
    return facts


def _row(row: Mapping[str, Any]) -> dict[str, Any]:
    """A row of the leaderboard as text, and the numbers that a drawing of its interval needs."""
    low, high = row["ci_low"], row["ci_high"]
    ranks = f"{row['rank_low']} to {row['rank_high']}" if row["rank_low"] != row["rank_high"] else str(row["rank_low"])
    return {
        "rank": str(row["rank"]),
        "ranks": ranks,
        "is_settled": row["rank_low"] == row["rank_high"],
        "debater": row["model_id"],
        "debates": f"{row['games']:,}",
        "rating": _number(row["rating"]),
        "interval": "none yet" if low is None else f"{_number(low)} to {_number(high)}",
        "win_rate": "–" if row["win_rate"] is None else f"{row['win_rate']:.1%}",
        "value": row["rating"],
        "low": low,
        "high": high,
    }


def _number(value: float) -> str:
    """A whole number with a true minus."""
    return f"{value:.0f}".replace("-", "−")
