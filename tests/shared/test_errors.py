"""Errors quote names and answers of others, and are one line all the same."""

from __future__ import annotations

import pickle

from debatebench.shared.errors import DamagedDataError, UsageError


def test_a_message_is_one_line_without_controls_whatever_it_quotes() -> None:
    assert str(UsageError("No run 'x\x1b[31m\nError: forged\u202e'.")) == "No run 'x␛[31m␊Error: forged�'."


def test_details_are_indented_lines_of_their_own() -> None:
    error = DamagedDataError("Two records:", ["a:1: bad\nforged", "b:2: bad"])
    assert str(error) == "Two records:\n  a:1: bad␊forged\n  b:2: bad"
    assert error.message == "Two records:"


def test_an_error_passes_from_process_to_process() -> None:
    error = pickle.loads(pickle.dumps(DamagedDataError("x", ["y"])))
    assert (str(error), error.details) == ("x\n  y", ("y",))
