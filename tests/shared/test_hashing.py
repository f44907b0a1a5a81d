"""Hashes that are kept stay the same, and no two lists of parts are alike."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from debatebench.shared.hashing import hash_of, hash_with_decimal_lengths

PARTS = st.lists(st.text(alphabet="a1:\0é", max_size=3), max_size=4)


def test_hashes_that_are_kept_stay_the_same() -> None:
    assert hash_of("demo", b"\xff", "é") == "7da740d236ff71367431007a4e02641972e87c067efe2cdb57cb1afacb0bb025"
    assert (
        hash_with_decimal_lengths(7, "demo", "é") == "ea384b64874d51a4be0311dcb6a78aea34aea25b77c7ca0aab3334e2ba70930b"
    )


def test_text_is_hashed_as_its_bytes() -> None:
    assert hash_of("é\ud800") == hash_of("é\ud800".encode("utf-8", "surrogatepass"))


@given(PARTS, PARTS)
def test_two_lists_of_parts_have_two_hashes(one: list[str], other: list[str]) -> None:
    for hashed in (hash_of, hash_with_decimal_lengths):
        assert (hashed(*one) == hashed(*other)) == (one == other)
