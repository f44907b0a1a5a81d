"""The dbt project: only names change in the SQL, every test has its counterpart, and the YAML says what ours says.

Whether real dbt builds it to equal results is tested by `make test-dbt`.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import duckdb
import jinja2
import pytest
import yaml
from built_warehouse import packaged_project
from exported import make_workspace
from hypothesis import given
from hypothesis import strategies as st
from sql_project import write_project

from debatebench.output.export import export
from debatebench.output.export.dbt_names import dbt_names
from debatebench.output.export.dbt_project import _csv_text, _model_files, _project_file
from debatebench.output.export.dbt_properties import properties_files, sources_file
from debatebench.output.export.dbt_sql import dbt_sql, without_jinja
from debatebench.output.export.dbt_tests import data_tests
from debatebench.shared.records import TABLES
from debatebench.transform.expansion import expand
from debatebench.transform.lineage.descriptions import Descriptions
from debatebench.transform.project import Project
from debatebench.transform.testing.generic_tests import parse_generic_test

pytestmark = pytest.mark.slow

PROJECT = packaged_project()
NAMES = dbt_names(PROJECT.models, PROJECT.macros)

SMALL = {
    "staging/stg_turns.sql": "select run_tag, debate_id, content from raw.turns",
    "staging/stg_turns.yml": "models: [{name: stg_turns, description: Turns.}]",
    "marts/speech_v1.sql": "select run_tag from staging.stg_turns",
    "marts/speech_v2.sql": "select run_tag, debate_id from staging.stg_turns",
    "marts/speech_v3.sql": "select run_tag, debate_id, content from staging.stg_turns",
    "marts/speech.yml": """
        models:
          - name: speech
            description: 'Speeches, {{ as }} they are.'
            latest_version: 2
            config: {tags: [text], contract: {enforced: true}, meta: {owner: us}}
            meta: {seen: true}
            start_here: true
            questions: [{question: "Who spoke?", sql: "select {'a': {'b': run_tag}} as x from marts.speech"}]
            columns:
              - {name: run_tag, description: Run., data_type: varchar, data_tests: [not_null], meta: {a: 1}}
              - {name: debate_id, description: Debate., data_type: varchar}
            versions:
              - v: 1
                deprecation_date: 2030-01-02
                columns: [{include: all, exclude: [debate_id]}]
              - {v: 2, description: The second.}
              - v: 3
                prerelease: true
                config: {materialized: table}
                data_tests: [{row_count: {min: 1}}]
                columns:
                  - {include: all}
                  - {name: content, description: Text., data_type: varchar}
        unit_tests:
          - name: every_turn_is_a_speech
            model: speech
            given:
              - input: staging.stg_turns
                rows: [{run_tag: r}, {debate_id: d}]
            expect: {rows: [{run_tag: r}, {debate_id: d}]}
        """,
    "staging/speech.sql": "select run_tag from raw.turns",
    "staging/_more.yml": "models: [{name: speech, description: Has the name of a mart.}]",
    "marts/reader.sql": """
        select speech.run_tag, marts.speech.debate_id, old.run_tag
        from marts.speech
        inner join marts.speech_v1 as old on old.run_tag = marts.speech.run_tag
        """,
    "marts/reader.yml": "models: [{name: reader, description: Reads versions.}]",
}


@pytest.fixture
def small(tmp_path: Path) -> Project:
    return write_project(tmp_path, SMALL)


def as_dbt_renders(text: str) -> str:
    """The text with every `ref` and `source` replaced by the dotted name that it stands for."""
    dotted = {call: name for name, call in NAMES.calls.items()}

    def ref(name: str, v: int | None = None) -> str:
        return dotted[f"ref('{name}')" if v is None else f"ref('{name}', v={v})"]

    environment = jinja2.Environment(undefined=jinja2.StrictUndefined, keep_trailing_newline=True, autoescape=True)
    environment.globals |= {"ref": ref, "source": lambda schema, name: f"{schema}.{name}"}
    environment.autoescape = False
    return environment.from_string(text).render()


# --- SQL ------------------------------------------------------------------------------------------------------------


def test_only_names_and_macros_change_in_the_text_of_every_model_and_test():
    queries = {name: model.query.sql for name, model in PROJECT.models.items() if name in NAMES.models}
    queries |= {test.name: test.query.sql for test in PROJECT.singular_tests}
    assert len(queries) > 50
    for name, sql in queries.items():
        text = dbt_sql(sql, NAMES)
        # A table of constants reads nothing.
        reads = name not in PROJECT.models or PROJECT.models[name].dependencies
        assert bool(text.count("{{ ref(") + text.count("{{ source(")) == bool(reads), name
        # A table whose name qualifies columns keeps that name as its alias, whatever dbt calls the relation.
        assert (
            re.sub(r"\b((?:from|join) \w+\.(\w+)) as \2\b", r"\1", as_dbt_renders(text))
            == expand(sql, PROJECT.macros) + "\n"
        ), name


def test_comments_and_layout_stay():
    sql = (
        "-- See marts.games.\nwith a as (\n    select *  /* marts.runs */\n    from marts.debates\n)\n\nselect * from a"
    )
    assert dbt_sql(sql, NAMES) == sql.replace("from marts.debates", "from {{ ref('debates') }}") + "\n"


def test_names_may_be_quoted_spaced_and_written_in_capitals():
    assert dbt_sql('select * from "marts" . "debates" as d, RAW.Turns', NAMES) == (
        "select * from {{ ref('debates') }} as d, {{ source('raw', 'turns') }}\n"
    )


def test_a_name_that_qualifies_columns_stays_as_alias():
    assert dbt_sql("select debates.run_tag from marts.debates", NAMES) == (
        "select debates.run_tag from {{ ref('debates') }} as debates\n"
    )
    assert dbt_sql("select marts.debates.run_tag from marts.debates", NAMES) == (
        "select debates.run_tag from {{ ref('debates') }} as debates\n"
    )
    assert dbt_sql(
        "select * from marts.runs where exists (select 1 from marts.debates where debates.run_tag = 'a')", NAMES
    ) == (
        "select * from {{ ref('runs') }} where exists "
        "(select 1 from {{ ref('debates') }} as debates where debates.run_tag = 'a')\n"
    )
    # A CTE of the same name is somebody else.
    assert dbt_sql("with debates as (select * from marts.debates) select debates.run_tag from debates", NAMES) == (
        "with debates as (select * from {{ ref('debates') }}) select debates.run_tag from debates\n"
    )


def test_versions_have_one_name_and_a_number():
    assert dbt_sql("select * from marts.panel_winners", NAMES) == "select * from {{ ref('panel_winners') }}\n"
    assert dbt_sql("select * from marts.panel_winners_v1", NAMES) == "select * from {{ ref('panel_winners', v=1) }}\n"


def test_ratings_are_sources():
    assert dbt_sql("select * from ratings.elo", NAMES) == "select * from {{ source('ratings', 'elo') }}\n"
    assert not any(name.startswith("ratings.") for name in NAMES.models)
    assert {"ratings.elo", "ratings.elo_history"} <= NAMES.tables


@given(st.text(st.sampled_from("{}%#-'\"a \n"), max_size=30))
def test_text_that_looks_like_a_template_comes_out_as_it_is(text: str):
    rendered = jinja2.Environment(keep_trailing_newline=True).from_string(without_jinja(text)).render()
    assert rendered == text


def test_templates_in_literals_and_comments_are_only_text():
    sql = (
        "select '{{ ref(1) }}' as a, '{% raw %}' as b, {'x': {'y': 1}} as c -- {# not a comment #}\nfrom marts.debates"
    )
    assert as_dbt_renders(dbt_sql(sql, NAMES)) == sql + "\n"


# --- YAML -----------------------------------------------------------------------------------------------------------


def entries(project: Project) -> dict[str, dict[str, Any]]:
    """Model name → entry, of all properties files."""
    texts = properties_files(project, dbt_names(project.models, project.macros))
    return {entry["name"]: entry for text in texts.values() for entry in yaml.safe_load(text).get("models", [])}


def test_every_model_has_its_description_columns_and_tests():
    found, texts = entries(PROJECT), Descriptions(PROJECT)
    for name, model in PROJECT.models.items():
        if name in NAMES.tables or model.version is not None or not model.properties.columns:
            continue
        entry = found[NAMES.models[name]]
        assert [column["name"] for column in entry["columns"]] == [c.name for c in model.properties.columns]
        assert [column.get("data_type") for column in entry["columns"]] == [
            c.data_type for c in model.properties.columns
        ]
        assert len(entry.get("data_tests", [])) == len(model.properties.data_tests), name
        for column, ours in zip(entry["columns"], model.properties.columns, strict=True):
            assert len(column.get("data_tests", [])) == len(ours.data_tests), (name, ours.name)
            assert column["description"].replace("{{ '{{' }}", "{{") == texts.text(name, ours.name) != ""


def test_every_unit_test_of_a_model_that_dbt_builds_is_there():
    texts = properties_files(PROJECT, NAMES)
    found = [entry["name"] for text in texts.values() for entry in yaml.safe_load(text).get("unit_tests", [])]
    assert sorted(found) == sorted(u.test.name for u in PROJECT.unit_tests if u.tested not in NAMES.tables)
    assert len(found) > 30


def test_versions_are_dbts_own(small: Project):
    speech = entries(small)["marts_speech"]
    assert speech["latest_version"] == 2
    assert speech["config"] == {
        "contract": {"enforced": True},
        "tags": ["text"],
        "meta": {
            "start_here": True,
            "questions": [{"question": "Who spoke?", "sql": "select {'a': {'b': run_tag}} as x from marts.speech"}],
            "seen": True,
            "owner": "us",
        },
    }
    first, second, third = speech["versions"]
    assert first["columns"] == [{"include": "all", "exclude": ["debate_id"]}]
    assert str(first["deprecation_date"]) == "2030-01-02"
    assert second == {"v": 2, "description": "The second.", "config": {"alias": "speech_v2"}}
    assert third["config"] == {"materialized": "table", "alias": "speech_v3", "meta": {"prerelease": True}}
    assert third["columns"][1]["name"] == "content"
    assert third["data_tests"] == [{"row_count": {"arguments": {"min": 1}}}]
    assert speech["columns"][0]["config"] == {"meta": {"a": 1}}
    assert speech["description"] == "Speeches, {{ '{{' }} as }} they are."


def test_inherited_texts_are_written_out_and_a_version_with_another_one_lists_its_columns(tmp_path: Path):
    project = write_project(
        tmp_path,
        {
            "columns.yml": "columns: [{name: run_tag, description: The run.}]",
            "staging/s.sql": "select run_tag, pro_model_id as pro, con_model_id as con from raw.debates",
            "staging/s.yml": """
                models:
                  - name: s
                    description: S.
                    columns: [{name: pro, description: Pro's.}, {name: con, description: Con's.}]
                """,
            "marts/w_v1.sql": "select run_tag, pro as who from staging.s",
            "marts/w_v2.sql": "select run_tag, con as who from staging.s",
            "marts/w_v3.sql": "select run_tag, con as who from staging.s",
            "marts/w.yml": """
                models:
                  - name: w
                    description: W.
                    latest_version: 2
                    columns: [{name: run_tag}, {name: who, data_type: varchar}]
                    versions: [{v: 1}, {v: 2}, {v: 3, columns: [{include: all}, {name: who, description: Mine.}]}]
                """,
        },
    )
    found = entries(project)
    tag = {"name": "run_tag", "description": "The run."}
    shared = [tag, {"name": "who", "description": "Con's.", "data_type": "varchar"}]
    assert found["w"]["columns"] == found["w_latest"]["columns"] == shared
    first, second, third = found["w"]["versions"]
    who = {"name": "who", "description": "Pro's.", "data_type": "varchar"}
    assert first == {"v": 1, "columns": [{"include": []}, tag, who]}
    assert second == {"v": 2}
    assert third["columns"] == [{"include": "all"}, {"name": "who", "description": "Mine."}]
    (raw, *_) = yaml.safe_load(sources_file(project, dbt_names(project.models, project.macros)))["sources"]
    debates = next(table for table in raw["tables"] if table["name"] == "debates")
    assert debates["columns"][0] == tag | {"data_type": "varchar"}


def test_one_name_in_two_schemas_becomes_two_names_with_aliases(small: Project):
    names = dbt_names(small.models, small.macros)
    assert names.calls["marts.speech"] == "ref('marts_speech')"
    assert names.calls["marts.speech_v1"] == "ref('marts_speech', v=1)"
    assert names.calls["staging.speech"] == "ref('staging_speech')"
    files = _model_files(small, names)
    assert {"staging/staging_speech.sql", "marts/marts_speech_v1.sql", "marts/marts_speech_latest.sql"} <= files.keys()
    found = entries(small)
    assert found["staging_speech"]["config"] == {"alias": "speech"}
    assert found["marts_speech_latest"]["config"]["alias"] == "speech"
    assert files["marts/marts_speech_latest.sql"].endswith("select * from {{ ref('marts_speech', v=2) }}\n")
    assert files["marts/reader.sql"].splitlines()[:2] == [
        "select speech.run_tag, speech.debate_id, old.run_tag",
        "from {{ ref('marts_speech') }} as speech",
    ]


def test_subfolders_stay_and_the_first_folder_is_the_schema(tmp_path: Path):
    project = write_project(
        tmp_path,
        {
            "staging/stg_turns.sql": SMALL["staging/stg_turns.sql"],
            "staging/stg_turns.yml": SMALL["staging/stg_turns.yml"],
            "marts/speeches/talk_v1.sql": "select run_tag from staging.stg_turns",
            "marts/speeches/talk.yml": "models: [{name: talk, description: Talks., versions: [{v: 1}]}]",
        },
    )
    names = dbt_names(project.models, project.macros)
    assert set(_model_files(project, names)) == {
        "staging/stg_turns.sql",
        "marts/speeches/talk_v1.sql",
        "marts/speeches/talk_latest.sql",
    }
    assert set(properties_files(project, names)) == {
        "models/staging/stg_turns.yml",
        "models/marts/speeches/talk.yml",
    }
    assert yaml.safe_load(_project_file(project, names))["models"]["debatebench"]["marts"] == {"+schema": "marts"}


def test_a_csv_file_is_a_seed_with_all_its_types(tmp_path: Path):
    project = write_project(
        tmp_path,
        {
            "seeds/more/makers.csv": 'model_id,maker\na,"Oak, ""Elm"""\nb,\n',
            "seeds/more/makers.yml": """
                seeds:
                  - name: makers
                    description: Makers.
                    columns: [{name: model_id, description: '{{ it }}', data_tests: [unique]}]
                """,
            "marts/makers.sql": "select * from seeds.makers",
            "marts/makers.yml": "models: [{name: makers, description: Has the name of a seed.}]",
        },
    )
    names = dbt_names(project.models, project.macros)
    assert _model_files(project, names) == {"marts/marts_makers.sql": "select * from {{ ref('seeds_makers') }}\n"}
    assert _csv_text(project.models["seeds.makers"].seed) == 'model_id,maker\na,"Oak, ""Elm"""\nb,\n'
    assert yaml.safe_load(_project_file(project, names))["seeds"]["debatebench"]["+schema"] == "seeds"
    (entry,) = yaml.safe_load(properties_files(project, names)["seeds/more/makers.yml"])["seeds"]
    assert entry == {
        "name": "seeds_makers",
        "description": "Makers.",
        "config": {"alias": "makers", "column_types": {"model_id": "varchar", "maker": "varchar"}},
        "columns": [
            {"name": "model_id", "description": "{{ '{{' }} it }}", "data_type": "varchar", "data_tests": ["unique"]},
            {"name": "maker", "data_type": "varchar"},
        ],
    }


