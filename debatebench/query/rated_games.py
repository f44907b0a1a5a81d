"""Rated games of a warehouse as plain lists, for rating passes outside SQL."""

from __future__ import annotations

from dataclasses import dataclass

import duckdb
import numpy as np

from debatebench.query.run_tags import check_landed


@dataclass(frozen=True, slots=True)
class RatedGames:
    """The rated games of a run in order of play. Code i in `pro` and `con` means `debaters[i - 1]`.

    `score` is 1 if pro won, 0.5 for a tie, 0 if con won. `initial` and `k` are the run's Elo settings.
    """

    debaters: list[str]
    pro: list[int]
    con: list[int]
    score: list[float]
    initial: float
    k: float


def read_games(con: duckdb.DuckDBPyConnection, run_tag: str) -> RatedGames:
    """Read a run's games from `marts.games`. Raises `UsageError` if no run has the tag."""
    settings = con.execute(
        "select elo_initial_rating, elo_k_factor from staging.stg_runs where run_tag = $1", [run_tag]
    ).fetchall()
    if not settings:
        check_landed(con, run_tag)
    # Read the games first, because they contain the debaters' codes.
    columns = con.execute(
        "select game_number, pro_code, con_code, pro_score from marts.games where run_tag = $1", [run_tag]
    ).fetchnumpy()
    debaters = con.execute(
        "select distinct model_id from (select pro_model_id as model_id from marts.games where run_tag = $1 "
        "union select con_model_id from marts.games where run_tag = $1) order by model_id",
        [run_tag],
    ).fetchall()
    numbers = columns["game_number"]
    # The rows are usually in order already, which avoids sorting a million of them.
    order = slice(None) if (numbers[1:] > numbers[:-1]).all() else np.argsort(numbers)
    pro, con_codes, score = (columns[name][order].tolist() for name in ("pro_code", "con_code", "pro_score"))
    return RatedGames([name for (name,) in debaters], pro, con_codes, score, *settings[0])
