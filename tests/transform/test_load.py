"""SQL files meet their YAML: what is loaded, and what is refused by file and line."""

from __future__ import annotations

from pathlib import Path

import pytest
from sql_project import STAGING, write_project

from debatebench.shared.errors import SqlModelError
from debatebench.transform.model_versions import is_prerelease
from debatebench.transform.properties import read_properties

VERSIONED = STAGING | {
    "marts/winners_v1.sql": "select run_tag, debate_id, winner from staging.stg_debates",
    "marts/winners_v2.sql": "select run_tag, debate_id, winner, 1 as weight from staging.stg_debates",
    "marts/_marts.yml": """
        models:
          - name: winners
            description: Who won.
            latest_version: 2
            config: {materialized: table, tags: [winners]}
            columns:
              - {name: run_tag, description: The run., data_tests: [not_null]}
              - {name: debate_id, description: The debate., data_tests: [not_null]}
              - {name: winner, description: pro or con.}
              - {name: weight, description: One.}
            data_tests:
              - unique_combination_of_columns: {combination_of_columns: [run_tag, debate_id]}
            versions:
              - v: 1
                deprecation_date: 2026-06-30
                columns:
                  - {include: all, exclude: [weight]}
                  - {name: winner, description: The declared winner.}
              - v: 2
                config: {materialized: view}
        """,
}


def test_models_come_in_dependency_order_whatever_their_names(tmp_path: Path) -> None:
    project = write_project(
        tmp_path,
        STAGING
        | {
            "marts/a.sql": "select * from marts.b",
            "marts/b.sql": "select * from staging.stg_debates",
            "marts/any_name.yml": "models: [{name: a, description: A.}, {name: b, description: B.}]",
        },
    )
    assert list(project.models) == ["staging.stg_debates", "marts.b", "marts.a"]


def test_a_dotted_name_in_yaml_may_stand_in_any_folder(tmp_path: Path) -> None:
    project = write_project(
        tmp_path, {"marts/a.sql": "select 1 as x", "models.yml": "models: [{name: marts.a, description: A.}]"}
    )
    assert project.models["marts.a"].properties.description == "A."


def test_versions_share_one_entry_and_the_unsuffixed_name_is_a_view_on_the_latest(tmp_path: Path) -> None:
    models = write_project(tmp_path, VERSIONED).models
    one, two, alias = (models[f"marts.{name}"] for name in ("winners_v1", "winners_v2", "winners"))
    assert (one.version, one.base_name, one.materialized) == (1, "winners", "table")
    assert (two.version, two.base_name, two.materialized) == (2, "winners", "view")
    assert (alias.version, alias.alias_of, alias.materialized) == (None, "marts.winners_v2", "view")


def test_a_version_overrides_columns_and_inherits_the_rest(tmp_path: Path) -> None:
    models = write_project(tmp_path, VERSIONED).models
    one, two = models["marts.winners_v1"].properties, models["marts.winners_v2"].properties
    assert [(c.name, c.description) for c in one.columns] == [
        ("run_tag", "The run."),
        ("debate_id", "The debate."),
        ("winner", "The declared winner."),
    ]
    assert [c.name for c in two.columns] == ["run_tag", "debate_id", "winner", "weight"]
    assert len(one.data_tests) == len(two.data_tests) == 1
    assert str(one.deprecation_date) == "2026-06-30"
    assert two.deprecation_date is None


def test_the_unsuffixed_name_does_not_repeat_the_tests(tmp_path: Path) -> None:
    alias = write_project(tmp_path, VERSIONED).models["marts.winners"].properties
    assert [c.name for c in alias.columns] == ["run_tag", "debate_id", "winner", "weight"]
    assert not alias.data_tests
    assert not any(column.data_tests for column in alias.columns)


