"""A run in shards: `run --dry-run --plan-output`, `run --plan --shard`, and `land`, which joins their journals."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from decimal import Decimal
from pathlib import Path
from typing import Any

import duckdb
import pytest
from command_line import Done, debatebench

from debatebench.journal.lines import encode_line
from debatebench.journal.shards import Shard
from debatebench.landing.journal_replies import RawReplies
from debatebench.output.view.playing import ProgressFiles
from debatebench.plan.plan_file import read_plan
from debatebench.shared.amounts import amount_text
from debatebench.shared.workspace import Workspace
from debatebench.warehouse.archive import archive, restore

SMALL = ("--sample-topics", "1", "--debater", "sim-atlas", "--debater", "sim-breeze", "--debater", "sim-cedar")
# What is about the time at which something was done, or follows from it.
OF_TIME = re.compile(r"(_at|_ms|duration|landing|seconds|sent|day)$|latency|per_second")


def planned(root: Path, *options: str, tag: str = "june") -> Path:
    """A new workspace, and beside its `configs` the file of a plan."""
    root.mkdir(parents=True, exist_ok=True)
    file = root / "june.plan"
    done = debatebench(root, "run", "--run-tag", tag, *options, "--dry-run", "--plan-output", str(file))
    assert done.code == 0, done.err
    return file


def shard(root: Path, number: str, *options: str) -> Done:
    return debatebench(root, "run", "--plan", str(root / "june.plan"), "--shard", number, *options)


def journals(root: Path) -> Path:
    return root / "warehouse" / "journal" / "june.shards"


@pytest.fixture(scope="module")
def played(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of six debates in three shards, the last of which is missing."""
    root = tmp_path_factory.mktemp("shards")
    planned(root, *SMALL)
    for number in ("1/3", "2/3"):
        assert shard(root, number).code == 0
    return root


@pytest.fixture
def two(played: Path, tmp_path: Path) -> Path:
    """A copy of it."""
    return shutil.copytree(played, tmp_path / "two")


def rows(root: Path, names: list[str]) -> dict[str, tuple[list[str], Counter[str]]]:
    """The columns and rows of each of these relations, without what depends on time."""
    found = {}
    with duckdb.connect(str(root / "warehouse" / "debatebench.duckdb"), read_only=True) as con:
        for name in names:
            columns = [column for column, *_ in con.execute(f"describe from {name}").fetchall()]
            columns = [column for column in columns if not OF_TIME.search(column)]
            shown = ", ".join(f'"{column}"' for column in columns)
            found[name] = columns, Counter(map(repr, con.execute(f"select {shown} from {name}").fetchall()))
    return found


def tables(root: Path) -> list[str]:
    with duckdb.connect(str(root / "warehouse" / "debatebench.duckdb"), read_only=True) as con:
        found = con.execute(
            "select schema_name || '.' || table_name from duckdb_tables() where schema_name <> 'meta' order by all"
        )
        return [name for (name,) in found.fetchall()]


VIEWS = ("leaderboard", "panel_winners", "verdict_scores", "runs", "judge_costs", "side_bias", "model_costs")


def views(root: Path) -> list[str]:
    with duckdb.connect(str(root / "warehouse" / "debatebench.duckdb"), read_only=True) as con:
        found = con.execute("select view_name from duckdb_views() where schema_name = 'marts' order by all").fetchall()
    return [f"marts.{name}" for (name,) in found if name in VIEWS]


