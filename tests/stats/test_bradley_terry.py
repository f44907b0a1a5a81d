"""Bradley–Terry and what surrounds it: the pure functions, and the same through SQL."""

from __future__ import annotations

import json
import math
import random
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

import duckdb
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from loaded_benchmark import benchmark

from debatebench.stats import sql as udfs
from debatebench.stats.bradley_terry import (
    ELO_PER_LOG_STRENGTH,
    fit,
    fit_resampled,
    standard_errors,
)
from debatebench.stats.bradley_terry_controls import controlled, davidson
from debatebench.stats.counted_games import Games, counted_games, pair_counts
from debatebench.stats.elo import elo_ratings
from debatebench.stats.standings import LEAST_SHARE, rank_ranges, shared_ranks, standings

DEBATERS = 4
TOPICS = 4

Row = tuple[int, int, int, int, int, int]

rows = st.lists(
    st.tuples(
        st.integers(1, TOPICS),
        st.permutations(range(1, DEBATERS + 1)).map(lambda codes: tuple(codes[:2])),
        st.tuples(st.integers(0, 3), st.integers(0, 2), st.integers(0, 3)).filter(any),
    ).map(lambda row: (row[0], *row[1], *row[2])),
    min_size=1,
    max_size=20,
)


def games_of(played: Sequence[Row]) -> Games:
    """Rows of topic, pro, con, pro's wins, ties, con's wins → games."""
    return counted_games(*([row[n] for row in played] for n in range(6)))


def ratings_of(played: Sequence[Row]) -> list[float]:
    return list(400 + ELO_PER_LOG_STRENGTH * fit(games_of(played)).strengths)


@pytest.fixture(scope="module")
def con() -> Iterator[duckdb.DuckDBPyConnection]:
    connection = duckdb.connect()
    udfs.register(connection)
    yield connection
    connection.close()


# --- strengths --------------------------------------------------------------------------------------------------------


def test_three_wins_of_four_are_odds_of_three_to_one() -> None:
    a, b = ratings_of([(1, 1, 2, 3, 0, 1)])
    assert a - b == pytest.approx(400 * math.log10(3), abs=1e-9)
    assert a + b == pytest.approx(800)


def test_two_ties_are_worth_a_win_and_a_loss() -> None:
    assert ratings_of([(1, 1, 2, 2, 2, 1)]) == pytest.approx(ratings_of([(1, 1, 2, 3, 0, 2)]))


def test_no_games_have_no_ratings() -> None:
    none = games_of([])
    assert fit(none).strengths.tolist() == []
    assert standings(none).rating.tolist() == []
    assert standard_errors(none, fit(none)).topics.tolist() == []
    assert davidson(none).strengths.tolist() == []
    assert controlled([], [], [], [], []) is None


@given(rows)
@settings(max_examples=60, deadline=None)
def test_everybody_wins_what_the_ratings_expect(played: list[Row]) -> None:
    """The condition of the maximum: expected points are the points. With the prior they are those of its games too."""
    games = games_of(played)
    fitted = fit(games)
    expected = 1 / (1 + np.exp(fitted.strengths[games.con] - fitted.strengths[games.pro]))
    surplus = np.zeros(games.count_debaters)
    np.add.at(surplus, games.pro, games.points - games.count * expected)
    np.add.at(surplus, games.con, games.count * expected - games.points)
    if fitted.is_separated:
        pull = 0.5 - 1 / (1 + np.exp(-fitted.strengths))
        surplus += pull - pull.mean()
    assert surplus == pytest.approx(np.zeros(games.count_debaters), abs=1e-7)
    assert fitted.strengths.sum() == pytest.approx(0, abs=1e-9)


def standings_by_name(played: Sequence[Row], names: Sequence[str]) -> dict[str, tuple[float, float, float, int, int]]:
    """Rating, interval and rank range of everybody who played; codes go by name, as they do in SQL."""
    there = sorted({names[code - 1] for row in played for code in row[1:3]})
    coded = [(t, *(there.index(names[code - 1]) + 1 for code in (p, c)), *counts) for t, p, c, *counts in played]
    found = standings(games_of(coded), resamples=50)
    values = zip(found.rating, found.ci_low, found.ci_high, found.rank_low, found.rank_high, strict=True)
    return dict(zip(there, values, strict=True))


