"""SQL models of ratings over tournaments written by hand: what counts, what is left out in turn, what is pooled."""

from __future__ import annotations

import itertools
import json
import random
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from decimal import Decimal
from pathlib import Path
from typing import Any
from unittest.mock import ANY

import pytest
from built_warehouse import begin_built, new_warehouse, packaged_project
from command_line import debatebench
from imported import land_records

from debatebench.query.comparison import compare, find_subject
from debatebench.query.gate import GateLimits, check_gate
from debatebench.shared.records import Debate, Debater, Judge, Record, Run, Score, Topic, Turn, Verdict
from debatebench.transform.build import build
from debatebench.transform.project import Project
from debatebench.transform.testing.data_tests import run_data_tests

pytestmark = pytest.mark.slow

NOON = datetime(2026, 1, 1, 12)
POINTS = {"p": ("7", "5"), "c": ("5", "7"), "t": ("6", "6")}
TOPICS = {"t1": "law", "t2": "law", "t3": "art", "t4": "art", "t5": None}
JUDGES = ("j1", "j2", "j3")
RATINGS = ("+path:sql/ratings", "+judge_influence", "+leaderboard")

Played = tuple[str, str, str, Mapping[str, str]]
"""Topic, pro, con, and each judge's vote: `p`, `c` or `t`."""


def run_of(tag: str, debates: Sequence[Played], *, lengths: Sequence[tuple[int, int]] = (), **run: Any) -> list[Record]:
    """A run of these debates, in their order; `lengths` are the characters of pro's and con's only speech."""
    settings = {"elo_initial_rating": 400, "elo_k_factor": 32, "min_games_for_display": 0, "created_at": NOON} | run
    names = sorted({name for _, pro, con, _ in debates for name in (pro, con)})
    records: list[Record] = [Run(run_tag=tag, source="import", format="tournament", **settings)]
    records += [
        Topic(run_tag=tag, topic_id=topic, source_position=n, motion=f"This house would {topic}.", category=category)
        for n, (topic, category) in enumerate(TOPICS.items())
    ]
    records += [Debater(run_tag=tag, model_id=name) for name in names]
    records += [Judge(run_tag=tag, judge_id=name) for name in JUDGES]
    for n, (topic, pro, con, votes) in enumerate(debates):
        where = {"run_tag": tag, "debate_id": f"d{n:03}"}
        records.append(
            Debate(
                **where,
                source_position=n,
                schedule_position=n,
                topic_id=topic,
                format="two_sided",
                pro_model_id=pro,
                con_model_id=con,
                status="complete",
                created_at=NOON,
            )
        )
        for index, size in enumerate(lengths[n] if lengths else ()):
            side, name = (("pro", pro), ("con", con))[index]
            records.append(Turn(**where, turn_index=index, position=side, side=side, model_id=name, content="x" * size))
        for seat, (judge, vote) in enumerate(votes.items()):
            score = Score(dimension="d", pro=Decimal(POINTS[vote][0]), con=Decimal(POINTS[vote][1]))
            records.append(Verdict(**where, judge_id=judge, panel_position=seat, is_valid=True, scores=(score,)))
    return records


def round_robin(seed: int, *, judges: Sequence[str] = JUDGES, names: str = "abcd") -> list[Played]:
    """Every ordered pair on every topic, decided at random in favour of the earlier letter."""
    rng = random.Random(seed)
    return [
        (topic, pro, con, {judge: rng.choices("pct", (3, 1, 1) if pro < con else (1, 3, 1))[0] for judge in judges})
        for topic in TOPICS
        for pro, con in itertools.permutations(names, 2)
    ]


@pytest.fixture(scope="module")
def project() -> Project:
    return packaged_project()


class Warehouse:
    """A warehouse in memory with what ratings need built."""

    def __init__(self, project: Project, *runs: Sequence[Record], select: Sequence[str] = RATINGS) -> None:
        self.con = new_warehouse()
        for records in runs:
            land_records(self.con, records[0].run_tag, records)
        build(self.con, project, select=select)

    def rows(self, sql: str) -> list[tuple[Any, ...]]:
        return self.con.execute(sql).fetchall()

    def ratings(self, run_tag: str = "r") -> dict[str, float]:
        sql = "select model_id, rating from ratings.bradley_terry where run_tag = $1"
        return dict(self.con.execute(sql, [run_tag]).fetchall())


@pytest.fixture(scope="module")
def rated(project: Project) -> Iterator[Warehouse]:
    warehouse = Warehouse(project, run_of("r", round_robin(1)))
    yield warehouse
    warehouse.con.close()


