"""A workspace that a newer version has worked in, through every command: each says so, and none speaks of damage."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import pytest
from command_line import debatebench_here
from every_command import RULES, WAY_OUT, done_by
from imported import ORIGINAL
from two_runs import two_runs  # noqa: F401

from debatebench.journal.lines import JOURNAL_FORMAT
from debatebench.journal.reading import all_lines, read_journal
from debatebench.journal.writing import Journal, write_journal
from debatebench.shared.errors import NewerDataError, RegressionError
from debatebench.shared.workspace import Workspace

pytestmark = pytest.mark.slow

SALVAGE = re.compile(r"(?<!not )damage|(?<!to )salvage|lost or changed|restore|from a copy", re.IGNORECASE)


def changed(path: Path, change: Callable[[dict[str, Any]], None]) -> None:
    """Write a journal again with its first event changed."""
    events = [event.data for event in read_journal(path)]
    change(events[0])
    path.unlink()
    write_journal(path, iter(events))


def newer_journal(root: Path) -> None:
    """A journal of a later format, with a record that has one more field, and an unknown kind of event."""

    def change(header: dict[str, Any]) -> None:
        header["format"] = JOURNAL_FORMAT + 1
        header["records"]["runs"][0]["mood"] = "good"
        header["plan"]["mood"] = "good"

    changed(journal_of(root), change)
    with_unknown_event(journal_of(root))
    forget_landing(root)


def continued_journal(root: Path) -> None:
    """A journal of this format, with which a newer version went on."""
    with Journal.open(journal_of(root)) as journal:
        journal.append({"type": "format", "format": JOURNAL_FORMAT + 1})
    with_unknown_event(journal_of(root))


def newer_plan(root: Path) -> None:
    """A journal of this format with a plan that has one more field."""
    changed(journal_of(root), lambda header: header["plan"].update(mood="good"))
    forget_landing(root)


def forget_landing(root: Path) -> None:
    """As if the run had not landed yet, so that its journal may differ from what had."""
    with duckdb.connect(str(Workspace(root).database)) as con:
        con.execute("delete from meta.landings where run_tag = 'demo'")


def newer_import(root: Path) -> None:
    """An import whose manifest has a later version."""
    path = Workspace(root).imports / "imported" / "manifest.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), "manifest_version": 3, "mood": "good"}))


def newer_warehouse(root: Path) -> None:
    """A warehouse with more landed tables and columns, and more that is recorded about its build."""
    with duckdb.connect(str(Workspace(root).database)) as con:
        con.execute("alter table raw.runs add column mood varchar; create table raw.moods (run_tag varchar)")
        con.execute(
            "alter table meta.builds add column mood varchar; alter table meta.landings add column mood varchar"
        )
        con.execute("alter table meta.build_state add column mood varchar; update meta.build_state set state = 'later'")
        con.execute("alter table meta.macros add column mood varchar; create table meta.moods (mood varchar)")


def with_unknown_event(path: Path) -> None:
    """Add an event of an unknown kind, as its version would."""
    events = [event.data for event in unchecked(path)]
    path.unlink()
    write_journal(path, iter([*events, {"type": "mood", "mood": "good", "records": {"moods": [{"mood": "good"}]}}]))


def unchecked(path: Path) -> list[Any]:
    """The events of a journal of any format."""
    return [line for line in all_lines(path) if line.data is not None]


def journal_of(root: Path) -> Path:
    return Workspace(root).journal / "demo.jsonl"


NEWER = {each.__name__: each for each in (newer_journal, continued_journal, newer_plan, newer_import, newer_warehouse)}
# What reads the journal, its plan or the import, beside doctor.
READ_SOURCES = {
    "newer_journal": ["run", "retry", "land"],
    "continued_journal": ["run", "retry", "land"],
    "newer_plan": ["run", "retry"],
    "newer_import": ["import", "land"],
    "newer_warehouse": [],
}


@pytest.fixture(scope="module")
def with_import(two_runs: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:  # noqa: F811
    """A workspace with two finished runs and an import. Tests copy it."""
    root = Path(shutil.copytree(two_runs, tmp_path_factory.mktemp("newer") / "base"))
    assert debatebench_here(root, "import", "debatebench", str(ORIGINAL), "--run-tag", "imported").code == 0
    return root


@pytest.fixture
def base(with_import: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(with_import, tmp_path / "ws"))


def sources(root: Path) -> dict[str, bytes]:
    """Every file that is the truth: the journals, and what was imported."""
    workspace = Workspace(root)
    files = [*workspace.journal.glob("*.jsonl"), *workspace.imports.rglob("*")]
    return {str(path.relative_to(root)): path.read_bytes() for path in files if path.is_file()}


WORDS = {"FIRST": ("demo",), "SECOND": ("second",), "IMPORTED": ("imported",)}
AGAIN = ("--run-tag", "demo", "--sample-topics", "1", "--seed", "12345")


def debate_of(root: Path) -> tuple[str]:
    with duckdb.connect(str(Workspace(root).database), read_only=True) as con:
        ((debate_id,),) = con.execute("select min(debate_id) from raw.debates where run_tag = 'demo'").fetchall()
    return (debate_id,)


# One kind of newer source through every command, and the others through what reads them.
CASES = [
    (command, newer)
    for newer, readers in READ_SOURCES.items()
    for command in (RULES if newer in ("newer_journal", "newer_warehouse") else readers)
]


@pytest.mark.slow_inputs
@pytest.mark.parametrize(("command", "newer"), CASES)
def test_no_command_takes_newer_data_for_damage(command: str, newer: str, base: Path):
    words = {**WORDS, "DEBATE": debate_of(base), "RUN": AGAIN}
    NEWER[newer](base)
    before = sources(base)
    done = done_by(command, base, words)
    assert "Traceback" not in done.err
    assert not SALVAGE.search(done.out + done.err), done.out + done.err
    if command in READ_SOURCES[newer]:
        assert (done.code, "newer version" in done.err) == (NewerDataError.exit_code, True)
    elif done.code not in (0, RegressionError.exit_code):
        assert (done.code in (1, 2), WAY_OUT in done.error_line) == (True, True)
    assert all(sources(base)[name] == content for name, content in before.items())


@pytest.mark.parametrize("newer", ["newer_journal", "continued_journal", "newer_import"])
def test_doctor_calls_newer_data_newer(newer: str, base: Path):
    NEWER[newer](base)
    done = debatebench_here(base, "doctor", "--salvage")
    assert done.code == 0, done.err
    assert "newer version" in done.out
    assert not SALVAGE.search(done.out)


@pytest.mark.parametrize("newer", ["newer_journal", "continued_journal"])
def test_a_damaged_journal_of_a_newer_version_is_not_salvaged_by_an_older_one(newer: str, base: Path):
    NEWER[newer](base)
    lines = journal_of(base).read_bytes().splitlines(keepends=True)
    journal_of(base).write_bytes(b"".join([*lines[:5], lines[5].replace(b"{", b"[", 1), *lines[6:]]))
    done = debatebench_here(base, "doctor", "--salvage")
    assert done.code == NewerDataError.exit_code
    assert "written by a newer version" in done.error_line
    assert list(Workspace(base).journal.glob("*.salvaged*")) == []


@pytest.mark.parametrize("newer", ["newer_journal", "newer_plan"])
def test_reading_stored_answers_again_needs_the_newer_version(newer: str, base: Path):
    NEWER[newer](base)
    before = sources(base)
    done = debatebench_here(base, "land", "--reparse")
    assert done.code == NewerDataError.exit_code
    assert "newer version" in done.error_line
    assert sources(base) == before


@pytest.mark.parametrize("newer", ["newer_journal", "continued_journal", "newer_import"])
def test_a_rebuild_names_the_newer_version_and_changes_nothing(newer: str, base: Path):
    NEWER[newer](base)
    database = Workspace(base).database
    before = database.read_bytes()
    done = debatebench_here(base, "build", "--from-journals")
    assert done.code == NewerDataError.exit_code
    assert "newer version" in done.error_line
    assert database.read_bytes() == before
    tag = "imported" if newer == "newer_import" else "demo"
    assert debatebench_here(base, "build", "--from-journals", "--without", tag).code == 0


def test_a_build_makes_a_newer_warehouse_one_of_this_version(base: Path):
    newer_warehouse(base)
    assert debatebench_here(base, "build").code == 0
    done = debatebench_here(base, "show-leaderboard", "--run-tag", "demo")
    assert done.code == 0
    assert "other SQL models" not in done.err
