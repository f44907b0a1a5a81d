"""Runs with injected weaknesses: who is told what, over real HTTP, and what lands as the truth."""

from __future__ import annotations

import json
import re
import shutil
from collections import Counter
from datetime import datetime
from pathlib import Path
from typing import Any

import duckdb
import pytest
from command_line import Done, debatebench, debatebench_here
from fake_provider import Behaviour, FakeProvider, Received, answer, status
from oracles import wilson_interval
from tournament import good_answers, is_judge, play, write_workspace

from debatebench.config.load import load_debaters
from debatebench.config.parts import load_format, load_rubric, load_weaknesses
from debatebench.config.prompt_files import load_prompts
from debatebench.config.types import Config, MemberConfig, TopicConfig
from debatebench.journal.reading import read_journal
from debatebench.plan.frozen_plan import read_begun_plan
from debatebench.plan.plan import Plan, PlanOptions
from debatebench.plan.schedule import make_plan
from debatebench.play.before_run import RunSettings
from debatebench.play.runner import play_run
from debatebench.shared.workspace import Workspace, packaged

pytestmark = pytest.mark.slow

TAXONOMY = {weakness.id: weakness for weakness in load_weaknesses(packaged("configs") / "weaknesses.yaml").weaknesses}
RUBRIC = load_rubric(packaged("configs") / "rubrics" / "debateflow.yaml")
FLAWED = ("--debate-format", "karl_popper", "--weaknesses", "configs/weaknesses.yaml")
SETUP = "a study of how debates are judged"


def flow_answers(received: Received) -> Behaviour:
    """A judge's answer has the dimensions of the rubric."""
    if not is_judge(received):
        return good_answers(received)
    scores = {side: dict.fromkeys(RUBRIC.dimensions, 1 + received.number % 3) for side in ("pro", "con")}
    return answer(json.dumps({"scores": scores, "winner": "tie"}), usage={"cost": 0.001})


def rows(root: Path, sql: str) -> list[tuple[Any, ...]]:
    with duckdb.connect(str(root / "warehouse" / "debatebench.duckdb"), read_only=True) as con:
        return con.execute(sql).fetchall()


def text_of(received: Received) -> str:
    """All that was sent, with line ends and blanks as single blanks."""
    return " ".join(received.body.decode().replace("\\n", " ").split())


def telling_words() -> list[str]:
    """Every id, and every sentence of an instruction and of the prompt around it."""
    prompt = (packaged("configs") / "prompts" / "debater_weakness.md").read_text(encoding="utf-8")
    texts = [*(weakness.instruction for weakness in TAXONOMY.values()), prompt.replace("{{ instruction }}", "")]
    sentences = [s.strip() for text in texts for s in " ".join(text.split()).replace(":", ".").split(".")]
    return [*TAXONOMY, *(sentence for sentence in sentences if sentence)]


@pytest.fixture(scope="module")
def flow(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[Received]]:
    """A finished run of 12 debates over HTTP, and every request of it. Tests only read it."""
    with FakeProvider(flow_answers) as server:
        root = write_workspace(tmp_path_factory.mktemp("flow"), server)
        done = play(root, *FLAWED, "--rubric", "debateflow", "--control-ratio", "0.25", tag="flow")
        assert done.code == 0, done.err
        return root, list(server.requests)


def test_no_judge_and_no_other_debater_is_told_of_a_weakness(flow: tuple[Path, list[Received]]):
    root, requests = flow
    told = {name: weakness.instruction for name, weakness in TAXONOMY.items()}
    carried: Counter[tuple[str, str]] = Counter()
    for received in requests:
        text, model = text_of(received), received.json["model"]
        assert not any(name in text for name in TAXONOMY), "an id is for the warehouse only"
        assert "debatebench" not in received.json
        if SETUP in text:
            assert not is_judge(received)
            (name,) = [name for name, instruction in told.items() if instruction in text]
            assert told[name] in " ".join(received.json["messages"][0]["content"].split())
            assert not any(word in " ".join(received.prompt.split()) for word in telling_words())
            carried[model, name] += 1
        else:
            assert [word for word in telling_words() if word in text] == []
    plan = read_begun_plan(root / "warehouse" / "journal" / "flow.jsonl")
    assert plan is not None
    expected = Counter(
        (debate.speakers[turn.role], debate.weakness_type)
        for debate in plan.debates
        for number, turn in enumerate(plan.config.rounds)
        if plan.weakness_in(debate, number)
    )
    assert carried == expected
    assert sum(map(is_judge, requests)) == 24


