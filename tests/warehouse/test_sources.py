"""A source that is missing, damaged or shorter than before is named, and the warehouse keeps what it had."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import duckdb
import pytest
from command_line import Done, debatebench, debatebench_here
from imported import ORIGINAL, add_import
from site_pages import only_pages
from sql_project import only_sql_models

from debatebench.journal.reading import read_journal
from debatebench.journal.writing import write_journal
from debatebench.shared.workspace import Workspace
from debatebench.warehouse.doctor import examine

pytestmark = pytest.mark.slow

Damage = Callable[[Path], object]


@pytest.fixture(scope="module")
def played(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A workspace with the runs `demo` and `second` and the import `old`, all landed. Tests only read it."""
    root = tmp_path_factory.mktemp("sources")
    assert debatebench(root, "init").code == 0
    for tag, seed in (("demo", "12345"), ("second", "7")):
        done = debatebench(root, "run", "--run-tag", tag, "--sample-topics", "1", "--seed", seed, "--no-build")
        assert done.code == 0, done.err
    done = debatebench_here(root, "import", "debatebench", str(ORIGINAL), "--run-tag", "old", "--no-build")
    assert done.code == 0, done.err
    return root


@pytest.fixture(scope="module")
def built(played: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same with all SQL models built. Tests only read it."""
    root = Path(shutil.copytree(played, tmp_path_factory.mktemp("built") / "workspace"))
    assert debatebench_here(root, "build").code == 0
    return root


@pytest.fixture
def few_sql_models() -> Iterator[None]:
    """The debates, and one SQL model that cannot be built from every run."""
    with only_sql_models("marts.debates", "ratings.elo"):
        yield


@pytest.fixture(scope="module")
def landed(played: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same with few SQL models, all built. Tests only read it."""
    root = Path(shutil.copytree(played, tmp_path_factory.mktemp("few") / "workspace"))
    with only_sql_models("marts.debates", "ratings.elo"):
        assert debatebench_here(root, "build").code == 0
    return root


@pytest.fixture
def copied(landed: Path, few_sql_models: None, tmp_path: Path) -> Path:
    """A copy, to be changed."""
    return Path(shutil.copytree(landed, tmp_path / "copied"))


def journal_of(root: Path, tag: str = "demo") -> Path:
    return root / "warehouse" / "journal" / f"{tag}.jsonl"


def database_of(root: Path) -> Path:
    return root / "warehouse" / "debatebench.duckdb"


def debates(root: Path) -> dict[str, int]:
    """Run tag → the number of its debates in the warehouse."""
    with duckdb.connect(str(database_of(root)), read_only=True) as con:
        return dict(con.execute("select run_tag, count(*) from marts.debates group by all order by all").fetchall())


def findings(root: Path) -> set[tuple[str, str]]:
    """What is damaged: (run tag, finding)."""
    return {(found.run_tag, found.finding) for found in examine(Workspace(root)) if found.is_damage}


def cut(path: Path, lines: int = 5) -> bytes:
    """Remove the last lines of a journal, and return what it was."""
    content = path.read_bytes()
    path.write_bytes(b"".join(content.splitlines(keepends=True)[:-lines]))
    return content


def rewrite(path: Path, change: Callable[[list[dict[str, Any]]], object]) -> None:
    """Change the events of a journal and write them again with sound checksums, as by hand."""
    events = [event.data for event in read_journal(path)]
    change(events)
    path.unlink()
    write_journal(path, iter(events))


def one_line(done: Done, code: int, words: str) -> None:
    assert done.code == code, done.err
    assert words in done.error_line
    assert "Traceback" not in done.err


# --- missing ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("tag", "lose", "finding"),
    [
        ("demo", lambda root: journal_of(root).unlink(), "lost_source"),
        ("old", lambda root: shutil.rmtree(root / "warehouse" / "imports" / "old"), "lost_source"),
        ("old", lambda root: (root / "warehouse" / "imports" / "old" / "manifest.json").unlink(), "changed_import"),
    ],
    ids=["journal", "import", "manifest"],
)
def test_the_warehouse_is_not_created_again_without_a_run_that_it_has(
    copied: Path, tag: str, lose: Damage, finding: str
) -> None:
    before, content = debates(copied), database_of(copied).read_bytes()
    lose(copied)
    assert findings(copied) == {(tag, finding)}
    done = debatebench_here(copied, "build", "--from-journals")
    one_line(done, 3, f"`debatebench build --from-journals --without {tag}`")
    assert database_of(copied).read_bytes() == content
    done = debatebench_here(copied, "land")
    one_line(done, 3, f"Run '{tag}' was set aside, the others are up to date")
    assert debates(copied) == before
    done = debatebench_here(copied, "build", "--from-journals", "--without", tag)
    assert done.code == 0, done.err
    assert debates(copied) == {other: count for other, count in before.items() if other != tag}


