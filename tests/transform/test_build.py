"""Building: order, tables and views, what is built again, and what a failure leaves behind."""

from __future__ import annotations

import random
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from datetime import datetime
from pathlib import Path

import duckdb
import pytest
from paths import SUPPORT
from patience import LONGEST_WAIT_S
from sql_project import STAGING, add_debates, raw_database, read_project, write_project

from debatebench.shared.errors import SqlModelError, UsageError
from debatebench.transform import workers
from debatebench.transform.build import BuildResult, build
from debatebench.transform.build_state import is_current, read_builds
from debatebench.warehouse.publish import publishing

FILES = STAGING | {
    "marts/winners_v1.sql": "select run_tag, debate_id, winner from staging.stg_debates",
    "marts/winners_v2.sql": """
        -- One row per debate.
        select run_tag, debate_id, winner, pro_model_id, con_model_id, source_position
        from staging.stg_debates
        where winner is not null
        """,
    "marts/counts.sql": "select run_tag, winner, count(*) as debates from marts.winners group by all",
    "marts/other.sql": "select 1 as x",
    "ratings/elo.sql": """
        with players as (
            select run_tag, pro_model_id as model_id from marts.winners
            union
            select run_tag, con_model_id from marts.winners
        ),
        codes as (
            select run_tag, model_id, (dense_rank() over (partition by run_tag order by model_id))::integer as code
            from players
        ),
        rated as (
            select
                winners.run_tag,
                elo_ratings(
                    list(source_position), list(pro.code), list(con.code),
                    list(case winner when 'pro' then 1 when 'con' then 0 else 0.5 end), 400, 32
                ) as ratings
            from marts.winners as winners
            inner join codes as pro on pro.run_tag = winners.run_tag and pro.model_id = winners.pro_model_id
            inner join codes as con on con.run_tag = winners.run_tag and con.model_id = winners.con_model_id
            group by winners.run_tag
        )
        select codes.run_tag, model_id, ratings[code] as rating
        from codes
        inner join rated on rated.run_tag = codes.run_tag
        """,
    "marts/m.yml": """
        models:
          - name: winners
            description: Who won.
            latest_version: 2
            config: {materialized: table}
            versions: [{v: 1}, {v: 2}]
          - {name: counts, description: How many.}
          - {name: other, description: Unrelated., config: {materialized: table}}
        """,
    "ratings/r.yml": "models: [{name: elo, description: Ratings., config: {materialized: table}}]",
}
NOW = datetime(2026, 3, 1, 12)


@pytest.fixture
def con() -> Iterator[duckdb.DuckDBPyConnection]:
    connection = raw_database()
    yield connection
    connection.close()


def names(result: BuildResult) -> set[str]:
    """What a build built."""
    return {built.name for built in result.built}


def rows(con: duckdb.DuckDBPyConnection, sql: str) -> list[tuple[object, ...]]:
    return con.execute(sql).fetchall()


def test_a_build_makes_tables_views_and_the_unsuffixed_name(con: duckdb.DuckDBPyConnection, tmp_path: Path) -> None:
    build(con, write_project(tmp_path, FILES), now=NOW)
    assert rows(con, "select winner, debates from marts.counts order by 1") == [("con", 1), ("pro", 1), ("tie", 1)]
    kinds = rows(con, "select table_name, table_type from information_schema.tables where table_schema = 'marts'")
    assert dict(kinds) == {
        "winners": "VIEW",
        "winners_v1": "BASE TABLE",
        "winners_v2": "BASE TABLE",
        "counts": "VIEW",
        "other": "BASE TABLE",
    }


def test_ratings_come_out_of_the_python_function(con: duckdb.DuckDBPyConnection, tmp_path: Path) -> None:
    build(con, write_project(tmp_path, FILES))
    found = rows(con, "select model_id, round(rating, 6) from ratings.elo order by 1")
    # Worked by hand: a beats b (416 to 384), b ties a from behind, then c beats a.
    tie = 32 * (0.5 - 1 / (1 + 10 ** (32 / 400)))
    a, b = 416 - tie, 384 + tie
    lost = 32 / (1 + 10 ** ((400 - a) / 400))
    assert found == [("a", round(a - lost, 6)), ("b", round(b, 6)), ("c", round(400 + lost, 6))]


