"""Plackett–Luce ratings: against Bradley–Terry for rankings of two, and against a fit that knows nothing of ours."""

from __future__ import annotations

import itertools
import json
import math
import random
from collections.abc import Sequence

import duckdb
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from oracles import plackett_luce_strengths

from debatebench.stats import sql as udfs
from debatebench.stats.bradley_terry import ELO_PER_LOG_STRENGTH, covariances
from debatebench.stats.bradley_terry import fit as bradley_terry_fit
from debatebench.stats.counted_games import counted_games
from debatebench.stats.plackett_luce import (
    MOST_TIED,
    Rankings,
    clustered_covariance,
    fit,
    model_covariance,
    rankings,
    standings,
)
from debatebench.stats.standings import standings as bradley_terry_standings

DEBATERS = 6
Debate = tuple[int, dict[int, float]]

debates = st.lists(
    st.tuples(
        st.integers(1, 4),
        st.permutations(range(1, DEBATERS + 1)).map(lambda codes: codes[:4]),
        st.lists(st.sampled_from([1.0, 2.0, 3.0, 4.0]), min_size=4, max_size=4),
    ).map(lambda drawn: (drawn[0], dict(zip(drawn[1], drawn[2], strict=True)))),
    min_size=1,
    max_size=15,
)


def ranked(held: Sequence[Debate]) -> Rankings:
    """Debates as (topic, place by debater) → rankings."""
    rows = [(n, topic, code, place) for n, (topic, places) in enumerate(held, 1) for code, place in places.items()]
    debate, topic, debater, place = (list(column) for column in zip(*rows, strict=True))
    return rankings(debate, topic, debater, place)


def drawn(count: int, strengths: Sequence[float], rng: random.Random, ties: float = 0.0) -> list[Debate]:
    """Debates of four whose rankings follow the model; with `ties`, neighbours then share a place."""
    held = []
    for n in range(count):
        left = rng.sample(range(len(strengths)), 4)
        places: dict[int, float] = {}
        while left:
            chosen = rng.choices(left, [math.exp(strengths[each]) for each in left])[0]
            left.remove(chosen)
            last = max(places.values(), default=0.0)
            places[chosen + 1] = last if places and rng.random() < ties else last + 1
        held.append((n % 8 + 1, places))
    return held


def average_log_likelihood(held: Sequence[Debate], strengths: np.ndarray) -> float:
    """Written from the definition: each order that agrees with a ranking counts alike."""
    total = 0.0
    for _, places in held:
        orders = [
            order for order in itertools.permutations(places) if list(map(places.get, order)) == sorted(places.values())
        ]
        for order in orders:
            for at in range(len(order)):
                left = [strengths[code - 1] for code in order[at:]]
                total += (left[0] - math.log(sum(map(math.exp, left)))) / len(orders)
    return total


@pytest.mark.parametrize("ties", [0.0, 0.3])
def test_strengths_are_those_of_hunters_algorithm_and_of_the_definition(ties: float) -> None:
    held = drawn(24, [0.8, 0.4, 0.1, -0.2, -0.4, -0.7], random.Random(4), ties)
    fitted = fit(ranked(held))
    assert not fitted.is_separated
    assert fitted.strengths == pytest.approx(
        plackett_luce_strengths([places for _, places in held], range(1, 7)), abs=1e-6
    )
    best = average_log_likelihood(held, fitted.strengths)
    for debater in range(6):
        for step in (-1e-4, 1e-4):
            moved = fitted.strengths.copy()
            moved[debater] += step
            assert average_log_likelihood(held, moved) < best


def test_strengths_are_those_of_scipys_optimizer() -> None:
    optimize = pytest.importorskip("scipy.optimize")
    held = drawn(20, [0.5, 0.2, 0.0, -0.1, -0.6], random.Random(7), 0.2)
    found = optimize.minimize(
        lambda free: -average_log_likelihood(held, np.append(free, -free.sum())), np.zeros(4), method="BFGS", tol=1e-9
    )
    strengths = np.append(found.x, -found.x.sum())
    assert fit(ranked(held)).strengths == pytest.approx(strengths, abs=1e-6)


