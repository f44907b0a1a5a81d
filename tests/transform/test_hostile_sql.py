"""The SQL of a stranger's project, in every place that takes SQL, opens nothing outside and writes no other table.

`tests/support/hostile_sql.py` has the texts. `tests/cli/test_hostile_workspace.py` has real commands.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from functools import cache
from pathlib import Path

import duckdb
import pytest
from hostile_sql import CANARY, HARMLESS, QUERIES, aimed, fill_outside

from debatebench.shared.errors import SqlModelError
from debatebench.transform.one_query import check_query
from debatebench.transform.sql_model import parse_query

PROGRAM = Path(__file__).parents[1] / "support" / "hostile_sql.py"
REPOSITORY = Path(__file__).parents[2]
FILE = Path("x.sql")


# The kernel itself lets all other system calls pass: with a stop at each, the program takes twice as long.
WATCH = ("strace", "-f", "--seccomp-bpf", "-qq", "-e", "trace=%file,%network,io_uring_setup", "-o")


@cache
def can_watch() -> bool:
    """Whether strace is there and may watch a process, which some containers forbid."""
    if shutil.which("strace") is None:
        return False
    return subprocess.run([*WATCH, os.devnull, "true"], capture_output=True).returncode == 0


@pytest.fixture(scope="module")
def con() -> Iterator[duckdb.DuckDBPyConnection]:
    with closing(duckdb.connect()) as connection:
        yield connection


@pytest.mark.parametrize(
    ("query", "reason"),
    [
        ("select 1; select 2", "2 statements, not as one query"),
        ("", "0 statements, not as one query"),
        ("attach 'x'", "does not read this as a query that only reads"),
        ("with x as (delete from raw.debates returning *) select * from x", "a `with` writes"),
        ("select * from (with x as (insert into t values (1) returning *) select 1)", "a `with` writes"),
        ("with x as (copy (select 1) to 'y') select 1", "a `with` writes"),
        ("with x as (truncate t) select 1", "a `with` writes"),
        ("select (select content from READ_TEXT('x'))", "'read_text' cannot be read from"),
        ("select 1 order by (from system.main.query('select 1'))", "'query' cannot be read from"),
        ("select " + "[" * 600 + "1" + "]" * 600, "nested too deeply"),
    ],
)
def test_what_duckdb_does_not_read_as_one_reading_query_is_refused(
    con: duckdb.DuckDBPyConnection, query: str, reason: str
) -> None:
    with pytest.raises(SqlModelError, match=re.escape(reason)):
        check_query(con, query, FILE)


@pytest.mark.parametrize(
    "query",
    [
        HARMLESS,
        "with recursive x as (select 1 as n union all select n + 1 from x where n < 3) select * from x;",
        "select * from range(3), unnest([1]), generate_series(1, 2), json_each('[1]')",
        "select ?::json as x, '; copy (select 1) to ''x''' as y -- ; drop table z",
    ],
)
def test_what_only_reads_is_not_refused(con: duckdb.DuckDBPyConnection, query: str) -> None:
    check_query(con, query, FILE)


def test_no_hostile_text_that_reads_a_file_or_writes_passes_the_check(con: duckdb.DuckDBPyConnection) -> None:
    """What passes is a comment, a name or a view of DuckDB's own; the connection is closed to files as well."""
    passed = []
    for text in QUERIES:
        try:
            check_query(con, f"{text}\n", FILE)
        except (SqlModelError, duckdb.Error):
            continue
        passed.append(text)
    reading = [text for text in passed if re.search(r"\b(read|scan|glob|query|execute)\w*\(", text)]
    assert [text for text in reading if not re.search(r"(read_text|http_get|pg_read_file)\(", text)] == []
    assert len(QUERIES) > 250 > 80 > len(passed)


@pytest.mark.parametrize(
    "sql",
    [
        "from " * 40_000,
        "select sum(1) " + "over () " * 40_000 + "as x",
        "summarize " * 40_000 + "select 1",
        "select 1 as x from raw.runs" + ", raw.runs" * 40_000,
        "select " + ", ".join(f"1 as c{i}" for i in range(40_000)),
        "select " + "(" * 40_000 + "1" + ")" * 100_000,
    ],
    ids=["from", "over", "summarize", "tables", "columns", "parentheses"],
)
def test_an_immense_text_is_refused_before_a_parser_could_crash(sql: str) -> None:
    with pytest.raises(SqlModelError, match=r"words and signs; split it|nested too deeply"):
        parse_query(sql, FILE)


