"""The packaged macros say what definitions and distributions say."""

from __future__ import annotations

import json
import math
import random
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from statistics import fmean
from typing import Any

import duckdb
import oracles
import pytest
from hypothesis import given
from hypothesis import strategies as st

from debatebench.query.sql_project import load_project
from debatebench.shared.workspace import Workspace
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


@pytest.fixture
def example(shared: Path) -> Callable[[str], dict[str, Any]]:
    """The content of a worked example."""
    return lambda name: json.loads((shared / "stats" / f"{name}.json").read_text())


# Worked examples


def test_wilson_example(con: duckdb.DuckDBPyConnection, example: Callable[[str], dict[str, Any]]) -> None:
    data = example("wilson")
    for (wins, games), expected in zip(data["input"]["successes_n"], data["expected"]["intervals"], strict=True):
        ends = [value(con, f"macros.wilson_{end}(?, ?)", wins, games) for end in ("low", "high")]
        assert ends == pytest.approx(expected, abs=data["tolerance"])


def test_mcnemars_exact_test_is_the_sign_test_of_the_cases_that_differ(
    con: duckdb.DuckDBPyConnection, example: Callable[[str], dict[str, Any]]
) -> None:
    data = example("mcnemar")
    for ((_, b), (c, _)), expected in zip(data["input"]["tables_a_b_c_d"], data["expected"]["results"], strict=True):
        assert value(con, "macros.sign_test_p(?, ?)", b, c) == pytest.approx(expected["exact_p"], abs=data["tolerance"])


def test_paired_t_example(con: duckdb.DuckDBPyConnection, example: Callable[[str], dict[str, Any]]) -> None:
    """The differences are clusters of one."""
    data = example("paired_t")
    expected, close = data["expected"], data["tolerance"]
    differences = [x - y for x, y in zip(data["input"]["x"], data["input"]["y"], strict=True)]
    clusters, mean, df = [{"n": 1, "y": d} for d in differences], fmean(differences), len(differences) - 1
    error = value(con, "macros.mean_error(?::struct(n bigint, y double)[], ?)", clusters, mean)
    assert mean / error == pytest.approx(expected["t"], abs=1e-6)
    assert value(con, "macros.student_t_p(?, ?)", mean / error, df) == pytest.approx(expected["p_two_sided"], abs=1e-6)
    half = value(con, "macros.t_half_width(?, ?)", error, t_quantile(0.95, df))
    assert [mean - half, mean + half] == pytest.approx(expected["ci95"], abs=max(close, 1e-6))


def test_cluster_example(con: duckdb.DuckDBPyConnection, example: Callable[[str], dict[str, Any]]) -> None:
    data = example("cluster_se_mean")
    sums: defaultdict[str, list[float]] = defaultdict(list)
    for topic, score in data["input"]["rows_topic_score"]:
        sums[topic].append(score)
    clusters = [{"n": len(scores), "y": sum(scores)} for scores in sums.values()]
    error = value(con, "macros.mean_error(?::struct(n bigint, y double)[], ?)", clusters, data["expected"]["mean"])
    assert error == pytest.approx(data["expected"]["se_cluster_cr1"], abs=data["tolerance"])


def test_multiple_testing_example(con: duckdb.DuckDBPyConnection, example: Callable[[str], dict[str, Any]]) -> None:
    data = example("multiple_testing")
    for method, name in (("holm", "holm"), ("benjamini_hochberg", "bh")):
        found = con.execute(
            "with tests as (select unnest(?::double[]) as p, unnest(range(?)) as place), "
            f"steps as (select *, macros.{method}_step(p, 1) as step from tests) "
            f"select macros.{method}_p(p, step, 1) from steps order by place",
            [data["input"]["p"], len(data["input"]["p"])],
        ).fetchall()
        assert [p for (p,) in found] == pytest.approx(data["expected"][name], abs=data["tolerance"])


def test_side_bias_example(con: duckdb.DuckDBPyConnection, example: Callable[[str], dict[str, Any]]) -> None:
    data = example("side_bias")
    given, expected = data["input"], data["expected"]
    for (wins, decisive), p in zip(given["pro_wins_of_decisive"], expected["binomial_two_sided_p"], strict=True):
        assert value(con, "macros.sign_test_p(?, ?)", wins, decisive - wins) == pytest.approx(p, abs=1e-9)
    both = expected["mirrored_pro_both"], expected["mirrored_con_both"]
    assert value(con, "macros.sign_test_p(?, ?)", *both) == pytest.approx(expected["mirrored_exact_p"], abs=1e-9)


