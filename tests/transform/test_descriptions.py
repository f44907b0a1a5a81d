"""The full text of a column: its own, that of the column it comes from, or that of every column of its name."""

from __future__ import annotations

from pathlib import Path

import pytest
from sql_project import STAGING, raw_database, write_project

from debatebench.query.sql_project import load_project
from debatebench.shared.errors import SqlModelError
from debatebench.shared.records import TABLES
from debatebench.shared.workspace import Workspace
from debatebench.transform.build import build
from debatebench.transform.contracts import columns_of_all, description_gaps
from debatebench.transform.lineage.descriptions import Descriptions
from debatebench.transform.testing.data_tests import run_data_tests

S = "staging.stg_debates"


def text(folder: Path, sql: str, column: str = "x", **files: str) -> str:
    """The text of a column of `marts.m`, whose YAML describes no column."""
    base = {**STAGING, "marts/m.sql": sql, "marts/m.yml": "models: [{name: m, description: M.}]"}
    return Descriptions(write_project(folder, {**base, **files})).text("marts.m", column)


@pytest.mark.parametrize(
    ("sql", "expected"),
    [
        (f"select winner as x from {S}", "Who won."),
        (f'select winner as "X" from {S}', "Who won."),
        (f"with a as (select winner as y from {S}), b as (select * from a) select y as x from b", "Who won."),
        (f"select d.winner as x from {S} as d join {S} as e using (run_tag)", "Who won."),
        (f"select * exclude (winner), winner as x from {S}", "Who won."),
        (f"select (select max(winner) from {S}) as x", ""),
        (f"select upper(winner) as x from {S}", ""),
        (f"select max(winner) as x from {S} group by run_tag", ""),
        (f"select coalesce(winner, 'tie') as x from {S}", ""),
        (f"select unnest as x from {S}, unnest([winner])", ""),
        (f"select winner as x from {S}, unnest([run_tag]) as made(winner)", ""),
        ("select 1 as x", ""),
    ],
)
def test_a_column_that_is_only_handed_on_has_the_text_of_its_source_and_an_expression_has_none(
    tmp_path: Path, sql: str, expected: str
):
    assert text(tmp_path, sql) == expected


def test_a_column_that_using_merges_has_the_text_of_both_sides(tmp_path: Path):
    other = {
        "marts/other.sql": f"select run_tag, debate_id from {S}",
        "marts/other.yml": """
            models:
              - name: other
                description: O.
                columns: [{name: debate_id, description: Another.}]
            """,
    }
    sql = f"select run_tag, debate_id from {S} join marts.other using (run_tag, debate_id)"
    assert text(tmp_path, sql, "run_tag", **other) == "The run."
    assert text(tmp_path, sql, "debate_id", **other) == ""


@pytest.mark.parametrize(
    ("sides", "expected"),
    [
        (f"select winner as x from {S} union all select winner from {S}", "Who won."),
        (f"select pro_model_id as x from {S} union select con_model_id from {S}", ""),
        (f"select winner as x from {S} union all select upper(winner) from {S}", ""),
        (f"select winner as x from {S} union all by name select 1 as y, winner as x from {S}", "Who won."),
    ],
)
def test_a_union_inherits_what_all_its_sides_say(tmp_path: Path, sides: str, expected: str):
    assert text(tmp_path, sides) == expected


def test_a_text_goes_through_a_chain_of_three_until_one_has_its_own(tmp_path: Path):
    project = write_project(
        tmp_path,
        {
            **STAGING,
            "marts/a.sql": f"select winner as b, source_position from {S}",
            "marts/b.sql": "select b as c, source_position as place from marts.a",
            "marts/c.sql": "select c as d, place from marts.b",
            "marts/m.yml": """
                models:
                  - {name: a, description: A.}
                  - {name: b, description: B., columns: [{name: place, description: Its place.}]}
                  - {name: c, description: C., columns: [{name: d}, {name: place, description: ''}]}
                """,
        },
    )
    texts = Descriptions(project)
    assert [texts.text(f"marts.{name}", column) for name, column in ("ab", "bc", "cd")] == ["Who won."] * 3
    assert texts.text("marts.a", "source_position") == "Order."
    assert texts.text("marts.c", "place") == "Its place."


