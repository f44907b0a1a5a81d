"""Every Eval Ever's JSON, version 0.3.0: one file for each debater of a run, with its ratings, win rate and scores.

What the warehouse does not know is left out, or "unknown" where the format needs a value. Each file says that the
numbers measure what judges prefer.
"""

from __future__ import annotations

import json
import math
import re
import uuid
from collections.abc import Mapping
from datetime import datetime
from pathlib import Path
from typing import Any
from urllib.parse import quote

from debatebench.output.export.manifest import Contents, LeftOut
from debatebench.output.export.snapshot import Snapshot
from debatebench.query.leaderboard import RATING_MODELS
from debatebench.shared.errors import UsageError
from debatebench.shared.hashing import hash_of

SCHEMA_VERSION = "0.3.0"

_PREFERENCE = "It measures what judges prefer in debates, not what is true."
_LONGEST_NAME = 100
_WITH_DEVELOPER = re.compile(r"[A-Za-z0-9][\w.-]*/[A-Za-z0-9][\w.:-]*", re.ASCII)
_GENERATION = ("temperature", "top_p", "top_k")
_RUNS = """
select run_tag, benchmark_name, benchmark_version, rubric_version, harness_version, created_at, is_simulated
from marts.runs
where run_tag = $run_tag
"""
_DEBATERS = """
select
    debaters.model_id, debaters.provider, debaters.model_name, debaters.is_simulated, debaters.parameters,
    leaderboard.rating, leaderboard.ci_low, leaderboard.ci_high, leaderboard.elo_rating,
    leaderboard.games, leaderboard.wins, leaderboard.losses, leaderboard.ties, leaderboard.win_rate,
    leaderboard.format, leaderboard.mean_points,
    statistics.win_rate_ci_low, statistics.win_rate_ci_high,
    coalesce(bradley_terry.interval_method, plackett_luce.interval_method) as interval_method
from staging.stg_debaters as debaters
left join marts.leaderboard as leaderboard using (run_tag, model_id)
left join marts.debater_statistics as statistics using (run_tag, model_id)
left join ratings.bradley_terry as bradley_terry using (run_tag, model_id)
left join ratings.plackett_luce as plackett_luce using (run_tag, model_id)
where debaters.run_tag = $run_tag
order by debaters.model_id
"""
_SCORES = """
select
    scores.model_id, scores.dimension, scores.mean_score, scores.samples,
    cast(dimensions.min_score as double) as min_score, cast(dimensions.max_score as double) as max_score
from original.model_dimension_avg as scores
left join staging.stg_dimensions as dimensions using (run_tag, dimension)
where scores.run_tag = $run_tag
order by scores.model_id, scores.dimension_position, scores.dimension
"""
_JUDGES = "select judge_id from staging.stg_judges where run_tag = $run_tag and not is_baseline order by judge_id"

Row = Mapping[str, Any]


def write(snapshot: Snapshot, folder: Path) -> Contents:
    """Write `data/BENCHMARK/DEVELOPER/MODEL/ID.json` for each rated debater of each chosen run.

    Debaters without a rated debate are left out and listed. Raises `UsageError` if nothing is left.
    """
    rows: dict[str, int] = {}
    left_out: list[LeftOut] = []
    for run_tag in snapshot.run_tags:
        (run,) = _rows(snapshot, _RUNS, run_tag)
        judges = [row["judge_id"] for row in _rows(snapshot, _JUDGES, run_tag)]
        scores = _rows(snapshot, _SCORES, run_tag)
        unrated = []
        for debater in _rows(snapshot, _DEBATERS, run_tag):
            if debater["rating"] is None:
                unrated.append(debater["model_id"])
                continue
            own = [row for row in scores if row["model_id"] == debater["model_id"]]
            record = _record(run, debater, own, judges, snapshot.now)
            path = _path(run, debater)
            (folder / path).parent.mkdir(parents=True, exist_ok=True)
            text = json.dumps(record, indent=2, ensure_ascii=True, allow_nan=False)
            (folder / path).write_text(f"{text}\n", encoding="ascii")
            rows[path] = len(record["evaluation_results"])
        if unrated:
            left_out.append(
                LeftOut(
                    what="debaters",
                    why="they have no rated debate",
                    count=len(unrated),
                    run_tag=run_tag,
                    names=tuple(unrated),
                )
            )
    if not rows:
        raise UsageError(f"{', '.join(snapshot.run_tags)} has no rated debater, so there is nothing to export.")
    return Contents(rows, tuple(left_out))


