"""The packaged macros say what the functions of `debatebench.stats` say."""

from __future__ import annotations

import math
import random
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from statistics import fmean
from typing import Any

import duckdb
import pytest
from hypothesis import given
from hypothesis import strategies as st

from debatebench.query.sql_project import load_project
from debatebench.shared.workspace import Workspace
from debatebench.stats import jackknife, significance
from debatebench.stats.cluster_rates import cluster_rate
from debatebench.stats.distributions import normal_cdf, t_quantile, t_two_sided_p
from debatebench.transform.create_macros import create_macros
from debatebench.transform.testing.unit_tests import run_unit_tests

PROJECT = load_project(Workspace(Path("no-such-workspace")).files("sql", "macros/*"))


@pytest.fixture(scope="module")
def con() -> Iterator[duckdb.DuckDBPyConnection]:
    with duckdb.connect() as connection:
        create_macros(connection, PROJECT.macros)
        yield connection


def value(con: duckdb.DuckDBPyConnection, call: str, *parameters: Any) -> Any:
    return con.execute(f"select {call}", parameters).fetchall()[0][0]


def near(expected: float | None) -> Any:
    return None if expected is None else pytest.approx(expected, rel=1e-12, abs=1e-12)


def test_every_macro_is_described_with_its_arguments_and_tested_or_called_by_one_that_is():
    tested = {unit.tested for unit in PROJECT.macro_tests}
    for name in reversed(PROJECT.macros):
        macro = PROJECT.macros[name]
        assert [argument.name for argument in macro.properties.arguments] == list(macro.parameters), name
        assert all(argument.description for argument in macro.properties.arguments), name
        assert name in tested, name
        tested |= {call.name for call in macro.query.macro_calls}
    assert {result.status for result in run_unit_tests(PROJECT)} == {"pass"}


def test_the_normal_quantile_leaves_a_fortieth_on_each_side(con: duckdb.DuckDBPyConnection):
    assert normal_cdf(value(con, "macros.normal_95()")) == pytest.approx(0.975, abs=1e-15)


