"""Correlations and errors: the pure functions, the same through SQL, and what scipy says."""

from __future__ import annotations

import json
import math
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import duckdb
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from debatebench.stats import sql as udfs
from debatebench.stats.correlation import kendall_tau_b, midranks, spearman
from debatebench.stats.quality import rmse

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


def close(value: float) -> Any:
    return pytest.approx(value, abs=1e-9)


# Worked examples, by the function and through SQL


def test_winners_are_as_far_from_gold_as_in_the_worked_example(shared: Path, con: duckdb.DuckDBPyConnection) -> None:
    given, expected = example(shared, "rmse_winner")
    label = {"pro": 0.0, "tie": 0.5, "con": 1.0}
    errors = [(label[p] - label[g]) ** 2 for p, g in zip(given["predicted"], given["gold"], strict=True)]
    clusters = [str(n) for n in range(len(errors))]
    found = rmse(clusters, errors)
    assert found is not None
    assert found.value == close(expected["rmse"])
    assert one(con, "select rmse(?, ?).value", clusters, errors) == close(expected["rmse"])


@pytest.mark.parametrize("function", [spearman, kendall_tau_b])
def test_correlations_are_those_of_the_worked_example(
    function: Any, shared: Path, con: duckdb.DuckDBPyConnection
) -> None:
    given, expected = example(shared, "correlation")
    name = function.__name__
    assert function(given["x"], given["y"]) == close(expected[name])
    assert one(con, f"select {name}(?, ?)", given["x"], given["y"]) == close(expected[name])


# What other libraries say


def test_correlations_agree_with_scipy() -> None:
    stats = pytest.importorskip("scipy.stats")
    rng = random.Random(5)
    for _ in range(30):
        x, y = [[rng.randint(0, 6) for _ in range(20)] for _ in range(2)]
        assert spearman(x, y) == close(stats.spearmanr(x, y).statistic)
        assert kendall_tau_b(x, y) == close(stats.kendalltau(x, y).statistic)


# What holds for all input


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


def test_nothing_gives_nothing() -> None:
    assert [spearman([], []), kendall_tau_b([1], [2])] == [None] * 2


def test_lists_that_do_not_fit_and_what_is_no_number_are_refused() -> None:
    for call in (lambda: spearman([1.0], [1.0, 2.0]), lambda: spearman([math.nan, 1.0], [1.0, 2.0])):
        with pytest.raises(ValueError, match=r"not|but"):
            call()


def test_equal_values_share_the_mean_of_their_ranks() -> None:
    assert midranks([10, 20, 20, 5]) == {5: 1, 10: 2, 20: 3.5}


@settings(deadline=None)
@given(st.integers(0, 2**32))
def test_kendalls_pairs_are_counted_as_by_looking_at_each(seed: int) -> None:
    rng = random.Random(seed)
    x, y = [[rng.randint(0, 4) for _ in range(12)] for _ in range(2)]
    pairs = [(i, j) for i in range(12) for j in range(i)]
    signs = [((x[i] > x[j]) - (x[i] < x[j]), (y[i] > y[j]) - (y[i] < y[j])) for i, j in pairs]
    untied = math.sqrt(sum(a != 0 for a, _ in signs) * sum(b != 0 for _, b in signs))
    assert kendall_tau_b(x, y) == (close(sum(a * b for a, b in signs) / untied) if untied else None)
