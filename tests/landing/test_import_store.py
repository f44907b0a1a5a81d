"""Kept imports: exact copies, all or nothing, idempotent, and what counts when the same thing comes again."""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import shutil
from copy import deepcopy
from datetime import datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import duckdb
import pytest
from imported import DEBATEFLOW, ORIGINAL, PANELBENCH, add_import, counts, kept_records, landed, only

from debatebench.landing.annotation_journals import annotations_folder
from debatebench.landing.annotation_writing import FormJournal
from debatebench.landing.importers.kept import read_import
from debatebench.shared.errors import BusyError, DamagedDataError, DebatebenchError, UsageError
from debatebench.shared.records import Debate, Dimension, Run, Topic, Weakness
from debatebench.shared.workspace import Workspace, init_workspace, packaged
from debatebench.warehouse.update import update_warehouse

FULL, OLD, SELF_PLAY = (json.loads(line) for line in ORIGINAL.read_text(encoding="utf-8").splitlines())


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    return Workspace(tmp_path / "workspace")


def write_lines(path: Path, *records: Any) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(record) + "\n" for record in records), encoding="utf-8")
    return path


def renamed(record: dict[str, Any], debate_id: str, **transcript: Any) -> dict[str, Any]:
    """The same debate under another id, with some of its transcript changed."""
    record = deepcopy(record)
    record["transcript"].update(debate_id=debate_id, **transcript)
    return record


def tree(folder: Path) -> dict[str, bytes]:
    """Every kept file and what it holds; locks are not kept data."""
    files = (path for path in folder.rglob("*") if path.is_file() and path.suffix != ".lock")
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in files}


def debates(workspace: Workspace, tag: str = "t") -> list[tuple[str, int, str | None]]:
    found = (record for record in kept_records(workspace.imports / tag) if isinstance(record, Debate))
    return [(debate.debate_id, debate.source_position, debate.recorded_winner) for debate in found]


def run_of(workspace: Workspace, tag: str = "t") -> Run:
    (run,) = (record for record in kept_records(workspace.imports / tag) if isinstance(record, Run))
    return run


def test_what_was_given_is_kept_byte_for_byte_with_its_hash(workspace: Workspace):
    report = add_import(workspace, "t", "debatebench", ORIGINAL)
    assert report.part == workspace.imports / "t" / "0001"
    assert (report.part / "debates.jsonl").read_bytes() == ORIGINAL.read_bytes()
    manifest = json.loads((workspace.imports / "t" / "manifest.json").read_text(encoding="utf-8"))
    assert manifest["parts"][0]["files"] == [
        {
            "name": "debates.jsonl",
            "size": ORIGINAL.stat().st_size,
            "sha256": hashlib.sha256(ORIGINAL.read_bytes()).hexdigest(),
        }
    ]
    assert report.summary() == f"t: 3 debates added, 0 identical ignored, 0 replaced; kept in {report.part}"


def test_a_folder_keeps_its_relative_names_and_nothing_that_is_not_read(workspace: Workspace, tmp_path: Path):
    source = Path(shutil.copytree(PANELBENCH, tmp_path / "pb"))
    (source / "README.md").write_text("not read")
    add_import(workspace, "t", "panelbench", source)
    kept = tree(workspace.imports / "t" / "0001")
    assert kept == {f"pb/{name}": content for name, content in tree(PANELBENCH).items()}


def test_importing_again_changes_nothing(workspace: Workspace):
    add_import(workspace, "t", "debatebench", ORIGINAL)
    before = tree(workspace.imports)
    report = add_import(workspace, "t", "debatebench", ORIGINAL)
    assert (report.added, report.ignored, report.replaced, report.part) == ({}, 3, 0, None)
    assert tree(workspace.imports) == before


def test_white_space_and_the_order_of_keys_do_not_make_a_record_differ(workspace: Workspace, tmp_path: Path):
    add_import(workspace, "t", "debatebench", ORIGINAL)
    turned = dict(reversed(FULL.items()))
    path = tmp_path / "turned.jsonl"
    path.write_text(json.dumps(turned, separators=(" , ", " : ")) + "\n", encoding="utf-8")
    assert add_import(workspace, "t", "debatebench", path).ignored == 1