def test_unit_tests_name_their_version_and_all_inputs_with_complete_rows(small: Project):
    text = properties_files(small, dbt_names(small.models, small.macros))["models/marts/speech.yml"]
    (unit,) = yaml.safe_load(text)["unit_tests"]
    assert unit == {
        "name": "every_turn_is_a_speech",
        "model": "marts_speech",
        "versions": {"include": [2]},
        "given": [{"input": "ref('stg_turns')", "rows": [{"run_tag": "r"}, {"debate_id": "d"}]}],
        "expect": {"rows": [{"run_tag": "r", "debate_id": None}, {"run_tag": None, "debate_id": "d"}]},
    }
    assert "          - {run_tag: r}\n" in text


DATA_TESTS = """
- {ours: unique, column: a, theirs: unique}
- ours: {not_null: {config: {where: b > 1, severity: warn}}}
  column: a
  theirs: {not_null: {config: {where: b > 1, severity: warn}}}
- ours: {accepted_values: {values: [x, y], name: n}}
  column: a
  theirs: {accepted_values: {name: n, arguments: {values: [x, y]}}}
- ours: {accepted_values: {values: {x: the first, y: }}}
  column: a
  theirs: {accepted_values: {arguments: {values: [x, y]}}}
- ours: {accepted_values: {values: [0, 0.5]}}
  column: a
  theirs: {expression_is_true: {arguments: {expression: 'in (0, 0.5)'}}}
# dbt reads these as Python literals, and would compare with others.
- ours: {accepted_values: {values: ['0x10', 'None', "it's"]}}
  column: a
  theirs: {expression_is_true: {arguments: {expression: "in ('0x10', 'None', 'it''s')"}}}
- ours: {relationships: {to: staging.stg_runs, field: run_tag}}
  column: a
  theirs: {relationships: {arguments: {to: ref('stg_runs'), field: run_tag}}}
- ours: {relationships: {to: raw.runs}}
  column: run_tag
  theirs: {relationships: {arguments: {to: "source('raw', 'runs')", field: run_tag}}}
- ours: {relationships: {to: ratings.elo, columns: [a, b], fields: [c, d]}}
  theirs:
    relationships_of_columns: {arguments: {to: "source('ratings', 'elo')", columns: [a, b], fields: [c, d]}}
- ours: {expression_is_true: {expression: '>= 0'}}
  column: a
  theirs: {expression_is_true: {arguments: {expression: '>= 0'}}}
- ours: {range: {min: 0, max: 1, inclusive: false}}
  column: a
  theirs: {range: {arguments: {min: 0, max: 1, inclusive: false}}}
- ours: {row_count: {same_as: marts.panel_winners_v1}}
  theirs: {row_count: {arguments: {same_as: "ref('panel_winners', v=1)"}}}
- ours: {unique_combination_of_columns: {combination_of_columns: [a, b]}}
  theirs: {unique_combination_of_columns: {arguments: {combination_of_columns: [a, b]}}}
"""