def test_the_judges_see_the_anchors(flow: tuple[Path, list[Received]]):
    (text, *_) = [text_of(received) for received in flow[1] if is_judge(received)]
    for dimension in RUBRIC.dimensions.values():
        for score, meaning in dimension.anchors.items():
            assert f" {score} = {meaning}" in text


def test_the_truth_lands_with_the_plan_and_with_the_debates(flow: tuple[Path, list[Received]]):
    root, _ = flow
    truths = """
        select s.debate_id, s.weakness_type, s.weakness_side, w.weakness_type, w.side, w.dimension, d.is_control
        from raw.schedule as s join raw.debates as d using (run_tag, debate_id)
        left join raw.weaknesses as w using (run_tag, debate_id)
    """
    found = rows(root, truths)
    assert len(found) == 12
    for _, planned, planned_side, injected, side, dimension, is_control in found:
        assert (planned, planned_side) == (injected, side)
        assert is_control == (planned is None)
        assert dimension == (TAXONOMY[planned].dimension if planned else None)
    assert sum(row[-1] for row in found) == 3
    assert rows(root, "select rubric_version from raw.runs") == [("debateflow-2",)]
    ((anchors,),) = rows(root, "select anchors from raw.dimensions where dimension = 'clash_engagement'")
    assert json.loads(anchors) == RUBRIC.dimensions["clash_engagement"].anchors
    ((asked,),) = rows(root, "select by_category from raw.dimensions where dimension = 'burden_fulfillment'")
    assert json.loads(asked) == RUBRIC.dimensions["burden_fulfillment"].columns()["by_category"]
    assert rows(root, "select distinct turn_index, stage from raw.turns order by all") == [
        (0, "opening"),
        (1, "response"),
        (2, "rebuttal"),
        (3, "closing"),
    ]


def test_the_settings_of_the_run_say_how_weaknesses_were_injected(flow: tuple[Path, list[Received]]):
    found = dict(rows(flow[0], "select part, value from raw.run_settings where item = 'weaknesses'"))
    assert found["injected"] == ", ".join(sorted(TAXONOMY))
    assert found["taxonomy"] == "debateflow"
    assert found["controls"] == "0.25"
    assert found["argument_dropping"].startswith("after_opponent, clash_engagement, ")
    assert len(found["prompt"]) == 12
    assert len(found) == 9


def test_a_transcript_for_a_person_does_not_name_the_weakness(flow: tuple[Path, list[Received]]):
    root, _ = flow
    for (debate_id,) in rows(root, "select debate_id from raw.weaknesses order by all limit 3"):
        for form in ("table", "json"):
            done = debatebench_here(root, "inspect-debate", debate_id, "--format", form)
            assert done.code == 0, done.err
            assert not any(word in " ".join(done.out.split()) for word in telling_words())


def test_a_run_goes_on_with_its_weaknesses_and_without_its_options(tmp_path: Path):
    def failing(received: Received) -> Behaviour:
        return status(400) if received.number % 5 == 0 else flow_answers(received)

    with FakeProvider(failing) as server:
        root = write_workspace(tmp_path, server)
        own = root / "configs" / "weaknesses.yaml"
        own.write_text((packaged("configs") / "weaknesses.yaml").read_text(encoding="utf-8"), encoding="utf-8")
        options = ("--debate-format", "karl_popper", "--weaknesses", str(own), "--rubric", "debateflow")
        done = play(root, *options, "--no-build", "--max-failures-in-a-row", "0")
        assert done.code == 5, done.err
    with FakeProvider(flow_answers, port=server.port):
        journal = root / "warehouse" / "journal" / "tiny.jsonl"
        before = read_begun_plan(journal)
        done = debatebench(root, "retry", "tiny", "--no-build", environ={"TINY_API_KEY": "k"})
        assert done.code == 0, done.err
    assert read_begun_plan(journal) == before
    assert rows(root, "select status, count(*) from raw.debates group by all") == [("complete", 12)]
    planned = "select debate_id, weakness_type, weakness_side from raw.schedule where weakness_type is not null"
    injected = "select debate_id, weakness_type, side from raw.weaknesses"
    assert sorted(rows(root, planned)) == sorted(rows(root, injected))
    own.write_text(own.read_text(encoding="utf-8").replace("Drift towards", "Drift slowly towards"), encoding="utf-8")
    refused = play(root, "--resume", "--no-build")
    assert refused.code == 2
    assert "weaknesses (side_concession changed: instruction)" in refused.error_line