def test_meta_builds_tells_version_hash_rows_and_time(con: duckdb.DuckDBPyConnection, tmp_path: Path) -> None:
    project = write_project(tmp_path, FILES)
    build(con, project, now=NOW)
    found = rows(con, "select name, version, materialized, rows, built_at from meta.builds order by name")
    assert found == [
        ("marts.counts", None, "view", None, NOW),
        ("marts.other", None, "table", 1, NOW),
        ("marts.winners", None, "view", None, NOW),
        ("marts.winners_v1", 1, "table", 3, NOW),
        ("marts.winners_v2", 2, "table", 3, NOW),
        ("ratings.elo", None, "table", 3, NOW),
        ("staging.stg_debates", None, "view", None, NOW),
    ]
    hashes = dict(rows(con, "select name, sql_sha256 from meta.builds"))
    assert hashes == {name: model.query.sha256 for name, model in project.models.items()}
    assert all(seconds >= 0 for (seconds,) in rows(con, "select seconds from meta.builds"))


def test_nothing_is_built_when_nothing_changed(con: duckdb.DuckDBPyConnection, tmp_path: Path) -> None:
    assert not is_current(con, write_project(tmp_path, FILES))
    build(con, read_project(tmp_path), now=NOW)
    assert is_current(con, read_project(tmp_path))
    result = build(con, read_project(tmp_path))
    assert (result.built, len(result.unchanged)) == ((), 7)


def test_a_full_refresh_builds_everything(con: duckdb.DuckDBPyConnection, tmp_path: Path) -> None:
    build(con, write_project(tmp_path, FILES))
    assert len(build(con, read_project(tmp_path), full_refresh=True).built) == 7


def test_new_data_rebuilds_the_tables_that_depend_on_it_and_no_view(
    con: duckdb.DuckDBPyConnection, tmp_path: Path
) -> None:
    build(con, write_project(tmp_path, FILES), now=NOW)
    add_debates(con, "r2", [("d1", "a", "b", "con")])
    assert not is_current(con, read_project(tmp_path))
    result = build(con, read_project(tmp_path))
    assert names(result) == {"marts.winners_v1", "marts.winners_v2", "ratings.elo"}
    assert rows(con, "select sum(debates) from marts.counts") == [(4,)]
    assert is_current(con, read_project(tmp_path))


def test_landings_tell_of_data_that_changed_without_changing_its_size(
    con: duckdb.DuckDBPyConnection, tmp_path: Path
) -> None:
    con.execute("create schema meta")
    con.execute("create table meta.landings (run_tag varchar, landed_at timestamp, content_sha256 varchar)")
    con.execute("insert into meta.landings values ('r1', null, 'one')")
    build(con, write_project(tmp_path, FILES))
    con.execute("update raw.debates set recorded_winner = 'con'")
    con.execute("update meta.landings set content_sha256 = 'two'")
    assert "marts.winners_v1" in names(build(con, read_project(tmp_path)))
    assert rows(con, "select winner, debates from marts.counts") == [("con", 3)]
    con.execute("update meta.landings set landed_at = '2026-01-01'")
    assert is_current(con, read_project(tmp_path))


def test_changed_sql_rebuilds_it_and_everything_downstream(con: duckdb.DuckDBPyConnection, tmp_path: Path) -> None:
    build(con, write_project(tmp_path, FILES))
    changed = FILES["marts/winners_v2.sql"].replace("is not null", "= 'pro'")
    result = build(con, write_project(tmp_path, {"marts/winners_v2.sql": changed}))
    assert names(result) == {"marts.winners_v2", "marts.winners", "marts.counts", "ratings.elo"}
    assert rows(con, "select * from marts.counts") == [("r1", "pro", 1)]


