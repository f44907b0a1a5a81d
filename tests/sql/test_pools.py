"""Ratings over runs: real debates, each of them once."""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any

import pytest
from built_warehouse import new_warehouse, packaged_project
from imported import land_records

from debatebench.shared.records import Debate, Debater, Judge, Record, Run, Score, Side, Topic, Turn, Verdict, Weakness
from debatebench.transform.build import build
from debatebench.transform.testing.data_tests import run_data_tests

pytestmark = pytest.mark.slow

NOON = datetime(2026, 1, 1, 12)
POOLED = ("bradley_terry_by_version", "bradley_terry_overall", "elo_pooled where not is_simulated")
ELO_OVERALL = "ratings.elo_pooled where pool_kind = 'overall' and not is_simulated"
SELECTED = ("+path:sql/ratings", "+leaderboard", "+int_comparison_ratings", "+runs")


def held(
    tag: str,
    names: str = "abc",
    *,
    seed: int = 1,
    simulated: str = "",
    judge_is_simulated: bool = False,
    made: datetime = NOON,
    version: str = "v1",
    weakened: Sequence[int] = (),
    ids: str = "d",
) -> list[Record]:
    """Every ordered pair on three topics, with speeches of their own, the better letter winning as a rule."""
    records: list[Record] = [
        Run(
            run_tag=tag,
            source="import",
            format="tournament",
            benchmark_version=version,
            created_at=made,
            is_simulated=bool(simulated) or judge_is_simulated,
        ),
        Judge(run_tag=tag, judge_id="j", is_simulated=judge_is_simulated),
        *(Topic(run_tag=tag, topic_id=f"t{n}", source_position=n, motion=f"Motion {n}.") for n in range(3)),
        *(Debater(run_tag=tag, model_id=name, is_simulated=name in simulated) for name in names),
    ]
    rng = random.Random(seed)
    pairs = itertools.product(range(3), itertools.permutations(names, 2))
    for n, (topic, (pro, con)) in enumerate(pairs):
        records += debate(
            tag, f"{ids}{n:02}", n, f"t{topic}", pro, con, seed, rng.random() < (0.8 if pro < con else 0.2)
        )
        if n in weakened:
            records.append(Weakness(run_tag=tag, debate_id=f"{ids}{n:02}", side="pro", weakness_type="gaps"))
    return records


def debate(
    tag: str, debate_id: str, n: int, topic: str, pro: str, con: str, seed: int, pro_wins: bool
) -> Iterator[Record]:
    where = {"run_tag": tag, "debate_id": debate_id}
    yield Debate(
        **where,
        source_position=n,
        topic_id=topic,
        pro_model_id=pro,
        con_model_id=con,
        created_at=NOON + timedelta(minutes=n, seconds=seed),
    )
    sides: tuple[Side, ...] = ("pro", "con")
    for index, (side, name) in enumerate(zip(sides, (pro, con), strict=True)):
        text = f"Speech {index} of debate {n}, seed {seed}."
        yield Turn(**where, turn_index=index, position=side, side=side, model_id=name, content=text)
    high, low = Decimal(7), Decimal(5)
    score = Score(dimension="d", pro=high if pro_wins else low, con=low if pro_wins else high)
    yield Verdict(**where, judge_id="j", panel_position=0, is_valid=True, scores=(score,))


class Warehouse:
    """A warehouse in memory with the ratings of these runs."""

    def __init__(self, *runs: Sequence[Record]) -> None:
        self.project = packaged_project()
        self.con = new_warehouse()
        for records in runs:
            land_records(self.con, records[0].run_tag, records)
        build(self.con, self.project, select=SELECTED)

    def rows(self, sql: str) -> list[tuple[Any, ...]]:
        return self.con.execute(sql).fetchall()

    def pools(self) -> dict[str, list[tuple[Any, ...]]]:
        """What all ratings over runs say, except of how many runs they are."""
        return {name: self.rows(f"select * exclude (count_runs) from ratings.{name} order by all") for name in POOLED}

    def failures(self) -> list[str]:
        found = run_data_tests(self.con, self.project, select=["path:sql/ratings", "duplicate_debates", "games"])
        return [str(each) for each in found if each.status != "pass"]


@pytest.fixture(scope="module")
def alone() -> Warehouse:
    return Warehouse(held("real"))


