"""British Parliamentary debates that are played: four debaters, eight speeches, and no pro or con debater made up."""

from __future__ import annotations

import json
import random
import re
import signal
from collections import Counter
from pathlib import Path
from typing import Any

import duckdb
import pytest
from fake_provider import FakeProvider, Received, answer
from started_run import start, wait_until_asked
from tournament import good_answers, is_judge, play, write_workspace
from whole_marts import landed

from debatebench.journal.reading import read_journal
from debatebench.query.drawn_debates import debate_document
from debatebench.query.one_debate import latest_debate, verdict_table

pytestmark = pytest.mark.slow

FORMAT = ("--debate-format", "british_parliamentary")
SPEECHES = ("OG", "OO", "OG", "OO", "CG", "CO", "CG", "CO")
# Eight debaters on two topics: two draws, each in four rotations; eight speeches and two verdicts.
DEBATES, CALLS = 16, 16 * 10
KILLS, SLOTS = 10, 4


def rows(root: Path, sql: str) -> list[tuple[Any, ...]]:
    with duckdb.connect(str(root / "warehouse" / "debatebench.duckdb"), read_only=True) as con:
        return con.execute(sql).fetchall()


@pytest.fixture(scope="module")
def calm(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A tournament of eight debaters without any trouble. Tests only read it."""
    with FakeProvider(good_answers) as server:
        root = write_workspace(tmp_path_factory.mktemp("calm"), server, debaters=8)
        done = play(root, *FORMAT)
        assert done.code == 0, done.err
        assert len(server.requests) == CALLS
    return root


def test_each_debate_has_four_debaters_eight_speeches_and_neither_pro_nor_con(calm: Path):
    assert rows(calm, "select count(*) from raw.debates where status = 'complete'") == [(DEBATES,)]
    for table in ("raw.debates", "raw.schedule", "marts.debates"):
        found = rows(calm, f"select count(*), count(pro_model_id), count(con_model_id) from {table}")
        assert found == [(DEBATES, 0, 0)], table
    assert rows(calm, "select distinct format from raw.debates") == [("british_parliamentary",)]
    spoken = "select string_agg(position, ' ' order by turn_index) as spoken from raw.turns group by debate_id"
    assert rows(calm, f"select distinct spoken from ({spoken})") == [(" ".join(SPEECHES),)]
    assert rows(
        calm,
        "select count(*) from raw.turns inner join raw.participants using (debate_id, position, model_id, side)",
    ) == [(8 * DEBATES,)]
    strange = "select count(*) from marts.debate_coherence where list_contains(reasons, 'turns')"
    assert rows(calm, strange) == [(0,)], "the turns are those of the plan"
    assert rows(calm, "select count(*), count(rating) from marts.leaderboard") == [(8, 8)]


def test_a_debate_that_is_looked_up_names_the_place_of_each_team_and_each_judges_places(calm: Path):
    with duckdb.connect(str(calm / "warehouse" / "debatebench.duckdb"), read_only=True) as con:
        ((run_tag,),) = con.execute("select run_tag from raw.runs").fetchall()
        debate = latest_debate(con, run_tag)
        document = debate_document(con, run_tag, debate["debate_id"])
    ranks = dict(rows(calm, f"select position, rank from marts.team_results where debate_id = '{debate['debate_id']}'"))
    assert {team["position"]: team["rank"] for team in debate["teams"]} == ranks
    best_first = ", ".join(f"{position} {ranks[position]:g}" for position in sorted(ranks, key=lambda p: (ranks[p], p)))
    assert f"places    {best_first}, by the places that 2 judges gave" in str(debate)
    assert f"- places: {best_first}, by" in document
    columns, verdicts = verdict_table(debate["verdicts"])
    assert columns == ["judge", "places", "remark"]
    for judge_id, places, _ in verdicts:
        named = dict(each.split() for each in places.split(", "))
        found = f"select position, rank from intermediate.int_team_ranks where judge_id = '{judge_id}'"
        given = dict(rows(calm, f"{found} and debate_id = '{debate['debate_id']}'"))
        assert {position: float(rank) for position, rank in named.items()} == given


def test_each_debater_holds_each_position_equally_often(calm: Path):
    held = Counter(dict(rows(calm, "select (model_id, position), count(*) from raw.participants group by all")))
    assert len(held) == 32
    assert set(held.values()) == {2}


def test_a_debater_reads_the_speeches_under_their_teams_and_a_judge_the_rules(tmp_path: Path):
    seen: list[Received] = []

    def kept(received: Received) -> Any:
        seen.append(received)
        return good_answers(received)

    with FakeProvider(kept) as server:
        root = write_workspace(tmp_path, server, debaters=4)
        topics = json.loads((root / "configs" / "topics.json").read_text())[:1]
        (root / "configs" / "topics.json").write_text(json.dumps(topics))
        assert play(root, *FORMAT, "--no-balanced-sides", "--no-build").code == 0
    asked = [each.json["messages"] for each in seen if not is_judge(each)]
    assert len(asked) == len(SPEECHES)
    for number, (system, user) in enumerate(asked):
        assert f"({SPEECHES[number]})" in system["content"]
        heads = [line for line in user["content"].splitlines() if line.startswith("[") and " | " in line]
        assert [head[1:3] for head in heads] == list(SPEECHES[:number])
    assert "Your speech: opposition whip" in asked[-1][1]["content"]
    assert "whip brings no new" in asked[-1][0]["content"]
    judges = [each.json["messages"][-1]["content"] for each in seen if is_judge(each)]
    assert all("British Parliamentary format" in text and "[CO | opposition whip]" in text for text in judges)


def test_a_team_that_refuses_voids_the_debate_and_its_side_is_named(tmp_path: Path):
    def script(received: Received) -> Any:
        is_refusing = received.json["model"] == "debater-0"
        return answer("", message={"refusal": "I cannot argue this."}) if is_refusing else good_answers(received)

    with FakeProvider(script) as server:
        root = write_workspace(tmp_path, server, debaters=4)
        done = play(root, *FORMAT, "--no-build")
        asked = len(server.requests)
        assert play(root, "--no-build").code == 0
        assert len(server.requests) == asked
    assert done.code == 0, done.err
    assert re.search(r"debater-0 gave no .* speech as (OG|OO|CG|CO)", done.err)
    found = rows(
        root,
        "select debates.status, count(*), count(case when refused_by = side then 1 end) from raw.debates "
        "inner join raw.participants using (run_tag, debate_id) where model_id = 'debater-0' group by all",
    )
    assert found == [("void", 8, 8)]


def test_a_run_that_is_killed_ten_times_has_the_journal_and_the_rows_of_a_calm_one(tmp_path: Path, calm: Path):
    draw = random.Random(34)
    with FakeProvider(good_answers) as server:
        root = write_workspace(tmp_path, server, debaters=8)
        for _ in range(KILLS):
            asked = len(server.requests) + draw.randint(1, CALLS // KILLS - SLOTS)
            server.hold(asked)
            process = start(root, *FORMAT, "--concurrency", str(SLOTS), "--no-build")
            assert wait_until_asked(server, process, asked)
            process.send_signal(signal.SIGKILL)
            process.communicate()
            server.release()
        done = play(root, "--concurrency", str(SLOTS), "--no-build")
        assert done.code == 0, done.err
        questions = Counter(received.body for received in server.requests)
    assert len(questions) == CALLS
    assert sum(count - 1 for count in questions.values()) <= KILLS * SLOTS
    assert outcomes(root) == outcomes(calm)
    assert landed(root) == landed(calm)


def outcomes(root: Path) -> dict[str, Any]:
    """The plan of a run, the answers in its journal, and the rows of each debate without times and addresses."""
    plan, answers, debates = None, {}, {}
    for event in read_journal(root / "warehouse" / "journal" / "tiny.jsonl"):
        if event.data["type"] == "header":
            plan = event.data["plan"]["debates"]
        elif event.data["type"] == "response":
            answers[event.data["call_id"]] = event.data["body"]
        elif event.data["type"] == "outcome" and event.data["of"] == "debate":
            debates[event.data["debate_id"]] = _without_times(event.data["records"])
    return {"plan": plan, "answers": answers, "debates": debates}


def _without_times(value: Any) -> Any:
    if isinstance(value, dict):
        return {k: _without_times(v) for k, v in value.items() if k != "created_at" and not k.endswith("_ms")}
    return [_without_times(each) for each in value] if isinstance(value, list) else value