def test_without_needs_from_journals(copied: Path) -> None:
    one_line(debatebench_here(copied, "build", "--without", "demo"), 2, "--without needs --from-journals")


def test_a_run_does_not_begin_again_where_the_warehouse_has_it(copied: Path) -> None:
    journal_of(copied).unlink()
    done = debatebench(copied, "run", "--run-tag", "demo", "--sample-topics", "1", "--no-input")
    one_line(done, 3, "The warehouse contains run 'demo', but")
    assert not journal_of(copied).exists()


@pytest.mark.slow_inputs
@pytest.mark.parametrize("keep", [0, 14, 4096, 300_000])
def test_a_damaged_warehouse_is_created_again_from_what_there_is(copied: Path, keep: int) -> None:
    before = debates(copied)
    database_of(copied).write_bytes(database_of(copied).read_bytes()[:keep] or b"not a database")
    one_line(debatebench_here(copied, "query", "from raw.turns"), 3, "debatebench build --from-journals")
    assert debatebench_here(copied, "build", "--from-journals").code == 0
    assert debates(copied) == before


def test_a_column_that_is_called_checksum_is_not_damage(landed: Path) -> None:
    done = debatebench_here(landed, "query", "select checksum from raw.turns")
    assert done.code == 1
    assert "damaged" not in done.err


# --- shorter ----------------------------------------------------------------------------------------------------------


def test_a_journal_that_was_cut_at_the_end_of_a_line_lands_only_on_demand(copied: Path) -> None:
    before = debates(copied)
    content = cut(journal_of(copied))
    assert findings(copied) == {("demo", "lost_records")}
    for command in (["land"], ["land", "--run-tag", "demo"], ["build", "--from-journals"]):
        one_line(debatebench_here(copied, *command), 3, "has lost or changed records since run 'demo' was landed")
        assert debates(copied) == before
    done = debatebench(copied, "run", "--run-tag", "demo", "--sample-topics", "1", "--seed", "12345", "--no-input")
    one_line(done, 3, "debatebench land --run-tag demo --replace")
    assert debatebench_here(copied, "land", "--run-tag", "demo", "--replace").code == 0
    assert debates(copied)["demo"] < before["demo"]
    assert findings(copied) == set()
    journal_of(copied).write_bytes(content)
    assert debatebench_here(copied, "land").code == 0
    assert debates(copied) == before


def test_an_older_manifest_of_an_import_is_not_taken_for_the_whole(copied: Path, tmp_path: Path) -> None:
    manifest = copied / "warehouse" / "imports" / "old" / "manifest.json"
    older = manifest.read_bytes()
    more = tmp_path / "more.jsonl"
    record = json.loads(ORIGINAL.read_text().splitlines()[0])
    record["transcript"]["debate_id"] = "another"
    more.write_text(json.dumps(record) + "\n")
    done = debatebench_here(copied, "import", "debatebench", str(more), "--run-tag", "old")
    assert done.code == 0, done.err
    before = debates(copied)
    manifest.write_bytes(older)
    assert findings(copied) == {("old", "lost_records")}
    one_line(debatebench_here(copied, "land"), 3, "has lost or changed records since run 'old' was landed")
    assert debates(copied) == before


