"""The prompts of a checkout of Debatrix, imported as a set: what is sent, in which order, and what happens later."""

from __future__ import annotations

import json
import re
import shutil
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest
import yaml
from command_line import debatebench_here
from debatrix_checkout import BP_DIMENSIONS, DIMENSIONS, checkout
from fake_provider import Behaviour, FakeProvider, Received, answer, status
from judging import KEY, analysis_of, calls_of, method_answer, schema_of, sentences, stored_rows, stored_workspace

from debatebench.config.transcript_layout import read_material

pytestmark = pytest.mark.slow

METHODS = ("whole_debate", "chronological_v2", "dimensional_v2", "non_iterative_v2", "debatrix_v2")
SCORED = [name for name, (weight, _) in DIMENSIONS.items() if weight]
PRESET, TEAMS = Path("preset", "example"), Path("PanelBench", "debatrix_config", "BP-Competition")


@pytest.fixture(autouse=True)
def key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TINY_API_KEY", KEY)


def imported(root: Path, configuration: Path, url: str, *methods: str, **debates: int) -> Path:
    """A workspace with stored debates, the imported set `released`, and a judge at `url` for each method."""
    workspace = stored_workspace(root / "w", url, **debates)
    folder = checkout(root / "checkout") / configuration
    done = debatebench_here(workspace, "prompts", "import", "debatrix", str(folder), "--as", "released")
    assert done.code == 0, done.err
    judges = workspace / "configs" / "released_judges.yaml"
    (found,) = yaml.safe_load(judges.read_text())["judges"]
    http = {"provider": "http", "endpoint": url, "api_key_env": "TINY_API_KEY", "trust_reported_cost": True}
    http |= {"parameters": {**found["parameters"], "structured_output": True}}
    each = [{**found, **http, "id": method, "model": method, "method": method} for method in methods]
    judges.write_text(json.dumps({"judges": each}))
    return workspace


def judged(workspace: Path, tag: str = "judged", *arguments: str, code: int = 0) -> None:
    done = debatebench_here(
        workspace,
        *("judge", "stored", "--as", tag, "--rubric", "released", "--yes", "--no-build", *arguments),
        *("--judges-path", str(workspace / "configs" / "released_judges.yaml")),
    )
    assert done.code == code, done.err


def step_of(received: Received) -> str:
    prompt = prompt_of(received)
    steps = {
        "SPEECH ": "speech",
        "THE END": "debate",
        "SUM UP": "summary",
        "SCORE OF A DEB": "position",
        "WINNER": "winner",
    }
    (step,) = {step for words, step in steps.items() if re.search(rf"^{words}", prompt, re.MULTILINE)} or {"repair"}
    return step


def prompt_of(received: Received) -> str:
    return "\n".join(message["content"] for message in received.json["messages"])


def about(received: Received) -> str | None:
    found = re.search(
        r"^(?:analyze_speech|judge_debate|judge_by_analysis) of (\w+)$", prompt_of(received), re.MULTILINE
    )
    return found and found[1]


def texts(received: Received) -> list[str]:
    return [section.text for section in read_material(received.prompt)]


def said(received: Received) -> str:
    return analysis_of(received)


