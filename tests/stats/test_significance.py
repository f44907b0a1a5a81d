"""Exact tests and power: worked examples, scipy as an oracle, properties, and the same through SQL."""

from __future__ import annotations

import dataclasses
import gc
import json
import math
import random
from collections.abc import Callable, Iterator
from itertools import combinations
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pytest
import scipy
from hypothesis import given
from hypothesis import strategies as st
from oracles import holm

from debatebench.stats import distributions, power, significance
from debatebench.stats import sql as udfs
from debatebench.stats.quality import rmse

counts = st.integers(0, 60)
shares = st.floats(0, 1)
levels = st.floats(0.01, 0.999)
scores = st.lists(st.sampled_from([0.0, 0.5, 1.0, 3.25, 9.0]), min_size=2, max_size=30)


@pytest.fixture(scope="module")
def con() -> Iterator[duckdb.DuckDBPyConnection]:
    connection = duckdb.connect()
    udfs.register(connection)
    yield connection
    connection.close()


@pytest.fixture
def example(shared: Path) -> Callable[[str], dict[str, Any]]:
    def read(name: str) -> dict[str, Any]:
        found: dict[str, Any] = json.loads((shared / "stats" / f"{name}.json").read_text())
        return found

    return read


def value(con: duckdb.DuckDBPyConnection, sql: str, *values: Any) -> Any:
    """The single value of a query."""
    return con.execute(f"select {sql}", list(values)).fetchall()[0][0]


# --- worked examples, by the functions and through SQL ----------------------------------------------------------------


def test_power_example(con: duckdb.DuckDBPyConnection, example: Callable[[str], dict[str, Any]]) -> None:
    data = example("power")
    alpha, wanted, close = data["input"]["alpha"], data["input"]["power"], data["tolerance"]
    for text, expected in data["expected"]["by_true_win_rate"].items():
        rate, games = float(text), expected["n_normal_approx"]
        assert power.games_needed(rate, wanted, alpha) == expected["n_exact_stable"]
        assert value(con, "games_needed(?, ?, ?)", rate, wanted, alpha) == expected["n_exact_stable"]
        assert power.sign_test_power(games, rate, alpha) == pytest.approx(expected["exact_power_at_n"], abs=close)
        assert value(con, "sign_test_power(?, ?, ?)", games, rate, alpha) == pytest.approx(
            expected["exact_power_at_n"], abs=close
        )
    for pairs, expected in data["expected"]["paired_t_min_detectable_dz_by_n"].items():
        assert power.detectable_effect(int(pairs), wanted, alpha) == pytest.approx(expected, abs=close)
        assert value(con, "detectable_effect(?, ?, ?)", int(pairs), wanted, alpha) == pytest.approx(expected, abs=close)


# --- scipy as an oracle -----------------------------------------------------------------------------------------------


def test_distributions_agree_with_scipy() -> None:
    rng = random.Random(1)
    for _ in range(100):
        df, t, level = rng.randint(1, 500), rng.uniform(-20, 20), rng.uniform(0.01, 0.999)
        assert distributions.t_two_sided_p(t, df) == pytest.approx(2 * scipy.stats.t.sf(abs(t), df), abs=1e-12)
        assert distributions.t_quantile(level, df) == pytest.approx(scipy.stats.t.ppf(0.5 + level / 2, df), rel=1e-9)
        n, rate = rng.randint(1, 2000), rng.random()
        k = rng.randint(0, n)
        assert distributions.binomial_cdf(k, n, rate) == pytest.approx(scipy.stats.binom.cdf(k, n, rate), abs=1e-10)
        assert distributions.binomial_pmf(k, n, rate) == pytest.approx(scipy.stats.binom.pmf(k, n, rate), abs=1e-10)
        shift, critical = rng.uniform(0, 6), rng.uniform(0.5, 5)
        # scipy has no number for some tails that are next to nothing.
        expected = scipy.stats.nct.sf(critical, df, shift) + np.nan_to_num(scipy.stats.nct.cdf(-critical, df, shift))
        assert distributions.noncentral_t_rejects(shift, df, critical) == pytest.approx(expected, abs=1e-9)


def test_exact_tests_agree_with_scipy() -> None:
    rng = random.Random(2)
    for _ in range(100):
        n, rate = rng.randint(1, 300), rng.choice([0.5, rng.random()])
        wins = rng.randint(0, n)
        assert significance.binomial_test(wins, n, rate) == pytest.approx(
            scipy.stats.binomtest(wins, n, rate).pvalue, abs=1e-10
        )
        table = [rng.randint(1, 40) for _ in range(4)]
        expected = scipy.stats.fisher_exact([table[:2], table[2:]]).pvalue
        assert significance.fisher_exact(*table) == pytest.approx(expected, abs=1e-10)


