"""Hostile SQL, and a program that puts each text in every place of a project that takes SQL, in one process.

`python hostile_sql.py FOLDER OUTSIDE` runs everything with a warehouse in FOLDER; a test watches what it opens.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Mapping
from contextlib import closing, suppress
from datetime import date
from pathlib import Path

import duckdb
from sql_project import raw_database, read_project

from debatebench.output.docs.page import write_docs
from debatebench.output.export.dbt_names import dbt_names
from debatebench.output.export.dbt_sql import dbt_sql
from debatebench.query.attached import attached
from debatebench.query.safe_query import open_for_query, open_for_reading, run_query
from debatebench.query.version_diff import diff_model
from debatebench.shared.duckdb_sql import NO_EXTENSIONS, close_to_outside
from debatebench.shared.errors import DebatebenchError, SqlModelError
from debatebench.shared.workspace import Workspace
from debatebench.transform.build import build
from debatebench.transform.graph import check_references
from debatebench.transform.lineage.column_lineage import column_lineage
from debatebench.transform.one_query import check_query, execute_one
from debatebench.transform.project import Project
from debatebench.transform.sql_model import parse_query
from debatebench.transform.testing.data_tests import run_data_tests
from debatebench.transform.testing.unit_tests import run_unit_tests

CANARY = "canary-7f31c9"
HARMLESS = "select 1::bigint as x"

# {out}: a folder outside, with a canary in files of every format; {db}: the warehouse; {url}: a server.
_FILES = """
select * from read_text('{out}/secret.txt')
select * from read_text(['{out}/secret.txt'])
select * from read_text('{out}/*.txt')
select * from read_text('file://{out}/secret.txt')
select * from read_text('../outside/secret.txt')
select * from read_text('/proc/self/environ')
select * from read_text('/proc/self/fd/0')
select * from read_text('/dev/stdin')
select * from read_text('~/.bashrc')
select * from read_blob('{out}/secret.txt')
select * from read_blob('{db}')
select * from read_blob('{db}.wal')
select * from read_csv('{out}/secret.csv')
select * from read_csv('{out}/secret.csv', store_rejects = true)
select * from read_csv('/dev/stdin')
select * from read_csv_auto('{out}/secret.csv')
select * from sniff_csv('{out}/secret.csv')
select * from read_json('{out}/secret.json')
select * from read_json_auto('{out}/secret.json')
select * from read_ndjson('{out}/secret.json')
select * from read_ndjson_auto('{out}/secret.json')
select * from read_ndjson_objects('{out}/secret.json')
select * from read_json_objects('{out}/secret.json')
select * from read_json_objects_auto('{out}/secret.json')
select * from read_parquet('{out}/secret.parquet')
select * from parquet_scan('{out}/secret.parquet')
select * from parquet_metadata('{out}/secret.parquet')
select * from parquet_file_metadata('{out}/secret.parquet')
select * from parquet_kv_metadata('{out}/secret.parquet')
select * from parquet_schema('{out}/secret.parquet')
select * from parquet_bloom_probe('{out}/secret.parquet', 'c', 1)
select * from read_duckdb('{out}/other.duckdb')
select * from glob('{out}/*')
select * from glob('/**')
select * from arrow_scan(1, 2, 3)
select * from pandas_scan(1)
select * from python_map_function(1)
select * from seq_scan('{out}/secret.csv')
select * from '{out}/secret.csv'
select * from '{out}/secret.json'
select * from '{out}/secret.parquet'
select * from '{out}/other.duckdb'
select * from '{out}/*.parquet'
select * from "{out}/secret.csv"
select * from "{out}"."secret.csv"
select * from 'secret.csv'
select * from '{url}/x.csv'
select * from 'https://127.0.0.1:9/x.parquet'
select * from 's3://bucket/x.parquet'
select * from 'gs://bucket/x.parquet'
select * from 'hf://datasets/x/y.parquet'
select * from 'az://c/x.parquet'
select * from read_csv('{url}/x.csv')
select * from read_parquet('s3://bucket/x.parquet')
select * from read_text('{url}/x')
select * from sqlite_scan('{out}/x.db', 't')
select * from postgres_scan('host=127.0.0.1 port=9', 'public', 't')
select * from mysql_scan('host=127.0.0.1 port=9', 'd', 't')
select * from iceberg_scan('{out}')
select * from delta_scan('{out}')
select * from st_read('{out}/x.shp')
select * from read_xlsx('{out}/x.xlsx')
select * from read_gsheet('{url}')
select * from http_get('{url}')
select * from shellfs('id |')
select * from read_csv('id |')
""".strip().splitlines()

_SHAPES = """
select t.* from (select 1 as a) as s, lateral read_text('{out}/secret.txt') as t
select t.* from (select 1 as a) as s cross join lateral (select * from read_text('{out}/secret.txt')) as t
select (select content from read_text('{out}/secret.txt')) as x
select 1 as x where exists (select 1 from read_text('{out}/secret.txt'))
select 1 as x order by (select content from read_text('{out}/secret.txt'))
select 1 as x limit (select size from read_text('{out}/secret.txt'))
select sum(1) over (order by (select content from read_text('{out}/secret.txt'))) as x
select case when true then (select content from read_text('{out}/secret.txt')) end as x
select list_transform([1], lambda i: (select content from read_text('{out}/secret.txt'))) as x
select [x for x in (select list(content) from read_text('{out}/secret.txt'))] as x
select trim(read_text('{out}/secret.txt')) as x
select columns(*) from read_text('{out}/secret.txt')
select columns(lambda c: c = 'content') from read_text('{out}/secret.txt')
from read_text('{out}/secret.txt')
from read_text('{out}/secret.txt') select content
(select content from read_text('{out}/secret.txt'))
table '{out}/secret.csv'
values ((select content from read_text('{out}/secret.txt')))
select 1 as x union all select size from read_text('{out}/secret.txt')
select 1 as x except select size from read_text('{out}/secret.txt')
with read_text as (select 1 as x) select * from read_text('{out}/secret.txt')
with c as (select * from read_text('{out}/secret.txt')) select * from c
with c as materialized (from read_text('{out}/secret.txt')) from c
with recursive c as (select 1 as x union all select size from c, read_text('{out}/secret.txt')) select * from c
select * from (select 1 as a) as s positional join read_text('{out}/secret.txt')
select * from (select 1 as a) as s asof join read_text('{out}/secret.txt') as t on s.a >= t.size
select * from raw.debates at (version => 1), read_text('{out}/secret.txt')
select * from read_text('{out}/secret.txt') tablesample 1 rows
select * from main.read_text('{out}/secret.txt')
select * from system.main.read_text('{out}/secret.txt')
select * from "read_text"('{out}/secret.txt')
select * from READ_TEXT(E'{out}/secret\\x2etxt')
select * from read_text($${out}/secret.txt$$)
select * from read_text($tag${out}/secret.txt$tag$)
select * from read_text('{out}' || '/secret.txt')
select * from read_text(getvariable('path'))
select * from read_text((select '{out}/secret.txt'))
select * from (summarize '{out}/secret.csv')
select * from (describe '{out}/secret.csv')
select * from (summarize (from read_csv('{out}/secret.csv')))
select * from (describe (from read_csv('{out}/secret.csv')))
select * from (pivot '{out}/secret.csv' on a using sum(b))
select * from (pivot read_csv('{out}/secret.csv') on a in (1) using sum(b))
select * from (unpivot read_csv('{out}/secret.csv') on a, b)
select * from (show all tables)
select * from (show databases)
summarize '{out}/secret.csv'
describe '{out}/secret.csv'
show tables
select * from query('from read_text(''{out}/secret.txt'')')
select * from query('from read_' || 'text(''{out}/secret.txt'')')
select * from query(if(current_setting('threads') > 0, 'from read_csv(''{out}/secret.csv'')', 'select 1'))
select * from query_table('{out}/secret.csv')
select * from query_table(['{out}/secret.csv'])
select * from json_execute_serialized_sql(json_serialize_sql('from read_text(''{out}/secret.txt'')'))
select * from json_execute_serialized_sql(json_serialize_sql('with x as (copy (select 42) to ''{db}.wal'') select 1'))
select * from sql_auto_complete('select')
select * from duckdb_secrets()
select * from duckdb_settings()
select * from duckdb_logs
select * from duckdb_logs()
select * from duckdb_extensions()
select * from duckdb_temporary_files()
select * from duckdb_databases()
select * from duckdb_variables()
select * from duckdb_functions()
select * from which_secret('s3://x', 's3')
select * from pragma_storage_info('raw.debates')
select * from pragma_database_size()
select * from pragma_version()
select * from pragma_user_agent()
select * from enable_logging(storage := 'file', storage_path := '{out}/log')
select * from enable_profiling(save_location := '{out}/profile')
select * from truncate_duckdb_logs()
select * from force_checkpoint()
select * from checkpoint()
select * from test_all_types()
select * from repeat_row(1, num_rows := 2)
select * from summary((select 1))
select getenv('DEBATEBENCH_SECRET') as x
select getvariable('secret') as x
select nextval('raw.ids') as x
select setval('raw.ids', 7) as x
select load_extension('httpfs') as x
select pg_read_file('{out}/secret.txt') as x
select shell('id') as x
""".strip().splitlines()

_WRITES = """
with x as (copy (select 42) to '{out}/stolen.csv') select 1 as x
with x as (copy (select 42) to '{db}.wal') select 1 as x
with x as (copy raw.debates to '{out}/stolen.parquet') select 1 as x
with x as (insert into raw.debates (run_tag) values ('evil') returning run_tag) select * from x
with x as (delete from raw.debates returning run_tag) select * from x
with x as (update raw.debates set run_tag = 'evil' returning run_tag) from x
with x as (truncate raw.debates) select 1 as x
with x as materialized (delete from raw.debates returning run_tag) select * from x
with x as (with y as (delete from raw.debates returning run_tag) select * from y) select * from x
select * from (with x as (delete from raw.debates returning run_tag) select * from x)
with x as (merge into raw.debates using raw.debates as d on true when matched then delete) select 1 as x
with x as (attach '{out}/stolen') select 1 as x
select 1 as x into raw.stolen
insert into raw.debates (run_tag) values ('evil') returning run_tag
delete from raw.debates returning run_tag
copy (select 42) to '{out}/stolen.csv'
copy (select 42) to '{out}/stolen.parquet' (format parquet)
copy (select 42) to '{out}/stolen' (format json)
copy raw.debates from '{out}/secret.csv'
copy from database memory to warehouse
export database '{out}/stolen'
import database '{out}'
attach '{out}/stolen'
attach '{out}/other.duckdb' as o (read_only)
attach ':memory:' as m
attach 'http://127.0.0.1:9/x' as h
detach warehouse
use memory
install httpfs
install '{out}/x.duckdb_extension'
load httpfs
load '{out}/x.duckdb_extension'
update extensions
set enable_external_access = true
set lock_configuration = false
set temp_directory = '{out}'
set secret_directory = '{out}'
set extension_directory = '{out}'
set home_directory = '{out}'
set log_query_path = '{out}/log'
set profiling_output = '{out}/profile'
set search_path = 'memory'
set variable x = 1
reset all
pragma enable_profiling
pragma profiling_output = '{out}/profile'
pragma import_database('{out}')
call enable_logging()
call query('select 1')
create table stolen as select 1
create or replace temp macro count(x) as 1
create secret (type http)
create persistent secret s (type http)
drop table raw.debates
alter table raw.debates rename to d
prepare p as select 1
execute p
deallocate p
checkpoint
vacuum
analyze
begin
commit
explain analyze select 1
comment on table raw.debates is 'x'
pivot raw.debates on run_tag
""".strip().splitlines()

_THEN = "copy (select 42) to '{out}/stolen.csv'"
_HIDDEN = [
    f"select map {{#1: 2}} as x from (select 1 as a); {_THEN} -- #}}([1],[2]) as x",
    "select map {#1: 2} as x from (select 1 as a); set threads = 1 -- #}([1],[2]) as x",
    f"select 1 as x; {_THEN}",
    f"select 1 as x;{_THEN};",
    f";; {_THEN}",
    f"select 1 as x -- harmless\n; {_THEN}",
    f"select 1 as x -- harmless\r; {_THEN}",
    f"select 1 as x -- harmless\u0085; {_THEN}",
    f"select 1 as x -- harmless\u2028; {_THEN}",
    f"select 1 as x -- harmless\x0b; {_THEN}",
    f"select 1 as x -- harmless\x0c; {_THEN}",
    f"select 1 as x /* ; */ ; {_THEN}",
    f"select 1 as x /* /* nested */ ; {_THEN} -- */",
    f"select 1 as x /* /* nested */ */ ; {_THEN}",
    f"select 1 as x /*! ; {_THEN} */",
    f"select '\\' as x; {_THEN} --'",
    f"select e'\\'' as x; {_THEN} --'",
    f"select $$;$$ as x; {_THEN}",
    f"select $x$ $$ ; $x$ as x; {_THEN} -- $$",
    f"select $é$ ; $é$ as x; {_THEN}",
    f'select 1 as "a;b"; {_THEN}',
    f"select 1 as `a; {_THEN} --`",
    f"select 1 as [a; {_THEN} --]",
    f"select 1 as x\x00; {_THEN}",
    f"select 1 as x;\x00{_THEN}",
    f"\ufeff{_THEN}",
    f"\ufeffselect 1 as x; {_THEN}",
    f"\u200bselect 1 as x; {_THEN}",
    f"select\u00a01 as x; {_THEN}",
    f"select 1 as x\uff1b {_THEN}",
    f"select 1 as x\u037e {_THEN}",
    f"\u202eselect 1 as x\u202c; {_THEN}",
    f"select 1 as x {{% raw %}}; {_THEN} {{% endraw %}}",
    f"select 1 as x {{{{ '; {_THEN}' }}}}",
    f"select 1 as x #; {_THEN}",
    f"select 1 as x //; {_THEN}",
    f"(select 1 as x); {_THEN}",
    f"((select 1 as x); {_THEN})",
    f"begin; {_THEN}; commit",
    "select {# (select content from read_text('{out}/secret.txt')) #} 1 as x",
    "select 1 as x {# , (select content from read_text('{out}/secret.txt')) as y #}",
    "select 1 as x # , (select content from read_text('{out}/secret.txt'))",
]

QUERIES: tuple[str, ...] = tuple(dict.fromkeys([HARMLESS, *_FILES, *_SHAPES, *_WRITES, *_HIDDEN]))
"""Texts in the place of a query."""

EXPRESSIONS: tuple[str, ...] = (
    f"true); {_THEN}; select (1 = 1",
    f"true)); {_THEN}; select 1 from (select (1 = 1",
    "true)); copy (select 42) to '{db}.wal'; select 1 from (select (1 = 1",
    f"true)); {_THEN} --",
    f"true) -- \n; {_THEN}",
    "true) union all (select 1 from read_text('{out}/secret.txt')",
    "true) and exists (from read_csv('{out}/secret.csv')",
    "true) or (with x as (copy (select 42) to '{db}.wal') select true",
    "true); copy (select 42) to '{db}.wal'; select (1 = 1",
    "true); attach ':memory:' as stolen; select (1 = 1",
    "true); set variable stolen = 1; select (1 = 1",
    "true); use memory; select (1 = 1",
    "true); rollback; select (1 = 1",
)
"""Texts in the place of an expression, besides each query in brackets."""

TYPES: tuple[str, ...] = (
    f"bigint as c0; {_THEN}; select 1::bigint",
    "bigint as c0 from read_csv('{out}/secret.csv') --",
    "bigint as c0 from query(case when current_setting('enable_external_access') "
    "then 'from read_csv(''{out}/secret.csv'')' else 'select 1' end) --",
    "bigint as c0, (select content from read_text('{out}/secret.txt'))",
    "bigint as c0, 1 as c1",
    "bigint)[]), max_depth := 2); copy (select 42) to '{out}/stolen.csv' --",
    "bigint)[])) from read_text('{out}/secret.txt') --",
    "enum (select content from read_text('{out}/secret.txt'))",
    "decimal((select size from read_text('{out}/secret.txt')), 2)",
    "bigint; copy (select 42) to '{db}.wal'",
    "'{out}/secret.csv'",
)
"""Texts in the place of a data type."""


def aimed(text: str, folder: Path, outside: Path) -> str:
    """The text with its targets filled in."""
    targets = {"{out}": str(outside), "{db}": str(folder / "w.duckdb"), "{url}": "http://127.0.0.1:9"}
    for name, target in targets.items():
        text = text.replace(name, target)
    return text


def fill_outside(outside: Path) -> None:
    """Files with the canary in every format that DuckDB reads."""
    outside.mkdir()
    (outside / "secret.txt").write_text(CANARY)
    (outside / "secret.csv").write_text(f"a,b\n1,{CANARY}\n")
    (outside / "secret.json").write_text(json.dumps({"a": CANARY}))
    with duckdb.connect(str(outside / "other.duckdb")) as con:
        con.execute(f"create table t as select '{CANARY}' as c")
        con.execute(f"copy t to '{outside}/secret.parquet'")


_MODEL = "models: [{name: mine, description: M., columns: [{name: x, description: X.}], config: {materialized: %s}}]\n"
_UNIT_TEST = "unit_tests: [{name: u, model: mine, expect: {rows: [{x: 1}]}}]\n"
_PROJECT = {"marts/mine.sql": HARMLESS, "marts/_marts.yml": _MODEL % "table"}


class Attack:
    """A warehouse in `folder`, and what each place did with each text."""

    def __init__(self, folder: Path, outside: Path) -> None:
        self.folder, self.outside, self.database = folder, outside, folder / "w.duckdb"
        raw_database(str(self.database)).close()
        self.reports = Workspace(folder).files("reports", "**/*")
        self.tried = 0
        self.accepted: list[tuple[str, str]] = []

    def aimed(self, texts: tuple[str, ...]) -> list[str]:
        return [aimed(text, self.folder, self.outside) for text in texts]

    def everywhere(self) -> None:
        """Every text in every place."""
        with closing(duckdb.connect(config={**NO_EXTENSIONS})) as con:
            con.execute(f"attach '{self.database}' as warehouse; use warehouse")
            close_to_outside(con)
            self.models(con)
            self.unchecked(con)
            build(con, self._written(_PROJECT))
        self.tests()
        self.queries()
        with open_for_reading(self.database) as reader:
            assert run_query(reader, "select count(*), count(distinct run_tag) from raw.debates").rows == [(3, 1)]

    def _written(self, files: Mapping[str, str]) -> Project:
        """The project of exactly these files."""
        folder = self.folder / "sql"
        for old in folder.rglob("*.*"):
            old.unlink()
        for name, text in files.items():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_text(text, newline="")
        return read_project(folder)

    def _try(self, place: str, text: str, files: Mapping[str, str], con: duckdb.DuckDBPyConnection) -> None:
        """Build a project, and do everything with it that needs no warehouse."""
        self.tried += 1
        with suppress(DebatebenchError):
            project = self._written(files)
            results = run_unit_tests(project)
            assert CANARY not in "".join(map(str, results))
            build(con, project)
            write_docs(project, self.reports, self.folder / "docs", date.min)
            column_lineage(project, "marts.mine")
            names = dbt_names(project.models, project.macros)
            for each in (*project.models.values(), *project.singular_tests):
                dbt_sql(each.query.sql, names)
            if all(result.status != "error" for result in results):
                self.accepted.append((place, text))

    def models(self, con: duckdb.DuckDBPyConnection) -> None:
        """As a SQL model with a unit test, as a macro, as a type in a contract and in a test."""
        for text in self.aimed(QUERIES):
            for materialized in ("table", "view"):
                yaml = _MODEL % materialized + _UNIT_TEST
                self._try("model", text, {"marts/mine.sql": text, "marts/_marts.yml": yaml}, con)
            macro = {
                "macros/_macros.yml": json.dumps(
                    {
                        "macros": [
                            {
                                "name": "evil",
                                "description": "M.",
                                "arguments": [{"name": "x", "type": "int"}],
                                "sql": f"({text})",
                            }
                        ]
                    }
                ),
            }
            self._try("macro", text, {**_PROJECT, **macro, "marts/mine.sql": "select macros.evil(1) as x"}, con)
        for sql_type in self.aimed(TYPES):
            quoted = json.dumps(sql_type)
            column = f"[{{name: x, description: X., data_type: {quoted}}}]"
            config = "{contract: {enforced: true}}"
            contract = f"models: [{{name: mine, description: M., columns: {column}, config: {config}}}]"
            self._try("contract", sql_type, {**_PROJECT, "marts/_marts.yml": contract}, con)
            given = (
                f"models: [{{name: mine, description: M., columns: {column}}}, {{name: other, description: O.}}]\n"
                "unit_tests: [{name: u, model: other, given: [{input: marts.mine, rows: [{x: 1}]}], "
                "expect: {rows: []}}]"
            )
            other = {"marts/other.sql": "select * from marts.mine", "marts/_marts.yml": given}
            self._try("input", sql_type, {**_PROJECT, **other}, con)

    def unchecked(self, con: duckdb.DuckDBPyConnection) -> None:
        """As though sqlglot had accepted the text."""
        con.execute("create schema warehouse.unchecked")
        for text in self.aimed(QUERIES):
            for kind in ("table", "view"):
                self.tried += 1
                with suppress(SqlModelError, duckdb.Error):
                    execute_one(
                        con, f"{text}\n", Path("x.sql"), into=f"create or replace {kind} warehouse.unchecked.{kind} as "
                    ).fetchall()
                    self.accepted.append(("unchecked", text))
            self.tried += 1
            with suppress(SqlModelError, duckdb.Error):
                check_query(con, f"select ({text}\n)", Path("x.sql"))
                con.execute(f"create or replace macro warehouse.unchecked.evil(x) as ({text}\n)")
                con.execute("select warehouse.unchecked.evil(1)").fetchall()
                self.accepted.append(("macro", text))

    def tests(self) -> None:
        """As an expression, a condition and a limit of a data test and as a singular test, all in one project; and as
        another version.
        """
        expressions = [*self.aimed(EXPRESSIONS), *(f"({text}\n) is null" for text in self.aimed(QUERIES))]
        tests = []
        for text in expressions:
            tests += [{"expression_is_true": {"expression": text}}]
            tests += [{"expression_is_true": {"expression": "true", "where": text}}]
        limits = [{"range": {"min": text, "max": text}} for text in expressions]
        models = {"name": "mine", "description": "M.", "data_tests": tests}
        columns = [{"name": "x", "description": "X.", "data_tests": limits}]
        files = {**_PROJECT, "marts/_marts.yml": json.dumps({"models": [{**models, "columns": columns}]})}
        tables = self._written({}).domain.tables
        for number, text in enumerate(self.aimed(QUERIES)):
            with suppress(SqlModelError):
                check_references(parse_query(text, Path("x.sql")), Path("x.sql"), tables)
                files[f"tests/t{number}.sql"] = text
        project = self._written(files)
        with attached(self.database) as con:
            con.execute("use warehouse")
            close_to_outside(con)
            for result in run_data_tests(con, project):
                self.tried += 1
                assert CANARY not in str(result)
                if result.status != "error" and result.kind not in ("description", "contract"):
                    self.accepted.append(("data test", result.query or ""))
        for text in self.aimed(QUERIES):
            self.tried += 1
            versions = "models: [{name: mine, description: M., versions: [{v: 1}, {v: 2}]}]"
            with suppress(DebatebenchError):
                files = {"marts/mine_v1.sql": "select 1 as x", "marts/mine_v2.sql": text, "marts/_marts.yml": versions}
                diff_model(self.database, self._written(files), "mine", 1, 2)
                self.accepted.append(("version", text))

    def queries(self) -> None:
        """As a query of a page or of `debatebench query`."""
        with closing(open_for_query(self.database)) as con:
            for text in self.aimed(QUERIES):
                self.tried += 1
                with suppress(DebatebenchError):
                    assert CANARY not in str(run_query(con, text, timeout_s=30).rows)
                    self.accepted.append(("query", text))


def main(arguments: list[str]) -> Iterator[str]:
    attack = Attack(Path(arguments[0]), Path(arguments[1]))
    attack.everywhere()
    yield json.dumps({"tried": attack.tried, "texts": len(QUERIES) + len(EXPRESSIONS) + len(TYPES)})
    yield from (json.dumps(each) for each in sorted(set(attack.accepted)))


if __name__ == "__main__":
    print("\n".join(main(sys.argv[1:])))
