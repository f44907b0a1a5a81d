"""Annotations from the form to the warehouse: journals, landing, assignments, reviews, and what the command refuses."""

from __future__ import annotations

import errno
import json
import os
import re
import shutil
import socket
from collections import Counter
from contextlib import closing
from datetime import datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import duckdb
import pytest
import yaml
from annotating import QUESTIONS, TAG, full_form, imported_workspace, made_workspace
from built_warehouse import begin_built
from command_line import debatebench_here
from hypothesis import given
from hypothesis import strategies as st
from imported import DEBATEFLOW, add_import
from jsonschema import Draft202012Validator

from debatebench.journal.lines import JOURNAL_FORMAT
from debatebench.journal.reading import read_journal
from debatebench.journal.writing import write_journal
from debatebench.landing.annotation_journals import annotations_folder
from debatebench.landing.annotation_writing import FormJournal, StaleError
from debatebench.output.annotation.assignments import (
    Team,
    change_team,
    in_order,
    left_out_in_words,
    open_team,
    share_out,
    team_status,
)
from debatebench.output.annotation.debates import read_material
from debatebench.output.annotation.form_words import change_in_words
from debatebench.output.annotation.merging import merge_forms
from debatebench.output.annotation.review import differences, is_apart, open_review, proposed
from debatebench.output.annotation.review_views import review_data, review_in_list
from debatebench.output.annotation.session import IncompleteError, Session, open_session
from debatebench.output.annotation.views import Views
from debatebench.output.export import export
from debatebench.shared.errors import DamagedDataError, DebatebenchError, NewerDataError, UsageError
from debatebench.shared.workspace import Workspace, packaged
from debatebench.warehouse.doctor import examine
from debatebench.warehouse.salvage import salvage
from debatebench.warehouse.update import update_warehouse

pytestmark = pytest.mark.slow

SHARED = Path(__file__).resolve().parents[3] / "shared" / "data"
"""The real data beside a checkout, which may not be there."""

NOON = datetime(2026, 1, 1, 12)
FLOW = ("clash_engagement", "burden_fulfillment", "rebuttal_quality", "argument_extension", "strategic_adaptation")


def now() -> datetime:
    return NOON


def session_of(workspace: Workspace, annotator: str = "ann", run_tag: str = TAG, **more: Any) -> Session:
    return open_session(workspace, run_tag, annotator, now=now, **more)


def annotate(workspace: Workspace, annotator: str, run_tag: str = "flow", **changed: Any) -> None:
    """Hand in a form about every debate."""
    session = session_of(workspace, annotator, run_tag)
    for debate in session.debates:
        session.hand_in(debate, 0, full_form(tuple(each.name for each in debate.dimensions), **changed))


def land(workspace: Workspace, run_tag: str | None = None, **more: Any) -> dict[str, str]:
    tags = None if run_tag is None else [run_tag]
    return update_warehouse(workspace, tags, now=now, build=False, **more).set_aside


def rows(workspace: Workspace, sql: str) -> list[tuple[Any, ...]]:
    with closing(duckdb.connect(str(workspace.database), read_only=True)) as con:
        return con.execute(sql).fetchall()


def annotators(workspace: Workspace) -> list[tuple[Any, ...]]:
    return rows(workspace, "select annotator_id, count(*) from raw.annotations group by 1 order by 1")


# --- landing --------------------------------------------------------------------------------------------------------


def test_an_annotation_lands_beside_those_of_the_import(tmp_path: Path):
    workspace = imported_workspace(tmp_path)
    annotate(workspace, "ann")
    assert land(workspace) == {}
    assert annotators(workspace) == [("KL", 1), ("MN", 2), ("ann", 2)]
    (row,) = rows(
        workspace,
        "select winner, justification, len(scores), scores[1].dimension, scores[1].pro, confidence, is_coherent, "
        "annotated_at, source from raw.annotations where annotator_id = 'ann' and debate_id = 'aaaa0001'",
    )
    assert row == (
        *("pro", "Con never answered the second speech.", 5, "clash_engagement", 3, 4, True, NOON),
        "debatebench annotate",
    )


def test_an_annotation_stays_when_the_run_lands_again_and_when_the_warehouse_is_built_again(tmp_path: Path):
    workspace = imported_workspace(tmp_path)
    annotate(workspace, "ann")
    land(workspace)
    before = rows(workspace, "from raw.annotations order by all")
    (tmp_path / "more").mkdir()
    debate = json.loads((DEBATEFLOW / "debates" / "aaaa0001.json").read_text())
    debate["metadata"]["debate_id"] = "aaaa0009"
    (tmp_path / "more" / "new.json").write_text(json.dumps(debate))
    add_import(workspace, "flow", "debateflow", tmp_path / "more")
    land(workspace, "flow")
    assert rows(workspace, "from raw.annotations order by all") == before
    workspace.database.unlink()
    land(workspace, from_scratch=True)
    assert rows(workspace, "from raw.annotations order by all") == before
    assert land(workspace) == {}


def test_what_has_not_changed_does_not_land_again(tmp_path: Path):
    workspace = imported_workspace(tmp_path)
    annotate(workspace, "ann")
    assert [each.rows is None for each in update_warehouse(workspace, None, now=now, build=False).landed] == [False]
    assert [each.rows is None for each in update_warehouse(workspace, None, now=now, build=False).landed] == [True]
    annotate(workspace, "ben")
    assert [each.rows is None for each in update_warehouse(workspace, None, now=now, build=False).landed] == [False]


def test_neither_a_draft_nor_an_annotation_that_was_changed_later_lands(tmp_path: Path):
    workspace = imported_workspace(tmp_path)
    session = session_of(workspace, run_tag="flow")
    first, second = session.debates
    session.save(first, 0, full_form(FLOW))
    land(workspace)
    assert ("ann", 1) not in annotators(workspace)
    session.hand_in(first, 1, full_form(FLOW, winner="con"))
    session.hand_in(first, 2, full_form(FLOW, winner="tie"))
    session.save(second, 0, full_form(FLOW))
    land(workspace)
    mine = "select winner from raw.annotations where annotator_id = 'ann'"
    assert rows(workspace, mine) == [("tie",)]
    # What was handed in is not the last word any more, also if it has landed.
    session.save(first, 3, full_form(FLOW, winner="pro"))
    land(workspace)
    assert rows(workspace, mine) == []
    (finding,) = [each for each in examine(workspace) if each.finding == "not_handed_in"]
    assert f"debate '{first.debate_id}'" in finding.place
    assert "1 annotation of 'ann' changed after the hand-in" in finding.detail
    assert not finding.is_damage
    assert finding.detail in debatebench_here(tmp_path, "land", "--no-build").err
    assert session_of(workspace, run_tag="flow").next_key() == first.key
    # A change back is what was handed in.
    session.save(first, 4, full_form(FLOW, winner="tie"))
    land(workspace)
    assert rows(workspace, mine) == [("tie",)]


def test_a_run_of_our_own_keeps_annotations_in_the_built_warehouse(copied: Path):
    workspace = Workspace(copied)
    session = session_of(workspace, run_tag="t")
    for debate in session.debates[:2]:
        session.hand_in(debate, 0, full_form(tuple(each.name for each in session.debates[0].dimensions)))
    assert debatebench_here(copied, "land").code == 0
    assert rows(workspace, "select count(*), count(distinct debate_id) from marts.annotations") == [(2, 2)]
    assert rows(workspace, "select count(*) from marts.debates")[0][0] > 2
    again = debatebench_here(copied, "build", "--from-journals")
    assert (again.code, rows(workspace, "select count(*) from marts.annotations")) == (0, [(2,)])


def test_a_lost_journal_of_annotations_is_not_forgotten_silently(tmp_path: Path):
    workspace = imported_workspace(tmp_path)
    annotate(workspace, "ann")
    land(workspace)
    path = annotations_folder(workspace.journal, "flow") / "ann.jsonl"
    path.rename(tmp_path / "elsewhere")
    assert "has lost or changed records" in land(workspace)["flow"]
    assert ("ann", 2) in annotators(workspace)
    assert [finding.finding for finding in examine(workspace)] == ["lost_records"]
    assert land(workspace, "flow", replace_landed=True) == {}
    assert ("ann", 2) not in annotators(workspace)