def test_a_changed_setting_in_a_manifest_does_not_change_a_rating(copied: Path) -> None:
    manifest = copied / "warehouse" / "imports" / "old" / "manifest.json"
    manifest.write_text(manifest.read_text().replace('"k_factor": 32.0', '"k_factor": 31.0'))
    assert findings(copied) == {("old", "lost_records")}
    for command in (["land"], ["build", "--from-journals"]):
        one_line(debatebench_here(copied, *command), 3, "has lost or changed records since run 'old' was landed")


def test_a_landing_that_an_earlier_version_recorded_has_no_size_and_is_trusted(copied: Path) -> None:
    with duckdb.connect(str(database_of(copied))) as con:
        con.execute("alter table meta.landings drop column source_size")
    assert findings(copied) == set()
    cut(journal_of(copied))
    assert debatebench_here(copied, "land").code == 0
    assert findings(copied) == set()


def test_a_journal_that_grew_lands_without_a_word(copied: Path) -> None:
    content = cut(journal_of(copied))
    assert debatebench_here(copied, "land", "--replace").code == 0
    journal_of(copied).write_bytes(content)
    done = debatebench_here(copied, "land")
    assert done.code == 0
    assert "demo: landed" in done.err


def test_every_run_that_is_set_aside_is_named(copied: Path) -> None:
    cut(journal_of(copied))
    journal_of(copied, "second").unlink()
    done = debatebench_here(copied, "land")
    one_line(done, 3, "2 runs were set aside (demo, second); the others are up to date")
    assert "Run 'demo': " in done.err
    assert "Run 'second': The warehouse contains run 'second', but its journal or import is missing" in done.err


# --- damaged, or not to be derived ------------------------------------------------------------------------------------


def test_a_damaged_journal_keeps_no_other_run_from_landing(copied: Path) -> None:
    before = debates(copied)
    content = journal_of(copied).read_bytes()
    journal_of(copied).write_bytes(content[:5000] + b"#" + content[5001:])
    with duckdb.connect(str(database_of(copied))) as con:
        con.execute("update meta.landings set content_sha256 = '', source_size = null where run_tag = 'second'")
    done = debatebench_here(copied, "land")
    one_line(done, 3, "is damaged")
    assert "Run 'demo' was set aside" in done.error_line
    assert "second: landed" in done.err
    assert debates(copied) == before
    one_line(debatebench_here(copied, "build", "--from-journals"), 3, "--without demo")
    assert debates(copied) == before


def extreme_elo(events: list[dict[str, Any]]) -> None:
    """A setting that an earlier version accepted, and with which no rating can be computed."""
    events[0]["records"]["runs"][0]["elo_initial_rating"] = 1e308
    events[0]["records"]["runs"][0]["elo_k_factor"] = 1e308


@pytest.mark.parametrize("command", [["land"], ["land", "--run-tag", "demo"], ["build", "--from-journals"]])
def test_a_run_from_which_nothing_can_be_derived_is_set_aside(copied: Path, command: list[str]) -> None:
    before = debates(copied)
    rewrite(journal_of(copied), extreme_elo)
    database_of(copied).unlink()
    assert debatebench_here(copied, "land", "--run-tag", "old").code == 0
    done = debatebench_here(copied, *command)
    one_line(done, 3, "Run 'demo' was set aside, the others are up to date: SQL model ratings.")
    expected = {"old"} if "--run-tag" in command else {"old", "second"}
    assert debates(copied) == {tag: before[tag] for tag in expected}
    assert ("demo", "not_landed") in {(found.run_tag, found.finding) for found in examine(Workspace(copied))}