def test_a_changed_comment_rebuilds_nothing(con: duckdb.DuckDBPyConnection, tmp_path: Path) -> None:
    build(con, write_project(tmp_path, FILES))
    result = build(con, write_project(tmp_path, {"marts/other.sql": "-- Why not.\nselect 1\n    as x"}))
    assert result.built == ()
    assert is_current(con, read_project(tmp_path))


def test_a_changed_description_rebuilds_nothing_and_a_changed_materialization_does(
    con: duckdb.DuckDBPyConnection, tmp_path: Path
) -> None:
    build(con, write_project(tmp_path, FILES))
    reworded = FILES["marts/m.yml"].replace("How many.", "How often.")
    assert build(con, write_project(tmp_path, {"marts/m.yml": reworded})).built == ()
    as_view = reworded.replace("Unrelated., config: {materialized: table}", "Unrelated.")
    assert names(build(con, write_project(tmp_path, {"marts/m.yml": as_view}))) == {"marts.other"}
    kind = "select table_type from information_schema.tables where table_name = 'other' and table_schema = 'marts'"
    assert rows(con, kind) == [("VIEW",)]
    assert names(build(con, write_project(tmp_path, {"marts/m.yml": reworded}))) == {"marts.other"}
    assert rows(con, kind) == [("BASE TABLE",)]


def test_moving_the_latest_version_moves_the_unsuffixed_name(con: duckdb.DuckDBPyConnection, tmp_path: Path) -> None:
    build(con, write_project(tmp_path, FILES | {"ratings/elo.sql": "select 1 as x"}))
    before = FILES["marts/m.yml"].replace("latest_version: 2", "latest_version: 1")
    result = build(con, write_project(tmp_path, {"marts/m.yml": before}))
    assert names(result) == {"marts.winners", "marts.counts"}
    assert len(con.execute("select * from marts.winners").description or []) == 3


def test_a_model_that_left_the_project_is_dropped(con: duckdb.DuckDBPyConnection, tmp_path: Path) -> None:
    build(con, write_project(tmp_path, FILES))
    (tmp_path / "ratings/elo.sql").unlink()
    (tmp_path / "ratings/r.yml").unlink()
    result = build(con, read_project(tmp_path))
    assert (result.dropped, result.built) == (("ratings.elo",), ())
    assert rows(con, "select count(*) from information_schema.tables where table_schema = 'ratings'") == [(0,)]
    assert "ratings.elo" not in read_builds(con)


def test_a_table_that_somebody_else_made_is_left_alone(con: duckdb.DuckDBPyConnection, tmp_path: Path) -> None:
    build(con, write_project(tmp_path, FILES))
    con.execute("create table marts.mine as select 1 as x")
    build(con, write_project(tmp_path, {"marts/other.sql": "select 2 as x"}))
    assert rows(con, "select x from marts.mine") == [(1,)]


def test_something_that_was_dropped_behind_our_back_is_built_again(
    con: duckdb.DuckDBPyConnection, tmp_path: Path
) -> None:
    build(con, write_project(tmp_path, FILES))
    con.execute("drop table marts.other")
    assert names(build(con, write_project(tmp_path, {"tests/new.sql": "select 1 where false"}))) == {"marts.other"}


@pytest.mark.parametrize(
    ("sql", "line", "message"),
    [
        ("-- Fine.\nselect *,\n    no_such_column\nfrom staging.stg_debates", 3, "no_such_column"),
        ("select cast('x' as integer) as n", 1, "Could not convert"),
        ("select error(winner || ' won') as n from staging.stg_debates", None, "pro won"),
    ],
)
def test_a_failing_model_is_named_with_file_and_reason(
    con: duckdb.DuckDBPyConnection, tmp_path: Path, sql: str, line: int | None, message: str
) -> None:
    build(con, write_project(tmp_path, FILES))
    where = "other.sql" + (f":{line}" if line else "")
    with pytest.raises(SqlModelError, match=rf"^SQL model marts\.other \(.*{where}\) failed: .*{message}") as caught:
        build(con, write_project(tmp_path, {"marts/other.sql": sql}))
    assert "\n" not in str(caught.value)
    assert rows(con, "select x from marts.other") == [(1,)]
    # The connection is usable, and a repaired project builds.
    assert "marts.other" in names(build(con, write_project(tmp_path, {"marts/other.sql": "select 3 as x"})))