def test_games_needed_is_where_power_stays() -> None:
    """Against every number of games, one by one."""
    games = np.arange(1, 1300)
    for rate, wanted, alpha in ((0.57, 0.8, 0.05), (0.3, 0.9, 0.05), (0.85, 0.8, 0.01), (1.0, 0.95, 0.1)):
        critical = scipy.stats.binom.ppf(alpha / 2, games, 0.5)
        critical -= 2 * scipy.stats.binom.cdf(critical, games, 0.5) > alpha
        reached = scipy.stats.binom.cdf(critical, games, rate) + scipy.stats.binom.sf(games - critical - 1, games, rate)
        last = games[(critical < 0) | (reached < wanted)].max()
        assert power.games_needed(rate, wanted, alpha) == last + 1


def test_many_games_needed_are_about_right() -> None:
    # 2,228 by counting every number of games.
    assert power.games_needed(0.53) == pytest.approx(2228, rel=0.02)


# --- properties -------------------------------------------------------------------------------------------------------


@given(counts, counts, counts, counts)
def test_fisher_does_not_care_how_a_table_is_turned(a: int, b: int, c: int, d: int) -> None:
    p = significance.fisher_exact(a, b, c, d)
    turned = [significance.fisher_exact(*table) for table in ((c, d, a, b), (b, a, d, c), (a, c, b, d))]
    assert turned == ([None] * 3 if p is None else pytest.approx([p] * 3, abs=1e-9))
    assert p is None or 0 <= p <= 1


@given(st.integers(6, 400), st.floats(0.5, 1), st.floats(0, 0.2))
def test_power_grows_with_the_win_rate(games: int, rate: float, more: float) -> None:
    stronger = min(1.0, rate + more)
    assert power.sign_test_power(games, rate) <= power.sign_test_power(games, stronger) + 1e-12
    assert power.sign_test_power(games, rate) == pytest.approx(power.sign_test_power(games, 1 - rate))


@pytest.mark.slow
def test_what_a_run_detects_is_significant_after_holm_in_four_of_five_cases() -> None:
    """Of four debaters two differ by the gap that `marts.run_power` quotes, and the others lie between them.

    The gap of one unadjusted test, which is smaller, would be significant in less than half of the cases.
    """
    topics, repetitions, spread = 10, 600, 0.2
    rng = np.random.default_rng(3)
    pairs = list(combinations(range(4), 2))

    def share_found(alpha: float) -> float:
        effect = power.detectable_effect(topics, 0.8, alpha)
        assert effect is not None
        gap = effect * spread * math.sqrt(2)
        means = np.array([gap / 2, 0.0, 0.0, -gap / 2])
        found = 0
        for rates in means + spread * rng.standard_normal((repetitions, topics, 4)):
            p_values = []
            for one, other in pairs:
                gaps = rates[:, one] - rates[:, other]
                t = gaps.mean() / gaps.std(ddof=1) * math.sqrt(topics)
                p_values.append(distributions.t_two_sided_p(t, topics - 1))
            found += holm(p_values)[pairs.index((0, 3))] < 0.05  # type: ignore[operator]
        return found / repetitions

    assert 0.76 < share_found(0.05 / len(pairs)) < 0.88
    assert share_found(0.05) < 0.55


@pytest.mark.parametrize("alpha", [0.05, 0.05 / 66])
@pytest.mark.parametrize("pairs", [2, 5, 31, 400, 9_000])
def test_as_many_pairs_are_needed_as_detect_the_effect(pairs: int, alpha: float) -> None:
    effect = power.detectable_effect(pairs, 0.8, alpha)
    assert effect is not None
    assert power.pairs_needed(effect * (1 + 1e-9), 0.8, alpha) == pairs
    assert power.pairs_needed(-effect * (1 + 1e-9), 0.8, alpha) == pairs
    assert power.pairs_needed(effect * (1 - 1e-6), 0.8, alpha) == pairs + 1


def test_beyond_ten_thousand_pairs_the_approximation_goes_on_where_the_exact_number_ends() -> None:
    assert power.pairs_needed(0.0280) == pytest.approx(power.pairs_needed(0.0282) * (0.0282 / 0.0280) ** 2, abs=3)  # type: ignore[operator]
    assert power.pairs_needed(1e-7) is None


