"""Commands that signals end, and commands at the same time: a small part of `benchmarks/disturbed_commands.py`."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from disturbed_commands import at_once, begin, sequence


@pytest.mark.slow
@pytest.mark.exhaustive
def test_commands_with_signals_and_commands_at_once_lose_nothing(tmp_path: Path) -> None:
    root = begin(tmp_path / "w")
    assert sequence(root, random.Random(1), 3) == []
    assert at_once(root, random.Random(2), 4) == []