@given(rows, st.permutations("wxyz"), st.permutations(range(1, TOPICS + 1)), st.randoms())
@settings(max_examples=30, deadline=None)
def test_standings_depend_neither_on_names_nor_on_the_order_of_rows(
    played: list[Row], names: list[str], topics: list[int], rng: random.Random
) -> None:
    other = [(topics[t - 1], p, c, *counts) for t, p, c, *counts in played]
    # The same game told from the other side.
    other = [(t, c, p, *counts[::-1]) if rng.random() < 0.5 else (t, p, c, *counts) for t, p, c, *counts in other]
    rng.shuffle(other)
    before, after = standings_by_name(played, "abcd"), standings_by_name(other, names)
    # Debaters with one rating are in no order but that of their names, and so are their draws.
    are_distinct = len({round(rating, 6) for rating, *_ in before.values()}) == len(before)
    for name, values in before.items():
        renamed = after[names["abcd".index(name)]]
        assert renamed[0] == pytest.approx(values[0], abs=1e-6)
        assert not are_distinct or renamed == pytest.approx(values, abs=1e-6)


@given(rows)
@settings(max_examples=60, deadline=None)
def test_intervals_contain_the_rating_and_rank_ranges_the_rank(played: list[Row]) -> None:
    found = standings(games_of(played), resamples=30)
    assert (found.ci_low <= found.rating).all()
    assert (found.rating <= found.ci_high).all()
    assert (found.rank_low <= found.rank).all()
    assert (found.rank <= found.rank_high).all()
    better = (found.rating[None, :] > found.rating[:, None] + 1.5e-9).sum(axis=1)
    assert found.rank.tolist() == (1 + better).tolist()


def test_equal_ratings_share_their_rank_and_rounding_noise_is_equal() -> None:
    assert shared_ranks(np.array([400.0, 400.000000001, 380.0, 400.0, 399.9])).tolist() == [1, 1, 5, 1, 4]
    assert standings(games_of([(1, 1, 2, 0, 1, 0), (1, 2, 3, 0, 1, 0)])).rank.tolist() == [1, 1, 1]


def test_one_more_win_raises_the_winner_and_lowers_the_loser() -> None:
    before = ratings_of([(1, 1, 2, 2, 1, 2), (1, 2, 3, 2, 0, 2), (1, 1, 3, 1, 1, 1)])
    after = ratings_of([(1, 1, 2, 3, 1, 2), (1, 2, 3, 2, 0, 2), (1, 1, 3, 1, 1, 1)])
    assert after[0] > before[0]
    assert after[1] < before[1]


def test_newtons_method_arrives_where_gaps_are_huge() -> None:
    chain = [(1, code, code + 1, 10_000, 0, 1) for code in range(1, 6)]
    ratings = ratings_of(chain)
    assert np.diff(ratings) == pytest.approx(np.full(5, -400 * math.log10(10_000)), abs=1e-6)


# --- separation -------------------------------------------------------------------------------------------------------


def test_who_never_loses_has_a_finite_rating_and_is_marked() -> None:
    fitted = fit(games_of([(1, 1, 2, 5, 0, 0), (1, 1, 3, 5, 0, 0), (1, 2, 3, 3, 0, 2)]))
    assert fitted.is_separated
    assert np.isfinite(fitted.strengths).all()
    assert fitted.component.tolist() == [0, 1, 1]
    assert fitted.strengths[0] > fitted.strengths[1] > fitted.strengths[2]


def test_a_tie_links_both_ways() -> None:
    assert not fit(games_of([(1, 1, 2, 5, 1, 0)])).is_separated


def test_wins_in_a_circle_link_everybody() -> None:
    fitted = fit(games_of([(1, 1, 2, 1, 0, 0), (1, 2, 3, 1, 0, 0), (1, 3, 1, 1, 0, 0)]))
    assert not fitted.is_separated
    assert fitted.strengths == pytest.approx(np.zeros(3), abs=1e-9)


