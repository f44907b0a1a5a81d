"""Two versions of a SQL model side by side: rows by key, and the leaderboard that follows from each."""

from __future__ import annotations

import hashlib
import json
import math
from datetime import date, datetime
from decimal import Decimal
from pathlib import Path

import duckdb
import pytest
from built_warehouse import packaged_project
from imported import land_records
from sql_project import STAGING, raw_database, write_project

from debatebench.landing.land import create_raw_tables
from debatebench.query.row_diff import ChangedRow, RunCounts, ValueChange
from debatebench.query.sql_project import load_project
from debatebench.query.version_diff import ModelDiff, diff_model
from debatebench.shared.errors import UsageError
from debatebench.shared.records import Debate, Debater, Record, Run, Score, Verdict
from debatebench.shared.workspace import Workspace, packaged
from debatebench.transform.build import build
from debatebench.transform.model_versions import is_prerelease, reading_warnings, remarks, versions_of
from debatebench.transform.project import Project

pytestmark = pytest.mark.slow

NOON = datetime(2026, 1, 1, 12)
S = "staging.stg_debates"


def tournament(tag: str, *debates: tuple[str, str, str, str]) -> list[Record]:
    """A run of debates given as (id, pro, con, votes); each vote is `p`, `c` or `t`, by label and by scores alike."""
    records: list[Record] = [
        Run(
            run_tag=tag,
            source="run",
            format="tournament",
            created_at=NOON,
            elo_initial_rating=400,
            elo_k_factor=32,
            min_games_for_display=0,
        )
    ]
    records += [Debater(run_tag=tag, model_id=name) for name in sorted({n for _, p, c, _ in debates for n in (p, c)})]
    points = {"p": (7, 5), "c": (5, 7), "t": (6, 6)}
    labels = {"p": "pro", "c": "con", "t": "tie"}
    for position, (debate_id, pro, con, votes) in enumerate(debates):
        records.append(
            Debate(
                run_tag=tag,
                debate_id=debate_id,
                source_position=position,
                schedule_position=position,
                topic_id="t",
                format="two_sided",
                pro_model_id=pro,
                con_model_id=con,
                status="complete",
                created_at=NOON,
            )
        )
        for seat, vote in enumerate(votes):
            pro_points, con_points = points[vote]
            records.append(
                Verdict(
                    run_tag=tag,
                    debate_id=debate_id,
                    judge_id=f"j{seat}",
                    panel_position=seat,
                    is_valid=True,
                    declared_winner=labels[vote],
                    scores=(Score(dimension="d", pro=Decimal(pro_points), con=Decimal(con_points)),),
                )
            )
    return records


# One pro vote beside two ties is a tie by strict majority (version 1), and pro by plurality (version 2).
RUNS = [
    tournament("close", ("d1", "a", "b", "ptt"), ("d2", "b", "a", "ppp"), ("d3", "b", "a", "ctt")),
    tournament("clear", ("d1", "a", "b", "ppp"), ("d2", "b", "a", "ccp")),
]


@pytest.fixture(scope="module")
def project() -> Project:
    return packaged_project()