def test_a_prerelease_is_built_and_is_not_the_latest(tmp_path: Path) -> None:
    project = write_project(
        tmp_path,
        {
            "marts/a_v1.sql": "select 1 as x",
            "marts/a_v2.sql": "select 2 as x",
            "marts/m.yml": "models: [{name: a, description: A., versions: [{v: 1}, {v: 2, prerelease: true}]}]",
        },
    )
    assert project.models["marts.a"].alias_of == "marts.a_v1"
    assert "marts.a_v2" in project.models


def test_a_name_that_ends_like_a_version_may_be_described_as_it_is(tmp_path: Path) -> None:
    project = write_project(
        tmp_path, {"marts/hash_v2.sql": "select 1 as x", "marts/m.yml": "models: [{name: hash_v2, description: H.}]"}
    )
    assert (project.models["marts.hash_v2"].version, project.models["marts.hash_v2"].base_name) == (None, "hash_v2")


def test_the_hash_of_a_project_changes_with_every_file_and_name(tmp_path: Path) -> None:
    first = write_project(tmp_path / "a", STAGING).sha256
    assert write_project(tmp_path / "b", STAGING).sha256 == first
    assert write_project(tmp_path / "b", {"staging/_staging.yml": "models: []"}).sha256 != first
    assert write_project(tmp_path / "a", {"tests/empty.sql": ""}).sha256 != first


def refused(tmp_path: Path, files: dict[str, str], match: str) -> None:
    with pytest.raises(SqlModelError, match=match):
        _ = write_project(tmp_path, STAGING | files).models


MART = {"marts/m.yml": "models: [{name: a, description: A.}]"}


@pytest.mark.parametrize(
    ("sql", "message"),
    [
        ("select *\nfrom marts.missing", r"marts/a\.sql:2: no SQL model or raw table 'marts\.missing'"),
        ("select * from staging.stg_debate", "Did you mean 'staging.stg_debates'"),
        ("select * from marts.stg_debates", "Did you mean 'staging.stg_debates'"),
        ("select * from meta.builds", r"no SQL model or raw table 'meta\.builds'"),
        ("select *\nfrom raw.debates", r"marts/a\.sql:2: only staging reads raw tables"),
        ("select * from marts.a", r"in a cycle: marts\.a reads marts\.a \(.*marts/a\.sql:1\)"),
    ],
)
def test_a_bad_reference_is_refused_by_file_and_line(tmp_path: Path, sql: str, message: str) -> None:
    refused(tmp_path, MART | {"marts/a.sql": sql}, message)


@pytest.mark.parametrize(
    ("layer", "source"),
    [("staging", "staging.stg_debates"), ("staging", "marts.a")],
)
def test_a_layer_does_not_read_against_the_direction(tmp_path: Path, layer: str, source: str) -> None:
    files = MART | {
        "marts/a.sql": "select 1 as x",
        f"{layer}/b.sql": f"select * from {source}",
        f"{layer}/b.yml": "models: [{name: b, description: B.}]",
    }
    refused(tmp_path, files, rf"{layer}/b\.sql:1: {layer}\.b may read only .*, so it cannot read '{source}'")


def test_a_longer_cycle_names_every_step(tmp_path: Path) -> None:
    files = {
        "marts/a.sql": "select * from marts.b",
        "marts/b.sql": "select 1 as x\nfrom marts.c",
        "marts/c.sql": "select * from marts.a",
        "marts/m.yml": "models: [{name: a, description: A}, {name: b, description: B}, {name: c, description: C}]",
    }
    refused(
        tmp_path, files, r"cycle: (?=.*a reads marts\.b)(?=.*b reads marts\.c \(.*b\.sql:2\))(?=.*c reads marts\.a)"
    )


def test_a_model_without_description_is_refused_and_told_where_to_write_it(tmp_path: Path) -> None:
    refused(
        tmp_path,
        MART | {"marts/a.sql": "select 1 as x", "marts/b.sql": "select 1 as x"},
        r"marts/b\.sql:1: marts\.b has no description; write `models: \[\{name: b, description: …\}\]` in .*m\.yml\.$",
    )