def test_more_wins_without_a_loss_are_rated_higher() -> None:
    few, many = (ratings_of([(1, 1, 2, wins, 0, 0)])[0] for wins in (2, 20))
    assert 400 < few < many


def test_groups_that_never_met_lie_around_one_mean() -> None:
    fitted = fit(games_of([(1, 1, 2, 3, 0, 1), (1, 3, 4, 1, 0, 3)]))
    assert fitted.is_separated
    assert sorted(fitted.component.tolist()) == [0, 0, 1, 1]
    assert fitted.strengths[:2].sum() == pytest.approx(0, abs=1e-6)


def test_a_single_game_settles_nothing() -> None:
    found = standings(games_of([(1, 1, 2, 1, 0, 0)]))
    assert found.is_separated
    assert found.rank_low.tolist() == [1, 1]
    assert found.rank_high.tolist() == [2, 2]


def test_a_resample_that_separates_is_fitted_with_the_prior() -> None:
    games = games_of([(1, 1, 2, 3, 0, 1)])
    pairs, counts, _ = pair_counts(games)
    whole, all_won = fit_resampled(pairs, np.vstack([counts, counts]), np.array([[3.0], [4.0]]), fit(games))
    assert whole == pytest.approx(fit(games).strengths, abs=1e-6)
    assert all_won == pytest.approx(fit(games_of([(1, 1, 2, 4, 0, 0)])).strengths, abs=1e-6)


# --- intervals --------------------------------------------------------------------------------------------------------


def test_resamples_are_fitted_as_if_each_were_alone() -> None:
    rng = np.random.default_rng(3)
    played = [(t, p, c, *rng.integers(0, 4, 3)) for t in (1, 2, 3) for p in (1, 2, 3) for c in (1, 2, 3) if p != c]
    games = games_of(played)
    pairs, counts, points = pair_counts(games, games.topic)
    drawn = rng.multinomial(3, [1 / 3] * 3, size=20)
    together = fit_resampled(pairs, drawn @ counts, drawn @ points, fit(games))
    for weights, strengths in zip(drawn, together, strict=True):
        alone = [(t, p, c, *(n * weights[t - 1] for n in counted)) for t, p, c, *counted in played]
        assert strengths == pytest.approx(fit(games_of(alone)).strengths, abs=1e-5)


def test_intervals_come_from_games_where_topics_are_too_few() -> None:
    two = standings(games_of([(t, 1, 2, 3, 1, 2) for t in (1, 2)]))
    three = standings(games_of([(t, 1, 2, t, 1, 2) for t in (1, 2, 3)]))
    assert (two.interval_method, two.count_topics) == ("bootstrap_games", 2)
    assert (three.interval_method, three.count_topics) == ("bootstrap_topics", 3)


def test_many_debaters_have_intervals_by_formula() -> None:
    circle = [(t, code, code % 101 + 1, 2, 0, 1) for t in (1, 2, 3) for code in range(1, 102)]
    found = standings(games_of(circle))
    assert found.interval_method == "sandwich_topics"
    assert len(found.rating) == 101


def test_a_side_that_always_wins_settles_nothing() -> None:
    """Each debater wins as pro and loses as con: all resamples are the same."""
    played = [(t, p, c, 1, 0, 0) for t in range(1, 11) for p in range(1, 5) for c in range(1, 5) if p != c]
    found = standings(games_of(played))
    assert found.rating == pytest.approx(np.full(4, 400.0))
    assert (found.ci_low < 370).all()
    assert (found.ci_high > 430).all()
    assert found.rank_low.tolist() == [1] * 4
    assert found.rank_high.tolist() == [4] * 4