def _rows(snapshot: Snapshot, query: str, run_tag: str) -> list[dict[str, Any]]:
    cursor = snapshot.con.execute(query, {"run_tag": run_tag})
    names = [column[0] for column in cursor.description or ()]
    return [dict(zip(names, row, strict=True)) for row in cursor.fetchall()]


def _record(
    run: Row, debater: Row, scores: list[dict[str, Any]], judges: list[str], now: datetime | None
) -> dict[str, Any]:
    """One debater of one run."""
    benchmark, made_at = _benchmark(run), run["created_at"]
    # The time of the data, so that equal warehouses give equal files.
    seconds = _epoch(made_at or now or datetime(1970, 1, 1))
    results = [*_ratings(run, debater), *(_dimension(row) for row in scores)]
    details = {
        "run_tag": run["run_tag"],
        "benchmark_version": run["benchmark_version"],
        "rubric_version": run["rubric_version"],
        "judges": ", ".join(judges) or None,
    }
    source = {
        "dataset_name": f"{benchmark}: topics of run {run['run_tag']}",
        "source_type": "other",
        "additional_details": _known(details),
    }
    generation = _generation(debater["parameters"])
    for result in results:
        result["source_data"] = source
        result |= {"generation_config": {"generation_args": generation}} if generation else {}
    return {
        "schema_version": SCHEMA_VERSION,
        "evaluation_id": f"{benchmark}.{run['run_tag']}/{debater['model_id']}/{seconds}",
        **({} if made_at is None else {"evaluation_timestamp": f"{made_at.isoformat(timespec='seconds')}Z"}),
        "retrieved_timestamp": seconds,
        "source_metadata": {
            "source_name": benchmark,
            "source_type": "evaluation_run",
            "source_organization_name": "unknown",
            "evaluator_relationship": "other",
            "additional_details": {
                "measures": _PREFERENCE,
                **(
                    {"simulated": "Debaters or judges of this run are simulated: it says nothing about real models."}
                    if run["is_simulated"]
                    else {}
                ),
            },
        },
        "eval_library": {"name": "debatebench", "version": run["harness_version"] or "unknown"},
        "model_info": _model(debater),
        "evaluation_results": results,
    }


def _benchmark(run: Row) -> str:
    return str(run["benchmark_name"] or "debatebench")


def _model(debater: Row) -> dict[str, Any]:
    """The model as far as it is known: a developer only where the name has one, as OpenRouter's and the Hub's do."""
    name = str(debater["model_name"] or debater["model_id"])
    developer = name.partition("/")[0] if _WITH_DEVELOPER.fullmatch(name) else None
    platform = None if debater["is_simulated"] else debater["provider"]
    return {
        "name": name,
        "id": name,
        **({"developer": developer} if developer else {}),
        **({"inference_platform": platform} if platform else {}),
        "additional_details": {
            "deployment_type": "unknown",
            "model_availability": "unknown",
            "debater": debater["model_id"],
            "is_simulated": "true" if debater["is_simulated"] else "false",
        },
    }


