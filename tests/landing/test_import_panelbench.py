"""PanelBench: DebateArt's two sides, British Parliamentary's four teams, and their gold verdicts."""

from __future__ import annotations

import csv
import shutil
from decimal import Decimal
from pathlib import Path

import pytest
import yaml
from imported import PANELBENCH, add_import, bad_records, counts, landed, only, rows, units

from debatebench.shared.records import Debate, Gold, Participant, Topic, Turn
from debatebench.shared.workspace import Workspace

BP_SPEAKERS = {"OG": "pro", "CG": "pro", "OO": "con", "CO": "con"}


@pytest.fixture
def source(tmp_path: Path) -> Path:
    """A copy of the hand-written PanelBench folder that a test may damage."""
    return Path(shutil.copytree(PANELBENCH, tmp_path / "panelbench"))


def replace(file: Path, old: str, new: str) -> None:
    text = file.read_text(encoding="utf-8")
    assert old in text
    file.write_text(text.replace(old, new), encoding="utf-8")


def test_speakers_of_two_sides_become_pro_and_con():
    debate = next(d for d in rows("panelbench", PANELBENCH, Debate) if d.debate_id == "debateart_0007")
    assert (debate.format, debate.pro_model_id, debate.con_model_id) == ("two_sided", "1234", "yes")
    turns = [turn for turn in rows("panelbench", PANELBENCH, Turn) if turn.debate_id == "debateart_0007"]
    assert [(t.turn_index, t.side, t.model_id) for t in turns] == [
        (0, "pro", "1234"),
        (1, "con", "yes"),
        (2, "pro", "1234"),
        (3, "con", "yes"),
    ]


def test_text_arrives_as_it_was_written():
    contents = [turn.content for turn in rows("panelbench", PANELBENCH, Turn) if turn.debate_id == "debateart_0007"]
    assert contents == [
        "Rain fills wells.\\\nIt's also \\[1\\] quiet.\n",
        'Snow "sleeps" — and melts \\ slowly.',
        "> Snow breaks roofs.\n\nIndeed.\n",
        "Forfeit",
    ]


def test_a_side_of_several_debaters_has_no_single_one_but_every_participant():
    debate = next(d for d in rows("panelbench", PANELBENCH, Debate) if d.debate_id == "debateart_0012")
    assert (debate.pro_model_id, debate.con_model_id) == (None, "queen")
    participants = [p for p in rows("panelbench", PANELBENCH, Participant) if p.debate_id == "debateart_0012"]
    assert [(p.position, p.model_id, p.side) for p in participants] == [
        ("pro", "rook", "pro"),
        ("pro_2", "pawn", "pro"),
        ("con", "queen", "con"),
    ]


def test_no_information_is_no_info_slide_with_or_without_a_full_stop():
    slides = {topic.motion: topic.info_slide for topic in rows("panelbench", PANELBENCH, Topic)}
    assert slides == {
        "Rain is better than snow": None,
        "Chess is a sport": 'A sport is what "newspapers" print on the last page.',
        "This House Would ban homework: today.": None,
    }


def test_british_parliamentary_keeps_four_teams():
    debate = next(d for d in rows("panelbench", PANELBENCH, Debate) if d.debate_id == "bp_002")
    assert (debate.format, debate.pro_model_id, debate.con_model_id) == ("british_parliamentary", None, None)
    participants = [p for p in rows("panelbench", PANELBENCH, Participant) if p.debate_id == "bp_002"]
    assert {p.position: p.side for p in participants} == BP_SPEAKERS
    assert all(p.model_id == p.position for p in participants)
    assert [t.position for t in rows("panelbench", PANELBENCH, Turn) if t.debate_id == "bp_002"] == [
        "OG",
        "OO",
        "CG",
        "CO",
    ]
    assert debate.metadata["names"]["OG"] == "Opening_Government_(OG)"


