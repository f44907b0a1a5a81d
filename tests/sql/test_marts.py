"""The SQL models over small tournaments written by hand, and over random ones beside a reference in plain Python."""

from __future__ import annotations

import random
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime, timedelta
from decimal import Decimal
from fractions import Fraction
from itertools import combinations
from pathlib import Path
from typing import Any

import duckdb
import pytest
from built_warehouse import new_warehouse, packaged_project, store_views
from imported import land_records
from paths import REPOSITORY

from debatebench.landing.land import create_raw_tables
from debatebench.output.summaries import SUMMARIES, ratings_json, write_summaries
from debatebench.shared.errors import DebatebenchError, UsageError
from debatebench.shared.records import (
    Call,
    Debate,
    Debater,
    Dimension,
    Judge,
    Record,
    Run,
    ScheduledDebate,
    Score,
    Topic,
    Turn,
    Verdict,
)
from debatebench.transform.build import build
from debatebench.transform.project import Project
from debatebench.transform.sql_model import SqlModel
from debatebench.transform.testing.data_tests import run_data_tests
from debatebench.transform.testing.generic_tests import Unique, UniqueCombinationOfColumns
from debatebench.transform.testing.unit_tests import run_unit_tests

NOON = datetime(2026, 1, 1, 12)
# Their rows stand in the SQL and are the same in every warehouse.
CONSTANTS = {"intermediate.int_setting_items", "intermediate.int_t_quantiles"}


@pytest.fixture(scope="module")
def project() -> Project:
    return packaged_project()


def warehouse_of(
    project: Project, *runs: Sequence[Record], path: Path | None = None, select: Sequence[str] | None = None
) -> duckdb.DuckDBPyConnection:
    """A warehouse that holds the records of each run, with every SQL model built, or those that `select` says."""
    con = new_warehouse(path)
    for records in runs:
        land_records(con, records[0].run_tag, records)
    build(con, project, select=select)
    return con


def stored_warehouse_of(project: Project, *runs: Sequence[Record]) -> duckdb.DuckDBPyConnection:
    """The same with tables for views, for those who read all of them."""
    con = warehouse_of(project, *runs)
    store_views(con, project.models)
    return con


# They hold a run only where there is another to compare it with.
COMPARED = {"intermediate.int_comparison_debates", "intermediate.int_judging_sums"}


def contents(con: duckdb.DuckDBPyConnection, project: Project, run_tag: str) -> dict[str, list[tuple[Any, ...]]]:
    """Every row that every SQL model holds of one run."""
    return {
        name: con.execute(f"select * from {name} where run_tag = ? order by all", [run_tag]).fetchall()
        for name, model in project.models.items()
        if is_about_a_run(model) and name not in COMPARED
    }


def is_about_a_run(model: SqlModel) -> bool:
    """Whether rows belong to a run; the others pool or compare runs, and say so by their key."""
    columns = {column.name for column in model.properties.columns}
    return "run_tag" in columns and not {"baseline", "first_run_tag"} & columns


def failures(results: Iterable[Any]) -> list[str]:
    return [str(result) for result in results if result.status != "pass"]


# --- a run by hand ---------------------------------------------------------------------------------------------------


def scores(*pairs: tuple[str, str]) -> tuple[Score, ...]:
    return tuple(Score(dimension=f"d{n}", pro=Decimal(p), con=Decimal(c)) for n, (p, c) in enumerate(pairs))


PRO, CON, TIE = scores(("8", "6"), ("7", "6")), scores(("3", "6"), ("7", "6")), scores(("0.1", "0.3"), ("0.2", "0"))


def frame(run_tag: str, debaters: Sequence[str], judges: Sequence[str], **settings: Any) -> list[Record]:
    """A run's records besides what was played."""
    return [
        Run(run_tag=run_tag, source="run", format="tournament", created_at=NOON, **settings),
        Topic(run_tag=run_tag, topic_id="t1", source_position=0, motion="This house would.", category="law"),
        Topic(run_tag=run_tag, topic_id="t2", source_position=1, motion="This house would not."),
        *(Debater(run_tag=run_tag, model_id=name) for name in debaters),
        *(Judge(run_tag=run_tag, judge_id=name) for name in judges),
        *(Dimension(run_tag=run_tag, dimension=f"d{n}", source_position=n) for n in range(2)),
    ]


