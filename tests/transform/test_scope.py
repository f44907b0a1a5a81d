"""Which SQL models need the rows of one family alone, and that the packaged ones are what their scope says."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import closing
from pathlib import Path

import duckdb
import pytest
from drawn_runs import drawn
from every_kind_of_run import runs
from probed_runs import probed_run
from report_warehouse import make_warehouse
from spark_rows import difference, place_of
from sql_project import STAGING, write_project

from debatebench.query.sql_project import load_project
from debatebench.shared.errors import SqlModelError
from debatebench.shared.records import Record
from debatebench.shared.workspace import packaged
from debatebench.transform.empty_warehouse import create, empty_warehouse
from debatebench.transform.project import Project
from debatebench.transform.scope import families, scopes

FILES = {
    **STAGING,
    "marts/sides.sql": "select * from (values ('pro'), ('con')) as sides (side)",
    "marts/wins.sql": "select run_tag, side, count(*) as wins from staging.stg_debates, marts.sides group by all",
    "marts/all_wins.sql": "select side, sum(wins) as wins from marts.wins group by side",
    "marts/ranks.sql": "select run_tag, rank() over (order by wins) as place from marts.wins",
    "marts/best.sql": "select run_tag from marts.ranks where place = 1",
    "marts/m.yml": """
        models:
          - {name: sides, description: Sides., columns: [{name: side, description: A side.}]}
          - {name: wins, description: Wins.}
          - {name: all_wins, description: Wins of all runs.}
          - {name: ranks, description: Runs by wins., config: {scope: whole}}
          - {name: best, description: The run with most wins.}
        """,
}
COLUMNS = {
    "staging.stg_debates": ["run_tag"],
    "marts.sides": ["side"],
    "marts.wins": ["run_tag", "side", "wins"],
    "marts.all_wins": ["side", "wins"],
    "marts.ranks": ["run_tag", "place"],
    "marts.best": ["run_tag"],
}


def test_a_scope_follows_from_what_is_read_and_from_the_column_of_the_part(tmp_path: Path):
    project = write_project(tmp_path, FILES)
    assert scopes(project.models, COLUMNS, "run_tag") == {
        "staging.stg_debates": "part",
        "marts.sides": "fixed",
        "marts.wins": "part",
        "marts.all_wins": "whole",
        "marts.ranks": "whole",
        "marts.best": "whole",
    }


@pytest.mark.parametrize(
    ("name", "why"),
    [("best", "it reads marts.ranks, whose scope is whole"), ("all_wins", "it has no column run_tag")],
)
def test_a_scope_that_cannot_be_is_refused_with_its_reason(tmp_path: Path, name: str, why: str):
    yml = FILES["marts/m.yml"].replace(f"name: {name}, ", f"name: {name}, config: {{scope: part}}, ")
    project = write_project(tmp_path, FILES | {"marts/m.yml": yml})
    with pytest.raises(SqlModelError, match=rf"m\.yml: marts\.{name} cannot have `scope: part`: {why}; leave"):
        scopes(project.models, COLUMNS, "run_tag")


def test_a_scope_of_another_name_is_refused(tmp_path: Path):
    yml = FILES["marts/m.yml"].replace("scope: whole", "scope: run")
    with pytest.raises(SqlModelError, match="scope"):
        _ = write_project(tmp_path, FILES | {"marts/m.yml": yml}).models


def test_families_are_parts_with_all_that_they_are_about():
    pairs = [("b", "a"), ("c", "b"), ("d", "a"), ("f", "gone")]
    assert families(["f", "e", "d", "c", "b", "a"], pairs) == [("a", "b", "c", "d"), ("e",), ("f",)]
    assert families([], []) == []


# --- the packaged SQL models ---


@pytest.fixture(scope="module")
def project() -> Project:
    folder = packaged("sql")
    return load_project({p.relative_to(folder).as_posix(): p for p in folder.rglob("*") if p.is_file()})


def _runs() -> Iterable[tuple[str, Iterable[Record]]]:
    """Runs of every kind; some share motions, debaters and judges, and some are about others."""
    wanted = {"evil", "evil-again", "flow", "flow-again", "t", "teams", "ties", "half", "second", "first"}
    yield from ((tag, records) for tag, records in runs() if tag in wanted)
    source = drawn("source", 2, 1)
    yield "source", source
    yield "probed", probed_run("probed", source, {"longer": "pro"})


def _alone(database: Path, project: Project, tags: Iterable[str]) -> duckdb.DuckDBPyConnection:
    """Every SQL model as a table over the landed rows of these runs."""
    con = duckdb.connect()
    con.execute(f"attach '{database}' as w (read_only)")
    empty_warehouse(con, project.domain, project.macros, project.models.values())
    for name in project.domain.tables:
        con.execute(f"insert into {name} by name from w.{name} where list_contains(?, run_tag)", [list(tags)])
    for model in project.models.values():
        create(con, model)
    return con


@pytest.mark.slow
def test_the_scope_of_every_sql_model_is_true(project: Project, tmp_path: Path):
    database = make_warehouse(tmp_path / "debatebench.duckdb", *_runs())
    with duckdb.connect(str(database), read_only=True) as con:
        about = con.execute("select run_tag, source_run_tag from raw.runs").fetchall()
    tags = [tag for tag, _ in about]
    wrong: dict[str, str] = {}
    with closing(_alone(database, project, tags)) as whole:
        columns = {name: [c for c, *_ in whole.execute(f"describe {name}").fetchall()] for name in project.models}
        found = scopes(project.models, columns, project.domain.part)
        cut = [families(tags, [pair for pair in about if pair[1]])[0], ("ties",), ("second",), ("probed", "source")]
        assert len(cut[0]) == 2
        for family in cut:
            with closing(_alone(database, project, family)) as alone:
                for name, scope in found.items():
                    if scope == "whole":
                        continue
                    where = "" if scope == "fixed" else f" where list_contains({list(family)}, run_tag)"
                    rows = sorted(whole.execute(f"from {name}{where}").fetchall(), key=place_of)
                    own = sorted(alone.execute(f"from {name}").fetchall(), key=place_of)
                    if other := difference(columns[name], rows, own):
                        wrong[name] = f"{family}: {other}"
    assert wrong == {}
