"""Every Eval Ever's JSON: valid by its schema, equal to the warehouse, and nothing invented."""

from __future__ import annotations

import json
import re
from contextlib import closing
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from built_warehouse import begin_built
from command_line import debatebench_here
from exported import land_runs
from jsonschema import Draft7Validator
from report_warehouse import HOSTILE, tournament

from debatebench.output.export import export
from debatebench.query.safe_query import open_for_query
from debatebench.shared.workspace import Workspace

NOW = datetime(2026, 2, 1)
EVIL = (f"evil {HOSTILE}", "../../up", "acme/model-1", "..")


@pytest.fixture(scope="module")
def workspace(tmp_path_factory: pytest.TempPathFactory) -> Workspace:
    made = Workspace(begin_built(tmp_path_factory.mktemp("workspace") / "w"))
    silent = (record for record in tournament("silent", ("a", "b")) if type(record).__name__ in ("Run", "Debater"))
    tiny = tournament("tiny", ("alpha", "beta", "gamma"), is_simulated=True)
    land_runs(made, {"tiny": tiny, "evil": tournament("evil", EVIL), "silent": silent})
    return made


@pytest.fixture(scope="module")
def out(workspace: Workspace, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("out") / "eee"
    export(workspace, "every-eval-ever", folder, now=NOW)
    return folder


def records(out: Path) -> list[dict[str, Any]]:
    return [json.loads(path.read_text()) for path in sorted((out / "data").rglob("*.json"))]


def test_every_record_is_valid_by_the_schema(shared: Path, out: Path):
    schema = json.loads((shared / "every_eval_ever" / "eval.schema.json").read_text())
    validator = Draft7Validator(schema)
    found = records(out)
    assert len(found) >= 7
    for record in found:
        assert list(validator.iter_errors(record)) == []
        assert record["schema_version"] == schema["version"]
    broken = {**found[0], "retrieved_timestamp": 1}
    assert list(validator.iter_errors(broken)), "the schema can refuse"


def test_there_is_one_file_for_each_rated_debater_of_a_run(workspace: Workspace, out: Path):
    with closing(open_for_query(workspace.database)) as con:
        rated = con.execute("select run_tag, model_id from marts.leaderboard where rating is not null").fetchall()
    source = [
        (
            record["evaluation_results"][0]["source_data"]["additional_details"]["run_tag"],
            record["model_info"]["additional_details"]["debater"],
        )
        for record in records(out)
    ]
    assert sorted(source) == sorted(rated)
    assert len({record["evaluation_id"] for record in records(out)}) == len(rated)
    uuid4 = r"[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}\.json"
    for path in (out / "data").rglob("*.json"):
        assert len(path.relative_to(out).parts) == 5
        assert re.fullmatch(uuid4, path.name)
    left_out = json.loads((out / "manifest.json").read_text())["left_out"]
    assert [(part["run_tag"], part["count"], part["why"]) for part in left_out] == [
        ("silent", 3, "they have no rated debate")
    ]


def test_the_numbers_are_those_of_the_warehouse(workspace: Workspace, out: Path):
    (alpha,) = [each for each in records(out) if each["model_info"]["additional_details"]["debater"] == "alpha"]
    results = {each["evaluation_result_id"]: each for each in alpha["evaluation_results"]}
    with closing(open_for_query(workspace.database)) as con:
        ((rating, low, high, elo, win_rate, games),) = con.execute(
            "select rating, ci_low, ci_high, elo_rating, win_rate, games from marts.leaderboard "
            "where run_tag = 'tiny' and model_id = 'alpha'"
        ).fetchall()
        scores = dict(
            con.execute(
                "select dimension, mean_score from original.model_dimension_avg "
                "where run_tag = 'tiny' and model_id = 'alpha'"
            ).fetchall()
        )
    assert results["bradley_terry"]["score_details"]["score"] == rating
    interval = results["bradley_terry"]["score_details"]["uncertainty"]["confidence_interval"]
    assert (interval["lower"], interval["upper"], interval["confidence_level"]) == (low, high, 0.95)
    assert results["elo"]["score_details"]["score"] == elo
    assert results["win_rate"]["score_details"]["score"] == win_rate
    assert results["win_rate"]["score_details"]["details"]["games"] == str(games)
    found = {key.removeprefix("dimension."): each for key, each in results.items() if key.startswith("dimension.")}
    assert {key: each["score_details"]["score"] for key, each in found.items()} == scores
    assert found["logic"]["metric_config"]["min_score"] == 1
    assert found["logic"]["metric_config"]["max_score"] == 10


def test_every_record_says_that_it_measures_preference_and_invents_nothing(out: Path):
    for record in records(out):
        assert "what judges prefer" in record["source_metadata"]["additional_details"]["measures"]
        for result in record["evaluation_results"]:
            assert "what judges prefer" in result["metric_config"]["evaluation_description"]
            assert "llm_scoring" not in result["metric_config"], "the warehouse has no single prompt"
            assert "generation_config" not in result
        model = record["model_info"]
        assert "inference_platform" not in model
        assert ("developer" in model) == (model["name"] == "acme/model-1")
        assert model["additional_details"]["model_availability"] == "unknown"
        is_tiny = record["evaluation_id"].startswith("tiny.tiny/")
        assert ("simulated" in record["source_metadata"]["additional_details"]) == is_tiny


def test_names_stay_in_the_folder_and_are_text(out: Path):
    assert {path.name for path in out.iterdir()} == {"data", "manifest.json"}
    assert {part for path in out.rglob("*") for part in path.relative_to(out).parts} & {".", ".."} == set()
    names = {record["model_info"]["name"] for record in records(out)}
    assert f"evil {HOSTILE}" in names
    for path in (out / "data").rglob("*.json"):
        assert path.read_bytes().isascii()


def test_equal_warehouses_give_equal_files(workspace: Workspace, out: Path, tmp_path: Path):
    export(workspace, "every-eval-ever", tmp_path / "again", now=datetime(2027, 1, 1))
    for path in out.rglob("*.json"):
        assert path.read_bytes() == (tmp_path / "again" / path.relative_to(out)).read_bytes()


@pytest.mark.slow
def test_the_name_of_the_format_may_have_underscores(played: Path, tmp_path: Path):
    done = debatebench_here(played, "export", "--format", "every_eval_ever", "--out-dir", str(tmp_path / "out"))
    assert done.code == 0, done.err
    assert done.out.startswith("Exported 1 run as 6 files")
    wrong = debatebench_here(played, "export", "--format", "every-eval", "--out-dir", str(tmp_path / "out"))
    assert wrong.code == 2
    assert "'every-eval' is not one of parquet, jsonl," in wrong.error_line
