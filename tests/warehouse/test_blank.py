"""A first build from the blank in the user's cache: the same warehouse as without one, and never a worse one."""

from __future__ import annotations

import re
import shutil
from contextlib import closing
from datetime import datetime
from pathlib import Path
from unittest import mock

import duckdb
import pytest
from sql_project import only_sql_models

from debatebench.landing.land import create_raw_tables
from debatebench.shared.workspace import Workspace
from debatebench.warehouse import blank
from debatebench.warehouse.blank import begin_from_blank, cache_folder
from debatebench.warehouse.update import update_warehouse

NOON = datetime(2026, 1, 1, 12)
CATALOGUE = """
    select 'relation', schema_name || '.' || table_name, '', comment from duckdb_tables() union all
    select 'view', schema_name || '.' || view_name, sql, comment from duckdb_views() where not internal union all
    select 'column', schema_name || '.' || table_name || '.' || column_name, data_type, comment
    from duckdb_columns() where not internal union all
    select 'macro', schema_name || '.' || function_name, macro_definition, comment
    from duckdb_functions() where not internal
    order by all
    """


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty cache of this test's own."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path / "cache" / "debatebench"


@pytest.fixture
def warmed(cache: Path) -> Path:
    """The blank of the other tests, copied to this test's own cache."""
    cache.mkdir(parents=True)
    found = blank._blank(Path.home() / ".cache" / "debatebench")
    assert found is not None
    return Path(shutil.copy(found, cache))


def built(played: Path, root: Path, sql: dict[str, str] | None = None) -> Path:
    """The warehouse file of a first build from the journal of `played`, in a workspace with these files in `sql/`."""
    workspace = Workspace(root)
    shutil.copytree(Workspace(played).warehouse / "journal", workspace.warehouse / "journal")
    for name, text in (sql or {}).items():
        (root / "sql" / name).parent.mkdir(parents=True, exist_ok=True)
        (root / "sql" / name).write_text(text)
    update = update_warehouse(workspace, None, now=lambda: NOON, from_scratch=True)
    assert update.build is not None
    assert (update.build.unchanged, update.build.is_complete) == ((), True)
    assert {each.built_at for each in update.build.built} == {NOON}
    return workspace.database


def refreshed(workspace: Workspace) -> tuple[int, int]:
    """How many SQL models a full refresh builds and leaves."""
    update = update_warehouse(workspace, [], now=lambda: NOON, full_refresh=True)
    assert update.build is not None
    assert update.build.is_complete
    return len(update.build.built), len(update.build.unchanged)


def _in_order(text: str | None) -> str | None:
    """DuckDB writes the columns of EXCLUDE in another order each time."""
    return text and re.sub(r"EXCLUDE \(([^)]*)\)", lambda found: f"EXCLUDE {sorted(found[1].split(', '))}", text)


def content(database: Path) -> tuple[list[tuple[object, ...]], dict[str, list[tuple[object, ...]]]]:
    """The catalogue with all comments, and the rows of every table, apart from the seconds that something took."""
    with closing(duckdb.connect(str(database), read_only=True)) as con:
        catalogue = [tuple(map(_in_order, row)) for row in con.execute(CATALOGUE).fetchall()]
        tables = con.execute("select schema_name || '.' || table_name from duckdb_tables()").fetchall()
        rows = {name: con.execute(f"select * from {name} order by all").fetchall() for (name,) in tables}
    builds = rows["meta.builds"]
    rows["meta.builds"] = [(*row[:7], *row[8:]) for row in builds]
    return catalogue, rows


@pytest.mark.slow
def test_a_first_build_from_the_blank_makes_the_same_warehouse(
    played: Path, tmp_path: Path, cache: Path, monkeypatch: pytest.MonkeyPatch
):
    with monkeypatch.context() as without:
        without.setattr(blank, "_blank", lambda folder: None)
        directly = content(built(played, tmp_path / "directly"))
    made = content(built(played, tmp_path / "made"))
    (kept,) = cache.iterdir()
    assert kept.stat().st_mode & 0o777 == 0o600
    again = content(built(played, tmp_path / "again"))
    assert made == directly
    assert again == directly
    # Nothing of a workspace is in it.
    with closing(duckdb.connect(str(kept), read_only=True)) as con:
        assert con.execute("select * from duckdb_schemas() where schema_name = 'raw'").fetchall() == []
        assert con.execute("select count(built_at), count(landed) from meta.builds").fetchall() == [(0, 0)]


