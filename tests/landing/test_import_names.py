"""Names that look the same are one name, in whichever form a source writes them."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any
from unicodedata import normalize

import pytest
from imported import add_import, bad_records, landed, units

from debatebench.landing.importers import importer_of
from debatebench.landing.importers.base import Imported, Purpose
from debatebench.shared.records import Debater
from debatebench.shared.workspace import Workspace

COMPOSED, SPLIT = "José", normalize("NFD", "José")
SPELLINGS = (COMPOSED, SPLIT, "José ", "\u200bJosé", "Jos\u2060é", "\tJos\u0065\u0301")


def written(path: Path, *debates: dict[str, Any]) -> Path:
    path.write_text("".join(json.dumps(each, ensure_ascii=False) + "\n" for each in debates))
    return path


def debate(spell: Callable[[str], str] = str, *, debate_id: str = "d", **more: Any) -> dict[str, Any]:
    """A debate in which `spell` writes every name."""
    name = spell("José")
    scores = {name: 7}
    return {
        "transcript": {
            "debate_id": spell(debate_id),
            "topic": {"id": name, "motion": normalize("NFC", "Is José right?"), "category": name},
            "pro_model_id": name,
            "con_model_id": "b",
            "turns": [{"index": 0, "speaker": "pro", "content": SPLIT}],
        },
        "judges": [{"judge_id": name, "pro": {"scores": scores}, "con": {"scores": scores}}],
        "aggregate": {"mean_pro": scores, "mean_con": scores},
        **more,
    }


def test_two_spellings_are_one_debater_judge_topic_category_and_dimension(tmp_path: Path) -> None:
    assert len({*SPELLINGS}) == len(SPELLINGS)
    debates = [
        debate(lambda text, n=n, spelling=spelling: spelling if text == "José" else f"{text}{n}")
        for n, spelling in enumerate(SPELLINGS)
    ]
    workspace = Workspace(tmp_path)
    add_import(workspace, "t", "debatebench", written(tmp_path / "debates.jsonl", *debates))
    queries = {
        "select model_id from raw.debaters order by all": [("José",), ("b",)],
        "select judge_id from raw.judges": [("José",)],
        "select topic_id, category from raw.topics": [("José", "José")],
        "select dimension from raw.dimensions": [("José",)],
        "select distinct pro_model_id, topic_id, dimension_order from raw.debates": [("José", "José", ["José"])],
        "select distinct judge_id, scores[1].dimension from raw.verdicts": [("José", "José")],
        "select distinct model_id from raw.participants where side = 'pro'": [("José",)],
        # What is said stays as it was written.
        "select distinct model_id, content from raw.turns": [("José", SPLIT)],
        "select count(*) from raw.debates": [(len(SPELLINGS),)],
    }
    with landed(workspace, "t") as con:
        for query, rows in queries.items():
            assert con.execute(query).fetchall() == rows, query


@pytest.mark.parametrize("spelling", SPELLINGS)
def test_a_kept_source_is_read_with_the_same_names(tmp_path: Path, spelling: str) -> None:
    path = written(tmp_path / "debates.jsonl", debate(lambda _: spelling))
    purposes: tuple[Purpose, ...] = ("rows", "accepted", "kept")
    found = [
        [unit for unit in importer_of("debatebench").read(path, "t", purpose) if isinstance(unit, Imported)]
        for purpose in purposes
    ]
    assert [[unit.key for unit in each] for each in found] == [[("debate", "José")]] * 3
    assert [row.json for row in found[0][0].rows(0)] == [row.json for row in found[1][0].rows(0)]
    assert found[0][0].digest() == found[2][0].digest()


def test_names_that_differ_for_a_reader_stay_different(tmp_path: Path) -> None:
    ids = ["gpt", "GPT", "gpt-4", "gpt 4", "\u0440\u0435", "pe"]
    path = written(tmp_path / "debates.jsonl", *(debate(lambda _, id_=id_: id_) for id_ in ids))
    shared = [record for unit in units("debatebench", path) for record in unit.shared]
    found = {record.model_id for record in shared if isinstance(record, Debater)}
    assert found == {*ids, "b"}


@pytest.mark.parametrize(
    ("changed", "reason"),
    [
        ({"judges": [{"judge_id": each, "pro": {"scores": {}}, "con": {"scores": {}}} for each in (COMPOSED, SPLIT)]},
         "judges: the judge_id 'José' occurs twice"),
        ({"judges": [{"judge_id": "j", **{side: {"scores": {COMPOSED: 7, SPLIT: 8}} for side in ("pro", "con")}}]},
         "judges[0].pro.scores: two keys must not be the same name in different spellings"),
        ({"judges": [{"judge_id": "\u200b", "pro": {"scores": {}}, "con": {"scores": {}}}]},
         "judges[0].judge_id: text must not be blank"),
    ],
)  # fmt: skip
def test_two_spellings_of_one_name_in_one_debate_are_refused(tmp_path: Path, changed: Any, reason: str) -> None:
    (bad,) = bad_records("debatebench", written(tmp_path / "debates.jsonl", debate(**changed)))
    assert bad.reason.startswith(reason)


def test_annotations_in_two_spellings_are_of_one_annotator_and_debate(tmp_path: Path) -> None:
    for n, spelling in enumerate((COMPOSED, SPLIT)):
        value = {"debate_id": f"{spelling}-{n}", "annotator": spelling, "winner": "AFF"}
        (tmp_path / f"{n}.json").write_text(json.dumps(value))
    keys = [unit.key for unit in units("debateflow", tmp_path)]
    assert keys == [("annotation", "José-0", "José"), ("annotation", "José-1", "José")]