def test_new_records_are_added_behind_those_that_are_kept(workspace: Workspace, tmp_path: Path):
    add_import(workspace, "t", "debatebench", write_lines(tmp_path / "a.jsonl", FULL, OLD))
    report = add_import(workspace, "t", "debatebench", write_lines(tmp_path / "b.jsonl", renamed(OLD, "d-new"), OLD))
    assert (report.added, report.ignored) == ({"debate": 1}, 1)
    assert debates(workspace) == [("d-full", 0, "tie"), ("d-old", 1, "pro"), ("d-new", 2, "pro")]


def test_a_differing_record_is_refused_and_both_places_are_named(workspace: Workspace, tmp_path: Path):
    add_import(workspace, "t", "debatebench", write_lines(tmp_path / "a.jsonl", OLD, FULL))
    before = tree(workspace.imports)
    other = deepcopy(FULL)
    other["aggregate"]["winner"] = "pro"
    with pytest.raises(DebatebenchError, match="d-full") as caught:
        add_import(workspace, "t", "debatebench", write_lines(tmp_path / "b.jsonl", renamed(OLD, "d-new"), other))
    assert caught.value.exit_code == 1
    for part in ("b.jsonl:2", "0001/a.jsonl:2", "--replace"):
        assert part in str(caught.value)
    assert tree(workspace.imports) == before


def test_with_replace_the_new_record_counts_and_the_old_one_stays_kept(workspace: Workspace, tmp_path: Path):
    first = write_lines(tmp_path / "a.jsonl", FULL, OLD)
    add_import(workspace, "t", "debatebench", first)
    other = deepcopy(FULL)
    other["aggregate"]["winner"] = "pro"
    second = write_lines(tmp_path / "b.jsonl", other, SELF_PLAY)
    report = add_import(workspace, "t", "debatebench", second, replace=True)
    assert (report.added, report.replaced) == ({"debate": 1}, 1)
    assert debates(workspace) == [("d-old", 0, "pro"), ("d-full", 1, "pro"), ("d-self", 2, None)]
    assert (workspace.imports / "t" / "0001" / "a.jsonl").read_bytes() == first.read_bytes()
    assert add_import(workspace, "t", "debatebench", second).ignored == 2
    with pytest.raises(DebatebenchError, match="--replace"):
        add_import(workspace, "t", "debatebench", first)
    add_import(workspace, "t", "debatebench", first, replace=True)
    assert debates(workspace) == [("d-old", 0, "pro"), ("d-self", 1, None), ("d-full", 2, "tie")]


def test_an_annotation_and_a_gold_verdict_are_named_when_they_differ(workspace: Workspace, tmp_path: Path):
    add_import(workspace, "df", "debateflow", DEBATEFLOW)
    source = Path(shutil.copytree(DEBATEFLOW, tmp_path / "df"))
    file = source / "annotations" / "aaaa0001_MN.json"
    file.write_text(file.read_text(encoding="utf-8").replace("Blue fades.", "Blue is cold."), encoding="utf-8")
    with pytest.raises(DebatebenchError, match="The annotation of 'aaaa0001' by 'MN'"):
        add_import(workspace, "df", "debateflow", source)
    add_import(workspace, "pb", "panelbench", PANELBENCH)
    source = Path(shutil.copytree(PANELBENCH, tmp_path / "pb"))
    (source / "BP-Competition" / "gold" / "gold.csv").write_text("bp_id,label\n2,OG\n", encoding="utf-8")
    with pytest.raises(DebatebenchError, match="The gold verdict on 'bp_002'"):
        add_import(workspace, "pb", "panelbench", source)


def test_the_same_record_twice_in_one_file_counts_once(workspace: Workspace, tmp_path: Path):
    report = add_import(workspace, "t", "debatebench", write_lines(tmp_path / "a.jsonl", FULL, OLD, FULL))
    assert (report.added, report.ignored) == ({"debate": 2}, 1)
    assert [debate_id for debate_id, _, _ in debates(workspace)] == ["d-full", "d-old"]


