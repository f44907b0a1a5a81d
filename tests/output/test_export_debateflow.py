"""DebateFlow's JSON, read by DebateFlow's own schemas: what it does not read is kept apart, and comes back."""

from __future__ import annotations

import json
from datetime import datetime
from pathlib import Path
from typing import Any

import duckdb
import pytest
from built_warehouse import begin_built
from exported import NOON, land_runs, played_records
from imported import DEBATEFLOW, add_import
from jsonschema import Draft202012Validator, FormatChecker

from debatebench.output.export import export
from debatebench.shared.records import Debater, Topic
from debatebench.shared.workspace import Workspace
from debatebench.warehouse.update import update_warehouse

pytestmark = pytest.mark.slow

KEYS = {"burden": "burden_of_proof"}
"""Names of keyed scores that mean the same in the files of DebateFlow."""


@pytest.fixture(scope="module")
def schemas(shared: Path) -> dict[str, Draft202012Validator]:
    """DebateFlow's schemas of a debate and of an annotation."""
    folder = shared / "debateflow"
    return {
        name: Draft202012Validator(
            json.loads((folder / f"{name}.schema.json").read_text()), format_checker=FormatChecker()
        )
        for name in ("debate", "annotation")
    }


def read(folder: Path) -> dict[str, Any]:
    return {path.stem: json.loads(path.read_text(encoding="utf-8")) for path in sorted(folder.glob("*.json"))}


def refused(schema: Draft202012Validator, files: dict[str, Any]) -> dict[str, list[str]]:
    """File → what the schema says against it."""
    found = {name: [error.message for error in schema.iter_errors(value)] for name, value in files.items()}
    return {name: messages for name, messages in found.items() if messages}


def imported(root: Path, source: Path, run_tag: str = "flow") -> Workspace:
    workspace = Workspace(begin_built(root))
    add_import(workspace, run_tag, "debateflow", source)
    update_warehouse(workspace, None, now=lambda: NOON)
    return workspace


def landed(workspace: Workspace) -> dict[str, list[Any]]:
    tables = ("debates", "turns", "annotations", "weaknesses", "topics", "debaters", "participants")
    with duckdb.connect(str(workspace.database), read_only=True) as con:
        return {
            table: con.execute(
                f"select * exclude (run_tag{', source_position' if table in ('debates', 'topics') else ''}) "
                f"from raw.{table} order by all"
            ).fetchall()
            for table in tables
        }


def keyed(source: dict[str, Any]) -> dict[str, Any]:
    """A keyed annotation as it is written here: the files of DebateFlow have sides and names in two ways."""
    scores = {
        KEYS.get(name, name): {side.upper(): value for side, value in sides.items()}
        for name, sides in source["scores"].items()
    }
    said = {**source, "scores": scores, "winner": source["winner"].upper()}
    if "timestamp" in said:
        said["timestamp"] = datetime.fromisoformat(said["timestamp"])
    return said


def test_debateflow_reads_its_own_debates_and_annotations_again(
    shared: Path, schemas: dict[str, Draft202012Validator], tmp_path: Path
):
    source = shared / "debateflow"
    workspace = imported(tmp_path / "w", source)
    out = {shape: tmp_path / shape for shape in ("debateflow", "debateflow-keyed")}
    for shape, folder in out.items():
        export(workspace, shape, folder, run_tags=["flow"])
    debates = read(out["debateflow"] / "debates")
    # Not one null less: a control has a constraint of nulls.
    assert {each["metadata"]["debate_id"]: each for each in read(source / "debates").values()} == debates
    assert len(debates) == 20
    assert any(each["metadata"]["constraint"] == {"type": None, "target_side": None} for each in debates.values())
    annotations = read(out["debateflow"] / "annotations")
    assert len(annotations) == 8
    assert (refused(schemas["debate"], debates), refused(schemas["annotation"], annotations)) == ({}, {})
    assert not (out["debateflow"] / "other").exists()
    # The other shape has no schema, and real files: what is read of theirs is what is written.
    theirs = {
        f"{each['debate_id']}_{each['annotator']}": keyed(each)
        for each in read(source / "annotations").values()
        if "scores" in each
    }
    ours = {name: keyed(each) for name, each in read(out["debateflow-keyed"] / "annotations").items() if name in theirs}
    assert len(ours) == 5
    assert ours == theirs
    # The schemas can refuse.
    name, debate = next(iter(debates.items()))
    del debate["metadata"]["constraint"]
    assert list(refused(schemas["debate"], {name: debate})) == [name]


