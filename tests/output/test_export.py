"""Exports as folders, Parquet files and DuckDB files: what is written, what is refused, what is never deleted."""

from __future__ import annotations

import hashlib
import importlib.util
import json
import os
import shutil
from collections import Counter
from collections.abc import Callable
from contextlib import closing
from functools import cache
from pathlib import Path
from typing import Any

import duckdb
import pytest
from built_warehouse import stored
from command_line import debatebench
from exported import NOON, land, make_workspace

from debatebench.output.export import FORMATS, DatasetOptions, Export, export
from debatebench.output.export.manifest import read_export_manifest
from debatebench.query.sql_project import load_project
from debatebench.shared.errors import DebatebenchError, UsageError
from debatebench.shared.workspace import Workspace
from debatebench.transform.build_state import is_current

pytestmark = pytest.mark.slow

RUNS = ("bp", "flow", "original", "played")
# What a format needs besides a folder.
NEEDED: dict[str, Any] = {"huggingface": {"dataset": DatasetOptions("mit")}}


@pytest.fixture(scope="module")
def workspace(tmp_path_factory: pytest.TempPathFactory) -> Workspace:
    """Runs of every kind. Tests only read it."""
    return make_workspace(tmp_path_factory.mktemp("workspace"))


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Workspace:
    """One played run. Tests only read it."""
    return make_workspace(tmp_path_factory.mktemp("small"), imports={})


@pytest.fixture(scope="module")
def exported(workspace: Workspace, tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Export]:
    """An export of some runs in each format, made once. Tests only read it."""

    @cache
    def exported_as(format_name: str) -> Export:
        return export_some(workspace, format_name, tmp_path_factory.mktemp("exported") / "out")

    return exported_as


@pytest.fixture(scope="module")
def parquet_of_all(workspace: Workspace, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Every run as Parquet. Tests only read it."""
    return export(workspace, "parquet", tmp_path_factory.mktemp("parquet") / "out").folder


@pytest.fixture(scope="module")
def whole(workspace: Workspace, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The warehouse with tables for its views. Tests only read it."""
    return stored_copy(workspace.database, tmp_path_factory.mktemp("whole") / "whole.duckdb")


def export_some(workspace: Workspace, format_name: str, out: Path) -> Export:
    return export(workspace, format_name, out, run_tags=tags_of(format_name), now=NOON, **NEEDED.get(format_name, {}))


def tags_of(format_name: str) -> list[str]:
    # DebateFlow's format holds one collection.
    return ["played"] if format_name.startswith("debateflow") else ["original", "played"]


@pytest.fixture
def copied(small: Workspace, tmp_path: Path) -> Workspace:
    """A copy of the workspace with one run, to be changed."""
    return Workspace(Path(shutil.copytree(small.root, tmp_path / "ws")))


def files(folder: Path) -> dict[str, bytes]:
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def rows(database: Path, query: str) -> list[Any]:
    with duckdb.connect(str(database), read_only=True) as con:
        return con.execute(query).fetchall()


def stored_copy(database: Path, copy: Path) -> Path:
    """A copy of a warehouse, with tables for views that hold the same rows."""
    return stored(Path(shutil.copy(database, copy)))


def relations(database: Path, schemas: str = "('marts', 'original', 'ratings')") -> list[str]:
    query = f"""
        select schema_name || '.' || table_name from duckdb_tables() where schema_name in {schemas}
        union all select schema_name || '.' || view_name from duckdb_views() where schema_name in {schemas}
        order by 1
        """
    return [name for (name,) in rows(database, query)]


# --- the folder -----------------------------------------------------------------------------------------------------


@pytest.mark.slow_inputs
@pytest.mark.parametrize("format_name", FORMATS)
def test_the_manifest_lists_every_file_with_its_hash(
    workspace: Workspace, exported: Callable[[str], Export], format_name: str
):
    done = exported(format_name)
    manifest = json.loads((done.folder / "manifest.json").read_text())
    written = files(done.folder)
    del written["manifest.json"]
    assert {(file["path"], file["bytes"], file["sha256"]) for file in manifest["files"]} == {
        (name, len(content), hashlib.sha256(content).hexdigest()) for name, content in written.items()
    }
    assert (manifest["format"], manifest["format_version"], manifest["kind"]) == ("debatebench-export", 1, format_name)
    assert manifest["run_tags"] == tags_of(format_name)
    assert sorted(landing["run_tag"] for landing in manifest["warehouse"]["landings"]) == tags_of(format_name)
    assert dict(rows(workspace.database, "select name, sql_sha256 from meta.builds")) == {
        model["name"]: model["sql_sha256"] for model in manifest["warehouse"]["models"]
    }


@pytest.mark.parametrize("format_name", FORMATS)
def test_exporting_twice_gives_the_same_bytes(
    workspace: Workspace, exported: Callable[[str], Export], tmp_path: Path, format_name: str
):
    first = files(exported(format_name).folder)
    second = files(export_some(workspace, format_name, tmp_path / "deep" / "out").folder)
    assert sorted(os.listdir(tmp_path / "deep")) == ["out"]
    assert first.keys() == second.keys()
    # DuckDB gives each of its files an id of its own.
    differing = {name for name in first if first[name] != second[name]}
    assert differing <= {"debatebench.duckdb", "manifest.json"}
    assert bool(differing) == ("debatebench.duckdb" in first)


def test_an_empty_folder_is_taken_and_anything_else_refused(small: Workspace, tmp_path: Path):
    (tmp_path / "empty").mkdir()
    export(small, "jsonl", tmp_path / "empty")
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "mine.txt").write_text("mine")
    for force in (False, True):
        with pytest.raises(UsageError, match="not empty" if not force else "is not an export"):
            export(small, "jsonl", tmp_path / "full", force=force)
    with pytest.raises(UsageError, match="is a file"):
        export(small, "jsonl", tmp_path / "full" / "mine.txt", force=True)
    assert files(tmp_path / "full") == {"mine.txt": b"mine"}
    assert sorted(os.listdir(tmp_path)) == ["empty", "full"]