def test_the_same_debates_under_two_tags_count_once(alone: Warehouse):
    twice = Warehouse(held("real"), held("copy", made=NOON + timedelta(days=1), ids="other"))
    assert twice.pools() == alone.pools()
    found = "select count(*), count(case when is_repeated then 1 end) from marts.duplicate_debates where run_tag = '{}'"
    assert twice.rows(found.format("real")) == [(18, 0)]
    assert twice.rows(found.format("copy")) == [(18, 18)]
    counts = "select pooled_run_tag, count_runs, count_games, count_repeated from ratings.pooled_runs "
    assert twice.rows(counts + "where pool_kind = 'overall' order by run_number") == [
        ("real", 1, 18, 0),
        ("copy", 1, 0, 18),
    ]
    # Each run keeps its own ratings.
    own = "select model_id, rating from ratings.bradley_terry where run_tag = '{}' order by 1"
    assert twice.rows(own.format("copy")) == twice.rows(own.format("real"))
    assert twice.failures() == []


def test_copies_in_another_version_count_in_both_versions_and_once_over_all_runs(alone: Warehouse):
    copied = Warehouse(held("real"), held("copy", made=NOON + timedelta(days=1), version="v2"))
    assert copied.pools()["bradley_terry_overall"] == alone.pools()["bradley_terry_overall"]
    games = "select pool, sum(games) from ratings.elo_pooled where pool_kind = 'version' group by all order by all"
    assert copied.rows(games) == [("v1", 36), ("v2", 36)]


def test_other_debates_on_the_same_topics_are_not_copies(alone: Warehouse):
    both = Warehouse(held("real"), held("later", seed=2, made=NOON + timedelta(days=1)))
    assert both.rows("select count(*) from marts.duplicate_debates") == [(0,)]
    assert both.rows(f"select sum(games) from {ELO_OVERALL}") == [(72,)]


def test_simulated_runs_are_not_rated_beside_real_ones(alone: Warehouse):
    demo = held("demo", "abc", simulated="abc", seed=3)
    judged = held("judged", judge_is_simulated=True, seed=4)
    beside = Warehouse(held("real"), demo, judged)
    assert beside.pools() == alone.pools()
    assert beside.rows("select distinct is_simulated from ratings.bradley_terry_overall") == [(False,)]
    marked = "select run_tag, bool_and(is_simulated), bool_or(is_simulated) from {} group by run_tag order by 1"
    for relation in (
        "marts.leaderboard",
        "ratings.bradley_terry",
        "ratings.bradley_terry_controlled",
        "ratings.bradley_terry_effects",
        "ratings.bradley_terry_without_judge",
        "ratings.davidson",
        "ratings.elo",
        "ratings.elo_history",
    ):
        found = {tag: flags for tag, *flags in beside.rows(marked.format(relation))}
        expected = {"demo": [True, True], "judged": [True, True], "real": [False, False]}
        assert found == {tag: flags for tag, flags in expected.items() if tag in found}, relation
        assert found or relation.endswith("without_judge")
    assert beside.failures() == []


def test_of_a_mixed_run_the_debates_among_real_debaters_count():
    """Of three debaters one is simulated, so that a third of the debates is real."""
    mixed = Warehouse(held("mixed", "abc", simulated="c"))
    assert mixed.rows(f"select model_id, games from {ELO_OVERALL} order by 1") == [("a", 6), ("b", 6)]
    assert mixed.rows("select model_id, is_simulated from marts.leaderboard order by 1") == [
        ("a", False),
        ("b", False),
        ("c", True),
    ]
    assert mixed.failures() == []


def test_simulated_versions_can_still_be_compared():
    demo = Warehouse(held("demo", "abc", simulated="abc"))
    assert demo.rows("select count(*) from ratings.bradley_terry_by_version") == [(0,)]
    rated = "select model_id, is_simulated from intermediate.int_comparison_ratings where kind = 'version' order by 1"
    assert demo.rows(rated) == [("a", True), ("b", True), ("c", True)]


def test_every_table_of_ratings_says_whether_they_are_simulated(alone: Warehouse):
    rated = alone.rows(
        "select table_name from information_schema.columns where table_schema = 'ratings' "
        "group by 1 having bool_or(column_name in ('rating', 'value', 'rating_before', 'pro_before')) "
        "and not bool_or(column_name = 'is_simulated')"
    )
    assert rated == []


def test_weakened_debates_are_in_no_rating():
    weakened = Warehouse(held("weak", weakened=range(6)))
    assert weakened.rows(f"select sum(games) from {ELO_OVERALL}") == [(24,)]
    assert weakened.rows("select sum(games), sum(wins) + sum(losses) + sum(ties) from marts.leaderboard") == [(24, 24)]
    assert weakened.rows("select count_decided, count_weakened from marts.runs") == [(18, 6)]
    nothing = Warehouse(held("weak", weakened=range(18)))
    assert nothing.rows("select count(rating), count(*) from marts.leaderboard") == [(0, 3)]
    note = "select macros.weakened_note(count_weakened, count_decided) from marts.runs"
    ((text,),) = nothing.rows(note)
    assert text.startswith("No debate is rated: all 18 decided ones have an injected weakness")