def test_a_journal_that_was_deleted_while_a_page_is_open_is_named_and_no_empty_one_takes_its_place(tmp_path: Path):
    workspace = imported_workspace(tmp_path)
    session = session_of(workspace, run_tag="flow")
    first, second = session.debates
    form = full_form(FLOW)
    session.save(first, 0, form)
    path = annotations_folder(workspace.journal, "flow") / "ann.jsonl"
    kept = path.rename(tmp_path / "kept")
    later = session_of(workspace, run_tag="flow")
    for save in (
        lambda: session.save(first, 1, full_form(FLOW, winner="con")),
        lambda: session.hand_in(second, 0, form),
        lambda: session.state(first),
        lambda: later.save(first, 1, form),
    ):
        with pytest.raises(DamagedDataError, match=r"ann\.jsonl, which holds what was saved before, was deleted"):
            save()
        assert not path.exists()
    kept.rename(path)
    assert session.save(first, 1, full_form(FLOW, winner="con")).revision == 2
    path.write_bytes(b"")
    with pytest.raises(DamagedDataError, match="deleted or emptied"):
        session.save(first, 2, form)


def test_an_annotation_of_another_run_or_name_does_not_land(tmp_path: Path):
    workspace = imported_workspace(tmp_path)
    annotate(workspace, "ann")
    folder = annotations_folder(workspace.journal, "flow")
    shutil.copy(folder / "ann.jsonl", folder / "ben.jsonl")
    with pytest.raises(DamagedDataError, match="under this name"):
        land(workspace, "flow")


def test_an_import_cannot_bring_annotations_of_someone_who_has_annotated_here(tmp_path: Path):
    workspace = imported_workspace(tmp_path)
    annotate(workspace, "ann")
    land(workspace)
    theirs = json.loads((DEBATEFLOW / "annotations" / "aaaa0001_KL.json").read_text())
    (tmp_path / "more.json").write_text(json.dumps({**theirs, "annotator_id": "ann"}))
    with pytest.raises(UsageError, match="'ann' has annotated 'flow' in this workspace"):
        add_import(workspace, "flow", "debateflow", tmp_path / "more.json")
    (tmp_path / "more.json").write_text(json.dumps({**theirs, "annotator_id": "NO"}))
    add_import(workspace, "flow", "debateflow", tmp_path / "more.json")
    assert land(workspace) == {}
    assert annotators(workspace) == [("KL", 1), ("MN", 2), ("NO", 1), ("ann", 2)]


# --- doctor ---------------------------------------------------------------------------------------------------------


def test_doctor_knows_the_journals_of_annotations(tmp_path: Path):
    workspace = imported_workspace(tmp_path)
    assert examine(workspace) == []
    annotate(workspace, "ann")
    assert [(finding.run_tag, finding.finding) for finding in examine(workspace)] == [("flow", "not_landed")]
    land(workspace)
    assert examine(workspace) == []


def test_doctor_finds_a_damaged_line_and_salvages_the_others(tmp_path: Path):
    workspace = imported_workspace(tmp_path)
    annotate(workspace, "ann")
    path = annotations_folder(workspace.journal, "flow") / "ann.jsonl"
    path.write_bytes(path.read_bytes().replace(b'"confidence":4', b'"confidence":5', 1))
    (finding,) = examine(workspace)
    assert (finding.finding, finding.is_damage, "line 2" in finding.place) == ("damaged_annotations", True, True)
    with pytest.raises(DamagedDataError, match="line 2"):
        session_of(workspace, run_tag="flow")
    saved = salvage(path)
    assert saved is not None
    assert (saved.events, saved.lost) == (2, 1)
    saved.target.rename(path)
    assert land(workspace) == {}
    assert ("ann", 1) in annotators(workspace)


def test_doctor_finds_annotations_of_a_run_that_is_gone(tmp_path: Path):
    workspace = imported_workspace(tmp_path)
    annotate(workspace, "ann")
    workspace.imports.rename(tmp_path / "elsewhere")
    workspace.database.unlink()
    assert [finding.finding for finding in examine(workspace)] == ["lost_source"]


def test_a_torn_last_line_is_set_aside_by_the_next_save(tmp_path: Path):
    workspace = made_workspace(tmp_path / "w")
    session = session_of(workspace)
    debate = session.debates[0]
    session.save(debate, 0, full_form())
    path = annotations_folder(workspace.journal, TAG) / "ann.jsonl"
    whole = path.read_bytes()
    session.save(debate, 1, full_form(winner="con"))
    path.write_bytes(path.read_bytes()[:-7])
    again = session_of(workspace)
    assert again.state(debate).form["winner"] == "pro"
    assert again.save(debate, 1, full_form(winner="tie")).revision == 2
    assert path.read_bytes().startswith(whole)
    assert session_of(workspace).state(debate).form["winner"] == "tie"
    assert len(list(path.parent.glob("ann.jsonl.torn-*"))) == 1