@pytest.mark.slow
def test_a_full_refresh_makes_what_a_first_build_from_the_blank_makes(played: Path, tmp_path: Path, warmed: Path):
    first = built(played, tmp_path / "first")
    expected = content(first)
    with closing(duckdb.connect(str(first))) as con:
        con.execute("create or replace view staging.stg_debates as select 1 as wrong; delete from marts.games")
    workspace = Workspace(tmp_path / "first")

    with mock.patch.object(blank, "begin_from_blank", wraps=begin_from_blank) as beginning:
        refreshed(workspace)
    assert beginning.called
    assert content(first) == expected


@pytest.mark.slow
def test_a_full_refresh_leaves_what_is_someone_elses_and_builds_all_around_it(
    played: Path, tmp_path: Path, cache: Path
):
    with only_sql_models("marts.games"):
        first = built(played, tmp_path / "first")
        done = refreshed(Workspace(tmp_path / "first"))
        with closing(duckdb.connect(str(first))) as con:
            con.execute("create table marts.mine as select 5 as x; create macro main.theirs() as 7")
        assert refreshed(Workspace(tmp_path / "first")) == done
    with closing(duckdb.connect(str(first), read_only=True)) as con:
        assert con.execute("select x + main.theirs() from marts.mine").fetchall() == [(12,)]


@pytest.mark.slow
def test_a_workspace_with_its_own_sql_models_begins_from_the_blank_too(played: Path, tmp_path: Path, cache: Path):
    sql = {
        "marts/close_debates.sql": "-- One row per debate.\nselect run_tag, debate_id from staging.stg_debates",
        "marts/close_debates.yml": "models: [{name: close_debates, description: Debates.}]",
        "staging/stg_topics.sql": "-- One row per topic.\nselect *, 'mine' as mine from raw.topics",
    }
    with only_sql_models("marts.leaderboard"), mock.patch.object(blank, "_made", wraps=blank._made) as making:
        database = built(played, tmp_path / "own", sql)
    assert making.called
    with closing(duckdb.connect(str(database), read_only=True)) as con:
        assert con.execute("select count(*) from marts.close_debates").fetchall() == [(30,)]
        assert con.execute("select distinct mine from staging.stg_topics").fetchall() == [("mine",)]
        assert con.execute("select count(*) from marts.leaderboard").fetchall() == [(6,)]
        comments = "select comment from duckdb_views() where view_name = 'close_debates' and schema_name = 'marts'"
        assert con.execute(comments).fetchall() == [("Debates. One row per debate.",)]


def begun(con: duckdb.DuckDBPyConnection) -> bool:
    """Whether a database in memory has the SQL models after `begin_from_blank`."""
    create_raw_tables(con)
    begin_from_blank(con)
    return bool(con.execute("select 1 from duckdb_views() where view_name = 'stg_debates'").fetchall())


def test_a_damaged_blank_is_removed_and_never_read(warmed: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(blank, "_made", lambda folder, key: None)
    with duckdb.connect() as con:
        assert begun(con)
    content = bytearray(warmed.read_bytes())
    content[len(content) // 2] ^= 1
    warmed.write_bytes(content)
    with duckdb.connect() as con:
        assert not begun(con)
    assert not warmed.exists()


def test_a_blank_that_others_may_write_is_not_read(warmed: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(blank, "_made", lambda folder, key: None)
    warmed.parent.chmod(0o777)
    with duckdb.connect() as con:
        assert not begun(con)
    assert warmed.exists()


def test_a_blank_of_another_version_is_not_read(warmed: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(blank, "_made", lambda folder, key: None)
    monkeypatch.setattr(blank, "version", lambda package: "0.0")
    with duckdb.connect() as con:
        assert not begun(con)


def test_a_cache_that_cannot_be_made_is_done_without(cache: Path):
    cache.parent.write_text("a file is in the way")
    with duckdb.connect() as con:
        assert not begun(con)


def test_a_database_with_relations_of_its_own_is_left_alone(warmed: Path):
    with duckdb.connect() as con:
        con.execute("create view main.debates as select 1 as x")
        assert not begun(con)


def test_old_blanks_are_removed_when_one_is_made(cache: Path, monkeypatch: pytest.MonkeyPatch):
    cache.mkdir(parents=True)
    for number in range(9):
        (cache / f"{number}-{number}.duckdb").write_bytes(b"old")
    monkeypatch.setattr(blank, "_fill", lambda con: con.execute("create table t as select 1 as x"))
    made = blank._made(cache, "key")
    assert len(list(cache.iterdir())) == blank._KEPT
    assert made.exists()


def test_the_cache_is_where_the_user_says():
    assert cache_folder({"XDG_CACHE_HOME": "/x"}) == Path("/x/debatebench")
    assert cache_folder({}) == cache_folder({"XDG_CACHE_HOME": "relative"}) == Path.home() / ".cache" / "debatebench"
