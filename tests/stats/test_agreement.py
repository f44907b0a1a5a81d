"""Agreement and correlation: the pure functions, the same through SQL, and what other libraries say."""

from __future__ import annotations

import json
import math
import random
from collections import Counter
from collections.abc import Hashable, Iterator, Sequence
from pathlib import Path
from typing import Any

import duckdb
import krippendorff
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from debatebench.stats import sql as udfs
from debatebench.stats.agreement import cohen_kappa_interval, kappa, krippendorff_alpha_interval, midranks
from debatebench.stats.correlation import kendall_tau_b, spearman
from debatebench.stats.distributions import t_quantile
from debatebench.stats.jackknife import jackknife
from debatebench.stats.quality import rmse_interval

LEVELS = ("nominal", "ordinal", "interval")

winner_pairs = st.lists(st.tuples(*[st.sampled_from(["pro", "tie", "con"])] * 2), max_size=30)
# (unit, value): the scores of a few judges on a few units.
score_ratings = st.lists(st.tuples(st.integers(0, 6), st.integers(1, 5)), max_size=40)
numbers = st.lists(st.tuples(st.integers(-5, 5), st.integers(-5, 5)), max_size=30)


@pytest.fixture(scope="module")
def con() -> Iterator[duckdb.DuckDBPyConnection]:
    with duckdb.connect() as connection:
        udfs.register(connection)
        yield connection


