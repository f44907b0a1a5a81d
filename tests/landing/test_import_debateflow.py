"""DebateFlow: debates with injected weaknesses, and annotations in both shapes."""

from __future__ import annotations

import json
import shutil
from copy import deepcopy
from datetime import datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from imported import DEBATEFLOW, add_import, bad_records, counts, landed, only, rows, units

from debatebench.config.parts import load_rubric
from debatebench.shared.records import Annotation, Debate, Debater, Topic, Turn, Weakness
from debatebench.shared.workspace import Workspace, packaged

DIMENSIONS = [
    "clash_engagement",
    "burden_fulfillment",
    "rebuttal_quality",
    "argument_extension",
    "strategic_adaptation",
]
DEBATE = json.loads((DEBATEFLOW / "debates" / "aaaa0001.json").read_text(encoding="utf-8"))
LISTED = json.loads((DEBATEFLOW / "annotations" / "aaaa0001_KL.json").read_text(encoding="utf-8"))
KEYED = json.loads((DEBATEFLOW / "annotations" / "aaaa0001_MN.json").read_text(encoding="utf-8"))


def write(path: Path, record: Any) -> Path:
    path.write_text(json.dumps(record), encoding="utf-8")
    return path


def with_scores(scores: Any) -> dict[str, Any]:
    return {**KEYED, "scores": scores}


def test_aff_is_pro_and_neg_is_con():
    debate = rows("debateflow", DEBATEFLOW, Debate)[0]
    assert (debate.pro_model_id, debate.con_model_id) == ("birch", "alder")
    turns = [turn for turn in rows("debateflow", DEBATEFLOW, Turn) if turn.debate_id == "aaaa0001"]
    assert [(t.side, t.model_id, t.stage) for t in turns] == [
        ("pro", "birch", "opening"),
        ("con", "alder", "response"),
        ("pro", "birch", "rebuttal"),
        ("con", "alder", "closing"),
    ]


def test_a_debater_keeps_its_provider():
    assert {(d.model_id, d.provider) for d in rows("debateflow", DEBATEFLOW, Debater)} >= {
        ("birch", "north"),
        ("alder", "south"),
    }


def test_an_injected_weakness_lands_on_its_side_and_a_control_debate_has_none():
    (weakness,) = rows("debateflow", DEBATEFLOW, Weakness)
    assert (weakness.debate_id, weakness.side, weakness.weakness_type) == ("aaaa0001", "con", "weak_evidence")
    # The source does not say where it should cost points.
    assert (weakness.taxonomy, weakness.dimension) == ("debateflow", None)
    assert [(d.debate_id, d.is_control) for d in rows("debateflow", DEBATEFLOW, Debate)] == [
        ("aaaa0001", False),
        ("aaaa0002", True),
    ]


def test_one_resolution_is_one_topic_whoever_debates_it():
    first, second = rows("debateflow", DEBATEFLOW, Topic)
    assert first == second
    assert first.topic_id == "df-65844665"
    assert (first.motion, first.category) == ("Bridges should be painted blue", "policy")


def test_both_shapes_of_annotation_mean_the_same():
    listed, keyed, tied = rows("debateflow", DEBATEFLOW, Annotation)
    assert [s.dimension for s in listed.scores or ()] == [s.dimension for s in keyed.scores or ()] == DIMENSIONS
    assert [(s.pro, s.con) for s in listed.scores or ()] == [(3, 2), (2, 1), (2, 2), (3, 1), (1, 1)]
    assert [(s.pro, s.con) for s in keyed.scores or ()] == [(1, 3), (2, 3), (2, 2), (1, 2), (2, 3)]
    assert (listed.winner, keyed.winner, tied.winner) == ("pro", "con", "tie")
    assert (listed.justification, keyed.justification) == ("Paint was costed.", "Blue fades.")
    assert (listed.annotated_at, keyed.annotated_at) == (datetime(2026, 2, 3, 8), datetime(2026, 2, 4, 8))
    assert (listed.annotator_id, listed.source, keyed.annotator_id) == ("KL", "letter", "MN")
    assert listed.metadata == {"annotation_version": "0.1.0", "audio_listened": True}


