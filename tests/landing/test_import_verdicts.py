"""The format `verdicts`: what a row may say in each of three forms, what is refused and how, and what is kept."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import duckdb
import pytest
from imported import add_import, bad_records, counts, kept_records, landed, only, rows

from debatebench.landing.importers.kept import kept_manifest, read_import
from debatebench.shared.errors import DamagedDataError, DebatebenchError
from debatebench.shared.records import Debate, JudgeNote, Score, Topic, Verdict
from debatebench.shared.workspace import Workspace

HEADER = "debate_id,judge_id,winner,margin,pro_model_id,con_model_id"
WINNER_ONLY = {
    "transcript": {
        "debate_id": "d1",
        "topic": {"id": "t1", "motion": "Libraries should open on Sundays."},
        "pro_model_id": "m-a",
        "con_model_id": "m-b",
        "turns": [{"index": 0, "speaker": "pro", "content": "One."}, {"index": 1, "speaker": "con", "content": "Two."}],
    },
    "judges": [{"judge_id": "j1", "winner": "pro"}, {"judge_id": "j2", "winner": "con"}, {"judge_id": "j3"}],
}


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    return Workspace(tmp_path / "workspace")


def csv_file(path: Path, *lines: str, header: str = HEADER) -> Path:
    path.write_text("\n".join((header, *lines)) + "\n", encoding="utf-8")
    return path


def jsonl_file(path: Path, *values: Any) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(value) + "\n" for value in values), encoding="utf-8")
    return path


def test_the_three_forms_of_a_file_say_the_same(tmp_path: Path):
    whole = {
        "debate_id": "d",
        "judge_id": "j",
        "winner": "NEG",
        "presented_first": "pro",
        "reason": 'It said "no",\nand =1+1 <b>',
        "topic_id": 81,
        "motion": "Cats are better.",
        "category": "animals",
        "pro_model_id": "a",
        "con_model_id": "b",
        "pro_scores": {"clarity": 2.5},
        "con_scores": {"clarity": 7},
        "note": "kept",
    }
    of_jsonl = jsonl_file(tmp_path / "v.jsonl", whole)
    of_parquet = tmp_path / "v [1].parquet"
    with duckdb.connect() as con:
        con.execute(f"copy (from '{of_jsonl}') to '{of_parquet}'")
    columns = [*(name for name in whole if "scores" not in name), "pro_scores.clarity", "con_scores.clarity"]
    flat = {**whole, "pro_scores.clarity": 2.5, "con_scores.clarity": 7}
    cells = ['"' + str(flat[name]).replace('"', '""') + '"' for name in columns]
    of_csv = csv_file(tmp_path / "v.csv", ",".join(cells), header=",".join(columns))
    expected = [
        Verdict(
            run_tag="t",
            debate_id="d",
            judge_id="j",
            panel_position=0,
            presented_first="pro",
            is_valid=True,
            declared_winner="con",
            scores=(Score(dimension="clarity", pro="2.5", con="7"),),
            metadata={"note": "kept"},
        )
    ]
    for path in (of_jsonl, of_parquet, of_csv):
        assert rows("verdicts", path, Verdict) == expected, path
        assert [(t.topic_id, t.motion, t.category) for t in rows("verdicts", path, Topic)] == [
            ("81", "Cats are better.", "animals")
        ]
        assert [note.text for note in rows("verdicts", path, JudgeNote)] == [whole["reason"]]


def test_a_topic_is_known_by_its_motion_or_else_by_its_debate(tmp_path: Path):
    path = csv_file(
        tmp_path / "v.csv",
        "d1,j,pro,a,b,One.",
        "d2,j,pro,a,b,One.",
        "d3,j,pro,a,b,",
        header="debate_id,judge_id,winner,pro_model_id,con_model_id,motion",
    )
    first, second, third = rows("verdicts", path, Debate)
    assert first.topic_id == second.topic_id
    assert first.topic_id.startswith("topic-")
    assert third.topic_id == "d3"


FAULTS = {
    "d,j,maybe,,a,b": "winner: 'maybe' is not pro, con or tie; leave it empty where there is none.",
    "d,j,pro,-3,a,b": "margin: -3 is a verdict for con, and winner is pro; a margin is positive for pro, "
    "negative for con and 0 for a tie.",
    "d,j,,much,a,b": "margin: 'much' is not a number; leave it empty where there is none.",
    "d,j,,nan,a,b": "margin: 'nan' is not a number; leave it empty where there is none.",
    ",j,pro,,a,b": "debate_id: it is empty, and every verdict needs one.",
    "d,\u200b,pro,,a,b": "judge_id: it is empty, and every verdict needs one.",
    "d,j,pro,,a,": "con_model_id: it is empty, and the debate 'd' needs both debaters.",
    "first,k,pro,,a,c": "con_model_id: the debate 'first' has 'c' here and 'b' in v.csv:2; write one of them in both.",
    "first,j,con,,a,b": "judge_id: 'j' has a verdict on the debate 'first' already; number its verdicts in the column "
    "trial, from 1, or leave one out.",
    "d,j,pro,,a": "It has 5 fields, and the header names 6 columns.",
    'd,"j"j,pro,,a,b': "It is not CSV: ',' expected after '\"'.",
}


@pytest.mark.parametrize("line", FAULTS)
def test_a_bad_row_is_refused_with_file_line_and_column(tmp_path: Path, line: str):
    path = csv_file(tmp_path / "v.csv", "first,j,pro,,a,b", line, "last,j,pro,,a,b")
    assert [(bad.where, bad.reason) for bad in bad_records("verdicts", path)] == [("v.csv:3", FAULTS[line])]


def test_a_file_without_what_makes_verdicts_is_refused(tmp_path: Path):
    for header, said in {
        "debate;judge;winner": "There is no column debate_id; the file has 'debate;judge;winner'.",
        "debate_id,judge_id,notes": "There is no column winner, margin, pro_scores or con_scores, and one is needed; ",
        "debate_id,judge_id,winner,winner": "The column 'winner' occurs twice in the header.",
    }.items():
        (bad,) = bad_records("verdicts", csv_file(tmp_path / "v.csv", "d,j,pro,x", header=header))
        assert (bad.where, bad.reason.startswith(said)) == ("v.csv:1", True), bad.reason
    (tmp_path / "v.parquet").write_text("no")
    (bad,) = bad_records("verdicts", tmp_path / "v.parquet")
    assert bad.reason.startswith("It cannot be read as Parquet: ")
    assert "\n" not in bad.reason
    (tmp_path / "v.csv").write_bytes(HEADER.encode() + b"\n\xff,j,pro,,a,b\n")
    (bad,) = bad_records("verdicts", tmp_path / "v.csv")
    assert bad.reason == "Line 2 is not UTF-8; save the file as UTF-8."


def test_scores_are_exact_and_of_both_sides(tmp_path: Path):
    row = {"debate_id": "d", "judge_id": "j", "pro_model_id": "a", "con_model_id": "b"}
    path = jsonl_file(
        tmp_path / "v.jsonl",
        {**row, "pro_scores": {"x": 1}, "con_scores": {}},
        {**row, "pro_scores": {"x": True}, "con_scores": {"x": 1}},
        {**row, "pro_scores": {"x": 0.1234567}, "con_scores": {"x": 1}},
        {**row, "pro_scores": 3, "con_scores": 1},
    )
    reasons = [bad.reason for bad in bad_records("verdicts", path)]
    assert reasons[0] == "con_scores: it has no score of 'x', and pro_scores has one; score both sides or neither."
    assert reasons[1] == "pro_scores.x: True is not a number; leave it empty where there is none."
    assert reasons[2] == "The scores of 'x' (0.1234567, 1.0) are not exact to six decimals."
    assert reasons[3].startswith("pro_scores: 3 is not an object of scores")


def test_a_verdict_of_the_original_may_only_name_a_winner(tmp_path: Path):
    found = rows("debatebench", jsonl_file(tmp_path / "d.jsonl", WINNER_ONLY), Verdict)
    assert [(each.is_valid, each.invalid_reason, each.declared_winner, each.scores) for each in found] == [
        (True, None, "pro", None),
        (True, None, "con", None),
        (False, "no scores", None, None),
    ]


def test_verdicts_are_added_to_debates_that_are_there_and_to_no_others(workspace: Workspace, tmp_path: Path):
    more = csv_file(tmp_path / "more.csv", "d1,j9,,-3,,")
    with pytest.raises(
        DamagedDataError, match=r"'j9' on 'd1' in more.csv:2 is on a debate that is not there, so nothing"
    ):
        add_import(workspace, "t", "verdicts", more)
    assert not (workspace.imports / "t").exists()
    add_import(workspace, "t", "debatebench", jsonl_file(tmp_path / "d.jsonl", WINNER_ONLY))
    with landed(workspace, "t") as con:
        before = counts(con)
    report = add_import(workspace, "t", "verdicts", more)
    assert report.added == {"verdict": 1}
    assert kept_manifest(workspace.imports / "t").manifest_version == 2
    with landed(workspace, "t") as con:
        # Its judge has a row, too.
        after = {**before, "verdicts": 4, "judges": 4}
        assert {name: count for name, count in counts(con).items() if name != "run_settings"} == {
            name: count for name, count in after.items() if name != "run_settings"
        }
        assert only(con, "select declared_winner from raw.verdicts where judge_id = 'j9'") == "con"
    again = csv_file(tmp_path / "again.csv", "d1,j1,con,,,")
    with pytest.raises(
        DebatebenchError, match=r"'j1' on 'd1' in again.csv:2 is one more: 0001/d.jsonl:1 has a verdict"
    ):
        add_import(workspace, "t", "verdicts", again)
    described = csv_file(tmp_path / "described.csv", "d1,j8,con,,m-a,m-b")
    with pytest.raises(DebatebenchError, match="Leave out the columns that describe debates"):
        add_import(workspace, "t", "verdicts", described, replace=True)
    assert add_import(workspace, "t", "verdicts", more).ignored == 1
    changed = csv_file(tmp_path / "more.csv", "d1,j9,pro,,,")
    with pytest.raises(DebatebenchError, match=r"differs from the one kept under 't' in 0002/more.csv:2"):
        add_import(workspace, "t", "verdicts", changed)
    assert add_import(workspace, "t", "verdicts", changed, replace=True).replaced == 1


def test_a_folder_brings_its_debates_and_a_second_trial_is_a_debate_of_its_own(workspace: Workspace, tmp_path: Path):
    folder = tmp_path / "both"
    jsonl_file(folder / "debates.jsonl", {**WINNER_ONLY, "judges": []})
    csv_file(
        folder / "a.csv", "d1,j,pro,pro,1", "d1,j,con,con,2", header="debate_id,judge_id,winner,presented_first,trial"
    )
    add_import(workspace, "t", "verdicts", folder)
    records = list(kept_records(workspace.imports / "t"))
    debates = [(r.debate_id, r.source_debate_id, r.trial) for r in records if isinstance(r, Debate)]
    assert debates == [("d1", None, 1), ("d1~2", "d1", 2)]
    verdicts = [(r.debate_id, r.declared_winner, r.presented_first) for r in records if isinstance(r, Verdict)]
    assert verdicts == [("d1", "pro", "pro"), ("d1~2", "con", "con")]


def test_two_motions_under_one_id_are_refused_or_kept_apart_for_good(workspace: Workspace, tmp_path: Path):
    header = "debate_id,judge_id,winner,pro_model_id,con_model_id,topic_id,motion"
    two = csv_file(tmp_path / "two.csv", "d,j,pro,a,b,t,One.", "e,j,pro,a,b,t,Two.", header=header)
    with pytest.raises(DamagedDataError) as refused:
        add_import(workspace, "t", "verdicts", two)
    assert any("--on-conflict keep-both makes two topics of them" in line for line in refused.value.details)
    report = add_import(workspace, "t", "verdicts", two, on_conflict="keep-both")
    assert report.warnings == ("The topic 't' has another motion in two.csv:3 than before; it is kept apart as 't~2'.",)
    later = csv_file(tmp_path / "later.csv", "f,j,pro,a,b,t,Two.", "g,j,pro,a,b,t,Three.", header=header)
    add_import(workspace, "t", "verdicts", later)
    records = list(kept_records(workspace.imports / "t"))
    assert {r.debate_id: r.topic_id for r in records if isinstance(r, Debate)} == {
        "d": "t",
        "e": "t~2",
        "f": "t~2",
        "g": "t~3",
    }
    assert {r.topic_id: r.motion for r in records if isinstance(r, Topic)} == {
        "t": "One.",
        "t~2": "Two.",
        "t~3": "Three.",
    }
    assert list(read_import(workspace.imports / "t")) == list(read_import(workspace.imports / "t"))