# --- every text in every place, watched -------------------------------------------------------------------------------


def digests(folder: Path) -> dict[str, str]:
    return {str(path): hashlib.sha256(path.read_bytes()).hexdigest() for path in folder.rglob("*") if path.is_file()}


@pytest.fixture(scope="module")
def attacked(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Path, Path, subprocess.CompletedProcess[str]]]:
    """The workspace, the lines of strace (empty where there is none), and how the program ended."""
    base = tmp_path_factory.mktemp("hostile")
    folder, outside, trace, spill = (base / name for name in ("inside", "outside", "trace", "spill"))
    folder.mkdir()
    spill.mkdir()
    fill_outside(outside)
    before = digests(outside)
    trace.touch()
    done = subprocess.run(
        [*((*WATCH, str(trace)) if can_watch() else ()), sys.executable, str(PROGRAM), str(folder), str(outside)],
        env={
            **os.environ,
            "PYTHONPATH": str(REPOSITORY),
            "PYTHONDONTWRITEBYTECODE": "1",
            "TMPDIR": str(spill),
            "DEBATEBENCH_SECRET": CANARY,
        },
        cwd=folder,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
    )
    assert digests(outside) == before
    assert sorted(path.name for path in base.iterdir()) == ["inside", "outside", "spill", "trace"]
    assert list(spill.iterdir()) == []
    yield folder, trace, done
    shutil.rmtree(base)


@pytest.mark.slow
def test_every_text_in_every_place_leaves_everything_as_it_was(
    attacked: tuple[Path, Path, subprocess.CompletedProcess[str]],
) -> None:
    folder, _, done = attacked
    assert done.stderr == ""
    assert done.returncode == 0
    counted, *accepted = map(json.loads, done.stdout.splitlines())
    assert counted["texts"] > 250
    assert counted["tried"] > 2500
    assert CANARY not in done.stdout
    assert [path for path in folder.rglob("*") if path.is_file() and CANARY.encode() in path.read_bytes()] == []
    assert sorted(path.name for path in folder.iterdir()) == ["docs", "sql", "w.duckdb"]
    # Without this, everything could be refused for another reason.
    places = {place for place, text in accepted if HARMLESS in text}
    assert places == {"model", "unchecked", "macro", "data test", "version", "query"}


@pytest.mark.slow
@pytest.mark.skipif(not can_watch(), reason="strace is missing or may not watch, so nothing sees what is opened")
def test_no_file_outside_is_opened_and_no_connection_made(
    attacked: tuple[Path, Path, subprocess.CompletedProcess[str]],
) -> None:
    folder, trace, _ = attacked
    lines = trace.read_text(errors="replace").splitlines()
    assert len(lines) > 1000
    allowed = [
        *map(str, (folder, folder.with_name("spill"), REPOSITORY, sys.prefix, sys.base_prefix)),
        *(place for place in sys.path if place),
        *("/usr/", "/lib", "/etc/", "/sys/", "/proc/", "/dev/null", "/dev/urandom", "/dev/shm"),
    ]
    opened = {
        found[1]
        for line in lines
        if (found := re.search(r'(?:open|openat|creat|unlink|unlinkat|rename|renameat2?|mkdir)\([^"]*"([^"]*)"', line))
        and "ENOENT" not in line
    }
    strange = sorted(path for path in opened if path.startswith("/") and not path.startswith(tuple(allowed)))
    assert strange == []
    secret = [path for path in opened if path in ("/etc/passwd", "/proc/self/environ", "/proc/self/fd/0")]
    assert secret == []
    outside = str(folder.with_name("outside"))
    touched = [line for line in lines if outside in line and not re.search(r"\b(execve|readlink)\(", line)]
    assert touched == []
    assert [line for line in lines if re.search(r"\b(connect|bind|sendto)\(", line)] == []


def test_targets_are_filled_in(tmp_path: Path) -> None:
    assert not [text for text in QUERIES if re.search(r"\{(out|db|url)\}", aimed(text, tmp_path, tmp_path))]