def test_a_build_in_a_copy_is_all_or_nothing(tmp_path: Path) -> None:
    folder, database = tmp_path / "warehouse", tmp_path / "warehouse" / "file.duckdb"
    folder.mkdir()
    with closing(raw_database(str(database))) as con:
        build(con, write_project(tmp_path / "sql", FILES))
    before = database.read_bytes()
    broken = {"marts/other.sql": "select 2 as x", "ratings/elo.sql": "select error('no') as x"}
    with pytest.raises(SqlModelError, match="no"), publishing(database) as con:
        build(con, write_project(tmp_path / "sql", broken))
    assert database.read_bytes() == before
    assert [path.name for path in folder.iterdir() if path.suffix != ".lock"] == [database.name]


def test_the_next_build_goes_on_where_one_failed(con: duckdb.DuckDBPyConnection, tmp_path: Path) -> None:
    described = "{name: late, description: L}, {name: last, description: L, config: {materialized: table}}"
    files = FILES | {
        "marts/late.yml": f"models: [{described}]",
        "marts/late.sql": "select * from marts.last",
        "marts/last.sql": "select error('no') as x from staging.stg_debates",
    }
    with pytest.raises(SqlModelError, match=r"marts\.last"):
        build(con, write_project(tmp_path, files))
    assert not is_current(con, read_project(tmp_path))
    mended = build(con, write_project(tmp_path, {"marts/last.sql": "select 1 as x"}))
    assert {"marts.late", "marts.last"} <= names(mended)
    assert set(names(mended)) | set(mended.unchanged) == set(read_builds(con))
    assert is_current(con, read_project(tmp_path))
    assert rows(con, "select x from marts.late") == [(1,)]


def test_old_sql_after_a_failed_build_is_built_again(con: duckdb.DuckDBPyConnection, tmp_path: Path) -> None:
    """What stands was made by SQL that is gone, so that the old SQL was built once is no reason to leave it out."""
    build(con, write_project(tmp_path, FILES))
    broken = {"marts/other.sql": "select 2 as x", "ratings/elo.sql": "select error('no') as x"}
    with pytest.raises(SqlModelError, match="no"):
        build(con, write_project(tmp_path, broken))
    build(con, write_project(tmp_path, {name: FILES[name] for name in ("marts/other.sql", "ratings/elo.sql")}))
    assert rows(con, "select x from marts.other") == [(1,)]


@pytest.mark.parametrize("seed", range(3))
def test_every_model_is_built_after_all_that_it_reads(
    con: duckdb.DuckDBPyConnection, tmp_path: Path, seed: int
) -> None:
    """Forty tables and views, each one more than the sum of up to three of those before it."""
    rng = random.Random(seed)
    reads = {n: rng.sample(range(n), min(rng.randint(1, 3), n)) for n in range(40)}
    kinds = {n: rng.choice(["table", "view"]) if n else "table" for n in reads}
    described = (f"{{name: m{n}, description: M, config: {{materialized: {kinds[n]}}}}}" for n in reads)
    files = {
        f"marts/m{n}.sql": " + ".join(["select 1", *(f"(select x from marts.m{m})" for m in reads[n])]) for n in reads
    }
    files = {path: f"{sql} as x" for path, sql in files.items()} | {"marts/m.yml": f"models: [{', '.join(described)}]"}
    files |= STAGING | {"marts/m0.sql": "select count(*) as x from staging.stg_debates"}

    def expected(first: int) -> list[int]:
        values = [first]
        for n in range(1, len(reads)):
            values.append(1 + sum(values[m] for m in reads[n]))
        return values

    def found() -> list[int]:
        return [con.execute(f"select x from marts.m{n}").fetchall()[0][0] for n in reads]

    done = build(con, write_project(tmp_path, files))
    assert [row.name for row in done.built] == list(read_project(tmp_path).models)
    assert found() == expected(3)
    # Tables that read new data are made anew after each other, also through views, which stay as they are.
    add_debates(con, "r2", [("d1", "a", "b", "con")])
    assert {kinds[int(name.removeprefix("marts.m"))] for name in names(build(con, read_project(tmp_path)))} == {"table"}
    assert found() == expected(4)
    assert names(build(con, read_project(tmp_path), full_refresh=True)) == names(done)