def test_a_save_that_the_disk_refuses_is_not_acknowledged(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    session = session_of(made_workspace(tmp_path / "w"))
    debate = session.debates[0]
    session.save(debate, 0, full_form())

    def refuse(_: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with monkeypatch.context() as full:
        full.setattr("debatebench.journal.writing.os.fdatasync", refuse)
        with pytest.raises(DebatebenchError, match="No space left on device"):
            session.save(debate, 1, full_form(winner="con"))
    # The same save again succeeds, whether or not the refused one has left its line.
    session.save(debate, 1, full_form(winner="con"))
    assert session_of(Workspace(tmp_path / "w")).state(debate).form["winner"] == "con"


def test_a_text_that_is_deleted_again_does_not_stand_before_what_can_be_undone(tmp_path: Path):
    session = session_of(made_workspace(tmp_path / "w"))
    debate = session.debates[0]
    for revision, text in enumerate((None, "Y", "Yes", None)):
        session.save(debate, revision, {"winner": "pro", "justification": text})
    assert session.state(debate).undo_to == 0
    # The next text is a change of its own.
    session.save(debate, 4, {"winner": "pro", "justification": "No"})
    assert session.go_back(debate, 5, "undo").state.form["justification"] is None
    assert session.go_back(debate, 6, "undo").state.form == {}


def test_a_hand_in_can_be_undone_with_a_version_aside(tmp_path: Path):
    session = session_of(made_workspace(tmp_path / "w"))
    debate = session.debates[0]
    session.save(debate, 0, full_form(), window="one")
    session.hand_in(debate, 1, full_form(), window="one")
    with pytest.raises(StaleError):
        session.save(debate, 0, full_form(winner="con"), window="two")
    state = session.state(debate)
    assert state.undo_to == 1
    assert change_in_words(state, session.journal.forms().at(debate.debate_id, 1), debate) == "the hand-in"


def test_a_window_whose_answers_were_lost_goes_on_from_its_own_saves_only(tmp_path: Path):
    workspace = made_workspace(tmp_path / "w")
    session, elsewhere = session_of(workspace), session_of(workspace)
    debate = session.debates[0]
    session.save(debate, 0, full_form(), window="one")
    session.hand_in(debate, 1, full_form(), window="one")
    assert session.go_back(debate, 2, "undo", window="one").revision == 3
    # None of the three was answered.
    assert session.save(debate, 0, full_form(winner="con"), window="one").revision == 4
    for window in ("two", None):
        with pytest.raises(StaleError):
            session.save(debate, 3, full_form(winner="tie"), window=window)
    session.drop(debate, 4, "two")
    # Another process has changed it, which nothing here has seen.
    assert elsewhere.save(debate, 4, full_form(winner="tie"), window="one").revision == 5
    with pytest.raises(StaleError):
        session.save(debate, 3, full_form(confidence=1), window="one")


# --- order and assignments ------------------------------------------------------------------------------------------


def test_the_order_is_the_same_at_every_start_and_differs_between_people(tmp_path: Path):
    material = read_material(made_workspace(tmp_path / "w", debates=12).database, TAG)
    orders = {name: in_order(material.debates, TAG, name) for name in ("ann", "ben", "cem")}
    assert all(in_order(material.debates[::-1], TAG, name) == order for name, order in orders.items())
    assert len({tuple(debate.debate_id for debate in order) for order in orders.values()}) == 3


@given(
    st.integers(1, 40), st.integers(1, 6).flatmap(lambda n: st.tuples(st.just(n), st.integers(1, n))), st.integers(0, 9)
)
def test_assignments_are_balanced_to_one_and_every_debate_has_its_people(
    debates: int, sizes: tuple[int, int], seed: int
):
    people, overlap = [f"p{n}" for n in range(sizes[0])], sizes[1]
    found = share_out([f"d{n}" for n in range(debates)], people, overlap, str(seed), {}, {}, {}, {})
    assert len(found) == debates
    assert all(len(set(names)) == overlap for names in found.values())
    loads = Counter(dict.fromkeys(people, 0))
    loads.update(name for names in found.values() for name in names)
    assert max(loads.values()) - min(loads.values()) <= 1


def test_an_assignment_is_kept_and_gives_every_debate_to_two_people(tmp_path: Path):
    workspace = made_workspace(tmp_path / "w", debates=9)
    people = ("ann", "ben", "cem")
    first = session_of(workspace, "ann", annotators=people, overlap=2)
    others = [session_of(workspace, name) for name in people[1:]]
    counts = Counter(debate.debate_id for session in (first, *others) for debate in session.debates)
    assert set(counts.values()) == {2}
    assert len(counts) == 9
    assert [len(session.debates) for session in (first, *others)] == [6, 6, 6]
    assert session_of(workspace, "ann", annotators=people[::-1], overlap=2).debates == first.debates
    with pytest.raises(UsageError, match="not to 'dan'"):
        session_of(workspace, "dan")


def test_debates_that_came_later_are_assigned_too(tmp_path: Path):
    workspace = made_workspace(tmp_path / "w", debates=4)
    session_of(workspace, "ann", annotators=("ann", "ben", "cem"), overlap=2)
    shutil.copy(made_workspace(tmp_path / "grown", debates=9).database, workspace.database)
    sessions = [session_of(workspace, name) for name in ("ann", "ben", "cem")]
    assert [len(session.debates) for session in sessions] == [6, 6, 6]


def test_answers_that_a_reviewer_cleared_stay_cleared_and_can_be_undone(tmp_path: Path):
    workspace = made_workspace(tmp_path / "w", debates=1)
    for name in ("ann", "ben"):
        session = session_of(workspace, name)
        session.hand_in(session.debates[0], 0, full_form())
    eve = open_review(workspace, TAG, "eve", now=now)
    (debate,) = eve.session.debates
    views = Views(eve.session, eve, "")
    cleared = verdict(winner=None, justification=None)

    def shown() -> dict[str, Any]:
        return views.filled_in(debate, eve.session.state(debate)).form

    agreed = shown()
    assert agreed["winner"] == "pro"
    for revision in (0, 2):
        eve.session.save(debate, revision, cleared)
        assert shown() == open_review(workspace, TAG, "eve", now=now).session.state(debate).form
        assert (shown()["winner"], views.state_data(debate, eve.session.state(debate))["undo"]) == (None, "6 answers")
        assert set(review_data(eve, debate)["marks"].values()) == set()
        # Undone to the beginning, the form is filled in again.
        eve.session.go_back(debate, revision + 1, "undo")
        assert shown() == agreed
    # A mark stays beside what is still the answer on which all agree.
    eve.session.save(debate, 4, {**agreed, "winner": "con"})
    marks = review_data(eve, debate)["marks"]
    assert "winner" not in marks
    assert marks["clash.pro"] == "all agree"
    # Another window that clears what was undone to the beginning has a version of its own.
    eve.session.go_back(debate, 5, "undo")
    with pytest.raises(StaleError):
        eve.session.save(debate, 1, cleared, window="w")
    assert list(eve.session.state(debate).asides) == ["w"]


# --- review ---------------------------------------------------------------------------------------------------------


def test_an_agreed_verdict_lands_beside_the_annotations_which_do_not_change(tmp_path: Path):
    workspace = imported_workspace(tmp_path)
    annotate(workspace, "ann", winner="con")
    land(workspace)
    before = rows(workspace, "from raw.annotations order by all")
    review = open_review(workspace, "flow", "ann", now=now)
    debate = review.session.debates[0]
    assert [each.annotator_id for each in review.annotations()[debate.debate_id]] == ["KL", "MN", "ann"]
    form = full_form(FLOW, winner="tie")
    del form["confidence"]
    with pytest.raises(IncompleteError, match="Still missing: the winner"):
        review.session.hand_in(debate, 0, {**form, "winner": None})
    review.session.hand_in(debate, 0, form)
    land(workspace)
    assert rows(workspace, "from raw.annotations order by all") == before
    found = rows(workspace, "select debate_id, adjudicator_id, winner, len(scores) from raw.adjudications")
    assert found == [(debate.debate_id, "ann", "tie", 5)]


def verdict(**changed: Any) -> dict[str, Any]:
    """A form of a review with a winner alone."""
    return {"winner": "pro", "scores": {}, "justification": None, "is_coherent": None, **changed}


def test_debates_on_which_people_differ_come_first_in_a_review(tmp_path: Path):
    workspace = made_workspace(tmp_path / "w", debates=6)
    with closing(duckdb.connect(str(workspace.database))) as con:
        con.execute("delete from raw.annotations")
    one, two, three, four, five, six = sorted(debate.debate_id for debate in open_team(workspace, TAG).debates)
    alike = {"clash": {"pro": 3, "con": 2}, "burden_of_proof_met": {"pro": 2, "con": 2}}
    said = {
        one: {},
        two: {"scores": {**alike, "clash": {"pro": 3, "con": 1}}},
        three: {"scores": {"clash": {"pro": 2, "con": 1}, "burden_of_proof_met": {"pro": 1, "con": 1}}},
        four: {"is_coherent": False},
        five: {"winner": "con"},
        six: {"scores": alike},
    }
    for name in ("ann", "ben"):
        session = session_of(workspace, name)
        for debate in session.debates:
            changed = said[debate.debate_id] if name == "ben" else {}
            session.hand_in(debate, 0, full_form(**{"scores": alike, **changed}))
    review = open_review(workspace, TAG, "eve", now=now)
    people = review.annotations()
    found = {debate.debate_id: differences(people[debate.debate_id], debate) for debate in review.session.debates}
    assert [bool(found[each]) for each in (one, six)] == [False, False]
    assert {*list(found)[:2]} == {four, five}
    assert list(found)[2:] == sorted((one, two, three, six), key=lambda each: (-len(found[each].scores), each))
    assert found[five].words() == "the winner"
    assert found[four].words() == "whether it is a debate"
    agreed = {debate.debate_id: proposed(people[debate.debate_id], debate) for debate in review.session.debates}
    assert agreed[six] == {"is_coherent": True, "scores": alike, "winner": "pro"}
    assert "winner" not in agreed[five]
    assert "is_coherent" not in agreed[four]
    assert agreed[two]["scores"]["clash"] == {"pro": 3}
    assert not any(review.session.state(debate).revision for debate in review.session.debates)


def test_scores_are_apart_in_a_review_as_in_sql():
    sql = packaged("sql") / "macros" / "winners.yml"
    macro = next(each["sql"] for each in yaml.safe_load(sql.read_text())["macros"] if each["name"] == "is_apart")

    with closing(duckdb.connect()) as con:

        @given(st.decimals(0, 30, places=1), st.integers(-5, 5), st.integers(1, 100))
        def check(difference: Decimal, lowest: int, length: int) -> None:
            rule = macro
            values = {"difference": difference, "lowest": lowest, "highest": lowest + length}
            for name, value in values.items():
                rule = re.sub(rf"\b{name}\b", f"{value}::decimal(18, 6)", rule)
            ((expected,),) = con.execute(f"select {rule}").fetchall()
            assert is_apart(difference, Decimal(lowest), Decimal(lowest + length)) is expected

        check()


def test_two_reviewers_see_each_other_and_both_are_kept(tmp_path: Path):
    workspace = imported_workspace(tmp_path)
    annotate(workspace, "ann")
    before = sorted(rows(workspace, "from raw.annotations"), key=str)
    eve, fay = (open_review(workspace, "flow", name, now=now) for name in ("eve", "fay"))
    first, second = eve.session.debates[:2]
    eve.session.hand_in(first, 0, verdict())
    assert [each.adjudicator_id for each in fay.others()[first.debate_id]] == ["eve"]
    fay.session.hand_in(first, 0, verdict(winner="con"))
    eve.session.hand_in(second, 0, verdict(winner=None, is_coherent=False, justification="Two monologues."))
    assert review_data(eve, first)["together"].startswith("Reviewers differ on the winner")
    land(workspace)
    found = rows(
        workspace, "select debate_id, adjudicator_id, winner, is_coherent from raw.adjudications order by 2, 1"
    )
    assert found == [
        *sorted([(first.debate_id, "eve", "pro", None), (second.debate_id, "eve", None, False)]),
        (first.debate_id, "fay", "con", None),
    ]
    people = sorted(rows(workspace, "from raw.annotations where annotator_id <> 'ann'"), key=str)
    assert people == before


def test_all_agree_is_said_of_two_who_judged_and_reviewers_are_not_counted_as_them(tmp_path: Path):
    workspace = made_workspace(tmp_path / "w", debates=1)
    with closing(duckdb.connect(str(workspace.database))) as con:
        con.execute("delete from raw.annotations")
    annotate(workspace, "ann", run_tag=TAG)
    skipping = session_of(workspace, "ben")
    (debate,) = skipping.debates
    skipping.hand_in(debate, 0, full_form(winner=None, scores={}, is_coherent=None, skip_reason="language"))
    eve = open_review(workspace, TAG, "eve", now=now)
    assert review_data(eve, debate)["proposed"]["winner"] == "pro"
    assert review_data(eve, debate)["marks"] == {}
    skipping.go_back(debate, 1, "undo")
    eve.session.hand_in(debate, 0, verdict())
    page = Views(
        fay := open_review(workspace, TAG, "fay", now=now).session, open_review(workspace, TAG, "fay", now=now), ""
    )
    assert "One person has annotated this debate." in page.debate(fay.debates[0])
    session_of(workspace, "dan").hand_in(debate, 0, full_form())
    assert "They do not differ." in page.debate(fay.debates[0])
    assert "all agree" in set(review_data(open_review(workspace, TAG, "fay", now=now), debate)["marks"].values())


def test_a_changed_review_is_reached_when_its_only_annotation_was_changed_too(tmp_path: Path):
    workspace = made_workspace(tmp_path / "w", debates=2)
    with closing(duckdb.connect(str(workspace.database))) as con:
        con.execute("delete from raw.annotations")
    session = session_of(workspace, "ann")
    debate = session.debates[0]
    session.hand_in(debate, 0, full_form())
    review = open_review(workspace, TAG, "eve", now=now).session
    review.hand_in(debate, 0, verdict())
    review.save(debate, 1, verdict(winner="con"))
    session.save(debate, 1, full_form(winner="con"))
    again = open_review(workspace, TAG, "eve", now=now)
    assert [each.debate_id for each in again.session.debates] == [debate.debate_id]
    page = Views(again.session, again, "")
    assert "Nobody has annotated this debate now." in page.debate(debate)
    assert "1 changed and not handed in" in page.overview()
    with pytest.raises(UsageError, match="no annotations to review"):
        open_review(workspace, TAG, "fay", now=now)


def test_a_debate_that_was_agreed_not_to_be_one_needs_only_reasons(tmp_path: Path):
    workspace = imported_workspace(tmp_path)
    session = open_review(workspace, "flow", "eve", now=now).session
    with pytest.raises(IncompleteError, match="Still missing: the winner"):
        session.hand_in(session.debates[0], 0, verdict(winner=None, justification="no debate"))
    with pytest.raises(IncompleteError, match="Still missing: the reasons"):
        session.hand_in(session.debates[0], 0, verdict(winner=None, is_coherent=False))
    session.hand_in(session.debates[0], 0, verdict(is_coherent=False, justification="no debate"))
    land(workspace)
    assert rows(workspace, "select winner, scores, is_coherent from raw.adjudications") == [(None, None, False)]


def test_the_journal_of_all_reviewers_of_earlier_versions_is_read_and_taken_over(tmp_path: Path):
    workspace = imported_workspace(tmp_path)
    review = open_review(workspace, "flow", "eve", now=now)
    common = FormJournal(annotations_folder(workspace.journal, "flow") / "_adjudications.jsonl", "flow")
    for name, debate in zip(("eve", "fay"), review.session.debates, strict=True):
        form = {"winner": "tie", "scores": {}, "justification": "As we said."}
        record = review.session.record(debate, verdict(winner="tie"), "2026-01-01T12:00:00").model_dump(mode="json")
        common.save(debate.debate_id, name, 0, form, "2026-01-01T12:00:00", {**record, "adjudicator_id": name})
    land(workspace)
    names = "select adjudicator_id, winner from raw.adjudications order by 1"
    assert rows(workspace, names) == [("eve", "tie"), ("fay", "tie")]
    session = open_review(workspace, "flow", "eve", now=now).session
    (done,) = [debate for debate in session.debates if session.state(debate).is_handed_in]
    session.hand_in(done, session.state(done).revision, verdict(winner="con"))
    land(workspace)
    assert rows(workspace, names) == [("eve", "con"), ("fay", "tie")]


def ten_debates(tmp_path: Path) -> Workspace:
    """A workspace with the import `ten`: debates e0 to e9, annotated by ann and ben."""
    debate = json.loads((DEBATEFLOW / "debates" / "aaaa0001.json").read_text())
    (tmp_path / "ten").mkdir()
    for n in range(10):
        debate["metadata"]["debate_id"] = f"e{n}"
        (tmp_path / "ten" / f"e{n}.json").write_text(json.dumps(debate))
    workspace = Workspace(begin_built(tmp_path / "w"))
    add_import(workspace, "ten", "debateflow", tmp_path / "ten")
    land(workspace)
    annotate(workspace, "ann", "ten", winner="pro")
    annotate(workspace, "ben", "ten", winner="con")
    return workspace


def test_ten_debates_reviewed_by_two_keep_every_original_and_who_agreed_on_what(tmp_path: Path):
    workspace = ten_debates(tmp_path)
    land(workspace)
    originals = rows(workspace, "from raw.annotations order by debate_id, annotator_id")
    said = {
        **{
            f"e{n}": (verdict(winner="con"), verdict(winner="con", scores={"rebuttal_quality": {"pro": 1, "con": 3}}))
            for n in range(6)
        },
        "e6": (verdict(winner="pro"), verdict(winner="tie")),
        "e7": (verdict(winner=None, is_coherent=False, justification="no debate"),) * 2,
        "e8": (verdict(), verdict(winner=None, is_coherent=False, justification="no debate")),
        "e9": (verdict(winner="tie"), None),
    }
    for place, name in enumerate(("eve", "fay")):
        session = open_review(workspace, "ten", name, now=now).session
        for debate in session.debates:
            if (form := said[debate.debate_id][place]) is not None:
                session.hand_in(debate, 0, form)
    update_warehouse(workspace, None, now=now)
    assert rows(workspace, "from raw.annotations order by debate_id, annotator_id") == originals
    assert rows(workspace, "select adjudicator_id, count(*) from raw.adjudications group by 1 order by 1") == [
        ("eve", 10),
        ("fay", 9),
    ]
    together = dict(rows(workspace, "select debate_id, outcome from intermediate.int_agreed_verdicts"))
    assert together == {
        **{f"e{n}": "agreed" for n in (0, 1, 2, 3, 4, 5, 9)},
        "e6": "reviewers_differ_on_the_winner",
        "e7": "not_coherent",
        "e8": "reviewers_differ_on_coherence",
    }
    truths = rows(
        workspace, "select truth, debate_id, winner from marts.truths where dimension = 'overall' order by all"
    )
    assert truths == [
        *[("adjudicated", f"e{n}", "con") for n in range(6)],
        ("adjudicated", "e9", "tie"),
        *[("annotations", f"e{n}", "tie") for n in range(10) if n != 7],
    ]
    parted = rows(
        workspace,
        "select debate_id, adjudicated_winner, review_outcome, reviewers from marts.people_differences "
        "where unit = 'winner' and is_parted and debate_id in ('e0', 'e6', 'e9') order by 1",
    )
    assert parted == [
        ("e0", "con", "agreed", "eve, fay"),
        ("e6", None, "reviewers_differ_on_the_winner", "eve, fay"),
        ("e9", "tie", "agreed", "eve"),
    ]
    # What all reviewers call no debate is left out of agreement, and of what weaknesses show, of people and of judges.
    found = rows(workspace, "select unit, count_debates from marts.people_agreement where unit = 'winner'")
    assert found == [("winner", 9)]
    no_debate = "from marts.people_differences where debate_id = 'e7'"
    assert rows(workspace, f"select unit, is_parted, review_outcome {no_debate}") == [
        ("coherence", False, "not_coherent")
    ]
    for relation in (
        "int_opinions",
        "int_people_pairs",
        "int_weakness_debates",
        "int_weakness_verdicts",
        "int_truth_debates",
    ):
        ids = rows(workspace, f"select distinct debate_id from intermediate.{relation} order by 1")
        assert ids == [(f"e{n}",) for n in range(10) if n != 7], relation
    folder = export(workspace, "debateflow", tmp_path / "out", run_tags=["ten"]).folder
    reviews = sorted((folder / "adjudications").glob("*.json"))
    assert [path.stem for path in reviews][:3] == ["e0_eve", "e0_fay", "e1_eve"]
    other = Workspace(tmp_path / "other")
    add_import(other, "ten", "debateflow", folder)
    land(other)
    for table in ("annotations", "adjudications"):
        assert rows(other, f"from raw.{table} order by all") == rows(workspace, f"from raw.{table} order by all")
    with pytest.raises(UsageError, match="'eve' has reviewed 'ten' in this workspace"):
        add_import(workspace, "ten", "debateflow", folder / "adjudications")
    read = [json.loads(path.read_text()) for path in reviews]
    # DebateFlow's own schema knows no tie and no debate that cannot be judged, so their winner is all that it misses.
    if (schema := SHARED / "debateflow" / "annotation.schema.json").is_file():
        wrong = {
            path.stem: [
                error.message for error in Draft202012Validator(json.loads(schema.read_text())).iter_errors(each)
            ]
            for path, each in zip(reviews, read, strict=True)
        }
        names = {name for name, errors in wrong.items() if errors}
        assert names == {"e6_fay", "e7_eve", "e7_fay", "e8_fay", "e9_eve"}
        assert all("tie" in error or "'winner' is a required" in error for name in names for error in wrong[name])
    assert sorted((each["annotator_id"], each["debate_id"], each.get("winner", "")) for each in read) == rows(
        workspace,
        "select adjudicator_id, debate_id, case winner when 'pro' then 'aff' when 'con' then 'neg' else "
        "coalesce(winner, '') end from raw.adjudications order by all",
    )


def test_a_debate_that_nobody_judged_has_no_truth_and_says_who_skipped_it(tmp_path: Path):
    workspace = ten_debates(tmp_path)
    skipped, objected, parted = "e0", "e1", "e2"
    said = {
        "ann": {skipped: {"skip_reason": "language"}, objected: {"is_coherent": False}, parted: {"is_coherent": False}},
        "ben": {skipped: {"skip_reason": "cannot_judge"}, objected: {"skip_reason": "not_a_debate"}, parted: {}},
    }
    for name, forms in said.items():
        session = session_of(workspace, name, "ten", revise=True)
        for debate in session.debates:
            if debate.debate_id in forms:
                form = full_form(FLOW, winner="con", **forms[debate.debate_id])
                session.hand_in(debate, session.state(debate).revision, form)
    update_warehouse(workspace, None, now=now, replace_landed=True)
    truths = rows(workspace, "select debate_id from intermediate.int_truth_debates order by 1")
    assert truths == [(f"e{n}",) for n in range(2, 10)]
    differences = rows(
        workspace,
        "select debate_id, unit, count_annotators, count_skipped, count_objecting, is_parted "
        "from marts.people_differences where debate_id in ('e0', 'e1', 'e2') order by all",
    )
    assert differences == [("e1", "coherence", 2, 1, 2, False), ("e2", "coherence", 2, 0, 1, True)]
    left_out = rows(workspace, "select kind from intermediate.int_left_out_counts where count_left_out > 0")
    assert ("empty_annotations",) not in left_out


def test_a_review_shows_nobody_a_debate_that_this_person_is_still_to_annotate(tmp_path: Path):
    workspace = made_workspace(tmp_path / "w", debates=6)
    with closing(duckdb.connect(str(workspace.database))) as con:
        con.execute("delete from raw.annotations")
    change_team(workspace, TAG, annotators=("ann", "ben"))
    ben = session_of(workspace, "ben")
    for debate in ben.debates:
        ben.hand_in(debate, 0, full_form())
    # Nothing is done, then some is, of which some was changed, and one is skipped.
    line = refused(workspace.root, "--run-tag", TAG, "--annotator", "ann", "--review")[1]
    assert "Not shown, because a review shows what others say: 6 debates that 'ann' is still to annotate" in line
    ann = session_of(workspace, "ann")
    done, changed, begun, skipped, *_ = ann.debates
    for debate in (done, changed):
        ann.hand_in(debate, 0, full_form())
    ann.save(changed, 1, full_form(winner="con"))
    ann.save(begun, 0, {"winner": "pro"})
    ann.hand_in(skipped, 0, {"skip_reason": "language"})
    review = open_review(workspace, TAG, "ann", now=now)
    assert {each.debate_id for each in review.session.debates} == {done.debate_id, skipped.debate_id}
    assert "4 debates that 'ann' is still to annotate" in (review.session.material.left_out or "")
    # Others see all, and for whom each debate still waits, whether this person has a journal or not.
    change_team(workspace, TAG, joining=("cem",), overlap=3)
    eve = open_review(workspace, TAG, "eve", now=now)
    assert len(eve.session.debates) == 6
    assert eve.session.material.left_out is None
    listed = review_in_list(eve, eve.session.debates)
    assert listed[done.debate_id]["awaited"] == ["cem"]
    assert listed[begun.debate_id]["awaited"] == ["ann", "cem"]
    assert review_data(eve, skipped)["awaited"] == ["cem"]
    with pytest.raises(UsageError, match="knows 'cem', and 'Cem' differs"):
        open_review(workspace, TAG, "Cem", now=now)
    # Who has reviewed a debate does not annotate it later, except to go on with what was begun before.
    eve.session.save(done, 0, verdict())
    eve.session.save(begun, 0, verdict())
    change_team(workspace, TAG, joining=("eve",), overlap=4)
    later = {each.debate_id for each in session_of(workspace, "eve").debates}
    assert later == {each.debate_id for each in ben.debates} - {done.debate_id, begun.debate_id}
    team = open_team(workspace, TAG)
    given = {key for key, names in team.journal.forms().assigned.items() if "eve" in names}
    assert given == later
    assert left_out_in_words(team) == (
        "eve has reviewed 2 debates, and seen there what others say, so somebody else annotates them. 2 debates will "
        "have fewer than 4 annotators."
    )
    (status,) = [each for each in team_status(open_team(workspace, TAG)) if each.name == "eve"]
    assert (status.debates, status.open) == (4, 4)
    for debate in ben.debates:
        eve.session.save(debate, eve.session.state(debate).revision, verdict())
    with pytest.raises(UsageError, match="'eve' has reviewed these debates of run 'made' and seen what others say"):
        session_of(workspace, "eve")


def test_a_debate_goes_to_somebody_who_has_not_reviewed_it(tmp_path: Path):
    workspace = made_workspace(tmp_path / "w", debates=6)
    ann = session_of(workspace, "ann")
    # One has been annotated and reviewed; the annotation of the import is the other one that a review shows.
    ann.hand_in(ann.debates[0], 0, full_form())
    eve = open_review(workspace, TAG, "eve", now=now)
    for debate in eve.session.debates:
        eve.session.save(debate, 0, verdict())
    seen = {debate.debate_id for debate in eve.session.debates}
    assert len(seen) == 2
    done = debatebench_here(
        workspace.root, "annotate", "--run-tag", TAG, "--annotators", "ben,cem,eve", "--overlap", "2"
    )
    assert (done.code, "eve has reviewed 2 debates, and seen" in done.err) == (0, True), done.err
    assigned = open_team(workspace, TAG).journal.forms().assigned
    assert all("eve" not in assigned[key] for key in seen)
    assert all(len(names) == 2 or key == ann.debates[0].debate_id for key, names in assigned.items())
    loads = Counter(name for names in assigned.values() for name in names if name != "ann")
    assert max(loads.values()) - min(loads.values()) <= 1
    # The only one left would have no debate at all: that is said, too.
    done = debatebench_here(workspace.root, "annotate", "--run-tag", TAG, "--annotators", "eve", "--overlap", "1")
    assert "1 debate will have fewer than 1 annotator." in done.err, done.err


# --- a team ---------------------------------------------------------------------------------------------------------


def test_one_leaves_and_one_joins_and_what_was_begun_stays(tmp_path: Path):
    workspace = made_workspace(tmp_path / "w", debates=12)
    moved = change_team(workspace, TAG, joining=("ann", "ben"), overlap=1)
    assert moved == "ann gets 6, ben gets 6 of the debates that were not begun"
    ben = session_of(workspace, "ben")
    handed_in, begun = ben.debates[:2]
    ben.hand_in(handed_in, 0, full_form())
    ben.save(begun, 0, full_form())
    moved = change_team(workspace, TAG, joining=("dan",), leaving=("ben",))
    assert moved == "dan gets 5, ann gives 1 away, ben gives 4 away of the debates that were not begun"
    status = {each.name: each for each in team_status(open_team(workspace, TAG))}
    assert {name: (each.done, each.begun, each.open) for name, each in status.items()} == {
        "ann": (0, 0, 5),
        "ben": (1, 1, 0),
        "dan": (0, 0, 5),
    }
    assert status["ben"].is_leaving
    # A new start moves nothing, however far people are.
    before = Team.of(annotations_folder(workspace.journal, TAG), TAG, ben.material.debates).journal.forms().assigned
    assert {debate.debate_id for debate in session_of(workspace, "ben").debates} == {
        handed_in.debate_id,
        begun.debate_id,
    }
    assert change_team(workspace, TAG, annotators=("ann", "dan")) == "No debate moves"
    assert open_team(workspace, TAG).journal.forms().assigned == before


def test_forms_from_two_computers_are_merged_and_where_both_differ_the_person_chooses(tmp_path: Path):
    here, there = imported_workspace(tmp_path / "here"), imported_workspace(tmp_path / "there")
    ours, theirs = session_of(here, run_tag="flow"), session_of(there, run_tag="flow")
    first, second = ours.debates
    ours.hand_in(first, 0, full_form(FLOW, winner="pro"))
    theirs.hand_in(first, 0, full_form(FLOW, winner="con"))
    theirs.save(second, 0, {"winner": "tie"})
    path = theirs.journal.path

    assert merge_forms(ours, path) == (
        f"1 form taken from {path}; 1 form with two versions, between which you choose on the page"
    )
    assert ours.state(second).form["winner"] == "tie"
    ((window, aside),) = ours.state(first).asides.items()
    # The page names the window when the person chooses.
    assert re.fullmatch(r"merged-[A-Za-z0-9-]{1,33}", window)
    assert (ours.state(first).form["winner"], aside.form["winner"]) == ("pro", "con")
    assert ours.next_key() == first.key
    update_warehouse(here, None, now=now, build=False)
    mine = "select debate_id, winner from raw.annotations where annotator_id = 'ann' order by all"
    assert rows(here, mine) == []
    # What is merged again changes nothing, before and after the person has chosen.
    assert merge_forms(ours, path).startswith("0 forms taken")
    state = ours.drop(first, ours.state(first).revision, *ours.state(first).asides).state
    assert (state.form["winner"], state.is_handed_in) == ("pro", True)
    assert merge_forms(ours, path) == f"0 forms taken from {path}"

    # Nor does a version that was taken and then changed here come back.
    ours.save(second, ours.state(second).revision, {"winner": "pro"})
    assert merge_forms(ours, path) == f"0 forms taken from {path}"

    # A journal that goes on from the one here is the later one, and that from which it went on is the earlier one.
    went_on = tmp_path / "went_on"
    shutil.copytree(here.root, went_on)
    later = session_of(Workspace(went_on), run_tag="flow", revise=True)
    later.hand_in(second, later.state(second).revision, full_form(FLOW, winner="con"))
    assert merge_forms(later, ours.journal.path) == f"0 forms taken from {ours.journal.path}"
    assert merge_forms(ours, later.journal.path) == f"1 form taken from {later.journal.path}"
    assert ours.state(second).is_handed_in
    update_warehouse(here, None, now=now, build=False, replace_landed=True)
    assert rows(here, mine) == sorted([(first.debate_id, "pro"), (second.debate_id, "con")])


def test_a_version_aside_is_taken_or_dropped_only_as_it_was_seen(tmp_path: Path):
    session = session_of(imported_workspace(tmp_path), run_tag="flow")
    first = session.debates[0]
    session.save(first, 0, {"winner": "pro"}, window="a")

    def typed(**form: str) -> dict[str, Any]:
        with pytest.raises(StaleError):
            session.save(first, 0, {"winner": "con", **form}, window="b")
        return session.state(first).asides["b"].form

    seen = typed()
    last = typed(justification="Typed after another window had shown the version.")
    with pytest.raises(StaleError, match="nothing was chosen"):
        session.save(first, 1, seen, window="c", resolves=["b"])
    with pytest.raises(StaleError, match="nothing was chosen"):
        session.drop(first, 1, "b", seen)
    state = session.state(first)
    assert (state.form["winner"], {name: aside.form for name, aside in state.asides.items()}) == ("pro", {"b": last})
    assert session.save(first, 1, last, window="c", resolves=["b"]).state.asides == {}
    assert session.state(first).form == last
    with pytest.raises(StaleError):
        session.save(first, 0, seen, window="d")
    assert session.drop(first, 2, "d", seen).state.asides == {}


def test_versions_aside_on_the_other_computer_are_merged_too(tmp_path: Path):
    ours, theirs = (session_of(imported_workspace(tmp_path / name), run_tag="flow") for name in ("here", "there"))
    first = ours.debates[0]
    theirs.hand_in(first, 0, full_form(FLOW, winner="pro"))
    with pytest.raises(StaleError):
        theirs.save(first, 0, full_form(FLOW, winner="con"), window="w2")
    assert "1 form with two versions" in merge_forms(ours, theirs.journal.path)
    assert ours.state(first).form["winner"] == "pro"
    assert [aside.form["winner"] for aside in ours.state(first).asides.values()] == ["con"]


def test_a_merged_form_keeps_its_state_and_lands_as_this_run_has_it(tmp_path: Path):
    here = imported_workspace(tmp_path / "here")
    ours = session_of(here, run_tag="flow")
    theirs = session_of(imported_workspace(tmp_path / "there"), run_tag="flow")
    first, second = ours.debates
    revision = theirs.hand_in(first, 0, full_form(FLOW, winner="pro")).revision
    theirs.save(first, revision, full_form(FLOW, winner="con"))
    # An earlier version handed in what lacks an answer now, and recorded a verdict on what is not coherent.
    form = full_form(FLOW, confidence=None)
    record = theirs.record(second, full_form(FLOW, skip_reason=None), "2026-01-01T12:00:00").model_dump(mode="json")
    theirs.journal.save(second.debate_id, "ann", 0, form, "2026-01-01T12:00:00", record)
    copied = tmp_path / "copied" / "ann.jsonl"
    copied.parent.mkdir()
    copied.write_bytes(theirs.journal.path.read_bytes() + b"9 torn")
    assert merge_forms(ours, copied) == (
        f"2 forms taken from {copied}; 1 of them handed in there and not here, where an answer is missing; its last "
        "line, which has no end, left out"
    )
    assert [ours.state(debate).status for debate in ours.debates] == ["changed", "changed"]
    assert ours.next_key() == first.key
    assert merge_forms(ours, theirs.journal.path) == f"0 forms taken from {theirs.journal.path}"
    again = {**full_form(FLOW), "is_coherent": False}
    theirs.journal.save(second.debate_id, "ann", theirs.state(second).revision, again, "2026-01-01T13:00:00", record)
    fresh = session_of(imported_workspace(tmp_path / "fresh"), run_tag="flow")
    merge_forms(fresh, theirs.journal.path)
    assert (fresh.state(second).status, (fresh.state(second).record or {})["winner"]) == ("done", None)


def test_a_debate_that_is_not_coherent_has_no_verdict_whatever_else_was_chosen(tmp_path: Path):
    workspace = imported_workspace(tmp_path)
    session = session_of(workspace, run_tag="flow")
    session.hand_in(session.debates[0], 0, full_form(FLOW, winner="con", is_coherent=False))
    update_warehouse(workspace, None, now=now, build=False)
    said = "select winner, scores, is_coherent from raw.annotations where annotator_id = 'ann'"
    assert rows(workspace, said) == [(None, None, False)]


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("none/ann.jsonl", "There is no file"),
        ("there/ben.jsonl", "is named ann.jsonl, not ben.jsonl"),
        ("here/warehouse/journal/flow.annotations/ann.jsonl", "is the journal of this workspace itself"),
        ("there/ann.jsonl", "does not begin as the annotations of run 'flow'"),
        ("empty/ann.jsonl", "is not a journal: it is empty, or its first line has no end"),
        ("garbage/ann.jsonl", "is not a journal: it is empty, or its first line has no end"),
        (
            "off/ann.jsonl",
            "scores.rebuttal_quality.pro takes whole numbers from 1 to 3, or null; found 9. Nothing was merged",
        ),
    ],
)
def test_what_cannot_be_merged_is_refused_with_the_way_out(tmp_path: Path, name: str, words: str):
    workspace = imported_workspace(tmp_path / "here")
    ours = session_of(workspace, run_tag="flow")
    ours.save(ours.debates[0], 0, {"winner": "pro"})
    (tmp_path / "there").mkdir()
    other = FormJournal(tmp_path / "there" / "ann.jsonl", "other")
    other.save("d", "ann", 0, {"winner": "con"}, "2026-01-01T12:00:00")
    shutil.copy(other.path, tmp_path / "there" / "ben.jsonl")
    for folder, content in (("empty", b""), ("garbage", b"\x00\x01 no journal")):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "ann.jsonl").write_bytes(content)
    # From a computer on which the run has other scales: nothing is merged, also of the debates before it.
    (tmp_path / "off").mkdir()
    off = FormJournal(tmp_path / "off" / "ann.jsonl", "flow")
    first, second = ours.debates
    off.save(first.debate_id, "ann", 0, {"winner": "con"}, "2026-01-01T12:00:00")
    off.save(second.debate_id, "ann", 0, {"scores": {"rebuttal_quality": {"pro": 9}}}, "2026-01-01T12:00:00")
    with pytest.raises(DebatebenchError, match=re.escape(words)):
        merge_forms(ours, tmp_path / name)
    assert ours.state(ours.debates[0]).revision == 1