@pytest.mark.parametrize("shape", [LISTED, KEYED], ids=["listed", "keyed"])
def test_confidence_and_coherence_are_read_where_a_source_has_them(tmp_path: Path, shape: dict[str, Any]):
    path = write(tmp_path / "one.json", {**shape, "confidence": 4, "is_coherent": False})
    (annotation,) = rows("debateflow", path, Annotation)
    assert (annotation.confidence, annotation.is_coherent) == (4, False)
    for field, value in (("confidence", 6), ("confidence", "high"), ("is_coherent", "yes")):
        (bad,) = bad_records("debateflow", write(tmp_path / "one.json", {**shape, field: value}))
        assert bad.reason.startswith(f"{field}: ")


@pytest.mark.parametrize(
    "given", [".", "debates", "annotations", "debates/aaaa0001.json", "annotations/aaaa0001_MN.json"]
)
def test_the_folder_one_of_its_folders_or_one_file_can_be_given(given: str):
    everything = {unit.key for unit in units("debateflow", DEBATEFLOW)}
    found = {unit.key for unit in units("debateflow", DEBATEFLOW / given)}
    assert found
    assert found <= everything
    assert (found == everything) == (given == ".")


def test_a_compiled_jsonl_holds_one_record_per_line(tmp_path: Path):
    path = tmp_path / "debates.jsonl"
    path.write_text(f"{json.dumps(DEBATE)}\n\n{json.dumps(LISTED)}\n", encoding="utf-8")
    assert [(unit.key, unit.where) for unit in units("debateflow", path)] == [
        (("debate", "aaaa0001"), "debates.jsonl:1"),
        (("annotation", "aaaa0001", "KL"), "debates.jsonl:3"),
    ]


def no_target(record: dict[str, Any]) -> dict[str, Any]:
    record["metadata"]["constraint"]["target_side"] = None
    return record


@pytest.mark.parametrize(
    ("record", "expected"),
    [
        ({**KEYED, "winner": "both"}, "winner"),
        ({**KEYED, "timestamp": "soon"}, "timestamp: a time must be ISO 8601 text"),
        (with_scores({"clash": {"AFF": 3}}), "scores.clash.neg: field required"),
        (with_scores({"clash": {"AFF": 3, "aff": 2, "NEG": 1}}), "a side occurs twice"),
        (with_scores({"clash": {"AFF": "3", "NEG": 1}}), "scores.clash.aff"),
        (with_scores({"clash": {"AFF": 4, "NEG": 1}}), "less than or equal to 3, found 4"),
        (with_scores({"style": {"AFF": 3, "NEG": 1}}), "No dimension 'style'. Known: clash_engagement"),
        (
            with_scores({"burden": {"AFF": 3, "NEG": 1}, "burden_of_proof": {"AFF": 3, "NEG": 1}}),
            "The dimension burden_fulfillment is scored twice.",
        ),
        (
            {**LISTED, "dimension_scores": [{"dimension": "clash_engagement", "aff_score": 1}]},
            "dimension_scores[0].neg_score",
        ),
        ({**LISTED, "annotator_id": ""}, "annotator_id: text must not be blank"),
        (no_target(deepcopy(DEBATE)), "the weakness 'weak_evidence' has no target_side"),
        ({**DEBATE, "turns": []}, "turns"),
        ({**DEBATE, "turns": [{"speaker": "judge", "text": "Order."}]}, "turns[0].speaker"),
        ({"debate_id": "x"}, "neither a debate"),
        ([DEBATE], "neither a debate"),
    ],
)
def test_a_record_that_breaks_the_format_is_refused_with_the_reason(tmp_path: Path, record: Any, expected: str):
    (bad,) = bad_records("debateflow", write(tmp_path / "x.json", record))
    assert bad.where == "x.json"
    assert expected in bad.reason


def test_annotations_may_come_before_their_debates_with_a_warning(tmp_path: Path):
    workspace = Workspace(tmp_path)
    report = add_import(workspace, "df", "debateflow", DEBATEFLOW / "annotations")
    assert report.added == {"annotation": 3}
    assert len(report.warnings) == 1
    assert "3 annotations" in report.warnings[0]
    with landed(workspace, "df") as con:
        assert counts(con) == {"annotations": 3, "dimensions": 5, "run_settings": 56, "runs": 1}
    report = add_import(workspace, "df", "debateflow", DEBATEFLOW)
    assert (report.added, report.ignored, report.warnings) == ({"debate": 2}, 3, ())
    with landed(workspace, "df") as con:
        assert counts(con)["annotations"] == 3
        assert counts(con)["debates"] == 2