def test_gold_verdicts_are_exact_labels_by_unit():
    gold = [g for g in rows("panelbench", PANELBENCH, Gold) if g.debate_id == "debateart_0007"]
    assert [(g.unit, g.label, g.winner, g.winning_positions) for g in gold] == [
        ("winner", Decimal(0), "pro", ("pro",)),
        ("argument", Decimal(0), "pro", ("pro",)),
        ("source", Decimal("0.5"), "tie", ("pro", "con")),
        ("language", Decimal(1), "con", ("con",)),
    ]
    assert {g.vote_count for g in gold} == {3}
    assert gold[0].metadata == {"is_many_round": True, "is_long": False}


def test_four_team_gold_names_the_winning_teams_and_no_side():
    (gold,) = [g for g in rows("panelbench", PANELBENCH, Gold) if g.debate_id == "bp_002"]
    assert (gold.label, gold.winner, gold.winning_positions) == (None, None, ("OO", "CG"))


@pytest.mark.parametrize("name", ["DebateArt", "BP-Competition"])
def test_one_set_can_be_given_alone(name: str):
    everything = {unit.key for unit in units("panelbench", PANELBENCH)}
    found = {unit.key for unit in units("panelbench", PANELBENCH / name)}
    assert found
    assert found < everything


MOTION, SPEECH = "DebateArt/motion/debateart_0007.yml", "DebateArt/speech/debateart_0007.yml"
BP_MOTION = "BP-Competition/motion/bp_002.yml"
FINAL, BP_GOLD = "DebateArt/gold/final.csv", "BP-Competition/gold/gold.csv"


@pytest.mark.parametrize(
    ("file", "old", "new", "expected"),
    [
        (MOTION, "- yes\n- 1234", "- 1234\n- yes", "speech_order"),
        (MOTION, "- name: yes", "- name: 1234", "'1234' occurs twice"),
        (MOTION, "motion: Rain", "motion: ''\nmore: Rain", "motion.motion: text must not be blank"),
        (MOTION, "pro_side:", "pro:", "motion.pro_side: field required"),
        (MOTION, "motion: Rain", "motion: A\nmotion: Rain", "the key 'motion' twice"),
        (SPEECH, "- debater_name: 1234\n  content: |", "- content: |", "speech[2].debater_name: field required"),
        (SPEECH, "content: Forfeit", "content: [a]", "speech[3].content"),
        (SPEECH, "content: Forfeit", "content: 'Forfeit", "speech/debateart_0007.yml: It is not YAML"),
        (BP_MOTION, "Closing_Government_(CG)\ncon", "Closing_Opposition_(CO)\ncon", "occurs twice"),
        (BP_MOTION, "  - name: Closing_Government_(CG)\n", "", "needs OG and CG"),
    ],
)
def test_a_debate_that_contradicts_itself_is_refused(source: Path, file: str, old: str, new: str, expected: str):
    replace(source / file, old, new)
    (bad,) = bad_records("panelbench", source)
    assert bad.where == file.replace("speech", "motion")
    assert expected in bad.reason


@pytest.mark.parametrize(
    ("file", "old", "new", "line", "expected"),
    [
        (FINAL, "3,0.0", "3,0.4", ":2", "none of 0 (pro), 0.5 (tie) and 1 (con)"),
        (FINAL, "3,0.0", "3,sNaN", ":2", "none of 0"),
        (FINAL, "3,0.0", "3.5,0.0", ":2", "vote_count must be a whole number"),
        (FINAL, "7,True", "x,True", ":2", "dart_id must be a whole number"),
        (FINAL, "12,False", "7,False", ":3", "differs from the verdict"),
        (FINAL, "False,3,0.0", "False,0.0", "", "Line 2 has 4 cells instead of 5"),
        (FINAL, "dart_id,", "id,", "", "must name the columns dart_id or bp_id"),
        (BP_GOLD, "OO,CG", "OO,XX", ":2", "not a list of teams. Known: OG, OO, CG, CO"),
        (BP_GOLD, '"OO,CG"', '"OO,CG', "", "is not CSV"),
    ],
)
def test_a_bad_gold_verdict_is_refused(source: Path, file: str, old: str, new: str, line: str, expected: str):
    replace(source / file, old, new)
    (bad,) = bad_records("panelbench", source)
    assert bad.where == file + line
    assert expected in bad.reason


