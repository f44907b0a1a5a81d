"""Every judge method on the real debates of PanelBench: simulated judges that read them, and a server that counts."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Sequence
from math import sqrt
from pathlib import Path
from statistics import fmean, stdev

import pytest
from command_line import debatebench_here
from fake_provider import Behaviour, FakeProvider, Received
from judging import KEY, calls_of, method_answer, stored_rows
from paths import REPOSITORY

from debatebench.judges import METHODS
from debatebench.stats.distributions import t_quantile

pytestmark = pytest.mark.slow

SIMULATED = ("direct", "chronological_v1", "dimensional_v1", "non_iterative_v1", "debatrix_v1", "debatrix_v2")
CONFIGS = {"DebateArt": "panelbench.yaml", "BP-Competition": "panelbench_bp.yaml"}
PRICING = "pricing: {prompt: 0.000001, completion: 0.000004}"
JUDGES = f"""
judges:
  - {{id: fair, provider: simulated, model: fair, parameters: {{bias: 0.0, noise: 0.4}}, {PRICING}}}
  - {{id: biased, provider: simulated, model: biased, parameters: {{bias: 1.0, noise: 0.4}}, {PRICING}}}
"""


SCORES = """
    with noted as (
        select run_tag, debate_id, judge_id, dimension, position, score from raw.judge_notes
        where step = 'score' and dimension is not null
    ),

    whole as (
        select run_tag, debate_id, judge_id, unnest(scores) as each from raw.verdicts
        where (run_tag, debate_id, judge_id) not in (select (run_tag, debate_id, judge_id) from noted)
    ),

    scored as (
        from noted
        union all
        select run_tag, debate_id, judge_id, each.dimension, 'pro', each.pro from whole
        union all
        select run_tag, debate_id, judge_id, each.dimension, 'con', each.con from whole
    )

    select
        debates.source_debate_id, scored.debate_id, scored.judge_id, scored.dimension, scored.position, people.side,
        cast(scored.score as double) as score
    from scored
    inner join raw.debates as debates using (run_tag, debate_id)
    inner join raw.participants as people using (run_tag, debate_id, position)