@pytest.fixture(scope="module")
def database(project: Project, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A published warehouse with both runs."""
    path = tmp_path_factory.mktemp("diff") / "w.duckdb"
    with duckdb.connect(str(path)) as con:
        create_raw_tables(con)
        for records in RUNS:
            land_records(con, records[0].run_tag, records)
        build(con, project)
    return path


@pytest.fixture(scope="module")
def diff(database: Path, project: Project) -> ModelDiff:
    return diff_model(database, project, "panel_winners", 1, 2)


# --- rows -------------------------------------------------------------------------------------------------------------


def test_rows_that_change_are_counted_by_run(diff: ModelDiff):
    assert diff.name == "marts.panel_winners"
    assert diff.key == ("run_tag", "debate_id")
    assert diff.runs == (RunCounts("clear", 2, 2, 0, 0, 0), RunCounts("close", 3, 3, 0, 0, 2))
    assert [run.unchanged for run in diff.runs] == [2, 1]
    assert diff.columns_changed == {"winner": 2, "winner_without_tie": 2}


def test_what_became_of_what_is_counted_for_winners(diff: ModelDiff):
    assert diff.values == tuple(
        ValueChange(column, "tie", after, 1) for column in ("winner", "winner_without_tie") for after in ("con", "pro")
    )


def test_a_changed_row_shows_only_the_columns_that_differ(diff: ModelDiff):
    key = {"run_tag": "close", "debate_id": "d1"}
    columns = ("winner", "winner_without_tie")
    assert diff.rows[0] == ChangedRow("changed", key, dict.fromkeys(columns, "tie"), dict.fromkeys(columns, "pro"))
    assert diff.rows[0].cells() == [(column, "tie", "pro") for column in columns]


def test_the_other_direction_is_the_mirror_image(database: Path, project: Project, diff: ModelDiff):
    back = diff_model(database, project, "marts.panel_winners", 2, 1)
    assert [(row.before, row.after) for row in back.rows] == [(row.after, row.before) for row in diff.rows]
    assert diff.leaderboard is not None
    assert back.leaderboard is not None
    ratings = {(each.run_tag, each.model_id): (each.rating_before, each.rating_after) for each in diff.leaderboard}
    assert {
        (each.run_tag, each.model_id): (each.rating_after, each.rating_before) for each in back.leaderboard
    } == ratings


def test_one_run_alone_has_its_rows_and_debaters_only(database: Path, project: Project):
    one = diff_model(database, project, "panel_winners", 1, 2, run_tags=["close"])
    assert [run.run_tag for run in one.runs] == ["close"]
    assert one.leaderboard is not None
    assert {each.run_tag for each in one.leaderboard} == {"close"}


def test_the_limit_cuts_the_rows_and_not_the_counts(database: Path, project: Project):
    one = diff_model(database, project, "panel_winners", 1, 2, limit=1)
    assert len(one.rows) == 1
    assert one.differing_rows == 2
    assert len(diff_model(database, project, "panel_winners", 1, 2, limit=None).rows) == 2


def test_columns_that_only_one_version_has_are_named_and_not_compared(database: Path, project: Project):
    judges = diff_model(database, project, "judge_verdicts", 1, 2)
    assert judges.columns_only_before == ()
    assert judges.columns_only_after == ("pro_mean_score", "con_mean_score")
    assert judges.differing_rows == 0


# --- the leaderboard --------------------------------------------------------------------------------------------------


def test_the_leaderboard_is_computed_under_both_versions(diff: ModelDiff):
    """By hand: a has one point of three before and two after, and odds of two to one are 400 log10(2) points."""
    assert diff.leaderboard is not None
    close = {each.model_id: each for each in diff.leaderboard if each.run_tag == "close"}
    half_a_gap = 200 * math.log10(2)
    assert close["a"].rating_before == pytest.approx(400 - half_a_gap, abs=1e-6)
    assert close["a"].rating_after == pytest.approx(400 + half_a_gap, abs=1e-6)
    assert close["a"].difference == pytest.approx(2 * half_a_gap, abs=1e-6)
    assert (close["b"].rank_before, close["b"].rank_after) == (1, 2)
    clear = [each for each in diff.leaderboard if each.run_tag == "clear"]
    assert all(each.rating_before == each.rating_after for each in clear)


def test_the_side_that_is_the_latest_version_is_the_published_leaderboard(database: Path, diff: ModelDiff):
    with duckdb.connect(str(database), read_only=True) as con:
        published = con.execute("select run_tag, model_id, rank, rating from marts.leaderboard").fetchall()
    assert diff.leaderboard is not None
    assert {(e.run_tag, e.model_id, e.rank_after, e.rating_after) for e in diff.leaderboard} == set(published)


def test_a_leaderboard_that_reads_a_version_by_its_number_cannot_change(database: Path, project: Project):
    judges = diff_model(database, project, "judge_verdicts", 1, 2)
    assert judges.leaderboard is None
    assert judges.remark == (
        "marts.leaderboard does not depend on marts.judge_verdicts: "
        "marts.panel_winners_v4 reads marts.judge_verdicts_v4, which stays as it is."
    )


def test_the_published_file_is_only_read(database: Path, project: Project):
    before = hashlib.sha256(database.read_bytes()).hexdigest()
    diff_model(database, project, "panel_winners", 1, 2)
    assert hashlib.sha256(database.read_bytes()).hexdigest() == before
    assert [path.name for path in database.parent.iterdir()] == [database.name]


# --- versions of one's own --------------------------------------------------------------------------------------------


@pytest.fixture
def with_another(tmp_path: Path) -> Project:
    """The packaged SQL models, and a prerelease in which any vote for pro wins."""
    folder = tmp_path / "ws" / "sql" / "marts"
    folder.mkdir(parents=True)
    own = packaged("sql") / "marts" / "debates"
    yaml = (own / "panel_winners.yml").read_text(encoding="utf-8")
    (folder / "panel_winners.yml").write_text(
        yaml.replace("      - v: 2\n", "      - v: 5\n        description: Any vote for pro wins.\n      - v: 2\n"),
        encoding="utf-8",
    )
    macros = tmp_path / "ws" / "sql" / "macros"
    macros.mkdir()
    arguments = [{"name": name, "type": "bigint"} for name in ("status", "pro", "con", "tie", "lead")]
    sql = (
        "macros.panel_decision(status, pro, con, tie, "
        "case when pro > 0 then 'pro' when pro < con then 'con' else 'tie' end)"
    )
    macro = {"name": "any_for_pro", "description": "Any vote wins.", "arguments": arguments, "sql": sql}
    (macros / "own.yml").write_text(json.dumps({"macros": [macro]}), encoding="utf-8")
    second = (own / "panel_winners_v2.sql").read_text(encoding="utf-8")
    (folder / "panel_winners_v5.sql").write_text(
        second.replace("macros.more_verdicts", "macros.any_for_pro"),
        encoding="utf-8",
    )
    return load_project(Workspace(tmp_path / "ws").files("sql", "**/*"))


def test_a_prerelease_is_compared_before_it_was_ever_built(database: Path, with_another: Project):
    diff = diff_model(database, with_another, "panel_winners", 2, 5)
    assert [(row.key["run_tag"], row.key["debate_id"], row.after) for row in diff.rows] == [
        ("clear", "d2", {"winner": "pro", "winner_without_con": "pro"})
    ]
    assert diff.leaderboard is not None
    changed = {each.model_id: each.difference for each in diff.leaderboard if each.run_tag == "clear"}
    assert changed["b"] is not None
    assert changed["b"] > 0


def test_a_version_that_downstream_cannot_use_leaves_the_rows_and_says_why(database: Path, with_another: Project):
    file = with_another.files["marts/panel_winners_v5.sql"]
    sql = file.read_text(encoding="utf-8")
    file.write_text(f"select run_tag, debate_id, count_pro from (\n{sql}\n)")
    diff = diff_model(database, load_project(with_another.files), "panel_winners", 2, 5)
    assert diff.columns_only_before == (
        "count_con",
        "count_tie",
        "count_valid_verdicts",
        "winner",
        "winner_without_pro",
        "winner_without_con",
        "winner_without_tie",
    )
    assert diff.leaderboard is None
    assert diff.remark is not None
    assert diff.remark.startswith("marts.leaderboard cannot be computed with version 5: SQL model ")


def test_a_version_above_the_latest_is_a_prerelease(with_another: Project):
    alias, versions = versions_of(with_another.models, "panel_winners")
    assert alias.alias_of == "marts.panel_winners_v4"
    assert [(number, is_prerelease(model)) for number, model in versions.items()] == [
        (1, False),
        (2, False),
        (3, False),
        (4, False),
        (5, True),
    ]
    assert remarks(versions[5], date(2026, 1, 1)) == [
        "marts.panel_winners_v5 is a prerelease: its meaning may still change."
    ]


def test_who_reads_a_prerelease_or_something_deprecated_is_warned(tmp_path: Path):
    files = STAGING | {f"marts/winners_v{n}.sql": f"select * from {S}" for n in (1, 2, 3)}
    files |= {
        "marts/winners_v4.sql": "select * from marts.winners_v3",
        "marts/other.sql": "select v1.* from marts.winners_v1 as v1 join marts.winners_v3 using (run_tag)",
        "marts/m.yml": """
            models:
              - name: winners
                description: Who won.
                latest_version: 2
                versions: [{v: 1, deprecation_date: 2026-03-01}, {v: 2}, {v: 3, prerelease: true}, {v: 4}]
              - {name: other, description: Another.}
            """,
    }
    project = write_project(tmp_path, files)
    prerelease = "marts.other reads marts.winners_v3, a prerelease whose meaning may still change."
    assert list(reading_warnings(project.models, date(2026, 2, 1))) == [prerelease]
    assert list(reading_warnings(project.models, date(2026, 3, 1))) == [
        "marts.other reads marts.winners_v1, which has been deprecated since 2026-03-01.",
        prerelease,
    ]
    first = versions_of(project.models, "winners")[1][1]
    assert remarks(first, date(2026, 2, 1)) == ["marts.winners_v1 will be deprecated on 2026-03-01."]
    assert remarks(first, date(2026, 3, 1)) == ["marts.winners_v1 has been deprecated since 2026-03-01."]


# --- small SQL models -------------------------------------------------------------------------------------------------


def compare(folder: Path, before: str, after: str, tests: str = "[]", run_tags: list[str] | None = None) -> ModelDiff:
    """The difference of two queries over the three debates of `raw_database`."""
    files = STAGING | {
        "marts/x_v1.sql": before,
        "marts/x_v2.sql": after,
        "marts/x.yml": f"models: [{{name: x, description: X., versions: [{{v: 1}}, {{v: 2}}], data_tests: {tests}}}]",
    }
    project = write_project(folder / "sql", files)
    database = folder / "w.duckdb"
    with raw_database(str(database)) as con:
        create_raw_tables(con)
        con.execute("insert into raw.runs (run_tag) values ('r1')")
        build(con, project)
    return diff_model(database, project, "x", 1, 2, run_tags=run_tags)


KEYED = "[{unique_combination_of_columns: {combination_of_columns: [debate_id]}}]"


def test_rows_on_one_side_only_are_added_or_removed(tmp_path: Path):
    diff = compare(
        tmp_path,
        f"select run_tag, debate_id, winner from {S} where debate_id <> 'd3'",
        f"select run_tag, debate_id, winner from {S} where debate_id <> 'd1'",
        KEYED,
    )
    assert diff.key == ("run_tag", "debate_id"), "the run belongs to every key"
    assert diff.runs == (RunCounts("r1", 2, 2, added=1, removed=1, changed=0),)
    removed, added = diff.rows
    assert (removed.change, removed.key["debate_id"], removed.before) == ("removed", "d1", {"winner": "pro"})
    assert (added.change, added.key["debate_id"], added.after) == ("added", "d3", {"winner": "con"})
    assert added.before == removed.after == {}
    assert added.cells() == [(None, None, None)]


def test_nulls_equal_nulls_in_keys_and_in_values(tmp_path: Path):
    sql = f"select run_tag, nullif(debate_id, 'd1') as debate_id, nullif(winner, 'tie') as winner from {S}"
    assert compare(tmp_path, sql, sql, KEYED).differing_rows == 0


def test_a_null_that_gets_a_value_is_a_change(tmp_path: Path):
    sql = f"select run_tag, debate_id, nullif(winner, 'tie') as winner from {S}"
    diff = compare(tmp_path, sql, f"select run_tag, debate_id, winner from {S}", KEYED)
    assert [row.cells() for row in diff.rows] == [[("winner", None, "tie")]]


def test_without_a_key_whole_rows_are_matched_as_often_as_they_come(tmp_path: Path):
    diff = compare(
        tmp_path,
        f"select run_tag, 'same' as word from {S}",
        f"select run_tag, 'same' as word from {S} limit 2",
    )
    assert diff.key == ()
    assert diff.runs == (RunCounts("r1", 3, 2, added=0, removed=1, changed=0),)
    assert diff.rows[0].key == {"run_tag": "r1", "word": "same"}


def test_a_model_without_runs_is_counted_as_a_whole(tmp_path: Path):
    diff = compare(tmp_path, f"select debate_id, winner from {S}", f"select debate_id, 'pro' as winner from {S}", KEYED)
    assert diff.runs == (RunCounts(None, 3, 3, 0, 0, 2),)
    assert diff.remark == "There is no marts.leaderboard in this project."


def test_a_run_cannot_be_chosen_where_there_are_none(tmp_path: Path):
    with pytest.raises(UsageError, match=r"marts\.x_v1 has no column run_tag; leave --run-tag out\."):
        compare(tmp_path, f"select debate_id from {S}", f"select debate_id from {S}", run_tags=["r1"])


def test_a_key_is_all_that_two_versions_may_share(tmp_path: Path):
    diff = compare(tmp_path, f"select debate_id, 1 as a from {S}", f"select debate_id, 2 as b from {S} limit 1", KEYED)
    assert (diff.columns_only_before, diff.columns_only_after) == (("a",), ("b",))
    assert [row.change for row in diff.rows] == ["removed", "removed"]


# --- bad input --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "before", "after", "complaint"),
    [
        (
            "panel_winner",
            1,
            2,
            "Did you mean 'panel_winners'? With versions: marts.judge_verdicts, marts.panel_winners.",
        ),
        ("leaderboard", 1, 2, "marts.leaderboard has no versions."),
        ("panel_winners", 1, 5, "marts.panel_winners has no version 5. Versions: 1, 2, 3, 4."),
        ("panel_winners", 2, 2, "Both versions of marts.panel_winners are 2"),
    ],
)
def test_a_mistake_is_answered_with_what_there_is(
    database: Path, project: Project, name: str, before: int, after: int, complaint: str
):
    with pytest.raises(UsageError) as error:
        diff_model(database, project, name, before, after)
    assert complaint in str(error.value)


def test_an_unknown_run_is_refused(database: Path, project: Project):
    with pytest.raises(UsageError, match=r"No run 'nope' in the warehouse\. Known: clear, close\."):
        diff_model(database, project, "panel_winners", 1, 2, run_tags=["nope"])


def test_without_a_warehouse_there_is_nothing_to_compare(tmp_path: Path, project: Project):
    with pytest.raises(UsageError, match="There is no warehouse"):
        diff_model(tmp_path / "none.duckdb", project, "panel_winners", 1, 2)