def test_a_misspelt_description_is_proposed_and_one_that_has_its_file_is_not(tmp_path: Path) -> None:
    described = "models: [{name: games, description: G.}, {name: scores, description: S.}]"
    files = {"marts/m.yml": described, "marts/games.sql": "select 1 as x", "marts/scores.sql": "select 1 as x"}
    refused(
        tmp_path / "new", files | {"marts/game.sql": "select 1 as x"}, r"marts\.game has no description; .*m\.yml\.$"
    )
    files["marts/score.sql"] = files.pop("marts/scores.sql")
    refused(tmp_path / "misspelt", files, r"marts\.score has no description; .* Did you mean 'marts\.scores'\?$")


def test_the_words_of_dbt_are_explained_before_a_description_is_asked_for(tmp_path: Path) -> None:
    refused(
        tmp_path,
        MART | {"marts/a.sql": "select 1 as x", "marts/b.sql": "select *\nfrom {{ ref('a') }}"},
        r"marts/b\.sql:2: `\{\{ ref\('a'\) \}\}` is dbt's way; here write marts\.a\.",
    )


def test_a_version_that_the_yaml_does_not_list_is_refused(tmp_path: Path) -> None:
    refused(
        tmp_path, VERSIONED | {"marts/winners_v3.sql": "select 1 as x"}, r"winners_v3\.sql:1: marts\.winners_v3 has no"
    )


ADDED = {
    "marts/winners_v3.sql": "select run_tag, debate_id, winner, 2 as weight from staging.stg_debates",
    "marts/own.yml": "models: [{name: winners, latest_version: 3, versions: [{v: 3, description: Twice.}]}]",
}


def test_another_file_may_add_a_version_that_takes_over_columns_and_tests(tmp_path: Path) -> None:
    models = write_project(tmp_path, VERSIONED | ADDED).models
    two, three = models["marts.winners_v2"].properties, models["marts.winners_v3"].properties
    assert models["marts.winners"].alias_of == "marts.winners_v3"
    assert (three.description, three.columns, three.data_tests) == ("Twice.", two.columns, two.data_tests)
    assert models["marts.winners_v3"].properties_file.name == "_marts.yml"


def test_an_added_version_is_a_prerelease_until_it_is_the_latest(tmp_path: Path) -> None:
    yaml = "models: [{name: marts.winners, versions: [{v: 3}]}]"
    models = write_project(tmp_path, VERSIONED | ADDED | {"marts/own.yml": "models: []", "own.yml": yaml}).models
    assert models["marts.winners"].alias_of == "marts.winners_v2"
    assert is_prerelease(models["marts.winners_v3"])


def test_another_file_may_go_back_to_an_earlier_version(tmp_path: Path) -> None:
    own = {"marts/own.yml": "models: [{name: winners, latest_version: 1}]"}
    assert write_project(tmp_path, VERSIONED | own).models["marts.winners"].alias_of == "marts.winners_v1"


@pytest.mark.parametrize(
    ("yaml", "message"),
    [
        (
            "{name: winner, latest_version: 1}",
            r"own\.yml:2: marts\.winner has versions here, but no file describes it",
        ),
        (
            "{name: winners, latest_version: 3}",
            r"own\.yml:2: winners: latest_version 3 is not one of the versions \[1, 2\]",
        ),
        (
            "{name: winners, versions: [{v: 2}]}",
            r"own\.yml:2: winners: version 2 is listed twice; the next free number is 3\.",
        ),
        ("{name: winners, versions: [{v: 0}]}", r"own\.yml:2: models\[0\]\.versions\[0\]\.v: Input should be greater"),
        (
            "{name: winners, versions: [{v: 4}]}",
            r"marts\.winners_v4 is described, but there is no sql/marts/winners_v4",
        ),
        ("{name: winners, columns: []}", r"own\.yml:2: models\[0\]\.description: Field required"),
    ],
)
def test_added_versions_that_do_not_fit_are_refused_by_line(tmp_path: Path, yaml: str, message: str) -> None:
    refused(tmp_path, VERSIONED | {"marts/own.yml": f"models:\n  - {yaml}\n"}, message)


