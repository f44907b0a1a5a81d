"""Column lineage: from every column of every SQL model down to what was landed."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from sql_project import write_project

from debatebench.query.sql_project import load_project
from debatebench.shared.errors import UsageError
from debatebench.shared.workspace import Workspace
from debatebench.transform.lineage.column_lineage import Lineage, LineageNode, column_lineage
from debatebench.transform.lineage.formats import lineage_json, lineage_mermaid, lineage_text
from debatebench.transform.project import Project

FILES = {
    "staging/stg_verdicts.sql": """
        -- One row per judge and debate.
        select run_tag, debate_id, judge_id, is_valid, scores, asks, declared_winner as winner from raw.verdicts
        """,
    "staging/stg_debates.sql": "select run_tag, debate_id, pro_model_id, status from raw.debates",
    "staging/s.yml": """
        models:
          - {name: stg_verdicts, description: Verdicts.}
          - {name: stg_debates, description: Debates.}
        """,
    "marts/m.yml": "models: [{name: m, description: Something.}]",
}


@pytest.fixture(scope="module")
def packaged() -> Project:
    return load_project(Workspace(Path("no-such-workspace")).files("sql", "**/*"))


@pytest.fixture(scope="module")
def lineage(packaged: Project) -> Lineage:
    return Lineage(packaged)


def ends(node: LineageNode) -> set[str]:
    """The names of what lies at the end of every way down."""
    return {each.name for each in node.nodes() if not each.upstream}


def trace(folder: Path, sql: str, column: str = "x", **files: str) -> LineageNode:
    project = write_project(folder / "sql", {**FILES, "marts/m.sql": sql, **files})
    return column_lineage(project, f"marts.m.{column}")


# --- the SQL models that come with the project ----------------------------------------------------------------------


@pytest.mark.slow
def test_every_column_of_every_sql_model_reaches_what_was_landed_or_is_a_constant(lineage: Lineage):
    columns = [(name, column) for name in lineage.models for column in lineage.columns(name)]
    assert len(columns) > 400
    for name, column in columns:
        node = lineage.column(name, column)
        last = [each for each in node.nodes() if not each.upstream]
        is_known = [each.is_in_raw or each.is_constant or each.kind == "rows" for each in last]
        assert all(is_known), f"{name}.{column}: {last}"
        assert not any(each.problem for each in node.nodes())


def test_few_columns_are_constants_and_each_is_a_list_of_words(lineage: Lineage):
    def is_constant(name: str, column: str) -> bool:
        return not any(each.is_in_raw for each in lineage.column(name, column).nodes())

    found = {(name, column) for name in lineage.models for column in lineage.columns(name) if is_constant(name, column)}
    words = {"affects", "decides_schedule", "degrees_of_freedom", "is_list", "is_of_source", "item"}
    words |= {
        "bias",
        "detectable_t",
        "df",
        "effect",
        "measure",
        "neutral",
        "position",
        "setting",
        "side",
        "statistic",
        "t_95",
        "term",
        "winner",
    }
    assert {column for _, column in found} <= words
    assert ("original.winner_counts", "winner") in found


def test_lineage_knows_the_same_columns_as_the_yaml(packaged: Project, lineage: Lineage):
    for name, model in packaged.models.items():
        if not model.properties.columns:
            # A former name: its columns are those of the SQL model that has the rows now, and described there.
            assert model.properties.deprecation_date is not None
            continue
        assert list(lineage.columns(name)) == [column.name for column in model.properties.columns], name


def test_every_step_says_where_it_is_written(lineage: Lineage):
    for name in lineage.models:
        for column in lineage.columns(name):
            for node in lineage.column(name, column).nodes():
                # A list of values that is written out has no line of its own.
                if node.kind in ("column", "cte") and not (node.expression or "").startswith("(VALUES"):
                    assert node.file is not None
                    assert node.line is not None, node
                    line = node.file.read_text(encoding="utf-8").splitlines()[node.line - 1]
                    first_word = re.findall(r"[\w']+", node.expression or "")[0]
                    # A column that is passed on by its bare name stands there by that name.
                    words = {first_word, node.name.rpartition(".")[2]}
                    assert node.file.suffix == ".yml" or any(word in line for word in words), (node, line)


def test_the_win_rate_comes_from_scores_and_statuses(packaged: Project):
    node = column_lineage(packaged, "marts.leaderboard.win_rate")
    assert node.expression == "coalesce((elo.wins + 0.5 * elo.ties) / elo.games, four_teams.first_rate)"
    assert {"raw.verdicts.scores", "raw.verdicts.is_valid", "raw.debates.status"} <= ends(node)
    assert "ratings.elo.wins" in {each.name for each in node.upstream}


def test_a_rating_comes_through_the_python_function(packaged: Project):
    nodes = {each.name: each for each in column_lineage(packaged, "ratings.elo.rating").nodes()}
    path = nodes["paths.path"]
    assert path.expression is not None
    assert path.expression.startswith("cast(elo_path(game_lists.game_numbers,")
    assert {"raw.runs.elo_k_factor", "raw.verdicts.scores"} <= set(nodes)


def test_struct_fields_and_lambdas_lead_to_the_list_that_holds_them(packaged: Project):
    assert ends(column_lineage(packaged, "intermediate.int_verdict_totals.pro_total")) == {"raw.verdicts.scores"}
    assert ends(column_lineage(packaged, "marts.verdict_scores.dimension")) == {"raw.verdicts.scores"}


def test_the_unsuffixed_name_is_the_latest_version(packaged: Project):
    latest = column_lineage(packaged, "marts.panel_winners.winner")
    assert [each.name for each in latest.upstream] == ["marts.panel_winners_v4.winner"]
    first = column_lineage(packaged, "marts.panel_winners_v1.winner")
    assert "raw.verdicts.declared_winner" in ends(first)
    assert "raw.verdicts.declared_winner" not in ends(column_lineage(packaged, "marts.panel_winners_v2.winner"))


def test_a_count_leads_to_the_rows_that_are_counted(packaged: Project):
    node = column_lineage(packaged, "marts.runs.count_decided")
    names = [each.name for each in node.nodes()]
    assert "rows of marts.decided_debates" in names
    assert {"rows of raw.debates", "rows of raw.verdicts"} <= ends(node)


def test_a_sql_model_without_a_column_shows_what_it_reads(packaged: Project):
    node = column_lineage(packaged, "ratings.elo")
    assert node.kind == "relation"
    assert {each.name for each in node.nodes()} >= {"ratings.elo_games", "marts.games", "raw.debates"}
    assert all(each.name.startswith("raw.") for each in node.nodes() if not each.upstream)


def test_a_landed_column_is_its_own_end(packaged: Project):
    node = column_lineage(packaged, "raw.turns.content")
    assert (node.kind, node.upstream) == ("raw", ())


# --- names ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "meaning"),
    [
        ("leaderboard.win_rate", "marts.leaderboard.win_rate"),
        ("leaderboard", "marts.leaderboard"),
        ("MARTS.Leaderboard.WIN_RATE", "marts.leaderboard.win_rate"),
        ("panel_winners_v1.winner", "marts.panel_winners_v1.winner"),
        ("turns.content", "raw.turns.content"),
        ("raw.turns", "raw.turns"),
        ("runs", "marts.runs"),
        ("runs.seed", "marts.runs.seed"),
    ],
)
def test_the_schema_may_be_left_out_where_the_rest_is_clear(packaged: Project, name: str, meaning: str):
    assert column_lineage(packaged, name).name == meaning


@pytest.mark.parametrize(
    ("name", "complaint"),
    [
        ("marts.leaderboard.winrate", "marts.leaderboard has no column 'winrate'. Did you mean 'win_rate'?"),
        ("marts.leaderbord.win_rate", "Did you mean 'marts.leaderboard'?"),
        ("leaderbord", "Did you mean 'marts.leaderboard'?"),
        ("marts.runs.zzz", "Its columns: run_tag, source"),
        ("raw.turns.contents", "raw.turns has no column 'contents'. Did you mean 'content'?"),
        ("topic_winrate", "'topic_winrate' is ambiguous: original.topic_winrate or marts.topic_winrate; write"),
        ("winner_counts.count", "'winner_counts.count' is ambiguous: original.winner_counts.count or marts."),
        ("zzz", "`debatebench docs` shows all of them."),
        ("", "No SQL model or landed table ''."),
    ],
)
def test_an_unknown_name_is_answered_with_what_is_close(packaged: Project, name: str, complaint: str):
    with pytest.raises(UsageError) as error:
        column_lineage(packaged, name)
    assert complaint in str(error.value)


# --- constructs -------------------------------------------------------------------------------------------------------

CONSTANT: set[str] = set()
V, D = "staging.stg_verdicts", "staging.stg_debates"
ASKS, SCORES, JUDGE, STATUS = "raw.verdicts.asks", "raw.verdicts.scores", "raw.verdicts.judge_id", "raw.debates.status"


@pytest.mark.parametrize(
    ("sql", "expected"),
    [
        (f"select asks as x from {V}", {ASKS}),
        (f"select a.asks + b.status as x from {V} a join {D} b using (run_tag)", {ASKS, STATUS}),
        (f"from {V} select asks as x", {ASKS}),
        (f"select * exclude (asks) replace (asks as judge_id), judge_id as x from {V}", {JUDGE}),
        (f"select * rename (asks as x) from {V}", {ASKS}),
        (f"select max(asks) as x, judge_id from {V} group by all", {ASKS}),
        (f"select count(*) as x from {V}", {"rows of raw.verdicts"}),
        (f"select count() as x from {V}", {"rows of raw.verdicts"}),
        (f"select row_number() over () as x from {V}", {"rows of raw.verdicts"}),
        (f"select sum(asks) / count(*) as x from {V}", {ASKS, "rows of raw.verdicts"}),
        (f"select count(*) filter (where is_valid) as x from {V}", {"rows of raw.verdicts", "raw.verdicts.is_valid"}),
        (
            f"select row_number() over (partition by debate_id order by judge_id) as x from {V}",
            {"raw.verdicts.debate_id", JUDGE},
        ),
        (f"select lag(asks) over (order by judge_id) as x from {V}", {ASKS, JUDGE}),
        (f"select list_transform(scores, lambda s: s.pro + asks) as x from {V}", {SCORES, ASKS}),
        (f"select [scores[1].pro, asks] as x from {V}", {SCORES, ASKS}),
        (f"select {{'a': asks, 'b': 1}} as x from {V}", {ASKS}),
        (f"with u as (select unnest(scores) as s from {V}) select s.pro as x from u", {SCORES}),
        (f"select u.s.pro as x from {V} as v, unnest(v.scores) as u(s)", {SCORES}),
        (f"select u.s as x from {V} as v cross join lateral (select max(v.asks) as s) as u", {ASKS}),
        (
            f"with v as (select * from {V}) select l.s as x from v, lateral (select unnest(v.scores) as s) as l",
            {SCORES},
        ),
        (f"with t(a, b) as (select asks, judge_id from {V}) select b as x from t", {JUDGE}),
        (f"select t.b as x from (select asks, judge_id from {V}) as t(a, b)", {JUDGE}),
        (
            f"select asks as x, judge_id from {V} union all select debate_id, status from {D}",
            {ASKS, "raw.debates.debate_id"},
        ),
        (
            f"select judge_id, asks as x from {V} union all by name select status as x, debate_id as judge_id from {D}",
            {ASKS, STATUS},
        ),
        (f"select asks from {V} union by name select status as x from {D}", {STATUS}),
        (
            f"select 'a' as x from {V} union all select 'b' from {D}",
            {"rows of raw.verdicts", "rows of raw.debates"},
        ),
        (
            f"with recursive r as (select asks as x, 1 as n from {V} union all select x + n, n + 1 from r where n < 3) "
            "select x from r",
            {ASKS},
        ),
        (f"select (select max(status) from {D}) as x from {V}", {STATUS}),
        (
            f"select exists (select 1 from {D} as d where d.debate_id = v.debate_id) as x from {V} as v",
            {"rows of raw.debates"},
        ),
        (f"select asks in (select status from {D}) as x from {V}", {ASKS, STATUS}),
        (f"select asks::varchar as y, y || judge_id as x from {V}", {ASKS, JUDGE}),
        (f"select judge_id.upper() as x from {V}", {JUDGE}),
        (f"select stg_verdicts.judge_id.upper().substr(1, asks) as x from {V}", {JUDGE, ASKS}),
        (f"select [asks, judge_id].list_max() as x from {V}", {ASKS, JUDGE}),
        (f"select asks.sum() over (partition by judge_id) as x from {V}", {ASKS, JUDGE}),
        (f"select list_transform(scores, lambda s: s.pro.abs() + asks) as x from {V}", {SCORES, ASKS}),
        (f"select scores.list_transform(lambda s: s.pro + asks) as x from {V}", {SCORES, ASKS}),
        (f"select main.upper(judge_id) as x from {V}", {JUDGE}),
        (f"with u as (select judge_id.upper() as y from {V}) select y.lower() as x from u", {JUDGE}),
        (f"select distinct on (judge_id) asks as x from {V}", {ASKS}),
        (f"select asks as x from {V} qualify row_number() over (order by judge_id) = 1", {ASKS}),
        (f"select elo_ratings([asks], [1], [2], [0.5], 400, 32) as x from {V}", {ASKS}),
        (f"(select asks as x from {V})", {ASKS}),
        (f"select g.x from {V} as v, generate_series(1, v.asks) as g(x)", {ASKS}),
        ("select g.x from generate_series(1, 3) as g(x)", CONSTANT),
        ("select t.n as x from (values (1, 'a'), (2, 'b')) as t(n, s)", CONSTANT),
        (f"select 'it''s' as x from {V}", CONSTANT),
        (f"with stg_verdicts as (select * from {V}) select stg_verdicts.asks as x from stg_verdicts", {ASKS}),
        (f"select x.asks as x from {V} as x", {ASKS}),
        (f'select "asks" as "x" from {V}', {ASKS}),
        ("select ASKS as X from STAGING.STG_VERDICTS", {ASKS}),
    ],
)
def test_a_construct_is_followed_to_its_sources(tmp_path: Path, sql: str, expected: set[str]):
    files = {}
    if "elo_ratings" in sql:
        files["marts/m.yml"] = "models: [{name: m, description: Something., config: {materialized: table}}]"
    node = trace(tmp_path, sql, **files)
    last = [each for each in node.nodes() if not each.upstream]
    assert {each.name for each in last if not each.is_constant} == expected
    assert not any(each.problem for each in node.nodes())


def test_two_sql_models_of_one_table_name_do_not_mix(tmp_path: Path):
    files = {
        "extra/m.sql": f"select status as x from {D}",
        "extra/m.yml": "models: [{name: m, description: Another.}, {name: n, description: N.}]",
        "extra/n.sql": "select 1 as x",
        "other/n.sql": "select 1 as x",
        "other/n.yml": "models: [{name: n, description: N.}]",
    }
    assert ends(trace(tmp_path, f"select asks as x from {V}", **files)) == {"raw.verdicts.asks"}
    project = write_project(tmp_path / "sql", {})
    assert ends(column_lineage(project, "extra.m.x")) == {"raw.debates.status"}
    assert column_lineage(project, "m").name == "marts.m"
    with pytest.raises(UsageError, match=r"'n' is ambiguous: extra\.n or other\.n"):
        column_lineage(project, "n")


def test_what_cannot_be_taken_apart_says_so_and_stops_nothing_else(tmp_path: Path):
    files = {
        "marts/m.yml": """
            models:
              - name: m
                description: Something.
                columns: [{name: x, description: X.}]
              - {name: above, description: Above.}
            """,
        "marts/above.sql": "select x, 1 as one from marts.m",
    }
    node = trace(tmp_path, f"select columns('as.*') from {V}", **files)
    assert node.problem == "COLUMNS(…) hides which columns are selected; name them"
    project = write_project(tmp_path / "sql", {})
    above = column_lineage(project, "marts.above.x")
    assert [each.problem for each in above.upstream] == [node.problem]
    assert f"(cannot be traced: {node.problem})" in lineage_text(above)
    assert column_lineage(project, "marts.above.one").is_constant


@pytest.mark.parametrize(
    ("sql", "word"),
    [
        (f"select run_tag,\n columns('as.*') as x from {V}", "COLUMNS"),
        (f"select run_tag,\n coalesce(*columns('as.*')) as x from {V}", "COLUMNS"),
        (f"select x from (\nunpivot {V} on columns(* exclude (run_tag)) into name k value x)", "COLUMNS"),
        (f"with u as (\nunpivot {V} on asks, judge_id into name k value x) select k, x from u", "UNPIVOT"),
        (f"select k, x from {V}\n unpivot (x for k in (asks, judge_id))", "UNPIVOT"),
        (f"with u as (\npivot {V} on judge_id using sum(asks) group by run_tag) select run_tag, x from u", "PIVOT"),
        (f"select x from (\npivot {V} on judge_id using sum(asks) group by run_tag)", "PIVOT"),
        (f'select "1" as x from {V}\n pivot (sum(asks) for run_tag in (1, 2))', "PIVOT"),
    ],
)
def test_a_query_that_makes_columns_without_naming_them_is_refused_with_its_place(tmp_path: Path, sql: str, word: str):
    described = "models: [{name: m, description: M., columns: [{name: x, description: X.}]}]"
    node = trace(tmp_path, sql, **{"marts/m.yml": described})
    assert str(node.problem).startswith(word)
    assert (node.line, node.upstream, node.is_constant) == (2, (), False)
    assert "m.sql:2" in lineage_text(node).replace("\n", "")


@pytest.mark.parametrize("pattern", ["like 'as%'", "similar to 'as.*'"])
def test_a_pattern_after_a_star_cannot_be_traced(tmp_path: Path, pattern: str):
    described = "models: [{name: m, description: M., columns: [{name: asks, description: X.}]}]"
    node = trace(tmp_path, f"select * {pattern} from {V}", "asks", **{"marts/m.yml": described})
    assert node.problem == "a pattern after a star hides which columns are selected; name them"


def test_a_chain_of_hundreds_of_sql_models_is_followed(tmp_path: Path):
    count = 300
    files = {f"marts/c{n}.sql": f"select x + 1 as x from marts.c{n - 1}" for n in range(1, count)}
    files["marts/c0.sql"] = f"select asks as x from {V}"
    files["marts/c.yml"] = "models:\n" + "".join(f"  - {{name: c{n}, description: C.}}\n" for n in range(count))
    project = write_project(tmp_path / "sql", {**FILES, "marts/m.sql": f"select asks as x from {V}", **files})
    node = column_lineage(project, f"marts.c{count - 1}.x")
    assert ends(node) == {"raw.verdicts.asks"}
    assert len(list(node.nodes())) == count + 2


# --- how it is written ------------------------------------------------------------------------------------------------

SQL = f"""\
-- One row.
with

