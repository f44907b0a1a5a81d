"""SQL of a workspace that was written by a stranger reads and writes nothing outside the warehouse."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import duckdb
import pytest
from built_warehouse import begin_built
from command_line import Done, debatebench

pytestmark = pytest.mark.slow

SECRET = "the-secret-in-a-file"

QUERIES = {
    "a file": "select content as x from read_text('SECRET_FILE')",
    "a file by name": "select * from 'SECRET_FILE'",
    "a file after lateral": "select t.content as x from (select 1 as a) as s, lateral read_text('SECRET_FILE') as t",
    "a file in a subquery": "select (select content from read_text('SECRET_FILE')) as x",
    "a CSV after lateral": "select t.* from (select 1 as a) as s, lateral read_csv('SECRET_FILE') as t",
    "names of files": "select t.file as x from (select 1 as a) as s, lateral glob('SECRET_FOLDER/*') as t",
    "a query in a text": "select t.* from (select 1 as a) as s, lateral query('select * from raw.calls') as t",
    "a table in a text": "select t.* from (select 1 as a) as s, lateral query_table('raw.calls') as t",
    "a summary": "select * from (summarize 'SECRET_FILE')",
    "the network": "select t.* from (select 1 as a) as s, lateral read_csv('http://127.0.0.1:9/x.csv') as t",
    "an environment variable": "select getenv('DEBATEBENCH_SECRET') as x",
    "a hidden copy": ("select map {#1: 2} as x from (select 1 as a); copy (select 42) to 'STOLEN' -- #}([1],[2]) as x"),
    "a hidden setting": "select map {#1: 2} as x from (select 1 as a); set threads = 1 -- #}([1],[2]) as x",
    "a copy": "copy (select 42) to 'STOLEN'",
    "two statements": "select 1 as x; copy (select 42) to 'STOLEN'",
    "a database": "attach 'STOLEN'",
    "an extension": "install httpfs",
}


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("workspace")
    assert debatebench(begin_built(root), "run", "--run-tag", "a", "--sample-topics", "1", "--no-input").code == 0
    return root


@pytest.fixture
def outside(tmp_path: Path) -> Path:
    (tmp_path / "secret.csv").write_text(SECRET)
    return tmp_path


def aimed(text: str, outside: Path) -> str:
    text = text.replace("SECRET_FILE", str(outside / "secret.csv")).replace("SECRET_FOLDER", str(outside))
    return text.replace("STOLEN", str(outside / "stolen"))


def attacked(root: Path, files: dict[str, str], outside: Path, *command: str) -> Done:
    """Run a command in the workspace with these files in sql/, and check that nothing came out or went in."""
    paths = {root / "sql" / name: aimed(text, outside) for name, text in files.items()}
    for path, text in paths.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    warehouse = root / "warehouse" / "debatebench.duckdb"
    before = landed(warehouse)
    try:
        done = debatebench(root, *command, environ={"DEBATEBENCH_SECRET": SECRET})
    finally:
        for path in paths:
            path.unlink()
    assert SECRET not in done.out + done.err
    assert SECRET.encode() not in warehouse.read_bytes()
    assert "Traceback" not in done.err
    assert not warehouse.with_name(f"{warehouse.name}.wal").exists()
    assert [path.name for path in outside.iterdir()] == ["secret.csv"]
    assert landed(warehouse) == before
    return done


def landed(warehouse: Path) -> dict[str, tuple[int, int]]:
    """Table of what was landed → its number of rows, and a hash of them; what describes the SQL models may change."""
    with duckdb.connect(str(warehouse), read_only=True) as con:
        tables = con.execute(
            "select schema_name || '.' || table_name from duckdb_tables() where schema_name in ('raw', 'main') "
            "and table_name not in ('schemas', 'sql_models')"
        ).fetchall()
        return {
            name: con.execute(f"select count(*), sum(hash(t::varchar)) from {name} as t").fetchall()[0]
            for (name,) in tables
        }


DESCRIBED = "models: [{name: mine, description: M., columns: [{name: x, description: X.}]}]"


def is_built(root: Path, model: str) -> bool:
    with duckdb.connect(str(root / "warehouse" / "debatebench.duckdb"), read_only=True) as con:
        found = con.execute("select 1 from duckdb_columns() where schema_name = 'marts' and table_name = ?", [model])
        return found.fetchone() is not None


def test_no_sql_model_reaches_anything_outside(root: Path, outside: Path) -> None:
    files = {"marts/harmless.sql": "select 1 as x", "marts/harmless.yml": DESCRIBED.replace("mine", "harmless")}
    for number, query in enumerate(QUERIES.values()):
        config = f"config: {{materialized: {('table', 'view')[number % 2]}}}"
        yaml = DESCRIBED.replace("mine", f"mine_{number}").replace("description: M.", f"description: M., {config}")
        files |= {f"marts/mine_{number}.sql": query, f"marts/mine_{number}.yml": yaml}
    for number, data_type in enumerate(["bigint as c0 from read_csv('SECRET_FILE') --", "bigint as c0, 1 as c1"]):
        column = f'{{name: x, description: X., data_type: "{data_type}"}}'
        typed = (
            f"{{name: typed_{number}, description: M., columns: [{column}], config: {{contract: {{enforced: true}}}}}}"
        )
        files |= {
            f"marts/typed_{number}.sql": "select 1::bigint as x",
            f"marts/typed_{number}.yml": f"models: [{typed}]",
        }
    done = attacked(root, files, outside, "build")
    assert done.code != 0
    models = [Path(name).stem for name in files if name.endswith(".sql")]
    assert [name for name in models if is_built(root, name)] == ["harmless"]


@pytest.mark.parametrize("attack", ["a file", "a hidden copy"])
def test_a_singular_test_reaches_nothing_outside(root: Path, outside: Path, attack: str) -> None:
    done = attacked(root, {"tests/mine.sql": QUERIES[attack]}, outside, "test", "--select", "mine")
    assert done.code != 0
    assert "ERROR tests.mine" in done.out


EXPRESSIONS = {
    "a file": "(select content from read_text('SECRET_FILE')) is not null",
    "an end of the query": "true); copy (select 42) to 'STOLEN'; select (1 = 1",
    "an end of the count": "true)); copy (select 42) to 'STOLEN'; select 1 from (select (1 = 1",
    "the log of the warehouse": "true)); copy (select 42) to 'WAREHOUSE.wal'; select 1 from (select (1 = 1",
    "a statement in a text": (
        "exists (from json_execute_serialized_sql(json_serialize_sql("
        "'with x as (copy (select 42) to ''WAREHOUSE.wal'') select 1')))"
    ),
}


def test_no_data_test_reaches_anything_outside(root: Path, outside: Path) -> None:
    warehouse = root / "warehouse" / "debatebench.duckdb"
    models, files = [], {}
    for number, text in enumerate(EXPRESSIONS.values()):
        expression = aimed(text, outside).replace("WAREHOUSE", str(warehouse))
        tests = [{"expression": expression}, {"where": expression, "expression": "1 = 1"}]
        model = {"name": f"tested_{number}", "description": "M.", "columns": [{"name": "x", "description": "X."}]}
        models.append({**model, "data_tests": [{"expression_is_true": test} for test in tests]})
        files[f"marts/tested_{number}.sql"] = "select 1 as x"
    files["marts/tested.yml"] = json.dumps({"models": models})
    built = attacked(root, files, outside, "build")
    assert built.code == 0, built.err
    done = attacked(root, files, outside, "test", "--select", "tested_*")
    assert done.code != 0
    for number in range(len(EXPRESSIONS)):
        assert done.out.count(f"ERROR expression_is_true_marts.tested_{number}") == 2


@pytest.mark.parametrize(
    "macro",
    [
        "(select content from read_text('SECRET_FILE'))",
        "map {#1: 2}; copy (select 42) to 'STOLEN' -- #}([1],[2])",
        "getenv('DEBATEBENCH_SECRET')",
    ],
)
def test_a_macro_reaches_nothing_outside(root: Path, outside: Path, macro: str) -> None:
    arguments = [{"name": "x", "type": "bigint", "description": "X."}]
    yaml = json.dumps({"macros": [{"name": "mine", "description": "M.", "arguments": arguments, "sql": macro}]})
    call = {"marts/called.sql": "select macros.mine(1) as x", "marts/called.yml": DESCRIBED.replace("mine", "called")}
    assert attacked(root, {"macros/mine.yml": yaml, **call}, outside, "build", "--select", "called").code != 0


def test_a_unit_test_reaches_nothing_outside(root: Path, outside: Path) -> None:
    files = {}
    for number, attack in enumerate(("a file after lateral", "a hidden copy", "names of files")):
        test = f"unit_tests: [{{name: u{number}, model: mine_{number}, expect: {{rows: [{{x: 1}}]}}}}]"
        files[f"marts/mine_{number}.sql"] = QUERIES[attack]
        files[f"marts/mine_{number}.yml"] = f"{DESCRIBED.replace('mine', f'mine_{number}')}\n{test}\n"
    done = attacked(root, files, outside, "test", "--unit-only", "--select", "mine_*")
    assert done.code != 0
    for number in range(3):
        assert f"ERROR marts.mine_{number} " in done.out


def test_a_version_reaches_nothing_outside(root: Path, outside: Path) -> None:
    yaml = "models: [{name: panel_winners, versions: [{v: 3}]}]"
    for attack in ("a file after lateral", "a hidden copy"):
        files = {"marts/panel_winners_v3.sql": QUERIES[attack], "marts/mine.yml": yaml}
        done = attacked(root, files, outside, "diff-models", "panel_winners", "2", "3")
        assert done.code != 0


def test_a_with_deletes_nothing_that_was_landed(root: Path, outside: Path) -> None:
    delete = "with gone as (delete from raw.turns returning run_tag) select count(*) as x from gone"
    yaml = DESCRIBED.replace("description: M.", "description: M., config: {materialized: table}")
    done = attacked(root, {"staging/mine.sql": delete, "staging/mine.yml": yaml}, outside, "build")
    assert "only read" in done.error_line


@pytest.fixture(scope="module")
def with_views(root: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the workspace, in which two tables are views of a file outside."""
    folder = tmp_path_factory.mktemp("with-views")
    copy, secret = Path(shutil.copytree(root, folder / "copy")), folder / "secret.csv"
    secret.write_text(SECRET)
    assert debatebench(copy, "build").code == 0
    with duckdb.connect(str(copy / "warehouse" / "debatebench.duckdb")) as con:
        for name in ("panel_winners", "runs"):
            con.execute(f"drop view if exists marts.{name}; drop table if exists marts.{name}")
            con.execute(
                f"create view marts.{name} as select 'a' as run_tag, content as debate_id, content as winner "
                f"from read_text('{secret}')"
            )
    return copy


@pytest.mark.parametrize("format_name", ["parquet", "duckdb", "dbt", "jsonl", "huggingface"])
def test_a_view_in_the_warehouse_brings_no_file_into_an_export(
    with_views: Path, tmp_path: Path, format_name: str
) -> None:
    out = tmp_path / "out"
    options = {"parquet": ["--select", "marts.runs"], "huggingface": ["--license", "mit"]}.get(format_name, [])
    done = debatebench(with_views, "export", "--format", format_name, "--out-dir", str(out), *options)
    assert SECRET not in done.out + done.err
    assert "Traceback" not in done.err
    written = [path for path in out.rglob("*") if path.is_file()]
    assert not [path for path in written if SECRET.encode() in path.read_bytes()]
    # A DuckDB file and a dbt project are built again from the SQL models.
    assert done.code == (1 if format_name in ("parquet", "jsonl", "huggingface") else 0), done.err