def test_a_description_without_file_is_refused_by_line(tmp_path: Path) -> None:
    files = {
        "marts/debates.sql": "select 1 as x",
        "marts/m.yml": "models:\n  - {name: debates, description: D.}\n  - {name: debate, description: D.}\n",
    }
    refused(
        tmp_path,
        files,
        r"m\.yml:3: marts\.debate is described, .*no sql/marts/debate\.sql\. Did you mean 'marts/debates",
    )


def test_a_version_without_file_is_refused(tmp_path: Path) -> None:
    files = {
        "marts/a_v1.sql": "select 1 as x",
        "marts/m.yml": "models: [{name: a, description: A, versions: [{v: 1}, {v: 2}]}]",
    }
    refused(tmp_path, files, r"marts\.a_v2 is described, but there is no sql/marts/a_v2\.sql")


def test_a_file_under_the_unsuffixed_name_of_versions_is_refused(tmp_path: Path) -> None:
    refused(tmp_path, VERSIONED | {"marts/winners.sql": "select 1 as x"}, "has the versions 1, 2")


def test_a_model_described_twice_is_refused_with_both_places(tmp_path: Path) -> None:
    files = MART | {"marts/a.sql": "select 1 as x", "marts/n.yml": "\nmodels:\n  - {name: a, description: Again.}\n"}
    refused(tmp_path, files, r"n\.yml:2: marts\.a is already described at .*m\.yml:1")


@pytest.mark.parametrize(
    ("path", "message"),
    [
        ("lonely.sql", "must be in a folder, which is its schema"),
        ("raw/deep/a.sql", "the schema 'raw' is not for SQL models"),
        ("raw/a.sql", "the schema 'raw' is not for SQL models"),
        ("meta/a.sql", "the schema 'meta' is not for SQL models"),
        ("marts/Big-Name.sql", "'Big-Name' is not a name"),
    ],
)
def test_a_file_in_the_wrong_place_is_refused(tmp_path: Path, path: str, message: str) -> None:
    refused(tmp_path, {path: "select 1 as x"}, message)


def test_the_first_folder_is_the_schema_and_deeper_folders_are_for_order_only(tmp_path: Path) -> None:
    files = {
        "marts/judges/a_v1.sql": "select 1 as x",
        "marts/judges/Odd and deep/a_v2.sql": "select * from staging.stg_debates",
        "marts/any/m.yml": "models: [{name: a, description: A., latest_version: 2, versions: [{v: 1}, {v: 2}]}]",
        "tests/judges/nothing.sql": "select * from marts.a where false",
    }
    project = write_project(tmp_path, STAGING | files)
    models = project.models
    assert set(models) == {"staging.stg_debates", "marts.a_v1", "marts.a_v2", "marts.a"}
    assert {model.schema for model in models.values()} == {"staging", "marts"}
    assert models["marts.a_v1"].path == "marts/judges/a_v1.sql"
    assert models["marts.a"].path == "marts/judges/Odd and deep/a.sql", "the view lies beside the latest version"
    assert [test.name for test in project.singular_tests] == ["nothing"]


@pytest.mark.parametrize(
    ("first", "second", "name"),
    [
        ("marts/a.sql", "marts/deep/a.sql", "marts.a"),
        ("marts/one/a.sql", "marts/two/a.sql", "marts.a"),
        ("tests/t.sql", "tests/deep/t.sql", "the test 't'"),
    ],
)
def test_two_files_of_one_name_are_refused(tmp_path: Path, first: str, second: str, name: str) -> None:
    files = MART | {"marts/a.sql": "select 1 as x", first: "select 1 as x", second: "select 2 as x"}
    if first != "marts/a.sql" and first.startswith("marts"):
        del files["marts/a.sql"]
    earlier, later = sorted((first, second))
    refused(tmp_path, files, f"{later}: {name} is also defined in .*{earlier}; rename or remove one of them")


