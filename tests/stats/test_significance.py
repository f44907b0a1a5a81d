"""Tests of difference and power: worked examples, scipy as an oracle, properties, and the same through SQL."""

from __future__ import annotations

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
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats as oracle

from debatebench.stats import distributions, power, significance
from debatebench.stats import sql as udfs

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


def test_wilson_example(con: duckdb.DuckDBPyConnection, example: Callable[[str], dict[str, Any]]) -> None:
    data = example("wilson")
    for (wins, games), expected in zip(data["input"]["successes_n"], data["expected"]["intervals"], strict=True):
        assert significance.wilson_interval(wins, games) == pytest.approx(expected, abs=data["tolerance"])
        ends = value(con, "wilson_interval(?, ?, 0.95)", wins, games)
        assert [ends["low"], ends["high"]] == pytest.approx(expected, abs=data["tolerance"])


def test_mcnemar_example(con: duckdb.DuckDBPyConnection, example: Callable[[str], dict[str, Any]]) -> None:
    data = example("mcnemar")
    for ((a, b), (c, d)), expected in zip(data["input"]["tables_a_b_c_d"], data["expected"]["results"], strict=True):
        result = significance.mcnemar(a, b, c, d)
        assert {key: getattr(result, key) for key in expected} == pytest.approx(expected, abs=data["tolerance"])
        assert value(con, "mcnemar(?, ?, ?, ?)", a, b, c, d) == pytest.approx(expected, abs=data["tolerance"])


def test_paired_t_example(con: duckdb.DuckDBPyConnection, example: Callable[[str], dict[str, Any]]) -> None:
    data = example("paired_t")
    expected = dict(data["expected"])
    expected["ci_low"], expected["ci_high"] = expected.pop("ci95")
    expected["p"] = expected.pop("p_two_sided")
    x, y = data["input"]["x"], data["input"]["y"]
    result = significance.paired_t(x, y)
    assert {key: getattr(result, key) for key in expected} == pytest.approx(expected, abs=data["tolerance"])
    found = value(con, "paired_t(?, ?, 0.95)", x, y)
    assert {key: found[key] for key in expected} == pytest.approx(expected, abs=data["tolerance"])


def test_cluster_example(con: duckdb.DuckDBPyConnection, example: Callable[[str], dict[str, Any]]) -> None:
    data = example("cluster_se_mean")
    names = {
        "mean": "mean",
        "se_iid": "se_iid_ddof1",
        "se_cr0": "se_cluster_cr0",
        "se_cr1": "se_cluster_cr1",
        "design_effect": "design_effect_cr0_vs_iid_ddof0",
        "count_clusters": "clusters",
    }
    expected = {ours: data["expected"][theirs] for ours, theirs in names.items()}
    topics, numbers = zip(*data["input"]["rows_topic_score"], strict=True)
    result = significance.cluster_mean(numbers, topics)
    assert {key: getattr(result, key) for key in expected} == pytest.approx(expected, abs=data["tolerance"])
    found = value(con, "cluster_mean(?, ?, 0.95)", list(numbers), list(topics))
    assert {key: found[key] for key in expected} == pytest.approx(expected, abs=data["tolerance"])


def test_multiple_testing_example(con: duckdb.DuckDBPyConnection, example: Callable[[str], dict[str, Any]]) -> None:
    data = example("multiple_testing")
    p, expected = data["input"]["p"], data["expected"]
    assert significance.holm(p) == pytest.approx(expected["holm"], abs=data["tolerance"])
    assert significance.benjamini_hochberg(p) == pytest.approx(expected["bh"], abs=data["tolerance"])
    assert value(con, "holm(?)", p) == pytest.approx(expected["holm"], abs=data["tolerance"])
    assert value(con, "benjamini_hochberg(?)", p) == pytest.approx(expected["bh"], abs=data["tolerance"])


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
        assert power.elo_gap(rate) == pytest.approx(expected["elo_gap"], abs=close)
        assert value(con, "elo_gap(?)", rate) == pytest.approx(expected["elo_gap"], abs=close)
    for pairs, expected in data["expected"]["paired_t_min_detectable_dz_by_n"].items():
        assert power.detectable_effect(int(pairs), wanted, alpha) == pytest.approx(expected, abs=close)
        assert value(con, "detectable_effect(?, ?, ?)", int(pairs), wanted, alpha) == pytest.approx(expected, abs=close)