verdicts as (
    select * from {V} -- import
),

totals as (
    select
        judge_id,
        -- Only what counts.
        sum(
            case when is_valid then asks end
        ) as total, -- the sum
        count(*) as n,
        'a,b' as note
    from verdicts
    group by judge_id
)

select
    total / n as x,
    totals.judge_id is distinct from note as y
from totals
"""


def test_expressions_are_shown_as_they_are_written_on_one_line(tmp_path: Path):
    node = trace(tmp_path, SQL)
    assert (node.expression, node.line) == ("total / n", 22)
    total, count = node.upstream
    assert (total.name, total.expression) == ("totals.total", "sum(case when is_valid then asks end)")
    assert total.line == 12
    assert (count.expression, count.line) == ("count(*)", 15)
    other = column_lineage(write_project(tmp_path / "sql", {}), "marts.m.y")
    assert other.expression == "totals.judge_id is distinct from note"
    assert {each.name for each in other.upstream} == {"staging.stg_verdicts.judge_id", "totals.note"}


def test_columns_of_one_sql_model_share_the_steps_between_them(tmp_path: Path):
    ctes = f"with a as (select asks + 1 as n from {V}), b as (select n * 2 as m from a)"
    node = trace(tmp_path, f"{ctes} select m + n as x from a, b")
    steps = [each for each in node.nodes() if each.name == "a.n"]
    assert len(steps) == 1
    assert lineage_text(node).count("a.n = asks + 1") == 1


def test_an_expression_is_found_whatever_stands_before_it_in_the_list(tmp_path: Path):
    def written(sql: str) -> str:
        return str(trace(tmp_path, sql).expression)

    assert written(f"select distinct on (judge_id, (run_tag)) asks + 1 as x, 2 as y from {V}") == "asks + 1"
    assert written(f"select all asks + 1 x from {V}") == "asks + 1"
    assert written(f"select max(asks, 2), asks is distinct from 1 as x from {V}") == "asks is distinct from 1"
    assert written(f"select x: Asks + 1, y: 2 from {V}").lower() == "asks + 1"


def test_the_text_is_a_tree_with_files_and_expressions(tmp_path: Path):
    assert (
        lineage_text(trace(tmp_path, SQL))
        == """\