def test_a_run_that_cannot_be_derived_keeps_no_warehouse_of_another_version_from_landing_again(copied: Path) -> None:
    before = debates(copied)
    rewrite(journal_of(copied), extreme_elo)
    with duckdb.connect(str(database_of(copied))) as con:
        con.execute("delete from meta.landings where run_tag = 'demo'")
        con.execute("alter table raw.topics drop info_slide")
    one_line(debatebench_here(copied, "land", "--run-tag", "second"), 3, "Run 'demo' was set aside")
    assert debates(copied) == {tag: count for tag, count in before.items() if tag != "demo"}


def test_a_sql_model_that_fails_without_any_run_is_not_blamed_on_a_run(copied: Path) -> None:
    folder = copied / "sql" / "marts"
    folder.mkdir(parents=True)
    (folder / "mine.sql").write_text("-- One row.\nselect cast('a' || count(*) as int) as x from marts.debates\n")
    (folder / "mine.yml").write_text("models: [{name: mine, description: One row., config: {materialized: table}}]\n")
    with duckdb.connect(str(database_of(copied))) as con:
        con.execute("update meta.landings set content_sha256 = '', source_size = null where run_tag = 'second'")
    done = debatebench_here(copied, "land")
    one_line(done, 3, "All has landed, but not all SQL models are built")
    assert "second: landed 30 debates" in done.err
    assert "set aside" not in done.err
    one_line(debatebench_here(copied, "build"), 1, "SQL model marts.mine")
    with duckdb.connect(str(database_of(copied)), read_only=True) as con:
        counted = con.execute("select count(*) from marts.debates where run_tag = 'second'").fetchall()
    assert counted == [(30,)], "the others are built"


# --- made by hand -----------------------------------------------------------------------------------------------------


def first_of(events: list[dict[str, Any]], kind: str, of: str | None = None) -> dict[str, Any]:
    return next(event for event in events if event["type"] == kind and event.get("of") == of)


@pytest.mark.slow_inputs
@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda events: events[0].pop("plan"), "Object missing required field `plan`"),
        (lambda events: events[0]["plan"].pop("run_tag"), "Object missing required field `run_tag`"),
        (lambda events: events[0].update(plan="a plan"), "Expected `object`, got `str` - at `$.plan`"),
        (lambda events: events.insert(3, {"type": "hint", "of": "debate"}), "Invalid value 'hint' - at `$.type`"),
        (lambda events: events.insert(3, {"of": "debate"}), "Object missing required field `type`"),
        (lambda events: events.insert(3, events[0]), "is a second header, so it does not belong to this run"),
        (lambda events: first_of(events, "intent").pop("call_id"), "Object missing required field `call_id`"),
        (lambda events: first_of(events, "intent").update(debate_id="x"), "debate 'x', which is not in the plan"),
        (
            lambda events: first_of(events, "outcome", "debate").update(debate_id="x"),
            "the outcome of debate 'x', which is not in the plan",
        ),
        (
            lambda events: first_of(events, "outcome", "debate")["records"]["debates"][0].pop("debate_id"),
            "contains a record of 'debates' that this version of debatebench cannot read",
        ),
        (
            lambda events: first_of(events, "outcome", "debate")["records"]["debates"][0].update(run_tag="other"),
            "is about run 'other', so it does not belong to this run",
        ),
        (
            lambda events: first_of(events, "outcome", "debate")["records"].update(speeches=[{}]),
            "contains a record of 'speeches'",
        ),
    ],
)
def test_an_event_that_no_run_wrote_is_named_by_its_place(copied: Path, change: Damage, words: str) -> None:
    rewrite(journal_of(copied), change)  # type: ignore[arg-type]
    assert ("demo", "damaged_journal") in findings(copied)
    done = debatebench_here(copied, "land", "--run-tag", "demo", "--replace")
    one_line(done, 3, words)
    assert "at byte" in done.error_line


