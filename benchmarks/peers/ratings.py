"""evalica and arena-rank: rate the games of `games.parquet`, and print the CPU seconds of the rating alone.

    python ratings.py elo|bradley_terry evalica|arena-rank FOLDER

The games are in memory before: for evalica as lists of codes, for arena-rank as the frame that it takes. arena-rank
compiles its loss on the first fit, so the second one is measured; it has sandwich intervals, evalica has none.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from pathlib import Path

import pandas as pd


def with_evalica(step: str, games: pd.DataFrame) -> Callable[[], object]:
    import evalica

    winner = {1.0: evalica.Winner.X, 0.0: evalica.Winner.Y, 0.5: evalica.Winner.Draw}
    pro, con = games["pro_code"].tolist(), games["con_code"].tolist()
    winners = [winner[score] for score in games["pro_score"]]
    if step == "elo":
        return lambda: evalica.elo(pro, con, winners, initial=400.0, k=32.0)
    return lambda: evalica.bradley_terry(pro, con, winners)


def with_arena_rank(step: str, games: pd.DataFrame) -> Callable[[], object]:
    from arena_rank.models.bradley_terry import BradleyTerry
    from arena_rank.utils.data_utils import PairDataset

    if step != "bradley_terry":
        sys.exit("arena-rank has no Elo.")
    outcome = games["pro_score"].map({1.0: "model_a", 0.0: "model_b", 0.5: "tie"})
    frame = pd.DataFrame({"model_a": games["pro_model_id"], "model_b": games["con_model_id"], "winner": outcome})

    def rate() -> object:
        data = PairDataset.from_pandas(frame)
        return BradleyTerry(n_competitors=data.n_competitors).compute_ratings_and_cis(data)

    rate()
    return rate


def main() -> None:
    step, library, folder = sys.argv[1:]
    games = pd.read_parquet(Path(folder, "games.parquet"))
    rate = {"evalica": with_evalica, "arena-rank": with_arena_rank}[library](step, games)
    began = time.process_time()
    rate()
    print(time.process_time() - began)


if __name__ == "__main__":
    main()