@pytest.mark.parametrize("case", yaml.safe_load(DATA_TESTS), ids=lambda case: str(case["ours"])[:40])
def test_a_data_test_asks_the_same(case: dict[str, Any]):
    assert data_tests([parse_generic_test(case["ours"])], case.get("column"), NAMES) == [case["theirs"]]


def test_sources_are_the_landed_tables_and_what_python_computes():
    sources = {source["name"]: source for source in yaml.safe_load(sources_file(PROJECT, NAMES))["sources"]}
    assert [table["name"] for table in sources["raw"]["tables"]] == list(TABLES)
    ratings = {table["name"]: table for table in sources["ratings"]["tables"]}
    assert set(ratings) == {name.partition(".")[2] for name in NAMES.tables if name.startswith("ratings.")}
    assert ratings["elo"]["columns"][0]["name"] == "run_tag"
    assert ratings["elo"]["data_tests"]


def test_nothing_is_sent_to_anybody():
    project = yaml.safe_load(_project_file(PROJECT, NAMES))
    assert project["flags"]["send_anonymous_usage_stats"] is False
    assert set(project["models"]["debatebench"]) == {
        "+materialized",
        "+persist_docs",
        "staging",
        "intermediate",
        "marts",
        "original",
    }


# --- the folder -----------------------------------------------------------------------------------------------------


