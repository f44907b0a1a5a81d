"""Publishing: readers see the old warehouse or the new one, and a publication that dies changes nothing."""

from __future__ import annotations

import hashlib
import os
import signal
import stat
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import duckdb
import pytest
from built_warehouse import NOON, begin_built
from command_line import debatebench, debatebench_here
from imported import ORIGINAL, add_import

from debatebench.query.run_tags import landed_tags
from debatebench.shared import locks
from debatebench.shared.errors import DamagedDataError, HeldWarehouseError, UsageError
from debatebench.shared.workspace import Workspace
from debatebench.warehouse.publish import publishing
from debatebench.warehouse.update import update_warehouse


def numbers(database: Path) -> list[int]:
    with duckdb.connect(str(database), read_only=True) as con:
        return [n for (n,) in con.execute("select n from numbers order by n").fetchall()]


def add(database: Path, number: int) -> None:
    with publishing(database) as con:
        con.execute("create table if not exists numbers (n integer)")
        con.execute("insert into numbers values (?)", [number])


def digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


@pytest.fixture
def database(tmp_path: Path) -> Path:
    path = tmp_path / "warehouse" / "debatebench.duckdb"
    add(path, 1)
    return path


def test_a_change_is_there_after_the_block_and_nothing_else_is(database: Path):
    add(database, 2)
    assert numbers(database) == [1, 2]
    assert sorted(p.name for p in database.parent.iterdir()) == [".debatebench.duckdb.lock", "debatebench.duckdb"]


def test_an_error_in_the_block_leaves_the_old_file_byte_for_byte(database: Path):
    before = digest(database)
    with pytest.raises(duckdb.ConversionException), publishing(database) as con:
        con.execute("insert into numbers values (2); insert into numbers values ('two')")
    assert digest(database) == before
    assert sorted(p.name for p in database.parent.iterdir()) == [".debatebench.duckdb.lock", "debatebench.duckdb"]


def test_a_reader_keeps_its_snapshot_while_another_is_published(database: Path):
    reader = duckdb.connect(str(database), read_only=True)
    program = (
        "import sys; from pathlib import Path; from debatebench.warehouse.publish import publishing\n"
        "with publishing(Path(sys.argv[1])) as con: con.execute('insert into numbers values (2)')"
    )
    subprocess.run([sys.executable, "-c", program, str(database)], check=True)
    assert reader.execute("select count(*) from numbers").fetchall() == [(1,)]
    reader.close()
    assert numbers(database) == [1, 2]


def test_from_scratch_starts_empty(database: Path):
    with publishing(database, from_scratch=True) as con:
        assert con.execute("from duckdb_tables()").fetchall() == []
        con.execute("create table numbers as select 7 as n")
    assert numbers(database) == [7]


def test_older_clients_can_open_the_file(database: Path):
    with duckdb.connect(str(database), read_only=True) as con:
        tags = con.execute("select tags from duckdb_databases() where database_name = 'debatebench'").fetchall()
    assert tags == [({"storage_version": "v1.4.0+"},)]