@pytest.mark.parametrize("topics", [1, 2, 3, 10])
def test_ties_only_settle_nothing(topics: int) -> None:
    games = games_of([(t, p, c, 0, 1, 0) for t in range(1, topics + 1) for p, c in ((1, 2), (2, 1))])
    found, model = standings(games), standard_errors(games, fit(games)).model
    assert found.standard_error == pytest.approx(LEAST_SHARE * ELO_PER_LOG_STRENGTH * model)
    assert (found.ci_low < 400).all()
    assert (found.ci_high > 400).all()
    assert found.rank_high.tolist() == [2, 2]


def test_a_sweep_has_the_whole_error_of_the_model() -> None:
    """A debater that wins everything wins every resample."""
    games = games_of([(t, 1, 2, 2, 0, 0) for t in range(1, 9)])
    found = standings(games)
    assert found.is_separated
    assert found.standard_error == pytest.approx(ELO_PER_LOG_STRENGTH * standard_errors(games, fit(games)).model)


def test_results_that_vary_by_topic_have_the_error_of_the_resamples_alone() -> None:
    games = games_of([(t, 1, 2, 3 + t % 3, 0, 5 - t % 3) for t in range(1, 9)] + [(t, 2, 1, t, 1, 4) for t in (1, 8)])
    assert (standings(games).standard_error == standings(games, least_share=0.0).standard_error).all()


@given(rows)
@settings(max_examples=60, deadline=None)
def test_no_interval_has_zero_width(played: list[Row]) -> None:
    games = games_of(played)
    for resamples in (0, 30):
        found = standings(games, resamples=resamples)
        assert (found.ci_low < found.rating).all()
        assert (found.rating < found.ci_high).all()


def test_topics_that_differ_make_wider_intervals_than_topics_that_agree() -> None:
    alike = standings(games_of([(t, 1, 2, 5 + t % 2, 0, 5 - t % 2) for t in range(1, 9)]))
    unlike = standings(games_of([(t, 1, 2, 9 if t % 2 else 2, 0, 1 if t % 2 else 8) for t in range(1, 9)]))
    assert unlike.standard_error[0] > 3 * alike.standard_error[0]


def test_resampled_and_sandwich_errors_agree_on_large_samples() -> None:
    rng = np.random.default_rng(0)
    played = [(t, p, c, *rng.multinomial(12, [0.5, 0.1, 0.4])) for t in range(1, 41) for p in (1, 2) for c in (3, 4)]
    games = games_of(played)
    found = standings(games, resamples=2000)
    assert found.standard_error == pytest.approx(
        ELO_PER_LOG_STRENGTH * standard_errors(games, fit(games)).topics, rel=0.08
    )


@pytest.fixture(scope="module")
def recovery() -> ModuleType:
    return benchmark("recovery")


@pytest.fixture(scope="module")
def interval_coverage() -> ModuleType:
    return benchmark("interval_coverage")


@pytest.mark.parametrize(("debaters", "topics", "pro_advantage"), [(2, 3, 0), (4, 3, 800), (4, 10, 300), (2, 10, 600)])
def test_intervals_cover_the_rating_however_much_the_side_decides(
    interval_coverage: ModuleType, debaters: int, topics: int, pro_advantage: float
) -> None:
    design = interval_coverage.Design(debaters, topics, pro_advantage)
    found = interval_coverage.coverage(design, repetitions=60, resamples=200, seed=5)
    assert found.ratings >= 0.93
    assert found.plain_width <= found.width < 900


@pytest.mark.parametrize("topic_sd", [0.0, 0.6])
def test_intervals_cover_known_strengths_whether_topics_matter_or_not(recovery: ModuleType, topic_sd: float) -> None:
    found = recovery.recovery(debaters=8, topics=12, topic_sd=topic_sd, repetitions=40, resamples=200, seed=5)
    assert 0.92 <= found.coverage.mean() <= 0.98
    assert found.spearman.mean() >= found.spearman_elo.mean()


# --- controls ---------------------------------------------------------------------------------------------------------