@pytest.mark.parametrize("replace", [False, True])
def test_two_records_of_one_debate_that_differ_in_one_source_are_refused(
    workspace: Workspace, tmp_path: Path, replace: bool
):
    other = deepcopy(FULL)
    other["aggregate"]["winner"] = "pro"
    with pytest.raises(DebatebenchError, match=r"'d-full' in a.jsonl:2 differs from the one in a.jsonl:1") as caught:
        add_import(workspace, "t", "debatebench", write_lines(tmp_path / "a.jsonl", FULL, other), replace=replace)
    assert caught.value.exit_code == 1
    assert not (workspace.imports / "t").exists()


def test_bad_records_are_listed_and_counted_and_nothing_is_kept(workspace: Workspace, tmp_path: Path):
    bad = [renamed(FULL, f"d{number}", pro_model_id=number) for number in range(25)]
    with pytest.raises(DamagedDataError) as caught:
        add_import(workspace, "t", "debatebench", write_lines(tmp_path / "a.jsonl", FULL, *bad))
    lines = str(caught.value).splitlines()
    assert lines[0] == "a.jsonl contains 25 bad records, so nothing was imported:"
    assert lines[1].startswith("  a.jsonl:2: transcript.pro_model_id: ")
    assert lines[21:] == ["  and 5 more"]
    assert not (workspace.imports / "t").exists()


def test_a_bad_record_leaves_earlier_imports_as_they_were(workspace: Workspace, tmp_path: Path):
    add_import(workspace, "t", "debatebench", ORIGINAL)
    before = tree(workspace.imports)
    with pytest.raises(DamagedDataError):
        add_import(workspace, "t", "debatebench", write_lines(tmp_path / "a.jsonl", renamed(FULL, "d-new"), {}))
    assert tree(workspace.imports) == before
    assert sorted(entry.name for entry in (workspace.imports / "t").iterdir()) == ["0001", "manifest.json"]


def other_motion(debate_id: str) -> dict[str, Any]:
    return renamed(FULL, debate_id, topic={"id": "t1", "motion": "This house would plant two trees."})


def test_a_topic_has_one_motion_within_a_source(workspace: Workspace, tmp_path: Path):
    with pytest.raises(
        DamagedDataError, match=r"a.jsonl:2: The topic 't1' has a different motion here than in a.jsonl:1"
    ):
        add_import(workspace, "t", "debatebench", write_lines(tmp_path / "a.jsonl", FULL, other_motion("d-2")))


def test_a_topic_has_one_motion_among_all_that_counts(workspace: Workspace, tmp_path: Path):
    add_import(workspace, "t", "debatebench", write_lines(tmp_path / "a.jsonl", FULL, renamed(FULL, "d-2")))
    path = write_lines(tmp_path / "b.jsonl", other_motion("d-full"))
    with pytest.raises(DebatebenchError, match=r"0001/a.jsonl:2: The topic 't1' has a different motion"):
        add_import(workspace, "t", "debatebench", path, replace=True)
    write_lines(path, other_motion("d-full"), other_motion("d-2"))
    add_import(workspace, "t", "debatebench", path, replace=True)
    (topic,) = (record for record in kept_records(workspace.imports / "t") if isinstance(record, Topic))
    assert topic.motion == "This house would plant two trees."


def test_two_categories_of_one_topic_are_warned_of_and_the_first_counts(workspace: Workspace, tmp_path: Path):
    other = renamed(FULL, "d-2", topic={**FULL["transcript"]["topic"], "category": "gardens"})
    report = add_import(workspace, "t", "debatebench", write_lines(tmp_path / "a.jsonl", FULL, other))
    assert report.warnings == (
        "The topic 't1' has the category 'cities' in a.jsonl:1 and 'gardens' in a.jsonl:2; the first one is used.",
    )


def test_versions_that_the_records_do_not_agree_on_are_not_the_runs(workspace: Workspace, tmp_path: Path):
    other = renamed(OLD, "d-2", benchmark_version="v9")
    report = add_import(workspace, "t", "debatebench", write_lines(tmp_path / "a.jsonl", OLD, other))
    assert report.warnings == (
        "The records have 2 different values of benchmark_version (v0.1, v9), so the run has none.",
    )
    run = run_of(workspace)
    assert (run.benchmark_version, run.rubric_version, run.seed) == (None, "v0.2", None)


