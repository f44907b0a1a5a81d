"""Hostile SQL at every door: `debatebench query`, the prompt, `wh.sql`, Parquet files, the locked connection itself.

Whatever is tried fails with one clear line, tells nothing of other files, reaches no server, and changes no byte of the
warehouse or of the folder that it lies in. `test_query.py` has what a query may do.
"""

from __future__ import annotations

import hashlib
import http.server
import os
import re
import resource
import shutil
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import duckdb
import pytest
from command_line import debatebench

import debatebench as db
from debatebench.cli.sql_prompt import run_lines
from debatebench.cli.sql_session import Settings, SqlSession
from debatebench.query.parquet import write_parquet
from debatebench.query.safe_query import open_for_query, run_query
from debatebench.shared.errors import DebatebenchError, UsageError

CANARY = "canary-5d1f"


# --- a folder with everything that an attacker would like to have -----------------------------------------------------


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A workspace whose warehouse lies among a journal, an import, other databases and files with a canary."""
    root = tmp_path_factory.mktemp("workspace")
    warehouse = root / "warehouse"
    (warehouse / "journal").mkdir(parents=True)
    (warehouse / "journal" / "demo.jsonl").write_text(f'1 0 {{"event": "{CANARY}"}}\n')
    with duckdb.connect(str(warehouse / "debatebench.duckdb")) as con:
        con.execute("create schema marts; create schema raw")
        con.execute("create table marts.debates as select 't' || i % 3 as run_tag, i as n from range(2000) as r(i)")
        con.execute("create table raw.verdicts (id integer primary key, text varchar)")
        con.execute("create sequence marts.ids")
        con.execute(f"create view marts.hidden as select * from read_text('{root}/secret.txt')")
        con.execute(f"create macro marts.reach(path) as table select * from read_text('{root}/secret.txt')")
    with duckdb.connect(str(root / "other.duckdb")) as con:
        con.execute(f"create table t as select '{CANARY}' as c")
        con.execute(f"copy t to '{root}/secret.parquet'")
    (root / "secret.txt").write_text(CANARY)
    (root / "secret.csv").write_text(f"a,b\n1,{CANARY}\n")
    (root / "secret.json").write_text(f'{{"a": "{CANARY}"}}')
    return root


@pytest.fixture(scope="module")
def database(root: Path) -> Path:
    return root / "warehouse" / "debatebench.duckdb"


def fingerprint(folder: Path) -> dict[str, object]:
    """Everything below `folder`: bytes and time of change of files, names of folders and links."""
    return {
        str(path.relative_to(folder)): (hashlib.sha256(path.read_bytes()).hexdigest(), path.stat().st_mtime_ns)
        if path.is_file()
        else "folder"
        for path in sorted(folder.rglob("*"))
    }


@pytest.fixture(scope="module")
def untouched(root: Path) -> dict[str, object]:
    return fingerprint(root)


@pytest.fixture(autouse=True)
def no_byte_changes(root: Path, untouched: dict[str, object], monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Holds for every test here; relative paths would land in the folder as well."""
    monkeypatch.chdir(root)
    monkeypatch.setenv("DEBATEBENCH_CANARY", CANARY)
    yield
    assert fingerprint(root) == untouched