def _ratings(run: Row, debater: Row) -> list[dict[str, Any]]:
    """Bradley–Terry or, of four teams, Plackett–Luce; the win rate, and Elo or the points."""
    counts = {name: str(debater[name]) for name in ("games", "wins", "losses", "ties")}
    unbounded = {"score_type": "continuous", "min_score": "-Infinity", "max_score": "Infinity", "metric_unit": "points"}
    is_two_sided = debater["format"] == "two_sided"
    model, outcomes = RATING_MODELS[debater["format"]], "winners" if is_two_sided else "rankings of four teams"
    key = "bradley_terry" if is_two_sided else "plackett_luce"
    rating = _result(
        key,
        f"{model} rating",
        key,
        f"The strength under which the panels' {outcomes} are most likely. {_PREFERENCE}",
        unbounded,
        debater["rating"],
        counts,
    )
    method = str(debater["interval_method"] or "").replace("_", " over ", 1)
    _add_interval(rating, debater["ci_low"], debater["ci_high"], method, debater)
    win_rate = _result(
        "win_rate",
        "Win rate",
        "win_rate",
        "The share of rated debates that the panel gave to the debater; "
        f"{'a tie is half a win' if is_two_sided else 'a first place that teams share is divided'}. {_PREFERENCE}",
        {"score_type": "continuous", "min_score": 0, "max_score": 1, "metric_unit": "proportion"},
        debater["win_rate"],
        counts,
    )
    _add_interval(win_rate, debater["win_rate_ci_low"], debater["win_rate_ci_high"], "", debater)
    elo = _result(
        "elo",
        "Elo rating",
        "elo",
        f"Elo from the panels' winners, in the order of the debates. {_PREFERENCE}",
        unbounded,
        debater["elo_rating"],
        counts,
    )
    points = _result(
        "mean_points",
        "Points for places",
        "mean_points",
        f"The mean over rated debates of 3 points for the first of four places to 0 for the last. {_PREFERENCE}",
        {"score_type": "continuous", "min_score": 0, "max_score": 3, "metric_unit": "points"},
        debater["mean_points"],
        counts,
    )
    return [result for result in (rating, win_rate, elo, points) if result["score_details"]["score"] is not None]


def _dimension(row: Row) -> dict[str, Any]:
    """The mean score on a dimension; without the ends of its scale, the format cannot say that it is continuous."""
    low, high = row["min_score"], row["max_score"]
    scale = {"metric_unit": "points"}
    if low is not None and high is not None:
        scale |= {"score_type": "continuous", "min_score": low, "max_score": high}
    return _result(
        f"dimension.{row['dimension']}",
        f"Mean score: {row['dimension']}",
        "mean_score",
        f"The mean of the judges' scores of the debater on this dimension. {_PREFERENCE}",
        scale,
        row["mean_score"],
        {"debates": str(row["samples"])},
    )


def _result(
    key: str,
    name: str,
    kind: str,
    description: str,
    scale: Mapping[str, Any],
    score: float | None,
    details: Mapping[str, str],
) -> dict[str, Any]:
    is_usable = score is not None and math.isfinite(score)
    return {
        "evaluation_result_id": key,
        "evaluation_name": name,
        "metric_config": {
            "evaluation_description": description,
            "metric_id": f"debatebench.{key}",
            "metric_name": name,
            "metric_kind": kind,
            "lower_is_better": False,
            **scale,
        },
        "score_details": {"score": score if is_usable else None, "details": dict(details)},
    }


def _add_interval(result: dict[str, Any], low: float | None, high: float | None, method: str, debater: Row) -> None:
    if low is None or high is None:
        return
    interval: dict[str, Any] = {"lower": low, "upper": high, "confidence_level": 0.95}
    if method:
        interval["method"] = method
    result["score_details"]["uncertainty"] = {
        "confidence_interval": interval,
        "num_samples": debater["games"],
    }


def _generation(parameters: str | None) -> dict[str, float]:
    """The settings of the configuration for which the format has a place."""
    found = json.loads(parameters) if parameters else {}
    if not isinstance(found, dict):
        return {}
    return {
        name: found[name]
        for name in _GENERATION
        if isinstance(found.get(name), int | float) and not isinstance(found[name], bool)
    }


def _known(values: Mapping[str, str | None]) -> dict[str, str]:
    return {name: value for name, value in values.items() if value is not None}


def _epoch(time: datetime) -> str:
    return str(math.floor((time - datetime(1970, 1, 1)).total_seconds()))


def _path(run: Row, debater: Row) -> str:
    """Where the format keeps a record: its id is a UUID that follows from the run and the debater."""
    model = _model(debater)
    name = model["name"].partition("/")[2] if "developer" in model else model["name"]
    digest = bytes.fromhex(hash_of("every eval ever", run["run_tag"], debater["model_id"]))[:16]
    folders = (_benchmark(run), model.get("developer", "unknown"), name)
    return "/".join(["data", *map(_folder, folders), f"{uuid.UUID(bytes=digest, version=4)}.json"])


def _folder(name: str) -> str:
    """A name for a folder, whatever characters it has."""
    safe = quote(name, safe="").replace(".", "%2E") if not name.strip(".") else quote(name, safe="")
    return safe if 0 < len(safe) <= _LONGEST_NAME else hash_of(name)[:32]
