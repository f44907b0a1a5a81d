"""How fast ratings are, compared with evalica in the same process.

    python benchmarks/ratings.py [--games 1000000] [--repeat 7] [--database FILE --run-tag TAG]

Elo: reading games from a warehouse file and rating them, against evalica's rating of the same games, already in memory
as arrays of codes. Without `--database` the script first makes a warehouse of random games. Bradley–Terry: 40 debaters,
24 topics, 1,000 resamples of topics, with intervals and ranks, against evalica's single fit, which has neither. The two
sides alternate, so a busy machine affects both. Figures are medians in seconds, followed by the minimum and maximum.
"""

from __future__ import annotations

import argparse
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import duckdb
import numpy as np

from debatebench.query.rated_games import read_games
from debatebench.stats.counted_games import counted_games
from debatebench.stats.elo import elo_ratings
from debatebench.stats.standings import standings

TAG = "random"
DEBATERS = 40
TOPICS = 24


def random_warehouse(path: Path, games: int) -> None:
    """Make a file with the two tables that games are read from."""
    with duckdb.connect(str(path)) as con:
        con.execute("create schema marts")
        con.execute("create schema staging")
        con.execute(
            "create table staging.stg_runs as "
            "select $1 as run_tag, 400.0::double as elo_initial_rating, 32.0::double as elo_k_factor",
            [TAG],
        )
        con.execute("select setseed(0.5)")
        con.execute(
            f"""
            create table marts.games as
            with drawn as materialized (
                select
                    i + 1 as game_number,
                    1 + (random() * {DEBATERS})::integer % {DEBATERS} as pro_code,
                    1 + (random() * {DEBATERS - 1})::integer % {DEBATERS - 1} as step,
                    [0.0, 0.5, 1.0, 1.0, 0.0][1 + (random() * 5)::integer % 5] as pro_score
                from range({games}) as numbers(i)
            )
            select
                $1 as run_tag,
                game_number,
                pro_code::integer as pro_code,
                (1 + (pro_code - 1 + step) % {DEBATERS})::integer as con_code,
                'debater-' || pro_code as pro_model_id,
                'debater-' || (1 + (pro_code - 1 + step) % {DEBATERS}) as con_model_id,
                pro_score::double as pro_score
            from drawn
            order by game_number
            """,
            [TAG],
        )


def alternating(repeat: int, **steps: Callable[[], object]) -> None:
    """Time the steps alternately, and print a line for each."""
    seconds: dict[str, list[float]] = {name: [] for name in steps}
    for _ in range(repeat):
        for name, step in steps.items():
            started = time.perf_counter()
            step()
            seconds[name].append(time.perf_counter() - started)
    for name, each in seconds.items():
        spread = f"{min(each):.3f}-{max(each):.3f}"
        print(f"  {name.replace('_', ' '):<44}{statistics.median(each):>8.3f}{spread:>16}", flush=True)


def time_elo(database: Path, run_tag: str, repeat: int) -> None:
    """Time reading and rating, against evalica's rating alone."""
    import evalica

    con = duckdb.connect(str(database), read_only=True)
    games = read_games(con, run_tag)
    winners = [evalica.Winner.X if s == 1 else evalica.Winner.Y if s == 0 else evalica.Winner.Draw for s in games.score]

    def own() -> list[float]:
        read = read_games(con, run_tag)
        return elo_ratings(read.pro, read.con, read.score, initial=read.initial, k=read.k)

    def theirs() -> object:
        return evalica.elo(games.pro, games.con, winners, initial=games.initial, k=games.k)

    found = evalica.elo(games.pro, games.con, winners, initial=games.initial, k=games.k).scores
    worst = max(abs(found[code] - rating) for code, rating in enumerate(own(), 1) if code in found.index)
    print(f"Elo over {len(games.pro):,} games (largest difference of a rating: {worst:.1e})")
    alternating(repeat, debatebench_reading_and_rating=own, evalica_rating_in_memory=theirs)
    con.close()


def time_bradley_terry(repeat: int) -> None:
    """Time standings with 1,000 resamples, against evalica's fit."""
    import evalica

    rng = np.random.default_rng(0)
    strengths = rng.normal(0.0, 0.6, DEBATERS)
    topic, pro, con = (axis.ravel() for axis in np.indices((TOPICS, DEBATERS, DEBATERS)))
    topic, pro, con = (values[pro != con] for values in (topic, pro, con))
    wins = rng.random(len(pro)) < 1 / (1 + np.exp(strengths[con] - strengths[pro]))
    lists = [values.tolist() for values in (topic + 1, pro + 1, con + 1, wins * 1, wins * 0, ~wins * 1)]
    winners = [evalica.Winner.X if won else evalica.Winner.Y for won in wins]
    print(f"Bradley–Terry, {DEBATERS} debaters, {len(pro):,} games")
    alternating(
        repeat,
        debatebench_fit_and_1000_resamples=lambda: standings(counted_games(*lists), resamples=1000),
        evalica_fit_without_intervals=lambda: evalica.bradley_terry(lists[1], lists[2], winners),
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--games", type=int, default=1_000_000)
    parser.add_argument("--repeat", type=int, default=7)
    parser.add_argument("--database", type=Path, help="a built warehouse, instead of random games")
    parser.add_argument("--run-tag", default=TAG)
    options = parser.parse_args()
    print(f"{os.cpu_count()} CPUs, load {os.getloadavg()[0]:.1f}, Python {sys.version.split()[0]}")
    with tempfile.TemporaryDirectory(prefix="debatebench-benchmark-") as folder:
        database = options.database
        if database is None:
            database = Path(folder) / "games.duckdb"
            random_warehouse(database, options.games)
        time_elo(database, options.run_tag, options.repeat)
    time_bradley_terry(options.repeat)


if __name__ == "__main__":
    main()