"""
"""Every score that a judge gave to a position on a dimension, in notes or at once."""


def ids_ending_in(root: Path, collection: str, digit: str) -> str:
    """A file with the ids of those debates of two sides, or of all debates of four teams."""
    digit = digit if collection == "DebateArt" else ""
    found = stored_rows(
        root, f"select debate_id from raw.debates where run_tag = '{collection}' and debate_id like '%{digit}'"
    )
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


@pytest.mark.slow_inputs
@pytest.mark.parametrize("collection", CONFIGS)
@pytest.mark.parametrize("method", SIMULATED)
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
    assert stored_rows(
        panelbench, f"select count(*) from raw.debates where run_tag = '{tag}' and status = 'complete'"
    ) == [(60 if collection == "DebateArt" else 11,)]
    dimensions = 3 if collection == "DebateArt" else 4
    shapes = stored_rows(
        panelbench,
        f"""
        select count(*), count(distinct turns.position) from raw.turns
        where run_tag = '{collection}' group by debate_id
        """,
    )
    expected = sum(calls_of(method, speeches, positions, dimensions) for speeches, positions in shapes)
    for row in json.loads(planned.out):
        asks, prompt, completion, cost = stored_rows(
            panelbench,
            f"select sum(asks), sum(prompt_tokens), sum(completion_tokens), sum(cost) {of_run} "
            f"and judge_id = '{row['id']}'",
        )[0]
        assert row["calls"] == expected
        assert asks == expected
        assert row["prompt_tokens"] == pytest.approx(prompt, rel=0.1)
        assert row["completion_tokens"] == pytest.approx(completion, rel=0.1)
        assert float(row["cost_usd"]) == pytest.approx(float(cost), rel=0.1)
    # `biased` gives pro one point more than `fair` does, whatever the debate and the method.
    leads = leads_of_bias(panelbench, tag)
    assert margin_of(leads) < 0.5
    assert abs(fmean(leads) - 1.0) < margin_of(leads, OF_MANY)


@pytest.mark.parametrize("collection", CONFIGS)
def test_the_dry_run_of_each_method_of_the_paper_is_within_ten_percent(panelbench: Path, collection: str):
    tag, methods = f"{collection}-paper", ("whole_debate", "chronological", "dimensional", "non_iterative", "debatrix")
    judges = panelbench / "paper.yaml"
    judges.write_text(
        "\n".join(["judges:", *(f"  - {{id: {m}, provider: simulated, model: {m}, method: {m}}}" for m in methods)])
    )
    judging = (
        *("judge", collection, "--as", tag, "--config-path", str(panelbench / "configs" / CONFIGS[collection])),
        *("--judges-path", str(judges), "--debates", ids_ending_in(panelbench, collection, "7"), "--no-build"),
    )
    planned = debatebench_here(panelbench, *judging, "--dry-run", "--format", "json")
    assert planned.code == 0, planned.err
    assert debatebench_here(panelbench, *judging).code == 0
    for row in json.loads(planned.out):
        asks, prompt, completion = stored_rows(
            panelbench,
            "select sum(asks), sum(prompt_tokens), sum(completion_tokens) from raw.verdicts "
            f"where run_tag = '{tag}' and judge_id = '{row['id']}'",
        )[0]
        assert row["calls"] == asks, row["id"]
        assert row["prompt_tokens"] == pytest.approx(prompt, rel=0.1), row["id"]
        assert row["completion_tokens"] == pytest.approx(completion, rel=0.1), row["id"]


OF_MANY = 0.999
"""The level of an interval that is compared with a known value in dozens of runs, of which one of 95 % misses some."""


def margin_of(values: Sequence[float], level: float = 0.95) -> float:
    """Half the width of an interval of the mean."""
    return t_quantile(level, len(values) - 1) * stdev(values) / sqrt(len(values))


def leads_of_bias(root: Path, tag: str) -> list[float]:
    """How much further pro is ahead in the scores of `biased` than in those of `fair`, debate by debate.

    Of four teams, those of a side together.
    """
    found = stored_rows(
        root,
        f"""
        with scores as ({SCORES} where scored.run_tag = '{tag}')

        select
            avg(case when side = 'pro' then score else -score end) filter (judge_id = 'biased')
            - avg(case when side = 'pro' then score else -score end) filter (judge_id = 'fair')
        from scores group by debate_id order by debate_id
        """,
    )
    return [2 * lead for (lead,) in found]


@pytest.mark.slow_inputs
@pytest.mark.parametrize("collection", CONFIGS)
@pytest.mark.parametrize("method", SIMULATED)
def test_a_known_noise_is_the_spread_of_a_judge_over_trials(panelbench: Path, method: str, collection: str):
    tag, noise = f"noise-{collection}-{method}", 4.0
    judges, config = panelbench / "noisy.yaml", panelbench / "configs" / f"fine_{CONFIGS[collection]}"
    judges.write_text(f"judges: [{{id: noisy, provider: simulated, model: noisy, parameters: {{noise: {noise}}}}}]\n")
    # With two decimals, so that the spread of scores is hardly that of rounding.
    coarse = (panelbench / "configs" / CONFIGS[collection]).read_text()
    config.write_text(coarse.replace("scale: {min: 1, max: 10}", "scale: {min: 0, max: 99.5}"))
    done = debatebench_here(
        panelbench,
        *("judge", collection, "--as", tag, "--config-path", str(config), "--judges-path", str(judges)),
        *("--judge-method", method, "--repeat", "5", "--debates", ids_ending_in(panelbench, collection, "7")),
        "--no-build",
    )
    assert done.code == 0, done.err
    variances = stored_rows(
        panelbench,
        f"""
        with scores as ({SCORES} where scored.run_tag = '{tag}')

        select avg(variance) from (
            select source_debate_id, var_samp(score) as variance from scores
            group by source_debate_id, dimension, position
        ) group by source_debate_id order by source_debate_id
        """,
    )
    found = [variance for (variance,) in variances]
    # The scores of one debate have much in common, so debates are what is independent.
    assert margin_of(found) < 0.5 * noise**2
    assert abs(fmean(found) - noise**2) < margin_of(found, OF_MANY)


SPEECH_NOTES, DEBATE_NOTES = "It holds. " * 90, "It holds. " * 120
"""What the server's judge writes about a speech, and about a debate."""
FREE_NOTES = "It holds. " * 128
"""What it writes where no length is asked for."""