def test_a_side_that_wins_more_is_found_and_taken_out() -> None:
    """Both are equal; pro wins three of four."""
    topic, pro, con = [1, 2, 3, 4] * 2, [1] * 4 + [2] * 4, [2] * 4 + [1] * 4
    found = controlled(topic, pro, con, [1, 1, 1, 0, 0, 1, 1, 1], [0.0] * 8)
    assert found is not None
    assert found.pro_side is not None
    assert found.pro_side.value == pytest.approx(400 * math.log10(3), abs=1e-6)
    assert [each.value for each in found.ratings] == pytest.approx([400, 400], abs=1e-6)
    assert found.length is None
    assert found.length_sd is None


def test_length_that_wins_is_not_taken_for_strength() -> None:
    """A speaks longer in most games; whoever speaks longer wins three of four, whoever it is."""
    longer = [1] * 9 + [2] * 3
    wins = [1, 1, 1, 0, 1, 1, 1, 0, 1, 1, 1, 0]
    pro = longer
    con = [3 - code for code in longer]
    surplus = [0.2] * 12
    found = controlled([1] * 12, pro, con, wins, [s if n % 2 else s / 2 for n, s in enumerate(surplus)])
    plain = fit(counted_games([1] * 12, pro, con, wins, [0] * 12, [1 - w for w in wins])).strengths
    assert found is not None
    assert abs(found.ratings[0].value - 400) < ELO_PER_LOG_STRENGTH * abs(plain[0])


def test_a_side_that_cannot_be_told_from_its_debaters_has_no_effect() -> None:
    found = controlled([1, 1, 1, 1], [1, 1, 2, 2], [3, 4, 3, 4], [1, 0, 1, 0], [0.0] * 4)
    assert found is not None
    assert found.pro_side is None


def test_length_that_decides_every_game_has_a_finite_effect() -> None:
    found = controlled([1] * 4, [1, 1, 2, 2], [2, 2, 1, 1], [1, 0, 1, 0], [0.3, -0.3, 0.2, -0.2])
    assert found is not None
    assert found.is_separated
    assert found.length is not None
    assert 0 < found.length.value < 10_000


def test_controlled_ratings_do_not_depend_on_the_order_of_games() -> None:
    rng = np.random.default_rng(1)
    pro = rng.integers(1, 4, 60)
    con = (pro - 1 + rng.integers(1, 3, 60)) % 3 + 1
    columns = (rng.integers(1, 7, 60), pro, con, rng.choice([0.0, 0.5, 1.0], 60), rng.normal(0, 0.1, 60))
    order = rng.permutation(60)
    assert controlled(*columns) == controlled(*(values[order] for values in columns))


def test_davidson_without_ties_is_bradley_terry() -> None:
    games = games_of([(1, 1, 2, 3, 0, 1), (1, 2, 3, 2, 0, 2), (1, 1, 3, 4, 0, 1)])
    found = davidson(games)
    assert found.strengths == pytest.approx(fit(games).strengths, abs=1e-8)
    assert (found.nu, found.tie_rate) == (0.0, 0.0)


def test_davidson_of_nothing_but_ties_makes_all_equal() -> None:
    found = davidson(games_of([(1, 1, 2, 0, 3, 0), (1, 2, 3, 0, 1, 0)]))
    assert found.strengths.tolist() == [0.0, 0.0, 0.0]
    assert found.nu is None
    assert found.tie_rate == 1.0


@given(rows)
@settings(max_examples=40, deadline=None)
def test_davidsons_model_always_has_an_answer(played: list[Row]) -> None:
    found = davidson(games_of(played))
    assert np.isfinite(found.strengths).all()
    assert found.strengths.sum() == pytest.approx(0, abs=1e-8)
    assert 0 <= found.tie_rate <= 1


def test_davidsons_model_is_finite_where_a_tie_alone_links_the_loser() -> None:
    """One win and one tie: the more unequal they are, the likelier both, without end."""
    found = davidson(games_of([(1, 1, 2, 1, 1, 0)]))
    assert found.is_separated
    assert abs(found.strengths[0]) < 5


# --- against another implementation -----------------------------------------------------------------------------------


