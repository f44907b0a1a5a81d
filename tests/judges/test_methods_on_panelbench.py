"""Every judge method on the real debates of PanelBench: simulated judges that read them, and a server that counts."""

from __future__ import annotations

import json
from math import sqrt
from pathlib import Path
from statistics import fmean, stdev
from typing import Any

import duckdb
import pytest
from command_line import debatebench_here
from fake_provider import Behaviour, FakeProvider, Received
from judging import KEY, LLM_METHODS, calls_of, method_answer
from paths import REPOSITORY

pytestmark = pytest.mark.slow

CONFIGS = {"DebateArt": "panelbench.yaml", "BP-Competition": "panelbench_bp.yaml"}
PRICING = "pricing: {prompt: 0.000001, completion: 0.000004}"
JUDGES = f"""
judges:
  - {{id: fair, provider: simulated, model: fair, parameters: {{bias: 0.0, noise: 0.4}}, {PRICING}}}
  - {{id: biased, provider: simulated, model: biased, parameters: {{bias: 1.0, noise: 0.4}}, {PRICING}}}
"""


def rows(root: Path, sql: str) -> list[tuple[Any, ...]]:
    with duckdb.connect(str(root / "warehouse" / "debatebench.duckdb"), read_only=True) as con:
        return con.execute(sql).fetchall()


def ids_ending_in(root: Path, digit: str) -> str:
    """A file with the ids of those debates of two sides."""
    found = rows(root, f"select debate_id from raw.debates where run_tag = 'DebateArt' and debate_id like '%{digit}'")
    (root / "ids.txt").write_text("\n".join(debate_id for (debate_id,) in found))
    return str(root / "ids.txt")


@pytest.fixture(scope="module")
def panelbench(tmp_path_factory: pytest.TempPathFactory, shared: Path) -> Path:
    """A workspace with both collections. Tests add runs of their own."""
    root = tmp_path_factory.mktemp("panelbench")
    (root / "configs").mkdir()
    (root / "configs" / "judges.yaml").write_text(JUDGES)
    for name, config in CONFIGS.items():
        (root / "configs" / config).write_text((REPOSITORY / "configs" / config).read_text())
        folder = shared / "panelbench" / name
        done = debatebench_here(root, "import", "panelbench", str(folder), "--run-tag", name, "--no-build")
        assert done.code == 0, done.err
    return root


@pytest.mark.parametrize("collection", CONFIGS)
@pytest.mark.parametrize("method", LLM_METHODS)
def test_simulated_judges_judge_every_debate_as_the_dry_run_said_and_their_bias_shows(
    panelbench: Path, method: str, collection: str
):
    tag = f"{collection}-{method}"
    config = panelbench / "configs" / CONFIGS[collection]
    judging = ("judge", collection, "--as", tag, "--config-path", str(config), "--judge-method", method, "--no-build")
    planned = debatebench_here(panelbench, *judging, "--dry-run", "--format", "json")
    assert planned.code == 0, planned.err
    done = debatebench_here(panelbench, *judging)
    assert done.code == 0, done.err
    of_run = f"from raw.verdicts where run_tag = '{tag}'"
    assert rows(panelbench, f"select count(*) from raw.debates where run_tag = '{tag}' and status = 'complete'") == [
        (60 if collection == "DebateArt" else 11,)
    ]
    dimensions = 3 if collection == "DebateArt" else 4
    shapes = rows(
        panelbench,
        f"""
        select count(*), count(distinct turns.position) from raw.turns
        where run_tag = '{collection}' group by debate_id
        """,
    )
    expected = sum(calls_of(method, speeches, positions, dimensions) for speeches, positions in shapes)
    for row in json.loads(planned.out):
        asks, prompt, completion, cost = rows(
            panelbench,
            f"select sum(asks), sum(prompt_tokens), sum(completion_tokens), sum(cost) {of_run} "
            f"and judge_id = '{row['id']}'",
        )[0]
        assert row["calls"] == expected
        assert asks == expected
        assert row["prompt_tokens"] == pytest.approx(prompt, rel=0.1)
        assert row["completion_tokens"] == pytest.approx(completion, rel=0.1)
        assert float(row["cost_usd"]) == pytest.approx(float(cost), rel=0.1)
    if collection == "DebateArt":
        # `biased` gives pro one point more than `fair` does, whatever the debate and the method.
        leads = leads_of_bias(panelbench, tag)
        margin = 2 * stdev(leads) / sqrt(len(leads))
        assert margin < 0.3
        assert abs(fmean(leads) - 1.0) < margin


