"""Other programs change files while commands run and between them; the benchmark of the same name plays many rounds."""

from __future__ import annotations

from pathlib import Path

import pytest
from file_operations import one_round, prepare

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def prepared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A workspace with a run and an import, both landed. Tests only read it."""
    return prepare(tmp_path_factory.mktemp("prepared") / "workspace")


@pytest.mark.slow_inputs
@pytest.mark.parametrize("seed", range(3))
def test_files_that_others_change_lose_nothing_in_silence(prepared: Path, tmp_path: Path, seed: int) -> None:
    played = one_round(prepared, tmp_path / "round", seed)
    assert played.problems == [], played.log