# --- scipy as an oracle -----------------------------------------------------------------------------------------------


def test_distributions_agree_with_scipy() -> None:
    rng = random.Random(1)
    for _ in range(100):
        df, t, level = rng.randint(1, 500), rng.uniform(-20, 20), rng.uniform(0.01, 0.999)
        assert distributions.t_two_sided_p(t, df) == pytest.approx(2 * oracle.t.sf(abs(t), df), abs=1e-12)
        assert distributions.t_quantile(level, df) == pytest.approx(oracle.t.ppf(0.5 + level / 2, df), rel=1e-9)
        n, rate = rng.randint(1, 2000), rng.random()
        k = rng.randint(0, n)
        assert distributions.binomial_cdf(k, n, rate) == pytest.approx(oracle.binom.cdf(k, n, rate), abs=1e-10)
        assert distributions.binomial_pmf(k, n, rate) == pytest.approx(oracle.binom.pmf(k, n, rate), abs=1e-10)
        assert distributions.chi2_tail(abs(t)) == pytest.approx(oracle.chi2.sf(abs(t), 1), abs=1e-12)
        shift, critical = rng.uniform(0, 6), rng.uniform(0.5, 5)
        # scipy has no number for some tails that are next to nothing.
        expected = oracle.nct.sf(critical, df, shift) + np.nan_to_num(oracle.nct.cdf(-critical, df, shift))
        assert distributions.noncentral_t_rejects(shift, df, critical) == pytest.approx(expected, abs=1e-9)


def test_exact_tests_agree_with_scipy() -> None:
    rng = random.Random(2)
    for _ in range(100):
        n, rate = rng.randint(1, 300), rng.choice([0.5, rng.random()])
        wins = rng.randint(0, n)
        assert significance.binomial_test(wins, n, rate) == pytest.approx(
            oracle.binomtest(wins, n, rate).pvalue, abs=1e-10
        )
        table = [rng.randint(1, 40) for _ in range(4)]
        expected = oracle.fisher_exact([table[:2], table[2:]]).pvalue
        assert significance.fisher_exact(*table) == pytest.approx(expected, abs=1e-10)


def test_paired_t_agrees_with_scipy() -> None:
    rng = random.Random(3)
    x, y = [rng.gauss(0, 1) for _ in range(23)], [rng.gauss(0.3, 2) for _ in range(23)]
    expected = oracle.ttest_rel(x, y)
    result = significance.paired_t(x, y, 0.9)
    assert result is not None
    interval = expected.confidence_interval(0.9)
    assert (result.t, result.p) == pytest.approx((expected.statistic, expected.pvalue), abs=1e-12)
    assert (result.ci_low, result.ci_high) == pytest.approx((interval.low, interval.high), abs=1e-9)


def test_benjamini_hochberg_agrees_with_scipy() -> None:
    rng = random.Random(4)
    p = [rng.choice([rng.random() ** 3, 0.02]) for _ in range(60)]
    assert significance.benjamini_hochberg(p) == pytest.approx(oracle.false_discovery_control(p).tolist(), abs=1e-12)


def test_games_needed_is_where_power_stays() -> None:
    """Against every number of games, one by one."""
    games = np.arange(1, 1300)
    for rate, wanted, alpha in ((0.57, 0.8, 0.05), (0.3, 0.9, 0.05), (0.85, 0.8, 0.01), (1.0, 0.95, 0.1)):
        critical = oracle.binom.ppf(alpha / 2, games, 0.5)
        critical -= 2 * oracle.binom.cdf(critical, games, 0.5) > alpha
        reached = oracle.binom.cdf(critical, games, rate) + oracle.binom.sf(games - critical - 1, games, rate)
        last = games[(critical < 0) | (reached < wanted)].max()
        assert power.games_needed(rate, wanted, alpha) == last + 1