@pytest.fixture(scope="module")
def server() -> Iterator[tuple[str, list[str]]]:
    """A web server of this machine, and the requests that reached it."""
    asked: list[str] = []

    class Answer(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            asked.append(self.path)
            self.send_error(404)

        do_HEAD = do_GET  # noqa: N815

        def log_message(self, *_: object) -> None:
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Answer) as httpd:
        thread = threading.Thread(target=httpd.serve_forever, args=(0.01,), daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{httpd.server_address[1]}", asked
        httpd.shutdown()
        thread.join()


# --- the attacks ------------------------------------------------------------------------------------------------------

# {root}: the workspace; {db}: the warehouse file; {url}: the web server.
STATEMENTS = """
attach '{root}/other.duckdb'
attach '{root}/other.duckdb' as o (read_only)
attach '{db}' as again
attach '{root}/new.duckdb' as n
attach ':memory:' as m
attach '{url}/x.duckdb' as h
detach debatebench
use temp
copy (select 1) to '{root}/out.csv'
copy (select 1) to 'out.csv'
copy (select 1) to '{db}'
copy (select 1) to '{db}.wal'
copy (select 1) to '{db}.wal.recovery'
copy (select 1) to '{db}.wal.checkpoint'
copy (select 1) to '{root}/warehouse/journal/demo.jsonl'
copy (select 1) to '/dev/stdout'
copy (select 1) to '{url}/x.csv'
copy marts.debates to '{root}/out.parquet' (format parquet, partition_by (run_tag))
copy raw.verdicts from '{root}/secret.csv'
copy from database debatebench to memory
export database '{root}/exported'
import database '{root}'
install httpfs
install httpfs from '{url}'
install '{root}/x.duckdb_extension'
force install httpfs
load httpfs
load '{root}/x.duckdb_extension'
update extensions
set enable_external_access = true
set disabled_filesystems = ''
set lock_configuration = false
set allow_unsigned_extensions = true
set extension_directory = '{root}'
set home_directory = '{root}'
set temp_directory = '{root}/tmp'
set secret_directory = '{root}'
set log_query_path = '{root}/log'
set memory_limit = '100GB'
set threads = 64
set session search_path = 'temp'
set global python_enable_replacements = true
set variable x = (select content from read_text('{root}/secret.txt'))
set TimeZone = 'Europe/Berlin'
set schema = 'marts'
reset disabled_filesystems
reset all
pragma enable_profiling
pragma profiling_output = '{root}/profile.json'
pragma database_list
pragma storage_info('marts.debates')
pragma force_checkpoint
pragma import_database('{root}')
pragma copy_database('debatebench', 'x')
call pragma_version()
call enable_logging(storage := 'file', storage_path := '{root}/log')
call force_checkpoint()
call query('select 1')
create table t as select 1
create temp table t as select 1
create temp view v as from read_text('{root}/secret.txt')
create or replace view marts.debates as select 1
create schema s
create type t as enum ('a')
create sequence s
create index i on marts.debates (n)
create macro m() as 1
create temp macro m() as table from read_text('{root}/secret.txt')
create function f(x) as x + 1
create secret (type http)
create persistent secret s in local_file (type http, bearer_token 'x')
drop table marts.debates
drop view marts.hidden
drop schema marts cascade
drop sequence marts.ids
alter table marts.debates add column x integer
alter table marts.debates rename to d
comment on table marts.debates is 'x'
insert into raw.verdicts values (1, 'x')
insert into raw.verdicts from read_csv('{root}/secret.csv')
insert into raw.verdicts values (1, 'x') returning text
update marts.debates set n = 0
delete from marts.debates
delete from marts.debates returning n
truncate marts.debates
merge into raw.verdicts using marts.debates on true when matched then delete
vacuum
vacuum full
vacuum marts.debates
analyze
checkpoint
checkpoint debatebench
force checkpoint
begin transaction
commit
rollback
abort
prepare p as copy (select 1) to '{root}/out.csv'
execute p
execute p('x')
deallocate p
explain select 1
explain analyze select 1
explain analyze copy (select 1) to '{root}/out.csv'
explain copy (select 1) to '{root}/out.csv'
explain (format json) delete from marts.debates
explain pivot marts.debates on run_tag
create table t as pivot marts.debates on run_tag
insert into marts.debates from (pivot marts.debates on run_tag)
with p as (pivot marts.debates on run_tag) insert into marts.debates from p
with p as (pivot marts.debates on run_tag) delete from marts.debates
copy (pivot marts.debates on run_tag) to '{root}/out.csv'
declare c cursor for select 1
do $$ begin end $$
grant all on marts.debates to public
lock table marts.debates
listen x
select 1 into outfile '{root}/out.csv'
.read {root}/secret.txt
\\! touch {root}/out.csv
"""

SMUGGLED = [
    "select 1; drop table marts.debates",
    "select 1;drop table marts.debates;",
    ";; drop table marts.debates",
    "select 1 -- harmless\n; drop table marts.debates",
    "select 1 /* ; */ ; copy (select 1) to '{root}/out.csv'",
    "/* select 1 */ drop table marts.debates",
    "/*! drop table marts.debates */ drop table marts.debates",
    "-- select 1\ndrop table marts.debates",
    "-- select 1\rdrop table marts.debates",
    "select ';' ; attach '{root}/other.duckdb'",
    "select 'it''s' ; attach '{root}/other.duckdb'",
    "select e'\\'' ; attach '{root}/other.duckdb' --'",
    "select $$;$$ ; attach '{root}/other.duckdb'",
    "select $x$ $$ ; $x$ ; attach '{root}/other.duckdb'",
    "select 1 as \"a;b\" ; attach '{root}/other.duckdb'",
    "select 1\x00; drop table marts.debates",
    "select 1;\x00drop table marts.debates",
    "\ufeffdrop table marts.debates",
    "\u200bdrop table marts.debates",
    "drop\u00a0table\u00a0marts.debates",
    "drop\u3000table\u2003marts.debates",
    "select 1\uff1b drop table marts.debates",
    "select 1\u037e drop table marts.debates",
    "select 1\u2028; drop table marts.debates",
    "select 1\u0085; drop table marts.debates",
    "\u202eselect 1\u202c; drop table marts.debates",
    "DrOp/**/TaBlE/**/marts.debates",
    "begin; select 1; commit",
    "(drop table marts.debates)",
    "((select 1); drop table marts.debates)",
    "with x as (insert into raw.verdicts values (1, 'x') returning id) select * from x",
    "with x as (delete from marts.debates returning n) select * from x",
    "with x as (update marts.debates set n = 0 returning n) from x",
    "with x as (copy (select 1) to '{root}/out.csv') select * from x",
    "select * from (delete from marts.debates returning n)",
    "select * from (copy (select 1) to '{root}/out.csv')",
    "select * from (attach '{root}/other.duckdb')",
    "select * from (call force_checkpoint())",
    "select * from (explain analyze copy (select 1) to '{root}/out.csv')",
    "select (insert into raw.verdicts values (1, 'x'))",
    "select exists (delete from marts.debates)",
    "describe (drop table marts.debates)",
    "describe copy (select 1) to '{root}/out.csv'",
    "summarize (delete from marts.debates)",
    "show (drop table marts.debates)",
    "values ((drop table marts.debates))",
    "select 1 union all drop table marts.debates",
    "select * from query('select 1; drop table marts.debates')",
    "select * from query('drop table marts.debates')",
    "select * from query('copy (select 1) to ''{root}/out.csv''')",
    "select * from query('set threads = 1')",
    "select * from query('attach ''{root}/other.duckdb''')",
    "select * from query('pragma version')",
    "select * from query(')) ; drop table marts.debates --')",
    "select * from json_execute_serialized_sql(json_serialize_sql('drop table marts.debates'))",
    "select * from json_execute_serialized_sql(json_serialize_sql('select 1; select 2'))",
    "select nextval('marts.ids')",
    "select setval('marts.ids', 7)",
]

READING = """
from read_text('{root}/secret.txt')
from read_text('secret.txt')
from read_text('warehouse/../secret.txt')
from read_text(['{root}/secret.txt', '{root}/secret.csv'])
from read_text('{root}/*.txt')
from read_text('~/.bashrc')
from read_text('file://{root}/secret.txt')
from read_text('{db}')
from read_blob('{root}/secret.txt')
from read_blob('{db}')
from read_blob('{db}.wal')
from read_blob('/proc/self/environ')
from read_text('/proc/self/maps')
from read_text('/dev/stdin')
from read_csv('{root}/secret.csv')
from read_csv('/dev/stdin')
from read_csv('{root}/secret.csv', all_varchar = true, store_rejects = true)
from read_csv_auto('{root}/secret.csv')
from read_single_csv_file('{root}/secret.csv')
from sniff_csv('{root}/secret.csv')
from read_json('{root}/secret.json')
from read_json_auto('{root}/secret.json')
from read_ndjson('{root}/warehouse/journal/demo.jsonl')
from read_json_objects('{root}/secret.json')
from read_json_objects_auto('{root}/secret.json')
from read_single_json_file('{root}/secret.json')
from read_parquet('{root}/secret.parquet')
from read_single_parquet_file('{root}/secret.parquet')
from parquet_scan('{root}/secret.parquet')
from parquet_metadata('{root}/secret.parquet')
from parquet_schema('{root}/secret.parquet')
from parquet_kv_metadata('{root}/secret.parquet')
from parquet_file_metadata('{root}/secret.parquet')
from parquet_full_metadata('{root}/secret.parquet')
from parquet_bloom_probe('{root}/secret.parquet', 'c', '{canary}')
from read_duckdb('{root}/other.duckdb')
from glob('{root}/*')
from glob('*')
from '{root}/secret.csv'
from 'secret.csv'
from "secret.json"
from '{root}/secret.parquet'
from '{root}/other.duckdb'
from '{root}/*.parquet'
from 'secret.txt'
from '{url}/x.csv'
from '{url}/x.parquet'
from read_csv('{url}/x.csv')
from read_text('{url}/x.txt')
from 'https://example.com/x.csv'
from 's3://bucket/x.parquet'
from 'hf://datasets/x/y.parquet'
from 'gs://bucket/x.csv'
from other.main.t
from marts.hidden
from marts.reach('x')
select (select content from read_text('{root}/secret.txt'))
select * from marts.debates where run_tag in (select content from read_text('{root}/secret.txt'))
select * from marts.debates as d, lateral (from read_text('{root}/secret.txt')) as s
with recursive r as (select content from read_text('{root}/secret.txt') union all from r) from r limit 1
with a as materialized (from read_text('{root}/secret.txt')) from a
select * from query('from read_text(''{root}/secret.txt'')')
select * from query('select * from query(''from read_text(''''{root}/secret.txt'''')'')')
select * from query_table('{root}/secret.csv')
select * from query_table(['{root}/secret.csv'])
select * from json_execute_serialized_sql(json_serialize_sql('from read_text(''{root}/secret.txt'')'))
pivot (from read_text('{root}/secret.txt')) on content in ('x') using count(*)
pivot (from read_text('{root}/secret.txt')) on content using count(*)
from (pivot (from read_csv('{root}/secret.txt')) on column0)
describe '{root}/secret.csv'
describe from read_csv('{root}/secret.csv')
summarize '{root}/secret.csv'
summarize from read_text('{root}/secret.txt')
table 'secret.csv'
select getenv('DEBATEBENCH_CANARY')
select load_extension('x')
select pg_read_file('{root}/secret.txt')
select system('cat {root}/secret.txt')
select read_file('{root}/secret.txt')
select shell('id')
from duckdb_extensions()
from duckdb_extension_repositories()
from enable_logging()
from enable_logging('QueryLog', storage := 'file', storage_path := '{root}/log')
from disable_logging()
from enable_profiling()
from create_external_resource('a', 'b')
from python_map_function((select 1))
from pandas_scan(1::pointer)
from arrow_scan(1::pointer, 1::pointer, 1::pointer)
from force_checkpoint()
from iceberg_scan('{root}')
from delta_scan('{root}')
from sqlite_scan('{root}/x', 'y')
from postgres_scan('host=127.0.0.1', 'public', 'x')
from http_get('{url}')
from open_prompt('x')
select cast('{root}/secret.txt' as blob) from read_blob('{root}/secret.txt')
from '{root}/secret.txt' at (version => 1)
from python_secret
from db
from duckdb
"""

# A SELECT by every rule, and of no use: these succeed, and change nothing.
HARMLESS = [
    "from checkpoint()",
    "select write_log('x')",
    "from truncate_duckdb_logs()",
    "from duckdb_logs",
    "from duckdb_secrets()",
    "from duckdb_settings()",
    "from duckdb_variables()",
    "from duckdb_temporary_files()",
    "select current_setting('secret_directory')",
    "select getvariable('x')",
    "select setseed(0.5)",
    "select json_serialize_plan('from read_text(''{root}/secret.txt'')')",
    "from which_secret('s3://x', 's3')",
    "select * from query('select 1')",
    "select * from query_table('marts.debates')",
    "select 1 -- ; drop table marts.debates",
    "select 1 /* ; drop table marts.debates */;",
    "select 1 /* /* nested */ ; drop table marts.debates -- */",
    "select '; drop table marts.debates'",
]

ATTACKS = [*STATEMENTS.strip().splitlines(), *SMUGGLED, *READING.strip().splitlines()]


@pytest.fixture
def aimed(root: Path, database: Path, server: tuple[str, list[str]]) -> Callable[[str], str]:
    """An attack with its targets filled in."""
    targets = {"{root}": str(root), "{db}": str(database), "{url}": server[0], "{canary}": CANARY}

    def fill(attack: str) -> str:
        for name, target in targets.items():
            attack = attack.replace(name, target)
        return attack

    return fill


def check_failed(error: DebatebenchError, attack: str) -> None:
    """One line, the right exit code, nothing of what was to stay hidden."""
    text = str(error)
    assert "\n" not in text
    assert len(text) < 1000
    # An error may repeat the attack, and no more.
    assert CANARY not in text.replace(attack, "")
    assert error.exit_code in (1, 2)
    assert error.exit_code == (2 if isinstance(error, UsageError) else 1)


@pytest.fixture(scope="module")
def con(database: Path) -> Iterator[duckdb.DuckDBPyConnection]:
    with closing(open_for_query(database)) as connection:
        yield connection


# --- the doors --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("attack", ATTACKS)
def test_query_refuses(con: duckdb.DuckDBPyConnection, aimed: Callable[[str], str], attack: str):
    python_secret = duckdb.connect  # a Python variable that no query may see
    with pytest.raises(DebatebenchError) as caught:
        run_query(con, aimed(attack), timeout_s=30)
    check_failed(caught.value, aimed(attack))
    assert python_secret


@pytest.mark.parametrize("attack", STATEMENTS.strip().splitlines())
def test_statement_that_is_no_select_is_refused_before_it_runs(
    con: duckdb.DuckDBPyConnection, aimed: Callable[[str], str], attack: str
):
    with pytest.raises(DebatebenchError) as caught:
        run_query(con, aimed(attack))
    assert isinstance(caught.value, UsageError) or re.match("SQL: (syntax error|FULL is not)", str(caught.value))


def test_no_request_has_left(con: duckdb.DuckDBPyConnection, server: tuple[str, list[str]]):
    url, asked = server
    for attack in (f"from '{url}/x.csv'", f"from read_parquet('{url}/x.parquet')", f"from read_text('{url}/x')"):
        with pytest.raises(DebatebenchError, match="may read only the warehouse"):
            run_query(con, attack)
    assert asked == []


@pytest.mark.parametrize("sql", HARMLESS)
def test_select_that_sounds_like_more_changes_nothing(database: Path, aimed: Callable[[str], str], sql: str):
    with closing(open_for_query(database)) as con:
        assert CANARY not in str(run_query(con, aimed(sql)).rows)


def test_prompt_refuses_and_goes_on(database: Path, aimed: Callable[[str], str], capsys: pytest.CaptureFixture[str]):
    with closing(SqlSession(database, Settings(format="csv"), print)) as session:
        for attack in ATTACKS:
            with pytest.raises(DebatebenchError) as caught:
                run_lines(session, [aimed(attack), ";"])
            session.drop()
            check_failed(caught.value, aimed(attack))
        assert CANARY not in capsys.readouterr().out
        session.feed("select count(*) as n from marts.debates;")
        assert capsys.readouterr().out == "n\n2000\n"


def test_python_api_refuses(database: Path, aimed: Callable[[str], str]):
    with db.open(database) as wh:
        for attack in ATTACKS:
            with pytest.raises((DebatebenchError, duckdb.Error)) as caught:
                wh.sql(aimed(attack)).fetchall()
            assert CANARY not in str(caught.value).replace(aimed(attack), "")
            with pytest.raises(DebatebenchError):
                wh.query(aimed(attack))
        assert wh.sql("select count(*) from marts.debates").fetchall() == [(2000,)]


def test_parquet_writer_refuses_and_leaves_no_file(
    con: duckdb.DuckDBPyConnection, aimed: Callable[[str], str], tmp_path: Path
):
    for attack in ATTACKS:
        with pytest.raises(DebatebenchError) as caught:
            write_parquet(con, aimed(attack), None, tmp_path / "x.parquet")
        check_failed(caught.value, aimed(attack))
    assert list(tmp_path.iterdir()) == []


@pytest.mark.slow
@pytest.mark.parametrize(
    "attack",
    [
        "copy (select 1) to '{db}.wal'",
        "from read_text('{root}/secret.txt')",
        "select 1; drop table marts.debates",
        "attach '{root}/other.duckdb'",
        "from 'secret.csv'",
    ],
)
def test_commands_refuse_with_one_line_and_an_exit_code(root: Path, aimed: Callable[[str], str], attack: str):
    for arguments, text in ((["query", aimed(attack)], ""), (["query", "-"], aimed(attack)), (["sql"], aimed(attack))):
        done = debatebench(root, *arguments, stdin=text)
        assert done.code in (1, 2)
        assert done.err.count("\n") == 1
        assert done.err.startswith("Error: ")
        assert CANARY not in done.out + done.err


@pytest.mark.slow
def test_output_of_a_query_never_replaces_the_warehouse(root: Path, tmp_path: Path):
    (tmp_path / "link").symlink_to(root / "warehouse")
    for path in (
        root / "warehouse" / "debatebench.duckdb",
        root / "warehouse" / "debatebench.duckdb.wal",
        root / "warehouse" / ".debatebench.duckdb.lock",
        root / "warehouse" / "journal" / "demo.jsonl",
        root / "warehouse" / "imports" / "x" / "new.csv",
        root / "warehouse" / "imports" / ".." / "journal" / "new.parquet",
        tmp_path / "link" / "debatebench.duckdb",
    ):
        done = debatebench(root, "query", "select 1", "--output", str(path))
        assert done.code == 2
        assert "that is kept; choose another place." in done.err


# --- behind the doors -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("attack", ATTACKS)
def test_connection_itself_touches_no_file(database: Path, aimed: Callable[[str], str], attack: str):
    """What somebody could do who got past the check of the statement: nothing that outlives the connection."""
    with closing(open_for_query(database)) as con:
        try:
            shown = str(con.execute(aimed(attack)).fetchall())
        except (duckdb.Error, UnicodeError) as error:
            shown = str(error).replace(aimed(attack), "")
        assert CANARY not in shown.replace(aimed(attack), "") or "LINE" in shown


def test_wal_cannot_be_forged_or_destroyed(root: Path, database: Path):
    """Next to an open database its write-ahead log stays writable for COPY, unless the file system itself is off."""
    with closing(open_for_query(database)) as con:
        assert f"{database}.wal" in con.execute("select current_setting('allowed_paths')").fetchall()[0][0]
        for suffix in ("", ".wal", ".wal.recovery", ".wal.checkpoint", ".tmp"):
            with pytest.raises(duckdb.Error, match="LocalFileSystem has been disabled by configuration"):
                con.execute(f"copy (select 'x') to '{database}{suffix}'")
    assert sorted(each.name for each in database.parent.iterdir()) == ["debatebench.duckdb", "journal"]


@pytest.mark.slow
def test_no_function_of_duckdb_reaches_a_file(root: Path, con: duckdb.DuckDBPyConnection):
    """Every function that DuckDB has, in every form that takes a path: whatever a later version adds is tried, too."""
    found = run_query(
        con,
        "select function_name, function_type, parameter_types from duckdb_functions() "
        "where function_type in ('table', 'table_macro', 'scalar', 'macro') "
        "and regexp_full_match(function_name, '[a-z_0-9]+') and function_name <> 'sleep_ms' group by all order by all",
        limit=None,
    ).rows
    assert len(found) > 500
    paths = [
        f"'{root}/{name}'" for name in ("secret.txt", "secret.csv", "secret.json", "secret.parquet", "other.duckdb")
    ]
    for name, kind, types in found:
        given = ", ".join(paths[0] if type_ in ("VARCHAR", "ANY", "BLOB", None) else "1" for type_ in types)
        calls = [f"select {name}({given})"] if kind in ("scalar", "macro") else [f"from {name}({given})"]
        if kind not in ("scalar", "macro"):
            calls += [f"from {name}({path}) limit 2" for path in paths]
            calls += [f"from {name}([{paths[0]}])", f"from {name}({paths[0]}, {paths[0]})", f"from {name}((select 1))"]
        for call in calls:
            try:
                shown = str(run_query(con, call, limit=5, timeout_s=30).rows)
            except DebatebenchError as error:
                shown = str(error)
            assert CANARY not in shown, call


# --- time and memory --------------------------------------------------------------------------------------------------

ENDLESS = [
    "with recursive t as (select 1 as i union all select i + 1 from t) select count(*) from t",
    "with recursive t as (select 1 as i union select i + 1 from t) select max(i) from t",
    "select sum(hash(range)) from range(1000000000000)",
    "with d as (select n from marts.debates) select count(*) from d a, d b, d c, d e where a.n < b.n * c.n - e.n",
    "select sleep_ms(600000)",
    "from range(1000000000000)",
]

# Groups, sorts and joins, which DuckDB counts.
BOMBS = [
    "select list(i::varchar || repeat('x', 100)) from range(100000000) as r(i)",
    "select string_agg(repeat('x', 1000000)) from range(100000)",
    "with recursive t as (select repeat('x', 1000000) as s union all select s || s from t) select count(*) from t",
    "select * from range(100000) as a, range(100000) as b order by hash(a.range)",
    "select histogram(i) from range(100000000) as r(i)",
    "select count(distinct i) from range(1000000000) as r(i)",
]
# A single value, which it does not count.
UNCOUNTED_BOMBS = [
    "select list_transform(range(1000000000), lambda x: [x, x])",
    "select repeat('x', 4000000000)",
    "select len(repeat('x', 4000000000))",
    "select list(range) from range(20000000)",
]


@pytest.mark.parametrize("sql", ENDLESS)
def test_endless_query_is_stopped_and_the_connection_lives(con: duckdb.DuckDBPyConnection, sql: str):
    with pytest.raises(DebatebenchError, match=r"longer than 0\.2 seconds and was stopped"):
        run_query(con, sql, limit=None, timeout_s=0.2)
    assert run_query(con, "select 1").rows == [(1,)]


@pytest.mark.parametrize("sql", BOMBS)
def test_memory_bomb_fails_and_the_process_lives(database: Path, tmp_path: Path, sql: str):
    # Another file, because all connections of a process to one file share its limit.
    shutil.copyfile(database, tmp_path / "w.duckdb")
    with closing(open_for_query(tmp_path / "w.duckdb", memory_limit="100MB", threads=2)) as small:
        with pytest.raises(DebatebenchError, match="more memory than it may use"):
            run_query(small, sql, limit=None, timeout_s=120)
        assert run_query(small, "select count(*) from marts.debates").rows == [(2000,)]


def test_rows_beyond_the_memory_for_them_end_the_query(con: duckdb.DuckDBPyConnection, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("debatebench.query.safe_query._MOST_BYTES", 50_000_000)
    with pytest.raises(DebatebenchError, match="more memory than it may use"):
        run_query(
            con, "select range, repeat('x', 1000) || range as t from range(100000000)", limit=None, timeout_s=None
        )
    assert run_query(con, "select 1").rows == [(1,)]


def limited(root: Path, megabytes: int, *arguments: str, stdin: str = "") -> subprocess.CompletedProcess[str]:
    """Run a command in a process that may have only so much memory."""
    command = [sys.executable, "-m", "debatebench", "--root", str(root), *arguments]
    return subprocess.run(
        ["bash", "-c", f'ulimit -d {megabytes * 1024} && exec "$@"', "_", *command],
        input=stdin,
        capture_output=True,
        text=True,
    )


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="only Linux bounds the memory of a process")
@pytest.mark.parametrize("sql", UNCOUNTED_BOMBS)
def test_immense_value_ends_in_one_line(root: Path, sql: str):
    done = limited(root, 500, "query", sql, "--limit", "0")
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == "Error: The query needs more memory than it may use; select fewer rows.\n"


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux bounds the memory of a process")
def test_commands_bound_their_own_memory():
    program = (
        "import resource\nfrom debatebench.cli.query import bound_memory\nbound_memory()\n"
        "print(resource.getrlimit(resource.RLIMIT_DATA)[0] // 2**30)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    most = resource.getrlimit(resource.RLIMIT_DATA)[1]
    assert 1 <= int(done.stdout) <= 4 + (os.cpu_count() or 1) * 32 // 1024 or most != resource.RLIM_INFINITY


@pytest.mark.slow
def test_step_that_cannot_be_interrupted_ends_with_the_process(root: Path):
    sql = "select jaro_winkler_similarity(repeat('ab', 2000000), repeat('ca', 2000000))"
    done = limited(root, 4000, "query", sql, "--timeout", "0.2")
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == "Error: The query was interrupted, but it is in a step that cannot be stopped.\n"


@pytest.mark.parametrize(
    "sql",
    [
        "select " + "(" * 50_000 + "1" + ")" * 50_000,
        "select " + " + ".join(["1"] * 50_000),
        "select " + "[" * 5_000 + "]" * 5_000,
        "select " + "case when true then " * 5_000 + "1" + " end" * 5_000,
        "with "
        + ", ".join(f"c{i} as (from c{i - 1})" if i else "c0 as (select 1)" for i in range(3000))
        + " from c2999",
    ],
    ids=["parentheses", "sum", "lists", "cases", "ctes"],
)
def test_deep_nesting_is_an_error_and_no_crash(con: duckdb.DuckDBPyConnection, sql: str):
    with pytest.raises(DebatebenchError, match="expression depth") as caught:
        run_query(con, sql)
    assert "SET" not in str(caught.value), "nobody can follow that advice here"


def test_message_of_any_length_is_cut(con: duckdb.DuckDBPyConnection):
    with pytest.raises(DebatebenchError) as caught:
        run_query(con, "select repeat('x', 1000000)::integer")
    assert len(str(caught.value)) < 1000