def test_force_replaces_an_export_as_a_whole(workspace: Workspace, tmp_path: Path):
    out = tmp_path / "out"
    export(workspace, "parquet", out, select=["marts.games"])
    with pytest.raises(UsageError, match="--force"):
        export(workspace, "jsonl", out)
    export(workspace, "jsonl", out, run_tags=["played"], force=True)
    assert sorted(files(out)) == ["debates_played.jsonl", "manifest.json"]
    assert sorted(os.listdir(tmp_path)) == ["out"]
    assert sorted(os.listdir(out)) == ["debates_played.jsonl", "manifest.json"]


def add_file(out: Path) -> None:
    (out / "marts" / "games" / "notes.txt").write_text("mine")


def add_folder(out: Path) -> None:
    (out / "empty").mkdir()


def add_link(out: Path) -> None:
    (out / "link").symlink_to(out.parent)


def replace_by_link(out: Path) -> None:
    file = out / "marts" / "games" / "run_tag=played" / "data.parquet"
    file.rename(out.parent / "moved.parquet")
    file.symlink_to(out.parent / "moved.parquet")


def change_file(out: Path) -> None:
    with (out / "marts" / "games" / "run_tag=played" / "data.parquet").open("ab") as file:
        file.write(b"x")


def list_others_file(out: Path) -> None:
    (out.parent / "precious").write_text("mine")
    manifest = json.loads((out / "manifest.json").read_text())
    manifest["files"].append({"path": "../precious", "bytes": 4, "sha256": hashlib.sha256(b"mine").hexdigest()})
    (out / "manifest.json").write_text(json.dumps(manifest))
    (out / "mine.txt").write_text("mine")


def damage_manifest(out: Path) -> None:
    (out / "manifest.json").write_text("{}")


@pytest.mark.parametrize(
    "change",
    [add_file, add_folder, add_link, replace_by_link, change_file, list_others_file, damage_manifest],
    ids=lambda change: change.__name__,
)
def test_force_deletes_nothing_that_the_export_did_not_write(small: Workspace, tmp_path: Path, change: Any):
    out = tmp_path / "out"
    export(small, "parquet", out, select=["marts.games"])
    change(out)
    before = files(tmp_path), sorted(path.relative_to(tmp_path) for path in tmp_path.rglob("*"))
    with pytest.raises(UsageError, match="--force does not"):
        export(small, "parquet", out, force=True)
    assert (files(tmp_path), sorted(path.relative_to(tmp_path) for path in tmp_path.rglob("*"))) == before