def test_the_database_holds_the_chosen_runs_landed_tables_and_ratings(tmp_path: Path):
    workspace = make_workspace(tmp_path / "ws")
    done = export(workspace, "dbt", tmp_path / "out", run_tags=["original"])
    assert (done.folder / "profiles.yml").read_text().count("path: debatebench.duckdb\n") == 1
    with duckdb.connect() as con:
        con.execute(f"attach '{workspace.database}' as whole (read_only)")
        con.execute(f"attach '{done.folder / 'debatebench.duckdb'}' as project (read_only)")
        tables = [f"raw.{name}" for name in TABLES] + sorted(NAMES.tables)
        found = con.execute(
            "select schema_name || '.' || table_name from duckdb_tables() where database_name = 'project'"
        ).fetchall()
        assert sorted(name for (name,) in found) == sorted(tables)
        for name in tables:
            columns = [row[0] for row in con.execute(f"describe project.{name}").fetchall()]
            if "run_tag" not in columns:
                continue  # It pools runs, so it is not the same for some of them.
            ours, theirs = f"from whole.{name} where run_tag = 'original'", f"from project.{name}"
            assert con.execute(f"{ours} except all {theirs}").fetchall() == []
            assert con.execute(f"{theirs} except all {ours}").fetchall() == []
    left_out = {part.what: part.names for part in done.manifest.left_out}
    assert set(left_out["SQL of models"]) == NAMES.tables
    assert {"target", "debatebench.duckdb"} <= set(done.manifest.disposable)