def test_evalica_finds_the_same_ratings() -> None:
    import evalica

    rng = np.random.default_rng(11)
    for count in (3, 8, 20):
        strengths = rng.normal(0, 0.7, count)
        pro = rng.integers(0, count, 60 * count)
        con = (pro + rng.integers(1, count, 60 * count)) % count
        draw = rng.random(len(pro))
        p = 1 / (1 + np.exp(strengths[con] - strengths[pro]))
        score = np.where(draw < 0.85 * p, 1.0, np.where(draw < 0.85, 0.0, 0.5))
        winners = [{1.0: evalica.Winner.X, 0.0: evalica.Winner.Y, 0.5: evalica.Winner.Draw}[s] for s in score]
        lists = (pro + 1).tolist(), (con + 1).tolist()
        games = counted_games([1] * len(pro), *lists, *((score == s).astype(int).tolist() for s in (1.0, 0.5, 0.0)))
        theirs = evalica.bradley_terry(*lists, winners, tolerance=1e-14, limit=100_000).scores.sort_index().to_numpy()
        assert fit(games).strengths == pytest.approx(np.log(theirs) - np.log(theirs).mean(), abs=1e-6)
        elo = evalica.elo(*lists, winners, initial=400, k=32).scores.sort_index().to_numpy()
        assert elo_ratings(*lists, score.tolist()) == pytest.approx(elo, abs=1e-6)


# --- worked examples, by the pure functions and by SQL ----------------------------------------------------------------


@pytest.fixture(scope="module")
def example(shared: Path) -> Any:
    """Reads a worked example by name."""

    def read(name: str) -> Any:
        return json.loads((shared / "stats" / f"{name}.json").read_text())

    return read


@pytest.fixture(scope="module")
def debates(example: Any, con: duckdb.DuckDBPyConnection) -> list[Any]:
    """The games that all examples share; also the SQL tables `games`, `counted` and `codes`."""
    played: list[Any] = example("bradley_terry_ties_half_win")["input"]["rows_topic_pro_con_scorepro_lenpro_lencon"]
    con.execute(
        "create table games (n integer, topic varchar, pro varchar, con varchar, score double, lp double, lc double)"
    )
    numbered = [(n, *row) for n, row in enumerate(played)]
    random.Random(0).shuffle(numbered)
    con.executemany("insert into games values (?, ?, ?, ?, ?, ?, ?)", numbered)
    con.execute(
        """
        create table codes as
        select model_id, (row_number() over (order by model_id))::integer as code
        from (select pro as model_id from games union select con from games);

        create table coded as
        select g.*, p.code as pro_code, c.code as con_code, (dense_rank() over (order by topic))::integer as topic_code
        from games as g join codes as p on p.model_id = g.pro join codes as c on c.model_id = g.con;

        create table counted as
        select
            topic_code as t, pro_code as p, con_code as c,
            count(case when score = 1 then 1 end)::integer as w,
            count(case when score = 0.5 then 1 end)::integer as d,
            count(case when score = 0 then 1 end)::integer as l
        from coded group by all
        """
    )
    return played


def by_name(con: duckdb.DuckDBPyConnection, expression: str, source: str) -> dict[str, Any]:
    """Name → element of a list that `expression` gives over `source`."""
    sql = f"with found as (select {expression} as x from {source}) select model_id, x[code] from codes, found"
    return dict(con.execute(sql).fetchall())


def as_games(debates: list[Any]) -> Games:
    names, topics = sorted({row[1] for row in debates}), sorted({row[0] for row in debates})
    return counted_games(
        [topics.index(row[0]) + 1 for row in debates],
        [names.index(row[1]) + 1 for row in debates],
        [names.index(row[2]) + 1 for row in debates],
        *([int(row[3] == score) for row in debates] for score in (1.0, 0.5, 0.0)),
    )


COUNTS = "list(p), list(c), list(w), list(d), list(l)"


def test_worked_example_of_ratings(example: Any, debates: list[Any], con: duckdb.DuckDBPyConnection) -> None:
    found = example("bradley_terry_ties_half_win")
    strengths = list(found["expected"]["log_strength_sum_zero"].values())
    assert fit(as_games(debates)).strengths == pytest.approx(strengths, abs=found["tolerance"])
    assert by_name(con, f"bradley_terry_ratings({COUNTS}, 400).rating", "counted") == pytest.approx(
        found["expected"]["elo_scale_mean_400"], abs=found["tolerance"]
    )