def test_an_error_in_a_python_function_fails_the_model(con: duckdb.DuckDBPyConnection, tmp_path: Path) -> None:
    bad = "select elo_ratings([1, 1], [1, 2], [2, 1], [1.0, 1.0], 400, 32) as r"
    with pytest.raises(SqlModelError, match=r"ratings\.elo .*position twice"):
        build(con, write_project(tmp_path, FILES | {"ratings/elo.sql": bad}))


def contract(data_type: str, more: str = "") -> dict[str, str]:
    return {
        "marts/c.sql": "select run_tag, source_position from staging.stg_debates",
        "marts/c.yml": f"""
            models:
              - name: c
                description: With a contract.
                config: {{contract: {{enforced: true}}}}
                columns:
                  - {{name: run_tag, description: R, data_type: text}}
                  - {{name: source_position, description: S, data_type: {data_type}}}
                  {more}
            """,
    }


def test_a_kept_contract_builds_whatever_the_spelling_of_types(con: duckdb.DuckDBPyConnection, tmp_path: Path) -> None:
    build(con, write_project(tmp_path, FILES | contract("int8")))
    assert rows(con, "select count(*) from marts.c") == [(3,)]


@pytest.mark.parametrize(
    ("files", "message"),
    [
        (contract("integer"), "source_position is BIGINT instead of INTEGER"),
        (contract("bigint", "- {name: lost, description: L, data_type: text}"), "lost is missing"),
        (contract("bigint") | {"marts/c.sql": "select run_tag, 1::bigint as source_position, 2 as n from "
                               "staging.stg_debates"}, "n is not in the contract"),
        (contract("null"), "source_position has no data_type"),
        (contract("numbre"), "DuckDB does not know one of the data types"),
    ],
)  # fmt: skip
def test_a_broken_contract_fails_the_build(
    con: duckdb.DuckDBPyConnection, tmp_path: Path, files: dict[str, str], message: str
) -> None:
    with pytest.raises(SqlModelError, match=message):
        build(con, write_project(tmp_path, FILES | files))
    # What stands is not taken for good by the next build.
    with pytest.raises(SqlModelError, match=message):
        build(con, read_project(tmp_path))


def test_only_what_is_selected_is_built(con: duckdb.DuckDBPyConnection, tmp_path: Path) -> None:
    project = write_project(tmp_path, FILES)
    assert names(build(con, project, select=["+winners_v1"])) == {"staging.stg_debates", "marts.winners_v1"}
    assert not is_current(con, project)
    assert names(build(con, project)) == set(project.models) - {"staging.stg_debates", "marts.winners_v1"}
    assert is_current(con, project)


def test_a_selection_whose_inputs_are_not_there_is_refused(con: duckdb.DuckDBPyConnection, tmp_path: Path) -> None:
    with pytest.raises(SqlModelError, match=r"marts\.counts reads marts\.winners, which is not built; select '\+marts"):
        build(con, write_project(tmp_path, FILES), select=["counts"])
    with pytest.raises(UsageError, match="selects nothing"):
        build(con, read_project(tmp_path), select=["nothing"])


def test_a_selected_build_on_stale_inputs_is_made_good_by_the_next_whole_build(
    con: duckdb.DuckDBPyConnection, tmp_path: Path
) -> None:
    build(con, write_project(tmp_path, FILES))
    add_debates(con, "r2", [("d1", "a", "b", "con")])
    # winners_v2 is a table and keeps its old rows, so nothing that ratings read has changed yet.
    assert names(build(con, read_project(tmp_path), select=["ratings.*"])) == set()
    assert names(build(con, read_project(tmp_path), select=["ratings.*"], full_refresh=True)) == {"ratings.elo"}
    assert rows(con, "select count(*) from ratings.elo where run_tag = 'r2'") == [(0,)]
    assert names(build(con, read_project(tmp_path))) == {"marts.winners_v1", "marts.winners_v2", "ratings.elo"}
    assert rows(con, "select count(*) from ratings.elo where run_tag = 'r2'") == [(2,)]