def example(shared: Path, name: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """(input, expected) of a worked example."""
    found = json.loads((shared / "stats" / f"{name}.json").read_text())
    return found["input"], found["expected"]


def one(con: duckdb.DuckDBPyConnection, query: str, *values: Any) -> Any:
    """The only value that a query gives."""
    ((value,),) = con.execute(query, list(values)).fetchall()
    return value


def long_form(matrix: list[list[float | None]]) -> tuple[list[str], list[float | None]]:
    """Ratings of raters by units as units and values."""
    ratings = [(str(unit), value) for rater in matrix for unit, value in enumerate(rater)]
    return [unit for unit, _ in ratings], [value for _, value in ratings]


def close(value: float) -> Any:
    return pytest.approx(value, abs=1e-9)


def alpha_of(units: Sequence[Hashable], values: Sequence[Hashable], level: Any = "nominal") -> float | None:
    found = krippendorff_alpha_interval(units, values, units, level)
    return None if found is None else found.value


def kappa_of(a: Sequence[str], b: Sequence[str], power: int = 0, order: Sequence[str] = ()) -> float | None:
    """Kappa whose distances are 0 and 1, or a power of that of the places in `order`."""

    def distance(x: str, y: str) -> float:
        return float(x != y) if not power else float(abs(order.index(x) - order.index(y)) ** power)

    return kappa(Counter(zip(a, b, strict=True)), distance)


# Worked examples, by the function and through SQL


def test_cohens_kappa_is_that_of_the_worked_example(shared: Path, con: duckdb.DuckDBPyConnection) -> None:
    given, expected = example(shared, "cohen_kappa")
    a, b, order = given["rater_a"], given["rater_b"], given["order_for_weights"]
    assert kappa_of(a, b) == close(expected["kappa"])
    assert kappa_of(given["paradox_a"], given["paradox_b"]) == close(expected["paradox_kappa"])
    places = [[order.index(label) for label in labels] for labels in (a, b)]
    for power, weights in enumerate(("none", "linear", "quadratic")):
        name = f"kappa_{weights}" if power else "kappa"
        assert kappa_of(a, b, power, order) == close(expected[name])
        query = "select cohen_kappa_interval(?::double[], ?::double[], ?, ?, 0.95).value"
        assert one(con, query, *places, a, weights) == close(expected[name])


@pytest.mark.parametrize("level", LEVELS)
def test_krippendorffs_alpha_is_that_of_the_worked_example(
    level: Any, shared: Path, con: duckdb.DuckDBPyConnection
) -> None:
    given, expected = example(shared, "krippendorff_alpha")
    units, values = long_form(given["raters_by_units_null_missing"])
    assert alpha_of(units, values, level) == close(expected[level])
    query = "select krippendorff_alpha_interval(?, ?, ?, ?, 0.95).value"
    assert one(con, query, units, values, units, level) == close(expected[level])


def test_winners_are_as_far_from_gold_as_in_the_worked_example(shared: Path, con: duckdb.DuckDBPyConnection) -> None:
    given, expected = example(shared, "rmse_winner")
    label = {"pro": 0.0, "tie": 0.5, "con": 1.0}
    errors = [(label[p] - label[g]) ** 2 for p, g in zip(given["predicted"], given["gold"], strict=True)]
    clusters = [str(n) for n in range(len(errors))]
    found = rmse_interval(clusters, errors)
    assert found is not None
    assert found.value == close(expected["rmse"])
    assert one(con, "select rmse_interval(?, ?).value", clusters, errors) == close(expected["rmse"])


@pytest.mark.parametrize("function", [spearman, kendall_tau_b])
def test_correlations_are_those_of_the_worked_example(
    function: Any, shared: Path, con: duckdb.DuckDBPyConnection
) -> None:
    given, expected = example(shared, "correlation")
    name = function.__name__
    assert function(given["x"], given["y"]) == close(expected[name])
    assert one(con, f"select {name}(?, ?)", given["x"], given["y"]) == close(expected[name])


# What other libraries say


@pytest.mark.parametrize("level", LEVELS)
def test_alpha_agrees_with_the_package_krippendorff(level: Any) -> None:
    rng = random.Random(11)
    for scale in ([1, 2, 3], [1, 2, 3, 4, 5, 6, 7, 8, 9, 10], [71.25, 71.5, 85.0, 99.75]):
        for _ in range(20):
            matrix = [[rng.choice([*scale, None]) for _ in range(25)] for _ in range(4)]
            theirs = krippendorff.alpha(
                reliability_data=np.array(matrix, dtype=float), level_of_measurement=level, value_domain=scale
            )
            assert alpha_of(*long_form(matrix), level) == pytest.approx(theirs, abs=1e-9)


def test_correlations_agree_with_scipy() -> None:
    stats = pytest.importorskip("scipy.stats")
    rng = random.Random(5)
    for _ in range(30):
        x, y = [[rng.randint(0, 6) for _ in range(20)] for _ in range(2)]
        assert spearman(x, y) == close(stats.spearmanr(x, y).statistic)
        assert kendall_tau_b(x, y) == close(stats.kendalltau(x, y).statistic)


# What holds for all input


@given(winner_pairs)
def test_kappas_are_at_most_one_and_do_not_depend_on_who_is_first(pairs: list[tuple[str, str]]) -> None:
    a, b = [x for x, _ in pairs], [y for _, y in pairs]
    for power in range(3):
        found = kappa_of(a, b, power, ["pro", "tie", "con"])
        assert found is None or -1 - 1e-9 <= found <= 1
        # The scale may be read from either end.
        assert kappa_of(b, a, power, ["con", "tie", "pro"]) == (None if found is None else close(found))


@given(score_ratings, st.randoms(use_true_random=False), st.sampled_from(LEVELS))
def test_alpha_is_at_most_one_and_does_not_depend_on_order_or_names(
    ratings: list[tuple[int, int]], shuffler: random.Random, level: Any
) -> None:
    units, values = [unit for unit, _ in ratings], [value for _, value in ratings]
    alpha = alpha_of(units, values, level)
    assert alpha is None or alpha <= 1
    shuffled = shuffler.sample(ratings, len(ratings))
    again = alpha_of([f"unit {unit}" for unit, _ in shuffled], [value for _, value in shuffled], level)
    assert again == alpha


@given(score_ratings)
def test_alpha_depends_only_on_what_its_level_looks_at(ratings: list[tuple[int, int]]) -> None:
    def alpha(level: Any, change: Any) -> Any:
        found = alpha_of([unit for unit, _ in ratings], [change(value) for _, value in ratings], level)
        return found if found is None else close(found)

    assert alpha("nominal", lambda x: x) == alpha("nominal", lambda x: {1: "e", 2: "a", 3: "d", 4: "b", 5: "c"}[x])
    assert alpha("ordinal", lambda x: x) == alpha("ordinal", lambda x: math.exp(x))
    assert alpha("interval", lambda x: x) == alpha("interval", lambda x: 1000 - 7 * x)


@given(score_ratings, st.sampled_from(LEVELS))
def test_intervals_of_alpha_hold_it_and_stop_at_one(ratings: list[tuple[int, int]], level: Any) -> None:
    units, values = [unit for unit, _ in ratings], [value for _, value in ratings]
    found = krippendorff_alpha_interval(units, values, [unit // 2 for unit in units], level)
    assert (found is None) == (alpha_of(units, values, level) is None)
    if found is not None and found.ci_low is not None and found.ci_high is not None:
        assert found.ci_low <= found.value <= found.ci_high <= 1


@given(winner_pairs)
def test_kappa_with_an_interval_is_kappa(pairs: list[tuple[str, str]]) -> None:
    places = {"pro": 0.0, "tie": 0.5, "con": 1.0}
    a, b = [places[x] for x, _ in pairs], [places[y] for _, y in pairs]
    weights: list[Any] = ["none", "linear", "quadratic"]
    for power, name in enumerate(weights):
        expected = kappa_of([x for x, _ in pairs], [y for _, y in pairs], power, list(places))
        found = cohen_kappa_interval(a, b, [n // 2 for n in range(len(a))], name)
        assert (found is None) == (expected is None)
        if found is not None:
            assert found.value == close(expected or 0.0)
            assert found.clusters == (len(a) + 1) // 2
            assert found.ci_low is None or found.ci_low <= found.value <= (found.ci_high or 0.0)


@given(numbers)
def test_correlations_lie_between_minus_one_and_one_and_turn_with_the_sign(pairs: list[tuple[int, int]]) -> None:
    x, y = [a for a, _ in pairs], [b for _, b in pairs]
    for function in (spearman, kendall_tau_b):
        found = function(x, y)
        if len(set(x)) < 2 or len(set(y)) < 2:
            assert found is None
        else:
            assert found is not None
            assert -1 - 1e-12 <= found <= 1 + 1e-12
            assert function(x, [-b for b in y]) == close(-found)
            assert function(y, x) == close(found)


# Small cases and refusals


def test_raters_that_always_say_the_same_give_no_kappa_and_no_alpha() -> None:
    assert kappa_of(["pro"] * 4, ["pro"] * 4) is None
    assert alpha_of([1, 1, 2, 2], [7.3] * 4, "interval") is None
    assert alpha_of([1, 1, 2, 2], [7.3] * 4, "ordinal") is None
    assert krippendorff_alpha_interval([1, 1, 2, 2], ["pro"] * 4, [1, 1, 2, 2]) is None


def test_constant_raters_that_differ_agree_as_badly_as_chance() -> None:
    assert kappa_of(["pro"] * 4, ["con"] * 4) == 0


def test_nothing_gives_nothing() -> None:
    assert [kappa_of([], []), alpha_of([], []), cohen_kappa_interval([], [], [])] == [None] * 3
    assert [spearman([], []), kendall_tau_b([1], [2])] == [None] * 2


def test_units_with_one_rating_do_not_count() -> None:
    ratings = ["a", "a", "b", "b"], ["pro", "con", "pro", "pro"]
    alone = [*ratings[0], "c", "d", "d"], [*ratings[1], "con", "con", None]
    assert alpha_of(*alone) == alpha_of(*ratings)


def test_a_unit_in_two_clusters_is_refused() -> None:
    with pytest.raises(ValueError, match="unit a is in two clusters"):
        krippendorff_alpha_interval(["a", "a"], [1, 2], ["t1", "t2"], "interval")


def test_levels_weights_and_rules_that_do_not_exist_are_refused() -> None:
    for call in (
        lambda: alpha_of([1], [1], "ratio"),
        lambda: cohen_kappa_interval([1], [2], ["d"], "cubic"),  # type: ignore[arg-type]
        lambda: cohen_kappa_interval([1], [2], ["d", "e"]),
        lambda: spearman([1.0], [1.0, 2.0]),
        lambda: spearman([math.nan, 1.0], [1.0, 2.0]),
    ):
        with pytest.raises(ValueError, match=r"not|need|but"):
            call()


def test_equal_values_share_the_mean_of_their_ranks() -> None:
    assert midranks([10, 20, 20, 5]) == {5: 1, 10: 2, 20: 3.5}


def test_the_jackknife_of_a_mean_is_its_t_interval() -> None:
    values = [3.0, 5.0, 4.0, 9.0]
    mean = sum(values) / 4
    found = jackknife(mean, [(sum(values) - value) / 3 for value in values])
    half = t_quantile(0.95, 3) * np.std(values, ddof=1) / 2
    assert (found.ci_low, found.ci_high) == (close(mean - half), close(mean + half))


def test_what_never_varies_has_no_interval() -> None:
    assert jackknife(1.0, [1.0, 1.0, 1.0]).ci_high is None
    assert jackknife(1.0, [0.5]).ci_high is None
    assert jackknife(1.0, [0.5, None]).ci_high is None


@settings(deadline=None)
@given(st.integers(0, 2**32))
def test_kendalls_pairs_are_counted_as_by_looking_at_each(seed: int) -> None:
    rng = random.Random(seed)
    x, y = [[rng.randint(0, 4) for _ in range(12)] for _ in range(2)]
    pairs = [(i, j) for i in range(12) for j in range(i)]
    signs = [((x[i] > x[j]) - (x[i] < x[j]), (y[i] > y[j]) - (y[i] < y[j])) for i, j in pairs]
    untied = math.sqrt(sum(a != 0 for a, _ in signs) * sum(b != 0 for _, b in signs))
    assert kendall_tau_b(x, y) == (close(sum(a * b for a, b in signs) / untied) if untied else None)


def test_intervals_of_alpha_cover_the_truth() -> None:
    """Ten topics of ten debates with noise that differs by topic. In 300 repetitions 285 are expected."""
    rng = np.random.default_rng(8)

    def ratings(topics: int) -> Any:
        noise = np.exp(rng.normal(0, 0.3, (topics, 1, 1)))
        return np.round(5 + rng.normal(0, 1, (topics, 10, 1)) + noise * rng.normal(0, 1, (topics, 10, 3)))

    def alpha(x: Any) -> Any:
        n, within = x[..., 0].size * 3, (3 * (x**2).sum(-1) - x.sum(-1) ** 2).sum() / 2
        return 1 - (n - 1) * within / (n * (x**2).sum() - x.sum() ** 2)

    truth = alpha(ratings(20_000))
    topic, unit = np.repeat(np.arange(10), 30).tolist(), np.repeat(np.arange(100), 3).tolist()
    found = [krippendorff_alpha_interval(unit, ratings(10).ravel().tolist(), topic, "interval") for _ in range(300)]
    covered = sum(e is not None and e.ci_low <= truth <= e.ci_high for e in found)  # type: ignore[operator]
    assert 270 <= covered <= 297