def test_an_annotation_of_an_unknown_debate_is_named_in_the_warning(tmp_path: Path):
    shutil.copytree(DEBATEFLOW, tmp_path / "df")
    write(tmp_path / "df" / "annotations" / "zz.json", {**KEYED, "debate_id": "zzzz9999"})
    report = add_import(Workspace(tmp_path / "w"), "df", "debateflow", tmp_path / "df")
    assert ["'zzzz9999'" in warning for warning in report.warnings] == [True]


def test_scales_and_scores_land_exactly(tmp_path: Path):
    workspace = Workspace(tmp_path)
    add_import(workspace, "df", "debateflow", DEBATEFLOW)
    with landed(workspace, "df") as con:
        assert con.execute(
            "select dimension, min_score, max_score from raw.dimensions order by source_position"
        ).fetchall() == [(name, Decimal(1), Decimal(3)) for name in DIMENSIONS]
        assert only(con, "select sum(s.con) from (select unnest(scores) as s from raw.annotations)") == 30


def test_a_weakness_that_the_taxonomy_lacks_lands_without_a_dimension(tmp_path: Path):
    debate = deepcopy(DEBATE)
    debate["metadata"]["constraint"]["type"] = "mumbling"
    (weakness,) = rows("debateflow", write(tmp_path / "x.json", debate), Weakness)
    assert (weakness.weakness_type, weakness.dimension) == ("mumbling", None)


def test_debates_alone_bring_the_rubric_so_that_they_can_be_annotated(tmp_path: Path):
    workspace = Workspace(tmp_path)
    add_import(workspace, "df", "debateflow", DEBATEFLOW / "debates")
    with landed(workspace, "df") as con:
        assert counts(con)["dimensions"] == len(DIMENSIONS)
        assert "annotations" not in counts(con)


def test_the_rubric_lands_with_what_its_dimensions_and_scores_mean(tmp_path: Path):
    workspace = Workspace(tmp_path)
    add_import(workspace, "df", "debateflow", DEBATEFLOW)
    rubric = load_rubric(packaged("configs") / "rubrics" / "debateflow.yaml").dimensions
    with landed(workspace, "df") as con:
        found = con.execute("select dimension, description, anchors, by_category from raw.dimensions").fetchall()
        injected = "select value from raw.run_settings where item = 'weaknesses' and part = 'injected'"
        assert only(con, injected) == "weak_evidence"
    assert {name: (text, json.loads(anchors), asked and json.loads(asked)) for name, text, anchors, asked in found} == {
        name: (dimension.description, dimension.anchors, dimension.columns()["by_category"])
        for name, dimension in rubric.items()
    }


def test_the_real_debates_and_annotations_land_completely(shared: Path, tmp_path: Path):
    source = shared / "debateflow"
    workspace = Workspace(tmp_path)
    report = add_import(workspace, "df", "debateflow", source)
    assert report.added == {"debate": 20, "annotation": 8}
    assert report.warnings == ()
    debates = [json.loads(file.read_text(encoding="utf-8")) for file in sorted((source / "debates").glob("*.json"))]
    with landed(workspace, "df") as con:
        found = counts(con)
        assert (found["debates"], found["turns"], found["annotations"], found["participants"]) == (20, 80, 8, 40)
        assert only(con, "select sum(length(content)) from raw.turns") == sum(
            len(turn["text"]) for debate in debates for turn in debate["turns"]
        )
        assert found["weaknesses"] == sum(d["metadata"]["constraint"]["type"] is not None for d in debates)
        assert found["weaknesses"] == only(con, "select count(*) from raw.debates where not is_control")
        assert only(con, "select count(distinct motion) from raw.topics") == found["topics"]
        assert con.execute("select debate_id from raw.annotations group by 1 having count(*) = 2").fetchall() == [
            ("0003dc00",)
        ]
        assert only(con, "select count(*) from raw.annotations where len(scores) = 5 and winner is not null") == 8
        assert set(
            con.execute("select distinct s.dimension from (select unnest(scores) as s from raw.annotations)").fetchall()
        ) == {(name,) for name in DIMENSIONS}