def debate(
    run_tag: str,
    position: int,
    pro: str,
    con: str,
    verdicts: Sequence[tuple[str, Any]],
    *,
    turn: dict[str, Any] | None = None,
    **fields: Any,
) -> list[Record]:
    """A planned debate of one turn per side, judged as `verdicts` (judge, scores or None for an invalid answer) say."""
    debate_id = f"debate{position}"
    topic_id = "t1" if position % 2 == 0 else "t2"
    where = {"run_tag": run_tag, "debate_id": debate_id}
    rows: list[Record] = [
        ScheduledDebate(
            **where,
            schedule_position=position,
            topic_id=topic_id,
            pro_model_id=pro,
            con_model_id=con,
            repetition=0,
            debate_seed=position,
            panel=tuple(judge for judge, _ in verdicts),
        ),
        Debate(
            **where,
            source_position=position,
            schedule_position=position,
            topic_id=topic_id,
            pro_model_id=pro,
            con_model_id=con,
            created_at=NOON - timedelta(minutes=position),
            **fields,
        ),
    ]
    for index, (side, model_id) in enumerate((("pro", pro), ("con", con))):
        said = {"total_tokens": 10, "duration_ms": 5.0, "cost": 0.25, "cost_source": "billed"} | (turn or {})
        rows.append(
            Turn(**where, turn_index=index, position=side, side=side, model_id=model_id, content="Because.", **said)
        )
    for seat, (judge_id, given) in enumerate(verdicts):
        rows.append(
            Verdict(
                **where,
                judge_id=judge_id,
                panel_position=seat,
                is_valid=given is not None,
                scores=given,
                declared_winner=None if given is None else {PRO: "pro", CON: "con", TIE: "tie"}[given],
                cost=Decimal("0.5"),
            )
        )
    return rows


TINY = [
    *frame("tiny", ["a", "b", "=c", "late"], ["j1", "j2", "j3", "j4"], min_games_for_display=3),
    *debate("tiny", 0, "a", "b", [("j1", PRO), ("j2", PRO), ("j3", CON)]),
    *debate("tiny", 1, "b", "a", [("j1", PRO), ("j2", TIE), ("j3", TIE)]),
    *debate("tiny", 2, "=c", "a", [("j1", CON), ("j2", None), ("j4", CON), ("j3", TIE)]),
    *debate("tiny", 3, "a", "a", [("j1", PRO), ("j2", PRO), ("j3", PRO)]),
    *debate("tiny", 4, "b", "=c", [("j1", PRO), ("j2", None), ("j3", PRO)], status="incomplete", status_reason="j2"),
    *debate("tiny", 5, "b", "a", [("j1", None), ("j2", None)], turn={"cost": None, "cost_source": None}),
]


@pytest.fixture(scope="module")
def tiny(project: Project) -> Iterator[duckdb.DuckDBPyConnection]:
    con = stored_warehouse_of(project, TINY)
    yield con
    con.close()


def test_unit_tests_of_the_models_pass(project: Project):
    results = run_unit_tests(project)
    assert len(results) > 30
    assert failures(results) == []


# A measure that is no dimension's has none, and a judge of debates without verdicts of people has no truth. The test of
# the key takes nulls for equal.
MAY_BE_MISSING = {
    (name, "dimension")
    for name in (
        "marts.debater_comparison",
        "marts.judge_bias",
        "marts.version_trend",
        "intermediate.int_judge_bias_sums",
        "intermediate.int_subject_values",
    )
} | {(name, part) for name in ("marts.judge_value", "intermediate.int_judge_prices") for part in ("format", "truth")}


