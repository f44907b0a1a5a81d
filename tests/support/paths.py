"""Where the repository and the test data are."""

from __future__ import annotations

from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[2]
DATA = REPOSITORY / "tests" / "data"
SUPPORT = REPOSITORY / "tests" / "support"
