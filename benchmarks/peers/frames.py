"""Polars and pandas: read debates, and derive winners, means and win rates from exported Parquet files.

    python frames.py polars|pandas read DEBATES.jsonl
    python frames.py polars|pandas winners FOLDER OUT.json

`winners` computes what `benchmarks/models_on_parquet.py` does: a judge's winner is the side with the higher sum of
scores, a panel's that with more judges; a debater's mean in a dimension is that of its debates, and a debate's that
of its judges.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

SIDES = ("pro", "con")


def polars_read(path: str) -> None:
    import polars as pl

    pl.read_ndjson(path, infer_schema_length=100)


def pandas_read(path: str) -> None:
    import pandas as pd

    pd.read_json(path, lines=True)


def polars_winners(folder: Path) -> dict[str, list[tuple[Any, ...]]]:
    import polars as pl

    debates = pl.scan_parquet(folder / "raw/debates/**/*.parquet").filter(pl.col("status") == "complete")
    debates = debates.select("debate_id", "pro_model_id", "con_model_id")
    verdicts = pl.scan_parquet(folder / "raw/verdicts/**/*.parquet").filter("is_valid")
    verdicts = verdicts.select("debate_id", "judge_id", "scores")
    scores = verdicts.explode("scores").unnest("scores")
    of_judges = scores.group_by("debate_id", "judge_id").agg(gap=pl.col("pro").sum() - pl.col("con").sum())
    votes = of_judges.group_by("debate_id").agg(balance=(pl.col("gap") > 0).sum().cast(int) - (pl.col("gap") < 0).sum())
    decided = debates.join(votes, on="debate_id").with_columns(
        winner=pl.when(pl.col("balance") > 0)
        .then(pl.lit("pro"))
        .when(pl.col("balance") < 0)
        .then(pl.lit("con"))
        .otherwise(pl.lit("tie"))
    )
    counts = decided.group_by("winner").agg(count=pl.len())
    rates = []
    for side, other in (SIDES, SIDES[::-1]):
        winner = pl.col("winner")
        rates.append(
            decided.group_by(model_id=f"{side}_model_id").agg(
                (winner == side).sum().alias(f"{side}_w"),
                (winner == other).sum().alias(f"{side}_l"),
                (winner == "tie").sum().alias(f"{side}_t"),
            )
        )
    by_debater = rates[0].join(rates[1], on="model_id", how="full", coalesce=True).fill_null(0)
    of_debates = scores.group_by("debate_id", "dimension").agg(pl.col(SIDES).cast(float).mean())
    of_debates = of_debates.join(debates, on="debate_id")
    of_sides = [of_debates.select("dimension", model_id=f"{side}_model_id", mean_score=pl.col(side)) for side in SIDES]
    means = pl.concat(of_sides).group_by("model_id", "dimension").agg(pl.col("mean_score").mean(), samples=pl.len())
    # One collection for the three, so that what they share is computed once.
    found = pl.collect_all([counts, means, by_debater])
    return dict(zip(("winners", "means", "win_rates"), (frame.rows() for frame in found), strict=True))


def pandas_winners(folder: Path) -> dict[str, list[tuple[Any, ...]]]:
    import numpy as np
    import pandas as pd

    def read(name: str, columns: list[str], condition: tuple[str, str, Any]) -> pd.DataFrame:
        return pd.read_parquet(folder / "raw" / name, columns=columns, filters=[condition])

    debates = read("debates", ["debate_id", "pro_model_id", "con_model_id"], ("status", "==", "complete"))
    verdicts = read("verdicts", ["debate_id", "judge_id", "scores"], ("is_valid", "==", True))
    long = verdicts.explode("scores", ignore_index=True)
    parts = pd.DataFrame(long.pop("scores").tolist(), index=long.index)
    scores = long.assign(dimension=parts["dimension"], **{side: parts[side].astype(float) for side in SIDES})
    of_judges = scores.groupby(["debate_id", "judge_id"], sort=False)[list(SIDES)].sum()
    balance = np.sign(of_judges["pro"] - of_judges["con"]).groupby("debate_id", sort=False).sum()
    decided = debates.merge(balance.rename("balance"), left_on="debate_id", right_index=True)
    decided["winner"] = np.select([decided["balance"] > 0, decided["balance"] < 0], SIDES, "tie")
    counts = decided["winner"].value_counts()
    rates = []
    for side, other in (SIDES, SIDES[::-1]):
        table = pd.crosstab(decided[f"{side}_model_id"], decided["winner"]).reindex(
            columns=[side, other, "tie"], fill_value=0
        )
        rates.append(table.set_axis([f"{side}_w", f"{side}_l", f"{side}_t"], axis=1))
    by_debater = pd.concat(rates, axis=1).fillna(0).astype(int)
    of_debates = scores.groupby(["debate_id", "dimension"], sort=False)[list(SIDES)].mean().reset_index()
    of_debates = of_debates.merge(debates, on="debate_id")
    of_sides = pd.concat(
        [
            of_debates[["dimension", f"{side}_model_id", side]].set_axis(["dimension", "model_id", "score"], axis=1)
            for side in SIDES
        ]
    )
    means = of_sides.groupby(["model_id", "dimension"])["score"].agg(["mean", "size"]).reset_index()
    tables = (counts.reset_index(), means, by_debater.reset_index(names="model_id"))
    rows = [[tuple(row) for row in table.itertuples(index=False)] for table in tables]
    return dict(zip(("winners", "means", "win_rates"), rows, strict=True))


def main() -> None:
    library, step, path, *out = sys.argv[1:]
    if step == "read":
        {"polars": polars_read, "pandas": pandas_read}[library](path)
        return
    rows = {"polars": polars_winners, "pandas": pandas_winners}[library](Path(path))
    ordered = {name: sorted((list(row) for row in each), key=str) for name, each in rows.items()}
    Path(out[0]).write_text(json.dumps(ordered, indent=1))


if __name__ == "__main__":
    main()
