"""A run over real HTTP: every debate completes or is named, and no answer that was paid for is lost or bought again."""

from __future__ import annotations

import asyncio
import os
import random
import shlex
import shutil
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Collection
from datetime import datetime
from decimal import Decimal
from pathlib import Path

import duckdb
import pytest
from built_warehouse import packaged_project
from command_line import Done, debatebench, debatebench_here
from fake_provider import Behaviour, FakeProvider, Received, answer, cut, delayed, error_in_200, hang_up, status
from patience import LONGEST_WAIT_S
from site_pages import only_pages
from started_run import start, wait_until_asked
from tournament import KEY, TOPICS, good_answers, is_judge, play, sometimes, verdict_text, write_workspace
from whole_marts import Marts, landed, marts

from debatebench import providers
from debatebench.config.load import load_config, load_debaters, load_judges, load_topics
from debatebench.config.prompt_files import load_prompts
from debatebench.journal.lines import JOURNAL_FORMAT
from debatebench.journal.reading import read_journal
from debatebench.journal.writing import Journal
from debatebench.plan.plan import PlanOptions
from debatebench.plan.schedule import make_plan
from debatebench.play.before_run import RunSettings
from debatebench.play.runner import play_run
from debatebench.providers.base import Reply, Request, TimeLimits
from debatebench.providers.simulated.provider import Simulated
from debatebench.shared.hashing import hash_of
from debatebench.shared.workspace import Workspace
from debatebench.transform.testing.data_tests import run_data_tests

pytestmark = pytest.mark.slow

DEBATES, CALLS = 12, 48


