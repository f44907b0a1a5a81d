"""Seeds: a CSV file of `seeds/` is a table with the types of its YAML, and everything that a SQL model is."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from datetime import date
from pathlib import Path

import duckdb
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sql_project import STAGING, raw_database, read_project, write_project

from debatebench.output.docs.content import describe_relations
from debatebench.shared.errors import SqlModelError
from debatebench.shared.workspace import Workspace
from debatebench.transform.build import build
from debatebench.transform.create_seeds import create_seed
from debatebench.transform.graph import select_models
from debatebench.transform.lineage.column_lineage import column_lineage
from debatebench.transform.lineage.descriptions import Descriptions
from debatebench.transform.lineage.formats import lineage_mermaid
from debatebench.transform.testing.data_tests import run_data_tests
from debatebench.transform.testing.unit_tests import run_unit_tests

YAML = """
    seeds:
      - name: makers
        description: Who made which model.
        config: {column_types: {since: date}, tags: [people]}
        columns:
          - {name: model_id, description: The model., data_type: varchar, data_tests: [unique, not_null]}
          - {name: maker, description: Who made it.}
          - {name: since, description: The first day.}
          - {name: size, description: Parameters in billions., data_type: 'decimal(8,2)'}
    """
MART = """
    models:
      - name: made
        description: Debates with the maker of pro.
        config: {materialized: table}
        columns: [{name: maker, data_type: varchar}, {name: debate_id, data_type: varchar}]
    unit_tests:
      - name: the_maker_of_pro_is_there
        model: made
        given:
          - {input: staging.stg_debates, rows: [{debate_id: d, pro_model_id: m}]}
          - {input: seeds.makers, rows: [{model_id: m, maker: us}]}
        expect: {rows: [{debate_id: d, maker: us}]}
    """
SQL = "select d.debate_id, s.maker from staging.stg_debates as d join seeds.makers as s on s.model_id = d.pro_model_id"
CSV = "model_id,maker,since,size\na,Oak,2026-01-31,7.5\nb,Elm,,\n"
FILES = STAGING | {"seeds/makers.csv": CSV, "seeds/makers.yml": YAML, "marts/made.sql": SQL, "marts/made.yml": MART}


def built(con: duckdb.DuckDBPyConnection, folder: Path, changed: Mapping[str, str] | None = None) -> list[str]:
    """What a build makes, after these files were written byte for byte."""
    for path, text in (changed or {}).items():
        (folder / path).write_bytes(text.encode())
    return [model.name for model in build(con, read_project(folder)).built]


def refused(folder: Path, csv: str, message: str) -> None:
    write_project(folder, FILES)
    with raw_database() as con, pytest.raises(SqlModelError, match=message):
        built(con, folder, {"seeds/makers.csv": csv})


def test_a_seed_is_a_table_with_the_types_of_its_yaml(tmp_path: Path) -> None:
    write_project(tmp_path, FILES)
    with raw_database() as con:
        built(con, tmp_path)
        types = [row[:2] for row in con.execute("describe seeds.makers").fetchall()]
        assert types == [("model_id", "VARCHAR"), ("maker", "VARCHAR"), ("since", "DATE"), ("size", "DECIMAL(8,2)")]
        assert con.execute("select maker, since from seeds.makers order by all").fetchall() == [
            ("Elm", None),
            ("Oak", date(2026, 1, 31)),
        ]
        assert con.execute("select maker from marts.made order by debate_id").fetchall() == [
            ("Oak",),
            ("Elm",),
            ("Oak",),
        ]


def test_a_changed_seed_is_built_again_with_what_reads_it_and_nothing_else(tmp_path: Path) -> None:
    write_project(tmp_path, FILES)
    with raw_database() as con:
        assert built(con, tmp_path) == ["seeds.makers", "staging.stg_debates", "marts.made"]
        assert built(con, tmp_path) == []
        assert built(con, tmp_path, {"seeds/makers.csv": CSV.replace("Elm", "Fir")}) == ["seeds.makers", "marts.made"]
        assert built(con, tmp_path, {"seeds/makers.yml": YAML.replace("(8,2)", "(9,3)")}) == [
            "seeds.makers",
            "marts.made",
        ]
        assert built(con, tmp_path, {"seeds/makers.yml": YAML.replace("(8,2)", "(9,3)").replace("first", "1st")}) == []


def test_a_removed_seed_is_dropped(tmp_path: Path) -> None:
    write_project(tmp_path, FILES)
    with raw_database() as con:
        built(con, tmp_path)
        for path in ("seeds/makers.csv", "seeds/makers.yml", "marts/made.sql", "marts/made.yml"):
            (tmp_path / path).unlink()
        assert build(con, read_project(tmp_path)).dropped == ("marts.made", "seeds.makers")


def test_a_seed_has_data_tests_and_stands_in_for_unit_tests(tmp_path: Path) -> None:
    project = write_project(tmp_path, FILES)
    with raw_database() as con:
        built(con, tmp_path, {"seeds/makers.csv": f"{CSV}a,Yew,,\n"})
        results = {result.name: result.status for result in run_data_tests(con, project, ["makers"])}
    assert results["unique_seeds.makers_model_id"] == "fail"
    assert results["description_seeds.makers"] == "pass"
    assert [result.status for result in run_unit_tests(project)] == ["pass"]


def test_a_column_of_the_csv_without_a_text_is_reported(tmp_path: Path) -> None:
    project = write_project(tmp_path, FILES | {"seeds/makers.yml": YAML.replace("- {name: maker, description", "# {")})
    with raw_database() as con:
        build(con, project)
        (result,) = [each for each in run_data_tests(con, project, ["makers"]) if each.kind == "description"]
    assert result.status == "fail"
    assert "maker" in result.message


def test_lineage_ends_at_the_seed_and_its_text_is_inherited(tmp_path: Path) -> None:
    project = write_project(tmp_path, FILES)
    (node,) = column_lineage(project, "marts.made.maker").upstream
    assert (node.name, node.kind, node.line) == ("seeds.makers.maker", "seed", 1)
    assert (node.is_source, node.is_in_raw, node.is_constant) == (True, False, False)
    assert node.file == tmp_path / "seeds/makers.csv"
    assert Descriptions(project).text("marts.made", "maker") == "Who made it."
    assert '[("seeds.makers.maker")]' in lineage_mermaid(column_lineage(project, "marts.made.maker"))


def test_a_seed_is_selected_as_a_sql_model_is(tmp_path: Path) -> None:
    models = write_project(tmp_path, FILES).models
    for selector in ("makers+", "seeds.*+", "tag:people+", "path:sql/seeds+"):
        assert select_models(models, [selector]) == ["seeds.makers", "marts.made"]


def test_the_documentation_shows_the_first_lines_of_a_seed(tmp_path: Path) -> None:
    rows = "".join(f"m{number},Oak,,\n" for number in range(30))
    project = write_project(tmp_path, FILES | {"seeds/makers.csv": CSV + rows})
    entry = next(each for each in describe_relations(project, date(2026, 1, 1)) if each.key == "seeds.makers")
    assert ("seed", "plain") in entry.badges
    assert entry.sql.startswith("model_id,maker,since,size\na,Oak")
    assert entry.sql.endswith("… 13 more lines")
    assert [column.remark for column in entry.columns] == [""] * 4


def test_a_workspace_replaces_the_rows_of_a_seed_and_keeps_its_description(tmp_path: Path) -> None:
    base, own = tmp_path / "base", Workspace(tmp_path)
    write_project(base, FILES)
    (own.sql / "seeds").mkdir(parents=True)
    (own.sql / "seeds" / "makers.csv").write_text(CSV.replace("Oak", "Ash"))
    packaged = {path.relative_to(base).as_posix(): path for path in base.rglob("*") if path.is_file()}
    assert own.files("sql", "**/*")["seeds/makers.csv"] == own.sql / "seeds" / "makers.csv"
    files = packaged | {"seeds/makers.csv": own.sql / "seeds" / "makers.csv"}
    from debatebench.query.sql_project import load_project

    with raw_database() as con:
        build(con, load_project(files))
        assert con.execute("select maker from seeds.makers order by all").fetchall() == [("Ash",), ("Elm",)]


# --- what text may hold ---------------------------------------------------------------------------------------------

HOSTILE = "'; drop table marts.made; --\n=cmd|'/C calc'!A0,\"{{ ref('x') }}\" \u202e\x1b[31m <script> null"


def test_hostile_text_stays_text(tmp_path: Path) -> None:
    quoted = HOSTILE.replace('"', '""')
    write_project(tmp_path, FILES)
    with raw_database() as con:
        built(con, tmp_path, {"seeds/makers.csv": f'model_id,maker,since,size\r\na,"{quoted}",,\r\n'})
        assert con.execute("from seeds.makers").fetchall() == [("a", HOSTILE, None, None)]


@pytest.fixture(scope="module")
def con() -> Iterator[duckdb.DuckDBPyConnection]:
    """A database whose table `seeds.pairs` every example replaces."""
    with duckdb.connect() as connection:
        connection.execute("create schema seeds")
        yield connection


@given(rows=st.lists(st.tuples(st.text(min_size=1), st.text()), max_size=5))
def test_what_a_csv_writer_writes_is_what_the_table_holds(
    tmp_path_factory: pytest.TempPathFactory, con: duckdb.DuckDBPyConnection, rows: list[tuple[str, str]]
) -> None:
    import csv

    folder = tmp_path_factory.mktemp("seed")
    rows = [(a.replace("\0", ""), b.replace("\0", "")) for a, b in rows if a.replace("\0", "")]
    write_project(folder, {"seeds/pairs.yml": "seeds: [{name: pairs, description: Pairs.}]"})
    with open(folder / "seeds/pairs.csv", "w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows([("a", "b"), *rows])
    model = read_project(folder).models["seeds.pairs"]
    assert model.seed is not None
    create_seed(con, model, model.seed)
    assert con.execute("from seeds.pairs").fetchall() == [(a, b or None) for a, b in rows]


def test_a_byte_order_mark_blank_lines_and_another_delimiter_are_read(tmp_path: Path) -> None:
    other = YAML.replace("config: {", 'config: {delimiter: ";", ')
    write_project(tmp_path, FILES)
    with raw_database() as con:
        built(con, tmp_path, {"seeds/makers.csv": "\ufeff" + CSV.replace(",", ";") + "\n", "seeds/makers.yml": other})
        assert con.execute("select count(*) from seeds.makers").fetchall() == [(2,)]


def test_a_seed_may_have_no_rows(tmp_path: Path) -> None:
    write_project(tmp_path, FILES)
    with raw_database() as con:
        built(con, tmp_path, {"seeds/makers.csv": "model_id,maker,since,size\n"})
        assert con.execute("select count(*) from seeds.makers").fetchall() == [(0,)]


# --- what is refused ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("csv", "message"),
    [
        ("", r"makers\.csv:1: is empty"),
        ("a;b\n1;2\n", r"makers\.csv:1: 'a;b' is not the name of a column.*delimiter: \";\""),
        ("Model Id,x\n", r"makers\.csv:1: 'Model Id' is not the name of a column; use lower-case"),
        ("a,a\n", r"makers\.csv:1: the column 'a' is named twice"),
        (CSV + "\nc,d\n", r"makers\.csv:5: this row has 2 values, but the first line names 4 columns"),
        (CSV + "c,Oak, Ltd,,\n", r"makers\.csv:4: this row has 5 values.*put quotes around"),
        (CSV + 'c,"two\nlines",,\nd,e,f\n', r"makers\.csv:6: this row has 3 values"),
        (CSV + 'c,"open,,\n', r"makers\.csv:4: a quote is not closed"),
        (CSV + 'c,"a"b,,\n', r"makers\.csv:4: text follows a closing quote"),
        (CSV + "c,\0,,\n", r"makers\.csv:4: contains a NUL byte"),
        (CSV + "c,d,31.12.2026,\n", r"makers\.csv:4: '31\.12\.2026' in since is not a date.*makers\.yml"),
        (CSV + "c,d,,many\n", r"makers\.csv:4: 'many' in size is not a decimal"),
        ("model_id,maker,size\n", r"makers\.yml:2: makers describes the column 'since', which .*makers\.csv does not"),
    ],
)
def test_a_bad_csv_is_one_sentence_with_file_and_line(tmp_path: Path, csv: str, message: str) -> None:
    refused(tmp_path, csv, message)


def test_a_file_that_is_not_utf_8_or_too_large_is_refused(tmp_path: Path) -> None:
    write_project(tmp_path, FILES)
    for content, message in (
        (CSV.encode() + b"c,\xe9,,\n", r"makers\.csv:4: contains a byte that is not UTF-8"),
        (b"x" * (10 * 1024 * 1024 + 1), r"makers\.csv: is larger than 10 MiB"),
    ):
        (tmp_path / "seeds/makers.csv").write_bytes(content)
        with pytest.raises(SqlModelError, match=message):
            _ = read_project(tmp_path).models


@pytest.mark.parametrize(
    ("files", "message"),
    [
        (
            {"seeds/makers.yml": "seeds: []"},
            r"makers\.csv:1: seeds\.makers has no description; write `seeds: .*makers\.yml",
        ),
        ({"seeds/makers.yml": "models: [{name: makers, description: M.}]"}, r"describe it under `seeds`, not `models`"),
        ({"marts/makers.csv": CSV}, r"marts/makers\.csv: a CSV file is a seed; move it to sql/seeds/makers\.csv"),
        ({"seeds/other.sql": "select 1"}, r"seeds/other\.sql: sql/seeds holds CSV files"),
        ({"seeds/Makers 2.csv": CSV}, r"'Makers 2' is not a name"),
        ({"seeds/old/makers.csv": CSV}, r"makers\.csv: seeds\.makers is also defined in .*makers\.csv"),
        (
            {"seeds/more.yml": "seeds: [{name: oaks, description: O.}]"},
            r"seeds\.oaks is described, but there is no .*\.csv",
        ),
        (
            {"seeds/makers.yml": YAML.replace("column_types: {since", "column_types: {size: int, since")},
            r"'size' is decimal",
        ),
        ({"seeds/makers.yml": YAML.replace("config: {", "config: {materialized: view, ")}, r"always a whole table"),
        (
            {"seeds/makers.yml": YAML.replace("        columns:", "        versions: [{v: 1}]\n        columns:")},
            r"has no versions",
        ),
        ({"seeds/makers.yml": YAML.replace("{since: date}", "{since: 'date); drop table x; --'}")}, r"."),
    ],
)
def test_what_is_not_a_seed_is_refused(tmp_path: Path, files: dict[str, str], message: str) -> None:
    with raw_database() as con, pytest.raises(SqlModelError, match=message):
        build(con, write_project(tmp_path, FILES | files))


def test_a_broken_seed_stops_only_what_reads_it(tmp_path: Path) -> None:
    write_project(tmp_path, FILES | {"seeds/makers.csv": CSV + "c,d,never,\n"})
    with raw_database() as con:
        with pytest.raises(SqlModelError, match=re.escape("Not built because of it: marts.made.")):
            built(con, tmp_path)
        assert con.execute("select count(*) from staging.stg_debates").fetchall() == [(3,)]