def test_ratings_do_not_depend_on_the_order_of_debates_though_elo_does(project: Project, rated: Warehouse) -> None:
    debates = round_robin(1)
    random.Random(0).shuffle(debates)
    shuffled = Warehouse(project, run_of("r", debates))
    everything = "select * from ratings.bradley_terry order by all"
    assert shuffled.rows(everything) == rated.rows(everything)
    elo = "select model_id, rating from ratings.elo order by all"
    assert shuffled.rows(elo) != rated.rows(elo)


def test_every_data_test_of_the_ratings_holds(project: Project, rated: Warehouse) -> None:
    found = run_data_tests(rated.con, project, select=["path:sql/ratings", "judge_influence", "leaderboard"])
    assert len(found) > 100
    assert [str(result) for result in found if result.status != "pass"] == []


def test_debates_without_a_decision_and_against_oneself_do_not_count(project: Project, rated: Warehouse) -> None:
    more = [*round_robin(1), ("t1", "a", "a", {"j1": "p"}), ("t2", "b", "c", {})]
    assert Warehouse(project, run_of("r", more)).ratings() == rated.ratings()


def test_leaving_a_judge_out_is_as_if_it_had_never_judged(project: Project) -> None:
    """Panels of one, two and three judges, so that some debates have no verdict left."""
    rng = random.Random(4)
    debates = [
        (topic, pro, con, {judge: votes[judge] for judge in rng.sample(JUDGES, rng.choice((1, 2, 3)))})
        for topic, pro, con, votes in round_robin(2)
    ]
    runs = [run_of("whole", debates)]
    for judge in JUDGES:
        rest = [(*debate, {j: v for j, v in votes.items() if j != judge}) for *debate, votes in debates]
        runs.append(run_of(judge, rest))
    both = Warehouse(project, *runs)
    before = dict(both.rows("select model_id, (rating, rank) from ratings.bradley_terry where run_tag = 'whole'"))
    flips = dict(
        both.rows(
            "select judge_id, (count_changed, count_undecided_without) from marts.judge_influence "
            "where run_tag = 'whole'"
        )
    )
    for judge in JUDGES:
        expected = both.rows(
            f"select model_id, rating, rank, games from ratings.bradley_terry where run_tag = '{judge}' "
            "order by model_id"
        )
        found = both.rows(
            "select model_id, rating, rank, games, rating_change, places_gained "
            "from ratings.bradley_terry_without_judge "
            f"where run_tag = 'whole' and judge_id = '{judge}' order by model_id"
        )
        assert [row[:4] for row in found] == expected
        for name, rating, rank, _, change, gained in found:
            assert change == pytest.approx(rating - before[name][0], abs=1e-6)
            assert gained == before[name][1] - rank
        winners = [
            dict(
                both.rows(
                    "select debate_id, winner from marts.panel_winners "
                    f"where winner <> 'no_decision' and run_tag = '{tag}'"
                )
            )
            for tag in ("whole", judge)
        ]
        changed = sum(winners[0][d] != winners[1][d] for d in winners[0].keys() & winners[1].keys())
        gone = len(winners[0].keys() - winners[1].keys())
        assert flips[judge] == (changed, gone)


def test_leaving_a_category_out_is_as_if_it_had_never_been_debated(project: Project, rated: Warehouse) -> None:
    categories = ("law", "art")
    left = Warehouse(
        project,
        *(run_of(name, [debate for debate in round_robin(1) if TOPICS[debate[0]] != name]) for name in categories),
    )
    for category in categories:
        expected = left.rows(
            f"select model_id, rating, rank, games from ratings.bradley_terry where run_tag = '{category}' "
            "order by model_id"
        )
        assert expected == rated.rows(
            "select model_id, rating, rank, games from ratings.bradley_terry_without_category "
            f"where category = '{category}' order by model_id"
        )


def test_two_runs_of_a_version_are_rated_as_one_run_of_all_their_debates(project: Project) -> None:
    first, second = round_robin(1), round_robin(3)
    later = datetime(2026, 1, 2)
    columns = "model_id, rating, ci_low, ci_high, rank, rank_low, rank_high, games, interval_method"
    (expected,) = (
        Warehouse(project, run_of("r", [*first, *second])).rows(
            f"select {columns} from ratings.bradley_terry order by 1"
        ),
    )
    both = Warehouse(
        project,
        run_of("one", first, benchmark_version="v1"),
        run_of("two", second, benchmark_version="v1", created_at=later),
    )
    assert both.rows(f"select {columns} from ratings.bradley_terry_by_version order by 1") == expected
    assert both.rows(f"select {columns} from ratings.bradley_terry_overall order by 1") == expected


