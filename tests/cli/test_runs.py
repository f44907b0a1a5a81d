"""Runs as things: what people decide about them is journalled, lands, changes what follows, and can be undone."""

from __future__ import annotations

import json
import shutil
import threading
from pathlib import Path
from typing import Any

import duckdb
import pytest
from built_warehouse import begin_built
from command_line import Done, debatebench_here
from exported import land_runs
from judged_runs import judged_run
from report_warehouse import tournament
from site_pages import only_pages
from two_runs import two_runs  # noqa: F401

from debatebench.journal.reading import read_journal
from debatebench.journal.writing import Journal
from debatebench.landing.run_marks import marking, marks_journal, read_marks
from debatebench.query.run_tags import default_order
from debatebench.shared.errors import DamagedDataError
from debatebench.shared.workspace import Workspace
from debatebench.warehouse.up_to_date import build_is_current

pytestmark = pytest.mark.slow

HOSTILE = "=cmd|' /C calc'!A0 \x1b[31m <script>alert(1)</script> \u202eevil \udc80"


@pytest.fixture
def root(two_runs: Path, tmp_path: Path) -> Path:  # noqa: F811
    """A copy of a workspace with the finished runs `demo` and `second`, of one benchmark version."""
    return Path(shutil.copytree(two_runs, tmp_path / "copied"))