def test_many_games_needed_are_about_right() -> None:
    # 2,228 by counting every number of games.
    assert power.games_needed(0.53) == pytest.approx(2228, rel=0.02)


# --- properties -------------------------------------------------------------------------------------------------------


@given(st.integers(0, 200), st.integers(0, 200), levels)
def test_wilson_holds_the_rate_and_stays_in_range(half_wins: int, more: int, level: float) -> None:
    games = half_wins / 2 + more
    low, high = significance.wilson_interval(half_wins / 2, games, level)
    assert 0 <= low <= high <= 1
    assert games == 0 or low <= half_wins / 2 / games <= high


@given(counts, counts)
def test_sign_test_is_symmetric_and_a_probability(wins: int, losses: int) -> None:
    p = significance.sign_test(wins, losses)
    assert p == significance.sign_test(losses, wins)
    assert (p is None) if wins + losses == 0 else 0 < p <= 1


@given(counts, counts, counts, counts)
def test_fisher_does_not_care_how_a_table_is_turned(a: int, b: int, c: int, d: int) -> None:
    p = significance.fisher_exact(a, b, c, d)
    turned = [significance.fisher_exact(*table) for table in ((c, d, a, b), (b, a, d, c), (a, c, b, d))]
    assert turned == ([None] * 3 if p is None else pytest.approx([p] * 3, abs=1e-9))
    assert p is None or 0 <= p <= 1


@given(counts, counts, counts, counts)
def test_mcnemar_gives_probabilities_and_the_exact_one_is_the_sign_test(a: int, b: int, c: int, d: int) -> None:
    result = significance.mcnemar(a, b, c, d)
    if a + b + c + d == 0:
        assert result is None
        return
    assert result is not None
    assert all(0 <= p <= 1 for p in (result.exact_p, result.mid_p, result.chi2_p, result.chi2_cc_p))
    assert result.mid_p <= result.exact_p
    assert result.chi2_cc <= result.chi2
    assert b + c == 0 or result.exact_p == significance.sign_test(b, c)


@given(scores, st.randoms(use_true_random=False), levels)
def test_paired_t_has_its_mean_within_its_interval(x: list[float], rng: random.Random, level: float) -> None:
    y = rng.sample(x, len(x))
    result = significance.paired_t(x, y, level)
    turned = significance.paired_t(y, x, level)
    assert result is not None
    assert turned is not None
    assert result.ci_low is not None
    assert result.ci_high is not None
    assert result.ci_low <= result.mean_diff <= result.ci_high
    assert (result.p is None) == (result.sd_diff == 0)
    assert turned.p == result.p


@given(scores)
def test_clusters_of_one_are_no_clusters(numbers: list[float]) -> None:
    result = significance.cluster_mean(numbers, range(len(numbers)))
    assert result is not None
    assert result.se_cr1 == pytest.approx(result.se_iid, abs=1e-12)


@given(scores, st.integers(2, 5))
def test_repeating_a_topic_adds_no_information(numbers: list[float], times: int) -> None:
    once = significance.cluster_mean(numbers, range(len(numbers)))
    again = significance.cluster_mean(numbers * times, list(range(len(numbers))) * times)
    assert once is not None
    assert again is not None
    assert again.se_cr1 == pytest.approx(once.se_cr1, abs=1e-12)
    assert again.design_effect is None or again.design_effect == pytest.approx(times)


@given(st.lists(st.none() | shares, max_size=30))
def test_adjusted_p_values_are_larger_and_keep_their_order(p_values: list[float | None]) -> None:
    holm, hochberg = significance.holm(p_values), significance.benjamini_hochberg(p_values)
    known = [(p, b, h) for p, b, h in zip(p_values, hochberg, holm, strict=True) if p is not None]
    assert [p is None for p in p_values] == [h is None for h in holm] == [b is None for b in hochberg]
    for p, b, h in known:
        assert b is not None
        assert h is not None
        assert p <= b * (1 + 1e-12)
        assert b <= h * (1 + 1e-12) <= 1 + 1e-12
    ascending = sorted(known, key=lambda each: each[0])
    assert [h for _, _, h in ascending] == sorted(h for _, _, h in ascending)
    assert [b for _, b, _ in ascending] == sorted(b for _, b, _ in ascending)