def test_a_speaker_who_stands_on_no_side_is_refused(source: Path):
    replace(source / "DebateArt/motion/debateart_0007.yml", "- name: yes", "- name: no")
    (bad,) = bad_records("panelbench", source)
    assert "speech[1]: 'yes' is not on a side" in bad.reason


@pytest.mark.parametrize(("missing", "other"), [("motion", "speech"), ("speech", "motion")])
def test_a_debate_without_its_other_file_is_refused(source: Path, missing: str, other: str):
    (source / "DebateArt" / missing / "debateart_0007.yml").unlink()
    (bad,) = bad_records("panelbench", source)
    assert (bad.where, missing in bad.reason) == (f"DebateArt/{other}/debateart_0007.yml", True)


def test_gold_of_a_debate_that_is_not_there_is_kept_with_a_warning(source: Path, tmp_path: Path):
    with (source / "DebateArt/gold/final.csv").open("a", encoding="utf-8") as file:
        file.write("99,False,False,1,1.0\n")
    report = add_import(Workspace(tmp_path), "pb", "panelbench", source)
    assert report.added == {"debate": 3, "gold": 4}
    assert ["'debateart_0099'" in warning for warning in report.warnings] == [True]


def test_the_real_sets_land_completely(shared: Path, tmp_path: Path):
    source = shared / "panelbench"
    workspace = Workspace(tmp_path)
    report = add_import(workspace, "pb", "panelbench", source)
    assert report.added == {"debate": 71, "gold": 71}
    assert report.warnings == ()
    speeches = {
        file.stem: yaml.load(file.read_bytes(), Loader=yaml.CSafeLoader)
        for file in sorted(source.glob("*/speech/*.yml"))
    }
    with landed(workspace, "pb") as con:
        formats = "select format, count(*) from raw.debates group by 1 order by 1"
        assert con.execute(formats).fetchall() == [("british_parliamentary", 11), ("two_sided", 60)]
        assert con.execute(
            "select debate_id, list(content order by turn_index) from raw.turns group by 1 order by 1"
        ).fetchall() == sorted((stem, [speech["content"] for speech in found]) for stem, found in speeches.items())
        assert (
            only(con, "select count(*) from raw.debates where format = 'two_sided' and pro_model_id = con_model_id")
            == 0
        )
        seats = con.execute(
            "select debate_id, string_agg(position, ' ' order by position), count(*) from raw.participants "
            "where debate_id like 'bp%' group by 1"
        ).fetchall()
        assert {(positions, count) for _, positions, count in seats} == {("CG CO OG OO", 4)}
        assert con.execute(
            "select winner, count(*) from raw.gold where unit = 'winner' and winner is not null group by 1 order by 1"
        ).fetchall() == [("con", 33), ("pro", 21), ("tie", 6)]
        assert con.execute(
            "select unnest(winning_positions) as position, count(*) from raw.gold where debate_id like 'bp%' "
            "group by 1 order by 1"
        ).fetchall() == [("CG", 4), ("CO", 3), ("OG", 4), ("OO", 8)]


def test_the_real_gold_lands_label_by_label(shared: Path, tmp_path: Path):
    source = shared / "panelbench" / "DebateArt"
    workspace = Workspace(tmp_path)
    add_import(workspace, "pb", "panelbench", source)
    with (source / "gold" / "dimension.csv").open(encoding="utf-8", newline="") as file:
        stated = sorted(
            (f"debateart_{int(row['dart_id']):04d}", row["dimension"], Decimal(row["label"]), int(row["vote_count"]))
            for row in csv.DictReader(file)
        )
    assert len(stated) == 180
    with landed(workspace, "pb") as con:
        found = con.execute(
            "select debate_id, unit, label, vote_count from raw.gold where unit <> 'winner' order by all"
        ).fetchall()
        assert found == stated
        assert counts(con)["debates"] == 60
        assert only(con, "select count(*) from raw.gold join raw.debates using (run_tag, debate_id)") == 240