def test_the_first_import_freezes_the_workspaces_rating_settings(workspace: Workspace, tmp_path: Path):
    init_workspace(workspace.root, force=False)
    config = workspace.configs / "config.yaml"
    text = config.read_text(encoding="utf-8")
    assert "k_factor: 32" in text
    config.write_text(text.replace("k_factor: 32", "k_factor: 16"), encoding="utf-8")
    report = add_import(workspace, "t", "debatebench", write_lines(tmp_path / "a.jsonl", FULL))
    assert ["rated with the Elo k_factor 32" in warning for warning in report.warnings] == [True]
    config.write_text(text, encoding="utf-8")
    add_import(workspace, "t", "debatebench", write_lines(tmp_path / "b.jsonl", OLD))
    run = run_of(workspace)
    assert (run.elo_k_factor, run.elo_initial_rating, run.config["elo"]["k_factor"]) == (16.0, 400.0, 16.0)
    assert (run.source, run.format, run.created_at) == ("import", "debatebench", datetime(2026, 1, 1, 9, 5))


def test_one_format_per_tag(workspace: Workspace):
    add_import(workspace, "t", "debatebench", ORIGINAL)
    with pytest.raises(UsageError, match="'t' contains imports of the format 'debatebench'"):
        add_import(workspace, "t", "debateflow", DEBATEFLOW)


def test_a_played_run_is_not_imported_into(workspace: Workspace):
    workspace.journal.mkdir(parents=True)
    (workspace.journal / "t.jsonl").write_text("")
    with pytest.raises(UsageError, match="'t' is a run that was played in this workspace"):
        add_import(workspace, "t", "debatebench", ORIGINAL)


def test_an_unknown_format_names_the_known_ones(workspace: Workspace):
    with pytest.raises(UsageError, match=r"No format 'debateflo'. Known: debatebench, debateflow, panelbench."):
        add_import(workspace, "t", "debateflo", DEBATEFLOW)


@pytest.mark.parametrize("tag", ["../t", "a/b", "", ".t", "..", "t\n"])
def test_a_tag_cannot_leave_the_folder(workspace: Workspace, tag: str):
    with pytest.raises(UsageError):
        add_import(workspace, tag, "debatebench", ORIGINAL)
    assert not workspace.root.exists()


def test_a_path_that_holds_nothing_of_the_format_is_refused(workspace: Workspace, tmp_path: Path):
    empty = tmp_path / "empty"
    empty.mkdir()
    for format_name, path, message in [
        ("debatebench", tmp_path / "missing.jsonl", "There is no file or folder"),
        ("debatebench", empty, "contains nothing in the format 'debatebench'"),
        ("debateflow", empty, "contains nothing in the format 'debateflow'"),
        ("panelbench", empty, "contains nothing in the format 'panelbench'"),
        ("panelbench", ORIGINAL, "contains nothing in the format 'panelbench'"),
    ]:
        with pytest.raises(UsageError, match=message):
            add_import(workspace, "t", format_name, path)
    assert not (workspace.imports / "t").exists()


def test_an_empty_file_is_refused(workspace: Workspace, tmp_path: Path):
    path = tmp_path / "empty.jsonl"
    path.write_bytes(b"\n\n")
    with pytest.raises(DamagedDataError, match=r"empty.jsonl contains no records"):
        add_import(workspace, "t", "debatebench", path)


def test_what_is_not_a_regular_file_is_refused(workspace: Workspace, tmp_path: Path):
    folder = tmp_path / "source"
    (folder / "a.jsonl").mkdir(parents=True)
    with pytest.raises(UsageError, match=r"a.jsonl is not a regular file"):
        add_import(workspace, "t", "debatebench", folder)
    shutil.rmtree(folder / "a.jsonl")
    os.mkfifo(folder / "a.jsonl")
    with pytest.raises(UsageError, match=r"a.jsonl is not a regular file"):
        add_import(workspace, "t", "debatebench", folder)
    with pytest.raises(UsageError, match="contains nothing in the format"):
        add_import(workspace, "t", "debatebench", folder / "a.jsonl")
    (folder / "a.jsonl").unlink()
    (folder / "a.jsonl").symlink_to(tmp_path / "nowhere")
    with pytest.raises(UsageError, match=r"a.jsonl is not a regular file"):
        add_import(workspace, "t", "debatebench", folder)