@pytest.fixture(scope="module", params=[(PRESET, "debateart_0000"), (TEAMS, "bp_000")], ids=["two sides", "four teams"])
def asked(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> tuple[str, dict[str, list[Received]], Path]:
    """The debate, and what each method asked about it."""
    configuration, debate = request.param
    debates = {"two_sided": 1, "teams": 0} if configuration == PRESET else {"two_sided": 0, "teams": 1}
    with FakeProvider(method_answer) as server, pytest.MonkeyPatch.context() as patch:
        patch.setenv("TINY_API_KEY", KEY)
        workspace = imported(tmp_path_factory.mktemp("set"), configuration, server.url, *METHODS, **debates)
        judged(workspace)
    by_method: dict[str, list[Received]] = {method: [] for method in METHODS}
    for received in server.requests:
        by_method[received.json["model"]].append(received)
    return debate, by_method, workspace


@pytest.mark.parametrize("method", METHODS)
def test_the_imported_texts_are_sent_in_the_order_of_the_algorithm_with_its_parts(
    asked: tuple[str, dict[str, list[Received]], Path], method: str
):
    debate, by_method, _ = asked
    requests, is_of_teams = by_method[method], debate.startswith("bp")
    scored = [name for name, (weight, _) in (BP_DIMENSIONS if is_of_teams else DIMENSIONS).items() if weight]
    positions = ["OG", "OO", "CG", "CO"] if is_of_teams else ["PRO", "CON"]
    speeches = [" ".join(sentences(debate, number)) for number in range(8 if is_of_teams else 5)]
    by_dimension = method not in ("whole_debate", "chronological_v2")
    assert len(requests) == calls_of(method, len(speeches), len(positions), len(scored))
    judgments = {}
    for dimension in scored if by_dimension else ["general"]:
        analysed = [each for each in requests if step_of(each) == "speech" and about(each) == dimension]
        analysed.sort(key=lambda each: len(texts(each)))
        analyses = [said(each) for each in analysed]
        assert len(analysed) == (0 if method in ("whole_debate", "dimensional_v2") else len(speeches))
        for number, each in enumerate(analysed):
            earlier = speeches if method == "non_iterative_v2" else analyses
            assert texts(each) == [*earlier[:number], speeches[number]]
            prompt = prompt_of(each)
            # The sentence on earlier speeches and what to look for in them come with the second speech.
            has = "have" if method == "non_iterative_v2" else "analysed"
            before = f" You {has} the others." if number else ""
            assert re.search(rf"^SPEECH {number + 1} BY \w+\.{before}$", prompt, re.MULTILINE)
            assert (f"use_previous of {dimension}" in prompt) == (number > 0)
            assert f"The motion of {debate} is what {positions[0]}" in prompt
            assert "# Slide" not in prompt, "there is none"
        (judge,) = [each for each in requests if step_of(each) == "debate" and about(each) == dimension]
        assert texts(judge) == (analyses or speeches)
        prompt = prompt_of(judge)
        assert ("THE END, and you analysed all of it." in prompt) == bool(analyses)
        assert (f"judge_by_analysis of {dimension}" in prompt) == bool(analyses)
        assert (f"judge_debate of {dimension}" in prompt) == (not analyses)
        is_tie = (BP_DIMENSIONS if is_of_teams else DIMENSIONS)[dimension][1]
        assert f"Of {'/'.join(positions)}, a tie is {'possible' if is_tie else 'out of the question'}." in prompt
        judgments[dimension] = said(judge)
    if by_dimension:
        (summary,) = [each for each in requests if step_of(each) == "summary"]
        assert texts(summary) == list(judgments.values())
        weights = BP_DIMENSIONS if is_of_teams else DIMENSIONS
        assert all(f"- {name}, weight {weights[name][0]}" in prompt_of(summary) for name in scored)
        judgments["summary"] = said(summary)
    extracted = Counter((texts(each)[0], step_of(each)) for each in requests if schema_of(each))
    assert extracted == {
        (text, step): len(positions) if step == "position" else 1
        for text in judgments.values()
        for step in ("position", "winner")
    }
    for each in requests:
        body = each.json
        assert (body["seed"], body["temperature"]) == (19260817, 0.0)
        assert "repairs" not in body
        has_system = step_of(each) in ("speech", "debate", "summary")
        assert [message["role"] for message in body["messages"]] == ["system", "user"][not has_system :]
        assert "{{" not in prompt_of(each).replace('{"', "")


def test_every_verdict_of_an_imported_set_is_valid(asked: tuple[str, dict[str, list[Received]], Path]):
    _, _, workspace = asked
    found = stored_rows(workspace, "select judge_id, is_valid, declared_winner is not null from raw.verdicts")
    assert sorted(found) == sorted((method, True, True) for method in METHODS)


def broken(times: int) -> Callable[[Received], Behaviour]:
    """A server whose first answers about the winner of the whole debate are useless, so many times."""
    left = [times]

    def reply(received: Received) -> Behaviour:
        if step_of(received) in ("winner", "repair") and "winner" in schema_of(received)["properties"] and left[0]:
            left[0] -= 1
            return answer(f"I would say PRO, {left[0]}.")
        return method_answer(received)

    return reply


@pytest.mark.parametrize(("failures", "is_valid"), [(3, True), (4, False)])
def test_an_answer_that_is_no_object_is_repaired_three_times(tmp_path: Path, failures: int, is_valid: bool):
    with FakeProvider(broken(failures)) as server:
        workspace = imported(tmp_path, PRESET, server.url, "whole_debate", two_sided=1, teams=0)
        judged(workspace, code=0 if is_valid else 5)
    repairs = [each for each in server.requests if step_of(each) == "repair"]
    assert len(repairs) == 3
    for number, each in enumerate(repairs):
        prompt = prompt_of(each)
        assert prompt.startswith("REPAIR what follows.\nAS THIS SCHEMA SAYS")
        assert texts(each) == [f"I would say PRO, {failures - 1 - number}."]
        assert "It failed by the answer holds no JSON object." in prompt
        assert "point 0 about rivers" not in prompt
    assert stored_rows(workspace, "select is_valid, asks from raw.verdicts") == [(is_valid, 4 + 3)]


def test_a_run_goes_on_with_the_texts_that_it_began_with_and_comparisons_see_the_set(tmp_path: Path):
    stops = {"after": 7}

    def until(received: Received) -> Behaviour:
        if stops["after"] <= 0:
            return status(401)
        stops["after"] -= 1
        return method_answer(received)

    with FakeProvider(until) as server:
        workspace = imported(tmp_path, PRESET, server.url, "debatrix_v2", two_sided=1, teams=0)
        words = (
            "judge",
            "stored",
            "--rubric",
            "released",
            "--judges-path",
            str(workspace / "configs/released_judges.yaml"),
        )
        stopped = debatebench_here(workspace, *words, "--as", "judged", "--yes", "--no-build")
        assert stopped.code != 0
        shutil.rmtree(tmp_path / "checkout")
        shutil.rmtree(workspace / "configs" / "prompts")
        (workspace / "configs" / "rubrics" / "released.yaml").unlink()
        stops["after"] = 10_000
        bought = sum(step_of(each) == "speech" for each in server.requests)
        done = debatebench_here(workspace, "judge", "stored", "--as", "judged", "--yes", "--no-build")
        assert done.code == 0, done.err
        later = server.requests[bought:]
        assert {step_of(each) for each in later} == {"speech", "debate", "summary", "position", "winner"}
        assert any("use_previous of source" in prompt_of(each) for each in later)
        # The same judge with the prompts that come with debatebench.
        judges = workspace / "configs" / "released_judges.yaml"
        judges.write_text(judges.read_text().replace('"prompt_style": "released"', '"prompt_style": "default"'))
        ours = debatebench_here(workspace, "judge", "stored", "--as", "ours", "--yes", "--judges-path", str(judges))
        assert ours.code == 0, ours.err
    (style, hashes) = stored_rows(
        workspace,
        "select prompt_style, prompt_hashes from raw.judges inner join raw.runs using (run_tag) "
        "where run_tag = 'judged'",
    )[0]
    assert style == "released"
    assert '"judge/debatrix_v2/speech_released"' in str(hashes)
    compared = json.loads(debatebench_here(workspace, "compare", "judged", "ours", "--format", "json").out)
    assert {"judge_prompts", "dimensions"} <= set(compared["comparability"]["differing_items"])
    (prompts,) = [each for each in compared["comparability"]["items"] if each["item"] == "judge_prompts"]
    assert "debatrix_v2" in prompts["differing_parts"], "the judge of that name has another style"


def test_three_repeated_judgments_of_a_debate_are_trials(tmp_path: Path):
    with FakeProvider(method_answer) as server:
        workspace = imported(tmp_path, PRESET, server.url, "whole_debate", two_sided=1, teams=0)
        judged(workspace, "judged", "--repeat", "3")
    assert len(server.requests) == 3 * calls_of("whole_debate", 5, 2)
    assert stored_rows(
        workspace, "select count(*), count(distinct source_debate_id) from raw.debates where run_tag = 'judged'"
    ) == [(3, 1)]