def test_a_name_that_differs_in_case_is_refused_with_the_known_ones(tmp_path: Path):
    workspace = made_workspace(tmp_path / "w")
    change_team(workspace, TAG, joining=("ann", "ben"))
    for call in (
        lambda: session_of(workspace, "Ann"),
        lambda: change_team(workspace, TAG, joining=("BEN",)),
        lambda: open_review(workspace, TAG, "Annotator-Dill", now=now),
    ):
        with pytest.raises(UsageError, match=r"in the form of its letters; give the name as it is known\. Known: a"):
            call()
    with pytest.raises(UsageError, match="imported annotations of 'annotator-dill'"):
        session_of(workspace, "Annotator-dill")
    with pytest.raises(UsageError, match=r"not assigned to 'dan'\. Assigned: ann, ben"):
        change_team(workspace, TAG, leaving=("dan",))


def test_the_first_to_be_assigned_joins_those_who_annotate_already(tmp_path: Path):
    workspace = made_workspace(tmp_path / "w")
    ann = session_of(workspace, "ann")
    ann.hand_in(ann.debates[0], 0, full_form())
    change_team(workspace, TAG, joining=("bob",))
    status = {each.name: (each.debates, each.is_leaving) for each in team_status(open_team(workspace, TAG))}
    assert status == {"ann": (3, False), "bob": (3, False)}
    assert len(session_of(workspace, "ann").debates) == 3
    # Whoever names everyone says it.
    change_team(workspace, TAG, annotators=("bob",))
    assert {each.name: each.is_leaving for each in team_status(open_team(workspace, TAG))} == {
        "ann": True,
        "bob": False,
    }