ODD: dict[str, dict[str, Any]] = {
    "category": {"category": "justice"},
    "no-category": {"category": None},
    "unknown": {"is_control": None, "constraint": None},
    "no-provider": {"aff_model": {"model_name": "birch"}},
    "own-weakness": {
        "constraint": {"type": None, "target_side": "aff", "own_type": "narrow_concession", "taxonomy": "mine"}
    },
    "plain": {},
}
"""Debate → what its metadata has instead of that of a debate of the fixture."""
JUDGED: dict[str, tuple[str, dict[str, Any]]] = {
    "whole": ("plain", {}),
    "half": ("plain", {"dimension_scores": [{"dimension": "clash_engagement", "aff_score": 2.5, "neg_score": 2}]}),
    "silent": ("plain", {"winner_justification": None, "dimension_scores": None}),
    "tie": ("plain", {"winner": "tie"}),
    "undecided": ("plain", {"winner": None}),
    "timeless": ("plain", {"annotated_at": None}),
    "elsewhere": ("category", {}),
}
"""Annotator → the debate, and what the annotation has instead."""


def odd_collection(folder: Path) -> Path:
    """Debates and annotations that debatebench imports, of which DebateFlow reads some."""
    debate = json.loads((DEBATEFLOW / "debates" / "aaaa0001.json").read_text())
    for name in ("debates", "annotations"):
        (folder / name).mkdir(parents=True)
    for name, changed in {**ODD, "role": {}}.items():
        metadata = {**debate["metadata"], "debate_id": name, "resolution": f"The motion of {name}.", **changed}
        turns = (
            [{**turn, "role": "cross-examination"} for turn in debate["turns"]] if name == "role" else debate["turns"]
        )
        (folder / "debates" / f"{name}.json").write_text(json.dumps({"metadata": metadata, "turns": turns}))
    for name, (judged, changed) in JUDGED.items():
        annotation = {
            "debate_id": judged,
            "annotator_id": name,
            "winner": "aff",
            "winner_justification": "Better.",
            "dimension_scores": [{"dimension": "clash_engagement", "aff_score": 3, "neg_score": 2}],
            "annotated_at": "2026-02-01T12:00:00Z",
            **changed,
        }
        (folder / "annotations" / f"{name}.json").write_text(json.dumps(annotation))
    return folder


def test_what_debateflow_does_not_read_is_kept_apart_and_comes_back(
    schemas: dict[str, Draft202012Validator], tmp_path: Path
):
    workspace = imported(tmp_path / "w", odd_collection(tmp_path / "odd"))
    out = export(workspace, "debateflow", tmp_path / "out", run_tags=["flow"]).folder
    debates, annotations = read(out / "debates"), read(out / "annotations")
    assert (set(debates), set(annotations)) == (
        {"plain", "own-weakness"},
        {"plain_whole", "plain_half", "plain_silent"},
    )
    assert (refused(schemas["debate"], debates), refused(schemas["annotation"], annotations)) == ({}, {})
    assert annotations["plain_half"]["dimension_scores"] == []
    # All that is kept apart is refused, but for the annotation of a debate that is.
    others = {name: read(out / "other" / f"{name}s") for name in schemas}
    assert set(refused(schemas["debate"], others["debate"])) == set(others["debate"])
    assert set(others["debate"]) == {*ODD, "role"} - set(debates)
    assert set(others["annotation"]) == {"plain_tie", "plain_undecided", "plain_timeless", "category_elsewhere"}
    assert set(refused(schemas["annotation"], others["annotation"])) == set(others["annotation"]) - {
        "category_elsewhere"
    }
    again, before = landed(imported(tmp_path / "again", out)), landed(workspace)
    # A half point and an empty text are what the format cannot say.
    assert before["weaknesses"] == again["weaknesses"]
    assert {table for table, found in before.items() if found != again[table]} == {"annotations"}
    assert len(before["annotations"]) == len(again["annotations"]) == len(JUDGED)


def test_a_debate_that_was_played_without_a_weakness_is_a_control_to_debateflow(
    schemas: dict[str, Draft202012Validator], tmp_path: Path
):
    workspace = Workspace(begin_built(tmp_path / "w"))
    records = [
        each.model_copy(update={"category": "policy"})
        if isinstance(each, Topic)
        else each.model_copy(update={"provider": "simulated"})
        if isinstance(each, Debater)
        else each
        for each in played_records("played")
    ]
    land_runs(workspace, {"played": records})
    out = export(workspace, "debateflow", tmp_path / "out", run_tags=["played"]).folder
    debates = read(out / "debates")
    assert len(debates) == 2
    assert refused(schemas["debate"], debates) == {}
    assert all(each["metadata"]["is_control"] is True for each in debates.values())