def killed_between_calls(root: Path, plan: Path, number: str) -> None:
    """Play a shard in a process of its own, and kill it in the middle, while no request is in flight.

    A request in flight might have been billed, which the marts would say.
    """
    command = [sys.executable, "-m", "debatebench", "--root", str(root), "run", "--plan", str(plan), "--shard", number]
    process = subprocess.Popen([*command, "--concurrency", "1"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    journal = journals(root) / f"{number.replace('/', '-of-')}.jsonl"
    while process.poll() is None:
        time.sleep(0.002)
        if not journal.exists():
            continue
        os.kill(process.pid, signal.SIGSTOP)
        kinds = Counter(re.findall(rb'^\d+ [0-9a-f]{8} \{"type":"(\w+)"', journal.read_bytes(), re.MULTILINE))
        calls = journal.read_bytes().count(b'"type":"outcome","of":"call"')
        if kinds[b"intent"] == calls and calls >= 3:
            os.kill(process.pid, signal.SIGKILL)
            process.wait()
            return
        os.kill(process.pid, signal.SIGCONT)
    pytest.fail("the shard ended before it could be killed")


@pytest.mark.slow
def test_shards_that_are_killed_restarted_and_landed_twice_give_the_marts_of_one_process(tmp_path: Path) -> None:
    root = tmp_path / "shards"
    plan = planned(root, *SMALL, "--debater", "sim-delta")
    for number in ("1/4", "3/4"):
        killed_between_calls(root, plan, number)
    # Landing what is there so far: nothing of two shards, and two that were killed.
    first = debatebench(root, "land", "--no-build")
    assert first.code == 0, first.err
    assert "june: shards 2/4, 4/4 have no journal here" in first.err
    with ThreadPoolExecutor(4) as pool:
        ended = list(pool.map(lambda number: shard(root, f"{number}/4"), (4, 3, 1, 2)))
    assert [done.code for done in ended] == [0] * 4, ended
    assert "june: landed 12 debates" in debatebench(root, "land").err
    assert "june: unchanged since it was landed" in debatebench(root, "land").err
    assert [row.split("|")[2] for row in listed(root)] == ["finished"]

    whole = tmp_path / "whole"
    whole.mkdir()
    assert debatebench(whole, "run", "--plan", str(plan)).code == 0
    assert tables(root) == tables(whole)
    names = [*tables(root), *views(root)]
    ours, theirs = rows(root, names), rows(whole, names)
    assert [name for name in names if ours[name] != theirs[name]] == []
    assert debatebench(root, "doctor", "--format", "csv").code == 0


def listed(root: Path) -> list[str]:
    done = debatebench(root, "runs", "--format", "csv")
    return ["|".join(line.split(",")) for line in done.out.splitlines()[1:]]


@pytest.mark.slow
def test_missing_shards_are_named_and_the_run_is_unfinished(two: Path) -> None:
    done = debatebench(two, "land")
    assert done.code == 0, done.err
    assert "june: shard 3/3 has no journal here, so its debates count as not played" in done.err
    assert [row.split("|")[2] for row in listed(two)] == ["unfinished"]
    assert json.loads(debatebench(two, "runs", "show", "june", "--format", "json").out)["shards"] == "2 of 3"
    found = debatebench(two, "doctor")
    assert "missing_shard" in found.out
    assert "`debatebench run --run-tag june --shard 3/3`" in found.out
    # The plan beside the journals is enough to go on, on any machine to which the folder was copied.
    (two / "june.plan").unlink()
    assert debatebench(two, "run", "--run-tag", "june", "--shard", "3/3").code == 0
    assert "landed 6 debates" in debatebench(two, "land").err
    assert [row.split("|")[2] for row in listed(two)] == ["finished"]


@pytest.mark.slow
def test_a_copy_of_a_shard_counts_once_and_a_second_playing_is_refused(two: Path) -> None:
    folder = journals(two)
    lines = (folder / "2-of-3.jsonl").read_bytes().splitlines(keepends=True)
    (folder / "earlier copy.jsonl").write_bytes(b"".join(lines[:9]) + lines[9][:20])
    other = shutil.copytree(two, two.parent / "other")
    assert "landed 4 debates" in debatebench(two, "land", "--no-build").err
    for name in ("2-of-3.jsonl", "earlier copy.jsonl"):
        (journals(other) / name).unlink()
    assert shard(other, "2/3").code == 0
    shutil.copy(journals(other) / "2-of-3.jsonl", folder / "other machine.jsonl")
    done = debatebench(two, "land", "--run-tag", "june")
    assert done.code == 3
    assert "are both shard 2/3 with different contents, so it was played twice" in done.error_line
    # The warehouse keeps what it has, and refuses the other playing alone, too.
    shutil.move(folder / "other machine.jsonl", folder / "2-of-3.jsonl")
    (folder / "earlier copy.jsonl").unlink()
    done = debatebench(two, "land", "--run-tag", "june")
    assert done.code == 3
    assert "2-of-3.jsonl has lost or changed records since run 'june' was landed" in done.error_line


@pytest.mark.slow
def test_a_shard_of_another_plan_or_cut_is_named(two: Path, tmp_path: Path) -> None:
    other = tmp_path / "other"
    planned(other, *SMALL, "--seed", "7")
    assert shard(other, "3/3").code == 0
    shutil.copy(journals(other) / "3-of-3.jsonl", journals(two))
    done = debatebench(two, "land", "--run-tag", "june")
    assert done.code == 3
    assert re.search(r"3-of-3\.jsonl is shard 3/3 of another plan of run 'june' \(\w{12}\) than", done.error_line)
    (journals(two) / "3-of-3.jsonl").unlink()
    refused = debatebench(two, "run", "--plan", str(other / "june.plan"), "--shard", "3/3")
    assert refused.code == 2
    assert "holds shards of another plan of run 'june'" in refused.error_line
    refused = shard(two, "2/4")
    assert refused.code == 2
    assert "is cut into 3 shards" in refused.error_line
    shutil.rmtree(other / "warehouse")
    shutil.copy(two / "june.plan", other)
    assert shard(other, "2/2").code == 0
    shutil.copy(journals(other) / "2-of-2.jsonl", journals(two))
    done = debatebench(two, "land", "--run-tag", "june")
    assert done.code == 3
    assert "a run is cut in one way only" in done.error_line


def test_a_shard_without_the_plan_is_refused_with_the_way_out(two: Path) -> None:
    (journals(two) / "plan.jsonl").unlink()
    done = debatebench(two, "land", "--run-tag", "june")
    assert done.code == 3
    assert f"copy the file that was played to {journals(two) / 'plan.jsonl'}" in done.error_line


def test_a_run_is_played_in_one_piece_or_in_shards(two: Path, tmp_path: Path) -> None:
    for line in (["--run-tag", "june"], ["--plan", str(two / "june.plan")]):
        refused = debatebench(two, "run", *line)
        assert refused.code == 2
        assert "Run 'june' is played in 3 shards" in refused.error_line
    assert "Run 'june' is played in 3 shards" in debatebench(two, "retry", "june").error_line
    assert debatebench(two, "retry", "june", "--shard", "1/3").code == 0


def test_a_frozen_plan_takes_no_option_that_would_change_it(two: Path) -> None:
    for option in (["--seed", "3"], ["--topic", "x"], ["--new-judge", "x"], ["--models-path", "x"], ["--quick-test"]):
        refused = shard(two, "3/3", *option)
        assert refused.code == 2
        assert f"{option[0]} changes a plan, and a plan in a file is frozen" in refused.error_line
    refused = debatebench(two, "run", "--shard", "3/3")
    assert "name the plan with --plan FILE" in refused.error_line


def test_the_progress_of_a_run_is_that_of_its_shards_together(played: Path) -> None:
    found = ProgressFiles(Workspace(played)).read()
    assert list(found) == ["june"]
    assert (found["june"].is_playing, found["june"].done, found["june"].planned) == (False, 4, 4)
    files = sorted((played / "warehouse" / "progress").glob("june.*.json"))
    spent = sum(Decimal(json.loads(file.read_text())["cost_usd"]["simulated"]) for file in files)
    assert dict(found["june"].facts)["Cost"].startswith(f"${amount_text(spent)}")


def _forged(plan: bytes, change: Callable[[int, dict[str, Any]], dict[str, Any]]) -> bytes:
    """The plan with changed lines and the checksums that go with them."""
    crc, found = 0, b""
    for number, line in enumerate(plan.splitlines(keepends=True), 1):
        text, crc = encode_line(number, crc, change(number, json.loads(line.split(b" ", 2)[2])))
        found += text
    return found


def _damaged(plan: bytes) -> dict[str, bytes]:
    """What is wrong with a plan, as its error says, and the plan."""
    lines = plan.splitlines(keepends=True)
    head = json.loads(lines[0].split(b" ", 2)[2])
    deep = b"2 " + b"0" * 8 + b" {" + b"[" * 100_000 + b"\n"
    row = json.loads(lines[2].split(b" ", 2)[2])["row"]
    return {
        "was changed or cut off: line 3": b"".join([*lines[:2], lines[2].replace(b"sim-", b"sam-", 1), *lines[3:]]),
        "was changed or cut off: it has 4 of 6 debates": b"".join(lines[:5]),
        "was changed or cut off: line 6": plan[: -len(lines[-1]) - 10],
        "was changed or cut off: line 1": plan.replace(b'"seed":', b'"sead":', 1),
        "was changed or cut off: line 2": lines[0] + deep,
        "line 3 at byte": _forged(plan, lambda n, data: {**data, "calls": -1} if n == 3 else data),
        "line 4 at byte": _forged(plan, lambda n, data: {**data, "cost": 1e300} if n == 4 else data),
        f"debate '{row['debate_id']}' has a topic, debater or judge that is not in it": _forged(
            plan, lambda n, data: {**data, "row": {**data["row"], "topic_id": "../x"}} if n == 3 else data
        ),
        "is a plan of another version of debatebench, which": _forged(
            plan, lambda n, data: {**data, "format": 99} if n == 1 else data
        ),
        "is a plan of another version of debatebench": _forged(
            plan, lambda n, data: {**data, "plan": {**data["plan"], "of_later": 1}} if n == 1 else data
        ),
        "is not the file of a plan; `debatebench run --dry-run": b"\x00\xff" * 5000,
        "is not the file of a plan": b"",
        "is not the file": json.dumps(head["plan"]).encode(),
    }


def test_a_damaged_newer_or_foreign_plan_is_one_clear_sentence(two: Path) -> None:
    for sentence, content in _damaged((two / "june.plan").read_bytes()).items():
        (two / "bad.plan").write_bytes(content)
        done = debatebench(two, "run", "--plan", str(two / "bad.plan"), "--dry-run")
        assert done.code in (2, 3), sentence
        assert sentence in done.error_line
    done = shard(two, "1/7")
    assert "has 6 debates, which cannot be cut into 7 shards" in done.error_line


def test_a_plan_is_written_once_and_never_over_another(two: Path) -> None:
    plan = two / "june.plan"
    before = plan.read_bytes()
    line = ["run", "--run-tag", "other", *SMALL, "--plan-output", str(plan)]
    assert "add --dry-run" in debatebench(two, *line).error_line
    refused = debatebench(two, *line, "--dry-run")
    assert refused.code == 2
    assert "exists and holds something else" in refused.error_line
    assert plan.read_bytes() == before
    again = two / "again.plan"
    line = ["run", "--run-tag", "other", *SMALL, "--dry-run", "--plan-output"]
    assert debatebench(two, *line, str(again)).code == 0
    assert debatebench(two, *line, str(again)).code == 0


def test_the_limit_on_cost_is_divided(two: Path) -> None:
    # Simulated judges have no token limit, so the limit on cost is then refused.
    done = shard(two, "3/3", "--max-cost", "9")
    assert re.search(r"Shard 3/3 of run 'june': 2 of 6 debates, 3\d\.\d% of what the plan takes; it may cost", done.err)
    (limit,) = re.findall(r"it may cost ([\d.]+) USD", done.err)
    assert 2.5 < float(limit) < 3.5
    assert "--max-cost needs to know the cost of a request" in done.error_line


@pytest.mark.slow
def test_a_plan_holds_the_limits_of_its_members_and_a_shard_has_its_part(tmp_path: Path) -> None:
    assert debatebench(tmp_path, "init").code == 0
    models = tmp_path / "configs" / "models.yaml"
    models.write_text(
        "limits:\n  simulated: {requests_per_minute: 100, max_concurrency: 7}\n" + models.read_text(encoding="utf-8"),
        encoding="utf-8",
    )
    file = planned(tmp_path, *SMALL)
    assert {each.provider_limits.requests_per_minute for each in read_plan(file).debaters} == {100}
    for number, requests, most in ((1, 34, 3), (2, 33, 2), (3, 33, 2)):
        for debater in read_plan(file, Shard(3, number)).debaters:
            limits = debater.provider_limits
            assert (limits.requests_per_minute, limits.max_concurrency) == (requests, most)


@pytest.mark.slow
def test_a_changed_configuration_is_named_and_the_plan_is_played_as_it_was(two: Path) -> None:
    before = shard(two, "3/3", "--dry-run")
    assert "configuration" not in before.err
    assert debatebench(two, "init").code == 0
    prompt = next((two / "configs" / "prompts").glob("judge*.md"))
    prompts = sorted((two / "configs" / "prompts").rglob("*.md"))
    assert prompt in prompts
    for each in prompts:
        each.write_text(each.read_text(encoding="utf-8") + "\nBe brief.\n", encoding="utf-8")
    after = shard(two, "3/3", "--dry-run")
    assert after.code == 0
    assert re.search(r"played as it was frozen; the configuration here differs in .*prompt", after.err)
    assert after.out == before.out
    (two / "configs" / "models.yaml").write_text("models: [{", encoding="utf-8")
    broken = shard(two, "3/3", "--dry-run")
    assert (broken.code, broken.out) == (0, before.out)
    assert "could not be made from the configuration here" in broken.err


@pytest.mark.slow
def test_attacked_and_repeated_judgings_in_shards_are_those_of_one_process(tmp_path: Path) -> None:
    root = tmp_path / "shards"
    root.mkdir()
    assert debatebench(root, "run", "--run-tag", "demo", "--quick-test", "--no-build").code == 0
    plan = root / "june.plan"
    probing = ("probe-judges", "demo", "--as", "june", "--repeat", "2", "--judge", "sim-judge-amber")
    assert debatebench(root, *probing, "--dry-run", "--plan-output", str(plan)).code == 0
    whole = shutil.copytree(root, tmp_path / "whole")
    for number in ("2/2", "1/2"):
        assert shard(root, number, "--log-failed-judges", "--no-build").code == 0
    assert debatebench(root, "land", "--no-build").code == 0
    assert debatebench(whole, "run", "--plan", str(plan), "--no-build").code == 0
    names = [name for name in tables(root) if name.startswith("raw.")]
    ours, theirs = rows(root, names), rows(whole, names)
    assert [name for name in names if ours[name] != theirs[name]] == []
    # A machine without the stored debates cannot judge them.
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    refused = debatebench(elsewhere, "run", "--plan", str(plan), "--shard", "1/2")
    assert refused.code == 2
    assert "The plan judges stored debates of run 'demo', so every machine" in refused.error_line
    # What is stored is read again, moved to the archive and back, as of any run.
    assert "reads 0 verdicts of 2 runs differently" in debatebench(root, "land", "--reparse", "--no-build").err
    assert archive(Workspace(root), "june", "2026-01-01T12:00:00")
    assert not journals(root).exists()
    assert restore(Workspace(root), "june", "2026-01-01T12:00:00")
    assert "june: unchanged since it was landed" in debatebench(root, "land", "--no-build").err
    calls = RawReplies(Workspace(root).journal, "june")
    with duckdb.connect(str(Workspace(root).database), read_only=True) as con:
        found = con.execute("select call_id, attempt from raw.calls where run_tag = 'june'").fetchall()
    assert found
    assert None not in {calls.body(call_id, attempt) for call_id, attempt in found}
    (journals(root) / "plan.jsonl").unlink()
    found = debatebench(root, "doctor")
    assert found.code == 3
    assert "The plan of the shards in" in found.out