def test_a_debate_that_moved_while_its_page_was_open_stays_with_who_begins_it(tmp_path: Path):
    workspace = made_workspace(tmp_path / "w")
    change_team(workspace, TAG, annotators=("ann",))
    ann = session_of(workspace, "ann")
    change_team(workspace, TAG, joining=("bob",), leaving=("ann",))
    handed_in, begun = ann.debates[:2]
    ann.hand_in(handed_in, 0, full_form())
    ann.save(begun, 0, {"winner": "pro"})
    status = {each.name: each for each in team_status(open_team(workspace, TAG))}
    assert (status["ann"].debates, status["ann"].done, status["ann"].begun) == (2, 1, 1)
    assert status["bob"].debates == 3
    assert {debate.debate_id for debate in session_of(workspace, "ann").debates} == {
        handed_in.debate_id,
        begun.debate_id,
    }


def test_a_name_that_is_known_exactly_is_accepted_and_another_form_of_a_reviewer_is_not(tmp_path: Path):
    workspace = made_workspace(tmp_path / "w")
    first = session_of(workspace, "ann")
    first.save(first.debates[0], 0, {"winner": "pro"})
    review = open_review(workspace, TAG, "Zed", now=now).session
    review.save(review.debates[0], 0, {"winner": "pro"})
    for call in (
        lambda: session_of(workspace, "zed"),
        lambda: change_team(workspace, TAG, joining=("zed",)),
        lambda: change_team(workspace, TAG, annotators=("zed",)),
    ):
        with pytest.raises(UsageError, match="knows 'Zed', and 'zed' differs"):
            call()
    assert session_of(workspace, "Zed").author == "Zed"
    # Journals of an earlier version: two forms of one name, each of which goes on.
    for name in ("Ann", "zed"):
        journal = FormJournal(annotations_folder(workspace.journal, TAG) / f"{name}.jsonl", TAG)
        journal.save(first.debates[0].debate_id, name, 0, {"winner": "con"}, "2026-01-01T12:00:00")
    change_team(workspace, TAG, joining=("ann",))
    for name in ("ann", "Ann", "zed"):
        assert session_of(workspace, name).author == name
    assert open_review(workspace, TAG, "Zed", now=now).session.author == "Zed"
    for name, known in (("ANN", "ann"), ("ZED", "zed")):
        with pytest.raises(UsageError, match=f"knows '{known}', and '{name}' differs"):
            session_of(workspace, name)


