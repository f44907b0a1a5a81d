"""Texts in the file: any client of DuckDB finds what everything means, also in copies and exports."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import duckdb
import pytest
from built_warehouse import begin_built

from debatebench.shared.workspace import Workspace

# What DBeaver and readers of `information_schema` ask.
QUERIES = {
    "table": "select schema_name || '.' || table_name, comment from duckdb_tables() where not internal",
    "view": "select schema_name || '.' || view_name, comment from duckdb_views() where not internal",
    "column": "select schema_name || '.' || table_name || '.' || column_name, comment from duckdb_columns() "
    "where not internal",
    "standard table": "select table_schema || '.' || table_name, TABLE_COMMENT from information_schema.tables",
    "standard column": "select table_schema || '.' || table_name || '.' || column_name, COLUMN_COMMENT "
    "from information_schema.columns",
    "macro": "select schema_name || '.' || function_name, comment from duckdb_functions() where not internal",
    "schema": "select schema_name, description from main.schemas",
}
PLAIN = "import duckdb, json, sys; con = duckdb.connect(sys.argv[1], read_only=True); print(json.dumps({k: con.execute(q).fetchall() for k, q in json.loads(sys.argv[2]).items()}))"  # noqa: E501


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, str | None]]:
    """What a program without this package reads in the file, by query."""
    root = begin_built(tmp_path_factory.mktemp("built"))
    command = [sys.executable, "-I", "-c", PLAIN, str(Workspace(root).database), json.dumps(QUERIES)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return {kind: dict(rows) for kind, rows in json.loads(done.stdout).items()}


def test_nothing_in_the_file_is_without_a_text(found: dict[str, dict[str, str | None]]):
    assert len(found["column"]) > 4000
    assert all(len(rows) > 8 for rows in found.values())
    assert {(kind, name) for kind, rows in found.items() for name, text in rows.items() if not text} == set()


def test_every_way_to_ask_gives_the_same_text(found: dict[str, dict[str, str | None]]):
    assert found["standard table"] == found["table"] | found["view"]
    assert found["standard column"] == found["column"]


def test_every_schema_is_described(found: dict[str, dict[str, str | None]]):
    schemas = {name.partition(".")[0] for name in found["standard table"] | found["macro"]}
    assert schemas <= found["schema"].keys()
    assert [name for name, text in found["schema"].items() if "of the folder" in str(text)] == []


def test_no_text_only_repeats_the_name_and_each_is_a_sentence(found: dict[str, dict[str, str | None]]):
    texts = {name: str(text) for rows in found.values() for name, text in rows.items()}
    own = {name: {*re.split(r"[._]", name.rpartition(".")[2].lower()), "the", "a", "of", "its"} for name in texts}
    assert {name for name, text in texts.items() if set(re.findall(r"\w+", text.lower())) <= own[name]} == set()
    # A text may begin with a column or an argument: `win_rate - other_win_rate.`
    begins = re.compile(r"[A-ZÀ-Þ`'(\d]|\w+_\w+|x |p value |\w+ [/-] ")
    assert {name: text for name, text in texts.items() if text[-1] not in ".?" or not begins.match(text)} == {}


def test_an_enumeration_is_in_the_text_with_its_meanings(found: dict[str, dict[str, str | None]]):
    assert "Values: `leniency`: its mean score minus the other judges'" in str(found["column"]["marts.judge_bias.bias"])
    assert found["column"]["main.judge_bias.bias"] == found["column"]["marts.judge_bias.bias"]
    assert "`unsent`: the request never left" in str(found["column"]["raw.calls.status"])
    assert found["column"]["raw.calls.status"] == found["column"]["staging.stg_calls.status"]


def test_a_copy_that_is_attached_under_another_name_has_the_texts(
    tmp_path: Path, found: dict[str, dict[str, str | None]]
):
    database = Workspace(begin_built(tmp_path / "ws")).database
    with duckdb.connect() as con:
        con.execute(f"attach '{database}' as other (read_only)")
        for kind in ("table", "view", "column", "macro"):
            assert dict(con.execute(f"{QUERIES[kind]} and database_name = 'other'").fetchall()) == found[kind]
        assert dict(con.execute("select schema_name, description from other.schemas").fetchall()) == found["schema"]