def test_a_weakness_that_has_not_begun_when_a_debate_breaks_off_was_not_injected(tmp_path: Path):
    def silent_after_the_opening(received: Received) -> Behaviour:
        return status(400) if "Stage: opening" not in received.prompt else flow_answers(received)

    with FakeProvider(silent_after_the_opening) as server:
        root = write_workspace(tmp_path, server)
        play(root, *FLAWED, "--control-ratio", "0", "--no-build", "--max-failures-in-a-row", "0")
    injected = rows(root, "select weakness_type, side from raw.weaknesses")
    assert injected
    assert {side for _, side in injected} == {"pro"}
    assert "argument_dropping" not in {name for name, _ in injected}
    assert rows(root, "select count(*) from raw.debates where is_control = false") == [(12,)]


RATES: dict[str, Any] = {
    "keen": 0.9,
    "blind": 0.0,
    "uneven": {
        "weak_evidence": 0.7,
        "argument_dropping": 0.2,
        "logical_gaps": 0.5,
        "burden_of_proof": 0.4,
        "side_concession": 1.0,
    },
}


def simulated_plan(topics: int) -> Plan:
    """A plan of 20 debates for each topic, with judges of known rates."""
    debaters = load_debaters(packaged("configs") / "models.yaml")[:5]
    config = Config(
        rounds=load_format(packaged("configs") / "formats" / "karl_popper.yaml"),
        dimensions=RUBRIC.dimensions,
        judges_per_debate=len(RATES),
        weaknesses=tuple(TAXONOMY.values()),
    )
    pool = tuple(
        MemberConfig(id=name, provider="simulated", model=name, parameters={"detects": rate, "noise": 0})
        for name, rate in RATES.items()
    )
    motions = tuple(TopicConfig(id=f"t{n:02}", motion=f"Motion number {n} should be carried.") for n in range(topics))
    prompts = load_prompts(Workspace(Path("/nonexistent")), config, pool)
    return make_plan("flow", config, motions, debaters, pool, prompts, PlanOptions(control_ratio=0.2), None)


def test_600_simulated_debates_are_detected_at_the_rates_of_their_judges(tmp_path: Path):
    plan = simulated_plan(30)
    assert len(plan.debates) == 600
    journal = tmp_path / "flow.jsonl"
    play_run(plan, journal, RunSettings(), environ={}, now=lambda: datetime(2026, 1, 1))
    seen: Counter[tuple[str, str]] = Counter()
    debates: Counter[str] = Counter()
    false_alarms = 0
    for event in read_journal(journal):
        if event.data["type"] != "outcome" or event.data.get("of") != "debate":
            continue
        records = event.data["records"]
        truth = next(iter(records.get("weaknesses", ())), None)
        debates[truth["weakness_type"] if truth else "control"] += 1
        for cast in records["verdicts"]:
            scores = {score["dimension"]: score for score in cast["scores"]}
            if truth is None:
                false_alarms += any(score["pro"] != score["con"] for score in scores.values())
                continue
            score, side = scores[truth["dimension"]], truth["side"]
            seen[cast["judge_id"], truth["weakness_type"]] += score[side] < score["con" if side == "pro" else "pro"]
    assert debates == {"control": 120, **dict.fromkeys(TAXONOMY, 96)}
    assert false_alarms == 0
    # All fifteen at once are inside intervals of 95 % together; over all weaknesses, each judge is inside its own.
    together = 1 - 0.05 / (len(RATES) * len(TAXONOMY))
    for judge, rates in RATES.items():
        known = rates if isinstance(rates, dict) else dict.fromkeys(TAXONOMY, rates)
        for weakness in TAXONOMY:
            low, high = wilson_interval(seen[judge, weakness], debates[weakness], together)
            assert low <= known[weakness] <= high, (judge, weakness)
        low, high = wilson_interval(sum(seen[judge, weakness] for weakness in TAXONOMY), 480)
        assert low <= sum(known.values()) / 5 <= high, judge


