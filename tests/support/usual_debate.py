"""A typical debate of the original harness, and variants of it for tests."""

from __future__ import annotations

import json
from collections.abc import Iterator
from copy import deepcopy
from typing import Any

from hypothesis import strategies as st
from imported import ORIGINAL

USUAL: dict[str, Any] = json.loads(ORIGINAL.read_text(encoding="utf-8").splitlines()[0])
del USUAL["operator"]
USUAL["transcript"]["debate_id"] = "d-usual"
USUAL["transcript"]["turns"][1]["created_at"] = "2026-01-02T10:00:02Z"

# Texts, numbers and containers that two JSON readers could read differently.
VALUES = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(2**70), 2**70),
    st.floats(allow_nan=False, allow_infinity=False),
    st.decimals(0, 10_000, places=11, allow_nan=False).map(float),
    st.decimals(-20, 20, places=3, allow_nan=False).map(float),
    st.sampled_from([0, -0.0, 1e16, 1e22, 5e-324, 1e-7, 10**4000, 2**53 + 1, 2**63, 2**64, 12345678.123456789]),
    st.text(st.characters(exclude_categories=["Cs"]), max_size=12),
    st.sampled_from(
        ["", " ", "null", "\x00", "a:b", '"', "\\u003a", "2026-01-02T10:00:00Z", "2026-01-02", "pro", "tie"]
    ),
)
DETAILS = st.dictionaries(
    st.sampled_from(["raw_response", "reasoning", "cost_details", "id", "choices", "", "a", "\x00", 'k"ey', "ö"]),
    st.recursive(
        VALUES, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3)
    ),
    max_size=4,
)
RESPONSES = st.fixed_dictionaries(
    {},
    optional={
        "id": VALUES,
        "provider": VALUES,
        "choices": VALUES
        | st.lists(st.fixed_dictionaries({}, optional={"finish_reason": VALUES}) | VALUES, max_size=2),
    },
)


def changed(*steps: Any, to: Any) -> dict[str, Any]:
    """The usual debate with a different value at one key path."""
    record = deepcopy(USUAL)
    inner: Any = record
    for step in steps[:-1]:
        inner = inner[step]
    inner[steps[-1]] = to
    return record


def line_of(record: Any) -> bytes:
    """The record as one line without the line end."""
    return json.dumps(record, separators=(",", ":"), ensure_ascii=False).encode()


def places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Every key path in a JSON value, except that of the whole value."""
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, inner in items:
        yield (*path, key)
        yield from places(inner, (*path, key))


@st.composite
def mutated_debates(draw: st.DrawFn) -> dict[str, Any]:
    """The usual debate with a few values changed, keys dropped, and odd metadata."""
    record = deepcopy(USUAL)
    for usage in (*record["transcript"]["turns"], *record["judges"]):
        for name in ("metadata", "cost_details"):
            if draw(st.booleans()):
                usage[name] = draw(st.none() | DETAILS | st.fixed_dictionaries({"raw_response": RESPONSES}))
    for path in draw(st.lists(st.sampled_from(list(places(USUAL))), max_size=4)):
        inner: Any = record
        try:
            for step in path[:-1]:
                inner = inner[step]
            if draw(st.booleans()):
                del inner[path[-1]]
            else:
                inner[path[-1]] = draw(VALUES | DETAILS)
        except (KeyError, IndexError, TypeError):
            continue
    return record