def test_a_hostile_manifest_reaches_nothing_outside_its_folder(small: Workspace, tmp_path: Path):
    out = tmp_path / "out"
    export(small, "jsonl", out)
    list_others_file(out)
    (out / "mine.txt").unlink()
    export(small, "jsonl", out, force=True)
    assert (tmp_path / "precious").read_text() == "mine"


def test_force_replaces_what_dbt_left_in_its_project(
    small: Workspace, exported: Callable[[str], Export], tmp_path: Path
):
    out = Path(shutil.copytree(exported("dbt").folder, tmp_path / "out"))
    (out / "target" / "compiled").mkdir(parents=True)
    (out / "target" / "compiled" / "x.sql").write_text("select 1")
    (out / "logs").mkdir()
    (out / "logs" / "dbt.log").write_text("log")
    with duckdb.connect(str(out / "debatebench.duckdb")) as con:
        con.execute("create schema if not exists marts; create table marts.x as select 1 as one")
    export(small, "dbt", out, force=True)
    assert not (out / "target").exists()
    assert "marts.x" not in relations(out / "debatebench.duckdb", "('marts')")


def test_a_failed_export_leaves_everything_as_it_was(small: Workspace, tmp_path: Path):
    out = tmp_path / "out"
    export(small, "parquet", out, select=["marts.games"])
    before = files(tmp_path)
    with pytest.raises(UsageError, match=r"No run 'plaid' in the warehouse. Known: played\."):
        export(small, "parquet", out, run_tags=["plaid"], force=True)
    with pytest.raises(UsageError, match=r"'marts\.leaderbord' selects nothing\. Did you mean"):
        export(small, "parquet", out, select=["marts.leaderbord"], force=True)
    assert files(tmp_path) == before
    with pytest.raises(UsageError):
        export(small, "parquet", tmp_path / "new", select=["raw.nothing"])
    assert sorted(os.listdir(tmp_path)) == ["out"]


def test_a_sql_error_is_one_sentence_and_leaves_nothing(copied: Workspace, tmp_path: Path):
    own_model(copied, "broken", "select run_tag, error('broken at row ' || run_tag) as x from marts.runs")
    with pytest.raises(DebatebenchError, match=r"The export failed: .*broken at row played"):
        export(copied, "parquet", tmp_path / "out")
    assert sorted(os.listdir(tmp_path)) == ["ws"]


def test_a_disk_that_refuses_is_one_sentence(small: Workspace, tmp_path: Path):
    (tmp_path / "file").write_text("")
    with pytest.raises(DebatebenchError, match="cannot be written"):
        export(small, "jsonl", tmp_path / "file" / "out")


def test_what_the_warehouse_is_rebuilt_from_is_no_place_for_an_export(small: Workspace, tmp_path: Path):
    small.imports.mkdir(exist_ok=True)
    (tmp_path / "link").symlink_to(small.imports)
    for place in (small.imports / "x", small.journal, tmp_path / "link" / "x"):
        with pytest.raises(UsageError, match="that is kept; choose another place"):
            export(small, "jsonl", place)


def test_a_warehouse_behind_its_sql_models_is_not_exported(copied: Workspace, tmp_path: Path):
    with pytest.raises(UsageError, match="There is no warehouse"):
        export(Workspace(tmp_path / "nothing"), "jsonl", tmp_path / "out")
    own_model(copied, "extra", "select run_tag from marts.runs", build=False)
    with pytest.raises(UsageError, match="was built from other SQL models or data; run `debatebench build` first"):
        export(copied, "parquet", tmp_path / "out")


def test_a_reader_of_the_warehouse_does_not_stand_in_the_way(small: Workspace, tmp_path: Path):
    with duckdb.connect(str(small.database), read_only=True) as con:
        con.execute("select * from marts.games").fetchone()
        export(small, "duckdb", tmp_path / "out")
        games = con.execute("select count(*) from marts.games").fetchall()
    (exported,) = (tmp_path / "out").glob("*.duckdb")
    with duckdb.connect(str(exported), read_only=True) as con:
        assert con.execute("select count(*) from marts.games").fetchall() == games != [(0,)]


