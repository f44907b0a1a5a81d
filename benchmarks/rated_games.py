"""Elo and Bradley–Terry of random games: what the cases `elo` and `bradley_terry` measure of ours.

    python benchmarks/rated_games.py make GAMES FOLDER
    python benchmarks/rated_games.py elo|bradley_terry FOLDER

`make` writes games of forty debaters on 24 topics, as a warehouse (`games.duckdb`, with the two tables that games are
read from) and for peers as `games.parquet`. The other steps print the CPU seconds of one rating, which for us
includes reading the games from the warehouse; peers have them in memory. Ours adds 1,000 resamples of topics,
intervals and ranks to Bradley–Terry.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path

import duckdb
import numpy as np  # noqa: F401 — what a rating imports is not measured

from debatebench.query.rated_games import read_games
from debatebench.stats.counted_games import counted_games
from debatebench.stats.elo import elo_ratings
from debatebench.stats.standings import standings

TAG = "random"
DEBATERS, TOPICS = 40, 24
MAKE = f"""
create schema marts;
create schema staging;
create table staging.stg_runs as
select '{TAG}' as run_tag, 400.0::double as elo_initial_rating, 32.0::double as elo_k_factor;
select setseed(0.5);
create table marts.games as
with drawn as materialized (
    select
        i + 1 as game_number,
        1 + (random() * {TOPICS})::integer % {TOPICS} as topic,
        1 + (random() * {DEBATERS})::integer % {DEBATERS} as pro_code,
        1 + (random() * {DEBATERS - 1})::integer % {DEBATERS - 1} as step,
        [0.0, 0.5, 1.0, 1.0, 0.0][1 + (random() * 5)::integer % 5] as pro_score
    from range($games) as numbers(i)
)
select
    '{TAG}' as run_tag, game_number, topic,
    pro_code::integer as pro_code,
    (1 + (pro_code - 1 + step) % {DEBATERS})::integer as con_code,
    'debater-' || pro_code as pro_model_id,
    'debater-' || (1 + (pro_code - 1 + step) % {DEBATERS}) as con_model_id,
    pro_score::double as pro_score
from drawn
order by game_number
"""
COUNTED = """
select
    topic, pro_code, con_code,
    count(case when pro_score = 1 then 1 end), count(case when pro_score = 0.5 then 1 end),
    count(case when pro_score = 0 then 1 end)
from marts.games
where run_tag = $1
group by topic, pro_code, con_code
"""


def make(games: int, folder: Path) -> None:
    folder.mkdir(parents=True)
    with duckdb.connect(str(folder / "games.duckdb")) as con:
        *before, last = MAKE.split(";")
        for statement in before:
            con.execute(statement)
        con.execute(last, {"games": games})
        con.execute(f"copy marts.games to '{folder / 'games.parquet'}' (format parquet)")


def elo(con: duckdb.DuckDBPyConnection) -> None:
    games = read_games(con, TAG)
    elo_ratings(games.pro, games.con, games.score, initial=games.initial, k=games.k)


def bradley_terry(con: duckdb.DuckDBPyConnection) -> None:
    columns = zip(*con.execute(COUNTED, [TAG]).fetchall(), strict=True)
    standings(counted_games(*map(list, columns)), resamples=1000)


def main() -> None:
    step, *rest = sys.argv[1:]
    if step == "make":
        make(int(rest[0]), Path(rest[1]))
        return
    rate = {"elo": elo, "bradley_terry": bradley_terry}[step]
    with duckdb.connect(str(Path(rest[0], "games.duckdb")), read_only=True) as con:
        began = time.process_time()
        rate(con)
        print(time.process_time() - began)


if __name__ == "__main__":
    main()
