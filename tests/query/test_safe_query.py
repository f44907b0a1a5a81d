"""Safe queries: one SELECT reads the warehouse; nothing reads, writes or reaches anything else."""

from __future__ import annotations

import hashlib
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import closing
from datetime import datetime
from decimal import Decimal
from pathlib import Path

import duckdb
import pytest
from patience import LONGEST_WAIT_S

from debatebench.query.duckdb_errors import opening_error
from debatebench.query.safe_query import open_for_query, parse_params, run_query
from debatebench.shared.errors import DamagedDataError, DebatebenchError, HeldWarehouseError, NewerDataError, UsageError


@pytest.fixture(scope="module")
def warehouse(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a small warehouse and, beside it, files that a query would love to read."""
    folder = tmp_path_factory.mktemp("warehouse")
    con = duckdb.connect(str(folder / "debatebench.duckdb"))
    con.execute("create schema marts")
    con.execute("create table marts.debates as select 't' || i % 3 as run_tag, i as n from range(5000) r(i)")
    con.execute("create table marts.verdicts (id integer primary key)")
    con.execute("create view marts.files as select * from read_text('secret.txt')")
    con.execute("create sequence marts.ids")
    con.close()
    (folder / "secret.txt").write_text("canary")
    (folder / "secret.csv").write_text("a,b\n1,canary\n")
    (folder / "secret.json").write_text('{"a": "canary"}')
    other = duckdb.connect(str(folder / "other.duckdb"))
    other.execute("create table t as select 'canary' as c")
    other.close()
    return folder


@pytest.fixture(scope="module")
def con(warehouse: Path) -> Iterator[duckdb.DuckDBPyConnection]:
    with closing(open_for_query(warehouse / "debatebench.duckdb", threads=2)) as connection:
        yield connection


@pytest.fixture
def apart(warehouse: Path, tmp_path: Path) -> Path:
    """A copy of the folder: while a process has a file open, it cannot open it in another way."""
    return Path(shutil.copytree(warehouse, tmp_path / "apart"))


def fingerprint(folder: Path) -> dict[str, tuple[str, int]]:
    """Every file below `folder` with its bytes and its time of change."""
    return {
        str(path.relative_to(folder)): (hashlib.sha256(path.read_bytes()).hexdigest(), path.stat().st_mtime_ns)
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


# --- what a query may do ----------------------------------------------------------------------------------------------


def test_select_returns_columns_types_and_rows(con: duckdb.DuckDBPyConnection) -> None:
    result = run_query(con, "select run_tag, count(*) as debates, 1.50 as x from marts.debates group by 1 order by 1")
    assert result.columns == ("run_tag", "debates", "x")
    assert result.types == ("VARCHAR", "BIGINT", "DECIMAL(3,2)")
    assert result.rows == [(f"t{n}", 1667 - (n == 2), Decimal("1.50")) for n in range(3)]
    assert not result.truncated


@pytest.mark.parametrize(
    "sql",
    [
        "from marts.debates",
        "with a as (select 1) select * from a",
        "values (1), (2)",
        "(select 1)",
        "select 1 -- a comment",
        "select 1;\n-- a comment",
        "describe marts.debates",
        "show all tables",
        "summarize marts.debates",
        "table marts.debates",
        "pivot marts.debates on run_tag in ('t0', 't1') using count(*)",
        "pivot marts.debates on run_tag using count(*)",
        "pivot marts.debates on run_tag using count(*); -- by run",
        "from (pivot marts.debates on run_tag using count(*)) order by all",
        "with wide as (pivot marts.debates on run_tag using count(*)) select * from wide",
        "-- which?\n/* ; */ pivot (select run_tag, now() as t from marts.debates) on run_tag using max(t) ; -- all",
        "select * from query('select 1')",
    ],
)
def test_every_form_of_select_is_a_query(con: duckdb.DuckDBPyConnection, sql: str) -> None:
    assert run_query(con, sql).rows


def test_row_cap_says_that_it_cut(con: duckdb.DuckDBPyConnection) -> None:
    result = run_query(con, "select n from marts.debates order by n", limit=3)
    assert result.rows == [(0,), (1,), (2,)]
    assert result.truncated


@pytest.mark.parametrize("limit", [5000, 5001, None])
def test_row_cap_that_is_not_reached_cuts_nothing(con: duckdb.DuckDBPyConnection, limit: int | None) -> None:
    result = run_query(con, "from marts.debates", limit=limit)
    assert len(result.rows) == 5000
    assert not result.truncated


def test_limit_of_no_rows_still_names_the_columns(con: duckdb.DuckDBPyConnection) -> None:
    result = run_query(con, "select n from marts.debates", limit=0)
    assert (result.columns, result.rows, result.truncated) == (("n",), [], True)


def test_named_parameters_are_values_never_sql(con: duckdb.DuckDBPyConnection) -> None:
    sql = "select count(*) from marts.debates where run_tag = $tag and n < $n"
    assert run_query(con, sql, {"tag": "t0", "n": 30}).rows == [(10,)]
    assert run_query(con, sql, {"tag": "t0' or true --", "n": 30}).rows == [(0,)]


def test_time_zones_come_back_as_text_in_utc(con: duckdb.DuckDBPyConnection) -> None:
    sql = "select timestamptz '2025-01-01 12:00:00+02' as t, timestamp '2025-01-01 12:00' as u, $x as x, 1 as t;"
    result = run_query(con, sql, {"x": 7})
    assert result.rows == [("2025-01-01 10:00:00+00", datetime(2025, 1, 1, 12), 7, 1)]
    assert result.columns == ("t", "u", "x", "t")
    assert run_query(con, "select now() is not null").rows == [(True,)]
    assert len(run_query(con, "select now() as a, [now()] as b").rows) == 1


def test_path_is_opened_and_closed(apart: Path) -> None:
    database = apart / "debatebench.duckdb"
    assert run_query(database, "select count(*) from marts.debates").rows == [(5000,)]
    duckdb.connect(str(database)).close()


# --- what a query may not do ------------------------------------------------------------------------------------------

NOT_A_SELECT = [
    "copy marts.debates to '{folder}/out.csv'",
    "copy (select 1) to '{folder}/debatebench.duckdb'",
    "copy marts.verdicts from '{folder}/secret.csv'",
    "attach '{folder}/other.duckdb' as other",
    "attach '{folder}/new.duckdb' as new",
    "detach debatebench",
    "use system",
    "install httpfs",
    "load httpfs",
    "force install httpfs",
    "update extensions",
    "export database '{folder}/export'",
    "import database '{folder}/export'",
    "pragma database_list",
    "pragma enable_profiling",
    "pragma version",
    "set threads = 1",
    "set global enable_external_access = true",
    "set disabled_filesystems = ''",
    "reset disabled_filesystems",
    "set variable x = 1",
    "call pragma_version()",
    "call force_checkpoint()",
    "checkpoint",
    "force checkpoint",
    "vacuum",
    "analyze",
    "create table t as select 1",
    "create temp table t as select 1",
    "create or replace view marts.debates as select 1",
    "create macro m() as 1",
    "create secret s (type s3, key_id 'x')",
    "create persistent secret s (type s3, key_id 'x')",
    "drop table marts.debates",
    "alter table marts.debates add column x integer",
    "comment on table marts.debates is 'x'",
    "insert into marts.verdicts values (1)",
    "insert into marts.verdicts values (1) returning id",
    "update marts.debates set n = 0",
    "delete from marts.debates",
    "truncate marts.debates",
    "merge into marts.verdicts using marts.debates on true when matched then delete",
    "begin",
    "commit",
    "rollback",
    "prepare p as select 1",
    "execute p",
    "deallocate p",
    "explain analyze select 1",
    "explain select 1",
    "explain pivot marts.debates on run_tag",
    "create table x as pivot marts.debates on run_tag",
    "insert into marts.verdicts select n from (pivot marts.debates on run_tag)",
    "with p as (pivot marts.debates on run_tag) insert into marts.verdicts select 1 from p",
    "copy (pivot marts.debates on run_tag) to '{folder}/out.csv'",
    "pivot marts.debates on run_tag) ; drop table marts.debates; from (select 1",
    "prepare p as pivot marts.debates on run_tag",
]

MANY_STATEMENTS = [
    "select 1; select 2",
    "select 1; drop table marts.debates",
    "select 1;; copy (select 1) to '{folder}/out.csv'",
    "select 1 /* ; */; attach '{folder}/other.duckdb'",
    "select 1\x00; drop table marts.debates",
    "pivot marts.debates on run_tag; drop table marts.debates",
]

OUT_OF_REACH = [
    "pivot (from read_text('{folder}/secret.txt')) on content",
    "pivot (with x as (insert into marts.verdicts values (1) returning id) from x) on id",
    "with x as (insert into marts.verdicts values (1) returning id) from (pivot x on id)",
    "pivot marts.files on content",
    "from read_csv('{folder}/secret.csv')",
    "from read_csv_auto('{folder}/secret.csv')",
    "from read_json('{folder}/secret.json')",
    "from read_json_objects('{folder}/secret.json')",
    "from read_parquet('{folder}/x.parquet')",
    "from read_text('{folder}/secret.txt')",
    "from read_text('{folder}/debatebench.duckdb')",
    "from read_blob('{folder}/secret.txt')",
    "from read_blob('/proc/self/environ')",
    "from read_duckdb('{folder}/other.duckdb')",
    "from read_single_csv_file('{folder}/secret.csv')",
    "from sniff_csv('{folder}/secret.csv')",
    "from parquet_metadata('{folder}/x.parquet')",
    "from glob('{folder}/*')",
    "from glob('*')",
    "from '{folder}/secret.csv'",
    "from '{folder}/other.duckdb'",
    'from "{folder}/secret.json"',
    "from 'http://127.0.0.1:9/x.csv'",
    "from 's3://bucket/x.parquet'",
    "from marts.files",
    "select (select content from read_text('{folder}/secret.txt'))",
    "with a as (from read_text('{folder}/secret.txt')) from a",
    "select * from query('from read_text(''{folder}/secret.txt'')')",
    "select * from query('copy (select 1) to ''{folder}/out.csv''')",
    "from query_table('{folder}/secret.csv')",
    "select * from json_execute_serialized_sql(json_serialize_sql('from read_text(''{folder}/secret.txt'')'))",
    "select getenv('HOME')",
    "from duckdb_extensions()",
    "from enable_logging('QueryLog', storage := 'file', storage_path := '{folder}/log')",
    "from enable_profiling()",
    "from force_checkpoint()",
    "select nextval('marts.ids')",
    "with x as (insert into marts.verdicts values (1) returning id) select * from x",
    "with x as (delete from marts.debates returning n) select * from x",
    "from fingerprint",
    "from NOT_A_SELECT",
    "from load_aws_credentials()",
    "from iceberg_scan('x')",
]


@pytest.mark.parametrize("sql", NOT_A_SELECT)
def test_only_a_select_is_a_query(warehouse: Path, con: duckdb.DuckDBPyConnection, sql: str) -> None:
    before = fingerprint(warehouse)
    with pytest.raises((UsageError, DebatebenchError)) as caught:
        run_query(con, sql.format(folder=warehouse))
    assert caught.type is UsageError or str(caught.value).startswith("SQL: syntax error")
    assert fingerprint(warehouse) == before


@pytest.mark.parametrize("sql", MANY_STATEMENTS)
def test_several_statements_are_refused(warehouse: Path, con: duckdb.DuckDBPyConnection, sql: str) -> None:
    before = fingerprint(warehouse)
    with pytest.raises(UsageError, match="exactly one SELECT statement"):
        run_query(con, sql.format(folder=warehouse))
    assert fingerprint(warehouse) == before


@pytest.mark.parametrize("sql", OUT_OF_REACH)
def test_select_that_reaches_out_fails_and_changes_no_byte(
    warehouse: Path, con: duckdb.DuckDBPyConnection, sql: str
) -> None:
    before = fingerprint(warehouse)
    with pytest.raises(DebatebenchError) as caught:
        run_query(con, sql.format(folder=warehouse))
    assert caught.value.exit_code == 1
    assert "canary" not in str(caught.value)
    assert "\n" not in str(caught.value)
    assert fingerprint(warehouse) == before


@pytest.mark.slow
def test_no_function_that_duckdb_has_reads_a_file_or_changes_one(apart: Path) -> None:
    before = fingerprint(apart)
    con = open_for_query(apart / "debatebench.duckdb", threads=2)
    names = run_query(
        con, "select distinct function_name, function_type from duckdb_functions() where function_name ~ '^[a-z_0-9]+$'"
    )
    assert len(names.rows) > 500
    for name, kind in sorted(names.rows):
        for argument in ("", *(f"'{apart}/secret.{ending}'" for ending in ("txt", "csv", "json"))):
            call = f"{name}({argument})"
            try:
                found = run_query(con, f"from {call}" if kind == "table" else f"select {call}", limit=50, timeout_s=5)
            except DebatebenchError:
                continue
            assert "canary" not in str(found.rows), call
    con.close()
    assert fingerprint(apart) == before


def test_functions_that_act_on_the_session_change_no_byte(apart: Path) -> None:
    before = fingerprint(apart)
    con = open_for_query(apart / "debatebench.duckdb", threads=2)
    for sql in ("from checkpoint()", "select write_log('x')", "from truncate_duckdb_logs()", "from duckdb_secrets()"):
        run_query(con, sql)
    con.close()
    assert fingerprint(apart) == before


def test_settings_stay_locked_for_a_second_connection_of_the_process(
    warehouse: Path, con: duckdb.DuckDBPyConnection
) -> None:
    second = open_for_query(warehouse / "debatebench.duckdb", threads=2)
    try:
        with pytest.raises(DebatebenchError, match="may read only the warehouse"):
            run_query(second, f"from read_text('{warehouse}/secret.txt')")
    finally:
        second.close()
    with pytest.raises(DebatebenchError, match="may read only the warehouse"):
        run_query(con, f"from read_text('{warehouse}/secret.txt')")


def test_raw_connection_cannot_be_unlocked(con: duckdb.DuckDBPyConnection) -> None:
    for name in ("enable_external_access", "disabled_filesystems", "temp_directory", "memory_limit"):
        with pytest.raises(duckdb.InvalidInputException, match="locked"):
            con.execute(f"reset {name}")


def test_python_variables_are_not_tables(con: duckdb.DuckDBPyConnection) -> None:
    other = duckdb.connect()
    try:
        relation = other.sql("select 'canary' as c")
        assert relation.fetchall() == [("canary",)]
        with pytest.raises(DebatebenchError, match="Table with name relation does not exist"):
            run_query(con, "from relation")
    finally:
        other.close()


# --- errors in words --------------------------------------------------------------------------------------------------


def message(con: duckdb.DuckDBPyConnection, sql: str) -> str:
    with pytest.raises(DebatebenchError) as caught:
        run_query(con, sql)
    return str(caught.value)


def test_unknown_table_keeps_the_close_match(con: duckdb.DuckDBPyConnection) -> None:
    assert message(con, "select *\nfrom marts.debate") == (
        'SQL: Table with name debate does not exist! Did you mean "debates"? (line 2: from marts.debate)'
    )


def test_unknown_column_keeps_the_candidates(con: duckdb.DuckDBPyConnection) -> None:
    assert message(con, "select run_tga from marts.debates") == (
        'SQL: Referenced column "run_tga" not found in FROM clause! Candidate bindings: "run_tag", "n" '
        "(line 1: select run_tga from marts.debates)"
    )


def test_syntax_error_names_the_place(con: duckdb.DuckDBPyConnection) -> None:
    assert message(con, "selec 1") == 'SQL: syntax error at or near "selec" (line 1: selec 1)'


def test_missing_extension_gives_no_advice_to_install(con: duckdb.DuckDBPyConnection) -> None:
    assert "install" not in message(con, "from iceberg_scan('x')").lower()


def test_error_shows_no_control_character_of_the_data(con: duckdb.DuckDBPyConnection) -> None:
    text = message(con, "select cast('x' || chr(27) || '[31m' || chr(8238) as integer) from marts.debates limit 1")
    assert "x␛[31m�" in text


@pytest.mark.parametrize("sql", ["", "  \n", "-- nothing", ";"])
def test_empty_query_says_so(con: duckdb.DuckDBPyConnection, sql: str) -> None:
    with pytest.raises(UsageError, match="The query is empty"):
        run_query(con, sql)


def test_parameters_that_do_not_fit_are_named(con: duckdb.DuckDBPyConnection) -> None:
    with pytest.raises(UsageError, match=r"parameter \$tag has no value; give --param tag=VALUE"):
        run_query(con, "select $tag")
    with pytest.raises(UsageError, match=r"no parameter \$tga\. Its parameters: \$tag\."):
        run_query(con, "select $tag", {"tag": 1, "tga": 2})
    with pytest.raises(UsageError, match=r"Its parameters: none\."):
        run_query(con, "select 1", {"x": 1})
    with pytest.raises(UsageError, match="need names"):
        run_query(con, "select ?", {"x": 1})


def test_impossible_limits_are_refused(con: duckdb.DuckDBPyConnection) -> None:
    with pytest.raises(UsageError, match="limit of -1 rows"):
        run_query(con, "select 1", limit=-1)
    with pytest.raises(UsageError, match="timeout of 0 seconds"):
        run_query(con, "select 1", timeout_s=0)


# --- time and memory --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "sql",
    [
        "select count(*) from range(1000000000000)",
        "with recursive t as (select 1 as i union all select i + 1 from t) select count(*) from t",
        "select sleep_ms(60000)",
        "from range(1000000000000)",
    ],
)
def test_late_query_is_stopped_and_the_connection_stays_usable(con: duckdb.DuckDBPyConnection, sql: str) -> None:
    with pytest.raises(DebatebenchError, match=r"took longer than 0\.2 seconds"):
        run_query(con, sql, limit=None, timeout_s=0.2)
    assert run_query(con, "select 1").rows == [(1,)]


def test_query_beyond_the_memory_limit_fails_in_one_sentence(apart: Path) -> None:
    con = open_for_query(apart / "debatebench.duckdb", memory_limit="50MB", threads=1)
    try:
        text = message(con, "select list(i::varchar || 'some more text to fill it') from range(5000000) r(i)")
    finally:
        con.close()
    assert text == "The query needs more memory than it may use; select fewer rows."


def test_keyboard_interrupt_stays_one(warehouse: Path) -> None:
    code = (
        "import sys; from pathlib import Path; from debatebench.query.safe_query import run_query\n"
        "print('ready', flush=True)\n"
        f"database = Path({str(warehouse / 'debatebench.duckdb')!r})\n"
        "try: run_query(database, 'select count(*) from range(10000000000000)')\n"
        "except KeyboardInterrupt: sys.exit(130)\n"
    )
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        time.sleep(0.5)
        process.send_signal(signal.SIGINT)
        assert process.wait(LONGEST_WAIT_S) == 130


# --- the file ---------------------------------------------------------------------------------------------------------


def test_missing_warehouse_says_what_makes_one(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="`debatebench run` creates it with a run, `debatebench land`"):
        open_for_query(tmp_path / "debatebench.duckdb")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("content", [b"", b"not a database" * 1000])
def test_file_that_is_no_warehouse_is_damaged_data(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "w.duckdb").write_bytes(content)
    with pytest.raises(DamagedDataError, match="--from-journals"):
        open_for_query(tmp_path / "w.duckdb")


def test_flipped_byte_is_damaged_data(warehouse: Path, tmp_path: Path) -> None:
    content = bytearray((warehouse / "debatebench.duckdb").read_bytes())
    content[5000] ^= 0xFF
    (tmp_path / "w.duckdb").write_bytes(content)
    with pytest.raises(DamagedDataError, match="--from-journals"):
        run_query(tmp_path / "w.duckdb", "from marts.debates")


def test_reading_leaves_no_file_behind(apart: Path) -> None:
    before = fingerprint(apart)
    run_query(apart / "debatebench.duckdb", "select n, count(*) from marts.debates group by n order by 2, 1")
    assert fingerprint(apart) == before


def test_write_ahead_log_that_a_dead_writer_left_is_read_and_kept(tmp_path: Path) -> None:
    database = tmp_path / "w.duckdb"
    code = (
        f"import duckdb, os; con = duckdb.connect({str(database)!r})\n"
        "con.execute('create table t as select 1 as n'); con.execute('checkpoint')\n"
        "con.execute('insert into t values (2)'); os._exit(0)\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
    before = fingerprint(tmp_path)
    assert sorted(before) == ["w.duckdb", "w.duckdb.wal"]
    assert run_query(database, "select sum(n)::integer from t").rows == [(3,)]
    run_query(database, "from checkpoint()")
    assert fingerprint(tmp_path) == before


def other_process(database: Path, read_only: bool) -> subprocess.Popen[str]:
    """A process that keeps `database` open until its stdin is closed."""
    code = (
        "import duckdb, sys\n"
        f"con = duckdb.connect({str(database)!r}, read_only={read_only})\n"
        "print('open', flush=True); sys.stdin.read(); con.close()\n"
    )
    process = subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    assert process.stdout.readline() == "open\n"
    return process


def test_foreign_writer_is_busy_and_is_named(tmp_path: Path) -> None:
    database = tmp_path / "w.duckdb"
    with other_process(database, read_only=False) as writer:
        with pytest.raises(HeldWarehouseError, match=f"Process {writer.pid} has .*w.duckdb open for writing"):
            open_for_query(database)
        writer.communicate()
    assert run_query(database, "select 1").rows == [(1,)]


def test_other_readers_are_no_hindrance(apart: Path) -> None:
    with other_process(apart / "debatebench.duckdb", read_only=True) as reader:
        assert run_query(apart / "debatebench.duckdb", "select 1").rows == [(1,)]
        reader.communicate()


def test_query_imports_nothing_heavy_before_it_runs() -> None:
    code = (
        "import sys; import debatebench.query.safe_query, debatebench.shared.result_formats\n"
        "print([m for m in ('duckdb', 'numpy', 'pydantic', 'sqlglot', 'jinja2') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env=os.environ)
    assert done.stdout == "[]\n"


# --- parameters from the command line ---------------------------------------------------------------------------------


def test_params_are_int_then_float_then_text() -> None:
    assert parse_params(["a=1", "b=-2", "c=1.5", "d=1e3", "e=demo", "f=", "g=x=y"]) == {
        "a": 1,
        "b": -2,
        "c": 1.5,
        "d": 1000.0,
        "e": "demo",
        "f": "",
        "g": "x=y",
    }


def test_params_that_only_look_like_numbers_stay_text() -> None:
    assert parse_params(["a=nan", "b=1_000", "c=007", "d=inf", "e=0x10", "f='2024'", "g=2024-01-01", "h=١"]) == {
        "a": "nan",
        "b": "1_000",
        "c": "007",
        "d": "inf",
        "e": "0x10",
        "f": "2024",
        "g": "2024-01-01",
        "h": "١",
    }


@pytest.mark.parametrize("argument", ["demo", "=1", "1a=2", "$a=1", "a b=1"])
def test_params_without_a_name_are_refused(argument: str) -> None:
    with pytest.raises(UsageError, match="takes name=value"):
        parse_params([argument])


def test_params_given_twice_are_refused() -> None:
    with pytest.raises(UsageError, match="--param a is given twice"):
        parse_params(["a=1", "a=2"])


def test_a_file_of_a_newer_duckdb_is_not_called_damaged(tmp_path: Path) -> None:
    text = "IO Error: Trying to read a database file with version number 999, but we can only read version 64."
    error = opening_error(tmp_path / "w.duckdb", duckdb.IOException(text))
    assert isinstance(error, NewerDataError)
    assert "damage" not in str(error)
    assert "999" in str(error)
    assert "`debatebench build --from-journals` creates it again" in str(error)


@pytest.mark.parametrize(
    ("condition", "word"),
    [
        ("run_tag = first", "first"),
        ("run_tag=first", "first"),
        ('run_tag = "first"', "first"),
        ("run_tag <> first and 1 = 1", "first"),
        ("run_tag in (first, second)", "first"),
        ("run_tag in ('a', second)", "second"),
        ("run_tag like first", "first"),
    ],
)
def test_text_without_quotes_is_answered_with_quotes(con: duckdb.DuckDBPyConnection, condition: str, word: str):
    assert message(con, f"select * from marts.debates where {condition}").endswith(
        f". If it is text, put it in single quotes: '{word}'."
    )


@pytest.mark.parametrize("sql", ["select first_ from marts.debates", "select * from marts.debates where run_tga = 'a'"])
def test_another_unknown_column_gets_no_hint_about_text(con: duckdb.DuckDBPyConnection, sql: str):
    assert "single quotes" not in message(con, sql)
