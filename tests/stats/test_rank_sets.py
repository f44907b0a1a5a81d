"""Ranges of ranks: what holds for any ratings, and how often all of them hold at once."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from loaded_benchmark import benchmark

from debatebench.stats.rank_sets import rank_sets
from debatebench.stats.standings import standings


def equal_errors(n: int, variance: float = 1.0) -> Any:
    """The covariance of n independent strengths around their mean."""
    return variance * (np.eye(n) - 1 / n)


def ranges(strengths: Any, covariance: Any = None, model: Any = None, **options: Any) -> list[tuple[int, int]]:
    strengths = np.asarray(strengths, dtype=float)
    model = equal_errors(len(strengths)) if model is None else model
    low, high = rank_sets(
        strengths, model if covariance is None else covariance, model, **({"degrees": None} | options)
    )
    return list(zip(low.tolist(), high.tolist(), strict=True))


@st.composite
def estimates(draw: st.DrawFn) -> tuple[Any, Any, Any, int | None]:
    """Strengths, a covariance over topics, a covariance of the model and degrees of freedom."""
    n = draw(st.integers(2, 6))
    rng = np.random.default_rng(draw(st.integers(0, 10_000)))
    degrees = draw(st.sampled_from([2, 5, 19, None]))
    weights = rng.uniform(0.5, 2.0, n)
    centre = np.eye(n) - 1 / n
    model = centre @ np.diag(weights) @ centre
    topics = rng.standard_normal((degrees or 30, n)) @ centre
    return rng.normal(0, draw(st.sampled_from([0.0, 2.0, 8.0])), n), topics.T @ topics / len(topics), model, degrees


@given(estimates())
@settings(max_examples=60, deadline=None)
def test_ranges_contain_the_rank_by_strength(given: tuple[Any, Any, Any, int | None]) -> None:
    strengths, covariance, model, degrees = given
    for strength, (low, high) in zip(strengths, ranges(strengths, covariance, model, degrees=degrees), strict=True):
        rank = 1 + int((strengths > strength).sum())
        assert 1 <= low <= rank <= high <= len(strengths)


@given(estimates(), st.randoms(use_true_random=False), st.sampled_from([0.01, 7.0]))
@settings(max_examples=40, deadline=None)
def test_neither_order_nor_unit_nor_origin_matters(
    given: tuple[Any, Any, Any, int | None], random: Any, unit: float
) -> None:
    strengths, covariance, model, degrees = given
    strengths = strengths + np.arange(len(strengths)) / 1000
    order = random.sample(range(len(strengths)), len(strengths))
    at = np.ix_(order, order)
    before = ranges(strengths, covariance, model, degrees=degrees)
    after = ranges((unit * strengths + 3)[order], unit**2 * covariance[at], unit**2 * model[at], degrees=degrees)
    assert after == [before[place] for place in order]


@given(estimates())
@settings(max_examples=40, deadline=None)
def test_a_higher_level_has_wider_ranges(given: tuple[Any, Any, Any, int | None]) -> None:
    strengths, covariance, model, degrees = given
    narrow, wide = (ranges(strengths, covariance, model, degrees=degrees, level=level) for level in (0.8, 0.99))
    assert all(outer[0] <= inner[0] and inner[1] <= outer[1] for inner, outer in zip(narrow, wide, strict=True))


@pytest.mark.parametrize("n", [3, 60])
def test_what_is_far_apart_is_settled_and_what_is_equal_is_open(n: int) -> None:
    """With 60 debaters the bound is Bonferroni's."""
    assert ranges(100.0 * np.arange(n)) == [(n - place, n - place) for place in range(n)]
    assert ranges(np.zeros(n)) == [(1, n)] * n


@pytest.mark.parametrize(("gap", "expected"), [(1.85, (1, 2)), (2.1, (1, 1))])
def test_two_debaters_are_told_apart_as_by_a_test_of_their_difference(gap: float, expected: tuple[int, int]) -> None:
    assert ranges([gap * np.sqrt(2), 0.0])[0] == expected


def test_few_topics_need_a_larger_gap() -> None:
    gap = [3.0 * np.sqrt(2), 0.0]
    assert ranges(gap, degrees=2)[0] == (1, 2)
    assert ranges(gap, degrees=20)[0] == (1, 1)


def test_a_spread_that_is_small_by_chance_settles_nothing() -> None:
    """Over three topics two of four debaters seem to be steady; all together are not."""
    covariance = equal_errors(4)
    covariance[:2, :2] = covariance[:2, :2].mean()
    strengths = [2.0, 0.0, 0.0, 0.0]
    assert ranges(strengths, covariance, degrees=2) == [(1, 4)] * 4


def test_a_spread_that_is_large_counts() -> None:
    """The first varies much more than the model says, and than the others do."""
    centre = np.eye(4) - 1 / 4
    covariance = centre @ np.diag([25.0, 1.0, 1.0, 1.0]) @ centre
    # Pooled over all, the errors are those of a variance of 7.
    assert ranges([12.0, 0.0, 0.0, 0.0], covariance)[0] == (1, 4)
    assert ranges([12.0, 0.0, 0.0, 0.0], 7 * centre, centre)[0] == (1, 1)


def test_pairs_that_are_told_apart_lower_the_bound_for_the_others() -> None:
    """2.7 standard errors are not enough among the 15 pairs of six debaters, but enough among the 6 of two groups."""
    gap = 2.7 * np.sqrt(2)
    near = [0.0, gap / 2, gap]
    assert ranges([*near, gap, gap / 2, 0.0])[0] == (1, 6)
    assert ranges([*near, 1000, 1000 + gap / 2, 1000 + gap])[0][0] == 5


def test_debaters_that_no_debates_link_are_never_told_apart() -> None:
    linked = np.array([[True, True, False], [True, True, False], [False, False, True]])
    assert ranges([100.0, 0.0, -100.0], linked=linked) == [(1, 2), (2, 3), (1, 3)]


def test_groups_that_never_met_share_all_ranks() -> None:
    """Each group has a strong and a weak debater, on many topics; no debate says anything across groups."""
    from debatebench.stats.counted_games import counted_games

    rows = [(topic, pro, pro + 1, 9, 0, 1) for topic in range(1, 21) for pro in (1, 3)]
    found = standings(counted_games(*zip(*rows, strict=True)))
    assert list(zip(found.rank_low.tolist(), found.rank_high.tolist(), strict=True)) == [(1, 3), (2, 4)] * 2


def test_one_debater_has_one_rank() -> None:
    assert ranges([0.0]) == [(1, 1)]


@pytest.mark.slow_inputs
@pytest.mark.slow
@pytest.mark.parametrize("topics", [3, 10])
@pytest.mark.parametrize("topic_sd", [0.0, 0.6])
def test_all_true_ranks_lie_in_their_ranges_in_95_of_100_cases(topics: int, topic_sd: float) -> None:
    """Equal debaters, for which any range that leaves out a rank is wrong; three Monte Carlo errors are allowed."""
    repetitions = 300
    rng = np.random.default_rng(7)
    design = benchmark("rank_coverage").Design(topics, 0.0, (topic_sd,) * 5)
    found = [standings(design.tournament(rng), resamples=200, seed=number) for number in range(repetitions)]
    wrong = sum(bool((each.rank_low > 1).any() or (each.rank_high < 5).any()) for each in found)
    assert wrong <= repetitions * 0.05 + 3 * (repetitions * 0.05 * 0.95) ** 0.5