@given(st.permutations(range(8)))
def test_adjusted_p_values_do_not_depend_on_the_order(order: list[int]) -> None:
    p_values: list[float | None] = [0.001, 0.01, 0.01, 0.02, 0.3, 0.3, 0.9, None]
    for adjust in (significance.holm, significance.benjamini_hochberg):
        adjusted = adjust(p_values)
        assert adjust([p_values[i] for i in order]) == [adjusted[i] for i in order]


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
            found += significance.holm(p_values)[pairs.index((0, 3))] < 0.05  # type: ignore[operator]
        return found / repetitions

    assert 0.76 < share_found(0.05 / len(pairs)) < 0.88
    assert share_found(0.05) < 0.55


@pytest.mark.parametrize("games", [6, 17, 100, 2_000])
def test_the_detectable_win_rate_has_just_that_power(games: int) -> None:
    rate = power.detectable_win_rate(games)
    assert rate is not None
    assert power.sign_test_power(games, rate) == pytest.approx(0.8, abs=1e-6)


# --- what there is nothing to say about, and what cannot be -----------------------------------------------------------


def test_without_data_there_is_no_result() -> None:
    assert significance.wilson_interval(0, 0) == (0.0, 1.0)
    assert significance.sign_test(0, 0) is None
    assert significance.binomial_test(0, 0, 0.3) is None
    assert significance.fisher_exact(0, 0, 3, 4) is None
    assert significance.fisher_exact(0, 3, 0, 4) is None
    assert significance.mcnemar(0, 0, 0, 0) is None
    assert significance.paired_t([], []) is None
    assert significance.cluster_mean([], []) is None
    assert significance.holm([]) == []
    assert power.games_needed(0.5) is None
    assert power.detectable_win_rate(5) is None
    assert power.detectable_effect(1) is None
    assert power.debates_needed(10, 1.0) is None
    assert power.elo_gap(1.0) is None


def test_without_spread_there_is_no_test() -> None:
    # 0.3 - 0.1 and 0.4 - 0.2 differ in their last digit.
    result = significance.paired_t([0.3, 0.4, 0.5], [0.1, 0.2, 0.3])
    assert result is not None
    assert (result.t, result.p, result.cohens_dz, result.sd_diff) == (None, None, None, 0)
    single = significance.paired_t([2.0], [1.0])
    assert single is not None
    assert (single.mean_diff, single.p, single.ci_low) == (1.0, None, None)
    alike = significance.cluster_mean([0.1] * 6, ["a", "b"] * 3)
    assert alike is not None
    assert (alike.se_cr1, alike.design_effect, alike.p, alike.ci_low) == (0, None, None, pytest.approx(0.1))
    one_topic = significance.cluster_mean([1, 2, 3], ["a"] * 3)
    assert one_topic is not None
    assert (one_topic.mean, one_topic.se_cr1, one_topic.p) == (2, None, None)
    assert significance.t_test(1, math.inf, 9) is None
    assert significance.t_test(1, 0, 0) is None


@pytest.mark.parametrize("topics", range(2, 12))
def test_a_mean_without_spread_is_tested_by_its_sign(topics: int) -> None:
    for mean in (0.25, -1.0):
        assert significance.t_test(mean, 0, topics - 1) == pytest.approx(significance.sign_test(topics, 0))
    assert significance.t_test(0, 0, topics - 1) == 1