def test_elo_gap_example(con: duckdb.DuckDBPyConnection, example: Callable[[str], dict[str, Any]]) -> None:
    data = example("power")
    for rate, expected in data["expected"]["by_true_win_rate"].items():
        gap = value(con, "macros.elo_gap(?)", float(rate))
        assert gap == pytest.approx(expected["elo_gap"], abs=data["tolerance"])


def from_sums(con: duckdb.DuckDBPyConnection, measure: str, x: list[float], y: list[float]) -> Any:
    """`macros.measure_from_sums` of pairs."""
    sums = ", ".join(f"s.{name}" for name in ("n", "x", "y", "xx", "xy", "yy"))
    return con.execute(
        f"select macros.measure_from_sums('{measure}', {sums}) from (select macros.sums_of(x, y) as s "
        "from (select unnest(?::double[]) as x, unnest(?::double[]) as y))",
        [x, y],
    ).fetchall()[0][0]


def test_examples_of_slopes_and_correlations(
    con: duckdb.DuckDBPyConnection, example: Callable[[str], dict[str, Any]]
) -> None:
    verbosity, pairs = example("verbosity"), example("correlation")
    rows = verbosity["input"]["rows_topic_lenpro_lencon_scorepro_scorecon"]
    x, y = [row[1] - row[2] for row in rows], [row[3] - row[4] for row in rows]
    assert from_sums(con, "slope", x, y) == pytest.approx(verbosity["expected"]["slope"], abs=1e-9)
    assert from_sums(con, "correlation", x, y) == pytest.approx(verbosity["expected"]["pearson_diff"], abs=1e-9)
    x, y = pairs["input"]["x"], pairs["input"]["y"]
    assert from_sums(con, "correlation", x, y) == pytest.approx(pairs["expected"]["pearson"], abs=1e-9)


def agreement_of(con: duckdb.DuckDBPyConnection, statistic: str, counts: Sequence[Sequence[int]]) -> Any:
    """`macros.agreement_from_sums` of panels, each a list of how many members chose each category."""
    sizes, totals = [sum(row) for row in counts], [sum(column) for column in zip(*counts, strict=True)]
    n = sum(sizes)
    within = sum((m * m - sum(c * c for c in row)) / (m - 1) for row, m in zip(counts, sizes, strict=True))
    among = n * n - sum(total * total for total in totals)
    categories = sum(total > 0 for total in totals)
    call = "macros.agreement_from_sums(?, ?, ?, ?, ?, 1)"
    return value(con, call, statistic, n, within, among, categories)


def test_fleiss_kappa_example(con: duckdb.DuckDBPyConnection, example: Callable[[str], dict[str, Any]]) -> None:
    data = example("fleiss_kappa")
    found = agreement_of(con, "fleiss_kappa", data["input"]["subjects_by_category_counts"])
    assert found == pytest.approx(data["expected"]["kappa"], abs=1e-9)


# Definitions and distributions


@given(st.lists(st.lists(st.sampled_from([0, 1, 2]), min_size=3, max_size=3), min_size=1, max_size=20))
def test_agreement_of_panels(con: duckdb.DuckDBPyConnection, panels: list[list[int]]) -> None:
    """Of panels of one size, alpha is Fleiss' kappa but for small samples: alpha = kappa + (1 - kappa) / n."""
    counts = [[panel.count(category) for category in range(3)] for panel in panels]
    alpha, fleiss, ac1 = (agreement_of(con, s, counts) for s in ("krippendorff_alpha", "fleiss_kappa", "gwet_ac1"))
    rated = [(unit, rating) for unit, panel in enumerate(panels) for rating in panel]
    assert alpha == near(oracles.krippendorff_alpha(rated, "nominal"))
    assert (fleiss is None) == (ac1 is None) == (alpha is None)
    if alpha is not None:
        assert fleiss == near(oracles.fleiss_kappa(counts))
        assert alpha == near(fleiss + (1 - fleiss) / len(rated))
        assert ac1 == near(oracles.gwet_ac1(counts))
        assert (ac1 == near(1)) == all(max(row) == 3 for row in counts)


@given(st.lists(st.none() | st.floats(0, 1), max_size=30))
def test_adjusted_p_values_are_larger_and_keep_their_order(
    con: duckdb.DuckDBPyConnection, p_values: list[float | None]
) -> None:
    rows = con.execute(
        "with tests as (select unnest(?::double[]) as p), "
        "steps as (select p, macros.holm_step(p, 1) as h, macros.benjamini_hochberg_step(p, 1) as b from tests) "
        "select p, macros.benjamini_hochberg_p(p, b, 1), macros.holm_p(p, h, 1) from steps order by p",
        [p_values],
    ).fetchall()
    known = [row for row in rows if row[0] is not None]
    assert [row for row in rows if row[0] is None] == [(None, None, None)] * (len(rows) - len(known))
    for p, b, h in known:
        assert p <= b * (1 + 1e-12)
        assert b <= h * (1 + 1e-12) <= 1 + 1e-12
    assert [b for _, b, _ in known] == sorted(b for _, b, _ in known)
    assert [h for _, _, h in known] == sorted(h for _, _, h in known)