def test_no_debate_is_assigned_to_the_name_of_an_imported_annotator(tmp_path: Path):
    workspace = made_workspace(tmp_path / "w")
    for more in ({"annotators": ("annotator-dill", "ann")}, {"joining": ("Annotator-dill",)}):
        with pytest.raises(UsageError, match=r"has imported annotations of 'annotator-dill', so '[Aa]nnotator-dill'"):
            change_team(workspace, TAG, **more)
    assert not open_team(workspace, TAG).journal.path.exists()


def test_who_leaves_a_small_team_lowers_the_overlap_and_nobody_left_is_refused_by_name(tmp_path: Path):
    workspace = made_workspace(tmp_path / "w", debates=4)
    change_team(workspace, TAG, annotators=("ann", "bob"))
    assert change_team(workspace, TAG, leaving=("bob",)).startswith("bob gives 4 away")
    assert [len(names) for names in open_team(workspace, TAG).journal.forms().assigned.values()] == [1] * 4
    with pytest.raises(UsageError, match=r"Nobody would be left to annotate run 'made'; add someone with --assign"):
        change_team(workspace, TAG, leaving=("ann",))
    with pytest.raises(UsageError, match=r"--overlap 2 needs as many annotators; there is ann"):
        change_team(workspace, TAG, annotators=("ann",), overlap=2)
    assert [debate.debate_id for debate in session_of(workspace, "ann").debates]
    # The overlap is the one of before again as soon as there are people for it.
    change_team(workspace, TAG, joining=("cem",))
    assert [len(names) for names in open_team(workspace, TAG).journal.forms().assigned.values()] == [2] * 4