def test_a_selected_table_over_an_unselected_view_sees_new_data(con: duckdb.DuckDBPyConnection, tmp_path: Path) -> None:
    build(con, write_project(tmp_path, FILES))
    add_debates(con, "r2", [("d1", "a", "b", "con")])
    assert names(build(con, read_project(tmp_path), select=["winners_v1"])) == {"marts.winners_v1"}
    assert names(build(con, read_project(tmp_path))) == {"marts.winners_v2", "ratings.elo"}


def test_reading_a_deprecated_version_warns_from_its_date_on(con: duckdb.DuckDBPyConnection, tmp_path: Path) -> None:
    files = FILES | {
        "marts/m.yml": FILES["marts/m.yml"].replace("{v: 1}", "{v: 1, deprecation_date: 2026-03-01}"),
        "marts/other.sql": "select * from marts.winners_v1",
    }
    project = write_project(tmp_path, files)
    assert build(con, project, full_refresh=True, now=datetime(2026, 2, 28)).warnings == ()
    assert build(con, project, full_refresh=True, now=NOW).warnings == (
        "marts.other reads marts.winners_v1, which has been deprecated since 2026-03-01.",
    )


def test_a_plain_connection_reads_every_model_after_reopening(tmp_path: Path) -> None:
    database = tmp_path / "w.duckdb"
    with raw_database(str(database)) as con:
        project = write_project(tmp_path / "sql", FILES)
        build(con, project)
    with duckdb.connect(str(database), read_only=True) as con:
        for name in project.models:
            assert rows(con, f"select count(*) > 0 from {name}") == [(True,)], name
        assert is_current(con, read_project(tmp_path / "sql"))


def run_python(code: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", code, *arguments], capture_output=True, text=True, timeout=LONGEST_WAIT_S
    )


def test_a_process_that_builds_ends_without_a_word_on_stderr(tmp_path: Path) -> None:
    write_project(tmp_path / "sql", FILES)
    code = (
        "import sys; sys.path.insert(0, sys.argv[1]); from pathlib import Path\n"
        "from sql_project import raw_database, read_project; from debatebench.transform.build import build\n"
        "con = raw_database(sys.argv[2]); print(len(build(con, read_project(Path(sys.argv[3]))).built)); con.close()"
    )
    done = run_python(code, str(SUPPORT), str(tmp_path / "w.duckdb"), str(tmp_path / "sql"))
    assert (done.returncode, done.stdout, done.stderr) == (0, "7\n", "")


def test_a_refused_statement_leaves_nothing_on_stderr() -> None:
    code = (
        "from pathlib import Path; from debatebench.shared.errors import SqlModelError\n"
        "from debatebench.transform.sql_model import parse_query\n"
        "try: parse_query('vacuum marts.x', Path('x.sql'))\n"
        "except SqlModelError as error: print(error)"
    )
    done = run_python(code)
    assert "not a query" in done.stdout
    assert done.stderr == ""


def test_importing_the_engine_and_finding_nothing_to_do_loads_nothing_heavy(tmp_path: Path) -> None:
    with raw_database(str(tmp_path / "w.duckdb")) as con:
        build(con, write_project(tmp_path / "sql", FILES))
    code = (
        "import sys; from pathlib import Path; from debatebench.transform.build import build\n"
        "from debatebench.query.sql_project import load_project\n"
        "heavy = {'numpy', 'sqlglot', 'pydantic', 'yaml', 'duckdb'}; print(sorted(heavy & set(sys.modules)))\n"
        "import duckdb; root = Path(sys.argv[1])\n"
        "files = {f.relative_to(root).as_posix(): f for f in root.rglob('*') if f.is_file()}\n"
        "with duckdb.connect(sys.argv[2]) as con: print(len(build(con, load_project(files)).unchanged))\n"
        "print(sorted((heavy - {'duckdb'}) & set(sys.modules)))"
    )
    done = run_python(code, str(tmp_path / "sql"), str(tmp_path / "w.duckdb"))
    assert (done.stdout, done.stderr) == ("[]\n7\n[]\n", "")