def test_a_view_that_calls_a_python_function_is_refused(tmp_path: Path) -> None:
    files = MART | {"marts/a.sql": "select elo_ratings([1], [1], [2], [1.0], 400, 32) as r"}
    refused(tmp_path, files, "calls the Python function 'elo_ratings', so it cannot be a view")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("models:\n  - name: a\n", r"m\.yml:2: models\[0\]\.description: Field required"),
        ("models:\n  - name: a\n    description: ''\n", r"m\.yml:3: models\[0\]\.description"),
        ("models:\n  - name: a\n    description: A\n    colums: []\n", r"m\.yml:4: models\[0\]\.colums: Extra inputs"),
        ("models: [{name: a, description: A, config: {materialized: cube}}]", r"materialized: .*'view' or 'table'"),
        ("models:\n  - name: a\n    name: b\n", r"m\.yml:3: the key 'name' occurs twice"),
        ("models:\n  - &x {name: a, description: A}\n  - *x\n", r"m\.yml:2: YAML aliases are not allowed"),
        ("models:\n  - &x {name: a, description: A}\n", r"m\.yml:2: YAML aliases are not allowed"),
        ("models:\n  - {name: !!str a, description: A}\n", r"m\.yml:2: the YAML tag .* is not allowed here"),
        ("models:\n  - {name: a, description: A, 1: x}\n", r"m\.yml:2: the key 1 is not text; write it in quotes"),
        ("models:\n  - {name: a, ? [x] : A}\n", r"m\.yml:2: a key is a list or mapping; use a name"),
        ("models: []\n---\nmodels: []\n", r"m\.yml:2: this is not YAML"),
        ("models: [\n", r"m\.yml:\d: this is not YAML"),
        (
            "models:\n  - {name: a, description: A, versions: [{v: 1, config: {materialized: cube}}]}",
            r"m\.yml:2: .*'table'",
        ),
        (
            "models:\n  - name: a\n    description: A\n    versions:\n      - v: 1\n        columns: [{nam: x}]\n",
            r"m\.yml:6: models\[0\]\.versions\[0\]\.columns\[0\]\.name: Field required",
        ),
        ("models: " + "[" * 5_000, "nested too deeply|not YAML"),
        (
            "models: [{name: a, description: A, latest_version: 3, versions: [{v: 1}]}]",
            "latest_version 3 is not one of",
        ),
        ("models: [{name: a, description: A, versions: [{v: 1, prerelease: true}], latest_version: 1}]", "prerelease"),
        ("models: [{name: a, description: A, columns: [{name: x}, {name: X}]}]", "column 'x' is described twice"),
        (
            "models:\n  - name: a\n    description: A\n    columns:\n      - name: x\n        data_tests: [uniqe]\n",
            r"m\.yml:6: models\[0\]\.columns\[0\]\.data_tests\[0\]: no data test 'uniqe'\. Did you mean 'unique'",
        ),
        (
            "models: [{name: a, description: A, columns: [{name: x, data_tests: [accepted_values]}]}]",
            r"data_tests\[0\]\.values: Field",
        ),
        (
            "models:\n  - name: a\n    description: A\n    columns:\n      - name: x\n        data_tests:\n"
            "          - accepted_values:\n              values: {a: One., b: 2}\n",
            r"m\.yml:7: .*data_tests\[0\]\.values: what 'b' means is not text; write it in quotes",
        ),
        (
            "models: [{name: a, description: A, columns: [{name: x, data_tests: [{accepted_values: {values: []}}]}]}]",
            "`values` is a list of values, or a mapping of values to what they mean",
        ),
        ("models: [{name: a, description: A, columns: [{name: x, data_tests: [{range: {}}]}]}]", "give `min`"),
        (
            "models: [{name: a, description: A, data_tests: [unique]}]",
            "unique of marts.a: the test belongs under a column",
        ),
        (
            "models: [{name: a, description: A, columns: [{name: x, data_tests: [{row_count: {min: 1}}]}]}]",
            "belongs under the SQL model",
        ),
        (
            "models: [{name: a, description: A, columns: [{name: x, data_tests: "
            "[{relationships: {to: staging.stg_debate, field: y}}]}]}]",
            "Did you mean 'staging.stg_debates'",
        ),
        (
            "models: [{name: a, description: A, columns: [{name: x}], data_tests: "
            "[{unique_combination_of_columns: {combination_of_columns: [y]}}]}]",
            "no column 'y'",
        ),
        (
            "models: [{name: a, description: A, questions: [{question: Who won, sql: from marts.a}]}]",
            r"questions\[0\]: a question ends with a question mark",
        ),
        (
            "models: [{name: a, description: A, questions: [{question: 'Who?', sql: 'from marts.a where x = $tag'}]}]",
            r"questions\[0\]: the SQL has a parameter, \$tag; select the column instead",
        ),
        (
            "models:\n  - name: a\n    description: A\n    questions:\n      - question: Who?\n        sql: |\n"
            + "          --\n" * 5
            + "          from marts.a",
            r"m\.yml:5: models\[0\]\.questions\[0\]: the SQL has more than 5 lines",
        ),
        (
            "models: [{name: a, description: A}]\nunit_tests:\n  - {name: t, model: b, expect: {rows: []}}",
            r"m\.yml:3: unit test t: no SQL model 'marts\.b'",
        ),
        (
            "models: [{name: a, description: A}]\n"
            "unit_tests: [{name: t, model: a, given: [{input: marts.b}], expect: {rows: []}}]",
            "marts.a does not read 'marts.b'; it reads nothing",
        ),
        (
            "models: [{name: a, description: A}]\nunit_tests:\n"
            "  - {name: t, model: a, expect: {rows: []}}\n  - {name: t, model: a, expect: {rows: []}}\n",
            r"m\.yml:4: unit test t: the name is already used at .*m\.yml:3",
        ),
    ],
)
def test_bad_yaml_is_refused_by_file_line_and_key(tmp_path: Path, text: str, message: str) -> None:
    refused(tmp_path, {"marts/a.sql": "select 1 as x", "marts/m.yml": text}, message)