# --- DebateFlow's JSON ----------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def annotated_flow(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A built workspace with the import `flow`, which ann has annotated. Tests only read it."""
    workspace = Workspace(begin_built(tmp_path_factory.mktemp("annotated")))
    add_import(workspace, "flow", "debateflow", DEBATEFLOW)
    land(workspace, "flow")
    annotate(workspace, "ann")
    assert debatebench_here(workspace.root, "land").code == 0
    return workspace.root


@pytest.mark.parametrize("format_name", ["debateflow", "debateflow-keyed"])
def test_an_export_in_either_shape_is_imported_as_the_same_rows(annotated_flow: Path, tmp_path: Path, format_name: str):
    workspace = Workspace(Path(shutil.copytree(annotated_flow, tmp_path / "copied")))
    out = tmp_path / "out"
    done = debatebench_here(
        workspace.root, "export", "--format", format_name, "--run-tag", "flow", "--out-dir", str(out)
    )
    assert done.code == 0, done.err
    assert len(list((out / "debates").iterdir())) == 2
    keys = {tuple(json.loads(path.read_text())) for path in (out / "annotations").iterdir()}
    assert all(("annotator_id" in each) == (format_name == "debateflow") for each in keys)
    add_import(workspace, "again", "debateflow", out)
    land(workspace, "again")
    tables = ("debates", "participants", "turns", "annotations", "weaknesses", "topics", "debaters", "dimensions")
    for table in tables:
        same = f"select * exclude (run_tag) from raw.{table} where run_tag = "
        assert rows(workspace, f"{same} 'flow' order by all") == rows(workspace, f"{same} 'again' order by all"), table