def test_every_model_has_a_tested_key(project: Project):
    """Unique, and no part of it null: a missing part would let a row slip past every join."""
    for name, model in project.models.items():
        is_former_name = model.properties.deprecation_date is not None
        if model.alias_of is not None or is_former_name:
            continue
        columns = {column.name: column for column in model.properties.columns}
        single = [c for c, column in columns.items() if any(isinstance(t, Unique) for t in column.data_tests)]
        several = [t for t in model.properties.data_tests if isinstance(t, UniqueCombinationOfColumns) and not t.where]
        keys = [tuple(single)] if single else [test.combination_of_columns for test in several]
        assert keys, f"{name} has no tested key"
        for column in keys[0]:
            is_never_null = any(test.kind == "not_null" for test in columns[column].data_tests)
            assert is_never_null or (name, column) in MAY_BE_MISSING, f"{name}.{column}"
        scope = (
            {"run_tag"}
            if is_about_a_run(model)
            else {"benchmark_version", "pool", "baseline", "model_id", "source_run_tag", "content_id"}
        )
        assert name in CONSTANTS or scope & set(keys[0]), name


def test_every_mart_is_on_a_page_in_a_command_or_in_a_document(project: Project):
    """What nothing shows is a step, and belongs in `intermediate`."""
    shown = [REPOSITORY / "README.md", *REPOSITORY.glob("docs/*.md"), *REPOSITORY.glob("reports/pages/*.yml")]
    shown += (REPOSITORY / "debatebench").rglob("*.py")
    words = set(re.findall(r"\w+", "\n".join(path.read_text(encoding="utf-8") for path in shown)))
    # The names that SQL models had before are left for one version.
    marts = [model for model in project.models.values() if model.schema == "marts" and model.properties.columns]
    assert [model.name for model in marts if model.base_name not in words] == []
    assert len({model.base_name for model in marts}) <= 82


def test_every_model_states_its_grain_and_casts_nothing_in_capitals(project: Project):
    for model in project.models.values():
        if model.alias_of is None:
            first, _, rest = model.query.sql.partition("\n")
            assert first.startswith("-- One row per "), model.path
            code = "\n".join(line.split("--")[0] for line in rest.splitlines())
            code = re.sub(r"'[^']*'", "''", code)
            assert code == code.lower(), model.path
            has_ctes = code.lstrip().startswith("with")
            last = re.sub(r"\norder by .*\Z", "", code.rstrip())
            assert last.endswith("select * from final") == has_ctes, model.path


def test_no_cte_only_renames_a_table(project: Project):
    renaming = re.compile(r"\w+\s+as\s+\(\s*select\s+\*\s+from\s+\w+\.\w+\s*\)")
    queries = [(model.path, model.query.sql) for model in project.models.values()]
    queries += [(test.name, test.query.sql) for test in project.singular_tests]
    assert [path for path, sql in queries if renaming.search(sql)] == []
    assert renaming.search("with a as (\n\n    select * from marts.games\n\n)\nselect * from a")


@pytest.mark.slow
def test_an_empty_warehouse_answers_everything_with_no_rows(project: Project):
    con = stored_warehouse_of(project)
    for name in project.models.keys() - CONSTANTS:
        assert con.execute(f"select * from {name}").fetchall() == [], name
    assert failures(run_data_tests(con, project)) == []
    con.close()