def test_agreement_on_every_case_gives_no_hint_of_a_difference() -> None:
    result = significance.mcnemar(4, 0, 0, 3)
    assert result == significance.McNemar(1, 1, 0, 1, 0, 1)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: significance.wilson_interval(3, 2), "3 wins of 2 games are not possible"),
        (lambda: significance.wilson_interval(1, 2, 95), "a confidence level must be between 0 and 1"),
        (lambda: significance.sign_test(1.5, 2), "wins must be a whole number from 0 to a billion, not 1.5"),
        (lambda: significance.sign_test(math.nan, 2), "wins must be a whole number"),
        (lambda: significance.binomial_test(1, 2, 1.5), "a win rate must be from 0 to 1"),
        (lambda: significance.fisher_exact(-1, 2, 3, 4), "a cell of the table must be a whole number"),
        (lambda: significance.paired_t([1, 2], [1]), "pairs have two values each, but the lists have 2 and 1"),
        (lambda: significance.paired_t([1, None], [1, 2]), "a value is missing or not a finite number"),  # type: ignore[list-item]
        (lambda: significance.cluster_mean([1, 2], ["a", None]), "a cluster is missing"),
        (lambda: significance.holm([0.5, 1.5]), "a p value must be from 0 to 1"),
        (lambda: significance.t_interval(0, 1, 0), "0 degrees of freedom are not enough for an interval"),
        (lambda: power.games_needed(0.6, 80), "a threshold and a power must be between 0 and 1"),
        (lambda: power.detectable_win_rate(-1), "the number of games must be from 0"),
        (lambda: power.debates_needed(10, 0.1, 0), "a design effect must be above 0"),
        (lambda: power.design_effect(0.5, 0.1), "debates per topic must be at least 1"),
        (lambda: power.elo_gap(1.2), "a win rate must be from 0 to 1"),
    ],
)
def test_what_cannot_be_is_refused_in_a_sentence(call: Callable[[], object], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        call()


def test_debates_needed_allow_for_ties_and_topics() -> None:
    assert power.debates_needed(10, 0.9) == 100
    assert power.debates_needed(100, 0.1, power.design_effect(6, 0.1)) == 167
    assert power.design_effect(1, 0.9) == 1


# --- through SQL ------------------------------------------------------------------------------------------------------


def test_every_function_gives_null_for_a_null_argument(con: duckdb.DuckDBPyConnection) -> None:
    for name, function in udfs.FUNCTIONS.items():
        nulls = ", ".join(f"cast(null as {kind})" for kind in function.parameters)
        assert value(con, f"{name}({nulls})") is None, name


def test_counts_may_be_what_sums_are(con: duckdb.DuckDBPyConnection) -> None:
    assert value(con, "sign_test(sum(x), 1.0::decimal(4, 1)) from (values (4), (5)) as t(x)") == pytest.approx(
        0.021484375
    )


def test_no_result_is_null_in_sql(con: duckdb.DuckDBPyConnection) -> None:
    rows = con.execute("select sign_test(a, b) from (values (0, 0), (6, 0)) as t(a, b)").fetchall()
    assert rows == [(None,), (pytest.approx(0.03125),)]
    assert value(con, "mcnemar(0, 0, 0, 0)") is None
    assert value(con, "holm([0.01, null, 0.04])") == [0.02, None, 0.04]


def test_lists_travel_to_the_last_bit(con: duckdb.DuckDBPyConnection) -> None:
    rng = random.Random(0)
    p_values = [*(rng.random() ** rng.randint(1, 60) for _ in range(5_000)), 5e-324, 0.1 + 0.2, 1 / 3, 1.0, 0.0]
    con.execute("select benjamini_hochberg(?::double[]), holm([nullif(p, 0)]) from (select ? as p)", [p_values, 5e-324])
    assert con.fetchall() == [(significance.benjamini_hochberg(p_values), [5e-324])]


def test_what_cannot_be_names_the_function(con: duckdb.DuckDBPyConnection) -> None:
    with pytest.raises(duckdb.InvalidInputException, match=r"sign_test: wins must be a whole number .* not 0\.5"):
        value(con, "sign_test(0.5, 2)")


def test_functions_outlive_the_connection_that_brought_them(tmp_path: Path) -> None:
    """DuckDB shares them among the connections to a file, and forgets the Python object with the first of them."""
    first, second = (duckdb.connect(str(tmp_path / "file.duckdb")) for _ in range(2))
    udfs.register(first)
    first.close()
    del first
    gc.collect()
    assert value(second, "sign_test(6, 0)") == pytest.approx(0.03125)
    second.close()