def test_a_version_of_one_run_has_the_ratings_of_that_run(project: Project) -> None:
    columns = "model_id, rating, ci_low, ci_high, rank, games"
    one = Warehouse(
        project,
        run_of("one", round_robin(1), benchmark_version="v1"),
        run_of("two", round_robin(3), benchmark_version="v2"),
    )
    for tag, version in (("one", "v1"), ("two", "v2")):
        assert one.rows(
            f"select {columns} from ratings.bradley_terry_by_version where benchmark_version = '{version}' order by all"
        ) == one.rows(f"select {columns} from ratings.bradley_terry where run_tag = '{tag}' order by all")
    assert one.rows("select distinct count_runs from ratings.bradley_terry_overall") == [(2,)]


def test_length_and_side_that_decide_are_told_from_strength(project: Project) -> None:
    """Equal debaters; a speaks longer as a rule, and the longer side wins three of four debates."""
    rng = random.Random(6)
    debates: list[Played] = []
    lengths = []
    for topic, (pro, con) in itertools.product([*TOPICS] * 15, itertools.permutations("abc", 2)):
        own, other = (rng.randint(500, 700) + 150 * (name == "a") for name in (pro, con))
        wins = rng.random() < (0.75 if own > other else 0.25)
        debates.append((topic, pro, con, {"j1": "p" if wins else "c"}))
        lengths.append((own, other))
    warehouse = Warehouse(project, run_of("r", debates, lengths=lengths))
    plain = warehouse.ratings()
    controlled = dict(warehouse.rows("select model_id, rating from ratings.bradley_terry_controlled"))
    assert abs(controlled["a"] - 400) < 0.5 * abs(plain["a"] - 400)
    effects = {name: rest for name, *rest in warehouse.rows(
        "select effect, value, ci_low, ci_high, length_sd, games from ratings.bradley_terry_effects"
    )}  # fmt: skip
    value, low, high, sd, count = effects["length"]
    assert 0 < low < value < high
    assert sd == pytest.approx(0.1, abs=0.05)
    assert count == len(debates)
    value, low, high, *_ = effects["pro_side"]
    assert low < 0 < high


def test_without_a_transcript_the_side_is_still_controlled(rated: Warehouse) -> None:
    effects = rated.rows("select effect, value is null from ratings.bradley_terry_effects order by effect")
    assert effects == [("length", True), ("pro_side", False)]


def test_a_large_run_lends_a_sample_to_the_controlled_fit(project: Project) -> None:
    debates = [("t1", *pair, {"j1": vote}) for pair in ("ab", "ba") for vote in "pct" * 250]
    warehouse = Warehouse(project, run_of("r", debates))
    ((used,),) = warehouse.rows("select distinct games from ratings.bradley_terry_controlled")
    assert 900 < used < 1100


# --- runs in which nothing varies over topics -------------------------------------------------------------------------


COMPARED = (
    *RATINGS,
    *("+runs", "+run_power", "+debater_statistics", "+comparability_verdicts", "+version_trend", "+version_warnings"),
    *(f"+{part}_comparison" for part in ("debate", "debater", "judge", "panel")),
    "+comparison_outcomes",
)


def all_alike(vote: str) -> list[Played]:
    """Every ordered pair on every topic, with the same vote of all judges in all debates."""
    return [
        (topic, pro, con, dict.fromkeys(JUDGES, vote))
        for topic in TOPICS
        for pro, con in itertools.permutations("abcd", 2)
    ]


@pytest.fixture(scope="module")
def alike(project: Project) -> Iterator[Warehouse]:
    """`sided`: judges follow the side. `tied`: nothing but ties. `varied`: a run in which debaters win and lose."""
    warehouse = Warehouse(
        project,
        run_of("sided", all_alike("p")),
        run_of("tied", all_alike("t")),
        run_of("varied", round_robin(1)),
        select=COMPARED,
    )
    yield warehouse
    warehouse.con.close()


@pytest.mark.parametrize("run", ["sided", "tied"])
def test_where_every_topic_has_the_same_results_no_rank_is_settled(alike: Warehouse, run: str) -> None:
    assert alike.rows(
        "select distinct rating, rank_low, rank_high, interval_method, ci_high - ci_low > 100 "
        f"from ratings.bradley_terry where run_tag = '{run}'"
    ) == [(400, 1, 4, "bootstrap_topics", True)]
    assert alike.rows(
        "select distinct win_rate, win_rate_ci_low < 0.35, win_rate_ci_high > 0.65 "
        f"from marts.debater_statistics where run_tag = '{run}'"
    ) == [(0.5, True, True)]
    ((significant, gap, rating_gap, warning),) = alike.rows(
        "select count_significant_pairs, detectable_win_rate_gap, detectable_rating_gap, warning "
        f"from marts.run_power where run_tag = '{run}'"
    )
    assert (significant, gap, rating_gap) == (0, None, None)
    assert "may be chance" in warning