REBUILD = (
    "import sys; from pathlib import Path; import duckdb; from debatebench.transform.build import build\n"
    "from debatebench.transform.parse_cache import recall_parsed\n"
    "from debatebench.query.sql_project import load_project\n"
    "root = Path(sys.argv[1]); files = {f.relative_to(root).as_posix(): f for f in root.rglob('*') if f.is_file()}\n"
    "con = duckdb.connect(sys.argv[2]); recall_parsed(con)\n"
    "print(len(build(con, load_project(files), full_refresh=True).built), 'sqlglot' in sys.modules)\n"
    "print(con.execute('select count(*) from marts.counts').fetchall()[0][0]); con.close()"
)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("meddling", "parses"),
    [
        ("select 1", False),
        ("update meta.parsed set parser = 'of another version'", True),
        ("update meta.parsed set found = '[]'", True),
        ("alter table meta.parsed add column more varchar", True),
    ],
)
def test_texts_that_have_not_changed_are_not_parsed_again(tmp_path: Path, meddling: str, parses: bool) -> None:
    with raw_database(str(tmp_path / "w.duckdb")) as con:
        build(con, write_project(tmp_path / "sql", FILES))
        before = con.execute("select count(*) from marts.counts").fetchall()[0][0]
        con.execute(meddling)
    done = run_python(REBUILD, str(tmp_path / "sql"), str(tmp_path / "w.duckdb"))
    assert (done.stdout, done.stderr) == (f"7 {parses}\n{before}\n", "")


@pytest.mark.slow
def test_a_text_that_has_changed_is_parsed(tmp_path: Path) -> None:
    with raw_database(str(tmp_path / "w.duckdb")) as con:
        build(con, write_project(tmp_path / "sql", FILES))
    text = "select * from marts.winners where false"
    write_project(tmp_path / "sql", {"marts/counts.sql": text})
    done = run_python(REBUILD, str(tmp_path / "sql"), str(tmp_path / "w.duckdb"))
    assert (done.stdout, done.stderr) == ("7 True\n0\n", "")


# --- columns that a version lacks -------------------------------------------------------------------------------------

GONE = {
    "marts/winners_v3.sql": "select run_tag, debate_id, 1 as winner from staging.stg_debates",
    "marts/own.yml": "models: [{name: winners, latest_version: 3, versions: [{v: 3}]}]",
}


def refusal(con: duckdb.DuckDBPyConnection, folder: Path, files: dict[str, str]) -> str:
    with pytest.raises(SqlModelError) as caught:
        build(con, write_project(folder, files))
    return str(caught.value)


def test_a_column_that_vanished_from_the_latest_version_is_named_with_who_selects_it(
    con: duckdb.DuckDBPyConnection, tmp_path: Path
) -> None:
    build(con, write_project(tmp_path, FILES))
    message = refusal(con, tmp_path, GONE)
    assert message.startswith(
        f"SQL model ratings.elo ({tmp_path}/ratings/elo.sql:2) failed: Binder Error: Referenced column "
        '"pro_model_id" not found'
    ), "the database's words stand first"
    assert message.endswith(
        " It reads marts.winners, which lacks pro_model_id since version 3 (version 2 has it): to have "
        f"pro_model_id as before, fix {tmp_path}/marts/winners_v3.sql, set `latest_version: 2`, or change ratings.elo."
    )


@pytest.mark.parametrize("processors", [1, 4])
def test_a_column_that_every_version_has_is_never_said_to_be_missing(
    con: duckdb.DuckDBPyConnection, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, processors: int
) -> None:
    monkeypatch.setattr(workers, "_processors", lambda: processors)
    ambiguous = "select debate_id from marts.winners join staging.stg_debates using (run_tag)"
    message = refusal(con, tmp_path, FILES | {"marts/counts.sql": ambiguous})
    assert 'counts.sql:1) failed: Binder Error: Ambiguous reference to column name "debate_id"' in message
    assert "version" not in message


