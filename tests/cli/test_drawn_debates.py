"""Debates to read: the one that was made last, and some that are drawn and written as Markdown."""

from __future__ import annotations

import json
from pathlib import Path

import duckdb
import pytest
from command_line import debatebench_here
from two_runs import two_runs  # noqa: F401

from debatebench.shared.workspace import Workspace

pytestmark = pytest.mark.slow
DEMO = ("--run-tag", "demo")


def drawn(root: Path, out: Path, *arguments: str) -> dict[str, str]:
    """The files that are drawn."""
    done = debatebench_here(root, "sample-debates", *DEMO, "--out-dir", str(out), *arguments)
    assert done.code == 0, done.err
    assert done.out.splitlines() == [str(out / f"debate-{n}.md") for n in range(1, len(done.out.splitlines()) + 1)]
    return {path.name: path.read_text() for path in out.iterdir()}


def test_the_same_seed_draws_the_same_debates_and_writes_them_whole(two_runs: Path, tmp_path: Path):  # noqa: F811
    out = tmp_path / "out"
    first = drawn(two_runs, out, "--count", "3", "--seed", "1")
    # Those of an earlier draw are replaced.
    assert drawn(two_runs, out, "--count", "2", "--seed", "2") != first
    assert len(list(out.iterdir())) == 2
    assert drawn(two_runs, out, "--count", "3", "--seed", "1") == first
    # Each has what `inspect-debate` has of it.
    text = first["debate-1.md"]
    debate_id = next(line for line in text.splitlines() if line.startswith("- debate: ")).split()[2]
    debate = json.loads(debatebench_here(two_runs, "inspect-debate", debate_id, *DEMO, "--format", "json").out)
    assert text.startswith(f"# {debate['motion']}")
    for turn in debate["turns"]:
        assert f"```text\n{turn['content']}\n```" in text
    assert all(f"| {verdict['judge_id']} | {verdict['winner']} |" in text for verdict in debate["verdicts"])
    assert debate["verdicts"] != []
    assert all(note["text"] in text for note in debate["notes"] if note["text"])
    # Fewer than were asked for are all there are, which is said.
    done = debatebench_here(two_runs, "sample-debates", *DEMO, "--out-dir", str(out), "--count", "9999")
    assert f"Run 'demo' has only {len(done.out.splitlines())} complete debates." in done.err
    (out / "mine.txt").touch()
    refused = debatebench_here(two_runs, "sample-debates", *DEMO, "--out-dir", str(out))
    assert (refused.code, "contains files of other origin" in refused.error_line) == (2, True)


def test_without_an_id_the_debate_that_was_made_last_is_shown(two_runs: Path):  # noqa: F811
    with duckdb.connect(str(Workspace(two_runs).database), read_only=True) as con:
        ((last,),) = con.execute(
            "select debate_id from marts.debates where run_tag = 'demo' "
            "order by created_at desc, schedule_position desc limit 1"
        ).fetchall()
    whole = debatebench_here(two_runs, "inspect-debate", last, *DEMO).out
    assert debatebench_here(two_runs, "inspect-debate", *DEMO).out == whole
    assert debatebench_here(two_runs, "inspect-debate", "--latest", *DEMO).out == whole
    # The run that landed last is the one that is meant, and named.
    done = debatebench_here(two_runs, "inspect-debate")
    assert "of run 'second'" in done.out
    assert "Run 'second' landed last" in done.err
    both = debatebench_here(two_runs, "inspect-debate", last, "--latest")
    assert (both.code, both.error_line) == (2, f"Error: --latest and '{last}' name two debates; leave one out.")


def test_commands_are_also_found_where_the_original_harness_has_them(two_runs: Path, tmp_path: Path):  # noqa: F811
    for arguments in (("show-leaderboard", *DEMO), ("inspect-debate", "--latest", *DEMO), ("rate", *DEMO)):
        here, there = debatebench_here(two_runs, *arguments), debatebench_here(two_runs, "results", *arguments)
        assert (there.code, there.out) == (0, here.out), there.err
    assert debatebench_here(two_runs, "results", "summarize", *DEMO, "--out-dir", str(tmp_path / "csv")).code == 0
    assert len(list((tmp_path / "csv").iterdir())) == 11
    # Pictures need a package that may be missing.
    assert "--select" in debatebench_here(two_runs, "results", "plot", "--help").out
    wrong = debatebench_here(two_runs, "results", "rte")
    assert (wrong.code, "Did you mean 'rate'?" in wrong.err) == (2, True)
    assert "results" not in debatebench_here(two_runs, "--help").out.split()