# --- Parquet --------------------------------------------------------------------------------------------------------


def own_model(workspace: Workspace, name: str, sql: str, *, build: bool = True) -> None:
    """Add `marts.<name>` to the workspace and build."""
    folder = workspace.sql / "marts"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{name}.sql").write_text(sql)
    (folder / f"{name}.yml").write_text(f"models: [{{name: {name}, description: Ours.}}]")
    if build:
        done = debatebench(workspace.root, "build")
        assert done.code == 0, done.err


def read_parquet(out: Path, relation: str) -> str:
    folder = out / relation.replace(".", "/")
    if (folder / "data.parquet").exists():
        return f"read_parquet('{folder / 'data.parquet'}')"
    return f"read_parquet('{folder}/*/data.parquet', hive_partitioning = true, hive_types = {{'run_tag': varchar}})"


def test_parquet_files_hold_every_row_of_marts_original_and_ratings(
    workspace: Workspace, parquet_of_all: Path, whole: Path
):
    out = parquet_of_all
    names = relations(workspace.database)
    assert len(names) > 30
    assert sorted(f"{path.parent.name}.{path.name}" for path in out.glob("*/*")) == names
    with duckdb.connect(str(whole), read_only=True) as con:
        for name in names:
            columns = dict(row[:2] for row in con.execute(f"describe {name}").fetchall())
            source = read_parquet(out, name)
            assert dict(row[:2] for row in con.execute(f"describe select * from {source}").fetchall()) == columns
            source = f"(select {', '.join(columns)} from {source})"
            assert con.execute(f"from {name} except all from {source}").fetchall() == []
            assert con.execute(f"from {source} except all from {name}").fetchall() == []


@pytest.mark.skipif(
    importlib.util.find_spec("pyarrow") is None,
    reason="pyarrow is not installed; `make test-datasets` installs it and runs this test",
)
def test_arrow_reads_every_parquet_file_with_the_same_columns_and_values(
    workspace: Workspace, parquet_of_all: Path, whole: Path
):
    from pyarrow import parquet

    out = parquet_of_all
    with duckdb.connect(str(whole), read_only=True) as con:
        for name in relations(workspace.database):
            schema, table = name.split(".")
            found: Counter[str] = Counter()
            for file in (out / schema / table).rglob("data.parquet"):
                # One file alone: what its folders say is not in it.
                of_run = {"run_tag": file.parent.name.split("=")[1]} if "=" in file.parent.name else {}
                found.update(
                    repr(sorted({**of_run, **row}.items())) for row in parquet.ParquetFile(file).read().to_pylist()
                )
            held = con.execute(f"from {name}")
            columns = [column for column, *_ in held.description or ()]
            assert found == Counter(repr(sorted(zip(columns, row, strict=True))) for row in held.fetchall()), name


def test_rows_are_counted_and_runs_without_rows_have_a_file_too(workspace: Workspace, tmp_path: Path):
    done = export(workspace, "parquet", tmp_path / "out", select=["marts.gold"])
    counted = {file.path: file.rows for file in done.manifest.files}
    assert sorted(counted) == [f"marts/gold/run_tag={tag}/data.parquet" for tag in RUNS]
    expected = dict(rows(workspace.database, "select run_tag, count(*) from marts.gold group by run_tag"))
    assert {path.split("=")[1].split("/")[0]: count for path, count in counted.items()} == {
        tag: expected.get(tag, 0) for tag in RUNS
    }
    assert expected


def test_runs_and_tables_are_chosen(workspace: Workspace, tmp_path: Path):
    chosen = ["raw.turns", "leaderboard", "path:sql/staging", "raw.deb*"]
    done = export(workspace, "parquet", tmp_path / "out", run_tags=["played", "bp", "played"], select=chosen)
    assert done.manifest.run_tags == ("bp", "played")
    tables = {file.path.rpartition("/run_tag=")[0] for file in done.manifest.files}
    assert {"raw/turns", "raw/debates", "raw/debaters", "marts/leaderboard", "staging/stg_calls"} <= tables
    assert not any(table.startswith("ratings") for table in tables)
    assert {file.path.split("=")[1].split("/")[0] for file in done.manifest.files} == {"bp", "played"}
    (count,) = duckdb.sql(f"select count(*) from {read_parquet(tmp_path / 'out', 'raw.turns')}").fetchall()[0]
    assert (count,) in rows(workspace.database, "select count(*) from raw.turns where run_tag in ('bp', 'played')")