# --- the command line -------------------------------------------------------------------------------------------------


def dry_run(root: Path, *arguments: str) -> Done:
    return debatebench(root, "run", "--run-tag", "flow", "--dry-run", "--no-input", *arguments)


SMALL = ("--topics-path", "configs/topics_debateflow.json", "--sample-topics", "2", "--debater", "sim-atlas")
PAIR = (*SMALL, "--debater", "sim-breeze", "--rubric", "debateflow")


def test_a_dry_run_counts_the_weaknesses_and_a_run_without_them_says_nothing(tmp_path: Path):
    done = dry_run(tmp_path, *PAIR, *FLAWED, "--debates-per-pair", "3", "--control-ratio", "0.1666")
    assert done.code == 0, done.err
    assert "Weaknesses of the taxonomy debateflow: 10 debates, and 2 controls without one." in done.err
    for name in TAXONOMY:
        assert f"  {name}: 1 on pro, 1 on con." in done.err
    assert "no judge of this run scores" not in done.err
    assert "Weaknesses" not in dry_run(tmp_path, *PAIR).err


def test_one_weakness_one_category_and_one_motion_are_chosen(tmp_path: Path):
    chosen = ("--weakness", "side_concession", "--weakness", "weak_evidence", "--control-ratio", "0")
    motion = ("--resolution", "  This house would ban cars\n in cities ", "--category", "policy")
    debaters = ("--debater", "sim-atlas", "--debater", "sim-breeze")
    shape = ("--debate-format", "karl_popper", "--rubric", "debateflow", "--no-input", "--no-build")
    done = debatebench(tmp_path, "run", "--run-tag", "flow", *debaters, *motion, *chosen, *shape)
    assert done.code == 0, done.err
    ((topic_id, text, category),) = rows(tmp_path, "select topic_id, motion, category from raw.topics")
    assert (text, category) == ("This house would ban cars in cities", "policy")
    assert re.fullmatch(r"this-house-would-ban-cars-in-cities-[0-9a-f]{8}", topic_id)
    injected = rows(tmp_path, "select weakness_type, taxonomy from raw.weaknesses order by all")
    assert injected == [("side_concession", "debateflow"), ("weak_evidence", "debateflow")]
    # The run goes on with them, and without the options that chose them.
    again = debatebench(tmp_path, "run", "--run-tag", "flow", "--no-build", "--dry-run")
    assert again.code == 0, again.err
    file = ("--topics-path", "configs/topics_debateflow.json", "--category", "values")
    planned = dry_run(tmp_path / "other", *debaters, *file)
    assert planned.code == 0, planned.err
    (path,) = tmp_path.glob("other/warehouse/plans/*.json")
    assert {topic["category"] for topic in json.loads(path.read_text(encoding="utf-8"))["topics"]} == {"values"}


def test_a_rubric_without_the_dimensions_that_suffer_is_pointed_out(tmp_path: Path):
    done = dry_run(tmp_path, *SMALL, "--debater", "sim-breeze", *FLAWED)
    assert done.code == 0
    assert "no judge of this run scores burden_fulfillment, clash_engagement, rebuttal_quality" in done.err


def test_the_format_of_the_debate_may_have_its_former_option(tmp_path: Path):
    former, now = (dry_run(tmp_path, *SMALL, option, "karl_popper") for option in ("--format", "--debate-format"))
    assert (former.code, former.out) == (now.code, now.out)
    assert "`--debate-format karl_popper` names the debate format" in former.err