def test_links_inside_a_folder_are_kept_as_real_copies(workspace: Workspace, tmp_path: Path):
    folder = Path(shutil.copytree(DEBATEFLOW, tmp_path / "folder"))
    for kind in ("debates", "annotations"):
        (folder / kind).rename(folder / f"real-{kind}")
        (folder / kind).symlink_to(f"real-{kind}")
    (tmp_path / "link").symlink_to(folder)
    add_import(workspace, "t", "debateflow", tmp_path / "link")
    shutil.rmtree(folder)
    kept = workspace.imports / "t" / "0001"
    assert not any(path.is_symlink() for path in kept.rglob("*"))
    with landed(workspace, "t") as con:
        assert (counts(con)["debates"], counts(con)["annotations"]) == (2, 3)


def test_a_link_that_leads_out_of_the_folder_is_refused(workspace: Workspace, tmp_path: Path):
    folder = Path(shutil.copytree(DEBATEFLOW, tmp_path / "folder"))
    secret = next((folder / "debates").iterdir()).rename(tmp_path / "secret.json")
    (folder / "debates" / "mine.json").symlink_to(secret)
    with pytest.raises(UsageError, match=r"mine\.json is a link that leads out of"):
        add_import(workspace, "t", "debateflow", folder)
    assert not (workspace.imports / "t").exists()


def test_a_kept_file_that_became_a_link_is_damage(workspace: Workspace, tmp_path: Path):
    part = add_import(workspace, "t", "debatebench", ORIGINAL).part
    assert part is not None
    (kept,) = (path for path in part.iterdir() if path.is_file())
    kept.rename(tmp_path / "elsewhere")
    kept.symlink_to(tmp_path / "elsewhere")
    with pytest.raises(DamagedDataError, match="is a link to another place"):
        list(read_import(workspace.imports / "t"))


def test_two_imports_into_one_tag_do_not_mix(workspace: Workspace):
    add_import(workspace, "t", "debatebench", ORIGINAL)
    with open(workspace.imports / ".t.lock", "r+b") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        with pytest.raises(BusyError, match="Another process is importing into 't'"):
            add_import(workspace, "t", "debatebench", ORIGINAL)
        assert add_import(workspace, "u", "debatebench", ORIGINAL).added == {"debate": 3}
    assert add_import(workspace, "t", "debatebench", ORIGINAL).ignored == 3


def test_leftovers_of_a_killed_import_are_not_mixed_in(workspace: Workspace, tmp_path: Path):
    folder = workspace.imports / "t"
    write_lines(folder / ".incoming" / "x.jsonl", renamed(FULL, "d-torn"))
    write_lines(folder / "0001" / "x.jsonl", renamed(FULL, "d-unlisted"))
    report = add_import(workspace, "t", "debatebench", write_lines(tmp_path / "a.jsonl", OLD))
    assert report.part == folder / "0002"
    assert [debate_id for debate_id, _, _ in debates(workspace)] == ["d-old"]
    assert (folder / "0001" / "x.jsonl").exists()


def test_a_kept_file_that_was_changed_is_noticed(workspace: Workspace):
    add_import(workspace, "t", "debatebench", ORIGINAL)
    kept = workspace.imports / "t" / "0001" / "debates.jsonl"
    kept.write_bytes(kept.read_bytes().replace(b"d-self", b"d-sold"))
    with pytest.raises(DamagedDataError, match=r"debates.jsonl has changed since it was imported"):
        list(read_import(workspace.imports / "t"))
    with pytest.raises(DamagedDataError, match=r"debates.jsonl has changed since it was imported"):
        add_import(workspace, "t", "debatebench", ORIGINAL)
    kept.unlink()
    with pytest.raises(DamagedDataError, match=r"debates.jsonl is missing"):
        list(read_import(workspace.imports / "t"))


def test_a_file_that_was_put_beside_the_kept_ones_is_noticed(workspace: Workspace):
    add_import(workspace, "t", "debateflow", DEBATEFLOW)
    (workspace.imports / "t" / "0001" / "debateflow" / "debates" / "more.json").write_text("{}")
    with pytest.raises(DamagedDataError, match=r"more.json is not part of what was imported"):
        list(read_import(workspace.imports / "t"))