@pytest.mark.parametrize("games", [6, 17, 100, 2_000])
def test_the_detectable_win_rate_has_just_that_power(games: int) -> None:
    rate = power.detectable_win_rate(games)
    assert rate is not None
    assert power.sign_test_power(games, rate) == pytest.approx(0.8, abs=1e-6)


# --- what there is nothing to say about, and what cannot be -----------------------------------------------------------


def test_without_data_there_is_no_result() -> None:
    assert significance.binomial_test(0, 0, 0.3) is None
    assert significance.fisher_exact(0, 0, 3, 4) is None
    assert significance.fisher_exact(0, 3, 0, 4) is None
    assert power.games_needed(0.5) is None
    assert power.detectable_win_rate(5) is None
    assert power.detectable_effect(1) is None
    assert power.pairs_needed(0) is None


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: significance.binomial_test(1.5, 2), "wins must be a whole number from 0 to a billion, not 1.5"),
        (lambda: significance.binomial_test(3, 2), "3 wins of 2 games are not possible"),
        (lambda: significance.binomial_test(math.nan, 2), "wins must be a whole number"),
        (lambda: significance.binomial_test(1, 2, 1.5), "a win rate must be from 0 to 1"),
        (lambda: significance.fisher_exact(-1, 2, 3, 4), "a cell of the table must be a whole number"),
        (lambda: significance.t_interval(0, 1, 9, 95), "a confidence level must be between 0 and 1"),
        (lambda: significance.t_interval(0, 1, 0), "0 degrees of freedom are not enough for an interval"),
        (lambda: power.games_needed(0.6, 80), "a threshold and a power must be between 0 and 1"),
        (lambda: power.sign_test_power(10, 1.2), "a win rate must be from 0 to 1"),
        (lambda: power.detectable_win_rate(-1), "the number of games must be from 0"),
    ],
)
def test_what_cannot_be_is_refused_in_a_sentence(call: Callable[[], object], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        call()


# --- through SQL ------------------------------------------------------------------------------------------------------


def test_every_function_gives_null_for_a_null_argument(con: duckdb.DuckDBPyConnection) -> None:
    for name, function in udfs.FUNCTIONS.items():
        nulls = ", ".join(f"cast(null as {kind})" for kind in function.parameters)
        assert value(con, f"{name}({nulls})") is None, name


def test_counts_may_be_what_sums_are(con: duckdb.DuckDBPyConnection) -> None:
    call = "binomial_test(sum(x), 10.0::decimal(4, 1), 0.5) from (values (4), (5)) as t(x)"
    assert value(con, call) == pytest.approx(0.021484375)


def test_no_result_is_null_in_sql(con: duckdb.DuckDBPyConnection) -> None:
    rows = con.execute("select binomial_test(a, b, 0.5) from (values (0, 0), (6, 6)) as t(a, b)").fetchall()
    assert rows == [(None,), (pytest.approx(0.03125),)]
    assert value(con, "fisher_exact(0, 0, 3, 4)") is None


def test_lists_travel_to_the_last_bit(con: duckdb.DuckDBPyConnection) -> None:
    rng = random.Random(0)
    numbers = [*(rng.random() ** rng.randint(1, 60) for _ in range(5_000)), 5e-324, 0.1 + 0.2, 1 / 3, 1.0, 0.0]
    for number in (5e-324, 0.1 + 0.2, 1 / 3):
        assert value(con, "rmse(['a'], [?]).value", number * number) == math.sqrt(number * number)
    clusters = [str(n) for n in range(len(numbers))]
    found = rmse(clusters, numbers)
    assert found is not None
    assert value(con, "rmse(?, ?::double[])", clusters, numbers) == dataclasses.asdict(found)


def test_what_cannot_be_names_the_function(con: duckdb.DuckDBPyConnection) -> None:
    with pytest.raises(duckdb.InvalidInputException, match=r"binomial_test: wins must be a whole number .* not 0\.5"):
        value(con, "binomial_test(0.5, 2, 0.5)")


def test_functions_outlive_the_connection_that_brought_them(tmp_path: Path) -> None:
    """DuckDB shares them among the connections to a file, and forgets the Python object with the first of them."""
    first, second = (duckdb.connect(str(tmp_path / "file.duckdb")) for _ in range(2))
    udfs.register(first)
    first.close()
    del first
    gc.collect()
    assert value(second, "binomial_test(6, 6, 0.5)") == pytest.approx(0.03125)
    second.close()