@given(
    st.lists(
        st.tuples(st.integers(1, 4), st.permutations(range(1, 5)), st.sampled_from([1.0, 0.5, 0.0])),
        min_size=1,
        max_size=20,
    )
)
@settings(max_examples=60, deadline=None)
def test_rankings_of_two_are_bradley_terry(played: list[tuple[int, list[int], float]]) -> None:
    """Strengths, standard errors, intervals, ranges of ranks, and what is linked, also where the prior is needed."""
    held = [(topic, {codes[0]: -score, codes[1]: score - 1}) for topic, codes, score in played]
    codes = sorted({code for _, places in held for code in places})
    held = [(topic, {codes.index(code) + 1: place for code, place in places.items()}) for topic, places in held]
    pairs = [tuple(places.items()) for _, places in held]
    won = [[int(a[1] < b[1]), int(a[1] == b[1]), int(a[1] > b[1])] for a, b in pairs]
    games = counted_games(
        [topic for topic, _ in held],
        [a[0] for a, _ in pairs],
        [b[0] for _, b in pairs],
        *([row[n] for row in won] for n in range(3)),
    )
    ours, theirs = ranked(held), bradley_terry_fit(games)
    fitted = fit(ours)
    assert fitted.strengths == pytest.approx(theirs.strengths, abs=1e-6)
    model = model_covariance(ours, fitted)
    known = covariances(games, theirs)
    assert model == pytest.approx(known.model, abs=1e-5)
    assert clustered_covariance(ours, fitted, ours.topic, model) == pytest.approx(known.topics, abs=1e-5)
    each = np.arange(len(ours.topic))
    assert clustered_covariance(ours, fitted, each, model) == pytest.approx(known.games, abs=1e-5)
    found, expected = standings(ours), bradley_terry_standings(games, resamples=0)
    for name in ("rating", "standard_error", "ci_low", "ci_high"):
        assert getattr(found, name) == pytest.approx(getattr(expected, name), abs=1e-3), name
    for name in ("rank_low", "rank_high", "component"):
        assert getattr(found, name).tolist() == getattr(expected, name).tolist(), name
    assert (found.is_separated, found.interval_method, found.count_topics) == (
        expected.is_separated,
        expected.interval_method,
        expected.count_topics,
    )


@given(debates, st.randoms(use_true_random=False))
@settings(max_examples=60, deadline=None)
def test_standings_depend_neither_on_order_nor_on_how_places_are_written(
    held: list[Debate], rng: random.Random
) -> None:
    other = [(topic, dict(rng.sample(sorted(places.items()), 4))) for topic, places in rng.sample(held, len(held))]
    other = [(topic, {code: 10 * place + 3 for code, place in places.items()}) for topic, places in other]
    one, two = standings(ranked(held)), standings(ranked(other))
    assert one.rating == pytest.approx(two.rating, abs=1e-6)
    assert one.ci_low == pytest.approx(two.ci_low, abs=1e-6)
    assert (one.rank_low.tolist(), one.rank_high.tolist()) == (two.rank_low.tolist(), two.rank_high.tolist())
    assert one.component.tolist() == two.component.tolist()


@given(debates)
@settings(max_examples=60, deadline=None)
def test_ratings_have_their_mean_and_no_interval_is_without_width(held: list[Debate]) -> None:
    found = standings(ranked(held), mean=1500)
    assert found.rating.mean() == pytest.approx(1500)
    assert (found.ci_low < found.rating).all()
    assert (found.rating < found.ci_high).all()
    assert (found.rank_low <= found.rank).all()
    assert (found.rank <= found.rank_high).all()


def test_who_always_wins_has_a_finite_rating_that_rests_on_the_prior() -> None:
    found = standings(ranked([(topic, {1: 1, 2: 2, 3: 3, 4: 4}) for topic in (1, 2, 3, 4)]))
    assert found.is_separated
    assert found.component.tolist() == [0, 1, 2, 3]
    assert found.rank.tolist() == [1, 2, 3, 4]
    assert np.isfinite(found.rating).all()


