"""How far raters agree: SQL models over ratings, beside definitions, worked examples and the package krippendorff."""

from __future__ import annotations

import json
import math
import random
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import duckdb
import krippendorff
import numpy as np
import pytest
from built_warehouse import packaged_project
from hypothesis import given, settings
from hypothesis import strategies as st
from oracles import cohen_kappa, leaving_out

from debatebench.stats.distributions import t_quantile
from debatebench.transform.create_macros import create_macros

LEVELS = ("nominal", "ordinal", "interval")
MODELS = ("int_reliability_sums", "int_reliability", "int_people_kappas")


@pytest.fixture(scope="module")
def con() -> Iterator[duckdb.DuckDBPyConnection]:
    """The SQL models as views over tables of ratings."""
    project = packaged_project()
    with duckdb.connect(config={"threads": 2}) as connection:
        create_macros(connection, project.macros)
        connection.execute("create schema intermediate")
        connection.execute("create table intermediate.int_t_quantiles (df bigint, t_95 double)")
        quantiles = [(df, t_quantile(0.95, df)) for df in range(1, 30)]
        connection.executemany("insert into intermediate.int_t_quantiles values (?, ?)", quantiles)
        for raters in ("rating", "people"):
            connection.execute(
                f"create table intermediate.int_{raters}_patterns (run_tag varchar, unit varchar, "
                "cluster_unit varchar, cluster_id varchar, ratings decimal(18, 6)[], count_rated bigint, "
                "count_first bigint, count_first_of_size bigint)"
            )
        connection.execute(
            "create table intermediate.int_people_pairs (run_tag varchar, unit varchar, cluster_id varchar, "
            "annotator_a varchar, annotator_b varchar, rating_a double, rating_b double)"
        )
        for name in MODELS:
            query = project.models[f"intermediate.{name}"].query.sql
            connection.execute(f"create view intermediate.{name} as {query}")
        yield connection


def alphas(
    con: duckdb.DuckDBPyConnection, items: Sequence[tuple[str, str, Sequence[float]]], unit: str
) -> dict[tuple[str, str], tuple[float | None, float | None, float | None]]:
    """(run, level) → alpha and its interval; an item is (run, cluster, its ratings)."""
    con.execute("delete from intermediate.int_rating_patterns")
    con.execute(
        "insert into intermediate.int_rating_patterns "
        "select run, ?, 'topic', cluster, list_sort(ratings), count(*), count(*), count(*) "
        "from (select unnest(?) as run, unnest(?) as cluster, unnest(?::decimal(18, 6)[][]) as ratings) group by all",
        [unit, *([item[n] for item in items] for n in range(3))],
    )
    found = con.execute(
        "select run_tag, level, value, ci_low, ci_high from intermediate.int_reliability "
        "where statistic = 'krippendorff_alpha'"
    ).fetchall()
    return {(run, level): (value, low, high) for run, level, value, low, high in found}


def alpha(con: duckdb.DuckDBPyConnection, matrix: Sequence[Sequence[float | None]], level: str) -> float | None:
    """Of a row per rater and a column per item, where None is a missing rating."""
    columns = [[value for value in column if value is not None] for column in zip(*matrix, strict=True)]
    items = [("r", str(n), column) for n, column in enumerate(columns) if len(column) > 1]
    return alphas(con, items, "winner" if level == "nominal" else "logic")["r", level][0]


def kappas(con: duckdb.DuckDBPyConnection, pairs: Sequence[tuple[float, float]], clusters: Sequence[str]) -> Any:
    """The row of two people."""
    con.execute("delete from intermediate.int_people_pairs")
    con.execute(
        "insert into intermediate.int_people_pairs select 'r', 'logic', unnest(?), 'a', 'b', unnest(?), unnest(?)",
        [list(clusters), [float(a) for a, _ in pairs], [float(b) for _, b in pairs]],
    )
    return con.execute("select * exclude (run_tag, unit) from intermediate.int_people_kappas").fetchall()