def test_a_star_hands_on_every_text_also_of_columns_that_the_yaml_does_not_list(tmp_path: Path):
    project = write_project(
        tmp_path,
        {**STAGING, "marts/m.sql": f"select * from {S}", "marts/m.yml": "models: [{name: m, description: M.}]"},
    )
    texts = Descriptions(project)
    columns = texts.columns(S)
    assert len(columns) == 6
    assert [texts.text("marts.m", c) for c in columns] == [texts.text(S, c) for c in columns]


VERSIONED = {
    "marts/winners_v1.sql": f"select run_tag, recorded_winner as winner, debate_id as id from {S}",
    "marts/winners_v2.sql": f"select run_tag, winner, debate_id as id from {S}",
    "marts/winners.yml": """
        models:
          - name: winners
            description: W.
            latest_version: 2
            columns:
              - name: run_tag
              - name: winner
              - {name: id, description: Its id.}
            versions:
              - v: 1
                columns: [{include: all}, {name: winner, description: Stated.}]
              - v: 2
        """,
    "marts/m.sql": "select winner, run_tag, id from marts.winners",
    "marts/m.yml": "models: [{name: m, description: M.}]",
    "staging/stg_debates.sql": """
        select run_tag, debate_id, pro_model_id, con_model_id, source_position, recorded_winner as winner,
            recorded_winner
        from raw.debates
        """,
}


def test_versions_inherit_each_for_itself_and_the_unsuffixed_name_from_the_latest(tmp_path: Path):
    texts = Descriptions(write_project(tmp_path, {**STAGING, **VERSIONED}))
    found = {name: texts.text(f"marts.{name}", "winner") for name in ("winners_v1", "winners_v2", "winners", "m")}
    assert found == {"winners_v1": "Stated.", "winners_v2": "Who won.", "winners": "Who won.", "m": "Who won."}
    assert {texts.text(f"marts.{name}", "id") for name in found} == {"Its id."}
    assert {texts.text(f"marts.{name}", "run_tag") for name in found} == {"The run."}


COMMON = """
    columns:
      - {name: Debater_Id, description: A debater.}
      - {name: winner, description: A winner.}
      - {name: made, description: Made here.}
    """


def test_common_columns_speak_where_nothing_else_does(tmp_path: Path):
    sql = f"select winner, upper(winner) as made, pro_model_id as debater_id, 1 as one from {S}"
    files = {"columns.yml": COMMON, "marts/m.sql": sql}
    assert text(tmp_path, sql, "winner", **files) == "Who won."
    assert text(tmp_path, sql, "made", **files) == "Made here."
    assert text(tmp_path, sql, "debater_id", **files) == "Pro."
    assert text(tmp_path, sql, "one", **files) == ""


LISTED = {
    "columns.yml": """
        columns:
          - name: word
            description: A word.
            data_type: varchar
            data_tests: [accepted_values: {values: {yes: it is so, no: it is not so}}]
        """,
    "marts/below.sql": f"select upper(winner) as answer, upper(winner) as word from {S}",
    "marts/below.yml": """
        models:
          - name: below
            description: B.
            columns:
              - name: answer
                description: The answer.
                data_tests: [accepted_values: {values: {yes: it holds, no: , '1': one of them}}]
              - [word]
        """,
    "marts/m.sql": """
        select answer as x, answer as word, answer as y, word as z, upper(answer) as other from marts.below
        """,
    "marts/m.yml": """
        models:
          - name: m
            description: M.
            columns:
              - {name: x, data_tests: [accepted_values: {values: [no, yes]}]}
              - {name: word, description: Its own., data_tests: [accepted_values: {values: {yes: , no: }}]}
              - {name: other, description: Another., data_tests: [accepted_values: {values: [yes], where: z = 'no'}]}
        """,
}