def test_worked_example_of_resamples(example: Any, debates: list[Any], con: duckdb.DuckDBPyConnection) -> None:
    found = example("bt_bootstrap_ci")
    expected = found["expected"]["percentile_95_log_strength"]
    resamples = found["input"]["resample_row_indices"]
    games = as_games(debates)
    pairs, counts, points = pair_counts(games, np.arange(len(debates)))
    drawn = np.array([np.bincount(chosen, minlength=len(debates)) for chosen in resamples])
    strengths = fit_resampled(pairs, drawn @ counts, drawn @ points, fit(games))
    intervals = np.quantile(strengths, [0.025, 0.975], axis=0).T
    assert intervals == pytest.approx(np.array(list(expected.values())), abs=found["tolerance"])
    con.execute(
        """
        with found as (
            select bradley_terry_resampled(list(n), list(pro_code), list(con_code), list(score), $1, 400) as ratings
            from coded
        ), resampled as (select unnest(ratings) as ratings from found)
        select model_id, quantile_cont((ratings[code] - 400) * ln(10) / 400, [0.025, 0.975])
        from resampled, codes group by model_id
        """,
        [resamples],
    )
    for name, interval in con.fetchall():
        assert interval == pytest.approx(expected[name], abs=found["tolerance"])


def test_worked_example_of_standard_errors(example: Any, debates: list[Any], con: duckdb.DuckDBPyConnection) -> None:
    found = example("bt_sandwich_ci")
    expected, tolerance = found["expected"], found["tolerance"]
    games = as_games(debates)
    errors = standard_errors(games, fit(games))
    sql = f"bradley_terry_errors(list(t), {COUNTS})"
    for kind, name in (("model", "se_model"), ("games", "se_hc0"),
                       ("topics", "se_cluster_topic_no_small_sample_correction")):  # fmt: skip
        assert getattr(errors, kind) == pytest.approx(list(expected[name].values()), abs=tolerance)
        by_sql = {who: value / ELO_PER_LOG_STRENGTH for who, value in by_name(con, f"{sql}.{kind}", "counted").items()}
        assert by_sql == pytest.approx(expected[name], abs=tolerance)
    rating = by_name(con, f"bradley_terry_ratings({COUNTS}, 400).rating", "counted")
    error = by_name(con, f"{sql}.games", "counted")
    z = 1.959963984540054
    for who, interval in expected["ci_elo_scale_hc0"].items():
        assert [rating[who] - z * error[who], rating[who] + z * error[who]] == pytest.approx(interval, abs=tolerance)


def test_worked_example_of_controls(example: Any, debates: list[Any], con: duckdb.DuckDBPyConnection) -> None:
    found = example("bt_style_and_side_control")
    expected, tolerance = found["expected"], found["tolerance"]
    games = as_games(debates)
    surplus = [(row[4] - row[5]) / (row[4] + row[5]) for row in debates]
    pure = controlled(games.topic + 1, games.pro + 1, games.con + 1, [row[3] for row in debates], surplus)
    con.execute(
        "select bradley_terry_with_controls(list(topic_code), list(pro_code), list(con_code), list(score), "
        "list((lp - lc) / (lp + lc)), 400) from coded"
    )
    ((by_sql,),) = con.fetchall()
    assert pure is not None
    assert pure.pro_side is not None
    assert pure.length is not None
    for ratings, side, length, sd in (
        ([each.value for each in pure.ratings], pure.pro_side.value, pure.length.value, pure.length_sd),
        (
            [each["value"] for each in by_sql["debaters"]],
            by_sql["pro_side"]["value"],
            by_sql["length"]["value"],
            by_sql["length_sd"],
        ),
    ):
        strengths = [(rating - 400) / ELO_PER_LOG_STRENGTH for rating in ratings]
        assert strengths == pytest.approx(list(expected["log_strength_sum_zero"].values()), abs=tolerance)
        assert side == pytest.approx(expected["pro_advantage_elo"], abs=tolerance)
        assert side / ELO_PER_LOG_STRENGTH == pytest.approx(expected["side_intercept_pro"], abs=tolerance)
        assert length / ELO_PER_LOG_STRENGTH == pytest.approx(expected["gamma_length_per_sd"], abs=tolerance)
        assert sd == pytest.approx(expected["feature_sd"], abs=tolerance)