def rows(root: Path, sql: str) -> list[tuple[object, ...]]:
    with duckdb.connect(str(root / "warehouse" / "debatebench.duckdb"), read_only=True) as con:
        return con.execute(sql).fetchall()


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same tournament without any trouble. Tests only read it."""
    with FakeProvider(good_answers) as server:
        root = write_workspace(tmp_path_factory.mktemp("undisturbed"), server)
        done = play(root)
        assert done.code == 0, done.err
        assert len(server.requests) == CALLS
    return root


@pytest.fixture(scope="module")
def undisturbed_rows(undisturbed: Path) -> Marts:
    return landed(undisturbed)


@pytest.fixture(scope="module")
def undisturbed_marts(undisturbed: Path) -> Marts:
    return marts(undisturbed)


def test_a_run_over_http_lands_every_turn_and_verdict(undisturbed: Path):
    assert rows(undisturbed, "select status, count(*) from raw.debates group by all") == [("complete", DEBATES)]
    assert rows(undisturbed, "select count(*) from raw.turns where content like 'Speech %' and cost > 0") == [(24,)]
    assert rows(undisturbed, "select count(*) from raw.verdicts where is_valid and len(scores) = 2") == [(24,)]
    assert rows(undisturbed, "select status, count(*) from raw.calls group by all") == [("answered", CALLS)]
    assert (
        rows(undisturbed, "select sum(games) from ratings.elo")[0][0]
        == 2 * rows(undisturbed, "select count(*) from marts.panel_winners where winner <> 'no_decision'")[0][0]
    )


def test_what_was_paid_is_what_is_recorded(tmp_path: Path):
    paid: list[Decimal] = []

    def script(received: Received) -> Behaviour:
        cost = Decimal(received.number + 1) / 1000
        paid.append(cost)
        text = verdict_text(received) if is_judge(received) else "Speech."
        return answer(text, usage={"cost": float(cost)})

    with FakeProvider(script) as server:
        root = write_workspace(tmp_path, server)
        assert play(root).code == 0
    assert rows(root, "select sum(cost), count(distinct cost_source) from raw.calls") == [(sum(paid), 1)]
    assert rows(root, "select cost_usd from marts.runs") == [(sum(paid),)]


def test_a_finished_run_asks_nobody_again(tmp_path: Path):
    with FakeProvider(good_answers) as server:
        root = write_workspace(tmp_path, server)
        assert play(root, "--no-build").code == 0
        journal = (root / "warehouse" / "journal" / "tiny.jsonl").read_bytes()
        for extra in ([], ["--resume"], ["--retry-failed"], ["--concurrency", "1"]):
            assert play(root, "--no-build", *extra).code == 0
        assert len(server.requests) == CALLS
        assert (root / "warehouse" / "journal" / "tiny.jsonl").read_bytes() == journal


@pytest.mark.slow_inputs
@pytest.mark.parametrize(
    "trouble",
    [
        status(429, headers={"retry-after": "0"}),
        error_in_200(502),
        cut(),
        hang_up(),
    ],
    ids=["429", "error in 200", "cut body", "hang up"],
)
def test_trouble_on_the_way_changes_nothing_but_the_attempts(
    tmp_path: Path, undisturbed_marts: Marts, trouble: Behaviour
):
    with FakeProvider(sometimes(trouble, 0.1)) as server:
        root = write_workspace(tmp_path, server)
        done = play(root)
        assert done.code == 0, done.err
        assert len(server.requests) > CALLS
        assert rows(root, "select count(*), count(distinct attempt) > 1 from raw.calls") == [
            (len(server.requests), True)
        ]
    assert marts(root) == undisturbed_marts


def test_a_bad_judge_is_asked_again_and_then_replaced(tmp_path: Path):
    def script(received: Received) -> Behaviour:
        if received.json["model"] == "judge-1":
            return answer("I would rather not say.")
        if received.json["model"] == "judge-2" and "could not be used" not in received.prompt:
            return answer('{"scores": {"pro": {"logic": 99, "clarity": 1}, "con": {"logic": 1, "clarity": 1}}}')
        if received.json["model"] == "judge-3":
            return answer(f"Here you are:\n```json\n{verdict_text(received)}\n```")
        return good_answers(received)

    with FakeProvider(script) as server:
        root = write_workspace(tmp_path, server)
        done = play(root)
    assert done.code == 0, done.err
    assert rows(root, "select distinct status, judges_actual from raw.debates") == [("complete", 2)]
    assert rows(root, "select distinct is_valid, asks from raw.verdicts where judge_id = 'judge-1'") == [(False, 2)]
    assert rows(root, "select distinct is_valid, asks from raw.verdicts where judge_id = 'judge-2'") == [(True, 2)]
    assert rows(root, "select distinct is_valid, is_repaired from raw.verdicts where judge_id = 'judge-3'") == [
        (True, True)
    ]
    replaced = rows(root, "select distinct replaces_judge_id from raw.verdicts where replaces_judge_id is not null")
    assert replaced == [("judge-1",)]
    assert rows(root, "select count(*) from marts.judge_verdicts where judge_id = 'judge-1' and is_valid") == [(0,)]


def test_a_panel_that_cannot_be_filled_leaves_the_debate_incomplete_and_named(tmp_path: Path):
    def script(received: Received) -> Behaviour:
        return answer("No.") if received.json["model"] == "judge-0" else good_answers(received)

    with FakeProvider(script) as server:
        root = write_workspace(tmp_path, server, judges=2)
        done = play(root)
        asked = len(server.requests)
        assert done.code == 5
        assert "12 of 12 debates of run 'tiny' are missing" in done.error_line
        assert "1 of 2 judges gave a valid verdict (judge-0:" in done.err
        assert rows(root, "select distinct status from raw.debates") == [("incomplete",)]
        assert rows(root, "select distinct winner from marts.panel_winners") == [("no_decision",)]
        assert rows(root, "select count(*) from ratings.elo_history") == [(0,)]
        assert play(root, "--no-build").code == 5
        assert len(server.requests) == asked, "what is known to be invalid is not asked again"


def test_invalid_verdicts_are_mended_by_a_retry_that_buys_only_what_is_missing(tmp_path: Path):
    is_broken = [True]

    def script(received: Received) -> Behaviour:
        if is_broken and is_judge(received) and hash_of(received.prompt)[0] in "0123456789ab":
            return answer("I would rather not say.")
        return good_answers(received)

    with FakeProvider(script) as server:
        root = write_workspace(tmp_path, server, judges=3)
        done = play(root, "--no-build")
        assert done.code == 5, done.err
        assert "`debatebench retry tiny`" in done.error_line
        assert play(root, "--retry-failed", "--no-build").code == 5, "the judges still give no verdict"
        empty = rows(
            root,
            "select debate_id, 2 - count(case when is_valid then 1 end) from raw.verdicts group by all having "
            "count(case when is_valid then 1 end) < 2 order by all",
        )
        assert len(empty) > 2
        is_broken.clear()
        asked = len(server.requests)
        assert play(root, "--no-build").code == 5
        assert len(server.requests) == asked, "nothing is asked again without --retry-failed"
        done = debatebench(root, "retry", "tiny", "--no-build", environ={"TINY_API_KEY": KEY})
        assert done.code == 0, done.err
        assert len(server.requests) == asked + sum(count for _, count in empty)
        before = rows(root, "from raw.verdicts order by all")
        asked = len(server.requests)
        for extra in ([], ["--retry-failed"]):
            assert play(root, *extra, "--no-build").code == 0
        assert len(server.requests) == asked
        database = root / "warehouse" / "debatebench.duckdb"
        database.unlink()
        assert debatebench(root, "land", "--no-build").code == 0
        assert rows(root, "from raw.verdicts order by all") == before
        assert rows(root, "select count(*) from raw.debates where status = 'complete'") == [(12,)]


def test_a_debater_that_refuses_voids_its_debate(tmp_path: Path):
    def script(received: Received) -> Behaviour:
        if received.json["model"] == "debater-0":
            return answer("", message={"refusal": "I cannot argue this."})
        return good_answers(received)

    with FakeProvider(script) as server:
        root = write_workspace(tmp_path, server)
        done = play(root)
        asked = len(server.requests)
        again = play(root, "--no-build")
        assert len(server.requests) == asked
    for each in (done, again):
        assert each.code == 0, "a void debate is final, and nothing else is left"
        assert each.err.count("\nvoid 4 debates: debater-0 gave no opening speech as ") == 2
    assert rows(root, "select status, count(*) from raw.debates group by all order by all") == [
        ("complete", 4),
        ("void", 8),
    ]
    assert rows(
        root,
        "select distinct case refused_by when 'pro' then pro_model_id when 'con' then con_model_id end, winner "
        "from marts.debates where status = 'void'",
    ) == [("debater-0", "no_decision")]
    assert "refusal" in done.err
    assert rows(root, "select games from ratings.elo where model_id = 'debater-0'") in ([], [(0,)])
    # A void debate moves the rating of its other side no more than its own.
    assert rows(root, "select count(distinct debate_id) from ratings.elo_history") == [(4,)]
    assert rows(root, "select count_void, count_forfeits, count_decided from marts.runs") == [(8, 0, 4)]


@pytest.fixture(scope="module")
def forfeited(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Done]:
    """A tournament in which debater-0 refuses and loses by forfeit, and how it ended. Tests only read it."""

    def script(received: Received) -> Behaviour:
        if received.json["model"] == "debater-0":
            return answer("", message={"refusal": "I cannot argue this."})
        return good_answers(received)

    with FakeProvider(script) as server:
        root = write_workspace(tmp_path_factory.mktemp("forfeited"), server)
        config = root / "configs" / "config.yaml"
        config.write_text(config.read_text().replace("debate:\n", "debate:\n  on_refusal: forfeit\n"))
        done = play(root)
        asked = len(server.requests)
        assert play(root, "--no-build").code == 0
        assert len(server.requests) == asked
    return root, done


def test_a_debater_that_refuses_loses_by_forfeit_where_the_configuration_says_so(forfeited: tuple[Path, Done]):
    root, done = forfeited
    assert done.code == 0, "a forfeit is final, and nothing else is left"
    assert done.err.count("\nforfeit 4 debates: debater-0 gave no opening speech as ") == 2
    assert done.err.count("; its opponent wins.") == 2
    assert rows(root, "select status, count(*) from raw.debates group by all order by all") == [
        ("complete", 4),
        ("forfeit", 8),
    ]
    assert rows(
        root,
        "select distinct case refused_by when 'pro' then pro_model_id when 'con' then con_model_id end, "
        "case winner when 'pro' then pro_model_id when 'con' then con_model_id end, count_valid_verdicts "
        "from marts.debates where status = 'forfeit' order by all",
    ) == [("debater-0", "debater-1", 0), ("debater-0", "debater-2", 0)]
    assert rows(root, "select count_complete, count_void, count_forfeits, count_decided from marts.runs") == [
        (4, 0, 8, 12)
    ]
    with duckdb.connect(str(root / "warehouse" / "debatebench.duckdb"), read_only=True) as con:
        results = run_data_tests(con, packaged_project())
    assert [str(result) for result in results if result.status != "pass"] == []


def test_a_forfeit_lowers_the_rating_of_the_side_that_refused_and_raises_the_others(forfeited: tuple[Path, Done]):
    root, _ = forfeited
    board = rows(
        root,
        "select model_id, games, losses, count_forfeits, rank, win_rate, pro_win_rate, con_win_rate "
        "from marts.leaderboard where model_id = 'debater-0'",
    )
    assert board == [("debater-0", 8, 8, 8, 3, 0.0, 0.0, 0.0)]
    assert rows(
        root,
        "select count(*) from ratings.elo_history as h join marts.games using (run_tag, debate_id) where is_forfeit "
        "and (rating_after < rating_before) = (model_id = 'debater-0') and rating_after <> rating_before",
    ) == [(16,)]
    ratings = dict(rows(root, "select model_id, rating from ratings.bradley_terry"))
    assert ratings["debater-0"] < min(ratings["debater-1"], ratings["debater-2"])
    # The model with controls uses forfeits too, although no length is taken from what was said before a refusal.
    assert rows(root, "select distinct games from ratings.bradley_terry_terms") == [(12,)]


def test_statistics_about_judges_do_not_see_forfeits(forfeited: tuple[Path, Done], tmp_path: Path):
    root, _ = forfeited
    judged = "(select debate_id from raw.debates where status = 'complete')"
    for table in ("intermediate.int_decided_verdicts", "marts.debate_dimension_means", "marts.verdict_scores"):
        assert rows(root, f"select count(*) from {table} where debate_id not in {judged}") == [(0,)]
    assert rows(root, "select sum(count_debates) from intermediate.int_debater_sums where measure = 'win_rate'") == [
        (24,)
    ]
    # Judging is added up only where there is a run to compare with.
    shutil.copy(root / "warehouse" / "debatebench.duckdb", tmp_path)
    with duckdb.connect(str(tmp_path / "debatebench.duckdb")) as con:
        con.execute("insert into raw.runs select * replace ('other' as run_tag) from raw.runs")
        panels = "select sum(count_debates) from intermediate.int_judging_sums where member_id = '' and measure = $1"
        assert con.execute(panels, ["pro_lean"]).fetchall() == [(4,)]


def test_every_place_that_shows_a_forfeited_debate_says_so(forfeited: tuple[Path, Done]):
    root, _ = forfeited
    debate_id, side = rows(root, "select debate_id, refused_by from raw.debates where status = 'forfeit' limit 1")[0]
    text = debatebench(root, "inspect-debate", str(debate_id)).out
    assert f"winner    {'con' if side == 'pro' else 'pro'}, by forfeit: {side} refused\n" in text
    assert "8 debates were lost by forfeit, without a verdict: 8 of debater-0." in (
        debatebench(root, "show-leaderboard").err
    )
    findings = debatebench(root, "doctor").out
    assert "lost by forfeit, by pro: " in findings
    assert "lost by forfeit, by con: " in findings
    with only_pages("index", "results"):
        assert debatebench_here(root, "report").code == 0
    pages = root / "reports" / "site" / "runs" / "tiny"
    assert "8 rated debates are forfeits" in (pages / "index.html").read_text()


def test_calls_that_failed_for_good_are_asked_again_only_when_told(tmp_path: Path, undisturbed_rows: Marts):
    broken = [True]

    def script(received: Received) -> Behaviour:
        if broken and not is_judge(received) and TOPICS[0]["motion"] in received.prompt:
            return status(400, "The model is being moved.")
        return good_answers(received)

    with FakeProvider(script) as server:
        root = write_workspace(tmp_path, server)
        done = play(root, "--no-build")
        assert done.code == 5
        assert "6 of 12" in done.error_line
        assert "The model is being moved" in done.err
        broken.clear()
        asked = len(server.requests)
        assert play(root, "--no-build").code == 5
        assert len(server.requests) == asked
        assert play(root, "--no-build", "--retry-failed").code == 0
        assert len(server.requests) == asked + CALLS // 2
    assert landed(root) == undisturbed_rows


def test_a_key_that_is_refused_stops_the_run_and_is_written_nowhere(tmp_path: Path, undisturbed_rows: Marts):
    accepted: list[bool] = []

    def script(received: Received) -> Behaviour:
        assert received.authorization == f"Bearer {KEY}"
        if not accepted and received.number >= 10:
            return status(401, f"Incorrect API key provided: {KEY}.")
        return good_answers(received)

    with FakeProvider(script) as server:
        root = write_workspace(tmp_path, server)
        done = play(root, "--no-build", "--concurrency", "2")
        assert done.code == 1
        assert "TINY_API_KEY" in done.error_line
        assert 10 < len(server.requests) <= 12
        accepted.append(True)
        again = play(root)
        assert again.code == 0, again.err
        assert len(server.requests) <= CALLS + 2
    for text in (done.out, done.err, again.out, again.err):
        assert KEY not in text
    for path in root.rglob("*"):
        assert path.is_dir() or KEY.encode() not in path.read_bytes(), path
    assert landed(root) == undisturbed_rows


# --- kills and interrupts -------------------------------------------------------------------------------------------


def questions(server: FakeProvider) -> Counter[str]:
    return Counter(r.body.decode() for r in server.requests)


def test_a_run_that_is_killed_again_and_again_buys_twice_only_what_was_in_flight(
    tmp_path: Path, undisturbed_rows: Marts
):
    slots = 4
    draw = random.Random(7)
    with FakeProvider(good_answers) as server:
        root = write_workspace(tmp_path, server)
        kills = 0
        while True:
            asked = len(server.requests) + draw.randint(1, 12)
            server.hold(asked)
            process = start(root, "--no-build", "--concurrency", str(slots))
            if not wait_until_asked(server, process, asked):
                break
            process.send_signal(signal.SIGKILL)
            process.communicate()
            server.release()
            kills += 1
        _, err = process.communicate()
        assert process.returncode == 0, err
        assert kills >= 3
        twice = sum(count - 1 for count in questions(server).values())
        assert len(questions(server)) == CALLS
        assert twice <= kills * slots
    assert rows(root, "select count(*) from raw.calls where status = 'answered'") == [(CALLS,)]
    assert rows(root, "select count(*) from raw.calls where status = 'ambiguous'")[0][0] <= kills * slots
    assert landed(root) == undisturbed_rows


def test_an_interrupt_keeps_what_is_in_flight_lands_and_leaves_with_130(tmp_path: Path, undisturbed_marts: Marts):
    with FakeProvider(good_answers) as server:
        root = write_workspace(tmp_path, server)
        server.hold(20)
        process = start(root, "--concurrency", "3")
        assert wait_until_asked(server, process, 22)
        process.send_signal(signal.SIGINT)
        server.release()
        _, err = process.communicate()
        assert process.returncode == 130
        assert "was interrupted" in err
        assert "Traceback" not in err
        asked = len(server.requests)
        assert rows(root, "select count(*) from raw.calls where status = 'answered'") == [(asked,)]
        assert play(root).code == 0
        assert len(server.requests) == CALLS, "nothing was bought twice"
    assert marts(root) == undisturbed_marts


def test_a_second_interrupt_leaves_at_once(tmp_path: Path):
    with FakeProvider(lambda received: delayed(2 * LONGEST_WAIT_S, good_answers(received))) as server:
        root = write_workspace(tmp_path, server)
        process = start(root)
        assert wait_until_asked(server, process, 3)
        process.send_signal(signal.SIGTERM)
        with pytest.raises(subprocess.TimeoutExpired):
            process.wait(0.3)
        process.send_signal(signal.SIGTERM)
        assert process.wait(LONGEST_WAIT_S) == 130
        process.communicate()


def test_a_second_runner_of_the_same_tag_makes_no_call(tmp_path: Path):
    with FakeProvider(good_answers) as server:
        root = write_workspace(tmp_path, server)
        server.hold(1)
        first = start(root, "--concurrency", "1", "--no-build")
        assert wait_until_asked(server, first, 2)
        second = play(root, "--no-build")
        assert second.code == 4
        assert "Another process is playing run" in second.error_line
        server.release()
        first.communicate()
        assert first.returncode == 0
        assert len(server.requests) == CALLS


def test_a_torn_journal_goes_on_and_a_damaged_one_stops_before_any_call(tmp_path: Path, undisturbed_rows: Marts):
    with FakeProvider(good_answers) as server:
        root = write_workspace(tmp_path, server)
        assert play(root, "--no-build").code == 0
        journal = root / "warehouse" / "journal" / "tiny.jsonl"
        lines = journal.read_bytes().splitlines(keepends=True)
        journal.write_bytes(b"".join(lines[:80]) + lines[80][:-7])
        (root / "warehouse" / "debatebench.duckdb").unlink()
        assert play(root, "--no-build").code == 0
        assert landed(root) == undisturbed_rows
        asked = len(server.requests)
        journal.write_bytes(b"".join(lines[:40]) + lines[41])
        with journal.open("ab") as file:
            file.write(b"".join(lines[42:]))
        done = play(root)
        assert done.code == 3
        assert "line 41 at byte" in done.error_line
        assert len(server.requests) == asked


def test_journals_may_be_copied_to_another_machine_and_landed_there(
    tmp_path: Path, undisturbed: Path, undisturbed_marts: Marts
):
    other = tmp_path / "other" / "warehouse" / "journal"
    other.mkdir(parents=True)
    (other / "tiny.jsonl").write_bytes((undisturbed / "warehouse" / "journal" / "tiny.jsonl").read_bytes())
    for _ in range(2):
        assert debatebench(tmp_path / "other", "land").code == 0
    assert marts(tmp_path / "other") == undisturbed_marts


def test_requests_are_never_more_than_the_limit_and_intents_come_first(tmp_path: Path):
    with FakeProvider(lambda received: delayed(0.005, good_answers(received))) as server:
        root = write_workspace(tmp_path, server)
        assert play(root, "--concurrency", "5", "--no-build").code == 0
        assert server.most_in_flight <= 5
    seen: set[str] = set()
    for event in read_journal(root / "warehouse" / "journal" / "tiny.jsonl"):
        if event.data["type"] == "intent":
            seen.add(event.data["call_id"])
        elif event.data["type"] == "response":
            assert event.data["call_id"] in seen


def test_a_run_goes_on_under_other_limits(tmp_path: Path, undisturbed_rows: Marts):
    with FakeProvider(good_answers) as server:
        root = write_workspace(tmp_path, server)
        server.hold(10)
        process = start(root, "--concurrency", "6", "--no-build")
        assert wait_until_asked(server, process, 12)
        process.send_signal(signal.SIGINT)
        server.release()
        process.communicate()
        assert process.returncode == 130
        assert server.most_in_flight > 1
        for name in ("models.yaml", "judges.yaml"):
            path = root / "configs" / name
            path.write_text("limits: {http: {max_concurrency: 1}}\n" + path.read_text())
        server.most_in_flight = 0
        assert play(root, "--no-build", "--concurrency", "6").code == 0
        assert server.most_in_flight == 1
        assert len(server.requests) == CALLS
    assert landed(root) == undisturbed_rows


# --- the limits and habits of the machine -----------------------------------------------------------------------------


def limited(root: Path, limit: str, *arguments: str) -> Done:
    """Play in a shell that allows so many open files."""
    command = shlex.join([sys.executable, "-m", "debatebench", "--root", str(root), "run", "--run-tag", "tiny"])
    done = subprocess.run(
        ["bash", "-c", f"ulimit {limit}; {command} {shlex.join(arguments)}"],
        env={**os.environ, "TINY_API_KEY": KEY},
        capture_output=True,
        text=True,
    )
    return Done(done.returncode, done.stdout, done.stderr)


def test_more_requests_in_flight_than_files_may_be_open_are_refused_before_the_first(tmp_path: Path):
    with FakeProvider(good_answers) as server:
        root = write_workspace(tmp_path, server)
        done = limited(root, "-n 200", "--concurrency", "300")
        assert done.code == 2
        assert "--concurrency 300 needs 364 open files, but this process may have only 200" in done.error_line
        assert len(server.requests) == 0


def test_a_low_limit_of_open_files_is_raised_where_it_may_be(tmp_path: Path):
    with FakeProvider(lambda received: delayed(0.3, good_answers(received))) as server:
        root = write_workspace(tmp_path, server)
        done = limited(root, "-S -n 30", "--concurrency", "100", "--no-build")
        assert done.code == 0, done.err
        assert server.most_in_flight > 12
        assert len(server.requests) == CALLS
    assert rows(root, "select distinct status from raw.calls") == [("answered",)]


def test_an_interrupt_says_how_to_leave_at_once(tmp_path: Path):
    with FakeProvider(lambda received: delayed(0.5, good_answers(received))) as server:
        process = start(write_workspace(tmp_path, server), "--concurrency", "3", "--no-build")
        assert wait_until_asked(server, process, 3)
        process.send_signal(signal.SIGINT)
        _, err = process.communicate()
    assert "Stopping: waiting for 3 requests in flight. Interrupt again to exit at once." in err
    assert process.returncode == 130


def test_a_run_in_the_background_does_not_hear_the_interrupts_that_it_was_told_to_ignore(tmp_path: Path):
    with FakeProvider(good_answers) as server:
        root = write_workspace(tmp_path, server)
        server.hold(5)
        command = [sys.executable, "-m", "debatebench", "--root", str(root), "run", "--run-tag", "tiny", "--no-build"]
        process = subprocess.Popen(
            ["bash", "-c", f"trap '' INT; exec {shlex.join(command)}"],
            env={**os.environ, "TINY_API_KEY": KEY},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        assert wait_until_asked(server, process, 6)
        process.send_signal(signal.SIGINT)
        server.release()
        _, err = process.communicate()
        assert process.returncode == 0, err
        assert len(server.requests) == CALLS


def test_why_a_run_broke_off_matters_more_than_why_it_was_not_landed(tmp_path: Path):
    with FakeProvider(good_answers) as server:
        root = write_workspace(tmp_path, server, is_built=False)
        server.hold(20)
        (root / "warehouse").mkdir()
        (root / "warehouse" / "debatebench.duckdb").write_bytes(b"no database at all")
        process = start(root, "--concurrency", "3")
        assert wait_until_asked(server, process, 21)
        process.send_signal(signal.SIGINT)
        server.release()
        _, err = process.communicate()
    assert process.returncode == 130
    assert "Run 'tiny' was not landed: The warehouse" in err
    assert "was interrupted" in err.splitlines()[-1]


def test_a_plan_that_this_version_does_not_understand_is_left_alone(tmp_path: Path):
    with FakeProvider(good_answers) as server:
        root = write_workspace(tmp_path, server)
        journal = root / "warehouse" / "journal" / "tiny.jsonl"
        with Journal.open(journal) as written:
            plan = {"run_tag": "tiny", "what_a_newer_version_has": 1}
            written.append({"type": "header", "format": JOURNAL_FORMAT, "plan": plan, "records": {}})
        before = journal.read_bytes()
        done = play(root)
        assert done.code == 3
        assert "contains a plan of a newer version of debatebench" in done.error_line
        assert "the file is not damaged" in done.error_line
        assert len(server.requests) == 0
        assert journal.read_bytes() == before
        content = before.replace(b"newer_version", b"newer_verzion")
        journal.write_bytes(content)
        damaged = play(root)
        assert damaged.code == 3
        assert "line 1 at byte 0 is damaged" in damaged.error_line


def test_a_debate_that_nobody_ended_is_missing_all_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    class Leaving(Simulated):
        """Cancels the task that asks first, as a library with a bug may do."""

        asked = 0

        async def send(
            self, request: Request, adjusted: Collection[str] = (), limits: TimeLimits | None = None
        ) -> Reply:
            Leaving.asked += 1
            if Leaving.asked == 1:
                raise asyncio.CancelledError
            return await super().send(request, adjusted)

    workspace = Workspace(tmp_path)
    config = load_config(workspace.config_file("config.yaml"))
    judges = load_judges(workspace.config_file("judges.yaml"))
    plan = make_plan(
        "t",
        config,
        load_topics(workspace.config_file("topics.json")),
        load_debaters(workspace.config_file("models.yaml")),
        judges,
        load_prompts(workspace, config, judges),
        PlanOptions(sample_topics=1),
        None,
    )
    monkeypatch.setitem(providers._FACTORIES, "simulated", lambda member, _: Leaving.of(member))
    ended = [
        play_run(plan, tmp_path / "t.jsonl", RunSettings(), environ={}, now=lambda: datetime(2026, 1, 1))
        for _ in range(2)
    ]
    assert [(report.planned, report.complete) for report in ended] == [(30, 29), (30, 30)]
    assert [reason for _, reason in ended[0].missing] == ["The debate was not finished."]
    assert ended[1].missing == ()