def test_a_text_ends_with_the_values_of_a_test_and_their_meanings_are_inherited_like_texts(tmp_path: Path):
    texts = Descriptions(write_project(tmp_path, {**STAGING, **LISTED}))
    assert texts.description("marts.below", "answer") == "The answer."
    assert texts.values("marts.below", "answer") == {"yes": "it holds", "no": "", "1": "one of them"}
    assert {column: texts.text("marts.m", column) for column in texts.columns("marts.m")} == {
        "x": "The answer. Values: `no`; `yes`: it holds.",
        "word": "Its own. Values: `yes`: it holds; `no`: it is not so.",
        "y": "The answer. Values: `yes`: it holds; `no`; `1`: one of them.",
        "z": "A word. Values: `yes`: it is so; `no`: it is not so.",
        "other": "Another.",
    }


def test_a_column_renamed_from_a_common_one_has_its_own_common_text_before_that_of_its_source(tmp_path: Path):
    below = {
        "columns.yml": "columns: [{name: made, description: Made here.}, {name: b, description: The other.}]",
        "marts/below.sql": f"select upper(winner) as made from {S}",
        "marts/below.yml": "models: [{name: below, description: B.}]",
    }
    sql = "select made as a, made as b from marts.below"
    assert text(tmp_path, sql, "a", **below) == "Made here."
    assert text(tmp_path, sql, "b", **below) == "The other."


def test_a_cte_does_not_take_a_common_text_for_its_columns(tmp_path: Path):
    sql = f"with a as (select upper(winner) as made from {S}) select made as x from a"
    assert text(tmp_path, sql, **{"columns.yml": COMMON}) == ""


def test_a_file_may_add_common_columns_but_none_twice(tmp_path: Path):
    more = {"columns.yml": COMMON, "marts/more.yml": "columns:\n  - {name: x, description: An x.}\n"}
    assert text(tmp_path / "one", "select 1 as x", **more) == "An x."
    again = more | {
        "marts/more.yml": "columns:\n  - {name: x, description: An x.}\n  - {name: WINNER, description: W.}\n"
    }
    with pytest.raises(
        SqlModelError, match=r"more\.yml:3: the column 'winner' is already described at .*columns\.yml:3"
    ):
        text(tmp_path / "two", "select 1 as x", **again)
    with pytest.raises(SqlModelError, match=r"columns\.yml:1: columns\[0\]: .* needs a `description` or a `data_type`"):
        text(tmp_path / "three", "select 1 as x", **{"columns.yml": "columns: [{name: x}]"})


NAMED = """
    models:
      - name: m
        description: M.
        config: {contract: {enforced: true}}
        columns:
          - [winner, made]
          - {name: y, data_type: LISTED}
          - [one]
    """
TYPED = """
    columns:
      - {name: winner, description: A winner., data_type: varchar, data_tests: [not_null]}
      - {name: made, description: Made here., data_type: varchar}
      - {name: one, data_type: integer, data_tests: [range: {min: 2}]}
    """


