"""The order in which judges see the sides: balanced over debates, and both orders of a debate that is judged again."""

from __future__ import annotations

from collections import Counter, defaultdict
from random import Random

from hypothesis import given
from hypothesis import strategies as st

from debatebench.plan.panels import OrderBalance

JUDGES = ("a", "b", "c", "d")


def orders_of(panels: list[tuple[str, tuple[str, ...]]], seed: int) -> list[tuple[str, str, bool]]:
    """(judge, debate, whether con came first) of every seat, for panels that judge the debates in turn."""
    balance, rng = OrderBalance(), Random(seed)
    seats = []
    for debate, panel in panels:
        con_first = balance.choose(panel, rng, debate)
        seats += [(judge, debate, judge in con_first) for judge in panel]
    return seats


@given(st.integers(1, 12), st.integers(1, 5), st.integers(0, 99))
def test_full_panels_see_each_debate_in_both_orders_and_half_of_all_debates_con_first(
    debates: int, trials: int, seed: int
):
    panels = [(f"d{n}", JUDGES) for _ in range(trials) for n in range(debates)]
    lead: Counter[str] = Counter()
    by_debate: defaultdict[tuple[str, str], list[bool]] = defaultdict(list)
    for judge, debate, is_con_first in orders_of(panels, seed):
        lead[judge] += 1 if is_con_first else -1
        by_debate[judge, debate].append(is_con_first)
    assert all(abs(count) <= 1 for count in lead.values())
    for orders in by_debate.values():
        # The second trial reverses the first, the fourth the third.
        assert all(orders[n] != orders[n + 1] for n in range(0, trials - 1, 2))


@given(
    st.lists(st.tuples(st.sampled_from(["d1", "d2", "d3"]), st.permutations(JUDGES)), max_size=30), st.integers(0, 9)
)
def test_a_judge_that_is_drawn_for_a_debate_again_sees_the_other_order(drawn: list[tuple[str, list[str]]], seed: int):
    by_debate: defaultdict[tuple[str, str], list[bool]] = defaultdict(list)
    for judge, debate, is_con_first in orders_of([(debate, tuple(panel[:2])) for debate, panel in drawn], seed):
        by_debate[judge, debate].append(is_con_first)
    for orders in by_debate.values():
        assert abs(2 * sum(orders) - len(orders)) == len(orders) % 2


@given(st.lists(st.permutations(JUDGES), max_size=30), st.integers(0, 9))
def test_where_no_debate_is_repeated_counts_are_never_more_than_one_apart(drawn: list[list[str]], seed: int):
    lead: Counter[str] = Counter()
    for judge, _, is_con_first in orders_of([(f"d{n}", tuple(panel[:3])) for n, panel in enumerate(drawn)], seed):
        lead[judge] += 1 if is_con_first else -1
        assert abs(lead[judge]) <= 1


def test_both_orders_of_the_first_judging_of_a_debate_are_drawn():
    first = [orders_of([("d", ("a",)), ("d", ("a",))], seed)[0][2] for seed in range(20)]
    assert {True, False} == set(first)