@pytest.mark.parametrize(
    ("content", "message"), [(b"a: \xff", r"m\.yml: cannot be read \('utf-8' codec"), (b"#" * (2**20 + 1), "split it")]
)
def test_yaml_that_is_not_utf8_or_too_large_is_refused(tmp_path: Path, content: bytes, message: str) -> None:
    file = tmp_path / "m.yml"
    file.write_bytes(content)
    with pytest.raises(SqlModelError, match=message):
        read_properties(file)


def test_singular_tests_may_read_models_and_raw_tables_only(tmp_path: Path) -> None:
    project = write_project(tmp_path, STAGING | {"tests/lost.sql": "select * from staging.stg_debates, raw.debates"})
    assert [test.name for test in project.singular_tests] == ["lost"]
    refused(tmp_path, {"tests/bad.sql": "select * from marts.nothing"}, r"tests/bad\.sql:1: no SQL model")


def test_dbt_spellings_of_tests_are_understood(tmp_path: Path) -> None:
    yaml = """
        version: 2
        models:
          - name: a
            description: A.
            columns:
              - name: x
                tests:
                  - dbt_utils.accepted_range: {arguments: {min_value: 0}, config: {where: x > 1, severity: warn}}
                  - accepted_values: {values: [1, 2], quote: false, name: small}
        """
    project = write_project(tmp_path, {"marts/a.sql": "select 1 as x", "marts/m.yml": yaml})
    in_range, small = project.models["marts.a"].properties.columns[0].data_tests
    assert (in_range.kind, in_range.where, in_range.severity) == ("range", "x > 1", "warn")
    assert (small.kind, small.name) == ("accepted_values", "small")