def test_the_normal_quantile_leaves_a_fortieth_on_each_side(con: duckdb.DuckDBPyConnection):
    assert normal_cdf(value(con, "macros.normal_95()")) == pytest.approx(0.975, abs=1e-15)
    assert normal_cdf(value(con, "macros.normal_80()")) == pytest.approx(0.8, abs=1e-6)


@pytest.mark.parametrize("games", [1, 2, 3, 10, 57, 1000])
def test_wilson_intervals(con: duckdb.DuckDBPyConnection, games: int):
    for half_points in {0, 1, games // 3, games, 2 * games - 1, 2 * games}:
        low, high = oracles.wilson_interval(half_points / 2, games)
        assert value(con, "macros.wilson_low(?, ?)", half_points / 2, games) == near(low)
        assert value(con, "macros.wilson_high(?, ?)", half_points / 2, games) == near(high)


def test_sign_tests(con: duckdb.DuckDBPyConnection):
    for wins in range(12):
        for losses in (0, 1, 5, 11, 200):
            found = value(con, "macros.sign_test_p(?, ?)", wins, losses)
            assert found == near(oracles.sign_test(wins, losses)), (wins, losses)


@pytest.mark.parametrize("seed", range(5))
def test_a_jackknife_and_its_interval(con: duckdb.DuckDBPyConnection, seed: int):
    rng = random.Random(seed)
    numbers = [rng.random() for _ in range(rng.randint(2, 12))]
    whole = fmean(numbers)
    left_out = [(sum(numbers) - number) / (len(numbers) - 1) for number in numbers]
    expected = oracles.jackknife(whole, left_out)
    error = value(con, "macros.jackknife_error(?::double[], ?)", left_out, whole)
    assert error == pytest.approx(expected.error, rel=1e-9)
    t_95 = t_quantile(0.95, len(numbers) - 1)
    half = value(con, "macros.t_half_width(?, ?)", error, t_95)
    assert whole + half == pytest.approx(expected.ci_high, rel=1e-9)


def test_a_jackknife_does_not_depend_on_the_order_of_rows(con: duckdb.DuckDBPyConnection):
    rng = random.Random(7)
    numbers = [rng.random() for _ in range(500)]
    errors = set()
    for _ in range(5):
        rng.shuffle(numbers)
        errors.add(value(con, "macros.jackknife_error(?::double[], 0.5)", numbers))
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
        assert [row[1] for row in mine] == [near(p) for p in oracles.holm(family)]
        assert [row[2] for row in mine] == [near(p) for p in oracles.benjamini_hochberg(family)]


@pytest.mark.parametrize("seed", range(3))
def test_the_error_of_a_mean_over_clusters(con: duckdb.DuckDBPyConnection, seed: int):
    rng = random.Random(seed)
    clusters = [[rng.random() for _ in range(rng.randint(1, 6))] for _ in range(rng.randint(2, 9))]
    numbers = [number for cluster in clusters for number in cluster]
    mean = fmean(numbers)
    squares = math.fsum((sum(cluster) - len(cluster) * mean) ** 2 for cluster in clusters)
    names = [str(place) for place, cluster in enumerate(clusters) for _ in cluster]
    expected = oracles.cluster_mean(numbers, names)
    assert value(con, "macros.cluster_error(?, ?, ?)", squares, len(clusters), len(numbers)) == near(expected.error)


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
    found = oracles.cluster_rate([rate for rate, _ in rates], [cluster for _, cluster in rates], neutral)
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
    sides = [sum(sign * (each["y"] - each["n"] * neutral) > 1e-12 for each in clusters) for sign in (1, -1)]
    is_exact = g == n and all(rate in (0, neutral, 1) for rate, _ in rates)
    p_value = value(
        con, "macros.difference_p(?::double, ?, ?, ?, ?, ?)", found.rate - neutral, error, g, *sides, is_exact
    )
    assert p_value == (found.p_value if found.p_value is None else pytest.approx(found.p_value, rel=1e-6))
    if found.ci_low is not None:
        assert found.ci_high is not None
        assert found.ci_low < found.ci_high
