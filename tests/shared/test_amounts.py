"""How amounts of money and numbers of things are shown."""

from __future__ import annotations

from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from debatebench.shared.amounts import amount_text, counted, did_you_mean, duration_text, known_names, listed


@pytest.mark.parametrize(
    ("amount", "text"),
    [
        ("0", "0.0000"),
        ("0.32384", "0.3238"),
        ("1234.5", "1,234.5000"),
        ("0.0001", "0.0001"),
        ("0.0000999", "0.000100"),
        ("0.00004", "0.000040"),
        ("4e-11", "0.000000000040"),
        ("-0.00004", "-0.000040"),
    ],
)
def test_an_amount_has_four_decimals_or_as_many_as_it_needs(amount: str, text: str) -> None:
    assert amount_text(Decimal(amount)) == text


@given(st.decimals(Decimal("1e-18"), Decimal("1e8"), allow_nan=False))
def test_an_amount_that_is_not_0_never_looks_like_0(amount: Decimal) -> None:
    shown = Decimal(amount_text(amount).replace(",", ""))
    assert shown > 0
    assert abs(shown - amount) <= max(amount / 20, Decimal("0.00006"))


@pytest.mark.parametrize(
    ("count", "text"), [(0, "0 answers"), (1, "1 answer"), (2, "2 answers"), (1000, "1,000 answers")]
)
def test_a_number_takes_the_singular_of_its_noun_only_for_one(count: int, text: str) -> None:
    assert counted(count, "answer") == text


@pytest.mark.parametrize(
    ("count", "shown"), [(0, ""), (1, "n0"), (2, "n0, n1"), (3, "n0, n1 and 1 more"), (1203, "n0, n1 and 1,201 more")]
)
def test_of_many_names_the_first_are_listed_and_the_others_are_counted(count: int, shown: str):
    assert listed([f"n{n}" for n in range(count)], 2) == shown


@pytest.mark.parametrize(
    ("seconds", "shown"),
    [(0, "0 s"), (0.25, "0.2 s"), (42.4, "42 s"), (119, "119 s"), (720, "12 min"), (7200, "2.0 h"), (12_600, "3.5 h")],
)
def test_a_duration_has_the_unit_that_a_person_would_choose(seconds: float, shown: str):
    assert duration_text(seconds) == shown


def test_an_unknown_name_is_answered_with_what_there_is_and_the_nearest() -> None:
    assert known_names("alhpa", ["alpha", "beta"]) == " Known: alpha, beta. Did you mean 'alpha'?"
    assert known_names("ALPHA", ["alpha", "beta"]) == " Known: alpha, beta. Did you mean 'alpha'?"
    assert known_names("gamma", ["zeta"]) == " Known: zeta."
    assert known_names("gamma", [], "none yet") == " Known: none yet."
    assert known_names("d7", [f"debater-{n}" for n in range(99)]).endswith("debater-29 and 69 more.")


def test_a_near_name_is_found_behind_another_dot_and_several_are_the_nearest_first() -> None:
    assert did_you_mean("marts.stg_runs", ["staging.stg_runs", "marts.runs"]) == " Did you mean 'staging.stg_runs'?"
    assert did_you_mean("judge-9", ["judge-1", "judge-0", "x"], 3) in (
        " Did you mean 'judge-1' or 'judge-0'?",
        " Did you mean 'judge-0' or 'judge-1'?",
    )