def test_a_column_of_which_only_the_name_is_listed_has_the_type_and_tests_of_all_columns_of_its_name(tmp_path: Path):
    sql = f"select winner, upper(winner) as made, 2 as y, 1 as one from {S}"
    files = {**STAGING, "columns.yml": TYPED, "marts/m.sql": sql, "marts/m.yml": NAMED.replace("LISTED", "integer")}
    project = write_project(tmp_path / "fits", files)
    assert [(c.name, c.data_type, len(c.data_tests)) for c in project.models["marts.m"].properties.columns] == [
        ("winner", "varchar", 1),
        ("made", "varchar", 0),
        ("y", "integer", 0),
        ("one", "integer", 1),
    ]
    con = raw_database()
    build(con, project)
    assert Descriptions(project).text("marts.m", "winner") == "Who won."
    assert {result.name for result in run_data_tests(con, project, select=["m"])} >= {
        "not_null_marts.m_winner",
        "range_marts.m_one",
    }

    longer = {"marts/m.sql": sql.replace("1 as one", "1.5 as one")}
    with pytest.raises(SqlModelError, match=r"breaks its contract .*: one is DECIMAL\(2,1\) instead of INTEGER"):
        build(raw_database(), write_project(tmp_path / "other", files | longer))


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (("[one]", "[on]"), r"m\.yml:2: marts\.m lists the column 'on', .* Did you mean 'one'"),
        (("LISTED", "[1]"), r"m\.yml:7: models\[0\]\.columns\[1\]\.data_type"),
        (("[winner, made]", "[winner, winner]"), r"column 'winner' is described twice"),
        (("[winner, made]", "[winner, {a: 1}]"), r"m\.yml:6: models\[0\]\.columns\[0\]"),
    ],
    ids=["unknown", "line", "twice", "not a name"],
)
def test_a_list_of_names_is_refused_by_file_and_line(tmp_path: Path, wrong: tuple[str, str], message: str):
    files = {**STAGING, "columns.yml": TYPED, "marts/m.sql": "select 1 as x", "marts/m.yml": NAMED.replace(*wrong)}
    with pytest.raises(SqlModelError, match=message):
        write_project(tmp_path, files).models  # noqa: B018


def test_landed_columns_have_the_texts_of_the_records_and_hand_them_on(tmp_path: Path):
    landed = TABLES["debates"].model_fields["recorded_winner"].description
    project = write_project(
        tmp_path,
        {
            "columns.yml": "columns: [{name: run_tag, description: The run.}]",
            "staging/s.sql": "select run_tag, recorded_winner as winner from raw.debates",
            "staging/s.yml": "models: [{name: s, description: S.}]",
        },
    )
    texts = Descriptions(project)
    assert landed
    assert texts.text("raw.debates", "recorded_winner") == texts.text("staging.s", "winner") == landed
    assert texts.text("raw.debates", "run_tag") == texts.text("staging.s", "run_tag") == "The run."


def test_what_cannot_be_traced_has_only_its_own_and_common_texts(tmp_path: Path):
    listed = """
        models:
          - {name: m, description: M., columns: [{name: winner}, {name: made}, {name: x, description: An x.}]}
        """
    files = {"columns.yml": "columns: [{name: made, description: Made here.}]", "marts/m.yml": listed}
    sql = f"select columns('w.*'), 1 as made, 1 as x from {S}"
    assert [text(tmp_path, sql, c, **files) for c in ("winner", "made", "x")] == ["", "Made here.", "An x."]


def test_a_union_of_unions_is_looked_through_once(tmp_path: Path):
    ctes = "".join(f", c{n} as (select x from c{n - 1} union all select x from c{n - 1})" for n in range(1, 40))
    assert text(tmp_path, f"with c0 as (select winner as x from {S}){ctes} select x from c39") == "Who won."


def test_a_column_without_any_text_is_reported_and_inherited_ones_are_not(tmp_path: Path):
    project = write_project(
        tmp_path,
        {
            **STAGING,
            "columns.yml": "columns: [{name: made, description: Made here.}]",
            "marts/m.sql": f"select winner as x, 1 as made, 2 as y, run_tag from {S}",
            "marts/m.yml": "models: [{name: m, description: M., columns: [{name: x}, {name: made}, {name: y}]}]",
        },
    )
    con = raw_database()
    build(con, project)
    columns = columns_of_all(con)["marts.m"]
    assert description_gaps(con, project.models["marts.m"], columns, Descriptions(project)) == ["y is not described"]
    failed = [result for result in run_data_tests(con, project) if result.status != "pass"]
    assert [(result.name, result.message) for result in failed] == [("description_marts.m", "y is not described")]


def test_every_column_that_comes_with_the_project_is_described():
    project = load_project(Workspace(Path("no-such-workspace")).files("sql", "**/*"))
    texts = Descriptions(project)
    columns = [(name, column) for name in project.models for column in texts.columns(name)]
    assert len(columns) > 1000
    assert [key for key in columns if not texts.text(*key)] == []