def example(shared: Path, name: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((shared / "stats" / f"{name}.json").read_text())
    return found


@pytest.mark.parametrize("level", LEVELS)
def test_krippendorffs_alpha_is_that_of_the_worked_example(
    con: duckdb.DuckDBPyConnection, shared: Path, level: str
) -> None:
    data = example(shared, "krippendorff_alpha")
    found = alpha(con, data["input"]["raters_by_units_null_missing"], level)
    assert found == pytest.approx(data["expected"][level], abs=1e-9)


@pytest.mark.parametrize("level", LEVELS)
def test_alpha_agrees_with_the_package_krippendorff(con: duckdb.DuckDBPyConnection, level: Any) -> None:
    rng = random.Random(11)
    for scale in ([1, 2, 3], [1, 2, 3, 4, 5, 6, 7, 8, 9, 10], [71.25, 71.5, 85.0, 99.75]):
        for _ in range(5):
            matrix = [[rng.choice([*scale, None]) for _ in range(25)] for _ in range(4)]
            theirs = krippendorff.alpha(
                reliability_data=np.array(matrix, dtype=float), level_of_measurement=level, value_domain=scale
            )
            assert alpha(con, matrix, level) == pytest.approx(theirs, abs=1e-9)


def test_alpha_depends_only_on_what_its_level_looks_at(con: duckdb.DuckDBPyConnection) -> None:
    rng = random.Random(3)
    matrix = [[rng.randint(1, 5) for _ in range(12)] for _ in range(3)]

    def changed(change: Any) -> list[list[float]]:
        return [[change(value) for value in row] for row in matrix]

    for level, change in (
        ("nominal", {1: 5, 2: 1, 3: 4, 4: 2, 5: 3}.__getitem__),
        ("ordinal", lambda x: round(math.exp(x), 6)),
        ("interval", lambda x: 1000 - 7 * x),
    ):
        assert alpha(con, changed(change), level) == pytest.approx(alpha(con, matrix, level), abs=1e-12)


def test_ratings_that_are_all_the_same_have_no_alpha_and_no_kappa(con: duckdb.DuckDBPyConnection) -> None:
    for level in LEVELS:
        assert alpha(con, [[7.3] * 4] * 2, level) is None
    assert kappas(con, [(7.3, 7.3)] * 4, "aabb") == [(None,) * 4]
    # Two who always say the same and never agree are as near as chance brings them.
    assert kappas(con, [(1, 3)] * 4, "aabb")[0][0] == 0


def test_intervals_of_alpha_cover_the_truth(con: duckdb.DuckDBPyConnection) -> None:
    """Ten topics of ten debates with noise that differs by topic. In 300 repetitions 285 are expected."""
    rng = np.random.default_rng(8)

    def ratings(topics: int) -> Any:
        noise = np.exp(rng.normal(0, 0.3, (topics, 1, 1)))
        return np.round(5 + rng.normal(0, 1, (topics, 10, 1)) + noise * rng.normal(0, 1, (topics, 10, 3)))

    x = ratings(20_000)
    n, within = x.size, (3 * (x**2).sum(-1) - x.sum(-1) ** 2).sum() / 2
    truth = 1 - (n - 1) * within / (n * (x**2).sum() - x.sum() ** 2)
    items = [
        (str(run), str(topic), panel.tolist())
        for run in range(300)
        for topic, panels in enumerate(ratings(10))
        for panel in panels
    ]
    found = alphas(con, items, "logic")
    covered = sum(low <= truth <= high for (_, level), (_, low, high) in found.items() if level == "interval")  # type: ignore[operator]
    assert 270 <= covered <= 297


def test_kappa_of_two_people_is_that_of_the_worked_example(con: duckdb.DuckDBPyConnection, shared: Path) -> None:
    data = example(shared, "cohen_kappa")
    place = {label: n for n, label in enumerate(data["input"]["order_for_weights"])}
    for names, expected in (
        (("rater_a", "rater_b"), {0: "kappa", 2: "kappa_quadratic"}),
        (("paradox_a", "paradox_b"), {0: "paradox_kappa"}),
    ):
        a, b = ([place[label] for label in data["input"][name]] for name in names)
        (row,) = kappas(con, list(zip(a, b, strict=True)), [str(n) for n in range(len(a))])
        for column, name in expected.items():
            assert row[column] == pytest.approx(data["expected"][name], abs=1e-9)


@settings(max_examples=40, deadline=None)
@given(st.lists(st.tuples(st.sampled_from([0, 0.5, 1]), st.sampled_from([0, 0.5, 1])), min_size=1, max_size=30))
def test_kappas_of_two_people_and_their_intervals_are_those_of_the_definition(
    con: duckdb.DuckDBPyConnection, pairs: list[tuple[float, float]]
) -> None:
    clusters = [str(n // 2) for n in range(len(pairs))]
    (row,) = kappas(con, pairs, clusters)
    for power, found in ((0, row[:2]), (2, row[2:])):
        expected = leaving_out(pairs, clusters, lambda rows, power=power: cohen_kappa(rows, power, [0, 0.5, 1]))
        if expected is None:
            assert found == (None, None)
        else:
            width = None if expected.ci_high is None else pytest.approx(expected.ci_high - expected.value, abs=1e-9)
            assert found == (pytest.approx(expected.value, abs=1e-9), width)
            assert found[0] <= 1