@pytest.mark.parametrize("content", ["", "{}", "[" * 100_000, '{"manifest_version": 2}', "\x00"])
def test_a_damaged_manifest_is_refused(workspace: Workspace, content: str):
    add_import(workspace, "t", "debatebench", ORIGINAL)
    (workspace.imports / "t" / "manifest.json").write_text(content)
    with pytest.raises(DamagedDataError, match=r"manifest.json"):
        list(read_import(workspace.imports / "t"))


def test_a_folder_without_a_manifest_is_no_import(tmp_path: Path):
    with pytest.raises(DamagedDataError, match="is not a kept import"):
        list(read_import(tmp_path))


@pytest.mark.parametrize("name", ["../outside.jsonl", "/etc/hostname"])
def test_a_manifest_cannot_name_a_file_outside_its_part(workspace: Workspace, tmp_path: Path, name: str):
    add_import(workspace, "t", "debatebench", ORIGINAL)
    path = workspace.imports / "t" / "manifest.json"
    manifest = json.loads(path.read_text(encoding="utf-8"))
    manifest["parts"][0]["root"] = name
    path.write_text(json.dumps(manifest), encoding="utf-8")
    with pytest.raises(DamagedDataError):
        list(read_import(workspace.imports / "t"))


def test_parts_are_read_in_order_with_consecutive_positions(workspace: Workspace, tmp_path: Path):
    for number in range(12):
        add_import(workspace, "t", "debatebench", write_lines(tmp_path / "a.jsonl", renamed(OLD, f"d{number:02d}")))
    assert [(debate_id, position) for debate_id, position, _ in debates(workspace)] == [
        (f"d{number:02d}", number) for number in range(12)
    ]
    with landed(workspace, "t") as con:
        assert only(con, "select count(*) from raw.topics") == 1


def scales_of(workspace: Workspace) -> dict[str, tuple[Any, ...]]:
    found = (record for record in kept_records(workspace.imports / "t") if isinstance(record, Dimension))
    return {each.dimension: (each.min_score, each.max_score, each.step, each.description) for each in found}


def test_a_rubric_supplies_the_scales_that_the_source_does_not_state_then_or_later(workspace: Workspace):
    rubrics = workspace.root / "configs" / "rubrics"
    rubrics.mkdir(parents=True)
    content = "dimensions: {clarity: {min: 0, max: 5, step: 0.5, description: Clear}, style: {}}"
    (rubrics / "mine.yaml").write_text(content, encoding="utf-8")
    manifest = workspace.imports / "t" / "manifest.json"
    add_import(workspace, "t", "debatebench", ORIGINAL)
    assert "rubric" not in json.loads(manifest.read_text(encoding="utf-8"))
    assert scales_of(workspace) == {"clarity": (None,) * 4, "reasoning": (None,) * 4}
    with pytest.raises(UsageError, match=r"No rubric 'mime'.*mine"):
        add_import(workspace, "t", "debatebench", ORIGINAL, rubric="mime")
    assert add_import(workspace, "t", "debatebench", ORIGINAL, rubric="mine").part is None
    expected = {"clarity": (0, 5, Decimal("0.5"), "Clear"), "reasoning": (None,) * 4}
    assert scales_of(workspace) == expected
    # It is frozen, like the rating settings.
    (rubrics / "mine.yaml").write_text(content.replace("5, step", "3, step"), encoding="utf-8")
    assert scales_of(workspace) == expected
    with pytest.raises(UsageError, match="another rubric"):
        add_import(workspace, "t", "debatebench", ORIGINAL, rubric="mine")
    add_import(workspace, "t", "debatebench", ORIGINAL, rubric="mine", replace=True)
    assert scales_of(workspace)["clarity"][1] == 3