def test_four_that_share_their_place_are_equals() -> None:
    found = standings(ranked([(1, {1: 2.5, 2: 2.5, 3: 2.5, 4: 2.5})]))
    assert found.rating.tolist() == [400] * 4
    assert not found.is_separated
    assert found.interval_method == "sandwich_games"


def test_debates_on_one_topic_are_one_observation() -> None:
    """Every debate held twice says nothing more over topics; over single debates it would halve the variance."""
    held = drawn(16, [0.6, 0.2, 0.0, -0.2, -0.6], random.Random(3))
    once, twice = ranked(held), ranked(held + held)
    assert standings(twice).standard_error == pytest.approx(standings(once).standard_error)
    single = []
    for each in (once, twice):
        fitted = fit(each)
        single.append(clustered_covariance(each, fitted, np.arange(len(each.topic)), model_covariance(each, fitted)))
    assert single[1] == pytest.approx(single[0] / 2)


def test_strengths_and_their_errors_are_recovered() -> None:
    """Of 200 debates each, strengths lie within two and a half standard errors of the truth nearly always."""
    truth = np.array([0.9, 0.5, 0.1, -0.1, -0.5, -0.9])
    z = []
    for seed in range(20):
        ours = ranked([(n, places) for n, (_, places) in enumerate(drawn(100, truth, random.Random(seed)), 1)])
        fitted = fit(ours)
        z.append((fitted.strengths - truth) / np.sqrt(np.diag(model_covariance(ours, fitted))))
    assert np.abs(z).max() < 4
    assert 0.8 < np.std(z) < 1.2


def test_what_is_no_ranking_is_refused() -> None:
    for message, lists in {
        "lengths differ: 1, 2, 1, 1": ([1], [1, 1], [1], [1]),
        "codes run from 1": ([1, 1], [1, 1], [0, 1], [1, 2]),
        "a debate has two topics": ([1, 1], [1, 2], [1, 2], [1, 2]),
        "a debater cannot meet itself": ([1, 1], [1, 1], [1, 1], [1, 2]),
        "share a place": (
            [1] * (MOST_TIED + 1),
            [1] * (MOST_TIED + 1),
            [*range(1, MOST_TIED + 2)],
            [1] * (MOST_TIED + 1),
        ),
    }.items():
        with pytest.raises(ValueError, match=message):
            rankings(*lists)


def test_sql_gives_the_same_by_code_and_null_without_a_ranking() -> None:
    held = drawn(12, [0.5, 0.0, -0.1, -0.4, 0.0], random.Random(1), 0.2)
    rows = [(n, topic, 2 * code, place) for n, (topic, places) in enumerate(held, 1) for code, place in places.items()]
    with duckdb.connect() as con:
        udfs.register(con, ["plackett_luce_standings"])
        found = con.execute(
            "select plackett_luce_standings($1::json, $2::json, $3::json, $4::json, 400, 0)",
            [json.dumps(list(column)) for column in zip(*rows, strict=True)],
        ).fetchone()
    assert found is not None
    expected = standings(ranked(held))
    assert found[0]["rating"][1::2] == pytest.approx(expected.rating.tolist())
    assert found[0]["rank_high"][1::2] == expected.rank_high.tolist()
    assert set(found[0]["rating"][::2]) == {None}
    assert found[0]["count_topics"] == 8


def test_a_ranking_of_four_says_the_odds_of_its_choices() -> None:
    """The condition of the maximum: a debater is chosen as often as the strengths say."""
    held = [(1, {1: 1, a: 2, b: 3, c: 4}) for a, b, c in itertools.permutations((2, 3, 4))]
    held += [(1, {1: 4, a: 1, b: 2, c: 3}) for a, b, c in itertools.permutations((2, 3, 4))]
    strengths = fit(ranked(held)).strengths
    assert strengths[1:] == pytest.approx([strengths[1]] * 3)
    rating = ELO_PER_LOG_STRENGTH * (strengths[0] - strengths[1])
    odds = 10 ** (rating / 400)
    # Chosen 6 times of the 6 + 6 * 3 choices in which it stood: from 4 in all twelve, from 3 and from 2 in six each.
    assert 12 * odds / (odds + 3) + 6 * odds / (odds + 2) + 6 * odds / (odds + 1) == pytest.approx(6)