def test_a_publication_killed_at_any_moment_leaves_the_old_warehouse(database: Path):
    program = """
import sys, time
from pathlib import Path
from debatebench.warehouse.publish import publishing
with publishing(Path(sys.argv[1])) as con:
    con.execute("insert into numbers values (2)")
    con.execute("checkpoint")
    con.execute("insert into numbers values (3)")
    print("in the middle", flush=True)
    time.sleep(60)
"""
    before = digest(database)
    process = subprocess.Popen(
        [sys.executable, "-c", program, str(database)], stdout=subprocess.PIPE, text=True, start_new_session=True
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "in the middle\n"
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    process.stdout.close()
    assert digest(database) == before
    add(database, 4)
    assert numbers(database) == [1, 4]


def held_open(database: Path, statement: str) -> subprocess.Popen[str]:
    """Another program that has the warehouse open for writing until its input ends."""
    program = (
        "import sys, duckdb; con = duckdb.connect(sys.argv[1]); con.execute(sys.argv[2])\n"
        "print('open', flush=True); sys.stdin.read(); con.close()"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", program, str(database), statement],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "open\n"
    return process


def test_a_program_that_writes_to_the_warehouse_makes_it_busy_and_is_not_disturbed(database: Path):
    with held_open(database, "insert into numbers values (2)") as writer:
        with pytest.raises(HeldWarehouseError, match="open for writing"), publishing(database, wait_s=0.3):
            pass
        assert writer.stdin is not None
        writer.stdin.close()
        writer.wait()
    add(database, 3)
    assert numbers(database) == [1, 2, 3]


def test_what_a_crashed_program_left_in_the_log_comes_along(database: Path):
    with held_open(database, "insert into numbers values (2)") as writer:
        writer.kill()
        writer.wait()
    assert database.with_name("debatebench.duckdb.wal").exists()
    add(database, 3)
    assert numbers(database) == [1, 2, 3]


def test_a_publication_waits_for_another_one_and_says_so(database: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(locks, "_NOTICED_S", 0.0)
    program = (
        "import sys; from pathlib import Path; from debatebench.warehouse.publish import publishing\n"
        "with publishing(Path(sys.argv[1])) as con:\n"
        "    con.execute('insert into numbers values (2)'); print('open', flush=True); sys.stdin.read()"
    )
    told = []
    with subprocess.Popen(
        [sys.executable, "-c", program, str(database)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as other:
        assert other.stdout is not None
        assert other.stdin is not None
        assert other.stdout.readline() == "open\n"

        def note(text: str) -> None:
            told.append(text)
            other.stdin.close()

        with publishing(database, note=note) as con:
            con.execute("insert into numbers values (3)")
    assert told == [f"Waiting for another process, which is publishing {database}."]
    assert numbers(database) == [1, 2, 3]


def test_a_file_that_is_no_warehouse_is_named_with_the_way_out(database: Path):
    database.write_bytes(b"this is not a database at all" * 1000)
    before = digest(database)
    with pytest.raises(DamagedDataError, match=r"cannot be opened .*build --from-journals"), publishing(database):
        pass
    assert digest(database) == before
    with publishing(database, from_scratch=True) as con:
        con.execute("create table numbers as select 1 as n")
    assert numbers(database) == [1]


def add_while(database: Path, number: int, statement: str, *, wait_s: float = 10.0, stays: bool = False) -> None:
    """Publish while another program has the warehouse open for writing, maybe to the end and beyond."""
    with ExitStack() as programs, publishing(database, wait_s=wait_s) as con:
        con.execute("insert into numbers values (?)", [number])
        program = programs.enter_context(held_open(database, statement))
        if stays:
            programs.callback(program.kill)
        else:
            program.communicate()


def test_a_program_that_begins_to_write_meanwhile_is_not_replaced_under_its_feet(database: Path):
    before = digest(database)
    with pytest.raises(HeldWarehouseError, match="open for writing"):
        add_while(database, 2, "select 1", wait_s=0.3, stays=True)
    assert digest(database) == before
    add(database, 3)
    assert numbers(database) == [1, 3]


def test_what_another_program_wrote_meanwhile_is_not_lost(database: Path):
    with pytest.raises(HeldWarehouseError, match=r"has changed .* in the meantime"):
        add_while(database, 2, "insert into numbers values (7)")
    assert numbers(database) == [1, 7]


def test_looking_at_the_warehouse_meanwhile_disturbs_nobody(database: Path):
    add_while(database, 2, "from numbers")
    assert numbers(database) == [1, 2]


@pytest.mark.parametrize("fate", ["deleted", "damaged"])
def test_the_log_of_a_file_that_is_lost_does_not_keep_the_new_one_from_opening(database: Path, fate: str):
    with held_open(database, "insert into numbers values (2)") as writer:
        writer.kill()
        writer.wait()
    if fate == "deleted":
        database.unlink()
    else:
        database.write_bytes(b"this is not a database at all" * 1000)
    with publishing(database, from_scratch=fate == "damaged") as con:
        con.execute("create table numbers as select 9 as n")
    assert numbers(database) == [9]


def test_a_link_stays_a_link_and_the_file_that_it_names_is_replaced(tmp_path: Path):
    database, real = tmp_path / "warehouse" / "debatebench.duckdb", tmp_path / "large disk" / "real.duckdb"
    database.parent.mkdir()
    real.parent.mkdir()
    database.symlink_to(real)
    add(database, 1)
    add(database, 2)
    assert database.is_symlink()
    assert not real.is_symlink()
    assert numbers(real) == [1, 2]
    assert [p.name for p in database.parent.iterdir()] == ["debatebench.duckdb"]


def test_a_file_that_was_closed_to_others_stays_closed(database: Path):
    database.chmod(0o600)
    add(database, 2)
    assert stat.S_IMODE(database.stat().st_mode) == 0o600


@pytest.mark.slow
def test_what_does_not_fit_into_memory_goes_beside_the_warehouse_and_is_cleared_away(database: Path):
    left = database.with_name(f".{database.name}.publishing.tmp")
    left.mkdir()
    (left / "left.block").touch()
    with publishing(database) as con:
        assert not left.exists()
        con.execute("set memory_limit = '40MB'")
        con.execute("set threads = 1")
        con.execute(
            "create table sorted as select i::varchar || repeat('x', 90) as text from range(600000) t(i) order by 1"
        )
        assert left.exists()
        assert con.execute("select current_setting('temp_directory')").fetchall() == [(str(left),)]
    assert not left.exists()


def test_what_a_killed_landing_left_is_cleared_away(database: Path):
    left = database.with_name(".debatebench.duckdb.publishing.rows-x")
    left.mkdir()
    (left / "turns.ndjson").write_text("{}")
    add(database, 2)
    assert not left.exists()


def test_a_reader_of_this_process_with_other_settings_is_told_to_close(database: Path):
    reader = duckdb.connect(str(database), read_only=True, config={"memory_limit": "1GB"})
    with pytest.raises(HeldWarehouseError, match=r"This process has .* open"):
        add(database, 2)
    reader.close()
    assert numbers(database) == [1]


def test_a_disk_that_refuses_is_one_sentence_and_changes_nothing(database: Path):
    # A limit on the size of files is a refusal by the kernel in the middle of a write, as a full disk is.
    program = """
import resource, signal, sys
from pathlib import Path
from debatebench.shared.errors import DebatebenchError
from debatebench.warehouse.publish import publishing
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
for limit in (1000, 2_000_000):
    resource.setrlimit(resource.RLIMIT_FSIZE, (limit, resource.RLIM_INFINITY))
    try:
        with publishing(Path(sys.argv[1])) as con:
            con.execute("insert into numbers select range * 7919 % 1000003 from range(2000000)")
    except DebatebenchError as error:
        print(error)
"""
    before = digest(database)
    done = subprocess.run([sys.executable, "-c", program, str(database)], capture_output=True, text=True, check=True)
    assert len(done.stdout.splitlines()) == 2, done.stdout
    for line in done.stdout.splitlines():
        assert line.startswith("The warehouse cannot be changed (")
    assert done.stderr == ""
    assert digest(database) == before
    assert sorted(p.name for p in database.parent.iterdir()) == [".debatebench.duckdb.lock", "debatebench.duckdb"]


@pytest.mark.parametrize(
    ("name", "words"),
    [("a?b", "a question mark"), ("a\\b", "a backslash"), ("a\udcffb", "bytes that are not UTF-8")],
)
def test_a_path_that_duckdb_cannot_open_is_refused_and_nothing_is_created(tmp_path: Path, name: str, words: str):
    database = tmp_path / name / "warehouse" / "debatebench.duckdb"
    with pytest.raises(UsageError, match=f"because the path contains {words}; rename the folder"), publishing(database):
        pass
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "command", ["land", "build", "build --from-journals", "query x", "show-leaderboard", "run --sample-topics 1"]
)
def test_a_folder_in_the_place_of_the_warehouse_is_named_and_nothing_is_played(tmp_path: Path, command: str):
    place = tmp_path / "warehouse" / "debatebench.duckdb"
    place.mkdir(parents=True)
    done = (debatebench if command.startswith("run") else debatebench_here)(tmp_path, *command.split())
    assert done.code == 2
    assert f"{place} is a folder; move it elsewhere" in done.error_line
    assert not list(tmp_path.glob("warehouse/journal/*.jsonl"))


@pytest.mark.slow
@pytest.mark.parametrize("command", [["run", "--run-tag", "t", "--sample-topics", "1"], ["import", "debatebench", "x"]])
def test_such_a_path_is_refused_before_anything_is_paid_or_kept(tmp_path: Path, command: list[str]):
    root = tmp_path / "a?b"
    root.mkdir()
    done = debatebench(root, *command, *(["--run-tag", "t"] if command[0] == "import" else []))
    assert done.code == 2
    assert "because the path contains a question mark" in done.error_line
    assert list(root.iterdir()) == []


@pytest.mark.slow_inputs
@pytest.mark.slow
@pytest.mark.parametrize(
    "name", ["tag=1 & run_tag=x", "a*[b]{c}", "s3:", "new\nline", "'quoted' \"twice\"", "-x", "ä~"]
)
def test_any_other_path_is_as_good_as_another(tmp_path: Path, name: str):
    root = begin_built(tmp_path / name)
    done = debatebench(root, "run", "--run-tag", "t", "--sample-topics", "1", "--no-build")
    assert done.code == 0, done.err
    assert debatebench(root, "query", "select count(*) from raw.debates", "--format", "csv").out.split() == [
        "count_star()",
        "30",
    ]


@pytest.mark.parametrize("from_scratch", [False, True])
def test_a_run_that_lands_while_another_landing_waits_is_neither_missing_nor_lost(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, from_scratch: bool
):
    workspace = Workspace(begin_built(tmp_path))
    add_import(workspace, "first", "debatebench", ORIGINAL)

    @contextmanager
    def after_another_landing(*arguments: Any, **options: Any) -> Iterator[duckdb.DuckDBPyConnection]:
        monkeypatch.undo()
        add_import(workspace, "meanwhile", "debatebench", ORIGINAL)
        update_warehouse(workspace, ["meanwhile"], now=lambda: NOON, build=False)
        with publishing(*arguments, **options) as con:
            yield con

    monkeypatch.setattr("debatebench.warehouse.update.publishing", after_another_landing)
    update = update_warehouse(workspace, None, now=lambda: NOON, build=False, from_scratch=from_scratch)
    assert not update.set_aside
    with duckdb.connect(str(workspace.database), read_only=True) as con:
        assert landed_tags(con) == ["first", "meanwhile"]