# One worker creates the longest chain first: ratings.elo fails before version 2 exists. With four, it may exist.
@pytest.mark.parametrize("processors", [1, 4])
def test_a_column_that_an_earlier_version_lacks_is_named_when_that_becomes_the_latest(
    con: duckdb.DuckDBPyConnection, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, processors: int
) -> None:
    monkeypatch.setattr(workers, "_processors", lambda: processors)
    own = {"marts/own.yml": "models: [{name: winners, latest_version: 1}]"}
    longer = {
        "ratings/top.sql": "select max(rating) as rating from ratings.elo",
        "ratings/top.yml": "models: [{name: top, description: The best., config: {materialized: table}}]",
    }
    message = refusal(con, tmp_path, FILES | own | longer)
    assert "It reads marts.winners, which lacks pro_model_id in version 1 (version 2 has it)" in message


@pytest.mark.parametrize(
    ("sql", "change"),
    [
        ("select run_tag, debate_id from staging.stg_debates", "lacks winner since version 3 (version 1 has it)"),
        (GONE["marts/winners_v3.sql"], "has winner as INTEGER since version 3 (VARCHAR in version 1)"),
    ],
)
def test_a_contract_that_another_version_breaks_names_the_version(
    con: duckdb.DuckDBPyConnection, tmp_path: Path, sql: str, change: str
) -> None:
    files = {name: text for name, text in FILES.items() if not name.startswith("ratings") and "counts" not in name}
    files |= GONE | {
        "marts/winners_v3.sql": sql,
        "marts/all_winners.sql": "select *\nfrom marts.winners",
        "marts/m.yml": """
            models:
              - name: winners
                description: Who won.
                latest_version: 2
                config: {materialized: table}
                versions: [{v: 1}, {v: 2}]
              - {name: other, description: Unrelated., config: {materialized: table}}
              - name: all_winners
                description: All.
                config: {contract: {enforced: true}}
                columns:
                  - {name: run_tag, data_type: varchar}
                  - {name: debate_id, data_type: varchar}
                  - {name: winner, data_type: varchar}
            """,
    }
    message = refusal(con, tmp_path, files)
    assert message.startswith("SQL model marts.all_winners breaks its contract in ")
    assert f". It reads marts.winners, which {change}: to have winner as before, fix " in message
    assert "`latest_version: 1`" in message, "version 2 has columns that the contract does not promise"


def test_a_version_that_would_not_help_is_not_advised(con: duckdb.DuckDBPyConnection, tmp_path: Path) -> None:
    """Version 2 has `pro_model_id`, but no version has `lost`; and with no version does `counts` keep its contract."""
    build(con, write_project(tmp_path, FILES))
    other = GONE | {"ratings/elo.sql": "select 1 as x"}
    message = refusal(con, tmp_path, other | {"marts/counts.sql": "select pro_model_id, lost from marts.winners"})
    assert 'Referenced column "pro_model_id" not found' in message
    assert "latest_version" not in message
    promised = "columns: [{name: winner, data_type: date}], config: {contract: {enforced: true}}"
    yml = FILES["marts/m.yml"].replace("description: How many.", f"description: How many., {promised}")
    message = refusal(con, tmp_path, {"marts/counts.sql": "select winner from marts.winners", "marts/m.yml": yml})
    assert "counts breaks its contract in" in message
    assert "winner is INTEGER instead of DATE" in message
    assert "latest_version" not in message
    assert rows(con, "select distinct typeof(winner) from marts.winners") == [("INTEGER",)], "a trial leaves nothing"


def test_a_column_that_no_version_has_is_duckdbs_own_error(con: duckdb.DuckDBPyConnection, tmp_path: Path) -> None:
    message = refusal(con, tmp_path, FILES | {"marts/counts.sql": "select lost from marts.winners"})
    assert "counts.sql:1) failed: Binder Error" in message
