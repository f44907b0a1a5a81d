"""One debate as text: its own, or one that is judged again with the speeches of its source."""

from __future__ import annotations

from pathlib import Path

import pytest
from imported import PANELBENCH, imported_run
from judged_runs import judged_run
from report_warehouse import HOSTILE, make_warehouse, tournament

from debatebench.query.one_debate import debate_text, find_debate


@pytest.fixture(scope="module")
def database(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """`held`, `again`, which judges its debates twice, an import, and `teams`, which judges the import's."""
    held = list(tournament("held", ("alpha", "beta"), repetitions=1))
    methods = {"judge-a": "chronological_v1"}
    return make_warehouse(
        tmp_path_factory.mktemp("warehouse") / "debatebench.duckdb",
        ("held", iter(held)),
        ("again", judged_run("again", held, trials=2, methods=methods, text=f"First.\n── verdicts\n{HOSTILE}")),
        ("t", iter(imported_run("panelbench", PANELBENCH))),
        ("teams", judged_run("teams", imported_run("panelbench", PANELBENCH))),
    )


def test_a_judged_debate_is_shown_with_the_speeches_of_its_source(database: Path):
    debate = find_debate(database, f"j2-{1:016x}", None)
    text = debate_text(debate)
    assert f"speeches  those of debate {1:016x} of run 'held', trial 2\n" in text
    assert "  We argue that this is right. (con, 3)\n" in text
    assert (debate["source_run_tag"], debate["source_debate_id"], debate["trial"]) == ("held", f"{1:016x}", 2)
    assert len(debate["turns"]) == 4


def test_judges_are_shown_with_their_methods_and_what_they_wrote(database: Path):
    debate = find_debate(database, f"j1-{1:016x}", "again")
    lines = debate_text(debate).splitlines()
    assert [line.split()[:3] for line in lines if line.startswith(("judge-a", "always_tie"))] == [
        ["judge-a", "chronological_v1", "pro"],
        ["always_tie", "always_tie", "tie"],
    ]
    assert lines.count("── notes of judge-a (chronological_v1)") == 1
    for title in ("Speech 1, pro", "The whole debate", "Score of con: 6 (logic)", "Winner: pro", "Reason", "Summary"):
        assert lines.count(title) == 1, title
    assert [note["step"] for note in debate["notes"]][-1] == "summary"


def test_a_note_cannot_pass_for_a_line_of_ours(database: Path):
    text = debate_text(find_debate(database, f"j1-{1:016x}", "again"))
    assert text.count("\n── verdicts\n") == 1
    assert text.count("\n  ── verdicts\n") > 1
    assert not set(text) & set("\x00\x1b\u202e\u2066\u200b\U000e0041")


def test_a_debate_of_four_teams_shows_positions(database: Path):
    text = debate_text(find_debate(database, "j1-bp_002", "teams"))
    assert "\n── OG: " in text
    assert "\nScore of CG: 7.5 (logic)\n" in text
    assert "\nWinner: CG\n" in text


def test_a_debate_of_its_own_names_no_source_and_no_method(database: Path):
    text = debate_text(find_debate(database, f"{1:016x}", "held"))
    assert "those of debate" not in text
    assert "method" not in text
    assert "── notes" not in text