def test_a_reply_that_was_never_asked_for_stops_the_run_before_its_first_request(copied: Path) -> None:
    path = journal_of(copied)
    rewrite(path, lambda events: events.remove(first_of(events, "intent")))
    database_of(copied).unlink()
    done = debatebench(copied, "run", "--run-tag", "demo", "--sample-topics", "1", "--seed", "12345", "--no-input")
    one_line(done, 3, "does not fit the events before it")


def test_the_manifest_of_a_newer_version_is_told_as_newer(copied: Path) -> None:
    path = copied / "warehouse" / "imports" / "old" / "manifest.json"
    manifest = json.loads(path.read_text())
    path.write_text(json.dumps({**manifest, "manifest_version": 3, "kinds": []}))
    done = debatebench_here(copied, "land", "--run-tag", "old")
    one_line(done, 3, "was written by a newer version of debatebench, which is needed to read it (manifest version 3")


# --- what doctor sees -------------------------------------------------------------------------------------------------


def test_doctor_finds_every_flipped_block_that_a_query_would_refuse(built: Path, tmp_path: Path) -> None:
    copied = Path(shutil.copytree(built, tmp_path / "copied"))
    path = database_of(copied)
    content = path.read_bytes()
    block = 262_144
    unread = []
    for start in range(3 * 4096, len(content), 7 * block):
        at = min(start + block // 3, len(content) - 1)
        path.write_bytes(content[:at] + bytes([content[at] ^ 0x40]) + content[at + 1 :])
        is_sound = ("", "unreadable_warehouse") not in findings(copied)
        if is_sound and not every_row_is_readable(path):
            unread.append(at)
    assert unread == []


def every_row_is_readable(database: Path) -> bool:
    try:
        with duckdb.connect(str(database), read_only=True) as con:
            for schema, table in con.execute("select schema_name, table_name from duckdb_tables()").fetchall():
                con.execute(f'from "{schema}"."{table}"').fetchall()
    except duckdb.Error:
        return False
    return True


def test_doctor_names_files_that_were_added_to_an_import_and_what_killed_commands_left(copied: Path) -> None:
    folder = copied / "warehouse" / "imports" / "old"
    part = next(path for path in folder.iterdir() if path.is_dir())
    (part / "notes.txt").write_text("added")
    (folder / "readme.md").write_text("added")
    (folder / ".incoming").mkdir()
    (folder / "0009").mkdir()
    (copied / "reports" / ".site.new-0123456789abcdef").mkdir(parents=True)
    (copied / "warehouse" / ".debatebench.duckdb.publishing").write_bytes(b"")
    found = {(found.finding, Path(found.place).name, found.is_damage) for found in examine(Workspace(copied))}
    assert found == {
        ("changed_import", "notes.txt", True),
        ("changed_import", "readme.md", True),
        ("leftover", ".incoming", False),
        ("leftover", "0009", False),
        ("leftover", ".site.new-0123456789abcdef", False),
        ("leftover", ".debatebench.duckdb.publishing", False),
    }


def test_the_next_report_removes_what_a_killed_one_left(built: Path, tmp_path: Path) -> None:
    copied = Path(shutil.copytree(built, tmp_path / "copied"))
    left = copied / "reports" / ".site.new-0123456789abcdef"
    other = copied / "reports" / ".docs.new-0123456789abcdef"
    for folder in (left, other):
        folder.mkdir(parents=True)
        (folder / "page.html").write_text("half")
    with only_pages("index"):
        assert debatebench_here(copied, "report").code == 0
    assert not left.exists()
    assert other.exists()


def test_an_import_into_an_empty_folder_is_still_an_import(tmp_path: Path) -> None:
    workspace = Workspace(tmp_path)
    add_import(workspace, "old", "debatebench", ORIGINAL)
    assert {found.finding for found in examine(workspace)} == {"not_landed"}