def test_a_pattern_may_mean_landed_tables_and_sql_models(small: Workspace, tmp_path: Path):
    done = export(small, "parquet", tmp_path / "out", select=["*.debates stg_debates"])
    tables = {file.path.rpartition("/run_tag=")[0] for file in done.manifest.files}
    assert tables == {"raw/debates", "marts/debates", "staging/stg_debates"}


@pytest.mark.parametrize("select", [["raw.nothing"], ["raw"], ["nothing"], ["tag:none"]])
def test_a_selection_of_nothing_is_refused(small: Workspace, tmp_path: Path, select: list[str]):
    with pytest.raises(UsageError, match="selects nothing"):
        export(small, "parquet", tmp_path / "out", select=select)


def test_only_parquet_takes_a_selection(small: Workspace, tmp_path: Path):
    for format_name in set(FORMATS) - {"parquet"}:
        with pytest.raises(UsageError, match="always complete"):
            export(small, format_name, tmp_path / "out", select=["marts.*"])


def test_run_tags_that_look_like_something_else_stay_text(copied: Workspace, tmp_path: Path):
    tags = ["2024", "1e5", "null", "2024-01-01", "a.b_c-D"]
    land(copied, *tags)
    out = export(copied, "parquet", tmp_path / "it's [out] {x} *", run_tags=tags, select=["games"]).folder
    found = duckdb.sql(
        "select distinct run_tag from read_parquet(?, hive_partitioning = true, hive_types = {'run_tag': varchar})",
        params=[[str(path).replace("[", "[[]").replace("*", "[*]") for path in out.glob("marts/games/*/data.parquet")]],
    ).fetchall()
    assert sorted(tag for (tag,) in found) == sorted(tags)


def test_a_table_about_all_runs_is_one_file_and_left_out_when_runs_are_chosen(copied: Workspace, tmp_path: Path):
    own_model(copied, "overall", "select sum(g.game_number * 10 ** 19::hugeint)::hugeint as big from marts.games as g")
    out = export(copied, "parquet", tmp_path / "all", select=["overall"]).folder
    assert duckdb.sql(f"select big from '{out}/marts/overall/data.parquet'").fetchall() == rows(
        copied.database, "select big from marts.overall"
    )
    done = export(copied, "parquet", tmp_path / "some", run_tags=["played"], select=["overall", "games"])
    assert [part.what for part in done.manifest.left_out] == ["marts.overall"]
    assert [file.path for file in done.manifest.files] == ["marts/games/run_tag=played/data.parquet"]


# --- DuckDB ---------------------------------------------------------------------------------------------------------


def test_a_duckdb_export_is_a_warehouse_of_the_chosen_runs(
    workspace: Workspace, exported: Callable[[str], Export], whole: Path, tmp_path: Path
):
    done = exported("duckdb")
    database = done.folder / "debatebench.duckdb"
    everything = "('raw', 'staging', 'intermediate', 'marts', 'ratings')"
    assert relations(database, everything) == relations(workspace.database, everything)
    copy = stored_copy(database, tmp_path / "copy.duckdb")
    with duckdb.connect() as con:
        con.execute(f"attach '{copy}' as copy (read_only); attach '{whole}' as whole (read_only)")
        for name in relations(database, everything):
            columns = {row[0] for row in con.execute(f"describe copy.{name}").fetchall()}
            if "run_tag" not in columns or "baseline" in columns:
                continue  # It pools or compares runs, so it is not the same for some of them.
            source = f"select * from whole.{name} where run_tag in ('original', 'played')"
            assert con.execute(f"from ({source}) except all from copy.{name}").fetchall() == []
            assert con.execute(f"from copy.{name} except all ({source})").fetchall() == []
        assert con.execute("select run_tag from copy.meta.landings order by 1").fetchall() == [
            ("original",),
            ("played",),
        ]
        assert con.execute("select distinct built_at from copy.meta.builds").fetchall() == [(NOON,)]
    (file,) = done.manifest.files
    assert isinstance(file.rows, dict)
    assert file.rows["raw.debates"] == rows(database, "select count(*) from raw.debates")[0][0]