@pytest.mark.parametrize("games", [1, 2, 3, 10, 57, 1000])
def test_wilson_intervals(con: duckdb.DuckDBPyConnection, games: int):
    for half_points in {0, 1, games // 3, games, 2 * games - 1, 2 * games}:
        low, high = significance.wilson_interval(half_points / 2, games)
        assert value(con, "macros.wilson_low(?, ?)", half_points / 2, games) == near(low)
        assert value(con, "macros.wilson_high(?, ?)", half_points / 2, games) == near(high)


def test_sign_tests(con: duckdb.DuckDBPyConnection):
    for wins in range(12):
        for losses in (0, 1, 5, 11, 200):
            found = value(con, "macros.sign_test_p(?, ?)", wins, losses)
            assert found == near(significance.sign_test(wins, losses)), (wins, losses)


@pytest.mark.parametrize("seed", range(5))
def test_a_jackknife_and_its_interval(con: duckdb.DuckDBPyConnection, seed: int):
    rng = random.Random(seed)
    numbers = [rng.random() for _ in range(rng.randint(2, 12))]
    whole = fmean(numbers)
    left_out = [(sum(numbers) - number) / (len(numbers) - 1) for number in numbers]
    expected = jackknife.jackknife(whole, left_out)
    error = value(con, "macros.jackknife_error(value, ?) from (select unnest(?) as value)", whole, left_out)
    assert error == pytest.approx(expected.standard_error, rel=1e-9)
    t_95 = t_quantile(0.95, len(numbers) - 1)
    half = value(con, "macros.t_half_width(?, ?)", error, t_95)
    assert whole + half == pytest.approx(expected.ci_high, rel=1e-9)


def test_a_jackknife_does_not_depend_on_the_order_of_rows(con: duckdb.DuckDBPyConnection):
    rng = random.Random(7)
    numbers = [rng.random() for _ in range(500)]
    errors = set()
    for _ in range(5):
        rng.shuffle(numbers)
        errors.add(value(con, "macros.jackknife_error(value, 0.5) from (select unnest(?) as value)", numbers))
    assert len(errors) == 1


@pytest.mark.parametrize("seed", range(5))
def test_adjusted_p_values(con: duckdb.DuckDBPyConnection, seed: int):
    """Many are equal, some are null, and a second family lies between the first."""
    rng = random.Random(seed)
    families = [[rng.choice([0.01, 0.02, rng.random() ** 3, None]) for _ in range(rng.randint(1, 30))] for _ in "ab"]
    rows = [(f, place, p) for f, family in enumerate(families) for place, p in enumerate(family)]
    rng.shuffle(rows)
    columns: list[Sequence[Any]] = [list(column) for column in zip(*rows, strict=True)]
    found = con.execute(
        """
        with tests as (select unnest(?) as f, unnest(?) as place, unnest(?::double[]) as p),
        steps as (
            select *, macros.holm_step(p, f) as step, macros.benjamini_hochberg_step(p, (f, 1)) as bh_step from tests
        )
        select f, macros.holm_p(p, step, f), macros.benjamini_hochberg_p(p, bh_step, (f, 1))
        from steps order by f, place
        """,
        columns,
    ).fetchall()
    for f, family in enumerate(families):
        mine = [row for row in found if row[0] == f]
        assert [row[1] for row in mine] == [near(p) for p in significance.holm(family)]
        assert [row[2] for row in mine] == [near(p) for p in significance.benjamini_hochberg(family)]


@pytest.mark.parametrize("seed", range(3))
def test_the_error_of_a_mean_over_clusters(con: duckdb.DuckDBPyConnection, seed: int):
    rng = random.Random(seed)
    clusters = [[rng.random() for _ in range(rng.randint(1, 6))] for _ in range(rng.randint(2, 9))]
    numbers = [number for cluster in clusters for number in cluster]
    mean = fmean(numbers)
    squares = math.fsum((sum(cluster) - len(cluster) * mean) ** 2 for cluster in clusters)
    names = [str(place) for place, cluster in enumerate(clusters) for _ in cluster]
    expected = significance.cluster_mean(numbers, names)
    assert expected is not None
    assert value(con, "macros.cluster_error(?, ?, ?)", squares, len(clusters), len(numbers)) == near(expected.se_cr1)


def test_samples_have_about_the_size_that_is_wanted_and_larger_ones_hold_smaller_ones(con: duckdb.DuckDBPyConnection):
    samples = [
        {
            row[0]
            for row in con.execute("from range(10000) t(n) where macros.is_sampled(n, ?, 10000)", [wanted]).fetchall()
        }
        for wanted in (100, 2500, 9000, 10000)
    ]
    assert [len(sample) for sample in samples] == pytest.approx([100, 2500, 9000, 10000], abs=5)
    assert samples[0] < samples[1] < samples[2] < samples[3]


@pytest.mark.parametrize("df", [1, 2, 3, 5, 19, 20, 21, 64, 999, 1000])
def test_tails_of_students_t(con: duckdb.DuckDBPyConnection, df: int):
    for t in (1e-4, 0.3, 1.0, 1.7, 2.5, 4.47, 4.48, 9.0, 40.0):
        found = value(con, "macros.student_t_p(?, ?)", -t, df)
        assert found == pytest.approx(t_two_sided_p(t, df), rel=1e-7, abs=1e-300)
    assert value(con, "macros.student_t_p(3.0, 5000)") == value(con, "macros.student_t_p(3.0, 1000)")


@given(rates=st.lists(st.sampled_from([0.0, 0.5, 1.0]), min_size=1, max_size=30))
def test_debates_that_are_their_own_clusters_have_wilsons_interval(con: duckdb.DuckDBPyConnection, rates: list[float]):
    n, rate = len(rates), fmean(rates)
    error = math.sqrt(sum((x - rate) ** 2 for x in rates) / (n - 1) / n) if n > 1 else None
    assert value(con, "macros.effective_count(?, ?, ?, ?, 2.0, 2.0)", rate, n, n, error) == n


@given(
    rates=st.lists(st.tuples(st.sampled_from([0.0, 0.5, 1.0]), st.integers(0, 4)), min_size=1, max_size=20),
    neutral=st.sampled_from([0.5, 0.25]),
)
def test_rates_over_clusters(con: duckdb.DuckDBPyConnection, rates: list[tuple[float, int]], neutral: float):
    found = cluster_rate([rate for rate, _ in rates], [cluster for _, cluster in rates], neutral)
    assert found is not None
    sums = Counter({cluster: 0.0 for _, cluster in rates})
    for rate, cluster in rates:
        sums[cluster] += rate
    sizes = Counter(cluster for _, cluster in rates)
    clusters = [{"n": sizes[cluster], "y": total} for cluster, total in sums.items()]
    n, g = len(rates), len(clusters)
    error = value(con, "macros.mean_error(?::struct(n bigint, y double)[], ?)", clusters, found.rate)
    quantiles = [t_quantile(0.95, df) if df else None for df in (n - 1, g - 1)]
    effective = value(con, "macros.effective_count(?, ?, ?, ?, ?, ?)", found.rate, n, g, error, *quantiles)
    assert effective == near(found.effective_count)
    sides = [
        value(con, f"macros.clusters_{side}(?::struct(n bigint, y double)[], ?)", clusters, neutral)
        for side in ("above", "below")
    ]
    is_exact = g == n and all(rate in (0, neutral, 1) for rate, _ in rates)
    p_value = value(
        con, "macros.difference_p(?::double, ?, ?, ?, ?, ?)", found.rate - neutral, error, g, *sides, is_exact
    )
    assert p_value == (found.p_value if found.p_value is None else pytest.approx(found.p_value, rel=1e-6))
    if found.ci_low is not None:
        assert found.ci_high is not None
        assert found.ci_low < found.ci_high