def test_an_export_says_what_debateflow_cannot_hold(copied: Path, tmp_path: Path):
    workspace = Workspace(copied)
    session = session_of(workspace, run_tag="t")
    session.hand_in(session.debates[1], 0, {"skip_reason": "language"})
    session.hand_in(session.debates[0], 0, full_form(tuple(each.name for each in session.debates[0].dimensions)))
    assert debatebench_here(copied, "land").code == 0
    done = debatebench_here(
        copied, "export", "--format", "debateflow", "--run-tag", "t", "--out-dir", str(tmp_path / "out")
    )
    assert done.code == 0
    assert "scores of annotations of run 't': DebateFlow's rubric has no such dimension or score" in done.err
    assert "annotations of run 't': DebateFlow has no skipped debates" in done.err
    assert len(list((tmp_path / "out" / "other" / "annotations").iterdir())) == 1
    # A skipped debate is counted apart, and is not a verdict of anyone.
    skipped = "select skip_reason, winner, scored_winner from marts.annotations where skip_reason is not null"
    assert rows(workspace, skipped) == [("language", None, None)]
    assert rows(workspace, "select count_annotations from marts.runs where run_tag = 't'") == [(1,)]
    assert rows(workspace, "select count(distinct debate_id) from marts.truths where truth = 'annotations'") == [(1,)]


# --- the command ----------------------------------------------------------------------------------------------------


def refused(root: Path, *arguments: str) -> tuple[int, str]:
    done = debatebench_here(root, "annotate", "--no-browser", *arguments)
    return done.code, done.error_line


def test_the_command_refuses_with_one_line_what_cannot_be(tmp_path: Path):
    root = made_workspace(tmp_path / "w").root
    who = ("--annotator", "ann")
    cases: list[tuple[tuple[str, ...], int, str]] = [
        (("--run-tag", "nowhere", *who), 2, "No run 'nowhere' in the warehouse. Known: made."),
        (("--run-tag", TAG, "--annotator", "../x"), 2, "cannot be an annotator's name"),
        (("--run-tag", TAG, "--annotator", ""), 2, "cannot be an annotator's name"),
        (("--run-tag", TAG, "--annotator", "annotator-dill"), 2, "has imported annotations of 'annotator-dill'"),
        (("--run-tag", TAG, *who, "--port", "70000"), 2, "a number from 0 to 65,535"),
        (("--run-tag", TAG, *who, "--overlap", "2"), 2, "--overlap needs --annotators"),
        (("--run-tag", TAG, *who, "--annotators", " , "), 2, "has no name in it"),
        (
            ("--run-tag", TAG, *who, "--annotators", "ann", "--overlap", "2"),
            2,
            "--overlap 2 needs as many annotators; there is ann",
        ),
        (("--run-tag", TAG, *who, "--annotators", "ben,cem"), 2, "not to 'ann'"),
        (("--run-tag", TAG, *who, "--review", "--revise"), 2, "--review cannot be combined"),
    ]
    for arguments, code, words in cases:
        found, line = refused(root, *arguments)
        assert (found, words in line) == (code, True), line


def test_nothing_left_is_said_with_the_way_on(tmp_path: Path):
    workspace = made_workspace(tmp_path / "w")
    annotate(workspace, "ann", TAG)
    code, line = refused(workspace.root, "--run-tag", TAG, "--annotator", "ann")
    assert (code, "has annotated all 3 debates of run 'made'; --revise opens them again" in line) == (2, True)
    assert session_of(workspace, revise=True).progress().done == 3


def test_a_run_without_debates_and_a_run_that_judges_others_are_refused(tmp_path: Path):
    workspace = made_workspace(tmp_path / "w")
    with duckdb.connect(str(workspace.database)) as con:
        con.execute("delete from raw.turns where side = 'con'")
    assert "has no debate to annotate" in refused(workspace.root, "--run-tag", TAG, "--annotator", "ann")[1]
    with duckdb.connect(str(workspace.database)) as con:
        con.execute("update raw.runs set source_run_tag = 'played'")
    assert "annotate them there: --run-tag played" in refused(workspace.root, "--run-tag", TAG, "--annotator", "ann")[1]
    with pytest.raises(UsageError, match="There is no warehouse"):
        session_of(Workspace(tmp_path / "empty"))


def test_a_port_that_is_taken_is_named(tmp_path: Path):
    root = made_workspace(tmp_path / "w").root
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = str(taken.getsockname()[1])
        code, line = refused(root, "--run-tag", TAG, "--annotator", "ann", "--port", port)
    assert (code, f"Port {port} of 127.0.0.1 cannot be used" in line) == (4, True)


def test_a_reviewed_debate_is_called_reviewed_also_where_reviewers_differ(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    workspace = made_workspace(tmp_path / "w")
    for name, winner in (("eve", "pro"), ("fay", "con")):
        review = open_review(workspace, TAG, name, now=now).session
        review.hand_in(review.debates[0], 0, verdict(winner=winner))
    monkeypatch.setattr("debatebench.output.serving.serve.serve", lambda *_, **__: None)
    done = debatebench_here(workspace.root, "annotate", "--run-tag", TAG, "--annotator", "eve", "--review")
    assert f"1 of {len(review.debates)} debates are reviewed; `debatebench land`" in " ".join(done.err.split())


def test_a_review_without_annotations_is_refused(tmp_path: Path):
    workspace = made_workspace(tmp_path / "w")
    with duckdb.connect(str(workspace.database)) as con:
        con.execute("delete from raw.annotations")
    line = refused(workspace.root, "--run-tag", TAG, "--annotator", "ann", "--review")[1]
    assert "has no annotations to review" in line


def test_a_dimension_without_a_known_scale_is_not_asked_for(tmp_path: Path):
    workspace = made_workspace(tmp_path / "w")
    with duckdb.connect(str(workspace.database)) as con:
        con.execute("update raw.dimensions set max_score = null where dimension = 'clash'")
    session = session_of(workspace)
    assert [each.name for each in session.debates[0].dimensions] == [QUESTIONS[1]]
    session.hand_in(session.debates[0], 0, full_form(QUESTIONS[1:]))


def test_an_older_journal_is_continued_and_a_newer_one_is_said_to_be_that(tmp_path: Path):
    workspace = imported_workspace(tmp_path)
    annotate(workspace, "ann")
    path = annotations_folder(workspace.journal, "flow") / "ann.jsonl"
    events = [event.data for event in read_journal(path)]
    for format_number in (1, JOURNAL_FORMAT + 1):
        path.unlink()
        write_journal(path, iter([events[0] | {"format": format_number}, *events[1:]]))
        if format_number == 1:
            session = session_of(workspace, "ann", "flow", revise=True)
            debate = session.debates[0]
            session.hand_in(
                debate, session.journal.forms().of(debate.debate_id).revision, full_form(FLOW, winner="con")
            )
            added = [event.data["type"] for event in read_journal(path)][len(events) :]
            assert added == ["format", "final"]
            assert land(workspace, "flow") == {}
    with pytest.raises(NewerDataError, match="written by a newer version"):
        session_of(workspace, "ann", "flow", revise=True)
    found = [each for each in examine(workspace, ["flow"]) if each.finding == "newer_journal"]
    assert [each.is_damage for each in found] == [False]