def leads_of_bias(root: Path, tag: str) -> list[float]:
    """How much further pro is ahead in the scores of `biased` than in those of `fair`, debate by debate."""
    found = rows(
        root,
        f"""
        with leads as (
            select debate_id, judge_id, unnest(scores) as score from raw.verdicts where run_tag = '{tag}'
        )
        select
            avg(cast(score.pro - score.con as double)) filter (judge_id = 'biased')
            - avg(cast(score.pro - score.con as double)) filter (judge_id = 'fair')
        from leads group by debate_id order by debate_id
        """,
    )
    return [lead for (lead,) in found]


@pytest.mark.parametrize("method", ["direct", "debatrix"])
def test_a_known_noise_is_the_spread_of_a_judge_over_trials(panelbench: Path, method: str):
    config = panelbench / "configs" / CONFIGS["DebateArt"]
    done = debatebench_here(
        panelbench,
        *("judge", "DebateArt", "--as", f"noise-{method}", "--config-path", str(config), "--judge-method", method),
        *("--judge", "fair", "--repeat", "5", "--debates", ids_ending_in(panelbench, "7"), "--no-build"),
    )
    assert done.code == 0, done.err
    variances = rows(
        panelbench,
        f"""
        with scores as (
            select source_debate_id, unnest(scores) as score from raw.verdicts
            inner join raw.debates using (run_tag, debate_id)
            where run_tag = 'noise-{method}'
        )
        select var_samp(cast(score.pro as double)) from scores
        where score.dimension = 'argument' group by source_debate_id
        """,
    )
    found = [variance for (variance,) in variances]
    # Scores are whole numbers, which adds the variance of rounding.
    expected = 0.4**2 + 1 / 12
    margin = 2 * stdev(found) / sqrt(len(found))
    assert abs(fmean(found) - expected) < margin


def test_input_tokens_over_http_are_those_of_the_estimate(panelbench: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("TINY_KEY", KEY)

    def thorough(received: Received) -> Behaviour:
        is_of_debate = "look back at" in received.json["messages"][0]["content"]
        return method_answer(received, "It holds. " * (120 if is_of_debate else 90))

    with FakeProvider(thorough) as server:
        entries = [
            f"  - {{id: {method}, provider: http, model: {method}, endpoint: '{server.url}', api_key_env: TINY_KEY, "
            f"method: {method}, {PRICING}, parameters: {{structured_output: true}}}}"
            for method in LLM_METHODS
        ]
        judges = panelbench / "http.yaml"
        judges.write_text("judges:\n" + "\n".join(entries) + "\n")
        config = panelbench / "configs" / CONFIGS["DebateArt"]
        judging = ("judge", "DebateArt", "--as", "http", "--config-path", str(config), "--judges-path", str(judges))
        judging += ("--debates", ids_ending_in(panelbench, "4"), "--no-build")
        planned = debatebench_here(panelbench, *judging, "--dry-run", "--format", "json")
        assert planned.code == 0, planned.err
        done = debatebench_here(panelbench, *judging, "--yes")
        assert done.code == 0, done.err
    spent = dict(
        rows(panelbench, "select judge_id, sum(prompt_tokens) from raw.verdicts where run_tag = 'http' group by all")
    )
    estimated = {row["id"]: row["prompt_tokens"] for row in json.loads(planned.out)}
    assert set(estimated) == set(LLM_METHODS)
    for method, tokens in estimated.items():
        assert tokens == pytest.approx(spent[method], rel=0.05), method
    # Iterating costs an analysis for each earlier speech instead of the speech.
    assert spent["debatrix"] < spent["non_iterative"]