@pytest.fixture(scope="module")
def judged(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A workspace in which `again` judges the debates of `held`, and landed later."""
    root = begin_built(tmp_path_factory.mktemp("judged"))
    held = list(tournament("held", ("a", "b"), repetitions=1))
    land_runs(Workspace(root), {"held": held, "again": judged_run("again", held)})
    return root


@pytest.fixture(scope="module")
def archived(two_runs: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:  # noqa: F811
    """A copy of a workspace with the run `second`, in which `demo` is archived."""
    root = Path(shutil.copytree(two_runs, tmp_path_factory.mktemp("archived") / "copied"))
    assert runs(root, "archive", "demo").code == 0
    return root


def runs(root: Path, *arguments: str) -> Done:
    return debatebench_here(root, "runs", *arguments)


def rows(root: Path, sql: str) -> list[tuple[Any, ...]]:
    with duckdb.connect(str(Workspace(root).database), read_only=True) as con:
        return con.execute(sql).fetchall()


def contents(root: Path) -> dict[str, list[tuple[Any, ...]]]:
    """The rows of everything that a mark could change."""
    names = ("raw.run_marks", "marts.runs", "marts.leaderboard", "intermediate.int_pool_members")
    names += ("ratings.pooled_games", "ratings.pooled_runs", "ratings.elo_pooled", "ratings.bradley_terry_pooled")
    return {name: rows(root, f"from {name} order by all") for name in names}


def listed(root: Path) -> dict[str, dict[str, Any]]:
    done = runs(root, "--format", "json")
    assert done.code == 0, done.err
    return {row["run_tag"]: row for row in json.loads(done.out)}


def test_every_run_is_listed_with_its_state(root: Path):
    found = listed(root)
    assert list(found) == ["second", "demo"]
    demo = found["demo"]
    assert (demo["state"], demo["kind"], demo["benchmark_version"], demo["is_simulated"]) == (
        "finished",
        "tournament",
        "v1",
        True,
    )
    assert demo["count_complete"] == demo["count_planned"] > 0
    assert float(demo["cost_usd"]) > 0
    assert (demo["is_default"], found["second"]["is_default"]) == (False, True)
    assert demo["path"] == str(root / "warehouse" / "journal" / "demo.jsonl")
    journal = Workspace(root).journal
    shutil.copy(journal / "demo.jsonl", journal / "unlanded.jsonl")
    assert listed(root)["unlanded"]["state"] == "not landed"
    head = runs(root).out.splitlines()[0].split()
    assert head[:5] == ["run_tag", "title", "state", "marks", "kind"]
    assert head[5:] == ["version", "debates", "cost_usd", "simulated", "source"]


def test_each_mark_is_undone_by_its_opposite(root: Path):
    before = contents(root)
    assert before["raw.run_marks"] == []
    for do, undo, column in [
        (("exclude", "demo"), ("include", "demo"), "is_excluded"),
        (("pin", "demo"), ("unpin", "demo"), "is_pinned"),
        (("title", "demo", "First"), ("title", "demo", ""), "title is not null"),
        (("note", "demo", "Wait.\nReally."), ("note", "demo", " "), "note is not null"),
    ]:
        done = runs(root, *do)
        assert done.code == 0, done.err
        assert rows(root, f"select run_tag from marts.runs where {column}") == [("demo",)]
        events = len(list(read_journal(marks_journal(Workspace(root)))))
        again = runs(root, *do)
        assert (again.code, "already" in again.out) == (0, True)
        assert len(list(read_journal(marks_journal(Workspace(root))))) == events, "the same again is not journalled"
        assert runs(root, *undo).code == 0
        assert contents(root) == before
    assert build_is_current(Workspace(root))
    assert runs(root, "include", "demo").out == "Run 'demo' is not excluded.\n"


def test_an_excluded_run_leaves_pools_and_defaults_and_is_shown_by_name(root: Path):
    games = rows(root, "select count(*) from ratings.pooled_games where pooled_run_tag = 'second'")
    assert games > [(0,)]
    assert runs(root, "exclude", "second").code == 0
    assert rows(root, "select count(*) from ratings.pooled_games where pooled_run_tag = 'second'") == [(0,)]
    assert rows(root, "select distinct run_tag from intermediate.int_pool_members") == [("demo",)]
    members = "select kind, run_tag from intermediate.int_comparison_members order by all"
    assert rows(root, members) == [("run", "demo"), ("run", "second"), ("version", "demo")]
    assert "Run 'demo' landed last" in debatebench_here(root, "show-leaderboard").err
    assert "Run 'second'" in debatebench_here(root, "show-leaderboard", "--run-tag", "second").err
    assert debatebench_here(root, "compare", "demo", "second", "--format", "csv").code == 0
    # A version of one run is compared with the excluded run, which is not in it.
    assert debatebench_here(root, "compare", "v1", "second", "--format", "csv").code == 0
    with only_pages("index", "results", "compared"):
        done = debatebench_here(root, "report")
    assert done.code == 0, done.err
    site = root / "reports" / "site"
    assert (site / "runs" / "demo").is_dir()
    assert not (site / "runs" / "second").exists()
    index = (site / "index.html").read_text()
    assert "runs/second" not in index
    assert ">second<" not in index
    with only_pages("index", "results", "compared"):
        assert debatebench_here(root, "report", "--run-tag", "second").code == 0
    assert (site / "runs" / "second").is_dir()


def test_marks_survive_a_rebuild_and_are_exported(root: Path, tmp_path: Path):
    assert runs(root, "pin", "demo").code == 0
    assert runs(root, "title", "demo", HOSTILE).code == 0
    assert runs(root, "exclude", "second").code == 0
    before = contents(root)
    Workspace(root).database.unlink()
    assert debatebench_here(root, "build", "--from-journals").code == 0
    assert contents(root) == before
    assert debatebench_here(root, "doctor").code == 0
    out = tmp_path / "export"
    assert debatebench_here(root, "export", "--format", "parquet", "--run-tag", "demo", "--out", str(out)).code == 0
    found = f"select title, is_pinned from '{out}/marts/runs/run_tag=demo/data.parquet'"
    assert duckdb.sql(found).fetchall() == [(HOSTILE.replace("\udc80", "\ufffd"), True)]


def test_titles_and_notes_are_hostile_text(root: Path):
    assert runs(root, "title", "demo", HOSTILE).code == 0
    assert runs(root, "note", "demo", HOSTILE * 3).code == 0
    for arguments in ((), ("--format", "csv"), ("--format", "markdown"), ("--format", "json"), ("show", "demo")):
        shown = runs(root, *arguments).out
        assert "calc" in shown
        # CSV that a program reads is exact.
        assert "csv" in arguments or not set(shown) & {"\x1b", "\u202e"}
    assert ",=cmd" not in runs(root, "--format", "csv").out
    assert debatebench_here(root, "report", "--run-tag", "demo").code == 0
    for page in (root / "reports" / "site" / "runs" / "demo").glob("*.html"):
        assert "<script>alert" not in page.read_text()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("exclude", "dmo"), "No run 'dmo' in {warehouse}. Known: demo, second. Did you mean 'demo'?"),
        (("show", "sekond"), "No run 'sekond' in {warehouse}. Known: demo, second. Did you mean 'second'?"),
        (("title", "nowhere", "x"), "No run 'nowhere' in {warehouse}. Known: demo, second."),
        (("title", "demo", "x" * 201), "This title has 201 characters; a title may have 200."),
        (("title", "demo", "x\ny"), "A title is one line; `debatebench runs note` takes a longer text."),
        (("note", "demo", "x" * 20_001), "This note has 20,001 characters; a note may have 20,000."),
        (("--format", "json", "show", "demo"), "Write --format after `show`, if that prints a result."),
    ],
    ids=lambda value: "" if isinstance(value, str) else " ".join(value)[:20],
)
def test_what_cannot_be_is_refused_and_changes_nothing(two_runs: Path, arguments: tuple[str, ...], message: str):  # noqa: F811
    done = runs(two_runs, *arguments)
    assert (done.code, done.out) == (2, "")
    assert done.error_line == "Error: " + message.format(warehouse=two_runs / "warehouse")
    assert not marks_journal(Workspace(two_runs)).exists()


def test_a_run_without_a_warehouse_can_be_marked(tmp_path: Path):
    done = runs(tmp_path)
    assert (done.code, "There is no run yet" in done.err) == (0, True)
    workspace = Workspace(tmp_path)
    workspace.journal.mkdir(parents=True)
    (workspace.journal / "early.jsonl").write_text('1 00000000 {"type":"header"}\n')
    assert runs(tmp_path, "title", "early", "Soon").out == "Run 'early' has the title: Soon\n"
    assert [(row["title"], row["state"]) for row in listed(tmp_path).values()] == [("Soon", "not landed")]


def test_a_damaged_journal_of_marks_stops_what_needs_it_and_is_found_by_doctor(root: Path):
    assert runs(root, "pin", "demo").code == 0
    path = marks_journal(Workspace(root))
    whole = path.read_bytes()
    path.write_bytes(whole.replace(b'"pinned"', b'"titled"'))
    for command in (("runs",), ("runs", "unpin", "demo"), ("land",)):
        done = debatebench_here(root, *command)
        assert (done.code, str(path) in done.error_line) == (3, True)
    assert debatebench_here(root, "show-leaderboard").code == 0, "readers do not need it"
    done = debatebench_here(root, "doctor")
    assert (done.code, str(path) in done.out) == (3, True)
    path.write_bytes(whole + b"5 0000")
    assert debatebench_here(root, "land").code == 0, "a torn line was never acknowledged"
    assert "torn_line" in debatebench_here(root, "doctor").out
    assert runs(root, "unpin", "demo").code == 0
    assert "set_aside" in debatebench_here(root, "doctor").out


def test_a_mark_that_did_not_land_is_found_and_lands_with_the_next_build_of_anything(root: Path):
    with marking(Workspace(root)) as journal:
        assert journal.set("demo", "excluded", True, "2026-01-01T00:00:00")
        assert not journal.set("demo", "excluded", True, "2026-01-01T00:00:00")
    done = debatebench_here(root, "doctor")
    assert (done.code, "not_landed" in done.out) == (0, True)
    assert debatebench_here(root, "land").code == 0
    assert rows(root, "select run_tag from marts.runs where is_excluded") == [("demo",)]
    assert "No problems" in debatebench_here(root, "doctor").err


def test_marks_of_many_processes_are_all_kept(tmp_path: Path):
    workspace = Workspace(tmp_path)

    def mark(n: int) -> None:
        with marking(workspace) as journal:
            journal.set(f"run-{n}", "pinned", True, "2026-01-01T00:00:00")

    threads = [threading.Thread(target=mark, args=(n,)) for n in range(12)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    records = read_marks(workspace).records()
    assert sorted(record.pin_number or 0 for record in records) == list(range(1, 13))


def test_a_journal_for_something_else_is_not_read_as_marks(tmp_path: Path):
    path = marks_journal(Workspace(tmp_path))
    other = {"type": "header", "format": 2, "purpose": "annotations"}
    for data in (other, {"type": "intent"}, {"type": "mark", "run_tag": "r"}):
        path.unlink(missing_ok=True)
        with Journal.open(path) as journal:
            journal.append(data)
        with pytest.raises(DamagedDataError, match="event 1 at byte 0 cannot be read by this version"):
            read_marks(Workspace(tmp_path))


# --- the archive -----------------------------------------------------------------------------------------------------


def everything(root: Path) -> dict[str, list[tuple[Any, ...]]]:
    """Every row of every table and view of the models, and the order of the landings."""
    with duckdb.connect(str(Workspace(root).database), read_only=True) as con:
        names = con.execute(
            "select schema_name || '.' || table_name from duckdb_tables() "
            "where schema_name in ('raw', 'ratings', 'marts')"
        ).fetchall()
        found = {name: con.execute(f"from {name} order by all").fetchall() for (name,) in names}
    return found | {"order": rows(root, "select run_tag from meta.landings order by landing")} | contents(root)


def test_an_archived_run_leaves_the_warehouse_and_comes_back_with_the_same_rows(root: Path):
    before = everything(root)
    assert runs(root, "title", "demo", "First").code == 0
    done = runs(root, "archive", "demo")
    assert (done.code, "`debatebench runs restore demo` brings it back" in done.out) == (0, True)
    assert not (root / "warehouse" / "journal" / "demo.jsonl").exists()
    landed = "select table_name from duckdb_columns() where schema_name = 'raw' and column_name = 'run_tag'"
    for (table,) in rows(root, landed):
        found = rows(root, f"select distinct run_tag from raw.{table} where run_tag <> 'second'")
        assert found == ([("demo",)] if table == "run_marks" else [])
    assert rows(root, "select run_tag, title from staging.stg_run_marks where is_archived") == [("demo", "First")]
    (run,) = [run for run in listed(root).values() if run["state"] == "archived"]
    assert (run["run_tag"], run["title"], run["kind"]) == ("demo", "First", None)
    assert run["path"] == str(root / "warehouse" / "archive" / "journal" / "demo.jsonl")
    assert "archived already" in runs(root, "archive", "demo").out
    for command in (("show-leaderboard", "--run-tag", "demo"), ("land", "--run-tag", "demo"), ("retry", "demo")):
        refused = debatebench_here(root, *command)
        assert (refused.code, "Run 'demo' is archived" in refused.error_line) == (2, True)
        assert "`debatebench runs restore demo` brings it back" in refused.error_line
    shown = debatebench_here(root, "doctor")
    assert (shown.code, shown.out) == (0, "")
    assert debatebench_here(root, "build", "--from-journals").code == 0
    assert rows(root, "select run_tag from marts.runs") == [("second",)]
    assert runs(root, "restore", "demo").code == 0
    assert runs(root, "title", "demo", "").code == 0
    assert everything(root) == before
    assert debatebench_here(root, "doctor").out == ""
    assert runs(root, "restore", "demo").out == "Run 'demo' is not archived.\n"
    assert list(listed(root)) == ["second", "demo"], "it is not the last that landed"


@pytest.mark.parametrize(
    "command",
    [
        ["annotate", "--run-tag", "demo", "--annotator", "me", "--no-browser"],
        ["build", "--from-journals", "--without", "demo"],
        ["compare", "second", "demo"],
        ["compare", "second", "run:demo"],
        ["export", "--format", "parquet", "--run-tag", "demo", "--out-dir", "exported"],
        ["gate", "demo", "second"],
        ["inspect-debate", "x", "--run-tag", "demo"],
        ["judge", "demo", "--as", "again"],
        ["land", "--reparse", "--run-tag", "demo"],
        ["plot", "--run-tag", "demo", "--out-dir", "plots"],
        ["probe-judges", "demo", "--as", "probe"],
        ["rate", "--run-tag", "demo"],
        ["report", "--compare", "second", "demo"],
        ["sample-debates", "--run-tag", "demo"],
        ["summarize", "--run-tag", "demo"],
        ["view", "--run-tag", "demo", "--no-browser"],
    ],
    ids=lambda command: " ".join(command[:2]),
)
def test_a_command_that_needs_an_archived_run_names_the_command_that_restores_it(archived: Path, command: list[str]):
    done = debatebench_here(archived, *command)
    assert done.code == 2
    assert "Run 'demo' is archived" in done.error_line
    assert "`debatebench runs restore demo` brings it back" in done.error_line


def test_a_warehouse_whose_only_run_is_archived_says_so(archived: Path):
    assert runs(archived, "archive", "second").code == 0
    done = debatebench_here(archived, "show-leaderboard", "--run-tag", "demo")
    assert "Run 'demo' is archived" in done.error_line
    assert "contains no runs yet" in debatebench_here(archived, "show-leaderboard").error_line
    assert runs(archived, "restore", "second").code == 0


def test_the_archive_of_a_killed_command_is_finished_by_the_next_landing_and_the_same_command(root: Path):
    with marking(Workspace(root)) as journal:
        journal.set("demo", "archived", True, "2026-01-01T00:00:00")
    # Killed before it moved anything: the run counts as archived.
    done = debatebench_here(root, "doctor")
    assert (done.code, "unfinished_archive" in done.out, "not_landed" in done.out) == (0, True, True)
    assert debatebench_here(root, "land").code == 0
    assert rows(root, "select run_tag from marts.runs") == [("second",)]
    assert runs(root, "archive", "demo").code == 0
    assert (root / "warehouse" / "archive" / "journal" / "demo.jsonl").exists()
    assert debatebench_here(root, "doctor").out == ""


def test_a_run_whose_debates_are_judged_in_the_warehouse_is_not_archived(judged: Path):
    done = runs(judged, "archive", "held")
    assert done.code == 2
    assert done.error_line == "Error: Run 'again' judges the debates of 'held': archive 'again' first."


# --- the run that is meant where none is named -----------------------------------------------------------------------


def test_a_run_that_judges_again_never_takes_the_place_of_the_tournament(judged: Path):
    assert rows(judged, "select run_tag, kind from marts.runs order by 1") == [
        ("again", "judged_again"),
        ("held", "tournament"),
    ]
    with duckdb.connect(str(Workspace(judged).database), read_only=True) as con:
        assert default_order(con) == ["held"]
    with only_pages("index"):
        assert debatebench_here(judged, "report").code == 0
    index = (judged / "reports" / "site" / "index.html").read_text()
    assert "Leaderboard of run held" in index
    assert "Leaderboard of run again" not in index


def test_a_run_that_is_never_meant_is_not_pinned(root: Path, judged: Path):
    def refused(folder: Path, tag: str) -> str:
        done = runs(folder, "pin", tag)
        assert (done.code, done.out) == (2, "")
        assert done.error_line.startswith("Error: A pin would have no effect. ")
        return done.error_line

    assert "Run 'again' judges the debates of 'held'" in refused(judged, "again")
    for undo in ("exclude", "include"), ("archive", "restore"):
        assert runs(root, undo[0], "demo").code == 0
        assert f"`debatebench runs {undo[1]} demo`" in refused(root, "demo")
        assert runs(root, undo[1], "demo").code == 0
    assert runs(root, "pin", "demo").code == 0
    judge = ("judge", "demo", "--as", "again", "--baseline", "always_tie", "--no-build")
    assert debatebench_here(root, *judge).code == 0
    Workspace(root).database.unlink()
    assert "judges the debates of 'demo'" in refused(root, "again"), "its journal says so before it lands"


def test_the_pin_of_an_excluded_run_is_kept_and_holds_again_afterwards(root: Path):
    assert "pinned" not in runs(root, "exclude", "demo").out
    assert "pin" not in runs(root, "include", "demo").out
    assert runs(root, "pin", "demo").code == 0
    assert "It stays pinned, but is not meant where no run is named" in runs(root, "exclude", "demo").out
    assert listed(root)["second"]["is_default"]
    assert "Its pin holds again." in runs(root, "include", "demo").out
    assert listed(root)["demo"]["is_default"]


def test_the_run_that_was_pinned_last_is_meant_by_commands_and_pages(root: Path):
    assert runs(root, "pin", "second").code == 0
    assert runs(root, "pin", "demo").code == 0
    assert list(listed(root)) == ["demo", "second"]
    assert debatebench_here(root, "show-leaderboard").err.startswith("Run 'demo' is pinned; `--run-tag` names")
    with only_pages("index"):
        assert debatebench_here(root, "report").code == 0
    assert "Leaderboard of run demo" in (root / "reports" / "site" / "index.html").read_text()
    # An excluded run is meant only by name, pinned or not.
    assert runs(root, "exclude", "demo").code == 0
    assert debatebench_here(root, "show-leaderboard").err.startswith("Run 'second' is pinned")
    assert runs(root, "exclude", "second").code == 0
    done = debatebench_here(root, "show-leaderboard")
    assert (done.code, "or is excluded; name one by its tag. Known: demo, second." in done.error_line) == (
        2,
        True,
    )