@pytest.mark.slow
def test_another_process_reads_every_model(project: Project, tmp_path: Path):
    """A view that calls a Python function would break there."""
    path = tmp_path / "warehouse.duckdb"
    warehouse_of(project, TINY, path=path).close()
    script = (
        "import duckdb, sys\n"
        "con = duckdb.connect(sys.argv[1])\n"
        "views = con.execute(\"select schema_name || '.' || view_name from duckdb_views()\").fetchall()\n"
        "for name in sys.argv[2:]:\n"
        "    con.execute(f'create temp table read as from {name}')\n"
        # Those above it need not compute it again.
        "    if (name,) in views: con.execute(f'drop view {name}; create table {name} as from read')\n"
        "    con.execute('drop table read')\n"
        "con.close()"
    )
    done = subprocess.run([sys.executable, "-c", script, str(path), *project.models], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")


# --- winners ---------------------------------------------------------------------------------------------------------


def winners(con: duckdb.DuckDBPyConnection, version: int) -> dict[str, str]:
    return dict(con.execute(f"select debate_id, winner from marts.panel_winners_v{version}").fetchall())


def test_the_two_rules_differ_where_ties_are_many(tiny: duckdb.DuckDBPyConnection):
    """pro, tie, tie: one of three is no majority, but more than none. An invalid verdict has no vote under either."""
    both = {"debate0": "pro", "debate2": "con", "debate3": "pro", "debate4": "no_decision", "debate5": "no_decision"}
    assert winners(tiny, 1) == both | {"debate1": "tie"}
    assert winners(tiny, 2) == both | {"debate1": "pro"}


def test_the_unsuffixed_name_is_the_latest_version(tiny: duckdb.DuckDBPyConnection):
    for name in ("judge_verdicts", "panel_winners"):
        assert (
            tiny.execute(f"select * from marts.{name} order by all").fetchall()
            == tiny.execute(f"select * from marts.{name}_v4 order by all").fetchall()
        )


def test_equal_sums_are_a_tie_where_floats_would_differ(tiny: duckdb.DuckDBPyConnection):
    assert 0.1 + 0.2 != 0.3
    assert tiny.execute(
        "select winner from marts.judge_verdicts where debate_id = 'debate1' and judge_id = 'j2'"
    ).fetchall() == [("tie",)]


def test_only_complete_debates_count(tiny: duckdb.DuckDBPyConnection):
    assert tiny.execute("select winner, count from original.winner_counts order by winner").fetchall() == [
        ("con", 1),
        ("pro", 3),
        ("tie", 0),
    ]
    assert tiny.execute("select distinct debate_id from original.dimension_score_gaps order by 1").fetchall() == [
        (f"debate{n}",) for n in range(4)
    ]
    assert tiny.execute("select sum(total) from original.judge_side_preference").fetchall() == [(12,)]


def test_self_play_is_neither_rated_nor_head_to_head(tiny: duckdb.DuckDBPyConnection):
    assert tiny.execute("select debate_id from marts.games order by game_number").fetchall() == [
        ("debate0",),
        ("debate1",),
        ("debate2",),
    ]
    assert tiny.execute("select count(*) from marts.head_to_head where model_id = opponent_id").fetchall() == [(0,)]
    assert tiny.execute("select pro_w, con_l from original.model_winrate_by_side where model_id = 'a'").fetchall() == [
        (2, 2)
    ]


def test_the_plan_orders_the_games_and_not_the_clock(tiny: duckdb.DuckDBPyConnection):
    """The later a debate is in the plan, the earlier it ended here."""
    history = tiny.execute(
        "select game_number, model_id, rating_before, rating_after from ratings.elo_history "
        "where side = 'pro' order by game_number"
    ).fetchall()
    assert history[0] == (1, "a", 400.0, 416.0)
    assert history[1][:3] == (2, "b", 384.0)


def test_debaters_without_a_rated_debate_are_there_without_a_rank(tiny: duckdb.DuckDBPyConnection):
    rows = tiny.execute(
        "select model_id, rank, games, is_displayed from marts.leaderboard order by rank nulls last"
    ).fetchall()
    assert rows == [("a", 1, 3, True), ("b", 2, 2, False), ("=c", 3, 1, False), ("late", None, 0, False)]


def test_leaderboard_of_a_run_that_asks_for_no_games_still_hides_the_unrated(project: Project):
    records = [*frame("r", ["a", "b", "c"], ["j1"], min_games_for_display=0), *debate("r", 0, "a", "b", [("j1", PRO)])]
    con = warehouse_of(project, records, select=["+leaderboard"])
    assert con.execute("select model_id, is_displayed from marts.leaderboard order by model_id").fetchall() == [
        ("a", True),
        ("b", True),
        ("c", False),
    ]
    con.close()


# --- money -----------------------------------------------------------------------------------------------------------


def test_unknown_cost_is_null_and_counted(tiny: duckdb.DuckDBPyConnection):
    rows = tiny.execute(
        "select debate_id, cost_usd, turn_cost_usd, count_unpriced_turns from marts.debate_costs "
        "where debate_id in ('debate4', 'debate5') order by debate_id"
    ).fetchall()
    assert rows == [("debate4", Decimal("2"), Decimal("0.5"), 0), ("debate5", Decimal("1"), None, 2)]
    assert tiny.execute("select cost_usd, count_unpriced_turns from marts.runs").fetchall() == [(Decimal("11.5"), 2)]


def test_money_of_attempts_that_led_nowhere_is_in_the_total(project: Project):
    """Two attempts at the first turn were billed; so was an answer of a debate that has not ended."""
    turn = {"cost": Decimal("0.25"), "call_id": "call"}
    played = [
        row
        for row in debate("r", 0, "a", "b", [("j1", PRO)], turn=turn)
        if not (isinstance(row, Turn) and row.side == "con")
    ]
    asked = {"run_tag": "r", "purpose": "turn", "model_id": "a", "step": "turn:0", "provider": "p", "model_name": "m"}
    calls = [
        Call(**asked, debate_id="debate0", call_id="call", attempt=1, status="empty", cost=Decimal("0.01")),
        Call(**asked, debate_id="debate0", call_id="call", attempt=2, status="answered", cost=Decimal("0.25")),
        Call(**asked, debate_id="debate9", call_id="open", attempt=1, status="answered", cost=Decimal("0.03")),
        Call(**asked, debate_id="debate9", call_id="lost", attempt=1, status="ambiguous"),
    ]
    records = [*frame("r", ["a", "b"], ["j1"]), *played, *calls]
    con = warehouse_of(project, records, select=["+runs", "+debate_costs", "+debater_costs"])
    assert con.execute("select cost_usd, count_unpriced_calls from marts.runs").fetchall() == [(Decimal("0.79"), 1)]
    assert con.execute("select cost_usd, unused_cost_usd from marts.debate_costs").fetchall() == [
        (Decimal("0.76"), Decimal("0.01"))
    ]
    assert con.execute(
        "select cost_usd, unused_cost_usd, count_unused_calls from marts.debater_costs where model_id = 'a'"
    ).fetchall() == [(Decimal("0.29"), Decimal("0.04"), 3)]
    con.close()


# --- runs beside each other ------------------------------------------------------------------------------------------


def with_tag(records: Iterable[Record], run_tag: str) -> list[Record]:
    return [record.model_copy(update={"run_tag": run_tag}) for record in records]


@pytest.mark.slow
def test_runs_do_not_leak_into_each_other(tiny: duckdb.DuckDBPyConnection, project: Project):
    """Three runs share every id but the tag; each shows what it shows alone."""
    other = [
        *frame("other", ["a", "b", "=c"], ["j1", "j2", "j3"], elo_k_factor=10.0, elo_initial_rating=1000.0),
        *debate("other", 0, "a", "b", [("j1", CON), ("j2", CON), ("j3", TIE)]),
        *debate("other", 1, "=c", "b", [("j1", TIE), ("j2", CON), ("j3", PRO)]),
    ]
    together = stored_warehouse_of(project, other, TINY, with_tag(TINY, "twin"))
    alone = stored_warehouse_of(project, other)
    assert contents(together, project, "tiny") == contents(tiny, project, "tiny")
    assert contents(together, project, "other") == contents(alone, project, "other")
    assert failures(run_data_tests(together, project)) == []
    together.close()
    alone.close()


def random_run(run_tag: str, seed: int, debates: int) -> list[Record]:
    """A run of random panels, scores with decimals, invalid verdicts, gaps in the money, self-play and bad ends."""
    chance = random.Random(seed)
    debaters, judges = [f"m{n}" for n in range(6)], [f"j{n}" for n in range(5)]
    rows: list[Record] = []
    for position in range(debates):
        panel = []
        for judge_id in chance.sample(judges, chance.randint(0, 4)):
            given = [(str(chance.randint(1, 4) / 10), str(chance.randint(1, 4) / 10)) for _ in range(2)]
            panel.append((judge_id, scores(*given) if chance.random() < 0.9 else None))
        status = chance.choices(["complete", "incomplete", "void"], [8, 1, 1])[0]
        cost = chance.choice([None, Decimal("0.001"), Decimal("0")])
        pro, con = chance.choice(debaters), chance.choice(debaters)
        labels = {judge_id: chance.choice(["pro", "con", "tie", None]) for judge_id, _ in panel}
        played = debate(run_tag, position, pro, con, [(j, PRO if s else None) for j, s in panel], status=status)
        given_by = dict(panel)
        for row in played:
            if isinstance(row, Verdict):
                row = row.model_copy(
                    update={"scores": given_by[row.judge_id], "declared_winner": labels[row.judge_id], "cost": cost}
                )
            rows.append(row)
    return [*frame(run_tag, debaters, judges), *rows]


@pytest.fixture(scope="module")
def drawn() -> list[Record]:
    return random_run("random", seed=5, debates=400)


@pytest.fixture(scope="module")
def drawn_warehouse(project: Project, drawn: list[Record]) -> Iterator[duckdb.DuckDBPyConnection]:
    con = stored_warehouse_of(project, drawn)
    yield con
    con.close()


@pytest.mark.slow
def test_the_order_of_landing_changes_no_digit(
    project: Project, drawn: list[Record], drawn_warehouse: duckdb.DuckDBPyConnection
):
    shuffled = drawn[1:]
    random.Random(1).shuffle(shuffled)
    con = stored_warehouse_of(project, [drawn[0], *shuffled])
    assert contents(con, project, "random") == contents(drawn_warehouse, project, "random")
    con.close()


def preferred(verdict: Verdict, version: int) -> str | None:
    """Whom a verdict favours, in exact fractions."""
    if not verdict.is_valid:
        return None
    if version == 1:
        return verdict.declared_winner
    assert verdict.scores is not None
    pro = sum(Fraction(score.pro) for score in verdict.scores)
    con = sum(Fraction(score.con) for score in verdict.scores)
    return "pro" if pro > con else "con" if con > pro else "tie"


def panel_winner(status: str, votes: list[str], version: int) -> str:
    if status != "complete" or not votes:
        return "no_decision"
    count = Counter(votes)
    if version == 1:
        return next((side for side in ("pro", "con") if count[side] > len(votes) / 2), "tie")
    return "pro" if count["pro"] > count["con"] else "con" if count["con"] > count["pro"] else "tie"


@pytest.mark.parametrize("version", [1, 2])
def test_winners_are_those_of_the_reference(
    version: int, drawn: list[Record], drawn_warehouse: duckdb.DuckDBPyConnection
):
    votes: dict[str, list[str]] = {record.debate_id: [] for record in drawn if isinstance(record, Debate)}
    for record in drawn:
        if isinstance(record, Verdict) and (winner := preferred(record, version)):
            votes[record.debate_id].append(winner)
    expected = {
        record.debate_id: panel_winner(record.status, votes[record.debate_id], version)
        for record in drawn
        if isinstance(record, Debate)
    }
    assert set(expected.values()) == {"pro", "con", "tie", "no_decision"}
    assert winners(drawn_warehouse, version) == expected


def test_judge_agreement_is_that_of_the_reference(drawn: list[Record], drawn_warehouse: duckdb.DuckDBPyConnection):
    complete = {r.debate_id for r in drawn if isinstance(r, Debate) and r.status == "complete"}
    panels: dict[str, dict[str, str]] = {}
    for record in drawn:
        if isinstance(record, Verdict) and record.debate_id in complete and (winner := preferred(record, 2)):
            panels.setdefault(record.debate_id, {})[record.judge_id] = winner
    agree: Counter[tuple[str, str]] = Counter()
    total: Counter[tuple[str, str]] = Counter()
    for panel in panels.values():
        for pair in combinations(sorted(panel), 2):
            total[pair] += 1
            agree[pair] += panel[pair[0]] == panel[pair[1]]
    rows = drawn_warehouse.execute("select judge_a, judge_b, agree, total from original.judge_agreement").fetchall()
    assert {(a, b): (same, all_) for a, b, same, all_ in rows} == {pair: (agree[pair], total[pair]) for pair in total}


def test_ratings_are_those_of_the_reference(drawn: list[Record], drawn_warehouse: duckdb.DuckDBPyConnection):
    decided = winners(drawn_warehouse, 2)
    ratings: dict[str, float] = {}
    for record in drawn:
        if not isinstance(record, Debate) or record.pro_model_id == record.con_model_id:
            continue
        winner = decided[record.debate_id]
        if winner == "no_decision":
            continue
        pro, con = str(record.pro_model_id), str(record.con_model_id)
        gap = ratings.get(con, 400.0) - ratings.get(pro, 400.0)
        change = 32.0 * ({"pro": 1.0, "con": 0.0, "tie": 0.5}[winner] - 1.0 / (1.0 + 10.0 ** (gap / 400.0)))
        ratings[pro], ratings[con] = ratings.get(pro, 400.0) + change, ratings.get(con, 400.0) - change
    found = dict(drawn_warehouse.execute("select model_id, rating from ratings.elo").fetchall())
    assert found == pytest.approx(ratings, abs=1e-9, rel=0)


def test_data_tests_pass_on_a_random_run(drawn_warehouse: duckdb.DuckDBPyConnection, project: Project):
    assert failures(run_data_tests(drawn_warehouse, project)) == []


# --- summaries -------------------------------------------------------------------------------------------------------


def test_summaries_end_lines_as_the_original_does_and_quote_formulas(tiny: duckdb.DuckDBPyConnection, tmp_path: Path):
    """The id `=c` would be run by a spreadsheet; the negative gap is a number and stays one."""
    paths = write_summaries(tiny, "tiny", tmp_path / "new" / "folder")
    assert [path.stem for path in paths] == list(SUMMARIES)
    texts = {path.stem: path.read_bytes() for path in paths}
    assert all(text.endswith(b"\r\n") and text.count(b"\n") == text.count(b"\r\n") for text in texts.values())
    assert texts["winner_counts"] == b"winner,count\r\npro,3\r\ncon,1\r\ntie,0\r\n"
    assert b"\r\n'=c,0,1,0,0,0,0\r\n" in texts["model_winrate_by_side"]
    assert f"\r\ndebate2,d0,{6.1 / 3 - 12.3 / 3!r}\r\n".encode() in texts["dimension_score_gaps"]
    assert b"\r\n'=c,pro,5.00,1\r\n'=c,con,0.00,0\r\n" in texts["turn_timings"]


def test_summaries_replace_what_was_there(tiny: duckdb.DuckDBPyConnection, tmp_path: Path):
    (tmp_path / "winner_counts.csv").write_text("old")
    write_summaries(tiny, "tiny", tmp_path)
    assert (tmp_path / "winner_counts.csv").read_bytes().startswith(b"winner,count\r\n")
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(f"{name}.csv" for name in SUMMARIES)


def test_ratings_list_debaters_in_the_order_of_their_first_game(tiny: duckdb.DuckDBPyConnection):
    found = ratings_json(tiny, "tiny")
    assert list(found["models"]) == ["a", "b", "=c"]
    assert found["elo"] == {"initial_rating": 400.0, "k_factor": 32.0}
    assert found["models"]["b"]["games_played"] == 2
    assert list(found["models"]["b"]["dimension_avgs"]) == ["d0", "d1"]


def test_an_unknown_run_is_refused_by_name(tiny: duckdb.DuckDBPyConnection, tmp_path: Path):
    with pytest.raises(UsageError, match=r"^No run 'nobody' in the warehouse\. Known: tiny\.$"):
        write_summaries(tiny, "nobody", tmp_path)
    with pytest.raises(UsageError, match="Known: tiny"):
        ratings_json(tiny, "nobody")


def test_a_folder_that_cannot_be_written_to_is_named(tiny: duckdb.DuckDBPyConnection, tmp_path: Path):
    (tmp_path / "file").write_text("")
    with pytest.raises(DebatebenchError, match=r"file/\w+\.\w+ cannot be written: "):
        write_summaries(tiny, "tiny", tmp_path / "file")


def test_a_warehouse_that_is_not_built_says_so(tmp_path: Path):
    con = duckdb.connect()
    create_raw_tables(con)
    land_records(con, "tiny", TINY)
    with pytest.raises(DebatebenchError, match="`debatebench build`"):
        write_summaries(con, "tiny", tmp_path)
    con.close()