marts.m.x = total / n  sql/marts/m.sql:22
├─ totals.total = sum(case when is_valid then asks end)  sql/marts/m.sql:12
│  ├─ staging.stg_verdicts.is_valid  sql/staging/stg_verdicts.sql:2
│  │  └─ raw.verdicts.is_valid
│  └─ staging.stg_verdicts.asks  sql/staging/stg_verdicts.sql:2
│     └─ raw.verdicts.asks
└─ totals.n = count(*)  sql/marts/m.sql:15
   └─ rows of staging.stg_verdicts  sql/staging/stg_verdicts.sql
      └─ rows of raw.verdicts
"""
    )


def test_depth_counts_sql_models_and_says_where_it_cuts(tmp_path: Path):
    node = trace(tmp_path, SQL)
    assert (
        lineage_text(node, depth=0)
        == """\
marts.m.x = total / n  sql/marts/m.sql:22
├─ totals.total = sum(case when is_valid then asks end)  sql/marts/m.sql:12 …
└─ totals.n = count(*)  sql/marts/m.sql:15 …
"""
    )
    assert "raw." not in lineage_text(node, depth=1)
    assert lineage_text(node, depth=2) == lineage_text(node)
    cut = json.loads(lineage_json(node, depth=1))["nodes"]
    assert [each["name"] for each in cut if each["is_cut"]] == [
        "staging.stg_verdicts.is_valid",
        "staging.stg_verdicts.asks",
        "rows of staging.stg_verdicts",
    ]


def test_what_comes_again_is_shown_once(packaged: Project):
    text = lineage_text(column_lineage(packaged, "marts.leaderboard.win_rate"))
    lines = text.splitlines()
    assert sum("marts.games.pro_score = " in line for line in lines) == 1
    assert sum("marts.games.pro_score  (as above)" in line for line in lines) == 2
    assert max(map(len, lines)) <= 120


def test_json_lists_each_node_once_with_the_ids_above_it(packaged: Project):
    node = column_lineage(packaged, "marts.leaderboard.rating")
    data = json.loads(lineage_json(node))
    nodes = data["nodes"]
    assert data["name"] == nodes[0]["name"] == "marts.leaderboard.rating"
    assert [each["id"] for each in nodes] == list(range(len(nodes)))
    assert {up for each in nodes for up in each["upstream"]} == set(range(1, len(nodes)))
    assert {each["name"] for each in nodes if not each["upstream"]} == ends(node)
    assert not any(each["is_cut"] for each in nodes)
    assert nodes[0]["file"].endswith("sql/marts/debaters/leaderboard.sql")


def test_mermaid_has_an_arrow_for_every_step_and_harmless_labels(tmp_path: Path):
    text = lineage_mermaid(trace(tmp_path, f"select case when asks < 3 then '\"]; click' end as x from {V}"))
    assert (
        text
        == """\
flowchart LR
    n0["marts.m.x<br>case when asks #lt; 3 then '#quot;]; click' end"]
    n1["staging.stg_verdicts.asks"]
    n2[("raw.verdicts.asks")]
    n1 --> n0
    n2 --> n1
"""
    )


def test_control_characters_of_a_file_do_not_reach_the_terminal(tmp_path: Path):
    node = trace(tmp_path, f"select asks || '\x1b[31m' as x from {V}")
    for text in (lineage_text(node), lineage_json(node), lineage_mermaid(node)):
        assert "\x1b" not in text