def thorough(received: Received) -> Behaviour:
    if "Now write your judgment" in received.prompt or "Now analyse speech" in received.prompt:
        return method_answer(received, FREE_NOTES)
    is_of_debate = "look back at" in received.json["messages"][0]["content"]
    return method_answer(received, DEBATE_NOTES if is_of_debate else SPEECH_NOTES)


def material_of(received: Received) -> int:
    """The characters between the delimiters: all of a prompt that is neither instructions nor the topic."""
    inside = re.search(r"^<<<([0-9a-f]{32}) [^\n]*\n(.*)\n<<<\1 End", received.prompt, re.MULTILINE | re.DOTALL)
    assert inside is not None
    return len(inside[2])


def formula(method: str, speeches: Sequence[int], positions: int, dimensions: int) -> int:
    """The characters that a method reads of a debate with speeches of these lengths.

    That is Nx for `direct`, and for an iterative method y·N(N + 1)/2 more, with N speeches of x characters and notes
    of y (Debatrix, appendix A); where dimensions are judged by themselves, all of it for each of them. Notes of z
    characters on the debate are read for each decision, and once more for the summary.
    """
    count, said, y, z = len(speeches), sum(speeches), len(SPEECH_NOTES.strip()), len(DEBATE_NOTES.strip())
    if method.endswith("_v2") or method == "whole_debate":
        y = z = len(FREE_NOTES.strip())
    iterated = said + y * count * (count + 1) // 2
    again = sum(length * (count - n) for n, length in enumerate(speeches)) + y * count
    extracted, decided = z * (positions + 1), z * (positions + 1) + z
    return {
        "whole_debate": said + extracted,
        "chronological_v2": iterated + extracted,
        "dimensional_v2": dimensions * (said + decided) + extracted,
        "non_iterative_v2": dimensions * (again + decided) + extracted,
        "debatrix_v2": dimensions * (iterated + decided) + extracted,
        "direct": said,
        "chronological_v1": iterated + z,
        "dimensional_v1": dimensions * said,
        "non_iterative_v1": dimensions * (again + decided),
        "debatrix_v1": dimensions * (iterated + decided),
    }[method]


@pytest.mark.parametrize("collection", CONFIGS)
def test_input_tokens_over_http_are_those_of_the_formula_and_of_the_estimate(
    panelbench: Path, collection: str, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("TINY_API_KEY", KEY)
    tag = f"http-{collection}"
    with FakeProvider(thorough) as server:
        entries = [
            f"  - {{id: {method}, provider: http, model: {method}, endpoint: '{server.url}', "
            f"api_key_env: TINY_API_KEY, method: {method}, {PRICING}, parameters: {{structured_output: true}}}}"
            for method in METHODS
        ]
        judges = panelbench / "http.yaml"
        judges.write_text("judges:\n" + "\n".join(entries) + "\n")
        config = panelbench / "configs" / CONFIGS[collection]
        judging = ("judge", collection, "--as", tag, "--config-path", str(config), "--judges-path", str(judges))
        planned = debatebench_here(panelbench, *judging, "--no-build", "--dry-run", "--format", "json")
        assert planned.code == 0, planned.err
        done = debatebench_here(panelbench, *judging, "--no-build", "--yes")
        assert done.code == 0, done.err
    spent = dict(
        stored_rows(
            panelbench, f"select judge_id, sum(prompt_tokens) from raw.verdicts where run_tag = '{tag}' group by all"
        )
    )
    shown: Counter[str] = Counter()
    for received in server.requests:
        shown[received.json["model"]] += material_of(received)
    shapes = stored_rows(
        panelbench,
        f"""
        select list(length(content) order by turn_index), count(distinct position) from raw.turns
        where run_tag = '{collection}' group by debate_id
        """,
    )
    estimated = {row["id"]: row["prompt_tokens"] for row in json.loads(planned.out)}
    assert set(estimated) == set(METHODS)
    dimensions = 3 if collection == "DebateArt" else 4
    for method, tokens in estimated.items():
        assert tokens == pytest.approx(spent[method], rel=0.05), method
        expected = sum(formula(method, lengths, positions, dimensions) for lengths, positions in shapes)
        assert shown[method] == pytest.approx(expected, rel=0.05), method
    # Iterating costs an analysis for each earlier speech instead of the speech.
    assert spent["debatrix_v1"] < spent["non_iterative_v1"]
