"""What does not count in a run is said wherever its results are read."""

from __future__ import annotations

import json
import re
from html import unescape
from pathlib import Path
from typing import Any

import pytest
from built_warehouse import begin_built
from command_line import Done, debatebench_here
from imported import DEBATEFLOW
from site_pages import only_pages

pytestmark = pytest.mark.slow

UNCOUNTED = "8 of 24 verdicts do not count (j3: 8 of 8)."
SILENT = "No verdict of judge j3 counts (8 verdicts)."


def verdict(judge_id: str, pro: float | None, con: float | None) -> dict[str, Any]:
    """A verdict with one score per side, or with none."""
    scores = {side: {} if value is None else {"clarity": value} for side, value in (("pro", pro), ("con", con))}
    return {"judge_id": judge_id, **{side: {"scores": score} for side, score in scores.items()}}


def debate(n: int, *judges: dict[str, Any]) -> str:
    """A line in the original harness's format."""
    turns = [{"index": i, "speaker": side, "content": "Words."} for i, side in enumerate(("pro", "con"))]
    topic = {"id": f"t{n}", "motion": f"Motion {n}", "category": "c"}
    sides = {"pro_model_id": "a", "con_model_id": "b"}
    transcript = {"debate_id": f"d{n}", "topic": topic, "turns": turns, **sides}
    return json.dumps({"transcript": transcript, "judges": judges, "created_at": f"2026-01-0{n + 1}T00:00:00Z"}) + "\n"


def imported(root: Path, lines: list[str]) -> Done:
    """The end of an import of these debates as `t`."""
    begin_built(root)
    (root / "debates.jsonl").write_text("".join(lines))
    return debatebench_here(root, "import", "debatebench", str(root / "debates.jsonl"), "--run-tag", "t")


def words(page: Path) -> str:
    return " ".join(unescape(re.sub(r"<[^>]+>", " ", page.read_text())).split())


def test_a_judge_that_never_counted_is_named_wherever_the_run_is_read(tmp_path: Path) -> None:
    scores = [(5, 8) if n % 2 else (8, 5) for n in range(8)]
    done = imported(
        tmp_path,
        [debate(n, verdict("j1", *s), verdict("j2", *s), verdict("j3", None, None)) for n, s in enumerate(scores)],
    )
    assert f"t: {UNCOUNTED}\nt: Warning: {SILENT}\n" in done.err
    assert f"{UNCOUNTED}\nWarning: {SILENT}\n" in debatebench_here(tmp_path, "show-leaderboard").err
    found = json.loads(debatebench_here(tmp_path, "doctor", "--format", "json").out)
    assert [(row["finding"], row["place"], row["detail"]) for row in found] == [("silent_judge", "judge 'j3'", SILENT)]
    with only_pages("index", "results", "judges"):
        assert debatebench_here(tmp_path, "report").code == 0
    site = tmp_path / "reports" / "site"
    for page in (site / "index.html", site / "runs" / "t" / "index.html"):
        assert UNCOUNTED in words(page)
    # A banner, because every page of the run rests on its judges.
    assert SILENT in words(site / "runs" / "t" / "judges.html")
    debates = json.loads(
        debatebench_here(
            tmp_path,
            "query",
            "select distinct count_valid_verdicts, count_invalid_verdicts from marts.debates",
            "--format",
            "json",
        ).out
    )
    assert debates == [{"count_valid_verdicts": 2, "count_invalid_verdicts": 1}]


def test_a_run_of_which_every_verdict_counts_has_no_remark(tmp_path: Path) -> None:
    done = imported(tmp_path, [debate(n, verdict("j1", 8, 5), verdict("j2", 5, 8)) for n in range(6)])
    assert "count" not in done.err
    assert not re.search(r"\bnot (?!what is true)", debatebench_here(tmp_path, "show-leaderboard").err)
    assert "No problems were found." in debatebench_here(tmp_path, "doctor").err


def test_no_verdict_at_all_is_not_explained_by_too_few_games(tmp_path: Path) -> None:
    done = imported(tmp_path, [debate(n) for n in range(6)])
    undecided = "6 of 6 debates have no decision, because no verdict on them counts."
    assert f"t: {undecided}" in done.err
    board = debatebench_here(tmp_path, "show-leaderboard").err
    assert undecided in board
    assert "2 of 2 debaters have no rated debate, so no rating." in board
    assert "fewer than" not in board


def test_annotations_of_debates_that_have_not_landed_are_counted(tmp_path: Path) -> None:
    begin_built(tmp_path)
    done = debatebench_here(tmp_path, "import", "debateflow", str(DEBATEFLOW / "annotations"), "--run-tag", "people")
    count = len(list((DEBATEFLOW / "annotations").glob("*.json")))
    assert f"people: {count} of {count} annotations are of debates that have not landed, and are not used." in done.err
    done = debatebench_here(tmp_path, "import", "debateflow", str(DEBATEFLOW / "debates"), "--run-tag", "people")
    assert "have not landed" not in done.err


def test_a_file_that_is_imported_under_two_tags_is_named_by_doctor_and_counts_once(tmp_path: Path) -> None:
    scores = [(5, 8) if n % 2 else (8, 5) for n in range(4)]
    assert imported(tmp_path, [debate(n, verdict("j1", *s)) for n, s in enumerate(scores)]).code == 0
    again = debatebench_here(tmp_path, "import", "debatebench", str(tmp_path / "debates.jsonl"), "--run-tag", "u")
    assert again.code == 0, again.err
    found = json.loads(debatebench_here(tmp_path, "doctor", "--format", "json").out)
    assert [(row["run_tag"], row["finding"], row["detail"]) for row in found] == [
        ("u", "repeated_debates", "4 of 4 rated debates are also in 't': ratings over runs count them once.")
    ]
    games = "select model_id, games from ratings.elo_pooled where pool_kind = 'overall' order by 1"
    counted = json.loads(debatebench_here(tmp_path, "query", games, "--format", "json").out)
    assert counted == [{"model_id": "a", "games": 4}, {"model_id": "b", "games": 4}]