def test_debates_that_are_added_to_those_of_a_rubric_land_as_if_they_had_come_together(
    workspace: Workspace, tmp_path: Path
):
    def dimensions() -> list[tuple[Any, ...]]:
        update_warehouse(workspace, None, now=lambda: datetime(2026, 1, 1), build=False)
        with duckdb.connect(str(workspace.database), read_only=True) as con:
            return con.execute("select dimension, source_position, max_score from raw.dimensions order by 2").fetchall()

    (workspace.root / "configs" / "rubrics").mkdir(parents=True)
    content = "dimensions: {style: {min: 0, max: 3}, clarity: {min: 0, max: 5}}"
    (workspace.root / "configs" / "rubrics" / "mine.yaml").write_text(content, encoding="utf-8")
    unjudged = {**renamed(FULL, "unjudged"), "judges": [], "aggregate": None, "judges_actual": 0}
    add_import(workspace, "t", "debatebench", write_lines(tmp_path / "first.jsonl", unjudged), rubric="mine")
    assert dimensions() == [("style", 0, 3), ("clarity", 1, 5)]
    add_import(workspace, "t", "debatebench", write_lines(tmp_path / "second.jsonl", FULL), rubric="mine")
    added = dimensions()
    workspace.database.unlink()
    assert added == dimensions() == [("reasoning", 0, None), ("clarity", 1, 5)]


def test_a_rubric_that_comes_later_or_is_exchanged_lands_unless_people_have_judged_with_it(workspace: Workspace):
    def scales() -> list[tuple[Any, ...]]:
        update_warehouse(workspace, None, now=lambda: datetime(2026, 1, 1), build=False)
        with duckdb.connect(str(workspace.database), read_only=True) as con:
            return con.execute("select max_score from raw.dimensions where dimension = 'clarity'").fetchall()

    rubrics = workspace.root / "configs" / "rubrics"
    rubrics.mkdir(parents=True)
    for name, highest in (("five", 5), ("three", 3)):
        (rubrics / f"{name}.yaml").write_text(f"dimensions: {{clarity: {{min: 0, max: {highest}}}}}", encoding="utf-8")
    add_import(workspace, "t", "debatebench", ORIGINAL)
    assert scales() == [(None,)]
    add_import(workspace, "t", "debatebench", ORIGINAL, rubric="five")
    assert scales() == [(5,)]
    add_import(workspace, "t", "debatebench", ORIGINAL, rubric="three", replace=True)
    assert scales() == [(3,)]
    FormJournal(annotations_folder(workspace.journal, "t") / "ann.jsonl", "t").save("d", "ann", 0, {}, "2026-01-01")
    with pytest.raises(UsageError, match="was judged here with its present rubric by ann"):
        add_import(workspace, "t", "debatebench", ORIGINAL, rubric="five", replace=True)
    assert scales() == [(3,)]


def test_a_rubric_is_all_dimensions_of_a_source_without_any_and_never_another_scale(workspace: Workspace):
    add_import(workspace, "t", "debateflow", DEBATEFLOW, rubric="coherence")
    assert {scale[:3] for scale in scales_of(workspace).values()} == {(1, 3, 1)}
    assert "fit_to_be_judged" not in scales_of(workspace)
    shutil.rmtree(workspace.imports)
    add_import(workspace, "t", "panelbench", PANELBENCH, rubric="coherence")
    assert list(scales_of(workspace)) == ["fit_to_be_judged"]


def test_dimensions_of_weaknesses_are_supplied_when_asked_for_then_or_later(workspace: Workspace):
    def dimensions() -> list[str | None]:
        folder = workspace.imports / "flow"
        return [record.dimension for record in kept_records(folder) if isinstance(record, Weakness)]

    add_import(workspace, "flow", "debateflow", DEBATEFLOW)
    assert dimensions() == [None]
    packaged_file = packaged("configs") / "weaknesses.yaml"
    assert add_import(workspace, "flow", "debateflow", DEBATEFLOW, weaknesses=packaged_file).part is None
    assert dimensions() == ["burden_fulfillment"]
    own = workspace.root / "own.yaml"
    own.write_text("weaknesses: [{id: weak_evidence, turns: all, dimension: clash, instruction: Guess.}]", "utf-8")
    with pytest.raises(UsageError, match=r"--replace puts those of .*own\.yaml in their place"):
        add_import(workspace, "flow", "debateflow", DEBATEFLOW, weaknesses=own)
    add_import(workspace, "flow", "debateflow", DEBATEFLOW, weaknesses=own, replace=True)
    assert dimensions() == ["clash"]