def test_options_that_cannot_be_used_are_refused_with_the_way_out(tmp_path: Path):
    for arguments, words in (
        (
            ("--control-ratio", "0.5"),
            "--control-ratio has no effect without --weaknesses or --weakness; give one of them.",
        ),
        (("--weakness", "side_conzession"), "No weakness 'side_conzession' in the taxonomy 'debateflow'. Known: "),
        (("--category", "policee"), "No topic has the category 'policee'. "),
        (("--resolution", " "), "--resolution takes the text of one motion"),
        (("--resolution", "Ban cars", "--topic", "x"), "--resolution and --topic cannot be combined"),
        (("--debate-format", "oxford"), "No format 'oxford' in configs/formats/. Known: "),
        (
            ("--debate-format", "karl_popper", "--format", "yaml"),
            "--format is how to print the result, not 'yaml'. "
            "Known: table, line, json, jsonl, csv, tsv, markdown, latex.",
        ),
        (("--rubric", "mine"), "No rubric 'mine' in configs/rubrics/. Known: "),
        (("--weaknesses", "configs/none.yaml"), "There is no file configs/none.yaml"),
    ):
        done = dry_run(tmp_path, *arguments)
        assert done.code in (1, 2)
        assert words in done.error_line
    done = dry_run(tmp_path, "--weaknesses", "configs/weaknesses.yaml", "--control-ratio", "1.5")
    assert done.code == 2


def test_a_debater_that_is_added_gets_its_share_of_weaknesses(tmp_path: Path):
    (tmp_path / "configs").mkdir()
    models = tmp_path / "configs" / "models.yaml"
    entries = [f"  - {{id: d{n}, provider: simulated, model: m{n}}}\n" for n in range(4)]
    models.write_text("models:\n" + "".join(entries[:3]), encoding="utf-8")
    begin = ("run", "--run-tag", "flow", "--no-input", "--no-build")
    options = ("--sample-topics", "2", "--rubric", "debateflow", *FLAWED, "--format", "json")
    done = debatebench(tmp_path, *begin, *options)
    assert done.code == 0, done.err
    assert json.loads(done.out)[0]["complete"] == 12
    models.write_text("models:\n" + "".join(entries), encoding="utf-8")
    done = debatebench(tmp_path, *begin, "--new-model", "d3")
    assert done.code == 0, done.err
    found = Counter(rows(tmp_path, "select weakness_type, side from raw.weaknesses"))
    assert sum(found.values()) == 19, "a fifth of 24 debates has none"
    assert {found[name, side] for name in TAXONOMY for side in ("pro", "con")} == {1, 2}
    ((carried,),) = rows(
        tmp_path,
        "select count(*) from raw.weaknesses as w join raw.debates as d using (run_tag, debate_id) "
        "where 'd3' = case w.side when 'pro' then d.pro_model_id else d.con_model_id end",
    )
    assert carried > 0


def test_stored_debates_are_judged_on_a_rubric_and_keep_their_weaknesses(flow: tuple[Path, list[Received]]):
    root = flow[0].parent / f"{flow[0].name}-judged"
    shutil.copytree(flow[0], root)
    pool = [
        {"id": name, "provider": "simulated", "model": name, "parameters": {"detects": rate, "noise": 0}}
        for name, rate in RATES.items()
    ]
    path = root / "pool.json"
    path.write_text(json.dumps({"judges": pool}), encoding="utf-8")
    done = debatebench_here(
        root, "judge", "flow", "--as", "flow-judged", "--rubric", "debateflow", "--judges-path", str(path), "--yes"
    )
    assert done.code == 0, done.err
    scored = (
        "select distinct s.dimension from (select unnest(scores) as s from raw.verdicts where run_tag = 'flow-judged')"
    )
    assert {name for (name,) in rows(root, scored)} == set(RUBRIC.dimensions)
    assert rows(root, "select distinct is_control from raw.debates where run_tag = 'flow-judged'") == [(None,)]
    compared = "baseline = 'flow' and candidate = 'flow-judged' and item = 'weaknesses'"
    assert rows(root, f"select state from marts.run_comparability where {compared}") == [("same",)]