def test_worked_example_of_davidsons_ties(example: Any, debates: list[Any], con: duckdb.DuckDBPyConnection) -> None:
    found = example("davidson_ties")
    expected, tolerance = found["expected"], found["tolerance"]
    pure = davidson(as_games(debates))
    assert pure.strengths == pytest.approx(list(expected["log_strength_sum_zero"].values()), abs=tolerance)
    assert pure.nu == pytest.approx(expected["nu"], abs=tolerance)
    assert pure.tie_rate == pytest.approx(expected["p_tie_equal_strength"], abs=tolerance)
    ((by_sql,),) = con.execute(f"select davidson_ratings({COUNTS}, 400) from counted").fetchall()
    assert [(rating - 400) / ELO_PER_LOG_STRENGTH for rating in by_sql["rating"]] == pytest.approx(
        pure.strengths, abs=tolerance
    )
    assert by_sql["nu"] == pytest.approx(expected["nu"], abs=tolerance)


def test_worked_example_of_rank_ranges(example: Any, con: duckdb.DuckDBPyConnection) -> None:
    found = example("rank_from_ci")
    low, high = ([ends[n] for ends in found["input"]["ci"].values()] for n in (0, 1))
    expected = list(found["expected"]["rank_ub"].values())
    assert rank_ranges(low, high)[0].tolist() == expected
    assert con.execute("select rank_ranges($1, $2).rank_low", [low, high]).fetchall() == [(expected,)]


# --- SQL --------------------------------------------------------------------------------------------------------------


def test_sql_functions_give_null_for_codes_without_a_game(con: duckdb.DuckDBPyConnection) -> None:
    con.execute("select bradley_terry_ratings([1], [3], [1], [0], [1], 1000)")
    assert con.fetchall() == [({"rating": [1000.0, None, 1000.0], "component": [1, None, 1]},)]


def test_sql_functions_give_null_where_there_are_no_games(con: duckdb.DuckDBPyConnection) -> None:
    lists = ", ".join(["list(n::integer)"] * 5)
    for call in (f"bradley_terry_ratings({lists}, 400)", f"davidson_ratings({lists}, 400)",
                 f"bradley_terry_standings(list(n::integer), {lists}, 400, 10, 0)"):  # fmt: skip
        assert con.execute(f"select {call} from (select 1 as n where false)").fetchall() == [(None,)]


@pytest.mark.parametrize(
    ("call", "message"),
    [
        ("bradley_terry_ratings([1, 1], [2], [1], [0], [0], 400)", "`con` has 1 elements"),
        ("bradley_terry_ratings([1], [null], [1], [0], [0], 400)", "`con` contains a null"),
        ("bradley_terry_ratings([1], [1], [1], [0], [0], 400)", "itself"),
        ("bradley_terry_ratings([0], [1], [1], [0], [0], 400)", "codes run from 1"),
        ("bradley_terry_ratings([1], [2], [-1], [0], [0], 400)", "cannot be negative"),
        ("bradley_terry_resampled([1], [1], [2], [1.0], [[2]], 400)", "unknown game"),
        ("bradley_terry_resampled([1], [1], [2], [0.7], [[1]], 400)", "a score must be"),
        ("bradley_terry_with_controls([1], [1], [2], [7.0], [0.0], 400)", "scores must be from"),
        ("rank_ranges([1.0], [1.0, 2.0])", "`ci_high` has 2 elements"),
    ],
)
def test_sql_functions_refuse_impossible_games(con: duckdb.DuckDBPyConnection, call: str, message: str) -> None:
    with pytest.raises(duckdb.Error, match=message):
        con.execute(f"select {call}").fetchall()