def test_a_duckdb_export_can_be_opened_by_older_clients_and_built_on(
    workspace: Workspace, exported: Callable[[str], Export]
):
    database = exported("duckdb").folder / "debatebench.duckdb"
    ((tags,),) = rows(database, "select tags from duckdb_databases() where database_name = 'debatebench'")
    ((ours,),) = rows(workspace.database, "select tags from duckdb_databases() where database_name = 'debatebench'")
    assert tags["storage_version"] == ours["storage_version"]
    assert "v1.4.0" in tags["storage_version"]
    with closing(duckdb.connect(str(database), read_only=True)) as con:
        assert is_current(con, load_project(workspace.files("sql", "**/*")))


# --- the command ----------------------------------------------------------------------------------------------------


def test_the_command_writes_an_export_and_names_what_it_leaves_out(workspace: Workspace, tmp_path: Path):
    done = debatebench(workspace.root, "export", "--format", "jsonl", "--out-dir", str(tmp_path / "out"))
    assert done.code == 0, done.err
    assert done.out == f"Exported 4 runs as 2 files to {tmp_path / 'out'}\n"
    assert "of run 'bp'" in done.err
    assert "they have more than two sides" in done.err
    manifest = read_export_manifest(tmp_path / "out")
    assert manifest is not None
    assert [file.path for file in manifest.files] == ["debates_original.jsonl", "debates_played.jsonl"]


@pytest.mark.slow_inputs
@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["--format", "jsonl", "--run-tag", "no"], 2, "No run 'no' in the warehouse. Known: played."),
        (["--format", "dbt", "--select", "x"], 2, "an export as dbt is always complete"),
        (["--format", "parquet", "--select", "x"], 2, "'x' selects nothing"),
    ],
)
def test_the_command_refuses_in_one_line(
    small: Workspace, tmp_path: Path, arguments: list[str], code: int, message: str
):
    done = debatebench(small.root, "export", *arguments, "--out-dir", str(tmp_path / "out"))
    assert done.code == code
    assert message in done.error_line
    assert not (tmp_path / "out").exists()


def test_runs_may_be_named_more_than_once(workspace: Workspace, tmp_path: Path):
    done = debatebench(
        workspace.root,
        *("export", "--format", "parquet", "--out-dir", str(tmp_path / "out"), "--select", "runs"),
        *("--run-tag", "bp", "--run-tag", "flow"),
    )
    assert done.out.startswith("Exported 2 runs as 2 files")


def test_parquet_files_say_what_they_and_their_columns_mean(workspace: Workspace, tmp_path: Path):
    out = export(workspace, "parquet", tmp_path / "out", select=["marts.leaderboard"]).folder
    (file, *_) = sorted(out.rglob("*.parquet"))
    with duckdb.connect() as con:
        found = con.execute("select key, value from parquet_kv_metadata(?)", [str(file)]).fetchall()
    about = {key.decode(): value.decode() for key, value in found}
    comments = (
        "select column_name, comment from duckdb_columns() where schema_name || '.' || table_name = 'marts.leaderboard'"
    )
    assert json.loads(about["columns"]) == dict(rows(workspace.database, comments))
    assert (
        about["description"]
        == rows(
            workspace.database,
            "select comment from (from duckdb_views() select schema_name, view_name as name, comment union all "
            "from duckdb_tables() select schema_name, table_name, comment) "
            "where name = 'leaderboard' and schema_name = 'marts'",
        )[0][0]
    )


def test_a_duckdb_export_has_the_texts_of_the_warehouse(workspace: Workspace, exported: Callable[[str], Export]):
    texts = "select schema_name, table_name, column_name, comment from duckdb_columns() where not internal order by all"
    copy = rows(exported("duckdb").folder / "debatebench.duckdb", texts)
    assert copy == rows(workspace.database, texts)
    assert all(comment for *_, comment in copy)