def test_equal_ratings_share_their_rank_in_every_ranking(alike: Warehouse) -> None:
    """With nothing but ties all are first, by every rule, with each judge or category left out, and by Elo."""
    for relation, rank in {
        "marts.leaderboard": "(rank, elo_rank)",
        "ratings.bradley_terry_controlled": "(rank, rank)",
        "ratings.bradley_terry_left_out": "(rank, rank)",
        "ratings.davidson": "(rank, rank)",
    }.items():
        assert alike.rows(f"select distinct {rank} from {relation} where run_tag = 'tied'") == [((1, 1),)], relation
    assert alike.rows("select count_neighbours, is_leader_significant from marts.run_power where run_tag = 'tied'") == [
        (6, False)
    ]
    assert alike.rows("select distinct changes_leader from marts.judge_influence where run_tag = 'tied'") == [(False,)]


def test_a_gate_on_runs_without_spread_passes_with_the_warning_that_they_are_too_small(alike: Warehouse) -> None:
    subjects = (find_subject(alike.con, name) for name in ("sided", "tied"))
    found = check_gate(compare(alike.con, *subjects), GateLimits(win_rate_drop=0.05))
    assert found.is_passed
    assert {(check.measure, check.difference) for check in found.checks} == {("rating", 0), ("win_rate", 0)}
    assert all(check.is_too_small for check in found.checks)
    assert sum("the runs are too small: of 4 checks" in text for text in found.warnings) == 2


def test_no_interval_of_a_comparison_has_zero_width(alike: Warehouse) -> None:
    for mart in ("debater", "judge", "panel"):
        assert alike.rows(f"select * from marts.{mart}_comparison where ci_high - ci_low < 1e-6") == []
    # Between two runs without spread, ratings do not change on any topic, so that there is no interval.
    assert alike.rows(
        "select baseline = 'varied' or candidate = 'varied' as is_varied, count(ci_low), count(*), max(difference) "
        "from marts.debater_comparison where measure = 'rating' and baseline_kind = 'run' and candidate_kind = 'run' "
        "group by is_varied order by is_varied"
    ) == [(False, 0, 8, 0), (True, 16, 16, ANY)]


def test_every_data_test_holds_for_runs_without_spread(project: Project, alike: Warehouse) -> None:
    steps = ("int_comparison_*", "int_judging_sums", "int_debater_sums", "int_rating_differences")
    chosen = ["path:sql/ratings", "path:sql/marts/comparison", "run_power", *steps]
    found = run_data_tests(alike.con, project, select=chosen)
    assert [str(result) for result in found if result.status != "pass"] == []


# --- what people read -------------------------------------------------------------------------------------------------


def test_the_leaderboard_has_both_ratings_and_the_ranks_of_bradley_terry(rated: Warehouse) -> None:
    rows = rated.rows(
        "select l.rank = b.rank, l.rating = b.rating, l.ci_low = b.ci_low, l.rank_high = b.rank_high, "
        "l.elo_rating = e.rating from marts.leaderboard as l join ratings.bradley_terry as b using (run_tag, model_id) "
        "join ratings.elo as e using (run_tag, model_id)"
    )
    assert rows == [(True,) * 5] * 4


def test_debaters_of_one_rating_are_shown_with_one_rank(shared: Path, tmp_path: Path) -> None:
    """Three debaters whose debates were all tied: the order of their names is not a result."""
    ties = shared / "cases" / "46-equal-ratings-equal-ranks" / "ties.jsonl"
    debatebench(begin_built(tmp_path), "init")
    debatebench(tmp_path, "import", "debatebench", str(ties), "--run-tag", "t")
    board = json.loads(debatebench(tmp_path, "show-leaderboard", "--run-tag", "t", "--format", "json").out)
    assert [(row["model_id"], row["rank"], row["elo_rank"]) for row in board] == [(name, 1, 1) for name in "abc"]
    debatebench(tmp_path, "report", "--run-tag", "t")
    assert (tmp_path / "reports/site/index.html").read_text().count("<td>1=<") == 3


def test_the_leaderboard_says_what_is_settled(played: Path) -> None:
    done = debatebench(played, "show-leaderboard", "--all")
    assert "interval" in done.out
    assert "ranks" in done.out
    assert "elo_rating" in done.out
    assert "places" in done.err
    assert "The debates cover 1 topic, so the intervals do not generalize to others." in done.err
